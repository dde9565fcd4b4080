/*
 * Which class has the most time in a column, as far as tiles can prove it. A bin's share of a class is known to a
 * 255th, and where in the bin it lies is not known: what a column holds of a bin across its edge is somewhere between
 * nothing and all of the class's time. A class whose least is more than any other's most is proved; a column without
 * one is left to the events (refine.c).
 */
#include <string.h>

#include "scene/internal.h"

/* Least and most time of each class in one bin or column, in bins. */
typedef struct class_bounds {
    double least[CLASS_COUNT], most[CLASS_COUNT];
} class_bounds;

static inline double larger(double a, double b)
{
    return a > b ? a : b;
}

static inline double smaller(double a, double b)
{
    return a < b ? a : b;
}

/* The cell of a row's bin. @return false: nothing is there */
static const tile_slot *slot_at(const tile_job *job, uint32_t row_index, uint32_t bin, size_t *cell)
{
    const group_source *g = job->g;
    int64_t at = g->map->first_bin + (int64_t)bin;
    uint32_t width = TILE_BINS[g->r];
    uint32_t row = job->tile_rows[row_index];
    uint64_t col = at < 0 ? g->n_cols : (uint64_t)at / width - (uint64_t)g->first_col;
    if (col >= g->n_cols || row / TILE_ROWS[g->r] >= g->n_row_blocks) {
        return NULL;
    }
    const tile_slot *slot = &g->slots[(size_t)(row / TILE_ROWS[g->r]) * g->n_cols + col];
    *cell = (size_t)(row % TILE_ROWS[g->r]) * width + (size_t)((uint64_t)at % width);
    return slot->state == SLOT_READY ? slot : NULL;
}

/* ------------------------------------------------------------------ which classes are there */

/* Most of a row's planes hold nothing: eight bins at a time are passed over. */
static void add_plane(uint16_t *restrict present, const uint8_t *restrict plane, uint32_t n, uint16_t bit)
{
    uint32_t i = 0;
    for (; i + sizeof(uint64_t) <= n; i += sizeof(uint64_t)) {
        uint64_t eight;
        memcpy(&eight, plane + i, sizeof eight);
        for (uint32_t j = 0; eight != 0 && j < sizeof eight; j++) {
            present[i + j] |= plane[i + j] != 0 ? bit : 0;
        }
    }
    for (; i < n; i++) {
        present[i] |= plane[i] != 0 ? bit : 0;
    }
}

static void add_present(uint16_t *restrict present, const tile_slot *slot, size_t cell, uint32_t n)
{
    if (!slot->planes) {
        for (uint32_t i = 0; i < n; i++) {
            present[i] |= slot->classes[cell + i];
        }
        return;
    }
    for (uint32_t k = 0; k < CLASS_COUNT; k++) {
        add_plane(present, slot->planes + (size_t)k * TILE_CELLS + cell, n, (uint16_t)(1U << k));
    }
}

static void find_present(const tile_job *job, uint16_t *present)
{
    const bin_map *m = job->g->map;
    uint32_t width = TILE_BINS[job->g->r];
    memset(present, 0, m->n_bins * sizeof *present);
    for (uint32_t row = 0; row < job->n_rows; row++) {
        for (uint32_t bin = 0; bin < m->n_bins;) {
            int64_t at = m->first_bin + (int64_t)bin;
            uint32_t in_tile = at < 0 ? 0 : (uint32_t)((uint64_t)at % width);
            uint32_t n = at < 0 ? (uint32_t)fmin(-(double)at, m->n_bins - bin) : width - in_tile;
            n = n < m->n_bins - bin ? n : m->n_bins - bin;
            size_t cell = 0;
            const tile_slot *slot = slot_at(job, row, bin, &cell);
            if (slot) {
                add_present(present + bin, slot, cell, n);
            }
            bin += n;
        }
    }
}

/* ------------------------------------------------------------------ how much of each */

/* One row's bin, as its bytes have it. */
static void bounds_of_cell(const tile_slot *slot, size_t cell, uint8_t r, uint32_t classes, class_bounds *b)
{
    double off = r == R_TRACK ? 1.01 : 0.51; /* lod/cell.c: shares of a track sum up to its busy time */
    for (; classes; classes &= classes - 1) {
        uint32_t k = (uint32_t)__builtin_ctz(classes);
        double share = 0;
        double free = 0; /* down to nothing: only the sum of several classes is known */
        if (slot->planes) {
            share = slot->planes[(size_t)k * TILE_CELLS + cell];
        } else if (slot->classes[cell] >> k & 1) {
            share = slot->cells[cell].busy;
            free = (slot->classes[cell] & (slot->classes[cell] - 1)) != 0 ? share : 0;
        }
        if (share > 0) {
            b->least[k] = larger(b->least[k], (share - off - free) / 255);
            b->most[k] = smaller(b->most[k] + (share + off) / 255, 1);
        }
    }
}

/* What column i has of a bin that some of `classes` run in. Several rows (tracks) may run one at once or by turns. */
static void add_bin_bounds(const tile_job *job, const time_grid *grid, uint32_t i, uint32_t bin, uint32_t classes,
                           class_bounds *sum)
{
    const bin_map *m = job->g->map;
    class_bounds b;
    for (uint32_t c = classes; c; c &= c - 1) {
        b.least[__builtin_ctz(c)] = b.most[__builtin_ctz(c)] = 0;
    }
    for (uint32_t row = 0; row < job->n_rows; row++) {
        size_t cell = 0;
        const tile_slot *slot = slot_at(job, row, bin, &cell);
        if (slot) {
            bounds_of_cell(slot, cell, job->g->r, classes, &b);
        }
    }
    double width = (double)m->bin_ns;
    double begin = m->begin_ns + (double)bin * width;
    double low = larger(begin, time_edge(grid, i));
    double high = smaller(begin + width, time_edge(grid, (int64_t)i + 1));
    double part = smaller(1, larger(0, (high - low) / width));
    for (; classes; classes &= classes - 1) {
        int k = __builtin_ctz(classes);
        sum->least[k] += larger(0, b.least[k] - (1 - part));
        sum->most[k] += smaller(b.most[k], part);
    }
}

/* @return CELL_EMPTY: none is proved */
static uint8_t proved_class(const class_bounds *b, uint32_t classes)
{
    uint32_t best = (uint32_t)__builtin_ctz(classes);
    for (uint32_t c = classes; c; c &= c - 1) {
        uint32_t k = (uint32_t)__builtin_ctz(c);
        best = b->least[k] > b->least[best] ? k : best;
    }
    for (uint32_t c = classes; c; c &= c - 1) {
        uint32_t k = (uint32_t)__builtin_ctz(c);
        if (k != best && b->most[k] >= b->least[best]) {
            return CELL_EMPTY;
        }
    }
    return (uint8_t)best;
}

void find_classes(const time_grid *grid, const tile_job *job, raster_work *w)
{
    row_raster *out = job->out;
    const bin_map *m = job->g->map;
    column_list *l = &out->doubts[DOUBT_CLASS];
    if (job->g->r == R_EIGHT) {
        return; /* several ranks: how many do what, which is no question of one class */
    }
    VEC_RESERVE(w->present, w->cap_present, m->n_bins);
    find_present(job, w->present);
    for (uint32_t i = 0; i < out->n; i++) {
        bin_range r = m->ranges[i];
        uint16_t classes = 0;
        for (uint32_t bin = r.first; bin <= last_bin(r); bin++) {
            classes |= w->present[bin];
        }
        if (out->cells[i].klass == CELL_EMPTY || (classes & (classes - 1)) == 0) {
            continue;
        }
        class_bounds b;
        for (uint32_t c = classes; c; c &= c - 1) {
            b.least[__builtin_ctz(c)] = b.most[__builtin_ctz(c)] = 0;
        }
        for (uint32_t bin = r.first; bin <= last_bin(r); bin++) {
            add_bin_bounds(job, grid, i, bin, w->present[bin], &b);
        }
        uint8_t proved = proved_class(&b, classes);
        if (proved != CELL_EMPTY) {
            out->cells[i].klass = proved;
        } else {
            VEC_PUSH(l->items, l->n, l->cap, i);
        }
    }
}
