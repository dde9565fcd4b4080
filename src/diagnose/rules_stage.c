#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "diagnose/rules.h"

/* Pipeline stages against each other, and the pipeline against its schedule. */

/* A stage's compute less the mean of the others: what the step loses to it. */
static void fill_imbalance(const rule_state *s, excess *e)
{
    size_t n_steps = s->g->data.n_steps;
    for (size_t k = 0; k < n_steps; k++) {
        int64_t sum = 0;
        int64_t n = 0;
        for (uint32_t t = 0; t < s->n_stages; t++) {
            int64_t ns = s->stage_ns[t * n_steps + k];
            sum += ns >= 0 ? ns : 0;
            n += ns >= 0;
        }
        for (uint32_t t = 0; t < s->n_stages && n > 1; t++) {
            int64_t ns = s->stage_ns[t * n_steps + k];
            int64_t over = ns >= 0 ? ns - (sum - ns) / (n - 1) : 0;
            e->ns[t * n_steps + k] = over > 0 ? over : 0;
        }
    }
}

static uint32_t *ranks_of_stage(const rule_state *s, uint32_t stage, size_t *n)
{
    uint32_t *ranks = mem_alloc((s->g->data.n_ranks + 1) * sizeof *ranks);
    *n = 0;
    for (uint32_t r = 0; r < s->g->data.n_ranks; r++) {
        if (s->stage_of[r] == stage && s->g->data.has_device[r]) {
            ranks[(*n)++] = r;
        }
    }
    return ranks;
}

static void add_imbalance(rule_state *s, const excess *e, uint32_t stage)
{
    diagnosis *g = s->g;
    flagged u = excess_flag(s, e, stage);
    if (u.n == 0) {
        return;
    }
    double own = 0;
    for (uint32_t i = 0; i < u.n; i++) {
        own += (double)s->stage_ns[stage * g->data.n_steps + u.steps[i]] / u.n;
    }
    double ratio = own > (double)u.mean_ns ? own / (own - (double)u.mean_ns) : 0;
    finding *f = finding_add(g, FINDING_STAGE_IMBALANCE, severity_of(u.share),
                             "stage compute over the mean of the other stages");
    size_t n;
    uint32_t *ranks = ranks_of_stage(s, stage, &n);
    finding_ranks(g, f, ranks, n);
    free(ranks);
    finding_steps(f, &u);
    finding_when(g, f);
    f->stage = s->stage_name[stage];
    finding_number_add(f, "excess_ns", (double)u.mean_ns);
    finding_number_add(f, "share_of_step", u.share);
    finding_number_add(f, "ratio", ratio);
    finding_number_add(f, "stages", s->n_stages);
    char steps[64];
    char more[32];
    time_format(u.mean_ns, more, sizeof more);
    finding_say(g, f,
                "Stage %d computes %.2f times as long as the other stages%s, %s more per step; the others wait for it.",
                (int)f->stage, ratio, steps_phrase(g, &u, steps), more);
    int64_t saved = saved_without(s, e, stage, &u, EXCESS_COMPUTE, f->ranks, f->n_ranks);
    finding_number_add(f, "saved_ns", (double)saved);
    what_if_replayed(g, &u, saved, "the excess of stage %d", (int)f->stage);
}

/* ------------------------------------------------------------------ bubble */

/* Micro-batches: transfers of one direction over one boundary in one step. */
uint32_t micro_batches(const diagnosis *g)
{
    int64_t *v = mem_alloc((g->n_links + 1) * sizeof *v);
    size_t n = 0;
    for (size_t i = 0; i < g->n_links; i++) {
        const rank_link *l = &g->links[i];
        if (g->model->ranks[l->to].stage == g->model->ranks[l->from].stage + 1) {
            v[n++] = (int64_t)((l->n + g->data.n_steps / 2) / g->data.n_steps);
        }
    }
    int64_t m = lower_median(v, n);
    free(v);
    return m > 0 && m < INT32_MAX ? (uint32_t)m : 0;
}

/* Of the stage with the longest bubble, which is the first one: before its first compute nothing can be missing. Work
 * is what fills the rest between first and last compute. */
static void measure_bubble(const rule_state *s, int64_t *bubble_ns, int64_t *work_ns)
{
    const collected *c = &s->g->data;
    int64_t *bubbles = mem_alloc((c->n_ranks * c->n_steps + 1) * sizeof *bubbles);
    int64_t *works = mem_alloc((c->n_ranks * c->n_steps + 1) * sizeof *works);
    *bubble_ns = -1;
    *work_ns = 0;
    for (uint32_t t = 0; t < s->n_stages; t++) {
        size_t n = 0;
        for (size_t i = 0; i < c->n_ranks * c->n_steps; i++) {
            const rank_step *w = &c->cells[i];
            if (s->stage_of[i / c->n_steps] == t && s->compute_ns[i] > 0) {
                bubbles[n] = w->bubble_ns;
                works[n++] = w->last_compute_ns - w->first_compute_ns - w->bubble_ns;
            }
        }
        int64_t bubble = lower_median(bubbles, n);
        if (n > 0 && bubble > *bubble_ns) {
            *bubble_ns = bubble;
            *work_ns = lower_median(works, n);
        }
    }
    free(bubbles);
    free(works);
}

static void add_bubble(rule_state *s)
{
    diagnosis *g = s->g;
    int64_t bubble;
    int64_t compute;
    measure_bubble(s, &bubble, &compute);
    uint32_t m = micro_batches(g);
    uint32_t p = s->n_stages;
    if (p < 2 || m == 0 || compute <= 0) {
        return;
    }
    double ideal = (double)(p - 1) / m;
    double measured = (double)bubble / (double)compute;
    double by_schedule = ideal / (1 + ideal); /* of the step */
    double share = g->typical_step_ns > 0 ? (double)bubble / (double)g->typical_step_ns : 0;
    double severity = severity_of_structure(share < by_schedule ? share : by_schedule);
    finding *f = finding_add(g, FINDING_PIPELINE_BUBBLE, severity, "bubble / work against (p-1)/m");
    finding_number_add(f, "measured", measured);
    finding_number_add(f, "ideal", ideal);
    finding_number_add(f, "stages", p);
    finding_number_add(f, "micro_batches", m);
    finding_number_add(f, "bubble_ns", (double)bubble);
    finding_number_add(f, "share_of_step", share);
    f->t1_ns = g->model->duration_ns;
    finding_say(g, f,
                "The pipeline's bubble is %.0f %% of the work; the schedule with %u stages and %u micro-batches has "
                "%.0f %% at best.",
                100 * measured, p, m, 100 * ideal);
    if (m < UINT32_MAX / 2) {
        double less = (double)compute * (ideal - ideal / 2);
        what_if_bound(g, (int64_t)(less < (double)bubble ? less : (double)bubble),
                      "half the bubble (%u micro-batches)", 2 * m);
    }
}

void rules_stage(rule_state *s)
{
    if (!s->has_stages || s->n_stages < 2) {
        return;
    }
    excess e = excess_make(s->n_stages, s->g->data.n_steps);
    fill_imbalance(s, &e);
    for (uint32_t t = 0; t < s->n_stages; t++) {
        add_imbalance(s, &e, t);
    }
    rules_explain(s, &e);
    free(e.ns);
    add_bubble(s);
}
