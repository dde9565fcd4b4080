/*
 * How good the layout of graphs is, and how long it takes, against graphviz's dot on the same graphs.
 *
 *     bench_graph [--smooth] FILE...      quality: every open module of the first view of each file
 *     bench_graph --curve [MAX_OPERATORS] time: flat transformers with three hubs, hubs pruned and not; and nested ones
 *     bench_graph --toggle [FILE...]      time of toggles: modules of 2 000 children, and those of files
 *     bench_graph --inside [OPERATORS]    likewise inside a large graph, from the first view to all open
 *     bench_graph --cancel [OPERATORS]    how soon plan, visible and layout give up
 *     bench_graph --memory MAREY LARGE SMALL  peak memory of the program's ways by operator (tools/make_graph makes
 * both)
 *
 * Quality: each open module of the first view is one graph: its children with their sizes, its in-port and out-port,
 * and the lines between them, edges between the same two boxes once. Ours is what is drawn, not wrapped (dot cannot);
 * the wrapped figures stand beside it. dot gets the same boxes, directions and distances (24 px between boxes, 40 px
 * between layers), the ports of open modules at the same places of their sides, and those of the module itself as
 * points of first and last rank; lines at closed boxes may begin and end anywhere. It draws splines, its best: its
 * orthogonal drawings are longer and cross more. Beside it: dot that may begin and end lines anywhere (of those that
 * run back this makes short ones, which leave a module where nothing leaves it), and splines=ortho. Ours is measured
 * with the round corners that are drawn. All drawings are measured by the same code, which test_drawing holds against
 * brute force; help_drawing.h says what is a crossing. dot is run where it is installed, with a limit of 20 s a graph;
 * times are process time of our own threads.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "bench_graph_memory.h"
#include "bench_graph_toggle.h"
#include "graph/layout.h"
#include "property/graph/help_drawing.h"
#include "property/graph/help_plan.h"
#include "readers/graph_reader.h"

enum { DOT_SECONDS = 20 };

static double cpu_ms(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/* The lines of one module, and the boxes that they join: its children, then its in-port and its out-port. */
typedef struct page {
    uint32_t n, n_lines; /* children */
    float (*size)[2];    /* [n] */
    float (*port)[2];    /* [n] where lines enter at the left and leave at the right of open modules; < 0: anywhere */
    uint32_t (*line)[2]; /* [n_lines] */
    uint32_t *id;        /* [n_lines] in the visible graph */
} page;

/* The ports of open modules, from the lines that use them. */
static void find_ports(page *g, const visible *v, const graph_layout *l, uint32_t m)
{
    for (uint32_t i = 0; i < g->n_lines; i++) {
        const layout_route *r = &l->routes[g->id[i]];
        for (uint32_t e = 0; e < 2; e++) {
            uint32_t c = g->line[i][1 - e];
            if (c < g->n && v->items[v->items[m].first_child + c].n_children > 0) {
                const layout_point *q = &l->points[r->first_point + (e == 0 ? r->n_points - 1 : 0)];
                double top = l->boxes[v->items[m].first_child + c].y - l->boxes[m].y;
                g->port[c][e] = (float)((double)q->y - top);
            }
        }
    }
}

static void page_of(page *g, const visible *v, const graph_layout *l, uint32_t m)
{
    const visible_item *it = &v->items[m];
    *g = (page){.n = it->n_children, .size = mem_calloc(it->n_children + 1U, sizeof *g->size)};
    g->port = mem_calloc(it->n_children + 1U, sizeof *g->port);
    for (uint32_t c = 0; c < it->n_children; c++) {
        g->port[c][0] = g->port[c][1] = -1;
        g->size[c][0] = l->boxes[it->first_child + c].w;
        g->size[c][1] = l->boxes[it->first_child + c].h;
    }
    g->line = mem_alloc((v->n_lines + 1) * sizeof *g->line);
    g->id = mem_alloc((v->n_lines + 1) * sizeof *g->id);
    for (size_t i = 0; i < v->n_lines; i++) {
        const visible_line *x = &v->lines[i];
        if (x->module == m && !(x->flags & LINE_REVEALED)) {
            g->line[g->n_lines][0] = x->from == m ? g->n : x->from - it->first_child;
            g->line[g->n_lines][1] = x->to == m ? g->n + 1 : x->to - it->first_child;
            g->id[g->n_lines++] = (uint32_t)i;
        }
    }
    find_ports(g, v, l, m);
}

static void page_free(page *g)
{
    free(g->size);
    free(g->port);
    free(g->line);
    free(g->id);
}

static void push_corner(drawing *d, layout_point a, layout_point b, layout_point c)
{
    double u = hypot((double)a.x - (double)b.x, (double)a.y - (double)b.y);
    double w = hypot((double)c.x - (double)b.x, (double)c.y - (double)b.y);
    double r = fmin(LAYOUT_CORNER, fmin(u, w) / 2);
    for (int i = 0; i <= 4; i++) {
        double t = i / 4.0;
        double s = u > 0 ? (1 - t) * (1 - t) * r / u : 0;
        double e = w > 0 ? t * t * r / w : 0;
        drawing_push(d, (double)b.x + s * (double)(a.x - b.x) + e * (double)(c.x - b.x),
                     (double)b.y + s * (double)(a.y - b.y) + e * (double)(c.y - b.y));
    }
}

/* The lines of the page as they are drawn: with round corners. */
static void draw_ours(const page *g, const graph_layout *l, bool smooth, drawing *d)
{
    drawing_init(d, g->n_lines);
    for (size_t i = 0; i < g->n_lines; i++) {
        const layout_route *r = &l->routes[g->id[i]];
        const layout_point *q = l->points + r->first_point;
        d->first[i] = d->n;
        memcpy(d->ends[i], g->line[i], sizeof d->ends[i]);
        if (smooth) {
            drawing_push_curve(d, q, r->n_points);
        }
        for (uint32_t k = 0; k < r->n_points && !smooth; k++) {
            if (k == 0 || k + 1 == r->n_points) {
                drawing_push(d, (double)q[k].x, (double)q[k].y);
            } else {
                push_corner(d, q[k - 1], q[k], q[k + 1]);
            }
        }
    }
    d->first[d->n_lines] = d->n;
}

/* A box with a row of cells for each port: dot knows no other way to say where on a side a port is. */
static void write_ports(FILE *f, const page *g, size_t c)
{
    long w = lround((double)g->size[c][0]);
    long h = lround((double)g->size[c][1]);
    long at[2] = {lround((double)g->port[c][0]), lround((double)g->port[c][1])};
    long y = 0;
    (void)fprintf(f,
                  "%zu[shape=plain,fixedsize=false,label=<<TABLE BORDER=\"0\" CELLBORDER=\"0\" CELLSPACING=\"0\" "
                  "CELLPADDING=\"0\">",
                  c);
    while (y < h) {
        bool in = at[0] >= 0 && y >= at[0] - 1 && y <= at[0];
        bool out = at[1] >= 0 && y >= at[1] - 1 && y <= at[1];
        long end = in || out ? y + 2 : h;
        for (int e = 0; e < 2 && !in && !out; e++) {
            end = at[e] - 1 > y && at[e] - 1 < end ? at[e] - 1 : end;
        }
        end = end > h ? h : end;
        (void)fprintf(f, "<TR><TD%s FIXEDSIZE=\"TRUE\" WIDTH=\"%ld\" HEIGHT=\"%ld\"></TD>", in ? " PORT=\"i\"" : "",
                      w / 2, end - y);
        (void)fprintf(f, "<TD%s FIXEDSIZE=\"TRUE\" WIDTH=\"%ld\" HEIGHT=\"%ld\"></TD></TR>", out ? " PORT=\"o\"" : "",
                      w - w / 2, end - y);
        y = end;
    }
    (void)fprintf(f, "</TABLE>>];\n");
}

static const char *side_of(const page *g, uint32_t c, int side)
{
    return c >= g->n || g->port[c][side] < 0 ? "" : side == 0 ? ":i:w" : ":o:e";
}

typedef enum dot_way { DOT_PORTS, DOT_ANY_SIDE, DOT_ORTHOGONAL } dot_way;

static void write_dot(FILE *f, const page *g, dot_way way)
{
    bool port[2] = {false, false};
    (void)fprintf(f,
                  "digraph{rankdir=LR;nodesep=%g;ranksep=%g;%snode[shape=box,fixedsize=true,label=\"\"];"
                  "edge[arrowhead=none];\n",
                  LAYOUT_GAP / 72.0, LAYOUT_LAYER_GAP / 72.0, way == DOT_ORTHOGONAL ? "splines=ortho;" : "");
    for (size_t i = 0; i < g->n; i++) {
        if (way == DOT_PORTS && (g->port[i][0] >= 0 || g->port[i][1] >= 0)) {
            write_ports(f, g, i);
        } else {
            (void)fprintf(f, "%zu[width=%g,height=%g];\n", i, (double)g->size[i][0] / 72, (double)g->size[i][1] / 72);
        }
    }
    for (size_t i = 0; i < g->n_lines; i++) {
        (void)fprintf(f, "%u%s->%u%s;\n", g->line[i][0], way == DOT_PORTS ? side_of(g, g->line[i][0], 1) : "",
                      g->line[i][1], way == DOT_PORTS ? side_of(g, g->line[i][1], 0) : "");
        port[0] = port[0] || g->line[i][0] == g->n;
        port[1] = port[1] || g->line[i][1] == g->n + 1;
    }
    for (uint32_t k = 0; k < 2; k++) {
        if (port[k]) {
            (void)fprintf(f, "{rank=%s;%u[width=0.01,height=0.01];}\n", k == 0 ? "source" : "sink", g->n + k);
        }
    }
    (void)fprintf(f, "}\n");
}

/* Each "edge a b n x y ..." of dot -Tplain (inches) is a line. */
static bool read_dot(FILE *f, const page *g, drawing *d)
{
    char word[64];
    layout_point *q = NULL;
    size_t cap = 0;
    size_t n_read = 0;
    drawing_init(d, g->n_lines);
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
            drawing_push_curve(d, q, n);
        }
    }
    d->first[d->n_lines] = d->n;
    free(q);
    return n_read == d->n_lines;
}

static bool draw_dot(const page *g, dot_way way, drawing *d)
{
    char in[] = "/tmp/bench-graph-XXXXXX";
    int fd = mkstemp(in);
    FILE *f = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (!f) {
        return false;
    }
    write_dot(f, g, way);
    (void)fclose(f);
    char command[256];
    (void)snprintf(command, sizeof command, "timeout %d dot -Tplain %s 2>/dev/null", DOT_SECONDS, in);
    FILE *p = popen(command, "r");
    bool ok = p && read_dot(p, g, d);
    ok = p && pclose(p) == 0 && ok;
    (void)unlink(in);
    if (!ok) {
        drawing_deinit(d);
    }
    return ok;
}

enum { OURS, WRAPPED, DOT, DOT_FREE, DOT_ORTHO, DRAWINGS };

typedef struct score {
    drawing_score of[DRAWINGS];
    size_t n_modules, too_long, no_ortho;
} score;

static void add_score(drawing_score *sum, drawing *d)
{
    drawing_score s;
    drawing_measure(d, &s);
    sum->crossings += s.crossings;
    sum->pairs += s.pairs;
    sum->length += s.length;
    drawing_deinit(d);
}

typedef struct shown {
    const visible *v;
    const graph_layout *l, *wrapped;
    bool smooth, verbose;
} shown;

static void compare_module(const shown *w, uint32_t m, score *s)
{
    page g;
    drawing d;
    score one = {0};
    page_of(&g, w->v, w->l, m);
    if (g.n_lines > 0 && !draw_dot(&g, DOT_PORTS, &d)) {
        s->too_long++;
    } else if (g.n_lines > 0) {
        add_score(&one.of[DOT], &d);
        draw_ours(&g, w->l, w->smooth, &d);
        add_score(&one.of[OURS], &d);
        draw_ours(&g, w->wrapped, w->smooth, &d);
        add_score(&one.of[WRAPPED], &d);
        if (draw_dot(&g, DOT_ANY_SIDE, &d)) {
            add_score(&one.of[DOT_FREE], &d);
        }
        if (draw_dot(&g, DOT_ORTHOGONAL, &d)) {
            add_score(&one.of[DOT_ORTHO], &d);
        } else { /* its router fails on some graphs */
            s->no_ortho++;
            one.of[DOT_ORTHO] = one.of[DOT_FREE];
        }
        s->n_modules++;
        for (int i = 0; i < DRAWINGS; i++) {
            s->of[i].crossings += one.of[i].crossings;
            s->of[i].pairs += one.of[i].pairs;
            s->of[i].length += one.of[i].length;
        }
        if (w->verbose) {
            printf("    module %u: %u boxes %u lines: crossings %zu : %zu, length %.0f : %.0f = %.2f\n", m, g.n,
                   g.n_lines, one.of[OURS].crossings, one.of[DOT].crossings, one.of[OURS].length, one.of[DOT].length,
                   one.of[OURS].length / fmax(1, one.of[DOT].length));
        }
    }
    page_free(&g);
}

static void print_score(const char *name, const score *s)
{
    const drawing_score *x = s->of;
    double dot = fmax(1, x[DOT].length);
    printf("%-40.40s crossings %4zu : %4zu  length %8.0f : %8.0f = %.2f  | wrapped %4zu %.2f | dot, ends anywhere %4zu "
           "%.2f, ortho %4zu %.2f%s\n",
           name, x[OURS].crossings, x[DOT].crossings, x[OURS].length, x[DOT].length, x[OURS].length / dot,
           x[WRAPPED].crossings, x[WRAPPED].length / dot, x[DOT_FREE].crossings, x[DOT_FREE].length / dot,
           x[DOT_ORTHO].crossings, x[DOT_ORTHO].length / dot,
           s->too_long   ? "  (dot took too long)"
           : s->no_ortho ? "  (its orthogonal router failed)"
                         : "");
}

static graph_layout *lay(const graph_plan *p, const visible *v, bool smooth, double wrap_aspect)
{
    layout_options o;
    graph_layout *l = NULL;
    layout_options_init(&o);
    o.routing = smooth ? ROUTE_SMOOTH : ROUTE_ORTHOGONAL;
    o.wrap_aspect = wrap_aspect >= 0 ? wrap_aspect : o.wrap_aspect;
    MAREY_ASSERT(graph_layout_create(&l, p, v, &o, NULL) == MAREY_OK);
    return l;
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
    score sum = {0};
    graph_state_init(&s, p);
    graph_state_default(&s, p, 40);
    MAREY_ASSERT(visible_create(&v, p, &s, NULL) == MAREY_OK);
    graph_layout *l = lay(p, v, smooth, 0);
    graph_layout *wrapped = lay(p, v, smooth, -1);
    shown w = {.v = v, .l = l, .wrapped = wrapped, .smooth = smooth, .verbose = getenv("VERBOSE") != NULL};
    for (uint32_t m = 0; m < v->n_items; m++) {
        if (v->items[m].n_children > 0) {
            compare_module(&w, m, &sum);
        }
    }
    print_score(name, &sum);
    for (int i = 0; i < DRAWINGS; i++) {
        all->of[i].crossings += sum.of[i].crossings;
        all->of[i].pairs += sum.of[i].pairs;
        all->of[i].length += sum.of[i].length;
    }
    graph_layout_destroy(&l);
    graph_layout_destroy(&wrapped);
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
        bool ok = draw_dot(&whole, DOT_ANY_SIDE, &d);
        (void)clock_gettime(CLOCK_MONOTONIC, &b);
        double sec = (double)(b.tv_sec - a.tv_sec) + (double)(b.tv_nsec - a.tv_nsec) * 1e-9;
        (void)snprintf(dot, sizeof dot, ok ? "%.2f s" : "over %.0f s", sec);
        if (ok) {
            drawing_deinit(&d);
        }
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
    if (argc > 4 && strcmp(argv[1], "--memory") == 0) {
        return bench_memory(argv[2], argv[3], argv[4]);
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
    print_score("all", &all);
    return 0;
}
