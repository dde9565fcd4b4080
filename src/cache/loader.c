/* Loading: on the loader threads, or one step at a time on the caller's. */
#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "base/mem.h"
#include "cache/internal.h"

/* Plane by plane over all cells, so that the compiler makes vector code of it. */
static void decode_classes(const uint8_t *planes, uint8_t *best, uint8_t *klass)
{
    for (int i = 0; i < TILE_CELLS; i++) {
        best[i] = planes[i];
        klass[i] = 0;
    }
    for (int p = 1; p < CLASS_COUNT; p++) {
        const uint8_t *share = planes + (size_t)p * TILE_CELLS;
        for (int i = 0; i < TILE_CELLS; i++) {
            uint8_t larger = share[i] > best[i] ? 255 : 0;
            best[i] = larger ? share[i] : best[i];
            klass[i] = larger ? (uint8_t)p : klass[i];
        }
    }
}

void decode_cells(const uint8_t *planes, cache_cell *cells)
{
    uint8_t best[TILE_CELLS];
    uint8_t klass[TILE_CELLS];
    decode_classes(planes, best, klass);
    const uint8_t *busy = planes + (size_t)PLANE_BUSY * TILE_CELLS;
    const uint8_t *severity = planes + (size_t)PLANE_SEVERITY * TILE_CELLS;
    const uint8_t *count = planes + (size_t)PLANE_COUNT * TILE_CELLS;
    for (int i = 0; i < TILE_CELLS; i++) {
        cells[i].klass = busy[i] ? klass[i] : 255;
        cells[i].busy = busy[i];
        cells[i].severity = severity[i] & 15U;
        cells[i].count = count[i];
    }
}

static marey_status load_tile(cache *c, entry *e, diag *d)
{
    uint32_t id = (uint32_t)e->key;
    if (!e->planes) {
        e->planes = mem_alloc((size_t)TILE_CELLS * LOD_PLANES);
        e->cells = mem_alloc(TILE_CELLS * sizeof *e->cells);
    }
    marey_status status = c->source.read_tile(c->source.ctx, id, e->planes, d);
    if (status == MAREY_OK) {
        decode_cells(e->planes, e->cells);
        e->tile = (cache_tile){c->source.tile_key(c->source.ctx, id), e->cells, e->planes};
    }
    return status;
}

static marey_status load_block(cache *c, entry *e, diag *d)
{
    uint32_t id = (uint32_t)e->key;
    marey_status status = c->source.read_block(c->source.ctx, id, &e->columns, d);
    e->block = (cache_block){id, &e->columns};
    return status;
}

/* The next request; those that would only be nice to have are dropped when there is no room for them. Lock held. */
static entry *take(cache *c)
{
    for (int u = 0; u < URGENCIES; u++) {
        while (c->queues[u].head) {
            entry *e = c->queues[u].head;
            list_remove(&c->queues[u], e);
            c->stats.n_queued--;
            if (u == 0 || cache_has_room(c, entry_bytes(e))) {
                e->state = ENTRY_LOADING;
                c->stats.n_loading++;
                return e;
            }
            c->stats.n_dropped++;
            entry_drop(c, e);
        }
    }
    (void)pthread_cond_broadcast(&c->arrived);
    return NULL;
}

static void publish(cache *c, entry *e, marey_status status, const diag *d)
{
    c->stats.n_loading--;
    c->n_arrived++;
    if (status != MAREY_OK) {
        e->state = ENTRY_FAILED;
        entry_release(e);
        c->stats.n_failed++;
        diag_merge(&c->errors, d);
    } else {
        e->state = ENTRY_READY;
        e->used_gen = e->wanted_gen;
        list_insert_used(&c->lru, e);
        c->stats.n_loaded++;
        c->stats.bytes += entry_bytes(e);
        *(is_tile_key(e->key) ? &c->stats.n_tiles : &c->stats.n_blocks) += 1;
        cache_evict(c);
    }
    (void)pthread_cond_broadcast(&c->arrived);
}

/* Called and left with the lock held; the reading itself is outside of it. */
static void load(cache *c, entry *e)
{
    (void)pthread_mutex_unlock(&c->lock);
    diag d;
    diag_init(&d);
    marey_status status = is_tile_key(e->key) ? load_tile(c, e, &d) : load_block(c, e, &d);
    (void)pthread_mutex_lock(&c->lock);
    publish(c, e, status, &d);
    diag_deinit(&d);
}

static void *run(void *arg)
{
    cache *c = arg;
    (void)pthread_mutex_lock(&c->lock);
    while (!c->stop) {
        entry *e = take(c);
        if (!e) {
            (void)pthread_cond_wait(&c->work, &c->lock);
            continue;
        }
        load(c, e);
        if (c->options.wake && !c->stop) {
            (void)pthread_mutex_unlock(&c->lock);
            c->options.wake(c->options.wake_ctx);
            (void)pthread_mutex_lock(&c->lock);
        }
    }
    (void)pthread_mutex_unlock(&c->lock);
    return NULL;
}

/* Where the system gives fewer threads than asked for, the others carry on; without any, cache_step still works. */
void loader_start(cache *c)
{
    if (c->options.n_threads == 0) {
        return;
    }
    c->threads = mem_calloc(c->options.n_threads, sizeof *c->threads);
    while (c->n_threads < c->options.n_threads) {
        if (pthread_create(&c->threads[c->n_threads], NULL, run, c) != 0) {
            break;
        }
        c->n_threads++;
    }
}

void loader_stop(cache *c)
{
    (void)pthread_mutex_lock(&c->lock);
    c->stop = true;
    (void)pthread_cond_broadcast(&c->work);
    (void)pthread_mutex_unlock(&c->lock);
    for (unsigned i = 0; i < c->n_threads; i++) {
        (void)pthread_join(c->threads[i], NULL);
    }
    free(c->threads);
    c->threads = NULL;
    c->n_threads = 0;
}

bool cache_step(cache *c)
{
    (void)pthread_mutex_lock(&c->lock);
    entry *e = take(c);
    if (e) {
        load(c, e);
    }
    (void)pthread_mutex_unlock(&c->lock);
    return e != NULL;
}

static bool in_flight(const cache *c)
{
    return c->stats.n_queued > 0 || c->stats.n_loading > 0;
}

void cache_wait(cache *c, int timeout_ms)
{
    struct timespec until;
    (void)clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += timeout_ms / 1000;
    until.tv_nsec += (long)(timeout_ms % 1000) * 1000000L;
    if (until.tv_nsec >= 1000000000L) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000L;
    }
    (void)pthread_mutex_lock(&c->lock);
    while (c->n_threads > 0 && c->n_arrived == c->n_arrived_at_begin && in_flight(c)) {
        if (pthread_cond_timedwait(&c->arrived, &c->lock, &until) == ETIMEDOUT) {
            break;
        }
    }
    (void)pthread_mutex_unlock(&c->lock);
}

/* The caller helps: with few cores, the drawing thread would only wait. */
void cache_settle(cache *c)
{
    while (cache_step(c)) {
    }
    (void)pthread_mutex_lock(&c->lock);
    while (in_flight(c) && c->n_threads > 0) {
        (void)pthread_cond_wait(&c->arrived, &c->lock);
    }
    (void)pthread_mutex_unlock(&c->lock);
}

/* ---- the store as a source ---- */

/* With the group's directory, so that the drawing thread finds it there. */
static marey_status store_block_source(void *ctx, uint32_t block, store_columns *c, diag *d)
{
    marey_status status = store_group_load(ctx, store_block_head(ctx, block).group, d);
    return status == MAREY_OK ? store_read_block(ctx, block, COL_ALL, c, d) : status;
}

static marey_status store_tile_source(void *ctx, uint32_t tile, uint8_t *cells, diag *d)
{
    return store_read_tile(ctx, tile, cells, d);
}

static tile_key store_key_source(void *ctx, uint32_t tile)
{
    return store_tile_key(ctx, tile);
}

cache_source cache_store_source(store_file *f)
{
    return (cache_source){f, store_block_source, store_tile_source, store_key_source};
}
