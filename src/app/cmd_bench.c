/*
 * `marey bench`: frames of a scripted zoom, or of random views, without a window.
 *
 * A frame's time is what a user waits for: scene (with what the cache holds at that moment), draw, and the end of
 * drawing (glFinish). Loader threads run beside it, as in the window. The floor (clear and one full-screen shaded pass)
 * is measured every eighth frame of the same run. In `views` a view's time runs until all of its data is in and drawn.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/args.h"
#include "app/commands.h"
#include "app/graph_script.h"
#include "app/input.h"
#include "app/look.h"
#include "app/opening.h"
#include "app/program.h"
#include "app/session.h"
#include "app/zoom_script.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/text.h"
#include "render/render.h"

enum { SCRIPT_ZOOM, SCRIPT_VIEWS, SCRIPT_GRAPH, FLOOR_EVERY = 8 };

typedef struct bench {
    session_look look;
    int size[2];
    double scale;
    int script;
    uint64_t n_frames;
    uint64_t seed;
    bool json;
    bool quiet;
    session *session;
    headless *headless;
    renderer *renderer;
    double *frames_ms, *floors_ms;
    size_t n_floors;
    double first_picture_ms, first_complete_ms;
    double scene_ms; /* sum over the frames */
    size_t primitives_max, draw_calls_max;
    uint64_t bytes_read, bytes_read_max;
} bench;

static double ms_since(int64_t begin_ns)
{
    return (double)(clock_now_ns() - begin_ns) / 1e6;
}

static marey_status draw_frame(bench *b, diag *d)
{
    session *s = b->session;
    render_stats stats = {0};
    int64_t begin = clock_now_ns();
    marey_status status = session_build(s, d);
    b->scene_ms += ms_since(begin);
    if (status == MAREY_OK) {
        status = renderer_draw(b->renderer, &s->list, s->text, &stats, d);
    }
    renderer_finish(b->renderer);
    b->primitives_max = stats.primitives > b->primitives_max ? stats.primitives : b->primitives_max;
    b->draw_calls_max = stats.draw_calls > b->draw_calls_max ? stats.draw_calls : b->draw_calls_max;
    return status;
}

static marey_status draw_complete(bench *b, diag *d)
{
    marey_status status = session_build_complete(b->session, d);
    return status == MAREY_OK ? draw_frame(b, d) : status;
}

static marey_status measure_floor(bench *b, diag *d)
{
    int64_t begin = clock_now_ns();
    marey_status status = renderer_floor(b->renderer, b->size[0], b->size[1], d);
    b->floors_ms[b->n_floors++] = ms_since(begin);
    return status;
}

/* ---- the scripts ---- */

static marey_status run_zoom(bench *b, diag *d)
{
    zoom_script z;
    graph_script g;
    bool graph_too = b->script == SCRIPT_GRAPH;
    marey_status status =
        graph_too ? graph_script_choose(&g, b->session, b->seed, d) : zoom_script_choose(&z, b->session, b->seed, d);
    for (uint64_t i = 0; i < b->n_frames && status == MAREY_OK; i++) {
        uint64_t read_before = store_bytes_read(b->session->file);
        if (graph_too) {
            graph_script_view(&g, b->session, i, b->n_frames);
        } else {
            zoom_script_view(&z, b->session, i, b->n_frames);
        }
        int64_t begin = clock_now_ns();
        b->session->input.now_ns = begin; /* it moves, as in the window */
        MAREY_TRY(draw_frame(b, d));
        b->frames_ms[i] = ms_since(begin);
        uint64_t read = store_bytes_read(b->session->file) - read_before;
        b->bytes_read_max = read > b->bytes_read_max ? read : b->bytes_read_max;
        if (i % FLOOR_EVERY == 0) {
            MAREY_TRY(measure_floor(b, d));
        }
    }
fail:
    return status;
}

/* Any width from 1 us to the run, log-uniform; any place; rows fitted, or tall and scrolled. */
static void random_view(bench *b, prng *r)
{
    session *s = b->session;
    double run = s->duration_ns > 1000 ? (double)s->duration_ns : 1000;
    zoom_script z = {moment_about(prng_unit(r) * run), 1000, run};
    double way = prng_unit(r);
    uint64_t half = UINT64_C(1) << 20;
    zoom_script_view(&z, s, (uint64_t)(way * (double)half), 2 * half);
    s->view.row_px = prng_below(r, 2) ? 0 : 4 + 40 * prng_unit(r);
    s->view.scroll_px = prng_unit(r) * s->frame.content_px;
}

static marey_status run_views(bench *b, diag *d)
{
    marey_status status = MAREY_OK;
    prng r;
    prng_seed(&r, b->seed);
    for (uint64_t i = 0; i < b->n_frames; i++) {
        uint64_t read_before = store_bytes_read(b->session->file);
        random_view(b, &r);
        int64_t begin = clock_now_ns();
        MAREY_TRY(draw_complete(b, d));
        b->frames_ms[i] = ms_since(begin);
        uint64_t read = store_bytes_read(b->session->file) - read_before;
        b->bytes_read_max = read > b->bytes_read_max ? read : b->bytes_read_max;
        if (i % FLOOR_EVERY == 0) {
            MAREY_TRY(measure_floor(b, d));
        }
    }
fail:
    return status;
}

/* ---- the run ---- */

static marey_status make_renderer(bench *b, diag *d)
{
    marey_status status = headless_create(&b->headless, b->size[0], b->size[1], d);
    if (status == MAREY_OK) {
        status = renderer_create(&b->renderer, headless_get_proc(), d);
    }
    return status == MAREY_OK ? opening_warm(b->renderer, d) : status;
}

static marey_status open_all(bench *b, const char *file, diag *d)
{
    session_options options = {.look = b->look, .reduced_motion = true};
    scene_input input = {
        .width_px = b->size[0], .height_px = b->size[1], .scale = b->scale, .cursor_x = -1, .cursor_y = -1};
    opening o;
    opening_begin(&o, file, &options, &input);
    marey_status drawing = make_renderer(b, d);
    marey_status opened = opening_end(&o, &b->session, d);
    return opened != MAREY_OK ? opened : drawing;
}

static marey_status run(bench *b, const char *file, diag *d)
{
    marey_status status = MAREY_OK;
    MAREY_TRY(open_all(b, file, d));
    MAREY_TRY(draw_frame(b, d));
    b->first_picture_ms = ms_since(program_start_ns);
    MAREY_TRY(draw_complete(b, d));
    b->first_complete_ms = ms_since(program_start_ns);
    b->scene_ms = 0;
    b->frames_ms = mem_calloc(b->n_frames, sizeof *b->frames_ms);
    b->floors_ms = mem_calloc(b->n_frames, sizeof *b->floors_ms);
    MAREY_TRY(renderer_floor(b->renderer, b->size[0], b->size[1], d)); /* the first one compiles its shader */
    MAREY_TRY(b->script == SCRIPT_VIEWS ? run_views(b, d) : run_zoom(b, d));
    b->bytes_read = store_bytes_read(b->session->file);
fail:
    return status;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Nearest rank: the smallest value that at least `share` of all do not exceed. Sorts. */
static double quantile(double *v, size_t n, double share)
{
    if (n == 0) {
        return 0;
    }
    qsort(v, n, sizeof *v, by_value);
    double rank = share * (double)n;
    size_t i = (size_t)rank;
    i = (double)i < rank ? i + 1 : i;
    return v[i > 0 ? i - 1 : 0];
}

static void print_json(bench *b)
{
    json_out j = {.file = stdout};
    json_begin(&j, '{');
    json_kint(&j, "schema", 1);
    json_kstr(&j, "renderer", renderer_name(b->renderer));
    json_key(&j, "size");
    json_begin(&j, '[');
    json_int(&j, b->size[0]);
    json_int(&j, b->size[1]);
    json_end(&j, ']');
    json_kstr(&j, "script", b->script == SCRIPT_VIEWS ? "views" : b->script == SCRIPT_GRAPH ? "graph" : "zoom");
    json_kuint(&j, "frames", b->n_frames);
    json_kreal(&j, "floor_ms", quantile(b->floors_ms, b->n_floors, 0.5));
    json_kreal(&j, "first_picture_ms", b->first_picture_ms);
    json_kreal(&j, "first_complete_ms", b->first_complete_ms);
    json_kreal(&j, "median_ms", quantile(b->frames_ms, b->n_frames, 0.5));
    json_kreal(&j, "p99_ms", quantile(b->frames_ms, b->n_frames, 0.99));
    json_kreal(&j, "max_ms", quantile(b->frames_ms, b->n_frames, 1));
    json_kreal(&j, "scene_mean_ms", b->scene_ms / (double)b->n_frames);
    json_kuint(&j, "primitives_max", b->primitives_max);
    json_kuint(&j, "draw_calls_max", b->draw_calls_max);
    json_kuint(&j, "bytes_read", b->bytes_read);
    json_kuint(&j, "bytes_read_max", b->bytes_read_max);
    json_kuint(&j, "tiles", cache_get_stats(b->session->cache).n_loaded);
    json_kuint(&j, "rss_peak_bytes", mem_peak_rss());
    json_end(&j, '}');
}

static void print_text(bench *b)
{
    char read[32];
    char rss[32];
    bytes_format(b->bytes_read, read, sizeof read);
    bytes_format(mem_peak_rss(), rss, sizeof rss);
    double floor_ms = quantile(b->floors_ms, b->n_floors, 0.5);
    double median = quantile(b->frames_ms, b->n_frames, 0.5);
    double p99 = quantile(b->frames_ms, b->n_frames, 0.99);
    (void)printf("%s, %d x %d, %" PRIu64 " frames\n", renderer_name(b->renderer), b->size[0], b->size[1], b->n_frames);
    (void)printf("  floor          %8.2f ms\n", floor_ms);
    (void)printf("  frame, median  %8.2f ms  %.2f x the floor (scene %.2f ms on average)\n", median, median / floor_ms,
                 b->scene_ms / (double)b->n_frames);
    (void)printf("  frame, p99     %8.2f ms  %.2f x the floor\n", p99, p99 / floor_ms);
    (void)printf("  first picture  %8.2f ms, complete %.2f ms\n", b->first_picture_ms, b->first_complete_ms);
    (void)printf("  at most %zu primitives in %zu draw calls; read %s; memory %s\n", b->primitives_max,
                 b->draw_calls_max, read, rss);
}

static int measure(bench *b, const arg_operands *paths)
{
    diag d;
    diag_init(&d);
    char *file = NULL;
    marey_status status = input_resolve(paths->items, paths->n, b->quiet, &file, &d);
    if (status == MAREY_OK) {
        status = run(b, file, &d);
    }
    if (status == MAREY_OK) {
        b->json ? print_json(b) : print_text(b);
    }
    program_print_messages(&d, b->quiet);
    renderer_destroy(&b->renderer);
    headless_destroy(&b->headless);
    session_close(&b->session);
    diag_deinit(&d);
    free(b->frames_ms);
    free(b->floors_ms);
    free(file);
    return program_exit_code(status);
}

int cmd_bench(int argc, char **argv)
{
    bench b = {.look = SESSION_LOOK_DEFAULT, .size = {1920, 1080}, .scale = 1, .n_frames = 240, .seed = 1};
    const arg_option options[] = {
        {"--script", 0, ARG_CHOICE, "zoom|views|graph",
         "from the whole run to one operator and back; random views; over the graph (zoom)", &b.script, NULL},
        {"--frames", 0, ARG_COUNT, "N", "frames or views to measure (240)", &b.n_frames, NULL},
        {"--seed", 0, ARG_COUNT, "S", "which operator, which views (1)", &b.seed, NULL},
        {"--size", 0, ARG_SIZE, "WxH", "pixels of a frame (1920x1080)", b.size, NULL},
        {"--scale", 0, ARG_REAL, "S", "pixels per design pixel (1)", &b.scale, NULL},
        LOOK_OPTIONS(b.look),
        GRAPH_OPTIONS(b.look.graph),
        {"--json", 0, ARG_FLAG, NULL, "one JSON object", &b.json, NULL},
        {"--quiet", 'q', ARG_FLAG, NULL, "only errors on standard error", &b.quiet, NULL},
    };
    const arg_command command = {"bench",
                                 "FILE",
                                 "Measure frames without a window, and the floor of the same machine in the same run.",
                                 options,
                                 sizeof options / sizeof *options,
                                 1,
                                 ARGS_UNLIMITED,
                                 "A frame's time is scene + draw + the end of drawing; data loads beside it, as in the "
                                 "window. The floor is the median\n"
                                 "of a clear and one full-screen shaded pass, measured every eighth frame. `views` "
                                 "times each view until all of its\n"
                                 "data is in and drawn. The first picture is timed from the start of the program."};
    arg_operands paths;
    arg_result parsed = args_parse(&command, argc, argv, &paths);
    if (parsed != ARGS_OK) {
        return parsed == ARGS_HELP ? EXIT_DONE : EXIT_USAGE;
    }
    if (b.n_frames < 1 || b.n_frames > 1000000 || !(b.scale >= 0.25 && b.scale <= 8)) {
        (void)fputs("marey bench: --frames wants 1 to 1000000, --scale 0.25 to 8.\n", stderr);
        return EXIT_USAGE;
    }
    b.look.layout = b.script == SCRIPT_GRAPH ? LAYOUT_GRAPH : b.look.layout;
    return look_check("bench", &b.look) ? measure(&b, &paths) : EXIT_USAGE;
}
