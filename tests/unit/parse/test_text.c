/*
 * JSON strings become clean UTF-8: escapes and surrogate pairs decoded, what is invalid replaced and counted, control
 * bytes left out and counted. Spans of small objects are iterated in order; damaged text ends the iteration.
 */
#include "cm.h"

#include "parse/jkeys.h"
#include "parse/jspan.h"
#include "parse/jtext.h"

static void check_text(const char *raw, size_t n, const char *want, uint64_t bad, uint64_t control)
{
    strbuf out = {0};
    jtext_counts counts = {0};
    jtext_decode(raw, n, &out, &counts);
    assert_string_equal(strbuf_str(&out), want);
    assert_int_equal(counts.bad_utf8, bad);
    assert_int_equal(counts.control_bytes, control);
    strbuf_deinit(&out);
}
#define CHECK_TEXT(raw, want, bad, control) check_text(raw, sizeof(raw) - 1, want, bad, control)

static void strings_are_decoded(void **state)
{
    (void)state;
    CHECK_TEXT("plain", "plain", 0, 0);
    CHECK_TEXT("a\\\"b\\\\c\\/d", "a\"b\\c/d", 0, 0);
    CHECK_TEXT("\\u0041\\u00e9\\u20AC", "A\xC3\xA9\xE2\x82\xAC", 0, 0);
    CHECK_TEXT("\\ud83d\\ude00", "\xF0\x9F\x98\x80", 0, 0);
    CHECK_TEXT("\\ud83d", "\xEF\xBF\xBD", 1, 0);
    CHECK_TEXT("\\ude00\\ud83d", "\xEF\xBF\xBD\xEF\xBF\xBD", 2, 0);
    CHECK_TEXT("\\ud83d\\u0041",
               "\xEF\xBF\xBD"
               "A",
               1, 0);
    CHECK_TEXT("\xC3\xA9", "\xC3\xA9", 0, 0);
    CHECK_TEXT("\xFF\xC0\x80", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD", 3, 0);
    CHECK_TEXT("cut \xE2\x82", "cut \xEF\xBF\xBD\xEF\xBF\xBD", 2, 0);
    CHECK_TEXT("a\x01"
               "b\x7F",
               "ab", 0, 2);
    CHECK_TEXT("a\\u0000b\\b", "ab", 0, 2);
    CHECK_TEXT("tab\\tnew\\n", "tab new ", 0, 0);
    CHECK_TEXT("\\q \\u12 \\", "\\q \\u12 \\", 0, 0);
    assert_true(jtext_is_plain("abc", 3));
    assert_false(jtext_is_plain("a\\n", 3));
}

static void members_come_in_order(void **state)
{
    (void)state;
    static const char text[] = "{\"a\": 1, \"b\" : \"x\\\"y\", \"c\":[1,{\"d\":2}], \"e\":null,\"a\":2 }";
    jspan object = {text, sizeof text - 1, JKIND_OBJECT};
    jspan key;
    jspan value;
    char keys[8] = {0};
    size_t n = 0;
    for (jiter it = jiter_begin(object); jiter_next(&it, &key, &value);) {
        keys[n++] = key.s[0];
    }
    assert_string_equal(keys, "abcea");
    assert_true(jspan_is(jspan_member(object, "b"), "x\\\"y"));
    assert_true(jspan_is(jspan_member(object, "c"), "[1,{\"d\":2}]"));
    assert_true(jspan_is(jspan_member(object, "a"), "2"));
    assert_int_equal(jspan_member(object, "z").kind, JKIND_NONE);
}

static void damaged_members_end(void **state)
{
    (void)state;
    static const char *const texts[] = {"{}", "{\"a", "{\"a\":}", "{:::}", "{\"a\":[1,2}",
                                        "[]", "[,,]", "[1 2",     "{]}",   "{\"\\\"}"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        size_t len = strlen(texts[i]);
        char *copy = malloc(len);
        memcpy(copy, texts[i], len);
        jspan span = {copy, (uint32_t)len, texts[i][0] == '{' ? JKIND_OBJECT : JKIND_ARRAY};
        jspan key;
        jspan value;
        size_t n = 0;
        for (jiter it = jiter_begin(span); jiter_next(&it, &key, &value);) {
            assert_true(++n < 10);
            assert_true(value.s >= copy && value.s + value.n <= copy + len);
        }
        free(copy);
    }
}

static jarg find_arg(const jkeys *k, const char *key)
{
    char text[96];
    (void)snprintf(text, sizeof text, "          {\"%s\":", key);
    const char *quote = text + strlen(text) - 2;
    return jkeys_arg(k, quote, text + 10);
}

static void keys_are_found(void **state)
{
    (void)state;
    static jkeys k;
    jkeys_init(&k);
#define X(name, text) assert_int_equal(jkeys_event(&k, text "\"       ", strlen(text)), JKEY_##name);
    JKEY_LIST(X)
#undef X
#define X(name, text) assert_int_equal(find_arg(&k, text), JARG_##name);
    JARG_LIST(X)
#undef X
    static const char *const others[] = {"",   "x",      "Xcorrelation",  "correlatio", "SSeq",
                                         "eq", "dtypes", "Process Group", "nelems"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        assert_int_equal(find_arg(&k, others[i]), JARG_NONE);
    }
    assert_int_equal(jkeys_event(&k, "phx         ", 3), JKEY_NONE);
    assert_int_equal(jkeys_event(&k, "            ", 0), JKEY_NONE);
    assert_int_equal(jkeys_event(&k, "flow_outs    ", 9), JKEY_NONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strings_are_decoded),
        cmocka_unit_test(members_come_in_order),
        cmocka_unit_test(damaged_members_end),
        cmocka_unit_test(keys_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
