/* Strongly connected components (Tarjan 1972), iterative. O(V + E). Internal to the room. */
#ifndef MAREY_GRAPH_SCC_H
#define MAREY_GRAPH_SCC_H

#include <stddef.h>
#include <stdint.h>

#include "base/thread.h"

/**
 * @param first  [n + 1] arcs of vertex v are to[first[v]] .. to[first[v + 1]]
 * @param component  [n] out: 0, 1, ... in reverse topological order of the components
 * @param cancel  may be NULL; when it is set, every vertex is one of its own, and the caller gives up
 * @return how many components
 */
size_t scc_components(size_t n, const uint32_t *first, const uint32_t *to, uint32_t *component, cancel_flag *cancel);

#endif
