/* What follows from a graph's columns: both indices of its edges, and the counts of what the input does not have. */
#include <stdlib.h>

#include "base/mem.h"
#include "graph/model.h"

static bool edges_are_sound(const graph *g)
{
    for (size_t e = 0; e < g->n_edges; e++) {
        if (g->edge_from[e] >= g->n_nodes || g->edge_to[e] >= g->n_nodes) {
            return false;
        }
        if (e > 0 && (g->edge_to[e] < g->edge_to[e - 1] ||
                      (g->edge_to[e] == g->edge_to[e - 1] && g->edge_to_slot[e] < g->edge_to_slot[e - 1]))) {
            return false;
        }
    }
    return true;
}

/* Rows that begin at first[i + 1] - 1 are counted in first[i + 1]; sums make them places. */
static void sum_up(uint32_t *first, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        first[i + 1] += first[i];
    }
}

static void index_sources(graph *g)
{
    uint32_t *next = mem_alloc((g->n_nodes + 1) * sizeof *next);
    for (size_t i = 0; i <= g->n_nodes; i++) {
        next[i] = g->from_first[i];
    }
    for (size_t e = 0; e < g->n_edges; e++) {
        g->from_edge[next[g->edge_from[e]]++] = (uint32_t)e;
    }
    free(next);
}

static void count_kinds(graph *g)
{
    g->n_implied_nodes = g->n_implied_edges = g->n_control_edges = 0;
    for (size_t i = 0; i < g->n_nodes; i++) {
        g->n_implied_nodes += (g->node_flags[i] & GRAPH_IMPLIED) != 0;
    }
    for (size_t e = 0; e < g->n_edges; e++) {
        bool is_implied = (g->edge_flags[e] & GRAPH_IMPLIED) != 0;
        g->n_implied_edges += is_implied;
        g->n_control_edges += !is_implied && (g->edge_flags[e] & GRAPH_CONTROL) != 0;
    }
    g->scopes_inferred = false;
    for (size_t i = 0; i < g->n_scopes; i++) {
        g->scopes_inferred = g->scopes_inferred || (g->scope_flags[i] & GRAPH_SCOPE_INFERRED) != 0;
    }
}

bool graph_index(graph *g)
{
    if (!edges_are_sound(g)) {
        return false;
    }
    free(g->in_first);
    free(g->from_first);
    free(g->from_edge);
    g->in_first = mem_calloc(g->n_nodes + 1, sizeof *g->in_first);
    g->from_first = mem_calloc(g->n_nodes + 1, sizeof *g->from_first);
    g->from_edge = mem_alloc((g->n_edges + 1) * sizeof *g->from_edge);
    for (size_t e = 0; e < g->n_edges; e++) {
        g->in_first[g->edge_to[e] + 1]++;
        g->from_first[g->edge_from[e] + 1]++;
    }
    sum_up(g->in_first, g->n_nodes);
    sum_up(g->from_first, g->n_nodes);
    index_sources(g);
    count_kinds(g);
    return true;
}
