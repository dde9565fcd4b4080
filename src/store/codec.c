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
    free(c->packed);
    *c = (codec){0};
}

/* ------------------------------------------------------------------ shuffle */

#ifdef __SSE2__
/* Sixteen elements of four bytes become four rows of sixteen bytes, by four rounds of interleaving halves. */
static void planes4(const uint8_t *in, size_t stride, uint8_t *out)
{
    __m128i r[4];
    for (unsigned k = 0; k < 4; k++) {
        r[k] = _mm_loadu_si128((const __m128i *)(const void *)(in + k * 16));
    }
    for (unsigned round = 0; round < 4; round++) {
        __m128i a = _mm_unpacklo_epi8(r[0], r[2]);
        __m128i b = _mm_unpackhi_epi8(r[0], r[2]);
        __m128i c = _mm_unpacklo_epi8(r[1], r[3]);
        r[3] = _mm_unpackhi_epi8(r[1], r[3]);
        r[0] = a;
        r[1] = b;
        r[2] = c;
    }
    for (unsigned k = 0; k < 4; k++) {
        _mm_storeu_si128((__m128i *)(void *)(out + k * stride), r[k]);
    }
}

/* Bytes of the first half and of the second in turn: the highest bit of a byte's place becomes its lowest. */
static inline void interleave8(const __m128i *from, __m128i *to)
{
    for (unsigned k = 0; k < 4; k++) {
        to[2 * k] = _mm_unpacklo_epi8(from[k], from[k + 4]);
        to[2 * k + 1] = _mm_unpackhi_epi8(from[k], from[k + 4]);
    }
}

/* The same for elements of eight bytes. */
static void planes8(const uint8_t *in, size_t stride, uint8_t *out)
{
    __m128i r[8];
    __m128i t[8];
    for (unsigned k = 0; k < 8; k++) {
        r[k] = _mm_loadu_si128((const __m128i *)(const void *)(in + k * 16));
    }
    interleave8(r, t);
    interleave8(t, r);
    interleave8(r, t);
    interleave8(t, r);
    for (unsigned k = 0; k < 8; k++) {
        _mm_storeu_si128((__m128i *)(void *)(out + k * stride), r[k]);
    }
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

/* What the packer reads: the planes, or the bytes themselves. */
static const uint8_t *planes_of(codec *c, const void *data, size_t n, size_t whole, size_t size)
{
    if (size == 1 && n == whole) {
        return data;
    }
    VEC_RESERVE(c->planes, c->cap_planes, whole * size);
    shuffle_to(data, n, size, c->planes, whole);
    for (size_t k = 0; k < size; k++) {
        memset(c->planes + k * whole + n, 0, whole - n);
    }
    return c->planes;
}

size_t codec_pack_padded(codec *c, const void *data, size_t n, size_t whole, size_t size)
{
    size_t bytes = whole * size;
    const uint8_t *in = planes_of(c, data, n, whole, size);
    if (!c->runs) {
        c->runs = deflater_create();
    }
    VEC_RESERVE(c->packed, c->cap_packed, codec_bound(bytes));
    /* Room that depends on nothing but the input, so that equal inputs give equal files. */
    size_t length = deflate_zlib(c->runs, in, bytes, c->packed, bytes + DEFLATE_SLACK);
    if (length == 0) { /* hardly anything repeats, and libdeflate knows how to store bytes as they are */
        if (!c->deflate) {
            c->deflate = libdeflate_alloc_compressor(1);
            MAREY_ASSERT(c->deflate != NULL);
        }
        length = libdeflate_zlib_compress(c->deflate, in, bytes, c->packed, c->cap_packed);
    }
    MAREY_ASSERT(length > 0);
    return length;
}

size_t codec_pack(codec *c, const void *data, size_t n, size_t size)
{
    return codec_pack_padded(c, data, n, n, size);
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
