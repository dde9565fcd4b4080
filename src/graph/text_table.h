/*
 * Texts to dense ids 0, 1, 2, ... in order of first appearance, in one block of memory: what the builder keeps names
 * in. Half the size of base's dictionary, and the block becomes the graph's as it is. Owner: the builder.
 */
#ifndef MAREY_GRAPH_TEXT_TABLE_H
#define MAREY_GRAPH_TEXT_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct text_slot {
    uint32_t hash;
    uint32_t id; /* + 1; 0 is empty */
} text_slot;

typedef struct text_table {
    char *text; /* each text is NUL-terminated */
    size_t n_text, cap_text;
    uint32_t *at; /* [n + 1] */
    size_t n, cap_at;
    text_slot *slots;
    size_t cap; /* power of two */
    uint64_t seed;
    uint32_t *recent; /* ids + 1 of appended texts, by a hash of their ends */
} text_table;

/** @return the id; at most 2^31 texts of 4 GiB together: UINT32_MAX beyond. `is_new` may be NULL. */
uint32_t text_table_put(text_table *t, const char *s, size_t n, bool *is_new);
/** For texts that hardly ever come twice: a new id, unless the same text came a short while ago. Such texts are not
 * found by text_table_put(). */
uint32_t text_table_append(text_table *t, const char *s, size_t n);
/** Frees what only putting needs. */
void text_table_seal(text_table *t);
void text_table_deinit(text_table *t);

#endif
