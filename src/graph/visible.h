/*
 * What is on the page: which elements of a plan are shown, given what is open, and by which lines. Counts every edge of
 * the input exactly once: drawn (a line of its own), bundled (shares a line), stubbed (ends in port stubs), folded
 * (both ends inside one visible element, or a parameter inside its consumer): drawn + bundled + stubbed + folded = all.
 *
 * A stack is closed (one box, xN), open (its frame holds the inside of its chosen member, which has no box of its own,
 * or the member itself where that is an operator), or dissolved (its members are its children like any module's). An
 * operator of a member that is not shown is shown by the stack.
 *
 * Stubs (only with STEP_PRUNE; the rules and numbers are in docs/graph.md): a line that is *cut* is not drawn, the
 * lines further out on the way stay, and the edge hangs as a stub at the end that is cut off. Cut are lines that enter
 * or leave an open top-level module for another one, except the main chain; and lines of hubs that skip layers. Never
 * one that alone connects what it joins: what is connected inside a module stays connected.
 *
 * Thread: one at a time; results may be read by any. Bounded, iterative, cancellable.
 */
#ifndef MAREY_GRAPH_VISIBLE_H
#define MAREY_GRAPH_VISIBLE_H

#include "graph/plan.h"

/* What is open. Plain data: copied to a worker, written to a view file. */
typedef struct graph_state {
    size_t n;         /* plan.n_elements */
    uint8_t *open;    /* [n]: STATE_* */
    uint32_t *member; /* [n_families]: the member a stack shows */
    size_t n_families;
    uint32_t revealed; /* an element whose stubs are drawn as lines; GRAPH_NONE */
    bool flat;         /* no frames: what is closed, and open stacks, stand side by side in the root, in the order of
                          execution (for layout_options.by_stage) */
} graph_state;
enum {
    STATE_CLOSED = 0,
    STATE_OPEN = 1,
    STATE_DISSOLVED = 2 /* stacks only */,
    STATE_REVEALED = 4 /* its stubs are drawn */
};

void graph_state_init(graph_state *s, const graph_plan *p);
void graph_state_copy(graph_state *to, const graph_state *from);
void graph_state_deinit(graph_state *s);
/** The first view: the root open, then what holds most operators, breadth first, while at most `budget` elements
 *  are visible (40 is right for a window). What is alone on the page opens whatever the budget; where fewer than eight
 *  closed boxes would be seen, the largest opens beyond it (up to four times). Deterministic. */
void graph_state_default(graph_state *s, const graph_plan *p, size_t budget);
/** Open, beyond what is, every module that holds operators of several pipeline stages: an element stands in one lane.
 */
void graph_state_part_stages(graph_state *s, const graph_plan *p);
/** Everything open; stacks dissolved or (exemplars_only) open at their first member. */
void graph_state_expand_all(graph_state *s, const graph_plan *p, bool exemplars_only);
/** Open `n` closed modules or stacks among the visible ones, by the seed. @return how many were opened */
size_t graph_state_expand_random(graph_state *s, const graph_plan *p, size_t n, uint64_t seed);
/** Open all that hides an element (the member of a stack that holds it is chosen). A module whose only child is a
 *  module opens that as well. */
void graph_state_reveal(graph_state *s, const graph_plan *p, uint32_t element);
void graph_state_toggle(graph_state *s, const graph_plan *p, uint32_t element); /* a dissolved stack closes */
void graph_state_dissolve(graph_state *s, const graph_plan *p, uint32_t stack);
/** The visible element that shows a leaf. */
uint32_t graph_state_shown_by(const graph_state *s, const graph_plan *p, uint32_t leaf);

enum {
    LINE_CONTROL = 1,  /* only order, no data */
    LINE_BACK = 2,     /* against the order: dashed, round the outside */
    LINE_COMM = 4,     /* from or to a collective, send or receive */
    LINE_REVEALED = 8, /* would be a stub */
    LINE_P2P = 16
};
/* Between two children of one open module, or between a child and the module's own side (`from` or `to` is the module
 * itself: in-port at its start, out-port at its end). An edge between different open modules is a chain of lines:
 * up through out-ports to the common ancestor, across, down through in-ports; lines are shared (trunks). */
typedef struct visible_line {
    uint32_t module;   /* place in visible.items of the module whose inside it crosses */
    uint32_t from, to; /* places in visible.items */
    uint32_t n_edges;  /* rows of the graph that run through it, implied ones too */
    uint64_t bytes;    /* sum of the tensors' */
    uint8_t flags;
} visible_line;

/* One end of a stubbed bundle, at a visible element. */
typedef struct visible_stub {
    uint32_t item; /* where it hangs */
    uint32_t peer; /* element (of the plan) at the other end: the visible one */
    uint32_t n_edges;
    uint64_t bytes;
    bool is_input; /* of the item */
} visible_stub;

typedef struct visible_item {
    uint32_t element;
    uint32_t parent;      /* place of the open module around it; of the root: itself */
    uint32_t first_child; /* places: consecutive; open modules only */
    uint32_t n_children;  /* 0: closed, or a leaf */
} visible_item;

typedef struct visible {
    visible_item *items; /* [0] is the root; parents before children */
    size_t n_items;
    uint32_t *item_of;   /* [plan.n_elements] place of a shown element, else GRAPH_NONE */
    visible_line *lines; /* ascending by (module, from, to) */
    size_t n_lines;
    visible_stub *stubs; /* ascending by (item, is_input, peer) */
    size_t n_stubs;
    size_t n_drawn, n_bundled, n_stubbed, n_folded; /* edges of the input */
    size_t n_back;                                  /* lines with LINE_BACK */
    size_t n_expanded;                              /* open modules and stacks, without the root */
    size_t n_shown;                                 /* items without the root */
} visible;

/** Errors: CANCELLED. Cost: O(E depth + what is visible). */
marey_status visible_create(visible **out, const graph_plan *p, const graph_state *s, cancel_flag *cancel);
void visible_destroy(visible **v);
/** Which line or stub shows an edge of the input: for "follow this edge". */
typedef enum edge_fate { EDGE_DRAWN, EDGE_BUNDLED, EDGE_STUBBED, EDGE_FOLDED } edge_fate;
edge_fate visible_edge_fate(const visible *v, const graph_plan *p, const graph_state *s, uint32_t edge);
/** @return NULL, or a sentence: the sums, the order of lines, acyclic without LINE_BACK in every module */
const char *visible_check(const visible *v, const graph_plan *p, const graph_state *s);

#endif
