/*
 * What the search field finds in a graph: modules by name, operators by name or type, and by shapes and attributes.
 * Letters' case does not matter (ASCII). Each distinct text is looked at once, however many nodes carry it.
 *
 * Thread: any. Owner: the caller (graph_found_free).
 */
#ifndef MAREY_APP_GRAPH_FIND_H
#define MAREY_APP_GRAPH_FIND_H

#include "base/thread.h"
#include "graph/model.h"

/* Where the text was found; also the order of hits. */
typedef enum graph_found_by { FOUND_SCOPE, FOUND_NAME, FOUND_OPERATOR, FOUND_SHAPE, FOUND_ATTRIBUTE } graph_found_by;

typedef struct graph_found_hit {
    uint32_t id; /* node; of FOUND_SCOPE: scope */
    uint8_t by;
} graph_found_hit;

enum { GRAPH_FIND_MAX = 100000 };

typedef struct graph_found {
    graph_found_hit *items;
    size_t n, cap;
    bool is_cut; /* there are more */
} graph_found;

/** An empty text finds nothing. Cost: O(texts + nodes + attributes). */
void graph_find(const graph *g, const char *text, cancel_flag *cancel, graph_found *out);
void graph_found_free(graph_found *f);

#endif
