/*
 * Contract of the replay: with nothing changed the run ends when it ended; compute that is taken out moves all who
 * waited for it, as far as the next slowest lets them; what nobody waited for changes nothing; a slow transfer that is
 * mended saves what was exposed of it. Runs made by hand, times in us.
 */
#include "cm.h"

#include "diagnose/instances.h"
#include "diagnose/replay.h"

enum { RANKS = 2, SEND_RANK = 0, RECEIVE_RANK = 1 };

typedef struct made {
    diagnosis g;
    trace_model model;
} made;

static void make(made *m, int64_t end_ns)
{
    memset(m, 0, sizeof *m);
    trace_model_init(&m->model);
    collected *c = &m->g.data;
    c->n_ranks = RANKS;
    c->n_steps = 1;
    c->step_index = mem_calloc(1, sizeof *c->step_index);
    c->cells = mem_calloc(RANKS, sizeof *c->cells);
    c->has_device = mem_calloc(RANKS, sizeof *c->has_device);
    c->comm = mem_calloc(64, sizeof *c->comm);
    for (size_t r = 0; r < RANKS; r++) {
        trace_rank rank = {.rank = (int64_t)r, .host = "h", .device = "", .label = "rank", .clock_method = "none"};
        VEC_PUSH(m->model.ranks, m->model.n_ranks, m->model.cap_ranks, rank);
        c->has_device[r] = true;
        c->cells[r].end_ns = end_ns;
    }
    m->model.duration_ns = end_ns;
    m->g.model = &m->model;
}

/* Nothing computed while it ran. */
static void put(made *m, uint32_t rank, comm_op op, int64_t start_us, int64_t end_us, int64_t ready_us,
                int64_t compute_us)
{
    collected *c = &m->g.data;
    const int64_t us = 1000;
    size_t i = c->n_comm++;
    c->comm[i] = (comm_event){.start_ns = start_us * us,
                              .end_ns = end_us * us,
                              .ready_ns = ready_us * us,
                              .compute_ns = compute_us * us,
                              .compute_end_ns = compute_us * us,
                              .bytes = 8,
                              .seq = (int64_t)i / RANKS,
                              .rank = rank,
                              .group = op == OP_ALLREDUCE ? 0 : NO_ID,
                              .lane = rank * 10 + op,
                              .op = (uint8_t)op};
    c->cells[rank].set_ns[BUSY_COMPUTE] = compute_us * us;
}

static replay *begin(made *m)
{
    comm_match(m->g.data.comm, m->g.data.n_comm, &m->g.data.match);
    instances_find(&m->g);
    transfers_find(&m->g);
    replay *r = replay_create(&m->g);
    assert_non_null(r);
    return r;
}

static void end(made *m, replay **r)
{
    replay_destroy(r);
    diagnose_free(&m->g);
    trace_model_deinit(&m->model);
}

static const replay_change nothing = {.a = NO_ID, .b = NO_ID, .group = NO_ID, .transfer = 1};

/* Rank 0 computes 1000, rank 1 600; both then all-reduce for 100; twice. */
static void make_slow_rank(made *m)
{
    make(m, 2200000);
    put(m, 0, OP_ALLREDUCE, 1000, 1100, 1000, 1000);
    put(m, 1, OP_ALLREDUCE, 600, 1100, 600, 600);
    put(m, 0, OP_ALLREDUCE, 2100, 2200, 2100, 2000);
    put(m, 1, OP_ALLREDUCE, 1700, 2200, 1700, 1200);
}

static void nothing_changes_nothing(void **state)
{
    (void)state;
    made m;
    make_slow_rank(&m);
    replay *r = begin(&m);
    assert_int_equal(replay_run(r, &nothing), 0);
    end(&m, &r);
}

static void no_further_than_the_next_slowest(void **state)
{
    (void)state;
    made m;
    make_slow_rank(&m);
    replay *r = begin(&m);
    const float half[RANKS] = {0.5F, 1};
    const float fifth_less[RANKS] = {0.8F, 1};
    const float other[RANKS] = {1, 0.5F};
    replay_change c = nothing;
    c.compute = fifth_less;
    assert_int_equal(llabs(replay_run(r, &c) - 400000) <= 2, 1); /* 2 x 200: still the slowest */
    c.compute = half;
    assert_int_equal(llabs(replay_run(r, &c) - 800000) <= 2, 1); /* 2 x (1000 - 600): now rank 1 is */
    c.compute = other;
    assert_int_equal(replay_run(r, &c), 0); /* nobody waited for it */
    end(&m, &r);
}

/* Rank 0 sends from 950 on for 100; rank 1 waits for it from 200, and computes on to 1600. */
static void a_link_moves_who_waits(void **state)
{
    (void)state;
    made m;
    make(&m, 1600000);
    put(&m, SEND_RANK, OP_SEND, 950, 1050, 950, 550);
    put(&m, RECEIVE_RANK, OP_RECEIVE, 950, 1050, 200, 200);
    m.g.data.cells[RECEIVE_RANK].set_ns[BUSY_COMPUTE] = 750000;
    m.g.data.cells[SEND_RANK].end_ns = 1050000;
    replay *r = begin(&m);
    assert_int_equal(m.g.n_transfers, 1);
    assert_int_equal(replay_run(r, &nothing), 0);
    replay_change c = nothing;
    c.a = SEND_RANK;
    c.b = RECEIVE_RANK;
    c.transfer = 0.25;
    assert_int_equal(replay_run(r, &c), 75000);
    c.a = 5;
    assert_int_equal(replay_run(r, &c), 0); /* another link */
    end(&m, &r);
}

static void none_without_communication(void **state)
{
    (void)state;
    made m;
    make(&m, 100);
    assert_null(replay_create(&m.g));
    diagnose_free(&m.g);
    trace_model_deinit(&m.model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_changes_nothing),
        cmocka_unit_test(no_further_than_the_next_slowest),
        cmocka_unit_test(a_link_moves_who_waits),
        cmocka_unit_test(none_without_communication),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
