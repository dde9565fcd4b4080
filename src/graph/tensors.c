#include "graph/tensors.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"

/* The slot that holds it, or would. */
static uint32_t *slot_of(const tensor_table *t, uint32_t type, uint64_t bytes)
{
    const uint64_t key[2] = {type, bytes};
    size_t i = hash_bytes(key, sizeof key) & (t->n_slots - 1);
    while (t->slots[i] && (t->rows[t->slots[i] - 1].type != type || t->rows[t->slots[i] - 1].bytes != bytes)) {
        i = (i + 1) & (t->n_slots - 1);
    }
    return &t->slots[i];
}

static void grow(tensor_table *t)
{
    t->n_slots = t->n_slots ? t->n_slots * 2 : 64;
    free(t->slots);
    t->slots = mem_calloc(t->n_slots, sizeof *t->slots);
    for (size_t i = 0; i < t->n; i++) {
        *slot_of(t, t->rows[i].type, t->rows[i].bytes) = (uint32_t)i + 1;
    }
}

uint32_t tensor_table_put(tensor_table *t, uint32_t type, uint64_t bytes)
{
    if (t->n >= t->n_slots / 4 * 3) {
        grow(t);
    }
    uint32_t *slot = slot_of(t, type, bytes);
    if (*slot == 0) {
        VEC_PUSH(t->rows, t->n, t->cap, ((graph_tensor){type, bytes}));
        *slot = (uint32_t)t->n;
    }
    return *slot - 1;
}

graph_tensor *tensor_table_take(tensor_table *t, size_t *n)
{
    graph_tensor *rows = mem_realloc_array(t->rows, t->n ? t->n : 1, sizeof *rows);
    *n = t->n;
    t->rows = NULL;
    tensor_table_deinit(t);
    return rows;
}

void tensor_table_deinit(tensor_table *t)
{
    free(t->rows);
    free(t->slots);
    memset(t, 0, sizeof *t);
}
