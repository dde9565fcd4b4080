/* Finished insides of modules by the hash of what they depend on; the least recently used go first. */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "graph/layout_build.h"

typedef struct entry {
    cache_key key;
    module_out out;
    size_t bytes;
    uint32_t before, after; /* in the order of use; GRAPH_NONE */
} entry;

struct layout_cache {
    size_t max_bytes, bytes;
    map64 places; /* hash -> place + 1 */
    entry *entries;
    size_t n, cap;
    uint32_t newest, oldest, unused; /* unused: a list through `after` */
};

layout_cache *layout_cache_create(size_t max_bytes)
{
    layout_cache *c = mem_calloc(1, sizeof *c);
    c->max_bytes = max_bytes;
    c->newest = c->oldest = c->unused = GRAPH_NONE;
    return c;
}

void layout_cache_destroy(layout_cache **c)
{
    if (*c) {
        for (size_t i = 0; i < (*c)->n; i++) {
            module_out_deinit(&(*c)->entries[i].out);
        }
        free((*c)->entries);
        map64_deinit(&(*c)->places);
        free(*c);
        *c = NULL;
    }
}

static uint64_t mix(uint64_t h, const void *p, size_t n)
{
    return hash_u64(h ^ hash_bytes(p, n)) * 0x9e3779b97f4a7c15U;
}

void layout_key(const module_in *in, cache_key *key)
{
    float facts[8] = {in->pad_u0, in->pad_u1, in->pad_v0, in->pad_v1, in->title_u, in->wrap_aspect};
    uint64_t h = mix(in->n, facts, sizeof facts);
    h = mix(h, in->su, in->n * sizeof *in->su);
    h = mix(h, in->sv, in->n * sizeof *in->sv);
    h = mix(h, in->in_at, in->n * sizeof *in->in_at);
    h = mix(h, in->out_at, in->n * sizeof *in->out_at);
    h = mix(h, in->inset, in->n * sizeof *in->inset);
    h = mix(h, in->from, in->n_lines * sizeof *in->from);
    h = mix(h, in->to, in->n_lines * sizeof *in->to);
    h = mix(h, in->flags, in->n_lines);
    *key = (cache_key){h, in->n, in->n_lines};
}

static void unlink_entry(layout_cache *c, uint32_t i)
{
    entry *e = &c->entries[i];
    *(e->before == GRAPH_NONE ? &c->newest : &c->entries[e->before].after) = e->after;
    *(e->after == GRAPH_NONE ? &c->oldest : &c->entries[e->after].before) = e->before;
}

static void link_newest(layout_cache *c, uint32_t i)
{
    entry *e = &c->entries[i];
    e->before = GRAPH_NONE;
    e->after = c->newest;
    *(c->newest == GRAPH_NONE ? &c->oldest : &c->entries[c->newest].before) = i;
    c->newest = i;
}

const module_out *layout_cache_get(layout_cache *c, const cache_key *key)
{
    const uint64_t *place = map64_get(&c->places, key->hash);
    if (!place) {
        return NULL;
    }
    uint32_t i = (uint32_t)(*place - 1);
    if (c->entries[i].key.n != key->n || c->entries[i].key.n_lines != key->n_lines) {
        return NULL;
    }
    unlink_entry(c, i);
    link_newest(c, i);
    return &c->entries[i].out;
}

static void drop_oldest(layout_cache *c)
{
    uint32_t i = c->oldest;
    entry *e = &c->entries[i];
    unlink_entry(c, i);
    (void)map64_remove(&c->places, e->key.hash);
    c->bytes -= e->bytes;
    module_out_deinit(&e->out);
    e->after = c->unused;
    c->unused = i;
}

static uint32_t fresh_entry(layout_cache *c)
{
    if (c->unused != GRAPH_NONE) {
        uint32_t i = c->unused;
        c->unused = c->entries[i].after;
        return i;
    }
    VEC_PUSH(c->entries, c->n, c->cap, ((entry){.bytes = 0}));
    return (uint32_t)(c->n - 1);
}

void layout_cache_put(layout_cache *c, const cache_key *key, module_out *out)
{
    size_t bytes = sizeof(entry) + 64 + (size_t)key->n * 2 * sizeof(float) + (size_t)key->n_lines * sizeof(uint32_t) +
                   out->cap_points * sizeof *out->points;
    if (bytes > c->max_bytes || map64_get(&c->places, key->hash)) {
        return;
    }
    while (c->bytes + bytes > c->max_bytes) {
        drop_oldest(c);
    }
    uint32_t i = fresh_entry(c);
    c->entries[i] = (entry){.key = *key, .out = *out, .bytes = bytes};
    memset(out, 0, sizeof *out);
    link_newest(c, i);
    *map64_put(&c->places, key->hash) = i + 1U;
    c->bytes += bytes;
}
