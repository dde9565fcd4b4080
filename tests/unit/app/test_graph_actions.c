/*
 * Contract of the graph layout in the app, played without a window on a small transformer and a run of it: its keys
 * come before the general ones, elsewhere they mean nothing; zooming about the pointer keeps what lies under it; a drag
 * moves the picture by as much as the pointer; a double click opens; the switches change what is shown and back;
 * choosing selects the operator's longest event, M shows it in the Marey layout, and an event selected there chooses
 * its operator. The search finds modules, names, types, shapes and attributes, each node once.
 */
#include "cm.h"

#include "app/graph_actions.h"
#include "app/graph_find.h"
#include "app/look.h"
#include "help/graph_small.h"
#include "help/ns.h"

typedef struct fixture {
    small_run r;
    graph model;
    session *s;
} fixture;

static void settle(session *s)
{
    diag d;
    diag_init(&d);
    assert_int_equal(session_build_complete(s, &d), MAREY_OK);
    assert_true(s->frame.complete);
    diag_deinit(&d);
}

static int set_up(void **state)
{
    fixture *f = calloc(1, sizeof *f);
    diag d;
    diag_init(&d);
    graph_small_make(&f->model, SMALL_BLOCKS);
    graph_small_run(&f->r, &f->model, 2);
    assert_int_equal(small_write(&f->r, &d), MAREY_OK);
    session_options so = {.look = SESSION_LOOK_DEFAULT};
    assert_int_equal(session_open(&f->s, f->r.path, &so, &d), MAREY_OK);
    scene_give_graph(f->s->scene, &f->model);
    f->s->input.width_px = 1400;
    f->s->input.height_px = 800;
    f->s->view.layout = LAYOUT_GRAPH;
    settle(f->s);
    diag_deinit(&d);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    fixture *f = *state;
    session_close(&f->s);
    small_free(&f->r);
    graph_deinit(&f->model);
    free(f);
    return 0;
}

/* As the window does. */
static void press(session *s, const char *key)
{
    const action *own = graph_action_by_key(s, key);
    const action *a = own ? own : action_by_key(key);
    assert_non_null(a);
    a->run(s, 0);
    settle(s);
}

static scene_graph seen(const session *s)
{
    scene_graph g;
    assert_true(scene_graph_get(s->scene, &g));
    return g;
}

static uint32_t labelled(const session *s, const char *label)
{
    scene_graph g = seen(s);
    for (size_t i = 1; i < g.v->n_items; i++) {
        if (strcmp(plan_label(g.plan, g.v->items[i].element), label) == 0) {
            return g.v->items[i].element;
        }
    }
    return GRAPH_NONE;
}

/* Where the middle of an element lies, device px. */
static void place_of(const session *s, uint32_t element, double *x, double *y)
{
    scene_graph g = seen(s);
    const layout_box *b = &g.layout->boxes[g.v->item_of[element]];
    graph_camera at = s->frame.graph;
    *x = (double)(s->frame.plot.x + s->frame.plot.w / 2) + (b->x + (double)b->w / 2 - at.x) * at.zoom;
    *y = (double)(s->frame.plot.y + s->frame.plot.h / 2) + (b->y + (double)b->h / 2 - at.y) * at.zoom;
}

static void keys_are_its_own(void **state)
{
    session *s = ((fixture *)*state)->s;
    assert_string_equal(graph_action_by_key(s, "K")->name, "graph-dissolve");
    assert_string_equal(graph_action_by_key(s, "D")->name, "graph-pan-right"); /* W A S D as everywhere */
    s->view.layout = LAYOUT_MAREY;
    assert_null(graph_action_by_key(s, "D"));
    settle(s);
    press(s, "G");
    assert_int_equal(s->view.layout, LAYOUT_GRAPH);
    for (size_t i = 0; i < N_GRAPH_ACTIONS; i++) { /* no key twice */
        for (size_t k = i + 1; k < N_GRAPH_ACTIONS; k++) {
            char first[32];
            (void)snprintf(first, sizeof first, "%s", GRAPH_ACTIONS[k].keys);
            first[strcspn(first, ",")] = '\0';
            assert_false(action_has_key(&GRAPH_ACTIONS[i], first));
        }
    }
}

static void camera(void **state)
{
    session *s = ((fixture *)*state)->s;
    uint32_t e = labelled(s, "loss");
    double x = 0;
    double y = 0;
    place_of(s, e, &x, &y);
    s->input.cursor_x = x;
    s->input.cursor_y = y;
    graph_wheel(s, 0, 3, false, 0);
    settle(s);
    double x1 = 0;
    double y1 = 0;
    place_of(s, e, &x1, &y1);
    assert_true(fabs(x1 - x) < 0.01 && fabs(y1 - y) < 0.01);
    pointer p = {0};
    pointer_press(&p, s, false);
    pointer_move(&p, s, x - 120, y + 40);
    settle(s);
    pointer_release(&p, s, 1000000000);
    place_of(s, e, &x1, &y1);
    assert_true(fabs(x1 - (x - 120)) < 0.01 && fabs(y1 - (y + 40)) < 0.01);
    press(s, "Z");
    place_of(s, e, &x1, &y1);
    assert_true(fabs(x1 - x) < 0.01 && fabs(y1 - y) < 0.01);
}

static void double_click(void **state)
{
    session *s = ((fixture *)*state)->s;
    uint32_t e = labelled(s, "embedding");
    size_t before = seen(s).v->items[seen(s).v->item_of[e]].n_children;
    double x = 0;
    double y = 0;
    place_of(s, e, &x, &y);
    scene_graph g = seen(s);
    const layout_box *b = &g.layout->boxes[g.v->item_of[e]];
    s->input.cursor_x = x - (double)b->w / 2 * s->frame.graph.zoom + 3;
    s->input.cursor_y = y + (double)b->h / 2 * s->frame.graph.zoom - 3;
    pointer p = {0};
    for (int i = 0; i < 2; i++) {
        pointer_press(&p, s, false);
        pointer_release(&p, s, 1000000000 + i * 100000000);
        settle(s);
    }
    assert_int_equal(seen(s).selected, e);
    size_t after = seen(s).v->items[seen(s).v->item_of[e]].n_children;
    assert_true((before > 0) != (after > 0));
    press(s, "U");
    assert_int_equal(seen(s).v->items[seen(s).v->item_of[e]].n_children, before);
}

static void switches(void **state)
{
    session *s = ((fixture *)*state)->s;
    size_t shown = seen(s).v->n_shown;
    press(s, "6");
    assert_true(seen(s).v->n_shown != shown);
    assert_false(seen(s).plan->steps[STEP_STACK].on);
    press(s, "6");
    assert_int_equal(seen(s).v->n_shown, shown);
    press(s, "X");
    assert_true(seen(s).layout->height > seen(s).layout->width);
    press(s, "X");
    assert_true(seen(s).layout->height < seen(s).layout->width);
    uint32_t mask = 0;
    assert_null(look_steps_off(&mask, "stack,prune"));
    assert_int_equal(mask, 1U << STEP_STACK | 1U << STEP_PRUNE);
    assert_non_null(look_steps_off(&mask, "stack,prone"));
}

static void linked_both_ways(void **state)
{
    fixture *f = *state;
    session *s = f->s;
    uint32_t e = labelled(s, "logits");
    assert_int_not_equal(e, GRAPH_NONE);
    graph_show_element(s, e);
    settle(s);
    store_event_info info;
    assert_int_equal(store_read_event(s->file, s->view.selected_row, &info, NULL), MAREY_OK);
    assert_string_equal(store_model(s->file)->names[info.name].text, "head/logits");
    press(s, "M");
    assert_int_equal(s->view.layout, LAYOUT_MAREY);
    assert_true((double)info.start_ns >= ns_of(s->view.t0) &&
                (double)(info.start_ns + info.dur_ns) <= ns_of(s->view.t1));
    /* another event there, then back */
    uint64_t row = UINT64_MAX;
    for (uint64_t i = 0; i < f->r.n && row == UINT64_MAX; i++) {
        assert_int_equal(store_read_event(s->file, i, &info, NULL), MAREY_OK);
        const char *name = store_model(s->file)->names[info.name].text;
        row = strcmp(name, "backbone/blocks.3/mlp/gelu") == 0 ? i : row;
    }
    s->view.selected_row = row;
    press(s, "G");
    scene_graph g = seen(s);
    assert_string_equal(plan_label(g.plan, g.selected), "gelu");
    assert_string_equal(graph_string(g.g, g.g->node_name[g.plan->elements[g.selected].node]),
                        "backbone/blocks.3/mlp/gelu");
    assert_int_not_equal(g.v->item_of[g.selected], GRAPH_NONE);
}

static size_t count_found(const graph *g, const char *text, graph_found_by by, size_t *all)
{
    graph_found found = {0};
    graph_find(g, text, NULL, &found);
    size_t n = 0;
    for (size_t i = 0; i < found.n; i++) {
        n += found.items[i].by == by;
        assert_true(i == 0 || found.items[i].by >= found.items[i - 1].by);
    }
    *all = found.n;
    graph_found_free(&found);
    return n;
}

static void search(void **state)
{
    const graph *g = &((fixture *)*state)->model;
    size_t all = 0;
    assert_int_equal(count_found(g, "ATTENTION", FOUND_SCOPE, &all), SMALL_BLOCKS);
    assert_int_equal(all, SMALL_BLOCKS * 8); /* the modules, and the seven operators whose paths name them */
    assert_int_equal(count_found(g, "AllReduce", FOUND_OPERATOR, &all), 2 * SMALL_BLOCKS);
    assert_int_equal(all, 2 * SMALL_BLOCKS);
    assert_int_equal(count_found(g, "20480", FOUND_SHAPE, &all), 2 * SMALL_BLOCKS);
    assert_int_equal(count_found(g, "transpose_b", FOUND_ATTRIBUTE, &all), 3 * SMALL_BLOCKS);
    assert_int_equal(count_found(g, "", FOUND_NAME, &all), 0);
    assert_int_equal(count_found(g, "nothing of it", FOUND_NAME, &all), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(keys_are_its_own, set_up, tear_down),
        cmocka_unit_test_setup_teardown(camera, set_up, tear_down),
        cmocka_unit_test_setup_teardown(double_click, set_up, tear_down),
        cmocka_unit_test_setup_teardown(switches, set_up, tear_down),
        cmocka_unit_test_setup_teardown(linked_both_ways, set_up, tear_down),
        cmocka_unit_test_setup_teardown(search, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
