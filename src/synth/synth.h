/*
 * A simulated training run with known faults: data, tensor and pipeline parallel, 1F1B schedule, micro-batches,
 * collectives, per-rank jitter, clock offset and drift. Deterministic: the same parameters and seed give the same bytes
 * everywhere.
 *
 * Ranks are numbered as Megatron does: tensor parallel fastest, then data parallel, then pipeline stage; eight ranks
 * share a host and its clock. All times are ns. `true` times count from the start of the run on one perfect clock; what
 * is written is the host's own clock (synth_local_time).
 */
#ifndef MAREY_SYNTH_SYNTH_H
#define MAREY_SYNTH_SYNTH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/diag.h"
#include "base/thread.h"
#include "convert/convert.h"

typedef enum synth_fault_kind {
    FAULT_SLOW_RANK,    /* a: rank; its compute takes `factor` times as long */
    FAULT_SLOW_LINK,    /* a, b: ranks; the bandwidth between them is multiplied by `factor` */
    FAULT_STALL,        /* a: rank; one pause of `duration_ns` in the middle of a step */
    FAULT_IMBALANCE,    /* a: stage; its compute takes `factor` times as long */
    FAULT_LAUNCH_BOUND, /* a: rank; launching takes `factor` times as long as the kernels run, on average */
    FAULT_STEP_OUTLIER  /* a: step; all compute in it takes `factor` times as long */
} synth_fault_kind;

/** "slow-rank", ...: as on the command line, in truth.json and in a finding's kind (imbalance: "stage-imbalance"). */
const char *synth_fault_name(synth_fault_kind kind);
const char *synth_finding_kind(synth_fault_kind kind);

typedef struct synth_fault {
    synth_fault_kind kind;
    int64_t a, b;         /* rank; rank-rank; stage; step. b: -1 where there is no second */
    double factor;        /* 0: not given */
    int64_t duration_ns;  /* of a stall; 0: not given */
    int64_t step0, step1; /* inclusive; -1: all */
    bool used;            /* set by synth_check: something of the run goes over this link, or through this rank */
} synth_fault;

enum {
    SYNTH_MAX_FAULTS = 32,
    SYNTH_MAX_RANKS = 65536,
    SYNTH_MAX_TP = 64,
    SYNTH_RANKS_PER_HOST = 8,
    SYNTH_MIN_DETAIL = 4,
    SYNTH_MAX_DETAIL = 48
};

typedef enum synth_grad_sync {
    GRAD_ALLREDUCE, /* gradients by all-reduce in buckets, over the tail of the last backward */
    GRAD_SHARDED    /* reduce-scatter there, and parameters by all-gather behind the optimizer */
} synth_grad_sync;

typedef enum synth_arguments {
    ARGS_NONE,        /* not even collectives' */
    ARGS_COLLECTIVES, /* the events of collectives, sends and receives */
    ARGS_ALL
} synth_arguments;

typedef struct synth_params {
    const char *preset;                 /* "pangu-13b", "resnet50"; static text */
    int ranks, pp, tp, dp;              /* 0: completed by synth_check so that ranks = pp * tp * dp */
    int steps, first_step;              /* number of steps, and of the first one (ProfilerStep#first_step) */
    int micro_batches, layers, buckets; /* buckets 0: one per layer of a stage */
    uint64_t seed;
    int64_t clock_offset_max_ns, clock_jitter_max_ns;
    double clock_drift_max_ppm;
    double noise; /* relative deviation of a kernel's duration; about 0.02 */
    int detail; /* kernels per layer and forward pass, roughly (4 to 48); sets the number of events; 0: the model's own
                 */
    bool cpu;   /* with CPU operators, launches and annotations of modules */
    bool graph; /* with the model's computational graph: synth/graph.h */
    bool recompute; /* each backward runs its forward again first */
    bool p2p_wait;  /* a receive runs from when it is posted (it spins); else both sides start when both are ready */
    synth_grad_sync grad_sync;
    synth_arguments arguments; /* of the direct path; Kineto JSON has them all */
    synth_fault faults[SYNTH_MAX_FAULTS];
    int n_faults;
} synth_params;

/** Defaults of a preset. false: no such preset. */
bool synth_preset(const char *name, synth_params *p);
/** Parse "slow-rank:5,1.6@3..7" and its like. Errors: ARG with what was expected. */
marey_status synth_parse_fault(const char *text, synth_fault *f, diag *d);
/** Complete and check. Errors: ARG or LIMIT, with one sentence. */
marey_status synth_check(synth_params *p, diag *d);

/* What a run of these parameters comes to; valid after synth_check. */
typedef struct synth_size {
    uint64_t n_events; /* intervals and instants, exactly */
    int64_t duration_ns;
} synth_size;
/** Simulate once and count. Costs about 10 ns an event. */
marey_status synth_measure(const synth_params *p, synth_size *size, diag *d);
/** Choose the detail (and whether there is a host side at all) that comes nearest to `events` per rank. */
marey_status synth_fit_events(synth_params *p, uint64_t events, diag *d);

/** Write Kineto JSON, one file per rank ("rank12.pt.trace.json"), into folder `out`, with truth.json and, if wanted,
 * graph.json. The folder is made; it may hold an earlier simulated run, which is replaced, and nothing else. */
marey_status synth_write_kineto(const synth_params *p, const char *out, cancel_flag *cancel, diag *d);
/** Write the HDF5 file directly (through the converter, without JSON), with OUT.truth.json. */
marey_status synth_write_h5(const synth_params *p, const convert_options *options, convert_summary *summary, diag *d);

#endif
