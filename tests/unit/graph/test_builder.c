/*
 * Contract: the builder joins values by name in any order, the nearest space first; edges come out ascending by
 * consumer and slot with both indices right; rows pushed in any order belong to their nodes; what cannot be joined is
 * counted, never fatal. A finished graph passes graph_check(), the builder is empty afterwards.
 */
#include "cm.h"

#include "base/text.h"
#include "graph/builder.h"

static uint32_t push(graph_builder *b, const char *name, const char *op, uint32_t scope)
{
    graph_node_in n = {name, op, strlen(name), strlen(op), scope, -1, -1, GRAPH_OPERATOR, GRAPH_PHASE_NONE, 0};
    return graph_builder_node(b, &n);
}

static void define(graph_builder *b, uint32_t space, const char *name, uint32_t node, uint32_t slot)
{
    graph_builder_define(b, space, name, strlen(name), node, slot);
}

static void use(graph_builder *b, uint32_t space, const char *name, uint32_t node, uint32_t slot)
{
    graph_builder_use(b, space, name, strlen(name), node, slot, 0, 100 + slot);
}

static void finish(graph_builder **b, graph *g)
{
    assert_int_equal(graph_builder_finish(*b, NULL, g), MAREY_OK);
    assert_int_equal(graph_builder_n_nodes(*b), 0);
    graph_builder_destroy(b);
    assert_null(graph_check(g));
}

static void names_join_in_any_order(void **state)
{
    (void)state;
    diag d;
    diag_init(&d);
    graph_builder *b = graph_builder_create(&d, diag_file(&d, "x"));
    uint32_t top = graph_builder_space(b, GRAPH_NONE);
    uint32_t c = push(b, "c", "Add", 0), a = push(b, "a", "Relu", 0);
    use(b, top, "v", c, 1);
    use(b, top, "w", c, 0);
    use(b, top, "nobody", c, 2);
    define(b, top, "v", a, 0);
    define(b, top, "w", a, 3);
    define(b, top, "v", c, 0); /* a second maker: the first counts */
    graph g;
    finish(&b, &g);
    assert_int_equal(g.n_edges, 2);
    assert_int_equal(g.edge_to[0], c);
    assert_int_equal(g.edge_from_slot[0], 3);
    assert_int_equal(g.edge_to_slot[1], 1);
    assert_int_equal(g.edge_from[1], a);
    assert_int_equal(g.from_first[a + 1] - g.from_first[a], 2);
    assert_int_equal(diag_lost(&d, MAREY_LOSS_DANGLING), 1);
    assert_int_equal(diag_lost(&d, MAREY_LOSS_DUPLICATE_NAME), 1);
    graph_deinit(&g);
    diag_deinit(&d);
}

static void inner_spaces_see_outer_values(void **state)
{
    (void)state;
    graph_builder *b = graph_builder_create(NULL, 0);
    uint32_t top = graph_builder_space(b, GRAPH_NONE), body = graph_builder_space(b, top);
    uint32_t sibling = graph_builder_space(b, top);
    uint32_t a = push(b, "a", "A", 0), b1 = push(b, "b", "B", 0), c = push(b, "c", "C", 0), e = push(b, "e", "E", 0);
    define(b, top, "x", a, 0);
    define(b, body, "x", b1, 0);
    define(b, body, "y", b1, 1);
    use(b, body, "x", c, 0);    /* its own */
    use(b, sibling, "x", e, 0); /* the one around it */
    use(b, sibling, "y", e, 1); /* not visible */
    graph g;
    finish(&b, &g);
    assert_int_equal(g.n_edges, 2);
    assert_int_equal(g.edge_from[0], b1);
    assert_int_equal(g.edge_from[1], a);
    graph_deinit(&g);
}

static void rows_belong_to_their_nodes(void **state)
{
    (void)state;
    graph_builder *b = graph_builder_create(NULL, 0);
    uint32_t a = push(b, "a", "MatMul", 0), c = push(b, "c", "Relu", 0);
    graph_builder_output(b, c, "f32[2]", 6, 8);
    graph_builder_output(b, a, "f32[4]", 6, 16);
    graph_builder_output(b, a, "f32[8]", 6, 32);
    graph_builder_attr(b, c, "k", 1, "v", 1);
    char big[5000];
    memset(big, 'x', sizeof big);
    graph_builder_attr(b, a, "big", 3, big, sizeof big);
    graph_builder_edge(b, a, 1, c, 0, 0);
    graph_builder_edge(b, a, 1, c, 9, GRAPH_CONTROL);
    graph_builder_edge(b, c, 70000, c, 1, 0);
    graph_builder_edge(b, 7, 0, c, 2, 0); /* a node that never comes */
    uint32_t ranks[] = {4, 5};
    graph_builder_stage(b, 3, ranks, 2);
    graph_node_in n = {"s", "Send", 1, 4, 0, 77, 1, GRAPH_OPERATOR, GRAPH_BACKWARD, GRAPH_IMPLIED};
    uint32_t s = graph_builder_node(b, &n);
    graph_builder_edge(b, c, 0, s, 0, 0);
    graph_builder_sharding(b, a, "((8,1),(1,4))", 13);
    graph g;
    finish(&b, &g);
    assert_string_equal(graph_string(&g, graph_out_type(&g, g.out_first[a] + 1)), "f32[8]");
    assert_int_equal(graph_edge_bytes(&g, 0), 32);
    assert_int_equal(graph_edge_bytes(&g, 2), 0); /* control, whatever its slot */
    assert_string_equal(graph_attr(&g, c, "k"), "v");
    assert_null(graph_attr(&g, c, "absent"));
    assert_non_null(strstr(graph_attr(&g, a, "big"), "(5000 bytes)"));
    assert_true(strlen(graph_attr(&g, a, "big")) <= 1024);
    assert_int_equal(g.n_edges, 4);
    assert_int_equal(g.edge_from_slot[1], 65535);
    assert_int_equal(g.n_control_edges, 1);
    assert_int_equal(g.n_implied_edges, 1); /* touches an implied node */
    assert_int_equal(g.n_implied_nodes, 1);
    assert_int_equal(g.n_stages, 2);
    assert_int_equal(g.stages[0].stage, 1);
    assert_int_equal(g.node_stage[s], 0);
    assert_int_equal(g.stages[1].n_ranks, 2);
    uint32_t slices[4];
    assert_int_equal(graph_sharding(&g, a, 1, slices, 4), 2);
    assert_int_equal(slices[0], 1);
    assert_int_equal(slices[1], 4);
    assert_int_equal(graph_sharding(&g, a, 2, slices, 4), 0);
    assert_int_equal(graph_sharding(&g, c, 0, slices, 4), 0);
    assert_int_equal(graph_cyclic_nodes(&g), 1);
    graph_deinit(&g);
}

/* Columns that no node has a value in stay away; one value makes them whole, whenever it comes. */
static void columns_that_are_needed(void **state)
{
    (void)state;
    for (int late = 0; late < 2; late++) {
        graph_builder *b = graph_builder_create(NULL, 0);
        uint32_t scope = graph_builder_path(b, 0, "body", 4, '/');
        const uint32_t n = 3000; /* more than the first that fit */
        for (uint32_t i = 0; i < n; i++) {
            graph_node_in in = {"n",
                                "Add",
                                1,
                                3,
                                0,
                                late && i == n / 2 ? 77 : -1,
                                late && i == n / 2 ? 4 : -1,
                                GRAPH_OPERATOR,
                                GRAPH_FORWARD,
                                0};
            (void)graph_builder_node(b, &in);
            graph_builder_output(b, i, i % 2 ? "f32[2]" : "f32[4]", 6, i % 2 ? 8 : i % 4 ? 16 : 0);
        }
        if (late) {
            graph_builder_body(b, n - 1, scope);
            graph_builder_sharding(b, 1, "(2,1)", 5);
            graph_builder_attr(b, 2, "k", 1, "v", 1);
        }
        graph g;
        finish(&b, &g);
        assert_int_equal(g.n_outs, n);
        assert_int_equal(g.n_tensors, 3);
        assert_true((g.node_body != NULL) == late && (g.node_sharding != NULL) == late);
        assert_true((g.node_key != NULL) == late && (g.node_stage != NULL) == late && (g.attr_first != NULL) == late);
        for (uint32_t i = 0; i < n; i++) {
            assert_true(graph_key_of(&g, i) == (late && i == n / 2 ? 77 : -1));
            assert_int_equal(graph_stage_of(&g, i), late && i == n / 2 ? 0 : -1);
            assert_int_equal(graph_body_of(&g, i), late && i == n - 1 ? scope : GRAPH_NONE);
            assert_string_equal(graph_string(&g, graph_sharding_of(&g, i)), late && i == 1 ? "(2,1)" : "");
            assert_int_equal(graph_attrs_of(&g, i).end - graph_attrs_of(&g, i).first, late && i == 2);
            assert_string_equal(graph_string(&g, graph_out_type(&g, g.out_first[i])), i % 2 ? "f32[2]" : "f32[4]");
            assert_int_equal(graph_out_bytes(&g, g.out_first[i]), i % 2 ? 8 : i % 4 ? 16 : 0);
        }
        graph_deinit(&g);
    }
}

static void scopes_of_paths(void **state)
{
    (void)state;
    graph_builder *b = graph_builder_create(NULL, 0);
    uint32_t abc = graph_builder_path(b, 0, "a//b/c", 6, '/');
    assert_int_equal(graph_builder_path(b, 0, "/a/b/c/", 7, '/'), abc);
    uint32_t again = graph_builder_new_scope(b, 0, "a", 1, GRAPH_SCOPE_BODY);
    uint32_t third = graph_builder_new_scope(b, 0, "a", 1, 0);
    graph_builder_scope_class(b, abc, "Linear", 6);
    char deep[1000];
    for (size_t i = 0; i < sizeof deep; i++) {
        deep[i] = i % 2 ? '.' : 'p';
    }
    uint32_t bottom = graph_builder_path(b, 0, deep, sizeof deep, '.');
    push(b, "x\xff\x01y", "A", abc);
    push(b, "z", "A", bottom);
    graph g;
    finish(&b, &g);
    strbuf path = {0};
    graph_scope_path(&g, abc, &path);
    assert_string_equal(path.s, "a/b/c");
    assert_string_equal(graph_string(&g, g.scope_name[again]), "a (2)");
    assert_string_equal(graph_string(&g, g.scope_name[third]), "a (3)");
    assert_string_equal(graph_string(&g, g.scope_class[abc]), "Linear");
    assert_string_equal(graph_string(&g, g.node_name[0]), "x\xEF\xBF\xBDy");
    assert_int_equal(graph_depth(&g), 64);
    strbuf_deinit(&path);
    graph_deinit(&g);
}

static void an_empty_graph_is_refused(void **state)
{
    (void)state;
    diag d;
    diag_init(&d);
    graph_builder *b = graph_builder_create(&d, 0);
    graph g;
    assert_int_equal(graph_builder_finish(b, NULL, &g), MAREY_FORMAT);
    assert_int_equal(d.n_messages, 1);
    graph_builder_destroy(&b);
    diag_deinit(&d);
}

/* Fan-in 1 671, slots pushed backwards. */
static void a_hub_is_sorted_by_slot(void **state)
{
    (void)state;
    graph_builder *b = graph_builder_create(NULL, 0);
    uint32_t hub = push(b, "hub", "AddN", 0);
    for (uint32_t i = 0; i < 1671; i++) {
        uint32_t n = push(b, "", "Grad", 0);
        graph_builder_edge(b, n, 0, hub, 1670 - i, 0);
    }
    graph g;
    finish(&b, &g);
    for (uint32_t i = 0; i < 1671; i++) {
        assert_int_equal(g.edge_to_slot[i], i);
        assert_int_equal(g.edge_from[i], 1671 - i);
    }
    assert_string_equal(graph_node_label(&g, 1), "Grad");
    graph_deinit(&g);
}

static void a_cycle_is_counted(void **state)
{
    (void)state;
    graph_builder *b = graph_builder_create(NULL, 0);
    enum { N = 200000 };
    for (uint32_t i = 0; i < N; i++) {
        push(b, "", "Op", 0);
        graph_builder_edge(b, i, 0, i + 1 == N ? 1 : i + 1, 0, 0); /* node 0 leads in */
    }
    graph g;
    finish(&b, &g);
    assert_int_equal(graph_cyclic_nodes(&g), N - 1);
    graph_deinit(&g);
}

static void operator_types_have_classes(void **state)
{
    (void)state;
    static const struct {
        const char *op;
        graph_class klass;
    } CASES[] = {
        {"MatMul", GRAPH_CLASS_MATMUL},
        {"com.microsoft::FusedMatMul", GRAPH_CLASS_MATMUL},
        {"aten::addmm", GRAPH_CLASS_MATMUL},
        {"aten.mm.default", GRAPH_CLASS_MATMUL},
        {"stablehlo.dot_general", GRAPH_CLASS_MATMUL},
        {"dot", GRAPH_CLASS_MATMUL},
        {"BatchMatMulV2", GRAPH_CLASS_MATMUL},
        {"Conv2DBackpropFilter", GRAPH_CLASS_CONVOLUTION},
        {"convolution", GRAPH_CLASS_CONVOLUTION},
        {"aten::convolution_backward", GRAPH_CLASS_CONVOLUTION},
        {"com.microsoft::GroupQueryAttention", GRAPH_CLASS_ATTENTION},
        {"aten::_scaled_dot_product_flash_attention_backward", GRAPH_CLASS_ATTENTION},
        {"LayerNormGrad", GRAPH_CLASS_NORMALIZATION},
        {"FusedBatchNormV3", GRAPH_CLASS_NORMALIZATION},
        {"ReLU", GRAPH_CLASS_ACTIVATION},
        {"logistic", GRAPH_CLASS_ACTIVATION},
        {"aten::add_.Tensor", GRAPH_CLASS_ELEMENTWISE},
        {"RealDiv", GRAPH_CLASS_ELEMENTWISE},
        {"ReduceSum", GRAPH_CLASS_REDUCTION},
        {"reduce-window", GRAPH_CLASS_REDUCTION},
        {"Reshape", GRAPH_CLASS_LAYOUT},
        {"dynamic-update-slice", GRAPH_CLASS_LAYOUT},
        {"Gather", GRAPH_CLASS_LAYOUT},
        {"EmbeddingLookup", GRAPH_CLASS_EMBEDDING},
        {"LSTM", GRAPH_CLASS_RECURRENT},
        {"ApplyMomentum", GRAPH_CLASS_OPTIMIZER},
        {"AllReduce", GRAPH_CLASS_COLLECTIVE},
        {"all-reduce-start", GRAPH_CLASS_COLLECTIVE},
        {"ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)", GRAPH_CLASS_COLLECTIVE},
        {"hcom_reduceScatter_", GRAPH_CLASS_COLLECTIVE},
        {"ncclDevKernel_SendRecv", GRAPH_CLASS_SEND},
        {"Send", GRAPH_CLASS_SEND},
        {"Receive", GRAPH_CLASS_RECEIVE},
        {"recv-done", GRAPH_CLASS_RECEIVE},
        {"If", GRAPH_CLASS_CONTROL},
        {"StatefulPartitionedCall", GRAPH_CLASS_CONTROL},
        {"while", GRAPH_CLASS_CONTROL},
        {"TupleGetItem", GRAPH_CLASS_BOOKKEEPING},
        {"get-tuple-element", GRAPH_CLASS_BOOKKEEPING},
        {"UpdateState", GRAPH_CLASS_BOOKKEEPING},
        {"Identity", GRAPH_CLASS_BOOKKEEPING},
        {"NoOp", GRAPH_CLASS_BOOKKEEPING},
        {"VarHandleOp", GRAPH_CLASS_DATA},
        {"stablehlo.constant", GRAPH_CLASS_DATA},
        {"SomethingOfOurOwn", GRAPH_CLASS_OTHER},
        {"", GRAPH_CLASS_OTHER},
        {"::.", GRAPH_CLASS_OTHER},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        if (graph_class_of(CASES[i].op) != CASES[i].klass) {
            fail_msg("%s is %s, not %s", CASES[i].op, graph_class_name(graph_class_of(CASES[i].op)),
                     graph_class_name(CASES[i].klass));
        }
    }
}

static void finish_can_be_cancelled(void **state)
{
    (void)state;
    graph_builder *b = graph_builder_create(NULL, 0);
    uint32_t space = graph_builder_space(b, GRAPH_NONE);
    uint32_t a = push(b, "a", "A", 0);
    use(b, space, "x", a, 0);
    cancel_flag cancel;
    atomic_init(&cancel.set, true);
    graph g;
    assert_int_equal(graph_builder_finish(b, &(graph_finish_options){false, &cancel}, &g), MAREY_CANCELLED);
    graph_builder_destroy(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_join_in_any_order),    cmocka_unit_test(inner_spaces_see_outer_values),
        cmocka_unit_test(rows_belong_to_their_nodes), cmocka_unit_test(scopes_of_paths),
        cmocka_unit_test(an_empty_graph_is_refused),  cmocka_unit_test(a_hub_is_sorted_by_slot),
        cmocka_unit_test(a_cycle_is_counted),         cmocka_unit_test(operator_types_have_classes),
        cmocka_unit_test(finish_can_be_cancelled),    cmocka_unit_test(columns_that_are_needed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
