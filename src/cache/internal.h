/*
 * The cache from the inside. One mutex guards everything but the content of entries that are LOADING (their loader's
 * alone) or READY (immutable).
 */
#ifndef MAREY_CACHE_INTERNAL_H
#define MAREY_CACHE_INTERNAL_H

#include <pthread.h>

#include "base/hash.h"
#include "cache/cache.h"

enum { URGENCIES = 4, MAX_SPARES = 16 };

#define TILE_BIT (UINT64_C(1) << 32)

typedef enum entry_state { ENTRY_QUEUED, ENTRY_LOADING, ENTRY_READY, ENTRY_FAILED } entry_state;

typedef struct entry {
    uint64_t key; /* the id, with TILE_BIT for tiles */
    entry_state state;
    uint8_t urgency;
    uint64_t wanted_gen; /* the last frame that asked for it */
    uint64_t used_gen;   /* the last frame that got it */
    struct entry *prev;  /* neighbours in a queue (QUEUED) or in the LRU list (READY) */
    struct entry *next;
    store_columns columns; /* of a block */
    cache_block block;
    cache_tile tile;
    uint8_t *planes; /* of a tile */
    cache_cell *cells;
} entry;

typedef struct entry_list {
    entry *head;
    entry *tail;
} entry_list;

struct cache {
    cache_source source;
    cache_options options;
    pthread_mutex_t lock;
    pthread_cond_t work;    /* something was queued, or stop */
    pthread_cond_t arrived; /* something was loaded, failed or dropped */
    map64 entries;          /* key -> entry *; absent keys are not here */
    entry_list queues[URGENCIES];
    entry_list lru;       /* READY entries, the latest used first */
    entry_list spares[2]; /* buffers of evicted blocks and tiles, to be used again */
    size_t n_spares[2];
    uint64_t generation;
    unsigned frame_depth; /* begun and not ended */
    bool stop;
    uint64_t n_arrived;
    uint64_t n_arrived_at_begin;
    cache_stats stats;
    diag errors;
    unsigned n_threads;
    pthread_t *threads;
};

void list_push_front(entry_list *l, entry *e);
void list_push_back(entry_list *l, entry *e);
/** Keep the LRU list in the order of used_gen: a request of the frame before may arrive after this frame used others.
 */
void list_insert_used(entry_list *l, entry *e);
void list_remove(entry_list *l, entry *e);

static inline bool is_tile_key(uint64_t key)
{
    return (key & TILE_BIT) != 0;
}

/** Decoded bytes of one entry. */
size_t entry_bytes(const entry *e);
/** An entry with buffers for `key`, from the spares where there are any. Lock held. */
entry *entry_make(cache *c, uint64_t key);
/** Forget an entry that is in no list; keeps its buffers as spares. Lock held. */
void entry_drop(cache *c, entry *e);
void entry_free(entry *e);
/** Free the buffers but not the entry: a failed key is remembered, at no cost. */
void entry_release(entry *e);
/** Evict what may go until the budget holds. Lock held. */
void cache_evict(cache *c);
/** Could `bytes` more come in without going over the budget? Lock held. */
bool cache_has_room(const cache *c, size_t bytes);

/** Loader threads. */
void loader_start(cache *c);
void loader_stop(cache *c);
/** What the raster wants of a tile's planes: TILE_CELLS cells. */
void decode_cells(const uint8_t *planes, cache_cell *cells);

#endif
