/* The networks that can be simulated: their operators and costs on one device, from which plan.c makes a run. */
#ifndef MAREY_SYNTH_MODEL_H
#define MAREY_SYNTH_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "synth/names.h"

/* One operator of a layer. Weights are shares of the pass's time; rank tells which stay when few are wanted (0 first).
 */
typedef struct model_op {
    synth_name kernel, cpu;
    uint16_t weight; /* 0: a tensor-parallel all-reduce */
    uint8_t rank;
    const char *shapes;
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
