#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/text.h"
#include "diagnose/rules.h"

/* What concerns the run as a whole. */

static const double LAUNCH_SHARE = 0.10; /* of the step: a run that waits more for launches than this is launch-bound */
static const double COMM_SHARE = 0.02;

typedef int64_t (*cell_number)(const rank_step *c);

static int64_t host_wait(const rank_step *c)
{
    return c->host_wait_ns;
}

static int64_t exposed(const rank_step *c)
{
    return breakdown_of(c).exposed_communication_ns;
}

static int64_t waiting(const rank_step *c)
{
    return c->wait_ns + c->p2p_wait_ns;
}

/* Median over all ranks and steps. */
static int64_t median_of(const rule_state *s, cell_number number)
{
    const collected *c = &s->g->data;
    int64_t *v = mem_alloc((c->n_ranks * c->n_steps + 1) * sizeof *v);
    size_t n = 0;
    for (size_t i = 0; i < c->n_ranks * c->n_steps; i++) {
        if (s->compute_ns[i] >= 0) {
            v[n++] = number(&c->cells[i]);
        }
    }
    int64_t median = lower_median(v, n);
    free(v);
    return median;
}

static void add_exposed(const rule_state *s)
{
    diagnosis *g = s->g;
    int64_t ns = median_of(s, exposed);
    double share = g->typical_step_ns > 0 ? (double)ns / (double)g->typical_step_ns : 0;
    if (share < COMM_SHARE) {
        return;
    }
    double severity = severity_of_structure(share / 2);
    finding *f =
        finding_add(g, FINDING_EXPOSED_COMMUNICATION, severity < 0.29 ? severity : 0.29, "|COMM \\ COMP| / step");
    f->t1_ns = g->model->duration_ns;
    int64_t wait = median_of(s, waiting);
    finding_number_add(f, "exposed_ns", (double)ns);
    finding_number_add(f, "share_of_step", share);
    finding_number_add(f, "wait_ns", (double)wait);
    char time[32];
    time_format(ns, time, sizeof time);
    finding_say(g, f, "Communication that no compute hides takes %s of a step, %.0f %% (median over ranks).", time,
                100 * share);
    what_if_bound(g, ns, "exposed communication");
}

static void add_launch_bound(const rule_state *s)
{
    diagnosis *g = s->g;
    int64_t ns = g->data.has_launches ? median_of(s, host_wait) : 0;
    double share = g->typical_step_ns > 0 ? (double)ns / (double)g->typical_step_ns : 0;
    if (share < LAUNCH_SHARE) {
        return;
    }
    finding *f = finding_add(g, FINDING_LAUNCH_BOUND, severity_of(share - LAUNCH_SHARE), "host wait / step");
    f->t1_ns = g->model->duration_ns;
    finding_number_add(f, "host_wait_ns", (double)ns);
    finding_number_add(f, "share_of_step", share);
    char time[32];
    time_format(ns, time, sizeof time);
    finding_say(g, f, "Devices wait %s of a step for launches that come late, %.0f %% (median over ranks).", time,
                100 * share);
    what_if_bound(g, ns, "waiting for launches");
}

static void add_clocks(const rule_state *s)
{
    diagnosis *g = s->g;
    if (g->n_violations == 0) {
        return;
    }
    finding *f = finding_add(g, FINDING_CLOCKS, 0.2, "receive end < send start");
    f->t1_ns = g->model->duration_ns;
    finding_number_add(f, "violations", (double)g->n_violations);
    finding_number_add(f, "transfers", (double)g->n_transfers);
    finding_number_add(f, "worst_ns", (double)g->worst_violation_ns);
    char worst[32];
    time_format(g->worst_violation_ns, worst, sizeof worst);
    finding_say(g, f, "%llu of %zu transfers end before they begin, by up to %s: the clocks are not aligned that well.",
                (unsigned long long)g->n_violations, g->n_transfers, worst);
}

static void add_part(char *text, size_t cap, uint64_t n, const char *one, const char *many)
{
    size_t used = strlen(text);
    if (n > 0 && used < cap) {
        (void)snprintf(text + used, cap - used, "%s%llu %s", used > 0 ? ", " : "", (unsigned long long)n,
                       n == 1 ? one : many);
    }
}

/* Only what is so is said. */
static void say_incomplete(diagnosis *g, finding *f, uint64_t absent, size_t n_idle, size_t n_lacking)
{
    char text[256] = "";
    add_part(text, sizeof text, absent, "rank that a communicator names is absent",
             "ranks that communicators name are absent");
    add_part(text, sizeof text, n_idle, "rank has no device work", "ranks have no device work");
    add_part(text, sizeof text, n_lacking, "rank lacks steps that others have", "ranks lack steps that others have");
    add_part(text, sizeof text, g->data.n_damaged, "block could not be read", "blocks could not be read");
    if (g->data.steps_cut) {
        finding_say(g, f, "Not all of the run is here: %s%sthe later steps are left out.", text, text[0] ? ", " : "");
    } else {
        finding_say(g, f, "Not all of the run is here: %s.", text);
    }
}

static uint64_t count_absent(const trace_model *m)
{
    map64 seen = {0};
    for (size_t i = 0; i < m->n_ranks; i++) {
        *map64_put(&seen, (uint64_t)m->ranks[i].rank) = 1;
    }
    uint64_t absent = 0;
    for (size_t i = 0; i < m->n_groups; i++) {
        for (uint32_t k = 0; k < m->groups[i].n_ranks; k++) {
            uint64_t *v = map64_put(&seen, (uint64_t)m->groups[i].ranks[k]);
            absent += *v == 0;
            *v = 1;
        }
    }
    map64_deinit(&seen);
    return absent;
}

/* Ranks that a communicator names and the run lacks; ranks without steps that others have. A run without any device
 * lacks none. */
static void add_incomplete(const rule_state *s)
{
    diagnosis *g = s->g;
    const trace_model *m = g->model;
    uint64_t absent = count_absent(m);
    uint32_t *idle = mem_alloc((m->n_ranks + 1) * sizeof *idle);
    uint32_t *lacking = mem_alloc((m->n_ranks + 1) * sizeof *lacking);
    size_t n_idle = 0;
    size_t n_lacking = 0;
    for (uint32_t r = 0; r < m->n_ranks; r++) {
        size_t missing = 0;
        for (size_t k = 0; k < g->data.n_steps; k++) {
            missing += s->compute_ns[r * g->data.n_steps + k] < 0;
        }
        if (!g->data.has_device[r]) {
            idle[n_idle++] = r;
        } else if (missing > 0) {
            lacking[n_lacking++] = r;
        }
    }
    n_idle = n_idle < m->n_ranks ? n_idle : 0;
    if (absent + n_idle + n_lacking + g->data.n_damaged > 0 || g->data.steps_cut) {
        finding *f = finding_add(g, FINDING_INCOMPLETE, 0.1, "ranks of communicators less ranks of the run");
        finding_ranks(g, f, n_idle > 0 ? idle : lacking, n_idle > 0 ? n_idle : n_lacking);
        f->t1_ns = m->duration_ns;
        finding_number_add(f, "absent_ranks", (double)absent);
        finding_number_add(f, "ranks_without_device", (double)n_idle);
        finding_number_add(f, "ranks_without_some_steps", (double)n_lacking);
        finding_number_add(f, "damaged_blocks", (double)g->data.n_damaged);
        finding_number_add(f, "later_steps_left_out", g->data.steps_cut);
        finding_number_add(f, "collectives_of_one_rank", (double)g->data.match.n_unmatched);
        say_incomplete(g, f, absent, n_idle, n_lacking);
    }
    free(idle);
    free(lacking);
}

/* Without one kind of operators: an upper bound, as if its time on the median rank were on the critical path. */
static void add_operators(const rule_state *s)
{
    diagnosis *g = s->g;
    const trace_model *m = g->model;
    int64_t *sum = mem_calloc(m->n_categories * (m->n_ranks + 1) + 1, sizeof *sum);
    int64_t *v = mem_alloc((m->n_ranks + 1) * sizeof *v);
    for (size_t i = 0; i < g->data.n_operators; i++) {
        const operator_sum *o = &g->data.operators[i];
        sum[m->names[o->name].category * m->n_ranks + o->rank] += o->sum_ns;
    }
    for (size_t c = 0; c < m->n_categories; c++) {
        size_t n = 0;
        for (size_t r = 0; r < m->n_ranks; r++) {
            if (g->data.has_device[r]) {
                v[n++] = sum[c * m->n_ranks + r];
            }
        }
        what_if_bound(g, lower_median(v, n) / (int64_t)g->data.n_steps, "operators: %s", m->categories[c].name);
    }
    free(sum);
    free(v);
}

void rules_whole(rule_state *s)
{
    add_exposed(s);
    add_launch_bound(s);
    add_clocks(s);
    add_incomplete(s);
    add_operators(s);
}
