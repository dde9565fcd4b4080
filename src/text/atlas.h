/*
 * The glyph atlas: a table of every glyph that was asked for, and square pages of coverage where those that were drawn
 * lie, packed on shelves with a gutter of one texel.
 *
 * A glyph's key is its place in the table and stays valid while the table does; its place on a page is found again when
 * the pages were emptied. Owner: the text context. Thread: the drawing thread.
 */
#ifndef MAREY_TEXT_ATLAS_H
#define MAREY_TEXT_ATLAS_H

#include "text/fonts.h"

enum { ATLAS_SIZE = 1024, ATLAS_PAGES = 16, ATLAS_MAX_GLYPHS = 1 << 20, ATLAS_MAX_GLYPH_PX = 512 };

typedef struct atlas_glyph {
    uint64_t id; /* font, glyph, size, variant */
    text_glyph place;
    bool placed;
} atlas_glyph;

typedef struct atlas_shelf {
    uint16_t page, y, height, used;
} atlas_shelf;

typedef struct atlas_page {
    uint8_t *pixels;
    uint16_t filled; /* height of the shelves so far */
    uint32_t dirty_y0, dirty_y1, generation;
} atlas_page;

typedef struct atlas {
    atlas_glyph *glyphs;
    size_t n_glyphs, cap_glyphs;
    map64 index; /* id -> key + 1 */
    atlas_shelf *shelves;
    size_t n_shelves, cap_shelves;
    atlas_page pages[ATLAS_PAGES];
    size_t n_pages;
    bool is_full; /* a glyph found no room: all is dropped at the next frame */
} atlas;

void atlas_deinit(atlas *a);
/** Empty the pages when they are full, and the table when it is. */
void atlas_trim(atlas *a);
/** @param size_64 1/64 px; @param variant quarter of a pixel, 0 to 3 */
uint32_t atlas_key(atlas *a, unsigned font_index, uint32_t glyph, uint32_t size_64, unsigned variant);
/** Where the glyph lies; drawn now if need be. w = 0 for blanks, unknown keys and when the pages are full. */
text_glyph atlas_place(atlas *a, fonts *f, uint32_t key);

#endif
