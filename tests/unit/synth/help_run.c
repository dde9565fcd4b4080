#include "help_run.h"

#include <stdlib.h>

#include "base/mem.h"
#include "cm.h"

synth_params small_params(int steps)
{
    synth_params p;
    assert_true(synth_preset("pangu-13b", &p));
    p.ranks = 16;
    p.steps = steps;
    p.noise = 0;
    p.detail = 6;
    p.micro_batches = 8;
    p.layers = 8;
    return p;
}

void add_fault(synth_params *p, const char *text)
{
    assert_int_equal(synth_parse_fault(text, &p->faults[p->n_faults], NULL), MAREY_OK);
    p->n_faults++;
}

static marey_status keep_event(void *ctx, const synth_event *e)
{
    kept_rank *r = ctx;
    kept_event k = {.e = *e, .has_coll = e->coll != NULL};
    if (e->coll) {
        k.coll = *e->coll;
    }
    VEC_PUSH(r->events, r->n, r->cap, k);
    return MAREY_OK;
}

static void keep_flow(void *ctx, const synth_flow *f)
{
    kept_rank *r = ctx;
    VEC_PUSH(r->flows, r->n_flows, r->cap_flows, *f);
}

void keep_run(kept_run *k, synth_params *p)
{
    assert_int_equal(synth_check(p, NULL), MAREY_OK);
    assert_int_equal(solve(&k->s, p, NULL), MAREY_OK);
    k->ranks = mem_calloc((size_t)p->ranks, sizeof *k->ranks);
    for (int r = 0; r < p->ranks; r++) {
        synth_sink sink = {.ctx = &k->ranks[r], .event = keep_event, .flow = keep_flow};
        assert_int_equal(emit_rank(&k->s, r, &sink), MAREY_OK);
    }
}

void free_run(kept_run *k)
{
    for (int r = 0; r < k->s.pl.p.ranks; r++) {
        free(k->ranks[r].events);
        free(k->ranks[r].flows);
    }
    free(k->ranks);
    solution_deinit(&k->s);
}

int64_t kernel_time(const kept_run *k, int rank, synth_thread thread)
{
    int64_t sum = 0;
    for (size_t i = 0; i < k->ranks[rank].n; i++) {
        const synth_event *e = &k->ranks[rank].events[i].e;
        sum += e->kind == EV_KERNEL && e->thread == thread ? e->end_ns - e->start_ns : 0;
    }
    return sum;
}

const kept_event *find_event(const kept_run *k, int rank, event_kind kind, synth_name name, int64_t index, int skip)
{
    for (size_t i = 0; i < k->ranks[rank].n; i++) {
        const kept_event *e = &k->ranks[rank].events[i];
        if (e->e.kind == kind && e->e.name == name && e->e.index == index && skip-- == 0) {
            return e;
        }
    }
    return NULL;
}
