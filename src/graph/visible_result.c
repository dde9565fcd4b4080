/* What is left after cutting: lines, stubs, and the account of every edge. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "graph/visible_build.h"

/* Sums over what is drawn; a line that only revealed bundles need is marked. */
static void sum_kept(vis_build *b)
{
    visible *v = b->v;
    for (size_t l = 0; l < v->n_lines && !build_stops(b, l); l++) {
        v->lines[l].n_edges = 0;
        v->lines[l].bytes = 0;
        v->lines[l].flags = (uint8_t)((v->lines[l].flags & LINE_BACK) | LINE_REVEALED);
    }
    for (size_t i = 0; i < b->n_bundles && !build_stops(b, i); i++) {
        const bundle *u = &b->bundles[i];
        uint32_t n = (uint32_t)(b->first_segment[i + 1] - b->first_segment[i]);
        uint32_t lo = u->revealed ? 0 : u->lo;
        uint32_t hi = u->revealed ? n : u->hi;
        for (uint32_t j = lo; j < hi; j++) {
            visible_line *l = &v->lines[b->segment_line[b->first_segment[i] + j]];
            l->n_edges += u->n_edges;
            l->bytes += u->bytes;
            l->flags |= u->flags;
            if (j >= u->lo && j < u->hi) {
                l->flags &= (uint8_t)~LINE_REVEALED;
            }
        }
    }
}

static void push_stub(visible *v, size_t *cap, const bundle *u, bool is_input)
{
    visible_stub s = {.item = is_input ? u->to : u->from,
                      .peer = v->items[is_input ? u->from : u->to].element,
                      .n_edges = u->n_edges,
                      .bytes = u->bytes,
                      .is_input = is_input};
    VEC_PUSH(v->stubs, v->n_stubs, *cap, s);
}

/* By item, then outputs before inputs, then peer. */
static void sort_stubs(const vis_build *b)
{
    visible *v = b->v;
    size_t n = v->n_stubs;
    size_t most = 2 * v->n_items > b->p->n_elements ? 2 * v->n_items : b->p->n_elements;
    uint32_t *order = mem_alloc((n + 1) * sizeof *order);
    uint32_t *scratch = mem_alloc((n + 1) * sizeof *scratch);
    uint32_t *key = mem_alloc((n + 1) * sizeof *key);
    uint32_t *count = mem_alloc((most + 2) * sizeof *count);
    for (size_t i = 0; i < n; i++) {
        order[i] = (uint32_t)i;
        key[i] = v->stubs[i].peer;
    }
    visible_sort(b, order, scratch, n, key, count, b->p->n_elements);
    for (size_t i = 0; i < n; i++) {
        key[i] = 2 * v->stubs[i].item + v->stubs[i].is_input;
    }
    visible_sort(b, order, scratch, n, key, count, 2 * v->n_items);
    visible_stub *sorted = mem_alloc((n + 1) * sizeof *sorted);
    for (size_t i = 0; i < n && !build_stops(b, i); i++) {
        sorted[i] = v->stubs[order[i]];
    }
    free(v->stubs);
    v->stubs = sorted;
    free(order);
    free(scratch);
    free(key);
    free(count);
}

static void account(vis_build *b)
{
    visible *v = b->v;
    size_t cap = 0;
    for (size_t i = 0; i < b->n_bundles && !build_stops(b, i); i++) {
        const bundle *u = &b->bundles[i];
        size_t counted = u->n_edges - u->n_implied;
        bool up = u->cut_across || u->lo > 0;
        bool down = u->cut_across || u->hi < b->first_segment[i + 1] - b->first_segment[i];
        if ((up || down) && !u->revealed) {
            v->n_stubbed += counted;
            if (up) {
                push_stub(v, &cap, u, false);
            }
            if (down) {
                push_stub(v, &cap, u, true);
            }
            continue;
        }
        bool alone = true;
        for (uint64_t j = b->first_segment[i]; j < b->first_segment[i + 1]; j++) {
            alone = alone && v->lines[b->segment_line[j]].n_edges == 1;
        }
        *(alone ? &v->n_drawn : &v->n_bundled) += counted;
    }
    if (v->n_stubs > 1 && !is_cancelled(b->cancel)) {
        sort_stubs(b);
    }
}

marey_status build_result(vis_build *b)
{
    visible *v = b->v;
    sum_kept(b);
    if (is_cancelled(b->cancel)) {
        return MAREY_CANCELLED;
    }
    account(b);
    if (is_cancelled(b->cancel)) {
        return MAREY_CANCELLED;
    }
    size_t n = 0;
    for (size_t l = 0; l < v->n_lines && !build_stops(b, l); l++) {
        visible_line *x = &v->lines[l];
        if (x->n_edges == 0) {
            continue;
        }
        unsigned flags = x->flags & (LINE_BACK | LINE_COMM | LINE_REVEALED | LINE_P2P);
        flags |= x->flags & LINE_DATA ? 0 : LINE_CONTROL;
        x->flags = (uint8_t)flags;
        v->n_back += (flags & LINE_BACK) != 0;
        v->lines[n++] = *x;
    }
    if (is_cancelled(b->cancel)) {
        return MAREY_CANCELLED;
    }
    v->n_lines = n;
    v->lines = mem_realloc_array(v->lines, n + 1, sizeof *v->lines);
    return MAREY_OK;
}
