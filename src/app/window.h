/*
 * The window (GLFW 3.3): feeds keys and the pointer to the session, draws when something changed, sleeps otherwise.
 * Thread: the main thread.
 */
#ifndef MAREY_APP_WINDOW_H
#define MAREY_APP_WINDOW_H

#include "app/session.h"

typedef struct window_options {
    session_look look;
    int size[2];  /* of the window in screen coordinates; 0: most of the display */
    double scale; /* device px per design px; 0: the display's */
    bool reduced_motion;
    const char *frames_log; /* where to write one line a frame; NULL */
} window_options;

/** Open `file` in a window and return when it is closed. Errors: GPU (no display, no OpenGL 3.3) with a way out; as
 * session_open. */
marey_status window_run(const char *file, const window_options *options, diag *d);

#endif
