/*
 * A graph and a run: which events are which operator. Four ways, the surest first:
 *
 *   number   a number of the event (Record function id, External id, Kineto's index) is the node's (rf_id of an
 *            ExecutionTrace), and both have one name; on ranks where at least half of the nodes are found so
 *   name     the event's name is the node's, or its HLO op_name is
 *   scope    the same after normalising: lower case, separators alike, numbers of instances ("-op123") kept, what
 *            profilers put before the scope ("Default/") and behind it dropped
 *   place    where none of these finds anything: an event of the operator's type inside an annotation with its module's
 *            name, in the operator's phase and on a rank of its stage, the k-th of them the k-th (graph_join_place.c)
 *
 * An event belongs to at most one node; a node may have many events (steps, ranks, occurrences). Of each node: how
 * many, their sum, the longest with its rank. Time: of events on devices where the node has any, else of the host's.
 *
 * Read-only once made. Owner: the caller. Thread: made by any, read by any.
 */
#ifndef MAREY_SCENE_GRAPH_JOIN_H
#define MAREY_SCENE_GRAPH_JOIN_H

#include "base/thread.h"
#include "graph/model.h"
#include "store/store.h"

typedef struct node_time {
    uint64_t n; /* events */
    int64_t sum_ns, min_ns, max_ns;
    uint64_t max_row;   /* the longest */
    uint64_t first_row; /* the earliest */
    uint32_t max_rank;  /* index */
} node_time;

typedef struct graph_join {
    node_time *times; /* [n_nodes] */
    size_t n_nodes;
    uint32_t *node_of_name; /* [model.n_names]; GRAPH_NONE */
    size_t n_names;
    /* Events known by number, ascending by row; they go before names. */
    uint64_t *rows;
    uint32_t *row_node;
    size_t n_rows;
    double *flops; /* [n_nodes] of one run of the operator, as the run states; NULL: it does not */
    size_t n_joined_nodes;
    uint64_t n_joined_events;
    double n_runs;       /* ranks x steps, at least 1: divides sums into one rank's step */
    double *stage_runs;  /* [n_stages] the same of the ranks of one of the graph's stages; 0: the run has none */
    int16_t *node_stage; /* [n_nodes] as in the graph; NULL: it states none */
    size_t n_stages;
    double step_ns; /* mean step over ranks; the run's length where it has none */
    int64_t step;   /* number of the only step; -1: several or none */
} graph_join;

/** Cost: reads the events once, and arguments where the graph has numbers (at most JOIN_MAX_ARGS events of them).
 *  @return NULL when nothing fits, or cancelled */
graph_join *graph_join_make(store_file *f, const graph *g, cancel_flag *cancel);
void graph_join_free(graph_join **j);
/** GRAPH_NONE: none. */
uint32_t graph_join_node(const graph_join *j, uint64_t row, uint32_t name);
/** Mean over ranks (of its stage, where it has one) and steps: what one rank spends in one step on it. */
static inline double graph_join_step_ns(const graph_join *j, uint32_t node)
{
    if (node >= j->n_nodes) {
        return 0;
    }
    size_t at = !j->node_stage || j->node_stage[node] < 0 ? j->n_stages : (size_t)j->node_stage[node];
    double runs = at < j->n_stages && j->stage_runs[at] > 0 ? j->stage_runs[at] : j->n_runs;
    return (double)j->times[node].sum_ns / runs;
}

#endif
