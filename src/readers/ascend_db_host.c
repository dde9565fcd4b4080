/* The host's side of the SQLite reader: operators, Python functions, the task queue, the runtime's calls. */
#include <string.h>

#include "readers/ascend_db.h"

void ascend_db_note_launch(ascend_db *a, uint64_t connection, int64_t start_ns, uint32_t thread)
{
    if (connection) {
        uint64_t *slot = map64_put(&a->launches, connection);
        launch l = {start_ns, thread, (uint32_t)*slot};
        VEC_PUSH(a->launch_list, a->n_launches, a->cap_launches, l);
        *slot = a->n_launches;
    }
}

/* ---- lists by id ---- */

static marey_status load_lists(ascend_db *a, const char *table, const char *value, map64 *heads, list_item **items,
                               size_t *n, size_t *cap)
{
    sqlrows *rows = NULL;
    marey_status status = sqldb_select(a->db, table, (const char *const[]){"id", value}, 2, &rows);
    while (status == MAREY_OK && sqlrows_next(rows)) {
        int64_t id = 0;
        list_item item = {0, 0};
        if (sqlrows_i64(rows, 0, &id) && sqlrows_i64(rows, 1, &item.value)) {
            uint64_t *slot = map64_put(heads, (uint64_t)id);
            item.next = (uint32_t)*slot;
            VEC_PUSH(*items, *n, *cap, item);
            *slot = *n;
        }
    }
    return status == MAREY_OK ? sqlrows_end(&rows) : status;
}

marey_status ascend_db_load_host(ascend_db *a)
{
    marey_status status = load_lists(a, "CONNECTION_IDS", "connectionId", &a->connections, &a->connection_list,
                                     &a->n_connections, &a->cap_connections);
    if (status == MAREY_OK) {
        status = load_lists(a, "PYTORCH_CALLCHAINS", "stack", &a->stacks, &a->stack_list, &a->n_stacks, &a->cap_stacks);
    }
    return status;
}

/* ---- CANN_API ---- */

/* The runtime's layers, as the text output writes them before the name and as "level". */
static const struct {
    int64_t type;
    const char *prefix, *level;
} layers[] = {
    {20000, "AscendCL@", "acl"}, {15000, "Model@", "model"},    {10000, "Node@", "node"},
    {5500, "Hccl@", "hccl"},     {5000, "Runtime@", "runtime"},
};
enum { N_LAYERS = sizeof layers / sizeof *layers };

static bool times(ascend_db *a, const sqlrows *rows, trace_event_in *e)
{
    int64_t end = 0;
    if (!sqlrows_i64(rows, 0, &e->start_ns) || e->start_ns == TIME_MISSING) {
        run_lose(a->r, MAREY_LOSS_MISSING_TIME, DIAG_NO_OFFSET, NULL);
        return false;
    }
    if (!sqlrows_i64(rows, 1, &end)) {
        run_lose(a->r, MAREY_LOSS_MISSING_DURATION, DIAG_NO_OFFSET, NULL);
        e->flags = EVENT_UNFINISHED | EVENT_REPAIRED | SEVERITY_LOST;
    } else if (__builtin_sub_overflow(end, e->start_ns, &e->dur_ns)) {
        run_lose(a->r, MAREY_LOSS_TIME_OVERFLOW, DIAG_NO_OFFSET, NULL);
        return false;
    }
    return true;
}

/* globalTid = pid * 2^32 + tid. `index` 0: the host's own process. */
static uint32_t host_thread(ascend_db *a, int64_t global, unsigned index, const char *process)
{
    char pid[32];
    char tid[32];
    char name[48];
    uint64_t host = (uint64_t)global >> 32;
    unsigned long long number = (uint64_t)global & UINT32_MAX;
    uint64_t *known = map64_put(&a->threads, hash_u64((uint64_t)global) + index);
    if (!*known) {
        if (index) {
            ascend_pid(host, index, a->r->place.device, pid, sizeof pid);
        } else {
            (void)snprintf(pid, sizeof pid, "%llu", (unsigned long long)host);
        }
        (void)snprintf(tid, sizeof tid, "%llu", number);
        (void)snprintf(name, sizeof name, "Thread %llu", number);
        *known = (uint64_t)run_thread(a->r, pid, tid, process, name) + 1;
    }
    return (uint32_t)(*known - 1);
}

static marey_status push_api(ascend_db *a, const sqlrows *rows)
{
    trace_event_in e = {0};
    int64_t type = 0;
    int64_t global = 0;
    int64_t connection = 0;
    if (!times(a, rows, &e)) {
        return MAREY_OK;
    }
    (void)sqlrows_i64(rows, 2, &type);
    (void)sqlrows_i64(rows, 3, &global);
    (void)sqlrows_i64(rows, 4, &connection);
    size_t n_name = 0;
    const char *name = ascend_db_bytes(a, ascend_db_text_column(a, rows, 5), &n_name);
    const char *prefix = "";
    const char *level = "";
    for (size_t i = 0; i < N_LAYERS; i++) {
        prefix = layers[i].type == type ? layers[i].prefix : prefix;
        level = layers[i].type == type ? layers[i].level : level;
    }
    strbuf_clear(&a->args);
    strbuf_puts(&a->args, prefix);
    strbuf_add(&a->args, name, n_name);
    uint32_t text = run_string(a->r, strbuf_str(&a->args), a->args.n);
    e.name = trace_builder_name(a->r->b, text, run_cstring(a->r, ascend_source(ASCEND_API)));
    e.thread = host_thread(a, global, ASCEND_PID_CANN, "CANN");
    e.correlation = connection > 0 && connection != UINT32_MAX ? (uint64_t)connection : 0;
    strbuf_clear(&a->args);
    strbuf_puts(&a->args, "{\"Thread Id\": ");
    run_json_int(&a->args, (int64_t)((uint64_t)global & UINT32_MAX));
    strbuf_puts(&a->args, ", \"level\": \"");
    strbuf_puts(&a->args, level);
    strbuf_puts(&a->args, "\", \"connection_id\": ");
    run_json_int(&a->args, connection);
    strbuf_puts(&a->args, "}");
    e.args = a->args.s;
    e.args_len = (uint32_t)a->args.n;
    return run_event(a->r, &e);
}

/* ---- PYTORCH_API ---- */

enum {
    P_START,
    P_END,
    P_TID,
    P_CONNECTION,
    P_NAME,
    P_SEQUENCE,
    P_FORWARD,
    P_DTYPES,
    P_SHAPES,
    P_STACK,
    P_TYPE,
    P_COLUMNS
};
static const char *const api_columns[P_COLUMNS] = {"startNs",     "endNs",          "globalTid",   "connectionId",
                                                   "name",        "sequenceNumber", "fwdThreadId", "inputDtypes",
                                                   "inputShapes", "callchainId",    "type"};
enum { API_OP = 50001, API_QUEUE = 50002, API_TRACE = 50003, API_MSTX = 50004 };

static const char *api_source(int64_t type, const char *name)
{
    switch (type) {
    case API_QUEUE:
        return strncmp(name, "Dequeue", 7) == 0 ? "dequeue" : "enqueue";
    case API_TRACE:
        return "python_function";
    case API_MSTX:
        return "user_annotation";
    default:
        return "cpu_op";
    }
}

static void add_stack(ascend_db *a, int64_t chain)
{
    const uint64_t *head = map64_get(&a->stacks, (uint64_t)chain);
    uint32_t order[256];
    size_t n = 0;
    for (uint64_t i = head ? *head : 0; i && n < 256; i = a->stack_list[i - 1].next) {
        order[n++] = (uint32_t)i;
    }
    if (!n) {
        return;
    }
    strbuf text = {0};
    while (n > 0) {
        size_t k = 0;
        const char *s = ascend_db_bytes(a, ascend_db_text(a, a->stack_list[order[--n] - 1].value), &k);
        strbuf_puts(&text, text.n ? ";\r\n" : "");
        strbuf_add(&text, k ? s : "?", k ? k : 1);
    }
    strbuf_puts(&a->args, a->args.n > 1 ? ", \"Call stack\": " : "\"Call stack\": ");
    run_json_string(&a->args, text.s, text.n);
    strbuf_deinit(&text);
}

static void add_member(ascend_db *a, const sqlrows *rows, int column, const char *key, bool text)
{
    int64_t v = 0;
    if (!sqlrows_i64(rows, column, &v)) {
        return;
    }
    strbuf_puts(&a->args, a->args.n > 1 ? ", \"" : "\"");
    strbuf_puts(&a->args, key);
    strbuf_puts(&a->args, "\": ");
    uint32_t said = text ? ascend_db_text(a, v) : NO_ID;
    if (!text) {
        run_json_int(&a->args, v);
    } else if (said == NO_ID) {
        strbuf_puts(&a->args, "null");
    } else {
        size_t n = 0;
        const char *s = ascend_db_bytes(a, said, &n);
        run_json_string(&a->args, s, n);
    }
}

static void api_args(ascend_db *a, const sqlrows *rows, trace_event_in *e)
{
    int64_t chain = 0;
    strbuf_clear(&a->args);
    strbuf_puts(&a->args, "{");
    add_member(a, rows, P_SEQUENCE, "Sequence number", false);
    add_member(a, rows, P_FORWARD, "Fwd thread id", false);
    add_member(a, rows, P_SHAPES, "Input Dims", true);
    add_member(a, rows, P_DTYPES, "Input type", true);
    if (sqlrows_i64(rows, P_STACK, &chain)) {
        add_stack(a, chain);
    }
    strbuf_puts(&a->args, "}");
    e->args = a->args.n > 2 ? a->args.s : NULL;
    e->args_len = a->args.n > 2 ? (uint32_t)a->args.n : 0;
}

static void push_flow(ascend_db *a, const char *kind, uint64_t id, trace_flow_phase phase, int64_t ts, uint32_t thread)
{
    trace_flow_in f = {.ts_ns = ts,
                       .id = id,
                       .thread = thread,
                       .kind = run_cstring(a->r, kind),
                       .phase = (uint8_t)phase,
                       .binds_enclosing = true};
    trace_builder_flow(a->r->b, &f);
}

/* Two rows of the host with one connection id: from the earlier to the later one. The first waits in `launches`, which
 * holds no such id yet, under a key of its own. */
static void pair_on_host(ascend_db *a, uint64_t id, bool queue, const trace_event_in *e)
{
    const char *kind = queue ? "async_task_queue" : "fwdbwd";
    uint64_t key = hash_u64(id + 1) ^ (queue ? UINT64_C(0x5151) << 48 : UINT64_C(0xFBFB) << 48);
    uint64_t *first = map64_put(&a->launches, key);
    if (!*first) {
        launch l = {e->start_ns, e->thread, 0};
        VEC_PUSH(a->launch_list, a->n_launches, a->cap_launches, l);
        *first = a->n_launches;
        return;
    }
    launch other = a->launch_list[*first - 1];
    bool later = e->start_ns >= other.start_ns;
    push_flow(a, kind, id, FLOW_START, later ? other.start_ns : e->start_ns, later ? other.thread : e->thread);
    push_flow(a, kind, id, FLOW_END, later ? e->start_ns : other.start_ns, later ? e->thread : other.thread);
}

/* An operator's flows: to the device work that carries its connection ids, else to its partner on the host. */
static void connect_row(ascend_db *a, int64_t list, bool queue, const trace_event_in *e)
{
    const uint64_t *head = map64_get(&a->connections, (uint64_t)list);
    for (uint64_t i = head ? *head : 0; i; i = a->connection_list[i - 1].next) {
        uint64_t id = (uint64_t)a->connection_list[i - 1].value;
        const uint64_t *device = queue ? NULL : map64_get(&a->launches, id);
        if (!device) {
            pair_on_host(a, id, queue, e);
            continue;
        }
        for (uint64_t k = *device; k; k = a->launch_list[k - 1].next) {
            launch l = a->launch_list[k - 1];
            push_flow(a, "async_npu", (uint64_t)l.start_ns, FLOW_START, e->start_ns, e->thread);
            push_flow(a, "async_npu", (uint64_t)l.start_ns, FLOW_END, l.start_ns, l.thread);
        }
    }
}

static marey_status push_operator(ascend_db *a, const sqlrows *rows)
{
    trace_event_in e = {0};
    int64_t type = API_OP;
    int64_t global = 0;
    int64_t id = 0;
    if (!times(a, rows, &e)) {
        return MAREY_OK;
    }
    (void)sqlrows_i64(rows, P_TYPE, &type);
    (void)sqlrows_i64(rows, P_TID, &global);
    size_t n = 0;
    uint32_t name = ascend_db_text_column(a, rows, P_NAME);
    const char *text = ascend_db_bytes(a, name, &n);
    a->has_steps |= strncmp(text, "ProfilerStep#", 13) == 0;
    e.thread = host_thread(a, global, 0, "Python");
    uint32_t source = run_cstring(a->r, api_source(type, text));
    e.name = trace_builder_name(a->r->b, n ? ascend_db_string(a, name) : run_cstring(a->r, ""), source);
    api_args(a, rows, &e);
    if (sqlrows_i64(rows, P_CONNECTION, &id)) {
        connect_row(a, id, type == API_QUEUE, &e);
    }
    return run_event(a->r, &e);
}

static marey_status each(ascend_db *a, const char *table, const char *const *columns, size_t n,
                         marey_status (*push)(ascend_db *, const sqlrows *))
{
    sqlrows *rows = NULL;
    marey_status status = sqldb_select(a->db, table, columns, n, &rows);
    while (status == MAREY_OK && sqlrows_next(rows)) {
        status = push(a, rows);
        if (a->r->b->n_events % 65536 == 0 && status == MAREY_OK && run_cancelled(a->r)) {
            status = MAREY_CANCELLED;
        }
    }
    marey_status ended = sqlrows_end(&rows);
    return status == MAREY_OK ? ended : status;
}

marey_status ascend_db_push_host(ascend_db *a)
{
    static const char *const cann[] = {"startNs", "endNs", "type", "globalTid", "connectionId", "name"};
    marey_status status = each(a, "CANN_API", cann, 6, push_api);
    return status == MAREY_OK || status == MAREY_FORMAT ? each(a, "PYTORCH_API", api_columns, P_COLUMNS, push_operator)
                                                        : status;
}
