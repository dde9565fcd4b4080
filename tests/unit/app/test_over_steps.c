/*
 * Contract of app/over_steps.h: the same name and occurrence on the same lane, one a step, in the order of time; other
 * occurrences, names, lanes and ranks do not count; a step without it is left out; the lower median and the longest.
 */
#include "cm.h"

#include "app/over_steps.h"
#include "help/small_run.h"

enum { STEPS = 5, MISSING = 3 };
static const int64_t LENGTHS[STEPS] = {50, 20, 90, 70, 30};

static void make(small_run *r)
{
    small_init(r);
    uint32_t wanted = small_name(r, "gemm", CLASS_FORWARD, KIND_COMPUTE);
    uint32_t other = small_name(r, "add", CLASS_FORWARD, KIND_COMPUTE);
    for (uint32_t rank = 0; rank < 2; rank++) {
        (void)small_rank(r, 0, "host");
        uint32_t a = small_lane(r, KIND_COMPUTE, "stream 1", 1);
        uint32_t b = small_lane(r, KIND_COMPUTE, "stream 2", 1);
        for (uint32_t step = 0; step < STEPS; step++) {
            int64_t t = 1000 * (int64_t)step;
            int64_t length = rank == 0 ? LENGTHS[step] : 500;
            small_step(r, rank, 10 + step, t, t + 1000);
            small_put(r, (small_event){a, t + 10, 5, wanted, 0, CLASS_FORWARD, 0, NULL}); /* another occurrence */
            if (rank != 0 || step != MISSING) {
                small_put(r, (small_event){a, t + 100, length, wanted, 1, CLASS_FORWARD, 0, NULL});
            }
            small_put(r, (small_event){a, t + 700, 9, other, 1, CLASS_FORWARD, 0, NULL});
            small_put(r, (small_event){b, t + 200, 8, wanted, 1, CLASS_FORWARD, 0, NULL}); /* another lane */
        }
    }
}

static bool is_wanted(const store_event_info *e)
{
    return e->name == 0 && e->instance == 1 && e->track == 0;
}

static void one_a_step(void **state)
{
    (void)state;
    small_run r;
    diag d;
    diag_init(&d);
    make(&r);
    assert_int_equal(small_write(&r, &d), MAREY_OK);
    store_file *f = NULL;
    assert_int_equal(store_open(&f, r.path, &d), MAREY_OK);
    store_event_info e = {0};
    for (uint64_t row = 0; row < r.n && !is_wanted(&e); row++) {
        assert_int_equal(store_read_event(f, row, &e, &d), MAREY_OK);
    }
    assert_true(is_wanted(&e));
    over_steps o;
    assert_int_equal(over_steps_find(f, &e, &o, NULL, &d), MAREY_OK);
    assert_int_equal(o.n, STEPS - 1);
    for (size_t i = 0, step = 0; i < o.n; i++, step++) {
        step += step == MISSING;
        assert_int_equal(o.items[i].step, 10 + step);
        assert_int_equal(o.items[i].dur_ns, LENGTHS[step]);
        assert_int_equal(o.items[i].start_ns, 1000 * step + 100);
    }
    assert_int_equal(o.median_ns, 30); /* of 20, 30, 50, 90 */
    assert_int_equal(o.longest, 2);
    over_steps_deinit(&o);
    cancel_flag cancel = {0};
    atomic_store(&cancel.set, true);
    assert_int_equal(over_steps_find(f, &e, &o, &cancel, &d), MAREY_CANCELLED);
    over_steps_deinit(&o);
    e.track = UINT32_MAX;
    assert_int_equal(over_steps_find(f, &e, &o, NULL, &d), MAREY_OK);
    assert_int_equal(o.n, 0);
    over_steps_deinit(&o);
    store_close(&f);
    small_free(&r);
    diag_deinit(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(one_a_step)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
