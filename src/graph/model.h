/*
 * The model of a computational graph: nodes, edges, scopes, as plain columns. Read-only once a builder has finished it
 * (graph/builder.h); simplification and layout (graph/plan.h, graph/visible.h, graph/layout.h) never change it.
 *
 * What the input has is never lost here: every node and every (producer, consumer input slot) is one row. Rows that the
 * input does not have as nodes or edges, but that a picture needs (ONNX initializers and graph inputs, Send to
 * Receive), carry GRAPH_IMPLIED and are in no count of the input.
 *
 * Invariants (graph_check): ids in range; scopes' parents before their children, scope 0 is the root; edges ascending
 * by (to, to_slot); both CSR indices agree with the edges. Cycles, self-loops and parallel edges are allowed.
 * Owner: the caller, graph_deinit(). Thread: any while nobody changes it.
 */
#ifndef MAREY_GRAPH_MODEL_H
#define MAREY_GRAPH_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GRAPH_NONE UINT32_MAX

typedef enum graph_role {
    GRAPH_OPERATOR,
    GRAPH_PARAMETER, /* a weight or variable */
    GRAPH_CONSTANT,
    GRAPH_INPUT,  /* of the graph, or of a body */
    GRAPH_OUTPUT, /* likewise */
    GRAPH_ROLE_COUNT
} graph_role;

typedef enum graph_phase {
    GRAPH_PHASE_NONE,
    GRAPH_FORWARD,
    GRAPH_BACKWARD,
    GRAPH_RECOMPUTE,
    GRAPH_OPTIMIZER,
    GRAPH_PHASE_COUNT
} graph_phase;

/* What a node is painted by: told by its operator type (graph/classes.c holds the one table). */
typedef enum graph_class {
    GRAPH_CLASS_OTHER,
    GRAPH_CLASS_MATMUL,
    GRAPH_CLASS_CONVOLUTION,
    GRAPH_CLASS_ATTENTION,
    GRAPH_CLASS_NORMALIZATION,
    GRAPH_CLASS_ACTIVATION,
    GRAPH_CLASS_ELEMENTWISE,
    GRAPH_CLASS_REDUCTION,
    GRAPH_CLASS_LAYOUT, /* reshape, transpose, slice, concat, gather, cast, copy */
    GRAPH_CLASS_EMBEDDING,
    GRAPH_CLASS_RECURRENT,
    GRAPH_CLASS_OPTIMIZER,
    GRAPH_CLASS_COLLECTIVE,
    GRAPH_CLASS_SEND,
    GRAPH_CLASS_RECEIVE,
    GRAPH_CLASS_CONTROL,     /* If, Loop, while, call, switch, merge */
    GRAPH_CLASS_BOOKKEEPING, /* MakeTuple, TupleGetItem, Depend, Load, UpdateState, Identity, NoOp, get-tuple-element */
    GRAPH_CLASS_DATA,        /* parameters, constants, inputs, outputs */
    GRAPH_CLASS_COUNT
} graph_class;

/* Flags of nodes and edges. */
enum {
    GRAPH_IMPLIED = 1,               /* node, edge: not a node or edge of the input */
    GRAPH_CONTROL = 2,               /* edge: order only, no data */
    GRAPH_CALL = 4,                  /* node: its body or callee is the scope in node_body */
    GRAPH_REDISTRIBUTION = 8,        /* node: inserted to change the sharding */
    GRAPH_GRADIENT_AGGREGATION = 16, /* node: sums gradients over the data parallel group */
    GRAPH_P2P = 32,                  /* edge: from a Send to its Receive (always implied) */
    GRAPH_SCOPE_INFERRED = 64,       /* scope: guessed, not stated by the input */
    GRAPH_SCOPE_BODY = 128           /* scope: body of a control flow node, or called function */
};

typedef struct graph_stage {
    int32_t stage;       /* as the input counts */
    uint32_t first_rank; /* into stage_ranks */
    uint32_t n_ranks;
} graph_stage;

typedef struct graph_tensor {
    uint32_t type;  /* string: "bf16[32,1024,5120]", in the input's own words where it is no plain tensor */
    uint64_t bytes; /* 0: not known */
} graph_tensor;

typedef struct graph {
    /* Strings: id i is the NUL-terminated text at text + string_at[i]; id 0 is ""; string_at[n_strings] is n_text,
     * which is below 4 GiB. */
    char *text;
    uint32_t *string_at; /* [n_strings + 1] */
    size_t n_strings, n_text;

    /* Nodes, in the input's order. */
    size_t n_nodes, n_implied_nodes;
    uint32_t *node_name;  /* string: as the input writes it; may be "", not unique, or have another id for one text */
    uint32_t *node_op;    /* string: operator type, "MatMul", "com.microsoft::FusedMatMul" */
    uint32_t *node_scope; /* scope that holds it */
    uint8_t *node_role;   /* graph_role */
    uint8_t *node_phase;  /* graph_phase */
    uint8_t *node_class;  /* graph_class */
    uint8_t *node_flags;
    /* What many graphs have at no node: a column is NULL then. Read by graph_body_of() and its like. */
    uint32_t *node_body;     /* scope of its body (the first, where it has several: siblings follow); GRAPH_NONE */
    uint32_t *node_sharding; /* string: slices per dimension of each input, "((8,1),(1,4))"; 0: none */
    int64_t *node_key;       /* the input's number (rf_id, HLO id, node_id), for links with a run; -1: none */
    int16_t *node_stage;     /* place in stages; -1: none */

    /* Outputs of nodes: rows [out_first[i], out_first[i + 1]) belong to node i. */
    uint32_t *out_first;  /* [n_nodes + 1] */
    uint32_t *out_tensor; /* place in tensors */
    size_t n_outs;
    graph_tensor *tensors; /* each once: outputs have few kinds */
    size_t n_tensors;

    /* Attributes: rows [attr_first[i], attr_first[i + 1]) belong to node i. */
    uint32_t *attr_first;            /* [n_nodes + 1]; NULL: there are none. See graph_attrs_of() */
    uint32_t *attr_key, *attr_value; /* strings; a value over 1 KiB is cut and says its size */
    size_t n_attrs;

    /* Edges, ascending by (to, to_slot). */
    size_t n_edges, n_implied_edges, n_control_edges; /* n_edges counts all rows; control: of the input's */
    uint32_t *edge_from, *edge_to;
    uint16_t *edge_from_slot, *edge_to_slot; /* saturate at 65535 */
    uint8_t *edge_flags;
    uint32_t *in_first;               /* [n_nodes + 1]: edges into node i are rows in_first[i] .. in_first[i + 1] */
    uint32_t *from_first, *from_edge; /* [n_nodes + 1], [n_edges]: edges out of node i, ascending by row */

    /* Scopes. */
    size_t n_scopes;
    uint32_t *scope_parent; /* of 0: 0 */
    uint32_t *scope_name;   /* string: last part of the path */
    uint32_t *scope_class;  /* string: class of the module; 0: unknown */
    uint8_t *scope_flags;
    bool scopes_inferred; /* any of them */

    graph_stage *stages;
    uint32_t *stage_ranks;
    size_t n_stages, n_stage_ranks;

    uint32_t format;   /* string: "onnx", "tensorflow", "mindspore", "mindspore-parallel", "hlo", "mlir",
                          "execution-trace",   "chakra", "dot", "model-explorer" */
    uint32_t name;     /* string: the graph's own name */
    uint32_t producer; /* string */
} graph;

void graph_deinit(graph *g);
/** Makes what follows from the rest: in_first, from_first, from_edge, and the counts of implied and control rows.
 * @return false when an edge's ends are out of range or the edges are not in order */
bool graph_index(graph *g);
static inline const char *graph_string(const graph *g, uint32_t id)
{
    return id < g->n_strings ? g->text + g->string_at[id] : "";
}
static inline uint32_t graph_body_of(const graph *g, uint32_t node)
{
    return g->node_body ? g->node_body[node] : GRAPH_NONE;
}
static inline uint32_t graph_sharding_of(const graph *g, uint32_t node)
{
    return g->node_sharding ? g->node_sharding[node] : 0;
}
static inline int64_t graph_key_of(const graph *g, uint32_t node)
{
    return g->node_key ? g->node_key[node] : -1;
}
static inline int graph_stage_of(const graph *g, uint32_t node)
{
    return g->node_stage ? g->node_stage[node] : -1;
}
/* Rows [first, end). */
typedef struct graph_rows {
    uint32_t first, end;
} graph_rows;
static inline graph_rows graph_attrs_of(const graph *g, uint32_t node)
{
    return g->attr_first ? (graph_rows){g->attr_first[node], g->attr_first[node + 1]} : (graph_rows){0, 0};
}
/** String: the type of an output; its bytes, 0 where they are not known. */
static inline uint32_t graph_out_type(const graph *g, uint32_t out)
{
    return g->tensors[g->out_tensor[out]].type;
}
static inline uint64_t graph_out_bytes(const graph *g, uint32_t out)
{
    return g->tensors[g->out_tensor[out]].bytes;
}
/** Name without its path (behind the last '/'), or the operator type where it has no name. Lives as long as g. */
const char *graph_node_label(const graph *g, uint32_t node);
/** "a/b/c" of a scope, appended by the caller's strbuf rules: see base/text.h. */
struct strbuf;
void graph_scope_path(const graph *g, uint32_t scope, struct strbuf *out);
/** Value of an attribute, or NULL. */
const char *graph_attr(const graph *g, uint32_t node, const char *key);
/** Slices per dimension of the node's input `slot`, from node_sharding. @return dimensions, at most cap; 0: not stated
 */
size_t graph_sharding(const graph *g, uint32_t node, unsigned slot, uint32_t *slices, size_t cap);
/** Bytes of the tensor on an edge; 0: not known. */
uint64_t graph_edge_bytes(const graph *g, uint32_t edge);
/** Class of an operator type, any format's. */
graph_class graph_class_of(const char *op);
const char *graph_class_name(graph_class c);
const char *graph_role_name(graph_role r);
const char *graph_phase_name(graph_phase p);
/** Depth of the scope tree: 0 when all nodes lie in the root. */
uint32_t graph_depth(const graph *g);
/** Nodes on a cycle (strongly connected components of more than one node, and self-loops). O(V + E), iterative. */
size_t graph_cyclic_nodes(const graph *g);
/** Bytes held, and of them attributes. */
size_t graph_bytes(const graph *g, size_t *attributes);
/** @return NULL when the invariants hold, else a sentence that names the first breach */
const char *graph_check(const graph *g);

#endif
