/*
 * Memory and FLOP/s as lines inside the rows of devices. A column shows the highest value in it as the line, and down
 * to the lowest a shade: so that no peak is lost at any zoom. All rows share one scale, from 0 to the most of those on
 * screen over the whole run.
 */
#include "scene/lines.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_QUADS = 60000, SHADE_ALPHA = 70, HALO_ALPHA = 150 };
static const double LINE_ROW_DP = 18; /* lower strips have no room for a line */
static const int NOTHING = -1;

/* px from the strip's top; NOTHING where no value is known, or where it is 0 throughout. */
typedef struct column_place {
    int high, low;
} column_place;

static bool shows_kind(const scene *s, int kind)
{
    uint8_t lines = s->v.lines;
    return lines == LINES_ALL || (kind == LINE_MEMORY ? lines == LINES_MEMORY : lines == LINES_FLOPS);
}

static bool is_line_row(const scene *s, const scene_row *row)
{
    return row->kind == ROW_RANK && row_strip_rect(s, row).h >= (float)(LINE_ROW_DP * (double)s->m.s);
}

void lines_prepare(scene *s)
{
    bool wanted = s->v.layout == LAYOUT_MAREY && s->v.lines != LINES_OFF;
    line_view *v = s->lines;
    if (!v && wanted) {
        v = s->lines = mem_calloc(1, sizeof *v);
        v->data = line_data_create(s->file, (line_tracks){s->rank_first_track, s->device_tracks});
        line_data_set_wake(v->data, s->wake, s->wake_ctx);
    }
    if (!v) {
        return;
    }
    *v = (line_view){.data = v->data, .is_shown = wanted};
    line_data_frame(v->data);
    bool is_due = false;
    for (size_t i = s->first_visible; wanted && i < s->end_visible; i++) {
        const scene_row *row = &s->tree.rows[i];
        const rank_lines *l = is_line_row(s, row) ? line_data_get(v->data, row->rank, &is_due) : NULL;
        for (int k = 0; l && k < LINE_KINDS; k++) {
            v->top[k] = shows_kind(s, k) ? fmax(v->top[k], l->of[k].most) : 0;
            v->too_many = v->too_many || l->too_many[k];
        }
    }
    s->frame.complete = s->frame.complete && !is_due;
    s->frame.line_memory_top = v->top[LINE_MEMORY];
    s->frame.line_flops_top = v->top[LINE_FLOPS];
}

/* ------------------------------------------------------------------ drawing */

/* Colours that no class of events has, on a halo of ground: they lie on bars of any colour. */
static rgba colour_of(const scene *s, int kind)
{
    return kind == LINE_MEMORY ? s->t->line_memory : s->t->line_flops;
}

static void find_places(const scene *s, const step_series *series, double top, int height, const event_window *windows,
                        column_place *out)
{
    uint32_t n = s->src.grid.n;
    for (uint32_t i = 0; i < n; i++) {
        double low = 0;
        double high = 0;
        event_window w = windows[i];
        out[i] = (column_place){NOTHING, NOTHING};
        bool in_run = w.end_ns > 0 && w.floor_ns < s->model->duration_ns;
        if (in_run && series_range(series, w, &low, &high) && high > 0) {
            out[i].high = (int)lround((1 - fmin(high / top, 1)) * height);
            out[i].low = (int)lround((1 - fmin(fmax(low / top, 0), 1)) * height);
        }
    }
}

/* Joins what lies beside each other at one height. Halos come before all lines, so that none cuts a line. */
static void draw_runs(scene *s, const column_place *v, rect area, float thick, float grow, rgba c)
{
    uint32_t n = s->src.grid.n;
    int before = NOTHING;
    for (uint32_t i = 0; i < n;) {
        int at = v[i].high;
        uint32_t end = i + 1;
        while (end < n && v[end].high == at) {
            end++;
        }
        if (at != NOTHING) {
            rect r = {area.x + (float)i, area.y + (float)at, (float)(end - i), thick};
            draw_rect(s->l, LAYER_MARKS, (rect){r.x - grow, r.y - grow, r.w + 2 * grow, r.h + 2 * grow}, c);
            int jump = before == NOTHING ? 0 : abs(at - before);
            float top = area.y + (float)(at < before ? at : before);
            if (jump > (int)thick) { /* a step: the vertical between the two heights */
                rect up = {r.x - grow, top + thick, thick + 2 * grow, (float)jump - thick};
                draw_rect(s->l, LAYER_MARKS, up, c);
            }
        }
        before = at;
        i = end;
    }
}

static void draw_shade(scene *s, const column_place *v, rect area, float thick, rgba c)
{
    uint32_t n = s->src.grid.n;
    for (uint32_t i = 0; i < n;) {
        uint32_t end = i + 1;
        while (end < n && v[end].high == v[i].high && v[end].low == v[i].low) {
            end++;
        }
        float y = area.y + (float)v[i].high + thick;
        float h = area.y + (float)v[i].low - y;
        if (v[i].high != NOTHING && h >= 1) {
            draw_rect(s->l, LAYER_MARKS, (rect){area.x + (float)i, y, (float)(end - i), h}, c);
        }
        i = end;
    }
}

static void draw_row_line(scene *s, const scene_row *row, int kind, const event_window *windows, column_place *scratch)
{
    bool is_due = false;
    const rank_lines *l = line_data_get(s->lines->data, row->rank, &is_due);
    double top = s->lines->top[kind];
    if (!l || l->of[kind].n == 0 || !(top > 0)) {
        return;
    }
    rect strip = row_strip_rect(s, row);
    float thick = fmaxf(1, px(s, 1.5));
    float inset = px(s, 2);
    rect area = {strip.x, strip.y + inset, strip.w, strip.h - 2 * inset - thick};
    find_places(s, &l->of[kind], top, (int)area.h, windows, scratch);
    rgba c = colour_of(s, kind);
    draw_shade(s, scratch, area, thick, rgba_with_alpha(c, SHADE_ALPHA));
    draw_runs(s, scratch, area, thick, fmaxf(1, px(s, 1)), rgba_with_alpha(s->t->ground, HALO_ALPHA));
    draw_runs(s, scratch, area, thick, 0, c);
}

void lines_draw(scene *s)
{
    line_view *v = s->lines;
    if (!v || !v->is_shown || s->src.grid.n == 0) {
        return;
    }
    column_place *scratch = arena_alloc(&s->scratch, s->src.grid.n * sizeof *scratch);
    event_window *windows = arena_alloc(&s->scratch, s->src.grid.n * sizeof *windows);
    for (uint32_t i = 0; i < s->src.grid.n; i++) {
        windows[i] = window_of_columns(&s->src.grid, i, (int64_t)i + 1);
    }
    size_t before = s->l->n_quads;
    draw_push_clip(s->l, s->m.plot);
    for (int k = LINE_KINDS - 1; k >= 0; k--) { /* memory on top */
        for (size_t i = s->first_visible; i < s->end_visible && s->l->n_quads - before < MAX_QUADS; i++) {
            if (is_line_row(s, &s->tree.rows[i])) {
                draw_row_line(s, &s->tree.rows[i], k, windows, scratch);
            }
        }
    }
    draw_pop_clip(s->l);
}

/* ------------------------------------------------------------------ in words */

static void value_text(int kind, double value, char *out, size_t cap)
{
    if (kind == LINE_MEMORY) {
        bytes_format((uint64_t)fmax(value, 0), out, cap);
        return;
    }
    static const struct {
        double size;
        const char *name;
    } units[] = {{1e15, "PFLOP/s"}, {1e12, "TFLOP/s"}, {1e9, "GFLOP/s"}, {1e6, "MFLOP/s"}, {0, "FLOP/s"}};
    size_t i = 0;
    while (value < units[i].size) {
        i++;
    }
    (void)snprintf(out, cap, "%.4g %s", units[i].size > 0 ? value / units[i].size : value, units[i].name);
}

static void exact_text(int kind, double low, double high, char *out, size_t cap)
{
    char a[48];
    char b[48];
    value_text(kind, low, a, sizeof a);
    value_text(kind, high, b, sizeof b);
    if (low < high) {
        (void)snprintf(out, cap, "%s to %s in this column", a, b);
    } else if (kind == LINE_MEMORY) {
        count_format((uint64_t)fmax(high, 0), a, sizeof a);
        (void)snprintf(out, cap, "%s \xC2\xB7 %s B", b, a);
    } else {
        (void)snprintf(out, cap, "%s", b);
    }
}

int lines_add_tip(scene *s, tip *t, const scene_row *row, uint32_t column)
{
    const line_view *v = s->lines;
    bool is_due = false;
    int added = 0;
    if (!v || !v->is_shown || row->kind != ROW_RANK || !is_line_row(s, row)) {
        return 0;
    }
    const rank_lines *l = line_data_get(v->data, row->rank, &is_due);
    event_window w = window_of_columns(&s->src.grid, column, (int64_t)column + 1);
    for (int k = 0; l && k < LINE_KINDS; k++) {
        double low = 0;
        double high = 0;
        char text[128];
        if (!shows_kind(s, k) || !series_range(&l->of[k], w, &low, &high) || (k == LINE_FLOPS && !(high > 0))) {
            continue;
        }
        exact_text(k, low, high, text, sizeof text);
        (void)tip_add(t, k == LINE_MEMORY ? "memory" : "FLOP/s", "%s", text);
        added++;
        if (k == LINE_MEMORY) {
            (void)tip_add(t, "counter", "%s", l->memory_name);
            added++;
        }
    }
    return added;
}

void lines_status(const scene *s, char *out, size_t cap)
{
    const line_view *v = s->lines;
    size_t n = 0;
    out[0] = '\0';
    for (int k = 0; v && v->is_shown && k < LINE_KINDS && n < cap; k++) {
        char text[48];
        if (v->top[k] > 0) {
            value_text(k, v->top[k], text, sizeof text);
            int wrote = snprintf(out + n, cap - n, "%s%s to %s",
                                 n ? ", " : "lines: ", k == LINE_MEMORY ? "memory" : "FLOP/s", text);
            n += wrote > 0 ? (size_t)wrote : 0;
        }
    }
    if (v && v->is_shown && v->too_many && n < cap) {
        (void)snprintf(out + n, cap - n, "%ssome have too many samples to draw", n ? ", " : "lines: ");
    }
}

void scene_line_text(double value, bool is_memory, char *out, size_t cap)
{
    value_text(is_memory ? LINE_MEMORY : LINE_FLOPS, value, out, cap);
}

void lines_set_wake(scene *s)
{
    if (s->lines) {
        line_data_set_wake(s->lines->data, s->wake, s->wake_ctx);
    }
}

bool lines_settle(scene *s)
{
    return s->lines && line_data_settle(s->lines->data);
}

void lines_free(line_view **pv)
{
    if (*pv) {
        line_data_destroy(&(*pv)->data);
        free(*pv);
        *pv = NULL;
    }
}
