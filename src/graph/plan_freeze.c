/* The last step of a plan: the tree as elements, breadth first, with what they hold. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "graph/plan_work.h"

/* Tree nodes breadth first. place: by tree node, its element. */
static size_t number_elements(const plan_work *w, uint32_t *queue, uint32_t *place)
{
    size_t n = 0;
    queue[n++] = 0;
    for (size_t i = 0; i < n && !plan_stop(w, i); i++) {
        place[queue[i]] = (uint32_t)i;
        uint32_t t = w->tree[queue[i]].kind == ELEMENT_LEAF ? GRAPH_NONE : plan_inner(w, queue[i])->first_child;
        for (; t != GRAPH_NONE; t = w->tree[t].next) {
            queue[n++] = t;
        }
    }
    return n;
}

static void fill_element(const plan_work *w, uint32_t t, const uint32_t *place, plan_element *e)
{
    const tree_node *n = &w->tree[t];
    *e = (plan_element){.parent = place[n->parent],
                        .node = GRAPH_NONE,
                        .scope = GRAPH_NONE,
                        .label = n->label,
                        .family = GRAPH_NONE,
                        .kind = n->kind};
    if (n->kind == ELEMENT_LEAF) {
        e->node = w->leaf_node[n->leaf];
        return;
    }
    const tree_inner *i = plan_inner(w, t);
    e->first_child = i->first_child == GRAPH_NONE ? 0 : place[i->first_child];
    e->n_children = i->n_children;
    e->scope = i->scope;
    e->family = i->family;
    e->part = i->part;
    e->n_parts = i->n_parts;
}

/* Nodes of the input inside each leaf; a parameter that several show counts where it is consumed first. */
static void count_leaf_nodes(const plan_work *w, const uint32_t *place)
{
    const graph *g = w->g;
    for (uint32_t i = 0; i < g->n_nodes && !plan_stop(w, i); i++) {
        if (g->node_flags[i] & GRAPH_IMPLIED) {
            continue;
        }
        uint32_t node = i;
        /* What passes parameters on is itself no leaf: follow the first consumer. Bounded: such chains are short, and
         * a long one is counted at the root. */
        for (unsigned k = 0; k < 64 && w->leaf_of[node] == GRAPH_NONE; k++) {
            node = g->edge_to[g->from_edge[g->from_first[node]]];
        }
        uint32_t leaf = w->leaf_of[node];
        w->p->elements[leaf == GRAPH_NONE ? 0 : place[w->leaf_tree[leaf]]].n_nodes++;
    }
}

static int by_element(const void *a, const void *b)
{
    const uint32_t *x = a, *y = b;
    if (x[0] != y[0]) {
        return x[0] < y[0] ? -1 : 1;
    }
    return x[1] < y[1] ? -1 : x[1] > y[1];
}

/* Calls leave the lists of leaves for their modules. */
static void place_calls(const plan_work *w, const uint32_t *place)
{
    graph_plan *p = w->p;
    p->calls = mem_alloc((w->n_calls + 1) * sizeof *p->calls);
    p->n_calls = w->n_calls;
    for (size_t i = 0; i < w->n_calls; i++) {
        uint32_t node = w->calls[i], leaf = place[w->leaf_tree[w->leaf_of[node]]];
        uint32_t element = place[plan_call_tree(w, node)];
        p->calls[i][0] = element;
        p->calls[i][1] = node;
        p->elements[leaf].n_nodes--;
        p->elements[element].n_nodes++;
    }
    if (p->n_calls > 1) {
        qsort(p->calls, p->n_calls, sizeof *p->calls, by_element);
    }
}

/* How many operators of each class and phase a module holds. */
typedef struct tally {
    uint32_t classes[GRAPH_CLASS_COUNT], phases[GRAPH_PHASE_COUNT];
} tally;

static uint8_t most(const uint32_t *counts, size_t n)
{
    size_t best = 0;
    for (size_t i = 1; i < n; i++) {
        best = counts[i] > counts[best] ? i : best;
    }
    return (uint8_t)best;
}

static void settle(plan_element *e, tally *own, tally *up)
{
    for (size_t k = 0; k < GRAPH_CLASS_COUNT; k++) {
        up->classes[k] += own->classes[k];
    }
    for (size_t k = 0; k < GRAPH_PHASE_COUNT; k++) {
        up->phases[k] += own->phases[k];
    }
    e->klass = most(own->classes, GRAPH_CLASS_COUNT);
    e->phase = most(own->phases, GRAPH_PHASE_COUNT);
}

/* Sums from the leaves up: children have larger numbers than their parents. */
static void add_up(const plan_work *w, graph_plan *p)
{
    const graph *g = p->g;
    uint32_t *inner = mem_alloc(p->n_elements * sizeof *inner);
    size_t n = 0;
    for (size_t i = 0; i < p->n_elements && !plan_stop(w, i); i++) {
        inner[i] = p->elements[i].kind == ELEMENT_LEAF ? GRAPH_NONE : (uint32_t)n++;
    }
    if (is_cancelled(w->o.cancel)) {
        free(inner);
        return;
    }
    tally *tallies = mem_calloc(n + 1, sizeof *tallies);
    for (size_t i = p->n_elements; i-- > 0 && !plan_stop(w, i);) {
        plan_element *e = &p->elements[i], *parent = &p->elements[e->parent];
        tally *up = i == 0 ? &tallies[n] : &tallies[inner[e->parent]];
        if (e->kind == ELEMENT_LEAF) {
            e->n_leaves = 1;
            e->klass = g->node_class[e->node];
            e->phase = g->node_phase[e->node];
            up->classes[e->klass]++;
            up->phases[e->phase]++;
        } else {
            settle(e, &tallies[inner[i]], up);
        }
        if (i > 0) {
            parent->n_nodes += e->n_nodes;
            parent->n_leaves += e->n_leaves;
        }
    }
    for (size_t i = 1; i < p->n_elements && !plan_stop(w, i); i++) {
        uint8_t depth = p->elements[p->elements[i].parent].depth;
        p->elements[i].depth = (uint8_t)(depth + (depth < UINT8_MAX));
    }
    free(tallies);
    free(inner);
}

/* Families and back arcs speak of tree nodes and leaves until here. */
static void rename_all(const plan_work *w, const uint32_t *place)
{
    graph_plan *p = w->p;
    for (size_t i = 0; i < p->n_members; i++) {
        p->members[i] = place[p->members[i]];
    }
    for (uint64_t i = 0; i < p->n_map; i++) {
        p->map[i] = place[w->leaf_tree[p->map[i]]];
    }
    for (size_t i = 0; i < p->n_families; i++) {
        plan_family *f = &p->families[i];
        f->stack = f->stack == GRAPH_NONE ? GRAPH_NONE : place[f->stack];
        for (uint32_t k = 0; k < f->n_members; k++) {
            plan_element *e = &p->elements[p->members[f->first_member + k]];
            e->family = (uint32_t)i;
            e->member = k;
        }
    }
    for (size_t i = 0; i < p->n_back_arcs; i++) {
        p->back_arcs[i][0] = place[p->back_arcs[i][0]];
        p->back_arcs[i][1] = place[p->back_arcs[i][1]];
    }
    if (p->n_back_arcs > 0) {
        qsort(p->back_arcs, p->n_back_arcs, sizeof *p->back_arcs, by_element);
        size_t n = 1;
        for (size_t i = 1; i < p->n_back_arcs; i++) {
            if (by_element(p->back_arcs[i], p->back_arcs[n - 1]) != 0) {
                memmove(p->back_arcs[n++], p->back_arcs[i], sizeof *p->back_arcs);
            }
        }
        p->n_back_arcs = n;
    }
}

/* What is shown with everything open and each stack at its first member. */
static void count_stacked(const plan_work *w)
{
    const graph *g = w->g;
    graph_plan *p = w->p;
    uint8_t *hidden = mem_calloc(p->n_elements, 1);
    size_t nodes = 0, edges = 0;
    for (size_t i = 1; i < p->n_elements && !plan_stop(w, i); i++) {
        const plan_element *e = &p->elements[i];
        hidden[i] = hidden[e->parent] || (p->elements[e->parent].kind == ELEMENT_STACK && e->member > 0);
        nodes += !hidden[i] && !(e->kind == ELEMENT_LEAF && (g->node_flags[e->node] & GRAPH_IMPLIED));
    }
    for (size_t i = 0; i < g->n_edges && !plan_stop(w, i); i++) {
        uint32_t a = p->element_of[g->edge_from[i]], b = p->element_of[g->edge_to[i]];
        edges += a != b && a != GRAPH_NONE && b != GRAPH_NONE && !hidden[a] && !hidden[b] &&
                 !(g->edge_flags[i] & GRAPH_IMPLIED);
    }
    free(hidden);
    plan_step_count *c = &p->steps[STEP_STACK], *before = &p->steps[STEP_CYCLES], *prune = &p->steps[STEP_PRUNE];
    *prune = (plan_step_count){w->o.steps[STEP_PRUNE], before->nodes_after, before->nodes_after,
                               before->edges_after,    before->edges_after, 0};
    c->nodes_before = before->nodes_after;
    c->edges_before = before->edges_after;
    c->nodes_after = nodes;
    c->edges_after = edges;
}

/* Elements with their sums. @return false when cancelled */
static bool make_elements(plan_work *w, const uint32_t *queue, const uint32_t *place)
{
    graph_plan *p = w->p;
    p->elements = mem_alloc(p->n_elements * sizeof *p->elements);
    for (size_t i = 0; i < p->n_elements; i++) {
        if (plan_stop(w, i)) {
            return false;
        }
        fill_element(w, queue[i], place, &p->elements[i]);
    }
    count_leaf_nodes(w, place);
    place_calls(w, place);
    free(w->tree); /* the elements say it all from here on */
    free(w->inner);
    w->tree = NULL;
    w->inner = NULL;
    w->n_tree = w->cap_tree = w->n_inner = w->cap_inner = 0;
    mem_give_back();
    if (is_cancelled(w->o.cancel)) {
        return false;
    }
    add_up(w, p);
    return !is_cancelled(w->o.cancel);
}

static void show_by_elements(plan_work *w, const uint32_t *place)
{
    graph_plan *p = w->p;
    p->element_of = w->leaf_of;
    w->leaf_of = NULL;
    for (size_t i = 0; i < w->g->n_nodes && !plan_stop(w, i); i++) {
        uint32_t leaf = p->element_of[i];
        p->element_of[i] = leaf == GRAPH_NONE ? GRAPH_NONE : place[w->leaf_tree[leaf]];
    }
    for (size_t i = 0; i < p->n_calls; i++) {
        p->element_of[p->calls[i][1]] = p->calls[i][0];
    }
}

marey_status plan_freeze(plan_work *w)
{
    graph_plan *p = w->p;
    uint32_t *queue = mem_alloc(w->n_tree * sizeof *queue);
    uint32_t *place = mem_alloc(w->n_tree * sizeof *place);
    p->n_elements = number_elements(w, queue, place);
    marey_status status = MAREY_CANCELLED;
    if (!is_cancelled(w->o.cancel) && make_elements(w, queue, place)) {
        rename_all(w, place);
        show_by_elements(w, place);
        p->text = mem_realloc_array(w->labels.text, w->labels.n, 1);
        p->n_text = w->labels.n;
        w->labels.text = NULL;
        if (!is_cancelled(w->o.cancel)) {
            count_stacked(w);
        }
        status = is_cancelled(w->o.cancel) ? MAREY_CANCELLED : MAREY_OK;
    }
    free(queue);
    free(place);
    return status;
}
