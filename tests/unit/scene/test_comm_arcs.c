/*
 * Contract: the link that closes a ring goes around the nodes where a plain arc would pass under others: it begins and
 * ends at its own nodes, touches no other one, and stays close to them. Where nothing is in the way, or the ends lie in
 * the midst of others, nothing is drawn and the caller is told.
 */
#include "cm.h"

#include "scene/comm_arcs.h"
#include "scene/internal.h"

enum { COLUMNS = 7, ROWS = 6, N_NODES = COLUMNS * ROWS };

static const float pitch = 60;
static scene s;
static draw_list list;

static int set_up(void **state)
{
    (void)state;
    s.l = &list;
    s.m.s = 1;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    draw_list_deinit(&list);
    return 0;
}

static unsigned next_random(unsigned *seed)
{
    *seed = *seed * 1103515245U + 12345U;
    return *seed >> 16;
}

/* A grid of nodes of all sizes, some of its places free. @return how many */
static uint32_t make_nodes(node_place *nodes, unsigned *seed)
{
    uint32_t n = 0;
    unsigned columns = 1 + next_random(seed) % COLUMNS;
    unsigned rows = 1 + next_random(seed) % ROWS;
    for (unsigned k = 0; k < columns * rows; k++) {
        if (next_random(seed) % 8 == 0) {
            continue;
        }
        nodes[n++] = (node_place){100 + pitch * (float)(k % columns), 100 + pitch * (float)(k / columns),
                                  pitch * (0.15F + 0.19F * (float)(next_random(seed) % 100) / 100)};
    }
    return n;
}

static float distance(const draw_line *l, float x, float y)
{
    float dx = l->x1 - l->x0;
    float dy = l->y1 - l->y0;
    float len = dx * dx + dy * dy;
    float t = len > 0 ? fminf(fmaxf(((x - l->x0) * dx + (y - l->y0) * dy) / len, 0), 1) : 0;
    return hypotf(l->x0 + t * dx - x, l->y0 + t * dy - y);
}

static bool touches(const node_place *p)
{
    for (size_t i = 0; i < list.n_lines; i++) {
        if (distance(&list.lines[i], p->x, p->y) < p->radius) {
            return true;
        }
    }
    return false;
}

static void check_line(const comm_arc *a, const node_place *nodes, uint32_t n)
{
    assert_true(list.n_lines > 0);
    for (uint32_t k = 0; k < n; k++) {
        assert_true(k == a->from || k == a->to || !touches(&nodes[k]));
    }
    const draw_line *last = &list.lines[list.n_lines - 1];
    assert_true(hypotf(list.lines[0].x0 - nodes[a->from].x, list.lines[0].y0 - nodes[a->from].y) < 0.01F);
    assert_true(fabsf(hypotf(last->x1 - nodes[a->to].x, last->y1 - nodes[a->to].y) - nodes[a->to].radius - 1) < 0.01F);
    for (size_t i = 0; i < list.n_lines; i++) {
        const draw_line *l = &list.lines[i];
        assert_true(l->x1 > 100 - pitch && l->y1 > 100 - pitch);
        assert_true(l->x1 < 100 + COLUMNS * pitch && l->y1 < 100 + ROWS * pitch);
        assert_true(i == 0 || (list.lines[i - 1].x1 == l->x0 && list.lines[i - 1].y1 == l->y0));
    }
}

static void lines_touch_no_other_node(void **state)
{
    (void)state;
    unsigned n_around = 0;
    unsigned n_plain = 0;
    for (unsigned seed = 1; seed < 3000; seed++) {
        unsigned random = seed;
        node_place nodes[N_NODES];
        uint32_t n = make_nodes(nodes, &random);
        if (n < 2) {
            continue;
        }
        bool closes = seed % 2 != 0;
        comm_arc a = {.from = n - 1, .width = 2, .has_head = seed % 3 != 0};
        a.to = closes ? 0 : next_random(&random) % (n - 1);
        unsigned lines = seed % 5;
        unsigned before = lines;
        draw_list_begin(&list, 1000, 1000, 1, theme_get(THEME_DARK));
        bool around = comm_arc_around(&s, &a, nodes, pitch, (comm_span){0, n}, &lines);
        assert_int_equal(lines, before + around);
        n_around += around;
        if (around) {
            check_line(&a, nodes, n);
            continue;
        }
        assert_int_equal(list.n_lines + list.n_tris, 0);
        comm_arc_draw(&s, &a, nodes);
        bool passes = false;
        for (uint32_t k = 0; k < n; k++) {
            passes |= k != a.from && k != a.to && touches(&nodes[k]);
        }
        n_plain += !passes;
        assert_true(!passes || !closes || list.n_lines > 0);
    }
    assert_true(n_around > 500);
    assert_true(n_plain > 200);
}

/* First and last in a full grid are never shut in. */
static void a_ring_is_closed_around(void **state)
{
    (void)state;
    for (unsigned columns = 2; columns <= COLUMNS; columns++) {
        for (unsigned n = 2 * columns + 1; n <= columns * ROWS; n++) {
            node_place nodes[N_NODES];
            for (unsigned k = 0; k < n; k++) {
                unsigned row = k / columns;
                unsigned column = row % 2 ? columns - 1 - k % columns : k % columns;
                nodes[k] = (node_place){100 + pitch * (float)column, 100 + pitch * (float)row, 0.3F * pitch};
            }
            comm_arc a = {.from = n - 1, .to = 0, .width = 2};
            draw_list_begin(&list, 1000, 1000, 1, theme_get(THEME_DARK));
            comm_arc_draw(&s, &a, nodes);
            bool passes = false;
            for (unsigned k = 1; k + 1 < n; k++) {
                passes |= touches(&nodes[k]);
            }
            unsigned lines = 0;
            draw_list_begin(&list, 1000, 1000, 1, theme_get(THEME_DARK));
            assert_true(comm_arc_around(&s, &a, nodes, pitch, (comm_span){0, n}, &lines) || !passes);
            if (list.n_lines > 0) {
                check_line(&a, nodes, n);
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(lines_touch_no_other_node),
                                       cmocka_unit_test(a_ring_is_closed_around)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
