/* The vector variants of jbits: x86-64 (SSE2 always, AVX2 and AVX-512 where the processor has them) and 64-bit ARM. */
#include "parse/jbits.h"

/* Exclusive-or of all bits up to each one: inside a string wherever an odd number of quotes came before. */
static inline uint64_t prefix_xor(uint64_t x)
{
    x ^= x << 1;
    x ^= x << 2;
    x ^= x << 4;
    x ^= x << 8;
    x ^= x << 16;
    return x ^ x << 32;
}

#if defined(__x86_64__)
#include <immintrin.h>

/* Text in memory comes faster when it is asked for early: the processor's own look-ahead ends with each page. Behind
 * the text nothing is there to be fetched, which does no harm. */
static inline void fetch_ahead(const uint8_t *text)
{
    enum { DISTANCE = 4096 };
    _mm_prefetch((const char *)((uintptr_t)text + DISTANCE), _MM_HINT_T0);
}

/* Masks of one 64-byte block. `lower`: bit 5 of the byte is set, which tells {} from []. */
typedef struct masks {
    uint64_t quotes, backslashes, closers, lower, colons, commas;
} masks;

static inline void masks_128(const uint8_t *text, unsigned shift, masks *m)
{
    __m128i v = _mm_loadu_si128((const __m128i *)(const void *)text);
    __m128i folded = _mm_or_si128(v, _mm_set1_epi8(0x20));
    __m128i open = _mm_cmpeq_epi8(folded, _mm_set1_epi8('{'));
    __m128i close = _mm_cmpeq_epi8(folded, _mm_set1_epi8('}'));
#define MASK(x) ((uint64_t)(uint32_t)_mm_movemask_epi8(x) << shift)
    m->quotes |= MASK(_mm_cmpeq_epi8(v, _mm_set1_epi8('"')));
    m->backslashes |= MASK(_mm_cmpeq_epi8(v, _mm_set1_epi8('\\')));
    m->closers |= MASK(_mm_or_si128(open, close));
    m->lower |= MASK(_mm_slli_epi16(v, 2));
    m->colons |= MASK(_mm_cmpeq_epi8(v, _mm_set1_epi8(':')));
    m->commas |= MASK(_mm_cmpeq_epi8(v, _mm_set1_epi8(',')));
#undef MASK
}

static void sse2(const uint8_t *text, size_t n_blocks, jbits_state *state, jblock *out)
{
    for (size_t i = 0; i < n_blocks; i++, text += 64) {
        fetch_ahead(text);
        masks m = {0};
        masks_128(text, 0, &m);
        masks_128(text + 16, 16, &m);
        masks_128(text + 32, 32, &m);
        masks_128(text + 48, 48, &m);
        uint64_t quotes = m.quotes & ~jbits_escaped(m.backslashes, &state->escape);
        uint64_t inside = prefix_xor(quotes) ^ state->in_string;
        state->in_string = 0 - (inside >> 63);
        out[i] = jbits_finish(quotes, inside, m.closers, m.lower, m.colons, m.commas);
    }
}

#define AVX2 __attribute__((target("avx2,pclmul,bmi")))

AVX2 static inline void masks_256(const uint8_t *text, unsigned shift, masks *m)
{
    __m256i v = _mm256_loadu_si256((const __m256i *)(const void *)text);
    __m256i folded = _mm256_or_si256(v, _mm256_set1_epi8(0x20));
    __m256i open = _mm256_cmpeq_epi8(folded, _mm256_set1_epi8('{'));
    __m256i close = _mm256_cmpeq_epi8(folded, _mm256_set1_epi8('}'));
#define MASK(x) ((uint64_t)(uint32_t)_mm256_movemask_epi8(x) << shift)
    m->quotes |= MASK(_mm256_cmpeq_epi8(v, _mm256_set1_epi8('"')));
    m->backslashes |= MASK(_mm256_cmpeq_epi8(v, _mm256_set1_epi8('\\')));
    m->closers |= MASK(_mm256_or_si256(open, close));
    m->lower |= MASK(_mm256_slli_epi16(v, 2));
    m->colons |= MASK(_mm256_cmpeq_epi8(v, _mm256_set1_epi8(':')));
    m->commas |= MASK(_mm256_cmpeq_epi8(v, _mm256_set1_epi8(',')));
#undef MASK
}

AVX2 static inline uint64_t prefix_xor_clmul(uint64_t x)
{
    __m128i product = _mm_clmulepi64_si128(_mm_set_epi64x(0, (long long)x), _mm_set1_epi8((char)0xFF), 0);
    return (uint64_t)_mm_cvtsi128_si64(product);
}

AVX2 static void avx2(const uint8_t *text, size_t n_blocks, jbits_state *state, jblock *out)
{
    for (size_t i = 0; i < n_blocks; i++, text += 64) {
        fetch_ahead(text);
        masks m = {0};
        masks_256(text, 0, &m);
        masks_256(text + 32, 32, &m);
        uint64_t quotes = m.quotes & ~jbits_escaped(m.backslashes, &state->escape);
        uint64_t inside = prefix_xor_clmul(quotes) ^ state->in_string;
        state->in_string = 0 - (inside >> 63);
        out[i] = jbits_finish(quotes, inside, m.closers, m.lower, m.colons, m.commas);
    }
}

#define AVX512 __attribute__((target("avx512f,avx512bw,pclmul,bmi")))

AVX512 static inline uint64_t prefix_xor_wide(uint64_t x)
{
    __m128i product = _mm_clmulepi64_si128(_mm_set_epi64x(0, (long long)x), _mm_set1_epi8((char)0xFF), 0);
    return (uint64_t)_mm_cvtsi128_si64(product);
}

/* One register is a whole block, and comparisons give its bits at once. */
AVX512 static void avx512(const uint8_t *text, size_t n_blocks, jbits_state *state, jblock *out)
{
    const __m512i fold = _mm512_set1_epi8(0x20);
    for (size_t i = 0; i < n_blocks; i++, text += 64) {
        fetch_ahead(text);
        __m512i v = _mm512_loadu_si512((const void *)text);
        __m512i folded = _mm512_or_si512(v, fold);
        uint64_t closers = _mm512_cmpeq_epi8_mask(folded, _mm512_set1_epi8('{')) |
                           _mm512_cmpeq_epi8_mask(folded, _mm512_set1_epi8('}'));
        uint64_t backslashes = _mm512_cmpeq_epi8_mask(v, _mm512_set1_epi8('\\'));
        uint64_t quotes = _mm512_cmpeq_epi8_mask(v, _mm512_set1_epi8('"'));
        quotes &= ~jbits_escaped(backslashes, &state->escape);
        uint64_t inside = prefix_xor_wide(quotes) ^ state->in_string;
        state->in_string = 0 - (inside >> 63);
        out[i] = jbits_finish(quotes, inside, closers, _mm512_test_epi8_mask(v, fold),
                              _mm512_cmpeq_epi8_mask(v, _mm512_set1_epi8(':')),
                              _mm512_cmpeq_epi8_mask(v, _mm512_set1_epi8(',')));
    }
}

jbits_fn jbits_avx512(void)
{
    return __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("pclmul") ? avx512 : NULL;
}

jbits_fn jbits_avx2(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("pclmul") ? avx2 : NULL;
}

jbits_fn jbits_128(void)
{
    return sse2;
}

#elif defined(__aarch64__)
#include <arm_neon.h>

/* One bit per byte of four comparison results, gathered by three rounds of pairwise adds. */
static inline uint64_t gather(uint8x16_t a, uint8x16_t b, uint8x16_t c, uint8x16_t d)
{
    const uint8x16_t bits = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
    uint8x16_t low = vpaddq_u8(vandq_u8(a, bits), vandq_u8(b, bits));
    uint8x16_t high = vpaddq_u8(vandq_u8(c, bits), vandq_u8(d, bits));
    uint8x16_t sum = vpaddq_u8(low, high);
    sum = vpaddq_u8(sum, sum);
    return vgetq_lane_u64(vreinterpretq_u64_u8(sum), 0);
}

static inline uint64_t equal(const uint8x16_t v[4], uint8_t c)
{
    uint8x16_t x = vdupq_n_u8(c);
    return gather(vceqq_u8(v[0], x), vceqq_u8(v[1], x), vceqq_u8(v[2], x), vceqq_u8(v[3], x));
}

static void neon(const uint8_t *text, size_t n_blocks, jbits_state *state, jblock *out)
{
    const uint8x16_t fold = vdupq_n_u8(0x20);
    for (size_t i = 0; i < n_blocks; i++, text += 64) {
        uint8x16_t v[4];
        uint8x16_t folded[4];
        uint8x16_t low[4];
        for (int k = 0; k < 4; k++) {
            v[k] = vld1q_u8(text + k * 16);
            folded[k] = vorrq_u8(v[k], fold);
            low[k] = vtstq_u8(v[k], fold);
        }
        uint64_t quotes = equal(v, '"') & ~jbits_escaped(equal(v, '\\'), &state->escape);
        uint64_t inside = prefix_xor(quotes) ^ state->in_string;
        state->in_string = 0 - (inside >> 63);
        uint64_t lower = gather(low[0], low[1], low[2], low[3]);
        out[i] =
            jbits_finish(quotes, inside, equal(folded, '{') | equal(folded, '}'), lower, equal(v, ':'), equal(v, ','));
    }
}

jbits_fn jbits_avx512(void)
{
    return NULL;
}

jbits_fn jbits_avx2(void)
{
    return NULL;
}

jbits_fn jbits_128(void)
{
    return neon;
}

#else

jbits_fn jbits_avx512(void)
{
    return NULL;
}

jbits_fn jbits_avx2(void)
{
    return NULL;
}

jbits_fn jbits_128(void)
{
    return NULL;
}

#endif
