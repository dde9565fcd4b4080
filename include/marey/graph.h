/* The computational graph in a file. */
#ifndef MAREY_GRAPH_H
#define MAREY_GRAPH_H

#include <marey/tracefile.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct marey_graph_info {
    uint64_t n_nodes; /* operators, as the input has them */
    uint64_t n_edges; /* from an output to an input */
    uint64_t n_scopes;
} marey_graph_info;

/** Reads all of the graph. Errors: FORMAT (also when there is none: see marey_run_info.has_graph), IO. */
MAREY_API marey_status marey_file_graph(marey_file *f, marey_graph_info *out, char *message, size_t cap);

#ifdef __cplusplus
}
#endif

#endif
