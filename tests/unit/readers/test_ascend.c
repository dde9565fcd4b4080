/*
 * torch_npu output. The same run written as text and as SQLite gives the same events: names, categories, processes,
 * threads, exact times, links. What is missing, empty or damaged is counted and named; the rest is read.
 */
#include "help_run.h"

#include <sqlite3.h>

#include "trace/model.h"

/* ---- one small run, twice ---- */

#define T(us) "\"17364088837000" us "\""

static const char view_json[] =
    "[{\"ph\":\"X\",\"name\":\"aten::mm\",\"pid\":100,\"tid\":100,\"ts\":" T(
        "01.000") ",\"dur\":40.5,\"cat\":\"cpu_op\",\"args\":{\"Sequence number\":7,\"Fwd thread id\":0}},\n"
                  "{\"ph\":\"X\",\"name\":\"train.py(3): step\",\"pid\":100,\"tid\":100,\"ts\":" T(
                      "00.500") ",\"dur\":90,\"cat\":\"python_function\",\"args\":{}},\n"
                                "{\"ph\":\"X\",\"name\":\"ProfilerStep#50\",\"pid\":100,\"tid\":100,\"ts\":" T(
                                    "00.100") ",\"dur\":95,\"cat\":\"cpu_op\"},\n"
                                              "{\"ph\":\"X\",\"name\":\"Enqueue\",\"pid\":100,\"tid\":100,\"ts\":" T(
                                                  "02.000") ",\"dur\":1,\"cat\":\"enqueue\",\"args\":{\"correlation_"
                                                            "id\":8226}},\n"
                                                            "{\"ph\":\"X\",\"name\":\"Dequeue@mm\",\"pid\":100,\"tid\":"
                                                            "101,\"ts\":" T(
                                                                "03.250") ",\"dur\":6.01,\"cat\":\"dequeue\",\"args\":{"
                                                                          "\"correlation_id\":8226}},\n"
                                                                          "{\"ph\":\"M\",\"name\":\"process_name\","
                                                                          "\"pid\":100,\"tid\":0,\"args\":{\"name\":"
                                                                          "\"Python\"}},\n"
                                                                          "{\"ph\":\"M\",\"name\":\"thread_name\","
                                                                          "\"pid\":100,\"tid\":100,\"args\":{\"name\":"
                                                                          "\"Thread 100\"}},\n"
                                                                          "{\"ph\":\"M\",\"name\":\"thread_name\","
                                                                          "\"pid\":100,\"tid\":101,\"args\":{\"name\":"
                                                                          "\"Thread 101\"}},\n"
                                                                          "{\"name\":\"Node@launch\",\"pid\":102624,"
                                                                          "\"tid\":101,\"ts\":" T(
                                                                              "04.000") ",\"dur\":2.002,\"args\":{"
                                                                                        "\"Thread "
                                                                                        "Id\":101,\"level\":\"node\","
                                                                                        "\"connection_id\":936},\"ph\":"
                                                                                        "\"X\"},\n"
                                                                                        "{\"name\":\"MatMulV2\","
                                                                                        "\"pid\":102816,\"tid\":2,"
                                                                                        "\"ts\":" T(
                                                                                            "10.123") ",\"dur\":12.345,"
                                                                                                      "\"args\":{"
                                                                                                      "\"Task "
                                                                                                      "Type\":\"AI_"
                                                                                                      "CORE\",\"Task "
                                                                                                      "Id\":5,"
                                                                                                      "\"connection_"
                                                                                                      "id\":936},"
                                                                                                      "\"ph\":\"X\"},\n"
                                                                                                      "{\"name\":"
                                                                                                      "\"MEMCPY_"
                                                                                                      "ASYNC\",\"pid\":"
                                                                                                      "102816,\"tid\":"
                                                                                                      "2,\"ts\":" T(
                                                                                                          "30.000") ","
                                                                                                                    "\""
                                                                                                                    "du"
                                                                                                                    "r"
                                                                                                                    "\""
                                                                                                                    ":1"
                                                                                                                    ","
                                                                                                                    "\""
                                                                                                                    "ar"
                                                                                                                    "gs"
                                                                                                                    "\""
                                                                                                                    ":{"
                                                                                                                    "\""
                                                                                                                    "Ta"
                                                                                                                    "sk"
                                                                                                                    " T"
                                                                                                                    "yp"
                                                                                                                    "e"
                                                                                                                    "\""
                                                                                                                    ":"
                                                                                                                    "\""
                                                                                                                    "ME"
                                                                                                                    "MC"
                                                                                                                    "PY"
                                                                                                                    "_A"
                                                                                                                    "SY"
                                                                                                                    "NC"
                                                                                                                    "\""
                                                                                                                    ","
                                                                                                                    "\""
                                                                                                                    "Ta"
                                                                                                                    "sk"
                                                                                                                    " I"
                                                                                                                    "d"
                                                                                                                    "\""
                                                                                                                    ":6"
                                                                                                                    ","
                                                                                                                    "\""
                                                                                                                    "co"
                                                                                                                    "nn"
                                                                                                                    "ec"
                                                                                                                    "ti"
                                                                                                                    "on"
                                                                                                                    "_i"
                                                                                                                    "d"
                                                                                                                    "\""
                                                                                                                    ":9"
                                                                                                                    "37"
                                                                                                                    "},"
                                                                                                                    "\""
                                                                                                                    "ph"
                                                                                                                    "\""
                                                                                                                    ":"
                                                                                                                    "\""
                                                                                                                    "X"
                                                                                                                    "\""
                                                                                                                    "},"
                                                                                                                    "\n"
                                                                                                                    "{"
                                                                                                                    "\""
                                                                                                                    "na"
                                                                                                                    "me"
                                                                                                                    "\""
                                                                                                                    ":"
                                                                                                                    "\""
                                                                                                                    "EV"
                                                                                                                    "EN"
                                                                                                                    "T_"
                                                                                                                    "WA"
                                                                                                                    "IT"
                                                                                                                    "\""
                                                                                                                    ","
                                                                                                                    "\""
                                                                                                                    "pi"
                                                                                                                    "d"
                                                                                                                    "\""
                                                                                                                    ":1"
                                                                                                                    "02"
                                                                                                                    "81"
                                                                                                                    "6,"
                                                                                                                    "\""
                                                                                                                    "ti"
                                                                                                                    "d"
                                                                                                                    "\""
                                                                                                                    ":2"
                                                                                                                    ","
                                                                                                                    "\""
                                                                                                                    "ts"
                                                                                                                    "\""
                                                                                                                    ":" T("31.000") ",\"dur\":9,\"args\":{\"Task Type\":\"EVENT_WAIT_SQE\",\"Task Id\":7,\"connection_id\":938},\"ph\":\"X\"},\n"
                                                                                                                                    "{\"name\":\"SDMA\",\"pid\":102816,\"tid\":4,\"ts\":" T(
                                                                                                                                        "41.000") ",\"dur\":3,\"args\":{\"Task Type\":\"SDMA\",\"Task Id\":8,\"connection_id\":940},\"ph\":\"X\"},\n"
                                                                                                                                                  "{\"name\":\"hcom_allReduce__586_3_1\",\"pid\":102880,\"tid\":0,\"ts\":" T(
                                                                                                                                                      "40.564") ",\"dur\":25.000,\"args\":{\"connection_id\":940,\"data_type\":\"FP32\",\"alg_type\":\"RING\",\"count\":1024},\"ph\":\"X\"},\n"
                                                                                                                                                                "{\"name\":\"Memcpy\",\"pid\":102880,\"tid\":2,\"ts\":" T(
                                                                                                                                                                    "41.000") ",\"dur\":3,\"args\":{\"notify_id\":\"0\",\"src rank\":0,\"dst rank\":1,\"transport type\":\"SDMA\",\"size(Byte)\":64},\"ph\":\"X\"},"
                                                                                                                                                                              "\n{\"name\":\"Computing\",\"pid\":103136,\"tid\":0,\"ts\":" T("10.123") ",\"dur\":12.345,\"ph\":\"X\"},\n"
                                                                                                                                                                                                                                                       "{\"name\":\"HostToDevice936\",\"ph\":\"s\",\"cat\":\"HostToDevice\",\"id\":\"936\",\"pid\":102624,\"tid\":101,\"ts\":" T("04.000") "},\n"
                                                                                                                                                                                                                                                                                                                                                                                           "{\"name\":\"process_name\",\"pid\":102816,\"tid\":0,\"args\":{\"name\":\"Ascend Hardware\"},\"ph\":\"M\"},\n"
                                                                                                                                                                                                                                                                                                                                                                                           "{\"name\":\"process_name\",\"pid\":102880,\"tid\":0,\"args\":{\"name\":\"HCCL\"},\"ph\":\"M\"},\n"
                                                                                                                                                                                                                                                                                                                                                                                           "{\"name\":\"process_name\",\"pid\":102624,\"tid\":0,\"args\":{\"name\":\"CANN\"},\"ph\":\"M\"},\n"
                                                                                                                                                                                                                                                                                                                                                                                           "{\"name\":\"process_name\",\"pid\":103136,\"tid\":0,\"args\":{\"name\":\"Overlap Analysis\"},\"ph\":\"M\"},\n"
                                                                                                                                                                                                                                                                                                                                                                                           "{\"name\":\"thread_name\",\"pid\":102816,\"tid\":2,\"args\":{\"name\":\"Stream 2\"},\"ph\":\"M\"},\n"
                                                                                                                                                                                                                                                                                                                                                                                           "{\"name\":\"thread_name\",\"pid\":102816,\"tid\":4,\"args\":{\"name\":\"Stream 4\"},\"ph\":\"M\"},\n"
                                                                                                                                                                                                                                                                                                                                                                                           "{\"name\":\"thread_name\",\"pid\":102880,\"tid\":0,\"args\":{\"name\":\"Group 0 Communication\"},\"ph\":\"M\"},\n"
                                                                                                                                                                                                                                                                                                                                                                                           "{\"name\":\"thread_name\",\"pid\":102880,\"tid\":2,\"args\":{\"name\":\"Plane 1\"},\"ph\":\"M\"},\n"
                                                                                                                                                                                                                                                                                                                                                                                           "{\"name\":\"thread_name\",\"pid\":102624,\"tid\":101,\"args\":{\"name\":\"Thread 101\"},\"ph\":\"M\"},\n"
                                                                                                                                                                                                                                                                                                                                                                                           "{\"name\":\"thread_name\",\"pid\":103136,\"tid\":0,\"args\":{\"name\":\"Computing\"},\"ph\":\"M\"}]";

static const char details_csv[] =
    "Step Id,Name,Type,Accelerator Core,Start Time(us)\t,Duration(us), Wait Time(us),Block Dim,Input Shapes\n"
    "50,MatMulV2,MatMul,AI_CORE,1736408883700010.123\t,12.345,0.5,24,\"\"\"32,64\"\"\"\n"
    "50,hcom_allReduce__586_3_1,hcom_allReduce_,COMMUNICATION,1736408883700040.563\t,25,N/A,N/A,N/A\n";

#define N      "1736408883700"
#define G(tid) "((100 << 32) + " #tid ")"
static const char db_sql[] =
    "CREATE TABLE STRING_IDS(id INTEGER, value TEXT);"
    "INSERT INTO STRING_IDS VALUES(0,'aten::mm'),(1,'train.py(3): "
    "step'),(2,'ProfilerStep#50'),(3,'Enqueue'),(4,'Dequeue@mm'),"
    "(5,'launch'),(6,'MatMulV2'),(7,'MatMul'),(8,'AI_CORE'),(9,'MEMCPY_ASYNC'),(10,'EVENT_WAIT'),(11,'SDMA'),"
    "(12,'hcom_allReduce__586_3_1'),(13,'group one'),(14,'Memcpy'),(15,'RING'),(16,'32,64'),(17,'N/A');"
    "CREATE TABLE TASK(startNs INTEGER, endNs INTEGER, deviceId INTEGER, connectionId INTEGER, globalTaskId INTEGER, "
    "globalPid INTEGER, taskType INTEGER, contextId INTEGER, streamId INTEGER, taskId INTEGER, modelId INTEGER);"
    "INSERT INTO TASK VALUES(" N "010123," N "022468,0,936,1,100,8,0,2,5,4294967295),"
    "(" N "030000," N "031000,0,937,2,100,9,0,2,6,4294967295),(" N "031000," N
    "040000,0,938,3,100,10,0,2,7,4294967295),"
    "(" N "041000," N "044000,0,940,4,100,11,0,4,8,4294967295);"
    "CREATE TABLE COMPUTE_TASK_INFO(name INTEGER, globalTaskId INTEGER, blockDim INTEGER, opType INTEGER, inputShapes "
    "INTEGER);"
    "INSERT INTO COMPUTE_TASK_INFO VALUES(6,1,24,7,16);"
    "CREATE TABLE COMMUNICATION_TASK_INFO(name INTEGER, globalTaskId INTEGER, taskType INTEGER, planeId INTEGER, "
    "groupName "
    "INTEGER, srcRank INTEGER, dstRank INTEGER, transportType INTEGER, size INTEGER);"
    "INSERT INTO COMMUNICATION_TASK_INFO VALUES(12,4,14,1,13,0,1,0,64);"
    "CREATE TABLE COMMUNICATION_OP(opName INTEGER, startNs INTEGER, endNs INTEGER, connectionId INTEGER, groupName "
    "INTEGER, "
    "dataType INTEGER, algType INTEGER, count NUMERIC);"
    "INSERT INTO COMMUNICATION_OP VALUES(12," N "040564," N "065564,940,13,4,15,1024);"
    "CREATE TABLE ENUM_HCCL_DATA_TYPE(id INTEGER, name TEXT);INSERT INTO ENUM_HCCL_DATA_TYPE VALUES(4,'FP32');"
    "CREATE TABLE CANN_API(startNs INTEGER, endNs INTEGER, type INTEGER, globalTid INTEGER, connectionId INTEGER, name "
    "INTEGER);"
    "INSERT INTO CANN_API VALUES(" N "004000," N "006002,10000," G(
        101) ",936,5);"
             "CREATE TABLE CONNECTION_IDS(id INTEGER, connectionId INTEGER);INSERT INTO CONNECTION_IDS "
             "VALUES(0,9210),(1,936);"
             "CREATE TABLE PYTORCH_API(startNs TEXT, endNs TEXT, globalTid INTEGER, connectionId INTEGER, name "
             "INTEGER, sequenceNumber "
             "INTEGER, fwdThreadId INTEGER, type INTEGER);"
             "INSERT INTO PYTORCH_API VALUES('" N "001000','" N
             "041500'," G(100) ",1,0,7,0,50001),"
                               "('" N "000500','" N
                               "090500'," G(100) ",NULL,1,NULL,NULL,50003),('" N "000100','" N "095100'," G(
                                   100) ",NULL,2,NULL,NULL,50001),"
                                        "('" N "002000','" N
                                        "003000'," G(100) ",0,3,NULL,NULL,50002),('" N "003250','" N "009260'," G(
                                            101) ",0,4,NULL,NULL,50002);"
                                                 "CREATE TABLE OVERLAP_ANALYSIS(deviceId INTEGER, startNs INTEGER, "
                                                 "endNs INTEGER, type INTEGER);"
                                                 "INSERT INTO OVERLAP_ANALYSIS VALUES(0," N "010123," N "022468,0);"
                                                 "CREATE TABLE STEP_TIME(id INTEGER, startNs INTEGER, endNs "
                                                 "INTEGER);INSERT INTO STEP_TIME VALUES(50," N "000100," N "095100);"
                                                 "CREATE TABLE RANK_DEVICE_MAP(rankId INTEGER, deviceId "
                                                 "INTEGER);INSERT INTO RANK_DEVICE_MAP VALUES(3,0);"
                                                 "CREATE TABLE HOST_INFO(hostUid TEXT, hostName TEXT);INSERT INTO "
                                                 "HOST_INFO VALUES('1','node\\a');"
                                                 "CREATE TABLE NPU_INFO(id INTEGER, name TEXT);INSERT INTO NPU_INFO "
                                                 "VALUES(0,'Ascend910B');";

static void put_db(const char *folder, const char *name, const char *sql)
{
    char path[600];
    sqlite3 *db = NULL;
    char *error = NULL;
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    if (sqlite3_exec(db, sql, NULL, NULL, &error) != SQLITE_OK) {
        fail_msg("%s", error);
    }
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

/* All that must be equal, as one line per event, sorted. */
static int compare_lines(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static char **lines_of(const seen_run *s)
{
    char **lines = calloc(s->n + 1, sizeof *lines);
    for (size_t i = 0; i < s->n; i++) {
        const seen_event *e = &s->events[i];
        char text[512];
        (void)snprintf(text, sizeof text, "%lld +%lld %s [%s] %s:%s (%s/%s) link %llu flags %d", (long long)e->start_ns,
                       (long long)e->dur_ns, seen_name(s, i), seen_source(s, i), seen_process(s, i), seen_thread(s, i),
                       s->b.threads[e->thread].pid, s->b.threads[e->thread].tid, (unsigned long long)e->correlation,
                       e->flags);
        lines[i] = strdup(text);
    }
    qsort((void *)lines, s->n, sizeof *lines, compare_lines);
    return lines;
}

static void same_events(const seen_run *a, const seen_run *b)
{
    char **x = lines_of(a);
    char **y = lines_of(b);
    assert_int_equal(a->n, b->n);
    for (size_t i = 0; i < a->n; i++) {
        assert_string_equal(x[i], y[i]);
        free(x[i]);
        free(y[i]);
    }
    free((void *)x);
    free((void *)y);
}

static void text_and_db_agree(void **state)
{
    (void)state;
    char folder[64];
    seen_run text;
    seen_run db;
    folder_make(folder, sizeof folder);
    folder_put(folder, "text/rank3_trace_view.json", view_json);
    folder_put(folder, "text/rank3_kernel_details.csv", details_csv);
    char sub[96];
    (void)snprintf(sub, sizeof sub, "%s/text", folder);
    folder_see(sub, &text);
    (void)snprintf(sub, sizeof sub, "%s/db", folder);
    folder_put(folder, "db/x", "");
    put_db(sub, "ascend_pytorch_profiler_3.db", db_sql);
    char junk[128];
    (void)snprintf(junk, sizeof junk, "%s/x", sub);
    assert_int_equal(remove(junk), 0);
    folder_see(sub, &db);
    char other[128]; /* by content, whatever its name */
    seen_run renamed;
    char from[160];
    (void)snprintf(from, sizeof from, "%s/ascend_pytorch_profiler_3.db", sub);
    (void)snprintf(other, sizeof other, "%s/mine.sqlite", sub);
    assert_int_equal(rename(from, other), 0);
    folder_see(sub, &renamed);
    same_events(&db, &renamed);
    seen_free(&renamed);
    assert_int_equal(text.status, MAREY_OK);
    assert_int_equal(db.status, MAREY_OK);
    same_events(&text, &db);
    assert_int_equal(text.n, 13);
    assert_int_equal(seen_count(&db, "kernel"), 1);
    assert_int_equal(seen_count(&db, "ascend_task"), 2);
    assert_int_equal(db.b.facts.rank, 3);
    assert_int_equal(text.b.facts.rank, 3);
    assert_string_equal(seen_string(&db, db.b.facts.host), "node\\a");
    assert_string_equal(seen_string(&db, db.b.facts.device_name), "Ascend910B");
    /* quoted times are this format's own, and nothing else was wrong */
    assert_int_equal(text.d.n_losses, 0);
    assert_int_equal(db.d.n_losses, 0);
    seen_free(&text);
    seen_free(&db);
    folder_remove(folder);
}

static void attributes_and_collectives(void **state)
{
    (void)state;
    char folder[64];
    seen_run s;
    folder_make(folder, sizeof folder);
    folder_put(folder, "rank3_trace_view.json", view_json);
    folder_put(folder, "rank3_kernel_details.csv", details_csv);
    folder_put(
        folder, "rank3_communication.json",
        "{\"step50\":{\"p2p\":{},\"collective\":{\"hcom_allReduce__586_3_1@1752586\":{\"Communication Time Info\":{"
        "\"Start Timestamp(us)\":1736408883700040.5,\"Elapse Time(ms)\":0.025,\"Transit Time(ms)\":0.02,\"Wait "
        "Time(ms)\":0.005,"
        "\"Synchronization Time(ms)\":0.004,\"Idle Time(ms)\":0},\"Communication Bandwidth Info\":{\"HCCS\":{\"Transit "
        "Size(MB)\":2.064384,\"Transit Time(ms)\":0.02,\"Bandwidth(GB/s)\":103.2192},\"RDMA\":{\"Transit "
        "Size(MB)\":0,\"Transit "
        "Time(ms)\":0,\"Bandwidth(GB/s)\":0}}},\"Total Op Info\":{\"Communication Time Info\":{\"Elapse "
        "Time(ms)\":9}}}}}");
    folder_put(folder, "rank3_communication_matrix.json",
               "{\"step50\":{\"collective\":{\"allreduce-top1@1752586\":{\"0-7\":{\"Transport "
               "Type\":\"HCCS\",\"Transit Size(MB)\":4,"
               "\"Transit Time(ms)\":2,\"Bandwidth(GB/s)\":2},\"odd\":{}}}}}");
    folder_see(folder, &s);
    assert_int_equal(s.status, MAREY_OK);
    size_t kernel = seen_find(&s, "MatMulV2");
    assert_non_null(strstr(s.events[kernel].args, "\"Task Type\":\"AI_CORE\""));
    assert_non_null(strstr(s.events[kernel].args, "\"Block Dim\":24"));
    assert_non_null(strstr(s.events[kernel].args, "\"Wait Time(us)\":0.5"));
    assert_non_null(strstr(s.events[kernel].args, "\"Input Shapes\":\"\\\"32,64\\\"\""));
    assert_int_equal(s.b.n_ac2g_flows, 1);
    assert_int_equal(s.b.n_flows, 0);
    assert_int_equal(s.b.n_collectives, 1);
    const trace_collective_in *c = &s.b.collectives[0];
    assert_string_equal(seen_name(&s, c->event), "hcom_allReduce__586_3_1");
    assert_string_equal(seen_string(&s, c->what), "allreduce");
    assert_string_equal(seen_string(&s, c->group), "1752586");
    assert_string_equal(seen_string(&s, c->dtype), "Float");
    assert_int_equal(c->in_elements, 1024);
    assert_int_equal(c->seq, 3);
    const trace_metric_in *m = seen_metric(&s, METRIC_COMM_TIME, 0);
    assert_int_equal(seen_metrics(&s, METRIC_COMM_TIME), 1); /* the total is no operator */
    assert_true(m->value == 25000.0 && m->step == 50 && m->time_ns == INT64_C(1736408883700040500));
    assert_int_equal(seen_metrics(&s, METRIC_LINK_BYTES), 2);
    m = seen_metric(&s, METRIC_LINK_BYTES, 0);
    assert_true(m->value == 2064384.0 && m->a == -1);
    m = seen_metric(&s, METRIC_LINK_TIME, 1);
    assert_true(m->a == 0 && m->b == 7 && m->value == 2e6 && (m->flags & METRIC_LOCAL_LINK));
    assert_string_equal(seen_string(&s, m->tag), "HCCS");
    assert_int_equal(diag_lost(&s.d, MAREY_LOSS_DAMAGED), 1); /* the link "odd" */
    seen_free(&s);
    folder_remove(folder);
}

static void tables_become_metrics(void **state)
{
    (void)state;
    char folder[64];
    seen_run s;
    folder_make(folder, sizeof folder);
    folder_put(
        folder, "step_trace_time.csv",
        "Step, Computing,Communication(Not Overlapped),Overlapped,Communication,Free,Stage,Bubble,Communication(Not "
        "Overlapped and Exclude "
        "Receive),Preparing\n50,8827.473,81515.607,4001.282,85516.889,25908.102,116251.25,0,81515.607,19358.0\n");
    folder_put(
        folder, "memory_record.csv",
        "Component,Timestamp(us)\t,Total Allocated(MB),Total Reserved(MB),Total Active(MB),Stream Ptr,Device Type\n"
        "PTA,1736405443870818.960\t,1,8,1,14,NPU:0\nPTA,1736405443870819.960\t,2,9,,14,NPU:0\nAPP,bad,,1,,,NPU:0\n");
    folder_put(
        folder, "operator_memory.csv",
        "Name,Size(KB),Allocation Time(us),Release Time(us)\naten::empty,0.5,1736405443878302.860\t,\nx,N/A,1,\n");
    folder_put(folder, "l2_cache.csv", "Stream Id,Task Id,Hit Rate,Victim Rate,Op Name\n2,1,N/A,0.25,Cast\n");
    folder_put(folder, "op_statistic.csv", "OP Type,Core Type,Count,Total Time(us)\nCast,AI_VECTOR_CORE,3,1.5\n");
    folder_put(folder, "npu_module_mem.csv",
               "Component,Timestamp(us),Total Reserved(MB),Device\nHCCL,1\t,2,NPU:0\nSLOG,1\t,0.0,NPU:0\n");
    folder_put(folder, "profiler_info_6.json", "{\"config\":{}}");
    folder_put(folder, "profiler_metadata.json",
               "{\"distributed_args\":{\"tensor_model_parallel_size\":2,\"pipeline_model_parallel_size\":1,\"rank\":6,"
               "\"world_size\":8},"
               "\"parallel_group_info\":{\"g1\":{\"group_name\":\"tp\",\"group_rank\":0,\"global_ranks\":[6,7]},"
               "\"g2\":{\"group_name\":\"dp\",\"group_rank\":3,\"global_ranks\":[0,2,4,6]}}}");
    folder_see(folder, &s);
    assert_int_equal(s.status, MAREY_OK);
    assert_int_equal(s.n, 0);
    assert_int_equal(s.b.n_samples, 5);
    assert_true(s.b.samples[0].ts_ns == INT64_C(1736405443870818960) && s.b.samples[0].value == 1048576.0);
    assert_string_equal(seen_string(&s, s.b.samples[0].counter), "memory PTA/allocated");
    assert_true(seen_metric(&s, METRIC_STEP_COMPUTE, 0)->value == 8827.473 * 1e3);
    assert_true(seen_metric(&s, METRIC_STEP_COMPUTE, 0)->step == 50);
    assert_int_equal(seen_metrics(&s, METRIC_PEAK_MEMORY), 2);
    assert_true(seen_metric(&s, METRIC_PEAK_MEMORY, 0)->value == 9 * 1048576.0);
    assert_true(seen_metric(&s, METRIC_OP_MEMORY, 0)->value == 512.0);
    assert_true(seen_metric(&s, METRIC_OP_MEMORY, 0)->time_ns == INT64_C(1736405443878302860));
    assert_null(seen_metric(&s, METRIC_CACHE_HIT, 0));
    assert_true(seen_metric(&s, METRIC_CACHE_VICTIM, 0)->value == 0.25);
    assert_true(seen_metric(&s, METRIC_OP_TIME, 0)->value == 1500.0);
    assert_int_equal(diag_lost(&s.d, MAREY_LOSS_MISSING_TIME), 1);
    assert_int_equal(diag_lost(&s.d, MAREY_LOSS_BAD_NUMBER), 1);
    assert_int_equal(s.b.facts.rank, 6);
    assert_int_equal(s.b.facts.world_size, 8);
    assert_true(s.b.facts.tp == 0 && s.b.facts.dp == 3 && s.b.facts.stage == 0);
    assert_int_equal(s.b.side.n_groups, 2);
    assert_string_equal(s.b.facts.groups_json,
                        "[{\"pg_name\":\"g1\",\"pg_desc\":\"tp\",\"pg_size\":2,\"ranks\":[6,7]},"
                        "{\"pg_name\":\"g2\",\"pg_desc\":\"dp\",\"pg_size\":4,\"ranks\":[0,2,4,6]}]");
    seen_free(&s);
    folder_remove(folder);
}

/* ---- what is missing or broken ---- */

static void kernels_from_the_table_alone(void **state)
{
    (void)state;
    char folder[64];
    seen_run s;
    folder_make(folder, sizeof folder);
    folder_put(folder, "kernel_details.csv", details_csv);
    folder_see(folder, &s);
    assert_int_equal(s.status, MAREY_OK);
    assert_int_equal(s.n, 2);
    size_t k = seen_find(&s, "MatMulV2");
    assert_true(s.events[k].start_ns == INT64_C(1736408883700010123) && s.events[k].dur_ns == 12345);
    assert_string_equal(seen_source(&s, k), "kernel");
    assert_string_equal(seen_source(&s, seen_find(&s, "hcom_allReduce__586_3_1")), "hccl");
    seen_free(&s);
    folder_remove(folder);
}

static void truncated_view(void **state)
{
    (void)state;
    char folder[64];
    folder_make(folder, sizeof folder);
    size_t full = strlen(view_json);
    size_t last = 0;
    for (size_t cut = full / 8; cut < full; cut += full / 8) {
        seen_run s;
        folder_put_bytes(folder, "trace_view.json", view_json, cut);
        folder_see(folder, &s);
        assert_int_equal(s.status, MAREY_OK);
        assert_true(s.n >= last && s.n <= 13);
        assert_true(s.d.n_losses > 0);
        last = s.n;
        seen_free(&s);
    }
    assert_int_equal(last, 13);
    folder_remove(folder);
}

static void empty_and_damaged_tables(void **state)
{
    (void)state;
    char folder[64];
    seen_run s;
    folder_make(folder, sizeof folder);
    folder_put(folder, "trace_view.json", view_json);
    folder_put(folder, "kernel_details.csv", "");
    folder_put(folder, "step_trace_time.csv", "Step,Computing\n");
    folder_put(folder, "communication.json", "{\"step50\": @}");
    folder_put(folder, "profiler_metadata.json", "");
    folder_put(folder, "memory_record.csv", "a;b;c\n1;2;3\n");
    folder_see(folder, &s);
    assert_int_equal(s.status, MAREY_OK);
    assert_int_equal(s.n, 13);
    assert_int_equal(diag_lost(&s.d, MAREY_LOSS_NO_EVENTS), 2);
    assert_int_equal(diag_lost(&s.d, MAREY_LOSS_UNREADABLE), 2);
    assert_int_equal(diag_lost(&s.d, MAREY_LOSS_MISSING_TIME), 1);
    assert_true(seen_message(&s, "is an empty table"));
    assert_true(seen_message(&s, "is a table without rows"));
    seen_free(&s);
    folder_remove(folder);
}

static void odd_databases(void **state)
{
    (void)state;
    static const struct {
        const char *sql;
        marey_status status;
        size_t n;
    } cases[] = {
        /* all tables, no rows */
        {"CREATE TABLE STRING_IDS(id INTEGER, value TEXT);CREATE TABLE TASK(startNs INTEGER);", MAREY_FORMAT, 0},
        /* columns missing, ids that lead nowhere, NULL times, an end before its start */
        {"CREATE TABLE STRING_IDS(id INTEGER, value TEXT);INSERT INTO STRING_IDS VALUES(1,'AI_CORE');"
         "CREATE TABLE TASK(startNs INTEGER, endNs INTEGER, taskType INTEGER);"
         "INSERT INTO TASK VALUES(10,20,1),(NULL,5,1),(30,NULL,77),(50,40,1);",
         MAREY_OK, 3},
        /* a database of somebody else */
        {"CREATE TABLE people(name TEXT);", MAREY_UNSUPPORTED, 0},
    };
    for (size_t i = 0; i < 3; i++) {
        char folder[64];
        seen_run s;
        folder_make(folder, sizeof folder);
        put_db(folder, "ascend_pytorch_profiler_0.db", cases[i].sql);
        folder_see(folder, &s);
        assert_int_equal(s.status, cases[i].status);
        assert_int_equal(s.n, cases[i].n);
        assert_true(s.d.n_messages > 0 || i == 1);
        if (i == 1) {
            assert_int_equal(diag_lost(&s.d, MAREY_LOSS_MISSING_TIME), 1);
            assert_int_equal(diag_lost(&s.d, MAREY_LOSS_MISSING_DURATION), 1);
            assert_int_equal(diag_lost(&s.d, MAREY_LOSS_NEGATIVE_DURATION), 1);
        }
        seen_free(&s);
        folder_remove(folder);
    }
}

static void damaged_database_beside_text(void **state)
{
    (void)state;
    char folder[64];
    seen_run s;
    folder_make(folder, sizeof folder);
    folder_put(folder, "ascend_pytorch_profiler_0.db", "SQLite format 3 and then nothing of the kind");
    folder_see(folder, &s);
    assert_int_equal(s.status, MAREY_FORMAT);
    assert_int_equal(diag_lost(&s.d, MAREY_LOSS_UNREADABLE), 1);
    seen_free(&s);
    folder_put(folder, "trace_view.json", view_json); /* adopted by the only rank */
    folder_see(folder, &s);
    assert_int_equal(s.status, MAREY_OK);
    assert_int_equal(s.n, 13);
    seen_free(&s);
    folder_remove(folder);
}

static void one_rank_of_three_is_empty(void **state)
{
    (void)state;
    char folder[64];
    arena mem = {0};
    size_t n = 0;
    folder_make(folder, sizeof folder);
    folder_put(folder, "rank0_trace_view.json", view_json);
    folder_put(folder, "rank1_trace_view.json", "");
    folder_put(folder, "rank3_trace_view.json", view_json); /* and rank 2 is missing */
    run_source *src = folder_group(folder, &mem, &n);
    assert_int_equal(n, 3);
    for (size_t i = 0; i < n; i++) {
        seen_run s;
        run_see(&src[i], &s);
        assert_int_equal(s.status, i == 1 ? MAREY_FORMAT : MAREY_OK);
        assert_int_equal(s.n, i == 1 ? 0 : 13);
        assert_true(i != 1 || strstr(s.d.messages[s.d.n_messages - 1].where, "(rank 1)"));
        seen_free(&s);
    }
    arena_deinit(&mem);
    folder_remove(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_and_db_agree),
        cmocka_unit_test(attributes_and_collectives),
        cmocka_unit_test(tables_become_metrics),
        cmocka_unit_test(kernels_from_the_table_alone),
        cmocka_unit_test(truncated_view),
        cmocka_unit_test(empty_and_damaged_tables),
        cmocka_unit_test(odd_databases),
        cmocka_unit_test(damaged_database_beside_text),
        cmocka_unit_test(one_rank_of_three_is_empty),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
