#include "base/hash.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { SLOTS_FIRST = 256 };

static uint64_t seed(void)
{
    static uint64_t value;
    if (value == 0) {
        struct timespec t;
        (void)clock_gettime(CLOCK_MONOTONIC, &t);
        uint64_t v = hash_u64((uint64_t)t.tv_nsec ^ ((uint64_t)getpid() << 32)) | 1;
        value = v;
    }
    return value;
}

static uint64_t fold(uint64_t a, uint64_t b)
{
    __uint128_t p = (__uint128_t)a * b;
    return (uint64_t)p ^ (uint64_t)(p >> 64);
}

static uint64_t load(const unsigned char *p, size_t n)
{
    uint64_t v = 0;
    memcpy(&v, p, n);
    return v;
}

static uint64_t process_seed;
__attribute__((constructor)) static void make_seed(void)
{
    process_seed = seed();
}

uint64_t hash_bytes(const void *data, size_t n)
{
    const unsigned char *p = data;
    uint64_t h = process_seed ^ (n * 0x9e3779b97f4a7c15U);
    while (n >= 16) {
        h = fold(load(p, 8) ^ 0xa0761d6478bd642fU, load(p + 8, 8) ^ h);
        p += 16;
        n -= 16;
    }
    uint64_t a = n >= 8 ? load(p, 8) : load(p, n);
    uint64_t b = n > 8 ? load(p + 8, n - 8) : 0;
    return fold(a ^ 0xe7037ed1a0b428dbU, b ^ h);
}

static size_t probe(const intern *t, uint64_t hash, const char *s, size_t n)
{
    size_t i = hash & (t->cap - 1);
    while (t->slots[i].id) {
        const intern_slot *slot = &t->slots[i];
        if (slot->hash == hash && slot->len == n && memcmp(t->text[slot->id - 1], s, n) == 0) {
            return i;
        }
        i = (i + 1) & (t->cap - 1);
    }
    return i;
}

static void grow(intern *t, size_t cap)
{
    intern_slot *old = t->slots;
    size_t old_cap = t->cap;
    t->slots = mem_calloc(cap, sizeof *t->slots);
    t->cap = cap;
    for (size_t i = 0; i < old_cap; i++) {
        if (old[i].id) {
            size_t k = old[i].hash & (cap - 1);
            while (t->slots[k].id) {
                k = (k + 1) & (cap - 1);
            }
            t->slots[k] = old[i];
        }
    }
    free(old);
}

void intern_reserve(intern *t, size_t n)
{
    size_t cap = t->cap ? t->cap : SLOTS_FIRST;
    while (cap / 2 < n) {
        cap *= 2;
    }
    VEC_RESERVE(t->text, t->cap_text, n);
    VEC_RESERVE(t->len, t->cap_len, n);
    if (cap > t->cap) {
        grow(t, cap);
    }
}

uint32_t intern_put(intern *t, const char *s, size_t n)
{
    if (t->n * 2 >= t->cap) {
        grow(t, t->cap ? t->cap * 2 : SLOTS_FIRST);
    }
    uint64_t hash = hash_bytes(s, n);
    size_t i = probe(t, hash, s, n);
    if (t->slots[i].id) {
        return t->slots[i].id - 1;
    }
    uint32_t id = (uint32_t)t->n;
    VEC_RESERVE(t->text, t->cap_text, t->n + 1);
    VEC_RESERVE(t->len, t->cap_len, t->n + 1);
    t->text[id] = arena_strndup(&t->bytes, s, n);
    t->len[id] = (uint32_t)n;
    t->n++;
    t->slots[i] = (intern_slot){hash, id + 1, (uint32_t)n};
    return id;
}

bool intern_find(const intern *t, const char *s, size_t n, uint32_t *id)
{
    if (t->cap == 0) {
        return false;
    }
    size_t i = probe(t, hash_bytes(s, n), s, n);
    if (!t->slots[i].id) {
        return false;
    }
    *id = t->slots[i].id - 1;
    return true;
}

void intern_deinit(intern *t)
{
    arena_deinit(&t->bytes);
    free(t->slots);
    free((void *)t->text);
    free(t->len);
    memset(t, 0, sizeof *t);
}

static size_t map_probe(const map64 *m, uint64_t key)
{
    size_t i = hash_u64(key ^ process_seed) & (m->cap - 1);
    while (m->used[i] && m->slots[i].key != key) {
        i = (i + 1) & (m->cap - 1);
    }
    return i;
}

static void map_grow(map64 *m)
{
    map64 old = *m;
    m->cap = old.cap ? old.cap * 2 : 64;
    m->slots = mem_alloc(m->cap * sizeof *m->slots);
    m->used = mem_calloc(m->cap, 1);
    for (size_t i = 0; i < old.cap; i++) {
        if (old.used[i]) {
            size_t k = map_probe(m, old.slots[i].key);
            m->slots[k] = old.slots[i];
            m->used[k] = 1;
        }
    }
    free(old.slots);
    free(old.used);
}

uint64_t *map64_put(map64 *m, uint64_t key)
{
    if (m->n * 2 >= m->cap) {
        map_grow(m);
    }
    size_t i = map_probe(m, key);
    if (!m->used[i]) {
        m->used[i] = 1;
        m->slots[i] = (map_slot){key, 0};
        m->n++;
    }
    return &m->slots[i].value;
}

uint64_t *map64_get(const map64 *m, uint64_t key)
{
    if (m->n == 0) {
        return NULL;
    }
    size_t i = map_probe(m, key);
    return m->used[i] ? &m->slots[i].value : NULL;
}

bool map64_remove(map64 *m, uint64_t key)
{
    if (m->n == 0) {
        return false;
    }
    size_t i = map_probe(m, key);
    if (!m->used[i]) {
        return false;
    }
    m->used[i] = 0;
    m->n--;
    /* Move the followers of the hole up, so that no probe stops too early. */
    for (size_t j = (i + 1) & (m->cap - 1); m->used[j]; j = (j + 1) & (m->cap - 1)) {
        map_slot slot = m->slots[j];
        m->used[j] = 0;
        size_t k = map_probe(m, slot.key);
        m->slots[k] = slot;
        m->used[k] = 1;
    }
    return true;
}

void map64_deinit(map64 *m)
{
    free(m->slots);
    free(m->used);
    memset(m, 0, sizeof *m);
}
