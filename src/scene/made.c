/*
 * Tiles that are not stored because they hold few events: their cells are made from the events, once, and kept. The
 * events may lie in many blocks (a rarely used thread over the whole run), so they are taken block after block: what a
 * frame asks of the cache stays small.
 */
#include <stdlib.h>
#include <string.h>

#include "scene/internal.h"

enum { MAX_MADE = 192, BLOCKS_AT_ONCE = 16, MAX_MAKING = 24 }; /* 96 KiB each */

static uint64_t key_hash(const tile_key *k)
{
    uint64_t a = ((uint64_t)k->r << 56) | ((uint64_t)k->level << 48) | k->group;
    return hash_u64(hash_u64(a) ^ hash_u64(k->col * 31 + k->row_block) ^ k->col);
}

static bool same_key(const tile_key *a, const tile_key *b)
{
    return a->r == b->r && a->level == b->level && a->group == b->group && a->row_block == b->row_block &&
           a->col == b->col;
}

/* Add the sums of one rank to those of its row. */
static void add_sums(accumulator *to, const accumulator *from)
{
    for (uint32_t i = 0; i < from->n; i++) {
        for (uint32_t classes = from->columns[i].classes; classes; classes &= classes - 1) {
            uint8_t k = (uint8_t)__builtin_ctz(classes);
            add_share(to, i, k, share_of(from, i, k));
        }
        uint32_t count = (uint32_t)to->columns[i].count + from->columns[i].count;
        to->columns[i].busy += from->columns[i].busy;
        to->columns[i].count = (uint8_t)(count > 255 ? 255 : count);
        to->columns[i].severity =
            to->columns[i].severity > from->columns[i].severity ? to->columns[i].severity : from->columns[i].severity;
    }
}

/* Each rank's own union; the ranks of a row add up. */
static void make_ranks(scene *s, made_tile *t, const block_span *span, const time_grid *grid)
{
    const tile_key *key = &t->key;
    store_group_info g = store_group_at(s->file, key->group);
    uint32_t per_row = key->r == R_EIGHT ? 8 : 1;
    uint32_t n_ranks = g.first_rank + g.n_ranks <= s->model->n_ranks ? g.n_ranks : 0;
    uint32_t first = key->row_block * TILE_ROWS[key->r] * per_row;
    accumulator *one = &s->rasters.bins;
    for (uint32_t k = 0; k < TILE_ROWS[key->r] * per_row && first + k < n_ranks; k++) {
        uint32_t from = s->rank_first_track[g.first_rank + first + k];
        uint32_t to = s->rank_first_track[g.first_rank + first + k + 1];
        accumulator_reset(one, grid->n);
        accumulate_events(&s->scratch, span, s->device_tracks + from, to - from, grid, one, NULL, 0);
        add_sums(&t->sums[k / per_row], one);
        for (uint32_t i = 0; t->rank_busy && i < grid->n; i++) {
            t->rank_busy[(size_t)k * grid->n + i] += one->columns[i].busy;
        }
    }
}

static void make_track(scene *s, const tile_key *key, const block_span *span, uint32_t track, const time_grid *grid,
                       accumulator *sums)
{
    uint32_t row = s->model->tracks[track].row;
    if (row / TILE_ROWS[R_TRACK] == key->row_block) {
        accumulate_events(&s->scratch, span, &track, 1, grid, &sums[row % TILE_ROWS[R_TRACK]], NULL, 0);
    }
}

/* The block's tracks, and those that only its carried events belong to. */
static void make_tracks(scene *s, const tile_key *key, const block_span *span, const time_grid *grid, accumulator *sums)
{
    const store_block_info *b = &span->blocks[0].info;
    for (uint32_t k = 0; k < b->n_tracks; k++) {
        make_track(s, key, span, b->tracks[k], grid, sums);
    }
    for (uint32_t k = 0, t = 0; k < span->n_carry; k++) {
        uint32_t track = span->carry[k].track;
        while (t < b->n_tracks && b->tracks[t] < track) {
            t++;
        }
        bool seen = (t < b->n_tracks && b->tracks[t] == track) || (k > 0 && span->carry[k - 1].track == track);
        if (!seen) {
            make_track(s, key, span, track, grid, sums);
        }
    }
}

static void free_sums(made_tile *t)
{
    for (uint32_t r = 0; t->sums && r < TILE_ROWS[t->key.r]; r++) {
        accumulator_deinit(&t->sums[r]);
    }
    free(t->sums);
    free(t->rank_busy);
    t->sums = NULL;
    t->rank_busy = NULL;
}

static float capacity_of(const scene *s, const tile_key *key, uint32_t row)
{
    if (key->r != R_EIGHT) {
        return 1;
    }
    uint32_t n_ranks = store_group_at(s->file, key->group).n_ranks;
    uint32_t first = (key->row_block * TILE_ROWS[R_EIGHT] + row) * 8;
    return first + 8 <= n_ranks || first >= n_ranks ? 8 : (float)(n_ranks - first);
}

static void finish_least(const scene *s, made_tile *t)
{
    uint32_t n = TILE_BINS[R_EIGHT];
    t->least = mem_calloc(TILE_CELLS, 1);
    for (uint32_t r = 0; r < TILE_ROWS[R_EIGHT]; r++) {
        uint32_t n_ranks = (uint32_t)capacity_of(s, &t->key, r);
        for (uint32_t i = 0; i < n; i++) {
            float least = 1;
            for (uint32_t k = 0; k < n_ranks; k++) {
                least = fminf(least, t->rank_busy[(size_t)(r * 8 + k) * n + i]);
            }
            t->least[(size_t)r * n + i] = (uint8_t)(least * 255 + 0.5F);
        }
    }
}

static void finish(const scene *s, made_tile *t)
{
    uint32_t n = TILE_BINS[t->key.r];
    t->cells = mem_calloc(TILE_CELLS, sizeof *t->cells);
    t->classes = mem_calloc(TILE_CELLS, sizeof *t->classes);
    for (uint32_t r = 0; r < TILE_ROWS[t->key.r]; r++) {
        const accumulator *a = &t->sums[r];
        float scale = 255 / capacity_of(s, &t->key, r);
        for (uint32_t i = 0; i < n; i++) {
            float busy = a->columns[i].busy * scale + 0.5F;
            uint8_t share = busy >= 255 ? 255 : busy < 1 ? 1 : (uint8_t)busy;
            cache_cell none = {255, 0, 0, 0};
            cache_cell some = {dominant_class(a, i), share, a->columns[i].severity, a->columns[i].count};
            t->cells[(size_t)r * n + i] = a->columns[i].classes != 0 ? some : none;
            t->classes[(size_t)r * n + i] = a->columns[i].classes;
        }
    }
    if (t->rank_busy) {
        finish_least(s, t);
    }
    free_sums(t);
}

static void begin_tile(made_tile *t)
{
    uint32_t rows = TILE_ROWS[t->key.r];
    if (t->key.r == R_EIGHT) {
        t->rank_busy = mem_calloc((size_t)rows * 8 * TILE_BINS[R_EIGHT], sizeof *t->rank_busy);
    }
    t->sums = mem_calloc(rows, sizeof *t->sums);
    for (uint32_t r = 0; r < rows; r++) {
        accumulator_reset(&t->sums[r], TILE_BINS[t->key.r]);
    }
}

/* Take what is here of the next blocks, and ask for those after them. */
static void advance(scene *s, made_tile *t)
{
    store_group_info g = store_group_at(s->file, t->key.group);
    int64_t bin = lod_bin_ns(g.bin0_ns[t->key.r], t->key.level);
    uint32_t n_bins = TILE_BINS[t->key.r];
    int64_t t0 = (int64_t)(t->key.col * n_bins) * bin;
    time_grid grid = grid_of_bins(t0, bin, n_bins);
    int64_t run_end = s->model->duration_ns + 1 > t0 ? s->model->duration_ns + 1 : t0 + 1;
    int64_t t1 = window_of_grid(&grid).end_ns < run_end ? window_of_grid(&grid).end_ns : run_end;
    uint32_t first = 0;
    uint32_t n = 0;
    store_blocks_in(s->file, t->key.group, t0, t1, &first, &n);
    uint32_t wanted = n - t->n_done < BLOCKS_AT_ONCE ? n - t->n_done : BLOCKS_AT_ONCE;
    const block_span *span = span_of_blocks(s, g.blocks + first + t->n_done, wanted);
    for (uint32_t i = 0; i < wanted; i++, t->n_done++) {
        block_span one = {.blocks = &span->blocks[i], .n = 1};
        if (!one.blocks->columns && !cache_failed(s->cache, false, g.blocks[first + t->n_done])) {
            return;
        }
        one.carry = t->n_done == 0 ? one.blocks->info.carry : NULL; /* later ones carry what was seen already */
        one.n_carry = t->n_done == 0 ? one.blocks->info.n_carry : 0;
        if (t->key.r == R_TRACK) {
            make_tracks(s, &t->key, &one, &grid, t->sums);
        } else {
            make_ranks(s, t, &one, &grid);
        }
    }
    if (t->n_done == n) {
        finish(s, t);
    } else {
        s->src.n_wanted++;
    }
}

static void forget(made_tiles *m)
{
    for (size_t i = 0; i < m->n; i++) {
        free(m->items[i].cells);
        free(m->items[i].classes);
        free(m->items[i].least);
        free_sums(&m->items[i]);
    }
    m->n = 0;
    m->n_making = 0;
    map64_deinit(&m->by_key);
    memset(&m->by_key, 0, sizeof m->by_key);
}

void made_tiles_deinit(made_tiles *m)
{
    forget(m);
    free(m->items);
}

const made_tile *made_tile_for(scene *s, const tile_key *key)
{
    made_tiles *m = &s->rasters.made;
    uint64_t *place = map64_put(&m->by_key, key_hash(key));
    if (*place == 0 || !same_key(&m->items[*place - 1].key, key)) {
        made_tile t = {.key = *key};
        VEC_PUSH(m->items, m->n, m->cap, t);
        *place = m->n;
    }
    made_tile *t = &m->items[*place - 1];
    if (!t->cells && !t->sums && m->n_making < MAX_MAKING) { /* sums are large: a few tiles at a time */
        begin_tile(t);
        m->n_making++;
    }
    if (t->sums) {
        advance(s, t);
        m->n_making -= t->sums == NULL;
    } else if (!t->cells) {
        s->src.n_wanted++;
    }
    return t;
}

/* Between frames, so that no pointer of a frame is lost. */
void made_tiles_begin(made_tiles *m)
{
    if (m->n > MAX_MADE) {
        forget(m);
    }
}
