/*
 * Contract of the numbers that the panels show, on a run written by hand:
 *
 * - rank_time: every instant of a rank's window goes to one class, computing before communication before copies; the
 *   classes add up to the union; what lies outside of the window does not count, what crosses its edge counts by its
 *   part.
 * - peers: the same instance of the same name on the ranks of the stage in the same step; median, MAD, the slowest, the
 *   99th percentile of start lags by hand.
 * - find_names: ranks by label, number, host; names by part, whatever their case; the next event of a name.
 * - json_pairs: pairs of an object as text, escapes undone; what is no object has none; damaged text ends.
 */
#include "cm.h"

#include "app/find_names.h"
#include "app/json_pairs.h"
#include "app/peers.h"
#include "app/rank_time.h"
#include "help/small_run.h"

enum { RANKS = 4 };

typedef struct fixture {
    small_run r;
    store_file *file;
    uint32_t compute[RANKS], comm[RANKS], copy[RANKS];
    uint32_t gemm, reduce, move;
} fixture;

static void put(fixture *f, uint32_t track, int64_t start, int64_t dur, uint32_t name, uint32_t instance, uint8_t klass)
{
    small_put(&f->r, (small_event){track, start, dur, name, instance, klass, 0, NULL});
}

/* Ranks 0 to 2 are stage 0, rank 3 is stage 1. Step k is [1000 k, 1000 k + 1000). */
static int set_up(void **state)
{
    fixture *f = calloc(1, sizeof *f);
    small_init(&f->r);
    f->gemm = small_name(&f->r, "gemm_fp16", CLASS_FORWARD, KIND_COMPUTE);
    f->reduce = small_name(&f->r, "AllReduce", CLASS_COLLECTIVE, KIND_COMMUNICATION);
    f->move = small_name(&f->r, "Memcpy", CLASS_COPY, KIND_COPY);
    for (uint32_t r = 0; r < RANKS; r++) {
        (void)small_rank(&f->r, r < 3 ? 0 : 1, r < 2 ? "alpha" : "beta");
        f->compute[r] = small_lane(&f->r, KIND_COMPUTE, "stream 7", 1);
        f->comm[r] = small_lane(&f->r, KIND_COMMUNICATION, "stream 9", 1);
        f->copy[r] = small_lane(&f->r, KIND_COPY, "stream 11", 1);
        for (int64_t k = 0; k < 2; k++) {
            small_step(&f->r, r, k, 1000 * k, 1000 * k + 1000);
        }
    }
    put(f, f->compute[0], 0, 80, f->gemm, 0, CLASS_FORWARD);
    put(f, f->comm[0], 50, 80, f->reduce, 0, CLASS_COLLECTIVE);
    put(f, f->copy[0], 100, 100, f->move, 0, CLASS_COPY);
    put(f, f->compute[0], 950, 100, f->gemm, 1, CLASS_FORWARD); /* over the end of step 0 */
    put(f, f->compute[1], 10, 90, f->gemm, 0, CLASS_FORWARD);
    put(f, f->compute[2], 30, 200, f->gemm, 0, CLASS_FORWARD);
    put(f, f->compute[3], 5, 40, f->gemm, 0, CLASS_FORWARD);    /* another stage */
    put(f, f->compute[1], 1100, 70, f->gemm, 0, CLASS_FORWARD); /* another step */
    diag d;
    diag_init(&d);
    d.echo = true;
    assert_int_equal(small_write(&f->r, &d), MAREY_OK);
    assert_int_equal(store_open(&f->file, f->r.path, &d), MAREY_OK);
    diag_deinit(&d);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    fixture *f = *state;
    store_close(&f->file);
    (void)unlink(f->r.path);
    small_free(&f->r);
    free(f);
    return 0;
}

static void test_rank_time(void **state)
{
    fixture *f = *state;
    rank_window w[RANKS];
    rank_time t[RANKS];
    rank_windows_of_step(store_model(f->file), 0, w);
    assert_int_equal(w[2].t1_ns, 1000);
    assert_int_equal(rank_time_sum(f->file, w, t, NULL, NULL), MAREY_OK);
    assert_int_equal(t[0].class_ns[CLASS_FORWARD], 80 + 50); /* the last one up to the step's end */
    assert_int_equal(t[0].class_ns[CLASS_COLLECTIVE], 50);   /* 130 - 80: what computing does not hide */
    assert_int_equal(t[0].class_ns[CLASS_COPY], 70);         /* 200 - 130 */
    assert_int_equal(t[0].busy_ns, 250);
    assert_int_equal(t[2].busy_ns, 200);
    assert_int_equal(t[3].busy_ns, 40);
    rank_windows_of_range(store_model(f->file), 60, 110, w);
    assert_int_equal(rank_time_sum(f->file, w, t, NULL, NULL), MAREY_OK);
    assert_int_equal(t[0].class_ns[CLASS_FORWARD], 20);
    assert_int_equal(t[0].class_ns[CLASS_COLLECTIVE], 30);
    assert_int_equal(t[0].busy_ns, 50);
    assert_int_equal(t[3].busy_ns, 0);
    assert_true(rank_time_count(f->file, w) >= 3);
    cancel_flag stop;
    atomic_init(&stop.set, true);
    assert_int_equal(rank_time_sum(f->file, w, t, &stop, NULL), MAREY_CANCELLED);
}

static store_event_info event_at(fixture *f, uint32_t track, int64_t start)
{
    store_event_info e = {0};
    for (uint64_t row = 0; row < f->r.n; row++) {
        if (store_read_event(f->file, row, &e, NULL) == MAREY_OK && e.track == track && e.start_ns == start) {
            return e;
        }
    }
    fail_msg("no event at %lld", (long long)start);
    return e;
}

static void test_peers(void **state)
{
    fixture *f = *state;
    peers p;
    store_event_info e = event_at(f, f->compute[1], 10);
    assert_int_equal(peers_find(f->file, &e, &p, NULL, NULL), MAREY_OK);
    assert_int_equal(p.n, 3);
    assert_int_equal(p.items[0].dur_ns, 80);
    assert_int_equal(p.items[1].dur_ns, 90);
    assert_int_equal(p.items[2].dur_ns, 200);
    assert_int_equal(p.median_ns, 90);
    assert_int_equal(p.mad_ns, 10); /* of 10, 0, 110 */
    assert_int_equal(p.slowest, 2);
    assert_true(p.slowest_mads > 10.99 && p.slowest_mads < 11.01);
    assert_int_equal(p.start_lag_p99_ns, 30);
    assert_false(peers_is_outlier(&p, 200)); /* 110 ns more are nobody's trouble */
    peers_deinit(&p);
    e = event_at(f, f->compute[1], 1100);
    assert_int_equal(peers_find(f->file, &e, &p, NULL, NULL), MAREY_OK);
    assert_int_equal(p.n, 1);
    assert_int_equal(p.median_ns, 70);
    peers_deinit(&p);
}

static void test_outliers(void **state)
{
    (void)state;
    peers p = {0};
    for (uint32_t i = 0; i < 9; i++) {
        peer q = {i, 0, 1000000 + (int64_t)i * 1000};
        VEC_PUSH(p.items, p.n, p.cap, q);
    }
    peer slow = {9, 7, 1400000};
    VEC_PUSH(p.items, p.n, p.cap, slow);
    peers_measure(&p);
    assert_true(peers_is_outlier(&p, 1400000));
    assert_false(peers_is_outlier(&p, 1008000));
    assert_true(peers_is_outlier(&p, 600000)); /* a short one is one, too */
    assert_int_equal(p.start_lag_p99_ns, 7);
    peers_deinit(&p);
}

static void test_names(void **state)
{
    fixture *f = *state;
    const trace_model *m = store_model(f->file);
    find_hits h = {0};
    find_names(m, "allr", &h);
    assert_int_equal(h.n, 1);
    assert_true(h.items[0].kind == FIND_NAME && strcmp(m->names[h.items[0].id].text, "AllReduce") == 0);
    find_names(m, "beta", &h);
    assert_int_equal(h.n, 2);
    assert_true(h.items[0].kind == FIND_RANK && h.items[0].id == 2);
    find_names(m, "3", &h);
    assert_true(h.n == 1 && h.items[0].id == 3);
    find_names(m, "M", &h);
    assert_int_equal(h.n, 2); /* Memcpy begins with it, gemm holds it */
    assert_string_equal(m->names[h.items[0].id].text, "Memcpy");
    find_names(m, "", &h);
    assert_int_equal(h.n, 0);
    find_names(m, "gemm_fp16_and_more", &h);
    assert_int_equal(h.n, 0);
    free(h.items);
}

static void test_next_event(void **state)
{
    fixture *f = *state;
    store_event_info e;
    uint64_t row = find_event(f->file, f->gemm, 31, NULL);
    assert_int_equal(store_read_event(f->file, row, &e, NULL), MAREY_OK);
    assert_int_equal(e.start_ns, 950);
    row = find_event(f->file, f->gemm, 1101, NULL); /* none later: the first of all */
    assert_int_equal(store_read_event(f->file, row, &e, NULL), MAREY_OK);
    assert_int_equal(e.start_ns, 0);
    assert_true(find_event(f->file, 999, 0, NULL) == UINT64_MAX);
}

static void test_json_pairs(void **state)
{
    (void)state;
    const char *text = "{\"stream\": 7,\"name\":\"a \\\"b\\\" \\u4e2d\", \"grid\":[1, {\"x\":\"],\"}],\"last\":null}";
    char key[32];
    char value[32];
    size_t at = 0;
    assert_true(json_next_pair(text, &at, key, sizeof key, value, sizeof value));
    assert_string_equal(key, "stream");
    assert_string_equal(value, "7");
    assert_true(json_next_pair(text, &at, key, sizeof key, value, sizeof value));
    assert_string_equal(value, "a \"b\" \xE4\xB8\xAD");
    assert_true(json_next_pair(text, &at, key, sizeof key, value, sizeof value));
    assert_string_equal(value, "[1, {\"x\":\"],\"}]");
    assert_true(json_next_pair(text, &at, key, sizeof key, value, sizeof value));
    assert_string_equal(key, "last");
    assert_string_equal(value, "null");
    assert_false(json_next_pair(text, &at, key, sizeof key, value, sizeof value));
    at = 0;
    assert_false(json_next_pair("[1]", &at, key, sizeof key, value, sizeof value));
    assert_false(json_next_pair("", &at, key, sizeof key, value, sizeof value));
    /* Every prefix ends, and what is too long is cut between letters. */
    for (size_t n = 0; n <= strlen(text); n++) {
        char *part = strndup(text, n);
        char small[6];
        at = 0;
        int pairs = 0;
        while (json_next_pair(part, &at, small, sizeof small, small, sizeof small)) {
            assert_true(++pairs <= 5);
        }
        free(part);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_rank_time, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_peers, set_up, tear_down),
        cmocka_unit_test(test_outliers),
        cmocka_unit_test_setup_teardown(test_names, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_next_event, set_up, tear_down),
        cmocka_unit_test(test_json_pairs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
