/*
 * From the file to what a diagnosis needs, in one pass over the events: where each rank's time went in each step, every
 * communication, and the operators' totals. Rank groups are read side by side; memory grows with ranks x steps and with
 * the number of communications, not with the number of events.
 *
 * Owner: the caller (collected_free). Thread: the caller's; it starts workers of its own.
 */
#ifndef MAREY_DIAGNOSE_COLLECT_H
#define MAREY_DIAGNOSE_COLLECT_H

#include "base/thread.h"
#include "diagnose/breakdown.h"
#include "diagnose/comm.h"
#include "store/store.h"

enum { NO_STEP = UINT32_MAX };

/* An operator (a name of the compute lanes) on one rank, over all steps. */
typedef struct operator_sum {
    uint32_t rank, name;
    uint64_t n;
    int64_t sum_ns, max_ns;
    int64_t max_at_ns;
} operator_sum;

typedef struct collected {
    size_t n_ranks, n_steps;
    int64_t *step_index; /* [n_steps] ascending; one step "the run" (index 0) where the file states none */
    bool has_steps;      /* the file states them */
    bool steps_cut;      /* more than fit; the first ones are here */
    rank_step *cells;    /* [rank * n_steps + step] */
    bool *has_device;    /* [n_ranks] */
    comm_event *comm;    /* as comm_match() sorted them */
    size_t n_comm;
    comm_matching match;
    operator_sum *operators; /* by rank, then name */
    size_t n_operators;
    bool has_launches;  /* links from launches to kernels are known */
    uint64_t n_damaged; /* blocks that could not be read */
} collected;

static inline rank_step *collected_cell(const collected *c, size_t rank, size_t step)
{
    return &c->cells[rank * c->n_steps + step];
}

/* How far a pass over a file has come: blocks done, of how many. Written by workers, read by any thread. */
typedef struct collect_progress {
    atomic_uint done, of;
} collect_progress;

/** @param jobs  threads; 0: one per core. @param progress  may be NULL. Errors: IO, FORMAT (nothing could be read),
 * CANCELLED. Damaged blocks are counted and passed over. */
marey_status collect(store_file *f, unsigned jobs, cancel_flag *cancel, collect_progress *progress, collected *out,
                     diag *d);
void collected_free(collected *c);

#endif
