/* Cells of heat beside the rows, their headings, the marks of findings on the rows, and what these say under the
 * pointer. */
#include <string.h>

#include "scene/heat.h"
#include "scene/tip.h"

enum { PITCH_DP = 26, CELL_W_DP = 18, CELL_H_DP = 16, GAP_DP = 10, WRAP = 78 };
static const double CELL_ROW_DP = 6; /* lower rows share cells */
static const float SLOT_DP = 4;      /* height of a shared cell */

static const char *const commands[HEAT_COLUMNS] = {"sort-busy",  "sort-compute", "sort-exposed",
                                                   "sort-wait",  "sort-idle",    "sort-late",
                                                   "sort-flops", "sort-mfu",     "sort-memory"};

static const char *const meanings[HEAT_COLUMNS] = {
    "Something runs on the device: the union, as a share of the step.",
    "Computation runs: the union, as a share of the step.",
    "Exposed communication: it runs and nothing computes; the union, as a share of the step.",
    "Waiting inside collectives and transfers: what each took longer than its shortest member. A sum over calls.",
    "Nothing runs on the device: a share of the step.",
    "Of its collectives of three ranks or more inside one stage, those in which this rank came last. Of the whole run.",
    "Floating point operations per second, as the input states: a mean where it states several. Of the whole run.",
    "The same over the device's peak, as the input states. Of the whole run.",
    "The peak memory that the input states, else the highest sample of the memory counters. Of the whole run.",
};

float heat_width(const scene *s)
{
    const heat_view *h = s->heat;
    return h && h->is_shown ? px(s, GAP_DP) + px(s, PITCH_DP) * (float)h->n_columns : 0;
}

static float column_x(const scene *s, uint32_t column)
{
    return s->m.heat.x + px(s, PITCH_DP) * (float)column + floorf((px(s, PITCH_DP) - px(s, CELL_W_DP)) / 2);
}

/* ------------------------------------------------------------------ cells */

static void draw_cell_at(scene *s, uint32_t column, float y, float h, double place)
{
    rect r = {column_x(s, column), y, px(s, CELL_W_DP), h};
    float radius = h >= px(s, 8) ? px(s, 2) : 0;
    rgba none = {0, 0, 0, 0};
    if (isnan(place)) {
        draw_round(s->l, LAYER_PANELS, r, radius, none, fmaxf(1, px(s, 1)), s->t->hairline);
    } else {
        draw_round(s->l, LAYER_PANELS, r, radius, heat_colour(s->t, place), 0, none);
    }
}

static double place_of(const scene *s, const scene_row *row, uint32_t column)
{
    const heat_view *h = s->heat;
    double value = heat_of_row(s, row, h->columns[column]);
    return isnan(value) ? value : heat_place(&h->scales[h->columns[column]], value);
}

static void draw_row_cells(scene *s, const scene_row *row, float y, float h)
{
    float cell = fminf(px(s, CELL_H_DP), fmaxf(h - px(s, 2), 3));
    for (uint32_t c = 0; c < s->heat->n_columns; c++) {
        draw_cell_at(s, c, y + floorf((h - cell) / 2), cell, place_of(s, row, c));
    }
}

/* Rows lower than a cell: the highest value of those that share a slot, so that none is hidden by its neighbours. */
typedef struct slot {
    int64_t at; /* -1: none yet */
    double places[HEAT_COLUMNS];
} slot;

static void draw_slot(scene *s, const slot *k)
{
    float h = px(s, SLOT_DP);
    float y = s->m.heat.y + (float)k->at * h;
    for (uint32_t c = 0; k->at >= 0 && c < s->heat->n_columns; c++) {
        if (!isnan(k->places[c])) {
            draw_cell_at(s, c, y, h, k->places[c]);
        }
    }
}

static void add_to_slot(scene *s, slot *k, const scene_row *row, double middle)
{
    int64_t at = (int64_t)floor((middle - (double)s->m.heat.y) / (double)px(s, SLOT_DP));
    if (at != k->at) {
        draw_slot(s, k);
        *k = (slot){.at = at};
        for (uint32_t c = 0; c < HEAT_COLUMNS; c++) {
            k->places[c] = (double)NAN;
        }
    }
    for (uint32_t c = 0; c < s->heat->n_columns; c++) {
        double place = place_of(s, row, c);
        k->places[c] = place > k->places[c] || isnan(k->places[c]) ? place : k->places[c];
    }
}

static void draw_cells(scene *s)
{
    slot shared = {.at = -1};
    for (size_t i = s->first_visible; i < s->end_visible; i++) {
        const scene_row *row = &s->tree.rows[i];
        double top = (double)s->m.labels.y + row->y - s->scroll;
        if (row->kind != ROW_GROUP && row->kind != ROW_RANK) {
            continue;
        }
        if (row->h < CELL_ROW_DP * (double)s->m.s) {
            add_to_slot(s, &shared, row, top + row->h / 2);
        } else {
            draw_row_cells(s, row, snap(top), snap(top + row->h) - snap(top));
        }
    }
    draw_slot(s, &shared);
}

/* ------------------------------------------------------------------ headings */

static void draw_sorted(scene *s, rect r)
{
    float w = px(s, 3);
    float x = r.x + floorf(r.w / 2);
    float y = r.y + r.h - px(s, 5);
    float peak = s->v.sort_ascending ? y - w : y + w;
    draw_triangle(s->l, LAYER_PANELS, (float[3]){x - w, x + w, x}, (float[3]){y, y, peak}, s->t->accent);
}

static void draw_headings(scene *s)
{
    const heat_view *h = s->heat;
    for (uint32_t c = 0; c < h->n_columns; c++) {
        rect r = {s->m.heat.x + px(s, PITCH_DP) * (float)c, s->m.axis.y, px(s, PITCH_DP), s->m.axis.h};
        bool sorted = s->v.order == ORDER_HEAT && s->v.sort_column == h->columns[c];
        bool hovered = inside(r, s->in.cursor_x, s->in.cursor_y);
        rgba colour = sorted || hovered ? s->t->text : s->t->dim;
        (void)put_text(s, LAYER_PANELS, FACE_SANS, 10.5, r, TEXT_CENTRE, colour, heat_column_name(h->columns[c]));
        if (sorted) {
            draw_sorted(s, r);
        }
        add_command(s, r, commands[h->columns[c]]);
    }
}

void heat_draw(scene *s)
{
    if (s->m.heat.w <= 0) {
        return;
    }
    draw_headings(s);
    draw_push_clip(s->l, s->m.heat);
    draw_cells(s);
    draw_pop_clip(s->l);
}

/* ------------------------------------------------------------------ marks of findings */

static bool is_whole_run(const finding *f)
{
    return f->t1_ns <= f->t0_ns;
}

/* Where the mark of a row's finding stands on its strip. @return false when it has none there */
static bool mark_place(const scene *s, const scene_row *row, float *x, float *y)
{
    const finding *f = heat_finding(s, row);
    if (!f || is_whole_run(f) || f->t1_ns <= moment_floor(s->v.t0) || f->t0_ns >= moment_ceil(s->v.t1)) {
        return false;
    }
    double left = (double)s->m.plot.x + 5 * (double)s->m.s;
    rect strip = row_strip_rect(s, row);
    *x = (float)fmax(x_of(s, f->t0_ns), left);
    *y = strip.y;
    return true;
}

void heat_draw_marks(scene *s)
{
    float next = -1e9F;
    float w = px(s, 4.5);
    draw_push_clip(s->l, s->m.plot);
    for (size_t i = s->first_visible; i < s->end_visible; i++) {
        float x;
        float y;
        if (!mark_place(s, &s->tree.rows[i], &x, &y) || y < next) {
            continue;
        }
        draw_triangle(s->l, LAYER_MARKS, (float[3]){x - w, x + w, x}, (float[3]){y, y, y + w * 1.6F}, s->t->severity);
        next = y + w;
    }
    draw_pop_clip(s->l);
}

/* ------------------------------------------------------------------ tooltips */

static void row_name(const scene *s, const scene_row *row, char *out, size_t cap)
{
    bool is_group = row->kind == ROW_GROUP;
    (void)snprintf(out, cap, "%s", is_group ? s->tree.groups[row->id].name : s->model->ranks[row->id].label);
}

/* Broken between words into lines of their own. */
static void add_wrapped(tip *t, const char *text)
{
    size_t n = strlen(text);
    for (size_t i = 0; i < n;) {
        size_t end = n - i <= WRAP ? n : i + WRAP;
        while (end < n && end > i && text[end] != ' ') {
            end--;
        }
        end = end > i ? end : n;
        (void)tip_add(t, "", "%.*s", (int)(end - i), text + i);
        i = end + (end < n);
    }
}

static void add_group_lines(const scene *s, tip *t, const rank_group *g, heat_column c)
{
    const double *values = s->heat->values;
    uint32_t low = NO_ID;
    uint32_t high = NO_ID;
    uint32_t n = 0;
    for (uint32_t i = 0; i < g->n; i++) {
        uint32_t r = s->tree.group_ranks[g->first + i];
        double v = values[(size_t)r * HEAT_COLUMNS + c];
        n += isnan(v) ? 0 : 1;
        low = !isnan(v) && (low == NO_ID || v < values[(size_t)low * HEAT_COLUMNS + c]) ? r : low;
        high = !isnan(v) && (high == NO_ID || v > values[(size_t)high * HEAT_COLUMNS + c]) ? r : high;
    }
    const uint32_t ends[] = {low, high};
    for (int k = 0; k < 2 && n > 0; k++) {
        char text[48];
        heat_value_text(c, values[(size_t)ends[k] * HEAT_COLUMNS + c], text, sizeof text);
        (void)tip_add(t, k ? "highest" : "lowest", "%s \xC2\xB7 %s", text, s->model->ranks[ends[k]].label);
    }
}

static void add_value_lines(const scene *s, tip *t, const scene_row *row, heat_column c)
{
    const heat_view *h = s->heat;
    char text[48];
    char other[48];
    heat_value_text(c, heat_of_row(s, row, c), text, sizeof text);
    if (row->kind == ROW_GROUP) {
        (void)tip_add(t, "mean over ranks", "%s", text);
        add_group_lines(s, t, &s->tree.groups[row->id], c);
    } else {
        (void)tip_add(t, "value", "%s", text);
    }
    if (h->scales[c].least <= h->scales[c].most) {
        heat_value_text(c, h->scales[c].least, text, sizeof text);
        heat_value_text(c, h->scales[c].most, other, sizeof other);
        (void)tip_add(t, "all ranks", "%s to %s", text, other);
        heat_value_text(c, h->scales[c].low, text, sizeof text);
        heat_value_text(c, h->scales[c].high, other, sizeof other);
        (void)tip_add(t, "colours", "%s to %s", text, other);
    }
}

static void add_reason(tip *t, const finding *f)
{
    (void)snprintf(t->title, sizeof t->title, "%s", finding_kind_name(f->kind));
    (void)snprintf(t->subtitle, sizeof t->subtitle, "severity %.2f of 1 \xC2\xB7 %s", f->severity, f->formula);
    add_wrapped(t, f->text);
    for (uint32_t i = 0; i < f->n_numbers && t->n < TIP_MAX_LINES - 1; i++) {
        const char *name = f->numbers[i].name;
        size_t n = strlen(name);
        if (n > 3 && strcmp(name + n - 3, "_ns") == 0) {
            char text[64];
            time_format((int64_t)f->numbers[i].value, text, sizeof text);
            (void)tip_add(t, name, "%s", text);
        } else {
            (void)tip_add(t, name, "%.6g", f->numbers[i].value);
        }
    }
}

static bool describe_heading(const scene *s, tip *t)
{
    const heat_view *h = s->heat;
    double x = s->in.cursor_x - (double)s->m.heat.x;
    rect r = {s->m.heat.x, s->m.axis.y, s->m.heat.w, s->m.axis.h};
    uint32_t c = (uint32_t)fmax(x / (double)px(s, PITCH_DP), 0);
    if (!inside(r, s->in.cursor_x, s->in.cursor_y) || c >= h->n_columns) {
        return false;
    }
    (void)snprintf(t->title, sizeof t->title, "%s", heat_column_name(h->columns[c]));
    (void)snprintf(t->subtitle, sizeof t->subtitle, "click: sort by it; again: the other way; again: by rank");
    add_wrapped(t, meanings[h->columns[c]]);
    return true;
}

static bool describe_cell(scene *s, tip *t, const scene_row *row)
{
    const heat_view *h = s->heat;
    double x = s->in.cursor_x - (double)s->m.heat.x;
    uint32_t c = (uint32_t)fmax(x / (double)px(s, PITCH_DP), 0);
    if (c >= h->n_columns || (row->kind != ROW_RANK && row->kind != ROW_GROUP)) {
        return false;
    }
    char name[64];
    row_name(s, row, name, sizeof name);
    (void)snprintf(t->title, sizeof t->title, "%s \xC2\xB7 %s", name, heat_column_name(h->columns[c]));
    if (!h->diagnosis) {
        const char *error = insight_error(h->insight);
        add_wrapped(t, error ? error : "The run is being read for this.");
        return true;
    }
    char steps[64];
    bool of_run = h->columns[c] >= HEAT_LATE;
    heat_steps_text(s, h->steps, steps, sizeof steps);
    (void)snprintf(t->subtitle, sizeof t->subtitle, "%s, exact", of_run ? "the whole run" : steps);
    add_value_lines(s, t, row, h->columns[c]);
    add_wrapped(t, meanings[h->columns[c]]);
    return true;
}

/* Of the mark on a row under the pointer, or of the one beside a rank's name. */
static bool describe_mark(scene *s, tip *t)
{
    double cx = s->in.cursor_x;
    double cy = s->in.cursor_y;
    bool in_labels = inside(s->m.labels, cx, cy) && !inside(s->m.heat, cx, cy);
    if (!in_labels && !inside(s->m.plot, cx, cy)) {
        return false;
    }
    size_t i = row_at(s, cy - (double)s->m.plot.y + s->scroll);
    const finding *f = i == SIZE_MAX ? NULL : heat_finding(s, &s->tree.rows[i]);
    float x;
    float y;
    double reach = 7 * (double)s->m.s;
    bool on_mark = f && !in_labels && mark_place(s, &s->tree.rows[i], &x, &y) && fabs(cx - (double)x) < reach &&
                   cy >= (double)y && cy < (double)y + reach;
    if (!f || (!in_labels && !on_mark)) {
        return false;
    }
    add_reason(t, f);
    return true;
}

bool heat_draw_tip(scene *s)
{
    bool rows = s->v.layout == LAYOUT_MAREY || s->v.layout == LAYOUT_STEPS;
    if (!s->heat || !rows || s->v.show_help) {
        return false;
    }
    tip *t = arena_alloc(&s->scratch, sizeof *t);
    memset(t, 0, sizeof *t);
    t->klass = CELL_EMPTY;
    bool found = describe_mark(s, t) || (s->m.heat.w > 0 && describe_heading(s, t));
    if (!found && s->m.heat.w > 0 && inside(s->m.heat, s->in.cursor_x, s->in.cursor_y)) {
        size_t i = row_at(s, s->in.cursor_y - (double)s->m.labels.y + s->scroll);
        found = i != SIZE_MAX && describe_cell(s, t, &s->tree.rows[i]);
    }
    if (found) {
        tip_draw(s, t);
    }
    return found;
}
