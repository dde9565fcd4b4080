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
/** Events by module, type and order, and what they launched: j->rows. Where there are none yet. */
void graph_join_places(joining *w);
/** The pipeline stage of each rank of the run: by the graph's list of ranks, else as the run says; -1: unknown. The
 *  caller's to free. */
int32_t *graph_join_stages(const graph *g, const trace_model *m);

#endif
