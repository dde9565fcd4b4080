/*
 * One row from tiles. The row's bins of the window are gathered into one buffer, whatever they come from (a tile, its
 * events where it is not stored, a coarser level while it loads), and reduced to columns by a map that is made once per
 * level: that inner loop is what a picture of a thousand rows costs.
 */
#include <string.h>

#include "scene/reduce.h"

static const cache_cell EMPTY_CELL = {255, 0, 0, 0};

/* ------------------------------------------------------------------ gathering */

typedef struct gather {
    const scene *s;
    const tile_job *job;
    cache_cell *bins; /* [map.n_bins] */
    uint8_t *coarse;  /* [map.n_bins]: a stand-in */
    bool any_coarse;
    bool missing;
} gather;

static inline void put_bin(cache_cell *to, cache_cell c)
{
    uint8_t severity = to->severity > c.severity ? to->severity : c.severity;
    uint8_t count = to->count > c.count ? to->count : c.count;
    if (c.busy > to->busy) {
        *to = c;
    }
    to->severity = severity;
    to->count = count;
}

static void gather_stored(gather *k, const cache_cell *row, uint32_t from, uint32_t to, uint32_t first_in_tile,
                          bool alone)
{
    if (alone) {
        memcpy(k->bins + from, row + first_in_tile, (to - from) * sizeof *row);
        return;
    }
    for (uint32_t i = from; i < to; i++) {
        put_bin(&k->bins[i], row[first_in_tile + (i - from)]);
    }
}

static void gather_standin(gather *k, const tile_slot *slot, uint32_t tile_row, uint32_t from, uint32_t to)
{
    const group_source *g = k->job->g;
    const bin_map *m = g->map;
    k->any_coarse = true;
    k->missing = true;
    if (!slot->standin) {
        return;
    }
    const cache_cell *row = slot->standin->cells + (size_t)(tile_row % TILE_ROWS[g->r]) * TILE_BINS[g->r];
    for (uint32_t i = from; i < to; i++) {
        int64_t t = (m->first_bin + (int64_t)i) * m->bin_ns;
        cache_cell c = row[(uint64_t)(t / slot->standin_bin_ns) % TILE_BINS[g->r]];
        if (c.busy > 0) {
            put_bin(&k->bins[i], c);
            k->coarse[i] = 1;
        }
    }
}

static void clear_bins(gather *k, uint32_t from, uint32_t to)
{
    for (uint32_t i = from; i < to; i++) {
        k->bins[i] = EMPTY_CELL;
    }
}

static void gather_row(gather *k, uint32_t row_index)
{
    const tile_job *job = k->job;
    const group_source *g = job->g;
    uint32_t tile_row = job->tile_rows[row_index];
    uint32_t rows = TILE_ROWS[g->r];
    int64_t width = (int64_t)TILE_BINS[g->r];
    if (tile_row / rows >= g->n_row_blocks) {
        return;
    }
    for (uint32_t col = 0; col < g->n_cols; col++) {
        const tile_slot *slot = &g->slots[(size_t)(tile_row / rows) * g->n_cols + col];
        int64_t begin = (g->first_col + col) * width - g->map->first_bin;
        int64_t end = begin + width;
        uint32_t from = begin < 0 ? 0 : (uint32_t)begin;
        uint32_t to = end > (int64_t)g->map->n_bins ? g->map->n_bins : (uint32_t)end;
        if (slot->state == SLOT_READY) {
            const cache_cell *row = slot->cells + (size_t)(tile_row % rows) * TILE_BINS[g->r];
            gather_stored(k, row, from, to, (uint32_t)((int64_t)from - begin), job->n_rows == 1);
            continue;
        }
        if (job->n_rows == 1) {
            clear_bins(k, from, to);
        }
        if (slot->state == SLOT_MISSING) {
            gather_standin(k, slot, tile_row, from, to);
        }
    }
}

/* ------------------------------------------------------------------ reducing */

typedef struct column_sum {
    uint32_t busy; /* share * 256 */
    uint32_t best; /* of the class so far */
    uint8_t klass, severity;
    uint8_t count;
    bool mixed;
} column_sum;

static inline void add_bin(column_sum *c, cache_cell bin, uint32_t weight)
{
    if (bin.busy == 0) {
        return;
    }
    uint32_t part = bin.busy * weight + 1; /* a bin with nothing but a point in time counts as something */
    c->busy += part;
    c->severity = c->severity > bin.severity ? c->severity : bin.severity;
    uint32_t count = (uint32_t)c->count + bin.count;
    c->count = (uint8_t)(count > 255 ? 255 : count);
    if (bin.klass == c->klass) {
        c->best += part;
    } else {
        c->mixed = c->mixed || c->klass != 255;
        if (part > c->best) {
            c->klass = bin.klass;
            c->best = part;
        }
    }
}

static inline draw_cell cell_of(const column_sum *c)
{
    uint32_t busy = (c->busy + 128) >> 8;
    draw_cell cell = {c->klass, (uint8_t)(busy > 255 ? 255 : busy == 0 ? 1 : busy), 0, 255};
    cell.flags = (uint8_t)((c->count > 1 ? CELL_MORE : 0) | (c->severity > 0 ? CELL_SEVERE : 0));
    return cell;
}

/* Many bins, or some with severity. */
static void reduce_column(const bin_map *m, const cache_cell *bins, bin_range b, column_sum *c)
{
    add_bin(c, bins[b.first], b.first_weight);
    for (uint32_t j = b.first + 1; j < last_bin(b); j++) {
        add_bin(c, bins[j], m->middle_weight);
    }
    if (b.more > 0) {
        add_bin(c, bins[last_bin(b)], b.last_weight);
    }
}

static uint8_t reduce_hard(reduce_job *job, const bin_map *m, uint32_t i)
{
    column_sum c = {.klass = 255};
    reduce_column(m, job->bins, m->ranges[i], &c);
    job->cells[i] = c.klass != 255 ? cell_of(&c) : (draw_cell){CELL_EMPTY, 0, 0, 255};
    if (c.mixed) {
        job->mixed[job->n_mixed++] = i;
    }
    return c.severity;
}

/* A mark stands where severity begins. */
static void reduce(const gather *k, row_raster *out, raster_work *w, reduce_job *job)
{
    const bin_map *m = k->job->g->map;
    VEC_RESERVE(w->mixed, w->cap_mixed, out->n);
    VEC_RESERVE(w->hard, w->cap_hard, out->n);
    *job = (reduce_job){.ranges = m->ranges, .bins = k->bins, .n = out->n, .middle_weight = m->middle_weight};
    job->cells = out->cells;
    job->mixed = w->mixed;
    job->hard = w->hard;
    reduce_columns(job, m->plan);
    uint8_t before = 0;
    for (size_t n = 0; n < job->n_hard; n++) {
        uint32_t i = job->hard[n];
        before = n > 0 && job->hard[n - 1] + 1 == i ? before : 0;
        uint8_t severity = reduce_hard(job, m, i);
        if (severity > before) {
            add_mark(k->s, out, i, severity);
        }
        before = severity;
    }
}

/* ------------------------------------------------------------------ the class, exactly */

static void add_planes(const gather *k, uint32_t bin, uint32_t weight, uint32_t shares[CLASS_COUNT])
{
    const group_source *g = k->job->g;
    int64_t at = g->map->first_bin + (int64_t)bin;
    if (at < 0) {
        return;
    }
    uint32_t width = TILE_BINS[g->r];
    uint64_t col = (uint64_t)at / width - (uint64_t)g->first_col;
    uint32_t row = k->job->tile_rows[0];
    const tile_slot *slot = col < g->n_cols ? &g->slots[(size_t)(row / TILE_ROWS[g->r]) * g->n_cols + col] : NULL;
    if (!slot || slot->state != SLOT_READY || !slot->planes) {
        const cache_cell *c = &k->bins[bin];
        if (c->klass < CLASS_COUNT) {
            shares[c->klass] += c->busy * weight;
        }
        return;
    }
    size_t cell = (size_t)(row % TILE_ROWS[g->r]) * width + (size_t)((uint64_t)at % width);
    for (uint32_t p = 0; p < CLASS_COUNT; p++) {
        shares[p] += slot->planes[(size_t)p * TILE_CELLS + cell] * weight;
    }
}

/* Where bins of different classes meet in one column, the largest bin need not tell the largest class. */
static void settle_classes(const gather *k, const reduce_job *columns, row_raster *out)
{
    const bin_map *m = k->job->g->map;
    for (size_t n = 0; n < columns->n_mixed; n++) {
        uint32_t i = columns->mixed[n];
        uint32_t shares[CLASS_COUNT] = {0};
        bin_range b = m->ranges[i];
        for (uint32_t j = b.first; j <= last_bin(b); j++) {
            uint32_t w = j == b.first ? b.first_weight : j == last_bin(b) ? b.last_weight : m->middle_weight;
            add_planes(k, j, w, shares);
        }
        uint8_t best = 0;
        for (uint8_t c = 1; c < CLASS_COUNT; c++) {
            best = shares[c] > shares[best] ? c : best;
        }
        if (shares[best] > 0) {
            out->cells[i].klass = best;
        }
    }
}

static void flag_coarse(const gather *k, row_raster *out)
{
    const bin_map *m = k->job->g->map;
    for (uint32_t i = 0; i < out->n; i++) {
        if (out->cells[i].klass != CELL_EMPTY && (k->coarse[m->ranges[i].first] || k->coarse[last_bin(m->ranges[i])])) {
            out->cells[i].flags |= CELL_COARSE;
        }
    }
}

/* ------------------------------------------------------------------ coverage */

static inline bool bin_inks(cache_cell c, bool is_inside, bool is_long)
{
    return c.busy > 0 && (is_inside || (c.busy == 255 && is_long));
}

static bool is_certain(const bin_map *m, const cache_cell *bins, uint32_t i)
{
    bin_range b = m->ranges[i];
    bool certain = bin_inks(bins[b.first], b.edges & EDGE_FIRST_INSIDE, b.edges & EDGE_FIRST_LONG) ||
                   bin_inks(bins[last_bin(b)], b.edges & EDGE_LAST_INSIDE, b.edges & EDGE_LAST_LONG);
    for (uint32_t j = b.first + 1; !certain && j < last_bin(b); j++) {
        certain = bins[j].busy > 0;
    }
    return certain;
}

/* Inked columns in which perhaps no event is, only the other part of a bin that lies across their edge. */
static void find_doubtful(const gather *k, row_raster *out)
{
    const bin_map *m = k->job->g->map;
    out->is_searched = true;
    for (uint32_t i = 0; i < out->n; i++) {
        if (out->cells[i].klass != CELL_EMPTY && !is_certain(m, k->bins, i)) {
            column_list *l = &out->doubts[DOUBT_INK];
            VEC_PUSH(l->items, l->n, l->cap, i);
        }
    }
}

void ask_tiles(scene *s, const tile_job *job)
{
    group_source *g = job->g;
    for (uint32_t i = 0; i < job->n_rows; i++) {
        uint32_t row_block = job->tile_rows[i] / TILE_ROWS[g->r];
        for (uint32_t col = 0; row_block < g->n_row_blocks && col < g->n_cols; col++) {
            (void)slot_of(s, g, row_block, col);
        }
    }
}

void raster_tiles(const scene *s, const tile_job *job, raster_work *w)
{
    uint32_t n = job->g->map->n_bins;
    VEC_RESERVE(w->gather, w->cap_gather, n + REDUCE_SLACK);
    VEC_RESERVE(w->coarse, w->cap_coarse, n);
    gather k = {.s = s, .job = job, .bins = w->gather, .coarse = w->coarse};
    /* A row of one track fills its bins tile by tile; only those before the run's start are left to be cleared. */
    int64_t before = -job->g->map->first_bin;
    bool whole =
        job->n_rows != 1 || job->g->n_cols == 0 || job->tile_rows[0] / TILE_ROWS[job->g->r] >= job->g->n_row_blocks;
    clear_bins(&k, 0, whole || before > (int64_t)n ? n : before < 0 ? 0 : (uint32_t)before);
    memset(k.coarse, 0, n);
    for (uint32_t i = 0; i < job->n_rows; i++) {
        gather_row(&k, i);
    }
    reduce_job columns;
    reduce(&k, job->out, w, &columns);
    if (job->n_rows == 1 && s->src.strictness < 1.42) {
        settle_classes(&k, &columns, job->out);
    }
    if (k.any_coarse) {
        flag_coarse(&k, job->out);
    }
    job->out->complete = !k.missing;
    job->out->from_tiles = true;
    if (s->rasters.rests && job->out->complete) {
        find_doubtful(&k, job->out);
        find_classes(&s->src.grid, job, w);
    }
}

uint8_t least_of_column(const tile_job *job, uint32_t column)
{
    const group_source *g = job->g;
    uint32_t row = job->tile_rows[0];
    uint32_t width = TILE_BINS[g->r];
    bin_range b = g->map->ranges[column];
    uint32_t sum = 128;
    for (uint32_t j = b.first; j <= last_bin(b); j++) {
        int64_t bin = g->map->first_bin + (int64_t)j;
        uint64_t col = (uint64_t)bin / width - (uint64_t)g->first_col;
        if (bin < 0 || col >= g->n_cols || row / TILE_ROWS[g->r] >= g->n_row_blocks) {
            continue;
        }
        const tile_slot *slot = &g->slots[(size_t)(row / TILE_ROWS[g->r]) * g->n_cols + col];
        if (slot->state == SLOT_READY && slot->least) {
            uint32_t w = j == b.first ? b.first_weight : j == last_bin(b) ? b.last_weight : g->map->middle_weight;
            size_t cell = (size_t)(row % TILE_ROWS[g->r]) * width + (size_t)((uint64_t)bin % width);
            sum += slot->least[cell] * w;
        }
    }
    return (uint8_t)(sum >> 8 > 255 ? 255 : sum >> 8);
}
