/*
 * Contract: the whole window with the graph of a small transformer looks as the expected pictures do, in both themes:
 * an operator of a stack chosen, its numbers and its members in the inspector, and the search field with its hits.
 */
#include "cm.h"

#include "app/graph_actions.h"
#include "app/panels.h"
#include "golden/golden.h"
#include "help/graph_small.h"

typedef struct graph_window {
    small_run r;
    graph model;
    session *s;
} graph_window;

static void build(graph_window *w)
{
    assert_int_equal(session_build_complete(w->s, NULL), MAREY_OK);
    assert_null(draw_list_check(&w->s->list));
}

static void open_window(golden *gold, graph_window *w)
{
    diag d;
    diag_init(&d);
    graph_small_make(&w->model, SMALL_BLOCKS);
    graph_small_run(&w->r, &w->model, 2);
    assert_int_equal(small_write(&w->r, &d), MAREY_OK);
    session_options so = {.look = SESSION_LOOK_DEFAULT, .reduced_motion = true};
    so.look.panels = PANELS_ON;
    assert_int_equal(session_open(&w->s, w->r.path, &so, &d), MAREY_OK);
    scene_give_graph(w->s->scene, &w->model);
    w->s->view.layout = LAYOUT_GRAPH;
    w->s->input.width_px = 1600;
    w->s->input.height_px = 900;
    (void)gold;
    build(w);
    diag_deinit(&d);
}

static void choose(graph_window *w, const char *path)
{
    scene_graph g;
    assert_true(scene_graph_get(w->s->scene, &g));
    for (uint32_t i = 0; i < g.g->n_nodes; i++) {
        if (strcmp(graph_string(g.g, g.g->node_name[i]), path) == 0) {
            graph_show_element(w->s, g.plan->element_of[i]);
        }
    }
    build(w);
}

static void show(golden *gold, graph_window *w, const char *name, theme_id id)
{
    w->s->view.theme = id;
    build(w);
    text_ctx *own = gold->text;
    gold->text = w->s->text; /* the glyphs of the list are the session's */
    golden_check(gold, name, &w->s->list);
    gold->text = own;
}

static void chosen_operator(void **state)
{
    golden *gold = *state;
    golden_need_fonts(gold);
    graph_window w;
    open_window(gold, &w);
    choose(&w, "backbone/blocks.5/attention/dense");
    show(gold, &w, "window-graph-dark", THEME_DARK);
    panels_search(session_panels(w.s));
    build(&w);
    for (const char *text = "softmax"; *text; text++) {
        ui_event e = {.kind = UI_EVENT_SIGN, .code = (uint32_t)*text};
        assert_true(panels_event(w.s->panels, &e));
    }
    build(&w);
    show(gold, &w, "window-graph-search-light", THEME_LIGHT);
    session_close(&w.s);
    small_free(&w.r);
    graph_deinit(&w.model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(chosen_operator)};
    return cmocka_run_group_tests(tests, golden_set_up, golden_tear_down);
}
