/*
 * What is being looked at: one plain struct that can be written to JSON and read back, and the camera's algebra.
 * Times are moments (scene/moment.h): exact at any zoom, in runs of up to 2^62 ns. Sizes are design px (times `scale` =
 * device px).
 */
#ifndef MAREY_SCENE_VIEW_H
#define MAREY_SCENE_VIEW_H

#include <stdbool.h>
#include <stdint.h>

#include "base/diag.h"
#include "base/text.h"
#include "draw/colour.h"
#include "scene/moment.h"

typedef enum view_layout {
    LAYOUT_TIMELINE,
    LAYOUT_MAREY,
    LAYOUT_COMMUNICATION,
    LAYOUT_STEPS,
    LAYOUT_GRAPH
} view_layout;
typedef enum view_grouping { GROUP_BY_NONE, GROUP_BY_STAGE, GROUP_BY_HOST } view_grouping;
typedef enum view_order { ORDER_RANK, ORDER_BUSY, ORDER_NAME, ORDER_HEAT } view_order;

/* Columns of cells beside the rows of the Marey layout, in their order. Shares are of the step. */
typedef enum heat_column {
    HEAT_BUSY,    /* something runs on the device: a union */
    HEAT_COMPUTE, /* computation runs: a union */
    HEAT_EXPOSED, /* communication while nothing computes: a union */
    HEAT_WAIT,    /* inside collectives and transfers, beyond the shortest member: a sum */
    HEAT_IDLE,    /* nothing runs: a union */
    HEAT_LATE,    /* of the collectives of three ranks or more inside one stage: in how many this rank came last; of the
                     run */
    HEAT_FLOPS,   /* FLOP/s as the input states, mean over what it states of the rank */
    HEAT_MFU,     /* the same over the device's peak, as the input states */
    HEAT_MEMORY,  /* bytes: the peak that the input states, or the highest sample of the rank's memory counters */
    HEAT_COLUMNS
} heat_column;

enum { VIEW_PATTERN_MAX = 256 };

/* What is chosen in the communication layout (diagnose/comm_model.h). */
typedef enum comm_pane { PANE_LIST, PANE_GROUPS, PANE_MATRIX, COMM_PANES } comm_pane;
typedef struct view_comm {
    uint32_t group;     /* communicator, counted from 1; 0: the one with the most time */
    uint32_t operation; /* of the list, counted from 1; 0: none */
    uint32_t hint[2];   /* ranks (index + 1) of a slow link: its communicator is shown while none is chosen; 0: none */
    uint32_t from, to;  /* cell of the matrix: places in its order, counted from 1; 0: none */
    double groups_scroll_px, list_scroll_px;
    uint8_t measure; /* comm_measure */
    uint8_t sort;    /* comm_sort */
    uint8_t pane;    /* comm_pane: what the keys move in */
    bool descending;
    bool only_group; /* graph and matrix show that communicator only */
    bool has_left;   /* for another layout, by way of something chosen: to be back where it was afterwards */
    moment left_t0, left_t1;
} view_comm;

/* What is looked at in the graph layout; what is open and chosen there belongs to the scene (scene/graph_scene.h). */
typedef enum graph_colour { COLOUR_CLASS, COLOUR_TIME, COLOUR_MEMORY, COLOUR_FLOPS, GRAPH_COLOURS } graph_colour;
typedef struct graph_camera {
    double x, y; /* of the layout, design px at zoom 1: in the middle of the plot */
    double zoom; /* 0: all of it, in the middle */
} graph_camera;
typedef struct view_graph {
    graph_camera at;
    uint32_t steps_off; /* bit per graph_step (graph/plan.h) */
    uint8_t strictness; /* 1 + graph_strictness; 0: as the plan chooses */
    uint8_t colour;     /* graph_colour */
    bool down;          /* the drawing runs from top to bottom, not from left to right */
    bool smooth;        /* lines are curves */
    bool by_stage;      /* a lane for each pipeline stage */
} view_graph;

/* What the strip above shows: who works at what; step time per rank; or a map of rank x step, of one measure. The last
 * also chooses what the layout of steps shows. */
typedef enum view_overview {
    OVERVIEW_SHARES,
    OVERVIEW_STEPS,
    OVERVIEW_MAP, /* step time; then exposed communication, wait, compute */
    OVERVIEW_MAP_EXPOSED,
    OVERVIEW_MAP_WAIT,
    OVERVIEW_MAP_COMPUTE,
    OVERVIEW_MODES
} view_overview;

/* What is looked at: the run, one step, several side by side, or one over all others; aligned at their starts. */
typedef enum view_steps { STEPS_RUN, STEPS_ONE, STEPS_COLUMNS, STEPS_OVERLAID } view_steps;

/* Lines inside the rows of devices (Marey layout), where the input states what they show. */
typedef enum view_lines { LINES_ALL, LINES_MEMORY, LINES_FLOPS, LINES_OFF, LINES_MODES } view_lines;

typedef struct view {
    moment t0, t1;    /* time across the plot, t1 > t0 */
    double scroll_px; /* rows' vertical scroll, >= 0 */
    double row_px;    /* height of a rank's row; 0: fit all rows into the plot */
    view_layout layout;
    view_grouping grouping;
    view_order order;
    theme_id theme;
    uint64_t selected_row;                    /* an event's row; UINT64_MAX: none */
    int64_t selection_t0_ns, selection_t1_ns; /* a selected range; t1 <= t0: none */
    char rows_pattern[VIEW_PATTERN_MAX];      /* only rows whose label matches (glob, several by comma); "": all */
    bool show_cpu;                            /* CPU threads as rows */
    bool show_help;
    view_comm comm;
    uint8_t overview; /* view_overview */
    view_steps steps_mode;
    uint32_t step;      /* place of the step (scene_steps) shown, or of the first column's */
    uint32_t n_columns; /* STEPS_COLUMNS: 2 to 8, as far as there is room; t0 and t1 are the first column's */
    view_graph graph;
    bool show_heat; /* cells beside the rows of the Marey layout */
    uint8_t lines;  /* view_lines */
    /* ORDER_HEAT: ranks of each group by a column's value over the steps in this window */
    heat_column sort_column;
    bool sort_ascending;
    moment sort_t0, sort_t1;
} view;

void view_init(view *v, int64_t duration_ns);
static inline double view_span_ns(const view *v)
{
    return moment_minus(v->t1, v->t0);
}
/** In the middle of the plot. */
static inline moment view_middle(const view *v)
{
    return moment_plus(v->t0, 0.5 * view_span_ns(v));
}
/** Zoom by `factor` (> 1: in) so that the time under `at` (0..1 across the plot) keeps its place. Clamped to 1 ns a
 * pixel... see view_clamp. */
void view_zoom(view *v, double factor, double at);
void view_pan(view *v, double fraction); /* of the shown range */
/** Nothing changes unless t1 > t0. */
void view_show_range(view *v, moment t0, moment t1);
/** Keep at least 20 ns across and at most 1.1 runs, inside [-5 %, 105 %] of the run. */
void view_clamp(view *v, int64_t duration_ns);
/** Sort by a heat column over the shown window: falling, again rising, a third time back to the order of ranks. */
void view_sort_by(view *v, heat_column c);
void view_to_json(const view *v, json_out *j);

/* An animated passage between two views: exponential, 150 ms, interpolating centre and the logarithm of the width. */
typedef struct view_motion {
    moment from_t0, from_t1, to_t0, to_t1;
    int64_t begin_ns, length_ns; /* length 0: at rest */
} view_motion;
void view_motion_start(view_motion *m, const view *from, moment to_t0, moment to_t1, int64_t now_ns, int64_t length_ns);
/** @return true while moving; writes the view of `now_ns` */
bool view_motion_step(view_motion *m, view *v, int64_t now_ns);

#endif
