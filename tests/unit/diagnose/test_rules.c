/*
 * Contract of the rules, on runs made by hand: the one who is to blame is named first, with a severity over 0.3, and
 * not those who wait for it; nobody is accused where all are alike.
 */
#include "cm.h"

#include "diagnose/rules.h"

enum { RANKS = 16, STEPS = 4, STEP_NS = 1000000 };

typedef struct made {
    diagnosis g;
    trace_model model;
} made;

static void make(made *m, size_t n_ranks, const char *host_of_rank)
{
    memset(m, 0, sizeof *m);
    trace_model_init(&m->model);
    collected *c = &m->g.data;
    c->n_ranks = n_ranks;
    c->n_steps = STEPS;
    c->has_steps = true;
    c->step_index = mem_calloc(STEPS, sizeof *c->step_index);
    c->cells = mem_calloc(n_ranks * STEPS + 1, sizeof *c->cells);
    c->has_device = mem_calloc(n_ranks + 1, sizeof *c->has_device);
    c->comm = mem_calloc(4096, sizeof *c->comm);
    for (size_t r = 0; r < n_ranks; r++) {
        trace_rank rank = {.rank = (int64_t)r,
                           .host = host_of_rank,
                           .device = "",
                           .label = "rank",
                           .stage = 0,
                           .dp = -1,
                           .tp = -1,
                           .ep = -1,
                           .clock_method = "in-step"};
        VEC_PUSH(m->model.ranks, m->model.n_ranks, m->model.cap_ranks, rank);
        c->has_device[r] = true;
        for (size_t k = 0; k < STEPS; k++) {
            rank_step *w = collected_cell(c, r, k);
            w->start_ns = (int64_t)k * STEP_NS;
            w->end_ns = w->start_ns + STEP_NS;
            w->set_ns[BUSY_COMPUTE] = 800000;
            w->set_ns[BUSY_COLLECTIVE] = 200000;
        }
    }
    for (size_t k = 0; k < STEPS; k++) {
        c->step_index[k] = (int64_t)k + 10;
    }
    m->model.duration_ns = STEPS * STEP_NS;
    m->g.model = &m->model;
}

static void judge(made *m)
{
    comm_match(m->g.data.comm, m->g.data.n_comm, &m->g.data.match);
    diagnose_judge(&m->g);
}

static void release(made *m)
{
    diagnose_free(&m->g);
    trace_model_deinit(&m->model);
}

static const finding *first(const made *m)
{
    assert_true(m->g.n_findings > 0);
    return &m->g.findings[0];
}

static void alike(void **state)
{
    (void)state;
    made m;
    make(&m, 8, "a");
    judge(&m);
    for (size_t i = 0; i < m.g.n_findings; i++) {
        assert_true(m.g.findings[i].severity <= 0.3);
    }
    release(&m);
}

/* One of eight ranks computes 10 % longer. */
static void a_tenth_slower(void **state)
{
    (void)state;
    made m;
    make(&m, 8, "a");
    for (size_t k = 0; k < STEPS; k++) {
        collected_cell(&m.g.data, 5, k)->set_ns[BUSY_COMPUTE] = 880000;
        collected_cell(&m.g.data, 5, k)->set_ns[BUSY_COLLECTIVE] = 120000;
    }
    judge(&m);
    const finding *f = first(&m);
    assert_int_equal(f->kind, FINDING_SLOW_RANK);
    assert_true(f->severity > 0.3);
    assert_int_equal(f->n_ranks, 1);
    assert_int_equal(f->ranks[0], 5);
    assert_int_equal(f->n_steps, STEPS);
    release(&m);
}

/* It is slow in one step only: that step is named, and what the run would take without it is told of that step. */
static void slow_for_one_step(void **state)
{
    (void)state;
    made m;
    make(&m, 8, "a");
    for (size_t r = 0; r < 8; r++) {
        rank_step *w = collected_cell(&m.g.data, r, 1);
        w->end_ns += 190000;
        w->wait_ns = r == 2 ? 0 : 190000;
        w->set_ns[r == 2 ? BUSY_COMPUTE : BUSY_COLLECTIVE] += 190000;
    }
    judge(&m);
    bool told = false;
    for (size_t i = 0; i < m.g.n_what_ifs; i++) {
        const what_if *w = &m.g.what_ifs[i];
        if (strcmp(w->without, "rank in step 11") == 0) {
            assert_int_equal(w->step_ns, STEP_NS + 190000);
            assert_int_equal(w->step_without_ns, STEP_NS);
            told = true;
        }
    }
    assert_true(told);
    assert_int_equal(first(&m)->kind, FINDING_SLOW_RANK);
    assert_int_equal(first(&m)->n_steps, 1);
    assert_int_equal(m.g.data.step_index[first(&m)->steps[0]], 11);
    assert_int_equal(first(&m)->t0_ns, STEP_NS);
    release(&m);
}

/* A pause is told from many small ones. */
static void pause_or_launches(void **state)
{
    (void)state;
    made m;
    make(&m, 8, "a");
    rank_step *w = collected_cell(&m.g.data, 3, 2);
    w->own_gap_ns = w->longest_gap_ns = 300000;
    w->longest_gap_at_ns = w->start_ns + 1234;
    w->n_own_gaps = 1;
    judge(&m);
    assert_int_equal(first(&m)->kind, FINDING_STALL);
    assert_int_equal(first(&m)->ranks[0], 3);
    assert_int_equal(first(&m)->t0_ns, 2 * STEP_NS + 1234);
    release(&m);
    make(&m, 8, "a");
    for (size_t k = 0; k < STEPS; k++) {
        w = collected_cell(&m.g.data, 6, k);
        w->own_gap_ns = 300000;
        w->longest_gap_ns = 1000;
        w->n_own_gaps = 300;
    }
    judge(&m);
    assert_int_equal(first(&m)->kind, FINDING_LAUNCH_BOUND);
    assert_int_equal(first(&m)->ranks[0], 6);
    release(&m);
}

static void a_heavy_stage(void **state)
{
    (void)state;
    made m;
    make(&m, RANKS, "a");
    for (size_t r = 0; r < RANKS; r++) {
        m.model.ranks[r].stage = (int32_t)(r / 4);
        for (size_t k = 0; k < STEPS; k++) {
            collected_cell(&m.g.data, r, k)->set_ns[BUSY_COMPUTE] = r / 4 == 2 ? 780000 : 600000;
        }
    }
    judge(&m);
    const finding *f = first(&m);
    assert_int_equal(f->kind, FINDING_STAGE_IMBALANCE);
    assert_int_equal(f->stage, 2);
    assert_int_equal(f->n_ranks, 4);
    assert_int_equal(f->ranks[0], 8);
    for (size_t i = 1; i < m.g.n_findings; i++) {
        assert_true(m.g.findings[i].severity <= 0.3);
    }
    release(&m);
}

/* All ranks compute longer in one step: the step is named, no rank. */
static void a_long_step(void **state)
{
    (void)state;
    made m;
    make(&m, 8, "a");
    for (size_t r = 0; r < 8; r++) {
        collected_cell(&m.g.data, r, 3)->set_ns[BUSY_COMPUTE] = 1200000;
        collected_cell(&m.g.data, r, 3)->end_ns += 400000;
    }
    judge(&m);
    assert_int_equal(first(&m)->kind, FINDING_STEP_OUTLIER);
    assert_int_equal(m.g.data.step_index[first(&m)->steps[0]], 13);
    assert_int_equal(first(&m)->n_ranks, 0);
    release(&m);
}

/* Eight pairs send the same bytes: seven at 20 GB/s, one at 12. */
static void one_slow_link(void **state)
{
    (void)state;
    made m;
    make(&m, RANKS, "a");
    collected *c = &m.g.data;
    for (size_t k = 0; k < STEPS; k++) {
        for (uint32_t p = 0; p < 8; p++) {
            for (int64_t i = 0; i < 8; i++) {
                int64_t ns = p == 4 ? 25000 : 15000; /* of 300 000 bytes */
                int64_t start = (int64_t)k * STEP_NS + i * 100000 + (int64_t)p * 1000;
                comm_event e = {.start_ns = start,
                                .end_ns = start + ns,
                                .bytes = 300000,
                                .seq = i,
                                .rank = 2 * p,
                                .group = NO_ID,
                                .lane = 2 * p,
                                .step = (uint32_t)k,
                                .op = OP_SEND};
                c->comm[c->n_comm++] = e;
                e.rank++;
                e.lane++;
                e.op = OP_RECEIVE;
                c->comm[c->n_comm++] = e;
            }
        }
    }
    judge(&m);
    assert_int_equal(m.g.n_transfers, STEPS * 8 * 8);
    assert_int_equal(m.g.n_unpaired, 0);
    assert_int_equal(m.g.n_links, 8);
    const finding *f = first(&m);
    assert_int_equal(f->kind, FINDING_SLOW_LINK);
    assert_int_equal(f->n_links, 1);
    assert_int_equal(f->links[0][0], 8);
    assert_int_equal(f->links[0][1], 9);
    assert_true(f->severity > 0.3);
    release(&m);
}

/* Received before it was sent: counted, and told. */
static void impossible_order(void **state)
{
    (void)state;
    made m;
    make(&m, 2, "a");
    collected *c = &m.g.data;
    c->comm[c->n_comm++] = (comm_event){
        .start_ns = 150000, .end_ns = 160000, .bytes = 8, .rank = 0, .group = NO_ID, .lane = 1, .op = OP_SEND};
    c->comm[c->n_comm++] = (comm_event){
        .start_ns = 90000, .end_ns = 100000, .bytes = 8, .rank = 1, .group = NO_ID, .lane = 2, .op = OP_RECEIVE};
    judge(&m);
    assert_int_equal(m.g.n_violations, 1);
    assert_int_equal(m.g.worst_violation_ns, 50000);
    bool told = false;
    for (size_t i = 0; i < m.g.n_findings; i++) {
        told = told || m.g.findings[i].kind == FINDING_CLOCKS;
    }
    assert_true(told);
    release(&m);
}

/* The rank that comes last in a collective gets the vote; the others' time in it is wait. */
static void votes(void **state)
{
    (void)state;
    made m;
    make(&m, 4, "a");
    collected *c = &m.g.data;
    for (uint32_t r = 0; r < 4; r++) {
        c->comm[c->n_comm++] = (comm_event){.start_ns = r == 3 ? 90000 : 0,
                                            .end_ns = 100000,
                                            .bytes = 8,
                                            .rank = r,
                                            .group = NO_ID,
                                            .lane = 1,
                                            .op = OP_ALLREDUCE};
    }
    judge(&m);
    assert_int_equal(m.g.n_instances, 1);
    assert_int_equal(m.g.last_votes[3], 1);
    assert_int_equal(m.g.last_votes[0], 0);
    assert_int_equal(m.g.vote_chances[0], 1);
    assert_int_equal(collected_cell(c, 0, 0)->wait_ns, 90000);
    assert_int_equal(collected_cell(c, 3, 0)->wait_ns, 0);
    release(&m);
}

/* The same operator on four ranks: one runs three times as long, one comes late; the others are not told of. */
static void operator_instances(void **state)
{
    (void)state;
    operator_event e[12];
    size_t n = 0;
    for (uint32_t k = 0; k < 3; k++) {
        for (uint32_t r = 0; r < 4; r++) {
            int64_t start = 1000000 * (int64_t)k + (int64_t)r * 10 + (k == 2 && r == 1 ? 90000 : 0);
            e[n++] = (operator_event){start, start + (k == 1 && r == 2 ? 150000 : 50000 + (int64_t)r), r, 7, k};
        }
    }
    size_t n_outliers;
    operator_outlier *o = operator_outliers(e, n, 10, &n_outliers);
    assert_int_equal(n_outliers, 4);
    assert_int_equal(o[0].what, DEVIATES_DURATION);
    assert_int_equal(o[0].event.rank, 2);
    assert_int_equal(o[0].event.occurrence, 1);
    assert_int_equal(o[0].excess_ns, 150000 - 50001);
    assert_int_equal(o[0].n_peers, 3);
    for (size_t i = 1; i < n_outliers; i++) {
        assert_true(o[i].what != DEVIATES_DURATION);
        assert_true(o[i].event.rank == 2 || (o[i].event.rank == 1 && o[i].event.occurrence == 2));
    }
    free(o);
    o = operator_outliers(e, 0, 10, &n_outliers);
    assert_int_equal(n_outliers, 0);
    free(o);
}

static void empty_run(void **state)
{
    (void)state;
    made m;
    make(&m, 0, "a");
    judge(&m);
    assert_int_equal(m.g.typical_step_ns, 0);
    release(&m);
    make(&m, 3, "");
    for (size_t r = 0; r < 3; r++) {
        m.g.data.has_device[r] = false;
    }
    judge(&m);
    for (size_t i = 0; i < m.g.n_findings; i++) {
        assert_true(m.g.findings[i].severity <= 0.3);
    }
    release(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(alike),
        cmocka_unit_test(a_tenth_slower),
        cmocka_unit_test(slow_for_one_step),
        cmocka_unit_test(pause_or_launches),
        cmocka_unit_test(a_heavy_stage),
        cmocka_unit_test(a_long_step),
        cmocka_unit_test(one_slow_link),
        cmocka_unit_test(impossible_order),
        cmocka_unit_test(votes),
        cmocka_unit_test(empty_run),
        cmocka_unit_test(operator_instances),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
