/* Around the picture: the path of what is in view, the switches of simplification, the account of edges. */
#include <string.h>

#include "scene/graph_view.h"

static const double HEAD_DP = 40;
static const double LEAST_PATH_DP = 120; /* room for the path of what is in view */

/* ------------------------------------------------------------------ path */

static void draw_path(scene *s, graph_view *g, float right)
{
    const graph_plan *p = g->now->of->plan;
    uint32_t path[64];
    size_t n = 0;
    uint32_t at = g->selected != GRAPH_NONE ? g->selected : graph_in_view(s, g);
    for (; at != 0 && n < 63; at = p->elements[at].parent) {
        path[n++] = at;
    }
    path[n++] = 0;
    rect r = {s->m.plot.x + s->m.pad, s->m.plot.y, 0, px(s, HEAD_DP)};
    const char *more = "\xE2\x80\xA6 \xE2\x80\xBA ";
    float width = 0;
    size_t first = n; /* as many of the innermost as there is room for */
    for (size_t i = 0; i < n; i++) {
        float w = width_of(s, FACE_SANS_MEDIUM, 12, plan_label(p, path[i])) + px(s, 20);
        if (r.x + width + w > right - px(s, 40) && i > 0) {
            break;
        }
        width += w;
        first = i;
    }
    if (first + 1 < n) {
        r.w = right - r.x;
        r.x += put_text(s, LAYER_PANELS, FACE_SANS, 12, r, TEXT_LEFT, s->t->faint, more);
    }
    for (size_t i = first + 1; i-- > 0;) {
        bool last = i == 0;
        const char *name =
            path[i] == 0 && !plan_label(p, 0)[0] ? graph_string(p->g, p->g->name) : plan_label(p, path[i]);
        name = name[0] ? name : "graph";
        r.w = fmaxf(right - r.x, 0);
        bool hovered = g->hover.kind == GRAPH_HIT_CRUMB && g->hover.element == path[i];
        rgba c = last || hovered ? s->t->text : s->t->dim;
        float w = put_text(s, LAYER_PANELS, last ? FACE_SANS_MEDIUM : FACE_SANS, 12, r, TEXT_LEFT, c, name);
        graph_area_add(s, (rect){r.x, r.y, w, r.h}, (graph_hit){GRAPH_HIT_CRUMB, path[i], 0});
        r.x += w;
        if (!last) {
            r.x += px(s, 7);
            r.w = fmaxf(right - r.x, 0);
            r.x += put_text(s, LAYER_PANELS, FACE_SANS, 12, r, TEXT_LEFT, s->t->faint, "\xE2\x80\xBA") + px(s, 7);
        }
    }
}

/* ------------------------------------------------------------------ switches */

static void draw_switch(scene *s, graph_view *g, rect r, graph_step step, bool words)
{
    bool on = !(s->v.graph.steps_off >> step & 1);
    bool hovered = g->hover.kind == GRAPH_HIT_SWITCH && g->hover.element == (uint32_t)step;
    float w = px(s, 24);
    float h = px(s, 14);
    rect track = {r.x, r.y + floorf((r.h - h) / 2), w, h};
    rgba fill = on ? s->t->accent : s->t->line;
    draw_round(s->l, LAYER_PANELS, track, h / 2, fill, 0, fill);
    float knob = h - px(s, 4);
    rect dot = {on ? track.x + w - knob - px(s, 2) : track.x + px(s, 2), track.y + px(s, 2), knob, knob};
    draw_round(s->l, LAYER_PANELS, dot, knob / 2, s->t->ground, 0, s->t->ground);
    if (words) {
        rect text = {track.x + w + px(s, 7), r.y, r.w - w - px(s, 7), r.h};
        (void)put_text(s, LAYER_PANELS, FACE_SANS, 11.5, text, TEXT_LEFT, hovered ? s->t->text : s->t->dim,
                       graph_step_name(step));
    }
    graph_area_add(s, r, (graph_hit){GRAPH_HIT_SWITCH, (uint32_t)step, 0});
}

/* Widths of the switches, and of all with the gaps between them. */
static float measure_switches(scene *s, bool words, float gap, float w[GRAPH_STEP_COUNT])
{
    float total = -gap;
    for (int i = 0; i < GRAPH_STEP_COUNT; i++) {
        w[i] = px(s, 24);
        if (words) {
            w[i] += px(s, 7) + ceilf(width_of(s, FACE_SANS, 11.5, graph_step_name((graph_step)i)));
        }
        total += w[i] + gap;
    }
    return total;
}

/* With their names wherever these leave some room for the path. @return the left edge */
static float draw_switches(scene *s, graph_view *g)
{
    float w[GRAPH_STEP_COUNT];
    float room = s->m.plot.w - 2 * s->m.pad - px(s, LEAST_PATH_DP);
    float gap = px(s, 20);
    float total = measure_switches(s, true, gap, w);
    if (total > room) {
        gap = px(s, 12);
        total = measure_switches(s, true, gap, w);
    }
    bool words = total <= room;
    if (!words) {
        gap = px(s, 8);
        total = measure_switches(s, false, gap, w);
    }
    float x = s->m.plot.x + s->m.plot.w - s->m.pad - total;
    float left = x;
    if (total > room) {
        return s->m.plot.x + s->m.plot.w;
    }
    for (int i = 0; i < GRAPH_STEP_COUNT; i++) {
        draw_switch(s, g, (rect){x, s->m.plot.y, w[i], px(s, HEAD_DP)}, (graph_step)i, words);
        x += w[i] + gap;
    }
    return left;
}

/* Nothing of the picture shows behind the head: two texts over each other are none. */
static void draw_head_ground(scene *s)
{
    rect r = {s->m.plot.x, s->m.plot.y, s->m.plot.w, px(s, HEAD_DP)};
    draw_rect(s->l, LAYER_PANELS, r, s->l->clear);
}

static void draw_lanes(scene *s, graph_view *g)
{
    const graph_layout *l = g->now->l;
    for (size_t i = 0; i < l->n_lanes; i++) {
        float y0 = world_y(s, g, l->lanes[i].y);
        float y1 = world_y(s, g, l->lanes[i].y + l->lanes[i].h);
        if (y1 < s->m.plot.y || y0 > s->m.plot.y + s->m.plot.h) {
            continue;
        }
        rect r = {s->m.plot.x, snap((double)y0), s->m.plot.w, fmaxf(snap((double)y1) - snap((double)y0), 1)};
        if (i % 2 == 0) {
            draw_rect(s->l, LAYER_GROUND, r, s->t->row);
        }
        draw_hline(s->l, LAYER_GROUND, r.x, r.x + r.w, r.y, s->t->hairline);
        char text[32];
        (void)snprintf(text, sizeof text, r.h < px(s, 20) ? "%d" : "stage %d", l->lanes[i].stage);
        rect label = {r.x + s->m.pad, fmaxf(r.y, s->m.plot.y + px(s, HEAD_DP)) + px(s, 2), px(s, 100),
                      fminf(px(s, 16), r.h - px(s, 4))};
        if (r.h >= px(s, 14)) {
            (void)put_text(s, LAYER_MARKS, FACE_SANS_MEDIUM, r.h < px(s, 20) ? 9.5 : 11.5, label, TEXT_LEFT, s->t->dim,
                           text);
        }
    }
}

void graph_lanes_draw(scene *s, graph_view *g)
{
    draw_lanes(s, g);
}

void graph_chrome_draw(scene *s, graph_view *g)
{
    draw_head_ground(s);
    float right = draw_switches(s, g);
    draw_path(s, g, right - px(s, 24));
}

/* ------------------------------------------------------------------ words for bar and status line */

void graph_facts(const scene *s, char *out, size_t cap)
{
    const graph_view *g = s->graph;
    out[0] = '\0';
    if (!g || !g->now) {
        return;
    }
    const graph *gr = g->now->of->plan->g;
    char nodes[48];
    char edges[48];
    char shown[48];
    count_format(gr->n_nodes - gr->n_implied_nodes, nodes, sizeof nodes);
    count_format(gr->n_edges - gr->n_implied_edges, edges, sizeof edges);
    count_format(g->now->v->n_shown, shown, sizeof shown);
    int n = snprintf(out, cap, "%s operators \xC2\xB7 %s edges \xC2\xB7 %s shown", nodes, edges, shown);
    const graph_join *j = graph_work_join(g->work);
    if (!j || n <= 0 || (size_t)n >= cap) {
        return;
    }
    if (j->step >= 0) {
        (void)snprintf(out + n, cap - (size_t)n, " \xC2\xB7 joined to step %lld", (long long)j->step);
    } else {
        (void)snprintf(out + n, cap - (size_t)n, " \xC2\xB7 joined to the run");
    }
}

void graph_status(const scene *s, char *left, size_t left_cap, char *middle, size_t middle_cap)
{
    const graph_view *g = s->graph;
    left[0] = '\0';
    middle[0] = '\0';
    if (!g || !g->now) {
        return;
    }
    const visible *v = g->now->v;
    uint32_t at = graph_in_view(s, g);
    const graph_plan *p = g->now->of->plan;
    const char *name = at == 0 ? "all" : plan_label(p, at);
    double percent = 100 * zoom_of(s, g);
    char place[80];
    graph_short_path(name, place, sizeof place, 36); /* the path above has all of it */
    (void)snprintf(left, left_cap, "%s \xC2\xB7 %.*f %% \xC2\xB7 %s", place, percent < 2 ? 1 : 0, percent, g->detail);
    char all[48];
    char drawn[48];
    char bundled[48];
    char stubbed[48];
    char folded[48];
    count_format(v->n_drawn + v->n_bundled + v->n_stubbed + v->n_folded, all, sizeof all);
    count_format(v->n_drawn, drawn, sizeof drawn);
    count_format(v->n_bundled, bundled, sizeof bundled);
    count_format(v->n_stubbed, stubbed, sizeof stubbed);
    count_format(v->n_folded, folded, sizeof folded);
    int n = snprintf(middle, middle_cap, "%s edges = %s drawn + %s bundled + %s stubbed + %s folded", all, drawn,
                     bundled, stubbed, folded);
    if (g->now->on_path && n > 0 && (size_t)n < middle_cap) {
        count_format(g->now->n_on_path, all, sizeof all);
        (void)snprintf(middle + n, middle_cap - (size_t)n, " \xC2\xB7 %s operators on the ways between the two", all);
    } else if (v->n_back > 0 && n > 0 && (size_t)n < middle_cap) {
        (void)snprintf(middle + n, middle_cap - (size_t)n, " \xC2\xB7 %zu back", v->n_back);
    }
}
