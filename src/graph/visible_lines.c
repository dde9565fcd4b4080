/* Edges to bundles, bundles to lines, and the account. Sorting is by counting: linear in edges and items. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "graph/visible_build.h"

/* Places 0 .. n in the order of key[]; stable. `order` in and out. `count` has n_keys + 1 places. */
static void sort_by_key(uint32_t *order, uint32_t *scratch, size_t n, const uint32_t *key, uint32_t *count,
                        size_t n_keys)
{
    memset(count, 0, (n_keys + 1) * sizeof *count);
    for (size_t i = 0; i < n; i++) {
        count[key[order[i]] + 1]++;
    }
    for (size_t k = 0; k < n_keys; k++) {
        count[k + 1] += count[k];
    }
    for (size_t i = 0; i < n; i++) {
        scratch[count[key[order[i]]]++] = order[i];
    }
    memcpy(order, scratch, n * sizeof *order);
}

static uint32_t *sorted_pairs(const uint32_t *from, const uint32_t *to, size_t n, size_t n_keys)
{
    uint32_t *order = mem_alloc_large((n + 1) * sizeof *order);
    uint32_t *scratch = mem_alloc_large((n + 1) * sizeof *scratch);
    uint32_t *count = mem_alloc((n_keys + 2) * sizeof *count);
    bool sorted = true;
    for (size_t i = 0; i < n; i++) {
        order[i] = (uint32_t)i;
        sorted = sorted && (i == 0 || from[i - 1] < from[i] || (from[i - 1] == from[i] && to[i - 1] <= to[i]));
    }
    if (!sorted) {
        sort_by_key(order, scratch, n, to, count, n_keys);
        sort_by_key(order, scratch, n, from, count, n_keys);
    }
    free(scratch);
    free(count);
    return order;
}

static bool communicates(const graph *g, uint32_t node)
{
    uint8_t c = g->node_class[node];
    return c == GRAPH_CLASS_COLLECTIVE || c == GRAPH_CLASS_SEND || c == GRAPH_CLASS_RECEIVE;
}

static uint8_t flags_of_edge(const graph *g, size_t edge)
{
    uint8_t f = g->edge_flags[edge];
    unsigned flags = (f & GRAPH_CONTROL) ? LINE_CONTROL : LINE_DATA;
    flags |= (f & GRAPH_P2P) ? LINE_P2P : 0;
    flags |= communicates(g, g->edge_from[edge]) || communicates(g, g->edge_to[edge]) ? LINE_COMM : 0;
    return (uint8_t)flags;
}

/* Items at both ends of the edges that are not folded; the folded ones are counted. */
static size_t unfolded(vis_build *b, uint32_t *edge, uint32_t *from, uint32_t *to)
{
    const graph *g = b->p->g;
    size_t n = 0;
    for (size_t e = 0; e < g->n_edges; e++) {
        uint32_t x = b->p->element_of[g->edge_from[e]];
        uint32_t y = b->p->element_of[g->edge_to[e]];
        x = x == GRAPH_NONE ? x : b->show[x];
        y = y == GRAPH_NONE ? y : b->show[y];
        if (x == y || x == GRAPH_NONE || y == GRAPH_NONE) {
            b->v->n_folded += !(g->edge_flags[e] & GRAPH_IMPLIED);
            continue;
        }
        edge[n] = (uint32_t)e;
        from[n] = x;
        to[n++] = y;
    }
    return n;
}

/* Edges that are not folded, with the items at their ends. */
typedef struct loose {
    uint32_t *edge, *from, *to;
    size_t n;
} loose;

static void join_edges(vis_build *b, const loose *s, const uint32_t *order)
{
    const graph *g = b->p->g;
    size_t n_bundles = 0;
    for (size_t i = 0; i < s->n; i++) {
        n_bundles += i == 0 || s->from[order[i]] != s->from[order[i - 1]] || s->to[order[i]] != s->to[order[i - 1]];
    }
    b->bundles = mem_alloc_large((n_bundles + 1) * sizeof *b->bundles);
    for (size_t i = 0; i < s->n && ((i & 0xffff) != 0 || !is_cancelled(b->cancel)); i++) {
        uint32_t k = order[i];
        bundle *last = b->n_bundles ? &b->bundles[b->n_bundles - 1] : NULL;
        if (!last || last->from != s->from[k] || last->to != s->to[k]) {
            last = &b->bundles[b->n_bundles++];
            *last = (bundle){.from = s->from[k], .to = s->to[k]};
            last->revealed = visible_is_revealed(b->v, b->s, last->from, last->to);
        }
        last->n_edges++;
        last->n_implied += (g->edge_flags[s->edge[k]] & GRAPH_IMPLIED) != 0;
        last->bytes += graph_edge_bytes(g, s->edge[k]);
        last->flags |= flags_of_edge(g, s->edge[k]);
    }
}

marey_status build_bundles(vis_build *b)
{
    size_t most = b->p->g->n_edges + 1;
    loose s = {.edge = mem_alloc_large(most * sizeof *s.edge),
               .from = mem_alloc_large(most * sizeof *s.from),
               .to = mem_alloc_large(most * sizeof *s.to)};
    s.n = unfolded(b, s.edge, s.from, s.to);
    uint32_t *order = is_cancelled(b->cancel) ? NULL : sorted_pairs(s.from, s.to, s.n, b->v->n_items);
    if (order && !is_cancelled(b->cancel)) {
        join_edges(b, &s, order);
    }
    free(s.edge);
    free(s.from);
    free(s.to);
    free(order);
    return is_cancelled(b->cancel) ? MAREY_CANCELLED : MAREY_OK;
}

typedef struct segments {
    uint32_t *from, *to;
    size_t n, cap_from, cap_to;
} segments;

static void all_segments(vis_build *b, segments *s)
{
    b->first_segment = mem_alloc_large((b->n_bundles + 1) * sizeof *b->first_segment);
    VEC_RESERVE(s->from, s->cap_from, b->n_bundles + 16);
    VEC_RESERVE(s->to, s->cap_to, b->n_bundles + 16);
    for (size_t i = 0; i < b->n_bundles && ((i & 0xffff) != 0 || !is_cancelled(b->cancel)); i++) {
        b->first_segment[i] = s->n;
        way_find(&b->w, b->v, b->depth, b->bundles[i].from, b->bundles[i].to);
        uint32_t n = way_length(&b->w);
        b->bundles[i].hi = n;
        VEC_RESERVE(s->from, s->cap_from, s->n + n);
        VEC_RESERVE(s->to, s->cap_to, s->n + n);
        for (uint32_t k = 0; k < n; k++) {
            s->from[s->n] = b->w.segment[k][0];
            s->to[s->n++] = b->w.segment[k][1];
        }
    }
    b->first_segment[b->n_bundles] = s->n;
}

/* Runs of equal segments become lines, in the order (from, to); line_of: for each place of `order`. */
static size_t count_lines(const segments *s, const uint32_t *order, uint32_t *line_of)
{
    size_t n = 0;
    for (size_t i = 0; i < s->n; i++) {
        bool fresh = i == 0 || s->from[order[i]] != s->from[order[i - 1]] || s->to[order[i]] != s->to[order[i - 1]];
        n += fresh;
        line_of[order[i]] = (uint32_t)(n - 1);
    }
    return n;
}

typedef struct line_ends {
    uint32_t from, to;
} line_ends;

/* From the order (from, to) to (module, from, to): of each module first the lines from its own in-port, which are the
 * last of its run because children come after siblings, then those from each child. */
static void place_lines(vis_build *b, const line_ends *lines, const uint32_t *run, uint32_t *place)
{
    visible *v = b->v;
    uint32_t n = 0;
    for (uint32_t m = 0; m < v->n_items; m++) {
        const visible_item *it = &v->items[m];
        b->line_first[m] = n;
        for (uint32_t c = 0; c <= it->n_children && it->n_children > 0; c++) {
            uint32_t from = c == 0 ? m : it->first_child + c - 1;
            for (uint32_t k = run[from]; k < run[from + 1]; k++) {
                bool inwards = lines[k].to != 0 && v->items[lines[k].to].parent == from;
                if (inwards == (c == 0)) {
                    v->lines[n] = (visible_line){.module = m, .from = lines[k].from, .to = lines[k].to};
                    place[k] = n++;
                }
            }
        }
    }
    b->line_first[v->n_items] = n;
    v->n_lines = n;
}

static void sum_lines(vis_build *b)
{
    for (size_t i = 0; i < b->n_bundles; i++) {
        const bundle *u = &b->bundles[i];
        for (uint64_t k = b->first_segment[i]; k < b->first_segment[i + 1]; k++) {
            visible_line *l = &b->v->lines[b->segment_line[k]];
            l->n_edges += u->n_edges;
            l->bytes += u->bytes;
            l->flags |= u->flags;
        }
    }
}

/* Equal segments to lines, lines to their modules; segment_line ends up with places of lines. */
static void join_segments(vis_build *b, segments *s, uint32_t *order)
{
    b->segment_line = mem_alloc_large((s->n + 1) * sizeof *b->segment_line);
    size_t n = count_lines(s, order, b->segment_line);
    line_ends *lines = mem_alloc_large((n + 1) * sizeof *lines);
    uint32_t *run = mem_calloc(b->v->n_items + 2, sizeof *run);
    for (size_t i = s->n; i-- > 0;) {
        lines[b->segment_line[order[i]]] = (line_ends){s->from[order[i]], s->to[order[i]]};
    }
    free(s->from);
    free(s->to);
    s->from = s->to = NULL;
    for (size_t k = 0; k < n; k++) {
        run[lines[k].from + 1]++;
    }
    for (size_t i = 0; i < b->v->n_items; i++) {
        run[i + 1] += run[i];
    }
    b->v->lines = mem_alloc_large((n + 1) * sizeof *b->v->lines);
    b->line_first = mem_alloc((b->v->n_items + 2) * sizeof *b->line_first);
    uint32_t *place = order; /* as long as there are segments: at least as many as lines */
    if (!is_cancelled(b->cancel)) {
        place_lines(b, lines, run, place);
    }
    for (size_t i = 0; i < s->n && !is_cancelled(b->cancel); i++) {
        b->segment_line[i] = place[b->segment_line[i]];
    }
    if (!is_cancelled(b->cancel)) {
        sum_lines(b);
    }
    free(lines);
    free(run);
}

marey_status build_lines(vis_build *b)
{
    segments s = {0};
    all_segments(b, &s);
    uint32_t *order = is_cancelled(b->cancel) ? NULL : sorted_pairs(s.from, s.to, s.n, b->v->n_items);
    if (order && !is_cancelled(b->cancel)) {
        join_segments(b, &s, order);
    }
    free(s.from);
    free(s.to);
    free(order);
    return is_cancelled(b->cancel) ? MAREY_CANCELLED : MAREY_OK;
}
