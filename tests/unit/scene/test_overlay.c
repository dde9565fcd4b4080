/*
 * Contract of scene/overlay.h: one step over all others. Each instance (name and occurrence on a rank) has one nested
 * band over the steps, in the lane above the row's strip, all of them aligned at their starts: first and last start and
 * end, and the means. An instance that leaves median +- 5 MAD of the same instance in the other steps is in no band:
 * it is drawn by itself, counted for its step, and told by the tooltip. The chosen step is shown as ever; the axis
 * counts from its start. Without steps, or in another mode, there are no lanes.
 */
#include "cm.h"

#include "help/ns.h"
#include "help/small_run.h"
#include "help/stage.h"
#include "scene/overlay.h"

enum { STEPS = 7, RANKS = 2, ODD_STEP = 4, ODD_RANK = 1 };
static const int64_t STEP_NS = 1000000;

/* Steps drift apart, as real ones do: the alignment is by their starts. */
static int64_t start_of(int step)
{
    return step * (STEP_NS + 5000);
}

static int64_t jitter(int rank, int step, int k)
{
    return (rank * 7 + step * 13 + k * 5) % 11 * 300;
}

static int64_t begin_of(int rank, int step, int k)
{
    int64_t late = rank == ODD_RANK && step == ODD_STEP && k == 1 ? 150000 : 0;
    return start_of(step) + 50000 + k * 400000 + (k > 0 ? jitter(rank, step, k) : 0) + late;
}

static void make_run(small_run *r)
{
    small_init(r);
    uint32_t kernel = small_name(r, "kernel", CLASS_FORWARD, KIND_COMPUTE);
    uint32_t phase = small_name(r, "forward", CLASS_FORWARD, KIND_PHASE);
    for (int i = 0; i < RANKS; i++) {
        (void)small_rank(r, 0, "host");
        uint32_t compute = small_lane(r, KIND_COMPUTE, "stream 7", 1);
        uint32_t phases = small_lane(r, KIND_PHASE, "phases", 1);
        for (int step = 0; step < STEPS; step++) {
            small_step(r, (uint32_t)i, 10 + step, start_of(step), start_of(step) + STEP_NS);
            for (uint32_t k = 0; k < 2; k++) {
                int64_t t = begin_of(i, step, (int)k);
                small_put(r, (small_event){phases, t, 300000, phase, k, CLASS_FORWARD, 0, NULL});
                for (uint32_t n = 0; n < 100; n++) { /* too short to be seen one by one */
                    small_put(r,
                              (small_event){compute, t + n * 3000, 2000, kernel, k * 100 + n, CLASS_FORWARD, 0, NULL});
                }
            }
        }
    }
}

static void show(stage *g, small_run *r, size_t step)
{
    make_run(r);
    assert_int_equal(stage_open(g, r, 1300, 600), MAREY_OK);
    g->view.layout = LAYOUT_MAREY;
    g->view.row_px = 60;
    g->view.steps_mode = STEPS_OVERLAID;
    g->view.step = (uint32_t)step;
    look_at_ns(&g->view, (double)start_of((int)step), (double)(start_of((int)step) + STEP_NS));
    assert_true(stage_settle(g) > 0);
    assert_null(draw_list_check(&g->list));
}

static void close_all(stage *g, small_run *r)
{
    stage_close(g);
    small_free(r);
}

/* px of a time after the step's start */
static double px_of(const stage *g, int step, double t_ns)
{
    int64_t shift = start_of((int)g->view.step) - start_of(step);
    return x_of(g->scene, shift) + t_ns * g->scene->src.grid.inverse;
}

static void bands_are_the_spread_over_steps(void **state)
{
    (void)state;
    small_run r;
    stage g;
    show(&g, &r, 2);
    const overlay_view *v = g.scene->overlay;
    assert_int_equal(v->end - v->first, STEPS);
    assert_int_equal(v->list.n, STEPS * RANKS * 2);
    assert_int_equal(v->n_nested, RANKS * 2);
    for (size_t i = 0; i < v->n_nested; i++) {
        const nested_band *b = &v->nested[i];
        int rank = (int)g.scene->tree.rows[g.scene->first_visible + b->row].rank;
        int k = b->x[NESTED_START_MIN] > px_of(&g, 0, 250000) ? 1 : 0;
        double low = INFINITY;
        double high = -INFINITY;
        double mean = 0;
        uint32_t n = 0;
        for (int step = 0; step < STEPS; step++) {
            bool odd = rank == ODD_RANK && step == ODD_STEP && k == 1;
            double x = px_of(&g, step, (double)begin_of(rank, step, k));
            low = odd ? low : fmin(low, x);
            high = odd ? high : fmax(high, x);
            mean += odd ? 0 : x;
            n += odd ? 0 : 1;
        }
        double width = 300000 * g.scene->src.grid.inverse;
        assert_int_equal(b->n, n);
        assert_true(fabs(b->x[NESTED_START_MIN] - low) < 1e-6 && fabs(b->x[NESTED_START_MAX] - high) < 1e-6);
        assert_true(fabs(b->x[NESTED_START_MEAN] - mean / n) < 1e-6);
        assert_true(fabs(b->x[NESTED_END_MAX] - high - width) < 1e-6);
    }
    close_all(&g, &r);
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

static const scene_row *row_of(const stage *g, uint32_t rank)
{
    for (size_t i = 0; i < g->scene->tree.n_rows; i++) {
        if (g->scene->tree.rows[i].kind == ROW_RANK && g->scene->tree.rows[i].rank == rank) {
            return &g->scene->tree.rows[i];
        }
    }
    return NULL;
}

static void a_deviating_step_is_seen(void **state)
{
    (void)state;
    small_run r;
    stage g;
    show(&g, &r, 0); /* any other step is shown */
    const overlay_view *v = g.scene->overlay;
    assert_int_equal(v->n_outliers, 1);
    for (size_t i = 0; i < STEPS; i++) {
        assert_int_equal(v->deviating[i], i == ODD_STEP);
    }
    const scene_row *row = row_of(&g, ODD_RANK);
    rect strip = row_strip_rect(g.scene, row);
    float lane = overlay_lane(g.scene, row);
    double x = px_of(&g, ODD_STEP, (double)begin_of(ODD_RANK, ODD_STEP, 1));
    bool drawn = false;
    rgba severity = theme_get(THEME_DARK)->severity;
    for (size_t i = 0; i < g.list.n_quads; i++) {
        const draw_quad *q = &g.list.quads[i];
        bool is_it = memcmp(&q->fill, &severity, sizeof severity) == 0 && fabs((double)q->r.x - x) < 0.01;
        drawn = drawn || (is_it && q->r.y >= strip.y - lane && q->r.y < strip.y && q->r.w > 5);
    }
    assert_true(lane > 0 && drawn);
    assert_true(list_says(&g.list, "over steps 10\xE2\x80\x93"
                                   "16, 1 deviates, most of all step 14 (1 instances)"));
    g.in.cursor_x = floor(x) + 3;
    g.in.cursor_y = (double)(strip.y - lane) + 2;
    assert_true(stage_settle(&g) > 0);
    assert_true(list_says(&g.list, "7 of 7 steps, aligned at their starts") && list_says(&g.list, "step 14"));
    close_all(&g, &r);
}

/* The row shows the chosen step, to the pixel; the axis counts from its start. */
static void the_chosen_step_is_as_ever(void **state)
{
    (void)state;
    small_run r;
    stage g;
    show(&g, &r, 3);
    const scene_row *row = row_of(&g, 0);
    const row_raster *over = stage_raster(&g, row);
    draw_cell *cells = mem_alloc(over->n * sizeof *cells);
    memcpy(cells, over->cells, over->n * sizeof *cells);
    uint32_t n = over->n;
    assert_true(list_says(&g.list, "step 13") && g.scene->origin_ns == (double)start_of(3));
    g.view.steps_mode = STEPS_ONE;
    assert_true(stage_settle(&g) > 0);
    row = row_of(&g, 0);
    const row_raster *one = stage_raster(&g, row);
    assert_int_equal(one->n, n);
    assert_memory_equal(one->cells, cells, n * sizeof *cells);
    assert_true(overlay_lane(g.scene, row) == 0 && !list_says(&g.list, "over steps"));
    free(cells);
    close_all(&g, &r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bands_are_the_spread_over_steps),
        cmocka_unit_test(a_deviating_step_is_seen),
        cmocka_unit_test(the_chosen_step_is_as_ever),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
