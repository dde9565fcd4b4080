/*
 * Graphs as JSON: Model Explorer's (namespaces, slots, attributes, several graphs, calls) and PyTorch's execution
 * traces of both schemas (the call tree as scopes, data by the last writer of a tensor or of an overlapping piece of
 * storage, views that write nothing, arguments and collectives that are written, phases, the key that links to a
 * profile); damage counted, call trees of any depth and shape bounded.
 */
#include "cm.h"

#include "help/graph_read.h"

static read_graph text_graph(const char *text)
{
    return graph_of(text, strlen(text));
}

/* ---- Model Explorer ---- */

static void test_model_explorer(void **state)
{
    (void)state;
    read_graph r = text_graph(
        "{\"label\": \"both\", \"graphs\": [{\"id\": \"g1\", \"nodes\": ["
        "{\"id\": \"12\", \"label\": \"conv\", \"namespace\": \"net/block 1\", \"subgraphIds\": [\"g2\"],"
        " \"attrs\": [{\"key\": \"k\", \"value\": \"3\\u00d73\"}, {\"key\": \"o\", \"value\": {\"type\": \"x\", "
        "\"value\": 7}}],"
        " \"incomingEdges\": [{\"sourceNodeId\": \"in\", \"sourceNodeOutputId\": \"1\", \"targetNodeInputId\": \"2\"}],"
        " \"outputsMetadata\": [{\"id\": \"0\", \"attrs\": [{\"key\": \"tensor_shape\", \"value\": "
        "\"float32[1,2]\"}]}]},"
        "{\"id\": \"in\", \"label\": \"Input\", \"namespace\": \"\"},"
        "{\"id\": \"in\", \"label\": \"twice\"},"
        "{\"id\": \"x\", \"label\": \"y\", \"incomingEdges\": [{\"sourceNodeId\": \"nobody\"}, {\"sourceNodeId\": "
        "\"12\"}]}"
        "]}, {\"id\": \"g2\", \"nodes\": [{\"id\": \"12\", \"label\": \"inner\", \"namespace\": \"\"}]}]}");
    assert_int_equal(r.status, MAREY_OK);
    assert_string_equal(graph_string(&r.g, r.g.format), "model-explorer");
    assert_string_equal(graph_string(&r.g, r.g.name), "both");
    assert_int_equal(r.g.n_nodes, 5);
    assert_int_equal(r.g.n_edges, 2);
    assert_int_equal(diag_lost(&r.d, MAREY_LOSS_DUPLICATE_NAME), 1);
    assert_int_equal(diag_lost(&r.d, MAREY_LOSS_DANGLING), 1);
    assert_string_equal(graph_string(&r.g, r.g.node_op[0]), "conv");
    assert_int_equal(r.g.node_key[0], 12);
    assert_string_equal(graph_attr(&r.g, 0, "k"), "3\xC3\x97"
                                                  "3");
    assert_string_equal(graph_attr(&r.g, 0, "o"), "7");
    assert_string_equal(graph_string(&r.g, graph_out_type(&r.g, r.g.out_first[0])), "float32[1,2]");
    assert_int_equal(r.g.edge_from_slot[0], 1);
    assert_int_equal(r.g.edge_to_slot[0], 2);
    strbuf path = {0};
    graph_scope_path(&r.g, r.g.node_scope[0], &path);
    assert_string_equal(strbuf_str(&path), "g1/net/block 1");
    strbuf_deinit(&path);
    assert_int_equal(r.g.node_body[0], r.g.node_scope[4]);
    assert_int_equal(r.g.node_role[1], GRAPH_INPUT);
    forget(&r);
}

static void test_model_explorer_forms(void **state)
{
    (void)state;
    static const char *const forms[] = {
        "[{\"id\": \"g\", \"nodes\": [{\"id\": \"a\", \"label\": \"x\", \"namespace\": \"\"}]}]",
        "{\"id\": \"g\", \"nodes\": [{\"id\": \"a\", \"label\": \"x\", \"namespace\": \"\"}]}",
        "[{\"label\": \"c\", \"subgraphs\": [{\"id\": \"g\", \"nodes\": [{\"id\": \"a\", \"label\": \"x\", "
        "\"namespace\": \"\"}]}]}]"};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        read_graph r = text_graph(forms[i]);
        assert_int_equal(r.status, MAREY_OK);
        assert_int_equal(r.g.n_nodes, 1);
        assert_int_equal(r.g.n_scopes, 1);
        forget(&r);
    }
    read_graph r =
        text_graph("{\"graphs\": [{\"id\": \"g\", \"nodes\": [{\"id\": \"a\", \"namespace\": \"\", \"label\": \"x");
    assert_true(r.status == MAREY_FORMAT || diag_lost(&r.d, MAREY_LOSS_TRUNCATED) == 1);
    forget(&r);
    r = text_graph("{\"nodes\": 3, \"namespace\": \"\", \"label\": \"x\"}");
    assert_int_equal(r.status, MAREY_FORMAT);
    forget(&r);
}

/* ---- execution traces ---- */

/* A node of schema 1.0.1. */
static void add_node(strbuf *b, int id, int parent, const char *name, const char *schema, const char *in,
                     const char *out)
{
    strbuf_printf(b,
                  "%s{\"name\": \"%s\", \"id\": %d, \"rf_id\": %d, \"parent\": %d, \"fw_parent\": 0, \"seq_id\": -1, "
                  "\"scope\": 0, \"tid\": 1, \"fw_tid\": 0, \"op_schema\": \"%s\", \"inputs\": [%s], \"input_shapes\": "
                  "[], \"input_types\": [], \"outputs\": [%s], \"output_shapes\": [[2, 3]], \"output_types\": "
                  "[\"Tensor(c10::Half)\"]}",
                  b->s[b->n - 1] == '[' ? "" : ",\n", name, id, id + 100, parent, schema, in, out);
}

static strbuf trace(void)
{
    strbuf b = {0};
    strbuf_puts(&b, "{\"schema\": \"1.0.1\", \"pid\": 7, \"nodes\": [");
    return b;
}

static void test_last_writer(void **state)
{
    (void)state;
    strbuf b = trace();
    /* tensors: [id, storage, offset, elements, bytes of one, device] */
    add_node(&b, 2, 1, "[pytorch|profiler|execution_trace|thread]", "", "", "");
    add_node(&b, 1, 1, "[pytorch|profiler|execution_trace|process]", "", "", "");
    add_node(&b, 3, 2, "aten::make", "", "", "[10,50,0,6,2,\"cpu\"]");
    add_node(&b, 4, 2, "aten::view", "aten::view(Tensor(a) self) -> Tensor(a)", "[10,50,0,6,2,\"cpu\"]",
             "[11,50,0,3,2,\"cpu\"]");
    add_node(&b, 5, 2, "aten::fill_", "aten::fill_(Tensor(a!) self, Scalar v) -> Tensor(a!)", "[11,50,0,3,2,\"cpu\"],1",
             "[11,50,0,3,2,\"cpu\"]");
    add_node(&b, 6, 2, "reads_whole", "", "[10,50,0,6,2,\"cpu\"]", "");
    add_node(&b, 7, 2, "reads_rest", "", "[12,50,3,3,2,\"cpu\"]", "");
    add_node(&b, 8, 2, "reads_other", "", "[13,51,0,6,2,\"cpu\"]", "");
    add_node(&b, 9, 2, "outer", "", "[10,50,0,6,2,\"cpu\"]", "[14,52,0,6,2,\"cpu\"]");
    add_node(&b, 10, 9, "inner", "", "[[10,50,0,6,2,\"cpu\"],[11,50,0,3,2,\"cpu\"]],3", "[14,52,0,6,2,\"cpu\"]");
    add_node(&b, 11, 2, "nccl:all_reduce", "", "[14,52,0,6,2,\"cpu\"]", "");
    add_node(&b, 12, 2, "after", "", "[14,52,0,6,2,\"cpu\"]", "");
    add_node(&b, 13, 2, "kernel_launcher", "", "[14,52,0,6,2,\"cpu\"]", "");
    add_node(&b, 14, 13, "cudaLaunchKernel", "", "", "");
    strbuf_puts(&b, "]}");
    read_graph r = text_graph(b.s);
    assert_int_equal(r.status, MAREY_OK);
    assert_int_equal(r.d.n_losses, 0);
    assert_int_equal(r.g.n_nodes, 14);
    assert_true(has_edge(&r.g, "aten::make", "aten::view", 0));
    assert_true(has_edge(&r.g, "aten::view", "aten::fill_", 0));
    assert_true(has_edge(&r.g, "aten::fill_", "reads_whole", 0));
    assert_true(has_edge(&r.g, "aten::make", "reads_rest", 0));
    assert_false(has_edge(&r.g, "aten::make", "reads_other", 0));
    assert_true(has_edge(&r.g, "aten::fill_", "inner", 0));
    assert_false(has_edge(&r.g, "aten::fill_", "outer", 0));
    assert_true(has_edge(&r.g, "inner", "nccl:all_reduce", 0));
    assert_true(has_edge(&r.g, "nccl:all_reduce", "after", 0));
    assert_true(has_edge(&r.g, "nccl:all_reduce", "kernel_launcher", 0));
    assert_int_equal(r.g.n_edges, 9);
    assert_string_equal(path_of(&r.g, "inner"), "process/thread 1/outer");
    assert_string_equal(path_of(&r.g, "outer"), "process/thread 1/outer");
    assert_string_equal(path_of(&r.g, "aten::view"), "process/thread 1");
    uint32_t outer = node_named(&r.g, "outer");
    assert_int_equal(r.g.node_body[outer], r.g.node_scope[outer]);
    assert_int_equal(r.g.node_key[outer], 109);
    assert_string_equal(type_of(&r.g, "aten::make"), "f16[2,3]");
    assert_int_equal(graph_out_bytes(&r.g, r.g.out_first[node_named(&r.g, "aten::make")]), 12);
    assert_string_equal(attr_of(&r.g, "aten::fill_", "arguments"), "tensor, 1");
    forget(&r);
    strbuf_deinit(&b);
}

/* The newer schema: fields in attrs, the parent in ctrl_deps, inputs as an object. */
static void test_new_schema(void **state)
{
    (void)state;
    read_graph r = text_graph(
        "{\"schema\": \"1.0.2-chakra.0.0.4\", \"pid\": 1, \"nodes\": ["
        "{\"id\": 1, \"name\": \"root\", \"ctrl_deps\": 1, \"inputs\": {\"values\": [], \"shapes\": [], \"types\": []},"
        " \"outputs\": {\"values\": [], \"shapes\": [], \"types\": []}, \"attrs\": [{\"name\": \"rf_id\", \"type\": "
        "\"uint64\", \"value\": 0}]},"
        "{\"id\": 2, \"name\": \"a\", \"ctrl_deps\": 1, \"inputs\": {\"values\": [], \"shapes\": [], \"types\": []},"
        " \"outputs\": {\"values\": [[5,6,0,4,4,\"cuda:0\"]], \"shapes\": [[4]], \"types\": [\"Tensor(float)\"]},"
        " \"attrs\": [{\"name\": \"rf_id\", \"type\": \"uint64\", \"value\": 31}, {\"name\": \"pg_name\", \"type\": "
        "\"string\", \"value\": \"dp\"}]},"
        "{\"id\": 3, \"name\": \"bBackward0\", \"ctrl_deps\": 1, \"inputs\": {\"values\": [[5,6,0,4,4,\"cuda:0\"]], "
        "\"shapes\": [[4]], \"types\": [\"Tensor(float)\"]}, \"outputs\": {\"values\": [], \"shapes\": [], \"types\": "
        "[]}, \"attrs\": [{\"name\": \"scope\", \"type\": \"uint64\", \"value\": 1}, {\"name\": \"fw_parent\", "
        "\"type\": \"uint64\", \"value\": 2}]}]}");
    assert_int_equal(r.status, MAREY_OK);
    assert_int_equal(r.d.n_losses, 0);
    assert_int_equal(r.g.n_nodes, 3);
    assert_true(has_edge(&r.g, "a", "bBackward0", 0));
    assert_int_equal(r.g.node_key[node_named(&r.g, "a")], 31);
    assert_string_equal(attr_of(&r.g, "a", "pg_name"), "dp");
    assert_string_equal(type_of(&r.g, "a"), "f32[4]");
    assert_int_equal(r.g.node_phase[node_named(&r.g, "bBackward0")], GRAPH_BACKWARD);
    assert_string_equal(path_of(&r.g, "a"), "root");
    forget(&r);
}

static void test_trace_damage(void **state)
{
    (void)state;
    strbuf b = trace();
    add_node(&b, 3, 4, "a", "", "", "");
    add_node(&b, 4, 5, "b", "", "", "");
    add_node(&b, 5, 3, "c", "", "[1,1,-5,9223372036854775807,-1,\"x\"],[[]],[1,2]", "");
    add_node(&b, 5, 77, "again", "", "", "");
    add_node(&b, 6, 78, "orphan", "", "", "");
    strbuf_puts(&b, ",{\"name\": \"no id\"}, 7, {\"id\": \"x\"}");
    read_graph r = text_graph(b.s);
    assert_int_equal(r.status, MAREY_OK);
    assert_int_equal(r.g.n_nodes, 5);
    assert_int_equal(diag_lost(&r.d, MAREY_LOSS_DUPLICATE_NAME), 1);
    assert_int_equal(diag_lost(&r.d, MAREY_LOSS_DANGLING), 2);
    assert_int_equal(diag_lost(&r.d, MAREY_LOSS_TRUNCATED), 1);
    assert_true(diag_lost(&r.d, MAREY_LOSS_DAMAGED) >= 4);
    forget(&r);
    strbuf_deinit(&b);
}

/* Calls 20 000 deep, ids upwards and downwards: bounded scopes, and no time that grows with the square. */
static void test_deep_trace(void **state)
{
    (void)state;
    for (int up = 0; up <= 1; up++) {
        strbuf b = trace();
        for (int i = 1; i <= 20000; i++) {
            add_node(&b, i, up ? i - 1 : i + 1, "f", "", "", "");
        }
        strbuf_puts(&b, "]}");
        read_graph r = text_graph(b.s);
        assert_int_equal(r.status, MAREY_OK);
        assert_int_equal(r.g.n_nodes, 20000);
        assert_true(graph_depth(&r.g) <= 64);
        assert_true(diag_lost(&r.d, MAREY_LOSS_LIMIT) > 0);
        forget(&r);
        strbuf_deinit(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_model_explorer), cmocka_unit_test(test_model_explorer_forms),
        cmocka_unit_test(test_last_writer),    cmocka_unit_test(test_new_schema),
        cmocka_unit_test(test_trace_damage),   cmocka_unit_test(test_deep_trace)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
