#include "readers/run_read.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "parse/decns.h"
#include "parse/source.h"

/* ---- strings ---- */

uint32_t run_string(run_reader *r, const char *s, size_t n)
{
    if (!memchr(s, '\\', n)) {
        return trace_builder_string(r->b, s, n);
    }
    strbuf_clear(&r->text);
    for (size_t i = 0; i < n; i++) {
        strbuf_add(&r->text, s[i] == '\\' ? "\\\\" : s + i, s[i] == '\\' ? 2 : 1);
    }
    return trace_builder_string(r->b, r->text.s, r->text.n);
}

uint32_t run_cstring(run_reader *r, const char *s)
{
    return run_string(r, s, strlen(s));
}

uint32_t run_field_string(run_reader *r, csv_field f)
{
    return csv_field_none(f) ? NO_ID : run_string(r, f.s, f.n);
}

uint32_t run_node_string(run_reader *r, const jdoc *d, uint32_t i)
{
    bool text = i != JDOC_NONE && d->nodes[i].s && d->nodes[i].n > 0;
    return text ? trace_builder_string(r->b, d->nodes[i].s, d->nodes[i].n) : NO_ID;
}

uint32_t run_key_string(run_reader *r, const jdoc *d, uint32_t i, char end)
{
    const jdoc_node *node = &d->nodes[i];
    const char *at = end && node->key ? memchr(node->key, end, node->key_n) : NULL;
    size_t n = at ? (size_t)(at - node->key) : node->key_n;
    return node->key ? trace_builder_string(r->b, node->key, n) : NO_ID;
}

void run_json_string(strbuf *out, const char *s, size_t n)
{
    json_out j = {.buf = out};
    json_strn(&j, s, n);
}

jspan run_event_name(const jevent *e)
{
    jspan name = jevent_field(e, JKEY_NAME);
    bool text = name.s && (name.kind == JKIND_STRING || name.kind == JKIND_SCALAR);
    name = text ? name : (jspan){"", 0, JKIND_STRING};
    name.n = name.n < CHROME_NAME_BYTES_MAX ? name.n : CHROME_NAME_BYTES_MAX;
    return name;
}

void run_json_int(strbuf *out, int64_t v)
{
    char text[24];
    size_t at = sizeof text;
    uint64_t u = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
    do {
        text[--at] = (char)('0' + u % 10);
        u /= 10;
    } while (u);
    if (v < 0) {
        text[--at] = '-';
    }
    strbuf_add(out, text + at, sizeof text - at);
}

/* ---- threads ---- */

uint32_t run_thread(run_reader *r, const char *pid, const char *tid, const char *process_name, const char *thread_name)
{
    uint32_t id = trace_builder_thread(r->b, pid, strlen(pid), tid, strlen(tid));
    if (process_name) {
        chrome_process_name(r->json, r->b->threads[id].pid_id, run_cstring(r, process_name));
    }
    if (thread_name) {
        r->b->threads[id].name = run_cstring(r, thread_name);
    }
    return id;
}

/* ---- events and metrics ---- */

void run_lose(run_reader *r, marey_loss loss, uint64_t offset, const char *detail)
{
    diag_lose(r->b->diag, loss, r->b->file, offset, 1, detail);
}

marey_status run_event(run_reader *r, trace_event_in *e)
{
    int64_t end = 0;
    if (e->dur_ns < 0) {
        run_lose(r, MAREY_LOSS_NEGATIVE_DURATION, DIAG_NO_OFFSET, NULL);
        e->dur_ns = 0;
        e->flags |= EVENT_REPAIRED | SEVERITY_LOST;
    }
    if (__builtin_add_overflow(e->start_ns, e->dur_ns, &end)) {
        run_lose(r, MAREY_LOSS_TIME_OVERFLOW, DIAG_NO_OFFSET, NULL);
        e->dur_ns = 0;
        e->flags |= EVENT_UNFINISHED | EVENT_REPAIRED | SEVERITY_LOST;
    }
    return trace_builder_event(r->b, e);
}

void run_metric(run_reader *r, const trace_metric_in *m)
{
    uint64_t before = r->b->side.n_refused;
    trace_side_metric(&r->b->side, m);
    if (r->b->side.n_refused != before) {
        run_lose(r, MAREY_LOSS_BAD_NUMBER, DIAG_NO_OFFSET, NULL);
    }
}

void run_step_metric(run_reader *r, trace_metric_kind kind, int64_t step, double value, uint32_t flags)
{
    trace_metric_in m = trace_metric(kind, value);
    m.step = step;
    m.flags = flags;
    run_metric(r, &m);
}

void run_use_file(run_reader *r, const char *path)
{
    r->b->path = path;
    r->b->file = r->b->diag ? diag_file(r->b->diag, path) : 0;
}

bool run_cancelled(const run_reader *r)
{
    return r->progress && is_cancelled(r->progress->cancel);
}

void run_report(run_reader *r)
{
    const reader_progress *p = r->progress;
    if (p && p->report) {
        p->report(p->ctx, r->bytes_done, r->run->bytes, r->b->n_events);
    }
}

bool run_ms_text(const char *s, size_t n, int64_t *ns)
{
    char text[80];
    if (n == 0 || n + 3 > sizeof text) {
        return false;
    }
    memcpy(text, s, n);
    if (memchr(s, 'e', n) || memchr(s, 'E', n)) {
        double ms = 0;
        bool ok = decns_parse_double(s, n, &ms) && ms > -9e12 && ms < 9e12;
        *ns = ok ? (int64_t)(ms * 1e6 + (ms < 0 ? -0.5 : 0.5)) : *ns;
        return ok;
    }
    memcpy(text + n, "e3", 2);
    return decns_parse_us(text, n + 2, ns) == DECNS_OK;
}

/* ---- tables ---- */

csv *run_open_table(run_reader *r, const char *path)
{
    csv *c = NULL;
    if (csv_open(path, r->b->diag, r->b->file, &c) != MAREY_OK) {
        run_lose(r, MAREY_LOSS_UNREADABLE, DIAG_NO_OFFSET, NULL);
        return NULL;
    }
    if (csv_n_columns(c) == 0) {
        run_lose(r, MAREY_LOSS_NO_EVENTS, 0, NULL);
        diag_warn(r->b->diag, path, DIAG_NO_OFFSET, "is an empty table");
        csv_close(&c);
    }
    return c;
}

void run_close_table(run_reader *r, const char *path, csv **c)
{
    if (!*c) {
        return;
    }
    if (csv_n_rows(*c) == 0) {
        run_lose(r, MAREY_LOSS_NO_EVENTS, 0, NULL);
        diag_warn(r->b->diag, path, DIAG_NO_OFFSET, "is a table without rows");
    }
    uint64_t odd = csv_n_short(*c) + csv_n_long(*c);
    if (odd) {
        diag_lose(r->b->diag, MAREY_LOSS_DAMAGED, r->b->file, DIAG_NO_OFFSET, odd, "row with missing or extra fields");
    }
    if (csv_status(*c) != MAREY_OK) {
        run_lose(r, MAREY_LOSS_UNREADABLE, DIAG_NO_OFFSET, NULL);
    }
    csv_close(c);
}

/* ---- a source ---- */

const run_file *run_find(const run_source *s, run_role role)
{
    for (size_t i = 0; i < s->n_files; i++) {
        if (s->files[i].role == role) {
            return &s->files[i];
        }
    }
    return NULL;
}

/* Files that are read alike in all formats. A file that can't be read is counted and named; the others go on. */
static const run_file_fn simple_files[RUN_ROLE_COUNT] = {
    [RUN_PROFILER_METADATA] = ascend_metadata_read,
    [RUN_PROFILER_INFO] = run_profiler_info_read,
    [RUN_PARALLEL_STRATEGY] = mindspore_strategy_read,
    [RUN_COMMUNICATION] = ascend_communication_read,
    [RUN_COMMUNICATION_MATRIX] = ascend_matrix_read,
    [RUN_STEP_TRACE_TIME] = ascend_step_times_read,
    [RUN_MEMORY_RECORD] = ascend_memory_record_read,
    [RUN_OPERATOR_MEMORY] = ascend_operator_memory_read,
    [RUN_MODULE_MEMORY] = ascend_module_memory_read,
    [RUN_L2_CACHE] = ascend_cache_read,
    [RUN_OP_STATISTIC] = ascend_statistic_read,
    [RUN_ANALYSIS_DB] = ascend_analysis_db_read,
    [RUN_CLUSTER_ANALYSE] = mindspore_cluster_read,
    [RUN_HCCL_RAW] = mindspore_hccl_read,
    [RUN_FLOPS] = mindspore_flops_read,
    [RUN_FLOPS_SUMMARY] = mindspore_flops_summary_read,
    [RUN_MEMORY_SUMMARY] = mindspore_memory_read,
    [RUN_MEMORY_DETAILS] = mindspore_memory_read,
    [RUN_RANK_TABLE] = run_rank_table_read,
};

static marey_status read_simple_files(run_reader *r)
{
    for (size_t i = 0; i < r->run->n_files; i++) {
        const run_file *f = &r->run->files[i];
        if (run_cancelled(r)) {
            return MAREY_CANCELLED;
        }
        /* The text's tables and the db's tell the same: not both. */
        bool twice = f->role == RUN_ANALYSIS_DB &&
                     (run_find(r->run, RUN_STEP_TRACE_TIME) || run_find(r->run, RUN_COMMUNICATION));
        if (!simple_files[f->role] || twice) {
            continue;
        }
        run_use_file(r, f->path);
        marey_status status = simple_files[f->role](r, f);
        if (status == MAREY_CANCELLED || status == MAREY_NOMEM) {
            return status;
        }
        if (status != MAREY_OK) {
            run_lose(r, MAREY_LOSS_UNREADABLE, DIAG_NO_OFFSET, NULL);
        }
        r->bytes_done += file_size(f->path);
        run_report(r);
    }
    return MAREY_OK;
}

static marey_status read_intervals(run_reader *r)
{
    switch (r->run->format) {
    case RUN_FORMAT_ASCEND:
        return ascend_text_read(r);
    case RUN_FORMAT_MSPROF:
        return msprof_read(r);
    case RUN_FORMAT_MINDSPORE:
        return mindspore_read(r);
    case RUN_FORMAT_MAREY:
        return marey_export_read(r);
    case RUN_FORMAT_TRACE:
        break;
    }
    return MAREY_OK;
}

/* Groups in the form in which PyTorch writes them, for everybody downstream. */
static void state_groups(run_reader *r)
{
    const trace_side *side = &r->b->side;
    if (!side->n_groups || r->b->facts.groups_json) {
        return;
    }
    strbuf out = {0};
    json_out j = {.buf = &out};
    json_begin(&j, '[');
    for (size_t i = 0; i < side->n_groups; i++) {
        const trace_group_in *g = &side->groups[i];
        json_begin(&j, '{');
        json_kstr(&j, "pg_name", r->b->strings.text[g->name]);
        json_kstr(&j, "pg_desc", g->kind != NO_ID ? r->b->strings.text[g->kind] : "");
        json_kuint(&j, "pg_size", g->n_ranks);
        json_key(&j, "ranks");
        json_begin(&j, '[');
        for (size_t k = 0; k < g->n_ranks; k++) {
            json_int(&j, side->group_ranks[g->first_rank + k]);
        }
        json_end(&j, ']');
        json_end(&j, '}');
    }
    json_end(&j, ']');
    if (out.n < (1U << 20)) {
        r->b->facts.groups_json = mem_strndup(out.s, out.n - (out.s[out.n - 1] == '\n'));
    }
    strbuf_deinit(&out);
}

static void state_place(run_reader *r)
{
    trace_facts *f = &r->b->facts;
    trace_place_in *p = &r->place;
    bool guessed = f->rank < 0 && r->run->rank >= 0;
    if (r->run->format == RUN_FORMAT_MAREY) {
        return;
    }
    p->rank = f->rank >= 0 ? f->rank : r->run->rank;
    p->inferred |= guessed && r->run->rank_is_device ? INFERRED_RANK : 0;
    if (f->rank < 0 && !r->run->rank_is_device) {
        f->rank = r->run->rank;
    }
    if (p->rank >= 0 || r->has_place) {
        p->process = NO_ID;
        f->stage = f->stage < 0 ? p->stage : f->stage;
        f->dp = f->dp < 0 ? p->dp : f->dp;
        f->tp = f->tp < 0 ? p->tp : f->tp;
        f->ep = f->ep < 0 ? p->ep : f->ep;
        f->host = f->host == NO_ID ? p->host : f->host;
        trace_side_place(&r->b->side, p);
    }
}

static marey_status judge(run_reader *r)
{
    const trace_builder *b = r->b;
    if (b->n_events || b->n_samples) {
        return MAREY_OK;
    }
    diag_lose(b->diag, MAREY_LOSS_NO_EVENTS, b->file, DIAG_NO_OFFSET, 1, NULL);
    if (b->side.n_metrics || r->has_place || b->side.n_groups) {
        diag_warn(b->diag, r->run->label, DIAG_NO_OFFSET, "holds numbers, but no events");
        return MAREY_OK;
    }
    return diag_error(b->diag, MAREY_FORMAT, r->run->label, DIAG_NO_OFFSET, "holds no events");
}

static const char *format_name(run_format f)
{
    static const char *const names[] = {"chrome", "ascend", "msprof", "mindspore", "marey-export"};
    return names[f];
}

static marey_status finish(run_reader *r, marey_status status)
{
    if (status == MAREY_OK) {
        state_place(r);
        state_groups(r);
        status = chrome_finish(r->json);
    }
    if (status == MAREY_OK) {
        r->b->facts.format = format_name(r->run->format);
        r->b->facts.is_kineto = r->run->format != RUN_FORMAT_MAREY; /* one rank, whatever its processes */
        status = judge(r);
    } else if (status == MAREY_CANCELLED) {
        (void)diag_error(r->b->diag, status, r->run->label, DIAG_NO_OFFSET, "cancelled");
    }
    return status;
}

/* A file whose name says nothing may still be a profiler's database or a Marey export. */
static bool judge_content(run_file *f, run_source *s)
{
    source *in = NULL;
    source_options quiet = {0};
    char bytes[64] = "";
    size_t n = 0;
    size_t got = 1;
    if (source_open(f->path, &quiet, &in) == MAREY_OK) {
        while (n < sizeof bytes - 1 && got > 0) {
            got = source_read(in, bytes + n, sizeof bytes - 1 - n);
            n += got;
        }
    }
    source_close(&in);
    const char *text = bytes + strspn(bytes, " \t\r\n{");
    if (n > 15 && memcmp(bytes, "SQLite format 3", 15) == 0) {
        f->role = RUN_PROFILER_DB;
        s->format = RUN_FORMAT_ASCEND;
    } else if (strncmp(text, "\"maps\"", 6) == 0) {
        f->role = RUN_MAREY;
        s->format = RUN_FORMAT_MAREY;
    }
    s->files = f;
    return f->role != RUN_TRACE;
}

bool run_find_format(const run_source *s, run_source *out, run_file *file)
{
    *out = *s;
    if (s->format != RUN_FORMAT_TRACE) {
        return true;
    }
    *file = s->files[0];
    return judge_content(file, out);
}

marey_status run_read_into(const run_source *s, trace_builder *b, chrome_reader *json, const reader_progress *progress)
{
    const char *path = b->path;
    uint32_t file = b->file;
    run_reader r = {.run = s, .b = b, .progress = progress, .json = json, .place = trace_place(NO_ID)};
    json->times_are_text = true;
    marey_status status = read_simple_files(&r); /* first: they name the groups of collectives */
    if (status == MAREY_OK) {
        status = read_intervals(&r);
    }
    b->path = path;
    b->file = file;
    status = finish(&r, status);
    strbuf_deinit(&r.text);
    map64_deinit(&r.collective_groups);
    return status;
}

marey_status reader_read_run_source(const run_source *s, trace_builder *b, const reader_progress *progress)
{
    run_file file;
    run_source run;
    if (!run_find_format(s, &run, &file)) {
        return reader_read_file(s->files[0].path, b, progress);
    }
    chrome_reader *json = mem_alloc(sizeof *json);
    chrome_init(json, b);
    marey_status status = run_read_into(&run, b, json, progress);
    chrome_deinit(json);
    free(json);
    return status;
}
