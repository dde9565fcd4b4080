#include "app/peers.h"

#include <stdlib.h>

#include "base/mem.h"
#include "store/query.h"

typedef struct search {
    const trace_model *m;
    const store_event_info *e;
    const rank_window *windows;
    peers *out;
    uint8_t *seen; /* [n_ranks] */
    cancel_flag *cancel;
} search;

static int64_t step_start(const trace_step *s)
{
    return s->device_end_ns > s->device_start_ns ? s->device_start_ns : s->start_ns;
}

/* The last step of the rank that began before t. @return false: none */
static bool step_of(const trace_model *m, uint32_t rank, int64_t t_ns, int64_t *index)
{
    const trace_step *best = NULL;
    for (size_t i = 0; i < m->n_steps; i++) {
        const trace_step *s = &m->steps[i];
        if (s->rank == rank && step_start(s) <= t_ns && (!best || step_start(s) > step_start(best))) {
            best = s;
        }
    }
    *index = best ? best->index : 0;
    return best != NULL;
}

/* A step holds what begins in it, up to the next one's begin: kernels may end after it. */
static void open_windows(const trace_model *m, int64_t index, rank_window *w)
{
    rank_windows_of_step(m, index, w);
    rank_window *next = mem_calloc(m->n_ranks + 1, sizeof *next);
    rank_windows_of_step(m, index + 1, next);
    for (size_t r = 0; r < m->n_ranks; r++) {
        if (w[r].t1_ns > w[r].t0_ns) {
            w[r].t1_ns = next[r].t1_ns > next[r].t0_ns ? next[r].t0_ns : m->duration_ns + 1;
        }
    }
    free(next);
}

static bool visit(void *ctx, const store_event_info *e)
{
    search *s = ctx;
    if (e->name == s->e->name && e->instance == s->e->instance && e->klass == s->e->klass) {
        uint32_t rank = s->m->lanes[s->m->tracks[e->track].lane].rank;
        bool inside = e->start_ns >= s->windows[rank].t0_ns && e->start_ns < s->windows[rank].t1_ns;
        if (inside && !s->seen[rank]) {
            s->seen[rank] = 1;
            peer p = {rank, e->start_ns, e->dur_ns};
            VEC_PUSH(s->out->items, s->out->n, s->out->cap, p);
        }
    }
    return !is_cancelled(s->cancel);
}

static uint32_t *tracks_of_peers(const trace_model *m, uint32_t rank, unsigned kinds, rank_window *w, size_t *n)
{
    uint32_t *tracks = NULL;
    size_t cap = 0;
    *n = 0;
    for (size_t r = 0; r < m->n_ranks; r++) {
        if (m->ranks[r].stage != m->ranks[rank].stage) {
            w[r] = (rank_window){0, 0};
            continue;
        }
        for (uint32_t i = 0; i < m->ranks[r].n_lanes; i++) {
            const trace_lane *lane = &m->lanes[m->ranks[r].first_lane + i];
            for (uint32_t k = 0; (kinds >> lane->kind & 1) && k < lane->n_tracks; k++) {
                VEC_PUSH(tracks, *n, cap, lane->first_track + k);
            }
        }
    }
    return tracks;
}

uint32_t *peers_tracks(const trace_model *m, const store_event_info *e, bool whole_device, rank_window *w, size_t *n)
{
    const trace_lane *lane = &m->lanes[m->tracks[e->track].lane];
    int64_t index = 0;
    if (step_of(m, lane->rank, e->start_ns, &index)) {
        open_windows(m, index, w);
    } else {
        rank_windows_of_range(m, 0, m->duration_ns + 1, w);
    }
    const unsigned device = 1U << KIND_COMPUTE | 1U << KIND_COMMUNICATION | 1U << KIND_COPY;
    unsigned kinds = 1U << lane->kind;
    return tracks_of_peers(m, lane->rank, whole_device && (kinds & device) ? device : kinds, w, n);
}

int64_t peers_step(const trace_model *m, const store_event_info *e)
{
    int64_t index = 0;
    return step_of(m, m->lanes[m->tracks[e->track].lane].rank, e->start_ns, &index) ? index : -1;
}

rank_window peers_range(const trace_model *m, const rank_window *w)
{
    rank_window all = {INT64_MAX, INT64_MIN};
    for (size_t r = 0; r < m->n_ranks; r++) {
        if (w[r].t1_ns > w[r].t0_ns) {
            all.t0_ns = w[r].t0_ns < all.t0_ns ? w[r].t0_ns : all.t0_ns;
            all.t1_ns = w[r].t1_ns > all.t1_ns ? w[r].t1_ns : all.t1_ns;
        }
    }
    return all;
}

static int by_rank(const void *a, const void *b)
{
    uint32_t x = ((const peer *)a)->rank;
    uint32_t y = ((const peer *)b)->rank;
    return (x > y) - (x < y);
}

marey_status peers_find(store_file *f, const store_event_info *e, peers *out, cancel_flag *cancel, diag *d)
{
    const trace_model *m = store_model(f);
    *out = (peers){0};
    if (e->track >= m->n_tracks) {
        return MAREY_OK;
    }
    rank_window *w = mem_calloc(m->n_ranks + 1, sizeof *w);
    size_t n = 0;
    uint32_t *tracks = peers_tracks(m, e, false, w, &n);
    rank_window all = peers_range(m, w);
    marey_status status = MAREY_OK;
    out->too_many = rank_time_count(f, w) > PEERS_MAX_EVENTS;
    if (n > 0 && all.t1_ns > all.t0_ns && !out->too_many) {
        search s = {m, e, w, out, mem_calloc(m->n_ranks + 1, 1), cancel};
        query_row row = {tracks, n};
        status = store_visit(f, &row, all.t0_ns, all.t1_ns, visit, &s, d);
        status = status == MAREY_OK && is_cancelled(cancel) ? MAREY_CANCELLED : status;
        free(s.seen);
    }
    free(tracks);
    free(w);
    if (out->n > 0) {
        qsort(out->items, out->n, sizeof *out->items, by_rank);
    }
    peers_measure(out);
    return status;
}

/* ---- what they say together ---- */

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a;
    int64_t y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static int64_t lower_middle(int64_t *v, size_t n)
{
    qsort(v, n, sizeof *v, by_value);
    return v[(n - 1) / 2];
}

void peers_measure(peers *p)
{
    if (p->n == 0) {
        return;
    }
    int64_t *v = mem_alloc(p->n * sizeof *v);
    int64_t first = INT64_MAX;
    p->min_ns = INT64_MAX;
    p->max_ns = INT64_MIN;
    for (size_t i = 0; i < p->n; i++) {
        const peer *q = &p->items[i];
        v[i] = q->dur_ns;
        first = q->start_ns < first ? q->start_ns : first;
        p->min_ns = q->dur_ns < p->min_ns ? q->dur_ns : p->min_ns;
        if (q->dur_ns > p->max_ns) {
            p->max_ns = q->dur_ns;
            p->slowest = q->rank;
        }
    }
    p->median_ns = lower_middle(v, p->n);
    for (size_t i = 0; i < p->n; i++) {
        int64_t off = p->items[i].dur_ns - p->median_ns;
        v[i] = off < 0 ? -off : off;
    }
    p->mad_ns = lower_middle(v, p->n);
    p->slowest_mads = p->mad_ns > 0 ? (double)(p->max_ns - p->median_ns) / (double)p->mad_ns : 0;
    for (size_t i = 0; i < p->n; i++) {
        v[i] = p->items[i].start_ns - first;
    }
    qsort(v, p->n, sizeof *v, by_value);
    size_t at = (p->n * 99 + 99) / 100; /* nearest rank */
    p->start_lag_p99_ns = v[at > 0 ? at - 1 : 0];
    free(v);
}

bool peers_is_outlier(const peers *p, int64_t dur_ns)
{
    int64_t off = dur_ns > p->median_ns ? dur_ns - p->median_ns : p->median_ns - dur_ns;
    int64_t least = p->median_ns / 20 > 10000 ? p->median_ns / 20 : 10000;
    return p->n >= 3 && off > 5 * p->mad_ns && off > least;
}

void peers_deinit(peers *p)
{
    free(p->items);
    *p = (peers){0};
}
