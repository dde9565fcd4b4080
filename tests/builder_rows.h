/*
 * For tests: keep everything that a reader pushed, and say it as text. Header only, so that every kind of test can use
 * it.
 */
#ifndef MAREY_TESTS_BUILDER_ROWS_H
#define MAREY_TESTS_BUILDER_ROWS_H

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/diag.h"
#include "base/text.h"
#include "readers/reader.h"
#include "trace/builder.h"
#include "trace/model.h"

typedef struct row {
    int64_t start_ns, dur_ns;
    uint64_t correlation;
    uint32_t thread, name;
    uint8_t flags;
    char *args;
} row;

typedef struct rows {
    row *items;
    size_t n, cap;
    diag diag;
    trace_builder b;
    arg_shapes shapes; /* where the builder has a taker */
    marey_status status;
} rows;

static inline char *rows_args(const rows *r, const char *args, size_t n)
{
    if (!r->b.taker || n == 0) {
        return mem_strndup(args, n);
    }
    strbuf text = {0};
    arg_record_decode(&r->shapes, args, n, &text);
    char *copy = mem_strndup(strbuf_str(&text), text.n);
    strbuf_deinit(&text);
    return copy;
}

static inline marey_status rows_flush(void *ctx, trace_chunk *c)
{
    rows *r = ctx;
    for (size_t i = 0; i < c->n; i++) {
        const trace_row *t = &c->rows[i];
        row x = {t->start_ns,
                 t->dur_ns,
                 t->link,
                 t->thread,
                 t->name,
                 t->flags,
                 rows_args(r, c->args + t->args_at, t->args_len)};
        VEC_PUSH(r->items, r->n, r->cap, x);
    }
    return MAREY_OK;
}

static inline void rows_begin(rows *r, const char *name)
{
    memset(r, 0, sizeof *r);
    diag_init(&r->diag);
    trace_builder_init(&r->b);
    r->b.flush = rows_flush;
    r->b.flush_ctx = r;
    r->b.diag = &r->diag;
    r->b.file = diag_file(&r->diag, name);
    r->b.path = name;
}

/* Before reading: arguments are taken apart on the way, as a conversion does. */
static inline void rows_take_args(rows *r)
{
    arg_shapes_init(&r->shapes);
    r->b.taker = arg_taker_create(&r->shapes);
}

static inline void rows_read(rows *r, const void *data, size_t size, const reader_tuning *tuning)
{
    rows_begin(r, "input");
    r->status = reader_read_memory(data, size, "input", &r->b, tuning);
}

static inline void rows_read_file(rows *r, const char *path)
{
    rows_begin(r, path);
    r->status = reader_read_file(path, &r->b, NULL);
}

static inline void rows_end(rows *r)
{
    for (size_t i = 0; i < r->n; i++) {
        free(r->items[i].args);
    }
    free(r->items);
    if (r->b.taker) {
        arg_taker_destroy(&r->b.taker);
        arg_shapes_deinit(&r->shapes);
    }
    trace_builder_deinit(&r->b);
    diag_deinit(&r->diag);
    memset(r, 0, sizeof *r);
}

static inline const char *rows_string(const rows *r, uint32_t id)
{
    return id == NO_ID ? "-" : r->b.strings.text[id];
}

static inline void rows_text_event(const rows *r, const row *x, strbuf *out)
{
    const trace_thread_in *t = &r->b.threads[x->thread];
    const trace_name_in *n = &r->b.names[x->name];
    strbuf_printf(out, "event %s|%s %" PRId64 "+%" PRId64 " \"%s\" (%s)", t->pid, t->tid, x->start_ns, x->dur_ns,
                  rows_string(r, n->text), rows_string(r, n->source));
    if (x->flags & EVENT_INSTANT) {
        strbuf_puts(out, " instant");
    }
    if (x->flags & EVENT_UNFINISHED) {
        strbuf_puts(out, " unfinished");
    }
    if (x->flags & EVENT_REPAIRED) {
        strbuf_puts(out, " repaired");
    }
    if (x->correlation) {
        strbuf_printf(out, " correlation %" PRIu64, x->correlation);
    }
    strbuf_printf(out, "%s%s\n", *x->args ? " " : "", x->args);
}

static inline void rows_text_facts(const rows *r, strbuf *out)
{
    const trace_facts *f = &r->b.facts;
    strbuf_printf(
        out, "format %s rank %" PRId64 " world %" PRId64 " base %" PRId64 " schema %u backend %s host %s device %s\n",
        f->format, f->rank, f->world_size, f->base_epoch_ns, f->schema_version, rows_string(r, f->backend),
        rows_string(r, f->host), rows_string(r, f->device_name));
    if (f->groups_json) {
        strbuf_printf(out, "groups %s\n", f->groups_json);
    }
}

static inline void rows_text_side(const rows *r, strbuf *out)
{
    static const char *const phases[] = {"start", "step", "end"};
    const trace_builder *b = &r->b;
    for (size_t i = 0; i < b->n_collectives; i++) {
        const trace_collective_in *c = &b->collectives[i];
        strbuf_printf(out,
                      "collective of event %" PRIu64 ": %s group %s (%s) ranks %s size %" PRId64 " %s in %" PRId64
                      " out %" PRId64 " seq %" PRId64 "\n",
                      c->event, rows_string(r, c->what), rows_string(r, c->group), rows_string(r, c->group_desc),
                      rows_string(r, c->group_ranks), c->group_size, rows_string(r, c->dtype), c->in_elements,
                      c->out_elements, c->seq);
    }
    for (size_t i = 0; i < b->n_flows; i++) {
        const trace_flow_in *f = &b->flows[i];
        strbuf_printf(out, "flow %s %s %" PRIu64 " at %" PRId64 " on %s|%s%s\n", phases[f->phase],
                      rows_string(r, f->kind), f->id, f->ts_ns, b->threads[f->thread].pid, b->threads[f->thread].tid,
                      f->binds_enclosing ? " enclosing" : "");
    }
    for (size_t i = 0; i < b->n_samples; i++) {
        const trace_sample_in *s = &b->samples[i];
        strbuf_printf(out, "sample %s at %" PRId64 " of %s: %.17g\n", rows_string(r, s->counter), s->ts_ns,
                      b->threads[s->thread].pid, s->value);
    }
    if (b->n_ac2g_flows) {
        strbuf_printf(out, "launch flows %" PRIu64 "\n", b->n_ac2g_flows);
    }
}

static inline size_t rows_of_thread(const rows *r, size_t thread)
{
    size_t n = 0;
    for (size_t i = 0; i < r->n; i++) {
        n += r->items[i].thread == thread;
    }
    return n;
}

static inline void rows_text_threads(const rows *r, strbuf *out)
{
    for (size_t i = 0; i < r->b.n_threads; i++) {
        const trace_thread_in *t = &r->b.threads[i];
        strbuf_printf(out, "thread %s|%s events %zu name %s process %s labels %s", t->pid, t->tid, rows_of_thread(r, i),
                      rows_string(r, t->name), rows_string(r, t->process_name), rows_string(r, t->labels));
        if (t->sort_index != INT64_MIN || t->process_sort_index != INT64_MIN) {
            strbuf_printf(out, " sort %" PRId64 " %" PRId64,
                          t->process_sort_index == INT64_MIN ? 0 : t->process_sort_index,
                          t->sort_index == INT64_MIN ? 0 : t->sort_index);
        }
        strbuf_puts(out, "\n");
    }
}

static inline void rows_text_losses(const rows *r, bool offsets, strbuf *out)
{
    for (size_t i = 0; i < r->diag.n_losses; i++) {
        const diag_loss *l = &r->diag.losses[i];
        strbuf_printf(out, "loss %s %" PRIu64, marey_loss_code(l->loss), l->count);
        if (offsets && l->first_offset != DIAG_NO_OFFSET) {
            strbuf_printf(out, " at %" PRIu64, l->first_offset);
        }
        strbuf_printf(out, "%s%s\n", l->detail ? " " : "", l->detail ? l->detail : "");
    }
    for (size_t i = 0; i < r->diag.n_messages; i++) {
        strbuf_printf(out, "message: %s\n", r->diag.messages[i].text);
    }
}

/** Everything, one line each, in order of arrival. */
static inline void rows_text(const rows *r, strbuf *out)
{
    strbuf_printf(out, "status %s\n", marey_status_text(r->status));
    rows_text_facts(r, out);
    for (size_t i = 0; i < r->n; i++) {
        rows_text_event(r, &r->items[i], out);
    }
    rows_text_side(r, out);
    rows_text_threads(r, out);
    rows_text_losses(r, true, out);
}

#endif
