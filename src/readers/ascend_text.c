/*
 * torch_npu's text output: trace_view.json (Chrome events with exact quoted times) and the columns that
 * kernel_details.csv knows besides, joined to the kernels by start time and name.
 */
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "parse/decns.h"
#include "readers/ascend.h"

enum { MAX_KERNEL_ROWS = 4000000 };

/* One row of kernel_details.csv: extra members of the kernel's arguments. */
typedef struct kernel_row {
    int64_t start_ns;
    uint64_t name; /* hash */
    size_t at;     /* of its text in `text`, `n` bytes: "\"Type\":\"Cast\",..." */
    uint32_t n;
    uint32_t next; /* + 1: another row that starts at the same time */
} kernel_row;

typedef struct kernel_table {
    kernel_row *rows;
    size_t n, cap;
    strbuf text;
    map64 by_start; /* start -> row + 1 */
    uint64_t n_used;
} kernel_table;

typedef struct view_reader {
    run_reader *run;
    kernel_table kernels;
    strbuf args;
    uint64_t n_kernels;
    uint32_t sources[ASCEND_OTHER]; /* string ids */
} view_reader;

/* ---- kernel_details.csv ---- */

typedef struct kernel_columns {
    int step, name, type, core, start, dur, stream;
} kernel_columns;

static kernel_columns find_kernel_columns(const csv *c)
{
    return (kernel_columns){.step = csv_find(c, "Step Id"),
                            .name = csv_find_any(c, (const char *const[]){"Name", "Op Name", NULL}),
                            .type = csv_find_any(c, (const char *const[]){"Type", "OP Type", NULL}),
                            .core = csv_find_any(c, (const char *const[]){"Accelerator Core", "Task Type", NULL}),
                            .start =
                                csv_find_any(c, (const char *const[]){"Start Time(us)", "Task Start Time(us)", NULL}),
                            .dur = csv_find_any(c, (const char *const[]){"Duration(us)", "Task Duration(us)", NULL}),
                            .stream = csv_find(c, "Stream ID")};
}

static bool is_number(csv_field f)
{
    double v = 0;
    return f.n > 0 && f.n < 30 && (f.s[0] == '-' || (f.s[0] >= '0' && f.s[0] <= '9')) &&
           decns_parse_double(f.s, f.n, &v) && !(f.n > 1 && f.s[0] == '0' && f.s[1] != '.');
}

/* All that a row says besides what the trace says already, as members of an object without its brackets. */
static void row_members(const csv *c, const kernel_columns *k, strbuf *out)
{
    size_t start = out->n;
    for (size_t i = 0; i < csv_n_columns(c); i++) {
        csv_field f = csv_get(c, (int)i);
        bool known = (int)i == k->name || (int)i == k->start || (int)i == k->dur;
        if (known || csv_field_none(f)) {
            continue;
        }
        if (out->n > start) {
            strbuf_puts(out, ",");
        }
        const char *name = csv_column(c, i);
        run_json_string(out, name, strlen(name));
        strbuf_puts(out, ":");
        if (is_number(f)) {
            strbuf_add(out, f.s, f.n);
        } else {
            run_json_string(out, f.s, f.n);
        }
    }
}

static bool is_communication(const csv *c, const kernel_columns *k)
{
    csv_field core = csv_get(c, k->core);
    csv_field name = csv_get(c, k->name);
    return csv_field_is(core, "COMMUNICATION") || csv_field_is(core, "HCCL") ||
           (name.n > 5 && memcmp(name.s, "hcom_", 5) == 0);
}

static void add_kernel_row(kernel_table *t, const csv *c, const kernel_columns *k, int64_t start)
{
    csv_field name = csv_get(c, k->name);
    kernel_row row = {.start_ns = start, .name = hash_bytes(name.s, name.n), .at = t->text.n};
    row_members(c, k, &t->text);
    row.n = (uint32_t)(t->text.n - row.at);
    uint64_t *slot = map64_put(&t->by_start, (uint64_t)start);
    row.next = (uint32_t)*slot;
    VEC_PUSH(t->rows, t->n, t->cap, row);
    *slot = t->n;
}

static void read_kernel_details(run_reader *r, const run_file *f, kernel_table *t)
{
    run_use_file(r, f->path);
    csv *c = run_open_table(r, f->path);
    if (!c) {
        return;
    }
    kernel_columns k = find_kernel_columns(c);
    while (csv_next(c)) {
        int64_t start = 0;
        if (!csv_us(c, k.start, &start)) {
            run_lose(r, MAREY_LOSS_MISSING_TIME, csv_offset(c), NULL);
        } else if (t->n >= MAX_KERNEL_ROWS) {
            run_lose(r, MAREY_LOSS_LIMIT, csv_offset(c), "attributes of kernels");
        } else if (!is_communication(c, &k)) {
            add_kernel_row(t, c, &k, start);
        }
    }
    run_close_table(r, f->path, &c);
    r->bytes_done += file_size(f->path);
}

static const kernel_row *find_kernel_row(kernel_table *t, int64_t start, jspan name)
{
    const uint64_t *first = map64_get(&t->by_start, (uint64_t)start);
    uint64_t hash = hash_bytes(name.s, name.n);
    for (uint64_t i = first ? *first : 0; i; i = t->rows[i - 1].next) {
        if (t->rows[i - 1].name == hash) {
            return &t->rows[i - 1];
        }
    }
    return NULL;
}

/* Intervals from the table alone, where no trace has them. */
static marey_status push_table_row(run_reader *r, const csv *c, const kernel_columns *k, strbuf *args)
{
    trace_event_in e = {0};
    csv_field name = csv_get(c, k->name);
    csv_field stream = csv_get(c, k->stream);
    bool comm = is_communication(c, k);
    if (!csv_us(c, k->start, &e.start_ns)) {
        run_lose(r, MAREY_LOSS_MISSING_TIME, csv_offset(c), NULL);
        return MAREY_OK;
    }
    if (!csv_us(c, k->dur, &e.dur_ns)) {
        run_lose(r, MAREY_LOSS_MISSING_DURATION, csv_offset(c), NULL);
        e.flags = EVENT_REPAIRED | SEVERITY_LOST;
    }
    char tid[64] = "kernels";
    char label[80] = "Kernels";
    if (!comm && !csv_field_none(stream)) {
        (void)snprintf(tid, sizeof tid, "%.*s", (int)(stream.n < 40 ? stream.n : 40), stream.s);
        (void)snprintf(label, sizeof label, "Stream %s", tid);
    }
    e.thread = comm ? run_thread(r, "HCCL", "0", "HCCL", "Communication")
                    : run_thread(r, "NPU", tid, "Ascend Hardware", label);
    e.name = trace_builder_name(r->b, run_string(r, name.s, name.n),
                                run_cstring(r, ascend_source(comm ? ASCEND_COLLECTIVE : ASCEND_KERNEL)));
    strbuf_clear(args);
    strbuf_puts(args, "{");
    row_members(c, k, args);
    strbuf_puts(args, "}");
    e.args = args->n > 2 ? args->s : NULL;
    e.args_len = args->n > 2 ? (uint32_t)args->n : 0;
    if (comm) {
        ascend_push_collective(r, name.s, name.n, NO_ID, NULL, 0, -1);
    }
    return run_event(r, &e);
}

static marey_status push_table(run_reader *r, const run_file *f)
{
    run_use_file(r, f->path);
    csv *c = run_open_table(r, f->path);
    marey_status status = MAREY_OK;
    if (!c) {
        return MAREY_OK;
    }
    kernel_columns k = find_kernel_columns(c);
    strbuf args = {0};
    while (status == MAREY_OK && csv_next(c)) {
        status = push_table_row(r, c, &k, &args);
    }
    strbuf_deinit(&args);
    run_close_table(r, f->path, &c);
    return status;
}

/* ---- trace_view.json ---- */

/* What tells the kinds of events apart, from one look at the arguments. */
typedef struct view_args {
    jspan task_type, connection, level, dtype, count;
    bool is_task, is_op; /* of a collective */
} view_args;

static view_args look_at(jspan args)
{
    view_args a = {0};
    jspan key;
    jspan value;
    for (jiter it = jiter_begin(args); jiter_next(&it, &key, &value);) {
        if (jspan_is(key, "Task Type")) {
            a.task_type = value;
        } else if (jspan_is(key, "connection_id")) {
            a.connection = value;
        } else if (jspan_is(key, "level")) {
            a.level = value;
        } else if (jspan_is(key, "data_type")) {
            a.dtype = value;
            a.is_op = true;
        } else if (jspan_is(key, "count")) {
            a.count = value;
        } else if (jspan_is(key, "notify_id") || jspan_is(key, "transport type")) {
            a.is_task = true;
        }
    }
    return a;
}

static ascend_kind kind_of(const view_args *a, jspan name, bool has_args)
{
    if (a->task_type.kind == JKIND_STRING) {
        return ascend_task_kind(a->task_type.s, a->task_type.n);
    }
    if (a->is_task) {
        return ASCEND_COLLECTIVE_TASK;
    }
    if (a->is_op || (name.n > 5 && memcmp(name.s, "hcom_", 5) == 0)) {
        return ASCEND_COLLECTIVE;
    }
    if (a->level.kind == JKIND_STRING) {
        return ASCEND_API;
    }
    return !has_args && ascend_is_overlap(name.s, name.n) ? ASCEND_OVERLAP : ASCEND_OTHER;
}

static uint32_t source_id(view_reader *v, ascend_kind k)
{
    if (v->sources[k] == NO_ID) {
        v->sources[k] = run_cstring(v->run, ascend_source(k));
    }
    return v->sources[k];
}

/* The kernel's arguments with the table's columns behind them. */
static void join_kernel(view_reader *v, jspan name, trace_event_in *in)
{
    kernel_table *t = &v->kernels;
    const kernel_row *row = find_kernel_row(t, in->start_ns, name);
    v->n_kernels++;
    if (!row || !row->n) {
        t->n_used += row != NULL;
        return;
    }
    t->n_used++;
    strbuf_clear(&v->args);
    bool has = in->args && in->args_len > 2;
    strbuf_add(&v->args, has ? in->args : "{", has ? in->args_len - 1 : 1);
    strbuf_puts(&v->args, has ? "," : "");
    strbuf_add(&v->args, t->text.s + row->at, row->n);
    strbuf_puts(&v->args, "}");
    in->args = v->args.s;
    in->args_len = (uint32_t)v->args.n;
}

static bool on_interval(void *ctx, const jevent *e, trace_event_in *in)
{
    view_reader *v = ctx;
    jspan name = run_event_name(e);
    jspan cat = jevent_field(e, JKEY_CAT);
    if (cat.kind != JKIND_NONE && cat.n > 0) {
        return true; /* the Python side: as PyTorch's own */
    }
    view_args a = look_at(jevent_field(e, JKEY_ARGS));
    ascend_kind kind = kind_of(&a, name, in->args_len > 2);
    if (kind == ASCEND_OTHER) {
        return true;
    }
    in->name = trace_builder_name_raw(v->run->b, name.s, name.n, source_id(v, kind));
    bool linked = kind == ASCEND_KERNEL || kind == ASCEND_COPY || kind == ASCEND_COLLECTIVE || kind == ASCEND_API;
    uint64_t id = 0;
    if (linked && a.connection.n && decns_parse_u64(a.connection.s, a.connection.n, &id)) {
        in->correlation = id;
    }
    if (kind == ASCEND_KERNEL) {
        join_kernel(v, name, in);
    } else if (kind == ASCEND_COLLECTIVE) {
        int64_t count = -1;
        (void)(a.count.n && decns_parse_i64(a.count.s, a.count.n, &count));
        ascend_push_collective(v->run, name.s, name.n, NO_ID, a.dtype.n ? a.dtype.s : NULL, a.dtype.n, count);
    }
    return true;
}

/* Launch flows repeat the connection ids that the events carry: counted, not kept. */
static void drop_launch_flows(trace_builder *b)
{
    static const char kind[] = "HostToDevice";
    uint32_t id = 0;
    if (!intern_find(&b->strings, kind, sizeof kind - 1, &id)) {
        return;
    }
    size_t kept = 0;
    for (size_t i = 0; i < b->n_flows; i++) {
        if (b->flows[i].kind == id) {
            b->n_ac2g_flows++;
        } else {
            b->flows[kept++] = b->flows[i];
        }
    }
    b->n_flows = kept;
}

static marey_status read_view(view_reader *v, const run_file *f)
{
    run_reader *r = v->run;
    r->json->hook = on_interval;
    r->json->hook_ctx = v;
    run_use_file(r, f->path);
    marey_status status = chrome_read_into(r->json, f->path, r->progress);
    r->json->hook = NULL;
    drop_launch_flows(r->b);
    r->bytes_done += file_size(f->path);
    if (status == MAREY_IO || status == MAREY_FORMAT) {
        run_lose(r, MAREY_LOSS_UNREADABLE, DIAG_NO_OFFSET, NULL);
        return MAREY_OK;
    }
    return status;
}

static void note_unjoined(const view_reader *v, const run_file *details)
{
    uint64_t left = v->kernels.n - (v->kernels.n_used < v->kernels.n ? v->kernels.n_used : v->kernels.n);
    if (left && v->n_kernels) {
        diag_note(v->run->b->diag, details->path, DIAG_NO_OFFSET, "%llu of %zu rows belong to no kernel of the trace",
                  (unsigned long long)left, v->kernels.n);
    }
}

marey_status ascend_text_read(run_reader *r)
{
    const run_file *view = run_find(r->run, RUN_TRACE_VIEW);
    const run_file *details = run_find(r->run, RUN_KERNEL_DETAILS);
    const run_file *db = run_find(r->run, RUN_PROFILER_DB);
    view_reader v = {.run = r};
    memset(v.sources, 0xFF, sizeof v.sources);
    if (view && details) {
        read_kernel_details(r, details, &v.kernels);
    }
    marey_status status = view ? read_view(&v, view) : MAREY_OK;
    if (status == MAREY_OK && details && v.kernels.n) {
        note_unjoined(&v, details);
    }
    if (status == MAREY_OK && db && r->b->n_events == 0) {
        run_use_file(r, db->path);
        status = ascend_db_read(r, db);
        status = status == MAREY_IO || status == MAREY_FORMAT ? MAREY_OK : status;
    } else if (status == MAREY_OK && db) {
        diag_note(r->b->diag, db->path, DIAG_NO_OFFSET, "passed over: trace_view.json tells the same events");
    }
    if (status == MAREY_OK && details && v.n_kernels == 0 && (view || r->b->n_events == 0)) {
        status = push_table(r, details);
    }
    free(v.kernels.rows);
    strbuf_deinit(&v.kernels.text);
    map64_deinit(&v.kernels.by_start);
    strbuf_deinit(&v.args);
    return status;
}
