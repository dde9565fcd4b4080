/*
 * A small transformer as a graph, written by hand: inputs, embedding, equal blocks in series (attention and mlp, a
 * residual around each, tensor parallel sums), norm, head, loss; a mask that all blocks take. And a run of it: every
 * operator on every rank in every step, the names as paths; one block is slower than the others.
 */
#ifndef TESTS_HELP_GRAPH_SMALL_H
#define TESTS_HELP_GRAPH_SMALL_H

#include "graph/builder.h"
#include "help/stage.h"

enum { SMALL_BLOCKS = 8, SLOW_BLOCK = 5 };

typedef struct graph_made {
    graph_builder *b;
    uint32_t scope;
    const char *path;
} graph_made;

static inline uint32_t made_node(graph_made *m, const char *name, const char *op, const char *type, uint64_t bytes)
{
    char full[128];
    (void)snprintf(full, sizeof full, "%s%s%s", m->path, m->path[0] ? "/" : "", name);
    graph_node_in in = {.name = full, .op = op, .n_name = strlen(full), .n_op = strlen(op), .scope = m->scope};
    in.key = -1;
    in.stage = -1;
    in.role = GRAPH_OPERATOR;
    uint32_t id = graph_builder_node(m->b, &in);
    graph_builder_output(m->b, id, type, strlen(type), bytes);
    return id;
}

static inline void made_edge(graph_made *m, uint32_t from, uint32_t to, uint32_t slot)
{
    graph_builder_edge(m->b, from, 0, to, slot, 0);
}

#define SMALL_TYPE  "bf16[32,1024,5120]"
#define SMALL_BYTES ((uint64_t)32 * 1024 * 5120 * 2)

/* @return what it puts out; `in` comes from outside, the mask likewise */
static inline uint32_t made_attention(graph_made *m, uint32_t in, uint32_t mask)
{
    static const char *const names[3] = {"query", "key", "value"};
    uint32_t qkv[3];
    for (int i = 0; i < 3; i++) {
        qkv[i] = made_node(m, names[i], "MatMul", SMALL_TYPE, SMALL_BYTES / 4);
        graph_builder_sharding(m->b, qkv[i], "((8,1),(1,4))", 13);
        graph_builder_attr(m->b, qkv[i], "transpose_b", 11, "true", 4);
        made_edge(m, in, qkv[i], 0);
    }
    uint32_t scores = made_node(m, "scores", "BatchMatMul", "bf16[32,40,1024,1024]", SMALL_BYTES / 2);
    uint32_t softmax = made_node(m, "softmax", "Softmax", "bf16[32,40,1024,1024]", SMALL_BYTES / 2);
    uint32_t context = made_node(m, "context", "BatchMatMul", SMALL_TYPE, SMALL_BYTES / 4);
    uint32_t dense = made_node(m, "dense", "MatMul", SMALL_TYPE, SMALL_BYTES);
    graph_builder_sharding(m->b, dense, "((8,4),(4,1))", 13);
    made_edge(m, qkv[0], scores, 0);
    made_edge(m, qkv[1], scores, 1);
    made_edge(m, scores, softmax, 0);
    made_edge(m, mask, softmax, 1);
    made_edge(m, softmax, context, 0);
    made_edge(m, qkv[2], context, 1);
    made_edge(m, context, dense, 0);
    return dense;
}

static inline uint32_t made_mlp(graph_made *m, uint32_t in)
{
    uint32_t up = made_node(m, "up", "MatMul", "bf16[32,1024,20480]", SMALL_BYTES);
    uint32_t gelu = made_node(m, "gelu", "Gelu", "bf16[32,1024,20480]", SMALL_BYTES);
    uint32_t down = made_node(m, "down", "MatMul", SMALL_TYPE, SMALL_BYTES);
    made_edge(m, in, up, 0);
    made_edge(m, up, gelu, 0);
    made_edge(m, gelu, down, 0);
    return down;
}

static inline uint32_t made_block(graph_builder *b, uint32_t backbone, int k, uint32_t in, uint32_t mask)
{
    char name[32];
    char path[64];
    char inner[96];
    (void)snprintf(name, sizeof name, "blocks.%d", k);
    (void)snprintf(path, sizeof path, "backbone/%s", name);
    uint32_t scope = graph_builder_scope(b, backbone, name, strlen(name), 0);
    graph_made m = {b, scope, path};
    uint32_t norm = made_node(&m, "norm1", "LayerNorm", SMALL_TYPE, SMALL_BYTES);
    made_edge(&m, in, norm, 0);
    (void)snprintf(inner, sizeof inner, "%s/attention", path);
    graph_made attention = {b, graph_builder_scope(b, scope, "attention", 9, 0), inner};
    uint32_t dense = made_attention(&attention, norm, mask);
    uint32_t sum = made_node(&m, "sum1", "AllReduce", SMALL_TYPE, SMALL_BYTES);
    uint32_t add = made_node(&m, "add1", "Add", SMALL_TYPE, SMALL_BYTES);
    made_edge(&m, dense, sum, 0);
    made_edge(&m, sum, add, 0);
    made_edge(&m, in, add, 1);
    uint32_t norm2 = made_node(&m, "norm2", "LayerNorm", SMALL_TYPE, SMALL_BYTES);
    made_edge(&m, add, norm2, 0);
    char mlp_path[96];
    (void)snprintf(mlp_path, sizeof mlp_path, "%s/mlp", path);
    graph_made mlp = {b, graph_builder_scope(b, scope, "mlp", 3, 0), mlp_path};
    uint32_t down = made_mlp(&mlp, norm2);
    uint32_t sum2 = made_node(&m, "sum2", "AllReduce", SMALL_TYPE, SMALL_BYTES);
    uint32_t add2 = made_node(&m, "add2", "Add", SMALL_TYPE, SMALL_BYTES);
    made_edge(&m, down, sum2, 0);
    made_edge(&m, sum2, add2, 0);
    made_edge(&m, add, add2, 1);
    return add2;
}

static inline void graph_small_make(graph *out, int blocks)
{
    diag d;
    diag_init(&d);
    graph_builder *b = graph_builder_create(&d, 0);
    graph_builder_facts(b, "mindspore", "PanguAlphaModel", "test");
    graph_made top = {b, 0, ""};
    uint32_t ids = made_node(&top, "inputs", "GetNext", "int32[32,1024]", 131072);
    uint32_t mask = made_node(&top, "mask", "Cast", "bf16[32,1,1024,1024]", (uint64_t)64 << 20);
    made_edge(&top, ids, mask, 0);
    uint32_t backbone = graph_builder_scope(b, 0, "backbone", 8, 0);
    graph_made in = {b, graph_builder_scope(b, backbone, "embedding", 9, 0), "backbone/embedding"};
    uint32_t gather = made_node(&in, "gather", "Gather", SMALL_TYPE, SMALL_BYTES);
    uint32_t x = made_node(&in, "position", "Add", SMALL_TYPE, SMALL_BYTES);
    made_edge(&in, ids, gather, 0);
    made_edge(&in, gather, x, 0);
    for (int k = 0; k < blocks; k++) {
        x = made_block(b, backbone, k, x, mask);
    }
    graph_made back = {b, backbone, "backbone"};
    uint32_t norm = made_node(&back, "final_norm", "LayerNorm", SMALL_TYPE, SMALL_BYTES);
    made_edge(&back, x, norm, 0);
    graph_made head = {b, graph_builder_scope(b, 0, "head", 4, 0), "head"};
    uint32_t logits = made_node(&head, "logits", "MatMul", "bf16[32,1024,40000]", SMALL_BYTES * 8);
    uint32_t softmax = made_node(&head, "log_softmax", "LogSoftmax", "f32[32,1024,40000]", SMALL_BYTES * 16);
    made_edge(&head, norm, logits, 0);
    made_edge(&head, logits, softmax, 0);
    uint32_t loss = made_node(&top, "loss", "NLLLoss", "f32[]", 4);
    made_edge(&top, softmax, loss, 0);
    graph_finish_options o = {0};
    if (graph_builder_finish(b, &o, out) != MAREY_OK) {
        (void)fprintf(stderr, "the small graph is none\n");
        abort();
    }
    graph_builder_destroy(&b);
    diag_deinit(&d);
}

/* Microseconds of an operator on a rank. */
static inline int64_t graph_small_us(const graph *g, uint32_t node, uint32_t rank)
{
    static const int64_t by_class[GRAPH_CLASS_COUNT] = {
        [GRAPH_CLASS_MATMUL] = 200,     [GRAPH_CLASS_NORMALIZATION] = 40, [GRAPH_CLASS_COLLECTIVE] = 160,
        [GRAPH_CLASS_ELEMENTWISE] = 20, [GRAPH_CLASS_ACTIVATION] = 60,    [GRAPH_CLASS_EMBEDDING] = 50};
    int64_t us = by_class[g->node_class[node]] > 0 ? by_class[g->node_class[node]] : 30;
    char slow[32];
    (void)snprintf(slow, sizeof slow, "blocks.%d/", SLOW_BLOCK);
    bool is_slow = strstr(graph_string(g, g->node_name[node]), slow) && rank == 1;
    return is_slow ? us * 2 : us;
}

/* One step on `ranks` ranks: the operators in the graph's order. */
static inline void graph_small_run(small_run *r, const graph *g, uint32_t ranks)
{
    small_init(r);
    r->m.name = "pangu-small";
    uint32_t *names = mem_alloc((g->n_nodes + 1) * sizeof *names);
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        bool sum = g->node_class[i] == GRAPH_CLASS_COLLECTIVE;
        names[i] = small_name(r, graph_string(g, g->node_name[i]), sum ? CLASS_COLLECTIVE : CLASS_FORWARD,
                              sum ? KIND_COMMUNICATION : KIND_COMPUTE);
    }
    for (uint32_t rank = 0; rank < ranks; rank++) {
        (void)small_rank(r, 0, "host");
        uint32_t compute = small_lane(r, KIND_COMPUTE, "stream 7", 1);
        uint32_t comm = small_lane(r, KIND_COMMUNICATION, "stream 20", 1);
        int64_t t = 0;
        for (uint32_t i = 0; i < g->n_nodes; i++) {
            bool sum = g->node_class[i] == GRAPH_CLASS_COLLECTIVE;
            int64_t dur = graph_small_us(g, i, rank) * 1000;
            small_put(r, (small_event){sum ? comm : compute, t, dur, names[i], 0,
                                       sum ? CLASS_COLLECTIVE : CLASS_FORWARD, 0, NULL});
            t += dur + 1000;
        }
        small_step(r, rank, 111, 0, t);
        r->m.duration_ns = t > r->m.duration_ns ? t : r->m.duration_ns;
    }
    free(names);
}

/* Frames until picture and data are there. */
static inline int graph_stage_settle(stage *g)
{
    g->view.layout = LAYOUT_GRAPH;
    return stage_settle(g);
}

#endif
