/*
 * Real graphs of every format: no edge is lost. For each file of the shared folder, at its first view, with everything
 * open and at twenty random states, drawn + bundled + stubbed + folded = edges of the input, the lines of every module
 * are acyclic but for those that are marked, the layout holds together; nothing is out of reach: opening everything
 * shows every operator that is not folded. Skipped where the folder is absent.
 */
#include "cm.h"

#include "base/file.h"
#include "base/mem.h"
#include "graph/layout.h"
#include "readers/graph_reader.h"

enum { STATES = 20, FIRST_VIEW = 40 };

static const char *const refused[] = {"corrupted.onnx", "bad_graph.onnx"};

static bool may_be_refused(const char *path)
{
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        if (strcmp(path_base(path), refused[i]) == 0) {
            return true;
        }
    }
    return false;
}

static void check_state(const char *path, const graph_plan *p, const graph_state *s, bool lay_out)
{
    visible *v = NULL;
    const size_t edges = p->g->n_edges - p->g->n_implied_edges;
    assert_int_equal(visible_create(&v, p, s, NULL), MAREY_OK);
    const char *why = visible_check(v, p, s);
    if (why) {
        fail_msg("%s: %s", path, why);
    }
    if (v->n_drawn + v->n_bundled + v->n_stubbed + v->n_folded != edges) {
        fail_msg("%s: %zu + %zu + %zu + %zu is not %zu", path, v->n_drawn, v->n_bundled, v->n_stubbed, v->n_folded,
                 edges);
    }
    if (lay_out) {
        graph_layout *l = NULL;
        layout_options o;
        layout_options_init(&o);
        assert_int_equal(graph_layout_create(&l, p, v, &o, NULL), MAREY_OK);
        why = graph_layout_check(l, v);
        if (why) {
            fail_msg("%s: %s", path, why);
        }
        graph_layout_destroy(&l);
    }
    visible_destroy(&v);
}

static void check_reachable(const char *path, const graph_plan *p, const graph_state *s)
{
    visible *v = NULL;
    assert_int_equal(visible_create(&v, p, s, NULL), MAREY_OK);
    for (uint32_t i = 0; i < p->n_elements; i++) {
        if (p->elements[i].kind == ELEMENT_LEAF && v->item_of[i] == GRAPH_NONE) {
            fail_msg("%s: %s is out of reach", path, plan_label(p, i));
        }
    }
    visible_destroy(&v);
}

static void check_graph(const char *path, const graph *g)
{
    plan_options options;
    graph_plan *p = NULL;
    graph_state s;
    plan_options_init(&options);
    assert_int_equal(graph_plan_create(&p, g, &options, NULL), MAREY_OK);
    const char *why = graph_plan_check(p);
    if (why) {
        fail_msg("%s: %s", path, why);
    }
    graph_state_init(&s, p);
    graph_state_default(&s, p, FIRST_VIEW);
    check_state(path, p, &s, true);
    for (uint64_t seed = 0; seed < STATES; seed++) {
        (void)graph_state_expand_random(&s, p, 1 + p->n_elements / (STATES * 4), seed);
        check_state(path, p, &s, seed % 5 == 0);
    }
    graph_state_expand_all(&s, p, false);
    check_state(path, p, &s, true);
    check_reachable(path, p, &s);
    graph_state_deinit(&s);
    graph_plan_destroy(&p);
}

static size_t check_folder(const char *folder)
{
    arena names = {0};
    char **files = NULL;
    size_t n = 0;
    size_t checked = 0;
    strbuf at = {0};
    char shared[2048];
    if (!shared_dir(shared, sizeof shared)) {
        skip();
    }
    strbuf_printf(&at, "%s/%s", shared, folder);
    assert_int_equal(file_list(at.s, &names, &files, &n, NULL), MAREY_OK);
    for (size_t i = 0; i < n; i++) {
        graph g = {0};
        diag d;
        diag_init(&d);
        graph_finish_options options = {.infer_scopes = true};
        marey_status status = graph_read_file(files[i], &options, &g, &d);
        if (status == MAREY_OK) {
            check_graph(files[i], &g);
            checked++;
        } else if (!may_be_refused(files[i])) {
            fail_msg("%s: %s", files[i], d.n_messages ? d.messages[0].text : marey_status_text(status));
        } else {
            assert_true(d.n_messages > 0);
        }
        diag_deinit(&d);
        graph_deinit(&g);
    }
    free((void *)files);
    arena_deinit(&names);
    strbuf_deinit(&at);
    return checked;
}

static void graphs(void **state)
{
    (void)state;
    assert_true(check_folder("data/graphs") >= 40);
}

static void parallel_graphs(void **state)
{
    (void)state;
    assert_int_equal(check_folder("data/mindspore/parallel-graph"), 3);
}

static void execution_traces(void **state)
{
    (void)state;
    assert_int_equal(check_folder("data/execution-trace"), 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(graphs),
        cmocka_unit_test(parallel_graphs),
        cmocka_unit_test(execution_traces),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
