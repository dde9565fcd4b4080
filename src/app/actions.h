/*
 * The window's commands as data: one table of {name, keys, help, action}. The window looks up keys in it; the help
 * overlay, `marey help keys` and docs/keys.md are printed from it.
 *
 * A key is written as in "W", "Left", "Page up", "Ctrl+Q", "Shift+Left"; letters stand for themselves with or without
 * Shift. Signs are what the keyboard makes of them ("?", "+"), so they work on any layout.
 */
#ifndef MAREY_APP_ACTIONS_H
#define MAREY_APP_ACTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "app/session.h"

typedef struct action {
    const char *name;
    const char *keys; /* separated by ", "; NULL: none of its own (a click in the picture calls it) */
    const char *help; /* NULL: not worth a line in the help: it is named by its neighbour */
    void (*run)(session *s, int64_t now_ns);
} action;

extern const action ACTIONS[];
extern const size_t N_ACTIONS;

const action *action_by_name(const char *name);
const action *action_by_key(const char *key);
bool action_has_key(const action *a, const char *key);

/** Give the scene's help overlay its lines: gestures and keys of a layout. */
void actions_set_help(scene *s, view_layout layout);
/** All of it for people, or as GitHub-flavoured Markdown: exactly docs/keys.md. */
void actions_print(FILE *out, bool markdown);

#endif
