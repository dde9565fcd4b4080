#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "convert/source.h"
#include "diagnose/comm.h"

/* Collectives between the annotation, which knows all of them, and the store, which knows their rows. */

enum { COLLECTIVE_PIECE = 32768, ORDER_RECORDS = 256 * 1024 };

static comm_op op_of(const conversion *c, const source_collective *k)
{
    if (k->event_klass == CLASS_SEND || k->event_klass == CLASS_RECEIVE) {
        return k->event_klass == CLASS_SEND ? OP_SEND : OP_RECEIVE;
    }
    return k->what == NO_ID ? OP_OTHER : comm_op_of(c->strings.text[k->what]);
}

static uint32_t put_shape(conversion *c, const source_collective *k)
{
    collective_shape shape = {.in_elements = k->in.in_elements,
                              .out_elements = k->in.out_elements,
                              .group_size = k->in.group_size,
                              .group = k->group,
                              .what = k->what,
                              .dtype = k->dtype};
    return intern_put(&c->shapes, (const char *)&shape, sizeof shape);
}

void collectives_keep(source *s)
{
    conversion *c = s->c;
    size_t n = s->n_collectives;
    s->kept = mem_alloc((n + 1) * sizeof *s->kept);
    s->times = mem_alloc((n + 1) * sizeof *s->times);
    (void)pthread_mutex_lock(&c->lock);
    for (size_t i = 0; i < n; i++) {
        const source_collective *k = &s->collectives[i];
        s->kept[i] = (kept_collective){.row = UINT64_MAX,
                                       .seq = k->seq,
                                       .shape = put_shape(c, k),
                                       .op = (uint8_t)op_of(c, k),
                                       .on_device = k->on_device};
        s->times[i] = (collective_time){k->start_ns, k->end_ns, k->rank, k->thread};
    }
    (void)pthread_mutex_unlock(&c->lock);
    s->n_kept = n;
    free(s->collectives);
    s->collectives = NULL;
    s->n_collectives = s->cap_collectives = 0;
}

collective_shape collective_shape_of(const conversion *c, const kept_collective *k)
{
    collective_shape shape;
    memcpy(&shape, c->shapes.text[k->shape], sizeof shape);
    return shape;
}

/* ------------------------------------------------------------------ into the store */

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

static int64_t bytes_of(const conversion *c, const collective_shape *k)
{
    int64_t elements = k->in_elements > k->out_elements ? k->in_elements : k->out_elements;
    int64_t size = k->dtype == NO_ID ? -1 : element_bytes(c->strings.text[k->dtype]);
    int64_t bytes;
    if (elements < 0 || size < 0 || __builtin_mul_overflow(elements, size, &bytes)) {
        return -1;
    }
    return bytes;
}

/* (row, source and number) of all that came into the file. */
static marey_status push_rows(conversion *c, sorter *order)
{
    for (size_t i = 0; i < c->n_sources; i++) {
        const source *s = &c->sources[i];
        for (size_t k = 0; k < s->n_kept; k++) {
            if (s->kept[k].row == UINT64_MAX) {
                continue;
            }
            marey_status status = sorter_push(order, s->kept[k].row, i, k, c->diag);
            if (status != MAREY_OK) {
                return status;
            }
        }
    }
    return sorter_finish(order, c->diag);
}

static store_collective in_full(const conversion *c, const sort_record *r)
{
    const kept_collective *k = &c->sources[r->k1].kept[r->v];
    collective_shape shape = collective_shape_of(c, k);
    return (store_collective){.row = r->k0,
                              .group = shape.group,
                              .what = shape.what,
                              .in_elements = shape.in_elements,
                              .out_elements = shape.out_elements,
                              .bytes = bytes_of(c, &shape),
                              .group_size = shape.group_size,
                              .seq = k->seq,
                              .dtype = shape.dtype};
}

marey_status collectives_write(conversion *c)
{
    sorter order;
    sorter_init(&order, &c->scratch, ORDER_RECORDS);
    store_collective *piece = mem_alloc(COLLECTIVE_PIECE * sizeof *piece);
    size_t n = 0;
    bool more = true;
    marey_status status = push_rows(c, &order);
    while (status == MAREY_OK && more) {
        sort_record r = {0};
        status = sorter_next(&order, &r, &more, c->diag);
        if (status == MAREY_OK && more) {
            piece[n++] = in_full(c, &r);
        }
        if (status == MAREY_OK && n > 0 && (n == COLLECTIVE_PIECE || !more)) {
            status = store_writer_collectives(c->writer, piece, n, c->strings.text, c->strings.n, c->diag);
            c->model.n_collectives += n;
            n = 0;
        }
    }
    sorter_deinit(&order);
    free(piece);
    for (size_t i = 0; i < c->n_sources; i++) {
        free(c->sources[i].kept);
        c->sources[i].kept = NULL;
        c->sources[i].n_kept = 0;
    }
    return status;
}
