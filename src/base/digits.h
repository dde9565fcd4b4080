/*
 * Decimal digits eight at a time, as bytes of one register: the first of a text is the lowest. On x86-64 there is a run
 * of up to 16 besides, ending in _avx2, for processors that have AVX2. Thread: any.
 */
#ifndef MAREY_BASE_DIGITS_H
#define MAREY_BASE_DIGITS_H

#include <stdint.h>
#include <string.h>

#ifdef __x86_64__
#include <immintrin.h>
#define DIGITS_AVX2 __attribute__((target("avx2,bmi,bmi2")))
#endif

/** The 8 bytes at `s`. */
static inline uint64_t digits_load(const char *s)
{
    uint64_t v;
    memcpy(&v, s, 8);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    v = __builtin_bswap64(v);
#endif
    return v;
}

/** The number that 8 digits make, each less '0': pairs, then fours, then all by multiplications. */
static inline uint64_t digits_join(uint64_t v)
{
    v = v * 10 + (v >> 8);
    return (((v & 0x000000FF000000FFU) * 0x000F424000000064U) +
            (((v >> 16) & 0x000000FF000000FFU) * 0x0000271000000001U)) >>
               32 &
           0xFFFFFFFFU;
}

#ifdef __x86_64__
/* A byte as often as a register holds it. In a file of their own: where the compiler knows them it builds them anew for
 * each use, which takes three instructions. */
typedef struct digits_bytes {
    _Alignas(32) uint8_t of[32];
} digits_bytes;

#define DIGITS_FOUR(x) x, x, x, x
#define DIGITS_BYTES(x)                                                                                                \
    {                                                                                                                  \
        {                                                                                                              \
            DIGITS_FOUR(x), DIGITS_FOUR(x), DIGITS_FOUR(x), DIGITS_FOUR(x), DIGITS_FOUR(x), DIGITS_FOUR(x),            \
                DIGITS_FOUR(x), DIGITS_FOUR(x)                                                                         \
        }                                                                                                              \
    }

extern const digits_bytes digits_zero; /* '0' */
extern const digits_bytes digits_nine; /* 9 */

DIGITS_AVX2 static inline __m128i digits_half(const digits_bytes *b)
{
    return _mm_load_si128((const __m128i *)(const void *)b->of);
}

DIGITS_AVX2 static inline __m256i digits_all(const digits_bytes *b)
{
    return _mm256_load_si256((const __m256i *)(const void *)b->of);
}

/** The 16 bytes at `s`, each less '0'. */
DIGITS_AVX2 static inline __m128i digits_load_avx2(const char *s)
{
    return _mm_sub_epi8(_mm_loadu_si128((const __m128i *)(const void *)s), digits_half(&digits_zero));
}

/** How many of the 16 are digits before the first that is none. */
DIGITS_AVX2 static inline unsigned digits_count_avx2(__m128i v)
{
    __m128i is_digit = _mm_cmpeq_epi8(_mm_min_epu8(v, digits_half(&digits_nine)), v);
    return _tzcnt_u32(~(unsigned)_mm_movemask_epi8(is_digit));
}

/** The number that the first n make, up to 16: moved to the end of the register, then pairs, fours, eights and all. */
DIGITS_AVX2 static inline uint64_t digits_join_avx2(__m128i v, unsigned n)
{
    static const uint8_t moves[32] = {128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128,
                                      0,   1,   2,   3,   4,   5,   6,   7,   8,   9,   10,  11,  12,  13,  14,  15};
    v = _mm_shuffle_epi8(v, _mm_loadu_si128((const __m128i *)(const void *)(moves + n)));
    v = _mm_maddubs_epi16(v, _mm_set1_epi16(1 << 8 | 10));
    v = _mm_madd_epi16(v, _mm_set1_epi32(1 << 16 | 100));
    v = _mm_packus_epi32(v, v);
    v = _mm_madd_epi16(v, _mm_set1_epi32(1 << 16 | 10000));
    uint64_t eights = (uint64_t)_mm_cvtsi128_si64(v);
    __asm__("" : "+r"(eights)); /* moved once, and not by way of memory */
    return (eights & UINT32_MAX) * 100000000U + (eights >> 32);
}
#endif

#endif
