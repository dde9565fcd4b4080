/* Through the host's events of all ranks in order of time: what module, phase and operator each stands in. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "scene/graph_placing.h"

/* An open event of a thread. */
typedef struct open_event {
    int64_t end_ns;
    uint64_t round; /* of the module */
    place_at at;    /* of what is inside it */
    uint32_t op;    /* NO_ID: no operator */
    uint32_t node, group;
} open_event;

/* A receive, or what it launched, that waits for the pass which it feeds. */
typedef struct waiting_event {
    uint64_t row;
    uint32_t op;
    bool is_call;
} waiting_event;

typedef struct thread_walk {
    open_event *stack;
    waiting_event *waiting;
    size_t n, cap, n_waiting, cap_waiting;
    uint8_t last_phase; /* of the forward or backward pass that began last */
} thread_walk;

typedef struct rank_walk {
    int32_t stage;
    uint32_t first_step, n_steps, step; /* in steps */
} rank_walk;

typedef struct host_event {
    int64_t start_ns, end_ns;
    uint64_t row;
    uint32_t rank, thread, name;
} host_event;

typedef struct walk {
    placing *k;
    const trace_model *m;
    thread_walk *threads;
    rank_walk *ranks;
    const trace_step **steps; /* by rank */
    host_event *events;       /* of one block */
    size_t n_events, cap_events;
    uint64_t rounds;
} walk;

/* ------------------------------------------------------------------ counting */

static void add_row(placing *k, uint64_t row, uint32_t node, uint32_t group, bool is_call)
{
    if (k->n_rows < PLACING_MAX_ROWS) {
        place_row r = {.row = row, .node = node, .group = group, .is_call = is_call};
        VEC_PUSH(k->rows, k->n_rows, k->cap_rows, r);
    }
}

/* The next operator of the group in this round. `who`: a thread inside a module, a rank outside. */
static uint32_t next_node(placing *k, uint32_t group, uint64_t who, uint64_t round)
{
    uint64_t *place = map64_put(&k->count_of, hash_u64(who + 1) ^ group);
    if (*place == 0) {
        place_count fresh = {.round = round, .group = group};
        VEC_PUSH(k->counts, k->n_counts, k->cap_counts, fresh);
        *place = k->n_counts;
    }
    place_count *c = &k->counts[*place - 1];
    place_group *g = &k->groups[group];
    if (c->round != round) {
        placing_close(g, c->n);
        *c = (place_count){.round = round, .group = group};
    }
    return k->nodes[g->first + c->n++ % g->n];
}

/* Number of the rank's step that runs; 0: none does. */
static uint64_t step_at(walk *x, uint32_t rank, int64_t at_ns)
{
    rank_walk *r = &x->ranks[rank];
    if (r->n_steps == 0) {
        return 1;
    }
    while (r->step + 1 < r->n_steps && x->steps[r->first_step + r->step + 1]->start_ns <= at_ns) {
        r->step++;
    }
    const trace_step *s = x->steps[r->first_step + r->step];
    return s->start_ns <= at_ns && at_ns < s->end_ns ? r->step + 1U : 0;
}

/* An operator's event. @return false: the graph has none there */
static bool place(walk *x, const host_event *e, const place_at *at, uint64_t round, uint32_t op, open_event *out)
{
    bool inside = at->module != NO_ID;
    uint64_t who = inside ? (uint64_t)e->thread << 1 : (uint64_t)e->rank << 1 | 1;
    uint32_t group = placing_group(x->k, at, op);
    round = inside ? round : step_at(x, e->rank, e->start_ns);
    if (group == NO_ID || round == 0) {
        return false;
    }
    out->op = op;
    out->group = group;
    out->node = next_node(x->k, group, who, round);
    add_row(x->k, e->row, out->node, group, false);
    return true;
}

/* ------------------------------------------------------------------ one event */

/* What came in belongs to the pass that begins now. */
static void feed(walk *x, thread_walk *t, const host_event *e, uint8_t phase)
{
    open_event o = {.node = GRAPH_NONE};
    place_at at = {.module = NO_ID, .stage = x->ranks[e->rank].stage, .phase = phase};
    for (size_t i = 0; i < t->n_waiting; i++) {
        host_event in = *e;
        in.row = t->waiting[i].row;
        if (!t->waiting[i].is_call) {
            o.node = GRAPH_NONE;
            (void)place(x, &in, &at, 0, t->waiting[i].op, &o);
        } else if (o.node != GRAPH_NONE) {
            add_row(x->k, in.row, o.node, o.group, true);
        }
    }
    t->n_waiting = 0;
}

static void wait_for_pass(thread_walk *t, const host_event *e, uint32_t op, bool is_call)
{
    enum { MOST = 4096 };
    waiting_event w = {.row = e->row, .op = op, .is_call = is_call};
    if (t->n_waiting < MOST) {
        VEC_PUSH(t->waiting, t->n_waiting, t->cap_waiting, w);
    }
}

static void enter_annotation(walk *x, thread_walk *t, const host_event *e, open_event *o)
{
    const placing *k = x->k;
    uint8_t phase = k->phase_of_name[e->name];
    if (k->module_of_name[e->name] != NO_ID) {
        o->at.module = k->module_of_name[e->name];
        o->round = ++x->rounds;
    }
    if (phase != GRAPH_PHASE_NONE) {
        bool again = o->at.phase == GRAPH_BACKWARD || o->at.phase == GRAPH_RECOMPUTE;
        o->at.phase = phase == GRAPH_FORWARD && again ? GRAPH_RECOMPUTE : phase;
        if (o->at.module == NO_ID && (phase == GRAPH_FORWARD || phase == GRAPH_BACKWARD)) {
            t->last_phase = phase;
            feed(x, t, e, phase);
        }
    }
}

/* A send hands on what the pass before it made, a receive brings what the next one takes. */
static void enter_operator(walk *x, thread_walk *t, const host_event *e, uint32_t op, open_event *o)
{
    const placing *k = x->k;
    place_at at = o->at;
    bool free_standing = at.module == NO_ID && at.phase == GRAPH_PHASE_NONE;
    if (free_standing && k->op_is_receive[op]) {
        o->op = op;
        wait_for_pass(t, e, op, false);
        return;
    }
    at.phase = free_standing && k->op_is_send[op] ? t->last_phase : at.phase;
    (void)place(x, e, &at, o->round, op, o);
}

static void take(walk *x, const host_event *e)
{
    const placing *k = x->k;
    thread_walk *t = &x->threads[e->thread];
    while (t->n > 0 && t->stack[t->n - 1].end_ns <= e->start_ns) {
        t->n--;
    }
    const open_event *around = t->n > 0 ? &t->stack[t->n - 1] : NULL;
    open_event o = {.at = {.module = NO_ID, .stage = x->ranks[e->rank].stage}, .op = NO_ID, .node = GRAPH_NONE};
    o = around ? *around : o;
    o.end_ns = e->end_ns;
    uint32_t op = k->op_of_name[e->name];
    if (k->launches[e->name]) {
        if (o.node != GRAPH_NONE) {
            add_row(x->k, e->row, o.node, o.group, true);
        } else if (o.op != NO_ID && k->op_is_receive[o.op]) {
            wait_for_pass(t, e, o.op, true);
        }
        return;
    }
    if (op != NO_ID && op != o.op) { /* an operator inside one of its own kind is the same one */
        enter_operator(x, t, e, op, &o);
    } else if (op == NO_ID) {
        enter_annotation(x, t, e, &o);
    }
    VEC_PUSH(t->stack, t->n, t->cap, o);
}

/* ------------------------------------------------------------------ all of them */

static int by_time(const void *pa, const void *pb)
{
    const host_event *a = pa;
    const host_event *b = pb;
    if (a->rank != b->rank) {
        return a->rank < b->rank ? -1 : 1;
    }
    if (a->start_ns != b->start_ns) {
        return a->start_ns < b->start_ns ? -1 : 1;
    }
    if (a->end_ns != b->end_ns) {
        return a->end_ns > b->end_ns ? -1 : 1; /* what is around comes first */
    }
    return (a->row > b->row) - (a->row < b->row);
}

static bool says_something(const placing *k, uint32_t name)
{
    return k->module_of_name[name] != NO_ID || k->op_of_name[name] != NO_ID || k->launches[name] ||
           k->phase_of_name[name] != GRAPH_PHASE_NONE;
}

static void walk_block(walk *x, const store_block_info *b, const store_columns *c)
{
    x->n_events = 0;
    for (uint32_t t = 0; t < b->n_tracks; t++) {
        const trace_lane *lane = &x->m->lanes[x->m->tracks[b->tracks[t]].lane];
        bool host = lane->thread != NO_ID && !kind_is_device(lane->kind) && !kind_is_derived(lane->kind);
        for (uint32_t i = b->offsets[t]; host && i < b->offsets[t + 1] && i < c->n; i++) {
            if (c->name[i] < x->m->n_names && c->dur_ns[i] > 0 && says_something(x->k, c->name[i])) {
                host_event e = {.start_ns = c->start_ns[i],
                                .end_ns = c->start_ns[i] + c->dur_ns[i],
                                .row = b->first_row + i,
                                .rank = lane->rank,
                                .thread = lane->thread,
                                .name = c->name[i]};
                VEC_PUSH(x->events, x->n_events, x->cap_events, e);
            }
        }
    }
    if (x->n_events > 0) {
        qsort(x->events, x->n_events, sizeof *x->events, by_time);
    }
    for (size_t i = 0; i < x->n_events; i++) {
        take(x, &x->events[i]);
    }
}

/* The stage of each rank: what the graph says, else what the run says; and each rank's steps in order. */
static void prepare(walk *x)
{
    const trace_model *m = x->m;
    x->threads = mem_calloc(m->n_threads + 1, sizeof *x->threads);
    x->ranks = mem_calloc(m->n_ranks + 1, sizeof *x->ranks);
    x->steps = mem_calloc(m->n_steps + 1, sizeof *x->steps);
    int32_t *stages = graph_join_stages(x->k->w->g, m);
    for (size_t i = 0; i < m->n_ranks; i++) {
        x->ranks[i].stage = stages[i];
    }
    free(stages);
    for (size_t i = 0; i < m->n_steps; i++) {
        x->ranks[m->steps[i].rank].n_steps++;
    }
    uint32_t first = 0;
    for (size_t i = 0; i < m->n_ranks; i++) {
        x->ranks[i].first_step = first;
        first += x->ranks[i].n_steps;
        x->ranks[i].n_steps = 0;
    }
    for (size_t i = 0; i < m->n_steps; i++) { /* those of one rank are in order of time */
        rank_walk *r = &x->ranks[m->steps[i].rank];
        x->steps[r->first_step + r->n_steps++] = &m->steps[i];
    }
}

void placing_walk(placing *k)
{
    store_file *f = k->w->file;
    walk x = {.k = k, .m = store_model(f)};
    store_columns c = {0};
    prepare(&x);
    for (size_t g = 0; g < store_n_groups(f); g++) {
        store_group_info group = store_group_at(f, (uint32_t)g);
        for (uint32_t i = 0; group.kind == GROUP_EVENTS && i < group.n_blocks; i++) {
            bool more = !is_cancelled(k->w->cancel) && k->n_rows < PLACING_MAX_ROWS;
            if (more && store_group_load(f, (uint32_t)g, NULL) == MAREY_OK) {
                store_block_info b = store_block(f, group.blocks[i]);
                if (!b.is_damaged &&
                    store_read_block(f, group.blocks[i], COL_START | COL_DUR | COL_NAME, &c, NULL) == MAREY_OK) {
                    walk_block(&x, &b, &c);
                }
            }
        }
    }
    store_columns_free(&c);
    for (size_t i = 0; i < x.m->n_threads; i++) {
        free(x.threads[i].stack);
        free(x.threads[i].waiting);
    }
    free(x.threads);
    free(x.ranks);
    free((void *)x.steps);
    free(x.events);
}
