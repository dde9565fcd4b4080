/* What lies on top of the rows: severity marks of constant size, the selection, the selected range. */
#include <string.h>

#include "scene/internal.h"

enum { MARK_DP = 8, MAX_MARKS = 2000 };

/* ------------------------------------------------------------------ severity */

/* One place of a coarse grid over the plot: rows lower than a mark share it, the most severe wins. */
typedef struct mark_place {
    uint8_t severity;
    float x, y;
} mark_place;

typedef struct mark_grid {
    mark_place *places;
    uint32_t columns, rows;
    float cell;
} mark_grid;

static void place_mark(const scene *s, mark_grid *g, const row_mark *mark, float y)
{
    float x = s->m.plot.x + (float)mark->x + 0.5F;
    int64_t column = (int64_t)((x - s->m.plot.x) / g->cell);
    int64_t row = (int64_t)((y - s->m.plot.y) / g->cell);
    if (column < 0 || row < 0 || column >= (int64_t)g->columns || row >= (int64_t)g->rows) {
        return;
    }
    mark_place *p = &g->places[(size_t)row * g->columns + (size_t)column];
    if (mark->severity > p->severity) {
        *p = (mark_place){mark->severity, x, y};
    }
}

static void draw_mark(scene *s, const mark_place *p)
{
    float w = (float)MARK_DP / 2 * s->m.s;
    bool error = p->severity >= SEVERITY_ERROR;
    rgba c = error ? s->t->severity : s->t->dim;
    float h = error ? w * 1.6F : w * 1.3F;
    w = error ? w : w * 0.8F;
    float y = p->y;
    draw_triangle(s->l, LAYER_MARKS, (float[3]){p->x - w, p->x + w, p->x}, (float[3]){y, y, y + h}, c);
}

static const row_raster *marks_of(scene *s, const scene_row *row)
{
    if (row->kind == ROW_COUNTER || (row->h < 0.5 && row->kind == ROW_RANK)) {
        return NULL; /* rows that low are drawn by eights, which carry their marks by cells */
    }
    return row->kind == ROW_GROUP ? raster_group(s, row) : raster_row(s, row);
}

void draw_marks(scene *s)
{
    mark_grid g = {.cell = (float)MARK_DP * s->m.s};
    g.columns = (uint32_t)(s->m.plot.w / g.cell) + 1;
    g.rows = (uint32_t)(s->m.plot.h / g.cell) + 1;
    size_t n = (size_t)g.columns * g.rows;
    g.places = arena_alloc(&s->scratch, n * sizeof *g.places + 1);
    memset(g.places, 0, n * sizeof *g.places);
    for (size_t i = s->first_visible; i < s->end_visible; i++) {
        const scene_row *row = &s->tree.rows[i];
        const row_raster *r = marks_of(s, row);
        rect strip = row_strip_rect(s, row);
        for (size_t k = 0; r && k < r->n_marks; k++) {
            place_mark(s, &g, &r->marks[k], strip.y);
        }
    }
    draw_push_clip(s->l, s->m.plot);
    size_t drawn = 0;
    for (uint8_t severity = 15; severity > 0 && drawn < MAX_MARKS; severity--) {
        for (size_t i = 0; i < n && drawn < MAX_MARKS; i++) {
            if (g.places[i].severity == severity) {
                draw_mark(s, &g.places[i]);
                drawn++;
            }
        }
    }
    draw_pop_clip(s->l);
}

/* ------------------------------------------------------------------ selection */

void find_selected(scene *s)
{
    if (s->v.selected_row == UINT64_MAX) {
        s->has_selected = false;
        return;
    }
    if (s->has_selected && s->selected.row == s->v.selected_row) {
        return;
    }
    s->has_selected = store_read_event(s->file, s->v.selected_row, &s->selected, s->d) == MAREY_OK;
}

/* @return false: it lies outside of the plot */
static bool outline_rect(const scene *s, rect strip, int64_t start_ns, int64_t end_ns, float line, rect *r)
{
    double x0 = x_of(s, start_ns);
    double x1 = x_of(s, end_ns);
    if (x1 < (double)s->m.plot.x - 8 || x0 > (double)(s->m.plot.x + s->m.plot.w) + 8) {
        return false;
    }
    float a = snap(fmax(x0, (double)s->m.plot.x - 8));
    float b = snap(fmin(x1, (double)(s->m.plot.x + s->m.plot.w) + 8));
    float least = px(s, 3);
    if (b - a < least) {
        a -= floorf((least - (b - a)) / 2);
        b = a + least;
    }
    *r = (rect){a - line, strip.y - line, b - a + 2 * line, strip.h + 2 * line};
    return true;
}

static void outline(scene *s, rect strip, int64_t start_ns, int64_t end_ns, rgba c)
{
    float line = fmaxf(1, snap(1.5 * (double)s->m.s));
    rect r;
    if (outline_rect(s, strip, start_ns, end_ns, line, &r)) {
        draw_round(s->l, LAYER_MARKS, r, px(s, 2), (rgba){0, 0, 0, 0}, line, c);
    }
}

static bool row_shows(const scene *s, const scene_row *row, uint32_t track)
{
    uint32_t n = 0;
    uint32_t one = 0;
    const uint32_t *tracks = row_tracks(s, row, &n, &one);
    for (uint32_t i = 0; i < n; i++) {
        if (tracks[i] == track) {
            return true;
        }
    }
    return false;
}

/* Events of one operator or module that follow each other closely have one outline: theirs would hide them. Inside it a
 * hair of ground, for events of the accent's colour. */
typedef struct outlined {
    int64_t start_ns, end_ns; /* end 0: none */
    bool others;              /* than the selected event and its peers, which have outlines of their own */
} outlined;

static void outline_run(scene *s, rect strip, outlined *run)
{
    float line = fmaxf(1, snap(1.5 * (double)s->m.s));
    float hair = fmaxf(1, snap((double)s->m.s));
    rect r;
    if (run->others && outline_rect(s, strip, run->start_ns, run->end_ns, line, &r)) {
        rect inner = {r.x + line, r.y + line, r.w - 2 * line, r.h - 2 * line};
        if (inner.w > 4 * hair) {
            draw_round(s->l, LAYER_MARKS, inner, 0, (rgba){0, 0, 0, 0}, hair, s->t->ground);
        }
        draw_round(s->l, LAYER_MARKS, r, px(s, 2), (rgba){0, 0, 0, 0}, line, s->t->accent);
    }
    *run = (outlined){0};
}

static bool is_instance(const scene *s, const row_raster *r, size_t i)
{
    return r->wide[i].e.row == s->selected.row || (r->wide[i].key == s->selected_key && r->wide[i].key != 0);
}

/* Other members and occurrences of the chosen operator. */
static void outline_linked(scene *s, const row_raster *r, rect strip)
{
    outlined run = {0};
    for (size_t i = 0; i < r->n_wide; i++) {
        const ev *e = &r->wide[i].e;
        if (!graph_holds_event(s, e->row, e->name)) {
            continue;
        }
        bool close = run.end_ns > 0 && e->start_ns >= run.start_ns &&
                     x_of(s, e->start_ns) - x_of(s, run.end_ns) <= (double)px(s, 4);
        if (!close) {
            outline_run(s, strip, &run);
            run = (outlined){e->start_ns, e->end_ns, false};
        }
        run.others = run.others || !is_instance(s, r, i);
        run.end_ns = e->end_ns > run.end_ns ? e->end_ns : run.end_ns;
    }
    outline_run(s, strip, &run);
}

static void outline_instances(scene *s, const row_raster *r, rect strip)
{
    for (size_t i = 0; i < r->n_wide; i++) {
        const ev *e = &r->wide[i].e;
        if (is_instance(s, r, i) && e->row != s->selected.row) {
            outline(s, strip, e->start_ns, e->end_ns, s->t->selection);
        }
    }
}

static void draw_range(scene *s)
{
    if (s->v.selection_t1_ns <= s->v.selection_t0_ns) {
        return;
    }
    float x0 = snap(fmax(x_of(s, s->v.selection_t0_ns), (double)s->m.plot.x - 2));
    float x1 = snap(fmin(x_of(s, s->v.selection_t1_ns), (double)(s->m.plot.x + s->m.plot.w) + 2));
    if (x1 > x0) {
        rect r = {x0, s->m.plot.y, x1 - x0, s->m.plot.h};
        draw_rect(s->l, LAYER_MARKS, r, rgba_with_alpha(s->t->accent, 26));
        draw_vline(s->l, LAYER_MARKS, x0, r.y, r.y + r.h, s->t->accent);
        draw_vline(s->l, LAYER_MARKS, x1, r.y, r.y + r.h, s->t->accent);
    }
}

void draw_selection(scene *s)
{
    draw_push_clip(s->l, s->m.plot);
    draw_range(s);
    for (size_t i = s->first_visible; s->has_selected && i < s->end_visible; i++) {
        const scene_row *row = &s->tree.rows[i];
        if (row->kind == ROW_GROUP || row->kind == ROW_COUNTER || row->h < 6) {
            continue;
        }
        rect strip = row_strip_rect(s, row);
        if (row->kind == ROW_RANK) {
            const row_raster *r = raster_row(s, row);
            outline_linked(s, r, strip);
            outline_instances(s, r, strip);
        }
        if (row_shows(s, row, s->selected.track)) {
            outline(s, strip, s->selected.start_ns, s->selected.start_ns + s->selected.dur_ns, s->t->selection);
        }
    }
    draw_pop_clip(s->l);
}
