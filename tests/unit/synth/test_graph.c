/*
 * Contract of synth/graph.h:
 *  - the graph is read back without a loss, has no cycle, and holds all operators of every stage: those of the passes
 * of its layers, what is around them, and the update of the weights;
 *  - a stage has the ranks that the plan gives it, and each of its layers one module in the forward and one in the
 *    backward pass (and one in the recomputation);
 *  - every send leads to the receive of the neighbour that it is meant for, by a line of its own;
 *  - gradients of weights reach the optimizer, through the aggregation where there is data parallelism;
 *  - products are cut over the tensor-parallel group, and nothing is cut where there is none.
 */
#include "cm.h"

#include "readers/graph_reader.h"
#include "synth/graph.h"

typedef struct made {
    synth_params p;
    plan pl;
    graph g;
    diag d;
} made;

static void make(made *x, const char *preset, int pp, int tp, int dp)
{
    diag_init(&x->d);
    assert_true(synth_preset(preset, &x->p));
    x->p.pp = pp;
    x->p.tp = tp;
    x->p.dp = dp;
    x->p.ranks = pp * tp * dp;
}

static void build(made *x)
{
    strbuf text = {0};
    graph_finish_options o = {0};
    assert_int_equal(synth_check(&x->p, &x->d), MAREY_OK);
    plan_init(&x->pl, &x->p);
    synth_graph_json(&text, &x->pl);
    assert_int_equal(graph_read_memory(text.s, text.n, "graph.json", &o, &x->g, &x->d), MAREY_OK);
    assert_null(graph_check(&x->g));
    assert_int_equal(x->d.n_messages, 0);
    assert_int_equal(x->d.n_losses, 0);
    assert_int_equal(graph_cyclic_nodes(&x->g), 0);
    strbuf_deinit(&text);
}

static void drop(made *x)
{
    graph_deinit(&x->g);
    plan_deinit(&x->pl);
    diag_deinit(&x->d);
}

static size_t operators(const graph *g)
{
    return g->n_nodes - g->n_implied_nodes;
}

static int64_t expected_operators(const made *x)
{
    const plan *pl = &x->pl;
    int64_t n = 0;
    int passes = x->p.recompute ? 2 : 1;
    for (int s = 0; s < x->p.pp; s++) {
        int layers = plan_stage_layers(pl, s);
        bool first = s == 0;
        bool last = s == x->p.pp - 1;
        n += (first || last) + (passes + 1) * ((first ? pl->first.n : 0) + (last ? pl->last.n : 0));
        n += (int64_t)layers * (passes * pl->fwd.n + pl->bwd.n + 2); /* norm, AdamW */
        n += 2 * ((first ? 0 : 1) + (last ? 0 : 1));
        n += x->p.dp > 1 ? plan_buckets(pl, s) * (x->p.grad_sync == GRAD_SHARDED ? 2 : 1) : 0;
        n += x->p.ranks > 1 ? 3 : 0;
    }
    return n;
}

static size_t modules(const graph *g, const char *name)
{
    size_t n = 0;
    for (size_t i = 0; i < g->n_scopes; i++) {
        n += strcmp(graph_string(g, g->scope_name[i]), name) == 0;
    }
    return n;
}

static void check_stages(const made *x)
{
    assert_int_equal(x->g.n_stages, x->p.pp);
    for (int s = 0; s < x->p.pp; s++) {
        assert_int_equal(x->g.stages[s].n_ranks, x->p.tp * x->p.dp);
        for (uint32_t k = 0; k < x->g.stages[s].n_ranks; k++) {
            assert_int_equal(plan_stage(&x->pl, (int)x->g.stage_ranks[x->g.stages[s].first_rank + k]), s);
        }
    }
}

static void check_transfers(const made *x)
{
    const graph *g = &x->g;
    size_t n = 0;
    for (size_t e = 0; e < g->n_edges; e++) {
        if (g->edge_flags[e] & GRAPH_P2P) {
            uint32_t from = g->edge_from[e];
            uint32_t to = g->edge_to[e];
            int apart = g->stages[graph_stage_of(g, to)].stage - g->stages[graph_stage_of(g, from)].stage;
            assert_int_equal(g->node_class[from], GRAPH_CLASS_SEND);
            assert_int_equal(g->node_class[to], GRAPH_CLASS_RECEIVE);
            assert_int_equal(g->node_phase[from], g->node_phase[to]);
            assert_int_equal(apart, g->node_phase[from] == GRAPH_FORWARD ? 1 : -1);
            n++;
        }
    }
    assert_int_equal(n, 2 * (x->p.pp - 1));
}

/* Every operator but those that data come in by takes something; an update takes a gradient. */
static void check_flow(const made *x)
{
    const graph *g = &x->g;
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        const char *op = graph_string(g, g->node_op[i]);
        bool source = strcmp(op, "aten::copy_") == 0 || g->node_class[i] == GRAPH_CLASS_RECEIVE;
        bool meets = g->node_class[i] == GRAPH_CLASS_COLLECTIVE; /* the loss of a stage that has none */
        if (g->node_role[i] == GRAPH_OPERATOR && !source && !meets) {
            assert_true(g->in_first[i + 1] > g->in_first[i]);
        }
        bool update = strcmp(op, "aten::_fused_adamw_") == 0;
        bool aggregated = !update;
        for (uint32_t e = g->in_first[i]; e < g->in_first[i + 1] && update; e++) {
            uint32_t from = g->edge_from[e];
            bool sums = (g->node_flags[from] & GRAPH_GRADIENT_AGGREGATION) != 0;
            aggregated = aggregated || (x->p.dp > 1 ? sums : g->node_phase[from] == GRAPH_BACKWARD);
        }
        assert_true(aggregated);
    }
}

static size_t sharded(const graph *g)
{
    size_t n = 0;
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        n += graph_sharding_of(g, i) != 0;
    }
    return n;
}

static void pipeline(void **state)
{
    (void)state;
    static const int shapes[][5] = {/* pp, tp, dp, detail, recompute */
                                    {8, 2, 2, 0, 0},
                                    {3, 4, 1, 5, 1},
                                    {1, 2, 4, 20, 0},
                                    {40, 1, 1, 4, 0},
                                    {4, 2, 2, 48, 1}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        made x = {0};
        make(&x, "pangu-13b", shapes[i][0], shapes[i][1], shapes[i][2]);
        x.p.detail = shapes[i][3];
        x.p.recompute = shapes[i][4];
        x.p.buckets = i == 4 ? 3 : 0;
        build(&x);
        assert_int_equal(operators(&x.g), expected_operators(&x));
        assert_int_equal(modules(&x.g, "ParallelTransformerLayer_0"), 2 + x.p.recompute);
        assert_int_equal(modules(&x.g, "ParallelTransformerLayer_39"), 2 + x.p.recompute);
        assert_int_equal(modules(&x.g, "ParallelTransformerLayer_40"), 0);
        check_stages(&x);
        check_transfers(&x);
        check_flow(&x);
        assert_true((sharded(&x.g) > 0) == (x.p.tp > 1));
        drop(&x);
    }
}

static void sharding(void **state)
{
    (void)state;
    made x = {0};
    make(&x, "pangu-13b", 1, 16, 1);
    build(&x);
    size_t cut = 0;
    for (uint32_t i = 0; i < x.g.n_nodes; i++) {
        uint32_t slices[8];
        if (strcmp(graph_string(&x.g, x.g.node_op[i]), "aten::linear") == 0 && x.g.node_phase[i] == GRAPH_FORWARD) {
            assert_int_equal(graph_sharding(&x.g, i, 1, slices, 8), 2); /* rows of the weight, or columns */
            assert_true(slices[0] * slices[1] == 16);
            cut++;
        }
    }
    assert_int_equal(cut, 4 * 40 + 1);
    drop(&x);
}

static void data_parallel(void **state)
{
    (void)state;
    made x = {0};
    make(&x, "resnet50", 1, 1, 8);
    build(&x);
    assert_int_equal(operators(&x.g), expected_operators(&x));
    assert_int_equal(modules(&x.g, "Bottleneck_15"), 2);
    check_stages(&x);
    check_transfers(&x);
    check_flow(&x);
    assert_int_equal(sharded(&x.g), 0);
    drop(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(pipeline), cmocka_unit_test(sharding),
                                       cmocka_unit_test(data_parallel)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
