/*
 * The level-of-detail pyramid: what a cell holds, how cells are laid out in tiles, and the streaming build.
 *
 * Three row levels x N time levels:
 *     R_TRACK  one row per track, in order of discovery inside its group (trace_track.row)
 *     R_RANK   one row per rank: the union over the rank's device tracks (its CPU tracks of depth 0 where it has no
 * device) R_EIGHT  one row per 8 consecutive ranks of the group, in file order Time level l has bins of `bin0_ns[r] <<
 * 2*l`, anchored at the run's start; a tile is TILE_ROWS[r] rows x TILE_BINS[r] bins, 16 Ki cells of LOD_PLANES bytes,
 * plane-major: cells[plane][row][bin]. Tiles without events are not stored. Source: the design's lod-feasibility study,
 * section 5, extended by the rank level and the union and least-busy planes.
 *
 * What holds (tests/property/lod): class share > 0 if and only if some event of that class (of positive or zero length)
 * meets the cell; busy share likewise; shares are right to 1/255; counts below 16 are exact; the longest event and the
 * highest severity of a cell are seen in every ancestor.
 */
#ifndef MAREY_LOD_PYRAMID_H
#define MAREY_LOD_PYRAMID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "trace/model.h"

enum { GROUP_RANKS = 64, LOD_R = 3, LOD_MAX_LEVELS = 28, LOD_FACTOR_BITS = 2 };
enum { R_TRACK, R_RANK, R_EIGHT };

/* Planes of a cell. 0..CLASS_COUNT-1: busy share of each class: round(255 * busy / capacity), 0 only for exactly none;
 * capacity is the bin (R_TRACK, R_RANK) or the bin times the ranks of the row (R_EIGHT). */
enum {
    PLANE_BUSY = CLASS_COUNT, /* share of the union of all classes (a sum over ranks in R_EIGHT) */
    PLANE_COUNT,              /* events starting in the cell: lod_count_code() */
    PLANE_SEVERITY,           /* low nibble: highest severity touching the cell; high nibble: free (0) */
    PLANE_LONGEST,            /* longest duration touching the cell: lod_dur_code() */
    PLANE_LEAST,              /* R_EIGHT: the least busy rank's own busy share; 0 in the other row levels */
    LOD_PLANES
};

extern const uint32_t TILE_ROWS[LOD_R]; /* 64, 64, 8 */
extern const uint32_t TILE_BINS[LOD_R]; /* 256, 256, 2048 */
enum { TILE_CELLS = 16384 };

uint8_t lod_count_code(uint64_t n); /* n < 16 exact; else 16 + 8*log2(n/16) rounded, at most 255 */
uint64_t lod_count_value(uint8_t code);
uint8_t
lod_dur_code(int64_t dur_ns); /* 0: zero length; else 1 + 4*log2(ns), rounded up, so that decode >= the true value */
int64_t lod_dur_value(uint8_t code);

/* The top level's column must reach over the run, and its end be a number: in longer runs what lies behind this (73
 * years) is cut, so that tiles that reach over it say nothing. The events still do. */
#define LOD_LONGEST_RUN_NS (((int64_t)1 << 61) - 1)

/** Bin width of level `l`: bin0 << (2*l), saturating. */
int64_t lod_bin_ns(int64_t bin0_ns, unsigned level);

typedef struct tile_key {
    uint8_t r; /* R_* */
    uint8_t level;
    uint32_t group;
    uint32_t row_block; /* first row / TILE_ROWS[r], inside the group */
    uint64_t col;       /* start time / (bin * TILE_BINS[r]) */
} tile_key;

/* A finished tile in short: its cells as `n` bytes of records, which pyramid_paint() makes cells of. */
typedef struct tile_records {
    const uint8_t *bytes;
    size_t n;
} tile_records;

/* What the build hands over. `records` not NULL: one finished tile, valid during the call, n_cols is 1. `records` NULL:
 * the tiles of n_cols columns from key->col are not worth storing, because reading the few events is cheaper.
 * `n_events`: events starting in it. */
typedef marey_status (*pyramid_emit)(void *ctx, const tile_key *key, uint64_t n_cols, const tile_records *records,
                                     uint64_t n_events);

/* Which pieces of its planes hold anything but zeros: a bit for every TILE_PIECE bytes. */
enum { TILE_PIECE = 64, TILE_WORDS = TILE_CELLS / TILE_PIECE / 64 };
typedef struct tile_map {
    uint64_t pieces[LOD_PLANES][TILE_WORDS];
} tile_map;

/** The cells of a tile of row level `r`: into TILE_CELLS * LOD_PLANES bytes that are all zero before. */
void pyramid_paint(uint8_t r, const tile_records *records, uint8_t *cells, tile_map *map);
/** The pieces that hold anything are zero again. */
void pyramid_wipe(const tile_map *map, uint8_t *cells);

typedef struct pyramid_params {
    uint32_t group;
    uint32_t n_ranks;       /* ranks in this group, 1..GROUP_RANKS; 0: no rank levels (derived groups) */
    int64_t duration_ns;    /* of the run */
    int64_t bin0_ns[LOD_R]; /* powers of two; R_EIGHT: an eighth of R_RANK */
    bool stores_all;        /* leave no tile out (tests) */
    pyramid_emit emit;
    void *ctx;
} pyramid_params;

typedef struct pyramid pyramid;

/** Bins for a group from its density: about 4 events per busy rank-bin (study, section 5), and 16 where the group has
 * so few ranks that tiles of narrower bins are not worth storing. All powers of two. */
void pyramid_choose_bins(uint64_t n_events, int64_t busy_rank_ns, uint32_t n_ranks, int64_t bin0_ns[LOD_R]);

marey_status pyramid_create(pyramid **out, const pyramid_params *params);
void pyramid_destroy(pyramid **p);
typedef struct pyramid_event {
    int64_t start_ns, dur_ns;
    uint32_t track_row; /* row of R_TRACK */
    int8_t rank;        /* 0..n_ranks-1 when the event counts for the rank levels, else -1 */
    uint8_t klass;      /* trace_class */
    uint8_t severity;
    uint8_t own; /* the caller's: nobody looks at it here */
} pyramid_event;

/**
 * Add `n` events that lie `stride` bytes apart. They come in ascending order of start, within a call and from one to
 * the next; on one track they do not overlap. What the pyramid holds does not depend on how they are shared among
 * calls.
 * @return MAREY_ARG when one is out of range; none from there on was added then
 */
marey_status pyramid_add(pyramid *p, const pyramid_event *events, size_t n, size_t stride);
/** Emit what is open. *n_levels[r]: levels of the row level, 0 where it has no events. The top level covers the run in
 * one column and is always stored; below it every tile with an event is emitted, stored or left out. */
marey_status pyramid_finish(pyramid *p, uint32_t n_levels[LOD_R]);

#endif
