#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "convert/source.h"

/* What hangs on events, once the rows are known. */

enum { PIECE = 65536, LINK_PIECE = 32768, LINKS_IN_MEMORY = 256 * 1024 };

/* Links are sorted twice on their way, by cause and by effect, beyond memory by way of the scratch file. */
typedef struct link_out {
    conversion *c;
    sorter forth, back;
} link_out;

static marey_status put_link(link_out *o, uint64_t from, uint64_t to, uint32_t kind)
{
    marey_status status = sorter_push(&o->forth, from, to, kind, o->c->diag);
    return status == MAREY_OK ? sorter_push(&o->back, to, from, kind, o->c->diag) : status;
}

static marey_status write_sorted(conversion *c, sorter *s, store_link_order order)
{
    store_link *piece = mem_alloc(LINK_PIECE * sizeof *piece);
    size_t n = 0;
    bool more = true;
    marey_status status = sorter_finish(s, c->diag);
    while (status == MAREY_OK && more) {
        sort_record r = {0};
        status = sorter_next(s, &r, &more, c->diag);
        if (status == MAREY_OK && more) {
            bool forth = order == LINKS_BY_CAUSE;
            piece[n++] = (store_link){forth ? r.k0 : r.k1, forth ? r.k1 : r.k0, (uint32_t)r.v};
        }
        if (status == MAREY_OK && n > 0 && (n == LINK_PIECE || !more)) {
            status = store_writer_sorted_links(c->writer, order, piece, n, c->diag);
            n = 0;
        }
    }
    sorter_deinit(s);
    free(piece);
    return status;
}

void side_take_launch(source *s, uint64_t number, unsigned role, uint64_t row)
{
    launch_row *l = s->launch_rows ? &s->launch_rows[number] : NULL;
    if (l && role == ROLE_LAUNCH) {
        l->from = row;
        return;
    }
    if (l && l->to == UINT64_MAX) {
        l->to = row; /* all of one launch is on one rank, so in one group */
        return;
    }
    if (s->spans_groups) {
        (void)pthread_mutex_lock(&s->lock);
    }
    if (s->side_status == MAREY_OK) {
        s->side_status = sorter_push(&s->launches, number, role, row, &s->diag);
    }
    if (s->spans_groups) {
        (void)pthread_mutex_unlock(&s->lock);
    }
}

void side_release_launches(source *s)
{
    if (s->launch_rows) {
        scratch_release(&s->c->scratch, (s->n_launches + 1) * sizeof *s->launch_rows);
        free(s->launch_rows);
        s->launch_rows = NULL;
    }
}

static marey_status join_known(link_out *o, const source *s)
{
    marey_status status = MAREY_OK;
    for (uint64_t i = 1; s->launch_rows && i <= s->n_launches && status == MAREY_OK; i++) {
        const launch_row *l = &s->launch_rows[i];
        if (l->from != UINT64_MAX && l->to != UINT64_MAX) {
            status = put_link(o, l->from, l->to, 0);
        }
    }
    return status;
}

/* The records of one launch come together, the launch first where it is one of them. */
static marey_status join_launches(link_out *o, source *s)
{
    marey_status status = s->side_status == MAREY_OK ? join_known(o, s) : s->side_status;
    status = status == MAREY_OK ? sorter_finish(&s->launches, &s->diag) : status;
    uint64_t number = 0;
    uint64_t from = UINT64_MAX;
    bool more = true;
    while (status == MAREY_OK && more) {
        sort_record r = {0};
        status = sorter_next(&s->launches, &r, &more, &s->diag);
        if (status != MAREY_OK || !more) {
            break;
        }
        if (r.k0 != number) {
            number = r.k0;
            from = s->launch_rows ? s->launch_rows[number].from : UINT64_MAX;
        }
        if (r.k1 == ROLE_LAUNCH) {
            from = r.v;
        } else if (from != UINT64_MAX) {
            status = put_link(o, from, r.v, 0);
        }
    }
    sorter_deinit(&s->launches);
    side_release_launches(s);
    return status;
}

/* The ends of one flow come together, in order of time. */
static marey_status join_flows(link_out *o, source *s)
{
    marey_status status = sorter_finish(&s->binds, &s->diag);
    uint64_t key = 0;
    uint64_t before = UINT64_MAX; /* row of the flow's end so far */
    bool more = true;
    while (status == MAREY_OK && more) {
        sort_record r = {0};
        status = sorter_next(&s->binds, &r, &more, &s->diag);
        if (status != MAREY_OK || !more) {
            break;
        }
        if (r.k0 != key) {
            key = r.k0;
            before = UINT64_MAX;
        }
        uint64_t row = s->flow_rows[r.v];
        trace_flow_phase phase = (trace_flow_phase)(r.k1 & 3);
        if (phase != FLOW_START && before == UINT64_MAX) {
            lost_count(s, LOST_END, 1);
            lost_flow(s, LOST_END, &r);
        } else if (phase != FLOW_START && row != before && row != UINT64_MAX) {
            status = put_link(o, before, row, (uint32_t)(key >> 62));
        }
        before = phase == FLOW_END ? before : row;
    }
    sorter_deinit(&s->binds);
    free(s->flow_rows);
    s->flow_rows = NULL;
    return status;
}

static marey_status write_links(conversion *c)
{
    link_out o = {.c = c};
    sorter_init(&o.forth, &c->scratch, LINKS_IN_MEMORY);
    sorter_init(&o.back, &c->scratch, LINKS_IN_MEMORY);
    marey_status status = MAREY_OK;
    for (size_t i = 0; i < c->n_sources && status == MAREY_OK; i++) {
        status = join_launches(&o, &c->sources[i]);
        if (status == MAREY_OK) {
            status = join_flows(&o, &c->sources[i]);
        }
    }
    c->model.n_links = o.forth.n_total;
    if (status == MAREY_OK) {
        status = write_sorted(c, &o.forth, LINKS_BY_CAUSE);
    }
    if (status == MAREY_OK) {
        status = write_sorted(c, &o.back, LINKS_BY_EFFECT);
    }
    sorter_deinit(&o.forth);
    sorter_deinit(&o.back);
    return status;
}

/* ------------------------------------------------------------------ counters */

static void add_counter(conversion *c, const source *s, const source_counter *k)
{
    const source_rank *r = &s->ranks[s->n_ranks > 1 ? k->pid_id : 0];
    uint32_t thread = s->threads[k->thread].global;
    trace_counter out = {.name = k->name,
                         .rank = r->global,
                         .thread = s->threads[k->thread].sum.n_events ? thread : NO_ID,
                         .first_sample = c->model.n_samples,
                         .n_samples = k->n,
                         .min = k->min,
                         .max = k->max};
    VEC_PUSH(c->model.counters, c->model.n_counters, c->model.cap_counters, out);
    c->model.n_samples += k->n;
}

static marey_status write_samples(conversion *c, source *s)
{
    store_sample *piece = mem_alloc(PIECE * sizeof *piece);
    size_t n = 0;
    uint64_t n_outside = 0;
    bool more = true;
    marey_status status = sorter_finish(&s->samples, &s->diag);
    while (status == MAREY_OK && more) {
        sort_record r = {0};
        status = sorter_next(&s->samples, &r, &more, &s->diag);
        if (status == MAREY_OK && more) {
            int64_t t_ns = sorter_time(r.k1);
            n_outside += is_sample_outside(s, t_ns);
            piece[n].ts_ns = model_time(s, t_ns);
            piece[n].ts_ns = piece[n].ts_ns < c->model.duration_ns ? piece[n].ts_ns : c->model.duration_ns;
            memcpy(&piece[n++].value, &r.v, sizeof r.v);
        }
        if (status == MAREY_OK && n > 0 && (n == PIECE || !more)) {
            status = store_writer_samples(c->writer, piece, n, c->diag);
            n = 0;
        }
    }
    sorter_deinit(&s->samples);
    free(piece);
    lost_samples(s, n_outside);
    return status;
}

static marey_status write_counters(conversion *c)
{
    marey_status status = MAREY_OK;
    for (size_t i = 0; i < c->n_sources && status == MAREY_OK; i++) {
        source *s = &c->sources[i];
        for (size_t k = 0; k < s->n_counters; k++) {
            add_counter(c, s, &s->counters[k]);
        }
        if (s->n_counters > 0) {
            status = write_samples(c, s);
        }
    }
    return status;
}

marey_status side_write(conversion *c)
{
    marey_status status = write_links(c);
    if (status == MAREY_OK) {
        status = collectives_write(c);
    }
    if (status == MAREY_OK) {
        status = write_counters(c);
    }
    return status == MAREY_OK ? metrics_write(c) : status;
}

/* ------------------------------------------------------------------ losses */

/* `several`: the sink's files are inputs, from `input` on; else all of it is one input. */
static uint64_t add_losses(trace_model *m, const diag *d, uint32_t input, bool several)
{
    uint64_t total = 0;
    for (size_t k = 0; k < d->n_losses; k++) {
        const diag_loss *in = &d->losses[k];
        trace_loss out = {.code = in->loss,
                          .count = in->count,
                          .input = several && in->file < d->n_files ? input + in->file : input,
                          .first_offset = in->first_offset,
                          .detail = in->detail ? arena_strndup(&m->mem, in->detail, strlen(in->detail)) : ""};
        VEC_PUSH(m->losses, m->n_losses, m->cap_losses, out);
        total += in->count;
    }
    return total;
}

uint64_t side_losses(conversion *c)
{
    uint64_t total = 0;
    c->model.n_losses = 0;
    for (size_t i = 0; i < c->n_sources; i++) {
        if (!c->sources[i].passed_over) {
            total += add_losses(&c->model, &c->sources[i].diag, c->sources[i].input, false);
        }
    }
    return total + (c->graph.is_read ? add_losses(&c->model, &c->graph.diag, c->graph.input, true) : 0);
}
