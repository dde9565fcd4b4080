/* Step three of a plan: the tree of modules and leaves, by the scopes of the graph; chains become one module. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "graph/plan_work.h"

typedef struct scope_work {
    uint32_t *children; /* scopes with leaves inside, and own leaves */
    uint32_t *only;     /* a child scope */
    uint32_t *leaves;   /* inside */
    uint32_t *up;       /* the scope of the module around it */
    uint16_t *depth;
    uint8_t *gone;   /* 1: joined with its only child; 2: deeper than the bound */
    uint32_t *tree;  /* its tree node */
    uint32_t *last;  /* last child of a tree node (by scope) */
    uint32_t *chain; /* for climbing */
} scope_work;

uint32_t plan_add_tree(plan_work *w, uint32_t parent, element_kind kind)
{
    tree_node n = {.parent = parent, .next = GRAPH_NONE, .leaf = GRAPH_NONE, .kind = (uint8_t)kind};
    if (kind != ELEMENT_LEAF) {
        tree_inner inner = {.first_child = GRAPH_NONE, .scope = GRAPH_NONE, .family = GRAPH_NONE};
        n.inner = (uint32_t)w->n_inner;
        VEC_PUSH(w->inner, w->n_inner, w->cap_inner, inner);
    }
    VEC_PUSH(w->tree, w->n_tree, w->cap_tree, n);
    return (uint32_t)(w->n_tree - 1);
}

static void count_children(const plan_work *w, scope_work *s)
{
    const graph *g = w->g;
    for (uint32_t i = 0; i < g->n_nodes && !plan_stop(w, i); i++) {
        if (w->into[i] == i) {
            s->leaves[g->node_scope[i]]++;
            s->children[g->node_scope[i]]++;
        }
    }
    for (uint32_t i = (uint32_t)g->n_scopes; i-- > 1;) {
        if (s->leaves[i] > 0) {
            s->leaves[g->scope_parent[i]] += s->leaves[i];
            s->children[g->scope_parent[i]]++;
            s->only[g->scope_parent[i]] = i;
        }
    }
}

/* Which scopes become modules, and which module is around each. */
static void choose_modules(const plan_work *w, scope_work *s)
{
    const graph *g = w->g;
    for (uint32_t i = 1; i < g->n_scopes; i++) {
        uint32_t parent = g->scope_parent[i];
        s->up[i] = s->gone[parent] ? s->up[parent] : parent;
        s->depth[i] = (uint16_t)(s->depth[s->up[i]] + 1);
        if (w->o.steps[STEP_CHAINS] && s->children[i] == 1) {
            s->gone[i] = 1;
        } else if (s->depth[i] > PLAN_MAX_DEPTH) {
            s->gone[i] = 2;
        }
    }
}

/* Names of the chain's scopes from the outermost to `scope`, and `last` behind them. What is too long loses its
 * middle. */
static uint32_t joined_label(plan_work *w, scope_work *s, uint32_t scope, const char *last)
{
    const graph *g = w->g;
    size_t n = 0;
    for (uint32_t i = scope; i != 0 && (s->gone[i] == 1 || (i == scope && !last)); i = g->scope_parent[i]) {
        s->chain[n++] = i;
    }
    if (n == 1 && !last) { /* nearly always */
        const char *name = graph_string(g, g->scope_name[scope]);
        return plan_add_label(w, name, strlen(name));
    }
    strbuf *text = &w->scratch;
    bool dots = false;
    strbuf_clear(text);
    for (size_t i = n; i-- > 0;) {
        if (text->n > PLAN_MAX_LABEL && (i > 0 || last)) {
            strbuf_puts(text, dots ? "" : "...");
            dots = true;
            continue;
        }
        strbuf_puts(text, dots && i == 0 ? "/" : "");
        strbuf_puts(text, graph_string(g, g->scope_name[s->chain[i]]));
        strbuf_puts(text, (i > 0 || last) ? "/" : "");
    }
    strbuf_puts(text, last ? last : "");
    return plan_add_label(w, strbuf_str(text), text->n);
}

static bool lies_in(const graph *g, uint32_t scope, uint32_t outer)
{
    while (scope > outer) { /* parents have smaller numbers */
        scope = g->scope_parent[scope];
    }
    return scope == outer;
}

uint32_t plan_call_tree(const plan_work *w, uint32_t node)
{
    uint32_t scope = w->g->node_scope[node], found = w->leaf_tree[w->leaf_of[node]];
    for (uint32_t t = w->tree[found].parent; t != 0; t = w->tree[t].parent) {
        if (w->tree[t].kind == ELEMENT_MODULE && !lies_in(w->g, plan_inner(w, t)->scope, scope)) {
            break;
        }
        found = w->tree[t].kind == ELEMENT_MODULE ? t : found;
    }
    return found;
}

static void append(plan_work *w, scope_work *s, uint32_t scope, uint32_t child)
{
    uint32_t parent = s->tree[scope];
    if (plan_inner(w, parent)->first_child == GRAPH_NONE) {
        plan_inner(w, parent)->first_child = child;
    } else {
        w->tree[s->last[scope]].next = child;
    }
    s->last[scope] = child;
    plan_inner(w, parent)->n_children++;
}

/* The module of a scope, and those around it that were not met yet, outermost first. */
static void meet_module(plan_work *w, scope_work *s, uint32_t scope)
{
    const graph *g = w->g;
    uint32_t *climbed = s->chain + g->n_scopes;
    size_t n = 0;
    for (uint32_t i = scope; s->tree[i] == GRAPH_NONE; i = s->up[i]) {
        climbed[n++] = i;
    }
    while (n > 0) {
        uint32_t i = climbed[--n];
        uint32_t node = plan_add_tree(w, s->tree[s->up[i]], ELEMENT_MODULE);
        s->tree[i] = node;
        plan_inner(w, node)->scope = i;
        w->tree[node].label = joined_label(w, s, i, NULL);
        append(w, s, s->up[i], node);
    }
}

static void add_leaf(plan_work *w, scope_work *s, uint32_t node)
{
    const graph *g = w->g;
    uint32_t scope = g->node_scope[node], module = s->gone[scope] ? s->up[scope] : scope;
    meet_module(w, s, module);
    uint32_t t = plan_add_tree(w, s->tree[module], ELEMENT_LEAF);
    w->tree[t].leaf = node; /* until leaves are numbered */
    const char *label = graph_node_label(g, node);
    w->tree[t].label = s->gone[scope] == 1 ? joined_label(w, s, scope, label) : plan_add_label(w, label, strlen(label));
    append(w, s, module, t);
}

/* Leaves numbered depth first, and the range of each tree node. */
static marey_status number_leaves(plan_work *w)
{
    uint32_t n = 0, t = 0;
    for (size_t steps = 0;; steps++) {
        if (plan_stop(w, steps)) {
            return MAREY_CANCELLED;
        }
        w->tree[t].lo = n;
        if (w->tree[t].kind == ELEMENT_LEAF) {
            uint32_t node = w->tree[t].leaf;
            w->tree[t].leaf = n;
            w->leaf_node[n] = node;
            w->leaf_tree[n] = t;
            w->at[n] = n;
            n++;
        } else if (plan_inner(w, t)->first_child != GRAPH_NONE) {
            t = plan_inner(w, t)->first_child;
            continue;
        }
        if (w->tree[t].kind != ELEMENT_LEAF) {
            plan_inner(w, t)->hi = n;
        }
        while (t != 0 && w->tree[t].next == GRAPH_NONE) {
            t = w->tree[t].parent;
            plan_inner(w, t)->hi = n;
        }
        if (t == 0) {
            return MAREY_OK;
        }
        t = w->tree[t].next;
    }
}

static void show_nodes(plan_work *w)
{
    const graph *g = w->g;
    w->leaf_of = mem_alloc((g->n_nodes + 1) * sizeof *w->leaf_of);
    memset(w->leaf_of, 0xFF, (g->n_nodes + 1) * sizeof *w->leaf_of);
    for (uint32_t leaf = 0; leaf < w->n_leaves && !plan_stop(w, leaf); leaf++) {
        for (uint32_t m = w->leaf_node[leaf]; m != GRAPH_NONE; m = w->folded[m]) {
            w->leaf_of[m] = leaf;
        }
    }
}

static void count_chains(plan_work *w, const scope_work *s, size_t n_leaves, size_t n_edges)
{
    size_t before = 0, after = 0;
    for (size_t i = 1; i < w->g->n_scopes; i++) {
        before += s->leaves[i] > 0;
        after += s->leaves[i] > 0 && s->gone[i] != 1;
    }
    plan_step_count *c = &w->p->steps[STEP_CHAINS];
    size_t calls = w->n_calls;
    *c = (plan_step_count){w->o.steps[STEP_CHAINS], n_leaves + calls + before, n_leaves + after, n_edges, n_edges,
                           calls + before - after};
    for (int i = STEP_PARAMETERS; i <= STEP_BOOKKEEPING; i++) {
        w->p->steps[i].nodes_before += before;
        w->p->steps[i].nodes_after += before;
    }
}

static void free_scopes(scope_work *s)
{
    free(s->children);
    free(s->depth);
    free(s->gone);
}

marey_status plan_tree(plan_work *w)
{
    const graph *g = w->g;
    size_t n = g->n_scopes;
    uint32_t *block = mem_calloc(8 * n, sizeof *block);
    scope_work s = {
        block,         block + n,     block + 2 * n, block + 3 * n, mem_calloc(n, sizeof *s.depth), mem_calloc(n, 1),
        block + 4 * n, block + 5 * n, block + 6 * n};
    memset(s.tree, 0xFF, n * sizeof *s.tree);
    count_children(w, &s);
    choose_modules(w, &s);
    s.tree[0] = plan_add_tree(w, 0, ELEMENT_ROOT);
    plan_inner(w, 0)->scope = 0;
    w->n_leaves = s.leaves[0];
    const char *name = graph_string(g, g->name);
    w->tree[0].label = plan_add_label(w, name, strlen(name));
    size_t shown = 0;
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        if (plan_stop(w, i)) {
            free_scopes(&s);
            return MAREY_CANCELLED;
        }
        if (w->into[i] == i) {
            add_leaf(w, &s, i);
            shown += !(g->node_flags[i] & GRAPH_IMPLIED);
        }
    }
    count_chains(w, &s, shown, w->p->steps[STEP_BOOKKEEPING].edges_after);
    free_scopes(&s);
    w->leaf_node = mem_alloc(((size_t)w->n_leaves + 1) * sizeof *w->leaf_node);
    w->leaf_tree = mem_alloc(((size_t)w->n_leaves + 1) * sizeof *w->leaf_tree);
    w->at = mem_alloc(((size_t)w->n_leaves + 1) * sizeof *w->at);
    marey_status status = number_leaves(w);
    if (status == MAREY_OK) {
        show_nodes(w);
    }
    return is_cancelled(w->o.cancel) ? MAREY_CANCELLED : status;
}
