#include <math.h>

#include "scene/comm_arcs.h"

enum { ARC_SEGMENTS = 8, CORNER_SEGMENTS = 6, LINES_APART = 4, ROUTE_POINTS = 8 };

static void draw_head(scene *s, float x, float y, float dx, float dy, float size, rgba c)
{
    float len = fmaxf(hypotf(dx, dy), 1e-3F);
    float ux = dx / len * size;
    float uy = dy / len * size;
    float xs[3] = {x, x - ux - uy * 0.5F, x - ux + uy * 0.5F};
    float ys[3] = {y, y - uy + ux * 0.5F, y - uy - ux * 0.5F};
    draw_triangle(s->l, LAYER_DATA, xs, ys, c);
}

static float head_size(const scene *s, const comm_arc *a)
{
    return px(s, 3) + a->width * 1.6F;
}

/* ------------------------------------------------------------------ between two nodes */

typedef struct curve {
    float x[3], y[3]; /* quadratic */
    float t0, t1;     /* the part that shows between the nodes */
} curve;

static curve curve_of(const scene *s, const node_place *a, const node_place *b)
{
    float dx = b->x - a->x;
    float dy = b->y - a->y;
    float len = fmaxf(hypotf(dx, dy), 1e-3F);
    return (curve){.x = {a->x, (a->x + b->x) / 2 + dy * 0.22F, b->x},
                   .y = {a->y, (a->y + b->y) / 2 - dx * 0.22F, b->y},
                   .t0 = fminf(a->radius / len, 0.4F),
                   .t1 = 1 - fminf((b->radius + px(s, 1)) / len, 0.4F)};
}

/* The i-th of the points between its segments. */
static void curve_at(const curve *c, int i, int n, float *x, float *y)
{
    float t = c->t0 + (c->t1 - c->t0) * (float)i / (float)n;
    float u = 1 - t;
    *x = u * u * c->x[0] + 2 * u * t * c->x[1] + t * t * c->x[2];
    *y = u * u * c->y[0] + 2 * u * t * c->y[1] + t * t * c->y[2];
}

void comm_arc_draw(scene *s, const comm_arc *a, const node_place *nodes)
{
    curve c = curve_of(s, &nodes[a->from], &nodes[a->to]);
    float px0 = 0;
    float py0 = 0;
    for (int i = 0; i <= ARC_SEGMENTS; i++) {
        float x;
        float y;
        curve_at(&c, i, ARC_SEGMENTS, &x, &y);
        if (i > 0) {
            draw_segment(s->l, LAYER_DATA, px0, py0, x, y, a->width, a->colour);
        }
        if (i == ARC_SEGMENTS && a->has_head) {
            draw_head(s, x, y, x - px0, y - py0, head_size(s, a), a->colour);
        }
        px0 = x;
        py0 = y;
    }
}

/* ------------------------------------------------------------------ around all */

/* Sides of a box, clockwise; side k ends at corner k + 1, and corner k is where it begins. */
enum { SIDE_TOP, SIDE_RIGHT, SIDE_BOTTOM, SIDE_LEFT, SIDES };

typedef struct route {
    float x[ROUTE_POINTS], y[ROUTE_POINTS];
    int n;
    float length;
} route;

static bool passes_under(const scene *s, const comm_arc *a, const node_place *nodes, comm_span around)
{
    enum { STEPS = 48 };
    curve c = curve_of(s, &nodes[a->from], &nodes[a->to]);
    for (uint32_t k = around.first; k < around.end; k++) {
        for (int i = 0; i <= STEPS && k != a->from && k != a->to; i++) {
            float x;
            float y;
            curve_at(&c, i, STEPS, &x, &y);
            if (hypotf(x - nodes[k].x, y - nodes[k].y) < nodes[k].radius) {
                return true;
            }
        }
    }
    return false;
}

/* Where a straight line from the node meets the side. @return false: another node is in its way */
static bool leave_by(const node_place *nodes, uint32_t node, comm_span around, const float box[4], int side, float *x,
                     float *y)
{
    const node_place *p = &nodes[node];
    *x = side == SIDE_LEFT ? box[0] : side == SIDE_RIGHT ? box[2] : p->x;
    *y = side == SIDE_TOP ? box[1] : side == SIDE_BOTTOM ? box[3] : p->y;
    for (uint32_t k = around.first; k < around.end; k++) {
        const node_place *q = &nodes[k];
        float nearest_x = fminf(fmaxf(q->x, fminf(p->x, *x)), fmaxf(p->x, *x));
        float nearest_y = fminf(fmaxf(q->y, fminf(p->y, *y)), fmaxf(p->y, *y));
        if (k != node && hypotf(q->x - nearest_x, q->y - nearest_y) < q->radius + 1) {
            return false;
        }
    }
    return true;
}

static void add_point(route *r, float x, float y)
{
    if (r->n > 0) {
        r->length += hypotf(x - r->x[r->n - 1], y - r->y[r->n - 1]);
    }
    r->x[r->n] = x;
    r->y[r->n++] = y;
}

/* Along the box from one side to another, clockwise or the other way round. */
static void add_corners(route *r, const float box[4], int from, int to, bool clockwise)
{
    const float xs[SIDES] = {box[0], box[2], box[2], box[0]}; /* of the corners, from the upper left one on */
    const float ys[SIDES] = {box[1], box[1], box[3], box[3]};
    for (int side = from; side != to;) {
        int corner = clockwise ? (side + 1) % SIDES : side;
        add_point(r, xs[corner], ys[corner]);
        side = (side + (clockwise ? 1 : SIDES - 1)) % SIDES;
    }
}

/* The shortest of the ways along the box, of equal ones that on the outer side. @return false: there is none */
static bool find_route(const comm_arc *a, const node_place *nodes, comm_span around, const float box[4], route *best)
{
    int outer = around.first == 0 ? SIDE_LEFT : SIDE_RIGHT;
    best->n = 0;
    for (int way = 0; way < SIDES * SIDES * 2; way++) {
        int from = (outer + way / 2) % SIDES;
        int to = (outer + way / 2 / SIDES) % SIDES;
        route r = {.n = 0};
        float ax;
        float ay;
        float bx;
        float by;
        if (!leave_by(nodes, a->from, around, box, from, &ax, &ay) ||
            !leave_by(nodes, a->to, around, box, to, &bx, &by)) {
            continue;
        }
        add_point(&r, nodes[a->from].x, nodes[a->from].y);
        add_point(&r, ax, ay);
        add_corners(&r, box, from, to, way % 2 != 0);
        add_point(&r, bx, by);
        add_point(&r, nodes[a->to].x, nodes[a->to].y);
        if (best->n == 0 || r.length < best->length - 0.5F) {
            *best = r;
        }
    }
    return best->n > 0;
}

/* A point `by` px from (x, y) towards (to_x, to_y). */
static void step_towards(float x, float y, float to_x, float to_y, float by, float *out_x, float *out_y)
{
    float len = fmaxf(hypotf(to_x - x, to_y - y), 1e-3F);
    *out_x = x + (to_x - x) * by / len;
    *out_y = y + (to_y - y) * by / len;
}

/* Straight, with round corners. */
static void draw_route(scene *s, const comm_arc *a, const route *r, float radius)
{
    float x0 = r->x[0];
    float y0 = r->y[0];
    for (int k = 1; k + 1 < r->n; k++) {
        float before = hypotf(r->x[k] - r->x[k - 1], r->y[k] - r->y[k - 1]) / (k == 1 ? 1 : 2);
        float behind = hypotf(r->x[k + 1] - r->x[k], r->y[k + 1] - r->y[k]) / (k + 2 == r->n ? 1 : 2);
        float round = fminf(radius, fminf(before, behind));
        curve c = {.x = {0, r->x[k], 0}, .y = {0, r->y[k], 0}, .t1 = 1};
        step_towards(r->x[k], r->y[k], r->x[k - 1], r->y[k - 1], round, &c.x[0], &c.y[0]);
        step_towards(r->x[k], r->y[k], r->x[k + 1], r->y[k + 1], round, &c.x[2], &c.y[2]);
        for (int i = 0; i <= CORNER_SEGMENTS; i++) {
            float x;
            float y;
            curve_at(&c, i, CORNER_SEGMENTS, &x, &y);
            draw_segment(s->l, LAYER_DATA, x0, y0, x, y, a->width, a->colour);
            x0 = x;
            y0 = y;
        }
    }
    draw_segment(s->l, LAYER_DATA, x0, y0, r->x[r->n - 1], r->y[r->n - 1], a->width, a->colour);
}

bool comm_arc_around(scene *s, const comm_arc *a, const node_place *nodes, float pitch, comm_span around,
                     unsigned *n_lines)
{
    if (!passes_under(s, a, nodes, around)) {
        return false;
    }
    float room = fminf(pitch * 0.1F + head_size(s, a), pitch * 0.34F); /* what a block leaves beside its nodes */
    float apart = room + px(s, 2.5F) * (float)(*n_lines % LINES_APART);
    float box[4] = {INFINITY, INFINITY, -INFINITY, -INFINITY};
    for (uint32_t k = around.first; k < around.end; k++) {
        box[0] = fminf(box[0], nodes[k].x - nodes[k].radius - apart);
        box[1] = fminf(box[1], nodes[k].y - nodes[k].radius - apart);
        box[2] = fmaxf(box[2], nodes[k].x + nodes[k].radius + apart);
        box[3] = fmaxf(box[3], nodes[k].y + nodes[k].radius + apart);
    }
    route r;
    if (!find_route(a, nodes, around, box, &r)) {
        return false;
    }
    const node_place *to = &nodes[a->to];
    int last = r.n - 1;
    step_towards(to->x, to->y, r.x[last - 1], r.y[last - 1], to->radius + px(s, 1), &r.x[last], &r.y[last]);
    float dx = to->x - r.x[last - 1];
    float dy = to->y - r.y[last - 1];
    float x = r.x[last];
    float y = r.y[last];
    draw_route(s, a, &r, pitch * 0.45F);
    if (a->has_head) {
        draw_head(s, x, y, dx, dy, head_size(s, a), a->colour);
    }
    ++*n_lines;
    return true;
}
