/* The pyramid of one rank group: three axes, each with its row blocks. */
#include "lod/pyramid.h"

#include <stdlib.h>

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
    p->cells = mem_alloc((size_t)TILE_CELLS * LOD_PLANES);
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
    }
    free(p->marks);
    free(p->cells);
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

static void add_to_axis(lod_axis *a, uint32_t row, int64_t start_ns, int64_t end_ns, const lod_active *e)
{
    lod_block *b = block_of(a, row);
    unsigned i = row % TILE_ROWS[a->r];
    if (!b->rows[i].cells) {
        b->rows[i].cells = mem_calloc(a->n_levels, a->cell_bytes);
        b->rows[i].until_ns = mem_calloc((size_t)a->n_sub * (1 + CLASS_COUNT), sizeof(int64_t));
    }
    uint64_t col = (uint64_t)start_ns >> (a->shift + a->tile_shift);
    if (!b->has_started || col > b->col) {
        lod_block_to_col(b, col);
    }
    lod_row_add(b, i, start_ns, end_ns, e);
}

marey_status pyramid_add(pyramid *p, uint32_t track_row, int rank, int64_t start_ns, int64_t dur_ns, trace_class klass,
                         uint8_t severity)
{
    if (start_ns < 0 || dur_ns < 0 || (unsigned)klass >= CLASS_COUNT || rank >= (int)p->params.n_ranks) {
        return MAREY_ARG;
    }
    if (p->n_events++ % LOD_DENSITY_STEP == 0) {
        VEC_PUSH(p->marks, p->n_marks, p->cap_marks, start_ns);
    }
    int64_t start = start_ns < p->limit_ns ? start_ns : p->limit_ns;
    int64_t end = dur_ns < p->limit_ns - start ? start + dur_ns : p->limit_ns;
    lod_active e = {.dur_ns = dur_ns, .klass = (uint8_t)klass, .severity = severity & EVENT_SEVERITY};
    add_to_axis(&p->axes[R_TRACK], track_row, start, end, &e);
    if (rank >= 0) {
        add_to_axis(&p->axes[R_RANK], (uint32_t)rank, start, end, &e);
        e.sub = (uint8_t)((unsigned)rank % LOD_SUBS);
        add_to_axis(&p->axes[R_EIGHT], (uint32_t)rank / LOD_SUBS, start, end, &e);
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
