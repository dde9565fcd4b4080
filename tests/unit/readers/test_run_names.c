/*
 * Files are grouped by what their names say, and only by that: the files of one rank become one source, in the order of
 * their roles; ranks are told from devices; folders that profilers always make do not separate a run; anything that is
 * no known name stays a trace of its own.
 */
#include "help_run.h"

#include "readers/run_names.h"

static void parse(void **state)
{
    (void)state;
    static const struct {
        const char *path;
        run_role role;
        int64_t rank, device, iteration;
    } cases[] = {
        {"a/trace_view.json", RUN_TRACE_VIEW, -1, -1, -1},
        {"a/rank0_trace_view.json.gz", RUN_TRACE_VIEW, 0, -1, -1},
        {"a/rank-34_kernel_details.csv", RUN_KERNEL_DETAILS, 34, -1, -1},
        {"a/worker3_trace_view.json", RUN_TRACE_VIEW, 3, -1, -1},
        {"rank_2_communication.json", RUN_COMMUNICATION, 2, -1, -1},
        {"a/communication_matrix.json", RUN_COMMUNICATION_MATRIX, -1, -1, -1},
        {"a/rank7/ASCEND_PROFILER_OUTPUT/trace_view.json", RUN_TRACE_VIEW, 7, -1, -1},
        {"a/ascend_pytorch_profiler_12.db", RUN_PROFILER_DB, 12, -1, -1},
        {"a/rank0_ascend_pytorch_profiler_0.db.gz", RUN_PROFILER_DB, 0, -1, -1},
        {"a/analysis.db", RUN_ANALYSIS_DB, -1, -1, -1},
        {"a/ascend_timeline_display_5.json", RUN_TIMELINE, 5, -1, -1},
        {"a/timeline_display_1.json.gz", RUN_TIMELINE, 1, -1, -1},
        {"a/output_timeline_data_1.txt", RUN_TIMELINE_TEXT, 1, -1, -1},
        {"a/step_trace_raw_3_detail_time.csv", RUN_STEP_TRACE_RAW, 3, -1, -1},
        {"a/ascend_cluster_analyse_pipeline-parallel_2_4_3.csv", RUN_CLUSTER_ANALYSE, 3, -1, -1},
        {"a/ascend_cluster_analyse_data-parallel_1_8_0.csv", RUN_CLUSTER_ANALYSE, 0, -1, -1},
        {"a/hccl_raw_2.csv", RUN_HCCL_RAW, 2, -1, -1},
        {"a/flops_1.txt", RUN_FLOPS, 1, -1, -1},
        {"a/flops_summary_1.json", RUN_FLOPS_SUMMARY, 1, -1, -1},
        {"a/memory_usage_details_0.json", RUN_MEMORY_DETAILS, 0, -1, -1},
        {"a/parallel_strategy_1.json", RUN_PARALLEL_STRATEGY, 1, -1, -1},
        {"a/profiler_info_4.json", RUN_PROFILER_INFO, 4, -1, -1},
        {"device0_msprof_iter3.json", RUN_MSPROF, -1, 0, 3},
        {"p/PROF_0001/device_2/timeline/msprof_2_1_7.json", RUN_MSPROF, -1, 2, 7},
        {"p/hccl_0_1_2.json", RUN_HCCL_TRACE, -1, 0, 2},
        {"p/msprof_20230908123456.json", RUN_MSPROF, -1, -1, -1},
        {"a/ascend_marey_timeline_1.json.gz", RUN_MAREY, -1, -1, -1},
        {"a/scope_map_1.json", RUN_SCOPE_MAP, -1, -1, -1},
        {"a/operator_details.csv", RUN_KNOWN, -1, -1, -1},
        {"a/rank_table.json", RUN_RANK_TABLE, -1, -1, -1},
        /* no known names */
        {"a/worker0.pt.trace.json.gz", RUN_TRACE, -1, -1, -1},
        {"a/my_trace_view.json", RUN_TRACE, -1, -1, -1},
        {"a/communication_test.json", RUN_TRACE, -1, -1, -1},
        {"a/flops.csv", RUN_TRACE, -1, -1, -1},
        {"a/trace_view.json.bak", RUN_TRACE, -1, -1, -1},
        {"a/rank0trace_view.json", RUN_TRACE, -1, -1, -1},
        {"trace.json", RUN_TRACE, -1, -1, -1},
        {"", RUN_TRACE, -1, -1, -1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        run_name n = run_name_parse(cases[i].path);
        if (n.role != cases[i].role || n.rank != cases[i].rank || n.device != cases[i].device ||
            n.iteration != cases[i].iteration) {
            fail_msg("%s: role %s rank %lld device %lld iteration %lld", cases[i].path, run_role_name(n.role),
                     (long long)n.rank, (long long)n.device, (long long)n.iteration);
        }
    }
}

static void grid(void **state)
{
    (void)state;
    int64_t stages = 0;
    int64_t size = 0;
    int64_t rank = 0;
    assert_true(run_name_grid("x/ascend_cluster_analyse_pipeline-parallel_2_4_3.csv.gz", &stages, &size, &rank));
    assert_true(stages == 2 && size == 4 && rank == 3);
    assert_false(run_name_grid("x/ascend_cluster_analyse_3.csv", &stages, &size, &rank));
    assert_false(run_name_grid("x/ascend_cluster_analyse_pipeline-parallel_2.csv", &stages, &size, &rank));
}

static void expect_source(const run_source *s, run_format format, int64_t rank, size_t n_files, run_role first)
{
    assert_int_equal(s->format, format);
    assert_int_equal(s->rank, rank);
    assert_int_equal(s->n_files, n_files);
    assert_int_equal(s->files[0].role, first);
}

static run_source *group(const char *const *paths, size_t n, arena *mem, size_t *n_sources)
{
    run_source *s = NULL;
    run_group_files(paths, NULL, n, mem, &s, n_sources, NULL);
    return s;
}

static void flat_ranks(void **state)
{
    (void)state;
    static const char *const paths[] = {"r/rank10_trace_view.json",     "r/rank2_kernel_details.csv",
                                        "r/rank2_trace_view.json",      "r/rank10_profiler_info_10.json",
                                        "r/rank2_operator_details.csv", "r/plain.json"};
    arena mem = {0};
    size_t n = 0;
    run_source *s = group(paths, 6, &mem, &n);
    assert_int_equal(n, 3);
    expect_source(&s[0], RUN_FORMAT_ASCEND, 2, 2, RUN_KERNEL_DETAILS);
    expect_source(&s[1], RUN_FORMAT_ASCEND, 10, 2, RUN_PROFILER_INFO);
    expect_source(&s[2], RUN_FORMAT_TRACE, -1, 1, RUN_TRACE);
    assert_string_equal(s[0].label, "r (rank 2)");
    assert_string_equal(s[2].label, "r/plain.json");
    arena_deinit(&mem);
}

static void real_folders(void **state)
{
    (void)state;
    static const char *const paths[] = {
        "run/host_1_ascend_pt/profiler_info_0.json",
        "run/host_1_ascend_pt/ASCEND_PROFILER_OUTPUT/trace_view.json",
        "run/host_1_ascend_pt/ASCEND_PROFILER_OUTPUT/step_trace_time.csv",
        "run/host_1_ascend_pt/PROF_01/device_0/timeline/msprof_0_1_1.json",
        "run/host_2_ascend_pt/profiler_info_1.json",
        "run/host_2_ascend_pt/ASCEND_PROFILER_OUTPUT/ascend_pytorch_profiler_1.db",
        "run/host_2_ascend_pt/ASCEND_PROFILER_OUTPUT/analysis.db",
    };
    arena mem = {0};
    size_t n = 0;
    run_source *s = group(paths, 7, &mem, &n);
    assert_int_equal(n, 2);
    assert_int_equal(s[0].rank, 0);
    assert_int_equal(s[1].rank, 1);
    assert_false(s[0].rank_is_device);
    expect_source(&s[1], RUN_FORMAT_ASCEND, 1, 3, RUN_PROFILER_INFO);
    bool view = false;
    for (size_t i = 0; i < s[0].n_files; i++) {
        view |= s[0].files[i].role == RUN_TRACE_VIEW;
    }
    assert_true(view);
    assert_string_equal(s[1].label, "run/host_2_ascend_pt (rank 1)");
    arena_deinit(&mem);
}

static void devices_and_exports(void **state)
{
    (void)state;
    static const char *const paths[] = {"m/device1_msprof_iter1.json",    "m/device1_msprof_iter2.json",
                                        "m/device1_hccl_iter1.json",      "e/ascend_marey_timeline_1.json",
                                        "e/ascend_marey_timeline_2.json", "e/scope_map_1.json"};
    arena mem = {0};
    size_t n = 0;
    run_source *s = group(paths, 6, &mem, &n);
    assert_int_equal(n, 3);
    expect_source(&s[0], RUN_FORMAT_MSPROF, 1, 3, RUN_MSPROF);
    assert_true(s[0].rank_is_device);
    assert_int_equal(s[0].files[0].iteration, 1);
    assert_int_equal(s[0].files[1].iteration, 2);
    expect_source(&s[1], RUN_FORMAT_MAREY, -1, 2, RUN_MAREY);
    expect_source(&s[2], RUN_FORMAT_MAREY, -1, 1, RUN_MAREY);
    arena_deinit(&mem);
}

static void nothing_to_read(void **state)
{
    (void)state;
    static const char *const paths[] = {"m/profiler_info_0.json", "m/operator_details.csv", "m/rank_table.json"};
    static const bool named[] = {false, true, false};
    arena mem = {0};
    run_source *s = NULL;
    size_t n = 7;
    diag d;
    diag_init(&d);
    run_group_files(paths, named, 3, &mem, &s, &n, &d);
    assert_int_equal(n, 0);
    bool warned = false; /* a file that the user named is not passed over in silence */
    for (size_t i = 0; i < d.n_messages; i++) {
        warned |= d.messages[i].severity == DIAG_WARNING && strstr(d.messages[i].where, "operator_details");
    }
    assert_true(warned);
    run_group_files(NULL, NULL, 0, &mem, &s, &n, &d);
    assert_int_equal(n, 0);
    diag_deinit(&d);
    arena_deinit(&mem);
}

static void rank_table_reaches_all(void **state)
{
    (void)state;
    static const char *const paths[] = {"m/rank_table_8p.json", "m/rank_table.json", "m/hccl_raw_0.csv",
                                        "m/hccl_raw_1.csv"};
    arena mem = {0};
    size_t n = 0;
    run_source *s = group(paths, 4, &mem, &n);
    assert_true(n >= 2);
    size_t tables = 0;
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < s[i].n_files; k++) {
            tables += s[i].files[k].role == RUN_RANK_TABLE;
        }
    }
    assert_int_equal(tables, 2);
    arena_deinit(&mem);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parse),
        cmocka_unit_test(grid),
        cmocka_unit_test(flat_ranks),
        cmocka_unit_test(real_folders),
        cmocka_unit_test(devices_and_exports),
        cmocka_unit_test(nothing_to_read),
        cmocka_unit_test(rank_table_reaches_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
