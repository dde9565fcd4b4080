/*
 * Draw list -> instances: what goes up to the GPU, and the draw calls that use it. No GL in here.
 *
 * Every kind has one array of instances; a batch is a stretch of one array. Boxes are whole pixels, already cut to the
 * clip and the frame, so that no clip costs a state change. Items that are not finite, empty or transparent are left
 * out. Owner: the caller (pack_deinit). Thread: one at a time.
 */
#ifndef MAREY_RENDER_PACK_H
#define MAREY_RENDER_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "draw/draw_list.h"
#include "render/pixels.h"
#include "text/text.h"

typedef enum pack_kind {
    PACK_FLAT,
    PACK_ROUND,
    PACK_STRIP,
    PACK_PIXELS,
    PACK_BAND,
    PACK_LINE,
    PACK_TRI,
    PACK_GLYPH,
    PACK_COUNT
} pack_kind;

/* x0, y0, x1, y1 in whole pixels. */
typedef struct pack_box {
    int16_t x0, y0, x1, y1;
} pack_box;

typedef struct pack_flat {
    pack_box box;
    rgba colour;
} pack_flat;

typedef struct pack_round {
    pack_box box;
    float centre_x, centre_y, half_w, half_h;
    rgba fill, border;
    float radius, border_width;
} pack_round;

/*
 * Tall strips of bars. Those of the same columns that stand close above each other are one instance: they are then
 * filled as one area. For each of its pixel rows it has a record (pack.rows): where the row's first cell lies, and what
 * occupancy a cell must exceed to be inked there.
 */
typedef struct pack_strip {
    pack_box box;
    float x, y, first_record, unused; /* column of the first cell, pixel row of the first record */
} pack_strip;

/*
 * Strips whose occupancy dims, low strips of bars, and bars over each other: a part of pack.pixels, texel on pixel, or
 * one row of texels over a row's height.
 */
typedef struct pack_pixels {
    pack_box box;
    float x0, y0, x1, y1; /* texels at the box's corners */
} pack_pixels;

typedef struct pack_band {
    float y_top, y_bottom;
    float x0, x1, x2, x3;
    rgba colour;
    pack_box clip;
} pack_band;

typedef struct pack_line {
    float x0, y0, x1, y1, width, dash;
    rgba colour;
    pack_box clip;
} pack_line;

typedef struct pack_tri {
    pack_box box;
    float ax, ay, bx, by, cx, cy;
    rgba colour;
} pack_tri;

typedef struct pack_glyph {
    pack_box box;
    uint16_t x, y, page, unused;
    rgba colour;
} pack_glyph;

typedef struct pack_batch {
    pack_kind kind;
    bool blend;
    uint32_t first, n;
} pack_batch;

/* Per layer: three of quads, two of lines, one of each other kind. */
enum { PACK_MAX_BATCHES = LAYER_COUNT * 10 };

typedef struct pack_array {
    void *items;
    size_t n, cap; /* items */
} pack_array;

enum {
    PACK_CELL_COLUMNS = 2048, /* cells lie in rows of so many: the shader knows it too */
    PACK_CELL_ROWS = 8192,
    PACK_RECORD_COLUMNS = 1024,
    PACK_PIXEL_ROWS = 8192, /* what is more than that is drawn as bars */
    PACK_LOW_BARS = 16,     /* px: so high may bars be that become pixels by themselves */
    PACK_NEVER_INKED = 255
};

typedef struct pack {
    pack_array arrays[PACK_COUNT];
    uint32_t *rows; /* cell index << 8 | occupancy to exceed */
    size_t n_rows, cap_rows;
    draw_cell *cells; /* of tall strips of bars, one after the other */
    size_t n_cells, cap_cells;
    uint32_t *pixels; /* [n_pixel_rows * pixel_columns] (pixels.h) */
    size_t n_pixel_rows, cap_pixels, pixel_columns;
    uint32_t *bar_colours; /* of one strip of bars */
    size_t cap_bar_colours;
    const theme *theme; /* that `palette` is of */
    rgba colours[PIXEL_COLOURS];
    pixel_palette palette;
    pack_batch batches[PACK_MAX_BATCHES];
    size_t n_batches;
} pack;

size_t pack_item_size(pack_kind kind);
/** Fill `p` anew from the list; glyphs that are drawn for the first time are rastered. `t` may be NULL: no text then.
 */
void pack_build(pack *p, const draw_list *l, text_ctx *t);
void pack_deinit(pack *p);

#endif
