/*
 * Coverage and class, exactly, of rows from tiles (docs/truth.md, 1 and 3). A bin that lies across a column's edge inks
 * both columns, though its events may lie on one side only; and where classes are close, its share does not tell which
 * of them has most of the column's time (classes.c). Once the view rests, such columns are looked up in the events: one
 * that no event meets is emptied, another gets its class.
 *
 * What that reads is bounded: the blocks of such columns, all rows together, for
 * each of the two questions up to scene.refine_blocks; a view that would take more stays as the tiles have it, and the
 * status line says so. In a window a frame takes a few of them; a
 * picture is not complete before all are settled. Each column's answer is final, so that the order does not matter.
 */
#include <string.h>

#include "scene/internal.h"

enum { BLOCKS_A_FRAME = 32, ASKED_A_PICTURE = 256 };

/* Which columns of a store group are in doubt, in any of its rows: a bit per kind of doubt. */
typedef struct doubt {
    uint8_t *columns; /* [grid.n]; NULL: none */
} doubt;

typedef struct refinement {
    scene *s;
    doubt *groups;        /* [n_groups] */
    row_raster **rasters; /* those with columns in doubt */
    size_t n_rasters;
    uint8_t kinds; /* of doubt that are settled */
    size_t budget; /* blocks that this frame may still take */
    bool is_left, has_changed;
    /* of the piece at hand */
    uint32_t group, from, to; /* columns [from, to) */
    const block_span *span;
    bool *changed; /* [n_rasters] */
} refinement;

static bool has_doubts(const row_raster *r)
{
    return r->doubts[DOUBT_INK].n > 0 || r->doubts[DOUBT_CLASS].n > 0;
}

static void find_doubts(refinement *k)
{
    scene *s = k->s;
    const raster_store *store = &s->rasters;
    k->groups = arena_alloc(&s->scratch, s->src.n_groups * sizeof *k->groups + 1);
    memset(k->groups, 0, s->src.n_groups * sizeof *k->groups);
    k->rasters = arena_alloc(&s->scratch, store->n * sizeof *k->rasters + 1);
    for (size_t i = 0; i < store->n; i++) {
        row_raster *r = store->items[i];
        if (!has_doubts(r) || !r->complete || r->group >= s->src.n_groups) {
            continue;
        }
        doubt *d = &k->groups[r->group];
        if (!d->columns) {
            d->columns = arena_alloc(&s->scratch, s->src.grid.n);
            memset(d->columns, 0, s->src.grid.n);
        }
        for (int kind = 0; kind < N_DOUBTS; kind++) {
            for (size_t n = 0; n < r->doubts[kind].n; n++) {
                d->columns[r->doubts[kind].items[n]] |= (uint8_t)(1U << kind);
            }
        }
        k->rasters[k->n_rasters++] = r;
    }
}

/* ------------------------------------------------------------------ pieces */

/*
 * The next piece of a group's doubts: from the first column in doubt at or after `from` to the one in which its block
 * ends. @return its blocks; 0: there is none
 */
static uint32_t next_piece(const refinement *k, uint32_t group, uint32_t *from, uint32_t *to)
{
    const scene *s = k->s;
    const time_grid *g = &s->src.grid;
    const uint8_t *columns = k->groups[group].columns;
    while (columns && *from < g->n && !(columns[*from] & k->kinds)) {
        ++*from;
    }
    if (!columns || *from >= g->n) {
        return 0;
    }
    uint32_t first = 0;
    uint32_t n = 0;
    event_window w = window_of_columns(g, *from, (int64_t)*from + 1);
    store_group_info info = store_group_at(s->file, group);
    store_blocks_in(s->file, group, w.floor_ns, w.end_ns, &first, &n);
    *to = *from + 1;
    if (n > 0 && first + n <= info.n_blocks) {
        int64_t end = column_of(g, store_block_head(s->file, info.blocks[first + n - 1]).t1_ns);
        *to = end > (int64_t)*from && end < (int64_t)g->n ? (uint32_t)end : end >= (int64_t)g->n ? g->n : *to;
    }
    return n > 0 ? n : 1;
}

static bool is_too_much(const refinement *k)
{
    size_t most = k->s->refine_blocks;
    size_t blocks = 0;
    for (uint32_t g = 0; g < k->s->src.n_groups && blocks <= most; g++) {
        uint32_t from = 0;
        uint32_t to = 0;
        uint32_t n;
        while (blocks <= most && (n = next_piece(k, g, &from, &to)) > 0) {
            blocks += n;
            from = to;
        }
    }
    return blocks > most;
}

/* ------------------------------------------------------------------ settling */

/* A mark on an emptied column moves to where its event is: beside it. */
static void move_marks(row_raster *r, uint32_t column)
{
    for (size_t i = 0; i < r->n_marks; i++) {
        if (r->marks[i].x != column) {
            continue;
        }
        if (column + 1 < r->n && (r->cells[column + 1].flags & CELL_SEVERE)) {
            r->marks[i].x = column + 1;
        } else if (column > 0 && (r->cells[column - 1].flags & CELL_SEVERE)) {
            r->marks[i].x = column - 1;
        }
    }
}

static const uint32_t *tracks_of(const row_raster *r, arena *scratch)
{
    if (r->tracks) {
        return r->tracks;
    }
    uint32_t *tracks = arena_alloc(scratch, r->n_tracks * sizeof *tracks + 1);
    for (uint32_t i = 0; i < r->n_tracks; i++) {
        tracks[i] = r->first_track + i;
    }
    return tracks;
}

/* @return did the cell change? */
static bool settle_ink(const scene *s, const block_span *span, row_raster *r, uint32_t column, raster_work *w)
{
    const uint32_t *tracks = tracks_of(r, &w->scratch);
    if (column_has_event(&w->scratch, span, tracks, r->n_tracks, &s->src.grid, column)) {
        return false;
    }
    r->cells[column] = (draw_cell){CELL_EMPTY, 0, 0, 255};
    move_marks(r, column);
    return true;
}

static bool settle_class(const scene *s, const block_span *span, row_raster *r, uint32_t column, raster_work *w)
{
    const uint32_t *tracks = tracks_of(r, &w->scratch);
    uint8_t klass = class_of_column(&w->scratch, span, tracks, r->n_tracks, &s->src.grid, column);
    if (klass == CELL_EMPTY || klass == r->cells[column].klass || r->cells[column].klass == CELL_EMPTY) {
        return false; /* whether it is inked is the other question */
    }
    r->cells[column].klass = klass;
    return true;
}

/* Those of one row's columns that lie in the piece. */
static bool settle_list(const refinement *k, row_raster *r, int kind, bool all_here, raster_work *w)
{
    column_list *l = &r->doubts[kind];
    bool changed = false;
    size_t left = 0;
    for (size_t n = 0; n < l->n; n++) {
        uint32_t column = l->items[n];
        if (column < k->from || column >= k->to) {
            l->items[left++] = column;
        } else if (all_here) {
            arena_reset(&w->scratch);
            changed |=
                kind == DOUBT_INK ? settle_ink(k->s, k->span, r, column, w) : settle_class(k->s, k->span, r, column, w);
        }
    }
    l->n = left;
    return changed;
}

/* Any thread. */
static void settle_row(scene *s, void *ctx, size_t i, raster_work *w)
{
    refinement *k = ctx;
    row_raster *r = k->rasters[i];
    bool all_here = true;
    (void)s;
    for (uint32_t b = 0; b < k->span->n; b++) {
        all_here = all_here && k->span->blocks[b].columns; /* a damaged one says nothing */
    }
    for (int kind = 0; kind < N_DOUBTS && r->group == k->group; kind++) {
        if (k->kinds >> kind & 1) {
            k->changed[i] |= settle_list(k, r, kind, all_here, w);
        }
    }
}

/* One piece; false: its blocks are not here yet. */
static bool settle_piece(refinement *k, uint32_t group, uint32_t from, uint32_t to)
{
    enum { LEAST_FOR_THREADS = 32 };
    scene *s = k->s;
    k->group = group;
    k->from = from;
    k->to = to;
    k->span = span_between(s, group, window_of_columns(&s->src.grid, from, to));
    size_t cost = s->in.now_ns == 0 ? k->span->n_missing : k->span->n; /* what is here a picture takes at once */
    k->budget -= cost < k->budget ? cost : k->budget;
    if (k->span->n_missing > 0) {
        return false;
    }
    team_each(s, k->n_rasters, LEAST_FOR_THREADS, settle_row, k);
    return true;
}

static void settle_some(refinement *k)
{
    scene *s = k->s;
    for (uint32_t g = 0; g < s->src.n_groups; g++) {
        uint32_t from = 0;
        uint32_t to = 0;
        while (next_piece(k, g, &from, &to) > 0) {
            if (k->budget == 0 || !settle_piece(k, g, from, to)) {
                k->is_left = true;
            }
            if (k->budget == 0) {
                k->is_left = true; /* perhaps: the next frame looks */
                return;
            }
            from = to;
        }
    }
}

/* Which doubts can be settled within the bound? Each is judged by itself, so that the answer does not change on the
 * way. */
static void choose_kinds(refinement *k)
{
    bool *const is_coarse[N_DOUBTS] = {&k->s->frame.has_coarse_edges, &k->s->frame.has_coarse_classes};
    uint8_t kinds = 0;
    for (int kind = 0; kind < N_DOUBTS; kind++) {
        k->kinds = (uint8_t)(1U << kind);
        if (is_too_much(k)) {
            *is_coarse[kind] = true;
        } else {
            kinds |= k->kinds;
        }
    }
    k->kinds = kinds;
}

bool refine_rows(scene *s)
{
    refinement k = {.s = s, .budget = s->in.now_ns == 0 ? ASKED_A_PICTURE : BLOCKS_A_FRAME};
    bool has_tiles = false;
    s->rasters.has_all = s->src.n_wanted == 0;
    for (size_t i = 0; !s->rasters.rests && i < s->rasters.n; i++) {
        has_tiles = has_tiles || s->rasters.items[i]->from_tiles;
    }
    if (!s->rasters.rests) { /* the next frame of this view begins with it, once all is there */
        s->frame.is_refining = s->frame.is_refining || has_tiles;
        return false;
    }
    find_doubts(&k);
    if (k.n_rasters > 0 && s->src.n_wanted > 0) { /* a tile left the cache meanwhile */
        s->frame.is_refining = true;
        return false;
    }
    if (k.n_rasters == 0) {
        return false;
    }
    choose_kinds(&k);
    if (k.kinds == 0) {
        return false;
    }
    k.changed = arena_alloc(&s->scratch, k.n_rasters * sizeof *k.changed);
    memset(k.changed, 0, k.n_rasters * sizeof *k.changed);
    settle_some(&k);
    for (size_t i = 0; i < k.n_rasters; i++) {
        k.has_changed = k.has_changed || k.changed[i];
    }
    s->frame.is_refining = s->frame.is_refining || k.is_left;
    return k.has_changed;
}
