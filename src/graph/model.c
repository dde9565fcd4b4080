#include "graph/model.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "graph/scc.h"

void graph_deinit(graph *g)
{
    void *owned[] = {g->text,          g->string_at,  g->node_name,  g->node_op,        g->node_scope,   g->node_body,
                     g->node_sharding, g->node_key,   g->node_stage, g->node_role,      g->node_phase,   g->node_class,
                     g->node_flags,    g->out_first,  g->out_tensor, g->tensors,        g->attr_first,   g->attr_key,
                     g->attr_value,    g->edge_from,  g->edge_to,    g->edge_from_slot, g->edge_to_slot, g->edge_flags,
                     g->in_first,      g->from_first, g->from_edge,  g->scope_parent,   g->scope_name,   g->scope_class,
                     g->scope_flags,   g->stages,     g->stage_ranks};
    for (size_t i = 0; i < sizeof owned / sizeof owned[0]; i++) {
        free(owned[i]);
    }
    memset(g, 0, sizeof *g);
}

const char *graph_node_label(const graph *g, uint32_t node)
{
    const char *name = graph_string(g, g->node_name[node]);
    const char *slash = strrchr(name, '/');
    if (slash && slash[1]) {
        return slash + 1;
    }
    return name[0] ? name : graph_string(g, g->node_op[node]);
}

void graph_scope_path(const graph *g, uint32_t scope, strbuf *out)
{
    size_t depth = 0;
    for (uint32_t s = scope; s != 0; s = g->scope_parent[s]) {
        depth++;
    }
    uint32_t *chain = mem_alloc((depth + 1) * sizeof *chain);
    size_t n = depth;
    for (uint32_t s = scope; s != 0; s = g->scope_parent[s]) {
        chain[--n] = s;
    }
    for (size_t i = 0; i < depth; i++) {
        strbuf_puts(out, i ? "/" : "");
        strbuf_puts(out, graph_string(g, g->scope_name[chain[i]]));
    }
    free(chain);
}

const char *graph_attr(const graph *g, uint32_t node, const char *key)
{
    graph_rows rows = graph_attrs_of(g, node);
    for (uint32_t i = rows.first; i < rows.end; i++) {
        if (strcmp(graph_string(g, g->attr_key[i]), key) == 0) {
            return graph_string(g, g->attr_value[i]);
        }
    }
    return NULL;
}

/* The innermost lists of the text are the inputs: "((8,1),(1,4))" has two, "(8,1)" one. */
size_t graph_sharding(const graph *g, uint32_t node, unsigned slot, uint32_t *slices, size_t cap)
{
    const char *s = graph_string(g, graph_sharding_of(g, node));
    unsigned at = 0;
    size_t n = 0;
    bool filled = false; /* the list at hand holds a number */
    for (; *s && at <= slot; s++) {
        if (*s >= '0' && *s <= '9') {
            char *end;
            unsigned long v = strtoul(s, &end, 10);
            if (at == slot && n < cap) {
                slices[n++] = v > UINT32_MAX ? UINT32_MAX : (uint32_t)v;
            }
            filled = true;
            s = end - 1;
        } else if ((*s == ')' || *s == ']' || *s == '}') && (filled || s[-1] == '(' || s[-1] == '[')) {
            at++;
            filled = false;
        }
    }
    return n;
}

uint64_t graph_edge_bytes(const graph *g, uint32_t edge)
{
    uint32_t from = g->edge_from[edge];
    uint32_t out = g->out_first[from] + g->edge_from_slot[edge];
    return out < g->out_first[from + 1] && !(g->edge_flags[edge] & GRAPH_CONTROL) ? graph_out_bytes(g, out) : 0;
}

uint32_t graph_depth(const graph *g)
{
    uint32_t deepest = 0;
    uint32_t *depth = mem_calloc(g->n_scopes ? g->n_scopes : 1, sizeof *depth);
    for (size_t i = 1; i < g->n_scopes; i++) {
        depth[i] = depth[g->scope_parent[i]] + 1;
    }
    for (size_t i = 0; i < g->n_nodes; i++) {
        uint32_t d = depth[g->node_scope[i]];
        deepest = d > deepest ? d : deepest;
    }
    free(depth);
    return deepest;
}

size_t graph_cyclic_nodes(const graph *g)
{
    uint32_t *to = mem_alloc((g->n_edges + 1) * sizeof *to);
    for (size_t i = 0; i < g->n_edges; i++) {
        to[i] = g->edge_to[g->from_edge[i]];
    }
    uint32_t *component = mem_alloc((g->n_nodes + 1) * sizeof *component);
    size_t n = scc_components(g->n_nodes, g->from_first, to, component, NULL);
    uint32_t *size = mem_calloc(n + 1, sizeof *size);
    uint8_t *loop = mem_calloc(g->n_nodes + 1, 1);
    for (size_t i = 0; i < g->n_nodes; i++) {
        size[component[i]]++;
    }
    for (size_t i = 0; i < g->n_edges; i++) {
        loop[g->edge_from[i]] |= g->edge_from[i] == g->edge_to[i];
    }
    size_t cyclic = 0;
    for (size_t i = 0; i < g->n_nodes; i++) {
        cyclic += loop[i] || size[component[i]] > 1;
    }
    free(to);
    free(component);
    free(size);
    free(loop);
    return cyclic;
}

size_t graph_bytes(const graph *g, size_t *attributes)
{
    size_t attrs = g->n_attrs * 8 + (g->attr_first ? (g->n_nodes + 1) * 4 : 0);
    uint8_t *is_value = mem_calloc(g->n_strings + 1, 1); /* text that only attributes use */
    for (size_t i = 0; i < g->n_attrs; i++) {
        is_value[g->attr_key[i]] = is_value[g->attr_value[i]] = 1;
    }
    for (size_t i = 0; i < g->n_nodes; i++) {
        is_value[g->node_name[i]] = is_value[g->node_op[i]] = 0;
    }
    for (size_t i = 0; i < g->n_tensors; i++) {
        is_value[g->tensors[i].type] = 0;
    }
    for (size_t i = 0; i < g->n_strings; i++) {
        attrs += is_value[i] ? strlen(graph_string(g, (uint32_t)i)) + 5 : 0;
    }
    free(is_value);
    if (attributes) {
        *attributes = attrs;
    }
    size_t bytes = sizeof *g + g->n_text + g->n_strings * 4;
    bytes += g->n_nodes * (3 * 4 + 4) + (g->n_nodes + 1) * 12; /* columns; three indices */
    bytes += g->n_nodes * ((g->node_body ? 4U : 0U) + (g->node_sharding ? 4U : 0U) + (g->node_key ? 8U : 0U) +
                           (g->node_stage ? 2U : 0U) + (g->attr_first ? 4U : 0U));
    bytes += g->n_outs * 4 + g->n_tensors * sizeof *g->tensors + g->n_attrs * 8;
    bytes += g->n_edges * (4 + 4 + 2 + 2 + 1 + 4);
    bytes += g->n_scopes * 13 + g->n_stages * sizeof *g->stages + g->n_stage_ranks * 4;
    return bytes;
}
