/*
 * DOT: nodes, edge chains, ports, sets of nodes on either side of an arrow, defaults, strict graphs, clusters and paths
 * as scopes, HTML and record labels, several graphs in one file; comments and joined strings; damage counted, hostile
 * input bounded.
 */
#include "cm.h"

#include "help/graph_read.h"

static read_graph text_graph(const char *text)
{
    return graph_of(text, strlen(text));
}

static void test_grammar(void **state)
{
    (void)state;
    read_graph r = text_graph("/* made by hand */\n// so\n# and so\n"
                              "DiGraph \"my net\" {\n"
                              "  graph [rankdir=LR]; node [shape=box, op=Relu]; edge [color=red];\n"
                              "  a -> b -> c:in1:n [label=\"x\"]\n"
                              "  b [op=\"Mat\" + \"Mul\", label=\"not \\\"this\\\"\", k=3]\n"
                              "  \"q\\\"uoted\" -> -1.5; a -> a\n"
                              "  {a b} -> {c d; e} -> f\n"
                              "  g [op=Const][k=4]\n"
                              "  x = y\n"
                              "}\n");
    assert_int_equal(r.status, MAREY_OK);
    assert_int_equal(r.d.n_losses, 1);
    assert_int_equal(diag_lost(&r.d, MAREY_LOSS_SELF_LOOP), 1);
    assert_string_equal(graph_string(&r.g, r.g.name), "my net");
    assert_int_equal(r.g.n_nodes, 9);
    assert_int_equal(r.g.n_edges, 2 + 1 + 1 + 6 + 3);
    assert_string_equal(graph_string(&r.g, r.g.node_op[node_named(&r.g, "a")]), "Relu");
    assert_string_equal(graph_string(&r.g, r.g.node_op[node_named(&r.g, "b")]), "MatMul");
    assert_string_equal(attr_of(&r.g, "b", "k"), "3");
    assert_string_equal(attr_of(&r.g, "g", "k"), "4");
    assert_int_equal(r.g.node_role[node_named(&r.g, "g")], GRAPH_CONSTANT);
    assert_true(has_edge(&r.g, "q\"uoted", "-1.5", 0));
    assert_true(has_edge(&r.g, "b", "e", 0));
    assert_true(has_edge(&r.g, "e", "f", 0));
    assert_int_equal(graph_cyclic_nodes(&r.g), 1);
    uint32_t c = node_named(&r.g, "c");
    assert_int_equal(r.g.edge_to_slot[r.g.in_first[c]], 1);
    forget(&r);
}

static void test_strict(void **state)
{
    (void)state;
    read_graph r = text_graph("digraph { a -> b; a -> b }");
    assert_int_equal(r.g.n_edges, 2);
    forget(&r);
    r = text_graph("strict digraph { a -> b; a -> b; b -> a }");
    assert_int_equal(r.g.n_edges, 2);
    assert_int_equal(r.d.n_losses, 0);
    forget(&r);
    r = text_graph("graph { a -- b -- c }");
    assert_int_equal(r.g.n_edges, 2);
    forget(&r);
}

static void test_scopes(void **state)
{
    (void)state;
    read_graph r =
        text_graph("digraph {\n"
                   "  subgraph cluster_0 { label=\"Encoder\\nblock\"; e1; subgraph cluster_1 { e2 } e1 -> e2 }\n"
                   "  subgraph plain { p -> e1 }\n"
                   "  \"net/conv/Weights\" [type=Const]; \"net/conv\"; \"and/or not\"; \"http://x/y\"\n"
                   "  subgraph cluster_2 { late } late -> \"net/conv\"\n"
                   "}\n");
    assert_int_equal(r.status, MAREY_OK);
    assert_int_equal(r.d.n_losses, 0);
    assert_string_equal(path_of(&r.g, "e1"), "Encoder");
    assert_string_equal(path_of(&r.g, "e2"), "Encoder/cluster_1");
    assert_string_equal(path_of(&r.g, "p"), "");
    assert_string_equal(path_of(&r.g, "net/conv/Weights"), "net/conv");
    assert_string_equal(path_of(&r.g, "net/conv"), "net");
    assert_string_equal(path_of(&r.g, "and/or not"), "");
    assert_string_equal(path_of(&r.g, "http://x/y"), "");
    assert_string_equal(path_of(&r.g, "late"), "cluster_2");
    assert_string_equal(graph_node_label(&r.g, node_named(&r.g, "net/conv/Weights")), "Weights");
    forget(&r);
}

static void test_labels(void **state)
{
    (void)state;
    read_graph r = text_graph("digraph {\n"
                              "  0 [label=<\n <TABLE BORDER=\"0\"> <TR><TD>view<BR/>depth:2</TD><TD>in</TD></TR>\n"
                              "</TABLE>> fillcolor=aliceblue]\n"
                              "  node1 [shape=record label=\"{<f0> Conv2d|{3x3|same}}\"]\n"
                              "  n2 [label=\"Add\\nshape\"]\n"
                              "  n3 [label=\"\\N\"]\n"
                              "  0 -> node1 [label=\"[1, 8, 768]\" key=0]\n"
                              "}\n");
    assert_int_equal(r.status, MAREY_OK);
    assert_int_equal(r.d.n_losses, 0);
    assert_int_equal(r.g.n_nodes, 4);
    uint32_t view = node_named(&r.g, "view");
    assert_string_equal(graph_string(&r.g, r.g.node_op[view]), "view");
    assert_int_equal(r.g.node_key[view], 0);
    assert_string_equal(type_of(&r.g, "view"), "[1, 8, 768]");
    assert_int_not_equal(node_named(&r.g, "Conv2d"), GRAPH_NONE);
    assert_int_not_equal(node_named(&r.g, "Add"), GRAPH_NONE);
    assert_int_not_equal(node_named(&r.g, "n3"), GRAPH_NONE);
    forget(&r);
}

static void test_several_graphs(void **state)
{
    (void)state;
    read_graph r = text_graph("digraph one { a -> b }\nstrict digraph two { a -> b; a -> b }\n");
    assert_int_equal(r.status, MAREY_OK);
    assert_int_equal(r.g.n_nodes, 4);
    assert_int_equal(r.g.n_edges, 2);
    assert_int_equal(r.g.n_scopes, 3);
    assert_string_equal(path_of(&r.g, "a"), "one");
    assert_string_equal(graph_string(&r.g, r.g.scope_name[r.g.node_scope[3]]), "two");
    forget(&r);
}

static void test_damage(void **state)
{
    (void)state;
    static const char *const cut[] = {"digraph { a -> b",         "digraph { a [op=x",  "digraph { a -> ",
                                      "digraph { subgraph s { a", "digraph { \"a -> b", "digraph { a [label=<x> b"};
    for (size_t i = 0; i < sizeof cut / sizeof *cut; i++) {
        read_graph r = text_graph(cut[i]);
        assert_int_equal(r.status, MAREY_OK);
        assert_true(diag_lost(&r.d, MAREY_LOSS_TRUNCATED) > 0);
        forget(&r);
    }
    read_graph r = text_graph("digraph { a -> b ] ) [ c -> ; -> d; \"never ends\n e -> f }\n");
    assert_int_equal(r.status, MAREY_OK);
    assert_true(diag_lost(&r.d, MAREY_LOSS_DAMAGED) > 0);
    assert_true(has_edge(&r.g, "a", "b", 0));
    assert_true(has_edge(&r.g, "e", "f", 0));
    forget(&r);
    r = text_graph("digraph { }");
    assert_int_equal(r.status, MAREY_FORMAT);
    forget(&r);
    r = text_graph("digraph { a } and more");
    assert_int_equal(r.status, MAREY_OK);
    assert_int_equal(diag_lost(&r.d, MAREY_LOSS_DAMAGED), 1);
    forget(&r);
    r = text_graph("digraph of contents");
    assert_int_equal(r.status, MAREY_UNSUPPORTED);
    forget(&r);
}

/* 10 000 subgraphs deep, a name of 12 KB, an attribute of a megabyte, and sets whose product is beyond reason. */
static void test_hostile(void **state)
{
    (void)state;
    strbuf b = {0};
    strbuf_puts(&b, "digraph {\n");
    for (int i = 0; i < 10000; i++) {
        strbuf_printf(&b, "subgraph cluster%d { ", i);
    }
    strbuf_puts(&b, "deep ");
    for (int i = 0; i < 10000; i++) {
        strbuf_puts(&b, "} ");
    }
    for (int i = 0; i < 12 * 1024; i++) {
        strbuf_puts(&b, "n");
    }
    strbuf_puts(&b, " [k=\"");
    for (int i = 0; i < 1 << 16; i++) {
        strbuf_puts(&b, "0123456789abcdef");
    }
    strbuf_puts(&b, "\"]\n{");
    for (int i = 0; i < 5000; i++) {
        strbuf_printf(&b, " s%d", i);
    }
    strbuf_puts(&b, " } -> {");
    for (int i = 0; i < 5000; i++) {
        strbuf_printf(&b, " s%d", i);
    }
    strbuf_puts(&b, " }\n}\n");
    read_graph r = text_graph(b.s);
    assert_int_equal(r.status, MAREY_OK);
    assert_int_equal(r.g.n_nodes, 5002);
    assert_int_equal(r.g.n_edges, 0);
    assert_true(graph_depth(&r.g) <= 64);
    assert_true(diag_lost(&r.d, MAREY_LOSS_LIMIT) >= 25000000);
    forget(&r);
    strbuf_clear(&b);
    strbuf_puts(&b, "digraph {\n");
    for (int i = 0; i < 100000; i++) {
        strbuf_puts(&b, "a [x=<<\n\"\n");
    }
    r = text_graph(b.s);
    assert_true(r.d.n_losses > 0);
    forget(&r);
    strbuf_clear(&b);
    strbuf_puts(&b, "digraph {\n");
    for (int i = 0; i < 20000; i++) {
        strbuf_printf(&b, "node [k%d=v] n%d\n", i, i);
    }
    strbuf_puts(&b, "}\n");
    r = text_graph(b.s);
    assert_int_equal(r.g.n_nodes, 20000);
    assert_true(diag_lost(&r.d, MAREY_LOSS_LIMIT) > 0);
    forget(&r);
    strbuf_deinit(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_grammar),        cmocka_unit_test(test_strict),
                                       cmocka_unit_test(test_scopes),         cmocka_unit_test(test_labels),
                                       cmocka_unit_test(test_several_graphs), cmocka_unit_test(test_damage),
                                       cmocka_unit_test(test_hostile)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
