/* analysis.db: the tables of step_trace_time.csv, communication.json and communication_matrix.json in SQLite. */
#include <string.h>

#include "parse/decns.h"
#include "parse/sqlite.h"
#include "readers/ascend.h"

/* A column, what it becomes, and the factor to the metric's unit. */
typedef struct column_metric {
    const char *column;
    trace_metric_kind kind;
    double scale;
} column_metric;

static const column_metric step_columns[] = {
    {"computing", METRIC_STEP_COMPUTE, 1e3},
    {"communication_not_overlapped", METRIC_STEP_EXPOSED, 1e3},
    {"overlapped", METRIC_STEP_OVERLAPPED, 1e3},
    {"communication", METRIC_STEP_COMMUNICATION, 1e3},
    {"free", METRIC_STEP_FREE, 1e3},
    {"stage", METRIC_STEP_STAGE, 1e3},
    {"bubble", METRIC_STEP_BUBBLE, 1e3},
    {"communication_not_overlapped_and_exclude_receive", METRIC_STEP_COLLECTIVE, 1e3},
    {"preparing", METRIC_STEP_PREPARE, 1e3},
};
static const column_metric time_columns[] = {
    {"elapse_time", METRIC_COMM_TIME, 1e6}, {"transit_time", METRIC_COMM_TRANSIT, 1e6},
    {"wait_time", METRIC_COMM_WAIT, 1e6},   {"synchronization_time", METRIC_COMM_SYNC, 1e6},
    {"idle_time", METRIC_COMM_IDLE, 1e6},
};
static const column_metric link_columns[] = {
    {"transit_size", METRIC_LINK_BYTES, 1e6},
    {"transit_time", METRIC_LINK_TIME, 1e6},
    {"bandwidth", METRIC_LINK_BANDWIDTH, 1e9},
};

/* "step50" or "50" -> 50 */
static int64_t step_of(const sqlrows *rows, int column)
{
    int64_t step = -1;
    size_t n = 0;
    const char *s = sqlrows_text(rows, column, &n);
    while (n && (*s < '0' || *s > '9')) {
        s++;
        n--;
    }
    (void)(n && decns_parse_i64(s, n, &step));
    return step;
}

static uint32_t text_id(run_reader *r, const sqlrows *rows, int column)
{
    size_t n = 0;
    const char *s = sqlrows_text(rows, column, &n);
    return n ? run_string(r, s, n) : NO_ID;
}

/* One metric per column of the list that holds a number; the rows' first columns are others' business. */
static void push_columns(run_reader *r, const sqlrows *rows, int first, const column_metric *list, size_t n,
                         trace_metric_in m)
{
    for (size_t i = 0; i < n; i++) {
        double v = 0;
        if (sqlrows_double(rows, first + (int)i, &v)) {
            m.kind = list[i].kind;
            m.value = v * list[i].scale;
            run_metric(r, &m);
        }
    }
}

static size_t put_columns(const char **columns, size_t at, const column_metric *list, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        columns[at++] = list[i].column;
    }
    return at;
}

static marey_status read_steps(run_reader *r, sqldb *db)
{
    enum { N = sizeof step_columns / sizeof *step_columns };
    const char *columns[N + 1] = {"step"};
    size_t n = put_columns(columns, 1, step_columns, N);
    sqlrows *rows = NULL;
    marey_status status = sqldb_select(db, "StepTraceTime", columns, n, &rows);
    while (status == MAREY_OK && sqlrows_next(rows)) {
        trace_metric_in m = trace_metric(METRIC_STEP_TIME, 0);
        m.step = step_of(rows, 0);
        push_columns(r, rows, 1, step_columns, N, m);
    }
    return status == MAREY_OK ? sqlrows_end(&rows) : status;
}

static marey_status read_times(run_reader *r, sqldb *db)
{
    enum { N = sizeof time_columns / sizeof *time_columns };
    const char *columns[N + 4] = {"step", "hccl_op_name", "group_name", "start_timestamp"};
    size_t n = put_columns(columns, 4, time_columns, N);
    sqlrows *rows = NULL;
    marey_status status = sqldb_select(db, "CommAnalyzerTime", columns, n, &rows);
    while (status == MAREY_OK && sqlrows_next(rows)) {
        trace_metric_in m = trace_metric(METRIC_COMM_TIME, 0);
        double us = 0;
        m.step = step_of(rows, 0);
        m.name = text_id(r, rows, 1);
        m.tag = text_id(r, rows, 2);
        /* A REAL of microseconds holds no more than 0.25 us anyway; the exact start is the event's. */
        m.time_ns = sqlrows_double(rows, 3, &us) && us > 0 && us < 9e15 ? (int64_t)us * 1000 : m.time_ns;
        push_columns(r, rows, 4, time_columns, N, m);
    }
    return status == MAREY_OK ? sqlrows_end(&rows) : status;
}

static marey_status read_links(run_reader *r, sqldb *db)
{
    enum { N = sizeof link_columns / sizeof *link_columns };
    const char *columns[N + 5] = {"step", "hccl_op_name", "transport_type", "src_rank", "dst_rank"};
    size_t n = put_columns(columns, 5, link_columns, N);
    sqlrows *rows = NULL;
    marey_status status = sqldb_select(db, "CommAnalyzerMatrix", columns, n, &rows);
    while (status == MAREY_OK && sqlrows_next(rows)) {
        trace_metric_in m = trace_metric(METRIC_LINK_TIME, 0);
        m.step = step_of(rows, 0);
        m.name = text_id(r, rows, 1);
        m.tag = text_id(r, rows, 2);
        m.flags = METRIC_LOCAL_LINK;
        (void)sqlrows_i64(rows, 3, &m.a);
        (void)sqlrows_i64(rows, 4, &m.b);
        push_columns(r, rows, 5, link_columns, N, m);
    }
    return status == MAREY_OK ? sqlrows_end(&rows) : status;
}

marey_status ascend_analysis_db_read(run_reader *r, const run_file *f)
{
    sqldb *db = NULL;
    marey_status status = sqldb_open(f->path, r->b->diag, r->b->file, &db);
    static marey_status (*const reads[])(run_reader *, sqldb *) = {read_steps, read_times, read_links};
    marey_status result = status;
    for (size_t i = 0; i < 3 && status == MAREY_OK; i++) {
        marey_status one = reads[i](r, db);
        result = one == MAREY_OK ? result : one;
    }
    sqldb_close(&db);
    return result;
}
