#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "diagnose/align_run.h"

/*
 * Members leave a collective late, never early: of those on one clock the earliest tells its end best. Alternately, the
 * instances' times are the medians of these earliest ends, and each clock is fitted to the instances' times with
 * weights that fall with the distance.
 */

enum { ROUNDS = 30, FIT_ROUNDS = 8, MIN_POINTS = 4 };
static const double MIN_SPAN_NS = 1e9;
static const double MAX_DRIFT = 200e-6;
static const double FINEST_NS = 200;

typedef struct point {
    uint32_t instance; /* dense */
    uint32_t domain;
    double x;   /* raw end - pivot, ns */
    double add; /* correction so far: corrected = x + add */
} point;

typedef struct refinement {
    point *points; /* by instance */
    size_t n;
    size_t n_instances;
    double *time;     /* [n_instances] corrected */
    size_t *by_clock; /* points grouped by domain */
    size_t *first;    /* [n_domains + 1] */
    double *offset, *drift;
    double *scratch;
} refinement;

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *v, size_t n)
{
    qsort(v, n, sizeof *v, by_value);
    return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

static int by_instance_and_domain(const void *pa, const void *pb)
{
    const align_end *a = pa;
    const align_end *b = pb;
    if (a->instance != b->instance) {
        return a->instance < b->instance ? -1 : 1;
    }
    if (a->domain != b->domain) {
        return a->domain < b->domain ? -1 : 1;
    }
    return a->end_ns < b->end_ns ? -1 : a->end_ns > b->end_ns;
}

static void collect(refinement *r, align_end *ends, size_t n, uint32_t n_domains, const align_clock *clocks)
{
    qsort(ends, n, sizeof *ends, by_instance_and_domain);
    r->points = mem_alloc((n + 1) * sizeof *r->points);
    r->first = mem_calloc(n_domains + 2, sizeof *r->first);
    for (size_t i = 0; i < n; i++) {
        bool fresh = i == 0 || ends[i].instance != ends[i - 1].instance;
        r->n_instances += fresh;
        if (fresh || ends[i].domain != ends[i - 1].domain) {
            uint32_t d = ends[i].domain;
            r->points[r->n++] =
                (point){(uint32_t)(r->n_instances - 1), d, (double)(ends[i].end_ns - clocks[d].pivot_ns), 0};
            r->first[d + 1]++;
        }
    }
    for (uint32_t d = 0; d < n_domains; d++) {
        r->first[d + 1] += r->first[d];
    }
    r->by_clock = mem_alloc((r->n + 1) * sizeof *r->by_clock);
    size_t *next = mem_alloc((n_domains + 1) * sizeof *next);
    memcpy(next, r->first, (n_domains + 1) * sizeof *next);
    for (size_t i = 0; i < r->n; i++) {
        r->by_clock[next[r->points[i].domain]++] = i;
    }
    free(next);
    r->time = mem_calloc(r->n_instances + 1, sizeof *r->time);
    r->scratch = mem_alloc((r->n + 1) * sizeof *r->scratch);
    r->offset = mem_calloc(n_domains, sizeof *r->offset);
    r->drift = mem_calloc(n_domains, sizeof *r->drift);
    for (uint32_t d = 0; d < n_domains; d++) {
        r->offset[d] = (double)clocks[d].offset_ns;
        r->drift[d] = clocks[d].drift;
    }
}

static double corrected(const refinement *r, const point *p)
{
    return p->x + r->offset[p->domain] + r->drift[p->domain] * p->x;
}

static void settle_times(refinement *r)
{
    for (size_t i = 0; i < r->n;) {
        size_t j = i;
        size_t n = 0;
        for (; j < r->n && r->points[j].instance == r->points[i].instance; j++) {
            r->scratch[n++] = corrected(r, &r->points[j]);
        }
        r->time[r->points[i].instance] = median(r->scratch, n);
        i = j;
    }
}

/* The line that most of one clock's points lie on: least squares with Cauchy weights of a falling scale. */
static void fit_clock(refinement *r, uint32_t d)
{
    size_t first = r->first[d];
    size_t n = r->first[d + 1] - first;
    double lo = INFINITY;
    double hi = -INFINITY;
    for (size_t k = first; k < first + n; k++) {
        double x = r->points[r->by_clock[k]].x;
        lo = x < lo ? x : lo;
        hi = x > hi ? x : hi;
    }
    bool bends = n >= MIN_POINTS && hi - lo >= MIN_SPAN_NS;
    for (int round = 0; round < FIT_ROUNDS; round++) {
        for (size_t k = 0; k < n; k++) {
            const point *p = &r->points[r->by_clock[first + k]];
            r->scratch[k] = fabs(r->time[p->instance] - corrected(r, p));
        }
        double sigma = median(r->scratch, n);
        double scale = 2 * (sigma > FINEST_NS ? sigma : FINEST_NS);
        double w = 0, wx = 0, wxx = 0, wy = 0, wxy = 0;
        for (size_t k = 0; k < n; k++) {
            const point *p = &r->points[r->by_clock[first + k]];
            double y = r->time[p->instance] - corrected(r, p);
            double v = 1 / (1 + y / scale * (y / scale));
            double x = p->x * 1e-9;
            w += v, wx += v * x, wxx += v * x * x, wy += v * y, wxy += v * x * y;
        }
        double det = w * wxx - wx * wx;
        if (bends && det > 1e-12 * w * wxx) {
            double slope = (w * wxy - wx * wy) / det;
            double drift = r->drift[d] + slope * 1e-9;
            drift = drift > MAX_DRIFT ? MAX_DRIFT : drift < -MAX_DRIFT ? -MAX_DRIFT : drift;
            slope = (drift - r->drift[d]) * 1e9;
            r->drift[d] = drift;
            r->offset[d] += (wy - slope * wx) / w;
        } else if (w > 0) {
            r->offset[d] += wy / w;
        }
    }
}

/* A component's reference is the clock that align_fit() left alone. */
static bool is_reference(const align_clock *c)
{
    return !c->is_fitted || (c->offset_ns == 0 && !(fabs(c->drift) > 0));
}

void align_refine(align_end *ends, size_t n, uint32_t n_domains, align_clock *clocks)
{
    refinement r = {0};
    if (n == 0) {
        return;
    }
    collect(&r, ends, n, n_domains, clocks);
    for (int round = 0; round < ROUNDS; round++) {
        settle_times(&r);
        for (uint32_t d = 0; d < n_domains; d++) {
            if (!is_reference(&clocks[d]) && r.first[d + 1] > r.first[d]) {
                fit_clock(&r, d);
            }
        }
    }
    for (uint32_t d = 0; d < n_domains; d++) {
        if (clocks[d].is_fitted) {
            clocks[d].offset_ns = llround(r.offset[d]);
            clocks[d].drift = r.drift[d];
        }
    }
    free(r.points);
    free(r.time);
    free(r.by_clock);
    free(r.first);
    free(r.offset);
    free(r.drift);
    free(r.scratch);
}
