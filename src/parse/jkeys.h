/*
 * The keys that the walker looks for, as one list each: fields of an event, and wanted members of its `args`. To want
 * one more argument, add a line.
 */
#ifndef MAREY_PARSE_JKEYS_H
#define MAREY_PARSE_JKEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/digits.h"

/* Fields of an event; at most 8 bytes each. Those that events share mostly come first. */
#define JKEY_LIST(X)                                                                                                   \
    X(PH, "ph")                                                                                                        \
    X(CAT, "cat")                                                                                                      \
    X(PID, "pid")                                                                                                      \
    X(TID, "tid")                                                                                                      \
    X(SCOPE, "scope")                                                                                                  \
    X(BP, "bp")                                                                                                        \
    X(NAME, "name")                                                                                                    \
    X(TS, "ts")                                                                                                        \
    X(DUR, "dur")                                                                                                      \
    X(ARGS, "args")                                                                                                    \
    X(ID, "id")                                                                                                        \
    X(ID2, "id2")                                                                                                      \
    X(BIND_ID, "bind_id")                                                                                              \
    X(FLOW_IN, "flow_in")                                                                                              \
    X(FLOW_OUT, "flow_out")

/* Members of `args`; at least 3 bytes each. */
#define JARG_LIST(X)                                                                                                   \
    X(CORRELATION, "correlation")                                                                                      \
    X(COLLECTIVE, "Collective name")                                                                                   \
    X(IN_ELEMENTS, "In msg nelems")                                                                                    \
    X(OUT_ELEMENTS, "Out msg nelems")                                                                                  \
    X(GROUP_SIZE, "Group size")                                                                                        \
    X(DTYPE, "dtype")                                                                                                  \
    X(GROUP, "Process Group Name")                                                                                     \
    X(GROUP_DESC, "Process Group Description")                                                                         \
    X(GROUP_RANKS, "Process Group Ranks")                                                                              \
    X(SEQ, "Seq")

typedef enum jkey {
#define X(name, text) JKEY_##name,
    JKEY_LIST(X)
#undef X
        JKEY_COUNT,
    JKEY_NONE = JKEY_COUNT,
    JKEY_STEADY = JKEY_NAME /* how many come before it */
} jkey;

typedef enum jarg {
#define X(name, text) JARG_##name,
    JARG_LIST(X)
#undef X
        JARG_COUNT,
    JARG_NONE = JARG_COUNT
} jarg;

enum { JKEYS_SLOTS = 64 };

typedef struct jkeys_slot {
    uint64_t bytes;   /* the key (event) or jkeys_tail() of it (args) */
    const char *text; /* NULL: empty */
    uint32_t len;
    uint32_t id;
} jkeys_slot;

typedef struct jkeys {
    jkeys_slot event[JKEYS_SLOTS];
    jkeys_slot args[JKEYS_SLOTS];
    uint64_t arg_ends; /* bit jkeys_end_hash() of every wanted argument: most others are told by that alone */
} jkeys;

/** Build the two tables from the lists. */
void jkeys_init(jkeys *k);

static inline unsigned jkeys_hash(uint64_t bytes)
{
    return (unsigned)((bytes * 0x9E3779B97F4A7C15U) >> 58);
}

/** The event field of that name. Reads 8 bytes at `s` whatever `n` is. */
static inline jkey jkeys_event(const jkeys *k, const char *s, size_t n)
{
    if (n - 1 >= 8) {
        return JKEY_NONE;
    }
    uint64_t bytes = digits_load(s) & (UINT64_MAX >> (64 - 8 * n));
    for (unsigned i = jkeys_hash(bytes); k->event[i].text; i = (i + 1) % JKEYS_SLOTS) {
        if (k->event[i].bytes == bytes) {
            return (jkey)k->event[i].id;
        }
    }
    return JKEY_NONE;
}

/**
 * What tells one args key from another in one load: the 8 bytes that end with the closing quote; where the opening
 * quote is among them, the bytes before it count as 0.
 */
static inline uint64_t jkeys_tail(const char *quote)
{
    const uint64_t ones = 0x7F7F7F7F7F7F7F7FU;
    uint64_t bytes = digits_load(quote - 7);
    uint64_t x = bytes ^ 0x2222222222222222U;
    uint64_t quotes = ~(((x & ones) + ones) | x | ones) & 0x0080808080808080U;
    if (quotes) {
        bytes &= UINT64_MAX << (56 - (unsigned)__builtin_clzll(quotes));
    }
    return bytes;
}

/** Is it a key that events begin with? `key` may be NONE. */
static inline bool jkeys_is_head(jkey key)
{
    static const uint32_t heads = 1U << JKEY_PH | 1U << JKEY_NAME | 1U << JKEY_CAT | 1U << JKEY_ARGS | 1U << JKEY_PID |
                                  1U << JKEY_TID | 1U << JKEY_TS;
    return key != JKEY_NONE && (heads >> key & 1);
}

/** Which of 64 classes a key belongs to by its last four bytes (the opening quote counts as one). */
static inline unsigned jkeys_end_hash(const char *quote)
{
    uint32_t v = 0;
    memcpy(&v, quote - 4, 4);
    return (unsigned)((v * 0x9E3779B1U) >> 26);
}

/** The wanted argument whose key ends at its closing `quote` and begins after `floor`. Reads 7 bytes before `quote`. */
static inline jarg jkeys_arg(const jkeys *k, const char *quote, const char *floor)
{
    if (!(k->arg_ends >> jkeys_end_hash(quote) & 1)) {
        return JARG_NONE;
    }
    uint64_t bytes = jkeys_tail(quote);
    for (unsigned i = jkeys_hash(bytes); k->args[i].text; i = (i + 1) % JKEYS_SLOTS) {
        const jkeys_slot *s = &k->args[i];
        if (s->bytes == bytes && (size_t)(quote - floor) > s->len && quote[-(ptrdiff_t)s->len - 1] == '"' &&
            memcmp(quote - s->len, s->text, s->len) == 0) {
            return (jarg)s->id;
        }
    }
    return JARG_NONE;
}

#endif
