/*
 * Bins of one row reduced to columns: the inner loop of a picture from tiles. A column with severity in it, or of more
 * than four bins, is left to the caller.
 *
 * There are two ways to the same cells, bit by bit: plain, and eight columns at a time by a plan, which is made once
 * per level and frame, where the processor has AVX2.
 */
#ifndef MAREY_SCENE_REDUCE_H
#define MAREY_SCENE_REDUCE_H

#include <stddef.h>
#include <stdint.h>

#include "scene/internal.h"

enum { REDUCE_SLACK = 32 }; /* cells after the last bin that may be read; what they hold does not matter */

typedef struct reduce_plan reduce_plan;

typedef struct reduce_job {
    const bin_range *ranges; /* [n], `first` ascending */
    const cache_cell *bins;  /* those of the ranges, and REDUCE_SLACK more */
    uint32_t n;
    uint16_t middle_weight; /* of every bin between two others, where there are two */
    draw_cell *cells;       /* out, [n] */
    uint32_t *mixed;        /* out, [n]: columns where bins of several classes meet, ascending */
    size_t n_mixed;
    uint32_t *hard; /* out, [n]: columns left to the caller, ascending; their cells are not to be used */
    size_t n_hard;
} reduce_job;

/** Lives as long as the arena's content. NULL: this processor has no use for it. */
const reduce_plan *reduce_plan_make(arena *a, const bin_range *ranges, uint32_t n, uint16_t middle_weight);

/** Any thread. `n_mixed` and `n_hard` are set, not added to. `plan`: of the same ranges; NULL: the plain way. */
void reduce_columns(reduce_job *job, const reduce_plan *plan);

#endif
