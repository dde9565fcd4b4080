/*
 * A file that marey wrote: what is inside, its events, exact sums over ranges of time.
 *
 * Thread: one thread at a time per file. Owner: the caller.
 */
#ifndef MAREY_TRACEFILE_H
#define MAREY_TRACEFILE_H

#include <stddef.h>

#include <marey/status.h>
#include <marey/trace.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct marey_file marey_file;

/** Errors: IO; FORMAT (not HDF5, not marey's, damaged); VERSION. On failure *out is NULL. Cost: does not depend on the
 * number of events. */
MAREY_API marey_status marey_file_open(marey_file **out, const char *path, char *message, size_t cap);
/** Nulls the handle; NULL is allowed. */
MAREY_API void marey_file_close(marey_file **f);

MAREY_API marey_run_info marey_file_info(const marey_file *f);
/** @param index  0 .. n_ranks - 1, in the file's order. @return false: there is none */
MAREY_API bool marey_file_rank(const marey_file *f, uint64_t index, marey_rank *out);

/** The visitor returns false to stop. `event` lives for the call, its strings as long as the file. */
typedef bool (*marey_event_visitor)(void *ctx, const marey_event *event);
/** All events of a rank (by index) that meet [t0, t1), of all its lanes but the derived ones, in the file's order: by
 * start within a nesting depth of a lane. Errors: RANGE (no such rank, t1 <= t0), IO, FORMAT. Cost: the events of the
 * rank's 64 neighbours in the window. */
MAREY_API marey_status marey_file_events(marey_file *f, uint64_t rank_index, int64_t t0_ns, int64_t t1_ns,
                                         marey_event_visitor visit, void *ctx, char *message, size_t cap);
/** Exact sums of what a rank's row shows (its device, else its CPU threads) in n_bins equal parts of [t0, t1): part k
 * begins at t0 + k (t1 - t0) / n_bins, rounded down. @param out  [n_bins]. Errors: RANGE (no such rank, t1 <= t0, no
 * bins or more than 2^24), IO, FORMAT. */
MAREY_API marey_status marey_file_grid(marey_file *f, uint64_t rank_index, int64_t t0_ns, int64_t t1_ns,
                                       uint64_t n_bins, marey_cell *out, char *message, size_t cap);

#ifdef __cplusplus
}
#endif

#endif
