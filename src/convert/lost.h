/*
 * Losses that are found once all is read: what was the first of them, so that its place in the input can be looked up.
 * Rows keep no offset; where there is such a loss, a part of the input is read again: from a place on that was noted
 * while it was read, or where flows are looked for from its beginning, up to the first such record.
 * Internal to the room. Thread: a source's belong to the job that has the source.
 */
#ifndef MAREY_CONVERT_LOST_H
#define MAREY_CONVERT_LOST_H

#include <stdint.h>

#include "base/diag.h"
#include "base/hash.h"
#include "convert/sorter.h"

typedef enum lost_kind {
    LOST_OVERLAP,
    LOST_LINK,
    LOST_FAR,
    LOST_OVERFLOW,
    LOST_MARK,  /* no flow can bind to it any more */
    LOST_EVENT, /* its lane is full */
    LOST_CLIPPED,
    LOST_EVENT_KINDS,
    LOST_FLOW = LOST_EVENT_KINDS, /* outside any event */
    LOST_END,                     /* of a flow, without a start */
    LOST_FLOWS_END,
    LOST_SAMPLE = LOST_FLOWS_END, /* of a counter, outside the run */
    LOST_KINDS
} lost_kind;

enum { LOST_FLOWS_MAX = 65536 }; /* of more the first of these is looked for */

/* Once the record at this offset was read, so many events were there. */
typedef struct lost_mark {
    uint64_t at, n_events;
} lost_mark;

typedef struct lost_first {
    uint64_t number;  /* order number of the first event + 1; 0: there is none */
    int64_t start_ns; /* of the event */
} lost_first;

typedef struct lost_records {
    lost_mark *marks;
    size_t n_marks, cap_marks;
    uint64_t mark_bytes; /* from one to the next, at least; 0: not begun */
    lost_first first[LOST_EVENT_KINDS];
    map64 flows[LOST_FLOWS_END - LOST_EVENT_KINDS];
    bool has_samples;
} lost_records;

struct source;
struct conversion;

void lost_deinit(lost_records *l);
/** While the source is read: as trace_builder.mark, with the builder as context's. @return where the next one is due */
uint64_t lost_note(lost_records *l, uint64_t offset, uint64_t n_events);
/** The event of this order number is one. */
void lost_event(struct source *s, lost_kind kind, uint64_t order, int64_t start_ns);
/** A point of a flow is one: LOST_FLOW as it came from source.flows, LOST_END as in flow_moment(). */
void lost_flow(struct source *s, lost_kind kind, const sort_record *point);
/** So many samples of its counters lie outside the run. */
void lost_samples(struct source *s, uint64_t n);
/** Count them; their place is found by lost_find(). */
void lost_count(struct source *s, lost_kind kind, uint64_t n);
/** The places of all that were counted so far into the sources' diags, where the inputs have such. Errors: CANCELLED */
marey_status lost_find(struct conversion *c);

#endif
