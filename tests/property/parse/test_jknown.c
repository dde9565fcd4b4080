/*
 * Events that look like some before are taken by comparison. They, their order, their fields and what is lost are the
 * same as when every event is walked token by token: on streams of random layouts, in random windows, with random
 * damage. And events of one jevent.like are alike in what it promises.
 */
#include "cm.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/diag.h"
#include "base/mem.h"
#include "base/text.h"
#include "help/by_tokens.h"
#include "parse/decns.h"
#include "parse/jscan.h"
#include "parse/jstream.h"

enum { SEED = 77, STREAMS = 60, EVENTS = 400, LAYOUTS_MAX = 40 };

/* ---- random streams ---- */

typedef struct layout {
    unsigned order[12]; /* fields, in the order they are written */
    unsigned n_fields;
    unsigned cat, pid, tid;
    unsigned indent, gap; /* blanks before a key, after a colon */
} layout;

typedef struct stream {
    prng r;
    layout layouts[LAYOUTS_MAX];
    unsigned n_layouts;
    bool lines;   /* one event per line instead of a list */
    bool strange; /* values that writers seldom write */
    strbuf text;
} stream;

static void add_layout(stream *s)
{
    layout *l = &s->layouts[s->n_layouts++];
    l->n_fields = 3 + (unsigned)prng_below(&s->r, 10);
    for (unsigned i = 0; i < l->n_fields; i++) {
        l->order[i] = i < 12 ? i : 0;
    }
    for (unsigned i = 0; i < l->n_fields && prng_below(&s->r, 3); i++) {
        unsigned k = (unsigned)prng_below(&s->r, l->n_fields);
        unsigned kept = l->order[i];
        l->order[i] = l->order[k];
        l->order[k] = kept;
    }
    l->cat = (unsigned)prng_below(&s->r, 4);
    l->pid = (unsigned)prng_below(&s->r, 3);
    l->tid = (unsigned)prng_below(&s->r, 1000);
    l->indent = s->n_layouts > 1 ? s->layouts[0].indent : (unsigned)prng_below(&s->r, 40);
    l->gap = (unsigned)prng_below(&s->r, 2);
}

static const char *pick(prng *r, const char *const *of, size_t n)
{
    return of[prng_below(r, n)];
}

static void add_number(stream *s)
{
    static const char *const strange[] = {
        "-1",  "1e5", "1.5E-3", "\"17\"", "null", "true", "1 2", "", "12 ", "\"1\\\"\"", "99999999999999999999999999",
        "[1]", "{}",  "0x1F",   "+1",     "1\t"};
    if (s->strange && prng_below(&s->r, 30) == 0) {
        strbuf_puts(&s->text, pick(&s->r, strange, sizeof strange / sizeof *strange));
        return;
    }
    strbuf_printf(&s->text, "%llu.%03u", (unsigned long long)prng_below(&s->r, prng_below(&s->r, 2) ? 50 : 1U << 30),
                  (unsigned)prng_below(&s->r, 1000));
}

static void add_name(stream *s)
{
    static const char *const names[] = {"aten::mm",
                                        "x",
                                        "",
                                        "a name that is longer than the sixteen bytes of a look",
                                        "void f<{int}, [3]>(a, b): c",
                                        "sixteen bytes ok"};
    static const char *const strange[] = {"\"a\\\"b\"",
                                          "\"a\\\\\"",
                                          "\"\\u00e9\\n\"",
                                          "7",
                                          "null",
                                          "{\"a\": 1}",
                                          "\"0123456789abcdef\\\\\\\"0123456789abcdef\""};
    if (s->strange && prng_below(&s->r, 20) == 0) {
        strbuf_puts(&s->text, pick(&s->r, strange, sizeof strange / sizeof *strange));
        return;
    }
    strbuf_printf(&s->text, "\"%s\"", pick(&s->r, names, sizeof names / sizeof *names));
}

static void add_args(stream *s)
{
    static const char *const kinds[] = {"{\"correlation\": %u}",
                                        "{\"External id\": %u, \"b\": [[1, 2], []]}",
                                        "{\"correlation\": %u, \"dtype\": \"Float\"}",
                                        "{\"a\": \"}]{[\\\"\", \"correlation\" : %u }",
                                        "{}",
                                        "{\"x\": {\"Seq\": %u}}"};
    if (s->strange && prng_below(&s->r, 40) == 0) {
        strbuf_puts(&s->text, prng_below(&s->r, 2) ? "[1, 2]" : "{\"a\": [}, \"b\": 1}");
        return;
    }
    char text[128];
    unsigned n = (unsigned)prng_below(&s->r, 100000);
    const char *kind = pick(&s->r, kinds, sizeof kinds / sizeof *kinds);
    const char *mark = strstr(kind, "%u");
    (void)snprintf(text, sizeof text, "%u", n);
    strbuf_add(&s->text, kind, mark ? (size_t)(mark - kind) : strlen(kind));
    strbuf_puts(&s->text, mark ? text : "");
    strbuf_puts(&s->text, mark ? mark + 2 : "");
}

static void add_value(stream *s, const layout *l, unsigned field)
{
    static const char *const steady[] = {"\"X\"", "\"cpu_op\"", "\"e\"", "\"t\"", "\"a string of which nobody asks\""};
    static const char *const cats[] = {"\"cpu_op\"", "\"python_function\"", "\"kernel\"", "7"};
    switch (field) {
    case 0:
    case 7:
    case 8:
        strbuf_puts(&s->text, field == 0 ? steady[0] : steady[field - 5]);
        break;
    case 1:
        strbuf_puts(&s->text, cats[l->cat]);
        break;
    case 2:
        add_name(s);
        break;
    case 3:
        strbuf_printf(&s->text, "%u", l->pid);
        break;
    case 4:
        strbuf_printf(&s->text, l->tid % 7 ? "%u" : "\"thread %u\"", l->tid);
        break;
    case 10:
        add_args(s);
        break;
    case 11:
        strbuf_puts(&s->text, steady[4]);
        break;
    default:
        add_number(s);
        break;
    }
}

static void add_event(stream *s)
{
    static const char *const keys[] = {"ph", "cat", "name", "pid", "tid", "ts", "dur", "bp", "s", "id", "args", "more"};
    layout *l = &s->layouts[prng_below(&s->r, s->n_layouts)];
    l->tid = s->strange && prng_below(&s->r, 4) == 0 ? (unsigned)prng_below(&s->r, 1000) : l->tid;
    strbuf_puts(&s->text, "{");
    for (unsigned i = 0; i < l->n_fields; i++) {
        unsigned field = l->order[i];
        strbuf_puts(&s->text, i > 0 ? "," : "");
        strbuf_printf(&s->text, "%s%*s\"%s\":%*s", s->lines ? "" : "\n", (int)l->indent, "",
                      s->strange && field == 8 && prng_below(&s->r, 2) ? "tts" : keys[field], (int)l->gap, "");
        add_value(s, l, field);
    }
    strbuf_puts(&s->text, s->lines ? "}" : "\n}");
}

static void make_stream(stream *s, uint64_t seed)
{
    *s = (stream){0};
    prng_seed(&s->r, seed);
    s->lines = prng_below(&s->r, 4) == 0;
    s->strange = prng_below(&s->r, 2);
    unsigned n = prng_below(&s->r, 6) == 0 ? LAYOUTS_MAX : 1 + (unsigned)prng_below(&s->r, 6);
    while (s->n_layouts < n) {
        add_layout(s);
    }
    strbuf_puts(&s->text, s->lines ? "" : "{\"a\": 1, \"traceEvents\": [");
    for (int i = 0; i < EVENTS; i++) {
        bool odd = s->strange && prng_below(&s->r, 30) == 0;
        strbuf_puts(&s->text, odd ? (prng_below(&s->r, 2) ? "" : " , ,") : s->lines || i == 0 ? "\n" : ",\n");
        add_event(s);
    }
    strbuf_puts(&s->text, s->lines ? "\n" : "\n], \"b\": \"c\"}\n");
}

/* ---- what a walk gives ---- */

typedef struct alike {
    bool met;
    uint32_t seen;
    strbuf steady;
} alike;

typedef struct record {
    strbuf out;
    diag diag;
    alike *likes;  /* [JWALK_LIKES] */
    size_t n_like; /* events that have one */
    const char *text;
    size_t n, at;
    prng r;
    bool small_reads;
} record;

static void put_span(strbuf *out, const char *what, unsigned i, jspan s)
{
    strbuf_printf(out, " %s%u=%u:", what, i, s.kind);
    strbuf_add(out, s.s, s.n);
}

static void check_like(record *c, const jevent *e)
{
    const uint32_t varying = 1U << JKEY_NAME | 1U << JKEY_TS | 1U << JKEY_DUR | 1U << JKEY_ID | 1U << JKEY_ARGS;
    assert_true(e->like < JWALK_LIKES);
    if (e->like == 0) {
        return;
    }
    c->n_like++;
    strbuf steady = {0};
    for (unsigned i = 0; i < JKEY_COUNT; i++) {
        if (e->seen >> i & 1 && !(varying >> i & 1)) {
            put_span(&steady, "", i, jevent_field(e, (jkey)i));
        }
    }
    alike *a = &c->likes[e->like];
    if (a->met) {
        assert_int_equal(a->seen, e->seen);
        assert_int_equal(a->steady.n, steady.n);
        assert_memory_equal(strbuf_str(&a->steady), strbuf_str(&steady), steady.n);
        strbuf_deinit(&steady);
        return;
    }
    *a = (alike){true, e->seen, steady};
}

/* A time that the walker has read is what it reads as by itself. */
static void check_times(const jevent *e)
{
    assert_int_equal(e->times & ~(1U << JKEY_TS | 1U << JKEY_DUR), 0);
    for (unsigned key = JKEY_TS; key <= JKEY_DUR; key++) {
        if (e->times >> key & 1) {
            jspan s = jevent_field(e, (jkey)key);
            int64_t ns = 0;
            assert_int_equal(s.kind, JKIND_SCALAR);
            assert_int_equal(decns_parse_us(s.s, s.n, &ns), DECNS_OK);
            assert_true(ns == e->time_ns[key - JKEY_TS]);
        }
    }
}

static marey_status on_event(void *ctx, const jevent *e)
{
    record *c = ctx;
    check_like(c, e);
    check_times(e);
    strbuf_printf(&c->out, "%llu %x %x %d", (unsigned long long)e->offset, e->seen, e->args_seen,
                  e->seen >> JKEY_ARGS & 1 ? e->args_skipped : 0);
    for (unsigned i = 0; i < JKEY_COUNT; i++) {
        if (e->seen >> i & 1) {
            put_span(&c->out, "f", i, jevent_field(e, (jkey)i));
        }
    }
    for (unsigned i = 0; i < JARG_COUNT; i++) {
        if (e->args_seen >> i & 1) {
            put_span(&c->out, "a", i, e->arg[i]);
        }
    }
    strbuf_puts(&c->out, "\n");
    return MAREY_OK;
}

/* The reader knows one shape of arguments. */
static size_t on_args(void *ctx, jevent *e, const char *text, size_t n)
{
    (void)ctx;
    static const char head[] = "{\"correlation\": ";
    size_t i = sizeof head - 1;
    if (n < i || memcmp(text, head, i) != 0) {
        return 0;
    }
    size_t from = i;
    while (i < n && text[i] >= '0' && text[i] <= '9') {
        i++;
    }
    if (i == from || i == n || text[i] != '}') {
        return 0;
    }
    if (!e->args_skipped) {
        e->args_seen = 1U << JARG_CORRELATION;
        e->arg[JARG_CORRELATION] = (jspan){text + from, (uint32_t)(i - from), JKIND_SCALAR};
    }
    return i + 1;
}

static void on_meta(void *ctx, jspan key, jspan value)
{
    record *c = ctx;
    put_span(&c->out, "meta", 0, key);
    put_span(&c->out, "", 0, value);
    strbuf_puts(&c->out, "\n");
}

static size_t on_read(void *ctx, void *dst, size_t cap)
{
    record *c = ctx;
    size_t n = c->n - c->at < cap ? c->n - c->at : cap;
    n = c->small_reads && n > 1 ? 1 + (size_t)prng_below(&c->r, n < 500 ? n : 500) : n;
    memcpy(dst, c->text + c->at, n);
    c->at += n;
    return n;
}

static size_t walk(const char *text, size_t n, jwalk_ops ops, jstream_options o, prng *r, strbuf *out)
{
    static jwalk w;
    record c = {.text = text, .n = n, .small_reads = prng_below(r, 2)};
    prng_seed(&c.r, prng_next(r));
    c.likes = mem_calloc(JWALK_LIKES, sizeof *c.likes);
    diag_init(&c.diag);
    jwalk_init(&w, &ops, &c, &c.diag, diag_file(&c.diag, "input"));
    w.memo.baseline = prng_below(r, 2);
    o.read = on_read;
    o.ctx = &c;
    assert_int_equal(jstream_run(&w, &o), MAREY_OK);
    jwalk_finish(&w);
    for (size_t i = 0; i < c.diag.n_losses; i++) {
        const diag_loss *l = &c.diag.losses[i];
        strbuf_printf(&c.out, "loss %d %llu %llu %s\n", (int)l->loss, (unsigned long long)l->count,
                      (unsigned long long)l->first_offset, l->detail ? l->detail : "");
    }
    strbuf_printf(&c.out, "saw %u rescan %llu\n", w.saw, (unsigned long long)w.rescan_from);
    strbuf_clear(out);
    strbuf_add(out, c.out.s, c.out.n);
    for (size_t i = 0; i < JWALK_LIKES; i++) {
        strbuf_deinit(&c.likes[i].steady);
    }
    free(c.likes);
    strbuf_deinit(&c.out);
    diag_deinit(&c.diag);
    return c.n_like;
}

/* @return how many events had a `like` in the largest window */
static size_t check(const char *text, size_t n, prng *r)
{
    static const jwalk_ops plain = {.event = on_event, .meta = on_meta};
    static const jwalk_ops knowing = {.event = on_event, .args = on_args, .meta = on_meta};
    strbuf want = {0};
    strbuf got = {0};
    assert_int_equal(walk(text, n, plain, (jstream_options){.by_tokens = true}, r, &want), 0);
    size_t n_like = walk(text, n, knowing, (jstream_options){0}, r, &got);
    by_tokens_same(&want, &got, text, n);
    for (int i = 0; i < 6; i++) {
        jstream_options o = {.window_bytes = 64 + (size_t)prng_below(r, i < 3 ? 600 : 20000)};
        o.eager = i % 2;
        o.memory = i % 3 == 0 ? text : NULL;
        o.memory_bytes = o.memory ? n : 0;
        (void)walk(text, n, i % 2 ? plain : knowing, o, r, &got);
        by_tokens_same(&want, &got, text, n);
    }
    strbuf_deinit(&want);
    strbuf_deinit(&got);
    return n_like;
}

static void known_events_are_what_tokens_give(void **state)
{
    (void)state;
    size_t n_like = 0;
    for (uint64_t i = 0; i < STREAMS; i++) {
        stream s;
        make_stream(&s, SEED + i);
        n_like += check(s.text.s, s.text.n, &s.r);
        char *copy = mem_alloc(s.text.n);
        for (int k = 0; k < 6; k++) {
            memcpy(copy, s.text.s, s.text.n);
            size_t n = by_tokens_damage(copy, s.text.n, &s.r);
            (void)check(copy, n, &s.r);
        }
        free(copy);
        strbuf_deinit(&s.text);
    }
    assert_true(n_like > (size_t)STREAMS * EVENTS / 4); /* else nothing was compared */
}

/* More threads than the memo holds, so that it begins anew: numbers are not given twice. */
static void many_threads_get_numbers_of_their_own(void **state)
{
    (void)state;
    prng r;
    prng_seed(&r, SEED);
    strbuf text = {0};
    strbuf_puts(&text, "[");
    for (unsigned i = 0; i < 20000; i++) {
        strbuf_printf(&text, "{\"ph\": \"X\", \"name\": \"a\", \"pid\": %u, \"tid\": %u, \"ts\": %u},\n", i / 4000,
                      i / 6 % 3000, i);
    }
    strbuf_puts(&text, "]");
    assert_true(check(text.s, text.n, &r) > 5000);
    strbuf_deinit(&text);
}

/* The small looks are what going byte by byte gives, wherever a text ends. */
static void small_looks_are_right(void **state)
{
    (void)state;
    static const char marks[] = "\"\\,: }1";
    prng r;
    prng_seed(&r, SEED);
    char text[128 + 64] = {0};
    char other[128 + 64] = {0};
    for (int i = 0; i < 20000; i++) {
        size_t n = 1 + (size_t)prng_below(&r, 100);
        for (size_t k = 0; k < n + 32; k++) {
            text[k] = prng_below(&r, 12) ? (char)('0' + prng_below(&r, 10)) : marks[prng_below(&r, sizeof marks - 1)];
        }
        memcpy(other, text, sizeof other);
        size_t string = 0;
        while (string < n && text[string] != '"') {
            string += text[string] == '\\' ? 2 : 1;
        }
        const char *got = jscan_string(text, text + n);
        assert_true(string < n ? got == text + string : got >= text + n);
        size_t scalar = 0;
        while (scalar < n && !strchr("\"\\,: }", text[scalar])) {
            scalar++;
        }
        got = jscan_scalar(text, text + n);
        assert_true(scalar < n ? got == text + scalar : got >= text + n);
        size_t brace = 0;
        for (bool in_string = false; brace < n && text[brace] != '\\'; brace++) {
            in_string ^= text[brace] == '"';
            if (!in_string && text[brace] == '}') {
                break;
            }
        }
        got = jscan_brace(text, text + n);
        assert_true(brace < n && text[brace] == '}' ? got == text + brace : got == NULL);
        size_t at = (size_t)prng_below(&r, n + 32);
        other[at] ^= 1;
        uint32_t last_bits = UINT32_MAX >> (31 - (n - 1) % 32);
        assert_true(jscan_same(text, other, n, last_bits) == (at >= n));
    }
}

#ifdef __x86_64__
/* A time as profilers write it, mostly, or with a byte or its length changed. */
static size_t put_time(char *text, prng *r)
{
    size_t digits = 1 + (size_t)prng_below(r, 17);
    size_t n = digits + 4;
    for (size_t i = 0; i < n; i++) {
        text[i] = i == digits ? '.' : (char)('0' + (prng_below(r, 4) ? prng_below(r, 10) : 9));
    }
    if (prng_below(r, 4) == 0) {
        text[prng_below(r, n)] = "-+.eE, /:"[prng_below(r, 9)];
    }
    n -= prng_below(r, 6) ? 0 : (size_t)prng_below(r, 4);
    text[n] = ", }\n.e5x"[prng_below(r, prng_below(r, 4) ? 4 : 8)];
    return n;
}

/* A time that is read in one go is what the scan and the parser say, and all of the usual form are read so. */
static void times_are_read_as_numbers_are(void **state)
{
    (void)state;
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("bmi2")) {
        skip();
    }
    prng r;
    prng_seed(&r, SEED);
    int n_read = 0;
    for (int i = 0; i < 200000; i++) {
        char text[128];
        memset(text, "0,9.\""[i % 5], sizeof text);
        text[sizeof text - 1] = 0;
        size_t n = put_time(text, &r);
        int64_t ns = 0;
        const char *stop = jscan_us_avx2(text, &ns);
        int64_t want = 0;
        decns_result result = decns_parse_us(text, n, &want);
        bool usual = n >= 5 && n <= 20 && text[n - 4] == '.' && strspn(text, "0123456789") == n - 4 &&
                     strspn(text + n - 3, "0123456789") == 3 && strchr(", }\n", text[n]);
        if (stop) {
            n_read++;
            assert_ptr_equal(stop, jscan_scalar(text, text + sizeof text - 64));
            assert_int_equal(decns_parse_us(text, (size_t)(stop - text), &want), DECNS_OK);
            assert_true(ns == want);
        } else {
            assert_true(!usual || result == DECNS_OVERFLOW);
        }
    }
    assert_true(n_read > 50000);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
#ifdef __x86_64__
        cmocka_unit_test(times_are_read_as_numbers_are),
#endif
        cmocka_unit_test(small_looks_are_right),
        cmocka_unit_test(known_events_are_what_tokens_give),
        cmocka_unit_test(many_threads_get_numbers_of_their_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
