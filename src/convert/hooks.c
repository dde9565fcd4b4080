#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "convert/annotate.h"

/*
 * What hangs on events: launches, collectives, flows. The row of an event is known only when the store has sorted its
 * block, so the event carries a tag, and the store tells tag and row (emit_on_row).
 */

enum { BOUNCE_RECORDS = 4096, FLOW_BUFFER = 64 };
enum { GENERATION = 1 << 18, PLACES_FIRST = 1024, PLACES_MANY = 1 << 16 };

void tag_add(source *s, uint64_t *tag, uint64_t more)
{
    if (*tag == 0) {
        *tag = more;
        return;
    }
    if (*tag >> 62 != TAG_SEVERAL) {
        uint64_t first = *tag;
        *tag = tag_make(TAG_SEVERAL, 0, s->index, s->n_several);
        VEC_PUSH(s->several, s->n_several, s->cap_several, first);
    } else {
        s->n_several--; /* the list's end; an event's list is the last one while it is annotated */
    }
    VEC_PUSH(s->several, s->n_several, s->cap_several, more);
    VEC_PUSH(s->several, s->n_several, s->cap_several, 0);
}

/* ------------------------------------------------------------------ launches */

/* Of a correlation: its number (38 bits), a launch was seen (1), step + 1 (21), context (4). */
static uint64_t launch_value(uint64_t number, bool seen, uint32_t step, uint8_t context)
{
    return number << 26 | (uint64_t)seen << 25 | (uint64_t)step << 4 | context;
}

/* Where the correlation is, or would be. Both halves of the product count: no set of bits alone decides the place. */
static inline uint32_t *find_launch(const annotation *a, const launch_map *m, uint64_t correlation)
{
    __extension__ typedef unsigned __int128 wide;
    const size_t mask = m->n_places - 1;
    wide product = (wide)correlation * a->launch_seed;
    size_t i = (size_t)((uint64_t)product ^ (uint64_t)(product >> 64)) & mask;
    while (m->places[i] != 0 && m->entries[m->places[i] - 1].correlation != correlation) {
        i = (i + 1) & mask;
    }
    return &m->places[i];
}

static void grow_launches(const annotation *a, launch_map *m)
{
    size_t times = m->n_places < PLACES_MANY ? 4 : 2;
    m->n_places = m->n_places ? m->n_places * times : PLACES_FIRST;
    free(m->places);
    m->places = mem_calloc(m->n_places, sizeof *m->places);
    for (uint32_t i = 0; i < m->n; i++) {
        *find_launch(a, m, m->entries[i].correlation) = i + 1;
    }
}

static void forget_launches(launch_map *m)
{
    free(m->entries);
    free(m->places);
    *m = (launch_map){0};
}

void launches_release(rank_state *k)
{
    forget_launches(&k->launches);
    forget_launches(&k->old_launches);
}

static uint64_t old_launch(const annotation *a, const launch_map *old, uint64_t correlation)
{
    const uint32_t *place = old->n > 0 ? find_launch(a, old, correlation) : NULL;
    return place && *place ? old->entries[*place - 1].value : 0;
}

/* A correlation that is not there, and would be at `place`. Only the latest GENERATION to 2 * GENERATION are kept: no
 * device queue is that long. */
static uint64_t *put_launch(const annotation *a, rank_state *k, uint64_t correlation, uint32_t *place)
{
    launch_map *m = &k->launches;
    uint64_t value = old_launch(a, &k->old_launches, correlation);
    if (m->n == GENERATION) {
        forget_launches(&k->old_launches);
        k->old_launches = *m;
        *m = (launch_map){0};
    }
    if (m->n * 2 >= m->n_places) {
        grow_launches(a, m);
        place = find_launch(a, m, correlation);
    }
    VEC_PUSH(m->entries, m->n, m->cap, ((launch_entry){correlation, value}));
    *place = (uint32_t)m->n;
    return &m->entries[m->n - 1].value;
}

/* The value's place, 0 where the correlation is new; the caller sets it. */
static inline uint64_t *launch_place(const annotation *a, rank_state *k, uint64_t correlation)
{
    const launch_map *m = &k->launches;
    uint32_t *place = m->n > 0 ? find_launch(a, m, correlation) : NULL;
    return place && *place ? &m->entries[*place - 1].value : put_launch(a, k, correlation, place);
}

uint64_t launch_note(annotation *a, uint32_t thread, uint32_t rank, const run_row *row, uint32_t step)
{
    uint64_t *v = launch_place(a, &a->ranks[rank], row->link);
    uint64_t number = *v >> 26;
    if (*v == 0 || *v >> 25 & 1) { /* new, or the number is used again */
        number = ++a->n_launches;
    }
    *v = launch_value(number, true, step, context_here(a, thread, rank, row->start_ns));
    return tag_make(TAG_LAUNCH, ROLE_LAUNCH, a->s->index, number);
}

uint8_t launch_meet(annotation *a, annotated *e)
{
    source *s = a->s;
    uint64_t *v = launch_place(a, &a->ranks[e->rank], e->row->link);
    bool seen = *v >> 25 & 1;
    if (*v == 0) {
        *v = launch_value(++a->n_launches, false, 0, 0);
    }
    if (s->has_launches && !seen) {
        a->n_orphans++;
        lost_event(s, LOST_LINK, run_cursor_order(e->cursor), e->start_ns);
    }
    uint64_t tag = tag_make(TAG_LAUNCH, ROLE_WORK, s->index, *v >> 26);
    if (e->tag == 0) {
        e->tag = tag;
    } else {
        tag_add(s, &e->tag, tag);
    }
    if (!seen) {
        return 0;
    }
    e->step = (uint32_t)(*v >> 4 & ((1U << 21) - 1));
    return *v & (CONTEXT_PHASE | CONTEXT_SAID);
}

void launches_end(annotation *a)
{
    source *s = a->s;
    uint64_t bytes = (a->n_launches + 1) * sizeof *s->launch_rows;
    s->n_launches = a->n_launches;
    if (s->n_launches > 0 && scratch_claim(&s->c->scratch, bytes)) {
        s->launch_rows = mem_alloc(bytes);
        memset(s->launch_rows, 0xff, bytes);
    }
}

/* ------------------------------------------------------------------ collectives */

static int compare_events(const void *pa, const void *pb)
{
    const source_collective *a = pa;
    const source_collective *b = pb;
    return a->in.event < b->in.event ? -1 : a->in.event > b->in.event;
}

/* Names of events that have collective arguments are plain no more. @return false where not all rows are in memory */
static bool mark_names(annotation *a)
{
    source *s = a->s;
    const source_collective *k = s->collectives;
    const source_collective *end = k + s->n_collectives;
    for (size_t i = 0; i < s->events.n_segments; i++) {
        const run_segment *g = &s->events.segments[i];
        if (!g->places) {
            return false;
        }
        for (const run_piece *p = g->pieces; p < g->pieces + g->n_pieces; p++) {
            for (; k < end && k->in.event < p->base + p->n; k++) {
                s->names[p->rows[k->in.event - p->base].name].traits &= (uint8_t)~NAME_PLAIN;
            }
        }
    }
    return true;
}

void collectives_prepare(annotation *a)
{
    source *s = a->s;
    if (s->n_collectives == 0) {
        return;
    }
    a->order_filter = mem_calloc(ORDER_FILTER_BITS / 64, sizeof *a->order_filter);
    qsort(s->collectives, s->n_collectives, sizeof *s->collectives, compare_events);
    for (size_t i = 0; i < s->n_collectives; i++) {
        uint64_t bit = s->collectives[i].in.event % ORDER_FILTER_BITS;
        a->order_filter[bit / 64] |= UINT64_C(1) << (bit % 64);
    }
    a->n_stated = s->n_collectives;
    a->may_be_odd = !mark_names(a);
}

static source_collective *find_collective(const annotation *a, uint64_t order)
{
    if (!order_may_match(a, order)) {
        return NULL;
    }
    size_t lo = 0;
    size_t hi = a->n_stated;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (a->s->collectives[mid].in.event < order) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    return lo < a->n_stated && a->s->collectives[lo].in.event == order ? &a->s->collectives[lo] : NULL;
}

/* An older communication kernel says nothing of itself: its type is its category, its group is unknown. */
static source_collective *make_collective(annotation *a, const annotated *e)
{
    source *s = a->s;
    conversion *c = s->c;
    source_collective k = {.in = {.event = run_cursor_order(e->cursor),
                                  .in_elements = -1,
                                  .out_elements = -1,
                                  .group_size = -1,
                                  .seq = -1},
                           .seq = -1,
                           .dtype = NO_ID,
                           .klass = CLASS_COUNT,
                           .group = NO_ID};
    (void)pthread_mutex_lock(&c->lock);
    const char *category = c->model.categories[c->model.names[e->name->global].category].name;
    k.what = intern_put(&c->strings, category, strlen(category));
    (void)pthread_mutex_unlock(&c->lock);
    VEC_PUSH(s->collectives, s->n_collectives, s->cap_collectives, k);
    return &s->collectives[s->n_collectives - 1];
}

void collectives_meet(annotation *a, annotated *e)
{
    source *s = a->s;
    source_collective *k = a->n_stated ? find_collective(a, run_cursor_order(e->cursor)) : NULL;
    if (!k && e->kind == KIND_COMMUNICATION) {
        k = make_collective(a, e);
    }
    if (!k) {
        return;
    }
    uint64_t *count =
        map64_put(&a->ranks[e->rank].seqs, (uint64_t)k->group << 32 | (uint64_t)(k->what & 0x7fffffffU) << 1 |
                                               (kind_is_device(e->kind) ? 1U : 0U));
    if (k->receives && e->row->klass == CLASS_SEND) {
        e->row->klass = CLASS_RECEIVE;
    }
    if (e->kind == KIND_COMMUNICATION && k->klass != CLASS_COUNT) {
        e->row->klass = k->klass;
    }
    k->on_device = kind_is_device(e->kind);
    k->event_klass = e->row->klass;
    k->rank = e->rank;
    k->thread = e->thread;
    k->start_ns = e->start_ns;
    k->end_ns = e->end_ns;
    k->seq = k->seq >= 0 ? k->seq : (int64_t)*count;
    ++*count;
    tag_add(s, &e->tag, tag_make(TAG_COLLECTIVE, 0, s->index, (uint64_t)(k - s->collectives)));
}

/* ------------------------------------------------------------------ flows */

/* Where they fit in memory the cursors point into the sorter's records. */
static void point_at_records(annotation *a)
{
    const sorter *f = &a->s->flows;
    for (size_t i = 0; i < f->n;) {
        size_t j = i;
        while (j < f->n && f->records[j].k0 == f->records[i].k0) {
            j++;
        }
        if (f->records[i].k0 < a->s->n_threads) {
            flow_cursor *k = &a->threads[f->records[i].k0].flows;
            k->points = f->records + i;
            k->n = j - i;
            k->next_ns = INT64_MIN; /* not looked at yet */
        }
        i = j;
    }
}

/* Else they are written once more, sorted, and each thread reads its own stretch. */
static marey_status write_sorted(annotation *a)
{
    source *s = a->s;
    sort_record *bounce = mem_alloc(BOUNCE_RECORDS * sizeof *bounce);
    uint64_t at = scratch_reserve(&s->c->scratch, s->flows.n_total * sizeof *bounce);
    size_t n = 0;
    bool more = true;
    marey_status status = MAREY_OK;
    while (status == MAREY_OK && more) {
        sort_record r = {0};
        status = sorter_next(&s->flows, &r, &more, &s->diag);
        if (status == MAREY_OK && more) {
            flow_cursor *k = &a->threads[r.k0 < s->n_threads ? r.k0 : 0].flows;
            k->at = k->left++ ? k->at : at + n * sizeof r;
            k->next_ns = INT64_MIN;
            bounce[n++] = r;
        }
        if (status == MAREY_OK && (n == BOUNCE_RECORDS || !more)) {
            status = scratch_write(&s->c->scratch, bounce, n * sizeof *bounce, at, &s->diag);
            at += n * sizeof *bounce;
            n = 0;
        }
    }
    free(bounce);
    return status;
}

marey_status flows_prepare(annotation *a)
{
    source *s = a->s;
    if (s->flows.n_total == 0) {
        return MAREY_OK;
    }
    marey_status status = sorter_finish(&s->flows, &s->diag);
    if (status == MAREY_OK && s->flows.n_runs > 0) {
        return write_sorted(a);
    }
    point_at_records(a);
    return status;
}

static marey_status flow_peek(annotation *a, flow_cursor *f, const sort_record **point)
{
    *point = NULL;
    if (f->i == f->n && f->left > 0) {
        if (!f->buffer) {
            f->buffer = mem_alloc(FLOW_BUFFER * sizeof *f->buffer);
        }
        f->n = f->left < FLOW_BUFFER ? (size_t)f->left : FLOW_BUFFER;
        f->i = 0;
        f->points = f->buffer;
        marey_status status = scratch_read(&a->s->c->scratch, f->buffer, f->n * sizeof *f->buffer, f->at, &a->s->diag);
        f->at += f->n * sizeof *f->buffer;
        f->left -= f->n;
        if (status != MAREY_OK) {
            return status;
        }
    }
    if (f->i < f->n) {
        *point = &f->points[f->i];
    }
    return MAREY_OK;
}

static bool binds_next(const sort_record *p)
{
    return (p->v & 3) == FLOW_END && !(p->v & 8);
}

sort_record flow_moment(const source *s, int64_t ts_ns, uint64_t value)
{
    const int64_t far = INT64_C(1) << 60;
    uint64_t kind = value & 4 ? UINT64_C(1) << 62 : UINT64_C(2) << 62;
    int64_t since = 0;
    if (__builtin_sub_overflow(ts_ns, s->bulk_first_ns, &since) || since > far || since < -far) {
        since = ts_ns < s->bulk_first_ns ? -far : far;
    }
    return (sort_record){.k0 = kind | (hash_u64(value >> 4 ^ (uint64_t)s->index << 40) >> 2),
                         .k1 = (uint64_t)(since + far) << 2 | (value & 3)};
}

static marey_status bind(annotation *a, const sort_record *p, uint32_t mark)
{
    source *s = a->s;
    sort_record m = flow_moment(s, sorter_time(p->k1), p->v);
    return sorter_push(&s->binds, m.k0, m.k1, mark, &s->diag);
}

static marey_status bind_enclosing(annotation *a, const thread_state *t, const sort_record *p)
{
    int64_t ts = sorter_time(p->k1);
    for (size_t i = t->n_marks; i-- > 0;) {
        if (t->marks[i].end_ns >= ts) {
            return bind(a, p, t->marks[i].mark);
        }
    }
    a->n_unmatched_flows++;
    lost_flow(a->s, LOST_FLOW, p);
    return MAREY_OK;
}

static bool mark_event(annotation *a, annotated *e, thread_state *t)
{
    source *s = a->s;
    if (s->n_flow_rows == MAX_FLOW_MARKS) {
        a->n_dropped_marks++;
        lost_event(s, LOST_MARK, run_cursor_order(e->cursor), e->start_ns);
        return false;
    }
    uint32_t mark = (uint32_t)s->n_flow_rows++;
    tag_add(s, &e->tag, tag_make(TAG_FLOW, 0, s->index, mark));
    VEC_PUSH(t->marks, t->n_marks, t->cap_marks, ((mark_entry){e->end_ns, mark}));
    return true;
}

/* Forgets the marked events that ended, all but the latest, which is this event's own. */
static void forget_marks(thread_state *t, int64_t now_ns)
{
    size_t keep = t->n_marks - 1;
    mark_entry own = t->marks[keep];
    while (keep > 0 && t->marks[keep - 1].end_ns <= now_ns) {
        keep--;
    }
    t->marks[keep] = own;
    t->n_marks = keep + 1;
}

/* Settles the ends that lie before this event, and marks the event when one may lie in it. */
marey_status flows_meet(annotation *a, annotated *e)
{
    thread_state *t = &a->threads[e->thread];
    if (e->row->flags & EVENT_INSTANT) {
        return MAREY_OK;
    }
    bool marked = false;
    marey_status status = MAREY_OK;
    for (;;) {
        const sort_record *p;
        status = flow_peek(a, &t->flows, &p);
        int64_t ts = p ? sorter_time(p->k1) : INT64_MAX;
        t->flows.next_ns = ts;
        if (status != MAREY_OK || !p || ts > e->end_ns) {
            break;
        }
        bool own = binds_next(p) ? ts <= e->start_ns : ts >= e->start_ns;
        if (own || ts > e->start_ns) { /* in it, or in what it encloses */
            marked = marked || mark_event(a, e, t);
            if (!binds_next(p) || ts > e->start_ns) {
                break;
            }
            status = marked ? bind(a, p, t->marks[t->n_marks - 1].mark) : MAREY_OK;
        } else {
            status = bind_enclosing(a, t, p);
        }
        t->flows.i++;
        if (status != MAREY_OK) {
            break;
        }
    }
    if (marked) {
        forget_marks(t, e->start_ns);
    }
    return status;
}

marey_status flows_end(annotation *a)
{
    for (size_t i = 0; i < a->s->n_threads; i++) {
        thread_state *t = &a->threads[i];
        for (;;) {
            const sort_record *p;
            marey_status status = flow_peek(a, &t->flows, &p);
            if (status != MAREY_OK) {
                return status;
            }
            if (!p) {
                break;
            }
            status = bind_enclosing(a, t, p);
            if (status != MAREY_OK) {
                return status;
            }
            t->flows.i++;
        }
    }
    source *s = a->s;
    if (s->n_flow_rows > 0) {
        s->flow_rows = mem_alloc(s->n_flow_rows * sizeof *s->flow_rows);
        memset(s->flow_rows, 0xff, s->n_flow_rows * sizeof *s->flow_rows);
    }
    return MAREY_OK;
}
