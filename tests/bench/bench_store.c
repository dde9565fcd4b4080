/*
 * How fast events go to disk and come back, and how many bytes they take.
 *
 * A run as a data-parallel job makes it: every rank runs the same sequence of 3 500 kernels and 100 collectives per
 * step of one second, with a jitter of a few per cent and one slow rank in 199. Groups of 64 ranks.
 *
 *     bench_store [events in millions] [threads] [folder] [args]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "store/args.h"
#include "store/query.h"
#include "store/store.h"

enum { KERNELS = 3500, COLLECTIVES = 100, STEP_NS = 1000000000, RANKS = 64, NAMES = 400 };

typedef struct sequence {
    int64_t start[KERNELS + COLLECTIVES], dur[KERNELS + COLLECTIVES];
    uint32_t name[KERNELS + COLLECTIVES];
    uint8_t klass[KERNELS + COLLECTIVES];
} sequence;

typedef struct bench_event {
    int64_t start_ns;
    uint32_t dur_ns;
    uint32_t name;
    uint16_t rank;
    uint8_t lane, klass;
} bench_event;

static void die(const diag *d, const char *what)
{
    (void)fprintf(stderr, "%s: %s\n", what, d->n_messages > 0 ? d->messages[d->n_messages - 1].text : "failed");
    exit(1);
}

static void make_sequence(sequence *s, prng *g)
{
    int64_t t = 0;
    for (unsigned i = 0; i < KERNELS; i++) {
        double x = prng_normal(g);
        double d = 60000.0 * (1.0 + 0.6 * x + 0.18 * x * x);
        s->start[i] = t;
        s->dur[i] = d < 3000 ? 3000 : (int64_t)d;
        s->name[i] = (uint32_t)prng_below(g, NAMES);
        s->klass[i] = (uint8_t)(i < KERNELS / 3 ? CLASS_FORWARD : i < KERNELS - 200 ? CLASS_BACKWARD : CLASS_OPTIMIZER);
        t += s->dur[i] + 1000 + (i % 219 == 0 ? 8000000 : 0);
    }
    double scale = (double)(STEP_NS - 1000000) / (double)t;
    for (unsigned i = 0; i < KERNELS; i++) {
        s->start[i] = (int64_t)((double)s->start[i] * scale);
        s->dur[i] = (int64_t)((double)s->dur[i] * scale);
    }
    for (unsigned i = 0; i < COLLECTIVES; i++) {
        unsigned k = KERNELS + i;
        s->start[k] = (int64_t)i * (STEP_NS / COLLECTIVES);
        s->dur[k] = 300000 + (int64_t)prng_below(g, 6000000);
        s->name[k] = NAMES - 1 - i % 4;
        s->klass[k] = CLASS_COLLECTIVE;
    }
}

static int compare_bench_events(const void *a, const void *b)
{
    int64_t x = ((const bench_event *)a)->start_ns;
    int64_t y = ((const bench_event *)b)->start_ns;
    return x < y ? -1 : x > y;
}

/* One step of one group, sorted by start. */
static void make_step(const sequence *s, uint32_t group, int64_t step, prng *g, bench_event *out)
{
    const unsigned n = KERNELS + COLLECTIVES;
    for (unsigned r = 0; r < RANKS; r++) {
        double speed = 1.0 + 0.0015 * prng_normal(g) + ((group * RANKS + r) % 199 == 0 ? 0.05 : 0);
        int64_t end[2] = {0, 0};
        for (unsigned i = 0; i < n; i++) {
            unsigned lane = i >= KERNELS;
            bench_event *e = &out[r * n + i];
            double jitter = 1.0 + 0.06 * (prng_unit(g) - 0.5);
            int64_t start = (int64_t)((double)s->start[i] * speed) + (int64_t)(r * 700);
            start = start > end[lane] ? start : end[lane];
            int64_t dur = (int64_t)((double)s->dur[i] * speed * jitter);
            int64_t room = STEP_NS - start;
            dur = dur > room ? (room > 0 ? room : 0) : dur;
            start = start < STEP_NS ? start : STEP_NS;
            end[lane] = start + dur;
            *e = (bench_event){step * STEP_NS + start, (uint32_t)dur, s->name[i], (uint16_t)r,
                               (uint8_t)lane,          s->klass[i]};
        }
    }
    qsort(out, (size_t)RANKS * n, sizeof *out, compare_bench_events);
}

static void make_model(trace_model *m, uint32_t n_groups, int64_t n_steps)
{
    trace_model_init(m);
    m->name = "bench";
    m->duration_ns = n_steps * STEP_NS;
    m->view_end_ns = m->duration_ns;
    VEC_PUSH(m->sources, m->n_sources, m->cap_sources, "kernel");
    trace_category c = {"matmul", CLASS_MATMUL, KIND_COMPUTE};
    VEC_PUSH(m->categories, m->n_categories, m->cap_categories, c);
    for (unsigned i = 0; i < NAMES; i++) {
        char text[64];
        int n = snprintf(text, sizeof text, "void kernel_%u<float, 128, 64>(float const*, float*)", i);
        trace_name name = {arena_strndup(&m->mem, text, (size_t)n), 0, 0};
        VEC_PUSH(m->names, m->n_names, m->cap_names, name);
    }
    for (uint32_t r = 0; r < n_groups * RANKS; r++) {
        trace_rank rank = {.rank = r,
                           .host = "h",
                           .device = "",
                           .label = "rank",
                           .stage = -1,
                           .dp = -1,
                           .tp = -1,
                           .ep = -1,
                           .first_lane = 2 * r,
                           .n_lanes = 2,
                           .group = r / RANKS,
                           .clock_method = "none"};
        VEC_PUSH(m->ranks, m->n_ranks, m->cap_ranks, rank);
        for (uint32_t k = 0; k < 2; k++) {
            trace_thread t = {.rank = r, .pid = "1", .tid = "7", .process_name = "", .name = "stream"};
            trace_lane l = {.rank = r,
                            .thread = 2 * r + k,
                            .kind = k ? KIND_COMMUNICATION : KIND_COMPUTE,
                            .name = "stream",
                            .first_track = 2 * r + k,
                            .n_tracks = 1};
            trace_track track = {2 * r + k, 0, 2 * (r % RANKS) + k};
            VEC_PUSH(m->threads, m->n_threads, m->cap_threads, t);
            VEC_PUSH(m->lanes, m->n_lanes, m->cap_lanes, l);
            VEC_PUSH(m->tracks, m->n_tracks, m->cap_tracks, track);
        }
    }
}

/* Processor time of all threads: what it costs, however busy the machine is. */
static int64_t cpu_ns(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

typedef struct totals {
    uint64_t n;
    int64_t put_ns, cpu_ns, args_bytes;
} totals;

static uint32_t make_args(char *out, size_t cap, uint64_t k, const bench_event *e)
{
    int n = snprintf(
        out, cap,
        "{\"External id\": %llu, \"queued\": 0, \"device\": %u, \"context\": 1, \"stream\": %u, \"correlation\": %llu, "
        "\"registers per thread\": 80, \"shared memory\": 16384, \"blocks per SM\": %u.%03u, \"warps per SM\": 4.8, "
        "\"grid\": [%u, 1, 1], \"block\": [128, 1, 1], \"est. achieved occupancy %%\": %u}",
        (unsigned long long)(k * 3), e->rank % 8U, 7U + e->lane, (unsigned long long)(1000 + k), e->name % 5,
        e->name * 7 % 1000, 1 + e->name, e->name % 100);
    return n > 0 ? (uint32_t)n : 0;
}

static void put_group(store_writer *w, const sequence *s, uint32_t group, int64_t n_steps, bool with_args, totals *t,
                      diag *d)
{
    const size_t n = (size_t)RANKS * (KERNELS + COLLECTIVES);
    bench_event *step = mem_alloc(n * sizeof *step);
    char *args = with_args ? mem_alloc(n * 512) : NULL;
    uint32_t *args_len = mem_calloc(n, sizeof *args_len);
    prng g;
    prng_seed(&g, group + 1);
    store_group_params p = {GROUP_EVENTS,      group * RANKS,         RANKS,
                            n_steps * STEP_NS, n * (uint64_t)n_steps, RANKS * n_steps * STEP_NS};
    store_group *sg = NULL;
    if (store_group_begin(w, &sg, &p, d) != MAREY_OK) {
        die(d, "begin");
    }
    for (int64_t k = 0; k < n_steps; k++) {
        make_step(s, group, k, &g, step);
        for (size_t i = 0; args && i < n; i++) {
            args_len[i] = make_args(args + i * 512, 512, t->n + i, &step[i]);
            t->args_bytes += args_len[i];
        }
        int64_t made = clock_now_ns();
        int64_t cpu = cpu_ns();
        for (size_t i = 0; i < n; i++) {
            const bench_event *b = &step[i];
            uint32_t row = (uint32_t)b->rank * 2 + b->lane;
            store_event e = {.start_ns = b->start_ns,
                             .dur_ns = b->dur_ns,
                             .track = group * RANKS * 2 + row,
                             .name = b->name,
                             .instance = (uint32_t)(i & 7),
                             .klass = b->klass,
                             .rank_row = (int16_t)b->rank,
                             .args = args ? args + i * 512 : NULL,
                             .args_len = args_len[i]};
            if (store_group_put(sg, &e, row, d) != MAREY_OK) {
                die(d, "put");
            }
        }
        t->n += n;
        t->put_ns += clock_now_ns() - made;
        t->cpu_ns += cpu_ns() - cpu;
    }
    int64_t begin = clock_now_ns();
    int64_t cpu = cpu_ns();
    if (store_group_end(&sg, d) != MAREY_OK) {
        die(d, "end");
    }
    t->put_ns += clock_now_ns() - begin;
    t->cpu_ns += cpu_ns() - cpu;
    free(step);
    free(args);
    free(args_len);
}

static void bench_write(const char *path, uint32_t n_groups, int64_t n_steps, unsigned n_threads, bool with_args,
                        diag *d)
{
    sequence *s = mem_alloc(sizeof *s);
    prng g;
    prng_seed(&g, 42);
    make_sequence(s, &g);
    trace_model m;
    make_model(&m, n_groups, n_steps);
    pool *workers = n_threads > 1 ? pool_create(n_threads - 1) : NULL;
    store_writer *w = NULL;
    store_options o = {.force = true, .workers = workers};
    if (store_writer_create(&w, path, &o, d) != MAREY_OK) {
        die(d, "create");
    }
    totals t = {0};
    for (uint32_t group = 0; group < n_groups; group++) {
        put_group(w, s, group, n_steps, with_args, &t, d);
    }
    int64_t begin = clock_now_ns();
    int64_t cpu = cpu_ns();
    m.n_events = 0; /* threads hold no totals here */
    if (store_writer_finish(w, &m, d) != MAREY_OK) {
        die(d, "finish");
    }
    t.put_ns += clock_now_ns() - begin;
    t.cpu_ns += cpu_ns() - cpu;
    store_writer_destroy(&w);
    pool_destroy(&workers);
    (void)printf("write: %.1f M events, %u threads: %.2f M events/s, %.2f M events per core-second", (double)t.n * 1e-6,
                 n_threads, (double)t.n * 1e3 / (double)t.put_ns, (double)t.n * 1e3 / (double)t.cpu_ns);
    if (with_args) {
        (void)printf(", %.0f MB of arguments per core-second", (double)t.args_bytes * 1e3 / (double)t.cpu_ns);
    }
    (void)printf(" (peak %.0f MB)\n", (double)mem_peak_rss() * 1e-6);
    trace_model_deinit(&m);
    free(s);
}

static void bench_sizes(store_file *f, uint64_t n)
{
    store_sizes s = store_file_sizes(f);
    double per = 1.0 / (double)n;
    (void)printf("bytes per event: %.2f (events %.2f, pyramid %.2f, names %.2f, arguments %.2f, other %.2f)\n",
                 (double)s.file * per, (double)s.events * per, (double)s.pyramid * per, (double)s.names * per,
                 (double)s.arguments * per, (double)s.other * per);
}

static void bench_read(store_file *f)
{
    store_columns c = {0};
    uint8_t *cells = mem_alloc((size_t)TILE_CELLS * LOD_PLANES);
    int64_t begin = clock_now_ns();
    size_t n_blocks = store_n_blocks(f) < 200 ? store_n_blocks(f) : 200;
    for (uint32_t b = 0; b < n_blocks; b++) {
        if (store_read_block(f, b, COL_START | COL_DUR | COL_NAME, &c, NULL) != MAREY_OK) {
            (void)fprintf(stderr, "block %u cannot be read\n", b);
        }
    }
    int64_t blocks = clock_now_ns();
    size_t n_tiles = store_n_tiles(f) < 200 ? store_n_tiles(f) : 200;
    for (uint32_t t = 0; t < n_tiles; t++) {
        if (store_read_tile(f, t, cells, NULL) != MAREY_OK) {
            (void)fprintf(stderr, "tile %u cannot be read\n", t);
        }
    }
    int64_t tiles = clock_now_ns();
    (void)printf("read, 1 thread: %.2f ms per block (start, dur, name), %.2f ms per tile\n",
                 (double)(blocks - begin) * 1e-6 / (double)n_blocks,
                 (double)(tiles - blocks) * 1e-6 / (double)(n_tiles + !n_tiles));
    store_columns_free(&c);
    free(cells);
}

static void bench_query(store_file *f)
{
    const trace_model *m = store_model(f);
    uint32_t *tracks = mem_alloc(m->n_tracks * sizeof *tracks);
    query_row *rows = mem_alloc(m->n_ranks * sizeof *rows);
    query_result *res = mem_calloc(m->n_ranks, sizeof *res);
    for (uint32_t i = 0; i < m->n_tracks; i++) {
        tracks[i] = i;
    }
    for (size_t r = 0; r < m->n_ranks; r++) {
        rows[r] = (query_row){tracks + 2 * r, 2};
    }
    int64_t begin = clock_now_ns();
    query_grid q = {0, m->duration_ns, 100, KEY_CLASS, rows, m->n_ranks, NULL};
    if (store_query(f, &q, res, NULL) == MAREY_OK) {
        (void)printf("query, all ranks x whole run x 100 bins: %.0f ms\n", (double)(clock_now_ns() - begin) * 1e-6);
        query_free(res, m->n_ranks);
    }
    query_row all = {tracks, m->n_tracks};
    query_grid one = {0, m->duration_ns, 100, KEY_CLASS, &all, 1, NULL};
    begin = clock_now_ns();
    if (store_query(f, &one, res, NULL) == MAREY_OK) {
        (void)printf("query, one row of all tracks: %.0f ms\n", (double)(clock_now_ns() - begin) * 1e-6);
        query_free(res, 1);
    }
    free(tracks);
    free(rows);
    free(res);
}

static void bench_open(const char *path, diag *d)
{
    store_file *f = NULL;
    int64_t best = INT64_MAX;
    for (unsigned i = 0; i < 5; i++) {
        int64_t begin = clock_now_ns();
        if (store_open(&f, path, d) != MAREY_OK) {
            die(d, "open");
        }
        int64_t took = clock_now_ns() - begin;
        best = took < best ? took : best;
        if (i == 4) {
            (void)printf("open: %.1f ms, %.0f KB read, %zu blocks, %zu tiles\n", (double)best * 1e-6,
                         (double)store_bytes_read(f) * 1e-3, store_n_blocks(f), store_n_tiles(f));
        }
        store_close(&f);
    }
}

static void bench_args(void)
{
    enum { N = 32768 };
    arg_shapes shapes;
    arg_shapes_init(&shapes);
    arg_taker *taker = arg_taker_create(&shapes);
    args_encoder *e = args_encoder_create(&shapes);
    char record[sizeof(uint32_t) + 512 * (1 + sizeof(uint64_t))];
    char *text = mem_alloc((size_t)N * 512);
    uint32_t *len = mem_alloc(N * sizeof *len);
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < N; i++) {
        bench_event b = {.rank = (uint16_t)(i / 512), .name = i * 7 % NAMES, .lane = i % 36 == 0};
        len[i] = make_args(text + (size_t)i * 512, 512, i, &b);
        bytes += len[i];
    }
    strbuf out = {0};
    int64_t begin = cpu_ns();
    for (unsigned round = 0; round < 10; round++) {
        args_encoder_begin(e);
        for (uint32_t i = 0; i < N; i++) {
            if (!arg_taker_take(taker, i % 4, text + (size_t)i * 512, len[i])) {
                continue;
            }
            uint32_t n = (uint32_t)arg_taker_record(taker, record);
            args_encoder_add(e, &(const char *){record}, &n, 1);
        }
        strbuf_clear(&out);
        args_encoder_end(e, &out);
    }
    double took = (double)(cpu_ns() - begin);
    (void)printf("arguments: %.0f MB/s, %.1f bytes of text to %.1f each before deflate\n", (double)bytes * 1e4 / took,
                 (double)bytes / N, (double)out.n / N);
    strbuf_deinit(&out);
    free(text);
    free(len);
    args_encoder_destroy(&e);
    arg_taker_destroy(&taker);
    arg_shapes_deinit(&shapes);
}

int main(int argc, char **argv)
{
    double millions = argc > 1 ? strtod(argv[1], NULL) : 4;
    unsigned n_threads = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 1;
    const char *folder = argc > 3 ? argv[3] : "/tmp";
    bool with_args = argc > 4 && strcmp(argv[4], "args") == 0;
    const double per_step = (double)RANKS * (KERNELS + COLLECTIVES);
    uint32_t n_groups = millions > 20 ? 4 : 1;
    int64_t n_steps = (int64_t)(millions * 1e6 / per_step / n_groups + 0.999);
    char path[512];
    (void)snprintf(path, sizeof path, "%s/bench_store.%ld.h5", folder, (long)getpid());
    diag d;
    diag_init(&d);
    bench_args();
    bench_write(path, n_groups, n_steps, n_threads, with_args, &d);
    bench_open(path, &d);
    store_file *f = NULL;
    if (store_open(&f, path, &d) != MAREY_OK) {
        die(&d, "open");
    }
    bench_sizes(f, (uint64_t)per_step * n_groups * (uint64_t)n_steps);
    bench_read(f);
    bench_query(f);
    store_close(&f);
    (void)unlink(path);
    diag_deinit(&d);
    return 0;
}
