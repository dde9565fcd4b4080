/*
 * What the inference of scopes works on: shared by hierarchy*.c only.
 *
 * A *stretch* is a run of operators in topological order that lie in one scope, or several such runs of equal operator
 * types (the repeats of a period), which are parted alike: so that what repeats still looks the same inside.
 */
#ifndef MAREY_GRAPH_HIERARCHY_WORK_H
#define MAREY_GRAPH_HIERARCHY_WORK_H

#include "graph/hierarchy.h"

enum {
    HIERARCHY_SMALL = 48,   /* operators that need no further scopes, where none are stated */
    HIERARCHY_LARGE = 1000, /* children that a stated scope may have */
    HIERARCHY_BETWEEN = 12  /* that may stand between repeats in a crowd */
};

typedef struct stretch {
    uint32_t first_start, n_runs; /* into work.starts: positions in work.order, one per run */
    uint32_t n;                   /* operators of a run */
    uint32_t depth;               /* of stretches in each other */
    bool own;                     /* its scope holds nothing else */
} stretch;

typedef struct run_start {
    uint32_t at;    /* position of the run's first operator */
    uint32_t scope; /* that holds the run */
} run_start;

typedef struct hierarchy_work {
    graph *g;
    text_table *strings;
    cancel_flag *cancel;
    size_t cap_scopes;
    uint32_t *order; /* operators of the scope at hand, in topological order */
    size_t n_order;
    uint32_t *place; /* [n_nodes]: in order; GRAPH_NONE: elsewhere */
    uint64_t *label; /* [n_order]: operator type and number of inputs */
    run_start *starts;
    size_t n_starts, cap_starts;
    stretch *todo;
    size_t n_todo, cap_todo;
    uint32_t *cut;    /* [n_order + 1]: values that live across the place before a position */
    unsigned n_parts; /* named so far */
    bool in_crowd;    /* of units side by side (hierarchy_crowd.c) */
    bool moved;       /* scopes have other parents than before */
} hierarchy_work;

/* A period: [first, first + period * repeats) of a stretch. */
typedef struct repeat {
    uint32_t first, period, repeats;
} repeat;

/** What the work needs for h->g as it is; deinit frees it. */
void hierarchy_work_init(hierarchy_work *h);
void hierarchy_work_deinit(hierarchy_work *h);
/** Parts the nodes of one scope, in the order of the input. Errors: CANCELLED. */
marey_status hierarchy_part(hierarchy_work *h, uint32_t scope, const uint32_t *nodes, size_t n);
/** Parts what lies in the one scope that holds nearly everything, where that is much; whole scopes move. Parents come
 *  before children. Errors: CANCELLED. */
marey_status hierarchy_crowd(hierarchy_work *h);
uint32_t hierarchy_scope(hierarchy_work *h, uint32_t parent, const char *name, size_t n);
/** Values that live across each place of a stretch, summed over its runs, into h->cut[0 .. n]. Values that more than
 *  eight take (masks, rotary tables) do not count. */
void hierarchy_cut_profile(hierarchy_work *h, const stretch *s);
/** The repetition that covers most of a stretch; false: none of three repeats and more. h->cut holds its profile. */
bool hierarchy_find_repeat(const hierarchy_work *h, const stretch *s, repeat *r);
/** Scopes by the names of the weights that operators take. @return whether there were such */
bool hierarchy_by_weights(hierarchy_work *h, uint32_t scope);
/** Numbered siblings among the stated scopes that take turns (a, b, a, b, ...) get a scope for each turn. */
void hierarchy_take_turns(hierarchy_work *h, size_t n_scopes);

#endif
