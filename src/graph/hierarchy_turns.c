/*
 * Stated modules that take turns: decoder blocks with local and with global attention, one after the other. None of
 * them has an equal neighbour to stack with, so what repeats is a turn of two, three or four: it gets a scope of its
 * own.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "graph/hierarchy_work.h"

enum { LONGEST_TURN = 4, LEAST_TURNS = 3 };

typedef struct turn_work {
    hierarchy_work *h;
    size_t n_scopes;   /* before */
    uint64_t *content; /* multiset of operator types inside */
    uint32_t *children, *first_child;
    uint32_t *depth;
    uint8_t *asked; /* parents whose children's edges are in `wired` */
    map64 wired;    /* child << 32 | child */
    struct turn_run *runs;
    uint32_t *members;
    size_t n_runs, cap_runs, n_members, cap_members;
} turn_work;

/* Siblings that may take turns: members first .. first + n. */
typedef struct turn_run {
    size_t first, n, turn;
} turn_run;

static void sum_contents(turn_work *t)
{
    const graph *g = t->h->g;
    for (size_t i = g->n_nodes; i-- > 0;) {
        if (g->node_role[i] == GRAPH_OPERATOR && g->node_scope[i] < t->n_scopes) {
            t->content[g->node_scope[i]] += hash_u64(g->node_op[i] + 1) | 1;
        }
    }
    for (size_t s = t->n_scopes; s-- > 1;) {
        uint32_t up = g->scope_parent[s];
        if (up < t->n_scopes) {
            t->content[up] += hash_u64(t->content[s]);
        }
    }
}

static void list_children(turn_work *t)
{
    const graph *g = t->h->g;
    for (size_t s = 1; s < t->n_scopes; s++) {
        t->first_child[g->scope_parent[s] + 2]++;
    }
    for (size_t s = 2; s < t->n_scopes + 2; s++) {
        t->first_child[s] += t->first_child[s - 1];
    }
    for (size_t s = 1; s < t->n_scopes; s++) {
        t->children[t->first_child[g->scope_parent[s] + 1]++] = (uint32_t)s;
    }
}

typedef struct sibling {
    uint32_t stem, number, scope; /* "decoder_block_" and 12 */
} sibling;

static int by_number(const void *a, const void *b)
{
    const sibling *x = a, *y = b;
    if (x->stem != y->stem) {
        return x->stem < y->stem ? -1 : 1;
    }
    return x->number < y->number ? -1 : x->number > y->number;
}

/* Name without its last number, and the number; false: it has none. */
static bool split_name(const turn_work *t, uint32_t scope, text_table *stems, sibling *out)
{
    const text_table *s = t->h->strings;
    const char *name = s->text + s->at[t->h->g->scope_name[scope]];
    size_t n = strlen(name), digits = 0;
    while (digits < n && digits < 9 && name[n - digits - 1] >= '0' && name[n - digits - 1] <= '9') {
        digits++;
    }
    if (digits == 0) {
        return false;
    }
    *out =
        (sibling){text_table_put(stems, name, n - digits, NULL), (uint32_t)strtoul(name + n - digits, NULL, 10), scope};
    return true;
}

/* The shortest turn that the siblings from `at` on keep; 0: none, or all are alike. `*n`: how many take part. */
static size_t find_turn(const turn_work *t, const sibling *s, size_t at, size_t end, size_t *n)
{
    for (size_t p = 1; p <= LONGEST_TURN; p++) {
        size_t i = at;
        while (i + p < end && t->content[s[i].scope] == t->content[s[i + p].scope]) {
            i++;
        }
        *n = (i - at + p) / p * p;
        if (*n >= p * LEAST_TURNS) {
            return p == 1 ? 0 : p;
        }
    }
    *n = 1;
    return 0;
}

static void wrap(turn_work *t, const turn_run *r)
{
    graph *g = t->h->g;
    const uint32_t *m = t->members + r->first;
    for (size_t i = 0; i < r->n; i += r->turn) {
        const text_table *strings = t->h->strings;
        const char *first = strings->text + strings->at[g->scope_name[m[i]]];
        const char *last = strings->text + strings->at[g->scope_name[m[i + r->turn - 1]]];
        size_t n = strlen(last);
        while (n > 0 && last[n - 1] >= '0' && last[n - 1] <= '9') {
            n--;
        }
        char name[200];
        int len = snprintf(name, sizeof name, "%.150s-%.20s", first, last + n);
        uint32_t scope = hierarchy_scope(t->h, g->scope_parent[m[i]], name, (size_t)len);
        for (size_t k = i; k < i + r->turn; k++) {
            g->scope_parent[m[k]] = scope;
        }
        t->h->moved = true;
    }
}

static void keep_run(turn_work *t, const sibling *s, size_t at, size_t n, size_t turn)
{
    VEC_PUSH(t->runs, t->n_runs, t->cap_runs, ((turn_run){t->n_members, n, turn}));
    for (size_t i = at; i < at + n; i++) {
        VEC_PUSH(t->members, t->n_members, t->cap_members, s[i].scope);
    }
    t->asked[t->h->g->scope_parent[s[at].scope]] = 1;
}

/* Edges between children of the parents that were asked for. */
static void collect_wires(turn_work *t)
{
    const graph *g = t->h->g;
    for (size_t s = 1; s < t->n_scopes; s++) {
        t->depth[s] = t->depth[g->scope_parent[s]] + 1;
    }
    for (size_t e = 0; e < g->n_edges; e++) {
        uint32_t a = g->node_scope[g->edge_from[e]], b = g->node_scope[g->edge_to[e]];
        while (a != b && a < t->n_scopes && b < t->n_scopes && g->scope_parent[a] != g->scope_parent[b]) {
            bool deeper = t->depth[a] >= t->depth[b];
            *(deeper ? &a : &b) = g->scope_parent[deeper ? a : b];
        }
        if (a != b && t->asked[g->scope_parent[a]]) {
            *map64_put(&t->wired, (uint64_t)a << 32 | b) = 1;
        }
    }
}

/* Does each feed the next? */
static bool is_series(const turn_work *t, const turn_run *r)
{
    for (size_t i = 1; i < r->n; i++) {
        const uint32_t *m = t->members + r->first + i;
        if (!map64_get(&t->wired, (uint64_t)m[-1] << 32 | m[0]) || map64_get(&t->wired, (uint64_t)m[0] << 32 | m[-1])) {
            return false;
        }
    }
    return true;
}

/* Numbered siblings in one parent. */
static void find_runs(turn_work *t, uint32_t parent)
{
    uint32_t lo = t->first_child[parent], hi = t->first_child[parent + 1];
    if (hi - lo < 2 * LEAST_TURNS) {
        return;
    }
    text_table stems = {0};
    sibling *s = mem_alloc((hi - lo) * sizeof *s);
    size_t n = 0;
    for (uint32_t i = lo; i < hi; i++) {
        uint32_t scope = t->children[i];
        bool body = t->h->g->scope_flags[scope] & GRAPH_SCOPE_BODY;
        n += !body && t->content[scope] != 0 && split_name(t, scope, &stems, &s[n]);
    }
    if (n > 1) {
        qsort(s, n, sizeof *s, by_number);
    }
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i; end < n && s[end].stem == s[i].stem;) {
            end++;
        }
        for (size_t at = i, taken; at < end; at += taken) {
            size_t turn = find_turn(t, s, at, end, &taken);
            if (turn > 1) {
                keep_run(t, s, at, taken, turn);
            }
        }
    }
    free(s);
    text_table_deinit(&stems);
}

void hierarchy_take_turns(hierarchy_work *h, size_t n_scopes)
{
    turn_work t = {.h = h, .n_scopes = n_scopes};
    t.content = mem_calloc(n_scopes, sizeof *t.content);
    t.children = mem_alloc(n_scopes * sizeof *t.children);
    t.first_child = mem_calloc(n_scopes + 2, sizeof *t.first_child);
    t.depth = mem_calloc(n_scopes, sizeof *t.depth);
    t.asked = mem_calloc(n_scopes, 1);
    sum_contents(&t);
    list_children(&t);
    for (uint32_t s = 0; s < n_scopes && !is_cancelled(h->cancel); s++) {
        find_runs(&t, s);
    }
    if (t.n_runs > 0 && !is_cancelled(h->cancel)) {
        collect_wires(&t);
    }
    for (size_t i = 0; i < t.n_runs && !is_cancelled(h->cancel); i++) {
        if (is_series(&t, &t.runs[i])) {
            wrap(&t, &t.runs[i]);
        }
    }
    free(t.content);
    free(t.children);
    free(t.first_child);
    free(t.depth);
    free(t.asked);
    free(t.runs);
    free(t.members);
    map64_deinit(&t.wired);
}
