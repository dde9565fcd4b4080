/*
 * OpenGL 3.3 core, in the few words that the renderer needs. Only this room includes glad; a null device stands in for
 * it in tests, counts calls and fails where it is told to.
 *
 * Handles are 32 bits: a place and a generation, 0 is none. A handle that was destroyed or never made is no crash: the
 * call does nothing and is counted (gpu_misuses).
 * Owner: the caller destroys what it creates; gpu_destroy takes the rest. Thread: the one whose context is current.
 */
#ifndef MAREY_GPU_GPU_H
#define MAREY_GPU_GPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"

typedef struct gpu gpu;
typedef void *(*gpu_get_proc)(const char *name);

typedef struct gpu_program {
    uint32_t id;
} gpu_program;
typedef struct gpu_buffer {
    uint32_t id;
} gpu_buffer;
typedef struct gpu_texture {
    uint32_t id;
} gpu_texture;
typedef struct gpu_layout {
    uint32_t id;
} gpu_layout;
typedef struct gpu_target {
    uint32_t id;
} gpu_target;

typedef struct gpu_counters {
    size_t draw_calls, instances, bytes_uploaded, misuses;
} gpu_counters;

/** Load OpenGL through `get_proc`; its context is current. Errors: GPU (older than 3.3, functions missing). */
marey_status gpu_create_gl(gpu **out, gpu_get_proc get_proc, diag *d);
/** A device that draws nothing. The `fail_at`-th object that is made fails (1 is the first; 0: none does). */
marey_status gpu_create_null(gpu **out, unsigned fail_at, diag *d);
void gpu_destroy(gpu **p);
const char *gpu_name(const gpu *g);
int gpu_max_texture_size(const gpu *g);
gpu_counters gpu_counts(const gpu *g);

/* ---- programs ---- */

enum { GPU_MAX_UNIFORMS = 8, GPU_MAX_ATTRIBUTES = 8 };

typedef struct gpu_program_desc {
    const char *name;                       /* for messages */
    const char *vertex, *fragment;          /* GLSL 330 core */
    const char *uniforms[GPU_MAX_UNIFORMS]; /* names; a uniform is then named by its place here; NULL ends */
    const char *samplers[4];                /* names; the n-th one reads texture unit n; NULL ends */
} gpu_program_desc;

/** Errors: GPU with the compiler's log. */
marey_status gpu_program_create(gpu *g, gpu_program *out, const gpu_program_desc *desc, diag *d);
void gpu_program_destroy(gpu *g, gpu_program *p);
/** Set a uniform of a program: vectors of 1 to 4 floats, `n` of them. */
void gpu_set_floats(gpu *g, gpu_program p, unsigned uniform, unsigned components, size_t n, const float *values);

/* ---- buffers, and how instances lie in them ---- */

typedef enum gpu_type { GPU_F32, GPU_U8_NORM, GPU_I16, GPU_U16_INT, GPU_U32_INT } gpu_type;

typedef struct gpu_attribute {
    uint8_t location, components;
    uint8_t type; /* gpu_type; *_INT stay integers in the shader, I16 becomes float */
    uint8_t offset;
} gpu_attribute;

marey_status gpu_buffer_create(gpu *g, gpu_buffer *out, diag *d);
void gpu_buffer_destroy(gpu *g, gpu_buffer *b);
/** Replace the content; what is still being drawn from keeps the old one. */
void gpu_buffer_write(gpu *g, gpu_buffer b, const void *bytes, size_t size);

/** Instances of `stride` bytes in `b`. */
marey_status gpu_layout_create(gpu *g, gpu_layout *out, gpu_buffer b, unsigned stride, const gpu_attribute *attributes,
                               unsigned n, diag *d);
void gpu_layout_destroy(gpu *g, gpu_layout *l);

/* ---- textures ---- */

/* BGRA8: bytes in that order, RGBA in the shader. */
typedef enum gpu_format { GPU_R8, GPU_RGBA8, GPU_BGRA8, GPU_RGBA8_INT, GPU_R32_INT } gpu_format;

/** Nearest sampling, no mipmaps. `layers` 0 makes a plain 2-D texture, else an array. Content is undefined. */
marey_status gpu_texture_create(gpu *g, gpu_texture *out, gpu_format format, int width, int height, int layers,
                                diag *d);
void gpu_texture_destroy(gpu *g, gpu_texture *t);
/** Write a rectangle; rows lie close in `pixels`. */
void gpu_texture_write(gpu *g, gpu_texture t, int x, int y, int layer, int width, int height, const void *pixels);

/* ---- off-screen targets ---- */

/** An RGBA8 picture to draw into. */
marey_status gpu_target_create(gpu *g, gpu_target *out, int width, int height, diag *d);
void gpu_target_destroy(gpu *g, gpu_target *t);
void gpu_target_bind(gpu *g, gpu_target t);
/** Read it: RGBA, top row first. Errors: GPU. */
marey_status gpu_target_read(gpu *g, gpu_target t, uint8_t *rgba_pixels, diag *d);

/* ---- drawing, into the current target or the window ---- */

typedef struct gpu_draw {
    gpu_program program;
    gpu_layout layout;
    gpu_texture textures[4]; /* by unit; id 0 ends */
    unsigned first, n;       /* instances; each is two triangles, six vertices */
    bool blend;              /* premultiplied over; off: the pixels are replaced */
} gpu_draw;

/** Start a frame: the viewport and a clear to a straight sRGB colour, 0 to 1. */
void gpu_begin(gpu *g, int width, int height, const float clear[4]);
void gpu_draw_instances(gpu *g, const gpu_draw *draw);
void gpu_finish(gpu *g);
/** What the driver complained about since the last call, as a status. */
marey_status gpu_check(gpu *g, const char *what, diag *d);

#endif
