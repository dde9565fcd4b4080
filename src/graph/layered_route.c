/* Rows, gaps and channels of one component: where every wire runs. Points are made from it in layered_points.c. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "graph/layered_route.h"

static const float FAR = 1e9F;

static void push_end(router *r, float x)
{
    VEC_PUSH(r->ends, r->n_ends, r->cap_ends, x);
}

static wire *push_wire(router *r, float lo, float hi)
{
    wire w = {.lo = lo, .hi = hi, .before = (uint32_t)r->n_ends, .after = (uint32_t)r->n_ends};
    VEC_PUSH(r->wires, r->n_wires, r->cap_wires, w);
    return &r->wires[r->n_wires - 1];
}

static uint32_t last_wire(const router *r)
{
    return (uint32_t)(r->n_wires - 1);
}

static float end_of_link(const layered *g, uint32_t link)
{
    return g->v[g->link_to[link]] + g->link_in[link];
}

static bool ends_row(const router *r, uint32_t layer)
{
    return layer + 1 < r->g->n_layers && r->row_of[layer] != r->row_of[layer + 1];
}

static bool leaves_with(const router *r, uint32_t a, uint32_t b)
{
    const layered *g = r->g;
    bool together = fabsf(g->link_out[a] - g->link_out[b]) < 0.01F;
    return together && (!ends_row(r, g->layer[g->link_from[a]]) || r->use[a] == r->use[b]);
}

static float start_of_link(const layered *g, uint32_t link)
{
    return g->v[g->link_from[link]] + g->link_out[link];
}

/* Ends of all links of a wire; they get it. */
static void push_link_ends(router *r, wire *w, uint32_t *of, uint32_t link)
{
    const layered *g = r->g;
    w->after = (uint32_t)r->n_ends;
    for (uint32_t k = link; k < g->down_first[g->link_from[link] + 1]; k++) {
        if (of[k] == GRAPH_NONE && leaves_with(r, k, link)) {
            push_end(r, end_of_link(g, k));
            of[k] = last_wire(r);
        }
    }
    w->n_after = (uint32_t)r->n_ends - w->after;
}

/* Wire of all links that leave a vertex at one place to the next layer of the row; none when they are straight. */
static void gap_wire(router *r, uint32_t link)
{
    const layered *g = r->g;
    float s = start_of_link(g, link);
    float lo = s;
    float hi = s;
    for (uint32_t k = link; k < g->down_first[g->link_from[link] + 1]; k++) {
        if (r->out_wire[k] == GRAPH_NONE && leaves_with(r, k, link)) {
            lo = fminf(lo, end_of_link(g, k));
            hi = fmaxf(hi, end_of_link(g, k));
        }
    }
    if (hi - lo < STRAIGHT) {
        return;
    }
    wire *w = push_wire(r, lo, hi);
    w->n_before = 1;
    push_end(r, s);
    push_link_ends(r, w, r->out_wire, link);
}

/* Whether all lines into a vertex end at one place, and how many of them come from vertices with no other link. */
static uint32_t merging(const layered *g, uint32_t b)
{
    uint32_t n = 0;
    for (uint32_t k = g->up_first[b]; k < g->up_first[b + 1]; k++) {
        uint32_t link = g->up_link[k];
        uint32_t a = g->link_from[link];
        if (fabsf(g->link_in[link] - g->link_in[g->up_link[g->up_first[b]]]) > 0.01F) {
            return 0;
        }
        n += g->down_first[a + 1] - g->down_first[a] == 1;
    }
    return n;
}

/* What only goes to one place, where lines meet, goes there by one wire. */
static void merge_wire(router *r, uint32_t b)
{
    const layered *g = r->g;
    if (merging(g, b) < 2) {
        return;
    }
    float t = end_of_link(g, g->up_link[g->up_first[b]]);
    wire *w = push_wire(r, t, t);
    uint32_t id = last_wire(r);
    for (uint32_t k = g->up_first[b]; k < g->up_first[b + 1]; k++) {
        uint32_t a = g->link_from[g->up_link[k]];
        if (g->down_first[a + 1] - g->down_first[a] == 1) {
            float s = start_of_link(g, g->up_link[k]);
            w->lo = fminf(w->lo, s);
            w->hi = fmaxf(w->hi, s);
            w->n_before++;
            push_end(r, s);
            r->out_wire[g->up_link[k]] = id;
        }
    }
    w->after = (uint32_t)r->n_ends;
    w->n_after = 1;
    push_end(r, t);
}

/* At the end of a row the links of a vertex turn down into the channel. */
static void row_end_wire(router *r, uint32_t link)
{
    const layered *g = r->g;
    if (!(r->use[link] & USE_THROUGH)) {
        return;
    }
    float s = start_of_link(g, link);
    wire *w = push_wire(r, s, FAR);
    w->n_before = 1;
    push_end(r, s);
    for (uint32_t k = link; k < g->down_first[g->link_from[link] + 1]; k++) {
        r->out_wire[k] = leaves_with(r, k, link) ? last_wire(r) : r->out_wire[k];
    }
}

static void row_start_wire(router *r, uint32_t link)
{
    const layered *g = r->g;
    float hi = -FAR;
    for (uint32_t k = link; k < g->down_first[g->link_from[link] + 1]; k++) {
        hi = leaves_with(r, k, link) ? fmaxf(hi, end_of_link(g, k)) : hi;
    }
    push_link_ends(r, push_wire(r, -FAR, hi), r->start_wire, link);
}

/* For each place where links leave a vertex, its first link that has no wire in of[] yet. */
static void each_leaving(router *r, uint32_t layer, const uint32_t *of, void (*make)(router *r, uint32_t link))
{
    const layered *g = r->g;
    for (uint32_t i = g->layer_first[layer]; i < g->layer_first[layer + 1]; i++) {
        for (uint32_t k = g->down_first[g->order[i]]; k < g->down_first[g->order[i] + 1]; k++) {
            if (of[k] == GRAPH_NONE && (!ends_row(r, layer) || r->use[k])) {
                make(r, k);
            }
        }
    }
}

static bool has_outer(const layered *g, uint32_t x)
{
    for (uint32_t k = g->line_first[x]; k < g->line_first[x + 1]; k++) {
        if (g->lines[g->line_of[k]].outer) {
            return true;
        }
    }
    return false;
}

static void outer_source_wires(router *r, uint32_t layer)
{
    const layered *g = r->g;
    for (uint32_t i = g->layer_first[layer]; i < g->layer_first[layer + 1]; i++) {
        uint32_t x = g->order[i];
        if (x < g->n_real && has_outer(g, x)) {
            float s = layered_out_v(g, x);
            wire *w = push_wire(r, s, FAR);
            w->n_before = 1;
            push_end(r, s);
            r->outer_wire[x] = last_wire(r);
        }
    }
}

/* Outer lines end below the others: each a little further down the side. */
static void outer_target_wires(router *r, uint32_t layer)
{
    const layered *g = r->g;
    for (uint32_t i = g->layer_first[layer]; i < g->layer_first[layer + 1]; i++) {
        uint32_t y = g->order[i];
        if (y >= g->n_real) {
            continue;
        }
        for (uint32_t k = g->line_in_first[y]; k < g->line_in_first[y + 1]; k++) {
            uint32_t l = g->line_in_of[k];
            if (g->lines[l].outer) {
                float t = g->v[y] + (g->in_at[y] >= 0 ? g->in_at[y] : layered_side_to(g, y) - 5);
                wire *w = push_wire(r, t, FAR);
                w->n_after = 1;
                push_end(r, t);
                r->target_wire[l] = last_wire(r);
                r->target_v[l] = t;
            }
        }
    }
}

static uint32_t close_zone(router *r, size_t first)
{
    return assign_tracks(r->wires + first, r->n_wires - first, r->ends);
}

static bool starts_row(const router *r, uint32_t layer)
{
    return layer == r->row_first[r->row_of[layer]];
}

/* u of a track: in the middle of its gap. */
static void place_wires(router *r, size_t first, float gap_u, float gap_w, uint32_t tracks)
{
    float u0 = gap_u + (gap_w - (float)(tracks - 1) * TRACK_GAP) / 2;
    for (size_t i = first; i < r->n_wires; i++) {
        VEC_RESERVE(r->wire_at, r->cap_wire_at, i + 1);
        r->wire_at[i] = u0 + (float)r->wires[i].track * TRACK_GAP;
    }
}

/* The gap before a layer: between two layers of a row, or the margin at a row's start. @return where the layer starts
 */
static float gap_before(router *r, uint32_t layer, float u)
{
    const layered *g = r->g;
    size_t first = r->n_wires;
    bool start = starts_row(r, layer);
    for (uint32_t i = g->layer_first[layer]; !start && i < g->layer_first[layer + 1]; i++) {
        merge_wire(r, g->order[i]);
    }
    u += layer == 1 && g->in_port != GRAPH_NONE ? g->in->title_u : 0;
    u += layer == 1 && r->has_entry ? r->port_u - g->in->title_u - TRACK_MARGIN + TRACK_GAP : 0;
    if (layer > 0) {
        each_leaving(r, layer - 1, start ? r->start_wire : r->out_wire, start ? row_start_wire : gap_wire);
    }
    if (!start) {
        outer_source_wires(r, layer - 1);
    }
    outer_target_wires(r, layer);
    uint32_t tracks = close_zone(r, first);
    float least = start ? 0 : LAYOUT_LAYER_GAP;
    float w = tracks ? 2 * TRACK_MARGIN + (float)(tracks - 1) * TRACK_GAP : 0;
    w = w > least ? w : least;
    place_wires(r, first, u, w, tracks);
    return u + w;
}

static float margin_after(router *r, uint32_t layer, float u)
{
    size_t first = r->n_wires;
    if (layer + 1 < r->g->n_layers) {
        each_leaving(r, layer, r->out_wire, row_end_wire);
    }
    outer_source_wires(r, layer);
    uint32_t tracks = close_zone(r, first);
    float w = tracks ? 2 * TRACK_MARGIN + (float)(tracks - 1) * TRACK_GAP : 0;
    place_wires(r, first, u, w, tracks);
    return u + w;
}

/* Dummies before the row that a line of the in-port enters, or behind that which one to the out-port leaves, are not. */
static bool is_used(const layered *g, uint32_t x)
{
    bool used = false;
    for (uint32_t k = g->up_first[x]; k < g->up_first[x + 1]; k++) {
        used = used || !g->link_loose[g->up_link[k]];
    }
    for (uint32_t k = g->down_first[x]; k < g->down_first[x + 1]; k++) {
        used = used || !g->link_loose[k];
    }
    return used;
}

static void row_extent(router *r, uint32_t row)
{
    const layered *g = r->g;
    float lo = FLT_MAX;
    float hi = -FLT_MAX;
    for (uint32_t i = g->layer_first[r->row_first[row]]; i < g->layer_first[r->row_first[row + 1]]; i++) {
        uint32_t x = g->order[i];
        if (x < g->n_real || is_used(g, x)) {
            lo = fminf(lo, g->v[x]);
            hi = fmaxf(hi, g->v[x] + g->sv[x]);
        }
    }
    r->row_lo[row] = lo;
    r->row_hi[row] = hi;
}

static bool place_layers(router *r)
{
    const layered *g = r->g;
    float u = 0;
    for (uint32_t l = 0; l < g->n_layers; l++) {
        if ((l & 0xff) == 0 && is_cancelled(g->cancel)) {
            return false;
        }
        if (starts_row(r, l)) {
            u = r->row_of[l] == 0 ? 0 : r->indent;
            row_extent(r, r->row_of[l]);
        }
        u = gap_before(r, l, u);
        r->layer_u[l] = u;
        float widest = 0;
        for (uint32_t i = g->layer_first[l]; i < g->layer_first[l + 1]; i++) {
            widest = fmaxf(widest, g->su[g->order[i]]);
        }
        u += widest;
        r->layer_end[l] = u;
        if (l + 1 == g->n_layers || starts_row(r, l + 1)) {
            u = margin_after(r, l, u);
            r->su = fmaxf(r->su, u);
        }
    }
    return true;
}

static uint32_t row_of_vertex(const router *r, uint32_t x)
{
    return r->row_of[r->g->layer[x]];
}

/* A horizontal piece in the channel below a row; ends come from above, or (down) leave below. */
static wire *channel_wire(router *r, float lo, float hi)
{
    wire *w = push_wire(r, fminf(lo, hi), fmaxf(lo, hi));
    VEC_RESERVE(r->wire_at, r->cap_wire_at, r->n_wires);
    return w;
}

static void row_crosser(router *r, uint32_t link)
{
    const layered *g = r->g;
    bool through = (r->use[link] & USE_THROUGH) != 0;
    float from = through ? r->wire_at[r->out_wire[link]] : r->port_u;
    float to = r->wire_at[r->start_wire[link]];
    wire *w = channel_wire(r, r->use[link] & USE_ENTRY ? fminf(from, r->port_u) : from, to);
    w->hi = fmaxf(w->hi, from);
    w->n_before = 1;
    push_end(r, from);
    w->after = (uint32_t)r->n_ends;
    w->n_after = 1;
    push_end(r, to);
    for (uint32_t k = link; k < g->down_first[g->link_from[link] + 1]; k++) {
        r->row_wire[k] = leaves_with(r, k, link) ? last_wire(r) : r->row_wire[k];
    }
}

static void row_crossers(router *r, uint32_t row)
{
    uint32_t last = r->row_first[row + 1] - 1;
    if (last + 1 < r->g->n_layers) {
        each_leaving(r, last, r->row_wire, row_crosser);
    }
}

/* Pieces of the outer lines of one source in the channel of one row. */
static void outer_channel(router *r, uint32_t x, uint32_t row)
{
    const layered *g = r->g;
    bool home = row_of_vertex(r, x) == row;
    float lo = home ? r->wire_at[r->outer_wire[x]] : r->margin_u[x];
    float hi = lo;
    uint32_t before = (uint32_t)r->n_ends;
    bool away = false;
    bool here = false;
    push_end(r, lo);
    for (uint32_t k = g->line_first[x]; k < g->line_first[x + 1]; k++) {
        const layered_line *l = &g->lines[g->line_of[k]];
        if (l->outer && row_of_vertex(r, l->to) == row) {
            float u = r->wire_at[r->target_wire[g->line_of[k]]];
            lo = fminf(lo, u);
            hi = fmaxf(hi, u);
            here = true;
            push_end(r, u);
        } else if (l->outer) {
            away = true;
        }
    }
    if (home && away) {
        lo = fminf(lo, r->margin_u[x]);
        hi = fmaxf(hi, r->margin_u[x]);
    }
    if (!here && !(home && away)) {
        r->n_ends = before;
        return;
    }
    wire *w = channel_wire(r, lo, hi);
    w->before = before;
    w->n_before = (uint32_t)r->n_ends - before;
    for (uint32_t k = g->line_first[x]; k < g->line_first[x + 1]; k++) {
        const layered_line *l = &g->lines[g->line_of[k]];
        if (l->outer && row_of_vertex(r, l->to) == row) {
            r->target_channel[g->line_of[k]] = last_wire(r);
        }
    }
    if (home) {
        r->source_channel[x] = last_wire(r);
    }
}

/* Outer lines between rows run down a margin at the far left: one track a source. */
static void place_margins(router *r)
{
    const layered *g = r->g;
    uint32_t n = 0;
    for (uint32_t x = 0; x < g->n_real && r->n_rows > 1; x++) {
        for (uint32_t k = g->line_first[x]; k < g->line_first[x + 1]; k++) {
            const layered_line *l = &g->lines[g->line_of[k]];
            if (l->outer && row_of_vertex(r, l->to) != row_of_vertex(r, x)) {
                r->margin_u[x] = (g->in_port != GRAPH_NONE ? fmaxf(LAYOUT_PAD, g->in->title_u) : 0) + (float)n++ * TRACK_GAP;
                break;
            }
        }
    }
    float side = r->n_rows > 1 && g->in_port != GRAPH_NONE ? fmaxf(LAYOUT_PAD, g->in->title_u) : 0;
    r->port_u = side + (float)n * TRACK_GAP;
    n += r->has_entry;
    r->indent = side + (n ? (float)n * TRACK_GAP + TRACK_MARGIN : 0);
}

/* Channels are filled once all u are known; then rows get their place. */
static void place_rows(router *r)
{
    float v = 0;
    for (uint32_t row = 0; row < r->n_rows; row++) {
        size_t first = r->n_wires;
        row_crossers(r, row);
        for (uint32_t i = 0; i < r->n_outer_sources; i++) {
            outer_channel(r, r->outer_sources[i], row);
        }
        uint32_t tracks = close_zone(r, first);
        r->row_v[row] = v - r->row_lo[row];
        float end = v + r->row_hi[row] - r->row_lo[row];
        for (size_t i = first; i < r->n_wires; i++) {
            r->wire_at[i] = end + TRACK_MARGIN + (float)r->wires[i].track * TRACK_GAP;
        }
        float channel = tracks ? 2 * TRACK_MARGIN + (float)(tracks - 1) * TRACK_GAP : 0;
        r->sv = end + (tracks ? TRACK_MARGIN + (float)(tracks - 1) * TRACK_GAP : 0);
        v = end + (channel > LAYOUT_GAP ? channel : LAYOUT_GAP);
    }
}

static void *filled(size_t n)
{
    uint32_t *a = mem_alloc((n + 1) * sizeof *a);
    memset(a, 0xff, (n + 1) * sizeof *a);
    return a;
}

void router_init(router *r, layered *g)
{
    *r = (router){.g = g};
    r->out_wire = filled(g->n_links);
    r->start_wire = filled(g->n_links);
    r->row_wire = filled(g->n_links);
    r->use = mem_calloc(g->n_links + 1U, 1);
    r->outer_wire = filled(g->n_real);
    r->source_channel = filled(g->n_real);
    r->margin_u = mem_calloc(g->n_real + 1U, sizeof(float));
    r->target_wire = filled(g->n_lines);
    r->target_channel = filled(g->n_lines);
    r->target_v = mem_calloc(g->n_lines + 1U, sizeof(float));
    r->layer_u = mem_calloc(g->n_layers + 1U, sizeof(float));
    r->layer_end = mem_calloc(g->n_layers + 1U, sizeof(float));
    r->row_of = mem_calloc(g->n_layers + 1U, sizeof(uint32_t));
    r->outer_sources = filled(g->n_real);
    for (uint32_t x = 0; x < g->n_real; x++) {
        if (has_outer(g, x)) {
            r->outer_sources[r->n_outer_sources++] = x;
        }
    }
}

void router_deinit(router *r)
{
    free(r->out_wire);
    free(r->start_wire);
    free(r->row_wire);
    free(r->use);
    free(r->outer_wire);
    free(r->source_channel);
    free(r->margin_u);
    free(r->target_wire);
    free(r->target_channel);
    free(r->target_v);
    free(r->layer_u);
    free(r->layer_end);
    free(r->row_of);
    free(r->row_first);
    free(r->row_lo);
    free(r->row_hi);
    free(r->row_v);
    free(r->outer_sources);
    free(r->wires);
    free(r->wire_at);
    free(r->ends);
    memset(r, 0, sizeof *r);
}

enum { FAR_BEHIND = 100 }; /* px: as much wider is the layer that makes a difference */

/* What only sends lines on stands at the end of a wide layer, near to what it leads to. */
float router_u(const router *r, uint32_t x)
{
    const layered *g = r->g;
    uint32_t layer = g->layer[x];
    float room = r->layer_end[layer] - r->layer_u[layer] - g->su[x];
    bool source = x < g->n_real && g->line_in_first[x] == g->line_in_first[x + 1] && x != g->in_port;
    bool sends = source && g->line_first[x] < g->line_first[x + 1];
    return r->layer_u[layer] + (sends && room > FAR_BEHIND ? room : 0);
}

bool router_run(router *r)
{
    size_t rows = r->n_rows + 1U;
    r->row_lo = mem_calloc(rows, sizeof(float));
    r->row_hi = mem_calloc(rows, sizeof(float));
    r->row_v = mem_calloc(rows, sizeof(float));
    place_margins(r);
    if (!place_layers(r)) {
        return false;
    }
    r->exit_u = r->su + LAYOUT_PAD - TRACK_GAP;
    place_rows(r);
    return true;
}
