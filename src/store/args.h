/*
 * Arguments: the texts of a block's events, as templates and numbers.
 *
 * They come as records (trace/arg_shapes.h): a text is its shape and its numbers. The table of shapes goes to the file
 * as its dictionary of templates; a block's stream names the ones that it uses, and per event holds the numbers that
 * differ from those of the event before with the same template. What has no shape is kept as it is. Decoding gives the
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

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "base/text.h"
#include "trace/arg_shapes.h"

/* One block after the other. Thread: one at a time. */
typedef struct args_encoder args_encoder;

args_encoder *args_encoder_create(const arg_shapes *shapes);
void args_encoder_destroy(args_encoder **e);
/** false: as if the processor had no more than all have; for tests. The stream is the same. */
void args_encoder_set_wide(args_encoder *e, bool is_wide);
/** Start a block. */
void args_encoder_begin(args_encoder *e);
/** The next n events: each one's record is the len[i] bytes at records[i], with ARG_RECORD_PAD_BYTES readable behind
 * them; len[i] = 0: it has no arguments. */
void args_encoder_add(args_encoder *e, const char *const *records, const uint32_t *len, size_t n);
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
