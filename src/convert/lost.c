#include "convert/lost.h"

#include <stdlib.h>

#include "base/mem.h"
#include "convert/source.h"

enum { MARK_BYTES_FIRST = 16 * 1024, MARKS_MAX = 65536 };

static const struct {
    marey_loss loss;
    const char *detail;
} what[LOST_KINDS] = {
    [LOST_OVERLAP] = {MAREY_LOSS_OVERLAP, NULL},
    [LOST_LINK] = {MAREY_LOSS_LINK_UNMATCHED, NULL},
    [LOST_FAR] = {MAREY_LOSS_FAR_TIME, NULL},
    [LOST_OVERFLOW] = {MAREY_LOSS_TIME_OVERFLOW, NULL},
    [LOST_MARK] = {MAREY_LOSS_LIMIT, "flows bind to 4 194 304 events"},
    [LOST_EVENT] = {MAREY_LOSS_LIMIT, "4096 events at once on one lane"},
    [LOST_CLIPPED] = {MAREY_LOSS_CLIPPED, NULL},
    [LOST_FLOW] = {MAREY_LOSS_FLOW_UNMATCHED, "outside any event"},
    [LOST_END] = {MAREY_LOSS_FLOW_UNMATCHED, NULL},
    [LOST_SAMPLE] = {MAREY_LOSS_CLIPPED, "a counter's sample far from all events"},
};

void lost_deinit(lost_records *l)
{
    for (unsigned i = 0; i < LOST_FLOWS_END - LOST_EVENT_KINDS; i++) {
        map64_deinit(&l->flows[i]);
    }
    free(l->marks);
    *l = (lost_records){0};
}

/* Every other mark goes, and those to come are as far from each other as these are then. */
static void thin_out(lost_records *l)
{
    size_t n = 0;
    for (size_t i = 0; i < l->n_marks; i += 2) {
        l->marks[n++] = l->marks[i];
    }
    l->n_marks = n;
    l->mark_bytes *= 2;
}

uint64_t lost_note(lost_records *l, uint64_t offset, uint64_t n_events)
{
    l->mark_bytes = l->mark_bytes ? l->mark_bytes : MARK_BYTES_FIRST;
    uint64_t due = l->n_marks > 0 ? l->marks[l->n_marks - 1].at + l->mark_bytes : l->mark_bytes;
    if (offset == DIAG_NO_OFFSET || offset < due) {
        return due;
    }
    if (l->n_marks == MARKS_MAX) {
        thin_out(l);
    }
    VEC_PUSH(l->marks, l->n_marks, l->cap_marks, ((lost_mark){offset, n_events}));
    return offset + l->mark_bytes;
}

void lost_event(source *s, lost_kind kind, uint64_t order, int64_t start_ns)
{
    lost_first *first = &s->lost.first[kind];
    if (first->number == 0 || order + 1 < first->number) {
        *first = (lost_first){order + 1, start_ns};
    }
}

/* Of LOST_FLOW all three words tell it from others; of LOST_END the first two. */
static uint64_t point_key(lost_kind kind, const sort_record *p)
{
    return hash_u64(p->k0 ^ hash_u64(p->k1 ^ (kind == LOST_FLOW ? hash_u64(p->v) : 0)));
}

void lost_flow(source *s, lost_kind kind, const sort_record *point)
{
    map64 *m = &s->lost.flows[kind - LOST_EVENT_KINDS];
    if (m->n < LOST_FLOWS_MAX) {
        *map64_put(m, point_key(kind, point)) = 1;
    }
}

void lost_samples(source *s, uint64_t n)
{
    if (n > 0) {
        s->lost.has_samples = true;
        lost_count(s, LOST_SAMPLE, n);
    }
}

void lost_count(source *s, lost_kind kind, uint64_t n)
{
    diag_lose(&s->diag, what[kind].loss, s->file, DIAG_NO_OFFSET, n, what[kind].detail);
}

/* ------------------------------------------------------------------ the second look */

static void place(source *s, lost_kind kind, uint64_t offset)
{
    diag_place(&s->diag, what[kind].loss, s->file, offset, what[kind].detail);
}

static bool has_flows(const lost_records *l)
{
    bool any = false;
    for (unsigned i = 0; i < LOST_FLOWS_END - LOST_EVENT_KINDS; i++) {
        any |= l->flows[i].n > 0;
    }
    return any;
}

static bool has_events(const lost_records *l)
{
    bool any = false;
    for (unsigned i = 0; i < LOST_EVENT_KINDS; i++) {
        any |= l->first[i].number != 0;
    }
    return any;
}

static void look_at_flow(source *s, const again_record *r, const trace_flow_in *f)
{
    uint64_t v = flow_value(f, r->builder->strings.text[f->kind]);
    sort_record points[] = {{f->thread, sorter_key(f->ts_ns), v}, flow_moment(s, f->ts_ns, v)};
    for (unsigned i = 0; i < LOST_FLOWS_END - LOST_EVENT_KINDS; i++) {
        lost_kind kind = (lost_kind)(LOST_EVENT_KINDS + i);
        map64 *m = &s->lost.flows[i];
        if (m->n > 0 && map64_get(m, point_key(kind, &points[i]))) {
            place(s, kind, r->offset);
            map64_deinit(m);
        }
    }
}

static void look_at_samples(source *s, const again_record *r)
{
    const trace_builder *b = r->builder;
    for (size_t i = 0; i < b->n_samples && s->lost.has_samples; i++) {
        if (is_sample_outside(s, b->samples[i].ts_ns)) {
            place(s, LOST_SAMPLE, r->offset);
            s->lost.has_samples = false;
        }
    }
}

/* What can only be found from the beginning on. */
static bool has_others(const lost_records *l)
{
    return has_flows(l) || l->has_samples;
}

/* From the beginning. */
static bool look_at(void *ctx, const again_record *r)
{
    source *s = ctx;
    for (unsigned i = 0; i < LOST_EVENT_KINDS; i++) {
        lost_first *f = &s->lost.first[i];
        if (f->number > r->event && f->number <= r->event + r->n_events) {
            place(s, (lost_kind)i, r->offset);
            f->number = 0;
        }
    }
    for (size_t i = 0; i < r->n_flows; i++) {
        look_at_flow(s, r, &r->flows[i]);
    }
    look_at_samples(s, r);
    return has_events(&s->lost) || has_others(&s->lost);
}

/* From a mark on. */
typedef struct search {
    source *s;
    lost_kind kind;
    lost_mark mark;
    bool has_begun;
} search;

/* Numbers are those of the first reading less the events before the mark. */
static bool look_behind_mark(void *ctx, const again_record *r)
{
    search *q = ctx;
    lost_first *f = &q->s->lost.first[q->kind];
    if (!q->has_begun) {
        q->has_begun = true;
        q->mark.n_events -= r->offset == q->mark.at ? r->event + r->n_events : r->event;
    }
    uint64_t first = q->mark.n_events + r->event;
    if (f->number <= first || f->number > first + r->n_events) {
        return f->number > first;
    }
    if (r->start_ns ==
        f->start_ns) { /* else begins before the mark have their ends behind it: counting does not help */
        place(q->s, q->kind, r->offset);
        f->number = 0;
    }
    return false;
}

static void find_behind_mark(source *s, lost_kind kind)
{
    const lost_records *l = &s->lost;
    size_t lo = 0;
    size_t hi = l->n_marks;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (l->marks[mid].n_events < l->first[kind].number) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    if (lo > 0) {
        search q = {.s = s, .kind = kind, .mark = l->marks[lo - 1]};
        (void)s->in->again(s->in->ctx, q.mark.at, look_behind_mark, &q, s->c->options->cancel);
    }
}

/* What is not found has no place. */
static void find_job(void *ctx, size_t i, unsigned worker)
{
    source *s = (source *)ctx + i;
    (void)worker;
    if (s->status == MAREY_OK && s->in->again) {
        for (unsigned k = 0; k < LOST_EVENT_KINDS && !has_others(&s->lost); k++) {
            if (s->lost.first[k].number != 0) {
                find_behind_mark(s, (lost_kind)k);
            }
        }
        if (has_events(&s->lost) || has_others(&s->lost)) {
            (void)s->in->again(s->in->ctx, 0, look_at, s, s->c->options->cancel);
        }
    }
    lost_deinit(&s->lost);
    diag_sort(&s->diag); /* these belong between what was found while reading */
}

marey_status lost_find(conversion *c)
{
    pool_each(c->workers, c->n_sources, find_job, c->sources);
    return is_cancelled(c->options->cancel) ? MAREY_CANCELLED : MAREY_OK;
}
