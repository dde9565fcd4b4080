/* Steps one and two of a plan: which node is shown by which, and the edges that are left between leaves. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "graph/plan_work.h"

static uint32_t find(const plan_work *w, uint32_t node)
{
    uint32_t root = node;
    while (root != GRAPH_NONE && w->into[root] != root) {
        root = w->into[root];
    }
    while (root != GRAPH_NONE && w->into[node] != root) {
        uint32_t next = w->into[node];
        w->into[node] = root;
        node = next;
    }
    return root;
}

static bool is_data(const graph *g, uint32_t node)
{
    uint8_t role = g->node_role[node];
    return role == GRAPH_PARAMETER || role == GRAPH_CONSTANT || role == GRAPH_INPUT;
}

/* Operators that make a constant out of constants: some exporters fill weights so. */
static uint8_t *constant_makers(const graph *g)
{
    static const char *const OPS[] = {"ConstantOfShape", "Fill",       "Zeros", "Ones",
                                      "zeros",           "ones",       "iota",  "EyeLike",
                                      "stablehlo.iota",  "aten::zeros"};
    uint8_t *is = mem_calloc(g->n_strings + 1, 1); /* by string: 1 no, 2 yes */
    for (size_t i = 0; i < g->n_nodes; i++) {
        uint32_t op = g->node_op[i];
        if (is[op] == 0) {
            is[op] = 1;
            for (size_t k = 0; k < sizeof OPS / sizeof OPS[0]; k++) {
                is[op] = strcmp(graph_string(g, op), OPS[k]) == 0 ? 2 : is[op];
            }
        }
    }
    return is;
}

/* Is a node one that only brings data in: without producers, or with folded ones alone (arguments of a body)? */
static bool brings_data(const plan_work *w, uint32_t node, const uint8_t *makers)
{
    const graph *g = w->g;
    bool maker = makers[g->node_op[node]] == 2;
    if (!(is_data(g, node) || maker) || graph_body_of(g, node) != GRAPH_NONE ||
        g->from_first[node] == g->from_first[node + 1]) {
        return false;
    }
    for (uint32_t i = g->in_first[node]; i < g->in_first[node + 1]; i++) {
        uint32_t from = g->edge_from[i];
        if (w->into[from] != GRAPH_NONE || (maker && g->node_role[from] == GRAPH_INPUT)) {
            return false;
        }
    }
    return true;
}

/* Parameters go into their consumers; what nobody takes stays. Arguments of bodies may come before what feeds them. */
static void fold_parameters(plan_work *w)
{
    const graph *g = w->g;
    uint8_t *makers = constant_makers(g);
    uint32_t *todo = NULL;
    size_t n = 0, cap = 0;
    for (uint32_t i = 0; i < g->n_nodes && !plan_stop(w, i); i++) {
        if (w->into[i] == GRAPH_NONE || !brings_data(w, i, makers)) {
            continue;
        }
        VEC_PUSH(todo, n, cap, i);
        w->into[i] = GRAPH_NONE;
        while (n > 0) {
            uint32_t v = todo[--n];
            for (uint32_t k = g->from_first[v]; k < g->from_first[v + 1]; k++) {
                uint32_t u = g->edge_to[g->from_edge[k]];
                if (w->into[u] != GRAPH_NONE && brings_data(w, u, makers)) {
                    w->into[u] = GRAPH_NONE;
                    VEC_PUSH(todo, n, cap, u);
                }
            }
        }
    }
    free(todo);
    free(makers);
}

/* Does anything compute? In a graph of hardly more than Identity these are what there is to see. */
static bool computes(const graph *g)
{
    size_t operators = 0, computing = 0;
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        operators += g->node_role[i] == GRAPH_OPERATOR;
        computing += g->node_role[i] == GRAPH_OPERATOR && g->node_class[i] != GRAPH_CLASS_BOOKKEEPING;
    }
    return computing * 16 > operators;
}

/* The one leaf at the other ends of a node's edges, counted up to two different ones. */
typedef struct neighbours {
    uint32_t one;
    unsigned n;
    bool parameters; /* some inputs are folded parameters */
} neighbours;

static void meet(neighbours *a, uint32_t root, uint32_t self)
{
    if (root == GRAPH_NONE) {
        a->parameters = true;
    } else if (root != self && (a->n == 0 || root != a->one)) {
        a->one = a->n == 0 ? root : a->one;
        a->n++;
    }
}

static neighbours producers(const plan_work *w, uint32_t node, uint8_t without)
{
    const graph *g = w->g;
    neighbours a = {GRAPH_NONE, 0, false};
    for (uint32_t i = g->in_first[node]; i < g->in_first[node + 1] && a.n < 2; i++) {
        if (!(g->edge_flags[i] & without)) {
            meet(&a, find(w, g->edge_from[i]), node);
        }
    }
    return a;
}

static bool only_parameters(const plan_work *w, uint32_t node)
{
    neighbours in = producers(w, node, GRAPH_CONTROL);
    return in.n == 0 && in.parameters;
}

/* Consumers of a node and of what was folded into it. */
static neighbours consumers(const plan_work *w, uint32_t node)
{
    const graph *g = w->g;
    neighbours a = {GRAPH_NONE, 0, false};
    for (uint32_t m = node; m != GRAPH_NONE && a.n < 2; m = w->folded[m]) {
        for (uint32_t i = g->from_first[m]; i < g->from_first[m + 1] && a.n < 2; i++) {
            meet(&a, find(w, g->edge_to[g->from_edge[i]]), node);
        }
    }
    return a;
}

static bool is_bookkeeping(const plan_work *w, uint32_t node)
{
    const graph *g = w->g;
    return g->node_class[node] == GRAPH_CLASS_BOOKKEEPING && g->node_role[node] == GRAPH_OPERATOR &&
           !(g->node_flags[node] & GRAPH_CALL) && w->into[node] == node;
}

/* Forward: into the one producer. What only passes parameters on is shown by each consumer, as these are. A node's
 * followers come later mostly, so that nothing was folded into it yet; where something was, it stays. */
static marey_status fold_forward(plan_work *w, uint32_t *last)
{
    const graph *g = w->g;
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        if (plan_stop(w, i)) {
            return MAREY_CANCELLED;
        }
        if (!is_bookkeeping(w, i) || w->folded[i] != GRAPH_NONE) {
            continue;
        }
        neighbours in = producers(w, i, 0);
        if (only_parameters(w, i) && consumers(w, i).n > 0) {
            w->into[i] = GRAPH_NONE;
        } else if (in.n == 1 && !in.parameters) {
            w->into[i] = in.one;
            w->folded[last[in.one]] = i;
            last[in.one] = i;
        }
    }
    return MAREY_OK;
}

/* Backward: into the one consumer, with what it had folded itself. */
static marey_status fold_backward(plan_work *w, uint32_t *last)
{
    const graph *g = w->g;
    for (uint32_t i = (uint32_t)g->n_nodes; i-- > 0;) {
        if (plan_stop(w, i)) {
            return MAREY_CANCELLED;
        }
        if (!is_bookkeeping(w, i)) {
            continue;
        }
        neighbours out = consumers(w, i);
        uint32_t target = out.n == 1 ? out.one : GRAPH_NONE;
        if (out.n != 1) {
            neighbours in = producers(w, i, 0);
            target = in.n == 1 && w->folded[i] == GRAPH_NONE ? in.one : GRAPH_NONE;
        }
        if (target != GRAPH_NONE) {
            w->into[i] = target;
            w->folded[last[target]] = i;
            last[target] = last[i];
        }
    }
    return MAREY_OK;
}

static void count_folded(plan_work *w, graph_step step, size_t *n_nodes, size_t *n_edges)
{
    const graph *g = w->g;
    plan_step_count *c = &w->p->steps[step];
    c->on = w->o.steps[step];
    c->nodes_before = *n_nodes;
    c->edges_before = *n_edges;
    size_t nodes = 0, edges = 0;
    for (uint32_t i = 0; i < g->n_nodes && !plan_stop(w, i); i++) {
        nodes += w->into[i] == i && !(g->node_flags[i] & GRAPH_IMPLIED);
    }
    for (size_t i = 0; i < g->n_edges && !plan_stop(w, i); i++) {
        uint32_t a = find(w, g->edge_from[i]), b = find(w, g->edge_to[i]);
        edges += a != b && a != GRAPH_NONE && b != GRAPH_NONE && !(g->edge_flags[i] & GRAPH_IMPLIED);
    }
    c->nodes_after = *n_nodes = nodes;
    c->edges_after = *n_edges = edges;
    c->n_done = c->nodes_before - c->nodes_after;
}

static size_t count_loops(const graph *g)
{
    size_t n = 0;
    for (size_t i = 0; i < g->n_edges; i++) {
        n += g->edge_from[i] == g->edge_to[i] && !(g->edge_flags[i] & GRAPH_IMPLIED);
    }
    return n;
}

static bool has_edges(const graph *g, uint32_t node)
{
    return g->in_first[node] < g->in_first[node + 1] || g->from_first[node] < g->from_first[node + 1];
}

/* A call that lies in its own body and takes part in no wire is that module: its element shows it. Meanwhile it is in
 * the list of the first leaf inside, so that strictness asks for it. */
static bool is_call(const plan_work *w, uint32_t node)
{
    const graph *g = w->g;
    uint32_t scope = g->node_scope[node];
    return graph_body_of(g, node) == scope && scope != 0 && w->into[node] == node && w->folded[node] == GRAPH_NONE &&
           g->node_role[node] == GRAPH_OPERATOR && !has_edges(g, node);
}

static void fold_calls(plan_work *w)
{
    const graph *g = w->g;
    uint32_t *first = mem_alloc(g->n_scopes * sizeof *first); /* leaf inside a scope */
    memset(first, 0xFF, g->n_scopes * sizeof *first);
    for (uint32_t i = 0; i < g->n_nodes && !plan_stop(w, i); i++) {
        if (w->into[i] == i && !is_call(w, i)) {
            for (uint32_t s = g->node_scope[i]; s != 0 && first[s] == GRAPH_NONE; s = g->scope_parent[s]) {
                first[s] = i;
            }
        }
    }
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        if (is_call(w, i) && first[g->node_scope[i]] != GRAPH_NONE) {
            VEC_PUSH(w->calls, w->n_calls, w->cap_calls, i);
        }
    }
    for (size_t k = 0; k < w->n_calls; k++) {
        w->into[w->calls[k]] = first[g->node_scope[w->calls[k]]];
    }
    free(first);
}

/* The list of each leaf by the order of the input, and places in it. */
static void order_folded(plan_work *w)
{
    const graph *g = w->g;
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        w->folded[i] = GRAPH_NONE;
    }
    uint32_t *last = mem_alloc((g->n_nodes + 1) * sizeof *last);
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        last[i] = i;
    }
    for (uint32_t i = 0; i < g->n_nodes && !plan_stop(w, i); i++) {
        uint32_t root = find(w, i);
        if (root != GRAPH_NONE && root != i) {
            w->folded[last[root]] = i;
            w->ordinal[i] = (uint16_t)(w->ordinal[last[root]] + (w->ordinal[last[root]] < UINT16_MAX));
            last[root] = i;
        }
    }
    free(last);
}

marey_status plan_fold(plan_work *w)
{
    const graph *g = w->g;
    w->into = mem_alloc((g->n_nodes + 1) * sizeof *w->into);
    w->folded = mem_alloc((g->n_nodes + 1) * sizeof *w->folded);
    w->ordinal = mem_calloc(g->n_nodes + 1, sizeof *w->ordinal);
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        w->into[i] = i;
        w->folded[i] = GRAPH_NONE;
    }
    size_t n_nodes = g->n_nodes - g->n_implied_nodes, n_edges = g->n_edges - g->n_implied_edges - count_loops(g);
    if (w->o.steps[STEP_PARAMETERS]) {
        fold_parameters(w);
    }
    count_folded(w, STEP_PARAMETERS, &n_nodes, &n_edges);
    marey_status status = MAREY_OK;
    if (w->o.steps[STEP_BOOKKEEPING] && computes(g)) {
        uint32_t *last = mem_alloc((g->n_nodes + 1) * sizeof *last);
        for (uint32_t i = 0; i < g->n_nodes; i++) {
            last[i] = i;
        }
        status = fold_forward(w, last);
        status = status == MAREY_OK ? fold_backward(w, last) : status;
        free(last);
    }
    if (status == MAREY_OK) {
        count_folded(w, STEP_BOOKKEEPING, &n_nodes, &n_edges);
        if (w->o.steps[STEP_CHAINS]) {
            fold_calls(w);
        }
        order_folded(w);
    }
    return is_cancelled(w->o.cancel) ? MAREY_CANCELLED : status;
}

static uint64_t label_of_edge(const plan_work *w, size_t edge)
{
    const graph *g = w->g;
    uint64_t label = (uint64_t)w->ordinal[g->edge_from[edge]] << 48 | (uint64_t)w->ordinal[g->edge_to[edge]] << 16;
    if (g->edge_flags[edge] & GRAPH_CONTROL) {
        return label | 0xFFFF;
    }
    return label | (uint64_t)g->edge_from_slot[edge] << 32 | (g->edge_to_slot[edge] & 0x7FFF);
}

marey_status plan_fold_edges(plan_work *w)
{
    const graph *g = w->g;
    w->in_first = mem_alloc(((size_t)w->n_leaves + 1) * sizeof *w->in_first);
    size_t cap = g->n_edges + 1;
    w->edge_from = mem_alloc(cap * sizeof *w->edge_from);
    w->edge_to = mem_alloc(cap * sizeof *w->edge_to);
    w->edge_label = mem_alloc(cap * sizeof *w->edge_label);
    size_t n = 0;
    for (uint32_t leaf = 0; leaf < w->n_leaves; leaf++) {
        w->in_first[leaf] = (uint32_t)n;
        if (plan_stop(w, leaf)) {
            return MAREY_CANCELLED;
        }
        for (uint32_t m = w->leaf_node[leaf]; m != GRAPH_NONE; m = w->folded[m]) {
            for (uint32_t i = g->in_first[m]; i < g->in_first[m + 1]; i++) {
                uint32_t from = w->leaf_of[g->edge_from[i]];
                if (from != GRAPH_NONE && from != leaf) {
                    w->edge_from[n] = from;
                    w->edge_to[n] = leaf;
                    w->edge_label[n++] = label_of_edge(w, i);
                }
            }
        }
    }
    w->in_first[w->n_leaves] = (uint32_t)n;
    w->n_edges = n;
    return MAREY_OK;
}
