/* The options that say how a run is looked at, shared by `open`, `render` and `bench`. */
#ifndef MAREY_APP_LOOK_H
#define MAREY_APP_LOOK_H

#include "app/args.h"
#include "app/session.h"

/* Entries of an arg_option table; `look` is a session_look. */
#define LOOK_OPTIONS(look)                                                                                              \
    {"--theme", 0, ARG_CHOICE, "dark|light", "colours (dark)", &(look).theme, NULL},                                    \
        {"--layout",                                                                                                    \
         0,                                                                                                             \
         ARG_CHOICE,                                                                                                    \
         "timeline|marey|communication|steps",                                                                          \
         "rows of events; bands that join equal work; devices and links; rank x step (timeline)",                       \
         &(look).layout,                                                                                                \
         NULL},                                                                                                         \
        {"--time",                                                                                                      \
         0,                                                                                                             \
         ARG_RANGE,                                                                                                     \
         "A..B",                                                                                                        \
         "what to show, from the run's start: 12.5ms..3s; either side may be missing",                                  \
         (look).time_ns,                                                                                                \
         NULL},                                                                                                         \
        {"--rows",     0,   ARG_TEXT, "PATTERN", "only rows whose name matches; * and ?, several by comma",             \
         &(look).rows, NULL},                                                                                           \
        {"--row-height",     0,   ARG_REAL, "H", "height of a rank's row in design pixels (what fits)",                 \
         &(look).row_height, NULL},                                                                                     \
        {"--panels",     0,   ARG_CHOICE, "off|on|auto", "inspector and time per rank; auto: in a large Marey picture", \
         &(look).panels, NULL},                                                                                         \
        {"--overview",     0,   ARG_COUNT, "N", "strip above: 0 shares of time, 1 step times, 2 to 5 maps (0)",         \
         &(look).overview, NULL},                                                                                       \
        {"--lines",     0,   ARG_CHOICE, "all|memory|flops|off", "lines inside the rows of devices (all there are)",    \
         &(look).lines, NULL},                                                                                          \
        {"--steps",                                                                                                     \
         0,                                                                                                             \
         ARG_CHOICE,                                                                                                    \
         "run|one|columns|overlaid",                                                                                    \
         "the run, one step, several side by side, or one over all (run)",                                              \
         &(look).steps,                                                                                                 \
         NULL},                                                                                                         \
        {"--step",     0,   ARG_COUNT, "N", "the step shown, or the first of several: its number in the input",         \
         &(look).step, NULL},                                                                                           \
    {                                                                                                                   \
        "--open", 0, ARG_COUNT, "DEPTH", "open rows: 0 none, 1 groups, 2 lanes, 3 all depths", &(look).open_depth,      \
            NULL                                                                                                        \
    }

/** Is the look in range? Prints a sentence to standard error when it is not (exit 2). */
bool look_check(const char *command, const session_look *look);

#endif
