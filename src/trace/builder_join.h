/*
 * One builder's content into another's: what several threads read of one input comes together so, as if one builder had
 * been given all of it in that order. Numbers of processes, threads, strings and names of the one become those of the
 * other; shapes of arguments are shared by both builders' takers.
 *
 * Thread: one at a time, which both builders belong to meanwhile. Owner of a trace_join: the caller.
 */
#ifndef MAREY_TRACE_BUILDER_JOIN_H
#define MAREY_TRACE_BUILDER_JOIN_H

#include "trace/builder.h"

/* A growing table: from a number of the one builder to that of the other. */
typedef struct trace_join_ids {
    uint32_t *to;
    size_t n, cap;
} trace_join_ids;

/* Zero is ready for use; it belongs to the same two builders all the time. */
typedef struct trace_join {
    trace_join_ids processes, threads, strings, names;
    size_t n_odd;         /* of `from`, met */
    uint64_t n_rows;      /* taken since trace_join_begin() */
    size_t n_collectives; /* likewise */
} trace_join;

void trace_join_deinit(trace_join *j);
/** Before rows are taken: what `from` has learned since the last time gets its numbers in `to`, in the same order. */
void trace_join_begin(trace_join *j, trace_builder *to, const trace_builder *from);
/** Rows [first, first + n) of a chunk of `from`, whose rows are taken in the order in which they were pushed, and their
 * collectives. Errors: what to->flush returns. */
marey_status trace_join_rows(trace_join *j, trace_builder *to, const trace_builder *from, const trace_chunk *chunk,
                             size_t first, size_t n);
/** Flows and samples; after the rows. `from` is empty then, but for what it has learned. */
void trace_join_end(trace_join *j, trace_builder *to, trace_builder *from);

/** The number in `to`; NO_ID stays. */
static inline uint32_t trace_join_id(const trace_join_ids *ids, uint32_t from)
{
    return from < ids->n ? ids->to[from] : UINT32_MAX;
}

#endif
