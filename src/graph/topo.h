/* Topological ranks, cycles cut against a given order. Internal to the room. */
#ifndef MAREY_GRAPH_TOPO_H
#define MAREY_GRAPH_TOPO_H

#include <stddef.h>
#include <stdint.h>

#include "base/thread.h"

/** Smallest key first among the vertices that may come (Kahn 1962); inside a strongly connected component arcs count
 *  only from smaller to larger keys. O((V + E) log V), iterative.
 *  @param key  [n], all different; `ranked` [n] out: vertices in order; `rank` [n] out: its inverse
 *  @param cancel  may be NULL; when it is set, ranks are the given order, and the caller gives up */
void topo_ranks(size_t n, size_t m, const uint32_t *from, const uint32_t *to, const uint32_t *key, uint32_t *rank,
                uint32_t *ranked, cancel_flag *cancel);

#endif
