/*
 * Each small input in cases/ gives exactly the text beside it: every event, thread, flow, sample, collective, fact,
 * loss and message. `MAREY_ACCEPT=1` writes the text anew; look at the difference before it is committed.
 */
#include "cm.h"

#include "base/file.h"
#include "builder_rows.h"

static char *case_path(const char *name)
{
    const char *source = getenv("MAREY_SOURCE_DIR");
    strbuf b = {0};
    strbuf_printf(&b, "%s/tests/diff/readers/cases%s%s", source ? source : ".", *name ? "/" : "", name);
    return b.s;
}

static bool is_input(const char *path)
{
    size_t n = strlen(path);
    return n > 9 && strcmp(path + n - 9, ".expected") != 0;
}

static bool check_case(const char *path)
{
    char *data = NULL;
    size_t n = 0;
    assert_int_equal(file_read_all(path, 1 << 20, &data, &n, NULL), MAREY_OK);
    rows r;
    rows_read(&r, data, n, NULL);
    strbuf got = {0};
    rows_text(&r, &got);
    rows_end(&r);
    free(data);
    strbuf expected_path = {0};
    strbuf_printf(&expected_path, "%s.expected", path);
    bool same = false;
    char *want = NULL;
    size_t n_want = 0;
    if (getenv("MAREY_ACCEPT")) {
        same = file_write_all(expected_path.s, got.s, got.n, NULL) == MAREY_OK;
    } else if (file_read_all(expected_path.s, 1 << 20, &want, &n_want, NULL) == MAREY_OK) {
        same = n_want == got.n && memcmp(want, got.s, n_want) == 0;
    }
    if (!same) {
        print_error("%s gives:\n%s\ninstead of:\n%s\n", path_base(path), got.s, want ? want : "(no such file)");
    }
    free(want);
    strbuf_deinit(&got);
    strbuf_deinit(&expected_path);
    return same;
}

static void cases_give_their_text(void **state)
{
    (void)state;
    char *dir = case_path("");
    arena names = {0};
    char **paths = NULL;
    size_t n = 0;
    assert_int_equal(file_list(dir, &names, &paths, &n, NULL), MAREY_OK);
    size_t n_cases = 0;
    size_t n_bad = 0;
    for (size_t i = 0; i < n; i++) {
        if (is_input(paths[i])) {
            n_cases++;
            n_bad += check_case(paths[i]) ? 0 : 1;
        }
    }
    free((void *)paths);
    arena_deinit(&names);
    free(dir);
    assert_true(n_cases >= 40);
    assert_int_equal(n_bad, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(cases_give_their_text)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
