/* Topological ranks of leaves: cycles of operators are cut against the order of the input. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "graph/plan_work.h"
#include "graph/scc.h"

typedef struct ranked_leaf {
    uint32_t node, leaf;
} ranked_leaf;

static void rank_push(ranked_leaf *heap, size_t *n, ranked_leaf e)
{
    size_t i = (*n)++;
    while (i > 0 && heap[(i - 1) / 2].node > e.node) {
        heap[i] = heap[(i - 1) / 2];
        i = (i - 1) / 2;
    }
    heap[i] = e;
}

static ranked_leaf rank_pop(ranked_leaf *heap, size_t *n)
{
    ranked_leaf top = heap[0], e = heap[--*n];
    size_t i = 0;
    for (size_t k = 1; k < *n; k = 2 * i + 1) {
        k += k + 1 < *n && heap[k + 1].node < heap[k].node;
        if (heap[k].node >= e.node) {
            break;
        }
        heap[i] = heap[k];
        i = k;
    }
    heap[i] = e;
    return top;
}

/* Is an edge one that a cycle of operators would be cut at: inside a component, against the order of the input? */
static bool is_cut(const plan_work *w, const uint32_t *component, uint32_t from, uint32_t to)
{
    return component[from] == component[to] && w->leaf_node[from] >= w->leaf_node[to];
}

/* Topological ranks of leaves, smallest first of the input among those that may come (Kahn). */
static void rank_leaves(plan_work *w)
{
    size_t n = w->n_leaves, m = w->n_edges;
    uint32_t *block = mem_calloc(3 * n + 2 + m, sizeof *block);
    uint32_t *first = block, *to = block + n + 2, *component = to + m, *waits = component + n;
    for (size_t i = 0; i < m; i++) {
        first[w->edge_from[i] + 2]++;
    }
    for (size_t i = 2; i < n + 2; i++) {
        first[i] += first[i - 1];
    }
    for (size_t i = 0; i < m; i++) {
        to[first[w->edge_from[i] + 1]++] = w->edge_to[i];
    }
    (void)scc_components(n, first, to, component);
    for (size_t i = 0; i < m; i++) {
        waits[w->edge_to[i]] += !is_cut(w, component, w->edge_from[i], w->edge_to[i]);
    }
    ranked_leaf *heap = mem_alloc((n + 1) * sizeof *heap);
    size_t n_heap = 0, rank = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (waits[i] == 0) {
            rank_push(heap, &n_heap, (ranked_leaf){w->leaf_node[i], i});
        }
    }
    while (n_heap > 0) {
        uint32_t v = rank_pop(heap, &n_heap).leaf;
        w->ranked[rank] = v;
        w->rank[v] = (uint32_t)rank++;
        for (uint32_t k = first[v]; k < first[v + 1]; k++) {
            if (!is_cut(w, component, v, to[k]) && --waits[to[k]] == 0) {
                rank_push(heap, &n_heap, (ranked_leaf){w->leaf_node[to[k]], to[k]});
            }
        }
    }
    free(heap);
    free(block);
}

void plan_need_ranks(plan_work *w)
{
    if (!w->rank) {
        w->rank = mem_alloc(((size_t)w->n_leaves + 1) * sizeof *w->rank);
        w->ranked = mem_alloc(((size_t)w->n_leaves + 1) * sizeof *w->ranked);
        rank_leaves(w);
    }
}

static int by_rank(const void *a, const void *b)
{
    const ranked_leaf *x = a, *y = b;
    return x->node < y->node ? -1 : x->node > y->node;
}

uint32_t *plan_leaves_by_rank(const plan_work *w, uint32_t module)
{
    const tree_node *p = &w->tree[module];
    size_t n = p->hi - p->lo;
    uint32_t *leaves = mem_alloc((n + 1) * sizeof *leaves);
    if (n == w->n_leaves) {
        memcpy(leaves, w->ranked, n * sizeof *leaves);
        return leaves;
    }
    ranked_leaf *keys = mem_alloc((n + 1) * sizeof *keys);
    for (size_t i = 0; i < n; i++) {
        keys[i] = (ranked_leaf){w->rank[w->at[p->lo + i]], w->at[p->lo + i]};
    }
    qsort(keys, n, sizeof *keys, by_rank);
    for (size_t i = 0; i < n; i++) {
        leaves[i] = keys[i].leaf;
    }
    free(keys);
    return leaves;
}
