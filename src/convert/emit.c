#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/thread.h"
#include "convert/source.h"

/* From the annotated runs into the store: one stream in order of time for each 64 ranks and kind of group. */

enum { MAX_GROUP_THREADS = 4, CHECK_EVERY = 8192, BATCH = 64 };
#define LAST_TIME_NS (INT64_C(1) << 62)

typedef struct emission emission;

typedef struct group_job {
    emission *e;
    uint32_t index; /* order of begin */
    group_kind kind;
    uint32_t first_rank, n_ranks;
    uint32_t n_rows; /* tracks met so far */
    uint32_t n_batch;
    store_event *batch; /* BATCH, on their way into `out` */
    store_group *out;
    diag diag;
    marey_status status;
} group_job;

/* All groups of a conversion; they begin in order, so that a rank's group is its number by 64. */
struct emission {
    conversion *c;
    group_job *jobs;
    size_t n_jobs;
    pthread_mutex_t lock;
    pthread_cond_t turn;
    uint32_t next;
    bool stop;
};

static run_set *set_of(source *s, group_kind kind)
{
    return kind == GROUP_EVENTS ? &s->events : kind == GROUP_STEPS ? &s->step_rows : &s->phase_rows;
}

static bool is_in_group(const group_job *j, const source *s)
{
    for (size_t r = 0; r < s->n_ranks; r++) {
        uint32_t rank = s->ranks[r].global;
        if (rank != NO_ID && rank >= j->first_rank && rank < j->first_rank + j->n_ranks) {
            return true;
        }
    }
    return false;
}

static marey_status put_batch(group_job *j)
{
    uint32_t n = j->n_batch;
    j->n_batch = 0;
    return store_group_put_all(j->out, j->batch, n, &j->diag);
}

/* An event that does not lie within the longest run was moved or cut. Steps and phases are made from others. */
static void note_clipped(const group_job *j, source *s, const run_cursor *cursor, store_event *out)
{
    if (j->kind != GROUP_EVENTS) {
        return;
    }
    out->flags = (uint8_t)(out->flags | EVENT_REPAIRED);
    if ((out->flags & EVENT_SEVERITY) < SEVERITY_LOST) {
        out->flags = (uint8_t)((out->flags & ~EVENT_SEVERITY) | SEVERITY_LOST);
    }
    (void)pthread_mutex_lock(&s->lock);
    lost_event(s, LOST_CLIPPED, run_cursor_order(cursor), cursor->row->start_ns);
    lost_count(s, LOST_CLIPPED, 1);
    (void)pthread_mutex_unlock(&s->lock);
}

static marey_status put_row(group_job *j, run_cursor *cursor)
{
    source *s = &j->e->c->sources[cursor->source];
    const run_row *row = cursor->row;
    if (row->thread == NO_ID) {
        return MAREY_OK; /* dropped and counted by the annotation */
    }
    source_track *t = &s->tracks[row->thread];
    if (s->spans_groups) {
        uint32_t rank = j->e->c->model.lanes[s->lanes[t->lane].global].rank;
        if (rank < j->first_rank || rank >= j->first_rank + j->n_ranks) {
            return MAREY_OK;
        }
    }
    if (t->row == NO_ID) {
        t->row = j->n_rows++;
        j->e->c->model.tracks[t->global].row = t->row;
    }
    store_event *out = &j->batch[j->n_batch++];
    int64_t key_ns = run_cursor_key(cursor);
    bool is_clipped = is_outside_run(j->e->c, key_ns);
    *out = (store_event){.start_ns = model_since(j->e->c, key_ns),
                         .dur_ns = row->dur_ns,
                         .track = t->global,
                         .track_row = t->row,
                         .name = s->names[row->name].global,
                         .instance = row->instance,
                         .klass = row->klass,
                         .flags = row->flags,
                         .rank_row = t->rank_row,
                         .args_len = row->args_len,
                         .args_taken = true,
                         .args_stay = run_cursor_is_kept(cursor), /* see release_sources() */
                         .tag = row->link};
    if (s->is_moved) { /* both ends by the same map, so that what nested or followed still does */
        is_clipped |= is_outside_run(j->e->c, source_time(s, row->start_ns + row->dur_ns));
        out->dur_ns = model_time(s, row->start_ns + row->dur_ns) - out->start_ns;
    }
    if (out->dur_ns > LAST_TIME_NS - out->start_ns || is_clipped) {
        out->dur_ns = out->dur_ns < LAST_TIME_NS - out->start_ns ? out->dur_ns : LAST_TIME_NS - out->start_ns;
        note_clipped(j, s, cursor, out);
    }
    marey_status status = run_cursor_args(cursor, &out->args, &j->diag);
    bool is_full = j->n_batch == BATCH || !run_cursor_is_kept(cursor);
    return status == MAREY_OK && is_full ? put_batch(j) : status;
}

/* What is the same for all rows of a cursor whose source's times are only shifted. */
typedef struct usual_source {
    const run_cursor *cursor;
    source_track *tracks; /* NULL: it is another source */
    const source_name *names;
    int64_t run_start_ns;
} usual_source;

static usual_source usual_of(const group_job *j, const run_cursor *cursor)
{
    const conversion *c = j->e->c;
    const source *s = &c->sources[cursor->source];
    bool is_usual = !s->is_moved && !s->spans_groups;
    return (usual_source){cursor, is_usual ? s->tracks : NULL, s->names, c->start_ns};
}

/* A row as most are: in memory, on a track that the group has met, within the longest run. @return false: it is another
 */
static inline bool put_usual_row(group_job *j, const usual_source *u, const run_cursor *cursor)
{
    const run_row *row = cursor->row;
    int64_t key_ns = 0;
    if (!u->tracks || row->thread == NO_ID || !run_cursor_is_kept(cursor) ||
        __builtin_add_overflow(row->start_ns, cursor->shift_ns, &key_ns)) {
        return false;
    }
    const source_track *t = &u->tracks[row->thread];
    uint64_t since_ns = (uint64_t)key_ns - (uint64_t)u->run_start_ns;
    if (t->row == NO_ID || since_ns > (uint64_t)LONGEST_RUN_NS || row->dur_ns > LAST_TIME_NS - (int64_t)since_ns) {
        return false;
    }
    store_event *out = &j->batch[j->n_batch++];
    out->start_ns = (int64_t)since_ns;
    out->dur_ns = row->dur_ns;
    out->track = t->global;
    out->track_row = t->row;
    out->name = u->names[row->name].global;
    out->instance = row->instance;
    out->klass = row->klass;
    out->flags = row->flags;
    out->rank_row = t->rank_row;
    out->args = row->args_len > 0 ? cursor->piece->args + row->args_at : NULL;
    out->args_len = row->args_len;
    out->args_taken = true;
    out->args_stay = true;
    out->tag = row->link;
    return true;
}

static int64_t clock_of(const void *ctx, int64_t t_ns)
{
    return source_time(ctx, t_ns);
}

static marey_status merge_rows(group_job *j)
{
    conversion *c = j->e->c;
    store_event batch[BATCH];
    j->batch = batch;
    run_merge m;
    run_merge_init(&m, false);
    for (uint32_t i = 0; i < c->n_sources; i++) {
        source *s = &c->sources[i];
        if (is_in_group(j, s)) {
            run_merge_add(&m, set_of(s, j->kind), i, s->is_moved ? clock_of : NULL, s, s->shift_ns);
        }
    }
    marey_status status = run_merge_start(&m, &j->diag);
    run_cursor *cursor;
    usual_source usual = {0};
    for (uint64_t n = 0; status == MAREY_OK && (cursor = run_merge_top(&m)) != NULL; n++) {
        if (cursor != usual.cursor) {
            usual = usual_of(j, cursor);
        }
        if (!put_usual_row(j, &usual, cursor)) {
            status = put_row(j, cursor);
        } else if (j->n_batch == BATCH) {
            status = put_batch(j);
        }
        if (status == MAREY_OK) {
            status = run_merge_next(&m, &j->diag);
        }
        if (n % CHECK_EVERY == CHECK_EVERY - 1) {
            uint64_t done = atomic_fetch_add(&c->events_put, CHECK_EVERY) + CHECK_EVERY;
            if (!conversion_report(c, "writing", done, c->events_total, done)) {
                status = MAREY_CANCELLED;
            }
        }
    }
    run_merge_deinit(&m);
    status = status == MAREY_OK ? put_batch(j) : status;
    j->batch = NULL;
    return status;
}

/* What the store chooses its bins by. */
static store_group_params params_of(const group_job *j)
{
    const trace_model *m = &j->e->c->model;
    store_group_params p = {
        .kind = j->kind, .first_rank = j->first_rank, .n_ranks = j->n_ranks, .duration_ns = m->duration_ns};
    for (uint32_t r = j->first_rank; r < j->first_rank + j->n_ranks; r++) {
        int64_t busy = 0;
        int64_t first = INT64_MAX;
        int64_t last = 0;
        for (uint32_t i = m->ranks[r].first_lane; i < m->ranks[r].first_lane + m->ranks[r].n_lanes; i++) {
            const trace_lane *l = &m->lanes[i];
            bool ours = j->kind == GROUP_EVENTS ? !kind_is_derived(l->kind)
                                                : l->kind == (j->kind == GROUP_STEPS ? KIND_STEP : KIND_PHASE);
            if (!ours) {
                continue;
            }
            p.n_events += l->n_events;
            busy = busy < INT64_MAX - l->busy_ns ? busy + l->busy_ns : INT64_MAX;
            first = l->first_ns < first ? l->first_ns : first;
            last = l->last_ns > last ? l->last_ns : last;
        }
        int64_t extent = first < last ? last - first : 0;
        p.busy_rank_ns += (busy < extent ? busy : extent) / (1 + (p.busy_rank_ns > LAST_TIME_NS / GROUP_RANKS));
    }
    return p;
}

static marey_status begin_in_turn(group_job *j)
{
    emission *e = j->e;
    store_group_params p = params_of(j);
    (void)pthread_mutex_lock(&e->lock);
    while (e->next != j->index && !e->stop) {
        (void)pthread_cond_wait(&e->turn, &e->lock);
    }
    marey_status status = e->stop ? MAREY_CANCELLED : store_group_begin(e->c->writer, &j->out, &p, &j->diag);
    e->next++;
    e->stop = e->stop || status != MAREY_OK;
    (void)pthread_cond_broadcast(&e->turn);
    (void)pthread_mutex_unlock(&e->lock);
    return status;
}

/* The rows of a source are given back once no group needs them any more: with workers, which may still be at their
 * arguments, only when the writer is done. */
static void release_sources(group_job *j)
{
    conversion *c = j->e->c;
    for (size_t i = 0; i < c->n_sources && !c->workers; i++) {
        source *s = &c->sources[i];
        if (j->kind == GROUP_EVENTS && is_in_group(j, s) && atomic_fetch_sub(&s->groups_left, 1) == 1) {
            run_set_deinit(&s->events);
        }
    }
}

static void run_job(void *ctx)
{
    group_job *j = ctx;
    j->status = begin_in_turn(j);
    if (j->status == MAREY_OK) {
        j->status = merge_rows(j);
    }
    if (j->out) {
        marey_status ended = store_group_end(&j->out, j->status == MAREY_OK ? &j->diag : NULL);
        j->status = j->status == MAREY_OK ? ended : j->status;
    }
    release_sources(j);
    if (j->status != MAREY_OK) {
        (void)pthread_mutex_lock(&j->e->lock);
        j->e->stop = true;
        (void)pthread_cond_broadcast(&j->e->turn);
        (void)pthread_mutex_unlock(&j->e->lock);
    }
}

static bool has_rows(const conversion *c, const group_job *j)
{
    for (size_t i = 0; i < c->n_sources; i++) {
        if (set_of(&c->sources[i], j->kind)->n_rows > 0 && is_in_group(j, &c->sources[i])) {
            return true;
        }
    }
    return false;
}

static void plan(emission *e)
{
    const group_kind kinds[] = {GROUP_EVENTS, GROUP_STEPS, GROUP_PHASES};
    conversion *c = e->c;
    size_t n_groups = (c->model.n_ranks + GROUP_RANKS - 1) / GROUP_RANKS;
    e->jobs = mem_calloc(n_groups * 3, sizeof *e->jobs);
    for (size_t k = 0; k < 3; k++) {
        for (size_t g = 0; g < n_groups; g++) {
            size_t first = g * GROUP_RANKS;
            size_t n = c->model.n_ranks - first < GROUP_RANKS ? c->model.n_ranks - first : GROUP_RANKS;
            group_job j = {.e = e,
                           .index = (uint32_t)e->n_jobs,
                           .kind = kinds[k],
                           .first_rank = (uint32_t)first,
                           .n_ranks = (uint32_t)n};
            if (k > 0 && !has_rows(c, &j)) {
                continue; /* but an event group stands even when it is empty: ranks name it by number */
            }
            diag_init(&j.diag);
            e->jobs[e->n_jobs++] = j;
        }
    }
}

static void share_sources(conversion *c)
{
    for (size_t i = 0; i < c->n_sources; i++) {
        source *s = &c->sources[i];
        uint32_t groups = 0;
        uint32_t last = NO_ID;
        for (size_t r = 0; r < s->n_ranks; r++) { /* numbers of one source ascend, so equal groups stand together */
            uint32_t rank = s->ranks[r].global;
            if (rank != NO_ID && rank / GROUP_RANKS != last) {
                last = rank / GROUP_RANKS;
                groups++;
            }
        }
        atomic_store(&s->groups_left, groups);
        s->spans_groups = groups > 1;
    }
}

marey_status emit_groups(conversion *c)
{
    emission e = {.c = c};
    (void)pthread_mutex_init(&e.lock, NULL);
    (void)pthread_cond_init(&e.turn, NULL);
    share_sources(c);
    plan(&e);
    size_t n_events = (c->model.n_ranks + GROUP_RANKS - 1) / GROUP_RANKS;
    unsigned threads = c->jobs < MAX_GROUP_THREADS ? c->jobs : MAX_GROUP_THREADS;
    pool *p = threads > 1 && n_events > 1 ? pool_create(threads) : NULL;
    for (size_t i = 0; i < e.n_jobs; i++) {
        if (p) {
            pool_run(p, run_job, &e.jobs[i]);
        } else {
            run_job(&e.jobs[i]);
        }
    }
    if (p) {
        pool_wait(p);
        pool_destroy(&p);
    }
    marey_status status = MAREY_OK;
    for (size_t i = 0; i < e.n_jobs; i++) {
        diag_merge(c->diag, &e.jobs[i].diag);
        diag_deinit(&e.jobs[i].diag);
        bool first = status == MAREY_OK || status == MAREY_CANCELLED;
        status = first && e.jobs[i].status != MAREY_OK ? e.jobs[i].status : status;
    }
    free(e.jobs);
    (void)pthread_cond_destroy(&e.turn);
    (void)pthread_mutex_destroy(&e.lock);
    return status;
}

/* ------------------------------------------------------------------ rows become known */

static void settle(conversion *c, uint64_t tag, uint64_t row)
{
    source *s = &c->sources[tag >> TAG_NUMBER_BITS & (MAX_SOURCES - 1)];
    uint64_t number = tag_number(tag);
    switch (tag >> 62) {
    case TAG_COLLECTIVE:
        s->kept[number].row = row;
        return;
    case TAG_FLOW:
        s->flow_rows[number] = row;
        return;
    default:
        side_take_launch(s, number, (unsigned)(tag >> 60 & 3), row);
    }
}

void emit_on_row(void *ctx, uint64_t tag, uint64_t row)
{
    conversion *c = ctx;
    if (tag >> 62 != TAG_SEVERAL) {
        settle(c, tag, row);
        return;
    }
    const source *s = &c->sources[tag >> TAG_NUMBER_BITS & (MAX_SOURCES - 1)];
    for (const uint64_t *t = s->several + tag_number(tag); *t; t++) {
        settle(c, *t, row);
    }
}
