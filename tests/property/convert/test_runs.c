/*
 * Contract: rows come out of a merge in ascending order of (start, longer first, order of input), none lost and none
 * doubled, with their own arguments, whatever the order and number of the pieces, in memory and from the scratch file;
 * rows changed in a pass with write-back stay changed. Records of a sorter come out in order of their two keys, equal
 * ones in order of input, in memory and spilled.
 */
#include "cm.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "convert/run.h"
#include "convert/sorter.h"

typedef struct expected {
    int64_t start_ns, dur_ns;
    uint64_t order;
    uint32_t source;
} expected;

static int compare(const void *pa, const void *pb)
{
    const expected *a = pa;
    const expected *b = pb;
    if (a->start_ns != b->start_ns) {
        return a->start_ns < b->start_ns ? -1 : 1;
    }
    if (a->dur_ns != b->dur_ns) {
        return a->dur_ns > b->dur_ns ? -1 : 1;
    }
    if (a->source != b->source) {
        return a->source < b->source ? -1 : 1;
    }
    return a->order < b->order ? -1 : a->order > b->order;
}

/* Several shapes of input: sorted, nearly sorted, two interleaved streams, all at once, far apart, with negative times.
 */
static int64_t some_time(prng *r, int shape, uint64_t i)
{
    switch (shape) {
    case 0:
        return (int64_t)i * 10;
    case 1:
        return (int64_t)i * 10 + (int64_t)prng_below(r, 1000);
    case 2:
        return (int64_t)(i / 2 * 10 + (i % 2) * 1000000);
    case 3:
        return (int64_t)prng_below(r, 3);
    case 4:
        return (int64_t)(prng_next(r) >> 1) - INT64_MAX / 2;
    default:
        return (int64_t)prng_below(r, 1000000) - 500000;
    }
}

typedef struct trial {
    run_set sets[3];
    expected *want;
    size_t n, cap;
} trial;

static void fill(trial *t, prng *r, scratch *sc)
{
    for (uint32_t s = 0; s < 3; s++) {
        run_set_init(&t->sets[s], sc);
        uint64_t order = 0;
        bool many = prng_below(r, 4) == 0; /* more than one segment takes */
        bool large = !many && prng_below(r, 4) == 0;
        size_t pieces = prng_below(r, many ? 3 * RUN_PIECES : 5);
        int shape = (int)prng_below(r, 6);
        for (size_t p = 0; p < pieces; p++) {
            size_t n = 1 + prng_below(r, many ? 40 : large ? RUN_ROWS : 3000);
            run_row *rows = calloc(n, sizeof *rows);
            run_args args = {.cap = n * 8 * (1 + prng_below(r, 3)) + ARG_RECORD_PAD_BYTES};
            args.text = malloc(args.cap);
            uint32_t at = 0;
            for (size_t i = 0; i < n; i++) {
                rows[i].start_ns = some_time(r, shape, order);
                rows[i].dur_ns = (int64_t)prng_below(r, 4);
                rows[i].name = (uint32_t)order;
                rows[i].args_at = at;
                rows[i].args_len = (uint32_t)prng_below(r, 9);
                memset(args.text + at, (int)(order & 0xff), rows[i].args_len);
                at += rows[i].args_len;
                VEC_PUSH(t->want, t->n, t->cap, ((expected){rows[i].start_ns, rows[i].dur_ns, order, s}));
                order++;
            }
            args.n = at;
            assert_int_equal(run_set_add(&t->sets[s], &rows, n, &args, NULL), MAREY_OK);
            free(args.text);
            free(rows);
        }
        run_set_seal(&t->sets[s]);
    }
    qsort(t->want, t->n, sizeof *t->want, compare);
}

static void check_pass(trial *t, bool write)
{
    run_merge m;
    run_merge_init(&m, write);
    for (uint32_t s = 0; s < 3; s++) {
        run_merge_add(&m, &t->sets[s], s, NULL, NULL, 0);
    }
    assert_int_equal(run_merge_start(&m, NULL), MAREY_OK);
    size_t i = 0;
    run_cursor *c;
    while ((c = run_merge_top(&m)) != NULL) {
        assert_true(i < t->n);
        const expected *e = &t->want[i++];
        assert_true(c->row->start_ns == e->start_ns && c->row->dur_ns == e->dur_ns);
        assert_int_equal(c->source, e->source);
        assert_int_equal(run_cursor_order(c), e->order);
        assert_int_equal(c->row->name, e->order);
        const char *args;
        assert_int_equal(run_cursor_args(c, &args, NULL), MAREY_OK);
        for (uint32_t k = 0; k < c->row->args_len; k++) {
            assert_int_equal((unsigned char)args[k], e->order & 0xff);
        }
        if (write) {
            c->row->instance = (uint32_t)i;
        } else {
            assert_int_equal(c->row->instance, i);
        }
        assert_int_equal(run_merge_next(&m, NULL), MAREY_OK);
    }
    assert_int_equal(i, t->n);
    run_merge_deinit(&m);
}

static void merges(void **state)
{
    (void)state;
    prng r;
    prng_seed(&r, 7);
    const uint64_t budgets[] = {0, 100000, UINT64_MAX / 2};
    for (int round = 0; round < 60; round++) {
        scratch sc;
        scratch_init(&sc, "/tmp/marey-test", budgets[round % 3]);
        trial t = {0};
        fill(&t, &r, &sc);
        check_pass(&t, true);
        check_pass(&t, false);
        for (int s = 0; s < 3; s++) {
            run_set_deinit(&t.sets[s]);
        }
        assert_int_equal(atomic_load(&sc.used_bytes), 0);
        scratch_deinit(&sc);
        free(t.want);
    }
}

static int compare_records(const void *pa, const void *pb)
{
    const sort_record *a = pa;
    const sort_record *b = pb;
    if (a->k0 != b->k0) {
        return a->k0 < b->k0 ? -1 : 1;
    }
    if (a->k1 != b->k1) {
        return a->k1 < b->k1 ? -1 : 1;
    }
    return a->v < b->v ? -1 : a->v > b->v;
}

static void sorts_records(void **state)
{
    (void)state;
    prng r;
    prng_seed(&r, 11);
    for (int round = 0; round < 40; round++) {
        scratch sc;
        scratch_init(&sc, "/tmp/marey-test", 0);
        sorter s;
        sorter_init(&s, &sc, round % 2 ? 1024 : 100000);
        size_t n = prng_below(&r, 20000);
        sort_record *want = calloc(n + 1, sizeof *want);
        for (size_t i = 0; i < n; i++) {
            want[i].k0 = round % 3 ? prng_below(&r, round % 5 ? 50 : 3) : prng_next(&r);
            want[i].k1 = round % 4 ? sorter_key((int64_t)prng_next(&r)) : prng_below(&r, 2);
            if (round % 8 == 6) { /* long keys, of which many begin alike */
                want[i].k1 = prng_below(&r, 2) << 60 | prng_below(&r, 1 << 30);
            }
            want[i].v = i;
            assert_int_equal(sorter_push(&s, want[i].k0, want[i].k1, i, NULL), MAREY_OK);
        }
        qsort(want, n, sizeof *want, compare_records);
        assert_int_equal(sorter_finish(&s, NULL), MAREY_OK);
        sort_record got;
        bool more = true;
        for (size_t i = 0; i <= n; i++) {
            assert_int_equal(sorter_next(&s, &got, &more, NULL), MAREY_OK);
            assert_int_equal(more, i < n);
            assert_true(i == n || memcmp(&got, &want[i], sizeof got) == 0);
        }
        sorter_deinit(&s);
        scratch_deinit(&sc);
        free(want);
    }
    assert_true(sorter_time(sorter_key(-5)) == -5 && sorter_key(-5) < sorter_key(3));
}

/* A scratch file that can't be written is an error with a reason, not a crash. */
static void tells_full_disk(void **state)
{
    (void)state;
    scratch sc;
    scratch_init(&sc, "/nowhere/at/all/out.h5", 0);
    diag d;
    diag_init(&d);
    run_set s;
    run_set_init(&s, &sc);
    run_row row = {.start_ns = 1};
    run_row *rows = &row;
    marey_status status = run_set_add(&s, &rows, 1, &(run_args){0}, &d);
    if (status != MAREY_OK) { /* the system's own folder may have served */
        assert_int_equal(status, MAREY_IO);
        assert_true(d.n_messages > 0);
    }
    run_set_deinit(&s);
    diag_deinit(&d);
    scratch_deinit(&sc);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(merges), cmocka_unit_test(sorts_records),
                                       cmocka_unit_test(tells_full_disk)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
