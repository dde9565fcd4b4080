/*
 * Is one module the same as another? Three orders are tried, each checked leaf by leaf and wire by wire in O(V + E):
 * the order of the input, that of colours, and one by refinement (plan_refine.c). A signature only proposes; this
 * decides.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "graph/plan_same.h"
#include "graph/plan_work.h"

/* Leaves of a at positions a_lo + i, of b at b_lo + order[i]; place: the inverse of order. NULL: as they stand. */
typedef struct pairing {
    const plan_work *w;
    uint32_t a_lo, b_lo, size;
    const uint32_t *order, *place;
} pairing;

typedef struct wire {
    uint64_t label;
    uint32_t from;
} wire;

static int by_wire(const void *x, const void *y)
{
    const wire *a = x, *b = y;
    if (a->label != b->label) {
        return a->label < b->label ? -1 : 1;
    }
    return a->from < b->from ? -1 : a->from > b->from;
}

/* Producers inside, by place in the common order. @return how many */
static uint32_t wires(const pairing *m, uint32_t leaf, bool is_b, wire *out)
{
    const plan_work *w = m->w;
    uint32_t n = 0, lo = is_b ? m->b_lo : m->a_lo;
    for (uint32_t k = w->in_first[leaf]; k < w->in_first[leaf + 1]; k++) {
        uint32_t at = w->where[w->edge_from[k]] - lo;
        if (at < m->size) {
            out[n++] = (wire){w->edge_label[k], is_b && m->place ? m->place[at] : at};
        }
    }
    qsort(out, n, sizeof *out, by_wire);
    return n;
}

static bool same_wires_sorted(const pairing *m, uint32_t a, uint32_t b)
{
    const plan_work *w = m->w;
    size_t n_a = w->in_first[a + 1] - w->in_first[a], n_b = w->in_first[b + 1] - w->in_first[b];
    wire *x = mem_alloc((n_a + n_b + 1) * sizeof *x), *y = x + n_a;
    uint32_t n = wires(m, a, false, x);
    bool same = n == wires(m, b, true, y);
    for (uint32_t i = 0; i < n && same; i++) {
        same = by_wire(&x[i], &y[i]) == 0;
    }
    free(x);
    return same;
}

/* Mostly they come in the same order; only else they are sorted. */
static bool same_wires(const pairing *m, uint32_t a, uint32_t b)
{
    const plan_work *w = m->w;
    uint32_t i = w->in_first[a], k = w->in_first[b], end_i = w->in_first[a + 1], end_k = w->in_first[b + 1];
    for (;;) {
        while (i < end_i && w->where[w->edge_from[i]] - m->a_lo >= m->size) {
            i++;
        }
        while (k < end_k && w->where[w->edge_from[k]] - m->b_lo >= m->size) {
            k++;
        }
        if (i == end_i || k == end_k) {
            return i == end_i && k == end_k;
        }
        uint32_t from_b = w->where[w->edge_from[k]] - m->b_lo;
        if (w->edge_label[i] != w->edge_label[k] ||
            w->where[w->edge_from[i]] - m->a_lo != (m->place ? m->place[from_b] : from_b)) {
            return same_wires_sorted(m, a, b);
        }
        i++;
        k++;
    }
}

/* Operators, and at the stricter levels what was folded into them. */
static bool same_leaves(const plan_work *w, uint32_t a, uint32_t b, graph_strictness level)
{
    uint32_t x = w->leaf_node[a], y = w->leaf_node[b];
    if (level >= STRICT_STRUCTURAL) {
        return same_operator(w->g, x, y, level);
    }
    while (x != GRAPH_NONE && y != GRAPH_NONE) {
        if (!same_operator(w->g, x, y, level)) {
            return false;
        }
        x = w->folded[x];
        y = w->folded[y];
    }
    return x == y;
}

static bool check_pairing(const pairing *m, graph_strictness *level)
{
    const plan_work *w = m->w;
    graph_strictness l = *level, most = w->o.strictness < STRICT_STRUCTURAL ? w->o.strictness : STRICT_STRUCTURAL;
    for (uint32_t i = 0; i < m->size; i++) {
        uint32_t a = w->at[m->a_lo + i], b = w->at[m->b_lo + (m->order ? m->order[i] : i)];
        while (l <= most && !same_leaves(w, a, b, l)) {
            l++;
        }
        if (l > most || plan_stop(w, i) || !same_wires(m, a, b)) {
            return false;
        }
    }
    *level = l;
    return true;
}

typedef struct coloured {
    uint64_t colour;
    uint32_t tree;
} coloured;

static int by_colour(const void *x, const void *y)
{
    const coloured *a = x, *b = y;
    if (a->colour != b->colour) {
        return a->colour < b->colour ? -1 : 1;
    }
    return a->tree < b->tree ? -1 : a->tree > b->tree;
}

typedef struct colour_walk {
    coloured *stack;
    size_t n, cap;
} colour_walk;

/* Children by colour on the stack, the first on top. Members of a stack count as its module's. */
static void push_children(const plan_work *w, uint32_t module, colour_walk *s)
{
    size_t first = s->n;
    for (uint32_t t = plan_inner(w, module)->first_child; t != GRAPH_NONE; t = w->tree[t].next) {
        if (w->tree[t].kind != ELEMENT_STACK) {
            VEC_PUSH(s->stack, s->n, s->cap, ((coloured){~w->colour[t], t}));
            continue;
        }
        for (uint32_t u = plan_inner(w, t)->first_child; u != GRAPH_NONE; u = w->tree[u].next) {
            VEC_PUSH(s->stack, s->n, s->cap, ((coloured){~w->colour[u], u}));
        }
    }
    qsort(s->stack + first, s->n - first, sizeof *s->stack, by_colour);
}

/* Places of a module's leaves, in the order of colours. */
static void order_by_colour(const plan_work *w, uint32_t module, uint32_t *out)
{
    colour_walk s = {0};
    uint32_t n = 0;
    VEC_PUSH(s.stack, s.n, s.cap, ((coloured){0, module}));
    while (s.n > 0) {
        uint32_t t = s.stack[--s.n].tree;
        if (w->tree[t].kind == ELEMENT_LEAF) {
            out[n++] = w->where[w->tree[t].leaf] - w->tree[module].lo;
        } else {
            push_children(w, t, &s);
        }
    }
    free(s.stack);
}

static bool match_by_colour(plan_work *w, pairing *m, uint32_t a, uint32_t b, uint32_t *order, uint32_t *place,
                            graph_strictness *level)
{
    uint32_t *x = mem_alloc(((size_t)m->size + 1) * sizeof *x), *y = mem_alloc(((size_t)m->size + 1) * sizeof *y);
    order_by_colour(w, a, x);
    order_by_colour(w, b, y);
    for (uint32_t i = 0; i < m->size; i++) {
        order[x[i]] = y[i];
        place[y[i]] = x[i];
    }
    free(x);
    free(y);
    return check_pairing(m, level);
}

bool plan_match(plan_work *w, uint32_t a, uint32_t b, uint32_t *order, graph_strictness *level)
{
    const tree_node *x = &w->tree[a], *y = &w->tree[b];
    pairing m = {w, x->lo, y->lo, plan_size(w, a), NULL, NULL};
    if (x->kind != y->kind || plan_size(w, b) != m.size) {
        return false;
    }
    for (uint32_t i = 0; i < m.size; i++) {
        order[i] = i;
    }
    if (check_pairing(&m, level)) {
        return true;
    }
    if (m.size == 1) {
        return false;
    }
    uint32_t *place = mem_alloc((size_t)m.size * sizeof *place);
    m.order = order;
    m.place = place;
    bool found = match_by_colour(w, &m, a, b, order, place, level);
    if (!found && plan_refine(w, a, b, order)) {
        for (uint32_t i = 0; i < m.size; i++) {
            place[order[i]] = i;
        }
        found = check_pairing(&m, level);
    }
    free(place);
    return found;
}
