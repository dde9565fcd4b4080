/* The whole layout in a corner, with the part that is seen. Shown while there is more than is seen. */
#include "scene/graph_view.h"

enum { MAP_W_DP = 200, MAP_H_DP = 140, MAP_MAX = 700 };

static void draw_part(scene *s, const graph_picture *p, uint32_t item, double ox, double oy, double k)
{
    const layout_box *b = &p->l->boxes[item];
    const visible_item *v = &p->v->items[item];
    float x0 = snap(ox + b->x * k);
    float y0 = snap(oy + b->y * k);
    rect r = {x0, y0, fmaxf(snap(ox + (b->x + (double)b->w) * k) - x0, 1),
              fmaxf(snap(oy + (b->y + (double)b->h) * k) - y0, 1)};
    rgba c = scene_graph_class_colour(s->t, p->of->plan->elements[v->element].klass);
    if (v->n_children > 0) {
        draw_rect(s->l, LAYER_PANELS, r, graph_mix(s->t->panel, s->t->dim, 0.16));
    } else {
        draw_rect(s->l, LAYER_PANELS, r, graph_mix(s->t->panel, c, 0.7));
    }
}

/* Breadth first, as long as there is room for marks of a pixel and more. */
static void draw_parts(scene *s, const graph_picture *p, double ox, double oy, double k)
{
    uint32_t *queue = arena_alloc(&s->scratch, (MAP_MAX + 1) * sizeof *queue);
    size_t n = 0;
    size_t head = 0;
    queue[n++] = 0;
    while (head < n) {
        uint32_t item = queue[head++];
        const visible_item *v = &p->v->items[item];
        if (item != 0) {
            draw_part(s, p, item, ox, oy, k);
        }
        uint32_t step = v->n_children / MAP_MAX + 1; /* of very many, some */
        for (uint32_t i = 0; i < v->n_children && n < MAP_MAX; i += step) {
            const layout_box *b = &p->l->boxes[v->first_child + i];
            if ((double)fmaxf(b->w, b->h) * k >= 1) {
                queue[n++] = v->first_child + i;
            }
        }
    }
}

static void draw_window(scene *s, const graph_view *g, rect in, double ox, double oy, double k)
{
    double x0 = ox + g->x0 * k;
    double y0 = oy + g->y0 * k;
    double x1 = x0 + (double)s->m.plot.w / g->k * k;
    double y1 = y0 + (double)s->m.plot.h / g->k * k;
    x0 = fmin(fmax(x0, (double)in.x), (double)(in.x + in.w) - 3);
    y0 = fmin(fmax(y0, (double)in.y), (double)(in.y + in.h) - 3);
    x1 = fmax(fmin(x1, (double)(in.x + in.w)), x0 + 3);
    y1 = fmax(fmin(y1, (double)(in.y + in.h)), y0 + 3);
    rect r = {snap(x0), snap(y0), snap(x1 - x0), snap(y1 - y0)};
    draw_round(s->l, LAYER_PANELS, r, px(s, 2), rgba_with_alpha(s->t->accent, 22), fmaxf(1.5F * s->m.s, 1),
               s->t->accent);
}

void graph_minimap_draw(scene *s, graph_view *g)
{
    const graph_layout *l = g->now->l;
    rect plot = s->m.plot;
    g->minimap = (rect){0, 0, 0, 0};
    double seen_w = (double)plot.w / g->k;
    double seen_h = (double)plot.h / g->k;
    bool all = g->x0 <= 1 && g->y0 <= 1 && g->x0 + seen_w >= l->width - 1 && g->y0 + seen_h >= l->height - 1;
    if (all || plot.w < px(s, 640) || plot.h < px(s, 360) || l->width <= 0 || l->height <= 0) {
        return;
    }
    rect card = {plot.x + px(s, 20), plot.y + plot.h - px(s, MAP_H_DP + 20), px(s, MAP_W_DP), px(s, MAP_H_DP)};
    if (l->n_lanes > 0) { /* they begin at the left, with their names */
        card.x = plot.x + plot.w - px(s, MAP_W_DP + 20);
    }
    draw_round(s->l, LAYER_PANELS, card, px(s, 6), s->t->panel, fmaxf(1, px(s, 1)), s->t->line);
    float pad = px(s, 12);
    float line = px(s, 16);
    char count[48];
    char text[96];
    count_format(g->now->of->plan->elements[0].n_nodes, count, sizeof count);
    (void)snprintf(text, sizeof text, "%s operators", count);
    rect head = {card.x + pad, card.y + px(s, 8), card.w - 2 * pad, line};
    (void)put_text(s, LAYER_PANELS, FACE_SANS, 11, head, TEXT_LEFT, s->t->dim, text);
    rect foot = {head.x, card.y + card.h - line - px(s, 7), head.w, line};
    uint32_t at = graph_in_view(s, g);
    const char *name = at == 0 ? "all of it" : plan_label(g->now->of->plan, at);
    (void)put_text(s, LAYER_PANELS, FACE_SANS, 11, foot, TEXT_LEFT, s->t->dim, name);
    rect in = {head.x, head.y + line + px(s, 5), head.w, foot.y - head.y - line - px(s, 10)};
    double k = fmin((double)in.w / l->width, (double)in.h / l->height);
    double ox = (double)in.x + ((double)in.w - l->width * k) / 2;
    double oy = (double)in.y + ((double)in.h - l->height * k) / 2;
    draw_parts(s, g->now, ox, oy, k);
    draw_window(s, g, in, ox, oy, k);
    g->minimap = (rect){(float)ox, (float)oy, (float)(l->width * k), (float)(l->height * k)};
    g->minimap_k = k;
    graph_area_add(s, card, (graph_hit){GRAPH_HIT_MINIMAP, 0, 0});
}

bool scene_graph_minimap_at(const scene *s, double x_px, double y_px, double *x, double *y)
{
    const graph_view *g = s->graph;
    if (!g || !g->now || g->minimap.w <= 0) {
        return false;
    }
    *x = (x_px - (double)g->minimap.x) / g->minimap_k;
    *y = (y_px - (double)g->minimap.y) / g->minimap_k;
    return true;
}
