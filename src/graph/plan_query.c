/* Questions to a finished plan. */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "graph/plan.h"

void plan_path(const graph_plan *p, uint32_t element, strbuf *out)
{
    uint32_t chain[512];
    size_t n = 0;
    for (; element != 0 && n < sizeof chain / sizeof chain[0]; element = p->elements[element].parent) {
        chain[n++] = element;
    }
    while (n > 0) {
        const plan_element *e = &p->elements[chain[--n]];
        strbuf_puts(out, plan_label(p, chain[n]));
        if (e->n_parts > 0) {
            strbuf_printf(out, " (part %u of %u)", e->part, e->n_parts);
        }
        strbuf_puts(out, n > 0 ? "/" : "");
    }
}

uint32_t plan_child_towards(const graph_plan *p, uint32_t ancestor, uint32_t element)
{
    while (element != 0) {
        uint32_t parent = p->elements[element].parent;
        if (parent == ancestor) {
            return element;
        }
        element = parent;
    }
    return GRAPH_NONE;
}

/* Parents have smaller numbers than their children, so the larger of two can't be an ancestor of the other. */
uint32_t plan_common_ancestor(const graph_plan *p, uint32_t a, uint32_t b)
{
    while (a != b) {
        if (a > b) {
            a = p->elements[a].parent;
        } else {
            b = p->elements[b].parent;
        }
    }
    return a;
}

bool plan_is_back_arc(const graph_plan *p, uint32_t from, uint32_t to)
{
    size_t lo = 0, hi = p->n_back_arcs;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        const uint32_t *arc = p->back_arcs[mid];
        if (arc[0] == from && arc[1] == to) {
            return true;
        }
        if (arc[0] < from || (arc[0] == from && arc[1] < to)) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    return false;
}

/* The member of a family that holds a leaf; GRAPH_NONE when none does. */
static uint32_t member_of(const graph_plan *p, uint32_t family, uint32_t leaf)
{
    for (uint32_t e = leaf; e != 0; e = p->elements[e].parent) {
        if (p->elements[e].family == family && p->elements[e].kind != ELEMENT_STACK) {
            return p->elements[e].member;
        }
    }
    return GRAPH_NONE;
}

uint32_t plan_counterpart(const graph_plan *p, uint32_t family, uint32_t leaf, uint32_t to_member)
{
    if (family >= p->n_families || leaf >= p->n_elements) {
        return GRAPH_NONE;
    }
    const plan_family *f = &p->families[family];
    uint32_t member = member_of(p, family, leaf);
    if (member == GRAPH_NONE || to_member >= f->n_members || f->first_map == UINT64_MAX) {
        return GRAPH_NONE;
    }
    const uint32_t *row = p->map + f->first_map + (uint64_t)member * f->size;
    for (uint32_t i = 0; i < f->size; i++) {
        if (row[i] == leaf) {
            return p->map[f->first_map + (uint64_t)to_member * f->size + i];
        }
    }
    return GRAPH_NONE;
}

/* First of the calls that an element stands for. */
static size_t first_call(const graph_plan *p, uint32_t element)
{
    size_t lo = 0, hi = p->n_calls;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (p->calls[mid][0] < element) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    return lo;
}

static size_t called_nodes(const graph_plan *p, uint32_t element, size_t n, uint32_t *nodes, size_t cap)
{
    for (size_t i = first_call(p, element); i < p->n_calls && p->calls[i][0] == element; i++, n++) {
        if (n < cap) {
            nodes[n] = p->calls[i][1];
        }
    }
    return n;
}

/* Nodes that were contracted into one another are joined by edges: found by walking along those whose leaf it is. */
size_t plan_folded_nodes(const graph_plan *p, uint32_t leaf, uint32_t *nodes, size_t cap)
{
    const graph *g = p->g;
    if (leaf >= p->n_elements || p->elements[leaf].node == GRAPH_NONE) {
        return leaf < p->n_elements ? called_nodes(p, leaf, 0, nodes, cap) : 0;
    }
    map64 seen = {0};
    uint32_t *found = NULL;
    size_t n = 0, n_cap = 0;
    VEC_PUSH(found, n, n_cap, p->elements[leaf].node);
    *map64_put(&seen, found[0]) = 1;
    for (size_t i = 0; i < n; i++) {
        uint32_t v = found[i];
        for (uint32_t k = g->in_first[v]; k < g->in_first[v + 1]; k++) {
            uint32_t u = g->edge_from[k];
            if ((p->element_of[u] == leaf || p->element_of[u] == GRAPH_NONE) && (*map64_put(&seen, u))++ == 0) {
                VEC_PUSH(found, n, n_cap, u);
            }
        }
        /* What a shared parameter feeds is not this leaf's. */
        for (uint32_t k = g->from_first[v]; p->element_of[v] == leaf && k < g->from_first[v + 1]; k++) {
            uint32_t u = g->edge_to[g->from_edge[k]];
            if (p->element_of[u] == leaf && (*map64_put(&seen, u))++ == 0) {
                VEC_PUSH(found, n, n_cap, u);
            }
        }
    }
    if (cap > 0) {
        memcpy(nodes, found, (n < cap ? n : cap) * sizeof *nodes);
    }
    free(found);
    map64_deinit(&seen);
    return called_nodes(p, leaf, n, nodes, cap);
}
