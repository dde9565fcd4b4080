/* Inside the room: the edges of a graph by where in the plan's tree their ends part. An edge can only be seen where the
 * element is open whose children it joins, so what is visible is found from the open elements alone. */
#ifndef MAREY_GRAPH_VISIBLE_EDGES_H
#define MAREY_GRAPH_VISIBLE_EDGES_H

#include "graph/plan.h"

/* What edges add up to. */
typedef struct edge_sum {
    uint32_t n, n_implied, n_control, n_p2p, n_comm; /* comm: from or to a collective, send or receive */
    uint64_t bytes;
} edge_sum;

enum { EDGE_BLOCK = 64 };

/* Many edges between the same two children, summed up: where neither is open they are one bundle. One side is *split*:
 * along it the rows stand in the order of a walk through the tree, so those inside any element are side by side. Between
 * two modules each hub (eight edges and more from one element) has a run of its own where these are most of all. */
typedef struct edge_run {
    uint32_t first;    /* into visible_edges.edge */
    uint32_t from, to; /* children of the element, or the element itself; of a hub the element that all start at */
    bool splits_to;    /* split at the ends of edges, else at their starts */
    size_t first_block; /* into blocks */
    edge_sum sum;
} edge_run;

typedef struct visible_edges {
    uint32_t *first; /* [n_elements + 1] into edge */
    uint32_t *edge;  /* rows of the graph whose ends lie in different children of an element (or at one end are itself),
                        ascending by (from child, to child) where they are eight or more */
    edge_run *runs;  /* of eight or more; ascending by `first` */
    size_t n_runs;
    edge_sum *blocks; /* of each EDGE_BLOCK rows of a run, but its last ones */
    size_t n_blocks;
    uint32_t *into;     /* of stacks alone: the same rows by (to, from) */
    uint32_t *stacks;   /* ascending */
    size_t *first_into; /* [n_stacks] into `into` */
    size_t n_into, n_stacks;
} visible_edges;

/** @return NULL when cancelled. O(edges x depth). */
visible_edges *visible_edges_create(const graph_plan *p, cancel_flag *cancel);
void visible_edges_destroy(visible_edges **e);
void edge_sum_add(edge_sum *s, const graph *g, uint32_t edge);
/** LINE_* of visible.h, inside only: of edges that add up to this. */
uint8_t edge_sum_flags(const edge_sum *s);

/* Rows, in `edge` or `into`. */
typedef struct edge_range {
    const uint32_t *at;
    uint32_t n;
} edge_range;
/** The child of `around` that holds the end of an edge (`to`; else its start); `around` where that is the end. It must
 *  be inside. */
uint32_t visible_edge_child(const graph_plan *p, uint32_t edge, bool to, uint32_t around);
/** How many rows from the first on have an end that comes before `child`: of rows that ascend by the children of
 *  `around` at one end. */
uint32_t visible_edges_before(const graph_plan *p, edge_range r, bool to, uint32_t around, uint32_t child);
/** Rows lo .. hi of a run. */
edge_sum visible_edges_sum(const graph_plan *p, const visible_edges *e, const edge_run *r, uint32_t lo, uint32_t hi);
/** Rows between members of a stack, by the member that they end in. `at` NULL: fewer than eight, in `edge` alone. */
edge_range visible_edges_into(const visible_edges *e, uint32_t stack);

#endif
