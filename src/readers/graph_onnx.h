/*
 * What the parts of the ONNX reader share (graph_onnx*.c); field numbers are those of onnx.proto.
 *
 * A graph, the body of an If, Loop or Scan, and each call of a local function is a *frame*: a scope, a space of value
 * names and a place in its message. Frames lie on a stack of their own, so that nesting costs memory, never the
 * program's stack.
 */
#ifndef MAREY_READERS_GRAPH_ONNX_H
#define MAREY_READERS_GRAPH_ONNX_H

#include "base/hash.h"
#include "parse/pbwire.h"
#include "readers/graph_dtype.h"
#include "readers/graph_formats.h"

enum {
    ONNX_DEPTH_MAX = 200,            /* bodies and calls inside one another */
    ONNX_CLONED_NODES_MAX = 1000000, /* nodes of functions, over all calls */
    ONNX_PATH_DEPTH_MAX = 64
};

typedef enum onnx_kind { ONNX_GRAPH, ONNX_FUNCTION } onnx_kind;

/* What is known of a value by its name. */
typedef struct onnx_value {
    const uint8_t *type; /* TypeProto; NULL */
    size_t n_type;
    uint32_t node;   /* of an initializer; GRAPH_NONE */
    bool used;       /* has a user */
    uint32_t path;   /* id of a path + 1, which begins with the scope that all its users share; 0: none */
    uint32_t n_path; /* bytes of that path that they share */
} onnx_value;

typedef struct onnx_function {
    pb_field message;
    bool active; /* on the stack: it can't call itself */
} onnx_function;

typedef struct onnx_frame {
    onnx_kind kind;
    pb_field message;
    pb_reader fields; /* of the message, at the next node */
    bool started;
    uint32_t scope, space, outer_space;
    uint32_t call;          /* node whose body it is; GRAPH_NONE */
    uint32_t n_call_inputs; /* its input slots */
    pb_field call_message;  /* its NodeProto */
    uint32_t skip_inputs;   /* inputs of the body that are none of the node's (the iteration number of a Loop) */
    uint32_t function;      /* index; GRAPH_NONE */
    size_t first_value;     /* its initializers and types are values from here on */
    const char *prefix;     /* name of that node: names inside begin with it in some exporters */
    size_t n_prefix;
} onnx_frame;

typedef struct onnx_body {
    pb_field graph;
    const char *name; /* of the attribute */
    size_t n_name;
} onnx_body;

/* One NodeProto, as its first pass finds it. */
typedef struct onnx_node {
    pb_field message;
    const char *name, *op, *domain, *overload, *first_output;
    size_t n_name, n_op, n_domain, n_overload, n_first_output;
    const char *name_scopes, *class_hierarchy, *namespace;
    size_t n_name_scopes, n_class_hierarchy, n_namespace;
    uint32_t n_inputs;
    bool has_bodies;
} onnx_node;

typedef struct onnx_reader {
    const graph_input *in;
    graph_builder *b;
    pb_reader model;
    onnx_frame *frames;
    size_t n_frames, cap_frames;
    onnx_function *functions;
    size_t n_functions, cap_functions;
    intern function_keys; /* "domain\0name\0overload" -> index */
    intern names;         /* of values that something is known of */
    map64 value_of;       /* space << 32 | name -> index in values + 1 */
    onnx_value *values;
    size_t n_values, cap_values;
    intern paths;   /* "a\x1F" "b": parts of a scope's path, or with classes "a\x1E" "A\x1F" "b" */
    map64 scope_of; /* scope << 32 | path -> scope */
    onnx_body *bodies;
    size_t n_bodies, cap_bodies;
    strbuf text, key, path;
    uint64_t n_cloned;
    uint32_t n_open_calls; /* frames of functions that have begun */
    bool is_cut;           /* the input's end was counted */
} onnx_reader;

/* graph_onnx.c */
/** The value of this name in a space, or NULL. Valid until the next onnx_value_put(). */
onnx_value *onnx_value_get(const onnx_reader *r, uint32_t space, const char *name, size_t n);
onnx_value *onnx_value_put(onnx_reader *r, uint32_t space, const char *name, size_t n);
/** Count what ended a message too early. */
void onnx_broken(const onnx_reader *r, const pb_reader *at);

/** Puts a frame on the stack; it begins when it comes to the top. @return false beyond the depth (counted) */
bool onnx_push_frame(onnx_reader *r, const onnx_frame *frame);
/** The function that a node calls, or GRAPH_NONE. */
uint32_t onnx_find_function(onnx_reader *r, const onnx_node *node);

/* graph_onnx_node.c */
/** One node of the frame on top: pushed with its inputs, outputs, attributes; its bodies become frames. */
void onnx_take_node(onnx_reader *r, const pb_field *message);

/* graph_onnx_scope.c */
/** The scope of a node of the frame, by the best of what it has; *path is the path's id + 1, 0 where it has none. */
uint32_t onnx_scope(onnx_reader *r, const onnx_frame *frame, const onnx_node *node, uint32_t *path);
/** A user of the value lies in that path: the value keeps what all its users share. */
void onnx_share_path(const onnx_reader *r, onnx_value *v, uint32_t path);
/** The scope of what they share. */
uint32_t onnx_shared_scope(onnx_reader *r, const onnx_frame *frame, const onnx_value *v);

/* graph_onnx_text.c */
/** A TypeProto as text ("f32[1,N]", "sequence(f32[?])"). @return bytes, 0 where not known */
uint64_t onnx_type_text(const pb_reader *outer, const uint8_t *type, size_t n, strbuf *out);
/** A TensorProto: its type as text; its payload is never touched. @return bytes */
uint64_t onnx_tensor_text(const pb_reader *outer, const pb_field *tensor, strbuf *out, pb_field *name);
/** An AttributeProto as text. */
void onnx_attribute_text(const pb_reader *outer, const pb_field *attribute, strbuf *out);

static inline void onnx_put(strbuf *out, const char *s, size_t n)
{
    if (n) {
        strbuf_add(out, s, n);
    }
}

static inline void onnx_string(const pb_field *f, const char **s, size_t *n)
{
    if (f->wire == PB_BYTES) {
        *s = (const char *)f->data;
        *n = f->size;
    }
}

#endif
