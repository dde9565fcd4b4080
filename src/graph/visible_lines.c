/* Edges to bundles, bundles to lines, and the account. Sorting is by counting: linear in edges and items. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "graph/visible_build.h"

void visible_sort(const vis_build *b, uint32_t *order, uint32_t *scratch, size_t n, const uint32_t *key,
                  uint32_t *count, size_t n_keys)
{
    memset(count, 0, (n_keys + 1) * sizeof *count);
    for (size_t i = 0; i < n && !build_stops(b, i); i++) {
        count[key[order[i]] + 1]++;
    }
    for (size_t k = 0; k < n_keys; k++) {
        count[k + 1] += count[k];
    }
    if (is_cancelled(b->cancel)) { /* not all were counted */
        return;
    }
    for (size_t i = 0; i < n && !build_stops(b, i); i++) {
        scratch[count[key[order[i]]]++] = order[i];
    }
    if (!is_cancelled(b->cancel)) {
        memcpy(order, scratch, n * sizeof *order);
    }
}

static uint32_t *sorted_pairs(const vis_build *b, const uint32_t *from, const uint32_t *to, size_t n)
{
    size_t n_keys = b->v->n_items;
    uint32_t *order = mem_alloc_large((n + 1) * sizeof *order);
    bool sorted = true;
    for (size_t i = 0; i < n && !build_stops(b, i); i++) {
        order[i] = (uint32_t)i;
        sorted = sorted && (i == 0 || from[i - 1] < from[i] || (from[i - 1] == from[i] && to[i - 1] <= to[i]));
    }
    if (!sorted && !is_cancelled(b->cancel)) {
        uint32_t *scratch = mem_alloc_large((n + 1) * sizeof *scratch);
        uint32_t *count = mem_alloc((n_keys + 2) * sizeof *count);
        visible_sort(b, order, scratch, n, to, count, n_keys);
        visible_sort(b, order, scratch, n, from, count, n_keys);
        free(scratch);
        free(count);
    }
    return order;
}

/* Edges, and sums of edges, that are not folded, with the items at their ends. */
typedef struct loose {
    uint32_t *what, *from, *to; /* what: a row of the graph, or LOOSE_SUM and a sum */
    size_t n, cap_what, cap_from, cap_to;
    edge_sum *sums;
    size_t n_sums, cap_sums;
} loose;

#define LOOSE_SUM 0x80000000U

static void push_loose(vis_build *b, loose *s, uint32_t what, uint32_t x, uint32_t y)
{
    uint32_t from = visible_item_of(b->v, b->p, x);
    uint32_t to = visible_item_of(b->v, b->p, y);
    if (from != to) {
        s->what[s->n] = what;
        s->from[s->n] = from;
        s->to[s->n++] = to;
    }
}

static void reserve_loose(loose *s, size_t more)
{
    VEC_RESERVE(s->what, s->cap_what, s->n + more);
    VEC_RESERVE(s->from, s->cap_from, s->n + more);
    VEC_RESERVE(s->to, s->cap_to, s->n + more);
}

/* @return false: cancelled */
static bool push_edges(vis_build *b, loose *s, edge_range r)
{
    const graph *g = b->p->g;
    const uint32_t *show = b->p->element_of;
    reserve_loose(s, r.n);
    for (uint32_t i = 0; i < r.n; i++) {
        push_loose(b, s, r.at[i], show[g->edge_from[r.at[i]]], show[g->edge_to[r.at[i]]]);
        if ((i & 0x7fff) == 0x7fff && is_cancelled(b->cancel)) {
            return false;
        }
    }
    return true;
}

static void push_sum(vis_build *b, loose *s, const edge_sum *sum, uint32_t x, uint32_t y)
{
    if (sum->n > 0) {
        reserve_loose(s, 1);
        VEC_PUSH(s->sums, s->n_sums, s->cap_sums, *sum);
        push_loose(b, s, LOOSE_SUM | (uint32_t)(s->n_sums - 1), x, y);
    }
}

/* Whether what is inside is shown by more than one item. */
static bool is_opened(const vis_build *b, uint32_t element)
{
    const plan_element *e = &b->p->elements[element];
    uint32_t item = b->v->item_of[element];
    if (item != GRAPH_NONE) {
        return b->v->items[item].n_children > 0;
    }
    if (b->s->flat) { /* open elements have no items there; the open element around was opened, too */
        return state_is_open(b->s, b->p, element);
    }
    return e->n_children > 0 && b->v->item_of[e->first_child] != GRAPH_NONE; /* the member that a stack shows */
}

static size_t first_run(const visible_edges *e, uint32_t edge)
{
    size_t lo = 0;
    for (size_t hi = e->n_runs; lo < hi;) {
        size_t mid = lo + (hi - lo) / 2;
        lo = e->runs[mid].first < edge ? mid + 1 : lo;
        hi = e->runs[mid].first < edge ? hi : mid;
    }
    return lo;
}

/* Whether only one member of a stack is shown. */
static bool shows_member(const vis_build *b, uint32_t element)
{
    return b->p->elements[element].kind == ELEMENT_STACK && !b->s->flat && state_is_open(b->s, b->p, element) &&
           !state_is_dissolved(b->s, b->p, element);
}

/* A run that is looked into: at one end the edges end inside `around`, which is open. */
typedef struct split {
    const edge_run *run;
    uint32_t around, lo, hi;
} split;

static void push_split(vis_build *b, uint32_t around, const edge_run *r, uint32_t lo, uint32_t hi)
{
    if (lo < hi) {
        VEC_PUSH(b->splits, b->n_splits, b->cap_splits, ((split){r, around, lo, hi}));
    }
}

/* Rows lo .. hi of a run, all of whose ends on the split side are shown by one item. */
static void push_part(vis_build *b, loose *s, const edge_run *r, uint32_t lo, uint32_t hi)
{
    if (lo < hi) {
        const graph *g = b->p->g;
        uint32_t e = b->edges->edge[r->first + lo];
        edge_sum sum = visible_edges_sum(b->p, b->edges, r, lo, hi);
        push_sum(b, s, &sum, b->p->element_of[g->edge_from[e]], b->p->element_of[g->edge_to[e]]);
    }
}

/* The part of each child; of a stack the parts before and behind the member that it shows. */
static void split_run(vis_build *b, loose *s, split x)
{
    const edge_run *r = x.run;
    const uint32_t *at = b->edges->edge + r->first;
    if (shows_member(b, x.around)) {
        uint32_t member = state_member(b->s, b->p, x.around);
        edge_range all = {at + x.lo, x.hi - x.lo};
        uint32_t lo = x.lo + visible_edges_before(b->p, all, r->splits_to, x.around, member);
        uint32_t hi = x.lo + visible_edges_before(b->p, all, r->splits_to, x.around, member + 1);
        push_part(b, s, r, x.lo, lo);
        push_part(b, s, r, hi, x.hi);
        if (is_opened(b, member)) {
            push_split(b, member, r, lo, hi);
        } else {
            push_part(b, s, r, lo, hi);
        }
        return;
    }
    for (uint32_t i = x.lo, end = x.lo, k = 0; i < x.hi && !build_stops(b, ++k); i = end) {
        uint32_t child = visible_edge_child(b->p, at[i], r->splits_to, x.around);
        uint32_t reach = 1;
        while (i + reach < x.hi && visible_edge_child(b->p, at[i + reach], r->splits_to, x.around) == child) {
            reach *= 2;
        }
        reach = i + reach < x.hi ? reach : x.hi - i;
        end = i + visible_edges_before(b->p, (edge_range){at + i, reach}, r->splits_to, x.around, child + 1);
        if (child != x.around && is_opened(b, child)) {
            push_split(b, child, r, i, end);
        } else {
            push_part(b, s, r, i, end);
        }
    }
}

static bool push_run(vis_build *b, loose *s, const edge_run *r, uint32_t element)
{
    bool from_open = r->from != element && is_opened(b, r->from);
    bool to_open = r->to != element && is_opened(b, r->to);
    if (!from_open && !to_open) {
        push_sum(b, s, &r->sum, r->from, r->to);
        return true;
    }
    if (r->splits_to ? from_open : to_open) {
        return push_edges(b, s, (edge_range){b->edges->edge + r->first, r->sum.n});
    }
    push_split(b, r->splits_to ? r->to : r->from, r, 0, r->sum.n);
    while (b->n_splits > 0) {
        split_run(b, s, b->splits[--b->n_splits]);
        if (is_cancelled(b->cancel)) {
            return false;
        }
    }
    return true;
}

/* Edges between members of which one is shown: those that begin or end there. */
static bool unfolded_in_stack(vis_build *b, uint32_t stack, loose *s)
{
    uint32_t member = state_member(b->s, b->p, stack);
    uint32_t first = b->edges->first[stack];
    edge_range all = {b->edges->edge + first, b->edges->first[stack + 1] - first};
    edge_range into = visible_edges_into(b->edges, stack);
    if (into.at == NULL) { /* a handful */
        return push_edges(b, s, all);
    }
    uint32_t lo = visible_edges_before(b->p, all, false, stack, member);
    uint32_t hi = visible_edges_before(b->p, all, false, stack, member + 1);
    if (!push_edges(b, s, (edge_range){all.at + lo, hi - lo})) {
        return false;
    }
    lo = visible_edges_before(b->p, into, true, stack, member);
    hi = visible_edges_before(b->p, into, true, stack, member + 1);
    return push_edges(b, s, (edge_range){into.at + lo, hi - lo});
}

/* Edges that join children of one element. @return false: cancelled */
static bool unfolded_in(vis_build *b, uint32_t element, loose *s)
{
    const visible_edges *e = b->edges;
    uint32_t end = e->first[element + 1];
    if (e->first[element] == end) {
        return true;
    }
    if (shows_member(b, element)) {
        return unfolded_in_stack(b, element, s);
    }
    size_t r = first_run(e, e->first[element]);
    for (uint32_t i = e->first[element]; i < end;) {
        uint32_t next = r < e->n_runs && e->runs[r].first < end ? e->runs[r].first : end;
        if (!push_edges(b, s, (edge_range){e->edge + i, next - i})) {
            return false;
        }
        i = next;
        if (next < end) {
            if (!push_run(b, s, &e->runs[r], element)) {
                return false;
            }
            i += e->runs[r++].sum.n;
        }
    }
    return true;
}

static bool unfolded(vis_build *b, loose *s)
{
    for (size_t i = 0; i < b->n_opened; i++) {
        if (!unfolded_in(b, b->opened[i], s) || ((i & 0xff) == 0 && is_cancelled(b->cancel))) {
            return false;
        }
    }
    return true;
}

/* What an edge, or a sum of them, adds to a bundle. */
static void join_loose(bundle *to, const vis_build *b, const loose *s, uint32_t what)
{
    edge_sum one = {0};
    const edge_sum *sum = what & LOOSE_SUM ? &s->sums[what & ~LOOSE_SUM] : &one;
    if (sum == &one) {
        edge_sum_add(&one, b->p->g, what);
    }
    to->n_edges += sum->n;
    to->n_implied += sum->n_implied;
    to->bytes += sum->bytes;
    to->flags |= edge_sum_flags(sum);
}

static void join_edges(vis_build *b, const loose *s, const uint32_t *order)
{
    const graph *g = b->p->g;
    size_t n_bundles = 0;
    size_t counted = 0;
    for (size_t i = 0; i < s->n && !build_stops(b, i); i++) {
        n_bundles += i == 0 || s->from[order[i]] != s->from[order[i - 1]] || s->to[order[i]] != s->to[order[i - 1]];
    }
    b->bundles = mem_alloc_large((n_bundles + 1) * sizeof *b->bundles);
    for (size_t i = 0; i < s->n && !build_stops(b, i); i++) {
        uint32_t k = order[i];
        bundle *last = b->n_bundles ? &b->bundles[b->n_bundles - 1] : NULL;
        if (!last || last->from != s->from[k] || last->to != s->to[k]) {
            last = &b->bundles[b->n_bundles++];
            *last = (bundle){.from = s->from[k], .to = s->to[k]};
            last->revealed = visible_is_revealed(b->v, b->s, last->from, last->to);
        }
        join_loose(last, b, s, s->what[k]);
    }
    for (size_t i = 0; i < b->n_bundles && !build_stops(b, i); i++) {
        counted += b->bundles[i].n_edges - b->bundles[i].n_implied;
    }
    b->v->n_folded = g->n_edges - g->n_implied_edges - counted;
}

marey_status build_bundles(vis_build *b)
{
    loose s = {0};
    bool done = unfolded(b, &s);
    uint32_t *order = done ? sorted_pairs(b, s.from, s.to, s.n) : NULL;
    if (order && !is_cancelled(b->cancel)) {
        join_edges(b, &s, order);
    }
    free(s.what);
    free(s.from);
    free(s.to);
    free(s.sums);
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
    for (size_t i = 0; i < b->n_bundles && !build_stops(b, i); i++) {
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
static size_t count_lines(const vis_build *b, const segments *s, const uint32_t *order, uint32_t *line_of)
{
    size_t n = 0;
    for (size_t i = 0; i < s->n && !build_stops(b, i); i++) {
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
    for (uint32_t m = 0; m < v->n_items && !build_stops(b, m); m++) {
        const visible_item *it = &v->items[m];
        b->line_first[m] = n;
        for (uint32_t c = 0; c <= it->n_children && it->n_children > 0; c++) {
            uint32_t from = c == 0 ? m : it->first_child + c - 1;
            if (build_stops(b, c + 1U)) {
                return;
            }
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
    for (size_t i = 0; i < b->n_bundles && !build_stops(b, i); i++) {
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
    size_t n = count_lines(b, s, order, b->segment_line);
    if (is_cancelled(b->cancel)) { /* not all were counted */
        return;
    }
    line_ends *lines = mem_alloc_large((n + 1) * sizeof *lines);
    uint32_t *run = mem_calloc(b->v->n_items + 2, sizeof *run);
    for (size_t i = s->n; i-- > 0 && !build_stops(b, i);) {
        lines[b->segment_line[order[i]]] = (line_ends){s->from[order[i]], s->to[order[i]]};
    }
    free(s->from);
    free(s->to);
    s->from = s->to = NULL;
    for (size_t k = 0; k < n && !is_cancelled(b->cancel); k++) {
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
    for (size_t i = 0; i < s->n && !build_stops(b, i); i++) {
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
    uint32_t *order = is_cancelled(b->cancel) ? NULL : sorted_pairs(b, s.from, s.to, s.n);
    if (order && !is_cancelled(b->cancel)) {
        join_segments(b, &s, order);
    }
    free(s.from);
    free(s.to);
    free(order);
    return is_cancelled(b->cancel) ? MAREY_CANCELLED : MAREY_OK;
}
