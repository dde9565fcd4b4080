#include "store/codec.h"

#include <libdeflate.h>
#include <stdlib.h>
#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "base/mem.h"
#include "base/status.h"
#include "store/deflate.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "raw chunks hold little-endian numbers");

void codec_deinit(codec *c)
{
    if (c->deflate) {
        libdeflate_free_compressor(c->deflate);
    }
    if (c->inflate) {
        libdeflate_free_decompressor(c->inflate);
    }
    deflater_destroy(&c->runs);
    free(c->planes);
    free(c->parts);
    free(c->packed);
    *c = (codec){0};
}

/* ------------------------------------------------------------------ shuffle */

#ifdef __SSE2__
static inline __m128i load16(const uint8_t *p)
{
    return _mm_loadu_si128((const __m128i *)(const void *)p);
}

static inline void store16(uint8_t *p, __m128i v)
{
    _mm_storeu_si128((__m128i *)(void *)p, v);
}

/* Sixteen elements of four bytes become four rows of sixteen bytes, by four rounds of interleaving halves. */
static inline void planes4(const uint8_t *in, size_t stride, uint8_t *out)
{
    __m128i a = load16(in);
    __m128i b = load16(in + 16);
    __m128i c = load16(in + 32);
    __m128i d = load16(in + 48);
#define INTERLEAVE                                                                                                     \
    do {                                                                                                               \
        __m128i lo_ = _mm_unpacklo_epi8(a, c);                                                                         \
        __m128i hi_ = _mm_unpackhi_epi8(a, c);                                                                         \
        a = lo_;                                                                                                       \
        c = _mm_unpacklo_epi8(b, d);                                                                                   \
        d = _mm_unpackhi_epi8(b, d);                                                                                   \
        b = hi_;                                                                                                       \
    } while (0)
    INTERLEAVE;
    INTERLEAVE;
    INTERLEAVE;
    INTERLEAVE;
#undef INTERLEAVE
    store16(out, a);
    store16(out + stride, b);
    store16(out + 2 * stride, c);
    store16(out + 3 * stride, d);
}

/* The same for elements of eight bytes: their lower halves, and their upper ones. */
static inline void planes8(const uint8_t *in, size_t stride, uint8_t *out)
{
    uint8_t lower[64];
    uint8_t upper[64];
    for (unsigned k = 0; k < 4; k++) {
        __m128 a = _mm_castsi128_ps(load16(in + k * 32));
        __m128 b = _mm_castsi128_ps(load16(in + k * 32 + 16));
        store16(lower + k * 16, _mm_castps_si128(_mm_shuffle_ps(a, b, _MM_SHUFFLE(2, 0, 2, 0))));
        store16(upper + k * 16, _mm_castps_si128(_mm_shuffle_ps(a, b, _MM_SHUFFLE(3, 1, 3, 1))));
    }
    planes4(lower, stride, out);
    planes4(upper, stride, out + 4 * stride);
}

/* The way back: rows of sixteen bytes become sixteen elements. */
static void elements8(const uint8_t *in, size_t stride, uint8_t *out)
{
    __m128i r[8];
    __m128i t[8];
    for (unsigned k = 0; k < 8; k++) {
        r[k] = _mm_loadu_si128((const __m128i *)(const void *)(in + k * stride));
    }
    for (unsigned k = 0; k < 4; k++) {
        t[2 * k] = _mm_unpacklo_epi8(r[2 * k], r[2 * k + 1]);
        t[2 * k + 1] = _mm_unpackhi_epi8(r[2 * k], r[2 * k + 1]);
    }
    for (unsigned k = 0; k < 2; k++) {
        r[4 * k] = _mm_unpacklo_epi16(t[4 * k], t[4 * k + 2]);
        r[4 * k + 1] = _mm_unpackhi_epi16(t[4 * k], t[4 * k + 2]);
        r[4 * k + 2] = _mm_unpacklo_epi16(t[4 * k + 1], t[4 * k + 3]);
        r[4 * k + 3] = _mm_unpackhi_epi16(t[4 * k + 1], t[4 * k + 3]);
    }
    for (unsigned k = 0; k < 4; k++) {
        __m128i lo = _mm_unpacklo_epi32(r[k], r[k + 4]);
        __m128i hi = _mm_unpackhi_epi32(r[k], r[k + 4]);
        _mm_storeu_si128((__m128i *)(void *)(out + k * 32), lo);
        _mm_storeu_si128((__m128i *)(void *)(out + k * 32 + 16), hi);
    }
}

static void elements4(const uint8_t *in, size_t stride, uint8_t *out)
{
    __m128i r[4];
    for (unsigned k = 0; k < 4; k++) {
        r[k] = _mm_loadu_si128((const __m128i *)(const void *)(in + k * stride));
    }
    __m128i a = _mm_unpacklo_epi8(r[0], r[1]);
    __m128i b = _mm_unpackhi_epi8(r[0], r[1]);
    __m128i c = _mm_unpacklo_epi8(r[2], r[3]);
    __m128i d = _mm_unpackhi_epi8(r[2], r[3]);
    _mm_storeu_si128((__m128i *)(void *)out, _mm_unpacklo_epi16(a, c));
    _mm_storeu_si128((__m128i *)(void *)(out + 16), _mm_unpackhi_epi16(a, c));
    _mm_storeu_si128((__m128i *)(void *)(out + 32), _mm_unpacklo_epi16(b, d));
    _mm_storeu_si128((__m128i *)(void *)(out + 48), _mm_unpackhi_epi16(b, d));
}
#endif

/* Plane k begins at out + k * stride. */
static void shuffle_to(const void *in, size_t n, size_t size, uint8_t *out, size_t stride)
{
    const uint8_t *p = in;
    size_t done = 0;
    if (size == 1 && n > 0) {
        memcpy(out, in, n);
        return;
    }
#ifdef __SSE2__
    for (; size == 4 && done + 16 <= n; done += 16) {
        planes4(p + done * 4, stride, out + done);
    }
    for (; size == 8 && done + 16 <= n; done += 16) {
        planes8(p + done * 8, stride, out + done);
    }
#endif
    for (size_t k = 0; k < size; k++) {
        uint8_t *plane = out + k * stride;
        for (size_t i = done; i < n; i++) {
            plane[i] = p[i * size + k];
        }
    }
}

void shuffle_bytes(const void *in, size_t n, size_t size, uint8_t *out)
{
    shuffle_to(in, n, size, out, n);
}

void unshuffle_bytes(const uint8_t *in, size_t n, size_t size, void *out)
{
    uint8_t *p = out;
    size_t done = 0;
#ifdef __SSE2__
    for (; size == 8 && done + 16 <= n; done += 16) {
        elements8(in + done, n, p + done * 8);
    }
    for (; size == 4 && done + 16 <= n; done += 16) {
        elements4(in + done, n, p + done * 4);
    }
#endif
    for (size_t k = 0; k < size; k++) {
        const uint8_t *plane = in + k * n;
        for (size_t i = done; i < n; i++) {
            p[i * size + k] = plane[i];
        }
    }
}

/* ------------------------------------------------------------------ zlib streams */

size_t codec_bound(size_t bytes)
{
    return bytes + bytes / 64 + 1024;
}

/* Into c->packed. @return 0 where it would take more than `bytes`, which the parts are, and a little */
static size_t pack_parts(codec *c, const uint8_t *in, const deflate_part *parts, size_t n_parts, unsigned patience,
                         size_t bytes)
{
    if (!c->runs) {
        c->runs = deflater_create();
    }
    VEC_RESERVE(c->packed, c->cap_packed, codec_bound(bytes));
    /* Room that depends on nothing but the input, so that equal inputs give equal files. */
    return deflate_parts(c->runs, in, parts, n_parts, patience, c->packed, bytes + DEFLATE_SLACK);
}

static unsigned patience_for(codec_look look)
{
    return look == CODEC_RUNS ? (unsigned)DEFLATE_RUNS : (unsigned)DEFLATE_PATIENCE;
}

/* Where hardly anything repeats: libdeflate knows how to store bytes as they are. */
static size_t pack_noise(codec *c, const uint8_t *in, size_t bytes)
{
    if (!c->deflate) {
        c->deflate = libdeflate_alloc_compressor(1);
        MAREY_ASSERT(c->deflate != NULL);
    }
    return libdeflate_zlib_compress(c->deflate, in, bytes, c->packed, c->cap_packed);
}

/* Elements of which `n` are there, and so many zeros behind them that they need not be written into every plane. */
static size_t pack_sparse(codec *c, const void *data, size_t n, size_t whole, size_t size, codec_look look)
{
    deflate_part parts[sizeof(uint64_t)];
    size_t stride = n + 1;
    VEC_RESERVE(c->planes, c->cap_planes, stride * size);
    shuffle_to(data, n, size, c->planes, stride);
    for (size_t k = 0; k < size; k++) {
        c->planes[k * stride + n] = 0;
        parts[k] = (deflate_part){k * stride, n, whole - n};
    }
    return pack_parts(c, c->planes, parts, size, patience_for(look), whole * size);
}

static size_t pack_whole(codec *c, const void *data, size_t n, size_t size, codec_look look)
{
    deflate_part parts[sizeof(uint64_t)];
    const uint8_t *in = data;
    if (size > 1) {
        VEC_RESERVE(c->planes, c->cap_planes, n * size);
        shuffle_to(data, n, size, c->planes, n);
        in = c->planes;
    }
    for (size_t k = 0; k < size; k++) {
        parts[k] = (deflate_part){k * n, n, 0};
    }
    size_t length = pack_parts(c, in, parts, size, patience_for(look), n * size);
    length = length > 0 ? length : pack_noise(c, in, n * size);
    MAREY_ASSERT(length > 0);
    return length;
}

size_t codec_pack_padded(codec *c, const void *data, size_t n, size_t whole, size_t size, codec_look look)
{
    MAREY_ASSERT(size >= 1 && size <= sizeof(uint64_t));
    size_t length = whole - n >= DEFLATE_LEAST_ZEROS ? pack_sparse(c, data, n, whole, size, look) : 0;
    if (length > 0 || n == whole) {
        return length > 0 ? length : pack_whole(c, data, n, size, look);
    }
    uint8_t *all = mem_calloc(whole, size);
    memcpy(all, data, n * size);
    length = pack_whole(c, all, whole, size, look);
    free(all);
    return length;
}

/* Where the next piece from `i` on is that is marked, or not. @return n where there is none */
static size_t next_piece(const uint64_t *pieces, size_t n, size_t i, bool is_marked)
{
    const uint64_t flip = is_marked ? 0 : UINT64_MAX;
    for (; i < n; i = (i / 64 + 1) * 64) {
        uint64_t m = (pieces[i / 64] ^ flip) >> i % 64;
        if (m != 0) {
            return i + (unsigned)__builtin_ctzll(m);
        }
    }
    return n;
}

/* Gaps of few pieces are not worth a part. */
static size_t parts_of(codec *c, size_t n, const uint64_t *pieces, size_t piece)
{
    enum { GAP = 4 };
    size_t n_parts = 0;
    size_t next;
    for (size_t i = 0; i < n; i = next) {
        size_t end = i;
        next = next_piece(pieces, n, i, true);
        while (next < n && next - end <= (i == end ? 0 : GAP)) {
            end = next_piece(pieces, n, next, false);
            next = next_piece(pieces, n, end, true);
        }
        VEC_RESERVE(c->parts, c->cap_parts, n_parts + 1);
        c->parts[n_parts++] = (deflate_part){i * piece, (end - i) * piece, (next - end) * piece};
    }
    return n_parts;
}

size_t codec_pack_pieces(codec *c, const uint8_t *bytes, size_t n_bytes, const uint64_t *pieces, size_t piece)
{
    MAREY_ASSERT(piece >= DEFLATE_LEAST_ZEROS && n_bytes % (64 * piece) == 0);
    size_t n_parts = parts_of(c, n_bytes / piece, pieces, piece);
    size_t length = pack_parts(c, bytes, c->parts, n_parts, DEFLATE_RUNS, n_bytes);
    length = length > 0 ? length : pack_noise(c, bytes, n_bytes);
    MAREY_ASSERT(length > 0);
    return length;
}

size_t codec_pack(codec *c, const void *data, size_t n, size_t size)
{
    return codec_pack_padded(c, data, n, n, size, CODEC_REPEATS);
}

bool codec_unpack(codec *c, const uint8_t *packed, size_t length, size_t n, size_t size, void *out)
{
    size_t bytes = n * size;
    if (!c->inflate) {
        c->inflate = libdeflate_alloc_decompressor();
        MAREY_ASSERT(c->inflate != NULL);
    }
    if (size == 1) {
        return libdeflate_zlib_decompress(c->inflate, packed, length, out, bytes, NULL) == LIBDEFLATE_SUCCESS;
    }
    VEC_RESERVE(c->planes, c->cap_planes, bytes);
    if (libdeflate_zlib_decompress(c->inflate, packed, length, c->planes, bytes, NULL) != LIBDEFLATE_SUCCESS) {
        return false;
    }
    unshuffle_bytes(c->planes, n, size, out);
    return true;
}

uint32_t codec_crc(const void *bytes, size_t n)
{
    return libdeflate_crc32(0, bytes, n);
}
