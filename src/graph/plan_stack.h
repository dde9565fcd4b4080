/* The module whose children are being stacked: shared by plan_stack.c and plan_family.c. */
#ifndef MAREY_GRAPH_PLAN_STACK_H
#define MAREY_GRAPH_PLAN_STACK_H

#include "graph/plan_work.h"

typedef struct stack_key {
    uint64_t key[2];
    uint32_t local; /* child */
} stack_key;

typedef struct stack_work {
    plan_work *w;
    uint32_t module;
    size_t n; /* children */
    uint32_t *child;
    size_t cap_child;
    uint32_t *stack_of;           /* by child: its stack's tree node; GRAPH_NONE */
    uint32_t *place;              /* by child: topological */
    uint32_t *by_place;           /* children by it */
    uint32_t *in_first, *in_from; /* arcs between children, [n + 2] and [m] */
    uint32_t *out_first, *out_to;
    uint32_t *mark;   /* by child: the group that it is asked about */
    int32_t *reentry; /* by child, of the window at hand */
    uint32_t *joined; /* by child: union-find */
    size_t cap_n, cap_m;
    uint32_t n_marks;
    uint64_t budget; /* of windows */
    stack_key *keys; /* groups */
    size_t n_keys, cap_keys;
    uint32_t *order; /* scratch of mappings */
    size_t cap_order;
    size_t n_stacked; /* elements that went into stacks, over all modules */
} stack_work;

/** Candidates of one form, ascending by place: verified, each family stacked. */
void stack_family(stack_work *s, const uint32_t *members, size_t n, size_t least, stack_form form);

#endif
