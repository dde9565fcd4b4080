/*
 * MindSpore: a bare graph, a model and a parallel graph as bytes, and the same as JSON; numbers as names, parameters
 * and constants as implied nodes, control edges; phases, scopes with the classes of their cells; shardings, stages and
 * their ranks, flags of inserted operators; in merged files each Send is tied to its Receive by sender, receiver and
 * tag, whether the peer is named by rank or by stage; MindIR is refused in a sentence; what is cut is counted.
 */
#include "cm.h"

#include "help/graph_read.h"
#include "help/pb_write.h"

static void add_input(strbuf *n, const char *name, uint64_t type)
{
    strbuf in = {0};
    pbw_str(&in, 1, name);
    pbw_int(&in, 2, type);
    pbw_message(n, 1, &in);
}

static strbuf tensor_type(uint64_t elem, uint64_t a, uint64_t b)
{
    strbuf type = {0};
    strbuf tensor = {0};
    strbuf shape = {0};
    strbuf dim = {0};
    pbw_int(&dim, 1, a);
    pbw_message(&shape, 1, &dim);
    pbw_int(&dim, 1, b);
    pbw_message(&shape, 1, &dim);
    pbw_int(&tensor, 1, elem);
    pbw_message(&tensor, 2, &shape);
    pbw_int(&type, 1, 14);
    pbw_message(&type, 2, &tensor);
    return type;
}

/* ((a, b)) as a ValueProto of values in values */
static void add_strategy(strbuf *n, const char *name, uint64_t a, uint64_t b)
{
    strbuf one = {0};
    strbuf inner = {0};
    strbuf outer = {0};
    strbuf attr = {0};
    pbw_int(&one, 3, a);
    pbw_message(&inner, 18, &one);
    pbw_int(&one, 3, b);
    pbw_message(&inner, 18, &one);
    pbw_message(&outer, 18, &inner);
    pbw_str(&attr, 1, name);
    pbw_message(&attr, 2, &outer);
    pbw_message(n, 5, &attr);
}

static strbuf node(const char *name, const char *op, const char *scope, const char *full_name)
{
    strbuf n = {0};
    pbw_str(&n, 2, name);
    pbw_str(&n, 3, op);
    pbw_str(&n, 4, scope);
    pbw_str(&n, 8, full_name);
    return n;
}

static strbuf small_graph(void)
{
    strbuf g = {0};
    strbuf n = node("1", "MatMul", "Default/network-Net/fc-Dense", "Default/network-Net/fc-Dense/MatMul-op1");
    add_input(&n, "x", 0);
    add_input(&n, "fc.weight", 0);
    add_strategy(&n, "in_strategy", 1, 1);
    add_strategy(&n, "gen_strategy", 8, 1);
    strbuf type = tensor_type(11, 32, 10);
    pbw_message(&n, 6, &type);
    pbw_message(&g, 1, &n);
    n = node("2", "AllReduce", "Gradients/Default/network-Net", "Gradients/Default/network-Net/AllReduce-op2");
    add_input(&n, "1", 0);
    add_input(&n, "3", 1);
    pbw_str(&n, 10, "grad_mirror_MirrorOperator");
    pbw_message(&g, 1, &n);
    n = node("3", "Cast", "recompute_Default/network-Net", "recompute_Default/network-Net/Cast-op3");
    add_input(&n, "cst1", 0);
    pbw_str(&n, 10, "redistribution_op_1");
    pbw_message(&g, 1, &n);
    pbw_str(&g, 2, "kernel_graph_0");
    strbuf p = {0};
    pbw_str(&p, 1, "fc.weight");
    type = tensor_type(10, 10, 400);
    pbw_message(&p, 2, &type);
    pbw_message(&g, 3, &p);
    pbw_str(&p, 1, "x");
    pbw_message(&g, 3, &p);
    strbuf value = {0};
    pbw_int(&value, 3, 7);
    pbw_str(&p, 1, "cst1");
    pbw_message(&p, 2, &value);
    pbw_message(&g, 5, &p);
    return g;
}

static void check_small(read_graph *r, const char *format)
{
    const graph *g = &r->g;
    assert_int_equal(r->status, MAREY_OK);
    assert_int_equal(r->d.n_losses, 0);
    assert_string_equal(graph_string(g, g->format), format);
    assert_int_equal(real_nodes(g), 3);
    assert_int_equal(g->n_implied_nodes, 3);
    assert_int_equal(real_edges(g), 2);
    assert_int_equal(g->n_control_edges, 1);
    const char *matmul = "Default/network-Net/fc-Dense/MatMul-op1";
    const char *reduce = "Gradients/Default/network-Net/AllReduce-op2";
    const char *cast = "recompute_Default/network-Net/Cast-op3";
    assert_true(has_edge(g, matmul, reduce, 0) && has_edge(g, cast, reduce, GRAPH_CONTROL));
    assert_true(has_edge(g, "fc.weight", matmul, GRAPH_IMPLIED) && has_edge(g, "cst1", cast, GRAPH_IMPLIED));
    assert_string_equal(path_of(g, matmul), "Default/network-Net/fc-Dense");
    uint32_t m = node_named(g, matmul);
    assert_string_equal(graph_string(g, g->scope_class[g->node_scope[m]]), "Dense");
    assert_string_equal(type_of(g, matmul), "f32[32,10]");
    assert_string_equal(type_of(g, "fc.weight"), "f16[10,400]");
    assert_string_equal(graph_string(g, g->node_sharding[m]), "((8,1))");
    assert_string_equal(attr_of(g, "cst1", "value"), "7");
    assert_int_equal(g->node_key[m], 1);
    assert_int_equal(g->node_phase[m], GRAPH_FORWARD);
    assert_int_equal(g->node_phase[node_named(g, reduce)], GRAPH_BACKWARD);
    assert_int_equal(g->node_phase[node_named(g, cast)], GRAPH_RECOMPUTE);
    assert_true(g->node_flags[node_named(g, reduce)] & GRAPH_GRADIENT_AGGREGATION);
    assert_true(g->node_flags[node_named(g, cast)] & GRAPH_REDISTRIBUTION);
    forget(r);
}

static void containers(void **state)
{
    (void)state;
    strbuf g = small_graph();
    read_graph r = graph_of(g.s, g.n);
    assert_string_equal(graph_string(&r.g, r.g.name), "kernel_graph_0");
    check_small(&r, "mindspore");
    strbuf m = {0};
    pbw_int(&m, 1, 1);
    pbw_bytes(&m, 4, g.s, g.n);
    r = graph_of(m.s, m.n);
    check_small(&r, "mindspore");
    strbuf_deinit(&m);
    strbuf config = {0};
    strbuf devices = {0};
    strbuf dim = {0};
    pbw_int(&config, 1, 9);
    pbw_int(&config, 2, 1);
    pbw_str(&config, 3, "auto_parallel");
    for (uint64_t rank = 8; rank < 11; rank++) {
        pbw_int(&dim, 1, rank);
        pbw_message(&devices, 1, &dim);
    }
    pbw_message(&config, 4, &devices);
    pbw_message(&m, 2, &config);
    pbw_message(&m, 3, &g);
    r = graph_of(m.s, m.n);
    assert_int_equal(r.g.n_stages, 1);
    assert_int_equal(r.g.stages[0].stage, 1);
    assert_int_equal(r.g.stages[0].n_ranks, 3);
    assert_int_equal(r.g.stage_ranks[1], 9);
    assert_int_equal(r.g.node_stage[0], 0);
    check_small(&r, "mindspore-parallel");
    strbuf_deinit(&m);
}

static void json_forms(void **state)
{
    (void)state;
    static const char graph_text[] =
        "{\"node\": [{\"name\": \"1\", \"opType\": \"MatMul\", \"scope\": \"Default/network-Net/fc-Dense\","
        "\"fullName\": \"Default/network-Net/fc-Dense/MatMul-op1\","
        "\"input\": [{\"name\": \"x\", \"type\": \"DATA_EDGE\"}, {\"name\": \"fc.weight\"}],"
        "\"attribute\": [{\"name\": \"gen_strategy\", \"value\": {\"dtype\": \"DT_TUPLE\", \"values\": [{\"values\": "
        "[{\"intVal\": \"8\"}, {\"intVal\": \"1\"}]}]}}],"
        "\"outputType\": {\"dataType\": \"DT_TENSOR\", \"tensorType\": {\"elemType\": \"DT_FLOAT32\", \"shape\": "
        "{\"dim\": [{\"size\": \"32\"}, {\"size\": \"10\"}]}}}},"
        "{\"name\": \"2\", \"opType\": \"AllReduce\", \"scope\": \"Gradients/Default/network-Net\","
        "\"fullName\": \"Gradients/Default/network-Net/AllReduce-op2\", \"instanceName\": \"grad_mirror_x\","
        "\"input\": [{\"name\": \"1\"}, {\"name\": \"3\", \"type\": \"CONTROL_EDGE\"}]},"
        "{\"name\": \"3\", \"opType\": \"Cast\", \"scope\": \"recompute_Default/network-Net\","
        "\"fullName\": \"recompute_Default/network-Net/Cast-op3\", \"instanceName\": \"redistribution_op\","
        "\"input\": [{\"name\": \"cst1\"}]}],"
        "\"parameters\": [{\"name\": \"x\"}, {\"name\": \"fc.weight\", \"type\": {\"dataType\": \"DT_TENSOR\","
        "\"tensorType\": {\"elemType\": \"DT_FLOAT16\", \"shape\": {\"dim\": [{\"size\": 10}, {\"size\": 400}]}}}}],"
        "\"constVals\": [{\"key\": \"cst1\", \"value\": {\"dtype\": \"DT_INT64\", \"intVal\": \"7\"}}]}";
    read_graph r = graph_of(graph_text, sizeof graph_text - 1);
    check_small(&r, "mindspore");
    strbuf whole = {0};
    strbuf_printf(&whole,
                  "{\"config\": {\"rankId\": 0, \"stageId\": 2, \"parallelType\": \"auto_parallel\", \"stageDevices\": "
                  "[{\"dim\": [{\"size\": \"0\"}, {\"size\": \"5\"}]}]}, \"graph\": %s}",
                  graph_text);
    r = graph_of(whole.s, whole.n);
    assert_int_equal(r.g.stages[0].stage, 2);
    assert_int_equal(r.g.stage_ranks[1], 5);
    check_small(&r, "mindspore-parallel");
    strbuf_deinit(&whole);
}

#define OP(id, type, scope, attrs, inputs)                                                                             \
    "{\"node_id\": \"" id "\", \"name\": \"" scope "/" type "-op" id "\", \"scope\": \"" scope "\", \"type\": \"" type \
    "\", \"instance_type\": \"\", \"attr\": {" attrs "}, \"input\": [" inputs "],"                                     \
    "\"output_shape\": \"[[2, 3], [4]]\","                                                                             \
    "\"output_data_type\": \"DT_TUPLE['DT_TENSOR[DT_FLOAT32]', 'DT_TENSOR[DT_INT64]']\","                              \
    "\"parallel_shard\": [[4, 1], [1, 2]], \"parallel_group_rank\": \"\"}"

static void merged(void **state)
{
    (void)state;
    static const char text[] =
        "{\"status\": \"finish\", \"metadata\": {\"parallel_type\": \"semi_auto_parallel\"}, \"graphs\": {"
        "\"1\": {\"rank_ids\": [4, 5], \"op_nodes\": [" OP(
            "1", "Receive", "Default", "\"sr_tag\": \"0\", \"src_rank\": \"0\"",
            "") "," OP("2", "Send", "Gradients/Default", "\"sr_tag\": \"0\", \"dest_rank\": \"1\"",
                       "\"1\"") "], \"const_nodes\": [], \"parameter_nodes\": []},"
                                "\"0\": {\"rank_ids\": [\"0\", \"1\"], \"op_nodes\": [" OP(
                                    "1", "MatMul", "Default", "",
                                    "\"w\", \"c\"") "," OP("2", "Send", "Default",
                                                           "\"sr_tag\": \"0\", \"dest_rank\": \"1\"",
                                                           "\"1\"") ","                           /* a stage */
        OP("3", "Receive", "Gradients/Default", "\"sr_tag\": \"0\", \"src_rank\": \"5\"", "") "," /* a rank */
        OP("4", "Send", "Default", "\"sr_tag\": \"9\", \"dest_rank\": \"1\"",
           "\"1\"") "], \"const_nodes\": [{\"node_id\": \"c\", \"attr\": {\"c\": \"1\"}}],"
                    "\"parameter_nodes\": [{\"node_id\": \"w\", \"output_shape\": [64, 3], \"output_data_type\": "
                    "\"DT_TENSOR[DT_FLOAT16]\"}]}}}";
    read_graph r = graph_of(text, sizeof text - 1);
    const graph *g = &r.g;
    assert_int_equal(r.status, MAREY_OK);
    assert_int_equal(r.d.n_losses, 0);
    assert_int_equal(real_nodes(g), 6);
    assert_int_equal(real_edges(g), 3);
    assert_int_equal(g->n_stages, 2);
    assert_int_equal(g->stages[1].stage, 1);
    assert_int_equal(g->stage_ranks[g->stages[1].first_rank], 4);
    size_t n = 0;
    for (size_t e = 0; e < g->n_edges; e++) {
        if (g->edge_flags[e] & GRAPH_P2P) {
            assert_string_equal(graph_string(g, g->node_op[g->edge_from[e]]), "Send");
            assert_string_equal(graph_string(g, g->node_op[g->edge_to[e]]), "Receive");
            assert_int_not_equal(g->node_stage[g->edge_from[e]], g->node_stage[g->edge_to[e]]);
            assert_int_equal(g->node_phase[g->edge_from[e]], g->node_phase[g->edge_to[e]]);
            assert_true(g->edge_flags[e] & GRAPH_IMPLIED);
            n++;
        }
    }
    assert_int_equal(n, 2);
    assert_int_equal(r.d.n_messages, 1); /* one Send has no partner */
    uint32_t m = node_named(g, "Default/MatMul-op1");
    assert_string_equal(graph_string(g, g->node_sharding[m]), "((4,1),(1,2))");
    uint32_t slices[4];
    assert_int_equal(graph_sharding(g, m, 1, slices, 4), 2);
    assert_int_equal(slices[1], 2);
    assert_string_equal(graph_string(g, graph_out_type(g, g->out_first[m])), "f32[2,3]");
    assert_string_equal(graph_string(g, graph_out_type(g, g->out_first[m] + 1)), "i64[4]");
    assert_string_equal(type_of(g, "w"), "f16[64,3]");
    forget(&r);
}

static void damage(void **state)
{
    (void)state;
    strbuf g = small_graph();
    for (size_t n = 0; n < g.n; n++) {
        read_graph r = graph_of(g.s, n);
        assert_true(r.status != MAREY_OK || r.d.n_losses > 0 || real_nodes(&r.g) < 3 || r.g.n_implied_nodes < 3);
        forget(&r);
    }
    strbuf_deinit(&g);
    strbuf m = {0};
    pbw_str(&m, 1, "0.1.1");
    pbw_str(&m, 2, "MindSpore");
    pbw_str(&m, 3, "2.0");
    read_graph r = graph_of(m.s, m.n);
    assert_int_equal(r.status, MAREY_UNSUPPORTED);
    assert_non_null(strstr(r.d.messages[0].text, "MindIR"));
    forget(&r);
    strbuf_deinit(&m);
}

/* Values in values, 10 000 deep: the text is bounded. */
static void deep_values(void **state)
{
    (void)state;
    strbuf value = {0};
    pbw_int(&value, 3, 1);
    for (int i = 0; i < 10000; i++) {
        strbuf outer = {0};
        pbw_message(&outer, 18, &value);
        value = outer;
    }
    strbuf g = {0};
    strbuf attr = {0};
    strbuf n = node("1", "Op", "Default", "");
    pbw_str(&attr, 1, "deep");
    pbw_message(&attr, 2, &value);
    pbw_message(&n, 5, &attr);
    pbw_message(&g, 1, &n);
    read_graph r = graph_of(g.s, g.n);
    assert_int_equal(r.status, MAREY_OK);
    assert_non_null(strstr(attr_of(&r.g, "1", "deep"), "..."));
    forget(&r);
    strbuf_deinit(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(containers), cmocka_unit_test(json_forms),  cmocka_unit_test(merged),
        cmocka_unit_test(damage),     cmocka_unit_test(deep_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
