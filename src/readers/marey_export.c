/*
 * The export of the original Marey view: {maps: {deviceK: {operator: {st, ed, dur}}}, stage_data: {stageK: {devices,
 * data: {operator: {st_min, ...}}}}}, times in us as floats, and a scope map beside it.
 *
 * Each device is a process and a rank (its number is the device's: marked as inferred); the stage is stated by
 * stage_data. minT is ignored: it may lie seconds before the first operator. Operators of another step among those of
 * this one get the mild severity SEVERITY_STRAY, so that a view can leave them out of its extent and still show them.
 */
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "parse/decns.h"
#include "readers/run_read.h"

/* One time-span, in input order. */
typedef struct span {
    int64_t start_ns, end_ns;
    uint32_t op;     /* id of the operator's name */
    uint32_t device; /* index */
    uint32_t stage;  /* index; NO_ID */
    uint32_t node;   /* of the document */
    bool stray;
} span;

typedef struct device {
    const char *name; /* in the text */
    uint32_t n_name;
    uint32_t stage;
    int64_t number; /* of its name; -1 */
    size_t first, n;
    int64_t q1, median, q3; /* of the starts */
} device;

typedef struct export
{
    run_reader *r;
    jdoc *doc, *scopes;
    map64 scope_of; /* hash of the operator's name -> node + 1 */
    intern ops;
    span *spans;
    device *devices;
    size_t n_spans, cap_spans, n_devices, cap_devices;
    uint32_t n_stages;
    uint64_t n_strays;
    int64_t far_ns; /* the farthest stray from its device's median */
}
export;

/* ---- reading ---- */

static int64_t number_of(const char *s, size_t n)
{
    size_t at = n;
    int64_t v = -1;
    while (at > 0 && s[at - 1] >= '0' && s[at - 1] <= '9') {
        at--;
    }
    return at < n && decns_parse_i64(s + at, n - at, &v) ? v : -1;
}

static void add_span(export *x, uint32_t node, uint32_t device_index)
{
    const jdoc *d = x->doc;
    span s = {.device = device_index, .stage = NO_ID, .node = node};
    if (!d->nodes[node].key || !jdoc_us(d, jdoc_member(d, node, "st"), &s.start_ns) ||
        !jdoc_us(d, jdoc_member(d, node, "ed"), &s.end_ns)) {
        run_lose(x->r, MAREY_LOSS_MISSING_TIME, d->nodes[node].offset, NULL);
        return;
    }
    s.op = intern_put(&x->ops, d->nodes[node].key, d->nodes[node].key_n);
    VEC_PUSH(x->spans, x->n_spans, x->cap_spans, s);
}

static void read_maps(export *x)
{
    const jdoc *d = x->doc;
    uint32_t maps = jdoc_member(d, 0, "maps");
    for (uint32_t m = jdoc_first(d, maps); m != JDOC_NONE; m = d->nodes[m].next) {
        device v = {.name = d->nodes[m].key, .n_name = d->nodes[m].key_n, .stage = NO_ID, .first = x->n_spans};
        if (!v.name) {
            continue;
        }
        v.number = number_of(v.name, v.n_name);
        for (uint32_t op = jdoc_first(d, m); op != JDOC_NONE; op = d->nodes[op].next) {
            add_span(x, op, (uint32_t)x->n_devices);
        }
        v.n = x->n_spans - v.first;
        if (!v.n) {
            run_lose(x->r, MAREY_LOSS_NO_EVENTS, d->nodes[m].offset, NULL);
            diag_warn(x->r->b->diag, x->r->b->path, d->nodes[m].offset, "%.*s has no operators", (int)v.n_name, v.name);
        }
        VEC_PUSH(x->devices, x->n_devices, x->cap_devices, v);
    }
}

static device *find_device(export *x, const jdoc_node *name)
{
    for (size_t i = 0; i < x->n_devices; i++) {
        if (x->devices[i].n_name == name->n && memcmp(x->devices[i].name, name->s, name->n) == 0) {
            return &x->devices[i];
        }
    }
    return NULL;
}

static void read_stages(export *x)
{
    const jdoc *d = x->doc;
    uint32_t stages = jdoc_member(d, 0, "stage_data");
    for (uint32_t s = jdoc_first(d, stages); s != JDOC_NONE; s = d->nodes[s].next) {
        int64_t number = d->nodes[s].key ? number_of(d->nodes[s].key, d->nodes[s].key_n) : -1;
        uint32_t stage = number >= 0 && number < 1000000 ? (uint32_t)number : x->n_stages;
        x->n_stages = stage + 1 > x->n_stages ? stage + 1 : x->n_stages;
        uint32_t devices = jdoc_member(d, s, "devices");
        for (uint32_t i = jdoc_first(d, devices); i != JDOC_NONE; i = d->nodes[i].next) {
            device *v = d->nodes[i].s ? find_device(x, &d->nodes[i]) : NULL;
            if (v) {
                v->stage = stage;
            } else {
                diag_warn(x->r->b->diag, x->r->b->path, d->nodes[i].offset,
                          "stage %u names %.*s, which has no operators here", stage,
                          d->nodes[i].s ? (int)d->nodes[i].n : 0, d->nodes[i].s ? d->nodes[i].s : "");
            }
        }
    }
    for (size_t i = 0; i < x->n_spans; i++) {
        x->spans[i].stage = x->devices[x->spans[i].device].stage;
    }
}

static void read_scopes(export *x)
{
    const run_file *f = run_find(x->r->run, RUN_SCOPE_MAP);
    if (!f) {
        return;
    }
    run_use_file(x->r, f->path);
    if (jdoc_read(f->path, x->r->b->diag, x->r->b->file, &x->scopes) != MAREY_OK) {
        run_lose(x->r, MAREY_LOSS_UNREADABLE, DIAG_NO_OFFSET, NULL);
        return;
    }
    const jdoc *d = x->scopes;
    uint32_t map = jdoc_member(d, 0, "scope_map");
    for (uint32_t i = jdoc_first(d, map); i != JDOC_NONE; i = d->nodes[i].next) {
        if (d->nodes[i].key && d->nodes[i].s && d->nodes[i].n) {
            *map64_put(&x->scope_of, hash_bytes(d->nodes[i].key, d->nodes[i].key_n)) = (uint64_t)i + 1;
        }
    }
}

/* ---- operators of other steps ---- */

static int compare_int64(const void *a, const void *b)
{
    const int64_t *x = a;
    const int64_t *y = b;
    return (*x > *y) - (*x < *y);
}

static void measure_device(const export *x, device *v)
{
    if (!v->n) {
        return;
    }
    int64_t *starts = mem_alloc(v->n * sizeof *starts);
    for (size_t i = 0; i < v->n; i++) {
        starts[i] = x->spans[v->first + i].start_ns;
    }
    qsort(starts, v->n, sizeof *starts, compare_int64);
    v->q1 = starts[v->n / 4];
    v->median = starts[v->n / 2];
    v->q3 = starts[v->n - 1 - v->n / 4];
    free(starts);
}

static int64_t distance(int64_t a, int64_t b)
{
    int64_t d = 0;
    return __builtin_sub_overflow(a > b ? a : b, a > b ? b : a, &d) ? INT64_MAX : d;
}

static int compare_spans(const void *a, const void *b)
{
    const span *const *x = a;
    const span *const *y = b;
    int by = ((*x)->stage > (*y)->stage) - ((*x)->stage < (*y)->stage);
    by = by ? by : ((*x)->op > (*y)->op) - ((*x)->op < (*y)->op);
    return by ? by : compare_int64(&(*x)->start_ns, &(*y)->start_ns);
}

static void mark(export *x, span *s)
{
    int64_t far = distance(s->start_ns, x->devices[s->device].median);
    s->stray = true;
    x->n_strays++;
    x->far_ns = far > x->far_ns ? far : x->far_ns;
}

/* The time-spans of one operator of one stage, sorted by start. */
static void judge_peers(export *x, span *const *peers, size_t n, int64_t limit)
{
    if (n == 2 && distance(peers[0]->start_ns, peers[1]->start_ns) > limit) {
        /* Two disagree: the one farther from the middle of its own device's work is the stray. */
        int64_t first = distance(peers[0]->start_ns, x->devices[peers[0]->device].median);
        int64_t second = distance(peers[1]->start_ns, x->devices[peers[1]->device].median);
        mark(x, first > second ? peers[0] : peers[1]);
        return;
    }
    for (size_t i = 0; i < n && n > 2; i++) {
        if (distance(peers[i]->start_ns, peers[n / 2]->start_ns) > limit) {
            mark(x, peers[i]);
        }
    }
    const device *v = &x->devices[peers[0]->device];
    int64_t reach = distance(v->q3, v->q1);
    reach = reach < INT64_MAX / 4 ? reach * 3 : INT64_MAX;
    bool low = peers[0]->start_ns < v->q1 && distance(peers[0]->start_ns, v->q1) > reach;
    bool high = peers[0]->start_ns > v->q3 && distance(peers[0]->start_ns, v->q3) > reach;
    if (n == 1 && (low || high)) {
        mark(x, peers[0]);
    }
}

static size_t peers_end(span *const *sorted, size_t n, size_t at)
{
    size_t end = at + 1;
    while (end < n && sorted[end]->op == sorted[at]->op && sorted[end]->stage == sorted[at]->stage) {
        end++;
    }
    return end;
}

/* Peers normally start within microseconds of each other: 50 times the median spread is another step's. */
static int64_t spread_limit(span *const *sorted, size_t n)
{
    int64_t *spreads = mem_alloc((n ? n : 1) * sizeof *spreads);
    size_t k = 0;
    for (size_t i = 0, end = 0; i < n; i = end) {
        end = peers_end(sorted, n, i);
        if (end - i > 1) {
            spreads[k++] = distance(sorted[end - 1]->start_ns, sorted[i]->start_ns);
        }
    }
    int64_t limit = 100000;
    if (k) {
        qsort(spreads, k, sizeof *spreads, compare_int64);
        int64_t median = spreads[k / 2];
        int64_t wide = median < INT64_MAX / 50 ? median * 50 : INT64_MAX;
        limit = wide > limit ? wide : limit;
    }
    free(spreads);
    return limit;
}

static void find_strays(export *x)
{
    span **sorted = mem_alloc((x->n_spans ? x->n_spans : 1) * sizeof *sorted);
    for (size_t i = 0; i < x->n_spans; i++) {
        sorted[i] = &x->spans[i];
    }
    for (size_t i = 0; i < x->n_devices; i++) {
        measure_device(x, &x->devices[i]);
    }
    qsort(sorted, x->n_spans, sizeof *sorted, compare_spans);
    for (size_t i = 0, end = 0; i < x->n_spans; i = end) {
        size_t stage_end = i;
        while (stage_end < x->n_spans && sorted[stage_end]->stage == sorted[i]->stage) {
            stage_end++;
        }
        int64_t limit = spread_limit(sorted + i, stage_end - i);
        for (end = i; end < stage_end;) {
            size_t next = peers_end(sorted, stage_end, end);
            judge_peers(x, sorted + end, next - end, limit);
            end = next;
        }
    }
    free(sorted);
    if (x->n_strays) {
        char far[64];
        time_format(x->far_ns, far, sizeof far);
        diag_note(x->r->b->diag, x->r->run->label, DIAG_NO_OFFSET,
                  "%llu operators belong to another step (up to %s away): marked, and left out of the first view",
                  (unsigned long long)x->n_strays, far);
    }
}

/* ---- pushing ---- */

static uint32_t push_device(export *x, const device *v, size_t index)
{
    run_reader *r = x->r;
    char pid[64];
    char label[128];
    (void)snprintf(pid, sizeof pid, "%.*s", (int)(v->n_name < 60 ? v->n_name : 60), v->name);
    (void)snprintf(label, sizeof label, "%s", pid);
    uint32_t thread = run_thread(r, pid, "0", label, "Operators");
    trace_place_in p = trace_place(r->b->threads[thread].pid_id);
    p.rank = v->number >= 0 ? v->number : (int64_t)index;
    p.device = v->number;
    p.stage = v->stage == NO_ID ? -1 : (int64_t)v->stage;
    p.label = run_cstring(r, label);
    p.inferred = INFERRED_RANK;
    trace_side_place(&r->b->side, &p);
    return thread;
}

static marey_status push_span(export *x, const span *s, uint32_t thread, strbuf *args)
{
    const jdoc_node *op = &x->doc->nodes[s->node];
    const uint64_t *scope_node = map64_get(&x->scope_of, hash_bytes(op->key, op->key_n));
    const jdoc_node *scope = scope_node ? &x->scopes->nodes[*scope_node - 1] : NULL;
    const char *phase = scope ? mindspore_phase(scope->s, scope->n, true) : "";
    const char *source = mindspore_source(op->key, op->key_n, phase);
    int64_t dur = 0;
    trace_event_in e = {.start_ns = s->start_ns, .thread = thread, .flags = s->stray ? SEVERITY_STRAY : 0};
    if (__builtin_sub_overflow(s->end_ns, s->start_ns, &dur)) {
        run_lose(x->r, MAREY_LOSS_TIME_OVERFLOW, op->offset, NULL);
        return MAREY_OK;
    }
    e.dur_ns = dur;
    e.name = trace_builder_name_raw(x->r->b, op->key, op->key_n, run_cstring(x->r, source));
    if (scope) {
        strbuf_clear(args);
        strbuf_puts(args, "{\"scope\": \"");
        strbuf_add(args, scope->s, scope->n);
        strbuf_puts(args, "\"}");
        e.args = args->s;
        e.args_len = (uint32_t)args->n;
    }
    if (strcmp(source, "hccl") == 0) {
        mindspore_collective(x->r, op->key, op->key_n);
    }
    return run_event(x->r, &e);
}

static marey_status push_all(export *x)
{
    marey_status status = MAREY_OK;
    strbuf args = {0};
    for (size_t i = 0; i < x->n_devices; i++) {
        const device *v = &x->devices[i];
        uint32_t thread = push_device(x, v, i);
        for (size_t k = 0; k < v->n && status == MAREY_OK; k++) {
            status = push_span(x, &x->spans[v->first + k], thread, &args);
        }
        if (status == MAREY_OK && run_cancelled(x->r)) {
            status = MAREY_CANCELLED;
        }
    }
    strbuf_deinit(&args);
    return status;
}

static marey_status read_export(export *x, const run_file *f)
{
    read_scopes(x);
    run_use_file(x->r, f->path);
    marey_status status = jdoc_read(f->path, x->r->b->diag, x->r->b->file, &x->doc);
    if (status != MAREY_OK) {
        return status;
    }
    read_maps(x);
    if (!x->n_devices) {
        return diag_error(x->r->b->diag, MAREY_FORMAT, f->path, DIAG_NO_OFFSET,
                          "is no Marey export: it has no maps of devices");
    }
    read_stages(x);
    find_strays(x);
    x->r->bytes_done += file_size(f->path);
    run_report(x->r);
    return push_all(x);
}

marey_status marey_export_read(run_reader *r)
{
    const run_file *f = run_find(r->run, RUN_MAREY);
    export x = {.r = r};
    marey_status status = f ? read_export(&x, f) : MAREY_OK;
    jdoc_destroy(&x.doc);
    jdoc_destroy(&x.scopes);
    map64_deinit(&x.scope_of);
    intern_deinit(&x.ops);
    free(x.spans);
    free(x.devices);
    return status;
}
