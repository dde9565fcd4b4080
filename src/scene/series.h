/*
 * A value over time that holds from one sample to the next, with the lowest and highest value of any range in a time
 * that grows with the logarithm of the samples: what a line of one pixel a column is drawn from.
 *
 * Owner: the caller. Thread: any, once it is made.
 */
#ifndef MAREY_SCENE_SERIES_H
#define MAREY_SCENE_SERIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "scene/grid.h"

enum { SERIES_FAN = 16, SERIES_LEVELS = 16 };

typedef struct step_series {
    int64_t *t_ns; /* [n] ascending: v[i] holds in [t_ns[i], t_ns[i + 1]) */
    double *v;     /* [n] finite */
    size_t n;
    double most; /* of all; 0 where there are none */
    /* level k >= 1: lowest and highest of SERIES_FAN neighbours of the level before */
    double *low, *high;
    size_t level_first[SERIES_LEVELS], level_n[SERIES_LEVELS];
    int n_levels;
} step_series;

/** Takes both arrays [n], which free() will get. */
void series_make(step_series *s, int64_t *t_ns, double *v, size_t n);
void series_deinit(step_series *s);
/** What holds anywhere in the window. @return false where nothing does: before the first sample */
bool series_range(const step_series *s, event_window w, double *low, double *high);
/** Bytes that it takes. */
size_t series_bytes(const step_series *s);

#endif
