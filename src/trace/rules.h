/*
 * The rule table: what a name means. The built-in rules are assets/categories.rules (which documents the format); a
 * user's own come before them. Each unique name of a run is looked up once.
 */
#ifndef MAREY_TRACE_RULES_H
#define MAREY_TRACE_RULES_H

#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"
#include "trace/model.h"

/* What the interval says about the phase of the work inside it. */
typedef enum trace_mark {
    MARK_NONE,
    MARK_FORWARD,
    MARK_BACKWARD,
    MARK_RECOMPUTE,
    MARK_OPTIMIZER,
    MARK_CHECKPOINT, /* backward of a checkpointed module: what is no backward inside it is recomputed forward */
    MARK_STEP        /* one step of the training */
} trace_mark;

typedef struct trace_meaning {
    uint32_t category; /* into the table of trace_rules_categories() */
    trace_mark mark;
} trace_meaning;

typedef struct trace_rules trace_rules;

/**
 * Read the rules. @param user_path  the user's file or NULL. Errors: IO; FORMAT with line number.
 */
marey_status trace_rules_create(trace_rules **out, const char *user_path, diag *d);
/** The built-in rules replaced by `text` (tests). */
marey_status trace_rules_create_from(trace_rules **out, const char *text, size_t n, diag *d);
void trace_rules_destroy(trace_rules **r);

/** All categories that rules can give; ids are stable for one table. Valid as long as the table. */
const trace_category *trace_rules_categories(const trace_rules *r, size_t *n);
/**
 * @param source  the input's own category ("kernel", "cpu_op"), "" where it has none
 * Thread: any, concurrently. Names are compared by their first 4096 bytes.
 */
trace_meaning trace_rules_classify(const trace_rules *r, const char *text, const char *source);

/** What a source says of the names that come from it: the same for all of them, so it is asked once. */
typedef uint64_t trace_scopes;
trace_scopes trace_rules_scopes(const trace_rules *r, const char *source);
/** As trace_rules_classify(), by the source's scopes. */
trace_meaning trace_rules_classify_in(const trace_rules *r, const char *text, trace_scopes scopes);

/** The user's own file: $XDG_CONFIG_HOME/marey/categories.rules or ~/.config/...; NULL where there is none. Caller
 * frees. */
char *trace_rules_user_path(void);

#endif
