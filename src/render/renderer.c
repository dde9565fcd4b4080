#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "render/pack.h"
#include "render/programs.h"
#include "render/renderer_internal.h"

enum { ROWS_MIN = 64, MAX_FRAME_PX = 16384 };

/* An array of four-byte items as a texture of `columns`. */
typedef struct packed_texture {
    gpu_format format;
    int columns, rows;
    gpu_texture texture;
} packed_texture;

struct renderer {
    gpu *gpu;
    pack pack;
    programs programs;
    packed_texture cells, rows; /* pack.h */
    gpu_texture palette;
    gpu_texture picture; /* pack.pixels */
    int picture_width, picture_rows;
    gpu_texture atlas;
    size_t atlas_pages;
    uint32_t atlas_size;
    gpu_texture floor;
    int floor_width, floor_height;
};

/* ---- making ---- */

marey_status renderer_create_on(renderer **out, gpu *g, diag *d)
{
    (void)d;
    renderer *r = mem_calloc(1, sizeof *r);
    r->gpu = g;
    r->cells = (packed_texture){.format = GPU_RGBA8_INT, .columns = PACK_CELL_COLUMNS};
    r->rows = (packed_texture){.format = GPU_R32_INT, .columns = PACK_RECORD_COLUMNS};
    *out = r;
    return MAREY_OK;
}

marey_status renderer_create(renderer **out, render_get_proc get_proc, diag *d)
{
    gpu *g = NULL;
    *out = NULL;
    marey_status status = gpu_create_gl(&g, get_proc, d);
    return status == MAREY_OK ? renderer_create_on(out, g, d) : status;
}

void renderer_destroy(renderer **p)
{
    renderer *r = *p;
    if (!r) {
        return;
    }
    programs_deinit(&r->programs, r->gpu);
    gpu_destroy(&r->gpu);
    pack_deinit(&r->pack);
    free(r);
    *p = NULL;
}

const char *renderer_name(const renderer *r)
{
    return gpu_name(r->gpu);
}

gpu *renderer_gpu(renderer *r)
{
    return r->gpu;
}

void renderer_finish(renderer *r)
{
    gpu_finish(r->gpu);
}

/* ---- textures ---- */

/* A texture that holds an array, packed into its rows. It grows by doubling: a frame needs about what the last one did.
 */
static marey_status upload_array(renderer *r, packed_texture *t, const void *items, size_t n, diag *d)
{
    size_t columns = (size_t)t->columns;
    size_t rows = n / columns;
    int wanted = t->rows > 0 ? t->rows : ROWS_MIN;
    while ((size_t)wanted <= rows && wanted < MAX_FRAME_PX) {
        wanted *= 2;
    }
    if ((size_t)wanted <= rows || wanted > gpu_max_texture_size(r->gpu)) {
        return diag_error(d, MAREY_LIMIT, NULL, DIAG_NO_OFFSET, "the frame has more cells than a texture holds");
    }
    if (!t->texture.id || wanted != t->rows) {
        gpu_texture_destroy(r->gpu, &t->texture);
        marey_status status = gpu_texture_create(r->gpu, &t->texture, t->format, t->columns, wanted, 0, d);
        if (status != MAREY_OK) {
            return status;
        }
        t->rows = wanted;
    }
    const char *rest = (const char *)items + rows * columns * 4;
    gpu_texture_write(r->gpu, t->texture, 0, 0, 0, t->columns, (int)rows, items);
    gpu_texture_write(r->gpu, t->texture, 0, (int)rows, 0, (int)(n % columns), 1, rest);
    return MAREY_OK;
}

static marey_status upload_palette(renderer *r, diag *d)
{
    if (!r->palette.id) {
        marey_status status = gpu_texture_create(r->gpu, &r->palette, GPU_RGBA8, PIXEL_COLOURS, 1, 0, d);
        if (status != MAREY_OK) {
            return status;
        }
    }
    gpu_texture_write(r->gpu, r->palette, 0, 0, 0, PIXEL_COLOURS, 1, r->pack.colours);
    return MAREY_OK;
}

static marey_status upload_strips(renderer *r, diag *d)
{
    marey_status status;
    MAREY_TRY(upload_array(r, &r->cells, r->pack.cells, r->pack.n_cells, d));
    MAREY_TRY(upload_array(r, &r->rows, r->pack.rows, r->pack.n_rows, d));
    MAREY_TRY(upload_palette(r, d));
    return MAREY_OK;
fail:
    return status;
}

/* The picture of low rows: as wide as the frame, and as high as any frame needed so far. */
static marey_status upload_pixels(renderer *r, const draw_list *l, diag *d)
{
    int width = (int)l->width;
    int rows = (int)r->pack.n_pixel_rows;
    int wanted = r->picture_rows > 0 ? r->picture_rows : ROWS_MIN;
    while (wanted < rows && wanted < MAX_FRAME_PX) {
        wanted *= 2;
    }
    if (wanted < rows || wanted > gpu_max_texture_size(r->gpu)) {
        return diag_error(d, MAREY_LIMIT, NULL, DIAG_NO_OFFSET, "the frame has more low rows than a texture holds");
    }
    if (!r->picture.id || width != r->picture_width || wanted != r->picture_rows) {
        gpu_texture_destroy(r->gpu, &r->picture);
        marey_status status = gpu_texture_create(r->gpu, &r->picture, GPU_BGRA8, width, wanted, 0, d);
        if (status != MAREY_OK) {
            return status;
        }
        r->picture_width = width;
        r->picture_rows = wanted;
    }
    gpu_texture_write(r->gpu, r->picture, 0, 0, 0, (int)r->pack.pixel_columns, rows, r->pack.pixels);
    return MAREY_OK;
}

static void upload_page(renderer *r, text_ctx *t, size_t page, bool whole)
{
    text_page p = text_take_page(t, page);
    uint32_t y0 = whole ? 0 : p.dirty_y0;
    uint32_t y1 = whole ? p.size : p.dirty_y1;
    gpu_texture_write(r->gpu, r->atlas, 0, (int)y0, (int)page, (int)p.size, (int)(y1 - y0),
                      p.pixels + (size_t)y0 * p.size);
}

/* All pages are layers of one texture, so that text is one draw call a layer. A new page makes a new texture. */
static marey_status upload_atlas(renderer *r, text_ctx *t, diag *d)
{
    size_t n = text_pages(t);
    bool grown = n > r->atlas_pages;
    if (grown) {
        gpu_texture_destroy(r->gpu, &r->atlas);
        r->atlas_pages = 0;
        text_page first = text_take_page(t, 0);
        marey_status status =
            gpu_texture_create(r->gpu, &r->atlas, GPU_R8, (int)first.size, (int)first.size, (int)n, d);
        if (status != MAREY_OK) {
            return status;
        }
        r->atlas_pages = n;
    }
    for (size_t i = 0; i < n; i++) {
        upload_page(r, t, i, grown);
    }
    return MAREY_OK;
}

/* ---- drawing ---- */

static void put_channels(float out[4], rgba c)
{
    out[0] = c.r / 255.0F;
    out[1] = c.g / 255.0F;
    out[2] = c.b / 255.0F;
    out[3] = c.a / 255.0F;
}

/* Send one kind's instances and set its program up for this frame. */
static marey_status prepare_kind(renderer *r, pack_kind kind, const draw_list *l, diag *d)
{
    const pack_array *a = &r->pack.arrays[kind];
    program *p = NULL;
    marey_status status = programs_get(&r->programs, r->gpu, kind, &p, d);
    if (status != MAREY_OK) {
        return status;
    }
    gpu_buffer_write(r->gpu, p->buffer, a->items, a->n * pack_item_size(kind));
    gpu_set_floats(r->gpu, p->program, UNIFORM_PIXEL, 2, 1, (const float[]){2 / l->width, 2 / l->height});
    return MAREY_OK;
}

static marey_status prepare(renderer *r, const draw_list *l, text_ctx *t, diag *d)
{
    marey_status status;
    for (pack_kind kind = 0; kind < PACK_COUNT; kind++) {
        if (r->pack.arrays[kind].n > 0) {
            MAREY_TRY(prepare_kind(r, kind, l, d));
        }
    }
    if (r->pack.arrays[PACK_STRIP].n > 0) {
        MAREY_TRY(upload_strips(r, d));
    }
    if (r->pack.arrays[PACK_PIXELS].n > 0) {
        MAREY_TRY(upload_pixels(r, l, d));
    }
    if (t && r->pack.arrays[PACK_GLYPH].n > 0) {
        MAREY_TRY(upload_atlas(r, t, d));
    }
    return MAREY_OK;
fail:
    return status;
}

static void begin_frame(renderer *r, int width, int height, rgba clear)
{
    float c[4];
    put_channels(c, clear);
    gpu_begin(r->gpu, width, height, c);
}

static void draw_batch(renderer *r, const pack_batch *b)
{
    const program *p = &r->programs.list[b->kind];
    gpu_draw draw = {.program = p->program, .layout = p->layout, .first = b->first, .n = b->n, .blend = b->blend};
    if (b->kind == PACK_STRIP) {
        draw.textures[0] = r->cells.texture;
        draw.textures[1] = r->rows.texture;
        draw.textures[2] = r->palette;
    } else if (b->kind == PACK_PIXELS) {
        draw.textures[0] = r->picture;
    } else if (b->kind == PACK_GLYPH) {
        draw.textures[0] = r->atlas;
    }
    gpu_draw_instances(r->gpu, &draw);
}

static bool has_frame(const draw_list *l)
{
    return l->theme && l->width >= 1 && l->height >= 1 && l->width <= MAX_FRAME_PX && l->height <= MAX_FRAME_PX;
}

marey_status renderer_draw(renderer *r, const draw_list *l, text_ctx *t, render_stats *stats, diag *d)
{
    if (!has_frame(l)) {
        return diag_error(d, MAREY_ARG, NULL, DIAG_NO_OFFSET, "the frame has no theme, or no size between 1 and %d px",
                          MAX_FRAME_PX);
    }
    gpu_counters before = gpu_counts(r->gpu);
    programs_reload(&r->programs, r->gpu, d);
    pack_build(&r->pack, l, t);
    marey_status status = prepare(r, l, t, d);
    if (status != MAREY_OK) {
        return status;
    }
    begin_frame(r, (int)l->width, (int)l->height, l->clear);
    for (size_t i = 0; i < r->pack.n_batches; i++) {
        draw_batch(r, &r->pack.batches[i]);
    }
    gpu_counters after = gpu_counts(r->gpu);
    if (stats) {
        stats->primitives = after.instances - before.instances;
        stats->draw_calls = after.draw_calls - before.draw_calls;
        stats->bytes_uploaded = after.bytes_uploaded - before.bytes_uploaded;
    }
    return gpu_check(r->gpu, "drawing a frame", d);
}

/* ---- the floor ---- */

/* A texture of the frame's size, filled once: what the pass reads. */
static marey_status make_floor(renderer *r, int width, int height, diag *d)
{
    if (r->floor.id && r->floor_width == width && r->floor_height == height) {
        return MAREY_OK;
    }
    gpu_texture_destroy(r->gpu, &r->floor);
    marey_status status = gpu_texture_create(r->gpu, &r->floor, GPU_RGBA8_INT, width, height, 0, d);
    if (status != MAREY_OK) {
        return status;
    }
    size_t size = (size_t)width * (size_t)height * 4;
    uint8_t *pixels = mem_alloc(size);
    memset(pixels, 0x60, size);
    gpu_texture_write(r->gpu, r->floor, 0, 0, 0, width, height, pixels);
    free(pixels);
    r->floor_width = width;
    r->floor_height = height;
    return MAREY_OK;
}

marey_status renderer_floor(renderer *r, int width, int height, diag *d)
{
    program *p = NULL;
    marey_status status = programs_get(&r->programs, r->gpu, PROGRAM_FLOOR, &p, d);
    if (status != MAREY_OK) {
        return status;
    }
    status = make_floor(r, width, height, d);
    if (status != MAREY_OK) {
        return status;
    }
    pack_flat whole = {{0, 0, (int16_t)width, (int16_t)height}, {0, 0, 0, 255}};
    gpu_buffer_write(r->gpu, p->buffer, &whole, sizeof whole);
    gpu_set_floats(r->gpu, p->program, UNIFORM_PIXEL, 2, 1, (const float[]){2 / (float)width, 2 / (float)height});
    begin_frame(r, width, height, (rgba){0, 0, 0, 255});
    gpu_draw draw = {.program = p->program, .layout = p->layout, .n = 1};
    draw.textures[0] = r->floor;
    gpu_draw_instances(r->gpu, &draw);
    gpu_finish(r->gpu);
    return gpu_check(r->gpu, "drawing the floor", d);
}
