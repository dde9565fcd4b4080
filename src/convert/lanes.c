#include <stdlib.h>

#include "base/mem.h"
#include "convert/annotate.h"

static void totals_count(totals *t, uint64_t n, int64_t ns)
{
    t->n_events += n;
    if (__builtin_add_overflow(t->sum_ns, ns, &t->sum_ns)) {
        t->sum_ns = INT64_MAX;
    }
}

static void totals_begin(totals *t, int64_t start_ns)
{
    if (t->n_events == 0) {
        t->first_ns = t->last_ns = start_ns;
    }
}

static void take_extent(totals *t, const totals *from)
{
    t->busy_ns = from->busy_ns;
    t->first_ns = from->first_ns;
    t->last_ns = from->last_ns;
}

/* From the second lane on a thread gathers its own totals. @return has it any lane? */
static bool share_thread(source *s, source_thread *t)
{
    bool any = false;
    for (unsigned k = 0; k < KIND_COUNT; k++) {
        if (t->lanes[k] == NO_ID) {
            continue;
        }
        source_lane *l = &s->lanes[t->lanes[k]];
        any = true;
        if (!l->shares) {
            l->shares = true;
            take_extent(&t->sum, &l->sum);
            t->sum.n_events = l->sum.n_events > 0 ? 1 : 0;
        }
    }
    return any;
}

uint32_t lane_make(source *s, uint32_t rank, uint32_t thread, trace_kind kind)
{
    source_lane l = {.thread = thread, .rank = rank, .kind = kind};
    l.shares = thread != NO_ID && share_thread(s, &s->threads[thread]);
    VEC_RESERVE(l.ends_ns, l.cap_ends, 1);
    l.ends_ns[0] = INT64_MAX;
    VEC_PUSH(s->lanes, s->n_lanes, s->cap_lanes, l);
    return (uint32_t)(s->n_lanes - 1);
}

static void add_track(source *s, uint32_t lane)
{
    source_lane *l = &s->lanes[lane];
    source_track t = {.lane = lane, .depth = (uint32_t)l->n_tracks, .row = NO_ID};
    VEC_PUSH(s->tracks, s->n_tracks, s->cap_tracks, t);
    VEC_RESERVE(l->tracks, l->cap_tracks, l->n_tracks + 1);
    l->tracks[l->n_tracks++] = (uint32_t)(s->n_tracks - 1);
    VEC_RESERVE(l->ends_ns, l->cap_ends, l->n_tracks + 1);
    l->ends_ns[l->n_tracks] = INT64_MIN;
}

/* Overlap without nesting: the shallowest free track below the innermost event that does enclose this one. */
static size_t free_depth(const source_lane *l, int64_t start_ns, int64_t end_ns)
{
    size_t around = l->top;
    while (around > 0 && (l->ends_ns[around] <= start_ns || l->ends_ns[around] < end_ns)) {
        around--;
    }
    size_t depth = around;
    while (depth < l->n_tracks && l->ends_ns[depth + 1] > start_ns) {
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
    while (l->top > 0 && l->ends_ns[l->top] <= start_ns) {
        l->top--;
    }
    size_t depth = l->top;
    bool overlaps = depth > 0 && end_ns > l->ends_ns[depth];
    if (overlaps) {
        note_overlap(s, l, start_ns);
        depth = free_depth(l, start_ns, end_ns);
    }
    if (depth == l->n_tracks) {
        if (depth == MAX_TRACKS_PER_LANE) {
            return NO_ID;
        }
        add_track(s, lane);
    }
    l->ends_ns[depth + 1] = end_ns;
    l->top = depth + 1 > l->top ? depth + 1 : l->top;
    totals_begin(&l->sum, start_ns);
    totals_widen(&l->sum, start_ns, end_ns);
    if (l->shares) {
        totals *all = &s->threads[l->thread].sum;
        totals_begin(all, start_ns);
        totals_widen(all, start_ns, end_ns);
        all->n_events = 1;
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
        if (!l->shares) {
            take_extent(&t->sum, &l->sum);
        }
        totals_count(&t->sum, l->sum.n_events, l->sum.sum_ns);
        t->is_device |= kind_is_device(l->kind);
        r->has_device |= kind_is_device(l->kind);
        r->has_cpu |= l->kind == KIND_CPU;
        r->n_events += l->sum.n_events;
    }
}
