/*
 * The insides of the pyramid, shared by the files of this room.
 *
 * An *axis* is one row level (R_TRACK, R_RANK, R_EIGHT), cut into *blocks* of TILE_ROWS rows: so many as there are
 * tracks, and one of each rank level. A *flow* moves through time with the events of one block of tracks, or of both
 * rank levels, in *segments*. A segment is a stretch of time whose finest stored tiles are all of one time level, its
 * base: the cells of the base are made from the events, those above it from the cells below, and below the base there
 * are none, because no tile would hold them. Events wait in the flow until the base of their time is known; once it is
 * known to be level 0, those that follow in the same column go into the cells at once. A *row* has one open cell per
 * time level and the events that run on behind it. Closed cells are kept as short byte records until their tile is
 * complete.
 */
#ifndef MAREY_LOD_INTERNAL_H
#define MAREY_LOD_INTERNAL_H

#include "lod/pyramid.h"

enum {
    LOD_SUBS = 8,            /* ranks of one R_EIGHT row */
    LOD_TRACK_ROWS = 64,     /* TILE_ROWS[R_TRACK], known to the compiler */
    LOD_DENSITY_STEP = 4096, /* events between two marks of the density list */
    LOD_SPARSE_EVENTS = TILE_CELLS / 4,
    LOD_SPARSE_GROUP_EVENTS = 262144, /* reading the events must touch few blocks, whatever the tile's own share is */
    LOD_MAX_SPARSE_RUNS = 256         /* per flow and level; neighbours are joined beyond it */
};
#define LOD_NO_BIN UINT64_MAX /* of a cell that is not open */

/* Exact sums of one cell. `busy` has one element per sub-row (rank), so the size depends on the axis. */
typedef struct lod_cell {
    uint64_t bin; /* LOD_NO_BIN: the cell is not open */
    int64_t longest_ns;
    uint64_t count;
    uint16_t mask; /* classes that are present */
    uint8_t severity;
    uint8_t subs;                  /* sub-rows that are present */
    int64_t class_ns[CLASS_COUNT]; /* 0 where the class is not present, and of a cell that is not open */
    int64_t busy_ns[];             /* R_TRACK: none, the sum over the classes is the same */
} lod_cell;

/* Room for a cell of any axis on the stack. */
typedef union lod_cell_room {
    lod_cell cell;
    int64_t room[sizeof(lod_cell) / sizeof(int64_t) + LOD_SUBS];
} lod_cell_room;

/* An event, its end cut at the run's. What it adds to the unions of its rank begins later than the event where others
 * cover; on a track nothing overlaps, and neither is set. */
typedef struct lod_event {
    int64_t start_ns, end_ns, dur_ns;
    int64_t busy_from_ns, class_from_ns;
    uint8_t row; /* of the block of tracks, or the rank */
    uint8_t klass, severity;
} lod_event;

typedef struct lod_row {
    int64_t next_ns;   /* end of the open cell of the base; where there is none, everything before it is done */
    lod_cell *cell;    /* the open one */
    lod_event *active; /* rank levels: those that end behind next_ns; R_TRACK: the one that ends behind the segment */
    uint32_t n_active, cap_active;
    uint8_t n_subs; /* sub-rows that exist */
} lod_row;

typedef struct lod_level {
    uint8_t *records;              /* closed cells of the current tile */
    size_t n_records, cap_records; /* bytes */
    unsigned char *cells;          /* [TILE_ROWS] cells of axis->cell_bytes; NULL before the first */
    uint64_t open_rows;            /* bit per row with an open cell; then those of all levels above are open, too */
} lod_level;

typedef struct lod_axis {
    pyramid *owner;
    uint8_t r;
    unsigned shift;      /* log2 of bin0 */
    unsigned tile_shift; /* log2 of TILE_BINS */
    unsigned n_levels;
    unsigned n_sub; /* elements of busy_ns */
    size_t cell_bytes;
    double per_ns[LOD_MAX_LEVELS]; /* 255 / bin */
} lod_axis;

typedef struct lod_block {
    const lod_axis *axis;
    uint32_t index;
    unsigned base;        /* level of the segment */
    unsigned shift;       /* log2 of the base's bin */
    int64_t end_ns;       /* of the segment */
    uint64_t active_rows; /* bit per row with running events */
    lod_row *rows;        /* TILE_ROWS */
    lod_level *levels;
} lod_block;

/* Tiles that are not stored: `n_cols` columns from `col`. */
typedef struct lod_sparse {
    uint64_t col, n_cols, n_events;
} lod_sparse;

typedef struct flow_level {
    uint64_t n_events; /* that begin in the current tile; those that wait are not among them */
    lod_sparse *sparse;
    size_t n_sparse, cap_sparse;
    uint64_t sparse_gap; /* columns without events that are joined into a sparse run */
} flow_level;

typedef struct lod_flow {
    const lod_axis *axis; /* of the first block: both have the same columns and levels */
    lod_block *blocks[2]; /* one of tracks; or R_RANK's and R_EIGHT's */
    unsigned n_blocks;
    bool has_started;
    bool is_segment; /* at `col` a segment has begun */
    uint64_t col;    /* of level 0: everything before it is done */
    flow_level *levels;
    int64_t direct_end_ns; /* events that begin before it need not wait */
    uint64_t n_direct;     /* those that did not, and are not counted in the levels so far */
    lod_event *waiting;    /* ascending */
    lod_event *tail;       /* where the next one goes */
    lod_event *room_end;   /* what may wait before lod_flow_make_room() is called */
    size_t cap_waiting;
    int64_t (*until_ns)[1 + CLASS_COUNT]; /* by rank: end of the union so far, of all and of each class */
} lod_flow;

struct pyramid {
    pyramid_params params;
    int64_t limit_ns; /* ends are cut here */
    bool is_very_long;
    int64_t busy_left_ns; /* in a very long run */
    lod_axis axes[LOD_R];
    lod_flow **tracks; /* by row / TILE_ROWS[R_TRACK] */
    size_t n_tracks, cap_tracks;
    lod_flow *ranks;       /* NULL before the first event */
    uint32_t n_until_mark; /* events */
    int64_t *marks;        /* start of every LOD_DENSITY_STEP-th event */
    size_t n_marks, cap_marks;
    marey_status failed;
};

static inline lod_cell *lod_cell_at(const lod_block *b, unsigned row, unsigned level)
{
    return (lod_cell *)(void *)(b->levels[level].cells + b->axis->cell_bytes * row);
}

/* log2 of a tile's time. */
static inline unsigned lod_col_shift(const lod_axis *a, unsigned level)
{
    return a->shift + a->tile_shift + LOD_FACTOR_BITS * level;
}

/* lod_dur_code(), for the many cells. */
static inline uint8_t lod_code_of_dur(int64_t dur_ns)
{
    if (dur_ns <= 0) {
        return 0;
    }
    unsigned e = 63U - (unsigned)__builtin_clzll((uint64_t)dur_ns);
    uint64_t mantissa = (uint64_t)dur_ns << (63U - e);
    /* 2^(i/4) in 63-bit fixed point: of these four values from 2^e on, how many are too small. */
    unsigned too_small = 0;
    too_small += mantissa > 0x8000000000000000U;
    too_small += mantissa > 0x9837f0518db8a96fU;
    too_small += mantissa > 0xb504f333f9de6484U;
    too_small += mantissa > 0xd744fccad69d6af4U;
    return (uint8_t)(1U + 4U * e + too_small);
}

/* cell.c */
/** The open cell of `bin`, with all cells above it: those of other bins are older and are closed on the way. */
lod_cell *lod_cell_open(lod_block *b, unsigned row, unsigned level, uint64_t bin);
/** Record the row's open cell of the level, if there is one, and add it to the cell above. */
void lod_cell_close(lod_block *b, unsigned row, unsigned level);
/** Add `n` equal cells of the base from `bin`, none of which is open, and add them to the cells above. */
void lod_cell_run(lod_block *b, unsigned row, uint64_t bin, uint64_t n, const lod_cell *one);

/* row.c */
/** Open the row's cell of the base in which the time lies: it is behind next_ns. */
void lod_track_open(lod_block *b, unsigned row, int64_t t_ns);
/** The event ends behind the open cell. */
void lod_track_go_on(lod_block *b, const lod_event *e);
/** Add events that begin in the segment of a block of tracks, ascending. */
void lod_add_to_tracks(lod_block *b, const lod_event *e, const lod_event *end);
/** Add them to both rank levels. */
void lod_add_to_ranks(lod_block *const blocks[2], const lod_event *e, const lod_event *end);
/** A segment begins: what still runs goes on in it. */
void lod_rows_resume(lod_block *b);
/** Close everything in the segment that ends. */
void lod_rows_pause(lod_block *b);

static inline void lod_cell_touch(lod_cell *c, const lod_event *e)
{
    c->mask |= (uint16_t)(1U << e->klass);
    if (e->severity > c->severity) {
        c->severity = e->severity;
    }
    if (e->dur_ns > c->longest_ns) {
        c->longest_ns = e->dur_ns;
    }
}

/* An event of a track. Most begin and end in the open cell: that is all that happens to them. */
static inline void lod_track_add(lod_block *b, const lod_event *e)
{
    lod_row *r = &b->rows[e->row];
    if (e->start_ns >= r->next_ns) {
        lod_track_open(b, e->row, e->start_ns);
    }
    lod_cell *c = r->cell;
    int64_t to = e->end_ns < r->next_ns ? e->end_ns : r->next_ns;
    lod_cell_touch(c, e);
    c->count++;
    c->class_ns[e->klass] += to - e->start_ns;
    if (e->end_ns > to) {
        lod_track_go_on(b, e);
    }
}

/* block.c */
lod_block *lod_block_create(const lod_axis *a, uint32_t index);
void lod_block_destroy(lod_block *b);
void lod_block_begin(lod_block *b, unsigned base, int64_t end_ns);
/** Close the level's cells and emit its tile, in which `n_events` begin. */
void lod_block_finish_tile(lod_block *b, unsigned level, uint64_t col, uint64_t n_events);
/** Hand over the level's tile, or with `records` NULL that those of n_cols are left out. */
void lod_block_emit(const lod_block *b, unsigned level, uint64_t col, uint64_t n_cols, const tile_records *records,
                    uint64_t n_events);

/* sparse.c */
/** Whether a tile is worth storing whose time has passed until now, and in which `n_events` begin so far. What is true
 * remains so, what is false may become true until the tile's time is over. */
bool lod_tile_is_stored(const lod_axis *a, unsigned level, uint64_t col, uint64_t n_events);
/** Note that no tile below `base` is stored from the flow's column to end_ns, in which the events begin. */
void lod_leave_out(lod_flow *f, unsigned base, int64_t end_ns, const lod_event *events, size_t n);
/** Emit what was left out. */
void lod_emit_left_out(const lod_flow *f);

/* flow.c */
/** `index`: of the block of tracks; 0 for the rank levels. */
lod_flow *lod_flow_create(const lod_axis *a, unsigned n_blocks, uint32_t index);
void lod_flow_destroy(lod_flow *f);
/** There is room for one more waiting event then. No event to come begins before `now_ns`. */
void lod_flow_make_room(lod_flow *f, int64_t now_ns);
void lod_flow_finish(lod_flow *f);

#endif
