/*
 * The text and JSON forms of protocol buffers become the bytes that the binary form has: numbers, words, strings with
 * escapes and in pieces, lists, nested messages in both brackets, maps, base64; fields that nobody reads are left out
 * whatever they hold; what is cut or damaged ends there, with its offset, and keeps what came before; depth costs
 * nothing.
 */
#include "cm.h"

#include "base/clock.h"
#include "parse/pbschema.h"
#include "parse/pbwire.h"

#define END                                                                                                            \
    {                                                                                                                  \
        NULL, 0, PB_KIND_INT, NULL, NULL                                                                               \
    }
static const pb_name colours[] = {{"RED", 1}, {"BLUE", 7}, {NULL, 0}};
static const pb_schema leaf;
static const pb_schema_field entry_fields[] = {
    {"key", 1, PB_KIND_STRING, NULL, NULL}, {"value", 2, PB_KIND_MESSAGE, &leaf, NULL}, END};
static const pb_schema entry = {entry_fields};
static const pb_schema_field leaf_fields[] = {{"i", 1, PB_KIND_INT, NULL, NULL},
                                              {"big_name", 2, PB_KIND_STRING, NULL, NULL},
                                              {"f", 3, PB_KIND_FLOAT, NULL, NULL},
                                              {"colour", 4, PB_KIND_INT, NULL, colours},
                                              {"leaf", 5, PB_KIND_MESSAGE, &leaf, NULL},
                                              {"map", 6, PB_KIND_MAP, &entry, NULL},
                                              {"raw", 7, PB_KIND_BYTES, NULL, NULL},
                                              {"d", 8, PB_KIND_DOUBLE, NULL, NULL},
                                              END};
static const pb_schema leaf = {leaf_fields};

/* Fields as "1=150 5={...}", so that expectations can be read. */
static void describe(const void *data, size_t n, strbuf *out)
{
    pb_reader r;
    pb_field f;
    pb_open(&r, data, n);
    while (pb_next(&r, &f)) {
        strbuf_printf(out, "%s%u=", out->n && out->s[out->n - 1] != '{' ? " " : "", f.number);
        if (f.number == 3) {
            strbuf_printf(out, "%g", (double)pb_float(&f));
        } else if (f.number == 8) {
            strbuf_printf(out, "%g", pb_double(&f));
        } else if (f.wire != PB_BYTES) {
            strbuf_printf(out, "%lld", (long long)f.value);
        } else if (f.number == 5 || f.number == 6) {
            strbuf_puts(out, "{");
            describe(f.data, f.size, out);
            strbuf_puts(out, "}");
        } else {
            strbuf_add(out, (const char *)f.data, f.size);
        }
    }
    assert_false(r.is_broken);
}

static pb_text_end expect_text(const char *text, const char *wanted)
{
    strbuf wire = {0};
    strbuf said = {0};
    pb_text_end end = pbtext_to_wire(text, strlen(text), &leaf, &wire);
    describe(strbuf_str(&wire), wire.n, &said);
    assert_string_equal(strbuf_str(&said), wanted);
    strbuf_deinit(&wire);
    strbuf_deinit(&said);
    return end;
}

static void expect_json(const char *text, const char *wanted)
{
    strbuf wire = {0};
    strbuf said = {0};
    jdoc *d = NULL;
    assert_int_equal(jdoc_parse(text, strlen(text), "t", NULL, &d), MAREY_OK);
    pbjson_to_wire(d, 0, &leaf, &wire);
    describe(strbuf_str(&wire), wire.n, &said);
    assert_string_equal(strbuf_str(&said), wanted);
    strbuf_deinit(&wire);
    strbuf_deinit(&said);
    jdoc_destroy(&d);
}

static void text_form(void **state)
{
    (void)state;
    pb_text_end end = expect_text("# a comment\ni: 150 f: -1.5f, d:1e3; colour: BLUE colour: 3 i:0x10 i: true",
                                  "1=150 3=-1.5 8=1000 4=7 4=3 1=16 1=1");
    assert_false(end.is_cut || end.is_damaged);
    (void)expect_text("big_name: \"a\\n\\101\\x42\\\"\" 'c' # on\n \"d\"", "2=a\nAB\"cd");
    (void)expect_text("leaf { i: 1 leaf < i: 2 > } leaf: { }", "5={1=1 5={1=2}} 5={}");
    (void)expect_text("i: [1, 2,3] leaf: [{i: 4}, {i: 5}] i: []", "1=1 1=2 1=3 5={1=4} 5={1=5}");
    (void)expect_text("other { deep { i: 1 s: \"}\" } } [ext.x] { a: 1 } other: \"x\" \"y\" i: 9", "1=9");
    (void)expect_text("f: inf f: -inf f: 2", "3=inf 3=-inf 3=2");
}

static void text_damage(void **state)
{
    (void)state;
    pb_text_end end = expect_text("i: 1 leaf { i: 2", "1=1 5={1=2}");
    assert_true(end.is_cut && end.at == 16);
    end = expect_text("i: 1 big_name: \"never ends", "1=1");
    assert_true(end.is_cut || end.is_damaged);
    end = expect_text("i: 1 } i: 2", "1=1");
    assert_true(end.is_damaged && end.at == 5);
    end = expect_text("leaf { i: 1 > i: 2", "5={1=1}");
    assert_true(end.is_damaged && end.at == 12);
    end = expect_text("i", "");
    assert_true(end.is_cut);
    end = expect_text("i: 3 \x01\x02", "1=3");
    assert_true(end.is_damaged && end.at == 5);
}

static void json_form(void **state)
{
    (void)state;
    expect_json("{\"i\": \"150\", \"bigName\": \"a\\u0062\", \"f\": 1.5, \"colour\": \"RED\", \"d\": -2}",
                "1=150 2=ab 3=1.5 4=1 8=-2");
    expect_json("{\"big_name\": \"x\", \"i\": [1, 2], \"leaf\": [{\"i\": 3}, {}], \"other\": {\"i\": 4}}",
                "2=x 1=1 1=2 5={1=3} 5={}");
    strbuf wire = {0};
    jdoc *d = NULL;
    const char *text = "{\"map\": {\"a\": {\"i\": 1}, \"b\": {\"leaf\": {\"i\": 2}}}}";
    assert_int_equal(jdoc_parse(text, strlen(text), "t", NULL, &d), MAREY_OK);
    pbjson_to_wire(d, 0, &leaf, &wire);
    pb_reader r;
    pb_reader in;
    pb_field f;
    pb_open(&r, wire.s, wire.n);
    assert_true(pb_next(&r, &f) && f.number == 6);
    assert_true(pb_next(&r, &f) && f.number == 6);
    pb_enter(&in, &r, &f);
    assert_true(pb_next(&in, &f) && f.number == 1 && f.size == 1 && f.data[0] == 'b');
    assert_true(pb_next(&in, &f) && f.number == 2);
    pb_enter(&r, &in, &f);
    assert_true(pb_next(&r, &f) && f.number == 5);
    pb_enter(&in, &r, &f);
    assert_true(pb_next(&in, &f) && f.number == 1 && f.value == 2);
    strbuf_deinit(&wire);
    jdoc_destroy(&d);
}

static void json_values(void **state)
{
    (void)state;
    expect_json("{\"raw\": \"TkhXQw==\", \"i\": null, \"i\": true, \"leaf\": 3, \"f\": {}}", "7=NHWC 1=1");
    expect_json("{\"raw\": \"not base64!\"}", "7=not base64!");
    expect_json("[1]", "");
}

static void depth(void **state)
{
    (void)state;
    strbuf text = {0};
    strbuf wire = {0};
    for (int i = 0; i < 20000; i++) {
        strbuf_puts(&text, "leaf{");
    }
    pb_text_end end = pbtext_to_wire(text.s, text.n, &leaf, &wire);
    assert_true(end.is_cut);
    assert_int_equal(wire.n, 20000 * 6);
    strbuf_deinit(&text);
    strbuf_deinit(&wire);
}

static void random_text(void **state)
{
    (void)state;
    static const char *const words[] = {"i",     "leaf", "map", ":", "{", "}",  "<",  ">",   "[", "]",
                                        "\"a\"", "'",    "1",   ",", "#", "\n", "\\", "raw", "-"};
    prng random;
    prng_seed(&random, 3);
    for (int i = 0; i < 50000; i++) {
        strbuf text = {0};
        strbuf wire = {0};
        for (uint64_t k = prng_below(&random, 20); k > 0; k--) {
            strbuf_puts(&text, words[prng_below(&random, sizeof words / sizeof *words)]);
        }
        char *copy = malloc(text.n + 1);
        memcpy(copy, strbuf_str(&text), text.n);
        (void)pbtext_to_wire(copy, text.n, &leaf, &wire);
        pb_reader r;
        pb_field f;
        pb_open(&r, strbuf_str(&wire), wire.n);
        while (pb_next(&r, &f)) {
        }
        assert_false(r.is_broken);
        free(copy);
        strbuf_deinit(&text);
        strbuf_deinit(&wire);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_form),   cmocka_unit_test(text_damage), cmocka_unit_test(json_form),
        cmocka_unit_test(json_values), cmocka_unit_test(depth),       cmocka_unit_test(random_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
