/*
 * The pointer: moves, drags, clicks and the wheel become calls on the session. Knows no window system, so tests can
 * play it.
 *
 * Coordinates are device px of the frame. Thread: the drawing thread.
 */
#ifndef MAREY_APP_POINTER_H
#define MAREY_APP_POINTER_H

#include "app/session.h"

typedef enum drag_kind {
    DRAG_NONE,
    DRAG_PRESSED,  /* the button is down on the plot or the names; not moved yet: may become a click */
    DRAG_PAN,      /* time and rows follow the pointer */
    DRAG_RANGE,    /* a range of time is being selected */
    DRAG_OVERVIEW, /* the window of view follows the pointer */
    DRAG_IGNORED   /* pressed on something that can only be clicked */
} drag_kind;

typedef struct pointer {
    drag_kind drag;
    bool wants_range; /* Shift was down at the press */
    double down_x, down_y;
    moment down_t0, down_t1;
    double down_scroll_px;
    graph_camera down_camera;
    moment down_time; /* under the pointer, of the step pressed on where several stand side by side */
    double grab_ns;   /* overview: from the middle of the view to where it was grabbed */
    int64_t last_click_ns;
    double last_click_x, last_click_y;
} pointer;

void pointer_move(pointer *p, session *s, double x, double y);
void pointer_leave(pointer *p, session *s);
void pointer_press(pointer *p, session *s, bool shift);
void pointer_release(pointer *p, session *s, int64_t now_ns);
/** @param dx, dy  notches; dy > 0: away from the user */
void pointer_wheel(session *s, double dx, double dy, bool shift, bool ctrl, int64_t now_ns);

#endif
