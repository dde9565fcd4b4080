/* An interface on a draw list without a window: fonts, frame, events in short words. */
#ifndef TESTS_UNIT_UI_HELP_STAND_H
#define TESTS_UNIT_UI_HELP_STAND_H

#include "cm.h"
#include <math.h>

#include "ui/internal.h"

typedef struct stand {
    text_ctx *text;
    ui *u;
    draw_list l;
    ui_frame frame;
    strbuf dump;
} stand;

static inline int stand_up(void **state)
{
    stand *s = calloc(1, sizeof *s);
    diag d;
    diag_init(&d);
    assert_int_equal(text_create(&s->text, &d), MAREY_OK);
    diag_deinit(&d);
    s->u = ui_create(s->text);
    s->frame = (ui_frame){.width_px = 800, .height_px = 600, .scale = 1, .theme = THEME_DARK};
    *state = s;
    return 0;
}

static inline int stand_down(void **state)
{
    stand *s = *state;
    ui_destroy(&s->u);
    text_destroy(&s->text);
    draw_list_deinit(&s->l);
    strbuf_deinit(&s->dump);
    free(s);
    return 0;
}

static inline void stand_begin(stand *s)
{
    text_frame(s->text);
    draw_list_begin(&s->l, s->frame.width_px, s->frame.height_px, s->frame.scale, theme_get(s->frame.theme));
    ui_begin(s->u, &s->l, &s->frame);
}

/* Every frame of every test keeps the list's and the tree's invariants. */
static inline void stand_end(stand *s)
{
    ui_end(s->u);
    if (ui_problem(s->u)) {
        fail_msg("%s", ui_problem(s->u));
    }
    assert_null(draw_list_check(&s->l));
}

static inline bool stand_key(stand *s, const char *key)
{
    ui_event e = {.kind = UI_EVENT_KEY, .key = key};
    return ui_handle(s->u, &e);
}

static inline bool stand_sign(stand *s, uint32_t code)
{
    ui_event e = {.kind = UI_EVENT_SIGN, .code = code};
    return ui_handle(s->u, &e);
}

static inline void stand_type(stand *s, const char *text)
{
    size_t n = strlen(text);
    for (size_t i = 0; i < n;) {
        (void)stand_sign(s, utf8_next(text, n, &i));
    }
}

static inline bool stand_click(stand *s, double x, double y)
{
    ui_event e = {.kind = UI_EVENT_PRESS, .x = x, .y = y};
    bool took = ui_handle(s->u, &e);
    e.kind = UI_EVENT_RELEASE;
    return ui_handle(s->u, &e) && took;
}

static inline bool stand_wheel(stand *s, double x, double y, double notches)
{
    ui_event e = {.kind = UI_EVENT_WHEEL, .x = x, .y = y, .notches = notches};
    return ui_handle(s->u, &e);
}

static inline const char *stand_dump(stand *s)
{
    strbuf_clear(&s->dump);
    ui_tree_dump(s->u, &s->dump);
    return strbuf_str(&s->dump);
}

/* The rectangle of the first box with a role and label. */
static inline rect stand_rect(const stand *s, const char *role, const char *label)
{
    for (size_t i = 0; i < s->u->n; i++) {
        const ui_box *b = &s->u->boxes[i];
        const char *own = b->label ? b->label : b->text ? b->text : "";
        if (strcmp(b->role, role) == 0 && (!label || strcmp(own, label) == 0)) {
            return b->r;
        }
    }
    fail_msg("no %s \"%s\"", role, label ? label : "");
    return (rect){0, 0, 0, 0};
}

#endif
