/*
 * Scopes where the input has none, or too few: by the names of weights (hierarchy_weights.c), by periods of the
 * sequence of operators (hierarchy_repeat.c), and last by sections of about sqrt(n) operators, cut where the fewest
 * values live. A place where a single value lives is the border of single-entry single-exit regions: cuts fall there
 * first. What still lies side by side in the one scope that holds everything is parted last (hierarchy_crowd.c).
 */
#include "graph/hierarchy.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "graph/hierarchy_work.h"
#include "graph/topo.h"

enum { MAX_NESTED = 12, LEAST_PART = 6, LARGE_ORDER = 128 };

uint32_t hierarchy_scope(hierarchy_work *h, uint32_t parent, const char *name, size_t n)
{
    graph *g = h->g;
    if (g->n_scopes >= h->cap_scopes) {
        size_t cap = g->n_scopes * 2 + 64;
        g->scope_parent = mem_realloc_array(g->scope_parent, cap, sizeof *g->scope_parent);
        g->scope_name = mem_realloc_array(g->scope_name, cap, sizeof *g->scope_name);
        g->scope_class = mem_realloc_array(g->scope_class, cap, sizeof *g->scope_class);
        g->scope_flags = mem_realloc_array(g->scope_flags, cap, sizeof *g->scope_flags);
        h->cap_scopes = cap;
    }
    uint32_t id = text_table_put(h->strings, name, n, NULL);
    size_t i = g->n_scopes++;
    g->scope_parent[i] = parent;
    g->scope_name[i] = id == UINT32_MAX ? 0 : id;
    g->scope_class[i] = 0;
    g->scope_flags[i] = GRAPH_SCOPE_INFERRED;
    g->scopes_inferred = true;
    return (uint32_t)i;
}

static void push_stretch(hierarchy_work *h, uint32_t first_start, uint32_t n_runs, uint32_t n, uint32_t depth)
{
    if (n > 0) {
        VEC_PUSH(h->todo, h->n_todo, h->cap_todo, ((stretch){first_start, n_runs, n, depth, false}));
    }
}

/* The part [from, from + n) of every run, in the run's own scope. */
static void push_part(hierarchy_work *h, stretch s, uint32_t from, uint32_t n)
{
    uint32_t first = (uint32_t)h->n_starts;
    for (uint32_t r = 0; r < s.n_runs; r++) {
        run_start start = h->starts[s.first_start + r];
        start.at += from;
        VEC_PUSH(h->starts, h->n_starts, h->cap_starts, start);
    }
    push_stretch(h, first, s.n_runs, n, s.depth + 1);
}

/* The same part in a new scope of each run. */
static stretch push_scope(hierarchy_work *h, stretch s, uint32_t from, uint32_t n, const char *word, unsigned number)
{
    char name[64];
    int len = snprintf(name, sizeof name, "%s.%u", word, number);
    uint32_t first = (uint32_t)h->n_starts;
    for (uint32_t r = 0; r < s.n_runs; r++) {
        run_start start = h->starts[s.first_start + r];
        start.scope = hierarchy_scope(h, start.scope, name, (size_t)len);
        start.at += from;
        VEC_PUSH(h->starts, h->n_starts, h->cap_starts, start);
    }
    push_stretch(h, first, s.n_runs, n, s.depth + 1);
    h->todo[h->n_todo - 1].own = true;
    return h->todo[h->n_todo - 1];
}

/* All repeats of all runs become runs of one stretch; what is before and behind stays where it is. */
static void part_by_repeat(hierarchy_work *h, stretch s, repeat r, unsigned region)
{
    char word[16] = "block";
    if (s.n_runs == 1) { /* "layer", "layer B", ..., one for each region of the graph that repeats */
        (void)snprintf(word, sizeof word, "layer%c%c", region ? ' ' : '\0', 'A' + (int)(region < 25 ? region : 25));
    }
    uint32_t first = (uint32_t)h->n_starts;
    for (uint32_t run = 0; run < s.n_runs; run++) {
        run_start start = h->starts[s.first_start + run];
        for (uint32_t k = 0; k < r.repeats; k++) {
            char name[64];
            int len = snprintf(name, sizeof name, "%s.%u", word, k);
            run_start one = {start.at + r.first + k * r.period, hierarchy_scope(h, start.scope, name, (size_t)len)};
            VEC_PUSH(h->starts, h->n_starts, h->cap_starts, one);
        }
    }
    push_stretch(h, first, s.n_runs * r.repeats, r.period, s.depth + 1);
    h->todo[h->n_todo - 1].own = true;
    uint32_t end = r.first + r.period * r.repeats;
    push_part(h, s, end, s.n - end);
    push_part(h, s, 0, r.first);
}

static void settle(hierarchy_work *h, stretch s)
{
    for (uint32_t r = 0; r < s.n_runs; r++) {
        run_start start = h->starts[s.first_start + r];
        for (uint32_t i = 0; i < s.n; i++) {
            h->g->node_scope[h->order[start.at + i]] = start.scope;
        }
    }
}

/* Sections of about sqrt(n), at least 12: each ends within half a length where fewest values live, near the middle. */
static void part_by_sections(hierarchy_work *h, stretch s)
{
    uint32_t length = (uint32_t)sqrt((double)s.n), from = 0;
    length = length < 12 ? 12 : length;
    if (!s.own && !h->in_crowd) { /* others share its scope: the sections get one of their own */
        s = push_scope(h, s, 0, s.n, "part", h->n_parts++);
        h->n_todo--;
        settle(h, s);
    }
    unsigned own = 0, *number = s.own ? &own : &h->n_parts;
    uint32_t *ends = NULL;
    size_t n_ends = 0, cap = 0;
    while (s.n - from > length + length / 2) {
        uint32_t best = from + length;
        for (uint32_t k = 1; k <= length / 2; k++) {
            uint32_t late = from + length + k, early = from + length - k;
            best = h->cut[early] < h->cut[best] ? early : best;
            best = h->cut[late] < h->cut[best] ? late : best;
        }
        VEC_PUSH(ends, n_ends, cap, best);
        from = best;
    }
    VEC_PUSH(ends, n_ends, cap, s.n);
    from = 0;
    for (size_t i = 0; i < n_ends; i++) {
        (void)push_scope(h, s, from, ends[i] - from, "section", (*number)++);
        from = ends[i];
    }
    free(ends);
}

/* Is a stretch what was left beside repeats, in a scope with much more? Then it is one box, else its operators hide the
 * repeats. */
static bool is_remainder(const hierarchy_work *h, const stretch *s)
{
    return !h->in_crowd && !s->own && s->n_runs == 1 && s->n >= LEAST_PART && h->n_order > LARGE_ORDER;
}

/* Everything in the scope at hand. `region`: repeats found in single runs so far, for their names. */
static marey_status part_all(hierarchy_work *h)
{
    unsigned region = 0;
    while (h->n_todo > 0) {
        if (is_cancelled(h->cancel)) {
            return MAREY_CANCELLED;
        }
        stretch s = h->todo[--h->n_todo];
        settle(h, s);
        if (s.n <= (h->in_crowd && !s.own ? HIERARCHY_BETWEEN : HIERARCHY_SMALL) || s.depth >= MAX_NESTED) {
            if (is_remainder(h, &s)) {
                s = push_scope(h, s, 0, s.n, "part", h->n_parts++);
                h->n_todo--;
                settle(h, s);
            }
            continue;
        }
        hierarchy_cut_profile(h, &s);
        repeat r;
        if (hierarchy_find_repeat(h, &s, &r)) {
            part_by_repeat(h, s, r, s.n_runs > 1 ? 0 : region++);
        } else {
            part_by_sections(h, s);
        }
    }
    return MAREY_OK;
}

/* Operators that lie in the scope itself, in topological order. */
static void order_scope(hierarchy_work *h, const uint32_t *nodes, size_t n)
{
    graph *g = h->g;
    uint32_t *from = NULL, *to = NULL;
    size_t m = 0, cap_from = 0, cap_to = 0, k = 0;
    bool sorted = true;
    for (uint32_t i = 0; i < n; i++) {
        h->place[nodes[i]] = i;
    }
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t e = g->in_first[nodes[i]]; e < g->in_first[nodes[i] + 1]; e++) {
            uint32_t p = h->place[g->edge_from[e]];
            if (p != GRAPH_NONE && p != i) {
                VEC_RESERVE(to, cap_to, m + 1);
                to[m] = i;
                VEC_PUSH(from, m, cap_from, p);
                sorted = sorted && p < i;
            }
        }
    }
    h->n_order = n;
    memcpy(h->order, nodes, n * sizeof *nodes);
    if (!sorted) {
        uint32_t *key = mem_alloc(3 * n * sizeof *key), *rank = key + n, *ranked = key + 2 * n;
        for (k = 0; k < n; k++) {
            key[k] = (uint32_t)k;
        }
        topo_ranks(n, m, from, to, key, rank, ranked, h->cancel);
        for (k = 0; k < n; k++) {
            h->order[k] = nodes[ranked[k]];
        }
        free(key);
    }
    free(from);
    free(to);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t v = h->order[i], inputs = 0;
        h->place[v] = i;
        for (uint32_t e = g->in_first[v]; e < g->in_first[v + 1]; e++) {
            inputs += !(g->edge_flags[e] & GRAPH_CONTROL);
        }
        h->label[i] = (uint64_t)g->node_op[v] << 16 | (inputs & 0xFFFF);
    }
}

static marey_status infer_scope(hierarchy_work *h, uint32_t scope, const uint32_t *nodes, size_t n, bool by_weights)
{
    order_scope(h, nodes, n);
    h->n_starts = 0;
    h->n_parts = 0;
    VEC_PUSH(h->starts, h->n_starts, h->cap_starts, ((run_start){0, scope}));
    push_stretch(h, 0, 1, (uint32_t)n, 0);
    h->todo[h->n_todo - 1].own = true;
    bool named = by_weights && hierarchy_by_weights(h, scope);
    h->n_todo = named ? 0 : h->n_todo;
    marey_status status = part_all(h);
    for (size_t i = 0; i < n; i++) {
        h->place[nodes[i]] = GRAPH_NONE;
    }
    return status;
}

marey_status hierarchy_part(hierarchy_work *h, uint32_t scope, const uint32_t *nodes, size_t n)
{
    return infer_scope(h, scope, nodes, n, false);
}

/* Operators by scope: [first[s], first[s + 1]). The caller frees both. */
static uint32_t *group_by_scope(const graph *g, uint32_t *first)
{
    for (size_t i = 0; i < g->n_nodes; i++) {
        first[g->node_scope[i] + 2] += g->node_role[i] == GRAPH_OPERATOR;
    }
    for (size_t s = 2; s < g->n_scopes + 2; s++) {
        first[s] += first[s - 1];
    }
    uint32_t *nodes = mem_alloc((g->n_nodes + 1) * sizeof *nodes);
    for (size_t i = 0; i < g->n_nodes; i++) {
        if (g->node_role[i] == GRAPH_OPERATOR) {
            nodes[first[g->node_scope[i] + 1]++] = (uint32_t)i;
        }
    }
    return nodes;
}

/* Bodies go where the operator that calls them went: the first, where several do. */
static void follow_callers(hierarchy_work *h, size_t n_stated)
{
    graph *g = h->g;
    uint8_t *done = mem_calloc(g->n_scopes, 1);
    for (size_t i = 0; i < g->n_nodes && g->node_body; i++) {
        uint32_t body = g->node_body[i], scope = g->node_scope[i];
        if (body == GRAPH_NONE || body == 0 || body >= n_stated || done[body] || scope < n_stated) {
            continue;
        }
        /* Only a sibling of its caller moves along: else it could end up inside itself. */
        uint32_t above = scope;
        while (above >= n_stated) {
            above = g->scope_parent[above];
        }
        if (g->scope_parent[body] == above) {
            g->scope_parent[body] = scope;
            done[body] = 1;
            h->moved = true;
        }
    }
    free(done);
}

static void permute(uint32_t *column, const uint32_t *order, size_t n)
{
    uint32_t *copy = mem_alloc(n * sizeof *copy);
    memcpy(copy, column, n * sizeof *copy);
    for (size_t i = 0; i < n; i++) {
        column[i] = copy[order[i]];
    }
    free(copy);
}

/* Scopes anew, parents before children. */
static void renumber(graph *g)
{
    size_t n = g->n_scopes, k = 0;
    uint32_t *first = mem_calloc(4 * n + 4, sizeof *first), *children = first + n + 2, *order = children + n,
             *place = order + n;
    for (size_t i = 1; i < n; i++) {
        first[g->scope_parent[i] + 2]++;
    }
    for (size_t i = 2; i < n + 2; i++) {
        first[i] += first[i - 1];
    }
    for (size_t i = 1; i < n; i++) {
        children[first[g->scope_parent[i] + 1]++] = (uint32_t)i;
    }
    order[k++] = 0;
    for (size_t i = 0; i < k; i++) {
        place[order[i]] = (uint32_t)i;
        for (uint32_t c = first[order[i]]; c < first[order[i] + 1]; c++) {
            order[k++] = children[c];
        }
    }
    uint8_t *flags = mem_alloc(n);
    memcpy(flags, g->scope_flags, n);
    for (size_t i = 0; i < n; i++) {
        g->scope_flags[i] = flags[order[i]];
        g->scope_parent[i] = place[g->scope_parent[i]];
    }
    permute(g->scope_parent, order, n);
    permute(g->scope_name, order, n);
    permute(g->scope_class, order, n);
    for (size_t i = 0; i < g->n_nodes; i++) {
        g->node_scope[i] = place[g->node_scope[i]];
    }
    for (size_t i = 0; i < g->n_nodes && g->node_body; i++) {
        g->node_body[i] = g->node_body[i] == GRAPH_NONE ? GRAPH_NONE : place[g->node_body[i]];
    }
    free(flags);
    free(first);
}

/* Does the input state modules? Bodies and functions alone are none, and neither are one or two scopes for all
 * operators. */
static bool states_modules(const graph *g)
{
    size_t inside = 0, operators = 0, scopes = 0;
    for (size_t i = 0; i < g->n_nodes; i++) {
        uint32_t s = g->node_scope[i];
        operators += g->node_role[i] == GRAPH_OPERATOR;
        inside += g->node_role[i] == GRAPH_OPERATOR && s != 0 && !(g->scope_flags[s] & GRAPH_SCOPE_BODY);
    }
    for (size_t s = 1; s < g->n_scopes; s++) {
        scopes += !(g->scope_flags[s] & GRAPH_SCOPE_BODY);
    }
    return inside * 4 > operators && scopes >= 3;
}

/* What lies in scopes that tell nothing goes to the body around them. */
static void leave_poor_scopes(graph *g)
{
    uint32_t *up = mem_alloc(g->n_scopes * sizeof *up);
    up[0] = 0;
    for (uint32_t s = 1; s < g->n_scopes; s++) {
        up[s] = g->scope_flags[s] & GRAPH_SCOPE_BODY ? s : up[g->scope_parent[s]];
    }
    for (size_t i = 0; i < g->n_nodes; i++) {
        g->node_scope[i] = up[g->node_scope[i]];
    }
    free(up);
}

/* Scopes from .. to with more than `least` operators of their own. */
static marey_status infer_scopes(hierarchy_work *h, size_t from, size_t to, size_t least, bool by_weights)
{
    uint32_t *first = mem_calloc(h->g->n_scopes + 2, sizeof *first), *nodes = group_by_scope(h->g, first);
    marey_status status = MAREY_OK;
    for (size_t s = from; s < to && status == MAREY_OK; s++) {
        size_t n = first[s + 1] - first[s];
        if (n > least) {
            status = infer_scope(h, (uint32_t)s, nodes + first[s], n, by_weights);
        }
    }
    free(first);
    free(nodes);
    return status;
}

void hierarchy_work_init(hierarchy_work *h)
{
    size_t n = h->g->n_nodes;
    h->order = mem_alloc((n + 1) * sizeof *h->order);
    h->place = mem_alloc((n + 1) * sizeof *h->place);
    h->label = mem_alloc((n + 1) * sizeof *h->label);
    h->cut = mem_alloc((n + 2) * sizeof *h->cut);
    memset(h->place, 0xFF, (n + 1) * sizeof *h->place);
}

void hierarchy_work_deinit(hierarchy_work *h)
{
    void *owned[] = {h->order, h->place, h->label, h->cut, h->starts, h->todo};
    for (size_t i = 0; i < sizeof owned / sizeof owned[0]; i++) {
        free(owned[i]);
    }
}

marey_status hierarchy_infer(graph *g, text_table *strings, cancel_flag *cancel)
{
    hierarchy_work h = {.g = g, .strings = strings, .cancel = cancel, .cap_scopes = g->n_scopes};
    size_t n_stated = g->n_scopes, least = HIERARCHY_LARGE;
    if (!states_modules(g) && g->n_nodes - g->n_implied_nodes > HIERARCHY_SMALL) {
        least = HIERARCHY_SMALL;
        leave_poor_scopes(g);
    }
    hierarchy_work_init(&h);
    marey_status status = infer_scopes(&h, 0, n_stated, least, least == HIERARCHY_SMALL);
    if (status == MAREY_OK && least == HIERARCHY_SMALL) { /* what weights named may be large still */
        status = infer_scopes(&h, n_stated, g->n_scopes, 2 * HIERARCHY_SMALL, false);
    }
    size_t n_now = g->n_scopes;
    if (status == MAREY_OK && n_now > 2) {
        hierarchy_take_turns(&h, n_now);
    }
    if (status == MAREY_OK && g->n_scopes > n_stated) {
        follow_callers(&h, n_stated);
        if (h.moved) {
            renumber(g);
        }
    }
    if (status == MAREY_OK && least == HIERARCHY_LARGE) {
        h.moved = false;
        status = hierarchy_crowd(&h);
        if (h.moved) {
            renumber(g);
        }
    }
    hierarchy_work_deinit(&h);
    return status;
}
