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
    /* After each window but the last, may be NULL: the walk may be left here. n bytes of text were read and not walked;
     * where the callee takes them over, and says true, jstream_run() returns. */
    bool (*leave)(void *ctx, const char *text, size_t n);
    /* Instead of `read`, where it is not NULL: the next bytes of the stream where they lie, until the next call; 0: the
     * end. JSTREAM_FRONT_BYTES in front of them and JWALK_PAD_BYTES behind can be written. What `read` gives first,
     * `first_bytes`, comes by way of it. At the end `read` is asked again. */
    size_t (*take)(void *ctx, char **text);
    size_t first_bytes;
    void *ctx;
    const char *memory; /* the stream's text, where it lies in memory as a whole: walked in place, `read` is not used */
    size_t memory_bytes;
    /* Before memory is walked: [at, at + n) of it. May be NULL. false: it must not be, and the rest is read. */
    bool (*look)(void *ctx, size_t at, size_t n);
    void (*leave_memory)(void *ctx, size_t at); /* with `look`: `read` goes on at that place of it */
    size_t window_bytes;                        /* 0: JSTREAM_WINDOW_BYTES */
    bool eager;     /* walk after every read instead of filling the window first; for tests */
    bool by_tokens; /* walk every event token by token, as if none looked like another; for tests */
    jbits_fn bits;  /* NULL: the best */
    void *read_ctx; /* private: set by jstream_run() */
} jstream_options;

/** Walk the whole stream. @return OK; CANCELLED by progress; what the walker's callback returned */
marey_status jstream_run(jwalk *w, const jstream_options *options);

/* What a walk over text needs besides the text; zero is ready for use. */
typedef struct jstream_room {
    jblock *bits;
    size_t cap;  /* bytes of text that they are for */
    size_t view; /* private */
} jstream_room;

void jstream_room_deinit(jstream_room *r);

/**
 * Walk a part of a stream where it lies, all n bytes of it. JWALK_PAD_BYTES behind it are readable.
 *
 * @param o bits, by_tokens and window_bytes count, nothing else
 * @param last no more text follows
 * @param consumed what the walker need not be shown again
 */
marey_status jstream_part(jwalk *w, const jstream_options *o, jstream_room *room, const char *text, size_t n, bool last,
                          size_t *consumed);

#endif
