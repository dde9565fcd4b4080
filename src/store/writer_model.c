/* The model of the run, table by table. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "store/model_columns.h"
#include "store/writer.h"

_Static_assert(sizeof(trace_class) == sizeof(int) && sizeof(trace_kind) == sizeof(int) &&
                   sizeof(marey_loss) == sizeof(int),
               "enums are read and written as int");

static void put_field(store_writer *w, const model_column *c, const char *row, void *out)
{
    const char *field = row + c->offset;
    uint32_t id = 0;
    int number = 0;
    switch (c->kind) {
    case FIELD_NUMBER:
        memcpy(out, field, schema_type_size(SCHEMA[c->id].type));
        break;
    case FIELD_TEXT: {
        const char *text;
        memcpy((void *)&text, field, sizeof text);
        id = writer_string(w, text ? text : "");
        memcpy(out, &id, sizeof id);
        break;
    }
    case FIELD_ENUM:
        memcpy(&number, field, sizeof number);
        *(uint8_t *)out = (uint8_t)number;
        break;
    case FIELD_LOSS:
        memcpy(&number, field, sizeof number);
        id = writer_string(w, marey_loss_code((marey_loss)number));
        memcpy(out, &id, sizeof id);
        break;
    }
}

static marey_status put_table(store_writer *w, const trace_model *m, const model_table *t)
{
    const char *rows;
    size_t n;
    memcpy((void *)&rows, (const char *)m + t->items, sizeof rows);
    memcpy(&n, (const char *)m + t->n, sizeof n);
    char *buffer = mem_alloc((n + 1) * sizeof(uint64_t));
    marey_status status = MAREY_OK;
    for (size_t k = 0; k < t->n_columns && status == MAREY_OK; k++) {
        const model_column *c = &t->columns[k];
        size_t size = schema_type_size(SCHEMA[c->id].type);
        for (size_t i = 0; i < n; i++) {
            put_field(w, c, rows + i * t->row_bytes, buffer + i * size);
        }
        status = out_append(w, c->id, buffer, n);
    }
    free(buffer);
    return status;
}

static marey_status put_members(store_writer *w, const trace_model *m)
{
    uint64_t first = 0;
    marey_status status = MAREY_OK;
    for (size_t i = 0; i < m->n_groups && status == MAREY_OK; i++) {
        const trace_group *g = &m->groups[i];
        status = out_append(w, S_COMM_FIRST, &first, 1);
        if (status == MAREY_OK) {
            status = out_append(w, S_MEMBER_RANK, g->ranks, g->n_ranks);
        }
        first += g->n_ranks;
    }
    return status;
}

static marey_status put_classes(store_writer *w)
{
    uint32_t ids[CLASS_COUNT];
    for (unsigned c = 0; c < CLASS_COUNT; c++) {
        ids[c] = writer_string(w, trace_class_name((trace_class)c));
    }
    return out_append(w, S_CLASS_NAME, ids, CLASS_COUNT);
}

static bool put_scalars(store_writer *w, const trace_model *m)
{
    hid_t g = H5Gopen2(w->file, "/model", H5P_DEFAULT);
    bool ok = g >= 0 && h5_put_text(g, "name", m->name ? m->name : "") &&
              h5_put_i64(g, "start_epoch_ns", m->start_epoch_ns) && h5_put_i64(g, "duration_ns", m->duration_ns) &&
              h5_put_i64(g, "clock_pivot_ns", m->clock_pivot_ns) && h5_put_i64(g, "view_start_ns", m->view_start_ns) &&
              h5_put_i64(g, "view_end_ns", m->view_end_ns) && h5_put_i64(g, "n_events", (int64_t)m->n_events) &&
              h5_put_i64(g, "n_links", (int64_t)m->n_links) &&
              h5_put_i64(g, "n_collectives", (int64_t)m->n_collectives) &&
              h5_put_i64(g, "n_samples", (int64_t)m->n_samples) && h5_put_i64(g, "n_metrics", (int64_t)m->n_metrics);
    if (g >= 0) {
        (void)H5Gclose(g);
    }
    return ok;
}

marey_status writer_put_model(store_writer *w, const trace_model *m)
{
    marey_status status = put_classes(w);
    for (size_t i = 0; i < N_MODEL_TABLES && status == MAREY_OK; i++) {
        status = put_table(w, m, &MODEL_TABLES[i]);
    }
    if (status == MAREY_OK) {
        status = put_members(w, m);
    }
    return status;
}

marey_status writer_put_scalars(store_writer *w, const trace_model *m)
{
    h5_enter();
    bool ok = put_scalars(w, m);
    h5_leave();
    return ok ? MAREY_OK : writer_fail(w, MAREY_IO, "the model's attributes cannot be written");
}
