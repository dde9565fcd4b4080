#include "synth/solve.h"

#include <stdlib.h>

#include "base/mem.h"

/* The state of all groups while the run is solved. Groups are numbered stage by stage: stage * dp + replica. */
typedef struct solver {
    solution *s;
    sim_group *groups;
    sim_rank *ranks;
    int *next;        /* task of each group */
    int64_t *sent[2]; /* [rank][micro-batch] by direction: output is ready to be sent; -1: not yet */
    int64_t *busy[2]; /* the rank's sending stream of a direction is free */
    int n_groups;
    int step_index;
} solver;

static int64_t max64(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static size_t transfer_at(const plan *pl, int step_index, int rank, int micro_batch)
{
    return ((size_t)step_index * (size_t)pl->p.ranks + (size_t)rank) * (size_t)pl->p.micro_batches +
           (size_t)micro_batch;
}

static size_t bucket_at(const plan *pl, int step_index, int rank, int bucket)
{
    size_t groups = (size_t)pl->p.pp * (size_t)pl->p.tp;
    size_t group = (size_t)plan_stage(pl, rank) * (size_t)pl->p.tp + (size_t)plan_tp(pl, rank);
    return ((size_t)step_index * groups + group) * (size_t)plan_buckets(pl, 0) + (size_t)bucket;
}

int solution_sender(const plan *pl, bool backward, int rank)
{
    int stage = plan_stage(pl, rank);
    int per_stage = pl->p.tp * pl->p.dp;
    if (backward) {
        return stage < pl->p.pp - 1 ? rank + per_stage : -1;
    }
    return stage > 0 ? rank - per_stage : -1;
}

int solution_receiver(const plan *pl, bool backward, int rank)
{
    return solution_sender(pl, !backward, rank);
}

int64_t solution_transfer_start(const solution *s, bool backward, int step_index, int receiver, int micro_batch)
{
    const int64_t *starts = backward ? s->bwd_start : s->fwd_start;
    return starts[transfer_at(&s->pl, step_index, receiver, micro_batch)];
}

int64_t solution_transfer_end(const solution *s, bool backward, int step_index, int receiver, int micro_batch)
{
    const plan *pl = &s->pl;
    int sender = solution_sender(pl, backward, receiver);
    int step = pl->p.first_step + step_index;
    int64_t ns = plan_transfer_ns(pl, sender, receiver, pl->activation_bytes, step);
    uint64_t key = (uint64_t)micro_batch * 2 + backward;
    double z = sim_noise(pl->p.seed, (uint64_t)step, (uint64_t)receiver, key);
    return solution_transfer_start(s, backward, step_index, receiver, micro_batch) + ns +
           (int64_t)((double)ns * pl->p.noise * z);
}

int64_t solution_bucket_end(const solution *s, int step_index, int rank, int bucket)
{
    return s->bucket_end[bucket_at(&s->pl, step_index, rank, bucket)];
}

int64_t solution_gather_end(const solution *s, int step_index, int rank, int bucket)
{
    return s->gather_end[bucket_at(&s->pl, step_index, rank, bucket)];
}

int64_t solution_bucket_wire_bytes(const plan *pl, int stage)
{
    /* Sharded gradients are reduced in 32 bits. */
    return plan_bucket_bytes(pl, stage) * (pl->p.grad_sync == GRAD_SHARDED ? 2 : 1);
}

/* Are all members' inputs sent? Then receive them. */
static bool take_input(solver *v, sim_group *g, plan_task task)
{
    const plan *pl = g->pl;
    int first = plan_rank(pl, g->stage, g->dp, 0);
    if (solution_sender(pl, task.backward, first) < 0) {
        return true;
    }
    int64_t *starts = task.backward ? v->s->bwd_start : v->s->fwd_start;
    size_t m = (size_t)pl->p.micro_batches;
    for (int t = 0; t < pl->p.tp; t++) {
        size_t sender = (size_t)solution_sender(pl, task.backward, first + t);
        if (v->sent[task.backward][sender * m + (size_t)task.micro_batch] < 0) {
            return false;
        }
    }
    for (int t = 0; t < pl->p.tp; t++) {
        size_t sender = (size_t)solution_sender(pl, task.backward, first + t);
        int64_t ready = v->sent[task.backward][sender * m + (size_t)task.micro_batch];
        int64_t start = max64(max64(ready, v->busy[task.backward][sender]), sim_post_ns(g, t));
        starts[transfer_at(pl, v->step_index, first + t, task.micro_batch)] = start;
        int64_t end = solution_transfer_end(v->s, task.backward, v->step_index, first + t, task.micro_batch);
        v->busy[task.backward][sender] = end + 1000;
        sim_receive(g, t, end);
    }
    return true;
}

static void give_output(solver *v, sim_group *g, plan_task task)
{
    const plan *pl = g->pl;
    int first = plan_rank(pl, g->stage, g->dp, 0);
    if (solution_receiver(pl, task.backward, first) < 0) {
        return;
    }
    for (int t = 0; t < pl->p.tp; t++) {
        size_t at = (size_t)(first + t) * (size_t)pl->p.micro_batches + (size_t)task.micro_batch;
        v->sent[task.backward][at] = sim_send_ns(g, t);
    }
}

/* Run as many tasks of the group as have their input. @return how many */
static int advance(solver *v, int group)
{
    sim_group *g = &v->groups[group];
    int n_tasks = 2 * g->pl->p.micro_batches;
    int done = 0;
    while (v->next[group] < n_tasks) {
        plan_task task = plan_schedule(g->pl->p.pp, g->pl->p.micro_batches, g->stage, v->next[group]);
        if (!take_input(v, g, task)) {
            break;
        }
        sim_run_task(g, v->next[group]);
        give_output(v, g, task);
        v->next[group]++;
        done++;
    }
    return done;
}

static void run_pipeline(solver *v)
{
    const plan *pl = &v->s->pl;
    int64_t left = (int64_t)v->n_groups * 2 * pl->p.micro_batches;
    while (left > 0) {
        int64_t before = left;
        for (int i = 0; i < v->n_groups; i++) {
            left -= advance(v, i);
        }
        for (int i = v->n_groups - 1; i >= 0; i--) {
            left -= advance(v, i);
        }
        MAREY_ASSERT(left < before);
    }
}

/* One collective of the data-parallel group of (stage, tp). gather: behind the optimizer. */
static void run_bucket(solver *v, int stage, int tp, int bucket, bool gather)
{
    const plan *pl = &v->s->pl;
    int step = pl->p.first_step + v->step_index;
    int rank = plan_rank(pl, stage, 0, tp);
    int64_t latest = 0;
    for (int d = 0; d < pl->p.dp; d++) {
        const sim_group *g = &v->groups[stage * pl->p.dp + d];
        latest = max64(latest, gather ? sim_gather_arrival(g, tp) : sim_bucket_arrival(g, tp, bucket));
    }
    bool sharded = pl->p.grad_sync == GRAD_SHARDED;
    synth_coll coll = gather ? COLL_ALLGATHER : sharded ? COLL_REDUCESCATTER : COLL_ALLREDUCE;
    int64_t bytes = gather ? plan_bucket_bytes(pl, stage) : solution_bucket_wire_bytes(pl, stage);
    int64_t ns = plan_collective_ns(pl, GROUP_DP, rank, coll, bytes, step);
    double z = sim_noise(pl->p.seed ^ 77, (uint64_t)step, (uint64_t)rank, (uint64_t)bucket * 2 + gather);
    int64_t end = latest + ns + (int64_t)((double)ns * pl->p.noise * z);
    (gather ? v->s->gather_end : v->s->bucket_end)[bucket_at(pl, v->step_index, rank, bucket)] = end;
    for (int d = 0; d < pl->p.dp; d++) {
        sim_group *g = &v->groups[stage * pl->p.dp + d];
        if (gather) {
            (void)sim_gather_done(g, tp, end);
        } else {
            (void)sim_bucket_done(g, tp, end);
        }
    }
}

static void run_buckets(solver *v, bool gather)
{
    const plan *pl = &v->s->pl;
    if (pl->p.dp < 2 || (gather && pl->p.grad_sync != GRAD_SHARDED)) {
        return;
    }
    for (int stage = 0; stage < pl->p.pp; stage++) {
        for (int tp = 0; tp < pl->p.tp; tp++) {
            for (int b = 0; b < plan_buckets(pl, stage); b++) {
                run_bucket(v, stage, tp, b, gather);
            }
        }
    }
}

static void wait_for_buckets(solver *v)
{
    for (int i = 0; i < v->n_groups; i++) {
        for (int t = 0; t < v->s->pl.p.tp; t++) {
            sim_wait_for_buckets(&v->groups[i], t);
        }
    }
}

static void meet(solver *v, int which)
{
    const plan *pl = &v->s->pl;
    int64_t latest = 0;
    if (pl->p.ranks < 2) {
        return;
    }
    for (int i = 0; i < v->n_groups; i++) {
        for (int t = 0; t < pl->p.tp; t++) {
            latest = max64(latest, sim_meet_arrival(&v->groups[i], t));
        }
    }
    int64_t end = latest + plan_collective_ns(pl, GROUP_WORLD, 0, COLL_ALLREDUCE, 4, pl->p.first_step + v->step_index);
    v->s->meet_end[v->step_index * MEET_COUNT + which] = end;
    for (int i = 0; i < v->n_groups; i++) {
        for (int t = 0; t < pl->p.tp; t++) {
            (void)sim_meet_done(&v->groups[i], t, end);
        }
    }
}

static void note_stalls(solver *v, int step)
{
    const plan *pl = &v->s->pl;
    for (int i = 0; i < pl->p.n_faults; i++) {
        const synth_fault *f = &pl->p.faults[i];
        if (f->kind == FAULT_STALL && f->step0 == step) {
            v->s->stalled_at[i] = v->ranks[f->a].stalled_at;
        }
    }
}

static void begin_step(solver *v, int step)
{
    const plan *pl = &v->s->pl;
    size_t n = (size_t)pl->p.ranks * (size_t)pl->p.micro_batches;
    for (size_t i = 0; i < n; i++) {
        v->sent[0][i] = v->sent[1][i] = -1;
    }
    for (int i = 0; i < pl->p.ranks; i++) {
        v->busy[0][i] = v->busy[1][i] = 0;
    }
    for (int i = 0; i < v->n_groups; i++) {
        v->next[i] = 0;
        sim_begin_step(&v->groups[i], step);
    }
}

static void run_step(solver *v, int index)
{
    int step = v->s->pl.p.first_step + index;
    v->step_index = index;
    begin_step(v, step);
    run_pipeline(v);
    run_buckets(v, false);
    wait_for_buckets(v);
    for (int i = 0; i < v->n_groups; i++) {
        sim_run_norm(&v->groups[i]);
    }
    meet(v, MEET_FOUND_INF);
    meet(v, MEET_NORM);
    for (int i = 0; i < v->n_groups; i++) {
        sim_run_optimizer(&v->groups[i]);
    }
    run_buckets(v, true);
    wait_for_buckets(v);
    meet(v, MEET_LOSS);
    for (int i = 0; i < v->n_groups; i++) {
        sim_end_step(&v->groups[i]);
    }
    note_stalls(v, step);
}

static void make_solver(solver *v, solution *s)
{
    const synth_params *p = &s->pl.p;
    size_t ranks = (size_t)p->ranks;
    *v = (solver){.s = s, .n_groups = p->pp * p->dp};
    v->groups = mem_calloc((size_t)v->n_groups, sizeof *v->groups);
    v->ranks = mem_calloc(ranks, sizeof *v->ranks);
    v->next = mem_calloc((size_t)v->n_groups, sizeof *v->next);
    for (int k = 0; k < 2; k++) {
        v->sent[k] = mem_calloc(ranks * (size_t)p->micro_batches, sizeof *v->sent[k]);
        v->busy[k] = mem_calloc(ranks, sizeof *v->busy[k]);
    }
    for (int i = 0; i < v->n_groups; i++) {
        sim_group *g = &v->groups[i];
        *g = (sim_group){.pl = &s->pl, .stage = i / p->dp, .dp = i % p->dp};
        g->ranks = &v->ranks[plan_rank(&s->pl, g->stage, g->dp, 0)];
        sim_begin_run(g);
    }
}

static void free_solver(solver *v)
{
    for (int k = 0; k < 2; k++) {
        free(v->sent[k]);
        free(v->busy[k]);
    }
    free(v->next);
    free(v->ranks);
    free(v->groups);
}

marey_status solve(solution *s, const synth_params *p, cancel_flag *cancel)
{
    *s = (solution){0};
    plan_init(&s->pl, p);
    size_t steps = (size_t)p->steps;
    size_t transfers = p->pp > 1 ? steps * (size_t)p->ranks * (size_t)p->micro_batches : 1;
    size_t buckets = bucket_at(&s->pl, p->steps, 0, 0);
    s->fwd_start = mem_calloc(transfers, sizeof *s->fwd_start);
    s->bwd_start = mem_calloc(transfers, sizeof *s->bwd_start);
    s->bucket_end = mem_calloc(buckets, sizeof *s->bucket_end);
    s->gather_end = p->grad_sync == GRAD_SHARDED ? mem_calloc(buckets, sizeof *s->gather_end) : NULL;
    s->meet_end = mem_calloc(steps * MEET_COUNT, sizeof *s->meet_end);
    for (int i = 0; i < SYNTH_MAX_FAULTS; i++) {
        s->stalled_at[i] = -1;
    }
    solver v;
    make_solver(&v, s);
    marey_status status = MAREY_OK;
    for (int i = 0; i < p->steps && status == MAREY_OK; i++) {
        run_step(&v, i);
        status = is_cancelled(cancel) ? MAREY_CANCELLED : MAREY_OK;
    }
    for (int i = 0; i < p->ranks; i++) {
        s->end_ns = max64(s->end_ns, v.ranks[i].host);
    }
    free_solver(&v);
    if (status != MAREY_OK) {
        solution_deinit(s);
    }
    return status;
}

void solution_deinit(solution *s)
{
    plan_deinit(&s->pl);
    free(s->fwd_start);
    free(s->bwd_start);
    free(s->bucket_end);
    free(s->gather_end);
    free(s->meet_end);
    *s = (solution){0};
}
