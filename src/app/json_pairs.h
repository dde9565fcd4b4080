/*
 * The pairs of a flat JSON object as text, for showing an event's arguments: names and strings without quotes and
 * escapes, everything else as it was written. Tolerant: what is no object has no pairs.
 *
 *     for (size_t at = 0; json_next_pair(text, &at, key, sizeof key, value, sizeof value);) { ... }
 */
#ifndef MAREY_APP_JSON_PAIRS_H
#define MAREY_APP_JSON_PAIRS_H

#include <stdbool.h>
#include <stddef.h>

/** @param at  0 at first. Longer texts are cut at a letter's end. @return false: no more */
bool json_next_pair(const char *text, size_t *at, char *key, size_t key_cap, char *value, size_t value_cap);

#endif
