/*
 * Contract: losses that are found once all is read say where the first of them stands: exactly the byte at which its
 * record begins, in an input of any size, plain or packed, cut anywhere, read by one job or two, in memory or by way of
 * the scratch file. What can't be read twice has no places, and is converted all the same.
 */
#include "cm.h"

#include <zlib.h>

#include "base/file.h"
#include "convert/convert.h"
#include "store/store.h"
#include "temporary_dir.h"

enum { MANY = 40000 };

static char dir[256];

static const char *path_of(const char *name)
{
    static char paths[16][512];
    static unsigned next;
    char *path = paths[next++ % 16];
    (void)snprintf(path, sizeof paths[0], "%s/%s", dir, name);
    return path;
}

static void put(strbuf *b, const char *ph, const char *name, unsigned tid, uint64_t ts, const char *more)
{
    strbuf_printf(b, "{\"ph\": \"%s\", \"name\": \"%s\", \"cat\": \"c\", \"pid\": 1, \"tid\": %u, \"ts\": %llu%s},\n",
                  ph, name, tid, (unsigned long long)ts, more);
}

/*
 * Ordinary events, and among them one that overlaps another, one of another century, ends of flows that nothing starts
 * or encloses. With `pairs`, begins stay open over long stretches, so that events have ends far from where they began.
 */
static void write_text(strbuf *b, bool pairs)
{
    strbuf_puts(b, "[\n");
    for (unsigned i = 0; i < MANY; i++) {
        uint64_t ts = 1000 + (uint64_t)i * 10;
        if (pairs && i % 1000 == 0) {
            put(b, "B", "open", 5, ts, "");
        }
        put(b, "X", "plain", i % 3, ts,
            ", \"dur\": 8, \"args\": {\"Ev Idx\": 7, \"x\": [1, 2, 3], \"y\": \"some words\"}");
        if (pairs && i % 1000 == 999) {
            put(b, "E", "open", 5, ts + 9, "");
        }
        if (i == MANY / 2 || i == MANY / 2 + 5000) {
            put(b, "X", i == MANY / 2 ? "first over" : "over", i % 3, ts + 5, ", \"dur\": 8");
        }
        if (i == MANY / 4 * 3) {
            put(b, "X", "far away", 1, 4000000000000000, ", \"dur\": 8");
        }
        if (i == MANY / 8 * 7 || i == MANY - 1) {
            put(b, "f", i == MANY - 1 ? "none" : "no start", i % 3, ts + 1, ", \"id\": 4, \"bp\": \"e\"");
            put(b, "f", i == MANY - 1 ? "none" : "in nothing", 77, ts + 2, ", \"id\": 5, \"bp\": \"e\"");
        }
    }
    strbuf_puts(b, "{}]\n");
}

static void check_place(const trace_model *m, const char *text, marey_loss code, const char *detail, const char *name)
{
    char mark[64];
    (void)snprintf(mark, sizeof mark, "\"name\": \"%s\"", name);
    const char *record = strstr(text, mark);
    assert_non_null(record);
    while (*record != '{') {
        record--;
    }
    for (size_t i = 0; i < m->n_losses; i++) {
        if (m->losses[i].code == code && strcmp(m->losses[i].detail, detail) == 0) {
            assert_int_equal(m->losses[i].first_offset, record - text);
            return;
        }
    }
    fail_msg("no loss %s", marey_loss_code(code));
}

static void convert(const char *path, unsigned jobs, uint64_t memory, store_file **f)
{
    diag d;
    diag_init(&d);
    convert_options options = {.out = path_of("out.h5"), .jobs = jobs, .memory_bytes = memory};
    assert_int_equal(convert_paths(&path, 1, &options, NULL, &d), MAREY_OK);
    assert_int_equal(store_open(f, options.out, &d), MAREY_OK);
    diag_deinit(&d);
}

static void check_file(const char *path, const char *text)
{
    for (unsigned way = 0; way < 4; way++) {
        store_file *f = NULL;
        convert(path, 1 + way % 2, way / 2, &f);
        const trace_model *m = store_model(f);
        check_place(m, text, MAREY_LOSS_OVERLAP, "", "first over");
        check_place(m, text, MAREY_LOSS_FAR_TIME, "", "far away");
        check_place(m, text, MAREY_LOSS_FLOW_UNMATCHED, "", "no start");
        check_place(m, text, MAREY_LOSS_FLOW_UNMATCHED, "outside any event", "in nothing");
        store_close(&f);
    }
}

static void write_packed(const char *path, const strbuf *b)
{
    gzFile out = gzopen(path, "wb1");
    assert_non_null(out);
    assert_int_equal(gzwrite(out, b->s, (unsigned)b->n), b->n);
    assert_int_equal(gzclose(out), Z_OK);
}

static void first_records_are_found(void **state)
{
    (void)state;
    for (unsigned pairs = 0; pairs < 2; pairs++) {
        strbuf b = {0};
        write_text(&b, pairs);
        assert_int_equal(file_write_all(path_of("in.json"), b.s, b.n, NULL), MAREY_OK);
        check_file(path_of("in.json"), b.s);
        write_packed(path_of("in.json.gz"), &b);
        check_file(path_of("in.json.gz"), b.s);
        strbuf_deinit(&b);
    }
}

/* Without flows no more than what lies behind a mark is read again. */
static void events_alone_are_found(void **state)
{
    (void)state;
    for (unsigned pairs = 0; pairs < 2; pairs++) {
        strbuf b = {0};
        write_text(&b, pairs);
        for (char *p = b.s; (p = strstr(p, "\"ph\": \"f\"")) != NULL;) {
            memcpy(p, "\"ph\": \"M\"", 9);
        }
        assert_int_equal(file_write_all(path_of("in.json"), b.s, b.n, NULL), MAREY_OK);
        for (unsigned way = 0; way < 4; way++) {
            store_file *f = NULL;
            convert(path_of("in.json"), 1 + way % 2, way / 2, &f);
            check_place(store_model(f), b.s, MAREY_LOSS_OVERLAP, "", "first over");
            check_place(store_model(f), b.s, MAREY_LOSS_FAR_TIME, "", "far away");
            store_close(&f);
        }
        strbuf_deinit(&b);
    }
}

/* A source that is not a file of its own: nothing to look at again. */
static marey_status read_overlap(void *ctx, const char *path, trace_builder *b, const reader_progress *progress)
{
    (void)path;
    (void)progress;
    strbuf *text = ctx;
    return reader_read_memory(text->s, text->n, "memory", b, NULL);
}

static void without_a_second_look_there_is_no_place(void **state)
{
    (void)state;
    strbuf b = {0};
    write_text(&b, false);
    convert_source source = {.path = "memory", .rank_hint = -1, .read = read_overlap, .ctx = &b};
    convert_options options = {.out = path_of("out.h5")};
    diag d;
    diag_init(&d);
    assert_int_equal(convert_sources(&source, 1, &options, NULL, &d), MAREY_OK);
    store_file *f = NULL;
    assert_int_equal(store_open(&f, options.out, &d), MAREY_OK);
    assert_int_equal(store_model(f)->n_losses, 4);
    for (size_t i = 0; i < store_model(f)->n_losses; i++) {
        assert_true(store_model(f)->losses[i].first_offset == DIAG_NO_OFFSET);
    }
    store_close(&f);
    diag_deinit(&d);
    strbuf_deinit(&b);
}

/* Events that reach beyond the longest run are cut, and counted. */
static void long_events_are_counted(void **state)
{
    (void)state;
    for (unsigned before = 0; before < 2; before++) {
        strbuf b = {0};
        strbuf_puts(&b, "[\n");
        put(&b, "X", "ordinary", 1, 5000, ", \"dur\": 8");
        put(&b, "X", "long enough", 2, 6000, ", \"dur\": 3000000000000000"); /* 95 years */
        put(&b, "X", "too long", 3, 6000, ", \"dur\": 6000000000000000");    /* 190 years */
        put(&b, "X", "too long as well", 4, 6500, ", \"dur\": 6000000000000000");
        if (before) {
            strbuf_puts(
                &b, "{\"ph\": \"X\", \"name\": \"long ago\", \"pid\": 1, \"tid\": 5, \"ts\": -4e15, \"dur\": 5},\n");
        }
        strbuf_puts(&b, "{}]\n");
        assert_int_equal(file_write_all(path_of("in.json"), b.s, b.n, NULL), MAREY_OK);
        for (unsigned way = 0; way < 4; way++) {
            store_file *f = NULL;
            convert(path_of("in.json"), 1 + way % 2, way / 2, &f);
            const trace_model *m = store_model(f);
            check_place(m, b.s, MAREY_LOSS_CLIPPED, "", "too long");
            uint64_t n = 0;
            for (size_t i = 0; i < m->n_losses; i++) {
                n += m->losses[i].code == MAREY_LOSS_CLIPPED ? m->losses[i].count : 0;
            }
            assert_int_equal(n, before ? 3 : 2);
            assert_true(m->duration_ns == INT64_C(1) << 62);
            store_close(&f);
        }
        strbuf_deinit(&b);
    }
}

static void strict_names_the_place(void **state)
{
    (void)state;
    strbuf b = {0};
    write_text(&b, false);
    assert_int_equal(file_write_all(path_of("in.json"), b.s, b.n, NULL), MAREY_OK);
    const char *path = path_of("in.json");
    convert_options options = {.out = path_of("strict.h5"), .strict = true};
    diag d;
    diag_init(&d);
    assert_int_equal(convert_paths(&path, 1, &options, NULL, &d), MAREY_FORMAT);
    const char *record =
        strstr(b.s, "\"name\": \"first over\""); /* the loss that stands first, though it is found late */
    while (*record != '{') {
        record--;
    }
    assert_int_equal(d.messages[d.n_messages - 1].offset, record - b.s);
    diag_deinit(&d);
    strbuf_deinit(&b);
}

static int set_up(void **state)
{
    (void)state;
    temporary_dir(dir, sizeof dir);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    remove_dir(dir);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(first_records_are_found), cmocka_unit_test(events_alone_are_found),
        cmocka_unit_test(without_a_second_look_there_is_no_place), cmocka_unit_test(long_events_are_counted),
        cmocka_unit_test(strict_names_the_place)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
