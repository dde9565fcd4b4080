/*
 * Contract: groups may be written on several threads at once, and an open file read by several: the answers are the
 * same as from one. Meant for a run under ThreadSanitizer too.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>

#include "help/store_run.h"

enum { N_GROUPS = 4, N_READERS = 4 };

typedef struct group_job {
    run *r;
    store_writer *w;
    uint32_t group;
    marey_status status;
} group_job;

static void *write_group(void *ctx)
{
    group_job *j = ctx;
    uint32_t first = j->group * GROUP_RANKS;
    uint32_t n = j->r->p.n_ranks - first < GROUP_RANKS ? j->r->p.n_ranks - first : GROUP_RANKS;
    store_group_params p = {GROUP_EVENTS, first, n, j->r->model.duration_ns, j->r->n / N_GROUPS, 0};
    store_group *g = NULL;
    j->status = store_group_begin(j->w, &g, &p, NULL);
    for (size_t i = 0; i < j->r->n && j->status == MAREY_OK; i++) {
        const run_event *e = &j->r->events[i];
        if (e->group == j->group) {
            store_event copy = e->e;
            copy.args = e->args;
            copy.args_len = e->args ? (uint32_t)strlen(e->args) : 0;
            j->status = store_group_put(g, &copy, e->track_row, NULL);
        }
    }
    marey_status ended = store_group_end(&g, NULL);
    j->status = j->status == MAREY_OK ? ended : j->status;
    return NULL;
}

static void write_at_once(run *r, const char *path)
{
    store_writer *w = NULL;
    store_options o = {.workers = r->p.workers, .on_row = run_note_row, .on_row_ctx = r};
    pthread_t threads[N_GROUPS];
    group_job jobs[N_GROUPS];
    assert_int_equal(store_writer_create(&w, path, &o, NULL), MAREY_OK);
    for (uint32_t i = 0; i < N_GROUPS; i++) {
        jobs[i] = (group_job){r, w, i, MAREY_OK};
        assert_int_equal(pthread_create(&threads[i], NULL, write_group, &jobs[i]), 0);
    }
    for (uint32_t i = 0; i < N_GROUPS; i++) {
        (void)pthread_join(threads[i], NULL);
        assert_int_equal(jobs[i].status, MAREY_OK);
    }
    assert_int_equal(store_writer_finish(w, &r->model, NULL), MAREY_OK);
    store_writer_destroy(&w);
}

typedef struct read_job {
    run *r;
    store_file *f;
    uint64_t seed;
    uint64_t n_wrong;
    uint64_t busy_ns;
} read_job;

static uint64_t query_all(read_job *j)
{
    const trace_model *m = store_model(j->f);
    uint32_t *tracks = mem_alloc(m->n_tracks * sizeof *tracks);
    for (uint32_t i = 0; i < m->n_tracks; i++) {
        tracks[i] = i;
    }
    query_row row = {tracks, m->n_tracks};
    query_result res = {0};
    query_grid q = {0, m->duration_ns, 10, KEY_CLASS, &row, 1, NULL};
    uint64_t sum = 0;
    if (store_query(j->f, &q, &res, NULL) == MAREY_OK) {
        for (unsigned k = 0; k < 10; k++) {
            sum += (uint64_t)res.busy_ns[k] + res.count[k];
        }
        query_free(&res, 1);
    }
    free(tracks);
    return sum;
}

static void *read_all(void *ctx)
{
    read_job *j = ctx;
    prng g;
    prng_seed(&g, j->seed);
    strbuf args = {0};
    uint8_t *cells = mem_alloc((size_t)TILE_CELLS * LOD_PLANES);
    for (unsigned i = 0; i < 200; i++) {
        const run_event *w = &j->r->events[prng_below(&g, j->r->n)];
        store_event_info e;
        strbuf_clear(&args);
        bool ok = store_read_event(j->f, w->row, &e, NULL) == MAREY_OK &&
                  store_read_args(j->f, w->row, &args, NULL) == MAREY_OK;
        ok = ok && e.start_ns == w->e.start_ns && e.dur_ns == w->e.dur_ns && e.track == w->e.track;
        ok = ok && strcmp(strbuf_str(&args), w->args ? w->args : "") == 0;
        ok = ok && store_read_tile(j->f, (uint32_t)prng_below(&g, store_n_tiles(j->f)), cells, NULL) == MAREY_OK;
        j->n_wrong += !ok;
    }
    j->busy_ns = query_all(j);
    free(cells);
    strbuf_deinit(&args);
    return NULL;
}

static void test_threads(void **state)
{
    (void)state;
    run r;
    run_params p = {.seed = 41,
                    .n_ranks = 64 * (N_GROUPS - 1) + 5,
                    .n_device_tracks = 2,
                    .n_cpu_tracks = 1,
                    .n_events = 300,
                    .unit_ns = 900,
                    .has_long = true,
                    .has_args = true};
    p.workers = pool_create(2);
    run_make(&r, &p);
    const char *path = run_path("threads");
    write_at_once(&r, path);
    store_file *f = NULL;
    assert_int_equal(store_open(&f, path, NULL), MAREY_OK);
    pthread_t threads[N_READERS];
    read_job jobs[N_READERS];
    for (unsigned i = 0; i < N_READERS; i++) {
        jobs[i] = (read_job){&r, f, i, 0, 0};
        assert_int_equal(pthread_create(&threads[i], NULL, read_all, &jobs[i]), 0);
    }
    for (unsigned i = 0; i < N_READERS; i++) {
        (void)pthread_join(threads[i], NULL);
        assert_int_equal(jobs[i].n_wrong, 0);
        assert_true(jobs[i].busy_ns > 0 && jobs[i].busy_ns == jobs[0].busy_ns);
    }
    store_close(&f);
    (void)unlink(path);
    run_free(&r);
    pool_destroy(&p.workers);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_threads)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
