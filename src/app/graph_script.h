/*
 * What `marey bench --script graph` shows: the whole graph, one of its elements, and back, as a steady hand on the
 * wheel does it. Deterministic: the same graph, seed and number of frames give the same views. Thread: the main thread.
 */
#ifndef MAREY_APP_GRAPH_SCRIPT_H
#define MAREY_APP_GRAPH_SCRIPT_H

#include "app/session.h"

typedef struct graph_script {
    graph_camera wide, narrow;
} graph_script;

/** Choose one visible element by the seed, after the first complete frame of the graph layout. Errors: STATE (there is
 *  no graph). */
marey_status graph_script_choose(graph_script *g, session *s, uint64_t seed, diag *d);
void graph_script_view(const graph_script *g, session *s, uint64_t i, uint64_t n);

#endif
