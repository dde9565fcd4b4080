/*
 * Inside trace/arg_shapes: an *example* is one text of a shape, kept whole. Another text of that shape is the same but
 * for some of its numbers, so that it is compared many bytes at a time, and only those numbers are read that differ;
 * its record is the example's with those put in. Those that differ often are read in any case: they are *steps*, and
 * what lies between two of them has a length that is known. Which text is the example never shows in a result, nor
 * which numbers are steps.
 */
#ifndef MAREY_TRACE_ARG_EXAMPLE_H
#define MAREY_TRACE_ARG_EXAMPLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/digits.h"
#include "trace/arg_shapes.h"

/* A number of the example: where its digits are, and which value of the record it is. */
typedef struct arg_number {
    uint32_t from, to;
    uint32_t value;    /* of a fixed one: the width, the number behind it */
    uint32_t n_differ; /* texts where it was found to differ; kept when the example's text changes */
    bool is_fixed, is_rest, is_step;
} arg_number;

/* A number that is read in any text. */
typedef struct arg_step {
    const char *text;   /* of the example, where the step before ended: at `at` */
    uint32_t at, n;     /* and the bytes from there on to this one */
    uint32_t last_bits; /* a bit for each of those of the last 32 or less */
    uint32_t digits;    /* of the example */
    uint32_t stride;    /* n and those */
    uint32_t number;    /* which one it is */
    uint32_t value;     /* as arg_number has it, and is_fixed and is_rest */
    uint64_t limit;     /* numbers below are plain; 0: it is fixed, a rest, or the example is wide */
    bool is_fixed, is_rest;
} arg_step;

struct arg_example {
    /* what is looked at for each text */
    char *text;      /* n bytes, and ARG_PAD_BYTES more */
    arg_step *steps; /* n_steps, and one behind them for the end of the text */
    char *record;    /* room for a wide one, and ARG_RECORD_FIRST more */
    uint32_t n_steps;
    uint32_t n_record;
    uint32_t n_most;         /* that a text of its shape can take */
    uint32_t n_tries;        /* texts that were compared with it */
    uint32_t wait, patience; /* texts that differ much to go, before one of them becomes the example */
    bool is_wide;
    /* the rest */
    const arg_shape *shape;
    uint32_t n, cap;
    arg_number *numbers; /* n_numbers, and one behind them that begins nowhere */
    uint32_t n_numbers;
};

/* ------------------------------------------------------------------ numbers */

enum {
    ARG_DIGITS_MAX = 18,
    ARG_RECORD_FIRST = 64 /* bytes of a record that are copied in any case: of most they are all */
};

static inline bool arg_is_digit(char c)
{
    return (unsigned char)(c - '0') < 10;
}

/* How many of the 8 bytes are digits before the first that is none. `v`: the bytes less '0' each. */
static inline unsigned arg_leading_digits(uint64_t v)
{
    const uint64_t tops = 0x8080808080808080U;
    uint64_t other = ((v & ~tops) + 0x7676767676767676U) | v; /* the top bit of each byte that is above 9 */
    other &= tops;
    return other ? (unsigned)__builtin_ctzll(other) / 8 : 8;
}

/* The number of up to 8 digits, the first in the lowest byte; those missing count as zeros in front. */
static inline uint64_t arg_join_digits(uint64_t v, unsigned n)
{
    return digits_join(n < 8 ? v << (64 - 8 * n) : v);
}

/** As arg_read_digits(), behind 8 digits that make `*value`. @return how many in all */
unsigned arg_read_more_digits(const char *s, uint64_t *value);

/** Up to ARG_DIGITS_MAX digits from `s` on, at least one is there; 24 bytes must be readable. @return how many */
static inline unsigned arg_read_digits(const char *s, uint64_t *value)
{
    uint64_t v = digits_load(s) ^ 0x3030303030303030U;
    unsigned n = arg_leading_digits(v);
    *value = arg_join_digits(v, n);
    return n < 8 ? n : arg_read_more_digits(s, value);
}

/* ------------------------------------------------------------------ examples */

/** Of a text, n bytes of that shape, with ARG_PAD_BYTES readable behind them. */
arg_example *arg_example_create(const arg_shape *shape, const char *text, size_t n);
void arg_example_destroy(arg_example **x);
/** Bytes of memory, to keep within a bound. */
size_t arg_example_bytes(const arg_example *x);

/** The text at hand is the latest of its kind, and of all. */
void arg_taker_note_met(arg_taker *t, uint32_t kind);

#endif
