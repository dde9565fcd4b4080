/*
 * Contract: at any expansion state of any graph, what is visible is what brute force says, and no edge is lost.
 *
 * Random graphs with scopes, cycles, self-loops, parallel, control and implied edges, hubs and parameters without a
 * place; plans with stacks of modules and of operators; random states (open, dissolved, any member, without frames).
 *  - visible_check() holds: the account, the order, no unmarked cycle.
 *  - Items are exactly the elements whose ancestors show them; every leaf's edges belong to the item that
 *    graph_state_shown_by() names, found by climbing from the leaf while visible_create() comes from the root.
 *  - Without pruning the lines are the union of the ways of all edges, with their sums, and nothing is stubbed.
 *  - With pruning lines are only left out; an edge is stubbed exactly when its way has a gap; stubs hang at the ends
 * that are cut off, with the number of edges; and what a module's lines joined before is joined still (no bridge is
 * cut).
 *  - Where many edges join the same two elements, sums that were made beforehand stand in for them: the lines have the
 *    flags, edges and bytes of the edges one by one, through random walks from state to state.
 *  - Revealing an element draws all edges at it. Opening a module does not change the lines around other modules.
 *  - A cancelled call gives nothing and frees everything.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/hash.h"
#include "base/mem.h"
#include "graph/visible_edges.h"
#include "help_plan.h"

typedef struct world {
    graph g;
    graph_plan *p;
    graph_state s;
    visible *v;
} world;

static void world_free(world *w)
{
    visible_destroy(&w->v);
    graph_state_deinit(&w->s);
    test_plan_free(&w->p);
    graph_deinit(&w->g);
}

static void world_make(world *w, const random_graph *r, bool prune, size_t n_open)
{
    memset(w, 0, sizeof *w);
    test_graph(&w->g, r);
    w->p = test_plan(&w->g, prune, r->seed % 3 != 0, r->seed + 17);
    graph_state_init(&w->s, w->p);
    (void)graph_state_expand_random(&w->s, w->p, n_open, r->seed);
    w->s.flat = r->seed % 7 == 0;
    assert_int_equal(visible_create(&w->v, w->p, &w->s, NULL), MAREY_OK);
    const char *why = visible_check(w->v, w->p, &w->s);
    if (why) {
        print_message("seed %llu: %s\n", (unsigned long long)r->seed, why);
    }
    assert_null(why);
}

static void with_frames(world *w)
{
    w->s.flat = false;
    visible_destroy(&w->v);
    assert_int_equal(visible_create(&w->v, w->p, &w->s, NULL), MAREY_OK);
}

/* The way of an edge by sets of ancestors, from the contract's words alone. */
typedef struct route {
    uint32_t seg[64][2];
    int n, across; /* across: place of the segment at the common ancestor, or where it would be */
    bool has_across;
} route;

static int ancestors(const visible *v, uint32_t item, uint32_t *list)
{
    int n = 0;
    for (;; item = v->items[item].parent) {
        list[n++] = item;
        if (item == 0) {
            return n;
        }
    }
}

static void find_route(const visible *v, uint32_t x, uint32_t y, route *r)
{
    uint32_t ax[64];
    uint32_t ay[64];
    int nx = ancestors(v, x, ax);
    int ny = ancestors(v, y, ay);
    while (nx > 0 && ny > 0 && ax[nx - 1] == ay[ny - 1]) {
        nx--;
        ny--;
    }
    r->n = 0;
    for (int i = 0; i + 1 < nx + (ny == 0); i++) { /* y encloses x: up to y itself */
        r->seg[r->n][0] = ax[i];
        r->seg[r->n++][1] = ax[i + 1];
    }
    r->across = r->n;
    r->has_across = nx > 0 && ny > 0;
    if (r->has_across) {
        r->seg[r->n][0] = ax[nx - 1];
        r->seg[r->n++][1] = ay[ny - 1];
    }
    for (int i = ny - 1 + (nx == 0); i > 0; i--) {
        r->seg[r->n][0] = ay[i];
        r->seg[r->n++][1] = ay[i - 1];
    }
}

static uint64_t key_of(uint32_t from, uint32_t to)
{
    return (uint64_t)from << 32 | to;
}

static uint32_t item_of_node(const world *w, uint32_t node)
{
    uint32_t leaf = w->p->element_of[node];
    return leaf == GRAPH_NONE ? GRAPH_NONE : w->v->item_of[graph_state_shown_by(&w->s, w->p, leaf)];
}

static bool edge_route(const world *w, size_t e, route *r, uint32_t *x, uint32_t *y)
{
    *x = item_of_node(w, w->g.edge_from[e]);
    *y = item_of_node(w, w->g.edge_to[e]);
    if (*x == GRAPH_NONE || *y == GRAPH_NONE || *x == *y) {
        return false;
    }
    find_route(w->v, *x, *y, r);
    return true;
}

/* All segments by brute force: number of edges, and bytes. */
static void all_segments(const world *w, map64 *n, map64 *bytes)
{
    for (size_t e = 0; e < w->g.n_edges; e++) {
        route r;
        uint32_t x;
        uint32_t y;
        if (!edge_route(w, e, &r, &x, &y)) {
            continue;
        }
        for (int i = 0; i < r.n; i++) {
            *map64_put(n, key_of(r.seg[i][0], r.seg[i][1])) += 1;
            *map64_put(bytes, key_of(r.seg[i][0], r.seg[i][1])) += graph_edge_bytes(&w->g, (uint32_t)e);
        }
    }
}

static random_graph some_graph(uint64_t seed)
{
    uint64_t s = seed;
    return (random_graph){.seed = seed,
                          .n_nodes = 2 + (uint32_t)(test_random(&s) % 150),
                          .n_scopes = (uint32_t)(test_random(&s) % 30),
                          .n_edges = (uint32_t)(test_random(&s) % 400),
                          .back_percent = seed % 2 ? 10 : 0,
                          .n_hubs = (uint32_t)(test_random(&s) % 3)};
}

static void lines_are_the_union_of_ways(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 300; seed++) {
        random_graph r = some_graph(seed);
        world w;
        world_make(&w, &r, false, seed % 40);
        map64 n = {0};
        map64 bytes = {0};
        all_segments(&w, &n, &bytes);
        assert_int_equal(w.v->n_lines, n.n);
        assert_int_equal(w.v->n_stubs, 0);
        assert_int_equal(w.v->n_stubbed, 0);
        for (size_t i = 0; i < w.v->n_lines; i++) {
            const visible_line *l = &w.v->lines[i];
            uint64_t *k = map64_get(&n, key_of(l->from, l->to));
            assert_non_null(k);
            assert_int_equal(*k, l->n_edges);
            assert_int_equal(*map64_get(&bytes, key_of(l->from, l->to)), l->bytes);
        }
        map64_deinit(&n);
        map64_deinit(&bytes);
        world_free(&w);
    }
}

/* Classes and flags of all kinds, which test_graph() does not make. */
static void colour_graph(graph *g, uint64_t seed)
{
    for (size_t i = 0; i < g->n_nodes; i++) {
        g->node_class[i] = test_random(&seed) % 20 == 0 ? GRAPH_CLASS_COLLECTIVE : g->node_class[i];
    }
    for (size_t i = 0; i < g->n_edges; i++) {
        g->edge_flags[i] = (uint8_t)(g->edge_flags[i] | (test_random(&seed) % 40 == 0 ? GRAPH_P2P : 0));
    }
}

static unsigned flags_of(const graph *g, size_t e)
{
    unsigned from = g->node_class[g->edge_from[e]];
    unsigned to = g->node_class[g->edge_to[e]];
    bool comm = from == GRAPH_CLASS_COLLECTIVE || to == GRAPH_CLASS_COLLECTIVE || from == GRAPH_CLASS_SEND ||
                to == GRAPH_CLASS_SEND || from == GRAPH_CLASS_RECEIVE || to == GRAPH_CLASS_RECEIVE;
    return (g->edge_flags[e] & GRAPH_CONTROL ? 0 : 1U << 30) | (comm ? LINE_COMM : 0) |
           (g->edge_flags[e] & GRAPH_P2P ? LINE_P2P : 0);
}

static void lines_are_sums_of_edges(const world *w)
{
    map64 n = {0};
    map64 bytes = {0};
    map64 flags = {0};
    all_segments(w, &n, &bytes);
    for (size_t e = 0; e < w->g.n_edges; e++) {
        route r;
        uint32_t x;
        uint32_t y;
        for (int i = 0; edge_route(w, e, &r, &x, &y) && i < r.n; i++) {
            *map64_put(&flags, key_of(r.seg[i][0], r.seg[i][1])) |= flags_of(&w->g, e);
        }
    }
    assert_int_equal(w->v->n_lines, n.n);
    for (size_t i = 0; i < w->v->n_lines; i++) {
        const visible_line *l = &w->v->lines[i];
        uint64_t key = key_of(l->from, l->to);
        assert_non_null(map64_get(&n, key));
        assert_int_equal(*map64_get(&n, key), l->n_edges);
        assert_int_equal(*map64_get(&bytes, key), l->bytes);
        uint64_t want = *map64_get(&flags, key);
        want = (want & (LINE_COMM | LINE_P2P)) | (want >> 30 & 1 ? 0 : LINE_CONTROL);
        assert_int_equal(want, l->flags & (LINE_COMM | LINE_P2P | LINE_CONTROL));
    }
    map64_deinit(&n);
    map64_deinit(&bytes);
    map64_deinit(&flags);
}

/* Something that is shown opens, closes, dissolves, or shows another member. */
static void step_state(world *w, uint64_t *seed)
{
    uint32_t e = w->v->items[test_random(seed) % w->v->n_items].element;
    e = w->p->elements[e].n_children == 0 ? w->p->elements[e].parent : e;
    uint32_t family = w->p->elements[e].family;
    if (w->p->elements[e].kind == ELEMENT_STACK && test_random(seed) % 2) {
        graph_state_dissolve(&w->s, w->p, e);
    } else {
        graph_state_toggle(&w->s, w->p, e);
    }
    if (family < w->p->n_families) {
        w->s.member[family] = (uint32_t)(test_random(seed) % 3);
    }
    w->s.flat = test_random(seed) % 9 == 0;
}

static void many_edges_add_up(void **state)
{
    (void)state;
    size_t n_runs = 0;
    size_t n_stacks = 0;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        random_graph r = {.seed = seed,
                          .n_nodes = 30 + (uint32_t)(seed * 7 % 90),
                          .n_scopes = 3 + (uint32_t)(seed % 20),
                          .n_edges = 600 + 40 * (uint32_t)seed,
                          .back_percent = seed % 2 ? 10 : 0,
                          .n_hubs = 2};
        world w;
        world_make(&w, &r, false, seed % 12);
        colour_graph(&w.g, seed);
        w.p->edges = visible_edges_create(w.p, NULL);
        n_runs += w.p->edges->n_runs;
        n_stacks += w.p->edges->n_stacks;
        uint64_t at = seed;
        for (int k = 0; k < 12; k++) {
            step_state(&w, &at);
            visible_destroy(&w.v);
            assert_int_equal(visible_create(&w.v, w.p, &w.s, NULL), MAREY_OK);
            assert_null(visible_check(w.v, w.p, &w.s));
            lines_are_sums_of_edges(&w);
        }
        world_free(&w);
    }
    assert_true(n_runs > 1000 && n_stacks > 20);
}

static void items_are_what_is_shown(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        random_graph r = some_graph(seed);
        world w;
        world_make(&w, &r, true, seed % 50);
        for (uint32_t e = 0; e < w.p->n_elements && !w.s.flat; e++) {
            bool shown = w.v->item_of[e] != GRAPH_NONE;
            assert_int_equal(shown, graph_state_shown_by(&w.s, w.p, e) == e);
        }
        world_free(&w);
    }
}

static uint32_t top_of(uint32_t *top, uint32_t x)
{
    while (top[x] != x) {
        x = top[x] = top[top[x]];
    }
    return x;
}

/* Ports of item i are n_items + 2 i (in) and + 1 (out); inside its module an item is itself. */
static void join(const visible *v, uint32_t *top, const uint32_t *seg)
{
    uint32_t n = (uint32_t)v->n_items;
    uint32_t a = v->items[seg[1]].parent == seg[0] && seg[1] != 0 ? n + 2 * seg[0] : seg[0];
    uint32_t z = v->items[seg[0]].parent == seg[1] && seg[0] != 0 ? n + 2 * seg[1] + 1 : seg[1];
    top[top_of(top, a)] = top_of(top, z);
}

static bool line_there(const map64 *lines, const uint32_t *seg)
{
    return map64_get(lines, key_of(seg[0], seg[1])) != NULL;
}

typedef struct cut_seen {
    map64 stubs; /* (item, peer item) -> edges, inputs; and outputs under the key's other order, bit 31 */
    uint32_t *play, *kept;
    size_t n_stubbed;
} cut_seen;

static void see_edge(const world *w, size_t e, const map64 *lines, cut_seen *c)
{
    route r;
    uint32_t x;
    uint32_t y;
    if (!edge_route(w, e, &r, &x, &y)) {
        return;
    }
    bool up = false;
    bool down = false;
    bool across = r.has_across && !line_there(lines, r.seg[r.across]);
    if (r.has_across) {
        join(w->v, c->play, r.seg[r.across]);
    }
    for (int i = r.across - 1; i >= 0 && !across && !up; i--) { /* in play while all further out is there */
        join(w->v, c->play, r.seg[i]);
        up = !line_there(lines, r.seg[i]);
    }
    for (int i = r.across + r.has_across; i < r.n && !across && !down; i++) {
        join(w->v, c->play, r.seg[i]);
        down = !line_there(lines, r.seg[i]);
    }
    bool implied = w->g.edge_flags[e] & GRAPH_IMPLIED;
    c->n_stubbed += (up || down || across) && !implied;
    if (up || across) {
        *map64_put(&c->stubs, key_of(x, y | 1U << 31)) += 1;
    }
    if (down || across) {
        *map64_put(&c->stubs, key_of(y, x)) += 1;
    }
    bool stubbed = visible_edge_fate(w->v, w->p, &w->s, (uint32_t)e) == EDGE_STUBBED;
    assert_int_equal(stubbed, up || down || across);
}

static uint32_t *fresh_tops(const visible *v)
{
    uint32_t *top = mem_alloc((3 * v->n_items + 2) * sizeof *top);
    for (uint32_t i = 0; i < 3 * v->n_items + 2; i++) {
        top[i] = i;
    }
    return top;
}

static void gaps_are_stubs_and_no_bridge_is_cut(void **state)
{
    (void)state;
    size_t total = 0;
    for (uint64_t seed = 1; seed <= 300; seed++) {
        random_graph r = some_graph(seed);
        world w;
        world_make(&w, &r, true, seed % 40);
        map64 lines = {0};
        cut_seen c = {.play = fresh_tops(w.v), .kept = fresh_tops(w.v)};
        for (size_t i = 0; i < w.v->n_lines; i++) {
            *map64_put(&lines, key_of(w.v->lines[i].from, w.v->lines[i].to)) = 1;
            join(w.v, c.kept, (uint32_t[2]){w.v->lines[i].from, w.v->lines[i].to});
        }
        for (size_t e = 0; e < w.g.n_edges; e++) {
            see_edge(&w, e, &lines, &c);
        }
        assert_int_equal(c.n_stubbed, w.v->n_stubbed);
        assert_int_equal(c.stubs.n, w.v->n_stubs);
        for (size_t i = 0; i < w.v->n_stubs; i++) {
            const visible_stub *s = &w.v->stubs[i];
            uint32_t peer = w.v->item_of[s->peer];
            uint64_t *n = map64_get(&c.stubs, s->is_input ? key_of(s->item, peer) : key_of(s->item, peer | 1U << 31));
            assert_non_null(n);
            assert_int_equal(*n, s->n_edges);
        }
        for (uint32_t i = 0; i < 3 * w.v->n_items; i++) {
            for (uint32_t k = 0; k < i; k++) {
                bool before = top_of(c.play, i) == top_of(c.play, k);
                bool after = top_of(c.kept, i) == top_of(c.kept, k);
                assert_int_equal(before, after);
            }
        }
        total += w.v->n_stubs;
        map64_deinit(&lines);
        map64_deinit(&c.stubs);
        free(c.play);
        free(c.kept);
        world_free(&w);
    }
    assert_true(total > 100); /* the rules did something */
}

static void revealing_draws_what_was_stubbed(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 100; seed++) {
        random_graph r = some_graph(seed);
        world w;
        world_make(&w, &r, true, seed % 30);
        if (w.v->n_stubs > 0) {
            uint32_t item = w.v->stubs[seed % w.v->n_stubs].item;
            size_t stubbed = w.v->n_stubbed;
            size_t n_lines = w.v->n_lines;
            w.s.revealed = w.v->items[item].element;
            visible_destroy(&w.v);
            assert_int_equal(visible_create(&w.v, w.p, &w.s, NULL), MAREY_OK);
            assert_null(visible_check(w.v, w.p, &w.s));
            assert_true(w.v->n_stubbed <= stubbed && w.v->n_lines >= n_lines);
            for (size_t i = 0; i < w.v->n_stubs; i++) {
                assert_int_not_equal(w.v->stubs[i].item, item);
            }
            size_t plain = 0;
            for (size_t i = 0; i < w.v->n_lines; i++) {
                plain += !(w.v->lines[i].flags & LINE_REVEALED);
            }
            assert_int_equal(plain, n_lines);
        }
        world_free(&w);
    }
}

/* The lines right inside the root: (from element, to element, edges). */
static void root_lines(const visible *v, map64 *out)
{
    for (size_t i = 0; i < v->n_lines && v->lines[i].module == 0; i++) {
        const visible_line *l = &v->lines[i];
        *map64_put(out, key_of(v->items[l->from].element, v->items[l->to].element)) = l->n_edges;
    }
}

static void opening_a_module_leaves_the_lines_around_it(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 100; seed++) {
        random_graph r = some_graph(seed);
        world w;
        world_make(&w, &r, true, 0);
        with_frames(&w);
        map64 before = {0};
        map64 after = {0};
        root_lines(w.v, &before);
        visible_destroy(&w.v);
        graph_state_expand_all(&w.s, w.p, seed % 2);
        assert_int_equal(visible_create(&w.v, w.p, &w.s, NULL), MAREY_OK);
        assert_null(visible_check(w.v, w.p, &w.s));
        root_lines(w.v, &after);
        assert_int_equal(before.n, after.n);
        for (size_t i = 0; i < before.cap; i++) {
            if (before.used[i]) {
                assert_int_equal(before.slots[i].value, *map64_get(&after, before.slots[i].key));
            }
        }
        map64_deinit(&before);
        map64_deinit(&after);
        world_free(&w);
    }
}

static void the_first_view_keeps_the_budget(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 100; seed++) {
        random_graph r = some_graph(seed);
        world w;
        world_make(&w, &r, true, 0);
        size_t least = w.v->n_shown;
        visible_destroy(&w.v);
        graph_state_default(&w.s, w.p, 40);
        assert_int_equal(visible_create(&w.v, w.p, &w.s, NULL), MAREY_OK);
        assert_true(w.v->n_shown <= (least > 40 ? least : 40));
        world_free(&w);
    }
}

static void any_leaf_can_be_reached(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        random_graph r = some_graph(seed);
        world w;
        world_make(&w, &r, true, seed % 10);
        with_frames(&w);
        for (uint32_t e = 0; e < w.p->n_elements; e += 7) {
            if (w.p->elements[e].kind == ELEMENT_LEAF) {
                graph_state_reveal(&w.s, w.p, e);
                assert_int_equal(graph_state_shown_by(&w.s, w.p, e), e);
            }
        }
        world_free(&w);
    }
}

static void a_cancelled_call_gives_nothing(void **state)
{
    (void)state;
    random_graph r = some_graph(5);
    world w;
    world_make(&w, &r, true, 10);
    cancel_flag c = {true};
    visible *v = NULL;
    assert_int_equal(visible_create(&v, w.p, &w.s, &c), MAREY_CANCELLED);
    assert_null(v);
    world_free(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_the_union_of_ways),
        cmocka_unit_test(many_edges_add_up),
        cmocka_unit_test(items_are_what_is_shown),
        cmocka_unit_test(gaps_are_stubs_and_no_bridge_is_cut),
        cmocka_unit_test(revealing_draws_what_was_stubbed),
        cmocka_unit_test(opening_a_module_leaves_the_lines_around_it),
        cmocka_unit_test(the_first_view_keeps_the_budget),
        cmocka_unit_test(any_leaf_can_be_reached),
        cmocka_unit_test(a_cancelled_call_gives_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
