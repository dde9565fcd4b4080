/* bench_graph --toggle, --million and --cancel. */
#ifndef MAREY_BENCH_GRAPH_TOGGLE_H
#define MAREY_BENCH_GRAPH_TOGGLE_H

#include <stdint.h>

/** Each shape of graph_shapes.h with 2 000 children, then modules of files: opened, closed and opened again. */
void bench_toggles(int n_files, char **files);
/** Toggles inside a graph of about `operators`: from the first view, with hundreds of modules open, with all open. */
void bench_toggles_inside(uint32_t operators);
/** How long plan, visible and layout take to answer a cancel flag. */
void bench_cancel(uint32_t operators);

#endif
