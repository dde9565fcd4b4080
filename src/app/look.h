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
         "timeline|marey|communication|steps|graph",                                                                    \
         "rows of events; bands that join equal work; devices and links; rank x step; the model (timeline)",            \
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

/* Of the graph layout; `graph` is a graph_look. */
#define GRAPH_OPTIONS(graph)                                                                                           \
    {                                                                                                                  \
        "--expand", 0, ARG_COUNT, "N", "graph: open N modules more, chosen by --expand-seed", &(graph).first.expand,   \
        NULL},                                                                                                         \
        {"--expand-seed", 0, ARG_COUNT, "S", "graph: which modules --expand opens (1)", &(graph).first.seed, NULL},    \
        {"--expanded",                                                                                                 \
         0,                                                                                                            \
         ARG_CHOICE,                                                                                                   \
         "default|exemplars|all",                                                                                      \
         "graph: what fits a window; all modules, stacks at one member; all members, too (default)",                   \
         &(graph).first.all,                                                                                           \
         NULL},                                                                                                        \
        {"--select",                                                                                                   \
         0,                                                                                                            \
         ARG_TEXT,                                                                                                     \
         "NAME",                                                                                                       \
         "graph: choose an operator or module, by name or the end of its path",                                        \
         &(graph).first.select,                                                                                        \
         NULL},                                                                                                        \
        {"--steps-off",                                                                                                \
         0,                                                                                                            \
         ARG_EACH,                                                                                                     \
         "STEP,...",                                                                                                   \
         "graph: leave out parameters, bookkeeping, chains, cycles, prune, stack, or all",                             \
         &(graph).steps_off,                                                                                           \
         look_steps_off},                                                                                              \
        {"--strictness",                                                                                               \
         0,                                                                                                            \
         ARG_CHOICE,                                                                                                   \
         "usual|exact|shape-free|structural|loose",                                                                    \
         "graph: how alike the members of a stack must be (usual: structural)",                                        \
         &(graph).strictness,                                                                                          \
         NULL},                                                                                                        \
        {"--colours",     0,   ARG_CHOICE, "class|time|memory|flops", "graph: what its boxes are painted by (class)",  \
         &(graph).colour, NULL},                                                                                       \
        {"--direction", 0, ARG_CHOICE, "right|down", "graph: which way it runs (right)", &(graph).direction, NULL},    \
        {"--routing", 0, ARG_CHOICE, "tracks|curves", "graph: lines (tracks)", &(graph).routing, NULL},                \
    {                                                                                                                  \
        "--by-stage", 0, ARG_FLAG, NULL, "graph: a lane for each pipeline stage", &(graph).by_stage, NULL              \
    }

/** For --steps-off; `ctx` is the uint32_t mask. */
const char *look_steps_off(void *ctx, const char *text);
/** Is the look in range? Prints a sentence to standard error when it is not (exit 2). */
bool look_check(const char *command, const session_look *look);

#endif
