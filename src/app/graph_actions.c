#include "app/graph_actions.h"

#include <math.h>
#include <string.h>

#include "app/select.h"

static const double ZOOM = 1.6; /* per key press */
static const double PAN = 0.15; /* of what is shown */
static const int64_t MOTION_NS = 150000000;
static const double WHEEL_ZOOM = 1.25;
static const double WHEEL_PAN_DP = 80;

/* ------------------------------------------------------------------ camera */

void graph_go(session *s, graph_camera to, int64_t now_ns)
{
    s->is_dirty = true;
    if (s->reduced_motion || now_ns == 0 || !(s->view.graph.at.zoom > 0)) {
        s->view.graph.at = to;
        s->graph_motion.length_ns = 0;
        return;
    }
    s->graph_motion = (graph_motion){s->view.graph.at, to, now_ns, MOTION_NS};
}

/* Where it goes, or is. */
static graph_camera goal(const session *s)
{
    if (s->graph_motion.length_ns > 0) {
        return s->graph_motion.to;
    }
    return s->view.graph.at.zoom > 0 ? s->view.graph.at : s->frame.graph;
}

bool graph_camera_step(session *s, int64_t now_ns)
{
    graph_motion *m = &s->graph_motion;
    if (m->length_ns == 0) {
        return false;
    }
    double t = (double)(now_ns - m->begin_ns) / (double)m->length_ns;
    if (t >= 1) {
        s->view.graph.at = m->to;
        m->length_ns = 0;
        return true; /* this one has to be drawn, too */
    }
    double p = (1 - exp(-5 * fmax(t, 0))) / (1 - exp(-5));
    double zoom = m->from.zoom * pow(m->to.zoom / m->from.zoom, p);
    /* The place and the size of what is seen move together, so that the point which both show at one place stays. */
    double a = 1 / m->from.zoom;
    double b = 1 / m->to.zoom;
    double part = fabs(b - a) > 1e-9 * a ? (1 / zoom - a) / (b - a) : p;
    s->view.graph.at =
        (graph_camera){m->from.x + (m->to.x - m->from.x) * part, m->from.y + (m->to.y - m->from.y) * part, zoom};
    return true;
}

void graph_after_frame(session *s)
{
    if (s->view.layout != LAYOUT_GRAPH && s->view.selected_row == UINT64_MAX && scene_graph_found_first(s->scene)) {
        graph_link_selection(s);
    }
    if (s->view.layout != LAYOUT_GRAPH || !(s->frame.graph.zoom > 0)) {
        return;
    }
    if (s->view.graph.at.zoom > 0) { /* another layout may have moved what is held in place */
        double dx = s->frame.graph.x - s->view.graph.at.x;
        double dy = s->frame.graph.y - s->view.graph.at.y;
        s->view.graph.at = s->frame.graph;
        s->graph_motion.from.x += dx;
        s->graph_motion.from.y += dy;
        s->graph_motion.to.x += dx;
        s->graph_motion.to.y += dy;
    }
    graph_camera to;
    if (scene_graph_wants_go(s->scene, &to)) {
        if (!(s->view.graph.at.zoom > 0)) {
            s->view.graph.at = s->frame.graph;
        }
        graph_go(s, to, s->input.now_ns);
    }
}

void graph_zoom_at(session *s, double factor, double x_px, double y_px, int64_t now_ns)
{
    graph_go(s, scene_graph_zoom(s->scene, goal(s), factor, x_px, y_px), now_ns);
    if (!(s->view.graph.at.zoom > 0)) {
        s->view.graph.at = s->frame.graph;
    }
}

static void zoom_by(session *s, double factor, int64_t now_ns)
{
    const rect *p = &s->frame.plot;
    bool in = s->input.cursor_x >= (double)p->x && s->input.cursor_x < (double)(p->x + p->w) &&
              s->input.cursor_y >= (double)p->y && s->input.cursor_y < (double)(p->y + p->h);
    graph_zoom_at(s, factor, in ? s->input.cursor_x : (double)(p->x + p->w / 2),
                  in ? s->input.cursor_y : (double)(p->y + p->h / 2), now_ns);
}

static void pan_by(session *s, double x, double y, int64_t now_ns)
{
    graph_camera to = goal(s);
    double px_of = s->input.scale * (to.zoom > 0 ? to.zoom : 1);
    to.x += x * (double)s->frame.plot.w / px_of;
    to.y += y * (double)s->frame.plot.h / px_of;
    if (!(s->view.graph.at.zoom > 0)) {
        s->view.graph.at = s->frame.graph;
    }
    graph_go(s, to, now_ns);
}

/* ------------------------------------------------------------------ what is chosen, and the run */

void graph_link_selection(session *s)
{
    uint64_t row = scene_graph_row(s->scene);
    if (row != UINT64_MAX && row != s->view.selected_row) {
        scene_graph_linked(s->scene, row);
        s->view.selected_row = row;
        s->is_dirty = true;
    }
}

void graph_show_in_marey(session *s, int64_t now_ns)
{
    uint64_t row = scene_graph_row(s->scene);
    s->view.layout = LAYOUT_MAREY;
    s->is_dirty = true;
    if (row != UINT64_MAX) {
        scene_graph_linked(s->scene, row);
        select_event(s, row);
        select_fit_event(s, row, now_ns);
    }
}

void graph_show_element(session *s, uint32_t element)
{
    scene_graph_select(s->scene, element, true);
    graph_link_selection(s);
    s->is_dirty = true;
}

void graph_apply_look(session *s, const session_look *look)
{
    view_graph *v = &s->view.graph;
    v->steps_off = look->graph.steps_off;
    v->strictness = (uint8_t)look->graph.strictness;
    v->colour = (uint8_t)look->graph.colour;
    v->down = look->graph.direction != 0;
    v->smooth = look->graph.routing != 0;
    v->by_stage = look->graph.by_stage;
    scene_graph_show_first(s->scene, &look->graph.first);
    bool only_graph = store_model(s->file)->n_ranks == 0 && scene_has_graph(s->scene);
    if (only_graph) {
        s->view.layout = LAYOUT_GRAPH;
    }
}

/* ------------------------------------------------------------------ commands */

static void do_it(session *s, graph_command c)
{
    if (scene_graph_do(s->scene, &s->view, c)) {
        graph_link_selection(s);
        s->is_dirty = true;
    }
}

#define DO(name, command)                                                                                              \
    static void name(session *s, int64_t now_ns)                                                                       \
    {                                                                                                                  \
        (void)now_ns;                                                                                                  \
        do_it(s, command);                                                                                             \
    }

DO(toggle, GRAPH_DO_TOGGLE)
DO(close_around, GRAPH_DO_CLOSE)
DO(dissolve, GRAPH_DO_DISSOLVE)
DO(undo, GRAPH_DO_UNDO)
DO(redo, GRAPH_DO_REDO)
DO(open_all, GRAPH_DO_OPEN_ALL)
DO(close_all, GRAPH_DO_CLOSE_ALL)
DO(member_next, GRAPH_DO_MEMBER_NEXT)
DO(member_previous, GRAPH_DO_MEMBER_PREVIOUS)
DO(consumer, GRAPH_DO_CONSUMER)
DO(producer, GRAPH_DO_PRODUCER)
DO(sibling_next, GRAPH_DO_SIBLING_NEXT)
DO(sibling_previous, GRAPH_DO_SIBLING_PREVIOUS)
DO(stubs, GRAPH_DO_STUBS)

static void zoom_in(session *s, int64_t now_ns)
{
    zoom_by(s, ZOOM, now_ns);
}

static void zoom_out(session *s, int64_t now_ns)
{
    zoom_by(s, 1 / ZOOM, now_ns);
}

static void pan_left(session *s, int64_t now_ns)
{
    pan_by(s, -PAN, 0, now_ns);
}

static void pan_right(session *s, int64_t now_ns)
{
    pan_by(s, PAN, 0, now_ns);
}

static void pan_up(session *s, int64_t now_ns)
{
    pan_by(s, 0, -PAN, now_ns);
}

static void pan_down(session *s, int64_t now_ns)
{
    pan_by(s, 0, PAN, now_ns);
}

static void page_up(session *s, int64_t now_ns)
{
    pan_by(s, 0, -0.9, now_ns);
}

static void page_down(session *s, int64_t now_ns)
{
    pan_by(s, 0, 0.9, now_ns);
}

static void fit(session *s, int64_t now_ns)
{
    scene_graph g;
    graph_camera to;
    uint32_t e = scene_graph_get(s->scene, &g) ? g.selected : GRAPH_NONE;
    if (scene_graph_fit(s->scene, e, &to)) {
        if (!(s->view.graph.at.zoom > 0)) {
            s->view.graph.at = s->frame.graph;
        }
        graph_go(s, to, now_ns);
    }
}

/* All of it, also when the window or the layout changes. */
static void whole(session *s, int64_t now_ns)
{
    graph_camera to;
    if (now_ns == 0 || s->reduced_motion || !(s->view.graph.at.zoom > 0)) {
        s->view.graph.at = (graph_camera){0, 0, 0};
        s->graph_motion.length_ns = 0;
    } else if (scene_graph_fit(s->scene, GRAPH_NONE, &to)) {
        graph_go(s, to, now_ns);
    }
    s->is_dirty = true;
}

static void direction(session *s, int64_t now_ns)
{
    (void)now_ns;
    s->view.graph.down = !s->view.graph.down;
    s->view.graph.at = (graph_camera){0, 0, 0};
    s->is_dirty = true;
}

static void routing(session *s, int64_t now_ns)
{
    (void)now_ns;
    s->view.graph.smooth = !s->view.graph.smooth;
    s->is_dirty = true;
}

static void by_stage(session *s, int64_t now_ns)
{
    (void)now_ns;
    s->view.graph.by_stage = !s->view.graph.by_stage;
    s->view.graph.at = (graph_camera){0, 0, 0};
    s->is_dirty = true;
}

static void colours(session *s, int64_t now_ns)
{
    (void)now_ns;
    s->view.graph.colour = (uint8_t)((s->view.graph.colour + 1) % GRAPH_COLOURS);
    s->is_dirty = true;
}

static void strictness(session *s, int64_t now_ns)
{
    (void)now_ns;
    unsigned is = s->view.graph.strictness > 0 ? s->view.graph.strictness - 1U : STRICT_STRUCTURAL;
    s->view.graph.strictness = (uint8_t)(1 + (is + 1) % GRAPH_STRICTNESS_COUNT);
    s->is_dirty = true;
}

static void switch_step(session *s, graph_step step)
{
    s->view.graph.steps_off ^= 1U << step;
    s->is_dirty = true;
}

#define STEP(name, step)                                                                                               \
    static void name(session *s, int64_t now_ns)                                                                       \
    {                                                                                                                  \
        (void)now_ns;                                                                                                  \
        switch_step(s, step);                                                                                          \
    }

STEP(step_parameters, STEP_PARAMETERS)
STEP(step_bookkeeping, STEP_BOOKKEEPING)
STEP(step_chains, STEP_CHAINS)
STEP(step_cycles, STEP_CYCLES)
STEP(step_prune, STEP_PRUNE)
STEP(step_stack, STEP_STACK)

static void show_in_marey(session *s, int64_t now_ns)
{
    graph_show_in_marey(s, now_ns);
}

static void escape(session *s, int64_t now_ns)
{
    (void)now_ns;
    if (s->view.show_help) {
        s->view.show_help = false;
    } else {
        do_it(s, GRAPH_DO_NOTHING);
        select_nothing(s);
        scene_graph_linked(s->scene, UINT64_MAX);
    }
    s->is_dirty = true;
}

const action GRAPH_ACTIONS[] = {
    {"graph-toggle", "Enter, Space", "open or close a module or a stack", toggle},
    {"graph-close", "Backspace", "close the module around", close_around},
    {"graph-dissolve", "K", "a stack: all its members; again: one", dissolve},
    {"graph-member-next", "]", "a stack: the next member", member_next},
    {"graph-member-previous", "[", "a stack: the member before", member_previous},
    {"graph-consumer", "Right", "along an edge: to a consumer", consumer},
    {"graph-producer", "Left", "against it: to a producer", producer},
    {"graph-sibling-next", "Down", "the next one in the module", sibling_next},
    {"graph-sibling-previous", "Up", "the one before", sibling_previous},
    {"graph-stubs", "P", "draw its port stubs as lines, or not", stubs},
    {"graph-undo", "U, Ctrl+Z", "undo opening or closing", undo},
    {"graph-redo", "Y, Ctrl+Y", "redo it", redo},
    {"graph-open-all", "E", "open all modules; stacks at one member", open_all},
    {"graph-close-all", "R", "close all modules", close_all},
    {"graph-zoom-in", "W, +, =", "zoom in at the pointer", zoom_in},
    {"graph-zoom-out", "S, -", "zoom out", zoom_out},
    {"graph-pan-left", "A, Shift+Left", "to the left", pan_left},
    {"graph-pan-right", "D, Shift+Right", "to the right", pan_right},
    {"graph-pan-up", "Shift+Up", "up", pan_up},
    {"graph-pan-down", "Shift+Down", "down", pan_down},
    {"graph-page-up", "Page up", "a page up", page_up},
    {"graph-page-down", "Page down", "a page down", page_down},
    {"graph-fit", "F", "fit what is chosen", fit},
    {"graph-whole", "Z, 0, Home", "all of the graph", whole},
    {"graph-direction", "X", "from left to right, or from top to bottom", direction},
    {"graph-routing", "J", "lines in tracks, or as curves", routing},
    {"graph-by-stage", "H", "a lane for each pipeline stage", by_stage},
    {"graph-colours", "O", "colours: class, time, memory, FLOPs", colours},
    {"graph-strictness", "N", "how alike the members of stacks must be", strictness},
    {"graph-parameters", "1", "parameters in their consumers, or as nodes", step_parameters},
    {"graph-bookkeeping", "2", "bypass bookkeeping, or not", step_bookkeeping},
    {"graph-chains", "3", "join chains of modules, or not", step_chains},
    {"graph-cycles", "4", "split modules that are left and come back to, or not", step_cycles},
    {"graph-prune", "5", "port stubs for far edges, or lines", step_prune},
    {"graph-stack", "6", "stack what is isomorphic, or not", step_stack},
    {"graph-in-marey", "M", "see it in the Marey view", show_in_marey},
    {"graph-escape", "Escape", NULL, escape},
};
const size_t N_GRAPH_ACTIONS = sizeof GRAPH_ACTIONS / sizeof *GRAPH_ACTIONS;

const char *const GRAPH_GESTURES[][2] = {
    {"Wheel", "zoom at the pointer"},
    {"Drag", "pan"},
    {"Click", "choose; its lines and ports are shown"},
    {"Shift+Click", "all ways between the chosen one and this one"},
    {"Double click", "open or close"},
    {"Click on a port", "draw what it stands for as lines, or not"},
};
const size_t N_GRAPH_GESTURES = sizeof GRAPH_GESTURES / sizeof *GRAPH_GESTURES;

const action *graph_action_by_key(const session *s, const char *key)
{
    for (size_t i = 0; i < N_GRAPH_ACTIONS && s->view.layout == LAYOUT_GRAPH && !s->view.show_help; i++) {
        if (action_has_key(&GRAPH_ACTIONS[i], key)) {
            return &GRAPH_ACTIONS[i];
        }
    }
    return NULL;
}

/* ------------------------------------------------------------------ the pointer */

static bool on_minimap(session *s)
{
    scene_pick k = scene_pick_at(s->scene, s->input.cursor_x, s->input.cursor_y);
    return k.kind == PICK_GRAPH && k.graph.kind == GRAPH_HIT_MINIMAP;
}

static void follow_minimap(session *s)
{
    double x = 0;
    double y = 0;
    if (scene_graph_minimap_at(s->scene, s->input.cursor_x, s->input.cursor_y, &x, &y)) {
        graph_camera to = s->view.graph.at.zoom > 0 ? s->view.graph.at : s->frame.graph;
        graph_go(s, (graph_camera){x, y, to.zoom}, 0);
    }
}

void graph_press(pointer *p, session *s)
{
    if (!(s->view.graph.at.zoom > 0)) {
        p->down_camera = s->frame.graph;
    } else {
        p->down_camera = s->view.graph.at;
    }
    s->graph_motion.length_ns = 0; /* the hand is on it */
    p->drag = on_minimap(s) ? DRAG_OVERVIEW : DRAG_PRESSED;
    if (p->drag == DRAG_OVERVIEW) {
        follow_minimap(s);
    }
}

void graph_drag(pointer *p, session *s)
{
    if (p->drag == DRAG_OVERVIEW) {
        follow_minimap(s);
        return;
    }
    graph_camera to = p->down_camera;
    double px_of = s->input.scale * (to.zoom > 0 ? to.zoom : 1);
    to.x += (p->down_x - s->input.cursor_x) / px_of;
    to.y += (p->down_y - s->input.cursor_y) / px_of;
    graph_go(s, to, 0);
}

void graph_click(session *s, const graph_hit *hit, bool shift, bool twice, int64_t now_ns)
{
    s->is_dirty = true;
    if (hit->kind == GRAPH_HIT_SWITCH) {
        switch_step(s, (graph_step)hit->element);
        return;
    }
    if (hit->kind == GRAPH_HIT_CRUMB && hit->element == 0) {
        whole(s, now_ns);
        return;
    }
    scene_graph_click(s->scene, &s->view, hit, shift, twice);
    graph_link_selection(s);
}

void graph_wheel(session *s, double dx, double dy, bool shift, int64_t now_ns)
{
    if (shift || dx != 0) {
        double step = WHEEL_PAN_DP * s->input.scale;
        double w = fmax((double)s->frame.plot.w, 1);
        pan_by(s, -(dx + (shift ? dy : 0)) * step / w, 0, now_ns);
    }
    if (dy != 0 && !shift) {
        graph_zoom_at(s, pow(WHEEL_ZOOM, dy), s->input.cursor_x, s->input.cursor_y, now_ns);
    }
}
