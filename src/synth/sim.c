#include "synth/sim.h"

enum {
    KERNEL_GAP_NS = 1000, /* between two kernels of a stream */
    LAUNCH_LATENCY_NS = 1500,
    SYNC_NS = 3000,       /* a host notices that the device is done */
    DATA_NS = 300000,     /* the next batch is fetched */
    TP_JITTER_MASK = 1023 /* members of a collective inside a host leave within about 1 us */
};

static int64_t max64(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static uint64_t mix(uint64_t x)
{
    x ^= x >> 30;
    x *= UINT64_C(0xbf58476d1ce4e5b9);
    x ^= x >> 27;
    x *= UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

/* Four 16-bit uniforms, summed and centred: -131070 .. 131070 with deviation 37837, nearly normal. */
static int64_t centred(uint64_t bits)
{
    uint64_t sum = (bits & 0xffff) + (bits >> 16 & 0xffff) + (bits >> 32 & 0xffff) + (bits >> 48);
    return (int64_t)sum - 131070;
}

double sim_noise(uint64_t seed, uint64_t a, uint64_t b, uint64_t c)
{
    uint64_t h = mix(seed + UINT64_C(0x9e3779b97f4a7c15));
    h = mix(h ^ (a + UINT64_C(0x632be59bd9b4e019)));
    h = mix(h ^ (b + UINT64_C(0xd6e8feb86659fd93)));
    h = mix(h ^ (c + UINT64_C(0xa0761d6478bd642f)));
    return (double)centred(h) / 37837.0;
}

/* value * (1 + noise * z), all in integers. `noise_q` is the deviation in 1/65536. */
static int64_t with_noise(int64_t value, int64_t noise_q, uint64_t bits)
{
    int64_t relative = centred(bits) * noise_q / 37837;
    return value + value * relative / PLAN_FACTOR_ONE;
}

static int64_t noise_q(const sim_group *g)
{
    return (int64_t)(g->pl->p.noise * PLAN_FACTOR_ONE + 0.5);
}

void sim_begin_run(sim_group *g)
{
    for (int t = 0; t < g->pl->p.tp; t++) {
        g->ranks[t] = (sim_rank){.stalled_at = -1};
    }
}

void sim_begin_step(sim_group *g, int step)
{
    const plan *pl = g->pl;
    int first = plan_rank(pl, g->stage, g->dp, 0);
    g->step = step;
    g->tp_ns = plan_collective_ns(pl, GROUP_TP, first, COLL_ALLREDUCE, pl->activation_bytes, step);
    for (int t = 0; t < pl->p.tp; t++) {
        sim_rank *s = &g->ranks[t];
        uint64_t place = (uint64_t)(uint32_t)(first + t) << 32 | (uint32_t)step;
        prng_seed(&s->rng, mix(pl->p.seed) ^ mix(place + 1));
        s->factor = plan_compute_factor(pl, first + t, step);
        s->cost_ns = plan_launch_cost(pl, first + t, step);
        s->stall_ns = plan_stall_ns(pl, first + t, step);
        s->host = max64(s->host, s->dev) + DATA_NS + (int64_t)prng_below(&s->rng, DATA_NS / 4);
        s->begun = s->host;
    }
}

int64_t sim_post_ns(const sim_group *g, int tp)
{
    const sim_rank *s = &g->ranks[tp];
    return max64(s->dev + KERNEL_GAP_NS, s->host + s->cost_ns + LAUNCH_LATENCY_NS);
}

void sim_receive(sim_group *g, int tp, int64_t end_ns)
{
    sim_rank *s = &g->ranks[tp];
    s->host = max64(s->host + s->cost_ns, end_ns) + SYNC_NS;
    s->dev = max64(s->dev, end_ns);
}

int64_t sim_send_ns(sim_group *g, int tp)
{
    sim_rank *s = &g->ranks[tp];
    s->host += s->cost_ns;
    return max64(s->dev + KERNEL_GAP_NS, s->host + LAUNCH_LATENCY_NS);
}

static void report(const sim_group *g, int t, const plan_op *op, int64_t host, int64_t start)
{
    if (g->watch && g->watch->tp == t) {
        sim_op o = {op, host, g->ranks[t].cost_ns, start, g->ranks[t].dev};
        g->watch->op(g->watch->ctx, &o);
    }
}

static int64_t launch(sim_rank *s)
{
    s->host += s->cost_ns;
    return max64(s->dev + KERNEL_GAP_NS, s->host + LAUNCH_LATENCY_NS);
}

static void run_kernel(sim_group *g, const plan_op *op, int64_t noise)
{
    for (int t = 0; t < g->pl->p.tp; t++) {
        sim_rank *s = &g->ranks[t];
        int64_t host = s->host;
        int64_t start = launch(s);
        int64_t busy = (int64_t)op->base_ns * s->task_factor / PLAN_FACTOR_ONE;
        s->dev = start + max64(with_noise(busy, noise, prng_next(&s->rng)), 500);
        report(g, t, op, host, start);
    }
}

static void run_allreduce(sim_group *g, const plan_op *op)
{
    int64_t host[SYNTH_MAX_TP] = {0};
    int64_t start[SYNTH_MAX_TP] = {0};
    int64_t latest = 0;
    for (int t = 0; t < g->pl->p.tp; t++) {
        host[t] = g->ranks[t].host;
        start[t] = launch(&g->ranks[t]);
        latest = max64(latest, start[t]);
    }
    for (int t = 0; t < g->pl->p.tp; t++) {
        sim_rank *s = &g->ranks[t];
        s->dev = latest + g->tp_ns + (int64_t)(prng_next(&s->rng) & TP_JITTER_MASK);
        report(g, t, op, host[t], start[t]);
    }
}

static void run_pass(sim_group *g, const plan_pass *pass)
{
    int64_t noise = noise_q(g);
    for (int i = 0; i < pass->n; i++) {
        if (pass->ops[i].collective) {
            run_allreduce(g, &pass->ops[i]);
        } else {
            run_kernel(g, &pass->ops[i], noise);
        }
    }
}

static void mark_layer(const sim_group *g, sim_part part, int layer, bool begins)
{
    const sim_watch *w = g->watch;
    if (w && w->layer) {
        w->layer(w->ctx, part, layer, begins, g->ranks[w->tp].host, g->ranks[w->tp].dev);
    }
}

static void run_layer(sim_group *g, const plan_pass *pass, sim_part part, int layer)
{
    mark_layer(g, part, layer, true);
    run_pass(g, pass);
    mark_layer(g, part, layer, false);
}

/* After `done` of the stage's layers the gradients of these buckets are complete. */
static void release_buckets(sim_group *g, int done)
{
    const plan *pl = g->pl;
    int n = plan_buckets(pl, g->stage);
    int layers = plan_stage_layers(pl, g->stage);
    if (pl->p.dp < 2) {
        return;
    }
    for (int b = (done - 1) * n / layers; b < done * n / layers; b++) {
        for (int t = 0; t < pl->p.tp; t++) {
            sim_rank *s = &g->ranks[t];
            s->ready[b] = s->dev;
            s->launch[b] = s->host;
            s->host += s->cost_ns;
        }
    }
}

static void run_forward(sim_group *g, sim_part part)
{
    int layers = plan_stage_layers(g->pl, g->stage);
    int first = plan_first_layer(g->pl, g->stage);
    if (g->stage == 0) {
        run_pass(g, &g->pl->first);
    }
    for (int i = 0; i < layers; i++) {
        run_layer(g, &g->pl->fwd, part, first + i);
    }
    if (g->stage == g->pl->p.pp - 1) {
        run_pass(g, &g->pl->last);
    }
}

static void run_backward(sim_group *g, bool is_last)
{
    int layers = plan_stage_layers(g->pl, g->stage);
    int first = plan_first_layer(g->pl, g->stage);
    if (g->pl->p.recompute) {
        run_forward(g, PART_RECOMPUTE);
    }
    if (g->stage == g->pl->p.pp - 1) {
        run_pass(g, &g->pl->last);
    }
    for (int i = layers - 1; i >= 0; i--) {
        run_layer(g, &g->pl->bwd, PART_BACKWARD, first + i);
        if (is_last) {
            release_buckets(g, layers - i);
        }
    }
    if (g->stage == 0) {
        run_pass(g, &g->pl->first);
    }
}

static void begin_task(sim_group *g, int k)
{
    int64_t noise = noise_q(g) / 2;
    for (int t = 0; t < g->pl->p.tp; t++) {
        sim_rank *s = &g->ranks[t];
        s->task_factor = with_noise(s->factor, noise, prng_next(&s->rng));
        s->host = max64(s->host, s->begun);
        if (s->stall_ns > 0 && k == g->pl->p.micro_batches) {
            s->stalled_at = max64(s->host, s->dev);
            s->host = s->stalled_at + s->stall_ns;
        }
        s->begun = max64(s->dev, s->host);
    }
}

void sim_run_task(sim_group *g, int k)
{
    plan_task task = plan_schedule(g->pl->p.pp, g->pl->p.micro_batches, g->stage, k);
    begin_task(g, k);
    if (task.backward) {
        run_backward(g, task.micro_batch == g->pl->p.micro_batches - 1);
    } else {
        run_forward(g, PART_FORWARD);
    }
}

/* Most ranks leave a collective within a few microseconds of its end, a few much later: max * u^6. */
static int64_t leave_late(const sim_group *g, sim_rank *s)
{
    double u = prng_unit(&s->rng);
    double u3 = u * u * u;
    return (int64_t)((double)g->pl->p.clock_jitter_max_ns * (u3 * u3)) + (int64_t)(prng_next(&s->rng) & TP_JITTER_MASK);
}

int64_t sim_bucket_arrival(const sim_group *g, int tp, int bucket)
{
    const sim_rank *s = &g->ranks[tp];
    int64_t launched = s->launch[bucket] + s->cost_ns + LAUNCH_LATENCY_NS;
    return max64(max64(s->ready[bucket], s->dp_free) + KERNEL_GAP_NS, launched);
}

int64_t sim_bucket_done(sim_group *g, int tp, int64_t end_ns)
{
    sim_rank *s = &g->ranks[tp];
    s->dp_free = end_ns + leave_late(g, s);
    return s->dp_free;
}

void sim_wait_for_buckets(sim_group *g, int tp)
{
    g->ranks[tp].dev = max64(g->ranks[tp].dev, g->ranks[tp].dp_free);
}

int64_t sim_meet_arrival(const sim_group *g, int tp)
{
    const sim_rank *s = &g->ranks[tp];
    return max64(s->dev + KERNEL_GAP_NS, s->host + s->cost_ns + LAUNCH_LATENCY_NS);
}

int64_t sim_meet_done(sim_group *g, int tp, int64_t end_ns)
{
    sim_rank *s = &g->ranks[tp];
    s->host += s->cost_ns;
    s->dev = end_ns + leave_late(g, s);
    return s->dev;
}

static void run_per_layer(sim_group *g, const plan_pass *pass)
{
    int layers = plan_stage_layers(g->pl, g->stage);
    for (int t = 0; t < g->pl->p.tp; t++) {
        g->ranks[t].task_factor = g->ranks[t].factor;
        g->ranks[t].host = max64(g->ranks[t].host, g->ranks[t].dev);
    }
    for (int i = 0; i < layers; i++) {
        run_pass(g, pass);
    }
}

void sim_run_norm(sim_group *g)
{
    run_per_layer(g, &g->pl->norm);
}

void sim_run_optimizer(sim_group *g)
{
    run_per_layer(g, &g->pl->optimizer);
}

int64_t sim_gather_arrival(const sim_group *g, int tp)
{
    const sim_rank *s = &g->ranks[tp];
    return max64(max64(s->dev, s->dp_free) + KERNEL_GAP_NS, s->host + s->cost_ns + LAUNCH_LATENCY_NS);
}

int64_t sim_gather_done(sim_group *g, int tp, int64_t end_ns)
{
    sim_rank *s = &g->ranks[tp];
    s->host += s->cost_ns;
    s->dp_free = end_ns + leave_late(g, s);
    return s->dp_free;
}

void sim_end_step(sim_group *g)
{
    for (int t = 0; t < g->pl->p.tp; t++) {
        sim_rank *s = &g->ranks[t];
        s->dev = max64(s->dev, s->dp_free);
        s->host = max64(s->host, s->dev) + SYNC_NS;
    }
}
