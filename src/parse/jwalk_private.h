/* Inside the walker: a view of one window, a cursor over its tokens, and the walk over one event. */
#ifndef MAREY_PARSE_JWALK_PRIVATE_H
#define MAREY_PARSE_JWALK_PRIVATE_H

#include "parse/jwalk.h"

/* Text that may be walked in vain before events are held to smaller limits. */
enum { JWALK_FREE_WASTE = 8 * JWALK_EVENT_BYTES_MAX };

typedef struct jview {
    const char *text;
    const jblock *bits;
    size_t n;
    bool last;
    size_t pos; /* all text before is dealt with */
} jview;

/* Tokens in order. Behind the text stands a block of ones: a position >= n means that the text is over, and a walk
 * stops at the first such position, so it never runs past that block. */
typedef struct jcursor {
    const jblock *bits;
    size_t block;
    uint64_t left;
} jcursor;

static inline jcursor jcursor_at(const jblock *bits, size_t pos)
{
    size_t block = pos >> 6;
    return (jcursor){bits, block, bits[block].tokens & (UINT64_MAX << (pos & 63))};
}

static inline size_t jcursor_next(jcursor *c)
{
    while (c->left == 0) {
        c->left = c->bits[++c->block].tokens;
    }
    size_t pos = (c->block << 6) + (size_t)__builtin_ctzll(c->left);
    c->left &= c->left - 1;
    return pos;
}

static inline size_t jview_token(const jview *v, size_t from)
{
    jcursor c = jcursor_at(v->bits, from);
    return jcursor_next(&c);
}

static inline bool jview_is_brace(const jview *v, size_t pos)
{
    return v->bits[pos >> 6].braces >> (pos & 63) & 1;
}

static inline bool jview_is_token(const jview *v, size_t pos)
{
    return v->bits[pos >> 6].tokens >> (pos & 63) & 1;
}

/* The first byte from `from` on that is no blank, or n. */
static inline size_t jview_solid(const jview *v, size_t from)
{
    while (from < v->n && jis_blank(v->text[from])) {
        from++;
    }
    return from;
}

typedef enum jstep { JSTEP_DONE, JSTEP_MORE, JSTEP_BAD } jstep;

/** Walk the event whose '{' is at `start`. *end: behind its '}', or where it went wrong. */
jstep jevent_walk(jwalk *w, const jview *v, size_t start, size_t *end);
/** Walk the arguments whose '{' is at `start`, which the reader does not know. */
jstep jevent_args(jwalk *w, const jview *v, size_t start, size_t *end);
/** Find the end of the object or array at `start`: behind its bracket. BAD when brackets don't match. */
jstep jview_nested(const jview *v, size_t start, size_t *end);

/** Give w->event, which has a phase, to the reader. */
static inline marey_status jwalk_give(jwalk *w)
{
    w->comma = false;
    w->lost = false;
    w->n_events++;
    w->status = w->ops.event(w->ctx, &w->event);
    return w->status;
}

#endif
