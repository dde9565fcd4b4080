/*
 * Sorted runs: the events of one source on their way from the builder to the store.
 *
 * Rows are added in pieces of any order; each piece is sorted and becomes a segment. Segments whose times follow each
 * other are linked into chains, so that a merge has to look at few chains at a time. A merge delivers the rows of any
 * number of sets in ascending order of start (the longer first, then the order of input).
 *
 * A row changes its meaning on the way: the reader's columns first; what the annotation found after it (see `run_row`).
 * Thread: a set belongs to one job at a time.
 */
#ifndef MAREY_CONVERT_RUN_H
#define MAREY_CONVERT_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"
#include "convert/scratch.h"
#include "trace/builder.h"

enum { RUN_ROWS = TRACE_CHUNK_EVENTS };

#define RUN_UNFINISHED_NS INT64_MAX /* duration of an event without an end, until the end of the recording is known */

/*
 * The builder's row, as it comes. What it says is the input's own clock, the source's thread and name, and a place in
 * the segment's arguments; `order` is its place in the segment as pushed. Annotated: `link` is the store's tag without
 * the source, `thread` the source's track, and `instance` and `klass` are set.
 */
typedef trace_row run_row;

typedef struct run_segment {
    uint64_t base; /* order number of the first row pushed */
    uint32_t n;
    uint32_t next; /* segment of the same chain, or NO_ID */
    run_row *rows; /* NULL: in the scratch file */
    char *args;    /* likewise; NULL where there are none */
    uint64_t rows_at, args_at;
    uint64_t args_bytes;
    uint64_t booked; /* bytes of the budget */
    run_row first, last;
} run_segment;

typedef struct run_chain {
    uint32_t head, tail;
} run_chain;

typedef struct run_set {
    scratch *scratch;
    run_segment *segments;
    run_chain *chains;
    size_t n_segments, cap_segments, n_chains, cap_chains;
    uint64_t n_rows;
    uint64_t *keys; /* for sorting; 2 * RUN_ROWS, kept between pieces */
    run_row *spare; /* RUN_ROWS, where pieces go to the scratch file */
} run_set;

void run_set_init(run_set *s, scratch *scratch);
void run_set_deinit(run_set *s);
/** Give back what only adding needs. */
void run_set_seal(run_set *s);

/**
 * Add a piece. `rows` is an array of at most RUN_ROWS, in the order of input (`order` is set here).
 * @param args  n_args bytes that the rows' args_at point into; copied. NULL: no row has any
 */
marey_status run_set_add(run_set *s, const run_row *rows, size_t n, const char *args, size_t n_args, diag *d);

/** Ascending by (start, longer first). */
bool run_row_before(const run_row *a, const run_row *b);

/* ------------------------------------------------------------------ merging */

/* From a source's clock to the common one; never makes a later time an earlier one. */
typedef int64_t (*run_clock)(const void *ctx, int64_t t_ns);

typedef struct run_cursor {
    run_set *set;
    uint32_t source; /* what the caller gave */
    uint32_t segment;
    run_row *row;   /* the current one */
    run_row *end;   /* behind the last that is in memory */
    int64_t key_ns; /* the current one's start on the common clock */
    run_clock clock;
    const void *clock_ctx;
    run_row *buffer; /* of a segment in the scratch file */
    uint32_t buffer_first, buffer_n, buffer_cap;
    char *args; /* window of arguments */
    uint64_t args_first;
    size_t args_n, args_cap;
} run_cursor;

typedef struct run_place {
    int64_t key_ns; /* the cursor's */
    uint32_t cursor;
} run_place;

typedef struct run_merge {
    run_cursor *cursors;
    run_place *heap; /* the least first */
    size_t n_cursors, cap_cursors, n_heap;
    int64_t rival_ns; /* the least key behind the first; INT64_MAX: there is none */
    bool write_back;
    uint32_t buffer_rows;
} run_merge;

/** @param write_back  rows are changed by the caller and stay so */
void run_merge_init(run_merge *m, bool write_back);
void run_merge_deinit(run_merge *m);
/** Take part. The set must not change until the end. @param clock  how its times compare with the others'; NULL: as
 * they are */
void run_merge_add(run_merge *m, run_set *set, uint32_t source, run_clock clock, const void *clock_ctx);
marey_status run_merge_start(run_merge *m, diag *d);
/** The cursor whose row is next, or NULL at the end. */
static inline run_cursor *run_merge_top(const run_merge *m)
{
    return m->n_heap ? &m->cursors[m->heap[0].cursor] : NULL;
}
/* The rest of run_merge_next(), where the top may have to give way, or has no more rows in memory. */
marey_status run_merge_turn(run_merge *m, diag *d);
static inline void run_cursor_set_key(run_cursor *c)
{
    c->key_ns = c->clock ? c->clock(c->clock_ctx, c->row->start_ns) : c->row->start_ns;
}
/** Go on behind the top row. Mostly the next one is of the same chain: what a trace logs together happened together. */
static inline marey_status run_merge_next(run_merge *m, diag *d)
{
    run_cursor *c = &m->cursors[m->heap[0].cursor];
    if (++c->row == c->end) {
        return run_merge_turn(m, d);
    }
    run_cursor_set_key(c);
    return c->key_ns < m->rival_ns ? MAREY_OK : run_merge_turn(m, d);
}
/** Order number of the cursor's row in its source. */
static inline uint64_t run_cursor_order(const run_cursor *c)
{
    return c->set->segments[c->segment].base + c->row->order;
}
/** The row's arguments; valid until the next call on this merge. */
marey_status run_cursor_args(run_cursor *c, const char **args, diag *d);

#endif
