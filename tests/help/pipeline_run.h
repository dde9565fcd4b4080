/* A hand-made pipeline-parallel run: stages of ranks, two steps, forward and backward of micro-batches, sends, an
 * all-reduce that waits for the slowest; rank 5 is slow. The same on every machine. */
#ifndef TESTS_HELP_PIPELINE_RUN_H
#define TESTS_HELP_PIPELINE_RUN_H

#include <math.h>

#include "help/small_run.h"

typedef struct pipeline {
    small_run *r;
    uint32_t forward, backward, reduce, send, phase_forward, phase_backward, step_name;
    uint32_t compute, communication, phases, steps; /* tracks of the rank at hand */
} pipeline;

enum { PIPE_KERNELS = 8, PIPE_BATCHES = 4 };

static inline int64_t pipe_ns(double us)
{
    return (int64_t)(us * 1000);
}

/* One micro-batch: its kernels one after the other, and the phase around them. @return its end, us */
static inline double pipe_batch(pipeline *p, double t, double us, bool forward, uint32_t k)
{
    uint8_t klass = forward ? CLASS_FORWARD : CLASS_BACKWARD;
    double each = us / PIPE_KERNELS;
    for (uint32_t i = 0; i < PIPE_KERNELS; i++) {
        small_put(p->r, (small_event){p->compute, pipe_ns(t + each * i), pipe_ns(each * 0.94),
                                      forward ? p->forward : p->backward, k * PIPE_KERNELS + i, klass, 0, NULL});
    }
    small_put(p->r, (small_event){p->phases, pipe_ns(t), pipe_ns(us) - 1,
                                  forward ? p->phase_forward : p->phase_backward, k, klass, 0, NULL});
    return t + us;
}

static inline void pipe_step(pipeline *p, uint32_t rank, int stage, int stages, uint32_t step)
{
    double begin = 12000.0 * step;
    double slow = rank == 5 ? 1.3 : 1;
    double t = begin + 600 * stage + 15 * (rank % 4);
    small_step(p->r, rank, step, pipe_ns(begin), pipe_ns(begin + 11900));
    small_put(p->r,
              (small_event){p->steps, pipe_ns(begin), pipe_ns(11900), p->step_name, 0, CLASS_ANNOTATION, 0, NULL});
    for (uint32_t k = 0; k < PIPE_BATCHES; k++) {
        t = pipe_batch(p, t, 560 * slow, true, k);
        small_put(p->r, (small_event){p->communication, pipe_ns(t + 2), pipe_ns(25), p->send, k, CLASS_SEND, 0, NULL});
        t += 40;
    }
    t = fmax(t, begin + 600 * stages + 600 * (stages - stage));
    for (uint32_t k = 0; k < PIPE_BATCHES; k++) {
        t = pipe_batch(p, t, 1150 * slow, false, k) + 60;
    }
    uint8_t flags = rank == 6 && step == 1 ? SEVERITY_ERROR : 0;
    small_put(p->r, (small_event){p->communication, pipe_ns(t), pipe_ns(begin + 11600 - t), p->reduce, 0,
                                  CLASS_COLLECTIVE, flags, NULL});
}

static inline void pipeline_run(small_run *r, int stages, int per_stage)
{
    pipeline p = {.r = r};
    small_init(r);
    r->m.name = "pipeline";
    p.forward = small_name(r, "gemm_forward", CLASS_FORWARD, KIND_COMPUTE);
    p.backward = small_name(r, "gemm_backward", CLASS_BACKWARD, KIND_COMPUTE);
    p.reduce = small_name(r, "AllReduce", CLASS_COLLECTIVE, KIND_COMMUNICATION);
    p.send = small_name(r, "send", CLASS_SEND, KIND_COMMUNICATION);
    p.phase_forward = small_name(r, "forward", CLASS_FORWARD, KIND_PHASE);
    p.phase_backward = small_name(r, "backward", CLASS_BACKWARD, KIND_PHASE);
    p.step_name = small_name(r, "step", CLASS_ANNOTATION, KIND_STEP);
    for (int i = 0; i < stages * per_stage; i++) {
        char host[32];
        (void)snprintf(host, sizeof host, "node%d", i / 8);
        uint32_t rank = small_rank(r, i / per_stage, host);
        p.compute = small_lane(r, KIND_COMPUTE, "stream 7", 1);
        p.communication = small_lane(r, KIND_COMMUNICATION, "stream 20", 1);
        p.phases = small_lane(r, KIND_PHASE, "phases", 1);
        p.steps = small_lane(r, KIND_STEP, "steps", 1);
        for (uint32_t step = 0; step < 2; step++) {
            pipe_step(&p, rank, i / per_stage, stages, step);
        }
    }
}

#endif
