/*
 * What the parts of the TensorFlow reader share (graph_tf*.c); field numbers are those of graph.proto, function.proto,
 * op_def.proto, attr_value.proto and tensor_shape.proto.
 *
 * A GraphDef and each call of a library function is a *frame*: nodes that are pushed one after the other, so that their
 * ids are known before their edges. Calls wait on a stack until their caller is through.
 */
#ifndef MAREY_READERS_GRAPH_TF_H
#define MAREY_READERS_GRAPH_TF_H

#include "base/hash.h"
#include "parse/pbschema.h"
#include "parse/pbwire.h"
#include "readers/graph_dtype.h"
#include "readers/graph_formats.h"

enum {
    TF_DEPTH_MAX = 200,
    TF_CLONED_NODES_MAX = 1000000, /* nodes of functions, over all calls */
    TF_CLONED_BYTES_MAX = 1 << 29, /* of their messages, read again with each call */
    TF_BRANCHES_MAX = 256,         /* functions that one attribute names */
    TF_SCOPE_DEPTH = 64
};

typedef struct tf_span {
    const char *s;
    size_t n;
} tf_span;

typedef struct tf_attr {
    tf_span key;
    pb_field value; /* AttrValue */
} tf_attr;

/* Who gives a value to a call. */
typedef struct tf_source {
    uint32_t node, slot;
} tf_source;

typedef struct tf_call {
    bool is_function;
    pb_field message;  /* GraphDef or FunctionDef */
    uint32_t function; /* index in reader.functions; GRAPH_NONE */
    uint32_t chain;    /* of the calls around it: index in reader.chain; GRAPH_NONE */
    uint32_t scope, node, n_node_inputs;
    size_t first_arg, n_args; /* in reader.args; n_args 0 where it is not known what goes where */
} tf_call;

/* A call on the way from the graph to here. */
typedef struct tf_link {
    uint32_t function, up, depth;
} tf_link;

typedef struct tf_reader {
    const graph_input *in;
    graph_builder *b;
    pb_reader wire;   /* over the bytes that are read */
    bool has_offsets; /* they are the input's own bytes */
    intern function_names;
    pb_field *functions;
    uint8_t *called; /* [n_functions] */
    size_t n_functions, cap_functions;
    tf_call *calls;
    size_t n_calls, cap_calls;
    tf_link *chain;
    size_t n_chain, cap_chain;
    tf_source *args;
    size_t n_args, cap_args;
    /* of the frame that is read */
    intern names;  /* of its nodes -> index in ids */
    uint32_t *ids; /* node ids */
    size_t n_ids, cap_ids;
    intern scopes; /* paths that hold a node */
    /* of the node that is read */
    tf_span name, op, device;
    tf_attr *attrs;
    pb_field *inputs;
    size_t n_attrs, cap_attrs, n_inputs, cap_inputs;
    strbuf text;
    uint64_t n_cloned, cloned_bytes;
    uint64_t *types; /* of the node's outputs, where a list of them is stated */
    size_t n_types, cap_types;
    bool is_cut;       /* the input's end was counted */
    size_t first_node; /* of this graph: others of the same input may come before it */
} tf_reader;

/* graph_tf.c */
void tf_lose(const tf_reader *r, marey_loss loss, uint64_t offset, const char *detail);
/** Count what ended a message too early. */
void tf_broken(tf_reader *r, const pb_reader *at);
/** A field of text; "" where it is none. */
static inline tf_span tf_text(const pb_field *f)
{
    bool is = f->wire == PB_BYTES && f->size > 0;
    return is ? (tf_span){(const char *)f->data, f->size} : (tf_span){"", 0};
}
static inline bool tf_is(tf_span s, const char *text)
{
    size_t i = 0;
    while (i < s.n && text[i] && s.s[i] == text[i]) {
        i++;
    }
    return i == s.n && !text[i];
}

/* graph_tf_frame.c */
/** Reads the GraphDef and all calls below it. Errors: CANCELLED. */
marey_status tf_read_graph(tf_reader *r, const pb_field *graph_def);
void tf_deinit(tf_reader *r);

/* graph_tf_attr.c */
const pb_field *tf_find_attr(const tf_reader *r, const char *key);
/** An AttrValue as text. */
void tf_attr_text(const tf_reader *r, const pb_field *value, strbuf *out);
/** The function that an AttrValue names, or names[k] of its list. @return "" where there is none */
tf_span tf_attr_function(const tf_reader *r, const pb_field *value, size_t k);
/** Types of the outputs of the node that is read, pushed as far as they are known. */
void tf_push_outputs(tf_reader *r, uint32_t node);
/** The type of an ArgDef. */
graph_dtype tf_arg_type(const tf_reader *r, const pb_field *arg);

/* graph_tf_schema.c */
extern const pb_schema TF_GRAPH_DEF, TF_META_GRAPH, TF_SAVED_MODEL;

#endif
