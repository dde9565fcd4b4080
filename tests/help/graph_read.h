/* What the tests of graph readers share: read bytes, then ask in words. */
#ifndef MAREY_TESTS_GRAPH_READ_H
#define MAREY_TESTS_GRAPH_READ_H

#include "base/text.h"
#include "readers/graph_reader.h"

typedef struct read_graph {
    graph g;
    diag d;
    marey_status status;
} read_graph;

static inline read_graph graph_of(const void *data, size_t n)
{
    read_graph r;
    graph_finish_options options = {0};
    diag_init(&r.d);
    r.status = graph_read_memory(data, n, "input", &options, &r.g, &r.d);
    const char *wrong = r.status == MAREY_OK ? graph_check(&r.g) : NULL;
    if (wrong) {
        print_message("%s\n", wrong);
    }
    assert_null(wrong);
    assert_true(r.status == MAREY_OK || r.d.n_messages > 0);
    return r;
}

static inline void forget(read_graph *r)
{
    if (r->status == MAREY_OK) {
        graph_deinit(&r->g);
    }
    diag_deinit(&r->d);
}

/* The first node of that name and not of another role; GRAPH_NONE. */
static inline uint32_t node_named(const graph *g, const char *name)
{
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        if (strcmp(graph_string(g, g->node_name[i]), name) == 0) {
            return i;
        }
    }
    return GRAPH_NONE;
}

static inline const char *path_of(const graph *g, const char *name)
{
    static char text[4096];
    strbuf b = {0};
    uint32_t i = node_named(g, name);
    assert_true(i != GRAPH_NONE);
    graph_scope_path(g, g->node_scope[i], &b);
    (void)snprintf(text, sizeof text, "%s", strbuf_str(&b));
    strbuf_deinit(&b);
    return text;
}

/* Is there an edge from one to the other, with these flags exactly? */
static inline bool has_edge(const graph *g, const char *from, const char *to, uint8_t flags)
{
    for (size_t e = 0; e < g->n_edges; e++) {
        if (strcmp(graph_string(g, g->node_name[g->edge_from[e]]), from) == 0 &&
            strcmp(graph_string(g, g->node_name[g->edge_to[e]]), to) == 0 && g->edge_flags[e] == flags) {
            return true;
        }
    }
    return false;
}

static inline const char *type_of(const graph *g, const char *name)
{
    uint32_t i = node_named(g, name);
    assert_true(i != GRAPH_NONE && g->out_first[i] < g->out_first[i + 1]);
    return graph_string(g, graph_out_type(g, g->out_first[i]));
}

static inline size_t real_nodes(const graph *g)
{
    return g->n_nodes - g->n_implied_nodes;
}

static inline size_t real_edges(const graph *g)
{
    return g->n_edges - g->n_implied_edges;
}

static inline const char *attr_of(const graph *g, const char *node, const char *key)
{
    uint32_t i = node_named(g, node);
    assert_true(i != GRAPH_NONE);
    const char *value = graph_attr(g, i, key);
    return value ? value : "(none)";
}

#endif
