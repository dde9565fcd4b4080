/* The computational graph: its columns as they are; what can be made from others is not written. */
#include <stdlib.h>

#include "base/mem.h"
#include "store/writer.h"

enum { WIDEN_BATCH = 4096 };

static marey_status put_slots(store_writer *w, schema_id id, const uint16_t *slots, size_t n)
{
    uint32_t wide[WIDEN_BATCH];
    marey_status status = MAREY_OK;
    for (size_t first = 0; first < n && status == MAREY_OK; first += WIDEN_BATCH) {
        size_t count = n - first < WIDEN_BATCH ? n - first : WIDEN_BATCH;
        for (size_t i = 0; i < count; i++) {
            wide[i] = slots[first + i];
        }
        status = out_append(w, id, wide, count);
    }
    return status;
}

static marey_status put_node_stages(store_writer *w, const graph *g)
{
    int32_t wide[WIDEN_BATCH];
    marey_status status = MAREY_OK;
    for (size_t first = 0; first < g->n_nodes && status == MAREY_OK; first += WIDEN_BATCH) {
        size_t count = g->n_nodes - first < WIDEN_BATCH ? g->n_nodes - first : WIDEN_BATCH;
        for (size_t i = 0; i < count; i++) {
            wide[i] = g->node_stage[first + i];
        }
        status = out_append(w, S_GRAPH_NODE_STAGE, wide, count);
    }
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
        {S_GRAPH_STRING_START, g->string_at, g->n_strings + 1},
        {S_GRAPH_NODE_NAME, g->node_name, g->n_nodes},
        {S_GRAPH_NODE_OP, g->node_op, g->n_nodes},
        {S_GRAPH_NODE_SCOPE, g->node_scope, g->n_nodes},
        {S_GRAPH_NODE_BODY, g->node_body, g->n_nodes},
        {S_GRAPH_NODE_SHARDING, g->node_sharding, g->n_nodes},
        {S_GRAPH_NODE_KEY, g->node_key, g->n_nodes},
        {S_GRAPH_NODE_ROLE, g->node_role, g->n_nodes},
        {S_GRAPH_NODE_PHASE, g->node_phase, g->n_nodes},
        {S_GRAPH_NODE_CLASS, g->node_class, g->n_nodes},
        {S_GRAPH_NODE_FLAGS, g->node_flags, g->n_nodes},
        {S_GRAPH_NODE_OUT, g->out_first, g->n_nodes + 1},
        {S_GRAPH_NODE_ATTR, g->attr_first, g->n_nodes + 1},
        {S_GRAPH_OUT_TYPE, g->out_type, g->n_outs},
        {S_GRAPH_OUT_BYTES, g->out_bytes, g->n_outs},
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
    MAREY_TRY(put_node_stages(w, g));
    MAREY_TRY(put_slots(w, S_GRAPH_EDGE_FROM_SLOT, g->edge_from_slot, g->n_edges));
    MAREY_TRY(put_slots(w, S_GRAPH_EDGE_TO_SLOT, g->edge_to_slot, g->n_edges));
    MAREY_TRY(put_stages(w, g));
    return MAREY_OK;
fail:
    return writer_report(w, status, d);
}
