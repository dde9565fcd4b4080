/* The model of the run, table by table. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "store/model_columns.h"
#include "store/reader.h"

static marey_status load_strings(store_file *f, diag *d)
{
    size_t n_bytes = 0;
    size_t n_start = 0;
    marey_status status = in_load(f, S_STRING_BYTES, UINT64_MAX, &f->strings, &n_bytes, d);
    if (status == MAREY_OK) {
        status = in_load(f, S_STRING_START, UINT64_MAX, &f->string_start, &n_start, d);
    }
    if (status != MAREY_OK) {
        return status;
    }
    bool ok = n_start > 0 && f->string_start[0] == 0 && f->string_start[n_start - 1] <= n_bytes;
    for (size_t i = 0; ok && i + 1 < n_start; i++) {
        uint64_t end = f->string_start[i + 1];
        ok = f->string_start[i] < end && end <= n_bytes && f->strings[end - 1] == '\0';
    }
    if (!ok) {
        return damaged(f, d, S_STRING_START, "does not fit the strings");
    }
    f->n_strings = n_start - 1;
    return MAREY_OK;
}

static bool take_loss(const store_file *f, uint32_t id, char *field)
{
    for (int code = 0; code < MAREY_LOSS_COUNT; code++) {
        if (strcmp(f->strings + f->string_start[id], marey_loss_code((marey_loss)code)) == 0) {
            memcpy(field, &code, sizeof code);
            return true;
        }
    }
    return false;
}

static bool take_field(const store_file *f, const model_column *c, const char *in, char *row)
{
    char *field = row + c->offset;
    uint32_t id;
    int number;
    switch (c->kind) {
    case FIELD_NUMBER:
        memcpy(field, in, schema_type_size(SCHEMA[c->id].type));
        return true;
    case FIELD_ENUM:
        number = *(const uint8_t *)in;
        memcpy(field, &number, sizeof number);
        return number < c->limit;
    case FIELD_TEXT:
    case FIELD_LOSS:
        break;
    }
    memcpy(&id, in, sizeof id);
    if (id >= f->n_strings) {
        return false;
    }
    if (c->kind == FIELD_LOSS) {
        return take_loss(f, id, field);
    }
    const char *text = f->strings + f->string_start[id];
    memcpy(field, (const void *)&text, sizeof text);
    return true;
}

static marey_status load_column(store_file *f, const model_column *c, char *rows, size_t n, size_t row_bytes, diag *d)
{
    char *column = NULL;
    marey_status status = in_load(f, c->id, n, &column, NULL, d);
    size_t size = schema_type_size(SCHEMA[c->id].type);
    for (size_t i = 0; status == MAREY_OK && i < n; i++) {
        if (!take_field(f, c, column + i * size, rows + i * row_bytes)) {
            status = damaged(f, d, c->id, "holds a value out of range");
        }
    }
    free(column);
    return status;
}

static marey_status load_table(store_file *f, const model_table *t, diag *d)
{
    uint64_t n = 0;
    marey_status status = in_rows(f, t->columns[0].id, &n, d);
    if (status != MAREY_OK) {
        return status;
    }
    /* The first column says how many rows the file could hold. */
    void *probe = in_alloc(f, t->columns[0].id, n);
    free(probe);
    char *rows = probe ? mem_try_realloc_array(NULL, (size_t)n + 1, t->row_bytes) : NULL;
    if (!rows) {
        return damaged(f, d, t->columns[0].id, "is larger than the file can hold");
    }
    memset(rows, 0, ((size_t)n + 1) * t->row_bytes);
    size_t count = (size_t)n;
    memcpy((char *)&f->model + t->items, (void *)&rows, sizeof rows);
    memcpy((char *)&f->model + t->n, &count, sizeof count);
    memcpy((char *)&f->model + t->cap, &count, sizeof count);
    for (size_t k = 0; k < t->n_columns && status == MAREY_OK; k++) {
        status = load_column(f, &t->columns[k], rows, count, t->row_bytes, d);
    }
    return status;
}

static marey_status load_members(store_file *f, diag *d)
{
    size_t n = 0;
    trace_model *m = &f->model;
    marey_status status = in_load(f, S_MEMBER_RANK, UINT64_MAX, &f->members, &n, d);
    if (status == MAREY_OK) {
        status = in_load(f, S_COMM_FIRST, m->n_groups, &f->comm_first, NULL, d);
    }
    for (size_t i = 0; status == MAREY_OK && i < m->n_groups; i++) {
        trace_group *g = &m->groups[i];
        if (f->comm_first[i] > n || g->n_ranks > n - f->comm_first[i]) {
            status = damaged(f, d, S_COMM_FIRST, "points behind /model/members");
        } else {
            g->ranks = f->members + f->comm_first[i];
        }
    }
    return status;
}

static bool get_u64(hid_t g, const char *name, uint64_t *out)
{
    int64_t v = 0;
    bool ok = h5_get_i64(g, name, &v) && v >= 0;
    *out = (uint64_t)v;
    return ok;
}

static marey_status load_scalars(store_file *f, diag *d)
{
    trace_model *m = &f->model;
    char name[4096];
    h5_enter();
    hid_t g = H5Gopen2(f->file, "/model", H5P_DEFAULT);
    bool ok = g >= 0 && h5_get_text(g, "name", name, sizeof name) &&
              h5_get_i64(g, "start_epoch_ns", &m->start_epoch_ns) && h5_get_i64(g, "duration_ns", &m->duration_ns) &&
              h5_get_i64(g, "view_start_ns", &m->view_start_ns) && h5_get_i64(g, "view_end_ns", &m->view_end_ns) &&
              get_u64(g, "n_events", &m->n_events) && get_u64(g, "n_links", &m->n_links) &&
              get_u64(g, "n_collectives", &m->n_collectives) && get_u64(g, "n_samples", &m->n_samples);
    if (ok && !h5_get_i64(g, "clock_pivot_ns", &m->clock_pivot_ns)) {
        m->clock_pivot_ns = 0; /* a file from before clocks were aligned */
    }
    if (ok && !get_u64(g, "n_metrics", &m->n_metrics)) {
        m->n_metrics = 0; /* a file from before metrics were kept */
    }
    marey_status status = ok ? MAREY_OK : h5_fail(d, MAREY_FORMAT, f->path, "damaged: /model lacks an attribute");
    if (g >= 0) {
        (void)H5Gclose(g);
    }
    h5_leave();
    if (ok) {
        m->name = arena_strndup(&m->mem, name, strlen(name));
    }
    return status;
}

marey_status reader_load_model(store_file *f, diag *d)
{
    marey_status status = MAREY_OK;
    MAREY_TRY(load_strings(f, d));
    MAREY_TRY(load_scalars(f, d));
    for (size_t i = 0; i < N_MODEL_TABLES; i++) {
        MAREY_TRY(load_table(f, &MODEL_TABLES[i], d));
    }
    MAREY_TRY(load_members(f, d));
    const char *wrong = trace_model_check(&f->model);
    if (wrong) {
        return diag_error(d, MAREY_FORMAT, f->path, DIAG_NO_OFFSET, "damaged: /model: %s", wrong);
    }
fail:
    return status;
}
