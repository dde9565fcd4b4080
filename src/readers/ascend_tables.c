/* torch_npu's tables and summaries: step times, memory, caches, collectives and links, parallel groups. */
#include <string.h>

#include "parse/decns.h"
#include "readers/ascend.h"

static const double MB = 1048576.0, KB = 1024.0, NS_PER_US = 1e3;

/* ---- step_trace_time.csv ---- */

typedef struct column_metric {
    const char *column;
    trace_metric_kind kind;
} column_metric;

static const column_metric step_columns[] = {
    {"Computing", METRIC_STEP_COMPUTE},
    {"Communication(Not Overlapped)", METRIC_STEP_EXPOSED},
    {"Overlapped", METRIC_STEP_OVERLAPPED},
    {"Communication", METRIC_STEP_COMMUNICATION},
    {"Free", METRIC_STEP_FREE},
    {"Stage", METRIC_STEP_STAGE},
    {"Bubble", METRIC_STEP_BUBBLE},
    {"Communication(Not Overlapped and Exclude Receive)", METRIC_STEP_COLLECTIVE},
    {"Preparing", METRIC_STEP_PREPARE},
};
enum { N_STEP_COLUMNS = sizeof step_columns / sizeof *step_columns };

marey_status ascend_step_times_read(run_reader *r, const run_file *f)
{
    csv *c = run_open_table(r, f->path);
    if (!c) {
        return MAREY_OK;
    }
    int step_column = csv_find(c, "Step");
    while (csv_next(c)) {
        int64_t step = -1;
        (void)csv_i64(c, step_column, &step);
        for (size_t i = 0; i < N_STEP_COLUMNS; i++) {
            double us = 0;
            if (csv_double(c, csv_find(c, step_columns[i].column), &us)) {
                run_step_metric(r, step_columns[i].kind, step, us * NS_PER_US, 0);
            }
        }
    }
    run_close_table(r, f->path, &c);
    return MAREY_OK;
}

/* ---- memory ---- */

/* The largest value seen per component; a handful of components. */
typedef struct peak {
    uint32_t component;
    double bytes;
} peak;

typedef struct peaks {
    peak at[64];
    size_t n;
} peaks;

static void peak_add(peaks *p, uint32_t component, double bytes)
{
    for (size_t i = 0; i < p->n; i++) {
        if (p->at[i].component == component) {
            p->at[i].bytes = bytes > p->at[i].bytes ? bytes : p->at[i].bytes;
            return;
        }
    }
    if (p->n < sizeof p->at / sizeof *p->at) {
        p->at[p->n++] = (peak){component, bytes};
    }
}

static void peaks_push(run_reader *r, const peaks *p)
{
    for (size_t i = 0; i < p->n; i++) {
        trace_metric_in m = trace_metric(METRIC_PEAK_MEMORY, p->at[i].bytes);
        m.name = p->at[i].component;
        run_metric(r, &m);
    }
}

static void memory_sample(run_reader *r, const csv *c, const char *what, int column, int64_t ts_ns)
{
    double mb = 0;
    csv_field component = csv_get(c, csv_find(c, "Component"));
    if (!csv_double(c, column, &mb)) {
        return;
    }
    char name[160];
    int n =
        snprintf(name, sizeof name, "memory %.*s/%s", (int)(component.n < 100 ? component.n : 100), component.s, what);
    trace_sample_in s = {.ts_ns = ts_ns,
                         .thread = run_thread(r, "memory", "0", "Memory", "Memory"),
                         .counter = run_string(r, name, (size_t)n),
                         .value = mb * MB};
    trace_builder_sample(r->b, &s);
}

marey_status ascend_memory_record_read(run_reader *r, const run_file *f)
{
    csv *c = run_open_table(r, f->path);
    if (!c) {
        return MAREY_OK;
    }
    peaks top = {.n = 0};
    int time = csv_find(c, "Timestamp(us)");
    int allocated = csv_find(c, "Total Allocated(MB)");
    int reserved = csv_find(c, "Total Reserved(MB)");
    int active = csv_find(c, "Total Active(MB)");
    while (csv_next(c)) {
        int64_t ts = 0;
        double mb = 0;
        if (!csv_us(c, time, &ts)) {
            run_lose(r, MAREY_LOSS_MISSING_TIME, csv_offset(c), NULL);
            continue;
        }
        memory_sample(r, c, "allocated", allocated, ts);
        memory_sample(r, c, "reserved", reserved, ts);
        memory_sample(r, c, "active", active, ts);
        uint32_t component = run_field_string(r, csv_get(c, csv_find(c, "Component")));
        if (csv_double(c, reserved, &mb)) {
            peak_add(&top, component, mb * MB);
        }
    }
    peaks_push(r, &top);
    run_close_table(r, f->path, &c);
    return MAREY_OK;
}

marey_status ascend_module_memory_read(run_reader *r, const run_file *f)
{
    csv *c = run_open_table(r, f->path);
    if (!c) {
        return MAREY_OK;
    }
    peaks top = {.n = 0};
    int component = csv_find(c, "Component");
    int reserved = csv_find_any(c, (const char *const[]){"Total Reserved(MB)", "Total Reserved(KB)", NULL});
    while (csv_next(c)) {
        double mb = 0;
        if (csv_double(c, reserved, &mb) && mb > 0) {
            double unit = csv_find(c, "Total Reserved(MB)") >= 0 ? MB : KB;
            peak_add(&top, run_field_string(r, csv_get(c, component)), mb * unit);
        }
    }
    peaks_push(r, &top);
    run_close_table(r, f->path, &c);
    return MAREY_OK;
}

marey_status ascend_operator_memory_read(run_reader *r, const run_file *f)
{
    csv *c = run_open_table(r, f->path);
    if (!c) {
        return MAREY_OK;
    }
    int name = csv_find(c, "Name");
    int size = csv_find(c, "Size(KB)");
    int time = csv_find(c, "Allocation Time(us)");
    while (csv_next(c)) {
        double kb = 0;
        if (!csv_double(c, size, &kb)) {
            run_lose(r, MAREY_LOSS_BAD_NUMBER, csv_offset(c), NULL);
            continue;
        }
        trace_metric_in m = trace_metric(METRIC_OP_MEMORY, kb * KB);
        m.name = run_field_string(r, csv_get(c, name));
        (void)csv_us(c, time, &m.time_ns);
        run_metric(r, &m);
    }
    run_close_table(r, f->path, &c);
    return MAREY_OK;
}

/* ---- caches and statistics ---- */

static void cache_metric(run_reader *r, const csv *c, trace_metric_kind kind, int column, uint32_t name)
{
    double rate = 0;
    if (csv_double(c, column, &rate)) {
        trace_metric_in m = trace_metric(kind, rate);
        m.name = name;
        run_metric(r, &m);
    }
}

marey_status ascend_cache_read(run_reader *r, const run_file *f)
{
    csv *c = run_open_table(r, f->path);
    if (!c) {
        return MAREY_OK;
    }
    int name = csv_find(c, "Op Name");
    int hit = csv_find(c, "Hit Rate");
    int victim = csv_find(c, "Victim Rate");
    while (csv_next(c)) {
        uint32_t id = run_field_string(r, csv_get(c, name));
        cache_metric(r, c, METRIC_CACHE_HIT, hit, id);
        cache_metric(r, c, METRIC_CACHE_VICTIM, victim, id);
    }
    run_close_table(r, f->path, &c);
    return MAREY_OK;
}

marey_status ascend_statistic_read(run_reader *r, const run_file *f)
{
    csv *c = run_open_table(r, f->path);
    if (!c) {
        return MAREY_OK;
    }
    int type = csv_find(c, "OP Type");
    int core = csv_find(c, "Core Type");
    int count = csv_find(c, "Count");
    int total = csv_find(c, "Total Time(us)");
    while (csv_next(c)) {
        double v = 0;
        trace_metric_in m = trace_metric(METRIC_OP_TIME, 0);
        m.name = run_field_string(r, csv_get(c, type));
        m.tag = run_field_string(r, csv_get(c, core));
        if (csv_double(c, total, &v)) {
            m.value = v * NS_PER_US;
            run_metric(r, &m);
        }
        if (csv_double(c, count, &v)) {
            m.kind = METRIC_OP_COUNT;
            m.value = v;
            run_metric(r, &m);
        }
    }
    run_close_table(r, f->path, &c);
    return MAREY_OK;
}

/* ---- communication.json, communication_matrix.json ---- */

typedef struct member_metric {
    const char *key;
    trace_metric_kind kind;
    double scale;
} member_metric;

/* Mixed units in one object: the start is in us, all else in ms. Transit sizes are decimal: 2.064384 MB are 2 064 384
 * bytes. */
static const member_metric time_members[] = {
    {"Elapse Time(ms)", METRIC_COMM_TIME, 1e6}, {"Transit Time(ms)", METRIC_COMM_TRANSIT, 1e6},
    {"Wait Time(ms)", METRIC_COMM_WAIT, 1e6},   {"Synchronization Time(ms)", METRIC_COMM_SYNC, 1e6},
    {"Idle Time(ms)", METRIC_COMM_IDLE, 1e6},
};
static const member_metric link_members[] = {
    {"Transit Size(MB)", METRIC_LINK_BYTES, 1e6},
    {"Transit Time(ms)", METRIC_LINK_TIME, 1e6},
    {"Bandwidth(GB/s)", METRIC_LINK_BANDWIDTH, 1e9},
};

static void push_members(run_reader *r, const jdoc *d, uint32_t object, const member_metric *list, size_t n,
                         trace_metric_in m, bool zeros)
{
    for (size_t i = 0; i < n; i++) {
        double v = 0;
        if (jdoc_double(d, jdoc_member(d, object, list[i].key), &v) && (zeros || v != 0)) {
            m.kind = list[i].kind;
            m.value = v * list[i].scale;
            run_metric(r, &m);
        }
    }
}

/* "step50" -> 50 */
static int64_t step_of_key(const jdoc *d, uint32_t i)
{
    int64_t step = -1;
    const jdoc_node *node = &d->nodes[i];
    size_t at = 0;
    while (at < node->key_n && (node->key[at] < '0' || node->key[at] > '9')) {
        at++;
    }
    (void)(at < node->key_n && decns_parse_i64(node->key + at, node->key_n - at, &step));
    return step;
}

/* The group of "hcom_allReduce__586_0_1@17522688603477080586", known from now on by the collective's name. */
static uint32_t learn_group(run_reader *r, const jdoc *d, uint32_t op)
{
    const jdoc_node *node = &d->nodes[op];
    const char *at = memchr(node->key, '@', node->key_n);
    if (!at) {
        return NO_ID;
    }
    size_t n = (size_t)(at - node->key);
    uint32_t group = trace_builder_string(r->b, at + 1, node->key_n - n - 1);
    *map64_put(&r->collective_groups, hash_bytes(node->key, n)) = group;
    return group;
}

static void read_operator(run_reader *r, const jdoc *d, uint32_t op, int64_t step)
{
    trace_metric_in m = trace_metric(METRIC_COMM_TIME, 0);
    uint32_t times = jdoc_member(d, op, "Communication Time Info");
    uint32_t links = jdoc_member(d, op, "Communication Bandwidth Info");
    m.step = step;
    m.name = run_key_string(r, d, op, '@');
    m.tag = learn_group(r, d, op);
    (void)jdoc_us(d, jdoc_member(d, times, "Start Timestamp(us)"), &m.time_ns);
    push_members(r, d, times, time_members, sizeof time_members / sizeof *time_members, m, true);
    for (uint32_t kind = jdoc_first(d, links); kind != JDOC_NONE; kind = d->nodes[kind].next) {
        m.tag = run_key_string(r, d, kind, 0);
        push_members(r, d, kind, link_members, sizeof link_members / sizeof *link_members, m, false);
    }
}

/* All operators of {stepN: {p2p: {...}, collective: {...}}}. "Total Op Info" is their sum and left out. */
static void each_operator(run_reader *r, const jdoc *d, void (*take)(run_reader *, const jdoc *, uint32_t, int64_t))
{
    for (uint32_t step = jdoc_first(d, 0); step != JDOC_NONE; step = d->nodes[step].next) {
        int64_t number = d->nodes[step].key ? step_of_key(d, step) : -1;
        for (uint32_t kind = jdoc_first(d, step); kind != JDOC_NONE; kind = d->nodes[kind].next) {
            for (uint32_t op = jdoc_first(d, kind); op != JDOC_NONE; op = d->nodes[op].next) {
                const jdoc_node *node = &d->nodes[op];
                if (node->key && !(node->key_n >= 13 && memcmp(node->key, "Total Op Info", 13) == 0)) {
                    take(r, d, op, number);
                }
            }
        }
    }
}

marey_status ascend_communication_read(run_reader *r, const run_file *f)
{
    jdoc *d = NULL;
    marey_status status = jdoc_read(f->path, r->b->diag, r->b->file, &d);
    if (status == MAREY_OK) {
        each_operator(r, d, read_operator);
    }
    jdoc_destroy(&d);
    return status;
}

/* "0-7": both ends, or false. */
static bool link_ends(const jdoc_node *node, int64_t *a, int64_t *b)
{
    const char *dash = node->key ? memchr(node->key, '-', node->key_n) : NULL;
    size_t n = dash ? (size_t)(dash - node->key) : 0;
    return dash && decns_parse_i64(node->key, n, a) && decns_parse_i64(dash + 1, node->key_n - n - 1, b);
}

static void read_matrix(run_reader *r, const jdoc *d, uint32_t op, int64_t step)
{
    for (uint32_t link = jdoc_first(d, op); link != JDOC_NONE; link = d->nodes[link].next) {
        trace_metric_in m = trace_metric(METRIC_LINK_TIME, 0);
        m.step = step;
        m.flags = METRIC_LOCAL_LINK;
        if (!link_ends(&d->nodes[link], &m.a, &m.b)) {
            run_lose(r, MAREY_LOSS_DAMAGED, d->nodes[link].offset, "link without two ends");
            continue;
        }
        m.name = run_key_string(r, d, op, '@');
        m.tag = run_node_string(r, d, jdoc_member(d, link, "Transport Type"));
        push_members(r, d, link, link_members, sizeof link_members / sizeof *link_members, m, true);
    }
}

marey_status ascend_matrix_read(run_reader *r, const run_file *f)
{
    jdoc *d = NULL;
    marey_status status = jdoc_read(f->path, r->b->diag, r->b->file, &d);
    if (status == MAREY_OK) {
        each_operator(r, d, read_matrix);
    }
    jdoc_destroy(&d);
    return status;
}

/* ---- profiler_metadata.json ---- */

static int64_t size_of(const jdoc *d, uint32_t object, const char *key)
{
    int64_t v = -1;
    return jdoc_i64(d, jdoc_member(d, object, key), &v) && v > 0 ? v : -1;
}

static void take_group(run_reader *r, const jdoc *d, uint32_t i)
{
    uint32_t ranks = jdoc_member(d, i, "global_ranks");
    int64_t list[4096];
    size_t n = 0;
    for (uint32_t k = jdoc_first(d, ranks); k != JDOC_NONE && n < sizeof list / sizeof *list; k = d->nodes[k].next) {
        n += jdoc_i64(d, k, &list[n]);
    }
    trace_side_group(&r->b->side, run_key_string(r, d, i, 0), run_node_string(r, d, jdoc_member(d, i, "group_name")),
                     list, n);
    /* The rank's ordinal in its tensor, data or pipeline group is its place in the grid. */
    static const struct {
        const char *name;
        size_t at;
    } axes[] = {{"tp", offsetof(trace_place_in, tp)},
                {"dp", offsetof(trace_place_in, dp)},
                {"pp", offsetof(trace_place_in, stage)},
                {"ep", offsetof(trace_place_in, ep)},
                {"cp", offsetof(trace_place_in, cp)}};
    int64_t ordinal = -1;
    for (size_t a = 0; a < sizeof axes / sizeof *axes; a++) {
        if (jdoc_text_is(d, jdoc_member(d, i, "group_name"), axes[a].name) &&
            jdoc_i64(d, jdoc_member(d, i, "group_rank"), &ordinal) && ordinal >= 0) {
            memcpy((char *)&r->place + axes[a].at, &ordinal, sizeof ordinal);
            r->has_place = true;
        }
    }
}

/* Sizes of one stand for a place of 0 in it. */
static void take_sizes(run_reader *r, const jdoc *d, uint32_t i)
{
    trace_place_in *p = &r->place;
    p->tp = p->tp < 0 && size_of(d, i, "tensor_model_parallel_size") == 1 ? 0 : p->tp;
    p->stage = p->stage < 0 && size_of(d, i, "pipeline_model_parallel_size") == 1 ? 0 : p->stage;
    p->dp = p->dp < 0 && size_of(d, i, "data_parallel_size") == 1 ? 0 : p->dp;
    p->cp = p->cp < 0 && size_of(d, i, "context_parallel_size") == 1 ? 0 : p->cp;
    p->ep = p->ep < 0 && size_of(d, i, "expert_model_parallel_size") == 1 ? 0 : p->ep;
    r->has_place = true;
}

void ascend_take_parallel(run_reader *r, const jdoc *d, uint32_t distributed, uint32_t groups)
{
    trace_facts *f = &r->b->facts;
    int64_t rank = -1;
    int64_t world = size_of(d, distributed, "world_size");
    if (jdoc_i64(d, jdoc_member(d, distributed, "rank"), &rank) && rank >= 0) {
        f->rank = rank;
    }
    f->world_size = world > 0 ? world : f->world_size;
    for (uint32_t g = jdoc_first(d, groups); g != JDOC_NONE; g = d->nodes[g].next) {
        if (jdoc_is(d, g, JDOC_OBJECT) && d->nodes[g].key) {
            take_group(r, d, g);
        }
    }
    if (jdoc_is(d, distributed, JDOC_OBJECT)) {
        take_sizes(r, d, distributed);
    }
}

marey_status ascend_metadata_read(run_reader *r, const run_file *f)
{
    jdoc *d = NULL;
    marey_status status = jdoc_read(f->path, r->b->diag, r->b->file, &d);
    if (status == MAREY_OK) {
        ascend_take_parallel(r, d, jdoc_member(d, 0, "distributed_args"), jdoc_member(d, 0, "parallel_group_info"));
    }
    jdoc_destroy(&d);
    return status;
}
