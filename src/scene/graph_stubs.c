/* Ports of what is not drawn as a line: a ring with a dot at the side, and who is at the other end. The pointer draws
 * the lines to what is visible; a click or a key keeps them. */
#include <string.h>

#include "scene/graph_view.h"

static const double RING_DP = 4.2;
static const double LEAST_ZOOM = 0.4;

/* The stubs of one side of an item: places in visible.stubs. */
typedef struct stub_side {
    uint32_t item, first, n;
    uint64_t n_edges;
    bool is_input;
} stub_side;

static void side_place(const scene *s, const graph_view *g, rect r, bool is_input, float at[2])
{
    float zoom = (float)fmin(zoom_of(s, g), 1.3);
    float in = 8 * zoom * s->m.s;
    if (g->now->down) {
        at[0] = snap((double)(r.x + r.w - in)) + 0.5F;
        at[1] = snap((double)(is_input ? r.y : r.y + r.h)) + 0.5F;
        return;
    }
    at[0] = snap((double)(is_input ? r.x : r.x + r.w)) + 0.5F;
    at[1] = snap((double)(r.y + r.h - in)) + 0.5F;
}

/* "mask", "cos sin", "mask + 3" */
static void names_of(const graph_view *g, const stub_side *k, char *out, size_t cap)
{
    const graph_picture *p = g->now;
    size_t at = 0;
    uint32_t shown = k->n <= 2 ? k->n : 1;
    out[0] = '\0';
    for (uint32_t i = 0; i < shown; i++) {
        const char *name = plan_label(p->of->plan, p->v->stubs[k->first + i].peer);
        int n = snprintf(out + at, cap - at, "%s%.40s", i > 0 ? " \xC2\xB7 " : "", name);
        at += n > 0 && (size_t)n < cap - at ? (size_t)n : 0;
    }
    if (k->n > shown) {
        (void)snprintf(out + at, cap - at, " + %u", k->n - shown);
    }
}

/* Left of an input's ring, right of an output's, where the way to the neighbours is wide enough; else below. Where
 * neither has room, the pointer tells. */
static void draw_name(scene *s, graph_view *g, const stub_side *k, rect r, const float at[2], bool both)
{
    double dp = graph_text_dp(s, g, 10);
    double zoom = zoom_of(s, g);
    char text[128];
    names_of(g, k, text, sizeof text);
    float w = dp >= LEAST_TEXT_PX ? ceilf(width_of(s, FACE_SANS, dp, text)) : 0;
    float h = px(s, dp * 1.4);
    float ring = px(s, 7 * fmin(zoom, 1.3));
    rect line = {k->is_input ? at[0] - ring - w : at[0] + ring, at[1] - h / 2, w, h};
    bool beside = !g->now->down && w <= px(s, 30 * zoom);
    if (!beside) {
        float room = both ? r.w / 2 - px(s, 4) : r.w;
        line = (rect){k->is_input ? r.x + px(s, 2) : r.x + r.w - room - px(s, 2), r.y + r.h + px(s, 1), room, h};
        line.y += g->now->down ? px(s, 4) : 0;
    }
    if (w > 0 && (beside || (double)(h + 3) < LAYOUT_PAD * g->k) && graph_place(g, line)) {
        text_align align = k->is_input == beside ? TEXT_RIGHT : TEXT_LEFT;
        align = beside ? align : k->is_input ? TEXT_LEFT : TEXT_RIGHT;
        (void)put_text(s, LAYER_DATA, FACE_SANS, dp, line, align, s->t->dim, text);
    }
}

/* Lines to the other ends as far as they are visible, without the help of the layout. */
static void draw_reveal(scene *s, graph_view *g, const stub_side *k, const float at[2])
{
    enum { MOST = 64, PARTS = 48 };
    const graph_picture *p = g->now;
    for (uint32_t i = 0; i < k->n && i < MOST; i++) {
        uint32_t peer = p->v->stubs[k->first + i].peer;
        uint32_t item = peer < p->of->plan->n_elements ? p->v->item_of[peer] : GRAPH_NONE;
        if (item == GRAPH_NONE) {
            continue;
        }
        float alpha;
        rect r = graph_item_rect(s, g, item, &alpha);
        float to[2];
        side_place(s, g, r, !k->is_input, to);
        float pull = fmaxf(0.4F * fabsf(to[0] - at[0]), 30 * s->m.s);
        float sign = k->is_input ? -1 : 1;
        float x0 = at[0];
        float y0 = at[1];
        for (int t = 1; t <= PARTS; t++) {
            float f = (float)t / PARTS;
            float u = 1 - f;
            float x = u * u * u * at[0] + 3 * u * u * f * (at[0] + sign * pull) +
                      3 * u * f * f * (to[0] - sign * pull) + f * f * f * to[0];
            float y = u * u * u * at[1] + 3 * u * u * f * at[1] + 3 * u * f * f * to[1] + f * f * f * to[1];
            draw_segment(s->l, LAYER_DATA, x0, y0, x, y, 1.5F * s->m.s, s->t->accent); /* below names */
            x0 = x;
            y0 = y;
        }
    }
}

static void draw_side(scene *s, graph_view *g, const stub_side *k, const seen_item *seen, bool both)
{
    float at[2];
    rect r_box = graph_box_of(s, g, seen);
    side_place(s, g, r_box, k->is_input, at);
    float r = (float)(RING_DP * fmin(zoom_of(s, g), 1.3)) * s->m.s;
    uint32_t element = g->now->v->items[k->item].element;
    bool hovered = g->hover.kind == GRAPH_HIT_STUB && g->hover.stub >= k->first && g->hover.stub < k->first + k->n;
    bool lit = !is_dimming(g) || graph_is_lit(g, k->item);
    rgba c = hovered ? s->t->accent : lit ? s->t->dim : graph_mix(s->t->ground, s->t->faint, 0.5);
    draw_round(s->l, LAYER_DATA, (rect){at[0] - r, at[1] - r, 2 * r, 2 * r}, r, s->t->ground, fmaxf(1.2F * s->m.s, 1),
               c);
    float dot = r * 0.4F;
    draw_round(s->l, LAYER_DATA, (rect){at[0] - dot, at[1] - dot, 2 * dot, 2 * dot}, dot, c, 0, c);
    draw_name(s, g, k, r_box, at, both);
    float reach = fmaxf(r, 6 * s->m.s);
    graph_area_add(s, (rect){at[0] - reach, at[1] - reach, 2 * reach, 2 * reach},
                   (graph_hit){GRAPH_HIT_STUB, element, k->first});
    if (hovered || (element == g->selected && g->hover_item == GRAPH_NONE)) {
        draw_reveal(s, g, k, at);
    }
}

static void draw_item_stubs(scene *s, graph_view *g, const seen_item *seen)
{
    const graph_picture *p = g->now;
    graph_rows stubs = graph_stubs_at(p->v, seen->item);
    stub_side sides[2] = {{.item = seen->item, .is_input = false}, {.item = seen->item, .is_input = true}};
    for (uint32_t i = stubs.first; i < stubs.end; i++) {
        stub_side *k = &sides[p->v->stubs[i].is_input];
        k->first = k->n == 0 ? i : k->first;
        k->n++;
        k->n_edges += p->v->stubs[i].n_edges;
    }
    for (int i = 0; i < 2; i++) {
        if (sides[i].n > 0) {
            draw_side(s, g, &sides[i], seen, sides[0].n > 0 && sides[1].n > 0);
        }
    }
}

void graph_stubs_draw(scene *s, graph_view *g)
{
    if (zoom_of(s, g) < LEAST_ZOOM) {
        return;
    }
    for (size_t i = 0; i < g->n_seen; i++) {
        const seen_item *k = &g->seen[i];
        if (k->kind != SEEN_BLOB && k->item != 0 && fminf(k->r.w, k->r.h) >= px(s, 12)) {
            draw_item_stubs(s, g, k);
        }
    }
}
