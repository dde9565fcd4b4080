/* graph_plan_check(): the invariants of graph/plan.h. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "graph/plan.h"

static const char *check_tree(const graph_plan *p)
{
    size_t next = 1;
    if (p->n_elements == 0 || p->elements[0].kind != ELEMENT_ROOT || p->elements[0].parent != 0) {
        return "element 0 is not the root";
    }
    for (size_t i = 0; i < p->n_elements; i++) {
        const plan_element *e = &p->elements[i];
        if (e->label >= p->n_text || e->kind > ELEMENT_LEAF || e->part > e->n_parts) {
            return "an element's label, kind or part is out of range";
        }
        if ((e->kind == ELEMENT_LEAF) != (e->node != GRAPH_NONE) || (e->kind == ELEMENT_LEAF && e->n_children > 0) ||
            (e->kind != ELEMENT_LEAF && e->n_children == 0)) {
            return "a leaf without node, or a module without children";
        }
        if ((e->kind == ELEMENT_MODULE) != (e->scope != GRAPH_NONE && i > 0) ||
            (e->scope != GRAPH_NONE && e->scope >= p->g->n_scopes)) {
            return "a module without scope";
        }
        if (e->n_children > 0 && e->first_child != next) {
            return "children are not consecutive in the order of their parents";
        }
        for (size_t k = 0; k < e->n_children; k++) {
            if (next + k >= p->n_elements || p->elements[next + k].parent != i) {
                return "a child does not know its parent";
            }
        }
        next += e->n_children;
    }
    return next == p->n_elements ? NULL : "elements that no parent has";
}

static const char *check_sums(const graph_plan *p)
{
    size_t call = 0;
    for (size_t i = 0; i < p->n_elements; i++) {
        const plan_element *e = &p->elements[i];
        size_t leaves = e->kind == ELEMENT_LEAF, nodes = 0;
        for (; call < p->n_calls && p->calls[call][0] == i; call++) {
            nodes++;
        }
        for (size_t k = e->first_child; k < (size_t)e->first_child + e->n_children; k++) {
            leaves += p->elements[k].n_leaves;
            nodes += p->elements[k].n_nodes;
        }
        if (leaves != e->n_leaves || (e->n_children > 0 && i > 0 && nodes != e->n_nodes)) {
            return "the sums of an element's leaves or nodes are wrong";
        }
    }
    return p->elements[0].n_nodes == p->g->n_nodes - p->g->n_implied_nodes ? NULL : "the root has not all nodes";
}

static const char *check_nodes(const graph_plan *p)
{
    const graph *g = p->g;
    size_t leaves = 0;
    for (size_t i = 0; i < p->n_elements; i++) {
        const plan_element *e = &p->elements[i];
        if (e->kind == ELEMENT_LEAF) {
            leaves++;
            if (e->node >= g->n_nodes || p->element_of[e->node] != i) {
                return "a leaf does not show its own node";
            }
        }
    }
    size_t own = 0;
    for (size_t i = 0; i < g->n_nodes; i++) {
        uint32_t e = p->element_of[i];
        bool stands_for = e < p->n_elements && p->elements[e].kind == ELEMENT_MODULE &&
                          graph_body_of(g, (uint32_t)i) == g->node_scope[i];
        if (e != GRAPH_NONE && !stands_for && (e >= p->n_elements || p->elements[e].kind != ELEMENT_LEAF)) {
            return "a node is shown by what is no leaf";
        }
        own += e != GRAPH_NONE && p->elements[e].node == i;
    }
    return own == leaves ? NULL : "two leaves show one node";
}

/* An arc between two children of `parent`. */
typedef struct quotient_arc {
    uint32_t parent, from, to;
} quotient_arc;

static int by_parent(const void *a, const void *b)
{
    const quotient_arc *x = a, *y = b;
    if (x->parent != y->parent) {
        return x->parent < y->parent ? -1 : 1;
    }
    if (x->from != y->from) {
        return x->from < y->from ? -1 : 1;
    }
    return x->to < y->to ? -1 : x->to > y->to;
}

/* Kahn's algorithm over the children of one parent, without the back arcs. `waits` is by element. */
static bool is_acyclic(const graph_plan *p, const quotient_arc *arcs, size_t n, uint32_t *waits, uint32_t *queue)
{
    const plan_element *parent = &p->elements[arcs[0].parent];
    size_t n_queue = 0;
    for (size_t i = 0; i < n; i++) {
        waits[arcs[i].to] += !plan_is_back_arc(p, arcs[i].from, arcs[i].to);
    }
    for (uint32_t k = 0; k < parent->n_children; k++) {
        if (waits[parent->first_child + k] == 0) {
            queue[n_queue++] = parent->first_child + k;
        }
    }
    for (size_t i = 0; i < n_queue; i++) {
        size_t lo = 0, hi = n;
        while (lo < hi) {
            size_t mid = lo + (hi - lo) / 2;
            if (arcs[mid].from < queue[i]) {
                lo = mid + 1;
            } else {
                hi = mid;
            }
        }
        for (; lo < n && arcs[lo].from == queue[i]; lo++) {
            if (!plan_is_back_arc(p, arcs[lo].from, arcs[lo].to) && --waits[arcs[lo].to] == 0) {
                queue[n_queue++] = arcs[lo].to;
            }
        }
    }
    return n_queue == parent->n_children;
}

static const char *check_acyclic(const graph_plan *p)
{
    const graph *g = p->g;
    quotient_arc *arcs = mem_alloc((g->n_edges + 1) * sizeof *arcs);
    size_t n = 0;
    for (size_t i = 0; i < g->n_edges; i++) {
        uint32_t a = p->element_of[g->edge_from[i]], b = p->element_of[g->edge_to[i]];
        if (a != b && a != GRAPH_NONE && b != GRAPH_NONE) {
            uint32_t parent = plan_common_ancestor(p, a, b);
            arcs[n++] = (quotient_arc){parent, plan_child_towards(p, parent, a), plan_child_towards(p, parent, b)};
        }
    }
    qsort(arcs, n, sizeof *arcs, by_parent);
    size_t different = 0;
    for (size_t i = 0; i < n; i++) {
        if (i == 0 || by_parent(&arcs[i], &arcs[i - 1]) != 0) {
            arcs[different++] = arcs[i];
        }
    }
    uint32_t *waits = mem_calloc(p->n_elements, sizeof *waits);
    uint32_t *queue = mem_alloc(p->n_elements * sizeof *queue);
    const char *breach = NULL;
    for (size_t i = 0, end = 0; i < different && !breach; i = end) {
        for (end = i; end < different && arcs[end].parent == arcs[i].parent;) {
            end++;
        }
        if (!is_acyclic(p, arcs + i, end - i, waits, queue)) {
            breach = "a module has a cycle without a back arc";
        }
    }
    free(arcs);
    free(waits);
    free(queue);
    return breach;
}

static const char *check_back_arcs(const graph_plan *p)
{
    for (size_t i = 0; i < p->n_back_arcs; i++) {
        const uint32_t *a = p->back_arcs[i];
        if (a[0] >= p->n_elements || a[1] >= p->n_elements || a[0] == a[1] ||
            p->elements[a[0]].parent != p->elements[a[1]].parent) {
            return "a back arc does not join siblings";
        }
        if (i > 0 && (a[0] < a[-2] || (a[0] == a[-2] && a[1] <= a[-1]))) {
            return "back arcs are not sorted";
        }
    }
    return NULL;
}

static bool is_inside(const graph_plan *p, uint32_t element, uint32_t ancestor)
{
    while (element > ancestor) {
        element = p->elements[element].parent;
    }
    return element == ancestor;
}

/* Rows of a mapping: each leaf of each member once, of the same operator type. */
static const char *check_mapping(const graph_plan *p, const plan_family *f, uint8_t *seen)
{
    const graph *g = p->g;
    for (uint32_t m = 0; m < f->n_members; m++) {
        uint32_t member = p->members[f->first_member + m];
        const uint32_t *row = p->map + f->first_map + (uint64_t)m * f->size;
        if (p->elements[member].n_leaves != f->size) {
            return "a member has not as many leaves as its family";
        }
        const char *breach = NULL;
        for (uint32_t i = 0; i < f->size; i++) {
            uint32_t leaf = row[i];
            if (leaf >= p->n_elements || p->elements[leaf].kind != ELEMENT_LEAF || seen[leaf] ||
                !is_inside(p, leaf, member)) {
                return "a family's row is not the leaves of its member";
            }
            seen[leaf] = 1;
            uint32_t first = p->map[f->first_map + i];
            if (g->node_op[p->elements[leaf].node] != g->node_op[p->elements[first].node]) {
                breach = "a family maps different operators";
            }
        }
        for (uint32_t i = 0; i < f->size; i++) {
            seen[row[i]] = 0;
        }
        if (breach) {
            return breach;
        }
    }
    return NULL;
}

static const char *check_families(const graph_plan *p)
{
    const char *breach = NULL;
    uint8_t *seen = mem_calloc(p->n_elements, 1);
    for (size_t i = 0; i < p->n_families && !breach; i++) {
        const plan_family *f = &p->families[i];
        if ((size_t)f->first_member + f->n_members > p->n_members || f->n_members < 2 ||
            f->level >= GRAPH_STRICTNESS_COUNT || f->level > p->options.strictness) {
            breach = "a family's members or level are out of range";
            break;
        }
        for (uint32_t m = 0; m < f->n_members && !breach; m++) {
            const plan_element *e = &p->elements[p->members[f->first_member + m]];
            if (e->family != i || e->member != m || (f->stack != GRAPH_NONE && e->parent != f->stack)) {
                breach = "a member does not know its family";
            }
        }
        if (f->stack != GRAPH_NONE && !breach &&
            (p->elements[f->stack].kind != ELEMENT_STACK || p->elements[f->stack].family != i ||
             p->elements[f->stack].n_children != f->n_members)) {
            breach = "a stack does not know its family";
        }
        if (f->first_map != UINT64_MAX && !breach) {
            bool fits = f->first_map + (uint64_t)f->n_members * f->size <= p->n_map;
            breach = fits ? check_mapping(p, f, seen) : "a family's mapping is out of range";
        }
    }
    free(seen);
    return breach;
}

const char *graph_plan_check(const graph_plan *p)
{
    const char *breach = check_tree(p);
    breach = breach ? breach : check_sums(p);
    breach = breach ? breach : check_nodes(p);
    breach = breach ? breach : check_back_arcs(p);
    breach = breach ? breach : check_families(p);
    return breach ? breach : check_acyclic(p);
}
