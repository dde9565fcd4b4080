/* Graphs and plans for the tests of what is visible and of layout: made by hand, so that they do not depend on
 * simplification. */
#ifndef MAREY_TEST_HELP_PLAN_H
#define MAREY_TEST_HELP_PLAN_H

#include "graph/builder.h"
#include "graph/visible.h"

typedef struct random_graph {
    uint64_t seed;
    uint32_t n_nodes, n_scopes, n_edges;
    uint32_t back_percent; /* edges against the order of nodes, self-loops included */
    uint32_t n_hubs;       /* nodes with edges to a tenth of all */
    bool local;            /* edges mostly between near nodes: long and thin */
} random_graph;

uint64_t test_random(uint64_t *seed);
void test_graph(graph *g, const random_graph *r);
/** One element a scope and a node, in the order of scopes; `stacks`: runs of sibling modules and leaves become stacks
 *  (whether they are equal or not: what is visible does not ask). */
graph_plan *test_plan(const graph *g, bool prune, bool stacks, uint64_t seed);
void test_plan_free(graph_plan **p);
/** layers x (attention, mlp) with a residual stream and three hubs; scopes: or flat. About 12 operators a layer. */
void test_transformer(graph *g, uint32_t n_layers, bool scopes, bool hubs);
/** A pipeline: in each stage, for each micro-batch, a chain from a receive to a send. */
void test_pipeline(graph *g, uint32_t n_stages, uint32_t n_micro, uint32_t n_ops);

#endif
