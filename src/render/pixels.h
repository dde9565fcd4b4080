/*
 * Cells of strips (draw/draw_list.h) as colours, ready to be laid over the frame: low rows, and strips that lie over
 * each other, are drawn as such a picture, because a copy is the cheapest that a renderer can do.
 *
 * Colours are premultiplied, 8 bits a channel, in bytes B, G, R, A. Thread: any.
 */
#ifndef MAREY_RENDER_PIXELS_H
#define MAREY_RENDER_PIXELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "draw/draw_list.h"

enum { PIXEL_COLOURS = 2 * PALETTE_SIZE };

/* Channels of the classes' colours, and behind them the same for cells that hold an event of severity. */
typedef struct pixel_palette {
    uint32_t rb[PIXEL_COLOURS]; /* red << 16 | blue */
    uint32_t ag[PIXEL_COLOURS]; /* 255 << 16 | green */
} pixel_palette;

/** `colours`: those of the palette, and behind them the same for severity. */
pixel_palette pixel_palette_make(const rgba colours[PIXEL_COLOURS]);
/** `n` cells to `n` texels. Occupancy dims, or else only says whether there is anything. Nothing overlaps. */
void pixels_from_cells(const pixel_palette *p, const draw_cell *cells, size_t n, bool dims, uint32_t *out);
/** Lay `colours` over `out` where the cells' occupancy exceeds `exceed`: a row of pixels through bars. */
void pixels_lay_over(const uint32_t *colours, const draw_cell *cells, size_t n, uint8_t exceed, uint32_t *out);
/** Both the plain way, whatever the processor, with the same result bit by bit: for tests. */
void pixels_from_cells_plain(const pixel_palette *p, const draw_cell *cells, size_t n, bool dims, uint32_t *out);
void pixels_lay_over_plain(const uint32_t *colours, const draw_cell *cells, size_t n, uint8_t exceed, uint32_t *out);

#endif
