/* Directories: groups, blocks and tiles at open; tracks and carried events of a group at the first use of its blocks.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "store/reader.h"

/* ------------------------------------------------------------------ at open */

typedef struct load_item {
    schema_id id;
    void *out;
} load_item;

static marey_status load_items(store_file *f, const load_item *items, size_t n_items, size_t *n, diag *d)
{
    uint64_t rows = UINT64_MAX;
    for (size_t i = 0; i < n_items; i++) {
        marey_status status = in_load(f, items[i].id, rows, items[i].out, n, d);
        if (status != MAREY_OK) {
            return status;
        }
        rows = *n;
    }
    return MAREY_OK;
}

#define LOAD_ITEMS(f, items, n, d) load_items(f, items, sizeof(items) / sizeof(items)[0], n, d)

static marey_status load_columns(store_file *f, diag *d)
{
    block_columns *b = &f->blocks;
    group_columns *g = &f->groups;
    tile_columns *t = &f->tiles;
    sparse_columns *s = &f->sparse;
    const load_item blocks[] = {{S_BLOCK_GROUP, &b->group},
                                {S_BLOCK_N, &b->n},
                                {S_BLOCK_T0, &b->t0},
                                {S_BLOCK_T1, &b->t1},
                                {S_BLOCK_TRACK_FIRST, &b->track_first},
                                {S_BLOCK_N_TRACKS, &b->n_tracks},
                                {S_BLOCK_ARGS_FIRST, &b->args_first},
                                {S_BLOCK_ARGS_BYTES, &b->args_bytes},
                                {S_BLOCK_ADDR, &b->addr},
                                {S_BLOCK_SIZE, &b->size},
                                {S_BLOCK_CRC, &b->crc},
                                {S_GROUP_BLOCKS, &g->blocks}};
    const load_item groups[] = {{S_GROUP_KIND, &g->kind},         {S_GROUP_FIRST_RANK, &g->first_rank},
                                {S_GROUP_N_RANKS, &g->n_ranks},   {S_GROUP_FIRST_BLOCK, &g->first_block},
                                {S_GROUP_N_BLOCKS, &g->n_blocks}, {S_GROUP_FIRST_CARRY, &g->first_carry},
                                {S_GROUP_N_CARRY, &g->n_carry},   {S_GROUP_BIN0, &g->bin0},
                                {S_GROUP_N_LEVELS, &g->n_levels}, {S_GROUP_N_ROWS, &g->n_rows}};
    const load_item tiles[] = {{S_TILE_R, &t->r},         {S_TILE_LEVEL, &t->level},
                               {S_TILE_GROUP, &t->group}, {S_TILE_ROW_BLOCK, &t->row_block},
                               {S_TILE_COL, &t->col},     {S_TILE_INDEX, &t->index},
                               {S_TILE_N, &t->n},         {S_TILE_ADDR, &t->addr},
                               {S_TILE_SIZE, &t->size},   {S_TILE_CRC, &t->crc}};
    const load_item sparse[] = {{S_SPARSE_R, &s->r},         {S_SPARSE_LEVEL, &s->level},
                                {S_SPARSE_GROUP, &s->group}, {S_SPARSE_ROW_BLOCK, &s->row_block},
                                {S_SPARSE_COL, &s->col},     {S_SPARSE_N_COLS, &s->n_cols},
                                {S_SPARSE_N, &s->n}};
    const load_item longs[] = {{S_LONG_ROW, &f->long_row}, {S_LONG_DUR, &f->long_dur}};
    const load_item args[] = {{S_ARGS_ADDR, &f->args_addr}, {S_ARGS_SIZE, &f->args_size}, {S_ARGS_CRC, &f->args_crc}};
    marey_status status = MAREY_OK;
    MAREY_TRY(LOAD_ITEMS(f, blocks, &f->n_blocks, d));
    MAREY_TRY(LOAD_ITEMS(f, groups, &f->n_groups, d));
    MAREY_TRY(LOAD_ITEMS(f, tiles, &f->n_tiles, d));
    MAREY_TRY(LOAD_ITEMS(f, sparse, &f->n_sparse, d));
    MAREY_TRY(LOAD_ITEMS(f, longs, &f->n_long, d));
    MAREY_TRY(LOAD_ITEMS(f, args, &f->n_args_chunks, d));
fail:
    return status;
}

/* ------------------------------------------------------------------ checks */

static marey_status check_group(const store_file *f, size_t i, diag *d)
{
    const group_columns *g = &f->groups;
    if (g->kind[i] > GROUP_PHASES || g->n_ranks[i] > GROUP_RANKS || g->first_rank[i] > f->model.n_ranks ||
        g->n_ranks[i] > f->model.n_ranks - g->first_rank[i]) {
        return damaged(f, d, S_GROUP_KIND, "or the ranks of a group are out of range");
    }
    if (g->first_block[i] > f->n_blocks || g->n_blocks[i] > f->n_blocks - g->first_block[i]) {
        return damaged(f, d, S_GROUP_FIRST_BLOCK, "is out of range");
    }
    for (unsigned r = 0; r < LOD_R; r++) {
        int64_t bin = g->bin0[i * LOD_R + r];
        if (bin <= 0 || (bin & (bin - 1)) != 0 || bin > (int64_t)1 << 40 ||
            g->n_levels[i * LOD_R + r] > LOD_MAX_LEVELS) {
            return damaged(f, d, S_GROUP_BIN0, "or the levels of a group are out of range");
        }
    }
    return MAREY_OK;
}

/* The blocks of a group: its own, each once, in the order of time. */
static marey_status check_group_blocks(store_file *f, size_t i, uint8_t *is_seen, diag *d)
{
    const group_columns *g = &f->groups;
    int64_t t0 = 0;
    for (uint32_t k = 0; k < g->n_blocks[i]; k++) {
        uint32_t b = g->blocks[g->first_block[i] + k];
        if (b >= f->n_blocks || f->blocks.group[b] != i || is_seen[b]) {
            return damaged(f, d, S_GROUP_BLOCKS, "lists a block that is not the group's");
        }
        if (f->blocks.t0[b] < t0 || f->blocks.t1[b] <= f->blocks.t0[b] || (k > 0 && f->blocks.t1[b] < t0)) {
            return damaged(f, d, S_BLOCK_T0, "is not in the order of time");
        }
        is_seen[b] = 1;
        t0 = f->blocks.t0[b];
        f->places[b].index = k;
    }
    return MAREY_OK;
}

static marey_status check_block(const store_file *f, size_t i, uint64_t n_track_rows, diag *d)
{
    const block_columns *b = &f->blocks;
    if (b->n[i] == 0 || b->n[i] > BLOCK_EVENTS || b->group[i] >= f->n_groups) {
        return damaged(f, d, S_BLOCK_N, "or the group of a block is out of range");
    }
    if (b->track_first[i] > n_track_rows || b->n_tracks[i] > n_track_rows - b->track_first[i]) {
        return damaged(f, d, S_BLOCK_TRACK_FIRST, "is out of range");
    }
    uint64_t room = b->args_first[i] > f->n_args_chunks ? 0 : (f->n_args_chunks - b->args_first[i]) * ARGS_CHUNK;
    if (b->args_bytes[i] > room) {
        return damaged(f, d, S_BLOCK_ARGS_BYTES, "is out of range");
    }
    return MAREY_OK;
}

static int compare_tile(const store_file *f, size_t i, const tile_key *k)
{
    const tile_columns *t = &f->tiles;
#define ORDER(a, b)                                                                                                    \
    if ((a) != (b)) {                                                                                                  \
        return (a) < (b) ? -1 : 1;                                                                                     \
    }
    ORDER(t->r[i], k->r)
    ORDER(t->level[i], k->level)
    ORDER(t->group[i], k->group)
    ORDER(t->row_block[i], k->row_block)
    ORDER(t->col[i], k->col)
    return 0;
}

/* The last sparse run that begins at or before the key. */
static int compare_sparse(const store_file *f, size_t i, const tile_key *k)
{
    const sparse_columns *s = &f->sparse;
    ORDER(s->r[i], k->r)
    ORDER(s->level[i], k->level)
    ORDER(s->group[i], k->group)
    ORDER(s->row_block[i], k->row_block)
    ORDER(s->col[i], k->col)
    return 0;
}

static bool key_is_real(const store_file *f, uint8_t r, uint8_t level, uint32_t group)
{
    return r < LOD_R && group < f->n_groups && level < f->groups.n_levels[(size_t)group * LOD_R + r];
}

static marey_status check_tiles(store_file *f, diag *d)
{
    uint64_t n_cells[LOD_R];
    for (unsigned r = 0; r < LOD_R; r++) {
        marey_status status = in_rows(f, (schema_id)(S_CELLS_TRACK + r), &n_cells[r], d);
        if (status != MAREY_OK) {
            return status;
        }
    }
    for (size_t i = 0; i < f->n_tiles; i++) {
        tile_key next = store_tile_key(f, (uint32_t)i);
        bool ok = key_is_real(f, next.r, next.level, next.group) && f->tiles.index[i] < n_cells[next.r];
        if (!ok || (i > 0 && compare_tile(f, i - 1, &next) >= 0)) {
            return damaged(f, d, S_TILE_R, "and its neighbours are out of range or order");
        }
    }
    const sparse_columns *s = &f->sparse;
    for (size_t i = 0; i < f->n_sparse; i++) {
        tile_key next = {s->r[i], s->level[i], s->group[i], s->row_block[i], s->col[i]};
        if (!key_is_real(f, next.r, next.level, next.group) || (i > 0 && compare_sparse(f, i - 1, &next) >= 0)) {
            return damaged(f, d, S_SPARSE_R, "and its neighbours are out of range or order");
        }
    }
    return MAREY_OK;
}

static marey_status check_columns(store_file *f, diag *d)
{
    for (unsigned c = 0; c < N_COLUMNS; c++) {
        uint64_t n = 0;
        marey_status status = in_rows(f, (schema_id)(S_EVENT_START + c), &n, d);
        if (status != MAREY_OK) {
            return status;
        }
        if (n / BLOCK_EVENTS < f->n_blocks) {
            return damaged(f, d, (schema_id)(S_EVENT_START + c), "has too few rows");
        }
    }
    for (size_t i = 0; i < f->n_long; i++) {
        if (f->long_dur[i] < 0 || (i > 0 && f->long_row[i - 1] >= f->long_row[i])) {
            return damaged(f, d, S_LONG_ROW, "is out of order");
        }
    }
    return MAREY_OK;
}

static void map_tracks(store_file *f)
{
    const trace_model *m = &f->model;
    f->track_group = mem_alloc((m->n_tracks + 1) * sizeof *f->track_group);
    uint32_t *of_rank = mem_alloc((m->n_ranks + 1) * sizeof *of_rank);
    memset(f->track_group, 0xff, (m->n_tracks + 1) * sizeof *f->track_group);
    for (unsigned kind = GROUP_EVENTS; kind <= GROUP_PHASES; kind++) {
        memset(of_rank, 0xff, (m->n_ranks + 1) * sizeof *of_rank);
        for (size_t g = 0; g < f->n_groups; g++) {
            for (uint32_t k = 0; f->groups.kind[g] == kind && k < f->groups.n_ranks[g]; k++) {
                of_rank[f->groups.first_rank[g] + k] = (uint32_t)g;
            }
        }
        for (size_t t = 0; t < m->n_tracks; t++) {
            const trace_lane *l = &m->lanes[m->tracks[t].lane];
            unsigned lane_kind = l->kind == KIND_STEP    ? GROUP_STEPS
                                 : l->kind == KIND_PHASE ? GROUP_PHASES
                                                         : GROUP_EVENTS;
            if (lane_kind == kind) {
                f->track_group[t] = of_rank[l->rank];
            }
        }
    }
    free(of_rank);
}

marey_status reader_load_directory(store_file *f, diag *d)
{
    marey_status status = load_columns(f, d);
    if (status != MAREY_OK) {
        return status;
    }
    uint64_t n_track_rows = 0;
    uint64_t n_carry_rows = 0;
    uint8_t *is_seen = mem_calloc(f->n_blocks + 1, 1);
    f->places = mem_calloc(f->n_blocks + 1, sizeof *f->places);
    f->directory = mem_calloc(f->n_groups + 1, sizeof *f->directory);
    MAREY_TRY(in_rows(f, S_TRACKS_TRACK, &n_track_rows, d));
    MAREY_TRY(in_rows(f, S_CARRY_ROW, &n_carry_rows, d));
    for (size_t i = 0; i < f->n_blocks; i++) {
        MAREY_TRY(check_block(f, i, n_track_rows, d));
    }
    for (size_t i = 0; i < f->n_groups; i++) {
        MAREY_TRY(check_group(f, i, d));
        MAREY_TRY(check_group_blocks(f, i, is_seen, d));
        if (f->groups.first_carry[i] > n_carry_rows || f->groups.n_carry[i] > n_carry_rows - f->groups.first_carry[i]) {
            MAREY_TRY(damaged(f, d, S_GROUP_FIRST_CARRY, "is out of range"));
        }
    }
    if (f->n_blocks > 0 && memchr(is_seen, 0, f->n_blocks)) {
        MAREY_TRY(damaged(f, d, S_GROUP_BLOCKS, "does not list every block"));
    }
    MAREY_TRY(check_columns(f, d));
    MAREY_TRY(check_tiles(f, d));
    map_tracks(f);
fail:
    free(is_seen);
    return status;
}

/* ------------------------------------------------------------------ one group */

static void directory_free(group_directory *g)
{
    if (g) {
        free(g->tracks);
        free(g->offsets);
        free(g->carry);
        free(g->carry_from);
        free(g->carry_to);
        free(g);
    }
}

/* Tracks of all blocks of the group, which lie together; offsets from counts. */
static marey_status load_tracks(store_file *f, uint32_t group, group_directory *g, diag *d)
{
    const uint32_t *ids = f->groups.blocks + f->groups.first_block[group];
    uint32_t n_blocks = f->groups.n_blocks[group];
    if (n_blocks == 0) {
        return MAREY_OK;
    }
    uint64_t first = f->blocks.track_first[ids[0]];
    uint64_t n = 0;
    for (uint32_t k = 0; k < n_blocks; k++) {
        if (f->blocks.track_first[ids[k]] != first + n) {
            return damaged(f, d, S_BLOCK_TRACK_FIRST, "does not list the blocks of a group together");
        }
        n += f->blocks.n_tracks[ids[k]];
    }
    uint32_t *counts = in_alloc(f, S_TRACKS_N, n);
    g->tracks = in_alloc(f, S_TRACKS_TRACK, n);
    g->offsets = in_alloc(f, S_TRACKS_N, n + n_blocks);
    marey_status status = MAREY_FORMAT;
    if (!counts || !g->tracks || !g->offsets) {
        status = damaged(f, d, S_TRACKS_N, "is larger than the file can hold");
        goto fail;
    }
    MAREY_TRY(in_read(f, S_TRACKS_TRACK, first, n, g->tracks, d));
    MAREY_TRY(in_read(f, S_TRACKS_N, first, n, counts, d));
    uint64_t at = 0;
    for (uint32_t k = 0; k < n_blocks; k++) {
        uint32_t b = ids[k];
        uint32_t sum = 0;
        bool ok = true;
        f->places[b].first_track = at;
        for (uint32_t i = 0; i < f->blocks.n_tracks[b]; i++, at++) {
            ok = ok && counts[at] <= BLOCK_EVENTS - sum && g->tracks[at] < f->model.n_tracks &&
                 (i == 0 || g->tracks[at - 1] < g->tracks[at]);
            g->offsets[at + k] = sum;
            sum += ok ? counts[at] : 0;
        }
        g->offsets[at + k] = sum;
        if (!ok || sum != f->blocks.n[b]) {
            status = damaged(f, d, S_TRACKS_N, "does not fit the blocks");
            goto fail;
        }
    }
fail:
    free(counts);
    return status;
}

#define CARRY_READ(id, type, field)                                                                                    \
    do {                                                                                                               \
        type *column_ = buffer;                                                                                        \
        MAREY_TRY(in_read(f, id, first, n, column_, d));                                                               \
        for (size_t i_ = 0; i_ < n; i_++) {                                                                            \
            carry[i_].field = column_[i_];                                                                             \
        }                                                                                                              \
    } while (0)

static marey_status read_carries(store_file *f, uint32_t group, store_carry *carry, size_t n, void *buffer, diag *d)
{
    uint64_t first = f->groups.first_carry[group];
    marey_status status = MAREY_OK;
    CARRY_READ(S_CARRY_ROW, uint64_t, row);
    CARRY_READ(S_CARRY_TRACK, uint32_t, track);
    CARRY_READ(S_CARRY_NAME, uint32_t, name);
    CARRY_READ(S_CARRY_START, int64_t, start_ns);
    CARRY_READ(S_CARRY_DUR, int64_t, dur_ns);
    CARRY_READ(S_CARRY_INSTANCE, uint32_t, instance);
    CARRY_READ(S_CARRY_CLASS, uint8_t, klass);
    CARRY_READ(S_CARRY_FLAGS, uint8_t, flags);
fail:
    return status;
}

static bool carry_is_real(const store_file *f, const store_carry *c)
{
    return c->track < f->model.n_tracks && c->name < f->model.n_names && c->klass < CLASS_COUNT && c->start_ns >= 0 &&
           c->dur_ns >= 0 && c->dur_ns <= INT64_MAX - c->start_ns && c->row / BLOCK_EVENTS < f->n_blocks &&
           c->row % BLOCK_EVENTS < f->blocks.n[c->row / BLOCK_EVENTS];
}

static marey_status load_carries(store_file *f, uint32_t group, group_directory *g, diag *d)
{
    size_t n = f->groups.n_carry[group];
    uint32_t n_blocks = f->groups.n_blocks[group];
    const uint32_t *ids = f->groups.blocks + f->groups.first_block[group];
    void *buffer = in_alloc(f, S_CARRY_ROW, n);
    int64_t *change = mem_calloc((size_t)n_blocks + 1, sizeof *change);
    marey_status status = MAREY_FORMAT;
    g->carry = buffer ? mem_try_realloc_array(NULL, n + 1, sizeof *g->carry) : NULL;
    g->carry_from = in_alloc(f, S_CARRY_FROM, n);
    g->carry_to = in_alloc(f, S_CARRY_TO, n);
    if (!buffer || !g->carry || !g->carry_from || !g->carry_to) {
        status = damaged(f, d, S_CARRY_ROW, "is larger than the file can hold");
        goto fail;
    }
    g->n_carry = (uint32_t)n;
    MAREY_TRY(read_carries(f, group, g->carry, n, buffer, d));
    MAREY_TRY(in_read(f, S_CARRY_FROM, f->groups.first_carry[group], n, g->carry_from, d));
    MAREY_TRY(in_read(f, S_CARRY_TO, f->groups.first_carry[group], n, g->carry_to, d));
    for (size_t i = 0; i < n; i++) {
        if (!carry_is_real(f, &g->carry[i]) || g->carry_from[i] > g->carry_to[i] || g->carry_to[i] >= n_blocks) {
            status = damaged(f, d, S_CARRY_ROW, "and its neighbours are out of range");
            goto fail;
        }
        change[g->carry_from[i]]++;
        change[g->carry_to[i] + 1]--;
    }
    int64_t running = 0;
    for (uint32_t k = 0; k < n_blocks; k++) {
        running += change[k];
        f->places[ids[k]].n_carry = (uint32_t)running;
    }
fail:
    free(buffer);
    free(change);
    return status;
}

marey_status store_group_load(store_file *f, uint32_t group, diag *d)
{
    if (group >= f->n_groups) {
        return diag_error(d, MAREY_RANGE, f->path, DIAG_NO_OFFSET, "there is no group %u", group);
    }
    if (atomic_load_explicit(&f->directory[group], memory_order_acquire)) {
        return MAREY_OK;
    }
    (void)pthread_mutex_lock(&f->making);
    marey_status status = MAREY_OK;
    if (!atomic_load_explicit(&f->directory[group], memory_order_acquire)) {
        group_directory *g = mem_calloc(1, sizeof *g);
        status = load_tracks(f, group, g, d);
        status = status == MAREY_OK ? load_carries(f, group, g, d) : status;
        if (status == MAREY_OK) {
            atomic_store_explicit(&f->directory[group], g, memory_order_release);
        } else {
            directory_free(g);
        }
    }
    (void)pthread_mutex_unlock(&f->making);
    return status;
}

void reader_free_directory(store_file *f)
{
    for (size_t i = 0; f->places && i < f->n_blocks; i++) {
        free(atomic_load(&f->places[i].carry));
    }
    for (size_t i = 0; f->directory && i < f->n_groups; i++) {
        directory_free(atomic_load(&f->directory[i]));
    }
    void *all[] = {f->blocks.group,
                   f->blocks.n,
                   f->blocks.t0,
                   f->blocks.t1,
                   f->blocks.track_first,
                   f->blocks.n_tracks,
                   f->blocks.args_first,
                   f->blocks.args_bytes,
                   f->blocks.addr,
                   f->blocks.size,
                   f->blocks.crc,
                   f->groups.kind,
                   f->groups.first_rank,
                   f->groups.n_ranks,
                   f->groups.n_blocks,
                   f->groups.n_carry,
                   f->groups.first_block,
                   f->groups.first_carry,
                   f->groups.bin0,
                   f->groups.n_levels,
                   f->groups.n_rows,
                   f->groups.blocks,
                   f->tiles.r,
                   f->tiles.level,
                   f->tiles.group,
                   f->tiles.row_block,
                   f->tiles.col,
                   f->tiles.index,
                   f->tiles.n,
                   f->tiles.addr,
                   f->tiles.size,
                   f->tiles.crc,
                   f->sparse.r,
                   f->sparse.level,
                   f->sparse.group,
                   f->sparse.row_block,
                   f->sparse.col,
                   f->sparse.n_cols,
                   f->sparse.n,
                   f->long_row,
                   f->long_dur,
                   f->args_addr,
                   f->args_size,
                   f->args_crc,
                   f->places,
                   (void *)(uintptr_t)f->directory,
                   f->track_group};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        free(all[i]);
    }
}

/* ------------------------------------------------------------------ what others ask */

size_t store_n_groups(const store_file *f)
{
    return f->n_groups;
}

store_group_info store_group_at(const store_file *f, uint32_t group)
{
    store_group_info g = {0};
    if (group < f->n_groups) {
        g.kind = (group_kind)f->groups.kind[group];
        g.first_rank = f->groups.first_rank[group];
        g.n_ranks = f->groups.n_ranks[group];
        g.n_blocks = f->groups.n_blocks[group];
        g.blocks = f->groups.blocks + f->groups.first_block[group];
        memcpy(g.bin0_ns, f->groups.bin0 + (size_t)group * LOD_R, sizeof g.bin0_ns);
        memcpy(g.n_levels, f->groups.n_levels + (size_t)group * LOD_R, sizeof g.n_levels);
        memcpy(g.n_rows, f->groups.n_rows + (size_t)group * LOD_R, sizeof g.n_rows);
    }
    return g;
}

size_t store_n_blocks(const store_file *f)
{
    return f->n_blocks;
}

static int compare_carry(const void *a, const void *b)
{
    uint32_t x = ((const store_carry *)a)->track;
    uint32_t y = ((const store_carry *)b)->track;
    return x < y ? -1 : x > y;
}

/* The carry list of one block, made at its first use. */
static const store_carry *carry_of(store_file *f, uint32_t block, const group_directory *g)
{
    block_place *p = &f->places[block];
    store_carry *list = atomic_load_explicit(&p->carry, memory_order_acquire);
    if (list || p->n_carry == 0) {
        return list;
    }
    store_carry *made = mem_alloc(p->n_carry * sizeof *made);
    uint32_t n = 0;
    for (uint32_t i = 0; i < g->n_carry && n < p->n_carry; i++) {
        if (g->carry_from[i] <= p->index && p->index <= g->carry_to[i]) {
            made[n++] = g->carry[i];
        }
    }
    qsort(made, n, sizeof *made, compare_carry);
    if (!atomic_compare_exchange_strong(&p->carry, &list, made)) {
        free(made);
        return list;
    }
    return made;
}

store_block_info store_block_head(const store_file *f, uint32_t block)
{
    store_block_info b = {0};
    if (block < f->n_blocks) {
        b.group = f->blocks.group[block];
        b.n = f->blocks.n[block];
        b.t0_ns = f->blocks.t0[block];
        b.t1_ns = f->blocks.t1[block];
        b.first_row = (uint64_t)block * BLOCK_EVENTS;
    }
    return b;
}

store_block_info store_block(store_file *f, uint32_t block)
{
    store_block_info b = store_block_head(f, block);
    if (block >= f->n_blocks) {
        return b;
    }
    if (store_group_load(f, b.group, NULL) != MAREY_OK) {
        b.is_damaged = true;
        return b;
    }
    const group_directory *g = atomic_load_explicit(&f->directory[b.group], memory_order_acquire);
    const block_place *p = &f->places[block];
    b.n_tracks = f->blocks.n_tracks[block];
    b.tracks = g->tracks + p->first_track;
    b.offsets = g->offsets + p->first_track + p->index;
    b.n_carry = p->n_carry;
    b.carry = carry_of(f, block, g);
    return b;
}

void store_blocks_in(const store_file *f, uint32_t group, int64_t t0_ns, int64_t t1_ns, uint32_t *first, uint32_t *n)
{
    *first = 0;
    *n = 0;
    if (group >= f->n_groups || t1_ns <= t0_ns) {
        return;
    }
    const uint32_t *ids = f->groups.blocks + f->groups.first_block[group];
    uint32_t count = f->groups.n_blocks[group];
    uint32_t lo = 0;
    uint32_t hi = count;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (f->blocks.t1[ids[mid]] <= t0_ns) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    uint32_t end = lo;
    hi = count;
    while (end < hi) {
        uint32_t mid = end + (hi - end) / 2;
        if (f->blocks.t0[ids[mid]] < t1_ns) {
            end = mid + 1;
        } else {
            hi = mid;
        }
    }
    *first = lo;
    *n = end - lo;
}

uint32_t store_track_group(const store_file *f, uint32_t track)
{
    return track < f->model.n_tracks ? f->track_group[track] : NO_ID;
}

/* ------------------------------------------------------------------ tiles */

size_t store_n_tiles(const store_file *f)
{
    return f->n_tiles;
}

tile_key store_tile_key(const store_file *f, uint32_t tile)
{
    const tile_columns *t = &f->tiles;
    return (tile_key){t->r[tile], t->level[tile], t->group[tile], t->row_block[tile], t->col[tile]};
}

tile_state store_tile_find(const store_file *f, const tile_key *key, uint32_t *tile)
{
    size_t lo = 0;
    size_t hi = f->n_tiles;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        int c = compare_tile(f, mid, key);
        if (c == 0) {
            *tile = (uint32_t)mid;
            return TILE_STORED;
        }
        if (c < 0) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    lo = 0;
    hi = f->n_sparse;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (compare_sparse(f, mid, key) <= 0) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    const sparse_columns *s = &f->sparse;
    size_t i = lo - 1;
    bool is_in = lo > 0 && s->r[i] == key->r && s->level[i] == key->level && s->group[i] == key->group &&
                 s->row_block[i] == key->row_block && key->col - s->col[i] < s->n_cols[i];
    return is_in ? TILE_SPARSE : TILE_EMPTY;
}
