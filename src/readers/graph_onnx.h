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
    ONNX_CLONED_BYTES_MAX = 1 << 29, /* of their messages, read again with each call */
    ONNX_PATH_DEPTH_MAX = 64,
    ONNX_RELEASE_BYTES = 2 << 20 /* of the input in memory, before they are let go of */
};

typedef enum onnx_kind { ONNX_GRAPH, ONNX_FUNCTION } onnx_kind;

/* What is known of a value. */
typedef struct onnx_value {
    const char *name; /* in the input */
    size_t n_name;
    const uint8_t *type; /* TypeProto; NULL */
    size_t n_type;
    uint32_t node;  /* of an initializer or constant; GRAPH_NONE */
    uint32_t scope; /* that all its users share; GRAPH_NONE: none yet */
} onnx_value;

/* Values by name. They are mostly asked for in the order that they came in: the one behind the last answer is tried
 * first, and the hash table is made when that fails for the first time. */
typedef struct onnx_slot {
    uint32_t tag; /* of the hash */
    uint32_t at;  /* + 1; 0: empty */
} onnx_slot;

typedef struct onnx_set {
    onnx_value *values;
    size_t n, cap;
    onnx_slot *slots;
    size_t n_slots, n_hashed; /* power of two; values in the table */
    size_t next;
} onnx_set;

/** Valid until the next onnx_set_add(). NULL: none of that name */
onnx_value *onnx_set_find(onnx_set *s, const char *name, size_t n);
/** Of two of one name the first is found. */
onnx_value *onnx_set_add(onnx_set *s, const char *name, size_t n);
void onnx_set_deinit(onnx_set *s);

/* Hashes of names that were met: eight bytes each. */
typedef struct onnx_names {
    uint64_t *hashes; /* 0: empty */
    size_t n, cap;    /* power of two */
} onnx_names;

/** @return true when it was there before */
bool onnx_names_meet(onnx_names *s, uint64_t hash);

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
    onnx_set types;         /* of values, as far as they are stated */
    onnx_set data;          /* initializers, and constants that lie where their users lie */
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
    intern function_keys;                 /* "domain\0name\0overload" -> index */
    uint32_t *scope_parent, *scope_depth; /* of the scopes that were made here */
    size_t n_scopes, cap_scope_parent, cap_scope_depth;
    onnx_names node_names; /* (space, hash of a name), to count names given twice */
    onnx_body *bodies;
    size_t n_bodies, cap_bodies;
    strbuf text, key, path;
    /* The last path: parts separated by 0x1F, and where each ends. Neighbours share most of it. */
    strbuf last_path;
    uint32_t last_base, last_depth;
    size_t last_end[ONNX_PATH_DEPTH_MAX];
    uint32_t last_scope[ONNX_PATH_DEPTH_MAX];
    uint64_t n_cloned, cloned_bytes;
    uint32_t n_open_calls; /* frames of functions that have begun */
    uint64_t n_touched;    /* bytes of the input since it was let go of, about */
    bool is_cut;           /* the input's end was counted */
} onnx_reader;

/* graph_onnx.c */
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
/** The scope of a node of the frame, by the best of what it has. */
uint32_t onnx_scope(onnx_reader *r, const onnx_frame *frame, const onnx_node *node);
/** Remembers a scope that was made in another. */
void onnx_note_scope(onnx_reader *r, uint32_t scope, uint32_t parent);
/** A user of the value lies in that scope. */
void onnx_share_scope(const onnx_reader *r, onnx_value *v, uint32_t scope);

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
