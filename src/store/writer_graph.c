/* The computational graph: its columns as they are; what can be made from others is not written. */
#include <stdlib.h>

#include "base/mem.h"
#include "store/writer.h"

enum { BATCH_ROWS = 4096 };

/* Rows of a column that looks otherwise in memory, made batch by batch: [first, first + n) into `rows`. */
typedef void (*make_rows)(const graph *g, void *rows, size_t first, size_t n);

static marey_status put_made(store_writer *w, schema_id id, const graph *g, size_t n, make_rows make)
{
    uint64_t rows[BATCH_ROWS];
    marey_status status = MAREY_OK;
    for (size_t first = 0; first < n && status == MAREY_OK; first += BATCH_ROWS) {
        size_t count = n - first < BATCH_ROWS ? n - first : BATCH_ROWS;
        make(g, rows, first, count);
        status = out_append(w, id, rows, count);
    }
    return status;
}

/* make_NAME: rows of a type, each of an expression in i. */
#define MAKE(name, type, expression)                                                                                   \
    static void make_##name(const graph *g, void *rows, size_t first, size_t n)                                        \
    {                                                                                                                  \
        type *to = rows;                                                                                               \
        for (size_t i = first; i < first + n; i++) {                                                                   \
            to[i - first] = (type)(expression);                                                                        \
        }                                                                                                              \
    }

MAKE(string_starts, uint64_t, g->string_at[i])
MAKE(bodies, uint32_t, graph_body_of(g, (uint32_t)i))
MAKE(shardings, uint32_t, graph_sharding_of(g, (uint32_t)i))
MAKE(keys, int64_t, graph_key_of(g, (uint32_t)i))
MAKE(node_stages, int32_t, graph_stage_of(g, (uint32_t)i))
MAKE(attributes, uint32_t, g->attr_first ? g->attr_first[i] : 0)
MAKE(out_types, uint32_t, graph_out_type(g, (uint32_t)i))
MAKE(out_bytes, uint64_t, graph_out_bytes(g, (uint32_t)i))
MAKE(from_slots, uint32_t, g->edge_from_slot[i])
MAKE(to_slots, uint32_t, g->edge_to_slot[i])

static marey_status put_made_columns(store_writer *w, const graph *g)
{
    marey_status status = MAREY_OK;
    MAREY_TRY(put_made(w, S_GRAPH_STRING_START, g, g->n_strings + 1, make_string_starts));
    MAREY_TRY(put_made(w, S_GRAPH_NODE_BODY, g, g->n_nodes, make_bodies));
    MAREY_TRY(put_made(w, S_GRAPH_NODE_SHARDING, g, g->n_nodes, make_shardings));
    MAREY_TRY(put_made(w, S_GRAPH_NODE_KEY, g, g->n_nodes, make_keys));
    MAREY_TRY(put_made(w, S_GRAPH_NODE_STAGE, g, g->n_nodes, make_node_stages));
    MAREY_TRY(put_made(w, S_GRAPH_NODE_ATTR, g, g->n_nodes + 1, make_attributes));
    MAREY_TRY(put_made(w, S_GRAPH_OUT_TYPE, g, g->n_outs, make_out_types));
    MAREY_TRY(put_made(w, S_GRAPH_OUT_BYTES, g, g->n_outs, make_out_bytes));
    MAREY_TRY(put_made(w, S_GRAPH_EDGE_FROM_SLOT, g, g->n_edges, make_from_slots));
    MAREY_TRY(put_made(w, S_GRAPH_EDGE_TO_SLOT, g, g->n_edges, make_to_slots));
fail:
    return status;
}

static marey_status put_nodes(store_writer *w, const graph *g)
{
    const struct {
        schema_id id;
        const void *column;
        size_t n;
    } columns[] = {
        {S_GRAPH_STRING_BYTES, g->text, g->n_text},
        {S_GRAPH_NODE_NAME, g->node_name, g->n_nodes},
        {S_GRAPH_NODE_OP, g->node_op, g->n_nodes},
        {S_GRAPH_NODE_SCOPE, g->node_scope, g->n_nodes},
        {S_GRAPH_NODE_ROLE, g->node_role, g->n_nodes},
        {S_GRAPH_NODE_PHASE, g->node_phase, g->n_nodes},
        {S_GRAPH_NODE_CLASS, g->node_class, g->n_nodes},
        {S_GRAPH_NODE_FLAGS, g->node_flags, g->n_nodes},
        {S_GRAPH_NODE_OUT, g->out_first, g->n_nodes + 1},
        {S_GRAPH_ATTR_KEY, g->attr_key, g->n_attrs},
        {S_GRAPH_ATTR_VALUE, g->attr_value, g->n_attrs},
        {S_GRAPH_EDGE_FROM, g->edge_from, g->n_edges},
        {S_GRAPH_EDGE_TO, g->edge_to, g->n_edges},
        {S_GRAPH_EDGE_FLAGS, g->edge_flags, g->n_edges},
        {S_GRAPH_SCOPE_PARENT, g->scope_parent, g->n_scopes},
        {S_GRAPH_SCOPE_NAME, g->scope_name, g->n_scopes},
        {S_GRAPH_SCOPE_CLASS, g->scope_class, g->n_scopes},
        {S_GRAPH_SCOPE_FLAGS, g->scope_flags, g->n_scopes},
        {S_GRAPH_STAGE_RANKS, g->stage_ranks, g->n_stage_ranks},
    };
    marey_status status = MAREY_OK;
    for (size_t i = 0; i < sizeof columns / sizeof columns[0] && status == MAREY_OK; i++) {
        status = out_append(w, columns[i].id, columns[i].column, columns[i].n);
    }
    return status;
}

static marey_status put_stages(store_writer *w, const graph *g)
{
    uint32_t end = (uint32_t)g->n_stage_ranks;
    marey_status status = MAREY_OK;
    for (size_t i = 0; i < g->n_stages; i++) {
        MAREY_TRY(out_append(w, S_GRAPH_STAGE_STAGE, &g->stages[i].stage, 1));
        MAREY_TRY(out_append(w, S_GRAPH_STAGE_FIRST, &g->stages[i].first_rank, 1));
    }
    MAREY_TRY(out_append(w, S_GRAPH_STAGE_FIRST, &end, 1));
fail:
    return status;
}

marey_status store_writer_graph(store_writer *w, const graph *g, diag *d)
{
    const char *breach = graph_check(g);
    if (breach) {
        return diag_error(d, MAREY_ARG, w->path, DIAG_NO_OFFSET, "the graph is unsound: %s", breach);
    }
    if (w->has_graph) {
        return diag_error(d, MAREY_STATE, w->path, DIAG_NO_OFFSET, "a graph was written already");
    }
    w->has_graph = true;
    const uint32_t facts[3] = {g->format, g->name, g->producer};
    marey_status status = MAREY_OK;
    MAREY_TRY(out_append(w, S_GRAPH_FACTS, facts, 3));
    MAREY_TRY(put_nodes(w, g));
    MAREY_TRY(put_made_columns(w, g));
    MAREY_TRY(put_stages(w, g));
    return MAREY_OK;
fail:
    return writer_report(w, status, d);
}
