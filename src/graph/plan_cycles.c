/*
 * Step four of a plan: from the root down, each module's edges are parted into those between its children and those
 * inside one of them; where the children's quotient graph has a cycle, modules in it are split by re-entry.
 *
 * Splitting. Let the children of a strongly connected component have the order pi of their first levels. Every leaf
 * v gets e(v) = max over its producers u in the component of e(u) + [u and v in different children and pi(u) > pi(v)].
 * An edge never lowers e, and one that keeps it goes forward in pi: so the quotient by (child, e) has no cycle, and
 * each set of one e in one child is convex. Children with two or three values are split into these; with more, only
 * where one gap between the values is wider than all others (forward and backward of a layer are far apart). All in
 * O(V + E). Cycles of control edges, of what was not split, and of the graph itself are left to plan_back.c.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "graph/plan_order.h"
#include "graph/plan_work.h"

typedef struct cycle_work {
    plan_work *w;
    uint32_t *child_of; /* [n_leaves] child of the module at hand */
    uint32_t *e;        /* [n_leaves] */
    uint32_t *buffer;   /* [n_edges] */
    uint32_t *todo;     /* modules to do */
    size_t n_todo, cap_todo;
    uint32_t *children; /* of the module at hand */
    size_t n_children, cap_children;
    uint32_t *copy; /* by tree node: its copy in the part at hand */
    size_t n_copy;
    size_t n_split;
} cycle_work;

static void list_children(cycle_work *c, uint32_t module)
{
    plan_work *w = c->w;
    c->n_children = 0;
    for (uint32_t t = plan_inner(w, module)->first_child; t != GRAPH_NONE; t = w->tree[t].next) {
        w->tree[t].local = (uint32_t)c->n_children;
        VEC_PUSH(c->children, c->n_children, c->cap_children, t);
        for (uint32_t i = w->tree[t].lo, hi = plan_hi(w, t); i < hi && !plan_stop(w, i); i++) {
            c->child_of[w->at[i]] = t;
        }
    }
}

/* Arcs between children by data edges, without those that cut a cycle of operators once ranks are known: no splitting
 * would mend these. `arcs` may be NULL. @return how many; *ascending: none goes back in the order of the children */
static size_t data_arcs(const cycle_work *c, uint32_t module, order_arc *arcs, bool *ascending)
{
    const plan_work *w = c->w;
    const tree_inner *p = plan_inner(w, module);
    size_t m = 0;
    *ascending = true;
    for (uint32_t i = p->arc_lo; i < p->arc_hi && !plan_stop(w, i); i++) {
        uint32_t e = w->perm[i], u = w->edge_from[e], v = w->edge_to[e];
        uint32_t a = w->tree[c->child_of[u]].local, b = w->tree[c->child_of[v]].local;
        if (a == b || edge_is_control(w->edge_label[e]) || (w->rank && w->rank[u] >= w->rank[v])) {
            continue;
        }
        *ascending = *ascending && a < b;
        if (arcs) {
            arcs[m] = (order_arc){a, b, 1};
        }
        m++;
    }
    return m;
}

/* Components of the children. @return whether there is one of several; the caller frees *component then */
static bool find_components(cycle_work *c, uint32_t module, uint32_t **component)
{
    bool ascending, cyclic;
    size_t m = data_arcs(c, module, NULL, &ascending), n = c->n_children;
    if (ascending) {
        return false;
    }
    order_arc *arcs = mem_alloc(m * sizeof *arcs);
    uint32_t *place = mem_alloc(n * sizeof *place);
    *component = mem_alloc(n * sizeof **component);
    m = data_arcs(c, module, arcs, &ascending);
    cyclic = order_children(n, arcs, m, place, *component, c->w->o.cancel);
    if (cyclic && !c->w->rank) {
        plan_need_ranks(c->w);
        m = data_arcs(c, module, arcs, &ascending);
        cyclic = order_children(n, arcs, m, place, *component, c->w->o.cancel);
    }
    free(place);
    free(arcs);
    if (!cyclic) {
        free(*component);
        *component = NULL;
    }
    return cyclic;
}

/* A producer of v inside the module that comes before it; edges that only order do not count. */
static bool leads(const cycle_work *c, uint32_t module, uint32_t k, uint32_t v)
{
    const plan_work *w = c->w;
    uint32_t u = w->edge_from[k];
    return w->tree[c->child_of[u]].parent == module && !edge_is_control(w->edge_label[k]) && w->rank[u] < w->rank[v];
}

typedef struct child_level {
    uint64_t labels; /* of its leaves, with their levels */
    uint32_t level, first, child;
} child_level;

static int by_level(const void *a, const void *b)
{
    const child_level *x = a, *y = b;
    if (x->level != y->level) {
        return x->level < y->level ? -1 : 1;
    }
    if (x->labels != y->labels) {
        return x->labels < y->labels ? -1 : 1;
    }
    return x->first < y->first ? -1 : x->first > y->first;
}

/* pi: children by the level of their first leaf (longest path from the module's sources), and by what they
 * hold, so that equal modules are split alike in whatever order the input has them; that breaks ties. c->e holds levels
 * meanwhile. */
static void order_by_level(cycle_work *c, uint32_t module, const uint32_t *leaves, size_t n, uint32_t *pi)
{
    plan_work *w = c->w;
    child_level *levels = mem_alloc(c->n_children * sizeof *levels);
    for (uint32_t i = 0; i < c->n_children; i++) {
        levels[i] = (child_level){0, UINT32_MAX, UINT32_MAX, i};
    }
    for (uint32_t i = 0; i < n; i++) {
        uint32_t v = leaves[i], level = 0;
        for (uint32_t k = w->in_first[v]; k < w->in_first[v + 1]; k++) {
            if (leads(c, module, k, v)) {
                uint32_t above = c->e[w->edge_from[k]] + 1;
                level = above > level ? above : level;
            }
        }
        c->e[v] = level;
        child_level *l = &levels[w->tree[c->child_of[v]].local];
        l->labels += mix64(w->label[v], level);
        l->level = level < l->level ? level : l->level;
        l->first = i < l->first ? i : l->first;
    }
    qsort(levels, c->n_children, sizeof *levels, by_level);
    for (uint32_t i = 0; i < c->n_children; i++) {
        pi[levels[i].child] = i;
    }
    free(levels);
}

/* e(v) of all leaves of the module. */
static void count_reentries(cycle_work *c, uint32_t module, const uint32_t *component)
{
    plan_work *w = c->w;
    size_t n = plan_size(w, module);
    uint32_t *leaves = plan_leaves_by_rank(w, module);
    uint32_t *pi = mem_alloc(c->n_children * sizeof *pi);
    order_by_level(c, module, leaves, n, pi);
    for (size_t i = 0; i < n; i++) {
        uint32_t v = leaves[i], child = w->tree[c->child_of[v]].local;
        c->e[v] = 0;
        for (uint32_t k = w->in_first[v]; k < w->in_first[v + 1]; k++) {
            if (!leads(c, module, k, v)) {
                continue;
            }
            uint32_t u = w->edge_from[k], from = w->tree[c->child_of[u]].local;
            if (component[from] == component[child]) {
                uint32_t e = c->e[u] + (from != child && pi[from] > pi[child]);
                c->e[v] = e > c->e[v] ? e : c->e[v];
            }
        }
    }
    free(pi);
    free(leaves);
}

static int by_value(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

/* Where to cut a child: parts are e < cut[0] <= e < cut[1] <= e. @return parts; 1: not at all */
static unsigned choose_cuts(const cycle_work *c, uint32_t child, uint32_t cut[PLAN_MAX_PARTS - 1])
{
    const plan_work *w = c->w;
    const tree_node *t = &w->tree[child];
    size_t n = plan_size(w, child), k = 1;
    uint32_t *values = mem_alloc(n * sizeof *values);
    for (size_t i = 0; i < n; i++) {
        values[i] = c->e[w->at[t->lo + i]];
    }
    qsort(values, n, sizeof *values, by_value);
    for (size_t i = 1; i < n; i++) {
        if (values[i] != values[k - 1]) {
            values[k++] = values[i];
        }
    }
    unsigned parts = 1;
    if (k <= PLAN_MAX_PARTS) {
        for (size_t i = 1; i < k; i++) {
            cut[parts++ - 1] = values[i];
        }
    } else {
        uint32_t widest = 0, second = 0;
        for (size_t i = 1; i < k; i++) {
            uint32_t gap = values[i] - values[i - 1];
            if (gap > widest) {
                second = widest;
                widest = gap;
                cut[0] = values[i];
            } else if (gap > second) {
                second = gap;
            }
        }
        parts = widest > second ? 2 : 1;
    }
    free(values);
    return parts;
}

static unsigned part_of(uint32_t e, const uint32_t *cut, unsigned parts)
{
    unsigned k = 0;
    while (k + 1 < parts && e >= cut[k]) {
        k++;
    }
    return k;
}

/* A new last child. `local` of modules in the making is their last child. */
static void link_child(plan_work *w, uint32_t parent, uint32_t child)
{
    if (plan_inner(w, parent)->first_child == GRAPH_NONE) {
        plan_inner(w, parent)->first_child = child;
    } else {
        w->tree[w->tree[parent].local].next = child;
    }
    w->tree[child].next = GRAPH_NONE;
    w->tree[child].parent = parent;
    w->tree[parent].local = child;
    plan_inner(w, parent)->n_children++;
}

static uint32_t copy_module(plan_work *w, uint32_t original, uint32_t parent, uint32_t lo)
{
    uint32_t copy = plan_add_tree(w, parent, ELEMENT_MODULE);
    plan_inner(w, copy)->scope = plan_inner(w, original)->scope;
    w->tree[copy].label = w->tree[original].label;
    plan_inner(w, copy)->part = plan_inner(w, original)->part;
    plan_inner(w, copy)->n_parts = plan_inner(w, original)->n_parts;
    w->tree[copy].lo = lo;
    w->tree[original].kind = TREE_DEAD; /* all its leaves go into copies */
    return copy;
}

/* The copy of module `t` inside the part, and copies of those around it that have none yet. Copies of earlier parts
 * have smaller numbers than `root`, the part itself. */
static uint32_t copy_towards(cycle_work *c, uint32_t t, uint32_t root, uint32_t lo)
{
    plan_work *w = c->w;
    uint32_t path[PLAN_MAX_DEPTH + 2];
    size_t n = 0;
    for (; c->copy[t] < root; t = w->tree[t].parent) {
        MAREY_ASSERT(n < PLAN_MAX_DEPTH + 2);
        path[n++] = t;
    }
    uint32_t at = c->copy[t];
    while (n > 0) {
        uint32_t copy = copy_module(w, path[--n], at, lo);
        link_child(w, at, copy);
        c->copy[path[n]] = copy;
        at = copy;
    }
    return at;
}

/* Leaves of a part, in their order, into copies of their modules. @return the part's module */
static uint32_t split_off(cycle_work *c, uint32_t child, const uint32_t *leaves, uint32_t n, uint32_t lo)
{
    plan_work *w = c->w;
    uint32_t root = copy_module(w, child, w->tree[child].parent, lo);
    c->copy[child] = root;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t t = w->leaf_tree[leaves[i]];
        uint32_t module = copy_towards(c, w->tree[t].parent, root, lo + i);
        link_child(w, module, t);
        w->at[lo + i] = leaves[i];
        w->tree[t].lo = lo + i;
        for (uint32_t up = module;; up = w->tree[up].parent) {
            plan_inner(w, up)->hi = lo + i + 1;
            if (up == root) {
                break;
            }
        }
    }
    return root;
}

/* Splits a child into its parts; they are appended to `out`. */
static void split_child(cycle_work *c, uint32_t child, const uint32_t *cut, unsigned parts, uint32_t *out)
{
    plan_work *w = c->w;
    uint32_t lo = w->tree[child].lo, n = plan_hi(w, child) - lo;
    if (c->n_copy < w->n_tree) {
        c->copy = mem_realloc_array(c->copy, w->n_tree, sizeof *c->copy);
        memset(c->copy + c->n_copy, 0, (w->n_tree - c->n_copy) * sizeof *c->copy);
        c->n_copy = w->n_tree;
    }
    uint32_t *leaves = mem_alloc((size_t)n * sizeof *leaves), *some = mem_alloc((size_t)n * sizeof *some);
    memcpy(leaves, w->at + lo, n * sizeof *leaves);
    uint32_t done = 0;
    for (unsigned k = 0; k < parts; k++) {
        uint32_t m = 0;
        for (uint32_t i = 0; i < n; i++) {
            if (part_of(c->e[leaves[i]], cut, parts) == k) {
                some[m++] = leaves[i];
            }
        }
        out[k] = split_off(c, child, some, m, lo + done);
        plan_inner(w, out[k])->part = (uint8_t)(k + 1);
        plan_inner(w, out[k])->n_parts = (uint8_t)parts;
        done += m;
    }
    free(leaves);
    free(some);
    c->n_split++;
}

typedef struct placed_child {
    uint32_t first, child;
} placed_child;

static int by_first(const void *a, const void *b)
{
    const placed_child *x = a, *y = b;
    return x->first < y->first ? -1 : x->first > y->first;
}

/* Children of the module, parts instead of what was split, by their first operator in the input. */
static void relink(cycle_work *c, uint32_t module, placed_child *now, size_t n)
{
    plan_work *w = c->w;
    for (size_t i = 0; i < n; i++) {
        uint32_t t = now[i].child;
        now[i].first = UINT32_MAX;
        for (uint32_t k = w->tree[t].lo, hi = plan_hi(w, t); k < hi; k++) {
            uint32_t node = w->leaf_node[w->at[k]];
            now[i].first = node < now[i].first ? node : now[i].first;
        }
    }
    qsort(now, n, sizeof *now, by_first);
    plan_inner(w, module)->first_child = GRAPH_NONE;
    plan_inner(w, module)->n_children = 0;
    for (size_t i = 0; i < n; i++) {
        link_child(w, module, now[i].child);
    }
}

static void split_cycles(cycle_work *c, uint32_t module, const uint32_t *component)
{
    plan_work *w = c->w;
    size_t n = c->n_children, k = 0;
    uint32_t *size = mem_calloc(n + 1, sizeof *size);
    for (size_t i = 0; i < n; i++) {
        size[component[i]]++;
    }
    count_reentries(c, module, component);
    placed_child *now = mem_alloc(n * PLAN_MAX_PARTS * sizeof *now);
    size_t n_split = c->n_split;
    for (size_t i = 0; i < n; i++) {
        uint32_t cut[PLAN_MAX_PARTS - 1], out[PLAN_MAX_PARTS];
        uint32_t child = c->children[i];
        bool may = size[component[i]] > 1 && w->tree[child].kind == ELEMENT_MODULE;
        unsigned parts = may ? choose_cuts(c, child, cut) : 1;
        if (parts == 1) {
            now[k++].child = child;
            continue;
        }
        split_child(c, child, cut, parts, out);
        for (unsigned j = 0; j < parts; j++) {
            now[k++].child = out[j];
        }
    }
    if (c->n_split > n_split) {
        relink(c, module, now, k);
        list_children(c, module);
    }
    free(now);
    free(size);
}

/* Edges of the module: first those between its children, then those inside each child, child by child. */
static void part_edges(cycle_work *c, uint32_t module)
{
    plan_work *w = c->w;
    uint32_t lo = plan_inner(w, module)->arc_lo, hi = plan_inner(w, module)->arc_hi;
    size_t n = c->n_children;
    uint32_t *first = mem_calloc(n + 2, sizeof *first); /* bucket 0: between children */
    for (uint32_t i = lo; i < hi && !plan_stop(w, i); i++) {
        uint32_t e = w->perm[i], a = c->child_of[w->edge_from[e]], b = c->child_of[w->edge_to[e]];
        first[a == b ? w->tree[a].local + 1 : 0]++;
    }
    if (is_cancelled(w->o.cancel)) {
        free(first);
        return;
    }
    uint32_t sum = lo;
    for (size_t k = 0; k <= n; k++) {
        uint32_t count = first[k];
        first[k] = sum;
        sum += count;
        if (k == 0) {
            plan_inner(w, module)->arc_hi = sum;
        } else if (w->tree[c->children[k - 1]].kind != ELEMENT_LEAF) { /* a leaf has none */
            plan_inner(w, c->children[k - 1])->arc_lo = first[k];
            plan_inner(w, c->children[k - 1])->arc_hi = sum;
        }
    }
    memcpy(c->buffer, w->perm + lo, (hi - lo) * sizeof *c->buffer);
    for (uint32_t i = 0; i < hi - lo && !plan_stop(w, i); i++) {
        uint32_t e = c->buffer[i], a = c->child_of[w->edge_from[e]], b = c->child_of[w->edge_to[e]];
        uint32_t k = first[a == b ? w->tree[a].local + 1 : 0]++;
        w->perm[k] = e;
        if (a != b) {
            w->arc_from[k] = a;
            w->arc_to[k] = b;
        }
    }
    free(first);
}

static void do_module(cycle_work *c, uint32_t module)
{
    plan_work *w = c->w;
    list_children(c, module);
    if (is_cancelled(w->o.cancel)) {
        return;
    }
    uint32_t *component = NULL;
    if (w->o.steps[STEP_CYCLES] && c->n_children > 1 && find_components(c, module, &component)) {
        split_cycles(c, module, component);
        free(component);
    }
    part_edges(c, module);
    for (size_t i = 0; i < c->n_children; i++) {
        if (w->tree[c->children[i]].kind == ELEMENT_MODULE) {
            VEC_PUSH(c->todo, c->n_todo, c->cap_todo, c->children[i]);
        }
    }
}

marey_status plan_cycles(plan_work *w)
{
    size_t n = w->n_edges + 1, n_before = w->n_tree;
    w->perm = mem_alloc(n * sizeof *w->perm);
    w->arc_from = mem_alloc(n * sizeof *w->arc_from);
    w->arc_to = mem_alloc(n * sizeof *w->arc_to);
    cycle_work c = {.w = w};
    c.child_of = mem_calloc((size_t)w->n_leaves + 1, sizeof *c.child_of);
    c.e = mem_alloc(((size_t)w->n_leaves + 1) * sizeof *c.e);
    c.buffer = mem_alloc(n * sizeof *c.buffer);
    for (uint32_t i = 0; i < w->n_edges; i++) {
        w->perm[i] = i;
    }
    plan_inner(w, 0)->arc_lo = 0;
    plan_inner(w, 0)->arc_hi = (uint32_t)w->n_edges;
    marey_status status = MAREY_OK;
    VEC_PUSH(c.todo, c.n_todo, c.cap_todo, 0);
    while (c.n_todo > 0 && status == MAREY_OK) {
        do_module(&c, c.todo[--c.n_todo]);
        status = is_cancelled(w->o.cancel) ? MAREY_CANCELLED : MAREY_OK;
    }
    size_t dead = 0;
    for (size_t i = 0; i < w->n_tree; i++) {
        dead += w->tree[i].kind == TREE_DEAD;
    }
    plan_step_count *count = &w->p->steps[STEP_CYCLES];
    const plan_step_count *last = &w->p->steps[STEP_CHAINS];
    *count =
        (plan_step_count){w->o.steps[STEP_CYCLES], last->nodes_after, last->nodes_after + (w->n_tree - n_before) - dead,
                          last->edges_after,       last->edges_after, c.n_split};
    free(c.child_of);
    free(c.e);
    free(c.buffer);
    free(c.todo);
    free(c.children);
    free(c.copy);
    return status;
}
