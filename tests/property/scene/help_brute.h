/* What a row's columns hold, by looking at every event: the truth that rasters are held against. */
#ifndef TESTS_PROPERTY_SCENE_BRUTE_H
#define TESTS_PROPERTY_SCENE_BRUTE_H

#include "help/small_run.h"
#include "scene/internal.h"

typedef struct brute_column {
    uint64_t count;            /* events that meet it */
    double busy;               /* share of the union */
    double share[CLASS_COUNT]; /* likewise, of each class */
    bool touches[CLASS_COUNT];
    uint8_t severity;
} brute_column;

/* The columns of the grid, as its contract says: in integers. */
void brute_columns(const small_run *r, const uint32_t *tracks, uint32_t n_tracks, const time_grid *g,
                   brute_column *out);
/** The class with the most time; ties: the lowest; CELL_EMPTY: none. *margin: its lead over the next. */
uint8_t brute_class(const brute_column *c, double *margin);
/** Does any event of the tracks meet [t0, t1)? A zero-length event meets the interval that holds its start. */
bool brute_any(const small_run *r, const uint32_t *tracks, uint32_t n_tracks, double t0, double t1);

/* A random run: ranks of two device lanes (disjoint events each; the lanes overlap, also in one class) and a CPU lane
 * of nested depth 3, with zero-length events, long ones, gaps, severities. */
void brute_random_run(small_run *r, prng *p, uint32_t n_ranks, uint32_t per_track, int64_t mean_ns);

#endif
