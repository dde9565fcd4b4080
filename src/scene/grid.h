/*
 * A window of time as n columns of equal length: column i covers [t0 + i * span / n, t0 + (i + 1) * span / n), exactly.
 * Which column holds a nanosecond is decided in integers wherever a product of doubles could be on either side of an
 * edge; lengths inside the window are doubles, counted from its beginning.
 */
#ifndef MAREY_SCENE_GRID_H
#define MAREY_SCENE_GRID_H

#include "scene/moment.h"

/* What events are searched by, for a range of moments [a, b): one meets it when it starts before `end_ns` and ends
 * after `floor_ns`, or is a point at or after `ceil_ns`. */
typedef struct event_window {
    int64_t floor_ns, ceil_ns; /* of a */
    int64_t end_ns;            /* of b, rounded up */
} event_window;

typedef struct time_grid {
    moment t0;
    fine_ns span;
    double part_ns;          /* of t0, below 1 */
    double step_ns, inverse; /* a column's length, and 1 / that */
    uint32_t n;              /* up to 2^20 */
} time_grid;

/** @pre t1 > t0, n > 0 */
time_grid grid_make(moment t0, moment t1, uint32_t n);
/** n bins as columns. */
time_grid grid_of_bins(int64_t first_ns, int64_t bin_ns, uint32_t n);
/** Where a column begins, in ns after t0. */
static inline double time_edge(const time_grid *g, int64_t column)
{
    return (double)column * g->step_ns;
}
/** ns after t0, rounded once. */
static inline double since_begin(const time_grid *g, int64_t t_ns)
{
    return (double)(t_ns - g->t0.ns) - g->part_ns;
}
/** The edge as nanoseconds of the run, rounded down and up. */
int64_t edge_floor_ns(const time_grid *g, int64_t column);
int64_t edge_ceil_ns(const time_grid *g, int64_t column);
/** The moment so many columns after t0. */
moment grid_moment(const time_grid *g, double columns);

event_window window_between(moment a, moment b);
event_window window_of_grid(const time_grid *g);
event_window window_of_columns(const time_grid *g, int64_t from, int64_t to);

/* The column that holds t, near an edge: that side of it which integers say. `at_edge`: what an exact hit counts as. */
int64_t column_near_edge(const time_grid *g, int64_t t_ns, int64_t edge, int64_t at_edge);

static inline int64_t column_from(const time_grid *g, int64_t t_ns, bool before)
{
    const double near = 0x1p-30; /* x is exact to 2^-33 for 2^20 columns */
    double x = since_begin(g, t_ns) * g->inverse;
    if (!(x >= -1 && x < (double)g->n + 1)) {
        return x < 0 ? -2 : (int64_t)g->n + 1; /* far out: only the side matters */
    }
    int64_t column = (int64_t)x - (x < 0); /* -1.0 gives -2, which the edge puts right */
    double inside = x - (double)column;
    if (inside > near && inside < 1 - near) {
        return column;
    }
    int64_t edge = inside > 0.5 ? column + 1 : column;
    return column_near_edge(g, t_ns, edge, before ? edge - 1 : edge);
}

/** Column that holds t; may be outside of [0, n). */
static inline int64_t column_of(const time_grid *g, int64_t t_ns)
{
    return column_from(g, t_ns, false);
}

/** The last column that [start, end) meets; of a point its own. */
static inline int64_t last_column_of(const time_grid *g, int64_t start_ns, int64_t end_ns)
{
    return column_from(g, end_ns, end_ns > start_ns);
}

/* Where an edge lies among bins of bin_ns that are counted from `first_bin`: floor, and whether it is a bin's edge. */
typedef struct bin_edge {
    int64_t bin;
    bool is_exact;
} bin_edge;
/** The bin that holds t0. */
int64_t bin_of_begin(const time_grid *g, int64_t bin_ns);
bin_edge bin_of_edge(const time_grid *g, int64_t column, int64_t bin_ns, int64_t first_bin);

#endif
