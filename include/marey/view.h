/* Pictures without a window: only in libmarey-view. */
#ifndef MAREY_VIEW_H
#define MAREY_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <marey/status.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum marey_layout {
    MAREY_LAYOUT_TIMELINE,
    MAREY_LAYOUT_MAREY,
    MAREY_LAYOUT_COMMUNICATION,
    MAREY_LAYOUT_STEPS,
    MAREY_LAYOUT_GRAPH
} marey_layout;

typedef struct marey_view_options {
    int width_px, height_px; /* 0: 1920 x 1080; at most 16384 */
    double scale;            /* pixels per design pixel, 0.25 to 8; 0: 1 */
    marey_layout layout;
    bool light;           /* the light theme */
    int64_t t0_ns, t1_ns; /* what to show; t1 <= t0: what the file says */
} marey_view_options;

/** The picture that `marey render` draws of a converted file, as PNG. @param options  NULL: all 0. Errors: ARG (a size
 * or scale out of range), GPU, FONT, IO, FORMAT. Thread: one at a time in a process. */
MAREY_API marey_status marey_view_render(const char *path, const char *png, const marey_view_options *options,
                                         char *message, size_t cap);

#ifdef __cplusplus
}
#endif

#endif
