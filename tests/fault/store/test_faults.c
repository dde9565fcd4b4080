/*
 * Contract: the file at its name is whole or untouched; what is damaged is refused with a sentence, never a crash.
 *
 * Writing: a folder that is missing or not writable, a target that marey did not write, a full disk (a limit on the
 * file's size at many places), a writer that is destroyed early or whose process is killed. Reading: other files, every
 * kind of truncation, thousands of flipped bytes: each object of the file is then read, and whatever comes back is in
 * range.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/file.h"
#include "help/store_run.h"

/* HDF5 loses some memory on damaged files; ours is still checked. */
__attribute__((visibility("default"))) const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:libhdf5";
}

static run_params small(void)
{
    return (run_params){.seed = 21,
                        .n_ranks = 3,
                        .n_device_tracks = 2,
                        .n_cpu_tracks = 2,
                        .n_events = 400,
                        .unit_ns = 1000,
                        .has_long = true,
                        .has_args = true};
}

static size_t files_like(const char *path)
{
    char **names = NULL;
    size_t n = 0;
    size_t hits = 0;
    arena a = {0};
    char dir[256];
    (void)snprintf(dir, sizeof dir, "%.*s", (int)(path_base(path) - path), path);
    assert_int_equal(file_list(dir, &a, &names, &n, NULL), MAREY_OK);
    for (size_t i = 0; i < n; i++) {
        hits += strstr(names[i], path_base(path)) != NULL;
    }
    free(names);
    arena_deinit(&a);
    return hits;
}

static const char *own_folder(void)
{
    static char dir[128];
    (void)snprintf(dir, sizeof dir, "/tmp/marey-fault-%ld", (long)getpid());
    (void)mkdir(dir, 0755);
    return dir;
}

static void test_unwritable(void **state)
{
    (void)state;
    diag d;
    diag_init(&d);
    store_writer *w = NULL;
    assert_int_equal(store_writer_create(&w, "/nonexistent/folder/x.h5", NULL, &d), MAREY_IO);
    assert_null(w);
    assert_non_null(strstr(d.messages[0].text, "No such file"));
    assert_int_equal(store_writer_create(&w, "/tmp", NULL, &d), MAREY_IO);
    assert_non_null(strstr(d.messages[1].text, "folder"));
    assert_int_equal(store_writer_create(&w, "/proc/x.h5", NULL, &d), MAREY_IO);
    diag_deinit(&d);
}

static void test_other_file_is_kept(void **state)
{
    (void)state;
    char path[256];
    (void)snprintf(path, sizeof path, "%s/other", own_folder());
    assert_int_equal(file_write_all(path, "precious", 8, NULL), MAREY_OK);
    store_writer *w = NULL;
    store_options o = {0};
    diag d;
    diag_init(&d);
    assert_int_equal(store_writer_create(&w, path, &o, &d), MAREY_IO);
    assert_int_equal(d.n_messages, 1);
    assert_int_equal(file_size(path), 8);
    o.force = true;
    assert_int_equal(store_writer_create(&w, path, &o, &d), MAREY_OK);
    assert_int_equal(file_size(path), 8); /* until it is finished */
    store_writer_destroy(&w);
    assert_int_equal(file_size(path), 8);
    assert_int_equal(files_like(path), 1);
    /* A marey file is replaced without force. */
    (void)unlink(path);
    run r;
    run_params p = small();
    run_make(&r, &p);
    assert_int_equal(run_write(&r, path, &d), MAREY_OK);
    assert_int_equal(run_write(&r, path, &d), MAREY_OK);
    run_free(&r);
    (void)unlink(path);
    diag_deinit(&d);
}

/* The disk is full after `limit` bytes: in a child, as the limit holds for the whole process. */
static int write_with_limit(const char *path, rlim_t limit)
{
    pid_t child = fork();
    if (child == 0) {
        (void)signal(SIGXFSZ, SIG_IGN);
        struct rlimit l = {limit, limit};
        (void)setrlimit(RLIMIT_FSIZE, &l);
        run r;
        diag d;
        diag_init(&d);
        run_params p = small();
        run_make(&r, &p);
        marey_status s = run_write(&r, path, &d);
        bool is_told = d.n_messages > 0 && strstr(d.messages[0].text, "File too large") != NULL;
        _exit(s == MAREY_OK ? 0 : s == MAREY_IO && is_told ? 1 : 2);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void test_full_disk(void **state)
{
    (void)state;
    char path[256];
    (void)snprintf(path, sizeof path, "%s/full.h5", own_folder());
    assert_int_equal(write_with_limit(path, RLIM_INFINITY), 0);
    uint64_t size = file_size(path);
    (void)unlink(path);
    for (unsigned i = 0; i < 24; i++) {
        assert_int_equal(write_with_limit(path, (rlim_t)(size * i / 24)), 1);
        assert_int_equal(files_like(path), 0);
    }
}

/* Else a killed writer leaves its part at the aside path. */
static bool files_can_be_nameless(void)
{
    char path[256];
    file_aside a;
    (void)snprintf(path, sizeof path, "%s/nameless", own_folder());
    assert_true(file_aside_open(&a, path));
    bool is_nameless = !a.path;
    file_aside_discard(&a);
    return is_nameless;
}

static void test_killed(void **state)
{
    (void)state;
    char path[256];
    (void)snprintf(path, sizeof path, "%s/killed.h5", own_folder());
    prng p;
    prng_seed(&p, 5);
    bool is_nameless = files_can_be_nameless();
    for (unsigned i = 0; i < 24; i++) {
        pid_t child = fork();
        if (child == 0) {
            run r;
            run_params small_run = small();
            run_make(&r, &small_run);
            for (;;) {
                (void)run_write(&r, path, NULL);
                (void)unlink(path);
            }
        }
        (void)usleep((useconds_t)prng_below(&p, 60000));
        (void)kill(child, SIGKILL);
        int status = 0;
        assert_int_equal(waitpid(child, &status, 0), child);
        store_file *f = NULL;
        if (file_exists(path)) {
            assert_int_equal(store_open(&f, path, NULL), MAREY_OK);
            store_close(&f);
        }
        (void)unlink(path);
        char aside[320];
        (void)snprintf(aside, sizeof aside, "%s/.killed.h5.%ld.part", own_folder(), (long)child);
        assert_true(!is_nameless || !file_exists(aside));
        (void)unlink(aside);
    }
    assert_int_equal(files_like(path), 0);
}

/* ------------------------------------------------------------------ reading */

static bool visit_all(void *ctx, const store_event_info *e)
{
    const trace_model *m = ctx;
    assert_true(e->track < m->n_tracks && e->name < m->n_names && e->klass < CLASS_COUNT);
    assert_true(e->start_ns >= 0 && e->dur_ns >= 0);
    return true;
}

/* Use everything; results may be errors. */
static void read_everything(store_file *f)
{
    const trace_model *m = store_model(f);
    uint8_t *cells = mem_alloc((size_t)TILE_CELLS * LOD_PLANES);
    store_columns c = {0};
    strbuf args = {0};
    for (uint32_t b = 0; b < store_n_blocks(f); b++) {
        (void)store_block(f, b);
        (void)store_read_block(f, b, COL_ALL, &c, NULL);
        (void)store_read_args(f, (uint64_t)b * BLOCK_EVENTS + 7, &args, NULL);
        store_event_info e;
        (void)store_read_event(f, (uint64_t)b * BLOCK_EVENTS + 3, &e, NULL);
    }
    for (uint32_t t = 0; t < store_n_tiles(f); t++) {
        (void)store_read_tile(f, t, cells, NULL);
    }
    uint32_t *tracks = mem_alloc((m->n_tracks + 1) * sizeof *tracks);
    for (uint32_t t = 0; t < m->n_tracks; t++) {
        tracks[t] = t;
    }
    query_row row = {tracks, m->n_tracks};
    query_result res = {0};
    query_grid q = {0, m->duration_ns > 0 ? m->duration_ns : 1, 7, KEY_CATEGORY, &row, 1, NULL};
    if (store_query(f, &q, &res, NULL) == MAREY_OK) {
        query_free(&res, 1);
    }
    (void)store_visit(f, &row, 0, q.t1_ns, visit_all, (void *)(uintptr_t)m, NULL);
    store_link l[4];
    size_t n;
    (void)store_read_links(f, 3, l, 4, &n, NULL);
    store_collective k;
    const char *s;
    bool found;
    (void)store_read_collective(f, 3, &k, &s, &s, &found, NULL);
    for (uint32_t i = 0; i < m->n_counters; i++) {
        store_sample *samples = NULL;
        (void)store_read_samples(f, i, &samples, &n, NULL);
        free(samples);
    }
    free(tracks);
    free(cells);
    strbuf_deinit(&args);
    store_columns_free(&c);
}

/* @return true when it opened */
static bool try_bytes(const char *path, const char *bytes, size_t n)
{
    diag d;
    diag_init(&d);
    FILE *out = fopen(path, "wb");
    assert_non_null(out);
    assert_int_equal(fwrite(bytes, 1, n, out), n);
    (void)fclose(out);
    store_file *f = NULL;
    marey_status s = store_open(&f, path, &d);
    if (s != MAREY_OK) {
        assert_null(f);
        assert_true(s == MAREY_FORMAT || s == MAREY_IO || s == MAREY_VERSION);
        assert_int_equal(d.n_messages, 1);
        assert_true(strlen(d.messages[0].text) > 10);
    } else {
        read_everything(f);
        store_close(&f);
    }
    diag_deinit(&d);
    return s == MAREY_OK;
}

static void make_bytes(char **bytes, size_t *n)
{
    run r;
    run_params p = small();
    run_make(&r, &p);
    const char *path = run_path("source");
    assert_int_equal(run_write(&r, path, NULL), MAREY_OK);
    assert_int_equal(file_read_all(path, 1 << 26, bytes, n, NULL), MAREY_OK);
    (void)unlink(path);
    run_free(&r);
}

static void test_other_files(void **state)
{
    (void)state;
    const char *path = run_path("strange");
    assert_false(try_bytes(path, "", 0));
    assert_false(try_bytes(path, "hello", 5));
    assert_false(try_bytes(path, "\x89HDF\r\n\x1a\n", 8));
    (void)unlink(path);
    store_file *f = NULL;
    assert_int_equal(store_open(&f, path, NULL), MAREY_IO);
    assert_int_equal(store_open(&f, "/tmp", NULL), MAREY_IO);
    assert_int_equal(store_open(&f, "/dev/null", NULL), MAREY_IO);
}

static void test_truncated(void **state)
{
    (void)state;
    char *bytes;
    size_t n;
    make_bytes(&bytes, &n);
    const char *path = run_path("cut");
    prng g;
    prng_seed(&g, 1);
    for (unsigned i = 0; i < 200; i++) {
        assert_false(try_bytes(path, bytes, i < 20 ? n - 1 - i : prng_below(&g, n)));
    }
    (void)unlink(path);
    free(bytes);
}

static void test_flipped(void **state)
{
    (void)state;
    char *bytes;
    size_t n;
    make_bytes(&bytes, &n);
    const char *path = run_path("flip");
    const char *rounds = getenv("MAREY_FUZZ_ROUNDS");
    unsigned n_rounds = rounds ? (unsigned)atoi(rounds) : 400;
    prng g;
    prng_seed(&g, rounds ? (uint64_t)clock_now_ns() : 2);
    unsigned n_refused = 0;
    for (unsigned i = 0; i < n_rounds; i++) {
        char *copy = mem_alloc(n);
        memcpy(copy, bytes, n);
        unsigned flips = 1 + (unsigned)prng_below(&g, 4);
        for (unsigned k = 0; k < flips; k++) {
            size_t at = prng_below(&g, n);
            copy[at] = (char)(prng_below(&g, 2) ? (unsigned)prng_next(&g)
                                                : ((unsigned char)copy[at] ^ (1U << prng_below(&g, 8))));
        }
        n_refused += !try_bytes(path, copy, n);
        free(copy);
    }
    assert_true(n_refused > n_rounds / 20);
    (void)unlink(path);
    free(bytes);
}

static void test_whole(void **state)
{
    (void)state;
    char *bytes;
    size_t n;
    make_bytes(&bytes, &n);
    const char *path = run_path("whole");
    assert_true(try_bytes(path, bytes, n));
    (void)unlink(path);
    free(bytes);
}

static int remove_folder(void **state)
{
    (void)state;
    (void)rmdir(own_folder());
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_unwritable),  cmocka_unit_test(test_other_file_is_kept),
        cmocka_unit_test(test_full_disk),   cmocka_unit_test(test_killed),
        cmocka_unit_test(test_other_files), cmocka_unit_test(test_truncated),
        cmocka_unit_test(test_whole),       cmocka_unit_test(test_flipped),
    };
    return cmocka_run_group_tests(tests, NULL, remove_folder);
}
