#include "graph/plan_order.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "graph/scc.h"

typedef struct order_work {
    size_t n;
    uint32_t *first, *to, *weight;            /* arcs out */
    uint32_t *in_first, *in_from, *in_weight; /* arcs in */
    uint32_t *component;
    size_t n_components;
    cancel_flag *cancel;
} order_work;

static void index_arcs(size_t n, const order_arc *arcs, size_t m, bool out, uint32_t *first, uint32_t *other,
                       uint32_t *weight)
{
    memset(first, 0, (n + 2) * sizeof *first);
    for (size_t i = 0; i < m; i++) {
        if (arcs[i].from != arcs[i].to) {
            first[(out ? arcs[i].from : arcs[i].to) + 2]++;
        }
    }
    for (size_t i = 2; i < n + 2; i++) {
        first[i] += first[i - 1];
    }
    for (size_t i = 0; i < m; i++) {
        if (arcs[i].from != arcs[i].to) {
            uint32_t k = first[(out ? arcs[i].from : arcs[i].to) + 1]++;
            other[k] = out ? arcs[i].to : arcs[i].from;
            weight[k] = arcs[i].weight;
        }
    }
}

/* A heap of vertices by what removing them next would gain; entries that are out of date are skipped. */
typedef struct heap_entry {
    int64_t gain;
    uint32_t vertex;
} heap_entry;
typedef struct heap {
    heap_entry *items;
    size_t n, cap;
} heap;

static bool before(heap_entry a, heap_entry b)
{
    return a.gain != b.gain ? a.gain > b.gain : a.vertex < b.vertex;
}

static void heap_push(heap *h, heap_entry e)
{
    VEC_PUSH(h->items, h->n, h->cap, e);
    size_t i = h->n - 1;
    while (i > 0 && before(e, h->items[(i - 1) / 2])) {
        h->items[i] = h->items[(i - 1) / 2];
        i = (i - 1) / 2;
    }
    h->items[i] = e;
}

static heap_entry heap_pop(heap *h)
{
    heap_entry top = h->items[0], e = h->items[--h->n];
    size_t i = 0;
    for (;;) {
        size_t k = 2 * i + 1;
        if (k >= h->n) {
            break;
        }
        k += k + 1 < h->n && before(h->items[k + 1], h->items[k]);
        if (!before(h->items[k], e)) {
            break;
        }
        h->items[i] = h->items[k];
        i = k;
    }
    if (h->n > 0) {
        h->items[i] = e;
    }
    return top;
}

/* State of the heuristic inside one component. */
typedef struct feedback {
    order_work *w;
    uint8_t *gone;
    int64_t *in, *out; /* weights that are left */
    uint32_t *ends;    /* stack of sources and sinks */
    size_t n_ends;
    heap h;
} feedback;

static void lower(feedback *f, uint32_t v, int64_t weight, bool incoming)
{
    if (f->gone[v]) {
        return;
    }
    int64_t *side = incoming ? &f->in[v] : &f->out[v];
    *side -= weight;
    if (*side == 0) {
        f->ends[f->n_ends++] = v;
    }
    heap_push(&f->h, (heap_entry){f->out[v] - f->in[v], v});
}

static void take(feedback *f, uint32_t v)
{
    order_work *w = f->w;
    f->gone[v] = 1;
    for (uint32_t i = w->first[v]; i < w->first[v + 1]; i++) {
        if (w->component[w->to[i]] == w->component[v]) {
            lower(f, w->to[i], w->weight[i], true);
        }
    }
    for (uint32_t i = w->in_first[v]; i < w->in_first[v + 1]; i++) {
        if (w->component[w->in_from[i]] == w->component[v]) {
            lower(f, w->in_from[i], w->in_weight[i], false);
        }
    }
}

/* Vertices of a component in order: sources to the left, sinks to the right, else what gains most to the left. */
static void order_component(feedback *f, uint32_t *v, size_t n)
{
    order_work *w = f->w;
    for (size_t i = 0; i < n; i++) {
        f->in[v[i]] = f->out[v[i]] = 0;
        for (uint32_t k = w->first[v[i]]; k < w->first[v[i] + 1]; k++) {
            f->out[v[i]] += w->component[w->to[k]] == w->component[v[i]] ? w->weight[k] : 0;
        }
        for (uint32_t k = w->in_first[v[i]]; k < w->in_first[v[i] + 1]; k++) {
            f->in[v[i]] += w->component[w->in_from[k]] == w->component[v[i]] ? w->in_weight[k] : 0;
        }
        heap_push(&f->h, (heap_entry){f->out[v[i]] - f->in[v[i]], v[i]});
    }
    size_t left = 0, right = n;
    while (left < right && !((left & 0xFFF) == 0 && is_cancelled(w->cancel))) {
        uint32_t next;
        if (f->n_ends > 0) {
            next = f->ends[--f->n_ends];
        } else {
            heap_entry e = heap_pop(&f->h);
            next = e.gain == f->out[e.vertex] - f->in[e.vertex] ? e.vertex : UINT32_MAX;
        }
        if (next == UINT32_MAX || f->gone[next]) {
            continue;
        }
        bool sink = f->out[next] == 0 && f->in[next] > 0;
        v[sink ? --right : left++] = next;
        take(f, next);
    }
    f->h.n = f->n_ends = 0;
}

/* Vertices by component, in topological order of the components; inside one by number. */
static void group_components(const order_work *w, uint32_t *sorted, uint32_t *first)
{
    memset(first, 0, (w->n_components + 2) * sizeof *first);
    for (size_t v = 0; v < w->n; v++) {
        first[w->n_components - 1 - w->component[v] + 2]++;
    }
    for (size_t c = 2; c < w->n_components + 2; c++) {
        first[c] += first[c - 1];
    }
    for (size_t v = 0; v < w->n; v++) {
        sorted[first[w->n_components - 1 - w->component[v] + 1]++] = (uint32_t)v;
    }
}

static bool order_by_components(order_work *w, uint32_t *place, size_t m)
{
    size_t n = w->n;
    uint32_t *sorted = mem_alloc(n * sizeof *sorted);
    uint32_t *first = mem_alloc((w->n_components + 2) * sizeof *first);
    group_components(w, sorted, first);
    feedback f = {.w = w};
    bool cyclic = w->n_components < n;
    if (cyclic) {
        f.gone = mem_calloc(n, 1);
        f.in = mem_alloc(n * sizeof *f.in);
        f.out = mem_alloc(n * sizeof *f.out);
        f.ends = mem_alloc((n + 2 * m + 1) * sizeof *f.ends);
    }
    for (size_t c = 0; c < w->n_components; c++) {
        if (first[c + 1] - first[c] > 1) {
            order_component(&f, sorted + first[c], first[c + 1] - first[c]);
        }
    }
    for (size_t i = 0; i < n; i++) {
        place[sorted[i]] = (uint32_t)i;
    }
    free(f.gone);
    free(f.in);
    free(f.out);
    free(f.ends);
    free(f.h.items);
    free(sorted);
    free(first);
    return cyclic;
}

bool order_children(size_t n, const order_arc *arcs, size_t m, uint32_t *place, uint32_t *component,
                    cancel_flag *cancel)
{
    bool ascending = true;
    for (size_t i = 0; i < m && ascending; i++) {
        ascending = arcs[i].from <= arcs[i].to;
    }
    if (ascending) { /* the order of the input is one already */
        for (size_t i = 0; i < n; i++) {
            place[i] = (uint32_t)i;
            if (component) {
                component[i] = (uint32_t)(n - 1 - i);
            }
        }
        return false;
    }
    uint32_t *block = mem_alloc((3 * n + 4 + 4 * m) * sizeof *block);
    order_work w = {.n = n, .cancel = cancel};
    w.first = block;
    w.in_first = block + n + 2;
    w.component = block + 2 * n + 4;
    w.to = block + 3 * n + 4;
    w.weight = w.to + m;
    w.in_from = w.to + 2 * m;
    w.in_weight = w.to + 3 * m;
    index_arcs(n, arcs, m, true, w.first, w.to, w.weight);
    index_arcs(n, arcs, m, false, w.in_first, w.in_from, w.in_weight);
    w.n_components = scc_components(n, w.first, w.to, w.component, cancel);
    bool cyclic = order_by_components(&w, place, m);
    if (component) {
        memcpy(component, w.component, n * sizeof *component);
    }
    for (size_t i = 0; i < n && is_cancelled(cancel); i++) { /* whatever there is may be half an order */
        place[i] = (uint32_t)i;
    }
    free(block);
    return cyclic;
}
