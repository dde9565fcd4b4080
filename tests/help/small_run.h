/*
 * Runs for tests, written by hand or at random: a model and a list of events that stay in memory for brute force, and
 * are written to a file by the store's writer. Lanes are added rank after rank; events in any order (one track's must
 * not overlap).
 */
#ifndef TESTS_HELP_SMALL_RUN_H
#define TESTS_HELP_SMALL_RUN_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "store/store.h"

typedef struct small_event {
    uint32_t track;
    int64_t start_ns, dur_ns;
    uint32_t name, instance;
    uint8_t klass, flags;
    const char *args; /* may be NULL */
} small_event;

typedef struct small_run {
    trace_model m;
    small_event *events;
    size_t n, cap;
    store_sample *samples; /* of all counters, one after the other */
    size_t n_samples, cap_samples;
    store_metric *metrics; /* name, tag: into metric_strings */
    size_t n_metrics, cap_metrics;
    const char *const *metric_strings;
    size_t n_metric_strings;
    char path[128];
} small_run;

static inline void small_init(small_run *r)
{
    memset(r, 0, sizeof *r);
    trace_model_init(&r->m);
    r->m.name = "small run";
}

static inline uint32_t small_rank(small_run *r, int32_t stage, const char *host)
{
    trace_model *m = &r->m;
    char label[32];
    (void)snprintf(label, sizeof label, "rank %zu", m->n_ranks);
    trace_rank k = {.rank = (int64_t)m->n_ranks, .stage = stage, .dp = -1, .tp = -1, .ep = -1};
    k.label = arena_strndup(&m->mem, label, strlen(label));
    k.host = arena_strndup(&m->mem, host, strlen(host));
    k.device = "";
    k.clock_method = "none";
    k.first_lane = (uint32_t)m->n_lanes;
    k.group = (uint32_t)(m->n_ranks / GROUP_RANKS);
    VEC_PUSH(m->ranks, m->n_ranks, m->cap_ranks, k);
    return (uint32_t)(m->n_ranks - 1);
}

/* A lane of the rank that was added last. @return its first track */
static inline uint32_t small_lane(small_run *r, trace_kind kind, const char *name, uint32_t depth)
{
    trace_model *m = &r->m;
    uint32_t rank = (uint32_t)(m->n_ranks - 1);
    trace_lane l = {
        .rank = rank, .thread = NO_ID, .kind = kind, .first_track = (uint32_t)m->n_tracks, .n_tracks = depth};
    l.name = arena_strndup(&m->mem, name, strlen(name));
    if (!kind_is_derived(kind)) {
        trace_thread t = {.rank = rank, .pid = "1", .tid = "1", .process_name = "", .name = l.name};
        VEC_PUSH(m->threads, m->n_threads, m->cap_threads, t);
        l.thread = (uint32_t)(m->n_threads - 1);
    }
    for (uint32_t i = 0; i < depth; i++) {
        trace_track t = {.lane = (uint32_t)m->n_lanes, .depth = i, .row = NO_ID};
        VEC_PUSH(m->tracks, m->n_tracks, m->cap_tracks, t);
    }
    VEC_PUSH(m->lanes, m->n_lanes, m->cap_lanes, l);
    m->ranks[rank].n_lanes++;
    return l.first_track;
}

static inline uint32_t small_name(small_run *r, const char *text, trace_class klass, trace_kind kind)
{
    trace_model *m = &r->m;
    trace_category c = {.name = arena_strndup(&m->mem, text, strlen(text)), .klass = klass, .kind = kind};
    VEC_PUSH(m->categories, m->n_categories, m->cap_categories, c);
    trace_name n = {.text = c.name, .category = (uint32_t)(m->n_categories - 1), .source = NO_ID};
    VEC_PUSH(m->names, m->n_names, m->cap_names, n);
    return (uint32_t)(m->n_names - 1);
}

static inline void small_step(small_run *r, uint32_t rank, int64_t index, int64_t start_ns, int64_t end_ns)
{
    trace_step s = {.rank = rank, .index = index, .name = "step", .start_ns = start_ns, .end_ns = end_ns};
    s.device_start_ns = start_ns;
    s.device_end_ns = end_ns;
    VEC_PUSH(r->m.steps, r->m.n_steps, r->m.cap_steps, s);
}

/* A counter of the rank that was added last. */
static inline void small_counter(small_run *r, const char *name, const store_sample *v, size_t n)
{
    trace_model *m = &r->m;
    trace_counter c = {.name = arena_strndup(&m->mem, name, strlen(name)), .rank = (uint32_t)(m->n_ranks - 1)};
    c.thread = NO_ID;
    c.first_sample = r->n_samples;
    c.n_samples = n;
    for (size_t i = 0; i < n; i++) {
        c.min = i == 0 || v[i].value < c.min ? v[i].value : c.min;
        c.max = i == 0 || v[i].value > c.max ? v[i].value : c.max;
        VEC_PUSH(r->samples, r->n_samples, r->cap_samples, v[i]);
    }
    VEC_PUSH(m->counters, m->n_counters, m->cap_counters, c);
    m->n_samples = r->n_samples;
}

/* A number of an operator on a rank (-1: none). */
static inline void small_metric(small_run *r, trace_metric_kind kind, int64_t rank, uint32_t name, uint32_t tag,
                                double value)
{
    store_metric k = {.value = value, .rank = rank, .a = -1, .b = -1, .step = -1, .time_ns = -1};
    k.kind = (uint8_t)kind;
    k.name = name;
    k.tag = tag;
    VEC_PUSH(r->metrics, r->n_metrics, r->cap_metrics, k);
    r->m.n_metrics = r->n_metrics;
}

static inline void small_put(small_run *r, small_event e)
{
    VEC_PUSH(r->events, r->n, r->cap, e);
}

static inline int small_by_start(const void *pa, const void *pb)
{
    const small_event *a = pa;
    const small_event *b = pb;
    if (a->start_ns != b->start_ns) {
        return a->start_ns < b->start_ns ? -1 : 1;
    }
    if (a->dur_ns != b->dur_ns) {
        return a->dur_ns > b->dur_ns ? -1 : 1;
    }
    return a->track < b->track ? -1 : a->track > b->track;
}

static inline group_kind small_kind(const small_run *r, uint32_t track)
{
    trace_kind k = r->m.lanes[r->m.tracks[track].lane].kind;
    return k == KIND_STEP ? GROUP_STEPS : k == KIND_PHASE ? GROUP_PHASES : GROUP_EVENTS;
}

/* Does the event count for its rank's row? The same rule as the converter's. */
static inline int16_t small_rank_row(const small_run *r, uint32_t track)
{
    const trace_lane *l = &r->m.lanes[r->m.tracks[track].lane];
    bool device = false;
    for (uint32_t i = 0; i < r->m.ranks[l->rank].n_lanes; i++) {
        device = device || kind_is_device(r->m.lanes[r->m.ranks[l->rank].first_lane + i].kind);
    }
    bool counts = device ? kind_is_device(l->kind) : l->kind == KIND_CPU && r->m.tracks[track].depth == 0;
    return counts ? (int16_t)(l->rank % GROUP_RANKS) : (int16_t)-1;
}

static inline marey_status small_write_group(small_run *r, store_writer *w, group_kind kind, uint32_t first, diag *d)
{
    trace_model *m = &r->m;
    uint32_t end = first + GROUP_RANKS < m->n_ranks ? first + GROUP_RANKS : (uint32_t)m->n_ranks;
    store_group_params p = {kind, first, end - first, m->duration_ns, 0, 0};
    for (size_t i = 0; i < r->n; i++) {
        uint32_t rank = m->lanes[m->tracks[r->events[i].track].lane].rank;
        if (small_kind(r, r->events[i].track) == kind && rank >= first && rank < end) {
            p.n_events++;
            p.busy_rank_ns += r->events[i].dur_ns;
        }
    }
    if (p.n_events == 0) {
        return MAREY_OK;
    }
    store_group *g = NULL;
    marey_status status = store_group_begin(w, &g, &p, d);
    uint32_t n_rows = 0;
    for (size_t i = 0; i < r->n && status == MAREY_OK; i++) {
        const small_event *e = &r->events[i];
        trace_track *t = &m->tracks[e->track];
        uint32_t rank = m->lanes[t->lane].rank;
        if (small_kind(r, e->track) != kind || rank < first || rank >= end) {
            continue;
        }
        t->row = t->row == NO_ID ? n_rows++ : t->row;
        store_event s = {.start_ns = e->start_ns, .dur_ns = e->dur_ns, .track = e->track, .name = e->name};
        s.instance = e->instance;
        s.klass = e->klass;
        s.flags = e->flags;
        s.args = e->args;
        s.args_len = e->args ? (uint32_t)strlen(e->args) : 0;
        s.rank_row = kind == GROUP_EVENTS ? small_rank_row(r, e->track) : (int16_t)-1;
        status = store_group_put(g, &s, t->row, d);
    }
    marey_status end_status = store_group_end(&g, d);
    for (size_t i = 0; i < m->n_tracks; i++) { /* tracks without events come last */
        uint32_t rank = m->lanes[m->tracks[i].lane].rank;
        if (m->tracks[i].row == NO_ID && small_kind(r, (uint32_t)i) == kind && rank >= first && rank < end) {
            m->tracks[i].row = n_rows++;
        }
    }
    return status != MAREY_OK ? status : end_status;
}

static inline void small_finish_model(small_run *r)
{
    trace_model *m = &r->m;
    int64_t end = 1;
    for (size_t i = 0; i < r->n; i++) {
        const small_event *e = &r->events[i];
        trace_lane *l = &m->lanes[m->tracks[e->track].lane];
        l->busy_ns += m->tracks[e->track].depth == 0 ? e->dur_ns : 0; /* deeper events lie inside */
        l->sum_ns += e->dur_ns;
        if (l->thread != NO_ID) {
            m->threads[l->thread].n_events++;
        }
        l->first_ns = l->n_events == 0 || e->start_ns < l->first_ns ? e->start_ns : l->first_ns;
        l->last_ns = e->start_ns + e->dur_ns > l->last_ns ? e->start_ns + e->dur_ns : l->last_ns;
        l->n_events++;
        m->n_events += small_kind(r, e->track) == GROUP_EVENTS;
        end = e->start_ns + e->dur_ns > end ? e->start_ns + e->dur_ns : end;
    }
    m->duration_ns = m->duration_ns > end ? m->duration_ns : end;
    m->view_end_ns = m->duration_ns;
}

/* Write to a new temporary file; r->path says which. */
static inline marey_status small_write(small_run *r, diag *d)
{
    const char *dir = getenv("TMPDIR");
    (void)snprintf(r->path, sizeof r->path, "%.80s/marey-test-XXXXXX", dir ? dir : "/tmp");
    int fd = mkstemp(r->path);
    if (fd < 0) {
        return diag_error(d, MAREY_IO, r->path, DIAG_NO_OFFSET, "No temporary file.");
    }
    (void)close(fd);
    (void)unlink(r->path);
    small_finish_model(r);
    if (r->n > 0) {
        qsort(r->events, r->n, sizeof *r->events, small_by_start);
    }
    store_writer *w = NULL;
    store_options o = {0};
    marey_status status = store_writer_create(&w, r->path, &o, d);
    for (group_kind kind = GROUP_EVENTS; kind <= GROUP_PHASES && status == MAREY_OK; kind++) {
        for (uint32_t first = 0; first < r->m.n_ranks && status == MAREY_OK; first += GROUP_RANKS) {
            status = small_write_group(r, w, kind, first, d);
        }
    }
    if (status == MAREY_OK && r->n_samples > 0) {
        status = store_writer_samples(w, r->samples, r->n_samples, d);
    }
    if (status == MAREY_OK && r->n_metrics > 0) {
        status = store_writer_metrics(w, r->metrics, r->n_metrics, r->metric_strings, r->n_metric_strings, d);
    }
    if (status == MAREY_OK) {
        status = store_writer_finish(w, &r->m, d);
    }
    store_writer_destroy(&w);
    return status;
}

static inline void small_free(small_run *r)
{
    if (r->path[0]) {
        (void)unlink(r->path);
    }
    free(r->events);
    free(r->samples);
    free(r->metrics);
    trace_model_deinit(&r->m);
}

#endif
