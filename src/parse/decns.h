/*
 * Exact decimal text to integers. Chrome traces give times in microseconds with decimals; a double cannot hold them
 * (1736405443862052.240 us), so they are read digit by digit and rounded half to even at the nanosecond.
 * All functions read exactly [s, s + n). Thread: any.
 */
#ifndef MAREY_PARSE_DECNS_H
#define MAREY_PARSE_DECNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { DECNS_PAD_BYTES = 16 };

typedef enum decns_result {
    DECNS_OK,
    DECNS_BAD,     /* no number: empty, null, NaN, Infinity, other text */
    DECNS_OVERFLOW /* beyond 64-bit nanoseconds */
} decns_result;

/** Microseconds in decimal text (sign, fraction, exponent) to ns. INT64_MIN never comes out: it means a missing time.
 */
decns_result decns_parse_us(const char *s, size_t n, int64_t *ns);

/** The same where DECNS_PAD_BYTES from `s` on may be read, whatever n is: what profilers write takes a few steps. */
decns_result decns_parse_us_padded(const char *s, size_t n, int64_t *ns);

/** As if the processor had no more than all have; for tests. */
decns_result decns_parse_us_padded_any(const char *s, size_t n, int64_t *ns);

/** An integer in decimal, or hexadecimal after 0x. @return false when it is none or does not fit */
bool decns_parse_u64(const char *s, size_t n, uint64_t *value);
/** The same where DECNS_PAD_BYTES from `s` on may be read, whatever n is. */
bool decns_parse_u64_padded(const char *s, size_t n, uint64_t *value);
/** A signed decimal integer; a fraction of zeros is accepted ("3.0"). */
bool decns_parse_i64(const char *s, size_t n, int64_t *value);
/** A decimal number as a double. @return false for NaN, Infinity and text */
bool decns_parse_double(const char *s, size_t n, double *value);

#endif
