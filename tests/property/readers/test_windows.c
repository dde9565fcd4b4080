/*
 * What is read depends on the text alone: not on where the windows are cut, how the bytes arrive, which bitmap variant
 * is used, which library unpacks it, or whether arguments are taken apart on the way. Checked on the cases of
 * tests/diff, on a generated trace, and on damaged copies of both; whatever the damage, reading ends without a fault,
 * and says what it lost or gives events.
 */
#include "cm.h"

#include <zlib.h>

#include "base/clock.h"
#include "base/file.h"
#include "builder_rows.h"

enum { SEED = 20240611, DAMAGED_COPIES = 60, SPLITS = 24 };

static void read_text(const char *data, size_t n, const reader_tuning *t, strbuf *out)
{
    /* A copy of its own size, so that a read past the end is seen. */
    char *copy = mem_alloc(n);
    if (n > 0) {
        memcpy(copy, data, n);
    }
    rows r;
    rows_begin(&r, "input");
    if (t) {
        rows_take_args(&r);
    }
    r.status = reader_read_memory(copy, n, "input", &r.b, t);
    strbuf_clear(out);
    rows_text(&r, out);
    bool told = r.n > 0 || r.b.n_samples > 0 || r.b.n_flows > 0 || r.diag.n_messages > 0;
    assert_true(told);
    rows_end(&r);
    free(copy);
}

/* The input of the check under way, for the message. */
static const char *input_text;
static size_t input_bytes;

static void same(const char *what, const strbuf *want, const strbuf *got)
{
    if (want->n != got->n || memcmp(want->s, got->s, want->n) != 0) {
        size_t at = 0;
        while (at < want->n && at < got->n && want->s[at] == got->s[at]) {
            at++;
        }
        size_t line = at;
        while (line > 0 && want->s[line - 1] != '\n') {
            line--;
        }
        (void)fprintf(stderr, "%s gives at byte %zu of the dump\n%.300s\ninstead of\n%.300s\nfor %zu bytes:\n", what,
                      at, got->s + line, want->s + line, input_bytes);
        (void)fwrite(input_text, 1, input_bytes, stderr);
        fail();
    }
}

static void check_ways(const char *name, const char *data, size_t n, prng *r, int n_splits)
{
    strbuf want = {0};
    strbuf got = {0};
    input_text = data;
    input_bytes = n;
    read_text(data, n, NULL, &want);
    for (int i = 0; i < n_splits; i++) {
        reader_tuning t = {
            .window_bytes = 64 + prng_below(r, 400), .read_bytes = 1 + prng_below(r, 97), .eager = i % 3 == 0};
        t.threads = i % 3 == 1 ? 2U + (unsigned)i % 2 : 0;
        t.part_bytes = 1 + prng_below(r, i % 2 ? 300 : 3000);
        t.in_turn = i % 6 == 1;
        t.bits = i % 4 == 1 ? jbits_scalar() : i % 4 == 2 ? jbits_128() : i % 4 == 3 ? jbits_avx2() : NULL;
        if (i == 0) {
            t.read_bytes = 1;
        }
        read_text(data, n, &t, &got);
        char what[256];
        (void)snprintf(what, sizeof what, "%s with windows of %zu, reads of %zu%s", name, t.window_bytes, t.read_bytes,
                       t.eager     ? ", eager"
                       : t.threads ? ", in parts"
                                   : "");
        same(what, &want, &got);
    }
    /* In place, in small windows, on one thread and on two. */
    reader_tuning small = {.window_bytes = 64 + 64 * prng_below(r, 8)};
    read_text(data, n, &small, &got);
    same(name, &want, &got);
    small.threads = 2;
    small.part_bytes = 1 + prng_below(r, 2000);
    small.in_turn = n_splits % 2 == 0;
    read_text(data, n, &small, &got);
    same(name, &want, &got);
    strbuf_deinit(&want);
    strbuf_deinit(&got);
}

/* Overwrite, remove, double or insert at a few places. */
static size_t damage(char *data, size_t n, size_t cap, prng *r)
{
    static const char marks[] = "\"\\{}[]:,\n 0-eX\0";
    for (uint64_t k = 1 + prng_below(r, 6); k > 0 && n > 8; k--) {
        size_t at = (size_t)prng_below(r, n);
        size_t len = (size_t)prng_below(r, n - at < 40 ? n - at : 40);
        switch (prng_below(r, 5)) {
        case 0:
            data[at] = marks[prng_below(r, sizeof marks - 1)];
            break;
        case 1:
            data[at] = (char)prng_next(r);
            break;
        case 2:
            memmove(data + at, data + at + len, n - at - len);
            n -= len;
            break;
        case 3:
            if (n + len <= cap) {
                memmove(data + at + len, data + at, n - at);
                n += len;
            }
            break;
        default:
            n = prng_below(r, 20) == 0 ? at : n;
            break;
        }
    }
    return n;
}

static void check_damaged(const char *name, const char *data, size_t n, prng *r, int copies)
{
    size_t cap = n + 400;
    char *copy = mem_alloc(cap);
    for (int i = 0; i < copies; i++) {
        if (n > 0) {
            memcpy(copy, data, n);
        }
        size_t m = damage(copy, n, cap, r);
        check_ways(name, copy, m, r, 4);
    }
    free(copy);
}

static void cases_do_not_depend_on_cuts(void **state)
{
    (void)state;
    const char *source = getenv("MAREY_SOURCE_DIR");
    strbuf dir = {0};
    strbuf_printf(&dir, "%s/tests/diff/readers/cases", source ? source : ".");
    arena names = {0};
    char **paths = NULL;
    size_t n = 0;
    assert_int_equal(file_list(dir.s, &names, &paths, &n, NULL), MAREY_OK);
    prng r;
    prng_seed(&r, SEED);
    size_t n_cases = 0;
    for (size_t i = 0; i < n; i++) {
        if (strstr(paths[i], ".expected")) {
            continue;
        }
        char *data = NULL;
        size_t size = 0;
        assert_int_equal(file_read_all(paths[i], 1 << 20, &data, &size, NULL), MAREY_OK);
        check_ways(path_base(paths[i]), data, size, &r, SPLITS);
        check_damaged(path_base(paths[i]), data, size, &r, DAMAGED_COPIES);
        free(data);
        n_cases++;
    }
    assert_true(n_cases >= 40);
    free((void *)paths);
    arena_deinit(&names);
    strbuf_deinit(&dir);
}

/* A trace in a profiler's layout, long enough for the memo of repeated text to be at work. */
static void generate(strbuf *b, prng *r, int n)
{
    static const char *const cats[] = {"cpu_op", "kernel", "cuda_runtime", "python_function"};
    strbuf_puts(b, "{\n  \"schemaVersion\": 1,\n  \"traceEvents\": [\n");
    for (int i = 0; i < n; i++) {
        strbuf_printf(
            b,
            "  {\n    \"ph\": \"X\", \"cat\": \"%s\", \"name\": \"op<%d>::run()\", \"pid\": %d, \"tid\": %d,\n"
            "    \"ts\": %d.%03d, \"dur\": %d.%03d,\n    \"args\": {\n      \"External id\": %d, \"shape\": [[1, 2], "
            "[]],"
            " \"correlation\": %d%s\n    }\n  },\n",
            cats[prng_below(r, 4)], (int)prng_below(r, 30), (int)prng_below(r, 2), (int)prng_below(r, 3), i * 10,
            (int)prng_below(r, 1000), (int)prng_below(r, 50), (int)prng_below(r, 1000), i, i * 2,
            prng_below(r, 10) ? "" : ", \"dtype\": \"Float\", \"Collective name\": \"allreduce\"");
        if (prng_below(r, 3) == 0) {
            strbuf_printf(b,
                          "  {\n    \"ph\": \"f\", \"id\": %d, \"pid\": 0, \"tid\": 1, \"ts\": %d.000,\n"
                          "    \"cat\": \"ac2g\", \"name\": \"ac2g\", \"bp\": \"e\"\n  },\n",
                          i, i * 10);
        }
    }
    strbuf_puts(
        b,
        "  {\"ph\": \"i\", \"name\": \"end\", \"pid\": 0, \"tid\": 1, \"ts\": 1}\n  ],\n  \"traceName\": \"t\"\n}\n");
}

static void generated_trace_does_not_depend_on_cuts(void **state)
{
    (void)state;
    prng r;
    prng_seed(&r, SEED + 1);
    strbuf b = {0};
    generate(&b, &r, 600);
    check_ways("generated", b.s, b.n, &r, SPLITS);
    check_damaged("generated", b.s, b.n, &r, 12);
    strbuf_deinit(&b);
}

/* Begins, ends, asynchronous ones, metadata, counters, flows and damage, now and then: what hangs on what came before.
 */
static void generate_mixed(strbuf *b, prng *r, int n, bool is_correlated)
{
    static const char *const kinds[] = {"B", "E", "b", "e", "i", "s", "f", "C", "M", "X", "X", "X", "X", "X", "S", "F"};
    strbuf_puts(b, "{\"traceEvents\": [\n");
    for (int i = 0; i < n; i++) {
        const char *ph = kinds[prng_below(r, sizeof kinds / sizeof *kinds)];
        strbuf_printf(b, "{\"ph\": \"%s\", \"name\": \"%s\", \"pid\": %d, \"tid\": %d, \"ts\": %d, \"cat\": \"%s\"", ph,
                      *ph == 'M'         ? "thread_name"
                      : prng_below(r, 2) ? "step"
                                         : "op",
                      (int)prng_below(r, 3), (int)prng_below(r, 40),
                      i * 3 - (int)prng_below(r, prng_below(r, 20) ? 3 : 30), prng_below(r, 3) ? "cpu_op" : "ac2g");
        strbuf_printf(b, ", \"id\": %d, \"args\": {\"name\": \"n%d\", \"value\": %d", (int)prng_below(r, 9),
                      (int)prng_below(r, 5), i);
        if (is_correlated && prng_below(r, 40) == 0) {
            strbuf_printf(b, ", \"correlation\": %d", i);
        }
        strbuf_printf(b, "}%s}%s\n", *ph == 'X' ? ", \"dur\": 2" : "",
                      i + 1 == n                ? "]}"
                      : prng_below(r, 400) == 0 ? ",,"
                                                : ",");
    }
}

static void parts_are_read_as_the_whole(void **state)
{
    (void)state;
    prng r;
    prng_seed(&r, SEED + 5);
    size_t n_all = 0;
    for (int round = 0; round < 24; round++) {
        strbuf b = {0};
        strbuf want = {0};
        strbuf got = {0};
        if (round % 4 == 0) {
            generate(&b, &r, 400);
        } else {
            generate_mixed(&b, &r, 1500, round % 4 > 1);
        }
        read_text(b.s, b.n, NULL, &want);
        size_t n_parts = 0;
        reader_tuning t = {.threads = 2 + (unsigned)round % 3, .part_bytes = 600 + prng_below(&r, 6000)};
        t.window_bytes = 1024;
        t.in_turn = round % 3 == 1;
        t.n_parts = &n_parts;
        input_text = b.s;
        input_bytes = b.n;
        read_text(b.s, b.n, &t, &got);
        same("in parts", &want, &got);
        assert_true(round % 4 != 0 || n_parts > b.n / t.part_bytes / 8);
        n_all += n_parts;
        strbuf_deinit(&b);
        strbuf_deinit(&want);
        strbuf_deinit(&got);
    }
    assert_true(n_all > 500);
}

/* Events far larger than a window, strings that are skipped in pieces, and a value too large to be kept. */
static void large_pieces_do_not_depend_on_cuts(void **state)
{
    (void)state;
    prng r;
    prng_seed(&r, SEED + 2);
    strbuf b = {0};
    strbuf_puts(&b, "{\"log\": \"");
    for (int i = 0; i < 30000; i++) {
        strbuf_puts(&b, i % 100 ? "text " : "\\\\\\\" ");
    }
    strbuf_puts(&b, "\", \"nested\": {\"a\": [\"");
    for (int i = 0; i < 20000; i++) {
        strbuf_puts(&b, "xyz{}[]");
    }
    strbuf_puts(&b, "\", {}]}, \"traceEvents\": [");
    for (int i = 0; i < 5; i++) {
        strbuf_printf(&b, "{\"ph\":\"X\",\"name\":\"big%d\",\"pid\":1,\"tid\":1,\"ts\":%d,\"dur\":1,\"args\":{\"x\":\"",
                      i, i);
        for (int k = 0; k < 5000 * (i + 1); k++) {
            strbuf_puts(&b, "0123456789");
        }
        strbuf_puts(&b, "\"}},\n");
    }
    strbuf_puts(&b, "]}");
    check_ways("large", b.s, b.n, &r, 6);
    strbuf_deinit(&b);
}

static size_t gzip(const char *data, size_t n, char *out, size_t cap)
{
    z_stream z = {0};
    assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY), Z_OK);
    z.next_in = (Bytef *)(uintptr_t)data;
    z.avail_in = (uInt)n;
    z.next_out = (Bytef *)out;
    z.avail_out = (uInt)cap;
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    size_t size = z.total_out;
    assert_int_equal(deflateEnd(&z), Z_OK);
    return size;
}

/* Pieces that are walked where a thread put them: what is left of one goes in front of the next where there is room,
 * and behind it in a buffer where there is not. Events of up to 700 000 bytes, between small ones. */
static void pieces_read_ahead_give_the_same(void **state)
{
    (void)state;
    prng r;
    prng_seed(&r, SEED + 4);
    strbuf want = {0};
    strbuf got = {0};
    for (int round = 0; round < 12; round++) {
        strbuf b = {0};
        strbuf_puts(&b, "{\"traceEvents\": [");
        for (int i = 0; i < 400; i++) {
            strbuf_printf(&b,
                          "{\"ph\":\"X\",\"name\":\"n%d\",\"pid\":1,\"tid\":1,\"ts\":%d,\"dur\":1,\"args\":{\"x\":\"",
                          i % 7, i);
            size_t size = i % 40 == 7 ? prng_below(&r, 70000) : 0;
            for (size_t k = 0; k < (round % 4 == 3 ? size : size / 40); k++) {
                strbuf_puts(&b, "0123456789");
            }
            strbuf_puts(&b, "\"}},\n");
        }
        strbuf_puts(&b, round % 3 == 2 ? "{\"ph\":\"X\",\"name" : "]}");
        read_text(b.s, b.n, NULL, &want);
        char *gz = mem_alloc(b.n + 1000);
        size_t n_gz = gzip(b.s, b.n, gz, b.n + 1000);
        for (unsigned way = 0; way < 2; way++) {
            reader_tuning ahead = {.ahead = true};
            reader_tuning parts = {.threads = 2, .part_bytes = 1 + prng_below(&r, 200000)};
            read_text(gz, n_gz, way == 1 ? &parts : &ahead, &got);
            same(way == 1 ? "in parts" : "read ahead", &want, &got);
        }
        free(gz);
        strbuf_deinit(&b);
    }
    strbuf_deinit(&want);
    strbuf_deinit(&got);
}

static void compressed_text_gives_the_same(void **state)
{
    (void)state;
    prng r;
    prng_seed(&r, SEED + 3);
    strbuf b = {0};
    generate(&b, &r, 2000);
    strbuf want = {0};
    strbuf got = {0};
    read_text(b.s, b.n, NULL, &want);
    char *gz = mem_alloc(b.n + 1000);
    size_t first = gzip(b.s, b.n / 3, gz, b.n);
    size_t all = first + gzip(b.s + b.n / 3, b.n - b.n / 3, gz + first, b.n + 1000 - first);
    read_text(gz, all, NULL, &got);
    same("two gzip members", &want, &got);
    read_text(gz, all, &(reader_tuning){.zlib = true}, &got);
    same("two gzip members by zlib", &want, &got);
    read_text(gz, all, &(reader_tuning){.ahead = true}, &got);
    same("two gzip members unpacked ahead", &want, &got);
    for (int i = 0; i < 40; i++) {
        strbuf by_zlib = {0};
        size_t cut = 20 + (size_t)prng_below(&r, all - 20);
        read_text(gz, cut, NULL, &want);
        read_text(gz, cut, &(reader_tuning){.ahead = true}, &got);
        same("a cut file unpacked ahead", &want, &got);
        read_text(gz, cut, &(reader_tuning){.zlib = true}, &by_zlib);
        assert_true(strstr(got.s, "loss ") != NULL);
        strbuf_deinit(&by_zlib);
    }
    free(gz);
    strbuf_deinit(&b);
    strbuf_deinit(&want);
    strbuf_deinit(&got);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cases_do_not_depend_on_cuts),     cmocka_unit_test(generated_trace_does_not_depend_on_cuts),
        cmocka_unit_test(parts_are_read_as_the_whole),     cmocka_unit_test(large_pieces_do_not_depend_on_cuts),
        cmocka_unit_test(pieces_read_ahead_give_the_same), cmocka_unit_test(compressed_text_gives_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
