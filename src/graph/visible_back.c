/* Lines against the order: those that the plan turned, and one of every cycle that is left (cycles not removed, implied
 * edges, self-made graphs). Depth first from the first child on, iteratively: O(children + lines) a module. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "graph/visible_build.h"

/* The line between two siblings, or NULL. */
static visible_line *find_line(vis_build *b, uint32_t from, uint32_t to)
{
    uint32_t m = b->v->items[from].parent;
    uint32_t lo = b->line_first[m];
    uint32_t hi = b->line_first[m + 1];
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        const visible_line *l = &b->v->lines[mid];
        if (l->from < from || (l->from == from && l->to < to)) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    visible_line *l = &b->v->lines[lo];
    return lo < b->line_first[m + 1] && l->from == from && l->to == to ? l : NULL;
}

static void mark_planned(vis_build *b)
{
    for (size_t i = 0; i < b->p->n_back_arcs && !build_stops(b, i); i++) {
        uint32_t from = b->v->item_of[b->p->back_arcs[i][0]];
        uint32_t to = b->v->item_of[b->p->back_arcs[i][1]];
        if (from != GRAPH_NONE && to != GRAPH_NONE && b->v->items[from].parent == b->v->items[to].parent) {
            visible_line *l = find_line(b, from, to);
            if (l) {
                l->flags |= LINE_BACK;
            }
        }
    }
}

typedef struct walk {
    uint32_t *first; /* [n + 1] lines of a child: between first[i] and first[i + 1] */
    uint32_t *in, *stack, *next;
    uint8_t *on; /* 0 new, 1 on the stack, 2 done */
} walk;

static bool is_inner(const visible_line *l, uint32_t m)
{
    return l->from != m && l->to != m && !(l->flags & LINE_BACK);
}

/* Whether the module's lines have a cycle: what cannot be taken away from the front. */
static bool has_cycle(vis_build *b, uint32_t m, walk *w)
{
    const visible_item *it = &b->v->items[m];
    const visible_line *lines = b->v->lines;
    uint32_t n = it->n_children;
    uint32_t done = 0;
    memset(w->in, 0, n * sizeof *w->in);
    uint32_t l = b->line_first[m];
    for (uint32_t c = 0; c < n && !build_stops(b, c + 1U); c++) {
        while (l < b->line_first[m + 1] && lines[l].from < it->first_child + c) {
            l++;
        }
        w->first[c] = l;
    }
    w->first[n] = b->line_first[m + 1];
    if (is_cancelled(b->cancel)) { /* not all are known */
        return false;
    }
    for (l = w->first[0]; l < w->first[n] && !build_stops(b, l); l++) {
        w->in[is_inner(&lines[l], m) ? lines[l].to - it->first_child : 0] += is_inner(&lines[l], m);
    }
    for (uint32_t c = 0; c < n; c++) {
        if (w->in[c] == 0) {
            w->stack[done++] = c;
        }
    }
    for (uint32_t i = 0; i < done && !is_cancelled(b->cancel); i++) {
        uint32_t c = w->stack[i];
        for (l = w->first[c]; l < w->first[c + 1]; l++) {
            if (is_inner(&lines[l], m) && --w->in[lines[l].to - it->first_child] == 0) {
                w->stack[done++] = lines[l].to - it->first_child;
            }
        }
    }
    return done < n;
}

static void turn_cycles(vis_build *b, uint32_t m, walk *w)
{
    const visible_item *it = &b->v->items[m];
    memset(w->on, 0, it->n_children);
    memcpy(w->next, w->first, it->n_children * sizeof *w->next);
    for (uint32_t root = 0; root < it->n_children; root++) {
        if (w->on[root]) {
            continue;
        }
        uint32_t depth = 0;
        w->stack[depth++] = root;
        w->on[root] = 1;
        while (depth > 0 && !is_cancelled(b->cancel)) {
            uint32_t c = w->stack[depth - 1];
            if (w->next[c] == w->first[c + 1]) {
                w->on[c] = 2;
                depth--;
                continue;
            }
            visible_line *l = &b->v->lines[w->next[c]++];
            if (!is_inner(l, m)) {
                continue;
            }
            uint32_t to = l->to - it->first_child;
            if (w->on[to] == 1) {
                l->flags |= LINE_BACK;
            } else if (w->on[to] == 0) {
                w->on[to] = 1;
                w->stack[depth++] = to;
            }
        }
    }
}

marey_status build_back(vis_build *b)
{
    uint32_t widest = 0;
    for (size_t i = 0; i < b->v->n_items; i++) {
        widest = b->v->items[i].n_children > widest ? b->v->items[i].n_children : widest;
    }
    walk w = {.first = mem_alloc((widest + 1U) * sizeof *w.first),
              .in = mem_alloc((widest + 1U) * sizeof *w.in),
              .stack = mem_alloc((widest + 1U) * sizeof *w.stack),
              .next = mem_alloc((widest + 1U) * sizeof *w.next),
              .on = mem_alloc(widest + 1U)};
    if (!b->s->flat) { /* without frames the modules that the plan ordered are not there */
        mark_planned(b);
    }
    for (uint32_t m = 0; m < b->v->n_items; m++) {
        if (b->line_first[m] == b->line_first[m + 1]) {
            continue;
        }
        if (build_stops(b, m)) {
            break;
        }
        if (has_cycle(b, m, &w) && !is_cancelled(b->cancel)) {
            turn_cycles(b, m, &w);
        }
    }
    free(w.first);
    free(w.in);
    free(w.stack);
    free(w.next);
    free(w.on);
    return is_cancelled(b->cancel) ? MAREY_CANCELLED : MAREY_OK;
}
