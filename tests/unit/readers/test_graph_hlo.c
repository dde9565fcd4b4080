/*
 * HLO, as text and as protocol buffers: instructions and operands of all computations, each once; bodies inside their
 * call, operands flowing on to their parameters, further calls as marked copies; functions of reductions shown with
 * what applies them; paths as scopes, transformations as phases; tuples as outputs; damage counted, hostile input
 * bounded. The programs in a profile (XPlane) as modules.
 */
#include "cm.h"

#include "help/graph_read.h"
#include "help/pb_write.h"

static read_graph text_graph(const char *text)
{
    return graph_of(text, strlen(text));
}

static void test_instructions(void **state)
{
    (void)state;
    read_graph r = text_graph(
        "HloModule m, is_scheduled=true\n\n"
        "ENTRY %main (p: f32[2,3], q: f32[3,4]) -> (f32[2,4], s32[]) {\n"
        "  %p = f32[2,3]{1,0:T(8,128)} parameter(0), sharding={devices=[2,1]<=[2]}\n"
        "  %q = f32[3,4]{1,0} parameter(1)\n"
        "  %c = s32[] constant(7)\n"
        "  %dot.1 = f32[2,4]{1,0} dot(f32[2,3]{1,0} %p, %q), lhs_contracting_dims={1}, rhs_contracting_dims={0}, "
        "metadata={op_type=\"dot\" op_name=\"jit(f)/jit(main)/layer/dot_general\" source_file=\"a b.py\" "
        "source_line=3}, backend_config={\"x\":{\"y\":1}}\n"
        "  %ar = f32[2,4]{1,0} all-reduce(%dot.1), channel_id=1, replica_groups=[1,8]<=[8], "
        "control-predecessors={%c}\n"
        "  %t = (f32[2,4]{1,0}, /*index=1*/s32[]) tuple(%ar, /*index=1*/%c)\n"
        "  ROOT %g = s32[] get-tuple-element(%t), index=1\n"
        "}\n");
    assert_int_equal(r.status, MAREY_OK);
    assert_int_equal(r.d.n_losses, 0);
    assert_string_equal(graph_string(&r.g, r.g.format), "hlo");
    assert_string_equal(graph_string(&r.g, r.g.name), "m");
    assert_int_equal(r.g.n_nodes, 7);
    assert_int_equal(r.g.n_edges, 7);
    assert_int_equal(r.g.n_control_edges, 1);
    assert_true(has_edge(&r.g, "c", "ar", GRAPH_CONTROL));
    assert_true(has_edge(&r.g, "p", "dot.1", 0));
    assert_string_equal(path_of(&r.g, "dot.1"), "jit(f)/layer");
    assert_string_equal(type_of(&r.g, "dot.1"), "f32[2,4]{1,0}");
    assert_string_equal(attr_of(&r.g, "dot.1", "source_file"), "a b.py");
    assert_string_equal(attr_of(&r.g, "dot.1", "op_name"), "jit(f)/jit(main)/layer/dot_general");
    assert_string_equal(attr_of(&r.g, "dot.1", "backend_config"), "{\"x\":{\"y\":1}}");
    assert_string_equal(attr_of(&r.g, "ar", "replica_groups"), "[1,8]<=[8]");
    assert_string_equal(attr_of(&r.g, "p", "sharding"), "{devices=[2,1]<=[2]}");
    assert_string_equal(attr_of(&r.g, "c", "value"), "7");
    uint32_t t = node_named(&r.g, "t");
    assert_int_equal(r.g.out_first[t + 1] - r.g.out_first[t], 2);
    assert_int_equal(graph_out_bytes(&r.g, r.g.out_first[t]), 32);
    uint32_t g = node_named(&r.g, "g");
    assert_int_equal(r.g.edge_from_slot[r.g.in_first[g]], 1);
    assert_int_equal(graph_edge_bytes(&r.g, r.g.in_first[g]), 4);
    assert_int_equal(r.g.node_role[node_named(&r.g, "p")], GRAPH_INPUT);
    assert_int_equal(r.g.node_role[node_named(&r.g, "c")], GRAPH_CONSTANT);
    forget(&r);
}

static const char calls[] = "HloModule calls\n"
                            "add (a: f32[], b: f32[]) -> f32[] {\n"
                            "  a = f32[] parameter(0)\n"
                            "  b = f32[] parameter(1)\n"
                            "  ROOT sum = f32[] add(a, b)\n"
                            "}\n"
                            "fused (x: f32[8]) -> f32[8] {\n"
                            "  x = f32[8] parameter(0)\n"
                            "  ROOT n = f32[8] negate(x)\n"
                            "}\n"
                            "relu {\n"
                            "  r0 = f32[8] parameter(0)\n"
                            "  ROOT r1 = f32[8] abs(r0), metadata={op_name=\"abs\"}\n"
                            "}\n"
                            "body {\n"
                            "  bp = (f32[8]) parameter(0)\n"
                            "  bg = f32[8] get-tuple-element(bp), index=0\n"
                            "  bn = f32[8] negate(bg), metadata={op_name=\"jit(f)/while/body/layer/neg\"}\n"
                            "  ROOT bt = (f32[8]) tuple(bn)\n"
                            "}\n"
                            "cond {\n"
                            "  cp = (f32[8]) parameter(0)\n"
                            "  ROOT cc = pred[] constant(true), metadata={op_name=\"jit(f)/while/cond/lt\"}\n"
                            "}\n"
                            "never {\n"
                            "  ROOT dead = f32[] parameter(0)\n"
                            "}\n"
                            "ENTRY main {\n"
                            "  in = f32[8] parameter(0)\n"
                            "  zero = f32[] constant(0)\n"
                            "  red = f32[] reduce(in, zero), dimensions={0}, to_apply=add\n"
                            "  fus = f32[8] fusion(in), kind=kLoop, calls=fused\n"
                            "  one = f32[8] call(fus), to_apply=relu\n"
                            "  two = f32[8] call(one), to_apply=relu\n"
                            "  tup = (f32[8]) tuple(two)\n"
                            "  ROOT w = (f32[8]) while(tup), condition=cond, body=body, "
                            "metadata={op_name=\"jit(f)/while\"}\n"
                            "}\n";

static void test_calls(void **state)
{
    (void)state;
    read_graph r = text_graph(calls);
    assert_int_equal(r.status, MAREY_OK);
    assert_int_equal(r.d.n_losses, 0);
    assert_int_equal(real_nodes(&r.g), 22);
    assert_int_equal(real_edges(&r.g), 14);
    assert_int_equal(r.g.n_implied_nodes, 2);
    /* the function of the reduction: where the reduction is, as constants, its result flowing in */
    assert_string_equal(path_of(&r.g, "sum"), "");
    assert_int_equal(r.g.node_role[node_named(&r.g, "sum")], GRAPH_CONSTANT);
    assert_true(has_edge(&r.g, "sum", "red", GRAPH_IMPLIED));
    assert_string_equal(attr_of(&r.g, "red", "to_apply"), "add");
    /* a fusion is a module, its operand flows on, its root comes back */
    uint32_t fus = node_named(&r.g, "fus");
    assert_string_equal(path_of(&r.g, "n"), "fus");
    assert_string_equal(path_of(&r.g, "fus"), "fus");
    assert_int_equal(r.g.node_body[fus], r.g.node_scope[fus]);
    assert_true(r.g.node_flags[fus] & GRAPH_CALL);
    assert_true(has_edge(&r.g, "in", "x", GRAPH_IMPLIED));
    assert_true(has_edge(&r.g, "n", "fus", GRAPH_IMPLIED));
    /* called twice: the second time as copies */
    assert_string_equal(path_of(&r.g, "r1"), "one");
    uint32_t second = GRAPH_NONE;
    for (uint32_t i = 0; i < r.g.n_nodes; i++) {
        if (strcmp(graph_string(&r.g, r.g.node_name[i]), "r1") == 0) {
            second = i;
        }
    }
    assert_true(r.g.node_flags[second] & GRAPH_IMPLIED);
    /* the loop's parts lie where their paths say */
    assert_string_equal(path_of(&r.g, "bn"), "jit(f)/while/body/layer");
    assert_string_equal(path_of(&r.g, "bg"), "jit(f)/while/body/layer");
    assert_string_equal(path_of(&r.g, "cc"), "jit(f)/while/cond");
    assert_string_equal(path_of(&r.g, "w"), "jit(f)/while");
    assert_true(has_edge(&r.g, "tup", "bp", GRAPH_IMPLIED));
    assert_true(has_edge(&r.g, "tup", "cp", GRAPH_IMPLIED));
    assert_string_equal(path_of(&r.g, "dead"), "not called/never");
    assert_int_equal(graph_cyclic_nodes(&r.g), 0);
    forget(&r);
}

static void test_phases(void **state)
{
    (void)state;
    read_graph r = text_graph(
        "HloModule m\nENTRY e {\n"
        " a = f32[] parameter(0), metadata={op_name=\"jit(f)/jit(main)/jvp(Net)/block[axis=('a/b',)]/mul\"}\n"
        " b = f32[] negate(a), metadata={op_name=\"jit(f)/transpose(jvp(Net))/block/mul\"}\n"
        " c = f32[] negate(b), metadata={op_name=\"jit(f)/transpose(jvp())/checkpoint/"
        "rematted_computation/Net/add\"}\n"
        " ROOT d = f32[] negate(c), metadata={op_name=\"((((\"}\n}\n");
    assert_int_equal(r.status, MAREY_OK);
    assert_string_equal(path_of(&r.g, "a"), "jit(f)/Net/block[axis=('a/b',)]");
    assert_string_equal(path_of(&r.g, "b"), "jit(f)/Net/block");
    assert_string_equal(path_of(&r.g, "c"), "jit(f)/Net");
    assert_int_equal(r.g.node_phase[node_named(&r.g, "a")], GRAPH_FORWARD);
    assert_int_equal(r.g.node_phase[node_named(&r.g, "b")], GRAPH_BACKWARD);
    assert_int_equal(r.g.node_phase[node_named(&r.g, "c")], GRAPH_RECOMPUTE);
    assert_int_equal(r.g.node_phase[node_named(&r.g, "d")], GRAPH_PHASE_NONE);
    forget(&r);
}

static void test_many_lines(void **state)
{
    (void)state;
    read_graph r = text_graph("HloModule m\nENTRY e {\n"
                              "  c = f32[2,2] constant({\n    { 1, 2 },\n    { 3, 4 }\n  })\n"
                              "  d = f32[2,2] constant({\n{1, 2},\n{3, 4}\n})\n"
                              "  ROOT n = f32[2,2] add(c, d)\n} // e\n");
    assert_int_equal(r.status, MAREY_OK);
    assert_int_equal(r.d.n_losses, 0);
    assert_int_equal(r.g.n_nodes, 3);
    assert_int_equal(r.g.n_edges, 2);
    forget(&r);
}

/* What only reshapes constants is one; what takes anything else is none. */
static void test_fixed(void **state)
{
    (void)state;
    read_graph r = text_graph("HloModule m\nENTRY e {\n"
                              "  c = f32[] constant(1)\n"
                              "  i = s32[4] iota(), iota_dimension=0\n"
                              "  b = f32[4] broadcast(c), dimensions={}\n"
                              "  v = f32[4] convert(i)\n"
                              "  p = f32[] parameter(0)\n"
                              "  q = f32[4] broadcast(p), dimensions={}\n"
                              "  early = f32[4] reshape(late)\n"
                              "  late = f32[4] constant({1, 2, 3, 4})\n"
                              "  ROOT s = f32[4] add(b, v)\n"
                              "}\n");
    assert_int_equal(r.status, MAREY_OK);
    static const struct {
        const char *name;
        graph_role role;
    } want[] = {{"c", GRAPH_CONSTANT}, {"i", GRAPH_CONSTANT}, {"b", GRAPH_CONSTANT},     {"v", GRAPH_CONSTANT},
                {"p", GRAPH_INPUT},    {"q", GRAPH_OPERATOR}, {"early", GRAPH_OPERATOR}, {"s", GRAPH_OPERATOR}};
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        assert_int_equal(r.g.node_role[node_named(&r.g, want[i].name)], want[i].role);
    }
    forget(&r);
}

static void test_damage(void **state)
{
    (void)state;
    read_graph r = text_graph("HloModule m\nENTRY e {\n"
                              "  a = f32[] parameter(0)\n"
                              "  a = f32[] negate(a)\n"
                              "  this is no instruction\n"
                              "  b = f32[] add(a, nobody)\n"
                              "  u = f32[] add(a, (b\n"
                              "  ROOT c = f32[] call(b), to_apply=missing\n"
                              "}\n");
    assert_int_equal(r.status, MAREY_OK);
    assert_int_equal(diag_lost(&r.d, MAREY_LOSS_DUPLICATE_NAME), 1);
    assert_true(diag_lost(&r.d, MAREY_LOSS_DAMAGED) >= 2);
    assert_true(diag_lost(&r.d, MAREY_LOSS_DANGLING) >= 2);
    assert_int_equal(r.g.n_nodes, 5);
    forget(&r);
    r = text_graph("HloModule m\n");
    assert_int_equal(r.status, MAREY_FORMAT);
    forget(&r);
    r = text_graph("HloModule m\nENTRY e {\n  a = f32[] parameter(0)\n  b = f32[] negate(a");
    assert_int_equal(r.status, MAREY_OK);
    assert_true(diag_lost(&r.d, MAREY_LOSS_TRUNCATED) > 0);
    forget(&r);
}

/* A function that leaves an argument unused still belongs to what applies it as a whole. */
static void test_unused_argument(void **state)
{
    (void)state;
    read_graph r = text_graph("HloModule m\n"
                              "assign {\n  old = f32[] parameter(0)\n  ROOT new = f32[] parameter(1)\n}\n"
                              "ENTRY e {\n  a = f32[4] parameter(0)\n"
                              "  ROOT s = f32[4] scatter(a, a, a), to_apply=assign\n}\n");
    assert_int_equal(r.status, MAREY_OK);
    assert_true(has_edge(&r.g, "old", "s", GRAPH_IMPLIED));
    assert_true(has_edge(&r.g, "new", "s", GRAPH_IMPLIED));
    forget(&r);
}

/* Computations that call themselves and each other, and one that doubles at each level. */
static void test_endless_calls(void **state)
{
    (void)state;
    read_graph r = text_graph("HloModule m\n"
                              "a {\n  ROOT x = f32[] call(), to_apply=b\n}\n"
                              "b {\n  ROOT y = f32[] call(), to_apply=a\n}\n"
                              "ENTRY e {\n  ROOT z = f32[] call(), to_apply=a\n}\n");
    assert_int_equal(r.status, MAREY_OK);
    assert_int_equal(real_nodes(&r.g), 3);
    assert_true(diag_lost(&r.d, MAREY_LOSS_LIMIT) > 0);
    forget(&r);
    strbuf b = {0};
    strbuf_puts(&b, "HloModule m\nc0 {\n ROOT p = f32[] constant(1)\n}\n");
    for (int i = 1; i < 200; i++) {
        strbuf_printf(&b, "c%d {\n u = f32[] call(), to_apply=c%d\n ROOT v = f32[] call(), to_apply=c%d\n}\n", i, i - 1,
                      i - 1);
    }
    strbuf_puts(&b, "ENTRY e {\n ROOT z = f32[] call(), to_apply=c199\n}\n");
    r = text_graph(b.s);
    assert_int_equal(r.status, MAREY_OK);
    assert_int_equal(real_nodes(&r.g), 400);
    assert_true(r.g.n_nodes < 200000);
    assert_true(diag_lost(&r.d, MAREY_LOSS_LIMIT) > 0);
    forget(&r);
    strbuf_deinit(&b);
}

static void test_hostile(void **state)
{
    (void)state;
    strbuf b = {0};
    strbuf_puts(&b, "HloModule m\nENTRY e {\n");
    strbuf_puts(&b, "  wide = f32[] custom-call(");
    for (int i = 0; i < 1671; i++) {
        strbuf_printf(&b, "%sp%d", i ? ", " : "", i);
    }
    strbuf_puts(&b, "), custom_call_target=\"");
    for (int i = 0; i < 1 << 16; i++) {
        strbuf_puts(&b, "0123456789abcdef");
    }
    strbuf_puts(&b, "\", metadata={op_name=\"");
    for (int i = 0; i < 10000; i++) {
        strbuf_puts(&b, "a/");
    }
    strbuf_puts(&b, "x\"}\n  ");
    for (int i = 0; i < 12 * 1024; i++) {
        strbuf_puts(&b, "n");
    }
    strbuf_puts(&b, " = f32[] negate(wide)\n  deep = ");
    for (int i = 0; i < 10000; i++) {
        strbuf_puts(&b, "(");
    }
    strbuf_puts(&b, "\n");
    for (int i = 0; i < 1671; i++) {
        strbuf_printf(&b, "  p%d = f32[] parameter(%d)\n", i, i);
    }
    strbuf_puts(&b, "}\n");
    read_graph r = text_graph(b.s);
    assert_int_equal(r.status, MAREY_OK);
    assert_int_equal(r.g.n_nodes, 1673);
    uint32_t wide = node_named(&r.g, "wide");
    assert_int_equal(r.g.in_first[wide + 1] - r.g.in_first[wide], 1671);
    assert_int_equal(strlen(graph_string(&r.g, r.g.node_name[wide + 1])), 12 * 1024);
    assert_true(strlen(attr_of(&r.g, "wide", "custom_call_target")) < 2000);
    assert_true(graph_depth(&r.g) <= 66);
    forget(&r);
    strbuf_deinit(&b);
}

/* Many brackets that never close: each costs its computation at most, and all together a bounded sum. */
static void test_unclosed(void **state)
{
    (void)state;
    strbuf b = {0};
    strbuf_puts(&b, "HloModule m\nENTRY e {\n");
    for (int i = 0; i < 40000; i++) {
        strbuf_printf(&b, "  i%d = f32[] add((((\n", i);
    }
    strbuf_puts(&b, "}\n");
    read_graph r = text_graph(b.s);
    assert_int_equal(r.status, MAREY_OK);
    assert_int_equal(r.g.n_nodes, 40000);
    assert_int_equal(diag_lost(&r.d, MAREY_LOSS_DAMAGED), 40000);
    forget(&r);
    strbuf_deinit(&b);
}

/* ---- protocol buffers ---- */

static strbuf shape(uint64_t type, uint64_t dim)
{
    strbuf s = {0};
    pbw_int(&s, 2, type);
    if (dim) {
        pbw_int(&s, 3, dim);
    }
    return s;
}

static void add_inst(strbuf *c, const char *name, const char *op, uint64_t id, uint64_t operand, uint64_t call)
{
    strbuf i = {0};
    strbuf s = shape(11, 8);
    strbuf meta = {0};
    pbw_str(&i, 1, name);
    pbw_str(&i, 2, op);
    pbw_message(&i, 3, &s);
    pbw_str(&meta, 2, "jit(f)/jit(main)/layer/x");
    pbw_message(&i, 7, &meta);
    pbw_int(&i, 35, id);
    if (operand) {
        pbw_int(&i, 36, operand);
    }
    if (call) {
        pbw_int(&i, 38, call);
    }
    pbw_message(c, 2, &i);
}

static strbuf module_bytes(void)
{
    strbuf body = {0};
    strbuf entry = {0};
    strbuf m = {0};
    uint64_t high = (uint64_t)7 << 32;
    pbw_str(&body, 1, "fused");
    add_inst(&body, "x", "parameter", 1, 0, 0);
    add_inst(&body, "n", "negate", 2, 1, 0);
    pbw_int(&body, 5, 1);
    pbw_int(&body, 6, 2);
    pbw_str(&entry, 1, "main");
    add_inst(&entry, "in", "parameter", high + 1, 0, 0);
    add_inst(&entry, "fus", "fusion", high + 2, high + 1, 1);
    add_inst(&entry, "lost", "negate", high + 3, 999, 0);
    pbw_int(&entry, 5, 7);
    pbw_int(&entry, 6, high + 2);
    pbw_str(&m, 1, "mod");
    pbw_str(&m, 2, "main");
    pbw_message(&m, 3, &body);
    pbw_message(&m, 3, &entry);
    pbw_int(&m, 6, 7);
    return m;
}

static void test_protobuf(void **state)
{
    (void)state;
    strbuf m = module_bytes();
    for (int containers = 0; containers <= 2; containers++) {
        read_graph r = graph_of(m.s, m.n);
        assert_int_equal(r.status, MAREY_OK);
        assert_string_equal(graph_string(&r.g, r.g.name), "mod");
        assert_int_equal(r.g.n_nodes, 5);
        assert_int_equal(real_edges(&r.g), 2);
        assert_int_equal(diag_lost(&r.d, MAREY_LOSS_DANGLING), 1);
        assert_int_equal(r.g.node_key[node_named(&r.g, "fus")], ((int64_t)7 << 32) + 2);
        assert_string_equal(type_of(&r.g, "fus"), "f32[8]");
        assert_string_equal(path_of(&r.g, "n"), "jit(f)/layer/fus");
        assert_true(has_edge(&r.g, "in", "x", GRAPH_IMPLIED));
        forget(&r);
        strbuf outer = {0};
        pbw_message(&outer, 1, &m);
        m = outer;
    }
    strbuf_deinit(&m);
}

/* XSpace with a device's plane, then that of the programs: two of them, and one that is something else. */
static strbuf profile_bytes(int n_programs)
{
    strbuf space = {0};
    strbuf plane = {0};
    pbw_int(&plane, 1, 1);
    pbw_str(&plane, 2, "/device:GPU:0");
    pbw_message(&space, 1, &plane);
    pbw_str(&plane, 2, "/host:metadata");
    for (int i = 0; i <= n_programs; i++) {
        strbuf m = module_bytes();
        strbuf proto = {0};
        strbuf stat = {0};
        strbuf event = {0};
        strbuf entry = {0};
        pbw_message(&proto, 1, &m);
        pbw_int(&stat, 1, 1);
        pbw_bytes(&stat, 6, i < n_programs ? proto.s : "no program", i < n_programs ? proto.n : 10);
        strbuf_deinit(&proto);
        pbw_int(&event, 1, (uint64_t)i);
        pbw_str(&event, 2, "jit_f(7)");
        pbw_message(&event, 5, &stat);
        pbw_int(&entry, 1, (uint64_t)i);
        pbw_message(&entry, 2, &event);
        pbw_message(&plane, 4, &entry);
    }
    pbw_message(&space, 1, &plane);
    return space;
}

static void test_profile(void **state)
{
    (void)state;
    strbuf two = profile_bytes(2);
    read_graph r = graph_of(two.s, two.n);
    size_t first = 0;
    size_t second = 0;
    assert_int_equal(r.status, MAREY_OK);
    assert_int_equal(r.g.n_nodes, 2 * 5);
    assert_int_equal(real_edges(&r.g), 2 * 2);
    for (uint32_t i = 0; i < r.g.n_nodes; i++) {
        uint32_t top = r.g.node_scope[i];
        while (r.g.scope_parent[top] != 0) {
            top = r.g.scope_parent[top];
        }
        first += strcmp(graph_string(&r.g, r.g.scope_name[top]), "jit_f(7)") == 0;
        second += strcmp(graph_string(&r.g, r.g.scope_name[top]), "jit_f(7) (2)") == 0;
    }
    assert_true(first == 5 && second == 5);
    forget(&r);
    for (size_t n = 0; n < two.n; n++) {
        char *copy = malloc(n + 1);
        memcpy(copy, two.s, n);
        r = graph_of(copy, n);
        forget(&r);
        free(copy);
    }
    strbuf_deinit(&two);
    strbuf none = profile_bytes(0);
    r = graph_of(none.s, none.n);
    assert_int_equal(r.status, MAREY_UNSUPPORTED);
    assert_non_null(strstr(r.d.messages[0].text, "no program"));
    forget(&r);
    strbuf_deinit(&none);
}

/* Every cut and every flipped byte: an answer, and one that holds together. */
static void test_protobuf_damage(void **state)
{
    (void)state;
    strbuf m = module_bytes();
    for (size_t n = 0; n < m.n; n++) {
        char *copy = malloc(n + 1);
        memcpy(copy, m.s, n);
        read_graph r = graph_of(copy, n);
        bool whole = r.status == MAREY_OK && r.g.n_nodes == 5;
        assert_true(whole || r.d.n_losses > 0 || r.d.n_messages > 0);
        forget(&r);
        free(copy);
    }
    for (size_t i = 0; i < m.n * 8; i++) {
        m.s[i / 8] = (char)(m.s[i / 8] ^ (1 << i % 8));
        read_graph r = graph_of(m.s, m.n);
        forget(&r);
        m.s[i / 8] = (char)(m.s[i / 8] ^ (1 << i % 8));
    }
    strbuf_deinit(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_instructions),   cmocka_unit_test(test_calls),
                                       cmocka_unit_test(test_phases),         cmocka_unit_test(test_many_lines),
                                       cmocka_unit_test(test_fixed),          cmocka_unit_test(test_unused_argument),
                                       cmocka_unit_test(test_damage),         cmocka_unit_test(test_endless_calls),
                                       cmocka_unit_test(test_hostile),        cmocka_unit_test(test_unclosed),
                                       cmocka_unit_test(test_protobuf),       cmocka_unit_test(test_profile),
                                       cmocka_unit_test(test_protobuf_damage)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
