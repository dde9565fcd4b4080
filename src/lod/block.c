/* A row block on its way through time: tiles are emitted, or left out where the events serve better. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "lod/internal.h"

lod_block *lod_block_create(lod_axis *a, uint32_t index)
{
    unsigned n_rows = TILE_ROWS[a->r];
    lod_block *b = mem_calloc(1, sizeof *b);
    b->axis = a;
    b->index = index;
    b->rows = mem_calloc(n_rows, sizeof *b->rows);
    b->levels = mem_calloc(a->n_levels, sizeof *b->levels);
    for (unsigned l = 0; l < a->n_levels; l++) {
        b->levels[l].sparse_gap = 1;
    }
    for (unsigned i = 0; i < n_rows; i++) {
        uint64_t row = (uint64_t)index * n_rows + i;
        uint64_t first = row * a->n_sub;
        uint64_t n_ranks = a->r == R_TRACK ? UINT64_MAX : a->owner->params.n_ranks;
        uint64_t n = n_ranks > first ? n_ranks - first : 0;
        b->rows[i].n_subs = (uint8_t)(n < a->n_sub ? n : a->n_sub);
    }
    return b;
}

void lod_block_destroy(lod_block *b)
{
    for (unsigned i = 0; i < TILE_ROWS[b->axis->r]; i++) {
        free(b->rows[i].active);
        free(b->rows[i].until_ns);
        free(b->rows[i].cells);
    }
    for (unsigned l = 0; l < b->axis->n_levels; l++) {
        free(b->levels[l].records);
        free(b->levels[l].sparse);
    }
    free(b->rows);
    free(b->levels);
    free(b);
}

/* ------------------------------------------------------------------ which tiles are stored */

static unsigned col_shift(const lod_axis *a, unsigned level)
{
    return a->shift + a->tile_shift + LOD_FACTOR_BITS * level;
}

/* First mark of the density list at or after the time. */
static size_t mark_at(const pyramid *p, int64_t t_ns)
{
    size_t lo = 0;
    size_t hi = p->n_marks;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (p->marks[mid] < t_ns) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    return lo;
}

/* The first column in [col, end) in which the whole group has many events; `end` when there is none. */
static uint64_t next_dense_col(const lod_axis *a, unsigned level, uint64_t col, uint64_t end)
{
    enum { WANTED = LOD_SPARSE_GROUP_EVENTS / LOD_DENSITY_STEP };
    const pyramid *p = a->owner;
    unsigned shift = col_shift(a, level);
    if (p->params.stores_all) {
        return col;
    }
    for (size_t i = mark_at(p, (int64_t)(col << shift)); i + WANTED <= p->n_marks; i++) {
        uint64_t at = (uint64_t)p->marks[i] >> shift;
        if (at >= end) {
            break;
        }
        if ((uint64_t)p->marks[i + WANTED - 1] >> shift == at) {
            return at;
        }
    }
    return end;
}

static void join_sparse(lod_level *l)
{
    size_t kept = 0;
    l->sparse_gap *= 4;
    for (size_t i = 0; i < l->n_sparse; i++) {
        lod_sparse *last = kept > 0 ? &l->sparse[kept - 1] : NULL;
        const lod_sparse *s = &l->sparse[i];
        if (last && s->col - (last->col + last->n_cols) < l->sparse_gap) {
            last->n_cols = s->col + s->n_cols - last->col;
            last->n_events += s->n_events;
        } else {
            l->sparse[kept++] = *s;
        }
    }
    l->n_sparse = kept;
}

static void leave_out(lod_level *l, uint64_t col, uint64_t n_cols, uint64_t n_events)
{
    lod_sparse *last = l->n_sparse > 0 ? &l->sparse[l->n_sparse - 1] : NULL;
    if (last && col - (last->col + last->n_cols) < l->sparse_gap) {
        last->n_cols = col + n_cols - last->col;
        last->n_events += n_events;
        return;
    }
    lod_sparse s = {col, n_cols, n_events};
    VEC_PUSH(l->sparse, l->n_sparse, l->cap_sparse, s);
    while (l->n_sparse > LOD_MAX_SPARSE_RUNS && l->sparse_gap < (uint64_t)1 << 60) {
        join_sparse(l);
    }
}

static void emit(const lod_block *b, unsigned level, uint64_t col, uint64_t n_cols, const tile_records *records,
                 uint64_t n_events)
{
    pyramid *p = b->axis->owner;
    if (p->failed != MAREY_OK) {
        return;
    }
    tile_key key = {b->axis->r, (uint8_t)level, p->params.group, b->index, col};
    p->failed = p->params.emit(p->params.ctx, &key, n_cols, records, n_events);
}

static void finish_tile(lod_block *b, unsigned level, uint64_t col)
{
    lod_axis *a = b->axis;
    lod_level *l = &b->levels[level];
    if (l->n_records == 0) {
        return;
    }
    bool is_top = level + 1 == a->n_levels;
    bool is_few = l->n_events < LOD_SPARSE_EVENTS;
    if (!is_top && is_few && next_dense_col(a, level, col, col + 1) != col) {
        leave_out(l, col, 1, l->n_events);
    } else {
        emit(b, level, col, 1, &(tile_records){l->records, l->n_records}, l->n_events);
    }
    l->n_records = 0;
    l->n_events = 0;
}

/* Close what ends where level 0 goes from column `from` to column `to`. */
static void close_levels(lod_block *b, uint64_t from, uint64_t to)
{
    for (unsigned level = 0; level < b->axis->n_levels; level++) {
        unsigned shift = LOD_FACTOR_BITS * level;
        if (from >> shift == to >> shift) {
            return;
        }
        for (uint64_t m = b->levels[level].open_rows; m != 0; m &= m - 1) {
            lod_row_close(b, (unsigned)__builtin_ctzll(m), level);
        }
        finish_tile(b, level, from >> shift);
    }
}

/* ------------------------------------------------------------------ columns in which nothing changes */

/* The tiles of one level over [col, col + n): every active row is the same cell throughout. */
static void emit_uniform(lod_block *b, unsigned level, uint64_t col, uint64_t n)
{
    lod_axis *a = b->axis;
    lod_level *l = &b->levels[level];
    bool is_top = level + 1 == a->n_levels;
    for (uint64_t end = col + n; col < end;) {
        uint64_t dense = is_top ? col : next_dense_col(a, level, col, end);
        if (dense > col) {
            leave_out(l, col, dense - col, 0);
        }
        if (dense < end) {
            emit(b, level, dense, 1, &(tile_records){l->records, l->n_records}, 0);
        }
        col = dense + 1;
    }
    l->n_records = 0;
    l->n_events = 0;
}

/* One whole column of `top`, and all columns of the levels below it. */
static void pass_over(lod_block *b, uint64_t col, unsigned top)
{
    lod_axis *a = b->axis;
    uint64_t n_bins = TILE_BINS[a->r];
    lod_cell_room c;
    for (unsigned level = 0; level <= top; level++) {
        uint64_t at = col >> (LOD_FACTOR_BITS * level);
        for (uint64_t m = b->active_rows; m != 0; m &= m - 1) {
            unsigned row = (unsigned)__builtin_ctzll(m);
            lod_row_uniform(b, row, col << a->tile_shift, &c.cell);
            lod_cell_scale(a, &c.cell, (int64_t)1 << (LOD_FACTOR_BITS * level));
            lod_cell_record(b, level, row, &c.cell, at * n_bins, n_bins);
            if (level == top) {
                lod_row_lift(b, row, level, at * n_bins, n_bins, &c.cell);
            }
        }
        emit_uniform(b, level, at, (uint64_t)1 << (LOD_FACTOR_BITS * (top - level)));
    }
}

static uint64_t change_col(const lod_block *b)
{
    uint64_t first = UINT64_MAX;
    for (uint64_t m = b->active_rows; m != 0; m &= m - 1) {
        const lod_row *r = &b->rows[__builtin_ctzll(m)];
        int64_t t = lod_row_change_ns(b->axis, r, r->bin);
        uint64_t col = (uint64_t)t >> col_shift(b->axis, 0);
        first = col < first ? col : first;
    }
    return first;
}

/* The largest aligned step: one column of the highest level that starts at `col` and ends by `end`. */
static unsigned step_level(const lod_axis *a, uint64_t col, uint64_t end)
{
    unsigned level = 0;
    while (level + 1 < a->n_levels) {
        uint64_t size = (uint64_t)1 << (LOD_FACTOR_BITS * (level + 1));
        if ((col & (size - 1)) != 0 || end - col < size) {
            break;
        }
        level++;
    }
    return level;
}

static void pass_gap(lod_block *b, uint64_t end)
{
    while (b->col < end) {
        unsigned top = step_level(b->axis, b->col, end);
        uint64_t next = b->col + ((uint64_t)1 << (LOD_FACTOR_BITS * top));
        pass_over(b, b->col, top);
        close_levels(b, b->col, next);
        b->col = next;
        for (uint64_t m = b->active_rows; m != 0; m &= m - 1) {
            b->rows[__builtin_ctzll(m)].bin = b->col << b->axis->tile_shift;
        }
    }
}

static void finish_column(lod_block *b)
{
    uint64_t end = (b->col + 1) << b->axis->tile_shift;
    for (uint64_t m = b->levels[0].open_rows | b->active_rows; m != 0; m &= m - 1) {
        lod_row_advance(b, (unsigned)__builtin_ctzll(m), end);
    }
    close_levels(b, b->col, b->col + 1);
    b->col++;
}

void lod_block_to_col(lod_block *b, uint64_t col)
{
    if (!b->has_started) {
        b->has_started = true;
        b->col = col;
        return;
    }
    while (b->col < col) {
        finish_column(b);
        uint64_t next = b->active_rows != 0 ? change_col(b) : col;
        next = next < col ? next : col;
        if (next <= b->col) {
            continue;
        }
        if (b->active_rows != 0) {
            pass_gap(b, next);
        } else {
            close_levels(b, b->col, next);
            b->col = next;
        }
    }
}

/* ------------------------------------------------------------------ events */

static void prepare_row(lod_block *b, unsigned row)
{
    const lod_axis *a = b->axis;
    lod_row *r = &b->rows[row];
    if (!r->cells) {
        r->cells = mem_calloc(a->n_levels, a->cell_bytes);
        r->until_ns = a->r == R_TRACK ? NULL : mem_calloc((size_t)a->n_sub * (1 + CLASS_COUNT), sizeof(int64_t));
    }
}

/* Column by column, in each of them row by row. */
void lod_block_add(lod_block *b, lod_slice *slices, size_t n)
{
    int64_t next_ns = INT64_MAX;
    for (size_t i = 0; i < n; i++) {
        prepare_row(b, slices[i].row);
        next_ns = slices[i].at->start_ns < next_ns ? slices[i].at->start_ns : next_ns;
    }
    while (n > 0) {
        uint64_t col = (uint64_t)next_ns >> col_shift(b->axis, 0);
        int64_t end_ns = (int64_t)((col + 1) << col_shift(b->axis, 0));
        if (!b->has_started || col > b->col) {
            lod_block_to_col(b, col);
        }
        size_t kept = 0;
        next_ns = INT64_MAX;
        for (size_t i = 0; i < n; i++) {
            lod_slice s = slices[i];
            if (s.at->start_ns < end_ns) {
                lod_row_add(b, s.row, &s, end_ns);
            }
            if (s.at < s.end) {
                next_ns = s.at->start_ns < next_ns ? s.at->start_ns : next_ns;
                slices[kept++] = s;
            }
        }
        n = kept;
    }
}

void lod_block_finish(lod_block *b)
{
    if (!b->has_started) {
        return;
    }
    do {
        lod_block_to_col(b, b->col + 1);
        uint64_t next = b->active_rows != 0 ? change_col(b) : b->col;
        lod_block_to_col(b, next);
    } while (b->active_rows != 0);
    /* All columns of every level end here. */
    close_levels(b, b->col, UINT64_MAX);
    for (unsigned level = 0; level < b->axis->n_levels; level++) {
        const lod_level *l = &b->levels[level];
        for (size_t i = 0; i < l->n_sparse; i++) {
            emit(b, level, l->sparse[i].col, l->sparse[i].n_cols, NULL, l->sparse[i].n_events);
        }
    }
}
