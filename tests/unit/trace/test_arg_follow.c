/*
 * Contract: what a taker guesses never shows. Followed where they lie, texts have the shape, the numbers and the places
 * that they have when they are taken apart by a taker that has met none before, and come back byte for byte.
 *
 * The texts are of few forms, which begin alike and part late. Their numbers mostly stay as they are; some grow, get
 * zeros in front, need more than 32 bits, or turn into something else.
 */
#include "cm.h"

#include "base/clock.h"
#include "base/mem.h"
#include "trace/arg_shapes.h"

enum { FORMS = 24, NUMBERS_MAX = 40, ROUNDS = 5, TEXTS = 1500, ROOM = 4096 };

/* A text of it: a literal before each number, and one behind the last. */
typedef struct form {
    unsigned n;
    strbuf literals[NUMBERS_MAX + 1];
    strbuf numbers[NUMBERS_MAX];
} form;

static void put_letters(prng *r, strbuf *out)
{
    static const char letters[] = "ab ,:\"[].-\n";
    for (unsigned n = 1 + (unsigned)prng_below(r, prng_below(r, 4) ? 12 : 110); n > 0; n--) {
        char c = letters[prng_below(r, sizeof letters - 1)];
        strbuf_add(out, &c, 1);
    }
}

static void put_number(prng *r, strbuf *out)
{
    unsigned kind = (unsigned)prng_below(r, 40);
    unsigned n = kind < 30 ? 1 + kind / 6 : 1 + (unsigned)prng_below(r, 45);
    strbuf_clear(out);
    for (unsigned i = 0; i < n; i++) {
        char c = (char)('0' + prng_below(r, 10));
        c = i == 0 && n > 1 && kind % 8 != 0 && c == '0' ? '1' : c;
        strbuf_add(out, &c, 1);
    }
    if (prng_below(r, 60) == 0) {
        strbuf_clear(out);
        strbuf_puts(out, prng_below(r, 2) ? "null" : "");
    }
}

/* Forms of even number are new; the one behind begins like it. */
static void make_forms(prng *r, form *forms)
{
    for (unsigned f = 0; f < FORMS; f++) {
        form *x = &forms[f];
        const form *like = f % 2 ? &forms[f - 1] : NULL;
        x->n = 1 + (unsigned)prng_below(r, prng_below(r, 2) ? 4 : NUMBERS_MAX);
        unsigned same = like ? (unsigned)prng_below(r, like->n + 1) : 0;
        for (unsigned i = 0; i <= x->n; i++) {
            strbuf_clear(&x->literals[i]);
            if (i < same) {
                strbuf_add(&x->literals[i], like->literals[i].s, like->literals[i].n);
            } else {
                put_letters(r, &x->literals[i]);
            }
            if (i < x->n) {
                put_number(r, &x->numbers[i]);
            }
        }
    }
}

static void put_text(prng *r, form *x, strbuf *out)
{
    unsigned some = (unsigned)prng_below(r, 10);
    strbuf_puts(out, "{");
    for (unsigned i = 0; i <= x->n; i++) {
        strbuf_add(out, x->literals[i].s, x->literals[i].n);
        if (i < x->n && (i % 7 == 1 || prng_below(r, some ? 30 : 3) == 0)) {
            put_number(r, &x->numbers[i]);
        }
        if (i < x->n) {
            strbuf_add(out, strbuf_str(&x->numbers[i]), x->numbers[i].n);
        }
    }
    strbuf_puts(out, "}");
}

/* As the record that a taker gives which has met no text before; nothing where the text stays as it is. */
static void same_as_new(arg_shapes *shapes, arg_taker *t, const char *text, size_t n)
{
    arg_taker *fresh = arg_taker_create(shapes);
    assert_true(arg_taker_take(fresh, 0, text, n));
    char *record = mem_alloc(arg_taker_record_most(t) + ARG_RECORD_PAD_BYTES);
    char *wanted = mem_alloc(arg_taker_record_most(fresh) + ARG_RECORD_PAD_BYTES);
    size_t n_record = arg_taker_record(t, record);
    size_t n_wanted = arg_taker_record(fresh, wanted);
    assert_int_equal(arg_record_shape(record), arg_record_shape(wanted));
    const arg_shape *shape = arg_shapes_at(shapes, arg_record_shape(record) - 1);
    arg_values a = arg_values_of(record);
    arg_values b = arg_values_of(wanted);
    for (uint32_t i = 0; i < shape->n_values; i++) {
        assert_true(arg_values_next(&a) == arg_values_next(&b));
    }
    assert_true(n_record == arg_record_bytes(shape->n_values, a.is_wide) && n_wanted <= n_record);
    for (uint32_t k = 0; k < shape->n_pieces; k++) {
        assert_int_equal(arg_taker_piece(t, k), arg_taker_piece(fresh, k));
    }
    arg_taker_places(t);
    for (uint32_t k = 0; k < shape->n_pieces; k++) {
        assert_int_equal(t->at[k], fresh->at[k]);
    }
    strbuf back = {0};
    arg_record_decode(shapes, record, n_record, &back);
    assert_int_equal(back.n, n);
    assert_memory_equal(back.s, text, n);
    strbuf_deinit(&back);
    free(record);
    free(wanted);
    arg_taker_destroy(&fresh);
}

/* @return how many texts were followed */
static unsigned follow_all(uint64_t seed, bool is_avx2)
{
    prng r;
    prng_seed(&r, seed);
    arg_shapes shapes;
    arg_shapes_init(&shapes);
    arg_taker *t = arg_taker_create(&shapes);
    t->is_avx2 = t->is_avx2 && is_avx2;
    form *forms = mem_calloc(FORMS, sizeof *forms);
    make_forms(&r, forms);
    strbuf text = {0};
    unsigned n_followed = 0;
    unsigned at = 0;
    for (unsigned i = 0; i < TEXTS; i++) {
        at = prng_below(&r, 5) ? (at + 1) % FORMS : (unsigned)prng_below(&r, FORMS);
        strbuf_clear(&text);
        put_text(&r, &forms[at], &text);
        size_t n = text.n;
        size_t more = prng_below(&r, 8) ? ROOM : prng_below(&r, 300);
        for (size_t k = 0; k < more + ARG_PAD_BYTES; k++) {
            strbuf_puts(&text, prng_below(&r, 2) ? "1" : ",");
        }
        size_t len = arg_taker_follow(t, at / 6, text.s, n + more);
        assert_true(len == 0 || len == n);
        n_followed += len > 0;
        if (arg_taker_followed(t, text.s, n) || arg_taker_take(t, at / 6, text.s, n)) {
            same_as_new(&shapes, t, text.s, n);
        }
    }
    for (unsigned f = 0; f < FORMS; f++) {
        for (unsigned i = 0; i <= NUMBERS_MAX; i++) {
            strbuf_deinit(&forms[f].literals[i]);
            strbuf_deinit(&forms[f].numbers[i % NUMBERS_MAX]);
        }
    }
    free(forms);
    strbuf_deinit(&text);
    arg_taker_destroy(&t);
    arg_shapes_deinit(&shapes);
    return n_followed;
}

static void followed_as_taken(void **state)
{
    (void)state;
    for (unsigned round = 0; round < ROUNDS; round++) {
        unsigned n = follow_all(round, true);
        assert_int_equal(n, follow_all(round, false));
        assert_true(n > TEXTS / 4);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(followed_as_taken)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
