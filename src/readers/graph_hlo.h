/*
 * An HLO module between its two forms (text, protocol buffer) and the graph: instructions in computations, as plain
 * columns. The two readers fill it; hlo_module_build() pushes it into the builder.
 *
 * From computations to a graph: each computation is laid out where it is called, its instructions inside a module of
 * the calling instruction; operands flow on to its parameters and its root to the call (implied edges). Further calls
 * of the same computation get copies that are marked as implied, up to a bound; calls beyond that share the first.
 * Small functions of a reduction, sort or scatter are no modules: their instructions carry the role of a constant and
 * so are shown inside the instruction that applies them. What nothing calls lies in a module of its own.
 *
 * Owner: the reader, hlo_module_deinit(). Spans point into the input or the module's arena. Thread: one.
 */
#ifndef MAREY_READERS_GRAPH_HLO_H
#define MAREY_READERS_GRAPH_HLO_H

#include "readers/graph_reader.h"
#include "readers/graph_text.h"

typedef struct hlo_attr {
    gspan key, value;
} hlo_attr;

typedef struct hlo_call {
    uint32_t computation; /* GRAPH_NONE: no such computation */
    gspan role;           /* "body", "condition", "calls", "to_apply", "branch_0" */
    gspan name;           /* text form: resolved when all computations are known */
    uint64_t id;          /* protocol buffer: likewise */
} hlo_call;

typedef struct hlo_inst {
    gspan name, opcode, shape, op_name;
    int64_t id;             /* -1: the text has none */
    uint64_t offset;        /* in the input */
    uint32_t first_operand; /* into operands; instructions, GRAPH_NONE: nobody makes it */
    uint32_t n_operands;    /* of them the last n_controls only order */
    uint32_t n_controls;
    uint32_t first_call, n_calls;
    uint32_t first_attr, n_attrs;
    uint32_t index; /* parameter number, or tuple index of get-tuple-element */
} hlo_inst;

typedef struct hlo_computation {
    gspan name;
    uint64_t id;
    uint32_t first, n; /* instructions */
    uint32_t root;     /* GRAPH_NONE: none */
    uint32_t n_callers;
} hlo_computation;

typedef struct hlo_module {
    gspan name;
    hlo_inst *insts;
    hlo_computation *computations;
    hlo_call *calls;
    hlo_attr *attrs;
    uint32_t *operands;
    size_t n_insts, cap_insts, n_computations, cap_computations, n_calls, cap_calls, n_attrs, cap_attrs, n_operands,
        cap_operands;
    uint32_t entry; /* GRAPH_NONE: the input does not say */
    arena mem;
} hlo_module;

void hlo_module_deinit(hlo_module *m);
/** Errors: CANCELLED; FORMAT for a module without instructions. */
marey_status hlo_module_build(hlo_module *m, const graph_input *in, graph_builder *b);
/** Role of the k-th called computation where the input has only their order (protocol buffers). */
gspan hlo_call_role(gspan opcode, uint32_t k);
/** Bytes of "bf16[32,1024]{1,0}" or of a tuple of such; 0: not known. */
uint64_t hlo_shape_bytes(gspan shape);

#endif
