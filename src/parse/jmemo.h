/*
 * What writers repeat: the text between the fields that vary (name, ts, dur, args, id) is the same for many events.
 * Such a *segment* is remembered with the fields found in it; where it comes again, it need not be walked. The result
 * is the same, because a segment's text alone decides what is in it. Turns itself off where it does not pay.
 */
#ifndef MAREY_PARSE_JMEMO_H
#define MAREY_PARSE_JMEMO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { JMEMO_TEXT_MAX = 160, JMEMO_WAYS = 8, JMEMO_PARTS_MAX = 8 };

/* What comes before a segment, or varies after it. END: nothing, the segment ends with the event's bracket. */
typedef enum jmemo_place {
    JMEMO_BEGIN,
    JMEMO_NAME,
    JMEMO_TS,
    JMEMO_DUR,
    JMEMO_ARGS,
    JMEMO_ID,
    JMEMO_END,
    JMEMO_PLACES = JMEMO_END
} jmemo_place;

typedef struct jmemo_part {
    uint8_t key;  /* jkey */
    uint8_t kind; /* jkind */
    uint8_t at;   /* from the segment's first byte */
    uint8_t n;
} jmemo_part;

typedef struct jmemo_segment {
    uint64_t probe; /* 8 bytes near the end, where categories and threads differ: tried first */
    uint8_t len;    /* 0: empty */
    uint8_t probe_at;
    uint8_t next; /* jmemo_place that follows */
    uint8_t n_parts;
    jmemo_part parts[JMEMO_PARTS_MAX];
    char text[JMEMO_TEXT_MAX];
} jmemo_segment;

typedef struct jmemo {
    jmemo_segment segments[JMEMO_PLACES][JMEMO_WAYS];
    uint8_t after[JMEMO_PLACES][JMEMO_WAYS]; /* the way that came after this one last time */
    uint8_t begins[JMEMO_WAYS];              /* likewise from the begin of one event to that of the next */
    uint8_t begin, place, way;               /* the last begin that hit; the last segment that hit */
    uint8_t victim[JMEMO_PLACES]; /* the way to be replaced next */
    uint32_t n_events;            /* since the last look at the hits */
    uint32_t n_hits;
    uint32_t off; /* events to go before it is tried again */
} jmemo;

/* A segment under way: where it began and what was found in it. */
typedef struct jmemo_draft {
    size_t start;
    unsigned place;
    unsigned n_parts;
    bool usable;
    jmemo_part parts[JMEMO_PARTS_MAX];
} jmemo_draft;

/** Count an event. @return whether the memo is to be used for it */
bool jmemo_event(jmemo *m);
/** The segment that `text` begins with. `n`: readable text. NULL: none */
const jmemo_segment *jmemo_find(jmemo *m, unsigned place, const char *text, size_t n);
void jmemo_learn(jmemo *m, const jmemo_draft *d, const char *text, size_t end, unsigned next);

#endif
