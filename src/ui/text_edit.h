/*
 * One line of text being edited: what it holds, where the caret is, what is selected. Knows no keys by number and no
 * fonts, so it is tested alone.
 *
 * Offsets are bytes and always lie between clusters (a letter with its combining marks, an emoji with its modifiers,
 * the two halves of a flag): the caret never stands inside what a reader calls one sign. Control characters and invalid
 * UTF-8 are left out on the way in; at most TEXT_EDIT_MAX bytes.
 */
#ifndef MAREY_UI_TEXT_EDIT_H
#define MAREY_UI_TEXT_EDIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TEXT_EDIT_MAX = 1000 };

typedef struct text_edit {
    char text[TEXT_EDIT_MAX + 1];
    size_t n;
    size_t caret, anchor; /* anchor = caret: nothing is selected */
} text_edit;

void text_edit_set(text_edit *e, const char *text); /* caret at the end */
/** Replaces what is selected. @return how many bytes went in */
size_t text_edit_insert(text_edit *e, const char *text, size_t n);
bool text_edit_insert_code(text_edit *e, uint32_t code);
/** "Left", "Shift+Ctrl+Right", "Backspace", "Ctrl+Delete", "Home", "Ctrl+A", ... @return false: no editing key */
bool text_edit_key(text_edit *e, const char *key, bool *changed);
void text_edit_move_to(text_edit *e, size_t offset, bool selects); /* to the cluster's edge at or before it */

size_t text_next_cluster(const char *s, size_t n, size_t at);
size_t text_previous_cluster(const char *s, size_t n, size_t at);

#endif
