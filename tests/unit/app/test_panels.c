/*
 * Contract of app/panels.h, played on a simulated run with a slow rank, without a window:
 *
 * - The diagnosis and the sums come in the background; a complete frame has them, and two such frames are the same.
 * - Tab walks into the panels, Enter on the first finding flies to its time and brings its rank into view.
 * - The search field finds ranks and names; Enter selects an event of the name and shows it; Escape leaves.
 * - A selected event is told with its peers; a selected collective with its transfer and its last arriver.
 * - I and B take the panels away and bring them back, pixel for pixel; a narrow window has none; without panels the
 *   picture is what it was before there were any.
 * - What lies under a panel does not see the pointer.
 * - In a window the sums of time per rank begin when the view is still; a step in view is named, and so are several
 * side by side, which are summed up, and those that a range meets.
 */
#include "cm.h"

#include <unistd.h>

#include "app/actions.h"
#include "app/panels.h"
#include "app/pointer.h"
#include "app/select.h"
#include "help/ns.h"
#include "synth/synth.h"

typedef struct fixture {
    char path[128], truth[160];
    session *s;
    pointer p;
    strbuf tree;
} fixture;

static void build(fixture *f)
{
    assert_int_equal(session_build_complete(f->s, NULL), MAREY_OK);
    assert_true(f->s->frame.complete);
    assert_null(draw_list_check(&f->s->list));
    strbuf_clear(&f->tree);
    if (f->s->panels) {
        panels_dump(f->s->panels, &f->tree);
    }
}

static int set_up(void **state)
{
    fixture *f = calloc(1, sizeof *f);
    (void)snprintf(f->path, sizeof f->path, "/tmp/marey-test-panels-%d.h5", (int)getpid());
    (void)snprintf(f->truth, sizeof f->truth, "%s.truth.json", f->path);
    synth_params p;
    diag d;
    diag_init(&d);
    d.echo = true;
    assert_true(synth_preset("resnet50", &p));
    p.ranks = 8;
    p.steps = 3;
    assert_int_equal(synth_parse_fault("slow-rank:5,1.8", &p.faults[p.n_faults++], &d), MAREY_OK);
    assert_int_equal(synth_check(&p, &d), MAREY_OK);
    convert_options options = {.out = f->path, .force = true, .jobs = 1};
    convert_summary summary = {0};
    assert_int_equal(synth_write_h5(&p, &options, &summary, &d), MAREY_OK);
    session_options so = {.look = SESSION_LOOK_DEFAULT, .reduced_motion = true};
    so.look.panels = PANELS_ON;
    so.look.layout = LAYOUT_MAREY;
    assert_int_equal(session_open(&f->s, f->path, &so, &d), MAREY_OK);
    f->s->input.width_px = 1600;
    f->s->input.height_px = 900;
    build(f);
    diag_deinit(&d);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    fixture *f = *state;
    session_close(&f->s);
    (void)unlink(f->path);
    (void)unlink(f->truth);
    strbuf_deinit(&f->tree);
    free(f);
    return 0;
}

static bool panel_key(fixture *f, const char *key)
{
    ui_event e = {.kind = UI_EVENT_KEY, .key = key};
    bool took = panels_event(f->s->panels, &e);
    build(f);
    return took;
}

static void type(fixture *f, const char *text)
{
    for (; *text; text++) {
        ui_event e = {.kind = UI_EVENT_SIGN, .code = (uint32_t)*text};
        assert_true(panels_event(f->s->panels, &e));
    }
    build(f);
}

static void run(fixture *f, const char *name)
{
    action_by_name(name)->run(f->s, 0);
    build(f);
}

static bool tells(const fixture *f, const char *text)
{
    return strstr(strbuf_str(&f->tree), text) != NULL;
}

static char *drawn(const fixture *f)
{
    strbuf b = {0};
    draw_list_dump(&f->s->list, &b);
    return b.s;
}

static void test_what_is_shown(void **state)
{
    fixture *f = *state;
    assert_true(tells(f, "card \"Rank 5 computes slower\""));
    assert_true(tells(f, "histogram") == false);
    assert_true(tells(f, "label \"Time in view\""));
    assert_true(tells(f, "chart \"time per rank in view\""));
    assert_true(tells(f, "legend \"collective\""));
    assert_int_equal(f->s->frame.side.w, 360);
    assert_true(f->s->frame.plot.x + f->s->frame.plot.w <= f->s->frame.side.x);
    char *first = drawn(f);
    build(f);
    char *second = drawn(f);
    assert_string_equal(first, second);
    free(first);
    free(second);
}

static void test_tab_and_enter_fly(void **state)
{
    fixture *f = *state;
    session_go(f->s, moment_at(0), moment_at(1000000), 0);
    f->s->view.row_px = 200;
    build(f);
    assert_true(panel_key(f, "Tab"));
    assert_true(tells(f, "card \"Rank 5 computes slower\"") && tells(f, " focused"));
    assert_true(panel_key(f, "Enter"));
    assert_true(tells(f, "card chosen \"Rank 5 computes slower\""));
    assert_true(view_span_ns(&f->s->view) > 10e6);
    double y = 0;
    double h = 0;
    assert_true(scene_rank_place(f->s->scene, 5, &y, &h));
    double shown = (double)f->s->frame.plot.h;
    assert_true(y >= f->s->view.scroll_px - 1 && y + h <= f->s->view.scroll_px + shown + 1);
    assert_true(panel_key(f, "Escape"));
    assert_false(panel_key(f, "Escape"));
}

static void test_search(void **state)
{
    fixture *f = *state;
    run(f, "search");
    type(f, "rank 3");
    assert_true(tells(f, "label \"rank 3\""));
    assert_true(panel_key(f, "Ctrl+A"));
    type(f, "reduce");
    assert_false(tells(f, "label \"rank 3\""));
    assert_true(f->s->view.selected_row == UINT64_MAX);
    assert_true(panel_key(f, "Enter"));
    assert_true(f->s->view.selected_row != UINT64_MAX);
    uint64_t first = f->s->view.selected_row;
    assert_true(tells(f, "pair \"duration\""));
    assert_true(panel_key(f, "Enter")); /* once more: the next one */
    assert_true(f->s->view.selected_row != first);
    assert_true(panel_key(f, "Escape"));
    assert_false(tells(f, "surface \"hits\""));
}

/* The first event of a class in the file. */
static uint64_t event_of_class(const fixture *f, trace_class klass)
{
    store_event_info e;
    for (uint64_t row = 0; store_read_event(f->s->file, row, &e, NULL) == MAREY_OK; row++) {
        if (e.klass == klass && e.dur_ns > 0) {
            return row;
        }
    }
    return UINT64_MAX;
}

static void test_selected(void **state)
{
    fixture *f = *state;
    uint64_t row = event_of_class(f, CLASS_COLLECTIVE);
    assert_true(row != UINT64_MAX);
    select_event(f->s, row);
    build(f);
    assert_true(tells(f, "pair \"median of 8 ranks\""));
    assert_true(tells(f, "pair \"transfer (shortest member)\""));
    assert_true(tells(f, "pair \"last to arrive\""));
    assert_true(tells(f, "histogram \"duration over ranks\""));
    select_event(f->s, event_of_class(f, CLASS_BACKWARD));
    build(f);
    assert_true(tells(f, "pair \"start lag, p99\""));
    assert_false(tells(f, "last to arrive"));
    select_nothing(f->s);
    build(f);
    assert_false(tells(f, "pair \"duration\""));
}

static void test_switches(void **state)
{
    fixture *f = *state;
    char *home = drawn(f);
    run(f, "inspector");
    assert_int_equal(f->s->frame.side.w, 0);
    run(f, "strip");
    assert_int_equal(f->s->frame.below.h, 0);
    run(f, "strip");
    run(f, "inspector");
    char *back = drawn(f);
    assert_string_equal(back, home);
    free(home);
    free(back);
    f->s->input.width_px = 1000;
    f->s->input.height_px = 500;
    build(f);
    assert_true(f->s->frame.side.w == 0 && f->s->frame.below.h == 0);
}

static void test_covers(void **state)
{
    fixture *f = *state;
    pointer_move(&f->p, f->s, 1500, 300);
    build(f);
    double t0 = ns_of(f->s->view.t0);
    pointer_wheel(f->s, 0, 1, false, false, 0);
    pointer_press(&f->p, f->s, false);
    pointer_release(&f->p, f->s, 0);
    build(f);
    assert_true(ns_of(f->s->view.t0) == t0 && f->s->view.selected_row == UINT64_MAX);
    assert_true(panels_cover(f->s->panels, 1500, 300));
    assert_false(panels_cover(f->s->panels, 700, 300));
}

static void test_steps_are_named(void **state)
{
    fixture *f = *state;
    assert_true(tells(f, "label \"steps 0\xE2\x80\x93"
                         "2\""));
    run(f, "step-one");
    assert_true(tells(f, "label \"Time in step "));
    run(f, "step-columns");
    assert_int_equal(f->s->frame.n_columns, 3);
    assert_true(tells(f, "label \"Time in steps 0\xE2\x80\x93"
                         "2\""));
    run(f, "step-overlaid");
    assert_true(tells(f, "label \"Time in step 0\""));
    run(f, "step-next");
    assert_true(tells(f, "label \"Time in step 1\"") && f->s->view.steps_mode == STEPS_OVERLAID);
    run(f, "whole-run");
    assert_true(tells(f, "label \"Time in view\"") && f->s->view.steps_mode == STEPS_RUN);
}

static void nothing(void *ctx)
{
    (void)ctx;
}

static void test_sums_wait_for_a_still_view(void **state)
{
    fixture *f = *state;
    f->s->wake = nothing;          /* as in a window */
    for (int i = 1; i <= 5; i++) { /* a drag */
        session_go(f->s, moment_about(1e6 * i), moment_about(1e6 * i + 5e6), 0);
        assert_int_equal(session_build(f->s, NULL), MAREY_OK);
        assert_true(panels_deadline_ns(f->s->panels) > 0);
        assert_false(panels_are_complete(f->s->panels));
    }
    (void)usleep(120000);
    assert_int_equal(session_build(f->s, NULL), MAREY_OK);
    assert_int_equal(panels_deadline_ns(f->s->panels), 0);
    build(f);
    assert_true(panels_are_complete(f->s->panels));
    assert_true(tells(f, "label \"Time in step 0\""));
    assert_true(tells(f, "chart \"time per rank in the step\""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_what_is_shown, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_tab_and_enter_fly, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_search, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_selected, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_switches, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_covers, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_steps_are_named, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_sums_wait_for_a_still_view, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
