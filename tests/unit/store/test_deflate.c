/*
 * The writer's zlib streams: whatever the bytes, every inflater gives them back; the same bytes give the same stream;
 * what doesn't fit is refused and nothing is written behind the room; runs cost next to nothing. Inputs are those on
 * which codes degenerate: nothing, one byte, one symbol, no match, frequencies that grow like Fibonacci's numbers (the
 * deepest trees, which must be cut), matches at the window's edge, tokens by the ten thousand, noise, zeros that are
 * only said to be there. The stream is the same whatever registers the processor has, and so are the codes: they make a
 * complete tree within their limit, in which what is more frequent has no longer code by more than the rounding. And
 * the byte planes that most chunks are made of: plane k holds the k-th byte of every element, and they become elements
 * again.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <libdeflate.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/text.h"
#include "store/codec.h"
#include "store/deflate.h"
#include "store/deflate_codes.h"

static void inflates_to(const uint8_t *packed, size_t length, const uint8_t *in, size_t n)
{
    uint8_t *out = mem_alloc(n + 1);
    size_t used = 0;
    struct libdeflate_decompressor *i = libdeflate_alloc_decompressor();
    assert_int_equal(libdeflate_zlib_decompress_ex(i, packed, length, out, n, &used, NULL), LIBDEFLATE_SUCCESS);
    assert_int_equal(used, length);
    assert_memory_equal(out, in, n);
    libdeflate_free_decompressor(i);
    free(out);
}

/* By parts of which only the runs are looked for: `all` is what they come to. */
static void check_runs(deflater *d, const uint8_t *in, const deflate_part *parts, size_t n_parts, const uint8_t *all,
                       size_t n)
{
    size_t cap = n + n / 8 + 1024;
    uint8_t *wide = mem_alloc(cap);
    uint8_t *plain = mem_alloc(cap);
    size_t length = deflate_parts(d, in, parts, n_parts, DEFLATE_RUNS, wide, cap);
    assert_int_not_equal(length, 0);
    inflates_to(wide, length, all, n);
    deflater_set_wide(d, false);
    assert_int_equal(deflate_parts(d, in, parts, n_parts, DEFLATE_RUNS, plain, cap), length);
    deflater_set_wide(d, true);
    assert_memory_equal(wide, plain, length);
    free(wide);
    free(plain);
}

/* @return length of the stream */
static size_t check(deflater *d, const uint8_t *in, size_t n)
{
    size_t cap = n + n / 8 + 1024;
    uint8_t *packed = mem_alloc(cap);
    uint8_t *again = mem_alloc(cap);
    size_t length = deflate_zlib(d, in, n, packed, cap);
    assert_int_not_equal(length, 0);
    assert_int_equal(deflate_zlib(d, in, n, again, cap), length);
    assert_memory_equal(packed, again, length);
    deflater_set_wide(d, false);
    assert_int_equal(deflate_zlib(d, in, n, again, cap), length);
    deflater_set_wide(d, true);
    assert_memory_equal(packed, again, length);
    inflates_to(packed, length, in, n);
    check_runs(d, in, &(deflate_part){0, n, 0}, 1, in, n);
    free(packed);
    free(again);
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

static void check_codes(const uint32_t *freq, unsigned n_symbols, unsigned limit)
{
    code wide[N_LITLEN];
    code plain[N_LITLEN];
    uint32_t room = 0;
    uint64_t total = 0;
    uint64_t bits = 0;
    unsigned n = 0;
    memset(wide, 0xff, sizeof wide);
    memset(plain, 0xff, sizeof plain);
    deflate_make_codes(freq, n_symbols, limit, deflate_is_wide(), wide);
    deflate_make_codes(freq, n_symbols, limit, false, plain);
    assert_memory_equal(wide, plain, n_symbols * sizeof *wide);
    for (unsigned i = 0; i < n_symbols; i++) {
        unsigned length = code_bits(plain[i]);
        assert_int_equal(length > 0, freq[i] > 0);
        assert_in_range(length, 0, limit);
        assert_int_equal(plain[i] >> CODE_SHIFT >> length, 0);
        room += freq[i] > 0 ? 1U << (limit - length) : 0;
        n += freq[i] > 0;
        total += freq[i];
        bits += (uint64_t)freq[i] * length;
    }
    assert_int_equal(room, n == 0 ? 0 : n == 1 ? 1U << (limit - 1) : 1U << limit);
    assert_true(n < 2 || bits <= total * 8 + total / 2); /* as with codes that are all alike, or near it */
}

/* Symbols by the hundred, as often as one another or not at all alike; also more than fit well under the limit. */
static void codes(void **state)
{
    (void)state;
    prng r;
    prng_seed(&r, 11);
    for (unsigned round = 0; round < 3000; round++) {
        uint32_t freq[N_LITLEN];
        unsigned n_symbols = 1 + (unsigned)prng_below(&r, N_LITLEN);
        unsigned shift = (unsigned)prng_below(&r, 22);
        unsigned missing = 1 + (unsigned)prng_below(&r, 4);
        for (unsigned i = 0; i < n_symbols; i++) {
            unsigned down = (unsigned)prng_below(&r, shift + 1);
            freq[i] = prng_below(&r, missing) ? 0 : 1 + (uint32_t)(prng_below(&r, UINT64_C(1) << 22) >> down);
        }
        check_codes(freq, n_symbols, 9 + round % 7);
    }
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

/* Bytes with gaps of zeros: in memory, as tiles have them, and not, as padded planes have them. */
static size_t make_parts(prng *r, const uint8_t *in, size_t n, bool is_dense, deflate_part *parts, strbuf *all)
{
    size_t n_parts = 0;
    strbuf_clear(all);
    for (size_t at = prng_below(r, 3); at < n; n_parts++) {
        size_t part = prng_below(r, prng_below(r, 3) ? 300 : 9000);
        part = part < n - at ? part : n - at;
        size_t zeros = 0;
        while (at + part + zeros < n && in[at + part + zeros] == 0) {
            zeros++;
        }
        zeros = zeros < DEFLATE_LEAST_ZEROS ? 0 : is_dense ? zeros : zeros + 100000;
        parts[n_parts] = (deflate_part){at, part, zeros};
        strbuf_add(all, (const char *)in + at, part);
        for (size_t i = 0; i < zeros; i++) {
            strbuf_add(all, "", 1);
        }
        at += part + (is_dense ? zeros : zeros > 0 ? 1 : 0) + (is_dense ? 0 : prng_below(r, 2));
    }
    return n_parts;
}

static void parts_with_zeros(void **state)
{
    (void)state;
    enum { N = 60000, MOST_PARTS = 70000 };
    deflater *d = deflater_create();
    uint8_t *in = mem_alloc(N);
    deflate_part *parts = mem_alloc(MOST_PARTS * sizeof *parts);
    strbuf all = {0};
    for (unsigned seed = 0; seed < 200; seed++) {
        prng r;
        prng_seed(&r, seed);
        uint64_t alphabet = 1 + prng_below(&r, 256);
        for (size_t i = 0; i < N;) {
            size_t run = 1 + prng_below(&r, 400);
            uint64_t kind = prng_below(&r, 3);
            for (; run > 0 && i < N; run--, i++) {
                in[i] = (uint8_t)(kind == 0 ? 0 : kind == 1 ? prng_below(&r, alphabet) : in[i / 2]);
            }
        }
        size_t n_parts = make_parts(&r, in, N, seed % 2 == 0, parts, &all);
        size_t cap = all.n + 1024;
        uint8_t *packed = mem_alloc(cap);
        size_t length = deflate_parts(d, in, parts, n_parts, seed % 6, packed, cap);
        assert_int_not_equal(length, 0);
        inflates_to(packed, length, (const uint8_t *)all.s, all.n);
        check_runs(d, in, parts, n_parts, (const uint8_t *)all.s, all.n);
        free(packed);
    }
    strbuf_deinit(&all);
    free(parts);
    free(in);
    deflater_destroy(&d);
}

/* Random bytes are stored, beside others that are not; what repeats is found though it looks random. */
static void noise(void **state)
{
    (void)state;
    enum { N = 100000, PERIOD = 20000 };
    deflater *d = deflater_create();
    uint8_t *in = mem_alloc(N);
    prng r;
    prng_seed(&r, 4);
    for (size_t n = 4000; n < N; n += n / 5) {
        for (size_t i = 0; i < n; i++) {
            in[i] = (uint8_t)prng_below(&r, 256);
        }
        assert_in_range(check(d, in, n), n, n + n / 1000 + 100);
    }
    for (size_t i = PERIOD; i < N; i++) {
        in[i] = in[i - PERIOD];
    }
    assert_in_range(check(d, in, N), PERIOD, 2 * PERIOD);
    for (size_t i = 0; i < N; i++) {
        in[i] = (uint8_t)(prng_below(&r, 160) + i % 2);
    }
    assert_in_range(check(d, in, N), 1, N - N / 20);
    free(in);
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

/* Zeros that are not in memory come back like those that are. */
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
    unsigned i_round = 0;
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        for (size_t n = 0; n <= WHOLE; n += 1 + n / 3, i_round++) {
            const size_t used = n * sizes[k];
            for (size_t i = 0; i < WHOLE; i++) {
                noise[i] = prng_below(&r, 1000000);
            }
            memset(in, 0, sizeof in);
            memcpy(in, noise, used);
            codec_look look = i_round % 2 ? CODEC_RUNS : CODEC_REPEATS;
            size_t length = codec_pack_padded(&c, noise, n, WHOLE, sizes[k], look);
            uint8_t *padded = mem_alloc(length);
            memcpy(padded, c.packed, length);
            assert_true(codec_unpack(&c, padded, length, WHOLE, sizes[k], out));
            assert_memory_equal(out, in, WHOLE * sizes[k]);
            free(padded);
        }
    }
    codec_deinit(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(degenerate),
        cmocka_unit_test(deep_trees),
        cmocka_unit_test(codes),
        cmocka_unit_test(mixtures),
        cmocka_unit_test(refuses_what_does_not_fit),
        cmocka_unit_test(planes),
        cmocka_unit_test(padding),
        cmocka_unit_test(noise),
        cmocka_unit_test(parts_with_zeros),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
