#include "app/args.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

enum { MAX_WORD = 64, HELP_COLUMN = 30, HELP_WIDTH = 118 };

/* ---- the nearest word ---- */

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Levenshtein's distance, where two swapped neighbours count as one slip; SIZE_MAX for long words. */
static size_t distance(const char *a, const char *b)
{
    size_t n = strlen(a);
    size_t m = strlen(b);
    if (n >= MAX_WORD || m >= MAX_WORD) {
        return SIZE_MAX;
    }
    size_t rows[3][MAX_WORD];
    size_t *before = rows[0];
    size_t *last = rows[1];
    size_t *now = rows[2];
    for (size_t j = 0; j <= m; j++) {
        last[j] = j;
    }
    for (size_t i = 1; i <= n; i++) {
        now[0] = i;
        for (size_t j = 1; j <= m; j++) {
            now[j] = smaller(smaller(last[j], now[j - 1]) + 1, last[j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
                now[j] = smaller(now[j], before[j - 2] + 1);
            }
        }
        size_t *free_row = before;
        before = last;
        last = now;
        now = free_row;
    }
    return last[m];
}

const char *args_nearest(const char *text, const char *const *words, size_t n)
{
    const char *best = NULL;
    size_t least = strlen(text) / 3 + 1;
    for (size_t i = 0; i < n; i++) {
        size_t d = distance(text, words[i]);
        bool begins = strlen(text) >= 3 && strncmp(text, words[i], strlen(text)) == 0;
        if (begins || d <= least) {
            best = words[i];
            least = begins ? 0 : d - (d > 0);
        }
    }
    return best;
}

/* ---- messages ---- */

static arg_result wrong(const arg_command *c, const char *format, ...) __attribute__((format(printf, 2, 3)));

static arg_result wrong(const arg_command *c, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (void)fprintf(stderr, "marey %s: ", c->name);
    (void)vfprintf(stderr, format, args);
    (void)fputc('\n', stderr);
    va_end(args);
    return ARGS_WRONG;
}

static arg_result unknown_option(const arg_command *c, const char *name)
{
    const char *words[64];
    size_t n = smaller(c->n_options, 63);
    for (size_t i = 0; i < n; i++) {
        words[i] = c->options[i].name;
    }
    words[n++] = "--help";
    const char *near = args_nearest(name, words, n);
    if (near) {
        return wrong(c, "There is no option %s; did you mean %s?", name, near);
    }
    return wrong(c, "There is no option %s; `marey %s --help` lists them.", name, c->name);
}

/* ---- values ---- */

static bool parse_count(const char *text, uint64_t *to)
{
    if (text[0] < '0' || text[0] > '9') {
        return false;
    }
    char *end = NULL;
    errno = 0;
    unsigned long long v = strtoull(text, &end, 10);
    *to = v;
    return errno == 0 && *end == '\0';
}

static bool parse_real(const char *text, double *to)
{
    char *end = NULL;
    *to = strtod(text, &end);
    return end != text && *end == '\0' && isfinite(*to);
}

static bool parse_range(const char *text, int64_t to[2])
{
    int64_t range[2] = {to[0], to[1]};
    if (!time_parse_range(text, &range[0], &range[1])) {
        return false;
    }
    to[0] = range[0];
    to[1] = range[1];
    return true;
}

static bool parse_size(const char *text, int to[2])
{
    char *end = NULL;
    long w = strtol(text, &end, 10);
    if (end == text || (*end != 'x' && *end != 'X') || w < 1 || w > 16384) {
        return false;
    }
    const char *second = end + 1;
    long h = strtol(second, &end, 10);
    if (end == second || *end != '\0' || h < 1 || h > 16384) {
        return false;
    }
    to[0] = (int)w;
    to[1] = (int)h;
    return true;
}

static bool parse_choice(const char *text, const char *choices, int *to)
{
    size_t n = strlen(text);
    int index = 0;
    for (const char *p = choices; p; index++) {
        const char *bar = strchr(p, '|');
        size_t len = bar ? (size_t)(bar - p) : strlen(p);
        if (n > 0 && len == n && strncmp(p, text, n) == 0) {
            *to = index;
            return true;
        }
        p = bar ? bar + 1 : NULL;
    }
    return false;
}

static const char *expected(const arg_option *o)
{
    static const char *const words[] = {
        [ARG_FLAG] = "",
        [ARG_TEXT] = "some text",
        [ARG_COUNT] = "a whole number",
        [ARG_REAL] = "a number",
        [ARG_TIME] = "a time with unit, such as 12.5ms or 3s",
        [ARG_RANGE] = "a range of times A..B, such as 12.5ms..3s",
        [ARG_SIZE] = "WxH in pixels, such as 1920x1080, at most 16384 each",
        [ARG_EACH] = "",
    };
    return o->kind == ARG_CHOICE ? o->value : words[o->kind];
}

/** @return NULL, or what was expected */
static const char *store_value(const arg_option *o, const char *text)
{
    bool good = true;
    switch (o->kind) {
    case ARG_FLAG:
        *(bool *)o->to = true;
        break;
    case ARG_TEXT:
        good = text[0] != '\0';
        *(const char **)o->to = text;
        break;
    case ARG_COUNT:
        good = parse_count(text, o->to);
        break;
    case ARG_REAL:
        good = parse_real(text, o->to);
        break;
    case ARG_TIME:
        good = time_parse(text, strlen(text), o->to);
        break;
    case ARG_RANGE:
        good = parse_range(text, o->to);
        break;
    case ARG_SIZE:
        good = parse_size(text, o->to);
        break;
    case ARG_CHOICE:
        good = parse_choice(text, o->value, o->to);
        break;
    case ARG_EACH:
        return o->each(o->to, text);
    }
    return good ? NULL : expected(o);
}

/* ---- the walk over argv ---- */

typedef struct walk {
    const arg_command *c;
    int argc;
    char **argv;
    int i; /* the argument being looked at */
    int n_operands;
} walk;

/* `inline_value` is what came with the option's own word ("--time=1s", "-oout"), or NULL. */
static arg_result take_option(walk *w, const arg_option *o, const char *inline_value)
{
    const char *text = inline_value;
    if (o->kind == ARG_FLAG) {
        if (text) {
            return wrong(w->c, "%s takes no value.", o->name);
        }
        text = "";
    } else if (!text) {
        if (w->i + 1 >= w->argc) {
            return wrong(w->c, "%s wants a value: %s.", o->name, o->value);
        }
        text = w->argv[++w->i];
    }
    const char *want = store_value(o, text);
    if (want) {
        return wrong(w->c, "%s wants %s, not \"%s\".", o->name, want, text);
    }
    return ARGS_OK;
}

static arg_result take_long(walk *w, char *word)
{
    char *equals = strchr(word, '=');
    size_t n = equals ? (size_t)(equals - word) : strlen(word);
    if (n == 6 && strncmp(word, "--help", n) == 0) {
        args_print_help(w->c, stdout);
        return ARGS_HELP;
    }
    for (size_t k = 0; k < w->c->n_options; k++) {
        const arg_option *o = &w->c->options[k];
        if (strlen(o->name) == n && strncmp(o->name, word, n) == 0) {
            return take_option(w, o, equals ? equals + 1 : NULL);
        }
    }
    word[n] = '\0';
    return unknown_option(w->c, word);
}

static arg_result take_short(walk *w, const char *word)
{
    if (word[1] == 'h' && word[2] == '\0') {
        args_print_help(w->c, stdout);
        return ARGS_HELP;
    }
    for (size_t k = 0; k < w->c->n_options; k++) {
        const arg_option *o = &w->c->options[k];
        if (o->letter && o->letter == word[1]) {
            return take_option(w, o, word[2] ? word + 2 : NULL);
        }
    }
    return unknown_option(w->c, word);
}

static arg_result check_operands(const arg_command *c, int argc, char **argv, size_t n)
{
    if (n < c->min_operands) {
        return wrong(c, "Something is missing; the usage is: marey %s %s", c->name, c->operands);
    }
    if (n > c->max_operands) {
        return wrong(c, "\"%s\" is one argument too many; the usage is: marey %s %s",
                     argc > 1 ? argv[c->max_operands + 1] : "", c->name, c->operands);
    }
    return ARGS_OK;
}

arg_result args_parse(const arg_command *c, int argc, char **argv, arg_operands *operands)
{
    walk w = {c, argc, argv, 1, 0};
    bool options_ended = false;
    for (; w.i < argc; w.i++) {
        char *word = argv[w.i];
        arg_result r = ARGS_OK;
        if (options_ended || word[0] != '-' || word[1] == '\0') {
            argv[++w.n_operands] = word; /* never ahead of what was read */
        } else if (strcmp(word, "--") == 0) {
            options_ended = true;
        } else {
            r = word[1] == '-' ? take_long(&w, word) : take_short(&w, word);
        }
        if (r != ARGS_OK) {
            return r;
        }
    }
    *operands = (arg_operands){(const char *const *)(argv + 1), (size_t)w.n_operands};
    return check_operands(c, argc, argv, operands->n);
}

/* ---- help ---- */

/* Break a text at blanks into lines of at most HELP_WIDTH, each after the first behind `indent` blanks. `column` is
 * where the first one begins; line breaks in the text stay. */
static void print_wrapped(const char *text, int column, int indent, FILE *out)
{
    for (const char *p = text; *p;) {
        size_t word = strcspn(p, " \n");
        size_t gap = p > text && p[-1] == ' ' ? 1 : 0;
        if (gap && column + 1 + (int)word > HELP_WIDTH) {
            (void)fprintf(out, "\n%*s", indent, "");
            column = indent;
        } else if (gap) {
            (void)fputc(' ', out);
            column++;
        }
        (void)fwrite(p, 1, word, out);
        column += (int)word;
        p += word;
        if (*p == '\n') {
            (void)fprintf(out, "\n%*s", indent, "");
            column = indent;
        }
        p += *p != '\0';
    }
    (void)fputc('\n', out);
}

static void print_option(const char *name, char letter, const char *value, const char *help, FILE *out)
{
    char left[128];
    char short_form[8] = "";
    if (letter) {
        (void)snprintf(short_form, sizeof short_form, "-%c, ", letter);
    }
    int n = snprintf(left, sizeof left, "  %s%s%s%s", short_form, name, value ? " " : "", value ? value : "");
    if (n >= HELP_COLUMN) {
        (void)fprintf(out, "%s\n%*s", left, HELP_COLUMN, "");
    } else {
        (void)fprintf(out, "%-*s", HELP_COLUMN, left);
    }
    print_wrapped(help, HELP_COLUMN, HELP_COLUMN, out);
}

void args_print_help(const arg_command *c, FILE *out)
{
    (void)fprintf(out, "usage: marey %s %s\n\n", c->name, c->operands);
    print_wrapped(c->summary, 0, 0, out);
    (void)fputc('\n', out);
    for (size_t i = 0; i < c->n_options; i++) {
        const arg_option *o = &c->options[i];
        print_option(o->name, o->letter, o->value, o->help, out);
    }
    print_option("--help", 'h', NULL, "this text", out);
    if (c->notes) {
        (void)fputc('\n', out);
        print_wrapped(c->notes, 0, 0, out);
    }
}
