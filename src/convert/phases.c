#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "convert/annotate.h"

/*
 * Phases. Work on the host stands in a context: the innermost interval around it that says something of the phase. A
 * kernel takes the context of its launch. What nothing is said of is forward, in a source that has a backward pass at
 * all, inside a step where there are steps.
 */

#define LEAST_REST_NS (INT64_C(1000) * 1000)

static const uint8_t phase_class[] = {CLASS_OTHER, CLASS_FORWARD, CLASS_BACKWARD, CLASS_RECOMPUTE, CLASS_OPTIMIZER};

static void leave(thread_state *t, int64_t now_ns)
{
    while (t->n_stack > 0 && t->stack[t->n_stack - 1].end_ns <= now_ns) {
        t->n_stack--;
    }
}

static uint8_t enter(uint8_t outer, uint8_t mark)
{
    uint8_t phase = mark;
    if (mark == MARK_CHECKPOINT) {
        phase = MARK_RECOMPUTE;
    } else if (mark == MARK_FORWARD) {
        uint8_t around = outer & CONTEXT_SAID ? outer & CONTEXT_PHASE : MARK_NONE;
        phase = around == MARK_BACKWARD || around == MARK_RECOMPUTE ? MARK_RECOMPUTE : MARK_FORWARD;
    }
    return (uint8_t)(phase | CONTEXT_SAID);
}

void context_push(annotation *a, uint32_t thread, int64_t start_ns, int64_t end_ns, uint8_t context)
{
    thread_state *t = &a->threads[thread];
    leave(t, start_ns);
    VEC_PUSH(t->stack, t->n_stack, t->cap_stack, ((context_entry){end_ns, context}));
}

void context_enter(annotation *a, const annotated *e)
{
    uint8_t mark = e->name->mark;
    if (mark == MARK_NONE || mark == MARK_STEP || kind_is_device(e->kind) || e->end_ns <= e->start_ns) {
        return;
    }
    thread_state *t = &a->threads[e->thread];
    leave(t, e->start_ns);
    uint8_t outer = t->n_stack ? t->stack[t->n_stack - 1].context : 0;
    context_push(a, e->thread, e->start_ns, e->end_ns, enter(outer, mark));
}

uint8_t context_here(const annotation *a, uint32_t thread, uint32_t rank, int64_t now_ns)
{
    const thread_state *t = &a->threads[thread];
    for (size_t i = t->n_stack; i-- > 0;) {
        if (t->stack[i].end_ns > now_ns) {
            return t->stack[i].context;
        }
    }
    const source *s = a->s;
    bool inside = s->n_steps == 0 ? !s->has_cpu_steps : a->ranks[rank].step != 0;
    return s->has_backward && inside ? MARK_FORWARD : MARK_NONE;
}

/* `launched`: the context of the launch; 0: there is none. */
void phase_of_kernel(annotation *a, annotated *e, uint8_t launched)
{
    uint8_t mark = e->name->mark;
    bool told = mark == MARK_FORWARD || mark == MARK_BACKWARD || mark == MARK_RECOMPUTE; /* by the operator's scope */
    if (!told && !a->s->has_backward && !a->s->n_steps && !a->threads[e->thread].n_stack) {
        return;
    }
    uint8_t on_device = context_here(a, e->thread, e->rank, e->start_ns);
    if (told) {
        e->phase = mark;
    } else if (launched & CONTEXT_SAID) {
        e->phase = launched & CONTEXT_PHASE;
    } else if (on_device & CONTEXT_SAID) {
        e->phase = on_device & CONTEXT_PHASE;
    } else if (a->s->has_backward && mark == MARK_OPTIMIZER) {
        e->phase = MARK_OPTIMIZER;
    } else {
        e->phase = launched & CONTEXT_PHASE;
    }
    if (e->kind == KIND_COMPUTE && e->phase != MARK_NONE) {
        e->row->klass = phase_class[e->phase];
    }
}

/* ------------------------------------------------------------------ the derived lane */

marey_status derived_flush(run_set *set, derived_rows *to, diag *d)
{
    char *no_args = NULL;
    marey_status status = run_set_add(set, to->rows, to->n, &no_args, 0, d);
    free(to->rows);
    *to = (derived_rows){0};
    return status;
}

marey_status derived_push(run_set *set, derived_rows *to, const run_row *row, diag *d)
{
    VEC_PUSH(to->rows, to->n, to->cap, *row);
    return to->n == RUN_ROWS ? derived_flush(set, to, d) : MAREY_OK;
}

static trace_mark mark_of_class(uint8_t klass)
{
    for (uint8_t m = MARK_FORWARD; m <= MARK_OPTIMIZER; m++) {
        if (phase_class[m] == klass) {
            return (trace_mark)m;
        }
    }
    return MARK_NONE;
}

marey_status phase_close(annotation *a, uint32_t rank, int64_t at_ns)
{
    source *s = a->s;
    phase_run *r = &a->ranks[rank].run;
    if (r->klass == CLASS_COUNT) {
        return MAREY_OK;
    }
    int64_t end = r->end_ns < at_ns ? r->end_ns : at_ns;
    if (s->ranks[rank].phases_lane == NO_ID) {
        s->ranks[rank].phases_lane = lane_make(s, rank, NO_ID, KIND_PHASE);
    }
    uint32_t track = lane_place(s, s->ranks[rank].phases_lane, r->start_ns, end);
    run_row row = {.start_ns = r->start_ns,
                   .dur_ns = end - r->start_ns,
                   .thread = track,
                   .name = s->phase_names[mark_of_class(r->klass)],
                   .instance = r->ordinal,
                   .klass = r->klass};
    r->klass = CLASS_COUNT;
    return derived_push(&s->phase_rows, &a->phases, &row, &s->diag);
}

/*
 * Does nothing of this run happen for so long before `start_ns` that what follows is another run? Forward and backward
 * passes wait for collectives inside one micro-batch; an optimizer's first kernel (a norm, a scale) may stand before
 * the collective that it has nothing to do with, and the run must not be drawn over that.
 */
static bool rests_before(const phase_run *r, int64_t start_ns)
{
    int64_t since = r->klass == CLASS_OPTIMIZER ? r->end_ns : r->active_end_ns;
    int64_t limit = r->busy_ns / 2 > LEAST_REST_NS ? r->busy_ns / 2 : LEAST_REST_NS;
    return start_ns > since && start_ns - since > limit;
}

static bool data_came_between(const rank_state *k, int64_t after_ns, int64_t until_ns)
{
    unsigned n = k->n_p2p < P2P_RING ? k->n_p2p : P2P_RING;
    for (unsigned i = 0; i < n; i++) {
        if (k->p2p_ns[i] > after_ns && k->p2p_ns[i] <= until_ns) {
            return true;
        }
    }
    return false;
}

static uint32_t next_ordinal(rank_state *k, uint32_t step, uint8_t klass)
{
    if (k->ordinals_step != step) {
        memset(k->ordinals, 0, sizeof k->ordinals);
        k->ordinals_step = step;
    }
    return k->ordinals[klass]++;
}

static marey_status track_compute(annotation *a, const annotated *e)
{
    rank_state *k = &a->ranks[e->rank];
    phase_run *r = &k->run;
    uint8_t klass = e->row->klass;
    if (klass > CLASS_OPTIMIZER) {
        return MAREY_OK;
    }
    bool same = r->klass == klass && r->step == e->step && !rests_before(r, e->start_ns) &&
                !data_came_between(k, r->last_start_ns, e->start_ns);
    if (!same) {
        marey_status status = phase_close(a, e->rank, e->start_ns);
        if (status != MAREY_OK) {
            return status;
        }
        *r = (phase_run){klass,       e->step,   next_ordinal(k, e->step, klass), e->start_ns, e->end_ns,
                         e->start_ns, e->end_ns, e->end_ns - e->start_ns};
        return MAREY_OK;
    }
    int64_t busy_from = e->start_ns > r->end_ns ? e->start_ns : r->end_ns;
    r->busy_ns += e->end_ns > busy_from ? e->end_ns - busy_from : 0;
    r->last_start_ns = e->start_ns;
    r->end_ns = e->end_ns > r->end_ns ? e->end_ns : r->end_ns;
    r->active_end_ns = r->end_ns > r->active_end_ns ? r->end_ns : r->active_end_ns;
    return MAREY_OK;
}

/* Micro-batches of one phase follow each other where data goes to or comes from another stage between them. */
marey_status phase_track(annotation *a, const annotated *e)
{
    rank_state *k = &a->ranks[e->rank];
    switch (e->row->klass) {
    case CLASS_SEND:
        k->p2p_ns[k->n_p2p++ % P2P_RING] = e->start_ns;
        return MAREY_OK;
    case CLASS_RECEIVE:
        k->p2p_ns[k->n_p2p++ % P2P_RING] = e->end_ns;
        return MAREY_OK;
    case CLASS_COLLECTIVE:
        if (k->run.klass != CLASS_COUNT && e->end_ns > k->run.active_end_ns) {
            k->run.active_end_ns = e->end_ns;
        }
        return MAREY_OK;
    default:
        return e->kind == KIND_COMPUTE ? track_compute(a, e) : MAREY_OK;
    }
}
