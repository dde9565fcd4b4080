/*
 * Graphs for tests and benches: a regular transformer of any size, mutated copies of one block, random graphs with
 * scopes, and the small ones by hand. All from a seed, all through the builder, by names or by ids.
 */
#ifndef MAREY_TESTS_GRAPH_GEN_H
#define MAREY_TESTS_GRAPH_GEN_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "graph/builder.h"

static inline uint32_t gen_node(graph_builder *b, uint32_t scope, const char *name, const char *op)
{
    graph_node_in n = {name, op, strlen(name), strlen(op), scope, -1, -1, GRAPH_OPERATOR, GRAPH_PHASE_NONE, 0};
    return graph_builder_node(b, &n);
}

static inline uint32_t gen_scope(graph_builder *b, uint32_t parent, const char *name)
{
    return graph_builder_scope(b, parent, name, strlen(name), 0);
}

static inline uint32_t gen_data(graph_builder *b, uint32_t scope, const char *name, graph_role role)
{
    graph_node_in n = {name, "Parameter", strlen(name), 9, scope, -1, -1, role, GRAPH_PHASE_NONE, 0};
    return graph_builder_node(b, &n);
}

/* Finishes and destroys the builder. */
static inline void gen_finish(graph_builder **b, bool infer, graph *g)
{
    graph_finish_options o = {infer, NULL};
    marey_status status = graph_builder_finish(*b, &o, g);
    if (status != MAREY_OK) {
        abort();
    }
    graph_builder_destroy(b);
}

/* ---- a transformer, by names ---- */

typedef struct gen_transformer {
    size_t n_ops;  /* about */
    bool backward; /* a backward operator for each forward one, in the same scopes */
    bool scopes;   /* else flat */
    bool by_names; /* edges by the names of values, as ONNX has them; else by ids */
} gen_transformer;

enum { GEN_LAYER_OPS = 24 };

typedef struct gen_net {
    graph_builder *b;
    const gen_transformer *o;
    uint32_t space;
    char path[128];
    size_t n;
    uint32_t *twin; /* forward ops, for the backward pass */
    uint32_t *in;   /* up to two inputs each */
    char scope_of[128];
} gen_net;

static inline void gen_edge(gen_net *t, uint32_t from, uint32_t to, uint32_t slot)
{
    if (!t->o->by_names) {
        graph_builder_edge(t->b, from, 0, to, slot, 0);
        return;
    }
    char name[32];
    int n = snprintf(name, sizeof name, "value_%u", from);
    graph_builder_use(t->b, t->space, name, (size_t)n, to, slot, 0, 0);
}

static inline uint32_t gen_op(gen_net *t, const char *scope, const char *op, uint32_t a, uint32_t b)
{
    char name[200];
    size_t id = graph_builder_n_nodes(t->b);
    (void)snprintf(name, sizeof name, "/%s/%s_%zu", scope, op, id);
    uint32_t s = t->o->scopes ? graph_builder_path(t->b, 0, scope, strlen(scope), '/') : 0;
    uint32_t v = gen_node(t->b, s, name, op);
    if (t->o->by_names) {
        int n = snprintf(name, sizeof name, "value_%u", v);
        graph_builder_define(t->b, t->space, name, (size_t)n, v, 0);
    }
    if (a != GRAPH_NONE) {
        gen_edge(t, a, v, 0);
    }
    if (b != GRAPH_NONE) {
        gen_edge(t, b, v, 1);
    }
    return v;
}

static inline uint32_t gen_attention(gen_net *t, const char *layer, uint32_t x, const uint32_t hubs[3])
{
    char s[160];
    uint32_t part[3];
    static const char *const names[] = {"q", "k", "v"};
    for (int i = 0; i < 3; i++) {
        (void)snprintf(s, sizeof s, "%s/attention/%s", layer, names[i]);
        uint32_t m = gen_op(t, s, "MatMul", x, GRAPH_NONE);
        part[i] = gen_op(t, s, "Reshape", m, GRAPH_NONE);
        if (i < 2) {
            uint32_t c = gen_op(t, s, "Mul", part[i], hubs[1]);
            part[i] = gen_op(t, s, "Add", c, hubs[2]);
        }
    }
    (void)snprintf(s, sizeof s, "%s/attention/core", layer);
    uint32_t qk = gen_op(t, s, "MatMul", part[0], part[1]);
    uint32_t masked = gen_op(t, s, "Add", qk, hubs[0]);
    uint32_t soft = gen_op(t, s, "Softmax", masked, GRAPH_NONE);
    uint32_t out = gen_op(t, s, "MatMul", soft, part[2]);
    (void)snprintf(s, sizeof s, "%s/attention/out", layer);
    return gen_op(t, s, "MatMul", out, GRAPH_NONE);
}

static inline uint32_t gen_layer(gen_net *t, const char *layer, uint32_t x, const uint32_t hubs[3])
{
    char s[160];
    (void)snprintf(s, sizeof s, "%s/norm1", layer);
    uint32_t n1 = gen_op(t, s, "LayerNormalization", x, GRAPH_NONE);
    uint32_t attention = gen_attention(t, layer, n1, hubs);
    uint32_t r = gen_op(t, layer, "Add", attention, x);
    (void)snprintf(s, sizeof s, "%s/norm2", layer);
    uint32_t n2 = gen_op(t, s, "LayerNormalization", r, GRAPH_NONE);
    (void)snprintf(s, sizeof s, "%s/mlp", layer);
    uint32_t up = gen_op(t, s, "MatMul", n2, GRAPH_NONE);
    uint32_t act = gen_op(t, s, "Gelu", up, GRAPH_NONE);
    uint32_t down = gen_op(t, s, "MatMul", act, GRAPH_NONE);
    return gen_op(t, layer, "Add", down, r);
}

/* A builder with the network in it. Layers lie in "model/block_i/layer_k", 32 layers to a block. */
static inline graph_builder *gen_transformer_builder(const gen_transformer *o)
{
    gen_net t = {.b = graph_builder_create(NULL, 0), .o = o};
    graph_builder_facts(t.b, "onnx", "transformer", "tests");
    t.space = graph_builder_space(t.b, GRAPH_NONE);
    size_t target = o->backward ? o->n_ops / 2 : o->n_ops;
    uint32_t hubs[3] = {gen_op(&t, "model/mask", "Where", GRAPH_NONE, GRAPH_NONE),
                        gen_op(&t, "model/cos", "Cos", GRAPH_NONE, GRAPH_NONE),
                        gen_op(&t, "model/sin", "Sin", GRAPH_NONE, GRAPH_NONE)};
    uint32_t x = gen_op(&t, "model/embed", "Gather", GRAPH_NONE, GRAPH_NONE);
    size_t layers = 0;
    char layer[64];
    uint32_t *ends = malloc((target / 8 + 2) * sizeof *ends);
    for (; graph_builder_n_nodes(t.b) + GEN_LAYER_OPS <= target || layers == 0; layers++) {
        (void)snprintf(layer, sizeof layer, "model/block_%zu/layer_%zu", layers / 32, layers);
        x = gen_layer(&t, layer, x, hubs);
        ends[layers] = x;
    }
    x = gen_op(&t, "model/head", "MatMul", x, GRAPH_NONE);
    if (o->backward) {
        uint32_t grad = gen_op(&t, "model/head", "MatMulGrad", x, GRAPH_NONE);
        for (size_t i = layers; i-- > 0;) {
            (void)snprintf(layer, sizeof layer, "model/block_%zu/layer_%zu", i / 32, i);
            char s[160];
            (void)snprintf(s, sizeof s, "%s/mlp", layer);
            uint32_t a = gen_op(&t, s, "GeluGrad", grad, ends[i]);
            uint32_t c = gen_op(&t, s, "MatMulGrad", a, GRAPH_NONE);
            (void)snprintf(s, sizeof s, "%s/attention/core", layer);
            uint32_t e = gen_op(&t, s, "SoftmaxGrad", c, GRAPH_NONE);
            grad = gen_op(&t, layer, "AddGrad", e, grad);
        }
    }
    free(ends);
    return t.b;
}

/* ---- copies of one random block, some of them mutated ---- */

typedef enum gen_mutation { GEN_SAME, GEN_WIRE, GEN_ATTRIBUTE, GEN_SHAPE, GEN_TYPE } gen_mutation;

typedef struct gen_copies {
    uint64_t seed;
    unsigned n_ops;            /* of a block: 4 or more */
    unsigned n_copies;         /* at most 64 */
    bool series;               /* each copy after the one before; else side by side */
    bool shuffled;             /* operators of each copy in another order */
    gen_mutation mutation[64]; /* of each copy */
} gen_copies;

/* Copy c lies in scope "block_c"; operator k of it has the key c << 16 | k. Blocks have two nested modules. */
static inline void gen_copies_build(const gen_copies *o, graph *g)
{
    graph_builder *b = graph_builder_create(NULL, 0);
    uint32_t source = gen_node(b, 0, "source", "Gather"), before = source;
    uint32_t *ids = malloc(o->n_ops * sizeof *ids), *order = malloc(o->n_ops * sizeof *order);
    uint32_t *ends = malloc(o->n_copies * sizeof *ends);
    static const char *const ops[] = {"MatMul", "Add", "Mul", "Relu", "Conv", "Softmax", "Concat"};
    for (unsigned c = 0; c < o->n_copies; c++) {
        prng r, shuffle;
        prng_seed(&r, o->seed); /* the same block again */
        prng_seed(&shuffle, o->seed * 977 + c + 1);
        char name[64];
        (void)snprintf(name, sizeof name, "block_%u", c);
        uint32_t scope = gen_scope(b, 0, name);
        uint32_t inner[3] = {scope, gen_scope(b, scope, "first"), gen_scope(b, scope, "second")};
        for (unsigned k = 0; k < o->n_ops; k++) {
            order[k] = k;
        }
        for (unsigned k = o->n_ops; o->shuffled && k > 1; k--) {
            uint32_t j = (uint32_t)prng_below(&shuffle, k), x = order[k - 1];
            order[k - 1] = order[j];
            order[j] = x;
        }
        unsigned victim = o->n_ops / 2;
        uint64_t *choice = malloc(o->n_ops * sizeof *choice);
        for (unsigned k = 0; k < o->n_ops; k++) {
            choice[k] = prng_next(&r);
        }
        for (unsigned i = 0; i < o->n_ops; i++) {
            unsigned k = order[i];
            const char *op = ops[choice[k] % 7];
            if (o->mutation[c] == GEN_TYPE && k == victim) {
                op = "Erf";
            }
            (void)snprintf(name, sizeof name, "op_%u_%u", c, k);
            graph_node_in n = {name,
                               op,
                               strlen(name),
                               strlen(op),
                               inner[choice[k] / 7 % 3],
                               (int64_t)c << 16 | k,
                               -1,
                               GRAPH_OPERATOR,
                               GRAPH_PHASE_NONE,
                               0};
            ids[k] = graph_builder_node(b, &n);
            const char *value = o->mutation[c] == GEN_ATTRIBUTE && k == victim ? "other" : "usual";
            graph_builder_attr(b, ids[k], "mode", 4, value, 5);
            const char *type = o->mutation[c] == GEN_SHAPE && k == victim ? "f32[8,5]" : "f32[8,4]";
            graph_builder_output(b, ids[k], type, 8, 128);
        }
        for (unsigned k = 0; k < o->n_ops; k++) {
            /* Operator 0 takes what came before; every other one takes one or two of the earlier ones. */
            uint32_t a = k == 0 ? before : ids[choice[k] / 21 % k];
            if (k == victim && o->mutation[c] == GEN_WIRE) {
                uint32_t other = (uint32_t)((choice[k] / 21 % k + 1) % k);
                a = ids[other];
            }
            graph_builder_edge(b, a, 0, ids[k], 0, 0);
            if (k > 1 && choice[k] / 1000 % 2) {
                graph_builder_edge(b, ids[k - 1], 0, ids[k], 1, 0);
            }
        }
        ends[c] = ids[o->n_ops - 1];
        before = o->series ? ends[c] : source;
        free(choice);
    }
    uint32_t sink = gen_node(b, 0, "sink", "ReduceSum");
    for (unsigned c = 0; c < o->n_copies; c++) {
        if (!o->series || c + 1 == o->n_copies) {
            graph_builder_edge(b, ends[c], 0, sink, c, 0);
        }
    }
    free(ids);
    free(order);
    free(ends);
    gen_finish(&b, false, g);
}

/* ---- random graphs ---- */

typedef struct gen_random {
    uint64_t seed;
    unsigned n_nodes;  /* >= 1 */
    unsigned n_scopes; /* a random tree */
    double edges;      /* per node */
    bool cyclic;       /* some edges go backwards, loops too */
    bool bookkeeping;  /* some operators compute nothing */
    bool parameters;   /* some nodes are parameters without producers */
} gen_random;

static inline graph_builder *gen_random_builder(const gen_random *o)
{
    prng r;
    prng_seed(&r, o->seed);
    graph_builder *b = graph_builder_create(NULL, 0);
    static const char *const ops[] = {"MatMul", "Add", "Relu", "Conv"};
    static const char *const books[] = {"MakeTuple", "TupleGetItem", "Identity", "Depend"};
    uint32_t *scopes = malloc((o->n_scopes + 1) * sizeof *scopes);
    scopes[0] = 0;
    char name[64];
    for (unsigned i = 1; i <= o->n_scopes; i++) {
        (void)snprintf(name, sizeof name, "s%u", i);
        scopes[i] = gen_scope(b, scopes[prng_below(&r, i)], name);
    }
    uint8_t *data = calloc(o->n_nodes, 1);
    for (unsigned i = 0; i < o->n_nodes; i++) {
        /* Neighbours in the input mostly share a scope. */
        uint32_t s = scopes[(i * (o->n_scopes + 1) / o->n_nodes + prng_below(&r, 3)) % (o->n_scopes + 1)];
        (void)snprintf(name, sizeof name, "n%u", i);
        data[i] = o->parameters && prng_below(&r, 5) == 0;
        if (data[i]) {
            (void)gen_data(b, s, name, GRAPH_PARAMETER);
        } else if (o->bookkeeping && prng_below(&r, 3) == 0) {
            (void)gen_node(b, s, name, books[prng_below(&r, 4)]);
        } else {
            (void)gen_node(b, s, name, ops[prng_below(&r, 4)]);
        }
    }
    size_t n_edges = (size_t)(o->edges * o->n_nodes);
    for (size_t i = 0; i < n_edges; i++) {
        uint32_t a = (uint32_t)prng_below(&r, o->n_nodes), c = (uint32_t)prng_below(&r, o->n_nodes);
        if (prng_below(&r, 4) != 0) {
            c = a + 1 + (uint32_t)prng_below(&r, 8);
            c = c < o->n_nodes ? c : o->n_nodes - 1;
        }
        if (a > c && !o->cyclic) {
            uint32_t x = a;
            a = c;
            c = x;
        }
        if ((a == c && !o->cyclic) || data[c]) {
            continue;
        }
        uint8_t flags = prng_below(&r, 6) == 0 ? GRAPH_CONTROL : 0;
        graph_builder_edge(b, a, (uint32_t)prng_below(&r, 3), c, (uint32_t)prng_below(&r, 4), flags);
    }
    free(scopes);
    free(data);
    return b;
}

static inline void gen_random_build(const gen_random *o, graph *g)
{
    graph_builder *b = gen_random_builder(o);
    gen_finish(&b, false, g);
}

#endif
