/* What is selected, and moving by it. Thread: the drawing thread. */
#ifndef MAREY_APP_SELECT_H
#define MAREY_APP_SELECT_H

#include "app/session.h"

/** Select the event; UINT64_MAX: none. The selected range stays. */
void select_event(session *s, uint64_t event_row);
void select_nothing(session *s);
/** Select the event before (-1) or after (1) the selected one on its track, and bring it into view. */
void select_neighbour(session *s, int direction, int64_t now_ns);
/** Fit the selected range or event, or, without one, the event under the pointer. */
void select_fit(session *s, int64_t now_ns);
/** Show an event with some room around it. */
void select_fit_event(session *s, uint64_t event_row, int64_t now_ns);
/** Open or close the row under the pointer. */
void select_toggle_row(session *s);

#endif
