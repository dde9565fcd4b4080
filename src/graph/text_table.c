#include "graph/text_table.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"

enum {
    RECENT = 4096,
    LARGE = 1 << 20 /* slots: from here on memory counts for more than a probe */
};

static uint64_t load8(const char *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

static uint64_t load4(const char *p)
{
    uint32_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

static uint64_t fold(uint64_t a, uint64_t b)
{
    __uint128_t p = (__uint128_t)a * b;
    return (uint64_t)p ^ (uint64_t)(p >> 64);
}

/* As hash_bytes(), seeded as well, but with loads of fixed size only: the last overlaps the one before. */
static uint32_t hash_name(const text_table *t, const char *s, size_t n)
{
    uint64_t h = t->seed ^ (n * 0x9e3779b97f4a7c15U), a, b;
    for (; n > 16; s += 16, n -= 16) {
        h = fold(load8(s) ^ 0xa0761d6478bd642fU, load8(s + 8) ^ h);
    }
    if (n >= 8) {
        a = load8(s);
        b = load8(s + n - 8);
    } else if (n >= 4) {
        a = load4(s);
        b = load4(s + n - 4);
    } else {
        a = n > 0 ? (unsigned char)s[0] : 0;
        b = n > 1 ? (uint64_t)(unsigned char)s[1] << 8 | (unsigned char)s[n - 1] : 0;
    }
    h = fold(a ^ 0xe7037ed1a0b428dbU, b ^ h);
    return (uint32_t)(h ^ (h >> 32));
}

static void grow(text_table *t)
{
    if (t->cap == 0) {
        t->seed = hash_bytes("seed", 4); /* of the process */
    }
    size_t cap = t->cap == 0 ? 1024 : t->cap < LARGE ? t->cap * 4 : t->cap * 2;
    text_slot *slots = mem_alloc_large(cap * sizeof *slots); /* looked up all over the place */
    memset(slots, 0, cap * sizeof *slots);
    for (size_t i = 0; i < t->cap; i++) {
        if (t->slots[i].id) {
            size_t k = t->slots[i].hash & (cap - 1);
            while (slots[k].id) {
                k = (k + 1) & (cap - 1);
            }
            slots[k] = t->slots[i];
        }
    }
    free(t->slots);
    t->slots = slots;
    t->cap = cap;
}

static bool has_room(const text_table *t, size_t n)
{
    return t->n < (1U << 31) && n < UINT32_MAX - t->n_text;
}

static uint32_t append(text_table *t, const char *s, size_t n)
{
    VEC_RESERVE(t->text, t->cap_text, t->n_text + n + 1);
    VEC_RESERVE(t->at, t->cap_at, t->n + 2);
    if (n > 0) {
        memcpy(t->text + t->n_text, s, n);
    }
    t->text[t->n_text + n] = '\0';
    t->at[t->n] = (uint32_t)t->n_text;
    t->n_text += n + 1;
    t->at[t->n + 1] = (uint32_t)t->n_text;
    return (uint32_t)t->n++;
}

uint32_t text_table_put(text_table *t, const char *s, size_t n, bool *is_new)
{
    if (t->cap < LARGE ? t->n * 2 >= t->cap : t->n >= t->cap / 4 * 3) {
        grow(t);
    }
    uint32_t hash = hash_name(t, s, n);
    size_t i = hash & (t->cap - 1);
    for (; t->slots[i].id; i = (i + 1) & (t->cap - 1)) {
        if (t->slots[i].hash != hash) {
            continue;
        }
        uint32_t id = t->slots[i].id - 1;
        if (t->at[id + 1] - t->at[id] == n + 1 && memcmp(t->text + t->at[id], s, n) == 0) {
            if (is_new) {
                *is_new = false;
            }
            return id;
        }
    }
    if (!has_room(t, n)) {
        return UINT32_MAX;
    }
    if (is_new) {
        *is_new = true;
    }
    uint32_t id = append(t, s, n);
    t->slots[i] = (text_slot){hash, id + 1};
    return id;
}

uint32_t text_table_append(text_table *t, const char *s, size_t n)
{
    if (!t->recent) {
        t->recent = mem_calloc(RECENT, sizeof *t->recent);
    }
    uint64_t end = n;
    memcpy(&end, s + (n > 8 ? n - 8 : 0), n > 8 ? 8 : n);
    uint32_t *slot = &t->recent[((end ^ n) * 0x9e3779b97f4a7c15U) >> 52];
    if (*slot) {
        uint32_t id = *slot - 1;
        if (t->at[id + 1] - t->at[id] == n + 1 && memcmp(t->text + t->at[id], s, n) == 0) {
            return id;
        }
    }
    if (!has_room(t, n)) {
        return UINT32_MAX;
    }
    uint32_t id = append(t, s, n);
    *slot = id + 1;
    return id;
}

void text_table_seal(text_table *t)
{
    free(t->slots);
    free(t->recent);
    t->slots = NULL;
    t->recent = NULL;
    t->cap = 0;
    t->text = mem_realloc_array(t->text, t->n_text ? t->n_text : 1, 1);
    t->at = mem_realloc_array(t->at, t->n + 1, sizeof *t->at);
    t->cap_text = t->n_text;
    t->cap_at = t->n + 1;
}

void text_table_deinit(text_table *t)
{
    free(t->text);
    free(t->at);
    free(t->slots);
    free(t->recent);
    memset(t, 0, sizeof *t);
}
