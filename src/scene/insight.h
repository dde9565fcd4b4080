/*
 * What a diagnosis of the run says, worked out once on a thread of its own, beside the drawing: the numbers of the
 * cells beside the rows, of the overview's modes, and the findings that are marked.
 *
 * Owner: the scene. Thread: all functions but the wake on the drawing thread.
 */
#ifndef MAREY_SCENE_INSIGHT_H
#define MAREY_SCENE_INSIGHT_H

#include "diagnose/diagnose.h"

/* What the input states of a rank; NaN: nothing. Means over what it states of several steps, but for the peak. */
typedef struct stated_metrics {
    double flops_rate;  /* FLOP/s */
    double utilization; /* 0 to 1 */
    double peak_memory; /* bytes */
} stated_metrics;

typedef struct insight insight;

/** Starts nothing yet. */
insight *insight_create(store_file *f);
void insight_destroy(insight **w); /* cancels what is under way */
/** Called when the diagnosis is there, on the worker's thread. */
void insight_set_wake(insight *w, void (*wake)(void *ctx), void *ctx);
/** The diagnosis; NULL: not there yet (*is_due), or the run could not be read. The first call starts the work. It
 * never changes once it is there, and lives until insight_destroy. */
const diagnosis *insight_get(insight *w, bool *is_due);
/** What the input states of each rank [n_ranks]; NULL: not read yet (*is_due). The first call of either starts its part
 * of the work. */
const stated_metrics *insight_metrics(insight *w, bool *is_due);
/** Wait for what was started. @return true when something was under way */
bool insight_settle(insight *w);
/** Why there is none; NULL: nothing went wrong so far. */
const char *insight_error(insight *w);

#endif
