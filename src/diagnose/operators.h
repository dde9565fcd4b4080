/*
 * Operator instances: the same operator, by name and occurrence within the step, on ranks that do the same work; and
 * those whose start, end or duration lies far from their peers' (robust outliers: 0.6745 |x - median| / MAD > 3.5, and
 * by more than 10 us and 5 % of the median duration).
 *
 * Thread: any. Owner: the caller.
 */
#ifndef MAREY_DIAGNOSE_OPERATORS_H
#define MAREY_DIAGNOSE_OPERATORS_H

#include "base/thread.h"
#include "store/store.h"

typedef struct operator_event {
    int64_t start_ns, end_ns;
    uint32_t rank, name, occurrence;
} operator_event;

typedef enum operator_deviation { DEVIATES_DURATION, DEVIATES_START, DEVIATES_END } operator_deviation;

typedef struct operator_outlier {
    operator_event event;
    operator_deviation what;
    int64_t excess_ns; /* over the median; negative: early or short */
    int64_t median_ns; /* of the duration; of the lag behind the earliest start or end */
    double z;
    uint32_t n_peers;
} operator_outlier;

/** Sorts the events by instance. @return outliers, the largest excess of duration first, at most `cap`, to be freed */
operator_outlier *operator_outliers(operator_event *events, size_t n, size_t cap, size_t *n_outliers);

/** The compute events of these ranks that start in [t0, t1); to be freed. Errors: IO, FORMAT, CANCELLED. */
marey_status operator_events(store_file *f, const uint32_t *ranks, size_t n_ranks, int64_t t0_ns, int64_t t1_ns,
                             cancel_flag *cancel, operator_event **out, size_t *n, diag *d);

#endif
