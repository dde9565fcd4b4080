/*
 * A session: one open run and how it is looked at. Everything above the draw list, so the window, headless pictures,
 * the bench and tests are the same program; it knows no OpenGL.
 *
 * Thread: the drawing thread. Owner: the caller.
 */
#ifndef MAREY_APP_SESSION_H
#define MAREY_APP_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "app/panels.h"
#include "base/diag.h"
#include "cache/cache.h"
#include "draw/draw_list.h"
#include "scene/graph_scene.h"
#include "scene/scene.h"
#include "scene/view.h"
#include "store/store.h"
#include "text/text.h"

/* The same of its graph. */
typedef struct graph_look {
    graph_first first;
    uint32_t steps_off; /* bit per graph_step */
    int colour;         /* graph_colour */
    int direction;      /* 1: down */
    int routing;        /* 1: smooth */
    int strictness;     /* 0: as the plan chooses; 1 + graph_strictness */
    bool by_stage;
} graph_look;

/* How a run is looked at first; what the options of `open`, `render` and `bench` say. */
typedef struct session_look {
    int theme;           /* theme_id */
    int layout;          /* view_layout */
    int64_t time_ns[2];  /* INT64_MIN, INT64_MAX: as the file says */
    const char *rows;    /* pattern; NULL: all */
    double row_height;   /* design px; 0: fit */
    uint64_t open_depth; /* UINT64_MAX: as the scene chooses */
    int panels;          /* PANELS_OFF, PANELS_ON or PANELS_AUTO */
    int steps;           /* view_steps */
    uint64_t step;       /* number as the input counts; UINT64_MAX: the first */
    uint64_t overview;   /* view_overview */
    int lines;           /* view_lines */
    graph_look graph;
} session_look;

#define SESSION_LOOK_DEFAULT                                                                                           \
    {                                                                                                                  \
        THEME_DARK, LAYOUT_TIMELINE, {INT64_MIN, INT64_MAX}, NULL, 0, UINT64_MAX, PANELS_OFF, STEPS_RUN, UINT64_MAX,   \
            0, LINES_ALL,                                                                                              \
        {                                                                                                              \
            {0, 1, GRAPH_OPEN_DEFAULT, NULL}, 0, COLOUR_CLASS, 0, 0, 0, false                                          \
        }                                                                                                              \
    }

/* The graph's camera on its way. */
typedef struct graph_motion {
    graph_camera from, to;
    int64_t begin_ns, length_ns; /* length 0: at rest */
} graph_motion;

typedef struct session_options {
    session_look look;
    unsigned n_threads; /* of the cache; 0: one less than the machine has, at least one */
    bool reduced_motion;
    void (*wake)(void *ctx); /* data arrived; on a loader thread; may be NULL */
    void *wake_ctx;
} session_options;

typedef struct session {
    store_file *file;
    cache *cache;
    text_ctx *text;
    scene *scene;
    int64_t duration_ns;
    bool reduced_motion;

    view view; /* as drawn now */
    view_motion motion;
    graph_motion graph_motion;
    scene_input input; /* size, scale and cursor: set by the owner before session_build() */

    int panels_mode;
    panels *panels; /* NULL until they are first shown */
    void (*wake)(void *ctx);
    void *wake_ctx;

    draw_list list; /* the last frame */
    scene_frame frame;

    bool is_dirty; /* the next frame will differ */
    bool quit;
    bool toggle_fullscreen; /* for the window, which resets it */
} session;

/** Errors: what store_open, text_create and scene_create return. Cost: does not depend on the number of events. */
marey_status session_open(session **out, const char *path, const session_options *options, diag *d);
void session_close(session **s);

/** Build the frame for `input` into `list`. */
marey_status session_build(session *s, diag *d);
/** Build until all data is in. Loads on this thread, too. */
marey_status session_build_complete(session *s, diag *d);

/** The panels, made if need be; from now on they are shown. */
panels *session_panels(session *s);

/** The range that the view is moving to, or shows. */
void session_goal(const session *s, moment *t0, moment *t1);
/** Move to a range: clamped, and animated over 150 ms unless motion is reduced or `now_ns` is 0. */
void session_go(session *s, moment t0, moment t1, int64_t now_ns);
/** Advance the motion. @return true while something moves */
bool session_step(session *s, int64_t now_ns);
bool session_is_moving(const session *s);

/** Zoom about a place, 0 to 1 across the plot. */
void session_zoom(session *s, double factor, double at, int64_t now_ns);
void session_pan(session *s, double fraction, int64_t now_ns);
/** Rows: scroll by design px; zoom heights about a device pixel y. */
void session_scroll(session *s, double by_px);
void session_zoom_rows(session *s, double factor, double y_px);

/** Device px over which view.t0 to t1 extend: the plot, or one of several steps side by side. */
double session_plot_w(const session *s);
/** Where the cursor is across the plot, 0 to 1; the middle when it is elsewhere. */
double session_cursor_at(const session *s);

#endif
