/*
 * Where the parts of a stream begin and end, and who gets the next one (see chrome_parts.h). A part ends where the next
 * one begins, at a guess: a comma behind a brace, and what the events before began with.
 *
 * Text that has to come in order (it is unpacked, say) is given out one part at a time: what was read behind a part's
 * end is carried into the next one. Text that may be read at any offset is given out by offsets alone, and each thread
 * reads its part by itself: it begins at the first guess at or behind its first offset, and ends at the first one at or
 * behind that of the next part, so that neighbours find the same place. Who puts the parts together has to see that
 * they do meet, as a file may change while it is read.
 *
 * Thread: chrome_supply_take() from any, all else from one.
 */
#ifndef MAREY_READERS_CHROME_SUPPLY_H
#define MAREY_READERS_CHROME_SUPPLY_H

#include <pthread.h>

#include "base/text.h"
#include "parse/jkeys.h"

enum { CHROME_LEAD_BYTES_MAX = 64 };

/* A thread's, for one part after another. Owner: the thread; chrome_part_deinit(). */
typedef struct chrome_part {
    const char *text; /* n bytes and JWALK_PAD_BYTES, in `room`, or held */
    size_t n;         /* 0: events of the parts before reach over it */
    uint64_t offset;  /* in the stream */
    unsigned number;  /* 0, 1, ... as they were given out */
    bool is_last;     /* the stream ends with it */
    bool is_void;     /* there is none, for no event seems to begin behind those before, or none near: parts end here */
    char *room;
    size_t cap;
} chrome_part;

/* How to come by a stream's text. */
typedef struct chrome_text {
    size_t (*read)(void *ctx, void *dst, size_t cap); /* what follows, in order; 0: the end. One thread at a time */
    /* NULL, or where the text lies open at any offset; `read` is not used then. On any thread. Less than `cap`: the
     * stream ends there. @return false: it can't be read */
    bool (*read_at)(void *ctx, void *dst, size_t cap, uint64_t offset, size_t *got);
    /* With read_at, may be NULL: the text itself. `look` is asked before a stretch of it is touched, and where it says
     * no, there are no parts any more; `look_away` hears what was dealt with. Both on any thread. */
    const char *held;
    size_t held_bytes;
    bool (*look)(void *ctx, size_t at, size_t n);
    void (*look_away)(void *ctx, size_t at, size_t n);
    void *ctx;
} chrome_text;

typedef struct chrome_supply {
    /* set by the owner */
    const chrome_text *text;
    size_t least_bytes; /* of a part */
    /* private */
    char lead[CHROME_LEAD_BYTES_MAX]; /* what an event begins with, to the first quote */
    size_t n_lead;
    jkeys keys;
    pthread_mutex_t lock;
    strbuf carry;    /* read, and part of no part yet */
    uint64_t offset; /* of its first byte, or of the next part */
    unsigned n_given;
    bool is_read; /* no more parts */
} chrome_supply;

/** How many of n bytes are what an event begins with: a brace and a quote, and blanks between. 0: it is something else
 */
size_t chrome_lead(const char *text, size_t n);

/** Parts begin at that offset. @param rest the text there, as much as was read: text->read gives what follows it.
 * chrome_lead() of it is not 0 */
void chrome_supply_init(chrome_supply *s, uint64_t offset, const char *rest, size_t n);
void chrome_supply_deinit(chrome_supply *s);

/** The next part, of about so many bytes. @return false: all were given out */
bool chrome_supply_take(chrome_supply *s, chrome_part *part, size_t bytes);
void chrome_part_deinit(chrome_part *part);

#endif
