/* Presets, and completing and checking what was asked for. */
#include <string.h>

#include "synth/model.h"
#include "synth/plan.h"
#include "synth/synth.h"

enum { MAX_STEPS = 100000, MAX_MICRO_BATCHES = 4096, MAX_LAYERS = 4096 };
#define MAX_SOLUTION_BYTES (UINT64_C(2) << 30)
#define MAX_OFFSET_NS      INT64_C(43200000000000) /* 12 h: half of PLAN_LOCAL_START_NS */

bool synth_preset(const char *name, synth_params *p)
{
    const model_def *m = model_find(name);
    if (!m) {
        return false;
    }
    *p = (synth_params){.preset = m->name,
                        .steps = 4,
                        .micro_batches = m->micro_batches,
                        .layers = m->layers,
                        .buckets = m->buckets,
                        .seed = 1,
                        .noise = 0.02,
                        .cpu = true,
                        .grad_sync = m->sharded ? GRAD_SHARDED : GRAD_ALLREDUCE,
                        .arguments = ARGS_COLLECTIVES};
    return true;
}

static marey_status wrong(diag *d, const char *what, int64_t value, int64_t low, int64_t high)
{
    return diag_error(d, MAREY_ARG, NULL, DIAG_NO_OFFSET, "%s must be from %lld to %lld, not %lld", what,
                      (long long)low, (long long)high, (long long)value);
}

/* Fill in the dimensions that were left open: pipeline first, but so that a stage keeps four ranks where it can. */
static void complete_layout(synth_params *p, const model_def *m)
{
    if (p->ranks == 0 && (p->pp | p->tp | p->dp) != 0) {
        p->pp = p->pp ? p->pp : m->max_pp;
        p->tp = p->tp ? p->tp : m->tp;
        p->dp = p->dp ? p->dp : m->ranks / (m->max_pp * m->tp);
        int64_t product = (int64_t)p->pp * p->tp * p->dp;
        p->ranks = product > SYNTH_MAX_RANKS ? SYNTH_MAX_RANKS + 1 : (int)product;
    }
    p->ranks = p->ranks ? p->ranks : m->ranks;
    int pp = p->pp ? p->pp : m->max_pp;
    int tp = p->tp ? p->tp : m->tp;
    int dp = p->dp ? p->dp : 1;
    while (p->pp == 0 && pp > 1 && (p->ranks % pp != 0 || p->ranks / pp < 4 || p->layers < pp)) {
        pp /= 2;
    }
    while (p->tp == 0 && tp > 1 && p->ranks % ((int64_t)pp * tp * dp) != 0) {
        tp /= 2;
    }
    p->pp = pp;
    p->tp = tp;
    if (p->dp == 0) {
        p->dp = (int)(p->ranks / ((int64_t)pp * tp));
    }
}

static marey_status check_layout(const synth_params *p, diag *d)
{
    if (p->ranks > SYNTH_MAX_RANKS) {
        return wrong(d, "--pp x --tp x --dp", (int64_t)p->pp * p->tp * p->dp, 1, SYNTH_MAX_RANKS);
    }
    if (p->pp < 1 || p->tp < 1 || p->dp < 1 || (int64_t)p->pp * p->tp * p->dp != p->ranks) {
        return diag_error(d, MAREY_ARG, NULL, DIAG_NO_OFFSET,
                          "%d ranks cannot be divided into %d pipeline stages x %d tensor parallel x %d data parallel",
                          p->ranks, p->pp, p->tp, p->dp);
    }
    if (p->layers < p->pp) {
        return diag_error(d, MAREY_ARG, NULL, DIAG_NO_OFFSET, "%d layers are too few for %d pipeline stages", p->layers,
                          p->pp);
    }
    uint64_t words = (uint64_t)p->steps * (uint64_t)p->ranks * ((uint64_t)p->micro_batches * 2 + PLAN_MAX_BUCKETS);
    if (words > MAX_SOLUTION_BYTES / 8) {
        return diag_error(d, MAREY_LIMIT, NULL, DIAG_NO_OFFSET,
                          "the run is too large: %d steps of %d ranks with %d micro-batches", p->steps, p->ranks,
                          p->micro_batches);
    }
    return MAREY_OK;
}

typedef struct limit {
    const char *what;
    int64_t value, low, high;
} limit;

static marey_status check_ranges(const synth_params *p, diag *d)
{
    const limit limits[] = {
        {"--ranks", p->ranks, 0, SYNTH_MAX_RANKS},
        {"--pp", p->pp, 0, SYNTH_MAX_RANKS},
        {"--tp", p->tp, 0, SYNTH_MAX_TP},
        {"--dp", p->dp, 0, SYNTH_MAX_RANKS},
        {"--steps", p->steps, 1, MAX_STEPS},
        {"--first-step", p->first_step, 0, 1000000000},
        {"--micro-batches", p->micro_batches, 1, MAX_MICRO_BATCHES},
        {"--layers", p->layers, 1, MAX_LAYERS},
        {"--buckets", p->buckets, 0, PLAN_MAX_BUCKETS},
        {"--clock-offset (ns)", p->clock_offset_max_ns, 0, MAX_OFFSET_NS},
        {"--clock-jitter (ns)", p->clock_jitter_max_ns, 0, INT64_C(1000000000)},
    };
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        const limit *l = &limits[i];
        if (l->value < l->low || l->value > l->high) {
            return wrong(d, l->what, l->value, l->low, l->high);
        }
    }
    if (p->detail != 0 && (p->detail < SYNTH_MIN_DETAIL || p->detail > SYNTH_MAX_DETAIL)) {
        return wrong(d, "--detail", p->detail, SYNTH_MIN_DETAIL, SYNTH_MAX_DETAIL);
    }
    if (!(p->clock_drift_max_ppm >= 0 && p->clock_drift_max_ppm <= 10000)) {
        return wrong(d, "--clock-drift-ppm", (int64_t)p->clock_drift_max_ppm, 0, 10000);
    }
    if (!(p->noise >= 0 && p->noise <= 0.25)) {
        return diag_error(d, MAREY_ARG, NULL, DIAG_NO_OFFSET, "--noise must be from 0 to 0.25");
    }
    return MAREY_OK;
}

/* Ring neighbours inside a group of n: the only pairs that a ring collective loads. */
static bool ring_neighbours(int n, int i, int k)
{
    int apart = i > k ? i - k : k - i;
    return n > 1 && (apart == 1 || apart == n - 1);
}

static bool link_is_used(const synth_params *p, int64_t a, int64_t b)
{
    int64_t per_stage = (int64_t)p->tp * p->dp;
    int64_t apart = a > b ? a - b : b - a;
    if (a / per_stage != b / per_stage) {
        return apart == per_stage;
    }
    int tp_a = (int)(a % p->tp);
    int tp_b = (int)(b % p->tp);
    int dp_a = (int)(a / p->tp % p->dp);
    int dp_b = (int)(b / p->tp % p->dp);
    return (dp_a == dp_b && ring_neighbours(p->tp, tp_a, tp_b)) || (tp_a == tp_b && ring_neighbours(p->dp, dp_a, dp_b));
}

static bool in_steps(const synth_params *p, int64_t step)
{
    return step >= p->first_step && step < (int64_t)p->first_step + p->steps;
}

static int64_t nominal_step_ns(const synth_params *p, const model_def *m)
{
    int64_t layers = (p->layers + p->pp - 1) / p->pp;
    return (p->micro_batches + p->pp - 1) * layers * (m->fwd_ns + m->bwd_ns) * m->tp / p->tp;
}

static void complete_fault(synth_params *p, synth_fault *f, const model_def *m)
{
    if (f->kind == FAULT_STEP_OUTLIER) {
        f->step0 = f->step1 = f->a;
    }
    if (f->kind == FAULT_STALL) {
        f->step0 = f->step0 < 0 ? p->first_step + p->steps / 2 : f->step0;
        f->step1 = f->step0;
        f->duration_ns = f->duration_ns ? f->duration_ns : nominal_step_ns(p, m) / 4;
    }
    if (f->kind == FAULT_LAUNCH_BOUND && !(f->factor > 0)) {
        f->factor = 1.5;
    }
    if (f->step0 < 0) {
        f->step0 = p->first_step;
        f->step1 = (int64_t)p->first_step + p->steps - 1;
    }
    f->used = f->kind != FAULT_SLOW_LINK || link_is_used(p, f->a, f->b);
}

static marey_status check_fault(synth_params *p, synth_fault *f, const model_def *m, diag *d)
{
    int64_t count = f->kind == FAULT_IMBALANCE ? p->pp : p->ranks;
    const char *what = f->kind == FAULT_IMBALANCE ? "stage" : "rank";
    if (f->kind != FAULT_STEP_OUTLIER && (f->a >= count || f->b >= count)) {
        return diag_error(d, MAREY_ARG, NULL, DIAG_NO_OFFSET, "%s: there is no %s %lld in a run of %lld",
                          synth_fault_name(f->kind), what, (long long)(f->a >= count ? f->a : f->b), (long long)count);
    }
    complete_fault(p, f, m);
    if (!in_steps(p, f->step0)) {
        return diag_error(d, MAREY_ARG, NULL, DIAG_NO_OFFSET, "%s: there is no step %lld; the run has %d to %d",
                          synth_fault_name(f->kind), (long long)f->step0, p->first_step, p->first_step + p->steps - 1);
    }
    if (!f->used) {
        diag_warn(
            d, NULL, DIAG_NO_OFFSET,
            "slow-link:%lld-%lld has no effect: these ranks exchange nothing directly in this layout; neighbours in "
            "the pipeline are %d ranks apart",
            (long long)f->a, (long long)f->b, p->tp * p->dp);
    }
    return MAREY_OK;
}

marey_status synth_check(synth_params *p, diag *d)
{
    const model_def *m = model_find(p->preset);
    if (!m) {
        return diag_error(d, MAREY_ARG, NULL, DIAG_NO_OFFSET,
                          "there is no preset \"%.60s\": expected pangu-13b or resnet50", p->preset ? p->preset : "");
    }
    marey_status status = check_ranges(p, d);
    if (status != MAREY_OK) {
        return status;
    }
    complete_layout(p, m);
    p->detail = p->detail ? p->detail : m->detail;
    MAREY_TRY(check_layout(p, d));
    for (int i = 0; i < p->n_faults; i++) {
        MAREY_TRY(check_fault(p, &p->faults[i], m, d));
    }
    return MAREY_OK;
fail:
    return status;
}
