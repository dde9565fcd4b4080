/*
 * A cache source made of arithmetic: block b holds n events that start at b * 1000 + i; tile t's planes are filled from
 * its number. Any id in `faulty` (a bit set over the first 64 ids) fails to load. Counts what is read; safe on several
 * threads.
 */
#ifndef TESTS_HELP_FAKE_SOURCE_H
#define TESTS_HELP_FAKE_SOURCE_H

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cache/cache.h"

typedef struct fake_source {
    uint64_t faulty;
    atomic_uint n_reads;
    atomic_uint in_flight[2][64]; /* how many reads of this id run now */
    atomic_bool overlapped;       /* a key was read twice at a time */
    void (*pause)(void);          /* called in each read; may be NULL */
} fake_source;

enum { FAKE_EVENTS = 100 };

static inline void fake_enter(fake_source *f, int kind, uint32_t id)
{
    atomic_fetch_add(&f->n_reads, 1U);
    if (atomic_fetch_add(&f->in_flight[kind][id % 64], 1U) != 0) {
        atomic_store(&f->overlapped, true);
    }
    if (f->pause) {
        f->pause();
    }
}

static inline marey_status fake_leave(fake_source *f, int kind, uint32_t id, diag *d)
{
    atomic_fetch_sub(&f->in_flight[kind][id % 64], 1U);
    if (id < 64 && (f->faulty >> id & 1U)) {
        return diag_error(d, MAREY_FORMAT, "fake", id, "Item %u is damaged.", id);
    }
    return MAREY_OK;
}

static inline marey_status fake_block(void *ctx, uint32_t block, store_columns *c, diag *d)
{
    fake_enter(ctx, 0, block);
    if (!c->start_ns) {
        c->start_ns = mem_alloc(FAKE_EVENTS * sizeof *c->start_ns);
    }
    for (uint32_t i = 0; i < FAKE_EVENTS; i++) {
        c->start_ns[i] = (int64_t)block * 1000 + i;
    }
    c->n = FAKE_EVENTS;
    c->have = COL_START;
    return fake_leave(ctx, 0, block, d);
}

static inline marey_status fake_tile(void *ctx, uint32_t tile, uint8_t *cells, diag *d)
{
    fake_enter(ctx, 1, tile);
    memset(cells, 0, (size_t)TILE_CELLS * LOD_PLANES);
    memset(cells + (size_t)(tile % CLASS_COUNT) * TILE_CELLS, 100, TILE_CELLS);
    memset(cells + (size_t)PLANE_BUSY * TILE_CELLS, 100, TILE_CELLS);
    return fake_leave(ctx, 1, tile, d);
}

static inline tile_key fake_key(void *ctx, uint32_t tile)
{
    (void)ctx;
    return (tile_key){.r = R_RANK, .col = tile};
}

static inline cache_source fake_cache_source(fake_source *f)
{
    return (cache_source){f, fake_block, fake_tile, fake_key};
}

#endif
