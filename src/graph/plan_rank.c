/* Topological ranks of leaves: cycles of operators are cut against the order of the input. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "graph/plan_work.h"
#include "graph/topo.h"

typedef struct ranked_leaf {
    uint32_t node, leaf;
} ranked_leaf;

void plan_need_ranks(plan_work *w)
{
    if (!w->rank) {
        w->rank = mem_alloc(((size_t)w->n_leaves + 1) * sizeof *w->rank);
        w->ranked = mem_alloc(((size_t)w->n_leaves + 1) * sizeof *w->ranked);
        topo_ranks(w->n_leaves, w->n_edges, w->edge_from, w->edge_to, w->leaf_node, w->rank, w->ranked, w->o.cancel);
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
    size_t n = plan_size(w, module);
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
