/*
 * Contract: the one-byte codes. Counts below 16 are exact, larger ones within 4.5 % (or one); durations decode to no
 * less than the true value and to less than a quarter octave more; both are monotonic. Bins are powers of two, eights
 * an eighth of the others.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "lod/pyramid.h"

static void test_counts(void **state)
{
    (void)state;
    for (uint64_t n = 0; n < 16; n++) {
        assert_int_equal(lod_count_value(lod_count_code(n)), n);
    }
    uint8_t last = 0;
    for (uint64_t n = 1; n < (uint64_t)1 << 33; n += n / 40 + 1) {
        uint8_t code = lod_count_code(n);
        double value = (double)lod_count_value(code);
        assert_true(code >= last);
        assert_true((value / (double)n < 1.046 && (double)n / value < 1.046) || (n < 64 && value + 1 >= (double)n));
        last = code;
    }
    assert_int_equal(lod_count_code(UINT64_MAX), 255);
}

static void check_duration(int64_t ns)
{
    uint8_t code = lod_dur_code(ns);
    assert_true(code > 0);
    assert_true(lod_dur_value(code) >= ns);
    assert_true(lod_dur_value((uint8_t)(code - 1)) < ns);
}

static void test_durations(void **state)
{
    (void)state;
    assert_int_equal(lod_dur_code(0), 0);
    assert_int_equal(lod_dur_code(1), 1);
    assert_int_equal(lod_dur_value(0), 0);
    prng g;
    prng_seed(&g, 1);
    for (unsigned i = 0; i < 100000; i++) {
        check_duration((int64_t)((prng_next(&g) >> 1 >> prng_below(&g, 63)) | 1));
    }
    check_duration(INT64_MAX);
    for (unsigned e = 0; e < 62; e++) {
        check_duration((int64_t)1 << e);
        check_duration(((int64_t)1 << e) + 1);
    }
}

static void test_bins(void **state)
{
    (void)state;
    int64_t bin[LOD_R];
    pyramid_choose_bins(1000000, INT64_C(262144000000), 4, bin); /* 4 events in 2^20 ns */
    assert_int_equal(bin[R_TRACK], 1 << 20);
    assert_int_equal(bin[R_RANK], 1 << 20);
    assert_int_equal(bin[R_EIGHT], 1 << 17);
    pyramid_choose_bins(1000000, INT64_C(262144000000), 3, bin); /* 4 * 256 * 3 events are too few for a tile */
    assert_int_equal(bin[R_TRACK], 1 << 22);
    assert_int_equal(bin[R_RANK], 1 << 22);
    assert_int_equal(bin[R_EIGHT], 1 << 19);
    pyramid_choose_bins(0, 0, 1, bin);
    assert_true(bin[R_EIGHT] > 0);
    pyramid_choose_bins(UINT64_MAX, 1, 64, bin);
    assert_int_equal(bin[R_TRACK], 64);
    pyramid_choose_bins(1, INT64_MAX, 1, bin);
    assert_true(bin[R_TRACK] <= (int64_t)1 << 40);
    assert_int_equal(lod_bin_ns(64, 3), 64 * 64);
    assert_int_equal(lod_bin_ns(64, 40), INT64_MAX);
    assert_int_equal(lod_bin_ns((int64_t)1 << 40, 12), INT64_MAX);
}

static marey_status refuse(void *ctx, const tile_key *key, uint64_t n_cols, const tile_records *records,
                           uint64_t n_events)
{
    (void)ctx;
    (void)key;
    (void)n_cols;
    (void)records;
    (void)n_events;
    return MAREY_IO;
}

/* A failed emit comes back, and the rest still ends cleanly. */
static void test_errors(void **state)
{
    (void)state;
    pyramid *p = NULL;
    pyramid_params params = {.n_ranks = 65, .duration_ns = 1000, .bin0_ns = {64, 64, 8}, .emit = refuse};
    assert_int_equal(pyramid_create(&p, &params), MAREY_ARG);
    params.n_ranks = 2;
    params.bin0_ns[0] = 100;
    assert_int_equal(pyramid_create(&p, &params), MAREY_ARG);
    params.bin0_ns[0] = 64;
    assert_int_equal(pyramid_create(&p, &params), MAREY_OK);
    const pyramid_event wrong[] = {{0, 1, 0, 2, CLASS_COPY, 0, 0},
                                   {-1, 1, 0, 0, CLASS_COPY, 0, 0},
                                   {0, -1, 0, 0, CLASS_COPY, 0, 0},
                                   {0, 1, 0, 0, 99, 0, 0}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(pyramid_add(p, &wrong[i], 1, sizeof *wrong), MAREY_ARG);
    }
    const pyramid_event events[] = {{0, 1, 0, 0, CLASS_COPY, 0, 0}, {1, 1, 0, 1, CLASS_COPY, 0, 0}};
    assert_int_equal(pyramid_add(p, events, 2, sizeof *events), MAREY_OK);
    uint32_t n_levels[LOD_R];
    assert_int_equal(pyramid_finish(p, n_levels), MAREY_IO);
    pyramid_destroy(&p);
    assert_null(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counts),
        cmocka_unit_test(test_durations),
        cmocka_unit_test(test_bins),
        cmocka_unit_test(test_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
