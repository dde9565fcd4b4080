#include <stdlib.h>

#include "base/mem.h"
#include "convert/annotate.h"

/* An event that no other one of these totals covers; all others leave their extent and busy time as they are. */
static void totals_widen(totals *t, int64_t start_ns, int64_t end_ns)
{
    if (t->n_events == 0) {
        t->first_ns = t->busy_until_ns = start_ns;
        t->last_ns = end_ns;
    }
    int64_t from = start_ns > t->busy_until_ns ? start_ns : t->busy_until_ns;
    if (end_ns > from) {
        t->busy_ns += end_ns - from;
        t->busy_until_ns = end_ns;
    }
    t->last_ns = end_ns > t->last_ns ? end_ns : t->last_ns;
}

static void totals_count(totals *t, uint64_t n, int64_t ns)
{
    t->n_events += n;
    if (__builtin_add_overflow(t->sum_ns, ns, &t->sum_ns)) {
        t->sum_ns = INT64_MAX;
    }
}

uint32_t lane_make(source *s, uint32_t rank, uint32_t thread, trace_kind kind)
{
    source_lane l = {.thread = thread, .rank = rank, .kind = kind, .top = -1};
    VEC_PUSH(s->lanes, s->n_lanes, s->cap_lanes, l);
    return (uint32_t)(s->n_lanes - 1);
}

static void add_track(source *s, uint32_t lane)
{
    source_lane *l = &s->lanes[lane];
    source_track t = {.lane = lane, .depth = (uint32_t)l->n_tracks, .row = NO_ID};
    VEC_PUSH(s->tracks, s->n_tracks, s->cap_tracks, t);
    VEC_RESERVE(l->ends_ns, l->cap_ends, l->n_tracks + 1);
    VEC_RESERVE(l->tracks, l->cap_tracks, l->n_tracks + 1);
    l->ends_ns[l->n_tracks] = INT64_MIN;
    l->tracks[l->n_tracks++] = (uint32_t)(s->n_tracks - 1);
}

/* Overlap without nesting: the shallowest free track below the innermost event that does enclose this one. */
static size_t free_depth(const source_lane *l, int64_t start_ns, int64_t end_ns)
{
    int q = l->top;
    while (q >= 0 && (l->ends_ns[q] <= start_ns || l->ends_ns[q] < end_ns)) {
        q--;
    }
    size_t depth = (size_t)(q + 1);
    while (depth < l->n_tracks && l->ends_ns[depth] > start_ns) {
        depth++;
    }
    return depth;
}

/* Steps, phases and asynchronous operations may overlap. */
static void note_overlap(source *s, source_lane *l, int64_t start_ns)
{
    if (!kind_is_derived(l->kind) && l->kind != KIND_ASYNC) {
        l->n_overlaps++;
        if (s->rows) {
            lost_event(s, LOST_OVERLAP, run_cursor_order(run_merge_top(s->rows)), start_ns);
        }
    }
}

uint32_t lane_place_apart(source *s, uint32_t lane, int64_t start_ns, int64_t end_ns)
{
    source_lane *l = &s->lanes[lane];
    int top = l->top;
    size_t depth = (size_t)(top + 1);
    bool is_covered = top >= 0 && end_ns <= l->ends_ns[top];
    if (top >= 0 && !is_covered) {
        note_overlap(s, l, start_ns);
        depth = free_depth(l, start_ns, end_ns);
    }
    if (depth == l->n_tracks) {
        if (depth == MAX_TRACKS_PER_LANE) {
            return NO_ID;
        }
        add_track(s, lane);
    }
    l->ends_ns[depth] = end_ns;
    l->top = (int)depth > top ? (int)depth : top;
    if (!is_covered) {
        totals_widen(&l->sum, start_ns, end_ns);
        if (l->thread != NO_ID) {
            totals_widen(&s->threads[l->thread].sum, start_ns, end_ns);
            s->threads[l->thread].sum.n_events = 1;
        }
    }
    totals_count(&l->sum, 1, end_ns - start_ns);
    return l->tracks[depth];
}

void lanes_sum_up(source *s)
{
    for (size_t i = 0; i < s->n_threads; i++) {
        s->threads[i].sum.n_events = 0;
    }
    for (size_t i = 0; i < s->n_lanes; i++) {
        const source_lane *l = &s->lanes[i];
        if (l->thread == NO_ID || l->sum.n_events == 0) {
            continue;
        }
        source_thread *t = &s->threads[l->thread];
        source_rank *r = &s->ranks[l->rank];
        totals_count(&t->sum, l->sum.n_events, l->sum.sum_ns);
        t->is_device |= kind_is_device(l->kind);
        r->has_device |= kind_is_device(l->kind);
        r->has_cpu |= l->kind == KIND_CPU;
        r->n_events += l->sum.n_events;
    }
}
