#include "parse/jstream.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

static const jblock all_ones = {UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX};

typedef struct window {
    char *text; /* cap bytes and JWALK_PAD_BYTES */
    size_t n;
    size_t cap;
    jblock *bits;
} window;

static void resize(window *win, size_t cap)
{
    win->text = mem_realloc_array(win->text, cap + JWALK_PAD_BYTES, 1);
    win->cap = cap;
    free(win->bits);
    win->bits = mem_alloc((cap / 64 + 3) * sizeof *win->bits);
}

/* @return false at the end of the stream */
static bool fill(window *win, const jstream_options *o)
{
    while (win->n < win->cap) {
        size_t got = o->read(o->read_ctx, win->text + win->n, win->cap - win->n);
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
    win->bits[blocks] = all_ones;
}

static void drop_front(window *win, size_t consumed, jwalk *w)
{
    win->n -= consumed;
    memmove(win->text, win->text + consumed, win->n);
    w->offset += consumed;
}

/* Text in memory that is read like a file. */
typedef struct memory_text {
    const char *text;
    size_t n;
    size_t at;
} memory_text;

static size_t read_memory(void *ctx, void *dst, size_t cap)
{
    memory_text *m = ctx;
    size_t n = m->n - m->at < cap ? m->n - m->at : cap;
    memcpy(dst, m->text + m->at, n);
    m->at += n;
    return n;
}

/*
 * Walk text where it lies, in windows of whole blocks, as long as readable bytes follow them. What the walker wants to
 * see again begins the next window. Stops near the end, and at a record larger than a window: the rest goes through the
 * buffer.
 */
static marey_status run_in_place(window *win, jwalk *w, const jstream_options *o, memory_text *m)
{
    size_t n = win->cap / 64 * 64;
    jbits_fn bits = o->bits ? o->bits : jbits;
    while (m->n - m->at >= n + JWALK_PAD_BYTES) {
        const char *text = m->text + m->at;
        jbits_state state = {.in_string = w->in_string ? UINT64_MAX : 0};
        bits((const uint8_t *)text, n / 64, &state, win->bits);
        win->bits[n / 64] = all_ones;
        size_t consumed = 0;
        jwalk_result result = jwalk_run(w, text, win->bits, n, false, &consumed);
        m->at += consumed;
        w->offset += consumed;
        if (result == JWALK_STOPPED) {
            return w->status;
        }
        if (o->progress && !o->progress(o->ctx)) {
            return MAREY_CANCELLED;
        }
        if (consumed == 0 && result == JWALK_MORE) {
            break;
        }
    }
    return MAREY_OK;
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
    jstream_options o = *options;
    memory_text m = {o.memory, o.memory_bytes, 0};
    marey_status status = MAREY_OK;
    if (o.memory) {
        status = run_in_place(&win, w, &o, &m);
        o.read = read_memory;
    }
    o.read_ctx = o.memory ? (void *)&m : o.ctx;
    status = status == MAREY_OK ? run(&win, w, &o) : status;
    free(win.text);
    free(win.bits);
    return status;
}
