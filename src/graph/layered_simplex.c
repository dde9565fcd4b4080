/*
 * Layers with the shortest lines in sum, by the network simplex method (Gansner, Koutsofios, North, Vo 1993), from
 * layers that are feasible already. A spanning tree of tight arcs is kept; the cut value of a tree arc is, up to its
 * sign, the weight out of the subtree below it less the weight into it, which is a sum over the subtree: so a pivot
 * costs O(vertices + arcs) without any bookkeeping. The number of pivots is bounded by the work they may do.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "graph/layered.h"

enum { MOST_VERTICES = 4000, MOST_WORK = 3000000 };

typedef struct arc {
    uint32_t from, to;
    int32_t weight;
    bool tree;
} arc;

typedef struct simplex {
    layered *g;
    uint32_t n, n_arcs;
    arc *arcs;
    size_t cap;
    int32_t *rank, *net;  /* [n] net: weight out less weight in */
    uint32_t *first, *at; /* tree arcs of a vertex */
    uint32_t *parent_arc; /* [n]; GRAPH_NONE: root */
    uint32_t *order;      /* [n] parents first */
    int64_t *sum;         /* [n] of net below */
    uint8_t *in;          /* [n] scratch: inside the subtree */
} simplex;

static void push_arc(simplex *s, uint32_t from, uint32_t to, int32_t weight)
{
    size_t n = s->n_arcs;
    VEC_PUSH(s->arcs, n, s->cap, ((arc){from, to, weight, false}));
    s->n_arcs = (uint32_t)n;
    s->net[from] += weight;
    s->net[to] -= weight;
}

/* Lines of a wide fan share a trunk, and those of ports are out of the way: half as heavy. */
static int32_t weight_of(const layered *g, const layered_line *l)
{
    bool fan = g->line_first[l->from + 1] - g->line_first[l->from] > 8;
    return fan || l->from == g->in_port || l->to == g->out_port ? 1 : 2;
}

/* Lines; and the in-port stays before all, the out-port behind. */
static void make_arcs(simplex *s)
{
    const layered *g = s->g;
    for (uint32_t i = 0; i < g->n_lines; i++) {
        const layered_line *l = &g->lines[i];
        if (l->outer == OUTER_NONE) {
            push_arc(s, l->from, l->to, weight_of(g, l));
        }
    }
    for (uint32_t x = 0; x < s->n; x++) {
        if (g->in_port != GRAPH_NONE && x != g->in_port) {
            push_arc(s, g->in_port, x, 0);
        }
        if (g->out_port != GRAPH_NONE && x != g->out_port) {
            push_arc(s, x, g->out_port, 0);
        }
    }
}

static int32_t slack(const simplex *s, const arc *a)
{
    return s->rank[a->to] - s->rank[a->from] - 1;
}

static void index_arcs(simplex *s, bool tree_only)
{
    memset(s->first, 0, (s->n + 2U) * sizeof *s->first);
    for (uint32_t i = 0; i < s->n_arcs; i++) {
        if (s->arcs[i].tree || !tree_only) {
            s->first[s->arcs[i].from + 1]++;
            s->first[s->arcs[i].to + 1]++;
        }
    }
    for (uint32_t x = 0; x < s->n; x++) {
        s->first[x + 1] += s->first[x];
    }
    for (uint32_t i = s->n_arcs; i-- > 0;) { /* filled from the end: no second array */
        if (s->arcs[i].tree || !tree_only) {
            s->at[--s->first[s->arcs[i].from + 1]] = i;
            s->at[--s->first[s->arcs[i].to + 1]] = i;
        }
    }
    memmove(s->first, s->first + 1, s->n * sizeof *s->first);
    s->first[s->n] = 0;
    for (uint32_t i = 0; i < s->n_arcs; i++) {
        s->first[s->n] += s->arcs[i].tree || !tree_only ? 2 : 0;
    }
}

/* All vertices that tight arcs join to those in order[0 .. n) become part of the tree. */
static uint32_t grow_tight(simplex *s, uint32_t from, uint32_t n)
{
    for (uint32_t i = from; i < n; i++) {
        uint32_t x = s->order[i];
        for (uint32_t k = s->first[x]; k < s->first[x + 1]; k++) {
            arc *a = &s->arcs[s->at[k]];
            uint32_t y = a->from == x ? a->to : a->from;
            if (!s->in[y] && slack(s, a) == 0) {
                a->tree = true;
                s->in[y] = 1;
                s->order[n++] = y;
            }
        }
    }
    return n;
}

/* The tree takes in its nearest neighbour: itself moves until that arc is tight. */
static void tight_tree(simplex *s)
{
    index_arcs(s, false);
    memset(s->in, 0, s->n);
    uint32_t n = 0;
    uint32_t base = 0; /* start of the tree at hand: of each part that forward lines join, one */
    uint32_t next_root = 0;
    while (n < s->n) {
        int32_t least = INT32_MAX;
        const arc *best = NULL;
        for (uint32_t i = 0; i < s->n_arcs && least > 0 && n > base; i++) {
            const arc *a = &s->arcs[i];
            if (s->in[a->from] != s->in[a->to] && slack(s, a) < least) {
                least = slack(s, a);
                best = a;
            }
        }
        if (!best) {
            base = n;
            while (s->in[next_root]) {
                next_root++;
            }
            s->in[next_root] = 1;
            s->order[n++] = next_root;
            n = grow_tight(s, base, n);
            continue;
        }
        int32_t by = s->in[best->from] ? least : -least;
        for (uint32_t i = base; i < n; i++) {
            s->rank[s->order[i]] += by;
        }
        n = grow_tight(s, base, n);
    }
}

/* Parents, an order with parents first, sums of subtrees. */
static void read_tree(simplex *s)
{
    uint32_t n = 0;
    index_arcs(s, true);
    memset(s->in, 0, s->n);
    for (uint32_t root = 0; root < s->n; root++) {
        if (s->in[root]) {
            continue;
        }
        s->in[root] = 1;
        s->parent_arc[root] = GRAPH_NONE;
        uint32_t i = n;
        s->order[n++] = root;
        for (; i < n; i++) {
            uint32_t x = s->order[i];
            for (uint32_t k = s->first[x]; k < s->first[x + 1]; k++) {
                const arc *a = &s->arcs[s->at[k]];
                uint32_t y = a->from == x ? a->to : a->from;
                if (!s->in[y]) {
                    s->in[y] = 1;
                    s->parent_arc[y] = s->at[k];
                    s->order[n++] = y;
                }
            }
        }
    }
    for (uint32_t x = 0; x < s->n; x++) {
        s->sum[x] = s->net[x];
    }
    for (uint32_t i = s->n; i-- > 0;) {
        uint32_t x = s->order[i];
        if (s->parent_arc[x] != GRAPH_NONE) {
            const arc *a = &s->arcs[s->parent_arc[x]];
            s->sum[a->from == x ? a->to : a->from] += s->sum[x];
        }
    }
}

/* The subtree that gains most by a step, by its own vertex; GRAPH_NONE: the layers are optimal. */
static uint32_t leaving(const simplex *s)
{
    int64_t most = 0;
    uint32_t best = GRAPH_NONE;
    for (uint32_t x = 0; x < s->n; x++) {
        if (s->parent_arc[x] == GRAPH_NONE) {
            continue;
        }
        bool holds_tail = s->arcs[s->parent_arc[x]].from == x;
        int64_t gain = holds_tail ? -s->sum[x] : s->sum[x];
        if (gain > most) {
            most = gain;
            best = x;
        }
    }
    return best;
}

static void mark_subtree(simplex *s, uint32_t top)
{
    memset(s->in, 0, s->n);
    s->in[top] = 1;
    for (uint32_t i = 0; i < s->n; i++) {
        uint32_t x = s->order[i];
        if (x != top && s->parent_arc[x] != GRAPH_NONE) {
            const arc *a = &s->arcs[s->parent_arc[x]];
            s->in[x] = s->in[a->from == x ? a->to : a->from];
        }
    }
}

/* @return whether there was a pivot to make */
static bool pivot(simplex *s)
{
    read_tree(s);
    uint32_t top = leaving(s);
    if (top == GRAPH_NONE) {
        return false;
    }
    mark_subtree(s, top);
    arc *out = &s->arcs[s->parent_arc[top]];
    bool forward = out->to == top; /* the subtree wants to move on, else back */
    int32_t least = INT32_MAX;
    arc *enter = NULL;
    for (uint32_t i = 0; i < s->n_arcs; i++) {
        arc *a = &s->arcs[i];
        bool stops = forward ? s->in[a->from] && !s->in[a->to] : !s->in[a->from] && s->in[a->to];
        if (stops && slack(s, a) < least) {
            least = slack(s, a);
            enter = a;
        }
    }
    if (!enter) {
        return false;
    }
    for (uint32_t x = 0; x < s->n; x++) {
        s->rank[x] += s->in[x] ? (forward ? least : -least) : 0;
    }
    out->tree = false;
    enter->tree = true;
    return true;
}

void layered_simplex(layered *g)
{
    if (g->n_real > MOST_VERTICES || g->n_lines > 2 * MOST_VERTICES) {
        return;
    }
    uint32_t n = g->n_real;
    simplex s = {.g = g,
                 .n = n,
                 .rank = mem_alloc((n + 1U) * sizeof(int32_t)),
                 .net = mem_calloc(n + 1U, sizeof(int32_t)),
                 .first = mem_alloc((n + 2U) * sizeof(uint32_t)),
                 .parent_arc = mem_alloc((n + 1U) * sizeof(uint32_t)),
                 .order = mem_alloc((n + 1U) * sizeof(uint32_t)),
                 .sum = mem_alloc((n + 1U) * sizeof(int64_t)),
                 .in = mem_alloc(n + 1U)};
    for (uint32_t x = 0; x < n; x++) {
        s.rank[x] = (int32_t)g->layer[x];
    }
    make_arcs(&s);
    s.at = mem_alloc((2U * s.n_arcs + 1U) * sizeof(uint32_t));
    tight_tree(&s);
    uint64_t work = n + s.n_arcs;
    for (uint64_t done = 0; done < MOST_WORK && !is_cancelled(g->cancel) && pivot(&s); done += work) {
    }
    int32_t least = INT32_MAX;
    for (uint32_t x = 0; x < n; x++) {
        least = s.rank[x] < least ? s.rank[x] : least;
    }
    for (uint32_t x = 0; x < n; x++) {
        g->layer[x] = (uint32_t)(s.rank[x] - least);
    }
    free(s.arcs);
    free(s.rank);
    free(s.net);
    free(s.first);
    free(s.at);
    free(s.parent_arc);
    free(s.order);
    free(s.sum);
    free(s.in);
}
