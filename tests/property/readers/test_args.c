/*
 * Arguments that are taken apart while they are read come back byte for byte, and what is read from them is the same as
 * when they are only walked: correlations, collectives, everything that the dump of the rows holds. On real profiler
 * output, and on generated events whose arguments differ in ways that a guess may miss: numbers that grow a digit, lose
 * their leading zeros or turn into text, wanted members that come and go or come twice, escapes before digits, and
 * interpreter frames (whose arguments are not looked into) with the arguments of kernels.
 */
#include "cm.h"

#include "base/clock.h"
#include "base/file.h"
#include "builder_rows.h"

enum { SEED = 77, ROUNDS = 40, EVENTS = 400, MOST_BYTES = 2000000 };

static void same_either_way(const char *name, const char *data, size_t n)
{
    strbuf dump[2] = {{0}, {0}};
    for (unsigned way = 0; way < 2; way++) {
        rows r;
        rows_begin(&r, "input");
        if (way == 1) {
            rows_take_args(&r);
        }
        r.status = reader_read_memory(data, n, "input", &r.b, NULL);
        rows_text(&r, &dump[way]);
        rows_end(&r);
    }
    size_t at = 0;
    while (at < dump[0].n && at < dump[1].n && dump[0].s[at] == dump[1].s[at]) {
        at++;
    }
    if (at < dump[0].n || at < dump[1].n) {
        size_t from = at > 200 ? at - 200 : 0;
        fail_msg("%s: taken apart it gives\n%.400s\ninstead of\n%.400s", name, dump[1].s + from, dump[0].s + from);
    }
    strbuf_deinit(&dump[0]);
    strbuf_deinit(&dump[1]);
}

static void put_number(prng *r, strbuf *out)
{
    switch (prng_below(r, 9)) {
    case 0:
        strbuf_printf(out, "%u", (unsigned)prng_below(r, 12));
        return;
    case 1:
        strbuf_printf(out, "0%u", (unsigned)prng_below(r, 12));
        return;
    case 2:
        strbuf_printf(out, "-%u.%03ue5", (unsigned)prng_below(r, 3), (unsigned)prng_below(r, 1000));
        return;
    case 3:
        strbuf_printf(out, "%llu", (unsigned long long)prng_next(r));
        return;
    case 4:
        strbuf_printf(out, "%llu%llu", (unsigned long long)prng_next(r), (unsigned long long)prng_next(r));
        return;
    case 5:
        strbuf_puts(out, "null");
        return;
    case 6:
        strbuf_printf(out, "%u ", (unsigned)prng_below(r, 100000000));
        return;
    default:
        strbuf_printf(out, "%u", 95 + (unsigned)prng_below(r, 10));
        return;
    }
}

static void put_member(prng *r, strbuf *out)
{
    static const char *const keys[] = {"correlation", "External id",    "external id",        "Collective name",
                                       "dtype",       "In msg nelems",  "Process Group Name", "Process Group Ranks",
                                       "Group size",  "Out msg nelems", "stream",             "grid7",
                                       "Seq",         "Ev Idx"};
    strbuf_printf(out, "\"%s\"%s:%s", keys[prng_below(r, sizeof keys / sizeof *keys)], prng_below(r, 9) ? "" : " ",
                  prng_below(r, 3) ? " " : "");
    switch (prng_below(r, 6)) {
    case 0:
        strbuf_printf(out, "\"all%ureduce\\%c%u\"", (unsigned)prng_below(r, 3), prng_below(r, 2) ? '"' : '\\',
                      (unsigned)prng_below(r, 30));
        return;
    case 1:
        strbuf_puts(out, prng_below(r, 2) ? "\"[" : "[");
        put_number(r, out);
        strbuf_puts(out, ", 7");
        strbuf_puts(out, out->s[out->n - 1] == '7' && prng_below(r, 2) ? "]" : "]\"");
        return;
    case 2:
        strbuf_puts(out, "{\"correlation\": ");
        put_number(r, out);
        strbuf_puts(out, "}");
        return;
    case 3:
        strbuf_puts(out, "\"");
        put_number(r, out);
        strbuf_puts(out, "\"");
        return;
    default:
        put_number(r, out);
        return;
    }
}

/* Few shapes, each with many numbers: `kind` decides on all but those. */
static void put_args(prng *r, unsigned kind, strbuf *out)
{
    prng form;
    prng_seed(&form, kind);
    strbuf_puts(out, "{");
    unsigned n = (unsigned)prng_below(&form, 6);
    for (unsigned i = 0; i < n; i++) {
        strbuf_puts(out, i ? ", " : "");
        put_member(prng_below(r, 40) ? &form : r, out);
        if (prng_below(&form, 2)) {
            strbuf_puts(out, ", \"k\": ");
            put_number(r, out);
        }
    }
    strbuf_puts(out, "}");
}

static void generated_events(void **state)
{
    (void)state;
    static const char *const cats[] = {"kernel", "cpu_op", "python_function", "cuda_runtime"};
    prng r;
    prng_seed(&r, SEED);
    for (unsigned round = 0; round < ROUNDS; round++) {
        strbuf text = {0};
        strbuf_puts(&text, "{\"traceEvents\": [\n");
        for (unsigned i = 0; i < EVENTS; i++) {
            unsigned kind = (unsigned)prng_below(&r, 12);
            bool args_first = prng_below(&r, 10) == 0;
            strbuf_puts(&text, i ? ",\n{" : "{");
            if (args_first) {
                strbuf_puts(&text, "\"args\": ");
                put_args(&r, kind, &text);
                strbuf_puts(&text, ", ");
            }
            strbuf_printf(&text, "\"ph\": \"%s\", \"cat\": \"%s\", \"name\": \"op %u\", \"pid\": 1, \"tid\": 2, \"ts\": %u",
                          prng_below(&r, 20) ? "X" : "i", cats[(kind + prng_below(&r, 20) / 19) % 4], kind / 2, i * 10);
            strbuf_puts(&text, ", \"dur\": 5");
            if (!args_first || prng_below(&r, 10) == 0) {
                strbuf_puts(&text, ", \"args\": ");
                put_args(&r, kind, &text);
            }
            strbuf_puts(&text, "}");
        }
        strbuf_puts(&text, "\n]}\n");
        same_either_way("generated events", text.s, text.n);
        strbuf_deinit(&text);
    }
}

static void real_files(void **state)
{
    (void)state;
    static const char *const folders[] = {"kineto/single", "chrome"};
    char buf[512];
    const char *shared = shared_dir(buf, sizeof buf);
    if (!shared) {
        skip();
    }
    unsigned n_checked = 0;
    for (size_t k = 0; k < sizeof folders / sizeof *folders; k++) {
        strbuf dir = {0};
        strbuf_printf(&dir, "%s/data/%s", shared, folders[k]);
        arena names = {0};
        char **paths = NULL;
        size_t n = 0;
        (void)file_list(dir.s, &names, &paths, &n, NULL);
        for (size_t i = 0; i < n; i++) {
            char *data = NULL;
            size_t size = 0;
            if (file_size(paths[i]) < MOST_BYTES && file_read_all(paths[i], MOST_BYTES, &data, &size, NULL) == MAREY_OK) {
                same_either_way(paths[i], data, size);
                n_checked++;
                free(data);
            }
        }
        free((void *)paths);
        arena_deinit(&names);
        strbuf_deinit(&dir);
    }
    assert_true(n_checked > 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(generated_events),
        cmocka_unit_test(real_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
