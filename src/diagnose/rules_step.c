#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "diagnose/rules.h"

/* Steps that are longer than the others, as far as no rank, stage or link is to blame. */

enum { MIN_STEPS = 3 };
static const double EXPLAINED = 0.5; /* of what a step is longer: then its culprit has been named */
static const double OUTLIER_SHARE = 0.02;

/* How much longer than usual the median rank computes in this step. */
static double compute_ratio(const rule_state *s, size_t step)
{
    size_t n_steps = s->g->data.n_steps;
    int64_t *v = mem_alloc((n_steps + 1) * sizeof *v);
    int64_t *ratios = mem_alloc((s->g->data.n_ranks + 1) * sizeof *ratios);
    size_t n_ratios = 0;
    for (size_t r = 0; r < s->g->data.n_ranks; r++) {
        size_t n = 0;
        for (size_t k = 0; k < n_steps; k++) {
            if (s->compute_ns[r * n_steps + k] >= 0) {
                v[n++] = s->compute_ns[r * n_steps + k];
            }
        }
        int64_t usual = lower_median(v, n);
        if (usual > 0 && s->compute_ns[r * n_steps + step] >= 0) {
            ratios[n_ratios++] = (int64_t)((double)s->compute_ns[r * n_steps + step] / (double)usual * 1e6);
        }
    }
    double ratio = (double)lower_median(ratios, n_ratios) * 1e-6;
    free(v);
    free(ratios);
    return ratio;
}

void rules_step(rule_state *s)
{
    diagnosis *g = s->g;
    size_t n_steps = g->data.n_steps;
    if (n_steps < MIN_STEPS) {
        return;
    }
    for (size_t k = 0; k < n_steps; k++) {
        int64_t longer = g->step_ns[k] - g->typical_step_ns;
        int64_t left = longer - s->explained_ns[k];
        bool has_culprit = (double)s->explained_ns[k] > EXPLAINED * (double)longer;
        if (longer <= 0 || (double)longer < OUTLIER_SHARE * (double)g->step_ns[k] || left <= 0 || has_culprit) {
            continue;
        }
        flagged u = {arena_alloc(&g->mem, sizeof(uint32_t)), 1, (double)left / (double)g->step_ns[k], left};
        u.steps[0] = (uint32_t)k;
        double ratio = compute_ratio(s, k);
        finding *f = finding_add(g, FINDING_STEP_OUTLIER, severity_of(u.share), "step time over the median of steps");
        finding_steps(f, &u);
        finding_when(g, f);
        finding_number_add(f, "step_ns", (double)g->step_ns[k]);
        finding_number_add(f, "typical_step_ns", (double)g->typical_step_ns);
        finding_number_add(f, "share_of_step", u.share);
        finding_number_add(f, "compute_ratio", ratio);
        char own[32];
        char usual[32];
        time_format(g->step_ns[k], own, sizeof own);
        time_format(g->typical_step_ns, usual, sizeof usual);
        bool computes = ratio > 1.05;
        finding_say(g, f, "Step %lld took %s where %s is usual; %s", (long long)g->data.step_index[k], own, usual,
                    computes ? "all ranks computed longer." : "no single rank or link explains it.");
    }
}
