/*
 * Blocks of deflate in which nothing repeats but runs of one byte: planes of cells and of numbers. Their bytes become
 * tokens, literals and runs, all of one kind, so that neither finding nor counting nor writing them jumps from byte to
 * byte. Thread: one at a time per deflate_runs.
 */
#ifndef MAREY_STORE_DEFLATE_RUNS_H
#define MAREY_STORE_DEFLATE_RUNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/deflate_codes.h"

enum {
    RUNS_SLICE = 16384,                           /* bytes that are looked at together; runs end with them */
    RUNS_BLOCK = 3 * RUNS_SLICE,                  /* tokens that share their codes */
    RUNS_PAD = 64,                                /* tokens behind them that may be overwritten */
    RUNS_MOST_LONG = 2048,                        /* of a block: runs longer than one match */
    RUNS_LENGTHS = 256,                           /* token of a run of length n: RUNS_LENGTHS + n */
    RUNS_LONG = RUNS_LENGTHS + MATCH_LONGEST + 1, /* one that stands in `longs` */
    RUNS_TOKENS = RUNS_LONG + 1
};

typedef struct long_run {
    uint32_t token; /* its place */
    uint32_t length;
} long_run;

typedef struct deflate_runs {
    uint16_t tokens[RUNS_BLOCK + RUNS_PAD];
    size_t n_tokens;
    long_run longs[RUNS_MOST_LONG];
    size_t n_longs;
    bool is_wide;
} deflate_runs;

/** is_wide: by the registers that the processor has; false: by those that all have. */
void deflate_runs_init(deflate_runs *r, bool is_wide);

/** Is the block so full that another slice, or a run, might not fit? Then it is to be ended first. */
static inline bool deflate_runs_is_full(const deflate_runs *r)
{
    return r->n_tokens > RUNS_BLOCK - RUNS_SLICE || r->n_longs > RUNS_MOST_LONG - RUNS_SLICE / MATCH_LONGEST - 2;
}

/** The n bytes at p, at most RUNS_SLICE. has_front: the byte in front of them is in memory, and is what the stream has
 * there. */
void deflate_runs_add(deflate_runs *r, const uint8_t *p, size_t n, bool has_front);

/** n zeros, at least MATCH_SHORTEST + 1. follows: the byte in front of them is a zero, too. */
void deflate_runs_add_zeros(deflate_runs *r, size_t n, bool follows);

/* By token: a literal's code, or all that is put for a run. */
typedef struct deflate_runs_codes {
    code litlen[N_LITLEN], dist[N_DIST];
    code tokens[RUNS_TOKENS];
} deflate_runs_codes;
/** Codes for the tokens so far. @return bytes that the block takes at most */
size_t deflate_runs_make_codes(const deflate_runs *r, const length_table *lengths, deflate_runs_codes *c);

/** Write the block; there is room for it. No tokens are left. */
void deflate_runs_put(deflate_runs *r, const deflate_runs_codes *c, bit_writer *w, bool is_last);

#endif
