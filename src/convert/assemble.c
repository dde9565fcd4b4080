#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/text.h"
#include "convert/source.h"

/* A rank on its way to its number. */
typedef struct claim {
    int64_t number; /* -1: none yet */
    uint32_t source, rank;
    bool is_stated, is_lost;
} claim;

typedef struct assembly {
    conversion *c;
    claim *claims;
    size_t n_claims, cap_claims;
    map64 taken;
    int64_t next_free;
} assembly;

int64_t source_time(const source *s, int64_t t_ns)
{
    int64_t t;
    if (__builtin_add_overflow(t_ns, s->shift_ns, &t)) {
        return s->shift_ns > 0 ? INT64_MAX : INT64_MIN;
    }
    return s->is_moved ? align_time(&s->clock, t) : t;
}

int64_t model_time(const source *s, int64_t t_ns)
{
    return model_since(s->c, source_time(s, t_ns));
}

/* Busy time was summed in the input's own times; what lies beyond the longest run was clamped since. */
static int64_t at_most(int64_t ns, int64_t limit_ns)
{
    return ns < limit_ns ? ns : limit_ns;
}

/* ------------------------------------------------------------------ the run's extent */

/* The sources whose bulks lie within a year of each other and hold the most events: what a first picture shows. */
static void find_view(conversion *c, int64_t *first, int64_t *end)
{
    uint64_t best = 0;
    for (size_t i = 0; i < c->n_sources; i++) {
        const source *a = &c->sources[i];
        if (a->n_events == 0) {
            continue;
        }
        uint64_t n = 0;
        int64_t lo = INT64_MAX;
        int64_t hi = INT64_MIN;
        for (size_t k = 0; k < c->n_sources; k++) {
            const source *b = &c->sources[k];
            int64_t ta = source_time(a, a->bulk_first_ns);
            int64_t tb = source_time(b, b->bulk_first_ns);
            uint64_t apart = ta < tb ? (uint64_t)tb - (uint64_t)ta : (uint64_t)ta - (uint64_t)tb;
            if (b->n_events == 0 || apart >= (uint64_t)YEAR_NS) {
                continue;
            }
            n += b->n_events;
            int64_t from = source_time(b, b->view_first_ns);
            lo = from < lo ? from : lo;
            int64_t e = source_time(b, b->view_end_ns);
            hi = e > hi ? e : hi;
        }
        if (n > best) {
            best = n;
            *first = lo;
            *end = hi;
        }
        if (n * 2 > c->model.n_events) {
            return;
        }
    }
}

static void count_far_sources(conversion *c, int64_t first, int64_t end)
{
    for (size_t i = 0; i < c->n_sources; i++) {
        source *s = &c->sources[i];
        int64_t t = source_time(s, s->view_first_ns);
        if (s->n_events > 0 && (t < first || t > end)) {
            lost_event(s, LOST_FAR, 0, 0);
            lost_count(s, LOST_FAR, s->n_events);
        }
    }
}

/* Of a run without events, whose counters are all there is. @return false: there are none either */
static bool find_extent_of_samples(conversion *c)
{
    trace_model *m = &c->model;
    int64_t lo = INT64_MAX;
    int64_t hi = INT64_MIN;
    for (size_t i = 0; i < c->n_sources; i++) {
        const source *s = &c->sources[i];
        if (s->sampled.n > 0) {
            int64_t first = source_time(s, s->sampled.items[0].first_ns);
            int64_t last = source_time(s, s->sampled.items[s->sampled.n - 1].last_ns);
            lo = first < lo ? first : lo;
            hi = last > hi ? last : hi;
        }
    }
    if (lo > hi) {
        return false;
    }
    c->start_ns = lo;
    m->start_epoch_ns = lo;
    uint64_t span = (uint64_t)hi - (uint64_t)lo + 1; /* half-open, the last sample inside */
    m->duration_ns = span - 1 >= (uint64_t)LONGEST_RUN_NS ? LONGEST_RUN_NS : (int64_t)span;
    m->view_end_ns = m->duration_ns;
    return true;
}

/* From the first event to the last end, and the latest event without length, on the common clock. */
typedef struct extent {
    int64_t lo, hi, last_point;
} extent;

static extent extent_of_events(conversion *c)
{
    extent e = {INT64_MAX, INT64_MIN, INT64_MIN};
    for (size_t i = 0; i < c->n_sources; i++) {
        const source *s = &c->sources[i];
        for (size_t t = 0; t < s->n_threads; t++) {
            const totals *sum = &s->threads[t].sum;
            if (sum->n_events > 0) {
                c->model.n_events += sum->n_events;
                int64_t first = source_time(s, sum->first_ns);
                int64_t last = source_time(s, sum->last_ns);
                e.lo = first < e.lo ? first : e.lo;
                e.hi = last > e.hi ? last : e.hi;
            }
        }
        if (s->has_points && source_time(s, s->last_point_ns) > e.last_point) {
            e.last_point = source_time(s, s->last_point_ns);
        }
    }
    return e;
}

static uint64_t length_of(const extent *e)
{
    return (uint64_t)e->hi - (uint64_t)e->lo + (e->last_point >= e->hi ? 1 : 0); /* half-open, the last point inside */
}

/* @return is it more? */
static bool take_stretch(extent *e, int64_t first_ns, int64_t last_ns, uint64_t reach_ns)
{
    bool is_far = (first_ns > e->hi && (uint64_t)first_ns - (uint64_t)e->hi > reach_ns) ||
                  (last_ns < e->lo && (uint64_t)e->lo - (uint64_t)last_ns > reach_ns);
    if (is_far || (first_ns >= e->lo && last_ns <= e->last_point)) {
        return false;
    }
    extent was = *e;
    e->lo = first_ns < e->lo ? first_ns : e->lo;
    e->hi = last_ns > e->hi ? last_ns : e->hi;
    e->last_point = last_ns > e->last_point ? last_ns : e->last_point;
    return e->lo != was.lo || e->hi != was.hi || e->last_point != was.last_point;
}

/*
 * Counters are sampled shortly before the first event and after the last: the run begins and ends with them, unless
 * they lie further from it than all events last, and than anybody waits for the next sample.
 */
static void add_samples(const conversion *c, extent *e)
{
    const uint64_t longest_wait_ns = 10000000000;
    uint64_t reach = length_of(e) > longest_wait_ns ? length_of(e) : longest_wait_ns;
    bool more = true;
    while (more) { /* one that is near brings those near to it: at most as often as there are stretches */
        more = false;
        for (size_t i = 0; i < c->n_sources; i++) {
            const source *s = &c->sources[i];
            for (uint32_t k = 0; k < s->sampled.n; k++) {
                const time_stretch *t = &s->sampled.items[k];
                more |= take_stretch(e, source_time(s, t->first_ns), source_time(s, t->last_ns), reach);
            }
        }
    }
}

static marey_status no_events(const conversion *c)
{
    return c->n_sources == 1
               ? diag_error(c->diag, MAREY_FORMAT, c->sources[0].in->path, DIAG_NO_OFFSET, "holds no events")
               : diag_error(c->diag, MAREY_FORMAT, NULL, DIAG_NO_OFFSET, "none of the %zu inputs holds an event",
                            c->n_sources);
}

/* A first picture shows where most events lie; what is sampled around them, too, while that is not longer. */
static void set_view(trace_model *m, const extent *events, const extent *run, int64_t first, int64_t end)
{
    bool most = length_of(run) / 2 <= length_of(events);
    bool from_start = first <= events->lo && most;
    bool to_end = end >= events->hi && most;
    uint64_t view_end = (uint64_t)end - (uint64_t)run->lo + (events->last_point >= end && end == events->hi ? 1 : 0);
    m->view_start_ns = first > run->lo && !from_start ? (int64_t)((uint64_t)first - (uint64_t)run->lo) : 0;
    m->view_end_ns = to_end || view_end > (uint64_t)m->duration_ns ? m->duration_ns : (int64_t)view_end;
}

static marey_status find_extent(conversion *c)
{
    trace_model *m = &c->model;
    extent events = extent_of_events(c);
    if (m->n_events == 0) { /* or a model without a run */
        return find_extent_of_samples(c) || c->graph.is_read ? MAREY_OK : no_events(c);
    }
    int64_t first = events.lo;
    int64_t end = events.hi;
    find_view(c, &first, &end);
    extent run = events;
    if ((uint64_t)run.hi - (uint64_t)run.lo >= (uint64_t)LONGEST_RUN_NS) { /* over a century: what lies outside is
                                                                              clamped */
        run.lo = first > INT64_MIN + LONGEST_RUN_NS / 4 ? first - LONGEST_RUN_NS / 4 : INT64_MIN;
    } else {
        add_samples(c, &run);
    }
    c->start_ns = run.lo;
    m->start_epoch_ns = run.lo;
    m->duration_ns = length_of(&run) > (uint64_t)LONGEST_RUN_NS ? LONGEST_RUN_NS : (int64_t)length_of(&run);
    set_view(m, &events, &run, first, end);
    count_far_sources(c, first, end);
    return MAREY_OK;
}

/* ------------------------------------------------------------------ ranks */

static void gather_claims(assembly *a)
{
    for (uint32_t i = 0; i < a->c->n_sources; i++) {
        source *s = &a->c->sources[i];
        for (uint32_t r = 0; r < s->n_ranks; r++) {
            if (s->ranks[r].n_events == 0 && s->ranks[r].n_samples == 0) {
                s->ranks[r].global = NO_ID;
                continue;
            }
            VEC_PUSH(a->claims, a->n_claims, a->cap_claims, ((claim){-1, i, r, false, false}));
        }
    }
}

static bool is_alone(const assembly *a, size_t i)
{
    return (i == 0 || a->claims[i - 1].source != a->claims[i].source) &&
           (i + 1 == a->n_claims || a->claims[i + 1].source != a->claims[i].source);
}

static void claim_number(assembly *a, claim *k, int64_t number)
{
    uint64_t *taken = map64_put(&a->taken, (uint64_t)number);
    k->is_lost = *taken != 0;
    if (!*taken) {
        *taken = 1;
        k->number = number;
    }
}

/* Numbers as stated, then by file name, then the next free one. */
static void number_ranks(assembly *a)
{
    for (size_t i = 0; i < a->n_claims; i++) {
        const source *s = &a->c->sources[a->claims[i].source];
        const trace_place_in *place = &s->ranks[a->claims[i].rank].place;
        if (s->facts.rank >= 0 && is_alone(a, i)) {
            a->claims[i].is_stated = true;
            claim_number(a, &a->claims[i], s->facts.rank);
        } else if (place->rank >= 0) {
            a->claims[i].is_stated = !(place->inferred & INFERRED_RANK);
            claim_number(a, &a->claims[i], place->rank);
        }
    }
    for (size_t i = 0; i < a->n_claims; i++) {
        const source *s = &a->c->sources[a->claims[i].source];
        claim *k = &a->claims[i];
        if (k->number < 0 && s->in->rank_hint >= 0 && is_alone(a, i)) {
            bool lost = k->is_lost; /* the number that it states was taken: its file name may tell another */
            claim_number(a, k, s->in->rank_hint);
            k->is_lost = k->is_lost || lost;
        }
    }
    for (size_t i = 0; i < a->n_claims; i++) {
        claim *k = &a->claims[i];
        source *s = &a->c->sources[k->source];
        if (k->is_lost) {
            diag_lose(&s->diag, MAREY_LOSS_DUPLICATE_RANK, s->file, DIAG_NO_OFFSET, 1, NULL);
            k->is_stated = false;
        }
        while (k->number < 0) {
            claim_number(a, k, a->next_free++);
        }
    }
}

static int compare_claims(const void *pa, const void *pb)
{
    const claim *a = pa;
    const claim *b = pb;
    return a->number < b->number ? -1 : a->number > b->number;
}

static const char *two_words(conversion *c, const char *a, const char *b)
{
    strbuf text = {0};
    strbuf_printf(&text, "%s %s", a, b);
    const char *kept = arena_strndup(&c->model.mem, strbuf_str(&text), text.n);
    strbuf_deinit(&text);
    return kept;
}

static const char *rank_label(conversion *c, const source *s, const claim *k)
{
    uint32_t pid = s->ranks[k->rank].pid_id;
    if (pid != NO_ID) {
        for (size_t i = 0; i < s->n_threads; i++) {
            const source_thread *t = &s->threads[i];
            if (t->pid_id == pid && (t->process_name[0] || s->n_ranks > 1 || s->in->rank_hint < 0)) {
                return t->process_name[0] ? t->process_name : two_words(c, "process", t->pid);
            }
        }
    }
    char number[32];
    (void)snprintf(number, sizeof number, "%lld", (long long)k->number);
    return two_words(c, "rank", number);
}

static int32_t place_of(int64_t v)
{
    return v >= 0 && v < INT32_MAX ? (int32_t)v : -1;
}

static void add_rank(assembly *a, uint32_t index)
{
    const claim *k = &a->claims[index];
    conversion *c = a->c;
    source *s = &c->sources[k->source];
    const trace_facts *f = &s->facts;
    const trace_place_in *p = &s->ranks[k->rank].place;
    trace_rank r = {.rank = k->number,
                    .host = s->host,
                    .device = s->device_name,
                    .label = rank_label(c, s, k),
                    .stage = place_of(f->stage >= 0 ? f->stage : p->stage),
                    .dp = place_of(f->dp >= 0 ? f->dp : p->dp),
                    .tp = place_of(f->tp >= 0 ? f->tp : p->tp),
                    .ep = place_of(f->ep >= 0 ? f->ep : p->ep),
                    .inferred = (k->is_stated ? 0 : INFERRED_RANK) | (p->inferred & ~(uint32_t)INFERRED_RANK),
                    .group = index / GROUP_RANKS,
                    .clock_method = "none"};
    s->ranks[k->rank].global = index;
    VEC_PUSH(c->model.ranks, c->model.n_ranks, c->model.cap_ranks, r);
}

/* ------------------------------------------------------------------ threads, lanes, tracks */

static uint32_t rank_of_thread(const source *s, uint32_t thread)
{
    return s->n_ranks > 1 ? s->threads[thread].pid_id : 0;
}

static void add_threads(conversion *c, source *s, uint32_t rank)
{
    for (uint32_t i = 0; i < s->n_threads; i++) {
        source_thread *t = &s->threads[i];
        if (rank_of_thread(s, i) != rank) {
            continue;
        }
        t->global = NO_ID;
        if (t->sum.n_events == 0) {
            continue;
        }
        trace_thread out = {.rank = s->ranks[rank].global,
                            .pid = t->pid,
                            .tid = t->tid,
                            .process_name = t->process_name,
                            .name = t->name,
                            .sort_index = t->sort_index,
                            .n_events = t->sum.n_events,
                            .busy_ns = t->sum.busy_ns,
                            .sum_ns = t->sum.sum_ns,
                            .first_ns = model_time(s, t->sum.first_ns),
                            .last_ns = model_time(s, t->sum.last_ns)};
        out.busy_ns = at_most(out.busy_ns, out.last_ns - out.first_ns);
        t->global = (uint32_t)c->model.n_threads;
        VEC_PUSH(c->model.threads, c->model.n_threads, c->model.cap_threads, out);
    }
}

/* Order of lanes inside a rank: derived, the device's work by kind, what else is on streams, the host's threads (the
 * one with the steps first), marks, asynchronous operations. */
typedef struct lane_order {
    int bucket;
    int64_t sort_index;
    uint32_t thread, kind, lane;
} lane_order;

static int bucket_of(const source_thread *t, trace_kind kind)
{
    if (kind_is_device(kind)) {
        return 1 + (int)kind;
    }
    if (t->is_device) {
        return 10;
    }
    if (kind == KIND_ASYNC) {
        return 14;
    }
    return t->has_steps ? 11 : t->lanes[KIND_CPU] != NO_ID ? 12 : 13;
}

static lane_order order_of(const source *s, uint32_t lane)
{
    const source_lane *l = &s->lanes[lane];
    lane_order o = {.thread = l->thread, .kind = l->kind, .lane = lane};
    if (kind_is_derived(l->kind)) {
        o.thread = 0;
        return o;
    }
    const source_thread *t = &s->threads[l->thread];
    o.bucket = bucket_of(t, l->kind);
    o.sort_index = t->sort_index == INT64_MIN ? 0 : t->sort_index;
    return o;
}

static int compare_lanes(const void *pa, const void *pb)
{
    const lane_order *a = pa;
    const lane_order *b = pb;
    if (a->bucket != b->bucket) {
        return a->bucket < b->bucket ? -1 : 1;
    }
    if (a->sort_index != b->sort_index) {
        return a->sort_index < b->sort_index ? -1 : 1;
    }
    if (a->thread != b->thread) {
        return a->thread < b->thread ? -1 : 1;
    }
    return a->kind < b->kind ? -1 : a->kind > b->kind;
}

static const char *lane_name(conversion *c, const source *s, const source_lane *l)
{
    if (kind_is_derived(l->kind)) {
        return l->kind == KIND_STEP ? "steps" : "phases";
    }
    const source_thread *t = &s->threads[l->thread];
    size_t n = strlen(t->name);
    while (n > 0 && t->name[n - 1] == ' ') {
        n--;
    }
    if (n > 0) {
        return n == strlen(t->name) ? t->name : arena_strndup(&c->model.mem, t->name, n);
    }
    const char *word = t->is_device ? "stream" : "thread";
    bool plain = strncmp(t->tid, word, strlen(word)) == 0 || l->kind == KIND_ASYNC;
    return plain ? t->tid : two_words(c, word, t->tid);
}

/* Which tracks count for the rank's own rows: those of its device; where it has none, its host's outermost ones. */
static bool counts_for_rank(const source_rank *r, trace_kind kind, uint32_t depth)
{
    if (r->has_device) {
        return kind_is_device(kind);
    }
    return depth == 0 && (r->has_cpu ? kind == KIND_CPU : !kind_is_derived(kind));
}

static void add_lane(conversion *c, source *s, uint32_t local)
{
    source_lane *l = &s->lanes[local];
    const source_rank *r = &s->ranks[l->rank];
    trace_model *m = &c->model;
    trace_lane out = {.rank = r->global,
                      .thread = l->thread == NO_ID ? NO_ID : s->threads[l->thread].global,
                      .kind = l->kind,
                      .name = lane_name(c, s, l),
                      .first_track = (uint32_t)m->n_tracks,
                      .n_tracks = (uint32_t)l->n_tracks,
                      .n_events = l->sum.n_events,
                      .busy_ns = l->sum.busy_ns,
                      .sum_ns = l->sum.sum_ns,
                      .first_ns = model_time(s, l->sum.first_ns),
                      .last_ns = model_time(s, l->sum.last_ns)};
    out.busy_ns = at_most(out.busy_ns, out.last_ns - out.first_ns);
    l->global = (uint32_t)m->n_lanes;
    VEC_PUSH(m->lanes, m->n_lanes, m->cap_lanes, out);
    for (uint32_t d = 0; d < l->n_tracks; d++) {
        source_track *t = &s->tracks[l->tracks[d]];
        bool counts = counts_for_rank(r, l->kind, d);
        t->global = (uint32_t)m->n_tracks;
        t->rank_row = counts ? (int16_t)(r->global % GROUP_RANKS) : -1;
        VEC_PUSH(m->tracks, m->n_tracks, m->cap_tracks, ((trace_track){l->global, d, NO_ID}));
    }
}

static void add_lanes(conversion *c, source *s, uint32_t rank)
{
    trace_rank *out = &c->model.ranks[s->ranks[rank].global];
    lane_order *order = mem_alloc((s->n_lanes + 1) * sizeof *order);
    size_t n = 0;
    for (uint32_t i = 0; i < s->n_lanes; i++) {
        if (s->lanes[i].rank == rank && s->lanes[i].n_tracks > 0) {
            order[n++] = order_of(s, i);
        }
    }
    qsort(order, n, sizeof *order, compare_lanes);
    out->first_lane = (uint32_t)c->model.n_lanes;
    out->n_lanes = (uint32_t)n;
    for (size_t i = 0; i < n; i++) {
        add_lane(c, s, order[i].lane);
    }
    free(order);
}

/* ------------------------------------------------------------------ the other tables */

static void add_steps(conversion *c, const source *s, uint32_t rank)
{
    for (size_t i = 0; i < s->n_steps; i++) {
        const source_step *k = &s->steps[i];
        if (k->rank != rank) {
            continue;
        }
        trace_step out = {.rank = s->ranks[rank].global,
                          .index = k->index,
                          .name = c->model.names[s->names[k->name].global].text,
                          .start_ns = model_time(s, k->start_ns),
                          .end_ns = model_time(s, k->end_ns)};
        out.device_start_ns = k->has_device ? model_time(s, k->device_start_ns) : out.start_ns;
        out.device_end_ns = k->has_device ? model_time(s, k->device_end_ns) : out.start_ns;
        VEC_PUSH(c->model.steps, c->model.n_steps, c->model.cap_steps, out);
    }
}

static void add_input(conversion *c, source *s)
{
    if (s->passed_over) {
        return;
    }
    s->input = (uint32_t)c->model.n_inputs;
    trace_input in = {.path = s->in->path,
                      .format = s->format,
                      .bytes = s->in->bytes ? s->in->bytes : file_size(s->in->path),
                      .n_events = s->n_events,
                      .rank = NO_ID};
    size_t n = 0;
    for (size_t r = 0; r < s->n_ranks; r++) {
        if (s->ranks[r].global != NO_ID) {
            in.rank = n++ == 0 ? s->ranks[r].global : NO_ID;
        }
    }
    VEC_PUSH(c->model.inputs, c->model.n_inputs, c->model.cap_inputs, in);
}

marey_status assemble_model(conversion *c)
{
    assembly a = {.c = c};
    marey_status status = find_extent(c);
    if (status != MAREY_OK) {
        return status;
    }
    gather_claims(&a);
    number_ranks(&a);
    if (a.n_claims > 0) {
        qsort(a.claims, a.n_claims, sizeof *a.claims, compare_claims);
    }
    for (uint32_t i = 0; i < a.n_claims; i++) {
        add_rank(&a, i);
    }
    for (uint32_t i = 0; i < a.n_claims; i++) {
        source *s = &c->sources[a.claims[i].source];
        add_threads(c, s, a.claims[i].rank);
        add_lanes(c, s, a.claims[i].rank);
        add_steps(c, s, a.claims[i].rank);
    }
    for (size_t i = 0; i < c->n_sources; i++) {
        add_input(c, &c->sources[i]);
    }
    graph_side_add_input(c);
    free(a.claims);
    map64_deinit(&a.taken);
    return MAREY_OK;
}
