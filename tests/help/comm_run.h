/* Runs of communication only, written by hand: collectives and transfers with communicator, order number and bytes. */
#ifndef TESTS_HELP_COMM_RUN_H
#define TESTS_HELP_COMM_RUN_H

#include "help/stage.h"

enum { WHAT_ALLREDUCE, WHAT_SEND, WHAT_RECV, N_WHATS };

typedef struct comm_run {
    small_run r;
    uint32_t names[N_WHATS];
    uint32_t *tracks;       /* of each rank's communication lane */
    store_collective *args; /* by small_event.instance */
    size_t n_args, cap_args, cap_tracks, n_tracks;
} comm_run;

static inline void comm_run_init(comm_run *c)
{
    memset(c, 0, sizeof *c);
    small_init(&c->r);
    c->r.m.name = "communication";
    c->names[WHAT_ALLREDUCE] = small_name(&c->r, "ncclAllReduce", CLASS_COLLECTIVE, KIND_COMMUNICATION);
    c->names[WHAT_SEND] = small_name(&c->r, "ncclSend", CLASS_SEND, KIND_COMMUNICATION);
    c->names[WHAT_RECV] = small_name(&c->r, "ncclRecv", CLASS_RECEIVE, KIND_COMMUNICATION);
}

static inline void comm_run_rank(comm_run *c, int32_t in_stage, const char *host)
{
    (void)small_rank(&c->r, in_stage, host);
    uint32_t track = small_lane(&c->r, KIND_COMMUNICATION, "stream 20", 1);
    VEC_PUSH(c->tracks, c->n_tracks, c->cap_tracks, track);
}

/* @return the communicator of `n` ranks: first, first + step, ... */
static inline uint32_t comm_run_group(comm_run *c, const char *name, int64_t first, int64_t step, uint32_t n)
{
    trace_model *m = &c->r.m;
    trace_group g = {.name = arena_strndup(&m->mem, name, strlen(name)), .n_ranks = n};
    g.description = g.name;
    g.ranks = arena_alloc(&m->mem, n * sizeof *g.ranks);
    for (uint32_t i = 0; i < n; i++) {
        g.ranks[i] = first + step * i;
    }
    VEC_PUSH(m->groups, m->n_groups, m->cap_groups, g);
    return (uint32_t)(m->n_groups - 1);
}

static inline void comm_run_put(comm_run *c, uint32_t rank, uint32_t what, uint32_t group, int64_t seq, double start_us,
                                double us, int64_t bytes)
{
    static const uint8_t classes[N_WHATS] = {CLASS_COLLECTIVE, CLASS_SEND, CLASS_RECEIVE};
    store_collective k = {.group = group, .what = what, .in_elements = -1, .out_elements = -1, .bytes = bytes};
    k.group_size = -1;
    k.seq = seq;
    k.dtype = NO_ID;
    VEC_PUSH(c->args, c->n_args, c->cap_args, k);
    small_put(&c->r, (small_event){c->tracks[rank], (int64_t)(start_us * 1000), (int64_t)(us * 1000), c->names[what],
                                   (uint32_t)(c->n_args - 1), classes[what], 0, NULL});
}

static inline void comm_run_on_row(void *ctx, uint64_t tag, uint64_t row)
{
    comm_run *c = ctx;
    c->args[tag - 1].row = row;
}

static inline marey_status comm_run_write_group(comm_run *c, store_writer *w, uint32_t first, diag *d)
{
    trace_model *m = &c->r.m;
    uint32_t end = first + GROUP_RANKS < m->n_ranks ? first + GROUP_RANKS : (uint32_t)m->n_ranks;
    store_group_params p = {GROUP_EVENTS, first, end - first, m->duration_ns, c->r.n, 0};
    store_group *g = NULL;
    marey_status status = store_group_begin(w, &g, &p, d);
    for (uint32_t k = first; k < end; k++) { /* rows are in order of first use */
        m->tracks[c->tracks[k]].row = NO_ID;
    }
    uint32_t n_rows = 0;
    for (size_t i = 0; i < c->r.n && status == MAREY_OK; i++) {
        const small_event *e = &c->r.events[i];
        trace_track *t = &m->tracks[e->track];
        uint32_t rank = m->lanes[t->lane].rank;
        if (rank < first || rank >= end) {
            continue;
        }
        t->row = t->row == NO_ID ? n_rows++ : t->row;
        store_event s = {.start_ns = e->start_ns, .dur_ns = e->dur_ns, .track = e->track, .name = e->name};
        s.klass = e->klass;
        s.rank_row = (int16_t)(rank % GROUP_RANKS);
        s.tag = (uint64_t)e->instance + 1;
        status = store_group_put(g, &s, t->row, d);
    }
    for (uint32_t k = first; k < end; k++) {
        trace_track *t = &m->tracks[c->tracks[k]];
        t->row = t->row == NO_ID ? n_rows++ : t->row;
    }
    marey_status ended = store_group_end(&g, d);
    return status != MAREY_OK ? status : ended;
}

static inline marey_status comm_run_write(comm_run *c, diag *d)
{
    static const char *const words[N_WHATS] = {"allreduce", "send", "recv"};
    (void)snprintf(c->r.path, sizeof c->r.path, "/tmp/marey-test-XXXXXX");
    int fd = mkstemp(c->r.path);
    if (fd < 0) {
        return diag_error(d, MAREY_IO, c->r.path, DIAG_NO_OFFSET, "No temporary file.");
    }
    (void)close(fd);
    (void)unlink(c->r.path);
    small_finish_model(&c->r);
    if (c->r.n > 0) {
        qsort(c->r.events, c->r.n, sizeof *c->r.events, small_by_start);
    }
    store_writer *w = NULL;
    store_options o = {.on_row = comm_run_on_row, .on_row_ctx = c};
    marey_status status = store_writer_create(&w, c->r.path, &o, d);
    for (uint32_t first = 0; first < c->r.m.n_ranks && status == MAREY_OK; first += GROUP_RANKS) {
        status = comm_run_write_group(c, w, first, d);
    }
    c->r.m.n_collectives = c->n_args;
    if (status == MAREY_OK) {
        status = store_writer_collectives(w, c->args, c->n_args, words, N_WHATS, d);
    }
    if (status == MAREY_OK) {
        status = store_writer_finish(w, &c->r.m, d);
    }
    store_writer_destroy(&w);
    return status;
}

static inline marey_status comm_stage_open(stage *g, comm_run *c, int width, int height)
{
    memset(g, 0, sizeof *g);
    diag_init(&g->diag);
    g->diag.echo = true;
    marey_status status = comm_run_write(c, &g->diag);
    if (status == MAREY_OK) {
        status = store_open(&g->file, c->r.path, &g->diag);
    }
    if (status == MAREY_OK) {
        cache_source source = cache_store_source(g->file);
        cache_options o = {.n_threads = 0};
        status = cache_create(&g->cache, &source, &o, &g->diag);
    }
    if (status == MAREY_OK) {
        status = text_create(&g->text, &g->diag);
    }
    if (status == MAREY_OK) {
        status = scene_create(&g->scene, g->file, g->cache, g->text, &g->diag);
        view_init(&g->view, c->r.m.duration_ns);
        g->view.layout = LAYOUT_COMMUNICATION;
    }
    g->in = (scene_input){.width_px = width, .height_px = height, .scale = 1, .cursor_x = -1, .cursor_y = -1};
    return status;
}

static inline void comm_run_free(comm_run *c)
{
    free(c->tracks);
    free(c->args);
    small_free(&c->r);
}

/* Two stages of four ranks on two hosts: all-reduces in each stage, of which rank 3 comes late to the third; transfers
 * from stage to stage, of which one takes long. */
static inline void comm_run_two_stages(comm_run *c)
{
    comm_run_init(c);
    for (uint32_t i = 0; i < 8; i++) {
        comm_run_rank(c, (int32_t)(i / 4), i < 4 ? "node0" : "node1");
    }
    uint32_t stages[2] = {comm_run_group(c, "stage 0", 0, 1, 4), comm_run_group(c, "stage 1", 4, 1, 4)};
    uint32_t pairs[4];
    for (uint32_t i = 0; i < 4; i++) {
        pairs[i] = comm_run_group(c, "pipeline", i, 4, 2);
    }
    for (uint32_t k = 0; k < 6; k++) {
        double t = 1000.0 * k;
        for (uint32_t i = 0; i < 8; i++) {
            double late = i == 3 && k == 2 ? 300 : 10.0 * (i % 4);
            comm_run_put(c, i, WHAT_ALLREDUCE, stages[i / 4], k, t + late, 400 - late, 1 << 20);
        }
        for (uint32_t i = 0; i < 4; i++) {
            double us = i == 1 && k == 4 ? 300 : 100 + 2 * k + i;
            double end = t + 550 + 10 * i + us;
            comm_run_put(c, i, WHAT_SEND, pairs[i], k, end - us, us, 1 << 16);
            comm_run_put(c, i + 4, WHAT_RECV, pairs[i], k, end - us - 20, us + 20, 1 << 16);
        }
    }
}

#endif
