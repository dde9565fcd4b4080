/*
 * Contract: the communication layout of a small run looks as the expected pictures do, in both themes: all links with
 * box plots and an outlier under the pointer; one communicator alone, at a doubled scale.
 */
#include "cm.h"

#include "golden/golden.h"
#include "help/comm_run.h"
#include "scene/comm_view.h"

static void show(golden *gold, stage *g, comm_run *c, int width, int height)
{
    comm_run_two_stages(c);
    assert_int_equal(comm_stage_open(g, c, width, height), MAREY_OK);
    scene_destroy(&g->scene);
    text_destroy(&g->text); /* the pictures' own fonts and atlas serve */
    assert_int_equal(scene_create(&g->scene, g->file, g->cache, gold->text, &g->diag), MAREY_OK);
}

static void check(golden *gold, stage *g, comm_run *c, const char *name)
{
    assert_true(stage_settle(g) > 0);
    assert_true(stage_settle(g) > 0); /* what is hovered is known from the frame before */
    golden_check(gold, name, &g->list);
    stage_close(g);
    comm_run_free(c);
}

static void all_links(void **state)
{
    golden *gold = *state;
    golden_need_fonts(gold);
    stage g;
    comm_run c;
    show(gold, &g, &c, 1440, 860);
    assert_true(stage_settle(&g) > 0);
    const comm_view *k = g.scene->comm_layout;
    for (size_t i = 0; i < k->n_areas; i++) {
        if (k->areas[i].hit.kind == HIT_OUTLIER) {
            g.in.cursor_x = (double)k->areas[i].r.x + 3;
            g.in.cursor_y = (double)k->areas[i].r.y + 3;
        }
    }
    check(gold, &g, &c, "scene-communication-dark");
}

static void one_communicator(void **state)
{
    golden *gold = *state;
    golden_need_fonts(gold);
    stage g;
    comm_run c;
    show(gold, &g, &c, 1800, 1080);
    g.view.theme = THEME_LIGHT;
    g.in.scale = 1.5;
    assert_true(stage_settle(&g) > 0);
    const comm_model *m = g.scene->comm_layout->model;
    for (uint32_t i = 0; i < m->n_groups; i++) {
        g.view.comm.group = m->groups[i].id == 0 ? i + 1 : g.view.comm.group;
    }
    g.view.comm.only_group = true;
    g.view.comm.sort = SORT_WAIT;
    g.view.comm.descending = true;
    g.view.comm.pane = PANE_MATRIX;
    g.view.comm.from = 1;
    g.view.comm.to = 2;
    check(gold, &g, &c, "scene-communication-light");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_links), cmocka_unit_test(one_communicator)};
    return cmocka_run_group_tests(tests, golden_set_up, golden_tear_down);
}
