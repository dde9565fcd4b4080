/*
 * Contract: each input of cases/ (a file, or a folder of files) converts into exactly the text beside it: all events
 * with track, category, class, occurrence, flags and arguments, lanes and threads with their totals, steps, phases,
 * groups, counters, links, collectives, inputs and losses. One or two jobs, in memory or by way of the scratch file:
 * the same text. `MAREY_ACCEPT=1` writes the text anew; look at the difference before it is committed.
 */
#include "cm.h"

#include <unistd.h>

#include "base/file.h"
#include "convert/convert.h"
#include "help_dump.h"

static char *case_path(const char *name)
{
    const char *source = getenv("MAREY_SOURCE_DIR");
    strbuf b = {0};
    strbuf_printf(&b, "%s/tests/diff/convert/cases/%s", source ? source : ".", name);
    return b.s;
}

static void convert_to_text(const char *path, unsigned jobs, uint64_t memory, strbuf *text)
{
    char out[] = "/tmp/marey-diff-XXXXXX";
    int fd = mkstemp(out);
    assert_true(fd >= 0);
    (void)close(fd);
    (void)unlink(out);
    convert_options options = {.out = out, .jobs = jobs, .memory_bytes = memory};
    convert_summary summary;
    diag d;
    diag_init(&d);
    marey_status status = convert_paths(&path, 1, &options, &summary, &d);
    if (status == MAREY_OK) {
        assert_true(dump_file(out, text, &d));
        assert_int_equal(unlink(out), 0);
    } else {
        strbuf_printf(text, "%s\n", marey_status_text(status));
        assert_false(file_exists(out));
    }
    for (size_t i = 0; i < d.n_messages; i++) {
        const char *where = d.messages[i].where ? path_base(d.messages[i].where) : "";
        strbuf_printf(text, "message %s: %s\n", where, d.messages[i].text);
    }
    diag_deinit(&d);
}

static void check_case(const char *name)
{
    char *path = case_path(name);
    strbuf expected_path = {0};
    strbuf_printf(&expected_path, "%s.txt", path);
    strbuf got = {0};
    convert_to_text(path, 1, 0, &got);
    char *want = NULL;
    size_t n_want = 0;
    if (getenv("MAREY_ACCEPT")) {
        assert_int_equal(file_write_all(expected_path.s, got.s, got.n, NULL), MAREY_OK);
    }
    assert_int_equal(file_read_all(expected_path.s, 1 << 20, &want, &n_want, NULL), MAREY_OK);
    assert_string_equal(got.s, want);
    strbuf again = {0};
    convert_to_text(path, 2, 1, &again);
    assert_string_equal(again.s, want);
    free(want);
    free(path);
    strbuf_deinit(&got);
    strbuf_deinit(&again);
    strbuf_deinit(&expected_path);
}

static void training(void **state)
{
    (void)state;
    check_case("train.json");
}

static void pipeline(void **state)
{
    (void)state;
    check_case("pipeline.json");
}

static void plain_threads(void **state)
{
    (void)state;
    check_case("threads.json");
}

static void far_times(void **state)
{
    (void)state;
    check_case("far.json");
}

static void counters_alone(void **state)
{
    (void)state;
    check_case("counters.json");
}

static void folders(void **state)
{
    (void)state;
    check_case("two_ranks");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(training),       cmocka_unit_test(pipeline),
                                       cmocka_unit_test(plain_threads),  cmocka_unit_test(far_times),
                                       cmocka_unit_test(counters_alone), cmocka_unit_test(folders)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
