/*
 * The inside of align_fit: the joint robust fit of all clocks. Times are doubles relative to the pivot: exact to a ns
 * over weeks. Thread: one at a time per problem.
 */
#ifndef MAREY_DIAGNOSE_ALIGN_SOLVE_H
#define MAREY_DIAGNOSE_ALIGN_SOLVE_H

#include "diagnose/align.h"

#define NO_DOMAIN UINT32_MAX

typedef struct align_problem {
    size_t n; /* ends, sorted by instance */
    uint32_t n_domains;
    size_t n_instances;
    int64_t pivot_ns;
    double *x;               /* [n] end - pivot, ns */
    uint32_t *domain;        /* [n] */
    float *base_weight;      /* [n] */
    double *weight;          /* [n] robust weight of this round */
    size_t *first;           /* [n_instances + 1] into the ends */
    size_t *first_of_domain; /* [n_domains + 1] into by_domain */
    size_t *by_domain;       /* [n] end indices grouped by domain */
    bool *has_drift;         /* [n_domains] */
    bool *is_fixed;          /* [n_domains] references: without one, shrinking all time would fit best */
    double *offset;          /* [n_domains] ns */
    double *drift;           /* [n_domains] */
} align_problem;

void align_problem_init(align_problem *p, const align_end *ends, size_t n, uint32_t n_domains);
void align_problem_deinit(align_problem *p);
/** From the offsets at hand to the fit. */
marey_status align_solve(align_problem *p, cancel_flag *cancel);
/** out[i]: corrected end less its instance's own time (the weighted mean of its members). */
void align_residuals(const align_problem *p, double *out);

#endif
