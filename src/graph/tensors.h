/*
 * What outputs put out, each kind once: a type's text with its bytes. A graph has millions of outputs and few kinds.
 * Becomes graph.tensors. Owner: the caller. Thread: one.
 */
#ifndef MAREY_GRAPH_TENSORS_H
#define MAREY_GRAPH_TENSORS_H

#include "graph/model.h"

typedef struct tensor_table {
    graph_tensor *rows;
    size_t n, cap;
    uint32_t *slots; /* place + 1; 0 is empty */
    size_t n_slots;  /* power of two */
} tensor_table;

/** @return its place in rows; as many as there are outputs at most */
uint32_t tensor_table_put(tensor_table *t, uint32_t type, uint64_t bytes);
/** The rows, for graph.tensors; the table is empty afterwards. */
graph_tensor *tensor_table_take(tensor_table *t, size_t *n);
void tensor_table_deinit(tensor_table *t);

#endif
