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

#if defined(__x86_64__)
#include <immintrin.h>
#define GROUP_WIDE 1
#define AVX2       __attribute__((target("avx2")))
#else
#define GROUP_WIDE 0
#endif

enum {
    SHARES = 16,
    BLOCK_COLUMNS = 256,
    AT_ONCE = 8
}; /* of which the sums per class stay near while all ranks are added */

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

/*
 * Sums of BLOCK_COLUMNS columns. most, least and any are byte by byte over cells: [0] classes are of no use, [1]
 * occupancy, [2] flags; an empty cell has neither. Most ranks do the same in a column: the class of the first that does
 * anything has a sum of its own, which is added to several columns at a time; other classes go to the table.
 */
typedef struct block_sums {
    uint8_t most[BLOCK_COLUMNS * sizeof(draw_cell)];
    uint8_t least[BLOCK_COLUMNS * sizeof(draw_cell)];
    uint8_t any[BLOCK_COLUMNS * sizeof(draw_cell)];
    uint32_t usual[BLOCK_COLUMNS]; /* the class; CELL_EMPTY: none so far */
    uint32_t usual_share[BLOCK_COLUMNS];
    uint32_t share[BLOCK_COLUMNS][SHARES]; /* of the others; [CLASS_COUNT]: of empty cells, 0 */
} block_sums;

_Static_assert((int)CLASS_COUNT < (int)SHARES, "a place is left for empty cells");

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

static inline void add_some_bytes(block_sums *b, size_t from, const uint8_t *restrict cells,
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

static void add_others(block_sums *b, uint32_t from, const draw_cell *cells, uint32_t n, uint32_t n_ranks)
{
    for (uint32_t i = 0; i < n; i++) {
        uint32_t klass = cells[i].klass < CLASS_COUNT ? cells[i].klass : CLASS_COUNT;
        b->share[from + i][klass] += cells[i].klass == b->usual[from + i] ? 0 : cells[i].occupancy * n_ranks;
    }
}

static inline void add_some_shares(block_sums *b, uint32_t from, const draw_cell *cells, uint32_t n, uint32_t n_ranks)
{
    uint32_t words[AT_ONCE];
    uint32_t others = 0;
    uint32_t *restrict usual = b->usual + from;
    uint32_t *restrict share = b->usual_share + from;
    memcpy(words, cells, n * sizeof *words);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t klass = words[i] & 0xFF;
        uint32_t part = (words[i] >> 8 & 0xFF) * n_ranks;
        usual[i] = usual[i] == CELL_EMPTY ? klass : usual[i];
        share[i] += usual[i] == klass ? part : 0;
        others |= usual[i] == klass ? 0 : part;
    }
    if (others != 0) {
        add_others(b, from, cells, n, n_ranks);
    }
}

#if GROUP_WIDE
AVX2 static inline __m256i load(const void *at)
{
    return _mm256_loadu_si256((const __m256i *)at);
}

AVX2 static inline void store(void *at, __m256i v)
{
    _mm256_storeu_si256((__m256i *)at, v);
}

/* The same for eight columns at a time. */
AVX2 static uint32_t add_wide(block_sums *b, const draw_cell *cells, const draw_cell *least, uint32_t n,
                              uint32_t n_ranks)
{
    const __m256i byte = _mm256_set1_epi32(255);
    const __m256i ranks = _mm256_set1_epi32((int)n_ranks);
    uint32_t i = 0;
    for (; i + AT_ONCE <= n; i += AT_ONCE) {
        size_t at = (size_t)i * sizeof *cells;
        __m256i c = load(cells + i);
        store(b->most + at, _mm256_max_epu8(load(b->most + at), c));
        store(b->least + at, _mm256_min_epu8(load(b->least + at), load(least + i)));
        store(b->any + at, _mm256_or_si256(load(b->any + at), c));
        __m256i klass = _mm256_and_si256(c, byte);
        __m256i part = _mm256_mullo_epi32(_mm256_and_si256(_mm256_srli_epi32(c, 8), byte), ranks);
        __m256i usual = load(b->usual + i);
        usual = _mm256_blendv_epi8(usual, klass, _mm256_cmpeq_epi32(usual, byte)); /* CELL_EMPTY */
        __m256i same = _mm256_cmpeq_epi32(usual, klass);
        store(b->usual + i, usual);
        store(b->usual_share + i, _mm256_add_epi32(load(b->usual_share + i), _mm256_and_si256(part, same)));
        if (!_mm256_testz_si256(_mm256_andnot_si256(same, part), _mm256_set1_epi32(-1))) {
            add_others(b, i, cells + i, AT_ONCE, n_ranks);
        }
    }
    return i;
}
#endif

/* As many columns as there is a fast way for. @return how many */
static uint32_t add_member_wide(block_sums *b, const draw_cell *cells, const draw_cell *least, uint32_t n,
                                uint32_t n_ranks)
{
#if GROUP_WIDE
    if (__builtin_cpu_supports("avx2")) {
        return add_wide(b, cells, least, n, n_ranks);
    }
#endif
    (void)b;
    (void)cells;
    (void)least;
    (void)n;
    (void)n_ranks;
    return 0;
}

static void add_member_cells(block_sums *b, const draw_cell *cells, const draw_cell *least, uint32_t n,
                             uint32_t n_ranks)
{
    const uint8_t *bytes = (const uint8_t *)cells;
    const uint8_t *low = (const uint8_t *)least;
    enum { CELL = sizeof(draw_cell) };
    uint32_t i = add_member_wide(b, cells, least, n, n_ranks);
    for (; i + AT_ONCE <= n; i += AT_ONCE) {
        add_some_bytes(b, (size_t)i * CELL, bytes + (size_t)i * CELL, low + (size_t)i * CELL, AT_ONCE * CELL);
        add_some_shares(b, i, cells + i, AT_ONCE, n_ranks);
    }
    add_some_bytes(b, (size_t)i * CELL, bytes + (size_t)i * CELL, low + (size_t)i * CELL, (size_t)(n - i) * CELL);
    add_some_shares(b, i, cells + i, n - i, n_ranks);
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

static void write_column(block_sums *b, uint32_t i, uint32_t n_ranks, row_raster *out, uint32_t column)
{
    static const draw_cell none = {CELL_EMPTY, 0, 0, 255};
    out->cells[column] = out->mean[column] = out->least[column] = none;
    uint8_t most = b->most[i * sizeof(draw_cell) + offsetof(draw_cell, occupancy)];
    uint8_t least = b->least[i * sizeof(draw_cell) + offsetof(draw_cell, occupancy)];
    uint8_t flags = b->any[i * sizeof(draw_cell) + offsetof(draw_cell, flags)] & (CELL_COARSE | CELL_SEVERE);
    if (most == 0) {
        return;
    }
    uint32_t busy = 0;
    if (b->usual[i] < CLASS_COUNT) {
        b->share[i][b->usual[i]] += b->usual_share[i];
    }
    uint8_t klass = class_of(b->share[i], &busy);
    float mean = (float)busy / (float)n_ranks;
    out->cells[column] = (draw_cell){klass, most, (uint8_t)(flags | CELL_MORE), 102};
    out->mean[column] = (draw_cell){klass, (uint8_t)fmaxf(1, mean + 0.5F), 0, 96};
    if (least > 0) {
        out->least[column] = (draw_cell){klass, least, 0, 242};
    }
}

static void write_strips(arena *scratch, const group_sums *g, uint32_t from, row_raster *out)
{
    block_sums *b = arena_alloc(scratch, sizeof *b);
    uint32_t n = g->n - from < BLOCK_COLUMNS ? g->n - from : BLOCK_COLUMNS;
    memset(b, 0, sizeof *b);
    memset(b->least, 255, sizeof b->least);
    for (uint32_t i = 0; i < n; i++) {
        b->usual[i] = CELL_EMPTY;
    }
    for (size_t k = 0; k < g->n_members; k++) {
        const member *m = &g->members[k];
        add_member_cells(b, m->cells + from, m->least + from, n, m->n_ranks);
    }
    for (uint32_t i = 0; i < n; i++) {
        write_column(b, i, g->n_ranks, out, from + i);
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
    out->from_tiles = false; /* of its members, */
    out->is_searched = true; /* all of them: else they are planned again once the view rests */
}

/* ------------------------------------------------------------------ members */

/* Whose rasters a group's row is the sum of: the eights that lie wholly in it, in the model's order, or its ranks. */
typedef struct member_list {
    bool are_eights;
    uint32_t (*ids)[2]; /* store group and eight; or rank */
    size_t n;
} member_list;

static bool find_eights(scene *s, const scene_row *row, member_list *l)
{
    size_t n_ranks = 0;
    l->n = 0;
    for (uint32_t g = 0; g < store_n_groups(s->file); g++) {
        store_group_info info = store_group_at(s->file, g);
        for (uint32_t e = 0; info.kind == GROUP_EVENTS && e * 8 < info.n_ranks; e++) {
            if (s->tree.rank_group[info.first_rank + e * 8] != row->id) {
                continue;
            }
            if (source_of(s, g, R_EIGHT)->mode != SOURCE_TILES) {
                return false; /* events know each rank by itself */
            }
            l->ids[l->n][0] = g;
            l->ids[l->n++][1] = e;
            n_ranks += info.n_ranks - e * 8 < 8 ? info.n_ranks - e * 8 : 8;
        }
    }
    return n_ranks == s->tree.groups[row->id].n; /* else some rank is left over */
}

static member_list find_members(scene *s, const scene_row *row)
{
    const rank_group *group = &s->tree.groups[row->id];
    member_list l = {.ids = arena_alloc(&s->scratch, group->n * sizeof *l.ids + 1)};
    l.are_eights = s->model->n_ranks > s->many_ranks && find_eights(s, row, &l);
    if (!l.are_eights) {
        l.n = group->n;
        for (uint32_t i = 0; i < group->n; i++) {
            l.ids[i][0] = s->tree.group_ranks[group->first + i];
        }
    }
    return l;
}

static const row_raster *plan_member(scene *s, raster_plan *p, const scene_row *row, const member_list *l, size_t i)
{
    if (l->are_eights) {
        return plan_eight(s, p, l->ids[i][0], l->ids[i][1]);
    }
    scene_row one = {.kind = ROW_RANK, .id = l->ids[i][0], .rank = l->ids[i][0], .group = row->id};
    return plan_row(s, p, &one);
}

uint64_t group_key(const scene_row *row)
{
    return ((uint64_t)ROW_GROUP << 33) | row->id;
}

void plan_group(scene *s, raster_plan *p, const scene_row *row)
{
    bool valid;
    (void)raster_entry(s, group_key(row), &valid);
    member_list l = valid ? (member_list){0} : find_members(s, row);
    for (size_t i = 0; i < l.n; i++) {
        (void)plan_member(s, p, row, &l, i);
    }
}

/* ------------------------------------------------------------------ the rows */

/* A group's row that is being made. */
typedef struct group_task {
    group_sums sums;
    row_raster *out;
} group_task;

static void begin_group(scene *s, const scene_row *row, row_raster *out, group_task *t)
{
    raster_plan all_made = {0};
    member_list l = find_members(s, row);
    reset_group(out, s->src.grid.n);
    *t = (group_task){make_sums(s, l.n), out};
    out->complete = true;
    out->made_in = s->n_frames;
    for (size_t i = 0; i < l.n; i++) {
        const row_raster *r = plan_member(s, &all_made, row, &l, i);
        uint32_t n_ranks = 1;
        if (l.are_eights) {
            uint32_t left = store_group_at(s->file, l.ids[i][0]).n_ranks - l.ids[i][1] * 8;
            n_ranks = left < 8 ? left : 8;
        }
        add_member(&t->sums, r, l.are_eights ? r->least : r->cells, n_ranks);
        add_marks(out, r, s);
        out->complete = out->complete && r->complete;
        out->from_tiles = out->from_tiles || r->from_tiles;
        out->is_searched = out->is_searched && (r->is_searched || !r->from_tiles);
    }
    MAREY_ASSERT(all_made.n == 0);
}

/* The i-th piece: BLOCK_COLUMNS of one row. */
static void write_piece(scene *s, void *ctx, size_t i, raster_work *w)
{
    size_t per_row = (s->src.grid.n + BLOCK_COLUMNS - 1) / BLOCK_COLUMNS;
    const group_task *t = (const group_task *)ctx + i / per_row;
    arena_reset(&w->scratch);
    write_strips(&w->scratch, &t->sums, (uint32_t)(i % per_row) * BLOCK_COLUMNS, t->out);
}

void raster_groups(scene *s, const scene_row *const *rows, size_t n)
{
    enum { LEAST_FOR_THREADS = 4 };
    group_task *tasks = arena_alloc(&s->scratch, n * sizeof *tasks + 1);
    size_t n_tasks = 0;
    for (size_t i = 0; i < n; i++) {
        bool valid;
        row_raster *out = raster_entry(s, group_key(rows[i]), &valid);
        if (!valid) {
            begin_group(s, rows[i], out, &tasks[n_tasks++]);
        }
    }
    size_t per_row = (s->src.grid.n + BLOCK_COLUMNS - 1) / BLOCK_COLUMNS;
    team_each(s, n_tasks * per_row, LEAST_FOR_THREADS, write_piece, tasks);
}

row_raster *raster_group(scene *s, const scene_row *row)
{
    bool valid;
    raster_plan p = {0};
    plan_group(s, &p, row);
    raster_run(s, &p);
    raster_groups(s, (const scene_row *const[]){row}, 1);
    return raster_entry(s, group_key(row), &valid);
}
