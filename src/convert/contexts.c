#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "convert/annotate.h"

/*
 * Contexts that travel along flows. Where a framework hands its work to a queue (torch_npu), the call that launches a
 * kernel runs on the queue's thread, which knows nothing of phases. Two flows lead back: "async_npu" from the operator
 * to the kernel, and "async_task_queue" from where work was put into the queue to where it is taken out. The context
 * at a flow's start is noted when that moment passes, and handed on to the event that begins exactly at its end.
 */

enum { GENERATION = 1 << 18 };
enum { POINT_END = 1, POINT_QUEUE = 2, POINT_BITS = 2 };

/* Value of a noted flow: step + 1 (from bit 4), context. */
static uint64_t *noted_place(flow_contexts *f, uint64_t flow)
{
    uint64_t *v = map64_get(&f->noted, flow);
    if (v) {
        return v;
    }
    if (f->noted.n >= GENERATION) { /* as with launches: no queue is that long */
        map64_deinit(&f->old_noted);
        f->old_noted = f->noted;
        f->noted = (map64){0};
    }
    return map64_put(&f->noted, flow);
}

static const uint64_t *noted(flow_contexts *f, uint64_t flow)
{
    const uint64_t *v = map64_get(&f->noted, flow);
    return v ? v : map64_get(&f->old_noted, flow);
}

static void note(annotation *a, const sort_record *p)
{
    uint32_t thread = (uint32_t)(p->k1 >> POINT_BITS);
    uint32_t rank = a->threads[thread].rank;
    const rank_state *k = &a->ranks[rank];
    int64_t at_ns = sorter_time(p->k0);
    uint32_t step = at_ns < k->step_end_ns ? k->step : 0;
    *noted_place(&a->contexts, p->v) = (uint64_t)step << 4 | context_here(a, thread, rank, at_ns);
}

/* Threads of one rank with the same number: a queue's thread and what a driver's own process says of it. */
static void link_threads(annotation *a)
{
    const source *s = a->s;
    intern keys = {0};
    strbuf key = {0};
    uint32_t *last = mem_alloc((s->n_threads + 1) * sizeof *last);
    for (uint32_t i = 0; i < s->n_threads; i++) {
        strbuf_clear(&key);
        strbuf_printf(&key, "%u %s", a->threads[i].rank, s->threads[i].tid);
        size_t before = keys.n;
        uint32_t id = intern_put(&keys, key.s, key.n);
        a->threads[i].same_number = i;
        if (keys.n == before) {
            a->threads[i].same_number = a->threads[last[id]].same_number;
            a->threads[last[id]].same_number = i;
        }
        last[id] = i;
    }
    free(last);
    strbuf_deinit(&key);
    intern_deinit(&keys);
}

marey_status contexts_take(source *s, const trace_flow_in *flow, const char *kind, uint64_t key)
{
    bool queue = strcmp(kind, "async_task_queue") == 0;
    if (flow->phase == FLOW_STEP || (!queue && strcmp(kind, "async_npu") != 0)) {
        return MAREY_OK;
    }
    uint64_t place =
        (uint64_t)flow->thread << POINT_BITS | (queue ? POINT_QUEUE : 0U) | (flow->phase == FLOW_END ? POINT_END : 0U);
    return sorter_push(&s->context_flows, sorter_key(flow->ts_ns), place, key, &s->diag);
}

static marey_status read_next(annotation *a)
{
    return sorter_next(&a->s->context_flows, &a->contexts.next, &a->contexts.has_next, &a->s->diag);
}

marey_status contexts_prepare(annotation *a)
{
    if (a->s->context_flows.n_total == 0) {
        return MAREY_OK;
    }
    link_threads(a);
    marey_status status = sorter_finish(&a->s->context_flows, &a->s->diag);
    return status == MAREY_OK ? read_next(a) : status;
}

/* Starts at this very moment wait until all that begins with them is known: an operator's flow starts as it does. */
static void settle_due(annotation *a)
{
    flow_contexts *f = &a->contexts;
    for (size_t i = 0; i < f->n_due; i++) {
        if (!(f->due[i].k1 & POINT_END)) {
            note(a, &f->due[i]);
        }
    }
    f->n_due = 0;
}

marey_status contexts_advance(annotation *a, int64_t now_ns)
{
    flow_contexts *f = &a->contexts;
    marey_status status = MAREY_OK;
    if (f->n_due > 0 && f->due_ns < now_ns) {
        settle_due(a);
    }
    while (status == MAREY_OK && f->has_next && sorter_time(f->next.k0) <= now_ns) {
        if (sorter_time(f->next.k0) == now_ns) {
            f->due_ns = now_ns;
            VEC_PUSH(f->due, f->n_due, f->cap_due, f->next);
        } else if (!(f->next.k1 & POINT_END)) {
            note(a, &f->next);
        }
        status = read_next(a);
    }
    return status;
}

/* The flow that ends where the event begins. @return NULL when there is none, or its start was never met */
static const uint64_t *flow_into(annotation *a, const annotated *e, unsigned kind)
{
    flow_contexts *f = &a->contexts;
    uint64_t place = (uint64_t)e->thread << POINT_BITS | kind | POINT_END;
    for (size_t i = 0; i < f->n_due; i++) {
        if (f->due[i].k1 == place) {
            return noted(f, f->due[i].v);
        }
    }
    return NULL;
}

uint8_t contexts_of_kernel(annotation *a, annotated *e, uint8_t launched)
{
    const uint64_t *v = a->contexts.n_due ? flow_into(a, e, 0) : NULL;
    if (!v || (!(*v & CONTEXT_SAID) && launched & CONTEXT_SAID)) {
        return launched;
    }
    uint32_t step = (uint32_t)(*v >> 4);
    e->step = step ? step : e->step;
    return (uint8_t)(*v & (CONTEXT_PHASE | CONTEXT_SAID));
}

void contexts_leave_queue(annotation *a, const annotated *e)
{
    const uint64_t *v = a->contexts.n_due ? flow_into(a, e, POINT_QUEUE) : NULL;
    uint8_t context = v ? (uint8_t)(*v & (CONTEXT_PHASE | CONTEXT_SAID)) : 0;
    if (context == 0 || e->end_ns <= e->start_ns) {
        return;
    }
    uint32_t thread = e->thread;
    do {
        context_push(a, thread, e->start_ns, e->end_ns, context);
        thread = a->threads[thread].same_number;
    } while (thread != e->thread);
}

void contexts_release(annotation *a)
{
    map64_deinit(&a->contexts.noted);
    map64_deinit(&a->contexts.old_noted);
    free(a->contexts.due);
}
