/*
 * The interface: boxes that are described anew in every frame and keep their state by key.
 *
 *     ui_handle(u, &event);                    between frames: against the rectangles of the last frame
 *     ui_begin(u, list, &frame);
 *     ui_root(u, "inspector", rect, &style);   a surface at a place, in device px
 *         if (ui_button(u, "fly", "Go there").clicked) { ... }
 *     ui_pop(u);
 *     ui_end(u);                               sizes up, sizes down, places; then all is drawn into the list
 *
 * A box's key is made of its parent's key and its own id, so state (scroll, hover, focus, animation, edited text)
 * stays with it wherever the box moves. Two children of one parent with one id are our fault: ui_problem() names them.
 *
 * Sizes are design px ("dp") in what is described; rectangles and events are device px, y down. Every edge lands on a
 * whole pixel. All strings are UTF-8 and copied.
 *
 * Keyboard: Tab and Shift+Tab walk through what can have the focus, in the order of description; Enter and Space do
 * what a click does; lists take the arrows, Page up and down scroll
 * the area that holds the focus; Escape gives the focus back. The focus is drawn when a key moved it.
 *
 * Thread: the drawing thread. Owner: the caller.
 */
#ifndef MAREY_UI_UI_H
#define MAREY_UI_UI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"
#include "draw/draw_list.h"
#include "text/text.h"

typedef struct ui ui;

typedef enum ui_size_kind {
    UI_CHILDREN, /* what the children take, with padding and gaps */
    UI_PX,       /* `value` dp */
    UI_TEXT,     /* the box's own text and `value` dp */
    UI_PERCENT,  /* `value` percent of the parent's inside */
    UI_FILL      /* a share of what is left, by weight `value` (0: 1) */
} ui_size_kind;

/* `strictness`, 0 to 1: the part that a box keeps when its parent is too small for all. */
typedef struct ui_size {
    ui_size_kind kind;
    float value;
    float strictness;
} ui_size;

#define UI_SIZE_PX(v)                                                                                                  \
    (ui_size)                                                                                                          \
    {                                                                                                                  \
        UI_PX, (v), 1                                                                                                  \
    }
#define UI_SIZE_FILL                                                                                                   \
    (ui_size)                                                                                                          \
    {                                                                                                                  \
        UI_FILL, 1, 0                                                                                                  \
    }
#define UI_SIZE_CHILDREN                                                                                               \
    (ui_size)                                                                                                          \
    {                                                                                                                  \
        UI_CHILDREN, 0, 1                                                                                              \
    }
#define UI_SIZE_TEXT(pad)                                                                                              \
    (ui_size)                                                                                                          \
    {                                                                                                                  \
        UI_TEXT, (pad), 0                                                                                              \
    }
#define UI_SIZE_PERCENT(v)                                                                                             \
    (ui_size)                                                                                                          \
    {                                                                                                                  \
        UI_PERCENT, (v), 1                                                                                             \
    }

typedef enum ui_axis { UI_COLUMN, UI_ROW } ui_axis; /* children below each other, or side by side */

enum {
    UI_CLICK = 1,       /* can be pressed */
    UI_FOCUS = 2,       /* can have the focus */
    UI_ARROWS = 4,      /* with the focus, takes arrows, Page up and down, Home and End */
    UI_EDIT = 8,        /* with the focus, takes signs and editing keys */
    UI_SCROLL = 16,     /* higher content scrolls */
    UI_CLIP = 32,       /* content is cut at the edge */
    UI_OPAQUE = 64,     /* nothing below it sees the pointer */
    UI_HIGHLIGHT = 128, /* is tinted under the pointer */
    UI_HOVER = 256      /* knows when the pointer is on it */
};

typedef struct ui_style {
    ui_size w, h;
    ui_axis axis;
    float pad_x, pad_y, gap; /* dp */
    unsigned flags;          /* UI_CLICK, ... */
    rgba fill, border;       /* alpha 0: none */
    float radius;            /* dp */
} ui_style;

typedef struct ui_frame {
    float width_px, height_px, scale;
    int64_t now_ns; /* 0: no animation, everything is at its end */
    theme_id theme;
} ui_frame;

typedef struct ui_signal {
    bool hovered, pressed, clicked, focused;
    float at_x, at_y; /* the pointer inside the box, 0 to 1; where it is not hovered: 0 */
} ui_signal;

ui *ui_create(text_ctx *text);
void ui_destroy(ui **u);
void ui_begin(ui *u, draw_list *l, const ui_frame *frame);
void ui_end(ui *u);

/* ------------------------------------------------------------------ input */

typedef enum ui_event_kind {
    UI_EVENT_MOVE,
    UI_EVENT_LEAVE,
    UI_EVENT_PRESS,
    UI_EVENT_RELEASE,
    UI_EVENT_WHEEL,
    UI_EVENT_KEY,
    UI_EVENT_SIGN
} ui_event_kind;

typedef struct ui_event {
    ui_event_kind kind;
    double x, y;     /* MOVE, PRESS, RELEASE, WHEEL: device px */
    double notches;  /* WHEEL: > 0 away from the user */
    const char *key; /* KEY: "Tab", "Shift+Left", "Ctrl+A", ... */
    uint32_t code;   /* SIGN: the code point */
} ui_event;

/** @return true when the interface took the event: nobody else should */
bool ui_handle(ui *u, const ui_event *e);
/** Does an opaque box of the last frame lie there? */
bool ui_covers(const ui *u, double x, double y);
/** A box with the focus takes signs: letters are no commands now. */
bool ui_is_editing(const ui *u);
bool ui_has_focus(const ui *u);
void ui_focus_nothing(ui *u);
/** Something moves or was not laid out yet: draw again. */
bool ui_is_restless(const ui *u);
/** When the picture changes by itself (a toast goes); 0: never. */
int64_t ui_deadline_ns(const ui *u);

/* ------------------------------------------------------------------ boxes */

typedef uint32_t ui_box_id; /* of this frame */

/** A surface at `r` (device px) in a layer; panels use LAYER_PANELS, pop-ups LAYER_OVERLAY. Closed by ui_pop. */
ui_box_id ui_root(ui *u, const char *id, rect r, draw_layer layer, const ui_style *style);
/** A child of the open box. `role` is a word for the tree's dump; `id` NULL: its number among its parent's children. */
ui_box_id ui_push(ui *u, const char *role, const char *id, const ui_style *style);
void ui_pop(ui *u);
ui_signal ui_signal_of(const ui *u, ui_box_id box);
/** What a reader of the tree hears; also set by the widgets. */
void ui_describe(ui *u, ui_box_id box, const char *label);
/** Give the focus to a box of the open one by its id, as Tab would. */
void ui_focus(ui *u, ui_box_id box);
/** The box's rectangle in the last frame; w = 0 when there was none. */
rect ui_last_rect(const ui *u, ui_box_id box);
const theme *ui_theme(const ui *u);
float ui_scale(const ui *u);
/** For content that the caller draws: called at ui_end with the box's rectangle. `ctx` must live until then: see
 * ui_memory. */
typedef void (*ui_paint)(ui *u, draw_list *l, rect r, void *ctx);
void ui_set_paint(ui *u, ui_box_id box, ui_paint paint, void *ctx);
void *ui_memory(ui *u, size_t size); /* not cleared; until the next ui_begin */
/** One line in a rectangle, cut in its middle where it is too wide; for painters. @return its width */
float ui_put(ui *u, draw_layer layer, text_face face, float size_dp, rect r, text_align align, rgba c, const char *s);
draw_layer ui_layer(const ui *u);     /* of the root that is being painted: surfaces */
draw_layer ui_layer_top(const ui *u); /* and what goes on top of them */

/* ------------------------------------------------------------------ widgets */

typedef enum ui_tone { UI_PLAIN, UI_DIM, UI_FAINT, UI_ACCENT, UI_SEVERE } ui_tone;
typedef struct ui_text_style {
    text_face face;
    float size_dp;
    ui_tone tone;
    text_align align;
} ui_text_style;

void ui_space(ui *u, float dp);
/** Fills what is left of the line, so that what comes next sits at its end. */
void ui_spring(ui *u);
void ui_hairline(ui *u);
/** One line; as wide as the text, may be cut. */
void ui_label(ui *u, const char *text, ui_text_style style);
/** One line that takes the rest of its row. */
void ui_label_fill(ui *u, const char *text, ui_text_style style);
/** Words broken into lines of at most `width_dp`, at most 6. */
void ui_paragraph(ui *u, const char *text, float width_dp, ui_text_style style);
void ui_section(ui *u, const char *title, const char *right);

ui_signal ui_button(ui *u, const char *id, const char *text);
typedef enum ui_icon { UI_ICON_CLOSE, UI_ICON_LEFT, UI_ICON_RIGHT, UI_ICON_UP, UI_ICON_DOWN } ui_icon;
ui_signal ui_icon_button(ui *u, const char *id, ui_icon icon, const char *label);
/** @return true when *on changed */
bool ui_toggle(ui *u, const char *id, const char *text, bool *on);
/** @return true when *chosen changed */
bool ui_tabs(ui *u, const char *id, const char *const *names, size_t n, size_t *chosen);
/** A raised surface that can be clicked, with a bar at its left whose strength is `severity`, 0 to 1. Closed by ui_pop.
 */
ui_box_id ui_card(ui *u, const char *id, double severity, bool selected);
void ui_key_value(ui *u, const char *key, const char *value);
typedef struct ui_legend_item {
    const char *name;
    rgba colour;
} ui_legend_item;
/** Swatches with names in two columns. */
void ui_legend(ui *u, const char *id, const ui_legend_item *items, size_t n);
/** Shown beside the last closed or pushed box while the pointer is on it; never over it. */
void ui_tooltip(ui *u, ui_box_id box, const char *text);
/** A sentence at the bottom of the frame that goes after four seconds. */
void ui_toast(ui *u, const char *text, int64_t now_ns);

/* A scroll area fills its parent; closed by ui_pop. */
ui_box_id ui_scroll_area(ui *u, const char *id);

/*
 * A list of up to 2^40 rows of one height, of which only the visible ones are described:
 *
 *     ui_list l = ui_list_begin(u, "hits", n, 24);
 *     for (uint64_t i = l.first; i < l.end; i++) { ui_list_row(u, &l, i); ...; ui_pop(u); }
 *     ui_list_end(u, &l);
 *     if (l.activated != UI_NO_ROW) ...
 */
#define UI_NO_ROW UINT64_MAX
typedef struct ui_list {
    ui_box_id box;
    uint64_t n, first, end;
    uint64_t cursor;    /* UI_NO_ROW: none */
    uint64_t activated; /* by a click, or Enter on the cursor; of this frame */
    int64_t step;       /* Right: 1, Left: -1 on the cursor's row (a tree opens and closes) */
    float row_dp;
} ui_list;
ui_list ui_list_begin(ui *u, const char *id, uint64_t n, float row_dp);
ui_signal ui_list_row(ui *u, ui_list *l, uint64_t row);
void ui_list_end(ui *u, ui_list *l);
/** Moves the cursor and scrolls to it. */
void ui_list_move(ui *u, ui_list *l, uint64_t row);

/* A tree is a list whose rows are told by the caller, who keeps what is open: visible rows in order. */
typedef struct ui_tree_row {
    const char *text;
    const char *right; /* NULL: none */
    uint32_t depth;
    bool has_children, is_open;
} ui_tree_row;
typedef ui_tree_row (*ui_tree_source)(void *ctx, uint64_t row);
typedef struct ui_tree_event {
    uint64_t toggled;   /* open or close this row; UI_NO_ROW */
    uint64_t activated; /* a leaf was chosen */
} ui_tree_event;
ui_tree_event ui_tree(ui *u, const char *id, uint64_t n, ui_tree_source source, void *ctx);

typedef struct ui_column {
    const char *title;
    float width_dp; /* 0: what is left */
    bool is_number; /* right-aligned */
} ui_column;
typedef const char *(*ui_cell_source)(void *ctx, uint64_t row, size_t column);
typedef struct ui_table {
    const ui_column *columns;
    size_t n_columns; /* at most 16 */
    uint64_t n_rows;
    ui_cell_source cell; /* of the row in the shown order; the text lives until the next call */
    void *ctx;
    size_t sort_column; /* in and out: a click on a title changes them, the caller sorts */
    bool descending;
} ui_table;
/** @return the activated row in the shown order, or UI_NO_ROW. *sort_changed tells the caller to sort. */
uint64_t ui_table_show(ui *u, const char *id, ui_table *t, bool *sort_changed);

/* Charts: values drawn as they are, no smoothing. */
typedef struct ui_histogram {
    const uint32_t *counts;
    const bool *marked; /* bins in the colour of severity; NULL: none */
    size_t n;
    rgba colour;
    const char *low, *high; /* under the ends */
    const char *label;      /* for the tree's dump */
} ui_histogram;
void ui_histogram_show(ui *u, const char *id, const ui_histogram *h, float height_dp);
void ui_sparkline(ui *u, const char *id, const double *values, size_t n, rgba colour, float height_dp);

/* A line of text that is edited; see ui/text_edit.h. */
typedef struct ui_field {
    const char *text;      /* what it holds; until the next ui_begin */
    bool changed, entered; /* Enter */
    bool left;             /* Escape */
    int moves;             /* Up and Down while it has the focus: for a list beside it */
    bool focused;
    ui_box_id box;
} ui_field;
/** `count` is shown at the right ("12 hits"); NULL: `hint` is (a key). */
ui_field ui_search_field(ui *u, const char *id, const char *placeholder, const char *count, const char *hint);
void ui_field_set(ui *u, ui_box_id field, const char *text);

/* ------------------------------------------------------------------ for tests */

/** One line a box: indent, role, "label", [x y w h], state. Exact and stable. */
void ui_tree_dump(const ui *u, strbuf *out);
/** NULL, or a sentence about the first breach in the last frame (double ids, a missing pop). */
const char *ui_problem(const ui *u);

#endif
