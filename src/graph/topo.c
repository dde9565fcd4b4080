#include "graph/topo.h"

#include <stdlib.h>

#include "base/mem.h"
#include "graph/scc.h"

typedef struct keyed {
    uint32_t key, vertex;
} keyed;

static void keyed_push(keyed *heap, size_t *n, keyed e)
{
    size_t i = (*n)++;
    while (i > 0 && heap[(i - 1) / 2].key > e.key) {
        heap[i] = heap[(i - 1) / 2];
        i = (i - 1) / 2;
    }
    heap[i] = e;
}

static keyed keyed_pop(keyed *heap, size_t *n)
{
    keyed top = heap[0], e = heap[--*n];
    size_t i = 0;
    for (size_t k = 1; k < *n; k = 2 * i + 1) {
        k += k + 1 < *n && heap[k + 1].key < heap[k].key;
        if (heap[k].key >= e.key) {
            break;
        }
        heap[i] = heap[k];
        i = k;
    }
    heap[i] = e;
    return top;
}

typedef struct topo_work {
    const uint32_t *key;
    uint32_t *first, *next, *component, *waits;
} topo_work;

/* Is an arc one that a cycle is cut at? */
static int is_cut(const topo_work *w, uint32_t from, uint32_t to)
{
    return w->component[from] == w->component[to] && w->key[from] >= w->key[to];
}

static void index_arcs(topo_work *w, size_t n, size_t m, const uint32_t *from, const uint32_t *to, cancel_flag *cancel)
{
    for (size_t i = 0; i < m; i++) {
        w->first[from[i] + 2]++;
    }
    for (size_t i = 2; i < n + 2; i++) {
        w->first[i] += w->first[i - 1];
    }
    for (size_t i = 0; i < m; i++) {
        w->next[w->first[from[i] + 1]++] = to[i];
    }
    (void)scc_components(n, w->first, w->next, w->component, cancel);
    for (size_t i = 0; i < m; i++) {
        w->waits[to[i]] += !is_cut(w, from[i], to[i]);
    }
}

void topo_ranks(size_t n, size_t m, const uint32_t *from, const uint32_t *to, const uint32_t *key, uint32_t *rank,
                uint32_t *ranked, cancel_flag *cancel)
{
    uint32_t *block = mem_calloc(3 * n + 2 + m, sizeof *block);
    topo_work w = {key, block, block + n + 2, block + n + 2 + m, block + 2 * n + 2 + m};
    index_arcs(&w, n, m, from, to, cancel);
    keyed *heap = mem_alloc((n + 1) * sizeof *heap);
    size_t n_heap = 0, at = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (w.waits[i] == 0) {
            keyed_push(heap, &n_heap, (keyed){key[i], i});
        }
    }
    while (n_heap > 0 && !((at & 0xFFFF) == 0 && is_cancelled(cancel))) {
        uint32_t v = keyed_pop(heap, &n_heap).vertex;
        ranked[at] = v;
        rank[v] = (uint32_t)at++;
        for (uint32_t k = w.first[v]; k < w.first[v + 1]; k++) {
            uint32_t u = w.next[k];
            if (!is_cut(&w, v, u) && --w.waits[u] == 0) {
                keyed_push(heap, &n_heap, (keyed){key[u], u});
            }
        }
    }
    for (uint32_t i = 0; i < n && at < n; i++) { /* cancelled */
        rank[i] = ranked[i] = i;
    }
    free(heap);
    free(block);
}
