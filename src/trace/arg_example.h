/*
 * Inside trace/arg_shapes: an *example* is one text of a shape, kept whole. Another text of that shape is the same but
 * for some of its numbers, so that it is compared many bytes at a time, and only those numbers are read that differ;
 * its record is the example's with those put in. Which text is the example never shows in a result.
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
    uint32_t value; /* of a fixed one: the width, the number behind it */
    bool is_fixed, is_rest;
} arg_number;

struct arg_example {
    const arg_shape *shape;
    char *text; /* n bytes, and ARG_PAD_BYTES more */
    uint32_t n, cap;
    size_t n_most;       /* that a text of its shape can take */
    arg_number *numbers; /* n_numbers, and one behind them that begins nowhere */
    uint32_t n_numbers;
    bool is_wide;
    char *record; /* room for a wide one */
    uint32_t n_record;
    uint32_t wait, patience; /* texts that differ much to go, before one of them becomes the example */
};

/* ------------------------------------------------------------------ numbers */

enum { ARG_DIGITS_MAX = 18 };

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

/** As arg_taker_follow(), by the guesses for a kind alone. @return how much of it a shape covers */
size_t arg_taker_guess(arg_taker *t, const uint32_t *of_kind, const char *text, size_t n);
/** The text at hand is the latest of its kind, and of all. */
void arg_taker_note_met(arg_taker *t, uint32_t *of_kind);

#endif
