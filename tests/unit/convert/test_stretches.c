/*
 * Contract: times put in any order lie in stretches, ascending and apart by more than the gap: the same as those that
 * sorting finds, while they are few; however many, never more than there is room for, and each time lies in one.
 */
#include "cm.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"
#include "convert/stretches.h"

enum { MANY = 3000 };
static const int64_t GAP_NS = 10000000000;

static int compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a;
    int64_t y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

static void check_order(const stretches *s, const int64_t *t, size_t n)
{
    assert_true(s->n > 0 && s->n < MAX_STRETCHES);
    for (uint32_t i = 0; i < s->n; i++) {
        assert_true(s->items[i].first_ns <= s->items[i].last_ns);
        assert_true(i == 0 || (uint64_t)s->items[i].first_ns - (uint64_t)s->items[i - 1].last_ns > s->gap_ns);
    }
    for (size_t k = 0; k < n; k++) {
        bool inside = false;
        for (uint32_t i = 0; i < s->n; i++) {
            inside = inside || (t[k] >= s->items[i].first_ns && t[k] <= s->items[i].last_ns);
        }
        assert_true(inside);
    }
}

static void stretches_are_those_of_the_sorted_times(void **state)
{
    (void)state;
    prng p;
    prng_seed(&p, 4);
    int64_t *t = mem_alloc(MANY * sizeof *t);
    for (int round = 0; round < 60; round++) {
        size_t n = 1 + (size_t)prng_below(&p, MANY);
        uint64_t places = 1 + prng_below(&p, round % 3 == 0 ? 40 : 500);
        stretches s = {0};
        for (size_t i = 0; i < n; i++) {
            int64_t place = (int64_t)(hash_u64(prng_below(&p, places)) >> (2 + round % 20)) * (round % 2 ? 1 : -1);
            t[i] = place + (int64_t)prng_below(&p, (uint64_t)GAP_NS / 2);
            stretches_put(&s, t[i]);
        }
        check_order(&s, t, n);
        qsort(t, n, sizeof *t, compare);
        uint32_t found = 0;
        for (size_t i = 0; s.gap_ns == (uint64_t)GAP_NS && i < n; found++) {
            size_t end = i + 1;
            while (end < n && t[end] - t[end - 1] <= GAP_NS) {
                end++;
            }
            assert_true(found < s.n && s.items[found].first_ns == t[i] && s.items[found].last_ns == t[end - 1]);
            i = end;
        }
        assert_true(s.gap_ns != (uint64_t)GAP_NS || found == s.n);
        stretches_deinit(&s);
    }
    stretches ends = {0};
    stretches_put(&ends, INT64_MAX);
    stretches_put(&ends, INT64_MIN);
    assert_int_equal(ends.n, 2);
    stretches_deinit(&ends);
    free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(stretches_are_those_of_the_sorted_times)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
