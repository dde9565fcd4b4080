/*
 * What is read does not depend on which events look alike: on streams whose events are almost alike (one field less,
 * one byte of another thread, other blanks, another order), with values that change their form, arguments of many
 * shapes, and all phases, the rows are those that a walk token by token gives, which keeps the arguments as text. In
 * windows or in one piece, on one thread or on two, with damage and without.
 */
#include "cm.h"

#include "base/clock.h"
#include "base/mem.h"
#include "builder_rows.h"
#include "help/by_tokens.h"

enum {
    SEED = 4711,
    STREAMS = 80,
    EVENTS = 250,
    MANY = 16,
    LAYOUTS_MAX = 24,
    FIELDS = 16,
    WAYS = 5,
    DAMAGED_COPIES = 4
};

#define PICK(r, list) ((list)[prng_below(r, sizeof(list) / sizeof *(list))])

typedef struct layout {
    uint8_t order[FIELDS];
    uint8_t n_fields, args;
    char phase;
    const char *cat, *pid, *tid;
} layout;

typedef struct stream {
    prng r;
    layout layouts[LAYOUTS_MAX];
    unsigned n_layouts;
    unsigned n_threads; /* so many more come one after the other, so that more events are alike than is kept */
    unsigned n_events;  /* so far */
    unsigned strange;   /* of so many values one is strange; 0: none */
    unsigned strays;    /* of so many fields one is not that of the layout */
    uint64_t now_us;
    const char *const *blanks;
    strbuf text;
} stream;

enum { PH, CAT, NAME, PID, TID, TS, DUR, ARGS, ID, BP, BIND_ID, FLOW_OUT, SCOPE, ID2, TTS, MORE };

static const char *const keys[FIELDS] = {"ph", "cat", "name",    "pid",      "tid",   "ts",  "dur", "args",
                                         "id", "bp",  "bind_id", "flow_out", "scope", "id2", "tts", "more"};
static const char *const cats[] = {"cpu_op",
                                   "kernel",
                                   "cuda_runtime",
                                   "python_function",
                                   "user_annotation",
                                   "gpu_memcpy",
                                   "ac2g",
                                   "fwdbwd",
                                   "kerneL",
                                   "",
                                   "a category longer than the forty bytes that are kept of one"};
static const char *const tids[] = {
    "0",     "1",  "2",          "17",  "18446744073709551615", "18446744073709551616", "\"stream 7\"", "\"stream 8\"",
    "\"7\"", "-1", "\"a\\\"b\"", "null"};
static const char *const pids[] = {"0", "1", "\"p\"", "00", "-3"};
static const char *const names[] = {"aten::mm",
                                    "aten::mn",
                                    "",
                                    "x",
                                    "void f<{int}, [3]>(a, b): c",
                                    "ProfilerStep#3",
                                    "nccl:all_reduce",
                                    "sixteen bytes ok",
                                    "one of more than the sixteen bytes of a look"};
static const char *const strange_texts[] = {"\"a\\\"b\"",   "\"a\\\\\"", "\"\\u00e9\\n\"", "7", "null", "{\"a\": 1}",
                                            "\"\xc3\xa9\"", "\"\xff\"",  "\"tab\there\""};
static const char *const strange_numbers[] = {"-1",
                                              "1e5",
                                              "1.5E-3",
                                              "\"17\"",
                                              "null",
                                              "007",
                                              ".5",
                                              "5.",
                                              "+1",
                                              "1 2",
                                              "[1]",
                                              "",
                                              "99999999999999999999",
                                              "123456789012345678.1234",
                                              "9223372036854775807",
                                              "1e400",
                                              "\"x\"",
                                              "0.0000000001"};
static const char *const ids[] = {"1",   "2", "3", "\"0x1\"", "\"2\"", "18446744073709551615", "99999999999999999999",
                                  "null"};

static bool one_in(prng *r, unsigned n)
{
    return n > 0 && prng_below(r, n) == 0;
}

static void add_layout(stream *s)
{
    static const char phases[] = "XXXXXXBEBEbensftiCMSFv";
    prng *r = &s->r;
    layout *l = &s->layouts[s->n_layouts];
    if (s->n_layouts > 0 && prng_below(r, 2)) {
        *l = s->layouts[prng_below(r, s->n_layouts)]; /* almost as another */
    } else {
        *l = (layout){.n_fields = 8, .args = (uint8_t)prng_below(r, 6), .phase = PICK(r, phases)};
        l->phase = l->phase ? l->phase : 'X';
        for (unsigned i = 0; i < FIELDS; i++) {
            l->order[i] = (uint8_t)i;
        }
    }
    l->cat = PICK(r, cats);
    l->pid = PICK(r, pids);
    l->tid = PICK(r, tids);
    for (uint64_t k = prng_below(r, 3); k > 0; k--) { /* a field more, or two that change places */
        unsigned a = (unsigned)prng_below(r, l->n_fields);
        unsigned b = (unsigned)prng_below(r, FIELDS);
        uint8_t kept = l->order[a];
        l->order[a] = l->order[b];
        l->order[b] = kept;
    }
    l->n_fields = (uint8_t)(7 + prng_below(r, 6));
    s->n_layouts++;
}

static void add_time(stream *s, uint64_t us)
{
    prng *r = &s->r;
    if (one_in(r, s->strange)) {
        strbuf_puts(&s->text, PICK(r, strange_numbers));
        return;
    }
    unsigned form = (unsigned)prng_below(r, 8);
    strbuf_printf(&s->text, form == 0 ? "\"%llu\"" : "%llu", (unsigned long long)us);
    if (form > 3) {
        strbuf_printf(&s->text, form == 7 ? ".%u" : ".%03u", (unsigned)prng_below(r, 1000));
    }
}

static void add_digits(stream *s)
{
    static const char zeros[] = "000";
    size_t n_zeros = prng_below(&s->r, 6) ? 0 : (size_t)prng_below(&s->r, sizeof zeros);
    strbuf_add(&s->text, zeros, n_zeros);
    strbuf_printf(&s->text, "%llu", (unsigned long long)(prng_next(&s->r) >> prng_below(&s->r, 64)));
}

/* '#' stands for digits. */
static void add_args(stream *s, const layout *l)
{
    static const char *const kinds[] = {
        "{\"correlation\": #}",
        "{\"External id\": #, \"Input Dims\": [[#, 2], []], \"b\": \"#-#\"}",
        "{\"correlation\": #, \"dtype\": \"Float\", \"Collective name\": \"allreduce\", \"In msg nelems\": #}",
        "{\"a\": \"}]{[\\\"\", \"correlation\" : # }",
        "{}",
        "{\"name\": \"n#\", \"sort_index\": #, \"v\": #.#}"};
    static const char *const strange[] = {"[1, 2]",
                                          "",
                                          "}",
                                          "}}",
                                          "\"s\"",
                                          "{\"a\": [}, \"b\": 1}",
                                          "null",
                                          "{\"correlation\": \"#\"}",
                                          "{\"correlation\": #, \"correlation\": #}",
                                          "{\"corr\\u0065lation\": #}",
                                          "{\"correlation\": -#}",
                                          "{ }"};
    const char *form = one_in(&s->r, s->strange) ? PICK(&s->r, strange)
                                                 : kinds[one_in(&s->r, s->strays) ? prng_below(&s->r, 6) : l->args];
    for (const char *p = form; *p; p++) {
        if (*p == '#') {
            add_digits(s);
        } else {
            strbuf_add(&s->text, p, 1);
        }
    }
}

static void add_text(stream *s, const char *text)
{
    strbuf_printf(&s->text, "\"%s\"", text);
}

static void add_value(stream *s, const layout *l, unsigned field)
{
    static const char *const scopes[] = {"\"a\"", "\"b\""};
    static const char *const id2s[] = {"{\"local\": \"0x1\"}", "{\"global\": 2}", "\"x\""};
    prng *r = &s->r;
    bool stray = one_in(r, s->strays);
    const char phase[] = {stray ? 'i' : l->phase, '\0'};
    switch (field) {
    case PH:
        add_text(s, phase);
        break;
    case CAT:
        add_text(s, stray ? PICK(r, cats) : l->cat);
        break;
    case NAME:
        if (one_in(r, s->strange)) {
            strbuf_puts(&s->text, PICK(r, strange_texts));
        } else {
            add_text(s, l->phase == 'M' ? "thread_name" : PICK(r, names));
        }
        break;
    case TID:
        if (s->n_threads && l->args % 2) {
            strbuf_printf(&s->text, "%u", s->n_events * s->n_threads / (EVENTS * MANY) + (unsigned)prng_below(r, 8));
            break;
        }
        /* fall through */
    case PID:
        strbuf_puts(&s->text, field == PID ? (stray ? PICK(r, pids) : l->pid) : stray ? PICK(r, tids) : l->tid);
        break;
    case TS:
        s->now_us += prng_below(r, 20);
        add_time(s, s->now_us);
        break;
    case DUR:
    case TTS:
        add_time(s, prng_below(r, UINT64_C(1) << prng_below(r, 20)));
        break;
    case ARGS:
        add_args(s, l);
        break;
    case ID:
    case BIND_ID:
        strbuf_puts(&s->text, PICK(r, ids));
        break;
    default:
        strbuf_puts(&s->text, field == BP         ? "\"e\""
                              : field == FLOW_OUT ? "true"
                              : field == SCOPE    ? PICK(r, scopes)
                              : field == ID2      ? PICK(r, id2s)
                                                  : "\"of which nobody asks\"");
        break;
    }
}

static void add_event(stream *s)
{
    const layout *l = &s->layouts[prng_below(&s->r, s->n_layouts)];
    const char *blank = s->blanks[one_in(&s->r, s->strays)];
    s->n_events++;
    strbuf_puts(&s->text, "{");
    for (unsigned i = 0; i < l->n_fields; i++) {
        strbuf_printf(&s->text, "%s%s\"%s\":%s", i > 0 ? "," : "", blank, keys[l->order[i]], *blank ? " " : "");
        add_value(s, l, l->order[i]);
    }
    strbuf_puts(&s->text, "}");
}

static void make_stream(stream *s, uint64_t seed)
{
    static const char *const blanks[] = {"", " ", "\n      ", "", "\r\n\t", "\n  "};
    static const unsigned rates[] = {0, 300, 40, 6};
    *s = (stream){.now_us = UINT64_C(1700000000000000)};
    prng_seed(&s->r, seed);
    s->now_us *= prng_below(&s->r, 2);
    s->strange = PICK(&s->r, rates);
    s->strays = PICK(&s->r, rates);
    s->blanks = blanks + prng_below(&s->r, 5);
    for (uint64_t n = prng_below(&s->r, 3) ? 1 + prng_below(&s->r, 4) : LAYOUTS_MAX; n > 0; n--) {
        add_layout(s);
    }
    strbuf_puts(&s->text, "{\"schemaVersion\": 1, \"traceEvents\": [");
    s->n_threads = one_in(&s->r, 10) ? 100 + (unsigned)prng_below(&s->r, 800) : 0;
    for (int i = 0; i < (s->n_threads ? EVENTS * MANY : EVENTS); i++) {
        strbuf_puts(&s->text, i == 0 ? "" : ",\n");
        add_event(s);
    }
    strbuf_puts(&s->text, "], \"traceName\": \"t\"}\n");
}

/* ---- reading it ---- */

static size_t read_text(const char *data, size_t n, const reader_tuning *t, strbuf *out)
{
    char *copy = mem_alloc(n); /* of its own size, so that a read past the end is seen */
    memcpy(copy, data, n);
    rows r;
    rows_begin(&r, "input");
    if (!t->by_tokens) {
        rows_take_args(&r);
    }
    r.status = reader_read_memory(copy, n, "input", &r.b, t);
    strbuf_clear(out);
    rows_text(&r, out);
    size_t n_rows = r.n;
    rows_end(&r);
    free(copy);
    return n_rows;
}

static size_t check(const char *text, size_t n, prng *r)
{
    strbuf want = {0};
    strbuf got = {0};
    size_t n_rows = read_text(text, n, &(reader_tuning){.by_tokens = true}, &want);
    for (unsigned way = 0; way < WAYS; way++) {
        reader_tuning t = {.threads = way % 2 == 1 ? 2 : 0, .part_bytes = 1 + (size_t)prng_below(r, 5000)};
        t.window_bytes = way > 1 ? 64 + (size_t)prng_below(r, way == 2 ? 600 : 20000) : 0;
        t.read_bytes = way > 2 ? 1 + (size_t)prng_below(r, 5000) : 0;
        t.eager = way == 4;
        t.in_turn = prng_below(r, 2) == 0;
        (void)read_text(text, n, &t, &got);
        by_tokens_same(&want, &got, text, n);
    }
    strbuf_deinit(&want);
    strbuf_deinit(&got);
    return n_rows;
}

static void rows_do_not_depend_on_what_is_alike(void **state)
{
    (void)state;
    size_t n_rows = 0;
    for (uint64_t i = 0; i < STREAMS; i++) {
        stream s;
        make_stream(&s, SEED + i);
        n_rows += check(s.text.s, s.text.n, &s.r);
        char *copy = mem_alloc(s.text.n);
        for (int k = 0; k < DAMAGED_COPIES; k++) {
            memcpy(copy, s.text.s, s.text.n);
            size_t n = by_tokens_damage(copy, s.text.n, &s.r);
            (void)check(copy, n, &s.r);
        }
        free(copy);
        strbuf_deinit(&s.text);
    }
    assert_true(n_rows > (size_t)STREAMS * EVENTS / 4); /* else little was compared */
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(rows_do_not_depend_on_what_is_alike)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
