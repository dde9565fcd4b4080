#include "synth/kineto.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "synth/text.h"

enum { BUFFER_BYTES = 1 << 20, EVENT_BYTES_MAX = 8192 };

typedef struct writer {
    FILE *file;
    char *buf, *p;
    rank_words words;
    bool failed;
    bool is_empty; /* no event yet: no comma before the first */
} writer;

static void flush(writer *w)
{
    size_t n = (size_t)(w->p - w->buf);
    if (n > 0 && fwrite(w->buf, 1, n, w->file) != n) {
        w->failed = true;
    }
    w->p = w->buf;
}

static void begin_event(writer *w)
{
    if (w->p - w->buf > BUFFER_BYTES - EVENT_BYTES_MAX) {
        flush(w);
    }
    w->p = synth_put(w->p, w->is_empty ? "\n  {\n    " : ",\n  {\n    ");
    w->is_empty = false;
}

static char *put_thread(const writer *w, char *p, synth_thread thread)
{
    const thread_text *t = &w->words.threads[thread];
    const char *quote = t->quoted ? "\"" : "";
    p = synth_put(synth_put(p, "\"pid\": "), quote);
    p = synth_put(synth_put(p, t->pid), quote);
    p = synth_put(synth_put(p, ", \"tid\": "), quote);
    return synth_put(synth_put(p, t->tid), quote);
}

static char *put_instant(writer *w, char *p, const synth_event *e)
{
    p = synth_put(p, "\"name\": \"");
    p = text_put_name(p, e);
    p = synth_put(p, "\", \"ph\": \"i\", \"s\": \"g\", ");
    p = put_thread(w, p, e->thread);
    p = synth_put(p, ", \"ts\": ");
    p = text_put_us(p, e->start_ns);
    return synth_put(p, "\n  }");
}

static marey_status write_event(void *ctx, const synth_event *e)
{
    writer *w = ctx;
    begin_event(w);
    char *p = w->p;
    if (e->kind == EV_INSTANT) {
        w->p = put_instant(w, p, e);
        return w->failed ? MAREY_IO : MAREY_OK;
    }
    p = synth_put(p, "\"ph\": \"X\", \"cat\": \"");
    p = synth_put(p, emit_category(e->kind));
    p = synth_put(p, "\", \"name\": \"");
    p = text_put_name(p, e);
    p = synth_put(p, "\", ");
    p = put_thread(w, p, e->thread);
    p = synth_put(p, ",\n    \"ts\": ");
    p = text_put_us(p, e->start_ns);
    p = synth_put(p, ", \"dur\": ");
    p = text_put_us(p, e->end_ns - e->start_ns);
    p = synth_put(p, ",\n    \"args\": ");
    p = rank_words_args(&w->words, p, e);
    w->p = synth_put(p, "\n  }");
    return w->failed ? MAREY_IO : MAREY_OK;
}

static void write_flow(void *ctx, const synth_flow *f)
{
    writer *w = ctx;
    const char *name = f->launch ? "ac2g" : "fwdbwd";
    begin_event(w);
    char *p = synth_put(w->p, f->ends ? "\"ph\": \"f\", \"id\": " : "\"ph\": \"s\", \"id\": ");
    p = synth_put(text_put_u64(p, f->id), ", ");
    p = put_thread(w, p, f->thread);
    p = text_put_us(synth_put(p, ", \"ts\": "), f->ts_ns);
    p = synth_put(synth_put(p, ",\n    \"cat\": \""), name);
    p = synth_put(synth_put(p, "\", \"name\": \""), name);
    w->p = synth_put(p, f->ends ? "\", \"bp\": \"e\"\n  }" : "\"\n  }");
}

/* One M event: {"name": what, ..., "args": {key: value}}. */
static void write_meta(writer *w, synth_thread thread, const char *what, const char *key, const char *text, int number)
{
    begin_event(w);
    char *p = synth_put(synth_put(w->p, "\"name\": \""), what);
    p = synth_put(p, "\", \"ph\": \"M\", \"ts\": ");
    p = text_put_us(p, plan_local(w->words.pl, w->words.rank, 0));
    p = synth_put(p, ", ");
    p = put_thread(w, p, thread);
    p = synth_put(synth_put(p, ",\n    \"args\": {\n      \""), key);
    p = synth_put(p, text ? "\": \"" : "\": ");
    p = text ? synth_put(synth_put(p, text), "\"") : text_put_i64(p, number);
    w->p = synth_put(p, "\n    }\n  }");
}

static void write_process(writer *w, synth_thread any, const char *labels, int sort_index)
{
    write_meta(w, any, "process_name", "name", "python", 0);
    write_meta(w, any, "process_labels", "labels", labels, 0);
    write_meta(w, any, "process_sort_index", "sort_index", NULL, sort_index);
}

static void write_metadata(writer *w)
{
    char labels[40];
    (void)snprintf(labels, sizeof labels, "GPU %s", w->words.threads[TH_COMPUTE].pid);
    write_process(w, TH_MAIN, "CPU", w->words.threads[TH_MAIN].sort_index);
    write_process(w, TH_COMPUTE, labels, 5000000);
    for (int t = 0; t < TH_SPAN; t++) {
        if (emit_has_thread(w->words.pl, w->words.rank, (synth_thread)t)) {
            write_meta(w, (synth_thread)t, "thread_name", "name", w->words.threads[t].name, 0);
            write_meta(w, (synth_thread)t, "thread_sort_index", "sort_index", NULL, w->words.threads[t].sort_index);
        }
    }
}

static void put_devices(strbuf *b, const plan *pl)
{
    int n = pl->p.ranks < SYNTH_RANKS_PER_HOST ? pl->p.ranks : SYNTH_RANKS_PER_HOST;
    strbuf_puts(b, "  \"deviceProperties\": [");
    for (int i = 0; i < n; i++) {
        strbuf_printf(b,
                      "%s\n    {\n      \"id\": %d, \"name\": \"%s\", \"totalGlobalMem\": 85174583296,\n      "
                      "\"computeMajor\": 8, \"computeMinor\": 0,\n      \"maxThreadsPerBlock\": 1024, "
                      "\"maxThreadsPerMultiprocessor\": 2048,\n      \"regsPerBlock\": 65536, \"warpSize\": 32,\n      "
                      "\"sharedMemPerBlock\": 49152, \"numSms\": 108, \"regsPerMultiprocessor\": 65536,\n      "
                      "\"sharedMemPerBlockOptin\": 166912, \"sharedMemPerMultiprocessor\": 167936\n    }",
                      i ? "," : "", i, pl->device_name);
    }
    strbuf_puts(b, "\n  ],\n");
}

static void put_head(strbuf *b, const plan *pl, const rank_words *words)
{
    int rank = words->rank;
    int n_groups = 1 + (pl->p.tp > 1) + (pl->p.dp > 1) + (pl->p.pp > 1);
    strbuf_puts(b, "{\n  \"schemaVersion\": 1,\n");
    put_devices(b, pl);
    strbuf_puts(b, "  \"record_shapes\": 1,\n  \"cupti_version\": 18,\n  \"cuda_runtime_version\": 12010,\n");
    strbuf_printf(b, "  \"distributedInfo\": {\"backend\": \"nccl\", \"rank\": %d, \"world_size\": %d, ", rank,
                  pl->p.ranks);
    strbuf_printf(b, "\"pg_count\": %d, \"pg_config\": ", n_groups);
    text_groups_json(b, pl, rank);
    strbuf_printf(b, ", \"nccl_version\": \"2.18.6\", \"stage\": %d, \"dp\": %d, \"tp\": %d},\n", plan_stage(pl, rank),
                  plan_dp(pl, rank), plan_tp(pl, rank));
    strbuf_printf(b, "  \"host_name\": \"%s\",\n  \"displayTimeUnit\": \"ms\",\n", words->host);
    strbuf_printf(b, "  \"baseTimeNanoseconds\": %lld,\n  \"traceEvents\": [", (long long)PLAN_BASE_EPOCH_NS);
}

static void write_file(writer *w, const solution *s, int rank, cancel_flag *cancel, marey_status *status)
{
    strbuf head = {0};
    put_head(&head, &s->pl, &w->words);
    w->failed = fwrite(head.s, 1, head.n, w->file) != head.n;
    strbuf_deinit(&head);
    synth_sink sink = {.ctx = w, .event = write_event, .flow = write_flow, .cancel = cancel};
    *status = emit_rank(s, rank, &sink);
    write_metadata(w);
    w->p = synth_put(w->p, "\n  ],\n  \"traceName\": \"");
    w->p = synth_put(synth_put(text_put_i64(synth_put(w->p, "rank"), rank), ".pt.trace.json"), "\"\n}\n");
    flush(w);
}

marey_status kineto_write_rank(const solution *s, int rank, const char *path, cancel_flag *cancel, diag *d)
{
    file_aside aside;
    marey_status status = MAREY_OK;
    writer w = {.file = file_aside_stream(&aside, path), .is_empty = true};
    if (!w.file) {
        return diag_error(d, MAREY_IO, path, DIAG_NO_OFFSET, "cannot be written: %s", strerror(errno));
    }
    (void)setvbuf(w.file, NULL, _IONBF, 0);
    w.buf = w.p = mem_alloc(BUFFER_BYTES);
    rank_words_init(&w.words, &s->pl, rank);
    write_file(&w, s, rank, cancel, &status);
    w.failed |= fclose(w.file) != 0;
    free(w.buf);
    if (status == MAREY_OK && w.failed) {
        status = diag_error(d, MAREY_IO, path, DIAG_NO_OFFSET, "cannot be written: %s", strerror(errno));
    }
    if (status == MAREY_OK) {
        return file_aside_commit(&aside, d);
    }
    file_aside_discard(&aside);
    return status;
}
