/*
 * The scene: (view, cache snapshot, theme, time) -> draw list + pick table. A pure function of those; what is missing
 * in the cache is asked for and stood in for by coarser data, and the frame says so (`complete`).
 *
 * Layout of a frame (design px; look.md): bar 44 (name, run, facts, layout switch), overview strip 60, time axis, row
 * labels at the left (tree with arrows, faint host), plot, status line 26. Room for panels that others draw is kept at
 * the right of the plot, below it and in the bar, as scene_input says.
 *
 * Thread: the drawing thread. Owner: the caller.
 */
#ifndef MAREY_SCENE_SCENE_H
#define MAREY_SCENE_SCENE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"
#include "cache/cache.h"
#include "draw/draw_list.h"
#include "scene/view.h"
#include "store/store.h"
#include "text/text.h"

typedef struct scene scene;

marey_status scene_create(scene **out, store_file *file, cache *c, text_ctx *t, diag *d);
void scene_destroy(scene **s);

typedef struct scene_input {
    int width_px, height_px;   /* device px of the frame */
    double scale;              /* device px per design px */
    double cursor_x, cursor_y; /* device px; negative: none */
    double frame_ms;           /* of the last frame, for the status line; 0: not shown (headless) */
    int64_t now_ns;            /* for cross-fades; 0 in headless pictures: no animation, and no row is put off */
    /* What others draw into the frame; all 0: nothing. Not in the communication layout. */
    double right_dp, bottom_dp; /* design px kept free at the right of the plot, and below it */
    double search_dp;           /* design px kept free in the bar, where there is room */
    const char *note;           /* a fact for the status line ("diagnosis 40 %"); NULL: none */
    const uint8_t *rank_marks;  /* [n_ranks] not 0: a mark of severity beside the rank's name; NULL: none */
    /* The run's diagnosis (diagnose/diagnose.h), where the caller has it or works it out: for the cells beside the
     * rows, the marks and the overview of steps. It must not change and outlives the scene. Without either the scene
     * works it out by itself. */
    const struct diagnosis *diagnosis;
    bool diagnosis_is_due;
} scene_input;

typedef struct scene_frame {
    bool complete;               /* every wanted tile and block was there */
    bool is_refining;            /* columns that tiles left in doubt are still looked up in the events */
    bool has_coarse_edges;       /* that would take too many of them: ink may reach a bin too far, */
    bool has_coarse_classes;     /* or a column may show a class that has nearly the most time in it */
    bool is_fading;              /* the same view a little later looks different: a cross-fade, or rows put off */
    size_t n_wanted;             /* that were not */
    rect plot, overview, labels; /* device px: where time, overview and row labels lie */
    rect side, below, search;    /* device px: the room kept free; w = 0: none */
    double content_px;           /* height of all rows, design px: for scrolling */
    double unit_px;              /* height of a rank's row, design px: view.row_px, or what fits */
    size_t n_rows, n_rows_visible;
    size_t n_bands, n_outliers; /* Marey layout */
    /* Bytes and FLOP/s that the rows' height stands for; 0: no such line is shown. */
    double line_memory_top, line_flops_top;
    uint32_t n_columns; /* steps side by side; 1: one plot */
    float column_w;     /* device px from one to the next; the plot's width where there is one */
    const char *source; /* "events", "r1 level 3", ...: what the plot was drawn from */
    graph_camera graph; /* graph layout: as drawn; view.graph.at becomes it, where that is set */
} scene_frame;

/** Build the frame into `l` (begun by the scene). Cost: bounded by the pixels, see docs/. */
marey_status scene_build(scene *s, const view *v, const scene_input *in, draw_list *l, scene_frame *frame, diag *d);

typedef enum pick_kind {
    PICK_NONE,
    PICK_EVENT,
    PICK_CELL,
    PICK_BAND,
    PICK_ROW,
    PICK_ARROW,
    PICK_OVERVIEW,
    PICK_AXIS,
    PICK_COMMAND,
    PICK_COMM,
    PICK_STEP, /* of the layout of steps: at time_ns */
    PICK_GRAPH
} pick_kind;

/* A thing of the graph layout. */
typedef enum graph_hit_kind {
    GRAPH_HIT_NONE,
    GRAPH_HIT_ITEM,   /* element: an operator, or a closed module or stack */
    GRAPH_HIT_FRAME,  /* element: the inside of an open one */
    GRAPH_HIT_TITLE,  /* element: its title */
    GRAPH_HIT_STUB,   /* element that it hangs on; stub: of the visible ones */
    GRAPH_HIT_CRUMB,  /* element */
    GRAPH_HIT_SWITCH, /* element: graph_step */
    GRAPH_HIT_MINIMAP
} graph_hit_kind;
typedef struct graph_hit {
    graph_hit_kind kind;
    uint32_t element, stub;
} graph_hit;

/* A thing of the communication layout. */
typedef enum comm_hit_kind {
    HIT_NONE,
    HIT_GROUP,     /* a: communicator */
    HIT_OPERATION, /* a: operation */
    HIT_SORT,      /* a: comm_sort */
    HIT_MEASURE,   /* a: comm_measure */
    HIT_ONLY,      /* the switch between all and one communicator */
    HIT_NODE,      /* a: place in the graph's order */
    HIT_CELL,      /* a, b: row and column of the matrix */
    HIT_OUTLIER,   /* a: item of the model; b: its link */
    HIT_LIST       /* a: comm_pane: a list's ground, for scrolling */
} comm_hit_kind;
typedef struct comm_hit {
    comm_hit_kind kind;
    uint32_t a, b;
} comm_hit;

typedef struct scene_pick {
    pick_kind kind;
    uint64_t event_row;  /* PICK_EVENT, PICK_BAND: its row, else UINT64_MAX */
    uint32_t row;        /* of the row list (PICK_EVENT, PICK_CELL, PICK_ROW, PICK_ARROW) */
    moment time;         /* under the cursor */
    const char *command; /* PICK_COMMAND: name of an app command ("layout-marey", ...) */
    comm_hit comm;       /* PICK_COMM */
    graph_hit graph;     /* PICK_GRAPH */
} scene_pick;

/** What lies at a device pixel of the last built frame. */
scene_pick scene_pick_at(scene *s, double x, double y);

/** What is worked out beside the drawing (communication) is announced through `wake`, on another thread. */
void scene_set_wake(scene *s, void (*wake)(void *ctx), void *ctx);
/** Wait for it. @return true when something was under way */
bool scene_settle(scene *s);

/* ---- the communication layout: what keys and clicks do to the view, by the last frame ---- */

/* Where to look in the Marey layout. */
typedef struct comm_target {
    uint64_t event_row; /* to select; UINT64_MAX: not found */
    moment t0, t1;
} comm_target;
typedef enum comm_key {
    COMM_UP,
    COMM_DOWN,
    COMM_LEFT,
    COMM_RIGHT,
    COMM_PAGE_UP,
    COMM_PAGE_DOWN,
    COMM_NEXT_PANE,
    COMM_NEXT_MEASURE,
    COMM_NEXT_SORT,
    COMM_REVERSE,
    COMM_ONLY
} comm_key;

/** @return false when the key means nothing there */
bool scene_comm_key(const scene *s, view *v, comm_key key);
/** @return true when the click leads to another place, which is in *go */
bool scene_comm_click(scene *s, view *v, const comm_hit *hit, comm_target *go);
/** Where Enter leads to: the operation, or the matrix cell's furthest outlier. */
bool scene_comm_open(scene *s, const view *v, comm_target *go);
/** Scroll the list under the point by design px. @return false when there is none */
bool scene_comm_scroll(const scene *s, view *v, double x, double y, double by_px);

/** A value of such a line with its unit. */
void scene_line_text(double value, bool is_memory, char *out, size_t cap);

/** Open or close a node of the row tree (by row index of the last frame). @return false when it has no children */
bool scene_toggle_row(scene *s, uint32_t row);
/** Open what hides the row of a rank (index). The next frame has it, if the view shows it at all. */
void scene_reveal_rank(scene *s, uint32_t rank);
/** Where the rank's row lies in the content of the last frame, design px. @return false when it is not shown */
bool scene_rank_place(const scene *s, uint32_t rank, double *y_px, double *h_px);
void scene_open_all(scene *s, int depth); /* 0: closed; 1: groups; 2: ranks' lanes; 3: tracks */
/** Extent of what is selected or of row `row`, for "fit". false: nothing. */
bool scene_fit_range(scene *s, const view *v, moment *t0, moment *t1);
/** Lines of the help overlay: {keys, what they do}. The scene keeps the pointer; n may be 0. */
void scene_set_help(scene *s, const char *const (*rows)[2], size_t n);
/* A step over all ranks: the first start to the last end of its work on the devices. */
typedef struct scene_step {
    int64_t index; /* as the input counts */
    int64_t start_ns, end_ns;
} scene_step;
/** The run's steps, ascending by start. @return how many */
size_t scene_steps(const scene *s, const scene_step **steps);
/** The place of the step at a time, or of the nearest; SIZE_MAX: the run has none. */
size_t scene_step_at(const scene *s, int64_t t_ns);
/** What the scene itself worked out for the cells beside the rows; NULL: nothing (yet). Lives as long as the scene. */
const struct diagnosis *scene_diagnosis(const scene *s);
/** The row list as text, one label a line, and as (label, tracks) for `marey grid --rows`. */
size_t scene_row_count(const scene *s);

#endif
