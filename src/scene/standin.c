/*
 * What coarser levels know of columns whose blocks are not here yet. The tiles are looked up on the drawing thread,
 * stretch by stretch, once for all rows that lie in them; the rows take theirs while they are made.
 */
#include <string.h>

#include "scene/internal.h"

/* Columns [from, to) have this tile to stand in for them; NULL: none is here. */
typedef struct standin_stretch {
    uint32_t from, to;
    const cache_tile *tile;
    int64_t bin_ns;
} standin_stretch;

typedef struct standin_list {
    standin_stretch *items;
    size_t n, cap;
    bool found;
} standin_list;

/* Stretches without any tile are looked at anew so many times in a window. */
enum { LOOKS_A_WINDOW = 8 };

static int64_t middle_of(const time_grid *g, uint32_t column)
{
    return grid_moment(g, column + 0.5).ns;
}

static int64_t tile_end_ns(const cache_tile *t, int64_t bin_ns, uint8_t r)
{
    int64_t end = 0;
    bool far = __builtin_mul_overflow(bin_ns, (int64_t)TILE_BINS[r], &end) ||
               __builtin_mul_overflow(end, (int64_t)t->key.col + 1, &end);
    return far ? INT64_MAX : end;
}

static void push_stretch(scene *s, standin_list *l, standin_stretch item)
{
    if (l->n == l->cap) {
        size_t cap = l->cap ? 2 * l->cap : 8;
        standin_stretch *items = arena_alloc(&s->scratch, cap * sizeof *items);
        if (l->n > 0) {
            memcpy(items, l->items, l->n * sizeof *items);
        }
        l->items = items;
        l->cap = cap;
    }
    l->items[l->n++] = item;
}

/* The tile for column `from`, and up to where it holds, `end` at the latest. */
static standin_stretch look_up(scene *s, const group_source *g, uint32_t row_block, uint32_t from, uint32_t end)
{
    const time_grid *grid = &s->src.grid;
    int64_t t = middle_of(grid, from);
    uint8_t level = 0;
    bool empty;
    standin_stretch k = {.from = from, .to = from + 1};
    k.tile = standin_tile(s, g, row_block, t, &level, &empty);
    int64_t until = t + (int64_t)(grid->n * grid->step_ns / LOOKS_A_WINDOW);
    if (k.tile) {
        k.bin_ns = lod_bin_ns(store_group_at(s->file, g->group).bin0_ns[g->r], level);
        until = tile_end_ns(k.tile, k.bin_ns, g->r);
    }
    while (k.to < end && middle_of(grid, k.to) < until) {
        k.to++;
    }
    return k;
}

void find_standins(scene *s, group_source *g, uint32_t tile_row)
{
    store_group_info info = store_group_at(s->file, g->group);
    uint32_t row_block = tile_row / TILE_ROWS[g->r];
    size_t n_blocks = info.n_rows[g->r] / TILE_ROWS[g->r] + (size_t)1;
    if (g->span->n_missing == 0 || row_block >= n_blocks) {
        return;
    }
    if (!g->standins) {
        g->standins = arena_alloc(&s->scratch, n_blocks * sizeof *g->standins);
        memset(g->standins, 0, n_blocks * sizeof *g->standins);
    }
    standin_list *l = &g->standins[row_block];
    for (uint32_t i = 0; !l->found && i < g->span->n; i++) {
        const span_block *b = &g->span->blocks[i];
        if (b->columns) {
            continue;
        }
        int64_t first = column_of(&s->src.grid, b->info.t0_ns);
        int64_t last = column_of(&s->src.grid, b->info.t1_ns);
        int64_t end = last + 1 < (int64_t)s->src.grid.n ? last + 1 : (int64_t)s->src.grid.n;
        for (int64_t at = first < 0 ? 0 : first; at < end;) {
            standin_stretch k = look_up(s, g, row_block, (uint32_t)at, (uint32_t)end);
            push_stretch(s, l, k);
            at = k.to;
        }
    }
    l->found = true;
}

static void put_stretch(const time_grid *grid, const standin_stretch *k, uint8_t r, uint32_t tile_row, draw_cell *cells)
{
    const cache_cell *row = k->tile->cells + (size_t)(tile_row % TILE_ROWS[r]) * TILE_BINS[r];
    for (uint32_t i = k->from; i < k->to; i++) {
        int64_t t = middle_of(grid, i);
        if (cells[i].klass != CELL_EMPTY || t < 0) {
            continue;
        }
        cache_cell c = row[(uint64_t)(t / k->bin_ns) % TILE_BINS[r]];
        if (c.busy > 0) {
            cells[i] = (draw_cell){c.klass, c.busy, CELL_COARSE | CELL_MORE, 255};
        }
    }
}

void put_standins(const scene *s, const group_source *g, uint32_t tile_row, draw_cell *cells)
{
    const standin_list *l = g->standins ? &g->standins[tile_row / TILE_ROWS[g->r]] : NULL;
    for (size_t i = 0; l && i < l->n; i++) {
        if (l->items[i].tile) {
            put_stretch(&s->src.grid, &l->items[i], g->r, tile_row, cells);
        }
    }
}
