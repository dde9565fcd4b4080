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

/* Many edges between the same two children, summed up: where neither is open they are one bundle. Where one of the two
 * is a stack (the first, if both are), they stand by the member that holds their end. */
typedef struct edge_run {
    uint32_t first;    /* into visible_edges.edge */
    uint32_t from, to; /* children of the element, or the element itself */
    edge_sum sum;
} edge_run;

typedef struct visible_edges {
    uint32_t *first; /* [n_elements + 1] into edge */
    uint32_t *edge;  /* rows of the graph whose ends lie in different children of an element (or at one end are itself),
                        ascending by (from child, to child) where they are eight or more */
    edge_run *runs;  /* of eight or more; ascending by `first` */
    size_t n_runs;
    uint32_t *into;     /* of stacks alone: the same rows by (to, from) */
    uint32_t *stacks;   /* ascending */
    size_t *first_into; /* [n_stacks] into `into` */
    size_t n_into, n_stacks;
} visible_edges;

/** @return NULL when cancelled. O(edges x depth). */
visible_edges *visible_edges_create(const graph_plan *p, cancel_flag *cancel);
void visible_edges_destroy(visible_edges **e);
void edge_sum_add(edge_sum *s, const graph *g, uint32_t edge);
void edge_sum_take(edge_sum *s, const graph *g, uint32_t edge);
/** LINE_* of visible.h, inside only: of edges that add up to this. */
uint8_t edge_sum_flags(const edge_sum *s);

/* Rows of one kind, somewhere in `edge` or `into`. */
typedef struct edge_range {
    const uint32_t *at;
    uint32_t n;
} edge_range;
/** Of rows at `at` that ascend by the child of `stack` at one end (`into`: at the edge's end, else at its start), those
 *  at one child. */
edge_range visible_edges_at(const graph_plan *p, edge_range all, bool into, uint32_t stack, uint32_t child);
/** Rows between members of a stack, that end in one of them, by their start. Empty: fewer than eight in all */
edge_range visible_edges_into(const graph_plan *p, const visible_edges *e, uint32_t stack, uint32_t child);

#endif
