/*
 * TensorFlow: the same graph as GraphDef, meta graph, SavedModel, event file, text and JSON; data and control edges
 * with their slots; scopes from names, and nodes that have the name of a scope; output types; functions as bodies once
 * per call, bounded, never endless, those that nobody calls in a module of their own; several graphs of a SavedModel as
 * modules, each with a library of its own; cycles and loops are fine; what is cut or damaged keeps what is complete,
 * and is counted.
 */
#include "cm.h"

#include "help/graph_read.h"
#include "help/pb_write.h"
#include "parse/tfrecord.h"

static void add_type_attr(strbuf *n, const char *key, uint64_t type)
{
    strbuf value = {0};
    strbuf entry = {0};
    pbw_int(&value, 6, type);
    pbw_str(&entry, 1, key);
    pbw_message(&entry, 2, &value);
    pbw_message(n, 5, &entry);
}

static void add_function_attr(strbuf *n, const char *key, const char *function)
{
    strbuf func = {0};
    strbuf value = {0};
    strbuf entry = {0};
    pbw_str(&func, 1, function);
    pbw_message(&value, 10, &func);
    pbw_str(&entry, 1, key);
    pbw_message(&entry, 2, &value);
    pbw_message(n, 5, &entry);
}

/* "a b ^c" -> inputs */
static strbuf node(const char *name, const char *op, const char *inputs)
{
    strbuf b = {0};
    pbw_str(&b, 1, name);
    pbw_str(&b, 2, op);
    while (*inputs) {
        size_t n = strcspn(inputs, " ");
        pbw_bytes(&b, 3, inputs, n);
        inputs += n + (inputs[n] == ' ');
    }
    return b;
}

static void add_node(strbuf *g, uint32_t field, const char *name, const char *op, const char *inputs)
{
    strbuf n = node(name, op, inputs);
    add_type_attr(&n, "T", 1);
    pbw_message(g, field, &n);
}

static strbuf small_graph(void)
{
    strbuf g = {0};
    add_node(&g, 1, "net/dense/w", "VariableV2", "");
    add_node(&g, 1, "net/dense/MatMul", "MatMul", "x net/dense/w ^init");
    add_node(&g, 1, "x", "Placeholder", "");
    add_node(&g, 1, "net/dense", "Identity", "net/dense/split:2");
    add_node(&g, 1, "net/dense/split", "Split", "net/dense/MatMul:0");
    add_node(&g, 1, "init", "NoOp", "");
    return g;
}

static void check_small(read_graph *r)
{
    assert_int_equal(r->status, MAREY_OK);
    assert_int_equal(r->d.n_losses, 0);
    const graph *g = &r->g;
    assert_string_equal(graph_string(g, g->format), "tensorflow");
    assert_int_equal(g->n_nodes, 6);
    assert_int_equal(g->n_edges, 5);
    assert_int_equal(g->n_control_edges, 1);
    assert_int_equal(g->n_implied_nodes + g->n_implied_edges, 0);
    assert_true(has_edge(g, "init", "net/dense/MatMul", GRAPH_CONTROL));
    assert_true(has_edge(g, "net/dense/split", "net/dense", 0));
    uint32_t e = g->in_first[node_named(g, "net/dense")];
    assert_int_equal(g->edge_from_slot[e], 2);
    assert_string_equal(path_of(g, "net/dense"), "net/dense"); /* a node with the name of a scope lies in it */
    assert_string_equal(path_of(g, "net/dense/MatMul"), "net/dense");
    assert_string_equal(path_of(g, "x"), "");
    assert_int_equal(g->node_role[node_named(g, "net/dense/w")], GRAPH_PARAMETER);
    assert_int_equal(g->node_role[node_named(g, "x")], GRAPH_INPUT);
    assert_string_equal(attr_of(g, "net/dense/MatMul", "T"), "f32");
    forget(r);
}

static strbuf meta_of(strbuf *g)
{
    strbuf meta = {0};
    strbuf info = {0};
    pbw_str(&info, 4, "serve");
    pbw_str(&info, 5, "2.99");
    pbw_message(&meta, 1, &info);
    pbw_message(&meta, 2, g);
    return meta;
}

static void add_record(strbuf *file, strbuf *event)
{
    char head[12];
    uint64_t n = event->n;
    memcpy(head, &n, 8);
    uint32_t crc = tfrecord_crc(head, 8);
    memcpy(head + 8, &crc, 4);
    strbuf_add(file, head, 12);
    strbuf_add(file, event->s, event->n);
    crc = tfrecord_crc(event->s, event->n);
    strbuf_add(file, (const char *)&crc, 4);
    strbuf_deinit(event);
}

static void containers(void **state)
{
    (void)state;
    strbuf g = small_graph();
    read_graph r = graph_of(g.s, g.n);
    check_small(&r);
    strbuf meta = meta_of(&g);
    r = graph_of(meta.s, meta.n);
    assert_string_equal(graph_string(&r.g, r.g.producer), "TensorFlow 2.99");
    assert_string_equal(graph_string(&r.g, r.g.name), "serve");
    check_small(&r);
    strbuf saved = {0};
    pbw_int(&saved, 1, 1);
    pbw_message(&saved, 2, &meta);
    r = graph_of(saved.s, saved.n);
    check_small(&r);
    strbuf_deinit(&saved);
}

/* FunctionDef {signature {name, input_arg x, output_arg y}, nodes, ret y -> `from`}. */
static void add_function(strbuf *library, const char *name, strbuf *nodes, const char *from)
{
    strbuf f = {0};
    strbuf signature = {0};
    strbuf arg = {0};
    strbuf ret = {0};
    pbw_str(&signature, 1, name);
    pbw_str(&arg, 1, "x");
    pbw_int(&arg, 3, 1);
    pbw_message(&signature, 2, &arg);
    pbw_str(&arg, 1, "y");
    pbw_message(&signature, 3, &arg);
    pbw_message(&f, 1, &signature);
    strbuf_add(&f, nodes->s, nodes->n);
    strbuf_deinit(nodes);
    pbw_str(&ret, 1, "y");
    pbw_str(&ret, 2, from);
    pbw_message(&f, 4, &ret);
    pbw_message(library, 1, &f);
}

static void several_graphs(void **state)
{
    (void)state;
    strbuf saved = {0};
    pbw_int(&saved, 1, 1);
    for (int i = 0; i < 3; i++) { /* two of one tag */
        strbuf g = {0};
        strbuf library = {0};
        strbuf nodes = {0};
        add_node(&g, 1, "x", "Placeholder", "");
        add_node(&g, 1, "net/y", i == 1 ? "Relu" : "own", "x");
        add_node(&nodes, 3, "z", i == 0 ? "Abs" : "Neg", "x");
        add_function(&library, "own", &nodes, "z:y:0"); /* one name, three functions */
        pbw_message(&g, 2, &library);
        strbuf meta = {0};
        strbuf info = {0};
        pbw_str(&info, 4, i == 1 ? "train" : "serve");
        pbw_message(&meta, 1, &info);
        pbw_message(&meta, 2, &g);
        pbw_message(&saved, 2, &meta);
    }
    read_graph r = graph_of(saved.s, saved.n);
    static const char *const modules[3] = {"serve", "train", "serve (2)"};
    size_t n[3] = {0};
    size_t n_abs = 0;
    assert_int_equal(r.status, MAREY_OK);
    assert_int_equal(real_nodes(&r.g), 3 * 3);
    for (uint32_t i = 0; i < r.g.n_nodes; i++) {
        uint32_t top = r.g.node_scope[i];
        while (r.g.scope_parent[top] != 0) {
            top = r.g.scope_parent[top];
        }
        bool real = !(r.g.node_flags[i] & GRAPH_IMPLIED);
        for (int k = 0; k < 3; k++) {
            n[k] += real && strcmp(graph_string(&r.g, r.g.scope_name[top]), modules[k]) == 0;
        }
        n_abs += strcmp(graph_string(&r.g, r.g.node_op[i]), "Abs") == 0;
    }
    assert_true(n[0] == 3 && n[1] == 3 && n[2] == 3 && n_abs == 1);
    for (size_t e = 0; e < r.g.n_edges; e++) { /* names of one graph mean nothing in another */
        uint32_t a = r.g.node_scope[r.g.edge_from[e]];
        uint32_t b = r.g.node_scope[r.g.edge_to[e]];
        while (r.g.scope_parent[a] != 0) {
            a = r.g.scope_parent[a];
        }
        while (r.g.scope_parent[b] != 0) {
            b = r.g.scope_parent[b];
        }
        assert_int_equal(a, b);
    }
    forget(&r);
    strbuf_deinit(&saved);
}

static strbuf event_file(void)
{
    strbuf file = {0};
    strbuf event = {0};
    pbw_double(&event, 1, 1e9);
    pbw_str(&event, 3, "brain.Event:2");
    add_record(&file, &event);
    strbuf g = small_graph();
    pbw_double(&event, 1, 1e9);
    pbw_message(&event, 4, &g);
    add_record(&file, &event);
    return file;
}

static void events(void **state)
{
    (void)state;
    assert_int_equal(tfrecord_crc("123456789", 9), ((0xE3069283U >> 15 | 0xE3069283U << 17) + 0xa282ead8U));
    strbuf file = event_file();
    read_graph r = graph_of(file.s, file.n);
    check_small(&r);
    file.s[file.n - 30] ^= 1; /* inside the graph */
    r = graph_of(file.s, file.n);
    assert_int_equal(diag_lost(&r.d, MAREY_LOSS_BAD_CHECKSUM), 1);
    forget(&r);
    r = graph_of(file.s, file.n - 40); /* the graph's record is cut */
    assert_int_equal(r.status, MAREY_FORMAT);
    assert_int_equal(diag_lost(&r.d, MAREY_LOSS_TRUNCATED), 1);
    forget(&r);
    strbuf_deinit(&file);
}

static void text_and_json(void **state)
{
    (void)state;
    const char *text = "# made by hand\n"
                       "node { name: \"net/dense/w\" op: \"VariableV2\" }\n"
                       "node { name: \"net/dense/MatMul\" op: \"MatMul\" input: \"x\" input: \"net/dense/w\"\n"
                       "  input: \"^init\" attr { key: \"T\" value { type: DT_FLOAT } } unknown { a: [1] } }\n"
                       "node < name: 'x' op: 'Placeholder' >\n"
                       "node { name: \"net/dense\" op: \"Identity\" input: [\"net/dense/split:2\"] }\n"
                       "node { name: \"net/dense/split\" op: \"Split\" input: \"net/dense/MatMul\" }\n"
                       "node { name: \"init\" op: \"NoOp\" }\n";
    read_graph r = graph_of(text, strlen(text));
    check_small(&r);
    r = graph_of(text, strlen(text) - 20);
    assert_int_equal(r.status, MAREY_OK);
    assert_int_equal(diag_lost(&r.d, MAREY_LOSS_TRUNCATED), 1);
    forget(&r);
    const char *json =
        "{\"format\": \"graph-model\", \"modelTopology\": {\"node\": ["
        "{\"name\": \"net/dense/w\", \"op\": \"VariableV2\"},"
        "{\"name\": \"net/dense/MatMul\", \"op\": \"MatMul\", \"input\": [\"x\", \"net/dense/w\", \"^init\"],"
        " \"attr\": {\"T\": {\"type\": \"DT_FLOAT\"}, \"f\": {\"s\": \"TkhXQw==\"}}},"
        "{\"name\": \"x\", \"op\": \"Placeholder\", \"attr\": {\"shape\": {\"shape\": {\"dim\": "
        "[{\"size\": \"-1\"}, {\"size\": 3}]}}, \"dtype\": {\"type\": \"DT_INT32\"}}},"
        "{\"name\": \"net/dense\", \"op\": \"Identity\", \"input\": [\"net/dense/split:2\"]},"
        "{\"name\": \"net/dense/split\", \"op\": \"Split\", \"input\": [\"net/dense/MatMul\"]},"
        "{\"name\": \"init\", \"op\": \"NoOp\"}]}, \"weightsManifest\": []}";
    r = graph_of(json, strlen(json));
    assert_string_equal(attr_of(&r.g, "net/dense/MatMul", "f"), "NHWC");
    assert_string_equal(type_of(&r.g, "x"), "i32[?,3]");
    check_small(&r);
    const char *layers = "{\"format\": \"layers-model\", \"modelTopology\": {\"model_config\": {}}}";
    r = graph_of(layers, strlen(layers));
    assert_int_equal(r.status, MAREY_UNSUPPORTED);
    forget(&r);
}

static void functions(void **state)
{
    (void)state;
    strbuf g = {0};
    strbuf library = {0};
    strbuf nodes = {0};
    add_node(&nodes, 3, "inner/mul", "Mul", "x x");
    add_node(&nodes, 3, "out", "Identity", "inner/mul:z:0");
    add_function(&library, "square", &nodes, "out:output:0");
    strbuf call = node("deep", "PartitionedCall", "x");
    add_function_attr(&call, "f", "square");
    pbw_message(&nodes, 3, &call);
    add_function(&library, "outer", &nodes, "deep:output:0");
    add_node(&nodes, 3, "idle", "NoOp", "");
    add_function(&library, "unused", &nodes, "idle");
    add_node(&g, 1, "src", "Placeholder", "");
    add_node(&g, 1, "first", "outer", "src"); /* called by its name */
    call = node("part/second", "StatefulPartitionedCall", "first ^src");
    add_function_attr(&call, "f", "square");
    pbw_message(&g, 1, &call);
    call = node("loop", "While", "part/second");
    add_function_attr(&call, "cond", "square");
    add_function_attr(&call, "body", "square");
    pbw_message(&g, 1, &call);
    pbw_message(&g, 2, &library);
    read_graph r = graph_of(g.s, g.n);
    assert_int_equal(r.status, MAREY_OK);
    assert_int_equal(r.d.n_losses, 0);
    assert_int_equal(r.d.n_messages, 1); /* one function is not called */
    assert_int_equal(real_nodes(&r.g), 4 + (1 + 2) + 2 + 2 * 2 + 1);
    assert_string_equal(path_of(&r.g, "idle"), "not called/unused");
    assert_true(has_edge(&r.g, "src", "first", 0));
    assert_true(has_edge(&r.g, "src", "x", GRAPH_IMPLIED) && has_edge(&r.g, "first", "x", GRAPH_IMPLIED));
    assert_true(has_edge(&r.g, "y", "loop", GRAPH_IMPLIED));
    assert_true(has_edge(&r.g, "inner/mul", "out", 0));
    uint32_t loop = node_named(&r.g, "loop");
    uint32_t body = r.g.node_body[loop];
    assert_true(r.g.node_flags[loop] & GRAPH_CALL);
    assert_string_equal(graph_string(&r.g, r.g.scope_name[body]), "loop cond");
    assert_string_equal(graph_string(&r.g, r.g.scope_name[body + 1]), "loop body");
    assert_string_equal(graph_string(&r.g, r.g.scope_class[body]), "square");
    uint32_t second = r.g.node_body[node_named(&r.g, "part/second")];
    assert_string_equal(graph_string(&r.g, r.g.scope_name[second]), "second");
    assert_int_equal(r.g.scope_parent[second], r.g.node_scope[node_named(&r.g, "part/second")]);
    forget(&r);
    strbuf_deinit(&g);
}

static void endless_functions(void **state)
{
    (void)state;
    strbuf g = {0};
    strbuf library = {0};
    strbuf nodes = {0};
    add_node(&nodes, 3, "again", "self", "x");
    add_function(&library, "self", &nodes, "again");
    for (int i = 0; i < 300; i++) {
        char name[16];
        char next[16];
        (void)snprintf(name, sizeof name, "f%d", i);
        (void)snprintf(next, sizeof next, "f%d", i + 1);
        add_node(&nodes, 3, "l", next, "x");
        add_node(&nodes, 3, "r", i < 18 ? next : "NoOp", "l");
        add_function(&library, name, &nodes, "r");
    }
    add_node(&g, 1, "a", "self", "");
    add_node(&g, 1, "b", "f0", "");
    pbw_message(&g, 2, &library);
    read_graph r = graph_of(g.s, g.n);
    assert_int_equal(r.status, MAREY_OK);
    assert_true(diag_lost(&r.d, MAREY_LOSS_LIMIT) > 2);
    assert_true(real_nodes(&r.g) < 1100000);
    forget(&r);
    strbuf_deinit(&g);
}

static void library_alone(void **state)
{
    (void)state;
    strbuf g = {0};
    strbuf library = {0};
    strbuf nodes = {0};
    add_node(&nodes, 3, "n", "Neg", "x");
    add_function(&library, "f", &nodes, "n:y:0");
    pbw_message(&g, 2, &library);
    read_graph r = graph_of(g.s, g.n);
    assert_int_equal(r.status, MAREY_OK);
    assert_string_equal(path_of(&r.g, "n"), "f");
    forget(&r);
    strbuf_deinit(&g);
}

static void damage(void **state)
{
    (void)state;
    strbuf g = {0};
    add_node(&g, 1, "a", "NextIteration", "b nobody ^nobody:1");
    add_node(&g, 1, "b", "Merge", "a b");
    add_node(&g, 1, "a", "Add", "");
    read_graph r = graph_of(g.s, g.n);
    assert_int_equal(r.status, MAREY_OK);
    assert_int_equal(diag_lost(&r.d, MAREY_LOSS_DANGLING), 2);
    assert_int_equal(diag_lost(&r.d, MAREY_LOSS_DUPLICATE_NAME), 1);
    assert_int_equal(diag_lost(&r.d, MAREY_LOSS_SELF_LOOP), 1);
    assert_int_equal(r.g.n_edges, 3);
    assert_int_equal(graph_cyclic_nodes(&r.g), 2);
    forget(&r);
    strbuf_deinit(&g);
    g = small_graph();
    strbuf meta = meta_of(&g);
    for (size_t n = 0; n < meta.n; n++) {
        r = graph_of(meta.s, n);
        assert_true(r.status != MAREY_OK || diag_lost(&r.d, MAREY_LOSS_TRUNCATED) == 1);
        forget(&r);
    }
    strbuf_deinit(&meta);
}

static void long_paths(void **state)
{
    (void)state;
    strbuf g = {0};
    strbuf name = {0};
    for (int i = 0; i < 6000; i++) {
        strbuf_puts(&name, "a/");
    }
    add_node(&g, 1, name.s, "NoOp", "");
    read_graph r = graph_of(g.s, g.n);
    assert_int_equal(r.status, MAREY_OK);
    assert_int_equal(graph_depth(&r.g), 64);
    forget(&r);
    strbuf_deinit(&g);
    strbuf_deinit(&name);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(containers),    cmocka_unit_test(several_graphs), cmocka_unit_test(events),
        cmocka_unit_test(text_and_json), cmocka_unit_test(functions),      cmocka_unit_test(endless_functions),
        cmocka_unit_test(library_alone), cmocka_unit_test(damage),         cmocka_unit_test(long_paths),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
