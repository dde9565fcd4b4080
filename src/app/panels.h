/*
 * The panels of the window: the inspector at the right (findings, what is selected, its distribution, the legend), time
 * per rank below the plot, the search field in the bar. Built of boxes (ui/ui.h) over the scene's frame; what they
 * show is worked out in the background, so no frame waits for it.
 *
 * Thread: the drawing thread. Owner: the session.
 */
#ifndef MAREY_APP_PANELS_H
#define MAREY_APP_PANELS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/diag.h"
#include "base/text.h"
#include "ui/ui.h"

struct session;
typedef struct panels panels;

enum { PANELS_OFF, PANELS_ON, PANELS_AUTO /* where a picture is large enough: see docs/panels.md */ };

panels *panels_create(struct session *s);
/** What runs over the scene's graph ends now: before the scene is destroyed. `p` may be NULL. */
void panels_leave_graph(panels *p);
/** Cancels what runs and waits for it. */
void panels_destroy(panels **p);

/** Before the scene's frame: takes what was worked out, says what room is wanted (session.input). */
void panels_prepare(panels *p, struct session *s);
/** After it: into session.list. */
void panels_build(panels *p, struct session *s);
/** Nothing is being worked out: the picture will not change by itself. */
bool panels_are_complete(const panels *p);
/** Wait for what is being worked out. */
void panels_settle(panels *p);
int64_t panels_deadline_ns(const panels *p);

/** Input first goes here. @return true: the panels took it. `p` may be NULL. */
bool panels_event(panels *p, const ui_event *e);
/** Do the panels lie under the point (device px)? */
bool panels_cover(const panels *p, double x, double y);

void panels_toggle_inspector(panels *p);
void panels_toggle_strip(panels *p);
void panels_search(panels *p); /* the field gets the focus */
/** The tree of boxes, for tests. */
void panels_dump(const panels *p, strbuf *out);

#endif
