/* What `marey info` prints for people. Thread: the main thread. */
#ifndef MAREY_APP_INFO_H
#define MAREY_APP_INFO_H

#include <stddef.h>

#include "store/store.h"

/** To standard output. */
void info_print(store_file *f);

/** Steps of the run: those of several ranks with one number are one. */
size_t info_distinct_steps(const trace_model *m);

/* What is said of a run's computational graph; counts of the input's rows. */
typedef struct graph_summary {
    char format[32];
    uint64_t nodes, edges, control_edges, scopes;
} graph_summary;
/** @return false where the file holds none, or none that can be read */
bool info_graph(store_file *f, graph_summary *out);

#endif
