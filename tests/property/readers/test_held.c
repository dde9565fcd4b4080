/*
 * A file that is walked where it lies gives what its text gives, byte by byte the same rows and losses, on one thread
 * and on several, whole and damaged. A writer who comes while it is read has to wait no longer than until the next
 * look, and then the rest is read as ever, to the same end.
 */
#include "cm.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "builder_rows.h"
#include "help/by_tokens.h"
#include "temporary_dir.h"

enum { SEED = 5150, ROUNDS = 6, EVENTS = 14000, THREADS = 3 };

typedef struct writer {
    const char *path;
    int after;  /* reports */
    int answer; /* of opening the file for writing then: 0, or errno */
} writer;

static unsigned n_held_back; /* writers */

static void generate(strbuf *b, prng *r)
{
    strbuf_clear(b);
    strbuf_puts(b, "{\"schemaVersion\": 1, \"traceEvents\": [\n");
    uint64_t now = 1000;
    for (int i = 0; i < EVENTS; i++) {
        now += prng_below(r, 50);
        strbuf_printf(
            b,
            "%s{\"ph\": \"X\", \"cat\": \"%s\", \"name\": \"op_%u\", \"pid\": %u, \"tid\": %u, \"ts\": %llu.%03u, "
            "\"dur\": %u, \"args\": {\"External id\": %u, \"Sequence number\": %u, \"shape\": \"[%u, 4]\"}}",
            i ? ",\n" : "", i % 3 ? "cpu_op" : "kernel", (unsigned)prng_below(r, 90), 1 + (unsigned)prng_below(r, 2),
            1 + (unsigned)prng_below(r, 5), (unsigned long long)now, (unsigned)prng_below(r, 1000),
            1 + (unsigned)prng_below(r, 40), (unsigned)i, (unsigned)prng_below(r, 100000),
            (unsigned)prng_below(r, 4096));
    }
    strbuf_puts(b, "\n], \"deviceProperties\": []}\n");
}

/* As reader_progress.report. */
static void open_for_writing(void *ctx, uint64_t bytes, uint64_t total, uint64_t n_events)
{
    writer *w = ctx;
    (void)n_events;
    assert_true(bytes <= total);
    if (w->after-- == 0) {
        int fd = open(w->path, O_WRONLY | O_NONBLOCK | O_CLOEXEC); /* which asks for the lease, and does not wait */
        w->answer = fd < 0 ? errno : 0;
        if (fd >= 0) {
            (void)close(fd);
        }
    }
}

static void read_file(const char *path, unsigned threads, writer *w, strbuf *out)
{
    reader_progress progress = {.threads = threads, .report = w ? open_for_writing : NULL, .ctx = w};
    rows r;
    rows_begin(&r, "input");
    rows_take_args(&r);
    r.status = reader_read_file(path, &r.b, &progress);
    strbuf_clear(out);
    rows_text(&r, out);
    rows_end(&r);
}

static void read_text(const strbuf *text, strbuf *out)
{
    rows r;
    rows_read(&r, text->s, text->n, &(reader_tuning){.by_tokens = true});
    strbuf_clear(out);
    rows_text(&r, out);
    rows_end(&r);
}

/* Does the system grant leases on files there? Then a writer has to find the file held. */
static bool grants_leases(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    bool yes = fd >= 0 && fcntl(fd, F_SETLEASE, F_RDLCK) == 0;
    if (fd >= 0) {
        (void)close(fd);
    }
    return yes;
}

/* Nobody holds the file any more. */
static void check_is_free(const char *path)
{
    int fd = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    assert_true(fd >= 0);
    (void)close(fd);
}

static void check(prng *r, const strbuf *text, const char *path)
{
    strbuf want = {0};
    strbuf got = {0};
    read_text(text, &want);
    assert_true(text->n > (1 << 20));
    assert_int_equal(file_write_all(path, text->s, text->n, NULL), MAREY_OK);
    for (unsigned threads = 1; threads <= THREADS; threads++) {
        read_file(path, threads, NULL, &got);
        by_tokens_same(&want, &got, text->s, text->n);
        check_is_free(path);
        writer w = {.path = path, .after = (int)prng_below(r, 5)};
        read_file(path, threads, &w, &got);
        by_tokens_same(&want, &got, text->s, text->n);
        assert_true(w.answer == 0 || w.answer == EWOULDBLOCK);
        n_held_back += w.answer == EWOULDBLOCK;
        check_is_free(path);
    }
    strbuf_deinit(&want);
    strbuf_deinit(&got);
}

static void test_files_are_their_text(void **state)
{
    (void)state;
    char dir[256];
    temporary_dir(dir, sizeof dir);
    strbuf path = {0};
    strbuf_printf(&path, "%s/trace.json", dir);
    prng r;
    prng_seed(&r, SEED);
    strbuf text = {0};
    for (int round = 0; round < ROUNDS; round++) {
        generate(&text, &r);
        if (round % 3 == 1) {
            text.n = by_tokens_damage(text.s, text.n, &r);
        } else if (round % 3 == 2) { /* ends at a page, so that nothing readable follows */
            text.n = text.n / 4096 * 4096;
        }
        check(&r, &text, path.s);
    }
    assert_true(n_held_back > ROUNDS || !grants_leases(path.s));
    strbuf_deinit(&text);
    strbuf_deinit(&path);
    remove_dir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_files_are_their_text)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
