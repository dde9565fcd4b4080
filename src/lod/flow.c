/* Events on their way into cells, segment by segment: which level the cells of a time are made at. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "lod/internal.h"

enum { FIRST_ROOM = 128, SETTLE_STEP = 1024 };

lod_flow *lod_flow_create(const lod_axis *a, unsigned n_blocks, uint32_t index)
{
    lod_flow *f = mem_calloc(1, sizeof *f);
    f->axis = a;
    f->n_blocks = n_blocks;
    for (unsigned i = 0; i < n_blocks; i++) {
        f->blocks[i] = lod_block_create(a + i, index);
    }
    f->levels = mem_calloc(a->n_levels, sizeof *f->levels);
    for (unsigned l = 0; l < a->n_levels; l++) {
        f->levels[l].sparse_gap = 1;
    }
    if (a->r != R_TRACK) {
        f->until_ns = mem_calloc(GROUP_RANKS, sizeof *f->until_ns);
    }
    return f;
}

void lod_flow_destroy(lod_flow *f)
{
    for (unsigned i = 0; i < f->n_blocks; i++) {
        lod_block_destroy(f->blocks[i]);
    }
    for (unsigned l = 0; l < f->axis->n_levels; l++) {
        free(f->levels[l].sparse);
    }
    free(f->levels);
    free(f->waiting);
    free(f->until_ns);
    free(f);
}

/* How many of the waiting events from `at` on begin before the time. */
static size_t count_before(const lod_flow *f, const lod_event *at, int64_t t_ns)
{
    const lod_event *lo = at;
    const lod_event *hi = f->tail;
    while (lo < hi) {
        const lod_event *mid = lo + (hi - lo) / 2;
        if (mid->start_ns < t_ns) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    return (size_t)(lo - at);
}

/* The lowest level whose tile at the flow's column is stored. @return whether it is known */
static bool find_base(const lod_flow *f, const lod_event *at, int64_t now_ns, unsigned *base)
{
    for (unsigned level = 0;; level++) {
        uint64_t col = f->col >> (LOD_FACTOR_BITS * level);
        int64_t end_ns = (int64_t)((col + 1) << lod_col_shift(f->axis, level));
        uint64_t n_events = f->levels[level].n_events + count_before(f, at, end_ns);
        if (lod_tile_is_stored(f->axis, level, col, n_events)) {
            *base = level;
            return true;
        }
        if (end_ns > now_ns) {
            return false;
        }
    }
}

/* Finish the tiles that end where level 0 goes on to another column. */
static void go_to_col(lod_flow *f, uint64_t to)
{
    for (unsigned level = 0; level < f->axis->n_levels; level++) {
        unsigned shift = LOD_FACTOR_BITS * level;
        if (f->col >> shift == to >> shift) {
            break;
        }
        for (unsigned i = 0; i < f->n_blocks; i++) {
            lod_block_finish_tile(f->blocks[i], level, f->col >> shift, f->levels[level].n_events);
        }
        f->levels[level].n_events = 0;
    }
    f->col = to;
}

static void begin_segment(lod_flow *f, unsigned base, int64_t end_ns)
{
    f->is_segment = true;
    for (unsigned i = 0; i < f->n_blocks; i++) {
        lod_block_begin(f->blocks[i], base, end_ns);
    }
}

static void end_segment(lod_flow *f, uint64_t end_col)
{
    for (unsigned i = 0; i < f->n_blocks; i++) {
        lod_rows_pause(f->blocks[i]);
    }
    f->is_segment = false;
    go_to_col(f, end_col);
}

static void count_events(lod_flow *f, uint64_t n)
{
    for (unsigned level = 0; level < f->axis->n_levels; level++) {
        f->levels[level].n_events += n;
    }
}

/* The segment at the flow's column: what waits for it from `at` on. @return where the next one begins */
static const lod_event *take_segment(lod_flow *f, const lod_event *at, unsigned base, int64_t now_ns)
{
    /* Below the base nothing is stored: that is so for the whole column of the level just below. */
    unsigned shift = base > 0 ? LOD_FACTOR_BITS * (base - 1) : 0;
    uint64_t end_col = ((f->col >> shift) + 1) << shift;
    int64_t end_ns = (int64_t)(end_col << lod_col_shift(f->axis, 0));
    size_t n = count_before(f, at, end_ns);
    if (base > 0) {
        lod_leave_out(f, base, end_ns, at, n);
    }
    if (!f->is_segment) {
        begin_segment(f, base, end_ns);
    }
    if (f->n_blocks > 1) {
        lod_add_to_ranks(f->blocks, at, at + n);
    } else {
        lod_add_to_tracks(f->blocks[0], at, at + n);
    }
    count_events(f, n);
    f->direct_end_ns = end_ns;
    if (end_ns <= now_ns) {
        f->direct_end_ns = 0;
        end_segment(f, end_col);
    }
    return at + n;
}

/* To the column of the next event, where nothing is left before it. */
static void pass_gap(lod_flow *f, const lod_event *at)
{
    uint64_t col = (uint64_t)at->start_ns >> lod_col_shift(f->axis, 0);
    if (!f->has_started) {
        f->has_started = true;
        f->col = col;
    } else if (!f->is_segment && f->blocks[0]->active_rows == 0) {
        go_to_col(f, col);
    }
}

/* Take from the waiting events those whose segments are known. */
static void settle(lod_flow *f, int64_t now_ns)
{
    const lod_event *at = f->waiting;
    unsigned base = 0;
    count_events(f, f->n_direct);
    f->n_direct = 0;
    while (at < f->tail) {
        pass_gap(f, at);
        if (!find_base(f, at, now_ns, &base)) {
            break;
        }
        at = take_segment(f, at, base, now_ns);
    }
    size_t n = (size_t)(f->tail - at);
    if (at > f->waiting && n > 0) {
        memmove(f->waiting, at, n * sizeof *at);
    }
    f->tail = f->waiting + n;
}

/* Below LOD_SPARSE_EVENTS it may be that nothing is known; fewer than that remain. */
void lod_flow_make_room(lod_flow *f, int64_t now_ns)
{
    size_t n = (size_t)(f->tail - f->waiting);
    size_t room = n > 0 ? n * 4 : FIRST_ROOM;
    room = room < LOD_SPARSE_EVENTS ? room : LOD_SPARSE_EVENTS;
    if (n >= LOD_SPARSE_EVENTS) {
        settle(f, now_ns);
        n = (size_t)(f->tail - f->waiting);
        room = n + SETTLE_STEP < LOD_SPARSE_EVENTS ? LOD_SPARSE_EVENTS : n + SETTLE_STEP;
    }
    if (room > f->cap_waiting) {
        f->cap_waiting = room;
        f->waiting = mem_realloc_array(f->waiting, room, sizeof *f->waiting);
        f->tail = f->waiting + n;
    }
    f->room_end = f->waiting + room;
}

void lod_flow_finish(lod_flow *f)
{
    unsigned base = 0;
    settle(f, INT64_MAX);
    while (f->is_segment || f->blocks[0]->active_rows != 0) {
        if (find_base(f, f->tail, INT64_MAX, &base)) {
            (void)take_segment(f, f->tail, base, INT64_MAX);
        }
    }
    /* All columns of every level end here. */
    go_to_col(f, UINT64_MAX);
    lod_emit_left_out(f);
}
