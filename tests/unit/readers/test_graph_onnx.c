/*
 * ONNX: nodes and edges by value names, whatever their order; absent and empty names; initializers, inputs and outputs
 * as implied nodes that are in no count; types of outputs and sizes; attributes as text, bounded; bodies of If and Loop
 * as scopes that see the values around them; local functions once per call, nested and bounded, never endless; scopes
 * by the best of what a node has; cut, flipped and hostile files keep what is complete or are refused in a sentence.
 */
#include "cm.h"

#include "help/graph_read.h"
#include "help/pb_write.h"

/* "a b" -> two strings of one field; "-" is the empty string */
static void names(strbuf *b, uint32_t field, const char *list)
{
    while (*list) {
        size_t n = strcspn(list, " ");
        pbw_bytes(b, field, list, n == 1 && *list == '-' ? 0 : n);
        list += n + (list[n] == ' ');
    }
}

static strbuf node(const char *name, const char *op, const char *in, const char *out)
{
    strbuf b = {0};
    names(&b, 1, in);
    names(&b, 2, out);
    if (*name) {
        pbw_str(&b, 3, name);
    }
    pbw_str(&b, 4, op);
    return b;
}

static void add_node(strbuf *g, uint32_t field, const char *name, const char *op, const char *in, const char *out)
{
    strbuf n = node(name, op, in, out);
    pbw_message(g, field, &n);
}

/* ValueInfoProto with a tensor type: dims below 0 are unknown, 0 ends them. */
static void add_value(strbuf *g, uint32_t field, const char *name, uint32_t elem, const int64_t *dims)
{
    strbuf shape = {0};
    strbuf tensor = {0};
    strbuf type = {0};
    strbuf info = {0};
    for (; *dims; dims++) {
        strbuf dim = {0};
        if (*dims > 0) {
            pbw_int(&dim, 1, (uint64_t)*dims);
        } else {
            pbw_str(&dim, 2, "batch");
        }
        pbw_message(&shape, 1, &dim);
    }
    pbw_int(&tensor, 1, elem);
    pbw_message(&tensor, 2, &shape);
    pbw_message(&type, 1, &tensor);
    pbw_str(&info, 1, name);
    pbw_message(&info, 2, &type);
    pbw_message(g, field, &info);
}

static void add_initializer(strbuf *g, const char *name, uint64_t rows, uint64_t columns)
{
    strbuf t = {0};
    pbw_int(&t, 1, rows);
    pbw_int(&t, 1, columns);
    pbw_int(&t, 2, 1);
    pbw_str(&t, 8, name);
    pbw_str(&t, 9, "the bytes of the weights");
    pbw_message(g, 5, &t);
}

/* The graph becomes a model; its bytes go to the reader. */
static read_graph read_model(strbuf *g, strbuf *functions)
{
    strbuf m = {0};
    pbw_int(&m, 1, 8);
    pbw_str(&m, 2, "hand");
    pbw_str(&m, 3, "1.2");
    pbw_message(&m, 7, g);
    if (functions) {
        strbuf_add(&m, functions->s, functions->n);
        strbuf_deinit(functions);
    }
    read_graph r = graph_of(m.s, m.n);
    strbuf_deinit(&m);
    return r;
}

static void plain(void **state)
{
    (void)state;
    strbuf g = {0};
    add_node(&g, 1, "second", "Relu", "h", "y"); /* before the node that feeds it */
    add_node(&g, 1, "first", "MatMul", "x w", "h");
    add_node(&g, 1, "", "Clip", "y - -", "z -");
    pbw_str(&g, 2, "net");
    add_initializer(&g, "w", 4, 8);
    add_value(&g, 11, "x", 1, (int64_t[]){-1, 4, 0});
    add_value(&g, 11, "w", 1, (int64_t[]){4, 8, 0}); /* old exporters list weights as inputs, too */
    add_value(&g, 12, "z", 10, (int64_t[]){2, 3, 0});
    add_value(&g, 13, "h", 16, (int64_t[]){32, 1024, 0});
    read_graph r = read_model(&g, NULL);
    assert_int_equal(r.status, MAREY_OK);
    assert_int_equal(r.d.n_messages + r.d.n_losses, 0);
    assert_int_equal(real_nodes(&r.g), 3);
    assert_int_equal(real_edges(&r.g), 2);
    assert_int_equal(r.g.n_implied_nodes, 3); /* w, x, z */
    assert_int_equal(r.g.n_implied_edges, 3);
    assert_true(has_edge(&r.g, "first", "second", 0));
    assert_true(has_edge(&r.g, "second", "", 0));
    assert_true(has_edge(&r.g, "w", "first", GRAPH_IMPLIED));
    assert_true(has_edge(&r.g, "", "z", GRAPH_IMPLIED));
    assert_string_equal(type_of(&r.g, "first"), "bf16[32,1024]");
    assert_string_equal(type_of(&r.g, "x"), "f32[batch,4]");
    assert_string_equal(type_of(&r.g, "w"), "f32[4,8]");
    assert_int_equal(graph_out_bytes(&r.g, r.g.out_first[node_named(&r.g, "w")]), 128);
    assert_int_equal(graph_out_bytes(&r.g, r.g.out_first[node_named(&r.g, "first")]), 65536);
    assert_int_equal(r.g.node_role[node_named(&r.g, "w")], GRAPH_PARAMETER);
    assert_string_equal(graph_string(&r.g, r.g.format), "onnx");
    assert_string_equal(graph_string(&r.g, r.g.name), "net");
    assert_string_equal(graph_string(&r.g, r.g.producer), "hand 1.2");
    forget(&r);
}

/* Two nodes of one name: both stay, with their edges, and it is counted; nodes without names are none. */
static void one_name_twice(void **state)
{
    (void)state;
    strbuf g = {0};
    add_node(&g, 1, "same", "Relu", "x", "h");
    add_node(&g, 1, "same", "Erf", "h", "i");
    add_node(&g, 1, "", "Clip", "i", "j");
    add_node(&g, 1, "", "Clip", "j", "z");
    read_graph r = read_model(&g, NULL);
    assert_int_equal(r.status, MAREY_OK);
    assert_int_equal(r.d.n_losses, 2);
    for (size_t i = 0; i < r.d.n_losses; i++) { /* nobody makes x */
        assert_int_equal(r.d.losses[i].count, 1);
        assert_true(r.d.losses[i].loss == MAREY_LOSS_DUPLICATE_NAME || r.d.losses[i].loss == MAREY_LOSS_DANGLING);
    }
    assert_int_equal(real_nodes(&r.g), 4);
    assert_int_equal(real_edges(&r.g), 3);
    forget(&r);
}

static void add_attribute(strbuf *n, const char *name, uint32_t field, strbuf *message)
{
    strbuf a = {0};
    pbw_str(&a, 1, name);
    pbw_message(&a, field, message);
    pbw_message(n, 5, &a);
}

static void attributes(void **state)
{
    (void)state;
    strbuf g = {0};
    strbuf n = node("n", "Op", "", "y");
    strbuf a = {0};
    pbw_str(&n, 7, "com.hand");
    pbw_str(&a, 1, "alpha");
    pbw_float(&a, 2, 0.5F);
    pbw_message(&n, 5, &a);
    pbw_str(&a, 1, "axis");
    pbw_int(&a, 3, (uint64_t)-2);
    pbw_message(&n, 5, &a);
    pbw_str(&a, 1, "pads");
    pbw_bytes(&a, 8, "\x01\x02\x03", 3); /* packed, and one that is not */
    pbw_int(&a, 8, 4);
    pbw_message(&n, 5, &a);
    pbw_str(&a, 1, "names");
    pbw_str(&a, 9, "p");
    pbw_str(&a, 9, "q");
    pbw_message(&n, 5, &a);
    strbuf t = {0};
    pbw_int(&t, 1, 2);
    pbw_int(&t, 2, 7);
    pbw_bytes(&t, 9, "\x05\0\0\0\0\0\0\0\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF", 16);
    add_attribute(&n, "shape", 5, &t);
    pbw_str(&a, 1, "long");
    for (int i = 0; i < 100; i++) {
        pbw_int(&a, 8, 7);
    }
    pbw_message(&n, 5, &a);
    char *megabyte = malloc(1 << 20);
    memset(megabyte, 'x', 1 << 20);
    pbw_str(&a, 1, "big");
    pbw_bytes(&a, 4, megabyte, 1 << 20);
    pbw_message(&n, 5, &a);
    free(megabyte);
    pbw_message(&g, 1, &n);
    read_graph r = read_model(&g, NULL);
    assert_int_equal(r.status, MAREY_OK);
    assert_string_equal(graph_string(&r.g, r.g.node_op[0]), "com.hand::Op");
    assert_string_equal(attr_of(&r.g, "n", "alpha"), "0.5");
    assert_string_equal(attr_of(&r.g, "n", "axis"), "-2");
    assert_string_equal(attr_of(&r.g, "n", "pads"), "1, 2, 3, 4");
    assert_string_equal(attr_of(&r.g, "n", "names"), "p, q");
    assert_string_equal(attr_of(&r.g, "n", "shape"), "i64[2] {5, -1}");
    assert_non_null(strstr(attr_of(&r.g, "n", "long"), "(100 values)"));
    assert_true(strlen(attr_of(&r.g, "n", "big")) <= 1024);
    assert_non_null(strstr(attr_of(&r.g, "n", "big"), "1048576"));
    forget(&r);
}

static void other_types(void **state)
{
    (void)state;
    strbuf g = {0};
    strbuf tensor = {0};
    strbuf type = {0};
    strbuf seq = {0};
    strbuf optional = {0};
    strbuf info = {0};
    pbw_int(&tensor, 1, 7); /* no shape: its rank is unknown */
    pbw_message(&type, 1, &tensor);
    pbw_message(&seq, 1, &type);
    pbw_message(&type, 4, &seq);
    pbw_message(&optional, 1, &type);
    pbw_message(&type, 9, &optional);
    pbw_str(&info, 1, "y");
    pbw_message(&info, 2, &type);
    add_node(&g, 1, "n", "SequenceConstruct", "", "y");
    pbw_message(&g, 13, &info);
    read_graph r = read_model(&g, NULL);
    assert_string_equal(type_of(&r.g, "n"), "optional(sequence(i64))");
    forget(&r);
}

static void bodies(void **state)
{
    (void)state;
    strbuf g = {0};
    strbuf then_graph = {0};
    strbuf else_graph = {0};
    add_node(&then_graph, 1, "t", "Neg", "outer", "r");
    add_value(&then_graph, 12, "r", 1, (int64_t[]){2, 0});
    add_node(&else_graph, 1, "e", "Abs", "outer", "r"); /* the same value name as in the other */
    add_value(&else_graph, 12, "r", 1, (int64_t[]){2, 0});
    add_node(&g, 1, "src", "Exp", "x", "outer");
    strbuf n = node("/blk/If_1", "If", "cond", "y");
    add_attribute(&n, "then_branch", 6, &then_graph);
    add_attribute(&n, "else_branch", 6, &else_graph);
    pbw_message(&g, 1, &n);
    add_node(&g, 1, "after", "Relu", "y", "z");
    add_value(&g, 11, "x", 1, (int64_t[]){2, 0});
    add_value(&g, 11, "cond", 9, (int64_t[]){0});
    read_graph r = read_model(&g, NULL);
    assert_int_equal(r.status, MAREY_OK);
    assert_int_equal(r.d.n_losses, 0);
    assert_int_equal(real_nodes(&r.g), 5);
    assert_int_equal(real_edges(&r.g), 3);
    assert_true(has_edge(&r.g, "src", "t", 0) && has_edge(&r.g, "src", "e", 0)); /* captured */
    assert_true(has_edge(&r.g, "/blk/If_1", "after", 0));
    assert_string_equal(path_of(&r.g, "/blk/If_1"), "blk");
    assert_string_equal(path_of(&r.g, "t"), "blk/If_1 then_branch");
    assert_string_equal(path_of(&r.g, "e"), "blk/If_1 else_branch");
    uint32_t call = node_named(&r.g, "/blk/If_1");
    assert_true(r.g.node_flags[call] & GRAPH_CALL);
    assert_int_equal(r.g.node_body[call], r.g.node_scope[node_named(&r.g, "t")]);
    assert_int_equal(r.g.node_body[call] + 1, r.g.node_scope[node_named(&r.g, "e")]);
    assert_true(r.g.scope_flags[r.g.node_body[call]] & GRAPH_SCOPE_BODY);
    assert_true(has_edge(&r.g, "r", "/blk/If_1", GRAPH_IMPLIED)); /* what the body gives */
    forget(&r);
}

/* FunctionProto: `in` and `out` are formal names. */
static void add_function(strbuf *all, const char *name, const char *in, const char *out, strbuf *nodes)
{
    strbuf f = {0};
    pbw_str(&f, 1, name);
    names(&f, 4, in);
    names(&f, 5, out);
    if (nodes->n) {
        strbuf_add(&f, nodes->s, nodes->n);
        strbuf_deinit(nodes);
    }
    pbw_str(&f, 10, "local");
    pbw_message(all, 25, &f);
}

static void add_call(strbuf *g, uint32_t field, const char *name, const char *op, const char *in, const char *out)
{
    strbuf n = node(name, op, in, out);
    pbw_str(&n, 7, "local");
    pbw_message(g, field, &n);
}

static void functions(void **state)
{
    (void)state;
    strbuf g = {0};
    strbuf all = {0};
    strbuf nodes = {0};
    add_node(&nodes, 7, "inside", "Gemm", "a", "h");
    add_call(&nodes, 7, "deep", "Inner", "h", "b");
    add_function(&all, "Outer", "a", "b", &nodes);
    add_node(&nodes, 7, "bottom", "Tanh", "p", "q");
    add_function(&all, "Inner", "p", "q", &nodes);
    add_node(&g, 1, "src", "Exp", "x", "v");
    add_call(&g, 1, "one", "Outer", "v", "w");
    add_call(&g, 1, "two", "Outer", "w", "y");
    add_value(&g, 11, "x", 1, (int64_t[]){2, 0});
    read_graph r = read_model(&g, &all);
    assert_int_equal(r.d.n_losses, 0);
    assert_int_equal(real_nodes(&r.g), 3 + 2 * 3);
    assert_int_equal(real_edges(&r.g), 2 + 2 * 1); /* formal names stand between the others */
    assert_true(has_edge(&r.g, "src", "one", 0) && has_edge(&r.g, "one", "two", 0));
    assert_true(has_edge(&r.g, "src", "a", GRAPH_IMPLIED)); /* into the body */
    assert_true(has_edge(&r.g, "inside", "deep", 0));
    assert_true(has_edge(&r.g, "b", "one", GRAPH_IMPLIED) && has_edge(&r.g, "b", "two", GRAPH_IMPLIED));
    assert_string_equal(path_of(&r.g, "bottom"), "one/deep");
    assert_int_equal(r.g.n_scopes, 1 + 4);
    assert_string_equal(graph_string(&r.g, r.g.node_op[node_named(&r.g, "one")]), "local::Outer");
    forget(&r);
}

static void endless_functions(void **state)
{
    (void)state;
    strbuf g = {0};
    strbuf all = {0};
    strbuf nodes = {0};
    add_call(&nodes, 7, "again", "Self", "a", "b");
    add_function(&all, "Self", "a", "b", &nodes);
    for (int i = 0; i < 40; i++) { /* each calls the next twice: 2^40 nodes */
        char name[16];
        char next[16];
        (void)snprintf(name, sizeof name, "F%d", i);
        (void)snprintf(next, sizeof next, "F%d", i + 1);
        add_call(&nodes, 7, "l", next, "a", "h");
        add_call(&nodes, 7, "r", next, "h", "b");
        add_function(&all, name, "a", "b", &nodes);
    }
    add_call(&g, 1, "self", "Self", "x", "s");
    add_call(&g, 1, "top", "F0", "x", "y");
    read_graph r = read_model(&g, &all);
    assert_int_equal(r.status, MAREY_OK);
    assert_true(diag_lost(&r.d, MAREY_LOSS_LIMIT) > 1);
    assert_true(real_nodes(&r.g) < 2000000);
    forget(&r);
}

static void add_property(strbuf *n, const char *key, const char *value)
{
    strbuf e = {0};
    pbw_str(&e, 1, key);
    pbw_str(&e, 2, value);
    pbw_message(n, 9, &e);
}

static void scopes(void **state)
{
    (void)state;
    strbuf g = {0};
    strbuf n = node("torch", "Add", "", "a");
    add_property(&n, "pkg.torch.onnx.name_scopes", "['', 'blocks.2', 'blocks.2.mlp', 'it\\'s/add']");
    add_property(&n, "pkg.torch.onnx.class_hierarchy", "['m.Net', 'm.Block', \"m.MLP's\", 'aten.add']");
    add_property(&n, "namespace", "not: Used");
    pbw_message(&g, 1, &n);
    n = node("space", "Add", "", "b");
    add_property(&n, "namespace", ": m.Net/enc.1: m.Enc<a/b>/enc.1.att: m.Att/add_3: aten.add.Tensor");
    pbw_message(&g, 1, &n);
    add_node(&g, 1, "/encoder//layer.0/MatMul", "MatMul", "b w", "c");
    add_node(&g, 1, "", "Mul", "c w", "/encoder/layer.1/Mul_output_0");
    add_node(&g, 1, "plain", "Mul", "c", "d");
    add_initializer(&g, "w", 2, 2);
    read_graph r = read_model(&g, NULL);
    assert_string_equal(path_of(&r.g, "torch"), "blocks.2/mlp");
    assert_string_equal(path_of(&r.g, "space"), "enc.1/att");
    assert_string_equal(path_of(&r.g, "/encoder//layer.0/MatMul"), "encoder/layer.0");
    assert_string_equal(path_of(&r.g, ""), "encoder/layer.1");
    assert_string_equal(path_of(&r.g, "plain"), "");
    assert_string_equal(path_of(&r.g, "w"), "encoder"); /* what both of its users share */
    const graph *x = &r.g;
    uint32_t mlp = x->node_scope[node_named(x, "torch")];
    assert_string_equal(graph_string(x, x->scope_class[mlp]), "MLP's");
    assert_string_equal(graph_string(x, x->scope_class[x->scope_parent[mlp]]), "Block");
    assert_string_equal(graph_string(x, x->scope_class[x->node_scope[node_named(x, "space")]]), "Att");
    forget(&r);
}

static void damage(void **state)
{
    (void)state;
    strbuf g = {0};
    add_node(&g, 1, "a", "Exp", "x", "y");
    add_node(&g, 1, "b", "Relu", "y nobody", "z");
    add_node(&g, 1, "c", "Relu", "z z", "w");
    strbuf m = {0};
    pbw_int(&m, 1, 8);
    pbw_message(&m, 7, &g);
    for (size_t n = 0; n <= m.n; n++) { /* cut anywhere: what is complete is there */
        read_graph r = graph_of(m.s, n);
        assert_true(r.status != MAREY_OK || n == m.n || diag_lost(&r.d, MAREY_LOSS_TRUNCATED) == 1);
        assert_true(r.status == MAREY_OK || n < m.n);
        forget(&r);
    }
    read_graph r = graph_of(m.s, m.n);
    assert_int_equal(diag_lost(&r.d, MAREY_LOSS_DANGLING), 2); /* x and nobody */
    assert_int_equal(real_edges(&r.g), 3);
    forget(&r);
    r = graph_of(m.s, m.n - 3);
    assert_int_equal(r.status, MAREY_OK);
    assert_int_equal(real_nodes(&r.g), 2);
    forget(&r);
    strbuf_deinit(&m);
    r = graph_of("\x08\x08\x3A\xFF\xFF\xFF\xFF\x07\x0A", 9); /* a graph of 2 GB */
    assert_int_equal(r.status, MAREY_FORMAT);
    forget(&r);
}

static void deep_bodies(void **state)
{
    (void)state;
    strbuf inner = {0};
    add_node(&inner, 1, "last", "Neg", "x", "y");
    for (int i = 0; i < 10000; i++) {
        strbuf g = {0};
        strbuf n = node("", "If", "x", "y");
        add_attribute(&n, "then_branch", 6, &inner);
        pbw_message(&g, 1, &n);
        inner = g;
    }
    add_value(&inner, 11, "x", 1, (int64_t[]){2, 0});
    read_graph r = read_model(&inner, NULL);
    assert_int_equal(r.status, MAREY_OK);
    assert_int_equal(diag_lost(&r.d, MAREY_LOSS_LIMIT), 1);
    assert_int_equal(real_nodes(&r.g), 200);
    forget(&r);
}

static void long_names_and_wide_inputs(void **state)
{
    (void)state;
    strbuf g = {0};
    strbuf name = {0};
    while (name.n < 12000) {
        strbuf_puts(&name, "/scope");
    }
    strbuf n = node(name.s, "Concat", "", "y");
    for (int i = 0; i < 1671; i++) {
        pbw_str(&n, 1, "x");
    }
    pbw_message(&g, 1, &n);
    add_value(&g, 11, "x", 1, (int64_t[]){2, 0});
    read_graph r = read_model(&g, NULL);
    assert_int_equal(r.status, MAREY_OK);
    assert_int_equal(r.g.n_implied_edges, 1671);
    assert_int_equal(graph_depth(&r.g), 64);
    assert_int_equal(diag_lost(&r.d, MAREY_LOSS_LIMIT), 1);
    strbuf_deinit(&name);
    forget(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_name_twice),
        cmocka_unit_test(plain),
        cmocka_unit_test(attributes),
        cmocka_unit_test(other_types),
        cmocka_unit_test(bodies),
        cmocka_unit_test(functions),
        cmocka_unit_test(endless_functions),
        cmocka_unit_test(scopes),
        cmocka_unit_test(damage),
        cmocka_unit_test(deep_bodies),
        cmocka_unit_test(long_names_and_wide_inputs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
