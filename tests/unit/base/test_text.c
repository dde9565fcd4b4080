/*
 * Contract: times and quantities are written and read exactly, UTF-8 is decoded as the standard says and repaired with
 * U+FFFD, and the JSON writer's output is valid whatever strings it gets.
 */
#include "cm.h"

#include "base/text.h"

static void expect_time(const char *text, int64_t want)
{
    int64_t ns = -1;
    assert_true(time_parse(text, strlen(text), &ns));
    assert_int_equal(ns, want);
}

static void parses_times(void **state)
{
    (void)state;
    expect_time("250", 250);
    expect_time("12.5ms", 12500000);
    expect_time("3s", 3000000000);
    expect_time("1h2m", 3720000000000);
    expect_time("1.000000001s", 1000000001);
    expect_time("0.1us", 100);
    expect_time("-5us", -5000);
    expect_time("2min", 120000000000);
    expect_time("1.5d", 129600000000000);
}

static void refuses_what_is_no_time(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "", "ms", "12 parsecs", "1..2", "99999999999999999999", "-", "9223372036854775807s", "5x"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        int64_t ns = 7;
        assert_false(time_parse(bad[i], strlen(bad[i]), &ns));
        assert_int_equal(ns, 7);
    }
}

static void parses_ranges(void **state)
{
    (void)state;
    int64_t a = -1;
    int64_t b = -2;
    assert_true(time_parse_range("1ms..2ms", &a, &b));
    assert_int_equal(a, 1000000);
    assert_int_equal(b, 2000000);
    assert_true(time_parse_range("..7", &a, &b));
    assert_int_equal(a, 1000000);
    assert_int_equal(b, 7);
    assert_false(time_parse_range("1ms", &a, &b));
}

static void expect_words(int64_t ns, const char *rough, const char *exact)
{
    char out[64];
    time_format(ns, out, sizeof out);
    assert_string_equal(out, rough);
    time_format_exact(ns, out, sizeof out);
    assert_string_equal(out, exact);
}

static void formats_times(void **state)
{
    (void)state;
    expect_words(0, "0 ns", "0 ns");
    expect_words(17, "17 ns", "17 ns");
    expect_words(1500, "1.500 \xC2\xB5s", "1.500 \xC2\xB5s");
    expect_words(602640127, "602.6 ms",
                 "602.640\xE2\x80\x89"
                 "127 ms");
    expect_words(1246000000, "1.246 s",
                 "1.246\xE2\x80\x89"
                 "000\xE2\x80\x89"
                 "000 s");
    expect_words(7380000000000, "2 h 03 min",
                 "7380.000\xE2\x80\x89"
                 "000\xE2\x80\x89"
                 "000 s");
    expect_words(-1500, "-1.500 \xC2\xB5s", "-1.500 \xC2\xB5s");
}

static void formats_counts(void **state)
{
    (void)state;
    char out[64];
    count_format(1234567, out, sizeof out);
    assert_string_equal(out, "1\xE2\x80\x89"
                             "234\xE2\x80\x89"
                             "567");
    count_format(12, out, sizeof out);
    assert_string_equal(out, "12");
    count_format_short(41200000, out, sizeof out);
    assert_string_equal(out, "41.2 M");
    bytes_format(1536, out, sizeof out);
    assert_string_equal(out, "1.5 KiB");
}

static void cleans_utf8(void **state)
{
    (void)state;
    static const struct {
        const char *in, *out;
        size_t changed;
    } cases[] = {
        {"plain", "plain", 0},
        {"\xE7\x9F\xA9\xE9\x98\xB5", "\xE7\x9F\xA9\xE9\x98\xB5", 0},
        {"a\xFF"
         "b",
         "a\xEF\xBF\xBD"
         "b",
         1},
        {"\xC0\x80", "\xEF\xBF\xBD\xEF\xBF\xBD", 2},                 /* overlong NUL */
        {"\xED\xA0\x80", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD", 3}, /* lone surrogate */
        {"\xE7\x9F", "\xEF\xBF\xBD\xEF\xBF\xBD", 2},                 /* cut */
        {"a\x01\x1F"
         "b",
         "ab", 2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        strbuf out = {0};
        assert_int_equal(utf8_clean(&out, cases[i].in, strlen(cases[i].in)), cases[i].changed);
        assert_string_equal(strbuf_str(&out), cases[i].out);
        strbuf_deinit(&out);
    }
}

static void utf8_round_trip(void **state)
{
    (void)state;
    for (uint32_t code = 0; code < 0x110000; code += code < 0x3000 ? 1 : 97) {
        char bytes[4];
        if (code >= 0xD800 && code < 0xE000) {
            continue;
        }
        size_t n = utf8_put(code, bytes);
        size_t i = 0;
        assert_int_equal(utf8_valid_len(bytes, n), n);
        assert_int_equal(utf8_next(bytes, n, &i), code);
        assert_int_equal(i, n);
    }
}

static void writes_json(void **state)
{
    (void)state;
    strbuf b = {0};
    json_out j = {.buf = &b};
    json_begin(&j, '{');
    json_kstr(&j, "a\"b", "x\n\\\xFF");
    json_key(&j, "list");
    json_begin(&j, '[');
    json_int(&j, INT64_MIN);
    json_uint(&j, UINT64_MAX);
    json_real(&j, 0.0 / 1.0);
    json_begin(&j, '{');
    json_end(&j, '}');
    json_end(&j, ']');
    json_kstr(&j, "none", NULL);
    json_end(&j, '}');
    assert_string_equal(strbuf_str(&b),
                        "{\"a\\\"b\":\"x\\u000a\\\\\\ufffd\",\"list\":[-9223372036854775808,18446744073709551615,0,{}],"
                        "\"none\":null}\n");
    strbuf_deinit(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parses_times),    cmocka_unit_test(refuses_what_is_no_time),
        cmocka_unit_test(parses_ranges),   cmocka_unit_test(formats_times),
        cmocka_unit_test(formats_counts),  cmocka_unit_test(cleans_utf8),
        cmocka_unit_test(utf8_round_trip), cmocka_unit_test(writes_json),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
