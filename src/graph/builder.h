/*
 * The graph builder: what a graph reader pushes into. It knows no format.
 *
 * Edges are pushed by node id, or by the names of values: graph_builder_define() says who makes a value,
 * graph_builder_use() who takes it, in any order; names live in *spaces* that nest (an ONNX If body sees the values of
 * the graph around it), and are joined in graph_builder_finish(). A value that nobody makes, or that two make, is a
 * loss that is counted (DANGLING, DUPLICATE_NAME), never a failure.
 *
 * Names with a path: graph_builder_path() makes the scopes of "a/b/c". Where no scopes were given at all, finish infers
 * them when asked to (graph/hierarchy.c).
 *
 * Bounds: 2^31 nodes and edges, strings of 64 KiB (cut, counted), scopes 64 deep below a path (deeper parts are joined
 * into the last, counted). Memory grows with what is pushed. Owner: the caller. Thread: one.
 */
#ifndef MAREY_GRAPH_BUILDER_H
#define MAREY_GRAPH_BUILDER_H

#include "base/diag.h"
#include "base/thread.h"
#include "graph/model.h"

typedef struct graph_node_in {
    const char *name, *op; /* not NULL; need not be terminated */
    size_t n_name, n_op;
    uint32_t scope; /* 0: root */
    int64_t key;    /* -1 */
    int32_t stage;  /* as the input counts: graph_builder_stage() has been told; -1 */
    graph_role role;
    graph_phase phase;
    uint8_t flags; /* GRAPH_IMPLIED, GRAPH_CALL, GRAPH_REDISTRIBUTION, GRAPH_GRADIENT_AGGREGATION */
} graph_node_in;

typedef struct graph_builder graph_builder;

graph_builder *graph_builder_create(diag *d, uint32_t file);
void graph_builder_destroy(graph_builder **b);

/** Facts; any order, the last one counts. `format` as in graph.format. */
void graph_builder_facts(graph_builder *b, const char *format, const char *name, const char *producer);
/** Several inputs in one graph: the root of what follows is this scope, and losses are those of `file`. */
void graph_builder_begin_input(graph_builder *b, uint32_t root, uint32_t file);
/** The root as it is now, for inputs that hold several graphs. */
uint32_t graph_builder_root(const graph_builder *b);
uint32_t graph_builder_string(graph_builder *b, const char *s, size_t n);
/** The scope of this name in `parent`, made where it is new. `flags`: GRAPH_SCOPE_*. Invalid UTF-8 is cleaned. */
uint32_t graph_builder_scope(graph_builder *b, uint32_t parent, const char *name, size_t n, uint8_t flags);
/** A new scope even where the parent has one of this name (it gets "name (2)"). */
uint32_t graph_builder_new_scope(graph_builder *b, uint32_t parent, const char *name, size_t n, uint8_t flags);
/** Scopes of a path below `parent`; empty parts are skipped. */
uint32_t graph_builder_path(graph_builder *b, uint32_t parent, const char *path, size_t n, char separator);
void graph_builder_scope_class(graph_builder *b, uint32_t scope, const char *class_name, size_t n);
/** @return its id: 0, 1, ... in the order of pushing; GRAPH_NONE beyond the bound (counted) */
uint32_t graph_builder_node(graph_builder *b, const graph_node_in *n);
/* What follows belongs to any node already pushed, in any order. */
void graph_builder_output(graph_builder *b, uint32_t node, const char *type, size_t n, uint64_t bytes);
void graph_builder_attr(graph_builder *b, uint32_t node, const char *key, size_t n_key, const char *value, size_t n);
void graph_builder_sharding(graph_builder *b, uint32_t node, const char *text, size_t n);
void graph_builder_body(graph_builder *b, uint32_t node, uint32_t scope);
/** The node's place changes: for formats that name scopes after their nodes. */
void graph_builder_move(graph_builder *b, uint32_t node, uint32_t scope);
void graph_builder_phase(graph_builder *b, uint32_t node, graph_phase phase);
void graph_builder_flag(graph_builder *b, uint32_t node, uint8_t flags);
size_t graph_builder_n_nodes(const graph_builder *b);

/** Edge by ids; either may be pushed later than now, but not never (checked at finish: counted as dangling). */
void graph_builder_edge(graph_builder *b, uint32_t from, uint32_t from_slot, uint32_t to, uint32_t to_slot,
                        uint8_t flags);
/** A space of value names inside `parent` (GRAPH_NONE: none around it). */
uint32_t graph_builder_space(graph_builder *b, uint32_t parent);
void graph_builder_define(graph_builder *b, uint32_t space, const char *name, size_t n, uint32_t node, uint32_t slot);
/** `offset`: of the record in the input, for the message when nobody makes the value. */
void graph_builder_use(graph_builder *b, uint32_t space, const char *name, size_t n, uint32_t node, uint32_t slot,
                       uint8_t flags, uint64_t offset);
/** Ranks of a pipeline stage. */
void graph_builder_stage(graph_builder *b, int32_t stage, const uint32_t *ranks, size_t n);

typedef struct graph_finish_options {
    bool infer_scopes;   /* where the input states none, or leaves a scope with very many operators */
    cancel_flag *cancel; /* may be NULL */
} graph_finish_options;

/** Joins names, sorts edges, makes both indices, infers scopes. The builder is empty afterwards. Cost O((V + E) log E).
 *  Errors: CANCELLED; FORMAT when there is not one node (a sentence is in the diag). */
marey_status graph_builder_finish(graph_builder *b, const graph_finish_options *options, graph *out);

#endif
