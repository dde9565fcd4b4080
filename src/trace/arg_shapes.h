/*
 * Arguments taken apart: a text as its *shape* and its numbers.
 *
 * Texts of one kind of event differ in their numbers only. A shape is the text with each run of digits replaced by one
 * byte: 1 for a number without leading zeros, 2 for one of fixed width (leading zeros, or the rest of a run of more than
 * 18 digits; two values, width and number). All shapes of a run stand in one table, which is also the file's dictionary
 * of templates (store/args.h). A *taker* is one thread's way into it: it guesses what shape a text has and only compares
 * then; where the guess fails the text is taken apart and looked up.
 *
 * A *record* is what travels from the reader to the store in place of the text, mostly 10 to 30 bytes: u32 number of the
 * shape + 1; two bits for each of its n values, (n + 3) / 4 bytes, that say whether it takes 1, 2, 4 or 8 bytes; those
 * bytes, the lowest first. Shape 0: the text follows as it is; it holds bytes 1 or 2, or thousands of numbers, or
 * there was no room for its shape.
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
    ARG_PAD_BYTES = 32,       /* readable bytes that must follow a text that is followed where it lies */
    ARG_RECORD_PAD_BYTES = 8, /* of room behind a record that is written, or whose values are read */
    ARG_KINDS = 1024
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
    intern texts;     /* by id */
    arg_shape **all;  /* [ARG_SHAPES_MAX] */
    size_t n_bytes;   /* of the texts */
    arena mem;
} arg_shapes;

void arg_shapes_init(arg_shapes *s);
void arg_shapes_deinit(arg_shapes *s);
/** The shape of a record that came to this thread after it was made. */
static inline const arg_shape *arg_shapes_at(const arg_shapes *s, uint32_t id)
{
    return s->all[id];
}

/* A shape that a taker has met. */
typedef struct arg_known {
    const arg_shape *shape;
    uint64_t hash;
    uint32_t next; /* the one that followed it last time, + 1; 0: none yet */
} arg_known;

typedef struct arg_taker {
    arg_shapes *shapes;
    arg_known *known;
    size_t n_known, cap_known;
    uint32_t *slots; /* by hash: index in `known` + 1 */
    size_t cap_slots;
    map64 seen; /* hashes of texts without a shape that were met once */
    uint32_t of_kind[ARG_KINDS][2]; /* the latest two of a kind: index in `known` + 1 */
    uint32_t last;                  /* likewise, of the last text */
    strbuf copy;                    /* a text with room behind it */
    char *form;                     /* the shape of a text that is taken apart */
    size_t n_form, cap_form;
    /* the text at hand */
    const char *text;
    size_t n; /* 0: none */
    const char *tried; /* what was followed last, as one of `kind` */
    uint32_t kind;
    uint32_t index; /* in `known` */
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

/** Most bytes that the record of the text at hand can take, and the record. @return how many it takes */
static inline size_t arg_taker_record_most(const arg_taker *t)
{
    return sizeof(uint32_t) + (t->n_values + 3) / 4 + t->n_values * sizeof(uint64_t);
}
size_t arg_taker_record(const arg_taker *t, char *out);
/** The record of a text that stays as it is: sizeof(uint32_t) + n bytes. */
void arg_record_text(char *out, const char *text, size_t n);

/* The values of a record, one after the other. */
typedef struct arg_values {
    const uint8_t *sizes;
    const char *p;
    unsigned group; /* sizes of the next values; 1: none is left of the byte */
} arg_values;

static inline arg_values arg_values_of(const char *record, uint32_t n_values)
{
    const char *sizes = record + sizeof(uint32_t);
    return (arg_values){(const uint8_t *)sizes, sizes + (n_values + 3) / 4, 1};
}
/** The value at p whose two bits these are. Reads eight bytes. */
static inline uint64_t arg_value_at(const char *p, unsigned size)
{
    static const uint64_t theirs[4] = {UINT8_MAX, UINT16_MAX, UINT32_MAX, UINT64_MAX};
    uint64_t value;
    memcpy(&value, p, sizeof value);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    value = __builtin_bswap64(value);
#endif
    return value & theirs[size];
}

/** Reads up to ARG_RECORD_PAD_BYTES behind the record. */
static inline uint64_t arg_values_next(arg_values *v)
{
    if (v->group == 1) {
        v->group = *v->sizes++ | 256U;
    }
    unsigned size = v->group & 3;
    uint64_t value = arg_value_at(v->p, size);
    v->group >>= 2;
    v->p += 1U << size;
    return value;
}

/** Append the text that a record stands for. */
void arg_record_decode(const arg_shapes *s, const char *record, size_t n, strbuf *out);
/** A number as it stood in a text: at least `width` digits. */
void arg_put_number(strbuf *out, uint64_t value, uint64_t width);

#endif
