/*
 * The times at which ranks meet: transfers between stages and collectives, for the whole run. With them, what one rank
 * did can be replayed alone. 16 bytes per rank, step and micro-batch, and little more.
 */
#ifndef MAREY_SYNTH_SOLVE_H
#define MAREY_SYNTH_SOLVE_H

#include "base/thread.h"
#include "synth/sim.h"

/* Collectives of all ranks in each step, in this order. */
enum { MEET_FOUND_INF, MEET_NORM, MEET_LOSS, MEET_COUNT };

typedef struct solution {
    plan pl;
    int64_t *fwd_start;                   /* [step][receiving rank][micro-batch]: the transfer of activations begins */
    int64_t *bwd_start;                   /* the same of gradients */
    int64_t *bucket_end;                  /* [step][data-parallel group][bucket] */
    int64_t *gather_end;                  /* the same; NULL unless GRAD_SHARDED */
    int64_t *meet_end;                    /* [step][MEET_COUNT] */
    int64_t stalled_at[SYNTH_MAX_FAULTS]; /* true time of a stall's begin, -1 */
    int64_t end_ns;                       /* of the run */
} solution;

/** Errors: CANCELLED. On failure nothing is left to free. */
marey_status solve(solution *s, const synth_params *p, cancel_flag *cancel);
void solution_deinit(solution *s);

int64_t solution_transfer_start(const solution *s, bool backward, int step_index, int receiver, int micro_batch);
int64_t solution_transfer_end(const solution *s, bool backward, int step_index, int receiver, int micro_batch);
/** The other end of what `rank` receives in this direction (from the stage before for forward), or -1. */
int solution_sender(const plan *pl, bool backward, int rank);
int solution_receiver(const plan *pl, bool backward, int rank);
int64_t solution_bucket_end(const solution *s, int step_index, int rank, int bucket);
int64_t solution_gather_end(const solution *s, int step_index, int rank, int bucket);

/** Bytes of the step's collectives. */
int64_t solution_bucket_wire_bytes(const plan *pl, int stage);

#endif
