/*
 * Arguments that look like some before: the builder's taker knows their shape, and a shape says where in it the wanted
 * arguments are. They need not be walked then, and are taken apart for the store by the same comparison.
 */
#include <stdlib.h>
#include <string.h>

#include "readers/chrome.h"

static void set_args(const chrome_reader *c, jevent *e, const chrome_shape *shape, const char *text)
{
    const arg_taker *t = c->b->taker;
    for (uint32_t i = 0; i < shape->n; i++) {
        const chrome_arg *a = &c->shape_args[shape->first + i];
        const char *from = text + arg_taker_piece(t, a->piece) + a->from;
        const char *end = text + arg_taker_piece(t, a->end_piece) + a->end;
        e->args_seen |= 1U << a->arg;
        e->arg[a->arg] = (jspan){from, (uint32_t)(end - from), a->kind};
    }
}

size_t chrome_args_follow(void *ctx, jevent *e, const char *text, size_t n)
{
    chrome_reader *c = ctx;
    arg_taker *t = c->b->taker;
    jspan name = jevent_field(e, JKEY_NAME);
    c->args_known = false;
    uint64_t mix = trace_builder_expect_name(c->b, name.s, name.n);
    size_t len = t ? arg_taker_follow(t, (uint32_t)(mix >> 40), text, n) : 0;
    if (len == 0 || t->index >= c->n_shapes) {
        return 0;
    }
    const chrome_shape *shape = &c->shapes[t->index];
    if (!(e->args_skipped ? shape->is_walked : shape->is_known)) {
        return 0;
    }
    if (!e->args_skipped) {
        set_args(c, e, shape, text);
    }
    c->args_known = true;
    return len;
}

/* The piece that byte `at` of the text at hand is in, or right behind: no value begins or ends within a number. */
static uint32_t piece_of(const arg_taker *t, uint32_t at, uint32_t *byte)
{
    const arg_shape *shape = t->known[t->index].shape;
    uint32_t i = 0;
    while (i + 1 < shape->n_pieces && t->at[i + 1] <= at) {
        i++;
    }
    *byte = at - t->at[i];
    return *byte <= shape->pieces[i].len ? i : UINT32_MAX;
}

void chrome_args_learn(chrome_reader *c, const jevent *e)
{
    arg_taker *t = c->b->taker;
    jspan args = jevent_field(e, JKEY_ARGS);
    if (!t || c->args_known || args.kind != JKIND_OBJECT || t->text != args.s || t->n != args.n) {
        return; /* the last: what was pushed has no shape, or other arguments than the event's */
    }
    while (c->n_shapes <= t->index) {
        VEC_PUSH(c->shapes, c->n_shapes, c->cap_shapes, (chrome_shape){0});
    }
    chrome_shape *shape = &c->shapes[t->index];
    shape->is_walked = true;
    if (e->args_skipped || shape->is_known) {
        return;
    }
    arg_taker_places(t);
    shape->first = (uint32_t)c->n_shape_args;
    shape->n = 0;
    shape->is_known = true;
    for (uint32_t k = 0; k < JARG_COUNT; k++) {
        jspan value = jevent_arg(e, (jarg)k);
        if (value.kind == JKIND_NONE) {
            continue;
        }
        chrome_arg a = {.arg = (uint8_t)k, .kind = (uint8_t)value.kind};
        uint32_t at = (uint32_t)(value.s - args.s);
        uint32_t piece = piece_of(t, at, &a.from);
        uint32_t end_piece = piece_of(t, at + value.n, &a.end);
        shape->is_known = shape->is_known && piece != UINT32_MAX && end_piece != UINT32_MAX;
        a.piece = (uint16_t)piece;
        a.end_piece = (uint16_t)end_piece;
        VEC_PUSH(c->shape_args, c->n_shape_args, c->cap_shape_args, a);
        shape->n++;
    }
}
