/* What lies at a point of the last frame, and the exact event under the pointer. */
#include <string.h>

#include "scene/marey.h"
#include "scene/steps.h"

enum { HOVER_BLOCKS = 3 };

/* ------------------------------------------------------------------ events of one column */

block_span *column_span(scene *s, uint32_t group, event_window w, bool *pending)
{
    *pending = false;
    uint32_t first = 0;
    uint32_t n = 0;
    store_blocks_in(s->file, group, w.floor_ns, w.end_ns, &first, &n);
    store_group_info info = store_group_at(s->file, group);
    if (n == 0 || n > HOVER_BLOCKS || first + n > info.n_blocks) {
        return NULL;
    }
    block_span *span = arena_alloc(&s->scratch, sizeof *span);
    memset(span, 0, sizeof *span);
    span->blocks = arena_alloc(&s->scratch, n * sizeof *span->blocks);
    span->n = n;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t id = info.blocks[first + i];
        const cache_block *b = cache_get_block(s->cache, id, 0);
        bool is_loading = !b && !cache_failed(s->cache, false, id);
        span->blocks[i].info = is_loading ? store_block_head(s->file, id) : store_block(s->file, id);
        span->blocks[i].columns = b ? b->columns : NULL;
        *pending = *pending || is_loading;
    }
    span->carry = span->blocks[0].info.carry;
    span->n_carry = span->blocks[0].info.n_carry;
    return *pending ? NULL : span;
}

/* Distances are from the middle of the column. */
typedef struct nearest {
    moment t;
    bool found, holds;
    uint32_t n;
    double distance_ns;
    ev best;
} nearest;

/* Of those that hold the time the innermost (the last to start), else the nearest. */
static bool visit_nearest(void *ctx, const ev *e)
{
    nearest *k = ctx;
    bool holds = e->start_ns <= k->t.ns && e->end_ns > k->t.ns;
    double distance = fmax(moment_minus(moment_at(e->start_ns), k->t), moment_minus(k->t, moment_at(e->end_ns)));
    k->n++;
    if (!k->found || (holds && !k->holds) || (holds == k->holds && (holds || distance < k->distance_ns))) {
        k->best = *e;
        k->distance_ns = distance;
        k->holds = holds;
        k->found = true;
    }
    return true;
}

bool exact_event_at(scene *s, const scene_row *row, double x, ev *out, uint32_t *n_in_column)
{
    *n_in_column = 0;
    uint32_t n_tracks = 0;
    uint32_t one = 0;
    const uint32_t *tracks = row_tracks(s, row, &n_tracks, &one);
    uint32_t group = n_tracks > 0 ? group_of_events(s, tracks[0]) : NO_ID;
    if (group == NO_ID) {
        return false;
    }
    int64_t at = (int64_t)(floor(x) - (double)s->m.plot.x);
    event_window w = window_of_columns(&s->src.grid, at, at + 1);
    bool pending;
    block_span *span = column_span(s, group, w, &pending);
    if (pending) {
        s->frame.complete = false;
        s->src.n_wanted++;
    }
    nearest k = {.t = grid_moment(&s->src.grid, (double)at + 0.5)};
    visit_events(s, span, tracks, n_tracks, w, visit_nearest, &k);
    *n_in_column = k.n;
    *out = k.best;
    return k.found;
}

/* ------------------------------------------------------------------ hover */

void hover_update(scene *s)
{
    hover_state *h = &s->hover;
    *h = (hover_state){.x = (float)s->in.cursor_x, .y = (float)s->in.cursor_y};
    if (s->in.cursor_x < 0 || !inside(s->m.plot, s->in.cursor_x, s->in.cursor_y)) {
        return;
    }
    size_t i = row_at(s, s->in.cursor_y - (double)s->m.plot.y + s->scroll);
    if (i == SIZE_MAX) {
        return;
    }
    const scene_row *row = &s->tree.rows[i];
    h->valid = true;
    h->row = (uint32_t)i;
    if (row->kind == ROW_GROUP || row->kind == ROW_COUNTER) {
        return;
    }
    rect strip = row_strip_rect(s, row);
    if (s->in.cursor_y < (double)strip.y || s->in.cursor_y >= (double)(strip.y + strip.h)) {
        return;
    }
    const row_raster *r = raster_row(s, row);
    uint32_t column = (uint32_t)(s->in.cursor_x - (double)s->m.plot.x);
    if (column < r->n && r->cells[column].klass != CELL_EMPTY) {
        h->in_column = true;
        h->has_event = exact_event_at(s, row, s->in.cursor_x, &h->event, &h->n_events);
    }
}

/* ------------------------------------------------------------------ picking */

/* A wide event of the row at this time: the rasters keep them, so no block is needed. */
static bool wide_at(const row_raster *r, int64_t t_ns, uint64_t *event_row)
{
    bool found = false;
    for (size_t i = 0; i < r->n_wide; i++) {
        if (r->wide[i].e.start_ns <= t_ns && r->wide[i].e.end_ns > t_ns) {
            *event_row = r->wide[i].e.row;
            found = true;
        }
    }
    return found;
}

static const row_raster *kept_raster(const scene *s, const scene_row *row)
{
    const uint64_t *place = map64_get(&s->rasters.by_key, raster_key(row));
    return place ? s->rasters.items[*place - 1] : NULL;
}

static scene_pick pick_plot(scene *s, double x, double y, scene_pick p)
{
    size_t i = row_at(s, y - (double)s->m.plot.y + s->scroll);
    if (i == SIZE_MAX) {
        return p;
    }
    const scene_row *row = &s->tree.rows[i];
    p.row = (uint32_t)i;
    p.kind = PICK_ROW;
    p.event_row = bands_at(s, x, y);
    if (p.event_row != UINT64_MAX) {
        p.kind = PICK_BAND;
        return p;
    }
    const row_raster *r = kept_raster(s, row);
    uint32_t column = (uint32_t)(x - (double)s->m.plot.x);
    rect strip = row_strip_rect(s, row);
    bool on_strip = y >= (double)strip.y && y < (double)(strip.y + strip.h);
    if (!r || column >= r->n || r->cells[column].klass == CELL_EMPTY || !on_strip) {
        return p;
    }
    p.kind = PICK_CELL;
    bool same = s->hover.valid && s->hover.row == i && floor((double)s->hover.x) == floor(x);
    if (same && s->hover.has_event) {
        p.kind = PICK_EVENT;
        p.event_row = s->hover.event.row;
    } else if (wide_at(r, p.time.ns, &p.event_row)) {
        p.kind = PICK_EVENT;
    }
    return p;
}

static scene_pick pick_label(scene *s, double x, double y, scene_pick p)
{
    size_t i = row_at(s, y - (double)s->m.labels.y + s->scroll);
    if (i == SIZE_MAX) {
        return p;
    }
    const scene_row *row = &s->tree.rows[i];
    double arrow = (double)s->m.pad + (16.0 * row->indent + 14) * (double)s->m.s;
    p.kind = row->has_children && x < arrow ? PICK_ARROW : PICK_ROW;
    p.row = (uint32_t)i;
    return p;
}

static scene_pick pick_at(scene *s, double x, double y)
{
    scene_pick p = {.kind = PICK_NONE, .event_row = UINT64_MAX, .row = UINT32_MAX};
    p.time = moment_under(s, x);
    for (size_t i = 0; i < s->n_commands; i++) {
        if (inside(s->commands[i].r, x, y)) {
            p.kind = PICK_COMMAND;
            p.command = s->commands[i].command;
            return p;
        }
    }
    if (s->v.layout == LAYOUT_GRAPH) {
        return graph_pick(s, x, y, p);
    }
    if (inside(s->m.overview, x, y)) {
        p.kind = PICK_OVERVIEW;
        overview_span span = overview_span_of(s);
        double part = (x - (double)s->m.overview.x) / (double)s->m.overview.w;
        p.time = moment_plus(moment_at(span.t0_ns), part * (double)span.length_ns);
    } else if (s->v.layout == LAYOUT_COMMUNICATION) {
        return comm_pick(s, x, y, p);
    } else if (inside(s->m.axis, x, y)) {
        p.kind = PICK_AXIS;
    } else if (inside(s->m.plot, x, y) && s->v.layout == LAYOUT_STEPS) {
        p.kind = PICK_STEP;
    } else if (inside(s->m.plot, x, y)) {
        return pick_plot(s, x, y, p);
    } else if (inside(s->m.labels, x, y)) {
        return pick_label(s, x, y, p);
    }
    return p;
}

scene_pick scene_pick_at(scene *s, double x, double y)
{
    columns_enter_at(s, x);
    scene_pick p = pick_at(s, x, y);
    columns_leave(s);
    return p;
}

bool scene_fit_range(scene *s, const view *v, moment *t0, moment *t1)
{
    if (v->selection_t1_ns > v->selection_t0_ns) {
        *t0 = moment_at(v->selection_t0_ns);
        *t1 = moment_at(v->selection_t1_ns);
        return true;
    }
    store_event_info e;
    if (v->selected_row == UINT64_MAX || store_read_event(s->file, v->selected_row, &e, NULL) != MAREY_OK) {
        return false;
    }
    double margin = fmax((double)e.dur_ns * 0.1, 10);
    *t0 = moment_plus(moment_at(e.start_ns), -margin);
    *t1 = moment_plus(moment_at(e.start_ns + e.dur_ns), margin);
    return true;
}
