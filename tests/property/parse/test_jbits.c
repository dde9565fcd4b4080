/*
 * All variants of the bitmaps give the bits of the plain one, whatever the text, and whether it is taken at once or in
 * two calls; and the plain one agrees with a byte-by-byte reading of what a string is.
 */
#include "cm.h"

#include "base/clock.h"
#include "base/mem.h"
#include "parse/jbits.h"

enum { BLOCKS = 12, ROUNDS = 4000 };

static void fill(uint8_t *text, size_t n, prng *r)
{
    static const char marks[] = "\"\"\\\\{}[]:, \n";
    uint64_t density = 1 + prng_below(r, 12);
    for (size_t i = 0; i < n; i++) {
        text[i] = prng_below(r, density) == 0 ? (uint8_t)marks[prng_below(r, sizeof marks - 1)] : (uint8_t)prng_next(r);
    }
    if (prng_below(r, 8) == 0) {
        memset(text + prng_below(r, n / 2), '\\', (size_t)prng_below(r, n / 2));
    }
}

static void check_variant(jbits_fn fn, const uint8_t *text, bool inside, const jblock *want, prng *r)
{
    jblock got[BLOCKS];
    jbits_state s = {.in_string = inside ? UINT64_MAX : 0};
    size_t first = (size_t)prng_below(r, BLOCKS + 1);
    fn(text, first, &s, got);
    fn(text + first * 64, BLOCKS - first, &s, got + first);
    assert_memory_equal(got, want, sizeof got);
}

/* What each byte is, told without any bit tricks. */
static void check_plainly(const uint8_t *text, bool inside, const jblock *bits)
{
    bool escaped = false;
    for (size_t i = 0; i < (size_t)BLOCKS * 64; i++) {
        bool quote = text[i] == '"' && !escaped;
        bool mark = !inside && text[i] && strchr("{}[]:,", text[i]);
        const jblock *b = &bits[i / 64];
        unsigned bit = i % 64;
        assert_int_equal(b->tokens >> bit & 1, quote || mark);
        assert_int_equal(b->braces >> bit & 1, mark && (text[i] == '{' || text[i] == '}'));
        assert_int_equal(b->brackets >> bit & 1, mark && (text[i] == '[' || text[i] == ']'));
        assert_int_equal(b->colons >> bit & 1, mark && text[i] == ':');
        inside = quote ? !inside : inside;
        escaped = text[i] == '\\' && !escaped;
    }
}

static void variants_agree(void **state)
{
    (void)state;
    jbits_fn variants[] = {jbits_avx512(), jbits_avx2(), jbits_128(), jbits};
    prng r;
    prng_seed(&r, 5);
    /* Of its own size, so that a read past the end is seen. */
    uint8_t *text = mem_alloc((size_t)BLOCKS * 64);
    for (int i = 0; i < ROUNDS; i++) {
        fill(text, (size_t)BLOCKS * 64, &r);
        bool inside = prng_below(&r, 2);
        jbits_state s = {.in_string = inside ? UINT64_MAX : 0};
        jblock want[BLOCKS];
        jbits_scalar()(text, BLOCKS, &s, want);
        check_plainly(text, inside, want);
        for (size_t k = 0; k < sizeof variants / sizeof *variants; k++) {
            if (variants[k]) {
                check_variant(variants[k], text, inside, want, &r);
            }
        }
    }
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(variants_agree)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
