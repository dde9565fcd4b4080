/*
 * torch_npu's and msprof's SQLite output: the same events as trace_view.json, under the same process numbers, thread
 * names and categories, from TASK with its two info tables, COMMUNICATION_OP, CANN_API, PYTORCH_API, OVERLAP_ANALYSIS.
 * Times are exact ns already, in some tables as text. Not read: PMU counters per task, ACC_PMU and SOC_BANDWIDTH_LEVEL.
 */
#include "readers/ascend_db.h"

#include <stdlib.h>
#include <string.h>

static const uint32_t NO_PLANE = UINT32_MAX;

/* ---- strings ---- */

static uint64_t add_text(ascend_db *a, const sqlrows *rows, int column)
{
    size_t n = 0;
    const char *s = sqlrows_text(rows, column, &n);
    n = n < UINT32_MAX ? n : UINT32_MAX - 1;
    db_text t = {arena_strndup(&a->mem, s, n), (uint32_t)n, NO_ID};
    VEC_PUSH(a->texts, a->n_texts, a->cap_texts, t);
    return a->n_texts;
}

/* A table of numbered texts. */
static marey_status load_texts(ascend_db *a, const char *table, const char *value, map64 *out)
{
    sqlrows *rows = NULL;
    marey_status status = sqldb_select(a->db, table, (const char *const[]){"id", value}, 2, &rows);
    while (status == MAREY_OK && sqlrows_next(rows)) {
        int64_t id = 0;
        if (sqlrows_i64(rows, 0, &id)) {
            uint64_t text = add_text(a, rows, 1);
            *map64_put(out, (uint64_t)id) = text;
        }
    }
    return status == MAREY_OK ? sqlrows_end(&rows) : status;
}

static marey_status load_strings(ascend_db *a)
{
    return load_texts(a, "STRING_IDS", "value", &a->strings);
}

marey_status ascend_db_load_enum(ascend_db *a, const char *table, map64 *out)
{
    return load_texts(a, table, "name", out);
}

uint32_t ascend_db_enum(const map64 *names, int64_t id)
{
    const uint64_t *s = map64_get(names, (uint64_t)id);
    return s ? (uint32_t)(*s - 1) : NO_ID;
}

uint32_t ascend_db_text(const ascend_db *a, int64_t id)
{
    return ascend_db_enum(&a->strings, id);
}

uint32_t ascend_db_text_column(const ascend_db *a, const sqlrows *rows, int column)
{
    int64_t id = 0;
    return sqlrows_i64(rows, column, &id) ? ascend_db_text(a, id) : NO_ID;
}

const char *ascend_db_bytes(const ascend_db *a, uint32_t text, size_t *n)
{
    *n = text == NO_ID ? 0 : a->texts[text].n;
    return text == NO_ID ? "" : a->texts[text].s;
}

uint32_t ascend_db_string(ascend_db *a, uint32_t text)
{
    if (text == NO_ID) {
        return NO_ID;
    }
    if (a->texts[text].string == NO_ID) {
        a->texts[text].string = run_string(a->r, a->texts[text].s, a->texts[text].n);
    }
    return a->texts[text].string;
}

/* A name by its text; the empty one where there is none. */
static uint32_t name_of(ascend_db *a, uint32_t text, uint32_t source)
{
    uint32_t string = text == NO_ID ? run_cstring(a->r, "") : ascend_db_string(a, text);
    return trace_builder_name(a->r->b, string, source);
}

static bool is_said(const ascend_db *a, uint32_t text)
{
    size_t n = 0;
    const char *s = ascend_db_bytes(a, text, &n);
    return n > 0 && !(n == 3 && memcmp(s, "N/A", 3) == 0);
}

/* ---- arguments ---- */

static void args_begin(ascend_db *a)
{
    strbuf_clear(&a->args);
    strbuf_puts(&a->args, "{");
}

static void args_key(ascend_db *a, const char *key)
{
    if (a->args.n > 1) {
        strbuf_puts(&a->args, ", ");
    }
    strbuf_puts(&a->args, "\"");
    strbuf_puts(&a->args, key);
    strbuf_puts(&a->args, "\": ");
}

static void args_int(ascend_db *a, const char *key, int64_t v)
{
    args_key(a, key);
    run_json_int(&a->args, v);
}

static void args_text(ascend_db *a, const char *key, uint32_t text)
{
    if (is_said(a, text)) {
        size_t n = 0;
        const char *s = ascend_db_bytes(a, text, &n);
        args_key(a, key);
        run_json_string(&a->args, s, n);
    }
}

static void args_end(ascend_db *a, trace_event_in *e)
{
    strbuf_puts(&a->args, "}");
    e->args = a->args.n > 2 ? a->args.s : NULL;
    e->args_len = a->args.n > 2 ? (uint32_t)a->args.n : 0;
}

/* ---- pieces ---- */

static uint32_t source_of(ascend_db *a, ascend_kind kind)
{
    if (a->sources[kind] == NO_ID) {
        a->sources[kind] = run_cstring(a->r, ascend_source(kind));
    }
    return a->sources[kind];
}

static uint32_t thread_of(ascend_db *a, uint64_t pid, unsigned index, int64_t device, const char *process, uint64_t tid,
                          const char *format)
{
    /* Cached: many rows, few threads. */
    uint64_t key = hash_u64(pid * 64 + index) ^ hash_u64(tid + 1) ^ (uint64_t)device << 56;
    uint64_t *known = map64_put(&a->threads, key);
    if (!*known) {
        char pid_text[32];
        char tid_text[32];
        char name[64];
        if (index) {
            ascend_pid(pid, index, device, pid_text, sizeof pid_text);
        } else {
            (void)snprintf(pid_text, sizeof pid_text, "%llu", (unsigned long long)pid);
        }
        (void)snprintf(tid_text, sizeof tid_text, "%llu", (unsigned long long)tid);
        (void)snprintf(name, sizeof name, "%s %llu", format, (unsigned long long)tid);
        *known = (uint64_t)run_thread(a->r, pid_text, tid_text, process, name) + 1;
    }
    return (uint32_t)(*known - 1);
}

/* Start and end of a row. @return false (counted) where there is no start; a missing end is repaired */
static bool take_times(ascend_db *a, const sqlrows *rows, int start, int end, trace_event_in *e)
{
    int64_t stop = 0;
    if (!sqlrows_i64(rows, start, &e->start_ns) || e->start_ns == TIME_MISSING) {
        run_lose(a->r, MAREY_LOSS_MISSING_TIME, DIAG_NO_OFFSET, NULL);
        return false;
    }
    if (!sqlrows_i64(rows, end, &stop)) {
        run_lose(a->r, MAREY_LOSS_MISSING_DURATION, DIAG_NO_OFFSET, NULL);
        e->flags = EVENT_UNFINISHED | EVENT_REPAIRED | SEVERITY_LOST;
    } else if (__builtin_sub_overflow(stop, e->start_ns, &e->dur_ns)) {
        run_lose(a->r, MAREY_LOSS_TIME_OVERFLOW, DIAG_NO_OFFSET, NULL);
        return false;
    }
    return true;
}

static uint64_t connection_of(const sqlrows *rows, int column)
{
    int64_t id = 0;
    bool some = sqlrows_i64(rows, column, &id) && id > 0 && id != UINT32_MAX;
    return some ? (uint64_t)id : 0;
}

/* ---- who and where ---- */

static marey_status load_identity(ascend_db *a)
{
    run_reader *r = a->r;
    sqlrows *rows = NULL;
    size_t n = 0;
    int64_t v = 0;
    marey_status status = sqldb_select(a->db, "RANK_DEVICE_MAP", (const char *const[]){"rankId", "deviceId"}, 2, &rows);
    if (status == MAREY_OK && sqlrows_next(rows)) {
        r->b->facts.rank = sqlrows_i64(rows, 0, &v) && v >= 0 ? v : r->b->facts.rank;
        r->place.device = sqlrows_i64(rows, 1, &v) ? v : -1;
        r->has_place = true;
        if (sqlrows_next(rows)) {
            diag_warn(r->b->diag, r->b->path, DIAG_NO_OFFSET,
                      "tells of several ranks: all of it is shown as the first one's");
        }
    }
    (void)(status == MAREY_OK && sqlrows_end(&rows));
    status = sqldb_select(a->db, "HOST_INFO", (const char *const[]){"hostName"}, 1, &rows);
    if (status == MAREY_OK && sqlrows_next(rows)) {
        const char *name = sqlrows_text(rows, 0, &n);
        r->b->facts.host = n ? run_string(r, name, n) : NO_ID;
        r->place.host = r->b->facts.host;
    }
    (void)(status == MAREY_OK && sqlrows_end(&rows));
    status = sqldb_select(a->db, "NPU_INFO", (const char *const[]){"name"}, 1, &rows);
    if (status == MAREY_OK && sqlrows_next(rows)) {
        const char *name = sqlrows_text(rows, 0, &n);
        r->b->facts.device_name = n ? run_string(r, name, n) : NO_ID;
    }
    return status == MAREY_OK ? sqlrows_end(&rows) : status;
}

static void take_meta_text(ascend_db *a, const char *key, const char *text, size_t n)
{
    bool args = strcmp(key, "distributed_args") == 0;
    bool groups = strcmp(key, "parallel_group_info") == 0;
    jdoc *d = NULL;
    if ((args || groups) && jdoc_parse(text, n, a->r->b->path, a->r->b->diag, &d) == MAREY_OK) {
        ascend_take_parallel(a->r, d, args ? 0 : JDOC_NONE, groups ? 0 : JDOC_NONE);
    }
    jdoc_destroy(&d);
}

static marey_status load_meta(ascend_db *a)
{
    sqlrows *rows = NULL;
    marey_status status = sqldb_select(a->db, "META_DATA", (const char *const[]){"name", "value"}, 2, &rows);
    while (status == MAREY_OK && sqlrows_next(rows)) {
        size_t n = 0;
        char key[64];
        (void)snprintf(key, sizeof key, "%s", sqlrows_text(rows, 0, &n));
        const char *value = sqlrows_text(rows, 1, &n);
        take_meta_text(a, key, value, n);
    }
    return status == MAREY_OK ? sqlrows_end(&rows) : status;
}

/* ---- what tasks are ---- */

static marey_status load_compute_info(ascend_db *a)
{
    static const char *const columns[] = {"globalTaskId", "name",           "opType",       "taskType", "blockDim",
                                          "inputShapes",  "inputDataTypes", "outputShapes", "waitNs"};
    sqlrows *rows = NULL;
    marey_status status = sqldb_select(a->db, "COMPUTE_TASK_INFO", columns, 9, &rows);
    while (status == MAREY_OK && sqlrows_next(rows)) {
        int64_t id = 0;
        compute_info info = {.block_dim = -1, .wait_ns = -1};
        if (!sqlrows_i64(rows, 0, &id)) {
            run_lose(a->r, MAREY_LOSS_DAMAGED, DIAG_NO_OFFSET, "task without an id");
            continue;
        }
        info.name = ascend_db_text_column(a, rows, 1);
        info.op_type = ascend_db_text_column(a, rows, 2);
        info.task_type = ascend_db_text_column(a, rows, 3);
        (void)sqlrows_i64(rows, 4, &info.block_dim);
        info.input_shapes = ascend_db_text_column(a, rows, 5);
        info.input_types = ascend_db_text_column(a, rows, 6);
        info.output_shapes = ascend_db_text_column(a, rows, 7);
        (void)sqlrows_i64(rows, 8, &info.wait_ns);
        VEC_PUSH(a->compute, a->n_compute, a->cap_compute, info);
        *map64_put(&a->compute_of, (uint64_t)id) = a->n_compute;
    }
    return status == MAREY_OK ? sqlrows_end(&rows) : status;
}

/* A group gets its number, and its threads, when it is seen first. */
static uint32_t group_index(ascend_db *a, uint32_t name)
{
    for (size_t i = 0; i < a->n_groups; i++) {
        if (a->groups[i].name == name) {
            return (uint32_t)i;
        }
    }
    comm_group g = {.name = name};
    VEC_PUSH(a->groups, a->n_groups, a->cap_groups, g);
    return (uint32_t)(a->n_groups - 1);
}

static marey_status load_comm_info(ascend_db *a)
{
    static const char *const columns[] = {"globalTaskId", "taskType", "planeId",       "groupName", "srcRank",
                                          "dstRank",      "size",     "transportType", "linkType"};
    sqlrows *rows = NULL;
    marey_status status = sqldb_select(a->db, "COMMUNICATION_TASK_INFO", columns, 9, &rows);
    while (status == MAREY_OK && sqlrows_next(rows)) {
        int64_t id = 0;
        int64_t plane = -1;
        comm_info info = {.plane = NO_PLANE, .src = -1, .dst = -1, .size = -1, .transport = -1, .link = -1};
        if (!sqlrows_i64(rows, 0, &id)) {
            run_lose(a->r, MAREY_LOSS_DAMAGED, DIAG_NO_OFFSET, "task without an id");
            continue;
        }
        info.task_type = ascend_db_text_column(a, rows, 1);
        info.group = group_index(a, ascend_db_text_column(a, rows, 3));
        (void)sqlrows_i64(rows, 4, &info.src);
        (void)sqlrows_i64(rows, 5, &info.dst);
        (void)sqlrows_i64(rows, 6, &info.size);
        (void)sqlrows_i64(rows, 7, &info.transport);
        (void)sqlrows_i64(rows, 8, &info.link);
        if (sqlrows_i64(rows, 2, &plane) && plane >= 0 && plane < 4096) {
            info.plane = (uint32_t)plane;
            comm_group *g = &a->groups[info.group];
            g->n_planes = info.plane + 1 > g->n_planes ? info.plane + 1 : g->n_planes;
        }
        VEC_PUSH(a->comm, a->n_comm, a->cap_comm, info);
        *map64_put(&a->comm_of, (uint64_t)id) = a->n_comm;
    }
    return status == MAREY_OK ? sqlrows_end(&rows) : status;
}

/* ---- tasks ---- */

enum { T_START, T_END, T_DEVICE, T_CONNECTION, T_ID, T_PID, T_TYPE, T_STREAM, T_TASK, T_MODEL, T_COLUMNS };
static const char *const task_columns[T_COLUMNS] = {"startNs",   "endNs",    "deviceId", "connectionId", "globalTaskId",
                                                    "globalPid", "taskType", "streamId", "taskId",       "modelId"};

static void compute_args(ascend_db *a, const compute_info *c)
{
    args_text(a, "Type", c->op_type);
    args_text(a, "Task Type", c->task_type);
    if (c->block_dim >= 0) {
        args_int(a, "Block Dim", c->block_dim);
    }
    args_text(a, "Input Shapes", c->input_shapes);
    args_text(a, "Input Data Types", c->input_types);
    args_text(a, "Output Shapes", c->output_shapes);
    if (c->wait_ns >= 0) {
        args_key(a, "Wait Time(us)");
        strbuf_printf(&a->args, "%.3f", (double)c->wait_ns / 1e3);
    }
}

/* The collective's piece on its plane, besides the task on the stream. Level 0 has no planes. */
static marey_status push_plane_task(ascend_db *a, const comm_info *c, uint64_t pid, trace_event_in e, int64_t device)
{
    const comm_group *g = &a->groups[c->group];
    if (c->plane == NO_PLANE || !is_said(a, c->task_type)) {
        return MAREY_OK;
    }
    char name[32];
    char pid_text[32];
    char tid[32];
    ascend_pid(pid, ASCEND_PID_HCCL, device, pid_text, sizeof pid_text);
    (void)snprintf(tid, sizeof tid, "%u", g->first_tid + 1 + c->plane);
    (void)snprintf(name, sizeof name, "Plane %u", c->plane);
    e.thread = run_thread(a->r, pid_text, tid, "HCCL", name);
    e.name = name_of(a, c->task_type, source_of(a, ASCEND_COLLECTIVE_TASK));
    e.correlation = 0;
    args_begin(a);
    if (c->src >= 0) {
        args_int(a, "src rank", c->src);
        args_int(a, "dst rank", c->dst);
    }
    args_text(a, "transport type", ascend_db_enum(&a->transports, c->transport));
    args_text(a, "link type", ascend_db_enum(&a->links, c->link));
    if (c->size >= 0) {
        args_int(a, "size(Byte)", c->size);
    }
    args_end(a, &e);
    return run_event(a->r, &e);
}

static marey_status push_task(ascend_db *a, const sqlrows *rows)
{
    trace_event_in e = {0};
    int64_t id = -1;
    int64_t device = 0;
    int64_t pid = 0;
    int64_t stream = 0;
    if (!take_times(a, rows, T_START, T_END, &e)) {
        return MAREY_OK;
    }
    (void)sqlrows_i64(rows, T_ID, &id);
    (void)sqlrows_i64(rows, T_DEVICE, &device);
    (void)sqlrows_i64(rows, T_PID, &pid);
    (void)sqlrows_i64(rows, T_STREAM, &stream);
    const uint64_t *compute = map64_get(&a->compute_of, (uint64_t)id);
    const uint64_t *comm = map64_get(&a->comm_of, (uint64_t)id);
    uint32_t type = ascend_db_text_column(a, rows, T_TYPE);
    size_t n = 0;
    const char *text = ascend_db_bytes(a, type, &n);
    /* Work is what the info table names; a core's task without a name is a wrapper around others. */
    ascend_kind kind = compute ? ASCEND_KERNEL : comm ? ASCEND_TASK : ascend_task_kind(text, n);
    kind = !compute && kind == ASCEND_KERNEL ? ASCEND_TASK : kind;
    uint32_t name = compute ? a->compute[*compute - 1].name : type;
    e.thread = thread_of(a, (uint64_t)pid, ASCEND_PID_HARDWARE, device, "Ascend Hardware", (uint64_t)stream, "Stream");
    e.name = name_of(a, name, source_of(a, kind));
    e.correlation = kind == ASCEND_TASK ? 0 : connection_of(rows, T_CONNECTION);
    args_begin(a);
    if (compute) {
        compute_args(a, &a->compute[*compute - 1]);
    } else {
        args_text(a, "Task Type", type);
    }
    for (int i = T_TASK; i <= T_MODEL; i++) {
        int64_t v = 0;
        if (sqlrows_i64(rows, i, &v)) {
            args_int(a, i == T_TASK ? "Task Id" : "Model Id", v);
        }
    }
    args_end(a, &e);
    ascend_db_note_launch(a, e.correlation, e.start_ns, e.thread);
    marey_status status = run_event(a->r, &e);
    return status == MAREY_OK && comm ? push_plane_task(a, &a->comm[*comm - 1], (uint64_t)pid, e, device) : status;
}

static marey_status each_row(ascend_db *a, const char *table, const char *const *columns, size_t n,
                             marey_status (*push)(ascend_db *, const sqlrows *))
{
    sqlrows *rows = NULL;
    marey_status status = sqldb_select(a->db, table, columns, n, &rows);
    uint64_t count = 0;
    while (status == MAREY_OK && sqlrows_next(rows)) {
        status = push(a, rows);
        if (++count % 65536 == 0 && status == MAREY_OK) {
            run_report(a->r);
            status = run_cancelled(a->r) ? MAREY_CANCELLED : status;
        }
    }
    marey_status ended = sqlrows_end(&rows);
    return status == MAREY_OK ? ended : status;
}

/* ---- collectives ---- */

enum { C_NAME, C_START, C_END, C_CONNECTION, C_GROUP, C_TYPE, C_ALGORITHM, C_COUNT, C_COLUMNS };
static const char *const collective_columns[C_COLUMNS] = {"opName",    "startNs",  "endNs",   "connectionId",
                                                          "groupName", "dataType", "algType", "count"};

static marey_status push_collective(ascend_db *a, const sqlrows *rows)
{
    trace_event_in e = {0};
    int64_t count = -1;
    int64_t type = -1;
    char pid[32];
    char tid[32];
    char label[64];
    if (!take_times(a, rows, C_START, C_END, &e)) {
        return MAREY_OK;
    }
    uint32_t name = ascend_db_text_column(a, rows, C_NAME);
    uint32_t group_name = ascend_db_text_column(a, rows, C_GROUP);
    uint32_t index = group_index(a, group_name);
    (void)sqlrows_i64(rows, C_COUNT, &count);
    (void)sqlrows_i64(rows, C_TYPE, &type);
    uint32_t dtype = ascend_db_enum(&a->data_types, type);
    ascend_pid(a->host_pid, ASCEND_PID_HCCL, a->r->place.device, pid, sizeof pid);
    (void)snprintf(tid, sizeof tid, "%u", a->groups[index].first_tid);
    (void)snprintf(label, sizeof label, "Group %u Communication", index);
    e.thread = run_thread(a->r, pid, tid, "HCCL", label);
    e.name = name_of(a, name, source_of(a, ASCEND_COLLECTIVE));
    e.correlation = connection_of(rows, C_CONNECTION);
    args_begin(a);
    args_text(a, "data_type", dtype);
    args_text(a, "alg_type", ascend_db_text_column(a, rows, C_ALGORITHM));
    args_text(a, "group", group_name);
    if (count >= 0) {
        args_int(a, "count", count);
    }
    args_end(a, &e);
    size_t n = 0;
    size_t n_dtype = 0;
    const char *dtype_text = ascend_db_bytes(a, dtype, &n_dtype);
    const char *text = ascend_db_bytes(a, name, &n);
    ascend_push_collective(a->r, text, n, is_said(a, group_name) ? ascend_db_string(a, group_name) : NO_ID, dtype_text,
                           n_dtype, count);
    ascend_db_note_launch(a, e.correlation, e.start_ns, e.thread);
    return run_event(a->r, &e);
}

/* Numbers of threads: each group's collectives, then its planes. */
static void number_groups(ascend_db *a)
{
    uint32_t tid = 0;
    for (size_t i = 0; i < a->n_groups; i++) {
        a->groups[i].first_tid = tid;
        tid += 1 + a->groups[i].n_planes;
    }
    a->next_tid = tid;
}

/* Groups that have collectives, but no tasks. */
static marey_status load_collective_groups(ascend_db *a)
{
    sqlrows *rows = NULL;
    marey_status status = sqldb_select(a->db, "COMMUNICATION_OP", (const char *const[]){"groupName"}, 1, &rows);
    while (status == MAREY_OK && sqlrows_next(rows)) {
        (void)group_index(a, ascend_db_text_column(a, rows, 0));
    }
    return status == MAREY_OK ? sqlrows_end(&rows) : status;
}

/* The host's process: TASK.globalPid, as the profiler numbers its device processes by it. */
static marey_status load_host_pid(ascend_db *a)
{
    sqlrows *rows = NULL;
    int64_t pid = 0;
    marey_status status = sqldb_select(a->db, "TASK", (const char *const[]){"globalPid"}, 1, &rows);
    if (status == MAREY_OK && sqlrows_next(rows) && sqlrows_i64(rows, 0, &pid)) {
        a->host_pid = (uint64_t)pid;
    }
    return status == MAREY_OK ? sqlrows_end(&rows) : status;
}

/* ---- overlap analysis, steps ---- */

static marey_status push_overlap(ascend_db *a, const sqlrows *rows)
{
    static const char *const names[] = {"Computing", "Communication", "Communication(Not Overlapped)", "Free"};
    trace_event_in e = {0};
    int64_t type = -1;
    int64_t device = 0;
    char pid[32];
    char tid[32];
    if (!take_times(a, rows, 0, 1, &e)) {
        return MAREY_OK;
    }
    (void)sqlrows_i64(rows, 3, &device);
    if (!sqlrows_i64(rows, 2, &type) || type < 0 || type > 3) {
        run_lose(a->r, MAREY_LOSS_DAMAGED, DIAG_NO_OFFSET, "overlap of an unknown type");
        return MAREY_OK;
    }
    ascend_pid(a->host_pid, ASCEND_PID_OVERLAP, device, pid, sizeof pid);
    (void)snprintf(tid, sizeof tid, "%lld", (long long)type);
    e.thread = run_thread(a->r, pid, tid, "Overlap Analysis", names[type]);
    e.name = trace_builder_name(a->r->b, run_cstring(a->r, names[type]), source_of(a, ASCEND_OVERLAP));
    return run_event(a->r, &e);
}

static marey_status push_step(ascend_db *a, const sqlrows *rows)
{
    trace_event_in e = {0};
    int64_t id = 0;
    char name[48];
    if (!take_times(a, rows, 1, 2, &e) || !sqlrows_i64(rows, 0, &id)) {
        return MAREY_OK;
    }
    (void)snprintf(name, sizeof name, "ProfilerStep#%lld", (long long)id);
    e.thread = run_thread(a->r, "steps", "0", "Steps", "Steps");
    e.name = trace_builder_name(a->r->b, run_cstring(a->r, name), run_cstring(a->r, "user_annotation"));
    return run_event(a->r, &e);
}

/* ---- all of it ---- */

static marey_status load_all(ascend_db *a)
{
    marey_status status = load_strings(a);
    static marey_status (*const loads[])(ascend_db *) = {load_identity,      load_meta,     load_compute_info,
                                                         load_comm_info,     load_host_pid, load_collective_groups,
                                                         ascend_db_load_host};
    for (size_t i = 0; i < sizeof loads / sizeof *loads && status == MAREY_OK; i++) {
        status = loads[i](a);
    }
    static const char *const enums[] = {"ENUM_HCCL_TRANSPORT_TYPE", "ENUM_HCCL_LINK_TYPE", "ENUM_HCCL_DATA_TYPE"};
    map64 *const names[] = {&a->transports, &a->links, &a->data_types};
    for (size_t i = 0; i < 3 && status == MAREY_OK; i++) {
        status = ascend_db_load_enum(a, enums[i], names[i]);
    }
    number_groups(a);
    return status;
}

/* A damaged table ends; the others are read all the same. */
static marey_status keep_going(marey_status status)
{
    return status == MAREY_FORMAT ? MAREY_OK : status;
}

static marey_status push_all(ascend_db *a)
{
    marey_status status = keep_going(each_row(a, "TASK", task_columns, T_COLUMNS, push_task));
    if (status == MAREY_OK) {
        status = keep_going(each_row(a, "COMMUNICATION_OP", collective_columns, C_COLUMNS, push_collective));
    }
    if (status == MAREY_OK) {
        status = keep_going(each_row(a, "OVERLAP_ANALYSIS",
                                     (const char *const[]){"startNs", "endNs", "type", "deviceId"}, 4, push_overlap));
    }
    if (status == MAREY_OK) {
        status = keep_going(ascend_db_push_host(a));
    }
    if (status == MAREY_OK && !a->has_steps) {
        status = keep_going(each_row(a, "STEP_TIME", (const char *const[]){"id", "startNs", "endNs"}, 3, push_step));
    }
    return status == MAREY_OK ? keep_going(ascend_db_push_counters(a)) : status;
}

static void deinit(ascend_db *a)
{
    map64 *const maps[] = {&a->strings, &a->compute_of, &a->comm_of,  &a->threads,     &a->transports,
                           &a->links,   &a->data_types, &a->launches, &a->connections, &a->stacks};
    for (size_t i = 0; i < sizeof maps / sizeof *maps; i++) {
        map64_deinit(maps[i]);
    }
    arena_deinit(&a->mem);
    free(a->texts);
    free(a->compute);
    free(a->comm);
    free(a->groups);
    free(a->launch_list);
    free(a->connection_list);
    free(a->stack_list);
    strbuf_deinit(&a->args);
    sqldb_close(&a->db);
}

marey_status ascend_db_read(run_reader *r, const run_file *f)
{
    ascend_db a = {.r = r};
    memset(a.sources, 0xFF, sizeof a.sources);
    marey_status status = sqldb_open(f->path, r->b->diag, r->b->file, &a.db);
    if (status == MAREY_OK && !sqldb_has_table(a.db, "STRING_IDS") && !sqldb_has_table(a.db, "TASK")) {
        run_lose(r, MAREY_LOSS_NOT_A_TRACE, 0, NULL);
        status = diag_error(r->b->diag, MAREY_UNSUPPORTED, f->path, DIAG_NO_OFFSET,
                            "is an SQLite database, but not one of an Ascend profiler");
    }
    uint64_t before = r->b->n_events;
    if (status == MAREY_OK) {
        status = keep_going(load_all(&a));
    }
    if (status == MAREY_OK) {
        status = push_all(&a);
    }
    if (status == MAREY_OK && r->b->n_events == before) {
        diag_warn(r->b->diag, f->path, DIAG_NO_OFFSET, "is a database whose tables hold no events");
    }
    if (status == MAREY_IO || status == MAREY_FORMAT) {
        run_lose(r, MAREY_LOSS_UNREADABLE, DIAG_NO_OFFSET, NULL);
    }
    deinit(&a);
    return status;
}
