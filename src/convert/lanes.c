#include <stdlib.h>

#include "base/mem.h"
#include "convert/annotate.h"

void totals_add(totals *t, int64_t start_ns, int64_t end_ns)
{
    if (t->n_events++ == 0) {
        t->first_ns = t->busy_until_ns = start_ns;
        t->last_ns = end_ns;
    }
    int64_t from = start_ns > t->busy_until_ns ? start_ns : t->busy_until_ns;
    if (end_ns > from) {
        t->busy_ns += end_ns - from;
        t->busy_until_ns = end_ns;
    }
    t->last_ns = end_ns > t->last_ns ? end_ns : t->last_ns;
    if (__builtin_add_overflow(t->sum_ns, end_ns - start_ns, &t->sum_ns)) {
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

uint32_t lane_place(source *s, uint32_t lane, int64_t start_ns, int64_t end_ns)
{
    source_lane *l = &s->lanes[lane];
    while (l->top >= 0 && l->ends_ns[l->top] <= start_ns) {
        l->top--;
    }
    size_t depth = (size_t)(l->top + 1);
    if (l->top >= 0 && end_ns > l->ends_ns[l->top]) {
        l->n_overlaps++;
        depth = free_depth(l, start_ns, end_ns);
    }
    if (depth == l->n_tracks) {
        if (depth == MAX_TRACKS_PER_LANE) {
            return NO_ID;
        }
        add_track(s, lane);
        l = &s->lanes[lane];
    }
    l->ends_ns[depth] = end_ns;
    l->top = (int)depth > l->top ? (int)depth : l->top;
    totals_add(&l->sum, start_ns, end_ns);
    return l->tracks[depth];
}
