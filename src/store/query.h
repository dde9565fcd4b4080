/*
 * Exact answers from the events: what a range of rows x time bins holds. To the nanosecond at any range and bin count;
 * memory bounded by the answer plus one block per worker.
 */
#ifndef MAREY_STORE_QUERY_H
#define MAREY_STORE_QUERY_H

#include "base/thread.h"
#include "store/store.h"

/* A row: the union of some tracks. */
typedef struct query_row {
    const uint32_t *tracks;
    size_t n_tracks;
} query_row;

/* One row x bins of answers; arrays of n_bins (share: n_bins x n_shares). Allocated by the query, freed by query_free.
 */
typedef struct query_result {
    int64_t *busy_ns;      /* union of the row's events inside the bin */
    uint64_t *count;       /* events that intersect the bin (a zero-length event intersects the bin of its start) */
    uint32_t *dominant;    /* the key with the largest share; NO_ID when nothing; ties: the lowest */
    int64_t *longest_ns;   /* whole duration of the longest event that intersects the bin; -1: none */
    uint64_t *longest_row; /* its row; UINT64_MAX */
    int64_t *share_ns;     /* [bin * n_shares + key]: union of the events of one key inside the bin */
    uint8_t *severity;     /* highest */
} query_result;

typedef enum query_key { KEY_CATEGORY, KEY_CLASS } query_key; /* what shares are by */

typedef struct query_grid {
    int64_t t0_ns, t1_ns;
    uint64_t n_bins; /* bin k covers [t0 + k(t1-t0)/n, t0 + (k+1)(t1-t0)/n), bounds rounded down */
    query_key key;
    const query_row *rows;
    size_t n_rows;
    cancel_flag *cancel;
} query_grid;

/** @param results  [n_rows], zeroed by the caller. Errors: RANGE (t1 <= t0, no bins, more than 2^24 cells in all), IO,
 *  FORMAT, CANCELLED. Thread: any. Cost: the events in the window, once. */
marey_status store_query(store_file *f, const query_grid *q, query_result *results, diag *d);
void query_free(query_result *results, size_t n);

/** Visit every event of the given tracks that meets [t0, t1), in file order. The visitor returns false to stop. */
typedef bool (*query_visit)(void *ctx, const store_event_info *e);
marey_status store_visit(store_file *f, const query_row *row, int64_t t0_ns, int64_t t1_ns, query_visit visit,
                         void *ctx, diag *d);

#endif
