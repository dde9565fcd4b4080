/*
 * Hashing, the string dictionary and the number map. Hashes are seeded per process against crafted input.
 * Thread: one at a time; lookups in a finished dictionary may run on any thread.
 */
#ifndef MAREY_BASE_HASH_H
#define MAREY_BASE_HASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"

/** 64-bit hash of bytes. Reads exactly [p, p + n). */
uint64_t hash_bytes(const void *p, size_t n);
static inline uint64_t hash_u64(uint64_t x)
{
    x ^= x >> 32;
    x *= 0xd6e8feb86659fd93U;
    x ^= x >> 32;
    x *= 0xd6e8feb86659fd93U;
    return x ^ (x >> 32);
}

/* Strings to dense ids 0, 1, 2, ... in order of first appearance. Bytes are copied; each is NUL-terminated. */
typedef struct intern_slot {
    uint64_t hash;
    uint32_t id; /* + 1; 0 is empty */
    uint32_t len;
} intern_slot;

typedef struct intern {
    arena bytes;
    intern_slot *slots;
    size_t cap; /* power of two */
    const char **text;
    uint32_t *len;
    size_t n;
    size_t cap_text;
    size_t cap_len;
} intern;

uint32_t intern_put(intern *t, const char *s, size_t n);
/** Make room for `n` strings in all, so that putting them does not grow the table step by step. */
void intern_reserve(intern *t, size_t n);
bool intern_find(const intern *t, const char *s, size_t n, uint32_t *id);
void intern_deinit(intern *t);

/* u64 -> u64, open addressing, with removal. */
typedef struct map_slot {
    uint64_t key;
    uint64_t value;
} map_slot;

typedef struct map64 {
    map_slot *slots;
    uint8_t *used;
    size_t cap;
    size_t n;
} map64;

/** @return the value's place, made with 0 where the key is new; valid until the next call */
uint64_t *map64_put(map64 *m, uint64_t key);
uint64_t *map64_get(const map64 *m, uint64_t key); /* NULL when absent */
bool map64_remove(map64 *m, uint64_t key);
void map64_deinit(map64 *m);

#endif
