/*
 * Contract: the file is plain HDF5 that others can read and rewrite.
 *
 * h5py reads every event and argument with the code printed in docs/format.md, and gets what was written. Copies made
 * by h5repack (other offsets, other chunks, no filters) read the same as the original. A file of a newer version, or
 * one that lacks an object, is refused by name. Skipped where python3 with h5py, or h5repack, is missing.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sys/wait.h>

#include "base/file.h"
#include "help/store_run.h"

static const char *source_dir(void)
{
    const char *s = getenv("MAREY_SOURCE_DIR");
    return s ? s : ".";
}

/* @return exit status; 77: not there */
static int call(const char *format, ...) __attribute__((format(printf, 1, 2)));
static int call(const char *format, ...)
{
    char command[2048];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(command, sizeof command, format, args);
    va_end(args);
    int status = system(command);
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : 255;
    return code == 127 ? 77 : code;
}

static int python(const char *path, const char *rest)
{
    return call("/usr/bin/python3 %s/tests/diff/store/read.py %s %s", source_dir(), path, rest);
}

static void make(run *r, const char *path)
{
    run_params p = {.seed = 31,
                    .n_ranks = 5,
                    .n_device_tracks = 2,
                    .n_cpu_tracks = 3,
                    .n_events = 1700,
                    .unit_ns = 3000,
                    .has_long = true,
                    .has_args = true};
    run_make(r, &p);
    assert_int_equal(run_write(r, path, NULL), MAREY_OK);
}

static int compare_events(const void *a, const void *b)
{
    uint64_t x = ((const run_event *)a)->row;
    uint64_t y = ((const run_event *)b)->row;
    return x < y ? -1 : x > y;
}

static void put_hex(FILE *out, const char *s)
{
    for (; s && *s; s++) {
        (void)fprintf(out, "%02x", (unsigned char)*s);
    }
}

static void print_expected(run *r, const char *path)
{
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    qsort(r->events, r->n, sizeof *r->events, compare_events);
    for (size_t i = 0; i < r->n; i++) {
        const run_event *e = &r->events[i];
        (void)fprintf(out, "%llu %lld %lld ", (unsigned long long)e->row, (long long)e->e.start_ns,
                      (long long)e->e.dur_ns);
        put_hex(out, r->model.names[e->e.name].text);
        (void)fprintf(out, " %u %u %u %u ", e->e.track, e->e.klass, e->e.flags, e->e.instance);
        put_hex(out, e->args ? e->args : NULL);
        (void)fprintf(out, e->args ? "\n" : "-\n");
    }
    (void)fclose(out);
}

static void test_h5py(void **state)
{
    (void)state;
    run r;
    char path[256];
    (void)snprintf(path, sizeof path, "%s", run_path("h5py"));
    make(&r, path);
    char wanted[300];
    char got[300];
    (void)snprintf(wanted, sizeof wanted, "%s.wanted", path);
    (void)snprintf(got, sizeof got, "%s.got", path);
    char rest[1024];
    (void)snprintf(rest, sizeof rest, "%s/docs/format.md > %s", source_dir(), got);
    int code = python(path, rest);
    if (code != 77) {
        print_expected(&r, wanted);
        assert_int_equal(code, 0);
        assert_int_equal(call("cmp %s %s", wanted, got), 0);
        assert_int_equal(python(path, "--describe"), 0);
    }
    (void)unlink(path);
    (void)unlink(wanted);
    (void)unlink(got);
    run_free(&r);
    if (code == 77) {
        print_message("python3 with h5py is not there\n");
        skip();
    }
}

static void write_metrics_file(const char *path)
{
    run r;
    run_params p = {.seed = 5, .n_ranks = 1, .n_device_tracks = 1, .n_cpu_tracks = 1, .n_events = 10, .unit_ns = 1000};
    const char *strings[] = {"MatMul", "SDMA"};
    store_metric m[] = {{.value = 0.25,
                         .rank = 3,
                         .a = -1,
                         .b = -1,
                         .step = 7,
                         .time_ns = 12,
                         .name = 0,
                         .tag = NO_ID,
                         .kind = METRIC_CACHE_HIT},
                        {.value = 2e9,
                         .rank = -1,
                         .a = 1,
                         .b = 70000,
                         .step = -1,
                         .time_ns = -1,
                         .name = NO_ID,
                         .tag = 1,
                         .kind = METRIC_LINK_BYTES}};
    run_make(&r, &p);
    r.model.n_metrics = 2;
    store_writer *w = NULL;
    store_options o = {.on_row = run_note_row, .on_row_ctx = &r};
    assert_int_equal(store_writer_create(&w, path, &o, NULL), MAREY_OK);
    assert_int_equal(run_write_groups(&r, w, NULL), MAREY_OK);
    assert_int_equal(store_writer_metrics(w, m, 2, strings, 2, NULL), MAREY_OK);
    assert_int_equal(store_writer_finish(w, &r.model, NULL), MAREY_OK);
    store_writer_destroy(&w);
    run_free(&r);
}

static void test_h5py_metrics(void **state)
{
    (void)state;
    char path[256];
    char got[300];
    (void)snprintf(path, sizeof path, "%s", run_path("metrics"));
    (void)snprintf(got, sizeof got, "%s.got", path);
    write_metrics_file(path);
    char rest[400];
    (void)snprintf(rest, sizeof rest, "--metrics > %s", got);
    int code = python(path, rest);
    char *text = NULL;
    size_t n = 0;
    (void)file_read_all(got, 1 << 16, &text, &n, NULL);
    (void)unlink(path);
    (void)unlink(got);
    if (code == 77) {
        free(text);
        print_message("python3 with h5py is not there\n");
        skip();
    }
    assert_int_equal(code, 0);
    char wanted[200];
    (void)snprintf(wanted, sizeof wanted, "%d 3 -1 -1 7 12 0.25 MatMul -\n%d -1 1 70000 -1 -1 2000000000.0 - SDMA\n",
                   METRIC_CACHE_HIT, METRIC_LINK_BYTES);
    assert_string_equal(text, wanted);
    free(text);
}

/* Both files give the same columns, tiles and arguments. */
static void check_same(const char *a_path, const char *b_path)
{
    store_file *a = NULL;
    store_file *b = NULL;
    assert_int_equal(store_open(&a, a_path, NULL), MAREY_OK);
    assert_int_equal(store_open(&b, b_path, NULL), MAREY_OK);
    store_columns ca = {0};
    store_columns cb = {0};
    strbuf ta = {0};
    strbuf tb = {0};
    assert_int_equal(store_n_blocks(a), store_n_blocks(b));
    for (uint32_t i = 0; i < store_n_blocks(a); i++) {
        assert_int_equal(store_read_block(a, i, COL_ALL, &ca, NULL), MAREY_OK);
        assert_int_equal(store_read_block(b, i, COL_ALL, &cb, NULL), MAREY_OK);
        assert_memory_equal(ca.start_ns, cb.start_ns, ca.n * sizeof *ca.start_ns);
        assert_memory_equal(ca.dur_ns, cb.dur_ns, ca.n * sizeof *ca.dur_ns);
        assert_memory_equal(ca.name, cb.name, ca.n * sizeof *ca.name);
        assert_memory_equal(ca.klass, cb.klass, ca.n);
        for (uint32_t k = 0; k < ca.n; k += 1 + ca.n / 20) {
            strbuf_clear(&ta);
            strbuf_clear(&tb);
            assert_int_equal(store_read_args(a, (uint64_t)i * BLOCK_EVENTS + k, &ta, NULL), MAREY_OK);
            assert_int_equal(store_read_args(b, (uint64_t)i * BLOCK_EVENTS + k, &tb, NULL), MAREY_OK);
            assert_string_equal(strbuf_str(&ta), strbuf_str(&tb));
        }
    }
    uint8_t *cells = mem_alloc((size_t)TILE_CELLS * LOD_PLANES * 2);
    for (uint32_t t = 0; t < store_n_tiles(a); t++) {
        assert_int_equal(store_read_tile(a, t, cells, NULL), MAREY_OK);
        assert_int_equal(store_read_tile(b, t, cells + (size_t)TILE_CELLS * LOD_PLANES, NULL), MAREY_OK);
        assert_memory_equal(cells, cells + (size_t)TILE_CELLS * LOD_PLANES, (size_t)TILE_CELLS * LOD_PLANES);
    }
    free(cells);
    strbuf_deinit(&ta);
    strbuf_deinit(&tb);
    store_columns_free(&ca);
    store_columns_free(&cb);
    store_close(&a);
    store_close(&b);
}

static void test_repacked(void **state)
{
    (void)state;
    static const char *const options[] = {"", "-f GZIP=6", "-f NONE", "-l /events/start,/events/dur:CHUNK=1000"};
    run r;
    char path[256];
    (void)snprintf(path, sizeof path, "%s", run_path("repack"));
    make(&r, path);
    run_free(&r);
    char copy[300];
    (void)snprintf(copy, sizeof copy, "%s.copy", path);
    int code = 0;
    for (size_t i = 0; i < sizeof options / sizeof options[0] && code == 0; i++) {
        code = call("h5repack %s %s %s 2>/dev/null", options[i], path, copy);
        if (code == 0) {
            check_same(path, copy);
        }
        (void)unlink(copy);
    }
    (void)unlink(path);
    if (code == 77) {
        print_message("h5repack is not there\n");
        skip();
    }
    assert_int_equal(code, 0);
}

static void test_refused_by_name(void **state)
{
    (void)state;
    run r;
    char path[256];
    (void)snprintf(path, sizeof path, "%s", run_path("refused"));
    make(&r, path);
    store_file *f = NULL;
    diag d;
    diag_init(&d);
    int code = python(path, "--version 2.0");
    if (code == 0) {
        assert_int_equal(store_open(&f, path, &d), MAREY_VERSION);
        assert_non_null(strstr(d.messages[0].text, "2.0"));
        assert_int_equal(python(path, "--version 1.7"), 0);
        assert_int_equal(store_open(&f, path, &d), MAREY_OK);
        store_close(&f);
        assert_int_equal(python(path, "--remove /carry/track"), 0);
        assert_int_equal(store_open(&f, path, &d), MAREY_OK); /* read at first use only */
        assert_int_equal(store_group_load(f, 0, &d), MAREY_FORMAT);
        assert_non_null(strstr(d.messages[1].text, "/carry/track"));
        store_block_info info = store_block(f, 0);
        assert_true(info.is_damaged && info.n_tracks == 0);
        store_close(&f);
        assert_int_equal(python(path, "--remove /model/lanes/kind"), 0);
        assert_int_equal(store_open(&f, path, &d), MAREY_FORMAT);
        assert_non_null(strstr(d.messages[2].text, "/model/lanes/kind"));
    }
    diag_deinit(&d);
    (void)unlink(path);
    run_free(&r);
    if (code == 77) {
        print_message("python3 with h5py is not there\n");
        skip();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_h5py),
        cmocka_unit_test(test_h5py_metrics),
        cmocka_unit_test(test_repacked),
        cmocka_unit_test(test_refused_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
