/* The interface from the inside. Boxes of a frame lie in one array in the order of description: a parent before its
 * children, its subtree in one piece [i, end). So both passes of the layout are loops, not recursions. */
#ifndef MAREY_UI_INTERNAL_H
#define MAREY_UI_INTERNAL_H

#include "base/hash.h"
#include "base/mem.h"
#include "ui/text_edit.h"
#include "ui/ui.h"

#define UI_NONE UINT32_MAX
enum { UI_MAX_DEPTH = 32, UI_MAX_KEYS = 32, UI_KEY_BYTES = 32 };

typedef struct ui_box {
    uint64_t key;
    uint32_t parent; /* UI_NONE: a root */
    uint32_t end;    /* of its subtree */
    uint32_t n_children;
    uint32_t state;   /* into ui.states */
    const char *role; /* not copied: a literal */
    const char *label;
    ui_style style;
    /* text of its own */
    const char *text;
    ui_text_style text_style;
    ui_paint paint;
    void *ctx;
    draw_layer layer;       /* roots and what is in them */
    double content_dp;      /* of a list: height of all rows; 0: of the children */
    double shift_dp;        /* of a list: what lies above the first described row */
    float want[2], size[2]; /* px: w, h */
    float inside[2];        /* px: what its children take */
    rect r, clip;
} ui_box;

/* What stays. */
typedef struct ui_state {
    uint64_t key;
    uint64_t seen; /* frame */
    rect r;        /* of the last frame */
    double scroll_dp, max_scroll_dp, view_dp;
    float hot; /* 0 to 1 */
    uint64_t cursor;
    bool clicked;   /* since the last frame */
    double click_x; /* where, px */
    bool reveal;    /* the cursor's row is to be scrolled into view */
    text_edit *edit;
} ui_state;

struct ui {
    text_ctx *text;
    arena memory; /* of this frame */
    ui_box *boxes;
    size_t n, cap;
    uint32_t open[UI_MAX_DEPTH];
    int n_open;
    ui_state *states;
    size_t n_states, cap_states;
    map64 by_key; /* -> index + 1 */
    uint64_t frame_number;

    ui_frame frame;
    draw_list *l;
    const theme *t;
    int64_t passed_ns; /* since the frame before; 0: no animation */
    draw_layer layer;  /* while painting */

    /* input, against the last frame */
    double x, y; /* < 0: the pointer is elsewhere */
    uint64_t hot, active, focus;
    uint64_t leaving; /* had the focus until Escape, in this frame */
    bool was_pressed; /* the button went down on the interface */
    bool focus_visible;
    char keys[UI_MAX_KEYS][UI_KEY_BYTES]; /* for the box with the focus, since the last frame */
    uint32_t codes[UI_MAX_KEYS];          /* 0: a key */
    int n_keys;
    bool restless;
    bool focus_moved; /* by a key: bring it into view */

    const char *tooltip; /* of this frame; NULL */
    rect tooltip_of;
    char toast[256];
    int64_t toast_until_ns;
    char problem[160];
};

void ui_layout(ui *u);
void ui_draw(ui *u);
/** Finds what lies under the pointer now. */
void ui_point(ui *u);
ui_state *ui_state_at(const ui *u, uint32_t box);
uint32_t ui_find(const ui *u, uint64_t key); /* a box of this frame; UI_NONE */
uint64_t ui_hash(uint64_t parent, const char *id);
rgba ui_tone_colour(const ui *u, ui_tone tone);
char *ui_copy(ui *u, const char *s);
/** The next key or sign for the box, if it has the focus; *i counts up. @return false: no more */
bool ui_next_key(const ui *u, uint32_t box, int *i, const char **key, uint32_t *code);
bool ui_inside(rect r, double x, double y);
void ui_show_tooltip_and_toast(ui *u);
float ui_px(const ui *u, double dp); /* whole device px */

#endif
