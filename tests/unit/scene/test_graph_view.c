/*
 * Contract of the graph layout in the scene:
 *  - the first frame waits for nothing; the picture is complete once plan and layout are there, and accounts for every
 *    edge in the status line;
 *  - opening and closing the same module twice gives the same draw list again; undo goes back, redo forth;
 *  - what is opened keeps its place on screen, and the passage to the new picture ends after 150 ms;
 *  - a stack steps through its members and dissolves; the chosen operator is followed into the next member;
 *  - choosing what is hidden opens it; a click on a box chooses it, a double click opens it;
 *  - whatever the size of the graph and the zoom, a frame holds a bounded number of primitives;
 *  - events and operators lead to each other, and the measured times are the run's;
 *  - keys follow edges; the operators between two others are those on the ways;
 *  - no line runs through the size of a tensor.
 */
#include "cm.h"

#include "help/graph_small.h"
#include "scene/graph_view.h"

typedef struct scenery {
    stage g;
    small_run r;
    graph model;
} scenery;

static void set(scenery *k, int blocks)
{
    graph_small_make(&k->model, blocks);
    graph_small_run(&k->r, &k->model, 2);
    assert_int_equal(stage_open(&k->g, &k->r, 1440, 860), MAREY_OK);
    scene_give_graph(k->g.scene, &k->model);
    k->g.view.layout = LAYOUT_GRAPH;
}

static void take_down(scenery *k)
{
    stage_close(&k->g);
    small_free(&k->r);
    graph_deinit(&k->model);
}

static void settle(scenery *k)
{
    assert_true(graph_stage_settle(&k->g) > 0);
    assert_null(draw_list_check(&k->g.list));
}

static graph_view *view_of(scenery *k)
{
    return k->g.scene->graph;
}

static uint32_t named(scenery *k, const char *name)
{
    uint32_t e = graph_find_named(view_of(k)->now->of->plan, name);
    assert_int_not_equal(e, GRAPH_NONE);
    return e;
}

static uint32_t item_of(scenery *k, uint32_t element)
{
    return view_of(k)->now->v->item_of[element];
}

static char *dump(scenery *k)
{
    strbuf b = {0};
    draw_list_dump(&k->g.list, &b);
    return b.s;
}

static bool shows(scenery *k, const char *text)
{
    return k->g.list.text.s && memmem(k->g.list.text.s, k->g.list.text.n, text, strlen(text)) != NULL;
}

/* ------------------------------------------------------------------ */

static void short_words(void **state)
{
    (void)state;
    char out[64];
    graph_short_text("Reshape", out, sizeof out, 7);
    assert_string_equal(out, "Reshape");
    graph_short_text("Reshape", out, sizeof out, 4);
    assert_string_equal(out, "Resh\xE2\x80\xA6");
    graph_short_text("a\xC3\xA4z", out, sizeof out, 2); /* not inside a character */
    assert_string_equal(out, "a\xE2\x80\xA6");
    graph_short_path("Default/network/backbone", out, sizeof out, 24);
    assert_string_equal(out, "Default/network/backbone");
    graph_short_path("Default/network/backbone", out, sizeof out, 12);
    assert_string_equal(out, "\xE2\x80\xA6/backbone");
    graph_short_path("Default_network_\xC3\xA4ockhome", out, sizeof out, 8);
    assert_string_equal(out, "\xE2\x80\xA6ockhome");
}

/* Words of sizes in the last frame; no line runs through one. */
static size_t free_sizes(const draw_list *l)
{
    size_t n = 0;
    for (size_t i = 0; i < l->n_runs; i++) {
        const draw_run *r = &l->runs[i];
        if (!strstr(l->text.s + r->text, " MiB") || r->layer != LAYER_DATA) {
            continue;
        }
        n++;
        for (size_t j = 0; j < l->n_lines; j++) {
            const draw_line *k = &l->lines[j];
            bool beside = fmaxf(k->x0, k->x1) < r->x || fminf(k->x0, k->x1) > r->x + r->width ||
                          fmaxf(k->y0, k->y1) < r->y - 0.6F * r->size || fminf(k->y0, k->y1) > r->y;
            assert_true(beside);
        }
    }
    return n;
}

/* A chain that the lines of wide tensors span, one inside another: parallel lines at the distance of tracks. */
static void set_skips(scenery *k)
{
    enum { LENGTH = 14 };
    diag d;
    diag_init(&d);
    graph_builder *b = graph_builder_create(&d, 0);
    graph_made m = {b, 0, ""};
    uint32_t ids[LENGTH];
    for (int i = 0; i < LENGTH; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "conv%d", i);
        ids[i] = made_node(&m, name, "Conv", SMALL_TYPE, SMALL_BYTES);
        if (i > 0) {
            made_edge(&m, ids[i - 1], ids[i], 0);
        }
        if (i >= LENGTH / 2 + 1) {
            made_edge(&m, ids[LENGTH - 1 - i], ids[i], 1);
        }
    }
    graph_finish_options o = {0};
    assert_int_equal(graph_builder_finish(b, &o, &k->model), MAREY_OK);
    graph_builder_destroy(&b);
    diag_deinit(&d);
    graph_small_run(&k->r, &k->model, 2);
    assert_int_equal(stage_open(&k->g, &k->r, 1440, 860), MAREY_OK);
    scene_give_graph(k->g.scene, &k->model);
    k->g.view.layout = LAYOUT_GRAPH;
}

static size_t sizes_of_zooms(scenery *k)
{
    size_t n = 0;
    settle(k);
    graph_camera at = k->g.frame.graph;
    for (int way = 0; way < 8; way++) {
        k->g.view.graph.steps_off = (way & 1 ? 1U << STEP_PRUNE : 0) | (way & 2 ? 1U << STEP_STACK : 0);
        k->g.view.graph.down = way >= 4;
        for (at.zoom = 0.65; at.zoom < 4; at.zoom *= 1.2) {
            k->g.view.graph.at = at;
            settle(k);
            n += free_sizes(&k->g.list);
        }
    }
    return n;
}

static void sizes_stand_free(void **state)
{
    (void)state;
    scenery k;
    set(&k, SMALL_BLOCKS);
    assert_true(sizes_of_zooms(&k) > 6);
    take_down(&k);
    memset(&k, 0, sizeof k);
    set_skips(&k);
    assert_true(sizes_of_zooms(&k) > 6);
    take_down(&k);
}

static void first_picture(void **state)
{
    (void)state;
    scenery k;
    set(&k, SMALL_BLOCKS);
    assert_int_equal(stage_frame(&k.g), MAREY_OK);
    assert_false(k.g.frame.complete); /* the worker has just been told */
    settle(&k);
    const visible *v = view_of(&k)->now->v;
    assert_int_equal(v->n_drawn + v->n_bundled + v->n_stubbed + v->n_folded, k.model.n_edges - k.model.n_implied_edges);
    char account[128];
    (void)snprintf(account, sizeof account, "%zu edges = %zu drawn + %zu bundled + %zu stubbed + %zu folded",
                   v->n_drawn + v->n_bundled + v->n_stubbed + v->n_folded, v->n_drawn, v->n_bundled, v->n_stubbed,
                   v->n_folded);
    assert_true(shows(&k, account));
    assert_true(shows(&k, "\xC3\x97"
                          "8"));
    assert_true(k.g.frame.graph.zoom > 0);
    take_down(&k);
}

static void toggled_twice(void **state)
{
    (void)state;
    scenery k;
    set(&k, SMALL_BLOCKS);
    settle(&k);
    char *before = dump(&k);
    uint32_t mlp = named(&k, "backbone/embedding");
    scene_graph_select(k.g.scene, mlp, false);
    settle(&k);
    char *chosen = dump(&k);
    bool was_open = view_of(&k)->now->v->items[item_of(&k, mlp)].n_children > 0;
    assert_true(scene_graph_do(k.g.scene, &k.g.view, GRAPH_DO_TOGGLE));
    settle(&k);
    bool is_open = view_of(&k)->now->v->items[item_of(&k, mlp)].n_children > 0;
    assert_int_not_equal(was_open, is_open);
    char *other = dump(&k);
    assert_string_not_equal(chosen, other);
    assert_true(scene_graph_do(k.g.scene, &k.g.view, GRAPH_DO_TOGGLE));
    settle(&k);
    char *again = dump(&k);
    assert_string_equal(chosen, again);
    free(again);
    assert_true(scene_graph_do(k.g.scene, &k.g.view, GRAPH_DO_UNDO));
    settle(&k);
    again = dump(&k);
    assert_string_equal(other, again);
    free(again);
    assert_true(scene_graph_do(k.g.scene, &k.g.view, GRAPH_DO_REDO));
    settle(&k);
    again = dump(&k);
    assert_string_equal(chosen, again);
    free(again);
    free(before);
    free(chosen);
    free(other);
    take_down(&k);
}

static void anchored_passage(void **state)
{
    (void)state;
    scenery k;
    set(&k, SMALL_BLOCKS);
    settle(&k);
    uint32_t e = named(&k, "backbone/embedding");
    scene_graph_select(k.g.scene, e, false);
    k.g.view.graph.at = (graph_camera){200, 200, 1};
    settle(&k);
    float alpha;
    rect before = graph_item_rect(k.g.scene, view_of(&k), item_of(&k, e), &alpha);
    assert_true(scene_graph_do(k.g.scene, &k.g.view, GRAPH_DO_TOGGLE));
    k.g.in.now_ns = 1000000000;
    assert_int_equal(stage_frame(&k.g), MAREY_OK);
    (void)scene_settle(k.g.scene);
    assert_int_equal(stage_frame(&k.g), MAREY_OK); /* the passage begins */
    assert_true(k.g.frame.is_fading);
    k.g.view.graph.at = k.g.frame.graph;
    rect at_start = graph_item_rect(k.g.scene, view_of(&k), item_of(&k, e), &alpha);
    assert_true(fabsf(at_start.w - before.w) < 1);
    k.g.in.now_ns += 75000000;
    assert_int_equal(stage_frame(&k.g), MAREY_OK);
    assert_true(k.g.frame.is_fading);
    rect between = graph_item_rect(k.g.scene, view_of(&k), item_of(&k, e), &alpha);
    k.g.in.now_ns += 76000000;
    assert_int_equal(stage_frame(&k.g), MAREY_OK);
    assert_false(k.g.frame.is_fading);
    rect after = graph_item_rect(k.g.scene, view_of(&k), item_of(&k, e), &alpha);
    assert_true(fabsf(after.x - before.x) < 0.5F && fabsf(after.y - before.y) < 0.5F);
    assert_true((between.w - before.w) * (after.w - between.w) > 0);
    take_down(&k);
}

static void members(void **state)
{
    (void)state;
    scenery k;
    set(&k, SMALL_BLOCKS);
    settle(&k);
    uint32_t first = named(&k, "blocks.0/attention/dense");
    scene_graph_select(k.g.scene, first, false);
    settle(&k);
    assert_true(scene_graph_do(k.g.scene, &k.g.view, GRAPH_DO_MEMBER_PREVIOUS)); /* round to the last */
    settle(&k);
    assert_int_equal(view_of(&k)->selected, named(&k, "blocks.7/attention/dense"));
    assert_int_not_equal(item_of(&k, view_of(&k)->selected), GRAPH_NONE);
    assert_true(shows(&k, "exemplar 7 of 8, all verified"));
    assert_true(scene_graph_do(k.g.scene, &k.g.view, GRAPH_DO_MEMBER_NEXT));
    settle(&k);
    assert_int_equal(view_of(&k)->selected, first);
    size_t shown = view_of(&k)->now->v->n_shown;
    assert_true(scene_graph_do(k.g.scene, &k.g.view, GRAPH_DO_DISSOLVE));
    settle(&k);
    assert_true(view_of(&k)->now->v->n_shown > shown || item_of(&k, named(&k, "blocks.3")) != GRAPH_NONE);
    assert_true(scene_graph_do(k.g.scene, &k.g.view, GRAPH_DO_DISSOLVE));
    settle(&k);
    assert_int_equal(item_of(&k, named(&k, "blocks.3/norm1")), GRAPH_NONE);
    take_down(&k);
}

static void hidden_is_opened(void **state)
{
    (void)state;
    scenery k;
    set(&k, SMALL_BLOCKS);
    settle(&k);
    assert_true(scene_graph_do(k.g.scene, &k.g.view, GRAPH_DO_CLOSE_ALL));
    settle(&k);
    uint32_t e = named(&k, "blocks.6/mlp/gelu");
    assert_int_equal(item_of(&k, e), GRAPH_NONE);
    scene_graph_select(k.g.scene, e, true);
    settle(&k);
    assert_int_not_equal(item_of(&k, e), GRAPH_NONE);
    graph_camera to;
    assert_true(scene_graph_wants_go(k.g.scene, &to));
    const layout_box *b = &view_of(&k)->now->l->boxes[item_of(&k, e)];
    assert_true(fabs(to.x - (b->x + (double)b->w / 2)) < 1);
    assert_false(scene_graph_wants_go(k.g.scene, &to)); /* once */
    /* a member of a stack has the stack's frame */
    scene_graph_select(k.g.scene, named(&k, "blocks.2"), true);
    settle(&k);
    const plan_element *chosen = &view_of(&k)->now->of->plan->elements[view_of(&k)->selected];
    assert_int_equal(chosen->kind, ELEMENT_STACK);
    assert_int_equal(view_of(&k)->now->state.member[chosen->family], 2);
    assert_true(scene_graph_wants_go(k.g.scene, &to));
    take_down(&k);
}

static void clicks(void **state)
{
    (void)state;
    scenery k;
    set(&k, SMALL_BLOCKS);
    settle(&k);
    float alpha;
    uint32_t e = named(&k, "head");
    rect r = graph_item_rect(k.g.scene, view_of(&k), item_of(&k, e), &alpha);
    bool open = view_of(&k)->now->v->items[item_of(&k, e)].n_children > 0;
    scene_pick p = scene_pick_at(k.g.scene, (double)(r.x + 3), (double)(r.y + r.h - 3));
    assert_int_equal(p.kind, PICK_GRAPH);
    assert_int_equal(p.graph.element, e);
    scene_graph_click(k.g.scene, &k.g.view, &p.graph, false, false);
    assert_int_equal(view_of(&k)->selected, e);
    scene_graph_click(k.g.scene, &k.g.view, &p.graph, false, true);
    settle(&k);
    assert_int_not_equal(view_of(&k)->now->v->items[item_of(&k, e)].n_children > 0, open);
    /* all ways between two */
    scene_graph_select(k.g.scene, named(&k, "embedding/gather"), false);
    settle(&k);
    graph_hit other = {GRAPH_HIT_ITEM, named(&k, "head/logits"), 0};
    scene_graph_click(k.g.scene, &k.g.view, &other, true, false);
    settle(&k);
    assert_true(view_of(&k)->now->n_on_path > (size_t)10 * SMALL_BLOCKS);
    assert_true(view_of(&k)->now->on_path[item_of(&k, named(&k, "backbone"))]);
    assert_false(view_of(&k)->now->on_path[item_of(&k, named(&k, "loss"))]);
    take_down(&k);
}

static void bounded(void **state)
{
    (void)state;
    scenery k;
    set(&k, 300);
    graph_first f = {0, 1, GRAPH_OPEN_ALL, NULL};
    k.g.view.graph.steps_off = 1U << STEP_STACK;
    scene_graph_show_first(k.g.scene, &f);
    settle(&k);
    assert_true(view_of(&k)->now->v->n_shown > 5000);
    graph_camera all;
    assert_true(scene_graph_fit(k.g.scene, GRAPH_NONE, &all));
    const layout_box *b = &view_of(&k)->now->l->boxes[item_of(&k, named(&k, "blocks.150/mlp/up"))];
    for (int i = 0; i <= 24; i++) {
        double way = i / 24.0;
        k.g.view.graph.at.zoom = all.zoom * pow(2 / all.zoom, way);
        k.g.view.graph.at.x = all.x + (b->x - all.x) * way;
        k.g.view.graph.at.y = all.y + (b->y - all.y) * way;
        settle(&k);
        assert_true(view_of(&k)->n_seen <= GRAPH_MAX_SEEN);
        assert_true(view_of(&k)->n_seen > 0);
        size_t shapes = k.g.list.n_quads + k.g.list.n_lines + k.g.list.n_tris;
        assert_true(shapes < 40000);
    }
    take_down(&k);
}

static void linked(void **state)
{
    (void)state;
    scenery k;
    set(&k, SMALL_BLOCKS);
    settle(&k);
    const graph_join *j = graph_work_join(view_of(&k)->work);
    assert_non_null(j);
    assert_int_equal(j->n_joined_nodes, k.model.n_nodes);
    assert_int_equal(j->n_joined_events, k.r.n);
    assert_int_equal(j->step, 111);
    for (uint32_t i = 0; i < k.model.n_nodes; i++) {
        int64_t sum = (graph_small_us(&k.model, i, 0) + graph_small_us(&k.model, i, 1)) * 1000;
        assert_int_equal(j->times[i].n, 2);
        assert_int_equal(j->times[i].sum_ns, sum);
    }
    /* from the operator to its longest event, on the slow rank, and back */
    uint32_t e = named(&k, "blocks.5/mlp/up");
    scene_graph_select(k.g.scene, e, false);
    settle(&k);
    uint64_t row = scene_graph_row(k.g.scene);
    store_event_info info;
    assert_int_equal(store_read_event(k.g.file, row, &info, NULL), MAREY_OK);
    assert_string_equal(store_model(k.g.file)->names[info.name].text, "backbone/blocks.5/mlp/up");
    assert_int_equal(info.dur_ns, 400000);
    scene_graph_select(k.g.scene, GRAPH_NONE, false);
    k.g.view.selected_row = row;
    settle(&k);
    assert_int_equal(view_of(&k)->selected, e);
    assert_int_not_equal(item_of(&k, e), GRAPH_NONE);
    /* its events and those of its counterparts are where it ran */
    uint8_t *bits = mem_calloc(k.model.n_nodes / 8 + 1, 1);
    assert_int_equal(scene_graph_chosen_nodes(k.g.scene, bits), SMALL_BLOCKS);
    for (uint32_t i = 0; i < k.model.n_nodes; i++) {
        const char *name = graph_string(&k.model, k.model.node_name[i]);
        const char *tail = strlen(name) >= 7 ? name + strlen(name) - 7 : name;
        assert_int_equal(bits[i >> 3] >> (i & 7) & 1, strcmp(tail, "/mlp/up") == 0);
    }
    free(bits);
    /* min, mean, max over the members */
    const item_time *t = &view_of(&k)->now->times[item_of(&k, e)];
    assert_true(fabsf(t->min_ns - 200000) < 1 && fabsf(t->max_ns - 300000) < 1);
    assert_true(fabsf(t->mean_ns - (7 * 200000 + 300000) / 8.0F) < 1);
    /* in the Marey layout the other members' events are outlined on both ranks */
    k.g.view.layout = LAYOUT_MAREY;
    assert_true(stage_settle(&k.g) > 0);
    const theme *colours = theme_get(k.g.view.theme);
    size_t outlined = 0;
    for (size_t i = 0; i < k.g.list.n_quads; i++) {
        const draw_quad *q = &k.g.list.quads[i];
        outlined += q->layer == LAYER_MARKS && q->border_width > 0 &&
                    memcmp(&q->border, &colours->accent, sizeof q->border) == 0;
    }
    assert_int_equal(outlined, 2 * (SMALL_BLOCKS - 1));
    take_down(&k);
}

static void walked(void **state)
{
    (void)state;
    scenery k;
    set(&k, SMALL_BLOCKS);
    settle(&k);
    scene_graph_select(k.g.scene, named(&k, "blocks.0/attention/scores"), false);
    settle(&k);
    assert_true(scene_graph_do(k.g.scene, &k.g.view, GRAPH_DO_CONSUMER));
    assert_int_equal(view_of(&k)->selected, named(&k, "blocks.0/attention/softmax"));
    assert_true(scene_graph_do(k.g.scene, &k.g.view, GRAPH_DO_CONSUMER));
    assert_true(scene_graph_do(k.g.scene, &k.g.view, GRAPH_DO_CONSUMER));
    assert_int_equal(view_of(&k)->selected, named(&k, "blocks.0/attention/dense"));
    assert_true(scene_graph_do(k.g.scene, &k.g.view, GRAPH_DO_CONSUMER)); /* out of the module */
    assert_int_equal(view_of(&k)->selected, named(&k, "blocks.0/sum1"));
    assert_true(scene_graph_do(k.g.scene, &k.g.view, GRAPH_DO_PRODUCER)); /* and in again */
    assert_int_equal(view_of(&k)->selected, named(&k, "blocks.0/attention/dense"));
    uint32_t here = view_of(&k)->selected;
    assert_true(scene_graph_do(k.g.scene, &k.g.view, GRAPH_DO_SIBLING_NEXT));
    assert_true(scene_graph_do(k.g.scene, &k.g.view, GRAPH_DO_SIBLING_PREVIOUS));
    assert_int_equal(view_of(&k)->selected, here);
    take_down(&k);
}

/* Another plan: what was open and chosen is so again. */
static void other_plan(void **state)
{
    (void)state;
    scenery k;
    set(&k, SMALL_BLOCKS);
    settle(&k);
    scene_graph_select(k.g.scene, named(&k, "head/logits"), false);
    settle(&k);
    k.g.view.graph.steps_off = 1U << STEP_STACK;
    settle(&k);
    assert_int_equal(view_of(&k)->selected, named(&k, "head/logits"));
    assert_int_not_equal(item_of(&k, view_of(&k)->selected), GRAPH_NONE);
    assert_false(shows(&k, "\xC3\x97"
                           "8"));
    k.g.view.graph.steps_off = 0;
    settle(&k);
    assert_int_equal(view_of(&k)->selected, named(&k, "head/logits"));
    take_down(&k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(short_words),   cmocka_unit_test(sizes_stand_free), cmocka_unit_test(first_picture),
        cmocka_unit_test(toggled_twice), cmocka_unit_test(anchored_passage), cmocka_unit_test(members),
        cmocka_unit_test(clicks),        cmocka_unit_test(hidden_is_opened), cmocka_unit_test(bounded),
        cmocka_unit_test(linked),        cmocka_unit_test(walked),           cmocka_unit_test(other_plan),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
