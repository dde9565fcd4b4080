/*
 * Contract: zooming about a point keeps that point, to 1/32 ns in a run of 48 hours and down to 20 ns across; panning
 * keeps the width; clamping keeps every view inside [-5 %, 105 %] of the run, not narrower than 20 ns nor wider
 * than 1.1 runs, and changes nothing that is inside already; an animated passage begins and ends exactly at its two
 * views and never moves the point that both show at the same place.
 */
#include "cm.h"

#include <math.h>

#include "base/clock.h"
#include "scene/view.h"

static const int64_t TWO_DAYS_NS = INT64_C(48) * 3600 * 1000000000;

static double time_at(const view *v, double at)
{
    return v->t0_ns + at * (v->t1_ns - v->t0_ns);
}

static void zoom_keeps_the_point(void **state)
{
    (void)state;
    prng r;
    prng_seed(&r, 1);
    for (int k = 0; k < 2000; k++) {
        view v;
        view_init(&v, TWO_DAYS_NS);
        double at = prng_unit(&r);
        double t = time_at(&v, at);
        while (v.t1_ns - v.t0_ns > 40) {
            double factor = 1.01 + 3 * prng_unit(&r);
            view_zoom(&v, factor, at);
            double ulp = 1.0 / 32;
            assert_true(fabs(time_at(&v, at) - t) <= 2 * ulp);
            t = time_at(&v, at);
        }
    }
}

static void a_nanosecond_is_a_nanosecond(void **state)
{
    (void)state;
    view v;
    view_init(&v, TWO_DAYS_NS);
    double t = (double)TWO_DAYS_NS - 1000003;
    view_show_range(&v, t - 50, t + 50);
    double per_px = (v.t1_ns - v.t0_ns) / 1000;
    for (int i = 0; i < 100; i++) {
        double x = (t - 50 + i - v.t0_ns) / per_px;
        assert_true(fabs(x - 10.0 * i) < 0.5); /* each nanosecond stands ten pixels from the next */
    }
}

static void clamp_holds(void **state)
{
    (void)state;
    prng r;
    prng_seed(&r, 2);
    for (int k = 0; k < 20000; k++) {
        int64_t run = 1 + (int64_t)prng_below(&r, UINT64_C(1) << (1 + prng_below(&r, 47)));
        double length = fmax((double)run, 20);
        view v;
        view_init(&v, run);
        v.t0_ns = (prng_unit(&r) * 6 - 3) * length;
        v.t1_ns = v.t0_ns + prng_unit(&r) * 4 * length;
        view before = v;
        view_clamp(&v, run);
        double eps = 1e-9 * length + 1e-6;
        assert_true(v.t0_ns >= -0.05 * length - eps && v.t1_ns <= 1.05 * length + eps);
        assert_true(v.t1_ns - v.t0_ns >= 20 - eps && v.t1_ns - v.t0_ns <= 1.1 * length + eps);
        bool inside =
            before.t0_ns >= -0.05 * length && before.t1_ns <= 1.05 * length && before.t1_ns - before.t0_ns >= 20;
        if (inside) {
            assert_true(v.t0_ns == before.t0_ns && v.t1_ns == before.t1_ns);
        }
        view again = v;
        view_clamp(&again, run);
        assert_true(fabs(again.t0_ns - v.t0_ns) <= eps && fabs(again.t1_ns - v.t1_ns) <= eps);
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
    view_show_range(&v, 5, -5);
    assert_true(v.t0_ns == 0 && v.t1_ns == 1000);
    v.t0_ns = NAN;
    view_clamp(&v, 1000);
    assert_true(v.t0_ns == 0 && v.t1_ns == 1000);
}

static void motion_keeps_what_both_show(void **state)
{
    (void)state;
    prng r;
    prng_seed(&r, 3);
    for (int k = 0; k < 500; k++) {
        view v;
        view_init(&v, INT64_C(1000000000000));
        double at = prng_unit(&r);
        view to = v;
        view_zoom(&to, exp(prng_unit(&r) * 20 - 4), at);
        double fixed = time_at(&v, at);
        view_motion m;
        view_motion_start(&m, &v, to.t0_ns, to.t1_ns, 100, 150000000);
        view moving = v;
        double last_width = v.t1_ns - v.t0_ns;
        bool shrinks = to.t1_ns - to.t0_ns < last_width;
        for (int64_t now = 100; view_motion_step(&m, &moving, now); now += 7000000) {
            double width = moving.t1_ns - moving.t0_ns;
            assert_true(fabs(time_at(&moving, at) - fixed) <= 1e-9 * width + 0.01);
            assert_true(shrinks ? width <= last_width * (1 + 1e-12) : width >= last_width * (1 - 1e-12));
            last_width = width;
        }
        assert_true(moving.t0_ns == to.t0_ns && moving.t1_ns == to.t1_ns);
        assert_false(view_motion_step(&m, &moving, 1));
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
        cmocka_unit_test(zoom_keeps_the_point),
        cmocka_unit_test(a_nanosecond_is_a_nanosecond),
        cmocka_unit_test(clamp_holds),
        cmocka_unit_test(nonsense_is_harmless),
        cmocka_unit_test(motion_keeps_what_both_show),
        cmocka_unit_test(json_says_the_view),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
