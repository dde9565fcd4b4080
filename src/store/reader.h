/* The insides of the reader, shared by its files. */
#ifndef MAREY_STORE_READER_H
#define MAREY_STORE_READER_H

#include <pthread.h>
#include <stdatomic.h>

#include "store/args.h"
#include "store/codec.h"
#include "store/h5.h"
#include "store/store.h"
#include "store/vfd.h"

enum { N_COLUMNS = 6, ARGS_CHUNK = 65536, N_RECENT = 4 };

/* A dataset, opened at its first use. */
typedef struct in_dataset {
    hid_t id; /* 0: not opened yet */
    uint64_t n;
    int n_dims;
} in_dataset;

/* Directories of one group, loaded at the first use of one of its blocks. */
typedef struct group_directory {
    uint32_t *tracks, *offsets; /* of all its blocks; a block has one offset more than tracks */
    store_carry *carry;         /* sorted by track */
    uint32_t *carry_from, *carry_to;
    uint32_t n_carry;
} group_directory;

/* The directory of one block: where it lies in that of its group. */
typedef struct block_place {
    uint64_t first_track;         /* in group_directory.tracks */
    uint32_t index;               /* in the group, in the order of time */
    _Atomic(store_carry *) carry; /* NULL: not made yet */
    uint32_t n_carry;
} block_place;

typedef struct read_bench {
    struct read_bench *next;
    codec codec;
    uint8_t *raw;
    size_t cap_raw;
    uint32_t *words; /* BLOCK_EVENTS */
} read_bench;

typedef struct block_columns {
    uint32_t *group, *n, *n_tracks;
    int64_t *t0, *t1;
    uint64_t *track_first, *args_first, *args_bytes;
    uint64_t *addr; /* [n][N_COLUMNS] */
    uint32_t *size, *crc;
} block_columns;

typedef struct group_columns {
    uint8_t *kind;
    uint32_t *first_rank, *n_ranks, *n_blocks, *n_carry;
    uint64_t *first_block, *first_carry;
    int64_t *bin0; /* [n][3] */
    uint32_t *n_levels, *n_rows;
    uint32_t *blocks;
} group_columns;

typedef struct tile_columns {
    uint8_t *r, *level;
    uint32_t *group, *row_block;
    uint64_t *col, *index, *n;
    uint64_t *addr;
    uint32_t *size, *crc;
} tile_columns;

typedef struct sparse_columns {
    uint8_t *r, *level;
    uint32_t *group, *row_block;
    uint64_t *col, *n_cols, *n;
} sparse_columns;

struct store_file {
    char *path;
    int fd;
    uint64_t file_bytes;
    char version[32];
    vfd_record record;
    hid_t file;
    in_dataset in[SCHEMA_COUNT];

    trace_model model;
    char *strings;
    uint64_t *string_start;
    size_t n_strings;
    int64_t *members;
    uint64_t *comm_first;

    block_columns blocks;
    size_t n_blocks;
    group_columns groups;
    size_t n_groups;
    tile_columns tiles;
    size_t n_tiles;
    sparse_columns sparse;
    size_t n_sparse;
    uint64_t *long_row;
    int64_t *long_dur;
    size_t n_long;
    uint64_t *args_addr;
    uint32_t *args_size, *args_crc;
    size_t n_args_chunks;
    block_place *places;                   /* [n_blocks] */
    _Atomic(group_directory *) *directory; /* [n_groups] */
    uint32_t *track_group;                 /* [model.n_tracks] */

    _Atomic uint64_t bytes_read;
    _Atomic uint32_t n_misses; /* hints that did not hold */

    pthread_mutex_t making; /* of group directories */
    pthread_mutex_t lock;   /* guards all below */
    read_bench *benches;
    char *template_bytes;
    uint64_t *template_start;
    size_t n_templates;
    bool has_templates;
    struct {
        store_columns columns;
        uint32_t block; /* + 1 */
        uint64_t used;
    } recent[N_RECENT];
    uint64_t clock;
};

/* reader_column.c. All take the HDF5 lock themselves. */
/** Rows of a dataset. Errors: FORMAT (missing, of another shape). */
marey_status in_rows(store_file *f, schema_id id, uint64_t *n, diag *d);
/** Read rows [first, first + n) into `out`, converted to the dataset's type. Errors: FORMAT, IO. */
marey_status in_read(store_file *f, schema_id id, uint64_t first, uint64_t n, void *out, diag *d);
/** Read a whole dataset into new memory (never NULL on success); `rows` must match when it is not UINT64_MAX. */
marey_status in_load(store_file *f, schema_id id, uint64_t rows, void *out_pointer, size_t *n, diag *d);
/** New memory for rows of the dataset, or NULL when the file cannot hold as much. */
void *in_alloc(const store_file *f, schema_id id, uint64_t rows);
marey_status damaged(const store_file *f, diag *d, schema_id id, const char *what);

/* reader_model.c */
marey_status reader_load_model(store_file *f, diag *d);

/* reader_directory.c */
marey_status reader_load_directory(store_file *f, diag *d);
void reader_free_directory(store_file *f);

/* reader_block.c */
read_bench *read_bench_take(store_file *f);
void read_bench_give(store_file *f, read_bench *b);
/** The chunk's bytes as elements: by the hint where it holds, else by HDF5. `n` elements of the dataset. */
typedef struct chunk_at {
    schema_id id;
    uint64_t index; /* of the chunk */
    uint64_t addr;  /* UINT64_MAX: no hint */
    uint32_t size, crc;
    size_t n;
} chunk_at;
marey_status read_chunk(store_file *f, read_bench *b, const chunk_at *c, void *out, diag *d);

#endif
