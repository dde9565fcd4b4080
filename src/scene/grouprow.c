/*
 * A stage's or host's row: three strips over each other. What any of its ranks does, pale; how many of them on average,
 * stronger; what all of them do, full. An idle rank can't hide in a mean.
 *
 * In a run of thousands of ranks the pyramid's rows of eight ranks serve, which carry their least busy rank's share:
 * the busiest is then the busiest eight's mean, and the least is a lower bound (least of each bin, not of the column).
 */
#include <stdlib.h>
#include <string.h>

#include "scene/internal.h"

enum { SHARES = 16, BLOCK_COLUMNS = 256 }; /* of which the sums per class stay near while all ranks are added */

/* A rank, or eight of them, that the row is made of. */
typedef struct member {
    const draw_cell *cells;
    const draw_cell *least; /* the least busy of several ranks; of one they are its cells */
    uint32_t n_ranks;
} member;

typedef struct group_sums {
    member *members;
    size_t n_members, cap;
    uint32_t n, n_ranks;
} group_sums;

/* Byte by byte over cells: [0] classes are of no use, [1] occupancy, [2] flags. An empty cell has neither. */
typedef struct cell_bytes {
    uint8_t most[BLOCK_COLUMNS * sizeof(draw_cell)];
    uint8_t least[BLOCK_COLUMNS * sizeof(draw_cell)];
    uint8_t any[BLOCK_COLUMNS * sizeof(draw_cell)];
} cell_bytes;

_Static_assert((int)CLASS_COUNT < (int)SHARES, "a place is left for empty cells");

typedef struct block_sums {
    cell_bytes bytes;
    uint32_t share[BLOCK_COLUMNS][SHARES]; /* [CLASS_COUNT]: of empty cells, 0 */
} block_sums;

static group_sums make_sums(scene *s, size_t cap)
{
    group_sums g = {.n = s->src.grid.n, .cap = cap};
    g.members = arena_alloc(&s->scratch, cap * sizeof *g.members + 1);
    return g;
}

static void add_member(group_sums *g, const row_raster *r, const draw_cell *least, uint32_t n_ranks)
{
    MAREY_ASSERT(g->n_members < g->cap);
    g->members[g->n_members++] = (member){r->cells, least, n_ranks};
    g->n_ranks += n_ranks;
}

/* The number of bytes is known where it is written out below, so that compilers make it a few wide instructions. */
static inline void add_some_bytes(cell_bytes *b, size_t from, const uint8_t *restrict cells,
                                  const uint8_t *restrict least, size_t n)
{
    uint8_t *restrict most = b->most + from;
    uint8_t *restrict low = b->least + from;
    uint8_t *restrict any = b->any + from;
    for (size_t i = 0; i < n; i++) {
        most[i] = most[i] > cells[i] ? most[i] : cells[i];
        low[i] = low[i] < least[i] ? low[i] : least[i];
        any[i] |= cells[i];
    }
}

static void add_bytes(cell_bytes *b, const uint8_t *cells, const uint8_t *least, size_t n)
{
    size_t i = 0;
    for (; i + 64 <= n; i += 64) {
        add_some_bytes(b, i, cells + i, least + i, 64);
    }
    add_some_bytes(b, i, cells + i, least + i, n - i);
}

static inline void add_shares(block_sums *b, const draw_cell *cells, uint32_t n, uint32_t n_ranks)
{
    for (uint32_t i = 0; i < n; i++) {
        uint32_t klass = cells[i].klass < CLASS_COUNT ? cells[i].klass : CLASS_COUNT;
        b->share[i][klass] += cells[i].occupancy * n_ranks;
    }
}

static uint8_t class_of(const uint32_t share[SHARES], uint32_t *busy)
{
    uint8_t best = 0;
    *busy = share[0];
    for (uint8_t k = 1; k < CLASS_COUNT; k++) {
        *busy += share[k];
        best = share[k] > share[best] ? k : best;
    }
    return best;
}

static void write_column(const block_sums *b, uint32_t i, uint32_t n_ranks, row_raster *out, uint32_t column)
{
    static const draw_cell none = {CELL_EMPTY, 0, 0, 255};
    out->cells[column] = out->mean[column] = out->least[column] = none;
    uint8_t most = b->bytes.most[i * sizeof(draw_cell) + offsetof(draw_cell, occupancy)];
    uint8_t least = b->bytes.least[i * sizeof(draw_cell) + offsetof(draw_cell, occupancy)];
    uint8_t flags = b->bytes.any[i * sizeof(draw_cell) + offsetof(draw_cell, flags)] & (CELL_COARSE | CELL_SEVERE);
    if (most == 0) {
        return;
    }
    uint32_t busy = 0;
    uint8_t klass = class_of(b->share[i], &busy);
    float mean = (float)busy / (float)n_ranks;
    out->cells[column] = (draw_cell){klass, most, (uint8_t)(flags | CELL_MORE), 102};
    out->mean[column] = (draw_cell){klass, (uint8_t)fmaxf(1, mean + 0.5F), 0, 96};
    if (least > 0) {
        out->least[column] = (draw_cell){klass, least, 0, 242};
    }
}

static void write_strips(scene *s, const group_sums *g, row_raster *out)
{
    block_sums *b = arena_alloc(&s->scratch, sizeof *b);
    for (uint32_t from = 0; from < g->n; from += BLOCK_COLUMNS) {
        uint32_t n = g->n - from < BLOCK_COLUMNS ? g->n - from : BLOCK_COLUMNS;
        memset(b, 0, sizeof *b);
        memset(b->bytes.least, 255, sizeof b->bytes.least);
        for (size_t k = 0; k < g->n_members; k++) {
            const member *m = &g->members[k];
            add_bytes(&b->bytes, (const uint8_t *)(m->cells + from), (const uint8_t *)(m->least + from),
                      n * sizeof *m->cells);
            if (m->n_ranks == 1) {
                add_shares(b, m->cells + from, n, 1); /* nearly always, and without a product */
            } else {
                add_shares(b, m->cells + from, n, m->n_ranks);
            }
        }
        for (uint32_t i = 0; i < n; i++) {
            write_column(b, i, g->n_ranks, out, from + i);
        }
    }
}

static void add_marks(row_raster *out, const row_raster *r, scene *s)
{
    for (size_t i = 0; i < r->n_marks; i++) {
        /* Marks of several ranks come in any order of x: each keeps its distance by its own slot. */
        uint32_t apart = (uint32_t)(8 * (double)s->m.s);
        uint32_t slot = r->marks[i].x / apart;
        size_t k = 0;
        while (k < out->n_marks && out->marks[k].x / apart != slot) {
            k++;
        }
        if (k == out->n_marks) {
            VEC_PUSH(out->marks, out->n_marks, out->cap_marks, r->marks[i]);
        } else if (r->marks[i].severity > out->marks[k].severity) {
            out->marks[k].severity = r->marks[i].severity;
        }
    }
}

static void reset_group(row_raster *out, uint32_t n)
{
    VEC_RESERVE(out->cells, out->cap_cells, n);
    if (n > out->cap_least) {
        out->least = mem_realloc_array(out->least, n, sizeof *out->least);
        out->mean = mem_realloc_array(out->mean, n, sizeof *out->mean);
        out->cap_least = n;
    }
    out->n = n;
    out->n_marks = 0;
    out->n_wide = 0;
}

static bool sum_ranks(scene *s, const scene_row *row, group_sums *sums, row_raster *out)
{
    const rank_group *group = &s->tree.groups[row->id];
    bool complete = true;
    for (uint32_t i = 0; i < group->n; i++) {
        uint32_t rank = s->tree.group_ranks[group->first + i];
        scene_row one = {.kind = ROW_RANK, .id = rank, .rank = rank, .group = row->id};
        const row_raster *r = raster_row(s, &one);
        add_member(sums, r, r->cells, 1);
        add_marks(out, r, s);
        complete = complete && r->complete;
    }
    return complete;
}

/* The eights that lie wholly in the group, in the model's order; false when some rank is left over. */
static bool sum_eights(scene *s, const scene_row *row, group_sums *sums, row_raster *out, bool *complete)
{
    *complete = true;
    for (uint32_t g = 0; g < store_n_groups(s->file); g++) {
        store_group_info info = store_group_at(s->file, g);
        for (uint32_t e = 0; info.kind == GROUP_EVENTS && e * 8 < info.n_ranks; e++) {
            uint32_t n = info.n_ranks - e * 8 < 8 ? info.n_ranks - e * 8 : 8;
            if (s->tree.rank_group[info.first_rank + e * 8] != row->id) {
                continue;
            }
            if (source_of(s, g, R_EIGHT)->mode != SOURCE_TILES) {
                return false; /* events know each rank by itself */
            }
            const row_raster *r = raster_eight(s, g, e);
            add_member(sums, r, r->least, n);
            add_marks(out, r, s);
            *complete = *complete && r->complete;
        }
    }
    return sums->n_ranks == s->tree.groups[row->id].n;
}

row_raster *raster_group(scene *s, const scene_row *row)
{
    bool valid;
    row_raster *out = raster_entry(s, ((uint64_t)ROW_GROUP << 33) | row->id, &valid);
    if (valid) {
        return out;
    }
    uint32_t n = s->src.grid.n;
    reset_group(out, n);
    size_t n_ranks = s->tree.groups[row->id].n; /* eights are no more than that */
    group_sums sums = make_sums(s, n_ranks);
    bool complete = false;
    bool eights = s->model->n_ranks > s->many_ranks && sum_eights(s, row, &sums, out, &complete);
    if (!eights) {
        reset_group(out, n);
        sums = make_sums(s, n_ranks);
        complete = sum_ranks(s, row, &sums, out);
    }
    write_strips(s, &sums, out);
    out->complete = complete;
    return out;
}
