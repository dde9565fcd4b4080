/*
 * Real graph files: nodes, edges, control edges, depth and losses of each are exactly these. The numbers of nodes and
 * edges were counted apart from this project's code (tests/diff/readers/graph_counts.py does so again). Compressed and
 * archived copies of a file give the same graph. Skipped where the files are absent.
 */
#include "cm.h"

#include <unistd.h>

#include "base/file.h"
#include "help/graph_read.h"

typedef struct real_file {
    const char *path;
    size_t nodes, edges, control;
    uint32_t depth;
    uint64_t losses;
} real_file;

static const real_file files[] = {
    {"graphs/onnx/BertForQuestionAnswering_pt1.4_opset11.onnx", 1171, 1388, 0, 0, 0},
    {"graphs/onnx/GPT2Model_pt1.4_opset11.onnx", 2848, 3333, 0, 0, 0},
    {"graphs/onnx/TFBertForQuestionAnswering_opset11.onnx", 3836, 4754, 0, 8, 0},
    {"graphs/onnx/bad_graph.onnx", 9, 7, 0, 0, 0},
    {"graphs/onnx/bad_graph_with_duplicate_node_names.onnx", 2, 1, 0, 0, 1},
    {"graphs/onnx/bert_toy_optimized.onnx", 384, 450, 0, 0, 0},
    {"graphs/onnx/chain500_I.onnx", 500, 499, 0, 0, 0},
    {"graphs/onnx/ext_weights.onnx", 3, 2, 0, 0, 0},
    {"graphs/onnx/gpt2_past_pt1.5_opset11.onnx", 3069, 3509, 0, 0, 48}, /* values that two nodes make */
    {"graphs/onnx/light_inception_v1.onnx", 237, 263, 0, 1, 0},
    {"graphs/onnx/light_inception_v2.onnx", 916, 943, 0, 3, 0},
    {"graphs/onnx/light_resnet50.onnx", 415, 430, 0, 1, 0},
    {"graphs/onnx/light_shufflenet.onnx", 446, 461, 0, 1, 0},
    {"graphs/onnx/light_squeezenet.onnx", 105, 112, 0, 1, 0},
    {"graphs/onnx/loop.onnx", 10, 8, 0, 1, 0},
    {"graphs/onnx/lstm.onnx", 1, 0, 0, 0, 0},
    {"graphs/onnx/model_181031_12.onnx", 249, 248, 0, 0, 0},
    {"graphs/onnx/nested_local_function.onnx", 6, 3, 0, 2, 0},
    {"graphs/onnx/scan_1.onnx", 96, 103, 0, 1, 0},
    {"graphs/onnx/silero_vad_v5.onnx", 689, 732, 0, 7, 0},
    {"graphs/onnx/tiny-qwen35-cuda_decoder.onnx", 29, 38, 0, 0, 0},
    {"graphs/onnx/tiny-random-LlamaForCausalLM-fp16.onnx", 104, 155, 0, 4, 0},
    {"graphs/onnx/unsorted.onnx", 2, 1, 0, 0, 0},
    {"graphs/tensorflow/minitaur_reactive.meta", 7642, 18287, 9469, 24, 0},
    {"graphs/tensorflow/impala_graph.pbtxt.gz", 2124, 3860, 655, 8, 0},
    {"graphs/tensorflow/tb_demo_graph.pbtxt", 8, 13, 0, 2, 0},
    {"graphs/tensorflow/graphdef_foo.pbtxt", 3, 0, 0, 2, 1}, /* a function that nobody calls, and gives nothing */
    {"graphs/tensorflow/centernet.json", 544, 605, 0, 6, 0},
    {"graphs/tensorflow/faceboxes.json", 876, 1094, 24, 6, 0},
    {"graphs/tensorflow/handlandmark-sparse.json", 271, 279, 0, 18, 0},
    {"graphs/tensorflow/kws_saved_model.pb", 3774, 4188, 836, 9, 0}, /* of these 703, 1169, 287 are called */
    {"graphs/tensorflow/simple_add_saved_model.pb", 33, 27, 5, 2, 0},
    {"graphs/mindspore/lenet.pb", 104, 133, 0, 6, 0},
    {"graphs/mindspore/graph_base.json", 20, 7, 0, 2, 1}, /* an output that no node makes */
    {"graphs/mindspore/cyclic_graph.json", 16, 15, 0, 1, 0},
    {"graphs/mindspore/high_degree_graph.json", 14, 9, 0, 1, 0},
    {"mindspore/parallel-graph/fcn8s.json.gz", 731, 1249, 0, 9, 0},
    {"mindspore/parallel-graph/fcn8s_semi_auto_parallel.json.gz", 956, 1526, 0, 9, 0},
    {"mindspore/parallel-graph/resnet_pipeline.json.gz", 2339, 4288, 0, 11, 0},
    {"mindspore/parallel-strategy/parallel_strategy_0.json", 2, 1, 0, 2, 1},
    {"execution-trace/chakra.0.et.gz", 3664, 184265, 2387, 0, 1277 + 383}, /* unknown ids, self-loops */
};

static uint64_t losses_of(const diag *d)
{
    uint64_t n = 0;
    for (size_t i = 0; i < d->n_losses; i++) {
        n += d->losses[i].count;
    }
    return n;
}

static bool agrees(const char *folder, const real_file *f)
{
    char path[5000];
    graph g;
    diag d;
    graph_finish_options options = {0};
    (void)snprintf(path, sizeof path, "%s/data/%s", folder, f->path);
    diag_init(&d);
    marey_status status = graph_read_file(path, &options, &g, &d);
    bool good = status == MAREY_OK && graph_check(&g) == NULL && real_nodes(&g) == f->nodes &&
                real_edges(&g) == f->edges && g.n_control_edges == f->control && graph_depth(&g) == f->depth &&
                losses_of(&d) == f->losses && graph_sniff_file(path) == 2;
    if (!good) {
        print_message("%s: status %d, %zu nodes, %zu edges, %zu control, depth %u, %llu losses\n", f->path, (int)status,
                      real_nodes(&g), real_edges(&g), g.n_control_edges, status == MAREY_OK ? graph_depth(&g) : 0,
                      (unsigned long long)losses_of(&d));
    }
    if (status == MAREY_OK) {
        graph_deinit(&g);
    }
    diag_deinit(&d);
    return good;
}

static void counts(void **state)
{
    (void)state;
    char folder[3000];
    size_t n_bad = 0;
    if (!shared_dir(folder, sizeof folder)) {
        skip();
    }
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        n_bad += !agrees(folder, &files[i]);
    }
    assert_int_equal(n_bad, 0);
}

static void refused(void **state)
{
    (void)state;
    char folder[3000];
    char path[5000];
    graph g;
    diag d;
    graph_finish_options options = {0};
    if (!shared_dir(folder, sizeof folder)) {
        skip();
    }
    (void)snprintf(path, sizeof path, "%s/data/graphs/onnx/corrupted.onnx", folder);
    diag_init(&d);
    assert_int_equal(graph_read_file(path, &options, &g, &d), MAREY_UNSUPPORTED);
    assert_int_equal(d.n_messages, 1);
    assert_int_equal(graph_sniff_file(path), 0);
    assert_int_equal(graph_read_file("/nowhere/at/all.onnx", &options, &g, &d), MAREY_IO);
    assert_int_equal(d.n_messages, 2);
    diag_deinit(&d);
}

/* What the fuzz corpus holds, plain and packed. */
static size_t nodes_of(const char *path)
{
    graph g;
    diag d;
    graph_finish_options options = {0};
    diag_init(&d);
    size_t n = 0;
    if (graph_read_file(path, &options, &g, &d) == MAREY_OK) {
        n = g.n_nodes;
        graph_deinit(&g);
    } else {
        print_message("%s: %s\n", path, d.n_messages ? d.messages[0].text : "");
    }
    diag_deinit(&d);
    return n;
}

static void run(const char *command)
{
    if (system(command) != 0) {
        print_message("skipped: %s\n", command);
        skip();
    }
}

static void packed(void **state)
{
    (void)state;
    const char *source = getenv("MAREY_SOURCE_DIR");
    if (!source) {
        skip();
    }
    char folder[] = "/tmp/marey-graph-XXXXXX";
    assert_non_null(mkdtemp(folder));
    char command[9000];
    char path[5000];
    (void)snprintf(
        command, sizeof command,
        "cd %s && cp %s/tests/fuzz/graphs/model.onnx . && echo nothing > readme.txt && gzip -k model.onnx && "
        "zstd -q model.onnx && zip -q all.zip readme.txt model.onnx && zip -q gz.zip readme.txt model.onnx.gz",
        folder, source);
    run(command);
    static const char *const names[] = {"model.onnx", "model.onnx.gz",       "model.onnx.zst",
                                        "all.zip",    "all.zip!/model.onnx", "gz.zip"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        (void)snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        assert_int_equal(nodes_of(path), 17);
        assert_int_equal(graph_sniff_file(path), 2);
    }
    (void)snprintf(path, sizeof path, "%s/readme.txt", folder);
    assert_int_equal(graph_sniff_file(path), 0);
    (void)snprintf(command, sizeof command, "rm -r %s", folder);
    assert_int_equal(system(command), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(counts), cmocka_unit_test(refused), cmocka_unit_test(packed)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
