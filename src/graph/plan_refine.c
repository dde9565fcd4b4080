/*
 * Colour refinement on the leaves of two modules at once, with individualisation where colours tie: the first of a
 * class in one module is paired with the first in the other, and refinement goes on. For what is symmetric in itself
 * any choice is right; where it is not, the check of the mapping says no. Work is bounded for the whole plan.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "graph/plan_work.h"

enum { REFINE_MAX_SIZE = 8192, REFINE_MAX_ROUNDS = 64 };
static const uint64_t REFINE_MAX_WORK = 40000000; /* colours made, over all modules of a plan */

typedef struct leaf_colour {
    uint64_t colour;
    uint32_t leaf; /* place: of a below size, of b above */
} leaf_colour;

typedef struct refine_work {
    plan_work *w;
    uint32_t lo[2], size;
    uint64_t *colour, *sum; /* [2 size] */
    leaf_colour *sorted;    /* [2 size] */
} refine_work;

static int by_colour(const void *x, const void *y)
{
    const leaf_colour *a = x, *b = y;
    if (a->colour != b->colour) {
        return a->colour < b->colour ? -1 : 1;
    }
    return a->leaf < b->leaf ? -1 : a->leaf > b->leaf;
}

/* What the leaf is, and in which modules it lies. */
static uint64_t start_colour(const plan_work *w, uint32_t leaf, uint32_t module)
{
    uint64_t h = w->label[leaf];
    for (uint32_t t = w->tree[w->leaf_tree[leaf]].parent; t != module && t != 0; t = w->tree[t].parent) {
        h = w->tree[t].kind == ELEMENT_STACK ? h : mix64(h, plan_sign(w, t)[0]);
    }
    return h;
}

static void refine_once(refine_work *r)
{
    plan_work *w = r->w;
    memset(r->sum, 0, 2 * (size_t)r->size * sizeof *r->sum);
    for (uint32_t side = 0; side < 2; side++) {
        for (uint32_t i = 0; i < r->size; i++) {
            uint32_t v = w->at[r->lo[side] + i], at = side * r->size + i;
            for (uint32_t k = w->in_first[v]; k < w->in_first[v + 1]; k++) {
                uint32_t from = w->where[w->edge_from[k]] - r->lo[side];
                if (from < r->size) {
                    from += side * r->size;
                    r->sum[at] += mix64(r->colour[from], w->edge_label[k]);
                    r->sum[from] += mix64(r->colour[at], ~w->edge_label[k]);
                }
            }
        }
    }
    for (size_t i = 0; i < 2 * (size_t)r->size; i++) {
        r->colour[i] = mix64(r->colour[i], r->sum[i]);
    }
    w->match_work += 2 * (uint64_t)r->size;
}

static uint32_t sort_colours(refine_work *r)
{
    uint32_t n = 2 * r->size, classes = 0;
    for (uint32_t i = 0; i < n; i++) {
        r->sorted[i] = (leaf_colour){r->colour[i], i};
    }
    qsort(r->sorted, n, sizeof *r->sorted, by_colour);
    for (uint32_t i = 0; i < n; i++) {
        classes += i == 0 || r->sorted[i].colour != r->sorted[i - 1].colour;
    }
    return classes;
}

/* Until no class parts any more. @return classes; 0: the work is spent */
static uint32_t refine_all(refine_work *r, uint32_t classes)
{
    for (int round = 0; round < REFINE_MAX_ROUNDS; round++) {
        if (r->w->match_work > REFINE_MAX_WORK) {
            return 0;
        }
        refine_once(r);
        uint32_t now = sort_colours(r);
        if (now <= classes) {
            break;
        }
        classes = now;
    }
    return classes;
}

/* In every class half are of a and half of b; a class of more than one pair gets its first pair taken out.
 * @return 1: all are pairs; 0: go on; -1: they differ */
static int pair_up(refine_work *r, uint32_t *order)
{
    uint32_t n = 2 * r->size;
    const leaf_colour *open = NULL;
    for (uint32_t i = 0, end; i < n; i = end) {
        uint32_t in_a = 0;
        for (end = i; end < n && r->sorted[end].colour == r->sorted[i].colour; end++) {
            in_a += r->sorted[end].leaf < r->size;
        }
        if (in_a * 2 != end - i) {
            return -1;
        }
        if (in_a == 1) {
            order[r->sorted[i].leaf] = r->sorted[i + 1].leaf - r->size;
        } else if (!open) {
            open = &r->sorted[i];
            uint64_t chosen = mix64(open->colour, 0x70a1);
            r->colour[open->leaf] = r->colour[r->sorted[i + in_a].leaf] = chosen;
        }
    }
    return open ? 0 : 1;
}

bool plan_refine(plan_work *w, uint32_t a, uint32_t b, uint32_t *order)
{
    uint32_t size = plan_size(w, a);
    if (size > REFINE_MAX_SIZE || w->match_work > REFINE_MAX_WORK) {
        return false;
    }
    refine_work r = {w, {w->tree[a].lo, w->tree[b].lo}, size, NULL, NULL, NULL};
    r.colour = mem_alloc(2 * (size_t)size * sizeof *r.colour);
    r.sum = mem_alloc(2 * (size_t)size * sizeof *r.sum);
    r.sorted = mem_alloc(2 * (size_t)size * sizeof *r.sorted);
    for (uint32_t i = 0; i < size; i++) {
        r.colour[i] = start_colour(w, w->at[r.lo[0] + i], a);
        r.colour[size + i] = start_colour(w, w->at[r.lo[1] + i], b);
    }
    int done = 0;
    uint32_t classes = 0;
    while (done == 0 && !is_cancelled(w->o.cancel)) {
        classes = refine_all(&r, classes);
        done = classes == 0 ? -1 : pair_up(&r, order);
    }
    free(r.colour);
    free(r.sum);
    free(r.sorted);
    return done == 1;
}
