/*
 * Contract: a plan folds parameters and bookkeeping under the guard, joins chains, splits cycles or marks them, and
 * keeps every node reachable; a module stands for the call whose body it is; each step has its switch. Nothing
 * recurses: chains and scopes may be as deep as they like.
 */
#include "cm.h"

#include "graph/plan.h"
#include "help/graph_gen.h"

static graph_plan *make(const graph *g, const plan_options *options)
{
    plan_options o;
    plan_options_init(&o);
    graph_plan *p = NULL;
    assert_int_equal(graph_plan_create(&p, g, options ? options : &o, NULL), MAREY_OK);
    const char *breach = graph_plan_check(p);
    if (breach) {
        fail_msg("%s", breach);
    }
    return p;
}

static uint32_t find(const graph_plan *p, const char *path)
{
    strbuf s = {0};
    uint32_t found = GRAPH_NONE;
    for (uint32_t i = 0; i < p->n_elements && found == GRAPH_NONE; i++) {
        strbuf_clear(&s);
        plan_path(p, i, &s);
        found = strcmp(strbuf_str(&s), path) == 0 ? i : found;
    }
    strbuf_deinit(&s);
    return found;
}

static void parameters_are_shown_by_their_consumers(void **state)
{
    (void)state;
    graph_builder *b = graph_builder_create(NULL, 0);
    uint32_t shared = gen_data(b, 0, "shared", GRAPH_PARAMETER), own = gen_data(b, 0, "own", GRAPH_CONSTANT);
    uint32_t unused = gen_data(b, 0, "unused", GRAPH_PARAMETER);
    uint32_t load = gen_node(b, 0, "load", "Load");
    uint32_t a = gen_node(b, 0, "a", "MatMul"), c = gen_node(b, 0, "c", "Add");
    graph_builder_edge(b, shared, 0, load, 0, 0);
    graph_builder_edge(b, load, 0, a, 1, 0);
    graph_builder_edge(b, load, 0, c, 1, 0);
    graph_builder_edge(b, own, 0, c, 2, 0);
    graph_builder_edge(b, a, 0, c, 0, 0);
    graph g;
    gen_finish(&b, false, &g);
    graph_plan *p = make(&g, NULL);
    assert_int_equal(p->n_elements, 4); /* root, a, c, unused */
    assert_int_equal(p->element_of[shared], GRAPH_NONE);
    assert_int_equal(p->element_of[load], GRAPH_NONE);
    assert_int_equal(p->elements[p->element_of[unused]].node, unused);
    uint32_t nodes[8];
    assert_int_equal(plan_folded_nodes(p, p->element_of[c], nodes, 8), 4);
    assert_int_equal(nodes[0], c);
    assert_int_equal(plan_folded_nodes(p, p->element_of[a], nodes, 8), 3);
    assert_int_equal(p->steps[STEP_PARAMETERS].n_done, 2);
    assert_int_equal(p->steps[STEP_BOOKKEEPING].n_done, 1);
    assert_int_equal(p->steps[STEP_BOOKKEEPING].edges_after, 1);
    graph_plan_destroy(&p);
    graph_deinit(&g);
}

/* MakeTuple of k inputs and m outputs stays; with one output it goes into its consumer. */
static void bookkeeping_keeps_to_its_guard(void **state)
{
    (void)state;
    for (unsigned n_out = 1; n_out <= 2; n_out++) {
        graph_builder *b = graph_builder_create(NULL, 0);
        uint32_t tuple = GRAPH_NONE;
        for (int i = 0; i < 3; i++) {
            (void)gen_node(b, 0, "a", "MatMul");
        }
        tuple = gen_node(b, 0, "tuple", "MakeTuple");
        for (uint32_t i = 0; i < 3; i++) {
            graph_builder_edge(b, i, 0, tuple, i, 0);
        }
        for (unsigned i = 0; i < n_out; i++) {
            uint32_t get = gen_node(b, 0, "get", "TupleGetItem"), use = gen_node(b, 0, "use", "Relu");
            graph_builder_edge(b, tuple, 0, get, 0, 0);
            graph_builder_edge(b, get, 0, use, 0, 0);
        }
        graph g;
        gen_finish(&b, false, &g);
        plan_options o;
        plan_options_init(&o);
        o.steps[STEP_STACK] = false;
        graph_plan *p = make(&g, &o);
        /* Both: the getters go into the tuple. One output: the tuple goes into its consumer. */
        assert_int_equal(p->n_elements, n_out == 1 ? 5 : 7);
        assert_true(p->steps[STEP_BOOKKEEPING].edges_after < p->steps[STEP_BOOKKEEPING].edges_before);
        graph_plan_destroy(&p);
        o.steps[STEP_BOOKKEEPING] = false;
        p = make(&g, &o);
        assert_int_equal(p->n_elements, g.n_nodes + 1);
        graph_plan_destroy(&p);
        graph_deinit(&g);
    }
}

static void chains_become_one(void **state)
{
    (void)state;
    graph_builder *b = graph_builder_create(NULL, 0);
    uint32_t abc = graph_builder_path(b, 0, "a/b/c", 5, '/'), de = graph_builder_path(b, 0, "a/b/c/d/e", 9, '/');
    (void)gen_node(b, abc, "x", "Add");
    (void)gen_node(b, abc, "y", "Mul");
    (void)gen_node(b, de, "z", "Relu");
    (void)gen_node(b, 0, "top", "Erf");
    graph g;
    gen_finish(&b, false, &g);
    plan_options o;
    plan_options_init(&o);
    graph_plan *p = make(&g, &o);
    assert_int_equal(p->n_elements, 6);
    uint32_t module = find(p, "a/b/c");
    assert_int_equal(p->elements[module].scope, abc);
    assert_int_equal(p->elements[module].n_children, 3);
    assert_string_equal(plan_label(p, p->element_of[2]), "d/e/z");
    assert_int_equal(plan_common_ancestor(p, p->element_of[0], p->element_of[2]), module);
    assert_int_equal(plan_child_towards(p, 0, p->element_of[2]), module);
    assert_int_equal(plan_child_towards(p, module, p->element_of[3]), GRAPH_NONE);
    graph_plan_destroy(&p);
    o.steps[STEP_CHAINS] = false;
    p = make(&g, &o);
    assert_int_equal(p->n_elements, 10);
    graph_plan_destroy(&p);
    graph_deinit(&g);
}

/* Forward through m, out and back in: the quotient has a cycle, m is split in two convex parts. */
static void a_module_that_is_entered_again_is_split(void **state)
{
    (void)state;
    graph_builder *b = graph_builder_create(NULL, 0);
    uint32_t m = gen_scope(b, 0, "m"), other = gen_scope(b, 0, "other");
    static const int where[] = {0, 0, 0, 1, 1, 0, 0, 0};
    for (int i = 0; i < 8; i++) {
        (void)gen_node(b, where[i] ? other : m, "", i % 2 ? "Relu" : "Conv");
    }
    for (uint32_t i = 0; i < 7; i++) {
        graph_builder_edge(b, i, 0, i + 1, 0, 0);
    }
    graph g;
    gen_finish(&b, false, &g);
    plan_options o;
    plan_options_init(&o);
    graph_plan *p = make(&g, &o);
    assert_int_equal(p->elements[0].n_children, 3);
    assert_int_equal(p->elements[1].part, 1);
    assert_int_equal(p->elements[1].n_parts, 2);
    assert_int_equal(p->elements[3].part, 2);
    assert_int_equal(p->elements[3].n_leaves, 3);
    assert_int_equal(p->n_back_arcs, 0);
    assert_true(find(p, "m (part 2 of 2)") != GRAPH_NONE);
    graph_plan_destroy(&p);
    o.steps[STEP_CYCLES] = false;
    p = make(&g, &o);
    assert_int_equal(p->elements[0].n_children, 2);
    assert_int_equal(p->n_back_arcs, 1); /* marked, all the same */
    assert_true(plan_is_back_arc(p, 2, 1));
    graph_plan_destroy(&p);
    graph_deinit(&g);
}

static void backward_through_the_same_scopes_is_split(void **state)
{
    (void)state;
    gen_transformer o = {3000, true, true, false};
    graph_builder *b = gen_transformer_builder(&o);
    graph g;
    gen_finish(&b, false, &g);
    graph_plan *p = make(&g, NULL);
    assert_int_equal(p->n_back_arcs, 0);
    assert_true(p->steps[STEP_CYCLES].n_done > 0);
    graph_plan_destroy(&p);
    graph_deinit(&g);
}

static void deep_things_do_not_recurse(void **state)
{
    (void)state;
    enum { DEEP = 10000, LONG = 1000000 };
    graph_builder *b = graph_builder_create(NULL, 0);
    uint32_t scope = 0;
    for (int i = 0; i < DEEP; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "s%d", i);
        scope = gen_scope(b, scope, name);
        if (i % 2) {
            (void)gen_node(b, scope, "x", "Add");
            (void)gen_node(b, scope, "y", "Add");
        }
    }
    for (uint32_t i = 1; i < DEEP; i++) {
        graph_builder_edge(b, i - 1, 0, i, 0, 0);
        graph_builder_edge(b, 0, 0, i, 1, 0);
    }
    graph g;
    gen_finish(&b, false, &g);
    graph_plan *p = make(&g, NULL);
    graph_plan_destroy(&p);
    graph_deinit(&g);

    b = graph_builder_create(NULL, 0);
    for (uint32_t i = 0; i < LONG; i++) {
        (void)gen_node(b, 0, "", i % 3 ? "Relu" : "Conv");
        graph_builder_edge(b, i, 0, i + 1, 0, 0);
    }
    gen_finish(&b, false, &g);
    p = make(&g, NULL);
    graph_plan_destroy(&p);
    graph_deinit(&g);
}

static void a_plan_can_be_cancelled(void **state)
{
    (void)state;
    gen_transformer o = {3000, true, true, false};
    graph_builder *b = gen_transformer_builder(&o);
    graph g;
    gen_finish(&b, false, &g);
    cancel_flag cancel;
    atomic_init(&cancel.set, true);
    plan_options po;
    plan_options_init(&po);
    po.cancel = &cancel;
    graph_plan *p = NULL;
    assert_int_equal(graph_plan_create(&p, &g, &po, NULL), MAREY_CANCELLED);
    assert_null(p);
    graph_deinit(&g);
}

/* A call that lies in its own body, without edges: its module stands for it, and only calls of one type are alike. With
 * an edge, or with nothing else in its scope, it stays an operator. */
static void modules_stand_for_their_calls(void **state)
{
    (void)state;
    graph_builder *b = graph_builder_create(NULL, 0);
    uint32_t call[6], scope[6], last = gen_node(b, 0, "x", "Gather");
    static const char *const ops[6] = {"linear", "linear", "linear", "matmul", "linear", "empty"};
    for (int i = 0; i < 6; i++) {
        char name[32];
        (void)snprintf(name, sizeof name, "%s_%d", ops[i], i);
        scope[i] = gen_scope(b, 0, name);
        call[i] = gen_node(b, scope[i], name, ops[i]);
        graph_builder_body(b, call[i], scope[i]);
        for (int k = 0; k < 2 && i < 5; k++) {
            uint32_t v = gen_node(b, scope[i], k ? "mm" : "t", k ? "mm" : "t");
            graph_builder_edge(b, last, 0, v, 0, 0);
            last = v;
        }
    }
    graph_builder_edge(b, last, 0, call[4], 0, 0);
    graph g;
    gen_finish(&b, false, &g);
    graph_plan *p = make(&g, NULL);
    assert_int_equal(p->n_calls, 4);
    for (int i = 0; i < 4; i++) {
        const plan_element *e = &p->elements[p->element_of[call[i]]];
        assert_int_equal(e->kind, ELEMENT_MODULE);
        assert_int_equal(e->scope, scope[i]);
        assert_int_equal(e->n_leaves, 2);
        assert_int_equal(e->n_nodes, 3);
        uint32_t node = 0;
        assert_int_equal(plan_folded_nodes(p, p->element_of[call[i]], &node, 1), 1);
        assert_int_equal(node, call[i]);
    }
    assert_int_equal(p->elements[p->element_of[call[4]]].kind, ELEMENT_LEAF);
    assert_int_equal(p->elements[p->element_of[call[5]]].kind, ELEMENT_LEAF);
    assert_int_equal(p->n_families, 1);
    assert_int_equal(p->families[0].n_members, 3); /* the matmul has the same inside, but is none */
    assert_int_equal(p->elements[0].n_nodes, g.n_nodes);
    graph_plan_destroy(&p);
    plan_options o;
    plan_options_init(&o);
    o.steps[STEP_CHAINS] = false;
    p = make(&g, &o);
    assert_int_equal(p->n_calls, 0);
    assert_int_equal(p->elements[p->element_of[call[0]]].kind, ELEMENT_LEAF);
    graph_plan_destroy(&p);
    graph_deinit(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parameters_are_shown_by_their_consumers),
        cmocka_unit_test(bookkeeping_keeps_to_its_guard),
        cmocka_unit_test(chains_become_one),
        cmocka_unit_test(a_module_that_is_entered_again_is_split),
        cmocka_unit_test(backward_through_the_same_scopes_is_split),
        cmocka_unit_test(modules_stand_for_their_calls),
        cmocka_unit_test(deep_things_do_not_recurse),
        cmocka_unit_test(a_plan_can_be_cancelled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
