/*
 * Contract: what was written is what is read, and every query equals brute force over the events.
 *
 * Random runs (zero-length events, events over many blocks, more than 32 bits of duration, two groups) are written and
 * read back: each event by its row, with its arguments byte for byte; random windows, bins and rows by the query, plane
 * by plane; the events that a window's blocks and carry list yield; visits. Compressing on workers changes nothing.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "help/store_run.h"

__extension__ typedef __int128 wide;

enum { N_WINDOWS = 60 };

static bool meets(const store_event *e, int64_t t0, int64_t t1)
{
    if (e->dur_ns == 0) {
        return e->start_ns >= t0 && e->start_ns < t1;
    }
    return e->start_ns < t1 && e->start_ns + e->dur_ns > t0;
}

static int compare_hits(const void *a, const void *b)
{
    const store_event *x = a;
    const store_event *y = b;
    return x->start_ns < y->start_ns ? -1 : x->start_ns > y->start_ns;
}

/* Union of intervals inside [t0, t1), the plain way: sort, then go through. */
static int64_t union_ns(store_event *e, size_t n, int64_t t0, int64_t t1)
{
    int64_t sum = 0;
    int64_t until = t0;
    qsort(e, n, sizeof *e, compare_hits);
    for (size_t i = 0; i < n; i++) {
        int64_t from = e[i].start_ns > until ? e[i].start_ns : until;
        int64_t to = e[i].start_ns + e[i].dur_ns < t1 ? e[i].start_ns + e[i].dur_ns : t1;
        sum += to > from ? to - from : 0;
        until = to > until ? to : until;
    }
    return sum;
}

static uint32_t key_of(const run *r, query_key key, const store_event *e)
{
    return key == KEY_CLASS ? e->klass : r->model.names[e->name].category;
}

static void check_bin(const run *r, const query_grid *q, const query_row *row, const query_result *res, uint64_t k)
{
    int64_t width = q->t1_ns - q->t0_ns;
    int64_t lo = q->t0_ns + (int64_t)((wide)width * (wide)k / (wide)q->n_bins);
    int64_t hi = q->t0_ns + (int64_t)((wide)width * (wide)(k + 1) / (wide)q->n_bins);
    store_event *in = mem_alloc((r->n + 1) * sizeof *in);
    store_event *of_key = mem_alloc((r->n + 1) * sizeof *of_key);
    size_t n = 0;
    int64_t longest = -1;
    uint64_t longest_row = UINT64_MAX;
    uint8_t severity = 0;
    for (size_t i = 0; i < r->n; i++) {
        const store_event *e = &r->events[i].e;
        bool is_of_row = false;
        for (size_t t = 0; t < row->n_tracks; t++) {
            is_of_row = is_of_row || row->tracks[t] == e->track;
        }
        if (!is_of_row || hi == lo || !meets(e, lo, hi)) {
            continue;
        }
        in[n++] = *e;
        uint8_t s = e->flags & EVENT_SEVERITY;
        severity = s > severity ? s : severity;
        if (e->dur_ns > longest || (e->dur_ns == longest && r->events[i].row < longest_row)) {
            longest = e->dur_ns;
            longest_row = r->events[i].row;
        }
    }
    assert_int_equal(res->count[k], n);
    assert_int_equal(res->longest_ns[k], longest);
    assert_true(res->longest_row[k] == longest_row);
    assert_int_equal(res->severity[k], severity);
    size_t n_keys = q->key == KEY_CLASS ? CLASS_COUNT : r->model.n_categories;
    uint32_t dominant = NO_ID;
    int64_t most = -1;
    for (uint32_t key = 0; key < n_keys; key++) {
        size_t m = 0;
        for (size_t i = 0; i < n; i++) {
            if (key_of(r, q->key, &in[i]) == key) {
                of_key[m++] = in[i];
            }
        }
        int64_t share = union_ns(of_key, m, lo, hi);
        assert_int_equal(res->share_ns[k * n_keys + key], share);
        if (m > 0 && share > most) {
            most = share;
            dominant = key;
        }
    }
    assert_int_equal(res->dominant[k], dominant);
    assert_int_equal(res->busy_ns[k], union_ns(in, n, lo, hi));
    free(in);
    free(of_key);
}

static void check_window(run *r, store_file *f, prng *g)
{
    diag d;
    diag_init(&d);
    int64_t t0 = (int64_t)prng_below(g, (uint64_t)r->model.duration_ns + 1) - 5;
    int64_t width = prng_below(g, 3) == 0 ? (int64_t)prng_below(g, 50) + 1
                                          : (int64_t)prng_below(g, (uint64_t)r->model.duration_ns + 10) + 1;
    uint32_t tracks[3][40];
    query_row rows[3];
    query_result results[3] = {0};
    for (unsigned i = 0; i < 3; i++) {
        rows[i] = (query_row){tracks[i], prng_below(g, i == 0 ? 2 : 40)};
        for (size_t t = 0; t < rows[i].n_tracks; t++) {
            tracks[i][t] = (uint32_t)prng_below(g, r->model.n_tracks);
        }
    }
    query_grid q = {t0, t0 + width, prng_below(g, 40) + 1, prng_below(g, 2) ? KEY_CLASS : KEY_CATEGORY, rows, 3, NULL};
    assert_int_equal(store_query(f, &q, results, &d), MAREY_OK);
    for (unsigned i = 0; i < 3; i++) {
        for (unsigned k = 0; k < 4; k++) {
            check_bin(r, &q, &rows[i], &results[i], prng_below(g, q.n_bins));
        }
    }
    query_free(results, 3);
    diag_deinit(&d);
}

typedef struct seen {
    uint64_t *rows;
    size_t n;
    size_t stop;
} seen;

static bool note(void *ctx, const store_event_info *e)
{
    seen *s = ctx;
    s->rows[s->n++] = e->row;
    return s->n != s->stop;
}

static int compare_rows(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static void check_visit(run *r, store_file *f, prng *g)
{
    int64_t t0 = (int64_t)prng_below(g, (uint64_t)r->model.duration_ns + 1);
    int64_t t1 = t0 + 1 + (int64_t)prng_below(g, (uint64_t)r->model.duration_ns / 4 + 1);
    uint32_t *tracks = mem_alloc((r->model.n_tracks + 1) * sizeof *tracks);
    query_row row = {tracks, 0};
    for (uint32_t t = 0; t < r->model.n_tracks; t++) {
        if (prng_below(g, 2)) {
            tracks[row.n_tracks++] = t;
        }
    }
    seen s = {mem_alloc((r->n + 1) * sizeof(uint64_t)), 0, 0};
    uint64_t *wanted = mem_alloc((r->n + 1) * sizeof *wanted);
    size_t n = 0;
    for (size_t i = 0; i < r->n; i++) {
        bool is_in = false;
        for (size_t t = 0; t < row.n_tracks; t++) {
            is_in = is_in || tracks[t] == r->events[i].e.track;
        }
        if (is_in && meets(&r->events[i].e, t0, t1)) {
            wanted[n++] = r->events[i].row;
        }
    }
    assert_int_equal(store_visit(f, &row, t0, t1, note, &s, NULL), MAREY_OK);
    assert_int_equal(s.n, n);
    qsort(s.rows, n, sizeof *s.rows, compare_rows);
    qsort(wanted, n, sizeof *wanted, compare_rows);
    assert_true(n == 0 || memcmp(s.rows, wanted, n * sizeof *wanted) == 0);
    if (n > 1) {
        s.n = 0;
        s.stop = 1;
        assert_int_equal(store_visit(f, &row, t0, t1, note, &s, NULL), MAREY_OK);
        assert_int_equal(s.n, 1);
    }
    free(s.rows);
    free(wanted);
    free(tracks);
}

static void check_events(run *r, store_file *f, prng *g)
{
    strbuf args = {0};
    for (unsigned i = 0; i < 300; i++) {
        const run_event *w = &r->events[prng_below(g, r->n)];
        store_event_info e;
        assert_int_equal(store_read_event(f, w->row, &e, NULL), MAREY_OK);
        assert_int_equal(e.start_ns, w->e.start_ns);
        assert_int_equal(e.dur_ns, w->e.dur_ns);
        assert_int_equal(e.track, w->e.track);
        assert_int_equal(e.name, w->e.name);
        assert_int_equal(e.instance, w->e.instance);
        assert_int_equal(e.klass, w->e.klass);
        assert_int_equal(e.flags, w->e.flags);
        strbuf_clear(&args);
        assert_int_equal(store_read_args(f, w->row, &args, NULL), MAREY_OK);
        assert_string_equal(strbuf_str(&args), w->args ? w->args : "");
    }
    strbuf_deinit(&args);
}

/* Blocks hold every event once; carry lists hold exactly what still runs at t0. */
static void check_blocks(const run *r, store_file *f)
{
    uint64_t n = 0;
    for (uint32_t b = 0; b < store_n_blocks(f); b++) {
        store_block_info info = store_block(f, b);
        n += info.n;
        size_t carried = 0;
        for (size_t i = 0; i < r->n; i++) {
            const run_event *e = &r->events[i];
            bool is_earlier = e->group == info.group &&
                              store_block(f, (uint32_t)(e->row / BLOCK_EVENTS)).t0_ns <= info.t0_ns &&
                              e->row / BLOCK_EVENTS < b;
            carried += is_earlier && e->e.start_ns <= info.t0_ns && e->e.start_ns + e->e.dur_ns > info.t0_ns;
        }
        assert_int_equal(info.n_carry, carried);
        for (uint32_t i = 1; i < info.n_carry; i++) {
            assert_true(info.carry[i - 1].track < info.carry[i].track);
        }
    }
    assert_int_equal(n, r->n);
}

static void check_run(const run_params *p, const char *name)
{
    run r;
    diag d;
    diag_init(&d);
    run_make(&r, p);
    const char *path = run_path(name);
    assert_int_equal(run_write(&r, path, &d), MAREY_OK);
    store_file *f = NULL;
    assert_int_equal(store_open(&f, path, &d), MAREY_OK);
    assert_int_equal(store_model(f)->n_ranks, p->n_ranks);
    assert_int_equal(store_n_groups(f), r.n_groups);
    prng g;
    prng_seed(&g, p->seed + 1);
    check_events(&r, f, &g);
    check_blocks(&r, f);
    for (unsigned i = 0; i < N_WINDOWS; i++) {
        check_window(&r, f, &g);
        check_visit(&r, f, &g);
    }
    assert_int_equal(d.n_messages, 0);
    store_close(&f);
    (void)unlink(path);
    diag_deinit(&d);
    run_free(&r);
}

static void test_small(void **state)
{
    (void)state;
    run_params p = {.seed = 1, .n_ranks = 1, .n_device_tracks = 1, .n_events = 50, .unit_ns = 1000, .has_args = true};
    check_run(&p, "small");
}

static void test_long_events(void **state)
{
    (void)state;
    run_params p = {.seed = 2,
                    .n_ranks = 3,
                    .n_device_tracks = 3,
                    .n_cpu_tracks = 4,
                    .n_events = 5000,
                    .unit_ns = 2000,
                    .has_long = true,
                    .has_args = true};
    check_run(&p, "long");
}

static void test_two_groups_on_workers(void **state)
{
    (void)state;
    run_params p = {.seed = 3,
                    .n_ranks = 66,
                    .n_device_tracks = 2,
                    .n_cpu_tracks = 1,
                    .n_events = 600,
                    .unit_ns = 700,
                    .has_long = true,
                    .has_args = true};
    p.workers = pool_create(2);
    check_run(&p, "groups");
    pool_destroy(&p.workers);
}

static void test_equal_starts(void **state)
{
    (void)state;
    /* All tracks tick in step, so that block borders fall among equal starts. */
    run_params p = {.seed = 4, .n_ranks = 40, .n_device_tracks = 3, .n_events = 900, .unit_ns = 1};
    check_run(&p, "ticks");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_small),
        cmocka_unit_test(test_long_events),
        cmocka_unit_test(test_two_groups_on_workers),
        cmocka_unit_test(test_equal_starts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
