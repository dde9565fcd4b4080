/*
 * Structure bitmaps of JSON text: one SIMD pass that tells where the tokens are, so that the walker never looks at
 * blanks, names or numbers byte by byte.
 *
 * Each 64 bytes of text give one jblock; bit i belongs to byte i.
 * Variants (AVX-512, AVX2 with carry-less multiply, 128-bit SSE2 or NEON, plain C) give identical bits; jbits() takes
 * the best one that the processor has. Thread: any.
 */
#ifndef MAREY_PARSE_JBITS_H
#define MAREY_PARSE_JBITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct jblock {
    uint64_t tokens;   /* unescaped quotes, and {}[]:, outside strings */
    uint64_t braces;   /* { } outside strings */
    uint64_t brackets; /* [ ] outside strings */
    uint64_t colons;   /* : outside strings */
} jblock;

/* What carries over from one block to the next. Zero: outside a string. */
typedef struct jbits_state {
    uint64_t in_string; /* 0 or ~0 */
    uint64_t escape;    /* 1: the last byte was an unescaped backslash */
} jbits_state;

typedef void (*jbits_fn)(const uint8_t *text, size_t n_blocks, jbits_state *state, jblock *out);

/** Bitmaps of n_blocks * 64 bytes. Reads exactly those bytes. */
void jbits(const uint8_t *text, size_t n_blocks, jbits_state *state, jblock *out);

/* The variants, for tests and benches. NULL where the processor or the build lacks it. */
jbits_fn jbits_avx512(void);
jbits_fn jbits_avx2(void);
jbits_fn jbits_128(void);
jbits_fn jbits_scalar(void);

/* Shared by the variants: which bytes are escaped, given where the backslashes are. */
static inline uint64_t jbits_escaped(uint64_t backslashes, uint64_t *escape)
{
    if (backslashes == 0) {
        uint64_t escaped = *escape;
        *escape = 0;
        return escaped;
    }
    /* Runs of backslashes that start on an odd bit are told from those on an even bit by adding the run to its start.
     */
    const uint64_t even = 0x5555555555555555U;
    backslashes &= ~*escape;
    uint64_t follows = backslashes << 1 | *escape;
    uint64_t odd_starts = backslashes & ~even & ~follows;
    uint64_t sum = 0;
    *escape = __builtin_add_overflow(odd_starts, backslashes, &sum) ? 1 : 0;
    uint64_t invert = sum << 1;
    return (even ^ invert) & follows;
}

static inline jblock jbits_finish(uint64_t quotes, uint64_t inside, uint64_t closers, uint64_t lower, uint64_t colons,
                                  uint64_t commas)
{
    uint64_t outside = ~inside;
    closers &= outside;
    colons &= outside;
    return (jblock){quotes | closers | colons | (commas & outside), closers & lower, closers & ~lower, colons};
}

#endif
