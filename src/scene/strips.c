/*
 * Rows in the draw list: what is needed is planned, made by the team, given its places in the list, and then copied
 * there by the team. Where rows are thinner than a pixel, several share a line, which shows the busiest of them.
 */
#include <string.h>

#include "scene/internal.h"

draw_cell *row_strip_cells(const scene *s, size_t row)
{
    uint32_t first = s->row_cells[row - s->first_visible];
    return first == NO_ID ? NULL : s->l->cells + first;
}

/* ------------------------------------------------------------------ cells */

/* Cells as words, class in the lowest byte: compilers make the loops over a known number of them wide. */
enum { AT_ONCE = 8 };
static const uint32_t OCCUPANCY = 0xFF00;
static const uint32_t FLAGS = 0xFF0000;

/* Gaps of less than a twentieth of a column are noise on the bars' tops, not gaps: such a column is drawn full. */
static inline void copy_some(draw_cell *to, const draw_cell *from, size_t n)
{
    static const uint32_t full = 243 << 8;
    uint32_t words[AT_ONCE];
    memcpy(words, from, n * sizeof *words);
    for (size_t i = 0; i < n; i++) {
        words[i] |= (words[i] & OCCUPANCY) >= full ? OCCUPANCY : 0;
    }
    memcpy(to, words, n * sizeof *words);
}

static void copy_row(draw_cell *to, const draw_cell *from, size_t n)
{
    size_t i = 0;
    for (; i + AT_ONCE <= n; i += AT_ONCE) {
        copy_some(to + i, from + i, AT_ONCE);
    }
    copy_some(to + i, from + i, n - i);
}

/* Only empty cells have no occupancy. */
static inline void join_some(draw_cell *to, const draw_cell *from, size_t n)
{
    static const uint32_t more = CELL_MORE << 16;
    static const uint32_t edge = CELL_EDGE << 16;
    uint32_t a[AT_ONCE];
    uint32_t b[AT_ONCE];
    memcpy(a, to, n * sizeof *a);
    memcpy(b, from, n * sizeof *b);
    for (size_t i = 0; i < n; i++) {
        uint32_t flags = (a[i] | b[i] | ((a[i] & OCCUPANCY) != 0 ? more : 0)) & FLAGS & ~edge;
        uint32_t busier = (b[i] & OCCUPANCY) > (a[i] & OCCUPANCY) ? b[i] : a[i];
        a[i] = (b[i] & OCCUPANCY) != 0 ? (busier & ~FLAGS) | flags : a[i];
    }
    memcpy(to, a, n * sizeof *a);
}

static void join_row(draw_cell *to, const draw_cell *from, size_t n)
{
    size_t i = 0;
    for (; i + AT_ONCE <= n; i += AT_ONCE) {
        join_some(to + i, from + i, AT_ONCE);
    }
    join_some(to + i, from + i, n - i);
}

/* ------------------------------------------------------------------ rows, planned */

/* What a row of the plot is drawn from. */
typedef struct planned_row {
    const scene_row *row;
    const row_raster *raster; /* NULL: nothing of its own (counters; drawn with another row) */
    bool is_thin;
} planned_row;

typedef struct line_state {
    uint32_t last_group, last_eight;
} line_state;

static bool eight_is_whole(const scene *s, uint32_t first, uint32_t n_ranks)
{
    for (uint32_t r = first; r < first + 8 && r < n_ranks; r++) {
        if (s->tree.rank_group[r] != s->tree.rank_group[first]) {
            return false;
        }
    }
    return true;
}

static const row_raster *plan_thin(scene *s, raster_plan *p, const scene_row *row, line_state *line)
{
    uint32_t group = row->kind == ROW_RANK ? s->rank_events_group[row->rank] : NO_ID;
    if (row->h >= 0.5 || group == NO_ID || s->v.order != ORDER_RANK || s->tree.pattern[0]) {
        return plan_row(s, p, row);
    }
    store_group_info info = store_group_at(s->file, group);
    uint32_t eight = (row->rank - info.first_rank) / 8;
    if (info.n_levels[R_EIGHT] == 0 ||
        !eight_is_whole(s, info.first_rank + eight * 8, info.first_rank + info.n_ranks)) {
        return plan_row(s, p, row);
    }
    if (group == line->last_group && eight == line->last_eight) {
        return NULL; /* drawn with the first of its ranks */
    }
    line->last_group = group;
    line->last_eight = eight;
    return plan_eight(s, p, group, eight);
}

/* Their members changed. */
static void forget_groups(scene *s, const scene_row *const *groups, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        bool valid;
        row_raster *r = raster_entry(s, group_key(groups[i]), &valid);
        r->complete = false;
        r->made_in = 0;
    }
}

static planned_row *plan_rows(scene *s, size_t n)
{
    raster_plan p = {0};
    line_state line = {NO_ID, 0};
    size_t n_groups = 0;
    planned_row *rows = arena_alloc(&s->scratch, n * sizeof *rows + 1);
    const scene_row **groups = arena_alloc(&s->scratch, n * sizeof *groups + 1);
    for (size_t i = 0; i < n; i++) {
        const scene_row *row = &s->tree.rows[s->first_visible + i];
        rows[i] = (planned_row){.row = row, .is_thin = row->h < 1.5 && row->kind != ROW_GROUP};
        if (row->kind == ROW_GROUP) {
            plan_group(s, &p, row);
            groups[n_groups++] = row;
        } else if (row->kind != ROW_COUNTER) {
            rows[i].raster = rows[i].is_thin ? plan_thin(s, &p, row, &line) : plan_row(s, &p, row);
        }
    }
    raster_run(s, &p);
    if (refine_rows(s)) {
        forget_groups(s, groups, n_groups);
        for (size_t i = 0; i < n_groups; i++) { /* made again like any row: planned first */
            plan_group(s, &p, groups[i]);
        }
        raster_run(s, &p);
    }
    raster_groups(s, groups, n_groups);
    for (size_t i = 0; i < n; i++) {
        rows[i].raster = rows[i].row->kind == ROW_GROUP ? raster_group(s, rows[i].row) : rows[i].raster;
        s->frame.complete = s->frame.complete && (!rows[i].raster || rows[i].raster->complete);
    }
    return rows;
}

/* ------------------------------------------------------------------ strips */

/* The cells of one strip, to be copied; of a line of thin rows all that lie on it. */
typedef struct strip_fill {
    uint32_t first_cell;
    uint32_t n;
    const draw_cell *from;      /* one row's; NULL: a line's */
    const planned_row *a, *end; /* the rows on the line, among others */
} strip_fill;

typedef struct fill_list {
    strip_fill *items;
    size_t n;
    double y; /* of the line being filled; negative: none */
} fill_list;

static void fill_strip(scene *s, void *ctx, size_t i, raster_work *w)
{
    const strip_fill *f = (const strip_fill *)ctx + i;
    draw_cell *to = s->l->cells + f->first_cell;
    (void)w;
    if (f->from) {
        copy_row(to, f->from, f->n);
        return;
    }
    bool any = false;
    for (const planned_row *r = f->a; r < f->end; r++) {
        if (r->raster && r->is_thin && any) {
            join_row(to, r->raster->cells, f->n);
        } else if (r->raster && r->is_thin) {
            memcpy(to, r->raster->cells, f->n * sizeof *to);
            any = true;
        }
    }
}

static void add_fill(scene *s, fill_list *l, rect r, const draw_cell *from, uint32_t n)
{
    bool low = r.h < 5 * s->m.s;
    l->items[l->n++] =
        (strip_fill){.first_cell = draw_reserve_strip(s->l, LAYER_DATA, r, n, low), .n = n, .from = from};
}

static void place_thin_row(scene *s, fill_list *l, const planned_row *p)
{
    double y = floor((double)s->m.plot.y + p->row->y - s->scroll);
    if (!p->raster) {
        return;
    }
    if (y != l->y) {
        rect at = {s->m.plot.x, (float)y, s->m.plot.w, 1};
        strip_fill f = {.first_cell = draw_reserve_strip(s->l, LAYER_DATA, at, s->src.grid.n, true)};
        f.n = s->src.grid.n;
        f.a = p;
        l->items[l->n++] = f;
        l->y = y;
    }
    l->items[l->n - 1].end = p + 1;
}

static void place_row(scene *s, fill_list *l, const planned_row *p)
{
    const scene_row *row = p->row;
    const row_raster *g = p->raster;
    rect r = row_strip_rect(s, row);
    if (row->h >= 4) {
        draw_rect(s->l, LAYER_GROUND, r, s->t->row);
    }
    l->y = -1;
    if (row->kind == ROW_GROUP) {
        add_fill(s, l, r, g->cells, g->n);
        add_fill(s, l, r, g->mean, g->n);
        add_fill(s, l, r, g->least, g->n);
        return;
    }
    s->row_cells[(size_t)(row - s->tree.rows) - s->first_visible] = (uint32_t)s->l->n_cells;
    add_fill(s, l, r, g->cells, g->n);
}

/* The time that a mark stands for is selected: its cells say so. */
static void flag_selected(scene *s, draw_cell *cells, const row_raster *r)
{
    for (size_t i = 0; s->has_selected && i < r->n_wide; i++) {
        const wide_event *w = &r->wide[i];
        if (w->key == 0 || w->key != s->selected_key) {
            continue;
        }
        int64_t a = column_of(&s->src.grid, w->e.start_ns);
        int64_t b = last_column_of(&s->src.grid, w->e.start_ns, w->e.end_ns);
        for (int64_t k = a < 0 ? 0 : a; k <= b && k < (int64_t)r->n; k++) {
            cells[k].flags |= CELL_SELECTED;
        }
    }
}

/* At most, in all strips. */
static size_t cells_of(const scene *s, const planned_row *rows, size_t n)
{
    size_t strips = 0;
    double line = -1; /* that thin rows share */
    for (size_t i = 0; i < n; i++) {
        double y = floor(rows[i].row->y - s->scroll);
        strips += rows[i].row->kind == ROW_GROUP ? 3 : !rows[i].is_thin || y != line;
        line = y;
    }
    return strips * s->src.grid.n;
}

void draw_rows(scene *s)
{
    enum { LEAST_FOR_THREADS = 64 };
    size_t n = s->end_visible - s->first_visible;
    s->row_cells = arena_alloc(&s->scratch, n * sizeof *s->row_cells + 1);
    memset(s->row_cells, 0xFF, n * sizeof *s->row_cells);
    const planned_row *rows = plan_rows(s, n);
    fill_list l = {.items = arena_alloc(&s->scratch, 3 * n * sizeof *l.items + 1), .y = -1};
    draw_reserve_cells(s->l, cells_of(s, rows, n));
    draw_push_clip(s->l, s->m.plot);
    for (size_t i = 0; i < n; i++) {
        if (rows[i].row->kind == ROW_COUNTER) {
            draw_counter_row(s, rows[i].row);
        } else if (rows[i].is_thin) {
            place_thin_row(s, &l, &rows[i]);
        } else {
            place_row(s, &l, &rows[i]);
        }
    }
    team_each(s, l.n, LEAST_FOR_THREADS, fill_strip, l.items);
    for (size_t i = 0; i < n; i++) {
        draw_cell *cells = row_strip_cells(s, s->first_visible + i);
        if (cells) {
            flag_selected(s, cells, rows[i].raster);
        }
    }
    if (s->v.layout == LAYOUT_TIMELINE) {
        draw_all_labels(s);
    }
    draw_pop_clip(s->l);
}
