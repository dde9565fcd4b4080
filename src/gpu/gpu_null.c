/* The device that draws nothing: for tests of what the renderer asks for, and of what it does when the GPU refuses. */
#include <stdlib.h>

#include "base/mem.h"
#include "gpu/gpu_device.h"

typedef struct null_device {
    unsigned made, fail_at;
    uint32_t next;
} null_device;

static marey_status make(null_device *n, gpu_object *o, const char *what, diag *d)
{
    n->made++;
    if (n->made == n->fail_at) {
        return diag_error(d, MAREY_GPU, NULL, DIAG_NO_OFFSET, "the null device was told to refuse this %s", what);
    }
    o->native = ++n->next;
    return MAREY_OK;
}

static marey_status make_program(void *self, gpu_object *o, const gpu_program_desc *desc, diag *d)
{
    for (int i = 0; i < GPU_MAX_UNIFORMS; i++) {
        o->uniforms[i] = desc->uniforms[i] ? i : -1;
    }
    return make(self, o, "program", d);
}

static marey_status make_buffer(void *self, gpu_object *o, diag *d)
{
    return make(self, o, "buffer", d);
}

static marey_status make_layout(void *self, gpu_object *o, diag *d)
{
    return make(self, o, "layout", d);
}

static marey_status make_texture(void *self, gpu_object *o, diag *d)
{
    return make(self, o, "texture", d);
}

static marey_status make_target(void *self, gpu_object *o, diag *d)
{
    return make(self, o, "target", d);
}

static void null_destroy(void *self)
{
    free(self);
}

static const char *null_name(const void *self)
{
    (void)self;
    return "null";
}

static int null_max_texture_size(const void *self)
{
    (void)self;
    return 16384;
}

static void null_object_destroy(void *self, gpu_object *o)
{
    (void)self;
    o->native = 0;
}

static void null_set_floats(void *self, const gpu_object *o, int location, unsigned components, size_t n,
                            const float *v)
{
    (void)self, (void)o, (void)location, (void)components, (void)n, (void)v;
}

static void null_buffer_write(void *self, const gpu_object *o, const void *bytes, size_t size)
{
    (void)self, (void)o, (void)bytes, (void)size;
}

static void null_texture_write(void *self, const gpu_object *o, const int box[5], const void *pixels)
{
    (void)self, (void)o, (void)box, (void)pixels;
}

static void null_target_bind(void *self, const gpu_object *o)
{
    (void)self, (void)o;
}

static void null_target_read(void *self, const gpu_object *o, uint8_t *pixels)
{
    (void)self;
    for (size_t i = 0; i < (size_t)o->width * (size_t)o->height * 4; i++) {
        pixels[i] = 0;
    }
}

static void null_begin(void *self, int width, int height, const float clear[4])
{
    (void)self, (void)width, (void)height, (void)clear;
}

static void null_draw(void *self, const device_draw *draw)
{
    (void)self, (void)draw;
}

static void null_finish(void *self)
{
    (void)self;
}

static marey_status null_check(void *self, const char *what, diag *d)
{
    (void)self, (void)what, (void)d;
    return MAREY_OK;
}

marey_status gpu_create_null(gpu **out, unsigned fail_at, diag *d)
{
    static const gpu_device device = {
        .destroy = null_destroy,
        .name = null_name,
        .max_texture_size = null_max_texture_size,
        .program_create = make_program,
        .buffer_create = make_buffer,
        .layout_create = make_layout,
        .texture_create = make_texture,
        .target_create = make_target,
        .object_destroy = null_object_destroy,
        .set_floats = null_set_floats,
        .buffer_write = null_buffer_write,
        .texture_write = null_texture_write,
        .target_bind = null_target_bind,
        .target_read = null_target_read,
        .begin = null_begin,
        .draw = null_draw,
        .finish = null_finish,
        .check = null_check,
    };
    (void)d;
    null_device *n = mem_calloc(1, sizeof *n);
    n->fail_at = fail_at;
    return gpu_create_on(out, &device, n);
}
