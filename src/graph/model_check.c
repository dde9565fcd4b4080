/* graph_check(): the invariants of graph/model.h. */
#include "graph/model.h"

static const char *check_strings(const graph *g)
{
    if (g->n_strings == 0 || g->text[g->string_at[0]] != '\0') {
        return "string 0 is not the empty one";
    }
    for (size_t i = 0; i < g->n_strings; i++) {
        if (g->string_at[i] >= g->n_text ||
            (i && (g->string_at[i] <= g->string_at[i - 1] || g->text[g->string_at[i] - 1] != '\0'))) {
            return "a string does not begin behind the one before";
        }
    }
    if (g->text[g->n_text - 1] != '\0') {
        return "the last string has no end";
    }
    return g->format < g->n_strings && g->name < g->n_strings && g->producer < g->n_strings ? NULL
                                                                                            : "a fact is no string";
}

static const char *check_scopes(const graph *g)
{
    if (g->n_scopes == 0 || g->scope_parent[0] != 0) {
        return "scope 0 is not the root";
    }
    for (size_t i = 1; i < g->n_scopes; i++) {
        if (g->scope_parent[i] >= i) {
            return "a scope comes before its parent";
        }
        if (g->scope_name[i] >= g->n_strings || g->scope_class[i] >= g->n_strings) {
            return "a scope's name or class is no string";
        }
    }
    return NULL;
}

static const char *check_rows(const graph *g, const uint32_t *first, size_t n, const char *words)
{
    if (first[0] != 0 || first[g->n_nodes] != n) {
        return words;
    }
    for (size_t i = 0; i < g->n_nodes; i++) {
        if (first[i] > first[i + 1]) {
            return words;
        }
    }
    return NULL;
}

static const char *check_attributes(const graph *g)
{
    if (!g->attr_first) {
        return g->n_attrs == 0 ? NULL : "attributes have no index";
    }
    return check_rows(g, g->attr_first, g->n_attrs, "the index of attributes is wrong");
}

static const char *check_nodes(const graph *g)
{
    size_t implied = 0;
    for (size_t i = 0; i < g->n_nodes; i++) {
        if (g->node_name[i] >= g->n_strings || g->node_op[i] >= g->n_strings ||
            graph_sharding_of(g, (uint32_t)i) >= g->n_strings) {
            return "a node's name, operator type or sharding is no string";
        }
        uint32_t body = graph_body_of(g, (uint32_t)i);
        if (g->node_scope[i] >= g->n_scopes || (body != GRAPH_NONE && body >= g->n_scopes)) {
            return "a node's scope or body does not exist";
        }
        int stage = graph_stage_of(g, (uint32_t)i);
        if (stage < -1 || (stage >= 0 && (size_t)stage >= g->n_stages)) {
            return "a node's stage does not exist";
        }
        if (g->node_role[i] >= GRAPH_ROLE_COUNT || g->node_phase[i] >= GRAPH_PHASE_COUNT ||
            g->node_class[i] >= GRAPH_CLASS_COUNT) {
            return "a node's role, phase or class is out of range";
        }
        implied += (g->node_flags[i] & GRAPH_IMPLIED) != 0;
    }
    return implied == g->n_implied_nodes ? NULL : "the count of implied nodes is wrong";
}

static const char *check_values(const graph *g)
{
    for (size_t i = 0; i < g->n_outs; i++) {
        if (g->out_tensor[i] >= g->n_tensors) {
            return "an output's tensor does not exist";
        }
    }
    for (size_t i = 0; i < g->n_tensors; i++) {
        if (g->tensors[i].type >= g->n_strings) {
            return "an output's type is no string";
        }
    }
    for (size_t i = 0; i < g->n_attrs; i++) {
        if (g->attr_key[i] >= g->n_strings || g->attr_value[i] >= g->n_strings) {
            return "an attribute is no string";
        }
    }
    for (size_t i = 0; i < g->n_stages; i++) {
        if ((size_t)g->stages[i].first_rank + g->stages[i].n_ranks > g->n_stage_ranks) {
            return "a stage's ranks do not exist";
        }
    }
    return NULL;
}

static const char *check_edges(const graph *g)
{
    size_t implied = 0, control = 0;
    for (size_t i = 0; i < g->n_edges; i++) {
        uint32_t to = g->edge_to[i];
        if (g->edge_from[i] >= g->n_nodes || to >= g->n_nodes) {
            return "an edge's end does not exist";
        }
        if (i > 0 &&
            (to < g->edge_to[i - 1] || (to == g->edge_to[i - 1] && g->edge_to_slot[i] < g->edge_to_slot[i - 1]))) {
            return "edges are not ascending by consumer and slot";
        }
        if (i < g->in_first[to] || i >= g->in_first[to + 1]) {
            return "the index of edges into nodes is wrong";
        }
        bool is_implied = g->edge_flags[i] & GRAPH_IMPLIED;
        implied += is_implied;
        control += !is_implied && (g->edge_flags[i] & GRAPH_CONTROL);
    }
    if (implied != g->n_implied_edges || control != g->n_control_edges) {
        return "the count of implied or control edges is wrong";
    }
    return NULL;
}

static const char *check_from(const graph *g)
{
    for (size_t v = 0; v < g->n_nodes; v++) {
        for (uint32_t i = g->from_first[v]; i < g->from_first[v + 1]; i++) {
            if (g->from_edge[i] >= g->n_edges || g->edge_from[g->from_edge[i]] != v ||
                (i > g->from_first[v] && g->from_edge[i] <= g->from_edge[i - 1])) {
                return "the index of edges out of nodes is wrong";
            }
        }
    }
    return NULL;
}

const char *graph_check(const graph *g)
{
    const char *breach = check_strings(g);
    breach = breach ? breach : check_scopes(g);
    breach = breach ? breach : check_nodes(g);
    breach = breach ? breach : check_rows(g, g->out_first, g->n_outs, "the index of outputs is wrong");
    breach = breach ? breach : check_attributes(g);
    breach = breach ? breach : check_rows(g, g->in_first, g->n_edges, "the index of edges into nodes is wrong");
    breach = breach ? breach : check_rows(g, g->from_first, g->n_edges, "the index of edges out of nodes is wrong");
    breach = breach ? breach : check_values(g);
    breach = breach ? breach : check_edges(g);
    return breach ? breach : check_from(g);
}
