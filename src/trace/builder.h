/*
 * The trace builder: what a reader pushes into. One builder takes one input file; it knows nothing of HDF5 or pixels.
 *
 * The reader registers threads and names once (both cheap to repeat) and pushes events in any order. Events are
 * gathered in chunks of TRACE_CHUNK_EVENTS rows; a full chunk goes to the owner's `flush`, so memory stays bounded
 * whatever the size of the input. Names are interned as raw bytes of the input; decoding (JSON escapes, UTF-8) happens
 * once per unique name in trace_builder_finish(), by the reader's `decode`.
 *
 * Times are the input's own, in ns. Thread: one builder per thread. Owner: the caller.
 */
#ifndef MAREY_TRACE_BUILDER_H
#define MAREY_TRACE_BUILDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/diag.h"
#include "base/hash.h"
#include "base/text.h"
#include "trace/arg_shapes.h"
#include "trace/metrics.h"

enum { TRACE_CHUNK_EVENTS = 16384 }; /* with their arguments they stay in the processor's cache */

#define TIME_MISSING INT64_MIN

/* An event as it is handed on. The last four fields but `flags` are 0 and for who takes the rows. */
typedef struct trace_row {
    int64_t start_ns;
    int64_t dur_ns;   /* >= 0; EVENT_UNFINISHED is set where the end is unknown (0 then) */
    uint64_t link;    /* correlation, 0: none */
    uint32_t thread;  /* builder's thread id */
    uint32_t name;    /* builder's name id */
    uint32_t args_at; /* in the chunk's arguments */
    uint32_t args_len;
    uint32_t instance;
    uint16_t order;
    uint8_t flags; /* EVENT_* of trace/model.h */
    uint8_t klass;
} trace_row;

/* `args` holds the events' arguments ("{...}") back to back in row order: the raw text, or its record where the builder
 * has a taker. */
typedef struct trace_chunk {
    size_t n;
    trace_row *rows; /* [TRACE_CHUNK_EVENTS] */
    char *args;
    size_t n_args, cap_args;
} trace_chunk;

typedef struct trace_event_in {
    int64_t start_ns; /* not TIME_MISSING */
    int64_t dur_ns;   /* >= 0 */
    uint32_t thread;
    uint32_t name;
    uint64_t correlation;
    const char *args; /* raw text "{...}" or NULL */
    uint32_t args_len;
    uint8_t flags;
} trace_event_in;

/* A kernel's or operator's collective arguments; one per event that has them, joined to the event by its order number.
 */
typedef struct trace_collective_in {
    uint64_t event;                    /* order number of the event in this builder (0, 1, ... as pushed) */
    uint32_t what;                     /* string id ("allreduce") in `strings`; NO_ID */
    uint32_t group;                    /* string id of the process group's name; NO_ID */
    uint32_t group_desc;               /* NO_ID */
    uint32_t group_ranks;              /* string id of the raw "[0, 1]"; NO_ID */
    uint32_t dtype;                    /* NO_ID */
    int64_t in_elements, out_elements; /* -1: unknown */
    int64_t group_size;                /* -1 */
    int64_t seq;                       /* -1 */
} trace_collective_in;

typedef enum trace_flow_phase { FLOW_START, FLOW_STEP, FLOW_END } trace_flow_phase;

typedef struct trace_flow_in {
    int64_t ts_ns;
    uint64_t id; /* the number, or a hash of the text */
    uint32_t thread;
    uint32_t kind;        /* string id of cat (or of the name where there is no cat) in `strings` */
    uint8_t phase;        /* trace_flow_phase */
    bool binds_enclosing; /* bp: "e", and every start and step */
} trace_flow_in;

typedef struct trace_sample_in {
    int64_t ts_ns;
    uint32_t thread;  /* a thread with the sample's pid */
    uint32_t counter; /* string id of "name/series" in `strings` */
    double value;
} trace_sample_in;

typedef struct trace_thread_in {
    const char *pid, *tid;                  /* as written, without quotes; builder's arena */
    uint32_t pid_id;                        /* index of the process among this builder's processes */
    uint32_t name, process_name, labels;    /* string ids or NO_ID */
    int64_t sort_index, process_sort_index; /* INT64_MIN: none */
    uint64_t at;                            /* where it came first */
} trace_thread_in;

typedef struct trace_name_in {
    uint32_t text;   /* string id */
    uint32_t source; /* string id of the input's category; NO_ID */
} trace_name_in;

/* Facts of the file that matter for the run; strings are string ids, NO_ID where unknown. */
typedef struct trace_facts {
    const char *format;        /* "kineto" or "chrome" */
    int64_t rank, world_size;  /* -1: not stated */
    int64_t stage, dp, tp, ep; /* place in the parallel grid; -1: not stated */
    int64_t base_epoch_ns;     /* added to times for the epoch; 0 */
    uint32_t backend, host, device_name;
    uint32_t schema_version; /* 0: none */
    char *groups_json;       /* raw pg_config array text (at most 1 MiB), owned; NULL */
    bool is_kineto;
} trace_facts;

typedef marey_status (*trace_flush_fn)(void *ctx, trace_chunk *chunk);

/* Private to builder.c: a name by its raw bytes and source; a name and a thread seen lately. */
typedef struct trace_name_slot {
    uint64_t hash;
    const char *text; /* NULL: empty */
    uint32_t len;
    uint32_t id;
} trace_name_slot;

typedef struct trace_name_seen {
    uint64_t first, last; /* bytes of it */
    const char *text;     /* NULL: empty */
    uint32_t len, source, id;
} trace_name_seen;

enum { TRACE_THREAD_CACHE = 64 };

typedef struct trace_thread_cache {
    const char *pid, *tid;
    size_t n_pid, n_tid;
    uint32_t id;
} trace_thread_cache;

typedef struct trace_odd_string {
    uint32_t id;
    uint64_t at; /* where it came first */
} trace_odd_string;

enum { TRACE_NAMES_SEEN = 2048 };

typedef struct trace_builder {
    /* set by the owner before use */
    trace_flush_fn flush; /* takes what is in the chunk; may swap its arrays for others of at least the same size; NULL:
                             drop (benches) */
    void *flush_ctx;
    /* May be NULL. While the builder is filled by turns on several threads (`by_turns`), a flush may leave work to be
     * done here: with flush_ctx, on the thread whose turn the flush was in, after it. */
    void (*after_flush)(void *ctx);
    bool by_turns; /* set by who fills it */
    diag *diag;
    uint32_t file;    /* diag_file() id */
    const char *path; /* for messages */
    arg_taker *taker; /* arguments go into chunks as its records; NULL: as text */
    /* May be NULL. Now and then: once the record at that offset was read, so many events were there. */
    void (*mark)(void *ctx, uint64_t at, uint64_t n_events);
    void *mark_ctx;
    uint64_t mark_from; /* not before that offset; set by the owner, and by who marks */
    uint64_t at;        /* byte offset of what is read now, if the reader keeps it; while strings are decoded: where the
                           string first stood. DIAG_NO_OFFSET: not known */
    /* the result, filled while reading */
    trace_facts facts;
    intern strings; /* decoded names, categories, groups: valid UTF-8 after finish */
    trace_thread_in *threads;
    trace_name_in *names;
    trace_collective_in *collectives;
    trace_flow_in *flows;
    trace_sample_in *samples;
    size_t n_threads, n_names, n_collectives, n_flows, n_samples;
    size_t cap_threads, cap_names, cap_collectives, cap_flows, cap_samples;
    trace_side side; /* metrics, places, groups: see trace/metrics.h */
    uint32_t n_processes;
    uint64_t n_events;     /* pushed */
    uint64_t n_ac2g_flows; /* launch flows that repeat the correlation: counted, not kept */
    /* private */
    trace_chunk chunk;
    intern thread_keys;
    intern process_keys;
    map64 name_keys; /* (source, text) -> name + 1 */
    trace_name_slot *name_slots;
    size_t n_name_slots, cap_name_slots;
    uint64_t name_seed;
    trace_name_seen *names_seen; /* [TRACE_NAMES_SEEN]; NULL: no name came yet */
    trace_odd_string *odd;       /* strings that are to be decoded, ascending */
    size_t n_odd, cap_odd;
    trace_thread_cache thread_cache[TRACE_THREAD_CACHE];
    arena mem;
} trace_builder;

void trace_builder_init(trace_builder *b);
void trace_builder_deinit(trace_builder *b);

/** Thread of this (pid, tid) as written. @return its id */
uint32_t trace_builder_thread(trace_builder *b, const char *pid, size_t n_pid, const char *tid, size_t n_tid);
/** Process of this pid, whether it has threads or not. @return its index (trace_thread_in.pid_id) */
uint32_t trace_builder_process(trace_builder *b, const char *pid, size_t n);
/** String as raw bytes. */
uint32_t trace_builder_string(trace_builder *b, const char *s, size_t n);
/** Name: a pair of strings (text, source category). */
uint32_t trace_builder_name(trace_builder *b, uint32_t text, uint32_t source);
/** The same from the name's raw bytes: one look-up for a name seen before. */
uint32_t trace_builder_name_raw(trace_builder *b, const char *s, size_t n, uint32_t source);
/** Where a mark is due by the offset of a record that is to be read: `at` and n_events are of the one before. */
static inline void trace_builder_mark(trace_builder *b, uint64_t offset)
{
    if (offset >= b->mark_from && b->mark) {
        b->mark(b->mark_ctx, b->at, b->n_events);
    }
}
/** Push one event. Errors: what flush returns. */
marey_status trace_builder_event(trace_builder *b, const trace_event_in *e);
/** A row's place in the chunk: it is there, and so are its n_args bytes of arguments. */
static inline void trace_builder_put_row(trace_builder *b, const trace_event_in *e, size_t n_args)
{
    trace_chunk *c = &b->chunk;
    c->rows[c->n++] = (trace_row){.start_ns = e->start_ns,
                                  .dur_ns = e->dur_ns,
                                  .link = e->correlation,
                                  .thread = e->thread,
                                  .name = e->name,
                                  .args_at = (uint32_t)c->n_args,
                                  .args_len = (uint32_t)n_args,
                                  .flags = e->flags};
    c->n_args += n_args;
    b->n_events++;
}
/** The same as trace_builder_event(), sooner where the builder's taker has followed the event's arguments. */
static inline marey_status trace_builder_event_followed(trace_builder *b, const trace_event_in *e)
{
    trace_chunk *c = &b->chunk;
    const arg_taker *t = b->taker;
    bool followed = t && arg_taker_followed(t, e->args, e->args_len);
    bool has_room = followed && c->n < TRACE_CHUNK_EVENTS && c->rows &&
                    c->n_args + arg_taker_record_most(t) + ARG_RECORD_PAD_BYTES <= c->cap_args;
    if (!has_room) {
        trace_event_in whole = *e;
        return trace_builder_event(b, &whole);
    }
    trace_builder_put_row(b, e, arg_taker_record(t, c->args + c->n_args));
    return MAREY_OK;
}
/** For who fills the chunk's rows itself: room for at least one more row and n_args bytes of arguments, after a flush
 * where the chunk is full. Errors: what flush returns. */
marey_status trace_builder_room(trace_builder *b, size_t n_args);
void trace_builder_collective(trace_builder *b, const trace_collective_in *c);
void trace_builder_flow(trace_builder *b, const trace_flow_in *f);
void trace_builder_sample(trace_builder *b, const trace_sample_in *s);

/** Decodes one raw string into clean UTF-8; counts what it replaces. */
typedef void (*trace_decode_fn)(void *ctx, const char *raw, size_t n, strbuf *out);
/** Flush the rest, decode the strings, merge names that became equal (ids in flushed chunks stay valid: names and
 * strings keep their ids; equal ones simply hold equal text). */
marey_status trace_builder_finish(trace_builder *b, trace_decode_fn decode, void *ctx);

/* ------------------------------------------------------------------ names that look alike */

static inline uint64_t trace_name_word(const char *s)
{
    uint64_t v;
    memcpy(&v, s, sizeof v);
    return v;
}
static inline uint64_t trace_name_half(const char *s)
{
    uint32_t v;
    memcpy(&v, s, sizeof v);
    return v;
}

/** The first bytes of a name and the last: of less than 16 they hold all. */
static inline uint64_t trace_name_first(const char *s, size_t n)
{
    return n >= 8 ? trace_name_word(s) : n >= 4 ? trace_name_half(s) : n > 0 ? (unsigned char)s[0] : 0;
}
static inline uint64_t trace_name_last(const char *s, size_t n)
{
    if (n >= 4) {
        return n >= 8 ? trace_name_word(s + n - 8) : trace_name_half(s + n - 4);
    }
    return n > 1 ? (uint64_t)(unsigned char)s[n / 2] << 8 | (unsigned char)s[n - 1] : 0;
}

/** A number that names of the same ends, middle and length share. */
static inline uint64_t trace_name_mix(const char *s, size_t n, uint64_t first, uint64_t last)
{
    uint64_t middle = n > 16 ? trace_name_word(s + n / 2 - 4) : 0;
    return (first ^ (last << 23 | last >> 41) ^ (middle << 42 | middle >> 22) ^ n) * 0x9E3779B97F4A7C15U;
}

/** A name comes soon: what it takes to look it up is fetched. @return its trace_name_mix() */
static inline uint64_t trace_builder_expect_name(const trace_builder *b, const char *s, size_t n)
{
    uint64_t mix = trace_name_mix(s, n, trace_name_first(s, n), trace_name_last(s, n));
    if (b->names_seen) {
        __builtin_prefetch(&b->names_seen[mix >> 53]);
    }
    return mix;
}

#endif
