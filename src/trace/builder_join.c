#include "trace/builder_join.h"

#include <stdlib.h>
#include <string.h>

void trace_join_deinit(trace_join *j)
{
    free(j->processes.to);
    free(j->threads.to);
    free(j->strings.to);
    free(j->names.to);
    *j = (trace_join){0};
}

/* ---- numbers ---- */

static void learn_strings(trace_join *j, trace_builder *to, const trace_builder *from)
{
    trace_join_ids *ids = &j->strings;
    while (ids->n < from->strings.n) {
        bool is_odd = j->n_odd < from->n_odd && from->odd[j->n_odd].id == ids->n;
        to->at = is_odd ? from->odd[j->n_odd].at : to->at;
        j->n_odd += is_odd;
        uint32_t id = trace_builder_string(to, from->strings.text[ids->n], from->strings.len[ids->n]);
        VEC_PUSH(ids->to, ids->n, ids->cap, id);
    }
}

static void learn_threads(trace_join *j, trace_builder *to, const trace_builder *from)
{
    trace_join_ids *ids = &j->processes;
    const intern *pids = &from->process_keys;
    while (ids->n < pids->n) {
        uint32_t id = trace_builder_process(to, pids->text[ids->n], pids->len[ids->n]);
        VEC_PUSH(ids->to, ids->n, ids->cap, id);
    }
    ids = &j->threads;
    const size_t n_process = sizeof(uint32_t); /* in front of a thread's key */
    while (ids->n < from->n_threads) {
        uint32_t process = from->threads[ids->n].pid_id;
        to->at = from->threads[ids->n].at;
        uint32_t id =
            trace_builder_thread(to, pids->text[process], pids->len[process],
                                 from->thread_keys.text[ids->n] + n_process, from->thread_keys.len[ids->n] - n_process);
        VEC_PUSH(ids->to, ids->n, ids->cap, id);
    }
}

static void learn_names(trace_join *j, trace_builder *to, const trace_builder *from)
{
    trace_join_ids *ids = &j->names;
    while (ids->n < from->n_names) {
        const trace_name_in *name = &from->names[ids->n];
        uint32_t id =
            trace_builder_name(to, trace_join_id(&j->strings, name->text), trace_join_id(&j->strings, name->source));
        VEC_PUSH(ids->to, ids->n, ids->cap, id);
    }
}

void trace_join_begin(trace_join *j, trace_builder *to, const trace_builder *from)
{
    learn_strings(j, to, from);
    learn_threads(j, to, from);
    learn_names(j, to, from);
    j->n_rows = 0;
    j->n_collectives = 0;
}

/* ---- rows ---- */

static size_t args_begin(const trace_chunk *c, size_t row)
{
    return row < c->n ? c->rows[row].args_at : c->n_args;
}

static void copy_rows(const trace_join *j, trace_chunk *out, const trace_chunk *in, size_t first, size_t n)
{
    size_t from = args_begin(in, first);
    size_t n_args = args_begin(in, first + n) - from;
    if (n_args > 0) {
        memcpy(out->args + out->n_args, in->args + from, n_args);
    }
    uint32_t shift = (uint32_t)(out->n_args - from);
    for (size_t i = 0; i < n; i++) {
        trace_row r = in->rows[first + i];
        r.thread = j->threads.to[r.thread];
        r.name = j->names.to[r.name];
        r.args_at += shift;
        out->rows[out->n + i] = r;
    }
    out->n += n;
    out->n_args += n_args;
}

/* Those of the rows that are about to be taken: [j->n_rows, j->n_rows + n), as `from` counts. */
static void take_collectives(trace_join *j, trace_builder *to, const trace_builder *from, size_t n)
{
    for (; j->n_collectives < from->n_collectives; j->n_collectives++) {
        trace_collective_in c = from->collectives[j->n_collectives];
        if (c.event >= j->n_rows + n) {
            break;
        }
        c.event += to->n_events - j->n_rows;
        c.what = trace_join_id(&j->strings, c.what);
        c.group = trace_join_id(&j->strings, c.group);
        c.group_desc = trace_join_id(&j->strings, c.group_desc);
        c.group_ranks = trace_join_id(&j->strings, c.group_ranks);
        c.dtype = trace_join_id(&j->strings, c.dtype);
        trace_builder_collective(to, &c);
    }
}

marey_status trace_join_rows(trace_join *j, trace_builder *to, const trace_builder *from, const trace_chunk *chunk,
                             size_t first, size_t n)
{
    trace_chunk *c = &to->chunk;
    marey_status status = MAREY_OK;
    while (n > 0 && status == MAREY_OK) {
        size_t room = c->rows ? TRACE_CHUNK_EVENTS - c->n : 0;
        size_t m = n < room ? n : room;
        size_t begin = args_begin(chunk, first);
        while (m > 0 && c->n_args + (args_begin(chunk, first + m) - begin) + ARG_RECORD_PAD_BYTES > c->cap_args) {
            m /= 2;
        }
        if (m == 0) {
            status = trace_builder_room(to, args_begin(chunk, first + 1) - begin + ARG_RECORD_PAD_BYTES);
            continue;
        }
        copy_rows(j, c, chunk, first, m);
        take_collectives(j, to, from, m);
        to->n_events += m;
        j->n_rows += m;
        first += m;
        n -= m;
    }
    return status;
}

void trace_join_end(trace_join *j, trace_builder *to, trace_builder *from)
{
    for (size_t i = 0; i < from->n_flows; i++) {
        trace_flow_in f = from->flows[i];
        f.thread = trace_join_id(&j->threads, f.thread);
        f.kind = trace_join_id(&j->strings, f.kind);
        trace_builder_flow(to, &f);
    }
    for (size_t i = 0; i < from->n_samples; i++) {
        trace_sample_in s = from->samples[i];
        s.thread = trace_join_id(&j->threads, s.thread);
        s.counter = trace_join_id(&j->strings, s.counter);
        trace_builder_sample(to, &s);
    }
    to->n_ac2g_flows += from->n_ac2g_flows;
    from->n_flows = from->n_samples = from->n_collectives = 0;
    from->n_ac2g_flows = from->n_events = 0;
    from->chunk.n = from->chunk.n_args = 0;
}
