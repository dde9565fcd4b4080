/* Tracks: the order of wires by greedy ranking of pairwise crossings (as Eades, Lin, Smyth rank arcs), then left edges.
 */
#include <stdbool.h>
#include <stdlib.h>

#include "base/mem.h"
#include "graph/layered_tracks.h"

enum { FEW = 96, MUCH_WORK = 400000, COLLINEAR = 8 };

static bool within(float x, const wire *w)
{
    return x > w->lo + 0.25F && x < w->hi - 0.25F;
}

static bool overlap(const wire *a, const wire *b)
{
    return a->lo < b->hi + 4 && b->lo < a->hi + 4;
}

/* How many lines the wire carries at x: those between its single end on one side and ends beyond x on the other. */
static int32_t load(const wire *w, float x, const float *ends)
{
    bool fan_out = w->n_before == 1;
    if (!fan_out && w->n_after != 1) {
        return 1;
    }
    float hub = ends[fan_out ? w->before : w->after];
    const float *end = ends + (fan_out ? w->after : w->before);
    uint32_t n_ends = fan_out ? w->n_after : w->n_before;
    int32_t n = n_ends == 0;
    for (uint32_t i = 0; i < n_ends; i++) {
        n += x > hub ? end[i] > x : end[i] < x;
    }
    return n;
}

enum { POINT = 3 }; /* a crossing point on the page weighs as much as three pairs of lines that cross there */

/* Crossings when a has the lower track; lines on top of each other count for many. */
static int32_t crossings(const wire *a, const wire *b, const float *ends)
{
    int32_t n = 0;
    if (a->hi + 3 < b->lo || b->hi + 3 < a->lo) { /* all ends of a wire lie on it */
        return 0;
    }
    for (uint32_t i = 0; i < a->n_after; i++) {
        float t = ends[a->after + i];
        if (within(t, b)) {
            n += POINT + load(b, t, ends) * (int32_t)(a->n_after == 1 ? a->n_before : 1);
        }
        for (uint32_t k = 0; k < b->n_before; k++) {
            float d = t - ends[b->before + k];
            n += d < 3 && d > -3 ? COLLINEAR * POINT : 0;
        }
    }
    for (uint32_t k = 0; k < b->n_before; k++) {
        float s = ends[b->before + k];
        if (within(s, a)) {
            n += POINT + load(a, s, ends) * (int32_t)(b->n_before == 1 ? b->n_after : 1);
        }
    }
    return n;
}

static uint32_t tracks_in_order(wire *w, const uint32_t *order, uint32_t n)
{
    uint32_t most = 0;
    for (uint32_t i = 0; i < n; i++) {
        wire *x = &w[order[i]];
        x->track = 0;
        for (uint32_t k = 0; k < i; k++) {
            const wire *y = &w[order[k]];
            if (overlap(x, y) && y->track >= x->track) {
                x->track = y->track + 1;
            }
        }
        most = x->track + 1 > most ? x->track + 1 : most;
    }
    return most;
}

/* Next comes the wire that suffers least from standing before all others that are left. */
static uint32_t ranked_tracks(wire *w, uint32_t n, const float *ends)
{
    int32_t *cost = mem_calloc((size_t)n * n, sizeof *cost);
    int32_t *score = mem_calloc(n, sizeof *score);
    uint32_t *order = mem_alloc(n * sizeof *order);
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t k = 0; k < n; k++) {
            if (i != k) {
                int32_t c = crossings(&w[i], &w[k], ends);
                cost[i * n + k] = c;
                score[i] += c;
                score[k] -= c;
            }
        }
        order[i] = i;
    }
    for (uint32_t i = 0; i < n; i++) {
        uint32_t best = i;
        for (uint32_t k = i + 1; k < n; k++) {
            best = score[order[k]] < score[order[best]] ? k : best;
        }
        uint32_t x = order[best];
        for (uint32_t k = best; k > i; k--) {
            order[k] = order[k - 1];
        }
        order[i] = x;
        for (uint32_t k = i + 1; k < n; k++) {
            score[order[k]] += cost[x * n + order[k]] - cost[order[k] * n + x];
        }
    }
    uint32_t tracks = tracks_in_order(w, order, n);
    free(cost);
    free(score);
    free(order);
    return tracks;
}

static int by_start(const void *a, const void *b, void *wires)
{
    const wire *w = wires;
    uint32_t i = *(const uint32_t *)a;
    uint32_t k = *(const uint32_t *)b;
    if (w[i].lo < w[k].lo || w[i].lo > w[k].lo) {
        return w[i].lo < w[k].lo ? -1 : 1;
    }
    return (i > k) - (i < k);
}

typedef struct busy_track {
    float hi;
    uint32_t track;
} busy_track;

static void sift_down(busy_track *heap, uint32_t n, uint32_t i)
{
    for (;;) {
        uint32_t c = 2 * i + 1;
        if (c >= n) {
            return;
        }
        c += c + 1 < n && heap[c + 1].hi < heap[c].hi;
        if (heap[i].hi <= heap[c].hi) {
            return;
        }
        busy_track x = heap[i];
        heap[i] = heap[c];
        heap[c] = x;
        i = c;
    }
}

/* The track that is free first, if it is free; else a new one. The heap's top is the track that is free first. */
static uint32_t left_edge_tracks(wire *w, uint32_t n)
{
    uint32_t *order = mem_alloc(n * sizeof *order);
    busy_track *heap = mem_alloc(n * sizeof *heap);
    uint32_t tracks = 0;
    for (uint32_t i = 0; i < n; i++) {
        order[i] = i;
    }
    qsort_r(order, n, sizeof *order, by_start, w);
    for (uint32_t i = 0; i < n; i++) {
        wire *x = &w[order[i]];
        if (tracks > 0 && heap[0].hi + 4 < x->lo) {
            x->track = heap[0].track;
            heap[0].hi = x->hi;
            sift_down(heap, tracks, 0);
            continue;
        }
        x->track = tracks;
        uint32_t k = tracks++;
        for (; k > 0 && heap[(k - 1) / 2].hi > x->hi; k = (k - 1) / 2) {
            heap[k] = heap[(k - 1) / 2];
        }
        heap[k] = (busy_track){x->hi, x->track};
    }
    free(order);
    free(heap);
    return tracks;
}

uint32_t assign_tracks(wire *w, size_t n, const float *ends)
{
    size_t n_ends = 0;
    for (size_t i = 0; i < n; i++) {
        n_ends += w[i].n_after + w[i].n_before;
    }
    if (n <= 1) {
        if (n) {
            w[0].track = 0;
        }
        return (uint32_t)n;
    }
    return n <= FEW && n_ends * n <= MUCH_WORK ? ranked_tracks(w, (uint32_t)n, ends) : left_edge_tracks(w, (uint32_t)n);
}
