/* Samples over time and memory of the SQLite reader, and the analysis database. */
#include <string.h>

#include "readers/ascend_db.h"

static const double MB = 1048576.0;

/* ---- counters ---- */

static void sample(ascend_db *a, uint32_t thread, const char *name, int64_t ts_ns, double value)
{
    trace_sample_in s = {.ts_ns = ts_ns, .thread = thread, .counter = run_cstring(a->r, name), .value = value};
    trace_builder_sample(a->r->b, &s);
}

static const char *name_text(const ascend_db *a, const sqlrows *rows, int column)
{
    size_t n = 0;
    return ascend_db_bytes(a, ascend_db_text_column(a, rows, column), &n);
}

/* Rows of one table; `take` may use the row's time, which is there. */
static marey_status each_sample(ascend_db *a, const char *table, const char *const *columns, size_t n,
                                const char *process, void (*take)(ascend_db *, const sqlrows *, uint32_t, int64_t))
{
    sqlrows *rows = NULL;
    marey_status status = sqldb_select(a->db, table, columns, n, &rows);
    uint32_t thread = NO_ID;
    while (status == MAREY_OK && sqlrows_next(rows)) {
        int64_t ts = 0;
        if (!sqlrows_i64(rows, 0, &ts) || ts == TIME_MISSING) {
            run_lose(a->r, MAREY_LOSS_MISSING_TIME, DIAG_NO_OFFSET, NULL);
            continue;
        }
        thread = thread == NO_ID ? run_thread(a->r, process, "0", process, process) : thread;
        take(a, rows, thread, ts);
    }
    return status == MAREY_OK ? sqlrows_end(&rows) : status;
}

static void take_frequency(ascend_db *a, const sqlrows *rows, uint32_t thread, int64_t ts)
{
    double v = 0;
    if (sqlrows_double(rows, 1, &v)) {
        sample(a, thread, "AI Core Freq/MHz", ts, v);
    }
}

static void take_hbm(ascend_db *a, const sqlrows *rows, uint32_t thread, int64_t ts)
{
    double v = 0;
    int64_t id = 0;
    const char *type = name_text(a, rows, 3);
    const char *way = strcmp(type, "read") == 0 ? "Read" : strcmp(type, "write") == 0 ? "Write" : type;
    char name[96];
    if (sqlrows_double(rows, 1, &v) && sqlrows_i64(rows, 2, &id)) {
        (void)snprintf(name, sizeof name, "HBM %lld/%.24s/%.24s(MB/s)", (long long)id, way, way);
        sample(a, thread, name, ts, v / MB);
    }
}

static void take_llc(ascend_db *a, const sqlrows *rows, uint32_t thread, int64_t ts)
{
    double v = 0;
    int64_t id = 0;
    char name[96];
    if (!sqlrows_i64(rows, 1, &id)) {
        return;
    }
    const char *mode = strcmp(name_text(a, rows, 4), "write") == 0 ? "Write" : "Read";
    if (sqlrows_double(rows, 2, &v)) {
        (void)snprintf(name, sizeof name, "LLC %lld %s/Hit Rate/Hit Rate(%%)", (long long)id, mode);
        sample(a, thread, name, ts, v);
    }
    if (sqlrows_double(rows, 3, &v)) {
        (void)snprintf(name, sizeof name, "LLC %lld %s/Throughput/Throughput(MB/s)", (long long)id, mode);
        sample(a, thread, name, ts, v / MB);
    }
}

static void take_npu_memory(ascend_db *a, const sqlrows *rows, uint32_t thread, int64_t ts)
{
    static const char *const kinds[] = {"DDR", "HBM"};
    const char *type = strcmp(name_text(a, rows, 3), "app") == 0 ? "APP" : "Device";
    for (int i = 0; i < 2; i++) {
        double v = 0;
        char name[48];
        if (sqlrows_double(rows, 1 + i, &v)) {
            (void)snprintf(name, sizeof name, "%s/%s/KB", type, kinds[i]);
            sample(a, thread, name, ts, v / 1024.0);
        }
    }
}

static void take_memory_record(ascend_db *a, const sqlrows *rows, uint32_t thread, int64_t ts)
{
    static const char *const what[] = {"allocated", "reserved", "active"};
    for (int i = 0; i < 3; i++) {
        double v = 0;
        char name[160];
        if (sqlrows_double(rows, 2 + i, &v)) {
            (void)snprintf(name, sizeof name, "memory %.100s/%s", name_text(a, rows, 1), what[i]);
            sample(a, thread, name, ts, v);
        }
    }
}

/* ---- metrics ---- */

static marey_status push_operator_memory(ascend_db *a)
{
    sqlrows *rows = NULL;
    marey_status status =
        sqldb_select(a->db, "OP_MEMORY", (const char *const[]){"name", "size", "allocationTime"}, 3, &rows);
    while (status == MAREY_OK && sqlrows_next(rows)) {
        trace_metric_in m = trace_metric(METRIC_OP_MEMORY, 0);
        if (sqlrows_double(rows, 1, &m.value)) {
            m.name = ascend_db_string(a, ascend_db_text_column(a, rows, 0));
            (void)sqlrows_i64(rows, 2, &m.time_ns);
            run_metric(a->r, &m);
        }
    }
    return status == MAREY_OK ? sqlrows_end(&rows) : status;
}

/* Largest reservation per component, as the text's tables give it. */
static marey_status push_peaks(ascend_db *a, const char *table, const char *component, const char *reserved,
                               const char *names)
{
    sqlrows *rows = NULL;
    uint32_t ids[64];
    double top[64];
    size_t n = 0;
    map64 enums = {0};
    marey_status status = names ? ascend_db_load_enum(a, names, &enums) : MAREY_OK;
    if (status != MAREY_OK) {
        map64_deinit(&enums);
        return status;
    }
    status = sqldb_select(a->db, table, (const char *const[]){component, reserved}, 2, &rows);
    while (status == MAREY_OK && sqlrows_next(rows)) {
        int64_t id = 0;
        double v = 0;
        if (!sqlrows_i64(rows, 0, &id) || !sqlrows_double(rows, 1, &v) || v <= 0) {
            continue;
        }
        uint32_t text = names ? ascend_db_enum(&enums, id) : ascend_db_text(a, id);
        uint32_t name = ascend_db_string(a, text);
        size_t i = 0;
        while (i < n && ids[i] != name) {
            i++;
        }
        if (i == n && n < 64) {
            ids[n] = name;
            top[n++] = v;
        } else if (i < n && v > top[i]) {
            top[i] = v;
        }
    }
    for (size_t i = 0; i < n; i++) {
        trace_metric_in m = trace_metric(METRIC_PEAK_MEMORY, top[i]);
        m.name = ids[i];
        run_metric(a->r, &m);
    }
    map64_deinit(&enums);
    marey_status ended = sqlrows_end(&rows);
    return status == MAREY_OK ? ended : status;
}

marey_status ascend_db_push_counters(ascend_db *a)
{
    static const char *const freq[] = {"timestampNs", "freq"};
    static const char *const hbm[] = {"timestampNs", "bandwidth", "hbmId", "type"};
    static const char *const llc[] = {"timestampNs", "llcId", "hitRate", "throughput", "mode"};
    static const char *const npu[] = {"timestampNs", "ddr", "hbm", "type"};
    static const char *const memory[] = {"timestamp", "component", "totalAllocated", "totalReserved", "totalActive"};
    const struct {
        const char *table;
        const char *const *columns;
        size_t n;
        const char *process;
        void (*take)(ascend_db *, const sqlrows *, uint32_t, int64_t);
    } tables[] = {
        {"AICORE_FREQ", freq, 2, "AI Core Freq", take_frequency},
        {"HBM", hbm, 4, "HBM", take_hbm},
        {"LLC", llc, 5, "LLC", take_llc},
        {"NPU_MEM", npu, 4, "NPU MEM", take_npu_memory},
        {"MEMORY_RECORD", memory, 5, "Memory", take_memory_record},
    };
    marey_status result = MAREY_OK;
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        marey_status status =
            each_sample(a, tables[i].table, tables[i].columns, tables[i].n, tables[i].process, tables[i].take);
        result = status == MAREY_OK ? result : status;
    }
    marey_status status = push_operator_memory(a);
    result = status == MAREY_OK ? result : status;
    status = push_peaks(a, "MEMORY_RECORD", "component", "totalReserved", NULL);
    result = status == MAREY_OK ? result : status;
    status = push_peaks(a, "NPU_MODULE_MEM", "moduleId", "totalReserved", "ENUM_MODULE");
    return status == MAREY_OK ? result : status;
}
