/*
 * What `marey bench` shows: a path of views. Deterministic: the same file, script, seed and number of frames give the
 * same views. Thread: the main thread.
 */
#ifndef MAREY_APP_ZOOM_SCRIPT_H
#define MAREY_APP_ZOOM_SCRIPT_H

#include <stdint.h>

#include "app/session.h"

typedef struct zoom_script {
    moment centre;    /* of the operator that is zoomed to */
    double narrow_ns; /* width of the view there */
    double wide_ns;   /* the whole run */
} zoom_script;

/** Choose one operator by the seed: an event of positive length in a random block, on a device where there is one. */
marey_status zoom_script_choose(zoom_script *z, session *s, uint64_t seed, diag *d);
/** The view of frame `i` of `n`: from the whole run to the operator in the first half, and back. The width goes
 * exponentially, as a steady hand on the wheel does it. */
void zoom_script_view(const zoom_script *z, session *s, uint64_t i, uint64_t n);

#endif
