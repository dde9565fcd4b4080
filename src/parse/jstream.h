/*
 * Windows over a stream: fills a buffer, computes the bitmaps and runs the walker, carrying what is left of one window
 * to the front of the next. Memory: one window, grown only while one record needs it (16 MiB and a window at most).
 */
#ifndef MAREY_PARSE_JSTREAM_H
#define MAREY_PARSE_JSTREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "parse/jwalk.h"

enum { JSTREAM_WINDOW_BYTES = 256 * 1024, JSTREAM_FRONT_BYTES = 64 * 1024 };

typedef struct jstream_options {
    size_t (*read)(void *ctx, void *dst, size_t cap); /* 0: the end */
    bool (*progress)(void *ctx);                      /* after each window; false: stop. NULL: none */
    /* Instead of `read`, where it is not NULL: the next bytes of the stream where they lie, until the next call; 0: the
     * end. JSTREAM_FRONT_BYTES in front of them and JWALK_PAD_BYTES behind can be written. What `read` gives first,
     * `first_bytes`, comes by way of it. At the end `read` is asked again. */
    size_t (*take)(void *ctx, char **text);
    size_t first_bytes;
    void *ctx;
    const char *memory; /* the stream's text, where it lies in memory as a whole: walked in place, `read` is not used */
    size_t memory_bytes;
    size_t window_bytes; /* 0: JSTREAM_WINDOW_BYTES */
    bool eager;          /* walk after every read instead of filling the window first; for tests */
    bool by_tokens;      /* walk every event token by token, as if none looked like another; for tests */
    jbits_fn bits;       /* NULL: the best */
    void *read_ctx;      /* private: set by jstream_run() */
} jstream_options;

/** Walk the whole stream. @return OK; CANCELLED by progress; what the walker's callback returned */
marey_status jstream_run(jwalk *w, const jstream_options *options);

#endif
