/* The table of sub-commands and the menu. */
#include "app/commands.h"

#include <stdio.h>
#include <string.h>

const marey_command COMMANDS[] = {
#if MAREY_VIEWER
    {"open", "show a run in a window; `marey FILE` is the same", cmd_open},
#endif
    {"convert", "profiler files and folders to one HDF5 file", cmd_convert},
    {"info", "what a file holds, and what was dropped or repaired", cmd_info},
#if MAREY_VIEWER
    {"render", "draw a picture without a window", cmd_render},
#endif
    {"grid", "the exact numbers behind a picture: rows x time bins", cmd_grid},
#if MAREY_VIEWER
    {"bench", "measure frames of a scripted zoom", cmd_bench},
#endif
    {"stats", "what ran in a time range, by name, and where each rank's time went", cmd_stats},
    {"report", "the diagnosis: what makes the steps long, and who is to blame", cmd_report},
    {"graph", "a computational graph: simplified, laid out, counted", cmd_graph},
    {"synth", "simulate a training run on a cluster, with known faults", cmd_synth},
    {"help", "this menu; the options of a command; the keys of the window", cmd_help},
};
const size_t N_COMMANDS = sizeof COMMANDS / sizeof *COMMANDS;

const marey_command *command_find(const char *name)
{
    for (size_t i = 0; i < N_COMMANDS; i++) {
        if (strcmp(COMMANDS[i].name, name) == 0) {
            return &COMMANDS[i];
        }
    }
    return NULL;
}

void commands_print_menu(FILE *out)
{
#if MAREY_VIEWER
    (void)fputs("usage: marey FILE|FOLDER...           show a run: profiler files, or what `marey convert` wrote\n",
                out);
#endif
    (void)fputs("usage: marey COMMAND [ARGUMENTS]\n\n", out);
    for (size_t i = 0; i < N_COMMANDS; i++) {
        (void)fprintf(out, "  %-10s %s\n", COMMANDS[i].name, COMMANDS[i].summary);
    }
    (void)fputs("\n`marey COMMAND --help` tells more. `marey --version` prints the version.\n", out);
}
