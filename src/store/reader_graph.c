/* The computational graph, read whole and checked before anyone sees it. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "graph/tensors.h"
#include "store/reader.h"

bool store_has_graph(store_file *f)
{
    h5_enter();
    bool has = f->in[S_GRAPH_FACTS].id > 0 || H5Lexists(f->file, "/graph", H5P_DEFAULT) > 0;
    h5_leave();
    return has;
}

/* Ends a dataset: what HDF5 keeps of it (chunks, up to 1 MiB) is not needed again. */
static void drop(store_file *f, schema_id id)
{
    h5_enter();
    if (f->in[id].id > 0) {
        (void)H5Dclose(f->in[id].id);
        f->in[id].id = 0;
    }
    h5_leave();
}

static marey_status load_column(store_file *f, schema_id id, uint64_t rows, void *to, size_t *n, diag *d)
{
    marey_status status = in_load(f, id, rows, to, n, d);
    drop(f, id);
    return status;
}

/* One column into its place. `rows`: as many as there must be; UINT64_MAX: as many as there are, into *n. */
typedef struct graph_column {
    schema_id id;
    void *to; /* of a pointer */
    uint64_t rows;
    size_t *n;
} graph_column;

static marey_status load(store_file *f, const graph_column *columns, size_t n, diag *d)
{
    marey_status status = MAREY_OK;
    for (size_t i = 0; i < n && status == MAREY_OK; i++) {
        status = load_column(f, columns[i].id, columns[i].rows, columns[i].to, columns[i].n, d);
    }
    return status;
}

#define LOAD(f, columns, d) load(f, columns, sizeof(columns) / sizeof(columns)[0], d)

/* ------------------------------------------------------------------ columns that look otherwise in memory */

enum { BATCH_ROWS = 65536 }; /* chunks are of 32768 at most */

/* Takes rows [first, first + n) of a column. @return NULL, or what is wrong with them */
typedef const char *(*take_rows)(void *ctx, const void *rows, size_t first, size_t n);

static marey_status load_by_rows(store_file *f, schema_id id, uint64_t rows, take_rows take, void *ctx, diag *d)
{
    uint64_t have = 0;
    marey_status status = in_rows(f, id, &have, d);
    if (status == MAREY_OK && have != rows) {
        status = damaged(f, d, id, "has another number of rows than its table");
    }
    void *batch = mem_alloc(BATCH_ROWS * sizeof(uint64_t));
    for (uint64_t first = 0; first < rows && status == MAREY_OK; first += BATCH_ROWS) {
        uint64_t n = rows - first < BATCH_ROWS ? rows - first : BATCH_ROWS;
        status = in_read(f, id, first, n, batch, d);
        const char *wrong = status == MAREY_OK ? take(ctx, batch, (size_t)first, (size_t)n) : NULL;
        status = wrong ? damaged(f, d, id, wrong) : status;
    }
    free(batch);
    drop(f, id);
    return status;
}

/* Where each string begins; there are no more than bytes of text. */
static const char *take_starts(void *ctx, const void *rows, size_t first, size_t n)
{
    graph *g = ctx;
    const uint64_t *start = rows;
    for (size_t i = 0; i < n; i++) {
        bool ends = start[i] <= g->n_text && (start[i] == 0 || g->text[start[i] - 1] == '\0');
        if (!ends || (first + i == 0 ? start[i] != 0 : start[i] <= g->string_at[first + i - 1])) {
            return "does not fit its strings";
        }
        g->string_at[first + i] = (uint32_t)start[i];
    }
    return NULL;
}

static marey_status load_strings(store_file *f, graph *g, diag *d)
{
    uint64_t n = 0;
    marey_status status = MAREY_OK;
    MAREY_TRY(load_column(f, S_GRAPH_STRING_BYTES, UINT64_MAX, &g->text, &g->n_text, d));
    if (g->n_text > UINT32_MAX) {
        return damaged(f, d, S_GRAPH_STRING_BYTES, "is larger than 4 GiB");
    }
    MAREY_TRY(in_rows(f, S_GRAPH_STRING_START, &n, d));
    if (n < 2 || n > (uint64_t)g->n_text + 1) {
        return damaged(f, d, S_GRAPH_STRING_START, "does not fit its strings");
    }
    g->string_at = mem_alloc((size_t)n * sizeof *g->string_at);
    MAREY_TRY(load_by_rows(f, S_GRAPH_STRING_START, n, take_starts, g, d));
    if (g->string_at[n - 1] != g->n_text) {
        return damaged(f, d, S_GRAPH_STRING_START, "does not fit its strings");
    }
    g->n_strings = (size_t)n - 1;
fail:
    return status;
}

/* A column of nodes that stays away while no node has a value. */
typedef struct sparse_column {
    void *rows;
    size_t n, size; /* bytes of a row */
    int none;       /* what fills the bytes of a row without a value */
} sparse_column;

static bool is_filled_with(const unsigned char *bytes, size_t n, int value)
{
    return n == 0 || (bytes[0] == value && memcmp(bytes, bytes + 1, n - 1) == 0);
}

static const char *take_sparse(void *ctx, const void *rows, size_t first, size_t n)
{
    sparse_column *c = ctx;
    if (!c->rows && is_filled_with(rows, n * c->size, c->none)) {
        return NULL;
    }
    if (!c->rows) {
        c->rows = mem_try_realloc_array(NULL, c->n, c->size);
        if (!c->rows) {
            return "is larger than the memory";
        }
        memset(c->rows, c->none, c->n * c->size);
    }
    memcpy((char *)c->rows + first * c->size, rows, n * c->size);
    return NULL;
}

static marey_status load_sparse(store_file *f, schema_id id, const graph *g, int none, void *to, diag *d)
{
    sparse_column c = {.n = g->n_nodes, .size = schema_type_size(SCHEMA[id].type), .none = none};
    marey_status status = load_by_rows(f, id, g->n_nodes, take_sparse, &c, d);
    memcpy(to, &c.rows, sizeof c.rows);
    return status;
}

static const char *take_slots(void *ctx, const void *rows, size_t first, size_t n)
{
    uint16_t *slots = ctx;
    const uint32_t *wide = rows;
    for (size_t i = 0; i < n; i++) {
        slots[first + i] = (uint16_t)(wide[i] < UINT16_MAX ? wide[i] : UINT16_MAX);
    }
    return NULL;
}

static marey_status load_slots(store_file *f, schema_id id, size_t n, uint16_t **slots, diag *d)
{
    *slots = mem_try_realloc_array(NULL, n + 1, sizeof **slots);
    return *slots ? load_by_rows(f, id, n, take_slots, *slots, d) : damaged(f, d, id, "is larger than the memory");
}

static const char *take_stages(void *ctx, const void *rows, size_t first, size_t n)
{
    graph *g = ctx;
    const int32_t *wide = rows;
    for (size_t i = 0; i < n; i++) {
        int32_t place = wide[i] < -1 || wide[i] > INT16_MAX ? -1 : wide[i];
        if (place >= 0 && !g->node_stage) {
            g->node_stage = mem_try_realloc_array(NULL, g->n_nodes, sizeof *g->node_stage);
            if (!g->node_stage) {
                return "is larger than the memory";
            }
            memset(g->node_stage, 0xFF, g->n_nodes * sizeof *g->node_stage);
        }
        if (g->node_stage) {
            g->node_stage[first + i] = (int16_t)place;
        }
    }
    return NULL;
}

/* ------------------------------------------------------------------ tables */

static marey_status load_nodes(store_file *f, graph *g, diag *d)
{
    marey_status status = load_column(f, S_GRAPH_NODE_NAME, UINT64_MAX, &g->node_name, &g->n_nodes, d);
    if (status != MAREY_OK) {
        return status;
    }
    const graph_column columns[] = {
        {S_GRAPH_NODE_OP, &g->node_op, g->n_nodes, NULL},       {S_GRAPH_NODE_SCOPE, &g->node_scope, g->n_nodes, NULL},
        {S_GRAPH_NODE_ROLE, &g->node_role, g->n_nodes, NULL},   {S_GRAPH_NODE_PHASE, &g->node_phase, g->n_nodes, NULL},
        {S_GRAPH_NODE_CLASS, &g->node_class, g->n_nodes, NULL}, {S_GRAPH_NODE_FLAGS, &g->node_flags, g->n_nodes, NULL},
    };
    MAREY_TRY(LOAD(f, columns, d));
    MAREY_TRY(load_sparse(f, S_GRAPH_NODE_BODY, g, 0xFF, &g->node_body, d));
    MAREY_TRY(load_sparse(f, S_GRAPH_NODE_SHARDING, g, 0, &g->node_sharding, d));
    MAREY_TRY(load_sparse(f, S_GRAPH_NODE_KEY, g, 0xFF, &g->node_key, d));
    MAREY_TRY(load_by_rows(f, S_GRAPH_NODE_STAGE, g->n_nodes, take_stages, g, d));
fail:
    return status;
}

/* Outputs: two columns of the file are one of places in a table. */
typedef struct out_columns {
    graph *g;
    tensor_table tensors;
} out_columns;

static const char *take_bytes(void *ctx, const void *rows, size_t first, size_t n)
{
    out_columns *o = ctx;
    const uint64_t *bytes = rows;
    for (size_t i = first; i < first + n; i++) {
        o->g->out_tensor[i] = tensor_table_put(&o->tensors, o->g->out_tensor[i], bytes[i - first]);
    }
    return NULL;
}

static marey_status load_outs(store_file *f, graph *g, diag *d)
{
    out_columns o = {.g = g};
    marey_status status = MAREY_OK;
    MAREY_TRY(load_column(f, S_GRAPH_NODE_OUT, g->n_nodes + 1, &g->out_first, NULL, d));
    MAREY_TRY(load_column(f, S_GRAPH_OUT_TYPE, UINT64_MAX, &g->out_tensor, &g->n_outs, d));
    MAREY_TRY(load_by_rows(f, S_GRAPH_OUT_BYTES, g->n_outs, take_bytes, &o, d));
    g->tensors = tensor_table_take(&o.tensors, &g->n_tensors);
fail:
    tensor_table_deinit(&o.tensors);
    return status;
}

static marey_status load_attributes(store_file *f, graph *g, diag *d)
{
    marey_status status = load_column(f, S_GRAPH_ATTR_KEY, UINT64_MAX, &g->attr_key, &g->n_attrs, d);
    if (status == MAREY_OK && g->n_attrs == 0) {
        return MAREY_OK;
    }
    MAREY_TRY(status);
    MAREY_TRY(load_column(f, S_GRAPH_ATTR_VALUE, g->n_attrs, &g->attr_value, NULL, d));
    MAREY_TRY(load_column(f, S_GRAPH_NODE_ATTR, g->n_nodes + 1, &g->attr_first, NULL, d));
fail:
    return status;
}

static marey_status load_edges(store_file *f, graph *g, diag *d)
{
    marey_status status = load_column(f, S_GRAPH_EDGE_FROM, UINT64_MAX, &g->edge_from, &g->n_edges, d);
    if (status != MAREY_OK) {
        return status;
    }
    const graph_column columns[] = {
        {S_GRAPH_EDGE_TO, &g->edge_to, g->n_edges, NULL},
        {S_GRAPH_EDGE_FLAGS, &g->edge_flags, g->n_edges, NULL},
    };
    MAREY_TRY(LOAD(f, columns, d));
    MAREY_TRY(load_slots(f, S_GRAPH_EDGE_FROM_SLOT, g->n_edges, &g->edge_from_slot, d));
    MAREY_TRY(load_slots(f, S_GRAPH_EDGE_TO_SLOT, g->n_edges, &g->edge_to_slot, d));
fail:
    return status;
}

static marey_status load_stages(store_file *f, graph *g, diag *d)
{
    int32_t *stage = NULL;
    uint32_t *first = NULL;
    size_t n = 0;
    marey_status status = load_column(f, S_GRAPH_STAGE_STAGE, UINT64_MAX, &stage, &n, d);
    MAREY_TRY(status);
    MAREY_TRY(load_column(f, S_GRAPH_STAGE_FIRST, n + 1, &first, NULL, d));
    MAREY_TRY(load_column(f, S_GRAPH_STAGE_RANKS, UINT64_MAX, &g->stage_ranks, &g->n_stage_ranks, d));
    g->stages = mem_calloc(n + 1, sizeof *g->stages);
    g->n_stages = n;
    for (size_t i = 0; i < n; i++) {
        if (first[i] > first[i + 1] || first[i + 1] > g->n_stage_ranks) {
            status = damaged(f, d, S_GRAPH_STAGE_FIRST, "does not fit the ranks");
            goto fail;
        }
        g->stages[i] = (graph_stage){stage[i], first[i], first[i + 1] - first[i]};
    }
fail:
    free(stage);
    free(first);
    return status;
}

static marey_status load_scopes(store_file *f, graph *g, diag *d)
{
    marey_status status = load_column(f, S_GRAPH_SCOPE_PARENT, UINT64_MAX, &g->scope_parent, &g->n_scopes, d);
    if (status != MAREY_OK) {
        return status;
    }
    const graph_column columns[] = {
        {S_GRAPH_SCOPE_NAME, &g->scope_name, g->n_scopes, NULL},
        {S_GRAPH_SCOPE_CLASS, &g->scope_class, g->n_scopes, NULL},
        {S_GRAPH_SCOPE_FLAGS, &g->scope_flags, g->n_scopes, NULL},
    };
    return LOAD(f, columns, d);
}

marey_status store_read_graph(store_file *f, graph *out, diag *d)
{
    *out = (graph){0};
    graph *g = out;
    uint32_t *facts = NULL;
    marey_status status = MAREY_OK;
    if (!store_has_graph(f)) {
        return diag_error(d, MAREY_FORMAT, f->path, DIAG_NO_OFFSET, "holds no computational graph");
    }
    mem_set_large_apart();
    MAREY_TRY(load_column(f, S_GRAPH_FACTS, 3, &facts, NULL, d));
    MAREY_TRY(load_strings(f, g, d));
    MAREY_TRY(load_nodes(f, g, d));
    MAREY_TRY(load_outs(f, g, d));
    MAREY_TRY(load_attributes(f, g, d));
    MAREY_TRY(load_edges(f, g, d));
    MAREY_TRY(load_scopes(f, g, d));
    MAREY_TRY(load_stages(f, g, d));
    g->format = facts[0];
    g->name = facts[1];
    g->producer = facts[2];
    const char *breach = graph_index(g) ? graph_check(g) : "the edges are out of order";
    if (breach) {
        status = diag_error(d, MAREY_FORMAT, f->path, DIAG_NO_OFFSET, "damaged: /graph: %s", breach);
    }
fail:
    free(facts);
    if (status != MAREY_OK) {
        graph_deinit(g);
    }
    (void)H5garbage_collect();
    mem_give_back();
    return status;
}
