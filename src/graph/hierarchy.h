/*
 * Scopes for a graph whose input states none, or leaves a scope with very many operators (graph/hierarchy.c).
 * Internal to the room.
 */
#ifndef MAREY_GRAPH_HIERARCHY_H
#define MAREY_GRAPH_HIERARCHY_H

#include "base/status.h"
#include "base/thread.h"
#include "graph/model.h"
#include "graph/text_table.h"

/** Adds scopes (GRAPH_SCOPE_INFERRED) and moves nodes into them. The strings of `g` lie in `strings` still.
 *  Errors: CANCELLED. */
marey_status hierarchy_infer(graph *g, text_table *strings, cancel_flag *cancel);

#endif
