/*
 * A pool of workers that run jobs, and a cancel flag that long work looks at.
 * Thread: pool_run and pool_wait from any thread; jobs must not wait on the pool they run in.
 */
#ifndef MAREY_BASE_THREAD_H
#define MAREY_BASE_THREAD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct pool pool;
typedef void (*pool_fn)(void *ctx);

/** @param n_threads workers; 0: as many as the machine has cores */
pool *pool_create(unsigned n_threads);
void pool_destroy(pool **p); /* runs what is queued, then stops */
/** No job comes after those that are queued: the workers end beside the caller, and pool_destroy() need not wait for
 * it. */
void pool_dismiss(pool *p);
void pool_run(pool *p, pool_fn fn, void *ctx);
void pool_wait(pool *p);      /* until nothing is queued or running */
size_t pool_backlog(pool *p); /* queued + running now */
/** Run one job that no worker took yet on the calling thread, which has to wait for jobs. @return false: there is none
 */
bool pool_help(pool *p);

typedef void (*pool_each_fn)(void *ctx, size_t i, unsigned worker);
/**
 * Call fn once for each i of [0, n), on the calling thread and on workers that are free, and return when all are done.
 * `worker` tells those that run at a time apart: 0 is the caller, the others are at most the pool's threads. A worker
 * that is busy is not waited for. Not from a job of the same pool. p NULL: on the calling thread alone, in order.
 */
void pool_each(pool *p, size_t n, pool_each_fn fn, void *ctx);
unsigned thread_cores(void);
/** Look whether *value is still `old` for as long as waking a sleeper would take, some 50 µs, without giving the core
 * away; then return, whatever it is. */
void thread_spin(const atomic_uint *value, unsigned old);

typedef struct cancel_flag {
    atomic_bool set;
} cancel_flag;

static inline bool is_cancelled(cancel_flag *c)
{
    return c && atomic_load_explicit(&c->set, memory_order_relaxed);
}

#endif
