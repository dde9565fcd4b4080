/*
 * Step functions of time: rates summed over what overlaps, and lengths of launch queues.
 * Thread: any. Owner: the caller.
 */
#ifndef MAREY_DIAGNOSE_SERIES_H
#define MAREY_DIAGNOSE_SERIES_H

#include <stddef.h>
#include <stdint.h>

typedef struct series_point {
    int64_t at_ns;
    double value; /* from at_ns to the next point */
} series_point;

typedef struct series_span {
    int64_t start_ns, end_ns;
    double amount; /* bytes */
} series_span;

/** Amount per ns over time: each span's amount is spread evenly over it, and spans add up only where they overlap. The
 * last point has the value 0. @return the points, to be freed */
series_point *series_rate(const series_span *spans, size_t n, size_t *n_points);

/** Launched less finished on one stream. A value below 0 means that a launch is missing or clocks are wrong; it is kept
 * and counted in *n_negative. @return the points, to be freed */
series_point *series_queue(const int64_t *launched_ns, size_t n_launched, const int64_t *finished_ns, size_t n_finished,
                           size_t *n_points, size_t *n_negative);

#endif
