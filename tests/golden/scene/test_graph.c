/*
 * Contract: the graph layout of a small transformer, joined to a run of it, looks as the expected pictures do: a stack
 * of verified blocks opened to its exemplar, an operator chosen and another under the pointer, in both themes; measured
 * time as heat from top to bottom; the whole from far, with the minimap beside a part of it.
 */
#include "cm.h"

#include "golden/golden.h"
#include "help/graph_small.h"
#include "scene/graph_view.h"

typedef struct scenery {
    stage g;
    small_run r;
    graph model;
} scenery;

static void set(golden *gold, scenery *k, int width, int height, int blocks)
{
    graph_small_make(&k->model, blocks);
    graph_small_run(&k->r, &k->model, 2);
    assert_int_equal(stage_open(&k->g, &k->r, width, height), MAREY_OK);
    scene_destroy(&k->g.scene);
    text_destroy(&k->g.text); /* the pictures' own fonts and atlas serve */
    assert_int_equal(scene_create(&k->g.scene, k->g.file, k->g.cache, gold->text, &k->g.diag), MAREY_OK);
    scene_give_graph(k->g.scene, &k->model);
}

static void check(golden *gold, scenery *k, const char *name)
{
    assert_true(graph_stage_settle(&k->g) > 0);
    assert_true(graph_stage_settle(&k->g) > 0); /* what is hovered is known from the frame before */
    golden_check(gold, name, &k->g.list);
    stage_close(&k->g);
    small_free(&k->r);
    graph_deinit(&k->model);
}

static uint32_t named(const scenery *k, const char *name)
{
    return graph_find_named(k->g.scene->graph->now->of->plan, name);
}

static void select_dense(scenery *k)
{
    assert_true(graph_stage_settle(&k->g) > 0);
    scene_graph_select(k->g.scene, named(k, "attention/dense"), false);
    assert_true(graph_stage_settle(&k->g) > 0);
}

static void exemplar_dark(void **state)
{
    golden *gold = *state;
    golden_need_fonts(gold);
    scenery k;
    set(gold, &k, 1440, 860, SMALL_BLOCKS);
    select_dense(&k);
    check(gold, &k, "scene-graph-dark");
}

static void exemplar_light(void **state)
{
    golden *gold = *state;
    golden_need_fonts(gold);
    scenery k;
    set(gold, &k, 1440, 860, SMALL_BLOCKS);
    k.g.view.theme = THEME_LIGHT;
    select_dense(&k);
    const graph_view *g = k.g.scene->graph;
    for (size_t i = 0; i < g->n_seen; i++) {
        const seen_item *s = &g->seen[i];
        if (strcmp(plan_label(g->now->of->plan, g->now->v->items[s->item].element), "softmax") == 0) {
            k.g.in.cursor_x = (double)(s->r.x + s->r.w / 2);
            k.g.in.cursor_y = (double)(s->r.y + s->r.h / 2);
        }
    }
    check(gold, &k, "scene-graph-light");
}

static void heat_downwards(void **state)
{
    golden *gold = *state;
    golden_need_fonts(gold);
    scenery k;
    set(gold, &k, 1000, 1080, SMALL_BLOCKS);
    k.g.view.graph.colour = COLOUR_TIME;
    k.g.view.graph.down = true;
    check(gold, &k, "scene-graph-heat-dark");
}

static void from_near(void **state)
{
    golden *gold = *state;
    golden_need_fonts(gold);
    scenery k;
    set(gold, &k, 1280, 720, SMALL_BLOCKS);
    k.g.view.theme = THEME_LIGHT;
    assert_true(graph_stage_settle(&k.g) > 0);
    assert_true(scene_graph_do(k.g.scene, &k.g.view, GRAPH_DO_OPEN_ALL));
    assert_true(graph_stage_settle(&k.g) > 0);
    assert_true(scene_graph_fit(k.g.scene, named(&k, "blocks.0/mlp"), &k.g.view.graph.at));
    check(gold, &k, "scene-graph-near-light");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(exemplar_dark), cmocka_unit_test(exemplar_light),
                                       cmocka_unit_test(heat_downwards), cmocka_unit_test(from_near)};
    return cmocka_run_group_tests(tests, golden_set_up, golden_tear_down);
}
