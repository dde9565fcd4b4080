/*
 * A folder of a profiler's run becomes one file: its files are joined per rank, ranks and stages are what the files
 * state, what is inferred is marked, a rank without events is named and the rest is there.
 */
#include "cm.h"

#include <unistd.h>

#include "base/file.h"
#include "convert/convert.h"
#include "store/store.h"

static char dir[] = "/tmp/marey-runs-XXXXXX";
static diag messages;

static const char *path_of(const char *name)
{
    static char path[300];
    (void)snprintf(path, sizeof path, "%s/%s", dir, name);
    return path;
}

static void write_file(const char *name, const char *text)
{
    assert_int_equal(file_write_all(path_of(name), text, strlen(text), NULL), MAREY_OK);
}

static const trace_model *convert_folder(store_file **f, convert_summary *summary)
{
    char out[300];
    const char *in = dir;
    (void)snprintf(out, sizeof out, "%s.h5", dir);
    convert_options o = {.out = out, .force = true, .jobs = 1};
    diag_init(&messages);
    assert_int_equal(convert_paths(&in, 1, &o, summary, &messages), MAREY_OK);
    assert_int_equal(store_open(f, out, &messages), MAREY_OK);
    return store_model(*f);
}

static void done(store_file *f)
{
    char command[128];
    store_close(&f);
    diag_deinit(&messages);
    (void)snprintf(command, sizeof command, "rm -rf %s/* %s.h5", dir, dir);
    assert_int_equal(system(command), 0);
}

static const trace_rank *find_rank(const trace_model *m, int64_t number)
{
    for (size_t i = 0; i < m->n_ranks; i++) {
        if (m->ranks[i].rank == number) {
            return &m->ranks[i];
        }
    }
    return NULL;
}

static void sixteen_ranks_one_empty(void **state)
{
    (void)state;
    for (int rank = 0; rank < 16; rank++) {
        char name[80];
        char text[400];
        (void)snprintf(name, sizeof name, "rank%d_trace_view.json", rank);
        (void)snprintf(text, sizeof text,
                       "[{\"name\":\"MatMul\",\"pid\":102816,\"tid\":2,\"ts\":\"17364088837000%02d.123\",\"dur\":12."
                       "345,\"args\":{\"Task "
                       "Type\":\"AI_CORE\"},\"ph\":\"X\"}]",
                       10 + rank);
        write_file(name, rank == 5 ? "" : text);
        (void)snprintf(name, sizeof name, "rank%d_step_trace_time.csv", rank);
        write_file(name, "");
    }
    store_file *f = NULL;
    convert_summary sum;
    const trace_model *m = convert_folder(&f, &sum);
    assert_int_equal(m->n_ranks, 15);
    assert_null(find_rank(m, 5));
    assert_non_null(find_rank(m, 15));
    assert_int_equal(m->n_events, 15);
    assert_true(find_rank(m, 4)->inferred == 0);
    bool named = false;
    for (size_t i = 0; i < messages.n_messages; i++) {
        named |= messages.messages[i].where && strstr(messages.messages[i].where, "(rank 5)");
    }
    assert_true(named);
    done(f);
}

static void marey_export(void **state)
{
    (void)state;
    write_file("ascend_marey_timeline_1.json", "{\"maps\":{\"device0\":{\"Mul-op1\":{\"st\":1.5,\"ed\":2.5}},"
                                               "\"device3\":{\"AllReduce-op2\":{\"st\":3,\"ed\":4.25}}},"
                                               "\"minT\":-5e6,\"stage_data\":{\"stage0\":{\"devices\":[\"device0\"]},"
                                               "\"stage1\":{\"devices\":[\"device3\"]}}}");
    write_file("scope_map_1.json", "{\"scope_map\":{\"Mul-op1\":\"/network-Net/a\"}}");
    store_file *f = NULL;
    convert_summary sum;
    const trace_model *m = convert_folder(&f, &sum);
    assert_int_equal(m->n_ranks, 2);
    assert_int_equal(find_rank(m, 0)->stage, 0);
    assert_int_equal(find_rank(m, 3)->stage, 1);
    assert_int_equal(find_rank(m, 3)->inferred & INFERRED_RANK, INFERRED_RANK);
    assert_string_equal(find_rank(m, 3)->label, "device3");
    assert_int_equal(m->duration_ns, 2750); /* from the operators, not from minT */
    assert_int_equal(m->n_collectives, 1);
    done(f);
}

static void stated_places(void **state)
{
    (void)state;
    write_file("step_trace_raw_2_detail_time.csv", "step_num,start_point,end_point,total\n1,100,300,200\n");
    write_file("parallel_strategy_2.json",
               "{\"config\":{\"rankId\":2,\"stageId\":1,\"stageDevices\":[{\"dim\":[{\"size\":\"0\"},"
               "{\"size\":\"1\"}]},{\"dim\":[{\"size\":\"2\"},{\"size\":\"3\"}]}]}}");
    write_file("step_trace_raw_3_detail_time.csv", "step_num,start_point,end_point,total\n1,100,310,210\n");
    write_file("profiler_info_3.json", "{\"rank_id\":\"3\",\"rank_size\":4,\"stage_num\":2}");
    store_file *f = NULL;
    convert_summary sum;
    const trace_model *m = convert_folder(&f, &sum);
    assert_int_equal(m->n_ranks, 2);
    assert_true(find_rank(m, 2)->stage == 1 && find_rank(m, 2)->inferred == 0);
    assert_true(find_rank(m, 3)->stage == 1 && find_rank(m, 3)->inferred == INFERRED_STAGE);
    assert_int_equal(m->n_steps, 2);
    assert_int_equal(m->n_groups, 2);
    done(f);
}

int main(void)
{
    if (!mkdtemp(dir)) {
        return 1;
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(sixteen_ranks_one_empty), cmocka_unit_test(marey_export),
                                       cmocka_unit_test(stated_places)};
    int rc = cmocka_run_group_tests(tests, NULL, NULL);
    return rmdir(dir) == 0 ? rc : 1;
}
