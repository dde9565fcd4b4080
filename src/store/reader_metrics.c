/* The table of metrics, read only when it is asked for. */
#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "store/reader.h"

enum { METRIC_BATCH = 4096 };

/* Rows of a batch whose kind is wanted, and the batch's place in the table. */
typedef struct metric_batch {
    uint64_t first;
    size_t n;      /* rows of the table */
    size_t n_take; /* rows that are wanted */
    uint16_t take[METRIC_BATCH];
    uint8_t kind[METRIC_BATCH];
} metric_batch;

#define READ(id, type, field)                                                                                          \
    do {                                                                                                               \
        type *column_ = buffer;                                                                                        \
        MAREY_TRY(in_read(f, id, b->first, b->n, column_, d));                                                         \
        for (size_t i_ = 0; i_ < b->n_take; i_++) {                                                                    \
            out[i_].field = column_[b->take[i_]];                                                                      \
        }                                                                                                              \
    } while (0)

static marey_status read_batch(store_file *f, const metric_batch *b, store_metric *out, void *buffer, diag *d)
{
    marey_status status = MAREY_OK;
    for (size_t i = 0; i < b->n_take; i++) {
        out[i].kind = b->kind[b->take[i]];
    }
    READ(S_METRIC_FLAGS, uint8_t, flags);
    READ(S_METRIC_RANK, int64_t, rank);
    READ(S_METRIC_A, int64_t, a);
    READ(S_METRIC_B, int64_t, b);
    READ(S_METRIC_STEP, int64_t, step);
    READ(S_METRIC_TIME, int64_t, time_ns);
    READ(S_METRIC_VALUE, double, value);
    READ(S_METRIC_NAME, uint32_t, name);
    READ(S_METRIC_TAG, uint32_t, tag);
    for (size_t i = 0; i < b->n_take; i++) {
        if (out[i].name >= f->n_strings || out[i].tag >= f->n_strings || !isfinite(out[i].value)) {
            status = damaged(f, d, S_METRIC_NAME, "or /metrics/value holds a value out of range");
            break;
        }
    }
fail:
    return status;
}

#undef READ

static marey_status choose(store_file *f, metric_batch *b, trace_metric_kind kind, diag *d)
{
    marey_status status = in_read(f, S_METRIC_KIND, b->first, b->n, b->kind, d);
    b->n_take = 0;
    for (size_t i = 0; i < b->n && status == MAREY_OK; i++) {
        if (kind == METRIC_KIND_COUNT || b->kind[i] == kind) {
            b->take[b->n_take++] = (uint16_t)i;
        }
    }
    return status;
}

marey_status store_read_metrics(store_file *f, trace_metric_kind kind, store_metric **metrics, size_t *n, diag *d)
{
    *metrics = NULL;
    *n = 0;
    uint64_t have = 0;
    if (f->model.n_metrics == 0) {
        return MAREY_OK; /* also a file from before there was this table */
    }
    marey_status status = in_rows(f, S_METRIC_KIND, &have, d);
    if (status == MAREY_OK && have != f->model.n_metrics) {
        status = damaged(f, d, S_METRIC_KIND, "has another number of rows than /model says");
    }
    metric_batch *b = mem_alloc(sizeof *b);
    void *buffer = mem_alloc(METRIC_BATCH * sizeof(uint64_t));
    store_metric *out = NULL;
    size_t cap = 0;
    for (uint64_t first = 0; first < have && status == MAREY_OK; first += METRIC_BATCH) {
        b->first = first;
        b->n = have - first < METRIC_BATCH ? (size_t)(have - first) : METRIC_BATCH;
        status = choose(f, b, kind, d);
        if (status == MAREY_OK && b->n_take > 0) {
            VEC_RESERVE(out, cap, *n + b->n_take);
            status = read_batch(f, b, out + *n, buffer, d);
            *n += b->n_take;
        }
    }
    free(b);
    free(buffer);
    if (status != MAREY_OK) {
        free(out);
        out = NULL;
        *n = 0;
    }
    *metrics = out;
    return status;
}
