/*
 * Contract of pipeline stages: equal modules of different stages are never one stack; parting the stages opens every
 * module that holds operators of several, and no other; without frames each shown element then lies in one stage.
 */
#include "cm.h"

#include "graph/builder.h"
#include "graph/visible.h"

enum { STAGES = 3, LAYERS = 4 };

static uint32_t add(graph_builder *b, const char *op, uint32_t scope, int32_t stage)
{
    graph_node_in n = {
        .name = op, .n_name = strlen(op), .op = op, .n_op = strlen(op), .scope = scope, .key = -1, .stage = stage};
    return graph_builder_node(b, &n);
}

/* One scope "net" over all stages; in each stage four equal layers in series, a send to the next stage. */
static void make(graph *g)
{
    graph_builder *b = graph_builder_create(NULL, 0);
    uint32_t net = graph_builder_path(b, 0, "net", 3, '/');
    uint32_t before = GRAPH_NONE;
    for (int32_t s = 0; s < STAGES; s++) {
        const uint32_t rank = (uint32_t)s;
        graph_builder_stage(b, s, &rank, 1);
        uint32_t last = add(b, s > 0 ? "Receive" : "GetNext", net, s);
        if (before != GRAPH_NONE) {
            graph_builder_edge(b, before, 0, last, 0, GRAPH_IMPLIED | GRAPH_P2P);
        }
        for (int i = 0; i < LAYERS; i++) {
            char name[32];
            int n = snprintf(name, sizeof name, "layer.%d", s * LAYERS + i);
            uint32_t scope = graph_builder_scope(b, net, name, (size_t)n, 0);
            uint32_t mul = add(b, "MatMul", scope, s);
            uint32_t relu = add(b, "ReLU", scope, s);
            graph_builder_edge(b, last, 0, mul, 0, 0);
            graph_builder_edge(b, mul, 0, relu, 0, 0);
            last = relu;
        }
        before = add(b, "Send", net, s);
        graph_builder_edge(b, last, 0, before, 0, 0);
    }
    graph_finish_options o = {0};
    assert_int_equal(graph_builder_finish(b, &o, g), MAREY_OK);
    graph_builder_destroy(&b);
}

static void check_one_stage(const graph_plan *p, uint32_t element)
{
    int seen = -1;
    for (uint32_t i = 0; i < p->n_elements; i++) {
        bool inside =
            p->elements[i].kind == ELEMENT_LEAF && (i == element || plan_child_towards(p, element, i) != GRAPH_NONE);
        if (inside) {
            int stage = p->g->node_stage[p->elements[i].node];
            assert_true(seen < 0 || seen == stage);
            seen = stage;
        }
    }
}

static void stacks_and_lanes(void **state)
{
    (void)state;
    graph g = {0};
    make(&g);
    plan_options o;
    plan_options_init(&o);
    graph_plan *p = NULL;
    assert_int_equal(graph_plan_create(&p, &g, &o, NULL), MAREY_OK);
    size_t stacks = 0;
    for (uint32_t i = 0; i < p->n_elements; i++) {
        if (p->elements[i].kind == ELEMENT_STACK) {
            assert_int_equal(p->elements[i].n_children, LAYERS);
            check_one_stage(p, i);
            stacks++;
        }
    }
    assert_int_equal(stacks, STAGES);
    graph_state s;
    graph_state_init(&s, p);
    s.flat = true;
    graph_state_part_stages(&s, p);
    visible *v = NULL;
    assert_int_equal(visible_create(&v, p, &s, NULL), MAREY_OK);
    assert_null(visible_check(v, p, &s));
    assert_int_equal(v->n_back, 0); /* sends and receives of one direction make no cycle */
    for (size_t i = 1; i < v->n_items; i++) {
        check_one_stage(p, v->items[i].element);
    }
    assert_int_equal(v->n_shown, STAGES * 3);
    visible_destroy(&v);
    graph_state_deinit(&s);
    graph_plan_destroy(&p);
    graph_deinit(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(stacks_and_lanes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
