/*
 * One stream on several threads. Each takes the next *part* of the text, walks it, and pushes what it finds into a
 * builder of its own; when its turn comes that goes into the caller's, so that all arrives in the order of the stream
 * and the result is the one that a single thread gives. A part's text is unpacked, walked and taken apart by one
 * thread: what crosses from core to core is its rows.
 *
 * Where a part ends is a guess, by the text that the events before began with (chrome_supply.h). It is only believed
 * when the walk over that part has ended right there, between two events of the list. Where it has not (the list is
 * over, a guess was wrong, something is damaged), the text from there on is the caller's again.
 *
 * Memory: a part or two for each thread. Thread: the caller's; `read` and `progress` may be called on others, one at a
 * time each.
 */
#ifndef MAREY_READERS_CHROME_PARTS_H
#define MAREY_READERS_CHROME_PARTS_H

#include "base/thread.h"
#include "parse/jstream.h"
#include "readers/chrome.h"
#include "readers/chrome_supply.h"

enum {
    CHROME_PART_BYTES = 256 * 1024,
    CHROME_PART_BYTES_MAX = 4 * 1024 * 1024, /* of a large input, so that its rows fill chunks */
    CHROME_PARTS_THREADS_MAX = 16
};

typedef struct chrome_parts_options {
    chrome_text text;
    bool (*progress)(void *ctx); /* with text.ctx, after each part; false: stop. NULL: none */
    pool *workers; /* on which parts are read, beside the caller's thread; NULL: some are made for the time */
    const jstream_options *walk; /* how to walk a part: see jstream_part() */
    unsigned n_threads;          /* with the caller's; at most CHROME_PARTS_THREADS_MAX are used */
    size_t part_bytes;           /* at least 1 */
    size_t *n_parts;             /* counts those that were taken; may be NULL */
} chrome_parts_options;

/** Can parts begin where the walker is? @param rest the text that it has not walked, as much as is there */
bool chrome_parts_can_begin(const chrome_reader *c, const char *rest, size_t n);

/**
 * Read in parts from there on, as long as it goes well. The reader goes on behind them afterwards.
 *
 * @param left appended to: text that was read, and is not dealt with. With text.read_at it stays empty: the text that
 * is not dealt with begins at the walker's offset
 * @param is_over the text was walked to its end: there is nothing to go on with
 * @return OK; CANCELLED by progress; what the builder's flush returned
 */
marey_status chrome_parts_run(chrome_reader *c, const chrome_parts_options *o, const char *rest, size_t n, strbuf *left,
                              bool *is_over);

#endif
