/*
 * Damage to a run's files: whatever happens to their bytes, reading a source ends, gives events in range of its own
 * threads and names, and when it gives nothing, says so. Seeded: the same damage on every run.
 */
#include "cm.h"

#include <sqlite3.h>
#include <unistd.h>

#include "base/diag.h"
#include "base/file.h"
#include "readers/run.h"

static char folder[] = "/tmp/marey-damage-XXXXXX";
static uint64_t seed = 7;

static uint32_t rnd(uint32_t n)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)((seed >> 33) % n);
}

typedef struct sample {
    const char *name, *text;
} sample;

static const sample samples[] = {
    {"trace_view.json",
     "[{\"ph\":\"X\",\"name\":\"aten::mm\",\"pid\":100,\"tid\":100,\"ts\":\"1736408883700001.000\",\"dur\":40.5,"
     "\"cat\":\"cpu_op\"},{\"name\":\"MatMul\",\"pid\":102816,\"tid\":2,\"ts\":\"1736408883700010.123\",\"dur\":12.3,"
     "\"args\":{\"Task Type\":\"AI_CORE\",\"connection_id\":936},\"ph\":\"X\"},{\"name\":\"hcom_allReduce__586_3_1\","
     "\"pid\":1,\"tid\":0,\"ts\":\"1736408883700040.5\",\"dur\":25,\"args\":{\"connection_id\":940,\"data_type\":"
     "\"FP32\","
     "\"count\":1024},\"ph\":\"X\"},{\"name\":\"process_name\",\"pid\":1,\"args\":{\"name\":\"HCCL\"},\"ph\":\"M\"}]"},
    {"kernel_details.csv",
     "Step Id,Name,Type,Accelerator Core,Start Time(us)\t,Duration(us),Block Dim\n"
     "50,MatMul,MatMul,AI_CORE,1736408883700010.123\t,12.345,24\n50,hcom_x,h,COMMUNICATION,1\t,2,N/A\n"},
    {"communication.json",
     "{\"step50\":{\"collective\":{\"hcom_allReduce__586_3_1@175\":{\"Communication Time Info\":{\"Start "
     "Timestamp(us)\":1.5,\"Elapse Time(ms)\":2},\"Communication Bandwidth Info\":{\"HCCS\":{\"Transit "
     "Size(MB)\":2}}}}}}"},
    {"communication_matrix.json",
     "{\"step50\":{\"collective\":{\"a@1\":{\"0-7\":{\"Transport Type\":\"HCCS\",\"Transit Time(ms)\":2}}}}}"},
    {"profiler_metadata.json",
     "{\"distributed_args\":{\"rank\":6,\"world_size\":8},\"parallel_group_info\":{\"g\":{\"group_name\":\"tp\","
     "\"group_rank\":0,\"global_ranks\":[6,7]}}}"},
    {"step_trace_time.csv", "Step,Computing,Free\n50,8827.473,1\n51,1,2\n"},
    {"memory_record.csv",
     "Component,Timestamp(us)\t,Total Allocated(MB),Total Reserved(MB)\nPTA,1736405443870818.960\t,1,8\n"},
    {"m/step_trace_raw_1_detail_time.csv",
     "step_num,start_point,end_point,total,fp_point,bp_point,stream_3_0_AllReduce-op4_start_point,"
     "stream_3_0_AllReduce-op4_end_point\n1,10,20,10,11,19,12,13\n-,1,2,3,4,5,6,7\n"},
    {"m/hccl_raw_1.csv",
     "step_num,communication_cost,wait_cost,link_info,communication_operator_cost\n1,2.5,27,\"{\"\"1-0\"\": "
     "{\"\"SDMA\"\": [2.5, 52.5, 21]}}\",\"{\"\"A-op1\"\": [\"\"1\"\", 0.5, 0.2, {\"\"1-0\"\": {}}]}\"\n"},
    {"m/ascend_cluster_analyse_pipeline-parallel_2_4_1.csv", "computation_time,stage_time\n1,2\n3,4\n2,3\n"},
    {"m/flops_1.txt", "op_full_name, MFLOPs(10^6)\nDefault/Conv2D-op1,12.5\n"},
    {"m/memory_usage_details_1.json", "{\"7\":{\"lines\":[1.0,2.0],\"nodes\":[{\"name\":\"x\",\"size\":1}]}}"},
    {"m/parallel_strategy_1.json",
     "{\"config\":{\"rankId\":1,\"stageId\":1,\"stageDevices\":[{\"dim\":[{\"size\":\"0\"}]}]}}"},
    {"m/timeline_display_1.json",
     "[{\"name\":\"Cast-op1\",\"ph\":\"X\",\"tid\":519,\"ts\":0.0,\"dur\":2.66,\"pid\":1,\"args\":{\"fullname\":"
     "\"Default/net/Cast-op1\"}},{\"name\":\"1\",\"ph\":\"X\",\"tid\":100000,\"ts\":0,\"dur\":9,\"pid\":1}]"},
    {"m/output_timeline_data_1.txt",
     "op_name, stream_id, start_time(ms), duration(ms)\nDefault/net/Cast-op1,519,438068.4,0.002\n"},
    {"p/device0_msprof_iter1.json",
     "[{\"name\":\"Iteration 1\",\"cat\":\"Iteration Time\",\"pid\":3,\"tid\":1,\"ts\":1,\"dur\":5,\"ph\":\"X\"},"
     "{\"name\":\"Default/a/Cast-op2\",\"pid\":3,\"tid\":2,\"ts\":2,\"dur\":1,\"args\":{\"Task "
     "Type\":\"AI_CORE\"},\"ph\":\"X\"}]"},
    {"e/ascend_marey_timeline_1.json",
     "{\"maps\":{\"device0\":{\"Mul-op1\":{\"st\":1.5,\"ed\":2.5},\"Add-op2\":{\"st\":3,\"ed\":4}},\"device1\":{"
     "\"Mul-op1\":{\"st\":1.6,\"ed\":2.6},\"Add-op2\":{\"st\":-900000,\"ed\":-899999}}},\"stage_data\":{"
     "\"stage0\":{\"devices\":[\"device0\",\"device1\"]}}}"},
    {"e/scope_map_1.json", "{\"scope_map\":{\"Mul-op1\":\"/net/a\"}}"},
};
enum { N_SAMPLES = sizeof samples / sizeof *samples };

static void put(const char *name, const char *bytes, size_t n)
{
    char path[256];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "wb"); /* not durable, but fast */
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
}

static size_t mutate(char *buf, size_t n, size_t cap)
{
    static const char marks[] = "\"\\{}[]:,\n\t \0019-eN.";
    for (uint32_t k = rnd(6) + 1; k > 0; k--) {
        size_t at = n ? rnd((uint32_t)n) : 0;
        switch (rnd(5)) {
        case 0:
            n = rnd(6) ? n : at;
            break;
        case 1:
            if (n + 1 < cap) {
                memmove(buf + at + 1, buf + at, n - at);
                buf[at] = marks[rnd(sizeof marks)];
                n++;
            }
            break;
        case 2:
            if (n > at) {
                memmove(buf + at, buf + at + 1, n - at - 1);
                n--;
            }
            break;
        default:
            if (n) {
                buf[at] = rnd(2) ? (char)rnd(256) : marks[rnd(sizeof marks)];
            }
            break;
        }
    }
    return n;
}

static marey_status check(void *ctx, trace_chunk *c)
{
    const trace_builder *b = ctx;
    for (size_t i = 0; i < c->n; i++) {
        const trace_row *r = &c->rows[i];
        assert_true(r->thread < b->n_threads && r->name < b->n_names);
        assert_true(r->dur_ns >= 0 && r->start_ns != INT64_MIN);
        int64_t end = 0;
        assert_false(__builtin_add_overflow(r->start_ns, r->dur_ns, &end));
    }
    c->n = 0;
    c->n_args = 0;
    return MAREY_OK;
}

/* Read all that is in the folder. @return events */
static uint64_t read_all(void)
{
    arena mem = {0};
    char **paths = NULL;
    size_t n_paths = 0;
    run_source *s = NULL;
    size_t n = 0;
    uint64_t events = 0;
    assert_int_equal(file_list(folder, &mem, &paths, &n_paths, NULL), MAREY_OK);
    run_group_files((const char *const *)paths, NULL, n_paths, &mem, &s, &n, NULL);
    for (size_t i = 0; i < n; i++) {
        trace_builder b;
        diag d;
        diag_init(&d);
        trace_builder_init(&b);
        b.flush = check;
        b.flush_ctx = &b;
        b.diag = &d;
        b.path = s[i].label;
        b.file = diag_file(&d, s[i].label);
        marey_status status = reader_read_run_source(&s[i], &b, NULL);
        assert_true(status == MAREY_OK || d.n_messages > 0);
        assert_true(status == MAREY_OK || status == MAREY_FORMAT || status == MAREY_UNSUPPORTED || status == MAREY_IO);
        for (size_t k = 0; k < b.n_collectives; k++) {
            assert_true(b.collectives[k].event < b.n_events);
        }
        for (size_t k = 0; k < b.side.n_places; k++) {
            assert_true(b.side.places[k].process == UINT32_MAX || b.side.places[k].process < b.n_processes);
        }
        events += b.n_events;
        trace_builder_deinit(&b);
        diag_deinit(&d);
    }
    free((void *)paths);
    arena_deinit(&mem);
    return events;
}

static void text_files(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_SAMPLES; i++) {
        put(samples[i].name, samples[i].text, strlen(samples[i].text));
    }
    uint64_t whole = read_all();
    assert_true(whole >= 13);
    uint64_t fewer = 0;
    for (int round = 0; round < 1500; round++) {
        size_t i = rnd(N_SAMPLES);
        char buf[2048];
        size_t n = strlen(samples[i].text);
        memcpy(buf, samples[i].text, n);
        n = mutate(buf, n, sizeof buf);
        put(samples[i].name, buf, n);
        fewer += read_all() < whole;
        put(samples[i].name, samples[i].text, strlen(samples[i].text));
    }
    assert_true(fewer > 50);
    assert_int_equal(read_all(), whole);
}

static void databases(void **state)
{
    (void)state;
    char path[256];
    char command[300];
    (void)snprintf(command, sizeof command, "rm -rf '%s'/* && mkdir '%s/d'", folder, folder);
    assert_int_equal(system(command), 0);
    (void)snprintf(path, sizeof path, "%s/d/ascend_pytorch_profiler_0.db", folder);
    sqlite3 *db = NULL;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(
        sqlite3_exec(
            db,
            "PRAGMA page_size=512;CREATE TABLE STRING_IDS(id INTEGER, value TEXT);"
            "INSERT INTO STRING_IDS VALUES(1,'AI_CORE'),(2,'MatMul'),(3,'hcom_allReduce__1_2_3');"
            "CREATE TABLE TASK(startNs INTEGER, endNs INTEGER, deviceId INTEGER, connectionId INTEGER, "
            "globalTaskId INTEGER, globalPid INTEGER, taskType INTEGER, streamId INTEGER);"
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<60) INSERT INTO TASK "
            "SELECT i*100,i*100+50,0,i,i,7,1,2 FROM n;"
            "CREATE TABLE COMPUTE_TASK_INFO(name INTEGER, globalTaskId INTEGER);"
            "INSERT INTO COMPUTE_TASK_INFO VALUES(2,1),(2,2);"
            "CREATE TABLE COMMUNICATION_OP(opName INTEGER, startNs INTEGER, endNs INTEGER);"
            "INSERT INTO COMMUNICATION_OP VALUES(3,10,20);"
            "CREATE TABLE PYTORCH_API(startNs TEXT, endNs TEXT, globalTid INTEGER, connectionId INTEGER, name "
            "INTEGER, type INTEGER);INSERT INTO PYTORCH_API VALUES('5','9',4294967297,0,2,50001);"
            "CREATE TABLE CONNECTION_IDS(id INTEGER, connectionId INTEGER);INSERT INTO CONNECTION_IDS VALUES(0,1);",
            NULL, NULL, NULL),
        SQLITE_OK);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    char *data = NULL;
    size_t n = 0;
    assert_int_equal(file_read_all(path, 1 << 20, &data, &n, NULL), MAREY_OK);
    assert_int_equal(read_all(), 62);
    for (int round = 0; round < 400; round++) {
        char *copy = malloc(n);
        memcpy(copy, data, n);
        size_t keep = rnd(8) ? n : rnd((uint32_t)n);
        for (uint32_t k = rnd(12); k > 0; k--) {
            copy[rnd((uint32_t)n)] = (char)rnd(256);
        }
        put("d/ascend_pytorch_profiler_0.db", copy, keep);
        free(copy);
        (void)read_all();
    }
    free(data);
}

int main(void)
{
    char command[64];
    if (!mkdtemp(folder)) {
        return 1;
    }
    (void)snprintf(command, sizeof command, "cd %s && mkdir m p e", folder);
    if (system(command) != 0) {
        return 1;
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(text_files), cmocka_unit_test(databases)};
    int rc = cmocka_run_group_tests(tests, NULL, NULL);
    (void)snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command) == 0 ? rc : 1;
}
