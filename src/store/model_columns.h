/*
 * How the tables of the model lie in memory: for each its array in trace_model and, per dataset, the field of a row.
 * The writer and the reader walk the same lists.
 */
#ifndef MAREY_STORE_MODEL_COLUMNS_H
#define MAREY_STORE_MODEL_COLUMNS_H

#include "store/schema.h"
#include "trace/model.h"

typedef enum field_kind {
    FIELD_NUMBER, /* of the dataset's own type */
    FIELD_TEXT,   /* const char *, a string id in the file */
    FIELD_ENUM,   /* int in memory, u8 in the file */
    FIELD_LOSS    /* marey_loss in memory, its word as a string id in the file */
} field_kind;

typedef struct model_column {
    schema_id id;
    size_t offset; /* in the row */
    field_kind kind;
    int limit; /* FIELD_ENUM: values are below */
} model_column;

typedef struct model_table {
    size_t items, n, cap; /* offsets of the array and its counts in trace_model */
    size_t row_bytes;
    const model_column *columns;
    size_t n_columns;
} model_table;

extern const model_table MODEL_TABLES[];
extern const size_t N_MODEL_TABLES;

#endif
