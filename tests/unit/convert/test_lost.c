/*
 * Contract: losses that are found once all is read say where the first of them stands: exactly the byte at which its
 * record begins, in an input of any size, plain or packed, cut anywhere, read by one job or two, in memory or by way of
 * the scratch file. What can't be read twice has no places, and is converted all the same. A run begins and ends with
 * the samples of its counters, but for those far from it, which are moved there and counted.
 */
#include "cm.h"

#include <zlib.h>

#include "base/file.h"
#include "base/mem.h"
#include "convert/convert.h"
#include "store/query.h"
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

/* One rank of a run whose ranks work in step: the other's clock is 7 ms ahead. */
static void write_rank(strbuf *b, unsigned rank, const char *more)
{
    strbuf_printf(
        b, "{\"distributedInfo\": {\"backend\": \"nccl\", \"rank\": %u, \"world_size\": 2}, \"traceEvents\": [\n",
        rank);
    for (unsigned i = 0; i < 60; i++) {
        uint64_t ts = 10000 + 1000 * i + 7000 * rank;
        strbuf_printf(b,
                      "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"ncclDevKernel_AllReduce_Sum_f32_RING_LL\", "
                      "\"pid\": 0, \"tid\": 20, \"ts\": %llu, \"dur\": 200, \"args\": {\"stream\": 20, \"device\": 0, "
                      "\"Collective name\": \"allreduce\", \"Process Group Name\": \"0\", \"Process Group Ranks\": "
                      "\"[0, 1]\", \"In msg nelems\": 1024, \"Out msg nelems\": 1024, \"Group size\": 2, \"dtype\": "
                      "\"Float\"}},\n",
                      (unsigned long long)ts);
    }
    strbuf_printf(b, "%s{}]}\n", more);
}

typedef struct clipped_events {
    const store_file *file;
    size_t n, n_marked;
} clipped_events;

static bool see_clipped(void *ctx, const store_event_info *e)
{
    clipped_events *k = ctx;
    const trace_model *m = store_model(k->file);
    const char *name = m->names[e->name].text;
    bool is_clipped = strncmp(name, "too long", 8) == 0 || strncmp(name, "long ago", 8) == 0;
    bool is_marked = (e->flags & EVENT_REPAIRED) && (e->flags & EVENT_SEVERITY) == SEVERITY_LOST;
    assert_int_equal(is_marked, is_clipped);
    assert_true(e->start_ns >= 0 && e->start_ns + e->dur_ns <= m->duration_ns);
    assert_true(strncmp(name, "too long", 8) != 0 || e->start_ns + e->dur_ns == m->duration_ns);
    k->n += is_clipped;
    return true;
}

/* Also where the clock of an input was aligned with the others': its rows go another way. */
static void long_events_on_moved_clocks_are_counted(void **state)
{
    (void)state;
    static const char *const more =
        "{\"ph\": \"X\", \"name\": \"too long\", \"pid\": 1, \"tid\": 3, \"ts\": 26000, \"dur\": 6000000000000000},\n"
        "{\"ph\": \"X\", \"name\": \"too long as well\", \"pid\": 1, \"tid\": 3, \"ts\": 26500, \"dur\": "
        "6000000000000000},\n"
        "{\"ph\": \"X\", \"name\": \"long ago\", \"pid\": 1, \"tid\": 5, \"ts\": -4e15, \"dur\": 5},\n";
    for (unsigned at = 0; at < 2; at++) { /* in the file whose clock is ahead, or in the other */
        strbuf b[2] = {{0}, {0}};
        const char *paths[2] = {path_of("rank-0.json"), path_of("rank-1.json")};
        for (unsigned rank = 0; rank < 2; rank++) {
            write_rank(&b[rank], rank, rank == at ? more : "");
            assert_int_equal(file_write_all(paths[rank], b[rank].s, b[rank].n, NULL), MAREY_OK);
        }
        for (unsigned jobs = 1; jobs < 3; jobs++) {
            convert_options options = {.out = path_of("out.h5"), .jobs = jobs, .force = true};
            diag d;
            diag_init(&d);
            assert_int_equal(convert_paths(paths, 2, &options, NULL, &d), MAREY_OK);
            store_file *f = NULL;
            assert_int_equal(store_open(&f, options.out, &d), MAREY_OK);
            const trace_model *m = store_model(f);
            assert_int_equal(m->n_ranks, 2);
            assert_string_equal(m->ranks[at].clock_method, "collectives");
            check_place(m, b[at].s, MAREY_LOSS_CLIPPED, "", "too long");
            uint64_t n = 0;
            for (size_t i = 0; i < m->n_losses; i++) {
                n += m->losses[i].code == MAREY_LOSS_CLIPPED ? m->losses[i].count : 0;
            }
            assert_int_equal(n, 3);
            clipped_events seen = {.file = f};
            uint32_t *tracks = mem_alloc((m->n_tracks + 1) * sizeof *tracks);
            for (uint32_t i = 0; i < m->n_tracks; i++) {
                tracks[i] = i;
            }
            query_row all = {tracks, (uint32_t)m->n_tracks};
            assert_int_equal(store_visit(f, &all, 0, INT64_MAX, see_clipped, &seen, &d), MAREY_OK);
            assert_int_equal(seen.n, 3);
            free(tracks);
            store_close(&f);
            diag_deinit(&d);
        }
        strbuf_deinit(&b[0]);
        strbuf_deinit(&b[1]);
    }
}

/* ------------------------------------------------------------------ samples of counters */

typedef struct sampled_run {
    const char *samples; /* "us:value us:value" */
    int64_t duration_ns;
    uint64_t n_outside;   /* counted */
    const char *times_ns; /* of all samples in the file */
    bool whole;           /* the first picture shows all of it, not only where the events are */
} sampled_run;

static void write_samples_text(strbuf *b, const char *samples)
{
    strbuf_puts(b, "[\n");
    put(b, "X", "event", 1, 50000000, ", \"dur\": 1000000"); /* from 50 s on, a second long */
    put(b, "X", "event", 1, 51500000, ", \"dur\": 500000");
    while (*samples) {
        char *end;
        double us = strtod(samples, &end);
        double value = strtod(end + 1, &end);
        strbuf_printf(b,
                      "{\"ph\": \"C\", \"name\": \"memory\", \"pid\": 1, \"tid\": 1, \"ts\": %.0f, "
                      "\"args\": {\"bytes\": %.0f}},\n",
                      us, value);
        samples = end + (*end == ' ');
    }
    strbuf_puts(b, "{}]\n");
}

/* A run begins and ends with its samples; what lies further away than anybody waits for one is moved there and counted.
 */
static void samples_belong_to_the_run(void **state)
{
    (void)state;
    const int64_t second = 1000000000;
    const sampled_run cases[] = {
        {"50000000:1 52000000:2", 2 * second + 1, 0, "0 2000000000", true}, /* half-open: a point at its end */
        {"50500000:1 51000000:2", 2 * second, 0, "500000000 1000000000", true},
        {"49000000:1 50500000:2", 3 * second, 0, "0 1500000000", true},             /* shortly before */
        {"50500000:1 53000000:2", 3 * second + 1, 0, "500000000 3000000000", true}, /* and after */
        {"31000000:1 41000000:2 51000000:3", 21 * second, 0, "0 10000000000 20000000000",
         false}, /* by way of another */
        {"0:7 49000000:1 50500000:2", 3 * second, 1, "0 0 1500000000", true},
        {"0:7 5:8 50500000:2 400000000:9", 2 * second, 3, "0 0 500000000 2000000000", true},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        strbuf b = {0};
        write_samples_text(&b, cases[k].samples);
        assert_int_equal(file_write_all(path_of("in.json"), b.s, b.n, NULL), MAREY_OK);
        for (unsigned way = 0; way < 4; way++) {
            store_file *f = NULL;
            convert(path_of("in.json"), 1 + way % 2, way / 2, &f);
            const trace_model *m = store_model(f);
            assert_int_equal(m->duration_ns, cases[k].duration_ns);
            assert_int_equal(m->view_start_ns == 0 && m->view_end_ns == m->duration_ns, cases[k].whole);
            store_sample *v = NULL;
            size_t n = 0;
            assert_int_equal(store_read_samples(f, 0, &v, &n, NULL), MAREY_OK);
            strbuf times = {0};
            for (size_t i = 0; i < n; i++) {
                strbuf_printf(&times, "%s%lld", i ? " " : "", (long long)v[i].ts_ns);
            }
            assert_string_equal(strbuf_str(&times), cases[k].times_ns);
            assert_int_equal(m->n_losses, cases[k].n_outside > 0);
            if (cases[k].n_outside > 0) {
                assert_int_equal(m->losses[0].count, cases[k].n_outside);
                check_place(m, b.s, MAREY_LOSS_CLIPPED, "a counter's sample far from all events", "memory");
            }
            strbuf_deinit(&times);
            free(v);
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
    const struct CMUnitTest tests[] = {cmocka_unit_test(first_records_are_found),
                                       cmocka_unit_test(events_alone_are_found),
                                       cmocka_unit_test(without_a_second_look_there_is_no_place),
                                       cmocka_unit_test(long_events_are_counted),
                                       cmocka_unit_test(long_events_on_moved_clocks_are_counted),
                                       cmocka_unit_test(samples_belong_to_the_run),
                                       cmocka_unit_test(strict_names_the_place)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
