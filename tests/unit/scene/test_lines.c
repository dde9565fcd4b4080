/*
 * Contract of scene/series.h, line_data.h and lines.h: a series answers the lowest and highest value that holds
 * anywhere in a range, as brute force does. A rank's memory is the counter that the input names so, allocated before
 * reserved, in bytes. Its FLOP/s are what the input states of the operators that run, summed where they overlap: the
 * rate, else the amount over the duration; parts of the device add up; names match whole, or by their last part where
 * one side gives no more and it is unique. Where nothing is stated there is no line. Rows share one scale. What is
 * drawn reaches the highest value of each column, at any zoom, and a switch takes the lines away.
 */
#include "cm.h"

#include "help/ns.h"
#include "help/pipeline_run.h"
#include "help/stage.h"
#include "scene/lines.h"

/* ------------------------------------------------------------------ series */

static uint64_t state_of_random = 88172645463325252U;

static uint32_t random_below(uint32_t n)
{
    state_of_random ^= state_of_random << 13;
    state_of_random ^= state_of_random >> 7;
    state_of_random ^= state_of_random << 17;
    return (uint32_t)(state_of_random >> 33) % n;
}

static event_window between(double t0, double t1)
{
    return window_between(moment_about(t0), moment_about(t1));
}

static bool brute(const step_series *s, double t0, double t1, double *low, double *high)
{
    bool any = false;
    for (size_t i = 0; i < s->n; i++) {
        double from = (double)s->t_ns[i];
        double to = i + 1 < s->n ? (double)s->t_ns[i + 1] : (double)INFINITY;
        if (from < t1 && to > t0 && to > from) {
            *low = any ? fmin(*low, s->v[i]) : s->v[i];
            *high = any ? fmax(*high, s->v[i]) : s->v[i];
            any = true;
        }
    }
    return any;
}

static void ranges_equal_brute_force(void **state)
{
    (void)state;
    static const size_t sizes[] = {0, 1, 2, 15, 16, 17, 33, 500, 5000};
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        size_t n = sizes[k];
        int64_t *t = mem_alloc((n + 1) * sizeof *t);
        double *v = mem_alloc((n + 1) * sizeof *v);
        int64_t at = 10;
        for (size_t i = 0; i < n; i++) {
            t[i] = at;
            v[i] = random_below(1000);
            at += 1 + random_below(9);
        }
        step_series s;
        series_make(&s, t, v, n);
        for (int i = 0; i < 600; i++) {
            double t0 = 0.25 * random_below(4 * ((uint32_t)at + 20)) - 5;
            double t1 = t0 + 1 + random_below(i % 2 ? 12 : (uint32_t)at);
            double low[2] = {-1, -1};
            double high[2] = {-1, -1};
            bool there = series_range(&s, between(t0, t1), &low[0], &high[0]);
            assert_int_equal(there, brute(&s, t0, t1, &low[1], &high[1]));
            assert_true(!there || (low[0] == low[1] && high[0] == high[1]));
        }
        series_deinit(&s);
    }
}

/* ------------------------------------------------------------------ what the input states */

static void counters_of_memory(void **state)
{
    (void)state;
    const struct {
        const char *name;
        bool is_memory;
        double unit;
    } cases[] = {{"memory PTA/allocated", true, 1}, {"GPU Memory/used(MB)", true, 1048576},
                 {"APP/HBM/KB", true, 1024},        {"HBM 0/Read/Read(MB/s)", false, 1},
                 {"AI Core Freq/MHz", false, 1},    {"QoS/KB", false, 1024}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double unit = 0;
        assert_int_equal(line_counter_is_memory(cases[i].name, &unit), cases[i].is_memory);
        assert_true(!cases[i].is_memory || unit == cases[i].unit);
    }
}

enum { S_CONV, S_MATMUL, S_LONE, S_TWICE_A, S_TWICE_B, S_CUBE, S_VECTOR };
static const char *const strings[] = {"Default/net/Conv2D-op1", "MatMul-op2", "Default/Add-op3", "Default/a/Mul-op4",
                                      "Default/b/Mul-op4",      "cube",       "vector"};

/* Two ranks; only the first states something. */
static void stated_run(small_run *r)
{
    static const store_sample used[] = {{100, 1e6}, {400, 3e6}, {401, 1e6}, {900, 2e6}};
    static const store_sample reserved[] = {{100, 9e6}};
    small_init(r);
    for (int k = 0; k < 2; k++) {
        (void)small_rank(r, 0, "host");
        uint32_t a = small_lane(r, KIND_COMPUTE, "stream 1", 1);
        uint32_t b = small_lane(r, KIND_COMPUTE, "stream 2", 1);
        uint32_t conv = small_name(r, "Default/net/Conv2D-op1", CLASS_FORWARD, KIND_COMPUTE);
        uint32_t matmul = small_name(r, "Default/net/MatMul-op2", CLASS_FORWARD, KIND_COMPUTE);
        uint32_t lone = small_name(r, "Add-op3", CLASS_FORWARD, KIND_COMPUTE);
        uint32_t twice = small_name(r, "Mul-op4", CLASS_FORWARD, KIND_COMPUTE);
        small_put(r, (small_event){a, 0, 100, conv, 0, CLASS_FORWARD, 0, NULL});
        small_put(r, (small_event){b, 50, 100, matmul, 0, CLASS_FORWARD, 0, NULL});
        small_put(r, (small_event){a, 200, 200, lone, 0, CLASS_FORWARD, 0, NULL});
        small_put(r, (small_event){a, 500, 500, twice, 0, CLASS_FORWARD, 0, NULL});
        if (k == 0) {
            small_counter(r, "memory PTA/reserved", reserved, 1);
            small_counter(r, "memory PTA/allocated", used, 4);
        }
    }
    r->metric_strings = strings;
    r->n_metric_strings = sizeof strings / sizeof *strings;
    small_metric(r, METRIC_FLOPS_RATE, 0, S_CONV, NO_ID, 3e12);
    small_metric(r, METRIC_FLOPS_RATE, 0, S_CONV, NO_ID, 5e12); /* stated twice: the mean counts */
    small_metric(r, METRIC_FLOPS, 0, S_CONV, NO_ID, 1);         /* the rate counts */
    small_metric(r, METRIC_FLOPS_RATE, 0, S_MATMUL, S_CUBE, 2e12);
    small_metric(r, METRIC_FLOPS_RATE, 0, S_MATMUL, S_VECTOR, 1e12);
    small_metric(r, METRIC_FLOPS, 0, S_LONE, NO_ID, 2e5); /* in 200 ns: 1e12 a second */
    small_metric(r, METRIC_FLOPS_RATE, 0, S_TWICE_A, NO_ID, 7e12);
    small_metric(r, METRIC_FLOPS_RATE, 0, S_TWICE_B, NO_ID, 7e12); /* nobody knows which of the two runs */
}

static const rank_lines *lines_of(stage *g, uint32_t rank)
{
    bool is_due = false;
    return line_data_get(g->scene->lines->data, rank, &is_due);
}

static double flops_at(const rank_lines *l, double t)
{
    double low = 0;
    double high = 0;
    bool there = series_range(&l->of[LINE_FLOPS], between(t, t + 1), &low, &high);
    assert_true(!there || low == high);
    return there ? high : 0;
}

static void open_stated(stage *g, small_run *r)
{
    stated_run(r);
    assert_int_equal(stage_open(g, r, 1300, 500), MAREY_OK);
    g->view.layout = LAYOUT_MAREY;
    g->view.row_px = 40;
    assert_true(stage_settle(g) > 0);
}

static void close_stated(stage *g, small_run *r)
{
    stage_close(g);
    small_free(r);
}

static void what_is_stated_holds(void **state)
{
    (void)state;
    small_run r;
    stage g;
    open_stated(&g, &r);
    const rank_lines *l = lines_of(&g, 0);
    assert_non_null(l);
    assert_string_equal(l->memory_name, "memory PTA/allocated");
    double low = 0;
    double high = 0;
    assert_false(series_range(&l->of[LINE_MEMORY], between(0, 100), &low, &high));
    assert_true(series_range(&l->of[LINE_MEMORY], between(300, 700), &low, &high) && low == 1e6 && high == 3e6);
    assert_true(flops_at(l, 10) == 4e12);
    assert_true(flops_at(l, 60) == 7e12);  /* both streams */
    assert_true(flops_at(l, 120) == 3e12); /* cube and vector */
    assert_true(flops_at(l, 160) == 0);
    assert_true(flops_at(l, 300) == 1e12);
    assert_true(flops_at(l, 600) == 0);
    const rank_lines *none = lines_of(&g, 1);
    assert_true(none && none->of[LINE_MEMORY].n == 0 && none->of[LINE_FLOPS].n == 0 && !none->memory_name);
    assert_true(g.frame.line_memory_top == 3e6 && g.frame.line_flops_top == 7e12);
    close_stated(&g, &r);
}

/* ------------------------------------------------------------------ what is drawn */

/* The highest pixel that a quad of this colour covers in column x; -1: none. */
static float highest_at(const draw_list *l, rgba c, float x)
{
    float best = -1;
    for (size_t i = 0; i < l->n_quads; i++) {
        const draw_quad *q = &l->quads[i];
        if (memcmp(&q->fill, &c, sizeof c) == 0 && q->r.x <= x && q->r.x + q->r.w > x) {
            best = best < 0 || q->r.y < best ? q->r.y : best;
        }
    }
    return best;
}

static void peaks_are_never_lost(void **state)
{
    (void)state;
    small_run r;
    stage g;
    open_stated(&g, &r);
    const theme *t = theme_get(THEME_DARK);
    rect strip = row_strip_rect(g.scene, &g.scene->tree.rows[0]);
    for (int zoom = 0; zoom < 6; zoom++) {
        look_at_ns(&g.view, 400.5 - 400 / pow(2, zoom), 400.5 + 400 / pow(2, zoom));
        assert_true(stage_settle(&g) > 0);
        float x = floorf((float)(x_of(g.scene, 400) + 0.5 * g.scene->src.grid.inverse)) + 0.5F;
        float y = highest_at(&g.list, t->line_memory, x); /* one nanosecond at the top of the scale */
        assert_true(y >= strip.y && y <= strip.y + 3);
        float beside = floorf((float)(x_of(g.scene, 400) + (0.5 + 200 / pow(2, zoom)) * g.scene->src.grid.inverse));
        assert_true(highest_at(&g.list, t->line_memory, beside) > strip.y + strip.h / 2);
    }
    assert_null(draw_list_check(&g.list));
    close_stated(&g, &r);
}

static size_t count_of(const draw_list *l, rgba c)
{
    size_t n = 0;
    for (size_t i = 0; i < l->n_quads; i++) {
        n += memcmp(&l->quads[i].fill, &c, sizeof c) == 0;
    }
    return n;
}

static void the_switch(void **state)
{
    (void)state;
    small_run r;
    stage g;
    open_stated(&g, &r);
    const theme *t = theme_get(THEME_DARK);
    static const bool shown[LINES_MODES][2] = {{true, true}, {true, false}, {false, true}, {false, false}};
    for (uint8_t mode = 0; mode < LINES_MODES; mode++) {
        g.view.lines = mode;
        assert_true(stage_settle(&g) > 0);
        assert_int_equal(count_of(&g.list, t->line_memory) > 0, shown[mode][0]);
        assert_int_equal(count_of(&g.list, t->line_flops) > 0, shown[mode][1]);
        assert_int_equal(g.frame.line_memory_top > 0, shown[mode][0]);
    }
    g.view.lines = LINES_ALL;
    g.view.row_px = 9; /* too low for a line */
    assert_true(stage_settle(&g) > 0);
    assert_int_equal(count_of(&g.list, t->line_memory) + count_of(&g.list, t->line_flops), 0);
    close_stated(&g, &r);
}

static bool list_says(const draw_list *l, const char *text)
{
    for (size_t i = 0; i < l->n_runs; i++) {
        if (strstr(l->text.s + l->runs[i].text, text)) {
            return true;
        }
    }
    return false;
}

static void the_pointer_reads_it(void **state)
{
    (void)state;
    small_run r;
    stage g;
    open_stated(&g, &r);
    rect strip = row_strip_rect(g.scene, &g.scene->tree.rows[0]);
    g.in.cursor_x = floor(x_of(g.scene, 300));
    g.in.cursor_y = (double)strip.y + 4;
    assert_true(stage_settle(&g) > 0);
    assert_true(list_says(&g.list, "1\xE2\x80\x89"
                                   "000\xE2\x80\x89"
                                   "000 B"));
    assert_true(list_says(&g.list, "1 TFLOP/s") && list_says(&g.list, "memory PTA/allocated"));
    assert_true(list_says(&g.list, "lines: memory to 2.9 MiB, FLOP/s to 7 TFLOP/s"));
    close_stated(&g, &r);
}

static void nothing_where_nothing_is_stated(void **state)
{
    (void)state;
    small_run r;
    stage g;
    pipeline_run(&r, 2, 2);
    assert_int_equal(stage_open(&g, &r, 1300, 700), MAREY_OK);
    g.view.layout = LAYOUT_MAREY;
    assert_true(stage_settle(&g) > 0);
    const theme *t = theme_get(THEME_DARK);
    assert_int_equal(count_of(&g.list, t->line_memory) + count_of(&g.list, t->line_flops), 0);
    assert_true(g.frame.line_memory_top == 0 && g.frame.line_flops_top == 0 && !list_says(&g.list, "lines:"));
    close_stated(&g, &r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranges_equal_brute_force),
        cmocka_unit_test(counters_of_memory),
        cmocka_unit_test(what_is_stated_holds),
        cmocka_unit_test(peaks_are_never_lost),
        cmocka_unit_test(the_switch),
        cmocka_unit_test(the_pointer_reads_it),
        cmocka_unit_test(nothing_where_nothing_is_stated),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
