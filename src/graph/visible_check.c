/* The fate of one edge, and whether all that is visible adds up. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "graph/visible_build.h"

static const visible_line *find_line(const visible *v, uint32_t module, uint32_t from, uint32_t to)
{
    size_t lo = 0;
    size_t hi = v->n_lines;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        const visible_line *l = &v->lines[mid];
        bool before = l->module != module ? l->module < module : l->from != from ? l->from < from : l->to < to;
        lo = before ? mid + 1 : lo;
        hi = before ? hi : mid;
    }
    const visible_line *l = &v->lines[lo];
    return lo < v->n_lines && l->module == module && l->from == from && l->to == to ? l : NULL;
}

static uint32_t module_of(const visible *v, uint32_t from, uint32_t to)
{
    if (to != 0 && v->items[to].parent == from) {
        return from;
    }
    return v->items[from].parent == to ? to : v->items[from].parent;
}

/* show, depth: of visible_show() and visible_depth(). */
static edge_fate fate(const visible *v, const graph_state *s, const uint32_t *depth, uint32_t x, uint32_t y, way *w)
{
    if (x == y || x == GRAPH_NONE || y == GRAPH_NONE) {
        return EDGE_FOLDED;
    }
    bool revealed = visible_is_revealed(v, s, x, y);
    bool alone = true;
    way_find(w, v, depth, x, y);
    for (uint32_t i = 0; i < way_length(w); i++) {
        uint32_t from = w->segment[i][0];
        uint32_t to = w->segment[i][1];
        const visible_line *l = find_line(v, module_of(v, from, to), from, to);
        if (!l || ((l->flags & LINE_REVEALED) && !revealed)) {
            return EDGE_STUBBED;
        }
        alone = alone && l->n_edges == 1;
    }
    return alone ? EDGE_DRAWN : EDGE_BUNDLED;
}

static uint32_t shown_item(const visible *v, const graph_plan *p, const graph_state *s, uint32_t node)
{
    uint32_t leaf = p->element_of[node];
    return leaf == GRAPH_NONE ? GRAPH_NONE : v->item_of[graph_state_shown_by(s, p, leaf)];
}

edge_fate visible_edge_fate(const visible *v, const graph_plan *p, const graph_state *s, uint32_t edge)
{
    uint32_t x = shown_item(v, p, s, p->g->edge_from[edge]);
    uint32_t y = shown_item(v, p, s, p->g->edge_to[edge]);
    uint32_t *depth = visible_depth(v);
    way w = {0};
    edge_fate f = fate(v, s, depth, x, y, &w);
    free(depth);
    free(w.segment);
    return f;
}

static const char *check_items(const visible *v, const graph_plan *p)
{
    for (size_t i = 0; i < v->n_items; i++) {
        const visible_item *it = &v->items[i];
        if (it->element >= p->n_elements || v->item_of[it->element] != i) {
            return "an item and its element do not agree";
        }
        if (i > 0 && it->parent >= i) {
            return "an item comes before its parent";
        }
        for (uint32_t c = 0; c < it->n_children; c++) {
            if (v->items[it->first_child + c].parent != i) {
                return "a child does not know its parent";
            }
        }
    }
    return NULL;
}

static const char *check_lines(const visible *v)
{
    for (size_t i = 0; i < v->n_lines; i++) {
        const visible_line *l = &v->lines[i];
        if (l->n_edges == 0 || l->from == l->to || l->module != module_of(v, l->from, l->to)) {
            return "a line without edges, to itself, or in the wrong module";
        }
        bool from_ok = l->from == l->module || v->items[l->from].parent == l->module;
        bool to_ok = l->to == l->module || v->items[l->to].parent == l->module;
        if (!from_ok || !to_ok) {
            return "a line leaves its module";
        }
        const visible_line *before = i > 0 ? l - 1 : NULL;
        if (before && (before->module > l->module ||
                       (before->module == l->module &&
                        (before->from > l->from || (before->from == l->from && before->to >= l->to))))) {
            return "lines are not in order";
        }
    }
    return NULL;
}

/* Takes away what has no line into it until nothing is left, over all modules at once. */
static const char *check_acyclic(const visible *v)
{
    uint32_t *in = mem_calloc(v->n_items + 1, sizeof *in);
    size_t *first = mem_calloc(v->n_items + 2, sizeof *first);
    uint32_t *queue = mem_alloc((v->n_items + 1) * sizeof *queue);
    uint32_t *line = mem_alloc((v->n_lines + 1) * sizeof *line);
    size_t n = 0;
    for (size_t i = 0; i < v->n_lines; i++) {
        const visible_line *l = &v->lines[i];
        bool inner = l->from != l->module && l->to != l->module && !(l->flags & LINE_BACK);
        in[l->to] += inner;
        first[l->from + 1] += inner;
    }
    for (size_t i = 0; i < v->n_items; i++) {
        first[i + 1] += first[i];
        if (in[i] == 0) {
            queue[n++] = (uint32_t)i;
        }
    }
    size_t *next = mem_alloc((v->n_items + 1) * sizeof *next);
    memcpy(next, first, v->n_items * sizeof *next);
    for (size_t i = 0; i < v->n_lines; i++) {
        const visible_line *l = &v->lines[i];
        if (l->from != l->module && l->to != l->module && !(l->flags & LINE_BACK)) {
            line[next[l->from]++] = l->to;
        }
    }
    for (size_t i = 0; i < n; i++) {
        for (size_t k = first[queue[i]]; k < first[queue[i] + 1]; k++) {
            if (--in[line[k]] == 0) {
                queue[n++] = line[k];
            }
        }
    }
    free(in);
    free(first);
    free(queue);
    free(line);
    free(next);
    return n == v->n_items ? NULL : "a cycle of lines that are not marked as running back";
}

static const char *check_sums(const visible *v, const graph_plan *p, const graph_state *s)
{
    size_t n[4] = {0};
    const graph *g = p->g;
    uint32_t *show = visible_show(v, p);
    uint32_t *depth = visible_depth(v);
    way w = {0};
    for (size_t e = 0; e < g->n_edges; e++) {
        if (!(g->edge_flags[e] & GRAPH_IMPLIED)) {
            uint32_t a = p->element_of[g->edge_from[e]];
            uint32_t z = p->element_of[g->edge_to[e]];
            n[fate(v, s, depth, a == GRAPH_NONE ? a : show[a], z == GRAPH_NONE ? z : show[z], &w)]++;
        }
    }
    free(show);
    free(depth);
    free(w.segment);
    if (v->n_drawn + v->n_bundled + v->n_stubbed + v->n_folded != g->n_edges - g->n_implied_edges) {
        return "drawn + bundled + stubbed + folded is not the number of edges";
    }
    bool same = n[EDGE_DRAWN] == v->n_drawn && n[EDGE_BUNDLED] == v->n_bundled && n[EDGE_STUBBED] == v->n_stubbed &&
                n[EDGE_FOLDED] == v->n_folded;
    return same ? NULL : "the account and the fates of the edges do not agree";
}

const char *visible_check(const visible *v, const graph_plan *p, const graph_state *s)
{
    const char *why = check_items(v, p);
    why = why ? why : check_lines(v);
    why = why ? why : check_acyclic(v);
    return why ? why : check_sums(v, p, s);
}
