#include "graph/visible_edges.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "graph/visible_build.h"

enum { RUN_LEAST = 8 };

static bool communicates(const graph *g, uint32_t node)
{
    uint8_t c = g->node_class[node];
    return c == GRAPH_CLASS_COLLECTIVE || c == GRAPH_CLASS_SEND || c == GRAPH_CLASS_RECEIVE;
}

void edge_sum_add(edge_sum *s, const graph *g, uint32_t edge)
{
    uint8_t f = g->edge_flags[edge];
    s->n++;
    s->n_implied += (f & GRAPH_IMPLIED) != 0;
    s->n_control += (f & GRAPH_CONTROL) != 0;
    s->n_p2p += (f & GRAPH_P2P) != 0;
    s->n_comm += communicates(g, g->edge_from[edge]) || communicates(g, g->edge_to[edge]);
    s->bytes += graph_edge_bytes(g, edge);
}

static void add_sum(edge_sum *s, const edge_sum *by)
{
    s->n += by->n;
    s->n_implied += by->n_implied;
    s->n_control += by->n_control;
    s->n_p2p += by->n_p2p;
    s->n_comm += by->n_comm;
    s->bytes += by->bytes;
}

uint8_t edge_sum_flags(const edge_sum *s)
{
    unsigned flags = s->n_control > 0 ? LINE_CONTROL : 0;
    flags |= s->n > s->n_control ? LINE_DATA : 0;
    flags |= s->n_p2p > 0 ? LINE_P2P : 0;
    flags |= s->n_comm > 0 ? LINE_COMM : 0;
    return (uint8_t)flags;
}

/* Where the ends of an edge part: the children on the way to them, or the element itself. */
typedef struct parting {
    uint32_t element, from, to;
} parting;

/* Parents have lower numbers than children, so the higher of two is never around the lower. */
static parting part(const graph_plan *p, uint32_t x, uint32_t y)
{
    parting q = {GRAPH_NONE, x, y};
    while (x != y) {
        if (x > y) {
            q.from = x;
            x = p->elements[x].parent;
        } else {
            q.to = y;
            y = p->elements[y].parent;
        }
    }
    q.element = x;
    return q;
}

typedef struct maker {
    const graph_plan *p;
    cancel_flag *cancel;
    visible_edges *e;
    uint32_t *at;                     /* [n_edges] element; GRAPH_NONE: never to be seen */
    uint32_t *from, *to;              /* of the element at hand: its edges' children, counted from its first */
    uint32_t *order, *scratch, *count;
    uint32_t *walk; /* [n_elements] place in a walk through the tree, depth first; made when wanted */
    size_t cap_from, cap_to, cap_order, cap_scratch, cap_count, cap_runs, cap_blocks, cap_into, cap_stacks;
    size_t cap_first_into;
} maker;

static bool stopped(const maker *m, size_t i)
{
    return (i & 0x3fff) == 0 && is_cancelled(m->cancel);
}

static bool find_elements(maker *m)
{
    const graph *g = m->p->g;
    for (size_t i = 0; i < g->n_edges; i++) {
        uint32_t x = m->p->element_of[g->edge_from[i]];
        uint32_t y = m->p->element_of[g->edge_to[i]];
        bool never = x == y || x == GRAPH_NONE || y == GRAPH_NONE;
        m->at[i] = never ? GRAPH_NONE : part(m->p, x, y).element;
        if (!never) {
            m->e->first[m->at[i] + 1]++;
        }
        if (stopped(m, i)) {
            return false;
        }
    }
    return true;
}

/* In the order of rows: filled from the end, so that no second array is needed. */
static bool place_edges(maker *m)
{
    uint32_t *first = m->e->first;
    size_t n = m->p->n_elements;
    for (size_t k = 0; k < n; k++) {
        first[k + 1] += first[k];
    }
    uint32_t sum = first[n];
    m->e->edge = mem_alloc_large((sum + (size_t)1) * sizeof *m->e->edge);
    for (size_t i = m->p->g->n_edges; i-- > 0;) {
        if (m->at[i] != GRAPH_NONE) {
            m->e->edge[--first[m->at[i] + 1]] = (uint32_t)i;
        }
        if (stopped(m, i)) {
            return false;
        }
    }
    memmove(first, first + 1, n * sizeof *first);
    first[n] = sum;
    return true;
}

static void sort_by(maker *m, const uint32_t *key, uint32_t n, uint32_t n_keys)
{
    memset(m->count, 0, (n_keys + 1U) * sizeof *m->count);
    for (uint32_t i = 0; i < n; i++) {
        m->count[key[m->order[i]] + 1]++;
    }
    for (uint32_t k = 0; k < n_keys; k++) {
        m->count[k + 1] += m->count[k];
    }
    for (uint32_t i = 0; i < n; i++) {
        m->scratch[m->count[key[m->order[i]]]++] = m->order[i];
    }
    memcpy(m->order, m->scratch, n * sizeof *m->order);
}

uint32_t visible_edge_child(const graph_plan *p, uint32_t edge, bool to, uint32_t around)
{
    uint32_t e = p->element_of[to ? p->g->edge_to[edge] : p->g->edge_from[edge]];
    while (e != around && p->elements[e].parent != around) {
        e = p->elements[e].parent;
    }
    return e;
}

/* Children come after their parents, and side by side. */
static void walk_tree(maker *m)
{
    const graph_plan *p = m->p;
    uint32_t *size = mem_alloc((p->n_elements + 1) * sizeof *size);
    m->walk = mem_alloc((p->n_elements + 1) * sizeof *m->walk);
    for (size_t e = 0; e < p->n_elements; e++) {
        size[e] = 1;
    }
    for (size_t e = p->n_elements; e-- > 1;) {
        size[p->elements[e].parent] += size[e];
    }
    m->walk[0] = 0;
    for (size_t e = 0; e < p->n_elements && !stopped(m, e); e++) {
        uint32_t at = m->walk[e] + 1;
        for (uint32_t c = p->elements[e].first_child; c < p->elements[e].first_child + p->elements[e].n_children; c++) {
            m->walk[c] = at;
            at += size[c];
        }
    }
    free(size);
}

typedef struct by_walk {
    uint32_t hub, walk, edge; /* hub: the element that it starts at; GRAPH_NONE: of no matter */
} by_walk;

static int compare_walk(const void *a, const void *b)
{
    const by_walk *x = a;
    const by_walk *y = b;
    if (x->hub != y->hub) {
        return x->hub < y->hub ? -1 : 1;
    }
    return x->walk != y->walk ? (x->walk < y->walk ? -1 : 1) : (x->edge > y->edge) - (x->edge < y->edge);
}

static void sort_walk(by_walk *all, uint32_t n)
{
    bool sorted = true;
    for (uint32_t i = 1; i < n && sorted; i++) {
        sorted = compare_walk(&all[i - 1], &all[i]) < 0;
    }
    if (!sorted) {
        qsort(all, n, sizeof *all, compare_walk);
    }
}

static uint32_t same_hub(const by_walk *all, uint32_t n, uint32_t i)
{
    uint32_t end = i;
    while (end < n && all[end].hub == all[i].hub) {
        end++;
    }
    return end;
}

/* By hubs; what starts at no hub comes last. Where hubs are not most of it, there are none. */
static void find_hubs(by_walk *all, uint32_t n)
{
    uint32_t at_hubs = 0;
    sort_walk(all, n);
    for (uint32_t i = 0, end = 0; i < n; i = end) {
        end = same_hub(all, n, i);
        at_hubs += end - i >= RUN_LEAST ? end - i : 0;
    }
    for (uint32_t i = 0, end = 0; i < n; i = end) {
        end = same_hub(all, n, i);
        for (uint32_t k = i; k < end; k++) {
            all[k].hub = end - i >= RUN_LEAST && at_hubs >= n / 2 ? all[k].hub : GRAPH_NONE;
        }
    }
    sort_walk(all, n);
}

static void add_run(maker *m, edge_run r, uint32_t n)
{
    edge_sum block = {0};
    r.first_block = m->e->n_blocks;
    for (uint32_t i = 0; i < n && !stopped(m, i); i++) {
        edge_sum_add(&block, m->p->g, m->e->edge[r.first + i]);
        if ((i + 1) % EDGE_BLOCK == 0) {
            VEC_PUSH(m->e->blocks, m->e->n_blocks, m->cap_blocks, block);
            add_sum(&r.sum, &block);
            block = (edge_sum){0};
        }
    }
    add_sum(&r.sum, &block);
    VEC_PUSH(m->e->runs, m->e->n_runs, m->cap_runs, r);
}

/* Many edges between the same two: one run, or of each hub one. */
static void push_runs(maker *m, uint32_t element, edge_run r, uint32_t n)
{
    const graph_plan *p = m->p;
    const graph *g = p->g;
    uint32_t *edge = m->e->edge + r.first;
    bool out_of_module = r.from != element && p->elements[r.from].n_children > 0;
    r.splits_to = r.to != element && p->elements[r.to].n_children > 0;
    if (!m->walk && (r.splits_to || out_of_module)) {
        walk_tree(m);
    }
    if (!m->walk || is_cancelled(m->cancel)) {
        add_run(m, r, n);
        return;
    }
    by_walk *all = mem_alloc(n * sizeof *all);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t x = p->element_of[g->edge_from[edge[i]]];
        uint32_t y = p->element_of[g->edge_to[edge[i]]];
        all[i] = (by_walk){r.splits_to && out_of_module ? x : GRAPH_NONE, m->walk[r.splits_to ? y : x], edge[i]};
    }
    if (r.splits_to && out_of_module) {
        find_hubs(all, n);
    } else {
        sort_walk(all, n);
    }
    for (uint32_t i = 0; i < n; i++) {
        edge[i] = all[i].edge;
    }
    for (uint32_t i = 0, end = 0; i < n; i = end) {
        end = same_hub(all, n, i);
        edge_run part = {r.first + i, all[i].hub != GRAPH_NONE ? all[i].hub : r.from, r.to, r.splits_to, 0, {0}};
        if (end - i >= RUN_LEAST) {
            add_run(m, part, end - i);
        }
    }
    free(all);
}

static void push_stack(maker *m, uint32_t element, const uint32_t *edge, uint32_t n)
{
    size_t n_first = m->e->n_stacks;
    VEC_PUSH(m->e->first_into, n_first, m->cap_first_into, m->e->n_into);
    VEC_PUSH(m->e->stacks, m->e->n_stacks, m->cap_stacks, element);
    VEC_RESERVE(m->e->into, m->cap_into, m->e->n_into + n);
    for (uint32_t i = 0; i < n; i++) {
        m->e->into[m->e->n_into++] = edge[m->order[i]];
    }
}

/* Those between the same two children side by side; many of them are a run. */
static void sort_element(maker *m, uint32_t element, uint32_t lo, uint32_t n)
{
    const plan_element *a = &m->p->elements[element];
    const graph *g = m->p->g;
    uint32_t *edge = m->e->edge + lo;
    VEC_RESERVE(m->from, m->cap_from, n);
    VEC_RESERVE(m->to, m->cap_to, n);
    VEC_RESERVE(m->order, m->cap_order, n);
    VEC_RESERVE(m->scratch, m->cap_scratch, n);
    VEC_RESERVE(m->count, m->cap_count, a->n_children + 2U);
    for (uint32_t i = 0; i < n; i++) {
        parting q = part(m->p, m->p->element_of[g->edge_from[edge[i]]], m->p->element_of[g->edge_to[edge[i]]]);
        m->from[i] = q.from == element ? a->n_children : q.from - a->first_child;
        m->to[i] = q.to == element ? a->n_children : q.to - a->first_child;
        m->order[i] = i;
        if (stopped(m, i)) {
            return;
        }
    }
    sort_by(m, m->to, n, a->n_children + 1);
    if (a->kind == ELEMENT_STACK) {
        push_stack(m, element, edge, n);
    }
    sort_by(m, m->from, n, a->n_children + 1);
    for (uint32_t i = 0; i < n; i++) {
        m->scratch[i] = edge[m->order[i]];
    }
    memcpy(edge, m->scratch, n * sizeof *edge);
    for (uint32_t i = 0, end = 0; i < n && !stopped(m, i); i = end) {
        uint32_t k = m->order[i];
        while (end < n && m->from[m->order[end]] == m->from[k] && m->to[m->order[end]] == m->to[k]) {
            end++;
        }
        if (end - i >= RUN_LEAST) {
            edge_run r = {.first = lo + i,
                          .from = m->from[k] < a->n_children ? a->first_child + m->from[k] : element,
                          .to = m->to[k] < a->n_children ? a->first_child + m->to[k] : element};
            push_runs(m, element, r, end - i);
        }
    }
}

static bool sort_elements(maker *m)
{
    for (uint32_t k = 0; k < m->p->n_elements; k++) {
        uint32_t lo = m->e->first[k];
        uint32_t n = m->e->first[k + 1] - lo;
        if (n >= RUN_LEAST) {
            sort_element(m, k, lo, n);
        }
        if (stopped(m, k)) {
            return false;
        }
    }
    return !is_cancelled(m->cancel);
}

visible_edges *visible_edges_create(const graph_plan *p, cancel_flag *cancel)
{
    maker m = {.p = p, .cancel = cancel, .e = mem_calloc(1, sizeof *m.e)};
    m.e->first = mem_calloc(p->n_elements + 2, sizeof *m.e->first);
    m.at = mem_alloc_large((p->g->n_edges + 1) * sizeof *m.at);
    bool done = find_elements(&m) && place_edges(&m) && sort_elements(&m);
    free(m.at);
    free(m.from);
    free(m.to);
    free(m.order);
    free(m.scratch);
    free(m.count);
    free(m.walk);
    if (!done) {
        visible_edges_destroy(&m.e);
        return NULL;
    }
    m.e->runs = mem_realloc_array(m.e->runs, m.e->n_runs + 1, sizeof *m.e->runs);
    m.e->blocks = mem_realloc_array(m.e->blocks, m.e->n_blocks + 1, sizeof *m.e->blocks);
    m.e->into = mem_realloc_array(m.e->into, m.e->n_into + 1, sizeof *m.e->into);
    return m.e;
}

uint32_t visible_edges_before(const graph_plan *p, edge_range r, bool to, uint32_t around, uint32_t child)
{
    uint32_t lo = 0;
    for (uint32_t hi = r.n; lo < hi;) {
        uint32_t mid = lo + (hi - lo) / 2;
        bool before = visible_edge_child(p, r.at[mid], to, around) < child;
        lo = before ? mid + 1 : lo;
        hi = before ? hi : mid;
    }
    return lo;
}

edge_sum visible_edges_sum(const graph_plan *p, const visible_edges *e, const edge_run *r, uint32_t lo, uint32_t hi)
{
    edge_sum s = {0};
    if (lo == 0 && hi == r->sum.n) {
        return r->sum;
    }
    while (lo < hi) {
        if (lo % EDGE_BLOCK == 0 && lo + EDGE_BLOCK <= hi) {
            add_sum(&s, &e->blocks[r->first_block + lo / EDGE_BLOCK]);
            lo += EDGE_BLOCK;
        } else {
            edge_sum_add(&s, p->g, e->edge[r->first + lo++]);
        }
    }
    return s;
}

edge_range visible_edges_into(const visible_edges *e, uint32_t stack)
{
    size_t lo = 0;
    for (size_t hi = e->n_stacks; lo < hi;) {
        size_t mid = lo + (hi - lo) / 2;
        lo = e->stacks[mid] < stack ? mid + 1 : lo;
        hi = e->stacks[mid] < stack ? hi : mid;
    }
    if (lo == e->n_stacks || e->stacks[lo] != stack) {
        return (edge_range){NULL, 0};
    }
    return (edge_range){e->into + e->first_into[lo], e->first[stack + 1] - e->first[stack]};
}

void visible_edges_destroy(visible_edges **e)
{
    if (*e) {
        free((*e)->first);
        free((*e)->edge);
        free((*e)->runs);
        free((*e)->blocks);
        free((*e)->into);
        free((*e)->stacks);
        free((*e)->first_into);
        free(*e);
        *e = NULL;
    }
}
