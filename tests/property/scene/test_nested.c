/*
 * Contract, against brute force over random instances: a nested band holds the least, mean and greatest start and end
 * of its instance over the ranks of a group, and how many there are; merging keeps every instance and all of the time
 * inside, covers what was covered, joins only what touches at all three edges, and leaves nothing that could be joined;
 * an instance is an outlier exactly when its start, end or duration leaves the median of its peers by more than 5 MAD
 * and by enough to be seen.
 */
#include "cm.h"

#include <stdlib.h>

#include "base/hash.h"
#include "scene/marey.h"

static uint64_t seed;

static uint64_t next(void)
{
    seed = hash_u64(seed + 1);
    return seed;
}

static double upto(double n)
{
    return (double)(next() >> 11) / 9007199254740992.0 * n;
}

enum { ROWS = 3, INSTANCES = 40, RANKS = 9, ROUNDS = 60 };

static void make_list(instance_list *l)
{
    l->n = 0;
    for (uint32_t row = 0; row < ROWS; row++) {
        double at = 0;
        for (uint64_t k = 0; k < INSTANCES; k++) {
            double length = 1 + upto(20);
            uint64_t n = 1 + next() % RANKS;
            uint8_t klass = (uint8_t)(next() % 3);
            for (uint64_t r = 0; r < n; r++) {
                instance i = {.key = hash_u64(k * ROWS + row) | 1, .row = row, .e = {.klass = klass}};
                i.x0 = at + upto(0.5);
                i.x1 = i.x0 + length + (next() % 12 == 0 ? upto(30) : upto(0.5));
                i.e.start_ns = (int64_t)(i.x0 * 1000);
                i.e.end_ns = (int64_t)(i.x1 * 1000);
                VEC_PUSH(l->items, l->n, l->cap, i);
            }
            at += length + (next() % 3 == 0 ? upto(30) : 0);
        }
    }
}

static void check_one(const instance_list *l, const nested_band *b)
{
    double low[2] = {INFINITY, INFINITY};
    double high[2] = {-INFINITY, -INFINITY};
    double sum[2] = {0, 0};
    uint32_t n = 0;
    for (size_t i = 0; i < l->n; i++) {
        const instance *k = &l->items[i];
        const double edges[2] = {k->x0, k->x1};
        for (int e = 0; k->key == b->key && k->row == b->row && e < 2; e++) {
            low[e] = fmin(low[e], edges[e]);
            high[e] = fmax(high[e], edges[e]);
            sum[e] += edges[e];
            n += (uint32_t)e;
        }
    }
    assert_int_equal(b->n, n);
    for (int e = 0; e < 2; e++) {
        assert_true(b->x[3 * e] == low[e] && b->x[3 * e + 2] == high[e]);
        assert_true(fabs(b->x[3 * e + 1] - sum[e] / n) < 1e-9);
        assert_true(b->x[3 * e] <= b->x[3 * e + 1] + 1e-9 && b->x[3 * e + 1] <= b->x[3 * e + 2] + 1e-9);
    }
}

static bool touch(const nested_band *a, const nested_band *b)
{
    bool all = a->row == b->row && a->klass == b->klass;
    for (int k = 0; k < 3; k++) {
        all = all && fabs(b->x[NESTED_START_MIN + k] - a->x[NESTED_END_MIN + k]) <= 1;
    }
    return all;
}

static void check_merged(const nested_band *before, size_t n, const nested_band *after, size_t m)
{
    uint64_t instances = 0;
    double busy[2] = {0, 0};
    for (size_t i = 0; i < m; i++) {
        instances += after[i].n_merged;
        busy[1] += after[i].busy_px;
        double extent = after[i].x[NESTED_END_MEAN] - after[i].x[NESTED_START_MEAN];
        assert_true(after[i].busy_px <=
                    extent + after[i].n_merged * 1.0 + 1e-6); /* edges may overlap by the tolerance */
        assert_false(i + 1 < m && touch(&after[i], &after[i + 1]));
    }
    assert_int_equal(instances, n);
    for (size_t i = 0; i < n; i++) {
        bool covered = false;
        busy[0] += before[i].busy_px;
        for (size_t k = 0; k < m && !covered; k++) {
            covered = after[k].row == before[i].row && after[k].klass == before[i].klass &&
                      after[k].x[NESTED_START_MIN] <= before[i].x[NESTED_START_MIN] &&
                      after[k].x[NESTED_END_MAX] >= before[i].x[NESTED_END_MAX];
        }
        assert_true(covered);
    }
    assert_true(fabs(busy[0] - busy[1]) < 1e-6 * busy[0]);
}

static void nested_bands(void **state)
{
    (void)state;
    instance_list l = {0};
    nested_band *v = NULL;
    size_t cap = 0;
    size_t joined = 0;
    for (uint64_t round = 0; round < ROUNDS; round++) {
        seed = round * 7919;
        make_list(&l);
        bands_sort(&l);
        size_t n = nested_from(&l, &v, 0, &cap);
        assert_int_equal(n, (size_t)ROWS * INSTANCES);
        for (size_t i = 0; i < n; i++) {
            check_one(&l, &v[i]);
        }
        nested_band *before = mem_alloc(n * sizeof *before);
        memcpy(before, v, n * sizeof *before);
        size_t m = nested_merge(v, n, 1);
        check_merged(before, n, v, m);
        joined += n - m;
        free(before);
    }
    assert_true(joined > 100); /* the test does merge */
    free(l.items);
    free(v);
}

/* ------------------------------------------------------------------ outliers */

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double middle(double *v, size_t n)
{
    qsort(v, n, sizeof *v, by_value);
    return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

static double value_of(const instance *k, int which)
{
    double a = (double)k->e.start_ns;
    double b = (double)k->e.end_ns;
    return which == 0 ? a : which == 1 ? b : b - a;
}

static bool leaves(const instance_list *l, const instance *self, double column_ns)
{
    const instance *peers[ROWS * RANKS];
    size_t n = 0;
    for (size_t i = 0; i < l->n; i++) {
        if (l->items[i].key == self->key) {
            peers[n++] = &l->items[i];
        }
    }
    for (int which = 0; n >= 4 && which < 3; which++) {
        double v[ROWS * RANKS];
        for (size_t i = 0; i < n; i++) {
            v[i] = value_of(peers[i], which);
        }
        double median = middle(v, n);
        for (size_t i = 0; i < n; i++) {
            v[i] = fabs(value_of(peers[i], which) - median);
        }
        double limit = 5 * middle(v, n);
        double seen = fmax(2 * column_ns, (which == 2 ? 0.05 : 0.25) * value_of(peers[0], 2));
        if (fabs(value_of(self, which) - median) > fmax(limit, seen)) {
            return true;
        }
    }
    return false;
}

static void outliers(void **state)
{
    (void)state;
    instance_list l = {0};
    scene s = {.src.grid = {.step_ns = 100}};
    size_t found = 0;
    for (uint64_t round = 0; round < ROUNDS; round++) {
        seed = round * 104729 + 5;
        make_list(&l);
        bands_sort(&l);
        size_t n = bands_find_outliers(&s, &l);
        size_t expected = 0;
        for (size_t i = 0; i < l.n; i++) {
            bool is = leaves(&l, &l.items[i], 100);
            assert_int_equal(l.items[i].outlier, is);
            expected += is;
        }
        assert_int_equal(n, expected);
        found += n;
        arena_reset(&s.scratch);
    }
    assert_true(found > 100);
    arena_deinit(&s.scratch);
    free(l.items);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nested_bands),
        cmocka_unit_test(outliers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
