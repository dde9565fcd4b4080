/*
 * MLIR text between its two steps: what the parser sees (operations, regions, values by name, location aliases), and
 * the graph made of it. The parser knows the structure of the text only, no dialect: an operation is
 * "%r:2, %s = dialect.op ...", ends at a line's end outside brackets, and holds regions "{" in which operations lie;
 * "%x: type" and "%x = %y" behind an operation's name define arguments of its regions, any other "%x" is an operand.
 *
 * Owner: the reader. Spans point into the input. No recursion: regions lie on a stack of their own. Thread: one.
 */
#ifndef MAREY_READERS_GRAPH_MLIR_H
#define MAREY_READERS_GRAPH_MLIR_H

#include "base/hash.h"
#include "base/text.h"
#include "readers/graph_reader.h"
#include "readers/graph_text.h"

typedef struct mlir_op {
    gspan name, types, loc, symbol; /* symbol: "main" of @main, its own or the callee's */
    uint64_t offset;
    uint32_t region; /* it lies in; GRAPH_NONE: in none */
    uint32_t first_result, n_results;
    uint32_t first_attr, n_attrs; /* attributes of nested operations may lie between: n counts a list by `next` */
    uint32_t first_use, n_uses;
    uint32_t last_attr, last_use; /* ends of the lists */
    uint32_t first_arg, last_arg; /* arguments that its regions share */
    uint32_t n_regions;
} mlir_op;

typedef struct mlir_result {
    gspan name;
    uint32_t count;
} mlir_result;

typedef struct mlir_use {
    gspan name; /* "%0", "%0#1" */
    uint32_t next;
} mlir_use;

typedef struct mlir_attr {
    gspan key, value;
    uint32_t next;
} mlir_attr;

typedef struct mlir_arg {
    gspan name, type, loc, dict, init;
    uint64_t offset;
    uint32_t next;
    bool of_block; /* "^bb0(%x: i32)", not of the operation */
} mlir_arg;

typedef struct mlir_region {
    uint32_t owner; /* operation */
    uint32_t n_ops; /* directly inside */
    uint32_t last_op;
    uint32_t first_arg, last_arg;
    gspan label; /* the word before it: "cond", "do" */
    bool nests;  /* an operation inside has regions */
} mlir_region;

typedef struct mlir_text {
    mlir_op *ops;
    mlir_result *results;
    mlir_use *uses;
    mlir_attr *attrs;
    mlir_arg *args;
    mlir_region *regions;
    size_t n_ops, cap_ops, n_results, cap_results, n_uses, cap_uses, n_attrs, cap_attrs, n_args, cap_args, n_regions,
        cap_regions;
    intern aliases; /* "#loc12" */
    gspan *alias;   /* by alias: its location */
    size_t n_alias, cap_alias;
    arena mem;
} mlir_text;

void mlir_text_deinit(mlir_text *t);
/** Damage is counted; what could be read is there. Errors: CANCELLED. */
marey_status mlir_parse(const graph_input *in, mlir_text *t);
/** Key and value of each entry of "{a = 1, b}" at `p`. @return false at the end */
bool mlir_next_entry(const char **p, const char *end, gspan *key, gspan *value);

#endif
