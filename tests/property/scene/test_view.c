/*
 * Contract: at any place of a run of up to 2^62 ns, zooming about a point keeps that point, to a millionth of the
 * plot's width and 2^-30 ns, down to 20 ns across; panning there and back returns to the very same view, and zooming in
 * and out to the same to a hundred-thousandth of a pixel; clamping keeps every view inside [-5 %, 105 %] of the run,
 * not narrower than 20 ns nor wider than 1.1 runs, and changes nothing that is inside already; an animated passage
 * begins and ends exactly at its two views and never moves the point that both show at the same place.
 */
#include "cm.h"

#include <math.h>

#include "base/clock.h"
#include "help/ns.h"
#include "scene/view.h"

static const int64_t LONGEST_NS = INT64_C(1) << 62;

static moment time_at(const view *v, double at)
{
    return moment_plus(v->t0, at * view_span_ns(v));
}

/* A run of any length, and a view of any width anywhere in it. */
static int64_t random_view(prng *r, view *v)
{
    int64_t run = 1000 + (int64_t)prng_below(r, UINT64_C(1) << (10 + prng_below(r, 53)));
    double width = exp(log(20) + prng_unit(r) * log((double)run / 20));
    moment t0 = moment_shift(moment_about(prng_unit(r)), (int64_t)prng_below(r, (uint64_t)run));
    view_init(v, run);
    view_show_range(v, t0, moment_plus(t0, width));
    view_clamp(v, run);
    return run;
}

static void zoom_keeps_the_point(void **state)
{
    (void)state;
    prng r;
    prng_seed(&r, 1);
    for (int k = 0; k < 5000; k++) {
        view v;
        int64_t run = random_view(&r, &v);
        double at = prng_unit(&r);
        bool all = k % 2 == 0; /* from the whole run on */
        if (all) {
            view_init(&v, run);
        }
        for (int i = 0; i < 80 && view_span_ns(&v) > 40; i++) {
            moment t = time_at(&v, at);
            double before = view_span_ns(&v);
            view_zoom(&v, 1.01 + 3 * prng_unit(&r), at);
            assert_true(fabs(moment_minus(time_at(&v, at), t)) <= 1e-15 * before + 0x1p-30);
        }
    }
}

static void there_and_back(void **state)
{
    (void)state;
    prng r;
    prng_seed(&r, 5);
    for (int k = 0; k < 20000; k++) {
        view v;
        (void)random_view(&r, &v);
        view there = v;
        double by = prng_unit(&r) * 2 - 1;
        view_pan(&there, by);
        assert_true(view_span_ns(&there) == view_span_ns(&v));
        assert_true(moment_compare(there.t0, v.t0) != 0 || fabs(by) < 1e-9);
        view_pan(&there, -by);
        assert_memory_equal(&there, &v, sizeof v);
        double at = prng_unit(&r);
        double factor = exp(prng_unit(&r) * 3);
        view_zoom(&there, factor, at);
        view_zoom(&there, 1 / factor, at);
        double px = view_span_ns(&v) / 2000;
        assert_true(fabs(moment_minus(there.t0, v.t0)) <= 1e-5 * px && fabs(moment_minus(there.t1, v.t1)) <= 1e-5 * px);
    }
}

static void a_nanosecond_is_a_nanosecond(void **state)
{
    (void)state;
    view v;
    view_init(&v, LONGEST_NS);
    moment t = moment_at(LONGEST_NS - 1000003);
    view_show_range(&v, moment_shift(t, -50), moment_shift(t, 50));
    view_clamp(&v, LONGEST_NS);
    double per_px = view_span_ns(&v) / 1000;
    for (int i = 0; i < 100; i++) {
        double x = moment_minus(moment_shift(t, i - 50), v.t0) / per_px;
        assert_true(x == 10.0 * i); /* each nanosecond stands ten pixels from the next */
    }
}

static void clamp_holds(void **state)
{
    (void)state;
    prng r;
    prng_seed(&r, 2);
    for (int k = 0; k < 20000; k++) {
        int64_t run = 1 + (int64_t)prng_below(&r, UINT64_C(1) << (1 + prng_below(&r, 62)));
        double length = fmax((double)run, 20);
        view v;
        view_init(&v, run);
        v.t0 = moment_about((prng_unit(&r) * 6 - 3) * length);
        v.t1 = moment_plus(v.t0, prng_unit(&r) * 4 * length);
        view before = v;
        view_clamp(&v, run);
        double eps = 1e-9 * length + 1e-6;
        assert_true(ns_of(v.t0) >= -0.05 * length - eps && ns_of(v.t1) <= 1.05 * length + eps);
        assert_true(view_span_ns(&v) >= 20 - eps && view_span_ns(&v) <= 1.1 * length + eps);
        bool inside =
            ns_of(before.t0) >= -0.0499 * length && ns_of(before.t1) <= 1.0499 * length && view_span_ns(&before) >= 20;
        if (inside) {
            assert_memory_equal(&v, &before, sizeof v);
        }
        view again = v;
        view_clamp(&again, run);
        assert_true(fabs(moment_minus(again.t0, v.t0)) <= eps && fabs(moment_minus(again.t1, v.t1)) <= eps);
    }
}

static void nonsense_is_harmless(void **state)
{
    (void)state;
    view v;
    view_init(&v, 1000);
    view_zoom(&v, NAN, 0.5);
    view_zoom(&v, 0, 0.5);
    view_pan(&v, INFINITY);
    look_at_ns(&v, 5, -5);
    assert_true(moment_compare(v.t0, moment_at(0)) == 0 && moment_compare(v.t1, moment_at(1000)) == 0);
    view_zoom(&v, 2, (double)NAN);
    look_at_ns(&v, (double)NAN, (double)-INFINITY);
    assert_true(moment_compare(v.t0, moment_at(0)) == 0 && moment_compare(v.t1, moment_at(1000)) == 0);
    view_show_range(&v, moment_at(INT64_MIN), moment_at(INT64_MAX));
    view_clamp(&v, 1000);
    assert_true(fabs(view_span_ns(&v) - 1100) < 1e-6);
    view_clamp(&v, INT64_MIN);
    assert_true(view_span_ns(&v) >= 20 - 1e-6 && view_span_ns(&v) <= 22 + 1e-6);
}

static void motion_keeps_what_both_show(void **state)
{
    (void)state;
    prng r;
    prng_seed(&r, 3);
    for (int k = 0; k < 1000; k++) {
        view v;
        int64_t run = random_view(&r, &v);
        double at = prng_unit(&r);
        view to = v;
        double most = log(view_span_ns(&v) / 20);
        view_zoom(&to, exp(prng_unit(&r) * (most + 4) - 4), at);
        moment fixed = time_at(&v, at);
        view_motion m;
        view_motion_start(&m, &v, to.t0, to.t1, 100, 150000000);
        view moving = v;
        double last_width = view_span_ns(&v);
        bool shrinks = view_span_ns(&to) < last_width;
        for (int64_t now = 100; view_motion_step(&m, &moving, now); now += 7000000) {
            double width = view_span_ns(&moving);
            double most_ns = fmax(view_span_ns(&to), view_span_ns(&v)) * 1e-15; /* of a product, rounded */
            assert_true(fabs(moment_minus(time_at(&moving, at), fixed)) <= 1e-9 * width + most_ns + 0x1p-20);
            assert_true(shrinks ? width <= last_width * (1 + 1e-9) : width >= last_width * (1 - 1e-9));
            last_width = width;
        }
        assert_memory_equal(&moving, &to, sizeof to);
        assert_false(view_motion_step(&m, &moving, 1));
        (void)run;
    }
}

static void json_says_the_view(void **state)
{
    (void)state;
    view v;
    view_init(&v, 5000);
    v.layout = LAYOUT_MAREY;
    v.selection_t0_ns = 10;
    v.selection_t1_ns = 20;
    (void)snprintf(v.rows_pattern, sizeof v.rows_pattern, "rank \"1\"*");
    strbuf b = {0};
    json_out j = {.buf = &b};
    view_to_json(&v, &j);
    const char *s = strbuf_str(&b);
    assert_non_null(strstr(s, "\"layout\":\"marey\""));
    assert_non_null(strstr(s, "\"selection_ns\":[10,20]"));
    assert_non_null(strstr(s, "\"selected_row\":null"));
    assert_non_null(strstr(s, "rank \\\"1\\\"*"));
    strbuf_deinit(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(zoom_keeps_the_point),         cmocka_unit_test(there_and_back),
        cmocka_unit_test(a_nanosecond_is_a_nanosecond), cmocka_unit_test(clamp_holds),
        cmocka_unit_test(nonsense_is_harmless),         cmocka_unit_test(motion_keeps_what_both_show),
        cmocka_unit_test(json_says_the_view),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
