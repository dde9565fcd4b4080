/*
 * Contract of cache/cache.h with loader threads (run under the tsan preset as well): a key is in flight once;
 * everything asked for arrives, or is known to have failed; the wake function is called; waiting ends; destroying in
 * the middle of loading cancels and leaves nothing behind.
 */
#include <time.h>

#include "cm.h"

#include "base/clock.h"
#include "help/fake_source.h"

static void nap(void)
{
    (void)nanosleep(&(struct timespec){0, 200000}, NULL);
}

static void count_wake(void *ctx)
{
    atomic_fetch_add((atomic_uint *)ctx, 1U);
}

static cache *make(fake_source *f, atomic_uint *wakes)
{
    cache_source source = fake_cache_source(f);
    cache_options options = {.budget_bytes = 0, .n_threads = 3, .wake = count_wake, .wake_ctx = wakes};
    cache *c = NULL;
    assert_int_equal(cache_create(&c, &source, &options, NULL), MAREY_OK);
    return c;
}

static bool frame(cache *c, uint32_t n)
{
    bool complete = true;
    cache_begin_frame(c);
    for (uint32_t i = 0; i < n; i++) {
        const cache_block *b = cache_get_block(c, i, 0);
        if (b) {
            assert_int_equal(b->columns->start_ns[9], (int64_t)i * 1000 + 9);
        }
        const cache_tile *t = cache_get_tile(c, i, 0);
        if (t) {
            assert_int_equal(t->cells[5].klass, i % CLASS_COUNT);
        }
        complete = complete && (b || cache_failed(c, false, i)) && (t || cache_failed(c, true, i));
    }
    cache_end_frame(c);
    return complete;
}

static void everything_arrives(void **state)
{
    (void)state;
    fake_source f = {.faulty = 1U << 3, .pause = nap};
    atomic_uint wakes = 0;
    cache *c = make(&f, &wakes);
    int64_t limit = clock_now_ns() + 60000000000;
    while (!frame(c, 40)) {
        assert_true(clock_now_ns() < limit);
        cache_wait(c, 1000);
    }
    cache_settle(c);
    assert_false(f.overlapped);
    assert_int_equal(f.n_reads, 80);
    assert_int_equal(cache_get_stats(c).n_loaded, 78);
    assert_int_equal(cache_get_stats(c).n_failed, 2);
    cache_destroy(&c); /* joins the threads, so that the last wake has been called */
    assert_in_range(wakes, 1, 80);
}

static void waiting_ends(void **state)
{
    (void)state;
    fake_source f = {0};
    atomic_uint wakes = 0;
    cache *c = make(&f, &wakes);
    int64_t before = clock_now_ns();
    cache_begin_frame(c);
    cache_end_frame(c);
    cache_wait(c, 20000); /* nothing in flight */
    cache_settle(c);
    assert_true(clock_now_ns() - before < 10000000000);
    cache_destroy(&c);
}

static void destroy_in_the_middle(void **state)
{
    (void)state;
    for (int round = 0; round < 20; round++) {
        fake_source f = {.pause = nap};
        atomic_uint wakes = 0;
        cache *c = make(&f, &wakes);
        (void)frame(c, 60);
        if (round % 2) {
            cache_wait(c, 1000);
        }
        cache_destroy(&c);
        assert_true(f.n_reads < 120);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_arrives),
        cmocka_unit_test(waiting_ends),
        cmocka_unit_test(destroy_in_the_middle),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
