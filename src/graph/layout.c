/* Layout of what is visible: module by module from the inside out, then absolute places from the outside in. */
#include "graph/layout.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "graph/layout_build.h"

void layout_options_init(layout_options *o)
{
    *o = (layout_options){.direction = LAYOUT_RIGHT, .routing = ROUTE_ORTHOGONAL, .wrap_aspect = 3.5};
}

static void size_by_label(const graph_plan *p, uint32_t element, float *w, float *h)
{
    size_t n = strlen(plan_label(p, element));
    n = n > 28 ? 28 : n;
    *w = fmaxf(72, 24 + 7 * (float)n);
    *h = p->elements[element].n_children > 0 ? 44 : 36;
}

static bool by_stage(const layout_build *b)
{
    return b->o->by_stage && b->p->g->n_stages > 0 && b->v->items[0].n_children > 0;
}

/* Looked at now and then. */
static bool stopped(const layout_build *b, size_t i)
{
    return (i & 0x1fff) == 0 && is_cancelled(b->o->cancel);
}

enum { LEAST_SIDE = 24 };

/* Where too little of the side would be left, lines end anywhere. */
static void fit_inset(float *inset, float side)
{
    bool fits = inset[0] >= 0 && inset[1] >= 0 && inset[0] + inset[1] + LEAST_SIDE <= side;
    inset[0] = fits ? inset[0] : 0;
    inset[1] = fits ? inset[1] : 0;
}

/* Sizes of what is closed; open modules get theirs when they are laid out. */
static void size_items(layout_build *b)
{
    for (uint32_t i = 0; i < b->v->n_items && !stopped(b, i); i++) {
        layout_box *box = &b->l->boxes[i];
        if (b->v->items[i].n_children == 0) {
            if (b->o->size) {
                b->o->size(b->o->size_ctx, b->p, b->v->items[i].element, &box->w, &box->h);
            } else {
                size_by_label(b->p, b->v->items[i].element, &box->w, &box->h);
            }
            if (b->o->inset) {
                b->o->inset(b->o->size_ctx, b->p, b->v->items[i].element, &b->inset[i][0], &b->inset[i][1]);
            }
            box->w = isfinite(box->w) ? fminf(fmaxf(box->w, 1), 1e5F) : 1;
            box->h = isfinite(box->h) ? fminf(fmaxf(box->h, 1), 1e5F) : 1;
        }
        b->in_at[i] = b->out_at[i] = -1;
        fit_inset(b->inset[i], b->right ? b->l->boxes[i].h : b->l->boxes[i].w);
    }
}

void layout_reserve(layout_build *b, uint32_t n, uint32_t n_lines)
{
    VEC_RESERVE(b->su, b->cap_su, n + 1U);
    VEC_RESERVE(b->sv, b->cap_sv, n + 1U);
    VEC_RESERVE(b->child_in, b->cap_in, n + 1U);
    VEC_RESERVE(b->child_inset, b->cap_inset, n + 1U);
    VEC_RESERVE(b->child_out, b->cap_out, n + 1U);
    VEC_RESERVE(b->from, b->cap_from, n_lines + 1U);
    VEC_RESERVE(b->to, b->cap_to, n_lines + 1U);
    VEC_RESERVE(b->flags, b->cap_flags, n_lines + 1U);
}

static void module_input(layout_build *b, uint32_t m, module_in *in)
{
    const visible_item *it = &b->v->items[m];
    bool right = b->right;
    uint32_t lo = b->line_first[m];
    uint32_t n_lines = b->line_first[m + 1] - lo;
    layout_reserve(b, it->n_children, n_lines);
    for (uint32_t c = 0; c < it->n_children; c++) {
        const layout_box *box = &b->l->boxes[it->first_child + c];
        b->su[c] = right ? box->w : box->h;
        b->sv[c] = right ? box->h : box->w;
        b->child_in[c] = b->in_at[it->first_child + c];
        memcpy(b->child_inset[c], b->inset[it->first_child + c], sizeof b->child_inset[c]);
        b->child_out[c] = b->out_at[it->first_child + c];
    }
    for (uint32_t i = 0; i < n_lines; i++) {
        const visible_line *x = &b->v->lines[lo + i];
        b->from[i] = x->from == m ? it->n_children : x->from - it->first_child;
        b->to[i] = x->to == m ? it->n_children + 1 : x->to - it->first_child;
        b->flags[i] = x->flags & (LINE_BACK | LINE_REVEALED);
    }
    float title = m == 0 ? LAYOUT_PAD : LAYOUT_TITLE + LAYOUT_PAD / 2;
    *in = (module_in){.n = it->n_children,
                      .su = b->su,
                      .sv = b->sv,
                      .in_at = b->child_in,
                      .out_at = b->child_out,
                      .inset = (const float(*)[2])b->child_inset,
                      .n_lines = n_lines,
                      .from = b->from,
                      .to = b->to,
                      .flags = b->flags,
                      .pad_u0 = right ? LAYOUT_PAD : title,
                      .pad_u1 = LAYOUT_PAD,
                      .pad_v0 = right ? title : LAYOUT_PAD,
                      .pad_v1 = LAYOUT_PAD,
                      .title_u = right ? 0 : title,
                      .wrap_aspect = (float)b->o->wrap_aspect};
}

static layout_point turned(const layout_build *b, layout_point q)
{
    return b->right ? q : (layout_point){q.y, q.x};
}

static void push_point(layout_build *b, layout_point q)
{
    VEC_PUSH(b->l->points, b->l->n_points, b->cap_points, q);
}

/* An orthogonal route as cubic pieces: straight runs, and one S or quarter for each run across. The curve leaves a run
 * at most this far before the corner, so that it stays in its gap. */
static void push_smooth(layout_build *b, const layout_point *q, uint32_t n)
{
    const float reach = 28;
    layout_point at = q[0];
    push_point(b, at);
    for (uint32_t i = 1; i + 1 < n; i++) {
        float before = hypotf(q[i].x - q[i - 1].x, q[i].y - q[i - 1].y);
        float after = hypotf(q[i + 1].x - q[i].x, q[i + 1].y - q[i].y);
        float r = fminf(reach, fminf(before, after) / 2);
        layout_point in = {q[i].x + (q[i - 1].x - q[i].x) * r / before, q[i].y + (q[i - 1].y - q[i].y) * r / before};
        layout_point out = {q[i].x + (q[i + 1].x - q[i].x) * r / after, q[i].y + (q[i + 1].y - q[i].y) * r / after};
        push_point(b, (layout_point){at.x + (in.x - at.x) / 3, at.y + (in.y - at.y) / 3});
        push_point(b, (layout_point){at.x + (in.x - at.x) * 2 / 3, at.y + (in.y - at.y) * 2 / 3});
        push_point(b, in);
        push_point(b, (layout_point){in.x + (q[i].x - in.x) * 0.56F, in.y + (q[i].y - in.y) * 0.56F});
        push_point(b, (layout_point){out.x + (q[i].x - out.x) * 0.56F, out.y + (q[i].y - out.y) * 0.56F});
        push_point(b, out);
        at = out;
    }
    push_point(b, (layout_point){at.x + (q[n - 1].x - at.x) / 3, at.y + (q[n - 1].y - at.y) / 3});
    push_point(b, (layout_point){at.x + (q[n - 1].x - at.x) * 2 / 3, at.y + (q[n - 1].y - at.y) * 2 / 3});
    push_point(b, q[n - 1]);
}

static double length_of(const layout_point *q, uint32_t n)
{
    double sum = 0;
    for (uint32_t i = 1; i < n; i++) {
        sum += (double)fabsf(q[i].x - q[i - 1].x) + (double)fabsf(q[i].y - q[i - 1].y);
    }
    return sum;
}

void layout_finish_route(layout_build *b, layout_route *route)
{
    uint32_t n = (uint32_t)(b->l->n_points - route->first_point);
    b->l->edge_length_px += length_of(b->l->points + route->first_point, n);
    if (b->o->routing == ROUTE_SMOOTH && n > 1) {
        VEC_RESERVE(b->bent, b->cap_bent, n);
        memcpy(b->bent, b->l->points + route->first_point, n * sizeof *b->bent);
        b->l->n_points = route->first_point;
        push_smooth(b, b->bent, n);
    }
    route->n_points = (uint32_t)b->l->n_points - route->first_point;
}

/* The finished inside of a module goes to its place in the layout. */
static void take_module(layout_build *b, uint32_t m, const module_out *o)
{
    const visible_item *it = &b->v->items[m];
    bool right = b->right;
    for (uint32_t c = 0; c < it->n_children; c++) {
        layout_box *box = &b->l->boxes[it->first_child + c];
        box->x = (double)(right ? o->u[c] : o->v[c]);
        box->y = (double)(right ? o->v[c] : o->u[c]);
    }
    layout_box *own = &b->l->boxes[m];
    own->w = right ? o->su : o->sv;
    own->h = right ? o->sv : o->su;
    b->in_at[m] = o->in_at;
    b->out_at[m] = o->out_at;
    b->l->n_crossings += o->n_crossings;
    for (uint32_t l = b->line_first[m]; l < b->line_first[m + 1] && !stopped(b, l); l++) {
        uint32_t i = l - b->line_first[m];
        layout_route *r = &b->l->routes[l];
        r->first_point = (uint32_t)b->l->n_points;
        for (uint32_t k = o->first_point[i]; k < o->first_point[i + 1]; k++) {
            push_point(b, turned(b, o->points[k]));
        }
        layout_finish_route(b, r);
    }
}

static marey_status lay_module(layout_build *b, uint32_t m)
{
    module_in in;
    module_out fresh = {0};
    cache_key key;
    module_input(b, m, &in);
    layout_key(&in, &key);
    const module_out *known = layout_cache_get(b->cache, &key);
    if (known) {
        b->l->n_cached++;
        take_module(b, m, known);
        return MAREY_OK;
    }
    marey_status status = layered_module(&in, &fresh, b->o->cancel);
    if (status == MAREY_OK) {
        take_module(b, m, &fresh);
        layout_cache_put(b->cache, &key, &fresh);
    }
    module_out_deinit(&fresh);
    return status;
}

static void index_lines(layout_build *b)
{
    b->line_first = mem_calloc(b->v->n_items + 2, sizeof *b->line_first);
    for (size_t i = 0; i < b->v->n_lines && !stopped(b, i); i++) {
        b->line_first[b->v->lines[i].module + 1]++;
    }
    for (size_t i = 0; i < b->v->n_items; i++) {
        b->line_first[i + 1] += b->line_first[i];
    }
}

static marey_status lay_all(layout_build *b)
{
    for (uint32_t m = (uint32_t)b->v->n_items; m-- > 0;) {
        if (b->v->items[m].n_children > 0 || m == 0) {
            marey_status status = m == 0 && by_stage(b) ? layout_lanes(b) : lay_module(b, m);
            if (status != MAREY_OK) {
                return status;
            }
        }
        if ((m & 0xff) == 0 && is_cancelled(b->o->cancel)) {
            return MAREY_CANCELLED;
        }
    }
    for (size_t i = 1; i < b->v->n_items && !stopped(b, i); i++) { /* parents first */
        b->l->boxes[i].x += b->l->boxes[b->v->items[i].parent].x;
        b->l->boxes[i].y += b->l->boxes[b->v->items[i].parent].y;
    }
    return is_cancelled(b->o->cancel) ? MAREY_CANCELLED : MAREY_OK;
}

static void build_deinit(layout_build *b)
{
    free(b->in_at);
    free(b->out_at);
    free(b->line_first);
    free(b->su);
    free(b->sv);
    free(b->child_in);
    free(b->child_inset);
    free(b->inset);
    free(b->child_out);
    free(b->from);
    free(b->to);
    free(b->flags);
    free(b->bent);
    layout_cache_destroy(&b->own_cache);
}

marey_status graph_layout_create(graph_layout **out, const graph_plan *p, const visible *v, const layout_options *o,
                                 layout_cache *cache)
{
    int64_t t0 = clock_now_ns();
    layout_build b = {.p = p, .v = v, .o = o, .cache = cache};
    *out = NULL;
    b.l = mem_calloc(1, sizeof *b.l);
    b.l->boxes = mem_calloc(v->n_items + 1, sizeof *b.l->boxes);
    b.l->routes = mem_calloc(v->n_lines + 1, sizeof *b.l->routes);
    b.in_at = mem_alloc((v->n_items + 1) * sizeof *b.in_at);
    b.out_at = mem_alloc((v->n_items + 1) * sizeof *b.out_at);
    b.inset = mem_calloc(v->n_items + 1, sizeof *b.inset);
    if (!cache) { /* equal modules of one picture share their inside even so */
        b.own_cache = b.cache = layout_cache_create((size_t)8 << 20);
    }
    b.right = o->direction == LAYOUT_RIGHT || by_stage(&b); /* lanes always run to the right */
    size_items(&b);
    index_lines(&b);
    marey_status status = is_cancelled(o->cancel) ? MAREY_CANCELLED : lay_all(&b);
    build_deinit(&b);
    if (status != MAREY_OK) {
        graph_layout_destroy(&b.l);
        return status;
    }
    b.l->points = mem_realloc_array(b.l->points, b.l->n_points + 1, sizeof *b.l->points);
    b.l->width = (double)b.l->boxes[0].w;
    b.l->height = (double)b.l->boxes[0].h;
    b.l->seconds = (double)(clock_now_ns() - t0) * 1e-9;
    *out = b.l;
    return MAREY_OK;
}

void graph_layout_destroy(graph_layout **l)
{
    if (*l) {
        free((*l)->boxes);
        free((*l)->routes);
        free((*l)->points);
        free((*l)->lanes);
        free(*l);
        *l = NULL;
    }
}
