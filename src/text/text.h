/*
 * Text: fonts from the system, shaping, glyph atlas, and one-line layout.
 *
 * FreeType raster glyphs with light hinting in R8 atlas pages, 4 horizontal sub-pixel variants, whole-pixel baselines;
 * HarfBuzz shaping for every run, with a bounded run cache; fontconfig finds Inter and JetBrains Mono and, per cluster,
 * a fallback that covers Chinese (zh-Hans). Where the named fonts are missing, the system's sans and mono serve, with
 * one note in the diag; with no font at all text_create fails with FONT.
 *
 * Strings are UTF-8; invalid bytes show as U+FFFD, control characters as blanks, and what lies beyond 64 KiB not at
 * all. A digit is as wide as another (tabular figures); ligatures and contextual forms are off: a name shows its
 * characters. Sizes are 1 to 512 px, in steps of 1/64. A right-to-left word is shaped in its direction, but words are
 * set left to right (no bidirectional reordering).
 *
 * Owner: the caller. Thread: the drawing thread only.
 */
#ifndef MAREY_TEXT_TEXT_H
#define MAREY_TEXT_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"
#include "draw/draw_list.h"

typedef struct text_ctx text_ctx;

typedef enum text_face { FACE_SANS, FACE_SANS_MEDIUM, FACE_SANS_BOLD, FACE_MONO, FACE_COUNT } text_face;

typedef enum text_align { TEXT_LEFT, TEXT_CENTRE, TEXT_RIGHT } text_align;

marey_status text_create(text_ctx **out, diag *d);
void text_destroy(text_ctx **p);

/** Advance of `s` in px at `size` px. Cached. */
float text_width(text_ctx *t, text_face face, float size, const char *s, size_t n);

/** Ascent + descent of the face at `size`, and the ascent alone, px. To centre a line in a box, use text_baseline. */
float text_line_height(text_ctx *t, text_face face, float size);
float text_ascent(text_ctx *t, text_face face, float size);
/** The baseline (whole px) that centres capital letters in [y, y + h). */
float text_baseline(text_ctx *t, text_face face, float size, float y, float h);

/**
 * Put one line of text. `x` is the left edge, middle or right edge according to `align`; `y` the baseline.
 * Digits are tabular. @return the advance in px
 */
float text_put(text_ctx *t, draw_list *l, draw_layer layer, text_face face, float size, float x, float y,
               text_align align, rgba colour, const char *s, size_t n);

/**
 * The same within `max_width` px: cut in the middle with an ellipsis, at cluster boundaries, never mid-letter; nothing
 * is put when not even three letters and the ellipsis fit. @return the advance, 0 when nothing was put
 */
float text_put_fit(text_ctx *t, draw_list *l, draw_layer layer, text_face face, float size, float x, float y,
                   text_align align, float max_width, rgba colour, const char *s, size_t n);

/* ---- for the renderer ---- */

/* Where a glyph lies in the atlas and how it sits on the pen position. */
typedef struct text_glyph {
    uint16_t page;
    uint16_t x, y, w, h; /* texels; w = 0 for blanks */
    int16_t left, top;   /* px from the pen to the bitmap's left and top edge (top is up-positive) */
} text_glyph;

/** Look up a draw_glyph's key; rasters the glyph when it is drawn for the first time. Its place stays valid until the
 *  next text_frame(). */
text_glyph text_atlas_glyph(text_ctx *t, uint32_t key);

typedef struct text_page {
    const uint8_t *pixels; /* size x size, R8 coverage */
    uint32_t size;
    uint32_t dirty_y0, dirty_y1; /* rows changed since the renderer last took them; equal when none */
    uint32_t generation;         /* changes when the whole page was repacked */
} text_page;

size_t text_pages(const text_ctx *t);
text_page text_take_page(text_ctx *t, size_t page); /* clears the dirty range: one renderer per text context */

/** Call at the start of each frame, before its draw list is begun: empties caches and pages that overflowed. A draw
 * list that was made before the call may have lost its glyphs. */
void text_frame(text_ctx *t);

#endif
