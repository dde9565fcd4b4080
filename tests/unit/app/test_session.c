/*
 * Contract of app/session.h, app/pointer.h and app/select.h, played on a small simulated run without a window:
 *
 * - A frame becomes complete; the same view gives the same draw list again.
 * - Zooming keeps the time under the pointer, with motion at its end; steps during a motion add up.
 * - A drag keeps the time under the pointer; less than 4 px is a click. Shift and a drag select a range that F fits;
 * where steps stand side by side it lies in the step that was pressed on.
 * - The overview is grabbed where it is pressed. Rows scroll within their content; zooming rows keeps what is under the
 * pointer.
 * - The next and the previous event visit a track's events in order, each once, and end at its ends.
 * - Z, T, M, L, ?, Escape do what they say; Z after any of the moves gives the first picture again.
 */
#include "cm.h"

#include <math.h>
#include <unistd.h>

#include "app/actions.h"
#include "app/pointer.h"
#include "app/select.h"
#include "help/ns.h"
#include "store/query.h"
#include "synth/synth.h"

typedef struct fixture {
    char path[128], truth[160];
    session *s;
    pointer p;
} fixture;

static int set_up(void **state)
{
    fixture *f = calloc(1, sizeof *f);
    (void)snprintf(f->path, sizeof f->path, "/tmp/marey-test-session-%d.h5", (int)getpid());
    (void)snprintf(f->truth, sizeof f->truth, "%s.truth.json", f->path);
    synth_params p;
    diag d;
    diag_init(&d);
    assert_true(synth_preset("resnet50", &p));
    p.ranks = 4;
    p.steps = 2;
    assert_int_equal(synth_check(&p, &d), MAREY_OK);
    convert_options options = {.out = f->path, .force = true, .jobs = 1};
    convert_summary summary = {0};
    assert_int_equal(synth_write_h5(&p, &options, &summary, &d), MAREY_OK);
    session_options so = {.look = SESSION_LOOK_DEFAULT};
    assert_int_equal(session_open(&f->s, f->path, &so, &d), MAREY_OK);
    f->s->input.width_px = 1000;
    f->s->input.height_px = 600;
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

static void build(fixture *f)
{
    assert_int_equal(session_build_complete(f->s, NULL), MAREY_OK);
    assert_true(f->s->frame.complete);
    assert_null(draw_list_check(&f->s->list));
}

static char *dump(fixture *f)
{
    build(f);
    strbuf b = {0};
    draw_list_dump(&f->s->list, &b);
    return b.s;
}

static void press_key(fixture *f, const char *key, int64_t now_ns)
{
    const action *a = action_by_key(key);
    assert_non_null(a);
    a->run(f->s, now_ns);
}

static double time_under_cursor(const session *s)
{
    return ns_of(s->view.t0) + session_cursor_at(s) * (view_span_ns(&s->view));
}

static double plot_x(const fixture *f, double at)
{
    return (double)f->s->frame.plot.x + at * (double)f->s->frame.plot.w;
}

static double plot_y(const fixture *f, double at)
{
    return (double)f->s->frame.plot.y + at * (double)f->s->frame.plot.h;
}

static void move(fixture *f, double x, double y)
{
    pointer_move(&f->p, f->s, x, y);
}

static void same_view_same_picture(void **state)
{
    fixture *f = *state;
    char *first = dump(f);
    char *second = dump(f);
    assert_string_equal(first, second);
    press_key(f, "W", 0);
    char *zoomed = dump(f);
    assert_string_not_equal(first, zoomed);
    press_key(f, "Z", 0);
    char *back = dump(f);
    assert_string_equal(first, back);
    free(first);
    free(second);
    free(zoomed);
    free(back);
}

static void wheel_keeps_the_point(void **state)
{
    fixture *f = *state;
    build(f);
    move(f, plot_x(f, 0.3), plot_y(f, 0.5));
    double before = time_under_cursor(f->s);
    double span = view_span_ns(&f->s->view);
    pointer_wheel(f->s, 0, 2, false, false, 0);
    assert_true(fabs(time_under_cursor(f->s) - before) < 1e-6 * span);
    assert_true(fabs((view_span_ns(&f->s->view)) * 1.5625 - span) < 1e-6 * span);
    pointer_wheel(f->s, 0, 1, true, false, 0);
    assert_true(time_under_cursor(f->s) < before);
    press_key(f, "Z", 0);
}

static void motion_adds_up(void **state)
{
    fixture *f = *state;
    build(f);
    move(f, plot_x(f, 0.3), plot_y(f, 0.5));
    double before = time_under_cursor(f->s);
    double span = view_span_ns(&f->s->view);
    int64_t now = 1000000000;
    pointer_wheel(f->s, 0, 1, false, false, now);
    assert_true(view_span_ns(&f->s->view) == span); /* not yet */
    assert_true(session_step(f->s, now + 50000000));
    double between = view_span_ns(&f->s->view);
    assert_true(between < span && between > span / 1.25);
    assert_true(fabs(time_under_cursor(f->s) - before) < 1e-6 * span);
    pointer_wheel(f->s, 0, 1, false, false, now + 50000000);
    assert_true(session_step(f->s, now + 900000000));
    assert_false(session_step(f->s, now + 910000000));
    assert_true(fabs((view_span_ns(&f->s->view)) * 1.5625 - span) < 1e-6 * span);
    assert_true(fabs(time_under_cursor(f->s) - before) < 1e-6 * span);
    press_key(f, "Z", 0);
}

static void drag_keeps_the_point(void **state)
{
    fixture *f = *state;
    press_key(f, "W", 0);
    press_key(f, "W", 0);
    build(f);
    move(f, plot_x(f, 0.6), plot_y(f, 0.5));
    double before = time_under_cursor(f->s);
    double span = view_span_ns(&f->s->view);
    pointer_press(&f->p, f->s, false);
    move(f, plot_x(f, 0.5), plot_y(f, 0.4));
    move(f, plot_x(f, 0.4), plot_y(f, 0.5));
    pointer_release(&f->p, f->s, 1);
    assert_true(fabs(time_under_cursor(f->s) - before) < 1e-6 * span);
    assert_true(fabs(view_span_ns(&f->s->view) - span) < 1e-6 * span);
    press_key(f, "Z", 0);
}

static void range_is_selected_and_fitted(void **state)
{
    fixture *f = *state;
    build(f);
    double span = view_span_ns(&f->s->view);
    double t0 = ns_of(f->s->view.t0);
    move(f, plot_x(f, 0.5), plot_y(f, 0.5));
    pointer_press(&f->p, f->s, true);
    move(f, plot_x(f, 0.25), plot_y(f, 0.6));
    pointer_release(&f->p, f->s, 1);
    assert_true(fabs((double)f->s->view.selection_t0_ns - (t0 + 0.25 * span)) < 2);
    assert_true(fabs((double)f->s->view.selection_t1_ns - (t0 + 0.5 * span)) < 2);
    build(f);
    press_key(f, "F", 0);
    assert_true(fabs(ns_of(f->s->view.t0) - (t0 + 0.25 * span)) < 2);
    assert_true(fabs(ns_of(f->s->view.t1) - (t0 + 0.5 * span)) < 2);
    press_key(f, "Escape", 0);
    assert_true(f->s->view.selection_t1_ns <= f->s->view.selection_t0_ns);
    press_key(f, "Z", 0);
}

static void a_range_lies_in_its_column(void **state)
{
    fixture *f = *state;
    press_key(f, "2", 0);
    build(f);
    assert_int_equal(f->s->frame.n_columns, 2);
    const scene_step *steps;
    assert_int_equal(scene_steps(f->s->scene, &steps), 2);
    double w = session_plot_w(f->s);
    double span = view_span_ns(&f->s->view);
    double shift = (double)(steps[1].start_ns - steps[0].start_ns);
    for (int k = 0; k < 2; k++) {
        double left = (double)f->s->frame.plot.x + k * (double)f->s->frame.column_w;
        move(f, left + floor(0.6 * w), plot_y(f, 0.5));
        pointer_press(&f->p, f->s, true);
        move(f, left + floor(0.2 * w), plot_y(f, 0.5));
        pointer_release(&f->p, f->s, 1);
        double from = ns_of(f->s->view.t0) + k * shift + floor(0.2 * w) / w * span;
        double to = ns_of(f->s->view.t0) + k * shift + floor(0.6 * w) / w * span;
        assert_true(fabs((double)f->s->view.selection_t0_ns - from) < 2);
        assert_true(fabs((double)f->s->view.selection_t1_ns - to) < 2);
        build(f);
    }
    press_key(f, "Escape", 0);
    press_key(f, "Z", 0);
    build(f);
}

static void overview_is_grabbed(void **state)
{
    fixture *f = *state;
    for (int i = 0; i < 4; i++) {
        press_key(f, "W", 0);
    }
    build(f);
    const rect o = f->s->frame.overview;
    double y = (double)o.y + 0.5 * (double)o.h;
    double span = view_span_ns(&f->s->view);
    move(f, (double)o.x + 0.2 * (double)o.w, y);
    pointer_press(&f->p, f->s, false);
    pointer_release(&f->p, f->s, 1);
    double middle = 0.5 * (ns_of(f->s->view.t0) + ns_of(f->s->view.t1));
    double pixel = (double)f->s->duration_ns / (double)o.w;
    assert_true(fabs(middle - 0.2 * (double)f->s->duration_ns) < 0.05 * (double)f->s->duration_ns);
    build(f);
    pointer_press(&f->p, f->s, false); /* inside the window of view now: it must not jump */
    assert_true(fabs(0.5 * (ns_of(f->s->view.t0) + ns_of(f->s->view.t1)) - middle) < 1);
    move(f, (double)o.x + 0.3 * (double)o.w, y + 500); /* far below the strip: still dragging */
    double moved = 0.5 * (ns_of(f->s->view.t0) + ns_of(f->s->view.t1)) - middle;
    assert_true(fabs(moved - 0.1 * (double)f->s->duration_ns) < 0.02 * (double)f->s->duration_ns + 2 * pixel);
    pointer_release(&f->p, f->s, 2);
    assert_true(fabs(view_span_ns(&f->s->view) - span) < 1e-6 * span);
    press_key(f, "Z", 0);
}

static void rows_scroll_and_zoom(void **state)
{
    fixture *f = *state;
    build(f);
    session_scroll(f->s, -1e9);
    assert_true(f->s->view.scroll_px == 0);
    double y = plot_y(f, 0.5);
    for (int i = 0; i < 12; i++) {
        session_zoom_rows(f->s, 1.25, y);
        build(f);
    }
    double room = (double)f->s->frame.plot.h;
    assert_true(f->s->frame.content_px > room);
    session_scroll(f->s, 1e9);
    assert_true(fabs(f->s->view.scroll_px - (f->s->frame.content_px - room)) < 1e-3);
    session_zoom_rows(f->s, 0.01, y);
    build(f);
    assert_true(f->s->view.scroll_px <= fmax(0, f->s->frame.content_px - room) + 1e-3);
    press_key(f, "\\", 0);
    build(f);
    assert_true(f->s->view.row_px == 0 && f->s->view.scroll_px == 0);
}

/* Any event on screen: the first place in the plot where there is one. */
static scene_pick find_event(fixture *f)
{
    for (int i = 0; i < 20 * 40; i++) {
        double x = plot_x(f, (i % 40 + 0.5) / 40);
        double y = plot_y(f, (i / 40 + 0.5) / 20);
        move(f, x, y);
        build(f);
        scene_pick p = scene_pick_at(f->s->scene, x, y);
        if (p.kind == PICK_EVENT) {
            return p;
        }
    }
    fail_msg("no event on screen");
    return (scene_pick){0};
}

static void zoom_until_events(fixture *f)
{
    press_key(f, "Z", 0);
    double middle = 0.4 * (double)f->s->duration_ns;
    session_go(f->s, moment_about(middle), moment_about(middle + 2e6), 0);
    build(f);
}

static void clicks_select_and_fit(void **state)
{
    fixture *f = *state;
    zoom_until_events(f);
    scene_pick p = find_event(f);
    pointer_press(&f->p, f->s, false);
    move(f, f->s->input.cursor_x + 2, f->s->input.cursor_y);
    pointer_release(&f->p, f->s, 5000000000);
    assert_int_equal(f->s->view.selected_row, p.event_row);
    build(f);
    pointer_press(&f->p, f->s, false);
    pointer_release(&f->p, f->s, 5100000000); /* the second click within 0.4 s */
    moment t0;
    moment t1;
    session_goal(f->s, &t0, &t1);
    store_event_info e;
    assert_int_equal(store_read_event(f->s->file, p.event_row, &e, NULL), MAREY_OK);
    assert_true(fabs(ns_of(t0) - ((double)e.start_ns - 0.5 * (double)e.dur_ns)) < 2 || e.dur_ns < 20);
    assert_true(fabs(moment_minus(t1, t0) - 2 * (double)e.dur_ns) < 2 || e.dur_ns < 20);
    press_key(f, "Escape", 0);
    assert_true(f->s->view.selected_row == UINT64_MAX);
    press_key(f, "Z", 0);
}

typedef struct visited {
    uint64_t *rows;
    size_t n, cap;
} visited;

static bool visit(void *ctx, const store_event_info *e)
{
    visited *v = ctx;
    VEC_PUSH(v->rows, v->n, v->cap, e->row);
    return true;
}

static void neighbours_visit_the_track(void **state)
{
    fixture *f = *state;
    zoom_until_events(f);
    scene_pick p = find_event(f);
    store_event_info e;
    assert_int_equal(store_read_event(f->s->file, p.event_row, &e, NULL), MAREY_OK);
    visited v = {0};
    query_row track = {&e.track, 1};
    assert_int_equal(store_visit(f->s->file, &track, 0, f->s->duration_ns + 1, visit, &v, NULL), MAREY_OK);
    assert_true(v.n > 2);
    select_event(f->s, v.rows[0]);
    select_neighbour(f->s, -1, 0);
    assert_int_equal(f->s->view.selected_row, v.rows[0]);
    for (size_t i = 1; i < v.n; i++) {
        select_neighbour(f->s, 1, 0);
        assert_int_equal(f->s->view.selected_row, v.rows[i]);
    }
    select_neighbour(f->s, 1, 0);
    assert_int_equal(f->s->view.selected_row, v.rows[v.n - 1]);
    select_neighbour(f->s, -1, 0);
    assert_int_equal(f->s->view.selected_row, v.rows[v.n - 2]);
    free(v.rows);
    press_key(f, "Escape", 0);
    press_key(f, "Z", 0);
}

static void keys_do_what_they_say(void **state)
{
    fixture *f = *state;
    press_key(f, "M", 0);
    assert_int_equal(f->s->view.layout, LAYOUT_MAREY);
    build(f);
    press_key(f, "T", 0);
    assert_int_equal(f->s->view.layout, LAYOUT_TIMELINE);
    press_key(f, "L", 0);
    assert_int_equal(f->s->view.theme, THEME_LIGHT);
    build(f);
    press_key(f, "L", 0);
    press_key(f, "?", 0);
    assert_true(f->s->view.show_help);
    build(f);
    press_key(f, "Escape", 0);
    assert_false(f->s->view.show_help);
    press_key(f, "E", 0);
    build(f);
    size_t open = f->s->frame.n_rows;
    press_key(f, "R", 0);
    build(f);
    assert_true(f->s->frame.n_rows < open);
    assert_false(f->s->quit);
    press_key(f, "Ctrl+Q", 0);
    assert_true(f->s->quit);
    f->s->quit = false;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_view_same_picture),
        cmocka_unit_test(wheel_keeps_the_point),
        cmocka_unit_test(motion_adds_up),
        cmocka_unit_test(drag_keeps_the_point),
        cmocka_unit_test(range_is_selected_and_fitted),
        cmocka_unit_test(a_range_lies_in_its_column),
        cmocka_unit_test(overview_is_grabbed),
        cmocka_unit_test(rows_scroll_and_zoom),
        cmocka_unit_test(clicks_select_and_fit),
        cmocka_unit_test(neighbours_visit_the_track),
        cmocka_unit_test(keys_do_what_they_say),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
