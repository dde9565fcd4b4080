/* Lines between the elements of each open module: tracks with small round corners, as wide as the logarithm of their
 * bytes. Communication has its own colour, what only orders is thin and dashed, what runs back is dashed. */
#include <string.h>

#include "scene/graph_view.h"

enum { SIZE_PLACES = 5, SIZE_MAX_LINES = 400 };
static const double LEAST_GAP_DP = 8; /* below, the lines of a module would be one grey field */

typedef struct line_pen {
    scene *s;
    graph_view *g;
    const graph_picture *p;
    draw_layer layer;
    rgba colour;
    float width, dash;
    double ox, oy; /* px of the module's top left */
    double k;
    float arrow; /* length of the arrow at the end, px; 0: none */
    size_t n_drawn;
    bool has_size; /* a line of the module tells its size: one is enough */
    bool is_full;
} line_pen;

/* ------------------------------------------------------------------ strokes */

static void stroke(line_pen *n, float x0, float y0, float x1, float y1)
{
    draw_list *l = n->s->l;
    if (n->dash > 0) {
        draw_dashed(l, n->layer, x0, y0, x1, y1, n->width, n->dash, n->colour);
    } else {
        draw_segment(l, n->layer, x0, y0, x1, y1, n->width, n->colour);
    }
}

static bool is_near(const line_pen *n, float x0, float y0, float x1, float y1)
{
    rect p = n->s->m.plot;
    float far = 16;
    return fminf(x0, x1) < p.x + p.w + far && fmaxf(x0, x1) > p.x - far && fminf(y0, y1) < p.y + p.h + far &&
           fmaxf(y0, y1) > p.y - far;
}

/* Axis-parallel parts are cut to what is near the plot, so that dashes and floats stay small. */
static void piece(line_pen *n, float x0, float y0, float x1, float y1)
{
    rect p = n->s->m.plot;
    if (!is_near(n, x0, y0, x1, y1)) {
        return;
    }
    float far = 24;
    x0 = fminf(fmaxf(x0, p.x - far), p.x + p.w + far);
    x1 = fminf(fmaxf(x1, p.x - far), p.x + p.w + far);
    y0 = fminf(fmaxf(y0, p.y - far), p.y + p.h + far);
    y1 = fminf(fmaxf(y1, p.y - far), p.y + p.h + far);
    stroke(n, x0, y0, x1, y1);
}

/* A quarter turn by a few short strokes, which reach into each other a little. */
static void turn(line_pen *n, const float a[2], const float b[2], const float c[2])
{
    enum { PARTS = 4 };
    float x0 = a[0];
    float y0 = a[1];
    for (int i = 1; i <= PARTS; i++) {
        float t = (float)i / PARTS;
        float u = 1 - t;
        float x1 = u * u * a[0] + 2 * u * t * b[0] + t * t * c[0];
        float y1 = u * u * a[1] + 2 * u * t * b[1] + t * t * c[1];
        float len = hypotf(x1 - x0, y1 - y0);
        float more = len > 0 ? 0.18F * n->width / len : 0;
        if (is_near(n, x0, y0, x1, y1)) {
            draw_segment(n->s->l, n->layer, x0 - more * (x1 - x0), y0 - more * (y1 - y0), x1 + more * (x1 - x0),
                         y1 + more * (y1 - y0), n->width, n->colour);
        }
        x0 = x1;
        y0 = y1;
    }
}

static void point_px(const line_pen *n, const layout_point *q, float out[2])
{
    out[0] = (float)(n->ox + (double)q->x * n->k);
    out[1] = (float)(n->oy + (double)q->y * n->k);
    /* Tracks lie on pixels: odd widths in the middle of one, even ones between two. */
    float half = fmodf(n->width, 2) >= 1 ? 0.5F : 0;
    out[0] = floorf(out[0]) + half;
    out[1] = floorf(out[1]) + half;
}

static float reach_of(const float a[2], const float b[2], float most)
{
    return fminf(most, 0.5F * (fabsf(a[0] - b[0]) + fabsf(a[1] - b[1])));
}

static void along(const float from[2], const float to[2], float by, float out[2])
{
    float len = fmaxf(hypotf(to[0] - from[0], to[1] - from[1]), 1e-6F);
    out[0] = from[0] + (to[0] - from[0]) * by / len;
    out[1] = from[1] + (to[1] - from[1]) * by / len;
}

static void draw_track(line_pen *n, const layout_point *q, uint32_t count)
{
    float radius = (float)(LAYOUT_CORNER * fmin(n->k / (double)n->s->m.s, 1.4) * (double)n->s->m.s);
    float at[2];
    float b[2];
    point_px(n, &q[0], at);
    for (uint32_t i = 1; i < count; i++) {
        point_px(n, &q[i], b);
        if (i + 1 == count) { /* the arrow's tip is thinner than the line */
            float len = hypotf(b[0] - at[0], b[1] - at[1]);
            along(b, at, fminf(0.7F * n->arrow, len), b);
            piece(n, at[0], at[1], b[0], b[1]);
            return;
        }
        float c[2];
        point_px(n, &q[i + 1], c);
        bool straight = (at[0] == b[0] && b[0] == c[0]) || (at[1] == b[1] && b[1] == c[1]);
        float r = straight || radius < 3 ? 0 : fminf(reach_of(at, b, radius), reach_of(b, c, radius));
        float before[2];
        float after[2];
        along(b, at, r, before);
        along(b, c, r, after);
        piece(n, at[0], at[1], before[0], before[1]);
        if (r > 0) {
            turn(n, before, b, after);
        } else if (!straight) { /* a square joint has no notch */
            float h = n->width / 2;
            piece(n, b[0] - h, b[1], b[0] + h, b[1]);
        }
        at[0] = r > 0 ? after[0] : b[0];
        at[1] = r > 0 ? after[1] : b[1];
    }
}

static void draw_curve(line_pen *n, const layout_point *q, uint32_t count)
{
    for (uint32_t i = 0; i + 3 < count; i += 3) {
        float p[4][2];
        for (int k = 0; k < 4; k++) {
            p[k][0] = (float)(n->ox + (double)q[i + (uint32_t)k].x * n->k);
            p[k][1] = (float)(n->oy + (double)q[i + (uint32_t)k].y * n->k);
        }
        float size = fabsf(p[3][0] - p[0][0]) + fabsf(p[3][1] - p[0][1]);
        int parts = size < 12 ? 2 : size < 60 ? 6 : 14;
        float x0 = p[0][0];
        float y0 = p[0][1];
        for (int k = 1; k <= parts; k++) {
            float t = (float)k / (float)parts;
            float u = 1 - t;
            float x1 = u * u * u * p[0][0] + 3 * u * u * t * p[1][0] + 3 * u * t * t * p[2][0] + t * t * t * p[3][0];
            float y1 = u * u * u * p[0][1] + 3 * u * u * t * p[1][1] + 3 * u * t * t * p[2][1] + t * t * t * p[3][1];
            if (is_near(n, x0, y0, x1, y1)) {
                stroke(n, x0, y0, x1, y1);
            }
            x0 = x1;
            y0 = y1;
        }
    }
}

/* ------------------------------------------------------------------ what a line looks like */

static float width_of_line(const scene *s, const visible_line *l, double zoom)
{
    double w = 1.5;
    if (l->bytes > 0) {
        w += 0.2 * fmax(log2((double)l->bytes) - 17, 0);
    } else {
        w += 0.3 * log2(fmax((double)l->n_edges, 1));
    }
    w = fmin(w, 4);
    w = l->flags & LINE_CONTROL ? 1 : w;
    w *= fmin(fmax(zoom, 0.25), 1.6) * (double)s->m.s;
    return fmaxf(snap(w), 1);
}

static rgba colour_of_line(const scene *s, uint8_t flags)
{
    if (flags & LINE_P2P) {
        return s->t->data[CLASS_SEND];
    }
    if (flags & LINE_COMM) {
        return s->t->data[CLASS_COLLECTIVE];
    }
    if (flags & LINE_REVEALED) {
        return s->t->accent;
    }
    return graph_mix(s->t->faint, s->t->dim, 0.25);
}

static bool is_lit_line(const graph_view *g, const visible_line *l)
{
    if (g->hover_item != GRAPH_NONE) {
        return l->from == g->hover_item || l->to == g->hover_item;
    }
    const uint8_t *on = g->now->on_path;
    return !on || (on[l->from] && on[l->to] && on[l->module]);
}

/* How much room the elements of a module have on screen: below a limit its lines are left out. */
static bool has_room(const line_pen *n, uint32_t module)
{
    const visible_item *m = &n->p->v->items[module];
    const layout_box *b = &n->p->l->boxes[module];
    double area = (double)b->w * (double)b->h * n->k * n->k / fmax(m->n_children, 1);
    double gap = LEAST_GAP_DP * (double)n->s->m.s * (double)n->g->coarse;
    return sqrt(area) >= 2.4 * gap;
}

static rgba line_paint(const line_pen *n, const visible_line *l, float alpha)
{
    const scene *s = n->s;
    rgba c = colour_of_line(s, l->flags);
    if (is_dimming(n->g)) {
        bool lit = is_lit_line(n->g, l);
        bool plain = !(l->flags & (LINE_P2P | LINE_COMM));
        c = !lit ? graph_mix(s->l->clear, c, 0.3) : plain ? s->t->accent : c;
    }
    return alpha >= 1 ? c : graph_mix(s->l->clear, c, (double)alpha);
}

/* ------------------------------------------------------------------ ends */

static float arrow_size(const line_pen *n)
{
    double zoom = n->k / (double)n->s->m.s;
    double dp = (4.2 + 0.9 * (double)n->width / (double)n->s->m.s) * fmin(zoom, 1.3);
    float size = (float)(fmax(dp, zoom > 0.34 ? 4 : 0) * (double)n->s->m.s);
    return size < 2.5F ? 0 : size;
}

static void draw_arrow(line_pen *n, const layout_point *q, uint32_t count)
{
    float end[2];
    float before[2];
    point_px(n, &q[count - 1], end);
    point_px(n, &q[count - 2], before);
    float len = hypotf(end[0] - before[0], end[1] - before[1]);
    if (len < 1e-3F || n->arrow <= 0) {
        return;
    }
    float dx = (end[0] - before[0]) / len;
    float dy = (end[1] - before[1]) / len;
    float half = 0.62F * n->arrow;
    float x[3] = {end[0], end[0] - n->arrow * dx - half * dy, end[0] - n->arrow * dx + half * dy};
    float y[3] = {end[1], end[1] - n->arrow * dy + half * dx, end[1] - n->arrow * dy - half * dx};
    draw_triangle(n->s->l, n->layer, x, y, n->colour);
}

/* A ring where a line goes through a module's side. */
static void draw_port(line_pen *n, const layout_point *q)
{
    float at[2];
    point_px(n, q, at);
    double zoom = n->k / (double)n->s->m.s;
    float r = (float)(4.2 * fmin(zoom, 1.2) * (double)n->s->m.s);
    if (r < 2 || !is_near(n, at[0], at[1], at[0], at[1])) {
        return;
    }
    rect ring = {at[0] - r, at[1] - r, 2 * r, 2 * r};
    draw_round(n->s->l, LAYER_DATA, ring, r, n->s->t->ground, fmaxf(1.5F * n->s->m.s, 1), n->colour);
}

/* Does a line of the module run through the text? */
static bool is_crossed(const line_pen *n, uint32_t module, rect r)
{
    const float pad = n->width;
    graph_rows lines = graph_lines_in(n->p->v, module);
    for (uint32_t i = lines.first; i < lines.end; i++) {
        const layout_route *route = &n->p->l->routes[i];
        const layout_point *q = &n->p->l->points[route->first_point];
        float a[2];
        float b[2];
        for (uint32_t k = 0; k < route->n_points; k++) {
            point_px(n, &q[k], b);
            if (k > 0 && fminf(a[0], b[0]) - pad < r.x + r.w && fmaxf(a[0], b[0]) + pad > r.x &&
                fminf(a[1], b[1]) < r.y + r.h && fmaxf(a[1], b[1]) > r.y) {
                return true;
            }
            memcpy(a, b, sizeof a);
        }
    }
    return false;
}

/* Above or below a level piece, at its beginning, in its middle or at its end: the first place that nothing else has.
 */
static bool find_size_place(const line_pen *n, uint32_t module, const float a[2], const float b[2], rect *r)
{
    float x0 = fminf(a[0], b[0]) + px(n->s, 14);
    float room = fmaxf(a[0], b[0]) - px(n->s, 14) - r->w - x0;
    for (int i = 0; i < 2 * SIZE_PLACES; i++) {
        bool below = i >= SIZE_PLACES;
        r->x = snap((double)(x0 + room * (float)(i % SIZE_PLACES) / (SIZE_PLACES - 1)));
        r->y = below ? a[1] + n->width / 2 : a[1] - r->h - n->width / 2;
        rect core = {r->x, r->y + r->h * 0.15F, r->w, r->h * 0.7F}; /* letters don't fill their line */
        if (!is_crossed(n, module, core) && graph_place(n->g, *r)) {
            return true;
        }
    }
    return false;
}

/* "128 MiB" on the widest lines, where there is room at a long level piece. */
static void draw_size(line_pen *n, const visible_line *l, const layout_point *q, uint32_t count)
{
    scene *s = n->s;
    double dp = graph_text_dp(s, n->g, 10.5);
    if (n->has_size || l->bytes < ((uint64_t)1 << 20) || dp < 8) {
        return;
    }
    graph_rows lines = graph_lines_in(n->p->v, l->module);
    if (lines.end - lines.first > SIZE_MAX_LINES) {
        return;
    }
    for (uint32_t i = 1; i + 1 < count; i++) { /* never on the pieces at the ends, where neighbours are near */
        float a[2];
        float b[2];
        point_px(n, &q[i - 1], a);
        point_px(n, &q[i], b);
        char text[48];
        bytes_format(l->bytes, text, sizeof text);
        float w = width_of(s, FACE_SANS, dp, text);
        rect r = {0, 0, w + 2, px(s, dp * 1.4)};
        if (i > 1 && a[1] == b[1] && fabsf(a[0] - b[0]) > 6 * w && is_near(n, a[0], a[1], b[0], b[1]) &&
            find_size_place(n, l->module, a, b, &r)) {
            n->has_size = true;
            (void)put_text(s, LAYER_DATA, FACE_SANS, dp, r, TEXT_LEFT, s->t->dim, text);
            return;
        }
    }
}

/* ------------------------------------------------------------------ modules */

static void draw_visible_line(void *ctx, uint32_t place)
{
    line_pen *n = ctx;
    const visible_line *l = &n->p->v->lines[place];
    const layout_route *r = &n->p->l->routes[place];
    if (r->n_points < 2 || n->n_drawn >= GRAPH_MAX_LINES) {
        n->is_full = n->is_full || n->n_drawn >= GRAPH_MAX_LINES;
        return;
    }
    const layout_point *q = &n->p->l->points[r->first_point];
    double zoom = n->k / (double)n->s->m.s;
    bool lit = is_dimming(n->g) && is_lit_line(n->g, l);
    n->layer = lit ? LAYER_DATA : LAYER_GROUND; /* on top of what is dim */
    n->width = width_of_line(n->s, l, zoom);
    n->colour = line_paint(n, l, n->g->passage < 1 ? (float)n->g->passage : 1);
    n->dash = l->flags & LINE_BACK ? px(n->s, fmax(5 * zoom, 3)) : l->flags & LINE_CONTROL ? px(n->s, 3) : 0;
    n->width += lit && zoom < 0.6 ? 1 : 0;
    n->arrow = l->to != l->module && n->p->v->items[l->to].n_children == 0 ? arrow_size(n) : 0;
    n->n_drawn++;
    if (n->s->v.graph.smooth && (r->n_points - 1) % 3 == 0) {
        draw_curve(n, q, r->n_points);
    } else {
        draw_track(n, q, r->n_points);
        draw_size(n, l, q, r->n_points);
    }
    if (l->to != l->module) {
        draw_arrow(n, q, r->n_points);
    } else if (l->module != 0) {
        draw_port(n, &q[r->n_points - 1]);
    }
    if (l->from == l->module && l->module != 0) {
        draw_port(n, &q[0]);
    }
}

static void skip_blob(void *ctx, const index_box *b, uint8_t klass, uint8_t cover)
{
    (void)cover;
    (void)ctx;
    (void)b;
    (void)klass;
}

static void draw_module_lines(line_pen *n, uint32_t module)
{
    const index_tree *tree = graph_tree_of(&n->p->index.lines, module);
    const layout_box *b = &n->p->l->boxes[module];
    const scene *s = n->s;
    n->has_size = false;
    n->ox = (double)world_x(s, n->g, b->x);
    n->oy = (double)world_y(s, n->g, b->y);
    if (!has_room(n, module)) {
        return;
    }
    if (!tree) {
        graph_rows lines = graph_lines_in(n->p->v, module);
        for (uint32_t i = lines.first; i < lines.end; i++) {
            draw_visible_line(n, i);
        }
        return;
    }
    index_visit how = {draw_visible_line, skip_blob, n, {0, 0, 0, 0}, (float)(3 * (double)s->m.s / n->k)};
    how.seen.x0 = (float)(n->g->x0 - b->x);
    how.seen.y0 = (float)(n->g->y0 - b->y);
    how.seen.x1 = how.seen.x0 + (float)((double)s->m.plot.w / n->k);
    how.seen.y1 = how.seen.y0 + (float)((double)s->m.plot.h / n->k);
    graph_trees_visit(&n->p->index, tree, &how);
}

void graph_lines_draw(scene *s, graph_view *g)
{
    line_pen n = {.s = s, .g = g, .p = g->now, .k = g->k};
    for (size_t i = 0; i < g->n_seen; i++) {
        if (g->seen[i].kind == SEEN_OPEN) {
            draw_module_lines(&n, g->seen[i].item);
        }
    }
}
