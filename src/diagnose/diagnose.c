#include "diagnose/diagnose.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "diagnose/instances.h"
#include "diagnose/rules.h"

enum { MAX_OUTLIERS = 50 };

/* ------------------------------------------------------------------ common ground */

static void number_stages(rule_state *s)
{
    const trace_model *m = s->g->model;
    s->stage_of = mem_calloc(m->n_ranks + 1, sizeof *s->stage_of);
    s->stage_name = mem_alloc((m->n_ranks + 1) * sizeof *s->stage_name);
    s->n_in_stage = mem_calloc(m->n_ranks + 1, sizeof *s->n_in_stage);
    for (size_t r = 0; r < m->n_ranks; r++) {
        uint32_t k = 0;
        while (k < s->n_stages && s->stage_name[k] != m->ranks[r].stage) {
            k++;
        }
        if (k == s->n_stages) {
            s->stage_name[s->n_stages++] = m->ranks[r].stage;
        }
        s->stage_of[r] = k;
        s->n_in_stage[k] += s->g->data.has_device[r];
        s->has_stages = s->has_stages || m->ranks[r].stage >= 0;
    }
}

static void fill_compute(rule_state *s)
{
    const collected *c = &s->g->data;
    size_t n_cells = c->n_ranks * c->n_steps;
    s->compute_ns = mem_alloc((n_cells + 1) * sizeof *s->compute_ns);
    for (size_t i = 0; i < n_cells; i++) {
        bool there = c->cells[i].end_ns > c->cells[i].start_ns && c->has_device[i / c->n_steps];
        s->compute_ns[i] = there ? breakdown_of(&c->cells[i]).compute_ns : -1;
    }
    s->stage_ns = mem_alloc((s->n_stages * c->n_steps + 1) * sizeof *s->stage_ns);
    int64_t *v = mem_alloc((c->n_ranks + 1) * sizeof *v);
    for (uint32_t t = 0; t < s->n_stages; t++) {
        for (size_t k = 0; k < c->n_steps; k++) {
            size_t n = 0;
            for (size_t r = 0; r < c->n_ranks; r++) {
                if (s->stage_of[r] == t && s->compute_ns[r * c->n_steps + k] >= 0) {
                    v[n++] = s->compute_ns[r * c->n_steps + k];
                }
            }
            s->stage_ns[t * c->n_steps + k] = n > 0 ? lower_median(v, n) : -1;
        }
    }
    free(v);
}

static void measure_steps(diagnosis *g)
{
    const collected *c = &g->data;
    g->step_ns = mem_calloc(c->n_steps + 1, sizeof *g->step_ns);
    int64_t *v = mem_alloc((c->n_ranks + c->n_steps + 1) * sizeof *v);
    for (size_t k = 0; k < c->n_steps; k++) {
        size_t n = 0;
        for (size_t r = 0; r < c->n_ranks; r++) {
            const rank_step *w = collected_cell(c, r, k);
            if (c->has_device[r] && w->end_ns > w->start_ns) {
                v[n++] = w->end_ns - w->start_ns;
            }
        }
        g->step_ns[k] = lower_median(v, n);
    }
    size_t n = 0;
    for (size_t k = 0; k < c->n_steps; k++) {
        if (g->step_ns[k] > 0) {
            v[n++] = g->step_ns[k];
        }
    }
    g->typical_step_ns = lower_median(v, n);
    free(v);
}

static void read_clocks(diagnosis *g)
{
    const trace_model *m = g->model;
    int64_t *v = mem_alloc((m->n_ranks + 1) * sizeof *v);
    g->clock_method = m->n_ranks > 0 ? m->ranks[0].clock_method : "none";
    for (size_t i = 0; i < m->n_ranks; i++) {
        v[i] = m->ranks[i].clock_residual_ns;
        g->clock_matched += m->ranks[i].clock_matched;
        g->clock_residual_max_ns = v[i] > g->clock_residual_max_ns ? v[i] : g->clock_residual_max_ns;
        if (strcmp(g->clock_method, m->ranks[i].clock_method) != 0) {
            g->clock_method = "mixed";
        }
    }
    g->clock_residual_median_ns = lower_median(v, m->n_ranks);
    free(v);
}

static int by_severity(const void *pa, const void *pb)
{
    const finding *a = pa;
    const finding *b = pb;
    if (a->severity > b->severity || a->severity < b->severity) {
        return a->severity > b->severity ? -1 : 1;
    }
    if (a->kind != b->kind) {
        return a->kind < b->kind ? -1 : 1;
    }
    uint32_t x = a->n_ranks > 0 ? a->ranks[0] : 0;
    uint32_t y = b->n_ranks > 0 ? b->ranks[0] : 0;
    return x < y ? -1 : x > y;
}

static int by_speedup(const void *pa, const void *pb)
{
    const what_if *a = pa;
    const what_if *b = pb;
    if (a->speedup > b->speedup || a->speedup < b->speedup) {
        return a->speedup > b->speedup ? -1 : 1;
    }
    return strcmp(a->without, b->without);
}

static void apply_rules(diagnosis *g)
{
    size_t n_ranks = g->data.n_ranks;
    size_t n_steps = g->data.n_steps;
    rule_state s = {.g = g,
                    .compute = excess_make(n_ranks, n_steps),
                    .stall = excess_make(n_ranks, n_steps),
                    .launch = excess_make(n_ranks, n_steps),
                    .explained_ns = mem_calloc(n_steps + 1, sizeof(int64_t))};
    number_stages(&s);
    fill_compute(&s);
    s.replay = replay_create(g);
    rules_rank(&s);
    rules_stage(&s);
    rules_link(&s);
    rules_step(&s);
    rules_whole(&s);
    if (g->n_findings > 0) {
        qsort(g->findings, g->n_findings, sizeof *g->findings, by_severity);
    }
    if (g->n_what_ifs > 0) {
        qsort(g->what_ifs, g->n_what_ifs, sizeof *g->what_ifs, by_speedup);
    }
    free(s.compute.ns);
    free(s.stall.ns);
    free(s.launch.ns);
    free(s.explained_ns);
    replay_destroy(&s.replay);
    free(s.stage_of);
    free(s.stage_name);
    free(s.n_in_stage);
    free(s.compute_ns);
    free(s.stage_ns);
}

void diagnose_judge(diagnosis *g)
{
    read_clocks(g);
    instances_find(g);
    transfers_find(g);
    measure_steps(g);
    apply_rules(g);
}

/* Where to look for operators that stand out: rank (NO_ID: nobody in particular) and step. */
static uint32_t suspicious_place(const diagnosis *g, uint32_t *step)
{
    *step = 0;
    for (size_t k = 0; k < g->data.n_steps; k++) {
        *step = g->step_ns[k] > g->step_ns[*step] ? (uint32_t)k : *step;
    }
    if (g->n_findings == 0 || g->findings[0].n_steps == 0) {
        return NO_ID;
    }
    *step = g->findings[0].steps[0];
    return g->findings[0].n_ranks > 0 ? g->findings[0].ranks[0] : NO_ID;
}

static marey_status find_outliers(diagnosis *g, store_file *f, cancel_flag *cancel, diag *d)
{
    uint32_t rank = suspicious_place(g, &g->outlier_step);
    uint32_t *ranks = mem_alloc((g->data.n_ranks + 1) * sizeof *ranks);
    size_t n_ranks = 0;
    int64_t t0 = INT64_MAX;
    int64_t t1 = INT64_MIN;
    for (uint32_t r = 0; r < g->data.n_ranks; r++) {
        const rank_step *w = collected_cell(&g->data, r, g->outlier_step);
        bool is_peer = rank == NO_ID || g->model->ranks[r].stage == g->model->ranks[rank].stage;
        if (is_peer && g->data.has_device[r] && w->end_ns > w->start_ns) {
            ranks[n_ranks++] = r;
            t0 = w->start_ns < t0 ? w->start_ns : t0;
            t1 = w->end_ns > t1 ? w->end_ns : t1;
        }
    }
    operator_event *events = NULL;
    size_t n = 0;
    marey_status status = operator_events(f, ranks, n_ranks, t0, t1, cancel, &events, &n, d);
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) { /* only what starts in the rank's own window of the step */
        const rank_step *w = collected_cell(&g->data, events[i].rank, g->outlier_step);
        if (events[i].start_ns >= w->start_ns && events[i].start_ns < w->end_ns) {
            events[kept++] = events[i];
        }
    }
    g->outliers = operator_outliers(events, kept, MAX_OUTLIERS, &g->n_outliers);
    free(events);
    free(ranks);
    return status;
}

marey_status diagnose_run(store_file *f, const diagnose_options *options, diagnosis *out, diag *d)
{
    *out = (diagnosis){.model = store_model(f)};
    marey_status status = collect(f, options->jobs, options->cancel, options->progress, &out->data, d);
    if (status != MAREY_OK) {
        diagnose_free(out);
        return status;
    }
    diagnose_judge(out);
    status = find_outliers(out, f, options->cancel, d);
    if (status != MAREY_OK) {
        diagnose_free(out);
    }
    return status;
}

void diagnose_free(diagnosis *g)
{
    collected_free(&g->data);
    free(g->instances);
    free(g->transfers);
    free(g->links);
    free(g->step_ns);
    free(g->last_votes);
    free(g->vote_chances);
    free(g->findings);
    free(g->what_ifs);
    free(g->outliers);
    arena_deinit(&g->mem);
    *g = (diagnosis){0};
}
