/* What hangs on events: links, collectives, samples. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "store/writer.h"

enum { BATCH_ROWS = 32768 };

marey_status store_writer_links(store_writer *w, const store_link *links, size_t n, diag *d)
{
    for (size_t i = 0; i < n; i++) {
        if (links[i].kind > UINT8_MAX) {
            return diag_error(d, MAREY_ARG, w->path, DIAG_NO_OFFSET, "a link of kind %u", links[i].kind);
        }
    }
    if (n > 0 && w->has_sorted_links) {
        return diag_error(d, MAREY_STATE, w->path, DIAG_NO_OFFSET, "sorted links were written already");
    }
    if (n > 0) {
        (void)pthread_mutex_lock(&w->lock);
        VEC_RESERVE(w->links, w->cap_links, w->n_links + n);
        memcpy(w->links + w->n_links, links, n * sizeof *links);
        w->n_links += n;
        (void)pthread_mutex_unlock(&w->lock);
    }
    return MAREY_OK;
}

static uint64_t link_key(const store_link *l, bool by_to)
{
    return by_to ? l->to_row : l->from_row;
}

/* Least significant digit first, 11 bits a round; stable, so that equal keys keep their order. */
static store_link *sort_links(store_link *a, store_link *b, size_t n, bool by_to)
{
    enum { BITS = 11, BINS = 1 << BITS };
    uint64_t all = 0;
    for (size_t i = 0; i < n; i++) {
        all |= link_key(&a[i], by_to);
    }
    for (unsigned shift = 0; shift < 64 && all >> shift != 0; shift += BITS) {
        size_t at[BINS] = {0};
        for (size_t i = 0; i < n; i++) {
            at[link_key(&a[i], by_to) >> shift & (BINS - 1)]++;
        }
        size_t sum = 0;
        for (unsigned k = 0; k < BINS; k++) {
            size_t count = at[k];
            at[k] = sum;
            sum += count;
        }
        for (size_t i = 0; i < n; i++) {
            b[at[link_key(&a[i], by_to) >> shift & (BINS - 1)]++] = a[i];
        }
        store_link *t = a;
        a = b;
        b = t;
    }
    return a;
}

static marey_status put_links(store_writer *w, const store_link *l, size_t n, const schema_id id[3])
{
    uint64_t *from = mem_alloc(BATCH_ROWS * sizeof *from);
    uint64_t *to = mem_alloc(BATCH_ROWS * sizeof *to);
    uint8_t *kind = mem_alloc(BATCH_ROWS);
    marey_status status = MAREY_OK;
    for (size_t first = 0; first < n && status == MAREY_OK; first += BATCH_ROWS) {
        size_t count = n - first < BATCH_ROWS ? n - first : BATCH_ROWS;
        for (size_t i = 0; i < count; i++) {
            from[i] = l[first + i].from_row;
            to[i] = l[first + i].to_row;
            kind[i] = (uint8_t)l[first + i].kind;
        }
        MAREY_TRY(out_append(w, id[0], from, count));
        MAREY_TRY(out_append(w, id[1], to, count));
        MAREY_TRY(out_append(w, id[2], kind, count));
    }
fail:
    free(from);
    free(to);
    free(kind);
    return status;
}

static const schema_id forth[3] = {S_LINK_FROM, S_LINK_TO, S_LINK_KIND};
static const schema_id back[3] = {S_BACK_FROM, S_BACK_TO, S_BACK_KIND};

marey_status store_writer_sorted_links(store_writer *w, store_link_order order, const store_link *links, size_t n,
                                       diag *d)
{
    bool by_to = order == LINKS_BY_EFFECT;
    if (w->n_links > 0) {
        return diag_error(d, MAREY_STATE, w->path, DIAG_NO_OFFSET, "unsorted links were written already");
    }
    for (size_t i = 0; i < n; i++) {
        uint64_t key = link_key(&links[i], by_to);
        if (key < w->next_link[order] || links[i].kind > UINT8_MAX) {
            return diag_error(d, MAREY_ARG, w->path, DIAG_NO_OFFSET, "link %zu is out of order or of kind %u", i,
                              links[i].kind);
        }
        w->next_link[order] = key;
    }
    w->has_sorted_links = w->has_sorted_links || n > 0;
    marey_status status = put_links(w, links, n, by_to ? back : forth);
    return status == MAREY_OK ? MAREY_OK : writer_report(w, status, d);
}

marey_status writer_put_links(store_writer *w)
{
    if (w->n_links == 0) {
        return MAREY_OK;
    }
    store_link *other = mem_alloc(w->n_links * sizeof *other);
    store_link *sorted = sort_links(w->links, other, w->n_links, false);
    marey_status status = put_links(w, sorted, w->n_links, forth);
    if (status == MAREY_OK) {
        store_link *spare = sorted == other ? w->links : other;
        sorted = sort_links(sorted, spare, w->n_links, true);
        status = put_links(w, sorted, w->n_links, back);
    }
    free(other);
    return status;
}

/* ------------------------------------------------------------------ collectives */

static int compare_collectives(const void *a, const void *b)
{
    uint64_t x = (*(const store_collective *const *)a)->row;
    uint64_t y = (*(const store_collective *const *)b)->row;
    return x < y ? -1 : x > y;
}

#define PUT(id, type, expression)                                                                                      \
    do {                                                                                                               \
        type *column_ = buffer;                                                                                        \
        for (size_t i = 0; i < n; i++) {                                                                               \
            const store_collective *c = order[i];                                                                      \
            column_[i] = (expression);                                                                                 \
        }                                                                                                              \
        MAREY_TRY(out_append(w, id, column_, n));                                                                      \
    } while (0)

static marey_status put_collectives(store_writer *w, const store_collective *const *order, size_t n,
                                    const char *const *strings, void *buffer)
{
    marey_status status = MAREY_OK;
    PUT(S_COLL_ROW, uint64_t, c->row);
    PUT(S_COLL_GROUP, uint32_t, c->group);
    PUT(S_COLL_WHAT, uint32_t, c->what == NO_ID ? 0 : writer_string(w, strings[c->what]));
    PUT(S_COLL_DTYPE, uint32_t, c->dtype == NO_ID ? 0 : writer_string(w, strings[c->dtype]));
    PUT(S_COLL_IN, int64_t, c->in_elements);
    PUT(S_COLL_OUT, int64_t, c->out_elements);
    PUT(S_COLL_BYTES, int64_t, c->bytes);
    PUT(S_COLL_SIZE, int64_t, c->group_size);
    PUT(S_COLL_SEQ, int64_t, c->seq);
fail:
    return status;
}

marey_status store_writer_collectives(store_writer *w, const store_collective *c, size_t n, const char *const *strings,
                                      size_t n_strings, diag *d)
{
    for (size_t i = 0; i < n; i++) {
        if ((c[i].what != NO_ID && c[i].what >= n_strings) || (c[i].dtype != NO_ID && c[i].dtype >= n_strings)) {
            return diag_error(d, MAREY_ARG, w->path, DIAG_NO_OFFSET, "a collective's text is out of range");
        }
    }
    const store_collective **order = mem_alloc((n + 1) * sizeof *order);
    void *buffer = mem_alloc((n + 1) * sizeof(uint64_t));
    for (size_t i = 0; i < n; i++) {
        order[i] = &c[i];
    }
    qsort((void *)order, n, sizeof *order, compare_collectives);
    marey_status status = MAREY_OK;
    if (n > 0 && order[0]->row < w->next_collective) {
        status = diag_error(d, MAREY_ARG, w->path, DIAG_NO_OFFSET, "a collective lies before those written already");
        goto fail;
    }
    w->next_collective = n > 0 ? order[n - 1]->row + 1 : w->next_collective;
    status = put_collectives(w, order, n, strings, buffer);
    status = status == MAREY_OK ? MAREY_OK : writer_report(w, status, d);
fail:
    free((void *)order);
    free(buffer);
    return status;
}

/* ------------------------------------------------------------------ samples */

marey_status store_writer_samples(store_writer *w, const store_sample *s, size_t n, diag *d)
{
    int64_t *ts = mem_alloc(BATCH_ROWS * sizeof *ts);
    double *value = mem_alloc(BATCH_ROWS * sizeof *value);
    marey_status status = MAREY_OK;
    for (size_t first = 0; first < n; first += BATCH_ROWS) {
        size_t count = n - first < BATCH_ROWS ? n - first : BATCH_ROWS;
        for (size_t i = 0; i < count; i++) {
            ts[i] = s[first + i].ts_ns;
            value[i] = s[first + i].value;
        }
        MAREY_TRY(out_append(w, S_SAMPLE_TS, ts, count));
        MAREY_TRY(out_append(w, S_SAMPLE_VALUE, value, count));
    }
fail:
    free(ts);
    free(value);
    return status == MAREY_OK ? MAREY_OK : writer_report(w, status, d);
}
