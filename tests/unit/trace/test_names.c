/*
 * Contract: a name's number is that of its bytes and its source, however alike names are. Names of every length that
 * share their ends, their middle or all but one byte take turns.
 */
#include "cm.h"

#include "base/clock.h"
#include "base/mem.h"
#include "trace/builder.h"

enum { LENGTHS = 90, EACH = 12, SOURCES = 3, TURNS = 200000 };

static void alike(void **state)
{
    (void)state;
    prng r;
    prng_seed(&r, 3);
    trace_builder b;
    trace_builder_init(&b);
    char *names[LENGTHS][EACH];
    for (unsigned n = 0; n < LENGTHS; n++) {
        for (unsigned i = 0; i < EACH; i++) {
            names[n][i] = mem_alloc(n ? n : 1); /* nothing behind it, so that a sanitizer sees its end */
            memset(names[n][i], 'a', n);
            if (n > 0 && i > 0) {
                names[n][i][prng_below(&r, n)] = (char)prng_below(&r, 256);
            }
        }
    }
    for (unsigned turn = 0; turn < TURNS; turn++) {
        size_t n = prng_below(&r, LENGTHS);
        const char *name = names[n][prng_below(&r, EACH)];
        uint32_t source = (uint32_t)prng_below(&r, SOURCES);
        (void)trace_builder_expect_name(&b, name, n);
        uint32_t id = trace_builder_name_raw(&b, name, n, source);
        assert_true(id < b.n_names && b.names[id].source == source);
        assert_int_equal(b.strings.len[b.names[id].text], n);
        assert_memory_equal(b.strings.text[b.names[id].text], name, n);
        assert_int_equal(id, trace_builder_name(&b, trace_builder_string(&b, name, n), source));
    }
    for (unsigned n = 0; n < LENGTHS; n++) {
        for (unsigned i = 0; i < EACH; i++) {
            free(names[n][i]);
        }
    }
    trace_builder_deinit(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(alike)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
