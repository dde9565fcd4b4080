/*
 * All models of Debian's libonnx-testdata open without an error, a warning or a loss, and hold the invariants of a
 * graph. Skipped, saying so, where the package is absent.
 */
#include "cm.h"

#include "base/file.h"
#include "help/graph_read.h"

static const char folder[] = "/usr/share/libonnx-testdata";

static bool ends_with(const char *s, const char *end)
{
    size_t n = strlen(s);
    size_t m = strlen(end);
    return n >= m && strcmp(s + n - m, end) == 0;
}

static bool opens(const char *path)
{
    graph g;
    diag d;
    graph_finish_options options = {.infer_scopes = true};
    diag_init(&d);
    marey_status status = graph_read_file(path, &options, &g, &d);
    const char *wrong = status == MAREY_OK ? graph_check(&g) : "it was refused";
    bool good = !wrong && d.n_messages == 0 && d.n_losses == 0 && strcmp(graph_string(&g, g.format), "onnx") == 0;
    if (!good) {
        print_message("%s: %s %s\n", path, wrong ? wrong : "", d.n_messages ? d.messages[0].text : "");
    }
    if (status == MAREY_OK) {
        graph_deinit(&g);
    }
    diag_deinit(&d);
    return good;
}

static void all_models(void **state)
{
    (void)state;
    arena names = {0};
    char **paths = NULL;
    size_t n = 0;
    size_t n_models = 0;
    size_t n_bad = 0;
    if (!file_is_dir(folder)) {
        print_message("skipped: the package libonnx-testdata is not installed\n");
        skip();
    }
    assert_int_equal(file_list(folder, &names, &paths, &n, NULL), MAREY_OK);
    for (size_t i = 0; i < n; i++) {
        if (ends_with(paths[i], ".onnx")) {
            n_models++;
            n_bad += !opens(paths[i]);
        }
    }
    print_message("%zu models\n", n_models);
    free((void *)paths);
    arena_deinit(&names);
    assert_true(n_models > 1000);
    assert_int_equal(n_bad, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_models)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
