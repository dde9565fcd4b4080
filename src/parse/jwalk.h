/*
 * The walker: turns Chrome-trace-shaped JSON text into events, one window at a time. It only finds where things are;
 * what a field means is the reader's business.
 *
 * It takes {"traceEvents": [...], ...}, bare arrays, one event per line, several documents in one stream, and damaged
 * versions of all of them: whatever the damage, it goes on at the next place that looks like an event. Every damage is
 * counted in the diag with its byte offset. The result depends on the text alone, never on where the windows are cut.
 *
 * Memory: none of its own. Thread: one at a time.
 */
#ifndef MAREY_PARSE_JWALK_H
#define MAREY_PARSE_JWALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"
#include "parse/jbits.h"
#include "parse/jkeys.h"
#include "parse/jmemo.h"
#include "parse/jspan.h"

enum {
    JWALK_EVENT_BYTES_MAX = 16 * 1024 * 1024, /* larger events are dropped and counted */
    JWALK_META_BYTES_MAX = 1024 * 1024,       /* larger top-level values are skipped and counted */
    JWALK_PAD_BYTES = 128,                    /* readable bytes that must follow a window's text */
    JWALK_LINE_BYTES_MAX = 64 * 1024,         /* larger objects outside a list are no events */
    JWALK_LIKES = JMEMO_LIKES                 /* jevent.like is less */
};

/* One event. Only the fields whose bit is set in `seen` (1 << JKEY_x) and `args_seen` (1 << JARG_x) hold anything;
 * spans point into the window, or to what the walker keeps of such events, and last until the callback returns. Of
 * repeated keys the last one counts. */
typedef struct jevent {
    uint32_t seen;
    uint32_t args_seen;
    uint32_t times;    /* 1 << JKEY_TS, JKEY_DUR: what decns_parse_us() says of it is known: `time_ns` */
    bool args_skipped; /* the event is of a kind whose arguments are not looked into */
    /* 0, or a number: events of one walk (from jwalk_init() on) that share it are alike in all but what name, ts, dur,
     * id and args hold: `seen` is the same, and so are the bytes of every other field. Not set yet in ops.args. */
    uint32_t like;
    uint64_t offset;             /* of the event in the stream */
    int64_t time_ns[2];          /* by key - JKEY_TS */
    const jspan *steady;         /* [JKEY_STEADY]: the first fields */
    jspan field[JKEY_COUNT + 1]; /* the others, from JKEY_STEADY on; the last is for what nobody wants */
    jspan arg[JARG_COUNT];
} jevent;

static inline jspan jevent_field(const jevent *e, jkey key)
{
    return e->seen >> key & 1 ? (key < JKEY_STEADY ? e->steady : e->field)[key] : (jspan){0};
}
static inline jspan jevent_arg(const jevent *e, jarg arg)
{
    return e->args_seen >> arg & 1 ? e->arg[arg] : (jspan){0};
}

typedef struct jwalk_ops {
    /** @return not OK to stop the walk */
    marey_status (*event)(void *ctx, const jevent *e);
    /**
     * May be NULL. Does the reader know the arguments that `text` begins with, as those of an event that was walked? Of
     * `e`, what came before them is set. JWALK_PAD_BYTES may be read behind the n bytes. An event may be shown again.
     *
     * @return how many bytes they are, and e->arg, e->args_seen as the walk would set them (nothing when args_skipped);
     *         0: they must be walked
     */
    size_t (*args)(void *ctx, jevent *e, const char *text, size_t n);
    /** A top-level key: does the reader want its value? (Small scalars and strings are always given.) */
    bool (*want)(void *ctx, jspan key);
    void (*meta)(void *ctx, jspan key, jspan value);
} jwalk_ops;

/* What was seen, to tell what a file without events is. */
enum {
    JWALK_SAW_TRACE_EVENTS = 1,
    JWALK_SAW_ARRAY_OF_ARRAYS = 2,
    JWALK_SAW_EVENT_ARRAY = 4, /* an array whose first element is an object */
    JWALK_SAW_TEXT = 8         /* anything but blanks */
};

typedef enum jwalk_state {
    JWALK_START,  /* before a document */
    JWALK_TOP,    /* inside the top-level object */
    JWALK_SKIP,   /* inside a value that nobody wants */
    JWALK_EVENTS, /* inside the list of events */
    JWALK_RESYNC  /* lost: look for the next event, blind to strings */
} jwalk_state;

typedef enum jwalk_result {
    JWALK_MORE,    /* give more text behind what is left */
    JWALK_RESTART, /* compute the bitmaps again from `consumed` on */
    JWALK_GIVEN,   /* an event was given: what follows may be known, try jwalk_known() */
    JWALK_STOPPED  /* the callback said so; see `status` */
} jwalk_result;

typedef struct jwalk {
    jwalk_ops ops;
    void *ctx;
    diag *diag;
    uint32_t file;
    marey_status status;
    jwalk_state state;
    unsigned saw;
    uint64_t n_events;
    uint64_t meta_offset; /* of the value that meta() is called for */
    uint64_t offset;      /* stream offset of the window's first byte; kept by jstream */
    bool in_string;       /* the next window begins inside a string that is skipped */
    /* UINT64_MAX, or: the text ended in a value that was skipped from there on. It may be cut, or a lost bracket may
     * have hidden events, which a second pass that starts lost would find. Which of the two is for the caller to count.
     */
    uint64_t rescan_from;
    /* private */
    bool bare;          /* the list of events is the document */
    bool unsure;        /* went on after damage: bare or not is unknown */
    bool lost;          /* no event was found since the damage; already counted */
    bool comma;         /* a comma came last */
    uint64_t event_end; /* stream offset behind the last event; UINT64_MAX: none yet */
    uint32_t skip_depth;
    jwalk_state after_skip;
    uint64_t skip_from;
    uint64_t cut_at; /* an event that never closed; UINT64_MAX: none */
    uint64_t events_at_cut;
    uint64_t wasted_bytes; /* walked for events that turned out to be damage */
    jkeys keys;
    jmemo memo;
    jevent event;
} jwalk;

void jwalk_init(jwalk *w, const jwalk_ops *ops, void *ctx, diag *d, uint32_t file);

/** Begin blind: the text is no JSON from its first byte on (a page around a trace, a second pass), so look for events.
 */
void jwalk_start_lost(jwalk *w);

/* Several walkers for one stream: each takes a stretch of it that begins between two events. */

/** Is the walker in the list of events, right behind a comma, and sure of that? What comes next hangs on nothing before
 * it then, but for what jwalk_start_between() is told. */
bool jwalk_is_between(const jwalk *w);
/** Begin, or begin again, behind a comma of the list of events, `offset` bytes into the stream. What was learned of
 * events is kept; n_events and `saw` count from here on. @param bare as in a walker that is in that list */
void jwalk_start_between(jwalk *w, bool bare, uint64_t offset);
/** Go on where `from` is, which was begun where `w` stopped: n_events and `saw` are of both then. */
void jwalk_go_on(jwalk *w, const jwalk *from);

/**
 * Events that look like some before, as long as they come: no bitmaps are needed for them. What jwalk_run() would do
 * with them, only sooner.
 *
 * @param text n bytes, then JWALK_PAD_BYTES of anything
 * @param bits for arguments that the reader does not know
 * @return MORE: jwalk_run() must have what is behind `consumed`; STOPPED
 */
jwalk_result jwalk_known(jwalk *w, const char *text, size_t n, jbits_fn bits, size_t *consumed);

/**
 * The wanted arguments of `e`, by a walk over their text alone, which was found to be whole: args_seen and arg are set,
 * nothing where args_skipped is. Nothing else of `w` changes.
 *
 * @param text n bytes that begin with their bracket, then JWALK_PAD_BYTES of anything
 */
void jwalk_args(jwalk *w, jevent *e, const char *text, size_t n, jbits_fn bits);

/**
 * Walk one window.
 *
 * @param text n bytes, then JWALK_PAD_BYTES of anything
 * @param bits bitmaps of all blocks that hold text, then one block of all ones
 * @param last no more text follows
 * @param consumed how much of it need not be shown again
 */
jwalk_result jwalk_run(jwalk *w, const char *text, const jblock *bits, size_t n, bool last, size_t *consumed);

/** After the last window: count what the end of the text tells. */
void jwalk_finish(jwalk *w);

#endif
