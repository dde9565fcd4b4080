/*
 * Contract: pool_each() calls for every index exactly once and returns after the last call did; calls that run at the
 * same time have different worker numbers, 0 to the pool's threads; without a pool the calls come in order on the
 * calling thread; a worker that is busy with something else is not waited for; what was queued before still runs.
 * pool_help() runs what is queued on the calling thread, in order, one job a call, and says when there is none; what
 * a worker has is no business of it. Workers that are dismissed run what was queued first.
 */
#include <pthread.h>
#include <stdatomic.h>

#include "base/thread.h"
#include "cm.h"

enum { N = 5000, THREADS = 3 };

typedef struct counts {
    atomic_int calls[N];
    atomic_int inside[THREADS + 1]; /* by worker */
    atomic_int clashes, bad_workers;
} counts;

static void count(void *ctx, size_t i, unsigned worker)
{
    counts *c = ctx;
    if (worker > THREADS) {
        atomic_fetch_add(&c->bad_workers, 1);
        return;
    }
    if (atomic_fetch_add(&c->inside[worker], 1) != 0) {
        atomic_fetch_add(&c->clashes, 1);
    }
    atomic_fetch_add(&c->calls[i], 1);
    atomic_fetch_sub(&c->inside[worker], 1);
}

static void each_index_comes_once(void **state)
{
    (void)state;
    pool *p = pool_create(THREADS);
    static const size_t sizes[] = {0, 1, 2, 3, 4, 5, 100, N};
    for (size_t round = 0; round < 400; round++) {
        static counts c;
        size_t n = sizes[round % (sizeof sizes / sizeof *sizes)];
        for (size_t i = 0; i < N; i++) {
            atomic_store(&c.calls[i], 0);
        }
        pool_each(p, n, count, &c);
        for (size_t i = 0; i < N; i++) {
            assert_int_equal(atomic_load(&c.calls[i]), i < n);
        }
        assert_int_equal(atomic_load(&c.clashes), 0);
        assert_int_equal(atomic_load(&c.bad_workers), 0);
    }
    pool_destroy(&p);
}

typedef struct order {
    size_t next;
    bool ok;
} order;

static void in_order(void *ctx, size_t i, unsigned worker)
{
    order *o = ctx;
    o->ok = o->ok && worker == 0 && i == o->next;
    o->next++;
}

static void without_a_pool_calls_come_in_order(void **state)
{
    (void)state;
    order o = {0, true};
    pool_each(NULL, 100, in_order, &o);
    assert_true(o.ok && o.next == 100);
}

static void wait_for_flag(void *ctx)
{
    while (!atomic_load((atomic_bool *)ctx)) {
    }
}

static void busy_workers_are_not_waited_for(void **state)
{
    (void)state;
    static counts c;
    atomic_bool go_on = false;
    pool *p = pool_create(THREADS);
    for (int i = 0; i < THREADS; i++) {
        pool_run(p, wait_for_flag, &go_on);
    }
    for (size_t i = 0; i < N; i++) {
        atomic_store(&c.calls[i], 0);
    }
    pool_each(p, N, count, &c); /* would hang here */
    for (size_t i = 0; i < N; i++) {
        assert_int_equal(atomic_load(&c.calls[i]), 1);
    }
    assert_int_equal(pool_backlog(p), THREADS);
    atomic_store(&go_on, true);
    pool_wait(p);
    assert_int_equal(pool_backlog(p), 0);
    pool_destroy(&p);
}

typedef struct trail {
    pthread_t thread;
    int next;
    bool ok;
} trail;

typedef struct trail_job {
    trail *t;
    int number;
} trail_job;

static void follow(void *ctx)
{
    trail_job *j = ctx;
    j->t->ok = j->t->ok && pthread_equal(pthread_self(), j->t->thread) && j->t->next == j->number;
    j->t->next++;
}

/* Workers that have begun, and go on when they are told to. */
typedef struct held {
    atomic_int n_started;
    atomic_bool go_on;
} held;

static void hold(void *ctx)
{
    held *h = ctx;
    atomic_fetch_add(&h->n_started, 1);
    wait_for_flag(&h->go_on);
}

static void who_waits_can_help(void **state)
{
    (void)state;
    enum { JOBS = 5 };
    held h = {0};
    trail t = {pthread_self(), 0, true};
    trail_job jobs[JOBS];
    pool *p = pool_create(THREADS);
    for (int i = 0; i < THREADS; i++) {
        pool_run(p, hold, &h);
    }
    while (atomic_load(&h.n_started) < THREADS) {
    }
    for (int i = 0; i < JOBS; i++) {
        jobs[i] = (trail_job){&t, i};
        pool_run(p, follow, &jobs[i]);
    }
    for (int i = 0; i < JOBS; i++) {
        assert_int_equal(pool_backlog(p), THREADS + JOBS - i);
        assert_true(pool_help(p));
        assert_int_equal(t.next, i + 1);
    }
    assert_true(t.ok);
    assert_false(pool_help(p)); /* the workers' own jobs still run */
    assert_int_equal(pool_backlog(p), THREADS);
    atomic_store(&h.go_on, true);
    pool_wait(p);
    assert_false(pool_help(p));
    pool_destroy(&p);
}

static void add_one(void *ctx)
{
    atomic_fetch_add((atomic_uint *)ctx, 1);
}

/* It ends whether the value changes or not; and however often it gives up, a change is seen in the end. */
static void a_spin_ends(void **state)
{
    (void)state;
    atomic_uint value = 1;
    thread_spin(&value, 0);
    thread_spin(&value, 1);
    pool *p = pool_create(1);
    pool_run(p, add_one, &value);
    while (atomic_load(&value) == 1) {
        thread_spin(&value, 1);
    }
    pool_destroy(&p);
    assert_int_equal(atomic_load(&value), 2);
}

static void dismissed_workers_run_what_is_queued(void **state)
{
    (void)state;
    enum { JOBS = 100 };
    atomic_uint value = 0;
    pool *p = pool_create(THREADS);
    for (unsigned i = 0; i < JOBS; i++) {
        pool_run(p, add_one, &value);
    }
    pool_dismiss(p);
    pool_wait(p);
    assert_int_equal(atomic_load(&value), JOBS);
    assert_false(pool_help(p));
    pool_destroy(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_index_comes_once),
        cmocka_unit_test(without_a_pool_calls_come_in_order),
        cmocka_unit_test(busy_workers_are_not_waited_for),
        cmocka_unit_test(who_waits_can_help),
        cmocka_unit_test(a_spin_ends),
        cmocka_unit_test(dismissed_workers_run_what_is_queued),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
