/* marey: one program with sub-commands. `marey PATH...` opens the window. */
#include <stdio.h>
#include <string.h>

#include "app/args.h"
#include "app/commands.h"
#include "app/program.h"
#include "base/clock.h"
#include "base/file.h"

#ifndef MAREY_PROGRAM_VERSION
#error "MAREY_PROGRAM_VERSION comes from CMake's project()"
#endif

static int unknown_command(const char *word)
{
    const char *names[32];
    size_t n = 0;
    for (size_t i = 0; i < N_COMMANDS && n < 32; i++) {
        names[n++] = COMMANDS[i].name;
    }
    const char *near = args_nearest(word, names, n);
    (void)fprintf(stderr, "marey: There is no command and no file \"%s\"", word);
    if (near) {
        (void)fprintf(stderr, "; did you mean `marey %s`?\n", near);
    } else {
        (void)fputs("; `marey help` lists the commands.\n", stderr);
    }
    return EXIT_USAGE;
}

static bool looks_like_path(const char *word)
{
    return strchr(word, '/') || strchr(word, '.') || file_exists(word);
}

/* Everything but a command's name belongs to `open`, which gets its own name put in front. */
static int open_paths(int argc, char **argv)
{
#if MAREY_VIEWER
    char name[] = "open";
    argv[0] = name;
    return cmd_open(argc, argv);
#else
    (void)argc;
    (void)argv;
    (void)fputs("marey: This marey was built without the window; `marey help` lists what it can do.\n", stderr);
    return EXIT_USAGE;
#endif
}

int main(int argc, char **argv)
{
    program_start_ns = clock_now_ns();
    if (argc < 2) {
        commands_print_menu(stderr);
        return EXIT_USAGE;
    }
    const char *word = argv[1];
    if (strcmp(word, "--version") == 0) {
        (void)puts("marey " MAREY_PROGRAM_VERSION);
        return EXIT_DONE;
    }
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
        commands_print_menu(stdout);
        return EXIT_DONE;
    }
    const marey_command *c = command_find(word);
    if (c) {
        return c->run(argc - 1, argv + 1);
    }
    if (word[0] != '-' && !looks_like_path(word)) {
        return unknown_command(word);
    }
    return open_paths(argc, argv);
}
