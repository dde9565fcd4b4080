#include "base/thread.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/status.h"

typedef struct job {
    struct job *next;
    pool_fn fn;
    void *ctx;
} job;

struct pool {
    pthread_mutex_t lock;
    pthread_cond_t wake; /* a job came, or stop */
    pthread_cond_t idle; /* backlog fell to 0 */
    job *head;
    job **tail;
    size_t backlog;
    atomic_uint n_events; /* jobs that came, and stop: who looks for a change sees it here before it sleeps */
    bool stop;
    bool looks; /* there are cores for it */
    unsigned n;
    pthread_t threads[];
};

/* Waking a thread costs 50 µs and, where a processor that rests has to be woken as well, up to some ms: so one looks for
 * a while before it sleeps. */
static void look_for_job(pool *p)
{
    enum { LOOKS = 8 };
    (void)pthread_mutex_lock(&p->lock);
    unsigned seen = atomic_load(&p->n_events);
    bool has_one = p->head || p->stop || !p->looks;
    (void)pthread_mutex_unlock(&p->lock);
    for (unsigned i = 0; i < LOOKS && !has_one && atomic_load(&p->n_events) == seen; i++) {
        thread_spin(&p->n_events, seen);
    }
}

static job *take(pool *p, bool waits)
{
    if (waits) {
        look_for_job(p);
    }
    (void)pthread_mutex_lock(&p->lock);
    while (waits && !p->head && !p->stop) {
        (void)pthread_cond_wait(&p->wake, &p->lock);
    }
    job *j = p->head;
    if (j) {
        p->head = j->next;
        if (!p->head) {
            p->tail = &p->head;
        }
    }
    (void)pthread_mutex_unlock(&p->lock);
    return j;
}

static void run(pool *p, job *j)
{
    j->fn(j->ctx);
    free(j);
    (void)pthread_mutex_lock(&p->lock);
    if (--p->backlog == 0) {
        (void)pthread_cond_broadcast(&p->idle);
    }
    (void)pthread_mutex_unlock(&p->lock);
}

static void *work(void *arg)
{
    pool *p = arg;
    job *j;
    while ((j = take(p, true)) != NULL) {
        run(p, j);
    }
    return NULL;
}

bool pool_help(pool *p)
{
    job *j = take(p, false);
    if (j) {
        run(p, j);
    }
    return j != NULL;
}

unsigned thread_cores(void)
{
    static atomic_uint known; /* asking takes as long as opening a file */
    unsigned n = atomic_load_explicit(&known, memory_order_relaxed);
    if (n == 0) {
        long online = sysconf(_SC_NPROCESSORS_ONLN);
        n = online > 0 ? (unsigned)online : 1;
        atomic_store_explicit(&known, n, memory_order_relaxed);
    }
    return n;
}

pool *pool_create(unsigned n_threads)
{
    unsigned n = n_threads ? n_threads : thread_cores();
    pool *p = mem_calloc(1, sizeof *p + n * sizeof p->threads[0]);
    (void)pthread_mutex_init(&p->lock, NULL);
    (void)pthread_cond_init(&p->wake, NULL);
    (void)pthread_cond_init(&p->idle, NULL);
    p->tail = &p->head;
    p->looks = thread_cores() > 1;
    for (unsigned i = 0; i < n; i++) {
        if (pthread_create(&p->threads[i], NULL, work, p) != 0) {
            break;
        }
        p->n++;
    }
    MAREY_ASSERT(p->n > 0);
    return p;
}

void pool_run(pool *p, pool_fn fn, void *ctx)
{
    job *j = mem_alloc(sizeof *j);
    *j = (job){NULL, fn, ctx};
    (void)pthread_mutex_lock(&p->lock);
    *p->tail = j;
    p->tail = &j->next;
    p->backlog++;
    (void)atomic_fetch_add(&p->n_events, 1);
    (void)pthread_cond_signal(&p->wake);
    (void)pthread_mutex_unlock(&p->lock);
}

void pool_wait(pool *p)
{
    (void)pthread_mutex_lock(&p->lock);
    while (p->backlog > 0) {
        (void)pthread_cond_wait(&p->idle, &p->lock);
    }
    (void)pthread_mutex_unlock(&p->lock);
}

size_t pool_backlog(pool *p)
{
    (void)pthread_mutex_lock(&p->lock);
    size_t n = p->backlog;
    (void)pthread_mutex_unlock(&p->lock);
    return n;
}

/* ------------------------------------------------------------------ one call for each of many */

typedef struct each {
    pool *pool;
    pool_each_fn fn;
    void *ctx;
    size_t n;
    atomic_size_t next;
    atomic_uint n_workers; /* that joined; the caller is none of them */
    unsigned n_jobs;       /* queued or running; under the pool's lock */
} each;

static void take_turns(each *e, unsigned worker)
{
    size_t i;
    while ((i = atomic_fetch_add_explicit(&e->next, 1, memory_order_relaxed)) < e->n) {
        e->fn(e->ctx, i, worker);
    }
}

static void join_each(void *ctx)
{
    each *e = ctx;
    take_turns(e, atomic_fetch_add(&e->n_workers, 1) + 1);
    pool *p = e->pool;
    (void)pthread_mutex_lock(&p->lock);
    e->n_jobs--; /* when it is the last one, `e` is gone as soon as the lock is */
    (void)pthread_cond_broadcast(&p->idle);
    (void)pthread_mutex_unlock(&p->lock);
}

/* Jobs that no worker took yet are not needed any more. Lock held. */
static void drop_jobs(pool *p, each *e)
{
    job **at = &p->head;
    while (*at) {
        job *j = *at;
        if (j->ctx == e && j->fn == join_each) {
            *at = j->next;
            p->backlog--;
            e->n_jobs--;
            free(j);
        } else {
            at = &j->next;
        }
    }
    p->tail = at;
}

void pool_each(pool *p, size_t n, pool_each_fn fn, void *ctx)
{
    each e = {.pool = p, .fn = fn, .ctx = ctx, .n = n};
    unsigned wanted = !p || n < 2 ? 0 : n - 1 < p->n ? (unsigned)(n - 1) : p->n;
    e.n_jobs = wanted;
    for (unsigned i = 0; i < wanted; i++) {
        pool_run(p, join_each, &e);
    }
    take_turns(&e, 0);
    if (wanted > 0) {
        (void)pthread_mutex_lock(&p->lock);
        drop_jobs(p, &e);
        while (e.n_jobs > 0) {
            (void)pthread_cond_wait(&p->idle, &p->lock);
        }
        (void)pthread_mutex_unlock(&p->lock);
    }
}

void pool_dismiss(pool *p)
{
    (void)pthread_mutex_lock(&p->lock);
    p->stop = true;
    (void)atomic_fetch_add(&p->n_events, 1);
    (void)pthread_cond_broadcast(&p->wake);
    (void)pthread_mutex_unlock(&p->lock);
}

void pool_destroy(pool **pp)
{
    pool *p = *pp;
    if (!p) {
        return;
    }
    pool_wait(p);
    pool_dismiss(p);
    for (unsigned i = 0; i < p->n; i++) {
        (void)pthread_join(p->threads[i], NULL);
    }
    (void)pthread_cond_destroy(&p->idle);
    (void)pthread_cond_destroy(&p->wake);
    (void)pthread_mutex_destroy(&p->lock);
    free(p);
    *pp = NULL;
}

void thread_spin(const atomic_uint *value, unsigned old)
{
    enum { SPINS = 1000 }; /* a pause takes 10 to 140 cycles, by processor */
    for (unsigned i = 0; i < SPINS && atomic_load_explicit(value, memory_order_acquire) == old; i++) {
#if defined __x86_64__ || defined __i386__
        __builtin_ia32_pause();
#elif defined __aarch64__
        __asm__ volatile("yield");
#endif
    }
}
