/* The model of the run, table by table. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "store/model_columns.h"
#include "store/writer.h"

_Static_assert(sizeof(trace_class) == sizeof(int) && sizeof(trace_kind) == sizeof(int) &&
                   sizeof(marey_loss) == sizeof(int),
               "enums are read and written as int");

/* With `words` held. */
static uint32_t put_word(store_writer *w, const char *s)
{
    return intern_put(&w->strings, s, strlen(s));
}

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
        id = put_word(w, text ? text : "");
        memcpy(out, &id, sizeof id);
        break;
    }
    case FIELD_ENUM:
        memcpy(&number, field, sizeof number);
        *(uint8_t *)out = (uint8_t)number;
        break;
    case FIELD_LOSS:
        memcpy(&number, field, sizeof number);
        id = put_word(w, marey_loss_code((marey_loss)number));
        memcpy(out, &id, sizeof id);
        break;
    }
}

/* Texts lie all over the memory, and were last looked at long before. */
static void fetch_text(const model_column *c, const char *row)
{
    if (c->kind == FIELD_TEXT) {
        const char *text;
        memcpy((void *)&text, row + c->offset, sizeof text);
        __builtin_prefetch(text);
    }
}

static marey_status put_table(store_writer *w, const trace_model *m, const model_table *t)
{
    enum { AHEAD = 8 };
    const char *rows;
    size_t n;
    memcpy((void *)&rows, (const char *)m + t->items, sizeof rows);
    memcpy(&n, (const char *)m + t->n, sizeof n);
    char *buffer = mem_alloc((n + 1) * sizeof(uint64_t));
    marey_status status = MAREY_OK;
    for (size_t k = 0; k < t->n_columns && status == MAREY_OK; k++) {
        const model_column *c = &t->columns[k];
        size_t size = schema_type_size(SCHEMA[c->id].type);
        (void)pthread_mutex_lock(&w->words);
        for (size_t i = 0; i < n; i++) {
            fetch_text(c, rows + (i + AHEAD < n ? i + AHEAD : i) * t->row_bytes);
            put_field(w, c, rows + i * t->row_bytes, buffer + i * size);
        }
        (void)pthread_mutex_unlock(&w->words);
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

marey_status writer_put_model(store_writer *w, const trace_model *m)
{
    (void)pthread_mutex_lock(&w->words);
    intern_reserve(&w->strings, w->strings.n + m->n_names); /* most texts are names */
    (void)pthread_mutex_unlock(&w->words);
    marey_status status = put_classes(w);
    for (size_t i = 0; i < N_MODEL_TABLES && status == MAREY_OK; i++) {
        status = put_table(w, m, &MODEL_TABLES[i]);
    }
    if (status == MAREY_OK) {
        status = put_members(w, m);
    }
    return status;
}

size_t writer_scalars(const trace_model *m, hdf_attribute out[WRITER_SCALARS])
{
    const hdf_attribute all[] = {{"name", m->name ? m->name : "", 0},
                                 {"start_epoch_ns", NULL, m->start_epoch_ns},
                                 {"duration_ns", NULL, m->duration_ns},
                                 {"clock_pivot_ns", NULL, m->clock_pivot_ns},
                                 {"view_start_ns", NULL, m->view_start_ns},
                                 {"view_end_ns", NULL, m->view_end_ns},
                                 {"n_events", NULL, (int64_t)m->n_events},
                                 {"n_links", NULL, (int64_t)m->n_links},
                                 {"n_collectives", NULL, (int64_t)m->n_collectives},
                                 {"n_samples", NULL, (int64_t)m->n_samples},
                                 {"n_metrics", NULL, (int64_t)m->n_metrics}};
    memcpy(out, all, sizeof all);
    return sizeof all / sizeof all[0];
}
