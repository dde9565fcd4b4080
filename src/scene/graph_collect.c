/* What a frame shows of a picture: modules from the root down as far as their insides can be seen, children by their
 * tree of boxes where they are many. The cost follows from the pixels: where more would be seen than a frame may hold,
 * it is looked at more coarsely, and once more. */
#include <stdlib.h>

#include "scene/graph_view.h"

static const double LEAST_OPEN_DP = 30; /* the longer side of a module whose inside is shown */
static const double LEAST_BOX_DP = 2.5;
static const double BLOB_DP = 5;

/* ------------------------------------------------------------------ between two pictures */

static rect to_px(const scene *s, const graph_view *g, double x, double y, double w, double h)
{
    return (rect){world_x(s, g, x), world_y(s, g, y), (float)(w * g->k), (float)(h * g->k)};
}

static rect lie(const scene *s, const graph_view *g, const graph_picture *p, uint32_t item, double dx, double dy)
{
    const layout_box *b = &p->l->boxes[item];
    return to_px(s, g, b->x + dx, b->y + dy, (double)b->w, (double)b->h);
}

/* The place in `of` of an element, or of the nearest around it. */
static uint32_t place_in(const graph_picture *of, uint32_t element, bool *itself)
{
    const graph_plan *p = of->of->plan;
    *itself = true;
    for (;;) {
        uint32_t item = element < p->n_elements ? of->v->item_of[element] : 0;
        if (item != GRAPH_NONE) {
            return item;
        }
        *itself = false;
        element = p->elements[element].parent;
    }
}

static rect mix_rect(rect a, rect b, float p)
{
    return (rect){a.x + p * (b.x - a.x), a.y + p * (b.y - a.y), a.w + p * (b.w - a.w), a.h + p * (b.h - a.h)};
}

rect graph_item_rect(const scene *s, const graph_view *g, uint32_t item, float *alpha)
{
    const graph_picture *now = g->now;
    rect r = lie(s, g, now, item, 0, 0);
    *alpha = 1;
    if (g->passage >= 1 || !g->before) {
        return r;
    }
    if (g->before->of != now->of) { /* another plan: nothing is known of who was who */
        *alpha = (float)g->passage;
        return r;
    }
    bool itself;
    uint32_t was = place_in(g->before, now->v->items[item].element, &itself);
    *alpha = itself ? 1 : (float)g->passage;
    return mix_rect(lie(s, g, g->before, was, g->shift_x, g->shift_y), r, (float)g->passage);
}

/* ------------------------------------------------------------------ collecting */

typedef struct collecting {
    const scene *s;
    graph_view *g;
    const graph_picture *p;
    uint32_t module;
    rect module_r;
    double module_x, module_y; /* world */
    uint32_t *stack;
    size_t n_stack, cap_stack;
    double least_open, least_box, blob; /* px */
    bool is_full;
} collecting;

static bool is_seen(const scene *s, rect r)
{
    rect p = s->m.plot;
    return r.x < p.x + p.w && r.x + r.w > p.x && r.y < p.y + p.h && r.y + r.h > p.y;
}

static void push_seen(collecting *c, seen_item i)
{
    if (c->g->n_seen >= GRAPH_MAX_SEEN) {
        c->is_full = true;
        return;
    }
    VEC_PUSH(c->g->seen, c->g->n_seen, c->g->cap_seen, i);
}

static void take_child(void *ctx, uint32_t item)
{
    collecting *c = ctx;
    float alpha;
    rect r = graph_item_rect(c->s, c->g, item, &alpha);
    if (!is_seen(c->s, r)) {
        return;
    }
    const visible_item *v = &c->p->v->items[item];
    double side = (double)fmaxf(r.w, r.h);
    seen_item seen = {r, item, SEEN_CLOSED, c->p->of->plan->elements[v->element].klass, 255, alpha};
    if (v->n_children > 0 && side >= c->least_open) {
        VEC_PUSH(c->stack, c->n_stack, c->cap_stack, item);
        return;
    }
    seen.kind = side >= c->least_box ? SEEN_CLOSED : SEEN_BLOB;
    push_seen(c, seen);
}

static void take_blob(void *ctx, const index_box *b, uint8_t klass, uint8_t cover)
{
    collecting *c = ctx;
    rect r = to_px(c->s, c->g, c->module_x + (double)b->x0, c->module_y + (double)b->y0, (double)(b->x1 - b->x0),
                   (double)(b->y1 - b->y0));
    push_seen(c, (seen_item){r, c->module, SEEN_BLOB, klass, cover, 1});
}

/* The part of a module that the plot shows, relative to it; wider while things move. */
static index_box seen_part(const collecting *c)
{
    const rect *p = &c->s->m.plot;
    double grow = c->g->passage < 1 ? (double)fmaxf(p->w, p->h) / c->g->k : 0;
    double w = (double)p->w / c->g->k;
    double h = (double)p->h / c->g->k;
    return (index_box){(float)(c->g->x0 - c->module_x - grow), (float)(c->g->y0 - c->module_y - grow),
                       (float)(c->g->x0 - c->module_x + w + grow), (float)(c->g->y0 - c->module_y + h + grow)};
}

static void take_module(collecting *c, uint32_t item)
{
    const visible_item *v = &c->p->v->items[item];
    const index_tree *t = graph_tree_of(&c->p->index.children, item);
    float alpha;
    c->module = item;
    c->module_r = graph_item_rect(c->s, c->g, item, &alpha);
    c->module_x = c->p->l->boxes[item].x;
    c->module_y = c->p->l->boxes[item].y;
    push_seen(c, (seen_item){c->module_r, item, SEEN_OPEN, c->p->of->plan->elements[v->element].klass, 255, alpha});
    if (!t) {
        for (uint32_t k = 0; k < v->n_children && !c->is_full; k++) {
            take_child(c, v->first_child + k);
        }
        return;
    }
    index_visit how = {take_child, take_blob, c, seen_part(c), (float)(c->blob / c->g->k)};
    graph_trees_visit(&c->p->index, t, &how);
}

/* @return false when a frame can't hold it */
static bool collect_at(scene *s, graph_view *g, double coarse)
{
    double px_of_dp = (double)s->m.s * coarse;
    collecting c = {.s = s,
                    .g = g,
                    .p = g->now,
                    .least_open = LEAST_OPEN_DP * px_of_dp,
                    .least_box = LEAST_BOX_DP * px_of_dp,
                    .blob = BLOB_DP * px_of_dp};
    g->n_seen = 0;
    VEC_PUSH(c.stack, c.n_stack, c.cap_stack, 0);
    while (c.n_stack > 0 && !c.is_full) {
        take_module(&c, c.stack[--c.n_stack]);
    }
    free(c.stack);
    return !c.is_full;
}

void graph_collect(scene *s, graph_view *g)
{
    double coarse = 1;
    if (!collect_at(s, g, coarse)) {
        for (int i = 0; i < 16 && !collect_at(s, g, coarse *= 2); i++) {
        }
        double fine = coarse / 2; /* too fine: what is just coarse enough lies between */
        for (int i = 0; i < 3; i++) {
            double middle = sqrt(fine * coarse);
            if (collect_at(s, g, middle)) {
                coarse = middle;
            } else {
                fine = middle;
            }
        }
        (void)collect_at(s, g, coarse);
    }
    g->coarse = (float)coarse;
}

uint32_t graph_in_view(const scene *s, const graph_view *g)
{
    double x = (double)(s->m.plot.x + s->m.plot.w / 2);
    double y = (double)(s->m.plot.y + s->m.plot.h / 2);
    uint32_t best = 0;
    for (size_t i = 0; i < g->n_seen; i++) { /* parents come before what is in them */
        const seen_item *k = &g->seen[i];
        if (k->kind == SEEN_OPEN && inside(k->r, x, y) && k->r.w > 0.4F * s->m.plot.w) {
            best = k->item;
        }
    }
    return g->now ? g->now->v->items[best].element : 0;
}
