#include "app/pointer.h"

#include <math.h>

#include "app/comm_actions.h"
#include "app/graph_actions.h"
#include "app/select.h"
#include "app/steps.h"

static const double CLICK_DP = 4; /* a press that moves less is a click */
static const int64_t DOUBLE_CLICK_NS = 400000000;
static const double WHEEL_ZOOM = 1.25; /* per notch */
static const double WHEEL_PAN = 0.08;
static const double WHEEL_SCROLL_PX = 60;

static bool inside(const rect *r, double x, double y)
{
    return x >= (double)r->x && y >= (double)r->y && x < (double)(r->x + r->w) && y < (double)(r->y + r->h);
}

static bool is_near(const session *s, double x0, double y0)
{
    double limit = CLICK_DP * s->input.scale;
    return fabs(s->input.cursor_x - x0) < limit && fabs(s->input.cursor_y - y0) < limit;
}

/* ---- the overview ---- */

/* The time under the pointer, also when it has left the strip while dragging. */
static moment overview_time(const session *s)
{
    const rect *o = &s->frame.overview;
    double x = fmin(fmax(s->input.cursor_x, (double)o->x), (double)(o->x + o->w) - 1);
    return scene_pick_at(s->scene, x, (double)o->y + 0.5 * (double)o->h).time;
}

static void overview_follow(const pointer *p, session *s)
{
    double half = 0.5 * view_span_ns(&s->view);
    moment middle = moment_plus(overview_time(s), -p->grab_ns);
    session_go(s, moment_plus(middle, -half), moment_plus(middle, half), 0);
}

/* Grabbed inside the window of view, it stays under the pointer; pressed elsewhere, it comes there. */
static void overview_press(pointer *p, session *s)
{
    moment t = overview_time(s);
    if (s->view.overview != OVERVIEW_SHARES) { /* a click loads the step */
        p->drag = DRAG_IGNORED;
        steps_show(s, scene_step_at(s->scene, t.ns), 0);
        return;
    }
    bool grabbed = moment_compare(t, s->view.t0) >= 0 && moment_compare(t, s->view.t1) < 0;
    p->drag = DRAG_OVERVIEW;
    p->grab_ns = grabbed ? moment_minus(t, view_middle(&s->view)) : 0;
    if (!grabbed) {
        overview_follow(p, s);
    }
}

/* ---- dragging ---- */

/* In the step that was pressed on: beyond its edges time goes on. */
static moment plot_time(const pointer *p, const session *s, double x)
{
    return moment_plus(p->down_time, (x - p->down_x) / session_plot_w(s) * moment_minus(p->down_t1, p->down_t0));
}

static void drag_pan(const pointer *p, session *s)
{
    double length = moment_minus(p->down_t1, p->down_t0);
    double shift = (p->down_x - s->input.cursor_x) / session_plot_w(s) * length;
    session_go(s, moment_plus(p->down_t0, shift), moment_plus(p->down_t1, shift), 0);
    double scroll = p->down_scroll_px + (p->down_y - s->input.cursor_y) / s->input.scale;
    session_scroll(s, scroll - s->view.scroll_px);
}

static void drag_range(const pointer *p, session *s)
{
    int64_t a = plot_time(p, s, p->down_x).ns;
    int64_t b = plot_time(p, s, s->input.cursor_x).ns;
    s->view.selection_t0_ns = a < b ? a : b;
    s->view.selection_t1_ns = a < b ? b : a;
    s->is_dirty = true;
}

/* The panels come first. @return true: they took it */
static bool panels_take(session *s, ui_event_kind kind, double notches)
{
    ui_event e = {.kind = kind, .x = s->input.cursor_x, .y = s->input.cursor_y, .notches = notches};
    return panels_event(s->panels, &e);
}

void pointer_move(pointer *p, session *s, double x, double y)
{
    if (x == s->input.cursor_x && y == s->input.cursor_y) {
        return;
    }
    s->input.cursor_x = x;
    s->input.cursor_y = y;
    s->is_dirty = true;
    (void)panels_take(s, UI_EVENT_MOVE, 0);
    if (p->drag == DRAG_PRESSED && !is_near(s, p->down_x, p->down_y)) {
        p->drag = p->wants_range && s->view.layout != LAYOUT_GRAPH ? DRAG_RANGE : DRAG_PAN;
    }
    if (s->view.layout == LAYOUT_GRAPH) {
        if (p->drag == DRAG_PAN || p->drag == DRAG_OVERVIEW) {
            graph_drag(p, s);
        }
        return;
    }
    if (p->drag == DRAG_PAN) {
        drag_pan(p, s);
    } else if (p->drag == DRAG_RANGE) {
        drag_range(p, s);
    } else if (p->drag == DRAG_OVERVIEW) {
        overview_follow(p, s);
    }
}

void pointer_leave(pointer *p, session *s)
{
    if (p->drag == DRAG_NONE) {
        s->input.cursor_x = -1;
        s->input.cursor_y = -1;
        s->is_dirty = true;
        (void)panels_take(s, UI_EVENT_LEAVE, 0);
    }
}

void pointer_press(pointer *p, session *s, bool shift)
{
    p->drag = DRAG_NONE;
    if (!s->view.show_help && panels_take(s, UI_EVENT_PRESS, 0)) {
        s->is_dirty = true;
        return;
    }
    double x = s->input.cursor_x;
    double y = s->input.cursor_y;
    p->down_x = x;
    p->down_y = y;
    p->down_t0 = s->view.t0;
    p->down_t1 = s->view.t1;
    p->down_scroll_px = s->view.scroll_px;
    p->wants_range = shift;
    s->motion.length_ns = 0; /* the hand is on it: a passage under way stops here */
    scene_pick pick = scene_pick_at(s->scene, x, y);
    p->down_time = pick.time;
    bool draggable = inside(&s->frame.plot, x, y) || inside(&s->frame.labels, x, y);
    if (s->view.show_help) {
        p->drag = DRAG_IGNORED;
    } else if (pick.kind == PICK_GRAPH) {
        graph_press(p, s);
    } else if (pick.kind == PICK_OVERVIEW) {
        overview_press(p, s);
    } else if (pick.kind != PICK_ARROW && pick.kind != PICK_COMMAND && draggable) {
        p->drag = DRAG_PRESSED;
    } else {
        p->drag = DRAG_IGNORED;
    }
}

/* ---- clicks ---- */

static void double_click(session *s, const scene_pick *pick, int64_t now_ns)
{
    if (pick->kind == PICK_EVENT || pick->kind == PICK_BAND) {
        select_fit_event(s, pick->event_row, now_ns);
    } else if (pick->kind == PICK_CELL) {
        session_zoom(s, 8, session_cursor_at(s), now_ns);
    } else if (pick->kind == PICK_ROW) {
        select_toggle_row(s);
    }
}

static void click(session *s, const scene_pick *pick, int64_t now_ns)
{
    const action *a = pick->kind == PICK_COMMAND ? action_by_name(pick->command) : NULL;
    if (a) {
        a->run(s, now_ns);
    } else if (pick->kind == PICK_STEP) {
        s->view.layout = LAYOUT_MAREY;
        steps_show(s, scene_step_at(s->scene, pick->time.ns), now_ns);
    } else if (pick->kind == PICK_COMM) {
        comm_click(s, &pick->comm, now_ns);
    } else if (pick->kind == PICK_ARROW) {
        select_toggle_row(s);
    } else if (pick->kind == PICK_EVENT || pick->kind == PICK_BAND) {
        select_event(s, pick->event_row);
    } else if (pick->kind == PICK_NONE || pick->kind == PICK_CELL) {
        select_nothing(s);
    }
}

/* A hand that clicks before the events under it are loaded still means the event: at most three blocks are waited for.
 */
static scene_pick pick_loaded(session *s)
{
    scene_pick pick = scene_pick_at(s->scene, s->input.cursor_x, s->input.cursor_y);
    if (pick.kind == PICK_CELL) {
        cache_settle(s->cache);
        pick = scene_pick_at(s->scene, s->input.cursor_x, s->input.cursor_y);
    }
    return pick;
}

static void clicked(pointer *p, session *s, int64_t now_ns)
{
    scene_pick pick = pick_loaded(s);
    bool near = is_near(s, p->last_click_x, p->last_click_y);
    if (pick.kind == PICK_GRAPH) {
        bool twice = near && now_ns - p->last_click_ns < DOUBLE_CLICK_NS;
        graph_click(s, &pick.graph, p->wants_range, twice, now_ns);
        p->last_click_ns = twice ? 0 : now_ns;
        p->last_click_x = s->input.cursor_x;
        p->last_click_y = s->input.cursor_y;
        return;
    }
    bool again = now_ns - p->last_click_ns < DOUBLE_CLICK_NS && near;
    if (again && pick.kind != PICK_ARROW && pick.kind != PICK_COMMAND) {
        double_click(s, &pick, now_ns);
        p->last_click_ns = 0;
        return;
    }
    click(s, &pick, now_ns);
    p->last_click_ns = now_ns;
    p->last_click_x = s->input.cursor_x;
    p->last_click_y = s->input.cursor_y;
}

void pointer_release(pointer *p, session *s, int64_t now_ns)
{
    drag_kind was = p->drag;
    p->drag = DRAG_NONE;
    if (panels_take(s, UI_EVENT_RELEASE, 0)) {
        return;
    }
    bool still = is_near(s, p->down_x, p->down_y);
    if (s->view.show_help && still) {
        s->view.show_help = false;
        s->is_dirty = true;
    } else if ((was == DRAG_PRESSED || was == DRAG_IGNORED) && still) {
        clicked(p, s, now_ns);
    }
}

/* ---- the wheel ---- */

void pointer_wheel(session *s, double dx, double dy, bool shift, bool ctrl, int64_t now_ns)
{
    if (panels_take(s, UI_EVENT_WHEEL, dy)) {
        return;
    }
    if (s->view.layout == LAYOUT_GRAPH) {
        graph_wheel(s, dx, dy, shift, now_ns);
    } else if (s->view.layout == LAYOUT_COMMUNICATION && !shift) {
        (void)comm_wheel(s, dy);
    } else if (ctrl) {
        session_zoom_rows(s, pow(WHEEL_ZOOM, dy), s->input.cursor_y);
    } else if (shift) {
        session_pan(s, -WHEEL_PAN * (dy + dx), now_ns);
    } else if (inside(&s->frame.labels, s->input.cursor_x, s->input.cursor_y)) {
        session_scroll(s, -WHEEL_SCROLL_PX * dy);
    } else {
        if (dy != 0) {
            session_zoom(s, pow(WHEEL_ZOOM, dy), session_cursor_at(s), now_ns);
        }
        if (dx != 0) {
            session_pan(s, -WHEEL_PAN * dx, now_ns);
        }
    }
}
