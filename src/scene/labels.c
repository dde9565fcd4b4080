/* The row labels: the tree's arrows, names, faint hosts. Rows too low for text share the room: a label every so often.
 */
#include <string.h>

#include "scene/heat.h"

enum { INDENT_DP = 16, ARROW_DP = 14 };

/* Ranks as a range, where they are one: "ranks 16–19". */
static void group_detail(const scene *s, const rank_group *g, char *out, size_t cap)
{
    int64_t low = INT64_MAX;
    int64_t high = INT64_MIN;
    for (uint32_t i = 0; i < g->n; i++) {
        int64_t r = s->model->ranks[s->tree.group_ranks[g->first + i]].rank;
        low = r < low ? r : low;
        high = r > high ? r : high;
    }
    if (g->n == 1) {
        (void)snprintf(out, cap, "rank %lld", (long long)low);
    } else if (high - low + 1 == (int64_t)g->n) {
        (void)snprintf(out, cap, "ranks %lld\xE2\x80\x93%lld", (long long)low, (long long)high);
    } else {
        (void)snprintf(out, cap, "%u ranks", g->n);
    }
}

typedef struct row_text {
    const char *name;
    char detail[96];
    text_face face;
    rgba colour;
} row_text;

/* Streams of two devices that one process drives are called alike: the device is the process's number there. */
static const char *pid_among_namesakes(const trace_model *m, const trace_lane *lane)
{
    enum { FEW_LANES = 1024 }; /* looked through for each row on screen */
    const trace_rank *r = &m->ranks[lane->rank];
    if (r->n_lanes > FEW_LANES) {
        return NULL;
    }
    const char *pid = lane->thread == NO_ID ? "" : m->threads[lane->thread].pid;
    bool found = false;
    for (uint32_t i = r->first_lane; i < r->first_lane + r->n_lanes && !found; i++) {
        const trace_lane *other = &m->lanes[i];
        found = other->thread != NO_ID && other->kind == lane->kind && strcmp(other->name, lane->name) == 0 &&
                strcmp(m->threads[other->thread].pid, pid) != 0;
    }
    return found ? pid : NULL;
}

static row_text text_of(const scene *s, const scene_row *row)
{
    row_text t = {.name = "", .face = FACE_SANS, .colour = s->t->text};
    const trace_model *m = s->model;
    switch ((row_kind)row->kind) {
    case ROW_GROUP:
        t.name = s->tree.groups[row->id].name;
        t.face = FACE_SANS_BOLD;
        group_detail(s, &s->tree.groups[row->id], t.detail, sizeof t.detail);
        break;
    case ROW_RANK:
        t.name = m->ranks[row->id].label;
        t.face = row->indent == 0 && row->is_open ? FACE_SANS_BOLD : FACE_SANS;
        (void)snprintf(t.detail, sizeof t.detail, "%s", m->ranks[row->id].host);
        break;
    case ROW_LANE: {
        t.name = m->lanes[row->id].name;
        t.colour = s->t->dim;
        (void)snprintf(t.detail, sizeof t.detail, "%s", trace_kind_name(m->lanes[row->id].kind));
        const char *pid = pid_among_namesakes(m, &m->lanes[row->id]);
        if (pid) {
            (void)snprintf(t.detail, sizeof t.detail, "pid %s", pid);
        }
        break;
    }
    case ROW_COUNTER:
        t.name = m->counters[row->id].name;
        t.colour = s->t->dim;
        break;
    case ROW_TRACK:
        break;
    }
    return t;
}

/* Room for the name, and for what tells it from another lane of the same thread: without the word before its number, if
 * need be. A lane of no thread has nothing else to its name. */
static void shorten(scene *s, row_text *t, double size, float room)
{
    static const char word[] = "thread ";
    const char *rest = strncmp(t->name, word, sizeof word - 1) == 0 ? t->name + sizeof word - 1 : NULL;
    if (rest && !*rest) {
        t->name = "no thread";
        return;
    }
    if (!rest) {
        return;
    }
    float detail = px(s, 10) + width_of(s, FACE_SANS, 11, t->detail);
    float name = width_of(s, t->face, size, t->name);
    bool tells = strcmp(t->detail, trace_kind_name(KIND_CPU)) != 0; /* most threads are that */
    bool helps = tells && name + detail > room && width_of(s, t->face, size, rest) + detail <= room;
    if (helps || name > room) {
        t->name = rest;
    }
}

static void draw_arrow(scene *s, float x, float middle, bool open, rgba c)
{
    float h = px(s, 3.5);
    if (open) {
        float y = floorf(middle) - h / 2;
        draw_triangle(s->l, LAYER_PANELS, (float[3]){x, x + 2 * h, x + h}, (float[3]){y, y, y + h * 1.3F}, c);
    } else {
        float left = x + h / 2;
        draw_triangle(s->l, LAYER_PANELS, (float[3]){left, left, left + h * 1.3F},
                      (float[3]){middle - h, middle + h, middle}, c);
    }
}

/* The diagnosis names this rank or stage: the same mark as everywhere, at the end of its label. */
static void draw_rank_mark(scene *s, float right, float middle)
{
    float w = px(s, 4);
    float y = floorf(middle) - w / 2;
    draw_triangle(s->l, LAYER_PANELS, (float[3]){right - 2 * w, right, right - w}, (float[3]){y, y, y + w * 1.5F},
                  s->t->severity);
}

static bool is_marked(const scene *s, const scene_row *row)
{
    bool told = row->kind == ROW_RANK && s->in.rank_marks && s->in.rank_marks[row->id] > 0;
    return told || heat_finding(s, row) != NULL;
}

static void draw_label(scene *s, const scene_row *row, float y, float h, bool hovered)
{
    row_text t = text_of(s, row);
    float x = s->m.pad + px(s, row->indent * INDENT_DP);
    float right = s->m.labels.x + s->m.labels.w - s->m.heat.w - px(s, 10);
    if (row->has_children) {
        draw_arrow(s, x, y + h / 2, row->is_open, hovered ? s->t->text : s->t->dim);
    }
    x += px(s, ARROW_DP);
    if (is_marked(s, row)) {
        draw_rank_mark(s, right, y + h / 2);
        right -= px(s, 16);
        t.face = FACE_SANS_BOLD;
    }
    double size = row->kind == ROW_LANE || row->kind == ROW_COUNTER ? 11.5 : 12.5;
    rect box = {x, y, right - x, h};
    if (row->kind == ROW_LANE) {
        shorten(s, &t, size, box.w);
    }
    float used = put_text(s, LAYER_PANELS, t.face, size, box, TEXT_LEFT, t.colour, t.name);
    box.x += used + px(s, 10);
    box.w -= used + px(s, 10);
    if (t.detail[0] && used > 0 && width_of(s, FACE_SANS, 11, t.detail) <= box.w) { /* whole, or not at all */
        rgba c = row->kind == ROW_GROUP ? s->t->dim : s->t->faint; /* hosts are decoration, ranges are not */
        (void)put_text(s, LAYER_PANELS, FACE_SANS, 11, box, TEXT_LEFT, c, t.detail);
    }
}

static void draw_hovered_row(scene *s, const scene_row *row, float y)
{
    rect r = {0, y, s->m.labels.w, (float)row->h};
    draw_rect(s->l, LAYER_GROUND, r, rgba_with_alpha(s->t->raised, 255));
}

/* The row under the pointer, beside the names or in the plot. */
static size_t row_under_pointer(const scene *s)
{
    bool over =
        inside(s->m.labels, s->in.cursor_x, s->in.cursor_y) || inside(s->m.plot, s->in.cursor_x, s->in.cursor_y);
    return over && !s->v.show_help ? row_at(s, s->in.cursor_y - (double)s->m.labels.y + s->scroll) : SIZE_MAX;
}

/* Where a row's name stands: in the row, or about its middle where that is lower than a line. */
typedef struct label_place {
    float y, h, middle;
    bool is_low, is_whole;
} label_place;

static label_place place_label(const scene *s, const scene_row *row, float line)
{
    label_place p = {.y = snap((double)s->m.labels.y + row->y - s->scroll)};
    p.h = snap((double)s->m.labels.y + row->y + row->h - s->scroll) - p.y;
    p.middle = floorf(fminf(p.y + (p.h - line) / 2, s->m.labels.y + s->m.labels.h - line));
    p.is_low = p.h < line;
    rect box = {0, p.is_low ? p.middle : p.y, 1, p.is_low ? line : p.h};
    p.is_whole = row->kind != ROW_TRACK && text_fits_in(s, box, s->m.labels);
    return p;
}

/* A row that is too low for its name shows it while the pointer is on it, in place of its neighbours' names.
 * @return the y of its line; out of sight: there is none */
static float draw_low_label(scene *s, size_t over, float line)
{
    float none = -1e6F;
    if (over < s->first_visible || over >= s->end_visible) {
        return none;
    }
    const scene_row *row = &s->tree.rows[over];
    label_place p = place_label(s, row, line);
    if (!p.is_low || !p.is_whole) {
        return none;
    }
    rect r = {0, p.middle, s->m.labels.w - s->m.heat.w, line};
    draw_rect(s->l, LAYER_GROUND, r, s->t->raised);
    draw_label(s, row, p.middle, line, true);
    return p.middle;
}

void draw_labels(scene *s)
{
    float next = -1e9F; /* first y at which a label has room */
    float line = px(s, 15);
    draw_push_clip(s->l, (rect){0, s->m.labels.y, s->m.labels.w, s->m.labels.h});
    size_t over = row_under_pointer(s);
    float low = draw_low_label(s, over, line);
    for (size_t i = s->first_visible; i < s->end_visible; i++) {
        const scene_row *row = &s->tree.rows[i];
        label_place p = place_label(s, row, line);
        float top = p.is_low ? p.middle : p.y;
        bool meets_low = top + (p.is_low ? line : p.h) > low && top < low + line;
        if (!p.is_whole || meets_low || (p.middle < next && row->kind != ROW_GROUP)) {
            continue;
        }
        if (i == over && !p.is_low) {
            draw_hovered_row(s, row, p.y);
        }
        draw_label(s, row, top, p.is_low ? line : p.h, i == over);
        next = p.is_low ? p.middle + line : p.y + p.h;
    }
    draw_pop_clip(s->l);
}
