/* What the files that join a graph to a run share while they do it. */
#ifndef MAREY_SCENE_GRAPH_JOINING_H
#define MAREY_SCENE_GRAPH_JOINING_H

#include "scene/graph_join.h"

typedef struct joining {
    store_file *file;
    const graph *g;
    graph_join *j;
    cancel_flag *cancel;
    uint8_t *has_device; /* [n_nodes] an event on a device was seen */
} joining;

/** Events by number, and what they launched on devices: j->rows. */
void graph_join_numbers(joining *w);

#endif
