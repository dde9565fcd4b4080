#include "diagnose/align.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "diagnose/align_solve.h"

int64_t align_time(const align_clock *c, int64_t raw_ns)
{
    int64_t t = 0;
    int64_t since = 0;
    if (__builtin_sub_overflow(raw_ns, c->pivot_ns, &since)) {
        since = raw_ns > 0 ? INT64_MAX : INT64_MIN;
    }
    int64_t bend = (int64_t)llround(c->drift * (double)since);
    if (__builtin_add_overflow(raw_ns, c->offset_ns, &t) || __builtin_add_overflow(t, bend, &t)) {
        return raw_ns > 0 ? INT64_MAX : INT64_MIN;
    }
    return t;
}

static int by_instance(const void *a, const void *b)
{
    const align_end *x = a;
    const align_end *y = b;
    if (x->instance != y->instance) {
        return x->instance < y->instance ? -1 : 1;
    }
    return x->domain < y->domain ? -1 : x->domain > y->domain;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

static double quantile(double *values, size_t n, double q)
{
    if (n == 0) {
        return 0;
    }
    qsort(values, n, sizeof *values, by_value);
    return values[(size_t)(q * (double)(n - 1))];
}

/* A pair of domains that share collectives, with the differences of their ends. */
typedef struct edge {
    uint32_t a, b;
    uint32_t n;
    double offset; /* median of end_a - end_b */
} edge;

typedef struct pair_end {
    uint64_t pair; /* a * n_domains + b */
    double difference;
} pair_end;

static int by_pair(const void *a, const void *b)
{
    const pair_end *x = a;
    const pair_end *y = b;
    if (x->pair != y->pair) {
        return x->pair < y->pair ? -1 : 1;
    }
    return (x->difference > y->difference) - (x->difference < y->difference);
}

/* Consecutive distinct domains of an instance make the pairs: n - 1 of them connect n domains. */
static size_t collect_pairs(const align_end *ends, size_t n, uint32_t n_domains, pair_end *pairs)
{
    size_t n_pairs = 0;
    for (size_t i = 1; i < n; i++) {
        const align_end *p = &ends[i - 1];
        const align_end *q = &ends[i];
        if (p->instance == q->instance && p->domain != q->domain) {
            pairs[n_pairs++] = (pair_end){(uint64_t)p->domain * n_domains + q->domain, (double)(q->end_ns - p->end_ns)};
        }
    }
    return n_pairs;
}

static size_t collect_edges(pair_end *pairs, size_t n_pairs, uint32_t n_domains, edge *edges)
{
    size_t n_edges = 0;
    if (n_pairs == 0) {
        return 0;
    }
    qsort(pairs, n_pairs, sizeof *pairs, by_pair);
    for (size_t i = 0; i < n_pairs;) {
        size_t j = i;
        while (j < n_pairs && pairs[j].pair == pairs[i].pair) {
            j++;
        }
        edges[n_edges++] = (edge){(uint32_t)(pairs[i].pair / n_domains), (uint32_t)(pairs[i].pair % n_domains),
                                  (uint32_t)(j - i), -pairs[(i + j) / 2].difference};
        i = j;
    }
    return n_edges;
}

static int by_count(const void *a, const void *b)
{
    const edge *x = a;
    const edge *y = b;
    if (x->n != y->n) {
        return x->n > y->n ? -1 : 1;
    }
    return x->a != y->a ? (x->a < y->a ? -1 : 1) : (x->b > y->b) - (x->b < y->b);
}

/* Union-find in which every element knows its offset to the root: correction(x) = correction(root) + shift. */
typedef struct forest {
    uint32_t *parent;
    double *shift;
} forest;

static uint32_t find_root(const forest *f, uint32_t x, double *shift)
{
    *shift = 0;
    while (f->parent[x] != x) {
        *shift += f->shift[x];
        x = f->parent[x];
    }
    return x;
}

/* Kruskal: the pairs with most matches first. An edge says correction(b) = correction(a) + (end_a - end_b). */
static void span(const forest *f, const edge *edges, size_t n_edges)
{
    for (size_t i = 0; i < n_edges; i++) {
        double sa = 0;
        double sb = 0;
        uint32_t ra = find_root(f, edges[i].a, &sa);
        uint32_t rb = find_root(f, edges[i].b, &sb);
        if (ra != rb) {
            f->parent[rb] = ra;
            f->shift[rb] = sa + edges[i].offset - sb;
        }
    }
}

static void start_offsets(const align_end *ends, size_t n, uint32_t n_domains, double *offset, uint32_t *component)
{
    pair_end *pairs = mem_alloc((n + 1) * sizeof *pairs);
    edge *edges = mem_alloc((n + 1) * sizeof *edges);
    forest f = {mem_alloc(n_domains * sizeof *f.parent), mem_calloc(n_domains, sizeof *f.shift)};
    for (uint32_t d = 0; d < n_domains; d++) {
        f.parent[d] = d;
    }
    size_t n_edges = collect_edges(pairs, collect_pairs(ends, n, n_domains, pairs), n_domains, edges);
    if (n_edges > 0) {
        qsort(edges, n_edges, sizeof *edges, by_count);
    }
    span(&f, edges, n_edges);
    for (uint32_t d = 0; d < n_domains; d++) {
        component[d] = find_root(&f, d, &offset[d]);
    }
    free(pairs);
    free(edges);
    free(f.parent);
    free(f.shift);
}

/* Keep only instances that were seen in more than one domain, each with its place in a dense numbering. */
static size_t keep_shared(align_end *ends, size_t n)
{
    size_t kept = 0;
    for (size_t i = 0; i < n;) {
        size_t j = i;
        bool shared = false;
        for (; j < n && ends[j].instance == ends[i].instance; j++) {
            shared = shared || ends[j].domain != ends[i].domain;
        }
        if (shared) {
            memmove(&ends[kept], &ends[i], (j - i) * sizeof *ends);
            kept += j - i;
        }
        i = j;
    }
    return kept;
}

static void count_matches(const align_end *ends, size_t n, align_clock *clocks)
{
    for (size_t i = 0; i < n; i++) {
        clocks[ends[i].domain].n_matched++;
        clocks[ends[i].domain].is_fitted = true;
    }
}

/* The reference of each component is its domain with the most matches. */
static void choose_references(const align_clock *clocks, uint32_t n_domains, uint32_t *reference)
{
    for (uint32_t d = 0; d < n_domains; d++) {
        reference[d] = NO_DOMAIN;
    }
    for (uint32_t d = 0; d < n_domains; d++) {
        uint32_t *best = &reference[clocks[d].component];
        if (*best == NO_DOMAIN || clocks[d].n_matched > clocks[*best].n_matched) {
            *best = d;
        }
    }
}

static void residuals(const align_problem *p, align_clock *clocks, uint32_t n_domains)
{
    double *all = mem_alloc((p->n + 1) * sizeof *all);
    double *own = mem_alloc((p->n + 1) * sizeof *own);
    align_residuals(p, all);
    for (uint32_t d = 0; d < n_domains; d++) {
        size_t n = 0;
        for (size_t i = p->first_of_domain[d]; i < p->first_of_domain[d + 1]; i++) {
            own[n++] = fabs(all[p->by_domain[i]]);
        }
        clocks[d].residual_ns = llround(quantile(own, n, 0.5));
        clocks[d].residual_p95_ns = llround(quantile(own, n, 0.95));
        clocks[d].residual_max_ns = n > 0 ? llround(own[n - 1]) : 0;
    }
    free(all);
    free(own);
}

static void report(const align_problem *p, align_clock *clocks, uint32_t n_domains, const uint32_t *reference)
{
    for (uint32_t d = 0; d < n_domains; d++) {
        /* A reference keeps its own time; the tree may have started it elsewhere. */
        double base = p->offset[reference[clocks[d].component]];
        clocks[d].drift = clocks[d].is_fitted ? p->drift[d] : 0;
        clocks[d].offset_ns = clocks[d].is_fitted ? llround(p->offset[d] - base) : 0;
        clocks[d].pivot_ns = p->pivot_ns;
    }
}

marey_status align_fit(align_end *ends, size_t n, uint32_t n_domains, align_clock *clocks, cancel_flag *cancel)
{
    memset(clocks, 0, n_domains * sizeof *clocks);
    if (n_domains == 0) {
        return MAREY_OK;
    }
    if (n > 0) {
        qsort(ends, n, sizeof *ends, by_instance);
    }
    n = keep_shared(ends, n);
    count_matches(ends, n, clocks);
    align_problem p;
    align_problem_init(&p, ends, n, n_domains);
    uint32_t *reference = mem_alloc(n_domains * sizeof *reference);
    start_offsets(ends, n, n_domains, p.offset, reference);
    for (uint32_t d = 0; d < n_domains; d++) {
        clocks[d].component = reference[d];
    }
    choose_references(clocks, n_domains, reference);
    for (uint32_t d = 0; d < n_domains; d++) {
        p.is_fixed[d] = reference[clocks[d].component] == d;
    }
    marey_status status = align_solve(&p, cancel);
    if (status == MAREY_OK) {
        residuals(&p, clocks, n_domains);
        report(&p, clocks, n_domains, reference);
    }
    free(reference);
    align_problem_deinit(&p);
    return status;
}
