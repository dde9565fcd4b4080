#include "draw/draw_list.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/status.h"

enum { MAX_CLIPS = UINT16_MAX };

void draw_list_begin(draw_list *l, float width, float height, float scale, const theme *t)
{
    l->width = width;
    l->height = height;
    l->scale = scale;
    l->theme = t;
    l->clear = t->ground;
    l->n_quads = l->n_strips = l->n_cells = l->n_bands = l->n_lines = l->n_tris = l->n_glyphs = l->n_runs = 0;
    l->n_clips = 0;
    strbuf_clear(&l->text);
    VEC_PUSH(l->clips, l->n_clips, l->cap_clips, ((rect){0, 0, width, height}));
    l->clip_stack[0] = 0;
    l->n_clip_stack = 1;
}

void draw_list_deinit(draw_list *l)
{
    free(l->quads);
    free(l->strips);
    free(l->cells);
    free(l->bands);
    free(l->lines);
    free(l->tris);
    free(l->glyphs);
    free(l->runs);
    free(l->clips);
    strbuf_deinit(&l->text);
    memset(l, 0, sizeof *l);
}

static rect intersect(rect a, rect b)
{
    float x0 = fmaxf(a.x, b.x);
    float y0 = fmaxf(a.y, b.y);
    float x1 = fminf(a.x + a.w, b.x + b.w);
    float y1 = fminf(a.y + a.h, b.y + b.h);
    return (rect){x0, y0, fmaxf(x1 - x0, 0), fmaxf(y1 - y0, 0)};
}

static bool same_rect(rect a, rect b)
{
    return a.x == b.x && a.y == b.y && a.w == b.w && a.h == b.h;
}

static uint16_t current_clip(const draw_list *l)
{
    return l->clip_stack[l->n_clip_stack - 1];
}

/* A row that clips anew for each of its items would fill the table; the same rectangle gets the same index. */
static uint16_t clip_index(draw_list *l, rect r)
{
    if (same_rect(r, l->clips[current_clip(l)])) {
        return current_clip(l);
    }
    if (same_rect(r, l->clips[l->n_clips - 1])) {
        return (uint16_t)(l->n_clips - 1);
    }
    if (l->n_clips >= MAX_CLIPS) {
        return current_clip(l);
    }
    VEC_PUSH(l->clips, l->n_clips, l->cap_clips, r);
    return (uint16_t)(l->n_clips - 1);
}

void draw_push_clip(draw_list *l, rect r)
{
    MAREY_ASSERT(l->n_clip_stack < (int)(sizeof l->clip_stack / sizeof l->clip_stack[0]));
    uint16_t index = clip_index(l, intersect(r, l->clips[current_clip(l)]));
    l->clip_stack[l->n_clip_stack++] = index;
}

void draw_pop_clip(draw_list *l)
{
    MAREY_ASSERT(l->n_clip_stack > 1);
    l->n_clip_stack--;
}

void draw_rect(draw_list *l, draw_layer layer, rect r, rgba fill)
{
    draw_round(l, layer, r, 0, fill, 0, (rgba){0, 0, 0, 0});
}

void draw_round(draw_list *l, draw_layer layer, rect r, float radius, rgba fill, float border_width, rgba border)
{
    draw_quad q = {.r = r, .fill = fill, .border = border, .radius = radius, .border_width = border_width};
    q.clip = current_clip(l);
    q.layer = (uint8_t)layer;
    VEC_PUSH(l->quads, l->n_quads, l->cap_quads, q);
}

void draw_segment(draw_list *l, draw_layer layer, float x0, float y0, float x1, float y1, float width, rgba c)
{
    draw_line line = {x0, y0, x1, y1, width, 0, c, current_clip(l), (uint8_t)layer};
    VEC_PUSH(l->lines, l->n_lines, l->cap_lines, line);
}

void draw_dashed(draw_list *l, draw_layer layer, float x0, float y0, float x1, float y1, float width, float dash,
                 rgba c)
{
    draw_line line = {x0, y0, x1, y1, width, dash, c, current_clip(l), (uint8_t)layer};
    VEC_PUSH(l->lines, l->n_lines, l->cap_lines, line);
}

void draw_hline(draw_list *l, draw_layer layer, float x0, float x1, float y, rgba c)
{
    float middle = floorf(y) + 0.5F;
    draw_segment(l, layer, x0, middle, x1, middle, 1, c);
}

void draw_vline(draw_list *l, draw_layer layer, float x, float y0, float y1, rgba c)
{
    float middle = floorf(x) + 0.5F;
    draw_segment(l, layer, middle, y0, middle, y1, 1, c);
}

void draw_triangle(draw_list *l, draw_layer layer, const float x[3], const float y[3], rgba c)
{
    draw_tri t = {{x[0], x[1], x[2]}, {y[0], y[1], y[2]}, c, current_clip(l), (uint8_t)layer};
    VEC_PUSH(l->tris, l->n_tris, l->cap_tris, t);
}

void draw_add_band(draw_list *l, draw_layer layer, draw_band band)
{
    band.clip = current_clip(l);
    band.layer = (uint8_t)layer;
    VEC_PUSH(l->bands, l->n_bands, l->cap_bands, band);
}

void draw_reserve_cells(draw_list *l, size_t n)
{
    size_t wanted = l->n_cells + n + 1;
    if (wanted > l->cap_cells) {
        size_t cap = wanted + wanted / 8; /* the next frame needs about as many */
        draw_cell *cells = mem_alloc_large(cap * sizeof *cells);
        if (l->n_cells > 0) {
            memcpy(cells, l->cells, l->n_cells * sizeof *cells);
        }
        free(l->cells);
        l->cells = cells;
        l->cap_cells = cap;
    }
}

uint32_t draw_reserve_strip(draw_list *l, draw_layer layer, rect r, size_t n, bool full_height)
{
    MAREY_ASSERT(n <= UINT32_MAX - l->n_cells);
    r.w = (float)n;
    draw_strip s = {.r = r, .first_cell = (uint32_t)l->n_cells, .n_cells = (uint32_t)n};
    s.clip = current_clip(l);
    s.layer = (uint8_t)layer;
    s.full_height = full_height;
    VEC_PUSH(l->strips, l->n_strips, l->cap_strips, s);
    VEC_RESERVE(l->cells, l->cap_cells, l->n_cells + n + 1);
    l->n_cells += n;
    return s.first_cell;
}

draw_cell *draw_add_strip(draw_list *l, draw_layer layer, rect r, size_t n, bool full_height)
{
    uint32_t first = draw_reserve_strip(l, layer, r, n, full_height); /* moves the cells */
    draw_cell *cells = l->cells + first;
    for (size_t i = 0; i < n; i++) {
        cells[i] = (draw_cell){CELL_EMPTY, 0, 0, 255};
    }
    return cells;
}

void draw_add_run(draw_list *l, draw_layer layer, draw_run run, const draw_glyph *glyphs, const char *text,
                  size_t n_text)
{
    MAREY_ASSERT(run.n_glyphs <= UINT32_MAX - l->n_glyphs && l->text.n + n_text + 1 <= UINT32_MAX);
    run.first_glyph = (uint32_t)l->n_glyphs;
    run.text = (uint32_t)l->text.n;
    run.clip = current_clip(l);
    run.layer = (uint8_t)layer;
    VEC_RESERVE(l->glyphs, l->cap_glyphs, l->n_glyphs + run.n_glyphs);
    if (run.n_glyphs > 0) {
        memcpy(l->glyphs + l->n_glyphs, glyphs, run.n_glyphs * sizeof *glyphs);
    }
    l->n_glyphs += run.n_glyphs;
    strbuf_add(&l->text, text, n_text);
    strbuf_add(&l->text, "", 1);
    VEC_PUSH(l->runs, l->n_runs, l->cap_runs, run);
}

size_t draw_list_primitives(const draw_list *l)
{
    return l->n_quads + l->n_strips + l->n_bands + l->n_lines + l->n_tris + l->n_glyphs;
}
