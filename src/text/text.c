#include "text/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "text/atlas.h"
#include "text/shape.h"

enum {
    FIT_MAX_BYTES = 1024, /* of each end of a name that is cut to a width: no screen shows more */
    FIT_MIN_LETTERS = 3,
    SIZE_MAX_PX = 512
};

static const char ellipsis[] = "\xe2\x80\xa6";

struct text_ctx {
    fonts fonts;
    run_cache runs;
    atlas atlas;
    draw_glyph *glyphs; /* scratch */
    size_t cap_glyphs;
    strbuf cut; /* scratch: a name with its ellipsis */
};

marey_status text_create(text_ctx **out, diag *d)
{
    text_ctx *t = mem_calloc(1, sizeof *t);
    *out = t;
    run_cache_init(&t->runs);
    marey_status status = fonts_init(&t->fonts, d);
    if (status != MAREY_OK) {
        text_destroy(out);
    }
    return status;
}

void text_destroy(text_ctx **p)
{
    text_ctx *t = *p;
    if (!t) {
        return;
    }
    atlas_deinit(&t->atlas);
    run_cache_deinit(&t->runs);
    fonts_deinit(&t->fonts);
    free(t->glyphs);
    strbuf_deinit(&t->cut);
    free(t);
    *p = NULL;
}

void text_frame(text_ctx *t)
{
    run_cache_trim(&t->runs);
    atlas_trim(&t->atlas);
}

/* Sizes are told apart by 1/64 px; what is no size at all becomes the smallest one. */
static uint32_t size_in_64(float size)
{
    if (!(size >= 1)) {
        return 64;
    }
    return (uint32_t)lroundf(fminf(size, SIZE_MAX_PX) * 64);
}

static float clean_size(float size)
{
    return (float)size_in_64(size) / 64;
}

/* ---- measures ---- */

float text_width(text_ctx *t, text_face face, float size, const char *s, size_t n)
{
    return run_shape(&t->runs, &t->fonts, face, s, n).advance * clean_size(size);
}

static const font *font_of(text_ctx *t, text_face face)
{
    return &t->fonts.list[fonts_of_face(&t->fonts, face)];
}

float text_line_height(text_ctx *t, text_face face, float size)
{
    const font *o = font_of(t, face);
    return (o->ascent + o->descent) * clean_size(size);
}

float text_ascent(text_ctx *t, text_face face, float size)
{
    return font_of(t, face)->ascent * clean_size(size);
}

float text_baseline(text_ctx *t, text_face face, float size, float y, float h)
{
    return roundf(y + (h + font_of(t, face)->cap_height * clean_size(size)) / 2);
}

/* ---- putting ---- */

static float left_edge(float x, text_align align, float width)
{
    if (align == TEXT_LEFT) {
        return x;
    }
    return align == TEXT_CENTRE ? x - width / 2 : x - width;
}

/* Pens stand on quarters of a pixel in x and on whole pixels in y: that is what the atlas holds. */
static draw_glyph place_glyph(text_ctx *t, const shaped_glyph *g, float size, float x, float y)
{
    float pen = floorf((x + g->x * size) * 4 + 0.5F);
    unsigned variant = (unsigned)(pen - floorf(pen / 4) * 4) & 3;
    draw_glyph out = {.x = pen / 4, .y = y - roundf(g->y * size)};
    out.glyph = atlas_key(&t->atlas, g->font, g->glyph, size_in_64(size), variant);
    return out;
}

static float put_run(text_ctx *t, draw_list *l, draw_layer layer, text_face face, float size, float x, float y,
                     text_align align, rgba colour, const char *s, size_t n)
{
    shaped_run run = run_shape(&t->runs, &t->fonts, face, s, n);
    size = clean_size(size);
    draw_run out = {.n_glyphs = run.n_glyphs, .width = run.advance * size, .size = size, .colour = colour};
    out.face = (uint16_t)face;
    out.x = left_edge(x, align, out.width);
    out.y = roundf(y);
    if (!isfinite(out.x) || !isfinite(out.y)) {
        return 0;
    }
    VEC_RESERVE(t->glyphs, t->cap_glyphs, (size_t)run.n_glyphs + 1);
    for (uint32_t i = 0; i < run.n_glyphs; i++) {
        t->glyphs[i] = place_glyph(t, &run.glyphs[i], size, out.x, out.y);
    }
    draw_add_run(l, layer, out, t->glyphs, s, n < RUN_MAX_BYTES ? n : RUN_MAX_BYTES);
    return out.width;
}

float text_put(text_ctx *t, draw_list *l, draw_layer layer, text_face face, float size, float x, float y,
               text_align align, rgba colour, const char *s, size_t n)
{
    return n == 0 ? 0 : put_run(t, l, layer, face, size, x, y, align, colour, s, n);
}

/* ---- cutting ---- */

/* Which clusters stay: the first `head` and the last `tail`. */
typedef struct cut {
    uint32_t head, tail;
} cut;

/* Take letters from both ends in turn while they fit; the shorter side goes first. */
static cut choose_cut(const shaped_run *run, float room_em)
{
    cut c = {0, 0};
    float head = 0;
    float tail = 0;
    while (c.head + c.tail < run->n_clusters) {
        float next_head = run->clusters[c.head].advance;
        float next_tail = run->clusters[run->n_clusters - 1 - c.tail].advance;
        bool head_fits = head + tail + next_head <= room_em;
        bool tail_fits = head + tail + next_tail <= room_em;
        if (head_fits && (head <= tail || !tail_fits)) {
            head += next_head;
            c.head++;
        } else if (tail_fits) {
            tail += next_tail;
            c.tail++;
        } else {
            break;
        }
    }
    return c;
}

static size_t cluster_offset(const shaped_run *run, uint32_t i, size_t n)
{
    return i < run->n_clusters ? run->clusters[i].offset : n;
}

static void join_cut(text_ctx *t, const shaped_run *run, cut c, const char *s, size_t n)
{
    size_t head = cluster_offset(run, c.head, n);
    size_t tail = cluster_offset(run, run->n_clusters - c.tail, n);
    strbuf_clear(&t->cut);
    strbuf_add(&t->cut, s, head);
    strbuf_puts(&t->cut, ellipsis);
    strbuf_add(&t->cut, s + tail, n - tail);
}

/* The ends of a very long name, on boundaries of characters, with a mark between them that is always cut away. */
static const char *shorten(strbuf *out, const char *s, size_t *n)
{
    if (*n <= (size_t)2 * FIT_MAX_BYTES) {
        return s;
    }
    size_t head = FIT_MAX_BYTES;
    size_t tail = *n - FIT_MAX_BYTES;
    while (head > 0 && ((unsigned char)s[head] & 0xc0) == 0x80) {
        head--;
    }
    while (tail < *n && ((unsigned char)s[tail] & 0xc0) == 0x80) {
        tail++;
    }
    strbuf_add(out, s, head);
    strbuf_add(out, s + tail, *n - tail);
    *n = out->n;
    return strbuf_str(out);
}

/* Leave the cut string in t->cut. @return false when too little of it would be left */
static bool cut_to_fit(text_ctx *t, text_face face, float max_em, const char *s, size_t n)
{
    shaped_run run = run_shape(&t->runs, &t->fonts, face, s, n);
    float room = max_em - run_shape(&t->runs, &t->fonts, face, ellipsis, strlen(ellipsis)).advance;
    cut c = choose_cut(&run, room);
    if (c.head + c.tail >= run.n_clusters && c.head > 0) {
        c.head--; /* only a shortened name gets here: its middle is missing, whatever fits */
    }
    while (c.head + c.tail >= FIT_MIN_LETTERS) {
        join_cut(t, &run, c, s, n);
        /* Letters beside the ellipsis may be kerned otherwise than in the whole name. */
        if (run_shape(&t->runs, &t->fonts, face, t->cut.s, t->cut.n).advance <= max_em) {
            return true;
        }
        if (c.head > c.tail) {
            c.head--;
        } else {
            c.tail--;
        }
    }
    return false;
}

float text_put_fit(text_ctx *t, draw_list *l, draw_layer layer, text_face face, float size, float x, float y,
                   text_align align, float max_width, rgba colour, const char *s, size_t n)
{
    strbuf ends = {0};
    size_t n_ends = n;
    const char *short_s = shorten(&ends, s, &n_ends);
    float max_em = max_width / clean_size(size);
    float width = 0;
    if (!(max_em > 0) || n == 0) {
        width = 0;
    } else if (n == n_ends && run_shape(&t->runs, &t->fonts, face, s, n).advance <= max_em) {
        width = put_run(t, l, layer, face, size, x, y, align, colour, s, n);
    } else if (cut_to_fit(t, face, max_em, short_s, n_ends)) {
        width = put_run(t, l, layer, face, size, x, y, align, colour, t->cut.s, t->cut.n);
    }
    strbuf_deinit(&ends);
    return width;
}

/* ---- for the renderer ---- */

text_glyph text_atlas_glyph(text_ctx *t, uint32_t key)
{
    return atlas_place(&t->atlas, &t->fonts, key);
}

size_t text_pages(const text_ctx *t)
{
    return t->atlas.n_pages;
}

text_page text_take_page(text_ctx *t, size_t page)
{
    atlas_page *p = &t->atlas.pages[page];
    text_page out = {p->pixels, ATLAS_SIZE, p->dirty_y0, p->dirty_y1, p->generation};
    p->dirty_y0 = p->dirty_y1 = 0;
    return out;
}
