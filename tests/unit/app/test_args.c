/*
 * Contract of app/args.h:
 *
 * - Every way of writing an option gives the same value; the last of several counts; "--" ends the options; operands
 * keep their order wherever they stand; "-" is an operand.
 * - A wrong value, an unknown option, one operand too many or too few: ARGS_WRONG and exactly one line on standard
 * error, which names what was expected or the nearest known word.
 * - The help names every option of the table.
 */
#include "cm.h"

#include "app/args.h"
#include "help_capture.h"

typedef struct values {
    bool flag;
    const char *out;
    uint64_t count;
    double real;
    int64_t time;
    int64_t range[2];
    int size[2];
    int theme;
    int n_each;
} values;

static const char *take_each(void *ctx, const char *text)
{
    int *n = ctx;
    *n += 1;
    return strcmp(text, "bad") == 0 ? "something good" : NULL;
}

static arg_result parse(values *v, arg_operands *operands, int argc, const char *const *words)
{
    static char copies[16][64];
    static char *argv[17];
    for (int i = 0; i < argc; i++) {
        (void)snprintf(copies[i], sizeof copies[i], "%s", words[i]);
        argv[i] = copies[i];
    }
    argv[argc] = NULL;
    *v = (values){.range = {-7, 7}};
    const arg_option options[] = {
        {"--flag", 'f', ARG_FLAG, NULL, "a flag", &v->flag, NULL},
        {"--output", 'o', ARG_TEXT, "OUT", "a text", &v->out, NULL},
        {"--count", 0, ARG_COUNT, "N", "a count", &v->count, NULL},
        {"--real", 0, ARG_REAL, "X", "a number", &v->real, NULL},
        {"--at", 0, ARG_TIME, "T", "a time", &v->time, NULL},
        {"--time", 0, ARG_RANGE, "A..B", "a range", v->range, NULL},
        {"--size", 0, ARG_SIZE, "WxH", "a size", v->size, NULL},
        {"--theme", 0, ARG_CHOICE, "dark|light", "a choice", &v->theme, NULL},
        {"--inject", 0, ARG_EACH, "FAULT", "several", &v->n_each, take_each},
    };
    const arg_command c = {"try", "FILE...", "Tries.", options, sizeof options / sizeof *options, 1, 3, "And notes."};
    return args_parse(&c, argc, argv, operands);
}

#define PARSE(v, operands, ...)                                                                                        \
    parse(v, operands, (int)(sizeof((const char *[]){"try", __VA_ARGS__}) / sizeof(char *)),                           \
          (const char *[]){"try", __VA_ARGS__})

static void all_kinds(void **state)
{
    (void)state;
    values v;
    arg_operands o;
    assert_int_equal(
        PARSE(&v, &o, "-f", "a", "--count", "12", "--real=-1.5", "--at", "12.5ms", "--time", "1ms..2ms", "-"), ARGS_OK);
    assert_true(v.flag);
    assert_int_equal(v.count, 12);
    assert_true(v.real == -1.5);
    assert_int_equal(v.time, 12500000);
    assert_int_equal(v.range[0], 1000000);
    assert_int_equal(v.range[1], 2000000);
    assert_int_equal(o.n, 2);
    assert_string_equal(o.items[0], "a");
    assert_string_equal(o.items[1], "-");
    assert_int_equal(PARSE(&v, &o, "--size", "640x480", "--theme=light", "--inject", "x", "--inject=y", "a"), ARGS_OK);
    assert_int_equal(v.size[0], 640);
    assert_int_equal(v.size[1], 480);
    assert_int_equal(v.theme, 1);
    assert_int_equal(v.n_each, 2);
}

static void same_in_all_ways(void **state)
{
    (void)state;
    values v;
    arg_operands o;
    assert_int_equal(PARSE(&v, &o, "-o", "x", "a"), ARGS_OK);
    assert_string_equal(v.out, "x");
    assert_int_equal(PARSE(&v, &o, "-ox", "a"), ARGS_OK);
    assert_string_equal(v.out, "x");
    assert_int_equal(PARSE(&v, &o, "a", "--output=x"), ARGS_OK);
    assert_string_equal(v.out, "x");
    assert_int_equal(PARSE(&v, &o, "--output", "y", "a", "--output", "x"), ARGS_OK);
    assert_string_equal(v.out, "x");
    assert_int_equal(PARSE(&v, &o, "a", "--", "--flag", "-o"), ARGS_OK);
    assert_false(v.flag);
    assert_int_equal(o.n, 3);
    assert_string_equal(o.items[2], "-o");
    assert_int_equal(PARSE(&v, &o, "a", "--time", "..5us"), ARGS_OK);
    assert_int_equal(v.range[0], -7);
    assert_int_equal(v.range[1], 5000);
}

static void says(const char *part, int argc, const char *const *words)
{
    values v;
    arg_operands o;
    char text[1024];
    capture c = capture_begin(stderr);
    arg_result r = parse(&v, &o, argc, words);
    capture_end(&c, text, sizeof text);
    assert_int_equal(r, ARGS_WRONG);
    if (!strstr(text, part)) {
        fail_msg("wanted \"%s\" in: %s", part, text);
    }
    assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
}

#define SAYS(part, ...)                                                                                                \
    says(part, (int)(sizeof((const char *[]){"try", __VA_ARGS__}) / sizeof(char *)),                                   \
         (const char *[]){"try", __VA_ARGS__})

static void wrong_is_one_sentence(void **state)
{
    (void)state;
    SAYS("did you mean --theme?", "--thmee", "dark", "a");
    SAYS("did you mean --output?", "--outptu", "x", "a");
    SAYS("did you mean --output?", "--out", "x", "a");
    SAYS("no option --nothing; `marey try --help`", "--nothing", "a");
    SAYS("no option -z", "-z", "a");
    SAYS("dark|light", "--theme", "blue", "a");
    SAYS("dark|light", "--theme", "", "a");
    SAYS("dark|light", "--theme", "dark|light", "a");
    SAYS("--count wants a whole number", "--count", "-1", "a");
    SAYS("--count wants a whole number", "--count", "1x", "a");
    SAYS("--count wants a whole number", "--count", "99999999999999999999", "a");
    SAYS("--real wants a number", "--real", "nan", "a");
    SAYS("--at wants a time", "--at", "soon", "a");
    SAYS("--time wants a range", "--time", "1ms", "a");
    SAYS("--size wants WxH", "--size", "640", "a");
    SAYS("--size wants WxH", "--size", "0x5", "a");
    SAYS("--size wants WxH", "--size", "20000x5", "a");
    SAYS("--output wants a value: OUT", "a", "--output");
    SAYS("--output wants some text", "a", "--output=");
    SAYS("--flag takes no value", "--flag=yes", "a");
    SAYS("--inject wants something good", "--inject", "bad", "a");
    SAYS("missing", "--flag");
    SAYS("\"d\" is one argument too many", "a", "b", "c", "d");
}

static void help_names_everything(void **state)
{
    (void)state;
    values v;
    arg_operands o;
    char text[4096];
    const char *const forms[] = {"--help", "-h"};
    for (size_t i = 0; i < 2; i++) {
        capture c = capture_begin(stdout);
        arg_result r = PARSE(&v, &o, "a", forms[i]);
        capture_end(&c, text, sizeof text);
        assert_int_equal(r, ARGS_HELP);
        const char *const parts[] = {
            "usage: marey try FILE...", "Tries.",     "-f, --flag", "--output OUT", "--time A..B", "dark|light",
            "--inject FAULT",           "-h, --help", "And notes."};
        for (size_t k = 0; k < sizeof parts / sizeof *parts; k++) {
            assert_non_null(strstr(text, parts[k]));
        }
    }
}

static void nearest_words(void **state)
{
    (void)state;
    const char *const words[] = {"open", "convert", "info", "render", "grid", "bench", "synth", "help"};
    assert_string_equal(args_nearest("convret", words, 8), "convert");
    assert_string_equal(args_nearest("conv", words, 8), "convert");
    assert_string_equal(args_nearest("rendr", words, 8), "render");
    assert_string_equal(args_nearest("gird", words, 8), "grid");
    assert_null(args_nearest("xyzzy", words, 8));
    assert_null(args_nearest("", words, 8));
    char long_word[200];
    memset(long_word, 'a', sizeof long_word - 1);
    long_word[sizeof long_word - 1] = '\0';
    assert_null(args_nearest(long_word, words, 8));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_kinds),
        cmocka_unit_test(same_in_all_ways),
        cmocka_unit_test(wrong_is_one_sentence),
        cmocka_unit_test(help_names_everything),
        cmocka_unit_test(nearest_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
