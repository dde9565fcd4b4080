/* What the scene derives from the model once: who is whose, so that a frame only looks things up. */
#include <stdlib.h>
#include <string.h>

#include "scene/internal.h"

static uint32_t *filled(size_t n, uint32_t value)
{
    uint32_t *p = mem_alloc((n ? n : 1) * sizeof *p);
    for (size_t i = 0; i < n; i++) {
        p[i] = value;
    }
    return p;
}

static void find_store_groups(scene *s)
{
    size_t n_ranks = s->model->n_ranks;
    uint32_t **of_kind[] = {&s->rank_events_group, &s->rank_step_group, &s->rank_phase_group};
    for (int kind = GROUP_EVENTS; kind <= GROUP_PHASES; kind++) {
        *of_kind[kind] = filled(n_ranks, NO_ID);
    }
    for (uint32_t g = 0; g < store_n_groups(s->file); g++) {
        store_group_info info = store_group_at(s->file, g);
        for (uint32_t i = 0; i < info.n_ranks && info.first_rank + i < n_ranks; i++) {
            (*of_kind[info.kind])[info.first_rank + i] = g;
        }
    }
}

/* The same rule as the pyramid's rank level: the device's tracks, or the CPU's outermost ones where there is no device.
 */
static size_t tracks_of_rank(const trace_model *m, const trace_rank *rank, bool device, uint32_t *out)
{
    size_t n = 0;
    for (uint32_t i = 0; i < rank->n_lanes; i++) {
        const trace_lane *lane = &m->lanes[rank->first_lane + i];
        if (device && !kind_is_device(lane->kind)) {
            continue;
        }
        if (!device && lane->kind != KIND_CPU) {
            continue;
        }
        uint32_t n_tracks = device || lane->n_tracks == 0 ? lane->n_tracks : 1;
        for (uint32_t k = 0; k < n_tracks; k++) {
            if (out) {
                out[n] = lane->first_track + k;
            }
            n++;
        }
    }
    return n;
}

static void find_device_tracks(scene *s)
{
    const trace_model *m = s->model;
    s->rank_first_track = filled(m->n_ranks + 1, 0);
    s->device_tracks = filled(m->n_tracks, 0);
    size_t n = 0;
    for (size_t i = 0; i < m->n_ranks; i++) {
        s->rank_first_track[i] = (uint32_t)n;
        bool device = tracks_of_rank(m, &m->ranks[i], true, NULL) > 0;
        n += tracks_of_rank(m, &m->ranks[i], device, s->device_tracks + n);
    }
    s->rank_first_track[m->n_ranks] = (uint32_t)n;
}

static void find_derived_lanes(scene *s)
{
    const trace_model *m = s->model;
    s->phase_lane = filled(m->n_ranks, NO_ID);
    s->step_lane = filled(m->n_ranks, NO_ID);
    for (uint32_t i = 0; i < m->n_lanes; i++) {
        if (m->lanes[i].rank >= m->n_ranks) {
            continue;
        }
        if (m->lanes[i].kind == KIND_PHASE) {
            s->phase_lane[m->lanes[i].rank] = i;
        } else if (m->lanes[i].kind == KIND_STEP) {
            s->step_lane[m->lanes[i].rank] = i;
        }
    }
}

/* Lists of things by rank: a counting sort that keeps their order. */
static void list_by_rank(const trace_model *m, size_t n, uint32_t (*rank_of)(const trace_model *, size_t),
                         uint32_t **first, uint32_t **items)
{
    *first = filled(m->n_ranks + 1, 0);
    *items = filled(n, 0);
    for (size_t i = 0; i < n; i++) {
        if (rank_of(m, i) < m->n_ranks) {
            (*first)[rank_of(m, i) + 1]++;
        }
    }
    for (size_t i = 0; i < m->n_ranks; i++) {
        (*first)[i + 1] += (*first)[i];
    }
    uint32_t *at = filled(m->n_ranks, 0);
    memcpy(at, *first, m->n_ranks * sizeof *at);
    for (size_t i = 0; i < n; i++) {
        if (rank_of(m, i) < m->n_ranks) {
            (*items)[at[rank_of(m, i)]++] = (uint32_t)i;
        }
    }
    free(at);
}

static uint32_t rank_of_step(const trace_model *m, size_t i)
{
    return m->steps[i].rank;
}

static uint32_t rank_of_counter(const trace_model *m, size_t i)
{
    return m->counters[i].rank;
}

static int64_t step_start(const trace_step *step)
{
    return step->device_end_ns > step->device_start_ns ? step->device_start_ns : step->start_ns;
}

static const trace_model *sorting;

static int by_step_start(const void *a, const void *b)
{
    int64_t ta = step_start(&sorting->steps[*(const uint32_t *)a]);
    int64_t tb = step_start(&sorting->steps[*(const uint32_t *)b]);
    return ta < tb ? -1 : ta > tb;
}

static void find_steps(scene *s)
{
    const trace_model *m = s->model;
    list_by_rank(m, m->n_steps, rank_of_step, &s->rank_first_step, &s->rank_steps);
    sorting = m;
    for (size_t i = 0; i < m->n_ranks; i++) {
        uint32_t first = s->rank_first_step[i];
        qsort(s->rank_steps + first, s->rank_first_step[i + 1] - first, sizeof *s->rank_steps, by_step_start);
    }
}

void facts_init(scene *s)
{
    const trace_model *m = s->model;
    find_store_groups(s);
    find_device_tracks(s);
    find_derived_lanes(s);
    find_steps(s);
    list_by_rank(m, m->n_counters, rank_of_counter, &s->rank_first_counter, &s->rank_counters);
    s->samples = mem_calloc(m->n_counters + 1, sizeof(store_sample *));
    s->n_samples = mem_calloc(m->n_counters + 1, sizeof *s->n_samples);
    for (size_t i = 1; i < m->n_ranks; i++) {
        s->has_stages = s->has_stages || m->ranks[i].stage != m->ranks[0].stage;
        s->has_hosts = s->has_hosts || strcmp(m->ranks[i].host, m->ranks[0].host) != 0;
    }
}

void facts_deinit(scene *s)
{
    for (size_t i = 0; s->samples && i < s->model->n_counters; i++) {
        free(s->samples[i]);
    }
    free((void *)s->samples);
    uint32_t *owned[] = {s->rank_events_group, s->rank_step_group,    s->rank_phase_group, s->rank_first_track,
                         s->device_tracks,     s->phase_lane,         s->step_lane,        s->rank_first_step,
                         s->rank_steps,        s->rank_first_counter, s->rank_counters};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) {
        free(owned[i]);
    }
    free(s->n_samples);
}

int32_t step_at(const scene *s, uint32_t rank, int64_t t_ns)
{
    uint32_t low = s->rank_first_step[rank];
    uint32_t first = low;
    uint32_t high = s->rank_first_step[rank + 1];
    while (low < high) { /* the first step that starts after t */
        uint32_t middle = low + (high - low) / 2;
        if (step_start(&s->model->steps[s->rank_steps[middle]]) <= t_ns) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low == first ? -1 : (int32_t)s->rank_steps[low - 1];
}

uint32_t group_of_events(const scene *s, uint32_t track)
{
    const trace_lane *lane = &s->model->lanes[s->model->tracks[track].lane];
    if (lane->kind == KIND_STEP) {
        return s->rank_step_group[lane->rank];
    }
    return lane->kind == KIND_PHASE ? s->rank_phase_group[lane->rank] : s->rank_events_group[lane->rank];
}
