#include "diagnose/replay.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum { QUEUED_NS = 10000 };
#define NOBODY UINT32_MAX

/* What a communication belongs to: instances first, transfers behind them, the others alone. */
struct replay {
    const diagnosis *g;
    uint32_t *order;            /* [n] events by start */
    uint32_t *before;           /* [n] the rank's communication that ended last before this one began; NOBODY */
    uint32_t *stream;           /* [n] the one before on its stream */
    uint32_t *joint;            /* [n] instance, or n_instances + transfer; NOBODY: alone */
    int64_t *start_ns, *end_ns; /* [n] replayed */
    int64_t *joint_ns;          /* latest replayed start so far */
    uint32_t *joint_left;       /* members that are still to start */
    size_t n, n_joints;
};

/* ------------------------------------------------------------------ who waits for whom */

static int by_start(const void *pa, const void *pb, void *ctx)
{
    const comm_event *e = ctx;
    uint32_t a = *(const uint32_t *)pa;
    uint32_t b = *(const uint32_t *)pb;
    if (e[a].start_ns != e[b].start_ns) {
        return e[a].start_ns < e[b].start_ns ? -1 : 1;
    }
    return a < b ? -1 : a > b;
}

/* The last event of each stream of one rank, and the last ones that the rank's compute waited for. */
enum { KEPT_WAITS = 8 };

typedef struct stream_tail {
    uint32_t lane, last;
} stream_tail;

typedef struct rank_tails {
    stream_tail *items;
    size_t n, cap;
    uint32_t waited[KEPT_WAITS]; /* a ring */
    unsigned n_waited;
} rank_tails;

static stream_tail *tail_of(rank_tails *t, uint32_t lane)
{
    for (size_t i = 0; i < t->n; i++) {
        if (t->items[i].lane == lane) {
            return &t->items[i];
        }
    }
    VEC_PUSH(t->items, t->n, t->cap, ((stream_tail){lane, NOBODY}));
    return &t->items[t->n - 1];
}

/* Did nothing compute while it ran, for a part of it that counts? Then what came next waited for it. */
static bool is_waited_for(const comm_event *e)
{
    int64_t duration = e->end_ns - e->start_ns;
    return duration - (e->compute_end_ns - e->compute_ns) > duration / 20;
}

static uint32_t waited_before(const comm_event *e, const rank_tails *t, int64_t start_ns)
{
    uint32_t best = NOBODY;
    for (unsigned i = 0; i < t->n_waited && i < KEPT_WAITS; i++) {
        uint32_t k = t->waited[i];
        if (e[k].end_ns <= start_ns && (best == NOBODY || e[k].end_ns > e[best].end_ns)) {
            best = k;
        }
    }
    return best;
}

static void find_predecessors(replay *r)
{
    const comm_event *e = r->g->data.comm;
    rank_tails *tails = mem_calloc(r->g->data.n_ranks + 1, sizeof *tails);
    for (size_t i = 0; i < r->n; i++) {
        uint32_t k = r->order[i];
        rank_tails *t = &tails[e[k].rank];
        stream_tail *own = tail_of(t, e[k].lane);
        r->stream[k] = own->last;
        r->before[k] = waited_before(e, t, e[k].start_ns);
        own->last = k;
        if (is_waited_for(&e[k])) {
            t->waited[t->n_waited++ % KEPT_WAITS] = k;
        }
    }
    for (size_t i = 0; i < r->g->data.n_ranks; i++) {
        free(tails[i].items);
    }
    free(tails);
}

static void find_joints(replay *r)
{
    const diagnosis *g = r->g;
    memset(r->joint, 0xff, r->n * sizeof *r->joint);
    for (size_t i = 0; i < g->n_instances; i++) {
        for (uint32_t k = 0; k < g->instances[i].n && g->instances[i].n > 1; k++) {
            r->joint[g->instances[i].first + k] = (uint32_t)i;
        }
    }
    for (size_t i = 0; i < g->n_transfers; i++) {
        const p2p_transfer *t = &g->transfers[i];
        const comm_event *s = &g->data.comm[t->send];
        const comm_event *v = &g->data.comm[t->receive];
        if (s->end_ns > v->start_ns && v->end_ns > s->start_ns) { /* else one did not wait for the other */
            r->joint[t->send] = r->joint[t->receive] = (uint32_t)(g->n_instances + i);
        }
    }
}

replay *replay_create(const diagnosis *g)
{
    size_t n = g->data.n_comm;
    if (n == 0 || n >= NOBODY || g->n_instances + g->n_transfers >= NOBODY) {
        return NULL;
    }
    replay *r = mem_calloc(1, sizeof *r);
    r->g = g;
    r->n = n;
    r->n_joints = g->n_instances + g->n_transfers;
    r->order = mem_alloc(n * sizeof *r->order);
    r->before = mem_alloc(n * sizeof *r->before);
    r->stream = mem_alloc(n * sizeof *r->stream);
    r->joint = mem_alloc(n * sizeof *r->joint);
    r->start_ns = mem_alloc(n * sizeof *r->start_ns);
    r->end_ns = mem_alloc(n * sizeof *r->end_ns);
    r->joint_ns = mem_alloc((r->n_joints + 1) * sizeof *r->joint_ns);
    r->joint_left = mem_alloc((r->n_joints + 1) * sizeof *r->joint_left);
    for (size_t i = 0; i < n; i++) {
        r->order[i] = (uint32_t)i;
    }
    qsort_r(r->order, n, sizeof *r->order, by_start, g->data.comm);
    find_predecessors(r);
    find_joints(r);
    return r;
}

void replay_destroy(replay **rr)
{
    replay *r = *rr;
    if (r) {
        free(r->order);
        free(r->before);
        free(r->stream);
        free(r->joint);
        free(r->start_ns);
        free(r->end_ns);
        free(r->joint_ns);
        free(r->joint_left);
        free(r);
        *rr = NULL;
    }
}

/* ------------------------------------------------------------------ playing */

/* What a rank's own work between two communications becomes shorter by. */
static int64_t cut(const replay *r, const replay_change *c, uint32_t rank, uint32_t step, int64_t compute_ns,
                   int64_t idle_ns)
{
    if (step == NO_STEP) {
        return 0;
    }
    size_t cell = rank * r->g->data.n_steps + step;
    double ns = c->compute ? (double)compute_ns * (1 - (double)c->compute[cell]) : 0;
    ns += c->idle ? (double)idle_ns * (1 - (double)c->idle[cell]) : 0;
    return (int64_t)ns;
}

/* When an event can begin: behind its rank's work since the communication that the work waited for, and behind its
 * stream. */
static int64_t begin_of(const replay *r, const replay_change *c, uint32_t k)
{
    const comm_event *all = r->g->data.comm;
    const comm_event *e = &all[k];
    uint32_t b = r->before[k];
    uint32_t s = r->stream[k];
    int64_t begin = e->ready_ns;
    if (s != NOBODY && e->start_ns >= all[s].end_ns && e->start_ns - all[s].end_ns <= QUEUED_NS) {
        return r->end_ns[s] + (e->start_ns - all[s].end_ns); /* it had queued: when it was ready is not known */
    }
    if (b == NOBODY) {
        begin -= cut(r, c, e->rank, e->step, e->compute_ns, 0);
    } else {
        int64_t gap = e->ready_ns - all[b].end_ns;
        int64_t compute = e->compute_ns - all[b].compute_end_ns;
        begin = r->end_ns[b] + gap - cut(r, c, e->rank, e->step, compute, gap > compute ? gap - compute : 0);
    }
    if (s != NOBODY) {
        int64_t overlap = all[s].end_ns > e->ready_ns ? all[s].end_ns - e->ready_ns : 0;
        begin = r->end_ns[s] - overlap > begin ? r->end_ns[s] - overlap : begin;
    }
    return begin;
}

/* By how much the joint's transfer itself becomes shorter. */
static int64_t transfer_cut(const replay *r, const replay_change *c, uint32_t joint)
{
    const diagnosis *g = r->g;
    if (joint < g->n_instances) {
        const coll_instance *i = &g->instances[joint];
        bool is = c->group != NO_ID && g->data.comm[i->first].group == c->group;
        return is ? (int64_t)((double)i->transfer_ns * (1 - c->transfer)) : 0;
    }
    const p2p_transfer *t = &g->transfers[joint - g->n_instances];
    uint32_t from = g->data.comm[t->send].rank;
    uint32_t to = g->data.comm[t->receive].rank;
    bool is = c->a != NO_ID && ((from == c->a && to == c->b) || (from == c->b && to == c->a));
    return is ? (int64_t)((double)t->link_ns * (1 - c->transfer)) : 0;
}

/* All members have begun: they end later or sooner by what the last of them began later or sooner. */
static void end_joint(replay *r, const replay_change *c, uint32_t joint)
{
    const diagnosis *g = r->g;
    const comm_event *e = g->data.comm;
    if (joint < g->n_instances) {
        const coll_instance *i = &g->instances[joint]; /* collectives are ready when they begin */
        int64_t move = r->joint_ns[joint] - (i->start_ns + i->skew_ns) - transfer_cut(r, c, joint);
        for (uint32_t k = 0; k < i->n; k++) {
            r->end_ns[i->first + k] = e[i->first + k].end_ns + move;
        }
        return;
    }
    const p2p_transfer *t = &g->transfers[joint - g->n_instances];
    int64_t last = e[t->send].ready_ns > e[t->receive].ready_ns ? e[t->send].ready_ns : e[t->receive].ready_ns;
    int64_t move = r->joint_ns[joint] - last - transfer_cut(r, c, joint);
    r->end_ns[t->send] = e[t->send].end_ns + move;
    r->end_ns[t->receive] = e[t->receive].end_ns + move;
}

static void play(replay *r, const replay_change *c)
{
    const diagnosis *g = r->g;
    for (size_t i = 0; i < r->n_joints; i++) {
        r->joint_ns[i] = INT64_MIN;
        r->joint_left[i] = i < g->n_instances ? g->instances[i].n : 2;
    }
    for (size_t i = 0; i < r->n; i++) {
        uint32_t k = r->order[i];
        uint32_t joint = r->joint[k];
        r->start_ns[k] = begin_of(r, c, k);
        r->end_ns[k] = r->start_ns[k] + (g->data.comm[k].end_ns - g->data.comm[k].ready_ns);
        if (joint == NOBODY) {
            continue;
        }
        r->joint_ns[joint] = r->start_ns[k] > r->joint_ns[joint] ? r->start_ns[k] : r->joint_ns[joint];
        if (--r->joint_left[joint] == 0) {
            end_joint(r, c, joint);
        }
    }
}

/* The end of each rank's last step: behind its last communication by what it did then. */
static void measure_ends(const replay *r, const replay_change *c, int64_t *as_recorded, int64_t *replayed)
{
    const collected *d = &r->g->data;
    uint32_t *last = mem_alloc((d->n_ranks + 1) * sizeof *last);
    memset(last, 0xff, (d->n_ranks + 1) * sizeof *last);
    for (uint32_t i = 0; i < r->n; i++) {
        uint32_t rank = d->comm[i].rank;
        last[rank] = last[rank] == NOBODY || d->comm[i].end_ns > d->comm[last[rank]].end_ns ? i : last[rank];
    }
    *as_recorded = *replayed = INT64_MIN;
    for (uint32_t rank = 0; rank < d->n_ranks; rank++) {
        int64_t compute = 0;
        int64_t end = INT64_MIN;
        for (size_t k = 0; k < d->n_steps; k++) {
            const rank_step *w = collected_cell(d, rank, k);
            compute += breakdown_of(w).compute_ns;
            end = w->end_ns > w->start_ns && w->end_ns > end ? w->end_ns : end;
        }
        if (end == INT64_MIN || last[rank] == NOBODY) {
            continue;
        }
        const comm_event *e = &d->comm[last[rank]];
        end = e->end_ns > end ? e->end_ns : end;
        int64_t tail = end - e->end_ns;
        int64_t work = compute - e->compute_end_ns;
        int64_t moved = r->end_ns[last[rank]] + tail - cut(r, c, rank, e->step, work, 0);
        *as_recorded = end > *as_recorded ? end : *as_recorded;
        *replayed = moved > *replayed ? moved : *replayed;
    }
    free(last);
}

int64_t replay_run(replay *r, const replay_change *change)
{
    int64_t before = 0;
    int64_t after = 0;
    play(r, change);
    measure_ends(r, change, &before, &after);
    return before == INT64_MIN ? 0 : before - after;
}
