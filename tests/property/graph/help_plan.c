#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "graph/visible_edges.h"
#include "help_plan.h"

uint64_t test_random(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005U + 1442695040888963407U;
    return *seed >> 33;
}

static uint32_t below(uint64_t *seed, uint32_t n)
{
    return n ? (uint32_t)(test_random(seed) % n) : 0;
}

static uint32_t add_node(graph_builder *b, const char *name, uint32_t scope, graph_role role)
{
    graph_node_in n = {.name = name,
                       .n_name = strlen(name),
                       .op = "Op",
                       .n_op = 2,
                       .scope = scope,
                       .key = -1,
                       .stage = -1,
                       .role = role};
    uint32_t id = graph_builder_node(b, &n);
    graph_builder_output(b, id, "f32[4,4]", 8, 64 * (1 + id % 7));
    return id;
}

static void finish(graph_builder *b, graph *g, diag *d)
{
    graph_finish_options o = {.infer_scopes = false};
    MAREY_ASSERT(graph_builder_finish(b, &o, g) == MAREY_OK);
    graph_builder_destroy(&b);
    diag_deinit(d);
}

void test_graph(graph *g, const random_graph *r)
{
    diag d;
    diag_init(&d);
    uint64_t seed = r->seed;
    graph_builder *b = graph_builder_create(&d, diag_file(&d, "test"));
    uint32_t *scopes = mem_alloc((r->n_scopes + 1) * sizeof *scopes);
    char name[32];
    scopes[0] = 0;
    for (uint32_t i = 1; i <= r->n_scopes; i++) {
        (void)snprintf(name, sizeof name, "m%u", i);
        scopes[i] = graph_builder_scope(b, scopes[below(&seed, i)], name, strlen(name), 0);
    }
    for (uint32_t i = 0; i < r->n_nodes; i++) {
        (void)snprintf(name, sizeof name, "n%u", i);
        (void)add_node(b, name, scopes[below(&seed, r->n_scopes + 1)],
                       below(&seed, 12) == 0 ? GRAPH_PARAMETER : GRAPH_OPERATOR);
    }
    for (uint32_t i = 0; i < r->n_edges; i++) {
        uint32_t x = below(&seed, r->n_nodes);
        uint32_t y = r->local ? (x + 1 + below(&seed, 4)) % r->n_nodes : below(&seed, r->n_nodes);
        bool back = below(&seed, 100) < r->back_percent;
        uint32_t lo = x < y ? x : y;
        uint32_t hi = x < y ? y : x;
        if (lo == hi && !back) {
            continue;
        }
        uint8_t flags = (uint8_t)(below(&seed, 9) == 0 ? GRAPH_CONTROL : below(&seed, 30) == 0 ? GRAPH_IMPLIED : 0);
        graph_builder_edge(b, back ? hi : lo, 0, back ? lo : hi, i & 7, flags);
    }
    for (uint32_t h = 0; h < r->n_hubs; h++) {
        for (uint32_t i = h + 1; i < r->n_nodes; i += 1 + below(&seed, 20)) {
            graph_builder_edge(b, h, 0, i, 9, 0);
        }
    }
    free(scopes);
    finish(b, g, &d);
}

static uint32_t step(graph_builder *b, uint32_t scope, const char *name, uint32_t x, uint32_t y)
{
    uint32_t id = add_node(b, name, scope, GRAPH_OPERATOR);
    graph_builder_edge(b, x, 0, id, 0, 0);
    if (y != GRAPH_NONE) {
        graph_builder_edge(b, y, 0, id, 1, 0);
    }
    return id;
}

void test_pipeline(graph *g, uint32_t n_stages, uint32_t n_micro, uint32_t n_ops)
{
    diag d;
    diag_init(&d);
    graph_builder *b = graph_builder_create(&d, diag_file(&d, "test"));
    uint32_t *sent = mem_alloc((n_stages * n_micro + 1U) * sizeof *sent);
    for (uint32_t s = 0; s < n_stages; s++) {
        uint32_t rank = s;
        graph_builder_stage(b, (int32_t)s, &rank, 1);
    }
    for (uint32_t s = 0; s < n_stages; s++) {
        for (uint32_t m = 0; m < n_micro; m++) {
            uint32_t x = GRAPH_NONE;
            for (uint32_t k = 0; k < n_ops; k++) {
                const char *op = k == 0 && s > 0 ? "Receive" : k + 1 == n_ops && s + 1 < n_stages ? "Send" : "MatMul";
                graph_node_in n = {
                    .name = op, .n_name = strlen(op), .op = op, .n_op = strlen(op), .key = -1, .stage = (int32_t)s};
                uint32_t id = graph_builder_node(b, &n);
                if (x != GRAPH_NONE) {
                    graph_builder_edge(b, x, 0, id, 0, 0);
                } else if (s > 0) {
                    graph_builder_edge(b, sent[(s - 1) * n_micro + m], 0, id, 0, GRAPH_IMPLIED | GRAPH_P2P);
                }
                x = id;
            }
            sent[s * n_micro + m] = x;
        }
    }
    free(sent);
    finish(b, g, &d);
}

void test_transformer(graph *g, uint32_t n_layers, bool scopes, bool hubs)
{
    diag d;
    diag_init(&d);
    graph_builder *b = graph_builder_create(&d, diag_file(&d, "test"));
    uint32_t ids = add_node(b, "ids", 0, GRAPH_OPERATOR);
    uint32_t mask = hubs ? add_node(b, "mask", 0, GRAPH_OPERATOR) : GRAPH_NONE;
    uint32_t rotary = hubs ? add_node(b, "cos", 0, GRAPH_OPERATOR) : GRAPH_NONE;
    uint32_t x = step(b, 0, "embedding", ids, GRAPH_NONE);
    for (uint32_t l = 0; l < n_layers; l++) {
        char path[64];
        (void)snprintf(path, sizeof path, "layers/layer.%u", l);
        uint32_t layer = scopes ? graph_builder_path(b, 0, path, strlen(path), '/') : 0;
        uint32_t attention = scopes ? graph_builder_scope(b, layer, "attention", 9, 0) : 0;
        uint32_t mlp = scopes ? graph_builder_scope(b, layer, "mlp", 3, 0) : 0;
        uint32_t n = step(b, layer, "LayerNorm", x, GRAPH_NONE);
        uint32_t q = step(b, attention, "q", n, rotary);
        uint32_t k = step(b, attention, "k", n, rotary);
        uint32_t v = step(b, attention, "v", n, GRAPH_NONE);
        uint32_t s = step(b, attention, "scores", q, k);
        uint32_t m = step(b, attention, "softmax", s, mask);
        uint32_t o = step(b, attention, "output", step(b, attention, "context", m, v), GRAPH_NONE);
        x = step(b, layer, "Add", x, o);
        n = step(b, layer, "LayerNorm", x, GRAPH_NONE);
        uint32_t up = step(b, mlp, "up", n, GRAPH_NONE);
        x = step(b, layer, "Add", x, step(b, mlp, "down", step(b, mlp, "Gelu", up, GRAPH_NONE), GRAPH_NONE));
    }
    (void)step(b, 0, "head", x, GRAPH_NONE);
    finish(b, g, &d);
}

typedef struct draft {
    plan_element *e;
    size_t n, cap;
    uint32_t *scope_first, *scope_next, *node_first, *node_next; /* lists: scopes of a scope, nodes of a scope */
    uint64_t seed;
    bool stacks;
    plan_family *families;
    size_t n_families, cap_families;
} draft;

/* What a stack that was begun still has to take: leaves or scopes, kept as plain elements until their turn. */
static void push_children(draft *t, uint32_t parent, const plan_element *kids, uint32_t n)
{
    t->e[parent].first_child = (uint32_t)t->n;
    t->e[parent].n_children = n;
    for (uint32_t i = 0; i < n; i++) {
        VEC_PUSH(t->e, t->n, t->cap, kids[i]);
        t->e[t->n - 1].parent = parent;
        t->e[t->n - 1].depth = (uint8_t)(t->e[parent].depth + 1);
    }
}

static uint32_t kids_of_scope(const draft *t, const graph *g, uint32_t scope, plan_element **kids, size_t *cap)
{
    size_t n = 0;
    for (uint32_t c = t->scope_first[scope]; c != GRAPH_NONE; c = t->scope_next[c]) {
        VEC_PUSH(*kids, n, *cap,
                 ((plan_element){.kind = ELEMENT_MODULE, .scope = c, .node = GRAPH_NONE, .family = GRAPH_NONE}));
    }
    for (uint32_t c = t->node_first[scope]; c != GRAPH_NONE; c = t->node_next[c]) {
        VEC_PUSH(*kids, n, *cap,
                 ((plan_element){.kind = ELEMENT_LEAF,
                                 .scope = GRAPH_NONE,
                                 .node = c,
                                 .family = GRAPH_NONE,
                                 .klass = g->node_class[c]}));
    }
    return (uint32_t)n;
}

/* Runs of two or three siblings of one kind become members of a stack; the members wait in `held`. */
static uint32_t stack_runs(draft *t, plan_element *kids, uint32_t n, plan_element **held, size_t *n_held, size_t *cap)
{
    uint32_t out = 0;
    for (uint32_t i = 0; i < n;) {
        uint32_t run = 2 + (uint32_t)(test_random(&t->seed) % 2);
        bool fits = t->stacks && i + run <= n && kids[i].kind == kids[i + run - 1].kind && n > run &&
                    test_random(&t->seed) % 3 == 0;
        if (!fits) {
            kids[out++] = kids[i++];
            continue;
        }
        uint32_t family = (uint32_t)t->n_families;
        VEC_PUSH(t->families, t->n_families, t->cap_families, ((plan_family){.n_members = run}));
        plan_element stack = {.kind = ELEMENT_STACK,
                              .node = GRAPH_NONE,
                              .scope = GRAPH_NONE,
                              .family = family,
                              .first_child = (uint32_t)*n_held,
                              .n_children = run};
        for (uint32_t k = 0; k < run; k++) {
            kids[i + k].family = family;
            kids[i + k].member = k;
            VEC_PUSH(*held, *n_held, *cap, kids[i + k]);
        }
        kids[out++] = stack;
        i += run;
    }
    return out;
}

static void build(draft *t, const graph *g)
{
    plan_element *kids = NULL;
    plan_element *held = NULL;
    size_t cap_kids = 0;
    size_t cap_held = 0;
    size_t n_held = 0;
    VEC_PUSH(t->e, t->n, t->cap,
             ((plan_element){.kind = ELEMENT_ROOT, .node = GRAPH_NONE, .scope = 0, .family = GRAPH_NONE}));
    for (uint32_t i = 0; i < t->n; i++) {
        if (t->e[i].kind == ELEMENT_STACK) {
            push_children(t, i, held + t->e[i].first_child, t->e[i].n_children);
        } else if (t->e[i].kind != ELEMENT_LEAF) {
            uint32_t n = kids_of_scope(t, g, t->e[i].scope, &kids, &cap_kids);
            n = stack_runs(t, kids, n, &held, &n_held, &cap_held);
            push_children(t, i, kids, n);
        }
    }
    free(kids);
    free(held);
}

static void list_scopes(draft *t, const graph *g)
{
    t->scope_first = mem_alloc(g->n_scopes * sizeof(uint32_t));
    t->scope_next = mem_alloc(g->n_scopes * sizeof(uint32_t));
    t->node_first = mem_alloc(g->n_scopes * sizeof(uint32_t));
    t->node_next = mem_alloc((g->n_nodes + 1) * sizeof(uint32_t));
    memset(t->scope_first, 0xff, g->n_scopes * sizeof(uint32_t));
    memset(t->node_first, 0xff, g->n_scopes * sizeof(uint32_t));
    for (size_t i = g->n_scopes; i-- > 1;) {
        t->scope_next[i] = t->scope_first[g->scope_parent[i]];
        t->scope_first[g->scope_parent[i]] = (uint32_t)i;
    }
    for (size_t i = g->n_nodes; i-- > 0;) {
        if (g->node_role[i] != GRAPH_PARAMETER) {
            t->node_next[i] = t->node_first[g->node_scope[i]];
            t->node_first[g->node_scope[i]] = (uint32_t)i;
        }
    }
}

graph_plan *test_plan(const graph *g, bool prune, bool stacks, uint64_t seed)
{
    draft t = {.seed = seed, .stacks = stacks};
    list_scopes(&t, g);
    build(&t, g);
    graph_plan *p = mem_calloc(1, sizeof *p);
    p->g = g;
    p->options.steps[STEP_PRUNE] = prune;
    p->text = mem_strdup("");
    p->elements = t.e;
    p->n_elements = t.n;
    p->families = t.families;
    p->n_families = t.n_families;
    p->element_of = mem_alloc((g->n_nodes + 1) * sizeof(uint32_t));
    memset(p->element_of, 0xff, g->n_nodes * sizeof(uint32_t));
    for (size_t i = t.n; i-- > 0;) {
        t.e[i].label = 0;
        if (t.e[i].kind == ELEMENT_LEAF) {
            p->element_of[t.e[i].node] = (uint32_t)i;
            t.e[i].n_leaves = 1;
        }
        if (i > 0) {
            t.e[t.e[i].parent].n_leaves += t.e[i].n_leaves;
        }
    }
    free(t.scope_first);
    free(t.scope_next);
    free(t.node_first);
    free(t.node_next);
    return p;
}

void test_plan_free(graph_plan **p)
{
    free((*p)->text);
    free((*p)->elements);
    free((*p)->element_of);
    free((*p)->families);
    free((*p)->members);
    free((*p)->map);
    free((*p)->back_arcs);
    visible_edges_destroy(&(*p)->edges);
    free(*p);
    *p = NULL;
}
