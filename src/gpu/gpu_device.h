/*
 * Between gpu.c, which keeps handles and counts, and the devices that do the work: one table of functions.
 * `native` is the device's own name of an object (OpenGL's), never 0.
 */
#ifndef MAREY_GPU_GPU_DEVICE_H
#define MAREY_GPU_GPU_DEVICE_H

#include "gpu/gpu.h"

typedef struct gpu_object {
    uint32_t native;
    uint32_t native2; /* a target's texture; a layout's buffer */
    int width, height;
    uint16_t generation;
    uint8_t kind; /* gpu_kind; 0: the place is free */
    uint8_t format, layers, n_attributes;
    unsigned stride;
    gpu_attribute attributes[GPU_MAX_ATTRIBUTES];
    int uniforms[GPU_MAX_UNIFORMS];
} gpu_object;

typedef enum gpu_kind { KIND_NONE, KIND_PROGRAM, KIND_BUFFER, KIND_LAYOUT, KIND_TEXTURE, KIND_TARGET } gpu_kind;

/* What one draw call needs, with handles resolved. */
typedef struct device_draw {
    const gpu_object *program, *layout;
    const gpu_object *textures[4];
    unsigned first, n;
    bool blend;
} device_draw;

typedef struct gpu_device {
    void (*destroy)(void *self);
    const char *(*name)(const void *self);
    int (*max_texture_size)(const void *self);
    marey_status (*program_create)(void *self, gpu_object *o, const gpu_program_desc *desc, diag *d);
    marey_status (*buffer_create)(void *self, gpu_object *o, diag *d);
    marey_status (*layout_create)(void *self, gpu_object *o, diag *d);
    marey_status (*texture_create)(void *self, gpu_object *o, diag *d);
    marey_status (*target_create)(void *self, gpu_object *o, diag *d);
    void (*object_destroy)(void *self, gpu_object *o);
    void (*set_floats)(void *self, const gpu_object *o, int location, unsigned components, size_t n, const float *v);
    void (*buffer_write)(void *self, const gpu_object *o, const void *bytes, size_t size);
    void (*texture_write)(void *self, const gpu_object *o, const int box[5], const void *pixels);
    void (*target_bind)(void *self, const gpu_object *o);
    void (*target_read)(void *self, const gpu_object *o, uint8_t *pixels); /* BGRA, bottom row first */
    void (*begin)(void *self, int width, int height, const float clear[4]);
    void (*draw)(void *self, const device_draw *draw);
    void (*finish)(void *self);
    marey_status (*check)(void *self, const char *what, diag *d);
} gpu_device;

/** Takes `self`, also on failure. */
marey_status gpu_create_on(gpu **out, const gpu_device *device, void *self);

#endif
