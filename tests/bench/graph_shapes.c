#include "graph_shapes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

typedef struct maker {
    graph_builder *b;
    uint32_t n;        /* operators of the module: nodes 1 .. n; 0 is "in", n + 1 "out" */
    uint8_t *in, *out; /* [n + 2] whether an edge comes in, goes out */
    uint64_t seed;
} maker;

static uint32_t below(maker *m, uint32_t n)
{
    m->seed = m->seed * 6364136223846793005U + 1442695040888963407U;
    return n ? (uint32_t)((m->seed >> 33) % n) : 0;
}

/* From the i-th to the k-th operator, from 0. */
static void edge(maker *m, uint32_t i, uint32_t k)
{
    if (i < m->n && k < m->n && i != k) {
        graph_builder_edge(m->b, i + 1, 0, k + 1, m->in[k + 1]++ & 7, 0);
        m->out[i + 1] = 1;
    }
}

static void chain(maker *m)
{
    for (uint32_t i = 0; i + 1 < m->n; i++) {
        edge(m, i, i + 1);
        if (i % 7 == 0) {
            edge(m, i, i + 4);
        }
    }
}

static void layers(maker *m, uint32_t width, uint32_t most)
{
    for (uint32_t i = width; i < m->n; i++) {
        uint32_t first = i / width * width - width;
        for (uint32_t k = 1 + below(m, most); k > 0; k--) {
            edge(m, first + below(m, width), i);
        }
    }
}

static void layers_sparse(maker *m)
{
    layers(m, 40, 2);
}

static void layers_dense(maker *m)
{
    layers(m, 40, 6);
}

/* Edges to anywhere further on: many long ones. */
static void anywhere(maker *m)
{
    for (uint32_t i = 1; i < m->n; i++) {
        edge(m, below(m, i), i);
        edge(m, below(m, i), i);
    }
}

static void nearby(maker *m)
{
    for (uint32_t i = 1; i < m->n; i++) {
        for (uint32_t k = 0; k < 3; k++) {
            edge(m, i - 1 - below(m, i < 60 ? i : 60), i);
        }
    }
}

/* Three that feed every second of a chain, one that hears from every fifth. */
static void hubs(maker *m)
{
    for (uint32_t i = 3; i + 2 < m->n; i++) {
        edge(m, i, i + 1);
        edge(m, i % 3, i);
        if (i % 5 == 0) {
            edge(m, i, m->n - 1);
        }
    }
}

static void star(maker *m)
{
    for (uint32_t i = 1; i + 1 < m->n; i++) {
        edge(m, 0, i);
        edge(m, i, m->n - 1);
    }
}

static void tree(maker *m)
{
    for (uint32_t i = 1; i < m->n; i++) {
        edge(m, m->n - 1 - i, m->n - 1 - (i - 1) / 2);
    }
}

static void grid(maker *m)
{
    const uint32_t side = 45;
    for (uint32_t i = 0; i < m->n; i++) {
        if ((i + 1) % side != 0) {
            edge(m, i, i + 1);
        }
        edge(m, i, i + side);
    }
}

static void cyclic(maker *m)
{
    for (uint32_t i = 1; i < m->n; i++) {
        edge(m, i - 1 - below(m, i < 20 ? i : 20), i);
        if (below(m, 8) == 0) {
            edge(m, i, below(m, i));
        }
    }
}

static void pieces(maker *m)
{
    for (uint32_t i = 0; i + 1 < m->n; i++) {
        if (i % 5 != 4) {
            edge(m, i, i + 1);
        }
    }
}

/* All to all between layers of eight, and a residual round every third. */
static void dense_blocks(maker *m)
{
    for (uint32_t i = 8; i < m->n; i++) {
        for (uint32_t k = 0; k < 8; k++) {
            edge(m, i / 8 * 8 - 8 + k, i);
        }
        if (i % 24 == 0) {
            edge(m, i - 8, i + 8);
        }
    }
}

/* The residual stream, three hubs, attention and MLP, without scopes. */
static void transformer(maker *m)
{
    static const uint8_t wires[][2] = {{0, 1}, {1, 2}, {1, 3}, {1, 4}, {2, 5},  {3, 5},   {5, 6},   {6, 7},
                                       {4, 7}, {7, 8}, {8, 9}, {0, 9}, {9, 10}, {10, 11}, {11, 12}, {9, 12}};
    for (uint32_t at = 3; at + 12 < m->n; at += 12) {
        for (size_t w = 0; w < sizeof wires / sizeof wires[0]; w++) {
            edge(m, at + wires[w][0], at + wires[w][1]);
        }
        edge(m, 0, at + 6);
        edge(m, 1, at + 2);
        edge(m, 1, at + 3);
        edge(m, 2, at + 3);
    }
}

typedef struct graph_shape {
    const char *name;
    void (*wire)(maker *m);
} graph_shape;
static const graph_shape shapes[SHAPE_COUNT] = {{"chain", chain},
                                                {"layers, sparse", layers_sparse},
                                                {"layers, dense", layers_dense},
                                                {"random", anywhere},
                                                {"random, near", nearby},
                                                {"hubs", hubs},
                                                {"star", star},
                                                {"tree", tree},
                                                {"grid", grid},
                                                {"cyclic", cyclic},
                                                {"pieces", pieces},
                                                {"all to all", dense_blocks},
                                                {"transformer", transformer}};

const char *shape_name(int shape)
{
    return shapes[shape].name;
}

static void add_node(maker *m, uint32_t scope, uint32_t i)
{
    static const char *const ops[] = {"MatMul", "Add", "LayerNorm", "Softmax", "Mul", "Transpose", "Gelu"};
    char name[32];
    const char *op = ops[i * 2654435761U >> 16 & 0xffff ? (i * 2654435761U >> 16) % 7 : 0];
    (void)snprintf(name, sizeof name, "%s.%u", op, i);
    graph_node_in in = {.name = name,
                        .n_name = strlen(name),
                        .op = op,
                        .n_op = strlen(op),
                        .scope = scope,
                        .key = -1,
                        .stage = -1,
                        .role = GRAPH_OPERATOR};
    uint32_t id = graph_builder_node(m->b, &in);
    graph_builder_output(m->b, id, "f32[4,4]", 8, 64 * (1 + id % 7));
}

void shape_make(graph *g, int shape, uint32_t n)
{
    diag d;
    diag_init(&d);
    maker m = {.b = graph_builder_create(&d, diag_file(&d, "shape")),
               .n = n,
               .in = mem_calloc(n + 2U, 1),
               .out = mem_calloc(n + 2U, 1),
               .seed = (uint64_t)shape + 1};
    uint32_t scope = graph_builder_scope(m.b, 0, "m", 1, 0);
    for (uint32_t i = 0; i < n + 2; i++) {
        add_node(&m, i == 0 || i == n + 1 ? 0 : scope, i);
    }
    shapes[shape].wire(&m);
    for (uint32_t i = 1; i <= n; i++) {
        if (m.in[i] == 0) {
            graph_builder_edge(m.b, 0, 0, i, 0, 0);
        }
        if (!m.out[i]) {
            graph_builder_edge(m.b, i, 0, n + 1, 0, 0);
        }
    }
    graph_finish_options o = {.infer_scopes = false};
    MAREY_ASSERT(graph_builder_finish(m.b, &o, g) == MAREY_OK);
    graph_builder_destroy(&m.b);
    free(m.in);
    free(m.out);
    diag_deinit(&d);
}

enum { BLOCK_LAYERS = 100, BLOCKS_TOGETHER = 30, LAYER_OPERATORS = 12 };

static uint32_t step(maker *m, const char *path, const char *op, uint32_t x, uint32_t y)
{
    uint32_t scope = graph_builder_path(m->b, 0, path, strlen(path), '/');
    graph_node_in in = {
        .name = op, .n_name = strlen(op), .op = op, .n_op = strlen(op), .scope = scope, .key = -1, .stage = -1};
    uint32_t id = graph_builder_node(m->b, &in);
    graph_builder_output(m->b, id, "f32[4,4]", 8, 64);
    if (x != GRAPH_NONE) {
        graph_builder_edge(m->b, x, 0, id, 0, 0);
    }
    if (y != GRAPH_NONE) {
        graph_builder_edge(m->b, y, 0, id, 1, 0);
    }
    return id;
}

static uint32_t layer(maker *m, const char *at, const uint32_t hubs[3], uint32_t x)
{
    char attention[96];
    char mlp[96];
    (void)snprintf(attention, sizeof attention, "%s/attention", at);
    (void)snprintf(mlp, sizeof mlp, "%s/mlp", at);
    uint32_t n = step(m, at, "LayerNorm", x, GRAPH_NONE);
    uint32_t q = step(m, attention, "MatMul", n, hubs[1]);
    uint32_t k = step(m, attention, "MatMul", n, hubs[2]);
    uint32_t v = step(m, attention, "MatMul", n, GRAPH_NONE);
    uint32_t s = step(m, attention, "Softmax", step(m, attention, "BatchMatMul", q, k), hubs[0]);
    uint32_t o = step(m, attention, "Dense", step(m, attention, "BatchMatMul", s, v), GRAPH_NONE);
    x = step(m, at, "Add", x, o);
    n = step(m, at, "LayerNorm", x, GRAPH_NONE);
    return step(m, at, "Add", x, step(m, mlp, "Gelu", step(m, mlp, "MatMul", n, GRAPH_NONE), GRAPH_NONE));
}

void shape_blocks(graph *g, uint32_t operators)
{
    diag d;
    diag_init(&d);
    maker m = {.b = graph_builder_create(&d, diag_file(&d, "blocks"))};
    uint32_t hubs[3];
    for (int i = 0; i < 3; i++) {
        hubs[i] = step(&m, "inputs", "Mask", GRAPH_NONE, GRAPH_NONE);
    }
    uint32_t x = step(&m, "inputs", "Embedding", GRAPH_NONE, GRAPH_NONE);
    for (uint32_t l = 0; l < operators / LAYER_OPERATORS; l++) {
        char at[64];
        uint32_t block = l / BLOCK_LAYERS;
        (void)snprintf(at, sizeof at, "part.%u/block.%u/layer.%u", block / BLOCKS_TOGETHER, block, l);
        x = layer(&m, at, hubs, x);
    }
    (void)step(&m, "head", "MatMul", x, GRAPH_NONE);
    graph_finish_options o = {.infer_scopes = false};
    MAREY_ASSERT(graph_builder_finish(m.b, &o, g) == MAREY_OK);
    graph_builder_destroy(&m.b);
    diag_deinit(&d);
}
