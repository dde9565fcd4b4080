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

/* The same edges as arcs between the children of `parent`, which is the module or one of its stacks. */
static size_t arcs_of(const plan_work *w, uint32_t module, uint32_t parent, order_arc *arcs, uint32_t (*ends)[2])
{
    size_t m = 0;
    for (uint32_t i = w->tree[module].arc_lo; i < w->tree[module].arc_hi; i++) {
        uint32_t a = w->arc_from[i], b = w->arc_to[i];
        if (parent == module) {
            a = shown(w, a);
            b = shown(w, b);
        } else if (w->tree[a].parent != parent || w->tree[b].parent != parent) {
            continue;
        }
        if (a != b) {
            uint32_t weight = edge_is_control(w->edge_label[w->perm[i]]) ? 1 : DATA_WEIGHT;
            arcs[m] = (order_arc){w->tree[a].local, w->tree[b].local, weight};
            ends[m][0] = a;
            ends[m++][1] = b;
        }
    }
    return m;
}

static void order_inside(plan_work *w, uint32_t module, uint32_t parent)
{
    size_t cap = w->tree[module].arc_hi - w->tree[module].arc_lo, n = 0;
    for (uint32_t t = w->tree[parent].first_child; t != GRAPH_NONE; t = w->tree[t].next) {
        w->tree[t].local = (uint32_t)n++;
    }
    if (cap == 0 || n < 2) {
        return;
    }
    order_arc *arcs = mem_alloc(cap * sizeof *arcs);
    uint32_t(*ends)[2] = mem_alloc(cap * sizeof *ends);
    uint32_t *place = mem_alloc(n * sizeof *place);
    size_t m = arcs_of(w, module, parent, arcs, ends);
    if (order_children(n, arcs, m, place, NULL)) {
        for (size_t i = 0; i < m; i++) {
            if (place[arcs[i].from] > place[arcs[i].to]) {
                mark(w, ends[i][0], ends[i][1]);
            }
        }
    }
    free(arcs);
    free(ends);
    free(place);
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
        order_inside(w, t, t);
        for (uint32_t c = w->tree[t].first_child; c != GRAPH_NONE; c = w->tree[c].next) {
            if (w->tree[c].kind == ELEMENT_STACK) {
                order_inside(w, t, c);
            }
        }
    }
    w->p->steps[STEP_CYCLES].n_done += count_different(w, 0);
    return MAREY_OK;
}
