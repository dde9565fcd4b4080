/*
 * Element types of tensors: one spelling for all graph formats ("f32", "bf16", "i64", "bool", "str"), and shapes as
 * text. Thread: any.
 */
#ifndef MAREY_READERS_GRAPH_DTYPE_H
#define MAREY_READERS_GRAPH_DTYPE_H

#include <stdint.h>

#include "base/text.h"

typedef struct graph_dtype {
    const char *name; /* NULL: none such */
    uint8_t bits;     /* of one element; 0: not a fixed size */
} graph_dtype;

/* By the number that the format's enumeration has. */
graph_dtype graph_dtype_onnx(uint64_t number);
graph_dtype graph_dtype_tensorflow(uint64_t number);
graph_dtype graph_dtype_mindspore(uint64_t number);
/** By name: "DT_FLOAT", "FLOAT32", "float32", "kNumberTypeFloat32"; NULL name where unknown. */
graph_dtype graph_dtype_named(const char *s, size_t n);

/* A shape that is being put together: "f32[1,?,N]" and its bytes. */
typedef struct graph_shape {
    strbuf *out;
    uint64_t elements;
    uint8_t bits;
    bool known; /* all sizes so far are numbers */
    bool first;
} graph_shape;

/** Appends the element type and the opening bracket. `type.name` NULL: "tensor". */
void graph_shape_begin(graph_shape *s, strbuf *out, graph_dtype type);
/** A size below 0 is unknown ("?"). */
void graph_shape_dim(graph_shape *s, int64_t size);
/** A size by name; "" is unknown. */
void graph_shape_name(graph_shape *s, const char *name, size_t n);
/** @return bytes of the tensor, 0 where they are not known */
uint64_t graph_shape_end(graph_shape *s);

/** A whole number as text: attributes and shapes are mostly these. */
void graph_put_int(strbuf *out, int64_t v);

#endif
