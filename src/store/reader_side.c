/* What hangs on events, by row: arguments, links, collectives, samples; and one event by row. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "store/reader.h"

static marey_status check_row(const store_file *f, uint64_t row, diag *d)
{
    uint64_t block = row / BLOCK_EVENTS;
    if (block >= f->n_blocks || row % BLOCK_EVENTS >= f->blocks.n[block]) {
        return diag_error(d, MAREY_RANGE, f->path, DIAG_NO_OFFSET, "there is no event %llu", (unsigned long long)row);
    }
    return MAREY_OK;
}

/* ------------------------------------------------------------------ one event */

static uint32_t track_of(const store_block_info *b, uint32_t i)
{
    uint32_t lo = 0;
    uint32_t hi = b->n_tracks;
    while (hi - lo > 1) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (b->offsets[mid] <= i) {
            lo = mid;
        } else {
            hi = mid;
        }
    }
    return b->n_tracks > 0 ? b->tracks[lo] : NO_ID;
}

/* A few decoded blocks are kept: lookups come in clusters. Under f->lock. */
static store_columns *recent_block(store_file *f, uint32_t block)
{
    for (unsigned i = 0; i < N_RECENT; i++) {
        if (f->recent[i].block == block + 1) {
            f->recent[i].used = ++f->clock;
            return &f->recent[i].columns;
        }
    }
    return NULL;
}

static void keep_block(store_file *f, uint32_t block, store_columns *c)
{
    unsigned oldest = 0;
    for (unsigned i = 1; i < N_RECENT; i++) {
        oldest = f->recent[i].used < f->recent[oldest].used ? i : oldest;
    }
    store_columns_free(&f->recent[oldest].columns);
    f->recent[oldest].columns = *c;
    f->recent[oldest].block = block + 1;
    f->recent[oldest].used = ++f->clock;
}

static void take_event(const store_columns *c, uint32_t i, store_event_info *e)
{
    e->name = c->name[i];
    e->instance = c->instance[i];
    e->start_ns = c->start_ns[i];
    e->dur_ns = c->dur_ns[i];
    e->klass = c->klass[i];
    e->flags = c->flags[i];
}

marey_status store_read_event(store_file *f, uint64_t row, store_event_info *e, diag *d)
{
    marey_status status = check_row(f, row, d);
    if (status != MAREY_OK) {
        return status;
    }
    uint32_t block = (uint32_t)(row / BLOCK_EVENTS);
    uint32_t i = (uint32_t)(row % BLOCK_EVENTS);
    status = store_group_load(f, f->blocks.group[block], d);
    if (status != MAREY_OK) {
        return status;
    }
    store_block_info b = store_block(f, block);
    e->row = row;
    e->track = track_of(&b, i);
    (void)pthread_mutex_lock(&f->lock);
    store_columns *known = recent_block(f, block);
    if (known) {
        take_event(known, i, e);
    }
    (void)pthread_mutex_unlock(&f->lock);
    if (known) {
        return MAREY_OK;
    }
    store_columns c = {0};
    status = store_read_block(f, block, COL_ALL, &c, d);
    if (status != MAREY_OK) {
        store_columns_free(&c);
        return status;
    }
    take_event(&c, i, e);
    (void)pthread_mutex_lock(&f->lock);
    keep_block(f, block, &c);
    (void)pthread_mutex_unlock(&f->lock);
    return MAREY_OK;
}

/* ------------------------------------------------------------------ arguments */

static marey_status load_templates(store_file *f, diag *d)
{
    char *bytes = NULL;
    uint64_t *start = NULL;
    size_t n_bytes = 0;
    size_t n_start = 0;
    marey_status status = in_load(f, S_TEMPLATE_BYTES, UINT64_MAX, &bytes, &n_bytes, d);
    if (status == MAREY_OK) {
        status = in_load(f, S_TEMPLATE_START, UINT64_MAX, &start, &n_start, d);
    }
    bool ok = status == MAREY_OK && n_start > 0 && start[n_start - 1] <= n_bytes;
    for (size_t i = 0; ok && i + 1 < n_start; i++) {
        ok = start[i] <= start[i + 1];
    }
    if (status == MAREY_OK && !ok) {
        status = damaged(f, d, S_TEMPLATE_START, "does not fit the templates");
    }
    if (status != MAREY_OK) {
        free(bytes);
        free(start);
        return status;
    }
    f->template_bytes = bytes;
    f->template_start = start;
    f->n_templates = n_start - 1;
    f->has_templates = true;
    return MAREY_OK;
}

static marey_status read_stream(store_file *f, uint32_t block, uint8_t *stream, diag *d)
{
    uint64_t first = f->blocks.args_first[block];
    uint64_t n = (f->blocks.args_bytes[block] + ARGS_CHUNK - 1) / ARGS_CHUNK;
    read_bench *b = read_bench_take(f);
    marey_status status = MAREY_OK;
    for (uint64_t i = 0; i < n && status == MAREY_OK; i++) {
        chunk_at c = {S_ARGS_DATA, first + i, f->args_addr[first + i], f->args_size[first + i], f->args_crc[first + i],
                      ARGS_CHUNK};
        status = read_chunk(f, b, &c, stream + i * ARGS_CHUNK, d);
    }
    read_bench_give(f, b);
    return status;
}

/* The stream of a block's arguments, to be freed; *n = 0: it has none. */
static marey_status load_stream(store_file *f, uint32_t block, uint8_t **stream, uint64_t *n, diag *d)
{
    *stream = NULL;
    *n = f->blocks.args_bytes[block];
    if (*n == 0) {
        return MAREY_OK;
    }
    (void)pthread_mutex_lock(&f->making);
    marey_status status = f->has_templates ? MAREY_OK : load_templates(f, d);
    (void)pthread_mutex_unlock(&f->making);
    if (status != MAREY_OK) {
        return status;
    }
    *stream = in_alloc(f, S_ARGS_DATA, (*n + ARGS_CHUNK - 1) / ARGS_CHUNK * ARGS_CHUNK);
    if (!*stream) {
        return damaged(f, d, S_BLOCK_ARGS_BYTES, "is larger than the file can hold");
    }
    return read_stream(f, block, *stream, d);
}

marey_status store_read_args(store_file *f, uint64_t row, strbuf *out, diag *d)
{
    marey_status status = check_row(f, row, d);
    if (status != MAREY_OK) {
        return status;
    }
    uint8_t *stream = NULL;
    uint64_t n = 0;
    status = load_stream(f, (uint32_t)(row / BLOCK_EVENTS), &stream, &n, d);
    if (status == MAREY_OK && n > 0) {
        args_templates t = {f->template_bytes, f->template_start, f->n_templates};
        size_t before = out->n;
        status = args_decode(&t, stream, (size_t)n, (uint32_t)(row % BLOCK_EVENTS), out);
        if (status != MAREY_OK) {
            out->n = before;
            status = damaged(f, d, S_ARGS_DATA, "holds a stream that cannot be decoded");
        }
    }
    free(stream);
    return status;
}

marey_status store_read_block_args(store_file *f, uint32_t block, store_args_visit visit, void *ctx, diag *d)
{
    if (block >= f->n_blocks) {
        return diag_error(d, MAREY_RANGE, f->path, DIAG_NO_OFFSET, "there is no block %u", block);
    }
    uint8_t *stream = NULL;
    uint64_t n = 0;
    marey_status status = load_stream(f, block, &stream, &n, d);
    if (status == MAREY_OK && n > 0) {
        args_templates t = {f->template_bytes, f->template_start, f->n_templates};
        status = args_decode_all(&t, stream, (size_t)n, f->blocks.n[block], visit, ctx);
        if (status != MAREY_OK) {
            status = damaged(f, d, S_ARGS_DATA, "holds a stream that cannot be decoded");
        }
    }
    free(stream);
    return status;
}

/* ------------------------------------------------------------------ sorted tables */

/* First row of a sorted u64 dataset that is not below the key. HDF5 keeps the chunks that the search meets. */
static marey_status lower_bound(store_file *f, schema_id id, uint64_t key, uint64_t *at, diag *d)
{
    uint64_t lo = 0;
    uint64_t hi = 0;
    marey_status status = in_rows(f, id, &hi, d);
    while (status == MAREY_OK && lo < hi) {
        uint64_t mid = lo + (hi - lo) / 2;
        uint64_t v = 0;
        status = in_read(f, id, mid, 1, &v, d);
        if (v < key) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    *at = lo;
    return status;
}

/* Links whose `key` column equals the row, behind those that are there. */
static marey_status links_by(store_file *f, schema_id key, const schema_id id[3], uint64_t row, store_link *out,
                             size_t cap, size_t *n, diag *d)
{
    uint64_t at = 0;
    uint64_t end = 0;
    marey_status status = MAREY_OK;
    MAREY_TRY(lower_bound(f, key, row, &at, d));
    MAREY_TRY(in_rows(f, key, &end, d));
    for (; at < end && *n < cap; at++) {
        store_link l = {0};
        uint8_t kind = 0;
        MAREY_TRY(in_read(f, id[0], at, 1, &l.from_row, d));
        MAREY_TRY(in_read(f, id[1], at, 1, &l.to_row, d));
        if ((key == id[0] ? l.from_row : l.to_row) != row) {
            break;
        }
        MAREY_TRY(in_read(f, id[2], at, 1, &kind, d));
        l.kind = kind;
        out[(*n)++] = l;
    }
fail:
    return status;
}

marey_status store_read_links(store_file *f, uint64_t row, store_link *out, size_t cap, size_t *n, diag *d)
{
    static const schema_id forth[3] = {S_LINK_FROM, S_LINK_TO, S_LINK_KIND};
    static const schema_id back[3] = {S_BACK_FROM, S_BACK_TO, S_BACK_KIND};
    *n = 0;
    marey_status status = links_by(f, S_LINK_FROM, forth, row, out, cap, n, d);
    return status == MAREY_OK ? links_by(f, S_BACK_TO, back, row, out, cap, n, d) : status;
}

marey_status store_read_launches(store_file *f, uint64_t **from_rows, uint64_t **to_rows, size_t *n, diag *d)
{
    uint64_t *from = NULL;
    uint64_t *to = NULL;
    uint8_t *kind = NULL;
    size_t count = 0;
    *n = 0;
    marey_status status = in_load(f, S_BACK_TO, UINT64_MAX, &to, &count, d);
    if (status == MAREY_OK) {
        status = in_load(f, S_BACK_FROM, count, &from, NULL, d);
    }
    if (status == MAREY_OK) {
        status = in_load(f, S_BACK_KIND, count, &kind, NULL, d);
    }
    for (size_t i = 0; i < count && status == MAREY_OK; i++) {
        if (kind[i] == 0) {
            from[*n] = from[i];
            to[(*n)++] = to[i];
        }
    }
    free(kind);
    if (status != MAREY_OK) {
        free(from);
        free(to);
        from = to = NULL;
    }
    *from_rows = from;
    *to_rows = to;
    return status;
}

static const char *string_at(const store_file *f, uint32_t id)
{
    return id < f->n_strings ? f->strings + f->string_start[id] : "";
}

#define COLL_READ(id, type, field)                                                                                     \
    do {                                                                                                               \
        type *column_ = buffer;                                                                                        \
        MAREY_TRY(in_read(f, id, first, n, column_, d));                                                               \
        for (size_t i_ = 0; i_ < n; i_++) {                                                                            \
            out[i_].field = column_[i_];                                                                               \
        }                                                                                                              \
    } while (0)

marey_status store_read_collectives(store_file *f, uint64_t first, size_t n, store_collective *out, diag *d)
{
    marey_status status = MAREY_OK;
    void *buffer = in_alloc(f, S_COLL_ROW, n);
    if (!buffer) {
        return damaged(f, d, S_COLL_ROW, "is shorter than what is asked for");
    }
    COLL_READ(S_COLL_ROW, uint64_t, row);
    COLL_READ(S_COLL_GROUP, uint32_t, group);
    COLL_READ(S_COLL_WHAT, uint32_t, what);
    COLL_READ(S_COLL_DTYPE, uint32_t, dtype);
    COLL_READ(S_COLL_IN, int64_t, in_elements);
    COLL_READ(S_COLL_OUT, int64_t, out_elements);
    COLL_READ(S_COLL_BYTES, int64_t, bytes);
    COLL_READ(S_COLL_SIZE, int64_t, group_size);
    COLL_READ(S_COLL_SEQ, int64_t, seq);
    for (size_t i = 0; i < n; i++) {
        if (out[i].group != NO_ID && out[i].group >= f->model.n_groups) {
            status = damaged(f, d, S_COLL_GROUP, "holds a value out of range");
        }
    }
fail:
    free(buffer);
    return status;
}

const char *store_string(const store_file *f, uint32_t id)
{
    return string_at(f, id);
}

marey_status store_read_collective(store_file *f, uint64_t row, store_collective *c, const char **what,
                                   const char **dtype, bool *found, diag *d)
{
    uint64_t at = 0;
    uint64_t n = 0;
    marey_status status = MAREY_OK;
    *found = false;
    MAREY_TRY(lower_bound(f, S_COLL_ROW, row, &at, d));
    MAREY_TRY(in_rows(f, S_COLL_ROW, &n, d));
    if (at < n) {
        MAREY_TRY(store_read_collectives(f, at, 1, c, d));
        *found = c->row == row;
    }
    if (*found) {
        *what = string_at(f, c->what);
        *dtype = string_at(f, c->dtype);
    }
fail:
    return status;
}

/* ------------------------------------------------------------------ samples */

marey_status store_read_samples(store_file *f, uint32_t counter, store_sample **samples, size_t *n, diag *d)
{
    *samples = NULL;
    *n = 0;
    if (counter >= f->model.n_counters) {
        return diag_error(d, MAREY_RANGE, f->path, DIAG_NO_OFFSET, "there is no counter %u", counter);
    }
    const trace_counter *c = &f->model.counters[counter];
    uint64_t have = 0;
    marey_status status = in_rows(f, S_SAMPLE_TS, &have, d);
    if (status != MAREY_OK) {
        return status;
    }
    if (c->first_sample > have || c->n_samples > have - c->first_sample) {
        return damaged(f, d, S_COUNTER_FIRST, "points behind /counters");
    }
    size_t count = (size_t)c->n_samples;
    int64_t *ts = in_alloc(f, S_SAMPLE_TS, count);
    double *value = in_alloc(f, S_SAMPLE_VALUE, count);
    store_sample *out = ts && value ? mem_try_realloc_array(NULL, count + 1, sizeof *out) : NULL;
    if (!out) {
        status = damaged(f, d, S_SAMPLE_TS, "is larger than the file can hold");
        goto fail;
    }
    MAREY_TRY(in_read(f, S_SAMPLE_TS, c->first_sample, count, ts, d));
    MAREY_TRY(in_read(f, S_SAMPLE_VALUE, c->first_sample, count, value, d));
    for (size_t i = 0; i < count; i++) {
        out[i] = (store_sample){ts[i], value[i]};
    }
    *samples = out;
    *n = count;
    out = NULL;
fail:
    free(ts);
    free(value);
    free(out);
    return status;
}
