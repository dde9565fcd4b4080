/*
 * Graphviz DOT: a lexer, a parser with a stack of its own for subgraphs, and columns of nodes and edges that are pushed
 * at the end, since attributes may follow anywhere. Clusters are modules; names with '/' are paths. An operator's type
 * is its attribute op or type, else its label (of an HTML label the text of the first cell).
 *
 * Source: "The DOT Language", graphviz.org/doc/info/lang.html.
 */
#include "readers/graph_dot.h"

#include <stdlib.h>

#include "readers/graph_formats.h"

enum { LABEL_BYTES = 256 };

/* ---- labels ---- */

/* Text of the first cell: what lies between the first tags that hold any, up to the next tag. */
static gspan html_text(gspan html)
{
    size_t i = 0;
    while (i < html.n) {
        while (i < html.n && (html.s[i] == ' ' || html.s[i] == '\n' || html.s[i] == '\t' || html.s[i] == '\r')) {
            i++;
        }
        if (i >= html.n || html.s[i] != '<') {
            break;
        }
        while (i < html.n && html.s[i] != '>') {
            i++;
        }
        i += i < html.n;
    }
    size_t from = i;
    while (i < html.n && html.s[i] != '<') {
        i++;
    }
    return gspan_trim((gspan){html.s + from, i - from});
}

/* The first line; of a record ("{name|type}") the first field. */
static gspan label_text(const dot_attr *a)
{
    if (a->html) {
        return html_text(a->value);
    }
    size_t from = 0;
    while (from < a->value.n && (a->value.s[from] == '{' || a->value.s[from] == ' ')) {
        from++;
    }
    if (from < a->value.n && a->value.s[from] == '<') {
        const char *close = memchr(a->value.s + from, '>', a->value.n - from);
        from = close ? (size_t)(close - a->value.s) + 1 : from;
    }
    size_t to = from;
    while (to < a->value.n && to < from + LABEL_BYTES) {
        char c = a->value.s[to];
        bool escape = c == '\\' && to + 1 < a->value.n;
        if (c == '\n' || c == '|' || c == '}' ||
            (escape && (a->value.s[to + 1] == 'n' || a->value.s[to + 1] == 'l' || a->value.s[to + 1] == 'r'))) {
            break;
        }
        to++;
    }
    return gspan_trim((gspan){a->value.s + from, to - from});
}

/* ---- pushing ---- */

static bool is_look(gspan key)
{
    static const char *const keys[] = {"label",    "style",     "shape",    "color",   "fillcolor", "fontcolor",
                                       "fontname", "fontsize",  "height",   "width",   "pos",       "margin",
                                       "align",    "ranksep",   "penwidth", "tooltip", "URL",       "fixedsize",
                                       "pencolor", "labeljust", "op",       "type",    "op_type",   "output"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        if (gspan_is(key, keys[i])) {
            return true;
        }
    }
    return false;
}

/* A path: parts between slashes, no sentence and no address. */
static size_t path_length(gspan name)
{
    size_t cut = 0;
    for (size_t i = 0; i < name.n; i++) {
        if (name.s[i] == ' ' || (name.s[i] == ':' && i + 2 < name.n && name.s[i + 1] == '/' && name.s[i + 2] == '/')) {
            return 0;
        }
        cut = name.s[i] == '/' ? i : cut;
    }
    return cut;
}

/* An identifier that only numbers the node: "12", "node12", "n12". */
static bool is_number_only(gspan name)
{
    size_t i = gspan_starts(name, "node") ? 4 : gspan_starts(name, "n") ? 1 : 0;
    i += i < name.n && name.s[i] == '_';
    if (i >= name.n) {
        return false;
    }
    while (i < name.n && name.s[i] >= '0' && name.s[i] <= '9') {
        i++;
    }
    return i == name.n;
}

typedef struct dot_words {
    gspan op, label, output;
} dot_words;

static dot_words words_of(const dot_text *t, const dot_node *n)
{
    dot_words w = {{NULL, 0}, {NULL, 0}, {NULL, 0}};
    for (uint32_t l = n->first_attr; l != GRAPH_NONE; l = t->links[l].next) {
        const dot_attr *a = &t->attrs[t->links[l].attr];
        if (gspan_is(a->key, "op") || gspan_is(a->key, "op_type") || (gspan_is(a->key, "type") && w.op.n == 0)) {
            w.op = a->value;
        } else if (gspan_is(a->key, "label")) {
            w.label = label_text(a);
        } else if (gspan_is(a->key, "output") && w.output.n == 0) {
            w.output = a->value;
        }
    }
    /* "\N" stands for the node's name. */
    w.label = gspan_is(w.label, "\\N") ? (gspan){NULL, 0} : w.label;
    return w;
}

static graph_role role_of(gspan op)
{
    static const struct {
        const char *op;
        graph_role role;
    } roles[] = {{"Placeholder", GRAPH_INPUT},      {"Const", GRAPH_CONSTANT},          {"Constant", GRAPH_CONSTANT},
                 {"Parameter", GRAPH_PARAMETER},    {"input-tensor", GRAPH_INPUT},      {"output-tensor", GRAPH_OUTPUT},
                 {"nncf_model_input", GRAPH_INPUT}, {"nncf_model_output", GRAPH_OUTPUT}};
    for (size_t i = 0; i < sizeof roles / sizeof *roles; i++) {
        if (gspan_is(op, roles[i].op)) {
            return roles[i].role;
        }
    }
    return GRAPH_OPERATOR;
}

static void push_node(dot_text *t, const dot_node *n, uint32_t scope, graph_builder *b)
{
    dot_words w = words_of(t, n);
    size_t cut = path_length(n->name);
    scope = cut ? graph_builder_path(b, scope, n->name.s, cut, '/') : scope;
    gspan op = w.op.n ? w.op : w.label;
    bool numbered = is_number_only(n->name) && w.label.n;
    gspan name = numbered ? w.label : n->name;
    uint64_t key = 0;
    graph_node_in in = {.name = name.s,
                        .n_name = name.n,
                        .op = op.n ? op.s : "",
                        .n_op = op.n,
                        .scope = scope,
                        .key = numbered && gspan_u64(n->name, &key) ? (int64_t)key : -1,
                        .stage = -1,
                        .role = role_of(op)};
    uint32_t node = graph_builder_node(b, &in);
    if (w.output.n) {
        graph_builder_output(b, node, w.output.s, w.output.n, 0);
    }
    for (uint32_t l = n->first_attr; l != GRAPH_NONE; l = t->links[l].next) {
        const dot_attr *a = &t->attrs[t->links[l].attr];
        if (!is_look(a->key)) {
            graph_builder_attr(b, node, a->key.s, a->key.n, a->value.s, a->value.n);
        }
    }
}

static void push_all(dot_text *t, graph_builder *b, bool as_scope)
{
    uint32_t first = (uint32_t)graph_builder_n_nodes(b);
    char *name = mem_strndup(t->name.n ? t->name.s : "", t->name.n);
    graph_builder_facts(b, "dot", name, "");
    free(name);
    uint32_t *scopes = mem_calloc(t->n_scopes, sizeof *scopes);
    if (as_scope) {
        gspan text = t->name.n ? t->name : gspan_of("graph");
        scopes[0] = graph_builder_new_scope(b, 0, text.s, text.n, 0);
    }
    for (size_t i = 1; i < t->n_scopes; i++) {
        const dot_scope *s = &t->scopes[i];
        gspan label = label_text(&(dot_attr){.value = s->label});
        gspan text = s->label.n && label.n ? label : s->name;
        scopes[i] = graph_builder_new_scope(b, scopes[s->parent], text.s, text.n, 0);
    }
    for (size_t i = 0; i < t->n_nodes; i++) {
        push_node(t, &t->nodes[i], scopes[t->nodes[i].scope], b);
    }
    for (size_t i = 0; i < t->n_edges; i++) {
        graph_builder_edge(b, first + t->edges[i][0], t->edges[i][2], first + t->edges[i][1], t->edges[i][3], 0);
    }
    free(scopes);
}

/* One graph after the other; where there are several, each lies in a scope of its own. */
static marey_status read_dot(const graph_input *in, graph_builder *b)
{
    dot_text t;
    dot_open(&t, in, in->size);
    bool several = false;
    marey_status status = MAREY_OK;
    do {
        status = dot_parse(&t);
        bool more = status == MAREY_OK && dot_is_head(&t);
        several = several || more;
        if (status == MAREY_OK) {
            push_all(&t, b, several);
        }
        if (!more) {
            break;
        }
    } while (true);
    if (status == MAREY_OK && t.kind != DOT_END) {
        dot_lose(&t, MAREY_LOSS_DAMAGED, t.token_at, 1);
    }
    dot_deinit(&t);
    return status;
}

static int sniff_dot(const graph_input *in)
{
    size_t n = graph_head_size(in);
    const char *p = (const char *)in->data;
    if (memchr(p, 0, n) || !memchr(p, '{', n) || !(memmem(p, n, "graph", 5) || memmem(p, n, "GRAPH", 5))) {
        return 0;
    }
    diag quiet;
    diag_init(&quiet);
    graph_input head = *in;
    head.diag = &quiet;
    dot_text t;
    dot_open(&t, &head, n);
    bool is_dot = t.kind == DOT_ID && dot_take_head(&t);
    dot_deinit(&t);
    diag_deinit(&quiet);
    return is_dot ? 2 : 0;
}

const graph_format GRAPH_DOT = {"dot", sniff_dot, read_dot};
