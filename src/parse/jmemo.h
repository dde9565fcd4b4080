/*
 * What writers repeat: the text between the values that vary (name, ts, dur, args, id) is the same for many events.
 * Such a *segment* is remembered with the fields found in it, as a node of a tree: the segments of an event are a way
 * from the root to a leaf, and events of one leaf are alike in all but the values that vary. An event that takes a
 * known way need not be walked (jknown.c). The result is the same, because a segment's text alone decides what is in
 * it.
 *
 * The first segment of an event begins where the event before it ended. No segment holds a backslash, so that where
 * strings begin and end in it does not hang on what comes before. Turns itself off where it does not pay.
 */
#ifndef MAREY_PARSE_JMEMO_H
#define MAREY_PARSE_JMEMO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "parse/jkeys.h"
#include "parse/jspan.h"

enum {
    JMEMO_TEXT_MAX = 320,  /* of one segment */
    JMEMO_STEPS_MAX = 12,  /* segments of one event */
    JMEMO_FIELDS_MAX = 16, /* steady fields of one event */
    JMEMO_NODES = 1024,
    JMEMO_STEADY_SETS = 512,
    JMEMO_TEXT_BYTES = 32768,
    JMEMO_TEXT_PAD = 64,  /* readable on either side */
    JMEMO_LEAD_MAX = 128, /* before an event's bracket */
    JMEMO_SIBLINGS_MAX = 32,
    JMEMO_LIKES = 4096
};

/* What comes behind a segment. */
typedef enum jmemo_what {
    JMEMO_END,    /* nothing: the segment ends with the event's bracket */
    JMEMO_STRING, /* a string: the segment ends with its quote, the next begins behind the closing one */
    JMEMO_SCALAR,
    JMEMO_TIME, /* a scalar that is a time: what profilers write is read at once */
    JMEMO_ARGS  /* an object */
} jmemo_what;

/* No leaf: what comes behind it is not the END, and it has a child. */
typedef struct jmemo_node {
    const char *text; /* among the texts */
    uint16_t len;
    uint8_t what;                       /* jmemo_what */
    uint8_t key;                        /* jkey of the value that varies; NONE: of one that nobody wants */
    uint32_t last_bits;                 /* a bit for each byte of the last 32 or less, where it is taken by 32 */
    struct jmemo_node *child, *sibling; /* NULL: none. The child that hit last comes first */
    struct jmemo_node *next;            /* of a leaf: the first node of the event that followed last time */
    const jspan *steady;                /* the set of the steady fields that came before */
    uint32_t seen;                      /* jevent.seen before the value that varies */
    uint16_t like;                      /* of a leaf: jevent.like */
    uint16_t probe;                     /* a byte where this segment differs from others: tried first */
    uint8_t args_blocks;                /* before args: how many blocks of 64 bytes they took last time */
    uint8_t open;                       /* of a first node: where the event's bracket is */
    bool is_key_known;                  /* of a first node: so is the first key */
    bool skips_args;                    /* before args: jevent.args_skipped */
} jmemo_node;

/* A segment of an event that is walked. */
typedef struct jmemo_step {
    size_t from, end; /* in the view */
    uint8_t what, key;
    bool skips_args;
} jmemo_step;

typedef struct jmemo_field {
    uint8_t step, key, kind;
    uint16_t n;
    size_t at; /* in the view */
} jmemo_field;

/* An event under way. */
typedef struct jmemo_draft {
    bool usable;
    uint8_t n_steps, n_fields;
    jmemo_step steps[JMEMO_STEPS_MAX];
    jmemo_field fields[JMEMO_FIELDS_MAX];
} jmemo_draft;

/* It must not be moved: its nodes and sets point into it. */
typedef struct jmemo {
    uint64_t n_hits; /* since the last look at them */
    uint32_t n_misses;
    uint32_t off;  /* events to go before it is tried again */
    bool baseline; /* as if the processor had no more than all have; for tests */
    uint32_t n_nodes, n_sets, n_text;
    uint32_t likes;   /* numbers given */
    jmemo_node *leaf; /* of the last event that hit; NULL: none */
    jmemo_draft draft;
    jmemo_node nodes[JMEMO_NODES];                /* 0: the root */
    jspan steady[JMEMO_STEADY_SETS][JKEY_STEADY]; /* jevent.steady; 0: empty */
    char text[JMEMO_TEXT_PAD + JMEMO_TEXT_BYTES + JMEMO_TEXT_PAD];
} jmemo;

/** Zero is an empty memo. Count an event that was walked by its tokens. */
void jmemo_miss(jmemo *m);

/**
 * The child of `parent` whose segment `text` begins with, of `n` bytes; it comes first from now on. Reads up to
 * JMEMO_TEXT_PAD bytes more. NULL: none
 */
jmemo_node *jmemo_search(jmemo_node *parent, const char *text, size_t n);

/**
 * Remember the event of the draft.
 *
 * @param text what the draft's positions count from
 * @param open where the event's bracket is
 * @param is_key_known see jmemo_node
 */
void jmemo_learn(jmemo *m, const char *text, size_t open, bool is_key_known);

#endif
