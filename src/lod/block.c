/* A block: its rows, and for each time level the tile that is being made. */
#include <stdlib.h>

#include "base/mem.h"
#include "lod/internal.h"

lod_block *lod_block_create(const lod_axis *a, uint32_t index)
{
    unsigned n_rows = TILE_ROWS[a->r];
    lod_block *b = mem_calloc(1, sizeof *b);
    b->axis = a;
    b->index = index;
    b->rows = mem_calloc(n_rows, sizeof *b->rows);
    b->levels = mem_calloc(a->n_levels, sizeof *b->levels);
    for (unsigned i = 0; i < n_rows; i++) {
        unsigned first = i * a->n_sub;
        unsigned n_ranks = a->owner->params.n_ranks;
        unsigned n = n_ranks > first ? n_ranks - first : 0;
        b->rows[i].n_subs = (uint8_t)(n < a->n_sub ? n : a->n_sub);
    }
    return b;
}

void lod_block_destroy(lod_block *b)
{
    for (unsigned i = 0; i < TILE_ROWS[b->axis->r]; i++) {
        free(b->rows[i].active);
    }
    for (unsigned l = 0; l < b->axis->n_levels; l++) {
        free(b->levels[l].records);
        free(b->levels[l].cells);
    }
    free(b->rows);
    free(b->levels);
    free(b);
}

static void make_cells(lod_block *b, unsigned level)
{
    unsigned n_rows = TILE_ROWS[b->axis->r];
    b->levels[level].cells = mem_calloc(n_rows, b->axis->cell_bytes);
    for (unsigned row = 0; row < n_rows; row++) {
        lod_cell_at(b, row, level)->bin = LOD_NO_BIN;
    }
}

static void close_rows(lod_block *b, unsigned level)
{
    for (uint64_t m = b->levels[level].open_rows; m != 0; m &= m - 1) {
        lod_cell_close(b, (unsigned)__builtin_ctzll(m), level);
    }
}

/* A cell of the base that is still open belongs to the time before, since none reaches over the begin of a segment; it
 * is closed like any other that has become old. */
void lod_block_begin(lod_block *b, unsigned base, int64_t end_ns)
{
    b->base = base;
    b->shift = b->axis->shift + LOD_FACTOR_BITS * base;
    b->end_ns = end_ns;
    for (unsigned level = base; level < b->axis->n_levels && !b->levels[level].cells; level++) {
        make_cells(b, level);
    }
    lod_rows_resume(b);
}

void lod_block_emit(const lod_block *b, unsigned level, uint64_t col, uint64_t n_cols, const tile_records *records,
                    uint64_t n_events)
{
    pyramid *p = b->axis->owner;
    if (p->failed != MAREY_OK) {
        return;
    }
    tile_key key = {b->axis->r, (uint8_t)level, p->params.group, b->index, col};
    p->failed = p->params.emit(p->params.ctx, &key, n_cols, records, n_events);
}

void lod_block_finish_tile(lod_block *b, unsigned level, uint64_t col, uint64_t n_events)
{
    lod_level *l = &b->levels[level];
    close_rows(b, level);
    if (l->n_records > 0) {
        lod_block_emit(b, level, col, 1, &(tile_records){l->records, l->n_records}, n_events);
    }
    l->n_records = 0;
}
