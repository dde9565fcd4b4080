#include "app/work.h"

#include <stddef.h>

void work_init(work *w, pool *p, void (*wake)(void *ctx), void *wake_ctx)
{
    w->pool = p;
    w->wake = wake;
    w->wake_ctx = wake_ctx;
    atomic_init(&w->cancel.set, false);
    atomic_init(&w->is_done, false);
    w->is_running = false;
    w->job = NULL;
}

static void run(void *arg)
{
    work *w = arg;
    if (!is_cancelled(&w->cancel)) {
        w->run(w->job, &w->cancel);
    }
    void (*wake)(void *) = w->wake;
    void *ctx = w->wake_ctx;
    atomic_store(&w->is_done, true);
    if (wake) {
        wake(ctx);
    }
}

void work_start(work *w, work_fn fn, void *job)
{
    atomic_store(&w->cancel.set, false);
    atomic_store(&w->is_done, false);
    w->run = fn;
    w->job = job;
    w->is_running = true;
    pool_run(w->pool, run, w);
}

bool work_is_busy(const work *w)
{
    return w->is_running;
}

void work_cancel(work *w)
{
    if (w->is_running) {
        atomic_store(&w->cancel.set, true);
    }
}

void *work_take(work *w, bool *was_cancelled)
{
    if (!w->is_running || !atomic_load(&w->is_done)) {
        return NULL;
    }
    void *job = w->job;
    *was_cancelled = is_cancelled(&w->cancel);
    w->job = NULL;
    w->is_running = false;
    return job;
}
