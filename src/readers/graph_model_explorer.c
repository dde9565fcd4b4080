/*
 * Model Explorer JSON: a graph {id, nodes}, a collection {label, graphs} or {label, subgraphs}, or a list of either. A
 * node has a namespace "a/b" (its scopes), a label (its operator type), edges into it, and attributes. Several graphs
 * in one file are scopes at the top; a node with subgraphIds calls the first of them.
 */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/text.h"
#include "parse/json_doc.h"
#include "readers/graph_formats.h"

enum { CONTAINER_DEPTH_MAX = 4 };

typedef struct me_graph {
    uint32_t at; /* in the document */
    uint32_t scope;
} me_graph;

typedef struct me_reader {
    const graph_input *in;
    graph_builder *b;
    jdoc *doc;
    me_graph *graphs;
    size_t n_graphs, cap_graphs;
    intern graph_ids;
    uint32_t *graph_of; /* by id: place in graphs */
    size_t n_graph_of, cap_graph_of;
    intern ids;     /* of the nodes of one graph */
    uint32_t *node; /* by id */
    size_t n_node, cap_node;
    strbuf text, key;
} me_reader;

static void lose(const me_reader *m, marey_loss loss, uint32_t at)
{
    diag_lose(m->in->diag, loss, m->in->file, m->doc->nodes[at].offset, 1, NULL);
}

/* ---- which graphs there are ---- */

/* Graphs of a container: itself, or those in it, to a small depth. */
static void find_graphs(me_reader *m)
{
    typedef struct level {
        uint32_t next;
    } level;
    level stack[CONTAINER_DEPTH_MAX];
    size_t depth = 1;
    stack[0].next = 0;
    while (depth > 0) {
        uint32_t i = stack[depth - 1].next;
        if (i == JDOC_NONE) {
            depth--;
            continue;
        }
        stack[depth - 1].next = depth == 1 ? JDOC_NONE : m->doc->nodes[i].next;
        if (jdoc_is(m->doc, jdoc_member(m->doc, i, "nodes"), JDOC_ARRAY)) {
            VEC_PUSH(m->graphs, m->n_graphs, m->cap_graphs, ((me_graph){.at = i}));
            continue;
        }
        uint32_t list = jdoc_is(m->doc, i, JDOC_ARRAY) ? i : JDOC_NONE;
        static const char *const names[] = {"graphs", "subgraphs", "graphCollections"};
        for (size_t k = 0; k < sizeof names / sizeof *names && list == JDOC_NONE; k++) {
            uint32_t member = jdoc_member(m->doc, i, names[k]);
            list = jdoc_is(m->doc, member, JDOC_ARRAY) ? member : JDOC_NONE;
        }
        if (list != JDOC_NONE && depth < CONTAINER_DEPTH_MAX) {
            stack[depth++].next = jdoc_first(m->doc, list);
        }
    }
}

static void name_graphs(me_reader *m)
{
    for (size_t i = 0; i < m->n_graphs; i++) {
        const char *id = jdoc_text(m->doc, jdoc_member(m->doc, m->graphs[i].at, "id"), &m->text);
        uint32_t k = intern_put(&m->graph_ids, id, m->text.n);
        if (k == m->n_graph_of) {
            VEC_PUSH(m->graph_of, m->n_graph_of, m->cap_graph_of, (uint32_t)i);
        } else {
            lose(m, MAREY_LOSS_DUPLICATE_NAME, m->graphs[i].at);
        }
        if (m->n_graphs > 1) {
            bool named = m->text.n > 0;
            m->graphs[i].scope =
                graph_builder_new_scope(m->b, 0, named ? id : "graph", named ? m->text.n : 5, GRAPH_SCOPE_BODY);
        }
    }
}

/* ---- nodes ---- */

/* A value as text; of {"type": .., "value": ..} or other containers a word for what it is. */
static const char *value_text(me_reader *m, uint32_t i, strbuf *out)
{
    uint32_t inner = jdoc_member(m->doc, i, "value");
    i = jdoc_is(m->doc, i, JDOC_OBJECT) && inner != JDOC_NONE ? inner : i;
    if (jdoc_is(m->doc, i, JDOC_STRING) || jdoc_is(m->doc, i, JDOC_SCALAR)) {
        return jdoc_text(m->doc, i, out);
    }
    strbuf_clear(out);
    if (i != JDOC_NONE) {
        strbuf_printf(out, "%s of %u", jdoc_is(m->doc, i, JDOC_ARRAY) ? "list" : "object", m->doc->nodes[i].n_children);
    }
    return strbuf_str(out);
}

static void push_attrs(me_reader *m, uint32_t list, uint32_t node)
{
    for (uint32_t a = jdoc_first(m->doc, list); a != JDOC_NONE; a = m->doc->nodes[a].next) {
        (void)jdoc_text(m->doc, jdoc_member(m->doc, a, "key"), &m->key);
        const char *value = value_text(m, jdoc_member(m->doc, a, "value"), &m->text);
        if (m->key.n) {
            graph_builder_attr(m->b, node, m->key.s, m->key.n, value, m->text.n);
        }
    }
}

/* The type of one output: its attributes tensor_shape or shape, or the word for a dtype before it. */
static void push_output(me_reader *m, uint32_t metadata, uint32_t node)
{
    strbuf shape = {0};
    strbuf type = {0};
    for (uint32_t a = jdoc_first(m->doc, jdoc_member(m->doc, metadata, "attrs")); a != JDOC_NONE;
         a = m->doc->nodes[a].next) {
        uint32_t key = jdoc_member(m->doc, a, "key");
        uint32_t value = jdoc_member(m->doc, a, "value");
        if (jdoc_text_is(m->doc, key, "tensor_shape") || jdoc_text_is(m->doc, key, "shape")) {
            (void)value_text(m, value, &shape);
        } else if (jdoc_text_is(m->doc, key, "dtype") || jdoc_text_is(m->doc, key, "type")) {
            (void)value_text(m, value, &type);
        }
    }
    if (shape.n) {
        strbuf_add(&type, shape.s, shape.n);
    }
    graph_builder_output(m->b, node, strbuf_str(&type), type.n, 0);
    strbuf_deinit(&shape);
    strbuf_deinit(&type);
}

static bool is_number(const strbuf *s)
{
    for (size_t i = 0; i < s->n; i++) {
        if (s->s[i] < '0' || s->s[i] > '9') {
            return false;
        }
    }
    return s->n > 0 && s->n < 19;
}

static graph_role role_of(const char *label)
{
    static const struct {
        const char *label;
        graph_role role;
    } roles[] = {{"Input", GRAPH_INPUT},           {"GraphInputs", GRAPH_INPUT},
                 {"Placeholder", GRAPH_INPUT},     {"GraphOutputs", GRAPH_OUTPUT},
                 {"Const", GRAPH_CONSTANT},        {"Constant", GRAPH_CONSTANT},
                 {"pseudo_const", GRAPH_CONSTANT}, {"tfl.pseudo_const", GRAPH_CONSTANT},
                 {"Parameter", GRAPH_PARAMETER}};
    for (size_t i = 0; i < sizeof roles / sizeof *roles; i++) {
        if (strcmp(label, roles[i].label) == 0) {
            return roles[i].role;
        }
    }
    return GRAPH_OPERATOR;
}

static uint32_t push_node(me_reader *m, uint32_t at, uint32_t scope)
{
    const char *space = jdoc_text(m->doc, jdoc_member(m->doc, at, "namespace"), &m->text);
    if (m->text.n) {
        scope = graph_builder_path(m->b, scope, space, m->text.n, '/');
    }
    const char *label = jdoc_text(m->doc, jdoc_member(m->doc, at, "label"), &m->key);
    const char *id = jdoc_text(m->doc, jdoc_member(m->doc, at, "id"), &m->text);
    bool number = is_number(&m->text);
    graph_node_in n = {.name = number ? "" : id,
                       .n_name = number ? 0 : m->text.n,
                       .op = label,
                       .n_op = m->key.n,
                       .scope = scope,
                       .key = number ? (int64_t)strtoll(id, NULL, 10) : -1,
                       .stage = -1,
                       .role = role_of(label)};
    return graph_builder_node(m->b, &n);
}

static void push_details(me_reader *m, uint32_t at, uint32_t node)
{
    push_attrs(m, jdoc_member(m->doc, at, "attrs"), node);
    uint32_t outs = jdoc_member(m->doc, at, "outputsMetadata");
    for (uint32_t o = jdoc_first(m->doc, outs); o != JDOC_NONE; o = m->doc->nodes[o].next) {
        push_output(m, o, node);
    }
    uint32_t calls = jdoc_member(m->doc, at, "subgraphIds");
    uint32_t first = jdoc_first(m->doc, calls);
    if (first != JDOC_NONE) {
        const char *id = jdoc_text(m->doc, first, &m->text);
        uint32_t k = 0;
        if (intern_find(&m->graph_ids, id, m->text.n, &k)) {
            graph_builder_flag(m->b, node, GRAPH_CALL);
            graph_builder_body(m->b, node, m->graphs[m->graph_of[k]].scope);
        } else {
            lose(m, MAREY_LOSS_DANGLING, first);
        }
    }
}

static void push_nodes(me_reader *m, const me_graph *g)
{
    uint32_t list = jdoc_member(m->doc, g->at, "nodes");
    for (uint32_t at = jdoc_first(m->doc, list); at != JDOC_NONE; at = m->doc->nodes[at].next) {
        if (!jdoc_is(m->doc, at, JDOC_OBJECT)) {
            lose(m, MAREY_LOSS_DAMAGED, at);
            continue;
        }
        uint32_t node = push_node(m, at, g->scope);
        uint32_t k = intern_put(&m->ids, strbuf_str(&m->text), m->text.n);
        if (k == m->n_node) {
            VEC_PUSH(m->node, m->n_node, m->cap_node, node);
        } else {
            lose(m, MAREY_LOSS_DUPLICATE_NAME, at);
        }
        push_details(m, at, node);
    }
}

/* ---- edges ---- */

static uint32_t slot_of(const me_reader *m, uint32_t i, uint32_t otherwise)
{
    int64_t v = 0;
    return jdoc_i64(m->doc, i, &v) && v >= 0 && v < UINT32_MAX ? (uint32_t)v : otherwise;
}

static void push_edges(me_reader *m, const me_graph *g, uint32_t first_node)
{
    uint32_t list = jdoc_member(m->doc, g->at, "nodes");
    uint32_t node = first_node;
    for (uint32_t at = jdoc_first(m->doc, list); at != JDOC_NONE; at = m->doc->nodes[at].next) {
        if (!jdoc_is(m->doc, at, JDOC_OBJECT)) {
            continue;
        }
        uint32_t place = 0;
        uint32_t edges = jdoc_member(m->doc, at, "incomingEdges");
        for (uint32_t e = jdoc_first(m->doc, edges); e != JDOC_NONE; e = m->doc->nodes[e].next, place++) {
            const char *id = jdoc_text(m->doc, jdoc_member(m->doc, e, "sourceNodeId"), &m->text);
            uint32_t k = 0;
            if (!intern_find(&m->ids, id, m->text.n, &k)) {
                lose(m, MAREY_LOSS_DANGLING, e);
                continue;
            }
            graph_builder_edge(m->b, m->node[k], slot_of(m, jdoc_member(m->doc, e, "sourceNodeOutputId"), 0), node,
                               slot_of(m, jdoc_member(m->doc, e, "targetNodeInputId"), place), 0);
        }
        node++;
    }
}

/* ---- the whole ---- */

static marey_status push_graphs(me_reader *m)
{
    const char *label = jdoc_text(m->doc, jdoc_member(m->doc, 0, "label"), &m->text);
    if (!m->text.n && m->n_graphs == 1) {
        label = jdoc_text(m->doc, jdoc_member(m->doc, m->graphs[0].at, "id"), &m->text);
    }
    graph_builder_facts(m->b, "model-explorer", label, "");
    name_graphs(m);
    for (size_t i = 0; i < m->n_graphs; i++) {
        if (is_cancelled(m->in->cancel)) {
            return MAREY_CANCELLED;
        }
        uint32_t first = (uint32_t)graph_builder_n_nodes(m->b);
        push_nodes(m, &m->graphs[i]);
        push_edges(m, &m->graphs[i], first);
        intern_deinit(&m->ids);
        m->n_node = 0;
    }
    return MAREY_OK;
}

static marey_status read_model_explorer(const graph_input *in, graph_builder *b)
{
    me_reader m = {.in = in, .b = b};
    marey_status status = jdoc_parse((const char *)in->data, in->size, in->path, in->diag, &m.doc);
    if (status != MAREY_OK) {
        return status;
    }
    if (m.doc->truncated) {
        diag_lose(in->diag, MAREY_LOSS_TRUNCATED, in->file, m.doc->truncated_at, 1, NULL);
    }
    if (m.doc->n_repairs) {
        diag_lose(in->diag, MAREY_LOSS_DAMAGED, in->file, m.doc->first_repair, m.doc->n_repairs, NULL);
    }
    find_graphs(&m);
    status = m.n_graphs ? push_graphs(&m)
                        : diag_error(in->diag, MAREY_FORMAT, in->path, 0, "There is no graph with nodes in this JSON.");
    free(m.graphs);
    free(m.graph_of);
    free(m.node);
    intern_deinit(&m.graph_ids);
    intern_deinit(&m.ids);
    strbuf_deinit(&m.text);
    strbuf_deinit(&m.key);
    jdoc_destroy(&m.doc);
    return status;
}

static int sniff_model_explorer(const graph_input *in)
{
    char c = graph_head_byte(in);
    if ((c != '{' && c != '[') || !graph_head_has(in, "\"nodes\"")) {
        return 0;
    }
    bool edges = graph_head_has(in, "\"incomingEdges\"") || graph_head_has(in, "\"sourceNodeId\"");
    return edges ? 2 : graph_head_has(in, "\"namespace\"") && graph_head_has(in, "\"label\"") ? 2 : 0;
}

const graph_format GRAPH_MODEL_EXPLORER = {"model-explorer", sniff_model_explorer, read_model_explorer};
