/*
 * The reader of Chrome trace events, and what it asks of its dialects: kineto.c knows PyTorch's top-level facts and
 * arguments. Private to the readers' room.
 */
#ifndef MAREY_READERS_CHROME_H
#define MAREY_READERS_CHROME_H

#include "parse/jtext.h"
#include "parse/jwalk.h"
#include "readers/pairs.h"
#include "readers/reader.h"
#include "trace/builder.h"
#include "trace/model.h"

enum { CHROME_SOURCE_CACHE = 32, CHROME_LIKES = 256, CHROME_NAME_BYTES_MAX = 64 * 1024 };

/* Categories seen lately: the same few come with every event. */
typedef struct chrome_source {
    char text[40];
    uint8_t n; /* 0: empty */
    uint32_t id;
} chrome_source;

/* What events of one jevent.like share. */
typedef struct chrome_like {
    uint32_t like;           /* 0: empty */
    uint32_t thread, source; /* NO_ID until the first of them is pushed */
    bool is_plain;           /* intervals with a name and both times, which bind no flow */
    bool is_launch;          /* launch flows */
} chrome_like;

/* What metadata events say of a process: kept until the end, because threads may come later. */
typedef struct chrome_process {
    uint32_t name, labels;
    int64_t sort_index;
} chrome_process;

/* Where in arguments of a known shape a wanted one is: from a byte of one piece to a byte of another, or behind it. */
typedef struct chrome_arg {
    uint8_t arg, kind; /* jarg, jkind */
    uint16_t piece, end_piece;
    uint32_t from, end;
} chrome_arg;

/* What is known of a shape of the builder's taker, by its index there. */
typedef struct chrome_shape {
    uint32_t first, n; /* of the reader's shape_args */
    bool is_walked;    /* arguments of that shape were walked: where it ends they do */
    bool is_known;     /* the wanted ones are known */
} chrome_shape;

/* Hints at what a file without events is. */
enum {
    CHROME_HINT_CLOUD_TRACE = 1,
    CHROME_HINT_NODES = 2,
    CHROME_HINT_SCHEMA = 4,
    CHROME_HINT_OTEL = 8,
    CHROME_HINT_SPEEDSCOPE = 16
};

/*
 * A dialect's say over an interval or instant that is about to be pushed: it may change everything in `in` (thread,
 * name, ids, times, arguments, which must live until the next call). @return false: it is not kept
 */
typedef bool (*chrome_hook)(void *ctx, const jevent *e, trace_event_in *in);

/* What a metadata event says of a process or thread. */
typedef enum chrome_naming_what {
    NAMING_PROCESS_NAME,
    NAMING_PROCESS_LABELS,
    NAMING_PROCESS_INDEX,
    NAMING_THREAD_NAME,
    NAMING_THREAD_INDEX
} chrome_naming_what;

typedef struct chrome_naming {
    chrome_naming_what what;
    uint32_t id;   /* of the process or thread */
    uint32_t text; /* string id, of a name or labels */
    int64_t index;
    uint64_t offset;
} chrome_naming;

/* Half of an interval. */
typedef struct chrome_half {
    pair_half half; /* its arguments are the input's text */
    uint64_t key;   /* of an asynchronous one */
    uint64_t row;   /* rows that the builder had got before */
    bool is_async;
} chrome_half;

/* A top-level value. */
typedef struct chrome_top {
    jspan key, value; /* the input's text */
    uint64_t offset, at;
} chrome_top;

/* As trace_builder.mark. */
typedef struct chrome_mark {
    uint64_t at, n_events;
} chrome_mark;

/* Of a part of a stream (chrome_parts.h): what only the reader of the whole can deal with, each kind in its order. */
typedef struct chrome_notes {
    chrome_naming *namings;
    chrome_half *halves;
    chrome_top *tops;
    chrome_mark *marks;
    size_t n_namings, n_halves, n_tops, n_marks;
    size_t cap_namings, cap_halves, cap_tops, cap_marks;
    uint64_t n_early_flows; /* launch flows before any correlation: not looked at */
} chrome_notes;

typedef struct chrome_reader {
    trace_builder *b;
    chrome_hook hook; /* NULL: none */
    void *hook_ctx;
    bool times_are_text; /* quoted times are the dialect's own way and no loss */
    jwalk walk;
    chrome_notes *notes; /* of the reader of a part; NULL: this one has the whole stream */
    pairs pairs;
    chrome_source sources[CHROME_SOURCE_CACHE];
    chrome_like likes[CHROME_LIKES]; /* by jevent.like, the latest of those that share a place */
    chrome_process *processes;       /* by pid_id */
    size_t n_processes, cap_processes;
    chrome_shape *shapes;
    chrome_arg *shape_args;
    size_t n_shapes, cap_shapes, n_shape_args, cap_shape_args;
    bool args_known;       /* those of the event at hand were told by their shape */
    uint64_t n_correlated; /* events with a correlation */
    uint32_t ac2g;         /* string id of that category, NO_ID before it comes */
    unsigned hints, meta_hints;
    uint64_t meta_offset; /* of the value at hand */
    marey_status status;  /* of the builder */
} chrome_reader;

void chrome_init(chrome_reader *c, trace_builder *b);
void chrome_deinit(chrome_reader *c);
/** Name a process as its metadata event would. */
void chrome_process_name(chrome_reader *c, uint32_t process, uint32_t name);
/** The same where it has no name yet. */
void chrome_process_default(chrome_reader *c, uint32_t process, uint32_t name);
/** Pair, name, decode: once, after the last window. Does not finish the walk. */
marey_status chrome_finish(chrome_reader *c);

/** reader.c: walk one file into a reader that goes on afterwards. Neither judges nor finishes. */
marey_status chrome_read_into(chrome_reader *c, const char *path, const reader_progress *progress);

/* chrome_args.c */
/** As jwalk_ops.args wants it. */
size_t chrome_args_follow(void *ctx, jevent *e, const char *text, size_t n);
/** After the event was pushed: note where in the shape of its arguments the wanted ones are. */
void chrome_args_learn(chrome_reader *c, const jevent *e);

/* chrome.c */
/** Begin the walker anew for another stream or pass; what was found stays with the reader. */
void chrome_restart_walk(chrome_reader *c, bool lost, uint64_t offset);
/** As jwalk_ops.event wants it. */
marey_status chrome_event(void *ctx, const jevent *e);
/** What the notes of a part say, with the numbers of this reader's builder. */
void chrome_take_naming(chrome_reader *c, const chrome_naming *n);
marey_status chrome_take_half(chrome_reader *c, const chrome_half *h);
void chrome_take_top(chrome_reader *c, const chrome_top *t);

/* kineto.c */
bool kineto_wants(jspan key);
void kineto_meta(chrome_reader *c, jspan key, jspan value);
/** What ties a launch to what it started; 0: nothing does. */
uint64_t kineto_correlation(chrome_reader *c, const jevent *e);
/** Collective arguments of the event that was pushed last, if it has any. */
void kineto_collective(chrome_reader *c, const jevent *e);
/** After the last event: is this PyTorch's? */
void kineto_finish(chrome_reader *c);

/* Shared. */
void chrome_lose(chrome_reader *c, marey_loss loss, uint64_t offset, const char *detail);
uint32_t chrome_string(chrome_reader *c, jspan s); /* NO_ID for what is no string or scalar */

#endif
