/*
 * The parallel strategy (layout_options.by_stage): one lane for each pipeline stage. What stands in the root is put in
 * the lane of its stage in the order of execution, the lane is cut into blocks at sends and receives (and where lines
 * cross lanes), each block is laid out like a module, and blocks are placed from left to right by what they depend on:
 * a block begins when the one before it in its lane, and all that it hears from, have ended. So empty space is waiting.
 *
 * Lines between blocks leave at the block's out-port, run in the channels between lanes, and enter at the in-port.
 */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "graph/layered_tracks.h"
#include "graph/layout_build.h"
#include "graph/visible_build.h"

enum { LANE_TITLE = 20, SIDE_TRACKS = 3 }; /* wires beside a block: from above, from below, or to its neighbour */

typedef struct lane_block {
    uint32_t lane, first, n; /* items: members[first .. first + n] */
    uint32_t before;         /* block before it in its lane; GRAPH_NONE */
    module_out out;
    float u, v;
} lane_block;

/* A piece in a channel. */
typedef struct run_wire {
    float lo, hi, v;
    uint32_t channel; /* 0: above the first lane; c: below lane c - 1 */
} run_wire;

typedef struct laner {
    layout_build *b;
    uint32_t n; /* children of the root; item = base + child */
    uint32_t base, n_lanes, n_lines;
    uint32_t *lane, *start;     /* [n] lane; first node */
    uint32_t *members;          /* [n] children by lane, in the order of execution */
    uint32_t *block_of, *local; /* [n] */
    lane_block *blocks;
    size_t n_blocks, cap_blocks;
    float *lane_v, *lane_h; /* [n_lanes] */
    run_wire *wires;
    size_t n_wires, cap_wires;
    uint32_t *out_wire; /* [2 n_blocks] of lines out of a block, in the channel above and below its lane */
    uint32_t *far_wire; /* [n_lines] of lines over more than one lane, in the channel at their target */
    float *margin_u;    /* [n_blocks] at the far left, of a block's lines over more than one lane; 0: none */
    float left, su, sv; /* where blocks begin; the whole */
} laner;

/* Where a child stands: the stage that most of its nodes have (Boyer and Moore's vote), and its first node. */
static void find_lanes(laner *r)
{
    const graph_plan *p = r->b->p;
    const visible *v = r->b->v;
    uint32_t *show = visible_show(v, p);
    int32_t *votes = mem_calloc(r->n + 1U, sizeof *votes);
    for (uint32_t c = 0; c < r->n; c++) {
        r->start[c] = GRAPH_NONE;
        r->lane[c] = GRAPH_NONE;
    }
    for (uint32_t node = 0; node < p->g->n_nodes; node++) {
        uint32_t leaf = p->element_of[node];
        uint32_t item = leaf == GRAPH_NONE ? 0 : show[leaf];
        while (item != 0 && v->items[item].parent != 0) {
            item = v->items[item].parent;
        }
        if (item == 0) {
            continue;
        }
        uint32_t c = item - v->items[0].first_child;
        uint32_t stage = (uint32_t)graph_stage_of(p->g, node); /* none is GRAPH_NONE */
        r->start[c] = r->start[c] == GRAPH_NONE ? node : r->start[c];
        if (stage < r->n_lanes) {
            r->lane[c] = votes[c] == 0 ? stage : r->lane[c];
            votes[c] += r->lane[c] == stage ? 1 : -1;
        }
    }
    free(show);
    free(votes);
}

/* Without a stage of its own: that of what it goes to, else the first. */
static void lanes_of_strays(laner *r)
{
    const visible *v = r->b->v;
    uint32_t first = r->base;
    for (size_t i = v->n_lines; i-- > 0;) {
        const visible_line *l = &v->lines[i];
        if (l->module == 0 && r->lane[l->from - first] == GRAPH_NONE) {
            r->lane[l->from - first] = r->lane[l->to - first];
        }
    }
    for (uint32_t c = 0; c < r->n; c++) {
        r->lane[c] = r->lane[c] == GRAPH_NONE ? 0 : r->lane[c];
    }
}

static int by_execution(const void *a, const void *b, void *ctx)
{
    const laner *r = ctx;
    uint32_t x = *(const uint32_t *)a;
    uint32_t y = *(const uint32_t *)b;
    if (r->lane[x] != r->lane[y]) {
        return r->lane[x] < r->lane[y] ? -1 : 1;
    }
    if (r->start[x] != r->start[y]) {
        return r->start[x] < r->start[y] ? -1 : 1;
    }
    return (x > y) - (x < y);
}

static uint8_t class_of(const laner *r, uint32_t child)
{
    const visible *v = r->b->v;
    return r->b->p->elements[v->items[v->items[0].first_child + child].element].klass;
}

/* A new block begins at a receive and behind a send; lines across lanes count like them. */
static void cut_blocks(laner *r)
{
    const visible *v = r->b->v;
    uint32_t first = v->items[0].first_child;
    uint8_t *ends = mem_calloc(r->n + 1U, 1);
    uint8_t *begins = mem_calloc(r->n + 1U, 1);
    for (size_t i = 0; i < v->n_lines && v->lines[i].module == 0; i++) {
        uint32_t a = v->lines[i].from - first;
        uint32_t z = v->lines[i].to - first;
        ends[a] |= r->lane[a] != r->lane[z];
        begins[z] |= r->lane[a] != r->lane[z];
    }
    bool cut = true;
    for (uint32_t i = 0; i < r->n; i++) {
        uint32_t c = r->members[i];
        bool new_lane = i > 0 && r->lane[r->members[i - 1]] != r->lane[c];
        if (cut || new_lane || begins[c] || class_of(r, c) == GRAPH_CLASS_RECEIVE) {
            uint32_t before = i > 0 && !new_lane ? (uint32_t)r->n_blocks - 1 : GRAPH_NONE;
            VEC_PUSH(r->blocks, r->n_blocks, r->cap_blocks,
                     ((lane_block){.lane = r->lane[c], .first = i, .before = before}));
        }
        r->block_of[c] = (uint32_t)r->n_blocks - 1;
        r->local[c] = r->blocks[r->n_blocks - 1].n++;
        cut = ends[c] || class_of(r, c) == GRAPH_CLASS_SEND;
    }
    free(ends);
    free(begins);
}

/* Lines of each block: both ends inside, or one at a port. lines[] of a block: first[k] .. first[k + 1]. */
static uint32_t *lines_by_block(const laner *r, uint32_t **first)
{
    const visible *v = r->b->v;
    uint32_t base = r->base;
    uint32_t n_lines = r->n_lines;
    uint32_t *f = mem_calloc(r->n_blocks + 2, sizeof *f);
    uint32_t *list = mem_alloc((2U * n_lines + 1U) * sizeof *list);
    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t i = 0; i < n_lines; i++) {
            uint32_t a = r->block_of[v->lines[i].from - base];
            uint32_t z = r->block_of[v->lines[i].to - base];
            for (uint32_t k = 0; k < (a == z ? 1U : 2U); k++) {
                uint32_t block = k == 0 ? a : z;
                if (pass == 0) {
                    f[block + 1]++;
                } else {
                    list[f[block]++] = i;
                }
            }
        }
        for (size_t k = 0; k < r->n_blocks && pass == 0; k++) {
            f[k + 1] += f[k];
        }
    }
    memmove(f + 1, f, r->n_blocks * sizeof *f);
    f[0] = 0;
    *first = f;
    return list;
}

static marey_status lay_block(laner *r, uint32_t k, const uint32_t *lines, uint32_t n_lines)
{
    layout_build *b = r->b;
    lane_block *x = &r->blocks[k];
    uint32_t base = r->base;
    layout_reserve(b, x->n, n_lines);
    for (uint32_t c = 0; c < x->n; c++) {
        uint32_t item = base + r->members[x->first + c];
        b->su[c] = b->l->boxes[item].w;
        b->sv[c] = b->l->boxes[item].h;
        memcpy(b->child_inset[c], b->inset[item], sizeof b->child_inset[c]);
        b->child_in[c] = b->in_at[item];
        b->child_out[c] = b->out_at[item];
    }
    for (uint32_t i = 0; i < n_lines; i++) {
        const visible_line *l = &b->v->lines[lines[i]];
        bool from_here = r->block_of[l->from - base] == k;
        bool to_here = r->block_of[l->to - base] == k;
        b->from[i] = from_here ? r->local[l->from - base] : x->n;
        b->to[i] = to_here ? r->local[l->to - base] : x->n + 1;
        b->flags[i] = from_here && to_here ? l->flags & (LINE_BACK | LINE_REVEALED) : 0;
    }
    module_in in = {.n = x->n,
                    .su = b->su,
                    .sv = b->sv,
                    .inset = (const float(*)[2])b->child_inset,
                    .in_at = b->child_in,
                    .out_at = b->child_out,
                    .n_lines = n_lines,
                    .from = b->from,
                    .to = b->to,
                    .flags = b->flags};
    return layered_module(&in, &x->out, b->o->cancel);
}

static marey_status lay_blocks(laner *r, const uint32_t *list, const uint32_t *first)
{
    for (uint32_t k = 0; k < r->n_blocks; k++) {
        marey_status status = lay_block(r, k, list + first[k], first[k + 1] - first[k]);
        if (status != MAREY_OK) {
            return status;
        }
        r->b->l->n_crossings += r->blocks[k].out.n_crossings;
    }
    return MAREY_OK;
}

static const lane_block *block_at(const laner *r, uint32_t item)
{
    return &r->blocks[r->block_of[item - r->base]];
}

/* Lines from block to block that say what waits for what. */
static bool is_dependency(const laner *r, const visible_line *l)
{
    return block_at(r, l->from) != block_at(r, l->to) && !(l->flags & (LINE_BACK | LINE_REVEALED));
}

enum { BLOCK_GAP = 2 * (TRACK_MARGIN + SIDE_TRACKS * TRACK_GAP) };

static void begin_after(lane_block *x, const lane_block *y)
{
    x->u = fmaxf(x->u, y->u + y->out.su + BLOCK_GAP);
}

/* By dependency (Kahn); where collapsed modules wait for each other, the first in order goes on. */
static void place_blocks(laner *r, const uint32_t *list, const uint32_t *first)
{
    const visible *v = r->b->v;
    uint32_t n = (uint32_t)r->n_blocks;
    uint32_t *need = mem_calloc(n + 1U, sizeof *need);
    uint32_t *queue = mem_alloc((n + 1U) * sizeof *queue);
    uint8_t *queued = mem_calloc(n + 1U, 1);
    uint32_t done = 0;
    uint32_t n_queue = 0;
    uint32_t next = 0;
    for (uint32_t i = 0; i < r->n_lines; i++) {
        need[block_at(r, v->lines[i].to) - r->blocks] += is_dependency(r, &v->lines[i]);
    }
    for (uint32_t k = 0; k < n; k++) {
        need[k] += r->blocks[k].before != GRAPH_NONE;
        r->blocks[k].u = r->left;
        if (need[k] == 0) {
            queue[n_queue++] = k;
            queued[k] = 1;
        }
    }
    while (done < n) {
        if (done == n_queue) {
            while (queued[next]) {
                next++;
            }
            queue[n_queue++] = next;
            queued[next] = 1;
        }
        uint32_t k = queue[done++];
        const lane_block *x = &r->blocks[k];
        for (uint32_t i = first[k]; i <= first[k + 1]; i++) { /* its lines, then its neighbour */
            const visible_line *l = i < first[k + 1] ? &v->lines[list[i]] : NULL;
            uint32_t z = l ? (uint32_t)(block_at(r, l->to) - r->blocks) : k + 1;
            bool follows = l ? block_at(r, l->from) == x && is_dependency(r, l) : z < n && r->blocks[z].before == k;
            if (follows && !queued[z]) { /* what goes on without waiting stays where it is */
                begin_after(&r->blocks[z], x);
                if (--need[z] == 0) {
                    queue[n_queue++] = z;
                    queued[z] = 1;
                }
            }
        }
    }
    free(need);
    free(queue);
    free(queued);
}

/* How a line between blocks runs. */
typedef struct passage {
    uint32_t a, z;    /* blocks */
    bool neighbour;   /* straight on in the gap between them */
    bool up, far;     /* leaves by the channel above; goes on to another one by the margin */
    uint32_t out, in; /* channels */
    bool in_from_above;
} passage;

static passage passage_of(const laner *r, const visible_line *l)
{
    passage p = {.a = (uint32_t)(block_at(r, l->from) - r->blocks), .z = (uint32_t)(block_at(r, l->to) - r->blocks)};
    uint32_t from = r->blocks[p.a].lane;
    uint32_t to = r->blocks[p.z].lane;
    p.neighbour = r->blocks[p.z].before == p.a;
    p.up = to < from;
    p.out = p.up ? from : from + 1;
    p.in_from_above = to > from;
    p.in = p.in_from_above ? to : to + 1;
    p.far = p.out != p.in;
    return p;
}

static float out_u(const laner *r, const passage *p)
{
    const lane_block *x = &r->blocks[p->a];
    return x->u + x->out.su + TRACK_MARGIN + (float)(p->up ? TRACK_GAP : 0);
}

static float in_u(const laner *r, const passage *p)
{
    return r->blocks[p->z].u - TRACK_MARGIN - (float)(p->in_from_above ? TRACK_GAP : 0);
}

static uint32_t add_wire(laner *r, uint32_t id, uint32_t channel, float a, float z)
{
    if (id == GRAPH_NONE) {
        id = (uint32_t)r->n_wires;
        VEC_PUSH(r->wires, r->n_wires, r->cap_wires, ((run_wire){FLT_MAX, -FLT_MAX, 0, channel}));
    }
    run_wire *w = &r->wires[id];
    w->lo = fminf(w->lo, fminf(a, z));
    w->hi = fmaxf(w->hi, fmaxf(a, z));
    return id;
}

/* Margins first: they push all blocks to the right. */
static void find_margins(laner *r)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < r->n_lines; i++) {
        if (block_at(r, r->b->v->lines[i].from) != block_at(r, r->b->v->lines[i].to)) {
            passage p = passage_of(r, &r->b->v->lines[i]);
            if (p.far && !p.neighbour && r->margin_u[p.a] <= 0) {
                r->margin_u[p.a] = LAYOUT_PAD + (float)n++ * TRACK_GAP;
            }
        }
    }
    r->left = LAYOUT_PAD + (float)n * TRACK_GAP + BLOCK_GAP / 2.0F;
}

static void run_channels(laner *r)
{
    for (uint32_t i = 0; i < r->n_lines; i++) {
        const visible_line *l = &r->b->v->lines[i];
        if (block_at(r, l->from) == block_at(r, l->to)) {
            continue;
        }
        passage p = passage_of(r, l);
        if (p.neighbour) {
            continue;
        }
        uint32_t *own = &r->out_wire[2 * p.a + p.up];
        float turn = p.far ? r->margin_u[p.a] : in_u(r, &p);
        *own = add_wire(r, *own, p.out, out_u(r, &p), turn);
        if (p.far) {
            r->far_wire[i] = add_wire(r, GRAPH_NONE, p.in, r->margin_u[p.a], in_u(r, &p));
        }
    }
}

/* Tracks of one channel that begins at v. @return where it ends */
static float place_channel(laner *r, uint32_t channel, float v)
{
    wire *w = NULL;
    uint32_t *id = NULL;
    size_t n = 0;
    size_t n_id = 0;
    size_t cap = 0;
    size_t cap_id = 0;
    for (uint32_t i = 0; i < r->n_wires; i++) {
        if (r->wires[i].channel == channel) {
            VEC_PUSH(w, n, cap, ((wire){.lo = r->wires[i].lo, .hi = r->wires[i].hi}));
            VEC_PUSH(id, n_id, cap_id, i);
        }
    }
    float none = 0;
    uint32_t tracks = assign_tracks(w, n, &none);
    for (size_t i = 0; i < n; i++) {
        r->wires[id[i]].v = v + TRACK_MARGIN + (float)w[i].track * TRACK_GAP;
    }
    free(w);
    free(id);
    return v + (tracks ? 2 * TRACK_MARGIN + (float)(tracks - 1) * TRACK_GAP : LAYOUT_PAD);
}

static void place_lanes(laner *r)
{
    float v = 0;
    for (size_t k = 0; k < r->n_blocks; k++) {
        const lane_block *x = &r->blocks[k];
        r->lane_h[x->lane] = fmaxf(r->lane_h[x->lane], x->out.sv + LANE_TITLE);
        r->su = fmaxf(r->su, x->u + x->out.su + BLOCK_GAP / 2.0F);
    }
    for (uint32_t c = 0; c < r->n_lanes; c++) {
        v = place_channel(r, c, v);
        r->lane_v[c] = v;
        r->lane_h[c] = fmaxf(r->lane_h[c], 2 * LANE_TITLE);
        v += r->lane_h[c];
    }
    r->sv = place_channel(r, r->n_lanes, v);
    for (size_t k = 0; k < r->n_blocks; k++) {
        lane_block *x = &r->blocks[k];
        x->v = r->lane_v[x->lane] + LANE_TITLE + (r->lane_h[x->lane] - LANE_TITLE - x->out.sv) / 2;
    }
}

static void emit(layout_build *b, const layout_route *route, float x, float y)
{
    size_t n = b->l->n_points;
    const layout_point *q = n > route->first_point ? &b->l->points[n - 1] : NULL;
    if (!q || fabsf(q->x - x) > 0.01F || fabsf(q->y - y) > 0.01F) {
        VEC_PUSH(b->l->points, b->l->n_points, b->cap_points, ((layout_point){x, y}));
    }
}

/* The half of a line inside one of its blocks. */
static void emit_half(const laner *r, layout_route *route, uint32_t block, uint32_t line, const uint32_t *list,
                      const uint32_t *first)
{
    const lane_block *x = &r->blocks[block];
    uint32_t i = first[block];
    uint32_t hi = first[block + 1];
    while (i + 1 < hi) { /* lists are ascending */
        uint32_t mid = i + (hi - i) / 2;
        i = list[mid] <= line ? mid : i;
        hi = list[mid] <= line ? hi : mid;
    }
    i -= first[block];
    for (uint32_t k = x->out.first_point[i]; k < x->out.first_point[i + 1]; k++) {
        emit(r->b, route, x->u + x->out.points[k].x, x->v + x->out.points[k].y);
    }
}

static void emit_between(const laner *r, layout_route *route, uint32_t line)
{
    const visible_line *l = &r->b->v->lines[line];
    passage p = passage_of(r, l);
    const lane_block *a = &r->blocks[p.a];
    const lane_block *z = &r->blocks[p.z];
    float from = a->v + a->out.out_at;
    float to = z->v + z->out.in_at;
    if (p.neighbour) {
        float mid = a->u + a->out.su + TRACK_MARGIN + 2 * TRACK_GAP;
        emit(r->b, route, mid, from);
        emit(r->b, route, mid, to);
        return;
    }
    float v = r->wires[r->out_wire[2 * p.a + p.up]].v;
    emit(r->b, route, out_u(r, &p), from);
    emit(r->b, route, out_u(r, &p), v);
    if (p.far) {
        emit(r->b, route, r->margin_u[p.a], v);
        v = r->wires[r->far_wire[line]].v;
        emit(r->b, route, r->margin_u[p.a], v);
    }
    emit(r->b, route, in_u(r, &p), v);
    emit(r->b, route, in_u(r, &p), to);
}

static void emit_lines(const laner *r, const uint32_t *list, const uint32_t *first)
{
    layout_build *b = r->b;
    for (uint32_t i = 0; i < r->n_lines; i++) {
        uint32_t a = r->block_of[b->v->lines[i].from - r->base];
        uint32_t z = r->block_of[b->v->lines[i].to - r->base];
        layout_route *route = &b->l->routes[i];
        route->first_point = (uint32_t)b->l->n_points;
        emit_half(r, route, a, i, list, first);
        if (a != z) {
            emit_between(r, route, i);
            emit_half(r, route, z, i, list, first);
        }
        layout_finish_route(b, route);
    }
}

static void emit_boxes(const laner *r)
{
    layout_build *b = r->b;
    for (uint32_t c = 0; c < r->n; c++) {
        const lane_block *x = &r->blocks[r->block_of[c]];
        layout_box *box = &b->l->boxes[r->base + c];
        box->x = (double)(x->u + x->out.u[r->local[c]]);
        box->y = (double)(x->v + x->out.v[r->local[c]]);
    }
    b->l->boxes[0].w = r->su;
    b->l->boxes[0].h = r->sv;
    b->l->n_lanes = r->n_lanes;
    b->l->lanes = mem_calloc(r->n_lanes, sizeof *b->l->lanes);
    for (uint32_t k = 0; k < r->n_lanes; k++) {
        b->l->lanes[k] = (layout_lane){b->p->g->stages[k].stage, (double)r->lane_v[k], (double)r->lane_h[k]};
    }
}

static void *filled(size_t n)
{
    uint32_t *a = mem_alloc((n + 1) * sizeof *a);
    memset(a, 0xff, (n + 1) * sizeof *a);
    return a;
}

static void laner_init(laner *r, layout_build *b)
{
    *r = (laner){.b = b,
                 .n = b->v->items[0].n_children,
                 .base = b->v->items[0].first_child,
                 .n_lanes = (uint32_t)b->p->g->n_stages,
                 .n_lines = b->line_first[1]};
    r->lane = filled(r->n);
    r->start = filled(r->n);
    r->members = filled(r->n);
    r->block_of = filled(r->n);
    r->local = filled(r->n);
    r->lane_v = mem_calloc(r->n_lanes + 1U, sizeof(float));
    r->lane_h = mem_calloc(r->n_lanes + 1U, sizeof(float));
    r->far_wire = filled(r->n_lines);
    for (uint32_t c = 0; c < r->n; c++) {
        r->members[c] = c;
    }
}

static void laner_deinit(laner *r)
{
    for (size_t k = 0; k < r->n_blocks; k++) {
        module_out_deinit(&r->blocks[k].out);
    }
    free(r->lane);
    free(r->start);
    free(r->members);
    free(r->block_of);
    free(r->local);
    free(r->blocks);
    free(r->lane_v);
    free(r->lane_h);
    free(r->wires);
    free(r->out_wire);
    free(r->far_wire);
    free(r->margin_u);
}

marey_status layout_lanes(layout_build *b)
{
    laner r;
    uint32_t *list = NULL;
    uint32_t *first = NULL;
    marey_status status = MAREY_OK;
    laner_init(&r, b);
    find_lanes(&r);
    lanes_of_strays(&r);
    qsort_r(r.members, r.n, sizeof *r.members, by_execution, &r);
    cut_blocks(&r);
    r.out_wire = filled(2 * r.n_blocks);
    r.margin_u = mem_calloc(r.n_blocks + 1, sizeof(float));
    list = lines_by_block(&r, &first);
    MAREY_TRY(lay_blocks(&r, list, first));
    find_margins(&r);
    place_blocks(&r, list, first);
    run_channels(&r);
    place_lanes(&r);
    emit_lines(&r, list, first);
    emit_boxes(&r);
fail:
    free(list);
    free(first);
    laner_deinit(&r);
    return status;
}
