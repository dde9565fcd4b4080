/*
 * Contract: what a conversion refuses, it refuses with a message and without a trace in the target's folder: wrong or
 * missing input, cancelled work, losses under `strict`, rules that can't be read. Ranks are numbered by what the files
 * say, then by their names; the user's rules decide before the built-in ones.
 */
#include "cm.h"

#include <unistd.h>

#include "base/file.h"
#include "convert/convert.h"
#include "store/store.h"

static char dir[64];

static const char *path_of(const char *name)
{
    static char paths[4][256];
    static unsigned next;
    char *path = paths[next++ % 4];
    (void)snprintf(path, 256, "%s/%s", dir, name);
    return path;
}

static void write_file(const char *name, const char *text)
{
    assert_int_equal(file_write_all(path_of(name), text, strlen(text), NULL), MAREY_OK);
}

static int set_up(void **state)
{
    (void)state;
    (void)snprintf(dir, sizeof dir, "/tmp/marey-options-XXXXXX");
    if (!mkdtemp(dir)) {
        return 1;
    }
    write_file("good.json", "[{\"ph\": \"X\", \"name\": \"a\", \"pid\": 1, \"tid\": 2, \"ts\": 5, \"dur\": 3}]");
    write_file("lossy.json", "[{\"ph\": \"X\", \"name\": \"a\", \"pid\": 1, \"tid\": 2, \"ts\": 5, \"dur\": -3}]");
    write_file("letter.txt", "Dear reader,");
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    (void)unlink(path_of("good.json"));
    (void)unlink(path_of("lossy.json"));
    (void)unlink(path_of("letter.txt"));
    return rmdir(dir); /* fails when a test left something */
}

static void refuses(const char *input, convert_options options, marey_status expected)
{
    options.out = path_of("out.h5");
    diag d;
    diag_init(&d);
    convert_summary summary;
    assert_int_equal(convert_paths(&input, 1, &options, &summary, &d), expected);
    assert_true(d.n_messages > 0);
    assert_true(strlen(d.messages[0].text) > 5);
    assert_false(file_exists(path_of("out.h5")));
    diag_deinit(&d);
}

static void refuses_input(void **state)
{
    (void)state;
    refuses(path_of("nothing.json"), (convert_options){0}, MAREY_IO);
    refuses(path_of("letter.txt"), (convert_options){0}, MAREY_UNSUPPORTED);
    refuses("/proc/self/fdinfo", (convert_options){0}, MAREY_UNSUPPORTED);
    refuses(path_of("lossy.json"), (convert_options){.strict = true}, MAREY_FORMAT);
    refuses(path_of("good.json"), (convert_options){.rules_path = path_of("none.rules")}, MAREY_IO);
    diag d;
    diag_init(&d);
    convert_options options = {.out = path_of("out.h5")};
    assert_int_equal(convert_paths(NULL, 0, &options, NULL, &d), MAREY_ARG);
    diag_deinit(&d);
}

static void refuses_target(void **state)
{
    (void)state;
    const char *input = path_of("good.json");
    convert_options options = {.out = path_of("letter.txt")};
    diag d;
    diag_init(&d);
    assert_int_equal(convert_paths(&input, 1, &options, NULL, &d), MAREY_IO);
    assert_int_equal(file_size(path_of("letter.txt")), 12);
    options.out = "/nowhere/at/all.h5";
    assert_int_equal(convert_paths(&input, 1, &options, NULL, &d), MAREY_IO);
    diag_deinit(&d);
}

static void cancels(void **state)
{
    (void)state;
    cancel_flag cancel = {true};
    refuses(path_of("good.json"), (convert_options){.cancel = &cancel}, MAREY_CANCELLED);
}

static void follows_user_rules(void **state)
{
    (void)state;
    write_file("my.rules", "category mine collective communication\nmatch mine * a\n");
    const char *input = path_of("good.json");
    convert_options options = {.out = path_of("out.h5"), .rules_path = path_of("my.rules"), .strict = true};
    convert_summary summary;
    assert_int_equal(convert_paths(&input, 1, &options, &summary, NULL), MAREY_OK);
    assert_int_equal(summary.n_events, 1);
    assert_int_equal(summary.n_losses, 0);
    store_file *f = NULL;
    assert_int_equal(store_open(&f, options.out, NULL), MAREY_OK);
    const trace_model *m = store_model(f);
    assert_int_equal(m->n_lanes, 1);
    assert_int_equal(m->lanes[0].kind, KIND_COMMUNICATION);
    assert_string_equal(m->name, "good");
    store_close(&f);
    (void)unlink(path_of("out.h5"));
    (void)unlink(path_of("my.rules"));
}

/* (file name, rank stated in it or -1) -> number */
static void numbers_ranks(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int stated;
        int64_t expected;
    } cases[] = {{"a_rank-34.json", -1, 34}, {"worker3.pt.trace.json", -1, 3},
                 {"x_7.json", 5, 5},         {"y_rank_2_more.json", -1, 2},
                 {"z.json", -1, 1},          {"step_1679055439.json", -1, 0},
                 {"zz_rank9.json", 5, 9}};
    const char *paths[7];
    char storage[7][256];
    for (size_t i = 0; i < 7; i++) {
        char text[512];
        (void)snprintf(
            text, sizeof text,
            "{\"schemaVersion\": 1, \"distributedInfo\": {\"world_size\": 64%s%.0d}, \"traceEvents\": [{\"ph\": \"X\", "
            "\"cat\": \"kernel\", \"name\": \"k%zu\", \"pid\": 0, \"tid\": 7, \"ts\": 5, \"dur\": 3}]}",
            cases[i].stated >= 0 ? ", \"rank\": " : "", cases[i].stated >= 0 ? cases[i].stated : 0, i);
        write_file(cases[i].name, text);
        (void)snprintf(storage[i], sizeof storage[i], "%s", path_of(cases[i].name));
        paths[i] = storage[i];
    }
    convert_options options = {.out = path_of("out.h5")};
    assert_int_equal(convert_paths(paths, 7, &options, NULL, NULL), MAREY_OK);
    store_file *f = NULL;
    assert_int_equal(store_open(&f, options.out, NULL), MAREY_OK);
    const trace_model *m = store_model(f);
    assert_int_equal(m->n_inputs, 7);
    for (size_t i = 0; i < 7; i++) {
        size_t k = 0;
        while (k < 7 && strcmp(path_base(m->inputs[i].path), cases[k].name) != 0) {
            k++;
        }
        assert_true(k < 7);
        assert_int_equal(m->ranks[m->inputs[i].rank].rank, cases[k].expected);
        bool inferred = m->ranks[m->inputs[i].rank].inferred & INFERRED_RANK;
        assert_int_equal(inferred, cases[k].stated != cases[k].expected);
    }
    store_close(&f);
    for (size_t i = 0; i < 7; i++) {
        (void)unlink(paths[i]);
    }
    (void)unlink(path_of("out.h5"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(refuses_input), cmocka_unit_test(refuses_target),
                                       cmocka_unit_test(cancels), cmocka_unit_test(follows_user_rules),
                                       cmocka_unit_test(numbers_ranks)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
