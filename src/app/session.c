#include "app/session.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "app/actions.h"
#include "app/graph_actions.h"
#include "app/steps.h"
#include "base/mem.h"
#include "base/text.h"
#include "base/thread.h"

static const int64_t MOTION_NS = 150000000;
static const double MIN_ROW_PX = 0.25;
static const double MAX_ROW_PX = 400;
enum { AUTO_WIDTH_DP = 1400, AUTO_HEIGHT_DP = 800 };

/* Another time than the one asked for must not be shown in its place. */
static marey_status check_time(const session *s, const session_look *look, diag *d)
{
    int64_t end = s->duration_ns > 0 ? s->duration_ns : 1;
    bool outside = (look->time_ns[0] != INT64_MIN && look->time_ns[0] >= end) || look->time_ns[1] <= 0;
    if (outside && store_model(s->file)->n_ranks > 0) {
        char text[48];
        time_format(end, text, sizeof text);
        return diag_error(d, MAREY_ARG, NULL, DIAG_NO_OFFSET,
                          "The run lasts %s; the time that is asked for lies outside.", text);
    }
    return MAREY_OK;
}

static void apply_look(session *s, const session_look *look)
{
    const trace_model *m = store_model(s->file);
    view_init(&s->view, m->duration_ns);
    s->view.theme = (theme_id)look->theme;
    s->view.layout = (view_layout)look->layout;
    s->view.row_px = look->row_height;
    if (m->view_end_ns > m->view_start_ns) {
        view_show_range(&s->view, moment_at(m->view_start_ns), moment_at(m->view_end_ns));
    }
    if (s->view.layout == LAYOUT_STEPS) { /* steps beside each other: all of them */
        view_show_range(&s->view, moment_at(0), moment_at(m->duration_ns > 1 ? m->duration_ns : 1));
    }
    moment t0 = look->time_ns[0] == INT64_MIN ? s->view.t0 : moment_at(look->time_ns[0]);
    moment t1 = look->time_ns[1] == INT64_MAX ? s->view.t1 : moment_at(look->time_ns[1]);
    view_show_range(&s->view, t0, t1);
    view_clamp(&s->view, s->duration_ns);
    graph_apply_look(s, look);
    s->view.overview = look->overview < OVERVIEW_MODES ? (uint8_t)look->overview : 0;
    s->view.lines = (uint8_t)look->lines;
    steps_look(s, (view_steps)look->steps, look->step);
    if (look->rows) {
        strncpy(s->view.rows_pattern, look->rows, sizeof s->view.rows_pattern - 1);
    }
    if (look->open_depth != UINT64_MAX) {
        scene_open_all(s->scene, look->open_depth > 3 ? 3 : (int)look->open_depth);
    }
}

static unsigned default_threads(void)
{
    unsigned n = thread_cores();
    return n > 9 ? 8 : n > 1 ? n - 1 : 1;
}

marey_status session_open(session **out, const char *path, const session_options *options, diag *d)
{
    *out = NULL;
    session *s = mem_calloc(1, sizeof *s);
    marey_status status = MAREY_OK;
    MAREY_TRY(store_open(&s->file, path, d));
    s->duration_ns = store_model(s->file)->duration_ns;
    MAREY_TRY(check_time(s, &options->look, d));
    s->reduced_motion = options->reduced_motion;
    s->panels_mode = options->look.panels;
    s->wake = options->wake;
    s->wake_ctx = options->wake_ctx;
    s->input = (scene_input){.width_px = 1920, .height_px = 1080, .scale = 1, .cursor_x = -1, .cursor_y = -1};
    cache_source source = cache_store_source(s->file);
    cache_options co = {
        .n_threads = options->n_threads ? options->n_threads : default_threads(),
        .wake = options->wake,
        .wake_ctx = options->wake_ctx,
    };
    MAREY_TRY(cache_create(&s->cache, &source, &co, d));
    MAREY_TRY(text_create(&s->text, d));
    MAREY_TRY(scene_create(&s->scene, s->file, s->cache, s->text, d));
    scene_set_wake(s->scene, options->wake, options->wake_ctx);
    actions_set_help(s->scene, (view_layout)options->look.layout);
    apply_look(s, &options->look);
    s->is_dirty = true;
    *out = s;
    return MAREY_OK;
fail:
    session_close(&s);
    return status;
}

void session_close(session **ps)
{
    session *s = *ps;
    if (!s) {
        return;
    }
    panels_leave_graph(s->panels);
    scene_destroy(&s->scene);
    panels_destroy(&s->panels); /* holds the diagnosis that the scene reads */
    cache_destroy(&s->cache);
    text_destroy(&s->text);
    store_close(&s->file);
    draw_list_deinit(&s->list);
    free(s);
    *ps = NULL;
}

/* ---- frames ---- */

static double max_scroll_px(const session *s)
{
    double shown = (double)s->frame.plot.h / s->input.scale;
    return s->frame.content_px > shown ? s->frame.content_px - shown : 0;
}

panels *session_panels(session *s)
{
    s->panels_mode = PANELS_ON;
    if (!s->panels) {
        s->panels = panels_create(s);
    }
    return s->panels;
}

/* A picture shows them of itself where it is as large as the drawing that they are made for. */
static bool shows_panels(const session *s)
{
    const scene_input *in = &s->input;
    bool is_large = in->width_px >= AUTO_WIDTH_DP * in->scale && in->height_px >= AUTO_HEIGHT_DP * in->scale;
    return s->panels_mode == PANELS_ON ||
           (s->panels_mode == PANELS_AUTO && (s->view.layout == LAYOUT_MAREY || s->view.layout == LAYOUT_GRAPH) &&
            is_large);
}

/* What lies under a panel does not see the pointer. */
static marey_status build_scene(session *s, diag *d)
{
    scene_input in = s->input;
    if (panels_cover(s->panels, in.cursor_x, in.cursor_y)) {
        in.cursor_x = -1;
        in.cursor_y = -1;
    }
    return scene_build(s->scene, &s->view, &in, &s->list, &s->frame, d);
}

marey_status session_build(session *s, diag *d)
{
    s->is_dirty = false;
    bool has_panels = shows_panels(s);
    if (has_panels && !s->panels) {
        s->panels = panels_create(s);
    }
    if (has_panels) {
        panels_prepare(s->panels, s);
    } else {
        s->input.right_dp = 0;
        s->input.bottom_dp = 0;
        s->input.search_dp = 0;
        s->input.note = NULL;
    }
    marey_status status = build_scene(s, d);
    if (status == MAREY_OK) {
        graph_after_frame(s);
    }
    if (has_panels && status == MAREY_OK) {
        panels_build(s->panels, s);
    }
    cache_take_errors(s->cache, d);
    if (status == MAREY_OK && s->view.scroll_px > max_scroll_px(s)) {
        s->view.scroll_px = max_scroll_px(s); /* rows were closed, or the window grew */
        s->is_dirty = true;
    }
    return status;
}

marey_status session_build_complete(session *s, diag *d)
{
    /* Work on other threads may end between the look at it and the wait for it: a frame that got nothing new is built
     * once more before it counts as stuck. */
    enum { PATIENCE = 3 };
    for (int idle = 0;;) {
        uint64_t before = cache_get_stats(s->cache).n_loaded + cache_get_stats(s->cache).n_failed;
        marey_status status = session_build(s, d);
        if (status != MAREY_OK || (s->frame.complete && !s->is_dirty)) {
            return status;
        }
        cache_settle(s->cache);
        bool worked = scene_settle(s->scene);
        if (s->panels && !panels_are_complete(s->panels)) {
            panels_settle(s->panels);
            worked = true;
        }
        cache_stats now = cache_get_stats(s->cache);
        bool is_stuck = now.n_loaded + now.n_failed == before && !s->is_dirty && !worked;
        idle = is_stuck ? idle + 1 : 0;
        if (idle == PATIENCE) {
            return diag_error(d, MAREY_INTERNAL, store_path(s->file), DIAG_NO_OFFSET,
                              "The picture waits for %zu pieces of data that nobody loads.", s->frame.n_wanted);
        }
    }
}

/* ---- the camera ---- */

void session_goal(const session *s, moment *t0, moment *t1)
{
    bool moving = s->motion.length_ns > 0;
    *t0 = moving ? s->motion.to_t0 : s->view.t0;
    *t1 = moving ? s->motion.to_t1 : s->view.t1;
}

void session_go(session *s, moment t0, moment t1, int64_t now_ns)
{
    view goal = s->view;
    view_show_range(&goal, t0, t1);
    view_clamp(&goal, s->duration_ns);
    s->is_dirty = true;
    if (s->reduced_motion || now_ns == 0) {
        s->view.t0 = goal.t0;
        s->view.t1 = goal.t1;
        s->motion.length_ns = 0;
    } else {
        view_motion_start(&s->motion, &s->view, goal.t0, goal.t1, now_ns, MOTION_NS);
    }
}

bool session_step(session *s, int64_t now_ns)
{
    bool moved = view_motion_step(&s->motion, &s->view, now_ns);
    moved = graph_camera_step(s, now_ns) || moved;
    s->is_dirty = s->is_dirty || moved;
    return moved;
}

bool session_is_moving(const session *s)
{
    return s->motion.length_ns > 0 || s->graph_motion.length_ns > 0;
}

void session_zoom(session *s, double factor, double at, int64_t now_ns)
{
    view goal = s->view;
    session_goal(s, &goal.t0, &goal.t1);
    view_zoom(&goal, factor, at);
    session_go(s, goal.t0, goal.t1, now_ns);
}

void session_pan(session *s, double fraction, int64_t now_ns)
{
    view goal = s->view;
    session_goal(s, &goal.t0, &goal.t1);
    view_pan(&goal, fraction);
    session_go(s, goal.t0, goal.t1, now_ns);
}

static double clamp(double v, double low, double high)
{
    return v < low ? low : v > high ? high : v;
}

void session_scroll(session *s, double by_px)
{
    s->view.scroll_px = clamp(s->view.scroll_px + by_px, 0, max_scroll_px(s));
    s->is_dirty = true;
}

/* The row under y keeps its place: scroll + y grows by the same factor as the content. */
void session_zoom_rows(session *s, double factor, double y_px)
{
    double fit_px = s->frame.unit_px > 0 ? s->frame.unit_px : 16;
    double before = s->view.row_px > 0 ? s->view.row_px : fit_px;
    double after = clamp(before * factor, MIN_ROW_PX, MAX_ROW_PX);
    double y = clamp((y_px - (double)s->frame.plot.y) / s->input.scale, 0, (double)s->frame.plot.h / s->input.scale);
    s->view.row_px = after;
    s->view.scroll_px = (s->view.scroll_px + y) * (after / before) - y;
    if (s->view.scroll_px < 0) {
        s->view.scroll_px = 0;
    }
    s->is_dirty = true; /* session_build() clamps the scroll to the new content */
}

double session_plot_w(const session *s)
{
    double w = (double)s->frame.plot.w;
    double pitch = (double)s->frame.column_w;
    return s->frame.n_columns > 1 ? pitch - (pitch * s->frame.n_columns - w) : w;
}

double session_cursor_at(const session *s)
{
    const rect *p = &s->frame.plot;
    double x = s->input.cursor_x - (double)p->x;
    double y = s->input.cursor_y - (double)p->y;
    bool inside = p->w > 0 && x >= 0 && y >= 0 && x < (double)p->w && y < (double)p->h;
    if (inside && s->frame.n_columns > 1) { /* of the step under it */
        return fmin(fmod(x, (double)s->frame.column_w) / session_plot_w(s), 1);
    }
    return inside ? x / (double)p->w : 0.5;
}
