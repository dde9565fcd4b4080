/*
 * MindSpore's and msprof's intervals: timeline display JSON, output_timeline_data, per-iteration msprof JSON. Both are
 * Chrome events without categories; what they are follows from process and thread numbers, task types and names.
 */
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "parse/decns.h"
#include "readers/ascend.h"

/* ---- names ---- */

static bool has(const char *s, size_t n, const char *what)
{
    return memmem(s, n, what, strlen(what)) != NULL;
}

static bool begins(const char *s, size_t n, const char *what)
{
    size_t k = strlen(what);
    return n >= k && memcmp(s, what, k) == 0;
}

const char *mindspore_phase(const char *scope, size_t n, bool first_part_dropped)
{
    if (has(scope, n, "recompute_")) {
        return "recompute";
    }
    if (has(scope, n, "/optimizer-")) {
        return "optimizer";
    }
    bool gradient = begins(scope, n, "Gradients") || has(scope, n, "/Gradients/") || has(scope, n, "/grad_") ||
                    has(scope, n, "/gradSend");
    /* A scope map has lost the first part: "Gradients/Default/net" became "/Default/net", "Default/net" became "/net".
     */
    gradient |= first_part_dropped && (begins(scope, n, "/Default/") || (n == 8 && begins(scope, n, "/Default")));
    if (gradient) {
        return "backward";
    }
    const char *inner = n > 1 ? memchr(scope + 1, '/', n - 1) : NULL;
    bool network = begins(scope, n, "/network") || begins(scope, n, "Default/network");
    return network && inner ? "forward" : "";
}

static bool is_communication(const char *name, size_t n)
{
    static const char *const words[] = {"AllReduce", "AllGather", "ReduceScatter", "Broadcast-op",
                                        "AlltoAll",  "AllToAll",  "hcom_",         "_parallel_"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (has(name, n, words[i])) {
            return true;
        }
    }
    const char *slash = memrchr(name, '/', n);
    size_t at = slash ? (size_t)(slash - name) + 1 : 0;
    return begins(name + at, n - at, "Send-op") || begins(name + at, n - at, "Receive-op");
}

const char *mindspore_source(const char *name, size_t n, const char *phase)
{
    static const char *const kernels[][2] = {{"forward", "ascend_kernel.forward"},
                                             {"backward", "ascend_kernel.backward"},
                                             {"recompute", "ascend_kernel.recompute"},
                                             {"optimizer", "ascend_kernel.optimizer"}};
    const char *slash = memrchr(name, '/', n);
    size_t at = slash ? (size_t)(slash - name) + 1 : 0;
    if (begins(name + at, n - at, "Stream")) {
        return "ascend_wait"; /* StreamSend, StreamRecv, StreamSwitch, StreamActive: no work */
    }
    if (is_communication(name, n)) {
        return "hccl";
    }
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
        if (strcmp(kernels[i][0], phase) == 0) {
            return kernels[i][1];
        }
    }
    return "ascend_kernel";
}

/* "Default/AllReduce-op534_0", "stream_36_0_AllReduce-op4542" -> "allreduce". */
static void push_collective(run_reader *r, const char *name, size_t n)
{
    static const char *const kinds[][2] = {
        {"AllReduce", "allreduce"}, {"AllGather", "allgather"}, {"ReduceScatter", "reducescatter"},
        {"Broadcast", "broadcast"}, {"AlltoAll", "alltoall"},   {"AllToAll", "alltoall"},
        {"Send", "send"},           {"Receive", "receive"},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (has(name, n, kinds[i][0])) {
            trace_collective_in c = {.event = r->b->n_events,
                                     .what = run_cstring(r, kinds[i][1]),
                                     .group = NO_ID,
                                     .group_desc = NO_ID,
                                     .group_ranks = NO_ID,
                                     .dtype = NO_ID,
                                     .in_elements = -1,
                                     .out_elements = -1,
                                     .group_size = -1,
                                     .seq = -1};
            trace_builder_collective(r->b, &c);
            return;
        }
    }
}

void mindspore_collective(run_reader *r, const char *name, size_t n)
{
    push_collective(r, name, n);
}

/* ---- timeline display ---- */

enum {
    PID_AI_CPU = 9000,
    PID_COMMUNICATION = 10000,
    PID_HOST_CPU = 11000,
    PID_OVERLAP = 12000,
    TID_MERGED_FIRST = 7999,
    TID_MERGED_LAST = 8002,
    TID_STEPS = 100000,
    TID_SCOPES = 100001
};

typedef struct timeline {
    run_reader *r;
    uint64_t n_communication;
    /* The operator that starts first in output_timeline_data: its absolute time tells what 0 means here. */
    char first_name[256];
    size_t n_first_name;
    int64_t first_absolute_ns, first_here_ns;
    bool has_first, found_first;
} timeline;

static int64_t number_field(const jevent *e, jkey key)
{
    jspan s = jevent_field(e, key);
    int64_t v = -1;
    return s.kind != JKIND_NONE && decns_parse_i64(s.s, s.n, &v) ? v : -1;
}

static void rename_event(run_reader *r, trace_event_in *in, const char *name, size_t n, const char *source)
{
    in->name = trace_builder_name_raw(r->b, name, n, run_cstring(r, source));
}

/* A step's event is named by its number. */
static bool make_step(run_reader *r, jspan name, trace_event_in *in)
{
    int64_t step = 0;
    char text[48];
    if (!decns_parse_i64(name.s, name.n, &step)) {
        rename_event(r, in, name.s, name.n, "user_annotation");
        return true;
    }
    int n = snprintf(text, sizeof text, "ProfilerStep#%lld", (long long)step);
    rename_event(r, in, text, (size_t)n, "user_annotation");
    return true;
}

static bool take_operator(timeline *t, const jevent *e, jspan name, trace_event_in *in)
{
    jspan full = jspan_member(jevent_field(e, JKEY_ARGS), "fullname");
    const char *phase = full.kind == JKIND_STRING ? mindspore_phase(full.s, full.n, false) : "";
    const char *source = mindspore_source(name.s, name.n, phase);
    rename_event(t->r, in, name.s, name.n, source);
    if (strcmp(source, "hccl") == 0) {
        push_collective(t->r, name.s, name.n);
        t->n_communication++;
    }
    bool first = t->has_first && name.n == t->n_first_name && memcmp(name.s, t->first_name, name.n) == 0;
    if (first && (!t->found_first || in->start_ns < t->first_here_ns)) {
        t->found_first = true;
        t->first_here_ns = in->start_ns;
    }
    return true;
}

static bool on_timeline(void *ctx, const jevent *e, trace_event_in *in)
{
    timeline *t = ctx;
    jspan name = run_event_name(e);
    int64_t pid = number_field(e, JKEY_PID);
    int64_t tid = number_field(e, JKEY_TID);
    if (tid == TID_STEPS) {
        return make_step(t->r, name, in);
    }
    if (tid == TID_SCOPES) {
        rename_event(t->r, in, name.s, name.n, "user_annotation");
    } else if (pid == PID_OVERLAP || (tid >= TID_MERGED_FIRST && tid <= TID_MERGED_LAST)) {
        rename_event(t->r, in, name.s, name.n, "overlap_analysis");
    } else if (pid == PID_COMMUNICATION) {
        rename_event(t->r, in, name.s, name.n, "hccl");
        push_collective(t->r, name.s, name.n);
        t->n_communication++;
    } else if (pid == PID_HOST_CPU) {
        rename_event(t->r, in, name.s, name.n, "cpu_op");
    } else {
        return take_operator(t, e, name, in);
    }
    return true;
}

/* Names for numbers, where the file has no metadata of its own. */
static void name_threads(run_reader *r)
{
    static const struct {
        const char *pid, *name;
    } known[] = {{"9000", "AI CPU"}, {"10000", "Communication"}, {"11000", "Host CPU"}, {"12000", "Overlap analysis"}};
    for (size_t i = 0; i < r->b->n_threads; i++) {
        trace_thread_in *t = &r->b->threads[i];
        const char *process = "AI Core";
        for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
            process = strcmp(t->pid, known[k].pid) == 0 ? known[k].name : process;
        }
        chrome_process_default(r->json, t->pid_id, run_cstring(r, process));
        if (t->name == NO_ID) {
            char name[64];
            (void)snprintf(name, sizeof name,
                           strcmp(t->tid, "100000") == 0   ? "Steps"
                           : strcmp(t->tid, "100001") == 0 ? "Scopes"
                                                           : "Stream %s",
                           t->tid);
            uint32_t id = run_cstring(r, name);
            r->b->threads[i].name = id;
        }
    }
}

/* ---- output_timeline_data ---- */

typedef struct text_columns {
    int name, stream, start, dur;
} text_columns;

static text_columns find_text_columns(const csv *c)
{
    return (text_columns){csv_find_any(c, (const char *const[]){"op_name", "kernel_name", NULL}),
                          csv_find(c, "stream_id"), csv_find(c, "start_time(ms)"), csv_find(c, "duration(ms)")};
}

static csv_field last_part(csv_field f)
{
    const char *slash = memrchr(f.s, '/', f.n);
    size_t at = slash ? (size_t)(slash - f.s) + 1 : 0;
    return (csv_field){f.s + at, f.n - at};
}

static void find_first_operator(timeline *t, const run_file *f)
{
    run_use_file(t->r, f->path);
    csv *c = run_open_table(t->r, f->path);
    if (!c) {
        return;
    }
    text_columns k = find_text_columns(c);
    while (csv_next(c)) {
        int64_t start = 0;
        csv_field s = csv_get(c, k.start);
        csv_field name = last_part(csv_get(c, k.name));
        bool earlier = run_ms_text(s.s, s.n, &start) && (!t->has_first || start < t->first_absolute_ns);
        if (earlier && name.n < sizeof t->first_name) {
            memcpy(t->first_name, name.s, name.n);
            t->n_first_name = name.n;
            t->first_absolute_ns = start;
            t->has_first = true;
        }
    }
    csv_close(&c);
}

static marey_status push_text_row(run_reader *r, const csv *c, const text_columns *k, strbuf *args)
{
    trace_event_in e = {0};
    csv_field full = csv_get(c, k->name);
    csv_field name = last_part(full);
    csv_field start = csv_get(c, k->start);
    csv_field dur = csv_get(c, k->dur);
    csv_field stream = csv_get(c, k->stream);
    if (!run_ms_text(start.s, start.n, &e.start_ns)) {
        run_lose(r, MAREY_LOSS_MISSING_TIME, csv_offset(c), NULL);
        return MAREY_OK;
    }
    if (!run_ms_text(dur.s, dur.n, &e.dur_ns)) {
        run_lose(r, MAREY_LOSS_MISSING_DURATION, csv_offset(c), NULL);
        e.flags = EVENT_REPAIRED | SEVERITY_LOST;
    }
    char tid[48];
    char label[64];
    (void)snprintf(tid, sizeof tid, "%.*s", (int)(stream.n < 40 ? stream.n : 40), stream.s);
    (void)snprintf(label, sizeof label, "Stream %s", tid);
    e.thread = run_thread(r, "AI Core", tid, "AI Core", label);
    const char *source = mindspore_source(name.s, name.n, mindspore_phase(full.s, full.n, false));
    e.name = trace_builder_name(r->b, run_string(r, name.s, name.n), run_cstring(r, source));
    strbuf_clear(args);
    strbuf_puts(args, "{\"fullname\": ");
    run_json_string(args, full.s, full.n);
    strbuf_puts(args, "}");
    e.args = args->s;
    e.args_len = (uint32_t)args->n;
    if (strcmp(source, "hccl") == 0) {
        push_collective(r, name.s, name.n);
    }
    return run_event(r, &e);
}

static marey_status read_text(run_reader *r, const run_file *f)
{
    run_use_file(r, f->path);
    csv *c = run_open_table(r, f->path);
    marey_status status = MAREY_OK;
    if (!c) {
        return MAREY_OK;
    }
    text_columns k = find_text_columns(c);
    strbuf args = {0};
    while (status == MAREY_OK && csv_next(c)) {
        status = push_text_row(r, c, &k, &args);
    }
    strbuf_deinit(&args);
    run_close_table(r, f->path, &c);
    return status;
}

/* ---- a rank ---- */

static marey_status read_timeline(timeline *t, const run_file *f)
{
    run_reader *r = t->r;
    r->json->hook = on_timeline;
    r->json->hook_ctx = t;
    run_use_file(r, f->path);
    marey_status status = chrome_read_into(r->json, f->path, r->progress);
    r->json->hook = NULL;
    r->bytes_done += file_size(f->path);
    name_threads(r);
    if (status == MAREY_IO || status == MAREY_FORMAT) {
        run_lose(r, MAREY_LOSS_UNREADABLE, DIAG_NO_OFFSET, NULL);
        return MAREY_OK;
    }
    return status;
}

/* Steps in absolute ticks can stand beside a timeline that starts at 0 only where something tells the difference. */
static marey_status read_steps(timeline *t, const run_file *f, bool has_events)
{
    run_reader *r = t->r;
    bool placed = !has_events || t->found_first || !run_find(r->run, RUN_TIMELINE);
    int64_t base = t->found_first ? t->first_absolute_ns - t->first_here_ns : 0;
    run_use_file(r, f->path);
    if (!placed) {
        diag_note(r->b->diag, f->path, DIAG_NO_OFFSET,
                  "its times can't be placed beside the timeline, which starts at 0: steps are kept as numbers only");
    }
    if (t->found_first) {
        r->b->facts.base_epoch_ns = base;
    }
    return mindspore_step_trace_read(r, f, placed, placed && t->n_communication == 0, base);
}

marey_status mindspore_read(run_reader *r)
{
    timeline t = {.r = r};
    const run_file *display = run_find(r->run, RUN_TIMELINE);
    const run_file *text = run_find(r->run, RUN_TIMELINE_TEXT);
    const run_file *steps = run_find(r->run, RUN_STEP_TRACE_RAW);
    marey_status status = MAREY_OK;
    if (display && text) {
        find_first_operator(&t, text);
    }
    if (display) {
        status = read_timeline(&t, display);
    }
    bool has_events = r->b->n_events > 0;
    if (status == MAREY_OK && text && !has_events) {
        status = read_text(r, text);
    }
    if (status == MAREY_OK && steps) {
        status = read_steps(&t, steps, has_events);
    }
    return status;
}

/* ---- msprof ---- */

typedef struct msprof {
    run_reader *r;
    map64 notifying; /* threads on which collectives notify each other: their copies are pieces of collectives */
} msprof;

static bool take_task(msprof *m, jspan name, jspan type, trace_event_in *in)
{
    ascend_kind kind = ascend_task_kind(type.s, type.n);
    if (begins(type.s, type.n, "NOTIFY")) {
        *map64_put(&m->notifying, in->thread) = 1;
    }
    if (kind == ASCEND_COPY && map64_get(&m->notifying, in->thread)) {
        kind = ASCEND_TASK;
    }
    if (kind != ASCEND_KERNEL) {
        rename_event(m->r, in, name.s, name.n, ascend_source(kind));
        return true;
    }
    rename_event(m->r, in, name.s, name.n, mindspore_source(name.s, name.n, mindspore_phase(name.s, name.n, false)));
    return true;
}

static bool on_msprof(void *ctx, const jevent *e, trace_event_in *in)
{
    msprof *m = ctx;
    jspan name = run_event_name(e);
    jspan cat = jevent_field(e, JKEY_CAT);
    jspan args = jevent_field(e, JKEY_ARGS);
    if (jspan_is(cat, "Iteration Time") && name.n > 10) {
        return make_step(m->r, (jspan){name.s + 10, name.n - 10, JKIND_STRING}, in);
    }
    if (cat.kind != JKIND_NONE && cat.n) {
        rename_event(m->r, in, name.s, name.n, "user_annotation");
        return true;
    }
    jspan type = jspan_member(args, "Task Type");
    if (type.kind == JKIND_STRING) {
        return take_task(m, name, type, in);
    }
    if (jspan_member(args, "notify_id").kind != JKIND_NONE || jspan_member(args, "transport type").kind != JKIND_NONE) {
        rename_event(m->r, in, name.s, name.n, "hccl_task");
    } else if (ascend_is_overlap(name.s, name.n)) {
        rename_event(m->r, in, name.s, name.n, "overlap_analysis");
    } else if (is_communication(name.s, name.n)) {
        rename_event(m->r, in, name.s, name.n, "hccl");
        push_collective(m->r, name.s, name.n);
    } else {
        rename_event(m->r, in, name.s, name.n, "cann_runtime");
    }
    return true;
}

/* Is there a file that tells all of this iteration? */
static bool has_whole(const run_source *s, int64_t iteration)
{
    for (size_t i = 0; i < s->n_files; i++) {
        if (s->files[i].role == RUN_MSPROF && s->files[i].iteration == iteration) {
            return true;
        }
    }
    return false;
}

marey_status msprof_read(run_reader *r)
{
    msprof m = {.r = r};
    marey_status status = MAREY_OK;
    r->json->hook = on_msprof;
    r->json->hook_ctx = &m;
    for (size_t i = 0; i < r->run->n_files && status == MAREY_OK; i++) {
        const run_file *f = &r->run->files[i];
        bool piece = f->role == RUN_HCCL_TRACE || f->role == RUN_TASK_TIME;
        if (f->role != RUN_MSPROF && !(piece && !has_whole(r->run, f->iteration))) {
            continue;
        }
        run_use_file(r, f->path);
        status = chrome_read_into(r->json, f->path, r->progress);
        r->bytes_done += file_size(f->path);
        if (status == MAREY_IO || status == MAREY_FORMAT) {
            run_lose(r, MAREY_LOSS_UNREADABLE, DIAG_NO_OFFSET, NULL);
            status = MAREY_OK;
        }
    }
    r->json->hook = NULL;
    map64_deinit(&m.notifying);
    return status;
}
