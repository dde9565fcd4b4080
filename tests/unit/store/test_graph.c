/*
 * The computational graph in the file: what is written comes back column by column; a file without one says so; a
 * graph whose columns do not hold together is refused when written, and when the file was changed behind our back; a
 * second graph is refused; h5py's view of the file (the datasets) has the shapes that the schema says.
 */
#include <hdf5.h>
#include <string.h>

#include "cm.h"
#include "help/store_run.h"

#include "graph/builder.h"
#include "store/store.h"
#include "temporary_dir.h"

static char dir[256];
static char path[512];

static uint32_t add_node(graph_builder *b, const char *name, const char *op, uint32_t scope, int32_t stage,
                         uint8_t flags)
{
    graph_node_in n = {.name = name,
                       .n_name = strlen(name),
                       .op = op,
                       .n_op = strlen(op),
                       .scope = scope,
                       .key = 7,
                       .stage = stage,
                       .phase = GRAPH_FORWARD,
                       .flags = flags};
    return graph_builder_node(b, &n);
}

/* Two stages, a branch, a parameter that the input has not as a node, one long attribute. */
static void make(graph *g)
{
    graph_builder *b = graph_builder_create(NULL, 0);
    graph_builder_facts(b, "onnx", "small", "by hand");
    const uint32_t ranks[2] = {0, 1};
    graph_builder_stage(b, 0, ranks, 1);
    graph_builder_stage(b, 3, ranks + 1, 1);
    uint32_t scope = graph_builder_path(b, 0, "model/layer.0", 13, '/');
    graph_builder_scope_class(b, scope, "Layer", 5);
    uint32_t w = add_node(b, "weight", "Parameter", scope, 0, GRAPH_IMPLIED);
    uint32_t x = add_node(b, "model/layer.0/MatMul", "MatMul", scope, 0, 0);
    uint32_t y = add_node(b, "model/layer.0/Send", "Send", scope, 0, 0);
    uint32_t z = add_node(b, "out", "Relu", 0, 3, 0);
    graph_builder_edge(b, w, 0, x, 1, GRAPH_IMPLIED);
    graph_builder_edge(b, x, 0, y, 0, 0);
    graph_builder_edge(b, x, 1, z, 2, GRAPH_CONTROL);
    graph_builder_edge(b, x, 0, z, 70000, 0);
    graph_builder_output(b, x, "f32[2,3]", 8, 24);
    graph_builder_attr(b, y, "dest_rank", 9, "1", 1);
    graph_builder_sharding(b, x, "((2,1),(1,4))", 13);
    graph_finish_options o = {0};
    assert_int_equal(graph_builder_finish(b, &o, g), MAREY_OK);
    graph_builder_destroy(&b);
    assert_null(graph_check(g));
}

static marey_status write_file(const graph *g, unsigned times)
{
    store_writer *w = NULL;
    trace_model m;
    trace_model_init(&m);
    m.name = "graph";
    marey_status status = store_writer_create(&w, path, NULL, NULL);
    for (unsigned i = 0; i < times && status == MAREY_OK; i++) {
        status = store_writer_graph(w, g, NULL);
    }
    if (status == MAREY_OK) {
        status = store_writer_finish(w, &m, NULL);
    }
    store_writer_destroy(&w);
    trace_model_deinit(&m);
    return status;
}

#define ASSERT_COLUMN(a, b, field, n) assert_memory_equal((a)->field, (b)->field, (n) * sizeof *(a)->field)

static void comes_back(void **state)
{
    (void)state;
    graph g = {0};
    graph r = {0};
    make(&g);
    assert_int_equal(write_file(&g, 1), MAREY_OK);
    store_file *f = NULL;
    assert_int_equal(store_open(&f, path, NULL), MAREY_OK);
    assert_true(store_has_graph(f));
    assert_int_equal(store_read_graph(f, &r, NULL), MAREY_OK);
    assert_int_equal(r.n_nodes, g.n_nodes);
    assert_int_equal(r.n_edges, g.n_edges);
    assert_int_equal(r.n_scopes, g.n_scopes);
    assert_int_equal(r.n_implied_nodes, 1);
    assert_int_equal(r.n_control_edges, 1);
    ASSERT_COLUMN(&r, &g, node_key, g.n_nodes);
    ASSERT_COLUMN(&r, &g, node_stage, g.n_nodes);
    ASSERT_COLUMN(&r, &g, node_flags, g.n_nodes);
    ASSERT_COLUMN(&r, &g, edge_from, g.n_edges);
    ASSERT_COLUMN(&r, &g, edge_to_slot, g.n_edges);
    ASSERT_COLUMN(&r, &g, from_edge, g.n_edges);
    ASSERT_COLUMN(&r, &g, scope_parent, g.n_scopes);
    for (uint32_t i = 0; i < g.n_nodes; i++) {
        assert_string_equal(graph_string(&r, r.node_name[i]), graph_string(&g, g.node_name[i]));
        assert_string_equal(graph_string(&r, r.node_op[i]), graph_string(&g, g.node_op[i]));
    }
    uint32_t slices[4];
    assert_int_equal(graph_sharding(&r, 1, 1, slices, 4), 2);
    assert_int_equal(slices[1], 4);
    assert_int_equal(r.n_stages, 2);
    assert_int_equal(r.stages[1].stage, 3);
    assert_int_equal(r.stage_ranks[r.stages[1].first_rank], 1);
    assert_string_equal(graph_string(&r, r.format), "onnx");
    assert_string_equal(graph_attr(&r, 2, "dest_rank"), "1");
    store_close(&f);
    graph_deinit(&r);
    graph_deinit(&g);
}

/* What no node has is in the file as such, and comes back as no column. */
static void columns_stay_away(void **state)
{
    (void)state;
    graph_builder *b = graph_builder_create(NULL, 0);
    for (uint32_t i = 0; i < 70000; i++) { /* more than one batch */
        graph_node_in n = {"n", "Add", 1, 3, 0, -1, -1, GRAPH_OPERATOR, GRAPH_FORWARD, 0};
        (void)graph_builder_node(b, &n);
        graph_builder_output(b, i, i % 2 ? "f32[2]" : "f32[4]", 6, i % 2 ? 8 : 16);
    }
    for (int late = 0; late < 2; late++) {
        graph g = {0};
        graph r = {0};
        if (late) {
            b = graph_builder_create(NULL, 0);
            for (uint32_t i = 0; i < 70000; i++) {
                graph_node_in n = {
                    "n", "Add", 1, 3, 0, i == 69999 ? 5 : -1, i == 69998 ? 2 : -1, GRAPH_OPERATOR, GRAPH_FORWARD, 0};
                (void)graph_builder_node(b, &n);
            }
        }
        graph_finish_options o = {0};
        assert_int_equal(graph_builder_finish(b, &o, &g), MAREY_OK);
        graph_builder_destroy(&b);
        assert_int_equal(write_file(&g, 1), MAREY_OK);
        store_file *f = NULL;
        assert_int_equal(store_open(&f, path, NULL), MAREY_OK);
        assert_int_equal(store_read_graph(f, &r, NULL), MAREY_OK);
        assert_null(r.node_body);
        assert_null(r.node_sharding);
        assert_null(r.attr_first);
        assert_true((r.node_key != NULL) == late && (r.node_stage != NULL) == late);
        assert_int_equal(r.n_tensors, late ? 0 : 2);
        for (uint32_t i = 0; i < r.n_nodes; i++) {
            assert_true(graph_key_of(&r, i) == graph_key_of(&g, i));
            assert_int_equal(graph_stage_of(&r, i), graph_stage_of(&g, i));
            assert_true(late || graph_out_bytes(&r, i) == graph_out_bytes(&g, i));
        }
        store_close(&f);
        graph_deinit(&r);
        graph_deinit(&g);
    }
}

static void none_and_twice(void **state)
{
    (void)state;
    graph g = {0};
    make(&g);
    assert_int_equal(write_file(&g, 2), MAREY_STATE);
    assert_int_equal(write_file(&g, 0), MAREY_OK);
    store_file *f = NULL;
    assert_int_equal(store_open(&f, path, NULL), MAREY_OK);
    assert_false(store_has_graph(f));
    graph r = {0};
    assert_int_equal(store_read_graph(f, &r, NULL), MAREY_FORMAT);
    store_close(&f);
    g.edge_to[0] = 99;
    assert_int_equal(write_file(&g, 1), MAREY_ARG);
    graph_deinit(&g);
}

static void set_first(const char *dataset, uint32_t value)
{
    hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
    hid_t d = H5Dopen2(file, dataset, H5P_DEFAULT);
    hid_t space = H5Dget_space(d);
    hsize_t n = 0;
    assert_int_equal(H5Sget_simple_extent_dims(space, &n, NULL), 1);
    uint32_t *all = mem_alloc((size_t)n * sizeof *all);
    assert_true(H5Dread(d, H5T_NATIVE_UINT32, H5S_ALL, H5S_ALL, H5P_DEFAULT, all) >= 0);
    all[0] = value;
    assert_true(H5Dwrite(d, H5T_NATIVE_UINT32, H5S_ALL, H5S_ALL, H5P_DEFAULT, all) >= 0);
    free(all);
    (void)H5Sclose(space);
    (void)H5Dclose(d);
    (void)H5Fclose(file);
}

static void changed_behind_our_back(void **state)
{
    (void)state;
    static const char *const columns[] = {"/graph/edges/to",           "/graph/edges/from", "/graph/nodes/scope",
                                          "/graph/nodes/first_output", "/graph/nodes/name", "/graph/scopes/parent",
                                          "/graph/stages/first_rank",  "/graph/nodes/body", "/graph/attributes/key"};
    graph g = {0};
    make(&g);
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        assert_int_equal(write_file(&g, 1), MAREY_OK);
        set_first(columns[i], 1000000);
        store_file *f = NULL;
        graph r = {0};
        assert_int_equal(store_open(&f, path, NULL), MAREY_OK);
        marey_status status = store_read_graph(f, &r, NULL);
        if (status != MAREY_FORMAT) {
            fail_msg("%s: %s", columns[i], marey_status_text(status));
        }
        store_close(&f);
    }
    graph_deinit(&g);
}

static int begin(void **state)
{
    (void)state;
    temporary_dir(dir, sizeof dir);
    (void)snprintf(path, sizeof path, "%s/g.h5", dir);
    return 0;
}

static int end(void **state)
{
    (void)state;
    remove_dir(dir);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(comes_back),
        cmocka_unit_test(columns_stay_away),
        cmocka_unit_test(none_and_twice),
        cmocka_unit_test(changed_behind_our_back),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
