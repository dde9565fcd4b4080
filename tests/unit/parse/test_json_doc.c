/*
 * The JSON document parser: it gives the tree of a valid document exactly as written (numbers of more than 53 bits
 * included), forgives what profilers get wrong and counts it, keeps what is complete of a truncated document, and
 * refuses the rest with the byte offset. Depth costs no stack.
 */
#include "cm.h"

#include "base/diag.h"
#include "base/file.h"
#include "parse/json_doc.h"

static jdoc *parse(const char *text)
{
    jdoc *d = NULL;
    assert_int_equal(jdoc_parse(text, strlen(text), "t", NULL, &d), MAREY_OK);
    return d;
}

static void expect_bad(const char *text, uint64_t offset)
{
    diag d;
    diag_init(&d);
    jdoc *doc = NULL;
    assert_int_equal(jdoc_parse(text, strlen(text), "t", &d, &doc), MAREY_FORMAT);
    assert_null(doc);
    assert_int_equal(d.n_messages, 1);
    assert_int_equal(d.messages[0].offset, offset);
    diag_deinit(&d);
}

static void tree(void **state)
{
    (void)state;
    jdoc *d = parse(
        " {\"a\": [1, \"x\\u00e9\\\"\", {}, []], \"b\": {\"c\": true, \"c\": 1736405443862052.240}, \"d\":null}\n");
    strbuf b = {0};
    uint32_t a = jdoc_member(d, 0, "a");
    assert_true(jdoc_is(d, a, JDOC_ARRAY));
    assert_int_equal(d->nodes[a].n_children, 4);
    assert_string_equal(jdoc_text(d, jdoc_at(d, a, 1), &b), "x\xC3\xA9\"");
    assert_true(jdoc_is(d, jdoc_at(d, a, 2), JDOC_OBJECT));
    assert_int_equal(jdoc_at(d, a, 4), JDOC_NONE);
    assert_int_equal(jdoc_first(d, jdoc_at(d, a, 3)), JDOC_NONE);
    int64_t ns = 0;
    uint32_t c = jdoc_member(d, jdoc_member(d, 0, "b"), "c");
    assert_true(jdoc_us(d, c, &ns)); /* the last of equal names */
    assert_true(ns == INT64_C(1736405443862052240));
    assert_true(jdoc_text_is(d, jdoc_member(d, 0, "d"), "null"));
    assert_string_equal(jdoc_key(d, jdoc_member(d, 0, "d"), &b), "d");
    assert_int_equal(jdoc_member(d, c, "x"), JDOC_NONE);
    assert_int_equal(jdoc_member(d, JDOC_NONE, "x"), JDOC_NONE);
    assert_int_equal(d->n_repairs, 0);
    assert_false(d->truncated);
    strbuf_deinit(&b);
    jdoc_destroy(&d);
    assert_null(d);
}

static void numbers(void **state)
{
    (void)state;
    jdoc *d = parse("[\"12\", -3, 2.5, \"x\", 9223372036854775807, 1e3]");
    int64_t i = 0;
    double v = 0;
    assert_true(jdoc_i64(d, jdoc_at(d, 0, 0), &i) && i == 12);
    assert_true(jdoc_i64(d, jdoc_at(d, 0, 1), &i) && i == -3);
    assert_false(jdoc_i64(d, jdoc_at(d, 0, 2), &i));
    assert_false(jdoc_double(d, jdoc_at(d, 0, 3), &v));
    assert_true(jdoc_i64(d, jdoc_at(d, 0, 4), &i) && i == INT64_MAX);
    assert_true(jdoc_double(d, jdoc_at(d, 0, 5), &v) && v == 1000.0);
    assert_false(jdoc_double(d, 0, &v));
    assert_false(jdoc_i64(d, JDOC_NONE, &i));
    jdoc_destroy(&d);
}

static void forgiven(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t repairs;
        size_t n_children;
    } cases[] = {
        {"[1,2,]", 1, 2},     {"[,1]", 1, 1},        {"[1,,2]", 1, 2},       {"[{\"a\":1}{\"a\":2}]", 1, 2},
        {"[NaN, 1]", 1, 2},   {"[-Infinity]", 1, 1}, {"[1] trailing", 1, 1}, {"\xEF\xBB\xBF[1]", 0, 1},
        {"{\"a\":1,}", 1, 1}, {"[\"a\tb\"]", 0, 1},  {"[1]\n\n \t", 0, 1},   {"[1 2]", 1, 2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        jdoc *d = parse(cases[i].text);
        assert_int_equal(d->n_repairs, cases[i].repairs);
        assert_int_equal(d->nodes[0].n_children, cases[i].n_children);
        assert_false(d->truncated);
        jdoc_destroy(&d);
    }
}

static void truncated(void **state)
{
    (void)state;
    const char *text = "{\"a\": [1, 22], \"b\": \"xy\", \"c\": {\"d\": 5}}";
    for (size_t n = 1; n < strlen(text); n++) {
        jdoc *d = NULL;
        assert_int_equal(jdoc_parse(text, n, "t", NULL, &d), MAREY_OK);
        assert_true(d->truncated);
        uint32_t b = jdoc_member(d, 0, "b");
        assert_int_equal(b != JDOC_NONE, n >= 24);
        assert_true(b == JDOC_NONE || jdoc_text_is(d, b, "xy"));
        int64_t v = 22;
        uint32_t second = jdoc_at(d, jdoc_member(d, 0, "a"), 1);
        assert_true(second == JDOC_NONE || jdoc_i64(d, second, &v));
        assert_true(v == 22); /* never the 2 of a cut 22 */
        jdoc_destroy(&d);
    }
}

static void refused(void **state)
{
    (void)state;
    expect_bad("", 0);
    expect_bad("   ", 0);
    expect_bad("[1, @]", 4);
    expect_bad("[1}", 2);
    expect_bad("{\"a\" 1}", 5);
    expect_bad("{\"a\":}", 5);
    expect_bad("{1:2}", 1);
    expect_bad("]", 0);
    expect_bad("[hello]", 1);
    expect_bad("\"abc", 0);
}

static void deep(void **state)
{
    (void)state;
    enum { DEPTH = 3000000 };
    char *text = malloc(DEPTH);
    assert_non_null(text);
    memset(text, '[', DEPTH);
    jdoc *d = NULL;
    assert_int_equal(jdoc_parse(text, DEPTH, "t", NULL, &d), MAREY_OK);
    assert_true(d->truncated);
    assert_int_equal(d->n, DEPTH);
    jdoc_destroy(&d);
    free(text);
}

static void from_file(void **state)
{
    (void)state;
    char path[] = "/tmp/marey-jdoc-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    FILE *f = fdopen(fd, "wb");
    (void)fputs("{\"step1\": {\"a\": 1}, \"step2\": {\"a", f);
    (void)fclose(f);
    diag dg;
    diag_init(&dg);
    jdoc *d = NULL;
    assert_int_equal(jdoc_read(path, &dg, diag_file(&dg, path), &d), MAREY_OK);
    assert_int_equal(d->nodes[0].n_children, 2);
    assert_int_equal(diag_lost(&dg, MAREY_LOSS_TRUNCATED), 1);
    jdoc_destroy(&d);
    (void)remove(path);
    assert_int_equal(jdoc_read(path, &dg, 0, &d), MAREY_IO);
    assert_null(d);
    diag_deinit(&dg);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tree),    cmocka_unit_test(numbers), cmocka_unit_test(forgiven),  cmocka_unit_test(truncated),
        cmocka_unit_test(refused), cmocka_unit_test(deep),    cmocka_unit_test(from_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
