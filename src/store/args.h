/*
 * Arguments: the raw JSON texts of a block's events, as templates and numbers.
 *
 * Texts of one kind of event differ in their numbers only. A *template* is the text with each run of digits replaced by
 * one byte: 1 for a number without leading zeros, 2 for one of fixed width (leading zeros, or the rest of a run of more
 * than 18 digits). Templates go to a dictionary of the whole file; a block's stream names the ones that it uses, and
 * per event holds the numbers that differ from those of the event before with the same template. What does not fit (a
 * text that holds bytes 1 or 2, thousands of numbers, a template seen only once) is kept as it is. Decoding gives the
 * very bytes back.
 *
 * Stream, numbers as LEB128 (seven bits a byte, lowest first):
 *     n_templates, dictionary ids..., length of refs, masks, values, literals, then these four:
 *     refs      one per event: 0 no arguments, 1 literal, 2 + i: the i-th named template
 *     masks     per event of a template with k values: (k + 7) / 8 bytes, bit set where the value changes (from 0 at
 * first) values    per set bit: zigzag of the change; per literal: its length literals  their bytes A byte 2 of a
 * template takes two values, width and number.
 */
#ifndef MAREY_STORE_ARGS_H
#define MAREY_STORE_ARGS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/status.h"
#include "base/text.h"

enum {
    ARGS_MAX_TEMPLATES = 65536,
    ARGS_MAX_TEMPLATE_BYTES = 16 << 20,
    ARGS_MAX_TEMPLATE = 65536,
    ARGS_MAX_VALUES = 4096
};

/* The file's dictionary while it is written. Thread: any. */
typedef struct args_dict {
    pthread_mutex_t lock;
    intern templates;
    size_t n_bytes;
} args_dict;

void args_dict_init(args_dict *d);
void args_dict_deinit(args_dict *d);

typedef struct args_encoder args_encoder;

args_encoder *args_encoder_create(args_dict *dict);
void args_encoder_destroy(args_encoder **e);
/** Start a block. */
void args_encoder_begin(args_encoder *e);
/** The next event; n = 0: it has no arguments. `kind`: any number that texts which look alike share. */
void args_encoder_add(args_encoder *e, uint32_t kind, const char *text, size_t n);
/** Append the block's stream. */
void args_encoder_end(args_encoder *e, strbuf *out);

/* The file's dictionary as it is read. */
typedef struct args_templates {
    const char *bytes;
    const uint64_t *start; /* [n + 1], checked to be ascending and in range */
    size_t n;
} args_templates;

/** Append the text of event `index` of the block. @return FORMAT when the stream is damaged */
marey_status args_decode(const args_templates *t, const uint8_t *stream, size_t n, uint32_t index, strbuf *out);

/** The texts of events 0 to n_events - 1, one after the other; "" where there is none. The text lives until the next
 *  call of `visit`, which ends the walk by returning false. @return as args_decode */
typedef bool (*args_visit)(void *ctx, uint32_t index, const char *text, size_t n);
marey_status args_decode_all(const args_templates *t, const uint8_t *stream, size_t n, uint32_t n_events,
                             args_visit visit, void *ctx);

#endif
