/*
 * How fast text becomes columns, as ratios inside one run: modes take turns, and each figure is the median over the
 * rounds of the ratio to the yardstick of the same round. Absolute speeds are printed for orientation only.
 *
 *   bench_parse [FILE...]     without files: a generated one, and the large ones under MAREY_SHARED where that is set
 *
 * "gz-parts" reads on two threads, as one large file is read. Yardsticks: simdjson's DOM, warm, parse only
 * (where it was built in), and inflating alone by the same library.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <zlib.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"
#include "parse/jstream.h"
#include "parse/source.h"
#include "readers/reader.h"
#include "trace/model.h"

#if MAREY_HAVE_SIMDJSON
#include "simdjson_yardstick.h"
#endif

enum { ROUNDS = 11, GENERATED_EVENTS = 250000, LARGE_BYTES = 8 * 1000 * 1000 };

typedef enum mode {
    MODE_DOM,
    MODE_BITS,
    MODE_WALK,
    MODE_COLUMNS,
    MODE_ZLIB,
    MODE_INFLATE,
    MODE_GZ_COLUMNS,
    MODE_GZ_PARTS,
    MODE_COUNT
} mode;

static const char *const mode_names[] = {"dom", "bits", "walk", "columns", "zlib", "inflate", "gz-columns", "gz-parts"};

typedef struct text_input {
    const char *name;
    char *text;
    size_t n;
    char *gz;
    size_t n_gz;
    size_t at; /* for read_text */
    uint64_t n_events;
#if MAREY_HAVE_SIMDJSON
    yardstick *dom;
#endif
} text_input;

/* ---- the generated input: Kineto's layout, names and numbers of its kinds ---- */

static void add_operator(strbuf *b, prng *r, uint64_t i, uint64_t ts)
{
    static const char *const ops[] = {
        "aten::mm",          "aten::add_",   "aten::native_layer_norm",
        "aten::copy_",       "aten::linear", "autograd::engine::evaluate_function: AddmmBackward0",
        "record_param_comms"};
    strbuf_printf(
        b,
        "  {\n    \"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"%s\", \"pid\": 4242, \"tid\": %d,\n"
        "    \"ts\": %llu.%03u, \"dur\": %u.%03u,\n    \"args\": {\n"
        "      \"External id\": %llu,\"Record function id\": 0, \"Sequence number\": %llu, \"Fwd thread id\": 0, "
        "\"Input Dims\": [[%u, 1024], [1024], []], \"Ev Idx\": %llu\n    }\n  },\n",
        ops[prng_below(r, 7)], prng_below(r, 2) ? 4242 : 4271, (unsigned long long)ts, (unsigned)prng_below(r, 1000),
        (unsigned)prng_below(r, 900), (unsigned)prng_below(r, 1000), (unsigned long long)i, (unsigned long long)i / 3,
        (unsigned)prng_below(r, 8192), (unsigned long long)i);
}

static void add_frame(strbuf *b, prng *r, uint64_t i, uint64_t ts)
{
    strbuf_printf(b,
                  "  {\n    \"ph\": \"X\", \"cat\": \"python_function\", \"name\": \"torch/nn/modules/module.py(%u): "
                  "_call_impl\", "
                  "\"pid\": 4242, \"tid\": 4242,\n    \"ts\": %llu.%03u, \"dur\": %u.%03u,\n    \"args\": {\n"
                  "      \"Python parent id\": %llu, \"Python id\": %llu, \"Ev Idx\": %llu\n    }\n  },\n",
                  (unsigned)prng_below(r, 1800), (unsigned long long)ts, (unsigned)prng_below(r, 1000),
                  (unsigned)prng_below(r, 90000), (unsigned)prng_below(r, 1000), (unsigned long long)i / 2,
                  (unsigned long long)i, (unsigned long long)i);
}

static void add_launch(strbuf *b, prng *r, uint64_t i, uint64_t ts)
{
    strbuf_printf(b,
                  "  {\n    \"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": \"cudaLaunchKernel\", \"pid\": 4242, "
                  "\"tid\": 4242,\n"
                  "    \"ts\": %llu.%03u, \"dur\": %u.%03u,\n    \"args\": {\n"
                  "      \"External id\": %llu, \"cbid\": 211, \"correlation\": %llu\n    }\n  },\n"
                  "  {\n    \"ph\": \"s\", \"id\": %llu, \"pid\": 4242, \"tid\": 4242, \"ts\": %llu.000,\n"
                  "    \"cat\": \"ac2g\", \"name\": \"ac2g\"\n  },\n",
                  (unsigned long long)ts, (unsigned)prng_below(r, 1000), (unsigned)prng_below(r, 20),
                  (unsigned)prng_below(r, 1000), (unsigned long long)i, (unsigned long long)i, (unsigned long long)i,
                  (unsigned long long)ts);
}

static void add_kernel(strbuf *b, prng *r, uint64_t i, uint64_t ts)
{
    unsigned tile = 16U << prng_below(r, 4);
    strbuf_printf(
        b,
        "  {\n    \"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"void "
        "cutlass::Kernel<cutlass_80_tensorop_bf16_s16816gemm_"
        "relu_bf16_%ux%u_32x%u_tn_align8>(cutlass_80_tensorop_bf16_s16816gemm_relu_bf16::Params)\", \"pid\": 0, "
        "\"tid\": %u,\n"
        "    \"ts\": %llu.%03u, \"dur\": %u.%03u,\n    \"args\": {\n"
        "      \"External id\": %llu,\n      \"queued\": 0, \"device\": 0, \"context\": 1,\n"
        "      \"stream\": 7, \"correlation\": %llu,\n      \"registers per thread\": 128,\n"
        "      \"shared memory\": 8192,\n      \"blocks per SM\": 1.259259,\n      \"warps per SM\": 5.037037,\n"
        "      \"grid\": [%u, 1, 1],\n      \"block\": [128, 1, 1],\n      \"est. achieved occupancy %%\": 8",
        tile, tile * 2, (unsigned)prng_below(r, 6) + 1, prng_below(r, 8) ? 7U : 20U, (unsigned long long)ts,
        (unsigned)prng_below(r, 1000), (unsigned)prng_below(r, 4000), (unsigned)prng_below(r, 1000),
        (unsigned long long)i, (unsigned long long)i, (unsigned)prng_below(r, 512));
    if (prng_below(r, 20) == 0) {
        strbuf_puts(
            b, ",\n      \"Collective name\": \"allreduce\", \"In msg nelems\": 1048576, \"Out msg nelems\": 1048576, "
               "\"Group size\": 8, \"dtype\": \"BFloat16\", \"Process Group Name\": \"3\", \"Process Group Ranks\": "
               "\"[0, 1, 2, 3, 4, 5, 6, 7]\"");
    }
    strbuf_puts(b, "\n    }\n  },\n");
}

static text_input generate(void)
{
    static void (*const kinds[])(strbuf *, prng *, uint64_t, uint64_t) = {add_operator, add_operator, add_frame,
                                                                          add_frame,    add_launch,   add_kernel};
    strbuf b = {0};
    prng r;
    prng_seed(&r, 7);
    strbuf_puts(&b,
                "\n{\n  \"schemaVersion\": 1,\n  \"deviceProperties\": [\n    {\"id\": 0, \"name\": \"Device\"}\n  ],\n"
                "  \"traceEvents\": [\n");
    uint64_t ts = 1736405443862052;
    for (uint64_t i = 1; i <= GENERATED_EVENTS; i++, ts += prng_below(&r, 40)) {
        kinds[prng_below(&r, 6)](&b, &r, i, ts);
    }
    strbuf_puts(&b, "  {\n    \"name\": \"Record Window End\", \"ph\": \"i\", \"s\": \"g\", \"pid\": \"\", \"tid\": "
                    "\"\", \"ts\": 1\n"
                    "  }\n  ],\n  \"traceName\": \"generated\"\n}\n");
    return (text_input){.name = "generated", .text = b.s, .n = b.n};
}

/* ---- modes ---- */

static size_t read_text(void *ctx, void *dst, size_t cap)
{
    text_input *in = ctx;
    size_t n = in->n - in->at < cap ? in->n - in->at : cap;
    memcpy(dst, in->text + in->at, n);
    in->at += n;
    return n;
}

static void run_bits(text_input *in)
{
    static jblock out[JSTREAM_WINDOW_BYTES / 64];
    jbits_state state = {0};
    for (size_t at = 0; at + JSTREAM_WINDOW_BYTES <= in->n; at += JSTREAM_WINDOW_BYTES) {
        jbits((const uint8_t *)in->text + at, JSTREAM_WINDOW_BYTES / 64, &state, out);
    }
}

static marey_status ignore_event(void *ctx, const jevent *e)
{
    (void)e;
    *(uint64_t *)ctx += 1;
    return MAREY_OK;
}

static void run_walk(text_input *in)
{
    uint64_t n = 0;
    static jwalk w;
    jwalk_init(&w, &(jwalk_ops){.event = ignore_event}, &n, NULL, 0);
    in->at = 0;
    (void)jstream_run(&w, &(jstream_options){.read = read_text, .ctx = in});
}

static void run_columns(text_input *in, bool gz, unsigned threads)
{
    trace_builder b;
    diag d;
    diag_init(&d);
    trace_builder_init(&b);
    b.diag = &d;
    b.file = diag_file(&d, in->name);
    reader_tuning tuning = {.threads = threads}; /* whatever the size */
    marey_status status = reader_read_memory(gz ? in->gz : in->text, gz ? in->n_gz : in->n, in->name, &b, &tuning);
    if (status != MAREY_OK) {
        (void)fprintf(stderr, "%s: %s\n", in->name, marey_status_text(status));
        exit(1);
    }
    in->n_events = b.n_events;
    trace_builder_deinit(&b);
    diag_deinit(&d);
}

static void run_inflate(text_input *in, source_inflate inflate)
{
    static char out[JSTREAM_WINDOW_BYTES];
    source *s = NULL;
    if (source_open_memory(in->gz, in->n_gz, in->name, &(source_options){.inflate = inflate}, &s) == MAREY_OK) {
        while (source_read(s, out, sizeof out) > 0) {
        }
    }
    source_close(&s);
}

/* Time of this thread on a processor: on a machine shared with others it says more than the clock on the wall. */
static int64_t busy_now_ns(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

typedef struct taken {
    double busy, wall; /* seconds */
} taken;

static taken run(mode m, text_input *in)
{
    int64_t start = clock_now_ns();
    int64_t busy = busy_now_ns();
    switch (m) {
    case MODE_DOM:
#if MAREY_HAVE_SIMDJSON
        if (yardstick_parse(in->dom) != 0) {
            (void)fprintf(stderr, "%s: simdjson refuses it\n", in->name);
        }
#endif
        break;
    case MODE_BITS:
        run_bits(in);
        break;
    case MODE_WALK:
        run_walk(in);
        break;
    case MODE_COLUMNS:
    case MODE_GZ_COLUMNS:
    case MODE_GZ_PARTS:
        run_columns(in, m != MODE_COLUMNS, m == MODE_GZ_PARTS ? 2 : 1);
        break;
    case MODE_INFLATE:
    case MODE_ZLIB:
    case MODE_COUNT:
    default:
        run_inflate(in, m == MODE_ZLIB ? SOURCE_INFLATE_ZLIB : SOURCE_INFLATE_BEST);
        break;
    }
    return (taken){(double)(busy_now_ns() - busy) * 1e-9, (double)(clock_now_ns() - start) * 1e-9};
}

/* ---- figures ---- */

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(const double *values)
{
    double sorted[ROUNDS];
    memcpy(sorted, values, sizeof sorted);
    qsort(sorted, ROUNDS, sizeof *sorted, compare_doubles);
    return sorted[ROUNDS / 2];
}

static double median_ratio(double seconds[MODE_COUNT][ROUNDS], mode yardstick_mode, mode m)
{
    double ratios[ROUNDS];
    for (int i = 0; i < ROUNDS; i++) {
        ratios[i] = seconds[yardstick_mode][i] / seconds[m][i];
    }
    return median(ratios);
}

static void print_mode(const text_input *in, mode m, double busy[MODE_COUNT][ROUNDS], double wall[MODE_COUNT][ROUNDS])
{
    double s = median(m == MODE_GZ_PARTS ? wall[m] : busy[m]);
    printf("  %-10s %7.0f MB/s", mode_names[m], s > 0 ? (double)in->n * 1e-6 / s : 0);
    if (MAREY_HAVE_SIMDJSON && m != MODE_DOM && m <= MODE_COLUMNS) {
        printf("   %5.2f x dom", median_ratio(busy, MODE_DOM, m));
    }
    if (m == MODE_COLUMNS) {
        printf("   %.0f ns per event", s * 1e9 / (double)in->n_events);
    }
    if (m > MODE_INFLATE) {
        printf("   %5.2f x inflate", median_ratio(m == MODE_GZ_PARTS ? wall : busy, MODE_INFLATE, m));
        printf(", %.2f x zlib", median_ratio(m == MODE_GZ_PARTS ? wall : busy, MODE_ZLIB, m));
    }
    printf("\n");
}

static void measure(text_input *in)
{
    static double busy[MODE_COUNT][ROUNDS];
    static double wall[MODE_COUNT][ROUNDS];
    for (int i = -1; i < ROUNDS; i++) {
        for (mode m = MODE_DOM; m < MODE_COUNT; m++) {
            taken t = run(m, in);
            if (i >= 0) {
                busy[m][i] = t.busy;
                wall[m][i] = t.wall;
            }
        }
    }
    printf("%s: %.1f MB, %llu events\n", in->name, (double)in->n * 1e-6, (unsigned long long)in->n_events);
    for (mode m = MODE_DOM; m < MODE_COUNT; m++) {
        print_mode(in, m, busy, wall);
    }
}

/* ---- inputs ---- */

static void compress_text(text_input *in)
{
    z_stream z = {0};
    if (deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
        exit(1);
    }
    size_t cap = deflateBound(&z, in->n);
    in->gz = mem_alloc(cap);
    z.next_in = (Bytef *)in->text;
    z.avail_in = (uInt)in->n;
    z.next_out = (Bytef *)in->gz;
    z.avail_out = (uInt)cap;
    (void)deflate(&z, Z_FINISH);
    in->n_gz = z.total_out;
    (void)deflateEnd(&z);
}

static bool load(const char *path, text_input *in)
{
    source *s = NULL;
    if (source_open(path, &(source_options){0}, &s) != MAREY_OK) {
        (void)fprintf(stderr, "%s cannot be read\n", path);
        return false;
    }
    strbuf b = {0};
    char *piece = mem_alloc(JSTREAM_WINDOW_BYTES);
    for (size_t got = 1; got > 0;) {
        got = source_read(s, piece, JSTREAM_WINDOW_BYTES);
        strbuf_add(&b, piece, got);
    }
    free(piece);
    source_close(&s);
    *in = (text_input){.name = path_base(path), .text = b.s, .n = b.n};
    return true;
}

static void bench(text_input in)
{
    compress_text(&in);
#if MAREY_HAVE_SIMDJSON
    in.dom = yardstick_create(in.text, in.n);
#endif
    measure(&in);
#if MAREY_HAVE_SIMDJSON
    yardstick_destroy(in.dom);
#endif
    free(in.text);
    free(in.gz);
}

static void bench_shared(const char *shared)
{
    strbuf dir = {0};
    strbuf_printf(&dir, "%s/data/kineto/single", shared);
    arena names = {0};
    char **paths = NULL;
    size_t n = 0;
    (void)file_list(dir.s, &names, &paths, &n, NULL);
    for (size_t i = 0; i < n; i++) {
        text_input in;
        if (load(paths[i], &in)) {
            if (in.n >= LARGE_BYTES) {
                bench(in);
            } else {
                free(in.text);
            }
        }
    }
    free((void *)paths);
    arena_deinit(&names);
    strbuf_deinit(&dir);
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        text_input in;
        if (load(argv[i], &in)) {
            bench(in);
        }
    }
    if (argc < 2) {
        bench(generate());
        const char *shared = getenv("MAREY_SHARED");
        if (shared) {
            bench_shared(shared);
        }
    }
    return 0;
}
