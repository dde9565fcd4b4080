/*
 * Pieces of JSON text, and an iterator over the members of one small object or array that is whole in memory.
 * No recursion, no allocation; on damaged text the iterator just ends. Thread: any.
 */
#ifndef MAREY_PARSE_JSPAN_H
#define MAREY_PARSE_JSPAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef enum jkind { JKIND_NONE, JKIND_STRING, JKIND_SCALAR, JKIND_OBJECT, JKIND_ARRAY } jkind;

/* Strings without their quotes, still escaped; objects and arrays with their brackets; scalars without blanks. */
typedef struct jspan {
    const char *s;
    uint32_t n;
    uint32_t kind; /* jkind */
} jspan;

typedef struct jiter {
    const char *p;
    const char *end;
} jiter;

/** Iterate over an object or array span. Anything else has no members. */
jiter jiter_begin(jspan container);
/** @param key kind NONE inside an array. @return false at the end */
bool jiter_next(jiter *it, jspan *key, jspan *value);
/** The last member of that name, or kind NONE. */
jspan jspan_member(jspan object, const char *name);

static inline bool jspan_is(jspan a, const char *text)
{
    size_t n = strlen(text);
    return a.n == n && memcmp(a.s, text, n) == 0;
}

static inline bool jis_blank(char c)
{
    return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

#endif
