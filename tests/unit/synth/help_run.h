/* A small simulated run, all its events gathered in memory, for the tests of what holds in it. */
#ifndef MAREY_TESTS_SYNTH_HELP_RUN_H
#define MAREY_TESTS_SYNTH_HELP_RUN_H

#include "synth/emit.h"

typedef struct kept_event {
    synth_event e;
    coll_info coll; /* what e.coll pointed to, when has_coll */
    bool has_coll;
} kept_event;

typedef struct kept_rank {
    kept_event *events;
    size_t n, cap;
    synth_flow *flows;
    size_t n_flows, cap_flows;
} kept_rank;

typedef struct kept_run {
    solution s;
    kept_rank *ranks;
} kept_run;

/** pangu-13b of 16 ranks (4 stages x 4) and few kernels, without noise, `steps` steps; a test changes it then. */
synth_params small_params(int steps);
void add_fault(synth_params *p, const char *text);
/** Simulate and gather. The parameters must pass synth_check. */
void keep_run(kept_run *k, synth_params *p);
void free_run(kept_run *k);

/** Sum of durations of the rank's kernels in a thread. */
int64_t kernel_time(const kept_run *k, int rank, synth_thread thread);
/** The i-th event of a kind and name, or NULL. */
const kept_event *find_event(const kept_run *k, int rank, event_kind kind, synth_name name, int64_t index, int skip);

#endif
