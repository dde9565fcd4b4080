/* One module: its components, each laid out in layers; packed; ports and revealed lines joined on. */
#include "graph/layered.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

static void unset(void *array)
{
    void **a = array;
    free(*a);
    *a = NULL;
}

void layered_unlink(layered *g)
{
    unset(&g->pos);
    unset(&g->layer_first);
    unset(&g->order);
    unset(&g->link_from);
    unset(&g->link_to);
    unset(&g->link_in);
    unset(&g->link_out);
    unset(&g->link_lo);
    unset(&g->link_hi);
    unset(&g->link_loose);
    unset(&g->link_turned);
    unset(&g->down_first);
    unset(&g->up_first);
    unset(&g->up_link);
    unset(&g->v);
    g->n = g->n_real;
}

void layered_deinit(layered *g)
{
    layered_unlink(g);
    free(g->id);
    free(g->lines);
    free(g->line_first);
    free(g->line_of);
    free(g->line_in_first);
    free(g->line_in_of);
    free(g->su);
    free(g->sv);
    free(g->out);
    free(g->in_at);
    free(g->layer);
    memset(g, 0, sizeof *g);
}

void module_out_deinit(module_out *o)
{
    free(o->u);
    free(o->v);
    free(o->first_point);
    free(o->points);
    memset(o, 0, sizeof *o);
}

/* A module's vertices and lines by component. */
typedef struct parts {
    uint32_t n;                  /* components */
    uint32_t *of_vertex;         /* [children + 2] component; GRAPH_NONE: an unused port */
    uint32_t *local;             /* [children + 2] place in its component */
    uint32_t *first, *vertex;    /* [n + 1] vertices by component */
    uint32_t *line_first, *line; /* [n + 1] lines by component */
    uint32_t *n_points;          /* [n_lines] in the order of line[] */
    component_size *size;        /* [n] */
    float *u, *v;                /* [n] where it is put */
    uint32_t *order;             /* [n] in which they are packed */
} parts;

static uint32_t find_top(uint32_t *top, uint32_t x)
{
    while (top[x] != x) {
        top[x] = top[top[x]];
        x = top[x];
    }
    return x;
}

static bool takes_part(const module_in *in, uint32_t line)
{
    return !(in->flags[line] & LINE_REVEALED);
}

/* Components are numbered by their first vertex. */
static void find_components(const module_in *in, parts *p)
{
    uint32_t n = in->n + 2;
    bool port[2] = {false, false};
    uint32_t *top = mem_alloc(n * sizeof *top);
    p->of_vertex = mem_alloc(n * sizeof *p->of_vertex);
    for (uint32_t x = 0; x < n; x++) {
        top[x] = x;
    }
    for (uint32_t i = 0; i < in->n_lines; i++) {
        if (takes_part(in, i)) {
            uint32_t a = find_top(top, in->from[i]);
            uint32_t b = find_top(top, in->to[i]);
            top[a > b ? a : b] = a < b ? a : b;
            port[0] = port[0] || in->from[i] == in->n;
            port[1] = port[1] || in->to[i] == in->n + 1;
        }
    }
    for (uint32_t x = 0; x < n; x++) {
        uint32_t t = find_top(top, x);
        bool unused = x >= in->n && !port[x - in->n];
        p->of_vertex[x] = unused ? GRAPH_NONE : t == x ? p->n++ : p->of_vertex[t];
    }
    free(top);
}

/* Items by key, in order: first[k] .. first[k + 1] of list. Those with key GRAPH_NONE are left out. */
static void bucket(const uint32_t *key, uint32_t n, uint32_t n_keys, uint32_t **first, uint32_t **list)
{
    uint32_t *f = mem_calloc(n_keys + 2U, sizeof *f);
    uint32_t *next = mem_alloc((n_keys + 1U) * sizeof *next);
    *list = mem_alloc((n + 1U) * sizeof **list);
    for (uint32_t i = 0; i < n; i++) {
        if (key[i] != GRAPH_NONE) {
            f[key[i] + 1]++;
        }
    }
    for (uint32_t k = 0; k < n_keys; k++) {
        f[k + 1] += f[k];
        next[k] = f[k];
    }
    for (uint32_t i = 0; i < n; i++) {
        if (key[i] != GRAPH_NONE) {
            (*list)[next[key[i]]++] = i;
        }
    }
    free(next);
    *first = f;
}

static void list_components(const module_in *in, parts *p)
{
    uint32_t *key = mem_alloc((in->n_lines + 1U) * sizeof *key);
    for (uint32_t i = 0; i < in->n_lines; i++) {
        key[i] = takes_part(in, i) ? p->of_vertex[in->from[i]] : GRAPH_NONE;
    }
    bucket(p->of_vertex, in->n + 2, p->n, &p->first, &p->vertex);
    bucket(key, in->n_lines, p->n, &p->line_first, &p->line);
    p->local = mem_alloc((in->n + 2U) * sizeof *p->local);
    for (uint32_t c = 0; c < p->n; c++) {
        for (uint32_t k = p->first[c]; k < p->first[c + 1]; k++) {
            p->local[p->vertex[k]] = k - p->first[c];
        }
    }
    p->n_points = mem_calloc(in->n_lines + 1U, sizeof *p->n_points);
    p->size = mem_calloc(p->n + 1U, sizeof *p->size);
    p->u = mem_calloc(p->n + 1U, sizeof *p->u);
    p->v = mem_calloc(p->n + 1U, sizeof *p->v);
    p->order = mem_alloc((p->n + 1U) * sizeof *p->order);
    free(key);
}

static void parts_deinit(parts *p)
{
    free(p->of_vertex);
    free(p->local);
    free(p->first);
    free(p->vertex);
    free(p->line_first);
    free(p->line);
    free(p->n_points);
    free(p->size);
    free(p->u);
    free(p->v);
    free(p->order);
}

static void component_vertices(layered *g, const module_in *in, const parts *p, uint32_t c)
{
    uint32_t n = g->n_real;
    g->id = mem_alloc((n + 1U) * sizeof *g->id);
    g->su = mem_calloc(n + 1U, sizeof *g->su);
    g->sv = mem_calloc(n + 1U, sizeof *g->sv);
    g->out = mem_calloc(n + 1U, sizeof *g->out);
    g->in_at = mem_calloc(n + 1U, sizeof *g->in_at);
    g->layer = mem_calloc(n + 1U, sizeof *g->layer);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t x = p->vertex[p->first[c] + i];
        g->id[i] = x;
        if (x < in->n) {
            g->su[i] = in->su[x];
            g->sv[i] = in->sv[x];
            g->in_at[i] = in->in_at[x];
            g->out[i] = in->out_at[x] >= 0 ? in->out_at[x] : layered_side_middle(g, i);
        } else {
            *(x == in->n ? &g->in_port : &g->out_port) = i;
        }
    }
}

void layered_index_lines(layered *g)
{
    uint32_t *from = mem_alloc((g->n_lines + 1U) * sizeof *from);
    uint32_t *to = mem_alloc((g->n_lines + 1U) * sizeof *to);
    for (uint32_t i = 0; i < g->n_lines; i++) {
        from[i] = g->lines[i].from;
        to[i] = g->lines[i].to;
    }
    free(g->line_first);
    free(g->line_of);
    free(g->line_in_first);
    free(g->line_in_of);
    bucket(from, g->n_lines, g->n_real, &g->line_first, &g->line_of);
    bucket(to, g->n_lines, g->n_real, &g->line_in_first, &g->line_in_of);
    free(from);
    free(to);
}

/* Lines that run back between closed boxes are laid out the other way round: they leave at the left and arrive at the
 * right. An open module has its ports where its inside needs them: its lines go round the outside. */
static void component_lines(layered *g, const module_in *in, const parts *p, uint32_t c)
{
    g->lines = mem_alloc((g->n_lines + 1U) * sizeof *g->lines);
    for (uint32_t i = 0; i < g->n_lines; i++) {
        uint32_t id = p->line[p->line_first[c] + i];
        uint32_t from = in->from[id];
        uint32_t to = in->to[id];
        bool back = (in->flags[id] & LINE_BACK) != 0;
        bool turned = back && from < in->n && to < in->n && in->in_at[from] < 0 && in->in_at[to] < 0;
        g->lines[i] = (layered_line){.from = p->local[turned ? to : from],
                                     .to = p->local[turned ? from : to],
                                     .id = id,
                                     .turned = turned,
                                     .outer = back ? OUTER_BACK : OUTER_NONE};
    }
    layered_index_lines(g);
}

enum { FEW_VERTICES = 400 };

static bool worth_parting(const layered *g)
{
    uint64_t n = g->n_real;
    for (uint32_t i = 0; i < g->n_lines; i++) {
        n += g->lines[i].outer == OUTER_NONE ? g->layer[g->lines[i].to] - g->layer[g->lines[i].from] : 0;
    }
    return g->n_crossings > 0 && n <= 2 * FEW_VERTICES;
}

static void take_order(layered *g, const uint32_t *order)
{
    memcpy(g->order, order, g->n * sizeof *order);
    for (uint32_t l = 0; l < g->n_layers; l++) {
        for (uint32_t k = g->layer_first[l]; k < g->layer_first[l + 1]; k++) {
            g->pos[g->order[k]] = k - g->layer_first[l];
        }
    }
}

/* Trunks first; where lines cross, in small graphs, also with a chain for each line, if that crosses clearly less. */
static marey_status arrange(layered *g)
{
    marey_status status = MAREY_OK;
    layered_line *lines = NULL;
    uint32_t *order = NULL;
    MAREY_TRY(layered_links(g));
    MAREY_TRY(layered_order(g));
    if (worth_parting(g)) {
        uint64_t n_crossings = g->n_crossings;
        lines = g->lines;
        order = g->order;
        g->order = NULL;
        g->lines = mem_alloc((g->n_lines + 1U) * sizeof *g->lines);
        memcpy(g->lines, lines, g->n_lines * sizeof *g->lines);
        for (uint32_t i = 0; i < g->n_lines; i++) {
            g->lines[i].own = true;
            g->lines[i].merged = false;
        }
        layered_unlink(g);
        MAREY_TRY(layered_links(g));
        MAREY_TRY(layered_order(g));
        if (g->n_crossings + g->n_crossings / 4 >= n_crossings) {
            memcpy(g->lines, lines, g->n_lines * sizeof *g->lines);
            layered_unlink(g);
            MAREY_TRY(layered_links(g));
            take_order(g, order);
            g->n_crossings = n_crossings;
        }
    }
fail:
    free(lines);
    free(order);
    return status;
}

static marey_status lay_component(const module_in *in, parts *p, uint32_t c, module_out *out, cancel_flag *cancel)
{
    layered g = {.in = in,
                 .cancel = cancel,
                 .n_real = p->first[c + 1] - p->first[c],
                 .n_lines = p->line_first[c + 1] - p->line_first[c],
                 .in_port = GRAPH_NONE,
                 .out_port = GRAPH_NONE};
    marey_status status = MAREY_OK;
    component_vertices(&g, in, p, c);
    component_lines(&g, in, p, c);
    MAREY_TRY(layered_rank(&g));
    MAREY_TRY(arrange(&g));
    MAREY_TRY(layered_place(&g));
    MAREY_TRY(layered_route(&g, out, p->n_points + p->line_first[c], &p->size[c]));
    out->n_crossings += g.n_crossings;
fail:
    layered_deinit(&g);
    return status;
}

static bool has_port(const module_in *in, const parts *p, uint32_t c, uint32_t port)
{
    return p->of_vertex[in->n + port] == c;
}

typedef struct packed {
    uint32_t id;
    float sv;
    uint8_t rank; /* ports first, then by height, what stands alone last */
} packed;

static int compare_packed(const void *a, const void *b)
{
    const packed *x = a;
    const packed *y = b;
    if (x->rank != y->rank) {
        return x->rank < y->rank ? -1 : 1;
    }
    if (x->rank == 1 && (x->sv > y->sv || x->sv < y->sv)) {
        return x->sv > y->sv ? -1 : 1;
    }
    return (x->id > y->id) - (x->id < y->id);
}

static void pack_order(const module_in *in, parts *p)
{
    packed *all = mem_alloc((p->n + 1U) * sizeof *all);
    for (uint32_t c = 0; c < p->n; c++) {
        bool port = has_port(in, p, c, 0) || has_port(in, p, c, 1);
        bool alone = p->first[c + 1] - p->first[c] == 1;
        all[c] = (packed){c, p->size[c].sv, port ? 0 : alone ? 2 : 1};
    }
    if (p->n > 1) {
        qsort(all, p->n, sizeof *all, compare_packed);
    }
    for (uint32_t c = 0; c < p->n; c++) {
        p->order[c] = all[c].id;
    }
    free(all);
}

/* Shelves; a component with a port has one to itself. @return the length of the longest */
static void pack(const module_in *in, parts *p, float *su, float *sv)
{
    double area = 0;
    float widest = 0;
    pack_order(in, p);
    for (uint32_t c = 0; c < p->n; c++) {
        area += ((double)p->size[c].su + LAYOUT_GAP) * ((double)p->size[c].sv + LAYOUT_GAP);
        widest = fmaxf(widest, p->size[c].su);
    }
    float limit = fmaxf(widest, (float)sqrt(area * 2));
    float u = 0;
    float v = 0;
    float high = 0;
    *su = in->pad_u0 + in->pad_u1;
    for (uint32_t i = 0; i < p->n; i++) {
        uint32_t c = p->order[i];
        bool port = has_port(in, p, c, 0) || has_port(in, p, c, 1);
        bool after_port = i > 0 && (has_port(in, p, p->order[i - 1], 0) || has_port(in, p, p->order[i - 1], 1));
        if (i > 0 && (u + p->size[c].su > limit || port || after_port)) {
            v += high + LAYOUT_GAP;
            u = 0;
            high = 0;
        }
        p->u[c] = u + (has_port(in, p, c, 0) ? 0 : in->pad_u0);
        p->v[c] = v + in->pad_v0;
        *su = fmaxf(*su, p->u[c] + p->size[c].su + (has_port(in, p, c, 1) ? 0 : in->pad_u1));
        u += p->size[c].su + LAYOUT_GAP;
        high = fmaxf(high, p->size[c].sv);
    }
    *sv = v + high + in->pad_v0 + in->pad_v1;
}

static float middle_of(const module_in *in, uint32_t x)
{
    return (in->inset[x][0] + in->sv[x] - in->inset[x][1]) / 2;
}

/* A revealed line lies over the finished drawing: it moves nothing. */
static void overlay(const module_in *in, module_out *out, uint32_t line)
{
    uint32_t x = in->from[line];
    uint32_t y = in->to[line];
    float su = x == in->n ? 0 : out->u[x] + in->su[x];
    float sv = x == in->n ? out->in_at : out->v[x] + (in->out_at[x] >= 0 ? in->out_at[x] : middle_of(in, x));
    float tu = y == in->n + 1 ? out->su : out->u[y];
    float tv = y == in->n + 1 ? out->out_at : out->v[y] + (in->in_at[y] >= 0 ? in->in_at[y] : middle_of(in, y));
    float turn = tu - TRACK_GAP;
    layout_point way[6] = {{su, sv}, {turn, sv}, {turn, tv}, {tu, tv}};
    uint32_t n = 4;
    if (turn < su + 2) { /* round below */
        float below = fmaxf(x == in->n ? sv : out->v[x] + in->sv[x], y == in->n + 1 ? tv : out->v[y] + in->sv[y]);
        layout_point back[6] = {
            {su, sv}, {su + TRACK_GAP, sv}, {su + TRACK_GAP, below + TRACK_GAP}, {turn, below + TRACK_GAP}, {turn, tv},
            {tu, tv}};
        memcpy(way, back, sizeof way);
        n = 6;
    }
    for (uint32_t k = 0; k < n; k++) {
        VEC_PUSH(out->points, out->n_points, out->cap_points, way[k]);
    }
}

/* From the order of components to the order of lines, moved to where the components are. */
static void gather_points(const module_in *in, const parts *p, module_out *out, const layout_point *points)
{
    size_t *at = mem_calloc(in->n_lines + 1U, sizeof *at);
    uint32_t *n = mem_calloc(in->n_lines + 1U, sizeof *n);
    size_t sum = 0;
    for (uint32_t k = 0; k < p->line_first[p->n]; k++) {
        at[p->line[k]] = sum;
        n[p->line[k]] = p->n_points[k];
        sum += p->n_points[k];
    }
    for (uint32_t i = 0; i < in->n_lines; i++) {
        out->first_point[i] = (uint32_t)out->n_points;
        uint32_t c = p->of_vertex[in->from[i]];
        for (uint32_t k = 0; k < n[i]; k++) {
            layout_point q = points[at[i] + k];
            VEC_PUSH(out->points, out->n_points, out->cap_points, ((layout_point){q.x + p->u[c], q.y + p->v[c]}));
        }
        if (n[i] > 0 && in->to[i] == in->n + 1) {
            out->points[out->n_points - 1].x = out->su;
        }
        if (!takes_part(in, i)) {
            overlay(in, out, i);
        }
    }
    out->first_point[in->n_lines] = (uint32_t)out->n_points;
    free(at);
    free(n);
}

/* A module without lines through a port has it in the middle of its side. */
static void place_ports(const module_in *in, const parts *p, module_out *out)
{
    uint32_t a = p->of_vertex[in->n];
    uint32_t z = p->of_vertex[in->n + 1];
    out->in_at = a == GRAPH_NONE ? out->sv / 2 : p->v[a] + p->size[a].in_at;
    out->out_at = z == GRAPH_NONE ? out->sv / 2 : p->v[z] + p->size[z].out_at;
}

static void place_children(const module_in *in, const parts *p, module_out *out)
{
    for (uint32_t x = 0; x < in->n; x++) {
        out->u[x] += p->u[p->of_vertex[x]];
        out->v[x] += p->v[p->of_vertex[x]];
    }
    place_ports(in, p, out);
}

marey_status layered_module(const module_in *in, module_out *out, cancel_flag *cancel)
{
    parts p = {0};
    marey_status status = MAREY_OK;
    memset(out, 0, sizeof *out);
    out->u = mem_calloc(in->n + 1U, sizeof *out->u);
    out->v = mem_calloc(in->n + 1U, sizeof *out->v);
    out->first_point = mem_calloc(in->n_lines + 1U, sizeof *out->first_point);
    find_components(in, &p);
    list_components(in, &p);
    for (uint32_t c = 0; c < p.n; c++) {
        if ((c & 0x3ff) == 0 && is_cancelled(cancel)) {
            status = MAREY_CANCELLED;
            goto fail;
        }
        if (p.first[c + 1] - p.first[c] == 1 && p.vertex[p.first[c]] < in->n) {
            p.size[c] = (component_size){.su = in->su[p.vertex[p.first[c]]], .sv = in->sv[p.vertex[p.first[c]]]};
        } else {
            MAREY_TRY(lay_component(in, &p, c, out, cancel));
        }
    }
    pack(in, &p, &out->su, &out->sv);
    place_children(in, &p, out);
    layout_point *points = out->points;
    out->points = NULL;
    out->n_points = out->cap_points = 0;
    gather_points(in, &p, out, points);
    free(points);
fail:
    parts_deinit(&p);
    if (status != MAREY_OK) {
        module_out_deinit(out);
    }
    return status;
}
