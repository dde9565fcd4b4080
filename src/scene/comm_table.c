/* Rows of text under a heading: only those that are seen are made. */
#include "scene/comm_view.h"

enum { ROW_DP = 22, HEAD_DP = 22 };

static void place_columns(const scene *s, table_place *t, rect r, const table_column *columns, size_t n)
{
    float fixed = 0;
    float free_columns = 0;
    for (size_t i = 0; i < n; i++) {
        fixed += px(s, columns[i].width_dp);
        free_columns += columns[i].width_dp <= 0 ? 1 : 0;
    }
    float share = free_columns > 0 ? floorf(fmaxf(r.w - fixed, 0) / free_columns) : 0;
    float x = r.x;
    for (size_t i = 0; i < n; i++) {
        float w = columns[i].width_dp > 0 ? px(s, columns[i].width_dp) : share;
        bool fits = w <= r.x + r.w - x + 1;
        w = fits ? fmaxf(w, 0) : 0; /* half a number is none */
        t->columns[i] = (rect){x, r.y, w, r.h};
        x += w;
    }
}

static void draw_head(scene *s, const table_place *t, const table_column *columns, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const table_column *c = &columns[i];
        rect box = {t->columns[i].x, t->head.y, t->columns[i].w - px(s, 10), t->head.h};
        bool sorted = c->sort >= 0 && s->v.comm.sort == c->sort;
        bool hovered = c->sort >= 0 && comm_is_hovered(s, HIT_SORT, (uint32_t)c->sort);
        rgba colour = sorted || hovered ? s->t->text : s->t->dim;
        float w = put_text(s, LAYER_MARKS, FACE_SANS, 11, box, c->align, colour, c->title);
        if (c->sort < 0) {
            continue;
        }
        comm_area_add(s, (rect){t->columns[i].x, t->head.y, t->columns[i].w, t->head.h},
                      (comm_hit){HIT_SORT, (uint32_t)c->sort, 0});
        if (sorted && w > 0) {
            float x = c->align == TEXT_RIGHT ? box.x + box.w + px(s, 5) : box.x + w + px(s, 7);
            float y = t->head.y + t->head.h / 2;
            float d = px(s, 3) * (s->v.comm.descending ? 1.0F : -1.0F);
            float xs[3] = {x - px(s, 3), x + px(s, 3), x};
            float ys[3] = {y - d / 2, y - d / 2, y + d};
            draw_triangle(s->l, LAYER_MARKS, xs, ys, s->t->accent);
        }
    }
    draw_hline(s->l, LAYER_GROUND, t->head.x, t->head.x + t->head.w, t->head.y + t->head.h - 1, s->t->hairline);
}

/* How far down the rows are, where they don't fit. */
static void draw_scroll_bar(scene *s, const table_place *t, size_t n_rows)
{
    double content = (double)t->row_h * (double)n_rows;
    double shown = (double)t->rows.h;
    if (content <= shown || shown < 20) {
        return;
    }
    float h = (float)fmax(shown * shown / content, 16 * (double)s->m.s);
    float y = t->rows.y + (float)((shown - (double)h) * t->scroll_px / (content - shown));
    float w = px(s, 3);
    draw_round(s->l, LAYER_MARKS, (rect){t->rows.x + t->rows.w - w, snap((double)y), w, floorf(h)}, w / 2, s->t->line,
               0, s->t->line);
}

table_place table_begin(scene *s, rect r, const table_column *columns, size_t n_columns, size_t n_rows,
                        double scroll_dp)
{
    table_place t = {.row_h = px(s, ROW_DP)};
    float head = fminf(px(s, HEAD_DP), r.h);
    t.head = (rect){r.x, r.y, r.w, head};
    t.rows = (rect){r.x, r.y + head, r.w, r.h - head};
    double most = fmax((double)t.row_h * (double)n_rows - (double)t.rows.h, 0);
    t.scroll_px = fmin(fmax(floor(scroll_dp * (double)s->m.s), 0), ceil(most));
    t.first = (size_t)(t.scroll_px / (double)t.row_h);
    t.end = (size_t)((t.scroll_px + (double)t.rows.h) / (double)t.row_h) + 1;
    t.end = t.end < n_rows ? t.end : n_rows;
    t.first = t.first < t.end ? t.first : t.end;
    place_columns(s, &t, (rect){r.x, r.y, r.w - px(s, 8), r.h}, columns, n_columns);
    draw_head(s, &t, columns, n_columns);
    draw_scroll_bar(s, &t, n_rows);
    return t;
}

rect table_cell(const table_place *t, size_t row, size_t column)
{
    float y = t->rows.y + (float)((double)row * (double)t->row_h - t->scroll_px);
    return (rect){t->columns[column].x, y, t->columns[column].w, t->row_h};
}

void table_text(scene *s, const table_place *t, size_t row, size_t column, text_align align, rgba c, const char *text)
{
    rect r = table_cell(t, row, column);
    r.w -= px(s, 10);
    if (text_fits_in(s, r, t->rows)) {
        (void)put_text(s, LAYER_MARKS, FACE_SANS, 11.5, r, align, c, text);
    }
}

void table_row_ground(scene *s, const table_place *t, size_t row, bool chosen, bool hovered, bool focused)
{
    rect r = table_cell(t, row, 0);
    r.x = t->rows.x;
    r.w = t->rows.w - px(s, 6);
    if (chosen) {
        rgba border = focused ? s->t->accent : s->t->line;
        draw_round(s->l, LAYER_GROUND, (rect){r.x - px(s, 4), r.y, r.w + px(s, 4), r.h}, px(s, 3), s->t->raised,
                   fmaxf(1, px(s, 1)), border);
    } else if (hovered) {
        draw_rect(s->l, LAYER_GROUND, (rect){r.x - px(s, 4), r.y, r.w + px(s, 4), r.h}, s->t->row);
    }
}
