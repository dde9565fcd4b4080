/*
 * The insides of the pyramid, shared by the files of this room.
 *
 * An *axis* is one row level (R_TRACK, R_RANK, R_EIGHT). It is cut into *row blocks* of TILE_ROWS rows, each of which
 * moves through time by itself, one tile column of level 0 after the other. A *row* has one open cell per time level
 * and the events that still run behind its open cell. Closed cells are kept as short byte records until their tile is
 * complete.
 */
#ifndef MAREY_LOD_INTERNAL_H
#define MAREY_LOD_INTERNAL_H

#include "lod/pyramid.h"

enum {
    LOD_SUBS = 8,            /* ranks of one R_EIGHT row */
    LOD_DENSITY_STEP = 4096, /* events between two marks of the density list */
    LOD_SPARSE_EVENTS = TILE_CELLS / 4,
    LOD_SPARSE_GROUP_EVENTS = 262144, /* reading the events must touch few blocks, whatever the tile's own share is */
    LOD_MAX_SPARSE_RUNS = 256,        /* per row block and level; neighbours are joined beyond it */
    LOD_BATCH = 4096                  /* events that are sorted by row at a time */
};

/* Exact sums of one cell. `busy` has one element per sub-row (rank), so the size depends on the axis. */
typedef struct lod_cell {
    uint64_t bin;
    int64_t longest_ns;
    uint64_t count;
    uint16_t mask; /* classes that are present */
    uint8_t severity;
    uint8_t subs; /* sub-rows that are present */
    bool is_open;
    int64_t class_ns[CLASS_COUNT]; /* of the classes in mask; the others are not set */
    int64_t busy_ns[];
} lod_cell;

/* Room for a cell of any axis on the stack. */
typedef union lod_cell_room {
    lod_cell cell;
    int64_t room[sizeof(lod_cell) / sizeof(int64_t) + LOD_SUBS];
} lod_cell_room;

/* An event on its way into the rows of one axis, its end cut at the run's. */
typedef struct lod_event {
    int64_t start_ns, end_ns, dur_ns;
    uint8_t klass, sub, severity;
} lod_event;

/* The events of one row in a batch, ascending. */
typedef struct lod_slice {
    uint32_t row;
    const lod_event *at, *end;
} lod_slice;

/* An event that runs on behind the open cell. What it adds to the unions begins later than the event where others
 * cover. */
typedef struct lod_active {
    int64_t end_ns;
    int64_t busy_from_ns;
    int64_t class_from_ns;
    int64_t dur_ns;
    uint8_t klass;
    uint8_t sub;
    uint8_t severity;
} lod_active;

typedef struct lod_row {
    uint64_t bin; /* of the open cell, or the next one to be opened */
    lod_active *active;
    size_t n_active, cap_active;
    int64_t *until_ns; /* [n_sub][1 + CLASS_COUNT]: end of the union so far, of all and of each class; R_TRACK: none */
    unsigned char *cells; /* [n_levels] cells of axis->cell_bytes */
    uint8_t n_subs;       /* sub-rows that exist */
} lod_row;

/* Tiles that are not stored: `n_cols` columns from `col`. */
typedef struct lod_sparse {
    uint64_t col, n_cols, n_events;
} lod_sparse;

typedef struct lod_level {
    uint8_t *records;              /* closed cells of the current tile */
    size_t n_records, cap_records; /* bytes */
    uint64_t n_events;
    uint64_t open_rows; /* bit per row with an open cell */
    lod_sparse *sparse;
    size_t n_sparse, cap_sparse;
    uint64_t sparse_gap; /* columns without events that are joined into a sparse run */
} lod_level;

typedef struct lod_axis lod_axis;

typedef struct lod_block {
    lod_axis *axis;
    uint32_t index;
    bool has_started;
    uint64_t col;         /* level 0 */
    uint64_t active_rows; /* bit per row with running events */
    lod_row *rows;        /* TILE_ROWS */
    lod_level *levels;
} lod_block;

struct lod_axis {
    pyramid *owner;
    uint8_t r;
    unsigned shift;      /* log2 of bin0 */
    unsigned tile_shift; /* log2 of TILE_BINS */
    unsigned n_levels;
    unsigned n_sub;
    size_t cell_bytes;
    double per_ns[LOD_MAX_LEVELS]; /* 255 / bin */
    lod_block **blocks;
    size_t n_blocks, cap_blocks;
    /* The batch at hand, sorted by row. */
    lod_event *sorted;  /* LOD_BATCH */
    uint32_t *row_n;    /* by row: its events, then where the next of them goes; 0 between batches */
    uint32_t *row_list; /* rows with events */
    size_t cap_rows, n_row_list, cap_row_list;
};

struct pyramid {
    pyramid_params params;
    int64_t limit_ns; /* ends are cut here */
    lod_axis axes[LOD_R];
    uint64_t n_events;
    int64_t *marks; /* start of every LOD_DENSITY_STEP-th event */
    size_t n_marks, cap_marks;
    marey_status failed;
};

static inline lod_cell *lod_cell_at(const lod_axis *a, const lod_row *row, unsigned level)
{
    return (lod_cell *)(void *)(row->cells + a->cell_bytes * level);
}

/* cell.c */
void lod_cell_clear(const lod_axis *a, lod_cell *c, uint64_t bin);
void lod_cell_merge(const lod_axis *a, lod_cell *into, const lod_cell *c, int64_t times);
void lod_cell_scale(const lod_axis *a, lod_cell *c, int64_t times);
/** Append the quantised cell as `n_bins` equal cells to the level's records. */
void lod_cell_record(lod_block *b, unsigned level, unsigned row, const lod_cell *c, uint64_t bin, uint64_t n_bins);

/* row.c */
/** Add the slice's events that start before `end_ns`, which lies in the block's current column or is its end. */
void lod_row_add(lod_block *b, unsigned row, lod_slice *s, int64_t end_ns);
void lod_row_advance(lod_block *b, unsigned row, uint64_t bin);
void lod_row_close(lod_block *b, unsigned row, unsigned level);
/** The n cells from `bin` at `level`, each worth `c`, are recorded: hand them to the levels above. Changes `c`. */
void lod_row_lift(lod_block *b, unsigned row, unsigned level, uint64_t bin, uint64_t n, lod_cell *c);
/** What one cell at level 0 holds where all running events cover it. */
void lod_row_uniform(lod_block *b, unsigned row, uint64_t bin, lod_cell *c);
/** First time at which the set of running events changes. */
int64_t lod_row_change_ns(const lod_axis *a, const lod_row *row, uint64_t bin);

/* block.c */
lod_block *lod_block_create(lod_axis *a, uint32_t index);
void lod_block_destroy(lod_block *b);
void lod_block_to_col(lod_block *b, uint64_t col);
/** Add the events of `n` rows of the block. The slices are used up. */
void lod_block_add(lod_block *b, lod_slice *slices, size_t n);
void lod_block_finish(lod_block *b);

#endif
