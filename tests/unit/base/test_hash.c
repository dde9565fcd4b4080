/*
 * Contract: the dictionary gives dense ids in order of first appearance and finds every string again, NUL bytes
 * included; the number map equals a plain array under random puts and removals.
 */
#include "cm.h"

#include "base/clock.h"
#include "base/hash.h"

static void interns_in_order(void **state)
{
    (void)state;
    intern t = {0};
    char text[32];
    for (uint32_t i = 0; i < 20000; i++) {
        int n = snprintf(text, sizeof text, "name %u", i);
        assert_int_equal(intern_put(&t, text, (size_t)n), i);
    }
    for (uint32_t i = 0; i < 20000; i++) {
        int n = snprintf(text, sizeof text, "name %u", i);
        uint32_t id = 0;
        assert_true(intern_find(&t, text, (size_t)n, &id));
        assert_int_equal(id, i);
        assert_string_equal(t.text[i], text);
    }
    uint32_t id = 0;
    assert_false(intern_find(&t, "absent", 6, &id));
    assert_int_equal(intern_put(&t, "a\0b", 3), 20000);
    assert_int_equal(intern_put(&t, "a\0c", 3), 20001);
    assert_int_equal(intern_put(&t, "", 0), 20002);
    intern_deinit(&t);
}

static void map_equals_array(void **state)
{
    (void)state;
    enum { KEYS = 500 };
    uint64_t model[KEYS] = {0};
    bool present[KEYS] = {0};
    map64 m = {0};
    prng r;
    prng_seed(&r, 3);
    for (int i = 0; i < 100000; i++) {
        uint64_t key = prng_below(&r, KEYS);
        if (prng_below(&r, 3) == 0) {
            assert_int_equal(map64_remove(&m, key * 64), present[key]);
            present[key] = false;
        } else {
            model[key] = prng_next(&r);
            *map64_put(&m, key * 64) = model[key];
            present[key] = true;
        }
        uint64_t probe = prng_below(&r, KEYS);
        uint64_t *value = map64_get(&m, probe * 64);
        assert_int_equal(value != NULL, present[probe]);
        assert_true(!value || *value == model[probe]);
    }
    map64_deinit(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(interns_in_order), cmocka_unit_test(map_equals_array)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
