#include "diagnose/align_solve.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum { ROUNDS = 12, MAX_CG = 60, MIN_DRIFT_MATCHES = 20 };
static const double MIN_DRIFT_SPAN_NS = 1e9;
static const double MAX_DRIFT = 200e-6;
static const double DRIFT_SCALE = 1e-9; /* one unit of the scaled drift unknown moves a time 1 s away by 1 ns */

static void group_by_domain(align_problem *p)
{
    for (size_t i = 0; i < p->n; i++) {
        p->first_of_domain[p->domain[i] + 1]++;
    }
    for (uint32_t d = 0; d < p->n_domains; d++) {
        p->first_of_domain[d + 1] += p->first_of_domain[d];
    }
    size_t *next = mem_alloc((p->n_domains + 1) * sizeof *next);
    memcpy(next, p->first_of_domain, (p->n_domains + 1) * sizeof *next);
    for (size_t i = 0; i < p->n; i++) {
        p->by_domain[next[p->domain[i]]++] = i;
    }
    free(next);
}

/* Drift needs enough matches over enough time to be more than noise. */
static void allow_drift(align_problem *p)
{
    for (uint32_t d = 0; d < p->n_domains; d++) {
        double lo = INFINITY;
        double hi = -INFINITY;
        for (size_t k = p->first_of_domain[d]; k < p->first_of_domain[d + 1]; k++) {
            double x = p->x[p->by_domain[k]];
            lo = x < lo ? x : lo;
            hi = x > hi ? x : hi;
        }
        size_t n = p->first_of_domain[d + 1] - p->first_of_domain[d];
        p->has_drift[d] = n >= MIN_DRIFT_MATCHES && hi - lo >= MIN_DRIFT_SPAN_NS;
    }
}

void align_problem_init(align_problem *p, const align_end *ends, size_t n, uint32_t n_domains)
{
    memset(p, 0, sizeof *p);
    p->n = n;
    p->n_domains = n_domains;
    p->x = mem_alloc(n * sizeof *p->x);
    p->domain = mem_alloc(n * sizeof *p->domain);
    p->base_weight = mem_alloc(n * sizeof *p->base_weight);
    p->weight = mem_alloc(n * sizeof *p->weight);
    p->first = mem_calloc(n + 2, sizeof *p->first);
    p->first_of_domain = mem_calloc(n_domains + 2, sizeof *p->first_of_domain);
    p->by_domain = mem_alloc(n * sizeof *p->by_domain);
    p->has_drift = mem_calloc(n_domains, sizeof *p->has_drift);
    p->is_fixed = mem_calloc(n_domains, sizeof *p->is_fixed);
    p->offset = mem_calloc(n_domains, sizeof *p->offset);
    p->drift = mem_calloc(n_domains, sizeof *p->drift);
    p->pivot_ns = n > 0 ? ends[n / 2].end_ns : 0;
    for (size_t i = 0; i < n; i++) {
        if (i == 0 || ends[i].instance != ends[i - 1].instance) {
            p->first[p->n_instances++] = i;
        }
        p->x[i] = (double)(ends[i].end_ns - p->pivot_ns);
        p->domain[i] = ends[i].domain;
        p->base_weight[i] = ends[i].weight;
        p->weight[i] = (double)ends[i].weight;
    }
    p->first[p->n_instances] = n;
    group_by_domain(p);
    allow_drift(p);
}

void align_problem_deinit(align_problem *p)
{
    free(p->x);
    free(p->domain);
    free(p->base_weight);
    free(p->weight);
    free(p->first);
    free(p->first_of_domain);
    free(p->by_domain);
    free(p->has_drift);
    free(p->is_fixed);
    free(p->offset);
    free(p->drift);
    memset(p, 0, sizeof *p);
}

/* u[2d] moves the offset of domain d, u[2d+1] its scaled drift; the correction they make at end i. */
static double moved(const align_problem *p, const double *u, size_t i)
{
    uint32_t d = p->domain[i];
    return u[2 * d] + u[2 * d + 1] * DRIFT_SCALE * p->x[i];
}

static double weighted_mean(const align_problem *p, const double *values, size_t a, size_t b)
{
    double sum = 0;
    double weight = 0;
    for (size_t i = a; i < b; i++) {
        sum += p->weight[i] * values[i];
        weight += p->weight[i];
    }
    return weight > 0 ? sum / weight : 0;
}

/* Subtract each instance's weighted mean: the instance's own time is free and is eliminated this way. */
static void centre(const align_problem *p, double *values)
{
    for (size_t k = 0; k < p->n_instances; k++) {
        double mean = weighted_mean(p, values, p->first[k], p->first[k + 1]);
        for (size_t i = p->first[k]; i < p->first[k + 1]; i++) {
            values[i] -= mean;
        }
    }
}

void align_residuals(const align_problem *p, double *out)
{
    for (size_t i = 0; i < p->n; i++) {
        uint32_t d = p->domain[i];
        out[i] = p->x[i] + p->offset[d] + p->drift[d] * p->x[i];
    }
    centre(p, out);
}

/* g = J' W r for residuals r that are centred already. */
static void gather(const align_problem *p, const double *r, double *g)
{
    memset(g, 0, 2 * (size_t)p->n_domains * sizeof *g);
    for (size_t i = 0; i < p->n; i++) {
        uint32_t d = p->domain[i];
        double wr = p->is_fixed[d] ? 0 : p->weight[i] * r[i];
        g[2 * d] += wr;
        g[2 * d + 1] += p->has_drift[d] ? wr * DRIFT_SCALE * p->x[i] : 0;
    }
}

static double dot(const double *a, const double *b, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        sum += a[i] * b[i];
    }
    return sum;
}

/* The diagonal of J' W J, for preconditioning. */
static void diagonal(const align_problem *p, double *diag)
{
    size_t m = 2 * (size_t)p->n_domains;
    memset(diag, 0, m * sizeof *diag);
    for (size_t i = 0; i < p->n; i++) {
        uint32_t d = p->domain[i];
        double x = DRIFT_SCALE * p->x[i];
        diag[2 * d] += p->weight[i];
        diag[2 * d + 1] += p->weight[i] * x * x;
    }
    for (size_t k = 0; k < m; k++) {
        diag[k] = diag[k] > 0 ? diag[k] : 1;
    }
}

typedef struct cg {
    double *u, *g, *z, *s, *as, *diag, *ends;
} cg;

static void apply(const align_problem *p, const double *u, double *ends, double *out)
{
    for (size_t i = 0; i < p->n; i++) {
        ends[i] = moved(p, u, i);
    }
    centre(p, ends);
    gather(p, ends, out);
}

static void precondition(const cg *c, size_t m)
{
    for (size_t k = 0; k < m; k++) {
        c->z[k] = c->g[k] / c->diag[k];
    }
}

/* Solve (J' W J) u = -J' W r by conjugate gradients. What is fixed has no gradient and stays, as u starts at 0. */
static void solve_round(align_problem *p, const double *r, const cg *c)
{
    size_t m = 2 * (size_t)p->n_domains;
    memset(c->u, 0, m * sizeof *c->u);
    diagonal(p, c->diag);
    gather(p, r, c->g);
    for (size_t k = 0; k < m; k++) {
        c->g[k] = -c->g[k];
    }
    precondition(c, m);
    memcpy(c->s, c->z, m * sizeof *c->s);
    double rho = dot(c->g, c->z, m);
    double first = rho;
    for (int it = 0; it < MAX_CG && rho > first * 1e-20 && rho > 0; it++) {
        apply(p, c->s, c->ends, c->as);
        double curvature = dot(c->s, c->as, m);
        if (curvature <= 0) {
            break;
        }
        double step = rho / curvature;
        for (size_t k = 0; k < m; k++) {
            c->u[k] += step * c->s[k];
            c->g[k] -= step * c->as[k];
        }
        precondition(c, m);
        double next = dot(c->g, c->z, m);
        for (size_t k = 0; k < m; k++) {
            c->s[k] = c->z[k] + next / rho * c->s[k];
        }
        rho = next;
    }
}

static void move(align_problem *p, const double *u)
{
    for (uint32_t d = 0; d < p->n_domains; d++) {
        double drift = p->drift[d] + (p->has_drift[d] ? u[2 * d + 1] * DRIFT_SCALE : 0);
        p->offset[d] += u[2 * d];
        p->drift[d] = drift > MAX_DRIFT ? MAX_DRIFT : drift < -MAX_DRIFT ? -MAX_DRIFT : drift;
    }
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Cauchy weights at 2.4 robust deviations: a wrong match pulls with next to nothing. */
static void reweigh(align_problem *p, const double *r, double *scratch)
{
    for (size_t i = 0; i < p->n; i++) {
        scratch[i] = fabs(r[i]);
    }
    qsort(scratch, p->n, sizeof *scratch, by_value);
    double sigma = 1.4826 * scratch[p->n / 2];
    double scale = 2.4 * (sigma > 50 ? sigma : 50);
    for (size_t i = 0; i < p->n; i++) {
        double q = r[i] / scale;
        p->weight[i] = (double)p->base_weight[i] / (1 + q * q);
    }
}

marey_status align_solve(align_problem *p, cancel_flag *cancel)
{
    if (p->n == 0) {
        return MAREY_OK;
    }
    size_t m = 2 * (size_t)p->n_domains;
    double *r = mem_alloc(p->n * sizeof *r);
    double *block = mem_alloc(6 * m * sizeof *block);
    cg c = {block, block + m, block + 2 * m, block + 3 * m, block + 4 * m, block + 5 * m, mem_alloc(p->n * sizeof *r)};
    marey_status status = MAREY_OK;
    for (int round = 0; round < ROUNDS; round++) {
        if (is_cancelled(cancel)) {
            status = MAREY_CANCELLED;
            break;
        }
        align_residuals(p, r);
        if (round > 0) {
            reweigh(p, r, c.ends);
            align_residuals(p, r);
        }
        solve_round(p, r, &c);
        move(p, c.u);
    }
    free(r);
    free(block);
    free(c.ends);
    return status;
}
