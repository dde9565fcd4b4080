#include "synth/emit.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"

/* Where inside an operator's time on the host its launch lies, seen from the end. */
enum { LAUNCH_BEFORE_END_NS = 4500, LAUNCH_LENGTH_NS = 3700, OP_MARGIN_NS = 100 };
enum { FWD_OPS_MAX = PLAN_MAX_OPS };

typedef struct emitter {
    const solution *s;
    const plan *pl;
    int rank, tp;
    const synth_sink *sink;
    marey_status status;
    sim_group g;
    sim_watch watch;
    int step_index;
    plan_task task;
    bool in_task;
    sim_part part;
    int layer; /* -1 outside */
    int op_in_layer;
    int64_t layer_host;
    int64_t recompute_host, recompute_dev; /* where it begins; dev -1: no kernel yet */
    int64_t dev_begun;                     /* first kernel of the task, of the step; -1 */
    int64_t step_dev_begun;
    uint64_t correlation, external;
    int64_t seq[GROUP_KINDS];
    int64_t n_sent[2], n_received[2];
    int64_t sent_until[2]; /* the sending stream is free */
    sim_rank ranks[SYNTH_MAX_TP];
} emitter;

static int64_t max64(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static void put(emitter *e, synth_event ev)
{
    ev.start_ns = plan_local(e->pl, e->rank, ev.start_ns);
    ev.end_ns = plan_local(e->pl, e->rank, ev.end_ns);
    if (e->status == MAREY_OK) {
        e->status = e->sink->event(e->sink->ctx, &ev);
    }
}

static void put_flow(emitter *e, synth_thread thread, int64_t ts, uint64_t id, bool launch, bool ends)
{
    synth_flow f = {thread, plan_local(e->pl, e->rank, ts), id, ends, launch};
    if (e->sink->flow && e->status == MAREY_OK) {
        e->sink->flow(e->sink->ctx, &f);
    }
}

static void annotate(emitter *e, synth_thread thread, synth_name name, int64_t index, int64_t start, int64_t end)
{
    if (end > start) {
        bool device = thread >= TH_COMPUTE;
        put(e, (synth_event){.kind = device ? EV_GPU_ANNOTATION : EV_ANNOTATION,
                             .thread = thread,
                             .name = name,
                             .index = index,
                             .start_ns = start,
                             .end_ns = end,
                             .external = ++e->external,
                             .sequence = -1});
    }
}

/* One launch: what the host does, and what runs on the device for it. */
typedef struct launched {
    synth_thread host_thread, device_thread;
    synth_name cpu, runtime, kernel;
    int64_t host_ns, cost_ns, start_ns, end_ns;
    int64_t sequence;
    const char *shapes;
    const coll_info *coll;
    int64_t bytes; /* of a copy */
} launched;

static void put_host_side(emitter *e, const launched *l)
{
    int64_t end = l->host_ns + l->cost_ns;
    synth_event op = {.kind = EV_CPU_OP,
                      .thread = l->host_thread,
                      .name = l->cpu,
                      .index = -1,
                      .start_ns = l->host_ns + OP_MARGIN_NS,
                      .end_ns = end - OP_MARGIN_NS,
                      .external = e->external,
                      .sequence = l->sequence,
                      .shapes = l->shapes,
                      .coll = l->coll};
    synth_event call = {.kind = EV_RUNTIME,
                        .thread = l->host_thread,
                        .name = l->runtime,
                        .index = -1,
                        .start_ns = end - LAUNCH_BEFORE_END_NS,
                        .end_ns = end - LAUNCH_BEFORE_END_NS + LAUNCH_LENGTH_NS,
                        .correlation = e->correlation,
                        .external = e->external,
                        .sequence = -1};
    put(e, op);
    put(e, call);
    put_flow(e, l->host_thread, call.start_ns, e->correlation, true, false);
    put_flow(e, l->device_thread, l->start_ns, e->correlation, true, true);
}

static void put_launch(emitter *e, const launched *l)
{
    e->external++;
    e->correlation++;
    if (e->pl->p.cpu) {
        put_host_side(e, l);
    }
    put(e, (synth_event){.kind = l->bytes > 0 ? EV_MEMCPY : EV_KERNEL,
                         .thread = l->device_thread,
                         .name = l->kernel,
                         .index = -1,
                         .start_ns = l->start_ns,
                         .end_ns = l->end_ns,
                         .correlation = e->pl->p.cpu ? e->correlation : 0,
                         .external = e->pl->p.cpu ? e->external : 0,
                         .sequence = -1,
                         .coll = l->coll,
                         .bytes = l->bytes});
}

static synth_thread host_thread(const emitter *e)
{
    return e->in_task && e->task.backward ? TH_AUTOGRAD : TH_MAIN;
}

/* Forward operators are numbered through the run; a backward one carries the number of the one that it undoes. */
static uint64_t layer_id(const emitter *e)
{
    uint64_t batch = (uint64_t)e->step_index * (uint64_t)e->pl->p.micro_batches + (uint64_t)e->task.micro_batch;
    return batch * (uint64_t)e->pl->p.layers + (uint64_t)e->layer + 1;
}

static int64_t sequence_of(const emitter *e)
{
    if (!e->in_task || e->layer < 0) {
        return -1;
    }
    int at = e->op_in_layer;
    if (e->part == PART_BACKWARD) {
        at = e->pl->fwd.n - 1 - at * e->pl->fwd.n / e->pl->bwd.n;
    }
    return (int64_t)layer_id(e) * FWD_OPS_MAX + at;
}

static void put_layer_flow(emitter *e, const sim_op *o)
{
    bool ends = e->part == PART_BACKWARD;
    if (e->pl->p.cpu && e->layer >= 0 && e->op_in_layer == 0 && e->part != PART_RECOMPUTE) {
        put_flow(e, host_thread(e), o->host_ns + OP_MARGIN_NS, layer_id(e), false, ends);
    }
}

static void on_op(void *ctx, const sim_op *o)
{
    emitter *e = ctx;
    coll_info coll = {.what = COLL_ALLREDUCE, .group = GROUP_TP, .dtype = "Half", .peer = -1};
    if (o->op->collective) {
        coll.in_elements = coll.out_elements = e->pl->activation_bytes / 2;
        coll.seq = e->seq[GROUP_TP]++;
    }
    put_layer_flow(e, o);
    put_launch(e, &(launched){.host_thread = host_thread(e),
                              .device_thread = o->op->collective ? TH_TP : TH_COMPUTE,
                              .cpu = o->op->cpu,
                              .runtime = o->op->collective ? NAME_R_LAUNCH_EX : NAME_R_LAUNCH,
                              .kernel = o->op->kernel,
                              .host_ns = o->host_ns,
                              .cost_ns = o->cost_ns,
                              .start_ns = o->start_ns,
                              .end_ns = o->end_ns,
                              .sequence = sequence_of(e),
                              .shapes = o->op->shapes,
                              .coll = o->op->collective ? &coll : NULL});
    e->dev_begun = e->dev_begun < 0 ? o->start_ns : e->dev_begun;
    e->step_dev_begun = e->step_dev_begun < 0 ? o->start_ns : e->step_dev_begun;
    e->recompute_dev = e->recompute_dev < 0 ? o->start_ns : e->recompute_dev;
    e->op_in_layer++;
}

/* All layers are run forward again, then all backward: the first and the last of these mark the recomputation. */
static void mark_recompute(emitter *e, bool begins, int64_t host_ns, int64_t dev_ns)
{
    int first = plan_first_layer(e->pl, e->g.stage);
    if (begins && e->layer == first) {
        e->recompute_host = host_ns;
        e->recompute_dev = -1;
    } else if (!begins && e->layer == first + plan_stage_layers(e->pl, e->g.stage) - 1) {
        int64_t index = e->task.micro_batch;
        annotate(e, host_thread(e), NAME_A_RECOMPUTE, index, e->recompute_host, host_ns);
        annotate(e, TH_COMPUTE, NAME_A_RECOMPUTE, index, e->recompute_dev, dev_ns);
    }
}

static void on_layer(void *ctx, sim_part part, int layer, bool begins, int64_t host_ns, int64_t dev_ns)
{
    emitter *e = ctx;
    if (part == PART_RECOMPUTE) {
        e->layer = layer;
        mark_recompute(e, begins, host_ns, dev_ns);
    }
    if (begins) {
        e->part = part;
        e->layer = layer;
        e->layer_host = host_ns;
        e->op_in_layer = 0;
        return;
    }
    if (e->pl->p.cpu) {
        annotate(e, host_thread(e), e->pl->layer_name, layer, e->layer_host, host_ns);
    }
    e->layer = -1;
}

static sim_rank *self(emitter *e)
{
    return &e->ranks[e->tp];
}

static void put_message(emitter *e, bool backward, bool send, int peer, int64_t host, int64_t start, int64_t end)
{
    int64_t elements = e->pl->activation_bytes / 2;
    int64_t *count = send ? &e->n_sent[backward] : &e->n_received[backward];
    coll_info coll = {.what = send ? COLL_SEND : COLL_RECV,
                      .group = GROUP_PP,
                      .in_elements = elements,
                      .out_elements = elements,
                      .dtype = "Half",
                      .seq = (*count)++,
                      .peer = peer};
    synth_thread thread = send ? (backward ? TH_SEND_PREV : TH_SEND_NEXT) : (backward ? TH_RECV_NEXT : TH_RECV_PREV);
    put_launch(e, &(launched){.host_thread = TH_MAIN,
                              .device_thread = thread,
                              .cpu = send ? NAME_C_SEND : NAME_C_RECV,
                              .runtime = NAME_R_LAUNCH_EX,
                              .kernel = NAME_K_SENDRECV,
                              .host_ns = host,
                              .cost_ns = self(e)->cost_ns,
                              .start_ns = start,
                              .end_ns = end,
                              .sequence = -1,
                              .coll = &coll});
}

static void put_sync(emitter *e, synth_name name, int64_t start, int64_t end)
{
    if (e->pl->p.cpu && end - start > 1000) {
        put(e, (synth_event){.kind = EV_RUNTIME,
                             .thread = TH_MAIN,
                             .name = name,
                             .index = -1,
                             .start_ns = start,
                             .end_ns = end,
                             .correlation = ++e->correlation,
                             .sequence = -1});
    }
}

static void receive_input(emitter *e)
{
    bool backward = e->task.backward;
    int mb = e->task.micro_batch;
    int first = e->rank - e->tp;
    int sender = solution_sender(e->pl, backward, e->rank);
    if (sender < 0) {
        return;
    }
    int64_t host = self(e)->host;
    int64_t posted = sim_post_ns(&e->g, e->tp);
    int64_t start = solution_transfer_start(e->s, backward, e->step_index, e->rank, mb);
    int64_t end = solution_transfer_end(e->s, backward, e->step_index, e->rank, mb);
    put_message(e, backward, false, sender, host, e->pl->p.p2p_wait ? posted : start, end);
    for (int t = 0; t < e->pl->p.tp; t++) {
        sim_receive(&e->g, t, solution_transfer_end(e->s, backward, e->step_index, first + t, mb));
    }
    put_sync(e, NAME_R_STREAM_SYNC, host + self(e)->cost_ns, self(e)->host);
}

static void send_output(emitter *e)
{
    bool backward = e->task.backward;
    int mb = e->task.micro_batch;
    int receiver = solution_receiver(e->pl, backward, e->rank);
    if (receiver < 0) {
        return;
    }
    int64_t host = self(e)->host;
    int64_t ready = 0;
    for (int t = 0; t < e->pl->p.tp; t++) {
        int64_t at = sim_send_ns(&e->g, t);
        ready = t == e->tp ? at : ready;
    }
    int64_t start = solution_transfer_start(e->s, backward, e->step_index, receiver, mb);
    int64_t end = solution_transfer_end(e->s, backward, e->step_index, receiver, mb);
    int64_t shown = e->pl->p.p2p_wait ? max64(ready, e->sent_until[backward]) : start;
    e->sent_until[backward] = end + 1000;
    put_message(e, backward, true, receiver, host, shown, end);
}

static void run_task(emitter *e, int k)
{
    e->task = plan_schedule(e->pl->p.pp, e->pl->p.micro_batches, e->g.stage, k);
    receive_input(e);
    synth_name name = e->task.backward ? NAME_A_BACKWARD : NAME_A_FORWARD;
    int64_t host = self(e)->host;
    e->in_task = true;
    e->dev_begun = -1;
    e->part = e->task.backward ? PART_BACKWARD : PART_FORWARD;
    sim_run_task(&e->g, k);
    e->in_task = false;
    annotate(e, TH_MAIN, name, e->task.micro_batch, host, self(e)->host);
    if (e->task.backward && e->pl->p.cpu) {
        annotate(e, TH_AUTOGRAD, name, e->task.micro_batch, host, self(e)->host);
    }
    annotate(e, TH_COMPUTE, name, e->task.micro_batch, e->dev_begun, self(e)->dev);
    send_output(e);
}

static void put_bucket(emitter *e, bool gather, synth_thread host, int64_t host_ns, int64_t start, int64_t end)
{
    const plan *pl = e->pl;
    bool sharded = pl->p.grad_sync == GRAD_SHARDED;
    int64_t elements = plan_bucket_bytes(pl, e->g.stage) / 2;
    coll_info coll = {.group = GROUP_DP, .in_elements = elements, .out_elements = elements, .peer = -1};
    coll.what = gather ? COLL_ALLGATHER : sharded ? COLL_REDUCESCATTER : COLL_ALLREDUCE;
    coll.dtype = sharded && !gather ? "Float" : "Half";
    coll.in_elements = gather ? elements / pl->p.dp : elements;
    coll.out_elements = sharded && !gather ? elements / pl->p.dp : elements;
    coll.seq = e->seq[GROUP_DP]++;
    synth_name cpu = gather ? NAME_C_ALLGATHER : sharded ? NAME_C_REDUCESCATTER : NAME_C_ALLREDUCE;
    synth_name kernel = gather ? NAME_K_ALLGATHER : sharded ? NAME_K_REDUCESCATTER : NAME_K_ALLREDUCE;
    put_launch(e, &(launched){.host_thread = host,
                              .device_thread = TH_DP,
                              .cpu = cpu,
                              .runtime = NAME_R_LAUNCH_EX,
                              .kernel = kernel,
                              .host_ns = host_ns,
                              .cost_ns = self(e)->cost_ns,
                              .start_ns = start,
                              .end_ns = end,
                              .sequence = -1,
                              .coll = &coll});
}

static void run_buckets(emitter *e)
{
    const plan *pl = e->pl;
    for (int b = 0; pl->p.dp > 1 && b < plan_buckets(pl, e->g.stage); b++) {
        for (int t = 0; t < pl->p.tp; t++) {
            int64_t arrival = sim_bucket_arrival(&e->g, t, b);
            int64_t done = solution_bucket_end(e->s, e->step_index, e->rank - e->tp + t, b);
            MAREY_ASSERT(arrival <= done);
            int64_t end = sim_bucket_done(&e->g, t, done);
            if (t == e->tp) {
                put_bucket(e, false, TH_AUTOGRAD, e->ranks[t].launch[b], arrival, end);
            }
        }
    }
}

static void run_gathers(emitter *e)
{
    const plan *pl = e->pl;
    if (pl->p.dp < 2 || pl->p.grad_sync != GRAD_SHARDED) {
        return;
    }
    for (int b = 0; b < plan_buckets(pl, e->g.stage); b++) {
        for (int t = 0; t < pl->p.tp; t++) {
            int64_t host = e->ranks[t].host;
            int64_t arrival = sim_gather_arrival(&e->g, t);
            int64_t end = sim_gather_done(&e->g, t, solution_gather_end(e->s, e->step_index, e->rank - e->tp + t, b));
            if (t == e->tp) {
                put_bucket(e, true, TH_MAIN, host, arrival, end);
            }
        }
    }
}

static void wait_for_buckets(emitter *e)
{
    for (int t = 0; t < e->pl->p.tp; t++) {
        sim_wait_for_buckets(&e->g, t);
    }
}

static void put_meeting(emitter *e, int which, int64_t host, int64_t start, int64_t end)
{
    coll_info coll = {.what = COLL_ALLREDUCE,
                      .group = GROUP_WORLD,
                      .in_elements = 1,
                      .out_elements = 1,
                      .dtype = "Float",
                      .seq = e->seq[GROUP_WORLD]++,
                      .peer = -1};
    put_launch(e, &(launched){.host_thread = TH_MAIN,
                              .device_thread = TH_WORLD,
                              .cpu = NAME_C_ALLREDUCE,
                              .runtime = NAME_R_LAUNCH_EX,
                              .kernel = which == MEET_FOUND_INF ? NAME_K_ALLREDUCE_MAX : NAME_K_ALLREDUCE_F32,
                              .host_ns = host,
                              .cost_ns = self(e)->cost_ns,
                              .start_ns = start,
                              .end_ns = end,
                              .sequence = -1,
                              .coll = &coll});
}

static void meet(emitter *e, int which)
{
    if (e->pl->p.ranks < 2) {
        return;
    }
    int64_t done = e->s->meet_end[e->step_index * MEET_COUNT + which];
    for (int t = 0; t < e->pl->p.tp; t++) {
        int64_t host = e->ranks[t].host;
        int64_t arrival = sim_meet_arrival(&e->g, t);
        MAREY_ASSERT(arrival <= done);
        int64_t end = sim_meet_done(&e->g, t, done);
        if (t == e->tp) {
            put_meeting(e, which, host, arrival, end);
        }
    }
}

static void run_optimizer(emitter *e)
{
    int64_t host = max64(self(e)->host, self(e)->dev);
    e->dev_begun = -1;
    e->part = PART_OPTIMIZER;
    sim_run_optimizer(&e->g);
    annotate(e, TH_MAIN, NAME_A_OPTIMIZER, -1, host, self(e)->host);
    annotate(e, TH_COMPUTE, NAME_A_OPTIMIZER, -1, e->dev_begun, self(e)->dev);
}

/* The next batch: fetched on the host, then copied by the ranks that need it (the first stage data, the last one
 * labels). */
static void fetch_data(emitter *e, int64_t begin)
{
    int64_t bytes = e->pl->layer_name == NAME_A_BLOCK ? INT64_C(77070336) : INT64_C(32768) * e->pl->p.micro_batches;
    int64_t copy_ns = begin + 200000;
    if (e->pl->p.cpu) {
        annotate(e, TH_MAIN, NAME_A_DATA, -1, begin + 10000, begin + 180000);
    }
    if (e->g.stage != 0 && e->g.stage != e->pl->p.pp - 1) {
        return;
    }
    put_launch(e, &(launched){.host_thread = TH_MAIN,
                              .device_thread = TH_COPY,
                              .cpu = NAME_C_COPY,
                              .runtime = NAME_R_MEMCPY,
                              .kernel = NAME_M_HTOD,
                              .host_ns = copy_ns,
                              .cost_ns = e->pl->launch_ns,
                              .start_ns = copy_ns + e->pl->launch_ns + 1500,
                              .end_ns = copy_ns + e->pl->launch_ns + 3500 + bytes / 25,
                              .sequence = -1,
                              .bytes = bytes});
}

static void run_step(emitter *e, int index)
{
    e->step_index = index;
    e->step_dev_begun = -1;
    int64_t begin = max64(self(e)->host, self(e)->dev);
    sim_begin_step(&e->g, e->pl->p.first_step + index);
    fetch_data(e, begin);
    for (int k = 0; k < 2 * e->pl->p.micro_batches; k++) {
        run_task(e, k);
    }
    run_buckets(e);
    wait_for_buckets(e);
    sim_run_norm(&e->g);
    meet(e, MEET_FOUND_INF);
    meet(e, MEET_NORM);
    run_optimizer(e);
    run_gathers(e);
    wait_for_buckets(e);
    meet(e, MEET_LOSS);
    int64_t host = self(e)->host;
    sim_end_step(&e->g);
    put_sync(e, NAME_R_DEVICE_SYNC, host, self(e)->host);
    annotate(e, TH_MAIN, NAME_A_STEP, e->pl->p.first_step + index, begin, self(e)->host);
    annotate(e, TH_COMPUTE, NAME_A_STEP, e->pl->p.first_step + index, e->step_dev_begun, self(e)->dev);
}

static void put_recording(emitter *e)
{
    synth_event span = {.kind = EV_SPAN, .thread = TH_SPAN, .name = NAME_T_SPAN, .index = -1, .sequence = -1};
    span.end_ns = e->s->end_ns;
    put(e, span);
    synth_event mark = {.kind = EV_INSTANT, .thread = TH_TRACES, .name = NAME_T_START, .index = -1, .sequence = -1};
    put(e, mark);
    mark.thread = TH_NONE;
    mark.name = NAME_T_END;
    mark.start_ns = mark.end_ns = e->s->end_ns;
    put(e, mark);
}

marey_status emit_rank(const solution *s, int rank, const synth_sink *sink)
{
    emitter *e = mem_calloc(1, sizeof *e);
    *e = (emitter){.s = s, .pl = &s->pl, .rank = rank, .tp = plan_tp(&s->pl, rank), .sink = sink, .layer = -1};
    e->watch = (sim_watch){.tp = e->tp, .ctx = e, .op = on_op, .layer = on_layer};
    e->g = (sim_group){.pl = &s->pl,
                       .stage = plan_stage(&s->pl, rank),
                       .dp = plan_dp(&s->pl, rank),
                       .ranks = e->ranks,
                       .watch = &e->watch};
    sim_begin_run(&e->g);
    for (int i = 0; i < s->pl.p.steps && e->status == MAREY_OK; i++) {
        run_step(e, i);
        if (is_cancelled(sink->cancel)) {
            e->status = MAREY_CANCELLED;
        }
    }
    put_recording(e);
    marey_status status = e->status;
    free(e);
    return status;
}

const char *emit_category(event_kind kind)
{
    static const char *const texts[EV_KINDS] = {"cpu_op",     "user_annotation",     "cuda_runtime", "kernel",
                                                "gpu_memcpy", "gpu_user_annotation", "Trace",        NULL};
    return texts[kind];
}

bool emit_has_thread(const plan *pl, int rank, synth_thread thread)
{
    int stage = plan_stage(pl, rank);
    switch (thread) {
    case TH_AUTOGRAD:
        return pl->p.cpu;
    case TH_COPY:
        return stage == 0 || stage == pl->p.pp - 1;
    case TH_TP:
        return pl->p.tp > 1;
    case TH_DP:
        return pl->p.dp > 1;
    case TH_WORLD:
        return pl->p.ranks > 1;
    case TH_SEND_NEXT:
    case TH_RECV_NEXT:
        return stage < pl->p.pp - 1;
    case TH_SEND_PREV:
    case TH_RECV_PREV:
        return stage > 0;
    default:
        return true;
    }
}

void emit_thread(const plan *pl, int rank, synth_thread thread, thread_text *out)
{
    static const int streams[TH_COUNT] = {
        [TH_COMPUTE] = 7,    [TH_COPY] = 12,      [TH_TP] = 20,        [TH_DP] = 24,       [TH_WORLD] = 28,
        [TH_SEND_NEXT] = 32, [TH_RECV_PREV] = 36, [TH_SEND_PREV] = 40, [TH_RECV_NEXT] = 44};
    int pid = 41000 + rank;
    (void)pl;
    *out = (thread_text){.quoted = thread >= TH_SPAN, .is_device = thread >= TH_COMPUTE && thread < TH_SPAN};
    if (out->is_device) {
        (void)snprintf(out->pid, sizeof out->pid, "%d", rank % SYNTH_RANKS_PER_HOST);
        (void)snprintf(out->tid, sizeof out->tid, "%d", streams[thread]);
        (void)snprintf(out->name, sizeof out->name, "stream %d ", streams[thread]);
        out->sort_index = streams[thread];
    } else if (!out->quoted) {
        int tid = thread == TH_MAIN ? pid : pid + 500000;
        (void)snprintf(out->pid, sizeof out->pid, "%d", pid);
        (void)snprintf(out->tid, sizeof out->tid, "%d", tid);
        (void)snprintf(out->name, sizeof out->name, "thread %d (%s)", tid,
                       thread == TH_MAIN ? "python" : "pt_autograd_0");
        out->sort_index = tid;
    } else if (thread == TH_SPAN) {
        (void)snprintf(out->pid, sizeof out->pid, "Spans");
        (void)snprintf(out->tid, sizeof out->tid, "PyTorch Profiler");
    } else if (thread == TH_TRACES) {
        (void)snprintf(out->pid, sizeof out->pid, "Traces");
        (void)snprintf(out->tid, sizeof out->tid, "Trace PyTorch Profiler");
    }
}
