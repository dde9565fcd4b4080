/*
 * Contract: what the benchmark measures of a drawing (help_drawing.h) is what brute force finds.
 *
 *  - Lines on a lattice, cut into unit steps, so that contacts are equal lattice points and nothing is computed: random
 *    ones that meet, overlap and end on each other; and the routes of layouts of random graphs, rounded to 2 px.
 *    Crossings, pairs and length are the same.
 *  - Lines through random places: pairs of segments whose ends lie on different sides of each other, in integers.
 *  - By hand: trunks and ports are no crossings; a line that crosses a trunk of three lines crosses once; one that
 *    joins another for a while crosses it when it leaves on the other side; lines on top of each other count.
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
#include "help_drawing.h"
#include "help_plan.h"

enum { STEP = 2 }; /* px between lattice points of rounded layouts, at least */

typedef struct cell {
    int32_t x, y;
} cell;

/* Lines as unit steps between lattice points; x[] and y[] say where these are, px. */
typedef struct lattice {
    cell *cells;
    size_t *first;
    size_t n, cap, n_lines;
    int32_t *x, *y;
} lattice;

static bool same(cell a, cell b)
{
    return a.x == b.x && a.y == b.y;
}

static int32_t gap(const lattice *l, cell a, cell b)
{
    return abs(l->x[a.x] - l->x[b.x]) + abs(l->y[a.y] - l->y[b.y]);
}

/* A contact: cells a0 .. a1 of one line are those from b0 to b1 of the other, which may run backwards. */
typedef struct shared {
    size_t a0, a1, b0, b1;
} shared;

/* 0 .. 3: the direction of a step. */
static int heading(cell from, cell to)
{
    return to.x > from.x ? 0 : to.y > from.y ? 1 : to.x < from.x ? 2 : 3;
}

static bool left_of(int before, int next, int ray)
{
    return (ray - next + 4) % 4 < (before - next + 4) % 4;
}

static bool brute_crosses(const cell *a, size_t n, const cell *b, size_t m, const shared *s)
{
    bool turned = s->b1 < s->b0;
    size_t lo = turned ? s->b1 : s->b0;
    size_t hi = turned ? s->b0 : s->b1;
    if (s->a0 == 0 || s->a1 + 1 == n || lo == 0 || hi + 1 == m) {
        return false;
    }
    cell in = turned ? b[s->b0 + 1] : b[s->b0 - 1];
    cell out = turned ? b[s->b1 - 1] : b[s->b1 + 1];
    bool l0 = left_of(heading(a[s->a0], a[s->a0 - 1]), heading(a[s->a0], a[s->a0 + 1]), heading(a[s->a0], in));
    bool l1 = left_of(heading(a[s->a1], a[s->a1 - 1]), heading(a[s->a1], a[s->a1 + 1]), heading(a[s->a1], out));
    return l0 != l1;
}

static bool common_end(const drawing *d, size_t i, size_t k)
{
    for (size_t e = 0; e < 4; e++) {
        if (d->ends[i][e / 2] == d->ends[k][e % 2]) {
            return true;
        }
    }
    return false;
}

/* The next cell of the other line after b that is the next of this one; GRAPH_NONE: none. */
static size_t goes_on(const cell *a, size_t p, size_t n, const cell *b, size_t q, size_t m)
{
    if (p + 1 < n && q + 1 < m && same(a[p + 1], b[q + 1])) {
        return q + 1;
    }
    return p + 1 < n && q > 0 && same(a[p + 1], b[q - 1]) ? q - 1 : SIZE_MAX;
}

static bool came_from(const cell *a, size_t p, const cell *b, size_t q, size_t m)
{
    return p > 0 && ((q > 0 && same(a[p - 1], b[q - 1])) || (q + 1 < m && same(a[p - 1], b[q + 1])));
}

typedef struct found {
    cell *spots;
    size_t n, cap, pairs;
    double length;
} found;

static void add_spot(found *f, cell c)
{
    f->pairs++;
    for (size_t i = 0; i < f->n; i++) {
        if (same(f->spots[i], c)) {
            return;
        }
    }
    VEC_PUSH(f->spots, f->n, f->cap, c);
}

static void brute_pair(const lattice *l, const drawing *d, size_t i, size_t k, found *f)
{
    const cell *a = l->cells + l->first[i];
    const cell *b = l->cells + l->first[k];
    size_t n = l->first[i + 1] - l->first[i];
    size_t m = l->first[k + 1] - l->first[k];
    for (size_t p = 0; p < n; p++) {
        for (size_t q = 0; q < m; q++) {
            if (!same(a[p], b[q]) || came_from(a, p, b, q, m)) {
                continue;
            }
            shared s = {p, p, q, q};
            int32_t length = 0;
            for (size_t next = 0; (next = goes_on(a, s.a1, n, b, s.b1, m)) != SIZE_MAX;) {
                length += gap(l, a[s.a1], a[s.a1 + 1]);
                s.a1++;
                s.b1 = next;
            }
            if ((length > DRAWING_COVER && !common_end(d, i, k)) || brute_crosses(a, n, b, m, &s)) {
                cell u = a[s.a0];
                cell v = a[s.a1];
                add_spot(f, u.x < v.x || (u.x == v.x && u.y < v.y) ? u : v);
            }
        }
    }
}

static void brute_force(const lattice *l, const drawing *d, found *f)
{
    memset(f, 0, sizeof *f);
    for (size_t i = 0; i < l->n_lines; i++) {
        for (size_t k = i + 1; k < l->n_lines; k++) {
            brute_pair(l, d, i, k, f);
        }
        for (size_t p = l->first[i]; p + 1 < l->first[i + 1]; p++) {
            f->length += gap(l, l->cells[p], l->cells[p + 1]);
        }
    }
}

static void must_agree(const lattice *l, const drawing *d, uint64_t seed, size_t *seen)
{
    found f;
    drawing_score s;
    brute_force(l, d, &f);
    drawing_measure(d, &s);
    if (s.crossings != f.n || s.pairs != f.pairs) {
        print_message("seed %llu: %zu crossings of %zu pairs, by brute force %zu of %zu\n", (unsigned long long)seed,
                      s.crossings, s.pairs, f.n, f.pairs);
    }
    assert_int_equal(s.crossings, f.n);
    assert_int_equal(s.pairs, f.pairs);
    assert_true(fabs(s.length - f.length) < 1e-3 * (f.length + 1));
    *seen += f.n;
    free(f.spots);
}

static void lattice_free(lattice *l)
{
    free(l->cells);
    free(l->first);
    free(l->x);
    free(l->y);
}

/* Only bends are points of the drawing. */
static void draw_lattice(const lattice *l, drawing *d)
{
    for (size_t i = 0; i < l->n_lines; i++) {
        d->first[i] = d->n;
        for (size_t p = l->first[i]; p < l->first[i + 1]; p++) {
            bool end = p == l->first[i] || p + 1 == l->first[i + 1];
            if (end || heading(l->cells[p - 1], l->cells[p]) != heading(l->cells[p], l->cells[p + 1])) {
                drawing_push(d, l->x[l->cells[p].x], l->y[l->cells[p].y]);
            }
        }
    }
    d->first[l->n_lines] = d->n;
}

enum { SIDE = 12 };

static void random_walk(lattice *l, uint64_t *s)
{
    static const cell step[4] = {{1, 0}, {0, 1}, {-1, 0}, {0, -1}};
    bool used[SIDE][SIDE] = {{false}};
    cell at = {(int32_t)(test_random(s) % SIDE), (int32_t)(test_random(s) % SIDE)};
    size_t want = 2 + test_random(s) % 30;
    size_t dir = test_random(s) % 4;
    for (size_t k = 0; k < want; k++) {
        used[at.x][at.y] = true;
        VEC_PUSH(l->cells, l->n, l->cap, at);
        dir = test_random(s) % 3 == 0 ? test_random(s) % 4 : dir;
        cell next = {-1, -1};
        for (size_t t = 0; t < 4; t++) {
            cell c = {at.x + step[(dir + t) % 4].x, at.y + step[(dir + t) % 4].y};
            if (c.x >= 0 && c.y >= 0 && c.x < SIDE && c.y < SIDE && !used[c.x][c.y]) {
                next = c;
                dir = (dir + t) % 4;
                break;
            }
        }
        if (next.x < 0) {
            return;
        }
        at = next;
    }
}

static void random_lattices_agree(void **state)
{
    (void)state;
    size_t seen = 0;
    for (uint64_t seed = 1; seed <= 3000; seed++) {
        uint64_t s = seed;
        lattice l = {.n_lines = 2 + test_random(&s) % 6};
        drawing d;
        drawing_init(&d, l.n_lines);
        l.first = mem_calloc(l.n_lines + 1, sizeof *l.first);
        l.x = mem_calloc(SIDE, sizeof *l.x);
        l.y = mem_calloc(SIDE, sizeof *l.y);
        for (int32_t k = 1; k < SIDE; k++) {
            l.x[k] = l.x[k - 1] + STEP * (1 + (int32_t)(test_random(&s) % 9));
            l.y[k] = l.y[k - 1] + STEP * (1 + (int32_t)(test_random(&s) % 9));
        }
        for (size_t i = 0; i < l.n_lines; i++) {
            l.first[i] = l.n;
            random_walk(&l, &s);
            d.ends[i][0] = (uint32_t)(test_random(&s) % 8);
            d.ends[i][1] = 8 + (uint32_t)(test_random(&s) % 8);
        }
        l.first[l.n_lines] = l.n;
        draw_lattice(&l, &d);
        must_agree(&l, &d, seed, &seen);
        drawing_deinit(&d);
        lattice_free(&l);
    }
    assert_true(seen > 3000);
}

static int by_value(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a;
    int32_t y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

static int32_t rounded(float x)
{
    return STEP * (int32_t)lround((double)x / STEP);
}

static int32_t *distinct(int32_t *a, size_t n, size_t *n_out)
{
    size_t k = 0;
    qsort(a, n, sizeof *a, by_value);
    for (size_t i = 0; i < n; i++) {
        if (k == 0 || a[k - 1] != a[i]) {
            a[k++] = a[i];
        }
    }
    *n_out = k;
    return a;
}

static int32_t index_of(const int32_t *a, size_t n, int32_t x)
{
    const int32_t *p = bsearch(&x, a, n, sizeof x, by_value);
    return (int32_t)(p - a);
}

/* What runs along an axis still does. */
static void round_route(const layout_point *q, uint32_t n, cell *to)
{
    for (uint32_t k = 0; k < n; k++) {
        to[k] = (cell){rounded(q[k].x), rounded(q[k].y)};
        if (k > 0 && fabsf(q[k].x - q[k - 1].x) < 0.5F) {
            to[k].x = to[k - 1].x;
        } else if (k > 0 && fabsf(q[k].y - q[k - 1].y) < 0.5F) {
            to[k].y = to[k - 1].y;
        }
    }
}

/* The cells of a route, every lattice point on it. */
static void push_route(lattice *l, const cell *q, uint32_t n, size_t nx, size_t ny)
{
    for (uint32_t k = 0; k < n; k++) {
        cell to = {index_of(l->x, nx, q[k].x), index_of(l->y, ny, q[k].y)};
        cell at = k == 0 ? to : l->cells[l->n - 1];
        if (k == 0) {
            VEC_PUSH(l->cells, l->n, l->cap, to);
        }
        while (!same(at, to)) {
            at.x += (to.x > at.x) - (to.x < at.x);
            at.y += at.x == to.x ? (to.y > at.y) - (to.y < at.y) : 0;
            VEC_PUSH(l->cells, l->n, l->cap, at);
        }
    }
}

/* The lines of one module as they are laid out. */
static void lattice_of(lattice *l, drawing *d, const visible *v, const graph_layout *g, uint32_t module)
{
    cell *points = mem_alloc((g->n_points + 1) * sizeof *points);
    size_t n = 0;
    memset(l, 0, sizeof *l);
    l->x = mem_alloc((g->n_points + 1) * sizeof *l->x);
    l->y = mem_alloc((g->n_points + 1) * sizeof *l->y);
    for (size_t i = 0; i < v->n_lines; i++) {
        const layout_route *r = &g->routes[i];
        l->n_lines += v->lines[i].module == module;
        round_route(g->points + r->first_point, r->n_points, points + r->first_point);
        for (uint32_t k = 0; v->lines[i].module == module && k < r->n_points; k++) {
            l->x[n] = points[r->first_point + k].x;
            l->y[n++] = points[r->first_point + k].y;
        }
    }
    size_t nx;
    size_t ny;
    (void)distinct(l->x, n, &nx);
    (void)distinct(l->y, n, &ny);
    drawing_init(d, l->n_lines);
    l->first = mem_calloc(l->n_lines + 1, sizeof *l->first);
    size_t line = 0;
    for (size_t i = 0; i < v->n_lines; i++) {
        if (v->lines[i].module == module) {
            d->ends[line][0] = v->lines[i].from;
            d->ends[line][1] = v->lines[i].to;
            l->first[line++] = l->n;
            push_route(l, points + g->routes[i].first_point, g->routes[i].n_points, nx, ny);
        }
    }
    l->first[line] = l->n;
    draw_lattice(l, d);
    free(points);
}

static void layouts_agree(void **state)
{
    (void)state;
    size_t seen = 0;
    for (uint64_t seed = 1; seed <= 120; seed++) {
        uint64_t s = seed;
        random_graph r = {.seed = seed,
                          .n_nodes = 4 + (uint32_t)(test_random(&s) % 40),
                          .n_scopes = (uint32_t)(test_random(&s) % 4),
                          .n_edges = (uint32_t)(test_random(&s) % 90),
                          .back_percent = seed % 3 ? 0 : 10,
                          .n_hubs = (uint32_t)(test_random(&s) % 2)};
        graph g = {0};
        test_graph(&g, &r);
        graph_plan *p = test_plan(&g, seed % 2, true, seed);
        graph_state state_of;
        graph_state_init(&state_of, p);
        (void)graph_state_expand_random(&state_of, p, 8, seed);
        visible *v = NULL;
        graph_layout *l = NULL;
        layout_options o;
        layout_options_init(&o);
        o.wrap_aspect = seed % 4 ? 0 : 3.5;
        assert_int_equal(visible_create(&v, p, &state_of, NULL), MAREY_OK);
        assert_int_equal(graph_layout_create(&l, p, v, &o, NULL), MAREY_OK);
        for (uint32_t m = 0; m < v->n_items; m++) {
            lattice lines;
            drawing d;
            if (v->items[m].n_children > 0) {
                lattice_of(&lines, &d, v, l, m);
                must_agree(&lines, &d, seed, &seen);
                drawing_deinit(&d);
                lattice_free(&lines);
            }
        }
        graph_layout_destroy(&l);
        visible_destroy(&v);
        graph_state_deinit(&state_of);
        test_plan_free(&p);
        graph_deinit(&g);
    }
    assert_true(seen > 500);
}

enum { LINES = 8, POINTS = 7 };

static int64_t side(const int64_t *a, const int64_t *b, const int64_t *c)
{
    int64_t s = (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]);
    return (s > 0) - (s < 0);
}

static bool near(const int64_t *p, double x, double y)
{
    return hypot((double)p[0] - x, (double)p[1] - y) < DRAWING_END;
}

/* Pieces p, p + 1 and q, q + 1 of two lines, the ends on both sides of each other, and not where a line ends. */
static bool pieces_cross(const int64_t (*a)[2], size_t p, const int64_t (*b)[2], size_t q)
{
    if (side(a[p], a[p + 1], b[q]) * side(a[p], a[p + 1], b[q + 1]) >= 0 ||
        side(b[q], b[q + 1], a[p]) * side(b[q], b[q + 1], a[p + 1]) >= 0) {
        return false;
    }
    double ux = (double)(a[p + 1][0] - a[p][0]);
    double uy = (double)(a[p + 1][1] - a[p][1]);
    double vx = (double)(b[q + 1][0] - b[q][0]);
    double vy = (double)(b[q + 1][1] - b[q][1]);
    double t = ((double)(b[q][0] - a[p][0]) * vy - (double)(b[q][1] - a[p][1]) * vx) / (ux * vy - uy * vx);
    double x = (double)a[p][0] + t * ux;
    double y = (double)a[p][1] + t * uy;
    return !near(a[0], x, y) && !near(a[POINTS - 1], x, y) && !near(b[0], x, y) && !near(b[POINTS - 1], x, y);
}

static size_t crossing_pieces(const int64_t (*a)[2], const int64_t (*b)[2])
{
    size_t n = 0;
    for (size_t p = 0; p + 1 < POINTS; p++) {
        for (size_t q = 0; q + 1 < POINTS; q++) {
            n += pieces_cross(a, p, b, q);
        }
    }
    return n;
}

static void lines_through_random_places_agree(void **state)
{
    (void)state;
    size_t seen = 0;
    size_t tips = 0;
    for (uint64_t seed = 1; seed <= 300; seed++) {
        uint64_t s = seed;
        int64_t at[LINES][POINTS][2];
        drawing d;
        drawing_init(&d, LINES);
        for (size_t i = 0; i < LINES; i++) {
            d.first[i] = d.n;
            d.ends[i][0] = (uint32_t)(2 * i);
            d.ends[i][1] = (uint32_t)(2 * i + 1);
            for (size_t k = 0; k < POINTS; k++) {
                at[i][k][0] = (int64_t)(test_random(&s) % 1000000);
                at[i][k][1] = (int64_t)(test_random(&s) % 1000000);
                drawing_push(&d, (double)at[i][k][0], (double)at[i][k][1]);
            }
        }
        d.first[LINES] = d.n;
        size_t pairs = 0;
        for (size_t i = 0; i < LINES; i++) {
            for (size_t k = i + 1; k < LINES; k++) {
                pairs += crossing_pieces((const int64_t(*)[2])at[i], (const int64_t(*)[2])at[k]);
            }
        }
        drawing_score score;
        drawing_measure(&d, &score);
        assert_int_equal(score.pairs, pairs);
        assert_true(score.crossings == pairs || score.crossings + 1 == pairs);
        tips += score.crossings != pairs; /* a tip that just reaches through a line crosses it twice at one place */
        seen += pairs;
        drawing_deinit(&d);
    }
    assert_true(seen > 10000 && tips < 5);
}

/* Lines by hand: x, y, x, y, ...; -1 ends one. Each joins boxes 2i and 2i + 1 unless told otherwise. */
static drawing_score score_of(const double *xy, size_t n_lines, const uint32_t (*ends)[2])
{
    drawing d;
    drawing_score s;
    drawing_init(&d, n_lines);
    for (size_t i = 0; i < n_lines; i++) {
        d.first[i] = d.n;
        d.ends[i][0] = ends[i][0];
        d.ends[i][1] = ends[i][1];
        for (; *xy >= 0; xy += 2) {
            drawing_push(&d, xy[0], xy[1]);
        }
        xy++;
    }
    d.first[n_lines] = d.n;
    drawing_measure(&d, &s);
    drawing_deinit(&d);
    return s;
}

static void cases_by_hand(void **state)
{
    (void)state;
    /* A trunk of three lines: no crossing. */
    const double trunk[] = {0, 50, 40, 50, 40, 20, 90, 20, -1, 0, 50, 40, 50, 40, 80, 90, 80, -1, 0, 50, 90, 50, -1};
    const uint32_t from_one[][2] = {{1, 2}, {1, 3}, {1, 4}, {5, 6}};
    assert_int_equal(score_of(trunk, 3, from_one).crossings, 0);
    /* Crossed before it parts: once; each pair counts for itself. */
    const double crossed[] = {0,  50, 40, 50, 40, 20, 90, 20, -1, 0,  50, 40, 50, 40, 80,
                              90, 80, -1, 0,  50, 90, 50, -1, 20, 10, 20, 90, -1};
    assert_int_equal(score_of(crossed, 4, from_one).crossings, 1);
    assert_int_equal(score_of(crossed, 4, from_one).pairs, 3);
    assert_true(fabs(score_of(crossed, 4, from_one).length - (120 + 120 + 90 + 80)) < 1e-6);
    /* Along another for 20 px, back to where it came from, and over to the other side; the two have an end in common. */
    const uint32_t common[][2] = {{1, 2}, {1, 3}};
    const double back[] = {0, 50, 90, 50, -1, 30, 20, 30, 50, 50, 50, 50, 20, -1};
    const double over[] = {0, 50, 90, 50, -1, 30, 20, 30, 50, 50, 50, 50, 80, -1};
    assert_int_equal(score_of(back, 2, common).crossings, 0);
    assert_int_equal(score_of(over, 2, common).crossings, 1);
    /* Without a common end the first is a fault, too. A touch at a bend is none. */
    const uint32_t apart[][2] = {{1, 2}, {3, 4}};
    const double touch[] = {0, 50, 90, 50, -1, 30, 20, 40, 50, 50, 20, -1};
    assert_int_equal(score_of(back, 2, apart).crossings, 1);
    assert_int_equal(score_of(touch, 2, apart).crossings, 0);
    /* Ends in the middle of another: no crossing. Through a bend: one. */
    const double ends[] = {0, 50, 90, 50, -1, 30, 20, 30, 50, -1};
    const double bend[] = {0, 50, 40, 50, 40, 90, -1, 20, 70, 60, 30, -1};
    assert_int_equal(score_of(ends, 2, apart).crossings, 0);
    assert_int_equal(score_of(bend, 2, apart).crossings, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_lattices_agree),
        cmocka_unit_test(layouts_agree),
        cmocka_unit_test(lines_through_random_places_agree),
        cmocka_unit_test(cases_by_hand),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
