/*
 * Small looks at text without bitmaps: where a string or a scalar ends, and whether two texts are the same. All read up
 * to 16 bytes behind what they are asked for. Thread: any.
 */
#ifndef MAREY_PARSE_JSCAN_H
#define MAREY_PARSE_JSCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

static inline bool jscan_ends_scalar(char c)
{
    static const bool ends[256] = {
        [' '] = true, ['\n'] = true, ['\t'] = true, ['\r'] = true, ['"'] = true, ['\\'] = true,
        [','] = true, [':'] = true,  ['{'] = true,  ['}'] = true,  ['['] = true, [']'] = true};
    return ends[(unsigned char)c];
}

#ifdef __SSE2__
static inline __m128i jscan_load(const char *p)
{
    return _mm_loadu_si128((const __m128i *)(const void *)p);
}

/** The first of n >= 1 bytes that is a quote or a backslash; p + n or a little more where there is none. */
static inline const char *jscan_quote(const char *p, const char *end)
{
    for (; p < end; p += 16) {
        __m128i v = jscan_load(p);
        __m128i hits = _mm_or_si128(_mm_cmpeq_epi8(v, _mm_set1_epi8('"')), _mm_cmpeq_epi8(v, _mm_set1_epi8('\\')));
        unsigned mask = (unsigned)_mm_movemask_epi8(hits);
        if (mask) {
            return p + __builtin_ctz(mask);
        }
    }
    return p;
}

/* Bytes from '-' to '9' are those of numbers, mostly. */
static inline const char *jscan_number(const char *p, const char *end)
{
    for (; p < end; p += 16) {
        __m128i v = _mm_sub_epi8(jscan_load(p), _mm_set1_epi8('-'));
        __m128i same = _mm_cmpeq_epi8(_mm_min_epu8(v, _mm_set1_epi8('9' - '-')), v);
        unsigned mask = (unsigned)_mm_movemask_epi8(same) ^ 0xFFFFU;
        if (mask) {
            return p + __builtin_ctz(mask);
        }
    }
    return p;
}

/** n >= 1 */
static inline bool jscan_same(const char *a, const char *b, size_t n)
{
    __m128i same = _mm_set1_epi8(-1);
    size_t i = 0;
    for (; i + 16 < n; i += 16) {
        same = _mm_and_si128(same, _mm_cmpeq_epi8(jscan_load(a + i), jscan_load(b + i)));
    }
    unsigned last = (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(jscan_load(a + i), jscan_load(b + i)));
    return ((unsigned)_mm_movemask_epi8(same) & (last | 0xFFFEU << (n - i - 1))) == 0xFFFFU;
}
#else
static inline const char *jscan_quote(const char *p, const char *end)
{
    while (p < end && *p != '"' && *p != '\\') {
        p++;
    }
    return p;
}

static inline const char *jscan_number(const char *p, const char *end)
{
    while (p < end && (unsigned char)(*p - '-') <= '9' - '-') {
        p++;
    }
    return p;
}

static inline bool jscan_same(const char *a, const char *b, size_t n)
{
    return memcmp(a, b, n) == 0;
}
#endif

/** The closing quote of a string whose first byte is at `p`. NULL: not before `end` */
static inline const char *jscan_string(const char *p, const char *end)
{
    for (;;) {
        p = jscan_quote(p, end);
        if (p >= end) {
            return NULL;
        }
        if (*p == '"') {
            return p;
        }
        p += 2;
    }
}

/** The end of a scalar that begins at `p`: a blank, or what JSON is made of. May be behind `end`. */
static inline const char *jscan_scalar(const char *p, const char *end)
{
    p = jscan_number(p, end);
    while (p < end && !jscan_ends_scalar(*p)) {
        p++;
    }
    return p;
}

#endif
