/*
 * Damage: whatever bytes come, the JSON document parser and the CSV reader end, give only nodes and fields that lie
 * inside what they were given, and say so when they refuse. What the event walker tries for nothing stays in proportion
 * to the text. Seeded: the same bytes on every run.
 */
#include "cm.h"

#include "base/diag.h"
#include "base/text.h"
#include "parse/csv.h"
#include "parse/json_doc.h"
#include "parse/jstream.h"
#include "parse/jwalk_private.h"

static uint64_t seed = 42;

static uint32_t rnd(uint32_t n)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)((seed >> 33) % n);
}

static const char json_seed[] =
    "{\"step50\": {\"p2p\": {}, \"collective\": {\"hcom_allReduce__586_0_1@175\": {\"Start "
    "Timestamp(us)\": 1736408883732241.5, \"x\": [1, \"\\u00e9\\\"\", null, true, -1e-3]}}}}";
static const char csv_seed[] =
    "Step Id, Name,\"Call, Stack\",Start Time(us)\t\r\n50,a,\"x\ny\",1736405443881410.320\t\r\n"
    "51,\"b\"\"c\"\"\",,-\n";

/* Up to eight edits: overwrite, cut, double a piece, insert a byte that has a meaning. */
static size_t mutate(char *buf, size_t n, size_t cap)
{
    static const char marks[] = "\"\\{}[]:,\n\r\t \0019-eN";
    for (uint32_t k = rnd(8) + 1; k > 0; k--) {
        size_t at = n ? rnd((uint32_t)n) : 0;
        switch (rnd(4)) {
        case 0:
            if (n) {
                buf[at] = (char)rnd(256);
            }
            break;
        case 1:
            n = rnd(8) ? n : at;
            break;
        case 2: {
            size_t len = n - at < 40 ? n - at : 40;
            if (n + len <= cap) {
                memmove(buf + at + len, buf + at, n - at);
                n += len;
            }
            break;
        }
        default:
            if (n < cap) {
                memmove(buf + at + 1, buf + at, n - at);
                buf[at] = marks[rnd(sizeof marks)];
                n++;
            }
            break;
        }
    }
    return n;
}

static void check_tree(const jdoc *d, const char *text, size_t n)
{
    size_t children = 0;
    for (size_t i = 0; i < d->n; i++) {
        const jdoc_node *node = &d->nodes[i];
        assert_true(!node->s || (node->s >= text && node->s + node->n <= text + n));
        assert_true(!node->key || (node->key >= text && node->key + node->key_n <= text + n));
        assert_true(node->next == JDOC_NONE || (node->next > i && node->next < d->n));
        assert_true((node->s != NULL) == (node->kind == JDOC_SCALAR || node->kind == JDOC_STRING));
        children += node->n_children;
    }
    assert_int_equal(children, d->n - 1); /* every node but the root is one container's child */
}

static void json(void **state)
{
    (void)state;
    size_t ok = 0;
    for (int round = 0; round < 40000; round++) {
        char buf[1024];
        size_t n = sizeof json_seed - 1;
        memcpy(buf, json_seed, n);
        n = mutate(buf, n, sizeof buf);
        char *exact = malloc(n ? n : 1); /* so that a read past the end is seen */
        memcpy(exact, buf, n);
        diag d;
        diag_init(&d);
        jdoc *doc = NULL;
        marey_status status = jdoc_parse(exact, n, "t", &d, &doc);
        if (status == MAREY_OK) {
            check_tree(doc, exact, n);
            strbuf b = {0};
            for (uint32_t i = 0; i < doc->n; i++) {
                int64_t v = 0;
                double x = 0;
                (void)jdoc_us(doc, i, &v);
                (void)jdoc_double(doc, i, &x);
                (void)jdoc_text(doc, i, &b);
                (void)jdoc_key(doc, i, &b);
            }
            strbuf_deinit(&b);
            ok++;
        } else {
            assert_int_equal(d.n_messages, 1);
        }
        jdoc_destroy(&doc);
        diag_deinit(&d);
        free(exact);
    }
    assert_true(ok > 4000 && ok < 39000);
}

static void csvs(void **state)
{
    (void)state;
    for (int round = 0; round < 10000; round++) {
        char buf[1024];
        size_t n = sizeof csv_seed - 1;
        memcpy(buf, csv_seed, n);
        n = mutate(buf, n, sizeof buf);
        char *exact = malloc(n ? n : 1);
        memcpy(exact, buf, n);
        diag d;
        diag_init(&d);
        csv *c = NULL;
        if (csv_open_memory(exact, n, "t", &d, 0, &c) == MAREY_OK) {
            size_t rows = 0;
            while (csv_next(c)) {
                rows++;
                size_t total = 0;
                for (int k = -1; k < (int)csv_n_columns(c) + 2; k++) {
                    csv_field f = csv_get(c, k);
                    assert_non_null(f.s);
                    total += f.n;
                }
                assert_true(total <= n);
            }
            assert_true(rows <= n);
            csv_close(&c);
        }
        diag_deinit(&d);
        free(exact);
    }
}

static marey_status on_event(void *ctx, const jevent *e)
{
    (void)e;
    ++*(unsigned *)ctx;
    return MAREY_OK;
}

/* Each bracket of a text that never closes may be an event that goes on to the end: those tries are counted, too. */
static void nested_text_is_walked_in_proportion(void **state)
{
    (void)state;
    enum { NESTED = 60000, LEAST_TRY = 2048 };
    static const char event[] = "{\"ph\": \"X\", \"name\": \"a\", \"pid\": 1, \"tid\": 1, \"ts\": 1, \"dur\": 1}";
    static const char nested[] = "{\"args\":{\"x\":";
    strbuf b = {0};
    strbuf_printf(&b, "{\"traceEvents\": [%s,\n", event);
    for (unsigned i = 0; i < NESTED; i++) {
        strbuf_puts(&b, nested);
    }
    unsigned n_events = 0;
    const jwalk_ops ops = {.event = on_event};
    jwalk *w = calloc(1, sizeof *w);
    jwalk_init(w, &ops, &n_events, NULL, 0);
    const jstream_options o = {.memory = b.s, .memory_bytes = b.n};
    assert_int_equal(jstream_run(w, &o), MAREY_OK);
    assert_int_equal(n_events, 1);
    assert_true(w->wasted_bytes >= JWALK_FREE_WASTE);
    assert_true(w->wasted_bytes <= JWALK_FREE_WASTE + JWALK_EVENT_BYTES_MAX + 8 * b.n + 2 * NESTED * LEAST_TRY);
    free(w);
    strbuf_deinit(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(json), cmocka_unit_test(csvs),
                                       cmocka_unit_test(nested_text_is_walked_in_proportion)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
