/*
 * Decoded blocks and tiles in memory: what the scene draws from. Loader threads fill it; the drawing thread only looks.
 *
 * A frame: cache_begin_frame, any number of cache_block / cache_tile, cache_end_frame. What a lookup returns stays
 * valid until cache_end_frame (pinned); NULL means absent: it was queued, with this frame's generation as its priority,
 * and the scene draws a stand-in and says so. Requests of older generations that no later frame repeated are dropped
 * before they load. States: absent, queued, loading, ready, failed. A key is in flight once. A failed key is not tried
 * again (cache_failed tells).
 *
 * Behind it is a `cache_source`: the store, or a stepped fake in tests. With n_threads = 0 nothing loads by itself:
 * cache_step() loads one request on the calling thread (tests, and headless settling on one thread).
 * Thread: the drawing thread, but for `wake`, which is called on loader threads.
 */
#ifndef MAREY_CACHE_CACHE_H
#define MAREY_CACHE_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"
#include "store/store.h"

/* A tile cell as the raster wants it: 4 bytes, from LOD_PLANES. */
typedef struct cache_cell {
    uint8_t klass;    /* class with the largest share; CLASS_COUNT.. never; 255: empty */
    uint8_t busy;     /* PLANE_BUSY share, 1..255; 0: empty */
    uint8_t severity; /* highest, 0..15 */
    uint8_t count;    /* lod_count_code */
} cache_cell;

typedef struct cache_tile {
    tile_key key;
    const cache_cell *cells; /* [TILE_ROWS[r]][TILE_BINS[r]] row-major */
    const uint8_t *planes;   /* [LOD_PLANES][rows][bins], for tooltips and shares */
} cache_tile;

typedef struct cache_block {
    uint32_t block;
    const store_columns *columns; /* all columns */
} cache_block;

typedef struct cache_source {
    void *ctx;
    marey_status (*read_block)(void *ctx, uint32_t block, store_columns *c, diag *d);
    marey_status (*read_tile)(void *ctx, uint32_t tile, uint8_t *cells, diag *d);
    tile_key (*tile_key)(void *ctx, uint32_t tile);
} cache_source;

cache_source cache_store_source(store_file *f);

typedef struct cache cache;

typedef struct cache_options {
    size_t budget_bytes;     /* of decoded data; 0: 256 MiB */
    unsigned n_threads;      /* loader threads; 0: none, see cache_step */
    void (*wake)(void *ctx); /* something arrived; may be NULL */
    void *wake_ctx;
} cache_options;

marey_status cache_create(cache **out, const cache_source *source, const cache_options *options, diag *d);
void cache_destroy(cache **c); /* cancels what is in flight */

/** Frames nest; only the outermost pair counts. */
void cache_begin_frame(cache *c);
void cache_end_frame(cache *c);
/** @param urgency  lower loads first: 0 visible, 1 neighbour (prefetch). */
const cache_block *cache_get_block(cache *c, uint32_t block, int urgency);
const cache_tile *cache_get_tile(cache *c, uint32_t tile, int urgency);
/** Look without asking for it. */
const cache_tile *cache_peek_tile(cache *c, uint32_t tile);
const cache_block *cache_peek_block(cache *c, uint32_t block);
bool cache_failed(const cache *c, bool is_tile, uint32_t id);

/** Load one queued request on this thread. false: nothing queued. */
bool cache_step(cache *c);
/** Wait until something arrived since cache_begin_frame or nothing is in flight, at most `timeout_ms`. Without loader
 * threads it returns at once. */
void cache_wait(cache *c, int timeout_ms);
/** Load all that is queued and wait for all that is in flight, with or without loader threads. Cost: one read per
 * request. */
void cache_settle(cache *c);
/** Move what loading complained about since the last call into `d` (NULL: drop it): one error per failed key. */
void cache_take_errors(cache *c, diag *d);

typedef struct cache_stats {
    size_t bytes, n_blocks, n_tiles, n_queued, n_loading, n_failed;
    uint64_t n_loaded, n_evicted, n_dropped;
} cache_stats;
cache_stats cache_get_stats(const cache *c);

#endif
