/*
 * Exact statistics of a time range: by name over some rows, and the breakdown of ranks.
 * Memory: 24 bytes an event in the range. Thread: any. Owner: the caller.
 */
#ifndef MAREY_DIAGNOSE_STATS_H
#define MAREY_DIAGNOSE_STATS_H

#include "diagnose/breakdown.h"
#include "store/query.h"

typedef struct name_stats {
    uint32_t name;
    uint64_t count;                 /* events that meet the range (a point meets it where it lies inside) */
    int64_t union_ns, sum_ns;       /* inside the range */
    int64_t p50_ns, p99_ns, max_ns; /* of whole durations; percentiles by nearest rank */
    double mean_ns, sigma_ns;       /* of whole durations; sigma over the population */
} name_stats;

typedef struct range_stats {
    uint64_t count;
    int64_t union_ns, sum_ns;
    name_stats *names; /* the largest union first */
    size_t n_names;
} range_stats;

/** @param row  all tracks that count. Errors: RANGE (t1 <= t0), LIMIT (over 64 M events), IO, FORMAT, CANCELLED. */
marey_status stats_names(store_file *f, const query_row *row, int64_t t0_ns, int64_t t1_ns, cancel_flag *cancel,
                         range_stats *out, diag *d);
void range_stats_free(range_stats *s);

/** One window [t0, t1) per rank. @param out  [n] of the ranks given by index, ascending */
marey_status stats_breakdown(store_file *f, const uint32_t *ranks, size_t n, int64_t t0_ns, int64_t t1_ns,
                             cancel_flag *cancel, rank_step *out, diag *d);

#endif
