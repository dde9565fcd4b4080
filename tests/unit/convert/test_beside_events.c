/*
 * Contract: what an input holds beside its events comes into the file. Metrics: every number with its kind, rank (the
 * input's own where it names none), link, step, time on the run's axis and texts, in memory or by way of the scratch
 * file. Events that the reader calls strays are kept, but no part of the first view, unless there are no others. Each
 * trace of an archive is an input, and a rank, of its own. A derived phase is not drawn over a rest or over a
 * collective that an optimizer waits for; micro-batches of a pipeline are told apart where data comes in, and by what
 * goes out only on the first stage. A kernel that a queue's thread launched has the phase of the operator that a flow
 * leads back to.
 */
#include "cm.h"

#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "convert/convert.h"
#include "store/query.h"
#include "store/store.h"

#define US INT64_C(1000)
#define MS (1000 * US)

enum { N_METRICS = 9000 };

static uint32_t text(trace_builder *b, const char *s)
{
    return trace_builder_string(b, s, strlen(s));
}

static void put(trace_builder *b, const char *tid, const char *name, const char *source, int64_t start_ns,
                int64_t dur_ns, uint64_t correlation, uint8_t flags)
{
    trace_event_in e = {.start_ns = start_ns,
                        .dur_ns = dur_ns,
                        .thread = trace_builder_thread(b, "1", 1, tid, strlen(tid)),
                        .name = trace_builder_name(b, text(b, name), text(b, source)),
                        .correlation = correlation,
                        .flags = flags};
    assert_int_equal(trace_builder_event(b, &e), MAREY_OK);
}

static char *out_path(void)
{
    static char path[64];
    (void)snprintf(path, sizeof path, "/tmp/marey-beside-%ld.h5", (long)getpid());
    return path;
}

static store_file *convert(const convert_source *sources, size_t n, uint64_t memory_bytes)
{
    convert_options o = {.out = out_path(), .jobs = 2, .memory_bytes = memory_bytes, .force = true};
    assert_int_equal(convert_sources(sources, n, &o, NULL, NULL), MAREY_OK);
    store_file *f = NULL;
    assert_int_equal(store_open(&f, out_path(), NULL), MAREY_OK);
    return f;
}

static void finish(store_file *f)
{
    store_close(&f);
    assert_int_equal(unlink(out_path()), 0);
}

/* ------------------------------------------------------------------ metrics */

static marey_status read_metrics(void *ctx, const char *path, trace_builder *b, const reader_progress *progress)
{
    (void)path;
    (void)progress;
    int64_t rank = *(const int64_t *)ctx;
    b->facts.format = "kineto";
    b->facts.is_kineto = true;
    b->facts.rank = rank;
    put(b, "7", "gemm", "kernel", 5000, 100, 0, 0);
    for (int i = 0; i < N_METRICS; i++) {
        trace_metric_in m = trace_metric(i % 3 ? METRIC_OP_TIME : METRIC_LINK_BYTES, (double)i + (double)rank / 16);
        char name[16];
        (void)snprintf(name, sizeof name, "op%d", i % 10);
        m.name = i % 3 ? text(b, name) : NO_ID;
        m.tag = i % 3 ? NO_ID : text(b, "HCCS");
        m.a = i % 3 ? -1 : rank;
        m.b = i % 3 ? -1 : 900;
        m.step = i % 7;
        m.time_ns = i % 2 ? 5000 + i : TIME_MISSING;
        m.rank = i == 1 ? 77 : -1;
        trace_side_metric(&b->side, &m);
    }
    return trace_builder_finish(b, NULL, NULL);
}

static void check_metric(const store_file *f, const store_metric *m)
{
    int i = (int)m->value;
    int64_t rank = m->value - i > 0.25 ? 5 : 3;
    assert_true(m->value == i + (double)rank / 16);
    assert_int_equal(m->rank, i == 1 ? 77 : rank);
    assert_int_equal(m->kind, i % 3 ? METRIC_OP_TIME : METRIC_LINK_BYTES);
    assert_int_equal(m->a, i % 3 ? -1 : rank);
    assert_int_equal(m->b, i % 3 ? -1 : 900);
    assert_int_equal(m->step, i % 7);
    assert_int_equal(m->time_ns, i % 2 ? i : -1); /* the run starts with the kernels */
    char name[16] = "";
    if (i % 3) {
        (void)snprintf(name, sizeof name, "op%d", i % 10);
    }
    assert_string_equal(store_string(f, m->name), name);
    assert_string_equal(store_string(f, m->tag), i % 3 ? "" : "HCCS");
}

static void metrics_come_through(void **state)
{
    (void)state;
    int64_t ranks[] = {5, 3};
    convert_source sources[] = {{.path = "a", .rank_hint = -1, .read = read_metrics, .ctx = &ranks[0]},
                                {.path = "b", .rank_hint = -1, .read = read_metrics, .ctx = &ranks[1]}};
    for (uint64_t memory = 1; memory < 1 << 30; memory <<= 29) {
        store_file *f = convert(sources, 2, memory);
        store_metric *m = NULL;
        size_t n = 0;
        assert_int_equal(store_model(f)->n_metrics, 2 * N_METRICS);
        assert_int_equal(store_read_metrics(f, METRIC_KIND_COUNT, &m, &n, NULL), MAREY_OK);
        assert_int_equal(n, 2 * N_METRICS);
        bool *seen = mem_calloc(2 * N_METRICS, sizeof *seen);
        for (size_t i = 0; i < n; i++) {
            check_metric(f, &m[i]);
            size_t at = (size_t)m[i].value * 2 + (m[i].value - (int)m[i].value > 0.25);
            assert_false(seen[at]);
            seen[at] = true;
        }
        free(seen);
        free(m);
        finish(f);
    }
}

/* ------------------------------------------------------------------ strays */

static marey_status read_strays(void *ctx, const char *path, trace_builder *b, const reader_progress *progress)
{
    (void)path;
    (void)progress;
    bool others = *(const bool *)ctx;
    b->facts.format = "marey-export";
    put(b, "7", "late", "op", 90 * MS, MS, 0, SEVERITY_STRAY);
    if (others) {
        put(b, "7", "a", "op", 40 * MS, MS, 0, 0);
        put(b, "7", "b", "op", 45 * MS, 2 * MS, 0, 0);
    }
    put(b, "7", "early", "op", 10 * MS, MS, 0, SEVERITY_STRAY);
    return trace_builder_finish(b, NULL, NULL);
}

static void strays_are_outside_the_view(void **state)
{
    (void)state;
    for (int others = 0; others < 2; others++) {
        bool has = others;
        convert_source source = {.path = "s", .rank_hint = -1, .read = read_strays, .ctx = &has};
        store_file *f = convert(&source, 1, 0);
        const trace_model *m = store_model(f);
        assert_int_equal(m->n_events, others ? 4 : 2);
        assert_int_equal(m->duration_ns, 81 * MS);
        assert_int_equal(m->view_start_ns, others ? 30 * MS : 0);
        assert_int_equal(m->view_end_ns, others ? 37 * MS : 81 * MS);
        assert_int_equal(m->n_losses, 0);
        finish(f);
    }
}

/* ------------------------------------------------------------------ phases */

/* One launch and its kernel. */
static void work(trace_builder *b, uint64_t id, int64_t launch_ns, const char *kernel, int64_t start_ns, int64_t dur_ns)
{
    put(b, "10", "cudaLaunchKernel", "cuda_runtime", launch_ns, US, id, 0);
    put(b, strncmp(kernel, "nccl", 4) == 0 ? "20" : "7", kernel, "kernel", start_ns, dur_ns, id, 0);
}

static marey_status read_training(void *ctx, const char *path, trace_builder *b, const reader_progress *progress)
{
    (void)ctx;
    (void)path;
    (void)progress;
    b->facts.format = "kineto";
    b->facts.is_kineto = true;
    put(b, "10", "ProfilerStep#1", "user_annotation", 0, 200 * MS, 0, 0);
    put(b, "10", "autograd::engine::evaluate_function: MmBackward0", "cpu_op", 10 * MS, 10 * MS, 0, 0);
    put(b, "10", "Optimizer.step#Adam.step", "user_annotation", 21 * MS, 10 * MS, 0, 0);
    /* forward: tensor-parallel collectives longer than its kernels stand between them */
    work(b, 1, 1 * MS, "gemm", 2 * MS, 100 * US);
    work(b, 2, 2 * MS, "ncclAllReduce", 2 * MS + 100 * US, 3 * MS);
    work(b, 3, 3 * MS, "gemm", 5 * MS + 110 * US, 100 * US);
    work(b, 12, 4 * MS, "gemm", 8 * MS, 100 * US); /* the host was late */
    work(b, 4, 11 * MS, "gemm", 20 * MS, 4 * MS);
    /* the optimizer's norm, the wait for everybody, the optimizer */
    work(b, 5, 22 * MS, "norm", 25 * MS, 50 * US);
    work(b, 6, 23 * MS, "ncclAllReduce", 25 * MS + 50 * US, 60 * MS);
    work(b, 7, 24 * MS, "adam", 86 * MS, 2 * MS);
    work(b, 8, 25 * MS, "adam", 88 * MS + 900 * US, 2 * MS);  /* a rest of 0.9 ms is none */
    work(b, 9, 26 * MS, "adam", 94 * MS, MS);                 /* one of more than half its 4 ms is */
    work(b, 10, 27 * MS, "ncclAllGather", 95 * MS, 200 * US); /* a wait is, however short */
    work(b, 11, 28 * MS, "adam", 95 * MS + 205 * US, 100 * US);
    return trace_builder_finish(b, NULL, NULL);
}

typedef struct span {
    const char *name;
    int64_t start_ns, end_ns;
} span;

static void expect_phases(convert_source source, const span *want, size_t n_want)
{
    store_file *f = convert(&source, 1, 0);
    const trace_model *m = store_model(f);
    size_t n = 0;
    store_columns c = {0};
    for (uint32_t b = 0; b < store_n_blocks(f); b++) {
        store_block_info info = store_block(f, b);
        if (store_group_at(f, info.group).kind != GROUP_PHASES) {
            continue;
        }
        assert_int_equal(store_read_block(f, b, COL_ALL, &c, NULL), MAREY_OK);
        for (uint32_t i = 0; i < info.n; i++, n++) {
            assert_true(n < n_want);
            assert_string_equal(m->names[c.name[i]].text, want[n].name);
            assert_int_equal(c.start_ns[i], want[n].start_ns);
            assert_int_equal(c.start_ns[i] + c.dur_ns[i], want[n].end_ns);
        }
    }
    assert_int_equal(n, n_want);
    store_columns_free(&c);
    finish(f);
}

static void phases_rest(void **state)
{
    (void)state;
    static const span want[] = {
        {"forward", 2 * MS, 8 * MS + 100 * US},    {"backward", 20 * MS, 24 * MS},
        {"optimizer", 25 * MS, 25 * MS + 50 * US}, {"optimizer", 86 * MS, 90 * MS + 900 * US},
        {"optimizer", 94 * MS, 95 * MS},           {"optimizer", 95 * MS + 205 * US, 95 * MS + 305 * US}};
    convert_source source = {.path = "s", .rank_hint = -1, .read = read_training};
    expect_phases(source, want, sizeof want / sizeof *want);
}

/* Three micro-batches forward; each is sent on only when the next one has run for a while. */
static marey_status read_pipeline(void *ctx, const char *path, trace_builder *b, const reader_progress *progress)
{
    (void)path, (void)progress;
    bool first_stage = *(const bool *)ctx;
    b->facts.format = "kineto";
    b->facts.is_kineto = true;
    put(b, "10", "ProfilerStep#1", "user_annotation", 0, 200 * MS, 0, 0);
    put(b, "10", "autograd::engine::evaluate_function: MmBackward0", "cpu_op", 90 * MS, 10 * MS, 0, 0);
    for (int i = 0; i < 3; i++) {
        int64_t at_ns = (2 + 10 * i) * MS;
        uint64_t id = (uint64_t)i * 16;
        if (!first_stage) {
            work(b, id + 1, at_ns - MS, "ncclRecv", at_ns - 900 * US, 800 * US);
        }
        for (int k = 0; k < 9; k++) {
            work(b, id + 2 + (uint64_t)k, at_ns - 900 * US, "gemm", at_ns + k * MS, 990 * US);
        }
        if (i > 0) {
            work(b, id + 12, at_ns - 800 * US, "ncclSend", at_ns + (first_stage ? -500 * US : 1500 * US), 300 * US);
            work(b, id + 13, at_ns - 700 * US, "ncclSend", at_ns + 2500 * US, 300 * US);
        }
    }
    return trace_builder_finish(b, NULL, NULL);
}

static void late_sends_split_nothing(void **state)
{
    (void)state;
    static const span want[] = {{"forward", 2 * MS, 10 * MS + 990 * US},
                                {"forward", 12 * MS, 20 * MS + 990 * US},
                                {"forward", 22 * MS, 30 * MS + 990 * US}};
    for (int stage = 0; stage < 2; stage++) {
        bool first_stage = stage == 0;
        convert_source source = {.path = "s", .rank_hint = -1, .read = read_pipeline, .ctx = &first_stage};
        expect_phases(source, want, sizeof want / sizeof *want);
    }
}

/* Kernels of two phases begin at the same time: the run of the first one covers nothing. */
static marey_status read_equal_starts(void *ctx, const char *path, trace_builder *b, const reader_progress *progress)
{
    (void)ctx, (void)path, (void)progress;
    b->facts.format = "kineto";
    b->facts.is_kineto = true;
    put(b, "10", "ProfilerStep#1", "user_annotation", 0, 200 * MS, 0, 0);
    put(b, "10", "autograd::engine::evaluate_function: MmBackward0", "cpu_op", 10 * MS, 5 * MS, 0, 0);
    work(b, 1, 2 * MS, "gemm", 3 * MS, 1 * MS);
    work(b, 2, 4 * MS, "gemm", 20 * MS, 2 * MS);
    work(b, 3, 11 * MS, "gemm", 20 * MS, 1 * MS);
    return trace_builder_finish(b, NULL, NULL);
}

static void runs_that_begin_together(void **state)
{
    (void)state;
    static const span want[] = {{"forward", 3 * MS, 4 * MS}, {"backward", 20 * MS, 21 * MS}};
    convert_source source = {.path = "s", .rank_hint = -1, .read = read_equal_starts};
    expect_phases(source, want, sizeof want / sizeof *want);
}

/* ------------------------------------------------------------------ phases by way of a queue */

static uint32_t put_on(trace_builder *b, const char *pid, const char *tid, const char *name, const char *source,
                       int64_t start_ns, int64_t dur_ns, uint64_t correlation)
{
    trace_event_in e = {.start_ns = start_ns,
                        .dur_ns = dur_ns,
                        .thread = trace_builder_thread(b, pid, strlen(pid), tid, strlen(tid)),
                        .name = trace_builder_name(b, text(b, name), text(b, source)),
                        .correlation = correlation};
    assert_int_equal(trace_builder_event(b, &e), MAREY_OK);
    return e.thread;
}

static void flow(trace_builder *b, const char *kind, uint64_t id, uint32_t from, int64_t from_ns, uint32_t to,
                 int64_t to_ns)
{
    trace_flow_in f = {.ts_ns = from_ns,
                       .id = id,
                       .thread = from,
                       .kind = text(b, kind),
                       .phase = FLOW_START,
                       .binds_enclosing = true};
    trace_builder_flow(b, &f);
    f.ts_ns = to_ns;
    f.thread = to;
    f.phase = FLOW_END;
    trace_builder_flow(b, &f);
}

/* A launch on the queue's thread, as the driver's process sees it, and its kernel. */
static uint32_t queued(trace_builder *b, uint64_t id, const char *kernel, int64_t launch_ns)
{
    (void)put_on(b, "9", "3", "Node@launch", "cann_runtime", launch_ns, 10 * US, id);
    return put_on(b, "8", "2", kernel, "kernel", launch_ns + 100 * US, 50 * US, id);
}

static marey_status read_queue(void *ctx, const char *path, trace_builder *b, const reader_progress *progress)
{
    (void)ctx;
    (void)path;
    (void)progress;
    b->facts.format = "ascend";
    b->facts.is_kineto = true;
    const char *backward = "autograd::engine::evaluate_function: MmBackward0";
    /* by the flow from operator to kernel; the one of the pass begins at the pass's own start */
    uint32_t op = put_on(b, "1", "1", "aten::mm", "cpu_op", 1 * MS, 100 * US, 0);
    flow(b, "async_npu", 1, op, 1 * MS, queued(b, 1, "k_forward", 2 * MS), 2 * MS + 100 * US);
    op = put_on(b, "1", "2", backward, "cpu_op", 10 * MS, MS, 0);
    flow(b, "async_npu", 2, op, 10 * MS, queued(b, 2, "k_backward", 12 * MS), 12 * MS + 100 * US);
    /* by the queue alone */
    uint32_t in = put_on(b, "1", "2", "Enqueue", "enqueue", 10 * MS + 300 * US, 20 * US, 0);
    uint32_t out = put_on(b, "1", "3", "Dequeue@x", "dequeue", 13 * MS, 500 * US, 0);
    flow(b, "async_task_queue", 2, in, 10 * MS + 300 * US, out, 13 * MS);
    (void)queued(b, 3, "k_backward_queue", 13 * MS + 100 * US);
    in = put_on(b, "1", "1", "Enqueue", "enqueue", 11 * MS, 20 * US, 0);
    (void)put_on(b, "1", "3", "Dequeue@x", "dequeue", 14 * MS, 500 * US, 0);
    flow(b, "async_task_queue", 3, in, 11 * MS, out, 14 * MS);
    (void)queued(b, 4, "k_forward_queue", 14 * MS + 100 * US);
    /* nothing leads back: what nothing is said of */
    (void)queued(b, 5, "k_forward_alone", 15 * MS);
    return trace_builder_finish(b, NULL, NULL);
}

static void queues_keep_phases(void **state)
{
    (void)state;
    convert_source source = {.path = "s", .rank_hint = -1, .read = read_queue};
    store_file *f = convert(&source, 1, 0);
    const trace_model *m = store_model(f);
    unsigned n = 0;
    store_columns c = {0};
    for (uint32_t b = 0; b < store_n_blocks(f); b++) {
        store_block_info info = store_block(f, b);
        bool events = store_group_at(f, info.group).kind == GROUP_EVENTS;
        assert_int_equal(store_read_block(f, b, COL_ALL, &c, NULL), MAREY_OK);
        for (uint32_t i = 0; i < info.n && events; i++) {
            const char *name = m->names[c.name[i]].text;
            if (strncmp(name, "k_", 2) == 0) {
                n++;
                assert_int_equal(c.klass[i], strncmp(name, "k_back", 6) == 0 ? CLASS_BACKWARD : CLASS_FORWARD);
            }
        }
    }
    assert_int_equal(n, 5);
    store_columns_free(&c);
    finish(f);
}

/* ------------------------------------------------------------------ archives */

static uint32_t crc32_of(const char *s, size_t n)
{
    uint32_t crc = UINT32_MAX;
    for (size_t i = 0; i < n; i++) {
        crc ^= (uint8_t)s[i];
        for (int k = 0; k < 8; k++) {
            crc = crc >> 1 ^ (crc & 1 ? UINT32_C(0xedb88320) : 0);
        }
    }
    return ~crc;
}

static void number(strbuf *b, uint32_t v, int bytes)
{
    for (int i = 0; i < bytes; i++, v >>= 8) {
        char c = (char)(v & 0xff);
        strbuf_add(b, &c, 1);
    }
}

/* What the local header and the directory say alike. */
static void zip_entry(strbuf *b, const char *name, const char *content)
{
    uint32_t n = (uint32_t)strlen(content);
    number(b, 20, 2); /* version */
    number(b, 0, 2);  /* flags */
    number(b, 0, 2);  /* stored */
    number(b, 0x58210000, 4);
    number(b, crc32_of(content, n), 4);
    number(b, n, 4);
    number(b, n, 4);
    number(b, (uint32_t)strlen(name), 2);
    number(b, 0, 2);
}

static void write_zip(const char *path, const char *const *names, const char *const *contents, uint32_t n)
{
    strbuf all = {0};
    strbuf directory = {0};
    for (uint32_t i = 0; i < n; i++) {
        uint32_t at = (uint32_t)all.n;
        number(&all, 0x04034b50, 4);
        zip_entry(&all, names[i], contents[i]);
        strbuf_puts(&all, names[i]);
        strbuf_puts(&all, contents[i]);
        number(&directory, 0x02014b50, 4);
        number(&directory, 20, 2);
        zip_entry(&directory, names[i], contents[i]);
        number(&directory, 0, 2); /* comment */
        number(&directory, 0, 4); /* disk, attributes */
        number(&directory, 0, 4);
        number(&directory, at, 4);
        strbuf_puts(&directory, names[i]);
    }
    uint32_t at = (uint32_t)all.n;
    strbuf_add(&all, directory.s, directory.n);
    number(&all, 0x06054b50, 4);
    number(&all, 0, 4);
    number(&all, n, 2);
    number(&all, n, 2);
    number(&all, (uint32_t)directory.n, 4);
    number(&all, at, 4);
    number(&all, 0, 2);
    assert_int_equal(file_write_all(path, all.s, all.n, NULL), MAREY_OK);
    strbuf_deinit(&all);
    strbuf_deinit(&directory);
}

/* Two ranks with equal pids and tids, and a letter. */
static void archive_members_are_inputs(void **state)
{
    (void)state;
    static const char *const names[] = {"run/rank4.json", "run/README", "run/rank9.json"};
    static const char *const contents[] = {
        "{\"traceEvents\": [{\"ph\": \"X\", \"name\": \"a\", \"pid\": 1, \"tid\": 2, \"ts\": 5, \"dur\": 3}]}",
        "Dear reader,",
        "{\"traceEvents\": [{\"ph\": \"X\", \"name\": \"b\", \"pid\": 1, \"tid\": 2, \"ts\": 6, \"dur\": 3},"
        "{\"ph\": \"X\", \"name\": \"b\", \"pid\": 1, \"tid\": 2, \"ts\": 9, \"dur\": 3}]}"};
    char zip[64];
    (void)snprintf(zip, sizeof zip, "/tmp/marey-beside-%ld.zip", (long)getpid());
    write_zip(zip, names, contents, 3);
    const char *path = zip;
    convert_options o = {.out = out_path(), .force = true};
    convert_summary sum;
    assert_int_equal(convert_paths(&path, 1, &o, &sum, NULL), MAREY_OK);
    store_file *f = NULL;
    assert_int_equal(store_open(&f, out_path(), NULL), MAREY_OK);
    const trace_model *m = store_model(f);
    assert_int_equal(m->n_inputs, 2);
    assert_int_equal(m->n_ranks, 2);
    assert_int_equal(m->ranks[0].rank, 4);
    assert_int_equal(m->ranks[1].rank, 9);
    assert_int_equal(m->inputs[0].n_events, 1);
    assert_int_equal(m->inputs[1].n_events, 2);
    assert_non_null(strstr(m->inputs[1].path, ".zip!/run/rank9.json"));
    assert_int_equal(sum.bytes_in, file_size(zip));
    finish(f);
    assert_int_equal(unlink(zip), 0);
}

/* ------------------------------------------------------------------ lanes that are full */

enum { FULL = 4096, TOO_MANY = 5 };

/* All of the first events run at once, each a little longer than the one before. */
static marey_status read_crowd(void *ctx, const char *path, trace_builder *b, const reader_progress *progress)
{
    (void)ctx;
    (void)path;
    (void)progress;
    for (int64_t i = 0; i < FULL + TOO_MANY; i++) {
        put(b, "7", "op", "cpu_op", i, MS + i, 0, 0);
    }
    put(b, "7", "op", "cpu_op", 3 * MS, US, 0, 0);
    put(b, "7", "cudaLaunchKernel", "cuda_runtime", 4 * MS, US, 1, 0);
    put(b, "9", "gemm", "kernel", 5 * MS, US, 1, 0);
    put(b, "9", "gemm_more", "kernel", 6 * MS, US, 1, 0);
    return trace_builder_finish(b, NULL, NULL);
}

static uint32_t instance_at(store_file *f, int64_t start_ns)
{
    uint32_t instance = NO_ID;
    for (uint64_t row = 0; row < FULL + 4; row++) {
        store_event_info e;
        assert_int_equal(store_read_event(f, row, &e, NULL), MAREY_OK);
        instance = e.start_ns == start_ns ? e.instance : instance;
    }
    return instance;
}

/* What finds no track is counted, and takes no number of its name. Work beyond a launch's first is linked too. */
static void full_lanes(void **state)
{
    (void)state;
    convert_source source = {.path = "crowd", .rank_hint = -1, .read = read_crowd};
    for (uint64_t memory = 0; memory < 2; memory++) {
        store_file *f = convert(&source, 1, memory);
        const trace_model *m = store_model(f);
        assert_int_equal(m->n_events, FULL + 4);
        assert_int_equal(m->n_links, 2);
        assert_int_equal(instance_at(f, 3 * MS), FULL);
        finish(f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(metrics_come_through), cmocka_unit_test(strays_are_outside_the_view),
        cmocka_unit_test(phases_rest),          cmocka_unit_test(late_sends_split_nothing),
        cmocka_unit_test(queues_keep_phases),   cmocka_unit_test(archive_members_are_inputs),
        cmocka_unit_test(full_lanes),           cmocka_unit_test(runs_that_begin_together),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
