#include "readers/graph_dot.h"

#include <stdlib.h>

enum { PAIRS_MAX = 1 << 20, SCOPE_DEPTH_MAX = 60, DEFAULTS_MAX = 64 };

/* ---- tokens ---- */

void dot_lose(dot_text *t, marey_loss loss, const char *at, uint64_t n)
{
    diag_lose(t->in->diag, loss, t->in->file, (uint64_t)(at - t->start), n, NULL);
}

static bool is_id(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' ||
           (c & 0x80);
}

static const char *line_end(const char *p, const char *end)
{
    const char *q = p < end ? memchr(p, '\n', (size_t)(end - p)) : NULL;
    return q ? q : end;
}

static const char *skip_space(const dot_text *t, const char *p)
{
    while (p < t->end) {
        bool line_start = p == t->start || p[-1] == '\n';
        if (*p == ' ' || *p == '\t' || *p == '\r' || *p == '\n' || *p == '\f') {
            p++;
        } else if ((*p == '#' && line_start) || (*p == '/' && p + 1 < t->end && p[1] == '/')) {
            p = line_end(p, t->end);
        } else if (*p == '/' && p + 1 < t->end && p[1] == '*') {
            const char *close = memmem(p + 2, (size_t)(t->end - p) - 2, "*/", 2);
            p = close ? close + 2 : t->end;
        } else {
            break;
        }
    }
    return p;
}

/* The text of a string without quotes: \" is ", and a backslash before a line's end joins the lines. */
static gspan unescape(dot_text *t, const char *s, size_t n)
{
    if (!memchr(s, '\\', n)) {
        return (gspan){s, n};
    }
    char *out = arena_alloc(&t->mem, n);
    size_t k = 0;
    for (size_t i = 0; i < n; i++) {
        if (s[i] == '\\' && i + 1 < n && (s[i + 1] == '"' || s[i + 1] == '\n')) {
            i++;
            if (s[i] == '\n') {
                continue;
            }
        }
        out[k++] = s[i];
    }
    return (gspan){out, k};
}

/* A string or HTML that never ends costs its line. */
static const char *unclosed(dot_text *t, const char *p)
{
    uint64_t cost = (uint64_t)(t->end - p);
    t->bytes_left -= t->bytes_left < cost ? t->bytes_left : cost;
    const char *e = line_end(p, t->end);
    dot_lose(t, e == t->end ? MAREY_LOSS_TRUNCATED : MAREY_LOSS_DAMAGED, p, 1);
    return e;
}

static const char *take_string(dot_text *t, const char *p)
{
    const char *e = t->bytes_left ? text_skip_string(p, t->end) : t->end;
    bool whole = e > p + 1 && e[-1] == '"' && (e < t->end || t->bytes_left);
    if (!whole) {
        e = unclosed(t, p);
        t->token = unescape(t, p + 1, (size_t)(e - p) - 1);
        return e;
    }
    t->token = unescape(t, p + 1, (size_t)(e - p) - 2);
    return e;
}

/* "a" + "b": strings joined. */
static const char *take_strings(dot_text *t, const char *p)
{
    p = take_string(t, p);
    gspan all = t->token;
    for (const char *q = skip_space(t, p); q < t->end && *q == '+'; q = skip_space(t, p)) {
        q = skip_space(t, q + 1);
        if (q >= t->end || *q != '"') {
            break;
        }
        p = take_string(t, q);
        char *joined = arena_alloc(&t->mem, all.n + t->token.n);
        memcpy(joined, all.s, all.n);
        memcpy(joined + all.n, t->token.s, t->token.n);
        all = (gspan){joined, all.n + t->token.n};
    }
    t->token = all;
    return p;
}

static const char *take_html(dot_text *t, const char *p)
{
    size_t depth = 0;
    for (const char *q = p; q < t->end && t->bytes_left; q++) {
        depth += *q == '<';
        depth -= *q == '>';
        if (depth == 0) {
            t->token = (gspan){p + 1, (size_t)(q - p) - 1};
            return q + 1;
        }
    }
    const char *e = unclosed(t, p);
    t->token = (gspan){p + 1, (size_t)(e - p) - 1};
    return e;
}

static void next_token(dot_text *t)
{
    const char *p = skip_space(t, t->p);
    t->token_at = p;
    if (p >= t->end) {
        t->kind = DOT_END;
        t->token = (gspan){p, 0};
    } else if (*p == '"') {
        t->kind = DOT_ID;
        p = take_strings(t, p);
    } else if (*p == '<') {
        t->kind = DOT_HTML;
        p = take_html(t, p);
    } else if (*p == '-' && p + 1 < t->end && (p[1] == '>' || p[1] == '-')) {
        t->kind = DOT_ARROW;
        p += 2;
    } else if (is_id(*p) || (*p == '-' && p + 1 < t->end && is_id(p[1]))) {
        const char *q = p + 1;
        while (q < t->end && is_id(*q)) {
            q++;
        }
        t->kind = DOT_ID;
        t->token = (gspan){p, (size_t)(q - p)};
        p = q;
    } else {
        t->kind = DOT_MARK;
        t->token = (gspan){p, 1};
        p++;
    }
    t->p = p;
}

static bool is_mark(const dot_text *t, char c)
{
    return t->kind == DOT_MARK && t->token.s[0] == c;
}

/* A keyword: bare, in any case. */
static bool is_word(const dot_text *t, const char *word)
{
    if (t->kind != DOT_ID || *t->token_at == '"' || t->token.n != strlen(word)) {
        return false;
    }
    for (size_t i = 0; i < t->token.n; i++) {
        char c = t->token.s[i];
        if ((c >= 'A' && c <= 'Z' ? c + 32 : c) != word[i]) {
            return false;
        }
    }
    return true;
}

/* ---- nodes and edges ---- */

static dot_frame *top(dot_text *t)
{
    return &t->frames[t->n_frames - 1];
}

static void add_link(dot_text *t, uint32_t node, uint32_t attr)
{
    uint32_t at = (uint32_t)t->n_links;
    VEC_PUSH(t->links, t->n_links, t->cap_links, ((dot_link){attr, GRAPH_NONE}));
    dot_node *n = &t->nodes[node];
    if (n->first_attr == GRAPH_NONE) {
        n->first_attr = at;
    } else {
        t->links[n->last_attr].next = at;
    }
    n->last_attr = at;
}

/* A node's cluster is the deepest that names it. */
static void place_node(dot_text *t, dot_node *n)
{
    uint32_t scope = top(t)->scope;
    if (t->scopes[scope].depth > t->scopes[n->scope].depth) {
        n->scope = scope;
    }
}

static uint32_t mention(dot_text *t, gspan name)
{
    uint32_t id = intern_put(&t->names, name.s, name.n);
    if (id == t->n_nodes) {
        VEC_PUSH(t->nodes, t->n_nodes, t->cap_nodes,
                 ((dot_node){.name = {t->names.text[id], t->names.len[id]}, .first_attr = GRAPH_NONE}));
        for (size_t i = 0; i < t->n_defaults; i++) {
            add_link(t, id, t->defaults[i]);
        }
    }
    place_node(t, &t->nodes[id]);
    VEC_PUSH(t->mentions, t->n_mentions, t->cap_mentions, id);
    return id;
}

static void add_edge(dot_text *t, uint32_t from, uint32_t to, uint32_t from_slot, uint32_t to_slot)
{
    if (t->strict) {
        uint64_t *seen = map64_put(&t->pairs, (uint64_t)from << 32 | to);
        if (*seen) {
            return;
        }
        *seen = 1;
    }
    dot_node *n = &t->nodes[to];
    uint32_t slot = to_slot != GRAPH_NONE ? to_slot : n->next_slot;
    n->next_slot = slot + 1;
    VEC_RESERVE(t->edges, t->cap_edges, t->n_edges + 1);
    uint32_t *e = t->edges[t->n_edges++];
    e[0] = from;
    e[1] = to;
    e[2] = from_slot;
    e[3] = slot;
}

/* The nodes of a piece of mentions, each once. */
static size_t distinct(dot_text *t, size_t from, size_t to, uint32_t *out)
{
    size_t n = 0;
    t->sets++;
    for (size_t i = from; i < to; i++) {
        dot_node *node = &t->nodes[t->mentions[i]];
        if (node->seen != t->sets) {
            node->seen = t->sets;
            out[n++] = t->mentions[i];
        }
    }
    return n;
}

/* All of the one set to all of the other. */
static void join_sets(dot_text *t, size_t left_from, size_t left_to, size_t right_from, size_t right_to)
{
    uint32_t *left = mem_alloc((left_to - left_from + right_to - right_from + 1) * sizeof *left);
    size_t n_left = distinct(t, left_from, left_to, left);
    uint32_t *right = left + n_left;
    size_t n_right = distinct(t, right_from, right_to, right);
    if (n_right && n_left > PAIRS_MAX / n_right) {
        dot_lose(t, MAREY_LOSS_LIMIT, t->token_at, n_left * n_right);
        n_left = 0;
    }
    for (size_t i = 0; i < n_left; i++) {
        for (size_t k = 0; k < n_right; k++) {
            add_edge(t, left[i], right[k], 0, GRAPH_NONE);
        }
    }
    free(left);
}

/* ---- statements ---- */

/* "[a=b, c]" as many as there are: attributes are added to the pool. @return the first's place */
static size_t take_attrs(dot_text *t)
{
    size_t first = t->n_attrs;
    while (is_mark(t, '[')) {
        next_token(t);
        while (t->kind == DOT_ID || is_mark(t, ',') || is_mark(t, ';')) {
            if (t->kind != DOT_ID) {
                next_token(t);
                continue;
            }
            dot_attr a = {.key = t->token, .value = {"true", 4}};
            next_token(t);
            if (is_mark(t, '=')) {
                next_token(t);
                a.value = t->kind == DOT_ID || t->kind == DOT_HTML ? t->token : (gspan){"", 0};
                a.html = t->kind == DOT_HTML;
                if (t->kind == DOT_ID || t->kind == DOT_HTML) {
                    next_token(t);
                }
            }
            VEC_PUSH(t->attrs, t->n_attrs, t->cap_attrs, a);
        }
        if (is_mark(t, ']')) {
            next_token(t);
        } else {
            dot_lose(t, t->kind == DOT_END ? MAREY_LOSS_TRUNCATED : MAREY_LOSS_DAMAGED, t->token_at, 1);
            return first;
        }
    }
    return first;
}

/* ":out1:ne" behind a node: the port's number, if it has one. */
static uint32_t take_port(dot_text *t)
{
    uint32_t slot = GRAPH_NONE;
    while (is_mark(t, ':')) {
        next_token(t);
        if (t->kind != DOT_ID) {
            break;
        }
        size_t n = 0;
        while (n < t->token.n && t->token.s[t->token.n - n - 1] >= '0' && t->token.s[t->token.n - n - 1] <= '9') {
            n++;
        }
        uint64_t v = 0;
        if (slot == GRAPH_NONE && n <= 5 && gspan_u64((gspan){t->token.s + t->token.n - n, n}, &v)) {
            slot = (uint32_t)v;
        }
        next_token(t);
    }
    return slot;
}

/* The shape on an edge ("[1, 8, 768]") is the type of what its producer makes. */
static void take_edge_attrs(dot_text *t, uint32_t from)
{
    size_t first = take_attrs(t);
    for (size_t i = first; i < t->n_attrs; i++) {
        dot_attr a = t->attrs[i];
        if (from != GRAPH_NONE && gspan_is(a.key, "label") && a.value.n > 1 && a.value.s[0] == '[') {
            a.key = gspan_of("output");
            VEC_PUSH(t->attrs, t->n_attrs, t->cap_attrs, a);
            add_link(t, from, (uint32_t)t->n_attrs - 1);
            return;
        }
    }
}

static void open_subgraph(dot_text *t, gspan name, size_t left_from, size_t left_to, bool after_arrow)
{
    dot_frame f = {.scope = t->n_frames ? top(t)->scope : 0,
                   .first_defaults = t->n_defaults,
                   .first_mention = t->n_mentions,
                   .left_from = left_from,
                   .left_to = left_to,
                   .after_arrow = after_arrow};
    uint32_t depth = t->scopes[f.scope].depth + 1;
    bool cluster = gspan_starts(name, "cluster");
    if (cluster && depth > SCOPE_DEPTH_MAX) {
        dot_lose(t, MAREY_LOSS_LIMIT, t->token_at, 1);
    } else if (cluster) {
        VEC_PUSH(t->scopes, t->n_scopes, t->cap_scopes,
                 ((dot_scope){.name = name, .parent = f.scope, .depth = depth, .cluster = true}));
        f.scope = (uint32_t)t->n_scopes - 1;
    }
    VEC_PUSH(t->frames, t->n_frames, t->cap_frames, f);
}

/* What follows an operand of a chain: another arrow, or attributes. [from, to) is the operand's set of mentions. */
static void take_chain(dot_text *t, size_t from, size_t to, uint32_t slot);

/* "subgraph name {", "{": its statements come next; the chain goes on when it closes. */
static void begin_subgraph(dot_text *t, size_t left_from, size_t left_to, bool after_arrow)
{
    gspan name = {"", 0};
    if (is_word(t, "subgraph")) {
        next_token(t);
        if (t->kind == DOT_ID) {
            name = t->token;
            next_token(t);
        }
    }
    if (is_mark(t, '{')) {
        open_subgraph(t, name, left_from, left_to, after_arrow);
        next_token(t);
    } else {
        dot_lose(t, MAREY_LOSS_DAMAGED, t->token_at, 1);
    }
}

static void take_chain(dot_text *t, size_t from, size_t to, uint32_t slot)
{
    while (t->kind == DOT_ARROW) {
        next_token(t);
        if (is_mark(t, '{') || is_word(t, "subgraph")) {
            begin_subgraph(t, from, to, true);
            return;
        }
        if (t->kind != DOT_ID) {
            dot_lose(t, MAREY_LOSS_DAMAGED, t->token_at, 1);
            return;
        }
        size_t at = t->n_mentions;
        uint32_t node = mention(t, t->token);
        next_token(t);
        uint32_t port = take_port(t);
        if (to - from == 1) {
            add_edge(t, t->mentions[from], node, slot == GRAPH_NONE ? 0 : slot, port);
        } else {
            join_sets(t, from, to, at, at + 1);
        }
        from = at;
        to = at + 1;
        slot = port;
    }
    if (is_mark(t, '[')) {
        bool one = t->n_edges && to - from == 1;
        take_edge_attrs(t, one ? t->edges[t->n_edges - 1][0] : GRAPH_NONE);
    }
}

static void close_subgraph(dot_text *t)
{
    dot_frame f = *top(t);
    t->n_frames--;
    t->n_defaults = f.first_defaults;
    next_token(t);
    if (t->n_frames == 0) {
        t->closed = true;
        return;
    }
    size_t from = f.first_mention;
    size_t to = t->n_mentions;
    if (f.after_arrow) {
        join_sets(t, f.left_from, f.left_to, from, to);
    }
    take_chain(t, from, to, GRAPH_NONE);
}

static void take_default(dot_text *t, bool nodes)
{
    next_token(t);
    size_t first = take_attrs(t);
    for (size_t i = first; i < t->n_attrs && nodes; i++) {
        if (t->n_defaults == DEFAULTS_MAX) {
            dot_lose(t, MAREY_LOSS_LIMIT, t->token_at, t->n_attrs - i);
            return;
        }
        VEC_PUSH(t->defaults, t->n_defaults, t->cap_defaults, (uint32_t)i);
    }
}

/* "graph [label=x]" and "label=x" name the module. */
static void take_graph_attr(dot_text *t, gspan key, gspan value)
{
    if (gspan_is(key, "label")) {
        t->scopes[top(t)->scope].label = value;
    }
}

static void take_node(dot_text *t)
{
    gspan name = t->token;
    const char *at = t->token_at;
    next_token(t);
    if (is_mark(t, '=')) {
        next_token(t);
        if (t->kind == DOT_ID || t->kind == DOT_HTML) {
            take_graph_attr(t, name, t->token);
            next_token(t);
        } else {
            dot_lose(t, MAREY_LOSS_DAMAGED, at, 1);
        }
        return;
    }
    size_t from = t->n_mentions;
    uint32_t node = mention(t, name);
    uint32_t slot = take_port(t);
    if (t->kind == DOT_ARROW) {
        take_chain(t, from, from + 1, slot);
    } else if (is_mark(t, '[')) {
        size_t first = take_attrs(t);
        for (size_t i = first; i < t->n_attrs; i++) {
            add_link(t, node, (uint32_t)i);
        }
    }
}

static void take_statement(dot_text *t)
{
    if (is_mark(t, '}')) {
        close_subgraph(t);
    } else if (is_mark(t, '{') || is_word(t, "subgraph")) {
        begin_subgraph(t, 0, 0, false);
    } else if (is_word(t, "node") || is_word(t, "edge")) {
        take_default(t, is_word(t, "node"));
    } else if (is_word(t, "graph")) {
        size_t first = t->n_attrs;
        take_default(t, false);
        for (size_t i = first; i < t->n_attrs; i++) {
            take_graph_attr(t, t->attrs[i].key, t->attrs[i].value);
        }
    } else if (t->kind == DOT_ID) {
        take_node(t);
    } else {
        if (!is_mark(t, ';') && !is_mark(t, ',')) {
            dot_lose(t, MAREY_LOSS_DAMAGED, t->token_at, 1);
        }
        next_token(t);
    }
}

bool dot_is_head(const dot_text *t)
{
    return is_word(t, "strict") || is_word(t, "digraph") || is_word(t, "graph");
}

bool dot_take_head(dot_text *t)
{
    if (is_word(t, "strict")) {
        t->strict = true;
        next_token(t);
    }
    if (!is_word(t, "graph") && !is_word(t, "digraph")) {
        return false;
    }
    next_token(t);
    if (t->kind == DOT_ID) {
        t->name = t->token;
        next_token(t);
    }
    return is_mark(t, '{');
}

/* Ready for the next graph of the file: names mean other nodes there. */
static void forget(dot_text *t)
{
    intern_deinit(&t->names);
    map64_deinit(&t->pairs);
    t->n_nodes = t->n_attrs = t->n_links = t->n_scopes = t->n_frames = 0;
    t->n_defaults = t->n_mentions = t->n_edges = 0;
    t->name = (gspan){NULL, 0};
    t->strict = t->closed = false;
    t->sets = 0;
}

void dot_open(dot_text *t, const graph_input *in, size_t size)
{
    *t = (dot_text){.in = in, .start = (const char *)in->data, .bytes_left = 16 * (uint64_t)size};
    t->p = t->start + (size >= 3 && memcmp(in->data, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0);
    t->end = t->start + size;
    next_token(t);
}

void dot_deinit(dot_text *t)
{
    forget(t);
    arena_deinit(&t->mem);
    free(t->nodes);
    free(t->attrs);
    free(t->links);
    free(t->scopes);
    free(t->frames);
    free(t->defaults);
    free(t->mentions);
    free(t->edges);
}

marey_status dot_parse(dot_text *t)
{
    forget(t);
    if (!dot_take_head(t)) {
        return diag_error(t->in->diag, MAREY_FORMAT, t->in->path, (uint64_t)(t->token_at - t->start),
                          "A DOT graph begins with \"graph {\" or \"digraph {\".");
    }
    VEC_PUSH(t->scopes, t->n_scopes, t->cap_scopes, ((dot_scope){.depth = 0}));
    open_subgraph(t, (gspan){"", 0}, 0, 0, false);
    next_token(t);
    marey_status status = MAREY_OK;
    uint64_t steps = 0;
    while (status == MAREY_OK && t->kind != DOT_END && !t->closed) {
        take_statement(t);
        if ((++steps & 1023) == 0 && is_cancelled(t->in->cancel)) {
            status = MAREY_CANCELLED;
        }
    }
    if (status == MAREY_OK && !t->closed) {
        dot_lose(t, MAREY_LOSS_TRUNCATED, t->end, 1);
    }
    return status;
}
