/*
 * Contract: the layout always multiplies to the number of ranks and each rank has one place in it; every group contains
 * its members and no rank twice; the 1F1B schedule does each micro-batch once forward and once backward, in order,
 * never more than (stages behind + 1) forward ahead; a host's clock never runs backwards.
 */
#include "cm.h"

#include "synth/plan.h"

static synth_params preset(const char *name, int ranks)
{
    synth_params p;
    assert_true(synth_preset(name, &p));
    p.ranks = ranks;
    return p;
}

static void completes_layouts(void **state)
{
    (void)state;
    static const int cases[][4] = {{8, 2, 2, 2},  {16, 4, 2, 2},    {32, 8, 2, 2},
                                   {64, 8, 2, 4}, {1024, 8, 2, 64}, {1, 1, 1, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        synth_params p = preset("pangu-13b", cases[i][0]);
        assert_int_equal(synth_check(&p, NULL), MAREY_OK);
        assert_int_equal(p.pp, cases[i][1]);
        assert_int_equal(p.tp, cases[i][2]);
        assert_int_equal(p.dp, cases[i][3]);
    }
    for (int ranks = 1; ranks <= 300; ranks++) {
        synth_params p = preset(ranks % 2 ? "pangu-13b" : "resnet50", ranks);
        assert_int_equal(synth_check(&p, NULL), MAREY_OK);
        assert_int_equal(p.pp * p.tp * p.dp, ranks);
    }
    synth_params p = preset("pangu-13b", 0);
    p.pp = 4;
    p.tp = 4;
    p.dp = 3;
    assert_int_equal(synth_check(&p, NULL), MAREY_OK);
    assert_int_equal(p.ranks, 48);
}

static void refuses_impossible(void **state)
{
    (void)state;
    synth_params p = preset("pangu-13b", 30);
    p.pp = 8;
    assert_int_equal(synth_check(&p, NULL), MAREY_ARG);
    p = preset("pangu-13b", 64);
    p.layers = 4;
    p.pp = 8;
    assert_int_equal(synth_check(&p, NULL), MAREY_ARG);
    p = preset("pangu-13b", 100000);
    assert_int_equal(synth_check(&p, NULL), MAREY_ARG);
    p = preset("pangu-13b", 0);
    p.pp = p.dp = 60000;
    p.tp = 64;
    p.layers = 4096;
    assert_int_equal(synth_check(&p, NULL), MAREY_ARG);
    p = preset("pangu-13b", 32);
    p.steps = 0;
    assert_int_equal(synth_check(&p, NULL), MAREY_ARG);
    p = preset("pangu-13b", 65536);
    p.steps = 100000;
    assert_int_equal(synth_check(&p, NULL), MAREY_LIMIT);
    assert_false(synth_preset("bert", &p));
}

static void groups_hold_their_members(void **state)
{
    (void)state;
    synth_params p = preset("pangu-13b", 64);
    assert_int_equal(synth_check(&p, NULL), MAREY_OK);
    plan pl;
    plan_init(&pl, &p);
    for (int r = 0; r < p.ranks; r++) {
        assert_int_equal(plan_rank(&pl, plan_stage(&pl, r), plan_dp(&pl, r), plan_tp(&pl, r)), r);
        for (int k = 0; k < GROUP_KINDS; k++) {
            int found = 0;
            for (int i = 0; i < plan_group_size(&pl, (plan_group_kind)k); i++) {
                int member = plan_group_member(&pl, (plan_group_kind)k, r, i);
                found += member == r;
                assert_int_equal(plan_group_id(&pl, (plan_group_kind)k, member),
                                 plan_group_id(&pl, (plan_group_kind)k, r));
            }
            assert_int_equal(found, 1);
        }
    }
    int layers = 0;
    for (int s = 0; s < p.pp; s++) {
        assert_int_equal(plan_first_layer(&pl, s), layers);
        layers += plan_stage_layers(&pl, s);
    }
    assert_int_equal(layers, p.layers);
    plan_deinit(&pl);
}

static void check_schedule(int pp, int m, int stage)
{
    int forward = 0;
    int backward = 0;
    for (int k = 0; k < 2 * m; k++) {
        plan_task t = plan_schedule(pp, m, stage, k);
        assert_int_equal(t.micro_batch, t.backward ? backward : forward);
        forward += !t.backward;
        backward += t.backward;
        assert_true(backward <= forward);
        assert_true(forward - backward <= pp - stage);
    }
    assert_int_equal(forward, m);
    assert_int_equal(backward, m);
}

static void schedule_is_1f1b(void **state)
{
    (void)state;
    for (int pp = 1; pp <= 9; pp++) {
        for (int m = 1; m <= 20; m++) {
            for (int stage = 0; stage < pp; stage++) {
                check_schedule(pp, m, stage);
            }
        }
    }
    /* The last stage alternates from the start; the first runs all its warm-up ahead. */
    assert_true(plan_schedule(4, 8, 3, 1).backward);
    assert_false(plan_schedule(4, 8, 0, 3).backward);
    assert_true(plan_schedule(4, 8, 0, 4).backward);
}

static void clocks_keep_order(void **state)
{
    (void)state;
    synth_params p = preset("pangu-13b", 64);
    p.clock_offset_max_ns = INT64_C(12000000000);
    p.clock_drift_max_ppm = 50;
    assert_int_equal(synth_check(&p, NULL), MAREY_OK);
    plan pl;
    plan_init(&pl, &p);
    assert_int_equal(pl.n_hosts, 8);
    bool negative = false;
    bool positive = false;
    for (int h = 0; h < pl.n_hosts; h++) {
        const plan_clock *c = &pl.clocks[h];
        assert_true(c->offset_ns >= -p.clock_offset_max_ns && c->offset_ns <= p.clock_offset_max_ns);
        assert_true(c->drift_ppb >= -50000 && c->drift_ppb <= 50000);
        negative |= c->offset_ns < 0;
        positive |= c->offset_ns > 0;
        int64_t last = INT64_MIN;
        for (int64_t t = 0; t < 100000; t++) {
            int64_t at = plan_local(&pl, h * 8, t + 999950000);
            assert_true(at >= last);
            last = at;
        }
        /* The map that truth.json states. */
        int64_t t = INT64_C(3600000000001);
        __extension__ typedef __int128 wide;
        wide drift = (wide)t * c->drift_ppb;
        int64_t floored = (int64_t)(drift >= 0 ? drift / 1000000000 : -((-drift + 999999999) / 1000000000));
        assert_int_equal(plan_local(&pl, h * 8, t), PLAN_LOCAL_START_NS + t + c->offset_ns + floored);
    }
    assert_true(negative && positive);
    plan_deinit(&pl);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(completes_layouts),         cmocka_unit_test(refuses_impossible),
        cmocka_unit_test(groups_hold_their_members), cmocka_unit_test(schedule_is_1f1b),
        cmocka_unit_test(clocks_keep_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
