/*
 * Commands of the communication layout: there, their keys come before those of ACTIONS. Clicks that lead to the Marey
 * layout end here, too. Thread: the drawing thread.
 */
#ifndef MAREY_APP_COMM_ACTIONS_H
#define MAREY_APP_COMM_ACTIONS_H

#include "app/actions.h"

extern const action COMM_ACTIONS[];
extern const size_t N_COMM_ACTIONS;

/** The action of a key in this layout; NULL: none, or another layout is shown. */
const action *comm_action_by_key(const session *s, const char *key);
/** Show the layout; after something in it led elsewhere, with the time that it showed then. */
void comm_return(session *s, int64_t now_ns);
void comm_click(session *s, const comm_hit *hit, int64_t now_ns);
/** @return false when the pointer is over no list: the wheel means something else there */
bool comm_wheel(session *s, double notches);

#endif
