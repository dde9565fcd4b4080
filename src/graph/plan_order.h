/*
 * The order of a module's children: topological where they have no cycle; inside a strongly connected component by the
 * heuristic of Eades, Lin and Smyth (1993) with weights. Internal to plan*.c.
 */
#ifndef MAREY_GRAPH_PLAN_ORDER_H
#define MAREY_GRAPH_PLAN_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/thread.h"

typedef struct order_arc {
    uint32_t from, to; /* 0 .. n - 1; equal ends are ignored */
    uint32_t weight;
} order_arc;

/** @param place  [n] out: 0 .. n - 1, all different; arcs against it are those to reverse
 *  @param component  [n] out, or NULL: strongly connected components
 *  @return whether there is a cycle. O(n + m log m). Deterministic.
 *  @param cancel  may be NULL; when it is set, the order means nothing, and the caller gives up */
bool order_children(size_t n, const order_arc *arcs, size_t m, uint32_t *place, uint32_t *component,
                    cancel_flag *cancel);

#endif
