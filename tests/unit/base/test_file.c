/*
 * Contract: a file appears under its name only when it is whole; names sort by the value of the numbers in them; a pool
 * runs every job once; the same seed gives the same numbers on every machine.
 */
#include "cm.h"

#include <stdatomic.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/thread.h"

static void writes_whole_files(void **state)
{
    (void)state;
    char dir[] = "/tmp/marey-test-XXXXXX";
    assert_non_null(mkdtemp(dir));
    char path[64];
    (void)snprintf(path, sizeof path, "%s/out", dir);
    diag d;
    diag_init(&d);
    assert_int_equal(file_write_all(path, "hello", 5, &d), MAREY_OK);
    char *data = NULL;
    size_t size = 0;
    assert_int_equal(file_read_all(path, 100, &data, &size, &d), MAREY_OK);
    assert_int_equal(size, 5);
    assert_memory_equal(data, "hello", 6);
    free(data);
    assert_int_equal(file_read_all(path, 3, &data, &size, &d), MAREY_LIMIT);
    assert_int_equal(file_write_all("/nonexistent/dir/out", "x", 1, &d), MAREY_IO);
    assert_int_equal(d.n_messages, 2);
    diag_deinit(&d);
    (void)unlink(path);
    assert_int_equal(rmdir(dir), 0); /* nothing else was left there */
}

static size_t files_in(const char *dir)
{
    arena names = {0};
    char **paths = NULL;
    size_t n = 0;
    assert_int_equal(file_list(dir, &names, &paths, &n, NULL), MAREY_OK);
    free(paths);
    arena_deinit(&names);
    return n;
}

static void names_a_file_when_it_is_whole(void **state)
{
    (void)state;
    char dir[] = "/tmp/marey-test-XXXXXX";
    assert_non_null(mkdtemp(dir));
    char path[64];
    (void)snprintf(path, sizeof path, "%s/out", dir);
    for (size_t before = 0; before < 2; before++) { /* a new one, and one in place of another */
        file_aside a;
        assert_true(file_aside_open(&a, path));
        assert_int_equal(files_in(dir), before + (a.path != NULL));
        assert_true(file_pwrite(a.fd, "hello", 5, before));
        assert_int_equal(file_aside_commit(&a, NULL), MAREY_OK);
        assert_int_equal(file_size(path), 5 + before);
        assert_int_equal(files_in(dir), 1);
        file_aside_discard(&a); /* nothing */
        assert_true(file_aside_open(&a, path));
        file_aside_discard(&a);
        assert_int_equal(files_in(dir), 1);
    }
    file_aside a;
    assert_false(file_aside_open(&a, "/nonexistent/dir/out"));
    file_aside_discard(&a);
    assert_true(file_aside_open(&a, path));
    (void)unlink(path);
    assert_int_equal(rmdir(dir), a.path ? -1 : 0); /* the folder goes away under it: an error, no leftover */
    if (!a.path) {
        diag d;
        diag_init(&d);
        assert_int_equal(file_aside_commit(&a, &d), MAREY_IO);
        assert_int_equal(d.n_messages, 1);
        diag_deinit(&d);
    }
    file_aside_discard(&a);
    (void)rmdir(dir);
}

static void sorts_names_by_number(void **state)
{
    (void)state;
    assert_true(name_compare("rank2.json", "rank10.json") < 0);
    assert_true(name_compare("rank10.json", "rank10.json") == 0);
    assert_true(name_compare("a", "b") < 0);
    assert_true(name_compare("rank10", "rank9a") > 0);
    assert_true(name_compare("x", "xy") < 0);
}

static void count_up(void *ctx)
{
    atomic_fetch_add((atomic_int *)ctx, 1);
}

static void pool_runs_every_job(void **state)
{
    (void)state;
    atomic_int n = 0;
    pool *p = pool_create(3);
    for (int i = 0; i < 1000; i++) {
        pool_run(p, count_up, &n);
    }
    pool_wait(p);
    assert_int_equal(n, 1000);
    pool_run(p, count_up, &n);
    pool_destroy(&p);
    assert_null(p);
    assert_int_equal(n, 1001);
}

static void seeds_give_known_numbers(void **state)
{
    (void)state;
    prng r;
    prng_seed(&r, 42);
    assert_int_equal(prng_next(&r), 1546998764402558742ULL);
    assert_int_equal(prng_next(&r), 6990951692964543102ULL);
    for (int i = 0; i < 1000; i++) {
        double u = prng_unit(&r);
        assert_true(u >= 0 && u < 1);
        assert_true(prng_below(&r, 7) < 7);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(writes_whole_files), cmocka_unit_test(names_a_file_when_it_is_whole),
                                       cmocka_unit_test(sorts_names_by_number), cmocka_unit_test(pool_runs_every_job),
                                       cmocka_unit_test(seeds_give_known_numbers)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
