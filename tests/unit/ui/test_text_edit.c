/*
 * Contract of ui/text_edit.h: the caret stands only between clusters; every editing key does what desktops agree on;
 * what goes in is valid UTF-8 without control characters and bounded; after any series of keys the offsets are in range
 * and on cluster edges.
 */
#include "cm.h"

#include "base/clock.h"
#include "base/text.h"
#include "ui/text_edit.h"

#define E_ACUTE "e\xCC\x81"                                    /* e and a combining acute */
#define FAMILY  "\xF0\x9F\x91\xA9\xE2\x80\x8D\xF0\x9F\x91\xA7" /* woman, joiner, girl */
#define FLAG_FR "\xF0\x9F\x87\xAB\xF0\x9F\x87\xB7"
#define FLAG_DE "\xF0\x9F\x87\xA9\xF0\x9F\x87\xAA"
#define THUMB   "\xF0\x9F\x91\x8D\xF0\x9F\x8F\xBD" /* with a skin tone */
#define CHINESE "\xE5\x89\x8D\xE5\x90\x91"

static bool key(text_edit *e, const char *name)
{
    bool changed = false;
    (void)text_edit_key(e, name, &changed);
    return changed;
}

static void test_clusters(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t lengths[8];
    } cases[] = {
        {"abc", {1, 1, 1}},        {E_ACUTE "x", {3, 1}},      {"a" FAMILY "b", {1, 11, 1}},
        {FLAG_FR FLAG_DE, {8, 8}}, {THUMB CHINESE, {8, 3, 3}},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        const char *s = cases[c].text;
        size_t n = strlen(s);
        size_t at = 0;
        for (size_t k = 0; at < n; k++) {
            size_t next = text_next_cluster(s, n, at);
            assert_int_equal(next - at, cases[c].lengths[k]);
            assert_int_equal(text_previous_cluster(s, n, next), at);
            at = next;
        }
    }
}

static void test_moves_and_erasing(void **state)
{
    (void)state;
    text_edit e = {0};
    text_edit_set(&e, "a" E_ACUTE FAMILY);
    (void)key(&e, "Left");
    assert_int_equal(e.caret, 4);
    assert_true(key(&e, "Backspace"));
    assert_string_equal(e.text, "a" FAMILY);
    assert_true(key(&e, "Delete"));
    assert_string_equal(e.text, "a");
    assert_false(key(&e, "Delete"));
    (void)key(&e, "Home");
    assert_false(key(&e, "Backspace"));
    assert_int_equal(e.caret, 0);
}

static void test_words(void **state)
{
    (void)state;
    text_edit e = {0};
    text_edit_set(&e, "nccl AllReduce::" CHINESE " x_1");
    (void)key(&e, "Ctrl+Left");
    assert_string_equal(e.text + e.caret, "x_1");
    (void)key(&e, "Ctrl+Left");
    assert_string_equal(e.text + e.caret, CHINESE " x_1");
    assert_true(key(&e, "Ctrl+Backspace"));
    assert_string_equal(e.text, "nccl " CHINESE " x_1");
    (void)key(&e, "Home");
    (void)key(&e, "Ctrl+Right");
    assert_int_equal(e.caret, 4);
    assert_true(key(&e, "Ctrl+Delete"));
    assert_string_equal(e.text, "nccl x_1");
}

static void test_selection(void **state)
{
    (void)state;
    text_edit e = {0};
    text_edit_set(&e, "matmul");
    (void)key(&e, "Shift+Left");
    (void)key(&e, "Shift+Left");
    (void)text_edit_insert(&e, "A", 1);
    assert_string_equal(e.text, "matmA");
    (void)key(&e, "Ctrl+A");
    assert_int_equal(e.anchor, 0);
    (void)key(&e, "Left");
    assert_int_equal(e.caret, 0);
    assert_int_equal(e.anchor, 0);
    (void)key(&e, "Shift+End");
    assert_true(key(&e, "Backspace"));
    assert_int_equal(e.n, 0);
}

static void test_what_goes_in(void **state)
{
    (void)state;
    text_edit e = {0};
    text_edit_set(&e, "a\n\tb\x7F\xC2\x85\xFF\xC0\x80z");
    assert_string_equal(e.text, "abz");
    assert_false(text_edit_insert_code(&e, '\n'));
    assert_true(text_edit_insert_code(&e, 0x524D));
    for (int i = 0; i < 2000; i++) {
        (void)text_edit_insert(&e, CHINESE, 6);
    }
    assert_true(e.n <= TEXT_EDIT_MAX);
    assert_int_equal(e.text[e.n], 0);
    size_t n = e.n;
    assert_true(n > TEXT_EDIT_MAX - 6);
    /* A mark behind a letter joins it: the caret is behind both. */
    text_edit_set(&e, "e");
    assert_true(text_edit_insert_code(&e, 0x301));
    (void)key(&e, "Left");
    assert_int_equal(e.caret, 0);
}

static bool is_edge(const text_edit *e, size_t offset)
{
    size_t at = 0;
    while (at < offset) {
        at = text_next_cluster(e->text, e->n, at);
    }
    return at == offset;
}

static void test_any_series_of_keys(void **state)
{
    (void)state;
    static const char *const keys[] = {
        "Left", "Right", "Shift+Left", "Shift+Right", "Ctrl+Left",      "Ctrl+Shift+Right",
        "Home", "End",   "Backspace",  "Delete",      "Ctrl+Backspace", "Ctrl+A"};
    static const char *const texts[] = {"ab", E_ACUTE, FAMILY, FLAG_FR, THUMB, " ", "\xCC\x81", "::", CHINESE};
    prng r;
    prng_seed(&r, 11);
    text_edit e = {0};
    for (int i = 0; i < 20000; i++) {
        if (prng_below(&r, 3) == 0) {
            const char *t = texts[prng_below(&r, sizeof texts / sizeof *texts)];
            (void)text_edit_insert(&e, t, strlen(t));
        } else {
            (void)key(&e, keys[prng_below(&r, sizeof keys / sizeof *keys)]);
        }
        assert_true(e.caret <= e.n && e.anchor <= e.n && e.n <= TEXT_EDIT_MAX);
        assert_int_equal(strlen(e.text), e.n);
        assert_true(is_edge(&e, e.caret));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_clusters),     cmocka_unit_test(test_moves_and_erasing),
        cmocka_unit_test(test_words),        cmocka_unit_test(test_selection),
        cmocka_unit_test(test_what_goes_in), cmocka_unit_test(test_any_series_of_keys),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
