#include "app/rank_time.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "store/query.h"

typedef struct piece {
    int64_t start_ns, end_ns;
    uint32_t rank;
    uint8_t klass;
} piece;

typedef struct gathering {
    const trace_model *m;
    const rank_window *windows;
    piece *items;
    size_t n, cap;
    cancel_flag *cancel;
} gathering;

/* ---- windows ---- */

void rank_windows_of_range(const trace_model *m, int64_t t0_ns, int64_t t1_ns, rank_window *out)
{
    for (size_t r = 0; r < m->n_ranks; r++) {
        out[r] = (rank_window){t0_ns, t1_ns};
    }
}

void rank_windows_of_step(const trace_model *m, int64_t index, rank_window *out)
{
    memset(out, 0, m->n_ranks * sizeof *out);
    for (size_t i = 0; i < m->n_steps; i++) {
        const trace_step *s = &m->steps[i];
        if (s->index != index || s->rank >= m->n_ranks) {
            continue;
        }
        bool on_device = s->device_end_ns > s->device_start_ns;
        out[s->rank] =
            (rank_window){on_device ? s->device_start_ns : s->start_ns, on_device ? s->device_end_ns : s->end_ns};
    }
}

/* The ranks' windows of one store group, joined. */
static bool group_window(const store_group_info *g, const rank_window *windows, size_t n_ranks, rank_window *out)
{
    *out = (rank_window){INT64_MAX, INT64_MIN};
    for (uint32_t r = g->first_rank; r < g->first_rank + g->n_ranks && r < n_ranks; r++) {
        if (windows[r].t1_ns > windows[r].t0_ns) {
            out->t0_ns = windows[r].t0_ns < out->t0_ns ? windows[r].t0_ns : out->t0_ns;
            out->t1_ns = windows[r].t1_ns > out->t1_ns ? windows[r].t1_ns : out->t1_ns;
        }
    }
    return out->t1_ns > out->t0_ns;
}

uint64_t rank_time_count(store_file *f, const rank_window *windows)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < store_n_groups(f); i++) {
        store_group_info g = store_group_at(f, i);
        rank_window w;
        if (g.kind != GROUP_EVENTS || !group_window(&g, windows, store_model(f)->n_ranks, &w)) {
            continue;
        }
        uint32_t first = 0;
        uint32_t n = 0;
        store_blocks_in(f, i, w.t0_ns, w.t1_ns, &first, &n);
        for (uint32_t b = 0; b < n; b++) {
            sum += store_block_head(f, g.blocks[first + b]).n;
        }
    }
    return sum;
}

/* ---- one rank: events by start, the most important class that runs has the instant ---- */

static void attribute(rank_time *out, const int64_t *until, int64_t *now, int64_t to)
{
    while (*now < to) {
        int c = 0;
        while (c < CLASS_COUNT && until[c] <= *now) {
            c++;
        }
        if (c == CLASS_COUNT) {
            *now = to;
            return;
        }
        int64_t end = until[c] < to ? until[c] : to;
        out->class_ns[c] += end - *now;
        out->busy_ns += end - *now;
        *now = end;
    }
}

static void sum_rank(const piece *p, size_t n, rank_window w, rank_time *out)
{
    int64_t until[CLASS_COUNT];
    for (int c = 0; c < CLASS_COUNT; c++) {
        until[c] = w.t0_ns;
    }
    int64_t now = w.t0_ns;
    for (size_t i = 0; i < n; i++) {
        attribute(out, until, &now, p[i].start_ns);
        uint8_t c = p[i].klass < CLASS_COUNT ? p[i].klass : CLASS_OTHER;
        until[c] = p[i].end_ns > until[c] ? p[i].end_ns : until[c];
    }
    attribute(out, until, &now, w.t1_ns);
}

static int by_rank_and_start(const void *pa, const void *pb)
{
    const piece *a = pa;
    const piece *b = pb;
    if (a->rank != b->rank) {
        return a->rank < b->rank ? -1 : 1;
    }
    return (a->start_ns > b->start_ns) - (a->start_ns < b->start_ns);
}

/* ---- one store group ---- */

static bool gather(void *ctx, const store_event_info *e)
{
    gathering *g = ctx;
    uint32_t rank = g->m->lanes[g->m->tracks[e->track].lane].rank;
    rank_window w = g->windows[rank];
    int64_t start = e->start_ns > w.t0_ns ? e->start_ns : w.t0_ns;
    int64_t end = e->start_ns + e->dur_ns < w.t1_ns ? e->start_ns + e->dur_ns : w.t1_ns;
    if (end > start) {
        piece p = {start, end, rank, e->klass};
        VEC_PUSH(g->items, g->n, g->cap, p);
    }
    return !is_cancelled(g->cancel);
}

static bool has_device(const trace_model *m, uint32_t rank)
{
    for (uint32_t i = 0; i < m->ranks[rank].n_lanes; i++) {
        if (kind_is_device(m->lanes[m->ranks[rank].first_lane + i].kind)) {
            return true;
        }
    }
    return false;
}

/* What a rank's row is the union of: its device's work; without one, its threads' outermost events. */
static uint32_t *tracks_of_group(const trace_model *m, const store_group_info *g, size_t *n)
{
    uint32_t *tracks = NULL;
    size_t cap = 0;
    *n = 0;
    for (uint32_t r = g->first_rank; r < g->first_rank + g->n_ranks && r < m->n_ranks; r++) {
        bool device = has_device(m, r);
        for (uint32_t i = 0; i < m->ranks[r].n_lanes; i++) {
            const trace_lane *lane = &m->lanes[m->ranks[r].first_lane + i];
            uint32_t used = device ? (kind_is_device(lane->kind) ? lane->n_tracks : 0)
                                   : (lane->kind == KIND_CPU && lane->n_tracks > 0 ? 1 : 0);
            for (uint32_t k = 0; k < used; k++) {
                VEC_PUSH(tracks, *n, cap, lane->first_track + k);
            }
        }
    }
    return tracks;
}

static marey_status sum_group(store_file *f, const store_group_info *info, gathering *g, rank_time *out, diag *d)
{
    rank_window w;
    size_t n = 0;
    if (!group_window(info, g->windows, g->m->n_ranks, &w)) {
        return MAREY_OK;
    }
    uint32_t *tracks = tracks_of_group(g->m, info, &n);
    query_row row = {tracks, n};
    g->n = 0;
    marey_status status = n > 0 ? store_visit(f, &row, w.t0_ns, w.t1_ns, gather, g, d) : MAREY_OK;
    if (status == MAREY_OK && g->n > 0) {
        qsort(g->items, g->n, sizeof *g->items, by_rank_and_start);
    }
    for (size_t i = 0; status == MAREY_OK && i < g->n;) {
        size_t end = i;
        while (end < g->n && g->items[end].rank == g->items[i].rank) {
            end++;
        }
        uint32_t rank = g->items[i].rank;
        sum_rank(g->items + i, end - i, g->windows[rank], &out[rank]);
        i = end;
    }
    free(tracks);
    return status;
}

marey_status rank_time_sum(store_file *f, const rank_window *windows, rank_time *out, cancel_flag *cancel, diag *d)
{
    gathering g = {.m = store_model(f), .windows = windows, .cancel = cancel};
    marey_status status = MAREY_OK;
    memset(out, 0, g.m->n_ranks * sizeof *out);
    for (uint32_t i = 0; i < store_n_groups(f) && status == MAREY_OK; i++) {
        store_group_info info = store_group_at(f, i);
        if (info.kind == GROUP_EVENTS) {
            status = sum_group(f, &info, &g, out, d);
        }
        status = status == MAREY_OK && is_cancelled(cancel) ? MAREY_CANCELLED : status;
    }
    free(g.items);
    return status;
}
