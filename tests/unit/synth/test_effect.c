/*
 * Contract: each injected fault does to the run what truth.json says, in the steps that it names and nowhere else, and
 * has an effect that can be found: at the right rank, link, stage or step.
 */
#include "cm.h"

#include "help_run.h"

/* Kernel time on the compute stream inside one step of a rank. */
static int64_t compute_in_step(const kept_run *k, int rank, int step)
{
    const synth_event *s = &find_event(k, rank, EV_GPU_ANNOTATION, NAME_A_STEP, step, 0)->e;
    int64_t sum = 0;
    for (size_t i = 0; i < k->ranks[rank].n; i++) {
        const synth_event *e = &k->ranks[rank].events[i].e;
        if (e->kind == EV_KERNEL && e->thread == TH_COMPUTE && e->start_ns >= s->start_ns && e->end_ns <= s->end_ns) {
            sum += e->end_ns - e->start_ns;
        }
    }
    return sum;
}

static int64_t step_time(const kept_run *k, int rank, int step)
{
    const synth_event *s = &find_event(k, rank, EV_ANNOTATION, NAME_A_STEP, step, 0)->e;
    return s->end_ns - s->start_ns;
}

static void assert_ratio(int64_t a, int64_t b, double want, double off)
{
    double ratio = (double)a / (double)b;
    if (ratio < want - off || ratio > want + off) {
        fail_msg("ratio %f, expected %f", ratio, want);
    }
}

static void slow_rank(void **state)
{
    (void)state;
    synth_params p = small_params(3);
    add_fault(&p, "slow-rank:5,1.6@1..1");
    kept_run k;
    keep_run(&k, &p);
    int peer = 6; /* the same stage, another replica */
    assert_ratio(compute_in_step(&k, 5, 1), compute_in_step(&k, peer, 1), 1.6, 0.001);
    assert_ratio(compute_in_step(&k, 4, 1), compute_in_step(&k, peer, 1), 1.0, 0.001);
    assert_ratio(compute_in_step(&k, 5, 0), compute_in_step(&k, peer, 0), 1.0, 0.001);
    assert_ratio(compute_in_step(&k, 5, 2), compute_in_step(&k, peer, 2), 1.0, 0.001);
    assert_true(step_time(&k, 0, 1) > step_time(&k, 0, 0) * 11 / 10);
    assert_ratio(step_time(&k, 0, 2), step_time(&k, 0, 0), 1.0, 0.01);
    free_run(&k);
}

static void imbalance(void **state)
{
    (void)state;
    synth_params p = small_params(1);
    add_fault(&p, "imbalance:2,1.5");
    kept_run k;
    keep_run(&k, &p);
    for (int t = 0; t < 4; t++) {
        assert_ratio(compute_in_step(&k, 8 + t, 0), compute_in_step(&k, 4 + t, 0), 1.5, 0.001);
    }
    free_run(&k);
}

static void step_outlier(void **state)
{
    (void)state;
    synth_params p = small_params(3);
    add_fault(&p, "step-outlier:1,2");
    kept_run k;
    keep_run(&k, &p);
    for (int r = 0; r < p.ranks; r++) {
        assert_ratio(compute_in_step(&k, r, 1), compute_in_step(&k, r, 0), 2.0, 0.001);
        assert_ratio(compute_in_step(&k, r, 2), compute_in_step(&k, r, 0), 1.0, 0.001);
    }
    free_run(&k);
}

static void stall(void **state)
{
    (void)state;
    synth_params p = small_params(3);
    add_fault(&p, "stall:7,80ms");
    kept_run k;
    keep_run(&k, &p);
    int64_t at = k.s.stalled_at[0];
    int64_t from = plan_local(&k.s.pl, 7, at);
    assert_true(at > 0);
    for (size_t i = 0; i < k.ranks[7].n; i++) {
        const synth_event *e = &k.ranks[7].events[i].e;
        if (e->kind == EV_KERNEL && e->thread == TH_COMPUTE) {
            assert_true(e->end_ns <= from || e->start_ns >= from + 80000000);
        }
    }
    assert_true(step_time(&k, 0, 1) > step_time(&k, 0, 0) + 50000000);
    assert_ratio(step_time(&k, 0, 2), step_time(&k, 0, 0), 1.0, 0.01);
    free_run(&k);
}

static void slow_link(void **state)
{
    (void)state;
    synth_params p = small_params(2);
    add_fault(&p, "slow-link:1-5,0.1@1");
    kept_run k;
    keep_run(&k, &p);
    for (int r = 0; r < 4; r++) {
        int64_t ns[2] = {0, 0};
        for (size_t i = 0; i < k.ranks[r].n; i++) {
            const kept_event *e = &k.ranks[r].events[i];
            if (e->e.kind == EV_KERNEL && e->e.thread == TH_SEND_NEXT) {
                ns[e->coll.seq / p.micro_batches] += e->e.end_ns - e->e.start_ns;
            }
        }
        if (r == 1) {
            assert_true(ns[1] > ns[0] * 9);
        } else {
            assert_ratio(ns[1], ns[0], 1.0, 0.001);
        }
    }
    free_run(&k);
}

static void launch_bound(void **state)
{
    (void)state;
    synth_params p = small_params(1);
    kept_run healthy;
    keep_run(&healthy, &p);
    add_fault(&p, "launch-bound:6,1.5");
    kept_run k;
    keep_run(&k, &p);
    const synth_event *slow = &find_event(&k, 6, EV_GPU_ANNOTATION, NAME_A_FORWARD, 0, 0)->e;
    const synth_event *fast = &find_event(&healthy, 6, EV_GPU_ANNOTATION, NAME_A_FORWARD, 0, 0)->e;
    assert_true((slow->end_ns - slow->start_ns) * 10 > (fast->end_ns - fast->start_ns) * 12);
    /* Its kernels are as short as ever: the device waits for the host. */
    assert_ratio(compute_in_step(&k, 6, 0), compute_in_step(&healthy, 6, 0), 1.0, 0.001);
    free_run(&k);
    free_run(&healthy);
}

static void clocks_are_applied(void **state)
{
    (void)state;
    synth_params p = small_params(1);
    kept_run plain;
    keep_run(&plain, &p);
    p.clock_offset_max_ns = INT64_C(12000000000);
    p.clock_drift_max_ppm = 50;
    kept_run k;
    keep_run(&k, &p);
    for (int r = 0; r < p.ranks; r++) {
        assert_int_equal(k.ranks[r].n, plain.ranks[r].n);
        for (size_t i = 0; i < k.ranks[r].n; i++) {
            int64_t start = plain.ranks[r].events[i].e.start_ns - PLAN_LOCAL_START_NS;
            assert_int_equal(k.ranks[r].events[i].e.start_ns, plan_local(&k.s.pl, r, start));
        }
    }
    assert_true(k.s.pl.clocks[0].offset_ns != k.s.pl.clocks[1].offset_ns);
    free_run(&k);
    free_run(&plain);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slow_rank),          cmocka_unit_test(imbalance),
        cmocka_unit_test(step_outlier),       cmocka_unit_test(stall),
        cmocka_unit_test(slow_link),          cmocka_unit_test(launch_bound),
        cmocka_unit_test(clocks_are_applied),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
