/* ONNX: values by name. */
#include <stdlib.h>
#include <string.h>

#include "readers/graph_onnx.h"

static bool is_named(const onnx_value *v, const char *name, size_t n)
{
    return v->n_name == n && memcmp(v->name, name, n) == 0;
}

/* Where the name is, or would go. */
static size_t probe(const onnx_set *s, const char *name, size_t n, uint64_t hash)
{
    size_t mask = s->n_slots - 1;
    uint32_t tag = (uint32_t)(hash >> 32);
    size_t i = (size_t)hash & mask;
    while (s->slots[i].at && !(s->slots[i].tag == tag && is_named(&s->values[s->slots[i].at - 1], name, n))) {
        i = (i + 1) & mask;
    }
    return i;
}

static void hash_value(onnx_set *s, size_t k)
{
    const onnx_value *v = &s->values[k];
    uint64_t hash = hash_bytes(v->name, v->n_name);
    onnx_slot *slot = &s->slots[probe(s, v->name, v->n_name, hash)];
    if (!slot->at) {
        *slot = (onnx_slot){.tag = (uint32_t)(hash >> 32), .at = (uint32_t)k + 1};
    }
}

/* All values are in the table afterwards, which is at most three quarters full. */
static void hash_all(onnx_set *s)
{
    if (s->n > s->n_slots / 4 * 3) {
        size_t n_slots = s->n_slots ? s->n_slots : 64;
        while (s->n > n_slots / 4 * 3) {
            n_slots *= 2;
        }
        free(s->slots);
        s->slots = mem_calloc(n_slots, sizeof *s->slots);
        s->n_slots = n_slots;
        s->n_hashed = 0;
    }
    while (s->n_hashed < s->n) {
        hash_value(s, s->n_hashed++);
    }
}

onnx_value *onnx_set_find(onnx_set *s, const char *name, size_t n)
{
    if (!s->n) {
        return NULL;
    }
    if (s->next < s->n && is_named(&s->values[s->next], name, n)) {
        return &s->values[s->next++];
    }
    hash_all(s);
    uint32_t at = s->slots[probe(s, name, n, hash_bytes(name, n))].at;
    s->next = at ? at : s->next;
    return at ? &s->values[at - 1] : NULL;
}

onnx_value *onnx_set_add(onnx_set *s, const char *name, size_t n)
{
    VEC_PUSH(s->values, s->n, s->cap,
             ((onnx_value){.name = name, .n_name = n, .node = GRAPH_NONE, .scope = GRAPH_NONE}));
    return &s->values[s->n - 1];
}

void onnx_set_deinit(onnx_set *s)
{
    free(s->values);
    free(s->slots);
    *s = (onnx_set){0};
}

static uint64_t *place_of(const onnx_names *s, uint64_t hash)
{
    size_t i = (size_t)hash & (s->cap - 1);
    while (s->hashes[i] && s->hashes[i] != hash) {
        i = (i + 1) & (s->cap - 1);
    }
    return &s->hashes[i];
}

static void grow_names(onnx_names *s)
{
    onnx_names old = *s;
    s->cap = old.cap ? old.cap * 2 : 64;
    s->hashes = mem_calloc(s->cap, sizeof *s->hashes);
    for (size_t i = 0; i < old.cap; i++) {
        if (old.hashes[i]) {
            *place_of(s, old.hashes[i]) = old.hashes[i];
        }
    }
    free(old.hashes);
}

bool onnx_names_meet(onnx_names *s, uint64_t hash)
{
    hash = hash ? hash : 1;
    if (s->n >= s->cap / 4 * 3) {
        grow_names(s);
    }
    uint64_t *place = place_of(s, hash);
    if (*place) {
        return true;
    }
    *place = hash;
    s->n++;
    return false;
}
