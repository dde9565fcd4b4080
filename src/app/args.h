/*
 * Command lines as data: one table of options per command is both what is parsed and what --help prints, so the two
 * can't differ. `--name VALUE`, `--name=VALUE`, `-o VALUE` and `-oVALUE` are the same; `--` ends the options; the last
 * one of several counts. Every command has --help and -h.
 *
 *     double scale = 1;
 *     const arg_option options[] = {{"--scale", 0, ARG_REAL, "S", "device pixels per design pixel", &scale, NULL}};
 *     const arg_command command = {"render", "FILE -o OUT.png", "Draw a picture without a window.", options, 1, 1, 1,
 * NULL}; arg_operands files; switch (args_parse(&command, argc, argv, &files)) { ... }
 *
 * Thread: the main thread. Values point into argv.
 */
#ifndef MAREY_APP_ARGS_H
#define MAREY_APP_ARGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef enum arg_kind {
    ARG_FLAG,   /* bool: set to true */
    ARG_TEXT,   /* const char * */
    ARG_COUNT,  /* uint64_t: digits only */
    ARG_REAL,   /* double: finite */
    ARG_TIME,   /* int64_t: ns, as time_parse reads it */
    ARG_RANGE,  /* int64_t[2]: "A..B"; a missing side leaves its value as it is */
    ARG_SIZE,   /* int[2]: "WxH", each 1 to 16384 */
    ARG_CHOICE, /* int: index of the word in `value`, words apart by '|' */
    ARG_EACH    /* through `each`, for options that may come several times; `to` is its context */
} arg_kind;

/** For ARG_EACH. @return NULL, or what was expected instead */
typedef const char *(*arg_each)(void *ctx, const char *text);

typedef struct arg_option {
    const char *name; /* "--time" */
    char letter;      /* 'o' for -o; 0: none */
    arg_kind kind;
    const char *value; /* what the help calls the value: "A..B"; the choices of ARG_CHOICE; NULL for flags */
    const char *help;  /* without a full stop */
    void *to;
    arg_each each;
} arg_option;

enum { ARGS_UNLIMITED = 1 << 20 };

typedef struct arg_command {
    const char *name;
    const char *operands; /* as in "usage: marey NAME OPERANDS" */
    const char *summary;  /* a sentence or two */
    const arg_option *options;
    size_t n_options;
    size_t min_operands, max_operands;
    const char *notes; /* printed below the options; NULL */
} arg_command;

typedef struct arg_operands {
    const char *const *items;
    size_t n;
} arg_operands;

typedef enum arg_result {
    ARGS_OK,
    ARGS_HELP, /* the help was printed to standard output: exit 0 */
    ARGS_WRONG /* a sentence was printed to standard error: exit 2 */
} arg_result;

/** argv[0] is the command's name. Operands are moved to the front of argv[1..] and stay in their order. */
arg_result args_parse(const arg_command *c, int argc, char **argv, arg_operands *operands);
void args_print_help(const arg_command *c, FILE *out);

/** The word of `words` that `text` is probably meant to be (few letters differ), or NULL. */
const char *args_nearest(const char *text, const char *const *words, size_t n);

#endif
