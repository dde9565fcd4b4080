/*
 * Contract of app/comm_actions.h, played on a small simulated run without a window: C shows the communication layout;
 * there its keys come before the general ones, elsewhere they mean nothing; Enter and a click lead to the Marey layout
 * with an event selected that lies in the window shown; C leads back to the window that was left; the wheel scrolls a
 * list within its content, and does not zoom.
 */
#include "cm.h"

#include <unistd.h>

#include "app/comm_actions.h"
#include "app/pointer.h"
#include "help/ns.h"
#include "synth/synth.h"

typedef struct fixture {
    char path[128], truth[160];
    session *s;
} fixture;

static int set_up(void **state)
{
    fixture *f = calloc(1, sizeof *f);
    (void)snprintf(f->path, sizeof f->path, "/tmp/marey-test-comm-%d.h5", (int)getpid());
    (void)snprintf(f->truth, sizeof f->truth, "%s.truth.json", f->path);
    synth_params p;
    diag d;
    diag_init(&d);
    assert_true(synth_preset("resnet50", &p));
    p.ranks = 4;
    p.steps = 4;
    assert_int_equal(synth_check(&p, &d), MAREY_OK);
    convert_options options = {.out = f->path, .force = true, .jobs = 1};
    convert_summary summary = {0};
    assert_int_equal(synth_write_h5(&p, &options, &summary, &d), MAREY_OK);
    session_options so = {.look = SESSION_LOOK_DEFAULT};
    assert_int_equal(session_open(&f->s, f->path, &so, &d), MAREY_OK);
    f->s->input.width_px = 1400;
    f->s->input.height_px = 700;
    assert_int_equal(session_build_complete(f->s, &d), MAREY_OK);
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
    free(f);
    return 0;
}

static void settle(session *s)
{
    diag d;
    diag_init(&d);
    assert_int_equal(session_build_complete(s, &d), MAREY_OK);
    assert_true(s->frame.complete);
    diag_deinit(&d);
}

/* As the window does. */
static void press(session *s, const char *key)
{
    const action *own = comm_action_by_key(s, key);
    const action *a = own ? own : action_by_key(key);
    assert_non_null(a);
    a->run(s, 0);
    settle(s);
}

static void assert_shows_selected(const session *s)
{
    store_event_info e;
    assert_int_equal(s->view.layout, LAYOUT_MAREY);
    assert_int_equal(store_read_event(s->file, s->view.selected_row, &e, NULL), MAREY_OK);
    assert_int_equal(e.klass, CLASS_COLLECTIVE);
    assert_true((double)e.start_ns >= ns_of(s->view.t0) && (double)(e.start_ns + e.dur_ns) <= ns_of(s->view.t1));
}

static void keys_lead_there_and_back(void **state)
{
    fixture *f = *state;
    session *s = f->s;
    assert_null(comm_action_by_key(s, "Enter"));
    press(s, "C");
    assert_int_equal(s->view.layout, LAYOUT_COMMUNICATION);
    assert_non_null(comm_action_by_key(s, "Enter"));
    double t0 = ns_of(s->view.t0);
    double t1 = ns_of(s->view.t1);
    press(s, "Enter"); /* nothing is chosen yet */
    assert_int_equal(s->view.layout, LAYOUT_COMMUNICATION);
    press(s, "Down");
    press(s, "Down");
    press(s, "Enter");
    assert_shows_selected(s);
    assert_true(view_span_ns(&s->view) < t1 - t0);
    press(s, "C");
    assert_int_equal(s->view.layout, LAYOUT_COMMUNICATION);
    assert_true(ns_of(s->view.t0) == t0 && ns_of(s->view.t1) == t1);
    press(s, "W"); /* keys for time work as elsewhere */
    assert_true(view_span_ns(&s->view) < t1 - t0);
    press(s, "Z");
    press(s, "?");
    assert_null(comm_action_by_key(s, "Enter")); /* the help lies above */
    press(s, "Escape");
    press(s, "M");
    assert_null(comm_action_by_key(s, "B"));
}

/* Onto the first row of the list of operations. */
static void point_at_operation(pointer *p, session *s)
{
    double y = 0;
    while (y < s->input.height_px && scene_pick_at(s->scene, 400, y).comm.kind != HIT_OPERATION) {
        y++;
    }
    assert_true(y < s->input.height_px);
    pointer_move(p, s, 400, y + 4);
    settle(s);
}

static void clicks_lead_there(void **state)
{
    fixture *f = *state;
    session *s = f->s;
    press(s, "C");
    pointer p = {0};
    point_at_operation(&p, s);
    double t0 = ns_of(s->view.t0);
    pointer_press(&p, s, false);
    pointer_release(&p, s, 0);
    settle(s);
    assert_shows_selected(s);
    press(s, "C");
    assert_true(ns_of(s->view.t0) == t0);
    press(s, "M");
}

static void the_wheel_scrolls_lists(void **state)
{
    fixture *f = *state;
    session *s = f->s;
    press(s, "C");
    s->input.height_px = 400; /* too low for all rows */
    s->is_dirty = true;
    settle(s);
    double t0 = ns_of(s->view.t0);
    double t1 = ns_of(s->view.t1);
    pointer p = {0};
    point_at_operation(&p, s);
    pointer_wheel(s, 0, -1, false, false, 0);
    assert_true(s->view.comm.list_scroll_px > 0);
    for (int i = 0; i < 10000; i++) {
        pointer_wheel(s, 0, -1, false, false, 0);
    }
    double lowest = s->view.comm.list_scroll_px;
    pointer_wheel(s, 0, -1, false, false, 0);
    assert_true(s->view.comm.list_scroll_px == lowest);
    for (int i = 0; i < 10001; i++) {
        pointer_wheel(s, 0, 1, false, false, 0);
    }
    assert_true(s->view.comm.list_scroll_px == 0);
    assert_true(ns_of(s->view.t0) == t0 && ns_of(s->view.t1) == t1);
    pointer_move(&p, s, 300, 250); /* no list */
    pointer_wheel(s, 0, 1, false, false, 0);
    assert_true(ns_of(s->view.t0) == t0 && ns_of(s->view.t1) == t1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(keys_lead_there_and_back, set_up, tear_down),
        cmocka_unit_test_setup_teardown(clicks_lead_there, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_wheel_scrolls_lists, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
