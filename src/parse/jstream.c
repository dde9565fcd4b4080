#include "parse/jstream.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

typedef struct window {
    char *memory; /* JWALK_FRONT_BYTES, text, JWALK_PAD_BYTES */
    char *text;
    size_t n;
    size_t cap;
    jblock *bits;
} window;

static void resize(window *win, size_t cap)
{
    char *memory = mem_alloc(JWALK_FRONT_BYTES + cap + JWALK_PAD_BYTES);
    memset(memory, ' ', JWALK_FRONT_BYTES);
    if (win->n > 0) {
        memcpy(memory + JWALK_FRONT_BYTES, win->text, win->n);
    }
    free(win->memory);
    win->memory = memory;
    win->text = memory + JWALK_FRONT_BYTES;
    win->cap = cap;
    free(win->bits);
    win->bits = mem_alloc((cap / 64 + 3) * sizeof *win->bits);
}

/* @return false at the end of the stream */
static bool fill(window *win, const jstream_options *o)
{
    while (win->n < win->cap) {
        size_t got = o->read(o->ctx, win->text + win->n, win->cap - win->n);
        win->n += got;
        if (got == 0) {
            return false;
        }
        if (o->eager) {
            break;
        }
    }
    return true;
}

static void make_bits(window *win, bool in_string, jbits_fn bits)
{
    memset(win->text + win->n, ' ', JWALK_PAD_BYTES);
    size_t blocks = (win->n + 63) / 64;
    jbits_state state = {.in_string = in_string ? UINT64_MAX : 0};
    bits((const uint8_t *)win->text, blocks, &state, win->bits);
    win->bits[blocks] = (jblock){UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX};
}

static void drop_front(window *win, size_t consumed, jwalk *w)
{
    win->n -= consumed;
    memmove(win->text, win->text + consumed, win->n);
    w->offset += consumed;
}

static marey_status run(window *win, jwalk *w, const jstream_options *o)
{
    jbits_fn bits = o->bits ? o->bits : jbits;
    bool more = true;
    for (;;) {
        if (more && win->n == win->cap) {
            resize(win, win->cap * 2);
        }
        more = more && fill(win, o);
        jwalk_result result = JWALK_RESTART;
        size_t consumed = 0;
        while (result == JWALK_RESTART) {
            make_bits(win, w->in_string, bits);
            result = jwalk_run(w, win->text, win->bits, win->n, !more, &consumed);
            drop_front(win, consumed, w);
        }
        if (result == JWALK_STOPPED) {
            return w->status;
        }
        if (o->progress && !o->progress(o->ctx)) {
            return MAREY_CANCELLED;
        }
        if (!more) {
            return MAREY_OK;
        }
    }
}

marey_status jstream_run(jwalk *w, const jstream_options *options)
{
    window win = {0};
    size_t cap = options->window_bytes ? options->window_bytes : JSTREAM_WINDOW_BYTES;
    resize(&win, cap < 64 ? 64 : cap);
    marey_status status = run(&win, w, options);
    free(win.memory);
    free(win.bits);
    return status;
}
