/*
 * Background work for the drawing thread: a slot holds at most one job of its kind.
 *
 *     if (!work_is_busy(&w)) { work_start(&w, run, job); }      the slot owns the job while it runs
 *     void *done = work_take(&w);                               in a later frame; the caller owns it again
 *
 * `run` looks at the cancel flag and returns soon when it is set. When it is done the slot's owner is woken.
 *
 * Thread: all functions on the owner's thread; `run` and `wake` on a worker.
 */
#ifndef MAREY_APP_WORK_H
#define MAREY_APP_WORK_H

#include <stdatomic.h>
#include <stdbool.h>

#include "base/thread.h"

typedef void (*work_fn)(void *job, cancel_flag *cancel);

typedef struct work {
    pool *pool;
    void (*wake)(void *ctx); /* may be NULL */
    void *wake_ctx;
    cancel_flag cancel;
    atomic_bool is_done;
    bool is_running; /* from work_start to work_take */
    work_fn run;
    void *job;
} work;

void work_init(work *w, pool *p, void (*wake)(void *ctx), void *wake_ctx);
/** @pre the slot is not busy */
void work_start(work *w, work_fn run, void *job);
bool work_is_busy(const work *w);
/** What runs now is no longer wanted. */
void work_cancel(work *w);
/** The job that came to its end (also one that was cancelled: *was_cancelled); NULL: none did. */
void *work_take(work *w, bool *was_cancelled);

#endif
