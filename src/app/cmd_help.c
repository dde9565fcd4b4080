/* `marey help [COMMAND | keys]`. */
#include <stdio.h>
#include <string.h>

#include "app/args.h"
#include "app/commands.h"
#if MAREY_VIEWER
#include "app/actions.h"
#endif

/* A command prints its help from the table that it parses by. */
static int help_of(const char *name)
{
    const marey_command *c = command_find(name);
    if (!c) {
        (void)fprintf(stderr, "marey help: There is no command \"%s\"; `marey help` lists them.\n", name);
        return EXIT_USAGE;
    }
    char word[32];
    char help[] = "--help";
    (void)snprintf(word, sizeof word, "%s", name);
    char *argv[] = {word, help, NULL};
    return c->run(2, argv);
}

int cmd_help(int argc, char **argv)
{
    bool markdown = false;
    const arg_option options[] = {
        {"--markdown", 0, ARG_FLAG, NULL, "the keys as Markdown: docs/keys.md", &markdown, NULL},
    };
    const arg_command command = {"help",
                                 "[COMMAND | keys]",
                                 "The menu; the options of one command; the keys and gestures of the window.",
                                 options,
                                 1,
                                 0,
                                 1,
                                 NULL};
    arg_operands words;
    arg_result parsed = args_parse(&command, argc, argv, &words);
    if (parsed != ARGS_OK) {
        return parsed == ARGS_HELP ? EXIT_DONE : EXIT_USAGE;
    }
#if MAREY_VIEWER
    if (words.n == 0 ? markdown : strcmp(words.items[0], "keys") == 0) {
        actions_print(stdout, markdown);
        return EXIT_DONE;
    }
#endif
    if (words.n == 0) {
        commands_print_menu(stdout);
        return EXIT_DONE;
    }
    if (strcmp(words.items[0], "help") == 0) {
        args_print_help(&command, stdout);
        return EXIT_DONE;
    }
    return help_of(words.items[0]);
}
