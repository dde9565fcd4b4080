/*
 * Parts of a stream that threads read by themselves meet: on text with events of all sizes, strings that look like the
 * end of one event and the begin of the next, long blanks and no events at all, with parts of any size, each part
 * begins where the one before has ended, and together they are the text. Where parts end early, the rest is the
 * caller's. Text that is given out in turn and text that is not copied are held to the same.
 */
#include "cm.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "readers/chrome_supply.h"

enum { SEED = 99, ROUNDS = 400 };

typedef struct stream {
    strbuf text;
    size_t at;         /* of read() */
    size_t n_reads;    /* of read_at() so far */
    size_t fails_from; /* this read and all behind it fail */
} stream;

static size_t read_next(void *ctx, void *dst, size_t cap)
{
    stream *s = ctx;
    size_t n = s->text.n - s->at < cap ? s->text.n - s->at : cap;
    memcpy(dst, s->text.s + s->at, n);
    s->at += n;
    return n;
}

static bool read_at(void *ctx, void *dst, size_t cap, uint64_t offset, size_t *got)
{
    stream *s = ctx;
    *got = 0;
    if (s->n_reads++ >= s->fails_from) {
        return false;
    }
    size_t left = offset < s->text.n ? s->text.n - (size_t)offset : 0;
    *got = left < cap ? left : cap;
    memcpy(dst, s->text.s + (*got > 0 ? offset : 0), *got);
    return true;
}

static bool look(void *ctx, size_t at, size_t n)
{
    stream *s = ctx;
    assert_true(at + n <= s->text.n);
    return s->n_reads++ < s->fails_from;
}

static void put_blanks(strbuf *b, prng *r)
{
    for (uint64_t n = prng_below(r, 40) == 0 ? prng_below(r, 300) : prng_below(r, 4); n > 0; n--) {
        strbuf_puts(b, prng_below(r, 2) ? " " : "\n");
    }
}

static void put_event(strbuf *b, prng *r)
{
    static const char *const strange[] = {"}, {\\\"ph\\\": ", "}, {", "},\\n{", "{", "plain", "},{\\\"ph"};
    strbuf_puts(b, "{\"ph\": \"X\", \"name\": \"");
    for (uint64_t n = prng_below(r, 4); n > 0; n--) {
        strbuf_puts(b, strange[prng_below(r, sizeof strange / sizeof *strange)]);
    }
    if (prng_below(r, 50) == 0) {
        for (uint64_t n = prng_below(r, prng_below(r, 20) ? 3000 : 40000); n > 0; n--) {
            strbuf_puts(b, "long, ");
        }
    }
    strbuf_puts(b, "\", \"args\": {\"list\": [1, {\"ph\": 2}, {\"ph\": 3}]}}");
}

static void make(stream *s, prng *r)
{
    strbuf_clear(&s->text);
    strbuf_puts(&s->text, "{\"traceEvents\": [");
    s->at = s->n_reads = 0;
    s->fails_from = SIZE_MAX;
    for (uint64_t n = 1 + prng_below(r, 400); n > 0; n--) {
        put_event(&s->text, r);
        put_blanks(&s->text, r);
        strbuf_puts(&s->text, ",");
        put_blanks(&s->text, r);
    }
    put_event(&s->text, r);
    strbuf_puts(&s->text, prng_below(r, 2) ? "]}" : "");
    for (uint64_t n = prng_below(r, 8) == 0 ? prng_below(r, 200000) : 0; n > 0; n--) {
        strbuf_puts(&s->text, "x");
    }
}

typedef enum way { IN_TURN, BY_OFFSET, HELD, WAYS } way;

static void begin(chrome_supply *supply, chrome_text *text, stream *s, size_t least, way how)
{
    size_t first = strlen("{\"traceEvents\": [");
    *supply = (chrome_supply){.text = text, .least_bytes = least};
    *text = (chrome_text){.ctx = s};
    size_t n_rest = s->text.n - first < 100 ? s->text.n - first : 100;
    if (how == IN_TURN) {
        text->read = read_next;
        s->at = first + n_rest;
    } else {
        text->read_at = read_at;
        text->held = how == HELD ? s->text.s : NULL;
        text->held_bytes = s->text.n;
        text->look = look;
    }
    chrome_supply_init(supply, first, s->text.s + first, n_rest);
}

/* Two threads take parts, one after the other at random. @return where the parts have ended */
static size_t take_all(stream *s, prng *r, size_t least, way how, bool *is_last, bool *has_void)
{
    chrome_supply supply;
    chrome_text text;
    begin(&supply, &text, s, least, how);
    chrome_part parts[2] = {{0}};
    uint64_t at = supply.offset;
    unsigned number = 0;
    *is_last = *has_void = false;
    for (chrome_part *p = parts; chrome_supply_take(&supply, p, least + prng_below(r, least * 3));
         p = &parts[prng_below(r, 2)]) {
        assert_int_equal(p->number, number++);
        if (p->is_void) {
            *has_void = true;
            break;
        }
        assert_false(*is_last && p->n > 0);
        assert_int_equal(p->offset, at);
        assert_true(p->offset + p->n <= s->text.n);
        assert_memory_equal(p->text, s->text.s + p->offset, p->n);
        at += p->n;
        *is_last |= p->is_last;
    }
    chrome_part_deinit(&parts[0]);
    chrome_part_deinit(&parts[1]);
    chrome_supply_deinit(&supply);
    return (size_t)at;
}

static void test_parts_meet(void **state)
{
    (void)state;
    prng r;
    prng_seed(&r, SEED);
    stream s = {0};
    unsigned n_whole = 0;
    for (int round = 0; round < ROUNDS; round++) {
        make(&s, &r);
        size_t least = 1 + (size_t)prng_below(&r, round % 2 ? 200 : 20000);
        bool is_last;
        bool has_void;
        size_t end = take_all(&s, &r, least, (way)(round % WAYS), &is_last, &has_void);
        assert_true(!is_last || end == s.text.n);
        n_whole += is_last;
    }
    assert_true(n_whole > ROUNDS / 2);
    strbuf_deinit(&s.text);
}

/* No part pretends that the stream is over where it could not be read, and none holds other text than was there. */
static void test_reading_fails(void **state)
{
    (void)state;
    prng r;
    prng_seed(&r, SEED + 1);
    stream s = {0};
    for (int round = 0; round < ROUNDS; round++) {
        make(&s, &r);
        s.fails_from = (size_t)prng_below(&r, 12);
        bool is_last;
        bool has_void;
        (void)take_all(&s, &r, 1 + (size_t)prng_below(&r, 5000), round % 2 ? HELD : BY_OFFSET, &is_last, &has_void);
        assert_true(!is_last || s.n_reads <= s.fails_from);
        assert_true(is_last || has_void);
    }
    strbuf_deinit(&s.text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_parts_meet), cmocka_unit_test(test_reading_fails)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
