/* Inside the room: how a state reads. An open stack shows the inside of its chosen member in its own frame: the member
 * has no box of its own, unless it is an operator. */
#ifndef MAREY_GRAPH_STATE_H
#define MAREY_GRAPH_STATE_H

#include "graph/visible.h"

/* Elements shown right inside another: consecutive ids. */
typedef struct shown_children {
    uint32_t first, n;
} shown_children;

/** The element that an open stack shows. */
uint32_t state_member(const graph_state *s, const graph_plan *p, uint32_t stack);
bool state_is_open(const graph_state *s, const graph_plan *p, uint32_t element);
bool state_is_dissolved(const graph_state *s, const graph_plan *p, uint32_t element);
/** None where the element is closed. */
shown_children state_children(const graph_state *s, const graph_plan *p, uint32_t element);

#endif
