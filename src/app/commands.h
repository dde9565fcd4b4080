/*
 * The sub-commands. Each gets its own name as argv[0] and what follows it, reads its options by app/args.h, and returns
 * the program's exit code: 0 done, 1 the input could not be used, 2 wrong usage. The table that main.c dispatches by,
 * and that the menu is printed from, is in commands.c.
 */
#ifndef MAREY_APP_COMMANDS_H
#define MAREY_APP_COMMANDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum { EXIT_DONE = 0, EXIT_INPUT = 1, EXIT_USAGE = 2 };

int cmd_convert(int argc, char **argv);
int cmd_info(int argc, char **argv);
int cmd_grid(int argc, char **argv);
int cmd_stats(int argc, char **argv);
int cmd_report(int argc, char **argv);
int cmd_graph(int argc, char **argv);
int cmd_synth(int argc, char **argv);
int cmd_help(int argc, char **argv);
#if MAREY_VIEWER
int cmd_open(int argc, char **argv);
int cmd_render(int argc, char **argv);
int cmd_bench(int argc, char **argv);
#endif

typedef struct marey_command {
    const char *name;
    const char *summary; /* one line of the menu */
    int (*run)(int argc, char **argv);
} marey_command;

extern const marey_command COMMANDS[];
extern const size_t N_COMMANDS;

/** NULL when there is none of this name. */
const marey_command *command_find(const char *name);
/** The menu of all commands. */
void commands_print_menu(FILE *out);

#endif
