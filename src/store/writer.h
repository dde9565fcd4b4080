/* The insides of the writer, shared by its files. */
#ifndef MAREY_STORE_WRITER_H
#define MAREY_STORE_WRITER_H

#include <pthread.h>

#include "base/file.h"
#include "store/args.h"
#include "store/codec.h"
#include "store/hdf_file.h"
#include "store/store.h"

enum {
    N_COLUMNS = 6, /* of /events, in the order of COL_* */
    ARGS_CHUNK = 65536,
    TABLE_CHUNK = 32768,        /* rows per chunk of the other datasets */
    ARGS_ROOM = 1 << 20,        /* bytes, for those of many events */
    ARGS_BLOCK_LIMIT = 64 << 20 /* bytes of argument text after which a block is closed early */
};

/* A dataset that grows. */
typedef struct out_dataset {
    uint64_t n;    /* rows appended so far */
    uint8_t *held; /* rows that do not fill a chunk yet */
    size_t n_held, cap_held;
    hdf_chunk *chunks;
    size_t n_chunks, cap_chunks;
} out_dataset;

typedef struct chunk_hint {
    uint64_t addr; /* UINT64_MAX: unknown */
    uint32_t size;
    uint32_t crc;
} chunk_hint;

typedef struct out_block {
    uint32_t group, n, n_tracks;
    int64_t t0_ns, t1_ns;
    uint64_t track_first;
    uint64_t args_first, args_bytes;
    chunk_hint hints[N_COLUMNS];
} out_block;

typedef struct out_tile {
    tile_key key;
    uint64_t n_cols; /* 0: stored */
    uint64_t index;
    uint64_t n_events;
    chunk_hint hint;
} out_tile;

typedef struct out_group {
    store_group_params params;
    uint64_t first_carry;
    uint32_t n_carry;
    uint32_t *blocks; /* owned */
    size_t n_blocks, cap_blocks;
    int64_t bin0_ns[LOD_R];
    uint32_t n_levels[LOD_R], n_rows[LOD_R];
} out_group;

/* What a job needs to compress; kept for reuse. */
typedef struct bench {
    struct bench *next;
    codec codec;
    args_encoder *args;
    strbuf stream;
    uint8_t *cells; /* of a tile */
} bench;

/* Memory for argument texts that are copied: megabytes per block, too dear to get anew each time. */
typedef struct text_room {
    struct text_room *next;
    size_t n, cap;
    char bytes[];
} text_room;

/* Memory of finished jobs of one kind, for the next of them. */
enum { MOST_SPARE = 4 };
typedef struct spares {
    void *jobs[MOST_SPARE];
    unsigned n;
} spares;

/* Kinds of jobs. As many of one as may be waiting or running at a time; a further one runs where it comes up. */
typedef enum job_kind { JOB_BLOCK, JOB_TILE, JOB_PYRAMID, JOB_TABLE, JOB_KINDS } job_kind;

struct store_writer {
    char *path;
    file_aside aside; /* fd -1: finished */
    store_options options;
    hdf_file file;     /* fd -1: none */
    arg_shapes shapes; /* the dictionary of arguments */
    size_t n_shapes;   /* of them, that were put or are on their way */

    pthread_mutex_t tables; /* guards these two */
    out_dataset out[SCHEMA_COUNT];
    codec codec;

    pthread_mutex_t words; /* guards this */
    intern strings;

    pthread_mutex_t directory; /* one group at a time appends its directory */
    pthread_mutex_t lock;      /* guards all below */
    pthread_cond_t done;
    unsigned n_jobs, n_jobs_of[JOB_KINDS], max_jobs[JOB_KINDS];
    unsigned ending; /* weight of the groups whose pyramid is still on its way */
    bench *benches;
    text_room *rooms; /* freed by jobs, taken by groups */
    spares spare_blocks;
    marey_status failed;
    diag diag; /* messages of jobs */
    out_group *groups;
    size_t n_groups, cap_groups;
    out_block *blocks;
    size_t n_blocks, cap_blocks;
    out_tile *tiles;
    size_t n_tiles, cap_tiles;
    uint64_t n_cells[LOD_R];
    chunk_hint *args_hints;
    size_t n_args_hints, cap_args_hints;
    struct {
        uint64_t row;
        int64_t dur_ns;
    } * longs;
    size_t n_longs, cap_longs;
    store_link *links;
    size_t n_links, cap_links;
    uint64_t next_collective; /* rows of the next call are not below */
    uint64_t next_link[2];    /* likewise, by store_link_order */
    bool has_sorted_links;
    bool has_graph;
};

/* writer.c */
marey_status writer_fail(store_writer *w, marey_status status, const char *what);
/** Tell the caller of what failed in a job, in its own words. @return the status of that failure, or `status` */
marey_status writer_report(store_writer *w, marey_status status, diag *d);
bench *bench_take(store_writer *w);
void bench_give(store_writer *w, bench *b);
/** One with room for `bytes`, and nothing in it. */
text_room *room_take(store_writer *w, size_t bytes);
/** That and all behind it. */
void room_give(store_writer *w, text_room *room);
/** Memory of `bytes`, the same for all jobs of a kind. */
void *spare_take(store_writer *w, spares *s, size_t bytes);
void spare_give(store_writer *w, spares *s, void *job);
/** Run `fn` on a worker, or here where there is none or too much waits. It must end with writer_job_done(). */
void writer_run(store_writer *w, job_kind kind, pool_fn fn, void *ctx);
void writer_job_done(store_writer *w, job_kind kind);
/** Who has to wait for a job runs what no worker took yet. @return false: there is none, or no workers */
bool writer_help(store_writer *w);

/* writer_out.c */
/** Append n rows to a dataset. Thread: any. */
marey_status out_append(store_writer *w, schema_id id, const void *data, uint64_t n);
/** The same for a dataset that no other thread knows of now, with a codec of one's own: nobody waits for it. */
marey_status out_append_alone(store_writer *w, codec *c, schema_id id, const void *data, uint64_t n);
/** The dataset is complete: it is packed beside the caller, where there are workers. */
void out_pack_early(store_writer *w, schema_id id);
/** Pack and write one chunk at chunk index `index`: n elements, and zeros behind them up to `whole`. Thread: any. */
marey_status out_chunk(store_writer *w, schema_id id, codec *c, uint64_t index, const void *data, size_t n,
                       size_t whole, chunk_hint *hint);
/** The same for the cells of a tile. */
marey_status out_tile_chunk(store_writer *w, schema_id id, codec *c, uint64_t index, const tile_map *map,
                            const uint8_t *cells, chunk_hint *hint);
/** All that is held, then the file's own structure. */
marey_status out_finish(store_writer *w, const trace_model *m);
/** Free what is held. */
void out_deinit(store_writer *w);
uint32_t writer_string(store_writer *w, const char *s);

/* writer_tile.c */
/** A tile of the pyramid; `ctx` is the writer. See pyramid_emit. */
marey_status writer_take_tile(void *ctx, const tile_key *key, uint64_t n_cols, const tile_records *records,
                              uint64_t n_events);

/* writer_model.c */
marey_status writer_put_model(store_writer *w, const trace_model *m);
/** The attributes of /model. @return how many, at most WRITER_SCALARS */
enum { WRITER_SCALARS = 16 };
size_t writer_scalars(const trace_model *m, hdf_attribute out[WRITER_SCALARS]);

/* writer_side.c */
marey_status writer_put_links(store_writer *w);

#endif
