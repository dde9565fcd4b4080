#include "convert/annotate.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

static int64_t step_number(const char *text, int64_t ordinal)
{
    const char *p = text + strlen(text);
    while (p > text && p[-1] >= '0' && p[-1] <= '9') {
        p--;
    }
    if (!*p || strlen(p) > 18) {
        return ordinal;
    }
    return strtoll(p, NULL, 10);
}

static void until_next_end(rank_state *k)
{
    int64_t host = k->step ? k->step_end_ns : INT64_MAX;
    int64_t device = k->device_step ? k->device_step_end_ns : INT64_MAX;
    k->steps_until_ns = host < device ? host : device;
}

/* A step begins, or its picture on the device. */
static void meet_step(annotation *a, const annotated *e)
{
    source *s = a->s;
    rank_state *k = &a->ranks[e->rank];
    if (e->end_ns <= e->start_ns) {
        return;
    }
    const char *text = s->c->model.names[e->name->global].text;
    int64_t index = step_number(text, k->n_steps);
    if (e->name->traits & NAME_ON_DEVICE && s->has_cpu_steps) {
        for (size_t i = s->n_steps; i-- > 0;) {
            if (s->steps[i].rank == e->rank && s->steps[i].index == index) {
                k->device_step = (uint32_t)i + 1;
                k->device_step_end_ns = e->end_ns;
                until_next_end(k);
                return;
            }
        }
        return;
    }
    bool again = k->step && s->steps[k->step - 1].index == index && e->start_ns < k->step_end_ns;
    if (again || s->n_steps == MAX_STEPS) {
        return;
    }
    source_step step = {.name = (uint32_t)(e->name - s->names),
                        .rank = e->rank,
                        .index = index,
                        .start_ns = e->start_ns,
                        .end_ns = e->end_ns};
    VEC_PUSH(s->steps, s->n_steps, s->cap_steps, step);
    k->n_steps++;
    s->threads[e->thread].has_steps = true;
    k->step = (uint32_t)s->n_steps;
    k->step_end_ns = e->end_ns;
    until_next_end(k);
}

static void leave_steps(rank_state *k, int64_t now_ns)
{
    if (k->step && now_ns >= k->step_end_ns) {
        k->step = 0;
    }
    if (k->device_step && now_ns >= k->device_step_end_ns) {
        k->device_step = 0;
    }
    until_next_end(k);
}

static void find_step(annotation *a, annotated *e)
{
    rank_state *k = &a->ranks[e->rank];
    if (e->start_ns >= k->steps_until_ns) {
        leave_steps(k, e->start_ns);
    }
    e->step = kind_is_device(e->kind) && k->device_step ? k->device_step : k->step;
}

/* The step's extent on the device: from its first to its last kernel. */
static void extend_step(annotation *a, const annotated *e)
{
    if (!e->step || e->kind == KIND_COPY) {
        return;
    }
    source_step *s = &a->s->steps[e->step - 1];
    if (!s->has_device) {
        s->has_device = true;
        s->device_start_ns = e->start_ns;
        s->device_end_ns = e->end_ns;
    }
    s->device_end_ns = e->end_ns > s->device_end_ns ? e->end_ns : s->device_end_ns;
}

/* How many of this name were there in this step before. */
static inline uint32_t occurrence(annotation *a, uint32_t rank, uint32_t name, uint32_t step)
{
    if (a->s->n_ranks == 1) {
        name_count *c = &a->counts[name];
        if (c->step != step) {
            *c = (name_count){.step = step};
        }
        return c->n++;
    }
    uint64_t *v = map64_put(&a->ranks[rank].counts, name);
    uint32_t count = *v >> 32 == step ? (uint32_t)*v : 0;
    *v = (uint64_t)step << 32 | (count + 1);
    return count;
}

/* The event's end: of the recording where it has none of its own. */
static void settle_end(annotation *a, annotated *e)
{
    run_row *r = e->row;
    const source *s = a->s;
    if (r->dur_ns == RUN_UNFINISHED_NS && r->flags & EVENT_UNFINISHED) {
        r->dur_ns = r->start_ns < s->bulk_end_ns ? s->bulk_end_ns - r->start_ns : 0;
    }
    if (__builtin_add_overflow(r->start_ns, r->dur_ns, &e->end_ns)) {
        e->end_ns = INT64_MAX;
        r->dur_ns = INT64_MAX - r->start_ns;
        r->flags |= EVENT_REPAIRED;
        a->n_overflows++;
        lost_event(a->s, LOST_OVERFLOW, run_cursor_order(e->cursor), e->start_ns);
    }
    if (r->flags & (EVENT_UNFINISHED | EVENT_REPAIRED) && (r->flags & EVENT_SEVERITY) < SEVERITY_LOST) {
        r->flags = (uint8_t)((r->flags & ~EVENT_SEVERITY) | SEVERITY_LOST);
    }
}

/* Lane and track. @return false when the lane can't take any more tracks: the event is dropped and counted */
static bool place(annotation *a, annotated *e)
{
    source *s = a->s;
    source_thread *t = &s->threads[e->thread];
    if (t->lanes[e->kind] == NO_ID) {
        t->lanes[e->kind] = lane_make(s, e->rank, e->thread, e->kind);
    }
    uint32_t track = lane_place(s, t->lanes[e->kind], e->start_ns, e->end_ns);
    e->row->thread = track;
    if (track == NO_ID) {
        a->n_dropped_events++;
        lost_event(s, LOST_EVENT, run_cursor_order(e->cursor), e->start_ns);
        return false;
    }
    if (e->end_ns == e->start_ns) {
        s->has_points = true;
        s->last_point_ns = e->start_ns; /* the latest, since they come in order */
    }
    return true;
}

/*
 * Most events are of the host, say nothing of steps or phases and have no flow's end by their own: a place on their
 * lane and a number are all that they need.
 */
static inline bool is_plain(const annotation *a, const run_row *row)
{
    const source_name *name = &a->s->names[row->name];
    const thread_state *t = &a->threads[row->thread];
    const int64_t end_ns = run_row_end(row);
    const bool has_length = end_ns > row->start_ns; /* and fits */
    return name->traits & NAME_PLAIN && !(row->flags & (EVENT_UNFINISHED | EVENT_REPAIRED)) && has_length &&
           t->flows.next_ns > end_ns && !t->is_async && row->start_ns < a->ranks[t->rank].steps_until_ns;
}

/* @return false when the event is not plain, or anything about its place is new */
static inline bool annotate_plain(annotation *a, run_row *row)
{
    uint32_t track = is_plain(a, row) ? lane_find_inside(a->s, row) : NO_ID;
    if (track == NO_ID) {
        return false;
    }
    const uint8_t klass = a->s->names[row->name].klass;
    const uint32_t rank = a->threads[row->thread].rank;
    const uint32_t step = a->ranks[rank].step;
    row->klass = klass;
    row->instance = occurrence(a, rank, row->name, step);
    if (row->link != 0) {
        row->link = klass == CLASS_RUNTIME ? launch_note(a, row->thread, rank, row, step) : 0;
    }
    row->thread = track;
    return true;
}

/* Not inline: it would take the registers of what most events need. */
static __attribute__((noinline)) marey_status annotate_row(annotation *a, const run_cursor *cursor)
{
    source *s = a->s;
    run_row *row = cursor->row;
    annotated e = {.row = row,
                   .cursor = cursor,
                   .name = &s->names[row->name],
                   .thread = row->thread,
                   .rank = a->threads[row->thread].rank,
                   .start_ns = row->start_ns};
    e.kind = a->threads[e.thread].is_async ? KIND_ASYNC : (trace_kind)e.name->kind;
    row->klass = e.name->klass;
    settle_end(a, &e);
    bool has_contexts = a->contexts.has_next || a->contexts.n_due > 0;
    marey_status status = has_contexts ? contexts_advance(a, e.start_ns) : MAREY_OK;
    if (!place(a, &e)) {
        row->link = 0;
        return status;
    }
    find_step(a, &e);
    if (e.name->mark == MARK_STEP) {
        meet_step(a, &e);
    } else if (e.name->mark != MARK_NONE) {
        context_enter(a, &e);
    }
    if (has_contexts && !kind_is_device(e.kind)) {
        contexts_leave_queue(a, &e);
    }
    if (status == MAREY_OK && a->threads[e.thread].flows.next_ns <= e.end_ns) {
        status = flows_meet(a, &e);
    }
    uint8_t launched = 0;
    if (row->link != 0 && row->klass == CLASS_RUNTIME) {
        tag_add(s, &e.tag, launch_note(a, e.thread, e.rank, row, e.step));
    } else if (row->link != 0 && kind_is_device(e.kind)) {
        launched = launch_meet(a, &e);
    }
    if (collectives_may_meet(a, &e)) {
        collectives_meet(a, &e);
    }
    row->link = e.tag;
    row->instance = occurrence(a, e.rank, row->name, e.step);
    if (status == MAREY_OK && kind_is_device(e.kind)) {
        launched = a->contexts.n_due > 0 ? contexts_of_kernel(a, &e, launched) : launched;
        extend_step(a, &e);
        phase_of_kernel(a, &e, launched);
        status = phase_track(a, &e);
    }
    return status;
}

static void prepare(annotation *a)
{
    source *s = a->s;
    a->launch_seed = hash_bytes("launches", 8) | 1;
    a->threads = mem_calloc(s->n_threads ? s->n_threads : 1, sizeof *a->threads);
    a->ranks = mem_calloc(s->n_ranks ? s->n_ranks : 1, sizeof *a->ranks);
    a->counts = mem_calloc(s->n_ranks == 1 ? s->n_names : 1, sizeof *a->counts);
    for (size_t i = 0; i < s->n_threads; i++) {
        a->threads[i].rank = s->n_ranks > 1 ? s->threads[i].pid_id : 0;
        a->threads[i].flows.next_ns = INT64_MAX;
        a->threads[i].is_async = s->threads[i].is_async;
    }
    for (size_t i = 0; i < s->n_ranks; i++) {
        a->ranks[i].run.klass = CLASS_COUNT;
        a->ranks[i].wait_end_ns = INT64_MIN;
        a->ranks[i].steps_until_ns = INT64_MAX;
    }
}

static void release(annotation *a)
{
    for (size_t i = 0; i < a->s->n_threads; i++) {
        free(a->threads[i].stack);
        free(a->threads[i].marks);
        free(a->threads[i].flows.buffer);
    }
    for (size_t i = 0; i < a->s->n_ranks; i++) {
        launches_release(&a->ranks[i]);
        map64_deinit(&a->ranks[i].counts);
        map64_deinit(&a->ranks[i].seqs);
    }
    free(a->threads);
    free(a->ranks);
    free(a->counts);
    contexts_release(a);
    free(a->order_filter);
    free(a->phases.rows);
}

static int compare_rows(const void *pa, const void *pb)
{
    const run_row *a = pa;
    const run_row *b = pb;
    if (a->start_ns != b->start_ns || a->dur_ns != b->dur_ns) {
        return run_row_before(a, b) ? -1 : 1;
    }
    return 0;
}

/* The derived lane of steps: on the device where anything of the step ran there, else on the host. */
static marey_status derive_steps(source *s)
{
    if (s->n_steps == 0) {
        return MAREY_OK;
    }
    run_row *rows = mem_calloc(s->n_steps, sizeof *rows);
    for (size_t i = 0; i < s->n_steps; i++) {
        const source_step *k = &s->steps[i];
        rows[i].start_ns = k->has_device ? k->device_start_ns : k->start_ns;
        rows[i].dur_ns = (k->has_device ? k->device_end_ns : k->end_ns) - rows[i].start_ns;
        rows[i].name = k->name;
        rows[i].klass = CLASS_ANNOTATION;
        rows[i].thread = k->rank;
    }
    qsort(rows, s->n_steps, sizeof *rows, compare_rows);
    derived_rows out = {0};
    marey_status status = MAREY_OK;
    for (size_t i = 0; i < s->n_steps && status == MAREY_OK; i++) {
        source_rank *r = &s->ranks[rows[i].thread];
        if (r->steps_lane == NO_ID) {
            r->steps_lane = lane_make(s, rows[i].thread, NO_ID, KIND_STEP);
        }
        rows[i].thread = lane_place(s, r->steps_lane, rows[i].start_ns, rows[i].start_ns + rows[i].dur_ns);
        if (rows[i].thread != NO_ID) {
            status = derived_push(&s->step_rows, &out, &rows[i], &s->diag);
        }
    }
    free(rows);
    return status == MAREY_OK ? derived_flush(&s->step_rows, &out, &s->diag) : status;
}

static void count_losses(const annotation *a)
{
    source *s = a->s;
    uint64_t overlaps = 0;
    for (size_t i = 0; i < s->n_lanes; i++) {
        overlaps += s->lanes[i].n_overlaps;
    }
    lost_count(s, LOST_OVERLAP, overlaps);
    lost_count(s, LOST_LINK, a->n_orphans);
    lost_count(s, LOST_FLOW, a->n_unmatched_flows);
    lost_count(s, LOST_MARK, a->n_dropped_marks);
    lost_count(s, LOST_EVENT, a->n_dropped_events);
    lost_count(s, LOST_OVERFLOW, a->n_overflows);
}

/* Makes the row the cursor's current one, too. */
static bool is_odd(const annotation *a, run_cursor *c)
{
    run_cursor_look(c);
    return a->s->context_flows.n_total > 0 || order_may_match(a, run_cursor_order(c));
}

/* The top cursor's rows in memory, for as long as no other cursor's come between. */
static marey_status annotate_stretch(annotation *a, const run_merge *m)
{
    enum { LONGEST = 1 << 16 }; /* from one look at the cancel flag to the next */
    run_cursor *c = run_merge_top(m);
    const run_piece *pieces = c->pieces;
    const uint32_t *first = c->at;
    const uint32_t *end = c->end - first > LONGEST ? first + LONGEST : c->end;
    const uint32_t *at = first;
    marey_status status = MAREY_OK;
    do {
        run_row *row = run_row_at(pieces, *at);
        if (row->start_ns >= m->rival_ns && at != first) {
            break;
        }
        c->at = at;
        if ((a->may_be_odd && is_odd(a, c)) || !annotate_plain(a, row)) {
            run_cursor_look(c);
            status = annotate_row(a, c);
        }
        at++;
    } while (at != end && status == MAREY_OK);
    c->at = at - 1;
    return status;
}

static marey_status annotate_rows(annotation *a)
{
    source *s = a->s;
    run_merge m;
    run_merge_init(&m, true);
    run_merge_add(&m, &s->events, 0, NULL, NULL, 0);
    s->rows = &m;
    marey_status status = run_merge_start(&m, &s->diag);
    while (status == MAREY_OK && run_merge_top(&m) != NULL) {
        status = is_cancelled(s->c->options->cancel) ? MAREY_CANCELLED : annotate_stretch(a, &m);
        if (status == MAREY_OK) {
            status = run_merge_next(&m, &s->diag);
        }
    }
    s->rows = NULL;
    run_merge_deinit(&m);
    return status;
}

marey_status annotate_source(source *s)
{
    annotation a = {.s = s};
    prepare(&a);
    collectives_prepare(&a);
    marey_status status = flows_prepare(&a);
    if (status == MAREY_OK) {
        status = contexts_prepare(&a);
    }
    if (status == MAREY_OK) {
        a.may_be_odd |= s->context_flows.n_total > 0;
        status = annotate_rows(&a);
        lanes_sum_up(s);
        launches_end(&a);
    }
    if (status == MAREY_OK) {
        status = flows_end(&a);
    }
    for (uint32_t i = 0; i < s->n_ranks && status == MAREY_OK; i++) {
        status = phase_close(&a, i, INT64_MAX);
    }
    if (status == MAREY_OK) {
        status = derived_flush(&s->phase_rows, &a.phases, &s->diag);
    }
    if (status == MAREY_OK) {
        status = derive_steps(s);
    }
    count_losses(&a);
    release(&a);
    collectives_keep(s);
    source_seal(s);
    run_set_seal(&s->phase_rows);
    run_set_seal(&s->step_rows);
    return status;
}
