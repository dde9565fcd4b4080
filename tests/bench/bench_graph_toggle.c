/*
 * How long a toggle takes: from the state to the new layout, as the view does it, with the layouts of unchanged modules
 * in the cache. Processor time of the one thread. "worst" is the longest of all toggles measured, each the least of
 * three runs. The digest is of all boxes and points: two builds that draw the same print the same.
 */
#include "bench_graph_toggle.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "graph/layout.h"
#include "graph_shapes.h"
#include "property/graph/help_plan.h"
#include "readers/graph_reader.h"

enum { MOST_CHILDREN = 2000, RUNS = 3, FILE_MODULES = 40, CACHE_BYTES = 64 << 20 };

static double cpu_ms(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/* A picture: what is visible, laid out. */
typedef struct picture {
    visible *v;
    graph_layout *l;
    double visible_ms, layout_ms;
} picture;

static void picture_free(picture *p)
{
    graph_layout_destroy(&p->l);
    visible_destroy(&p->v);
}

static void picture_make(picture *x, const graph_plan *p, const graph_state *s, layout_cache *cache)
{
    layout_options o;
    layout_options_init(&o);
    double t0 = cpu_ms();
    MAREY_ASSERT(visible_create(&x->v, p, s, NULL) == MAREY_OK);
    double t1 = cpu_ms();
    MAREY_ASSERT(graph_layout_create(&x->l, p, x->v, &o, cache) == MAREY_OK);
    x->visible_ms = t1 - t0;
    x->layout_ms = cpu_ms() - t1;
}

/* The same in every process, unlike hash_bytes(). */
static uint64_t mix(uint64_t h, const void *p, size_t n)
{
    const unsigned char *b = p;
    for (size_t i = 0; i < n; i++) {
        h = (h ^ b[i]) * 0x100000001b3U;
    }
    return h;
}

static uint64_t digest_of(const picture *x)
{
    uint64_t h = 0xcbf29ce484222325U;
    for (size_t i = 0; i < x->v->n_items; i++) {
        const layout_box *b = &x->l->boxes[i];
        double at[4] = {b->x, b->y, (double)b->w, (double)b->h};
        h = mix(h, at, sizeof at);
    }
    for (size_t i = 0; i < x->v->n_lines; i++) {
        const visible_line *l = &x->v->lines[i];
        uint64_t what[6] = {l->module, l->from, l->to, l->n_edges, l->bytes, l->flags};
        const layout_route *r = &x->l->routes[i];
        h = mix(h, what, sizeof what);
        h = mix(h, x->l->points + r->first_point, r->n_points * sizeof *x->l->points);
    }
    for (size_t i = 0; i < x->v->n_stubs; i++) {
        const visible_stub *s = &x->v->stubs[i];
        uint64_t what[5] = {s->item, s->peer, s->n_edges, s->bytes, s->is_input};
        h = mix(h, what, sizeof what);
    }
    uint64_t sums[4] = {x->v->n_drawn, x->v->n_bundled, x->v->n_stubbed, x->v->n_folded};
    return mix(h, sums, sizeof sums);
}

/* The times of many toggles. */
typedef struct times {
    double *ms;
    size_t n, cap;
    double worst_visible, worst_layout; /* the parts of the longest */
    uint32_t worst_element;
    uint64_t digest;
} times;

static int by_time(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

static void times_add(times *t, const picture *x, uint32_t element)
{
    double ms = x->visible_ms + x->layout_ms;
    bool worst = true;
    for (size_t i = 0; i < t->n && worst; i++) {
        worst = ms > t->ms[i];
    }
    if (worst) {
        t->worst_visible = x->visible_ms;
        t->worst_layout = x->layout_ms;
        t->worst_element = element;
    }
    VEC_PUSH(t->ms, t->n, t->cap, ms);
}

static void times_print(times *t, const char *name, const char *how, uint32_t children)
{
    if (t->n == 0) {
        return;
    }
    qsort(t->ms, t->n, sizeof *t->ms, by_time);
    printf("%-46.46s %-22s %5u children %4zu toggles  median %6.2f ms  worst %6.2f ms (visible %5.2f, layout %6.2f)  "
           "%016llx\n",
           name, how, children, t->n, t->ms[(t->n - 1) / 2], t->ms[t->n - 1], t->worst_visible, t->worst_layout,
           (unsigned long long)t->digest);
    free(t->ms);
    memset(t, 0, sizeof *t);
}

/* The least of some runs, each with a cache that knows the picture before. */
static void time_toggle(times *t, const graph_plan *p, const graph_state *before, uint32_t element)
{
    graph_state after;
    picture best = {.visible_ms = 1e30};
    graph_state_copy(&after, before);
    graph_state_toggle(&after, p, element);
    for (int i = 0; i < RUNS; i++) {
        layout_cache *cache = layout_cache_create(CACHE_BYTES);
        picture x;
        picture_make(&x, p, before, cache);
        picture_free(&x);
        picture_make(&x, p, &after, cache);
        if (x.visible_ms + x.layout_ms < best.visible_ms + best.layout_ms) {
            best.visible_ms = x.visible_ms;
            best.layout_ms = x.layout_ms;
        }
        uint64_t digest = digest_of(&x);
        t->digest = i == 0 ? mix(t->digest, &digest, sizeof digest) : t->digest;
        picture_free(&x);
        layout_cache_destroy(&cache);
    }
    times_add(t, &best, element);
    graph_state_deinit(&after);
}

/* What an element shows once it is open. */
static uint32_t children_of(const graph_plan *p, uint32_t element)
{
    const plan_element *e = &p->elements[element];
    return e->kind == ELEMENT_STACK && e->n_children > 0 ? p->elements[e->first_child].n_children : e->n_children;
}

static const char *switches(bool prune, bool stack)
{
    return prune ? stack ? "" : "no stacks" : stack ? "no pruning" : "no pruning, no stacks";
}

static graph_plan *plan_with(const graph *g, bool prune, bool stack)
{
    plan_options o;
    graph_plan *p = NULL;
    diag d;
    diag_init(&d);
    plan_options_init(&o);
    o.steps[STEP_PRUNE] = prune;
    o.steps[STEP_STACK] = stack;
    MAREY_ASSERT(graph_plan_create(&p, g, &o, &d) == MAREY_OK);
    diag_deinit(&d);
    return p;
}

/* The module "m": all of it in one layout, then closed again. */
static void toggle_shape(int shape, uint32_t n, bool prune, bool stack)
{
    graph g = {0};
    shape_make(&g, shape, n);
    graph_plan *p = plan_with(&g, prune, stack);
    graph_state s;
    graph_state_init(&s, p);
    uint32_t m = GRAPH_NONE;
    for (uint32_t i = 0; i < p->elements[0].n_children; i++) {
        uint32_t e = p->elements[0].first_child + i;
        m = p->elements[e].n_children > 0 && (m == GRAPH_NONE || p->elements[e].n_leaves > p->elements[m].n_leaves) ? e
                                                                                                                    : m;
    }
    times t = {0};
    if (m != GRAPH_NONE) {
        time_toggle(&t, p, &s, m);
        graph_state_toggle(&s, p, m);
        time_toggle(&t, p, &s, m);
        times_print(&t, shape_name(shape), switches(prune, stack), children_of(p, m));
    }
    graph_state_deinit(&s);
    graph_plan_destroy(&p);
    graph_deinit(&g);
}

/* The modules of a file with most children, from the first view with what is around them open. */
static void toggle_file(const graph *g, const char *name, bool prune, bool stack)
{
    graph_plan *p = plan_with(g, prune, stack);
    uint8_t *done = mem_calloc(p->n_elements + 1, 1);
    times t = {0};
    uint32_t most = 0;
    for (int i = 0; i < FILE_MODULES; i++) {
        uint32_t best = GRAPH_NONE;
        for (uint32_t e = 1; e < p->n_elements; e++) {
            uint32_t n = children_of(p, e);
            bool fits = n > 0 && n <= MOST_CHILDREN && !done[e];
            best = fits && (best == GRAPH_NONE || n > children_of(p, best)) ? e : best;
        }
        if (best == GRAPH_NONE) {
            break;
        }
        most = children_of(p, best) > most ? children_of(p, best) : most;
        done[best] = 1;
        graph_state s;
        graph_state_init(&s, p);
        graph_state_default(&s, p, 40);
        graph_state_reveal(&s, p, best);
        s.open[best] = STATE_CLOSED;
        time_toggle(&t, p, &s, best);
        graph_state_toggle(&s, p, best);
        time_toggle(&t, p, &s, best);
        graph_state_deinit(&s);
    }
    if (getenv("VERBOSE")) {
        printf("  worst: element %u\n", t.worst_element);
    }
    times_print(&t, name, switches(prune, stack), most);
    free(done);
    graph_plan_destroy(&p);
}

void bench_toggles(int n_files, char **files)
{
    const char *only = getenv("SHAPE");
    for (int k = 0; k < 4; k++) {
        for (int i = 0; i < SHAPE_COUNT; i++) {
            if (only && strcmp(only, shape_name(i)) != 0) {
                continue;
            }
            toggle_shape(i, MOST_CHILDREN, k % 2 == 0, k < 2);
        }
    }
    for (int i = 0; i < n_files; i++) {
        diag d;
        diag_init(&d);
        graph g = {0};
        graph_finish_options f = {.infer_scopes = true};
        const char *name = strrchr(files[i], '/') ? strrchr(files[i], '/') + 1 : files[i];
        if (graph_read_file(files[i], &f, &g, &d) == MAREY_OK) {
            for (int k = 0; k < 4; k++) {
                toggle_file(&g, name, k % 2 == 0, k < 2);
            }
        } else {
            printf("%-46.46s cannot be read\n", name);
        }
        graph_deinit(&g);
        diag_deinit(&d);
    }
}

/* ------------------------------------------------------------------ inside a large graph */

enum { INSIDE_TOGGLES = 24 };

static void toggle_inside(const graph_plan *p, const graph_state *from, const char *name, const char *how, int toggles)
{
    graph_state s;
    times t = {0};
    uint64_t seed = 7;
    layout_cache *cache = layout_cache_create(CACHE_BYTES);
    picture x;
    graph_state_copy(&s, from);
    picture_make(&x, p, &s, cache);
    printf("%-46.46s %-22s %zu items, %zu lines: first visible %.1f ms, layout %.1f ms\n", name, how, x.v->n_items,
           x.v->n_lines, x.visible_ms, x.layout_ms);
    for (int i = 0; i < toggles; i++) {
        uint32_t e = 0;
        for (int tries = 0; tries < 1000 && e == 0; tries++) { /* something on the page that opens, or is open */
            uint32_t at = x.v->items[test_random(&seed) % x.v->n_items].element;
            at = p->elements[at].n_children == 0 ? p->elements[at].parent : at;
            e = at != 0 && children_of(p, at) <= MOST_CHILDREN ? at : 0;
        }
        picture_free(&x);
        graph_state_toggle(&s, p, e);
        picture_make(&x, p, &s, cache);
        times_add(&t, &x, e);
        uint64_t digest = digest_of(&x);
        t.digest = mix(t.digest, &digest, sizeof digest);
    }
    picture_free(&x);
    times_print(&t, name, how, MOST_CHILDREN);
    layout_cache_destroy(&cache);
    graph_state_deinit(&s);
}

void bench_toggles_inside(uint32_t operators)
{
    graph g = {0};
    shape_blocks(&g, operators);
    for (int k = 0; k < 4; k++) {
        bool prune = k % 2 == 0;
        bool stack = k < 2;
        graph_plan *p = plan_with(&g, prune, stack);
        graph_state s;
        char name[64];
        (void)snprintf(name, sizeof name, "%zu operators, %s", g.n_nodes, "first view");
        graph_state_init(&s, p);
        graph_state_default(&s, p, 40);
        toggle_inside(p, &s, name, switches(prune, stack), INSIDE_TOGGLES);
        (void)graph_state_expand_random(&s, p, 300, 3);
        (void)snprintf(name, sizeof name, "%zu operators, %s", g.n_nodes, "300 more open");
        toggle_inside(p, &s, name, switches(prune, stack), INSIDE_TOGGLES);
        graph_state_expand_all(&s, p, false);
        (void)snprintf(name, sizeof name, "%zu operators, %s", g.n_nodes, "all open");
        toggle_inside(p, &s, name, switches(prune, stack), 6);
        graph_state_deinit(&s);
        graph_plan_destroy(&p);
    }
    graph_deinit(&g);
}

/* ------------------------------------------------------------------ cancelling */

typedef enum cancel_part { CANCEL_PLAN, CANCEL_VISIBLE, CANCEL_LAYOUT, CANCEL_PARTS } cancel_part;

typedef struct cancel_run {
    cancel_part part;
    const graph *g;
    const graph_plan *p;
    const graph_state *s;
    const visible *v;
    cancel_flag flag;
    atomic_bool started;
    double done_ms; /* processor time of the thread when the call came back */
} cancel_run;

static void *run_part(void *ctx)
{
    cancel_run *r = ctx;
    graph_plan *p = NULL;
    visible *v = NULL;
    graph_layout *l = NULL;
    diag d;
    diag_init(&d);
    plan_options po;
    layout_options lo;
    plan_options_init(&po);
    layout_options_init(&lo);
    po.cancel = lo.cancel = &r->flag;
    atomic_store(&r->started, true);
    if (r->part == CANCEL_PLAN) {
        (void)graph_plan_create(&p, r->g, &po, &d);
    } else if (r->part == CANCEL_VISIBLE) {
        (void)visible_create(&v, r->p, r->s, &r->flag);
    } else {
        (void)graph_layout_create(&l, r->p, r->v, &lo, NULL);
    }
    r->done_ms = cpu_ms();
    graph_layout_destroy(&l);
    visible_destroy(&v);
    graph_plan_destroy(&p);
    diag_deinit(&d);
    return NULL;
}

static double thread_ms(clockid_t clock)
{
    struct timespec t;
    return clock_gettime(clock, &t) == 0 ? (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6 : 1e30;
}

/* Sets the flag once the thread has worked for `after` ms. @return ms of its work from there on; < 0: it was done */
static double cancel_after(cancel_run *r, double after)
{
    pthread_t thread;
    clockid_t clock;
    const struct timespec nap = {.tv_nsec = 200000};
    atomic_store(&r->flag.set, false);
    atomic_store(&r->started, false);
    r->done_ms = -1;
    MAREY_ASSERT(pthread_create(&thread, NULL, run_part, r) == 0);
    while (!atomic_load(&r->started)) {
        (void)nanosleep(&nap, NULL);
    }
    bool alive = pthread_getcpuclockid(thread, &clock) == 0;
    double at = alive ? thread_ms(clock) : 1e30;
    while (at < after) {
        (void)nanosleep(&nap, NULL);
        at = thread_ms(clock);
    }
    atomic_store(&r->flag.set, true);
    (void)pthread_join(thread, NULL);
    return r->done_ms - at;
}

static void cancel_everywhere(cancel_run *r, const char *name, double whole_ms)
{
    enum { TRIES = 16 };
    times t = {0};
    double worst_at = 0;
    double worst = -1;
    for (int i = 0; i < TRIES; i++) {
        double after = whole_ms * (i + 0.5) / TRIES;
        double ms = cancel_after(r, after);
        if (ms >= 0) {
            VEC_PUSH(t.ms, t.n, t.cap, ms);
            worst_at = ms > worst ? after : worst_at;
            worst = ms > worst ? ms : worst;
        }
    }
    if (t.n > 0) {
        qsort(t.ms, t.n, sizeof *t.ms, by_time);
        printf("cancel %-12s of %7.1f ms: median %6.2f ms, worst %6.2f ms (after %.0f ms)\n", name, whole_ms,
               t.ms[t.n / 2], t.ms[t.n - 1], worst_at);
    }
    free(t.ms);
}

void bench_cancel(uint32_t operators)
{
    for (int nested = 1; nested >= 0; nested--) {
        graph g = {0};
        graph_state s;
        visible *v = NULL;
        graph_layout *l = NULL;
        layout_options o;
        test_transformer(&g, operators / 12, nested, true);
        layout_options_init(&o);
        double t0 = cpu_ms();
        graph_plan *p = plan_with(&g, true, true);
        double t1 = cpu_ms();
        printf("%zu operators, %s\n", g.n_nodes, nested ? "nested" : "flat");
        cancel_run r = {.part = CANCEL_PLAN, .g = &g};
        cancel_everywhere(&r, "plan", t1 - t0);
        graph_plan_destroy(&p);
        p = plan_with(&g, true, false);
        graph_state_init(&s, p);
        graph_state_expand_all(&s, p, false);
        t0 = cpu_ms();
        MAREY_ASSERT(visible_create(&v, p, &s, NULL) == MAREY_OK);
        t1 = cpu_ms();
        MAREY_ASSERT(graph_layout_create(&l, p, v, &o, NULL) == MAREY_OK);
        double t2 = cpu_ms();
        r = (cancel_run){.part = CANCEL_VISIBLE, .g = &g, .p = p, .s = &s};
        cancel_everywhere(&r, "visible", t1 - t0);
        r = (cancel_run){.part = CANCEL_LAYOUT, .g = &g, .p = p, .s = &s, .v = v};
        cancel_everywhere(&r, "layout", t2 - t1);
        graph_layout_destroy(&l);
        visible_destroy(&v);
        graph_state_deinit(&s);
        graph_plan_destroy(&p);
        graph_deinit(&g);
    }
}
