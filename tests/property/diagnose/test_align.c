/*
 * Contract of clock alignment: offsets of seconds and drifts of tens of ppm, injected into the ends of matched
 * collectives, come back to microseconds although members leave late by up to a millisecond and some matches are wrong;
 * domains without a common collective are left alone and said to be apart; and where the clocks agree already nothing
 * is made worse.
 */
#include "cm.h"

#include <math.h>

#include "base/clock.h"
#include "diagnose/align.h"

enum { DOMAINS = 64 };

typedef struct truth {
    double offset[DOMAINS], drift[DOMAINS];
} truth;

static void draw_clocks(prng *r, truth *t, double offset_ns, double drift)
{
    for (int d = 0; d < DOMAINS; d++) {
        t->offset[d] = (2 * prng_unit(r) - 1) * offset_ns;
        t->drift[d] = (2 * prng_unit(r) - 1) * drift;
    }
}

/* A member's clock shows `true_ns` as this. */
static int64_t shown(const truth *t, int d, double true_ns)
{
    return llround(true_ns + t->offset[d] + t->drift[d] * true_ns);
}

/* `per` domains take part in each collective; ends spread by `jitter`; one in `wrong_every` ends is nonsense. */
static size_t make_ends(prng *r, const truth *t, size_t instances, int per, double span_ns, double jitter_ns,
                        int wrong_every, align_end *ends)
{
    size_t n = 0;
    for (size_t k = 0; k < instances; k++) {
        double at = span_ns * (double)k / (double)instances;
        int first = (int)prng_below(r, DOMAINS);
        for (int j = 0; j < per; j++) {
            int d = (first + j * 7) % DOMAINS;
            double late = prng_unit(r) * jitter_ns;
            if (wrong_every && prng_below(r, (uint64_t)wrong_every) == 0) {
                late += 5e7;
            }
            ends[n++] = (align_end){k, (uint32_t)d, 1, shown(t, d, at + late)};
        }
    }
    return n;
}

/* Median over domains and times of the pairwise disagreement that is left. */
static double worst_disagreement(const truth *t, const align_clock *clocks, double span_ns)
{
    double lo[5];
    double hi[5];
    for (int s = 0; s < 5; s++) {
        lo[s] = INFINITY;
        hi[s] = -INFINITY;
        double at = span_ns * s / 4;
        for (int d = 0; d < DOMAINS; d++) {
            double v = (double)(align_time(&clocks[d], shown(t, d, at)) - llround(at));
            lo[s] = v < lo[s] ? v : lo[s];
            hi[s] = v > hi[s] ? v : hi[s];
        }
    }
    double worst = 0;
    for (int s = 0; s < 5; s++) {
        worst = hi[s] - lo[s] > worst ? hi[s] - lo[s] : worst;
    }
    return worst;
}

static void recovers_offset_and_drift(void **state)
{
    (void)state;
    prng r;
    truth t;
    align_clock clocks[DOMAINS];
    enum { INSTANCES = 6000, PER = 8 };
    align_end *ends = malloc(sizeof *ends * INSTANCES * PER);
    for (uint64_t seed = 1; seed <= 3; seed++) {
        prng_seed(&r, seed);
        draw_clocks(&r, &t, 12e9, 50e-6);
        size_t n = make_ends(&r, &t, INSTANCES, PER, 60e9, 20e3, 40, ends);
        assert_int_equal(align_fit(ends, n, DOMAINS, clocks, NULL), MAREY_OK);
        double left = worst_disagreement(&t, clocks, 60e9);
        print_message("seed %d: largest disagreement left between any two of %d clocks: %.0f ns\n", (int)seed, DOMAINS,
                      left);
        assert_true(left < 10000);
        for (int d = 0; d < DOMAINS; d++) {
            assert_true(clocks[d].is_fitted);
            assert_int_equal(clocks[d].component, clocks[0].component);
        }
    }
    free(ends);
}

static void leaves_agreeing_clocks_alone(void **state)
{
    (void)state;
    prng r;
    truth t;
    memset(&t, 0, sizeof t);
    align_clock clocks[DOMAINS];
    align_end ends[84 * 4];
    prng_seed(&r, 9);
    size_t n = make_ends(&r, &t, 84, 4, 3e8, 30e3, 0, ends);
    assert_int_equal(align_fit(ends, n, DOMAINS, clocks, NULL), MAREY_OK);
    for (int d = 0; d < DOMAINS; d++) {
        assert_true(llabs(clocks[d].offset_ns) < 30000);
        assert_true(clocks[d].drift == 0); /* too short for a drift */
    }
}

static void keeps_strangers_apart(void **state)
{
    (void)state;
    align_end ends[] = {{1, 0, 1, 1000}, {1, 1, 1, 501000}, {2, 2, 1, 7000}, {2, 3, 1, 8000}, {3, 4, 1, 5}};
    align_clock clocks[6];
    assert_int_equal(align_fit(ends, 5, 6, clocks, NULL), MAREY_OK);
    assert_int_equal(clocks[0].component, clocks[1].component);
    assert_int_equal(clocks[2].component, clocks[3].component);
    assert_int_not_equal(clocks[0].component, clocks[2].component);
    assert_int_equal(align_time(&clocks[0], 1000), align_time(&clocks[1], 501000));
    assert_int_equal(align_time(&clocks[2], 7000), align_time(&clocks[3], 8000));
    assert_false(clocks[4].is_fitted);
    assert_false(clocks[5].is_fitted);
    assert_int_equal(clocks[5].offset_ns, 0);
    assert_int_equal(align_fit(NULL, 0, 6, clocks, NULL), MAREY_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(recovers_offset_and_drift),
                                       cmocka_unit_test(leaves_agreeing_clocks_alone),
                                       cmocka_unit_test(keeps_strangers_apart)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
