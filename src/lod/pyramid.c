/* The pyramid of one rank group: three axes, each with its row blocks. */
#include "lod/pyramid.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "lod/internal.h"

/* Ends are cut so that sums over eight ranks and level steps of four stay inside 64 bits. */
static const int64_t LONGEST_RUN_NS = (int64_t)1 << 57;

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
    a->n_sub = r == R_EIGHT ? LOD_SUBS : 1;
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
    p->limit_ns = params->duration_ns < LONGEST_RUN_NS ? params->duration_ns : LONGEST_RUN_NS;
    for (unsigned r = 0; r < LOD_R; r++) {
        if (!axis_init(p, r)) {
            pyramid_destroy(&p);
            return MAREY_ARG;
        }
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
    for (unsigned r = 0; r < LOD_R; r++) {
        lod_axis *a = &p->axes[r];
        for (size_t i = 0; i < a->n_blocks; i++) {
            if (a->blocks[i]) {
                lod_block_destroy(a->blocks[i]);
            }
        }
        free(a->blocks);
        free(a->sorted);
        free(a->row_n);
        free(a->row_list);
    }
    free(p->marks);
    free(p);
    *pp = NULL;
}

static lod_block *block_of(lod_axis *a, uint32_t row)
{
    uint32_t index = row / TILE_ROWS[a->r];
    while (a->n_blocks <= index) {
        VEC_PUSH(a->blocks, a->n_blocks, a->cap_blocks, NULL);
    }
    if (!a->blocks[index]) {
        a->blocks[index] = lod_block_create(a, index);
    }
    return a->blocks[index];
}

/* ------------------------------------------------------------------ batches */

static void meet_row(lod_axis *a, uint32_t row)
{
    if (row >= a->cap_rows) {
        size_t before = a->cap_rows;
        VEC_RESERVE(a->row_n, a->cap_rows, (size_t)row + 1);
        memset(a->row_n + before, 0, (a->cap_rows - before) * sizeof *a->row_n);
    }
    VEC_PUSH(a->row_list, a->n_row_list, a->cap_row_list, row);
}

static inline void count_in_row(lod_axis *a, uint32_t row)
{
    if (row >= a->cap_rows || a->row_n[row] == 0) {
        meet_row(a, row);
    }
    a->row_n[row]++;
}

static int compare_rows(const void *pa, const void *pb)
{
    const uint32_t *a = pa;
    const uint32_t *b = pb;
    return *a < *b ? -1 : *a > *b;
}

/* The rows of the batch ascend, and each gets its part of `sorted`. */
static void place_rows(lod_axis *a)
{
    uint32_t at = 0;
    if (a->n_row_list == 0) {
        return;
    }
    if (!a->sorted) {
        a->sorted = mem_alloc(LOD_BATCH * sizeof *a->sorted);
    }
    qsort(a->row_list, a->n_row_list, sizeof *a->row_list, compare_rows);
    for (size_t i = 0; i < a->n_row_list; i++) {
        uint32_t n = a->row_n[a->row_list[i]];
        a->row_n[a->row_list[i]] = at;
        at += n;
    }
}

static void add_sorted(lod_axis *a)
{
    lod_slice slices[64]; /* of one block */
    const lod_event *at = a->sorted;
    for (size_t i = 0; i < a->n_row_list;) {
        uint32_t index = a->row_list[i] / TILE_ROWS[a->r];
        lod_block *b = block_of(a, a->row_list[i]);
        size_t n = 0;
        for (; i < a->n_row_list && a->row_list[i] / TILE_ROWS[a->r] == index; i++) {
            uint32_t row = a->row_list[i];
            slices[n++] = (lod_slice){row % TILE_ROWS[a->r], at, a->sorted + a->row_n[row]};
            at = a->sorted + a->row_n[row];
            a->row_n[row] = 0;
        }
        lod_block_add(b, slices, n);
    }
    a->n_row_list = 0;
}

static inline const pyramid_event *event_at(const pyramid_event *events, size_t i, size_t stride)
{
    return (const pyramid_event *)(const void *)((const char *)events + i * stride);
}

static bool is_in_range(const pyramid *p, const pyramid_event *e)
{
    return e->start_ns >= 0 && e->dur_ns >= 0 && e->klass < CLASS_COUNT && e->rank < (int)p->params.n_ranks;
}

/* Counts the events of the batch by row. @return how many are in range */
static size_t count_rows(pyramid *p, const pyramid_event *events, size_t n, size_t stride)
{
    for (size_t i = 0; i < n; i++) {
        const pyramid_event *e = event_at(events, i, stride);
        if (!is_in_range(p, e)) {
            return i;
        }
        if (p->n_events++ % LOD_DENSITY_STEP == 0) {
            VEC_PUSH(p->marks, p->n_marks, p->cap_marks, e->start_ns);
        }
        count_in_row(&p->axes[R_TRACK], e->track_row);
        if (e->rank >= 0) {
            count_in_row(&p->axes[R_RANK], (uint32_t)e->rank);
            count_in_row(&p->axes[R_EIGHT], (uint32_t)e->rank / LOD_SUBS);
        }
    }
    return n;
}

static void add_batch(pyramid *p, const pyramid_event *events, size_t n, size_t stride)
{
    for (unsigned r = 0; r < LOD_R; r++) {
        place_rows(&p->axes[r]);
    }
    lod_event *const tracks = p->axes[R_TRACK].sorted;
    lod_event *const ranks = p->axes[R_RANK].sorted;
    lod_event *const eights = p->axes[R_EIGHT].sorted;
    uint32_t *const track_at = p->axes[R_TRACK].row_n;
    uint32_t *const rank_at = p->axes[R_RANK].row_n;
    uint32_t *const eight_at = p->axes[R_EIGHT].row_n;
    const int64_t limit = p->limit_ns;
    for (size_t i = 0; i < n; i++) {
        const pyramid_event *in = event_at(events, i, stride);
        int64_t start = in->start_ns < limit ? in->start_ns : limit;
        int64_t end = in->dur_ns < limit - start ? start + in->dur_ns : limit;
        lod_event e = {start, end, in->dur_ns, in->klass, 0, in->severity & EVENT_SEVERITY};
        int rank = in->rank;
        tracks[track_at[in->track_row]++] = e;
        if (rank >= 0) {
            ranks[rank_at[rank]++] = e;
            e.sub = (uint8_t)((unsigned)rank % LOD_SUBS);
            eights[eight_at[(unsigned)rank / LOD_SUBS]++] = e;
        }
    }
    for (unsigned r = 0; r < LOD_R; r++) {
        add_sorted(&p->axes[r]);
    }
}

marey_status pyramid_add(pyramid *p, const pyramid_event *events, size_t n, size_t stride)
{
    for (size_t i = 0; i < n; i += LOD_BATCH) {
        size_t batch = n - i < LOD_BATCH ? n - i : LOD_BATCH;
        const pyramid_event *first = event_at(events, i, stride);
        size_t n_good = count_rows(p, first, batch, stride);
        add_batch(p, first, n_good, stride);
        if (n_good < batch) {
            return MAREY_ARG;
        }
    }
    return p->failed;
}

marey_status pyramid_finish(pyramid *p, uint32_t n_levels[LOD_R])
{
    for (unsigned r = 0; r < LOD_R; r++) {
        lod_axis *a = &p->axes[r];
        n_levels[r] = a->n_blocks > 0 ? a->n_levels : 0;
        for (size_t i = 0; i < a->n_blocks; i++) {
            if (a->blocks[i]) {
                lod_block_finish(a->blocks[i]);
            }
        }
    }
    return p->failed;
}
