/* The search field: one line of text with a caret, a selection and a count at its right. */
#include "ui/internal.h"

#include <math.h>
#include <string.h>

static const float SIZE_DP = 12.5F;
static const float PAD_DP = 12;

typedef struct field_paint {
    const text_edit *edit;
    const char *placeholder, *right;
    bool focused, right_is_key;
} field_paint;

static float offset_px(ui *u, const text_edit *e, size_t at)
{
    return at == 0 ? 0 : text_width(u->text, FACE_SANS, SIZE_DP * u->frame.scale, e->text, at);
}

/* What is longer than the field slides so that the caret stays inside. */
static float slide_px(ui *u, const text_edit *e, float room)
{
    float caret = offset_px(u, e, e->caret);
    return caret > room - 2 ? caret - room + 2 : 0;
}

static float put_right(ui *u, rect r, const field_paint *p)
{
    if (!p->right || !p->right[0]) {
        return 0;
    }
    rgba c = p->right_is_key ? u->t->faint : u->t->dim;
    return ui_put(u, ui_layer_top(u), FACE_SANS, 11.5F, r, TEXT_RIGHT, c, p->right) + ui_px(u, 8);
}

static void paint_field(ui *u, draw_list *l, rect r, void *ctx)
{
    const field_paint *p = ctx;
    const text_edit *e = p->edit;
    rect in = {r.x + ui_px(u, (double)PAD_DP), r.y, r.w - 2 * ui_px(u, (double)PAD_DP), r.h};
    in.w -= put_right(u, in, p);
    if (e->n == 0) {
        (void)ui_put(u, ui_layer_top(u), FACE_SANS, SIZE_DP, in, TEXT_LEFT, u->t->dim, p->placeholder);
    }
    float size = SIZE_DP * u->frame.scale;
    float slide = slide_px(u, e, in.w);
    float half = ui_px(u, 9);
    float middle = r.y + floorf(r.h / 2);
    draw_push_clip(l, (rect){in.x - 1, in.y, in.w + 2, in.h});
    if (p->focused && e->caret != e->anchor) {
        float a = offset_px(u, e, e->caret < e->anchor ? e->caret : e->anchor) - slide;
        float b = offset_px(u, e, e->caret < e->anchor ? e->anchor : e->caret) - slide;
        draw_rect(l, ui_layer(u), (rect){in.x + floorf(a), middle - half, ceilf(b - a), 2 * half},
                  rgba_with_alpha(u->t->accent, 70));
    }
    float y = text_baseline(u->text, FACE_SANS, size, r.y, r.h);
    (void)text_put(u->text, l, ui_layer_top(u), FACE_SANS, size, in.x - slide, y, TEXT_LEFT, u->t->text, e->text, e->n);
    if (p->focused) {
        float x = in.x + floorf(offset_px(u, e, e->caret) - slide);
        draw_rect(l, ui_layer_top(u), (rect){x, middle - half, fmaxf(1, ui_px(u, 1.25)), 2 * half}, u->t->accent);
    }
    draw_pop_clip(l);
}

static void take_keys(ui *u, ui_field *f, text_edit *e)
{
    const char *key = NULL;
    uint32_t code = 0;
    for (int i = 0; ui_next_key(u, f->box, &i, &key, &code);) {
        bool changed = false;
        if (code != 0) {
            changed = text_edit_insert_code(e, code);
        } else if (strcmp(key, "Enter") == 0) {
            f->entered = true;
        } else if (strcmp(key, "Escape") == 0) {
            f->left = true;
        } else if (strcmp(key, "Up") == 0 || strcmp(key, "Down") == 0) {
            f->moves += key[0] == 'U' ? -1 : 1;
        } else {
            (void)text_edit_key(e, key, &changed);
        }
        f->changed = f->changed || changed;
    }
}

/* A click puts the caret at the nearest edge of a cluster. */
static void take_click(ui *u, const ui_field *f, text_edit *e)
{
    const ui_state *s = ui_state_at(u, f->box);
    if (!s->clicked) {
        return;
    }
    float pad = ui_px(u, (double)PAD_DP);
    float x = (float)s->click_x - s->r.x - pad;
    size_t best = 0;
    float distance = fabsf(x);
    for (size_t at = 0; at < e->n;) {
        at = text_next_cluster(e->text, e->n, at);
        float d = fabsf(offset_px(u, e, at) - x);
        if (d < distance) {
            distance = d;
            best = at;
        }
    }
    text_edit_move_to(e, best, false);
}

static text_edit *edit_of(ui *u, ui_box_id box)
{
    ui_state *s = ui_state_at(u, box);
    if (!s->edit) {
        s->edit = mem_calloc(1, sizeof *s->edit);
    }
    return s->edit;
}

ui_field ui_search_field(ui *u, const char *id, const char *placeholder, const char *count, const char *hint)
{
    ui_style s = {.w = UI_SIZE_FILL,
                  .h = UI_SIZE_PX(28),
                  .flags = UI_CLICK | UI_FOCUS | UI_EDIT | UI_HIGHLIGHT,
                  .fill = u->t->ground,
                  .border = u->t->line,
                  .radius = 6};
    ui_field f = {.box = ui_push(u, "search", id, &s)};
    text_edit *e = edit_of(u, f.box);
    take_keys(u, &f, e);
    take_click(u, &f, e);
    f.focused = u->focus == u->boxes[f.box].key;
    f.text = ui_copy(u, e->text);
    ui_describe(u, f.box, e->n > 0 ? f.text : placeholder);
    field_paint *p = ui_memory(u, sizeof *p);
    *p = (field_paint){.edit = e,
                       .placeholder = ui_copy(u, placeholder),
                       .right = ui_copy(u, count                ? count
                                           : f.focused || !hint ? ""
                                                                : hint),
                       .focused = f.focused,
                       .right_is_key = !count};
    ui_set_paint(u, f.box, paint_field, p);
    ui_pop(u);
    return f;
}

void ui_field_set(ui *u, ui_box_id field, const char *text)
{
    text_edit_set(edit_of(u, field), text);
}
