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

/* An arc as one of its ends sees it. */
typedef struct limb {
    uint32_t other, arc;
    bool is_tail; /* of the arc */
} limb;

/* An arc out of the tree: its slack is less by what the tree moved since, or more. */
typedef struct border {
    int32_t key;
    uint32_t arc;
} border;

typedef struct border_heap {
    border *at;
    size_t n, cap;
} border_heap;

typedef struct simplex {
    layered *g;
    uint32_t n, n_arcs;
    arc *arcs;
    size_t cap;
    int32_t *rank, *net;    /* [n] net: weight out less weight in */
    uint32_t *first;        /* [n + 1] */
    limb *at;               /* arcs of a vertex, ascending */
    uint32_t *up, *up_arc;  /* [n] parent in the tree and the arc to it; GRAPH_NONE: root */
    uint32_t *child;        /* [n] first child; siblings are joined both ways */
    uint32_t *next, *before;
    int64_t *sum;  /* [n] of net below */
    int64_t *gain; /* [n] by moving the subtree one step; of roots 0 */
    uint32_t *order;
    uint8_t *in; /* [n] scratch: inside the tree at hand, or the subtree */
    border_heap ahead, behind; /* while the tree is made: arcs out of it, arcs into it */
    uint32_t *tight;
    size_t cap_tight;
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

static void index_arcs(simplex *s)
{
    memset(s->first, 0, (s->n + 2U) * sizeof *s->first);
    for (uint32_t i = 0; i < s->n_arcs; i++) {
        s->first[s->arcs[i].from + 1]++;
        s->first[s->arcs[i].to + 1]++;
    }
    for (uint32_t x = 0; x < s->n; x++) {
        s->first[x + 1] += s->first[x];
    }
    for (uint32_t i = s->n_arcs; i-- > 0;) { /* filled from the end: no second array */
        const arc *a = &s->arcs[i];
        s->at[--s->first[a->from + 1]] = (limb){a->to, i, true};
        s->at[--s->first[a->to + 1]] = (limb){a->from, i, false};
    }
    memmove(s->first, s->first + 1, s->n * sizeof *s->first);
    s->first[s->n] = 2 * s->n_arcs;
}

static uint32_t other_end(const arc *a, uint32_t x)
{
    return a->from == x ? a->to : a->from;
}

/* ------------------------------------------------------------------ the first tree */

static bool is_before(const border *a, const border *b)
{
    return a->key != b->key ? a->key < b->key : a->arc < b->arc;
}

static void heap_push(border_heap *h, border x)
{
    VEC_PUSH(h->at, h->n, h->cap, x);
    size_t i = h->n - 1;
    for (; i > 0 && is_before(&x, &h->at[(i - 1) / 2]); i = (i - 1) / 2) {
        h->at[i] = h->at[(i - 1) / 2];
    }
    h->at[i] = x;
}

static void heap_pop(border_heap *h)
{
    border x = h->at[--h->n];
    size_t i = 0;
    for (size_t c = 1; c < h->n; c = 2 * i + 1) {
        c += c + 1 < h->n && is_before(&h->at[c + 1], &h->at[c]);
        if (!is_before(&h->at[c], &x)) {
            break;
        }
        h->at[i] = h->at[c];
        i = c;
    }
    if (h->n > 0) {
        h->at[i] = x;
    }
}

static void take_in(simplex *s, uint32_t arc_id, uint32_t y, uint32_t *n)
{
    s->arcs[arc_id].tree = true;
    s->in[y] = 1;
    s->before[y] = *n; /* its place in the order, until the tree is read */
    s->order[(*n)++] = y;
}

/* What tight arcs join to order[from .. n) becomes part of the tree; other arcs out of it are noted. `moved`: how far
 * the tree has moved so far. */
static uint32_t grow_tight(simplex *s, uint32_t from, uint32_t n, int32_t moved)
{
    for (uint32_t i = from; i < n; i++) {
        uint32_t x = s->order[i];
        for (uint32_t k = s->first[x]; k < s->first[x + 1]; k++) {
            const limb *l = &s->at[k];
            if (s->in[l->other]) {
                continue;
            }
            int32_t room = slack(s, &s->arcs[l->arc]);
            if (room == 0) {
                take_in(s, l->arc, l->other, &n);
            } else if (l->is_tail) {
                heap_push(&s->ahead, (border){room + moved, l->arc});
            } else {
                heap_push(&s->behind, (border){room - moved, l->arc});
            }
        }
    }
    return n;
}

/* The first arc that still leaves the tree; NULL: none. */
static const border *heap_top(const simplex *s, border_heap *h)
{
    while (h->n > 0 && s->in[s->arcs[h->at[0].arc].from] && s->in[s->arcs[h->at[0].arc].to]) {
        heap_pop(h);
    }
    return h->n > 0 ? &h->at[0] : NULL;
}

/* By the place of the end inside the tree. */
static int by_place(const void *a, const void *b, void *ctx)
{
    const simplex *s = ctx;
    uint32_t i = *(const uint32_t *)a;
    uint32_t k = *(const uint32_t *)b;
    const arc *x = &s->arcs[i];
    const arc *y = &s->arcs[k];
    uint32_t px = s->before[s->in[x->from] ? x->from : x->to];
    uint32_t py = s->before[s->in[y->from] ? y->from : y->to];
    return px != py ? (px < py ? -1 : 1) : (i > k) - (i < k);
}

/* Arcs that became tight by the move, in the order in which a walk over the tree finds them. */
static uint32_t take_tight(simplex *s, uint32_t n, int32_t moved)
{
    size_t m = 0;
    uint32_t was = n;
    for (int side = 0; side < 2; side++) {
        border_heap *h = side ? &s->behind : &s->ahead;
        const border *top;
        while ((top = heap_top(s, h)) && top->key == (side ? -moved : moved)) {
            VEC_PUSH(s->tight, m, s->cap_tight, top->arc);
            heap_pop(h);
        }
    }
    if (m > 1) {
        qsort_r(s->tight, m, sizeof *s->tight, by_place, s);
    }
    for (size_t i = 0; i < m; i++) {
        const arc *a = &s->arcs[s->tight[i]];
        if (!s->in[a->from] || !s->in[a->to]) {
            take_in(s, s->tight[i], s->in[a->from] ? a->to : a->from, &n);
        }
    }
    return grow_tight(s, was, n, moved);
}

/* The tree takes in its nearest neighbour: itself moves until that arc is tight. */
static void tight_tree(simplex *s)
{
    memset(s->in, 0, s->n);
    uint32_t n = 0;
    uint32_t base = 0; /* start of the tree at hand: of each part that forward lines join, one */
    uint32_t next_root = 0;
    int32_t moved = 0;
    while (n < s->n && !is_cancelled(s->g->cancel)) {
        const border *ahead = heap_top(s, &s->ahead);
        const border *behind = heap_top(s, &s->behind);
        if (!ahead && !behind) {
            base = n;
            moved = 0;
            while (s->in[next_root]) {
                next_root++;
            }
            s->in[next_root] = 1;
            s->before[next_root] = n;
            s->order[n++] = next_root;
            n = grow_tight(s, base, n, moved);
            continue;
        }
        border a = ahead ? (border){ahead->key - moved, ahead->arc} : (border){INT32_MAX, GRAPH_NONE};
        border b = behind ? (border){behind->key + moved, behind->arc} : (border){INT32_MAX, GRAPH_NONE};
        int32_t by = is_before(&a, &b) ? a.key : -b.key;
        for (uint32_t i = base; i < n; i++) {
            s->rank[s->order[i]] += by;
        }
        moved += by;
        n = take_tight(s, n, moved);
    }
}

/* ------------------------------------------------------------------ the tree, kept from pivot to pivot */

static void set_sum(simplex *s, uint32_t x, int64_t sum)
{
    s->sum[x] = sum;
    bool holds_tail = s->up[x] != GRAPH_NONE && s->arcs[s->up_arc[x]].from == x;
    s->gain[x] = s->up[x] == GRAPH_NONE ? 0 : holds_tail ? -sum : sum;
}

static void hang(simplex *s, uint32_t x, uint32_t up, uint32_t up_arc)
{
    s->up[x] = up;
    s->up_arc[x] = up_arc;
    s->before[x] = GRAPH_NONE;
    s->next[x] = s->child[up];
    if (s->child[up] != GRAPH_NONE) {
        s->before[s->child[up]] = x;
    }
    s->child[up] = x;
}

static void unhang(simplex *s, uint32_t x)
{
    *(s->before[x] == GRAPH_NONE ? &s->child[s->up[x]] : &s->next[s->before[x]]) = s->next[x];
    if (s->next[x] != GRAPH_NONE) {
        s->before[s->next[x]] = s->before[x];
    }
}

/* Parents, children and sums of subtrees; the root of each part is its first vertex. */
static void read_tree(simplex *s)
{
    uint32_t n = 0;
    memset(s->in, 0, s->n);
    memset(s->child, 0xff, s->n * sizeof *s->child);
    for (uint32_t root = 0; root < s->n; root++) {
        if (s->in[root]) {
            continue;
        }
        s->in[root] = 1;
        s->up[root] = s->up_arc[root] = s->next[root] = s->before[root] = GRAPH_NONE;
        uint32_t i = n;
        s->order[n++] = root;
        for (; i < n; i++) {
            uint32_t x = s->order[i];
            for (uint32_t k = s->first[x]; k < s->first[x + 1]; k++) {
                const limb *l = &s->at[k];
                if (s->arcs[l->arc].tree && !s->in[l->other]) {
                    s->in[l->other] = 1;
                    hang(s, l->other, x, l->arc);
                    s->order[n++] = l->other;
                }
            }
        }
    }
    for (uint32_t x = 0; x < s->n; x++) {
        s->sum[x] = s->net[x];
    }
    for (uint32_t i = s->n; i-- > 0;) {
        uint32_t x = s->order[i];
        set_sum(s, x, s->sum[x]);
        if (s->up[x] != GRAPH_NONE) {
            s->sum[s->up[x]] += s->sum[x];
        }
    }
    memset(s->in, 0, s->n);
}

/* The subtree that gains most by a step, by its own vertex; GRAPH_NONE: the layers are optimal. */
static uint32_t leaving(const simplex *s)
{
    int64_t most = 0;
    uint32_t best = GRAPH_NONE;
    for (uint32_t x = 0; x < s->n; x++) {
        if (s->gain[x] > most) {
            most = s->gain[x];
            best = x;
        }
    }
    return best;
}

/* order[0 .. @return) is the subtree; it is marked. */
static uint32_t mark_subtree(simplex *s, uint32_t top)
{
    uint32_t n = 0;
    s->order[n++] = top;
    for (uint32_t i = 0; i < n; i++) {
        s->in[s->order[i]] = 1;
        for (uint32_t c = s->child[s->order[i]]; c != GRAPH_NONE; c = s->next[c]) {
            s->order[n++] = c;
        }
    }
    return n;
}

static void add_upwards(simplex *s, uint32_t from, int64_t by)
{
    for (uint32_t x = from; x != GRAPH_NONE; x = s->up[x]) {
        set_sum(s, x, s->sum[x] + by);
    }
}

/* The subtree of `top` hangs by another arc now: the way from there to its old top is turned round. */
static void rehang(simplex *s, uint32_t top, uint32_t enter)
{
    const arc *a = &s->arcs[enter];
    int64_t whole = s->sum[top];
    uint32_t x = s->in[a->from] ? a->from : a->to;
    uint32_t up = other_end(a, x);
    uint32_t up_arc = enter;
    int64_t below = 0; /* what hung below the vertex on the way before */
    add_upwards(s, s->up[top], -whole);
    for (bool done = false; !done;) {
        uint32_t old_up = s->up[x];
        uint32_t old_arc = s->up_arc[x];
        int64_t old_sum = s->sum[x];
        done = x == top;
        unhang(s, x);
        hang(s, x, up, up_arc);
        set_sum(s, x, whole - below);
        below = old_sum;
        up = x;
        up_arc = old_arc;
        x = old_up;
    }
    add_upwards(s, other_end(a, s->in[a->from] ? a->from : a->to), whole);
}

/* The first of the arcs that stop the subtree soonest. */
typedef struct stop {
    uint32_t arc; /* GRAPH_NONE: none does */
    int32_t room;
} stop;

/* Arcs of x to what is inside or not. `tail`: that start at x. */
static void look_for_stop(const simplex *s, uint32_t x, bool tail, uint8_t inside, stop *best)
{
    int32_t rank = s->rank[x];
    for (const limb *l = s->at + s->first[x]; l < s->at + s->first[x + 1]; l++) {
        if (l->is_tail != tail || s->in[l->other] != inside) {
            continue;
        }
        int32_t room = (tail ? s->rank[l->other] - rank : rank - s->rank[l->other]) - 1;
        if (room < best->room || (room == best->room && l->arc < best->arc)) {
            *best = (stop){l->arc, room};
        }
    }
}

/* Of the smaller side. n: vertices of the marked subtree. */
static stop entering(const simplex *s, uint32_t n, bool forward)
{
    stop best = {GRAPH_NONE, INT32_MAX};
    if (n <= s->n / 2) {
        for (uint32_t i = 0; i < n; i++) {
            look_for_stop(s, s->order[i], forward, 0, &best);
        }
        return best;
    }
    for (uint32_t x = 0; x < s->n; x++) {
        if (!s->in[x]) {
            look_for_stop(s, x, !forward, 1, &best);
        }
    }
    return best;
}

/* @return whether there was a pivot to make */
static bool pivot(simplex *s)
{
    uint32_t top = leaving(s);
    if (top == GRAPH_NONE) {
        return false;
    }
    arc *out = &s->arcs[s->up_arc[top]];
    bool forward = out->to == top; /* the subtree wants to move on, else back */
    uint32_t n = mark_subtree(s, top);
    stop enter = entering(s, n, forward);
    bool found = enter.arc != GRAPH_NONE;
    if (found) {
        rehang(s, top, enter.arc);
        out->tree = false;
        s->arcs[enter.arc].tree = true;
    }
    for (uint32_t i = 0; i < n; i++) {
        s->rank[s->order[i]] += !found ? 0 : forward ? enter.room : -enter.room;
        s->in[s->order[i]] = 0;
    }
    return found;
}

static void simplex_init(simplex *s, layered *g)
{
    size_t n = g->n_real + 2U;
    *s = (simplex){.g = g,
                   .n = g->n_real,
                   .rank = mem_alloc(n * sizeof(int32_t)),
                   .net = mem_calloc(n, sizeof(int32_t)),
                   .first = mem_alloc(n * sizeof(uint32_t)),
                   .up = mem_alloc(n * sizeof(uint32_t)),
                   .up_arc = mem_alloc(n * sizeof(uint32_t)),
                   .child = mem_alloc(n * sizeof(uint32_t)),
                   .next = mem_alloc(n * sizeof(uint32_t)),
                   .before = mem_alloc(n * sizeof(uint32_t)),
                   .sum = mem_alloc(n * sizeof(int64_t)),
                   .gain = mem_alloc(n * sizeof(int64_t)),
                   .order = mem_alloc(n * sizeof(uint32_t)),
                   .in = mem_alloc(n)};
    for (uint32_t x = 0; x < s->n; x++) {
        s->rank[x] = (int32_t)g->layer[x];
    }
    make_arcs(s);
    s->at = mem_alloc((2U * s->n_arcs + 1U) * sizeof *s->at);
    index_arcs(s);
}

static void simplex_deinit(simplex *s)
{
    void *owned[] = {s->arcs,   s->rank, s->net,  s->first, s->at, s->up,       s->up_arc,    s->child,
                     s->next,   s->before, s->sum, s->gain,  s->order, s->in, s->ahead.at, s->behind.at,
                     s->tight};
    for (size_t i = 0; i < sizeof owned / sizeof owned[0]; i++) {
        free(owned[i]);
    }
}

void layered_simplex(layered *g)
{
    if (g->n_real > MOST_VERTICES || g->n_lines > 2 * MOST_VERTICES) {
        return;
    }
    simplex s;
    simplex_init(&s, g);
    tight_tree(&s);
    if (!is_cancelled(g->cancel)) {
        read_tree(&s);
    }
    uint64_t work = s.n + s.n_arcs;
    for (uint64_t done = 0; done < MOST_WORK && !is_cancelled(g->cancel) && pivot(&s); done += work) {
    }
    int32_t least = INT32_MAX;
    for (uint32_t x = 0; x < s.n; x++) {
        least = s.rank[x] < least ? s.rank[x] : least;
    }
    for (uint32_t x = 0; x < s.n; x++) {
        g->layer[x] = (uint32_t)(s.rank[x] - least);
    }
    simplex_deinit(&s);
}
