/*
 * Contract: whatever is visible can be laid out, and the layout is right, stable and cheap to cancel.
 *
 * Random graphs (as for what is visible) at random states, in both directions and routings, wrapped and not; graphs of
 * chains, of hubs, without lines, of one node.
 *  - graph_layout_check() holds: finite, children inside, siblings apart, routes from box to box.
 *  - Orthogonal routes are made of axis-parallel pieces; no route runs through a box that it does not join, unless it
 *    is a revealed line.
 *  - The length is what the points say. (Crossings on the page are counted, and compared, by tests/bench/bench_graph.)
 *  - The same input gives the same layout, with an empty cache, a warm one, or none, whatever was open in between.
 *  - Lines end at the part of a box's side that is theirs.
 *  - Lines of ports go straight to their row of a wrapped module; a line that runs back between closed boxes is the
 *    short way back: out at the left, in at the right.
 *  - By stage: every operator in its lane, in the order of execution, blocks after what they wait for.
 *  - A chain of many operators needs no recursion; a cancelled call gives nothing.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "graph/layout.h"
#include "help_plan.h"

typedef struct world {
    graph g;
    graph_plan *p;
    graph_state s;
    visible *v;
} world;

static void world_show(world *w)
{
    visible_destroy(&w->v);
    assert_int_equal(visible_create(&w->v, w->p, &w->s, NULL), MAREY_OK);
}

static void world_make(world *w, const random_graph *r, bool prune, size_t n_open)
{
    memset(w, 0, sizeof *w);
    test_graph(&w->g, r);
    w->p = test_plan(&w->g, prune, true, r->seed + 17);
    graph_state_init(&w->s, w->p);
    (void)graph_state_expand_random(&w->s, w->p, n_open, r->seed);
    world_show(w);
}

static void world_free(world *w)
{
    visible_destroy(&w->v);
    graph_state_deinit(&w->s);
    test_plan_free(&w->p);
    graph_deinit(&w->g);
}

static random_graph some_graph(uint64_t seed)
{
    uint64_t s = seed;
    return (random_graph){.seed = seed,
                          .n_nodes = 1 + (uint32_t)(test_random(&s) % 120),
                          .n_scopes = (uint32_t)(test_random(&s) % 20),
                          .n_edges = (uint32_t)(test_random(&s) % 250),
                          .back_percent = seed % 2 ? 10 : 0,
                          .n_hubs = (uint32_t)(test_random(&s) % 3),
                          .local = seed % 5 == 0};
}

static layout_options some_options(uint64_t seed)
{
    layout_options o;
    layout_options_init(&o);
    o.direction = seed % 3 == 0 ? LAYOUT_DOWN : LAYOUT_RIGHT;
    o.wrap_aspect = seed % 4 == 0 ? 0 : seed % 4 == 1 ? 2 : 6;
    return o;
}

static void must_hold(const graph_layout *l, const visible *v, uint64_t seed)
{
    const char *why = graph_layout_check(l, v);
    if (why) {
        print_message("seed %llu: %s\n", (unsigned long long)seed, why);
    }
    assert_null(why);
}

/* Whether an axis-parallel piece goes through the inside of a box. */
static bool pierces(const layout_box *b, double x0, double y0, double x1, double y1)
{
    const double s = 1;
    double xa = fmin(x0, x1);
    double xb = fmax(x0, x1);
    double ya = fmin(y0, y1);
    double yb = fmax(y0, y1);
    return xa < b->x + (double)b->w - s && xb > b->x + s && ya < b->y + (double)b->h - s && yb > b->y + s;
}

static void route_is_clean(const graph_layout *l, const visible *v, size_t line, uint64_t seed)
{
    const visible_line *x = &v->lines[line];
    const layout_box *m = &l->boxes[x->module];
    const layout_point *q = l->points + l->routes[line].first_point;
    for (uint32_t i = 1; i < l->routes[line].n_points; i++) {
        assert_true(fabsf(q[i].x - q[i - 1].x) < 0.02F || fabsf(q[i].y - q[i - 1].y) < 0.02F);
        const visible_item *it = &v->items[x->module];
        for (uint32_t c = it->first_child; c < it->first_child + it->n_children && !(x->flags & LINE_REVEALED); c++) {
            bool through = pierces(&l->boxes[c], m->x + (double)q[i - 1].x, m->y + (double)q[i - 1].y,
                                   m->x + (double)q[i].x, m->y + (double)q[i].y);
            if (through) {
                print_message("seed %llu line %zu runs through item %u\n", (unsigned long long)seed, line, c);
            }
            assert_false(through);
        }
    }
}

static void layouts_of_random_graphs_hold(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 400; seed++) {
        random_graph r = some_graph(seed);
        layout_options o = some_options(seed);
        world w;
        world_make(&w, &r, seed % 2, seed % 25);
        graph_layout *l;
        assert_int_equal(graph_layout_create(&l, w.p, w.v, &o, NULL), MAREY_OK);
        must_hold(l, w.v, seed);
        double length = 0;
        for (size_t i = 0; i < w.v->n_lines; i++) {
            route_is_clean(l, w.v, i, seed);
            const layout_point *q = l->points + l->routes[i].first_point;
            for (uint32_t k = 1; k < l->routes[i].n_points; k++) {
                length += fabs((double)q[k].x - (double)q[k - 1].x) + fabs((double)q[k].y - (double)q[k - 1].y);
            }
        }
        assert_true(fabs(length - l->edge_length_px) < 1e-3 * (length + 1));
        graph_layout_destroy(&l);
        o.routing = ROUTE_SMOOTH;
        assert_int_equal(graph_layout_create(&l, w.p, w.v, &o, NULL), MAREY_OK);
        must_hold(l, w.v, seed);
        for (size_t i = 0; i < w.v->n_lines; i++) {
            assert_int_equal(l->routes[i].n_points % 3, 1);
        }
        graph_layout_destroy(&l);
        world_free(&w);
    }
}

static bool same_layout(const graph_layout *a, const graph_layout *b, const visible *v)
{
    if (a->n_points != b->n_points || memcmp(a->points, b->points, a->n_points * sizeof *a->points) != 0) {
        return false;
    }
    for (size_t i = 0; i < v->n_items; i++) {
        const layout_box *x = &a->boxes[i];
        const layout_box *y = &b->boxes[i];
        if (memcmp(&x->x, &y->x, sizeof x->x) != 0 || memcmp(&x->y, &y->y, sizeof x->y) != 0 || x->w < y->w ||
            x->w > y->w || x->h < y->h || x->h > y->h) {
            return false;
        }
    }
    return a->n_crossings == b->n_crossings;
}

/* What is alone inside an open module may have been closed by the random state; opening opens it. */
static void toggle_twice(world *w, uint32_t e)
{
    graph_state_toggle(&w->s, w->p, e);
    graph_state_toggle(&w->s, w->p, e);
    world_show(w);
}

static void toggling_twice_gives_the_same_layout(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        random_graph r = some_graph(seed);
        layout_options o = some_options(seed);
        world w;
        world_make(&w, &r, true, seed % 12);
        layout_cache *cache = layout_cache_create(seed % 2 ? 1 << 20 : 3000);
        graph_layout *first;
        graph_layout *other;
        for (uint32_t e = 1; e < w.p->n_elements && e < 12; e++) {
            toggle_twice(&w, e);
            assert_int_equal(graph_layout_create(&first, w.p, w.v, &o, NULL), MAREY_OK);
            graph_state_toggle(&w.s, w.p, e);
            world_show(&w);
            assert_int_equal(graph_layout_create(&other, w.p, w.v, &o, cache), MAREY_OK);
            must_hold(other, w.v, seed);
            graph_layout_destroy(&other);
            graph_state_toggle(&w.s, w.p, e);
            world_show(&w);
            assert_int_equal(graph_layout_create(&other, w.p, w.v, &o, cache), MAREY_OK);
            assert_true(same_layout(first, other, w.v));
            graph_layout_destroy(&other);
            graph_layout_destroy(&first);
        }
        layout_cache_destroy(&cache);
        world_free(&w);
    }
}

static void a_revealed_element_moves_nothing(void **state)
{
    (void)state;
    size_t revealed = 0;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        random_graph r = some_graph(seed);
        layout_options o = some_options(seed);
        world w;
        world_make(&w, &r, true, 15);
        if (w.v->n_stubs > 0) {
            graph_layout *a;
            graph_layout *b;
            assert_int_equal(graph_layout_create(&a, w.p, w.v, &o, NULL), MAREY_OK);
            w.s.revealed = w.v->items[w.v->stubs[0].item].element;
            world_show(&w);
            assert_int_equal(graph_layout_create(&b, w.p, w.v, &o, NULL), MAREY_OK);
            must_hold(b, w.v, seed);
            for (size_t i = 0; i < w.v->n_items; i++) {
                assert_true(fabs(a->boxes[i].x - b->boxes[i].x) < 0.01 && fabs(a->boxes[i].y - b->boxes[i].y) < 0.01);
            }
            revealed++;
            graph_layout_destroy(&a);
            graph_layout_destroy(&b);
        }
        world_free(&w);
    }
    assert_true(revealed > 20);
}

/* Each stage computes micro-batch after micro-batch; a block waits for the one that sends to it. */
static void lanes_show_the_schedule(void **state)
{
    (void)state;
    world w = {0};
    test_pipeline(&w.g, 4, 5, 6);
    w.p = test_plan(&w.g, false, false, 1);
    graph_state_init(&w.s, w.p);
    w.s.flat = true;
    world_show(&w);
    assert_null(visible_check(w.v, w.p, &w.s));
    layout_options o;
    layout_options_init(&o);
    o.by_stage = true;
    graph_layout *l;
    assert_int_equal(graph_layout_create(&l, w.p, w.v, &o, NULL), MAREY_OK);
    must_hold(l, w.v, 0);
    assert_int_equal(l->n_lanes, 4);
    for (uint32_t node = 0; node < w.g.n_nodes; node++) {
        const layout_box *b = &l->boxes[w.v->item_of[w.p->element_of[node]]];
        const layout_lane *lane = &l->lanes[w.g.node_stage[node]];
        assert_true(b->y >= lane->y && b->y + (double)b->h <= lane->y + lane->h);
        if (node % 6 != 0) {
            const layout_box *before = &l->boxes[w.v->item_of[w.p->element_of[node - 1]]];
            assert_true(b->x > before->x + (double)before->w); /* in the order of execution */
        }
    }
    for (size_t i = 0; i < w.v->n_lines; i++) { /* a receive begins when its send has ended */
        route_is_clean(l, w.v, i, 0);
        const layout_box *a = &l->boxes[w.v->lines[i].from];
        const layout_box *z = &l->boxes[w.v->lines[i].to];
        assert_true(z->x > a->x + (double)a->w);
    }
    for (size_t k = 1; k < l->n_lanes; k++) {
        assert_true(l->lanes[k].y >= l->lanes[k - 1].y + l->lanes[k - 1].h);
    }
    graph_layout_destroy(&l);
    world_free(&w);
}

/* Any graph with stages, whatever crosses them. */
static void lanes_of_random_graphs_hold(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 150; seed++) {
        random_graph r = some_graph(seed);
        world w;
        world_make(&w, &r, seed % 2, seed % 25);
        graph_stage stages[3] = {{.stage = 0}, {.stage = 1}, {.stage = 2}};
        uint64_t s = seed;
        free(w.g.stages);
        w.g.stages = mem_alloc(sizeof stages);
        memcpy(w.g.stages, stages, sizeof stages);
        w.g.n_stages = 3;
        w.g.node_stage = mem_realloc_array(w.g.node_stage, w.g.n_nodes, sizeof *w.g.node_stage);
        for (size_t i = 0; i < w.g.n_nodes; i++) {
            w.g.node_stage[i] = (int16_t)((int)(test_random(&s) % 4) - 1);
        }
        w.s.flat = seed % 3 != 0;
        world_show(&w);
        assert_null(visible_check(w.v, w.p, &w.s));
        layout_options o = some_options(seed);
        o.by_stage = true;
        o.routing = seed % 5 == 0 ? ROUTE_SMOOTH : ROUTE_ORTHOGONAL;
        graph_layout *l;
        assert_int_equal(graph_layout_create(&l, w.p, w.v, &o, NULL), MAREY_OK);
        must_hold(l, w.v, seed);
        for (size_t i = 0; i < w.v->n_lines && o.routing == ROUTE_ORTHOGONAL; i++) {
            route_is_clean(l, w.v, i, seed);
        }
        graph_layout_destroy(&l);
        world_free(&w);
    }
}

static void a_long_chain_needs_no_recursion_and_is_wrapped(void **state)
{
    (void)state;
    random_graph r = {.seed = 3, .n_nodes = 200000, .n_edges = 0};
    world w = {0};
    diag d;
    diag_init(&d);
    graph_builder *b = graph_builder_create(&d, diag_file(&d, "chain"));
    for (uint32_t i = 0; i < r.n_nodes; i++) {
        graph_node_in n = {.name = "x", .n_name = 1, .op = "Op", .n_op = 2, .key = -1, .stage = -1};
        uint32_t id = graph_builder_node(b, &n);
        if (i > 0) {
            graph_builder_edge(b, id - 1, 0, id, 0, 0);
        }
    }
    graph_finish_options f = {0};
    assert_int_equal(graph_builder_finish(b, &f, &w.g), MAREY_OK);
    graph_builder_destroy(&b);
    diag_deinit(&d);
    w.p = test_plan(&w.g, true, false, 1);
    graph_state_init(&w.s, w.p);
    world_show(&w);
    layout_options o;
    layout_options_init(&o);
    graph_layout *l;
    assert_int_equal(graph_layout_create(&l, w.p, w.v, &o, NULL), MAREY_OK);
    must_hold(l, w.v, 3);
    assert_true(l->width < 6 * l->height && l->height < 6 * l->width);
    graph_layout_destroy(&l);
    cancel_flag c = {true};
    o.cancel = &c;
    assert_int_equal(graph_layout_create(&l, w.p, w.v, &o, NULL), MAREY_CANCELLED);
    assert_null(l);
    world_free(&w);
}

/* Operators by name; each in the module or outside. */
static void small_world(world *w, uint32_t n, uint32_t first_in, uint32_t last_in, const uint32_t (*edges)[2],
                        size_t n_edges)
{
    memset(w, 0, sizeof *w);
    diag d;
    diag_init(&d);
    graph_builder *b = graph_builder_create(&d, diag_file(&d, "small"));
    uint32_t module = graph_builder_scope(b, 0, "m", 1, 0);
    for (uint32_t i = 0; i < n; i++) {
        graph_node_in in = {.name = "operator",
                            .n_name = 8,
                            .op = "Op",
                            .n_op = 2,
                            .scope = i >= first_in && i <= last_in ? module : 0,
                            .key = -1,
                            .stage = -1};
        (void)graph_builder_node(b, &in);
    }
    for (size_t i = 0; i < n_edges; i++) {
        graph_builder_edge(b, edges[i][0], 0, edges[i][1], (uint32_t)i & 7, 0);
    }
    graph_finish_options f = {0};
    assert_int_equal(graph_builder_finish(b, &f, &w->g), MAREY_OK);
    graph_builder_destroy(&b);
    diag_deinit(&d);
    w->p = test_plan(&w->g, false, false, 1);
    graph_state_init(&w->s, w->p);
    graph_state_expand_all(&w->s, w->p, false);
    world_show(w);
}

static double detour(const graph_layout *l, size_t line)
{
    const layout_point *q = l->points + l->routes[line].first_point;
    uint32_t n = l->routes[line].n_points;
    double sum = 0;
    for (uint32_t k = 1; k < n; k++) {
        sum += fabs((double)q[k].x - (double)q[k - 1].x) + fabs((double)q[k].y - (double)q[k - 1].y);
    }
    return sum - fabs((double)q[n - 1].x - (double)q[0].x) - fabs((double)q[n - 1].y - (double)q[0].y);
}

/* A long chain in a module; what comes in goes to its first and last operator, and both go out. */
static void lines_of_ports_go_beside_the_rows(void **state)
{
    (void)state;
    enum { CHAIN = 40 };
    uint32_t edges[CHAIN + 3][2];
    for (uint32_t i = 0; i < CHAIN + 1; i++) {
        edges[i][0] = i;
        edges[i][1] = i + 1;
    }
    memcpy(edges[CHAIN + 1], (uint32_t[2]){0, CHAIN}, sizeof edges[0]);
    memcpy(edges[CHAIN + 2], (uint32_t[2]){1, CHAIN + 1}, sizeof edges[0]);
    for (int down = 0; down < 2; down++) {
        world w;
        small_world(&w, CHAIN + 2, 1, CHAIN, (const uint32_t(*)[2])edges, CHAIN + 3);
        layout_options o;
        layout_options_init(&o);
        o.direction = down ? LAYOUT_DOWN : LAYOUT_RIGHT;
        graph_layout *l;
        assert_int_equal(graph_layout_create(&l, w.p, w.v, &o, NULL), MAREY_OK);
        must_hold(l, w.v, 0);
        size_t n = 0;
        double ys[2] = {1e9, -1e9};
        for (size_t i = 0; i < w.v->n_lines; i++) {
            route_is_clean(l, w.v, i, 0);
            const visible_line *x = &w.v->lines[i];
            const layout_box *b = &l->boxes[x->to];
            double across = down ? b->x : b->y;
            ys[0] = x->module ? fmin(ys[0], across) : ys[0];
            ys[1] = x->module ? fmax(ys[1], across) : ys[1];
            if (x->module && (x->from == x->module || x->to == x->module)) {
                assert_true(detour(l, i) < 150); /* round a box, not along a row */
                n++;
            }
        }
        assert_true(ys[1] - ys[0] > 100); /* it is wrapped */
        assert_int_equal(n, 4);
        graph_layout_destroy(&l);
        world_free(&w);
    }
}

static void inset_of(void *ctx, const graph_plan *p, uint32_t element, float *before, float *after)
{
    (void)ctx;
    (void)p;
    *before = element % 2 ? 7 : 0;
    *after = element % 3 ? 0 : 5;
}

/* Lines keep off what is beside the body of a box. */
static void lines_end_at_the_body_of_a_box(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        random_graph r = some_graph(seed);
        layout_options o = some_options(seed);
        o.inset = inset_of;
        o.direction = LAYOUT_RIGHT;
        world w;
        world_make(&w, &r, true, seed % 12);
        graph_layout *l;
        assert_int_equal(graph_layout_create(&l, w.p, w.v, &o, NULL), MAREY_OK);
        must_hold(l, w.v, seed);
        for (size_t i = 0; i < w.v->n_lines; i++) {
            const visible_line *x = &w.v->lines[i];
            const layout_point *q = l->points + l->routes[i].first_point;
            const uint32_t item[2] = {x->from, x->to};
            for (int e = 0; e < 2; e++) {
                const layout_box *b = &l->boxes[item[e]];
                float before;
                float after;
                inset_of(NULL, w.p, w.v->items[item[e]].element, &before, &after);
                double y = (double)q[e ? l->routes[i].n_points - 1 : 0].y + l->boxes[x->module].y - b->y;
                bool closed = item[e] != x->module && w.v->items[item[e]].n_children == 0;
                assert_true(!closed || (y >= (double)before && y <= (double)b->h - (double)after));
            }
        }
        graph_layout_destroy(&l);
        world_free(&w);
    }
}

static void a_line_back_takes_the_short_way(void **state)
{
    (void)state;
    static const uint32_t edges[][2] = {{0, 1}, {1, 2}, {2, 3}, {3, 1}, {2, 1}, {3, 4}};
    world w;
    small_world(&w, 5, 9, 9, edges, 6);
    layout_options o;
    layout_options_init(&o);
    o.wrap_aspect = 0;
    graph_layout *l;
    assert_int_equal(graph_layout_create(&l, w.p, w.v, &o, NULL), MAREY_OK);
    must_hold(l, w.v, 0);
    size_t n = 0;
    for (size_t i = 0; i < w.v->n_lines; i++) {
        route_is_clean(l, w.v, i, 0);
        const visible_line *x = &w.v->lines[i];
        if (x->flags & LINE_BACK) {
            const layout_point *q = l->points + l->routes[i].first_point;
            const layout_box *a = &l->boxes[x->from];
            const layout_box *z = &l->boxes[x->to];
            double end = (double)q[l->routes[i].n_points - 1].x;
            assert_true(fabs((double)q[0].x - (a->x - l->boxes[0].x)) < 1);
            assert_true(fabs(end - (z->x + (double)z->w - l->boxes[0].x)) < 1);
            assert_true(detour(l, i) < 200);
            n++;
        }
    }
    assert_int_equal(n, 2);
    graph_layout_destroy(&l);
    world_free(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layouts_of_random_graphs_hold),
        cmocka_unit_test(toggling_twice_gives_the_same_layout),
        cmocka_unit_test(a_revealed_element_moves_nothing),
        cmocka_unit_test(lines_of_ports_go_beside_the_rows),
        cmocka_unit_test(lines_end_at_the_body_of_a_box),
        cmocka_unit_test(a_line_back_takes_the_short_way),
        cmocka_unit_test(lanes_show_the_schedule),
        cmocka_unit_test(lanes_of_random_graphs_hold),
        cmocka_unit_test(a_long_chain_needs_no_recursion_and_is_wrapped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
