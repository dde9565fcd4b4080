/*
 * Contract: the Marey layout with a module of the graph chosen looks as the expected pictures do, in both themes: its
 * events on all ranks of its stage are outlined, the inspector says which operator the selected one is a run of; and so
 * does the graph with the same module chosen, its operators painted by their measured time.
 */
#include "cm.h"

#include <unistd.h>

#include "app/graph_actions.h"
#include "golden/golden.h"
#include "synth/synth.h"

static void make_run(const char *path)
{
    synth_params p;
    diag d;
    diag_init(&d);
    assert_true(synth_preset("pangu-13b", &p));
    p.graph = true;
    p.ranks = 16;
    p.pp = 4;
    p.tp = p.dp = 2;
    p.layers = 12;
    p.micro_batches = 6;
    p.steps = 2;
    assert_int_equal(synth_check(&p, &d), MAREY_OK);
    convert_options options = {.out = path, .force = true, .jobs = 1, .run_name = "pangu"};
    assert_int_equal(synth_write_h5(&p, &options, NULL, &d), MAREY_OK);
    diag_deinit(&d);
}

static void show(golden *gold, session *s, const char *name, theme_id id)
{
    s->view.theme = id;
    assert_int_equal(session_build_complete(s, NULL), MAREY_OK);
    assert_null(draw_list_check(&s->list));
    text_ctx *own = gold->text;
    gold->text = s->text; /* the glyphs of the list are the session's */
    golden_check(gold, name, &s->list);
    gold->text = own;
}

static void linked(void **state)
{
    golden *gold = *state;
    golden_need_fonts(gold);
    char path[96];
    char truth[128];
    (void)snprintf(path, sizeof path, "/tmp/marey-test-linked-%d.h5", (int)getpid());
    (void)snprintf(truth, sizeof truth, "%s.truth.json", path);
    make_run(path);
    session *s = NULL;
    session_options so = {.look = SESSION_LOOK_DEFAULT, .reduced_motion = true};
    so.look.panels = PANELS_ON;
    so.look.graph.first.select = "ParallelTransformerLayer_4/attention";
    assert_int_equal(session_open(&s, path, &so, NULL), MAREY_OK);
    s->view.layout = LAYOUT_MAREY;
    s->input.width_px = 1600;
    s->input.height_px = 900;
    (void)snprintf(s->view.rows_pattern, sizeof s->view.rows_pattern, "stage 1");
    s->view.t0 = moment_about(150e6);
    s->view.t1 = moment_about(230e6);
    show(gold, s, "window-linked-dark", THEME_DARK);
    show(gold, s, "window-linked-light", THEME_LIGHT);
    s->view.layout = LAYOUT_GRAPH;
    s->view.graph.colour = COLOUR_TIME;
    show(gold, s, "window-linked-graph-dark", THEME_DARK);
    show(gold, s, "window-linked-graph-light", THEME_LIGHT);
    session_close(&s);
    (void)unlink(path);
    (void)unlink(truth);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(linked)};
    return cmocka_run_group_tests(tests, golden_set_up, golden_tear_down);
}
