/* Who sends how much to whom: one cell a pair. Large cells hold a box plot of the single operations with their
 * outliers; small ones a colour; where even that is too small, blocks of ranks stand for their members. */
#include <string.h>

#include "scene/comm_view.h"

enum { BOX_CELL_DP = 44, QUAD_CELL_DP = 7, DOT_CELL_DP = 13, LEAST_CELL_PX = 3, LABEL_DP = 44 };

static const double FAINTEST = 0.16; /* of the colour, for the smallest value */

typedef struct matrix_job {
    scene *s;
    const comm_units *u;
    comm_measure measure;
    float x, y, cell;                 /* px */
    double least_single, most_single; /* of all cells: one scale for their box plots */
} matrix_job;

static double cell_strength(const matrix_job *j, const unit_link *k)
{
    double most = j->u->most[j->measure];
    double part = most > 0 ? unit_link_value(k, j->measure) / most : 0;
    return FAINTEST + (1 - FAINTEST) * part;
}

/* ------------------------------------------------------------------ small cells: a strip a row */

static void draw_strips(const matrix_job *j)
{
    const comm_units *u = j->u;
    size_t width = (size_t)(j->cell * (float)u->n);
    size_t at = 0;
    for (uint32_t row = 0; row < u->n; row++) {
        rect r = {j->x, j->y + j->cell * (float)row, (float)width, j->cell};
        bool any = at < u->n_links && u->links[at].from == row;
        draw_cell *cells = any ? draw_add_strip(j->s->l, LAYER_DATA, r, width, false) : NULL;
        for (; at < u->n_links && u->links[at].from == row; at++) {
            const unit_link *k = &u->links[at];
            uint8_t klass = unit_link_kind(k) == LINK_P2P ? CLASS_SEND : CLASS_COLLECTIVE;
            draw_cell cell = {klass, 255, 0, (uint8_t)(255 * cell_strength(j, k))};
            for (size_t i = 0; i < (size_t)j->cell; i++) {
                cells[(size_t)(j->cell * (float)k->to) + i] = cell;
            }
        }
    }
}

/* ------------------------------------------------------------------ large cells */

/* The link whose single operations the cell can show. */
static uint32_t cell_link(const unit_link *k)
{
    return k->link[unit_link_kind(k)];
}

static double box_x(const matrix_job *j, rect r, double value)
{
    double range = j->most_single - j->least_single;
    double part = range > 0 ? (value - j->least_single) / range : 0.5;
    return (double)r.x + part * (double)(r.w - 1);
}

static void draw_dot(scene *s, const comm_outlier *o, float x, float y, uint32_t link)
{
    float size = px(s, 5);
    bool hovered = comm_is_hovered(s, HIT_OUTLIER, o->item);
    const comm_view *c = s->comm_layout;
    bool chosen = s->v.comm.operation == c->model->items[o->item].operation + 1;
    rect r = {x - size / 2, y - size / 2, size, size};
    rgba colour = chosen ? s->t->severity : hovered ? s->t->accent : s->t->text;
    draw_round(s->l, LAYER_MARKS, r, size / 2, colour, 0, colour);
    float reach = px(s, 3);
    comm_area_add(s, (rect){r.x - reach, r.y - reach, r.w + 2 * reach, r.h + 2 * reach},
                  (comm_hit){HIT_OUTLIER, o->item, link});
}

static void draw_box(const matrix_job *j, rect r, uint32_t link)
{
    scene *s = j->s;
    const comm_view *c = s->comm_layout;
    const comm_box *b = &c->sums->links[link].box[j->measure];
    if (b->n == 0) {
        return;
    }
    float middle = floorf(r.y + r.h / 2);
    float low = (float)box_x(j, r, b->low);
    float high = (float)box_x(j, r, b->high);
    float q1 = snap(box_x(j, r, b->q1));
    float q3 = fmaxf(snap(box_x(j, r, b->q3)), q1 + 1);
    draw_hline(s->l, LAYER_MARKS, low, fmaxf(high, low + 1), middle, s->t->text);
    draw_round(s->l, LAYER_MARKS, (rect){q1, r.y, q3 - q1, r.h}, 0, rgba_with_alpha(s->t->text, 110), 0, s->t->text);
    draw_vline(s->l, LAYER_MARKS, snap(box_x(j, r, b->median)), r.y - px(s, 1), r.y + r.h + px(s, 1), s->t->text);
    for (uint32_t i = b->n_kept; i-- > 0;) { /* the furthest on top */
        const comm_outlier *o = &c->sums->outliers[b->first + i];
        draw_dot(s, o, (float)box_x(j, r, o->value), middle, link);
    }
}

static void draw_large(const matrix_job *j, const unit_link *k, rect r, rgba ground)
{
    scene *s = j->s;
    char text[48];
    measure_text(j->measure, unit_link_value(k, j->measure), text, sizeof text);
    rect label = {r.x + px(s, 4), r.y + px(s, 2), r.w - px(s, 8), px(s, 18)};
    (void)put_text(s, LAYER_MARKS, FACE_SANS, 10.5, label, TEXT_LEFT, theme_label_colour(s->t, ground), text);
    uint32_t link = cell_link(k);
    if (link != NO_ID) {
        float h = fminf(px(s, 12), floorf(r.h * 0.22F));
        rect box = {r.x + px(s, 6), r.y + r.h - h - px(s, 8), r.w - px(s, 12), h};
        draw_box(j, box, link);
    }
}

/* A small cell has a dot where an operation lies far out: beyond 3 IQR. It leads there. */
static void draw_corner(const matrix_job *j, const unit_link *k, rect r)
{
    const comm_view *c = j->s->comm_layout;
    uint32_t link = cell_link(k);
    const comm_box *b = link == NO_ID ? NULL : &c->sums->links[link].box[j->measure];
    const comm_outlier *o = b && b->n_kept > 0 ? &c->sums->outliers[b->first] : NULL;
    double reach = b ? 3 * (b->q3 - b->q1) : 0;
    if (o && (o->value > b->q3 + reach || o->value < b->q1 - reach)) {
        draw_dot(j->s, o, r.x + r.w - px(j->s, 4), r.y + px(j->s, 4), link);
    }
}

static void draw_cells(const matrix_job *j)
{
    scene *s = j->s;
    float gap = fmaxf(1, px(s, 1));
    for (size_t i = 0; i < j->u->n_links; i++) {
        const unit_link *k = &j->u->links[i];
        rect r = {j->x + j->cell * (float)k->to, j->y + j->cell * (float)k->from, j->cell - gap, j->cell - gap};
        rgba c = link_colour(s, unit_link_kind(k));
        rgba fill = mix_colours(s->t->ground, c, cell_strength(j, k));
        draw_round(s->l, LAYER_DATA, r, j->cell >= px(s, 12) ? px(s, 2) : 0, fill, 0, fill);
        if (j->cell >= px(s, BOX_CELL_DP)) {
            draw_large(j, k, r, fill);
        } else if (j->cell >= px(s, DOT_CELL_DP)) {
            draw_corner(j, k, r);
        }
    }
}

/* ------------------------------------------------------------------ frame, labels, cursor */

/* Every n-th name where there is no room for all. */
static uint32_t label_stride(float cell, float room)
{
    uint32_t stride = 1;
    while (cell * (float)stride < room && stride < (1U << 20)) {
        stride *= 2;
    }
    return stride;
}

static void draw_names(const matrix_job *j, rect body)
{
    scene *s = j->s;
    char name[96];
    uint32_t rows = label_stride(j->cell, px(s, 13));
    for (uint32_t i = 0; i < j->u->n; i += rows) {
        unit_short_name(s, j->u, i, name, sizeof name);
        rect r = {body.x, j->y + j->cell * (float)i, j->x - body.x - px(s, 6), j->cell * (float)rows};
        r.h = rows > 1 ? px(s, 13) : r.h;
        (void)put_text(s, LAYER_MARKS, FACE_SANS, 10.5, r, TEXT_RIGHT, s->t->dim, name);
    }
    unit_short_name(s, j->u, j->u->n - 1, name, sizeof name);
    uint32_t columns = label_stride(j->cell, width_of(s, FACE_SANS, 10.5, name) + px(s, 8));
    for (uint32_t i = 0; i < j->u->n; i += columns) {
        unit_short_name(s, j->u, i, name, sizeof name);
        rect r = {j->x + j->cell * (float)i, j->y - px(s, 16), j->cell * (float)columns, px(s, 14)};
        text_align align = columns > 1 ? TEXT_LEFT : TEXT_CENTRE;
        (void)put_text(s, LAYER_MARKS, FACE_SANS, 10.5, r, align, s->t->dim, name);
    }
}

static void outline_cell(const matrix_job *j, uint32_t row, uint32_t column, rgba c)
{
    if (row >= j->u->n || column >= j->u->n) {
        return;
    }
    float w = fmaxf(1, px(j->s, 1.5));
    rect r = {j->x + j->cell * (float)column - w, j->y + j->cell * (float)row - w, j->cell + w, j->cell + w};
    draw_round(j->s->l, LAYER_MARKS, r, px(j->s, 2), (rgba){0, 0, 0, 0}, w, c);
}

/* Where blocks of the row tree meet. */
static void draw_grid(const matrix_job *j)
{
    scene *s = j->s;
    float side = j->cell * (float)j->u->n;
    draw_rect(s->l, LAYER_GROUND, (rect){j->x, j->y, side, side}, s->t->row);
    for (uint32_t i = 1; i < j->u->n && !j->u->are_blocks; i++) {
        if (j->u->items[i].block != j->u->items[i - 1].block && j->cell >= px(s, 4)) {
            float at = j->cell * (float)i - 1;
            draw_hline(s->l, LAYER_GROUND, j->x, j->x + side, j->y + at, s->t->line);
            draw_vline(s->l, LAYER_GROUND, j->x + at, j->y, j->y + side, s->t->line);
        }
    }
}

static void draw_marks_on_cells(const matrix_job *j)
{
    scene *s = j->s;
    const comm_view *c = s->comm_layout;
    const view_comm *v = &s->v.comm;
    if (c->hover.kind == HIT_CELL) {
        outline_cell(j, c->hover.a, c->hover.b, s->t->dim);
    }
    if (v->from > 0 && v->to > 0) {
        outline_cell(j, v->from - 1, v->to - 1, v->pane == PANE_MATRIX ? s->t->accent : s->t->dim);
    }
}

/* ------------------------------------------------------------------ heading: what cells show */

static float draw_choice(scene *s, float right, rect line, const char *text, bool on, comm_hit hit)
{
    float w = ceilf(width_of(s, on ? FACE_SANS_MEDIUM : FACE_SANS, 11, text)) + px(s, 14);
    rect r = {right - w, line.y + px(s, 2), w, line.h - px(s, 4)};
    bool hovered = s->comm_layout->hover.kind == hit.kind && s->comm_layout->hover.a == hit.a;
    if (on) {
        draw_round(s->l, LAYER_DATA, r, px(s, 4), s->t->raised, fmaxf(1, px(s, 1)), s->t->line);
    }
    (void)put_text(s, LAYER_MARKS, on ? FACE_SANS_MEDIUM : FACE_SANS, 11, r, TEXT_CENTRE,
                   on || hovered ? s->t->text : s->t->dim, text);
    comm_area_add(s, r, hit);
    return r.x - px(s, 2);
}

static float choice_width(scene *s, const char *text)
{
    return ceilf(width_of(s, FACE_SANS_MEDIUM, 11, text)) + px(s, 16);
}

static rect draw_heading(scene *s, rect r)
{
    static const char *const names[] = {"time", "bytes", "bandwidth"};
    rect line = {r.x, r.y, r.w, px(s, 24)};
    float right = r.x + r.w;
    const view_comm *v = &s->v.comm;
    float measures = choice_width(s, names[0]) + choice_width(s, names[1]) + choice_width(s, names[2]);
    float all = choice_width(s, "all") + px(s, 10);
    float title = ceilf(width_of(s, FACE_SANS_MEDIUM, 12.5, "Links")) + px(s, 16);
    bool roomy = title + measures + all + choice_width(s, "this communicator") <= r.w;
    if (roomy || measures + all + choice_width(s, "chosen") <= r.w) { /* keys do it, too */
        const char *only = roomy ? "this communicator" : "chosen";
        right = draw_choice(s, right, line, only, v->only_group, (comm_hit){HIT_ONLY, 1, 0});
        right = draw_choice(s, right, line, "all", !v->only_group, (comm_hit){HIT_ONLY, 0, 0}) - px(s, 10);
    }
    for (int m = COMM_MEASURES; m-- > 0 && measures <= r.w;) {
        right = draw_choice(s, right, line, names[m], v->measure == m, (comm_hit){HIT_MEASURE, (uint32_t)m, 0});
    }
    return comm_heading(s, (rect){r.x, r.y, fmaxf(right - r.x, 0), r.h}, "Links", "from row to column");
}

static void find_scale(const comm_view *c, matrix_job *j)
{
    j->least_single = INFINITY;
    j->most_single = -INFINITY;
    for (size_t i = 0; i < j->u->n_links; i++) {
        uint32_t link = cell_link(&j->u->links[i]);
        const comm_box *b = link == NO_ID ? NULL : &c->sums->links[link].box[j->measure];
        if (b && b->n > 0) {
            j->least_single = fmin(j->least_single, b->min);
            j->most_single = fmax(j->most_single, b->max);
        }
    }
}

void comm_matrix_draw(scene *s, rect r)
{
    comm_view *c = s->comm_layout;
    rect body = draw_heading(s, r);
    body.w = r.w;
    c->matrix_at = (matrix_place){0};
    float labels = px(s, LABEL_DP);
    float top = px(s, 18);
    float side = fminf(body.w - labels, body.h - top);
    if (side < px(s, 40)) {
        return;
    }
    units_update(s, &c->matrix, (uint32_t)(side / (float)LEAST_CELL_PX));
    const comm_units *u = &c->matrix;
    if (u->n == 0) {
        return;
    }
    float cell = floorf(fminf(side / (float)u->n, px(s, 120)));
    cell = fmaxf(cell, 1);
    matrix_job j = {s, u, (comm_measure)s->v.comm.measure, body.x + labels, body.y + top, cell, 0, 0};
    c->matrix_at = (matrix_place){{j.x, j.y, cell * (float)u->n, cell * (float)u->n}, cell, u->n};
    draw_grid(&j);
    draw_names(&j, body);
    if (cell >= px(s, QUAD_CELL_DP)) {
        find_scale(c, &j);
        draw_cells(&j);
    } else {
        draw_strips(&j);
    }
    draw_marks_on_cells(&j);
}
