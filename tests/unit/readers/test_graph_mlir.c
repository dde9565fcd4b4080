/*
 * MLIR text: operations, results and operands of any dialect; regions as bodies inside their operation, block arguments
 * as implied inputs; functions laid out where they are called once; scopes and classes from locations, whatever their
 * order; constants never read; damage counted, hostile input bounded.
 */
#include "cm.h"

#include "help/graph_read.h"

static read_graph text_graph(const char *text)
{
    return graph_of(text, strlen(text));
}

static uint32_t op_at(const graph *g, const char *op)
{
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        if (strcmp(graph_string(g, g->node_op[i]), op) == 0) {
            return i;
        }
    }
    fail_msg("no %s", op);
    return 0;
}

static size_t n_inputs(const graph *g, uint32_t node)
{
    return g->in_first[node + 1] - g->in_first[node];
}

static void test_operations(void **state)
{
    (void)state;
    read_graph r = text_graph(
        "#loc3 = loc(\"x\")\n"
        "module @jit_f attributes {mhlo.num_partitions = 1 : i32} {\n"
        "  func.func public @main(%arg0: tensor<2x3xf32> {mhlo.sharding = \"{replicated}\"} loc(\"x\"), %arg1: "
        "tensor<3x4xbf16> loc(#loc3)) -> (tensor<2x4xf32> {jax.result_info = \"\"}) {\n"
        "    %cst = stablehlo.constant "
        "dense<\"0xABCDEF0123456789ABCDEF0123456789ABCDEF0123456789ABCDEF0123456789ABCDEF\"> "
        ": tensor<4xf32> loc(#loc)\n"
        "    %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : "
        "(tensor<2x3xf32>, tensor<3x4xbf16>) -> tensor<2x4xf32> loc(#loc9)\n"
        "    %1:2 = \"custom.two\"(%0, %cst) <{a = [1, 2], b = \"x y\"}> {c} : (tensor<2x4xf32>, tensor<4xf32>) -> "
        "(tensor<i1>, tensor<?x4xf32, #enc<a, b>>) // a remark\n"
        "    %2 = stablehlo.compare  LT, %1#1, %1#0,  SIGNED : (tensor<i1>, tensor<i1>) -> tensor<i1>\n"
        "    return %2 : tensor<i1> loc(#loc)\n"
        "  } loc(#loc)\n"
        "} loc(#loc)\n"
        "#loc = loc(unknown)\n"
        "#loc5 = loc(\"f.py\":8:0)\n"
        "#loc9 = loc(\"jit(f)/jit(main)/transpose(jvp(layer))/dot_general\"(#loc5))\n");
    assert_int_equal(r.status, MAREY_OK);
    assert_int_equal(r.d.n_losses, 0);
    assert_string_equal(graph_string(&r.g, r.g.format), "mlir");
    assert_string_equal(graph_string(&r.g, r.g.name), "jit_f");
    assert_int_equal(real_nodes(&r.g), 5);
    assert_int_equal(r.g.n_implied_nodes, 2);
    assert_int_equal(r.g.n_edges, 7);
    uint32_t dot = node_named(&r.g, "dot_general");
    assert_string_equal(path_of(&r.g, "dot_general"), "jit(f)/layer");
    assert_int_equal(r.g.node_phase[dot], GRAPH_BACKWARD);
    assert_string_equal(attr_of(&r.g, "dot_general", "contracting_dims"), "[1] x [0]");
    assert_string_equal(attr_of(&r.g, "dot_general", "precision"), "[DEFAULT, DEFAULT]");
    assert_string_equal(type_of(&r.g, "dot_general"), "tensor<2x4xf32>");
    assert_int_equal(graph_out_bytes(&r.g, r.g.out_first[dot]), 32);
    uint32_t two = op_at(&r.g, "custom.two");
    assert_int_equal(r.g.out_first[two + 1] - r.g.out_first[two], 2);
    assert_string_equal(graph_string(&r.g, graph_out_type(&r.g, r.g.out_first[two] + 1)),
                        "tensor<?x4xf32, #enc<a, b>>");
    assert_string_equal(graph_attr(&r.g, two, "b"), "\"x y\"");
    assert_non_null(graph_attr(&r.g, two, "c"));
    uint32_t compare = op_at(&r.g, "stablehlo.compare");
    assert_string_equal(graph_attr(&r.g, compare, "text"), "LT SIGNED");
    assert_int_equal(r.g.edge_from_slot[r.g.in_first[compare]], 1);
    assert_int_equal(r.g.edge_from_slot[r.g.in_first[compare] + 1], 0);
    uint32_t cst = op_at(&r.g, "stablehlo.constant");
    assert_int_equal(r.g.node_role[cst], GRAPH_CONSTANT);
    assert_true(strlen(graph_attr(&r.g, cst, "text")) < 64);
    assert_int_equal(r.g.node_role[op_at(&r.g, "return")], GRAPH_OUTPUT);
    assert_int_equal(r.g.node_role[node_named(&r.g, "x")], GRAPH_INPUT);
    forget(&r);
}

static void test_regions(void **state)
{
    (void)state;
    read_graph r =
        text_graph("module {\n"
                   "  func.func @main(%arg0: tensor<8xf32>, %arg1: tensor<i32>) -> tensor<8xf32> {\n"
                   "    %c = stablehlo.constant dense<0.0> : tensor<f32>\n"
                   "    %0 = stablehlo.reduce(%arg0 init: %c) across dimensions = [0] : (tensor<8xf32>, tensor<f32>) "
                   "-> tensor<f32>\n"
                   "     reducer(%a: tensor<f32>, %b: tensor<f32>)  {\n"
                   "      %9 = stablehlo.maximum %a, %b : tensor<f32>\n"
                   "      stablehlo.return %9 : tensor<f32>\n"
                   "    }\n"
                   "    %1:2 = stablehlo.while(%it = %arg0, %n = %arg1) : tensor<8xf32>, tensor<i32>\n"
                   "     cond {\n"
                   "      %9 = stablehlo.compare  LT, %n, %arg1 : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
                   "      stablehlo.return %9 : tensor<i1>\n"
                   "    } do {\n"
                   "      %9 = stablehlo.negate %it : tensor<8xf32>\n"
                   "      stablehlo.return %9, %n : tensor<8xf32>, tensor<i32>\n"
                   "    }\n"
                   "    %2 = \"stablehlo.all_reduce\"(%1#0) <{channel = 1}> ({\n"
                   "    ^bb0(%p: tensor<f32>, %q: tensor<f32>):\n"
                   "      %9 = stablehlo.add %p, %q : tensor<f32>\n"
                   "      stablehlo.return %9 : tensor<f32>\n"
                   "    }) : (tensor<8xf32>) -> tensor<8xf32>\n"
                   "    %3 = scf.for %i = %arg1 to %arg1 step %arg1 iter_args(%acc = %2) -> (tensor<8xf32>) {\n"
                   "      %9 = custom.op %acc, %i {transpose} : tensor<8xf32>\n"
                   "      scf.yield %9 : tensor<8xf32>\n"
                   "    }\n"
                   "    return %3 : tensor<8xf32>\n"
                   "  }\n"
                   "}\n");
    assert_int_equal(r.status, MAREY_OK);
    assert_int_equal(r.d.n_losses, 0);
    assert_int_equal(real_nodes(&r.g), 16);
    /* the function of the reduction is a constant of it */
    uint32_t maximum = op_at(&r.g, "stablehlo.maximum");
    assert_int_equal(r.g.node_role[maximum], GRAPH_CONSTANT);
    assert_int_equal(n_inputs(&r.g, maximum), 2);
    assert_int_equal(n_inputs(&r.g, op_at(&r.g, "stablehlo.reduce")), 3);
    assert_int_equal(r.g.node_role[op_at(&r.g, "stablehlo.add")], GRAPH_CONSTANT);
    assert_int_equal(n_inputs(&r.g, op_at(&r.g, "stablehlo.add")), 2);
    /* the loop is a module with two bodies */
    uint32_t loop = op_at(&r.g, "stablehlo.while");
    strbuf path = {0};
    graph_scope_path(&r.g, r.g.node_scope[op_at(&r.g, "stablehlo.negate")], &path);
    assert_string_equal(strbuf_str(&path), "stablehlo.while %1/do");
    strbuf_clear(&path);
    graph_scope_path(&r.g, r.g.node_scope[loop], &path);
    assert_string_equal(strbuf_str(&path), "stablehlo.while %1");
    strbuf_deinit(&path);
    assert_true(r.g.node_flags[loop] & GRAPH_CALL);
    assert_true(has_edge(&r.g, "%arg0", "%it", GRAPH_IMPLIED));
    assert_int_equal(n_inputs(&r.g, op_at(&r.g, "stablehlo.negate")), 1);
    assert_true(has_edge(&r.g, "%2", "%acc", GRAPH_IMPLIED));
    uint32_t custom = op_at(&r.g, "custom.op");
    assert_int_equal(n_inputs(&r.g, custom), 2);
    assert_non_null(graph_attr(&r.g, custom, "transpose"));
    assert_int_equal(graph_cyclic_nodes(&r.g), 0);
    forget(&r);
}

static void test_functions(void **state)
{
    (void)state;
    read_graph r = text_graph("module {\n"
                              "  func.func private @once(%arg0: i32) -> i32 {\n"
                              "    %0 = a.inside %arg0 : i32\n"
                              "    return %0 : i32\n"
                              "  }\n"
                              "  func.func @main(%arg0: i32) -> i32 {\n"
                              "    %0 = call @once(%arg0) : (i32) -> i32\n"
                              "    %1 = func.call @twice(%0) : (i32) -> i32\n"
                              "    %2 = func.call @twice(%1) : (i32) -> i32\n"
                              "    return %2 : i32\n"
                              "  }\n"
                              "  func.func private @twice(%arg0: i32) -> i32 {\n"
                              "    %0 = b.inside %arg0 : i32\n"
                              "    return %0 : i32\n"
                              "  }\n"
                              "}\n");
    assert_int_equal(r.status, MAREY_OK);
    assert_int_equal(r.d.n_losses, 0);
    assert_int_equal(real_nodes(&r.g), 8);
    uint32_t call = op_at(&r.g, "call");
    uint32_t inside = op_at(&r.g, "a.inside");
    assert_int_equal(r.g.node_body[call], r.g.node_scope[inside]);
    assert_int_equal(r.g.node_scope[call], r.g.node_scope[inside]);
    assert_int_equal(n_inputs(&r.g, call), 2); /* its operand, and what the function returns */
    uint32_t shared = op_at(&r.g, "func.call");
    assert_int_equal(r.g.node_body[shared], r.g.node_scope[op_at(&r.g, "b.inside")]);
    assert_int_equal(r.g.node_body[shared], r.g.node_body[shared + 1]);
    assert_int_equal(n_inputs(&r.g, shared), 1);
    assert_int_equal(r.g.node_scope[op_at(&r.g, "return")], 0); /* of the entry, which comes first */
    forget(&r);
}

static void test_module_stacks(void **state)
{
    (void)state;
    read_graph r = text_graph(
        "module {\n  func.func @main(%arg0: i32) -> i32 {\n"
        "    %0 = a.b %arg0 : i32 loc(\"Net[net]|Stage[net.stages[0]]|Seq[getattr(net.stages[0].layer, '1')]|"
        "/x/y.py:52|forward|53|aten__conv\")\n"
        "    %1 = a.c %0 : i32 loc(fused[\"f.py\":1:2, \"jit(f)/g/h\"])\n"
        "    %2 = a.d %1 : i32 loc(callsite(#loc1 at \"f.py\":3:4))\n"
        "    return %2 : i32\n  }\n}\n#loc1 = loc(#loc2)\n#loc2 = loc(#loc1)\n");
    assert_int_equal(r.status, MAREY_OK);
    assert_string_equal(path_of(&r.g, "aten__conv"), "net/stages[0]/layer.1");
    uint32_t scope = r.g.node_scope[node_named(&r.g, "aten__conv")];
    assert_string_equal(graph_string(&r.g, r.g.scope_class[scope]), "Seq");
    assert_string_equal(graph_string(&r.g, r.g.scope_class[r.g.scope_parent[scope]]), "Stage");
    assert_string_equal(path_of(&r.g, "h"), "jit(f)/g");
    assert_string_equal(path_of(&r.g, "%2"), "");
    forget(&r);
}

static void test_damage(void **state)
{
    (void)state;
    read_graph r = text_graph("module {\n  func.func @main(%arg0: i32) -> i32 {\n"
                              "    %0 = a.b %arg0, %nobody : i32\n"
                              "    !! what is this\n"
                              "    %1 = a.c (%0 : i32\n"
                              "  }\n}\n}\n");
    assert_int_equal(r.status, MAREY_OK);
    assert_int_equal(diag_lost(&r.d, MAREY_LOSS_DANGLING), 1);
    assert_true(diag_lost(&r.d, MAREY_LOSS_DAMAGED) > 0);
    assert_int_equal(real_nodes(&r.g), 2);
    forget(&r);
    r = text_graph("module {\n  func.func @main() {\n    a.b\n    %0 = a.c {x = \"never ends\n");
    assert_int_equal(r.status, MAREY_OK);
    assert_true(diag_lost(&r.d, MAREY_LOSS_TRUNCATED) > 0);
    forget(&r);
    r = text_graph("module {\n}\n");
    assert_int_equal(r.status, MAREY_FORMAT);
    forget(&r);
}

/* Regions 10 000 deep, results beyond reason, weights behind the module, an attribute of a megabyte. */
static void test_hostile(void **state)
{
    (void)state;
    strbuf b = {0};
    strbuf_puts(&b, "module {\nfunc.func @main(%arg0: i32) -> i32 {\n%w:4000000000 = a.wide %arg0 {x = \"");
    for (int i = 0; i < 1 << 16; i++) {
        strbuf_puts(&b, "0123456789abcdef");
    }
    strbuf_puts(&b, "\"} : i32\n");
    for (int i = 0; i < 10000; i++) {
        strbuf_printf(&b, "%%r%d = scf.if %%arg0 {\n", i);
    }
    for (int i = 0; i < 10000; i++) {
        strbuf_puts(&b, "}\n");
    }
    strbuf_puts(&b, "%u = a.use %w#3 : i32\n}\n}\n{-#\n  dialect_resources: { builtin: { x: \"0x00\" } }\n#-}\n");
    read_graph r = text_graph(b.s);
    assert_int_equal(r.status, MAREY_OK);
    assert_int_equal(r.d.n_losses, 1); /* values see 256 regions up, and the rest is told */
    assert_true(diag_lost(&r.d, MAREY_LOSS_LIMIT) > 0);
    assert_int_equal(real_nodes(&r.g), 10002);
    assert_true(graph_depth(&r.g) <= 64);
    assert_int_equal(r.g.edge_from_slot[r.g.in_first[op_at(&r.g, "a.use")]], 3);
    forget(&r);
    strbuf_clear(&b);
    strbuf_puts(&b, "module {\n");
    for (int i = 0; i < 100000; i++) {
        strbuf_puts(&b, "a.b (<[{\n");
    }
    r = text_graph(b.s);
    assert_true(r.d.n_losses > 0);
    forget(&r);
    strbuf_clear(&b);
    /* a long alias that every operation names, results without end, and a long function that calls nothing */
    strbuf_puts(&b, "module {\nfunc.func @main() {\n return\n}\nfunc.func @long() {\n");
    for (int i = 0; i < 30000; i++) {
        strbuf_printf(&b, "%%v%d:4096 = a.b loc(#loc)\n", i);
    }
    strbuf_puts(&b, "}\n}\n#loc = loc(fused[");
    for (int i = 0; i < 1 << 16; i++) {
        strbuf_puts(&b, "unknown, unknown");
    }
    strbuf_puts(&b, "])\n");
    r = text_graph(b.s);
    assert_int_equal(r.status, MAREY_OK);
    assert_int_equal(real_nodes(&r.g), 30001);
    assert_true(diag_lost(&r.d, MAREY_LOSS_LIMIT) > 0);
    forget(&r);
    strbuf_deinit(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_operations), cmocka_unit_test(test_regions),
                                       cmocka_unit_test(test_functions),  cmocka_unit_test(test_module_stacks),
                                       cmocka_unit_test(test_damage),     cmocka_unit_test(test_hostile)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
