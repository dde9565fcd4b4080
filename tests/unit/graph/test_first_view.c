/*
 * Contract: what is seen first of a graph says something. What is alone on the page opens whatever it holds, up to a
 * thousand; where fewer than eight boxes would be seen the largest opens beyond the budget. A scope that holds
 * everything side by side is parted, by the first words of names where these come in runs, else by its graph; the parts
 * are marked as inferred, equal layers stay one stack, and nothing of it happens unasked.
 */
#include "cm.h"

#include "graph/visible.h"
#include "help/graph_gen.h"

enum { BUDGET = 40 };

static graph_plan *make(const graph *g)
{
    assert_null(graph_check(g));
    plan_options o;
    plan_options_init(&o);
    graph_plan *p = NULL;
    assert_int_equal(graph_plan_create(&p, g, &o, NULL), MAREY_OK);
    const char *breach = graph_plan_check(p);
    if (breach) {
        fail_msg("%s", breach);
    }
    return p;
}

/* Elements on the first page; frames as well. */
static size_t shown(const graph_plan *p)
{
    graph_state s;
    visible *v = NULL;
    graph_state_init(&s, p);
    graph_state_default(&s, p, BUDGET);
    assert_int_equal(visible_create(&v, p, &s, NULL), MAREY_OK);
    const char *breach = visible_check(v, p, &s);
    if (breach) {
        fail_msg("%s", breach);
    }
    size_t n = v->n_shown;
    visible_destroy(&v);
    graph_state_deinit(&s);
    return n;
}

static const char *const OPS[] = {"MatMul", "Add", "Relu", "Conv", "Mul", "Softmax", "Concat", "Exp", "Tanh"};

/* `n` operators in series without a period. @return the last one */
static uint32_t chain(graph_builder *b, uint32_t scope, uint32_t before, unsigned n, uint64_t seed)
{
    prng r;
    prng_seed(&r, seed);
    for (unsigned i = 0; i < n; i++) {
        uint32_t v = gen_node(b, scope, "", OPS[prng_below(&r, 9)]);
        if (before != GRAPH_NONE) {
            graph_builder_edge(b, before, 0, v, 0, 0);
        }
        before = v;
    }
    return before;
}

static void what_is_alone_opens(void **state)
{
    (void)state;
    for (unsigned n = 100; n <= 2000; n += 1900) {
        graph_builder *b = graph_builder_create(NULL, 0);
        uint32_t outer = gen_scope(b, 0, "outer"), inner = gen_scope(b, outer, "inner");
        uint32_t last = chain(b, inner, GRAPH_NONE, n, 3);
        graph g;
        gen_finish(&b, false, &g);
        plan_options o;
        plan_options_init(&o);
        o.steps[STEP_STACK] = o.steps[STEP_CHAINS] = false;
        graph_plan *p = NULL;
        assert_int_equal(graph_plan_create(&p, &g, &o, NULL), MAREY_OK);
        assert_int_equal(shown(p), n == 100 ? 102 : 2);
        assert_int_equal(g.node_scope[last], inner);
        graph_plan_destroy(&p);
        graph_deinit(&g);
    }
}

/* Three modules: the largest opens beyond the budget, and no further one once there is something to see. */
static void few_boxes_are_too_few(void **state)
{
    (void)state;
    graph_builder *b = graph_builder_create(NULL, 0);
    uint32_t last = chain(b, gen_scope(b, 0, "head"), GRAPH_NONE, 60, 1);
    last = chain(b, gen_scope(b, 0, "body"), last, 120, 2);
    (void)chain(b, gen_scope(b, 0, "tail"), last, 70, 3);
    graph g;
    gen_finish(&b, false, &g);
    plan_options o;
    plan_options_init(&o);
    o.steps[STEP_STACK] = false;
    graph_plan *p = NULL;
    assert_int_equal(graph_plan_create(&p, &g, &o, NULL), MAREY_OK);
    assert_int_equal(shown(p), 3 + 120);
    graph_plan_destroy(&p);
    graph_deinit(&g);
}

static void names_in_runs_become_scopes(void **state)
{
    (void)state;
    for (int infer = 0; infer < 2; infer++) {
        graph_builder *b = graph_builder_create(NULL, 0);
        uint32_t model = gen_scope(b, 0, "jit(step)"), last = GRAPH_NONE;
        char name[64];
        for (unsigned i = 0; i < 12; i++) {
            for (unsigned k = 0; k < 7; k++) {
                (void)snprintf(name, sizeof name, "conv%u_block%u_%u_bn", i / 3 + 1, i % 3 + 1, k);
                last = chain(b, gen_scope(b, model, name), last, 2 + (i * 7 + k) % 5, i * 7 + k);
            }
        }
        graph g;
        gen_finish(&b, infer, &g);
        assert_int_equal(g.scopes_inferred, infer);
        graph_plan *p = make(&g);
        unsigned found = 0;
        for (size_t s = 1; s < g.n_scopes; s++) {
            const char *is = graph_string(&g, g.scope_name[s]);
            bool block = strcmp(is, "conv2_block3") == 0;
            found += block;
            assert_int_equal((g.scope_flags[s] & GRAPH_SCOPE_INFERRED) != 0, strlen(is) == strlen("conv2_block3"));
        }
        assert_int_equal(found, infer);
        if (infer) {
            assert_in_range(shown(p), 8, BUDGET);
        } else {
            assert_int_equal(shown(p), 1 + 84);
        }
        graph_plan_destroy(&p);
        graph_deinit(&g);
    }
}

static void a_crowd_without_names_becomes_sections(void **state)
{
    (void)state;
    graph_builder *b = graph_builder_create(NULL, 0);
    uint32_t model = gen_scope(b, 0, "model"), last = GRAPH_NONE;
    char name[64];
    for (unsigned i = 0; i < 100; i++) { /* operators and small modules by turns */
        (void)snprintf(name, sizeof name, "m%u", i);
        last = i % 2 ? chain(b, gen_scope(b, model, name), last, 3 + i % 4, i) : chain(b, model, last, 1, i);
    }
    graph g;
    gen_finish(&b, true, &g);
    assert_true(g.scopes_inferred);
    graph_plan *p = make(&g);
    assert_in_range(shown(p), 8, 60);
    graph_plan_destroy(&p);
    graph_deinit(&g);
}

static void equal_layers_stay_together(void **state)
{
    (void)state;
    graph_builder *b = graph_builder_create(NULL, 0);
    uint32_t model = gen_scope(b, 0, "model"), last = gen_node(b, model, "embed", "Gather");
    char name[64];
    for (unsigned i = 0; i < 80; i++) {
        (void)snprintf(name, sizeof name, "layer_%u", i);
        last = chain(b, gen_scope(b, model, name), last, 9, 5);
    }
    graph g;
    gen_finish(&b, true, &g);
    assert_false(g.scopes_inferred);
    graph_plan *p = make(&g);
    assert_int_equal(p->n_families, 1);
    assert_int_equal(p->families[0].n_members, 80);
    graph_plan_destroy(&p);
    graph_deinit(&g);
}

/* Small graphs are shown as they are. */
static void sixty_are_no_crowd(void **state)
{
    (void)state;
    graph_builder *b = graph_builder_create(NULL, 0);
    uint32_t parts[3] = {gen_scope(b, 0, "a"), gen_scope(b, 0, "b"), gen_scope(b, 0, "c")}, last = GRAPH_NONE;
    for (unsigned i = 0; i < 3; i++) {
        last = chain(b, parts[i], last, 19, i);
    }
    graph g;
    gen_finish(&b, true, &g);
    assert_false(g.scopes_inferred);
    graph_deinit(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_alone_opens),         cmocka_unit_test(few_boxes_are_too_few),
        cmocka_unit_test(names_in_runs_become_scopes), cmocka_unit_test(a_crowd_without_names_becomes_sections),
        cmocka_unit_test(equal_layers_stay_together),  cmocka_unit_test(sixty_are_no_crowd),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
