/*
 * Contract of the breakdown: for random intervals in any number of steps, with overlaps, nesting, points, gaps between
 * windows and events that run over them, every set's time equals that of a brute-force count over all instants; the
 * sets of a window sum to the window; and gaps of all causes sum to the idle time before the last event.
 */
#include "cm.h"

#include "base/clock.h"
#include "diagnose/breakdown.h"

enum { SPAN = 400, MAX_EVENTS = 60, MAX_STEPS = 6 };

typedef struct event {
    int start, end;
    unsigned klass;
} event;

static int by_start(const void *a, const void *b)
{
    return ((const event *)a)->start - ((const event *)b)->start;
}

static size_t make_events(prng *r, event *e)
{
    size_t n = (size_t)prng_below(r, MAX_EVENTS + 1);
    for (size_t i = 0; i < n; i++) {
        e[i].start = (int)prng_below(r, SPAN);
        e[i].end = e[i].start + (int)prng_below(r, prng_below(r, 4) == 0 ? 80 : 12);
        e[i].klass = 1U << prng_below(r, 4);
    }
    qsort(e, n, sizeof *e, by_start);
    return n;
}

static size_t make_steps(prng *r, rank_step *w)
{
    size_t n = 1 + (size_t)prng_below(r, MAX_STEPS);
    int at = (int)prng_below(r, 30);
    for (size_t k = 0; k < n; k++) {
        w[k] = (rank_step){.start_ns = at};
        at += (int)prng_below(r, 5) == 0 ? 0 : 1 + (int)prng_below(r, 90);
        w[k].end_ns = at;
        at += prng_below(r, 3) == 0 ? (int)prng_below(r, 20) : 0;
    }
    return n;
}

static unsigned set_at(const event *e, size_t n, int t)
{
    unsigned set = 0;
    for (size_t i = 0; i < n; i++) {
        set |= e[i].start <= t && t < e[i].end ? e[i].klass : 0;
    }
    return set;
}

static void check_step(const rank_step *w, const event *e, size_t n)
{
    int64_t wanted[BUSY_SETS] = {0};
    int64_t sum = 0;
    for (int64_t t = w->start_ns; t < w->end_ns; t++) {
        wanted[set_at(e, n, (int)t)]++;
    }
    for (unsigned k = 0; k < BUSY_SETS; k++) {
        assert_int_equal(w->set_ns[k], wanted[k]);
        sum += w->set_ns[k];
    }
    breakdown b = breakdown_of(w);
    assert_int_equal(sum, w->end_ns - w->start_ns);
    assert_int_equal(b.compute_ns + b.exposed_communication_ns + b.copy_ns + b.idle_ns, b.step_ns);
    assert_int_equal(b.overlapped_ns + b.exposed_communication_ns, b.communication_ns);
    assert_true(w->own_gap_ns + w->peer_gap_ns <= b.idle_ns);
    assert_true(w->longest_gap_ns <= w->own_gap_ns);
}

/* Idle time that some later event ends is a gap; what follows the last event is not. */
static void check_gaps(const rank_step *w, size_t n_steps, const event *e, size_t n)
{
    int last = 0;
    for (size_t i = 0; i < n; i++) {
        last = e[i].end > e[i].start && e[i].start > last ? e[i].start : last;
    }
    for (size_t k = 0; k < n_steps; k++) {
        int64_t idle = 0;
        for (int64_t t = w[k].start_ns; t < w[k].end_ns && t < last; t++) {
            idle += set_at(e, n, (int)t) == 0;
        }
        assert_int_equal(w[k].own_gap_ns + w[k].peer_gap_ns, idle);
    }
}

static void equals_brute_force(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 3000; seed++) {
        prng r;
        event e[MAX_EVENTS];
        rank_step w[MAX_STEPS];
        prng_seed(&r, seed);
        size_t n = make_events(&r, e);
        size_t n_steps = make_steps(&r, w);
        sweep s;
        sweep_begin(&s, w, n_steps);
        for (size_t i = 0; i < n; i++) {
            sweep_put(&s, e[i].klass, e[i].start, e[i].end, LAUNCH_UNKNOWN);
        }
        sweep_end(&s);
        for (size_t k = 0; k < n_steps; k++) {
            check_step(&w[k], e, n);
        }
        check_gaps(w, n_steps, e, n);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(equals_brute_force)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
