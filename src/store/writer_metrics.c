/* The table of metrics, written in pieces. */
#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "store/writer.h"

enum { METRIC_BATCH = 4096 };

static bool is_sound(const store_metric *m, size_t n_strings)
{
    return m->kind < METRIC_KIND_COUNT && isfinite(m->value) && (m->name == NO_ID || m->name < n_strings) &&
           (m->tag == NO_ID || m->tag < n_strings);
}

static uint32_t text_id(store_writer *w, const char *const *strings, uint32_t id)
{
    return id == NO_ID ? 0 : writer_string(w, strings[id]);
}

#define PUT(id, type, expression)                                                                                      \
    do {                                                                                                               \
        type *column_ = buffer;                                                                                        \
        for (size_t i = 0; i < n; i++) {                                                                               \
            column_[i] = (expression);                                                                                 \
        }                                                                                                              \
        MAREY_TRY(out_append(w, id, column_, n));                                                                      \
    } while (0)

static marey_status put_batch(store_writer *w, const store_metric *m, size_t n, const char *const *strings,
                              void *buffer)
{
    marey_status status = MAREY_OK;
    PUT(S_METRIC_KIND, uint8_t, m[i].kind);
    PUT(S_METRIC_FLAGS, uint8_t, m[i].flags);
    PUT(S_METRIC_RANK, int64_t, m[i].rank);
    PUT(S_METRIC_A, int64_t, m[i].a);
    PUT(S_METRIC_B, int64_t, m[i].b);
    PUT(S_METRIC_STEP, int64_t, m[i].step);
    PUT(S_METRIC_TIME, int64_t, m[i].time_ns);
    PUT(S_METRIC_VALUE, double, m[i].value);
    PUT(S_METRIC_NAME, uint32_t, text_id(w, strings, m[i].name));
    PUT(S_METRIC_TAG, uint32_t, text_id(w, strings, m[i].tag));
fail:
    return status;
}

#undef PUT

marey_status store_writer_metrics(store_writer *w, const store_metric *m, size_t n, const char *const *strings,
                                  size_t n_strings, diag *d)
{
    for (size_t i = 0; i < n; i++) {
        if (!is_sound(&m[i], n_strings)) {
            return diag_error(d, MAREY_ARG, w->path, DIAG_NO_OFFSET, "a metric's kind, value or text is out of range");
        }
    }
    void *buffer = mem_alloc(METRIC_BATCH * sizeof(uint64_t));
    marey_status status = MAREY_OK;
    for (size_t first = 0; first < n && status == MAREY_OK; first += METRIC_BATCH) {
        size_t count = n - first < METRIC_BATCH ? n - first : METRIC_BATCH;
        status = put_batch(w, m + first, count, strings, buffer);
    }
    free(buffer);
    return status == MAREY_OK ? MAREY_OK : writer_report(w, status, d);
}
