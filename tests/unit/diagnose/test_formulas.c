/*
 * Contract of the formulas: each gives the number that was worked out by hand for a small trace. Time is the union of
 * half-open intervals; a collective's transfer is its shortest member, the rest of each member is wait, and the last to
 * arrive gets the vote; bandwidths, queues and the pipeline's bubble are as docs/diagnosis.md defines them.
 */
#include "cm.h"

#include "diagnose/breakdown.h"
#include "diagnose/instances.h"
#include "diagnose/series.h"

static bool near(double a, double b)
{
    return a - b < 1e-6 && b - a < 1e-6;
}

/* COMP [0,80), COMM [50,130), one rank, W [0,160). */
static void one_rank(void **state)
{
    (void)state;
    rank_step w = {.start_ns = 0, .end_ns = 160};
    sweep s;
    sweep_begin(&s, &w, 1);
    sweep_put(&s, BUSY_COMPUTE, 0, 80, LAUNCH_UNKNOWN);
    sweep_put(&s, BUSY_COLLECTIVE, 50, 130, LAUNCH_UNKNOWN);
    sweep_end(&s);
    breakdown b = breakdown_of(&w);
    assert_int_equal(b.busy_ns, 130);
    assert_int_equal(b.idle_ns, 30);
    assert_int_equal(b.overlapped_ns, 30);
    assert_int_equal(b.exposed_communication_ns, 50);
    assert_int_equal(b.communication_ns, 80);
    assert_true(near(100.0 * (double)b.overlapped_ns / (double)b.communication_ns, 37.5));
}

static void two_streams_count_once(void **state)
{
    (void)state;
    rank_step w = {.start_ns = 0, .end_ns = 100};
    sweep s;
    sweep_begin(&s, &w, 1);
    sweep_put(&s, BUSY_COMPUTE, 0, 100, LAUNCH_UNKNOWN);
    sweep_put(&s, BUSY_COMPUTE, 0, 100, LAUNCH_UNKNOWN);
    sweep_end(&s);
    assert_int_equal(breakdown_of(&w).compute_ns, 100);
    assert_int_equal(breakdown_of(&w).idle_ns, 0);
}

/* Idle has causes: a late launch, a peer, or the device's own few ns. */
static void idle_by_cause(void **state)
{
    (void)state;
    rank_step w = {.start_ns = 0, .end_ns = 1000};
    sweep s;
    sweep_begin(&s, &w, 1);
    sweep_put(&s, BUSY_COMPUTE, 0, 100, 0);
    sweep_put(&s, BUSY_COMPUTE, 120, 200, 50);  /* 20 ns: kernel wait, launched in time */
    sweep_put(&s, BUSY_COMPUTE, 500, 600, 400); /* 300 ns: the launch came at 400, after the gap began */
    sweep_put(&s, BUSY_P2P, 700, 800, 100);     /* 100 ns: for a peer */
    sweep_put(&s, BUSY_COPY, 850, 1000, LAUNCH_UNKNOWN);
    sweep_end(&s);
    assert_int_equal(w.own_gap_ns, 20 + 300 + 50);
    assert_int_equal(w.peer_gap_ns, 100);
    assert_int_equal(w.host_wait_ns, 300);
    assert_int_equal(w.kernel_wait_ns, 20);
    assert_int_equal(w.longest_gap_ns, 300);
    assert_int_equal(w.longest_gap_at_ns, 200);
    assert_int_equal(w.n_launches_known, 2);
    assert_int_equal(breakdown_of(&w).copy_ns, 150);
}

/* What runs over a step's end belongs to both steps, each with its part. */
static void steps_share_what_straddles(void **state)
{
    (void)state;
    rank_step w[2] = {{.start_ns = 0, .end_ns = 100}, {.start_ns = 100, .end_ns = 200}};
    sweep s;
    sweep_begin(&s, w, 2);
    sweep_put(&s, BUSY_COMPUTE, 10, 130, LAUNCH_UNKNOWN);
    sweep_put(&s, BUSY_COMPUTE, 180, 190, LAUNCH_UNKNOWN);
    sweep_end(&s);
    assert_int_equal(breakdown_of(&w[0]).compute_ns, 90);
    assert_int_equal(breakdown_of(&w[1]).compute_ns, 40);
    assert_int_equal(w[0].own_gap_ns, 10);
    assert_int_equal(w[1].own_gap_ns, 50);
}

/* Starts 0, 0, 0, 9 ms, common end 10 ms. */
static void all_reduce_of_four(void **state)
{
    (void)state;
    comm_event e[4];
    for (uint32_t i = 0; i < 4; i++) {
        e[i] = (comm_event){.start_ns = i == 3 ? 9000000 : 0, .end_ns = 10000000, .rank = i, .bytes = 64};
    }
    coll_instance c = coll_measure(e, 0, 4);
    assert_int_equal(c.transfer_ns, 1000000);
    assert_int_equal(c.skew_ns, 9000000);
    assert_int_equal(c.spread_ns, 0);
    assert_int_equal(c.wait_ns, 27000000);
    assert_int_equal(c.last_rank, 3);
    for (uint32_t i = 0; i < 4; i++) {
        assert_int_equal(e[i].end_ns - e[i].start_ns - c.transfer_ns, i == 3 ? 0 : 9000000);
    }
}

/* One member known: its duration says nothing of the transfer. */
static void lone_member(void **state)
{
    (void)state;
    comm_event e = {.start_ns = 5, .end_ns = 25, .bytes = 1000};
    coll_instance c = coll_measure(&e, 0, 1);
    assert_int_equal(c.transfer_ns, -1);
    assert_true(coll_algorithm_bandwidth(&c) < 0);
}

/* All-reduce, n = 8, 1 GiB, 10 ms. */
static void bandwidths(void **state)
{
    (void)state;
    coll_instance c = {.n = 8, .bytes = INT64_C(1) << 30, .transfer_ns = 10000000};
    assert_true(near(coll_algorithm_bandwidth(&c) * 1e-9, 107.3741824));
    assert_true(near(comm_bus_factor(OP_ALLREDUCE, 8), 1.75));
    assert_true(near(coll_bus_bandwidth(&c, OP_ALLREDUCE) * 1e-9, 187.9048192));
    assert_true(near(comm_bus_factor(OP_ALLGATHER, 8), 0.875));
    assert_true(near(comm_bus_factor(OP_SEND, 8), 1));
}

/* 10 GB/s over [0, 10), 5 GB/s over [5, 15): 10, 15, 5. */
static void copies_add_where_they_overlap(void **state)
{
    (void)state;
    const series_span spans[] = {{0, 10, 100}, {5, 15, 50}};
    size_t n;
    series_point *p = series_rate(spans, 2, &n);
    const series_point wanted[] = {{0, 10}, {5, 15}, {10, 5}, {15, 0}};
    assert_int_equal(n, 4);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(p[i].at_ns, wanted[i].at_ns);
        assert_true(near(p[i].value, wanted[i].value));
    }
    free(p);
}

/* Three launches, one finished: two are queued. A finish without launch is told. */
static void queue_length(void **state)
{
    (void)state;
    const int64_t launched[] = {1, 2, 3};
    const int64_t finished[] = {4};
    size_t n;
    size_t negative;
    series_point *p = series_queue(launched, 3, finished, 1, &n, &negative);
    assert_int_equal(n, 4);
    assert_true(near(p[2].value, 3));
    assert_true(near(p[3].value, 2));
    assert_int_equal(negative, 0);
    free(p);
    p = series_queue(launched, 1, (const int64_t[]){0}, 1, &n, &negative);
    assert_int_equal(negative, 1);
    free(p);
}

/* 1F1B with 4 stages and 8 micro-batches, forward and backward of length 1: the first stage's bubble is 3/8. */
enum { STAGES = 4, BATCHES = 8, TASKS = 2 * BATCHES, BLOCK = 100 };

typedef struct task {
    bool backward;
    int batch;
} task;

static task task_of(int stage, int k)
{
    int warm = STAGES - stage - 1;
    if (k < warm) {
        return (task){false, k};
    }
    int since = k - warm;
    if (since < 2 * (BATCHES - warm)) {
        return since % 2 == 0 ? (task){false, warm + since / 2} : (task){true, since / 2};
    }
    return (task){true, BATCHES - warm + (since - 2 * (BATCHES - warm))};
}

static void bubble_of_the_schedule(void **state)
{
    (void)state;
    int64_t end[2][STAGES][BATCHES];
    int next[STAGES] = {0};
    int64_t free_at[STAGES] = {0};
    int64_t starts[STAGES][TASKS];
    memset(end, 0xff, sizeof end);
    for (int left = STAGES * TASKS; left > 0;) {
        int before = left;
        for (int s = 0; s < STAGES; s++) {
            while (next[s] < TASKS) {
                task t = task_of(s, next[s]);
                int from = t.backward ? s + 1 : s - 1;
                int64_t ready = from < 0 ? 0 : from == STAGES ? end[0][s][t.batch] : end[t.backward][from][t.batch];
                if (ready < 0) {
                    break;
                }
                int64_t start = ready > free_at[s] ? ready : free_at[s];
                starts[s][next[s]++] = start;
                free_at[s] = end[t.backward][s][t.batch] = start + BLOCK;
                left--;
            }
        }
        assert_true(left < before);
    }
    for (int s = 0; s < STAGES; s++) {
        rank_step w = {.start_ns = 0, .end_ns = (TASKS + 2 * (STAGES - 1)) * BLOCK};
        sweep sw;
        sweep_begin(&sw, &w, 1);
        for (int k = 0; k < TASKS; k++) {
            sweep_put(&sw, BUSY_COMPUTE, starts[s][k], starts[s][k] + BLOCK, LAUNCH_UNKNOWN);
        }
        sweep_end(&sw);
        assert_int_equal(breakdown_of(&w).compute_ns, TASKS * BLOCK);
        assert_int_equal(breakdown_of(&w).idle_ns, 2 * (STAGES - 1) * BLOCK); /* (p-1)/m of the compute, everywhere */
        if (s == 0) {
            int64_t work = w.last_compute_ns - w.first_compute_ns - w.bubble_ns;
            assert_true(near((double)w.bubble_ns / (double)work, 3.0 / 8));
        }
    }
}

static void severities(void **state)
{
    (void)state;
    assert_true(near(severity_of(0.05), 0.3));
    assert_true(severity_of(0.04) < 0.3);
    assert_true(severity_of(0.09) > 0.4);
    assert_true(severity_of(10) < 1);
    assert_true(near(severity_of(-1), 0));
    assert_true(severity_of_structure(0.39) < 0.3);
    assert_true(severity_of_structure(5) <= 0.4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_rank),           cmocka_unit_test(two_streams_count_once),
        cmocka_unit_test(idle_by_cause),      cmocka_unit_test(steps_share_what_straddles),
        cmocka_unit_test(all_reduce_of_four), cmocka_unit_test(lone_member),
        cmocka_unit_test(bandwidths),         cmocka_unit_test(copies_add_where_they_overlap),
        cmocka_unit_test(queue_length),       cmocka_unit_test(bubble_of_the_schedule),
        cmocka_unit_test(severities),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
