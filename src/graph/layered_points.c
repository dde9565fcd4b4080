/* Rows, and the points of each line: along its chain from gap to gap, round row ends, or round the outside. */
#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "graph/layered_route.h"

/* Collinear points are joined. `first`: of this line. */
static void emit(module_out *o, size_t first, float u, float v)
{
    size_t n = o->n_points;
    if (n > first && fabsf(o->points[n - 1].x - u) < 0.01F && fabsf(o->points[n - 1].y - v) < 0.01F) {
        return;
    }
    if (n >= first + 2) {
        layout_point *a = &o->points[n - 2];
        layout_point *b = &o->points[n - 1];
        bool along = fabsf(a->y - b->y) < 0.01F && fabsf(b->y - v) < 0.01F;
        bool across = fabsf(a->x - b->x) < 0.01F && fabsf(b->x - u) < 0.01F;
        if (along || across) {
            *b = (layout_point){u, v};
            return;
        }
    }
    VEC_PUSH(o->points, o->n_points, o->cap_points, ((layout_point){u, v}));
}

static float row_shift(const router *r, uint32_t x)
{
    return r->row_v[r->row_of[r->g->layer[x]]];
}

/* From vertex a to b in the next layer; the line stands at v of a. */
static void emit_link(const router *r, module_out *o, size_t first, uint32_t a, uint32_t b)
{
    const layered *g = r->g;
    float t = g->v[b] + g->link_in[layered_link(g, a, b)] + row_shift(r, b);
    float s = layered_out_v(g, a) + row_shift(r, a);
    uint32_t bend = r->out_wire[a];
    if (bend != GRAPH_NONE) {
        emit(o, first, r->wire_at[bend], s);
        if (r->start_wire[a] != GRAPH_NONE) {
            emit(o, first, r->wire_at[bend], r->wire_at[r->row_wire[a]]);
            bend = r->start_wire[a];
            emit(o, first, r->wire_at[bend], r->wire_at[r->row_wire[a]]);
        }
        emit(o, first, r->wire_at[bend], t);
    }
    emit(o, first, r->layer_u[g->layer[b]], bend == GRAPH_NONE ? s : t);
}

static void emit_outer(const router *r, module_out *o, size_t first, uint32_t line)
{
    const layered *g = r->g;
    const layered_line *l = &g->lines[line];
    float s = layered_out_v(g, l->from) + row_shift(r, l->from);
    float from_u = r->wire_at[r->outer_wire[l->from]];
    float to_u = r->wire_at[r->target_wire[line]];
    float from_v = r->wire_at[r->source_channel[l->from]];
    float to_v = r->wire_at[r->target_channel[line]];
    float t = r->target_v[line] + row_shift(r, l->to);
    emit(o, first, from_u, s);
    emit(o, first, from_u, from_v);
    if (r->row_of[g->layer[l->from]] != r->row_of[g->layer[l->to]]) {
        emit(o, first, r->margin_u[l->from], from_v);
        emit(o, first, r->margin_u[l->from], to_v);
    }
    emit(o, first, to_u, to_v);
    emit(o, first, to_u, t);
    emit(o, first, r->layer_u[g->layer[l->to]], t);
}

static void emit_line(const router *r, module_out *o, uint32_t line)
{
    const layered *g = r->g;
    const layered_line *l = &g->lines[line];
    size_t first = o->n_points;
    emit(o, first, r->layer_u[g->layer[l->from]] + g->su[l->from], layered_out_v(g, l->from) + row_shift(r, l->from));
    if (l->outer) {
        emit_outer(r, o, first, line);
        return;
    }
    for (uint32_t k = g->layer[l->from]; k < g->layer[l->to]; k++) {
        emit_link(r, o, first, layered_at(g, l, k), layered_at(g, l, k + 1));
    }
}

/* How many lines a cut before this layer would turn, trunks counted once. */
static uint32_t crossing_here(const layered *g, uint32_t layer)
{
    uint32_t n = 0;
    for (uint32_t i = g->layer_first[layer - 1]; i < g->layer_first[layer]; i++) {
        n += g->down_first[g->order[i]] < g->down_first[g->order[i] + 1];
    }
    return n;
}

static void one_row(router *r)
{
    r->n_rows = 1;
    r->row_first = mem_calloc(2, sizeof *r->row_first);
    r->row_first[1] = r->g->n_layers;
}

/* start[l]: where layer l would begin in one row. */
static float *layer_starts(const layered *g, float *height)
{
    float *start = mem_alloc((g->n_layers + 1U) * sizeof *start);
    float u = 0;
    *height = 0;
    for (uint32_t l = 0; l < g->n_layers; l++) {
        float widest = 0;
        float lo = INFINITY;
        float hi = -INFINITY;
        start[l] = u;
        for (uint32_t i = g->layer_first[l]; i < g->layer_first[l + 1]; i++) {
            uint32_t x = g->order[i];
            widest = fmaxf(widest, g->su[x]);
            lo = fminf(lo, g->v[x]);
            hi = fmaxf(hi, g->v[x] + g->sv[x]);
        }
        *height = fmaxf(*height, hi - lo);
        u += widest + LAYOUT_LAYER_GAP;
    }
    start[g->n_layers] = u;
    return start;
}

/* The layer near `want` before which a cut turns fewest lines; 0: none that leaves rows of two layers. */
static uint32_t best_cut(const layered *g, const float *start, uint32_t after, float want, float slack)
{
    uint32_t best = 0;
    uint32_t least = GRAPH_NONE;
    float off = INFINITY;
    for (uint32_t l = after + 2; l + 1 < g->n_layers && start[l] <= want + slack; l++) {
        uint32_t n = crossing_here(g, l);
        float d = fabsf(start[l] - want);
        if (start[l] >= want - slack && (n < least || (n == least && d < off))) {
            best = l;
            least = n;
            off = d;
        }
    }
    return best;
}

enum { LEAST_WRAPPED = 500 }; /* px: what is shorter is read in one row */

void router_rows(router *r, float wrap_aspect)
{
    const layered *g = r->g;
    float height;
    float *start = layer_starts(g, &height);
    float length = start[g->n_layers];
    double aspect = 1.8; /* of the wrapped whole */
    uint32_t rows = (uint32_t)lround(sqrt((double)length / (aspect * ((double)height + 2 * LAYOUT_GAP))));
    if (wrap_aspect <= 0 || length < wrap_aspect * height || length < LEAST_WRAPPED || rows < 2 || g->n_layers < 4) {
        free(start);
        one_row(r);
        return;
    }
    r->row_first = mem_calloc(rows + 1U, sizeof *r->row_first);
    float row = length / (float)rows;
    r->n_rows = 1;
    for (uint32_t i = 1; i < rows; i++) {
        uint32_t cut = best_cut(g, start, r->row_first[r->n_rows - 1], row * (float)i, row * 0.2F);
        if (cut) {
            r->row_first[r->n_rows++] = cut;
        }
    }
    r->row_first[r->n_rows] = g->n_layers;
    for (uint32_t i = 0; i < r->n_rows; i++) {
        for (uint32_t l = r->row_first[i]; l < r->row_first[i + 1]; l++) {
            r->row_of[l] = i;
        }
    }
    free(start);
}

static void place_children(const router *r, module_out *out, component_size *size)
{
    const layered *g = r->g;
    for (uint32_t x = 0; x < g->n_real; x++) {
        if (g->id[x] < g->in->n) {
            out->u[g->id[x]] = r->layer_u[g->layer[x]];
            out->v[g->id[x]] = g->v[x] + row_shift(r, x);
        }
    }
    bool padded = g->out_port != GRAPH_NONE && r->n_rows > 1; /* other rows keep off the side that the port is on */
    *size = (component_size){.su = r->su + (padded ? LAYOUT_PAD : 0), .sv = r->sv};
    if (g->in_port != GRAPH_NONE) {
        size->in_at = g->v[g->in_port] + row_shift(r, g->in_port);
    }
    if (g->out_port != GRAPH_NONE) {
        size->out_at = g->v[g->out_port] + row_shift(r, g->out_port);
    }
}

marey_status layered_route(layered *g, module_out *out, uint32_t *n_points, component_size *size)
{
    router r;
    router_init(&r, g);
    router_rows(&r, g->in->wrap_aspect);
    bool done = router_run(&r);
    if (done) {
        place_children(&r, out, size);
    }
    for (uint32_t i = 0; i < g->n_lines && done; i++) {
        size_t first = out->n_points;
        emit_line(&r, out, i);
        n_points[i] = (uint32_t)(out->n_points - first);
        done = (i & 0xfff) != 0 || !is_cancelled(g->cancel);
    }
    router_deinit(&r);
    return done ? MAREY_OK : MAREY_CANCELLED;
}
