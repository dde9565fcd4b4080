/* Boxes and their state: what is described, frame by frame. */
#include "ui/internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_STATES = 4096 };

ui *ui_create(text_ctx *text)
{
    ui *u = mem_calloc(1, sizeof *u);
    u->text = text;
    u->x = -1;
    u->y = -1;
    return u;
}

static void free_states(ui *u)
{
    for (size_t i = 0; i < u->n_states; i++) {
        free(u->states[i].edit);
    }
    free(u->states);
    map64_deinit(&u->by_key);
}

void ui_destroy(ui **pu)
{
    ui *u = *pu;
    if (!u) {
        return;
    }
    free_states(u);
    arena_deinit(&u->memory);
    free(u->boxes);
    free(u);
    *pu = NULL;
}

/* ---- states ---- */

/* A long list that was scrolled through leaves a state per row: those of the last frame are enough. */
static void forget_old_states(ui *u)
{
    if (u->n_states < MAX_STATES) {
        return;
    }
    size_t n = 0;
    map64_deinit(&u->by_key);
    u->by_key = (map64){0};
    for (size_t i = 0; i < u->n_states; i++) {
        ui_state *s = &u->states[i];
        if (s->seen + 1 < u->frame_number && !s->edit) {
            continue;
        }
        u->states[n] = *s;
        *map64_put(&u->by_key, s->key) = ++n;
    }
    u->n_states = n;
}

static uint32_t state_of_key(ui *u, uint64_t key)
{
    uint64_t *place = map64_put(&u->by_key, key);
    if (*place == 0) {
        *place = u->n_states + 1;
        ui_state s = {.key = key, .cursor = UI_NO_ROW};
        VEC_PUSH(u->states, u->n_states, u->cap_states, s);
    }
    return (uint32_t)(*place - 1);
}

ui_state *ui_state_at(const ui *u, uint32_t box)
{
    return &u->states[u->boxes[box].state];
}

uint32_t ui_find(const ui *u, uint64_t key)
{
    for (uint32_t i = 0; key != 0 && i < u->n; i++) {
        if (u->boxes[i].key == key) {
            return i;
        }
    }
    return UI_NONE;
}

uint64_t ui_hash(uint64_t parent, const char *id)
{
    uint64_t h = UINT64_C(14695981039346656037) ^ parent; /* FNV: the same key in every run, for what tests compare */
    for (const char *c = id; *c; c++) {
        h = (h ^ (uint8_t)*c) * UINT64_C(1099511628211);
    }
    h = hash_u64(h);
    return h ? h : 1;
}

/* ---- frames ---- */

void ui_begin(ui *u, draw_list *l, const ui_frame *frame)
{
    int64_t before = u->frame.now_ns;
    arena_reset(&u->memory);
    u->l = l;
    u->frame = *frame;
    u->frame.scale = frame->scale > 0 ? frame->scale : 1;
    u->t = theme_get(frame->theme);
    u->passed_ns = frame->now_ns > 0 && before > 0 ? frame->now_ns - before : 0;
    u->n = 0;
    u->n_open = 0;
    u->restless = false;
    u->problem[0] = '\0';
    u->frame_number++;
    forget_old_states(u);
}

static void end_input(ui *u)
{
    for (uint32_t i = 0; i < u->n; i++) {
        ui_state *s = ui_state_at(u, i);
        s->clicked = false;
        s->r = u->boxes[i].r;
    }
    u->n_keys = 0;
    u->leaving = 0;
    if (u->focus && ui_find(u, u->focus) == UI_NONE) {
        u->focus = 0; /* what had it is no longer there */
    }
}

void ui_end(ui *u)
{
    ui_show_tooltip_and_toast(u);
    if (u->n_open != 0 && !u->problem[0]) {
        (void)snprintf(u->problem, sizeof u->problem, "%d boxes were not closed.", u->n_open);
    }
    while (u->n_open > 0) {
        ui_pop(u);
    }
    ui_layout(u);
    ui_draw(u);
    end_input(u);
    ui_point(u);
}

/* ---- boxes ---- */

static uint32_t add_box(ui *u, uint32_t parent, const char *role, const char *id, const ui_style *style)
{
    char number[24];
    if (!id) {
        (void)snprintf(number, sizeof number, "#%u", parent == UI_NONE ? 0 : u->boxes[parent].n_children);
        id = number;
    }
    uint64_t key = ui_hash(parent == UI_NONE ? 0 : u->boxes[parent].key, id);
    uint32_t state = state_of_key(u, key);
    if (u->states[state].seen == u->frame_number && !u->problem[0]) {
        (void)snprintf(u->problem, sizeof u->problem, "Two boxes are called \"%s\" under one parent.", id);
    }
    u->states[state].seen = u->frame_number;
    ui_box b = {.key = key, .parent = parent, .state = state, .role = role, .style = *style};
    b.layer = parent == UI_NONE ? LAYER_PANELS : u->boxes[parent].layer;
    VEC_PUSH(u->boxes, u->n, u->cap, b);
    uint32_t box = (uint32_t)(u->n - 1);
    u->boxes[box].end = box + 1;
    if (parent != UI_NONE) {
        u->boxes[parent].n_children++;
    }
    return box;
}

static void open_box(ui *u, uint32_t box)
{
    if (u->n_open < UI_MAX_DEPTH) {
        u->open[u->n_open++] = box;
    } else if (!u->problem[0]) {
        (void)snprintf(u->problem, sizeof u->problem, "Boxes are nested more than %d deep.", UI_MAX_DEPTH);
    }
}

ui_box_id ui_root(ui *u, const char *id, rect r, draw_layer layer, const ui_style *style)
{
    uint32_t box = add_box(u, UI_NONE, "surface", id, style);
    u->boxes[box].r = r;
    u->boxes[box].layer = layer;
    u->boxes[box].label = ui_copy(u, id);
    open_box(u, box);
    return box;
}

ui_box_id ui_push(ui *u, const char *role, const char *id, const ui_style *style)
{
    uint32_t parent = u->n_open > 0 ? u->open[u->n_open - 1] : UI_NONE;
    uint32_t box = add_box(u, parent, role, id, style);
    open_box(u, box);
    return box;
}

void ui_pop(ui *u)
{
    if (u->n_open > 0) {
        u->boxes[u->open[--u->n_open]].end = (uint32_t)u->n;
    }
}

ui_signal ui_signal_of(const ui *u, ui_box_id box)
{
    const ui_box *b = &u->boxes[box];
    const ui_state *s = ui_state_at(u, box);
    ui_signal out = {.hovered = u->hot == b->key,
                     .pressed = u->active == b->key,
                     .clicked = s->clicked,
                     .focused = u->focus == b->key};
    if (out.hovered && s->r.w > 0 && s->r.h > 0) {
        out.at_x = (float)(u->x - (double)s->r.x) / s->r.w;
        out.at_y = (float)(u->y - (double)s->r.y) / s->r.h;
    }
    return out;
}

void ui_describe(ui *u, ui_box_id box, const char *label)
{
    u->boxes[box].label = ui_copy(u, label);
}

rect ui_last_rect(const ui *u, ui_box_id box)
{
    return ui_state_at(u, box)->r;
}

void ui_set_paint(ui *u, ui_box_id box, ui_paint paint, void *ctx)
{
    u->boxes[box].paint = paint;
    u->boxes[box].ctx = ctx;
}

/* ---- small things ---- */

void *ui_memory(ui *u, size_t size)
{
    return arena_alloc(&u->memory, size);
}

char *ui_copy(ui *u, const char *s)
{
    return arena_strndup(&u->memory, s, strlen(s));
}

const theme *ui_theme(const ui *u)
{
    return u->t;
}

float ui_scale(const ui *u)
{
    return u->frame.scale;
}

float ui_px(const ui *u, double dp)
{
    return (float)floor(dp * (double)u->frame.scale + 0.5);
}

draw_layer ui_layer(const ui *u)
{
    return u->layer;
}

draw_layer ui_layer_top(const ui *u)
{
    return u->layer == LAYER_OVERLAY ? LAYER_TOP : u->layer;
}

rgba ui_tone_colour(const ui *u, ui_tone tone)
{
    switch (tone) {
    case UI_DIM:
        return u->t->dim;
    case UI_FAINT:
        return u->t->faint;
    case UI_ACCENT:
        return u->t->accent;
    case UI_SEVERE:
        return u->t->severity;
    case UI_PLAIN:
    default:
        return u->t->text;
    }
}

float ui_put(ui *u, draw_layer layer, text_face face, float size_dp, rect r, text_align align, rgba c, const char *s)
{
    float size = size_dp * u->frame.scale;
    size_t n = strlen(s);
    if (n == 0 || r.w <= 0) {
        return 0;
    }
    float x = align == TEXT_LEFT ? r.x : align == TEXT_RIGHT ? r.x + r.w : r.x + r.w / 2;
    float y = text_baseline(u->text, face, size, r.y, r.h);
    return text_put_fit(u->text, u->l, layer, face, size, x, y, align, r.w, c, s, n);
}

bool ui_is_restless(const ui *u)
{
    return u->restless;
}

int64_t ui_deadline_ns(const ui *u)
{
    return u->toast[0] ? u->toast_until_ns : 0;
}

const char *ui_problem(const ui *u)
{
    return u->problem[0] ? u->problem : NULL;
}
