#include "diagnose/operators.h"

#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "store/query.h"

enum { MIN_PEERS = 3, MIN_EXCESS_NS = 10000, MAX_EVENTS = 8 << 20 };
static const double MIN_SHARE = 0.05;
static const double MAX_Z = 3.5;

static int by_instance(const void *pa, const void *pb)
{
    const operator_event *a = pa;
    const operator_event *b = pb;
    if (a->name != b->name) {
        return a->name < b->name ? -1 : 1;
    }
    if (a->occurrence != b->occurrence) {
        return a->occurrence < b->occurrence ? -1 : 1;
    }
    if (a->rank != b->rank) {
        return a->rank < b->rank ? -1 : 1;
    }
    return a->start_ns < b->start_ns ? -1 : a->start_ns > b->start_ns;
}

static int by_number(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a;
    int64_t y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Durations before lags, then the larger excess first. */
static int by_excess(const void *pa, const void *pb)
{
    const operator_outlier *a = pa;
    const operator_outlier *b = pb;
    if ((a->what == DEVIATES_DURATION) != (b->what == DEVIATES_DURATION)) {
        return a->what == DEVIATES_DURATION ? -1 : 1;
    }
    int64_t x = llabs(a->excess_ns);
    int64_t y = llabs(b->excess_ns);
    if (x != y) {
        return x > y ? -1 : 1;
    }
    return by_instance(&a->event, &b->event);
}

typedef struct outlier_list {
    operator_outlier *items;
    size_t n, cap;
} outlier_list;

static int64_t value_of(const operator_event *e, operator_deviation what)
{
    return what == DEVIATES_DURATION ? e->end_ns - e->start_ns : what == DEVIATES_START ? e->start_ns : e->end_ns;
}

static void judge(outlier_list *l, const operator_event *e, size_t n, operator_deviation what, int64_t duration_ns,
                  int64_t *scratch)
{
    for (size_t i = 0; i < n; i++) {
        scratch[i] = value_of(&e[i], what);
    }
    qsort(scratch, n, sizeof *scratch, by_number);
    int64_t median = scratch[(n - 1) / 2];
    int64_t base = what == DEVIATES_DURATION ? 0 : scratch[0];
    for (size_t i = 0; i < n; i++) {
        scratch[i] = llabs(value_of(&e[i], what) - median);
    }
    qsort(scratch, n, sizeof *scratch, by_number);
    double mad = (double)scratch[(n - 1) / 2];
    for (size_t i = 0; i < n; i++) {
        int64_t over = value_of(&e[i], what) - median;
        double z = 0.6745 * fabs((double)over) / (mad > 1 ? mad : 1);
        if (z > MAX_Z && llabs(over) > MIN_EXCESS_NS && fabs((double)over) > MIN_SHARE * (double)duration_ns) {
            operator_outlier o = {e[i], what, over, median - base, z, (uint32_t)n - 1};
            VEC_PUSH(l->items, l->n, l->cap, o);
        }
    }
}

static int64_t median_duration(const operator_event *e, size_t n, int64_t *scratch)
{
    for (size_t i = 0; i < n; i++) {
        scratch[i] = e[i].end_ns - e[i].start_ns;
    }
    qsort(scratch, n, sizeof *scratch, by_number);
    return scratch[(n - 1) / 2];
}

operator_outlier *operator_outliers(operator_event *events, size_t n, size_t cap, size_t *n_outliers)
{
    outlier_list l = {0};
    int64_t *scratch = mem_alloc((n + 1) * sizeof *scratch);
    if (n > 0) {
        qsort(events, n, sizeof *events, by_instance);
    }
    for (size_t i = 0, j; i < n; i = j) {
        for (j = i; j < n && events[j].name == events[i].name && events[j].occurrence == events[i].occurrence;) {
            j++;
        }
        if (j - i >= MIN_PEERS) {
            int64_t duration = median_duration(events + i, j - i, scratch);
            for (int what = DEVIATES_DURATION; what <= DEVIATES_END; what++) {
                judge(&l, events + i, j - i, (operator_deviation)what, duration, scratch);
            }
        }
    }
    if (l.n > 0) {
        qsort(l.items, l.n, sizeof *l.items, by_excess);
    }
    *n_outliers = l.n < cap ? l.n : cap;
    free(scratch);
    return l.items;
}

typedef struct taking {
    const trace_model *m;
    operator_event *items;
    size_t n, cap;
    int64_t t0_ns;
    cancel_flag *cancel;
} taking;

static bool take(void *ctx, const store_event_info *e)
{
    taking *t = ctx;
    if (e->start_ns >= t->t0_ns && t->n < MAX_EVENTS) {
        operator_event o = {e->start_ns, e->start_ns + e->dur_ns, t->m->lanes[t->m->tracks[e->track].lane].rank,
                            e->name, e->instance};
        VEC_PUSH(t->items, t->n, t->cap, o);
    }
    return (t->n & 0xfff) != 0 || !is_cancelled(t->cancel);
}

marey_status operator_events(store_file *f, const uint32_t *ranks, size_t n_ranks, int64_t t0_ns, int64_t t1_ns,
                             cancel_flag *cancel, operator_event **out, size_t *n, diag *d)
{
    taking t = {.m = store_model(f), .t0_ns = t0_ns, .cancel = cancel};
    uint32_t *tracks = NULL;
    size_t n_tracks = 0;
    size_t cap = 0;
    for (size_t r = 0; r < n_ranks; r++) {
        const trace_rank *rank = &t.m->ranks[ranks[r]];
        for (uint32_t i = rank->first_lane; i < rank->first_lane + rank->n_lanes; i++) {
            for (uint32_t k = 0; t.m->lanes[i].kind == KIND_COMPUTE && k < t.m->lanes[i].n_tracks; k++) {
                VEC_PUSH(tracks, n_tracks, cap, t.m->lanes[i].first_track + k);
            }
        }
    }
    query_row row = {tracks, n_tracks};
    marey_status status = n_tracks > 0 && t1_ns > t0_ns ? store_visit(f, &row, t0_ns, t1_ns, take, &t, d) : MAREY_OK;
    free(tracks);
    if (status == MAREY_OK && is_cancelled(cancel)) {
        status = MAREY_CANCELLED;
    }
    if (status != MAREY_OK) {
        free(t.items);
        t.items = NULL;
        t.n = 0;
    }
    *out = t.items;
    *n = t.n;
    return status;
}
