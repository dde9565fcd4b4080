/* Cells: exact sums, their way up through the levels, and the bytes that they become. */
#include <stddef.h>
#include <string.h>

#include "base/mem.h"
#include "lod/internal.h"

/* ------------------------------------------------------------------ cells to bytes */

/* A share that is present never rounds to nothing. */
static uint8_t share_of(int64_t ns, double per_ns, bool is_present)
{
    unsigned v = (unsigned)((double)ns * per_ns + 0.5);
    v = v > 255 ? 255 : v;
    return (uint8_t)(v == 0 && is_present ? 1 : v);
}

typedef struct class_shares {
    uint8_t klass[CLASS_COUNT];
    uint8_t share[CLASS_COUNT];
    double rest[CLASS_COUNT];
    unsigned n;
} class_shares;

/* Largest remainders: the shares sum to `total`; each stays within one of its exact value, and no present class gets 0.
 */
static void share_out(class_shares *s, unsigned total)
{
    unsigned sum = 0;
    for (unsigned i = 0; i < s->n; i++) {
        sum += s->share[i];
    }
    while (sum < total) {
        unsigned best = 0;
        for (unsigned i = 1; i < s->n; i++) {
            best = s->rest[i] > s->rest[best] ? i : best;
        }
        if (s->rest[best] <= 0 || s->share[best] == 255) {
            return;
        }
        s->share[best]++;
        s->rest[best] = 0;
        sum++;
    }
}

static void classes_exact(const lod_axis *a, const lod_cell *c, double per_ns, unsigned busy, class_shares *s)
{
    s->n = 0;
    for (unsigned m = c->mask; m != 0; m &= m - 1) {
        unsigned k = (unsigned)__builtin_ctz(m);
        unsigned i = s->n++;
        s->klass[i] = (uint8_t)k;
        if (a->r != R_TRACK) {
            s->share[i] = share_of(c->class_ns[k], per_ns, true);
            continue;
        }
        double v = (double)c->class_ns[k] * per_ns;
        unsigned whole = (unsigned)v > 255 ? 255 : (unsigned)v;
        s->rest[i] = whole == 0 ? 0 : v - (double)whole;
        s->share[i] = (uint8_t)(whole == 0 ? 1 : whole);
    }
    if (a->r == R_TRACK && s->n == 1) {
        s->share[0] = (uint8_t)busy;
    } else if (a->r == R_TRACK) {
        share_out(s, busy);
    }
}

/* A rank that is not present is idle throughout. */
static uint8_t least_share(const lod_row *row, const lod_cell *c, double per_ns)
{
    int64_t least = INT64_MAX;
    if (row->n_subs == 0 || c->subs != (1U << row->n_subs) - 1) {
        return 0;
    }
    for (unsigned s = 0; s < row->n_subs; s++) {
        least = least < c->busy_ns[s] ? least : c->busy_ns[s];
    }
    return share_of(least, per_ns, true);
}

/* A record: bin and length (two bytes each, little endian), row, classes, the planes behind the classes, (class,
 * share)... */
enum { RECORD_HEAD = 11, FIRST_RECORDS = 1024 };

/* 255 of a cell's capacity. */
static inline double per_row_ns(const lod_block *b, unsigned level, unsigned row)
{
    double per_ns = b->axis->per_ns[level];
    return b->axis->r == R_EIGHT && b->rows[row].n_subs > 0 ? per_ns / b->rows[row].n_subs : per_ns;
}

/* The shares of a cell of several classes. */
static void record_classes(const lod_block *b, unsigned level, unsigned row, const lod_cell *c, uint8_t *p)
{
    const lod_axis *a = b->axis;
    double per_ns = per_row_ns(b, level, row);
    int64_t busy_ns = 0;
    for (unsigned m = a->r == R_TRACK ? c->mask : 0; m != 0; m &= m - 1) {
        busy_ns += c->class_ns[__builtin_ctz(m)];
    }
    for (unsigned s = 0; s < a->n_sub; s++) {
        busy_ns += c->busy_ns[s];
    }
    class_shares s;
    p[6] = share_of(busy_ns, per_ns, true);
    classes_exact(a, c, per_ns, p[6], &s);
    p[5] = (uint8_t)s.n;
    for (unsigned i = 0; i < s.n; i++) {
        p[RECORD_HEAD + 2 * i] = s.klass[i];
        p[RECORD_HEAD + 2 * i + 1] = s.share[i];
    }
}

/* Append the cell as `n_bins` equal ones to the level's records. */
static inline __attribute__((always_inline)) void record(lod_block *b, unsigned level, unsigned row, const lod_cell *c,
                                                         uint64_t bin, uint64_t n_bins)
{
    const lod_axis *a = b->axis;
    lod_level *l = &b->levels[level];
    if (l->cap_records - l->n_records < RECORD_HEAD + 2 * CLASS_COUNT) {
        l->cap_records = l->cap_records > 0 ? l->cap_records * 2 : FIRST_RECORDS;
        l->records = mem_realloc_array(l->records, l->cap_records, 1);
    }
    uint8_t *p = l->records + l->n_records;
    uint64_t in_tile = bin & (((uint64_t)1 << a->tile_shift) - 1U);
    p[0] = (uint8_t)in_tile;
    p[1] = (uint8_t)(in_tile >> 8);
    p[2] = (uint8_t)n_bins;
    p[3] = (uint8_t)(n_bins >> 8);
    p[4] = (uint8_t)row;
    if ((c->mask & (c->mask - 1U)) == 0) { /* the only class is all of the busy time, on a track as of a rank */
        unsigned k = (unsigned)__builtin_ctz(c->mask);
        uint8_t busy = share_of(c->class_ns[k], per_row_ns(b, level, row), true);
        p[5] = 1;
        p[6] = busy;
        p[RECORD_HEAD] = (uint8_t)k;
        p[RECORD_HEAD + 1] = busy;
    } else {
        record_classes(b, level, row, c, p);
    }
    p[7] = c->count < 16 ? (uint8_t)c->count : lod_count_code(c->count);
    p[8] = c->severity;
    p[9] = lod_code_of_dur(c->longest_ns);
    p[10] = a->r == R_EIGHT ? least_share(&b->rows[row], c, a->per_ns[level]) : 0;
    l->n_records += RECORD_HEAD + 2U * p[5];
}

/* ------------------------------------------------------------------ cells to their parents */

static inline void merge_rest(lod_cell *into, const lod_cell *c)
{
    into->mask |= c->mask;
    into->subs |= c->subs;
    into->severity = into->severity > c->severity ? into->severity : c->severity;
    into->longest_ns = into->longest_ns > c->longest_ns ? into->longest_ns : c->longest_ns;
}

/* The closed cell goes into its parent; its sums are nothing again. */
static inline void move_sums(unsigned n_sub, lod_cell *into, lod_cell *c)
{
    unsigned m = c->mask;
    do {
        unsigned k = (unsigned)__builtin_ctz(m);
        into->class_ns[k] += c->class_ns[k];
        c->class_ns[k] = 0;
        m &= m - 1;
    } while (m != 0);
    for (unsigned s = 0; s < LOD_SUBS && n_sub == LOD_SUBS; s++) {
        into->busy_ns[s] += c->busy_ns[s];
    }
    if (n_sub == 1) {
        into->busy_ns[0] += c->busy_ns[0];
    }
    into->count += c->count;
    merge_rest(into, c);
}

static void merge_times(unsigned n_sub, lod_cell *into, const lod_cell *c, int64_t times)
{
    for (unsigned m = c->mask; m != 0; m &= m - 1) {
        unsigned k = (unsigned)__builtin_ctz(m);
        into->class_ns[k] += c->class_ns[k] * times;
    }
    for (unsigned s = 0; s < n_sub; s++) {
        into->busy_ns[s] += c->busy_ns[s] * times;
    }
    merge_rest(into, c);
}

/* A cell of nothing else. Of the classes only what is present is set. */
static void take_times(unsigned n_sub, lod_cell *into, const lod_cell *c, int64_t times)
{
    for (unsigned m = c->mask; m != 0; m &= m - 1) {
        unsigned k = (unsigned)__builtin_ctz(m);
        into->class_ns[k] = c->class_ns[k] * times;
    }
    for (unsigned s = 0; s < n_sub; s++) {
        into->busy_ns[s] = c->busy_ns[s] * times;
    }
    into->longest_ns = c->longest_ns;
    into->count = 0;
    into->mask = c->mask;
    into->severity = c->severity;
    into->subs = c->subs;
}

static void close_cell(lod_block *b, unsigned row, unsigned level, lod_cell *c)
{
    record(b, level, row, c, c->bin, 1);
    c->bin = LOD_NO_BIN;
    if (level + 1 < b->axis->n_levels) {
        move_sums(b->axis->n_sub, lod_cell_at(b, row, level + 1), c);
    } else {
        memset(c->class_ns, 0, sizeof c->class_ns);
    }
}

void lod_cell_close(lod_block *b, unsigned row, unsigned level)
{
    lod_cell *c = lod_cell_at(b, row, level);
    if (c->bin != LOD_NO_BIN) {
        close_cell(b, row, level, c);
        b->levels[level].open_rows &= ~((uint64_t)1 << row);
    }
}

lod_cell *lod_cell_open(lod_block *b, unsigned row, unsigned level, uint64_t bin)
{
    const lod_axis *a = b->axis;
    lod_cell *opened = lod_cell_at(b, row, level);
    lod_cell *c = opened;
    while (c->bin != bin) {
        if (c->bin != LOD_NO_BIN) {
            close_cell(b, row, level, c);
        }
        c->bin = bin;
        c->longest_ns = 0;
        c->count = 0;
        c->mask = 0;
        c->severity = 0;
        c->subs = 0;
        for (unsigned s = 0; s < a->n_sub; s++) {
            c->busy_ns[s] = 0;
        }
        b->levels[level].open_rows |= (uint64_t)1 << row;
        if (++level == a->n_levels) {
            break;
        }
        c = lod_cell_at(b, row, level);
        bin >>= LOD_FACTOR_BITS;
    }
    return opened;
}

/* The cells are recorded at the base. What they fill above is a run again; the rest belongs to open cells, at the begin
 * on the way up and at the end on the way down. */
static void lift_run(lod_block *b, unsigned row, uint64_t bin, uint64_t n, const lod_cell *one)
{
    const lod_axis *a = b->axis;
    const uint64_t mask = (1U << LOD_FACTOR_BITS) - 1U;
    const uint64_t end = bin + n;
    uint64_t tails[LOD_MAX_LEVELS];
    unsigned level = b->base;
    while (level + 1 < a->n_levels && n > 0) {
        unsigned shift = LOD_FACTOR_BITS * (level - b->base);
        uint64_t head = (0 - bin) & mask;
        head = head < n ? head : n;
        if (head > 0) {
            lod_cell *into = lod_cell_open(b, row, level + 1, bin >> LOD_FACTOR_BITS);
            merge_times(a->n_sub, into, one, (int64_t)(head << shift));
        }
        bin = (bin + head) >> LOD_FACTOR_BITS;
        n -= head;
        tails[level++] = (n & mask) << shift;
        n >>= LOD_FACTOR_BITS;
        if (n > 0) {
            lod_cell_room c; /* likewise */
            take_times(a->n_sub, &c.cell, one, (int64_t)1 << (shift + LOD_FACTOR_BITS));
            lod_cell_close(b, row, level);
            record(b, level, row, &c.cell, bin, n);
        }
    }
    for (; level > b->base; level--) {
        if (tails[level - 1] > 0) {
            lod_cell *into = lod_cell_open(b, row, level, end >> (LOD_FACTOR_BITS * (level - b->base)));
            merge_times(a->n_sub, into, one, (int64_t)tails[level - 1]);
        }
    }
}

void lod_cell_run(lod_block *b, unsigned row, uint64_t bin, uint64_t n, const lod_cell *one)
{
    record(b, b->base, row, one, bin, n);
    lift_run(b, row, bin, n, one);
}

/* ------------------------------------------------------------------ records to tiles */

static void paint_run(uint8_t *cells, tile_map *map, unsigned plane, size_t at, size_t n, uint8_t value)
{
    memset(cells + (size_t)plane * TILE_CELLS + at, value, n);
    for (size_t k = at / TILE_PIECE; k <= (at + n - 1) / TILE_PIECE; k++) {
        map->pieces[plane][k / 64] |= (uint64_t)1 << k % 64;
    }
}

/* The cell's byte in a plane; where it is zero, nothing is to be done. */
static inline void paint_one(uint8_t *cell, uint64_t *word, uint64_t bit, unsigned plane, uint8_t value)
{
    if (value != 0) {
        cell[(size_t)plane * TILE_CELLS] = value;
        word[(size_t)plane * TILE_WORDS] |= bit;
    }
}

static inline void paint_cell(const uint8_t *p, uint8_t *cells, tile_map *map, size_t at)
{
    const size_t piece = at / TILE_PIECE;
    const uint64_t bit = (uint64_t)1 << piece % 64;
    uint8_t *cell = cells + at;
    uint64_t *word = &map->pieces[0][piece / 64];
    for (unsigned k = 0; k < p[5]; k++) {
        paint_one(cell, word, bit, p[RECORD_HEAD + 2 * k], p[RECORD_HEAD + 2 * k + 1]);
    }
    paint_one(cell, word, bit, PLANE_BUSY, p[6]);
    paint_one(cell, word, bit, PLANE_COUNT, p[7]);
    paint_one(cell, word, bit, PLANE_SEVERITY, p[8]);
    paint_one(cell, word, bit, PLANE_LONGEST, p[9]);
    paint_one(cell, word, bit, PLANE_LEAST, p[10]);
}

static void paint_cells(const uint8_t *p, uint8_t *cells, tile_map *map, size_t at, size_t n)
{
    for (unsigned k = 0; k < p[5]; k++) {
        paint_run(cells, map, p[RECORD_HEAD + 2 * k], at, n, p[RECORD_HEAD + 2 * k + 1]);
    }
    for (unsigned k = 0; k < LOD_PLANES - PLANE_BUSY; k++) {
        if (p[6 + k] != 0) {
            paint_run(cells, map, PLANE_BUSY + k, at, n, p[6 + k]);
        }
    }
}

void pyramid_paint(uint8_t r, const tile_records *records, uint8_t *cells, tile_map *map)
{
    const unsigned bins = TILE_BINS[r];
    const uint8_t *end = records->bytes + records->n;
    memset(map, 0, sizeof *map);
    for (const uint8_t *p = records->bytes; p < end; p += RECORD_HEAD + 2U * p[5]) {
        size_t n_bins = (size_t)(p[2] | p[3] << 8);
        size_t at = (size_t)p[4] * bins + (size_t)(p[0] | p[1] << 8);
        if (n_bins == 1) {
            paint_cell(p, cells, map, at);
        } else {
            paint_cells(p, cells, map, at, n_bins);
        }
    }
}

void pyramid_wipe(const tile_map *map, uint8_t *cells)
{
    const uint64_t *words = &map->pieces[0][0];
    for (size_t k = 0; k < LOD_PLANES * TILE_WORDS; k++, cells += 64 * TILE_PIECE) {
        for (uint64_t m = words[k]; m != 0; m &= m - 1) {
            memset(cells + (size_t)__builtin_ctzll(m) * TILE_PIECE, 0, TILE_PIECE);
        }
    }
}
