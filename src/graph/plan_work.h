/*
 * What the steps of a plan share while it is made: shared by plan*.c only.
 *
 * Leaves are numbered by their first place in the tree (depth first). The tree's nodes are made parents before
 * children and never move; a module's leaves are the positions [lo, hi) of `at`. Edges between leaves lie grouped by
 * consumer (in_first); `perm` groups them by the module whose children they join: [arc_lo, arc_hi) of its tree node,
 * with the children at both ends in arc_from and arc_to.
 */
#ifndef MAREY_GRAPH_PLAN_WORK_H
#define MAREY_GRAPH_PLAN_WORK_H

#include "base/mem.h"
#include "graph/plan.h"

enum {
    PLAN_MAX_DEPTH = 200, /* deeper modules are opened into the one at this depth */
    PLAN_MAX_LABEL = 160, /* bytes of a joined label */
    PLAN_MAX_PARTS = 3,
    PLAN_MIN_MODULES = 2, /* members of a stack */
    PLAN_MIN_LEAVES = 5,
    TREE_DEAD = 255 /* kind of a module that was split: nothing refers to it */
};

/* Most nodes are leaves: what these have not is in a table of its own. */
typedef struct tree_node {
    uint32_t parent, next;
    uint32_t lo;    /* of a leaf: its position */
    uint32_t label; /* where it begins in work.labels */
    uint32_t local; /* place among its siblings while their module is worked on */
    union {
        uint32_t leaf;  /* number of a leaf */
        uint32_t inner; /* all others: place in work.inner */
    };
    uint8_t kind; /* element_kind */
} tree_node;

typedef struct tree_inner {
    uint32_t first_child, n_children;
    uint32_t scope; /* of a module; the root has 0; of a stack: GRAPH_NONE */
    uint32_t hi;
    uint32_t arc_lo, arc_hi;
    uint32_t family; /* of a stack */
    uint8_t part, n_parts;
} tree_inner;

/* Labels behind each other, each with its end; what came a short while ago is not put again. */
typedef struct plan_labels_text {
    char *text;
    size_t n, cap;
    uint32_t *recent; /* where they begin, + 1, by a hash of their ends */
} plan_labels_text;

typedef struct plan_work {
    const graph *g;
    plan_options o;
    graph_plan *p; /* families, members, map (of leaves), back arcs (of tree nodes), counts go there */

    uint32_t *into;    /* [n_nodes]: node that shows it; itself: a leaf; GRAPH_NONE: each of its consumers does */
    uint32_t *folded;  /* [n_nodes]: next node of the same leaf; list from the leaf's own */
    uint16_t *ordinal; /* [n_nodes]: place in that list */
    uint32_t *leaf_of; /* [n_nodes]: leaf that shows it, or GRAPH_NONE */
    uint32_t *calls;   /* nodes that their modules stand for; in the lists of the first leaves inside until the end */
    size_t n_calls, cap_calls;
    uint32_t n_leaves;
    uint32_t *leaf_node; /* [n_leaves] */
    uint32_t *leaf_tree; /* [n_leaves] */
    uint32_t *at;        /* [n_leaves] */

    tree_node *tree;
    size_t n_tree, cap_tree;
    tree_inner *inner;
    size_t n_inner, cap_inner;
    plan_labels_text labels;
    strbuf scratch;

    size_t n_edges;
    uint32_t *in_first;  /* [n_leaves + 1] */
    uint32_t *edge_from; /* leaf */
    uint32_t *edge_to;
    uint64_t *edge_label; /* folded places and slots of both ends; the low bits 0xFFFF: control */
    uint32_t *perm, *arc_from, *arc_to;
    uint32_t *rank;   /* [n_leaves]: topological, cycles broken in the order of the input; NULL until asked for */
    uint32_t *ranked; /* [n_leaves]: leaves by rank */

    uint64_t *label;      /* [n_leaves]: what an operator is, at the level that may stack */
    uint64_t *called;     /* [n_tree]: the calls that a module stands for; NULL: there are none */
    uint64_t *kin;        /* [n_leaves]: operator types around it */
    uint64_t *colour;     /* [n_tree]: among its siblings */
    uint64_t (*sign)[2];  /* [n_inner] signatures of modules */
    uint64_t (*loose)[2]; /* [n_tree]: multiset of types: of the forward part, of all */
    uint32_t *where;      /* [n_leaves]: position in at */
    uint64_t match_work;  /* spent on refinement: bounded */
    size_t cap_members, cap_families, cap_map, cap_back;
} plan_work;

static inline bool edge_is_control(uint64_t label)
{
    return (label & 0xFFFF) == 0xFFFF;
}
/** Signature of a module. */
static inline const uint64_t *plan_sign(const plan_work *w, uint32_t t)
{
    return w->sign[w->tree[t].inner];
}
/** What is no leaf has it. Moves when a node is added. */
static inline tree_inner *plan_inner(const plan_work *w, uint32_t t)
{
    return &w->inner[w->tree[t].inner];
}
/** Behind the last position of a node's leaves. */
static inline uint32_t plan_hi(const plan_work *w, uint32_t t)
{
    return w->tree[t].kind == ELEMENT_LEAF ? w->tree[t].lo + 1 : plan_inner(w, t)->hi;
}
static inline uint32_t plan_size(const plan_work *w, uint32_t t)
{
    return plan_hi(w, t) - w->tree[t].lo;
}
static inline uint64_t mix64(uint64_t a, uint64_t b)
{
    uint64_t x = a * 0x9e3779b97f4a7c15U ^ (b + 0x632be59bd9b4e019U);
    x ^= x >> 29;
    x *= 0xbf58476d1ce4e5b9U;
    x ^= x >> 32;
    x *= 0x94d049bb133111ebU;
    return x ^ (x >> 29);
}
static inline bool plan_stop(const plan_work *w, size_t i)
{
    return (i & 0x3FFF) == 0 && is_cancelled(w->o.cancel);
}

/* plan_fold.c */
marey_status plan_fold(plan_work *w);
marey_status plan_fold_edges(plan_work *w);
/* plan_label.c */
/** @return where it begins in w->labels.text; that of the root for what is beyond 4 GiB */
uint32_t plan_add_label(plan_work *w, const char *s, size_t n);
/* plan_tree.c */
marey_status plan_tree(plan_work *w);
uint32_t plan_add_tree(plan_work *w, uint32_t parent, element_kind kind);
/** The outermost module (else leaf) inside the scope of one of w->calls: it stands for it. */
uint32_t plan_call_tree(const plan_work *w, uint32_t node);
/* plan_rank.c */
void plan_need_ranks(plan_work *w);
/** Leaves of a module by rank; the caller frees. Ranks have been asked for. */
uint32_t *plan_leaves_by_rank(const plan_work *w, uint32_t module);
/* plan_cycles.c */
marey_status plan_cycles(plan_work *w);
/* plan_signature.c */
void plan_labels(plan_work *w);
marey_status plan_signatures(plan_work *w);
/* plan_match.c */
/** Are two modules or leaves isomorphic? `order`: [leaves of a] out, for the i-th leaf of `a` (by position) the place
 *  among the positions of `b` of its counterpart. `*level`: the strictest that holds, lowered only. */
bool plan_match(plan_work *w, uint32_t a, uint32_t b, uint32_t *order, graph_strictness *level);
/* plan_refine.c */
/** An order to try, by colours refined on the leaves of both and individualised where they tie; false: none. */
bool plan_refine(plan_work *w, uint32_t a, uint32_t b, uint32_t *order);
/* plan_stack.c */
marey_status plan_stack(plan_work *w);
/* plan_back.c */
marey_status plan_back_arcs(plan_work *w);
/* plan_freeze.c */
marey_status plan_freeze(plan_work *w);

#endif
