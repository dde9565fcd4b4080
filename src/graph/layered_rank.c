/* Layers: longest path, then vertices move towards where most of their lines go, a few passes; then, unless there are
 * very many, the network simplex method (layered_simplex.c). */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "graph/layered.h"

enum { TIGHTEN_PASSES = 8 };

static bool counts(const layered_line *l)
{
    return l->outer == OUTER_NONE;
}

/* Kahn: order in which all lines run forward. Lines of visible.h have no cycle without LINE_BACK. */
static uint32_t *topological(layered *g)
{
    uint32_t *need = mem_calloc(g->n_real + 1U, sizeof *need);
    uint32_t *order = mem_alloc((g->n_real + 1U) * sizeof *order);
    uint32_t n = 0;
    for (uint32_t i = 0; i < g->n_lines; i++) {
        need[g->lines[i].to] += counts(&g->lines[i]);
    }
    for (uint32_t i = 0; i < g->n_real; i++) {
        if (need[i] == 0) {
            order[n++] = i;
        }
    }
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t k = g->line_first[order[i]]; k < g->line_first[order[i] + 1]; k++) {
            const layered_line *l = &g->lines[g->line_of[k]];
            if (counts(l) && --need[l->to] == 0) {
                order[n++] = l->to;
            }
        }
    }
    free(need);
    MAREY_ASSERT(n == g->n_real);
    return order;
}

typedef struct bounds {
    uint32_t lo, hi; /* layers that its lines allow */
    uint32_t in, out;
    uint32_t fan_in, fan_out; /* most lines at the other end of a line in, of a line out */
} bounds;

/* Looked at now and then. */
static bool stopped(const layered *g, uint32_t i)
{
    return (i & 0x7fff) == 0 && is_cancelled(g->cancel);
}

static uint32_t weight(const layered *g, const layered_line *l)
{
    return l->from == g->in_port || l->to == g->out_port ? 1 : 2;
}

static bounds bounds_of(const layered *g, uint32_t x, uint32_t lowest)
{
    bounds b = {.lo = lowest, .hi = GRAPH_NONE};
    for (uint32_t k = g->line_first[x]; k < g->line_first[x + 1]; k++) {
        const layered_line *l = &g->lines[g->line_of[k]];
        if (counts(l)) {
            b.hi = g->layer[l->to] - 1 < b.hi ? g->layer[l->to] - 1 : b.hi;
            b.out += weight(g, l);
            uint32_t fan = g->line_in_first[l->to + 1] - g->line_in_first[l->to];
            b.fan_out = fan > b.fan_out ? fan : b.fan_out;
        }
    }
    for (uint32_t k = g->line_in_first[x]; k < g->line_in_first[x + 1]; k++) {
        const layered_line *l = &g->lines[g->line_in_of[k]];
        if (counts(l)) {
            b.lo = g->layer[l->from] + 1 > b.lo ? g->layer[l->from] + 1 : b.lo;
            b.in += weight(g, l);
            uint32_t fan = g->line_first[l->from + 1] - g->line_first[l->from];
            b.fan_in = fan > b.fan_in ? fan : b.fan_in;
        }
    }
    return b;
}

static void longest_path(layered *g, const uint32_t *order, uint32_t lowest)
{
    for (uint32_t i = 0; i < g->n_real; i++) {
        uint32_t x = order[i];
        g->layer[x] = x == g->in_port ? 0 : bounds_of(g, x, lowest).lo;
    }
}

/* Where as many lines go in as out, the shorter way is that of the lines which share no trunk with others. */
static bool wants_back(const bounds *b)
{
    return b->out > b->in || (b->out == b->in && b->fan_in > b->fan_out);
}

/* Backwards and forwards: shorter lines in sum, never longer. @return whether anything moved */
static bool tighten(layered *g, const uint32_t *order, uint32_t lowest)
{
    bool moved = false;
    for (uint32_t i = g->n_real; i-- > 0 && !stopped(g, i);) {
        uint32_t x = order[i];
        bounds b = bounds_of(g, x, lowest);
        if (x != g->in_port && x != g->out_port && b.hi != GRAPH_NONE && wants_back(&b) && b.hi > g->layer[x]) {
            g->layer[x] = b.hi;
            moved = true;
        }
    }
    for (uint32_t i = 0; i < g->n_real && !stopped(g, i); i++) {
        uint32_t x = order[i];
        bounds b = bounds_of(g, x, lowest);
        if (x != g->in_port && x != g->out_port && b.in > b.out && b.lo < g->layer[x]) {
            g->layer[x] = b.lo;
            moved = true;
        }
    }
    return moved;
}

/* No layer is empty; the out-port has the last one for itself. */
static void compact(layered *g)
{
    uint32_t max = 0;
    for (uint32_t i = 0; i < g->n_real; i++) {
        max = g->layer[i] > max ? g->layer[i] : max;
    }
    uint32_t *to = mem_calloc(max + 2U, sizeof *to);
    for (uint32_t i = 0; i < g->n_real; i++) {
        to[g->layer[i]] = 1;
    }
    uint32_t n = 0;
    for (uint32_t l = 0; l <= max; l++) {
        uint32_t used = to[l];
        to[l] = n;
        n += used;
    }
    for (uint32_t i = 0; i < g->n_real; i++) {
        g->layer[i] = to[g->layer[i]];
    }
    g->n_layers = n;
    free(to);
}

static uint32_t out_port_layer(const layered *g)
{
    uint32_t max = 0;
    for (uint32_t i = 0; i < g->n_real; i++) {
        max = i != g->out_port && g->layer[i] > max ? g->layer[i] : max;
    }
    return max + 1;
}

/* A turned line runs forward, if it does so in the order of the others; else it is turned back. */
static void place_turned(layered *g, const uint32_t *order)
{
    uint32_t *at = mem_alloc((g->n_real + 1U) * sizeof *at);
    bool again = false;
    for (uint32_t i = 0; i < g->n_real; i++) {
        at[order[i]] = i;
    }
    for (uint32_t i = 0; i < g->n_lines; i++) {
        layered_line *l = &g->lines[i];
        if (l->turned && at[l->from] < at[l->to]) {
            l->outer = OUTER_NONE;
            l->own = true;
        } else if (l->turned) {
            uint32_t x = l->from;
            l->from = l->to;
            l->to = x;
            l->turned = false;
            again = true;
        }
    }
    if (again) {
        layered_index_lines(g);
    }
    free(at);
}

static uint32_t span(const layered *g, const layered_line *l)
{
    return g->layer[l->to] - g->layer[l->from];
}

/* Which end of each long line lends its chain: the one with more long lines. */
static void choose_chains(layered *g)
{
    uint32_t *n_out = mem_calloc(g->n_real + 1U, sizeof *n_out);
    uint32_t *n_in = mem_calloc(g->n_real + 1U, sizeof *n_in);
    for (uint32_t i = 0; i < g->n_lines; i++) {
        const layered_line *l = &g->lines[i];
        if (counts(l) && !l->own && span(g, l) > 1) {
            n_out[l->from]++;
            n_in[l->to]++;
        }
    }
    for (uint32_t i = 0; i < g->n_lines; i++) {
        layered_line *l = &g->lines[i];
        l->merged = !l->own && n_in[l->to] > n_out[l->from] && n_in[l->to] > 2;
    }
    free(n_out);
    free(n_in);
}

/* Whether lines of at most `limit` layers need too many dummies, or too many steps to walk along. */
static bool too_many_within(const layered *g, uint32_t limit, uint32_t *out, uint32_t *in)
{
    uint64_t size = (uint64_t)g->n_real + g->n_lines;
    uint64_t sum = 0;
    uint64_t steps = 0;
    memset(out, 0, g->n_real * sizeof *out);
    memset(in, 0, g->n_real * sizeof *in);
    for (uint32_t i = 0; i < g->n_lines; i++) {
        const layered_line *l = &g->lines[i];
        if (counts(l) && span(g, l) <= limit) {
            uint32_t *reach = l->merged ? &in[l->to] : &out[l->from];
            sum += l->own ? span(g, l) - 1 : 0;
            *reach = !l->own && span(g, l) - 1 > *reach ? span(g, l) - 1 : *reach;
            steps += span(g, l);
        }
    }
    for (uint32_t i = 0; i < g->n_real; i++) {
        sum += (uint64_t)out[i] + in[i];
    }
    return sum > 65536 + 4 * size || steps > 1000000 + 16 * size;
}

/* The longest lines go outside where their dummies would be too many. */
static void bound_dummies(layered *g)
{
    uint32_t *out = mem_alloc((g->n_real + 1U) * sizeof *out);
    uint32_t *in = mem_alloc((g->n_real + 1U) * sizeof *in);
    uint32_t limit = g->n_layers;
    while (limit > 2 && too_many_within(g, limit, out, in)) {
        limit /= 2;
    }
    for (uint32_t i = 0; i < g->n_lines && limit < g->n_layers; i++) {
        layered_line *l = &g->lines[i];
        if (counts(l) && span(g, l) > limit) {
            l->outer = OUTER_JUMP;
        }
    }
    free(out);
    free(in);
}

marey_status layered_rank(layered *g)
{
    uint32_t lowest = g->in_port != GRAPH_NONE ? 1 : 0;
    uint32_t *order = topological(g);
    if (is_cancelled(g->cancel)) {
        free(order);
        return MAREY_CANCELLED;
    }
    place_turned(g, order);
    longest_path(g, order, lowest);
    if (g->out_port != GRAPH_NONE) {
        g->layer[g->out_port] = out_port_layer(g);
    }
    for (int i = 0; i < TIGHTEN_PASSES && !is_cancelled(g->cancel) && tighten(g, order, lowest); i++) {
    }
    free(order);
    layered_simplex(g);
    if (is_cancelled(g->cancel)) {
        return MAREY_CANCELLED;
    }
    compact(g);
    choose_chains(g);
    bound_dummies(g);
    choose_chains(g);
    return is_cancelled(g->cancel) ? MAREY_CANCELLED : MAREY_OK;
}
