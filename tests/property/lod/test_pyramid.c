/*
 * Contract: every tile of the pyramid equals brute force over the events, at every level and row level.
 *
 * Random tracks with zero-length events, instants on bin borders, events over many tiles and over the run's end.
 * Checked per cell: a share is 0 exactly when nothing of its class meets the cell, and right to 1/255 otherwise; class
 * shares of a track sum to its busy share; counts, severity, longest duration and the least busy rank. Tiles that are
 * missing hold nothing; tiles that are left out are few events, and the top level is always there.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/mem.h"
#include "lod/pyramid.h"

typedef struct ev {
    int64_t start, dur;
    uint32_t track;
    int rank;
    uint8_t klass, severity;
    pyramid_event in;
} ev;

typedef struct stored {
    tile_key key;
    uint64_t n_cols; /* 0: cells */
    uint64_t n_events;
    uint8_t *cells;
} stored;

typedef struct setup {
    uint64_t seed;
    uint32_t n_tracks, n_ranks, n_events; /* events per track */
    int64_t bin0, unit, gap;
    unsigned long_every;
    bool stores_all;
    int64_t cut;         /* of the duration: the last events reach beyond it */
    uint32_t lull_every; /* events of a track between two pauses; 0: none */
    int64_t lull;
} setup;

typedef struct world {
    setup s;
    ev *events;
    size_t n, cap;
    int64_t duration;
    stored *tiles;
    size_t n_tiles, cap_tiles;
    uint32_t n_levels[LOD_R];
    int64_t bin0[LOD_R];
} world;

static int compare_events(const void *a, const void *b)
{
    const ev *x = a;
    const ev *y = b;
    if (x->start != y->start) {
        return x->start < y->start ? -1 : 1;
    }
    return x->track < y->track ? -1 : x->track > y->track;
}

/* Tracks t belong to rank t % n_ranks; every fifth does not count for its rank. */
static void make_events(world *w)
{
    prng g;
    prng_seed(&g, w->s.seed);
    for (uint32_t t = 0; t < w->s.n_tracks; t++) {
        int64_t now = (int64_t)prng_below(&g, (uint64_t)w->s.gap + 1);
        for (uint32_t i = 0; i < w->s.n_events; i++) {
            ev e = {now, 0, t, t % 5 == 4 || w->s.n_ranks == 0 ? -1 : (int)(t % w->s.n_ranks), 0, 0, {0}};
            uint64_t kind = prng_below(&g, 8);
            e.dur = kind == 0 ? 0 : (int64_t)prng_below(&g, (uint64_t)w->s.unit) + 1;
            if (kind == 1) {
                e.start = (e.start + w->s.bin0 - 1) & ~(w->s.bin0 - 1); /* on a border of bins */
                e.dur = prng_below(&g, 2) ? 0 : w->s.bin0 * (int64_t)(1 + prng_below(&g, 5));
            }
            if (w->s.long_every && prng_below(&g, w->s.long_every) == 0) {
                e.dur *= 3000;
            }
            e.klass = (uint8_t)prng_below(&g, prng_below(&g, 4) == 0 ? CLASS_COUNT : 2);
            e.severity = (uint8_t)(prng_below(&g, 50) == 0 ? prng_below(&g, 16) : 0);
            e.in = (pyramid_event){e.start, e.dur, e.track, (int8_t)e.rank, e.klass, e.severity, 0};
            VEC_PUSH(w->events, w->n, w->cap, e);
            now = e.start + e.dur + (prng_below(&g, 3) == 0 ? 0 : (int64_t)prng_below(&g, (uint64_t)w->s.gap + 1));
            now += w->s.lull_every && i % w->s.lull_every == w->s.lull_every - 1 ? w->s.lull : 0;
            w->duration = e.start + e.dur > w->duration ? e.start + e.dur : w->duration;
        }
    }
    w->duration -= w->s.cut < w->duration ? w->s.cut : 0;
    qsort(w->events, w->n, sizeof *w->events, compare_events);
}

static marey_status take(void *ctx, const tile_key *key, uint64_t n_cols, const tile_records *records,
                         uint64_t n_events)
{
    const size_t bytes = (size_t)TILE_CELLS * LOD_PLANES;
    world *w = ctx;
    stored t = {*key, records ? 0 : n_cols, n_events, NULL};
    assert_true(n_cols >= 1 && (!records || n_cols == 1));
    if (records) {
        uint8_t *zeros = mem_calloc(1, bytes);
        t.cells = mem_calloc(1, bytes);
        tile_map map;
        pyramid_paint(key->r, records, t.cells, &map);
        for (size_t i = 0; i < bytes; i += TILE_PIECE) { /* the map says where something is, and nowhere else */
            bool is_marked = map.pieces[i / TILE_CELLS][i % TILE_CELLS / TILE_PIECE / 64] >> i / TILE_PIECE % 64 & 1;
            assert_int_equal(is_marked, memcmp(t.cells + i, zeros, TILE_PIECE) != 0);
        }
        pyramid_wipe(&map, t.cells);
        assert_memory_equal(t.cells, zeros, bytes);
        pyramid_paint(key->r, records, t.cells, &map);
        free(zeros);
    }
    VEC_PUSH(w->tiles, w->n_tiles, w->cap_tiles, t);
    return MAREY_OK;
}

static void build(world *w)
{
    for (unsigned r = 0; r < LOD_R; r++) {
        w->bin0[r] = r == R_EIGHT ? w->s.bin0 / 8 : w->s.bin0;
    }
    pyramid *p = NULL;
    pyramid_params params = {.group = 7,
                             .n_ranks = w->s.n_ranks,
                             .duration_ns = w->duration,
                             .stores_all = w->s.stores_all,
                             .emit = take,
                             .ctx = w};
    memcpy(params.bin0_ns, w->bin0, sizeof params.bin0_ns);
    assert_int_equal(pyramid_create(&p, &params), MAREY_OK);
    prng g;
    prng_seed(&g, w->s.seed);
    for (size_t i = 0; i < w->n;) {
        size_t most = (size_t)1 << prng_below(&g, 14); /* one at a time up to more than are sorted at once */
        size_t n = 1 + prng_below(&g, most < w->n - i ? most : w->n - i);
        assert_int_equal(pyramid_add(p, &w->events[i].in, n, sizeof w->events[i]), MAREY_OK);
        i += n;
    }
    assert_int_equal(pyramid_finish(p, w->n_levels), MAREY_OK);
    pyramid_destroy(&p);
}

/* ------------------------------------------------------------------ brute force */

typedef struct cell {
    int64_t class_ns[CLASS_COUNT], busy_ns[8];
    bool has_class[CLASS_COUNT], has_rank[8];
    uint64_t count;
    int64_t longest;
    uint8_t severity;
    int64_t class_until[8][CLASS_COUNT], until[8];
} cell;

static uint32_t row_of(unsigned r, const ev *e)
{
    return r == R_TRACK ? e->track : r == R_RANK ? (uint32_t)e->rank : (uint32_t)e->rank / 8;
}

static void add(cell *c, const ev *e, unsigned sub, int64_t lo, int64_t hi, int64_t limit)
{
    int64_t start = e->start < limit ? e->start : limit;
    int64_t end = e->dur < limit - start ? start + e->dur : limit;
    bool meets = end == start ? start >= lo && start < hi : start < hi && end > lo;
    if (!meets) {
        return;
    }
    int64_t to = end < hi ? end : hi;
    int64_t from = start > lo ? start : lo;
    int64_t *u = &c->until[sub];
    int64_t *cu = &c->class_until[sub][e->klass];
    int64_t busy = to - (from > *u ? from : *u);
    int64_t of_class = to - (from > *cu ? from : *cu);
    c->busy_ns[sub] += busy > 0 ? busy : 0;
    c->class_ns[e->klass] += of_class > 0 ? of_class : 0;
    *u = to > *u ? to : *u;
    *cu = to > *cu ? to : *cu;
    c->has_class[e->klass] = true;
    c->has_rank[sub] = true;
    c->count += start >= lo && start < hi;
    c->longest = e->dur > c->longest ? e->dur : c->longest;
    c->severity = e->severity > c->severity ? e->severity : c->severity;
}

/* One row of one tile. Events are sorted by start, so that the unions come out right. */
static void brute_row(const world *w, unsigned r, uint32_t row, int64_t lo, int64_t bin, cell *cells)
{
    unsigned bins = TILE_BINS[r];
    memset(cells, 0, bins * sizeof *cells);
    for (size_t i = 0; i < w->n; i++) {
        const ev *e = &w->events[i];
        if ((r != R_TRACK && e->rank < 0) || row_of(r, e) != row || e->start + e->dur < lo ||
            e->start >= lo + bin * bins) {
            continue;
        }
        int64_t first = e->start > lo ? (e->start - lo) / bin : 0;
        int64_t last = (e->start + e->dur - lo) / bin;
        /* What starts behind the run's end is counted at the end. */
        first = w->duration > lo && (w->duration - lo) / bin < first ? (w->duration - lo) / bin : first;
        for (int64_t k = first; k <= last && k < (int64_t)bins; k++) {
            unsigned sub = r == R_EIGHT ? (unsigned)e->rank % 8 : 0;
            add(&cells[k], e, sub, lo + k * bin, lo + (k + 1) * bin, w->duration);
        }
    }
}

static void check_share(uint8_t got, int64_t ns, double capacity, bool is_present)
{
    double exact = 255.0 * (double)ns / capacity;
    assert_int_equal(got > 0, is_present);
    assert_true((double)got >= exact - 1.0 && (double)got <= exact + 1.0);
}

static void check_cell(const world *w, unsigned r, uint32_t row, const uint8_t *cells, size_t at, const cell *c,
                       int64_t bin)
{
#define PLANE(p) cells[(size_t)(p)*TILE_CELLS + at]
    unsigned n_ranks = 1;
    if (r == R_EIGHT) {
        n_ranks = w->s.n_ranks - row * 8 < 8 ? w->s.n_ranks - row * 8 : 8;
    }
    double capacity = (double)bin * n_ranks;
    int64_t busy = 0;
    int64_t least = INT64_MAX;
    bool is_any = false;
    bool is_all = true;
    for (uint32_t s = 0; s < n_ranks; s++) {
        busy += c->busy_ns[s];
        least = c->busy_ns[s] < least ? c->busy_ns[s] : least;
        is_any = is_any || c->has_rank[s];
        is_all = is_all && c->has_rank[s];
    }
    unsigned sum = 0;
    unsigned tiny = 0;
    for (unsigned k = 0; k < CLASS_COUNT; k++) {
        check_share(PLANE(k), c->class_ns[k], capacity, c->has_class[k]);
        sum += PLANE(k);
        tiny += PLANE(k) == 1;
    }
    check_share(PLANE(PLANE_BUSY), busy, capacity, is_any);
    if (r == R_TRACK) {
        assert_true(sum + 1 >= PLANE(PLANE_BUSY) && sum <= PLANE(PLANE_BUSY) + 1U + tiny);
    }
    assert_int_equal(PLANE(PLANE_COUNT), lod_count_code(c->count));
    assert_int_equal(PLANE(PLANE_SEVERITY), c->severity);
    assert_int_equal(PLANE(PLANE_LONGEST), lod_dur_code(c->longest));
    if (r == R_EIGHT) {
        check_share(PLANE(PLANE_LEAST), least, (double)bin, is_all);
    } else {
        assert_int_equal(PLANE(PLANE_LEAST), 0);
    }
}

static const stored *find(const world *w, const tile_key *k)
{
    const stored *hit = NULL;
    for (size_t i = 0; i < w->n_tiles; i++) {
        const stored *t = &w->tiles[i];
        uint64_t n = t->n_cols ? t->n_cols : 1;
        if (t->key.r == k->r && t->key.level == k->level && t->key.row_block == k->row_block && k->col >= t->key.col &&
            k->col - t->key.col < n) {
            assert_null(hit); /* each tile once */
            assert_true(t->key.group == 7);
            hit = t;
        }
    }
    return hit;
}

/* Events that begin in the tile. */
static uint64_t count_in_tile(const world *w, const tile_key *k)
{
    int64_t span = lod_bin_ns(w->bin0[k->r], k->level) * TILE_BINS[k->r];
    uint64_t n = 0;
    for (size_t i = 0; i < w->n; i++) {
        const ev *e = &w->events[i];
        int64_t start = e->start < w->duration ? e->start : w->duration;
        bool counts = k->r == R_TRACK || e->rank >= 0;
        n += counts && row_of(k->r, e) / TILE_ROWS[k->r] == k->row_block && (uint64_t)(start / span) == k->col;
    }
    return n;
}

static bool row_is_empty(const cell *cells, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        for (unsigned k = 0; k < CLASS_COUNT; k++) {
            if (cells[i].has_class[k]) {
                return false;
            }
        }
    }
    return true;
}

static void check_tile(const world *w, const tile_key *k, uint32_t n_rows)
{
    unsigned bins = TILE_BINS[k->r];
    int64_t bin = lod_bin_ns(w->bin0[k->r], k->level);
    cell *cells = mem_alloc(bins * sizeof *cells);
    const stored *t = find(w, k);
    for (uint32_t i = 0; i < TILE_ROWS[k->r]; i++) {
        uint32_t row = k->row_block * TILE_ROWS[k->r] + i;
        brute_row(w, k->r, row, (int64_t)k->col * bin * bins, bin, cells);
        if (!t) {
            assert_true(row_is_empty(cells, bins));
            continue;
        }
        if (!t->cells) {
            continue;
        }
        for (unsigned b = 0; b < bins; b++) {
            if (row < n_rows) {
                check_cell(w, k->r, row, t->cells, (size_t)i * bins + b, &cells[b], bin);
            }
        }
    }
    if (t) {
        uint64_t n = count_in_tile(w, k);
        bool is_worth_it = n >= TILE_CELLS / 4 || k->level + 1U == w->n_levels[k->r] || w->s.stores_all;
        assert_int_equal(t->cells != NULL, is_worth_it);
        assert_true(!t->cells || t->n_events == n);
    }
    free(cells);
}

static void check_counts(const world *w, unsigned r)
{
    uint64_t wanted = 0;
    for (size_t i = 0; i < w->n; i++) {
        wanted += r == R_TRACK || w->events[i].rank >= 0;
    }
    for (unsigned l = 0; l < w->n_levels[r]; l++) {
        uint64_t n = 0;
        for (size_t i = 0; i < w->n_tiles; i++) {
            n += w->tiles[i].key.r == r && w->tiles[i].key.level == l ? w->tiles[i].n_events : 0;
        }
        assert_int_equal(n, wanted);
    }
}

/* Every tile of coarse levels, a sample of fine ones. */
static void check_world(world *w)
{
    prng g;
    prng_seed(&g, w->s.seed + 99);
    for (unsigned r = 0; r < LOD_R; r++) {
        uint32_t n_rows = r == R_TRACK ? w->s.n_tracks : r == R_RANK ? w->s.n_ranks : (w->s.n_ranks + 7) / 8;
        assert_int_equal(w->n_levels[r] > 0, n_rows > 0);
        check_counts(w, r);
        for (unsigned l = 0; l < w->n_levels[r]; l++) {
            int64_t span = lod_bin_ns(w->bin0[r], l) * TILE_BINS[r];
            uint64_t n_cols = (uint64_t)(w->duration / span) + 1;
            assert_true(l + 1 < w->n_levels[r] || n_cols == 1);
            for (uint64_t i = 0; i < (n_cols < 12 ? n_cols : 12); i++) {
                uint32_t n_blocks = (n_rows + TILE_ROWS[r] - 1) / TILE_ROWS[r];
                tile_key k = {(uint8_t)r, (uint8_t)l, 7, (uint32_t)prng_below(&g, n_blocks),
                              n_cols < 12 ? i : prng_below(&g, n_cols)};
                check_tile(w, &k, n_rows);
            }
        }
    }
}

static void run_setup(const setup *s)
{
    world w = {.s = *s};
    make_events(&w);
    build(&w);
    check_world(&w);
    for (size_t i = 0; i < w.n_tiles; i++) {
        free(w.tiles[i].cells);
    }
    free(w.tiles);
    free(w.events);
}

static void test_dense(void **state)
{
    (void)state;
    run_setup(&(setup){.seed = 1,
                       .n_tracks = 70,
                       .n_ranks = 11,
                       .n_events = 300,
                       .bin0 = 1024,
                       .unit = 700,
                       .gap = 500,
                       .stores_all = true});
}

static void test_fine_bins(void **state)
{
    (void)state;
    run_setup(&(setup){.seed = 2,
                       .n_tracks = 20,
                       .n_ranks = 3,
                       .n_events = 200,
                       .bin0 = 64,
                       .unit = 2000,
                       .gap = 3000,
                       .stores_all = true});
}

static void test_coarse_bins(void **state)
{
    (void)state;
    run_setup(&(setup){.seed = 3,
                       .n_tracks = 30,
                       .n_ranks = 16,
                       .n_events = 400,
                       .bin0 = 65536,
                       .unit = 3000,
                       .gap = 100,
                       .stores_all = true});
}

static void test_long_events(void **state)
{
    (void)state;
    run_setup(&(setup){.seed = 4,
                       .n_tracks = 12,
                       .n_ranks = 4,
                       .n_events = 40,
                       .bin0 = 256,
                       .unit = 900,
                       .gap = 4000,
                       .long_every = 20,
                       .stores_all = true});
    run_setup(&(setup){.seed = 5,
                       .n_tracks = 5,
                       .n_ranks = 2,
                       .n_events = 30,
                       .bin0 = 64,
                       .unit = 500,
                       .gap = 200000,
                       .long_every = 5,
                       .stores_all = true});
}

static void test_left_out(void **state)
{
    (void)state;
    run_setup(&(setup){.seed = 6,
                       .n_tracks = 12,
                       .n_ranks = 4,
                       .n_events = 400,
                       .bin0 = 256,
                       .unit = 900,
                       .gap = 4000,
                       .long_every = 20});
    run_setup(&(setup){.seed = 7,
                       .n_tracks = 90,
                       .n_ranks = 64,
                       .n_events = 300,
                       .bin0 = 4096,
                       .unit = 900,
                       .gap = 400,
                       .long_every = 200});
}

/* Level 0 is stored in one stretch, a higher level in the next one, and events run from one into the other. */
static void test_stretches(void **state)
{
    (void)state;
    const setup s = {.seed = 10,
                     .n_tracks = 70,
                     .n_ranks = 9,
                     .n_events = 420,
                     .bin0 = 256,
                     .unit = 300,
                     .gap = 200,
                     .long_every = 400,
                     .lull_every = 140,
                     .lull = 300000};
    world w = {.s = s};
    make_events(&w);
    build(&w);
    check_world(&w);
    unsigned n_stored = 0;
    unsigned n_left_out = 0;
    for (size_t i = 0; i < w.n_tiles; i++) {
        bool is_low = w.tiles[i].key.r == R_TRACK && w.tiles[i].key.level == 0 && w.tiles[i].key.row_block == 0;
        n_stored += is_low && w.tiles[i].cells;
        n_left_out += is_low && !w.tiles[i].cells;
        free(w.tiles[i].cells);
    }
    assert_true(n_stored >= 2 && n_left_out >= 2);
    free(w.tiles);
    free(w.events);
}

/* So many events make a tile worth storing, and one less do not. */
static void test_threshold(void **state)
{
    enum { ENOUGH = TILE_CELLS / 4, BIN = 1 << 20, COLUMN = BIN * 256 };
    (void)state;
    world w = {.duration = 5 * (int64_t)COLUMN};
    pyramid *p = NULL;
    pyramid_params params = {
        .group = 7, .duration_ns = w.duration, .bin0_ns = {BIN, BIN, BIN / 8}, .emit = take, .ctx = &w};
    assert_int_equal(pyramid_create(&p, &params), MAREY_OK);
    const unsigned n[3] = {ENOUGH, ENOUGH - 1, ENOUGH};
    for (unsigned col = 0; col < 3; col++) {
        for (unsigned i = 0; i < n[col]; i++) {
            pyramid_event e = {(int64_t)col * COLUMN + (int64_t)i * 1000, 1, i % 3, -1, CLASS_COPY, 0, 0};
            assert_int_equal(pyramid_add(p, &e, 1, sizeof e), MAREY_OK);
        }
    }
    assert_int_equal(pyramid_finish(p, w.n_levels), MAREY_OK);
    pyramid_destroy(&p);
    for (unsigned col = 0; col < 3; col++) {
        const stored *t = find(&w, &(tile_key){R_TRACK, 0, 7, 0, col});
        assert_true(t && (t->cells != NULL) == (n[col] == ENOUGH) && t->n_events == n[col]);
    }
    for (size_t i = 0; i < w.n_tiles; i++) {
        free(w.tiles[i].cells);
    }
    free(w.tiles);
}

/* Where the whole group has very many events, tiles with few of them are stored as well. */
static void test_dense_group(void **state)
{
    enum { TRACKS = 64, EVENTS = 4500, BIN = 1 << 20, COLUMN = BIN * 256 };
    (void)state;
    world w = {.duration = 3 * (int64_t)COLUMN};
    pyramid *p = NULL;
    pyramid_params params = {
        .group = 7, .duration_ns = w.duration, .bin0_ns = {BIN, BIN, BIN / 8}, .emit = take, .ctx = &w};
    assert_int_equal(pyramid_create(&p, &params), MAREY_OK);
    pyramid_event few = {0, COLUMN + BIN, TRACKS, -1, CLASS_COPY, 0, 0};
    assert_int_equal(pyramid_add(p, &few, 1, sizeof few), MAREY_OK);
    for (int64_t i = 0; i < EVENTS; i++) {
        for (uint32_t t = 0; t < TRACKS; t++) {
            pyramid_event e = {i * 1000, 1, t, -1, CLASS_COPY, 0, 0};
            assert_int_equal(pyramid_add(p, &e, 1, sizeof e), MAREY_OK);
        }
    }
    assert_int_equal(pyramid_finish(p, w.n_levels), MAREY_OK);
    pyramid_destroy(&p);
    const stored *first = find(&w, &(tile_key){R_TRACK, 0, 7, 1, 0});
    const stored *second = find(&w, &(tile_key){R_TRACK, 0, 7, 1, 1});
    assert_true(first && first->cells && first->n_events == 1);
    assert_true(second && !second->cells);
    for (size_t i = 0; i < w.n_tiles; i++) {
        free(w.tiles[i].cells);
    }
    free(w.tiles);
}

static void test_beyond_the_end(void **state)
{
    (void)state;
    run_setup(&(setup){.seed = 8,
                       .n_tracks = 6,
                       .n_ranks = 6,
                       .n_events = 60,
                       .bin0 = 512,
                       .unit = 5000,
                       .gap = 700,
                       .cut = 20000,
                       .stores_all = true});
}

/* Some events lie decades from the others. */
static void test_decades(void **state)
{
    (void)state;
    for (int stores_all = 0; stores_all < 2; stores_all++) {
        run_setup(&(setup){.seed = 11,
                           .n_tracks = 5,
                           .n_ranks = 3,
                           .n_events = 60,
                           .bin0 = 64,
                           .unit = 900,
                           .gap = 400,
                           .lull_every = 20,
                           .lull = INT64_C(500000000000000000),
                           .stores_all = stores_all > 0});
    }
}

static void test_without_ranks(void **state)
{
    (void)state;
    run_setup(&(setup){.seed = 9,
                       .n_tracks = 6,
                       .n_ranks = 0,
                       .n_events = 60,
                       .bin0 = 512,
                       .unit = 5000,
                       .gap = 700,
                       .stores_all = true});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dense),       cmocka_unit_test(test_fine_bins),     cmocka_unit_test(test_coarse_bins),
        cmocka_unit_test(test_long_events), cmocka_unit_test(test_left_out),      cmocka_unit_test(test_beyond_the_end),
        cmocka_unit_test(test_decades),     cmocka_unit_test(test_without_ranks), cmocka_unit_test(test_stretches),
        cmocka_unit_test(test_threshold),   cmocka_unit_test(test_dense_group),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
