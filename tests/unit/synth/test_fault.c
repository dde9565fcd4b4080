/*
 * Contract: a fault is read exactly as the command line documents it, with every part kept; anything else is refused
 * with a sentence that says what was expected, and never half read.
 */
#include "cm.h"

#include "base/diag.h"
#include "synth/synth.h"

static synth_fault read_fault(const char *text)
{
    synth_fault f;
    assert_int_equal(synth_parse_fault(text, &f, NULL), MAREY_OK);
    return f;
}

static void reads_every_kind(void **state)
{
    (void)state;
    synth_fault f = read_fault("slow-rank:5,1.6@3..7");
    assert_int_equal(f.kind, FAULT_SLOW_RANK);
    assert_int_equal(f.a, 5);
    assert_true(f.factor == 1.6);
    assert_int_equal(f.step0, 3);
    assert_int_equal(f.step1, 7);
    f = read_fault("slow-link:3-14,0.3");
    assert_int_equal(f.kind, FAULT_SLOW_LINK);
    assert_int_equal(f.a, 3);
    assert_int_equal(f.b, 14);
    assert_true(f.factor == 0.3);
    assert_int_equal(f.step0, -1);
    assert_int_equal(f.step1, -1);
    f = read_fault("stall:12,1.5ms@4");
    assert_int_equal(f.kind, FAULT_STALL);
    assert_int_equal(f.duration_ns, 1500000);
    assert_int_equal(f.step0, 4);
    assert_int_equal(f.step1, 4);
    assert_int_equal(read_fault("stall:12").duration_ns, 0);
    assert_int_equal(read_fault("imbalance:2,1.25").kind, FAULT_IMBALANCE);
    assert_int_equal(read_fault("launch-bound:0").kind, FAULT_LAUNCH_BOUND);
    assert_true(read_fault("launch-bound:0,2").factor == 2.0);
    f = read_fault("step-outlier:6,3");
    assert_int_equal(f.kind, FAULT_STEP_OUTLIER);
    assert_int_equal(f.a, 6);
}

static void refuses_with_a_sentence(void **state)
{
    (void)state;
    static const char *const wrong[] = {"",
                                        "slow",
                                        "slow-rank",
                                        "slow-rank:",
                                        "slow-rank:5",
                                        "slow-rank:5,",
                                        "slow-rank:5,x",
                                        "slow-rank:-1,2",
                                        "slow-rank:5,0",
                                        "slow-rank:5,-2",
                                        "slow-rank:5,1e3",
                                        "slow-rank:5,2@",
                                        "slow-rank:5,2@3..",
                                        "slow-rank:5,2@7..3",
                                        "slow-rank:5,2@3..7x",
                                        "slow-rank:5,2 ",
                                        "slow-rank:99999999999,2",
                                        "slow-link:3,0.3",
                                        "slow-link:3-3,0.3",
                                        "slow-link:3-4",
                                        "stall:1,0ms",
                                        "stall:1,abc",
                                        "stall:1,5parsecs",
                                        "imbalance:1",
                                        "step-outlier:1",
                                        "step-outlier:,2",
                                        "quake:1,2"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        diag d;
        synth_fault f;
        diag_init(&d);
        if (synth_parse_fault(wrong[i], &f, &d) != MAREY_ARG) {
            fail_msg("\"%s\" was taken", wrong[i]);
        }
        assert_int_equal(d.n_messages, 1);
        assert_non_null(strstr(d.messages[0].text, "expected"));
        diag_deinit(&d);
    }
}

static void check_completes(void **state)
{
    (void)state;
    synth_params p;
    assert_true(synth_preset("pangu-13b", &p));
    p.steps = 6;
    p.n_faults = 4;
    p.faults[0] = read_fault("stall:3");
    p.faults[1] = read_fault("slow-rank:1,2");
    p.faults[2] = read_fault("step-outlier:4,2");
    p.faults[3] = read_fault("slow-link:0-4,0.5");
    assert_int_equal(synth_check(&p, NULL), MAREY_OK);
    assert_int_equal(p.faults[0].step0, 3); /* the middle one */
    assert_int_equal(p.faults[0].step1, 3);
    assert_true(p.faults[0].duration_ns > 10000000);
    assert_int_equal(p.faults[1].step0, 0);
    assert_int_equal(p.faults[1].step1, 5);
    assert_int_equal(p.faults[2].step0, 4);
    assert_true(p.faults[3].used);
}

static void check_refuses_what_is_not_there(void **state)
{
    (void)state;
    static const char *const wrong[] = {"slow-rank:32,2",   "slow-link:0-32,0.5", "stall:32",        "imbalance:8,2",
                                        "step-outlier:4,2", "slow-rank:0,2@4",    "launch-bound:100"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        synth_params p;
        diag d;
        diag_init(&d);
        assert_true(synth_preset("pangu-13b", &p));
        p.faults[p.n_faults++] = read_fault(wrong[i]);
        assert_int_equal(synth_check(&p, &d), MAREY_ARG);
        assert_int_equal(d.n_messages, 1);
        diag_deinit(&d);
    }
}

static void unused_link_is_told(void **state)
{
    (void)state;
    synth_params p;
    diag d;
    diag_init(&d);
    assert_true(synth_preset("pangu-13b", &p));
    p.faults[p.n_faults++] = read_fault("slow-link:3-4,0.3");
    assert_int_equal(synth_check(&p, &d), MAREY_OK);
    assert_false(p.faults[0].used);
    assert_int_equal(d.n_messages, 1);
    assert_int_equal(d.messages[0].severity, DIAG_WARNING);
    diag_deinit(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_every_kind),    cmocka_unit_test(refuses_with_a_sentence),
        cmocka_unit_test(check_completes),     cmocka_unit_test(check_refuses_what_is_not_there),
        cmocka_unit_test(unused_link_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
