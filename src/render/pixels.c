#include "render/pixels.h"

#if defined(__x86_64__)
#include <immintrin.h>
#define PIXELS_WIDE 1
#define AVX2        __attribute__((target("avx2")))
#else
#define PIXELS_WIDE 0
#endif

enum { AT_ONCE = 8 };

/*
 * Strength of a cell in 65536ths: alpha (of 255) times 1/4 + 3/4 of its occupancy. These are the factors that take
 * alpha * (255 + 3 * occupancy) there, by COARSE and EDGE; the product stays below 2^32.
 */
enum { PLAIN_FACTOR = 16512, COARSE_FACTOR = 11558, EDGE_FACTOR = 7430, BOTH_FACTOR = 5201 };

pixel_palette pixel_palette_make(const rgba colours[PIXEL_COLOURS])
{
    pixel_palette p;
    for (int i = 0; i < PIXEL_COLOURS; i++) {
        p.rb[i] = (uint32_t)colours[i].r << 16 | colours[i].b;
        p.ag[i] = (uint32_t)255 << 16 | colours[i].g;
    }
    return p;
}

static inline uint32_t texel_of(const pixel_palette *p, draw_cell c, bool dims)
{
    uint32_t alpha = c.flags & CELL_SELECTED ? 255 : c.alpha;
    uint32_t factor = c.flags & CELL_COARSE ? COARSE_FACTOR : PLAIN_FACTOR;
    if (c.flags & CELL_EDGE) {
        factor = c.flags & CELL_COARSE ? BOTH_FACTOR : EDGE_FACTOR;
    }
    if (c.klass >= PALETTE_SIZE || c.occupancy == 0) {
        return 0;
    }
    uint32_t at = c.klass + (c.flags & CELL_SEVERE ? PALETTE_SIZE : 0);
    uint32_t strength =
        ((alpha * (255U + 3U * (dims ? c.occupancy : 255U)) * factor >> 16) + 128) >> 8; /* 256: whole */
    uint32_t rb = p->rb[at] * strength + 0x800080;
    uint32_t ag = p->ag[at] * strength + 0x800080;
    return (rb >> 8 & 0xFF00FF) | (ag & 0xFF00FF00);
}

void pixels_from_cells_plain(const pixel_palette *p, const draw_cell *cells, size_t n, bool dims, uint32_t *out)
{
    for (size_t i = 0; i < n; i++) {
        out[i] = texel_of(p, cells[i], dims);
    }
}

/* A product of two channels of 255, two at a time; 255ths, rounded. */
static inline uint32_t scaled_pair(uint32_t pair, uint32_t by)
{
    uint32_t v = pair * by + 0x800080;
    return (v + (v >> 8 & 0xFF00FF)) >> 8 & 0xFF00FF;
}

void pixels_lay_over_plain(const uint32_t *colours, const draw_cell *cells, size_t n, uint8_t exceed, uint32_t *out)
{
    for (size_t i = 0; i < n; i++) {
        if (cells[i].occupancy > exceed) {
            uint32_t rest = 255 - (colours[i] >> 24);
            uint32_t rb = scaled_pair(out[i] & 0xFF00FF, rest);
            uint32_t ag = scaled_pair(out[i] >> 8 & 0xFF00FF, rest);
            out[i] = colours[i] + (rb | ag << 8);
        }
    }
}

/* ------------------------------------------------------------------ eight at a time */

#if PIXELS_WIDE

/* Colours of the first sixteen classes, channel by channel, in both halves. */
typedef struct wide_palette {
    __m256i r, g, b;
} wide_palette;

AVX2 static wide_palette widen(const pixel_palette *p)
{
    uint8_t r[32], g[32], b[32];
    for (int i = 0; i < 32; i++) {
        r[i] = (uint8_t)(p->rb[i & 15] >> 16);
        g[i] = (uint8_t)p->ag[i & 15];
        b[i] = (uint8_t)p->rb[i & 15];
    }
    return (wide_palette){_mm256_loadu_si256((const __m256i *)(const void *)r),
                          _mm256_loadu_si256((const __m256i *)(const void *)g),
                          _mm256_loadu_si256((const __m256i *)(const void *)b)};
}

/* Factor times 65536, by COARSE and EDGE alone: most cells have neither. */
AVX2 static inline __m256i factors_of(__m256i cells)
{
    const __m256i by_flags = _mm256_setr_epi32(PLAIN_FACTOR, EDGE_FACTOR, COARSE_FACTOR, BOTH_FACTOR, 0, 0, 0, 0);
    __m256i edge = _mm256_and_si256(_mm256_srli_epi32(cells, 16), _mm256_set1_epi32(1));
    __m256i coarse = _mm256_and_si256(_mm256_srli_epi32(cells, 18), _mm256_set1_epi32(2));
    return _mm256_permutevar8x32_epi32(by_flags, _mm256_or_si256(edge, coarse));
}

/* Strength of each, in both halves of its lane; 0 where nothing is inked. */
AVX2 static inline __m256i strengths_of(__m256i cells, __m256i klass, __m256i least)
{
    const __m256i byte = _mm256_set1_epi32(255);
    __m256i selected = _mm256_srai_epi32(_mm256_slli_epi32(cells, 11), 31);
    __m256i alpha = _mm256_or_si256(_mm256_srli_epi32(cells, 24), _mm256_and_si256(selected, byte));
    __m256i occupancy = _mm256_and_si256(_mm256_srli_epi32(cells, 8), byte);
    __m256i counted = _mm256_or_si256(occupancy, least);
    __m256i height = _mm256_add_epi32(byte, _mm256_add_epi32(counted, _mm256_slli_epi32(counted, 1)));
    __m256i strength = _mm256_mullo_epi32(_mm256_madd_epi16(alpha, height), factors_of(cells));
    strength = _mm256_srli_epi32(_mm256_add_epi32(_mm256_srli_epi32(strength, 16), _mm256_set1_epi32(128)), 8);
    __m256i inked = _mm256_and_si256(_mm256_cmpgt_epi32(_mm256_set1_epi32(PALETTE_SIZE), klass),
                                     _mm256_cmpgt_epi32(occupancy, _mm256_setzero_si256()));
    strength = _mm256_and_si256(strength, inked);
    return _mm256_or_si256(strength, _mm256_slli_epi32(strength, 16));
}

/* Are all classes below sixteen, or nothing, and none severe? */
AVX2 static inline bool are_usual(__m256i cells, __m256i klass)
{
    __m256i other = _mm256_and_si256(_mm256_cmpgt_epi32(klass, _mm256_set1_epi32(15)),
                                     _mm256_cmpgt_epi32(_mm256_set1_epi32(PALETTE_SIZE), klass));
    __m256i severe = _mm256_and_si256(cells, _mm256_set1_epi32(CELL_SEVERE << 16));
    return _mm256_testz_si256(_mm256_or_si256(other, severe), _mm256_set1_epi32(-1));
}

AVX2 static void from_cells_wide(const pixel_palette *p, const draw_cell *cells, size_t n, bool dims, uint32_t *out)
{
    const __m256i least = _mm256_set1_epi32(dims ? 0 : 255);
    const __m256i half = _mm256_set1_epi32(0x800080);
    const __m256i high = _mm256_set1_epi32((int)0x80808000); /* bytes that stay 0 in a table's answer */
    const wide_palette t = widen(p);
    size_t i = 0;
    for (; i + AT_ONCE <= n; i += AT_ONCE) {
        __m256i c = _mm256_loadu_si256((const __m256i *)(const void *)(cells + i));
        __m256i klass = _mm256_and_si256(c, _mm256_set1_epi32(255));
        if (!are_usual(c, klass)) {
            pixels_from_cells_plain(p, cells + i, AT_ONCE, dims, out + i);
            continue;
        }
        __m256i at = _mm256_or_si256(klass, high);
        __m256i strength = strengths_of(c, klass, least);
        __m256i red = _mm256_slli_epi32(_mm256_shuffle_epi8(t.r, at), 16);
        __m256i rb = _mm256_or_si256(red, _mm256_shuffle_epi8(t.b, at));
        __m256i ag = _mm256_or_si256(_mm256_set1_epi32(255 << 16), _mm256_shuffle_epi8(t.g, at));
        rb = _mm256_srli_epi16(_mm256_add_epi16(_mm256_mullo_epi16(rb, strength), half), 8);
        ag = _mm256_add_epi16(_mm256_mullo_epi16(ag, strength), half);
        ag = _mm256_and_si256(ag, _mm256_set1_epi32((int)0xFF00FF00));
        _mm256_storeu_si256((__m256i *)(void *)(out + i), _mm256_or_si256(rb, ag));
    }
    pixels_from_cells_plain(p, cells + i, n - i, dims, out + i);
}

AVX2 static inline __m256i scaled_pairs(__m256i pairs, __m256i by)
{
    __m256i v = _mm256_add_epi16(_mm256_mullo_epi16(pairs, by), _mm256_set1_epi16(128));
    return _mm256_srli_epi16(_mm256_add_epi16(v, _mm256_srli_epi16(v, 8)), 8);
}

AVX2 static void lay_over_wide(const uint32_t *colours, const draw_cell *cells, size_t n, uint8_t exceed, uint32_t *out)
{
    const __m256i low = _mm256_set1_epi32(0xFF00FF);
    const __m256i limit = _mm256_set1_epi32(exceed);
    size_t i = 0;
    for (; i + AT_ONCE <= n; i += AT_ONCE) {
        __m256i c = _mm256_loadu_si256((const __m256i *)(const void *)(cells + i));
        __m256i occupancy = _mm256_and_si256(_mm256_srli_epi32(c, 8), _mm256_set1_epi32(255));
        __m256i inked = _mm256_cmpgt_epi32(occupancy, limit);
        if (_mm256_testz_si256(inked, inked)) {
            continue;
        }
        __m256i colour = _mm256_loadu_si256((const __m256i *)(const void *)(colours + i));
        __m256i below = _mm256_loadu_si256((const __m256i *)(const void *)(out + i));
        __m256i rest = _mm256_sub_epi32(_mm256_set1_epi32(255), _mm256_srli_epi32(colour, 24));
        rest = _mm256_or_si256(rest, _mm256_slli_epi32(rest, 16));
        __m256i rb = scaled_pairs(_mm256_and_si256(below, low), rest);
        __m256i ag = scaled_pairs(_mm256_and_si256(_mm256_srli_epi32(below, 8), low), rest);
        __m256i over = _mm256_add_epi32(colour, _mm256_or_si256(rb, _mm256_slli_epi32(ag, 8)));
        _mm256_storeu_si256((__m256i *)(void *)(out + i), _mm256_blendv_epi8(below, over, inked));
    }
    pixels_lay_over_plain(colours + i, cells + i, n - i, exceed, out + i);
}

#endif

void pixels_from_cells(const pixel_palette *p, const draw_cell *cells, size_t n, bool dims, uint32_t *out)
{
#if PIXELS_WIDE
    if (__builtin_cpu_supports("avx2")) {
        from_cells_wide(p, cells, n, dims, out);
        return;
    }
#endif
    pixels_from_cells_plain(p, cells, n, dims, out);
}

void pixels_lay_over(const uint32_t *colours, const draw_cell *cells, size_t n, uint8_t exceed, uint32_t *out)
{
#if PIXELS_WIDE
    if (__builtin_cpu_supports("avx2")) {
        lay_over_wide(colours, cells, n, exceed, out);
        return;
    }
#endif
    pixels_lay_over_plain(colours, cells, n, exceed, out);
}
