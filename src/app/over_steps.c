#include "app/over_steps.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "store/query.h"

typedef struct search {
    const trace_model *m;
    const store_event_info *wanted;
    uint32_t rank;
    const trace_step **steps; /* of the rank, ascending by start */
    size_t n_steps;
    over_steps *out;
    cancel_flag *cancel;
} search;

static int64_t start_of(const trace_step *s)
{
    return s->device_end_ns > s->device_start_ns ? s->device_start_ns : s->start_ns;
}

static int by_start(const void *pa, const void *pb)
{
    const trace_step *a = *(const trace_step *const *)pa;
    const trace_step *b = *(const trace_step *const *)pb;
    return (start_of(a) > start_of(b)) - (start_of(a) < start_of(b));
}

static void list_steps(search *k)
{
    k->steps = mem_alloc((k->m->n_steps + 1) * sizeof *k->steps);
    for (size_t i = 0; i < k->m->n_steps; i++) {
        if (k->m->steps[i].rank == k->rank) {
            k->steps[k->n_steps++] = &k->m->steps[i];
        }
    }
    if (k->n_steps > 1) {
        qsort((void *)k->steps, k->n_steps, sizeof *k->steps, by_start);
    }
}

/* The step that began last at or before t; NULL: none did. */
static const trace_step *step_at(const search *k, int64_t t_ns)
{
    size_t low = 0;
    size_t high = k->n_steps;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (start_of(k->steps[middle]) <= t_ns) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low > 0 ? k->steps[low - 1] : NULL;
}

static bool take(void *ctx, const store_event_info *e)
{
    search *k = ctx;
    if (e->name == k->wanted->name && e->instance == k->wanted->instance) {
        const trace_step *s = step_at(k, e->start_ns);
        if (s) {
            step_duration d = {s->index, e->start_ns, e->dur_ns};
            VEC_PUSH(k->out->items, k->out->n, k->out->cap, d);
        }
    }
    return !is_cancelled(k->cancel);
}

static int by_time(const void *pa, const void *pb)
{
    const step_duration *a = pa;
    const step_duration *b = pb;
    return (a->start_ns > b->start_ns) - (a->start_ns < b->start_ns);
}

static int by_value(const void *pa, const void *pb)
{
    int64_t a = *(const int64_t *)pa;
    int64_t b = *(const int64_t *)pb;
    return (a > b) - (a < b);
}

/* One a step: where a step has two, the input's occurrences are no help, and the first stands for it. */
static void put_in_order(over_steps *o)
{
    size_t n = 0;
    if (o->n > 1) {
        qsort(o->items, o->n, sizeof *o->items, by_time);
    }
    for (size_t i = 0; i < o->n; i++) {
        if (n == 0 || o->items[n - 1].step != o->items[i].step) {
            o->items[n++] = o->items[i];
        }
    }
    o->n = n;
    int64_t *v = mem_alloc((n + 1) * sizeof *v);
    for (size_t i = 0; i < n; i++) {
        v[i] = o->items[i].dur_ns;
        o->longest = v[i] > o->items[o->longest].dur_ns ? i : o->longest;
    }
    if (n > 0) {
        qsort(v, n, sizeof *v, by_value);
        o->median_ns = v[(n - 1) / 2];
    }
    free(v);
}

static bool are_too_many(store_file *f, uint32_t group)
{
    uint64_t n = 0;
    store_group_info g = store_group_at(f, group);
    for (uint32_t i = 0; i < g.n_blocks; i++) {
        n += store_block_head(f, g.blocks[i]).n;
    }
    return n > OVER_STEPS_MAX_EVENTS;
}

marey_status over_steps_find(store_file *f, const store_event_info *e, over_steps *out, cancel_flag *cancel, diag *d)
{
    const trace_model *m = store_model(f);
    *out = (over_steps){0};
    if (e->track >= m->n_tracks) {
        return MAREY_OK;
    }
    const trace_lane *lane = &m->lanes[m->tracks[e->track].lane];
    search k = {.m = m, .wanted = e, .rank = lane->rank, .out = out, .cancel = cancel};
    uint32_t group = store_track_group(f, e->track);
    out->too_many = group != NO_ID && are_too_many(f, group);
    if (group == NO_ID || out->too_many) {
        return MAREY_OK;
    }
    list_steps(&k);
    uint32_t *tracks = mem_alloc((lane->n_tracks + 1) * sizeof *tracks);
    for (uint32_t i = 0; i < lane->n_tracks; i++) {
        tracks[i] = lane->first_track + i;
    }
    query_row row = {tracks, lane->n_tracks};
    marey_status status = store_visit(f, &row, 0, m->duration_ns + 1, take, &k, d);
    free(tracks);
    free((void *)k.steps);
    put_in_order(out);
    return status == MAREY_OK && is_cancelled(cancel) ? MAREY_CANCELLED : status;
}

void over_steps_deinit(over_steps *o)
{
    free(o->items);
    *o = (over_steps){0};
}
