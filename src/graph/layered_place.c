/*
 * Coordinates across the flow: Brandes and Koepf 2001 with the erratum of 2020. Four alignments (upper or lower
 * neighbours, from the first or the last); each is compacted as blocks in both directions; the one with the shortest
 * links, or the median of the four where that is shorter, is taken. Ports and sizes are honoured: an aligned link is
 * straight from its end on one side to its end on the other, so members of a block are shifted against each other.
 */
#include <float.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "graph/layered.h"

typedef struct placer {
    layered *g;
    uint8_t *conflict;       /* [n_links] crosses a link between two dummies */
    uint32_t *root, *next;   /* [n] blocks */
    float *shift;            /* [n] start of a vertex minus start of its block */
    float *x[4];             /* [n] */
    uint32_t *first, *after; /* block graph */
    float *gap;
    uint32_t *need, *queue;
    float *at;      /* [n] of blocks */
    uint32_t *near; /* links */
} placer;

static bool is_dummy(const layered *g, uint32_t x)
{
    return x >= g->n_real;
}

static bool is_inner(const layered *g, uint32_t link)
{
    return is_dummy(g, g->link_from[link]) && is_dummy(g, g->link_to[link]);
}

/* The link into a dummy from a dummy, if there is one. */
static uint32_t inner_link_into(const layered *g, uint32_t x)
{
    for (uint32_t k = g->up_first[x]; is_dummy(g, x) && k < g->up_first[x + 1]; k++) {
        if (is_inner(g, g->up_link[k])) {
            return g->up_link[k];
        }
    }
    return GRAPH_NONE;
}

/* Type 1 conflicts: a link that crosses one between dummies gives way. (Two of those that cross: the later gives way.)
 */
static void mark_conflicts(placer *p)
{
    layered *g = p->g;
    for (uint32_t l = 0; l + 1 < g->n_layers && !is_cancelled(g->cancel); l++) {
        uint32_t lo = g->layer_first[l + 1];
        uint32_t hi = g->layer_first[l + 2];
        uint32_t k0 = 0;
        uint32_t scan = lo;
        for (uint32_t i = lo; i < hi; i++) {
            uint32_t inner = inner_link_into(g, g->order[i]);
            if (inner == GRAPH_NONE && i + 1 < hi) {
                continue;
            }
            uint32_t k1 = inner == GRAPH_NONE ? GRAPH_NONE : g->pos[g->link_from[inner]];
            for (; scan <= i; scan++) {
                uint32_t y = g->order[scan];
                for (uint32_t k = g->up_first[y]; k < g->up_first[y + 1]; k++) {
                    uint32_t link = g->up_link[k];
                    uint32_t from = g->pos[g->link_from[link]];
                    if (link != inner && (from < k0 || from > k1)) {
                        p->conflict[link] = 1;
                    }
                }
            }
            k0 = k1 == GRAPH_NONE ? k0 : k1;
        }
    }
}

static void sort_near(const layered *g, uint32_t *near, uint32_t n, bool above)
{
    for (uint32_t i = 1; i < n; i++) {
        uint32_t x = near[i];
        uint32_t px = g->pos[above ? g->link_from[x] : g->link_to[x]];
        uint32_t k = i;
        for (; k > 0 && g->pos[above ? g->link_from[near[k - 1]] : g->link_to[near[k - 1]]] > px; k--) {
            near[k] = near[k - 1];
        }
        near[k] = x;
    }
}

enum { MOST_NEAR = 512 };

/* Links of x on one side in the order of their other ends; of very many only some about the middle are of use. */
static uint32_t near_links(placer *p, uint32_t x, bool above)
{
    const layered *g = p->g;
    uint32_t lo = above ? g->up_first[x] : g->down_first[x];
    uint32_t hi = above ? g->up_first[x + 1] : g->down_first[x + 1];
    uint32_t n = hi - lo;
    uint32_t skip = n > MOST_NEAR ? (n - MOST_NEAR) / 2 : 0;
    n = n > MOST_NEAR ? MOST_NEAR : n;
    for (uint32_t k = 0; k < n; k++) {
        p->near[k] = above ? g->up_link[lo + skip + k] : lo + skip + k;
    }
    sort_near(g, p->near, n, above);
    return n;
}

/* One vertex joins the block of a median neighbour, unless that link would cross an aligned one. */
static void align_vertex(placer *p, uint32_t x, bool above, bool reverse, int64_t *r)
{
    const layered *g = p->g;
    uint32_t n = near_links(p, x, above);
    uint32_t lo = n ? (n - 1) / 2 : 0;
    uint32_t hi = n / 2;
    for (uint32_t t = 0; t < 2 && n > 0 && p->next[x] == x; t++) {
        uint32_t link = p->near[(t == 0) != reverse ? lo : hi];
        uint32_t u = above ? g->link_from[link] : g->link_to[link];
        int64_t at = reverse ? -(int64_t)g->pos[u] : (int64_t)g->pos[u];
        if (p->conflict[link] || g->link_loose[link] || at <= *r || p->next[u] != u) {
            continue;
        }
        float off = g->link_out[link] - g->link_in[link];
        off = above ? off : -off;
        p->root[x] = p->root[u];
        p->next[u] = x; /* marks u as taken on this side */
        p->shift[x] = p->shift[u] + off;
        *r = at;
        return;
    }
}

static void align(placer *p, bool above, bool reverse)
{
    const layered *g = p->g;
    for (uint32_t x = 0; x < g->n; x++) {
        p->root[x] = p->next[x] = x;
        p->shift[x] = 0;
    }
    for (uint32_t i = 1; i < g->n_layers && !is_cancelled(g->cancel); i++) {
        uint32_t l = above ? i : g->n_layers - 1 - i;
        uint32_t n = g->layer_first[l + 1] - g->layer_first[l];
        int64_t r = INT64_MIN;
        for (uint32_t k = 0; k < n; k++) {
            align_vertex(p, g->order[g->layer_first[l] + (reverse ? n - 1 - k : k)], above, reverse, &r);
        }
    }
}

/* Arcs between blocks that stand next to each other in some layer, with the distance that they need. */
static void block_graph(placer *p)
{
    const layered *g = p->g;
    memset(p->first, 0, (g->n + 2U) * sizeof *p->first);
    for (uint32_t i = 1; i < g->n; i++) {
        if (g->layer[g->order[i]] == g->layer[g->order[i - 1]]) {
            p->first[p->root[g->order[i - 1]] + 1]++;
        }
    }
    for (uint32_t x = 0; x < g->n; x++) {
        p->first[x + 1] += p->first[x];
    }
    memset(p->need, 0, (g->n + 1U) * sizeof *p->need);
    uint32_t *next = p->queue;
    memcpy(next, p->first, g->n * sizeof *next);
    for (uint32_t i = 1; i < g->n; i++) {
        uint32_t a = g->order[i - 1];
        uint32_t b = g->order[i];
        if (g->layer[a] == g->layer[b]) {
            uint32_t k = next[p->root[a]]++;
            p->after[k] = p->root[b];
            p->gap[k] = p->shift[a] + g->sv[a] + layered_distance(g, a, b) - p->shift[b];
            p->need[p->root[b]]++;
        }
    }
}

/* Blocks in the order of their arcs. */
static uint32_t sort_blocks(placer *p)
{
    const layered *g = p->g;
    uint32_t n = 0;
    block_graph(p);
    for (uint32_t i = 0; i < g->n; i++) {
        if (p->root[i] == i && p->need[i] == 0) {
            p->queue[n++] = i;
        }
    }
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t k = p->first[p->queue[i]]; k < p->first[p->queue[i] + 1]; k++) {
            if (--p->need[p->after[k]] == 0) {
                p->queue[n++] = p->after[k];
            }
        }
    }
    return n;
}

static void push_forward(placer *p, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        uint32_t b = p->queue[i];
        for (uint32_t k = p->first[b]; k < p->first[b + 1]; k++) {
            float least = p->at[b] + p->gap[k];
            p->at[p->after[k]] = least > p->at[p->after[k]] ? least : p->at[p->after[k]];
        }
    }
}

/* Blocks with something behind them move up to it. */
static void pull_back(placer *p, uint32_t n)
{
    for (uint32_t i = n; i-- > 0;) {
        uint32_t b = p->queue[i];
        float most = FLT_MAX;
        for (uint32_t k = p->first[b]; k < p->first[b + 1]; k++) {
            float m = p->at[p->after[k]] - p->gap[k];
            most = m < most ? m : most;
        }
        p->at[b] = most < FLT_MAX && most > p->at[b] ? most : p->at[b];
    }
}

/* The mirror image of the two: against the end, then what has something before it moves up to that. */
static void push_to_end(placer *p, uint32_t n, float *extent)
{
    const layered *g = p->g;
    float end = 0;
    memset(extent, 0, g->n * sizeof *extent);
    for (uint32_t i = 0; i < g->n; i++) {
        float e = p->shift[i] + g->sv[i];
        extent[p->root[i]] = e > extent[p->root[i]] ? e : extent[p->root[i]];
        end = p->at[p->root[i]] + e > end ? p->at[p->root[i]] + e : end;
    }
    for (uint32_t i = n; i-- > 0;) {
        uint32_t b = p->queue[i];
        float most = end - extent[b];
        for (uint32_t k = p->first[b]; k < p->first[b + 1]; k++) {
            float m = p->at[p->after[k]] - p->gap[k];
            most = m < most ? m : most;
        }
        p->at[b] = most;
    }
    for (uint32_t i = 0; i < g->n; i++) {
        extent[i] = -FLT_MAX;
    }
    for (uint32_t i = 0; i < n; i++) {
        uint32_t b = p->queue[i];
        p->at[b] = extent[b] > -FLT_MAX && extent[b] < p->at[b] ? extent[b] : p->at[b];
        for (uint32_t k = p->first[b]; k < p->first[b + 1]; k++) {
            float m = p->at[b] + p->gap[k];
            extent[p->after[k]] = m > extent[p->after[k]] ? m : extent[p->after[k]];
        }
    }
}

static void compact(placer *p, float *x, bool reverse)
{
    const layered *g = p->g;
    uint32_t n = is_cancelled(g->cancel) ? 0 : sort_blocks(p);
    if (is_cancelled(g->cancel)) {
        return;
    }
    memset(p->at, 0, g->n * sizeof *p->at);
    push_forward(p, n);
    if (is_cancelled(g->cancel)) {
        return;
    }
    if (reverse) {
        push_to_end(p, n, x);
    } else {
        pull_back(p, n);
    }
    for (uint32_t i = 0; i < g->n; i++) {
        x[i] = p->at[p->root[i]] + p->shift[i];
    }
}

typedef struct extent {
    float lo, hi;
} extent;

static extent extent_of(const layered *g, const float *x)
{
    extent e = {FLT_MAX, -FLT_MAX};
    for (uint32_t i = 0; i < g->n; i++) {
        e.lo = x[i] < e.lo ? x[i] : e.lo;
        e.hi = x[i] + g->sv[i] > e.hi ? x[i] + g->sv[i] : e.hi;
    }
    return e;
}

static double cost(const layered *g, const float *x)
{
    double sum = 0;
    for (uint32_t k = 0; k < g->n_links; k++) {
        if (g->link_loose[k]) {
            continue;
        }
        float d = x[g->link_from[k]] + g->link_out[k] - x[g->link_to[k]] - g->link_in[k];
        d = d < 0 ? -d : d;
        sum += d < 0.5F ? 0 : (double)d + 8;
    }
    return sum;
}

/* All against the narrowest: first ones at its start, last ones at its end. */
static void bring_together(placer *p)
{
    extent e[4];
    int narrow = 0;
    for (int i = 0; i < 4; i++) {
        e[i] = extent_of(p->g, p->x[i]);
        narrow = e[i].hi - e[i].lo < e[narrow].hi - e[narrow].lo ? i : narrow;
    }
    for (int i = 0; i < 4; i++) {
        float by = i % 2 == 0 ? e[narrow].lo - e[i].lo : e[narrow].hi - e[i].hi;
        for (uint32_t k = 0; k < p->g->n; k++) {
            p->x[i][k] += by;
        }
    }
}

static float median_of_four(float a, float b, float c, float d)
{
    float lo1 = a < b ? a : b;
    float hi1 = a < b ? b : a;
    float lo2 = c < d ? c : d;
    float hi2 = c < d ? d : c;
    return ((lo1 > lo2 ? lo1 : lo2) + (hi1 < hi2 ? hi1 : hi2)) / 2;
}

static void take_best(placer *p)
{
    layered *g = p->g;
    bring_together(p);
    if (is_cancelled(g->cancel)) {
        return;
    }
    for (uint32_t k = 0; k < g->n; k++) {
        p->at[k] = median_of_four(p->x[0][k], p->x[1][k], p->x[2][k], p->x[3][k]);
    }
    const float *best = p->at;
    double least = cost(g, best);
    for (int i = 0; i < 4 && !is_cancelled(g->cancel); i++) {
        double c = cost(g, p->x[i]);
        if (c < least) {
            least = c;
            best = p->x[i];
        }
    }
    float lo = extent_of(g, best).lo;
    for (uint32_t k = 0; k < g->n; k++) {
        g->v[k] = best[k] - lo;
    }
}

marey_status layered_place(layered *g)
{
    size_t n = g->n + 2U;
    placer p = {.g = g,
                .conflict = mem_calloc(g->n_links + 1U, 1),
                .root = mem_alloc(n * sizeof(uint32_t)),
                .next = mem_alloc(n * sizeof(uint32_t)),
                .shift = mem_alloc(n * sizeof(float)),
                .first = mem_alloc(n * sizeof(uint32_t)),
                .after = mem_alloc(n * sizeof(uint32_t)),
                .gap = mem_alloc(n * sizeof(float)),
                .need = mem_alloc(n * sizeof(uint32_t)),
                .queue = mem_alloc(n * sizeof(uint32_t)),
                .at = mem_alloc(n * sizeof(float)),
                .near = mem_alloc((MOST_NEAR + 1) * sizeof(uint32_t))};
    layered_ends(g);
    mark_conflicts(&p);
    for (int i = 0; i < 4; i++) {
        p.x[i] = mem_alloc(n * sizeof(float));
        if (!is_cancelled(g->cancel)) {
            align(&p, i < 2, i % 2);
            compact(&p, p.x[i], i % 2);
        }
    }
    if (!is_cancelled(g->cancel)) {
        take_best(&p);
        layered_refine(g);
        layered_slide_ends(g);
    }
    for (int i = 0; i < 4; i++) {
        free(p.x[i]);
    }
    free(p.conflict);
    free(p.root);
    free(p.next);
    free(p.shift);
    free(p.first);
    free(p.after);
    free(p.gap);
    free(p.need);
    free(p.queue);
    free(p.at);
    free(p.near);
    return is_cancelled(g->cancel) ? MAREY_CANCELLED : MAREY_OK;
}
