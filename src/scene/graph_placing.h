/* What the files that join events to operators by their place share: graph_join_place.c, graph_join_walk.c. */
#ifndef MAREY_SCENE_GRAPH_PLACING_H
#define MAREY_SCENE_GRAPH_PLACING_H

#include "base/hash.h"
#include "scene/graph_joining.h"

#define PLACING_MAX_ROWS UINT64_C(32000000) /* joined events; those behind are not */

/* Where an operator stands, or an event: NO_ID and -1 where nothing says so. */
typedef struct place_at {
    uint32_t module; /* a name that scopes and annotations have in common */
    int32_t stage;
    uint8_t phase; /* graph_phase */
} place_at;

/* The operators of one type at one place. */
typedef struct place_group {
    uint32_t first, n;         /* in placing.nodes */
    uint32_t n_even, n_uneven; /* rounds that came out, and that did not */
} place_group;

/* How many events of a group a thread's module, or a rank's step, has had. */
typedef struct place_count {
    uint64_t round; /* serial of the module's run, or the step */
    uint32_t group, n;
} place_count;

typedef struct place_row {
    uint64_t row;
    uint32_t node, group;
    bool is_call; /* a call that launches: it leads to kernels and is no operator's itself */
} place_row;

typedef struct placing {
    joining *w;
    /* by names of the run */
    uint32_t *module_of_name, *op_of_name; /* NO_ID */
    uint8_t *phase_of_name, *launches;
    /* by the graph's scopes, nodes, types */
    uint32_t *module_of_scope, *op_of_node;
    uint8_t *op_is_send, *op_is_receive;
    size_t n_ops;
    map64 group_of; /* place and type -> index + 1 */
    place_group *groups;
    size_t n_groups, cap_groups;
    uint32_t *nodes;
    map64 count_of; /* thread or rank, and group -> index + 1 */
    place_count *counts;
    size_t n_counts, cap_counts;
    place_row *rows;
    size_t n_rows, cap_rows;
} placing;

/** NO_ID: the graph has no such operator there. */
uint32_t placing_group(const placing *k, const place_at *at, uint32_t op);
/** Fills rows and counts. */
void placing_walk(placing *k);
/** A round with `n` events is over. */
static inline void placing_close(place_group *g, uint32_t n)
{
    bool even = n % g->n == 0;
    g->n_even += n > 0 && even;
    g->n_uneven += n > 0 && !even;
}

#endif
