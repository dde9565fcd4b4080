/* Arcs against the order of the drawing: what is left of cycles in each module, and in each stack, once all steps are
 * done. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "graph/plan_order.h"
#include "graph/plan_work.h"

enum { DATA_WEIGHT = 64 }; /* a tensor's, against 1 of a control edge */

/* The child of its module: a member's stack, or itself. */
static uint32_t shown(const plan_work *w, uint32_t t)
{
    uint32_t parent = w->tree[t].parent;
    return w->tree[parent].kind == ELEMENT_STACK ? parent : t;
}

static void mark(plan_work *w, uint32_t from, uint32_t to)
{
    graph_plan *p = w->p;
    VEC_RESERVE(p->back_arcs, w->cap_back, p->n_back_arcs + 1);
    p->back_arcs[p->n_back_arcs][0] = from;
    p->back_arcs[p->n_back_arcs++][1] = to;
}

/* An edge as an arc between two children of `parent`: the module, or one of its stacks. */
typedef struct inner_arc {
    uint32_t parent, from, to, weight;
} inner_arc;

static void number_children(plan_work *w, uint32_t parent)
{
    uint32_t n = 0;
    for (uint32_t t = plan_inner(w, parent)->first_child; t != GRAPH_NONE; t = w->tree[t].next) {
        w->tree[t].local = n++;
    }
}

/* Stack by stack, those of the module itself first; in the order of edges. */
static void sort_arcs(plan_work *w, uint32_t module, inner_arc *arcs, size_t m)
{
    size_t n = plan_inner(w, module)->n_children + (size_t)1;
    uint32_t *first = mem_calloc(n + 1, sizeof *first);
    inner_arc *copy = mem_alloc((m + 1) * sizeof *copy);
    number_children(w, module);
    for (size_t i = 0; i < m; i++) {
        copy[i] = arcs[i];
        first[arcs[i].parent == module ? 1 : w->tree[arcs[i].parent].local + 2]++;
    }
    for (size_t k = 0; k < n; k++) {
        first[k + 1] += first[k];
    }
    for (size_t i = 0; i < m && !plan_stop(w, i); i++) {
        arcs[first[copy[i].parent == module ? 0 : w->tree[copy[i].parent].local + 1]++] = copy[i];
    }
    free(first);
    free(copy);
}

/* Arcs of one parent. */
static void order_inside(plan_work *w, const inner_arc *a, size_t m)
{
    uint32_t parent = a[0].parent;
    size_t n = plan_inner(w, parent)->n_children;
    number_children(w, parent);
    order_arc *arcs = mem_alloc(m * sizeof *arcs);
    uint32_t *place = mem_alloc(n * sizeof *place);
    for (size_t i = 0; i < m && !plan_stop(w, i); i++) {
        arcs[i] = (order_arc){w->tree[a[i].from].local, w->tree[a[i].to].local, a[i].weight};
    }
    if (!is_cancelled(w->o.cancel) && order_children(n, arcs, m, place, NULL, w->o.cancel)) {
        for (size_t i = 0; i < m; i++) {
            if (place[arcs[i].from] > place[arcs[i].to]) {
                mark(w, a[i].from, a[i].to);
            }
        }
    }
    free(arcs);
    free(place);
}

/* All edges of a module's children: those inside of its stacks, stack by stack, and the others. */
static void order_module(plan_work *w, uint32_t module)
{
    const tree_inner *p = plan_inner(w, module);
    size_t cap = p->arc_hi - p->arc_lo, m = 0;
    if (cap == 0) {
        return;
    }
    inner_arc *arcs = mem_alloc(cap * sizeof *arcs);
    bool stacks = false;
    for (uint32_t i = p->arc_lo; i < p->arc_hi && !plan_stop(w, i); i++) {
        uint32_t from = w->arc_from[i], to = w->arc_to[i], a = shown(w, from), b = shown(w, to);
        bool inside = a == b;
        stacks = stacks || inside;
        uint32_t weight = edge_is_control(w->edge_label[w->perm[i]]) ? 1 : DATA_WEIGHT;
        arcs[m++] = (inner_arc){inside ? a : module, inside ? from : a, inside ? to : b, weight};
    }
    if (stacks && !is_cancelled(w->o.cancel)) {
        sort_arcs(w, module, arcs, m);
    }
    for (size_t i = 0, end; i < m && !is_cancelled(w->o.cancel); i = end) {
        for (end = i; end < m && arcs[end].parent == arcs[i].parent;) {
            end++;
        }
        order_inside(w, arcs + i, end - i);
    }
    free(arcs);
}

/* Different arcs among those marked since `first`. */
static size_t count_different(const plan_work *w, size_t first)
{
    const graph_plan *p = w->p;
    size_t n = 0;
    for (size_t i = first; i < p->n_back_arcs; i++) {
        n += i == first || memcmp(p->back_arcs[i], p->back_arcs[i - 1], sizeof p->back_arcs[0]) != 0;
    }
    return n;
}

marey_status plan_back_arcs(plan_work *w)
{
    for (uint32_t t = 0; t < w->n_tree; t++) {
        if (plan_stop(w, t)) {
            return MAREY_CANCELLED;
        }
        if (w->tree[t].kind != ELEMENT_ROOT && w->tree[t].kind != ELEMENT_MODULE) {
            continue;
        }
        order_module(w, t);
    }
    if (is_cancelled(w->o.cancel)) {
        return MAREY_CANCELLED;
    }
    w->p->steps[STEP_CYCLES].n_done += count_different(w, 0);
    return MAREY_OK;
}
