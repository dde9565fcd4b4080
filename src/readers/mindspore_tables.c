/* MindSpore's tables: step trace (ticks of 10 ns), cluster analysis (ms), HCCL costs (ms, KB, KB/s), FLOPs. */
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "parse/decns.h"
#include "readers/run_names.h"
#include "readers/run_read.h"

enum { TICK_NS = 10 };

/* ---- step_trace_raw ---- */

/* One communication operator: columns of its start and end, found by suffix, and what both suffixes leave. */
typedef struct step_op {
    int start, end;
    uint32_t name, thread;
} step_op;

typedef struct step_columns {
    int step, start, end, total, fp, bp, interval, fp_bp, tail;
    step_op *ops;
    size_t n_ops, cap_ops;
} step_columns;

static bool tick_ns(const csv *c, int column, int64_t base_ns, int64_t *ns)
{
    int64_t ticks = 0;
    return csv_i64(c, column, &ticks) && !__builtin_mul_overflow(ticks, (int64_t)TICK_NS, ns) &&
           !__builtin_sub_overflow(*ns, base_ns, ns);
}

/* "stream_36_0_AllReduce-op4542" -> thread "stream 36"; "stream_520_parallel_0" likewise. */
static uint32_t op_thread(run_reader *r, const char *name, size_t n)
{
    int64_t stream = -1;
    size_t digits = 0;
    if (n > 7 && memcmp(name, "stream_", 7) == 0) {
        while (7 + digits < n && name[7 + digits] >= '0' && name[7 + digits] <= '9') {
            digits++;
        }
        (void)decns_parse_i64(name + 7, digits, &stream);
    }
    char tid[32];
    char label[48];
    (void)snprintf(tid, sizeof tid, "%lld", (long long)stream);
    (void)snprintf(label, sizeof label, stream >= 0 ? "Stream %lld" : "Communication", (long long)stream);
    return run_thread(r, "10000", tid, "Communication", label);
}

/* The operator's own name: what follows "stream_S_k_", or all of it. */
static const char *op_name(const char *name, size_t n, size_t *n_out)
{
    const char *at = memmem(name, n, "-op", 3);
    const char *start = at ? memrchr(name, '_', (size_t)(at - name)) : NULL;
    start = start ? start + 1 : name;
    *n_out = n - (size_t)(start - name);
    return start;
}

/* The column of the operator's end: a neighbour of that of its start, before or behind it by version. */
static int end_column(const csv *c, int start, const char *name, size_t n)
{
    static const char suffix[] = "_end_point";
    for (int i = start > 2 ? start - 2 : 0; i <= start + 2; i++) {
        const char *column = csv_column(c, (size_t)i);
        if (strncmp(column, name, n) == 0 && strcmp(column + n, suffix) == 0) {
            return i;
        }
    }
    return -1;
}

static void find_ops(run_reader *r, const csv *c, step_columns *k)
{
    static const char start_suffix[] = "_start_point";
    for (int i = csv_find_suffix(c, start_suffix, 0); i >= 0; i = csv_find_suffix(c, start_suffix, (size_t)i + 1)) {
        const char *column = csv_column(c, (size_t)i);
        size_t n = strlen(column) - (sizeof start_suffix - 1);
        size_t n_name = 0;
        const char *name = op_name(column, n, &n_name);
        step_op op = {.start = i, .end = end_column(c, i, column, n)};
        op.name = trace_builder_name(r->b, run_string(r, name, n_name), run_cstring(r, "hccl"));
        op.thread = op_thread(r, column, n);
        if (op.end >= 0) {
            VEC_PUSH(k->ops, k->n_ops, k->cap_ops, op);
        }
    }
}

static step_columns find_step_columns(const csv *c)
{
    return (step_columns){.step = csv_find(c, "step_num"),
                          .start = csv_find(c, "start_point"),
                          .end = csv_find(c, "end_point"),
                          .total = csv_find(c, "total"),
                          .fp = csv_find(c, "fp_point"),
                          .bp = csv_find(c, "bp_point"),
                          .interval = csv_find(c, "iteration_interval"),
                          .fp_bp = csv_find(c, "fp_and_bp"),
                          .tail = csv_find(c, "tail")};
}

static void tick_metric(run_reader *r, const csv *c, int column, trace_metric_kind kind, int64_t step, uint32_t flags)
{
    double ticks = 0;
    if (csv_double(c, column, &ticks)) {
        run_step_metric(r, kind, step, ticks * TICK_NS, flags);
    }
}

static void push_step_numbers(run_reader *r, const csv *c, const step_columns *k, int64_t step, uint32_t flags)
{
    tick_metric(r, c, k->total, METRIC_STEP_TIME, step, flags);
    tick_metric(r, c, k->interval, METRIC_STEP_INTERVAL, step, flags);
    tick_metric(r, c, k->fp_bp, METRIC_STEP_FP_BP, step, flags);
    tick_metric(r, c, k->tail, METRIC_STEP_TAIL, step, flags);
}

/* The interval between two columns. A zero start is how the producer says that there was none. */
static bool between(run_reader *r, const csv *c, int from, int to, int64_t base_ns, trace_event_in *e)
{
    int64_t end = 0;
    csv_field first = csv_get(c, from);
    if (csv_field_none(first) || csv_field_is(first, "0")) {
        return false;
    }
    if (!tick_ns(c, from, base_ns, &e->start_ns) || !tick_ns(c, to, base_ns, &end) ||
        __builtin_sub_overflow(end, e->start_ns, &e->dur_ns)) {
        run_lose(r, MAREY_LOSS_BAD_NUMBER, csv_offset(c), NULL);
        return false;
    }
    return true;
}

static marey_status push_step(run_reader *r, const csv *c, const step_columns *k, int64_t step, int64_t base_ns)
{
    char name[48];
    (void)snprintf(name, sizeof name, "ProfilerStep#%lld", (long long)step);
    uint32_t annotation = run_cstring(r, "user_annotation");
    trace_event_in e = {.thread = run_thread(r, "steps", "0", "Steps", "Steps"),
                        .name = trace_builder_name(r->b, run_cstring(r, name), annotation)};
    marey_status status = between(r, c, k->start, k->end, base_ns, &e) ? run_event(r, &e) : MAREY_OK;
    e.thread = run_thread(r, "steps", "1", "Steps", "FP_BP");
    e.name = trace_builder_name(r->b, run_cstring(r, "FP_BP"), annotation);
    return status == MAREY_OK && between(r, c, k->fp, k->bp, base_ns, &e) ? run_event(r, &e) : status;
}

static marey_status push_ops(run_reader *r, const csv *c, const step_columns *k, int64_t base_ns)
{
    marey_status status = MAREY_OK;
    for (size_t i = 0; i < k->n_ops && status == MAREY_OK; i++) {
        const step_op *op = &k->ops[i];
        const char *name = r->b->strings.text[r->b->names[op->name].text];
        trace_event_in e = {.thread = op->thread, .name = op->name};
        if (between(r, c, op->start, op->end, base_ns, &e)) {
            mindspore_collective(r, name, strlen(name));
            status = run_event(r, &e);
        }
    }
    return status;
}

marey_status mindspore_step_trace_read(run_reader *r, const run_file *f, bool placed, bool with_communication,
                                       int64_t base_ns)
{
    csv *c = run_open_table(r, f->path);
    marey_status status = MAREY_OK;
    if (!c) {
        return MAREY_OK;
    }
    step_columns k = find_step_columns(c);
    if (placed && with_communication) {
        find_ops(r, c, &k);
    }
    while (status == MAREY_OK && csv_next(c)) {
        int64_t step = -1;
        bool mean = csv_field_is(csv_get(c, k.step), "-");
        (void)csv_i64(c, k.step, &step);
        push_step_numbers(r, c, &k, step, mean ? METRIC_MEAN : 0);
        if (placed && !mean) {
            status = push_step(r, c, &k, step, base_ns);
            status = status == MAREY_OK ? push_ops(r, c, &k, base_ns) : status;
        }
    }
    free(k.ops);
    run_close_table(r, f->path, &c);
    r->bytes_done += file_size(f->path);
    return status;
}

/* ---- ascend_cluster_analyse ---- */

/* Stages are contiguous ranges of ranks: the producer's own rule. */
void mindspore_place_by_grid(run_reader *r, int64_t stages, int64_t size, int64_t rank)
{
    trace_facts *f = &r->b->facts;
    f->world_size = size > 0 && f->world_size < 0 ? size : f->world_size;
    if (stages > 0 && size >= stages && size % stages == 0 && rank >= 0 && rank < size && r->place.stage < 0) {
        r->place.stage = rank / (size / stages);
        r->place.inferred |= INFERRED_STAGE;
        r->has_place = true;
    }
}

marey_status mindspore_cluster_read(run_reader *r, const run_file *f)
{
    static const struct {
        const char *column;
        trace_metric_kind kind;
    } columns[] = {
        {"computation_time", METRIC_STEP_COMPUTE},
        {"communication_alone_time", METRIC_STEP_EXPOSED},
        {"stage_time", METRIC_STEP_STAGE},
        {"receive_alone_time", METRIC_STEP_RECEIVE},
        {"collective_communication_alone_time", METRIC_STEP_COLLECTIVE},
    };
    enum { N = sizeof columns / sizeof *columns };
    int64_t stages = -1;
    int64_t size = -1;
    int64_t rank = -1;
    if (run_name_grid(f->path, &stages, &size, &rank)) {
        mindspore_place_by_grid(r, stages, size, rank);
    }
    csv *c = run_open_table(r, f->path);
    if (!c) {
        return MAREY_OK;
    }
    /* One row per step, then their mean, which only its place tells: a row is pushed when the next one is there. */
    double held[N] = {0};
    bool has[N] = {false};
    int64_t step = 0;
    bool more = csv_next(c);
    while (more) {
        for (size_t i = 0; i < N; i++) {
            has[i] = csv_double(c, csv_find(c, columns[i].column), &held[i]);
        }
        more = csv_next(c);
        step++;
        bool mean = !more && step > 1;
        for (size_t i = 0; i < N; i++) {
            if (has[i]) {
                run_step_metric(r, columns[i].kind, mean ? -1 : step, held[i] * 1e6, mean ? METRIC_MEAN : 0);
            }
        }
    }
    run_close_table(r, f->path, &c);
    return MAREY_OK;
}

/* ---- hccl_raw ---- */

static bool link_ends(const jdoc_node *node, int64_t *a, int64_t *b)
{
    const char *dash = node->key ? memchr(node->key, '-', node->key_n) : NULL;
    size_t n = dash ? (size_t)(dash - node->key) : 0;
    return dash && decns_parse_i64(node->key, n, a) && decns_parse_i64(dash + 1, node->key_n - n - 1, b);
}

static void push_number(run_reader *r, const jdoc *d, uint32_t array, size_t at, trace_metric_kind kind, double scale,
                        trace_metric_in m)
{
    double v = 0;
    if (jdoc_double(d, jdoc_at(d, array, at), &v)) {
        m.kind = kind;
        m.value = v * scale;
        run_metric(r, &m);
    }
}

/*
 * {"src-dst": {"SDMA": [ms, KB, KB/s (, wait ms)]}}. Of a step's sum the rate is the sum of its operators' rates, which
 * means nothing; it is worked out from bytes and time there.
 */
static void push_links(run_reader *r, const jdoc *d, uint32_t links, trace_metric_in m, bool is_sum)
{
    for (uint32_t link = jdoc_first(d, links); link != JDOC_NONE; link = d->nodes[link].next) {
        m.flags |= METRIC_LOCAL_LINK;
        if (!link_ends(&d->nodes[link], &m.a, &m.b)) {
            run_lose(r, MAREY_LOSS_DAMAGED, DIAG_NO_OFFSET, "link without two ends");
            continue;
        }
        for (uint32_t kind = jdoc_first(d, link); kind != JDOC_NONE; kind = d->nodes[kind].next) {
            double ms = 0;
            double kb = 0;
            m.tag = run_key_string(r, d, kind, 0);
            push_number(r, d, kind, 0, METRIC_LINK_TIME, 1e6, m);
            push_number(r, d, kind, 1, METRIC_LINK_BYTES, 1e3, m);
            push_number(r, d, kind, 3, METRIC_LINK_WAIT, 1e6, m);
            bool both = jdoc_double(d, jdoc_at(d, kind, 0), &ms) && jdoc_double(d, jdoc_at(d, kind, 1), &kb) && ms > 0;
            if (!is_sum) {
                push_number(r, d, kind, 2, METRIC_LINK_BANDWIDTH, 1e3, m);
            } else if (both) {
                trace_metric_in rate = m;
                rate.kind = METRIC_LINK_BANDWIDTH;
                rate.flags |= METRIC_DERIVED;
                rate.value = kb * 1e3 / (ms / 1e3);
                run_metric(r, &rate);
            }
        }
    }
}

/* {op: ["step", communication ms, wait ms, links]} */
static void push_op_costs(run_reader *r, const jdoc *d, int64_t step, uint32_t flags)
{
    for (uint32_t op = jdoc_first(d, 0); op != JDOC_NONE; op = d->nodes[op].next) {
        trace_metric_in m = trace_metric(METRIC_COMM_TRANSIT, 0);
        m.step = step;
        m.flags = flags;
        m.name = run_key_string(r, d, op, 0);
        push_number(r, d, op, 1, METRIC_COMM_TRANSIT, 1e6, m);
        push_number(r, d, op, 2, METRIC_COMM_WAIT, 1e6, m);
        push_links(r, d, jdoc_at(d, op, 3), m, false);
    }
}

static jdoc *parse_field(run_reader *r, const csv *c, int column, const char *path)
{
    csv_field f = csv_get(c, column);
    jdoc *d = NULL;
    if (!csv_field_none(f) && jdoc_parse(f.s, f.n, path, NULL, &d) != MAREY_OK) {
        run_lose(r, MAREY_LOSS_DAMAGED, csv_offset(c), "a table's JSON field");
    }
    return d;
}

static void push_hccl_row(run_reader *r, const csv *c, const char *path)
{
    int64_t step = -1;
    int step_column = csv_find(c, "step_num");
    double ms = 0;
    trace_metric_in m = trace_metric(METRIC_COMM_TRANSIT, 0);
    (void)csv_i64(c, step_column, &step);
    m.step = step;
    m.flags = csv_field_is(csv_get(c, step_column), "-") ? METRIC_MEAN : 0;
    if (csv_double(c, csv_find(c, "communication_cost"), &ms)) {
        m.value = ms * 1e6;
        run_metric(r, &m);
    }
    if (csv_double(c, csv_find(c, "wait_cost"), &ms)) {
        m.kind = METRIC_COMM_WAIT;
        m.value = ms * 1e6;
        run_metric(r, &m);
    }
    jdoc *links = parse_field(r, c, csv_find(c, "link_info"), path);
    if (links) {
        push_links(r, links, 0, m, true);
        jdoc_destroy(&links);
    }
    jdoc *ops = parse_field(r, c, csv_find(c, "communication_operator_cost"), path);
    if (ops) {
        push_op_costs(r, ops, step, m.flags);
        jdoc_destroy(&ops);
    }
}

marey_status mindspore_hccl_read(run_reader *r, const run_file *f)
{
    csv *c = run_open_table(r, f->path);
    if (!c) {
        return MAREY_OK;
    }
    while (csv_next(c)) {
        push_hccl_row(r, c, f->path);
    }
    run_close_table(r, f->path, &c);
    return MAREY_OK;
}

/* ---- flops_{rank}.txt ---- */

static bool contains(const char *s, const char *what)
{
    return strcasestr(s, what) != NULL;
}

/* What a column of FLOPs means. The names vary with the version; amounts and rates differ by their last letter only. */
static bool flops_column(const char *name, trace_metric_kind *kind, double *scale)
{
    if (contains(name, "utiliz")) {
        *kind = METRIC_FLOPS_UTILIZATION;
        *scale = 0.01;
        return true;
    }
    if (strstr(name, "GFLOPS")) {
        *kind = METRIC_FLOPS_RATE;
        *scale = 1e9;
        return true;
    }
    if (strstr(name, "MFLOPs")) {
        *kind = METRIC_FLOPS;
        *scale = 1e6;
        return true;
    }
    return false;
}

marey_status mindspore_flops_read(run_reader *r, const run_file *f)
{
    csv *c = run_open_table(r, f->path);
    if (!c) {
        return MAREY_OK;
    }
    int name =
        csv_find_any(c, (const char *const[]){"op_full_name", "full_kernel_name", "op_name", "kernel_name", NULL});
    while (csv_next(c)) {
        trace_metric_in m = trace_metric(METRIC_FLOPS, 0);
        m.name = run_field_string(r, csv_get(c, name));
        for (size_t i = 0; i < csv_n_columns(c); i++) {
            const char *column = csv_column(c, i);
            double scale = 0;
            double v = 0;
            if ((int)i != name && flops_column(column, &m.kind, &scale) && csv_double(c, (int)i, &v)) {
                m.tag = contains(column, "cube")  ? run_cstring(r, "cube")
                        : contains(column, "vec") ? run_cstring(r, "vector")
                                                  : NO_ID;
                m.value = v * scale;
                run_metric(r, &m);
            }
        }
    }
    run_close_table(r, f->path, &c);
    return MAREY_OK;
}
