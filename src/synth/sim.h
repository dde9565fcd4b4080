/*
 * Devices at work: the ranks of one tensor-parallel group run the tasks of one stage, kernel by kernel. What comes from
 * other groups (the ends of transfers and of collectives) is told by the caller, so that the same code serves twice:
 * solve.c runs all groups together to find those times, and emit.c runs one group again to write down what one of its
 * ranks did.
 *
 * A kernel starts when the one before it on the stream is done and its launch has come through; hosts launch ahead, at
 * most one task. All members of a tensor-parallel all-reduce leave it together, when the last has come and the bytes
 * are over.
 */
#ifndef MAREY_SYNTH_SIM_H
#define MAREY_SYNTH_SIM_H

#include "base/clock.h"
#include "synth/plan.h"

typedef enum sim_part { PART_FORWARD, PART_RECOMPUTE, PART_BACKWARD, PART_OPTIMIZER } sim_part;

/* One operator of the watched rank. Its launch begins at host_ns and costs cost_ns. */
typedef struct sim_op {
    const plan_op *op;
    int64_t host_ns, cost_ns;
    int64_t start_ns, end_ns; /* on the device */
} sim_op;

typedef struct sim_watch {
    int tp; /* the watched member */
    void *ctx;
    void (*op)(void *ctx, const sim_op *o);
    /* A layer begins or ends; host and dev are the rank's times then. */
    void (*layer)(void *ctx, sim_part part, int layer, bool begins, int64_t host_ns, int64_t dev_ns);
} sim_watch;

typedef struct sim_rank {
    int64_t dev;   /* the compute stream is free */
    int64_t host;  /* the launching thread is free */
    int64_t begun; /* first kernel of the previous task */
    int64_t dp_free;
    int64_t ready[PLAN_MAX_BUCKETS];  /* gradients of a bucket are complete */
    int64_t launch[PLAN_MAX_BUCKETS]; /* its collective's launch begins */
    int64_t factor, task_factor;      /* 1/65536 */
    int64_t cost_ns;                  /* of a launch */
    int64_t stall_ns, stalled_at;     /* this step's pause; when it began, -1 */
    prng rng;
} sim_rank;

typedef struct sim_group {
    const plan *pl;
    int stage, dp, step;    /* step: its own number */
    int64_t tp_ns;          /* an all-reduce inside a layer */
    sim_rank *ranks;        /* tp of them; the caller's */
    const sim_watch *watch; /* or NULL */
} sim_group;

void sim_begin_run(sim_group *g);
/** Times before: `step_begin` of each rank is its host's time. After: data are loaded. */
void sim_begin_step(sim_group *g, int step);

/** When member `tp` has posted the receive of its next task's input. */
int64_t sim_post_ns(const sim_group *g, int tp);
/** The input has come. */
void sim_receive(sim_group *g, int tp, int64_t end_ns);
/** Run task number `k` of the step. */
void sim_run_task(sim_group *g, int k);
/** The task's output is ready to be sent; takes the launch of the send. @return the time */
int64_t sim_send_ns(sim_group *g, int tp);

/** Arrival of member `tp` at its bucket's collective, and that its group is done. */
int64_t sim_bucket_arrival(const sim_group *g, int tp, int bucket);
int64_t sim_bucket_done(sim_group *g, int tp, int64_t end_ns);
/** Arrival at a collective of all ranks on the compute stream's path; and the end. @return the rank's own end */
int64_t sim_meet_arrival(const sim_group *g, int tp);
int64_t sim_meet_done(sim_group *g, int tp, int64_t end_ns);
/** Gradients are in: the norm's kernels; later the optimizer's. */
void sim_wait_for_buckets(sim_group *g, int tp);
void sim_run_norm(sim_group *g);
void sim_run_optimizer(sim_group *g);
/** The gather of parameters (GRAD_SHARDED) in buckets behind the optimizer, on the communication stream. */
int64_t sim_gather_arrival(const sim_group *g, int tp);
int64_t sim_gather_done(sim_group *g, int tp, int64_t end_ns);
/** The host has waited for the device: the step is over. */
void sim_end_step(sim_group *g);

/** A hash of numbers for noise on things that belong to no rank: [-1, 1) roughly normal. */
double sim_noise(uint64_t seed, uint64_t a, uint64_t b, uint64_t c);

#endif
