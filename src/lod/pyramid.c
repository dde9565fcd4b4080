/* The pyramid of one rank group: three axes, and the flows of events into their blocks. */
#include "lod/pyramid.h"

#include <stdlib.h>

#include "base/mem.h"
#include "lod/internal.h"

/* What all events last, together, so that sums over eight ranks and level steps of four stay inside 64 bits. Shorter
 * runs can't exceed it on any rank. Of longer ones a part is busy, unless their durations make no sense. */
static const int64_t LONGEST_BUSY_NS = (int64_t)1 << 57;

static bool axis_init(pyramid *p, unsigned r)
{
    lod_axis *a = &p->axes[r];
    int64_t bin = p->params.bin0_ns[r];
    if (bin <= 0 || (bin & (bin - 1)) != 0 || bin > (int64_t)1 << 40) {
        return false;
    }
    a->owner = p;
    a->r = (uint8_t)r;
    a->shift = (unsigned)__builtin_ctzll((uint64_t)bin);
    a->tile_shift = (unsigned)__builtin_ctz(TILE_BINS[r]);
    a->n_sub = r == R_TRACK ? 0 : r == R_RANK ? 1 : LOD_SUBS;
    a->cell_bytes = sizeof(lod_cell) + a->n_sub * sizeof(int64_t);
    a->n_levels = 1;
    /* An instant at the very end of the run must lie inside the last column, hence <= . */
    while (a->n_levels < LOD_MAX_LEVELS && a->shift + a->tile_shift + LOD_FACTOR_BITS * a->n_levels <= 62 &&
           ((int64_t)1 << (a->shift + a->tile_shift + LOD_FACTOR_BITS * (a->n_levels - 1))) <= p->limit_ns) {
        a->n_levels++;
    }
    for (unsigned l = 0; l < a->n_levels; l++) {
        a->per_ns[l] = 255.0 / (double)lod_bin_ns(bin, l);
    }
    return true;
}

marey_status pyramid_create(pyramid **out, const pyramid_params *params)
{
    *out = NULL;
    if (!params->emit || params->n_ranks > GROUP_RANKS || params->duration_ns < 0) {
        return MAREY_ARG;
    }
    pyramid *p = mem_calloc(1, sizeof *p);
    p->params = *params;
    p->limit_ns = params->duration_ns < LOD_LONGEST_RUN_NS ? params->duration_ns : LOD_LONGEST_RUN_NS;
    p->is_very_long = p->limit_ns > LONGEST_BUSY_NS;
    p->busy_left_ns = LONGEST_BUSY_NS;
    for (unsigned r = 0; r < LOD_R; r++) {
        if (!axis_init(p, r)) {
            pyramid_destroy(&p);
            return MAREY_ARG;
        }
    }
    if (lod_col_shift(&p->axes[R_RANK], 0) != lod_col_shift(&p->axes[R_EIGHT], 0)) {
        pyramid_destroy(&p);
        return MAREY_ARG;
    }
    *out = p;
    return MAREY_OK;
}

void pyramid_destroy(pyramid **pp)
{
    pyramid *p = *pp;
    if (!p) {
        return;
    }
    for (size_t i = 0; i < p->n_tracks; i++) {
        if (p->tracks[i]) {
            lod_flow_destroy(p->tracks[i]);
        }
    }
    if (p->ranks) {
        lod_flow_destroy(p->ranks);
    }
    free(p->tracks);
    free(p->marks);
    free(p);
    *pp = NULL;
}

/* ------------------------------------------------------------------ events */

static lod_flow *tracks_at(pyramid *p, uint32_t index)
{
    while (p->n_tracks <= index) {
        VEC_PUSH(p->tracks, p->n_tracks, p->cap_tracks, NULL);
    }
    if (!p->tracks[index]) {
        p->tracks[index] = lod_flow_create(&p->axes[R_TRACK], 1, index);
    }
    return p->tracks[index];
}

/* Only what belongs to a segment that has begun need not wait for it. @return whether the event does not */
static inline bool is_direct(lod_flow *f, int64_t start_ns, int64_t limit_ns)
{
    if (start_ns >= f->direct_end_ns && f->tail == f->room_end) {
        lod_flow_make_room(f, start_ns < limit_ns ? start_ns : limit_ns);
    }
    return start_ns < f->direct_end_ns;
}

/* All but the row. Ends behind the run's are cut, and starts with them. */
static inline void fill(lod_event *e, const pyramid_event *in, int64_t limit_ns)
{
    uint64_t end = (uint64_t)in->start_ns + (uint64_t)in->dur_ns;
    e->start_ns = in->start_ns;
    e->end_ns = (int64_t)end;
    e->dur_ns = in->dur_ns;
    e->klass = in->klass;
    e->severity = in->severity & EVENT_SEVERITY;
    if (end > (uint64_t)limit_ns) {
        e->start_ns = in->start_ns < limit_ns ? in->start_ns : limit_ns;
        e->end_ns = limit_ns;
    }
}

static inline void add_to_tracks(lod_flow *f, const pyramid_event *in, int64_t limit_ns)
{
    if (is_direct(f, in->start_ns, limit_ns)) {
        lod_event e;
        fill(&e, in, limit_ns);
        e.row = (uint8_t)(in->track_row % LOD_TRACK_ROWS);
        f->n_direct++;
        lod_track_add(f->blocks[0], &e);
    } else {
        lod_event *e = f->tail++;
        fill(e, in, limit_ns);
        e->row = (uint8_t)(in->track_row % LOD_TRACK_ROWS);
    }
}

static inline int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Where the event begins to add to the unions, which reach to its end then. */
static inline void join_unions(int64_t *until_ns, lod_event *e)
{
    int64_t *class_until_ns = until_ns + 1 + e->klass;
    e->busy_from_ns = larger(e->start_ns, *until_ns);
    e->class_from_ns = larger(e->start_ns, *class_until_ns);
    *until_ns = larger(e->end_ns, *until_ns);
    *class_until_ns = larger(e->end_ns, *class_until_ns);
}

static inline void add_to_ranks(lod_flow *f, const pyramid_event *in, int64_t limit_ns)
{
    lod_event now;
    bool waits = !is_direct(f, in->start_ns, limit_ns);
    lod_event *e = waits ? f->tail++ : &now;
    fill(e, in, limit_ns);
    e->row = (uint8_t)in->rank;
    join_unions(f->until_ns[in->rank], e);
    if (!waits) {
        f->n_direct++;
        lod_add_to_ranks(f->blocks, e, e + 1);
    }
}

static inline bool is_in_range(const pyramid *p, const pyramid_event *e)
{
    return (e->start_ns | e->dur_ns) >= 0 && e->klass < CLASS_COUNT && e->rank < (int)p->params.n_ranks;
}

/* In a run of many years: an event of which only so much lasts as is left for all. */
static pyramid_event cut_event(pyramid *p, const pyramid_event *in)
{
    pyramid_event cut = *in;
    cut.dur_ns = in->dur_ns < p->busy_left_ns ? in->dur_ns : p->busy_left_ns;
    p->busy_left_ns -= cut.dur_ns;
    return cut;
}

static marey_status add_all(pyramid *p, const pyramid_event *events, size_t n, size_t stride)
{
    const int64_t limit = p->limit_ns;
    const pyramid_event *in = events;
    uint32_t recent = UINT32_MAX;
    lod_flow *f = NULL;
    for (size_t i = 0; i < n; i++) {
        if (!is_in_range(p, in)) {
            return MAREY_ARG;
        }
        if (p->n_until_mark-- == 0) {
            p->n_until_mark = LOD_DENSITY_STEP - 1;
            VEC_PUSH(p->marks, p->n_marks, p->cap_marks, in->start_ns);
        }
        if (in->track_row / LOD_TRACK_ROWS != recent) {
            recent = in->track_row / LOD_TRACK_ROWS;
            f = tracks_at(p, recent);
        }
        add_to_tracks(f, in, limit);
        if (in->rank >= 0) {
            if (!p->ranks) {
                p->ranks = lod_flow_create(&p->axes[R_RANK], 2, 0);
            }
            add_to_ranks(p->ranks, in, limit);
        }
        in = (const pyramid_event *)(const void *)((const char *)in + stride);
    }
    return p->failed;
}

marey_status pyramid_add(pyramid *p, const pyramid_event *events, size_t n, size_t stride)
{
    if (!p->is_very_long) {
        return add_all(p, events, n, stride);
    }
    marey_status status = p->failed;
    for (size_t i = 0; i < n && status == MAREY_OK; i++) {
        const pyramid_event *in = (const pyramid_event *)(const void *)((const char *)events + i * stride);
        pyramid_event cut = in->dur_ns > 0 ? cut_event(p, in) : *in;
        status = add_all(p, &cut, 1, sizeof cut);
    }
    return status;
}

marey_status pyramid_finish(pyramid *p, uint32_t n_levels[LOD_R])
{
    for (size_t i = 0; i < p->n_tracks; i++) {
        if (p->tracks[i]) {
            lod_flow_finish(p->tracks[i]);
        }
    }
    if (p->ranks) {
        lod_flow_finish(p->ranks);
    }
    n_levels[R_TRACK] = p->n_tracks > 0 ? p->axes[R_TRACK].n_levels : 0;
    n_levels[R_RANK] = p->ranks ? p->axes[R_RANK].n_levels : 0;
    n_levels[R_EIGHT] = p->ranks ? p->axes[R_EIGHT].n_levels : 0;
    return p->failed;
}
