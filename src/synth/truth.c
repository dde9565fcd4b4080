/* truth.json: what was simulated, so that a diagnosis can be scored against it. */

#include "synth/truth.h"
#include "base/file.h"

static void put_parameters(json_out *j, const synth_params *p)
{
    json_kuint(j, "seed", p->seed);
    json_kstr(j, "preset", p->preset);
    json_kint(j, "ranks", p->ranks);
    json_kint(j, "pp", p->pp);
    json_kint(j, "tp", p->tp);
    json_kint(j, "dp", p->dp);
    json_kint(j, "steps", p->steps);
    json_kint(j, "first_step", p->first_step);
    json_kint(j, "micro_batches", p->micro_batches);
    json_kint(j, "layers", p->layers);
    json_kint(j, "ranks_per_host", SYNTH_RANKS_PER_HOST);
    json_kreal(j, "noise", p->noise);
    json_kint(j, "clock_offset_max_ns", p->clock_offset_max_ns);
    json_kreal(j, "clock_drift_max_ppm", p->clock_drift_max_ppm);
    json_kint(j, "clock_jitter_max_ns", p->clock_jitter_max_ns);
}

static void put_clocks(json_out *j, const plan *pl)
{
    json_key(j, "clock");
    json_begin(j, '[');
    for (int r = 0; r < pl->p.ranks; r++) {
        const plan_clock *c = &pl->clocks[r / SYNTH_RANKS_PER_HOST];
        json_begin(j, '{');
        json_kint(j, "rank", r);
        json_kint(j, "host", r / SYNTH_RANKS_PER_HOST);
        json_kint(j, "offset_ns", c->offset_ns);
        json_kreal(j, "drift_ppm", (double)c->drift_ppb / 1000.0);
        json_end(j, '}');
    }
    json_end(j, ']');
}

/* An array of one or two numbers, or of the ranks of a stage. */
static void put_ranks(json_out *j, const plan *pl, const synth_fault *f)
{
    json_key(j, "ranks");
    json_begin(j, '[');
    if (f->kind == FAULT_IMBALANCE) {
        int n = pl->p.tp * pl->p.dp;
        for (int i = 0; i < n; i++) {
            json_int(j, f->a * n + i);
        }
    } else if (f->kind != FAULT_STEP_OUTLIER) {
        json_int(j, f->a);
        if (f->b >= 0) {
            json_int(j, f->b);
        }
    }
    json_end(j, ']');
}

static void put_link(json_out *j, const synth_fault *f)
{
    json_key(j, "links");
    json_begin(j, '[');
    json_begin(j, '[');
    json_int(j, f->a);
    json_int(j, f->b);
    json_end(j, ']');
    json_end(j, ']');
}

static void put_fault(json_out *j, const solution *s, int i)
{
    const synth_fault *f = &s->pl.p.faults[i];
    json_begin(j, '{');
    json_kstr(j, "kind", synth_finding_kind(f->kind));
    put_ranks(j, &s->pl, f);
    if (f->kind == FAULT_SLOW_LINK) {
        put_link(j, f);
    }
    if (f->kind == FAULT_IMBALANCE) {
        json_kint(j, "stage", f->a);
    }
    if (f->kind == FAULT_STALL) {
        json_kint(j, "duration_ns", f->duration_ns);
        json_kint(j, "true_ns", s->stalled_at[i]);
    } else {
        json_kreal(j, "factor", f->factor);
    }
    json_key(j, "has_effect");
    json_bool(j, f->used);
    json_key(j, "steps");
    json_begin(j, '[');
    int64_t last = (int64_t)s->pl.p.first_step + s->pl.p.steps - 1;
    for (int64_t k = f->step0; k <= f->step1 && k <= last; k++) {
        json_int(j, k);
    }
    json_end(j, ']');
    json_end(j, '}');
}

void truth_json(strbuf *out, const solution *s)
{
    json_out j = {.buf = out};
    json_begin(&j, '{');
    json_kint(&j, "schema", 1);
    put_parameters(&j, &s->pl.p);
    json_kint(&j, "duration_ns", s->end_ns);
    json_kint(&j, "start_epoch_ns", PLAN_BASE_EPOCH_NS + PLAN_LOCAL_START_NS);
    json_kstr(&j, "clock_map",
              "recorded = start_epoch_ns + true + offset_ns + floor(true * drift_ppm / 1000000), true in ns since the "
              "start of the run");
    put_clocks(&j, &s->pl);
    json_key(&j, "injected");
    json_begin(&j, '[');
    for (int i = 0; i < s->pl.p.n_faults; i++) {
        put_fault(&j, s, i);
    }
    json_end(&j, ']');
    json_end(&j, '}');
}

marey_status truth_write(const solution *s, const char *path, diag *d)
{
    strbuf text = {0};
    truth_json(&text, s);
    marey_status status = file_write_all(path, text.s, text.n, d);
    strbuf_deinit(&text);
    return status;
}
