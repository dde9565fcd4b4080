#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "diagnose/rules.h"

/* Ranks against those that do the same work: compute, the longest pause, the many small ones. */

enum { MAX_FINDINGS = 16, MIN_STAGE_PEERS = 3 };
static const double COMPUTE_NOISE = 0.02; /* of the peers' compute */
static const double OUTLIER_SIGMA = 4.5;

typedef int64_t (*cell_value)(const rank_step *c);

static int64_t longest_gap(const rank_step *c)
{
    return c->longest_gap_ns;
}

static int64_t small_gaps(const rank_step *c)
{
    return c->own_gap_ns - c->longest_gap_ns;
}

static bool has_step(const rule_state *s, size_t rank, size_t step)
{
    return s->compute_ns[rank * s->g->data.n_steps + step] >= 0;
}

/* Peers: the rank's stage where that is large enough, else everybody. */
static int64_t peers_median(const rule_state *s, uint32_t stage, size_t step, cell_value value, int64_t *scratch)
{
    const collected *c = &s->g->data;
    bool all = s->n_in_stage[stage] < MIN_STAGE_PEERS;
    size_t n = 0;
    for (size_t r = 0; r < c->n_ranks; r++) {
        if ((all || s->stage_of[r] == stage) && has_step(s, r, step)) {
            scratch[n++] = value(collected_cell(c, r, step));
        }
    }
    return lower_median(scratch, n);
}

static void fill_gaps(const rule_state *s, excess *e, cell_value value)
{
    const collected *c = &s->g->data;
    int64_t *scratch = mem_alloc((c->n_ranks + 1) * sizeof *scratch);
    for (size_t k = 0; k < c->n_steps; k++) {
        for (uint32_t stage = 0; stage < s->n_stages; stage++) {
            int64_t base = peers_median(s, stage, k, value, scratch);
            for (size_t r = 0; r < c->n_ranks; r++) {
                if (s->stage_of[r] == stage && has_step(s, r, k)) {
                    int64_t over = value(collected_cell(c, r, k)) - base;
                    e->ns[r * c->n_steps + k] = over > 0 ? over : 0;
                }
            }
        }
    }
    free(scratch);
}

/* The usual relative deviation of a rank's compute from its stage's median in one step: 1.4826 MAD. */
static double usual_deviation(const rule_state *s)
{
    const collected *c = &s->g->data;
    int64_t *v = mem_alloc((c->n_ranks * c->n_steps + 1) * sizeof *v);
    size_t n = 0;
    for (size_t i = 0; i < c->n_ranks * c->n_steps; i++) {
        int64_t base = s->stage_ns[s->stage_of[i / c->n_steps] * c->n_steps + i % c->n_steps];
        if (s->compute_ns[i] >= 0 && base > 0 && s->n_in_stage[s->stage_of[i / c->n_steps]] > 1) {
            v[n++] = (int64_t)(fabs((double)(s->compute_ns[i] - base)) / (double)base * 1e9);
        }
    }
    double mad = (double)lower_median(v, n) * 1e-9;
    free(v);
    return 1.4826 * mad;
}

/* Excess of a rank over its stage's median: counted where it is beyond the usual deviation in that step, or where the
 * rank is beyond it on the whole, which is seen the more sharply the more steps there are. */
static void fill_compute(const rule_state *s, excess *e)
{
    const collected *c = &s->g->data;
    double usual = OUTLIER_SIGMA * usual_deviation(s);
    for (size_t r = 0; r < c->n_ranks; r++) {
        const int64_t *base = s->stage_ns + s->stage_of[r] * c->n_steps;
        const int64_t *own = s->compute_ns + r * c->n_steps;
        double mean = 0;
        size_t n = 0;
        for (size_t k = 0; k < c->n_steps; k++) {
            if (own[k] >= 0 && base[k] > 0) {
                mean += (double)own[k] / (double)base[k] - 1;
                n++;
            }
        }
        bool persists = n > 1 && mean / (double)n > usual / sqrt((double)n);
        for (size_t k = 0; k < c->n_steps && s->n_in_stage[s->stage_of[r]] > 1; k++) {
            double over = own[k] >= 0 && base[k] > 0 ? (double)own[k] / (double)base[k] - 1 : 0;
            if (over > COMPUTE_NOISE && (persists || over > usual)) {
                e->ns[r * c->n_steps + k] = own[k] - base[k];
            }
        }
    }
}

/* ------------------------------------------------------------------ findings */

typedef struct suspect {
    uint32_t rank;
    flagged f;
} suspect;

static int by_share(const void *pa, const void *pb)
{
    const suspect *a = pa;
    const suspect *b = pb;
    if (a->f.share > b->f.share || a->f.share < b->f.share) {
        return a->f.share > b->f.share ? -1 : 1;
    }
    return a->rank < b->rank ? -1 : a->rank > b->rank;
}

static suspect *find_suspects(const rule_state *s, const excess *e, size_t *n)
{
    suspect *all = mem_alloc((e->n_rows + 1) * sizeof *all);
    *n = 0;
    for (size_t r = 0; r < e->n_rows; r++) {
        flagged f = excess_flag(s, e, r);
        if (f.n > 0) {
            all[(*n)++] = (suspect){(uint32_t)r, f};
        }
    }
    if (*n > 0) {
        qsort(all, *n, sizeof *all, by_share);
    }
    *n = *n < MAX_FINDINGS ? *n : MAX_FINDINGS;
    return all;
}

/* @return what a step would be shorter by without it */
static int64_t add_common(const rule_state *s, finding *f, const suspect *u, const excess *e, excess_of what)
{
    diagnosis *g = s->g;
    finding_ranks(g, f, &u->rank, 1);
    finding_steps(f, &u->f);
    finding_when(g, f);
    f->stage = s->has_stages ? g->model->ranks[u->rank].stage : -1;
    finding_number_add(f, "excess_ns", (double)u->f.mean_ns);
    finding_number_add(f, "share_of_step", u->f.share);
    finding_number_add(f, "peers", s->n_in_stage[s->stage_of[u->rank]] - 1.0);
    int64_t saved = saved_without(s, e, u->rank, &u->f, what, &u->rank, 1);
    finding_number_add(f, "saved_ns", (double)saved);
    if (g->vote_chances[u->rank] > 0) {
        finding_number_add(f, "last_arrivals", g->last_votes[u->rank]);
        finding_number_add(f, "collectives", g->vote_chances[u->rank]);
    }
    return saved;
}

/* The operator whose total lies furthest above the lower median of the stage's ranks. */
static uint32_t slowest_operator(const rule_state *s, uint32_t rank, double *ratio)
{
    const collected *c = &s->g->data;
    int64_t *v = mem_alloc((c->n_ranks + 1) * sizeof *v);
    int64_t worst = 0;
    uint32_t name = NO_ID;
    for (size_t i = 0; i < c->n_operators; i++) {
        if (c->operators[i].rank != rank) {
            continue;
        }
        size_t n = 0;
        for (size_t k = 0; k < c->n_operators; k++) {
            if (c->operators[k].name == c->operators[i].name &&
                s->stage_of[c->operators[k].rank] == s->stage_of[rank] && n < c->n_ranks) {
                v[n++] = c->operators[k].sum_ns;
            }
        }
        int64_t base = lower_median(v, n);
        if (c->operators[i].sum_ns - base > worst) {
            worst = c->operators[i].sum_ns - base;
            name = c->operators[i].name;
            *ratio = base > 0 ? (double)c->operators[i].sum_ns / (double)base : 0;
        }
    }
    free(v);
    return name;
}

static void add_slow_rank(const rule_state *s, const suspect *u, bool is_first)
{
    diagnosis *g = s->g;
    double own = 0;
    double base = 0;
    for (uint32_t i = 0; i < u->f.n; i++) {
        own += (double)s->compute_ns[u->rank * g->data.n_steps + u->f.steps[i]];
        base += (double)s->stage_ns[s->stage_of[u->rank] * g->data.n_steps + u->f.steps[i]];
    }
    finding *f = finding_add(g, FINDING_SLOW_RANK, severity_of(u->f.share), "compute excess over the peers' median");
    int64_t saved = add_common(s, f, u, &s->compute, EXCESS_COMPUTE);
    finding_number_add(f, "ratio", base > 0 ? own / base : 0);
    char steps[64];
    char excess_text[32];
    char tail[192] = "";
    time_format(u->f.mean_ns, excess_text, sizeof excess_text);
    if (is_first) {
        double ratio = 0;
        uint32_t name = slowest_operator(s, u->rank, &ratio);
        if (name != NO_ID && ratio > 1 && u->f.n == g->data.n_steps) {
            (void)snprintf(tail, sizeof tail, "; most of it in %.80s (%.2f times its peers' time)",
                           g->model->names[name].text, ratio);
        } else if (name != NO_ID && ratio > 1) { /* the sums are of the whole run: their ratio says nothing of a part */
            (void)snprintf(tail, sizeof tail, "; most of it in %.80s", g->model->names[name].text);
        }
    }
    finding_say(g, f, "%s computes %.2f times as long as its peers%s, %s more per step%s.", rank_name(g, u->rank),
                base > 0 ? own / base : 0, steps_phrase(g, &u->f, steps), excess_text, tail);
    what_if_replayed(g, &u->f, saved, "%s", rank_name(g, u->rank));
}

/* ---- a whole host ---- */

static bool is_on(const rule_state *s, uint32_t rank, const char *host)
{
    return s->g->data.has_device[rank] && strcmp(s->g->model->ranks[rank].host, host) == 0;
}

/* Are these all of one host's ranks, of a run on several hosts? Then it is the host that is slow. */
static size_t suspects_of_host(const rule_state *s, const suspect *u, size_t n, const char *host, uint32_t *ranks)
{
    size_t n_ranks = s->g->data.n_ranks;
    size_t on_host = 0;
    size_t elsewhere = 0;
    size_t found = 0;
    for (uint32_t r = 0; r < n_ranks; r++) {
        bool here = is_on(s, r, host);
        on_host += here;
        elsewhere += s->g->data.has_device[r] && !here;
        for (size_t i = 0; i < n && here; i++) {
            if (u[i].rank == r) {
                ranks[found++] = r;
            }
        }
    }
    return host[0] != '\0' && found > 1 && found == on_host && elsewhere > 0 ? found : 0;
}

static void add_slow_host(const rule_state *s, const suspect *first, const uint32_t *ranks, size_t n)
{
    diagnosis *g = s->g;
    const char *host = g->model->ranks[first->rank].host;
    double own = 0;
    double base = 0;
    for (size_t r = 0; r < n; r++) {
        for (uint32_t i = 0; i < first->f.n; i++) {
            own += (double)s->compute_ns[ranks[r] * g->data.n_steps + first->f.steps[i]];
            base += (double)s->stage_ns[s->stage_of[ranks[r]] * g->data.n_steps + first->f.steps[i]];
        }
    }
    finding *f = finding_add(g, FINDING_SLOW_RANK, severity_of(first->f.share),
                             "compute excess over the peers' median, all of a host");
    finding_ranks(g, f, ranks, n);
    finding_steps(f, &first->f);
    finding_when(g, f);
    int64_t saved = saved_without(s, &s->compute, EACH_OWN_ROW, &first->f, EXCESS_COMPUTE, ranks, n);
    finding_number_add(f, "excess_ns", (double)first->f.mean_ns);
    finding_number_add(f, "share_of_step", first->f.share);
    finding_number_add(f, "saved_ns", (double)saved);
    finding_number_add(f, "ratio", base > 0 ? own / base : 0);
    char steps[64];
    char excess_text[32];
    time_format(first->f.mean_ns, excess_text, sizeof excess_text);
    finding_say(g, f,
                "All %zu ranks of host %.64s compute %.2f times as long as their peers%s, up to %s more per step.", n,
                host, base > 0 ? own / base : 0, steps_phrase(g, &first->f, steps), excess_text);
    what_if_replayed(g, &first->f, saved, "the delay of host %.64s", host);
}

/* Slow ranks, the slowest first; those of a host that is slow as a whole are one finding. */
static void add_slow_ranks(const rule_state *s, const suspect *u, size_t n)
{
    uint32_t *ranks = mem_alloc((s->g->data.n_ranks + 1) * sizeof *ranks);
    bool *is_told = mem_calloc(n + 1, sizeof *is_told);
    for (size_t i = 0; i < n; i++) {
        const char *host = s->g->model->ranks[u[i].rank].host;
        size_t n_host = is_told[i] ? 0 : suspects_of_host(s, u, n, host, ranks);
        for (size_t k = i; k < n && n_host > 0; k++) {
            is_told[k] = is_told[k] || is_on(s, u[k].rank, host);
        }
        if (n_host > 0) {
            add_slow_host(s, &u[i], ranks, n_host);
        } else if (!is_told[i]) {
            add_slow_rank(s, &u[i], i == 0);
        }
    }
    free(is_told);
    free(ranks);
}

static void add_stall(const rule_state *s, const suspect *u)
{
    diagnosis *g = s->g;
    const rank_step *worst = collected_cell(&g->data, u->rank, u->f.steps[0]);
    for (uint32_t i = 1; i < u->f.n; i++) {
        const rank_step *c = collected_cell(&g->data, u->rank, u->f.steps[i]);
        worst = c->longest_gap_ns > worst->longest_gap_ns ? c : worst;
    }
    finding *f = finding_add(g, FINDING_STALL, severity_of(u->f.share), "longest idle gap over the peers' median");
    int64_t saved = add_common(s, f, u, &s->stall, EXCESS_IDLE);
    f->t0_ns = worst->longest_gap_at_ns;
    f->t1_ns = worst->longest_gap_at_ns + worst->longest_gap_ns;
    finding_number_add(f, "gap_ns", (double)worst->longest_gap_ns);
    char steps[64];
    char gap[32];
    time_format(worst->longest_gap_ns, gap, sizeof gap);
    finding_say(g, f, "%s stands still for %s%s while nothing from its peers is missing.", rank_name(g, u->rank), gap,
                steps_phrase(g, &u->f, steps));
    what_if_replayed(g, &u->f, saved, "the pause of %s", rank_name(g, u->rank));
}

static void add_launch_bound(const rule_state *s, const suspect *u)
{
    diagnosis *g = s->g;
    int64_t gaps = 0;
    int64_t host = 0;
    uint64_t known = 0;
    uint64_t n = 0;
    for (uint32_t i = 0; i < u->f.n; i++) {
        const rank_step *c = collected_cell(&g->data, u->rank, u->f.steps[i]);
        gaps += c->own_gap_ns;
        host += c->host_wait_ns;
        known += c->n_launches_known;
        n += c->n_own_gaps;
    }
    finding *f =
        finding_add(g, FINDING_LAUNCH_BOUND, severity_of(u->f.share), "idle between kernels over the peers' median");
    int64_t saved = add_common(s, f, u, &s->launch, EXCESS_IDLE);
    finding_number_add(f, "gaps", (double)n / u->f.n);
    finding_number_add(f, "idle_ns", (double)gaps / u->f.n);
    char steps[64];
    char idle[32];
    char why[96] = "";
    time_format(gaps / (int64_t)u->f.n, idle, sizeof idle);
    if (known > 0 && gaps > 0) {
        finding_number_add(f, "host_wait_ns", (double)host / u->f.n);
        (void)snprintf(why, sizeof why, "; %.0f %% of it waits for a launch that came late",
                       100.0 * (double)host / (double)gaps);
    }
    finding_say(g, f, "%s is idle between its kernels for %s of a step%s%s.", rank_name(g, u->rank), idle,
                steps_phrase(g, &u->f, steps), why);
    what_if_replayed(g, &u->f, saved, "late launches of %s", rank_name(g, u->rank));
}

void rules_explain(rule_state *s, const excess *e)
{
    int64_t *v = mem_alloc((e->n_steps + 1) * sizeof *v);
    int64_t *most = mem_calloc(e->n_steps + 1, sizeof *most);
    for (size_t r = 0; r < e->n_rows; r++) {
        memcpy(v, e->ns + r * e->n_steps, e->n_steps * sizeof *v);
        int64_t usual = lower_median(v, e->n_steps);
        for (size_t k = 0; k < e->n_steps; k++) {
            int64_t over = e->ns[r * e->n_steps + k] - usual;
            most[k] = over > most[k] ? over : most[k];
        }
    }
    for (size_t k = 0; k < e->n_steps; k++) {
        s->explained_ns[k] += most[k];
    }
    free(v);
    free(most);
}

void rules_rank(rule_state *s)
{
    fill_compute(s, &s->compute);
    fill_gaps(s, &s->stall, longest_gap);
    fill_gaps(s, &s->launch, small_gaps);
    size_t n;
    suspect *u = find_suspects(s, &s->compute, &n);
    add_slow_ranks(s, u, n);
    free(u);
    u = find_suspects(s, &s->stall, &n);
    for (size_t i = 0; i < n; i++) {
        add_stall(s, &u[i]);
    }
    free(u);
    u = find_suspects(s, &s->launch, &n);
    for (size_t i = 0; i < n; i++) {
        add_launch_bound(s, &u[i]);
    }
    free(u);
    rules_explain(s, &s->compute);
    rules_explain(s, &s->stall);
    rules_explain(s, &s->launch);
}
