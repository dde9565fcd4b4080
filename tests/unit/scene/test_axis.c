/*
 * Contract: the axis' labels never repeat, overlap or leave the axis, at any zoom from 48 hours to 20 ns and any scale;
 * ticks step by 1, 2 or 5 (minutes and hours above); deep inside a long run they count from a base that is shown. Times
 * read as people write them, with as many digits as the pixels carry.
 */
#include "cm.h"

#include <math.h>

#include "help/ns.h"
#include "help/stage.h"

static void times_in_words(void **state)
{
    (void)state;
    static const struct {
        double t, resolution;
        const char *text;
    } cases[] = {
        {0, 1, "0 ns"},
        {17, 1, "17 ns"},
        {1500, 100, "1.5 \xC2\xB5s"},
        {602640127, 1000, "602.640 ms"},
        {602640127, 1, "602.640127 ms"},
        {-2500000, 100000,
         "\xE2\x88\x92"
         "2.5 ms"},
        {12.3456e9, 1e6, "12.346 s"},
        {3723.5e9, 1e8, "1 h 02 min 03.5 s"},
        {601e9, 1e9, "10 min 01 s"},
        {999.9996e6, 1e3, "1000.000 ms"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[64];
        time_label(cases[i].t, cases[i].resolution, text, sizeof text);
        assert_string_equal(text, cases[i].text);
    }
    char text[64];
    moment_in_unit(moment_at(21350500000), 1000000, "ms", 1e5, text, sizeof text);
    assert_string_equal(text, "21\xE2\x80\x89"
                              "350.5 ms");
    moment_label(moment_at(0), 38e9, 1e7, text, sizeof text);
    assert_string_equal(text, "0.00 s");
    /* Beyond what a double holds every digit still counts, also those between two nanoseconds. */
    moment late = moment_plus(moment_at((INT64_C(1) << 62) - 1), 0.25);
    moment_label(late, 1, 0.01, text, sizeof text);
    assert_string_equal(text, "1281023 h 53 min 38.427387903 s");
    moment_in_unit(late, 1000000000, "s", 1, text, sizeof text);
    assert_string_equal(text, "4\xE2\x80\x89"
                              "611\xE2\x80\x89"
                              "686\xE2\x80\x89"
                              "018.427387903 s");
    moment_in_unit(moment_plus(moment_at(-1), 0.25), 1, "ns", 0.01, text, sizeof text);
    assert_string_equal(text, "\xE2\x88\x92"
                              "0.75 ns");
    moment_in_unit(moment_at(-4), 1000, "\xC2\xB5s", 100, text, sizeof text);
    assert_string_equal(text, "0.0 \xC2\xB5s");
}

typedef struct label {
    float x, width;
    char text[64];
} label;

static size_t axis_labels(const stage *g, label *out, size_t cap)
{
    rect axis = g->scene->m.axis;
    size_t n = 0;
    for (size_t i = 0; i < g->list.n_runs && n < cap; i++) {
        const draw_run *r = &g->list.runs[i];
        if (r->y >= axis.y && r->y < axis.y + axis.h && r->x >= axis.x && r->layer == LAYER_MARKS) {
            out[n].x = r->x;
            out[n].width = r->width;
            (void)snprintf(out[n++].text, sizeof out->text, "%s", g->list.text.s + r->text);
        }
    }
    return n;
}

static void check_labels(const stage *g)
{
    static label l[512];
    size_t n = axis_labels(g, l, 512);
    rect axis = g->scene->m.axis;
    assert_true(n >= 2 || axis.w < 300 * (float)g->in.scale);
    assert_true(n >= 1 || axis.w < 160 * (float)g->in.scale);
    for (size_t i = 0; i < n; i++) {
        assert_true(l[i].x + l[i].width <= axis.x + axis.w + 1);
        for (size_t k = 0; k < i; k++) {
            assert_string_not_equal(l[i].text, l[k].text);
            assert_true(l[i].x >= l[k].x + l[k].width || l[k].x >= l[i].x + l[i].width);
        }
    }
}

static void labels_at_every_zoom(void **state)
{
    (void)state;
    const int64_t end = INT64_C(48) * 3600 * 1000000000;
    small_run r;
    stage g;
    prng p;
    prng_seed(&p, 5);
    small_init(&r);
    (void)small_name(&r, "kernel", CLASS_MATMUL, KIND_COMPUTE);
    (void)small_rank(&r, -1, "");
    small_put(&r, (small_event){small_lane(&r, KIND_COMPUTE, "stream", 1), 0, end, 0, 0, CLASS_MATMUL, 0, NULL});
    assert_int_equal(stage_open(&g, &r, 1000, 500), MAREY_OK);
    for (int k = 0; k < 400; k++) {
        view_init(&g.view, end);
        view_zoom(&g.view, exp(prng_unit(&p) * 29.7), prng_unit(&p));
        view_clamp(&g.view, end);
        g.in.scale = 1 + (double)prng_below(&p, 5) / 2;
        g.in.width_px = 640 + (int)prng_below(&p, 3200);
        g.in.height_px = (int)(400 * g.in.scale);
        assert_true(stage_settle(&g) > 0);
        check_labels(&g);
    }
    stage_close(&g);
    small_free(&r);
}

/* One event lies centuries before the others: a nanosecond is less than what a double holds there. */
static void centuries_from_the_origin(void **state)
{
    (void)state;
    const int64_t end = INT64_C(1) << 62;
    small_run r;
    stage g;
    small_init(&r);
    (void)small_name(&r, "kernel", CLASS_MATMUL, KIND_COMPUTE);
    (void)small_rank(&r, -1, "");
    uint32_t lane = small_lane(&r, KIND_COMPUTE, "stream", 1);
    small_put(&r, (small_event){lane, 0, 1000, 0, 0, CLASS_MATMUL, 0, NULL});
    small_put(&r, (small_event){lane, end - 1000, 1000, 0, 0, CLASS_MATMUL, 0, NULL});
    assert_int_equal(stage_open(&g, &r, 1000, 500), MAREY_OK);
    for (int k = 0; k < 60; k++) {
        view_init(&g.view, end);
        view_zoom(&g.view, pow(2, k), 1);
        view_clamp(&g.view, end);
        assert_true(moment_compare(g.view.t1, g.view.t0) > 0 && view_span_ns(&g.view) >= 20 - 0x1p-30);
        assert_true(stage_settle(&g) > 0);
        assert_true(g.list.n_lines < 5000);
    }
    stage_close(&g);
    small_free(&r);
}

static void deep_inside_a_base_is_shown(void **state)
{
    (void)state;
    small_run r;
    stage g;
    small_init(&r);
    (void)small_name(&r, "kernel", CLASS_MATMUL, KIND_COMPUTE);
    (void)small_rank(&r, -1, "");
    small_put(&r, (small_event){small_lane(&r, KIND_COMPUTE, "stream", 1), 0, 2000000000, 0, 0, CLASS_MATMUL, 0, NULL});
    assert_int_equal(stage_open(&g, &r, 1000, 500), MAREY_OK);
    g.view.t0 = moment_about(602640000);
    g.view.t1 = moment_about(602641000);
    assert_true(stage_settle(&g) > 0);
    bool base = false;
    for (size_t i = 0; i < g.list.n_runs; i++) {
        base = base || strstr(g.list.text.s + g.list.runs[i].text, "from 602.64") != NULL;
    }
    assert_true(base);
    label l[64];
    size_t n = axis_labels(&g, l, 64);
    assert_true(n > 3);
    for (size_t i = 0; i < n; i++) {
        assert_true(l[i].text[0] == '+');
    }
    stage_close(&g);
    small_free(&r);
}

static void marks_of_steps_stand_apart(void **state)
{
    (void)state;
    assert_int_equal(step_stride(0, 48), 1);
    assert_int_equal(step_stride(1.0 / 100, 48), 1);
    assert_int_equal(step_stride(1.0 / 47, 48), 2);
    assert_int_equal(step_stride(0.5, 48), 50);
    assert_int_equal(step_stride(10, 48), 500);
    for (double density = 1e-6; density < 1e6; density *= 1.7) { /* the least that is enough */
        long long n = step_stride(density, 48);
        assert_true((double)n >= density * 48 && (n == 1 || (double)n < 2.5 * density * 48));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_in_words),
        cmocka_unit_test(labels_at_every_zoom),
        cmocka_unit_test(centuries_from_the_origin),
        cmocka_unit_test(deep_inside_a_base_is_shown),
        cmocka_unit_test(marks_of_steps_stand_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
