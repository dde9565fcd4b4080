/*
 * The HDF5 file. Only this room includes hdf5.h. Schema: one table in store/schema.c, printed by `marey info --schema`
 * and kept in docs/format.md.
 *
 *   /events/{start,dur,name,class,flags,instance}   columns, chunks of BLOCK_EVENTS rows, shuffle + deflate
 *   /blocks/...                                     one row per block: group, slice, tracks and carried-in events
 *   /lod/r{0,1,2}/...                               tiles (lod/pyramid.h)
 *   /model/...                                      ranks, threads, lanes, tracks, names, categories, steps, groups,
 * ... /args/..., /links/..., /collectives/..., /counters/...   what hangs on events, by row
 *
 * A *block* is the next BLOCK_EVENTS events of a rank group by start time, sorted by (track, start). Its carry list
 * names the events of earlier blocks that still run at its t0, so the blocks whose slices meet a window, and the carry
 * list of the first of them, hold every event that meets the window. A *row* is an event's index in /events: block *
 * BLOCK_EVENTS + i.
 *
 * Groups come in three kinds: events of 64 ranks; steps of 64 ranks (derived); phases of 64 ranks (derived).
 */
#ifndef MAREY_STORE_STORE_H
#define MAREY_STORE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/diag.h"
#include "base/text.h"
#include "base/thread.h"
#include "graph/model.h"
#include "lod/pyramid.h"
#include "trace/arg_shapes.h"
#include "trace/metrics.h"
#include "trace/model.h"

enum { BLOCK_EVENTS = 32768 };

typedef enum group_kind { GROUP_EVENTS, GROUP_STEPS, GROUP_PHASES } group_kind;

/* ------------------------------------------------------------------ writing */

typedef struct store_event {
    int64_t start_ns;   /* >= 0, since the run's start */
    int64_t dur_ns;     /* >= 0 */
    uint32_t track;     /* into model.tracks (the owner has put it there before) */
    uint32_t track_row; /* the group's dense track number in order of first use (= trace_track.row) */
    uint32_t name;      /* into model.names */
    uint32_t instance;  /* occurrence of this name on this rank within its step: the k of Marey's "same instance" */
    uint8_t klass;      /* trace_class */
    uint8_t flags;      /* EVENT_* */
    int16_t rank_row;   /* 0..63: counts for this rank of the group; -1: does not */
    const char *args;   /* raw JSON object text or NULL; copied */
    uint32_t args_len;
    bool args_taken; /* it is a record of the writer's shapes instead (trace/arg_shapes.h), ARG_RECORD_PAD_BYTES
                        readable bytes behind it */
    bool args_stay;  /* and it stays where it is until the writer is finished, so that it is not copied */
    uint64_t tag;    /* not 0: on_row is told the event's row */
} store_event;

typedef struct store_writer store_writer;
typedef struct store_group store_group;

typedef struct store_options {
    bool force;    /* replace a target that is not a marey file */
    pool *workers; /* compresses blocks and tiles; NULL: on the calling thread */
    bool is_last;  /* nobody needs the workers after the writer: they are dismissed before the file gets its name */
    void (*on_row)(void *ctx, uint64_t tag,
                   uint64_t row); /* called on the group's thread, in block order; may be NULL */
    void *on_row_ctx;
} store_options;

/** Nothing appears at `path` before store_writer_finish(), and nothing is left of a writer whose process is killed (as
 * far as the file system allows: file_aside in base/file.h). Errors: IO (not writable, or a file at `path` that marey
 * did not write and no `force`), with the reason. Thread: groups may run on several threads. */
marey_status store_writer_create(store_writer **out, const char *path, const store_options *options, diag *d);
/** The file's dictionary of arguments: who takes texts apart before gives records. Lives as long as the writer. */
arg_shapes *store_writer_shapes(store_writer *w);
/** What is in the dictionary now begins to go to the file beside the caller, where there are workers. Nobody adds to it
 * until the first group begins. */
void store_writer_put_shapes(store_writer *w);
/** Discards everything that is not finished. */
void store_writer_destroy(store_writer **w);

typedef struct store_group_params {
    group_kind kind;
    uint32_t first_rank, n_ranks; /* n_ranks <= 64 */
    int64_t duration_ns;
    uint64_t n_events;    /* expected, for the bin widths */
    int64_t busy_rank_ns; /* expected busy time summed over ranks, likewise */
} store_group_params;

/** Begin a group; several may be open at once, each used by one thread. Group ids are dense in order of begin. */
marey_status store_group_begin(store_writer *w, store_group **out, const store_group_params *params, diag *d);
/** Events in ascending start order; on one track they must not overlap. Nothing behind one that is refused is taken.
 * Errors: ARG, and what the file system says. */
marey_status store_group_put_all(store_group *g, const store_event *events, size_t n, diag *d);
static inline marey_status store_group_put(store_group *g, const store_event *e, uint32_t track_row, diag *d)
{
    store_event one = *e;
    one.track_row = track_row;
    return store_group_put_all(g, &one, 1, d);
}
marey_status store_group_end(store_group **g, diag *d);

/* Side tables, written whole or in pieces (append). Rows ascending within each call. */
typedef struct store_link {
    uint64_t from_row, to_row;
    uint32_t kind; /* 0 launch -> kernel; 1 forward -> backward; 2 other flow */
} store_link;
typedef struct store_collective {
    uint64_t row;
    uint32_t group; /* into model.groups; NO_ID */
    uint32_t what;  /* operation: writing, into the strings given with the table; read back, see store_string(). NO_ID:
                       none */
    int64_t in_elements, out_elements, bytes, group_size, seq; /* -1: unknown */
    uint32_t dtype;
} store_collective;
typedef struct store_sample {
    int64_t ts_ns;
    double value;
} store_sample;
/* A number that the input states; see trace/metrics.h. Ranks are global numbers, whether the run holds them or not. */
typedef struct store_metric {
    double value;       /* in its kind's unit; finite */
    int64_t rank, a, b; /* -1: none */
    int64_t step;       /* -1: none */
    int64_t time_ns;    /* since the run's start; -1: none */
    uint32_t name, tag; /* writing: into the strings given with them, NO_ID: none; read back: see store_string() */
    uint8_t kind;       /* trace_metric_kind */
    uint8_t flags;      /* METRIC_* */
} store_metric;

/** In any order; they wait in memory and are sorted at the end: 48 bytes a link. */
marey_status store_writer_links(store_writer *w, const store_link *links, size_t n, diag *d);
/** The same for a caller that sorts itself: all links ascending by (from_row), and again all by (to_row), each in any
 * number of calls; nothing is kept in memory. Errors: ARG when rows descend; STATE beside store_writer_links(). */
typedef enum store_link_order { LINKS_BY_CAUSE, LINKS_BY_EFFECT } store_link_order;
marey_status store_writer_sorted_links(store_writer *w, store_link_order order, const store_link *links, size_t n,
                                       diag *d);
/** `what` and `dtype` index `strings` (n_strings, the used ones are written with the table). Any number of calls; rows
 * of a later call lie behind those of the ones before. Errors: ARG, IO. */
marey_status store_writer_collectives(store_writer *w, const store_collective *c, size_t n, const char *const *strings,
                                      size_t n_strings, diag *d);
/** All samples of one counter after the other, as model.counters[i].first_sample, n_samples say. */
marey_status store_writer_samples(store_writer *w, const store_sample *s, size_t n, diag *d);

/** Any number of calls. `name` and `tag` index `strings`. Errors: ARG (text, kind or number out of range), IO. */
marey_status store_writer_metrics(store_writer *w, const store_metric *m, size_t n, const char *const *strings,
                                  size_t n_strings, diag *d);

/** The run's computational graph; at most one. Errors: STATE (a second one), ARG (graph_check), IO. */
marey_status store_writer_graph(store_writer *w, const graph *g, diag *d);

/** Writes the model and the directories, closes, renames. The writer can only be destroyed after it. */
marey_status store_writer_finish(store_writer *w, const trace_model *m, diag *d);

/* ------------------------------------------------------------------ reading */

typedef struct store_file store_file;

/** Errors: IO; FORMAT (not HDF5, not marey's, damaged: says which object); VERSION. Cost: does not depend on the number
 * of events (directories of blocks and tiles are read; O(100 KB) per 10 M events). */
marey_status store_open(store_file **out, const char *path, diag *d);
void store_close(store_file **f);
const trace_model *store_model(const store_file *f);
const char *store_path(const store_file *f);
const char *store_version(const store_file *f); /* of the format, as the file states it: "1.1" */

typedef struct store_carry {
    uint32_t track;
    uint32_t name;
    int64_t start_ns, dur_ns;
    uint64_t row;
    uint32_t instance;
    uint8_t klass, flags;
} store_carry;

typedef struct store_block_info {
    uint32_t group;
    uint32_t n;           /* events */
    int64_t t0_ns, t1_ns; /* slice by start time: every event has start in [t0, t1) */
    uint64_t first_row;
    uint32_t n_tracks;       /* tracks present */
    const uint32_t *tracks;  /* [n_tracks] into model.tracks, ascending */
    const uint32_t *offsets; /* [n_tracks + 1] first event of each inside the block */
    uint32_t n_carry;
    const store_carry *carry; /* ascending by track */
    bool is_damaged;
} store_block_info;

typedef struct store_group_info {
    group_kind kind;
    uint32_t first_rank, n_ranks;
    uint32_t n_blocks;
    const uint32_t *blocks; /* ascending by time */
    int64_t bin0_ns[LOD_R];
    uint32_t n_levels[LOD_R]; /* 0: no pyramid of this row level */
    uint32_t n_rows[LOD_R];
} store_group_info;

size_t store_n_groups(const store_file *f);
store_group_info store_group_at(const store_file *f, uint32_t group);
size_t store_n_blocks(const store_file *f);
/** Tracks and carried events of a group are read at their first use, here or by store_block(). Thread: any.
 *  Errors: RANGE, IO, FORMAT. */
marey_status store_group_load(store_file *f, uint32_t group, diag *d);
/** Arrays live as long as the file. Where the group's directory cannot be read, `is_damaged` is set and tracks and
 * carry are empty; store_group_load() says why. Thread: any. */
store_block_info store_block(store_file *f, uint32_t block);
/** The same without tracks and carried events: what the open file knows. Thread: any. Cost: no read. */
store_block_info store_block_head(const store_file *f, uint32_t block);
/** The group whose blocks hold a track's events; NO_ID when there is none. */
uint32_t store_track_group(const store_file *f, uint32_t track);
/** The range of the group's blocks whose slices, or carried events, can meet [t0, t1): blocks[*first .. *first + *n).
 * Their events and the carry list of blocks[*first] are all that meets the window; *n = 0: nothing does (the last slice
 * of a group reaches to the end of its events). */
void store_blocks_in(const store_file *f, uint32_t group, int64_t t0_ns, int64_t t1_ns, uint32_t *first, uint32_t *n);

/* Decoded columns of one block; arrays of BLOCK_EVENTS, only the wanted ones are filled. */
enum { COL_START = 1, COL_DUR = 2, COL_NAME = 4, COL_CLASS = 8, COL_FLAGS = 16, COL_INSTANCE = 32, COL_ALL = 63 };
typedef struct store_columns {
    uint32_t n;
    uint32_t have; /* COL_* */
    int64_t *start_ns;
    int64_t *dur_ns;
    uint32_t *name;
    uint8_t *klass;
    uint8_t *flags;
    uint32_t *instance;
} store_columns;

/** Read and decode. `c` must be zero or from an earlier call (its memory is reused). Thread: any, concurrently.
 *  Errors: IO, FORMAT (damaged chunk), CANCELLED. */
marey_status store_read_block(store_file *f, uint32_t block, uint32_t columns, store_columns *c, diag *d);
void store_columns_free(store_columns *c);

/* The top level of a row level is one column and always stored. Below it, a tile that holds events is stored or sparse.
 */
typedef enum tile_state { TILE_EMPTY, TILE_STORED, TILE_SPARSE /* not stored: read the events instead */ } tile_state;
tile_state store_tile_find(const store_file *f, const tile_key *key, uint32_t *tile);
size_t store_n_tiles(const store_file *f);
tile_key store_tile_key(const store_file *f, uint32_t tile);
/** cells: TILE_CELLS * LOD_PLANES bytes (caller's). Thread: any, concurrently. */
marey_status store_read_tile(store_file *f, uint32_t tile, uint8_t *cells, diag *d);

/** One event by row, with its track. */
typedef struct store_event_info {
    uint64_t row;
    uint32_t track, name, instance;
    int64_t start_ns, dur_ns;
    uint8_t klass, flags;
} store_event_info;
marey_status store_read_event(store_file *f, uint64_t row, store_event_info *e, diag *d);
/** The event's arguments as JSON object text, appended to `out` (nothing when it has none). */
marey_status store_read_args(store_file *f, uint64_t row, strbuf *out, diag *d);
/** All of a block's, in the order of its rows; "" where an event has none. The text lives until the next call; `visit`
 *  ends the walk by returning false. Nothing is visited where the block has none at all. Thread: any. */
typedef bool (*store_args_visit)(void *ctx, uint32_t index, const char *text, size_t n);
marey_status store_read_block_args(store_file *f, uint32_t block, store_args_visit visit, void *ctx, diag *d);
/** Links from and to a row, up to `cap`. */
marey_status store_read_links(store_file *f, uint64_t row, store_link *out, size_t cap, size_t *n, diag *d);
/** All links from a launch to what it launched: their rows, ascending by to_row; both arrays are the caller's to free.
 * 16 bytes a link: see model.n_links before. Errors: IO, FORMAT. */
marey_status store_read_launches(store_file *f, uint64_t **from_rows, uint64_t **to_rows, size_t *n, diag *d);
/** The collective arguments of a row; *found false when it has none. Strings live as long as the file. */
marey_status store_read_collective(store_file *f, uint64_t row, store_collective *c, const char **what,
                                   const char **dtype, bool *found, diag *d);
/** Collectives [first, first + n) in the order of rows; model.n_collectives in all. `what` and `dtype` are string ids
 * here. Errors: FORMAT (also when there are fewer), IO. */
marey_status store_read_collectives(store_file *f, uint64_t first, size_t n, store_collective *out, diag *d);
const char *store_string(const store_file *f, uint32_t id); /* never NULL; lives as long as the file */
/** The samples of one counter; the caller frees them. */
marey_status store_read_samples(store_file *f, uint32_t counter, store_sample **samples, size_t *n, diag *d);

/**
 * The metrics of one kind (METRIC_KIND_COUNT: all of them), in the order in which they were written; the caller frees
 * them. Nothing of them is read before. A kind that only a newer marey knows comes back as its number. Cost: reads the
 * kinds of all, then the chunks that hold what is asked for. Thread: any. Errors: FORMAT, IO.
 */
marey_status store_read_metrics(store_file *f, trace_metric_kind kind, store_metric **metrics, size_t *n, diag *d);

/** Does the file hold a computational graph? Reads nothing of it. Thread: any. */
bool store_has_graph(store_file *f);
/** The graph, checked; the caller's, graph_deinit(). Everything of it is read. Thread: any. Errors: FORMAT (also when
 * there is none), IO. */
marey_status store_read_graph(store_file *f, graph *out, diag *d);

/** Sizes of the parts, for `marey info`. */
typedef struct store_sizes {
    uint64_t file, events, pyramid, names, arguments, graph, other;
} store_sizes;
store_sizes store_file_sizes(store_file *f);    /* walks all chunk indices: for information only */
uint64_t store_bytes_read(const store_file *f); /* since open, from the device or its cache */

/** The schema as GitHub-flavoured Markdown: exactly docs/format.md. */
void store_schema_print(FILE *out);

#endif
