/*
 * Where the time of each rank went in a window: every instant belongs to one class, so the classes of a rank add up to
 * the union of its device's events (of its threads' outermost ones, where it has no device). Where several classes run
 * at once, computing comes before communication and communication before copies (the order of trace_class): what is
 * left of communication is what nothing hides.
 *
 * Thread: any. Owner: the caller.
 */
#ifndef MAREY_APP_RANK_TIME_H
#define MAREY_APP_RANK_TIME_H

#include "base/thread.h"
#include "store/store.h"

/* More events than this are not summed; the picture says so. */
#define RANK_TIME_MAX_EVENTS UINT64_C(12000000)

typedef struct rank_window {
    int64_t t0_ns, t1_ns; /* t1 <= t0: the rank has none */
} rank_window;

typedef struct rank_time {
    int64_t class_ns[CLASS_COUNT];
    int64_t busy_ns; /* their sum: the union */
} rank_time;

/** Events of the blocks that meet the windows: an upper bound, found without reading them. */
uint64_t rank_time_count(store_file *f, const rank_window *windows);
/** @param windows, out  [n_ranks] of the model. Errors: IO, FORMAT, CANCELLED. */
marey_status rank_time_sum(store_file *f, const rank_window *windows, rank_time *out, cancel_flag *cancel, diag *d);
/** Windows of the step with this index on every rank; of the whole range where `t1_ns` > `t0_ns`. */
void rank_windows_of_step(const trace_model *m, int64_t index, rank_window *out);
void rank_windows_of_range(const trace_model *m, int64_t t0_ns, int64_t t1_ns, rank_window *out);

#endif
