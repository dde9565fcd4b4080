/*
 * How long a full frame takes, against the floor of the machine (clear and one full-screen pass, render.h).
 *
 * The frame: 1000 strips of 1500 cells on rows of one pixel, 5000 quads (surfaces, cells with round corners,
 * hairlines), 2000 bands between rows and 3000 glyphs, at 1920 x 1080. Each part is measured alone, too. The least of
 * many frames is what counts: other programs share the machine.
 *
 *     bench_render [FRAMES]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "render/render.h"

enum { WIDTH = 1920, HEIGHT = 1080 };

typedef struct part {
    const char *name;
    int strips, quads, bands, glyphs;
} part;

static const part parts[] = {
    {"empty", 0, 0, 0, 0},    {"strips", 1000, 0, 0, 0}, {"quads", 0, 5000, 0, 0},
    {"bands", 0, 0, 2000, 0}, {"glyphs", 0, 0, 0, 3000}, {"all", 1000, 5000, 2000, 3000},
};

static void add_strips(draw_list *l, int n, prng *r)
{
    for (int i = 0; i < n; i++) {
        draw_cell *cells = draw_add_strip(l, LAYER_DATA, (rect){320, 40 + (float)i, 0, 1}, 1500, true);
        for (int x = 0; x < 1500;) {
            int len = 1 + (int)prng_below(r, 60);
            draw_cell c = {(uint8_t)prng_below(r, 14), (uint8_t)(1 + prng_below(r, 255)), 0, 255};
            bool gap = prng_below(r, 4) == 0;
            for (int k = 0; k < len && x < 1500; k++, x++) {
                cells[x] = gap ? cells[x] : c;
            }
        }
    }
}

static void add_quads(draw_list *l, int n, prng *r)
{
    const theme *t = l->theme;
    for (int i = 0; i < n; i++) {
        float x = (float)prng_below(r, WIDTH - 40);
        float y = (float)prng_below(r, HEIGHT - 20);
        if (i % 2 == 0) {
            draw_rect(l, LAYER_GROUND, (rect){x, y, 30, 8}, t->row);
        } else {
            draw_round(l, LAYER_MARKS, (rect){x, y, 14, 12}, 2, t->heat[i % 5], 0, t->line);
        }
    }
}

static void add_bands(draw_list *l, int n, prng *r)
{
    for (int i = 0; i < n; i++) {
        float x = (float)prng_below(r, WIDTH - 60);
        float y = (float)prng_below(r, HEIGHT - 20);
        float slant = (float)prng_below(r, 12);
        draw_add_band(l, LAYER_DATA,
                      (draw_band){y, y + 12, x, x + 20, x + slant, x + 21 + slant,
                                  rgba_with_alpha(l->theme->data[i % 4], 97), 0, 0});
    }
}

static void add_glyphs(draw_list *l, text_ctx *t, int n, prng *r)
{
    static const char word[] = "Backward micro-batch 5 36.9 ms";
    for (int i = 0; t && i < n; i += (int)sizeof word - 1) {
        float x = (float)prng_below(r, WIDTH - 240);
        float y = (float)(20 + prng_below(r, HEIGHT - 40));
        text_put(t, l, LAYER_MARKS, FACE_SANS, 12, x, y, TEXT_LEFT, l->theme->text, word, sizeof word - 1);
    }
}

static void fill(draw_list *l, text_ctx *t, const part *p)
{
    prng r;
    prng_seed(&r, 7);
    draw_list_begin(l, WIDTH, HEIGHT, 1, theme_get(THEME_DARK));
    draw_rect(l, LAYER_GROUND, (rect){0, 0, WIDTH, 40}, l->theme->panel);
    add_strips(l, p->strips, &r);
    add_quads(l, p->quads, &r);
    add_bands(l, p->bands, &r);
    add_glyphs(l, t, p->glyphs, &r);
}

static double since_ms(int64_t start_ns)
{
    return (double)(clock_now_ns() - start_ns) / 1e6;
}

static int by_value(const void *a, const void *b)
{
    const double *x = a;
    const double *y = b;
    return (*x > *y) - (*x < *y);
}

static double least(double *ms, int n)
{
    qsort(ms, (size_t)n, sizeof *ms, by_value);
    return ms[0];
}

typedef struct bench {
    headless *headless;
    renderer *renderer;
    text_ctx *text;
    draw_list list;
    diag diag;
    int n_frames;
    double *ms, *floor_ms;
} bench;

/* A frame and the floor in turn, so that what else the machine does weighs on both. */
static void run_part(bench *b, const part *p)
{
    render_stats stats = {0};
    fill(&b->list, b->text, p);
    for (int i = 0; i < b->n_frames; i++) {
        int64_t start = clock_now_ns();
        text_frame(b->text);
        (void)renderer_draw(b->renderer, &b->list, b->text, &stats, &b->diag);
        renderer_finish(b->renderer);
        b->ms[i] = since_ms(start);
        start = clock_now_ns();
        (void)renderer_floor(b->renderer, WIDTH, HEIGHT, &b->diag);
        b->floor_ms[i] = since_ms(start);
    }
    double frame_ms = least(b->ms, b->n_frames);
    double floor_ms = least(b->floor_ms, b->n_frames);
    printf("%-8s least %6.2f ms, median %6.2f; floor %6.2f ms, median %6.2f; ratio %5.2f; instances %5zu, calls %2zu, "
           "sent %4zu KiB\n",
           p->name, frame_ms, b->ms[b->n_frames / 2], floor_ms, b->floor_ms[b->n_frames / 2], frame_ms / floor_ms,
           stats.primitives, stats.draw_calls, stats.bytes_uploaded / 1024);
}

/* Context, renderer, fonts and the first frame with every program in it. */
static marey_status start(bench *b)
{
    int64_t begin = clock_now_ns();
    marey_status status;
    MAREY_TRY(headless_create(&b->headless, WIDTH, HEIGHT, &b->diag));
    double context_ms = since_ms(begin);
    MAREY_TRY(renderer_create(&b->renderer, headless_get_proc(), &b->diag));
    int64_t fonts_begin = clock_now_ns();
    MAREY_TRY(text_create(&b->text, &b->diag));
    double fonts_ms = since_ms(fonts_begin);
    fill(&b->list, b->text, &(part){"first", 20, 200, 20, 300});
    int64_t frame_begin = clock_now_ns();
    MAREY_TRY(renderer_draw(b->renderer, &b->list, b->text, NULL, &b->diag));
    renderer_finish(b->renderer);
    printf("start    context %.1f ms, fonts %.1f ms, first frame %.1f ms, all %.1f ms (%s)\n", context_ms, fonts_ms,
           since_ms(frame_begin), since_ms(begin), renderer_name(b->renderer));
    return MAREY_OK;
fail:
    return status;
}

int main(int argc, char **argv)
{
    bench b = {.n_frames = argc > 1 ? atoi(argv[1]) : 40};
    b.n_frames = b.n_frames < 1 ? 1 : b.n_frames;
    diag_init(&b.diag);
    b.diag.echo = true;
    b.ms = mem_calloc((size_t)b.n_frames, sizeof *b.ms);
    b.floor_ms = mem_calloc((size_t)b.n_frames, sizeof *b.floor_ms);
    marey_status status = start(&b);
    if (status == MAREY_OK) {
        for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
            run_part(&b, &parts[i]);
        }
    }
    draw_list_deinit(&b.list);
    text_destroy(&b.text);
    renderer_destroy(&b.renderer);
    headless_destroy(&b.headless);
    diag_deinit(&b.diag);
    free(b.ms);
    free(b.floor_ms);
    return status == MAREY_OK ? 0 : 1;
}
