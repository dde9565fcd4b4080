/*
 * Chakra traces: messages behind their lengths; data and control dependencies as edges, packed or not, whatever the
 * order of the nodes; self-loops kept and counted, unknown ids counted; the profiler's id as key; operators without
 * the number of their overload; outputs and attributes; a cut file keeps its complete nodes.
 */
#include "cm.h"

#include "help/graph_read.h"
#include "help/pb_write.h"

static void add_message(strbuf *file, strbuf *message)
{
    pbw_raw(file, message->n);
    strbuf_add(file, message->s, message->n);
    strbuf_deinit(message);
}

static void add_text_attr(strbuf *n, const char *name, uint32_t field, const char *value)
{
    strbuf a = {0};
    pbw_str(&a, 1, name);
    pbw_str(&a, field, value);
    pbw_message(n, 10, &a);
}

static strbuf node(uint64_t id, const char *name, uint64_t type)
{
    strbuf n = {0};
    pbw_int(&n, 1, id);
    pbw_str(&n, 2, name);
    pbw_int(&n, 3, type);
    return n;
}

static strbuf trace(void)
{
    strbuf file = {0};
    strbuf m = {0};
    strbuf a = {0};
    pbw_str(&m, 1, "0.0.4");
    pbw_str(&a, 1, "schema");
    pbw_str(&a, 29, "1.0.1");
    pbw_message(&m, 2, &a);
    add_message(&file, &m);
    strbuf n = node(216, "aten::mm(0)", 4);
    pbw_bytes(&n, 5, "\x05\x07\xD8\x01", 4); /* 5, 7, and itself */
    pbw_int(&n, 4, 7);
    strbuf io = {0};
    pbw_str(&io, 2, "[[64, 10], []]");
    pbw_str(&io, 3, "['Tensor(c10::Half)', 'Int']");
    pbw_message(&n, 9, &io);
    pbw_str(&a, 1, "rf_id");
    pbw_int(&a, 9, 4711);
    pbw_message(&n, 10, &a);
    pbw_str(&a, 1, "signed");
    pbw_int(&a, 17, 5);
    pbw_message(&n, 10, &a);
    strbuf list = {0};
    pbw_bytes(&list, 1, "\x01\x02\x03", 3);
    pbw_str(&a, 1, "list");
    pbw_message(&a, 10, &list);
    pbw_message(&n, 10, &a);
    add_text_attr(&n, "pg", 29, "default");
    add_message(&file, &n);
    n = node(5, "nccl:all_reduce", 7);
    pbw_int(&n, 5, 99); /* nobody */
    add_message(&file, &n);
    n = node(7, "aten::relu", 4);
    add_message(&file, &n);
    return file;
}

static void whole(void **state)
{
    (void)state;
    strbuf file = trace();
    read_graph r = graph_of(file.s, file.n);
    const graph *g = &r.g;
    assert_int_equal(r.status, MAREY_OK);
    assert_string_equal(graph_string(g, g->format), "chakra");
    assert_string_equal(graph_string(g, g->producer), "Chakra 0.0.4");
    assert_int_equal(g->n_nodes, 3);
    assert_int_equal(g->n_edges, 4);
    assert_int_equal(g->n_control_edges, 1);
    assert_int_equal(diag_lost(&r.d, MAREY_LOSS_DANGLING), 1);
    assert_int_equal(diag_lost(&r.d, MAREY_LOSS_SELF_LOOP), 1);
    assert_true(has_edge(g, "nccl:all_reduce", "aten::mm(0)", 0));
    assert_true(has_edge(g, "aten::relu", "aten::mm(0)", GRAPH_CONTROL));
    assert_string_equal(graph_string(g, g->node_op[0]), "aten::mm");
    assert_int_equal(g->node_key[0], 4711);
    assert_int_equal(g->node_key[2], 7);
    assert_string_equal(attr_of(g, "aten::mm(0)", "signed"), "-3");
    assert_string_equal(attr_of(g, "aten::mm(0)", "list"), "[1, 2, 3]");
    assert_string_equal(attr_of(g, "aten::mm(0)", "pg"), "default");
    assert_string_equal(attr_of(g, "nccl:all_reduce", "type"), "collective");
    assert_int_equal(g->out_first[1], 2);
    assert_string_equal(graph_string(g, graph_out_type(g, 0)), "f16[64,10]");
    assert_int_equal(graph_out_bytes(g, 0), 1280);
    assert_string_equal(graph_string(g, graph_out_type(g, 1)), "Int");
    forget(&r);
    strbuf_deinit(&file);
}

static void cut(void **state)
{
    (void)state;
    strbuf file = trace();
    for (size_t n = 0; n < file.n; n++) {
        read_graph r = graph_of(file.s, n);
        assert_true(r.status != MAREY_OK || r.g.n_nodes < 3);
        forget(&r);
    }
    read_graph r = graph_of(file.s, file.n - 3);
    assert_int_equal(r.status, MAREY_OK);
    assert_int_equal(r.g.n_nodes, 2);
    assert_int_equal(diag_lost(&r.d, MAREY_LOSS_TRUNCATED), 1);
    forget(&r);
    strbuf_deinit(&file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(whole), cmocka_unit_test(cut)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
