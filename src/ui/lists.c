/* Rows by the million: only what is visible is described. Lists, trees and tables share the cursor and the scroll. */
#include "ui/internal.h"

#include <math.h>
#include <string.h>

enum { FIRST_GUESS_ROWS = 64, MAX_COLUMNS = 16 };

/* ---- the list ---- */

static void scroll_to(ui_state *s, uint64_t row, float row_dp)
{
    double top = (double)row * (double)row_dp;
    double bottom = top + (double)row_dp;
    if (top < s->scroll_dp) {
        s->scroll_dp = top;
    } else if (bottom > s->scroll_dp + s->view_dp) {
        s->scroll_dp = bottom - s->view_dp;
    }
}

static uint64_t moved(uint64_t cursor, uint64_t n, int64_t by)
{
    if (n == 0) {
        return UI_NO_ROW;
    }
    if (cursor >= n) {
        return by >= 0 ? 0 : n - 1;
    }
    if (by < 0) {
        uint64_t back = (uint64_t)-by;
        return cursor > back ? cursor - back : 0;
    }
    return n - 1 - cursor > (uint64_t)by ? cursor + (uint64_t)by : n - 1;
}

static void take_key(ui_list *l, ui_state *s, const char *key)
{
    int64_t page = (int64_t)fmax(1, floor(s->view_dp / (double)l->row_dp) - 1);
    uint64_t before = s->cursor;
    if (strcmp(key, "Down") == 0) {
        s->cursor = moved(s->cursor, l->n, 1);
    } else if (strcmp(key, "Up") == 0) {
        s->cursor = moved(s->cursor, l->n, -1);
    } else if (strcmp(key, "Page down") == 0) {
        s->cursor = moved(s->cursor, l->n, page);
    } else if (strcmp(key, "Page up") == 0) {
        s->cursor = moved(s->cursor, l->n, -page);
    } else if (strcmp(key, "Home") == 0) {
        s->cursor = l->n > 0 ? 0 : UI_NO_ROW;
    } else if (strcmp(key, "End") == 0) {
        s->cursor = l->n > 0 ? l->n - 1 : UI_NO_ROW;
    } else if (strcmp(key, "Enter") == 0) {
        l->activated = s->cursor;
    } else if (strcmp(key, "Right") == 0 || strcmp(key, "Left") == 0) {
        l->step = key[0] == 'R' ? 1 : -1;
    }
    if (s->cursor != before && s->cursor != UI_NO_ROW) {
        scroll_to(s, s->cursor, l->row_dp);
    }
}

/* The described rows: those that the last frame's height shows at this scroll. */
static void choose_rows(ui *u, ui_list *l, const ui_state *s)
{
    double row = (double)l->row_dp;
    double most = fmax(0, (double)l->n * row - s->view_dp);
    double scroll = fmin(fmax(s->scroll_dp, 0), most);
    double view = s->view_dp > 0 ? s->view_dp : FIRST_GUESS_ROWS * row;
    l->first = (uint64_t)floor(scroll / row);
    l->end = (uint64_t)ceil((scroll + view) / row) + 1;
    l->end = l->end < l->n ? l->end : l->n;
    l->first = l->first < l->end ? l->first : l->end;
    if (s->view_dp <= 0 && l->n > FIRST_GUESS_ROWS) {
        u->restless = true; /* its height is not known yet */
    }
}

ui_list ui_list_begin(ui *u, const char *id, uint64_t n, float row_dp)
{
    ui_style style = {.w = UI_SIZE_FILL, .h = UI_SIZE_FILL, .flags = UI_SCROLL | UI_FOCUS | UI_ARROWS};
    ui_list l = {.n = n, .activated = UI_NO_ROW, .row_dp = row_dp > 1 ? row_dp : 1};
    l.box = ui_push(u, "list", id, &style);
    ui_state *s = ui_state_at(u, l.box);
    if (s->cursor != UI_NO_ROW && s->cursor >= n) {
        s->cursor = n > 0 ? n - 1 : UI_NO_ROW;
    }
    const char *key = NULL;
    uint32_t code = 0;
    for (int i = 0; ui_next_key(u, l.box, &i, &key, &code);) {
        if (code == 0) {
            take_key(&l, s, key);
        }
    }
    choose_rows(u, &l, s);
    l.cursor = s->cursor;
    u->boxes[l.box].content_dp = (double)n * (double)l.row_dp;
    u->boxes[l.box].shift_dp = (double)l.first * (double)l.row_dp;
    return l;
}

ui_signal ui_list_row(ui *u, ui_list *l, uint64_t row)
{
    char id[24];
    (void)snprintf(id, sizeof id, "row %llu", (unsigned long long)row);
    rgba none = {0, 0, 0, 0};
    ui_style style = {.w = UI_SIZE_FILL,
                      .h = UI_SIZE_PX(l->row_dp),
                      .axis = UI_ROW,
                      .pad_x = 10,
                      .gap = 8,
                      .flags = UI_CLICK | UI_HIGHLIGHT,
                      .fill = l->cursor == row ? rgba_with_alpha(u->t->accent, 36) : none,
                      .radius = 4};
    ui_box_id box = ui_push(u, l->cursor == row ? "row chosen" : "row", id, &style);
    ui_signal s = ui_signal_of(u, box);
    if (s.clicked) {
        ui_state_at(u, l->box)->cursor = row;
        l->activated = row;
        u->focus = u->boxes[l->box].key;
        u->focus_visible = false;
    }
    return s;
}

void ui_list_end(ui *u, ui_list *l)
{
    (void)l;
    ui_pop(u);
}

void ui_list_move(ui *u, ui_list *l, uint64_t row)
{
    ui_state *s = ui_state_at(u, l->box);
    s->cursor = row < l->n ? row : UI_NO_ROW;
    l->cursor = s->cursor;
    if (s->cursor != UI_NO_ROW) {
        scroll_to(s, row, l->row_dp);
    }
    u->restless = true;
}

/* ---- the tree ---- */

static void tree_arrow(ui *u, bool open)
{
    ui_style s = {.w = UI_SIZE_PX(14), .h = UI_SIZE_PX(14)};
    ui_box_id b = ui_push(u, open ? "open" : "closed", NULL, &s);
    u->boxes[b].text = open ? "\xE2\x96\xBE" : "\xE2\x96\xB8";
    u->boxes[b].text_style = (ui_text_style){FACE_SANS, 10, UI_DIM, TEXT_CENTRE};
    ui_pop(u);
}

static void tree_row(ui *u, ui_list *l, uint64_t i, const ui_tree_row *r)
{
    (void)ui_list_row(u, l, i);
    ui_space(u, 14 * (float)r->depth);
    if (r->has_children) {
        tree_arrow(u, r->is_open);
    } else {
        ui_space(u, 14);
    }
    ui_label_fill(u, r->text, (ui_text_style){FACE_SANS, 12, UI_PLAIN, TEXT_LEFT});
    if (r->right) {
        ui_label(u, r->right, (ui_text_style){FACE_SANS, 11.5F, UI_DIM, TEXT_RIGHT});
    }
    ui_pop(u);
}

/* From a closed or childless row, Left goes to the row that holds it. */
static void to_parent(ui *u, ui_list *l, ui_tree_source source, void *ctx)
{
    uint32_t depth = source(ctx, l->cursor).depth;
    for (uint64_t i = l->cursor; depth > 0 && i-- > 0;) {
        if (source(ctx, i).depth < depth) {
            ui_list_move(u, l, i);
            return;
        }
    }
}

ui_tree_event ui_tree(ui *u, const char *id, uint64_t n, ui_tree_source source, void *ctx)
{
    ui_tree_event out = {UI_NO_ROW, UI_NO_ROW};
    ui_list l = ui_list_begin(u, id, n, 24);
    u->boxes[l.box].role = "tree";
    for (uint64_t i = l.first; i < l.end; i++) {
        ui_tree_row r = source(ctx, i);
        tree_row(u, &l, i, &r);
    }
    if (l.activated != UI_NO_ROW && l.activated < n) {
        *(source(ctx, l.activated).has_children ? &out.toggled : &out.activated) = l.activated;
    } else if (l.step != 0 && l.cursor < n) {
        ui_tree_row r = source(ctx, l.cursor);
        if (r.has_children && r.is_open == (l.step < 0)) {
            out.toggled = l.cursor;
        } else if (l.step < 0) {
            to_parent(u, &l, source, ctx);
        }
    }
    ui_list_end(u, &l);
    return out;
}

/* ---- the table ---- */

static ui_size column_size(const ui_column *c)
{
    return c->width_dp > 0 ? (ui_size){UI_PX, c->width_dp, 0.3F} : UI_SIZE_FILL;
}

static bool table_head(ui *u, ui_table *t)
{
    bool changed = false;
    ui_style s = {.w = UI_SIZE_FILL, .h = UI_SIZE_PX(26), .axis = UI_ROW, .pad_x = 10, .gap = 8};
    (void)ui_push(u, "titles", "titles", &s);
    for (size_t i = 0; i < t->n_columns && i < MAX_COLUMNS; i++) {
        const ui_column *c = &t->columns[i];
        bool sorted = t->sort_column == i;
        char text[128];
        (void)snprintf(text, sizeof text, "%s%s", c->title,
                       !sorted         ? ""
                       : t->descending ? " \xE2\x96\xBE"
                                       : " \xE2\x96\xB4");
        ui_style cell = {
            .w = column_size(c), .h = UI_SIZE_PX(22), .flags = UI_CLICK | UI_FOCUS | UI_HIGHLIGHT, .radius = 3};
        ui_box_id b = ui_push(u, "title", c->title, &cell);
        u->boxes[b].text = ui_copy(u, text);
        u->boxes[b].text_style = (ui_text_style){sorted ? FACE_SANS_MEDIUM : FACE_SANS, 11.5F,
                                                 sorted ? UI_PLAIN : UI_DIM, c->is_number ? TEXT_RIGHT : TEXT_LEFT};
        if (ui_signal_of(u, b).clicked) {
            t->descending = sorted ? !t->descending : c->is_number;
            t->sort_column = i;
            changed = true;
        }
        ui_pop(u);
    }
    ui_pop(u);
    return changed;
}

static void table_row(ui *u, ui_list *l, const ui_table *t, uint64_t row)
{
    (void)ui_list_row(u, l, row);
    for (size_t i = 0; i < t->n_columns && i < MAX_COLUMNS; i++) {
        ui_style cell = {.w = column_size(&t->columns[i]), .h = UI_SIZE_PX(20)};
        ui_box_id b = ui_push(u, "cell", NULL, &cell);
        u->boxes[b].text = ui_copy(u, t->cell(t->ctx, row, i));
        u->boxes[b].text_style =
            (ui_text_style){FACE_SANS, 12, UI_PLAIN, t->columns[i].is_number ? TEXT_RIGHT : TEXT_LEFT};
        ui_pop(u);
    }
    ui_pop(u);
}

uint64_t ui_table_show(ui *u, const char *id, ui_table *t, bool *sort_changed)
{
    ui_style s = {.w = UI_SIZE_FILL, .h = UI_SIZE_FILL};
    (void)ui_push(u, "table", id, &s);
    *sort_changed = table_head(u, t);
    ui_hairline(u);
    ui_list l = ui_list_begin(u, "rows", t->n_rows, 24);
    for (uint64_t i = l.first; i < l.end && !*sort_changed; i++) {
        table_row(u, &l, t, i);
    }
    if (*sort_changed) {
        u->restless = true; /* the caller sorts; the rows come with the next frame */
    }
    ui_list_end(u, &l);
    ui_pop(u);
    return l.activated;
}
