#include "cache/cache.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cache/internal.h"

static void lock(cache *c)
{
    (void)pthread_mutex_lock(&c->lock);
}

static void unlock(cache *c)
{
    (void)pthread_mutex_unlock(&c->lock);
}

marey_status cache_create(cache **out, const cache_source *source, const cache_options *options, diag *d)
{
    *out = NULL;
    if (!source || !source->read_block || !source->read_tile || !source->tile_key) {
        return diag_error(d, MAREY_ARG, NULL, DIAG_NO_OFFSET, "The cache needs a source with all three functions.");
    }
    cache *c = mem_calloc(1, sizeof *c);
    c->source = *source;
    c->options = *options;
    if (c->options.budget_bytes == 0) {
        c->options.budget_bytes = (size_t)256 << 20;
    }
    diag_init(&c->errors);
    (void)pthread_mutex_init(&c->lock, NULL);
    (void)pthread_cond_init(&c->work, NULL);
    pthread_condattr_t attr; /* waiting with a time limit must not depend on the wall clock */
    (void)pthread_condattr_init(&attr);
    (void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&c->arrived, &attr);
    (void)pthread_condattr_destroy(&attr);
    c->generation = 1;
    loader_start(c);
    *out = c;
    return MAREY_OK;
}

static void free_entries(cache *c)
{
    for (size_t i = 0; i < c->entries.cap; i++) {
        if (c->entries.used[i]) {
            entry_free((entry *)(uintptr_t)c->entries.slots[i].value);
        }
    }
    for (int kind = 0; kind < 2; kind++) {
        while (c->spares[kind].head) {
            entry *e = c->spares[kind].head;
            list_remove(&c->spares[kind], e);
            entry_free(e);
        }
    }
}

void cache_destroy(cache **pc)
{
    cache *c = *pc;
    if (!c) {
        return;
    }
    loader_stop(c);
    free_entries(c);
    map64_deinit(&c->entries);
    diag_deinit(&c->errors);
    (void)pthread_cond_destroy(&c->arrived);
    (void)pthread_cond_destroy(&c->work);
    (void)pthread_mutex_destroy(&c->lock);
    free(c);
    *pc = NULL;
}

void cache_begin_frame(cache *c)
{
    lock(c);
    if (c->frame_depth++ == 0) {
        c->generation++;
        c->n_arrived_at_begin = c->n_arrived;
    }
    unlock(c);
}

/* What the frame that ends did not ask for again is no longer wanted. */
static void drop_old_requests(cache *c)
{
    for (int u = 0; u < URGENCIES; u++) {
        entry *next;
        for (entry *e = c->queues[u].head; e; e = next) {
            next = e->next;
            if (e->wanted_gen < c->generation) {
                list_remove(&c->queues[u], e);
                c->stats.n_queued--;
                c->stats.n_dropped++;
                entry_drop(c, e);
            }
        }
    }
}

void cache_end_frame(cache *c)
{
    lock(c);
    MAREY_ASSERT(c->frame_depth > 0);
    if (--c->frame_depth == 0) {
        drop_old_requests(c);
        cache_evict(c);
        (void)pthread_cond_broadcast(&c->arrived); /* nothing may be in flight now */
    }
    unlock(c);
}

static entry *find(const cache *c, uint64_t key)
{
    uint64_t *place = map64_get(&c->entries, key);
    return place ? (entry *)(uintptr_t)*place : NULL;
}

static void use(cache *c, entry *e)
{
    e->used_gen = c->generation;
    list_remove(&c->lru, e);
    list_push_front(&c->lru, e);
}

/* Each request goes to the end of its queue, so what the newest frame wants keeps that frame's order. */
static void request(cache *c, entry *e, uint64_t key, int urgency)
{
    uint8_t u = (uint8_t)(urgency < 0 ? 0 : urgency >= URGENCIES ? URGENCIES - 1 : urgency);
    if (!e) {
        e = entry_make(c, key);
        *map64_put(&c->entries, key) = (uintptr_t)e;
        e->state = ENTRY_QUEUED;
        c->stats.n_queued++;
        (void)pthread_cond_signal(&c->work);
    } else if (e->state == ENTRY_QUEUED) {
        if (e->wanted_gen == c->generation && e->urgency <= u) {
            return;
        }
        list_remove(&c->queues[e->urgency], e);
    }
    e->wanted_gen = c->generation;
    if (e->state == ENTRY_QUEUED) {
        e->urgency = u;
        list_push_back(&c->queues[u], e);
    }
}

/** The ready entry of a key; where it is absent, it is asked for when `urgency` >= 0. */
static entry *look_up(cache *c, uint64_t key, int urgency)
{
    lock(c);
    entry *e = find(c, key);
    if (e && e->state == ENTRY_READY) {
        use(c, e);
    } else {
        if (urgency >= 0 && !(e && e->state == ENTRY_FAILED)) {
            request(c, e, key, urgency);
        }
        e = NULL;
    }
    unlock(c);
    return e;
}

const cache_block *cache_get_block(cache *c, uint32_t block, int urgency)
{
    entry *e = look_up(c, block, urgency < 0 ? 0 : urgency);
    return e ? &e->block : NULL;
}

const cache_tile *cache_get_tile(cache *c, uint32_t tile, int urgency)
{
    entry *e = look_up(c, tile | TILE_BIT, urgency < 0 ? 0 : urgency);
    return e ? &e->tile : NULL;
}

const cache_tile *cache_peek_tile(cache *c, uint32_t tile)
{
    entry *e = look_up(c, tile | TILE_BIT, -1);
    return e ? &e->tile : NULL;
}

const cache_block *cache_peek_block(cache *c, uint32_t block)
{
    entry *e = look_up(c, block, -1);
    return e ? &e->block : NULL;
}

bool cache_failed(const cache *cc, bool is_tile, uint32_t id)
{
    cache *c = (cache *)(uintptr_t)cc; /* the lock is no part of what the caller sees */
    lock(c);
    const entry *e = find(c, is_tile ? id | TILE_BIT : id);
    bool failed = e && e->state == ENTRY_FAILED;
    unlock(c);
    return failed;
}

cache_stats cache_get_stats(const cache *cc)
{
    cache *c = (cache *)(uintptr_t)cc;
    lock(c);
    cache_stats s = c->stats;
    unlock(c);
    return s;
}

void cache_take_errors(cache *c, diag *d)
{
    lock(c);
    if (d) {
        diag_merge(d, &c->errors);
    }
    diag_deinit(&c->errors);
    diag_init(&c->errors);
    unlock(c);
}
