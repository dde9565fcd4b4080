/*
 * Sorted runs: the events of one source on their way from the builder to the store.
 *
 * Rows are added in pieces of any order. Pieces that stay in memory lie there as they came; up to RUN_PIECES of them
 * are sorted together, by their places only, and make a segment. A piece that finds no room is sorted by itself and
 * goes to the scratch file, a segment too. Segments whose times follow each other are linked into chains, so that a
 * merge has to look at few chains at a time. A merge delivers the rows of any number of sets in ascending order of
 * start (the longer first, then the order of input).
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

enum { RUN_ROWS = TRACE_CHUNK_EVENTS, RUN_PIECES = 32 };

#define RUN_UNFINISHED_NS INT64_MAX /* duration of an event without an end, until the end of the recording is known */

/*
 * The builder's row, as it comes. What it says is the input's own clock, the source's thread and name, and a place in
 * the piece's arguments. Annotated: `link` is the store's tag without the source, `thread` the source's track, and
 * `instance` and `klass` are set. `order`: in the scratch file, its place in the piece as pushed.
 */
typedef trace_row run_row;

typedef struct run_piece {
    run_row *rows;   /* as pushed */
    char *args;      /* NULL where there are none */
    uint64_t base;   /* order number of the first row */
    uint64_t booked; /* bytes of the budget */
    uint32_t n;
} run_piece;

typedef struct run_segment {
    uint32_t n;
    uint32_t next;    /* segment of the same chain, or NO_ID */
    uint32_t *places; /* [n] of the rows in ascending order: piece * RUN_ROWS + row. NULL: in the scratch file */
    run_piece *pieces;
    uint32_t n_pieces;
    /* of one in the scratch file: */
    uint64_t base; /* order number of the first row pushed */
    uint64_t rows_at, args_at;
    uint64_t args_bytes;
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
    run_piece *open; /* in memory, of no segment yet */
    size_t n_open, cap_open;
    uint64_t *keys; /* for sorting pieces that go to the scratch file; kept between them */
    run_row *spare; /* RUN_ROWS, likewise */
} run_set;

void run_set_init(run_set *s, scratch *scratch);
void run_set_deinit(run_set *s);
/** No more pieces come; before any merge. */
void run_set_seal(run_set *s);

/* What the rows of a piece point into: n bytes, and ARG_RECORD_PAD_BYTES where there are some, in an allocation of cap.
 */
typedef struct run_args {
    char *text; /* NULL: no row has any */
    size_t n, cap;
} run_args;

/**
 * Add a piece. *rows is an array of at most RUN_ROWS, in the order of input. Where the set keeps it, *rows is NULL
 * afterwards, and likewise args->text.
 */
marey_status run_set_add(run_set *s, run_row **rows, size_t n, run_args *args, diag *d);

/** Ascending by (start, longer first). */
bool run_row_before(const run_row *a, const run_row *b);

/* ------------------------------------------------------------------ merging */

/* From a source's clock to the common one; never makes a later time an earlier one. */
typedef int64_t (*run_clock)(const void *ctx, int64_t t_ns);

typedef struct run_cursor {
    run_row *row;            /* the current one */
    int64_t key_ns;          /* its start on the common clock */
    const uint32_t *at;      /* its place */
    const uint32_t *end;     /* behind the last that is in memory */
    const run_piece *piece;  /* that the row is in */
    const run_piece *pieces; /* that the places mean */
    int64_t shift_ns;        /* where there is no clock: added to starts */
    run_clock clock;
    const void *clock_ctx;
    run_set *set;
    uint32_t source; /* what the caller gave */
    uint32_t segment;
    run_piece window; /* of a segment in the scratch file; its first row is row `window_at` of the segment */
    uint32_t window_at, window_cap;
    char *args; /* window of arguments */
    uint64_t args_first;
    size_t args_n, args_cap;
} run_cursor;

typedef struct run_place {
    int64_t key_ns; /* the cursor's */
    uint32_t cursor;
} run_place;

typedef struct run_merge {
    run_cursor *top;  /* of the next row; NULL: there is none */
    int64_t rival_ns; /* the least key behind it; INT64_MAX: there is none */
    run_cursor *cursors;
    run_place *heap; /* the least first */
    size_t n_cursors, cap_cursors, n_heap;
    uint32_t *in_order; /* places of a window's rows */
    uint32_t window_rows;
    bool write_back;
} run_merge;

/** @param write_back  rows are changed by the caller and stay so */
void run_merge_init(run_merge *m, bool write_back);
void run_merge_deinit(run_merge *m);
/**
 * Take part. The set is sealed and must not change until the end. Its times compare with the others' by `clock`, or
 * where that is NULL with `shift_ns` added (saturating).
 */
void run_merge_add(run_merge *m, run_set *set, uint32_t source, run_clock clock, const void *clock_ctx,
                   int64_t shift_ns);
marey_status run_merge_start(run_merge *m, diag *d);
/** The cursor whose row is next, or NULL at the end. */
static inline run_cursor *run_merge_top(const run_merge *m)
{
    return m->top;
}
/* The rest of run_merge_next(), where the top may have to give way, or has no more rows in memory. */
marey_status run_merge_turn(run_merge *m, diag *d);
static inline run_row *run_row_at(const run_piece *pieces, uint32_t place)
{
    return pieces[place / RUN_ROWS].rows + place % RUN_ROWS;
}
/** The row's end; no later than its start where that does not fit. */
static inline int64_t run_row_end(const run_row *row)
{
    return (int64_t)((uint64_t)row->start_ns + (uint64_t)row->dur_ns);
}
/* Makes the row at the cursor's place its current one. */
static inline void run_cursor_look(run_cursor *c)
{
    c->piece = &c->pieces[*c->at / RUN_ROWS];
    c->row = run_row_at(c->pieces, *c->at);
}
/** The current row's start on the common clock. */
static inline int64_t run_cursor_key(const run_cursor *c)
{
    int64_t key_ns = 0;
    if (c->clock) {
        key_ns = c->clock(c->clock_ctx, c->row->start_ns);
    } else if (__builtin_add_overflow(c->row->start_ns, c->shift_ns, &key_ns)) {
        key_ns = c->shift_ns > 0 ? INT64_MAX : INT64_MIN;
    }
    return key_ns;
}
/** Go on behind the top row. Mostly the next one is of the same chain: what a trace logs together happened together. */
static inline marey_status run_merge_next(run_merge *m, diag *d)
{
    run_cursor *c = m->top;
    if (++c->at == c->end) {
        return run_merge_turn(m, d);
    }
    run_cursor_look(c);
    if (m->n_heap == 1) {
        return MAREY_OK; /* there is nobody to give way to */
    }
    c->key_ns = run_cursor_key(c);
    return c->key_ns < m->rival_ns ? MAREY_OK : run_merge_turn(m, d);
}
/** Is the row in memory, where it and its arguments stay until the merge ends? */
static inline bool run_cursor_is_kept(const run_cursor *c)
{
    return c->piece != &c->window;
}
/** Order number of the cursor's row in its source. */
static inline uint64_t run_cursor_order(const run_cursor *c)
{
    return c->piece->base + (run_cursor_is_kept(c) ? *c->at % RUN_ROWS : c->row->order);
}
/* The same where the row lies in the scratch file. */
marey_status run_cursor_read_args(run_cursor *c, const char **args, diag *d);
/** The row's arguments, ARG_RECORD_PAD_BYTES readable bytes behind them; valid until the next call on this
 * merge, and longer where the row is kept. */
static inline marey_status run_cursor_args(run_cursor *c, const char **args, diag *d)
{
    if (c->row->args_len == 0) {
        *args = NULL;
        return MAREY_OK;
    }
    if (!run_cursor_is_kept(c)) {
        return run_cursor_read_args(c, args, d);
    }
    *args = c->piece->args + c->row->args_at;
    return MAREY_OK;
}

#endif
