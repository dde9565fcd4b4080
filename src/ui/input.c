/* Events against the rectangles of the last frame. */
#include "ui/internal.h"

#include <math.h>
#include <string.h>

static const double WHEEL_DP = 60;
static const double KEPT_DP = 40; /* of what was seen, after a page */

bool ui_inside(rect r, double x, double y)
{
    return x >= (double)r.x && x < (double)(r.x + r.w) && y >= (double)r.y && y < (double)(r.y + r.h);
}

static bool is_at(const ui_box *b, double x, double y)
{
    return ui_inside(b->r, x, y) && ui_inside(b->clip, x, y);
}

/* The last described box with one of the flags at a point; pop-ups before panels. */
static uint32_t box_at(const ui *u, double x, double y, unsigned flags)
{
    for (int layer = LAYER_TOP; layer >= LAYER_GROUND; layer--) {
        for (uint32_t i = (uint32_t)u->n; i-- > 0;) {
            const ui_box *b = &u->boxes[i];
            if ((int)b->layer != layer || !is_at(b, x, y)) {
                continue;
            }
            if (b->style.flags & flags) {
                return i;
            }
            if (b->style.flags & UI_OPAQUE) {
                return UI_NONE;
            }
        }
    }
    return UI_NONE;
}

bool ui_covers(const ui *u, double x, double y)
{
    return box_at(u, x, y, UI_OPAQUE | UI_CLICK) != UI_NONE;
}

void ui_point(ui *u)
{
    uint32_t box = u->x < 0 ? UI_NONE : box_at(u, u->x, u->y, UI_CLICK | UI_HIGHLIGHT | UI_HOVER);
    uint64_t hot = box == UI_NONE ? 0 : u->boxes[box].key;
    if (hot != u->hot) {
        u->hot = hot;
        u->restless = true;
    }
}

static bool press(ui *u, const ui_event *e)
{
    u->x = e->x;
    u->y = e->y;
    ui_point(u);
    u->active = u->hot;
    uint32_t box = ui_find(u, u->hot);
    while (box != UI_NONE && (u->boxes[box].style.flags & UI_FOCUS) == 0) {
        box = u->boxes[box].parent; /* a list's row leaves the focus to its list */
    }
    u->focus = box == UI_NONE ? 0 : u->boxes[box].key;
    u->focus_visible = false;
    u->was_pressed = ui_covers(u, e->x, e->y);
    return u->was_pressed;
}

static bool release(ui *u, const ui_event *e)
{
    bool was = u->was_pressed;
    u->was_pressed = false;
    u->x = e->x;
    u->y = e->y;
    ui_point(u);
    uint32_t box = u->active != 0 && u->active == u->hot ? ui_find(u, u->active) : UI_NONE;
    if (box != UI_NONE && (u->boxes[box].style.flags & UI_CLICK)) {
        ui_state_at(u, box)->clicked = true;
        ui_state_at(u, box)->click_x = e->x;
    }
    u->active = 0;
    return was;
}

static bool wheel(ui *u, const ui_event *e)
{
    for (uint32_t i = box_at(u, e->x, e->y, UI_SCROLL); i != UI_NONE; i = u->boxes[i].parent) {
        ui_state *s = ui_state_at(u, i);
        if ((u->boxes[i].style.flags & UI_SCROLL) && s->max_scroll_dp > 0) {
            s->scroll_dp = fmin(fmax(s->scroll_dp - WHEEL_DP * e->notches, 0), s->max_scroll_dp);
            return true;
        }
    }
    return ui_covers(u, e->x, e->y);
}

/* ---- keys ---- */

static bool can_focus(const ui_box *b)
{
    return (b->style.flags & UI_FOCUS) != 0;
}

static void give_focus(ui *u, uint32_t box)
{
    u->focus = u->boxes[box].key;
    u->focus_visible = true;
    u->focus_moved = true;
}

static bool walk(ui *u, int direction)
{
    uint32_t n = (uint32_t)u->n;
    uint32_t from = ui_find(u, u->focus);
    uint32_t at = from != UI_NONE ? from : direction > 0 ? n - 1 : 0;
    for (uint32_t k = 0; k < n; k++) {
        at = direction > 0 ? (at + 1) % n : (at + n - 1) % n;
        if (can_focus(&u->boxes[at])) {
            give_focus(u, at);
            return true;
        }
    }
    return false;
}

/* Up and Down among brothers: cards, buttons. */
static bool walk_siblings(ui *u, uint32_t from, int direction)
{
    uint32_t parent = u->boxes[from].parent;
    uint32_t before = UI_NONE;
    uint32_t c = parent == UI_NONE ? 0 : parent + 1;
    uint32_t end = parent == UI_NONE ? (uint32_t)u->n : u->boxes[parent].end;
    bool passed = false;
    for (; c < end; c = u->boxes[c].end) {
        if (c == from) {
            if (direction < 0 && before != UI_NONE) {
                give_focus(u, before);
                return true;
            }
            passed = true;
        } else if (can_focus(&u->boxes[c])) {
            if (passed && direction > 0) {
                give_focus(u, c);
                return true;
            }
            before = c;
        }
    }
    return false;
}

static bool push_key(ui *u, const char *key, uint32_t code)
{
    if (u->n_keys < UI_MAX_KEYS) {
        (void)snprintf(u->keys[u->n_keys], UI_KEY_BYTES, "%s", key ? key : "");
        u->codes[u->n_keys++] = code;
    }
    return true;
}

static bool is_one_of(const char *key, const char *const *words, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (strcmp(key, words[i]) == 0) {
            return true;
        }
    }
    return false;
}

static bool is_arrow(const char *key)
{
    static const char *const words[] = {"Up", "Down", "Left", "Right", "Page up", "Page down", "Home", "End"};
    return is_one_of(key, words, sizeof words / sizeof *words);
}

static bool is_editing_key(const char *key)
{
    const char *plus = strrchr(key, '+');
    const char *name = plus && plus[1] ? plus + 1 : key;
    static const char *const words[] = {"Left", "Right", "Home", "End", "Backspace", "Delete", "Up", "Down", "Enter"};
    return is_one_of(name, words, sizeof words / sizeof *words) || strcmp(key, "Ctrl+A") == 0;
}

/* What has no use for these keys leaves them to the scroll area that it lies in. */
static bool scroll_by_key(ui *u, uint32_t box, const char *name)
{
    static const char *const words[] = {"Page up", "Page down", "Home", "End"};
    if (!is_one_of(name, words, sizeof words / sizeof *words)) {
        return false;
    }
    for (uint32_t p = u->boxes[box].parent; p != UI_NONE; p = u->boxes[p].parent) {
        ui_state *s = ui_state_at(u, p);
        if ((u->boxes[p].style.flags & UI_SCROLL) == 0 || s->max_scroll_dp <= 0) {
            continue;
        }
        double page = fmax(s->view_dp - KEPT_DP, 1);
        double to = strcmp(name, "Home") == 0      ? 0
                    : strcmp(name, "End") == 0     ? s->max_scroll_dp
                    : strcmp(name, "Page up") == 0 ? s->scroll_dp - page
                                                   : s->scroll_dp + page;
        s->scroll_dp = fmin(fmax(to, 0), s->max_scroll_dp);
        return true;
    }
    return false;
}

static bool key(ui *u, const char *name)
{
    uint32_t box = ui_find(u, u->focus);
    if (strcmp(name, "Tab") == 0 || strcmp(name, "Shift+Tab") == 0) {
        return walk(u, name[0] == 'T' ? 1 : -1);
    }
    if (box == UI_NONE) {
        return false;
    }
    unsigned flags = u->boxes[box].style.flags;
    if (strcmp(name, "Escape") == 0) {
        (void)push_key(u, name, 0);
        u->leaving = u->focus;
        u->focus = 0;
        return true;
    }
    if (flags & UI_EDIT) {
        return is_editing_key(name) && push_key(u, name, 0);
    }
    if ((flags & UI_ARROWS) && (is_arrow(name) || strcmp(name, "Enter") == 0)) {
        return push_key(u, name, 0);
    }
    if ((flags & UI_CLICK) && strcmp(name, "Enter") == 0) {
        ui_state_at(u, box)->clicked = true;
        return true;
    }
    if (scroll_by_key(u, box, name)) {
        return true;
    }
    if (strcmp(name, "Up") == 0 || strcmp(name, "Down") == 0) {
        return walk_siblings(u, box, name[0] == 'U' ? -1 : 1);
    }
    return false;
}

static bool sign(ui *u, uint32_t code)
{
    uint32_t box = ui_find(u, u->focus);
    unsigned flags = box == UI_NONE ? 0 : u->boxes[box].style.flags;
    if (flags & UI_EDIT) {
        return push_key(u, NULL, code);
    }
    if (code == ' ' && (flags & UI_CLICK)) {
        ui_state_at(u, box)->clicked = true;
        return true;
    }
    if (code == ' ' && (flags & UI_ARROWS)) {
        return push_key(u, "Enter", 0);
    }
    return false;
}

bool ui_handle(ui *u, const ui_event *e)
{
    switch (e->kind) {
    case UI_EVENT_MOVE:
        u->x = e->x;
        u->y = e->y;
        ui_point(u);
        return u->was_pressed || ui_covers(u, e->x, e->y);
    case UI_EVENT_LEAVE:
        u->x = -1;
        u->y = -1;
        ui_point(u);
        return false;
    case UI_EVENT_PRESS:
        return press(u, e);
    case UI_EVENT_RELEASE:
        return release(u, e);
    case UI_EVENT_WHEEL:
        return wheel(u, e);
    case UI_EVENT_KEY:
        return key(u, e->key);
    case UI_EVENT_SIGN:
        return sign(u, e->code);
    default:
        return false;
    }
}

bool ui_next_key(const ui *u, uint32_t box, int *i, const char **name, uint32_t *code)
{
    uint64_t mine = u->boxes[box].key;
    if ((u->focus != mine && u->leaving != mine) || *i >= u->n_keys) {
        return false;
    }
    *name = u->keys[*i];
    *code = u->codes[(*i)++];
    return true;
}

bool ui_is_editing(const ui *u)
{
    uint32_t box = ui_find(u, u->focus);
    return box != UI_NONE && (u->boxes[box].style.flags & UI_EDIT);
}

bool ui_has_focus(const ui *u)
{
    return u->focus != 0;
}

void ui_focus_nothing(ui *u)
{
    u->focus = 0;
}

void ui_focus(ui *u, ui_box_id box)
{
    give_focus(u, box);
}
