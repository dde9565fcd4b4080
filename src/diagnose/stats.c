#include "diagnose/stats.h"

#include <math.h>
#include <stdlib.h>

#include "base/mem.h"

enum { MAX_EVENTS = 64 << 20 };

typedef struct span {
    int64_t start_ns, end_ns;
    uint32_t key; /* name, or rank and class */
} span;

typedef struct span_list {
    span *items;
    size_t n, cap;
    const trace_model *m;
    cancel_flag *cancel;
    bool by_rank, is_full;
} span_list;

static int by_key(const void *pa, const void *pb)
{
    const span *a = pa;
    const span *b = pb;
    if (a->key != b->key) {
        return a->key < b->key ? -1 : 1;
    }
    if (a->start_ns != b->start_ns) {
        return a->start_ns < b->start_ns ? -1 : 1;
    }
    return a->end_ns < b->end_ns ? -1 : a->end_ns > b->end_ns;
}

static int by_start(const void *pa, const void *pb)
{
    const span *a = pa;
    const span *b = pb;
    return a->start_ns < b->start_ns ? -1 : a->start_ns > b->start_ns;
}

static int by_number(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a;
    int64_t y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static bool take(void *ctx, const store_event_info *e)
{
    span_list *l = ctx;
    if (l->n == MAX_EVENTS) {
        l->is_full = true;
        return false;
    }
    VEC_PUSH(l->items, l->n, l->cap, ((span){e->start_ns, e->start_ns + e->dur_ns, e->name}));
    return (l->n & 0xfff) != 0 || !is_cancelled(l->cancel);
}

static int64_t clipped(const span *s, int64_t t0, int64_t t1)
{
    int64_t from = s->start_ns > t0 ? s->start_ns : t0;
    int64_t to = s->end_ns < t1 ? s->end_ns : t1;
    return to > from ? to - from : 0;
}

/* Length of the union inside the range; sorted by start. */
static int64_t union_of(const span *s, size_t n, int64_t t0, int64_t t1)
{
    int64_t covered = 0;
    int64_t until = t0;
    for (size_t i = 0; i < n; i++) {
        int64_t from = s[i].start_ns > until ? s[i].start_ns : until;
        int64_t to = s[i].end_ns < t1 ? s[i].end_ns : t1;
        if (to > from) {
            covered += to - from;
            until = to;
        }
    }
    return covered;
}

static int64_t percentile(const int64_t *sorted, size_t n, unsigned percent)
{
    size_t at = (n * percent + 99) / 100;
    return sorted[at > 0 ? at - 1 : 0];
}

static name_stats describe(const span *s, size_t n, int64_t t0, int64_t t1)
{
    name_stats out = {.name = s[0].key, .count = n, .union_ns = union_of(s, n, t0, t1)};
    int64_t *v = mem_alloc(n * sizeof *v);
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        v[i] = s[i].end_ns - s[i].start_ns;
        sum += (double)v[i];
        out.sum_ns += clipped(&s[i], t0, t1);
    }
    out.mean_ns = sum / (double)n;
    for (size_t i = 0; i < n; i++) {
        double apart = (double)v[i] - out.mean_ns;
        out.sigma_ns += apart * apart;
    }
    out.sigma_ns = sqrt(out.sigma_ns / (double)n);
    qsort(v, n, sizeof *v, by_number);
    out.p50_ns = percentile(v, n, 50);
    out.p99_ns = percentile(v, n, 99);
    out.max_ns = v[n - 1];
    free(v);
    return out;
}

static int by_union(const void *pa, const void *pb)
{
    const name_stats *a = pa;
    const name_stats *b = pb;
    if (a->union_ns != b->union_ns) {
        return a->union_ns > b->union_ns ? -1 : 1;
    }
    return a->name < b->name ? -1 : a->name > b->name;
}

marey_status stats_names(store_file *f, const query_row *row, int64_t t0_ns, int64_t t1_ns, cancel_flag *cancel,
                         range_stats *out, diag *d)
{
    *out = (range_stats){0};
    if (t1_ns <= t0_ns) {
        return diag_error(d, MAREY_RANGE, store_path(f), DIAG_NO_OFFSET, "The time range is empty.");
    }
    span_list l = {.m = store_model(f), .cancel = cancel};
    marey_status status = store_visit(f, row, t0_ns, t1_ns, take, &l, d);
    if (status == MAREY_OK && l.is_full) {
        status = diag_error(d, MAREY_LIMIT, store_path(f), DIAG_NO_OFFSET,
                            "More than 67 108 864 events lie in this range; ask for a shorter one or fewer rows.");
    }
    if (status == MAREY_OK && is_cancelled(cancel)) {
        status = MAREY_CANCELLED;
    }
    if (status != MAREY_OK) {
        free(l.items);
        return status;
    }
    size_t cap = 0;
    if (l.n > 0) {
        qsort(l.items, l.n, sizeof *l.items, by_key);
    }
    for (size_t i = 0; i < l.n;) {
        size_t j = i;
        while (j < l.n && l.items[j].key == l.items[i].key) {
            j++;
        }
        VEC_PUSH(out->names, out->n_names, cap, describe(l.items + i, j - i, t0_ns, t1_ns));
        out->sum_ns += out->names[out->n_names - 1].sum_ns;
        i = j;
    }
    out->count = l.n;
    if (l.n > 0) {
        qsort(l.items, l.n, sizeof *l.items, by_start);
        qsort(out->names, out->n_names, sizeof *out->names, by_union);
    }
    out->union_ns = union_of(l.items, l.n, t0_ns, t1_ns);
    free(l.items);
    return MAREY_OK;
}

void range_stats_free(range_stats *s)
{
    free(s->names);
    *s = (range_stats){0};
}

/* ------------------------------------------------------------------ breakdown of a range */

static bool take_device(void *ctx, const store_event_info *e)
{
    span_list *l = ctx;
    const trace_lane *lane = &l->m->lanes[l->m->tracks[e->track].lane];
    unsigned klass = lane->kind == KIND_COMPUTE                            ? 0
                     : lane->kind == KIND_COPY                             ? 3
                     : e->klass == CLASS_SEND || e->klass == CLASS_RECEIVE ? 2
                                                                           : 1;
    VEC_PUSH(l->items, l->n, l->cap, ((span){e->start_ns, e->start_ns + e->dur_ns, lane->rank << 2 | klass}));
    return (l->n & 0xfff) != 0 || !is_cancelled(l->cancel);
}

static int by_rank_and_start(const void *pa, const void *pb)
{
    const span *a = pa;
    const span *b = pb;
    if (a->key >> 2 != b->key >> 2) {
        return a->key >> 2 < b->key >> 2 ? -1 : 1;
    }
    return a->start_ns < b->start_ns ? -1 : a->start_ns > b->start_ns;
}

static void run_sweeps(const span_list *l, const uint32_t *ranks, size_t n, rank_step *out)
{
    size_t i = 0;
    for (size_t r = 0; r < n; r++) {
        sweep s;
        sweep_begin(&s, &out[r], 1);
        while (i < l->n && l->items[i].key >> 2 < ranks[r]) {
            i++;
        }
        for (; i < l->n && l->items[i].key >> 2 == ranks[r]; i++) {
            sweep_put(&s, 1U << (l->items[i].key & 3), l->items[i].start_ns, l->items[i].end_ns, LAUNCH_UNKNOWN);
        }
        sweep_end(&s);
    }
}

/* Ranks of one group of the store at a time: their events lie in the same blocks. */
static marey_status break_group(store_file *f, const uint32_t *ranks, size_t n, int64_t t0_ns, int64_t t1_ns,
                                cancel_flag *cancel, rank_step *out, diag *d)
{
    span_list l = {.m = store_model(f), .cancel = cancel};
    uint32_t *tracks = NULL;
    size_t n_tracks = 0;
    size_t cap = 0;
    for (size_t r = 0; r < n; r++) {
        const trace_rank *rank = &l.m->ranks[ranks[r]];
        for (uint32_t i = rank->first_lane; i < rank->first_lane + rank->n_lanes; i++) {
            for (uint32_t k = 0; kind_is_device(l.m->lanes[i].kind) && k < l.m->lanes[i].n_tracks; k++) {
                VEC_PUSH(tracks, n_tracks, cap, l.m->lanes[i].first_track + k);
            }
        }
    }
    query_row row = {tracks, n_tracks};
    marey_status status = n_tracks > 0 ? store_visit(f, &row, t0_ns, t1_ns, take_device, &l, d) : MAREY_OK;
    if (status == MAREY_OK && l.n > 0) {
        qsort(l.items, l.n, sizeof *l.items, by_rank_and_start);
    }
    if (status == MAREY_OK) {
        run_sweeps(&l, ranks, n, out);
    }
    free(l.items);
    free(tracks);
    return status;
}

marey_status stats_breakdown(store_file *f, const uint32_t *ranks, size_t n, int64_t t0_ns, int64_t t1_ns,
                             cancel_flag *cancel, rank_step *out, diag *d)
{
    const trace_model *m = store_model(f);
    marey_status status = MAREY_OK;
    for (size_t r = 0; r < n; r++) {
        out[r] = (rank_step){.start_ns = t0_ns, .end_ns = t1_ns};
    }
    for (size_t i = 0; i < n && status == MAREY_OK;) {
        size_t j = i;
        while (j < n && m->ranks[ranks[j]].group == m->ranks[ranks[i]].group) {
            j++;
        }
        status = break_group(f, ranks + i, j - i, t0_ns, t1_ns, cancel, out + i, d);
        i = j;
    }
    return status == MAREY_OK && is_cancelled(cancel) ? MAREY_CANCELLED : status;
}
