#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/thread.h"
#include "convert/source.h"
#include "trace/metrics.h"

/* Records that one sorter keeps in memory: as many for all sources together, however many there are. */
enum { SIDE_LIMIT = 64 * 1024, SIDE_LEAST = 1024, FEW_SOURCES = 8 };

/* Events of one flush, on their way into the source's runs. */
typedef struct piece {
    source *s;
    run_row *rows; /* owned, [RUN_ROWS]; NULL: the runs have kept it */
    size_t n;
    run_args args; /* likewise */
    diag diag;
    marey_status status;
} piece;

/* What a job needs beside the source while its file is read. */
typedef struct reading {
    source *s;
    trace_builder builder;
    pool *sorter;     /* one thread that takes pieces beside the reader; NULL: the reader does */
    piece *pieces[2]; /* one is filled while the other one is taken */
    unsigned which;
    pthread_mutex_t lock; /* of `left`, and while it is taken */
    piece *left;          /* to be taken after the flush; NULL */
    uint32_t *counters;   /* builder's (process, string) -> source's counter */
    map64 counter_keys;
    uint64_t n_collectives_taken;
    uint64_t n_reported_bytes, n_reported_events;
} reading;

void source_init(source *s, conversion *c, uint32_t index, const convert_source *in)
{
    memset(s, 0, sizeof *s);
    s->c = c;
    s->index = index;
    s->in = in;
    s->format = "";
    s->host = s->device_name = "";
    diag_init(&s->diag);
    s->file = diag_file(&s->diag, in->path);
    size_t limit = c->n_sources > FEW_SOURCES ? (size_t)SIDE_LIMIT * FEW_SOURCES / c->n_sources : SIDE_LIMIT;
    limit = limit > SIDE_LEAST ? limit : SIDE_LEAST;
    run_set_init(&s->events, &c->scratch);
    run_set_init(&s->step_rows, &c->scratch);
    run_set_init(&s->phase_rows, &c->scratch);
    sorter_init(&s->samples, &c->scratch, limit);
    sorter_init(&s->flows, &c->scratch, limit);
    sorter_init(&s->launches, &c->scratch, limit);
    sorter_init(&s->binds, &c->scratch, limit);
    sorter_init(&s->context_flows, &c->scratch, limit);
    (void)pthread_mutex_init(&s->lock, NULL);
}

void source_seal(source *s)
{
    for (size_t i = 0; i < s->n_lanes; i++) {
        free(s->lanes[i].ends_ns);
        s->lanes[i].ends_ns = NULL;
        s->lanes[i].cap_ends = 0;
    }
    sorter_deinit(&s->flows);
    sorter_deinit(&s->context_flows);
    free(s->islands);
    s->islands = NULL;
    s->n_islands = s->cap_islands = 0;
}

void source_deinit(source *s)
{
    source_seal(s);
    for (size_t i = 0; i < s->n_lanes; i++) {
        free(s->lanes[i].tracks);
    }
    run_set_deinit(&s->events);
    run_set_deinit(&s->step_rows);
    run_set_deinit(&s->phase_rows);
    sorter_deinit(&s->samples);
    stretches_deinit(&s->sampled);
    sorter_deinit(&s->launches);
    side_release_launches(s);
    sorter_deinit(&s->binds);
    free(s->facts.groups_json);
    free(s->names);
    free(s->threads);
    free(s->lanes);
    free(s->tracks);
    free(s->steps);
    free(s->ranks);
    free(s->collectives);
    free(s->kept);
    free(s->times);
    free(s->counters);
    free(s->flow_rows);
    free(s->several);
    metrics_release(s);
    lost_deinit(&s->lost);
    diag_deinit(&s->diag);
    (void)pthread_mutex_destroy(&s->lock);
}

/* ------------------------------------------------------------------ while the reader pushes */

/* Is [first, last] less than `gap` away from the island? */
static bool is_near(const source_island *i, int64_t first, int64_t last, int64_t gap)
{
    return (first <= i->last_ns || (uint64_t)first - (uint64_t)i->last_ns < (uint64_t)gap) &&
           (last >= i->first_ns || (uint64_t)i->first_ns - (uint64_t)last < (uint64_t)gap);
}

static void take_order(source_island *a, const source_island *b)
{
    a->order_ns = b->order < a->order ? b->order_ns : a->order_ns;
    a->order = b->order < a->order ? b->order : a->order;
}

/* 64 bits of ns are 213 504 days: of so many islands, what comes late joins those that are at most a year away. */
static void add_island(source *s, source_island stretch)
{
    enum { MANY_ISLANDS = 1024 };
    for (size_t k = s->n_islands; k-- > 0;) {
        source_island *i = &s->islands[k];
        if (is_near(i, stretch.first_ns, stretch.last_ns, s->n_islands < MANY_ISLANDS ? DAY_NS : YEAR_NS)) {
            i->first_ns = stretch.first_ns < i->first_ns ? stretch.first_ns : i->first_ns;
            i->last_ns = stretch.last_ns > i->last_ns ? stretch.last_ns : i->last_ns;
            i->end_ns = stretch.end_ns > i->end_ns ? stretch.end_ns : i->end_ns;
            i->n += stretch.n;
            take_order(i, &stretch);
            return;
        }
    }
    VEC_PUSH(s->islands, s->n_islands, s->cap_islands, stretch);
}

static int64_t sane_end(const run_row *r)
{
    int64_t end;
    if (r->dur_ns > YEAR_NS /* or unfinished */ || __builtin_add_overflow(r->start_ns, r->dur_ns, &end)) {
        return r->start_ns;
    }
    return end;
}

static bool is_stray(const run_row *r)
{
    return (r->flags & EVENT_SEVERITY) == SEVERITY_STRAY;
}

static void widen(source_island *i, const run_row *r, uint64_t order)
{
    int64_t t = r->start_ns;
    int64_t end = sane_end(r);
    i->first_ns = i->n == 0 || t < i->first_ns ? t : i->first_ns;
    i->last_ns = i->n == 0 || t > i->last_ns ? t : i->last_ns;
    i->end_ns = i->n == 0 || end > i->end_ns ? end : i->end_ns;
    if (i->n == 0) {
        i->order = order;
        i->order_ns = t;
    }
    i->n++;
}

/* The stretch of a piece of ordinary events: all have an end, and all lie within a day. @return is it one? */
static bool find_stretch(const run_row *rows, size_t n, source_island *stretch)
{
    source_island i = {.first_ns = INT64_MAX, .last_ns = INT64_MIN, .end_ns = INT64_MIN, .n = n};
    int64_t longest = 0;
    unsigned flags = 0;
    bool overflows = false;
    for (size_t k = 0; k < n; k++) {
        int64_t t = rows[k].start_ns;
        int64_t end;
        overflows |= __builtin_add_overflow(t, rows[k].dur_ns, &end);
        longest = rows[k].dur_ns > longest ? rows[k].dur_ns : longest;
        flags |= rows[k].flags;
        i.first_ns = t < i.first_ns ? t : i.first_ns;
        i.last_ns = t > i.last_ns ? t : i.last_ns;
        i.end_ns = end > i.end_ns ? end : i.end_ns;
    }
    *stretch = i;
    return !overflows && longest <= YEAR_NS && !(flags & (EVENT_SEVERITY | EVENT_UNFINISHED)) &&
           (uint64_t)i.last_ns - (uint64_t)i.first_ns < (uint64_t)DAY_NS;
}

/* Cuts a piece (in order of input, from this number on) where a start lies a day from the others; marks what has no
 * end. */
static void find_islands(source *s, run_row *rows, size_t n, uint64_t first)
{
    source_island stretch;
    if (find_stretch(rows, n, &stretch)) {
        stretch.order = first;
        stretch.order_ns = rows[0].start_ns;
        add_island(s, stretch);
        return;
    }
    source_island i = {0};
    for (size_t k = 0; k < n; k++) {
        rows[k].dur_ns = rows[k].flags & EVENT_UNFINISHED ? RUN_UNFINISHED_NS : rows[k].dur_ns;
        if (is_stray(&rows[k])) {
            widen(&s->strays, &rows[k], first + k);
            continue;
        }
        int64_t t = rows[k].start_ns;
        int64_t lo = i.n == 0 || t < i.first_ns ? t : i.first_ns;
        int64_t hi = i.n == 0 || t > i.last_ns ? t : i.last_ns;
        if ((uint64_t)hi - (uint64_t)lo >= (uint64_t)DAY_NS) {
            add_island(s, i);
            i = (source_island){0};
        }
        widen(&i, &rows[k], first + k);
    }
    if (i.n > 0) {
        add_island(s, i);
    }
}

static marey_status take_samples(reading *r)
{
    source *s = r->s;
    trace_builder *b = &r->builder;
    for (size_t i = 0; i < b->n_samples; i++) {
        const trace_sample_in *in = &b->samples[i];
        uint32_t pid = b->threads[in->thread].pid_id;
        uint64_t *id = map64_put(&r->counter_keys, (uint64_t)pid << 32 | in->counter);
        if (*id == 0) {
            source_counter c = {.pid_id = pid, .thread = in->thread, .min = in->value, .max = in->value};
            VEC_PUSH(s->counters, s->n_counters, s->cap_counters, c);
            r->counters = mem_realloc_array(r->counters, s->cap_counters, sizeof *r->counters);
            r->counters[s->n_counters - 1] = in->counter;
            *id = s->n_counters;
        }
        source_counter *c = &s->counters[*id - 1];
        c->n++;
        c->min = in->value < c->min ? in->value : c->min;
        c->max = in->value > c->max ? in->value : c->max;
        stretches_put(&s->sampled, in->ts_ns);
        uint64_t bits;
        memcpy(&bits, &in->value, sizeof bits);
        marey_status status = sorter_push(&s->samples, *id - 1, sorter_key(in->ts_ns), bits, &s->diag);
        if (status != MAREY_OK) {
            return status;
        }
    }
    b->n_samples = 0;
    return MAREY_OK;
}

static marey_status take_flows(reading *r)
{
    source *s = r->s;
    trace_builder *b = &r->builder;
    for (size_t i = 0; i < b->n_flows; i++) {
        const trace_flow_in *f = &b->flows[i];
        const char *kind = f->kind < b->strings.n ? b->strings.text[f->kind] : "";
        marey_status status = sorter_push(&s->flows, f->thread, sorter_key(f->ts_ns), flow_value(f, kind), &s->diag);
        if (status == MAREY_OK) {
            status = contexts_take(s, f, kind, flow_key(f));
        }
        if (status != MAREY_OK) {
            return status;
        }
    }
    b->n_flows = 0;
    return MAREY_OK;
}

static void take_collectives(reading *r)
{
    source *s = r->s;
    trace_builder *b = &r->builder;
    for (size_t i = 0; i < b->n_collectives; i++) {
        source_collective c = {.in = b->collectives[i], .seq = b->collectives[i].seq};
        VEC_PUSH(s->collectives, s->n_collectives, s->cap_collectives, c);
    }
    b->n_collectives = 0;
}

static marey_status take_side(reading *r)
{
    take_collectives(r);
    marey_status status = metrics_take(r->s, &r->builder.side);
    if (status == MAREY_OK) {
        status = take_flows(r);
    }
    return status == MAREY_OK ? take_samples(r) : status;
}

static void take_piece(void *ctx)
{
    piece *p = ctx;
    find_islands(p->s, p->rows, p->n, p->s->events.n_rows);
    p->status = run_set_add(&p->s->events, &p->rows, p->n, &p->args, &p->diag);
}

/* Lock held, and let go. */
static void take_left(reading *r)
{
    if (r->left) {
        take_piece(r->left);
        r->left = NULL;
    }
    (void)pthread_mutex_unlock(&r->lock);
}

/* As trace_builder.after_flush. Who finds the lock taken has nothing to do: another one is at it. */
static void after_flush(void *ctx)
{
    reading *r = ctx;
    if (pthread_mutex_trylock(&r->lock) == 0) {
        take_left(r);
    }
}

static marey_status wait_for_piece(reading *r)
{
    piece *p = r->pieces[r->which];
    if (!p) {
        return MAREY_OK;
    }
    if (r->sorter) {
        pool_wait(r->sorter);
    }
    (void)pthread_mutex_lock(&r->lock);
    take_left(r);
    diag_merge(&r->s->diag, &p->diag);
    diag_deinit(&p->diag);
    diag_init(&p->diag);
    return p->status;
}

/* The piece to fill next; the other one may still be on its way. */
static piece *next_piece(reading *r)
{
    unsigned next = r->sorter || r->builder.by_turns ? 1 - r->which : r->which;
    if (!r->pieces[next]) {
        piece *p = r->pieces[next] = mem_alloc(sizeof *p);
        p->s = r->s;
        p->rows = NULL;
        p->args = (run_args){0};
        p->status = MAREY_OK;
        diag_init(&p->diag);
    }
    return r->pieces[next];
}

/* What is in the chunk goes with the piece, and the piece's old room to the chunk. */
static void swap_room(piece *p, trace_chunk *k)
{
    run_args room = p->args;
    run_row *rows = p->rows ? p->rows : mem_alloc_large(RUN_ROWS * sizeof *rows);
    p->rows = k->rows;
    k->rows = rows;
    p->n = k->n;
    k->n = 0;
    p->args = (run_args){k->args, k->n_args, k->cap_args};
    k->args = room.text ? room.text : mem_alloc_large(k->cap_args);
    k->cap_args = room.text ? room.cap : k->cap_args;
    k->n_args = 0;
}

static marey_status on_flush(void *ctx, trace_chunk *k)
{
    reading *r = ctx;
    source *s = r->s;
    if (k->n == 0) {
        return MAREY_OK; /* what hangs on no event is taken at the end: the reader still judges by it */
    }
    marey_status status = take_side(r);
    if (status != MAREY_OK) {
        return status;
    }
    if (!conversion_report(s->c, "reading", 0, 0, 0)) {
        return MAREY_CANCELLED;
    }
    piece *p = next_piece(r);
    swap_room(p, k);
    status = wait_for_piece(r);
    r->which = p == r->pieces[1];
    if (status != MAREY_OK) {
        return status;
    }
    if (r->sorter) {
        pool_run(r->sorter, take_piece, p);
        return MAREY_OK;
    }
    if (r->builder.by_turns) {
        (void)pthread_mutex_lock(&r->lock);
        r->left = p;
        (void)pthread_mutex_unlock(&r->lock);
        return MAREY_OK;
    }
    take_piece(p);
    return wait_for_piece(r);
}

/* As trace_builder.mark. */
static void on_mark(void *ctx, uint64_t at, uint64_t n_events)
{
    reading *r = ctx;
    r->builder.mark_from = lost_note(&r->s->lost, at, n_events);
}

static void free_pieces(reading *r)
{
    for (unsigned i = 0; i < 2; i++) {
        piece *p = r->pieces[i];
        if (p) {
            free(p->rows);
            free(p->args.text);
            diag_deinit(&p->diag);
            free(p);
        }
    }
}

static void on_progress(void *ctx, uint64_t bytes, uint64_t total, uint64_t n_events)
{
    reading *r = ctx;
    conversion *c = r->s->c;
    (void)total;
    uint64_t done = atomic_fetch_add(&c->bytes_done, bytes - r->n_reported_bytes) + (bytes - r->n_reported_bytes);
    uint64_t events =
        atomic_fetch_add(&c->events_read, n_events - r->n_reported_events) + (n_events - r->n_reported_events);
    r->n_reported_bytes = bytes;
    r->n_reported_events = n_events;
    (void)conversion_report(c, "reading", done, c->bytes_total, events);
}

/* ------------------------------------------------------------------ when it has ended */

static const char *keep_string(conversion *c, const trace_builder *b, uint32_t id)
{
    if (id >= b->strings.n) {
        return "";
    }
    return arena_strndup(&c->model.mem, b->strings.text[id], b->strings.len[id]);
}

static void take_threads(source *s, const trace_builder *b)
{
    s->n_threads = b->n_threads;
    s->threads = mem_calloc(b->n_threads ? b->n_threads : 1, sizeof *s->threads);
    for (size_t i = 0; i < b->n_threads; i++) {
        const trace_thread_in *in = &b->threads[i];
        source_thread *t = &s->threads[i];
        t->pid = arena_strndup(&s->c->model.mem, in->pid, strlen(in->pid));
        t->tid = arena_strndup(&s->c->model.mem, in->tid, strlen(in->tid));
        t->name = keep_string(s->c, b, in->name);
        t->process_name = keep_string(s->c, b, in->process_name);
        t->labels = keep_string(s->c, b, in->labels);
        t->pid_id = in->pid_id;
        t->is_async = strncmp(in->tid, "async:", 6) == 0;
        t->sort_index = in->sort_index;
        for (unsigned k = 0; k < KIND_COUNT; k++) {
            t->lanes[k] = NO_ID;
        }
    }
}

uint32_t conversion_name(conversion *c, const char *text, size_t n_text, uint32_t source_id)
{
    const char *cat = source_id == NO_ID ? "" : c->model.sources[source_id];
    strbuf_clear(&c->key);
    strbuf_add(&c->key, cat, strlen(cat) + 1);
    strbuf_add(&c->key, text, n_text);
    uint32_t id = intern_put(&c->name_keys, c->key.s, c->key.n);
    if (id == c->model.n_names) {
        trace_meaning m =
            trace_rules_classify_in(c->rules, text, source_id == NO_ID ? c->no_scopes : c->scopes[source_id]);
        trace_name name = {c->name_keys.text[id] + strlen(cat) + 1, m.category, source_id};
        VEC_PUSH(c->model.names, c->model.n_names, c->model.cap_names, name);
        VEC_RESERVE(c->marks, c->cap_marks, c->model.n_names);
        c->marks[id] = (uint8_t)m.mark;
    }
    return id;
}

uint32_t conversion_source(conversion *c, const char *text)
{
    uint32_t id = intern_put(&c->source_keys, text, strlen(text));
    if (id == c->model.n_sources) {
        VEC_RESERVE(c->scopes, c->cap_scopes, c->model.n_sources + 1);
        c->scopes[id] = trace_rules_scopes(c->rules, text);
        VEC_PUSH(c->model.sources, c->model.n_sources, c->model.cap_sources, c->source_keys.text[id]);
    }
    return id;
}

static source_name describe_name(conversion *c, uint32_t global)
{
    const trace_name *name = &c->model.names[global];
    const trace_category *cat = &c->model.categories[name->category];
    const char *from = name->source == NO_ID ? "" : c->model.sources[name->source];
    bool is_plain = c->marks[global] == MARK_NONE && !kind_is_device(cat->kind);
    return (source_name){
        .global = global,
        .kind = (uint8_t)cat->kind,
        .klass = (uint8_t)cat->klass,
        .mark = c->marks[global],
        .traits = (uint8_t)((strncmp(from, "gpu_", 4) == 0 ? NAME_ON_DEVICE : 0) | (is_plain ? NAME_PLAIN : 0))};
}

/* Names come from few sources: these were asked for last. */
typedef struct known_sources {
    uint32_t id[16]; /* the builder's */
    uint32_t global[16];
} known_sources;

static uint32_t find_source(conversion *c, const trace_builder *b, known_sources *known, uint32_t id)
{
    if (id >= b->strings.n || b->strings.len[id] == 0) {
        return NO_ID;
    }
    size_t slot = id % (sizeof known->id / sizeof known->id[0]);
    if (known->id[slot] != id) {
        known->id[slot] = id;
        known->global[slot] = conversion_source(c, b->strings.text[id]);
    }
    return known->global[slot];
}

/* It was written long before, and is not near any more. */
static void prefetch_name(const trace_builder *b, size_t i)
{
    if (i < b->n_names && b->names[i].text < b->strings.n) {
        const char *text = b->strings.text[b->names[i].text];
        __builtin_prefetch(text);
        __builtin_prefetch(text + 64);
    }
}

static void take_names(source *s, const trace_builder *b)
{
    enum { AHEAD = 8 };
    conversion *c = s->c;
    known_sources known;
    memset(&known, 0xff, sizeof known);
    s->n_names = b->n_names + MARK_OPTIMIZER;
    s->names = mem_calloc(s->n_names, sizeof *s->names);
    intern_reserve(&c->name_keys, c->name_keys.n + b->n_names);
    for (size_t i = 0; i < b->n_names; i++) {
        const trace_name_in *in = &b->names[i];
        prefetch_name(b, i + AHEAD);
        uint32_t from = find_source(c, b, &known, in->source);
        bool is_known = in->text < b->strings.n;
        uint32_t global = conversion_name(c, is_known ? b->strings.text[in->text] : "",
                                          is_known ? b->strings.len[in->text] : 0, from);
        source_name *n = &s->names[i];
        *n = describe_name(c, global);
        s->has_backward |= n->mark == MARK_BACKWARD || n->mark == MARK_CHECKPOINT;
        s->has_cpu_steps |= n->mark == MARK_STEP && !(n->traits & NAME_ON_DEVICE);
        s->has_launches |= n->klass == CLASS_RUNTIME;
    }
    for (uint32_t p = MARK_FORWARD; p <= MARK_OPTIMIZER; p++) {
        uint32_t local = (uint32_t)b->n_names + p - 1;
        s->names[local] = describe_name(c, c->phase_names[p]);
        s->phase_names[p] = local;
    }
}

static uint32_t keep_word(conversion *c, const trace_builder *b, uint32_t id)
{
    return id < b->strings.n ? intern_put(&c->strings, b->strings.text[id], b->strings.len[id]) : NO_ID;
}

static const char *text_of(const trace_builder *b, uint32_t id)
{
    return id < b->strings.n ? b->strings.text[id] : "";
}

/* "send", "recv", "all_to_allv" tell apart what one kernel (SendRecv) does. */
static uint8_t class_of_collective(const char *what)
{
    if (!*what) {
        return CLASS_COUNT;
    }
    bool sends = strcasestr(what, "send") != NULL;
    bool receives = strcasestr(what, "recv") != NULL || strcasestr(what, "receive") != NULL;
    return sends == receives ? (sends ? CLASS_SEND : CLASS_COLLECTIVE) : sends ? CLASS_SEND : CLASS_RECEIVE;
}

/* The groups' ids of the builder become the model's. */
static void take_words(source *s, const trace_builder *b)
{
    for (size_t i = 0; i < s->n_collectives; i++) {
        source_collective *k = &s->collectives[i];
        k->what = keep_word(s->c, b, k->in.what);
        k->receives = strstr(text_of(b, k->in.what), "recv") || strstr(text_of(b, k->in.what), "receive");
        k->dtype = keep_word(s->c, b, k->in.dtype);
        k->klass = class_of_collective(text_of(b, k->in.what));
        k->group = NO_ID;
        if (k->in.group < b->strings.n || k->in.group_ranks < b->strings.n) {
            k->group =
                groups_put(s->c, text_of(b, k->in.group), text_of(b, k->in.group_desc), text_of(b, k->in.group_ranks));
        }
    }
}

static void take_ranks(source *s, const trace_builder *b)
{
    s->n_ranks = b->facts.is_kineto || b->n_processes == 0 ? 1 : b->n_processes;
    s->ranks = mem_calloc(s->n_ranks, sizeof *s->ranks);
    for (uint32_t i = 0; i < s->n_ranks; i++) {
        uint32_t process = b->facts.is_kineto ? NO_ID : i;
        const trace_place_in *place = trace_side_find_place(&b->side, process);
        s->ranks[i] = (source_rank){.pid_id = process,
                                    .steps_lane = NO_ID,
                                    .phases_lane = NO_ID,
                                    .place = place ? *place : trace_place(process)};
    }
    for (size_t i = 0; i < s->n_counters; i++) {
        s->ranks[s->n_ranks > 1 ? s->counters[i].pid_id : 0].n_samples += s->counters[i].n;
    }
}

static int compare_islands(const void *a, const void *b)
{
    const source_island *x = a;
    const source_island *y = b;
    return x->first_ns < y->first_ns ? -1 : x->first_ns > y->first_ns;
}

/* Joins islands, in order of time, that are less than `gap` apart. @return the one with the most events */
static const source_island *join_islands(source *s, int64_t gap)
{
    size_t n = 0;
    for (size_t i = 1; i < s->n_islands; i++) {
        source_island *a = &s->islands[n];
        const source_island *b = &s->islands[i];
        if (is_near(a, b->first_ns, b->last_ns, gap)) {
            a->last_ns = b->last_ns > a->last_ns ? b->last_ns : a->last_ns;
            a->end_ns = b->end_ns > a->end_ns ? b->end_ns : a->end_ns;
            a->n += b->n;
            take_order(a, b);
        } else {
            s->islands[++n] = *b;
        }
    }
    s->n_islands = n + 1;
    const source_island *most = s->islands;
    for (size_t i = 0; i < s->n_islands; i++) {
        most = s->islands[i].n > most->n ? &s->islands[i] : most;
    }
    return most;
}

static int64_t island_end(const source_island *i)
{
    return i->end_ns > i->last_ns ? i->end_ns : i->last_ns;
}

/* The bulk of the source is the island with the most events, of those a year apart; what lies outside is kept and
 * counted. Where a stretch without a gap of a day holds nine tenths of the events, that is what is shown first. */
static void find_bulk(source *s)
{
    if (s->n_islands == 0 && s->strays.n == 0) {
        return;
    }
    if (s->n_islands == 0) {
        add_island(s, s->strays); /* there is nothing that they could be strays from */
    }
    qsort(s->islands, s->n_islands, sizeof *s->islands, compare_islands);
    source_island view = *join_islands(s, DAY_NS);
    uint64_t all = 0;
    for (size_t i = 0; i < s->n_islands; i++) {
        all += s->islands[i].n;
    }
    const source_island *bulk = join_islands(s, YEAR_NS);
    s->bulk_first_ns = bulk->first_ns;
    s->bulk_last_ns = bulk->last_ns;
    s->bulk_end_ns = island_end(bulk);
    bool is_inside = view.first_ns >= bulk->first_ns && view.last_ns <= bulk->last_ns;
    view = is_inside && view.n >= all - all / 10 ? view : *bulk;
    s->view_first_ns = view.first_ns;
    s->view_end_ns = island_end(&view);
    for (size_t i = 0; i < s->n_islands; i++) {
        if (&s->islands[i] != bulk) {
            lost_event(s, LOST_FAR, s->islands[i].order, s->islands[i].order_ns);
        }
    }
    lost_count(s, LOST_FAR, all - bulk->n);
}

/* base + ts must stay within 64 bits for the bulk; else the base is not believed. */
static void find_shift(source *s)
{
    int64_t sum;
    int64_t base = s->facts.base_epoch_ns;
    if (__builtin_add_overflow(base, s->bulk_first_ns, &sum) || __builtin_add_overflow(base, s->bulk_end_ns, &sum)) {
        diag_warn(&s->diag, s->in->path, DIAG_NO_OFFSET, "its base time does not fit its times and was left out");
        base = 0;
    }
    s->shift_ns = base;
}

static marey_status take_result(reading *r)
{
    source *s = r->s;
    trace_builder *b = &r->builder;
    conversion *c = s->c;
    s->n_events = s->events.n_rows;
    s->facts = b->facts;
    b->facts.groups_json = NULL;
    s->format = b->facts.format ? b->facts.format : "";
    (void)pthread_mutex_lock(&c->lock);
    s->host = keep_string(c, b, b->facts.host);
    s->device_name = keep_string(c, b, b->facts.device_name);
    take_threads(s, b);
    take_names(s, b);
    groups_collect(s);
    take_words(s, b);
    for (size_t i = 0; i < s->n_counters; i++) {
        s->counters[i].name = keep_string(c, b, r->counters[i]);
    }
    marey_status status = metrics_end(s, b);
    (void)pthread_mutex_unlock(&c->lock);
    take_ranks(s, b);
    find_bulk(s);
    find_shift(s);
    return status;
}

static void seal_events(void *ctx)
{
    source *s = ctx;
    run_set_seal(&s->events);
}

marey_status source_load(source *s)
{
    enum { SORTER_MIN_BYTES = 64 << 20 }; /* from here on pieces may have to go to the scratch file */
    reading *r = mem_calloc(1, sizeof *r);
    r->s = s;
    (void)pthread_mutex_init(&r->lock, NULL);
    trace_builder *b = &r->builder;
    trace_builder_init(b);
    b->flush = on_flush;
    b->flush_ctx = r;
    b->after_flush = after_flush;
    b->mark = on_mark;
    b->mark_ctx = r;
    b->diag = &s->diag;
    b->file = s->file;
    b->path = s->in->path;
    b->taker = arg_taker_create(store_writer_shapes(s->c->writer));
    reader_progress progress = {.report = on_progress, .ctx = r, .cancel = s->c->options->cancel};
    size_t threads = s->c->jobs / s->c->n_sources;
    progress.threads = threads > 1 ? (unsigned)threads : 1; /* else every thread has a file already */
    progress.workers = s->c->n_sources == 1 ? s->c->workers : NULL;
    r->sorter = threads > 1 && s->in->bytes >= SORTER_MIN_BYTES ? pool_create(1) : NULL;
    marey_status status = s->in->read(s->in->ctx, s->in->path, b, &progress);
    marey_status taken = wait_for_piece(r);
    status = status == MAREY_OK ? taken : status;
    /* The rows are sorted beside what follows; the workers of a single file have nothing else to do yet. */
    pool *beside = r->sorter ? r->sorter : s->c->n_sources == 1 ? s->c->workers : NULL;
    if (beside) {
        pool_run(beside, seal_events, s);
    }
    if (status == MAREY_OK) {
        status = take_side(r);
    }
    if (status == MAREY_OK) {
        status = take_result(r);
    }
    if (beside) {
        pool_wait(beside);
    } else {
        seal_events(s);
    }
    pool_destroy(&r->sorter);
    arg_taker_destroy(&b->taker);
    trace_builder_deinit(b);
    free_pieces(r);
    free(r->counters);
    map64_deinit(&r->counter_keys);
    (void)pthread_mutex_destroy(&r->lock);
    free(r);
    return status;
}
