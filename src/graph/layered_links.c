/* Dummies of long lines, links between neighbouring layers, and the order of the input in each layer. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "graph/layered.h"

/* How far the chains of each vertex reach: layers behind it, layers before it. Lines with a chain of their own apart. */
static void find_reach(layered *g, uint32_t *behind, uint32_t *before)
{
    for (uint32_t i = 0; i < g->n_lines; i++) {
        const layered_line *l = &g->lines[i];
        uint32_t far = g->layer[l->to] - g->layer[l->from] - 1;
        if (l->outer == OUTER_NONE && !l->own) {
            uint32_t *reach = l->merged ? &before[l->to] : &behind[l->from];
            *reach = far > *reach ? far : *reach;
        }
    }
}

static void grow_vertices(layered *g, uint32_t n)
{
    g->su = mem_realloc_array(g->su, n + 1U, sizeof *g->su);
    g->sv = mem_realloc_array(g->sv, n + 1U, sizeof *g->sv);
    g->out = mem_realloc_array(g->out, n + 1U, sizeof *g->out);
    g->in_at = mem_realloc_array(g->in_at, n + 1U, sizeof *g->in_at);
    g->layer = mem_realloc_array(g->layer, n + 1U, sizeof *g->layer);
    for (uint32_t x = g->n_real; x < n; x++) {
        g->su[x] = g->sv[x] = g->out[x] = g->in_at[x] = 0;
    }
    g->n = n;
}

/* Dummies of a line with a chain of its own. @return the next free vertex */
static uint32_t own_chain(layered *g, layered_line *l, uint32_t n)
{
    l->base = n - g->layer[l->from] - 1;
    for (uint32_t k = g->layer[l->from] + 1; k < g->layer[l->to]; k++) {
        g->layer[n++] = k;
    }
    return n;
}

static uint32_t count_dummies(const layered *g, const uint32_t *behind, const uint32_t *before)
{
    uint32_t n = 0;
    for (uint32_t x = 0; x < g->n_real; x++) {
        n += behind[x] + before[x];
    }
    for (uint32_t i = 0; i < g->n_lines; i++) {
        const layered_line *l = &g->lines[i];
        n += l->own && l->outer == OUTER_NONE ? g->layer[l->to] - g->layer[l->from] - 1 : 0;
    }
    return n;
}

/* origin: where each dummy belongs in the order of the input. */
static void make_chains(layered *g, uint32_t *origin)
{
    uint32_t *behind = mem_calloc(g->n_real + 1U, sizeof *behind);
    uint32_t *before = mem_calloc(g->n_real + 1U, sizeof *before);
    uint32_t *chain_out = mem_alloc((g->n_real + 1U) * sizeof *chain_out);
    uint32_t *chain_in = mem_alloc((g->n_real + 1U) * sizeof *chain_in);
    find_reach(g, behind, before);
    grow_vertices(g, g->n_real + count_dummies(g, behind, before));
    for (uint32_t x = 0, n = g->n_real; x < g->n_real; x++) {
        uint32_t first = n;
        chain_out[x] = n - g->layer[x] - 1;
        for (uint32_t k = 0; k < behind[x]; k++) {
            g->layer[n++] = g->layer[x] + 1 + k;
        }
        chain_in[x] = n - (g->layer[x] - before[x]);
        for (uint32_t k = 0; k < before[x]; k++) {
            g->layer[n++] = g->layer[x] - before[x] + k;
        }
        for (uint32_t k = g->line_first[x]; k < g->line_first[x + 1]; k++) {
            layered_line *l = &g->lines[g->line_of[k]];
            n = l->own && l->outer == OUTER_NONE ? own_chain(g, l, n) : n;
        }
        for (; first < n; first++) {
            origin[first - g->n_real] = x;
        }
    }
    for (uint32_t i = 0; i < g->n_lines; i++) {
        layered_line *l = &g->lines[i];
        l->base = l->own ? l->base : l->merged ? chain_in[l->to] : chain_out[l->from];
    }
    free(behind);
    free(before);
    free(chain_out);
    free(chain_in);
}

/* Links in the order of lines; those of a chain come once. */
static void push_links(layered *g, uint32_t *from, uint32_t *to, uint8_t *turned)
{
    uint8_t *seen =
        mem_calloc(g->n + 1U, 1); /* dummies of source chains with a link in, of target chains with one out */
    uint32_t n = 0;
    for (uint32_t i = 0; i < g->n_lines; i++) {
        const layered_line *l = &g->lines[i];
        for (uint32_t k = g->layer[l->from]; l->outer == OUTER_NONE && k < g->layer[l->to]; k++) {
            uint32_t a = layered_at(g, l, k);
            uint32_t b = layered_at(g, l, k + 1);
            uint32_t own = l->merged ? a : b;
            if (own >= g->n_real) {
                if (seen[own]++) {
                    seen[own] = 1;
                    if (l->merged) {
                        break; /* the rest of the target's chain is there */
                    }
                    continue;
                }
            }
            turned[n] = l->turned;
            from[n] = a;
            to[n++] = b;
        }
    }
    g->n_links = n;
    free(seen);
}

static size_t most_links(const layered *g)
{
    return (size_t)g->n - g->n_real + g->n_lines;
}

static void index_links(layered *g, const uint32_t *from, const uint32_t *to, const uint8_t *turned)
{
    size_t n = g->n_links;
    g->down_first = mem_calloc(g->n + 2U, sizeof *g->down_first);
    g->up_first = mem_calloc(g->n + 2U, sizeof *g->up_first);
    g->link_from = mem_alloc((n + 1) * sizeof *g->link_from);
    g->link_to = mem_alloc((n + 1) * sizeof *g->link_to);
    g->link_in = mem_calloc(n + 1, sizeof *g->link_in);
    g->link_out = mem_calloc(n + 1, sizeof *g->link_out);
    g->link_lo = mem_calloc(n + 1, sizeof *g->link_lo);
    g->link_hi = mem_calloc(n + 1, sizeof *g->link_hi);
    g->link_loose = mem_calloc(n + 1, 1);
    g->link_turned = mem_calloc(n + 1, 1);
    g->up_link = mem_alloc((n + 1) * sizeof *g->up_link);
    for (size_t i = 0; i < n; i++) {
        g->down_first[from[i] + 1]++;
        g->up_first[to[i] + 1]++;
    }
    for (uint32_t x = 0; x < g->n; x++) {
        g->down_first[x + 1] += g->down_first[x];
        g->up_first[x + 1] += g->up_first[x];
    }
    uint32_t *next = mem_alloc((g->n + 1U) * sizeof *next);
    uint32_t *by_end = mem_alloc((n + 1) * sizeof *by_end);
    memcpy(next, g->up_first, g->n * sizeof *next);
    for (size_t i = 0; i < n; i++) {
        by_end[next[to[i]]++] = (uint32_t)i;
    }
    memcpy(next, g->down_first, g->n * sizeof *next);
    for (size_t i = 0; i < n; i++) {
        uint32_t k = next[from[by_end[i]]]++;
        g->link_from[k] = from[by_end[i]];
        g->link_to[k] = to[by_end[i]];
        g->link_turned[k] = turned[by_end[i]];
    }
    memcpy(next, g->up_first, g->n * sizeof *next);
    for (size_t k = 0; k < n; k++) {
        g->up_link[next[g->link_to[k]]++] = (uint32_t)k;
    }
    free(next);
    free(by_end);
}

uint32_t layered_link(const layered *g, uint32_t from, uint32_t to, bool turned)
{
    uint32_t lo = g->down_first[from];
    uint32_t hi = g->down_first[from + 1];
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        lo = g->link_to[mid] < to ? mid + 1 : lo;
        hi = g->link_to[mid] < to ? hi : mid;
    }
    return lo + (g->link_turned[lo] != turned);
}

/* Layers in the order of the input; a dummy stands where its chain's owner does. Two counting passes. */
static void input_order(layered *g, const uint32_t *origin)
{
    g->layer_first = mem_calloc(g->n_layers + 2U, sizeof *g->layer_first);
    g->order = mem_alloc((g->n + 1U) * sizeof *g->order);
    g->pos = mem_alloc((g->n + 1U) * sizeof *g->pos);
    g->v = mem_calloc(g->n + 1U, sizeof *g->v);
    for (uint32_t x = 0; x < g->n; x++) {
        g->layer_first[g->layer[x] + 1]++;
    }
    for (uint32_t l = 0; l < g->n_layers; l++) {
        g->layer_first[l + 1] += g->layer_first[l];
    }
    uint32_t *next = mem_alloc((g->n_layers + 1U) * sizeof *next);
    memcpy(next, g->layer_first, g->n_layers * sizeof *next);
    uint32_t d = g->n_real;
    for (uint32_t x = 0; x < g->n_real; x++) { /* dummies are ascending by owner */
        g->order[next[g->layer[x]]++] = x;
        for (; d < g->n && origin[d - g->n_real] == x; d++) {
            g->order[next[g->layer[d]]++] = d;
        }
    }
    for (uint32_t l = 0; l < g->n_layers; l++) {
        for (uint32_t k = g->layer_first[l]; k < g->layer_first[l + 1]; k++) {
            g->pos[g->order[k]] = k - g->layer_first[l];
        }
    }
    free(next);
}

marey_status layered_links(layered *g)
{
    uint64_t n_origin = 0;
    for (uint32_t i = 0; i < g->n_lines; i++) {
        n_origin += g->lines[i].outer == OUTER_NONE ? g->layer[g->lines[i].to] - g->layer[g->lines[i].from] : 0;
    }
    uint32_t *origin = mem_alloc((n_origin + 1) * sizeof *origin);
    make_chains(g, origin);
    uint32_t *from = mem_alloc((most_links(g) + 1) * sizeof *from);
    uint32_t *to = mem_alloc((most_links(g) + 1) * sizeof *to);
    uint8_t *turned = mem_alloc(most_links(g) + 1);
    if (!is_cancelled(g->cancel)) {
        push_links(g, from, to, turned);
    }
    if (!is_cancelled(g->cancel)) {
        index_links(g, from, to, turned);
    }
    if (!is_cancelled(g->cancel)) {
        input_order(g, origin);
    }
    free(from);
    free(to);
    free(turned);
    free(origin);
    return is_cancelled(g->cancel) ? MAREY_CANCELLED : MAREY_OK;
}
