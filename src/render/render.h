/*
 * Draw list -> OpenGL -> window or pixels. The only place that turns a frame into GL calls.
 *
 * Draw calls per frame are bounded: at most nine per layer, so below 60; data goes up in one buffer per kind. Strips'
 * cells go up as one texture, one texel a column.
 *
 * Colours are blended in sRGB as they are, so that the design's values come out exactly; what that does to light text
 * on dark is made good by a curve on its coverage (shaders/glyph.vert). A frame has no depth: ask for a window without
 * depth, stencil and multisampling, with which Mesa's software renderer would leave its fast way to fill rectangles.
 *
 * The order of a frame: text_frame, draw_list_begin, pushing, renderer_draw. One renderer per text context.
 *
 * Thread: the thread whose GL context is current (headless_* makes one without a window; app/ makes one with GLFW).
 */
#ifndef MAREY_RENDER_RENDER_H
#define MAREY_RENDER_RENDER_H

#include "base/diag.h"
#include "draw/draw_list.h"
#include "text/text.h"

typedef struct renderer renderer;

typedef void *(*render_get_proc)(const char *name);

typedef struct render_stats {
    size_t primitives;
    size_t draw_calls;
    size_t bytes_uploaded;
} render_stats;

/** A GL 3.3 context is current; `get_proc` loads its functions. Errors: GPU with the reason (version, missing feature,
 *  shader log). */
marey_status renderer_create(renderer **out, render_get_proc get_proc, diag *d);
void renderer_destroy(renderer **p);
const char *renderer_name(const renderer *r); /* GL_RENDERER */

/** Draw into the current framebuffer, width x height of the list. */
marey_status renderer_draw(renderer *r, const draw_list *l, text_ctx *t, render_stats *stats, diag *d);

/** Clear and one full-screen shaded pass: the floor that frames are measured against. Finishes (glFinish) before
 * return. */
marey_status renderer_floor(renderer *r, int width, int height, diag *d);
void renderer_finish(renderer *r);

/* ---- without a window: EGL surfaceless (Mesa), else EGL device, else an error that says what was tried. The
 * environment variable MAREY_EGL=device turns the order round: for a GPU whose driver is not Mesa's. ---- */

typedef struct headless headless;

marey_status headless_create(headless **out, int width, int height, diag *d); /* makes the context current */
void headless_destroy(headless **p);
render_get_proc headless_get_proc(void);
marey_status headless_resize(headless *h, int width, int height, diag *d);
/** Read the frame: width * height * 4 bytes RGBA, top row first, straight into `out` (caller's). */
marey_status headless_read(headless *h, uint8_t *out, diag *d);

/** PNG by libpng; it appears at `path` when it is whole (base/file.h). RGBA, top row first; alpha is dropped when all of it is 255. */
marey_status png_write(const char *path, const uint8_t *rgba_pixels, int width, int height, diag *d);
/** For tests. *pixels is owned by the caller (free). At most 16384 x 16384. */
marey_status png_read(const char *path, uint8_t **rgba_pixels, int *width, int *height, diag *d);

#endif
