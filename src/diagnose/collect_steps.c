#include "diagnose/collect_steps.h"

#include <stdlib.h>

#include "base/mem.h"

enum { MAX_CELLS = 1 << 20 };

static int by_number(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a;
    int64_t y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static void number_steps(const trace_model *m, collected *out)
{
    int64_t *all = mem_alloc((m->n_steps + 1) * sizeof *all);
    size_t n = 0;
    for (size_t i = 0; i < m->n_steps; i++) {
        all[i] = m->steps[i].index;
    }
    qsort(all, m->n_steps, sizeof *all, by_number);
    for (size_t i = 0; i < m->n_steps; i++) {
        if (n == 0 || all[n - 1] != all[i]) {
            all[n++] = all[i];
        }
    }
    out->has_steps = n > 0;
    if (n == 0) {
        all[n++] = 0;
    }
    size_t limit = m->n_ranks > 0 ? MAX_CELLS / m->n_ranks : MAX_CELLS;
    limit = limit > 0 ? limit : 1;
    out->steps_cut = n > limit;
    out->n_steps = n > limit ? limit : n;
    out->step_index = all;
}

static void find_devices(const trace_model *m, collected *out, int64_t *first_ns, int64_t *last_ns)
{
    for (size_t r = 0; r < m->n_ranks; r++) {
        first_ns[r] = INT64_MAX;
        last_ns[r] = INT64_MIN;
        for (uint32_t i = m->ranks[r].first_lane; i < m->ranks[r].first_lane + m->ranks[r].n_lanes; i++) {
            const trace_lane *l = &m->lanes[i];
            if (kind_is_device(l->kind) && l->n_events > 0) {
                out->has_device[r] = true;
                first_ns[r] = l->first_ns < first_ns[r] ? l->first_ns : first_ns[r];
                last_ns[r] = l->last_ns > last_ns[r] ? l->last_ns : last_ns[r];
            }
        }
    }
}

static size_t step_place(const collected *c, int64_t index)
{
    size_t lo = 0;
    size_t hi = c->n_steps;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (c->step_index[mid] < index) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    return lo;
}

static void put_windows(const trace_model *m, collected *out)
{
    for (size_t i = 0; i < m->n_steps; i++) {
        const trace_step *s = &m->steps[i];
        size_t k = step_place(out, s->index);
        if (k == out->n_steps || out->step_index[k] != s->index) {
            continue;
        }
        rank_step *w = collected_cell(out, s->rank, k);
        if (w->end_ns > w->start_ns) {
            continue; /* the same number twice: the first one counts */
        }
        bool device = s->device_end_ns > s->device_start_ns;
        w->start_ns = device ? s->device_start_ns : s->start_ns;
        w->end_ns = device ? s->device_end_ns : s->end_ns;
    }
}

/* Consecutive steps join; what is out of order is cut, so that windows ascend without overlap. */
static void join_windows(collected *out, size_t rank)
{
    size_t before = SIZE_MAX;
    for (size_t k = 0; k < out->n_steps; k++) {
        rank_step *w = collected_cell(out, rank, k);
        if (w->end_ns <= w->start_ns) {
            w->start_ns = w->end_ns = before == SIZE_MAX ? INT64_MIN / 2 : collected_cell(out, rank, before)->end_ns;
            continue;
        }
        if (before != SIZE_MAX) {
            rank_step *b = collected_cell(out, rank, before);
            if (w->start_ns <= b->start_ns) { /* a clock that ran backwards: the step cannot be placed */
                w->start_ns = w->end_ns = b->end_ns;
                continue;
            }
            if (b->end_ns > w->start_ns || out->step_index[k] == out->step_index[before] + 1) {
                b->end_ns = w->start_ns;
            }
        }
        before = k;
    }
}

void collect_steps(const trace_model *m, collected *out)
{
    out->n_ranks = m->n_ranks;
    number_steps(m, out);
    out->cells = mem_calloc(m->n_ranks * out->n_steps + 1, sizeof *out->cells);
    out->has_device = mem_calloc(m->n_ranks + 1, sizeof *out->has_device);
    int64_t *first = mem_alloc((m->n_ranks + 1) * sizeof *first);
    int64_t *last = mem_alloc((m->n_ranks + 1) * sizeof *last);
    find_devices(m, out, first, last);
    if (out->has_steps) {
        put_windows(m, out);
    }
    for (size_t r = 0; r < m->n_ranks; r++) {
        if (!out->has_steps && out->has_device[r]) {
            collected_cell(out, r, 0)->start_ns = first[r];
            collected_cell(out, r, 0)->end_ns = last[r];
        }
        join_windows(out, r);
    }
    free(first);
    free(last);
}
