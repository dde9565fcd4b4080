/*
 * The draw list: what one frame shows, as plain arrays. Scene and UI write it, the renderer reads it, tests dump it.
 *
 * Coordinates are device pixels, y down, origin at the top left of the frame; floats hold whole pixels where an edge
 * must be sharp. Order is back to front: by layer, then in the order of pushing. Inside one layer the renderer may draw
 * all items of one kind together, in the order quads, strips (tall bars, low or stacked bars, those that dim), bands,
 * lines, triangles, glyphs: where that order would hide something, use a higher layer. Clips are rectangles that nest
 * (each is already intersected with its parent).
 *
 * Invariants (draw_list_check): no NaN or infinity; clip indices in range; strips' cells inside their arrays.
 * Owner: the list owns copies of everything pushed. Thread: one at a time.
 */
#ifndef MAREY_DRAW_DRAW_LIST_H
#define MAREY_DRAW_DRAW_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"
#include "draw/colour.h"

typedef struct rect {
    float x, y, w, h;
} rect;

typedef enum draw_layer {
    LAYER_GROUND,  /* surfaces, row backgrounds, grid */
    LAYER_DATA,    /* strips, bands, blocks */
    LAYER_MARKS,   /* labels in data, severity marks, selection */
    LAYER_PANELS,  /* bars and panels that cover the data's edges */
    LAYER_OVERLAY, /* cursor, tooltip, help */
    LAYER_TOP,     /* what goes on top of an overlay's own surface: its text */
    LAYER_COUNT
} draw_layer;

/* A rectangle with round corners, filled, and/or with a border inside its edge. */
typedef struct draw_quad {
    rect r;
    rgba fill;
    rgba border;
    float radius;       /* px, all corners */
    float border_width; /* px; 0: none */
    uint16_t clip;
    uint8_t layer;
} draw_quad;

/*
 * A row of cells, one cell a device pixel column: how a row of a timeline is drawn, whatever the number of events.
 * The renderer paints cell i on the column [x + i, x + i + 1): a bar of the row's height times `occupancy`, standing on
 * the row's floor (never less than 1 px when `klass` is not EMPTY), in the class's palette colour.
 */
enum { CELL_EMPTY = 255 };
enum {
    CELL_EDGE = 1,     /* an event begins here: draw a hair of ground at the column's left where there is room */
    CELL_MORE = 2,     /* stands for several events */
    CELL_SEVERE = 4,   /* holds an event of severity: the scene adds the mark, the cell is tinted */
    CELL_COARSE = 8,   /* stand-in from a coarser level while finer data loads: drawn paler */
    CELL_SELECTED = 16 /* belongs to the selection: full strength while others recede */
};
typedef struct draw_cell {
    uint8_t klass;     /* index into theme.data, or CELL_EMPTY */
    uint8_t occupancy; /* busy share of the column, 1..255 (255 = whole); 0 only with CELL_EMPTY */
    uint8_t flags;     /* CELL_* */
    uint8_t alpha;     /* 255 opaque; e.g. 107 for wait (42 %) */
} draw_cell;

typedef struct draw_strip {
    rect r;              /* r.w = number of cells */
    uint32_t first_cell; /* into draw_list.cells */
    uint32_t n_cells;
    uint16_t clip;
    uint8_t layer;
    uint8_t full_height; /* 1: occupancy dims the alpha instead of the height (for rows too low for bars) */
} draw_strip;

/* A quadrilateral with horizontal top and bottom: joins the interval [x0,x1) at y_top to [x2,x3) at y_bottom.
 * Edges are antialiased analytically; an edge pair closer than 1 px is drawn 1 px wide. */
typedef struct draw_band {
    float y_top, y_bottom;
    float x0, x1; /* at y_top */
    float x2, x3; /* at y_bottom */
    rgba fill;
    uint16_t clip;
    uint8_t layer;
} draw_band;

typedef struct draw_line {
    float x0, y0, x1, y1;
    float width; /* px; axis-parallel lines of whole width are drawn on whole pixels */
    float dash;  /* px of dash and gap; 0: solid */
    rgba colour;
    uint16_t clip;
    uint8_t layer;
} draw_line;

/* A triangle: tree arrows and severity marks. */
typedef struct draw_tri {
    float x[3], y[3];
    rgba fill;
    uint16_t clip;
    uint8_t layer;
} draw_tri;

/* One glyph of a shaped run; `glyph` is a key of the text room's atlas (text/text.h). */
typedef struct draw_glyph {
    uint32_t glyph;
    float x, y; /* pen position on the baseline, px */
} draw_glyph;

typedef struct draw_run {
    uint32_t first_glyph;
    uint32_t n_glyphs;
    uint32_t text; /* offset into draw_list.text: the string, for dumps and for SVG/PDF; NUL-terminated */
    float x, y;    /* baseline start */
    float width;   /* advance, px */
    float size;    /* px */
    uint16_t face; /* text room's face id */
    rgba colour;
    uint16_t clip;
    uint8_t layer;
} draw_run;

typedef struct draw_list {
    float width, height; /* frame size in device px */
    float scale;         /* device px per design px */
    const theme *theme;
    rgba clear;
    draw_quad *quads;
    size_t n_quads, cap_quads;
    draw_strip *strips;
    size_t n_strips, cap_strips;
    draw_cell *cells;
    size_t n_cells, cap_cells;
    draw_band *bands;
    size_t n_bands, cap_bands;
    draw_line *lines;
    size_t n_lines, cap_lines;
    draw_tri *tris;
    size_t n_tris, cap_tris;
    draw_glyph *glyphs;
    size_t n_glyphs, cap_glyphs;
    draw_run *runs;
    size_t n_runs, cap_runs;
    rect *clips; /* [0] is the frame */
    size_t n_clips, cap_clips;
    strbuf text;
    uint16_t clip_stack[32];
    int n_clip_stack;
} draw_list;

/** Empty the list for a new frame; keeps its memory. Sizes in px, > 0. */
void draw_list_begin(draw_list *l, float width, float height, float scale, const theme *t);
void draw_list_deinit(draw_list *l);

/** Clips nest: push intersects with the current one; pop goes back. At most 31 deep. */
void draw_push_clip(draw_list *l, rect r);
void draw_pop_clip(draw_list *l);

void draw_rect(draw_list *l, draw_layer layer, rect r, rgba fill);
void draw_round(draw_list *l, draw_layer layer, rect r, float radius, rgba fill, float border_width, rgba border);
void draw_hline(draw_list *l, draw_layer layer, float x0, float x1, float y, rgba c); /* 1 px, on the pixel row of y */
void draw_vline(draw_list *l, draw_layer layer, float x, float y0, float y1,
                rgba c); /* 1 px, on the pixel column of x */
void draw_segment(draw_list *l, draw_layer layer, float x0, float y0, float x1, float y1, float width, rgba c);
/** A segment of dashes and gaps, each `dash` px long. */
void draw_dashed(draw_list *l, draw_layer layer, float x0, float y0, float x1, float y1, float width, float dash,
                 rgba c);
void draw_triangle(draw_list *l, draw_layer layer, const float x[3], const float y[3], rgba c);
void draw_add_band(draw_list *l, draw_layer layer, draw_band band);
/** Reserve a strip of `n` cells at `r` (r.w is set to n). @return its cells, EMPTY, to be filled before the next call
 */
draw_cell *draw_add_strip(draw_list *l, draw_layer layer, rect r, size_t n, bool full_height);
/** Make room for so many more cells at once, where they are many. */
void draw_reserve_cells(draw_list *l, size_t n);
/** The same as draw_add_strip(), but the cells are not cleared. @return the place of the first one in `cells`, which
 * further pushes move */
uint32_t draw_reserve_strip(draw_list *l, draw_layer layer, rect r, size_t n, bool full_height);
/** Used by the text room: append a shaped run. Glyphs are copied. */
void draw_add_run(draw_list *l, draw_layer layer, draw_run run, const draw_glyph *glyphs, const char *text,
                  size_t n_text);

size_t draw_list_primitives(const draw_list *l); /* quads + strips + bands + lines + tris + glyphs */

/** One line per item, exact and stable: for golden text tests. */
void draw_list_dump(const draw_list *l, strbuf *out);
/** @return NULL when the invariants hold, else a sentence that names the first breach */
const char *draw_list_check(const draw_list *l);

#endif
