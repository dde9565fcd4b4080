#include "scene/arrivals.h"

#include <stdlib.h>
#include <string.h>

#include "diagnose/diagnose.h"

/* Numbers are not times: an instance may stand a little off its place by time. */
enum { LOOK_AROUND = 16 };

static const comm_event *first_of(const diagnosis *g, size_t instance)
{
    return &g->data.comm[g->instances[instance].first];
}

void arrivals_update(arrivals *a, const struct diagnosis *g)
{
    if (a->g == g) {
        return;
    }
    a->g = g;
    a->n = 0;
    for (size_t i = 0; g && i < g->n_instances; i++) {
        const comm_event *e = first_of(g, i);
        arrival_run *last = a->n > 0 ? &a->runs[a->n - 1] : NULL;
        bool same = last && last->group == e->group && last->peers == e->peers && last->what == e->what;
        if (same) {
            last->end = i + 1;
        } else {
            arrival_run fresh = {e->group, e->peers, e->what, i, i + 1};
            VEC_PUSH(a->runs, a->n, a->cap, fresh);
        }
    }
}

void arrivals_deinit(arrivals *a)
{
    free(a->runs);
    memset(a, 0, sizeof *a);
}

static bool is_member(const diagnosis *g, const coll_instance *c, uint32_t rank, int64_t start_ns)
{
    for (uint32_t k = 0; k < c->n; k++) {
        const comm_event *e = &g->data.comm[c->first + k];
        if (e->rank == rank && e->start_ns == start_ns) {
            return true;
        }
    }
    return false;
}

/* The instance with this member; NULL: none is near. */
static const coll_instance *find_in(const diagnosis *g, const arrival_run *run, uint32_t rank, int64_t start_ns)
{
    size_t low = run->first;
    size_t high = run->end;
    while (low < high) { /* the first that starts after it */
        size_t middle = low + (high - low) / 2;
        if (g->instances[middle].start_ns <= start_ns) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    size_t from = low > run->first + LOOK_AROUND ? low - LOOK_AROUND : run->first;
    size_t end = low + LOOK_AROUND < run->end ? low + LOOK_AROUND : run->end;
    for (size_t i = from; i < end; i++) {
        const coll_instance *c = &g->instances[i];
        bool may = start_ns >= c->start_ns && start_ns - c->start_ns <= c->skew_ns;
        if (may && is_member(g, c, rank, start_ns)) {
            return c;
        }
    }
    return NULL;
}

/* Instances are sorted by communicator first (comm_match). */
static size_t first_run(const arrivals *a, uint32_t group)
{
    size_t low = 0;
    size_t high = a->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (a->runs[middle].group < group) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

bool arrivals_latest(const scene *s, const arrivals *a, uint32_t rank, int64_t start_ns, uint32_t group,
                     int64_t *latest_ns)
{
    const coll_instance *c = NULL;
    for (size_t i = first_run(a, group); i < a->n && a->runs[i].group == group && !c; i++) {
        c = find_in(a->g, &a->runs[i], rank, start_ns);
    }
    if (!c) {
        return false;
    }
    *latest_ns = start_ns;
    for (uint32_t k = 0; k < c->n; k++) {
        const comm_event *e = &a->g->data.comm[c->first + k];
        bool counts = group != NO_ID || s->tree.rank_group[e->rank] == s->tree.rank_group[rank];
        *latest_ns = counts && e->start_ns > *latest_ns ? e->start_ns : *latest_ns;
    }
    return true;
}
