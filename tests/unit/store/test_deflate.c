/*
 * The writer's zlib streams: whatever the bytes, every inflater gives them back; the same bytes give the same stream;
 * what doesn't fit is refused and nothing is written behind the room; runs cost next to nothing. Inputs are those on
 * which codes degenerate: nothing, one byte, one symbol, no match, frequencies that grow like Fibonacci's numbers (the
 * deepest trees, which must be cut), matches at the window's edge, tokens by the ten thousand. And the byte planes that
 * most chunks are made of: plane k holds the k-th byte of every element, and they become elements again.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <libdeflate.h>

#include "base/clock.h"
#include "base/mem.h"
#include "store/codec.h"
#include "store/deflate.h"

/* @return length of the stream */
static size_t check(deflater *d, const uint8_t *in, size_t n)
{
    size_t cap = n + n / 8 + 1024;
    uint8_t *packed = mem_alloc(cap);
    uint8_t *again = mem_alloc(cap);
    uint8_t *out = mem_alloc(n + 1);
    size_t length = deflate_zlib(d, in, n, packed, cap);
    assert_int_not_equal(length, 0);
    assert_int_equal(deflate_zlib(d, in, n, again, cap), length);
    assert_memory_equal(packed, again, length);
    struct libdeflate_decompressor *i = libdeflate_alloc_decompressor();
    size_t used = 0;
    assert_int_equal(libdeflate_zlib_decompress_ex(i, packed, length, out, n, &used, NULL), LIBDEFLATE_SUCCESS);
    assert_int_equal(used, length);
    assert_memory_equal(out, in, n);
    libdeflate_free_decompressor(i);
    free(packed);
    free(again);
    free(out);
    return length;
}

static void degenerate(void **state)
{
    (void)state;
    deflater *d = deflater_create();
    uint8_t same[4096];
    memset(same, 7, sizeof same);
    for (size_t n = 0; n < 600; n++) {
        (void)check(d, same, n);
    }
    uint8_t two[64];
    for (size_t i = 0; i < sizeof two; i++) {
        two[i] = (uint8_t)(i * i * 37);
        (void)check(d, two, i);
    }
    uint8_t *zeros = mem_calloc(1, 311296);
    assert_true(check(d, zeros, 311296) < 400);
    zeros[311295] = 1;
    zeros[150000] = 9;
    assert_true(check(d, zeros, 311296) < 450);
    free(zeros);
    deflater_destroy(&d);
}

/* Symbol i as often as the i-th Fibonacci number: without a limit its codes would be over twenty bits long. */
static void deep_trees(void **state)
{
    (void)state;
    enum { SYMBOLS = 25 };
    size_t n = 0;
    uint8_t *in = mem_alloc(400000);
    size_t a = 1;
    size_t b = 1;
    for (unsigned s = 0; s < SYMBOLS; s++) {
        for (size_t i = 0; i < a && n < 400000; i++) {
            in[n++] = (uint8_t)(s * 9);
        }
        size_t next = a + b;
        a = b;
        b = next;
    }
    prng r;
    prng_seed(&r, 5);
    for (size_t i = n - 1; i > 0; i--) {
        size_t k = prng_below(&r, i + 1);
        uint8_t t = in[i];
        in[i] = in[k];
        in[k] = t;
    }
    deflater *d = deflater_create();
    (void)check(d, in, n);
    deflater_destroy(&d);
    free(in);
}

/* Random pieces: noise, runs, copies from near and from just inside and outside of the window. */
static void mixtures(void **state)
{
    (void)state;
    enum { MOST = 200000 };
    deflater *d = deflater_create();
    uint8_t *in = mem_alloc(MOST);
    for (unsigned seed = 0; seed < 120; seed++) {
        prng r;
        prng_seed(&r, seed);
        size_t wanted = seed < 100 ? prng_below(&r, 20000) : MOST;
        uint64_t alphabet = 1 + prng_below(&r, 256);
        size_t n = 0;
        while (n < wanted) {
            size_t piece = 1 + prng_below(&r, prng_below(&r, 4) ? 12 : 1500);
            piece = piece < wanted - n ? piece : wanted - n;
            uint64_t kind = prng_below(&r, 4);
            size_t edge = 32760 + prng_below(&r, 16);
            size_t back = kind == 3 && n > edge ? edge : n > 0 ? 1 + prng_below(&r, n) : 0;
            uint8_t fill = (uint8_t)prng_below(&r, alphabet);
            for (size_t i = 0; i < piece; i++, n++) {
                in[n] = kind == 0 ? (uint8_t)prng_below(&r, alphabet) : kind == 1 || back == 0 ? fill : in[n - back];
            }
        }
        (void)check(d, in, n);
    }
    free(in);
    deflater_destroy(&d);
}

static void refuses_what_does_not_fit(void **state)
{
    (void)state;
    enum { N = 5000 };
    uint8_t in[N];
    prng r;
    prng_seed(&r, 3);
    for (size_t i = 0; i < N; i++) {
        in[i] = (uint8_t)prng_below(&r, 20);
    }
    deflater *d = deflater_create();
    size_t full = check(d, in, N);
    for (size_t cap = 0; cap < full; cap += 1 + cap / 50) {
        uint8_t *out = mem_alloc(cap + 1); /* the sanitizer's edge */
        out[cap] = 0xa5;
        assert_int_equal(deflate_zlib(d, in, N, out, cap), 0);
        assert_int_equal(out[cap], 0xa5);
        free(out);
    }
    deflater_destroy(&d);
}

static void planes(void **state)
{
    (void)state;
    enum { MOST = 100 };
    uint8_t in[MOST * 8];
    uint8_t out[MOST * 8];
    uint8_t back[MOST * 8];
    prng r;
    prng_seed(&r, 8);
    for (size_t i = 0; i < sizeof in; i++) {
        in[i] = (uint8_t)prng_below(&r, 256);
    }
    for (size_t size = 1; size <= 8; size++) {
        for (size_t n = 0; n <= MOST; n++) {
            shuffle_bytes(in, n, size, out);
            for (size_t i = 0; i < n * size; i++) {
                assert_int_equal(out[i % size * n + i / size], in[i]);
            }
            unshuffle_bytes(out, n, size, back);
            assert_memory_equal(back, in, n * size);
        }
    }
}

/* Zeros that are not in memory give the same bytes as those that are. */
static void padding(void **state)
{
    (void)state;
    enum { WHOLE = 300 };
    static const size_t sizes[] = {1, 4, 8};
    uint64_t in[WHOLE];
    uint64_t noise[WHOLE];
    uint64_t out[WHOLE];
    codec c = {0};
    prng r;
    prng_seed(&r, 9);
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        for (size_t n = 0; n <= WHOLE; n += 1 + n / 3) {
            const size_t used = n * sizes[k];
            for (size_t i = 0; i < WHOLE; i++) {
                noise[i] = prng_below(&r, 1000000);
            }
            memset(in, 0, sizeof in);
            memcpy(in, noise, used);
            size_t length = codec_pack_padded(&c, noise, n, WHOLE, sizes[k]);
            uint8_t *padded = mem_alloc(length);
            memcpy(padded, c.packed, length);
            assert_true(codec_unpack(&c, padded, length, WHOLE, sizes[k], out));
            assert_memory_equal(out, in, WHOLE * sizes[k]);
            assert_int_equal(codec_pack(&c, in, WHOLE, sizes[k]), length);
            assert_memory_equal(c.packed, padded, length);
            free(padded);
        }
    }
    codec_deinit(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(degenerate), cmocka_unit_test(deep_trees),
        cmocka_unit_test(mixtures),   cmocka_unit_test(refuses_what_does_not_fit),
        cmocka_unit_test(planes),     cmocka_unit_test(padding),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
