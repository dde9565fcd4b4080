/*
 * Contract of scene/reduce.h: eight columns at a time give the same cells, mixed columns and columns left to the caller
 * as the plain way, for every width of bins from a third of a column's to one and a half of it, dense and sparse rows,
 * with and without severity; and a column is empty exactly when all of its bins are.
 */
#include "cm.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "scene/reduce.h"

enum { COLUMNS = 413, MAX_BINS = 4 * COLUMNS + 8 };

typedef struct fixture {
    bin_range ranges[COLUMNS];
    uint16_t middle_weight;
    cache_cell bins[MAX_BINS + REDUCE_SLACK];
    draw_cell cells[2][COLUMNS];
    uint32_t mixed[2][COLUMNS], hard[2][COLUMNS];
} fixture;

static uint16_t weight_of(double part)
{
    return (uint16_t)(part * 256 + 0.5);
}

/* `columns` of `step` bins each, the first beginning `offset` bins after the first bin. */
static void make_ranges(fixture *f, double step, double offset)
{
    for (uint32_t i = 0; i < COLUMNS; i++) {
        double low = offset + i * step;
        double high = offset + (i + 1) * step;
        double first = floor(low);
        double last = fmax(ceil(high) - 1, first);
        bin_range *b = &f->ranges[i];
        b->first = (uint32_t)first;
        b->more = (uint16_t)(last - first);
        b->first_weight = weight_of((fmin(first + 1, high) - low) / step);
        b->last_weight = b->more > 0 ? weight_of((high - fmax(last, low)) / step) : 0;
        b->only_middle_weight = b->more == 2 ? weight_of(fmin(1 / step, 1)) : 0;
    }
    f->middle_weight = weight_of(fmin(1 / step, 1));
}

static void make_bins(fixture *f, prng *r, double density, uint32_t n_classes, double severe)
{
    memset(f->bins, 0xA5, sizeof f->bins); /* what is read beyond the last bin must not matter */
    cache_cell run = {255, 0, 0, 0};
    for (uint32_t i = 0; i < MAX_BINS; i++) {
        if (prng_below(r, 4) == 0) {
            run = (cache_cell){(uint8_t)prng_below(r, n_classes), (uint8_t)(1 + prng_below(r, 255)), 0, 0};
            run.count = (uint8_t)prng_below(r, 4);
            run.severity = prng_unit(r) < severe ? (uint8_t)(1 + prng_below(r, 15)) : 0;
            run = prng_unit(r) < density ? run : (cache_cell){255, 0, 0, 0};
        }
        f->bins[i] = run;
    }
}

static reduce_job run(fixture *f, const reduce_plan *plan, int which)
{
    reduce_job job = {.ranges = f->ranges, .bins = f->bins, .n = COLUMNS, .middle_weight = f->middle_weight};
    job.cells = f->cells[which];
    job.mixed = f->mixed[which];
    job.hard = f->hard[which];
    reduce_columns(&job, plan);
    for (size_t i = 0; i < job.n_hard; i++) {
        job.cells[job.hard[i]] = (draw_cell){0, 0, 0, 0};
    }
    return job;
}

static bool has_ink(const fixture *f, uint32_t column)
{
    bool any = false;
    for (uint32_t j = f->ranges[column].first; j <= last_bin(f->ranges[column]); j++) {
        any = any || f->bins[j].busy > 0;
    }
    return any;
}

static void check(fixture *f, const reduce_plan *plan)
{
    reduce_job plain = run(f, NULL, 0);
    reduce_job wide = run(f, plan, 1);
    assert_int_equal(plain.n_hard, wide.n_hard);
    assert_memory_equal(f->hard[0], f->hard[1], plain.n_hard * sizeof(uint32_t));
    assert_int_equal(plain.n_mixed, wide.n_mixed);
    assert_memory_equal(f->mixed[0], f->mixed[1], plain.n_mixed * sizeof(uint32_t));
    assert_memory_equal(f->cells[0], f->cells[1], sizeof f->cells[0]);
    for (uint32_t i = 0; i < COLUMNS; i++) {
        bool left = f->cells[0][i].alpha == 0;
        assert_true(left || (f->cells[0][i].klass != CELL_EMPTY) == has_ink(f, i));
        assert_true(left || (f->cells[0][i].occupancy > 0) == has_ink(f, i));
    }
}

static void both_ways_give_the_same(void **state)
{
    (void)state;
    fixture *f = calloc(1, sizeof *f);
    assert_non_null(f);
    prng r;
    prng_seed(&r, 7);
    arena a = {0};
    for (int round = 0; round < 400; round++) {
        make_ranges(f, 0.6 + 3 * prng_unit(&r), 2 * prng_unit(&r));
        make_bins(f, &r, round % 4 == 0 ? 0.1 : 0.9, round % 3 == 0 ? 1 : CLASS_COUNT, round % 5 == 0 ? 0.05 : 0);
        check(f, reduce_plan_make(&a, f->ranges, COLUMNS, f->middle_weight));
        arena_reset(&a);
    }
    arena_deinit(&a);
    free(f);
}

/* One class over two and a half bins: the mean of the bins, weighted by their parts of the column. */
static void shares_are_weighted(void **state)
{
    (void)state;
    fixture *f = calloc(1, sizeof *f);
    assert_non_null(f);
    arena a = {0};
    make_ranges(f, 2.5, 0);
    for (uint32_t i = 0; i < MAX_BINS; i++) {
        f->bins[i] = (cache_cell){3, i % 2 == 0 ? 200 : 100, 0, 1};
    }
    run(f, reduce_plan_make(&a, f->ranges, COLUMNS, f->middle_weight), 0);
    /* 200 and 100 wholly, half of a 200: (200 + 100 + 100) / 2.5. */
    assert_int_equal(f->cells[0][0].klass, 3);
    assert_in_range(f->cells[0][0].occupancy, 159, 161);
    assert_int_equal(f->cells[0][0].flags, CELL_MORE);
    arena_deinit(&a);
    free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_ways_give_the_same),
        cmocka_unit_test(shares_are_weighted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
