/*
 * What a simulated run consists of: where each rank sits, which operators a layer runs and what they cost, which
 * process groups there are, how fast the links are, and each host's clock. Fixed once made; read by any thread.
 */
#ifndef MAREY_SYNTH_PLAN_H
#define MAREY_SYNTH_PLAN_H

#include "synth/names.h"
#include "synth/synth.h"

enum { PLAN_MAX_OPS = 128, PLAN_MAX_BUCKETS = 64, PLAN_FACTOR_ONE = 65536 };

/* Run times start here on every host's clock: far enough from 0 for any offset. */
#define PLAN_LOCAL_START_NS INT64_C(86400000000000)
#define PLAN_BASE_EPOCH_NS  INT64_C(1717200000000000000)

/* One kernel of a pass, or a tensor-parallel all-reduce between two. */
typedef struct plan_op {
    synth_name kernel, cpu;
    int32_t base_ns; /* 0 for a collective */
    bool collective;
    const char *shapes;         /* of the CPU operator's inputs, as JSON for "Input Dims"; NULL: unknown */
    const struct model_op *row; /* that it was made from, or NULL: one that more detail adds */
} plan_op;

typedef struct plan_pass {
    plan_op ops[PLAN_MAX_OPS];
    int n;
} plan_pass;

typedef enum plan_group_kind { GROUP_WORLD, GROUP_TP, GROUP_DP, GROUP_PP, GROUP_KINDS } plan_group_kind;

typedef struct plan_clock {
    int64_t offset_ns;
    int64_t drift_ppb;
} plan_clock;

typedef struct plan {
    synth_params p;
    plan_pass fwd, bwd;    /* one layer, one micro-batch */
    plan_pass first, last; /* what the first stage does before, and the last one behind, its layers (forward) */
    plan_pass norm, optimizer;
    int64_t activation_bytes; /* between stages, and of a tensor-parallel all-reduce */
    int64_t layer_grad_bytes; /* of one layer on one rank */
    int64_t launch_ns;        /* a launch's cost on the host */
    int64_t slow_launch_ns;   /* the mean time of a kernel: a launch-bound host's cost for factor 1 */
    synth_name layer_name;    /* NAME_A_LAYER or NAME_A_BLOCK */
    const char *device_name;
    plan_clock *clocks; /* per host */
    int n_hosts;
} plan;

/** The parameters must have passed synth_check. Never fails. */
void plan_init(plan *pl, const synth_params *p);
void plan_deinit(plan *pl);

/* Places. */
static inline int plan_stage(const plan *pl, int rank)
{
    return rank / (pl->p.tp * pl->p.dp);
}
static inline int plan_dp(const plan *pl, int rank)
{
    return rank / pl->p.tp % pl->p.dp;
}
static inline int plan_tp(const plan *pl, int rank)
{
    return rank % pl->p.tp;
}
static inline int plan_rank(const plan *pl, int stage, int dp, int tp)
{
    return (stage * pl->p.dp + dp) * pl->p.tp + tp;
}
int plan_stage_layers(const plan *pl, int stage);
int plan_first_layer(const plan *pl, int stage);
int plan_buckets(const plan *pl, int stage);
int64_t plan_bucket_bytes(const plan *pl, int stage);

/* Process groups: names "0", "1", ... as the whole job numbers them. */
int plan_group_size(const plan *pl, plan_group_kind kind);
int plan_group_id(const plan *pl, plan_group_kind kind, int rank);
int plan_group_member(const plan *pl, plan_group_kind kind, int rank, int i);

/* Costs. `step` is the step's own number. */
int64_t plan_transfer_ns(const plan *pl, int from, int to, int64_t bytes, int step);
int64_t plan_collective_ns(const plan *pl, plan_group_kind kind, int rank, synth_coll coll, int64_t bytes, int step);
/** Compute time's factor, in units of 1/65536. */
int64_t plan_compute_factor(const plan *pl, int rank, int step);
int64_t plan_launch_cost(const plan *pl, int rank, int step);
/** The pause of this rank in this step, 0 for none. */
int64_t plan_stall_ns(const plan *pl, int rank, int step);

/** What the host's clock shows at a true time. Monotonic; ends and starts keep their order. */
int64_t plan_local(const plan *pl, int rank, int64_t true_ns);

/** The 1F1B schedule: what a stage does as its k-th task, 0 <= k < 2 * micro_batches. */
typedef struct plan_task {
    bool backward;
    int micro_batch;
} plan_task;
plan_task plan_schedule(int pp, int micro_batches, int stage, int k);

#endif
