/*
 * Contract: whatever the intervals, placing them in order of start gives tracks on which nothing overlaps; an interval
 * that lies inside the one above it stands below it; properly nested input uses exactly as many tracks as it is deep;
 * events without length need no track of their own unless something runs there; busy is the union, sum the sum. What a
 * thread holds is the union and the sum of its lanes, however many it has and whenever they begin.
 */
#include "cm.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "convert/annotate.h"

typedef struct interval {
    int64_t start_ns, end_ns;
} interval;

static int compare(const void *pa, const void *pb)
{
    const interval *a = pa;
    const interval *b = pb;
    if (a->start_ns != b->start_ns) {
        return a->start_ns < b->start_ns ? -1 : 1;
    }
    return a->end_ns > b->end_ns ? -1 : a->end_ns < b->end_ns;
}

static void release(source *s)
{
    for (size_t i = 0; i < s->n_lanes; i++) {
        free(s->lanes[i].ends_ns);
        free(s->lanes[i].tracks);
    }
    free(s->lanes);
    free(s->tracks);
}

static void never_overlap(void **state)
{
    (void)state;
    prng r;
    prng_seed(&r, 3);
    for (int round = 0; round < 200; round++) {
        size_t n = 1 + prng_below(&r, 400);
        interval *v = calloc(n, sizeof *v);
        for (size_t i = 0; i < n; i++) {
            v[i].start_ns = (int64_t)prng_below(&r, 1000);
            v[i].end_ns = v[i].start_ns + (int64_t)prng_below(&r, round % 2 ? 30 : 500);
        }
        qsort(v, n, sizeof *v, compare);
        source s = {0};
        uint32_t lane = lane_make(&s, 0, NO_ID, KIND_CPU);
        int64_t ends[MAX_TRACKS_PER_LANE];
        int64_t union_ns = 0;
        int64_t until = INT64_MIN;
        int64_t sum = 0;
        for (size_t i = 0; i < n; i++) {
            size_t before = s.n_tracks;
            uint32_t track = lane_place(&s, lane, v[i].start_ns, v[i].end_ns);
            assert_true(track < s.n_tracks);
            if (s.n_tracks == before) {
                assert_true(ends[track] <= v[i].start_ns);
            }
            ends[track] = v[i].end_ns;
            int64_t from = v[i].start_ns > until ? v[i].start_ns : until;
            union_ns += v[i].end_ns > from ? v[i].end_ns - from : 0;
            until = v[i].end_ns > until ? v[i].end_ns : until;
            sum += v[i].end_ns - v[i].start_ns;
        }
        const totals *t = &s.lanes[lane].sum;
        assert_true(t->busy_ns == union_ns && t->sum_ns == sum && t->n_events == n);
        assert_true(t->first_ns == v[0].start_ns && t->last_ns == until);
        release(&s);
        free(v);
    }
}

/* A random tree of intervals, written in order of start. */
static size_t grow(prng *r, interval *v, size_t n, size_t cap, int64_t a, int64_t b, unsigned depth, unsigned *deepest)
{
    while (n < cap && b - a > 4 && prng_below(r, 4)) {
        int64_t x = a + (int64_t)prng_below(r, (uint64_t)(b - a));
        int64_t y = x + 1 + (int64_t)prng_below(r, (uint64_t)(b - x));
        y = y > b ? b : y;
        v[n++] = (interval){x, y};
        *deepest = depth > *deepest ? depth : *deepest;
        if (depth < 40) {
            n = grow(r, v, n, cap, x, y, depth + 1, deepest);
        }
        a = y;
    }
    return n;
}

static void nests(void **state)
{
    (void)state;
    prng r;
    prng_seed(&r, 5);
    interval v[2000];
    for (int round = 0; round < 100; round++) {
        unsigned deepest = 0;
        size_t n = grow(&r, v, 0, 2000, 0, 1000000, 1, &deepest);
        qsort(v, n, sizeof *v, compare);
        source s = {0};
        uint32_t lane = lane_make(&s, 0, NO_ID, KIND_CPU);
        for (size_t i = 0; i < n; i++) {
            (void)lane_place(&s, lane, v[i].start_ns, v[i].end_ns);
        }
        assert_true(s.n_tracks <= deepest);
        assert_int_equal(s.lanes[lane].n_overlaps, 0);
        release(&s);
    }
}

static uint32_t depth_of(source *s, uint32_t lane, int64_t a, int64_t b)
{
    uint32_t track = lane_place(s, lane, a, b); /* may move s->tracks */
    return s->tracks[track].depth;
}

static void by_hand(void **state)
{
    (void)state;
    source s = {0};
    uint32_t lane = lane_make(&s, 0, NO_ID, KIND_COMPUTE);
    assert_int_equal(depth_of(&s, lane, 0, 10), 0);
    assert_int_equal(depth_of(&s, lane, 0, 10), 1);  /* the same again is inside */
    assert_int_equal(depth_of(&s, lane, 10, 10), 0); /* a point where both have ended */
    assert_int_equal(depth_of(&s, lane, 10, 10), 0); /* points at one place share a track */
    assert_int_equal(depth_of(&s, lane, 10, 20), 0);
    assert_int_equal(depth_of(&s, lane, 15, 25), 1); /* an overlap goes below */
    assert_int_equal(s.lanes[lane].n_overlaps, 1);
    assert_int_equal(depth_of(&s, lane, 20, 22), 2); /* inside the overlapping one */
    assert_int_equal(depth_of(&s, lane, 20, 30), 0); /* overlaps it: the shallowest free track */
    assert_int_equal(s.lanes[lane].n_overlaps, 2);
    release(&s);
}

static void is_bounded(void **state)
{
    (void)state;
    source s = {0};
    uint32_t lane = lane_make(&s, 0, NO_ID, KIND_COMPUTE);
    for (int64_t i = 0; i < MAX_TRACKS_PER_LANE; i++) {
        assert_true(lane_place(&s, lane, i, 1000000 + i) != NO_ID);
    }
    assert_true(lane_place(&s, lane, MAX_TRACKS_PER_LANE, 2000000) == NO_ID);
    assert_int_equal(s.lanes[lane].sum.n_events, MAX_TRACKS_PER_LANE);
    release(&s);
}

static void sum_up_threads(void **state)
{
    (void)state;
    prng r;
    prng_seed(&r, 13);
    for (int round = 0; round < 200; round++) {
        source_thread thread = {0};
        source_rank rank = {0};
        memset(thread.lanes, 0xff, sizeof thread.lanes);
        source s = {.threads = &thread, .n_threads = 1, .ranks = &rank, .n_ranks = 1};
        size_t n = 1 + prng_below(&r, 200);
        size_t second = prng_below(&r, 200); /* lanes are few at first */
        int64_t start = (int64_t)prng_below(&r, 100) - 50;
        int64_t first = start;
        int64_t until = start;
        int64_t busy = 0;
        int64_t sum = 0;
        for (size_t i = 0; i < n; i++) {
            trace_kind kind = i < second ? KIND_CPU : (trace_kind)(prng_below(&r, 3) + KIND_CPU);
            if (thread.lanes[kind] == NO_ID) {
                thread.lanes[kind] = lane_make(&s, 0, 0, kind);
            }
            int64_t end = start + (int64_t)prng_below(&r, 40);
            assert_true(lane_place(&s, thread.lanes[kind], start, end) != NO_ID);
            int64_t from = start > until ? start : until;
            busy += end > from ? end - from : 0;
            until = end > until ? end : until;
            sum += end - start;
            start += (int64_t)prng_below(&r, 30);
        }
        lanes_sum_up(&s);
        assert_true(thread.sum.first_ns == first && thread.sum.last_ns == until);
        assert_true(thread.sum.busy_ns == busy && thread.sum.sum_ns == sum && thread.sum.n_events == n);
        assert_true(rank.n_events == n);
        release(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(never_overlap), cmocka_unit_test(nests),
                                       cmocka_unit_test(by_hand), cmocka_unit_test(is_bounded),
                                       cmocka_unit_test(sum_up_threads)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
