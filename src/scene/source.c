/*
 * What each row is drawn from: events where there are few enough of them or no level is fine enough, else the coarsest
 * level of tiles whose bins are not wider than a column. What is absent from the cache is asked for; what a row shows
 * meanwhile is looked up level by level.
 */
#include <string.h>

#include "scene/reduce.h"

enum { BLOCK_BUDGET = 48, FORCED_BLOCKS = 220 };

/* The widest bin, in columns: fine bins while they are cheap, up to the study's 1.42 for a thousand rows. */
static double strictness_for(double cells)
{
    if (cells <= 80000) {
        return 0.25;
    }
    return cells <= 700000 ? 1.0 : 1.42;
}

/* ------------------------------------------------------------------ blocks */

block_span *span_of_blocks(scene *s, const uint32_t *ids, uint32_t n)
{
    block_span *span = arena_alloc(&s->scratch, sizeof *span);
    memset(span, 0, sizeof *span);
    span->blocks = arena_alloc(&s->scratch, (size_t)n * sizeof *span->blocks + 1);
    for (uint32_t i = 0; i < n; i++) {
        span_block *b = &span->blocks[i];
        const cache_block *ready = cache_get_block(s->cache, ids[i], 0);
        bool is_loading = !ready && !cache_failed(s->cache, false, ids[i]);
        b->info =
            is_loading ? store_block_head(s->file, ids[i]) : store_block(s->file, ids[i]); /* no wait for a disk */
        b->columns = ready ? ready->columns : NULL;
        span->n_missing += is_loading;
        s->src.n_wanted += is_loading;
    }
    span->n = n;
    if (n > 0) {
        span->carry = span->blocks[0].info.carry;
        span->n_carry = span->blocks[0].info.n_carry;
    }
    return span;
}

block_span *span_between(scene *s, uint32_t group, event_window w)
{
    uint32_t first = 0;
    uint32_t n = 0;
    store_blocks_in(s->file, group, w.floor_ns, w.end_ns, &first, &n);
    store_group_info info = store_group_at(s->file, group);
    return span_of_blocks(s, info.blocks + first, first + n <= info.n_blocks ? n : 0);
}

/* All groups' rows share the blocks of the window. */
block_span *span_of(scene *s, uint32_t group)
{
    if (group >= s->src.n_groups) {
        return NULL;
    }
    if (!s->src.spans[group]) {
        s->src.spans[group] = span_between(s, group, window_of_grid(&s->src.grid));
    }
    return s->src.spans[group];
}

/* ------------------------------------------------------------------ tiles */

static uint16_t weight_of(double part)
{
    return (uint16_t)(part * 256 + 0.5);
}

/* At most, when a bin is busy to 255 of 255. */
static double idle_of(double bin)
{
    return bin * (0.51 / 255) + 1;
}

/* Lengths are counted from where the window begins. Does a column hold the whole of its first and last bin? Bins that
 * end where it does: see EDGE_... */
static void fill_map(const time_grid *g, bin_map *m)
{
    double bin = (double)m->bin_ns;
    bin_edge from = {0, m->begin_ns == 0};
    for (uint32_t i = 0; i < g->n; i++) {
        bin_edge to = bin_of_edge(g, (int64_t)i + 1, m->bin_ns, m->first_bin);
        int64_t first = from.bin;
        int64_t last = to.bin - to.is_exact > first ? to.bin - to.is_exact : first;
        double low = time_edge(g, i);
        double high = time_edge(g, (int64_t)i + 1);
        double first_end = fmin(m->begin_ns + (double)(first + 1) * bin, high);
        double last_begin = fmax(m->begin_ns + (double)last * bin, low);
        bin_range *b = &m->ranges[i];
        b->first = (uint32_t)first;
        b->more = (uint16_t)(last - first < UINT16_MAX ? last - first : UINT16_MAX);
        b->first_weight = weight_of((first_end - low) * g->inverse);
        b->last_weight = first < last ? weight_of((high - last_begin) * g->inverse) : 0;
        b->edges = (uint16_t)((from.is_exact && to.bin > first ? EDGE_FIRST_INSIDE : 0) |
                              (first_end - low > idle_of(bin) ? EDGE_FIRST_LONG : 0) |
                              (to.is_exact && (last > first || from.is_exact) ? EDGE_LAST_INSIDE : 0) |
                              (high - last_begin > idle_of(bin) ? EDGE_LAST_LONG : 0));
        b->only_middle_weight = b->more == 2 ? weight_of(fmin(bin * g->inverse, 1)) : 0;
        from = to;
    }
    m->middle_weight = weight_of(fmin(bin * g->inverse, 1));
}

/* The same for every group with bins of this width. */
static const bin_map *map_for(scene *s, int64_t bin_ns)
{
    frame_sources *f = &s->src;
    for (size_t i = 0; i < f->n_maps; i++) {
        if (f->maps[i].bin_ns == bin_ns) {
            return &f->maps[i];
        }
    }
    MAREY_ASSERT(f->n_maps < f->cap_maps);
    bin_map *m = &f->maps[f->n_maps++];
    m->bin_ns = bin_ns;
    m->first_bin = bin_of_begin(&f->grid, bin_ns);
    m->begin_ns = since_begin(&f->grid, m->first_bin * bin_ns);
    bin_edge end = bin_of_edge(&f->grid, f->grid.n, bin_ns, m->first_bin);
    m->n_bins = (uint32_t)(end.bin - end.is_exact + 2);
    m->ranges = arena_alloc(&s->scratch, (size_t)f->grid.n * sizeof *m->ranges);
    fill_map(&f->grid, m);
    bool few_bins = f->grid.step_ns < 4 * (double)bin_ns; /* else all columns are left to the plain way */
    m->plan = few_bins ? reduce_plan_make(&s->scratch, m->ranges, f->grid.n, m->middle_weight) : NULL;
    return m;
}

/* The coarsest level that is fine enough; -1: none. */
static int level_for(const store_group_info *info, uint8_t r, double widest_ns)
{
    int level = -1;
    for (uint32_t l = 0; l < info->n_levels[r]; l++) {
        if ((double)lod_bin_ns(info->bin0_ns[r], l) <= widest_ns) {
            level = (int)l;
        }
    }
    return level;
}

static void use_tiles(scene *s, group_source *g, const store_group_info *info, uint8_t level)
{
    g->mode = SOURCE_TILES;
    g->level = level;
    int64_t bin = lod_bin_ns(info->bin0_ns[g->r], level);
    g->map = map_for(s, bin);
    int64_t width = (int64_t)TILE_BINS[g->r];
    int64_t first = g->map->first_bin < 0 ? 0 : g->map->first_bin / width;
    int64_t last_bin = g->map->first_bin + (int64_t)g->map->n_bins - 1;
    int64_t last = last_bin < 0 ? -1 : last_bin / width;
    g->first_col = first;
    g->n_cols = last < first ? 0 : (uint32_t)(last - first + 1);
    g->n_row_blocks = (info->n_rows[g->r] + TILE_ROWS[g->r] - 1) / TILE_ROWS[g->r];
    g->slots = arena_alloc(&s->scratch, (size_t)g->n_cols * g->n_row_blocks * sizeof *g->slots + 1);
    memset(g->slots, 0, (size_t)g->n_cols * g->n_row_blocks * sizeof *g->slots);
}

tile_state find_tile(const scene *s, const tile_key *key, uint32_t *id)
{
    if (s->model->duration_ns > LOD_LONGEST_RUN_NS) {
        int64_t bin = lod_bin_ns(store_group_at(s->file, key->group).bin0_ns[key->r], key->level);
        fine_ns end = (fine_ns)(key->col + 1) * TILE_BINS[key->r] * bin;
        if (end > LOD_LONGEST_RUN_NS) {
            return TILE_SPARSE;
        }
    }
    return store_tile_find(s->file, key, id);
}

/* The coarsest tiles come first: they stand in for all that is finer. */
static void ask_for_base(scene *s, const store_group_info *info, uint32_t group, uint8_t r)
{
    uint32_t row_blocks = (info->n_rows[r] + TILE_ROWS[r] - 1) / TILE_ROWS[r];
    if (info->n_levels[r] == 0 || row_blocks > 4) {
        return;
    }
    for (uint32_t block = 0; block < row_blocks; block++) {
        tile_key key = {.r = r, .level = (uint8_t)(info->n_levels[r] - 1), .group = group, .row_block = block};
        uint32_t id = 0;
        if (find_tile(s, &key, &id) == TILE_STORED) {
            (void)cache_get_tile(s->cache, id, 0);
        }
    }
}

group_source *source_of(scene *s, uint32_t group, uint8_t r)
{
    if (group >= s->src.n_groups) {
        return NULL;
    }
    group_source *g = &s->src.groups[(size_t)group * LOD_R + r];
    if (g->made) {
        return g;
    }
    *g = (group_source){.made = true, .r = r, .group = group};
    store_group_info info = store_group_at(s->file, group);
    ask_for_base(s, &info, group, r);
    int level = level_for(&info, r, s->src.grid.step_ns * s->src.strictness);
    if (level < 0 && s->src.strictness < 1.42) {
        level = level_for(&info, r, s->src.grid.step_ns * fmax(1, s->src.strictness));
    }
    if (level < 0 && info.n_levels[r] > 0) {
        uint32_t first = 0;
        uint32_t n = 0;
        event_window w = window_of_grid(&s->src.grid);
        store_blocks_in(s->file, group, w.floor_ns, w.end_ns, &first, &n);
        level = (size_t)n * s->src.n_groups > FORCED_BLOCKS ? 0 : -1; /* more than the cache could hold */
    }
    if (level >= 0 && !s->src.events) {
        use_tiles(s, g, &info, (uint8_t)level);
    } else {
        g->mode = SOURCE_EVENTS;
        g->span = span_of(s, group);
    }
    return g;
}

group_source *coarse_source_of(scene *s, uint32_t group, uint8_t r)
{
    frame_sources *f = &s->src;
    if (group >= f->n_groups) {
        return NULL;
    }
    store_group_info info = store_group_at(s->file, group);
    bool is_finer = info.n_levels[r] > 0 && 2 * (double)lod_bin_ns(info.bin0_ns[r], 0) < f->grid.step_ns;
    if (info.n_levels[r] == 0 || is_finer) {
        return NULL; /* a coarser level would do, but then events are few, too */
    }
    if (!f->coarse) {
        f->coarse = arena_alloc(&s->scratch, f->n_groups * LOD_R * sizeof *f->coarse);
        memset(f->coarse, 0, f->n_groups * LOD_R * sizeof *f->coarse);
    }
    group_source *g = &f->coarse[(size_t)group * LOD_R + r];
    if (!g->made) {
        *g = (group_source){.made = true, .r = r, .group = group};
        use_tiles(s, g, &info, 0);
    }
    return g;
}

/* Levels nest: one tile of a coarser level covers all of a finer one. */
static void find_standin(scene *s, const tile_key *key, tile_slot *slot)
{
    store_group_info info = store_group_at(s->file, key->group);
    tile_key up = *key;
    while (up.level + 1U < info.n_levels[key->r]) {
        up.level++;
        up.col >>= LOD_FACTOR_BITS;
        uint32_t id = 0;
        if (find_tile(s, &up, &id) != TILE_STORED) {
            continue;
        }
        bool top = up.level + 1U == info.n_levels[key->r];
        const cache_tile *tile = top ? cache_get_tile(s->cache, id, 0) : cache_peek_tile(s->cache, id);
        if (tile) {
            slot->standin = tile;
            slot->standin_bin_ns = lod_bin_ns(info.bin0_ns[key->r], up.level);
            return;
        }
    }
}

static void fill_slot(scene *s, const tile_key *key, tile_slot *slot)
{
    uint32_t id = 0;
    tile_state stored = find_tile(s, key, &id);
    slot->state = SLOT_MISSING;
    if (stored == TILE_EMPTY) {
        slot->state = SLOT_EMPTY;
        return;
    }
    const cache_tile *tile = stored == TILE_STORED ? cache_get_tile(s->cache, id, 0) : NULL;
    if (tile) {
        slot->state = SLOT_READY;
        slot->cells = tile->cells;
        slot->planes = tile->planes;
        slot->least = tile->planes + (size_t)PLANE_LEAST * TILE_CELLS;
        return;
    }
    if (stored == TILE_STORED && !cache_failed(s->cache, true, id)) {
        s->src.n_wanted++;
        find_standin(s, key, slot);
        return;
    }
    const made_tile *made = made_tile_for(s, key); /* not stored, or damaged: the events still say it */
    slot->cells = made->cells;
    slot->classes = made->classes;
    slot->least = made->least;
    slot->state = made->cells ? SLOT_READY : SLOT_MISSING;
    if (!made->cells) {
        find_standin(s, key, slot);
    }
}

tile_slot *slot_of(scene *s, group_source *g, uint32_t row_block, uint32_t col)
{
    tile_slot *slot = &g->slots[(size_t)row_block * g->n_cols + col];
    if (slot->state == SLOT_UNKNOWN) {
        tile_key key = {.r = g->r, .level = g->level, .group = g->group, .row_block = row_block};
        key.col = (uint64_t)(g->first_col + col);
        fill_slot(s, &key, slot);
    }
    return slot;
}

const cache_tile *standin_tile(scene *s, const group_source *g, uint32_t row_block, int64_t t_ns, uint8_t *level,
                               bool *empty)
{
    store_group_info info = store_group_at(s->file, g->group);
    uint32_t first = g->mode == SOURCE_TILES ? g->level + 1U : 0;
    *empty = false;
    for (uint32_t l = first; l < info.n_levels[g->r] && t_ns >= 0; l++) {
        int64_t span = 0;
        tile_key key = {.r = g->r, .level = (uint8_t)l, .group = g->group, .row_block = row_block};
        if (__builtin_mul_overflow(lod_bin_ns(info.bin0_ns[g->r], l), (int64_t)TILE_BINS[g->r], &span)) {
            span = INT64_MAX;
        }
        key.col = (uint64_t)(t_ns / span);
        uint32_t id = 0;
        tile_state stored = find_tile(s, &key, &id);
        if (stored == TILE_EMPTY) {
            *empty = true;
            return NULL;
        }
        bool top = l + 1 == info.n_levels[g->r];
        const cache_tile *tile = NULL;
        if (stored == TILE_STORED) {
            tile = top ? cache_get_tile(s->cache, id, 0) : cache_peek_tile(s->cache, id);
        }
        if (tile) {
            *level = (uint8_t)l;
            return tile;
        }
    }
    return NULL;
}

/* ------------------------------------------------------------------ the frame's choice */

static uint32_t visible_rank_rows(const scene *s)
{
    return (uint32_t)(s->end_visible - s->first_visible);
}

/* Store groups whose rows are on screen, as marks in `seen`. */
static void mark_groups(scene *s, uint8_t *seen)
{
    for (size_t i = s->first_visible; i < s->end_visible; i++) {
        const scene_row *row = &s->tree.rows[i];
        if (row->kind == ROW_GROUP) {
            const rank_group *g = &s->tree.groups[row->id];
            for (uint32_t k = 0; k < g->n; k++) {
                uint32_t group = s->rank_events_group[s->tree.group_ranks[g->first + k]];
                if (group != NO_ID) {
                    seen[group] = 1;
                }
            }
        } else if (row->kind != ROW_COUNTER && s->rank_events_group[row->rank] != NO_ID) {
            seen[s->rank_events_group[row->rank]] = 1;
        }
    }
}

static bool few_events(scene *s)
{
    size_t n = s->src.n_groups;
    uint8_t *seen = arena_alloc(&s->scratch, n + 1);
    memset(seen, 0, n + 1);
    mark_groups(s, seen);
    double events = 0;
    size_t blocks = 0;
    event_window w = window_of_grid(&s->src.grid);
    for (uint32_t g = 0; g < n; g++) {
        uint32_t first = 0;
        uint32_t count = 0;
        if (!seen[g]) {
            continue;
        }
        store_blocks_in(s->file, g, w.floor_ns, w.end_ns, &first, &count);
        store_group_info info = store_group_at(s->file, g);
        for (uint32_t i = 0; i < count; i++) {
            events += store_block_head(s->file, info.blocks[first + i]).n;
        }
        blocks += count;
        if (events > s->event_budget || blocks > BLOCK_BUDGET) {
            return false;
        }
    }
    return true;
}

void sources_begin(scene *s)
{
    frame_sources *f = &s->src;
    uint32_t w = (uint32_t)fmax(1, (double)s->m.plot.w);
    f->grid = grid_make(s->v.t0, s->v.t1, w);
    f->n_wanted = 0;
    f->n_groups = store_n_groups(s->file);
    f->groups = arena_alloc(&s->scratch, f->n_groups * LOD_R * sizeof *f->groups + 1);
    memset(f->groups, 0, f->n_groups * LOD_R * sizeof *f->groups);
    f->coarse = NULL;
    f->spans = arena_alloc(&s->scratch, f->n_groups * sizeof *f->spans + 1);
    memset((void *)f->spans, 0, f->n_groups * sizeof *f->spans);
    f->cap_maps = (size_t)LOD_R * LOD_MAX_LEVELS * 4;
    f->maps = arena_alloc(&s->scratch, f->cap_maps * sizeof *f->maps);
    f->n_maps = 0;
    f->strictness = strictness_for((double)visible_rank_rows(s) * w);
    f->events = few_events(s);
}

/* What the plot was drawn from, for the status line. */
void source_describe(scene *s)
{
    char text[sizeof s->source_text];
    const group_source *best = NULL;
    for (size_t i = 0; i < s->src.n_groups * LOD_R; i++) {
        const group_source *g = &s->src.groups[i];
        if (g->made && g->mode != SOURCE_NONE && (!best || g->mode > best->mode)) {
            best = g;
        }
    }
    if (!best) {
        s->frame.source = s->source_text[0] ? s->source_text : "events";
        return;
    }
    if (best->mode == SOURCE_TILES && best->map) {
        double bin = (double)best->map->bin_ns;
        char bins[32];
        time_label(bin, pow(10, floor(log10(bin)) - 2), bins, sizeof bins); /* three digits */
        (void)snprintf(text, sizeof text, "bins of %s", bins);
    } else {
        (void)snprintf(text, sizeof text, "events");
    }
    (void)snprintf(s->source_text, sizeof s->source_text, "%s", text);
    s->frame.source = s->source_text;
}
