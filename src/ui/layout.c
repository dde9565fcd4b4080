/* Two passes: sizes from the leaves up, then from the roots down, where what is too large shrinks by its strictness. */
#include "ui/internal.h"

#include <math.h>
#include <string.h>

static const double LINE = 1.5; /* a line's height by its text size */

static float pad_px(const ui *u, const ui_box *b, int axis)
{
    return ui_px(u, (double)(axis == 0 ? b->style.pad_x : b->style.pad_y));
}

static int main_axis(const ui_box *b)
{
    return b->style.axis == UI_ROW ? 0 : 1;
}

static ui_size size_of(const ui_box *b, int axis)
{
    return axis == 0 ? b->style.w : b->style.h;
}

/* ---- up ---- */

static float text_extent(ui *u, const ui_box *b, int axis)
{
    if (!b->text) {
        return 0;
    }
    float size = b->text_style.size_dp * u->frame.scale;
    return axis == 0 ? ceilf(text_width(u->text, b->text_style.face, size, b->text, strlen(b->text)))
                     : ui_px(u, (double)b->text_style.size_dp * LINE);
}

static float children_extent(const ui *u, uint32_t box, int axis)
{
    const ui_box *b = &u->boxes[box];
    bool along = main_axis(b) == axis;
    float sum = 0;
    for (uint32_t c = box + 1; c < b->end; c = u->boxes[c].end) {
        sum = along ? sum + u->boxes[c].want[axis] : fmaxf(sum, u->boxes[c].want[axis]);
    }
    if (along && b->n_children > 1) {
        sum += ui_px(u, (double)b->style.gap) * (float)(b->n_children - 1);
    }
    return sum;
}

static void want_size(ui *u, uint32_t box)
{
    ui_box *b = &u->boxes[box];
    for (int axis = 0; axis < 2; axis++) {
        ui_size s = size_of(b, axis);
        float pads = 2 * pad_px(u, b, axis);
        float want = 0;
        if (s.kind == UI_PX) {
            want = ui_px(u, (double)s.value);
        } else if (s.kind == UI_TEXT) {
            want = text_extent(u, b, axis) + ui_px(u, (double)s.value) + pads;
        } else if (s.kind == UI_CHILDREN) {
            want = children_extent(u, box, axis) + pads;
        }
        b->want[axis] = want;
    }
}

/* ---- down ---- */

/* Sizes of all children along the parent's axis, in the room between its pads. */
static void share_room(ui *u, uint32_t box, int axis, float room)
{
    const ui_box *b = &u->boxes[box];
    float gaps = b->n_children > 1 ? ui_px(u, (double)b->style.gap) * (float)(b->n_children - 1) : 0;
    float used = gaps;
    float weights = 0;
    float soft = 0;
    for (uint32_t c = box + 1; c < b->end; c = u->boxes[c].end) {
        ui_box *child = &u->boxes[c];
        ui_size s = size_of(child, axis);
        child->size[axis] = s.kind == UI_PERCENT ? floorf(room * s.value / 100) : child->want[axis];
        if (s.kind == UI_FILL) {
            weights += s.value > 0 ? s.value : 1;
        } else {
            used += child->size[axis];
            soft += child->size[axis] * (1 - s.strictness);
        }
    }
    bool scrolls = (b->style.flags & UI_SCROLL) && axis == 1;
    float left = room - used;
    float shrink = left < 0 && soft > 0 && !scrolls ? fminf(1, -left / soft) : 0;
    for (uint32_t c = box + 1; c < b->end; c = u->boxes[c].end) {
        ui_box *child = &u->boxes[c];
        ui_size s = size_of(child, axis);
        if (s.kind == UI_FILL) {
            float share = s.value > 0 ? s.value : 1;
            float part = left > 0 ? floorf(left * share / weights) : 0;
            child->size[axis] = part;
            left -= part;
            weights -= share;
        } else if (shrink > 0) {
            child->size[axis] = floorf(child->size[axis] * (1 - shrink * (1 - s.strictness)));
        }
    }
}

static void size_across(ui *u, uint32_t box, int axis, float room)
{
    const ui_box *b = &u->boxes[box];
    for (uint32_t c = box + 1; c < b->end; c = u->boxes[c].end) {
        ui_box *child = &u->boxes[c];
        ui_size s = size_of(child, axis);
        if (s.kind == UI_PERCENT) {
            child->size[axis] = floorf(room * s.value / 100);
        } else if (s.kind == UI_FILL) {
            child->size[axis] = room;
        } else {
            child->size[axis] = fmaxf(child->want[axis] * s.strictness, fminf(child->want[axis], room));
        }
        child->size[axis] = floorf(child->size[axis]);
    }
}

static rect cut(rect a, rect b)
{
    float x0 = fmaxf(a.x, b.x);
    float y0 = fmaxf(a.y, b.y);
    float x1 = fminf(a.x + a.w, b.x + b.w);
    float y1 = fminf(a.y + a.h, b.y + b.h);
    return (rect){x0, y0, fmaxf(0, x1 - x0), fmaxf(0, y1 - y0)};
}

/* What the scroll may be now that sizes are known; the cursor's row and the focus are brought into view. */
static float scroll_px(ui *u, uint32_t box)
{
    const ui_box *b = &u->boxes[box];
    ui_state *s = ui_state_at(u, box);
    double scale = (double)u->frame.scale;
    double content = b->content_dp > 0 ? b->content_dp : (double)b->inside[1] / scale;
    s->view_dp = (double)b->r.h / scale - 2 * (double)b->style.pad_y;
    s->max_scroll_dp = content > s->view_dp ? content - s->view_dp : 0;
    s->scroll_dp = fmin(fmax(s->scroll_dp, 0), s->max_scroll_dp);
    return (float)floor((s->scroll_dp - b->shift_dp) * scale + 0.5);
}

static void place_children(ui *u, uint32_t box)
{
    ui_box *b = &u->boxes[box];
    int along = main_axis(b);
    float pad[2] = {pad_px(u, b, 0), pad_px(u, b, 1)};
    float room[2] = {b->r.w - 2 * pad[0], b->r.h - 2 * pad[1]};
    share_room(u, box, along, room[along]);
    size_across(u, box, 1 - along, room[1 - along]);
    float gap = ui_px(u, (double)b->style.gap);
    float at[2] = {b->r.x + pad[0], b->r.y + pad[1]};
    b->inside[along] = 0;
    for (uint32_t c = box + 1; c < b->end; c = u->boxes[c].end) {
        b->inside[along] += u->boxes[c].size[along] + (b->inside[along] > 0 ? gap : 0);
    }
    bool scrolls = (b->style.flags & UI_SCROLL) != 0;
    at[1] -= scrolls ? scroll_px(u, box) : 0;
    rect clip = b->style.flags & (UI_CLIP | UI_SCROLL) ? cut(b->clip, b->r) : b->clip;
    for (uint32_t c = box + 1; c < b->end; c = u->boxes[c].end) {
        ui_box *child = &u->boxes[c];
        float y = along == 0 ? at[1] + floorf((room[1] - child->size[1]) / 2) : at[1];
        child->r = (rect){at[0], y, child->size[0], child->size[1]};
        child->clip = clip;
        at[along] += child->size[along] + gap;
    }
}

static void reveal_focus(ui *u)
{
    uint32_t box = u->focus_moved ? ui_find(u, u->focus) : UI_NONE;
    u->focus_moved = false;
    if (box == UI_NONE) {
        return;
    }
    rect r = u->boxes[box].r;
    for (uint32_t p = u->boxes[box].parent; p != UI_NONE; p = u->boxes[p].parent) {
        if ((u->boxes[p].style.flags & UI_SCROLL) == 0) {
            continue;
        }
        rect view = u->boxes[p].r;
        float over = r.y + r.h - (view.y + view.h);
        float under = view.y - r.y;
        if (over > 0 || under > 0) {
            double by = under > 0 ? -(double)under : (double)over;
            ui_state_at(u, p)->scroll_dp += by / (double)u->frame.scale;
            u->restless = true; /* places are those of before: the next frame shows it */
        }
        return;
    }
}

void ui_layout(ui *u)
{
    rect frame = {0, 0, u->frame.width_px, u->frame.height_px};
    for (uint32_t i = (uint32_t)u->n; i-- > 0;) {
        want_size(u, i);
    }
    for (uint32_t i = 0; i < u->n; i++) {
        ui_box *b = &u->boxes[i];
        if (b->parent == UI_NONE) {
            /* A root without a size is as large as its content. */
            b->r.w = b->r.w > 0 ? b->r.w : fminf(b->want[0], frame.w);
            b->r.h = b->r.h > 0 ? b->r.h : fminf(b->want[1], frame.h - b->r.y);
            b->clip = frame;
        }
        place_children(u, i);
    }
    reveal_focus(u);
}
