/* What the builder collects until it is finished: shared by builder*.c only. */
#ifndef MAREY_GRAPH_BUILDER_INTERNAL_H
#define MAREY_GRAPH_BUILDER_INTERNAL_H

#include "base/hash.h"
#include "base/text.h"
#include "graph/builder.h"
#include "graph/tensors.h"
#include "graph/text_table.h"

enum {
    BUILDER_MAX_NAME = 64 * 1024, /* bytes of a string */
    BUILDER_MAX_VALUE = 1024,     /* of an attribute's value */
    BUILDER_PATH_DEPTH = 64,
    BUILDER_SPACE_DEPTH = 256 /* of spaces in each other */
};
#define BUILDER_MAX_ROWS ((size_t)1 << 31)
#define BUILDER_OFFSET_MAX (((uint64_t)1 << 40) - 1) /* of a use; as large means that none is known */

typedef struct pushed_edge {
    uint32_t from, to;
    uint16_t from_slot, to_slot;
    uint8_t flags;
} pushed_edge;

typedef struct pushed_use {
    uint32_t value, space, node;
    uint32_t offset_low; /* of the offset in the input: 40 bits, saturated */
    uint16_t slot;
    uint8_t offset_high;
    uint8_t flags;
} pushed_use;

/* Who makes a value. A value defined in several spaces: `several`, and all its definitions are in builder.shadows. */
typedef struct pushed_value {
    uint32_t node; /* GRAPH_NONE: nobody yet */
    uint32_t space;
    uint16_t slot;
    bool several;
} pushed_value;

typedef struct pushed_out {
    uint32_t node, tensor;
} pushed_out;

typedef struct pushed_attr {
    uint32_t node, key, value;
} pushed_attr;

typedef struct builder_space {
    uint32_t parent, depth;
} builder_space;

struct graph_builder {
    diag *d;
    uint32_t file;
    uint32_t root; /* what scope 0 means now */
    text_table strings;
    uint8_t *op_class; /* by string: graph_class + 1; 0: not asked yet */
    size_t cap_op_class;
    graph g; /* columns of nodes and scopes as they are pushed; the rest at finish */
    size_t cap_nodes, cap_scopes;
    map64 scope_ids, scope_copies; /* parent << 32 | name */
    strbuf path, clean;            /* the last path, and its scope */
    uint32_t path_parent, path_scope;
    char path_separator;
    bool path_known;

    text_table values;
    pushed_value *value; /* by id in values */
    size_t cap_value;
    map64 shadows; /* space << 32 | value -> node << 16 | slot */
    builder_space *spaces;
    size_t n_spaces, cap_spaces;
    pushed_use *uses;
    size_t n_uses, cap_uses;
    pushed_edge *edges;
    size_t n_edges, cap_edges;
    pushed_out *outs;
    tensor_table tensors;
    pushed_attr *attrs;
    size_t n_outs, cap_outs, n_attrs, cap_attrs;
    map64 stage_places; /* stage -> place + 1 */
    size_t cap_stages, cap_stage_ranks;
};

/** Joins uses with definitions: b->edges holds all edges afterwards. */
marey_status builder_join(graph_builder *b, cancel_flag *cancel);
/** Edges sorted into b->g, with both indices. */
marey_status builder_sort_edges(graph_builder *b, cancel_flag *cancel);
/** A string that hardly ever comes twice: it may get an id of its own. */
uint32_t builder_name(graph_builder *b, const char *s, size_t n);
/** The scope that is meant: 0, and what does not exist, is the root of the input. */
uint32_t builder_scope(const graph_builder *b, uint32_t scope);
void builder_lose(graph_builder *b, marey_loss loss, uint64_t offset, uint64_t n);

#endif
