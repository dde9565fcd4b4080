/*
 * The table that rules become, shared by what reads rules (also at build time, for the built-in ones) and what asks
 * them. All of it is read only once it is complete.
 */
#ifndef MAREY_TRACE_RULES_PRIVATE_H
#define MAREY_TRACE_RULES_PRIVATE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "trace/rules.h"

/* Pairs of letters, hashed. Of those that a matching name must contain, a pattern keeps the ones that the fewest
 * patterns need: they turn most patterns away without looking at the name. RULE_PAIRS is what every name contains.
 * Names of kernels have hundreds of letters, which would fill a small table. */
enum {
    RULE_PAIR_BITS = 11,
    RULE_PAIRS = 1 << RULE_PAIR_BITS,
    RULE_NEEDS = 3,
    RULE_SCOPES = 64,
    RULE_NAME_BYTES = 4096,
    RULES_BYTES = 1 << 20
};

/* A pattern of one rule. */
typedef struct rule_pattern {
    uint32_t text, n;           /* lower case: in `texts`, and its length */
    uint32_t category;          /* NO_ID: sets the mark */
    uint16_t needs[RULE_NEEDS]; /* the first is looked at first, in `looks` */
    uint8_t scope;
    uint8_t mark;
} rule_pattern;

/* Patterns that follow each other, of one scope, and which all say the same kind of thing. */
typedef struct rule_run {
    uint32_t first, end;
    bool says_mark;
} rule_run;

/* One pattern on the source category, and the scopes that contain it. */
typedef struct rule_part {
    uint32_t text, n;
    uint64_t scopes;
} rule_part;

typedef struct rule_table {
    const char *texts;
    const rule_pattern *patterns;
    const uint16_t *looks; /* of each pattern */
    const rule_run *runs;  /* of all patterns */
    const uint64_t *open;  /* by scope, `run_words` words each: a bit for each run that belongs to it */
    const rule_part *parts;
    const trace_category *categories;
    size_t n_patterns, n_runs, run_words, n_parts, n_categories;
    uint32_t fallback;
} rule_table;

/* What holds a table that was read. */
typedef struct rule_memory {
    strbuf texts;
    arena names; /* of categories */
    rule_pattern *patterns;
    size_t n_patterns, cap_patterns;
    trace_category *categories;
    size_t n_categories, cap_categories;
    rule_part *parts;
    size_t n_parts, cap_parts;
    rule_run *runs;
    size_t n_runs, cap_runs;
    uint16_t *looks;
    uint64_t *open;
    uint32_t scopes[RULE_SCOPES]; /* in `texts`: comma-separated patterns on the source category */
    size_t n_scopes;
} rule_memory;

struct trace_rules {
    rule_table table;
    rule_memory *memory; /* NULL: the table is the built-in one */
};

/**
 * Read a text, either its declarations of categories or all the rest: the categories of all files are known before any
 * rule, so that a user's rule can name a built-in category. What was read first comes first.
 * @param where  names the text in messages. Errors: FORMAT with line number.
 */
marey_status rules_read_text(rule_memory *m, const char *where, const char *text, size_t n, bool categories, diag *d);
/** The table of all that was read, which points into `m`. Errors: FORMAT. */
marey_status rules_complete(rule_memory *m, rule_table *table, diag *d);
void rules_memory_free(rule_memory *m); /* may be NULL */
/** Lower case of at most `cap` bytes. @return how many there are; no zero byte is written */
size_t rules_lower(char *to, const char *from, size_t cap);

/* Of the two letters at `s`: 0..RULE_PAIRS-1. */
static inline uint32_t rules_pair(const char *s)
{
    uint32_t both = (uint32_t)(uint8_t)s[0] | (uint32_t)(uint8_t)s[1] << 8;
    return (both * 2654435761U) >> (32 - RULE_PAIR_BITS);
}

static inline bool rules_is_wild(char c)
{
    return c == '*' || c == '?';
}

#endif
