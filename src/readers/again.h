/*
 * An input is read a second time to learn where in it some records stand: rows have no room for it, and what is wrong
 * with an event is often known only once all are read.
 */
#ifndef MAREY_READERS_AGAIN_H
#define MAREY_READERS_AGAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/thread.h"
#include "readers/run.h"
#include "trace/builder.h"

/* What one record of the input made. Read from the beginning, ids and order numbers are those of the first reading. */
typedef struct again_record {
    uint64_t offset;          /* of the record; of an interval's begin, where that is one of its own */
    uint64_t event, n_events; /* order number of the first event; counted from where reading began */
    int64_t start_ns;         /* of the last event */
    const trace_flow_in *flows;
    size_t n_flows;
    const trace_builder *builder;
} again_record;

/** @return false: it is enough */
typedef bool (*again_fn)(void *ctx, const again_record *record);

/**
 * Tell `fn` of each record that made events, flows or samples, in the order in which they were pushed.
 *
 * @param from  offset of a record to begin at; 0: the beginning
 * @return OK, also where `fn` had enough; UNSUPPORTED where records have no place: the source is joined from several
 * files, is no JSON, or can't be read twice (a pipe); or where it can't be read from within; CANCELLED; IO
 */
marey_status again_read(const run_source *s, uint64_t from, again_fn fn, void *ctx, cancel_flag *cancel);

#endif
