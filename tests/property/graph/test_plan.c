/*
 * Contract: on random graphs with scopes, cycles, parameters and bookkeeping, whatever steps are on, a plan passes its
 * check (every node reachable, sums right, every module's quotient acyclic without the back arcs), bookkeeping never
 * adds an edge, and the same graph gives the same plan.
 */
#include "cm.h"

#include "graph/plan.h"
#include "help/graph_gen.h"

static bool same_elements(const graph_plan *a, const graph_plan *b)
{
    for (size_t i = 0; i < a->n_elements; i++) { /* without the padding at the end */
        if (memcmp(&a->elements[i], &b->elements[i], offsetof(plan_element, depth) + 1) != 0) {
            return false;
        }
    }
    for (size_t i = 0; i < a->n_families; i++) {
        const plan_family *x = &a->families[i], *y = &b->families[i];
        if (x->signature[0] != y->signature[0] || x->signature[1] != y->signature[1] ||
            x->first_member != y->first_member || x->n_members != y->n_members || x->size != y->size ||
            x->first_map != y->first_map || x->stack != y->stack || x->level != y->level || x->form != y->form) {
            return false;
        }
    }
    return true;
}

static bool same_plan(const graph_plan *a, const graph_plan *b)
{
    return a->n_elements == b->n_elements && a->n_text == b->n_text && a->n_families == b->n_families &&
           a->n_members == b->n_members && a->n_map == b->n_map && a->n_back_arcs == b->n_back_arcs &&
           memcmp(a->text, b->text, a->n_text) == 0 &&
           memcmp(a->element_of, b->element_of, a->g->n_nodes * sizeof *a->element_of) == 0 && same_elements(a, b) &&
           (a->n_members == 0 || memcmp(a->members, b->members, a->n_members * sizeof *a->members) == 0) &&
           (a->n_map == 0 || memcmp(a->map, b->map, a->n_map * sizeof *a->map) == 0) &&
           (a->n_back_arcs == 0 || memcmp(a->back_arcs, b->back_arcs, a->n_back_arcs * sizeof *a->back_arcs) == 0);
}

static void check_one(const graph *g, const plan_options *o, uint64_t seed)
{
    graph_plan *p, *again;
    assert_int_equal(graph_plan_create(&p, g, o, NULL), MAREY_OK);
    const char *breach = graph_plan_check(p);
    if (breach) {
        fail_msg("seed %llu: %s", (unsigned long long)seed, breach);
    }
    assert_int_equal(graph_plan_create(&again, g, o, NULL), MAREY_OK);
    assert_true(same_plan(p, again));
    const plan_step_count *book = &p->steps[STEP_BOOKKEEPING];
    assert_true(book->edges_after <= book->edges_before);
    assert_true(book->nodes_after <= book->nodes_before);
    graph_plan_destroy(&p);
    graph_plan_destroy(&again);
}

static void random_graphs_have_sound_plans(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 600; seed++) {
        prng r;
        prng_seed(&r, seed);
        gen_random o = {.seed = seed,
                        .n_nodes = 1 + (unsigned)prng_below(&r, 300),
                        .n_scopes = (unsigned)prng_below(&r, 40),
                        .edges = prng_unit(&r) * 3,
                        .cyclic = prng_below(&r, 3) == 0,
                        .bookkeeping = prng_below(&r, 2),
                        .parameters = prng_below(&r, 2)};
        graph g;
        gen_random_build(&o, &g);
        const char *breach = graph_check(&g);
        if (breach) {
            fail_msg("seed %llu: %s", (unsigned long long)seed, breach);
        }
        plan_options po;
        plan_options_init(&po);
        check_one(&g, &po, seed);
        for (int i = 0; i < GRAPH_STEP_COUNT; i++) {
            po.steps[i] = prng_below(&r, 2);
        }
        po.strictness = (graph_strictness)prng_below(&r, GRAPH_STRICTNESS_COUNT);
        check_one(&g, &po, seed);
        graph_deinit(&g);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_graphs_have_sound_plans)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
