#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "convert/annotate.h"

/*
 * Phases. Work on the host stands in a context: the innermost interval around it that says something of the phase. A
 * kernel takes the context of its launch. What nothing is said of is forward, in a source that has a backward pass at
 * all, inside a step where there are steps.
 */

/* A rest ends an optimizer's run; a wait for collectives does sooner, but is more than the gap between two kernels. */
#define LEAST_REST_NS (INT64_C(1000) * 1000)
#define LEAST_WAIT_NS (INT64_C(50) * 1000)

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
    marey_status status = run_set_add(set, &to->rows, to->n, &(run_args){0}, d);
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
    a->ranks[rank].passed_busy_ns[r->klass] = r->busy_ns;
    if (at_ns <= r->start_ns) { /* the next one begins with it, and would lie on the same track before it */
        r->klass = CLASS_COUNT;
        return MAREY_OK;
    }
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

/* Times may be anything that 64 bits hold. */
static int64_t between(int64_t from_ns, int64_t to_ns)
{
    uint64_t ns = to_ns > from_ns ? (uint64_t)to_ns - (uint64_t)from_ns : 0;
    return ns > INT64_MAX ? INT64_MAX : (int64_t)ns;
}

/* Collectives that follow each other, and the share of a gap that they fill. */
static void track_wait(rank_state *k, const annotated *e)
{
    if (between(k->wait_end_ns, e->start_ns) > LEAST_WAIT_NS) {
        k->wait_start_ns = e->start_ns;
        k->wait_end_ns = e->end_ns;
    }
    k->wait_end_ns = e->end_ns > k->wait_end_ns ? e->end_ns : k->wait_end_ns;
}

static bool waits_between(const rank_state *k, int64_t from_ns, int64_t to_ns)
{
    int64_t from = k->wait_start_ns > from_ns ? k->wait_start_ns : from_ns;
    int64_t to = k->wait_end_ns < to_ns ? k->wait_end_ns : to_ns;
    return between(from_ns, to_ns) > LEAST_WAIT_NS && between(from, to) > between(from_ns, to_ns) / 5 * 4;
}

/*
 * How long nothing may run inside a forward or backward pass. Generous: the runs of a step are counted, and a count
 * that depends on a hiccup of one rank's host would match the wrong micro-batches of two ranks with each other.
 */
static int64_t longest_rest(const annotation *a, const phase_run *r)
{
    int64_t extent = between(r->start_ns, r->end_ns) / 5;
    int64_t rest = 10 * LEAST_REST_NS;
    if (r->step) {
        const source_step *step = &a->s->steps[r->step - 1];
        rest = (step->end_ns - step->start_ns) / 50;
    }
    return extent > rest ? extent : rest;
}

/*
 * Is what follows another run, because nothing of this one happened for so long? Passes wait for collectives inside one
 * micro-batch. An optimizer's first kernel (a norm, a scale) may stand before a collective that the rest of it waits
 * for; the run is not drawn over that wait, however short it is on the rank that came last.
 */
static bool rests_before(const annotation *a, const rank_state *k, int64_t start_ns)
{
    const phase_run *r = &k->run;
    if (between(r->end_ns, start_ns) <= LEAST_WAIT_NS) {
        return false; /* less than any of these */
    }
    int64_t limit = r->busy_ns / 2 > LEAST_REST_NS ? r->busy_ns / 2 : LEAST_REST_NS;
    if (r->klass == CLASS_OPTIMIZER) {
        return between(r->end_ns, start_ns) > limit || waits_between(k, r->end_ns, start_ns);
    }
    int64_t longest = longest_rest(a, r);
    return between(r->active_end_ns, start_ns) > (limit > longest ? limit : longest);
}

static bool moved_between(const rank_state *k, bool in, int64_t after_ns, int64_t until_ns)
{
    unsigned n = k->n_p2p < P2P_RING ? k->n_p2p : P2P_RING;
    for (unsigned i = 0; i < n; i++) {
        if (k->p2p_in[i] == in && k->p2p_ns[i] > after_ns && k->p2p_ns[i] <= until_ns) {
            return true;
        }
    }
    return false;
}

/*
 * Does a micro-batch end where `start_ns` begins another kernel? Data that comes in says so. What goes out says so only
 * where nothing comes in (a pipeline's first stage), and not soon after the run's start: a send waits until its peer is
 * ready, and may begin when the next micro-batch has begun already.
 */
static bool data_came_between(const rank_state *k, int64_t start_ns)
{
    const phase_run *r = &k->run;
    return moved_between(k, true, r->last_start_ns, start_ns) ||
           (!r->fed && r->busy_ns >= k->passed_busy_ns[r->klass] / 2 &&
            moved_between(k, false, r->last_start_ns, start_ns));
}

static void note_moved(rank_state *k, bool in, int64_t at_ns)
{
    unsigned i = k->n_p2p++ % P2P_RING;
    k->p2p_ns[i] = at_ns;
    k->p2p_in[i] = in;
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
    bool same = r->klass == klass && r->step == e->step && !rests_before(a, k, e->start_ns) &&
                !data_came_between(k, e->start_ns);
    if (!same) {
        bool fed = moved_between(k, true, r->last_start_ns, e->start_ns);
        marey_status status = phase_close(a, e->rank, e->start_ns);
        if (status != MAREY_OK) {
            return status;
        }
        *r = (phase_run){klass,       e->step,   next_ordinal(k, e->step, klass), e->start_ns, e->end_ns,
                         e->start_ns, e->end_ns, between(e->start_ns, e->end_ns), fed};
        return MAREY_OK;
    }
    int64_t busy_from = e->start_ns > r->end_ns ? e->start_ns : r->end_ns;
    r->busy_ns = between(-r->busy_ns, between(busy_from, e->end_ns)); /* their sum, saturating */
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
        note_moved(k, false, e->start_ns);
        return MAREY_OK;
    case CLASS_RECEIVE:
        note_moved(k, true, e->end_ns);
        return MAREY_OK;
    case CLASS_COLLECTIVE:
        track_wait(k, e);
        if (k->run.klass != CLASS_COUNT && e->end_ns > k->run.active_end_ns) {
            k->run.active_end_ns = e->end_ns;
        }
        return MAREY_OK;
    default:
        return e->kind == KIND_COMPUTE ? track_compute(a, e) : MAREY_OK;
    }
}
