#include "text/atlas.h"

#include <stdlib.h>
#include <string.h>

#include FT_OUTLINE_H

#include "base/mem.h"

void atlas_deinit(atlas *a)
{
    for (size_t i = 0; i < a->n_pages; i++) {
        free(a->pages[i].pixels);
    }
    free(a->glyphs);
    free(a->shelves);
    map64_deinit(&a->index);
    memset(a, 0, sizeof *a);
}

static void empty_pages(atlas *a)
{
    for (size_t i = 0; i < a->n_pages; i++) {
        atlas_page *p = &a->pages[i];
        memset(p->pixels, 0, (size_t)ATLAS_SIZE * ATLAS_SIZE);
        p->filled = 0;
        p->dirty_y0 = 0;
        p->dirty_y1 = ATLAS_SIZE;
        p->generation++;
    }
    for (size_t i = 0; i < a->n_glyphs; i++) {
        a->glyphs[i].placed = false;
    }
    a->n_shelves = 0;
    a->is_full = false;
}

void atlas_trim(atlas *a)
{
    bool too_many = a->n_glyphs >= ATLAS_MAX_GLYPHS;
    if (a->is_full || too_many) {
        empty_pages(a);
    }
    if (too_many) {
        a->n_glyphs = 0;
        map64_deinit(&a->index);
    }
}

uint32_t atlas_key(atlas *a, unsigned font_index, uint32_t glyph, uint32_t size_64, unsigned variant)
{
    uint64_t id = (uint64_t)font_index << 48 | (uint64_t)(glyph & 0xffff) << 32 | (uint64_t)(size_64 & 0xffffff) << 2 |
                  (variant & 3);
    uint64_t *key = map64_put(&a->index, id);
    if (*key == 0) {
        VEC_PUSH(a->glyphs, a->n_glyphs, a->cap_glyphs, ((atlas_glyph){.id = id}));
        *key = a->n_glyphs;
    }
    return (uint32_t)(*key - 1);
}

/* ---- packing ---- */

static bool add_page(atlas *a)
{
    if (a->n_pages >= ATLAS_PAGES) {
        return false;
    }
    atlas_page *p = &a->pages[a->n_pages++];
    memset(p, 0, sizeof *p);
    p->pixels = mem_calloc((size_t)ATLAS_SIZE, ATLAS_SIZE);
    return true;
}

/* A new shelf on the first page that has the height left. */
static atlas_shelf *add_shelf(atlas *a, unsigned height)
{
    for (size_t i = 0; i < a->n_pages || add_page(a); i++) {
        atlas_page *p = &a->pages[i];
        if (p->filled + height <= ATLAS_SIZE) {
            atlas_shelf s = {(uint16_t)i, p->filled, (uint16_t)height, 0};
            p->filled = (uint16_t)(p->filled + height);
            VEC_PUSH(a->shelves, a->n_shelves, a->cap_shelves, s);
            return &a->shelves[a->n_shelves - 1];
        }
    }
    return NULL;
}

/* Shelves are four texels apart in height, so that few sizes share many. */
static atlas_shelf *find_shelf(atlas *a, unsigned w, unsigned h)
{
    unsigned height = (h + 1 + 3) / 4 * 4;
    for (size_t i = 0; i < a->n_shelves; i++) {
        atlas_shelf *s = &a->shelves[i];
        if (s->height == height && s->used + w + 1 <= ATLAS_SIZE) {
            return s;
        }
    }
    return add_shelf(a, height);
}

static void mark_dirty(atlas_page *p, uint32_t y0, uint32_t y1)
{
    bool clean = p->dirty_y0 == p->dirty_y1;
    p->dirty_y0 = clean || y0 < p->dirty_y0 ? y0 : p->dirty_y0;
    p->dirty_y1 = clean || y1 > p->dirty_y1 ? y1 : p->dirty_y1;
}

static void copy_bitmap(atlas *a, const text_glyph *g, const FT_Bitmap *bitmap)
{
    atlas_page *p = &a->pages[g->page];
    for (unsigned row = 0; row < g->h; row++) {
        const uint8_t *from = bitmap->buffer + (ptrdiff_t)row * bitmap->pitch;
        memcpy(p->pixels + ((size_t)g->y + row) * ATLAS_SIZE + g->x, from, g->w);
    }
    mark_dirty(p, g->y, (uint32_t)g->y + g->h);
}

/* ---- drawing ---- */

/* Load the outline at its size and sub-pixel place and fill it. Light hinting moves points in y only. */
static bool render_glyph(font *o, uint32_t glyph, uint32_t size_64, unsigned variant)
{
    if (o->size_64 != size_64 && FT_Set_Char_Size(o->ft, 0, (FT_F26Dot6)size_64, 72, 72) != 0) {
        return false;
    }
    o->size_64 = size_64;
    if (FT_Load_Glyph(o->ft, glyph, FT_LOAD_TARGET_LIGHT | FT_LOAD_NO_BITMAP) != 0) {
        return false;
    }
    FT_GlyphSlot slot = o->ft->glyph;
    if (slot->format != FT_GLYPH_FORMAT_OUTLINE) {
        return false;
    }
    FT_Outline_Translate(&slot->outline, (FT_Pos)variant * 16, 0);
    FT_BBox box;
    FT_Outline_Get_CBox(&slot->outline, &box);
    const FT_Pos most = (FT_Pos)ATLAS_MAX_GLYPH_PX * 64;
    if (box.xMax - box.xMin > most || box.yMax - box.yMin > most) {
        return false;
    }
    return FT_Render_Glyph(slot, FT_RENDER_MODE_NORMAL) == 0 && slot->bitmap.pixel_mode == FT_PIXEL_MODE_GRAY;
}

static void place_bitmap(atlas *a, atlas_glyph *g, FT_GlyphSlot slot)
{
    unsigned w = slot->bitmap.width;
    unsigned h = slot->bitmap.rows;
    if (w == 0 || h == 0) {
        return;
    }
    atlas_shelf *s = find_shelf(a, w, h);
    if (!s) {
        a->is_full = true;
        g->placed = false;
        return;
    }
    g->place = (text_glyph){
        s->page, s->used, s->y, (uint16_t)w, (uint16_t)h, (int16_t)slot->bitmap_left, (int16_t)slot->bitmap_top};
    s->used = (uint16_t)(s->used + w + 1);
    copy_bitmap(a, &g->place, &slot->bitmap);
}

text_glyph atlas_place(atlas *a, fonts *f, uint32_t key)
{
    if (key >= a->n_glyphs) {
        return (text_glyph){0};
    }
    atlas_glyph *g = &a->glyphs[key];
    if (!g->placed) {
        g->placed = true;
        g->place = (text_glyph){0};
        font *o = &f->list[g->id >> 48];
        if (render_glyph(o, (uint32_t)(g->id >> 32) & 0xffff, (uint32_t)(g->id >> 2) & 0xffffff, g->id & 3)) {
            place_bitmap(a, g, o->ft->glyph);
        }
    }
    return g->place;
}
