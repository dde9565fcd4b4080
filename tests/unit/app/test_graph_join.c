/*
 * Contract of scene/graph_join.h:
 *  - names join as they stand, by their path without the root of the scope, and by a unique last part that holds a
 * digit; a last part that several nodes have joins nothing, and a mere type neither;
 *  - what runs on a device counts, not what the host does for it;
 *  - on real data (skipped where it is absent): nearly all host events of the rank that an execution trace is of are
 *    found by number, under equal names, and so are the kernels that they launched.
 */
#include "cm.h"

#include <math.h>

#include "convert/convert.h"
#include "graph/builder.h"
#include "help/small_run.h"
#include "readers/graph_reader.h"
#include "scene/graph_join.h"

static uint32_t add(graph_builder *b, uint32_t scope, const char *name, const char *op)
{
    graph_node_in in = {.name = name, .op = op, .n_name = strlen(name), .n_op = strlen(op), .scope = scope};
    in.key = -1;
    in.stage = -1;
    return graph_builder_node(b, &in);
}

enum { NODES = 6, NAMES = 6 };

static void by_name(void **state)
{
    (void)state;
    diag d;
    diag_init(&d);
    graph_builder *b = graph_builder_create(&d, 0);
    uint32_t net = graph_builder_path(b, 0, "Default/net", 11, '/');
    uint32_t n[NODES] = {add(b, 0, "Default/net/MatMul-op1", "MatMul"),
                         add(b, 0, "fusion.7", "fusion"),
                         add(b, net, "Default/net/Relu-op2", "Relu"),
                         add(b, 0, "a/Add-op3", "Add"),
                         add(b, 0, "b/Add-op3", "Add"),
                         add(b, 0, "c/Softmax", "Softmax")};
    graph g = {0};
    graph_finish_options o = {0};
    assert_int_equal(graph_builder_finish(b, &o, &g), MAREY_OK);
    graph_builder_destroy(&b);
    small_run r;
    small_init(&r);
    static const char *const names[NAMES] = {"Default/net/MatMul-op1", "%fusion.7", "Relu-op2", "Add-op3", "Softmax",
                                             "net/matmul-op1"};
    const uint32_t want[NAMES] = {n[0], n[1], n[2], GRAPH_NONE, GRAPH_NONE, n[0]};
    (void)small_rank(&r, 0, "host");
    uint32_t device = small_lane(&r, KIND_COMPUTE, "stream 7", 1);
    uint32_t host = small_lane(&r, KIND_CPU, "thread 1", 1);
    for (uint32_t i = 0; i < NAMES; i++) {
        uint32_t name = small_name(&r, names[i], CLASS_MATMUL, KIND_COMPUTE);
        small_put(&r, (small_event){host, 1000 * i, 900, name, 0, CLASS_CPU_OP, 0, NULL});
        if (i != 1) {
            small_put(&r, (small_event){device, 1000 * i + 100, 50 + i, name, 0, CLASS_MATMUL, 0, NULL});
        }
    }
    r.m.duration_ns = 10000;
    store_file *f = NULL;
    assert_int_equal(small_write(&r, &d), MAREY_OK);
    assert_int_equal(store_open(&f, r.path, &d), MAREY_OK);
    graph_join *j = graph_join_make(f, &g, NULL);
    assert_non_null(j);
    for (uint32_t i = 0; i < NAMES; i++) {
        assert_int_equal(j->node_of_name[i], want[i]);
    }
    assert_int_equal(j->times[n[0]].n, 2); /* of both its names, on the device */
    assert_int_equal(j->times[n[0]].sum_ns, 50 + 55);
    assert_int_equal(j->times[n[0]].max_ns, 55);
    assert_int_equal(j->times[n[1]].sum_ns, 900); /* only the host has it */
    assert_int_equal(j->times[n[2]].sum_ns, 52);
    assert_int_equal(j->times[n[3]].n + j->times[n[4]].n + j->times[n[5]].n, 0);
    assert_int_equal(j->n_joined_nodes, 3);
    graph_join_free(&j);
    store_close(&f);
    small_free(&r);
    graph_deinit(&g);
    diag_deinit(&d);
}

/* ------------------------------------------------------------------ the megatron run */

static bool shared_path(char *out, size_t cap, const char *rest)
{
    const char *shared = getenv("MAREY_SHARED");
    (void)snprintf(out, cap, "%s/data/%s", shared ? shared : "../shared", rest);
    FILE *f = fopen(out, "rbe");
    if (f) {
        (void)fclose(f);
    }
    return f != NULL;
}

static void by_number(void **state)
{
    (void)state;
    char ranks[2][512];
    char trace[512];
    char out[128];
    if (!shared_path(ranks[0], sizeof ranks[0], "kineto/megatron-tp8/rank0.json.gz") ||
        !shared_path(ranks[1], sizeof ranks[1], "kineto/megatron-tp8/rank1.json.gz") ||
        !shared_path(trace, sizeof trace, "execution-trace/megatron-tp8/rank0.json.gz")) {
        (void)printf("skipped: the shared data is not here (MAREY_SHARED)\n");
        skip();
    }
    diag d;
    diag_init(&d);
    (void)snprintf(out, sizeof out, "/tmp/marey-test-join-%d.h5", (int)getpid());
    const char *paths[2] = {ranks[0], ranks[1]};
    convert_options o = {.out = out, .force = true, .jobs = 1};
    convert_summary summary = {0};
    assert_int_equal(convert_paths(paths, 2, &o, &summary, &d), MAREY_OK);
    graph g = {0};
    graph_finish_options finish = {0};
    assert_int_equal(graph_read_file(trace, &finish, &g, &d), MAREY_OK);
    store_file *f = NULL;
    assert_int_equal(store_open(&f, out, &d), MAREY_OK);
    graph_join *j = graph_join_make(f, &g, NULL);
    assert_non_null(j);
    const trace_model *m = store_model(f);
    size_t host = 0;
    size_t kernels = 0;
    for (size_t i = 0; i < j->n_rows; i++) {
        store_event_info e;
        assert_true(i == 0 || j->rows[i] > j->rows[i - 1]);
        assert_int_equal(store_read_event(f, j->rows[i], &e, NULL), MAREY_OK);
        const trace_lane *lane = &m->lanes[m->tracks[e.track].lane];
        if (m->ranks[lane->rank].rank != 0) {
            continue; /* the same program */
        }
        if (kind_is_device(lane->kind)) {
            kernels++;
        } else {
            host++;
            assert_string_equal(m->names[e.name].text, graph_string(&g, g.node_name[j->row_node[i]]));
        }
    }
    (void)printf("%zu host events, %zu kernels, %zu of %zu nodes measured\n", host, kernels, j->n_joined_nodes,
                 g.n_nodes);
    assert_true(host > 5300);   /* of 5 337 and 87 annotations */
    assert_true(kernels > 680); /* of 690 */
    graph_join_free(&j);
    store_close(&f);
    (void)unlink(out);
    graph_deinit(&g);
    diag_deinit(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(by_name), cmocka_unit_test(by_number)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
