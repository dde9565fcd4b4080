#include "synth/plan.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "synth/model.h"

/* GB/s, that is bytes per ns. */
enum { LINK_INSIDE = 25, LINK_BETWEEN = 12, RING_INSIDE = 100, RING_BETWEEN = 50 };
enum { LAUNCH_NS = 7000, FILLER_WEIGHT = 4, MAX_RANK_OF_OP = 5 };

static void add_op(plan_pass *pass, const model_op *op, int64_t pass_ns, int64_t weights)
{
    bool collective = op->weight == 0;
    pass->ops[pass->n++] = (plan_op){.kernel = op->kernel,
                                     .cpu = op->cpu,
                                     .base_ns = collective ? 0 : (int32_t)(pass_ns * op->weight / weights),
                                     .collective = collective,
                                     .shapes = op->shapes,
                                     .row = op->part ? op : NULL};
}

/* The last rank of operators that still fits into `wanted` of them. */
static int cut_for(const model_op *ops, int n, int wanted)
{
    for (int cut = MAX_RANK_OF_OP; cut > 0; cut--) {
        int count = 0;
        for (int i = 0; i < n; i++) {
            count += ops[i].rank <= cut;
        }
        if (count <= wanted) {
            return cut;
        }
    }
    return 0;
}

typedef struct pass_source {
    const model_op *ops;
    int n;
    int wanted;
    model_op filler;
} pass_source;

/* The pass's operators, the least important left out or small ones put in between until there are about `wanted`. */
static void make_pass(plan_pass *pass, const pass_source *src, int tp, int64_t pass_ns)
{
    int cut = cut_for(src->ops, src->n, src->wanted);
    int fillers = src->wanted > src->n ? src->wanted - src->n : 0;
    int64_t weights = (int64_t)fillers * src->filler.weight;
    for (int i = 0; i < src->n; i++) {
        weights += src->ops[i].rank <= cut ? src->ops[i].weight : 0;
    }
    int put = 0;
    for (int i = 0; i < src->n; i++) {
        const model_op *op = &src->ops[i];
        if (op->rank <= cut && (op->weight > 0 || tp > 1)) {
            add_op(pass, op, pass_ns, weights);
        }
        for (; put < fillers * (i + 1) / src->n; put++) {
            add_op(pass, &src->filler, pass_ns, weights);
        }
    }
}

static void make_passes(plan *pl, const model_def *m)
{
    int tp = pl->p.tp;
    int64_t fwd_ns = m->fwd_ns * m->tp / tp;
    int64_t bwd_ns = m->bwd_ns * m->tp / tp;
    pass_source fwd = {
        m->fwd, m->n_fwd, pl->p.detail, {.kernel = m->filler, .cpu = m->filler_cpu, .weight = FILLER_WEIGHT}};
    pass_source bwd = {m->bwd,
                       m->n_bwd,
                       pl->p.detail * m->n_bwd / m->n_fwd,
                       {.kernel = m->filler_bwd, .cpu = m->filler_bwd_cpu, .weight = FILLER_WEIGHT}};
    make_pass(&pl->fwd, &fwd, tp, fwd_ns);
    make_pass(&pl->bwd, &bwd, tp, bwd_ns);
    for (int i = 0; i < m->n_first; i++) {
        add_op(&pl->first, &m->first[i], fwd_ns, 1000);
    }
    for (int i = 0; i < m->n_last; i++) {
        add_op(&pl->last, &m->last[i], fwd_ns, 1000);
    }
    model_op norm = {.kernel = NAME_K_NORM, .cpu = NAME_C_NORM, .weight = 100};
    model_op adam = {.kernel = NAME_K_ADAM, .cpu = NAME_C_ADAM, .weight = 1000};
    add_op(&pl->norm, &norm, m->optimizer_ns * m->tp / tp, 1000);
    add_op(&pl->optimizer, &adam, m->optimizer_ns * m->tp / tp, 1000);
    pl->slow_launch_ns = (fwd_ns + bwd_ns) / (pl->fwd.n + pl->bwd.n);
}

static void make_clocks(plan *pl)
{
    prng r;
    prng_seed(&r, pl->p.seed ^ UINT64_C(0x636c6f636b73));
    int64_t max_ppb = (int64_t)(pl->p.clock_drift_max_ppm * 1000 + 0.5);
    pl->n_hosts = (pl->p.ranks + SYNTH_RANKS_PER_HOST - 1) / SYNTH_RANKS_PER_HOST;
    pl->clocks = mem_calloc((size_t)pl->n_hosts, sizeof *pl->clocks);
    for (int h = 0; h < pl->n_hosts; h++) {
        int64_t max_ns = pl->p.clock_offset_max_ns;
        pl->clocks[h].offset_ns = (int64_t)prng_below(&r, (uint64_t)max_ns * 2 + 1) - max_ns;
        pl->clocks[h].drift_ppb = (int64_t)prng_below(&r, (uint64_t)max_ppb * 2 + 1) - max_ppb;
    }
}

void plan_init(plan *pl, const synth_params *p)
{
    const model_def *m = model_find(p->preset);
    *pl = (plan){.p = *p,
                 .activation_bytes = m->activation_bytes,
                 .layer_grad_bytes = m->layer_grad_bytes / p->tp,
                 .launch_ns = LAUNCH_NS,
                 .layer_name = m->layer_name,
                 .device_name = m->device_name};
    make_passes(pl, m);
    make_clocks(pl);
}

void plan_deinit(plan *pl)
{
    free(pl->clocks);
    pl->clocks = NULL;
}

int plan_stage_layers(const plan *pl, int stage)
{
    return pl->p.layers / pl->p.pp + (stage < pl->p.layers % pl->p.pp);
}

int plan_first_layer(const plan *pl, int stage)
{
    int extra = pl->p.layers % pl->p.pp;
    return stage * (pl->p.layers / pl->p.pp) + (stage < extra ? stage : extra);
}

int plan_buckets(const plan *pl, int stage)
{
    int layers = plan_stage_layers(pl, stage);
    int wanted = pl->p.buckets ? pl->p.buckets : layers;
    return wanted < PLAN_MAX_BUCKETS ? wanted : PLAN_MAX_BUCKETS;
}

int64_t plan_bucket_bytes(const plan *pl, int stage)
{
    return pl->layer_grad_bytes * plan_stage_layers(pl, stage) / plan_buckets(pl, stage);
}

int plan_group_size(const plan *pl, plan_group_kind kind)
{
    const int sizes[GROUP_KINDS] = {pl->p.ranks, pl->p.tp, pl->p.dp, pl->p.pp};
    return sizes[kind];
}

int plan_group_id(const plan *pl, plan_group_kind kind, int rank)
{
    int stage = plan_stage(pl, rank);
    int dp = plan_dp(pl, rank);
    int tp = plan_tp(pl, rank);
    int n_tp = pl->p.pp * pl->p.dp;
    int n_dp = pl->p.pp * pl->p.tp;
    switch (kind) {
    case GROUP_TP:
        return 1 + stage * pl->p.dp + dp;
    case GROUP_DP:
        return 1 + n_tp + stage * pl->p.tp + tp;
    case GROUP_PP:
        return 1 + n_tp + n_dp + dp * pl->p.tp + tp;
    default:
        return 0;
    }
}

int plan_group_member(const plan *pl, plan_group_kind kind, int rank, int i)
{
    int stage = plan_stage(pl, rank);
    int dp = plan_dp(pl, rank);
    int tp = plan_tp(pl, rank);
    switch (kind) {
    case GROUP_TP:
        return plan_rank(pl, stage, dp, i);
    case GROUP_DP:
        return plan_rank(pl, stage, i, tp);
    case GROUP_PP:
        return plan_rank(pl, i, dp, tp);
    default:
        return i;
    }
}

static bool fault_is_on(const synth_fault *f, synth_fault_kind kind, int step)
{
    return f->kind == kind && step >= f->step0 && step <= f->step1;
}

static int64_t q16(double factor)
{
    return (int64_t)(factor * PLAN_FACTOR_ONE + 0.5);
}

static int host_of(int rank)
{
    return rank / SYNTH_RANKS_PER_HOST;
}

int64_t plan_transfer_ns(const plan *pl, int from, int to, int64_t bytes, int step)
{
    bool inside = host_of(from) == host_of(to);
    int64_t ns = bytes / (inside ? LINK_INSIDE : LINK_BETWEEN);
    for (int i = 0; i < pl->p.n_faults; i++) {
        const synth_fault *f = &pl->p.faults[i];
        bool here = (f->a == from && f->b == to) || (f->a == to && f->b == from);
        if (here && fault_is_on(f, FAULT_SLOW_LINK, step)) {
            ns = ns * PLAN_FACTOR_ONE / q16(f->factor);
        }
    }
    return ns + (inside ? 6000 : 15000);
}

/* Place of `rank` in the group of `of`, or -1. */
static int place_in(const plan *pl, plan_group_kind kind, int of, int64_t rank)
{
    if (rank < 0 || rank >= pl->p.ranks || plan_group_id(pl, kind, (int)rank) != plan_group_id(pl, kind, of)) {
        return -1;
    }
    const int places[GROUP_KINDS] = {(int)rank, plan_tp(pl, (int)rank), plan_dp(pl, (int)rank),
                                     plan_stage(pl, (int)rank)};
    return places[kind];
}

/* A slow link slows a ring that uses it, and with it everybody in the group. */
static int64_t slowed_by_links(const plan *pl, plan_group_kind kind, int rank, int64_t ns, int step)
{
    int n = plan_group_size(pl, kind);
    for (int i = 0; i < pl->p.n_faults; i++) {
        const synth_fault *f = &pl->p.faults[i];
        if (fault_is_on(f, FAULT_SLOW_LINK, step)) {
            int a = place_in(pl, kind, rank, f->a);
            int b = place_in(pl, kind, rank, f->b);
            int apart = a > b ? a - b : b - a;
            if (a >= 0 && b >= 0 && (apart == 1 || apart == n - 1)) {
                ns = ns * PLAN_FACTOR_ONE / q16(f->factor);
            }
        }
    }
    return ns;
}

int64_t plan_collective_ns(const plan *pl, plan_group_kind kind, int rank, synth_coll coll, int64_t bytes, int step)
{
    int n = plan_group_size(pl, kind);
    if (n < 2) {
        return 3000;
    }
    bool inside = host_of(plan_group_member(pl, kind, rank, 0)) == host_of(plan_group_member(pl, kind, rank, n - 1));
    int64_t rounds = coll == COLL_ALLREDUCE ? 2 : 1;
    int64_t ns = bytes / n * (n - 1) * rounds / (inside ? RING_INSIDE : RING_BETWEEN);
    int64_t latency = inside ? 5000 : 12000;
    for (int k = 1; k < n; k *= 2) {
        latency += inside ? 1500 : 4000;
    }
    return slowed_by_links(pl, kind, rank, ns, step) + latency;
}

int64_t plan_compute_factor(const plan *pl, int rank, int step)
{
    /* No two devices are quite equally fast: each keeps a small lead or lag for the whole run. */
    prng r;
    prng_seed(&r, pl->p.seed * 31 + (uint64_t)rank * UINT64_C(0x9e3779b97f4a7c15) + 7);
    double own = 1.0 + (prng_unit(&r) - 0.5) * 0.4 * pl->p.noise;
    for (int i = 0; i < pl->p.n_faults; i++) {
        const synth_fault *f = &pl->p.faults[i];
        bool here = (fault_is_on(f, FAULT_SLOW_RANK, step) && f->a == rank) ||
                    (fault_is_on(f, FAULT_IMBALANCE, step) && f->a == plan_stage(pl, rank)) ||
                    fault_is_on(f, FAULT_STEP_OUTLIER, step);
        own *= here ? f->factor : 1.0;
    }
    return q16(own < 1e6 ? own : 1e6);
}

int64_t plan_launch_cost(const plan *pl, int rank, int step)
{
    int64_t ns = pl->launch_ns;
    for (int i = 0; i < pl->p.n_faults; i++) {
        const synth_fault *f = &pl->p.faults[i];
        if (fault_is_on(f, FAULT_LAUNCH_BOUND, step) && f->a == rank) {
            int64_t slow = (int64_t)((double)pl->slow_launch_ns * f->factor);
            ns = slow > ns ? slow : ns;
        }
    }
    return ns;
}

int64_t plan_stall_ns(const plan *pl, int rank, int step)
{
    int64_t ns = 0;
    for (int i = 0; i < pl->p.n_faults; i++) {
        const synth_fault *f = &pl->p.faults[i];
        if (fault_is_on(f, FAULT_STALL, step) && f->a == rank) {
            ns += f->duration_ns;
        }
    }
    return ns;
}

int64_t plan_local(const plan *pl, int rank, int64_t true_ns)
{
    const plan_clock *c = &pl->clocks[host_of(rank)];
    const int64_t billion = 1000000000;
    int64_t part = true_ns % billion * c->drift_ppb;
    int64_t floored = part / billion - (part % billion < 0);
    return PLAN_LOCAL_START_NS + true_ns + c->offset_ns + true_ns / billion * c->drift_ppb + floored;
}

plan_task plan_schedule(int pp, int micro_batches, int stage, int k)
{
    int warm = pp - stage - 1;
    warm = warm < micro_batches ? warm : micro_batches;
    int steady = 2 * (micro_batches - warm);
    if (k < warm) {
        return (plan_task){false, k};
    }
    if (k < warm + steady) {
        int i = k - warm;
        return i % 2 == 0 ? (plan_task){false, warm + i / 2} : (plan_task){true, i / 2};
    }
    return (plan_task){true, k - micro_batches};
}
