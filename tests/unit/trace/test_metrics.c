/*
 * The side tables: every kind has a unique machine name and a unit; metrics keep what was pushed and refuse what is no
 * finite number; a process finds its own place before the one for all; groups keep their members in order.
 */
#include "cm.h"

#include <math.h>

#include "trace/metrics.h"

static void kinds(void **state)
{
    (void)state;
    for (int i = 0; i < METRIC_KIND_COUNT; i++) {
        const char *name = trace_metric_name((trace_metric_kind)i);
        assert_true(strlen(name) > 2 && strcmp(name, "unknown") != 0);
        assert_true(strlen(trace_metric_unit((trace_metric_kind)i)) > 0);
        assert_true(strlen(trace_metric_text((trace_metric_kind)i)) > 5);
        for (int k = 0; k < i; k++) {
            assert_string_not_equal(name, trace_metric_name((trace_metric_kind)k));
        }
    }
    assert_string_equal(trace_metric_name(METRIC_KIND_COUNT), "unknown");
    assert_string_equal(trace_metric_unit(METRIC_LINK_BANDWIDTH), "B/s");
}

static void metrics(void **state)
{
    (void)state;
    trace_side s = {0};
    for (int i = 0; i < 1000; i++) {
        trace_metric_in m = trace_metric(METRIC_LINK_TIME, i);
        assert_true(m.a == -1 && m.time_ns == INT64_MIN && m.name == UINT32_MAX);
        m.a = i;
        trace_side_metric(&s, &m);
    }
    trace_metric_in bad = trace_metric(METRIC_FLOPS, (double)NAN);
    trace_side_metric(&s, &bad);
    bad.value = (double)INFINITY;
    trace_side_metric(&s, &bad);
    assert_int_equal(s.n_metrics, 1000);
    assert_int_equal(s.n_refused, 2);
    assert_true(s.metrics[999].a == 999 && s.metrics[999].value == 999.0);
    trace_side_deinit(&s);
    assert_null(s.metrics);
}

static void places(void **state)
{
    (void)state;
    trace_side s = {0};
    assert_null(trace_side_find_place(&s, 3));
    trace_place_in all = trace_place(UINT32_MAX);
    trace_place_in three = trace_place(3);
    three.rank = 33;
    three.stage = 1;
    trace_side_place(&s, &all);
    trace_side_place(&s, &three);
    assert_true(trace_side_find_place(&s, 3)->rank == 33);
    assert_true(trace_side_find_place(&s, 4)->rank == -1);
    trace_side_deinit(&s);
}

static void groups(void **state)
{
    (void)state;
    trace_side s = {0};
    trace_side_group(&s, 5, 6, (const int64_t[]){0, 8}, 2);
    trace_side_group(&s, 7, UINT32_MAX, (const int64_t[]){1, 2, 3}, 3);
    trace_side_group(&s, 8, 9, NULL, 0);
    assert_int_equal(s.n_groups, 3);
    assert_int_equal(s.groups[1].first_rank, 2);
    assert_int_equal(s.groups[1].n_ranks, 3);
    assert_true(s.group_ranks[4] == 3);
    assert_int_equal(s.groups[2].n_ranks, 0);
    trace_side_deinit(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kinds),
        cmocka_unit_test(metrics),
        cmocka_unit_test(places),
        cmocka_unit_test(groups),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
