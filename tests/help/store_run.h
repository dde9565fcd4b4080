/*
 * A made-up run for tests of the store: a valid model, random events on non-overlapping tracks, and the file written
 * from them. The events stay in memory, so that every answer can be compared with brute force.
 */
#ifndef MAREY_TESTS_STORE_RUN_H
#define MAREY_TESTS_STORE_RUN_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "store/query.h"
#include "store/store.h"

typedef struct run_params {
    uint64_t seed;
    uint32_t n_ranks, n_device_tracks, n_cpu_tracks; /* tracks per rank */
    uint32_t n_events;                               /* per track */
    int64_t unit_ns;                                 /* usual length of an event */
    bool has_long;                                   /* now and then one that spans many blocks */
    bool has_args, has_steps;
    pool *workers;
} run_params;

typedef struct run_event {
    store_event e;
    uint32_t track_row;
    uint32_t group;
    uint64_t row; /* filled while writing */
    char *args;
} run_event;

typedef struct run {
    run_params p;
    trace_model model;
    run_event *events; /* sorted by start */
    size_t n, cap;
    uint32_t n_groups;
} run;

static inline int run_compare(const void *a, const void *b)
{
    const run_event *x = a;
    const run_event *y = b;
    if (x->group != y->group) {
        return x->group < y->group ? -1 : 1;
    }
    if (x->e.start_ns != y->e.start_ns) {
        return x->e.start_ns < y->e.start_ns ? -1 : 1;
    }
    return x->e.tag < y->e.tag ? -1 : 1;
}

static inline uint32_t run_add_lane(run *r, uint32_t rank, trace_kind kind, uint32_t n_tracks, const char *name)
{
    trace_model *m = &r->model;
    uint32_t lane = (uint32_t)m->n_lanes;
    uint32_t thread = NO_ID;
    if (!kind_is_derived(kind)) {
        char tid[16];
        int n = snprintf(tid, sizeof tid, "%u", lane);
        trace_thread t = {.rank = rank,
                          .pid = "1",
                          .tid = arena_strndup(&m->mem, tid, (size_t)n),
                          .process_name = "python",
                          .name = name,
                          .sort_index = lane};
        thread = (uint32_t)m->n_threads;
        VEC_PUSH(m->threads, m->n_threads, m->cap_threads, t);
    }
    trace_lane l = {.rank = rank,
                    .thread = thread,
                    .kind = kind,
                    .name = name,
                    .first_track = (uint32_t)m->n_tracks,
                    .n_tracks = n_tracks};
    VEC_PUSH(m->lanes, m->n_lanes, m->cap_lanes, l);
    for (uint32_t d = 0; d < n_tracks; d++) {
        trace_track t = {lane, d, 0};
        VEC_PUSH(m->tracks, m->n_tracks, m->cap_tracks, t);
    }
    return lane;
}

static inline char *run_args(prng *g, uint64_t k)
{
    strbuf b = {0};
    switch (prng_below(g, 5)) {
    case 0:
        strbuf_printf(&b, "{\"stream\": 7, \"correlation\": %llu, \"bytes\": %llu}", (unsigned long long)k,
                      (unsigned long long)prng_below(g, 1000000));
        break;
    case 1:
        strbuf_printf(&b, "{\"dims\": [[%llu, 0%llu], []], \"x\": %.3f, \"n\": -%llu}", (unsigned long long)(k % 7),
                      (unsigned long long)(k % 3), prng_unit(g), (unsigned long long)(k % 11));
        break;
    case 2:
        strbuf_printf(&b, "{\"ptr\": \"%llx\", \"big\": %llu%018llu}", (unsigned long long)prng_next(g),
                      (unsigned long long)prng_next(g), (unsigned long long)prng_below(g, 1000000));
        break;
    case 3:
        strbuf_printf(&b, "{\"odd\": \"\x01\x02 %llu\"}", (unsigned long long)k);
        break;
    default:
        return NULL;
    }
    return b.s;
}

static inline void run_fill_track(run *r, prng *g, uint32_t lane, uint32_t track, uint32_t group, uint32_t row,
                                  int rank_row)
{
    trace_model *m = &r->model;
    trace_lane *l = &m->lanes[lane];
    int64_t t = (int64_t)prng_below(g, 50) * r->p.unit_ns;
    for (uint32_t i = 0; i < r->p.n_events; i++) {
        run_event ev = {.track_row = row, .group = group};
        uint64_t kind = prng_below(g, 10);
        int64_t dur = kind == 0 ? 0 : (int64_t)prng_below(g, (uint64_t)r->p.unit_ns * 2) + 1;
        dur = r->p.has_long && prng_below(g, 200) == 0 ? dur * 1000 : dur;
        if (r->p.has_long && prng_below(g, 2000) == 0) {
            dur += INT64_C(5000000000);
        }
        ev.e = (store_event){.start_ns = t,
                             .dur_ns = dur,
                             .track = track,
                             .name = (uint32_t)prng_below(g, m->n_names),
                             .instance = i / 7,
                             .klass = (uint8_t)prng_below(g, CLASS_COUNT),
                             .flags = (uint8_t)(prng_below(g, 100) == 0 ? prng_below(g, 16) : 0),
                             .rank_row = (int16_t)rank_row,
                             .tag = r->n + 1};
        ev.args = r->p.has_args ? run_args(g, r->n) : NULL;
        VEC_PUSH(r->events, r->n, r->cap, ev);
        l->n_events++;
        l->busy_ns += dur;
        l->sum_ns += dur;
        l->first_ns = l->n_events == 1 || t < l->first_ns ? t : l->first_ns;
        l->last_ns = t + dur > l->last_ns ? t + dur : l->last_ns;
        m->duration_ns = t + dur > m->duration_ns ? t + dur : m->duration_ns;
        t += dur + (prng_below(g, 3) == 0 ? 0 : (int64_t)prng_below(g, (uint64_t)r->p.unit_ns));
    }
}

/* Sums of overlapping tracks are no unions; the model's check only wants them in bounds. */
static inline void run_close_lane(run *r, uint32_t lane)
{
    trace_lane *l = &r->model.lanes[lane];
    int64_t most = l->last_ns - l->first_ns;
    l->busy_ns = l->busy_ns > most ? most : l->busy_ns;
    if (l->thread != NO_ID) {
        trace_thread *t = &r->model.threads[l->thread];
        t->n_events = l->n_events;
        t->busy_ns = l->busy_ns;
        t->sum_ns = l->sum_ns;
        t->first_ns = l->first_ns;
        t->last_ns = l->last_ns;
        r->model.n_events += l->n_events;
    }
}

static inline void run_names(run *r)
{
    trace_model *m = &r->model;
    static const char *const names[] = {"gemm", "all_reduce", "memcpy HtoD", "x", "\xe7\x9f\xa9\xe9\x98\xb5"};
    VEC_PUSH(m->sources, m->n_sources, m->cap_sources, "kernel");
    for (uint32_t i = 0; i < 3; i++) {
        trace_category c = {names[i], (trace_class)(i * 3), (trace_kind)i};
        VEC_PUSH(m->categories, m->n_categories, m->cap_categories, c);
    }
    for (uint32_t i = 0; i < 5; i++) {
        trace_name n = {names[i], i % 3, i == 4 ? NO_ID : 0};
        VEC_PUSH(m->names, m->n_names, m->cap_names, n);
    }
}

static inline void run_make(run *r, const run_params *p)
{
    *r = (run){.p = *p};
    trace_model *m = &r->model;
    trace_model_init(m);
    m->name = "made up";
    m->start_epoch_ns = INT64_C(1700000000000000000);
    prng g;
    prng_seed(&g, p->seed);
    run_names(r);
    for (uint32_t i = 0; i < p->n_ranks; i++) {
        uint32_t row = i % GROUP_RANKS * (p->n_device_tracks + p->n_cpu_tracks);
        uint32_t group = i / GROUP_RANKS;
        trace_rank rank = {.rank = i,
                           .host = "host",
                           .device = "",
                           .label = "rank",
                           .stage = -1,
                           .dp = (int32_t)i,
                           .tp = -1,
                           .ep = -1,
                           .first_lane = (uint32_t)m->n_lanes,
                           .group = group,
                           .clock_method = "none"};
        for (unsigned k = 0; k < 2; k++) {
            uint32_t n = k == 0 ? p->n_device_tracks : p->n_cpu_tracks;
            uint32_t lane = n > 0 ? run_add_lane(r, i, k == 0 ? KIND_COMPUTE : KIND_CPU, n, "lane") : 0;
            rank.n_lanes += n > 0;
            for (uint32_t d = 0; d < n; d++, row++) {
                uint32_t track = m->lanes[lane].first_track + d;
                m->tracks[track].row = row;
                run_fill_track(r, &g, lane, track, group, row, k == 0 ? (int)(i % GROUP_RANKS) : -1);
            }
            if (n > 0) {
                run_close_lane(r, lane);
            }
        }
        VEC_PUSH(m->ranks, m->n_ranks, m->cap_ranks, rank);
    }
    m->view_end_ns = m->duration_ns;
    r->n_groups = (p->n_ranks + GROUP_RANKS - 1) / GROUP_RANKS;
    if (r->n > 0) {
        qsort(r->events, r->n, sizeof *r->events, run_compare);
    }
    for (size_t i = 0; i < r->n; i++) {
        r->events[i].e.tag = i + 1;
    }
}

static inline void run_free(run *r)
{
    for (size_t i = 0; i < r->n; i++) {
        free(r->events[i].args);
    }
    free(r->events);
    trace_model_deinit(&r->model);
}

static inline void run_note_row(void *ctx, uint64_t tag, uint64_t row)
{
    run *r = ctx;
    r->events[tag - 1].row = row;
}

static inline marey_status run_write_groups(run *r, store_writer *w, diag *d)
{
    marey_status status = MAREY_OK;
    size_t i = 0;
    for (uint32_t group = 0; group < r->n_groups && status == MAREY_OK; group++) {
        uint32_t first = group * GROUP_RANKS;
        uint32_t n_ranks = r->p.n_ranks - first < GROUP_RANKS ? r->p.n_ranks - first : GROUP_RANKS;
        store_group_params params = {GROUP_EVENTS,
                                     first,
                                     n_ranks,
                                     r->model.duration_ns,
                                     r->n / r->n_groups,
                                     r->p.unit_ns * (int64_t)(r->n / r->n_groups)};
        store_group *g = NULL;
        status = store_group_begin(w, &g, &params, d);
        for (; i < r->n && r->events[i].group == group && status == MAREY_OK; i++) {
            store_event e = r->events[i].e;
            e.args = r->events[i].args;
            e.args_len = e.args ? (uint32_t)strlen(e.args) : 0;
            status = store_group_put(g, &e, r->events[i].track_row, d);
        }
        marey_status ended = g ? store_group_end(&g, d) : MAREY_OK;
        status = status == MAREY_OK ? ended : status;
    }
    return status;
}

static inline marey_status run_write(run *r, const char *path, diag *d)
{
    store_writer *w = NULL;
    store_options o = {.workers = r->p.workers, .on_row = run_note_row, .on_row_ctx = r};
    marey_status status = store_writer_create(&w, path, &o, d);
    if (status == MAREY_OK) {
        status = run_write_groups(r, w, d);
    }
    if (status == MAREY_OK) {
        status = store_writer_finish(w, &r->model, d);
    }
    store_writer_destroy(&w);
    return status;
}

/* A path of its own for each test program; the caller removes the file. */
static inline const char *run_path(const char *name)
{
    static char path[256];
    (void)snprintf(path, sizeof path, "/tmp/marey-test-%ld-%s.h5", (long)getpid(), name);
    return path;
}

#endif
