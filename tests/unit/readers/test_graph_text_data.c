/*
 * Real graph files, where they are at hand (HLO, MLIR, DOT, Model Explorer, execution traces): as many nodes and edges
 * as expect_graph.py counts in the same files by other means, scopes likewise; no record lost; known counts are met; a
 * file cut anywhere keeps what came before, and says so.
 */
#include "cm.h"

#include "base/file.h"
#include "help/graph_read.h"

static char shared[512];

typedef struct counts {
    size_t nodes, edges, scopes;
} counts;

static counts expected(const char *format, const char *path)
{
    const char *source = getenv("MAREY_SOURCE_DIR");
    strbuf b = {0};
    counts c = {0};
    strbuf_printf(&b, "python3 '%s/tests/unit/readers/expect_graph.py' %s '%s/data/%s'", source ? source : ".", format,
                  shared, path);
    FILE *f = popen(b.s, "r");
    assert_non_null(f);
    assert_int_equal(fscanf(f, "nodes %zu edges %zu scopes %zu", &c.nodes, &c.edges, &c.scopes), 3);
    assert_int_equal(pclose(f), 0);
    strbuf_deinit(&b);
    return c;
}

static read_graph read_file(const char *path)
{
    read_graph r;
    graph_finish_options options = {0};
    char full[1024];
    (void)snprintf(full, sizeof full, "%s/data/%s", shared, path);
    diag_init(&r.d);
    r.status = graph_read_file(full, &options, &r.g, &r.d);
    for (size_t i = 0; i < r.d.n_messages; i++) {
        print_message("%s: %s\n", path, r.d.messages[i].text);
    }
    assert_int_equal(r.status, MAREY_OK);
    assert_null(graph_check(&r.g));
    return r;
}

/* Edges that the input states: into its own nodes, from them or from arguments that are nodes of ours; but not what
 * only keeps an unused argument of a reduction's function with the reduction. */
static size_t stated_edges(const graph *g)
{
    size_t n = 0;
    for (size_t e = 0; e < g->n_edges; e++) {
        bool to = g->node_flags[g->edge_to[e]] & GRAPH_IMPLIED;
        bool from = g->node_flags[g->edge_from[e]] & GRAPH_IMPLIED;
        bool kept =
            from && g->node_role[g->edge_from[e]] == GRAPH_CONSTANT && g->node_role[g->edge_to[e]] != GRAPH_CONSTANT;
        n += !to && !kept && (!(g->edge_flags[e] & GRAPH_IMPLIED) || from);
    }
    return n;
}

static void same(const char *format, const char *path, bool all_scopes)
{
    counts want = expected(format, path);
    read_graph r = read_file(path);
    print_message("%s: %zu nodes, %zu edges, %zu scopes\n", path, real_nodes(&r.g), stated_edges(&r.g),
                  r.g.n_scopes - 1);
    assert_int_equal(real_nodes(&r.g), want.nodes);
    if (strcmp(format, "mlir") == 0) {
        assert_int_equal(stated_edges(&r.g), want.edges);
    } else {
        assert_int_equal(real_edges(&r.g), want.edges);
    }
    if (all_scopes) {
        assert_int_equal(r.g.n_scopes - 1, want.scopes);
    } else {
        assert_true(r.g.n_scopes - 1 >= want.scopes);
    }
    assert_int_equal(r.d.n_losses, 0);
    assert_int_equal(graph_cyclic_nodes(&r.g), 0);
    forget(&r);
}

static void test_hlo(void **state)
{
    (void)state;
    same("hlo", "graphs/hlo/gemma2_2b_keras_jax.hlo.gz", false);
    same("hlo", "graphs/hlo/hlo_mixtral_8x7b_bf16_1x8.hlo.gz", false);
    same("hlo", "graphs/hlo/mobilenet_v2.hlo", false);
    same("hlo", "graphs/hlo/resnet50_keras_jax_f32.hlo", false);
}

/* Known of the files before there was a reader. */
static void test_known(void **state)
{
    (void)state;
    read_graph r = read_file("graphs/hlo/hlo_mixtral_8x7b_bf16_1x8.hlo.gz");
    assert_int_equal(real_nodes(&r.g), 45240);
    forget(&r);
    r = read_file("graphs/mlir/qwen_3_32b_shlo.mlir.gz");
    assert_int_equal(real_nodes(&r.g), 11668);
    forget(&r);
    r = read_file("graphs/dot/tf_quantized_w_sym_ch_a_asym_t_mask_rcnn.dot.gz");
    assert_int_equal(real_nodes(&r.g), 20689);
    assert_int_equal(r.g.n_scopes - 1, 5391);
    forget(&r);
    r = read_file("graphs/hlo/934987a2fc2f_jit_loss_fn_17.hlo.pb");
    assert_int_equal(real_nodes(&r.g), 151);
    assert_int_equal(r.d.n_losses, 0);
    forget(&r);
    r = read_file("graphs/hlo/tw003_jit__normal_11.hlo.pb");
    assert_int_equal(real_nodes(&r.g), 298);
    assert_int_equal(r.d.n_losses, 0);
    forget(&r);
}

static void test_mlir(void **state)
{
    (void)state;
    same("mlir", "graphs/mlir/qwen_3_32b_shlo.mlir.gz", false);
    same("mlir", "graphs/mlir/r18_loc.mlir", false);
    same("mlir", "graphs/mlir/stablehlo_sin.mlir", false);
}

static void test_dot(void **state)
{
    (void)state;
    same("dot", "graphs/dot/tf_quantized_w_sym_ch_a_asym_t_mask_rcnn.dot.gz", true);
    same("dot", "graphs/dot/quantization_gpt2-10.dot", true);
    same("dot", "graphs/dot/transformer_gpt2.gv", true);
}

static void test_json(void **state)
{
    (void)state;
    same("model-explorer", "graphs/model-explorer/test_graph_original.json", true);
    same("model-explorer", "graphs/model-explorer/test_graph_modified.json", true);
    same("execution-trace", "execution-trace/linear_et.json.gz", true);
    same("execution-trace", "execution-trace/dlrm/rank0.json.gz", true);
    same("execution-trace", "execution-trace/dlrm/rank1.json.gz", true);
    same("execution-trace", "execution-trace/megatron-tp8/rank0.json.gz", true);
    same("execution-trace", "execution-trace/megatron-tp8/rank1.json.gz", true);
}

/* Cut at twenty places each: never more than the whole, never silent. */
static void test_cut(void **state)
{
    (void)state;
    static const char *const paths[] = {
        "graphs/hlo/resnet50_keras_jax_f32.hlo", "graphs/hlo/934987a2fc2f_jit_loss_fn_17.hlo.pb",
        "graphs/mlir/r18_loc.mlir", "graphs/dot/transformer_gpt2.gv", "graphs/model-explorer/test_graph_original.json"};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        char full[1024];
        char *data = NULL;
        size_t n = 0;
        (void)snprintf(full, sizeof full, "%s/data/%s", shared, paths[i]);
        assert_int_equal(file_read_all(full, 1 << 24, &data, &n, NULL), MAREY_OK);
        read_graph whole = graph_of(data, n);
        assert_int_equal(whole.status, MAREY_OK);
        for (size_t k = 1; k < 20; k++) {
            char *copy = malloc(n * k / 20);
            memcpy(copy, data, n * k / 20);
            read_graph part = graph_of(copy, n * k / 20);
            if (part.status == MAREY_OK) {
                assert_true(real_nodes(&part.g) <= real_nodes(&whole.g));
                bool told = part.d.n_losses > 0 || part.d.n_messages > 0;
                if (!told && real_nodes(&part.g) != real_nodes(&whole.g)) {
                    print_message("%s, cut at %zu of 20 parts\n", paths[i], k);
                }
                assert_true(told || real_nodes(&part.g) == real_nodes(&whole.g));
            }
            forget(&part);
            free(copy);
        }
        forget(&whole);
        free(data);
    }
}

int main(void)
{
    if (!shared_dir(shared, sizeof shared)) {
        return 77;
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_hlo),  cmocka_unit_test(test_known),
                                       cmocka_unit_test(test_mlir), cmocka_unit_test(test_dot),
                                       cmocka_unit_test(test_json), cmocka_unit_test(test_cut)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
