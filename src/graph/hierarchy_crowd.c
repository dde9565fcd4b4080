/*
 * A stated scope that holds everything, side by side: sixty layers of a network in one function. What lies right in it
 * (operators, and scopes as wholes) is parted: by the first parts of names where these come in runs (conv2_block1_1_bn,
 * conv2_block1_2_conv), else like the operators of a graph without scopes, on the graph of these units.
 */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "graph/hierarchy_work.h"

enum {
    CROWDED = 60,     /* units that need no parting */
    FEW = 8,          /* units: the largest of so few is looked into */
    MOST_GROUPS = 40, /* that names may make */
    MAX_WORDS = 4
};

typedef struct crowd {
    hierarchy_work *h;
    uint32_t *operators; /* [n_scopes] inside, at any depth */
    uint64_t *content;   /* [n_scopes] multiset of operator types inside */
    uint32_t *unit;      /* [n_scopes] unit that the scope lies in; GRAPH_NONE */
    uint32_t *of_node;   /* [n_nodes] likewise */
    uint64_t *kind;      /* [n] units: what they are */
    uint32_t *name;      /* [n] string */
    uint32_t *moved_to;  /* [n] scope that a unit is moved into; GRAPH_NONE */
    bool *is_scope;      /* [n] */
    size_t n, cap_kind, cap_name, cap_is_scope;
} crowd;

/* Operators that make constants out of parameters follow their consumers: they are shown inside them mostly. */
static bool only_prepares(const graph *g, uint32_t node)
{
    uint32_t first = g->in_first[node], end = g->in_first[node + 1];
    for (uint32_t e = first; e < end; e++) {
        uint8_t role = g->node_role[g->edge_from[e]];
        if (role != GRAPH_PARAMETER && role != GRAPH_CONSTANT) {
            return false;
        }
    }
    return first < end;
}

static bool counts(const graph *g, uint32_t node)
{
    return g->node_role[node] == GRAPH_OPERATOR && !only_prepares(g, node);
}

static void sum_up(crowd *c)
{
    const graph *g = c->h->g;
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        if (counts(g, i)) {
            c->operators[g->node_scope[i]]++;
            c->content[g->node_scope[i]] += hash_u64(g->node_op[i] + 1) | 1;
        }
    }
    for (size_t s = g->n_scopes; s-- > 1;) { /* parents come first */
        c->operators[g->scope_parent[s]] += c->operators[s];
        c->content[g->scope_parent[s]] += hash_u64(c->content[s]);
    }
}

/* The outermost scope with anything to part: down from the root, through what holds nearly all, next to little else. */
static uint32_t find_crowded(const crowd *c)
{
    const graph *g = c->h->g;
    uint32_t *children = mem_calloc(3 * g->n_scopes, sizeof *children), *largest = children + g->n_scopes,
             *own = largest + g->n_scopes;
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        own[g->node_scope[i]] += counts(g, i) && g->node_class[i] != GRAPH_CLASS_BOOKKEEPING;
    }
    for (uint32_t s = 1; s < g->n_scopes; s++) {
        uint32_t up = g->scope_parent[s];
        children[up] += c->operators[s] > 0;
        largest[up] = largest[up] == 0 || c->operators[s] > c->operators[largest[up]] ? s : largest[up];
    }
    uint32_t top = 0;
    while (children[top] > 0 && own[top] + children[top] <= FEW &&
           (uint64_t)c->operators[largest[top]] * 4 >= (uint64_t)c->operators[top] * 3) {
        top = largest[top];
    }
    bool is = own[top] + children[top] > CROWDED;
    free(children);
    return is ? top : GRAPH_NONE;
}

static uint32_t add_unit(crowd *c, uint64_t kind, uint32_t name, bool is_scope)
{
    VEC_RESERVE(c->name, c->cap_name, c->n + 1);
    VEC_RESERVE(c->is_scope, c->cap_is_scope, c->n + 1);
    c->name[c->n] = name;
    c->is_scope[c->n] = is_scope;
    VEC_PUSH(c->kind, c->n, c->cap_kind, kind);
    return (uint32_t)(c->n - 1);
}

/* What lies right in `top`, in the order of the input. An operator and its body are one. */
static void list_units(crowd *c, uint32_t top)
{
    const graph *g = c->h->g;
    uint32_t *child = mem_alloc(g->n_scopes * sizeof *child); /* of top, that a scope lies in */
    memset(child, 0xFF, g->n_scopes * sizeof *child);
    memset(c->unit, 0xFF, g->n_scopes * sizeof *c->unit);
    for (uint32_t s = 1; s < g->n_scopes; s++) {
        uint32_t up = g->scope_parent[s];
        child[s] = up == top && s != top ? s : child[up];
    }
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        uint32_t s = g->node_scope[i], holder = s == top ? GRAPH_NONE : child[s];
        c->of_node[i] = GRAPH_NONE;
        bool is_top = s == top && graph_body_of(g, i) == top; /* the call that the scope stands for */
        if (!counts(g, i) || is_top || (s != top && holder == GRAPH_NONE)) {
            continue;
        }
        if (s == top) {
            uint32_t body = graph_body_of(g, i);
            holder = body != GRAPH_NONE && body != top && child[body] == body ? body : GRAPH_NONE;
        }
        if (holder == GRAPH_NONE) {
            c->of_node[i] = add_unit(c, (uint64_t)g->node_op[i] + 1, g->node_name[i], false);
            continue;
        }
        if (c->unit[holder] == GRAPH_NONE) {
            c->unit[holder] = add_unit(c, hash_u64(c->content[holder]), g->scope_name[holder], true);
        }
        c->of_node[i] = c->unit[holder];
    }
    free(child);
}

/* ---- by names */

/* Bytes of the first k words of a name; 0: it has no more than these. Words end at '_', '.', '-', ':' and '/'. */
static size_t prefix_of(const char *name, unsigned k)
{
    size_t i = 0;
    for (; name[i]; i++) {
        if (strchr("_.-:/", name[i]) && i > 0 && --k == 0) {
            return i;
        }
    }
    return 0;
}

static const char *unit_name(const crowd *c, size_t unit)
{
    const text_table *strings = c->h->strings;
    const char *name = strings->text + strings->at[c->name[unit]], *slash = strrchr(name, '/');
    return slash && slash[1] ? slash + 1 : name;
}

/* Groups of units by the first k words: `group` [n] out, places in `groups`. Good are few groups, most of them of
 * three and more, each one run or two of the order. */
static bool groups_are_good(const crowd *c, unsigned k, uint32_t *group, text_table *groups)
{
    size_t runs = 0, alone = 0, inside = 0, shown = 0, largest = 0;
    uint32_t *size = mem_calloc(c->n + 1, sizeof *size);
    for (size_t i = 0; i < c->n; i++) {
        size_t n = prefix_of(unit_name(c, i), k);
        group[i] = n == 0 ? GRAPH_NONE : text_table_put(groups, unit_name(c, i), n, NULL);
        size[n == 0 ? c->n : group[i]]++;
        runs += n > 0 && (i == 0 || group[i] != group[i - 1]);
    }
    alone = size[c->n];
    for (size_t i = 0; i < groups->n; i++) {
        shown++;
        inside += size[i] >= 3 ? size[i] : 0;
        largest = size[i] > largest ? size[i] : largest;
    }
    free(size);
    return shown >= 4 && shown + alone <= MOST_GROUPS && inside * 4 >= c->n * 3 && largest * 2 <= c->n &&
           runs <= shown + shown / 2;
}

static bool part_by_names(crowd *c, uint32_t top)
{
    uint32_t *group = mem_alloc((c->n + 1) * sizeof *group);
    for (unsigned k = MAX_WORDS; k > 0; k--) {
        text_table groups = {0};
        bool good = groups_are_good(c, k, group, &groups);
        uint32_t *size = mem_calloc(2 * groups.n + 2, sizeof *size), *scope = size + groups.n;
        for (size_t i = 0; good && i < c->n; i++) {
            size[group[i] == GRAPH_NONE ? groups.n + groups.n : group[i]] += group[i] != GRAPH_NONE;
        }
        for (size_t i = 0; good && i < c->n; i++) {
            uint32_t x = group[i];
            if (x != GRAPH_NONE && size[x] > 1) {
                const char *name = groups.text + groups.at[x];
                scope[x] = scope[x] != 0 ? scope[x] : hierarchy_scope(c->h, top, name, strlen(name));
                c->moved_to[i] = scope[x];
            }
        }
        free(size);
        text_table_deinit(&groups);
        if (good) {
            free(group);
            return true;
        }
    }
    free(group);
    return false;
}

/* ---- by their graph */

static int by_consumer(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* The graph of units: its nodes' operators are their kinds. */
static void unit_graph(const crowd *c, graph *q)
{
    const graph *g = c->h->g;
    uint64_t *wires = NULL; /* to << 32 | from */
    size_t m = 0, cap = 0;
    for (size_t e = 0; e < g->n_edges; e++) {
        uint32_t a = c->of_node[g->edge_from[e]], b = c->of_node[g->edge_to[e]];
        if (a != b && a != GRAPH_NONE && b != GRAPH_NONE) {
            VEC_PUSH(wires, m, cap, ((uint64_t)b << 32 | a));
        }
    }
    if (m > 0) {
        qsort(wires, m, sizeof *wires, by_consumer);
    }
    map64 kinds = {0};
    q->n_nodes = c->n;
    q->node_op = mem_alloc((c->n + 1) * sizeof *q->node_op);
    q->node_scope = mem_calloc(c->n + 1, sizeof *q->node_scope);
    q->node_flags = mem_calloc(c->n + 1, 1);
    for (size_t i = 0; i < c->n; i++) {
        uint64_t *id = map64_put(&kinds, c->kind[i] | 1);
        *id = *id != 0 ? *id : i + 1;
        q->node_op[i] = (uint32_t)*id;
    }
    map64_deinit(&kinds);
    q->edge_from = mem_alloc((m + 1) * sizeof *q->edge_from);
    q->edge_to = mem_alloc((m + 1) * sizeof *q->edge_to);
    q->edge_to_slot = mem_calloc(m + 1, sizeof *q->edge_to_slot);
    q->edge_flags = mem_calloc(m + 1, 1);
    for (size_t i = 0; i < m; i++) {
        if (i == 0 || wires[i] != wires[i - 1]) {
            q->edge_from[q->n_edges] = (uint32_t)wires[i];
            q->edge_to[q->n_edges++] = (uint32_t)(wires[i] >> 32);
        }
    }
    free(wires);
    q->n_scopes = 1;
    q->scope_parent = mem_calloc(1, sizeof *q->scope_parent);
    q->scope_name = mem_calloc(1, sizeof *q->scope_name);
    q->scope_class = mem_calloc(1, sizeof *q->scope_class);
    q->scope_flags = mem_calloc(1, 1);
    (void)graph_index(q);
}

/* Equal scopes in series will be one stack, and must stay side by side. */
static bool is_crowded(const crowd *c, const graph *q)
{
    size_t n = 0;
    for (uint32_t i = 0; i < c->n; i++) {
        bool follows = false;
        for (uint32_t e = q->in_first[i]; e < q->in_first[i + 1] && c->is_scope[i]; e++) {
            follows |= c->is_scope[q->edge_from[e]] && c->kind[q->edge_from[e]] == c->kind[i];
        }
        n += !follows;
    }
    return n > CROWDED;
}

static marey_status part_by_graph(crowd *c, graph *units, uint32_t top)
{
    graph q = *units;
    hierarchy_work h = {.g = &q, .strings = c->h->strings, .cancel = c->h->cancel, .cap_scopes = 1, .in_crowd = true};
    hierarchy_work_init(&h);
    uint32_t *all = mem_alloc((c->n + 1) * sizeof *all);
    for (uint32_t i = 0; i < c->n; i++) {
        all[i] = i;
    }
    marey_status status = hierarchy_part(&h, 0, all, c->n);
    uint32_t *scope = mem_alloc(q.n_scopes * sizeof *scope);
    scope[0] = top;
    for (size_t s = 1; s < q.n_scopes && status == MAREY_OK; s++) {
        const char *name =
            q.scope_name[s] < c->h->strings->n ? c->h->strings->text + c->h->strings->at[q.scope_name[s]] : "";
        scope[s] = hierarchy_scope(c->h, scope[q.scope_parent[s]], name, strlen(name));
    }
    for (size_t i = 0; i < c->n && status == MAREY_OK; i++) {
        c->moved_to[i] = q.node_scope[i] == 0 ? GRAPH_NONE : scope[q.node_scope[i]];
    }
    free(scope);
    free(all);
    hierarchy_work_deinit(&h);
    *units = q;
    return status;
}

/* Units into their new scopes; what was no unit stays. */
static void move_units(const crowd *c, uint32_t top, size_t n_scopes)
{
    graph *g = c->h->g;
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        uint32_t u = c->of_node[i];
        if (g->node_scope[i] == top && u != GRAPH_NONE && c->moved_to[u] != GRAPH_NONE) {
            g->node_scope[i] = c->moved_to[u];
        }
    }
    for (size_t s = 1; s < n_scopes; s++) {
        uint32_t u = c->unit[s];
        if (u != GRAPH_NONE && c->moved_to[u] != GRAPH_NONE) {
            g->scope_parent[s] = c->moved_to[u];
            c->h->moved = true;
        }
    }
}

marey_status hierarchy_crowd(hierarchy_work *h)
{
    graph *g = h->g;
    size_t n_scopes = g->n_scopes;
    crowd c = {.h = h};
    c.operators = mem_calloc(n_scopes, sizeof *c.operators);
    c.content = mem_calloc(n_scopes, sizeof *c.content);
    c.unit = mem_alloc(n_scopes * sizeof *c.unit);
    c.of_node = mem_alloc((g->n_nodes + 1) * sizeof *c.of_node);
    sum_up(&c);
    uint32_t top = find_crowded(&c);
    marey_status status = MAREY_OK;
    if (top != GRAPH_NONE) {
        list_units(&c, top);
        c.moved_to = mem_alloc((c.n + 1) * sizeof *c.moved_to);
        memset(c.moved_to, 0xFF, (c.n + 1) * sizeof *c.moved_to);
        graph units = {0};
        unit_graph(&c, &units);
        if (is_crowded(&c, &units) && !part_by_names(&c, top)) {
            status = part_by_graph(&c, &units, top);
        }
        graph_deinit(&units);
        move_units(&c, top, n_scopes);
    }
    void *owned[] = {c.operators, c.content, c.unit, c.of_node, c.kind, c.name, c.is_scope, c.moved_to};
    for (size_t i = 0; i < sizeof owned / sizeof owned[0]; i++) {
        free(owned[i]);
    }
    return status;
}
