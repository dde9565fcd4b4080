/*
 * Scopes by the names of weights: "h.3.attn.c_proj.weight" puts the operator that takes it into h/3/attn/c_proj. An
 * operator without a weight lies between two that have one: its last labelled producer and its first labelled consumer;
 * it goes where these meet. Where that is outside of the producer's numbered module (3 of h.3.mlp), or above two
 * siblings that differ by number (layer1, layer2), it belongs to the producer's: the residual sum ends a layer.
 */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "graph/hierarchy_work.h"

enum { MAX_DEPTH = 16, LEAST_LABELLED = 8, LEAST_PATHS = 4 };

/* Paths met, as a tree; 0 is the root. */
typedef struct path_node {
    uint32_t parent, depth, scope, name;
} path_node;

typedef struct weight_work {
    hierarchy_work *h;
    path_node *paths;
    size_t n_paths, cap_paths;
    text_table names;
    map64 known;                 /* parent << 32 | name -> path + 1 */
    uint32_t *own, *prev, *next; /* [n_order] paths; GRAPH_NONE */
    uint8_t *fed;                /* [n_order] an input of the graph comes here */
} weight_work;

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool all_digits(const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (!is_digit(s[i])) {
            return false;
        }
    }
    return n > 0;
}

static uint32_t child_path(weight_work *w, uint32_t parent, const char *s, size_t n)
{
    uint32_t name = text_table_put(&w->names, s, n, NULL);
    uint64_t *place = map64_put(&w->known, (uint64_t)parent << 32 | name);
    if (*place == 0) {
        path_node p = {parent, w->paths[parent].depth + 1, GRAPH_NONE, name};
        VEC_PUSH(w->paths, w->n_paths, w->cap_paths, p);
        *place = w->n_paths;
    }
    return (uint32_t)(*place - 1);
}

/* The path before the last part of a weight's name; 0: it has none. A last part of digits is a number of the exporter,
 * not a weight's name. */
static uint32_t path_of(weight_work *w, const char *name)
{
    size_t end = strlen(name);
    while (end > 0 && name[end - 1] != '.' && name[end - 1] != '/') {
        end--;
    }
    const char *last = name + end;
    if (end < 2 || all_digits(last, strlen(last)) || *last == '\0' || strstr(name, "::")) {
        return 0;
    }
    uint32_t path = 0;
    for (size_t i = 0; i + 1 < end && w->paths[path].depth < MAX_DEPTH;) {
        size_t n = strcspn(name + i, "./");
        if (n > 0) {
            path = child_path(w, path, name + i, n);
        }
        i += n + 1;
    }
    return path;
}

static uint32_t meet(const weight_work *w, uint32_t a, uint32_t b)
{
    while (a != b) {
        bool deeper = w->paths[a].depth >= w->paths[b].depth;
        *(deeper ? &a : &b) = w->paths[deeper ? a : b].parent;
    }
    return a;
}

static uint32_t below(const weight_work *w, uint32_t above, uint32_t path)
{
    while (w->paths[path].parent != above) {
        path = w->paths[path].parent;
    }
    return path;
}

/* Are two parts the same but for a number: "3" and "4", "layer1" and "layer2"? */
static bool numbered_alike(const weight_work *w, uint32_t a, uint32_t b)
{
    const char *x = w->names.text + w->names.at[w->paths[a].name], *y = w->names.text + w->names.at[w->paths[b].name];
    while (*x && *x == *y && !is_digit(*x)) {
        x++;
        y++;
    }
    return all_digits(x, strlen(x)) && all_digits(y, strlen(y));
}

/* The numbered module ("3" of h/3/mlp) that a path leaves when it goes up to `above`; GRAPH_NONE. The innermost. */
static uint32_t numbered_below(const weight_work *w, uint32_t above, uint32_t path)
{
    for (; path != above; path = w->paths[path].parent) {
        const char *name = w->names.text + w->names.at[w->paths[path].name];
        if (all_digits(name, strlen(name))) {
            return path;
        }
    }
    return GRAPH_NONE;
}

/* Before the first weight: what comes from the graph's inputs belongs to no layer, a constant to its consumer. */
static uint32_t between(const weight_work *w, uint32_t prev, uint32_t next, bool fed)
{
    if (prev == GRAPH_NONE && fed) {
        return 0;
    }
    if (prev == GRAPH_NONE || next == GRAPH_NONE) {
        uint32_t one = prev == GRAPH_NONE ? next : prev;
        return one == GRAPH_NONE ? 0 : w->paths[one].parent;
    }
    uint32_t m = meet(w, prev, next), layer = numbered_below(w, m, prev);
    if (layer != GRAPH_NONE) {
        return layer;
    }
    if (m != prev && m != next && numbered_alike(w, below(w, m, prev), below(w, m, next))) {
        return below(w, m, prev);
    }
    return m;
}

/* @return operators with a weight of their own */
static size_t label_by_weights(weight_work *w)
{
    const graph *g = w->h->g;
    const text_table *strings = w->h->strings; /* not the graph's yet */
    size_t labelled = 0;
    for (size_t i = 0; i < w->h->n_order; i++) {
        uint32_t v = w->h->order[i], path = GRAPH_NONE;
        for (uint32_t e = g->in_first[v]; e < g->in_first[v + 1]; e++) {
            uint32_t u = g->edge_from[e];
            if (g->node_role[u] == GRAPH_PARAMETER || g->node_role[u] == GRAPH_CONSTANT) {
                uint32_t p = path_of(w, strings->text + strings->at[g->node_name[u]]);
                path = p == 0 ? path : path == GRAPH_NONE ? p : meet(w, path, p);
            }
        }
        w->own[i] = path == 0 ? GRAPH_NONE : path;
        labelled += w->own[i] != GRAPH_NONE;
    }
    return labelled;
}

/* The last labelled producers and the first labelled consumers. */
static void spread(weight_work *w)
{
    const hierarchy_work *h = w->h;
    const graph *g = h->g;
    for (size_t i = 0; i < h->n_order; i++) {
        uint32_t v = h->order[i], best = GRAPH_NONE;
        for (uint32_t e = g->in_first[v]; e < g->in_first[v + 1]; e++) {
            uint32_t u = g->edge_from[e], p = h->place[u];
            w->fed[i] |= g->node_role[u] == GRAPH_INPUT || (p != GRAPH_NONE && p < i && w->fed[p]);
            if (p != GRAPH_NONE && p < i && w->prev[p] != GRAPH_NONE && (best == GRAPH_NONE || p > best)) {
                best = p;
            }
        }
        w->prev[i] = w->own[i] != GRAPH_NONE ? w->own[i] : best == GRAPH_NONE ? best : w->prev[best];
    }
    for (size_t i = h->n_order; i-- > 0;) {
        uint32_t v = h->order[i], best = GRAPH_NONE;
        for (uint32_t k = g->from_first[v]; k < g->from_first[v + 1]; k++) {
            uint32_t p = h->place[g->edge_to[g->from_edge[k]]];
            if (p != GRAPH_NONE && p > i && w->next[p] != GRAPH_NONE && (best == GRAPH_NONE || p < best)) {
                best = p;
            }
        }
        w->next[i] = w->own[i] != GRAPH_NONE ? w->own[i] : best == GRAPH_NONE ? best : w->next[best];
    }
}

/* The scope of a path, with those above it. Paths come after their parents, so a loop upwards is short. */
static uint32_t scope_of(weight_work *w, uint32_t path, uint32_t top)
{
    uint32_t chain[MAX_DEPTH + 1];
    size_t n = 0;
    for (; path != 0 && w->paths[path].scope == GRAPH_NONE; path = w->paths[path].parent) {
        chain[n++] = path;
    }
    uint32_t scope = path == 0 ? top : w->paths[path].scope;
    while (n > 0) {
        path_node *p = &w->paths[chain[--n]];
        const char *name = w->names.text + w->names.at[p->name];
        scope = p->scope = hierarchy_scope(w->h, scope, name, strlen(name));
    }
    return scope;
}

bool hierarchy_by_weights(hierarchy_work *h, uint32_t scope)
{
    weight_work w = {.h = h};
    uint32_t *block = mem_alloc(3 * h->n_order * sizeof *block);
    w.own = block;
    w.prev = block + h->n_order;
    w.next = block + 2 * h->n_order;
    w.fed = mem_calloc(h->n_order + 1, 1);
    VEC_PUSH(w.paths, w.n_paths, w.cap_paths, ((path_node){0, 0, scope, 0}));
    size_t labelled = label_by_weights(&w);
    bool enough = labelled >= LEAST_LABELLED && labelled * 20 >= h->n_order && w.n_paths > LEAST_PATHS;
    if (enough) {
        spread(&w);
        for (size_t i = 0; i < h->n_order; i++) {
            uint32_t path = w.own[i] != GRAPH_NONE ? w.own[i] : between(&w, w.prev[i], w.next[i], w.fed[i]);
            h->g->node_scope[h->order[i]] = scope_of(&w, path, scope);
        }
    }
    free(block);
    free(w.fed);
    free(w.paths);
    text_table_deinit(&w.names);
    map64_deinit(&w.known);
    return enough;
}
