/* Entries and their memory: lists, buffers that are used again, eviction. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cache/internal.h"

void list_push_front(entry_list *l, entry *e)
{
    e->prev = NULL;
    e->next = l->head;
    *(l->head ? &l->head->prev : &l->tail) = e;
    l->head = e;
}

void list_push_back(entry_list *l, entry *e)
{
    e->next = NULL;
    e->prev = l->tail;
    *(l->tail ? &l->tail->next : &l->head) = e;
    l->tail = e;
}

void list_insert_used(entry_list *l, entry *e)
{
    entry *after = l->head;
    while (after && after->used_gen > e->used_gen) {
        after = after->next;
    }
    if (!after) {
        list_push_back(l, e);
        return;
    }
    e->next = after;
    e->prev = after->prev;
    *(after->prev ? &after->prev->next : &l->head) = e;
    after->prev = e;
}

void list_remove(entry_list *l, entry *e)
{
    *(e->prev ? &e->prev->next : &l->head) = e->next;
    *(e->next ? &e->next->prev : &l->tail) = e->prev;
    e->prev = NULL;
    e->next = NULL;
}

size_t entry_bytes(const entry *e)
{
    if (is_tile_key(e->key)) {
        return (size_t)TILE_CELLS * (LOD_PLANES + sizeof(cache_cell));
    }
    return (size_t)BLOCK_EVENTS * (2 * sizeof(int64_t) + 2 * sizeof(uint32_t) + 2);
}

entry *entry_make(cache *c, uint64_t key)
{
    int kind = is_tile_key(key);
    entry *e = c->spares[kind].head;
    if (e) {
        list_remove(&c->spares[kind], e);
        c->n_spares[kind]--;
    } else {
        e = mem_calloc(1, sizeof *e);
    }
    e->key = key;
    e->urgency = 0;
    e->wanted_gen = 0;
    e->used_gen = 0;
    return e;
}

void entry_release(entry *e)
{
    store_columns_free(&e->columns);
    free(e->planes);
    free(e->cells);
    e->planes = NULL;
    e->cells = NULL;
}

void entry_free(entry *e)
{
    entry_release(e);
    free(e);
}

void entry_drop(cache *c, entry *e)
{
    (void)map64_remove(&c->entries, e->key);
    int kind = is_tile_key(e->key);
    if (c->n_spares[kind] < MAX_SPARES) {
        list_push_front(&c->spares[kind], e);
        c->n_spares[kind]++;
    } else {
        entry_free(e);
    }
}

/* During a frame, what the frame before used is likely to be asked for again: it stays, too. */
static bool may_go(const cache *c, const entry *e)
{
    return e->used_gen < (c->frame_depth > 0 ? c->generation - 1 : c->generation);
}

void cache_evict(cache *c)
{
    while (c->stats.bytes > c->options.budget_bytes && c->lru.tail && may_go(c, c->lru.tail)) {
        entry *e = c->lru.tail;
        list_remove(&c->lru, e);
        c->stats.bytes -= entry_bytes(e);
        *(is_tile_key(e->key) ? &c->stats.n_tiles : &c->stats.n_blocks) -= 1;
        c->stats.n_evicted++;
        entry_drop(c, e);
    }
}

bool cache_has_room(const cache *c, size_t bytes)
{
    size_t after = c->stats.bytes + bytes;
    for (const entry *e = c->lru.tail; after > c->options.budget_bytes; e = e->prev) {
        if (!e || !may_go(c, e)) {
            return false;
        }
        after -= entry_bytes(e);
    }
    return true;
}
