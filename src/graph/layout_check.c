/* Whether a layout can be drawn: finite, nested, apart, and its routes joined to what they join. */
#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "graph/layout.h"

static bool finite_box(const layout_box *b)
{
    return isfinite(b->x) && isfinite(b->y) && isfinite(b->w) && isfinite(b->h) && b->w > 0 && b->h > 0;
}

/* Half a px for rounding; at far places a float's own step. */
static double slack_at(double x)
{
    return 0.5 + fabs(x) * 1e-6;
}

static const char *check_boxes(const graph_layout *l, const visible *v)
{
    for (size_t i = 0; i < v->n_items; i++) {
        const layout_box *b = &l->boxes[i];
        const layout_box *p = &l->boxes[v->items[i].parent];
        if (!finite_box(b)) {
            return "a box is not finite or has no size";
        }
        double sx = slack_at(p->x + (double)p->w);
        double sy = slack_at(p->y + (double)p->h);
        if (b->x < p->x - sx || b->y < p->y - sy || b->x + (double)b->w > p->x + (double)p->w + sx ||
            b->y + (double)b->h > p->y + (double)p->h + sy) {
            return "a child is not inside its parent";
        }
    }
    return NULL;
}

static int by_x(const void *a, const void *b)
{
    const layout_box *x = *(const layout_box *const *)a;
    const layout_box *y = *(const layout_box *const *)b;
    return x->x < y->x ? -1 : x->x > y->x;
}

/* Along x; of each box only those that begin before it ends are looked at. */
static const char *check_apart(const graph_layout *l, const visible *v)
{
    const layout_box **by = mem_alloc((v->n_items + 1) * sizeof *by);
    const char *why = NULL;
    for (size_t m = 0; m < v->n_items && !why; m++) {
        const visible_item *it = &v->items[m];
        for (uint32_t c = 0; c < it->n_children; c++) {
            by[c] = &l->boxes[it->first_child + c];
        }
        qsort(by, it->n_children, sizeof(const layout_box *), by_x);
        for (uint32_t i = 0; i < it->n_children; i++) {
            const layout_box *a = by[i];
            double s = slack_at(a->x + (double)a->w) + slack_at(a->y);
            for (uint32_t k = i + 1; k < it->n_children && by[k]->x < a->x + (double)a->w - s; k++) {
                const layout_box *b = by[k];
                if (b->y < a->y + (double)a->h - s && a->y < b->y + (double)b->h - s) {
                    why = "siblings overlap";
                }
            }
        }
    }
    free(by);
    return why;
}

/* Whether a point lies on the border of a box. */
static bool on_border(const layout_box *b, double x, double y)
{
    double s = slack_at(x) + slack_at(y) + 0.5;
    double w = (double)b->w;
    double h = (double)b->h;
    bool in_x = x >= b->x - s && x <= b->x + w + s;
    bool in_y = y >= b->y - s && y <= b->y + h + s;
    bool side = fabs(x - b->x) <= s || fabs(x - b->x - w) <= s || fabs(y - b->y) <= s || fabs(y - b->y - h) <= s;
    return in_x && in_y && side;
}

static const char *check_routes(const graph_layout *l, const visible *v)
{
    for (size_t i = 0; i < v->n_lines; i++) {
        const layout_route *r = &l->routes[i];
        const layout_box *m = &l->boxes[v->lines[i].module];
        if (r->n_points < 2 || (size_t)r->first_point + r->n_points > l->n_points) {
            return "a route has no points";
        }
        const layout_point *q = l->points + r->first_point;
        for (uint32_t k = 0; k < r->n_points; k++) {
            if (!isfinite(q[k].x) || !isfinite(q[k].y)) {
                return "a point of a route is not finite";
            }
        }
        const layout_point *z = &q[r->n_points - 1];
        if (!on_border(&l->boxes[v->lines[i].from], m->x + (double)q->x, m->y + (double)q->y)) {
            return "a route does not begin at its box";
        }
        if (!on_border(&l->boxes[v->lines[i].to], m->x + (double)z->x, m->y + (double)z->y)) {
            return "a route does not end at its box";
        }
    }
    return NULL;
}

const char *graph_layout_check(const graph_layout *l, const visible *v)
{
    const char *why = check_boxes(l, v);
    why = why ? why : check_apart(l, v);
    return why ? why : check_routes(l, v);
}
