/* Modules, stacks and operators: frames of what is open, boxes of what is closed, and plain fields where both are too
 * small to tell apart. */
#include <string.h>

#include "scene/graph_view.h"

static const double FRAME_RADIUS_DP = 8;
static const double BOX_RADIUS_DP = 5;
static const double SHEET_DP = 6;       /* from one sheet of a stack to the next */
static const double LEAST_NAMED = 0.27; /* zoom, from which titles have room */
static const double ROOMY = 0.34;       /* zoom, from which they have more */
static const double LEAST_NAME_DP = 8;
static const double LEAST_FITTED_DP = 7; /* of names that have no room at that */
static const double CHIP_DP = 10.5;
enum { SHORT_NAME = 14 }; /* bytes */

/* ------------------------------------------------------------------ colours */

rgba graph_mix(rgba a, rgba b, double part)
{
    double p = fmin(fmax(part, 0), 1);
    return (rgba){(uint8_t)lround(a.r + p * (b.r - a.r)), (uint8_t)lround(a.g + p * (b.g - a.g)),
                  (uint8_t)lround(a.b + p * (b.b - a.b)), 255};
}

rgba scene_graph_class_colour(const theme *t, uint8_t klass)
{
    static const uint8_t places[GRAPH_CLASS_COUNT] = {[GRAPH_CLASS_OTHER] = CLASS_OTHER,
                                                      [GRAPH_CLASS_MATMUL] = CLASS_MATMUL,
                                                      [GRAPH_CLASS_CONVOLUTION] = CLASS_MATMUL,
                                                      [GRAPH_CLASS_ATTENTION] = CLASS_FORWARD,
                                                      [GRAPH_CLASS_NORMALIZATION] = CLASS_RECOMPUTE,
                                                      [GRAPH_CLASS_ACTIVATION] = CLASS_RUNTIME + 1,
                                                      [GRAPH_CLASS_ELEMENTWISE] = CLASS_COMPUTE,
                                                      [GRAPH_CLASS_REDUCTION] = CLASS_BACKWARD,
                                                      [GRAPH_CLASS_LAYOUT] = CLASS_CPU_OP,
                                                      [GRAPH_CLASS_EMBEDDING] = CLASS_ANNOTATION,
                                                      [GRAPH_CLASS_RECURRENT] = CLASS_FORWARD,
                                                      [GRAPH_CLASS_OPTIMIZER] = CLASS_OPTIMIZER,
                                                      [GRAPH_CLASS_COLLECTIVE] = CLASS_COLLECTIVE,
                                                      [GRAPH_CLASS_SEND] = CLASS_SEND,
                                                      [GRAPH_CLASS_RECEIVE] = CLASS_RECEIVE,
                                                      [GRAPH_CLASS_CONTROL] = CLASS_RUNTIME,
                                                      [GRAPH_CLASS_BOOKKEEPING] = CLASS_OTHER,
                                                      [GRAPH_CLASS_DATA] = CLASS_COPY};
    return t->data[klass < GRAPH_CLASS_COUNT ? places[klass] : CLASS_OTHER];
}

bool graph_is_communication(uint8_t klass)
{
    return klass == GRAPH_CLASS_COLLECTIVE || klass == GRAPH_CLASS_SEND || klass == GRAPH_CLASS_RECEIVE;
}

static rgba heat(const theme *t, double part)
{
    double at = fmin(fmax(part, 0), 1) * 4;
    int i = at >= 4 ? 3 : (int)at;
    return graph_mix(t->heat[i], t->heat[i + 1], at - i);
}

/* 0 to 1 of the most that an element shows; negative: not known. Small values stand apart by the root. */
static double part_of_most(const scene *s, const graph_view *g, uint32_t item)
{
    const graph_picture *p = g->now;
    graph_colour c = (graph_colour)s->v.graph.colour;
    if (item == 0 || p->v->items[item].n_children > 0 || c == COLOUR_CLASS) {
        return -1;
    }
    const graph_measure *m = &p->of->measures[p->v->items[item].element];
    float v = c == COLOUR_TIME ? (p->times ? p->times[item].mean_ns : 0) : c == COLOUR_MEMORY ? m->bytes : m->flops;
    return v > 0 && p->most[c] > 0 ? sqrt((double)(v / p->most[c])) : -1;
}

static rgba faded(const scene *s, rgba c, float alpha)
{
    return alpha >= 1 ? c : graph_mix(s->t->ground, c, (double)alpha);
}

/* What is hovered, its neighbours by lines, and what all that lies in. */
void graph_find_lit(scene *s, graph_view *g)
{
    const graph_picture *p = g->now;
    uint32_t h = g->hover_item;
    g->lit = NULL;
    if (h == GRAPH_NONE) {
        return;
    }
    g->lit = arena_alloc(&s->scratch, p->v->n_items / 8 + 1);
    memset(g->lit, 0, p->v->n_items / 8 + 1);
    uint32_t around = p->v->items[h].parent;
    for (uint32_t i = h; i != 0; i = p->v->items[i].parent) {
        g->lit[i >> 3] = (uint8_t)(g->lit[i >> 3] | 1U << (i & 7));
    }
    graph_rows lines = graph_lines_in(p->v, around);
    for (uint32_t i = lines.first; i < lines.end; i++) {
        const visible_line *l = &p->v->lines[i];
        uint32_t other = l->from == h ? l->to : l->to == h ? l->from : 0;
        g->lit[other >> 3] = (uint8_t)(g->lit[other >> 3] | 1U << (other & 7));
    }
}

bool graph_is_lit(const graph_view *g, uint32_t item)
{
    const graph_picture *p = g->now;
    if (p->on_path && g->hover_item == GRAPH_NONE) {
        return p->on_path[item] != 0;
    }
    if (!g->lit || (g->lit[item >> 3] >> (item & 7) & 1)) {
        return true;
    }
    for (uint32_t i = item; i != 0; i = p->v->items[i].parent) { /* what is in it */
        if (i == g->hover_item) {
            return true;
        }
    }
    return false;
}

/* ------------------------------------------------------------------ text */

double graph_text_dp(const scene *s, const graph_view *g, double dp)
{
    double zoom = zoom_of(s, g);
    double size = dp * (zoom > 1 ? 1 + (zoom - 1) * 0.35 : zoom); /* grows more slowly than its box */
    double least = zoom >= ROOMY ? LEAST_NAME_DP : LEAST_FITTED_DP;
    if (zoom >= LEAST_NAMED && size < least) { /* small boxes keep names that can be read, cut if need be */
        size = fmin(dp * least / LABEL_DP, least);
        return size < LEAST_TEXT_PX ? 0 : size;
    }
    return size < LEAST_TEXT_PX ? 0 : fmin(floor(size * 2) / 2, 22);
}

/* ------------------------------------------------------------------ open modules */

/* A field with round corners out of plain rectangles, which cost a software renderer least; and its border. */
static void frame_fill(scene *s, rect r, float radius, rgba c)
{
    int steps = (int)radius;
    for (int i = 0; i < steps;) {
        int n = i < 2 ? 1 : i < 4 ? 2 : steps - i;
        double y = (double)radius - i - 0.5 * n;
        float in = radius - (float)floor(sqrt(fmax((double)radius * (double)radius - y * y, 0)));
        draw_rect(s->l, LAYER_GROUND, (rect){r.x + in, r.y + (float)i, r.w - 2 * in, (float)n}, c);
        draw_rect(s->l, LAYER_GROUND, (rect){r.x + in, r.y + r.h - (float)(i + n), r.w - 2 * in, (float)n}, c);
        i += n;
    }
    draw_rect(s->l, LAYER_GROUND, (rect){r.x, r.y + (float)steps, r.w, r.h - 2 * (float)steps}, c);
}

/* A quarter of a circle in four strokes, of which the first to the last given are drawn. */
static void corner(scene *s, float x, float y, float radius, double from, int first, int end, rgba c)
{
    for (int i = first; i < end; i++) {
        double a = from + i * M_PI / 8;
        double b = from + (i + 1) * M_PI / 8;
        draw_segment(s->l, LAYER_GROUND, x + radius * (float)cos(a), y + radius * (float)sin(a),
                     x + radius * (float)cos(b), y + radius * (float)sin(b), fmaxf(1, px(s, 1)), c);
    }
}

/* Straight pieces are plain rectangles, so that what is drawn later hides them; of the corners of a sheet only what
 * stands out behind the one before it. */
static void frame_border(scene *s, rect r, float radius, bool is_sheet, rgba c)
{
    float x1 = r.x + r.w - 1;
    float y1 = r.y + r.h - 1;
    draw_rect(s->l, LAYER_GROUND, (rect){r.x + radius, r.y, r.w - 2 * radius, 1}, c);
    draw_rect(s->l, LAYER_GROUND, (rect){r.x + radius, y1, r.w - 2 * radius, 1}, c);
    draw_rect(s->l, LAYER_GROUND, (rect){r.x, r.y + radius, 1, r.h - 2 * radius}, c);
    draw_rect(s->l, LAYER_GROUND, (rect){x1, r.y + radius, 1, r.h - 2 * radius}, c);
    if (radius >= 3) {
        corner(s, r.x + radius + 0.5F, r.y + radius + 0.5F, radius, M_PI, is_sheet ? 2 : 0, 4, c);
        corner(s, x1 - radius + 0.5F, r.y + radius + 0.5F, radius, 1.5 * M_PI, 0, 4, c);
        corner(s, x1 - radius + 0.5F, y1 - radius + 0.5F, radius, 0, 0, is_sheet ? 2 : 4, c);
        corner(s, r.x + radius + 0.5F, y1 - radius + 0.5F, radius, 0.5 * M_PI, 0, is_sheet ? 0 : 4, c);
    }
}

static rect whole_px(rect r)
{
    float x = snap((double)r.x);
    float y = snap((double)r.y);
    return (rect){x, y, fmaxf(snap((double)(r.x + r.w)) - x, 1), fmaxf(snap((double)(r.y + r.h)) - y, 1)};
}

/* Far outside nothing is told apart: numbers stay small. */
static rect near_plot(const scene *s, rect r)
{
    rect p = s->m.plot;
    float far = 64;
    float x0 = fmaxf(r.x, p.x - far);
    float y0 = fmaxf(r.y, p.y - far);
    return (rect){x0, y0, fminf(r.x + r.w, p.x + p.w + far) - x0, fminf(r.y + r.h, p.y + p.h + far) - y0};
}

static bool covers_plot(const scene *s, rect r)
{
    rect p = s->m.plot;
    float in = px(s, FRAME_RADIUS_DP);
    return r.x + in <= p.x && r.y + in <= p.y && r.x + r.w - in >= p.x + p.w && r.y + r.h - in >= p.y + p.h;
}

/* Nested modules are told apart by two grounds in turn. */
static rgba frame_colour(const scene *s, const graph_picture *p, uint32_t item)
{
    unsigned depth = 0;
    for (uint32_t i = item; i != 0; i = p->v->items[i].parent) {
        depth++;
    }
    return depth % 2 == 1 ? s->t->row : s->t->ground;
}

static void sheets(scene *s, rect r, float radius, double zoom, float alpha)
{
    float step = fmaxf(snap(SHEET_DP * fmin(zoom, 1) * (double)s->m.s), 2);
    for (int i = 2; i > 0; i--) {
        rect sheet = {r.x + step * (float)i, r.y - step * (float)i, r.w, r.h};
        frame_fill(s, sheet, radius, faded(s, graph_mix(s->t->ground, s->t->row, 0.8), alpha));
        frame_border(s, sheet, radius, true, faded(s, s->t->line, alpha));
    }
}

static void draw_frame(scene *s, graph_view *g, const seen_item *k, bool is_covered)
{
    const graph_picture *p = g->now;
    if (k->item == 0 || is_covered) {
        return;
    }
    const plan_element *e = &p->of->plan->elements[p->v->items[k->item].element];
    rect r = whole_px(near_plot(s, k->r));
    float radius = fminf(px(s, FRAME_RADIUS_DP * fmin(1.5 * zoom_of(s, g), 1)), floorf(fminf(r.w, r.h) / 4));
    radius = radius < 3 ? 0 : radius; /* square ones cost a fifth */
    if (e->kind == ELEMENT_STACK && !(p->state.open[p->v->items[k->item].element] & STATE_DISSOLVED)) {
        sheets(s, r, radius, zoom_of(s, g), k->alpha);
    }
    frame_fill(s, r, radius, faded(s, frame_colour(s, p, k->item), k->alpha));
    bool chosen = p->v->items[k->item].element == g->selected;
    rgba border = chosen ? s->t->selection : faded(s, s->t->line, k->alpha);
    frame_border(s, r, radius, false, border);
    if (chosen && r.w > 4 && r.h > 4) {
        frame_border(s, (rect){r.x + 1, r.y + 1, r.w - 2, r.h - 2}, fmaxf(radius - 1, 0), false, border);
    }
}

static void draw_badge(scene *s, graph_view *g, const seen_item *k, double dp, uint32_t element)
{
    const graph_plan *p = g->now->of->plan;
    const plan_element *e = &p->elements[element];
    if (e->kind != ELEMENT_STACK || e->family >= p->n_families || dp <= 0) {
        return;
    }
    char text[56];
    char count[48];
    count_format(p->families[e->family].n_members, count, sizeof count);
    (void)snprintf(text, sizeof text, "\xC3\x97%s", count);
    double size = fmin(dp, 13);
    float h = px(s, size * 1.75);
    float w = ceilf(width_of(s, FACE_SANS_BOLD, size, text)) + px(s, size * 1.6);
    rect r = {snap((double)(k->r.x + k->r.w - w - px(s, 8))), snap((double)(k->r.y - h / 2)), w, h};
    r.x = fminf(r.x, s->m.plot.x + s->m.plot.w - w - px(s, 8));
    if (k->kind == SEEN_CLOSED) { /* its name is near, and above it perhaps the title of the module around */
        r.x = snap((double)(k->r.x + k->r.w - w + px(s, 6)));
        r.y = snap((double)(k->r.y - 0.8F * h));
        if (!graph_place(g, r)) {
            r.y = snap((double)(k->r.y + k->r.h - 0.35F * h));
        }
    }
    draw_round(s->l, LAYER_MARKS, r, h / 2, s->t->accent, 0, s->t->accent);
    (void)put_text(s, LAYER_MARKS, FACE_SANS_BOLD, size, r, TEXT_CENTRE, theme_label_colour(s->t, s->t->accent), text);
}

static void share_remark(const graph_picture *p, uint32_t item, char *out, size_t cap)
{
    const graph_measure *m = p->of->measures;
    const visible_item *v = &p->v->items[item];
    float own = m[v->element].time_ns;
    uint32_t outer = p->v->items[v->parent].element;
    float around = m[outer].time_ns;
    const plan_element *o = &p->of->plan->elements[outer];
    if (o->kind == ELEMENT_STACK && o->family < p->of->plan->n_families && !(p->state.open[outer] & STATE_DISSOLVED)) {
        const plan_family *f = &p->of->plan->families[o->family]; /* one of them is shown */
        uint32_t member = o->family < p->state.n_families ? p->state.member[o->family] : 0;
        around = m[p->of->plan->members[f->first_member + (member < f->n_members ? member : 0)]].time_ns;
    }
    out[0] = '\0';
    if (p->times && own > 0 && around > 0 && item != 0) {
        (void)snprintf(out, cap, "%.0f %% of %.40s", 100 * (double)(own / around),
                       v->parent == 0 ? "all" : plan_label(p->of->plan, p->v->items[v->parent].element));
    }
}

/* "24 operators"; inputs and outputs of the graph are none, and a stack may hold nothing else. */
static void operators_text(const plan_element *e, char *out, size_t cap)
{
    char count[32];
    count_format(e->n_nodes, count, sizeof count);
    if (e->n_nodes == 0) {
        (void)snprintf(out, cap, "inputs or outputs");
    } else {
        (void)snprintf(out, cap, "%s operator%s", count, e->n_nodes == 1 ? "" : "s");
    }
}

static void draw_title(scene *s, graph_view *g, const seen_item *k, double dp)
{
    const graph_picture *p = g->now;
    uint32_t element = p->v->items[k->item].element;
    float h = fminf(px(s, LAYOUT_TITLE * zoom_of(s, g)), k->r.h);
    float pad = px(s, fmin(14 * zoom_of(s, g), 14));
    float x0 = fmaxf(k->r.x, s->m.plot.x);
    rect bar = {x0 + pad, k->r.y + px(s, 3 * fmin(zoom_of(s, g), 1)), k->r.x + k->r.w - x0 - 2 * pad, h};
    graph_area_add(s, (rect){k->r.x, k->r.y, k->r.w, h}, (graph_hit){GRAPH_HIT_TITLE, element, 0});
    char text[256];
    const plan_element *e = &p->of->plan->elements[element];
    const char *name = plan_label(p->of->plan, element);
    bool is_stack = e->kind == ELEMENT_STACK;
    float name_w = ceilf(width_of(s, FACE_SANS_MEDIUM, dp, name));
    float gap = px(s, dp * 0.8);
    rect rest = {bar.x, bar.y, is_stack ? bar.w - px(s, dp * 3.4) : bar.w, h};
    share_remark(p, k->item, text, sizeof text);
    float share_w = ceilf(width_of(s, FACE_SANS, dp * 0.9, text));
    if (share_w > 0 && name_w + gap + share_w <= rest.w && !p->down) { /* lines come from above, there */
        (void)put_text(s, LAYER_DATA, FACE_SANS, dp * 0.9, rest, TEXT_RIGHT, s->t->dim, text);
        rest.w -= share_w + gap;
    }
    float w = put_text(s, LAYER_DATA, FACE_SANS_MEDIUM, dp, rest, TEXT_LEFT, s->t->text, name);
    rest.x += w + gap;
    rest.w -= w + gap;
    if (is_stack) {
        (void)snprintf(text, sizeof text, "%s", graph_picture_note(p, k->item));
    } else {
        operators_text(e, text, sizeof text);
    }
    if (w > 0 && (is_stack || width_of(s, FACE_SANS, dp * 0.9, text) <= rest.w)) {
        w += gap + put_text_start(s, LAYER_DATA, FACE_SANS, dp * 0.9, rest, TEXT_LEFT, s->t->dim, text);
    }
    (void)graph_place(g, (rect){bar.x, bar.y + bar.h / 4, w, bar.h / 2});
    draw_badge(s, g, k, dp, element);
}

bool graph_place(graph_view *g, rect r)
{
    for (size_t i = 0; i + 3 < g->n_placed; i += 4) {
        const float *o = &g->placed[i];
        if (r.x < o[2] && r.x + r.w > o[0] && r.y < o[3] && r.y + r.h > o[1]) {
            return false;
        }
    }
    float at[4] = {r.x, r.y, r.x + r.w, r.y + r.h};
    for (int i = 0; i < 4; i++) {
        VEC_PUSH(g->placed, g->n_placed, g->cap_placed, at[i]);
    }
    return true;
}

/* Far out, the names of large modules stand on chips of their own, as many as don't meet. */
static void draw_chip(scene *s, graph_view *g, const seen_item *k)
{
    const char *name = plan_label(g->now->of->plan, g->now->v->items[k->item].element);
    float w = fminf(ceilf(width_of(s, FACE_SANS_MEDIUM, CHIP_DP, name)) + px(s, 10), k->r.w - px(s, 12));
    float h = px(s, 16);
    float x = fmaxf(k->r.x, s->m.plot.x) + px(s, 6);
    float y = fmaxf(k->r.y - h / 2, s->m.plot.y + px(s, 2)); /* on the border: what is inside stays seen */
    rect r = {snap((double)x), snap((double)y), w, h};
    if (k->item == 0 || w < px(s, 36) || r.y + h > k->r.y + k->r.h || r.x + w > k->r.x + k->r.w) {
        return;
    }
    if (!graph_place(g, r)) {
        return;
    }
    draw_round(s->l, LAYER_MARKS, r, px(s, 4), s->t->panel, fmaxf(1, px(s, 1)), s->t->line);
    (void)put_text(s, LAYER_MARKS, FACE_SANS_MEDIUM, CHIP_DP, (rect){r.x + px(s, 5), r.y, w - px(s, 10), h}, TEXT_LEFT,
                   s->t->text, name);
}

/* ------------------------------------------------------------------ closed boxes */

static void draw_time(scene *s, graph_view *g, uint32_t item, rect r, float alpha)
{
    const graph_picture *p = g->now;
    const item_time *t = p->times ? &p->times[item] : NULL;
    double zoom = zoom_of(s, g);
    float in = px(s, fmin(8 * zoom, 10));
    float h = fmaxf(snap(3 * fmin(zoom, 1.3) * (double)s->m.s), 1);
    rect track = {snap((double)(r.x + in)), snap((double)(r.y + r.h - h - px(s, 5 * fmin(zoom, 1.3)))),
                  floorf(r.w - 2 * in), h};
    if (!t || p->most_ns <= 0 || track.w < 8) {
        return;
    }
    draw_round(s->l, LAYER_DATA, track, h / 2, faded(s, s->t->hairline, alpha), 0, s->t->hairline);
    if (t->mean_ns <= 0) {
        return;
    }
    bool slow = t->max_ns > 1.5F * t->mean_ns;
    rgba c = slow ? s->t->severity : s->t->data[CLASS_BACKWARD];
    float w = fmaxf(track.w * fminf(t->mean_ns / p->most_ns, 1), fminf(h, 2));
    draw_round(s->l, LAYER_DATA, (rect){track.x, track.y, snap((double)w), h}, h / 2, faded(s, c, alpha), 0, c);
    if (t->max_ns > 1.02F * t->mean_ns) { /* from the shortest to the longest member */
        float a = track.x + track.w * fminf(t->min_ns / p->most_ns, 1);
        float b = track.x + track.w * fminf(t->max_ns / p->most_ns, 1);
        draw_segment(s->l, LAYER_MARKS, a, track.y + h / 2, b, track.y + h / 2, 1, faded(s, s->t->text, alpha));
    }
}

static void second_line(const graph_picture *p, const plan_element *e, char *out, size_t cap)
{
    const graph *g = p->of->plan->g;
    char count[32];
    out[0] = '\0';
    if (e->kind != ELEMENT_LEAF) {
        count_format(e->n_nodes, count, sizeof count);
        if (e->n_parts > 0) {
            (void)snprintf(out, cap, "part %u of %u \xC2\xB7 %s", e->part, e->n_parts, count);
        } else {
            operators_text(e, out, cap);
        }
    } else if (e->klass == GRAPH_CLASS_DATA && e->node < g->n_nodes &&
               g->out_first[e->node] < g->out_first[e->node + 1]) {
        (void)snprintf(out, cap, "%s", graph_string(g, graph_out_type(g, g->out_first[e->node])));
    } else if (e->node < g->n_nodes) {
        const char *op = graph_string(g, g->node_op[e->node]);
        const char *label = p->of->plan->text + e->label;
        if (strncmp(label, op, strlen(op)) != 0) { /* the name does not tell it */
            (void)snprintf(out, cap, "%s", op);
        }
    }
}

/* A name in a small box: a little smaller before it is cut; short ones keep their beginning, of long ones the middle
 * goes. */
static void put_name(scene *s, rect r, double dp, rgba c, const char *name)
{
    double least = fmax(dp - 1, LEAST_FITTED_DP);
    float w = width_of(s, FACE_SANS_MEDIUM, dp, name);
    while (w > r.w && dp - 0.5 >= least) {
        dp -= 0.5;
        w = width_of(s, FACE_SANS_MEDIUM, dp, name);
    }
    if (w <= r.w || strlen(name) > SHORT_NAME) {
        (void)put_text(s, LAYER_DATA, FACE_SANS_MEDIUM, dp, r, TEXT_CENTRE, c, name);
    } else {
        (void)put_text_start(s, LAYER_DATA, FACE_SANS_MEDIUM, dp, r, TEXT_CENTRE, c, name);
    }
}

static void draw_names(scene *s, graph_view *g, const seen_item *k, rgba c, double dp)
{
    const graph_picture *p = g->now;
    uint32_t element = p->v->items[k->item].element;
    const plan_element *e = &p->of->plan->elements[element];
    double zoom = zoom_of(s, g);
    float in = px(s, fmin(fmax(6 * zoom, 3 * fmin(zoom, 1) + 2), 12)); /* clear of the strip */
    float line = px(s, dp * 1.3);
    float bottom = p->times ? px(s, 10 * fmin(zoom, 1.3)) : px(s, 3 * fmin(zoom, 1.3));
    rect r = {k->r.x + in, k->r.y, k->r.w - 2 * in, k->r.h - bottom};
    char text[128];
    second_line(p, e, text, sizeof text);
    double small = graph_text_dp(s, g, 11);
    bool two = text[0] && small > 0 && line + px(s, small * 1.25) <= k->r.h - bottom;
    if (two) {
        float total = line + px(s, small * 1.25);
        float y = k->r.y + (k->r.h - bottom - total) / 2 + px(s, 1.5 * zoom);
        rect below = {r.x, y + line, r.w, total - line};
        (void)put_text(s, LAYER_DATA, FACE_SANS, small, below, TEXT_CENTRE, graph_mix(c, s->t->dim, 0.8), text);
        r.y = y;
        r.h = line;
    }
    put_name(s, r, dp, c, plan_label(p->of->plan, element));
    g->n_labels++;
}

rect graph_box_of(const scene *s, const graph_view *g, const seen_item *k)
{
    const graph_picture *p = g->now;
    rect r = k->r;
    size_t n = k->kind == SEEN_CLOSED ? graph_sharding_cells(p->of->plan, p->v->items[k->item].element, NULL) : 0;
    float scale = (float)g->k;
    (void)s;
    if (n > 0 && p->down) {
        r.w = fmaxf(r.w - ((float)n * SHARD_DP + 4) * scale, 1);
    } else if (n > 0) {
        r.y += (SHARD_DP + 4) * scale;
        r.h = fmaxf(r.h - (SHARD_DP + 4) * scale, 1);
    }
    return r;
}

/* One cell per tensor dimension; the more slices the stronger. */
static void draw_sharding(scene *s, graph_view *g, const seen_item *k, rect box)
{
    uint32_t slices[8];
    size_t n = graph_sharding_cells(g->now->of->plan, g->now->v->items[k->item].element, slices);
    float step = (float)(SHARD_DP * g->k);
    float side = fmaxf(snap((double)step) - px(s, 1), 2);
    double dp = fmin((double)(side / s->m.s) * 0.68, 12);
    for (size_t i = 0; i < n; i++) {
        rect r = {snap((double)box.x) + snap((double)(step * (float)i)),
                  snap((double)(box.y - step - (float)(2 * g->k))), side, side};
        if (g->now->down) {
            r.x = snap((double)(box.x + box.w + (float)(4 * g->k) + step * (float)i));
            r.y = snap((double)(box.y + (box.h - side) / 2));
        }
        double strength = slices[i] > 1 ? fmin(0.55 + 0.15 * log2((double)slices[i]), 1) : 0.08;
        rgba c = graph_mix(s->t->ground, s->t->data[CLASS_COLLECTIVE], strength);
        draw_round(s->l, LAYER_DATA, r, px(s, 2), faded(s, c, k->alpha), 0, c);
        char text[16];
        (void)snprintf(text, sizeof text, "%u", slices[i]);
        rgba on = slices[i] > 1 ? theme_label_colour(s->t, c) : s->t->dim;
        if (dp >= LEAST_TEXT_PX) {
            (void)put_text(s, LAYER_DATA, FACE_SANS_BOLD, dp, r, TEXT_CENTRE, on, text);
        }
    }
}

static rgba own_colour(const scene *s, const graph_picture *p, const plan_element *e)
{
    const graph *g = p->of->plan->g;
    uint8_t flags = e->kind == ELEMENT_LEAF && e->node < g->n_nodes ? g->node_flags[e->node] : 0;
    if (flags & GRAPH_REDISTRIBUTION) {
        return s->t->data[CLASS_RECEIVE];
    }
    if (flags & GRAPH_GRADIENT_AGGREGATION) {
        return s->t->data[CLASS_COLLECTIVE];
    }
    return scene_graph_class_colour(s->t, e->klass);
}

typedef struct box_paint {
    rgba fill, border, text, strip;
    bool has_strip;
    float border_w;
} box_paint;

static box_paint paint_of(const scene *s, const graph_view *g, const seen_item *k)
{
    const graph_picture *p = g->now;
    uint32_t element = p->v->items[k->item].element;
    const plan_element *e = &p->of->plan->elements[element];
    double part = part_of_most(s, g, k->item);
    bool lit = !is_dimming(g) || graph_is_lit(g, k->item);
    box_paint b = {.fill = e->kind == ELEMENT_LEAF ? s->t->panel : s->t->raised,
                   .border = s->t->line,
                   .text = s->t->text,
                   .strip = own_colour(s, p, e),
                   .border_w = fmaxf(1, px(s, 1))};
    b.has_strip = part < 0 && e->kind == ELEMENT_LEAF;
    if (part < 0 && graph_text_dp(s, g, LABEL_DP) <= 0) { /* without its name, its colour tells what it is */
        b.fill = graph_mix(b.fill, b.strip, b.has_strip ? 0.6 : 0.3);
        b.has_strip = false;
    }
    if (part >= 0) {
        b.fill = heat(s->t, part);
        b.text = theme_label_colour(s->t, b.fill);
    }
    if (!lit) {
        b.text = graph_mix(b.fill, b.text, 0.4);
        b.fill = graph_text_dp(s, g, LABEL_DP) <= 0 ? graph_mix(s->l->clear, b.fill, 0.4) : b.fill;
        b.strip = graph_mix(b.fill, b.strip, 0.35);
    } else if (is_dimming(g)) {
        b.border = graph_mix(s->t->line, s->t->accent, 0.7);
    }
    if (element == g->selected || element == g->path_to) {
        b.border = s->t->selection;
        b.border_w = fmaxf(1.5F * s->m.s, 1.5F);
    }
    b.fill = faded(s, b.fill, k->alpha);
    b.border = faded(s, b.border, k->alpha);
    b.text = faded(s, b.text, k->alpha);
    b.strip = faded(s, b.strip, k->alpha);
    return b;
}

static void closed_sheets(scene *s, rect r, float radius, double zoom, const box_paint *b)
{
    float step = fmaxf(snap(3 * fmin(zoom, 1) * (double)s->m.s), 1);
    for (int i = 2; i > 0; i--) {
        rect sheet = {r.x + step * (float)i, r.y - step * (float)i, r.w, r.h};
        draw_round(s->l, LAYER_DATA, sheet, radius, b->fill, fmaxf(1, px(s, 1)), b->border);
    }
}

static void draw_box(scene *s, graph_view *g, const seen_item *k, double dp)
{
    const graph_picture *p = g->now;
    uint32_t element = p->v->items[k->item].element;
    const plan_element *e = &p->of->plan->elements[element];
    box_paint b = paint_of(s, g, k);
    seen_item inner = *k;
    inner.r = graph_box_of(s, g, k);
    rect r = whole_px(inner.r);
    double zoom = zoom_of(s, g);
    float radius = fminf(px(s, BOX_RADIUS_DP * fmin(zoom, 1.4)), fminf(r.w, r.h) / 3);
    if (e->kind == ELEMENT_STACK) {
        closed_sheets(s, r, radius, zoom, &b);
    }
    draw_round(s->l, LAYER_DATA, r, radius, b.fill, b.border_w, b.border);
    if (b.has_strip) {
        float w = fmaxf(px(s, 3 * fmin(zoom, 1)), 1);
        rect strip = {r.x + 1, r.y + radius, w, r.h - 2 * radius};
        draw_round(s->l, LAYER_DATA, strip, w / 2, b.strip, 0, b.strip);
    }
    if (dp > 0) {
        draw_names(s, g, &inner, b.text, dp);
        if (s->v.graph.colour == COLOUR_CLASS) {
            draw_time(s, g, k->item, r, k->alpha);
        }
        draw_badge(s, g, &inner, dp, element);
        draw_sharding(s, g, k, inner.r);
    }
}

/* Too small for a border: a field in the colour of what it does. */
static void draw_field(scene *s, graph_view *g, const seen_item *k)
{
    rgba c = scene_graph_class_colour(s->t, k->klass);
    if (k->kind == SEEN_CLOSED) {
        double part = part_of_most(s, g, k->item);
        bool lit = !is_dimming(g) || graph_is_lit(g, k->item);
        c = part >= 0 ? heat(s->t, part) : graph_mix(s->t->ground, c, lit ? 0.75 : 0.25);
    } else {
        double cover = k->cover / 255.0;
        c = graph_mix(s->l->clear, c, is_dimming(g) ? 0.2 : 0.12 + 0.6 * cover);
    }
    draw_rect(s->l, LAYER_DATA, whole_px(graph_box_of(s, g, k)), faded(s, c, k->alpha));
}

/* ------------------------------------------------------------------ all of them */

/* The innermost module that covers the plot paints it; what lies around it is hidden. @return its place in `seen` */
static size_t find_cover(scene *s, const graph_view *g)
{
    size_t cover = SIZE_MAX;
    for (size_t i = 0; i < g->n_seen; i++) {
        const seen_item *k = &g->seen[i];
        if (k->kind == SEEN_OPEN && k->item != 0 && covers_plot(s, k->r)) {
            cover = i;
        }
    }
    if (cover != SIZE_MAX) {
        s->l->clear = frame_colour(s, g->now, g->seen[cover].item);
    }
    return cover;
}

static bool is_small(const scene *s, const graph_view *g, const seen_item *k)
{
    rect r = graph_box_of(s, g, k);
    return fminf(r.w, r.h) < px(s, 8);
}

void graph_boxes_draw(scene *s, graph_view *g)
{
    double dp = graph_text_dp(s, g, LABEL_DP);
    size_t cover = find_cover(s, g);
    g->n_labels = 0;
    g->n_placed = 0;
    for (size_t i = 0; i < g->n_seen; i++) {
        const seen_item *k = &g->seen[i];
        if (k->kind == SEEN_OPEN) {
            draw_frame(s, g, k, i == cover || (cover != SIZE_MAX && covers_plot(s, k->r)));
        } else if (k->kind == SEEN_BLOB || is_small(s, g, k)) {
            draw_field(s, g, k);
        }
    }
    for (size_t i = 0; i < g->n_seen; i++) {
        const seen_item *k = &g->seen[i];
        if (k->kind == SEEN_CLOSED && !is_small(s, g, k)) {
            draw_box(s, g, k, dp);
        } else if (k->kind == SEEN_OPEN && k->item != 0 && dp > 0) {
            draw_title(s, g, k, dp);
        } else if (k->kind == SEEN_OPEN && k->r.w > px(s, 110) && k->r.h > px(s, 44)) {
            draw_chip(s, g, k);
        }
    }
    size_t closed = 0;
    for (size_t i = 0; i < g->n_seen; i++) {
        closed += g->seen[i].kind == SEEN_CLOSED;
    }
    g->detail = g->n_labels > 0 ? "labels" : 2 * closed > g->n_seen ? "boxes" : "density";
}
