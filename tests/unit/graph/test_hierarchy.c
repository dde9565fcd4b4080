/*
 * Contract: a flat graph gets scopes when asked to, and only then: equal layers become scopes that stack, what does not
 * repeat becomes sections, all of them marked as inferred; stated scopes stay as they are unless one holds more than a
 * thousand operators. No node is lost, whatever the order of the input.
 */
#include "cm.h"

#include "graph/plan.h"
#include "help/graph_gen.h"

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

static uint32_t largest_family(const graph_plan *p)
{
    uint32_t best = 0;
    for (size_t i = 0; i < p->n_families; i++) {
        const plan_family *f = &p->families[i];
        uint64_t holds = (uint64_t)f->n_members * f->size;
        best = holds > (uint64_t)p->families[best].n_members * p->families[best].size ? (uint32_t)i : best;
    }
    return best;
}

static void layers_of_a_flat_transformer_stack(void **state)
{
    (void)state;
    for (int named = 0; named < 2; named++) {
        gen_transformer o = {.n_ops = 32 * GEN_LAYER_OPS, .by_names = named};
        graph_builder *b = gen_transformer_builder(&o);
        graph g;
        gen_finish(&b, true, &g);
        assert_true(g.scopes_inferred);
        for (size_t s = 1; s < g.n_scopes; s++) {
            assert_true(g.scope_flags[s] & GRAPH_SCOPE_INFERRED);
        }
        graph_plan *p = make(&g);
        assert_true(p->n_families > 0);
        const plan_family *f = &p->families[largest_family(p)];
        size_t layers = (g.n_nodes - 5) / 22; /* by the generator: 22 operators a layer, five around them */
        assert_true(f->n_members + 1 >= layers);
        assert_int_equal(f->size, 22);
        assert_int_equal(f->form, STACK_SERIES);
        assert_true(p->steps[STEP_STACK].nodes_after * 8 < p->steps[STEP_STACK].nodes_before);
        graph_plan_destroy(&p);
        graph_deinit(&g);
    }
}

static void nothing_is_inferred_unasked(void **state)
{
    (void)state;
    gen_transformer o = {.n_ops = 600};
    graph_builder *b = gen_transformer_builder(&o);
    graph g;
    gen_finish(&b, false, &g);
    assert_false(g.scopes_inferred);
    assert_int_equal(g.n_scopes, 1);
    graph_deinit(&g);
    o.scopes = true;
    b = gen_transformer_builder(&o);
    gen_finish(&b, true, &g);
    assert_false(g.scopes_inferred); /* stated ones do */
    graph_deinit(&g);
}

/* A chain without a period: sections of about sqrt(n), in series. */
static void a_chain_becomes_sections(void **state)
{
    (void)state;
    enum { N = 500 };
    graph_builder *b = graph_builder_create(NULL, 0);
    for (uint32_t i = 0; i < N; i++) {
        (void)gen_node(b, 0, "", "Identity");
        if (i > 0) {
            graph_builder_edge(b, i - 1, 0, i, 0, 0);
        }
    }
    graph g;
    gen_finish(&b, true, &g);
    assert_true(g.n_scopes > 15 && g.n_scopes < 45);
    graph_plan *p = make(&g);
    assert_true(p->elements[0].n_children <= 6);
    assert_true(p->families[largest_family(p)].n_members >= 15);
    assert_int_equal(p->n_back_arcs, 0);
    graph_plan_destroy(&p);
    graph_deinit(&g);
}

/* A stated scope with five thousand operators of one shape gets scopes inside; its neighbour of fifty does not. */
static void a_huge_stated_scope_is_parted(void **state)
{
    (void)state;
    graph_builder *b = graph_builder_create(NULL, 0);
    uint32_t scopes[3] = {gen_scope(b, 0, "small"), gen_scope(b, 0, "huge"), gen_scope(b, 0, "other")};
    uint32_t last = GRAPH_NONE;
    static const char *const ops[] = {"MatMul", "Add", "Relu", "Conv", "Mul", "Softmax", "Concat"};
    prng r;
    prng_seed(&r, 4);
    for (uint32_t i = 0; i < 5100; i++) {
        uint32_t s = i < 50 ? 0 : i < 5050 ? 1 : 2;
        uint32_t v = gen_node(b, scopes[s], "", ops[prng_below(&r, 7)]);
        if (last != GRAPH_NONE) {
            graph_builder_edge(b, last, 0, v, 0, 0);
        }
        last = v;
    }
    uint32_t third = gen_scope(b, scopes[0], "third");
    (void)gen_node(b, third, "", "Erf");
    graph g;
    gen_finish(&b, true, &g);
    graph_plan *p = make(&g);
    assert_int_equal(g.node_scope[10], scopes[0]);
    assert_int_not_equal(g.node_scope[2000], scopes[1]);
    for (size_t i = 0; i < p->n_elements; i++) {
        assert_true(p->elements[i].n_children <= 200);
    }
    assert_int_equal(p->n_back_arcs, 0); /* sections follow the order of operators */
    graph_plan_destroy(&p);
    graph_deinit(&g);
}

/* Weights called "h.<i>.mlp.fc.weight": the operators between two weights go where both lie, the residual sum ends its
 * layer, and what repeats stacks under its own name. */
static void names_of_weights_make_scopes(void **state)
{
    (void)state;
    graph_builder *b = graph_builder_create(NULL, 0);
    uint32_t x = gen_node(b, 0, "embed", "Gather"), ids = gen_data(b, 0, "ids", GRAPH_INPUT);
    graph_builder_edge(b, ids, 0, x, 0, 0);
    static const char *const parts[] = {"norm", "mlp.fc", "mlp.proj"};
    for (unsigned layer = 0; layer < 12; layer++) {
        uint32_t before = x;
        for (unsigned k = 0; k < 3; k++) {
            char name[64];
            (void)snprintf(name, sizeof name, "h.%u.%s.weight", layer, parts[k]);
            uint32_t weight = gen_data(b, 0, name, GRAPH_PARAMETER), v = gen_node(b, 0, "", k ? "MatMul" : "Norm");
            graph_builder_edge(b, x, 0, v, 0, 0);
            graph_builder_edge(b, weight, 0, v, 1, 0);
            x = v;
            if (k == 1) {
                x = gen_node(b, 0, "", "Gelu");
                graph_builder_edge(b, v, 0, x, 0, 0);
            }
        }
        uint32_t sum = gen_node(b, 0, "", "Add");
        graph_builder_edge(b, x, 0, sum, 0, 0);
        graph_builder_edge(b, before, 0, sum, 1, 0);
        x = sum;
    }
    uint32_t weight = gen_data(b, 0, "ln_f.weight", GRAPH_PARAMETER), last = gen_node(b, 0, "", "Norm");
    graph_builder_edge(b, x, 0, last, 0, 0);
    graph_builder_edge(b, weight, 0, last, 1, 0);
    graph g;
    gen_finish(&b, true, &g);
    strbuf path = {0};
    for (size_t i = 0; i < g.n_nodes; i++) {
        if (strcmp(graph_string(&g, g.node_op[i]), "Gelu") == 0) {
            strbuf_clear(&path);
            graph_scope_path(&g, g.node_scope[i], &path);
            break;
        }
    }
    assert_string_equal(path.s, "h/0/mlp");
    strbuf_deinit(&path);
    graph_plan *p = make(&g);
    const plan_family *f = &p->families[largest_family(p)];
    assert_int_equal(f->n_members, 12);
    assert_int_equal(f->size, 5);
    assert_string_equal(plan_label(p, f->stack), "0-11");
    graph_plan_destroy(&p);
    graph_deinit(&g);
}

/* Stated blocks that alternate stack as pairs, unless they are not in series. */
static void modules_that_take_turns_are_paired(void **state)
{
    (void)state;
    for (int series = 0; series < 2; series++) {
        graph_builder *b = graph_builder_create(NULL, 0);
        uint32_t first = gen_node(b, 0, "first", "Gather"), x = first;
        for (unsigned i = 0; i < 11; i++) {
            char name[32];
            (void)snprintf(name, sizeof name, "block_%u", i);
            uint32_t scope = gen_scope(b, 0, name);
            for (unsigned k = 0; k < 3 + i % 2; k++) {
                uint32_t v = gen_node(b, scope, "", k == 0 ? "MatMul" : "Add");
                graph_builder_edge(b, k == 0 && !series ? first : x, 0, v, 0, 0);
                x = v;
            }
        }
        graph g;
        gen_finish(&b, true, &g);
        assert_int_equal(g.scopes_inferred, series);
        graph_plan *p = make(&g);
        const plan_family *f = &p->families[largest_family(p)];
        assert_int_equal(f->n_members, 5);
        assert_int_equal(f->size, series ? 7 : 4); /* side by side: the odd ones, of four */
        if (series) {
            assert_string_equal(plan_label(p, p->members[f->first_member]), "block_0-1");
            assert_int_equal(p->elements[0].n_children, 3); /* first, five pairs, block_10 */
        }
        graph_plan_destroy(&p);
        graph_deinit(&g);
    }
}

/* The body of a call goes where the call goes. */
static void bodies_follow_their_callers(void **state)
{
    (void)state;
    graph_builder *b = graph_builder_create(NULL, 0);
    uint32_t last = GRAPH_NONE;
    for (uint32_t i = 0; i < 400; i++) {
        uint32_t v = gen_node(b, 0, "", i % 4 == 3 ? "reduce" : i % 4 == 1 ? "dot" : "add");
        if (i % 4 == 3) {
            char name[32];
            (void)snprintf(name, sizeof name, "region_%u", i);
            uint32_t body = graph_builder_scope(b, 0, name, strlen(name), GRAPH_SCOPE_BODY);
            (void)gen_node(b, body, "", "maximum");
            graph_builder_body(b, v, body);
        }
        if (last != GRAPH_NONE) {
            graph_builder_edge(b, last, 0, v, 0, 0);
        }
        last = v;
    }
    graph g;
    gen_finish(&b, true, &g);
    size_t inside = 0, bodies = 0;
    for (size_t i = 0; i < g.n_nodes; i++) {
        if (g.node_body[i] != GRAPH_NONE) {
            bodies++;
            assert_true(g.scope_flags[g.node_body[i]] & GRAPH_SCOPE_BODY);
            inside += g.scope_parent[g.node_body[i]] == g.node_scope[i];
        }
    }
    assert_int_equal(bodies, 100);
    assert_int_equal(inside, 100);
    graph_plan *p = make(&g);
    assert_true(p->elements[0].n_children < 60);
    graph_plan_destroy(&p);
    graph_deinit(&g);
}

static void random_graphs_survive(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 150; seed++) {
        gen_random o = {.seed = seed, .n_nodes = 50 + (unsigned)(seed * 13 % 900), .n_scopes = (unsigned)(seed % 3)};
        o.edges = 0.5 + (double)(seed % 5) / 2;
        o.cyclic = seed % 4 == 0;
        o.parameters = seed % 2;
        graph_builder *b = gen_random_builder(&o);
        graph g;
        gen_finish(&b, true, &g);
        graph_plan *p = make(&g);
        graph_plan_destroy(&p);
        graph_deinit(&g);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layers_of_a_flat_transformer_stack), cmocka_unit_test(nothing_is_inferred_unasked),
        cmocka_unit_test(a_chain_becomes_sections),           cmocka_unit_test(a_huge_stated_scope_is_parted),
        cmocka_unit_test(names_of_weights_make_scopes),       cmocka_unit_test(modules_that_take_turns_are_paired),
        cmocka_unit_test(bodies_follow_their_callers),        cmocka_unit_test(random_graphs_survive),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
