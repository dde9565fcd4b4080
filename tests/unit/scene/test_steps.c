/*
 * Contract of steps side by side: the run's steps are those of all ranks by number, from the first start to the last
 * end on the devices. In columns each step has a plot of its own with the same rows and scale, its start at the same
 * place; bands join inside each; what is picked in a column lies in that column's time; the axis counts from the
 * step's start; afterwards the run is one plot as before.
 */
#include "cm.h"

#include "help/ns.h"
#include "help/pipeline_run.h"
#include "help/stage.h"
#include "scene/steps.h"

static void steps_are_joined_over_ranks(void **state)
{
    (void)state;
    trace_step v[] = {
        {.rank = 0, .index = 8, .start_ns = 100, .end_ns = 200},
        {.rank = 1, .index = 7, .start_ns = 5, .end_ns = 90, .device_start_ns = 10, .device_end_ns = 120},
        {.rank = 0, .index = 7, .start_ns = 0, .end_ns = 100},
        {.rank = 1, .index = 9, .start_ns = 300, .end_ns = 300}, /* empty */
    };
    trace_model m = {.steps = v, .n_steps = 4};
    scene_step *steps = NULL;
    assert_int_equal(steps_of_model(&m, &steps), 2);
    assert_true(steps[0].index == 7 && steps[0].start_ns == 0 && steps[0].end_ns == 120);
    assert_true(steps[1].index == 8 && steps[1].start_ns == 100 && steps[1].end_ns == 200);
    free(steps);
}

static void show(stage *g, small_run *r)
{
    pipeline_run(r, 2, 4);
    assert_int_equal(stage_open(g, r, 1600, 900), MAREY_OK);
    g->view.layout = LAYOUT_MAREY;
}

static void columns_are_aligned(void **state)
{
    (void)state;
    small_run r;
    stage g;
    show(&g, &r);
    const scene_step *steps;
    assert_int_equal(scene_steps(g.scene, &steps), 2);
    assert_int_equal(scene_step_at(g.scene, steps[1].start_ns + 5), 1);
    g.view.steps_mode = STEPS_COLUMNS;
    double length = (double)(steps[0].end_ns - steps[0].start_ns);
    look_at_ns(&g.view, (double)steps[0].start_ns, (double)steps[0].start_ns + length);
    assert_true(stage_settle(&g) > 0);
    assert_null(draw_list_check(&g.list));
    assert_int_equal(g.frame.n_columns, 2); /* three wanted, two there */
    rect plot = g.frame.plot;
    double y = (double)plot.y + 3;
    for (int k = 0; k < 2; k++) {
        double x = (double)plot.x + k * (double)g.frame.column_w;
        scene_pick p = scene_pick_at(g.scene, x + 0.01, y);
        assert_true(fabs(moment_minus(p.time, moment_at(steps[k].start_ns))) < 2 * length / (double)g.frame.column_w);
    }
    /* Every band lies inside one column, and both columns have as many: the steps do the same. */
    size_t bands[2] = {0, 0};
    float middle = plot.x + g.frame.column_w;
    for (size_t i = 0; i < g.list.n_bands; i++) {
        const draw_band *b = &g.list.bands[i];
        rect clip = g.list.clips[b->clip];
        assert_true(clip.x + clip.w <= middle || clip.x >= middle);
        bands[clip.x >= middle]++;
    }
    assert_true(bands[0] > 10 && bands[0] == bands[1]);
    assert_int_equal(g.frame.n_bands, g.list.n_bands);
    stage_close(&g);
    small_free(&r);
}

static void picks_and_tips_know_their_column(void **state)
{
    (void)state;
    small_run r;
    stage g;
    show(&g, &r);
    g.view.steps_mode = STEPS_COLUMNS;
    look_at_ns(&g.view, 0, 12e6);
    assert_true(stage_settle(&g) > 0);
    const scene_row *row = NULL;
    for (size_t i = 0; i < g.scene->tree.n_rows && !row; i++) {
        row = g.scene->tree.rows[i].kind == ROW_RANK ? &g.scene->tree.rows[i] : NULL;
    }
    double y = (double)g.frame.plot.y + row->y + row->h / 2 - g.scene->scroll;
    uint64_t rows[2];
    for (int k = 0; k < 2; k++) {
        double w = (double)g.frame.column_w - 12;
        g.in.cursor_x = (double)g.frame.plot.x + k * (double)g.frame.column_w + w * 0.02;
        g.in.cursor_y = y;
        assert_true(stage_settle(&g) > 0);
        scene_pick p = scene_pick_at(g.scene, g.in.cursor_x, y);
        assert_int_equal(p.kind, PICK_EVENT);
        rows[k] = p.event_row;
        store_event_info e;
        assert_int_equal(store_read_event(g.file, p.event_row, &e, &g.diag), MAREY_OK);
        assert_int_equal(e.start_ns / 12000000, k); /* steps are 12 ms apart */
    }
    assert_true(rows[0] != rows[1]);
    stage_close(&g);
    small_free(&r);
}

static void one_plot_comes_back(void **state)
{
    (void)state;
    small_run r;
    stage g;
    strbuf before = {0};
    strbuf after = {0};
    show(&g, &r);
    assert_true(stage_settle(&g) > 0);
    draw_list_dump(&g.list, &before);
    view run = g.view;
    g.view.steps_mode = STEPS_COLUMNS;
    look_at_ns(&g.view, 0, 12e6);
    assert_true(stage_settle(&g) > 0);
    g.view = run;
    assert_true(stage_settle(&g) > 0);
    draw_list_dump(&g.list, &after);
    assert_int_equal(g.frame.n_columns, 1);
    assert_string_equal(strbuf_str(&before), strbuf_str(&after));
    strbuf_deinit(&before);
    strbuf_deinit(&after);
    stage_close(&g);
    small_free(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_are_joined_over_ranks),
        cmocka_unit_test(columns_are_aligned),
        cmocka_unit_test(picks_and_tips_know_their_column),
        cmocka_unit_test(one_plot_comes_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
