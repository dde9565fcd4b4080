/* A picture of a run without a window: what the window shows, pixel for pixel, once all of its data is in. */
#ifndef MAREY_APP_PICTURE_H
#define MAREY_APP_PICTURE_H

#include "app/session.h"

typedef struct picture {
    session_look look;
    const char *file; /* that marey wrote */
    const char *out;  /* PNG */
    int width_px, height_px;
    double scale; /* pixels per design pixel */
} picture;

/** Errors: GPU, FONT, IO, FORMAT. Thread: one at a time in a process. */
marey_status picture_write(const picture *p, diag *d);

#endif
