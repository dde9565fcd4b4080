/* One frame of the graph layout. */
#include <stdlib.h>
#include <string.h>

#include "scene/graph_view.h"

static const int64_t PASSAGE_NS = 150000000;
static const double MOST_ZOOM = 6;
static const double FIT_MOST = 1.25; /* small graphs are not blown up */
static const double HEAD_ROOM_DP = 44;
static const double MARGIN_DP = 32;
static const double LANE_NAME_DP = 56;
static const double LANE_ZOOM = 0.7; /* names inside can be read */

/* ------------------------------------------------------------------ what is there */

static graph_view *view_of(scene *s)
{
    if (!s->graph) {
        graph_view *g = mem_calloc(1, sizeof *g);
        g->selected = g->path_to = g->anchor = g->hover_item = GRAPH_NONE;
        g->asked_from = g->asked_to = GRAPH_NONE;
        g->linked_row = UINT64_MAX;
        g->passage = 1;
        g->detail = "labels";
        s->graph = g;
    }
    return s->graph;
}

bool scene_has_graph(const scene *s)
{
    return (s->graph && s->graph->given) || store_has_graph(s->file);
}

void scene_graph_show_first(scene *s, const graph_first *f)
{
    view_of(s)->first = *f;
}

void scene_give_graph(scene *s, const graph *g)
{
    view_of(s)->given = g;
}

bool scene_graph_get(const scene *s, scene_graph *out)
{
    const graph_view *g = s->graph;
    memset(out, 0, sizeof *out);
    if (!g || !g->now) {
        return false;
    }
    out->plan = g->now->of->plan;
    out->g = out->plan->g;
    out->v = g->now->v;
    out->layout = g->now->l;
    out->state = &g->state;
    out->join = graph_work_join(g->work);
    out->measures = g->now->of->measures;
    out->selected = g->selected;
    out->path_to = g->path_to;
    out->n_on_path = g->now->n_on_path;
    memcpy(out->most, g->now->most, sizeof out->most);
    out->plan_serial = g->now->of->serial;
    out->is_due = g->is_changed || graph_work_is_due(g->work);
    return true;
}

/* ------------------------------------------------------------------ camera */

static void fit_box(const scene *s, double x, double y, double w, double h, double share, double most, graph_camera *to)
{
    double head = HEAD_ROOM_DP;
    double room_w = fmax((double)(s->m.plot.w / s->m.s) - 2 * MARGIN_DP, 40);
    double room_h = fmax((double)(s->m.plot.h / s->m.s) - head - 2 * MARGIN_DP, 40);
    to->zoom = fmin(fmin(share * room_w / fmax(w, 1), share * room_h / fmax(h, 1)), most);
    to->x = x + w / 2;
    to->y = y + h / 2 - head / 2 / to->zoom;
}

/* All of the graph; names of lanes keep their room at the left. */
static void fit_whole(const scene *s, const graph_view *g, graph_camera *to)
{
    const graph_layout *l = g->now->l;
    double names = l->n_lanes > 0 ? LANE_NAME_DP : 0;
    double share = 1 - names / fmax((double)(s->m.plot.w / s->m.s) - 2 * MARGIN_DP, 2 * LANE_NAME_DP);
    fit_box(s, 0, 0, l->width, l->height, share, FIT_MOST, to);
    to->x -= names / 2 / to->zoom;
}

/* Where to begin: all of the graph; of lanes that are too long for it their beginning, large enough to be read. The map
 * in the corner shows the rest. */
static void fit_first(const scene *s, const graph_view *g, graph_camera *to)
{
    const graph_layout *l = g->now->l;
    fit_whole(s, g, to);
    if (l->n_lanes == 0 || to->zoom >= LANE_ZOOM) {
        return;
    }
    double room_w = (double)(s->m.plot.w / s->m.s) - 2 * MARGIN_DP;
    graph_camera high;
    fit_box(s, 0, 0, 1, l->height, 1, LANE_ZOOM, &high);
    to->zoom = fmax(to->zoom, high.zoom);
    to->x = (room_w / 2 - LANE_NAME_DP) / to->zoom;
    to->y = high.y;
}

bool scene_graph_fit(const scene *s, uint32_t element, graph_camera *to)
{
    const graph_view *g = s->graph;
    if (!g || !g->now) {
        return false;
    }
    uint32_t item = element < g->now->of->plan->n_elements ? g->now->v->item_of[element] : 0;
    if (item == GRAPH_NONE || item == 0) {
        fit_whole(s, g, to);
        return true;
    }
    const layout_box *b = &g->now->l->boxes[item];
    bool open = g->now->v->items[item].n_children > 0;
    fit_box(s, b->x, b->y, (double)b->w, (double)b->h, open ? 0.92 : 0.5, open ? FIT_MOST : 1, to);
    return true;
}

static double least_zoom(const scene *s, const graph_view *g)
{
    graph_camera all;
    fit_whole(s, g, &all);
    return fmin(all.zoom * 0.5, 0.5);
}

graph_camera scene_graph_zoom(const scene *s, graph_camera from, double factor, double x_px, double y_px)
{
    const graph_view *g = s->graph;
    if (!g || !g->now || !(from.zoom > 0)) {
        return from;
    }
    double zoom = fmin(fmax(from.zoom * factor, least_zoom(s, g)), MOST_ZOOM);
    double dx = (x_px - (double)(s->m.plot.x + s->m.plot.w / 2)) / (double)s->m.s;
    double dy = (y_px - (double)(s->m.plot.y + s->m.plot.h / 2)) / (double)s->m.s;
    graph_camera to = {from.x + dx / from.zoom - dx / zoom, from.y + dy / from.zoom - dy / zoom, zoom};
    return to;
}

bool scene_graph_wants_go(scene *s, graph_camera *to)
{
    graph_view *g = s->graph;
    if (!g || !g->wants_go || !g->now || g->selected == GRAPH_NONE) {
        return false;
    }
    if (g->now->v->item_of[g->selected] == GRAPH_NONE) {
        return false; /* its picture is on its way */
    }
    g->wants_go = false;
    return scene_graph_fit(s, g->selected, to);
}

static void set_camera(scene *s, graph_view *g, double moved_x, double moved_y)
{
    graph_camera at = s->v.graph.at;
    if (!(at.zoom > 0) || !isfinite(at.x + at.y + at.zoom)) {
        fit_first(s, g, &at);
    } else {
        at.x += moved_x;
        at.y += moved_y;
        at.zoom = fmin(fmax(at.zoom, least_zoom(s, g)), MOST_ZOOM);
        at.x = fmin(fmax(at.x, -100), g->now->l->width + 100);
        at.y = fmin(fmax(at.y, -100), g->now->l->height + 100);
    }
    g->at = at;
    s->frame.graph = at;
    g->k = at.zoom * (double)s->m.s;
    g->x0 = at.x - 0.5 * (double)s->m.plot.w / g->k;
    g->y0 = at.y - 0.5 * (double)s->m.plot.h / g->k;
}

/* ------------------------------------------------------------------ pictures */

static void measure_letters(scene *s, float widths[128])
{
    for (int c = 0; c < 128; c++) {
        char sign = (char)c;
        widths[c] = c < 32 ? 0 : text_width(s->text, FACE_SANS_MEDIUM, (float)LABEL_DP, &sign, 1);
    }
}

static void take_state(graph_view *g, const graph_picture *p)
{
    if (g->state_of) {
        graph_state_deinit(&g->state);
        plan_box_drop(&g->state_of);
    }
    memset(&g->state, 0, sizeof g->state);
    graph_state_copy(&g->state, &p->state);
    g->state_of = plan_box_hold(p->of);
}

/* What was opened or closed stays where it was on screen. */
static void find_shift(graph_view *g, const graph_picture *old, const graph_picture *now)
{
    g->shift_x = g->shift_y = 0;
    uint32_t e = g->anchor != GRAPH_NONE ? g->anchor : g->selected;
    if (!old || old->of != now->of || e >= now->of->plan->n_elements) {
        return;
    }
    uint32_t a = old->v->item_of[e];
    uint32_t b = now->v->item_of[e];
    if (a != GRAPH_NONE && b != GRAPH_NONE) {
        g->shift_x = now->l->boxes[b].x - old->l->boxes[a].x;
        g->shift_y = now->l->boxes[b].y - old->l->boxes[a].y;
    }
}

static void take_picture(scene *s, graph_view *g, graph_picture *p)
{
    graph_picture *old = g->now;
    graph_work_give_back(g->work, &g->before);
    find_shift(g, old, p);
    g->now = p;
    g->hover_item = GRAPH_NONE;
    bool other_plan = !g->state_of || g->state_of != p->of;
    if (old && old->of != p->of) {
        graph_take_over(g, old, p);
    }
    if (other_plan || (!g->is_changed && !graph_work_is_due(g->work))) {
        take_state(g, p);
    }
    g->anchor = GRAPH_NONE;
    bool moves = s->in.now_ns > 0 && old;
    g->passage_ns = moves ? s->in.now_ns : 0;
    if (moves) {
        g->before = old;
    } else {
        graph_work_give_back(g->work, &old);
    }
}

static void step_passage(scene *s, graph_view *g)
{
    g->passage = 1;
    if (g->before) {
        double t = s->in.now_ns > 0 ? (double)(s->in.now_ns - g->passage_ns) / (double)PASSAGE_NS : 1;
        if (t >= 1) {
            graph_work_give_back(g->work, &g->before);
        } else {
            g->passage = (1 - exp(-5 * fmax(t, 0))) / (1 - exp(-5));
            s->frame.is_fading = true;
        }
    }
}

static uint32_t node_of(const graph_plan *p, uint32_t element)
{
    while (element < p->n_elements && p->elements[element].kind != ELEMENT_LEAF) {
        if (p->elements[element].n_children == 0) {
            return GRAPH_NONE;
        }
        element = p->elements[element].first_child; /* ways begin at the first of a module */
    }
    return element < p->n_elements ? p->elements[element].node : GRAPH_NONE;
}

static void ask(scene *s, graph_view *g)
{
    const view_graph *v = &s->v.graph;
    graph_shape shape = {v->steps_off, v->strictness, v->down, v->smooth, v->by_stage};
    const graph_plan *p = g->now ? g->now->of->plan : NULL;
    uint32_t from = p && g->path_to != GRAPH_NONE ? node_of(p, g->selected) : GRAPH_NONE;
    uint32_t to = p && g->path_to != GRAPH_NONE ? node_of(p, g->path_to) : GRAPH_NONE;
    bool same =
        g->is_asked && memcmp(&shape, &g->asked, sizeof shape) == 0 && from == g->asked_from && to == g->asked_to;
    if (same && !g->is_changed) {
        return;
    }
    graph_wish wish = {shape, from, to, g->state_of ? &g->state : NULL, g->state_of};
    graph_work_ask(g->work, &wish);
    g->asked = shape;
    g->asked_from = from;
    g->asked_to = to;
    g->is_asked = true;
    g->is_changed = false;
}

/* An event that was selected elsewhere leads to its operator. */
static void follow_run(scene *s, graph_view *g)
{
    if (s->v.selected_row == g->linked_row || !g->now || !graph_work_join(g->work)) {
        return;
    }
    g->linked_row = s->v.selected_row;
    if (s->v.selected_row != UINT64_MAX && scene_graph_select_event(s, s->v.selected_row)) {
        g->wants_go = true;
    }
}

static void look_for_first(scene *s, graph_view *g)
{
    if (!g->now || g->has_looked || !g->first.select) {
        return;
    }
    g->has_looked = true;
    uint32_t e = graph_find_named(g->now->of->plan, g->first.select);
    if (e == GRAPH_NONE) {
        (void)diag_error(s->d, MAREY_ARG, NULL, DIAG_NO_OFFSET, "The graph has nothing named \"%s\".", g->first.select);
        g->is_failed = true;
        return;
    }
    scene_graph_select(s, e, true);
}

/* What the thread has ready, and what it is to do next. @return has another picture come? */
static bool keep_up(scene *s, graph_view *g)
{
    if (!g->work) {
        float widths[128];
        measure_letters(s, widths);
        g->work = graph_work_create(s->file, g->given, widths, &g->first);
        graph_work_set_wake(g->work, s->wake, s->wake_ctx);
    }
    graph_picture *p = graph_work_take(g->work);
    if (p) {
        take_picture(s, g, p);
    }
    look_for_first(s, g);
    follow_run(s, g);
    ask(s, g);
    if (graph_work_is_due(g->work)) {
        s->frame.complete = false;
        s->src.n_wanted++;
    }
    return p != NULL;
}

static void graph_prepare(scene *s)
{
    graph_view *g = view_of(s);
    if (!scene_has_graph(s)) {
        return;
    }
    bool fresh = keep_up(s, g);
    step_passage(s, g);
    if (g->now) {
        set_camera(s, g, fresh ? g->shift_x : 0, fresh ? g->shift_y : 0);
    }
}

/* In the other layouts the graph is there once something is selected, to tell which operator that is and what else
 * belongs to it. */
marey_status graph_beside(scene *s)
{
    bool looks = s->graph && s->graph->first.select && !s->graph->has_looked;
    bool selects = s->v.selected_row != UINT64_MAX || looks;
    if (!scene_has_graph(s) || s->model->n_events == 0 || (!selects && !(s->graph && s->graph->work))) {
        return MAREY_OK;
    }
    graph_view *g = view_of(s);
    (void)keep_up(s, g);
    graph_work_give_back(g->work, &g->before); /* nobody sees it pass */
    g->passage = 1;
    return g->is_failed ? MAREY_ARG : MAREY_OK;
}

bool scene_graph_found_first(scene *s)
{
    bool found = s->graph && s->graph->has_looked && !s->graph->has_told && s->graph->now &&
                 graph_work_join(s->graph->work) && s->graph->selected != GRAPH_NONE;
    if (found) {
        s->graph->has_told = true;
    }
    return found;
}

/* ------------------------------------------------------------------ the frame */

void graph_area_add(scene *s, rect r, graph_hit hit)
{
    graph_view *g = s->graph;
    VEC_PUSH(g->areas, g->n_areas, g->cap_areas, ((graph_area){r, hit}));
}

static graph_hit hit_at(const scene *s, double x, double y)
{
    const graph_view *g = s->graph;
    for (size_t i = g->n_areas; i-- > 0;) { /* the last drawn lies on top */
        if (inside(g->areas[i].r, x, y)) {
            return g->areas[i].hit;
        }
    }
    for (size_t i = g->n_seen; i-- > 0;) {
        const seen_item *k = &g->seen[i];
        if (k->kind == SEEN_BLOB || k->item == 0 || k->item >= g->now->v->n_items || !inside(k->r, x, y)) {
            continue;
        }
        return (graph_hit){k->kind == SEEN_OPEN ? GRAPH_HIT_FRAME : GRAPH_HIT_ITEM, g->now->v->items[k->item].element,
                           0};
    }
    return (graph_hit){0};
}

scene_pick graph_pick(const scene *s, double x, double y, scene_pick p)
{
    const graph_view *g = s->graph;
    p.kind = PICK_NONE;
    if (g && g->now && inside(s->m.plot, x, y)) {
        p.graph = hit_at(s, x, y);
        p.kind = PICK_GRAPH;
    }
    return p;
}

static void update_hover(scene *s, graph_view *g)
{
    g->hover = (graph_hit){0};
    g->hover_item = GRAPH_NONE;
    bool inside_plot = s->in.cursor_x >= 0 && inside(s->m.plot, s->in.cursor_x, s->in.cursor_y);
    if (s->v.show_help || !inside_plot || g->passage < 1) {
        return;
    }
    g->hover = hit_at(s, s->in.cursor_x, s->in.cursor_y);
    if (g->hover.kind == GRAPH_HIT_ITEM || g->hover.kind == GRAPH_HIT_TITLE) {
        g->hover_item = g->now->v->item_of[g->hover.element];
    }
}

static void draw_message(scene *s, const char *text)
{
    (void)put_text(s, LAYER_MARKS, FACE_SANS, 13, s->m.plot, TEXT_CENTRE, s->t->dim, text);
}

static void draw_picture(scene *s, graph_view *g)
{
    draw_push_clip(s->l, s->m.plot);
    graph_lanes_draw(s, g);
    graph_collect(s, g);
    update_hover(s, g); /* against where things lie now, and the marks of the last frame */
    g->n_areas = 0;
    graph_find_lit(s, g);
    graph_boxes_draw(s, g);
    graph_lines_draw(s, g);
    graph_stubs_draw(s, g);
    graph_chrome_draw(s, g);
    graph_minimap_draw(s, g);
    draw_pop_clip(s->l);
}

/* Errors: ARG when what was to be chosen first does not exist. */
marey_status graph_draw(scene *s)
{
    s->src.n_wanted = 0;
    graph_prepare(s);
    graph_view *g = s->graph;
    const char *error = g->work ? graph_work_error(g->work) : NULL;
    if (g->now) {
        draw_picture(s, g);
    } else if (!scene_has_graph(s)) {
        draw_message(s, "This file holds no graph. `marey convert --graph FILE` joins one to a run.");
    } else {
        draw_message(s, error ? error : "Simplifying and laying out the graph\xE2\x80\xA6");
    }
    draw_bar(s);
    s->frame.n_wanted = s->src.n_wanted;
    draw_status(s);
    if (g->now) {
        graph_tip_draw(s, g);
    }
    draw_help(s);
    return g->is_failed ? MAREY_ARG : MAREY_OK;
}

void graph_view_free(graph_view **pg)
{
    graph_view *g = *pg;
    if (!g) {
        return;
    }
    graph_picture_free(&g->now);
    graph_picture_free(&g->before);
    graph_forget(g);
    if (g->state_of) {
        graph_state_deinit(&g->state);
        plan_box_drop(&g->state_of);
    }
    graph_work_destroy(&g->work);
    free(g->seen);
    free(g->areas);
    free(g->placed);
    free(g->marks);
    free(g);
    *pg = NULL;
}

void graph_set_wake(scene *s)
{
    if (s->graph && s->graph->work) {
        graph_work_set_wake(s->graph->work, s->wake, s->wake_ctx);
    }
}

bool graph_settle(scene *s)
{
    return s->graph && s->graph->work && graph_work_settle(s->graph->work);
}
