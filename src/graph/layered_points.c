/* The points of each line: along its chain from gap to gap, round row ends, or round the outside. */
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

static float start_of(const router *r, uint32_t link)
{
    uint32_t a = r->g->link_from[link];
    return r->g->v[a] + r->g->link_out[link] + row_shift(r, a);
}

/* To the next layer; the line stands at its source. */
static void emit_link(const router *r, module_out *o, size_t first, uint32_t link)
{
    const layered *g = r->g;
    uint32_t b = g->link_to[link];
    float t = g->v[b] + g->link_in[link] + row_shift(r, b);
    float s = start_of(r, link);
    uint32_t bend = r->out_wire[link];
    if (bend != GRAPH_NONE) {
        emit(o, first, r->wire_at[bend], s);
        if (r->start_wire[link] != GRAPH_NONE) {
            emit(o, first, r->wire_at[bend], r->wire_at[r->row_wire[link]]);
            bend = r->start_wire[link];
            emit(o, first, r->wire_at[bend], r->wire_at[r->row_wire[link]]);
        }
        emit(o, first, r->wire_at[bend], t);
    }
    emit(o, first, router_u(r, b), bend == GRAPH_NONE ? s : t);
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
    emit(o, first, router_u(r, l->to), t);
}

/* Along its chain, through the layers from .. to. */
static void emit_chain(const router *r, module_out *o, size_t first, const layered_line *l, uint32_t from, uint32_t to)
{
    const layered *g = r->g;
    for (uint32_t k = from; k < to; k++) {
        uint32_t link = layered_link(g, layered_at(g, l, k), layered_at(g, l, k + 1), l->turned);
        if (k == g->layer[l->from]) {
            emit(o, first, router_u(r, l->from) + g->su[l->from], start_of(r, link));
        }
        emit_link(r, o, first, link);
    }
}

/* From the in-port down beside the rows before, and in at the left of its row. @return the first layer there */
static uint32_t emit_entry(const router *r, module_out *o, size_t first, const layered_line *l)
{
    const layered *g = r->g;
    uint32_t k = r->row_first[r->row_of[g->layer[l->to]]];
    uint32_t link = layered_link(g, layered_at(g, l, k - 1), layered_at(g, l, k), false);
    float v = g->v[g->in_port] + row_shift(r, g->in_port);
    float turn = r->wire_at[r->row_wire[link]];
    float at = r->wire_at[r->start_wire[link]];
    float t = g->v[g->link_to[link]] + g->link_in[link] + row_shift(r, g->link_to[link]);
    emit(o, first, 0, v);
    emit(o, first, r->port_u, v);
    emit(o, first, r->port_u, turn);
    emit(o, first, at, turn);
    emit(o, first, at, t);
    emit(o, first, router_u(r, g->link_to[link]), t);
    return k;
}

/* From the end of its row to the out-port, beside the rows behind. */
static void emit_exit(const router *r, module_out *o, size_t first, const layered_line *l)
{
    const layered *g = r->g;
    uint32_t k = r->row_first[r->row_of[g->layer[l->from]] + 1] - 1;
    uint32_t link = layered_link(g, layered_at(g, l, k), layered_at(g, l, k + 1), false);
    emit_chain(r, o, first, l, g->layer[l->from], k);
    float v = g->v[g->out_port] + row_shift(r, g->out_port);
    uint32_t a = g->link_from[link];
    emit(o, first, router_u(r, a) + g->su[a], start_of(r, link));
    emit(o, first, r->exit_u, start_of(r, link));
    emit(o, first, r->exit_u, v);
    emit(o, first, r->su + LAYOUT_PAD, v);
}

static void emit_line(const router *r, module_out *o, uint32_t line)
{
    const layered *g = r->g;
    const layered_line *l = &g->lines[line];
    size_t first = o->n_points;
    if (l->outer) {
        emit(o, first, router_u(r, l->from) + g->su[l->from],
             layered_out_v(g, l->from) + row_shift(r, l->from));
        emit_outer(r, o, first, line);
    } else if (router_leaves_side(r, l)) {
        emit_exit(r, o, first, l);
    } else {
        uint32_t k = router_enters_side(r, l) ? emit_entry(r, o, first, l) : g->layer[l->from];
        emit_chain(r, o, first, l, k, g->layer[l->to]);
    }
    for (size_t z = o->n_points; l->turned && first + 1 < z; first++) {
        layout_point p = o->points[first];
        o->points[first] = o->points[--z];
        o->points[z] = p;
    }
}

static void place_children(const router *r, module_out *out, component_size *size)
{
    const layered *g = r->g;
    for (uint32_t x = 0; x < g->n_real; x++) {
        if (g->id[x] < g->in->n) {
            out->u[g->id[x]] = router_u(r, x);
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

enum { FEW_ENOUGH = 4000 };

marey_status layered_route(layered *g, module_out *out, uint32_t *n_points, component_size *size)
{
    router r;
    router_init(&r, g);
    router_rows(&r, g->in->wrap_aspect);
    bool done = true;
    if (r.n_rows > 1 && g->n <= FEW_ENOUGH && router_loosen(&r)) { /* each row for itself */
        done = layered_place(g) == MAREY_OK;
    }
    done = done && router_run(&r);
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
