/* The computational graph, read whole and checked before anyone sees it. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "store/reader.h"

bool store_has_graph(store_file *f)
{
    h5_enter();
    bool has = f->in[S_GRAPH_FACTS].id > 0 || H5Lexists(f->file, "/graph", H5P_DEFAULT) > 0;
    h5_leave();
    return has;
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
        status = in_load(f, columns[i].id, columns[i].rows, columns[i].to, columns[i].n, d);
    }
    return status;
}

#define LOAD(f, columns, d) load(f, columns, sizeof(columns) / sizeof(columns)[0], d)

static marey_status load_strings(store_file *f, graph *g, diag *d)
{
    size_t n_start = 0;
    const graph_column columns[] = {
        {S_GRAPH_STRING_BYTES, &g->text, UINT64_MAX, &g->n_text},
        {S_GRAPH_STRING_START, &g->string_at, UINT64_MAX, &n_start},
    };
    marey_status status = LOAD(f, columns, d);
    if (status == MAREY_OK && (n_start < 2 || g->string_at[n_start - 1] != g->n_text)) {
        return damaged(f, d, S_GRAPH_STRING_START, "does not fit its strings");
    }
    for (size_t i = 1; status == MAREY_OK && i < n_start; i++) {
        uint64_t end = g->string_at[i];
        if (end <= g->string_at[i - 1] || end > g->n_text || g->text[end - 1] != '\0') {
            return damaged(f, d, S_GRAPH_STRING_START, "does not fit its strings");
        }
    }
    g->n_strings = status == MAREY_OK ? n_start - 1 : 0;
    return status;
}

static marey_status load_nodes(store_file *f, graph *g, diag *d)
{
    marey_status status = in_load(f, S_GRAPH_NODE_NAME, UINT64_MAX, &g->node_name, &g->n_nodes, d);
    if (status != MAREY_OK) {
        return status;
    }
    const graph_column columns[] = {
        {S_GRAPH_NODE_OP, &g->node_op, g->n_nodes, NULL},
        {S_GRAPH_NODE_SCOPE, &g->node_scope, g->n_nodes, NULL},
        {S_GRAPH_NODE_BODY, &g->node_body, g->n_nodes, NULL},
        {S_GRAPH_NODE_SHARDING, &g->node_sharding, g->n_nodes, NULL},
        {S_GRAPH_NODE_KEY, &g->node_key, g->n_nodes, NULL},
        {S_GRAPH_NODE_ROLE, &g->node_role, g->n_nodes, NULL},
        {S_GRAPH_NODE_PHASE, &g->node_phase, g->n_nodes, NULL},
        {S_GRAPH_NODE_CLASS, &g->node_class, g->n_nodes, NULL},
        {S_GRAPH_NODE_FLAGS, &g->node_flags, g->n_nodes, NULL},
        {S_GRAPH_NODE_OUT, &g->out_first, g->n_nodes + 1, NULL},
        {S_GRAPH_NODE_ATTR, &g->attr_first, g->n_nodes + 1, NULL},
        {S_GRAPH_OUT_TYPE, &g->out_type, UINT64_MAX, &g->n_outs},
        {S_GRAPH_OUT_BYTES, &g->out_bytes, UINT64_MAX, NULL},
        {S_GRAPH_ATTR_KEY, &g->attr_key, UINT64_MAX, &g->n_attrs},
        {S_GRAPH_ATTR_VALUE, &g->attr_value, UINT64_MAX, NULL},
    };
    status = LOAD(f, columns, d);
    uint64_t n = 0;
    if (status == MAREY_OK && (in_rows(f, S_GRAPH_OUT_BYTES, &n, d) != MAREY_OK || n != g->n_outs)) {
        return damaged(f, d, S_GRAPH_OUT_BYTES, "has another number of rows than its table");
    }
    if (status == MAREY_OK && (in_rows(f, S_GRAPH_ATTR_VALUE, &n, d) != MAREY_OK || n != g->n_attrs)) {
        return damaged(f, d, S_GRAPH_ATTR_VALUE, "has another number of rows than its table");
    }
    return status;
}

/* 32-bit columns of the file that the model keeps in 16 bits. */
static marey_status load_narrow(store_file *f, schema_id id, size_t n, bool is_signed, void *out_pointer, diag *d)
{
    uint32_t *wide = NULL;
    marey_status status = in_load(f, id, n, &wide, NULL, d);
    if (status != MAREY_OK) {
        return status;
    }
    uint16_t *narrow = mem_try_realloc_array(NULL, n + 1, sizeof *narrow);
    for (size_t i = 0; narrow && i < n; i++) {
        int32_t v = (int32_t)wide[i];
        narrow[i] = is_signed              ? (uint16_t)(v < -1 || v > INT16_MAX ? -1 : v)
                    : wide[i] > UINT16_MAX ? UINT16_MAX
                                           : (uint16_t)wide[i];
    }
    free(wide);
    memcpy(out_pointer, &narrow, sizeof narrow);
    return narrow ? MAREY_OK : damaged(f, d, id, "is larger than the memory");
}

static marey_status load_edges(store_file *f, graph *g, diag *d)
{
    marey_status status = in_load(f, S_GRAPH_EDGE_FROM, UINT64_MAX, &g->edge_from, &g->n_edges, d);
    if (status != MAREY_OK) {
        return status;
    }
    const graph_column columns[] = {
        {S_GRAPH_EDGE_TO, &g->edge_to, g->n_edges, NULL},
        {S_GRAPH_EDGE_FLAGS, &g->edge_flags, g->n_edges, NULL},
    };
    MAREY_TRY(LOAD(f, columns, d));
    MAREY_TRY(load_narrow(f, S_GRAPH_EDGE_FROM_SLOT, g->n_edges, false, &g->edge_from_slot, d));
    MAREY_TRY(load_narrow(f, S_GRAPH_EDGE_TO_SLOT, g->n_edges, false, &g->edge_to_slot, d));
    MAREY_TRY(load_narrow(f, S_GRAPH_NODE_STAGE, g->n_nodes, true, &g->node_stage, d));
fail:
    return status;
}

static marey_status load_stages(store_file *f, graph *g, diag *d)
{
    int32_t *stage = NULL;
    uint32_t *first = NULL;
    size_t n = 0;
    marey_status status = in_load(f, S_GRAPH_STAGE_STAGE, UINT64_MAX, &stage, &n, d);
    MAREY_TRY(status);
    MAREY_TRY(in_load(f, S_GRAPH_STAGE_FIRST, n + 1, &first, NULL, d));
    MAREY_TRY(in_load(f, S_GRAPH_STAGE_RANKS, UINT64_MAX, &g->stage_ranks, &g->n_stage_ranks, d));
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
    marey_status status = in_load(f, S_GRAPH_SCOPE_PARENT, UINT64_MAX, &g->scope_parent, &g->n_scopes, d);
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
    MAREY_TRY(in_load(f, S_GRAPH_FACTS, 3, &facts, NULL, d));
    MAREY_TRY(load_strings(f, g, d));
    MAREY_TRY(load_nodes(f, g, d));
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
    return status;
}
