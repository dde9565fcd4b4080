/* Inside the room: what visible_create() has in hand while it works. Edges are joined to *bundles* (from item, to
 * item); the way of a bundle is a chain of *segments*; equal segments are one line. */
#ifndef MAREY_GRAPH_VISIBLE_BUILD_H
#define MAREY_GRAPH_VISIBLE_BUILD_H

#include "graph/state.h"
#include "graph/visible.h"
#include "graph/visible_edges.h"

enum { LINE_DATA = 128 }; /* inside only: some edge carries data */

typedef struct bundle {
    uint32_t from, to; /* items */
    uint32_t n_edges;
    uint32_t n_implied;
    uint64_t bytes;
    uint32_t lo, hi; /* its segments lo .. hi are drawn: what lies further in than a cut one is not */
    uint8_t flags;
    bool revealed, cut_across;
} bundle;

/* The way of a bundle: up through out-ports, across, down through in-ports. Where one end lies inside the other there
 * is no line across. */
typedef struct way {
    uint32_t (*segment)[2]; /* from, to: n_up from the inside out, then across, then n_down from the outside in */
    uint32_t cap, n_up, n_across, n_down;
} way;

typedef struct vis_build {
    const graph_plan *p;
    const graph_state *s;
    cancel_flag *cancel;
    visible *v;
    const visible_edges *edges;
    uint32_t *opened; /* elements whose children, or some further inside, are items */
    size_t n_opened, cap_opened;
    struct split *splits; /* runs of edges that are still to be looked into */
    size_t n_splits, cap_splits;
    uint32_t *depth; /* [n_items] */
    bundle *bundles; /* ascending by (from, to) */
    size_t n_bundles;
    uint64_t *first_segment; /* [n_bundles + 1] */
    uint32_t *segment_line;  /* place in v->lines */
    uint32_t *line_first;    /* [n_items + 1] lines of an open module */
    way w;
} vis_build;

static inline uint32_t way_length(const way *w)
{
    return w->n_up + w->n_across + w->n_down;
}
/** Whether to give up: asked now and then. */
static inline bool build_stops(const vis_build *b, size_t i)
{
    return (i & 0x3fff) == 0 && is_cancelled(b->cancel);
}
/** Places 0 .. n in the order of key[] (below n_keys); stable. `order` in and out; `scratch` as long, `count` has
 *  n_keys + 2 places. Ends early when cancelled. */
void visible_sort(const vis_build *b, uint32_t *order, uint32_t *scratch, size_t n, const uint32_t *key,
                  uint32_t *count, size_t n_keys);
/** The way between two different items. `depth` of items; parents as in v. */
void way_find(way *w, const visible *v, const uint32_t *depth, uint32_t from, uint32_t to);
/** The item that shows an element: its own, or that of what is around it. */
static inline uint32_t visible_item_of(const visible *v, const graph_plan *p, uint32_t element)
{
    while (v->item_of[element] == GRAPH_NONE) {
        element = p->elements[element].parent;
    }
    return v->item_of[element];
}
/** The item that shows an element or what is inside it. */
uint32_t *visible_show(const visible *v, const graph_plan *p);
uint32_t *visible_depth(const visible *v);
bool visible_is_revealed(const visible *v, const graph_state *s, uint32_t from, uint32_t to);

/* visible_lines.c */
marey_status build_bundles(vis_build *b);
marey_status build_lines(vis_build *b);
/** Lines as they are left after cutting, stubs, and the account. */
marey_status build_result(vis_build *b);
/* visible_back.c: LINE_BACK where the plan says so, and wherever a cycle is left. */
marey_status build_back(vis_build *b);
/* visible_prune.c: sets lo and hi of bundles */
marey_status build_cuts(vis_build *b);

#endif
