/*
 * Small looks at text without bitmaps: where a string or a scalar ends, and whether two texts are the same. All read up
 * to 64 bytes behind what they are asked for. On x86-64 there are two of each: for every processor, and, ending in
 * _avx2, for those that have AVX2. (By AVX-512 they were no faster.) Thread: any.
 */
#ifndef MAREY_PARSE_JSCAN_H
#define MAREY_PARSE_JSCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/digits.h"

#ifdef __x86_64__
#include <immintrin.h>
#define JSCAN_AVX2 __attribute__((target("avx2,bmi,bmi2")))
#endif

static inline bool jscan_ends_scalar(char c)
{
    static const bool ends[256] = {
        [' '] = true, ['\n'] = true, ['\t'] = true, ['\r'] = true, ['"'] = true, ['\\'] = true,
        [','] = true, [':'] = true,  ['{'] = true,  ['}'] = true,  ['['] = true, [']'] = true};
    return ends[(unsigned char)c];
}

/*
 * jscan_quote: the first byte that is a quote or a backslash. jscan_number: the first that is none of those from '-' to
 * '9', which are those of numbers, mostly. Behind `end` where there is none before.
 * jscan_brace: the first brace in no string, where `p` is in none; NULL: there is none before `end`, or a backslash is
 * before it.
 * jscan_same: are n >= 1 bytes the same? `last_bits`: a bit for each byte of the last 32 or less, as n is taken by 32.
 */
#ifdef __x86_64__
static inline __m128i jscan_load(const char *p)
{
    return _mm_loadu_si128((const __m128i *)(const void *)p);
}

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

static inline const char *jscan_number(const char *p, const char *end)
{
    for (; p < end; p += 16) {
        __m128i v = _mm_sub_epi8(jscan_load(p), _mm_set1_epi8('-'));
        __m128i hits = _mm_cmpeq_epi8(_mm_min_epu8(v, _mm_set1_epi8('9' - '-' + 1)), _mm_set1_epi8('9' - '-' + 1));
        unsigned mask = (unsigned)_mm_movemask_epi8(hits);
        if (mask) {
            return p + __builtin_ctz(mask);
        }
    }
    return p;
}

static inline const char *jscan_brace(const char *p, const char *end)
{
    unsigned quotes_before = 0; /* an odd number of bits: the block begins in a string */
    for (; p < end; p += 16) {
        __m128i v = jscan_load(p);
        __m128i braces = _mm_or_si128(_mm_cmpeq_epi8(v, _mm_set1_epi8('{')), _mm_cmpeq_epi8(v, _mm_set1_epi8('}')));
        __m128i marks = _mm_or_si128(braces, _mm_cmpeq_epi8(v, _mm_set1_epi8('\\')));
        unsigned quotes = (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(v, _mm_set1_epi8('"')));
        for (unsigned left = (unsigned)_mm_movemask_epi8(marks); left; left &= left - 1) {
            unsigned bit = left & -left;
            const char *at = p + __builtin_ctz(left);
            if (*at == '\\') {
                return NULL;
            }
            if (!__builtin_parity(quotes_before ^ (quotes & (bit - 1)))) {
                return at < end ? at : NULL;
            }
        }
        quotes_before ^= quotes;
    }
    return NULL;
}

static inline bool jscan_same(const char *a, const char *b, size_t n, uint32_t last_bits)
{
    for (; n > 16; n -= 16, a += 16, b += 16) {
        if (_mm_movemask_epi8(_mm_cmpeq_epi8(jscan_load(a), jscan_load(b))) != 0xFFFF) {
            return false;
        }
    }
    unsigned same = (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(jscan_load(a), jscan_load(b)));
    (void)last_bits;
    return (~same & 0xFFFFU) << (16 - n) << 16 == 0;
}

JSCAN_AVX2 static inline __m256i jscan_load_avx2(const char *p)
{
    return _mm256_loadu_si256((const __m256i *)(const void *)p);
}

extern const digits_bytes jscan_quote_bytes, jscan_backslash_bytes; /* jscan.c */

JSCAN_AVX2 static inline uint64_t jscan_quotes_avx2(const char *p)
{
    __m256i v = jscan_load_avx2(p);
    __m256i hits = _mm256_or_si256(_mm256_cmpeq_epi8(v, digits_all(&jscan_quote_bytes)),
                                   _mm256_cmpeq_epi8(v, digits_all(&jscan_backslash_bytes)));
    return (unsigned)_mm256_movemask_epi8(hits);
}

/* Most strings end within 64 bytes, but some within 32 and some not, in no order that the processor could guess. */
JSCAN_AVX2 static inline const char *jscan_quote_avx2(const char *p, const char *end)
{
    for (; p < end; p += 64) {
        uint64_t mask = jscan_quotes_avx2(p) | jscan_quotes_avx2(p + 32) << 32;
        if (mask) {
            return p + __builtin_ctzll(mask);
        }
    }
    return p;
}

JSCAN_AVX2 static inline const char *jscan_number_avx2(const char *p, const char *end)
{
    for (; p < end; p += 32) {
        __m256i v = _mm256_sub_epi8(jscan_load_avx2(p), _mm256_set1_epi8('-'));
        __m256i above = _mm256_set1_epi8('9' - '-' + 1);
        unsigned mask = (unsigned)_mm256_movemask_epi8(_mm256_cmpeq_epi8(_mm256_min_epu8(v, above), above));
        if (mask) {
            return p + __builtin_ctz(mask);
        }
    }
    return p;
}

JSCAN_AVX2 static inline bool jscan_same_avx2(const char *a, const char *b, size_t n, uint32_t last_bits)
{
    for (; n > 32; n -= 32, a += 32, b += 32) {
        if (_mm256_movemask_epi8(_mm256_cmpeq_epi8(jscan_load_avx2(a), jscan_load_avx2(b))) != -1) {
            return false;
        }
    }
    unsigned same = (unsigned)_mm256_movemask_epi8(_mm256_cmpeq_epi8(jscan_load_avx2(a), jscan_load_avx2(b)));
    return (~same & last_bits) == 0;
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

static inline const char *jscan_brace(const char *p, const char *end)
{
    bool in_string = false;
    for (; p < end && *p != '\\'; p++) {
        in_string ^= *p == '"';
        if (!in_string && (*p == '{' || *p == '}')) {
            return p;
        }
    }
    return NULL;
}

static inline bool jscan_same(const char *a, const char *b, size_t n, uint32_t last_bits)
{
    (void)last_bits;
    return memcmp(a, b, n) == 0;
}
#endif

/*
 * jscan_string: the closing quote of the string whose first byte is at `p`. jscan_scalar: the end of the scalar that
 * begins at `p`, which is a blank or what JSON is made of. Behind `end`, or there, where there is none before.
 */
#define JSCAN_DEFINE(target, suffix)                                                                                   \
    target static inline const char *jscan_string##suffix(const char *p, const char *end)                              \
    {                                                                                                                  \
        p = jscan_quote##suffix(p, end);                                                                               \
        while (p < end && *p != '"') {                                                                                 \
            p = jscan_quote##suffix(p + 2, end);                                                                       \
        }                                                                                                              \
        return p;                                                                                                      \
    }                                                                                                                  \
    target static inline const char *jscan_scalar##suffix(const char *p, const char *end)                              \
    {                                                                                                                  \
        p = jscan_number##suffix(p, end);                                                                              \
        while (!jscan_ends_scalar(*p) && p < end) {                                                                    \
            p++;                                                                                                       \
        }                                                                                                              \
        return p;                                                                                                      \
    }
JSCAN_DEFINE(, )

/*
 * jscan_us: the end of the scalar that begins at `p`, if it is a time as profilers write it, 1 to 16 digits of
 * microseconds, a point and three digits, with *ns what decns_parse_us() says of it; else NULL, and *ns is anything.
 */
static inline const char *jscan_us(const char *p, int64_t *ns)
{
    (void)p;
    (void)ns;
    return NULL; /* worth it only where many bytes are looked at in one go */
}

#ifdef __x86_64__
JSCAN_DEFINE(JSCAN_AVX2, _avx2)

JSCAN_AVX2 static inline const char *jscan_us_avx2(const char *p, int64_t *ns)
{
    __m256i v = _mm256_sub_epi8(jscan_load_avx2(p), digits_all(&digits_zero));
    __m256i is_digit = _mm256_cmpeq_epi8(_mm256_min_epu8(v, digits_all(&digits_nine)), v);
    uint32_t others = ~(uint32_t)_mm256_movemask_epi8(is_digit);
    unsigned digits = _tzcnt_u32(others);
    if (digits - 1 >= 16 || (others >> digits & 0x1F) != 0x11 || p[digits] != '.' ||
        !jscan_ends_scalar(p[digits + 4])) {
        return NULL;
    }
    uint32_t f;
    memcpy(&f, p + digits + 1, sizeof f);
    f ^= 0x303030U; /* and of what comes behind, nothing is used */
    uint32_t thousandths = ((f * 10 + (f >> 8)) & 0xFFU) * 10 + (f >> 16 & 0xFFU);
    uint64_t value = digits_join_avx2(_mm256_castsi256_si128(v), digits) * 1000 + thousandths;
    *ns = (int64_t)value;
    return value <= (uint64_t)INT64_MAX ? p + digits + 4 : NULL;
}
#endif

#endif
