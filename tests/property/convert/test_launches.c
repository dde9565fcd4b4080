/*
 * Contract: work meets the launch that had its correlation last, however correlations are numbered and however many
 * there are; the latest 262 144 that were met are remembered. A correlation that is launched again is a new launch,
 * work that comes before any launch shares a number with the launch that follows it.
 */
#include "cm.h"

#include "base/clock.h"
#include "base/mem.h"
#include "convert/annotate.h"

enum { REMEMBERED = 1 << 18 };

/* What is known of each correlation, by its number. */
typedef struct known {
    uint64_t number; /* of the launch; 0: not met */
    bool seen;
    uint32_t step;
} known;

static uint64_t correlation_of(unsigned shape, uint64_t i)
{
    switch (shape) {
    case 0:
        return i + 1; /* counted up */
    case 1:
        return (i + 1) << 20; /* last bits are equal */
    case 2:
        return hash_u64(i) | 1;
    default:
        return i % 2 ? i + 1 : UINT64_MAX - i;
    }
}

typedef struct trial {
    source s;
    annotation a;
    thread_state thread;
    rank_state rank;
    known *all;
    uint64_t n_launches, n_orphans;
    unsigned shape;
} trial;

static void launch(trial *t, uint64_t i, uint32_t step)
{
    run_row row = {.link = correlation_of(t->shape, i)};
    known *k = &t->all[i];
    if (k->number == 0 || k->seen) {
        k->number = ++t->n_launches;
    }
    k->seen = true;
    k->step = step;
    uint64_t tag = launch_note(&t->a, 0, 0, &row, step);
    assert_true(tag == tag_make(TAG_LAUNCH, ROLE_LAUNCH, t->s.index, k->number));
}

static void work(trial *t, uint64_t i)
{
    run_row row = {.link = correlation_of(t->shape, i)};
    run_piece piece = {.rows = &row, .n = 1};
    uint32_t at = 0;
    run_cursor cursor = {.row = &row, .at = &at, .piece = &piece};
    annotated e = {.row = &row, .cursor = &cursor, .step = UINT32_MAX};
    known *k = &t->all[i];
    if (k->number == 0) {
        k->number = ++t->n_launches;
    }
    t->n_orphans += k->seen ? 0 : 1;
    (void)launch_meet(&t->a, &e);
    assert_true(e.tag == tag_make(TAG_LAUNCH, ROLE_WORK, t->s.index, k->number));
    assert_int_equal(e.step, k->seen ? k->step : UINT32_MAX);
    assert_int_equal(t->a.n_orphans, t->n_orphans);
}

static void run(unsigned shape, uint64_t n, uint64_t window)
{
    trial *t = calloc(1, sizeof *t);
    t->shape = shape;
    t->all = calloc(n, sizeof *t->all);
    t->s.index = 5;
    t->s.has_launches = true;
    t->a = (annotation){.s = &t->s, .threads = &t->thread, .ranks = &t->rank, .launch_seed = 0x9e3779b97f4a7c15};
    prng r;
    prng_seed(&r, 17 + shape);
    for (uint64_t i = 0; i < n; i++) {
        uint64_t back = prng_below(&r, i < window ? i + 1 : window);
        if (prng_below(&r, 8) == 0) {
            work(t, i); /* before its launch */
        } else {
            launch(t, i, (uint32_t)(i % 1000));
        }
        work(t, i - back);
        if (prng_below(&r, 16) == 0) {
            launch(t, i - back, 7);
        }
    }
    assert_int_equal(t->a.n_launches, t->n_launches);
    launches_release(&t->rank);
    free(t->all);
    free(t);
}

static void few(void **state)
{
    (void)state;
    for (unsigned shape = 0; shape < 4; shape++) {
        for (uint64_t n = 1; n < 3000; n = n * 3 + 1) {
            run(shape, n, n);
        }
    }
}

static void many(void **state)
{
    (void)state;
    run(0, 3 * REMEMBERED, REMEMBERED / 2 - 1); /* each turn meets two */
    run(2, 3 * REMEMBERED, REMEMBERED / 2 - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(few), cmocka_unit_test(many)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
