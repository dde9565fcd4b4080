#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "convert/source.h"

/* What hangs on events, once the rows are known. */

enum { PIECE = 65536 };

typedef struct link_out {
    conversion *c;
    store_link *links;
    size_t n;
} link_out;

static marey_status flush_links(link_out *o)
{
    marey_status status = o->n ? store_writer_links(o->c->writer, o->links, o->n, o->c->diag) : MAREY_OK;
    o->c->model.n_links += o->n;
    o->n = 0;
    return status;
}

static marey_status put_link(link_out *o, uint64_t from, uint64_t to, uint32_t kind)
{
    o->links[o->n++] = (store_link){from, to, kind};
    return o->n == PIECE ? flush_links(o) : MAREY_OK;
}

/* The records of one correlation come together, the launch first. */
static marey_status join_launches(link_out *o, source *s)
{
    marey_status status = s->side_status == MAREY_OK ? sorter_finish(&s->launches, &s->diag) : s->side_status;
    sort_record from = {0};
    bool has_from = false;
    bool more = true;
    while (status == MAREY_OK && more) {
        sort_record r = {0};
        status = sorter_next(&s->launches, &r, &more, &s->diag);
        if (status != MAREY_OK || !more) {
            break;
        }
        if (r.k1 == 0) {
            from = r;
            has_from = true;
        } else if (has_from && from.k0 == r.k0) {
            status = put_link(o, from.v, r.v, 0);
        }
    }
    sorter_deinit(&s->launches);
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
            diag_lose(&s->diag, MAREY_LOSS_FLOW_UNMATCHED, s->file, DIAG_NO_OFFSET, 1, NULL);
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
    link_out o = {.c = c, .links = mem_alloc(PIECE * sizeof *o.links)};
    marey_status status = MAREY_OK;
    for (size_t i = 0; i < c->n_sources && status == MAREY_OK; i++) {
        status = join_launches(&o, &c->sources[i]);
        if (status == MAREY_OK) {
            status = join_flows(&o, &c->sources[i]);
        }
    }
    if (status == MAREY_OK) {
        status = flush_links(&o);
    }
    free(o.links);
    return status;
}

/* ------------------------------------------------------------------ collectives */

/* Bytes of one element; -1 for a type of unknown size. */
static int64_t element_bytes(const char *dtype)
{
    static const struct {
        const char *name;
        int64_t bytes;
    } types[] = {{"double", 8},        {"float64", 8},  {"long", 8},  {"int64", 8},  {"float", 4},
                 {"float32", 4},       {"int", 4},      {"int32", 4}, {"uint32", 4}, {"half", 2},
                 {"float16", 2},       {"bfloat16", 2}, {"short", 2}, {"int16", 2},  {"fp32", 4},
                 {"fp16", 2},          {"bf16", 2},     {"fp8", 1},   {"byte", 1},   {"char", 1},
                 {"bool", 1},          {"int8", 1},     {"uint8", 1}, {"uint64", 8}, {"complexfloat", 8},
                 {"complexdouble", 16}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (strcasecmp(dtype, types[i].name) == 0) {
            return types[i].bytes;
        }
    }
    return strncasecmp(dtype, "float8", 6) == 0 ? 1 : -1;
}

static int64_t bytes_of(const conversion *c, const source_collective *k)
{
    int64_t elements = k->in.in_elements > k->in.out_elements ? k->in.in_elements : k->in.out_elements;
    int64_t size = k->dtype == NO_ID ? -1 : element_bytes(c->strings.text[k->dtype]);
    int64_t bytes;
    if (elements < 0 || size < 0 || __builtin_mul_overflow(elements, size, &bytes)) {
        return -1;
    }
    return bytes;
}

static int compare_collectives(const void *pa, const void *pb)
{
    const store_collective *a = pa;
    const store_collective *b = pb;
    return a->row < b->row ? -1 : a->row > b->row;
}

static marey_status write_collectives(conversion *c)
{
    size_t n = 0;
    for (size_t i = 0; i < c->n_sources; i++) {
        n += c->sources[i].n_collectives;
    }
    store_collective *all = mem_alloc((n + 1) * sizeof *all);
    n = 0;
    for (size_t i = 0; i < c->n_sources; i++) {
        const source *s = &c->sources[i];
        for (size_t k = 0; k < s->n_collectives; k++) {
            const source_collective *in = &s->collectives[k];
            if (in->row != UINT64_MAX) {
                all[n++] = (store_collective){
                    in->row,         in->group,         in->what, in->in.in_elements, in->in.out_elements,
                    bytes_of(c, in), in->in.group_size, in->seq,  in->dtype};
            }
        }
    }
    qsort(all, n, sizeof *all, compare_collectives);
    c->model.n_collectives = n;
    marey_status status = MAREY_OK;
    if (n > 0) {
        status = store_writer_collectives(c->writer, all, n, c->strings.text, c->strings.n, c->diag);
    }
    free(all);
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
    bool more = true;
    marey_status status = sorter_finish(&s->samples, &s->diag);
    while (status == MAREY_OK && more) {
        sort_record r = {0};
        status = sorter_next(&s->samples, &r, &more, &s->diag);
        if (status == MAREY_OK && more) {
            piece[n].ts_ns = model_time(s, sorter_time(r.k1));
            memcpy(&piece[n++].value, &r.v, sizeof r.v);
        }
        if (status == MAREY_OK && n > 0 && (n == PIECE || !more)) {
            status = store_writer_samples(c->writer, piece, n, c->diag);
            n = 0;
        }
    }
    sorter_deinit(&s->samples);
    free(piece);
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
        status = write_collectives(c);
    }
    if (status == MAREY_OK) {
        status = write_counters(c);
    }
    return status == MAREY_OK ? metrics_write(c) : status;
}

/* ------------------------------------------------------------------ losses */

uint64_t side_losses(conversion *c)
{
    trace_model *m = &c->model;
    uint64_t total = 0;
    m->n_losses = 0;
    for (size_t i = 0; i < c->n_sources; i++) {
        const diag *d = &c->sources[i].diag;
        if (c->sources[i].passed_over) {
            continue;
        }
        for (size_t k = 0; k < d->n_losses; k++) {
            const diag_loss *in = &d->losses[k];
            trace_loss out = {.code = in->loss,
                              .count = in->count,
                              .input = c->sources[i].input,
                              .first_offset = in->first_offset,
                              .detail = in->detail ? arena_strndup(&m->mem, in->detail, strlen(in->detail)) : ""};
            VEC_PUSH(m->losses, m->n_losses, m->cap_losses, out);
            total += in->count;
        }
    }
    return total;
}
