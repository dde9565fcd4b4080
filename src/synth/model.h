/* The networks that can be simulated: their operators and costs on one device, from which plan.c makes a run. */
#ifndef MAREY_SYNTH_MODEL_H
#define MAREY_SYNTH_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "synth/names.h"

/* How values go through a pass. Each operator takes the value before it and gives the next one, but: */
typedef enum op_flow {
    FLOW_CHAIN,
    FLOW_RESIDUAL, /* takes what its part of the layer began with, too */
    FLOW_SKIP,     /* takes what the layer began with, too */
    FLOW_WEIGHT    /* gives the gradient of a weight: takes what the matrix product before it took, nothing follows */
} op_flow;

/* One operator of a layer. Weights are shares of the pass's time; rank tells which stay when few are wanted (0 first).
 * What follows `shapes` is for the computational graph alone. */
typedef struct model_op {
    synth_name kernel, cpu;
    uint16_t weight; /* 0: a tensor-parallel all-reduce */
    uint8_t rank;
    const char *shapes;
    const char *part; /* module inside the layer, or the layer's place; "" */
    op_flow flow;
    const char *out;   /* shape of what it gives: "[2048,1,5120]" */
    const char *shard; /* slices of each dimension of each input, 't' for the tensor-parallel size; "" */
    synth_name saved;  /* takes what this operator of the same part gave in the forward pass; 0: nothing */
} model_op;

typedef struct model_def {
    const char *name;
    int layers, micro_batches, detail;
    int ranks, max_pp, tp, buckets;
    bool sharded;
    int64_t fwd_ns, bwd_ns; /* of one layer and one micro-batch at `tp` */
    int64_t optimizer_ns;   /* of one layer at `tp` */
    int64_t activation_bytes;
    int64_t layer_grad_bytes; /* before division by tp */
    const model_op *fwd, *bwd;
    int n_fwd, n_bwd;
    synth_name filler, filler_bwd; /* small kernels that more detail adds */
    synth_name filler_cpu, filler_bwd_cpu;
    const model_op *first, *last; /* extra operators of the first and of the last stage; weights in 1/1000 of fwd_ns */
    int n_first, n_last;
    synth_name layer_name;
    const char *device_name;
} model_def;

const model_def *model_find(const char *name); /* NULL: none */

#endif
