/*
 * Contract of the link between the graph and the other layouts, on a simulated run with its graph (synth/graph.h):
 *
 *  - what is to be chosen first in the graph is chosen in any layout: its longest event becomes the selection, and its
 *    events are outlined, until nothing is selected any more; a name that the graph does not have is an error;
 *  - an event selected in the Marey layout chooses its operator, whether the graph was shown before or not, and the
 *    graph shows it then; its other occurrences are outlined;
 *  - an operator chosen in the graph selects one of its own events; without a selection no work on the graph begins.
 */
#include "cm.h"

#include <unistd.h>

#include "app/graph_actions.h"
#include "app/panels.h"
#include "app/select.h"
#include "draw/colour.h"
#include "help/ns.h"
#include "scene/graph_scene.h"
#include "synth/synth.h"

typedef struct fixture {
    char path[128];
} fixture;

static int set_up(void **state)
{
    fixture *f = calloc(1, sizeof *f);
    synth_params p;
    diag d;
    diag_init(&d);
    (void)snprintf(f->path, sizeof f->path, "/tmp/marey-test-link-%d.h5", (int)getpid());
    assert_true(synth_preset("pangu-13b", &p));
    p.graph = true;
    p.ranks = 8;
    p.pp = p.tp = p.dp = 2;
    p.layers = 4;
    p.micro_batches = 3;
    p.steps = 1;
    assert_int_equal(synth_check(&p, &d), MAREY_OK);
    convert_options options = {.out = f->path, .force = true, .jobs = 1};
    assert_int_equal(synth_write_h5(&p, &options, NULL, &d), MAREY_OK);
    diag_deinit(&d);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    fixture *f = *state;
    char truth[160];
    (void)snprintf(truth, sizeof truth, "%s.truth.json", f->path);
    (void)unlink(f->path);
    (void)unlink(truth);
    free(f);
    return 0;
}

static session *open_run(const fixture *f, const char *select)
{
    diag d;
    session *s = NULL;
    diag_init(&d);
    session_options so = {.look = SESSION_LOOK_DEFAULT, .reduced_motion = true};
    so.look.graph.first.select = select;
    so.look.panels = PANELS_ON;
    assert_int_equal(session_open(&s, f->path, &so, &d), MAREY_OK);
    s->view.layout = LAYOUT_MAREY;
    s->input.width_px = 1600;
    s->input.height_px = 900;
    diag_deinit(&d);
    return s;
}

/* Outlines in the accent colour over the rows. */
static size_t outlines(const session *s)
{
    const theme *t = theme_get(s->view.theme);
    size_t n = 0;
    for (size_t i = 0; i < s->list.n_quads; i++) {
        const draw_quad *q = &s->list.quads[i];
        n += q->layer == LAYER_MARKS && q->border_width > 0 && memcmp(&q->border, &t->accent, sizeof t->accent) == 0;
    }
    return n;
}

static uint32_t node_of_row(const session *s, uint64_t row)
{
    scene_graph g;
    store_event_info e;
    assert_true(scene_graph_get(s->scene, &g));
    assert_non_null(g.join);
    assert_int_equal(store_read_event(s->file, row, &e, NULL), MAREY_OK);
    return graph_join_node(g.join, row, e.name);
}

static void chosen_first(void **state)
{
    session *s = open_run(*state, "ParallelTransformerLayer_2/mlp");
    assert_int_equal(session_build_complete(s, NULL), MAREY_OK);
    assert_true(s->view.selected_row != UINT64_MAX);
    scene_graph g;
    assert_true(scene_graph_get(s->scene, &g));
    uint32_t node = node_of_row(s, s->view.selected_row);
    strbuf path = {0};
    graph_scope_path(g.g, g.g->node_scope[node], &path);
    assert_non_null(strstr(path.s, "ParallelTransformerLayer_2/mlp"));
    strbuf_deinit(&path);
    assert_true(outlines(s) > 0);
    select_nothing(s);
    assert_int_equal(session_build_complete(s, NULL), MAREY_OK);
    assert_int_equal(outlines(s), 0);
    session_close(&s);
    s = open_run(*state, "ParallelTransformerLayer_7");
    diag d;
    diag_init(&d);
    assert_int_equal(session_build_complete(s, &d), MAREY_ARG);
    assert_non_null(strstr(d.messages[0].text, "ParallelTransformerLayer_7"));
    diag_deinit(&d);
    session_close(&s);
}

/* The longest kernel on a device. */
static uint64_t some_kernel(const session *s, uint32_t rank)
{
    const trace_model *m = store_model(s->file);
    uint64_t best = UINT64_MAX;
    int64_t longest = -1;
    store_columns c = {0};
    for (uint32_t b = 0; b < store_n_blocks(s->file); b++) {
        store_block_info info = store_block(s->file, b);
        if (store_group_at(s->file, info.group).kind != GROUP_EVENTS ||
            store_group_load(s->file, info.group, NULL) != MAREY_OK) {
            continue;
        }
        info = store_block(s->file, b);
        assert_int_equal(store_read_block(s->file, b, COL_DUR, &c, NULL), MAREY_OK);
        for (uint32_t t = 0; t < info.n_tracks; t++) {
            const trace_lane *lane = &m->lanes[m->tracks[info.tracks[t]].lane];
            for (uint32_t i = info.offsets[t]; i < info.offsets[t + 1]; i++) {
                bool is = lane->rank == rank && lane->kind == KIND_COMPUTE && c.dur_ns[i] > longest;
                longest = is ? c.dur_ns[i] : longest;
                best = is ? info.first_row + i : best;
            }
        }
    }
    store_columns_free(&c);
    return best;
}

static void event_to_graph(void **state)
{
    session *s = open_run(*state, NULL);
    scene_graph g;
    assert_int_equal(session_build_complete(s, NULL), MAREY_OK);
    assert_false(scene_graph_get(s->scene, &g)); /* nobody asked for it */
    uint64_t row = some_kernel(s, 5);
    select_event(s, row);
    select_fit_event(s, row, 0);
    assert_int_equal(session_build_complete(s, NULL), MAREY_OK);
    assert_true(scene_graph_get(s->scene, &g));
    uint32_t node = node_of_row(s, row);
    assert_true(node < g.g->n_nodes);
    assert_int_equal(g.selected, g.plan->element_of[node]);
    assert_int_equal(s->view.selected_row, row); /* what was selected stays */
    select_fit_event(s, row, 0);
    assert_int_equal(session_build_complete(s, NULL), MAREY_OK);
    s->view.t0 = moment_about(0); /* other micro-batches come into view */
    s->view.t1 = moment_about((double)store_model(s->file)->duration_ns / 4);
    s->view.t0 = moment_about(ns_of(s->view.t1) / 2);
    assert_int_equal(session_build_complete(s, NULL), MAREY_OK);
    s->view.layout = LAYOUT_GRAPH;
    assert_int_equal(session_build_complete(s, NULL), MAREY_OK);
    assert_true(scene_graph_get(s->scene, &g));
    assert_int_equal(g.selected, g.plan->element_of[node]);
    assert_true(g.v->item_of[g.selected] != GRAPH_NONE); /* whatever hid it is open */
    /* and back: another operator of the graph, in the other layout */
    uint32_t other = GRAPH_NONE;
    for (uint32_t i = 0; i < g.g->n_nodes && other == GRAPH_NONE; i++) {
        bool is = g.join->times[i].n > 0 && graph_stage_of(g.g, i) == 0 && g.g->node_phase[i] == GRAPH_BACKWARD;
        other = is ? i : GRAPH_NONE;
    }
    graph_show_element(s, g.plan->element_of[other]);
    assert_true(s->view.selected_row != row);
    assert_int_equal(node_of_row(s, s->view.selected_row), other);
    graph_show_in_marey(s, 0);
    assert_int_equal(session_build_complete(s, NULL), MAREY_OK);
    assert_int_equal(s->view.layout, LAYOUT_MAREY);
    assert_int_equal(node_of_row(s, s->view.selected_row), other);
    session_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(chosen_first, set_up, tear_down),
                                       cmocka_unit_test_setup_teardown(event_to_graph, set_up, tear_down)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
