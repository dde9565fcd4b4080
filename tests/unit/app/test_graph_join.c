/*
 * Contract of scene/graph_join.h:
 *  - names join as they stand, by their path without the root of the scope, and by a unique last part that holds a
 * digit; a last part that several nodes have joins nothing, and a mere type neither;
 *  - what runs on a device counts, not what the host does for it;
 *  - by place: in simulated runs every operator of the graph has the events of all its micro-batches, steps and ranks,
 * each in the layer and phase that the run itself says by its sequence numbers, and kernels go with the operator of the
 * same External id; a graph of another run, whose counts come out uneven, joins none of those;
 *  - an operator's time in a step is that of the ranks of its stage;
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
#include "synth/synth.h"

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

/* ------------------------------------------------------------------ by place */

typedef struct placed {
    char path[64];
    store_file *f;
    graph g;
    graph_join *j;
    diag d;
} placed;

static void simulate(placed *x, synth_params *p)
{
    diag_init(&x->d);
    p->graph = true;
    p->arguments = ARGS_ALL;
    (void)snprintf(x->path, sizeof x->path, "/tmp/marey-test-place-%d.h5", (int)getpid());
    convert_options o = {.out = x->path, .force = true, .jobs = 1};
    assert_int_equal(synth_check(p, &x->d), MAREY_OK);
    assert_int_equal(synth_write_h5(p, &o, NULL, &x->d), MAREY_OK);
    assert_int_equal(store_open(&x->f, x->path, &x->d), MAREY_OK);
    assert_int_equal(store_read_graph(x->f, &x->g, &x->d), MAREY_OK);
    x->j = graph_join_make(x->f, &x->g, NULL);
}

static void leave(placed *x)
{
    char truth[96];
    (void)snprintf(truth, sizeof truth, "%s.truth.json", x->path);
    (void)unlink(x->path);
    (void)unlink(truth);
    graph_join_free(&x->j);
    store_close(&x->f);
    graph_deinit(&x->g);
    diag_deinit(&x->d);
}

/* What the run says of each of its events, by row. */
typedef struct fact {
    uint32_t lane; /* NO_ID: no event */
    int64_t external, sequence, of_forward;
} fact;

typedef struct fact_reader {
    fact *facts;
    uint64_t first_row;
} fact_reader;

static int64_t argument(const char *args, const char *key)
{
    const char *at = strstr(args, key);
    return at ? strtoll(at + strlen(key) + 2, NULL, 10) : -1;
}

static bool take_arguments(void *ctx, uint32_t index, const char *text, size_t n)
{
    fact_reader *r = ctx;
    if (n > 0) {
        fact *f = &r->facts[r->first_row + index];
        f->external = argument(text, "\"External id\"");
        f->sequence = argument(text, "\"Sequence number\"");
        f->of_forward = argument(text, "\"Fwd thread id\"");
    }
    return true;
}

static fact *read_facts(store_file *f)
{
    const trace_model *m = store_model(f);
    size_t n = store_n_blocks(f) * BLOCK_EVENTS;
    fact_reader r = {.facts = mem_alloc((n + 1) * sizeof *r.facts)};
    for (size_t i = 0; i < n; i++) {
        r.facts[i] = (fact){NO_ID, -1, -1, -1};
    }
    for (uint32_t b = 0; b < store_n_blocks(f); b++) {
        store_block_info info = store_block(f, b);
        assert_int_equal(store_group_load(f, info.group, NULL), MAREY_OK);
        info = store_block(f, b);
        for (uint32_t t = 0; t < info.n_tracks; t++) {
            for (uint32_t i = info.offsets[t]; i < info.offsets[t + 1]; i++) {
                r.facts[info.first_row + i].lane = m->tracks[info.tracks[t]].lane;
            }
        }
        r.first_row = info.first_row;
        (void)store_read_block_args(f, b, take_arguments, &r, NULL);
    }
    return r.facts;
}

/* The number behind "Layer_" or "Bottleneck_" in the node's path; -1. */
static int64_t layer_of(const graph *g, uint32_t node)
{
    strbuf path = {0};
    graph_scope_path(g, g->node_scope[node], &path);
    const char *at = path.n > 0 ? strpbrk(path.s, "_") : NULL;
    while (at && !(at[1] >= '0' && at[1] <= '9')) {
        at = strpbrk(at + 1, "_");
    }
    int64_t layer = at ? strtoll(at + 1, NULL, 10) : -1;
    strbuf_deinit(&path);
    return layer;
}

/* Each joined event against what the run says of it; sequence numbers count layers through micro-batches and steps, 128
 * operators each (synth/emit.c). */
static void check_rows(const placed *x, const synth_params *p)
{
    const trace_model *m = store_model(x->f);
    fact *facts = read_facts(x->f);
    map64 externals = {0};
    size_t kernels = 0;
    for (int pass = 0; pass < 2; pass++) { /* the host's events, then what they launched */
        for (size_t i = 0; i < x->j->n_rows; i++) {
            const fact *f = &facts[x->j->rows[i]];
            uint32_t node = x->j->row_node[i];
            const trace_lane *lane = &m->lanes[f->lane];
            if (kind_is_device(lane->kind) != (pass == 1)) {
                continue;
            }
            uint64_t external = (uint64_t)f->external << 16 | lane->rank;
            assert_int_equal(x->g.stages[graph_stage_of(&x->g, node)].stage, m->ranks[lane->rank].stage);
            if (pass == 1) {
                const uint64_t *host = map64_get(&externals, external);
                assert_true(host && *host == node + 1);
                kernels++;
                continue;
            }
            *map64_put(&externals, external) = node + 1;
            if (f->sequence >= 0) {
                bool again = x->g.node_phase[node] == GRAPH_BACKWARD || x->g.node_phase[node] == GRAPH_RECOMPUTE;
                assert_int_equal((f->sequence / 128 - 1) % p->layers, layer_of(&x->g, node));
                assert_true((f->of_forward == 1) == again);
            }
        }
    }
    assert_int_equal(kernels, externals.n); /* each operator launches one */
    map64_deinit(&externals);
    free(facts);
}

static void check_counts(const placed *x, const synth_params *p)
{
    uint64_t per_step = (uint64_t)(p->tp * p->dp * p->steps);
    for (uint32_t i = 0; i < x->g.n_nodes; i++) {
        if (x->g.node_role[i] != GRAPH_OPERATOR) {
            continue;
        }
        const node_time *t = &x->j->times[i];
        bool once = x->g.node_phase[i] == GRAPH_OPTIMIZER || (x->g.node_flags[i] & GRAPH_GRADIENT_AGGREGATION) ||
                    strcmp(graph_string(&x->g, x->g.node_op[i]), "aten::copy_") == 0;
        uint64_t wanted = per_step * (uint64_t)(once && layer_of(&x->g, i) < 0 ? 1 : p->micro_batches);
        if (t->n != wanted) {
            (void)fprintf(stderr, "%s: %llu events, not %llu\n", graph_string(&x->g, x->g.node_name[i]),
                          (unsigned long long)t->n, (unsigned long long)wanted);
        }
        assert_true(t->n == wanted);
        double mean = (double)t->sum_ns / (double)per_step;
        assert_true(fabs(graph_join_step_ns(x->j, i) - mean) <= 1e-9 * mean);
    }
}

static void by_place(void **state)
{
    (void)state;
    static const char *const presets[] = {"pangu-13b", "pangu-13b", "resnet50"};
    for (int i = 0; i < 3; i++) {
        synth_params p;
        placed x = {0};
        assert_true(synth_preset(presets[i], &p));
        p.steps = 2;
        p.ranks = i < 2 ? 16 : 4;
        p.pp = i < 2 ? 4 : 1;
        p.layers = i < 2 ? 10 : 16; /* not the same for all stages */
        p.micro_batches = i < 2 ? 5 : 1;
        p.detail = i == 1 ? 20 : 0; /* more operators than the model has; another one fewer */
        p.recompute = p.p2p_wait = i == 1;
        p.buckets = i == 1 ? 2 : i == 2 ? 5 : 0;
        simulate(&x, &p);
        assert_non_null(x.j);
        check_rows(&x, &p);
        check_counts(&x, &p);
        (void)printf("%s: %zu operators, %zu rows\n", presets[i], x.j->n_joined_nodes, x.j->n_rows);
        leave(&x);
    }
}

/* The graph has one linear in each feed-forward more than the run. */
static void uneven_places(void **state)
{
    (void)state;
    synth_params p;
    placed x = {0};
    assert_true(synth_preset("pangu-13b", &p));
    p.steps = 1;
    p.ranks = p.pp = 2;
    p.tp = p.dp = 1;
    p.layers = 4;
    p.micro_batches = 3;
    simulate(&x, &p);
    for (uint32_t i = 0; i < x.g.n_nodes; i++) {
        bool gelu = strcmp(graph_string(&x.g, x.g.node_op[i]), "aten::gelu") == 0;
        for (uint32_t k = 0; gelu && k < x.g.n_nodes; k++) {
            bool linear = strcmp(graph_string(&x.g, x.g.node_op[k]), "aten::linear") == 0;
            x.g.node_op[i] = linear ? x.g.node_op[k] : x.g.node_op[i];
        }
    }
    graph_join *j = graph_join_make(x.f, &x.g, NULL);
    assert_non_null(j);
    for (uint32_t i = 0; i < x.g.n_nodes; i++) {
        bool linear = strcmp(graph_string(&x.g, x.g.node_op[i]), "aten::linear") == 0;
        bool layer = layer_of(&x.g, i) >= 0;
        if (linear && layer) {
            assert_int_equal(j->times[i].n, 0);
        } else if (layer) {
            assert_true(j->times[i].n > 0);
        }
    }
    graph_join_free(&j);
    leave(&x);
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
    const struct CMUnitTest tests[] = {cmocka_unit_test(by_name), cmocka_unit_test(by_place),
                                       cmocka_unit_test(uneven_places), cmocka_unit_test(by_number)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
