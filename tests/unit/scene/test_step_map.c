/*
 * Contract of scene/step_map.h: values are those of the diagnosis; the ramp spans all ranks and steps, at least a
 * fiftieth of the highest; a map's cell has the level of the highest of the ranks it stands for, over the columns of
 * its step, and nothing elsewhere; the overview shows lines of up to 64 ranks, a map, or shares; the layout of steps
 * has a row a rank, and a click in it names the time.
 */
#include "cm.h"

#include "help/pipeline_run.h"
#include "help/stage.h"
#include "scene/step_map.h"

static void levels_span_the_ramp(void **state)
{
    (void)state;
    step_span k = {100, 200};
    assert_int_equal(step_level(k, 100), PALETTE_HEAT);
    assert_int_equal(step_level(k, 119), PALETTE_HEAT);
    assert_int_equal(step_level(k, 121), PALETTE_HEAT + 1);
    assert_int_equal(step_level(k, 200), PALETTE_HEAT + HEAT_LEVELS - 1);
    assert_int_equal(step_level(k, 1e9), PALETTE_HEAT + HEAT_LEVELS - 1);
    assert_int_equal(step_level(k, -5), PALETTE_HEAT);
    for (int id = 0; id < THEME_COUNT; id++) {
        const theme *t = theme_get((theme_id)id);
        assert_memory_equal(&t->data[PALETTE_HEAT], t->heat, sizeof t->heat);
    }
    rank_step cells[2] = {{.start_ns = 0, .end_ns = 1000}, {.start_ns = 1000, .end_ns = 2001}};
    diagnosis g = {.data = {.n_ranks = 1, .n_steps = 2, .cells = cells}};
    k = step_span_of(&g, STEP_TIME);
    assert_true(k.low <= 1000 && k.high >= 1001 && k.high - k.low >= 20);
    cells[1].end_ns = 0; /* it lacks the step */
    assert_true(isnan(step_value(&g, 0, 1, STEP_TIME)) && step_value(&g, 0, 0, STEP_TIME) == 1000);
}

static void show(stage *g, small_run *r, view_layout layout, uint8_t overview)
{
    pipeline_run(r, 2, 4);
    assert_int_equal(stage_open(g, r, 1600, 900), MAREY_OK);
    g->view.layout = layout;
    g->view.overview = overview;
    assert_true(stage_settle(g) > 0);
    assert_null(draw_list_check(&g->list));
}

static void rows_show_their_ranks(void **state)
{
    (void)state;
    small_run r;
    stage g;
    show(&g, &r, LAYOUT_STEPS, OVERVIEW_MAP_COMPUTE);
    const scene *s = g.scene;
    const diagnosis *d = s->heat->diagnosis;
    const scene_step *steps;
    assert_int_equal(scene_steps(s, &steps), 2);
    size_t rows = 0;
    for (size_t i = 0; i < g.list.n_strips; i++) {
        const draw_strip *strip = &g.list.strips[i];
        size_t row = row_at(s, (double)(strip->r.y + strip->r.h / 2 - s->m.plot.y) + s->scroll);
        if (strip->r.x < s->m.plot.x || row == SIZE_MAX || s->tree.rows[row].kind != ROW_RANK ||
            strip->r.y < s->m.plot.y) {
            continue;
        }
        rows++;
        for (size_t k = 0; k < 2; k++) {
            int64_t middle = (s->heat->step_start_ns[k] + s->heat->step_end_ns[k]) / 2;
            int64_t column = column_of(&s->src.grid, middle);
            const draw_cell *c = &g.list.cells[strip->first_cell + (size_t)column];
            double value = step_value(d, s->tree.rows[row].id, k, STEP_COMPUTE);
            assert_int_equal(c->klass, step_level(s->step_map->spans[STEP_COMPUTE], value));
        }
        /* Columns are straight: the second step begins at one place in all rows, though ranks come to it in turn. */
        int64_t border = column_of(&s->src.grid, s->heat->step_start_ns[1]);
        const draw_cell *c = &g.list.cells[strip->first_cell + (size_t)border];
        step_span span = s->step_map->spans[STEP_COMPUTE];
        assert_int_equal(c[1].klass, step_level(span, step_value(d, s->tree.rows[row].id, 1, STEP_COMPUTE)));
        assert_int_equal(c[-2].klass, step_level(span, step_value(d, s->tree.rows[row].id, 0, STEP_COMPUTE)));
    }
    assert_int_equal(rows, 8);
    double x = x_of(s, 18e6);
    scene_pick p = scene_pick_at(g.scene, x, (double)s->m.plot.y + 20);
    assert_int_equal(p.kind, PICK_STEP);
    assert_true(fabs(moment_minus(p.time, moment_at(18000000))) < 2 * s->src.grid.step_ns);
    stage_close(&g);
    small_free(&r);
}

static size_t lines_in(const stage *g, rect r)
{
    size_t n = 0;
    for (size_t i = 0; i < g->list.n_lines; i++) {
        const draw_line *k = &g->list.lines[i];
        n += k->layer == LAYER_DATA && inside(r, (double)k->x1, (double)k->y1) && k->x0 != k->x1;
    }
    return n;
}

static void the_strip_has_three_faces(void **state)
{
    (void)state;
    small_run r;
    stage g;
    show(&g, &r, LAYOUT_MAREY, OVERVIEW_SHARES);
    size_t before = lines_in(&g, g.frame.overview);
    g.view.overview = OVERVIEW_STEPS;
    assert_true(stage_settle(&g) > 0);
    /* Two steps: a stub and a line for each of 8 ranks and 2 means. */
    assert_int_equal(lines_in(&g, g.frame.overview), before + 20);
    g.view.overview = OVERVIEW_MAP;
    assert_true(stage_settle(&g) > 0);
    size_t lines = 0;
    for (size_t i = 0; i < g.list.n_strips; i++) {
        lines += inside(g.frame.overview, (double)g.list.strips[i].r.x, (double)g.list.strips[i].r.y);
    }
    assert_int_equal(lines, 8); /* one a rank */
    stage_close(&g);
    small_free(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(levels_span_the_ramp),
        cmocka_unit_test(rows_show_their_ranks),
        cmocka_unit_test(the_strip_has_three_faces),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
