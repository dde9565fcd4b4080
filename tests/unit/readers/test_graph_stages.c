/*
 * Contract of graph_read_files():
 *  - MindSpore files of single stages give the graph that the merged file of all stages gives: the same operators,
 * stages with their ranks, and lines from sends to receives, in whatever order they are read;
 *  - where each file counts its own stage from 0, stages are numbered in the order of the files;
 *  - where a peer is a number inside a group that is no stage, group and tag find the partner;
 *  - a file that comes again, and a stage that comes again from another of its ranks, is passed over and said;
 *  - a send without its partner is noted; files of other formats lie in modules with their names, values of one name in
 *    two files are not joined; the first file that can't be read is the error.
 */
#include "cm.h"

#include <unistd.h>

#include "base/text.h"
#include "readers/graph_reader.h"

enum { STAGES = 4 };

/* How stages are written. */
typedef struct shape {
    bool own_numbers; /* every file calls its stage 0 */
    bool group_peers; /* peers are 0 and 1 in a group of two */
    int rank;         /* of the stage's two, that comes first */
} shape;

static void put_transfer(strbuf *b, const shape *s, bool is_send, int stage, int peer, int tag)
{
    int low = stage < peer ? stage : peer;
    int to = s->group_peers ? 1000 + (peer > stage) : peer * 2;
    strbuf_printf(b,
                  "{\"node_id\":\"%d\",\"name\":\"Default/%s-op%d%d%d\",\"scope\":\"Default\",\"type\":\"%s\","
                  "\"attr\":{\"%s\":\"%d\",\"sr_tag\":\"%d\",\"group\":\"2-%d\"},\"input\":[%s],\"output_shape\":[4],"
                  "\"output_data_type\":\"DT_TENSOR[DT_FLOAT32]\"},",
                  10 + peer * 4 + tag * 2 + is_send, is_send ? "Send" : "Receive", stage, peer, tag,
                  is_send ? "Send" : "Receive", is_send ? "dest_rank" : "src_rank", to, tag, low,
                  is_send ? "\"1\"" : "");
}

static void put_stage(strbuf *b, const shape *s, int stage, bool in_file)
{
    strbuf_printf(b, "\"%d\":{\"rank_ids\":[%d,%d],\"op_nodes\":[", in_file && s->own_numbers ? 0 : stage, stage * 2,
                  stage * 2 + 1);
    for (int tag = 0; stage > 0 && tag < 2; tag++) { /* two micro-batches */
        put_transfer(b, s, false, stage, stage - 1, tag);
    }
    for (int tag = 0; stage + 1 < STAGES && tag < 2; tag++) {
        put_transfer(b, s, true, stage, stage + 1, tag);
    }
    strbuf_printf(b,
                  "{\"node_id\":\"1\",\"name\":\"Default/MatMul-op%d\",\"scope\":\"Default\",\"type\":\"MatMul\","
                  "\"attr\":{},\"input\":[\"w\"],\"output_shape\":[4],\"output_data_type\":\"DT_TENSOR[DT_FLOAT32]\"}],"
                  "\"parameter_nodes\":[{\"node_id\":\"w\",\"output_shape\":[4],\"output_data_type\":\"\"}]}",
                  stage);
}

static void write_text(const char *path, const char *text, size_t n)
{
    FILE *f = fopen(path, "wbe");
    assert_non_null(f);
    assert_int_equal(fwrite(text, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
}

static void file_of(char *path, size_t cap, int i)
{
    (void)snprintf(path, cap, "/tmp/marey-test-stages-%d-%d.json", (int)getpid(), i);
}

static void write_stage_file(const shape *s, int stage, int i)
{
    char path[96];
    strbuf b = {0};
    strbuf_puts(&b, "{\"metadata\":{},\"graphs\":{");
    put_stage(&b, s, stage, true);
    strbuf_puts(&b, "}}");
    file_of(path, sizeof path, i);
    write_text(path, b.s, b.n);
    strbuf_deinit(&b);
}

static void read_all(int n, graph *g, diag *d, marey_status expected)
{
    char paths[8][96];
    const char *list[8];
    graph_finish_options o = {0};
    for (int i = 0; i < n; i++) {
        file_of(paths[i], sizeof paths[i], i);
        list[i] = paths[i];
    }
    assert_int_equal(graph_read_files(list, (size_t)n, &o, g, d), expected);
    for (int i = 0; i < n; i++) {
        (void)unlink(paths[i]);
    }
    if (expected == MAREY_OK) {
        assert_null(graph_check(g));
    }
}

static void read_merged(const shape *s, graph *g, diag *d)
{
    strbuf b = {0};
    graph_finish_options o = {0};
    strbuf_puts(&b, "{\"metadata\":{},\"graphs\":{");
    for (int i = 0; i < STAGES; i++) {
        put_stage(&b, s, i, false);
        strbuf_puts(&b, i + 1 < STAGES ? "," : "}}");
    }
    assert_int_equal(graph_read_memory(b.s, b.n, "merged.json", &o, g, d), MAREY_OK);
    strbuf_deinit(&b);
}

static int stage_of(const graph *g, uint32_t node)
{
    return graph_stage_of(g, node) < 0 ? -1 : g->stages[graph_stage_of(g, node)].stage;
}

/* Each line from send to receive as "name > name", sorted by the receive. */
static void describe(const graph *g, strbuf *out)
{
    strbuf_printf(out, "%zu nodes, %zu edges, %zu stages\n", g->n_nodes, g->n_edges, g->n_stages);
    for (int stage = 0; stage < STAGES; stage++) {
        for (size_t i = 0; i < g->n_stages; i++) {
            if (g->stages[i].stage == stage) {
                strbuf_printf(out, "stage %d: %u ranks from %u\n", stage, g->stages[i].n_ranks,
                              g->stage_ranks[g->stages[i].first_rank]);
            }
        }
        for (uint32_t i = 0; i < g->n_nodes; i++) {
            if (stage_of(g, i) != stage || g->node_role[i] != GRAPH_OPERATOR) {
                continue;
            }
            strbuf_printf(out, "  %s", graph_string(g, g->node_name[i]));
            for (uint32_t e = g->in_first[i]; e < g->in_first[i + 1]; e++) {
                bool p2p = (g->edge_flags[e] & GRAPH_P2P) != 0;
                strbuf_printf(out, "%s%s", p2p ? " <= " : " < ", graph_string(g, g->node_name[g->edge_from[e]]));
            }
            strbuf_puts(out, "\n");
        }
    }
}

static size_t transfers(const graph *g)
{
    size_t n = 0;
    for (size_t e = 0; e < g->n_edges; e++) {
        n += (g->edge_flags[e] & GRAPH_P2P) != 0;
    }
    return n;
}

static void like_merged(void **state)
{
    (void)state;
    static const int orders[3][STAGES] = {{0, 1, 2, 3}, {3, 1, 0, 2}, {2, 3, 1, 0}};
    for (int variant = 0; variant < 5; variant++) {
        shape s = {.own_numbers = variant == 3, .group_peers = variant == 4};
        graph whole = {0};
        graph parts = {0};
        diag d;
        strbuf a = {0};
        strbuf b = {0};
        diag_init(&d);
        read_merged(&s, &whole, &d);
        for (int i = 0; i < STAGES; i++) {
            write_stage_file(&s, orders[variant < 3 ? variant : 0][i], i);
        }
        read_all(STAGES, &parts, &d, MAREY_OK);
        assert_int_equal(d.n_messages, 0);
        assert_int_equal(transfers(&whole), 2 * (STAGES - 1));
        describe(&whole, &a);
        describe(&parts, &b);
        assert_string_equal(a.s, b.s);
        strbuf_deinit(&a);
        strbuf_deinit(&b);
        graph_deinit(&whole);
        graph_deinit(&parts);
        diag_deinit(&d);
    }
}

static void again(void **state)
{
    (void)state;
    shape s = {0};
    graph g = {0};
    diag d;
    diag_init(&d);
    write_stage_file(&s, 0, 0);
    write_stage_file(&s, 1, 1);
    write_stage_file(&s, 0, 2);
    read_all(3, &g, &d, MAREY_OK);
    assert_int_equal(g.n_stages, 2);
    assert_int_equal(g.n_nodes - g.n_implied_nodes, 3 + 5);
    assert_int_equal(transfers(&g), 2);
    assert_int_equal(d.n_messages, 2); /* passed over; and two sends of stage 1 have no partner */
    assert_non_null(strstr(d.messages[0].text, "passed over"));
    assert_non_null(strstr(d.messages[1].text, "2 of 6 Send and Receive operators have no partner"));
    graph_deinit(&g);
    diag_deinit(&d);
}

static void bare_graphs(void **state)
{
    (void)state;
    /* anf_ir says nothing of stages */
    static const char *const texts[2] = {
        "{\"node\":[{\"name\":\"1\",\"opType\":\"Send\",\"scope\":\"Default\",\"fullName\":\"Default/"
        "Send-op1\",\"attribute\":["
        "{\"name\":\"sr_tag\",\"value\":{\"dtype\":\"DT_INT64\",\"intVal\":\"7\"}},"
        "{\"name\":\"dest_rank\",\"value\":{\"dtype\":\"DT_INT64\",\"intVal\":\"1\"}}]}],\"name\":\"g\"}",
        "{\"node\":[{\"name\":\"1\",\"opType\":\"Receive\",\"scope\":\"Default\",\"fullName\":\"Default/Receive-op1\","
        "\"attribute\":[{\"name\":\"sr_tag\",\"value\":{\"dtype\":\"DT_INT64\",\"intVal\":\"7\"}},"
        "{\"name\":\"src_rank\",\"value\":{\"dtype\":\"DT_INT64\",\"intVal\":\"0\"}}]}],\"name\":\"g\"}"};
    graph g = {0};
    diag d;
    diag_init(&d);
    for (int i = 0; i < 3; i++) { /* the first one twice */
        char path[96];
        file_of(path, sizeof path, i);
        write_text(path, texts[i % 2], strlen(texts[i % 2]));
    }
    read_all(3, &g, &d, MAREY_OK);
    assert_int_equal(g.n_nodes, 2);
    assert_int_equal(stage_of(&g, 0), 0);
    assert_int_equal(stage_of(&g, 1), 1);
    assert_int_equal(transfers(&g), 1);
    assert_int_equal(d.n_messages, 1);
    assert_non_null(strstr(d.messages[0].text, "passed over"));
    graph_deinit(&g);
    diag_deinit(&d);
}

static void other_formats(void **state)
{
    (void)state;
    static const char *const texts[2] = {"digraph a { x -> y; }", "digraph b { \"x\" -> \"m/z\"; }"};
    graph g = {0};
    diag d;
    char path[96];
    diag_init(&d);
    for (int i = 0; i < 2; i++) {
        file_of(path, sizeof path, i);
        write_text(path, texts[i], strlen(texts[i]));
    }
    read_all(2, &g, &d, MAREY_OK);
    assert_int_equal(g.n_nodes, 4);
    assert_int_equal(g.n_edges, 2);
    for (uint32_t i = 0; i < g.n_nodes; i++) {
        strbuf scope = {0};
        graph_scope_path(&g, g.node_scope[i], &scope);
        file_of(path, sizeof path, i < 2 ? 0 : 1);
        assert_non_null(strstr(scope.s, strrchr(path, '/') + 1));
        strbuf_deinit(&scope);
    }
    graph_deinit(&g);
    file_of(path, sizeof path, 0);
    write_text(path, texts[0], strlen(texts[0]));
    file_of(path, sizeof path, 1);
    write_text(path, "nothing of this is a graph", 26);
    read_all(2, &g, &d, MAREY_UNSUPPORTED);
    assert_non_null(strstr(d.messages[d.n_messages - 1].where, "-1.json"));
    diag_deinit(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(like_merged), cmocka_unit_test(again),
                                       cmocka_unit_test(bare_graphs), cmocka_unit_test(other_formats)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
