/*
 * How good the layout of graphs is, and how long it takes, against graphviz's dot on the same graphs.
 *
 *     bench_graph [--smooth] FILE...      quality: every open module of the first view of each file
 *     bench_graph --curve [MAX_OPERATORS] time: flat transformers with three hubs, hubs pruned and not; and nested ones
 *     bench_graph --toggle [FILE...]      time of toggles: modules of 2 000 children, and those of files
 *     bench_graph --inside [OPERATORS]    likewise inside a large graph, from the first view to all open
 *     bench_graph --cancel [OPERATORS]    how soon plan, visible and layout give up
 *
 * Quality: each open module of the first view is one graph: its children with their sizes, and the lines between them.
 * Both programs get the same boxes, the same directions and distances (24 px between boxes, 40 px between layers). Both
 * drawings are measured by the same code: curves are cut into 8 pieces; a crossing is a proper intersection of two
 * lines' pieces, or two lines without a common end on top of each other, counted for every pair of lines, and again as
 * points on the page (lines that share a trunk cross another at one point); the length is the sum over all lines.
 * dot is run where it is installed, with a limit of 20 s a graph; times are process time of our own threads.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/mem.h"
#include "bench_graph_toggle.h"
#include "graph/layout.h"
#include "property/graph/help_plan.h"
#include "readers/graph_reader.h"

enum { DOT_SECONDS = 20, PIECES = 8 };

typedef struct drawing {
    layout_point *points;
    size_t *first; /* [n_lines + 1] */
    size_t n, cap, n_lines;
    uint32_t (*ends)[2];
} drawing;

static double cpu_ms(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static void drawing_free(drawing *d)
{
    free(d->points);
    free(d->first);
    free(d->ends);
    memset(d, 0, sizeof *d);
}

static void push(drawing *d, double x, double y)
{
    VEC_PUSH(d->points, d->n, d->cap, ((layout_point){(float)x, (float)y}));
}

/* Control points 3k + 1 to pieces. */
static void push_curve(drawing *d, const layout_point *q, size_t n)
{
    push(d, (double)q[0].x, (double)q[0].y);
    for (size_t i = 0; i + 3 < n; i += 3) {
        for (int k = 1; k <= PIECES; k++) {
            double t = (double)k / PIECES;
            double s = 1 - t;
            double w[4] = {s * s * s, 3 * s * s * t, 3 * s * t * t, t * t * t};
            double x = 0;
            double y = 0;
            for (size_t j = 0; j < 4; j++) {
                x += w[j] * (double)q[i + j].x;
                y += w[j] * (double)q[i + j].y;
            }
            push(d, x, y);
        }
    }
}

static double side(layout_point a, layout_point b, layout_point c)
{
    return ((double)b.x - (double)a.x) * ((double)c.y - (double)a.y) -
           ((double)b.y - (double)a.y) * ((double)c.x - (double)a.x);
}

static bool crosses(const layout_point *p, const layout_point *q)
{
    const double e = 1;
    double a = side(p[0], p[1], q[0]);
    double b = side(p[0], p[1], q[1]);
    double c = side(q[0], q[1], p[0]);
    double d = side(q[0], q[1], p[1]);
    return ((a > e && b < -e) || (a < -e && b > e)) && ((c > e && d < -e) || (c < -e && d > e));
}

/* Two pieces on one straight line, more than 2 px of it in common. */
static bool covers(const layout_point *p, const layout_point *q)
{
    double dx = (double)p[1].x - (double)p[0].x;
    double dy = (double)p[1].y - (double)p[0].y;
    double len = hypot(dx, dy);
    if (len < 2 || fabs(side(p[0], p[1], q[0])) > 0.5 * len || fabs(side(p[0], p[1], q[1])) > 0.5 * len) {
        return false;
    }
    double a = (((double)q[0].x - (double)p[0].x) * dx + ((double)q[0].y - (double)p[0].y) * dy) / len;
    double b = (((double)q[1].x - (double)p[0].x) * dx + ((double)q[1].y - (double)p[0].y) * dy) / len;
    return fmin(len, fmax(a, b)) - fmax(0, fmin(a, b)) > 2;
}

/* Where two pieces that cross do so, in half px. */
static uint64_t spot(const layout_point *p, const layout_point *q)
{
    double c = side(q[0], q[1], p[0]);
    double t = c / (c - side(q[0], q[1], p[1]));
    double x = (double)p[0].x + t * ((double)p[1].x - (double)p[0].x);
    double y = (double)p[0].y + t * ((double)p[1].y - (double)p[0].y);
    return (uint64_t)(uint32_t)lround(2 * x + 1e6) << 32 | (uint32_t)lround(2 * y + 1e6);
}

static size_t pair_crossings(const drawing *d, size_t i, size_t k, map64 *spots)
{
    const uint32_t *a = d->ends[i];
    const uint32_t *b = d->ends[k];
    bool joined = a[0] == b[0] || a[1] == b[1] || a[0] == b[1] || a[1] == b[0];
    bool covered = false;
    size_t n = 0;
    for (size_t p = d->first[i]; p + 1 < d->first[i + 1]; p++) {
        const layout_point *s = &d->points[p];
        for (size_t q = d->first[k]; q + 1 < d->first[k + 1]; q++) {
            const layout_point *t = &d->points[q];
            if (crosses(s, t)) {
                n++;
                *map64_put(spots, spot(s, t)) += 1;
            }
            covered = covered || (!joined && covers(s, t));
        }
    }
    if (covered) {
        *map64_put(spots, (uint64_t)i << 32 | 1U << 31 | k) += 1;
    }
    return n + covered;
}

static size_t crossings_of(const drawing *d, size_t *points)
{
    size_t n = 0;
    map64 spots = {0};
    for (size_t i = 0; i < d->n_lines; i++) {
        for (size_t k = i + 1; k < d->n_lines; k++) {
            n += pair_crossings(d, i, k, &spots);
        }
    }
    *points = spots.n;
    map64_deinit(&spots);
    return n;
}

static double length_of(const drawing *d)
{
    double sum = 0;
    for (size_t i = 0; i < d->n_lines; i++) {
        for (size_t p = d->first[i]; p + 1 < d->first[i + 1]; p++) {
            sum += hypot((double)d->points[p + 1].x - (double)d->points[p].x,
                         (double)d->points[p + 1].y - (double)d->points[p].y);
        }
    }
    return sum;
}

/* One module as a page of its own: item 0 around its children. Sizes go through the callback. */
typedef struct page {
    visible v;
    float (*size)[2];
} page;

static void size_of(void *ctx, const graph_plan *p, uint32_t element, float *w, float *h)
{
    (void)p;
    const page *g = ctx;
    *w = g->size[element][0];
    *h = g->size[element][1];
}

static void page_of(page *g, const visible *v, const graph_layout *l, uint32_t m)
{
    const visible_item *it = &v->items[m];
    memset(g, 0, sizeof *g);
    g->v.items = mem_calloc(it->n_children + 1U, sizeof *g->v.items);
    g->size = mem_calloc(it->n_children + 1U, sizeof *g->size);
    g->v.n_items = it->n_children + 1U;
    g->v.items[0] = (visible_item){.first_child = 1, .n_children = it->n_children};
    for (uint32_t c = 0; c < it->n_children; c++) {
        const layout_box *b = &l->boxes[it->first_child + c];
        g->v.items[c + 1] = (visible_item){.element = c + 1, .first_child = it->n_children + 1};
        g->size[c + 1][0] = b->w;
        g->size[c + 1][1] = b->h;
    }
    size_t cap = 0;
    for (size_t i = 0; i < v->n_lines; i++) {
        const visible_line *x = &v->lines[i];
        if (x->module == m && x->from != m && x->to != m) {
            visible_line y = {.from = x->from - it->first_child + 1,
                              .to = x->to - it->first_child + 1,
                              .n_edges = x->n_edges,
                              .flags = x->flags & LINE_BACK};
            VEC_PUSH(g->v.lines, g->v.n_lines, cap, y);
        }
    }
}

static void page_free(page *g)
{
    free(g->v.items);
    free(g->v.lines);
    free(g->size);
}

static void start_drawing(drawing *d, const page *g)
{
    memset(d, 0, sizeof *d);
    d->n_lines = g->v.n_lines;
    d->first = mem_calloc(d->n_lines + 1, sizeof *d->first);
    d->ends = mem_calloc(d->n_lines + 1, sizeof *d->ends);
    for (size_t i = 0; i < d->n_lines; i++) {
        d->ends[i][0] = g->v.lines[i].from;
        d->ends[i][1] = g->v.lines[i].to;
    }
}

static void draw_ours(page *g, bool smooth, drawing *d)
{
    layout_options o;
    layout_options_init(&o);
    o.wrap_aspect = 0;
    o.routing = smooth ? ROUTE_SMOOTH : ROUTE_ORTHOGONAL;
    o.size = size_of;
    o.size_ctx = g;
    graph_layout *l = NULL;
    MAREY_ASSERT(graph_layout_create(&l, NULL, &g->v, &o, NULL) == MAREY_OK);
    start_drawing(d, g);
    for (size_t i = 0; i < d->n_lines; i++) {
        const layout_point *q = l->points + l->routes[i].first_point;
        d->first[i] = d->n;
        if (smooth) {
            push_curve(d, q, l->routes[i].n_points);
        } else {
            for (uint32_t k = 0; k < l->routes[i].n_points; k++) {
                push(d, (double)q[k].x, (double)q[k].y);
            }
        }
    }
    d->first[d->n_lines] = d->n;
    graph_layout_destroy(&l);
}

static void write_dot(FILE *f, const page *g)
{
    (void)fprintf(f,
                  "digraph{rankdir=LR;nodesep=%g;ranksep=%g;node[shape=box,fixedsize=true,label=\"\"];"
                  "edge[arrowhead=none];\n",
                  LAYOUT_GAP / 72.0, LAYOUT_LAYER_GAP / 72.0);
    for (size_t i = 1; i < g->v.n_items; i++) {
        (void)fprintf(f, "%zu[width=%g,height=%g];\n", i, (double)g->size[i][0] / 72, (double)g->size[i][1] / 72);
    }
    for (size_t i = 0; i < g->v.n_lines; i++) {
        (void)fprintf(f, "%u->%u;\n", g->v.lines[i].from, g->v.lines[i].to);
    }
    (void)fprintf(f, "}\n");
}

/* Each "edge a b n x y ..." of dot -Tplain (inches) goes to its line. */
static bool read_dot(FILE *f, const page *g, drawing *d)
{
    char word[64];
    layout_point *q = NULL;
    size_t cap = 0;
    size_t n_read = 0;
    start_drawing(d, g);
    while (fscanf(f, "%63s", word) == 1) {
        unsigned a;
        unsigned b;
        unsigned n;
        if (strcmp(word, "edge") != 0 || fscanf(f, "%u %u %u", &a, &b, &n) != 3) {
            continue;
        }
        VEC_RESERVE(q, cap, n);
        for (unsigned k = 0; k < n; k++) {
            if (fscanf(f, "%f %f", &q[k].x, &q[k].y) != 2) {
                n = k;
            }
            q[k].x *= 72;
            q[k].y *= 72;
        }
        if (n >= 4 && n_read < d->n_lines) {
            d->ends[n_read][0] = a;
            d->ends[n_read][1] = b;
            d->first[n_read++] = d->n;
            push_curve(d, q, n);
        }
    }
    d->first[d->n_lines] = d->n;
    free(q);
    return n_read == d->n_lines;
}

static bool draw_dot(const page *g, drawing *d)
{
    char in[] = "/tmp/bench-graph-XXXXXX";
    int fd = mkstemp(in);
    FILE *f = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (!f) {
        return false;
    }
    write_dot(f, g);
    (void)fclose(f);
    char command[256];
    (void)snprintf(command, sizeof command, "timeout %d dot -Tplain %s 2>/dev/null", DOT_SECONDS, in);
    FILE *p = popen(command, "r");
    bool ok = p && read_dot(p, g, d);
    ok = p && pclose(p) == 0 && ok;
    (void)unlink(in);
    if (!ok) {
        drawing_free(d);
    }
    return ok;
}

typedef struct score {
    size_t ours, dots, our_points, dot_points, n, too_long;
    double our_length, dot_length;
} score;

static void compare_module(const visible *v, const graph_layout *l, uint32_t m, bool smooth, score *s)
{
    page g;
    drawing a;
    drawing b;
    page_of(&g, v, l, m);
    if (g.v.n_lines >= 2 && g.v.n_items >= 4) {
        if (draw_dot(&g, &b)) {
            draw_ours(&g, smooth, &a);
            size_t px;
            size_t py;
            size_t x = crossings_of(&a, &px);
            size_t y = crossings_of(&b, &py);
            s->our_points += px;
            s->dot_points += py;
            s->ours += x;
            s->dots += y;
            s->our_length += length_of(&a);
            s->dot_length += length_of(&b);
            s->n++;
            if (getenv("VERBOSE")) {
                printf("    module %u: %zu boxes %zu lines: crossings %zu : %zu, length %.0f : %.0f\n", m,
                       g.v.n_items - 1, g.v.n_lines, x, y, length_of(&a), length_of(&b));
            }
            drawing_free(&a);
            drawing_free(&b);
        } else {
            s->too_long++;
        }
    }
    page_free(&g);
}

static void compare_file(const char *path, bool smooth, score *all)
{
    diag d;
    diag_init(&d);
    graph g = {0};
    graph_plan *p = NULL;
    graph_finish_options f = {.infer_scopes = true};
    plan_options po;
    plan_options_init(&po);
    const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    if (graph_read_file(path, &f, &g, &d) != MAREY_OK || graph_plan_create(&p, &g, &po, &d) != MAREY_OK) {
        printf("%-46s cannot be read\n", name);
        graph_deinit(&g);
        diag_deinit(&d);
        return;
    }
    graph_state s;
    visible *v = NULL;
    graph_layout *l = NULL;
    layout_options o;
    score sum = {0};
    graph_state_init(&s, p);
    layout_options_init(&o);
    graph_state_default(&s, p, 40);
    double t0 = cpu_ms();
    MAREY_ASSERT(visible_create(&v, p, &s, NULL) == MAREY_OK);
    MAREY_ASSERT(graph_layout_create(&l, p, v, &o, NULL) == MAREY_OK);
    double ms = cpu_ms() - t0;
    for (uint32_t m = 0; m < v->n_items; m++) {
        if (v->items[m].n_children > 2) {
            compare_module(v, l, m, smooth, &sum);
        }
    }
    printf("%-46s %6zu nodes %4zu shown %4zu lines  %5.2f ms  crossings %5zu : %5zu (points %4zu : %4zu)  length "
           "%8.0f : %8.0f = %.2f%s\n",
           name, g.n_nodes, v->n_shown, v->n_lines, ms, sum.ours, sum.dots, sum.our_points, sum.dot_points,
           sum.our_length, sum.dot_length, sum.our_length / fmax(1, sum.dot_length),
           sum.too_long ? "  (dot took too long)" : "");
    all->ours += sum.ours;
    all->dots += sum.dots;
    all->our_points += sum.our_points;
    all->dot_points += sum.dot_points;
    all->our_length += sum.our_length;
    all->dot_length += sum.dot_length;
    graph_layout_destroy(&l);
    visible_destroy(&v);
    graph_state_deinit(&s);
    graph_plan_destroy(&p);
    graph_deinit(&g);
    diag_deinit(&d);
}

static void time_one(uint32_t n_layers, bool nested, bool prune)
{
    graph g = {0};
    test_transformer(&g, n_layers, nested, true);
    graph_plan *p = test_plan(&g, prune, false, 1);
    graph_state s;
    graph_state_init(&s, p);
    graph_state_expand_all(&s, p, false);
    visible *v = NULL;
    graph_layout *l = NULL;
    layout_options o;
    layout_options_init(&o);
    double t0 = cpu_ms();
    MAREY_ASSERT(visible_create(&v, p, &s, NULL) == MAREY_OK);
    double t1 = cpu_ms();
    MAREY_ASSERT(graph_layout_create(&l, p, v, &o, NULL) == MAREY_OK);
    double t2 = cpu_ms();
    char dot[64] = "-";
    if (!nested && g.n_nodes <= 20000) {
        page whole;
        drawing d;
        page_of(&whole, v, l, 0);
        struct timespec a;
        struct timespec b;
        (void)clock_gettime(CLOCK_MONOTONIC, &a);
        bool ok = draw_dot(&whole, &d);
        (void)clock_gettime(CLOCK_MONOTONIC, &b);
        double sec = (double)(b.tv_sec - a.tv_sec) + (double)(b.tv_nsec - a.tv_nsec) * 1e-9;
        (void)snprintf(dot, sizeof dot, ok ? "%.2f s" : "over %.0f s", sec);
        drawing_free(ok ? &d : &(drawing){0});
        page_free(&whole);
    }
    printf("%-6s hubs %-6s %8zu operators %8zu lines  visible %8.1f ms  layout %8.1f ms  dot %s\n",
           nested ? "nested" : "flat", prune ? "pruned" : "drawn", g.n_nodes, v->n_lines, t1 - t0, t2 - t1, dot);
    graph_layout_destroy(&l);
    visible_destroy(&v);
    graph_state_deinit(&s);
    test_plan_free(&p);
    graph_deinit(&g);
}

static uint32_t number(int argc, char **argv)
{
    return argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 1000000;
}

int main(int argc, char **argv)
{
    bool smooth = false;
    score all = {0};
    if (argc > 1 && strcmp(argv[1], "--toggle") == 0) {
        bench_toggles(argc - 2, argv + 2);
        return 0;
    }
    if (argc > 1 && strcmp(argv[1], "--inside") == 0) {
        bench_toggles_inside(number(argc, argv));
        return 0;
    }
    if (argc > 1 && strcmp(argv[1], "--cancel") == 0) {
        bench_cancel(number(argc, argv));
        return 0;
    }
    if (argc > 1 && strcmp(argv[1], "--curve") == 0) {
        uint32_t most = number(argc, argv);
        for (uint32_t n = 100; n <= most; n *= 10) {
            for (uint32_t k = n; k < 10 * n && k <= most; k *= 3) {
                time_one(k / 13, false, true);
                time_one(k / 13, false, false);
                time_one(k / 13, true, true);
            }
        }
        return 0;
    }
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--smooth") == 0) {
            smooth = true;
        } else {
            compare_file(argv[i], smooth, &all);
        }
    }
    printf("all: crossings %zu : %zu, points %zu : %zu, length %.0f : %.0f = %.2f (ours : dot)\n", all.ours, all.dots,
           all.our_points, all.dot_points, all.our_length, all.dot_length, all.our_length / fmax(1, all.dot_length));
    return 0;
}
