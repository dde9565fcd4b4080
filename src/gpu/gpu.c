#include "gpu/gpu.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "gpu/gpu_device.h"

struct gpu {
    const gpu_device *device;
    void *self;
    gpu_object *objects;
    size_t n, cap;
    gpu_counters counters;
};

marey_status gpu_create_on(gpu **out, const gpu_device *device, void *self)
{
    gpu *g = mem_calloc(1, sizeof *g);
    g->device = device;
    g->self = self;
    *out = g;
    return MAREY_OK;
}

void gpu_destroy(gpu **p)
{
    gpu *g = *p;
    if (!g) {
        return;
    }
    for (size_t i = 0; i < g->n; i++) {
        if (g->objects[i].kind != KIND_NONE) {
            g->device->object_destroy(g->self, &g->objects[i]);
        }
    }
    g->device->destroy(g->self);
    free(g->objects);
    free(g);
    *p = NULL;
}

const char *gpu_name(const gpu *g)
{
    return g->device->name(g->self);
}

int gpu_max_texture_size(const gpu *g)
{
    return g->device->max_texture_size(g->self);
}

gpu_counters gpu_counts(const gpu *g)
{
    return g->counters;
}

/* ---- handles ---- */

static uint32_t keep(gpu *g, gpu_object made)
{
    size_t i = 0;
    while (i < g->n && g->objects[i].kind != KIND_NONE) {
        i++;
    }
    if (i == g->n) {
        VEC_PUSH(g->objects, g->n, g->cap, ((gpu_object){.generation = 0}));
    }
    made.generation = (uint16_t)(g->objects[i].generation + 1);
    g->objects[i] = made;
    return (uint32_t)made.generation << 16 | ((uint32_t)i + 1);
}

static gpu_object *find(gpu *g, uint32_t id, gpu_kind kind)
{
    size_t i = id & 0xffff;
    if (i == 0 || i > g->n || g->objects[i - 1].kind != kind || g->objects[i - 1].generation != id >> 16) {
        g->counters.misuses++;
        return NULL;
    }
    return &g->objects[i - 1];
}

static void drop(gpu *g, uint32_t *id, gpu_kind kind)
{
    gpu_object *o = *id ? find(g, *id, kind) : NULL;
    if (o) {
        g->device->object_destroy(g->self, o);
        o->kind = KIND_NONE;
    }
    *id = 0;
}

/* ---- objects ---- */

marey_status gpu_program_create(gpu *g, gpu_program *out, const gpu_program_desc *desc, diag *d)
{
    gpu_object o = {.kind = KIND_PROGRAM};
    marey_status status = g->device->program_create(g->self, &o, desc, d);
    out->id = status == MAREY_OK ? keep(g, o) : 0;
    return status;
}

void gpu_program_destroy(gpu *g, gpu_program *p)
{
    drop(g, &p->id, KIND_PROGRAM);
}

void gpu_set_floats(gpu *g, gpu_program p, unsigned uniform, unsigned components, size_t n, const float *values)
{
    gpu_object *o = find(g, p.id, KIND_PROGRAM);
    if (o && uniform < GPU_MAX_UNIFORMS) {
        g->device->set_floats(g->self, o, o->uniforms[uniform], components, n, values);
    }
}

marey_status gpu_buffer_create(gpu *g, gpu_buffer *out, diag *d)
{
    gpu_object o = {.kind = KIND_BUFFER};
    marey_status status = g->device->buffer_create(g->self, &o, d);
    out->id = status == MAREY_OK ? keep(g, o) : 0;
    return status;
}

void gpu_buffer_destroy(gpu *g, gpu_buffer *b)
{
    drop(g, &b->id, KIND_BUFFER);
}

void gpu_buffer_write(gpu *g, gpu_buffer b, const void *bytes, size_t size)
{
    gpu_object *o = find(g, b.id, KIND_BUFFER);
    if (o && size > 0) {
        g->counters.bytes_uploaded += size;
        g->device->buffer_write(g->self, o, bytes, size);
    }
}

marey_status gpu_layout_create(gpu *g, gpu_layout *out, gpu_buffer b, unsigned stride, const gpu_attribute *attributes,
                               unsigned n, diag *d)
{
    out->id = 0;
    gpu_object *buffer = find(g, b.id, KIND_BUFFER);
    if (!buffer || n > GPU_MAX_ATTRIBUTES) {
        return diag_error(d, MAREY_ARG, NULL, DIAG_NO_OFFSET, "an instance layout needs a buffer and at most %d parts",
                          GPU_MAX_ATTRIBUTES);
    }
    gpu_object o = {.kind = KIND_LAYOUT, .native2 = buffer->native, .stride = stride, .n_attributes = (uint8_t)n};
    memcpy(o.attributes, attributes, n * sizeof *attributes);
    marey_status status = g->device->layout_create(g->self, &o, d);
    out->id = status == MAREY_OK ? keep(g, o) : 0;
    return status;
}

void gpu_layout_destroy(gpu *g, gpu_layout *l)
{
    drop(g, &l->id, KIND_LAYOUT);
}

static bool has_size(const gpu *g, int width, int height)
{
    int most = gpu_max_texture_size(g);
    return width >= 1 && height >= 1 && width <= most && height <= most;
}

marey_status gpu_texture_create(gpu *g, gpu_texture *out, gpu_format format, int width, int height, int layers, diag *d)
{
    out->id = 0;
    if (!has_size(g, width, height) || layers < 0 || layers > 255) {
        return diag_error(d, MAREY_GPU, NULL, DIAG_NO_OFFSET,
                          "a texture of %d x %d x %d is beyond what this GPU allows", width, height, layers);
    }
    gpu_object o = {.kind = KIND_TEXTURE, .width = width, .height = height, .format = (uint8_t)format};
    o.layers = (uint8_t)layers;
    marey_status status = g->device->texture_create(g->self, &o, d);
    out->id = status == MAREY_OK ? keep(g, o) : 0;
    return status;
}

void gpu_texture_destroy(gpu *g, gpu_texture *t)
{
    drop(g, &t->id, KIND_TEXTURE);
}

static size_t texel_bytes(const gpu_object *o)
{
    return o->format == GPU_R8 ? 1 : 4;
}

void gpu_texture_write(gpu *g, gpu_texture t, int x, int y, int layer, int width, int height, const void *pixels)
{
    gpu_object *o = find(g, t.id, KIND_TEXTURE);
    if (!o || width < 1 || height < 1) {
        return;
    }
    bool inside = x >= 0 && y >= 0 && x <= o->width - width && y <= o->height - height;
    if (!inside || layer < 0 || (layer > 0 && layer >= o->layers)) {
        g->counters.misuses++;
        return;
    }
    g->counters.bytes_uploaded += (size_t)width * (size_t)height * texel_bytes(o);
    g->device->texture_write(g->self, o, (const int[5]){x, y, layer, width, height}, pixels);
}

marey_status gpu_target_create(gpu *g, gpu_target *out, int width, int height, diag *d)
{
    out->id = 0;
    if (!has_size(g, width, height)) {
        return diag_error(d, MAREY_GPU, NULL, DIAG_NO_OFFSET,
                          "a picture of %d x %d is beyond what this GPU allows (%d)", width, height,
                          gpu_max_texture_size(g));
    }
    gpu_object o = {.kind = KIND_TARGET, .width = width, .height = height, .format = GPU_RGBA8};
    marey_status status = g->device->target_create(g->self, &o, d);
    out->id = status == MAREY_OK ? keep(g, o) : 0;
    return status;
}

void gpu_target_destroy(gpu *g, gpu_target *t)
{
    drop(g, &t->id, KIND_TARGET);
}

void gpu_target_bind(gpu *g, gpu_target t)
{
    gpu_object *o = find(g, t.id, KIND_TARGET);
    if (o) {
        g->device->target_bind(g->self, o);
    }
}

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "pixels are taken as little-endian words");

/* The device reads blue first. Four bytes at a time, in a form that the compiler turns into vector code. */
static void swap_red_and_blue(uint8_t *pixels, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t p;
        memcpy(&p, pixels + i * 4, 4);
        p = (p & 0xff00ff00U) | ((p >> 16) & 0xffU) | ((p & 0xffU) << 16);
        memcpy(pixels + i * 4, &p, 4);
    }
}

/* The device reads the bottom row first. */
static void flip_rows(uint8_t *pixels, size_t row_bytes, size_t n_rows)
{
    uint8_t *spare = mem_alloc(row_bytes);
    for (size_t i = 0; i < n_rows / 2; i++) {
        uint8_t *a = pixels + i * row_bytes;
        uint8_t *b = pixels + (n_rows - 1 - i) * row_bytes;
        memcpy(spare, a, row_bytes);
        memcpy(a, b, row_bytes);
        memcpy(b, spare, row_bytes);
    }
    free(spare);
}

marey_status gpu_target_read(gpu *g, gpu_target t, uint8_t *rgba_pixels, diag *d)
{
    gpu_object *o = find(g, t.id, KIND_TARGET);
    if (!o) {
        return diag_error(d, MAREY_STATE, NULL, DIAG_NO_OFFSET, "there is no picture to read");
    }
    g->device->target_read(g->self, o, rgba_pixels);
    swap_red_and_blue(rgba_pixels, (size_t)o->width * (size_t)o->height);
    flip_rows(rgba_pixels, (size_t)o->width * 4, (size_t)o->height);
    return gpu_check(g, "reading the picture", d);
}

/* ---- drawing ---- */

void gpu_begin(gpu *g, int width, int height, const float clear[4])
{
    g->device->begin(g->self, width, height, clear);
}

void gpu_draw_instances(gpu *g, const gpu_draw *draw)
{
    device_draw out = {.first = draw->first, .n = draw->n, .blend = draw->blend};
    out.program = find(g, draw->program.id, KIND_PROGRAM);
    out.layout = find(g, draw->layout.id, KIND_LAYOUT);
    bool whole = out.program && out.layout;
    for (int i = 0; i < 4 && draw->textures[i].id; i++) {
        out.textures[i] = find(g, draw->textures[i].id, KIND_TEXTURE);
        whole = whole && out.textures[i];
    }
    if (whole && draw->n > 0) {
        g->counters.draw_calls++;
        g->counters.instances += draw->n;
        g->device->draw(g->self, &out);
    }
}

void gpu_finish(gpu *g)
{
    g->device->finish(g->self);
}

marey_status gpu_check(gpu *g, const char *what, diag *d)
{
    return g->device->check(g->self, what, d);
}
