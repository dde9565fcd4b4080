/* Labels, buttons, cards, pairs, legend, tooltip, toast: each a few boxes. */
#include "ui/internal.h"

#include <math.h>
#include <string.h>

enum { SHORT_VALUE_BYTES = 28, HALF_PANEL_DP = 170 };
static const int64_t TOAST_NS = 4000000000;
static const ui_text_style BODY = {FACE_SANS, 12, UI_PLAIN, TEXT_LEFT};

static ui_box_id text_box(ui *u, const char *role, const char *id, const char *text, ui_text_style style,
                          const ui_style *box)
{
    ui_box_id b = ui_push(u, role, id, box);
    u->boxes[b].text = ui_copy(u, text);
    u->boxes[b].text_style = style;
    return b;
}

void ui_space(ui *u, float dp)
{
    ui_style s = {.w = UI_SIZE_PX(dp), .h = UI_SIZE_PX(dp)};
    (void)ui_push(u, "space", NULL, &s);
    ui_pop(u);
}

void ui_spring(ui *u)
{
    ui_style s = {.w = UI_SIZE_FILL, .h = UI_SIZE_PX(1)};
    (void)ui_push(u, "space", NULL, &s);
    ui_pop(u);
}

void ui_hairline(ui *u)
{
    ui_style s = {.w = UI_SIZE_FILL, .h = UI_SIZE_PX(1), .fill = u->t->hairline};
    (void)ui_push(u, "rule", NULL, &s);
    ui_pop(u);
}

void ui_label(ui *u, const char *text, ui_text_style style)
{
    ui_style s = {.w = UI_SIZE_TEXT(0), .h = {UI_TEXT, 0, 1}};
    (void)text_box(u, "label", NULL, text, style, &s);
    ui_pop(u);
}

void ui_label_fill(ui *u, const char *text, ui_text_style style)
{
    ui_style s = {.w = UI_SIZE_FILL, .h = {UI_TEXT, 0, 1}};
    (void)text_box(u, "label", NULL, text, style, &s);
    ui_pop(u);
}

/* The end of the word at i, or of a part of it: a long name may be broken after what joins its parts, so that it does
 * not leave the line before it half empty. */
static size_t piece_end(const char *text, size_t n, size_t i)
{
    enum { LONG_WORD = 20 };
    size_t end = i;
    while (end < n && text[end] != ' ') {
        end++;
    }
    for (size_t k = i; end - i > LONG_WORD && k + 1 < end; k++) {
        if (k > i && strchr("_:/.-", text[k]) && !strchr("_:/.-", text[k + 1])) {
            return k + 1;
        }
    }
    return end;
}

/* The longest run of words from `at` that fits, at least one. @return its end */
static size_t line_end(ui *u, const char *text, size_t n, size_t at, float room, ui_text_style style)
{
    float size = style.size_dp * u->frame.scale;
    size_t end = at;
    for (size_t i = at; i < n;) {
        while (i < n && text[i] == ' ') {
            i++;
        }
        i = piece_end(text, n, i);
        if (end > at && text_width(u->text, style.face, size, text + at, i - at) > room) {
            break;
        }
        end = i;
    }
    return end;
}

void ui_paragraph(ui *u, const char *text, float width_dp, ui_text_style style)
{
    enum { MAX_LINES = 6, LINE_BYTES = 512 };
    size_t n = strlen(text);
    size_t at = 0;
    for (int lines = 0; at < n && lines < MAX_LINES; lines++) {
        size_t end = lines + 1 < MAX_LINES ? line_end(u, text, n, at, width_dp * u->frame.scale, style) : n;
        char line[LINE_BYTES];
        (void)snprintf(line, sizeof line, "%.*s", (int)(end - at), text + at);
        ui_label_fill(u, line, style);
        at = end;
        while (at < n && text[at] == ' ') {
            at++;
        }
    }
}

void ui_section(ui *u, const char *title, const char *right)
{
    ui_style s = {.w = UI_SIZE_FILL, .h = UI_SIZE_PX(28), .axis = UI_ROW, .gap = 8};
    ui_box_id box = ui_push(u, "heading", NULL, &s);
    ui_describe(u, box, title);
    ui_label_fill(u, title, (ui_text_style){FACE_SANS_MEDIUM, 12, UI_DIM, TEXT_LEFT});
    if (right && right[0]) {
        ui_label(u, right, (ui_text_style){FACE_SANS, 11.5F, UI_DIM, TEXT_RIGHT});
    }
    ui_pop(u);
}

/* ---- what can be pressed ---- */

ui_signal ui_button(ui *u, const char *id, const char *text)
{
    ui_style s = {.w = UI_SIZE_TEXT(24),
                  .h = UI_SIZE_PX(28),
                  .flags = UI_CLICK | UI_FOCUS | UI_HIGHLIGHT,
                  .fill = u->t->raised,
                  .border = u->t->line,
                  .radius = 5};
    ui_text_style t = {FACE_SANS, 12, UI_PLAIN, TEXT_CENTRE};
    ui_box_id b = text_box(u, "button", id, text, t, &s);
    ui_pop(u);
    return ui_signal_of(u, b);
}

typedef struct icon_paint {
    ui_icon icon;
    rgba c;
} icon_paint;

static void put_arrow(ui *u, draw_list *l, rect r, ui_icon icon, rgba c)
{
    float x = r.x + floorf(r.w / 2);
    float y = r.y + floorf(r.h / 2);
    float a = ui_px(u, 4);
    float b = ui_px(u, 2.5);
    if (icon == UI_ICON_UP || icon == UI_ICON_DOWN) {
        float s = icon == UI_ICON_UP ? -1 : 1;
        draw_triangle(l, ui_layer_top(u), (float[3]){x - a, x + a, x}, (float[3]){y - s * b, y - s * b, y + s * b}, c);
    } else {
        float s = icon == UI_ICON_LEFT ? -1 : 1;
        draw_triangle(l, ui_layer_top(u), (float[3]){x - s * b, x - s * b, x + s * b}, (float[3]){y - a, y + a, y}, c);
    }
}

static void paint_icon(ui *u, draw_list *l, rect r, void *ctx)
{
    const icon_paint *p = ctx;
    if (p->icon != UI_ICON_CLOSE) {
        put_arrow(u, l, r, p->icon, p->c);
        return;
    }
    float x = r.x + floorf(r.w / 2);
    float y = r.y + floorf(r.h / 2);
    float a = ui_px(u, 3.5);
    float w = fmaxf(1, ui_px(u, 1.25));
    draw_segment(l, ui_layer_top(u), x - a, y - a, x + a, y + a, w, p->c);
    draw_segment(l, ui_layer_top(u), x - a, y + a, x + a, y - a, w, p->c);
}

ui_signal ui_icon_button(ui *u, const char *id, ui_icon icon, const char *label)
{
    ui_style s = {.w = UI_SIZE_PX(22), .h = UI_SIZE_PX(22), .flags = UI_CLICK | UI_FOCUS | UI_HIGHLIGHT, .radius = 4};
    ui_box_id b = ui_push(u, "button", id, &s);
    ui_describe(u, b, label);
    icon_paint *p = ui_memory(u, sizeof *p);
    *p = (icon_paint){icon, ui_signal_of(u, b).hovered ? u->t->text : u->t->dim};
    ui_set_paint(u, b, paint_icon, p);
    ui_pop(u);
    ui_tooltip(u, b, label);
    return ui_signal_of(u, b);
}

static void paint_switch(ui *u, draw_list *l, rect r, void *ctx)
{
    bool on = *(const bool *)ctx;
    rgba none = {0, 0, 0, 0};
    float knob = r.h - ui_px(u, 4);
    float x = on ? r.x + r.w - knob - ui_px(u, 2) : r.x + ui_px(u, 2);
    draw_round(l, ui_layer(u), r, r.h / 2, on ? u->t->accent : u->t->line, 0, none);
    draw_round(l, ui_layer(u), (rect){x, r.y + ui_px(u, 2), knob, knob}, knob / 2, on ? u->t->ground : u->t->dim, 0,
               none);
}

bool ui_toggle(ui *u, const char *id, const char *text, bool *on)
{
    ui_style s = {.w = UI_SIZE_FILL,
                  .h = UI_SIZE_PX(26),
                  .axis = UI_ROW,
                  .gap = 8,
                  .flags = UI_CLICK | UI_FOCUS | UI_HIGHLIGHT,
                  .radius = 4};
    ui_box_id b = ui_push(u, *on ? "switch on" : "switch off", id, &s);
    ui_describe(u, b, text);
    bool changed = ui_signal_of(u, b).clicked;
    *on = changed ? !*on : *on;
    ui_label_fill(u, text, BODY);
    ui_style w = {.w = UI_SIZE_PX(26), .h = UI_SIZE_PX(14)};
    ui_box_id knob = ui_push(u, "knob", NULL, &w);
    bool *shown = ui_memory(u, sizeof *shown);
    *shown = *on;
    ui_set_paint(u, knob, paint_switch, shown);
    ui_pop(u);
    ui_pop(u);
    return changed;
}

bool ui_tabs(ui *u, const char *id, const char *const *names, size_t n, size_t *chosen)
{
    ui_style s = {.w = UI_SIZE_FILL, .h = UI_SIZE_PX(30), .axis = UI_ROW, .gap = 4};
    bool changed = false;
    (void)ui_push(u, "tabs", id, &s);
    for (size_t i = 0; i < n; i++) {
        bool on = *chosen == i;
        ui_style tab = {.w = UI_SIZE_TEXT(20),
                        .h = UI_SIZE_PX(26),
                        .flags = UI_CLICK | UI_FOCUS | UI_HIGHLIGHT,
                        .fill = on ? u->t->raised : (rgba){0, 0, 0, 0},
                        .border = on ? u->t->line : (rgba){0, 0, 0, 0},
                        .radius = 5};
        ui_text_style t = {on ? FACE_SANS_MEDIUM : FACE_SANS, 12, on ? UI_PLAIN : UI_DIM, TEXT_CENTRE};
        ui_box_id b = text_box(u, on ? "tab shown" : "tab", names[i], names[i], t, &tab);
        if (ui_signal_of(u, b).clicked && !on) {
            *chosen = i;
            changed = true;
        }
        ui_pop(u);
    }
    ui_pop(u);
    return changed;
}

/* ---- cards and pairs ---- */

typedef struct card_paint {
    double severity;
    bool selected;
} card_paint;

static void paint_card(ui *u, draw_list *l, rect r, void *ctx)
{
    const card_paint *p = ctx;
    if (p->severity > 0) {
        uint8_t alpha = (uint8_t)(80 + 175 * fmin(p->severity, 1));
        float inset = p->selected ? ui_px(u, 2) : 0; /* clear of the border */
        rect bar = {r.x + inset, r.y + ui_px(u, 12), ui_px(u, 3), r.h - 2 * ui_px(u, 12)};
        draw_round(l, ui_layer(u), bar, ui_px(u, 1), rgba_with_alpha(u->t->severity, alpha), 0, (rgba){0, 0, 0, 0});
    }
    if (p->selected) {
        draw_round(l, ui_layer_top(u), r, ui_px(u, 6), (rgba){0, 0, 0, 0}, fmaxf(1, ui_px(u, 1)),
                   rgba_with_alpha(u->t->accent, 160));
    }
}

ui_box_id ui_card(ui *u, const char *id, double severity, bool selected)
{
    ui_style s = {.w = UI_SIZE_FILL,
                  .h = UI_SIZE_CHILDREN,
                  .pad_x = 16,
                  .pad_y = 9,
                  .gap = 2,
                  .flags = UI_CLICK | UI_FOCUS | UI_HIGHLIGHT,
                  .fill = u->t->raised,
                  .border = u->t->hairline,
                  .radius = 6};
    ui_box_id b = ui_push(u, selected ? "card chosen" : "card", id, &s);
    card_paint *p = ui_memory(u, sizeof *p);
    *p = (card_paint){severity, selected};
    ui_set_paint(u, b, paint_card, p);
    return b;
}

/* Wider than half of a panel. */
static bool is_wide(ui *u, const char *text)
{
    return text_width(u->text, FACE_SANS, 12, text, strlen(text)) > HALF_PANEL_DP;
}

void ui_key_value(ui *u, const char *key, const char *value)
{
    ui_style s = {.w = UI_SIZE_FILL, .h = UI_SIZE_PX(24), .axis = UI_ROW, .gap = 12};
    ui_box_id b = ui_push(u, "pair", NULL, &s);
    ui_describe(u, b, key);
    ui_style k = {.w = UI_SIZE_FILL, .h = {UI_TEXT, 0, 1}};
    (void)text_box(u, "key", NULL, key, (ui_text_style){FACE_SANS, 12, UI_DIM, TEXT_LEFT}, &k);
    ui_pop(u);
    /* A number is never cut; a long value leaves the key half of the line. */
    bool is_short = strlen(value) <= SHORT_VALUE_BYTES;
    ui_style v = {.w = {UI_TEXT, 0, is_short ? 1 : 0}, .h = {UI_TEXT, 0, 1}};
    ui_style half = {.w = UI_SIZE_PERCENT(55), .h = {UI_TEXT, 0, 1}};
    (void)text_box(u, "value", NULL, value, (ui_text_style){FACE_SANS, 12, UI_PLAIN, TEXT_RIGHT},
                   is_short || !is_wide(u, value) ? &v : &half);
    ui_pop(u);
    ui_pop(u);
    ui_hairline(u);
}

static void paint_swatch(ui *u, draw_list *l, rect r, void *ctx)
{
    draw_round(l, ui_layer(u), r, ui_px(u, 2), *(const rgba *)ctx, 0, (rgba){0, 0, 0, 0});
}

static void legend_item(ui *u, const ui_legend_item *item)
{
    ui_style s = {.w = UI_SIZE_PERCENT(50), .h = UI_SIZE_PX(22), .axis = UI_ROW, .gap = 8};
    ui_box_id b = ui_push(u, "legend", NULL, &s);
    ui_describe(u, b, item->name);
    ui_style w = {.w = UI_SIZE_PX(13), .h = UI_SIZE_PX(11)};
    ui_box_id swatch = ui_push(u, "swatch", NULL, &w);
    rgba *c = ui_memory(u, sizeof *c);
    *c = item->colour;
    ui_set_paint(u, swatch, paint_swatch, c);
    ui_pop(u);
    ui_label_fill(u, item->name, BODY);
    ui_pop(u);
}

void ui_legend(ui *u, const char *id, const ui_legend_item *items, size_t n)
{
    ui_style s = {.w = UI_SIZE_FILL, .h = UI_SIZE_CHILDREN};
    (void)ui_push(u, "legends", id, &s);
    for (size_t i = 0; i < n; i += 2) {
        ui_style row = {.w = UI_SIZE_FILL, .h = UI_SIZE_CHILDREN, .axis = UI_ROW};
        (void)ui_push(u, "line", NULL, &row);
        legend_item(u, &items[i]);
        if (i + 1 < n) {
            legend_item(u, &items[i + 1]);
        }
        ui_pop(u);
    }
    ui_pop(u);
}

ui_box_id ui_scroll_area(ui *u, const char *id)
{
    ui_style s = {.w = UI_SIZE_FILL, .h = UI_SIZE_FILL, .flags = UI_SCROLL};
    return ui_push(u, "scroll", id, &s);
}

/* ---- tooltip and toast: surfaces of their own, described last ---- */

void ui_tooltip(ui *u, ui_box_id box, const char *text)
{
    u->boxes[box].style.flags |= UI_HOVER;
    if (u->hot == u->boxes[box].key && u->active == 0) {
        u->tooltip = ui_copy(u, text);
        u->tooltip_of = ui_state_at(u, box)->r;
    }
}

void ui_toast(ui *u, const char *text, int64_t now_ns)
{
    (void)snprintf(u->toast, sizeof u->toast, "%s", text);
    u->toast_until_ns = now_ns + TOAST_NS;
}

static void pop_up(ui *u, const char *id, const char *text, float centre_x, float below, float above)
{
    ui_text_style t = {FACE_SANS, 11.5F, UI_PLAIN, TEXT_CENTRE};
    float size = t.size_dp * u->frame.scale;
    float w = fminf(ceilf(text_width(u->text, t.face, size, text, strlen(text))) + ui_px(u, 20),
                    u->frame.width_px - ui_px(u, 8));
    float h = ui_px(u, 26);
    float x = floorf(fminf(fmaxf(centre_x - w / 2, ui_px(u, 4)), u->frame.width_px - w - ui_px(u, 4)));
    float y = below + h <= u->frame.height_px ? below : above - h;
    ui_style s = {.fill = u->t->raised, .border = u->t->line, .radius = 5, .pad_x = 8};
    (void)ui_root(u, id, (rect){x, y, w, h}, LAYER_OVERLAY, &s);
    ui_style inner = {.w = UI_SIZE_FILL, .h = UI_SIZE_FILL};
    (void)text_box(u, "label", "text", text, t, &inner);
    ui_pop(u);
    ui_pop(u);
}

void ui_show_tooltip_and_toast(ui *u)
{
    if (u->n_open > 0) {
        return; /* a box was not closed: ui_problem() says so */
    }
    if (u->tooltip) {
        rect r = u->tooltip_of;
        pop_up(u, "tooltip", u->tooltip, r.x + r.w / 2, r.y + r.h + ui_px(u, 4), r.y - ui_px(u, 4));
        u->tooltip = NULL;
    }
    if (u->toast[0] && u->frame.now_ns > 0 && u->frame.now_ns >= u->toast_until_ns) {
        u->toast[0] = '\0';
    }
    if (u->toast[0]) {
        float y = u->frame.height_px - ui_px(u, 72);
        pop_up(u, "toast", u->toast, u->frame.width_px / 2, y, y);
    }
}
