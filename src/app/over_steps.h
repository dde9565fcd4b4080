/*
 * How long one instance takes in each step: the same name and occurrence on the same lane of the same rank.
 *
 * Times: ns since the run's start. Thread: any. Owner: the caller (over_steps_deinit).
 */
#ifndef MAREY_APP_OVER_STEPS_H
#define MAREY_APP_OVER_STEPS_H

#include "base/thread.h"
#include "store/store.h"

#define OVER_STEPS_MAX_EVENTS UINT64_C(12000000) /* in the blocks that hold the rank: more are not looked through */

typedef struct step_duration {
    int64_t step; /* as the input counts */
    int64_t start_ns, dur_ns;
} step_duration;

typedef struct over_steps {
    step_duration *items; /* ascending by start; one a step */
    size_t n, cap;
    bool too_many;
    /* from items */
    int64_t median_ns; /* lower */
    size_t longest;    /* place in items */
} over_steps;

/** Errors: IO, FORMAT, CANCELLED. Cost: one pass over the events of the rank's group of ranks. */
marey_status over_steps_find(store_file *f, const store_event_info *e, over_steps *out, cancel_flag *cancel, diag *d);
void over_steps_deinit(over_steps *o);

#endif
