/*
 * Arguments taken apart: a text as its *shape* and its numbers.
 *
 * Texts of one kind of event differ in their numbers only. A shape is the text with each run of digits replaced by one
 * byte: 1 for a number without leading zeros, 2 for one of fixed width (leading zeros, or the rest of a run of more
 * than 18 digits; two values, width and number). All shapes of a run stand in one table, which is also the file's
 * dictionary of templates (store/args.h). A *taker* is one thread's way into it: it guesses what shape a text has and
 * only compares it with another text of that shape then; where the guess fails the text is taken apart and looked up.
 *
 * A *record* is what travels from the reader to the store in place of the text, mostly 10 to 30 bytes, in the machine's
 * own byte order: u32 number of the shape + 1, with the top bit set where a value needs more than 32 bits; then its
 * values, all as u32 or, with that bit, all as u64. Shape 0: the text follows as it is; it holds bytes 1 or 2, or
 * thousands of numbers, or there was no room for its shape.
 */
#ifndef MAREY_TRACE_ARG_SHAPES_H
#define MAREY_TRACE_ARG_SHAPES_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/hash.h"
#include "base/text.h"

enum {
    ARG_SHAPES_MAX = 65536,
    ARG_SHAPES_BYTES_MAX = 16 << 20,
    ARG_SHAPES_FREE = 4096, /* shapes made at first sight; from then on a text's shape is made when it is met again */
    ARG_SHAPE_BYTES_MAX = 65536,
    ARG_VALUES_MAX = 4096,
    ARG_PAD_BYTES = 32,        /* readable bytes that must follow a text that is followed where it lies */
    ARG_RECORD_PAD_BYTES = 32, /* of room behind a record that is written, or whose values are read */
    ARG_KINDS = 1024,
    ARG_GUESSES = 8,
    ARG_CONTEXTS = 2048
};

enum { ARG_MARK_END = 0, ARG_MARK_NUMBER = 1, ARG_MARK_FIXED = 2 };

/* A literal piece of a shape and the mark behind it. */
typedef struct arg_piece {
    uint32_t at, len; /* in the shape's text */
    uint8_t mark;
    bool is_rest; /* there is nothing between the mark and the one before */
} arg_piece;

typedef struct arg_shape {
    const char *text; /* len bytes, and ARG_PAD_BYTES more */
    const arg_piece *pieces;
    uint32_t len, id, n_pieces, n_values;
} arg_shape;

/* The table. Shapes never move. Thread: any. */
typedef struct arg_shapes {
    pthread_mutex_t lock;
    intern texts;    /* by id */
    arg_shape **all; /* [ARG_SHAPES_MAX] */
    size_t n_bytes;  /* of the texts */
    arena mem;
} arg_shapes;

void arg_shapes_init(arg_shapes *s);
void arg_shapes_deinit(arg_shapes *s);
/** The shape of a record that came to this thread after it was made. */
static inline const arg_shape *arg_shapes_at(const arg_shapes *s, uint32_t id)
{
    return s->all[id];
}

/* A text of a shape that others are compared with: arg_example.h. */
typedef struct arg_example arg_example;

/* A shape that a taker has met. */
typedef struct arg_known {
    const arg_shape *shape;
    arg_example *example; /* NULL: there is no room for one */
    uint64_t hash;
    uint32_t next; /* the one that followed it last time, + 1; 0: none yet */
} arg_known;

/* From behind a number on, a text's places are those of its example and `by`. */
typedef struct arg_shift {
    uint32_t number;
    int32_t by;
} arg_shift;

typedef struct arg_taker {
    arg_shapes *shapes;
    arg_known *known;
    size_t n_known, cap_known;
    uint32_t *slots; /* by hash: index in `known` + 1 */
    size_t cap_slots;
    map64 seen;                               /* hashes of texts without a shape that were met once */
    uint32_t of_kind[ARG_KINDS][ARG_GUESSES]; /* the latest of a kind: index in `known` + 1 */
    uint32_t last, before_last;               /* likewise, of the last two texts */
    uint16_t of_context[ARG_CONTEXTS];        /* likewise: what came last time of a kind behind two others */
    uint32_t context;                         /* of the text at hand, among those */
    size_t n_example_bytes;
    bool is_avx2; /* false: as if the processor had no more than all have; for tests */
    strbuf copy;  /* a text with room behind it */
    char *form;   /* the shape of a text that is taken apart */
    size_t n_form, cap_form;
    uint32_t n_pieces; /* of that */
    /* the text at hand */
    const char *text;
    size_t n;          /* 0: none */
    const char *tried; /* what was followed last, as one of `kind` */
    uint32_t kind;
    uint32_t index; /* in `known` */
    char *record;   /* room for ARG_VALUES_MAX wide values */
    size_t n_record;
    bool is_example; /* its places are its example's, shifted; else those in `at` */
    bool too_wide;   /* what is followed has a value beyond 32 bits, unlike its example */
    /* What was tried last had this shape's form up to `odd_at` of it, not so there; `odd`: in the text. NULL: not known
     */
    const char *odd;
    const arg_shape *odd_shape;
    uint32_t odd_at;
    uint32_t n_shifts, n_changes;
    arg_shift shifts[ARG_VALUES_MAX];
    uint32_t n_values;
    uint64_t values[ARG_VALUES_MAX];
    uint32_t at[ARG_VALUES_MAX + 1]; /* where in the text each piece begins */
} arg_taker;

arg_taker *arg_taker_create(arg_shapes *shapes);
void arg_taker_destroy(arg_taker **t);

/**
 * Does `text` begin with a shape that is likely for this kind? Up to ARG_PAD_BYTES behind its n bytes are read.
 *
 * @param kind any number that texts which look alike share
 * @return how many bytes of it the shape covers; 0: it is none of the likely ones
 */
size_t arg_taker_follow(arg_taker *t, uint32_t kind, const char *text, size_t n);

/** Was it this text, whole, that was followed last, and nothing done since? Then it is the text at hand. */
static inline bool arg_taker_followed(const arg_taker *t, const char *text, size_t n)
{
    return t->tried == text && n > 0 && t->n == n;
}
/** What was followed last may not be there any more: another text may come to lie where it lay. */
static inline void arg_taker_forget(arg_taker *t)
{
    t->tried = NULL;
}
/** Make it the text at hand, by whatever shape it has. @return false when it must stay as it is */
bool arg_taker_take(arg_taker *t, uint32_t kind, const char *text, size_t n);

/** Where piece `k` of the text at hand begins. */
uint32_t arg_taker_piece(const arg_taker *t, uint32_t k);
/** All those, into t->at. */
void arg_taker_places(arg_taker *t);

/* ------------------------------------------------------------------ records */

#define ARG_RECORD_WIDE (UINT32_C(1) << 31)

/** Bytes of the record of a shape with so many values. */
static inline size_t arg_record_bytes(uint32_t n_values, bool is_wide)
{
    return sizeof(uint32_t) + n_values * (is_wide ? sizeof(uint64_t) : sizeof(uint32_t));
}
static inline void arg_record_begin(char *record, uint32_t shape, bool is_wide)
{
    uint32_t head = (shape + 1) | (is_wide ? ARG_RECORD_WIDE : 0);
    memcpy(record, &head, sizeof head);
}
static inline void arg_record_set(char *record, bool is_wide, uint32_t i, uint64_t value)
{
    if (is_wide) {
        memcpy(record + sizeof(uint32_t) + i * sizeof value, &value, sizeof value);
    } else {
        uint32_t narrow = (uint32_t)value;
        memcpy(record + sizeof(uint32_t) + i * sizeof narrow, &narrow, sizeof narrow);
    }
}
/** Copies up to 15 bytes more than n: there is room behind both. */
static inline void arg_record_copy(char *to, const char *from, size_t n)
{
    for (size_t i = 0; i < n; i += 16) {
        uint64_t both[2];
        memcpy(both, from + i, sizeof both);
        memcpy(to + i, both, sizeof both);
    }
}

/** Bytes of the record of the text at hand; and the record, into that and ARG_RECORD_PAD_BYTES more. @return its bytes
 */
static inline size_t arg_taker_record_most(const arg_taker *t)
{
    return t->n_record;
}
static inline size_t arg_taker_record(const arg_taker *t, char *out)
{
    arg_record_copy(out, t->record, t->n_record);
    return t->n_record;
}
/** The record of a text that stays as it is: sizeof(uint32_t) + n bytes. */
void arg_record_text(char *out, const char *text, size_t n);

/** A record's shape + 1; 0: a text follows. */
static inline uint32_t arg_record_shape(const char *record)
{
    uint32_t head;
    memcpy(&head, record, sizeof head);
    return head & ~ARG_RECORD_WIDE;
}

/* The values of a record, one after the other. */
typedef struct arg_values {
    const char *p;
    bool is_wide;
} arg_values;

static inline arg_values arg_values_of(const char *record)
{
    uint32_t head;
    memcpy(&head, record, sizeof head);
    return (arg_values){record + sizeof head, (head & ARG_RECORD_WIDE) != 0};
}
static inline uint64_t arg_values_next(arg_values *v)
{
    if (v->is_wide) {
        uint64_t value;
        memcpy(&value, v->p, sizeof value);
        v->p += sizeof value;
        return value;
    }
    uint32_t narrow;
    memcpy(&narrow, v->p, sizeof narrow);
    v->p += sizeof narrow;
    return narrow;
}

/** Append the text that a record stands for. */
void arg_record_decode(const arg_shapes *s, const char *record, size_t n, strbuf *out);
/** A number as it stood in a text: at least `width` digits. */
void arg_put_number(strbuf *out, uint64_t value, uint64_t width);

#endif
