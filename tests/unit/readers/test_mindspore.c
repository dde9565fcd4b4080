/*
 * MindSpore and msprof output: the timeline's processes and threads have a meaning, columns are found by suffix
 * whatever their order and padding, units become ns, bytes and FLOP, steps and scopes come out, and the Marey export
 * gives one rank per device with its stage, operators of other steps marked.
 */
#include "help_run.h"

#include "readers/run_read.h"

#include "trace/model.h"

static void timeline(void **state)
{
    (void)state;
    char folder[64];
    seen_run s;
    folder_make(folder, sizeof folder);
    folder_put(folder, "ascend_timeline_display_2.json",
               "[{\"name\":\"Cast-op1\",\"ph\":\"X\",\"tid\":519,\"ts\":0.0,\"dur\":2.66,\"pid\":2,\"args\":{"
               "\"fullname\":\"Default/"
               "network-Net/a-A/Cast-op1\"}},"
               "{\"name\":\"MatMul-op2\",\"ph\":\"X\",\"tid\":519,\"ts\":5.5,\"dur\":1,\"pid\":2,\"args\":{"
               "\"fullname\":\"Gradients/"
               "Default/network-Net/MatMul-op2\"}},"
               "{\"name\":\"ApplyMomentum-op3\",\"ph\":\"X\",\"tid\":519,\"ts\":8,\"dur\":1,\"pid\":2,\"args\":{"
               "\"fullname\":\"Default/"
               "optimizer-Momentum/ApplyMomentum-op3\"}},"
               "{\"name\":\"StreamRecv-op4\",\"ph\":\"X\",\"tid\":520,\"ts\":9,\"dur\":0,\"pid\":2},"
               "{\"name\":\"AllReduce-op5\",\"ph\":\"X\",\"tid\":521,\"ts\":10,\"dur\":4,\"pid\":10000},"
               "{\"name\":\"InitData-op6\",\"ph\":\"X\",\"tid\":\"InitData\",\"ts\":1,\"dur\":4,\"pid\":9000},"
               "{\"name\":\"1\",\"ph\":\"X\",\"tid\":100000,\"ts\":0,\"dur\":20,\"pid\":2},"
               "{\"name\":\"network-Net\",\"ph\":\"X\",\"tid\":100001,\"ts\":0,\"dur\":6,\"pid\":2,\"scope_level\":0},"
               "{\"name\":\"free\",\"ph\":\"X\",\"tid\":8002,\"ts\":12,\"dur\":6,\"pid\":12000},"
               "{\"name\":\"read\",\"ph\":\"X\",\"tid\":1,\"ts\":12,\"dur\":6,\"pid\":11000}]");
    folder_see(folder, &s);
    assert_int_equal(s.status, MAREY_OK);
    static const char *const expected[][3] = {
        {"Cast-op1", "ascend_kernel.forward", "AI Core"},
        {"MatMul-op2", "ascend_kernel.backward", "AI Core"},
        {"ApplyMomentum-op3", "ascend_kernel.optimizer", "AI Core"},
        {"StreamRecv-op4", "ascend_wait", "AI Core"},
        {"AllReduce-op5", "hccl", "Communication"},
        {"InitData-op6", "ascend_kernel", "AI CPU"},
        {"ProfilerStep#1", "user_annotation", "AI Core"},
        {"network-Net", "user_annotation", "AI Core"},
        {"free", "overlap_analysis", "Overlap analysis"},
        {"read", "cpu_op", "Host CPU"},
    };
    assert_int_equal(s.n, 10);
    for (size_t i = 0; i < 10; i++) {
        size_t k = seen_find(&s, expected[i][0]);
        assert_true(k != SIZE_MAX);
        assert_string_equal(seen_source(&s, k), expected[i][1]);
        assert_string_equal(seen_process(&s, k), expected[i][2]);
    }
    assert_true(s.events[seen_find(&s, "Cast-op1")].dur_ns == 2660);
    assert_string_equal(seen_thread(&s, seen_find(&s, "ProfilerStep#1")), "Steps");
    assert_int_equal(s.b.n_collectives, 1);
    assert_string_equal(seen_name(&s, s.b.collectives[0].event), "AllReduce-op5");
    assert_int_equal(s.b.facts.rank, 2);
    seen_free(&s);
    folder_remove(folder);
}

static const char text_timeline[] = "op_name, stream_id, start_time(ms), duration(ms)\n"
                                    "Default/net/Mul-op2,519,438068.41869,0.00215\n"
                                    "Default/Cast-op1,519,438068.41592,0.00266\n";
static const char steps_csv[] =
    "step_num,start_point,end_point,total,fp_point,bp_point,iteration_interval,fp_and_bp,tail,"
    "stream_36_0_AllReduce-op45,stream_36_0_AllReduce-op45_start_point,stream_36_0_AllReduce-op45_end_point,"
    "stream_37_1_Receive-op6_start_point,stream_37_1_Receive-op6_end_point,stream_37_1_Receive-op6\n"
    "1,43806841592,43806842000,408,43806841600,43806841900,0,300,100,50,43806841650,43806841700,43806841800,"
    "43806841810,10\n"
    "2,43806842000,43806842500,500,43806842010,43806842400,10,390,100,0,0,0,43806842100,43806842090,10\n"
    "-,1,2,454.5,1,2,5,345,100,50,1,2,1,2,10\n";

static void text_and_steps(void **state)
{
    (void)state;
    char folder[64];
    seen_run s;
    folder_make(folder, sizeof folder);
    folder_put(folder, "output_timeline_data_0.txt", text_timeline);
    folder_put(folder, "step_trace_raw_0_detail_time.csv", steps_csv);
    folder_see(folder, &s);
    assert_int_equal(s.status, MAREY_OK);
    size_t k = seen_find(&s, "Cast-op1");
    assert_true(s.events[k].start_ns == INT64_C(438068415920) && s.events[k].dur_ns == 2660);
    k = seen_find(&s, "ProfilerStep#1");
    assert_true(s.events[k].start_ns == INT64_C(438068415920) && s.events[k].dur_ns == 4080);
    k = seen_find(&s, "AllReduce-op45");
    assert_true(s.events[k].start_ns == INT64_C(438068416500) && s.events[k].dur_ns == 500);
    assert_string_equal(seen_thread(&s, k), "Stream 36");
    k = seen_find(&s, "Receive-op6");
    assert_true(s.events[k].dur_ns == 100);
    /* 2 operators, 2 steps, 2 forward and backward, one AllReduce (the zero one is none), 2 Receives, one repaired */
    assert_int_equal(s.n, 9);
    assert_int_equal(diag_lost(&s.d, MAREY_LOSS_NEGATIVE_DURATION), 1);
    assert_int_equal(s.b.n_collectives, 3);
    assert_int_equal(seen_metrics(&s, METRIC_STEP_TIME), 3);
    assert_true(seen_metric(&s, METRIC_STEP_TIME, 0)->value == 4080.0 &&
                seen_metric(&s, METRIC_STEP_TIME, 0)->step == 1);
    const trace_metric_in *mean = seen_metric(&s, METRIC_STEP_TIME, 2);
    assert_true(mean->value == 4545.0 && mean->step == -1 && mean->flags == METRIC_MEAN);
    seen_free(&s);
    folder_remove(folder);
}

/* The timeline starts at 0; output_timeline_data tells when that was, so that steps can stand beside it. */
static void steps_beside_a_timeline(void **state)
{
    (void)state;
    static const char display[] = "[{\"name\":\"Mul-op2\",\"ph\":\"X\",\"tid\":519,\"ts\":4.77,\"dur\":2.15,\"pid\":0},"
                                  "{\"name\":\"Cast-op1\",\"ph\":\"X\",\"tid\":519,\"ts\":2.0,\"dur\":2.66,\"pid\":0}]";
    char folder[64];
    seen_run s;
    folder_make(folder, sizeof folder);
    folder_put(folder, "timeline_display_0.json", display);
    folder_put(folder, "step_trace_raw_0_detail_time.csv", steps_csv);
    folder_see(folder, &s);
    assert_int_equal(s.n, 2); /* nothing tells where 0 is */
    assert_int_equal(seen_metrics(&s, METRIC_STEP_TIME), 3);
    assert_true(seen_message(&s, "can't be placed"));
    seen_free(&s);
    folder_put(folder, "output_timeline_data_0.txt", text_timeline);
    folder_see(folder, &s);
    assert_true(s.b.facts.base_epoch_ns == INT64_C(438068415920) - 2000);
    size_t k = seen_find(&s, "ProfilerStep#1");
    assert_true(s.events[k].start_ns == 2000);
    assert_true(s.events[seen_find(&s, "Cast-op1")].start_ns == 2000);
    assert_int_equal(s.n, 2 + 2 + 2 + 3);
    seen_free(&s);
    folder_remove(folder);
}

static void tables(void **state)
{
    (void)state;
    char folder[64];
    seen_run s;
    folder_make(folder, sizeof folder);
    folder_put(
        folder, "ascend_cluster_analyse_pipeline-parallel_2_4_3.csv",
        "computation_time,communication_alone_time,stage_time,receive_alone_time,collective_communication_alone_time\n"
        "13.5,164.25,121.5,56.5,108.0\n14.5,165.25,124.5,56.25,109.5\n14,164.75,123,56.375,108.75\n");
    folder_put(
        folder, "hccl_raw_3.csv",
        "step_num,communication_cost,wait_cost,link_info,communication_operator_cost\n"
        "1,2.5,270.5,\"{\"\"1-0\"\": {\"\"SDMA\"\": [2.5, 52.5, 21000000]}, \"\"0-1\"\": {\"\"RDMA\"\": [1, 2, 3, "
        "4]}}\",\"{\"\"AllReduce-op1\"\": [\"\"1\"\", 0.5, 0.25, {\"\"1-0\"\": {\"\"SDMA\"\": [0.5, 4, 8000]}}]}\"\n"
        "-,2.5,270.5,not json,\n");
    folder_put(
        folder, "flops_3.txt",
        "op_full_name, MFLOPs(10^6), GFLOPS(10^9), FLOPS utilization\nDefault/Conv2D-op1,12.5,3.5,0.25\nshort\n");
    folder_put(folder, "flops_summary_3.json", "{\"FLOPs\": 107146.5, \"FLOPS\": 5385.5, \"FLOPS_Utilization\": 0.25}");
    folder_put(folder, "memory_usage_summary_3.json", "{\"capacity\": 32.0, \"peak_mem\": 1.5, \"static_mem\": 0.5}");
    folder_put(
        folder, "memory_usage_details_3.json",
        "{\"7\":{\"static_mem\":0.25,\"lines\":[1.0,2.0,1.5],\"nodes\":[{\"name\":\"Cast-op1\",\"size\":0.125}]}}");
    folder_put(folder, "profiler_info_3.json", "{\"rank_id\": \"3\", \"rank_size\": 4, \"stage_num\": 2}");
    folder_put(folder, "rank_table.json",
               "{\"server_list\":[{\"server_id\":\"10.0.0.1\",\"device\":[{\"device_id\":\"0\",\"rank_id\":\"2\"},"
               "{\"device_id\":\"1\",\"rank_id\":\"3\"}]}]}");
    folder_see(folder, &s);
    assert_int_equal(s.status, MAREY_OK);
    assert_int_equal(s.n, 0);
    assert_int_equal(s.b.facts.rank, 3);
    assert_int_equal(s.b.facts.world_size, 4);
    assert_int_equal(s.b.facts.stage, 1);
    const trace_place_in *place = trace_side_find_place(&s.b.side, 0);
    assert_true(place->stage == 1 && place->device == 1 && (place->inferred & INFERRED_STAGE));
    assert_string_equal(seen_string(&s, place->host), "10.0.0.1");
    assert_int_equal(seen_metrics(&s, METRIC_STEP_STAGE), 3);
    assert_true(seen_metric(&s, METRIC_STEP_STAGE, 1)->value == 124.5e6 &&
                seen_metric(&s, METRIC_STEP_STAGE, 1)->step == 2);
    assert_true(seen_metric(&s, METRIC_STEP_STAGE, 2)->flags == METRIC_MEAN);
    const trace_metric_in *m = seen_metric(&s, METRIC_LINK_BYTES, 0);
    assert_true(m->a == 1 && m->b == 0 && m->value == 52500.0 && m->step == 1);
    m = seen_metric(&s, METRIC_LINK_BANDWIDTH, 0); /* of a sum: worked out, not the stated sum of rates */
    assert_true(m->value == 52500.0 / 0.0025 && (m->flags & METRIC_DERIVED));
    m = seen_metric(&s, METRIC_LINK_BANDWIDTH, 2);
    assert_true(m->value == 8e6 && !(m->flags & METRIC_DERIVED));
    assert_string_equal(seen_string(&s, m->name), "AllReduce-op1");
    assert_true(seen_metric(&s, METRIC_LINK_WAIT, 0)->value == 4e6);
    assert_int_equal(seen_metrics(&s, METRIC_COMM_WAIT), 3);
    assert_int_equal(diag_lost(&s.d, MAREY_LOSS_DAMAGED), 2); /* the JSON field, the short row of flops */
    m = seen_metric(&s, METRIC_FLOPS, 0);
    assert_true(m->value == 12.5e6);
    assert_string_equal(seen_string(&s, m->name), "Default/Conv2D-op1");
    assert_true(seen_metric(&s, METRIC_FLOPS_RATE, 0)->value == 3.5e9);
    assert_true(seen_metric(&s, METRIC_FLOPS_UTILIZATION, 0)->value == 0.0025);
    assert_true(seen_metric(&s, METRIC_FLOPS, 1)->value == 107146.5e6);
    assert_true(seen_metric(&s, METRIC_MEMORY_CAPACITY, 0)->value == 32.0 * 1073741824.0);
    assert_true(seen_metric(&s, METRIC_PEAK_MEMORY, 1)->value == 2.0 * 1073741824.0);
    assert_true(seen_metric(&s, METRIC_PEAK_MEMORY, 1)->flags == METRIC_ESTIMATE);
    assert_true(seen_metric(&s, METRIC_OP_MEMORY, 0)->value == 0.125 * 1073741824.0);
    seen_free(&s);
    folder_remove(folder);
}

static void strategy(void **state)
{
    (void)state;
    char folder[64];
    seen_run s;
    folder_make(folder, sizeof folder);
    folder_put(folder, "parallel_strategy_5.json",
               "{\"config\":{\"rankId\":5,\"stageId\":1,\"parallelType\":\"semi_auto_parallel\",\"stageDevices\":[{"
               "\"dim\":[{\"size\":"
               "\"0\"},{\"size\":\"1\"}]},{\"dim\":[{\"size\":\"4\"},{\"size\":\"5\"}]}]},\"graph\":{}}");
    folder_see(folder, &s);
    assert_int_equal(s.status, MAREY_OK);
    assert_true(s.b.facts.rank == 5 && s.b.facts.stage == 1);
    assert_int_equal(s.b.side.n_groups, 2);
    assert_true(s.b.side.group_ranks[s.b.side.groups[1].first_rank] == 4);
    assert_string_equal(seen_string(&s, s.b.side.groups[1].name), "stage 1");
    assert_int_equal(trace_side_find_place(&s.b.side, 0)->inferred & INFERRED_STAGE, 0);
    seen_free(&s);
    folder_remove(folder);
}

/* ---- msprof ---- */

static const char msprof_json[] =
    "[{\"name\":\"process_name\",\"pid\":3,\"tid\":0,\"args\":{\"name\":\"Ascend Hardware\"},\"ph\":\"M\"},"
    "{\"name\":\"Iteration 4\",\"cat\":\"Iteration "
    "Time\",\"pid\":3,\"tid\":10036,\"ts\":100,\"dur\":50,\"args\":{},\"ph\":\"X\"},"
    "{\"name\":\"FP_BP Time 4\",\"cat\":\"FP_BP "
    "Time\",\"pid\":3,\"tid\":10036,\"ts\":100,\"dur\":40,\"args\":{},\"ph\":\"X\"},"
    "{\"name\":\"Default/network-Net/b-B/Cast-op2\",\"pid\":3,\"tid\":2,\"ts\":101.5,\"dur\":1,\"args\":{\"Task "
    "Type\":\"AI_CORE\"},\"ph\":\"X\"},"
    "{\"name\":\"MEMCPY_ASYNC\",\"pid\":3,\"tid\":2,\"ts\":103,\"dur\":1,\"args\":{\"Task "
    "Type\":\"MEMCPY_ASYNC\"},\"ph\":\"X\"},"
    "{\"name\":\"NOTIFY_WAIT\",\"pid\":3,\"tid\":12,\"ts\":104,\"dur\":1,\"args\":{\"Task "
    "Type\":\"NOTIFY_WAIT\"},\"ph\":\"X\"},"
    "{\"name\":\"MEMCPY_ASYNC\",\"pid\":3,\"tid\":12,\"ts\":105,\"dur\":1,\"args\":{\"Task "
    "Type\":\"MEMCPY_ASYNC\"},\"ph\":\"X\"},"
    "{\"name\":\"Notify_Wait\",\"pid\":10,\"tid\":1,\"ts\":104,\"dur\":1,\"args\":{\"notify_id\":160,\"transport "
    "type\":\"LOCAL\"},\"ph\":\"X\"},"
    "{\"name\":\"Default/AllReduce-op5_0\",\"pid\":10,\"tid\":70000,\"ts\":104,\"dur\":9,\"ph\":\"X\"},"
    "{\"name\":\"Free\",\"pid\":11,\"tid\":3,\"ts\":104,\"dur\":9,\"ph\":\"X\"},"
    "{\"name\":\"GE@Infer\",\"pid\":12,\"tid\":1,\"ts\":99,\"dur\":9,\"args\":{\"Model Id\":2},\"ph\":\"X\"}]";

static void msprof(void **state)
{
    (void)state;
    char folder[64];
    seen_run s;
    folder_make(folder, sizeof folder);
    folder_put(folder, "device1_msprof_iter4.json", msprof_json);
    folder_put(folder, "device1_hccl_iter4.json", msprof_json);      /* the same again: passed over */
    folder_put(folder, "device1_task_time_iter5.json", msprof_json); /* the only file of its iteration: read */
    folder_see(folder, &s);
    assert_int_equal(s.status, MAREY_OK);
    assert_int_equal(s.n, 20);
    assert_int_equal(seen_count(&s, "ascend_kernel.forward"), 2);
    assert_int_equal(seen_count(&s, "gpu_memcpy"), 1 + 1);
    assert_int_equal(seen_count(&s, "ascend_task"), 4);
    assert_int_equal(seen_count(&s, "hccl"), 2);
    assert_int_equal(seen_count(&s, "hccl_task"), 2);
    assert_int_equal(seen_count(&s, "overlap_analysis"), 2);
    assert_true(s.events[seen_find(&s, "ProfilerStep#4")].start_ns == 100000);
    assert_int_equal(s.b.facts.rank, -1); /* a device is no rank */
    const trace_place_in *p = trace_side_find_place(&s.b.side, 0);
    assert_true(p->rank == 1 && (p->inferred & INFERRED_RANK));
    seen_free(&s);
    folder_remove(folder);
}

/* ---- the Marey export ---- */

static void export_json(char *out, size_t cap, const char *broken)
{
    size_t n = (size_t)snprintf(out, cap, "{\"maps\":{");
    for (int d = 0; d < 3; d++) {
        n += (size_t)snprintf(out + n, cap - n, "%s\"device%d\":{", d ? "," : "", d);
        for (int i = 0; i < 40 && d < 2; i++) {
            /* device 1 runs 3 us behind; its operator 7 is of the step before. */
            double start = 1000.0 + i * 10 + d * 3 - (d == 1 && i == 7 ? 5000 : 0);
            n += (size_t)snprintf(out + n, cap - n, "%s\"Mul-op%d\":{\"st\":%.8f,\"ed\":%.8f,\"dur\":2.5}",
                                  i ? "," : "", i, start, start + 2.5);
        }
        n += (size_t)snprintf(out + n, cap - n, "}");
    }
    (void)snprintf(
        out + n, cap - n,
        ",\"device3\":{\"AllReduce-op1\":{\"st\":183904824.65996903,\"ed\":183904836.35996903,\"dur\":11.7}%s}},"
        "\"minT\":-9e9,\"maxT\":2e9,\"stage_data\":{\"stage0\":{\"devices\":[\"device0\",\"device1\"],\"data\":{}},"
        "\"stage1\":{\"devices\":[\"device3\",\"device9\"],\"data\":{}}}}",
        broken);
}

static void marey_export(void **state)
{
    (void)state;
    static char text[20000];
    char folder[64];
    seen_run s;
    folder_make(folder, sizeof folder);
    export_json(text, sizeof text, ",\"Bad-op2\":{\"st\":\"soon\"}");
    folder_put(folder, "ascend_marey_timeline_1.json", text);
    folder_put(
        folder, "scope_map_1.json",
        "{\"scope_map\":{\"Mul-op0\":\"/network-Net/a-A\",\"Mul-op1\":\"/Default/network-Net/a-A\",\"Mul-op2\":\"\"}}");
    folder_see(folder, &s);
    assert_int_equal(s.status, MAREY_OK);
    assert_int_equal(s.n, 81);
    assert_int_equal(s.b.side.n_places, 4);
    static const int64_t stages[] = {0, 0, -1, 1};
    for (size_t i = 0; i < 4; i++) {
        const trace_place_in *p = &s.b.side.places[i];
        assert_true(p->rank == (int64_t)i && p->stage == stages[i] && (p->inferred & INFERRED_RANK));
        assert_int_equal(p->process, s.b.threads[i].pid_id);
    }
    assert_false(s.b.facts.is_kineto); /* each process is a rank */
    assert_string_equal(s.b.facts.format, "marey-export");
    size_t k = seen_find(&s, "AllReduce-op1");
    assert_true(s.events[k].start_ns == INT64_C(183904824660) && s.events[k].dur_ns == 11700);
    assert_string_equal(seen_source(&s, k), "hccl");
    assert_string_equal(seen_process(&s, k), "device3");
    k = seen_find(&s, "Mul-op0");
    assert_string_equal(seen_source(&s, k), "ascend_kernel.forward");
    assert_string_equal(s.events[k].args, "{\"scope\": \"/network-Net/a-A\"}");
    assert_string_equal(seen_source(&s, seen_find(&s, "Mul-op1")), "ascend_kernel.backward");
    size_t strays = 0;
    for (size_t i = 0; i < s.n; i++) {
        bool stray = (s.events[i].flags & EVENT_SEVERITY) == SEVERITY_STRAY;
        strays += stray;
        assert_int_equal(stray,
                         strcmp(seen_name(&s, i), "Mul-op7") == 0 && strcmp(seen_process(&s, i), "device1") == 0);
    }
    assert_int_equal(strays, 1);
    assert_int_equal(diag_lost(&s.d, MAREY_LOSS_MISSING_TIME), 1);
    assert_true(seen_message(&s, "device2 has no operators"));
    assert_true(seen_message(&s, "names device9"));
    seen_free(&s);
    folder_remove(folder);
}

static void broken_export(void **state)
{
    (void)state;
    static char text[20000];
    char folder[64];
    seen_run s;
    folder_make(folder, sizeof folder);
    export_json(text, sizeof text, "");
    for (size_t cut = strlen(text) / 6; cut < strlen(text); cut += strlen(text) / 6) {
        folder_put_bytes(folder, "ascend_marey_timeline_1.json", text, cut);
        folder_see(folder, &s);
        assert_int_equal(s.status, MAREY_OK);
        assert_true(s.n > 0 && s.n <= 81);
        assert_int_equal(diag_lost(&s.d, MAREY_LOSS_TRUNCATED), 1);
        seen_free(&s);
    }
    folder_put(folder, "ascend_marey_timeline_1.json", "{\"minT\": 1}");
    folder_see(folder, &s);
    assert_int_equal(s.status, MAREY_FORMAT);
    assert_true(seen_message(&s, "no maps of devices"));
    seen_free(&s);
    folder_put(folder, "ascend_marey_timeline_1.json", "nothing like it");
    folder_see(folder, &s);
    assert_int_equal(s.status, MAREY_FORMAT);
    seen_free(&s);
    folder_remove(folder);
}

/* A name that says nothing: what the file holds decides. */
static void export_of_another_name(void **state)
{
    (void)state;
    static char text[20000];
    char folder[64];
    seen_run s;
    folder_make(folder, sizeof folder);
    export_json(text, sizeof text, "");
    folder_put(folder, "resnet.json", text);
    folder_see(folder, &s);
    assert_int_equal(s.status, MAREY_OK);
    assert_int_equal(s.n, 81);
    assert_int_equal(s.b.side.n_places, 4);
    seen_free(&s);
    folder_remove(folder);
}

static void phases(void **state)
{
    (void)state;
    static const struct {
        const char *scope;
        bool dropped;
        const char *phase;
    } cases[] = {
        {"Default/network-Net/a", false, "forward"},
        {"Gradients/Default/network-Net/a", false, "backward"},
        {"recompute_Default/network-Net/a", false, "recompute"},
        {"Default/optimizer-Adam/x", false, "optimizer"},
        {"/Default/network-Net/a", true, "backward"},
        {"/Default/network-Net/a", false, ""},
        {"/network-Net/Gradients/a", true, "backward"},
        {"/network-Net/grad_Mirror/a", true, "backward"},
        {"/network-Net", true, ""},
        {"", true, ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_string_equal(mindspore_phase(cases[i].scope, strlen(cases[i].scope), cases[i].dropped), cases[i].phase);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(timeline),     cmocka_unit_test(text_and_steps), cmocka_unit_test(steps_beside_a_timeline),
        cmocka_unit_test(tables),       cmocka_unit_test(strategy),       cmocka_unit_test(msprof),
        cmocka_unit_test(marey_export), cmocka_unit_test(broken_export),  cmocka_unit_test(export_of_another_name),
        cmocka_unit_test(phases),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
