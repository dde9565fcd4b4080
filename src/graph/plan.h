/*
 * The plan: a graph simplified, whatever is open or closed. A tree of *elements*: the root, modules (scopes after
 * chains were joined and cycles split), stacks of isomorphic siblings, and leaves (operators). Simplification never
 * deletes: a node that is not an element of its own is *folded* into one, and every edge stays countable.
 *
 * Steps, in this order, each with its switch (graph-view 1 to 4; Pan et al. 2022, arXiv 2212.10774):
 *  parameters   parameters, constants and inputs without producers (or with such alone) go into each of their consumers
 *  bookkeeping  operators that compute nothing (GRAPH_CLASS_BOOKKEEPING) are contracted into their one producer or
 *               their one consumer, only where they have at most one input or at most one output: never k x m edges
 *  chains       a scope whose only child is a scope, or one operator, becomes one element with it: "a/b"; so does a
 *               call that lies in its own body and has no edges: the module stands for it
 *  cycles       of the quotient graph of each module: re-entry splitting into at most 3 convex parts ("part 1 of 2"),
 *               then weighted feedback arcs by Eades, Lin, Smyth; marked, never deleted
 *  prune        edges between different top-level modules end in port stubs, hubs by degree and span likewise, bridges
 *               never (decided per view: graph/visible.h)
 *  stack        equal siblings of one pipeline stage, in series or in parallel; told by Weisfeiler-Leman signatures,
 * verified by a mapping
 *
 * Bounded and iterative throughout. Owner: the caller. Thread: one makes it, any reads it.
 */
#ifndef MAREY_GRAPH_PLAN_H
#define MAREY_GRAPH_PLAN_H

#include "base/diag.h"
#include "base/text.h"
#include "base/thread.h"
#include "graph/model.h"

typedef enum graph_step {
    STEP_PARAMETERS,
    STEP_BOOKKEEPING,
    STEP_CHAINS,
    STEP_CYCLES,
    STEP_PRUNE,
    STEP_STACK,
    GRAPH_STEP_COUNT
} graph_step;
const char *graph_step_name(graph_step s);

/* How alike the members of a stack are. */
typedef enum graph_strictness {
    STRICT_EXACT,      /* attributes, types, shapes, wiring with slots */
    STRICT_SHAPE_FREE, /* without shapes and values of attributes */
    STRICT_STRUCTURAL, /* operator types and wiring */
    STRICT_LOOSE,      /* multiset of operator types of the forward part: members may be wired differently */
    GRAPH_STRICTNESS_COUNT
} graph_strictness;
const char *graph_strictness_name(graph_strictness s); /* "exact", "shape-free", "structural", "loose" */

typedef struct plan_options {
    bool steps[GRAPH_STEP_COUNT]; /* on or off */
    graph_strictness strictness;  /* the loosest that may stack */
    cancel_flag *cancel;          /* may be NULL */
} plan_options;
/** All steps on, STRICT_STRUCTURAL. */
void plan_options_init(plan_options *o);

typedef enum element_kind { ELEMENT_ROOT, ELEMENT_MODULE, ELEMENT_STACK, ELEMENT_LEAF } element_kind;

typedef struct plan_element {
    uint32_t parent;      /* of the root: itself */
    uint32_t first_child; /* children are consecutive ids: first_child .. first_child + n_children, in the order of the
                             input; parents before children */
    uint32_t n_children;
    uint32_t node;         /* leaf: the operator it stands for; else GRAPH_NONE */
    uint32_t scope;        /* module: its (innermost) scope; else GRAPH_NONE */
    uint32_t label;        /* into plan.text */
    uint32_t n_nodes;      /* nodes of the input inside (implied ones not counted), folded ones included */
    uint32_t n_leaves;     /* leaf elements inside */
    uint32_t family;       /* member or stack of this family; GRAPH_NONE */
    uint32_t member;       /* its place in the family */
    uint8_t kind;          /* element_kind */
    uint8_t part, n_parts; /* of a split module: 1.. of ..; 0 of 0: whole */
    uint8_t klass;         /* graph_class: of a leaf; of others the class of most of its operators */
    uint8_t phase;         /* graph_phase: likewise */
    uint8_t depth;         /* saturates */
} plan_element;

typedef enum stack_form { STACK_SERIES, STACK_PARALLEL } stack_form;

/* Elements that were verified to be isomorphic. Row m of `map` lists the leaves of member m in canonical order, so the
 * i-th entries of all rows are the same operator. */
typedef struct plan_family {
    uint64_t signature[2];
    uint32_t first_member; /* into plan.members */
    uint32_t n_members;
    uint32_t size;      /* leaves of a member */
    uint64_t first_map; /* into plan.map: n_members * size entries; UINT64_MAX: loose, no mapping */
    uint32_t stack;     /* the stack element; GRAPH_NONE: equal but not stacked */
    uint8_t level;      /* graph_strictness: the strictest that holds */
    uint8_t form;       /* stack_form */
} plan_family;

/* What one step did, with everything opened; of the input's rows only. */
typedef struct plan_step_count {
    bool on;
    size_t nodes_before, nodes_after; /* elements: leaves, and modules as far as they exist */
    size_t edges_before, edges_after;
    size_t n_done; /* folded, bypassed, joined, split or reversed, stubbed (0: depends on the view), stacked */
} plan_step_count;

typedef struct graph_plan {
    const graph *g;
    plan_options options;
    char *text;
    size_t n_text;
    plan_element *elements;
    size_t n_elements;
    uint32_t
        *element_of;      /* [n_nodes]: the leaf that shows the node: its own, or that it is folded into; of a call that
                             its module stands for: the module; GRAPH_NONE: a parameter shown by each of its consumers */
    uint32_t (*calls)[2]; /* (element, node), ascending: calls without edges that lie in their own body */
    size_t n_calls;
    plan_family *families;
    size_t n_families;
    uint32_t *members;
    uint32_t *map;
    size_t n_members;
    uint64_t n_map;
    /* Bundled arcs (from element, to element: siblings) against the order of the drawing, sorted by (from, to). */
    uint32_t (*back_arcs)[2];
    size_t n_back_arcs;
    plan_step_count steps[GRAPH_STEP_COUNT];
    struct visible_edges *edges; /* by where their ends part; NULL (a plan made by hand): found each time they are wanted */
    double seconds;
} graph_plan;

/** Errors: CANCELLED. Cost: O((V + E) depth). `g` must outlive the plan. */
marey_status graph_plan_create(graph_plan **out, const graph *g, const plan_options *options, diag *d);
void graph_plan_destroy(graph_plan **p);
static inline const char *plan_label(const graph_plan *p, uint32_t element)
{
    return p->text + p->elements[element].label;
}
/** Path of an element's labels below the root, joined by '/'. */
void plan_path(const graph_plan *p, uint32_t element, strbuf *out);
/** The child of `ancestor` that holds `element`; GRAPH_NONE when it is not inside. O(depth). */
uint32_t plan_child_towards(const graph_plan *p, uint32_t ancestor, uint32_t element);
uint32_t plan_common_ancestor(const graph_plan *p, uint32_t a, uint32_t b);
bool plan_is_back_arc(const graph_plan *p, uint32_t from, uint32_t to);
/** The same operator in member `to` of the family: through the mapping. GRAPH_NONE: not a leaf of it. */
uint32_t plan_counterpart(const graph_plan *p, uint32_t family, uint32_t leaf, uint32_t to_member);
/** How a member differs from the first one, in words ("mlp/MatMul: shape f16[1,8] not f16[1,4]; 2 more"); nothing is
 *  added when it does not. Work is bounded by the family's size. */
void plan_difference(const graph_plan *p, uint32_t family, uint32_t member, strbuf *out);
/** Nodes that are folded into a leaf, its own first, or the calls that a module stands for; up to cap.
 *  @return how many there are */
size_t plan_folded_nodes(const graph_plan *p, uint32_t element, uint32_t *nodes, size_t cap);
/** @return NULL, or a sentence that names the first breach */
const char *graph_plan_check(const graph_plan *p);

#endif
