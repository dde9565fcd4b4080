/* Steps of the run: one, several side by side, or the whole run; and cells beside the rows. Thread: the drawing thread.
 */
#ifndef MAREY_APP_STEPS_H
#define MAREY_APP_STEPS_H

#include "app/session.h"

/** Show the step at a place of scene_steps(): in its mode, by itself where the view shows the run. Nothing where the
 * run has no steps. */
void steps_show(session *s, size_t place, int64_t now_ns);
/** The step after (1) or before (-1) the shown one. */
void steps_move(session *s, int direction, int64_t now_ns);
/** The step in the middle of the view, by itself. */
void steps_one(session *s, int64_t now_ns);
/** Several side by side, aligned at their starts; again: more of them, then two. */
void steps_columns(session *s, int64_t now_ns);
/** The step in the middle of the view over all others, aligned at their starts. */
void steps_overlaid(session *s, int64_t now_ns);
void steps_run(session *s, int64_t now_ns);
/** As the options say: the step with this number (UINT64_MAX: the first), in this mode; another number: the first. */
void steps_look(session *s, view_steps mode, uint64_t number);

#endif
