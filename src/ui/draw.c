/* From laid out boxes to the draw list: surfaces, texts, painters, scroll marks, the focus. */
#include "ui/internal.h"

#include <math.h>
#include <string.h>

static const double EASE_NS = 120e6 / 3; /* 120 ms to 95 % */

static bool same(rect a, rect b)
{
    return a.x == b.x && a.y == b.y && a.w == b.w && a.h == b.h;
}

static void set_clip(ui *u, rect wanted, rect *now)
{
    if (same(wanted, *now)) {
        return;
    }
    if (now->w >= 0) {
        draw_pop_clip(u->l);
    }
    draw_push_clip(u->l, wanted);
    *now = wanted;
}

/* How strongly the box is tinted: follows the pointer with an ease. */
static float heat(ui *u, uint32_t box)
{
    ui_state *s = ui_state_at(u, box);
    bool on = u->hot == s->key && u->hot != 0;
    float goal = !on ? 0 : u->active == s->key ? 1.6F : 1;
    if (u->frame.now_ns == 0) {
        s->hot = goal;
    } else if (s->hot != goal) {
        float step = 1 - (float)exp(-(double)u->passed_ns / EASE_NS);
        s->hot += (goal - s->hot) * step;
        if (fabsf(goal - s->hot) < 0.02F) {
            s->hot = goal;
        } else {
            u->restless = true;
        }
    }
    return s->hot;
}

static void draw_surface(ui *u, uint32_t box)
{
    const ui_box *b = &u->boxes[box];
    const ui_style *s = &b->style;
    draw_layer layer = u->layer;
    float border = s->border.a ? fmaxf(1, ui_px(u, 1)) : 0;
    if (s->fill.a || s->border.a) {
        if (s->radius > 0 || border > 0) {
            draw_round(u->l, layer, b->r, ui_px(u, (double)s->radius), s->fill, border, s->border);
        } else {
            draw_rect(u->l, layer, b->r, s->fill);
        }
    }
    float tint = s->flags & UI_HIGHLIGHT ? heat(u, box) : 0;
    if (tint > 0) {
        rgba c = rgba_with_alpha(u->t->text, (uint8_t)(tint * 12));
        draw_round(u->l, layer, b->r, ui_px(u, (double)s->radius), c, 0, c);
    }
}

static void draw_text(ui *u, const ui_box *b)
{
    float pad = ui_px(u, (double)b->style.pad_x);
    rect r = {b->r.x + pad, b->r.y, b->r.w - 2 * pad, b->r.h};
    (void)ui_put(u, ui_layer_top(u), b->text_style.face, b->text_style.size_dp, r, b->text_style.align,
                 ui_tone_colour(u, b->text_style.tone), b->text);
}

static bool is_visible(const ui_box *b)
{
    return b->r.x < b->clip.x + b->clip.w && b->r.y < b->clip.y + b->clip.h && b->r.x + b->r.w > b->clip.x &&
           b->r.y + b->r.h > b->clip.y;
}

static void draw_scroll_mark(ui *u, uint32_t box)
{
    const ui_box *b = &u->boxes[box];
    const ui_state *s = ui_state_at(u, box);
    double content = s->max_scroll_dp + s->view_dp;
    if (s->max_scroll_dp <= 0 || content <= 0) {
        return;
    }
    float room = b->r.h - ui_px(u, 4);
    float h = fmaxf(ui_px(u, 24), floorf(room * (float)(s->view_dp / content)));
    float at = floorf((room - h) * (float)(s->scroll_dp / s->max_scroll_dp));
    float w = ui_px(u, 4);
    rect r = {b->r.x + b->r.w - w - ui_px(u, 2), b->r.y + ui_px(u, 2) + at, w, h};
    rgba none = {0, 0, 0, 0};
    draw_round(u->l, ui_layer_top(u), r, w / 2, rgba_with_alpha(u->t->faint, 150), 0, none);
}

static void draw_focus(ui *u, uint32_t box)
{
    const ui_box *b = &u->boxes[box];
    bool shown = u->focus_visible || (b->style.flags & UI_EDIT);
    if (u->focus != b->key || !shown) {
        return;
    }
    rgba none = {0, 0, 0, 0};
    draw_round(u->l, ui_layer_top(u), b->r, ui_px(u, fmax(2, (double)b->style.radius)), none, fmaxf(1, ui_px(u, 1.5)),
               u->t->accent);
}

void ui_draw(ui *u)
{
    rect clip = {.w = -1}; /* none yet */
    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t i = 0; i < u->n; i++) {
            const ui_box *b = &u->boxes[i];
            if (!is_visible(b)) {
                continue;
            }
            u->layer = b->layer;
            set_clip(u, b->clip, &clip);
            if (pass == 1) {
                if (b->style.flags & UI_SCROLL) {
                    draw_scroll_mark(u, i);
                }
                draw_focus(u, i);
                continue;
            }
            draw_surface(u, i);
            if (b->paint) {
                b->paint(u, u->l, b->r, b->ctx);
            }
            if (b->text) {
                draw_text(u, b);
            }
        }
    }
    if (clip.w >= 0) {
        draw_pop_clip(u->l);
    }
}

/* ---- the tree as text ---- */

static int depth_of(const ui *u, uint32_t box)
{
    int depth = 0;
    for (uint32_t p = u->boxes[box].parent; p != UI_NONE; p = u->boxes[p].parent) {
        depth++;
    }
    return depth;
}

void ui_tree_dump(const ui *u, strbuf *out)
{
    for (uint32_t i = 0; i < u->n; i++) {
        const ui_box *b = &u->boxes[i];
        const ui_state *s = ui_state_at(u, i);
        const char *label = b->label ? b->label : b->text;
        strbuf_printf(out, "%*s%s", 2 * depth_of(u, i), "", b->role);
        if (label) {
            strbuf_printf(out, " \"%s\"", label);
        }
        strbuf_printf(out, " [%.0f %.0f %.0f %.0f]", (double)b->r.x, (double)b->r.y, (double)b->r.w, (double)b->r.h);
        if (b->style.flags & UI_FOCUS) {
            strbuf_puts(out, u->focus == b->key ? " focused" : " focusable");
        }
        if (u->hot == b->key && u->hot != 0) {
            strbuf_puts(out, " hovered");
        }
        if (b->style.flags & UI_SCROLL) {
            strbuf_printf(out, " scroll %.0f of %.0f", s->scroll_dp, s->max_scroll_dp);
        }
        strbuf_puts(out, "\n");
    }
}
