/*
 * Contract: arguments come back byte for byte, whatever they hold; streams of damaged bytes give FORMAT, never a crash;
 * the stream is the same whatever registers the processor has.
 *
 * Nasty texts: digits everywhere, leading zeros, runs of hundreds of digits, bytes 1 and 2, empty, binary, one template
 * with thousands of numbers, more unique texts than the dictionary takes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/mem.h"
#include "store/args.h"

typedef struct texts {
    char **text;
    size_t *len;
    size_t n, cap, cap_len;
} texts;

static void put(texts *t, const char *s, size_t n)
{
    VEC_RESERVE(t->text, t->cap, t->n + 1);
    VEC_RESERVE(t->len, t->cap_len, t->n + 1);
    t->text[t->n] = mem_strndup(s, n);
    t->len[t->n++] = n;
}

static void drop(texts *t)
{
    for (size_t i = 0; i < t->n; i++) {
        free(t->text[i]);
    }
    free(t->text);
    free(t->len);
    *t = (texts){0};
}

/* The record of a text into memory of its own, so that a sanitizer sees its end. */
static char *record_of(arg_taker *taker, uint32_t kind, const char *text, size_t n, size_t *n_record)
{
    bool taken = n > 0 && arg_taker_take(taker, kind, text, n);
    size_t most = n == 0 ? 0 : taken ? arg_taker_record_most(taker) : sizeof(uint32_t) + n;
    char *record = mem_alloc(most + ARG_RECORD_PAD_BYTES);
    *n_record = most;
    if (taken) {
        *n_record = arg_taker_record(taker, record);
    } else if (n > 0) {
        arg_record_text(record, text, n);
    }
    return mem_realloc_array(record, *n_record + ARG_RECORD_PAD_BYTES, 1);
}

static void encode_by(arg_shapes *d, const texts *t, bool is_wide, strbuf *stream)
{
    arg_taker *taker = arg_taker_create(d);
    args_encoder *e = args_encoder_create(d);
    args_encoder_set_wide(e, is_wide);
    strbuf back = {0};
    for (unsigned round = 0; round < 2; round++) { /* the second block as if there had been none before */
        strbuf_clear(stream);
        args_encoder_begin(e);
        for (size_t i = 0; i < t->n; i++) {
            size_t n = 0;
            char *record = record_of(taker, (uint32_t)i % 5, t->text[i], t->len[i], &n);
            strbuf_clear(&back);
            if (n > 0) {
                arg_record_decode(d, record, n, &back);
            }
            assert_int_equal(back.n, t->len[i]);
            assert_memory_equal(strbuf_str(&back), t->text[i], back.n);
            args_encoder_add(e, &(const char *){record}, &(uint32_t){(uint32_t)n}, 1);
            free(record);
        }
        args_encoder_end(e, stream);
    }
    strbuf_deinit(&back);
    args_encoder_destroy(&e);
    arg_taker_destroy(&taker);
}

static void encode(arg_shapes *d, const texts *t, strbuf *stream)
{
    strbuf plain = {0};
    encode_by(d, t, true, stream);
    encode_by(d, t, false, &plain);
    assert_int_equal(plain.n, stream->n);
    assert_memory_equal(strbuf_str(&plain), strbuf_str(stream), plain.n);
    strbuf_deinit(&plain);
}

static args_templates templates_of(const arg_shapes *d, strbuf *bytes, uint64_t **start)
{
    *start = mem_alloc((d->texts.n + 1) * sizeof **start);
    for (size_t i = 0; i < d->texts.n; i++) {
        (*start)[i] = bytes->n;
        strbuf_add(bytes, d->texts.text[i], d->texts.len[i]);
    }
    (*start)[d->texts.n] = bytes->n;
    return (args_templates){strbuf_str(bytes), *start, d->texts.n};
}

/* @return bytes of the stream */
static size_t round_trip(arg_shapes *d, const texts *t)
{
    strbuf stream = {0};
    strbuf bytes = {0};
    strbuf out = {0};
    uint64_t *start;
    encode(d, t, &stream);
    args_templates all = templates_of(d, &bytes, &start);
    size_t every = t->n / 200 + 1;
    for (size_t i = 0; i < t->n; i += every) {
        strbuf_clear(&out);
        assert_int_equal(args_decode(&all, (const uint8_t *)stream.s, stream.n, (uint32_t)i, &out), MAREY_OK);
        assert_int_equal(out.n, t->len[i]);
        assert_memory_equal(strbuf_str(&out), t->text[i], t->len[i]);
    }
    size_t n = stream.n;
    strbuf_deinit(&stream);
    strbuf_deinit(&bytes);
    strbuf_deinit(&out);
    free(start);
    return n;
}

static void test_nasty(void **state)
{
    (void)state;
    static const char *const nasty[] = {
        "",
        "{}",
        "0",
        "00",
        "007",
        "1",
        "18446744073709551615",
        "99999999999999999999999999999999999999",
        "000000000000000000000000000000000000001",
        "-0.000123e-07",
        "1.5",
        "{\"a\":1,\"b\":[2,3,{\"c\":\"4x5\"}]}",
        "a1b2c3d4",
        "\x01",
        "\x02 7",
        "12\x01",
        "100000000000000000",
        "999999999999999999",
        "1000000000000000000",
        "\xff\xfe 5 \xf0",
        "1 22 333 4444 55555 666666 7777777 88888888 999999999",
        "0 0 0 00 0 000",
    };
    arg_shapes d;
    arg_shapes_init(&d);
    texts t = {0};
    for (unsigned round = 0; round < 4; round++) {
        for (size_t i = 0; i < sizeof nasty / sizeof nasty[0]; i++) {
            put(&t, nasty[i], strlen(nasty[i]));
        }
        put(&t, "a\0b1\0", 5);
    }
    (void)round_trip(&d, &t);
    (void)round_trip(&d, &t); /* with a dictionary that knows them */
    drop(&t);
    arg_shapes_deinit(&d);
}

static void test_random(void **state)
{
    (void)state;
    static const char letters[] = "0123456789019 \"{},:.-ax\x01\x02";
    arg_shapes d;
    arg_shapes_init(&d);
    prng g;
    for (unsigned seed = 0; seed < 60; seed++) {
        prng_seed(&g, seed);
        texts t = {0};
        for (unsigned i = 0; i < 200; i++) {
            char s[64];
            size_t n = prng_below(&g, sizeof s);
            size_t alphabet = seed % 3 == 0 ? 12 : sizeof letters - 1;
            for (size_t k = 0; k < n; k++) {
                s[k] = letters[prng_below(&g, alphabet)];
            }
            put(&t, s, n);
        }
        (void)round_trip(&d, &t);
        drop(&t);
    }
    arg_shapes_deinit(&d);
}

/* Changes of every width, in templates of every small number of values, of which some grow beyond 32 bits. */
static void test_widths(void **state)
{
    (void)state;
    arg_shapes d;
    arg_shapes_init(&d);
    strbuf b = {0};
    prng g;
    for (unsigned seed = 0; seed < 20; seed++) {
        prng_seed(&g, seed);
        texts t = {0};
        for (unsigned i = 0; i < 400; i++) {
            unsigned n_values = 1 + (unsigned)prng_below(&g, 20);
            unsigned widest = seed % 2 == 0 || n_values % 2 ? 32 : 64;
            strbuf_clear(&b);
            strbuf_printf(&b, "%u:", n_values);
            for (unsigned k = 0; k < n_values; k++) {
                uint64_t v = prng_below(&g, 3) ? prng_next(&g) >> (64 - 1 - prng_below(&g, widest)) : i;
                strbuf_printf(&b, " \"v\": %llu", (unsigned long long)v);
            }
            put(&t, b.s, b.n);
        }
        (void)round_trip(&d, &t);
        drop(&t);
    }
    strbuf_deinit(&b);
    arg_shapes_deinit(&d);
}

static void test_many_numbers(void **state)
{
    (void)state;
    arg_shapes d;
    arg_shapes_init(&d);
    texts t = {0};
    strbuf b = {0};
    for (unsigned k = 0; k < 3; k++) {
        for (unsigned n = 4094; n < 4099; n++) {
            strbuf_clear(&b);
            for (unsigned i = 0; i < n; i++) {
                strbuf_printf(&b, "%u,", i * k);
            }
            put(&t, b.s, b.n);
        }
        strbuf_clear(&b);
        for (unsigned i = 0; i < 70000; i++) {
            strbuf_puts(&b, "abc ");
        }
        put(&t, b.s, b.n);
    }
    (void)round_trip(&d, &t);
    strbuf_deinit(&b);
    drop(&t);
    arg_shapes_deinit(&d);
}

/* Texts of one kind shrink to their changing numbers. */
static void test_is_small(void **state)
{
    (void)state;
    arg_shapes d;
    arg_shapes_init(&d);
    texts t = {0};
    strbuf b = {0};
    size_t n = 0;
    for (unsigned i = 0; i < 10000; i++) {
        strbuf_clear(&b);
        strbuf_printf(&b,
                      "{\"External id\": %u, \"device\": 0, \"stream\": 7, \"correlation\": %u, \"grid\": [160, 1, 1]}",
                      5000 + i, 100 + 2 * i);
        put(&t, b.s, b.n);
        n += b.n;
    }
    assert_true(round_trip(&d, &t) * 15 < n);
    strbuf_deinit(&b);
    drop(&t);
    arg_shapes_deinit(&d);
}

/* More templates than the dictionary takes: the rest stays literal, all comes back. */
static void test_full_dictionary(void **state)
{
    (void)state;
    arg_shapes d;
    arg_shapes_init(&d);
    strbuf b = {0};
    for (unsigned block = 0; block < 5; block++) {
        texts t = {0};
        for (unsigned i = 0; i < 16000; i++) {
            strbuf_clear(&b);
            strbuf_printf(&b, "{\"name\": \"");
            for (unsigned v = i + block * 16000; v > 0; v /= 20) {
                strbuf_printf(&b, "%c", (int)('a' + v % 20));
            }
            strbuf_printf(&b, "\", \"id\": %u}", i);
            put(&t, b.s, b.n);
            put(&t, b.s, b.n);
        }
        (void)round_trip(&d, &t);
        drop(&t);
    }
    assert_true(d.texts.n <= ARG_SHAPES_MAX);
    assert_true(d.n_bytes <= ARG_SHAPES_BYTES_MAX);
    strbuf_deinit(&b);
    arg_shapes_deinit(&d);
}

static void test_damage(void **state)
{
    (void)state;
    arg_shapes d;
    arg_shapes_init(&d);
    texts t = {0};
    for (unsigned i = 0; i < 400; i++) {
        char s[80];
        int n = snprintf(s, sizeof s, i % 3 ? "{\"a\": %u, \"b\": 0%u}" : "[%u, \"x%u\"]", i, i * 7);
        put(&t, s, (size_t)n);
    }
    strbuf stream = {0};
    strbuf bytes = {0};
    strbuf out = {0};
    uint64_t *start;
    encode(&d, &t, &stream);
    args_templates all = templates_of(&d, &bytes, &start);
    prng g;
    prng_seed(&g, 5);
    unsigned n_failed = 0;
    for (unsigned i = 0; i < 20000; i++) {
        size_t n = prng_below(&g, 4) == 0 ? prng_below(&g, stream.n) : stream.n;
        uint8_t *copy = mem_alloc(n + 1); /* its own allocation, so that a sanitizer sees the end */
        memcpy(copy, stream.s, n);
        for (unsigned k = 0; n > 0 && k < 3; k++) {
            copy[prng_below(&g, n)] = (uint8_t)prng_next(&g);
        }
        strbuf_clear(&out);
        n_failed += args_decode(&all, copy, n, 399, &out) == MAREY_FORMAT;
        free(copy);
    }
    assert_true(n_failed > 1000);
    free(start);
    strbuf_deinit(&stream);
    strbuf_deinit(&bytes);
    strbuf_deinit(&out);
    drop(&t);
    arg_shapes_deinit(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nasty),    cmocka_unit_test(test_random), cmocka_unit_test(test_many_numbers),
        cmocka_unit_test(test_is_small), cmocka_unit_test(test_damage), cmocka_unit_test(test_full_dictionary),
        cmocka_unit_test(test_widths),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
