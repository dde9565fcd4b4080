#include "convert/convert.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "convert/source.h"

enum { DEFAULT_JOBS_MAX = 16, WIDE_JOBS = 4 };
#define DEFAULT_MEMORY_BYTES (UINT64_C(128) << 20)
#define KEPT_BYTES           ((size_t)64 << 20) /* what one file's pieces, blocks and arguments take in turn */
#define SMALL_BYTES          (UINT64_C(512) << 20)
#define REPORT_EVERY_NS      (INT64_C(100) * 1000 * 1000)

bool conversion_report(conversion *c, const char *stage, uint64_t done, uint64_t total, uint64_t n_events)
{
    if (is_cancelled(c->options->cancel) || atomic_load_explicit(&c->stop, memory_order_relaxed)) {
        return false;
    }
    if (!c->options->progress || total == 0) {
        return true;
    }
    int64_t now = clock_now_ns();
    int64_t last = atomic_load_explicit(&c->reported_ns, memory_order_relaxed);
    if (now - last >= REPORT_EVERY_NS && atomic_compare_exchange_strong(&c->reported_ns, &last, now)) {
        convert_progress p = {stage, done < total ? done : total, total, n_events,
                              (double)(now - c->stage_began_ns) * 1e-9};
        c->options->progress(c->options->progress_ctx, &p);
    }
    return true;
}

/* ------------------------------------------------------------------ the conversion's own state */

static marey_status load_rules(conversion *c)
{
    char *user = c->options->rules_path ? mem_strdup(c->options->rules_path) : trace_rules_user_path();
    marey_status status = trace_rules_create(&c->rules, user, c->diag);
    free(user);
    if (status != MAREY_OK) {
        return status;
    }
    size_t n;
    const trace_category *categories = trace_rules_categories(c->rules, &n);
    for (size_t i = 0; i < n; i++) {
        VEC_PUSH(c->model.categories, c->model.n_categories, c->model.cap_categories, categories[i]);
    }
    c->no_scopes = trace_rules_scopes(c->rules, "");
    uint32_t derived = conversion_source(c, "derived");
    static const char *const names[] = {"", "forward", "backward", "recompute", "optimizer"};
    for (uint32_t p = MARK_FORWARD; p <= MARK_OPTIMIZER; p++) {
        c->phase_names[p] = conversion_name(c, names[p], strlen(names[p]), derived);
    }
    return MAREY_OK;
}

static void conversion_init(conversion *c, const convert_source *sources, const bool *may_fail, size_t n,
                            const convert_options *options, diag *d)
{
    memset(c, 0, sizeof *c);
    c->options = options;
    diag_init(&c->graph.diag);
    c->diag = d;
    c->jobs = options->jobs ? options->jobs : thread_cores();
    c->jobs = !options->jobs && c->jobs > DEFAULT_JOBS_MAX ? DEFAULT_JOBS_MAX : c->jobs;
    c->began_ns = clock_now_ns();
    c->stage_began_ns = c->began_ns;
    scratch_init(&c->scratch, options->out, options->memory_bytes ? options->memory_bytes : DEFAULT_MEMORY_BYTES);
    trace_model_init(&c->model);
    (void)pthread_mutex_init(&c->lock, NULL);
    c->n_sources = n;
    c->sources = mem_calloc(n ? n : 1, sizeof *c->sources);
    for (size_t i = 0; i < n; i++) {
        source_init(&c->sources[i], c, (uint32_t)i, &sources[i]);
        c->sources[i].may_fail = may_fail && may_fail[i];
        c->bytes_total += sources[i].bytes;
    }
}

static void conversion_deinit(conversion *c)
{
    for (size_t i = 0; i < c->n_sources; i++) {
        source_deinit(&c->sources[i]);
    }
    free(c->sources);
    graph_side_deinit(c);
    trace_rules_destroy(&c->rules);
    trace_model_deinit(&c->model);
    intern_deinit(&c->name_keys);
    intern_deinit(&c->source_keys);
    free(c->scopes);
    intern_deinit(&c->strings);
    intern_deinit(&c->group_keys);
    intern_deinit(&c->shapes);
    strbuf_deinit(&c->key);
    free(c->marks);
    scratch_deinit(&c->scratch);
    (void)pthread_mutex_destroy(&c->lock);
}

/* ------------------------------------------------------------------ reading */

static void read_job(void *ctx, size_t i, unsigned worker)
{
    source *s = (source *)ctx + i;
    (void)worker;
    if (!conversion_report(s->c, "reading", 0, 0, 0)) {
        s->status = MAREY_CANCELLED;
        return;
    }
    s->status = source_load(s);
    if (s->status == MAREY_OK && s->c->n_sources == 1) {
        store_writer_put_shapes(s->c->writer); /* the workers have nothing else to do meanwhile */
    }
    if (s->status == MAREY_OK) {
        s->status = annotate_source(s);
    }
    bool is_input_fault = s->status == MAREY_UNSUPPORTED || s->status == MAREY_FORMAT;
    if (s->status != MAREY_OK && !(s->may_fail && is_input_fault)) {
        atomic_store(&s->c->stop, true);
    }
}

/* The workers have nothing else to do meanwhile; where they are fewer than the jobs, others are made for the time. */
static void read_all(conversion *c)
{
    pool *more = c->n_workers + 1 < c->jobs ? pool_create(c->jobs - 1) : NULL;
    pool_each(more ? more : c->workers, c->n_sources, read_job, c->sources);
    pool_destroy(&more);
}

static const char *reason(const source *s)
{
    return s->diag.n_messages ? s->diag.messages[s->diag.n_messages - 1].text : marey_status_text(s->status);
}

/* Which sources go on, which are passed over, and whether one's failure is the whole's. */
static marey_status judge(conversion *c, convert_summary *summary)
{
    marey_status status = MAREY_OK;
    for (size_t i = 0; i < c->n_sources; i++) {
        source *s = &c->sources[i];
        bool is_input_fault = s->status == MAREY_UNSUPPORTED || s->status == MAREY_FORMAT;
        if (s->status == MAREY_OK) {
            diag_merge(c->diag, &(diag){.messages = s->diag.messages, .n_messages = s->diag.n_messages});
            bool says_so = s->n_events > 0 || s->n_counters > 0 || diag_lost(&s->diag, MAREY_LOSS_NO_EVENTS) > 0;
            diag_lose(&s->diag, MAREY_LOSS_NO_EVENTS, s->file, DIAG_NO_OFFSET, says_so ? 0 : 1, NULL);
            summary->n_inputs++;
            continue;
        }
        summary->n_refused++;
        s->n_events = 0;
        s->n_ranks = s->n_lanes = s->n_threads = s->n_steps = s->n_collectives = s->n_kept = s->n_counters = 0;
        if (s->may_fail && is_input_fault) {
            s->passed_over = s->status == MAREY_UNSUPPORTED;
            diag_lose(&s->diag, MAREY_LOSS_UNREADABLE, s->file, DIAG_NO_OFFSET, 1, NULL);
            diag_warn(c->diag, s->in->path, DIAG_NO_OFFSET, "passed over: %s", reason(s));
            continue;
        }
        if (s->status != MAREY_CANCELLED) {
            diag_merge(c->diag, &(diag){.messages = s->diag.messages, .n_messages = s->diag.n_messages});
        }
        status = status == MAREY_OK || status == MAREY_CANCELLED ? s->status : status;
    }
    return status;
}

/* ------------------------------------------------------------------ the whole way */

static marey_status check_strict(conversion *c)
{
    uint64_t n = side_losses(c);
    if (!c->options->strict || n == 0) {
        return MAREY_OK;
    }
    marey_status status = lost_find(c);
    if (status != MAREY_OK) {
        return status;
    }
    (void)side_losses(c);
    const trace_loss *l = &c->model.losses[0];
    return diag_error(c->diag, MAREY_FORMAT, l->input < c->model.n_inputs ? c->model.inputs[l->input].path : NULL,
                      l->first_offset, "%llu records would be lost or repaired (the first kind: %s)",
                      (unsigned long long)n, marey_loss_text(l->code));
}

static marey_status convert_all(conversion *c, convert_summary *summary)
{
    marey_status status = load_rules(c);
    if (status != MAREY_OK) {
        return status;
    }
    read_all(c);
    status = judge(c, summary);
    if (status == MAREY_OK) {
        store_writer_put_shapes(c->writer);
    }
    if (status == MAREY_OK && is_cancelled(c->options->cancel)) {
        status = MAREY_CANCELLED;
    }
    if (status == MAREY_OK) {
        status = graph_side_load(c);
    }
    if (status == MAREY_OK) {
        status = clocks_align(c);
    }
    if (status == MAREY_OK) {
        status = assemble_model(c);
    }
    if (status == MAREY_OK && c->options->topology_path) {
        status = topology_read(c, c->options->topology_path);
    }
    if (status == MAREY_OK) {
        clocks_apply(c);
    }
    clocks_release(c);
    if (status == MAREY_OK) {
        status = check_strict(c);
    }
    if (status != MAREY_OK) {
        return status;
    }
    c->events_total = c->model.n_events;
    c->stage_began_ns = clock_now_ns();
    status = emit_groups(c);
    if (status == MAREY_OK) {
        status = side_write(c);
    }
    if (status == MAREY_OK) {
        status = graph_side_write(c);
    }
    if (status == MAREY_OK) {
        status = lost_find(c);
    }
    if (status == MAREY_OK) {
        status = check_strict(c);
    }
    const char *why = status == MAREY_OK ? trace_model_check(&c->model) : NULL;
    if (why) {
        return diag_error(c->diag, MAREY_INTERNAL, NULL, DIAG_NO_OFFSET, "the converted run does not hold together: %s",
                          why);
    }
    return status == MAREY_OK ? store_writer_finish(c->writer, &c->model, c->diag) : status;
}

static void sum_up(const conversion *c, convert_summary *summary)
{
    summary->n_ranks = c->model.n_ranks;
    summary->n_events = c->model.n_events;
    for (size_t i = 0; i < c->model.n_losses; i++) {
        summary->n_losses += c->model.losses[i].count;
    }
    for (size_t i = 0; i < c->model.n_inputs; i++) {
        summary->bytes_in += c->model.inputs[i].bytes;
    }
    summary->bytes_out = file_size(c->options->out);
    summary->seconds = (double)(clock_now_ns() - c->began_ns) * 1e-9;
}

/* Workers that compress beside the threads that run groups. */
static unsigned worker_count(const conversion *c)
{
    if (c->n_sources <= GROUP_RANKS) {
        return c->jobs - 1;
    }
    return c->jobs > WIDE_JOBS ? c->jobs - WIDE_JOBS : 0;
}

/* For this conversion, and those after it in the same process. */
static void keep_memory(const convert_source *sources, size_t n)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < n; i++) {
        bytes += sources[i].bytes < SMALL_BYTES ? sources[i].bytes : SMALL_BYTES;
    }
    mem_keep_freed(KEPT_BYTES);
    if (bytes < SMALL_BYTES) {
        mem_keep_huge();
    }
}

static marey_status run_with_diag(const convert_source *sources, const bool *may_fail, size_t n, const char *name,
                                  const convert_options *options, convert_summary *summary, diag *d)
{
    if ((n == 0 && options->n_graphs == 0) || n > MAX_SOURCES) {
        return diag_error(d, n ? MAREY_LIMIT : MAREY_ARG, NULL, DIAG_NO_OFFSET,
                          n ? "more than 1 048 576 input files" : "no input to convert");
    }
    convert_summary unused;
    summary = summary ? summary : &unused;
    *summary = (convert_summary){0};
    keep_memory(sources, n);
    conversion *c = mem_alloc(sizeof *c);
    conversion_init(c, sources, may_fail, n, options, d);
    c->model.name = options->run_name ? options->run_name : name;
    c->n_workers = worker_count(c);
    c->workers = c->n_workers ? pool_create(c->n_workers) : NULL;
    store_options store = {
        .force = options->force, .workers = c->workers, .is_last = true, .on_row = emit_on_row, .on_row_ctx = c};
    marey_status status = store_writer_create(&c->writer, options->out, &store, d);
    if (status == MAREY_OK) {
        status = convert_all(c, summary);
    }
    if (c->writer) {
        store_writer_destroy(&c->writer);
    }
    if (status == MAREY_OK) {
        sum_up(c, summary);
    } else if (status == MAREY_CANCELLED) {
        (void)diag_error(d, status, NULL, DIAG_NO_OFFSET, "cancelled; nothing was written");
    }
    pool_destroy(&c->workers);
    conversion_deinit(c);
    free(c);
    return status;
}

marey_status conversion_run(const convert_source *sources, const bool *may_fail, size_t n, const char *name,
                            const convert_options *options, convert_summary *summary, diag *d)
{
    diag unheard;
    diag_init(&unheard);
    marey_status status = run_with_diag(sources, may_fail, n, name, options, summary, d ? d : &unheard);
    diag_deinit(&unheard);
    return status;
}

marey_status convert_sources(const convert_source *sources, size_t n, const convert_options *options,
                             convert_summary *summary, diag *d)
{
    return conversion_run(sources, NULL, n, path_base(options->out), options, summary, d);
}
