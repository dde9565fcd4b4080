/*
 * The graph layout in the window: its commands and keys, its camera, its pointer. See docs/graph.md.
 *
 * Thread: the drawing thread.
 */
#ifndef MAREY_APP_GRAPH_ACTIONS_H
#define MAREY_APP_GRAPH_ACTIONS_H

#include "app/actions.h"
#include "app/pointer.h"
#include "scene/graph_scene.h"

extern const action GRAPH_ACTIONS[];
extern const size_t N_GRAPH_ACTIONS;
extern const char *const GRAPH_GESTURES[][2];
extern const size_t N_GRAPH_GESTURES;

/** In the graph layout only; goes before the table of all layouts. NULL: the key means nothing of its own there. */
const action *graph_action_by_key(const session *s, const char *key);

/* Before the first frame: the look's options. After each frame: the camera as it was drawn, and wishes of the scene. */
void graph_apply_look(session *s, const session_look *look);
void graph_after_frame(session *s);
/** @return true while the camera moves */
bool graph_camera_step(session *s, int64_t now_ns);
/** Back to the picture's camera in one passage, or at once without motion. */
void graph_go(session *s, graph_camera to, int64_t now_ns);
void graph_zoom_at(session *s, double factor, double x_px, double y_px, int64_t now_ns);
/** Choose what a search found. */
void graph_show_element(session *s, uint32_t element);
/** The event that stands for what is chosen becomes the run's selection; with `go`, in the Marey layout. */
void graph_link_selection(session *s);
void graph_show_in_marey(session *s, int64_t now_ns);

/* The pointer, when the layout is the graph's. */
void graph_press(pointer *p, session *s);
void graph_drag(pointer *p, session *s);
void graph_click(session *s, const graph_hit *hit, bool shift, bool twice, int64_t now_ns);
void graph_wheel(session *s, double dx, double dy, bool shift, int64_t now_ns);

#endif
