#include "parse/jstream.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum { RESTART_BYTES = 4096, EVENT_BYTES = 1024 };
#define VIEW_ALL (SIZE_MAX / 2)

static const jblock all_ones = {UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX};

typedef struct window {
    char *text; /* cap bytes and JWALK_PAD_BYTES */
    size_t n;
    size_t cap;
    jstream_room room; /* .view: how much of the text to look at next; a multiple of 64 */
} window;

static void resize_room(jstream_room *r, size_t cap)
{
    r->cap = cap;
    free(r->bits);
    r->bits = mem_alloc((cap / 64 + 3) * sizeof *r->bits);
}

static void resize(window *win, size_t cap)
{
    win->text = mem_realloc_array(win->text, cap + JWALK_PAD_BYTES, 1);
    win->cap = cap;
    resize_room(&win->room, cap);
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

/* Bitmaps of `n` bytes, and the block of ones behind them. Of a block that is not whole, all 64 bytes are read. */
static void make_bits(jstream_room *r, const char *text, size_t n, const jwalk *w, jbits_fn bits)
{
    size_t blocks = (n + 63) / 64;
    jbits_state state = {.in_string = w->in_string ? UINT64_MAX : 0};
    bits((const uint8_t *)text, blocks, &state, r->bits);
    r->bits[blocks] = all_ones;
}

/* How much of `n` bytes to look at: all, but at first only a little where the rest may not need bitmaps, or not these.
 */
static size_t view_of(jstream_room *r, size_t n)
{
    if (r->view < n) {
        n = r->view;
        r->view *= 2;
    }
    return n;
}

/*
 * All of `n` bytes: events that are known by heart as long as they come, then bitmaps for a little text, and the walk
 * over its tokens, until it gives an event. Where that is all damage, or nothing is known, the little text grows.
 *
 * @return MORE or STOPPED
 */
static jwalk_result walk_text(jstream_room *room, jwalk *w, const jstream_options *o, const char *text, size_t n,
                              bool last, size_t *consumed)
{
    size_t at = 0;
    jwalk_result result = JWALK_GIVEN;
    room->view = w->memo.off ? room->view : EVENT_BYTES;
    for (bool whole = false; result != JWALK_STOPPED && !(whole && result == JWALK_MORE);) {
        size_t done = 0;
        result = jwalk_known(w, text + at, n - at, o->bits, &done);
        at += done;
        w->offset += done;
        if (result == JWALK_STOPPED) {
            break;
        }
        size_t view = view_of(room, n - at);
        whole = view == n - at;
        make_bits(room, text + at, view, w, o->bits);
        result = jwalk_run(w, text + at, room->bits, view, whole && last, &done);
        at += done;
        w->offset += done;
        if (result == JWALK_RESTART) {
            room->view = RESTART_BYTES;
        } else if (result == JWALK_GIVEN) {
            room->view = done * 2 > EVENT_BYTES ? done * 2 : EVENT_BYTES;
        }
    }
    *consumed = at;
    return result;
}

static marey_status report(const jstream_options *o)
{
    return o->progress && !o->progress(o->ctx) ? MAREY_CANCELLED : MAREY_OK;
}

static bool is_left(const jstream_options *o, const window *win)
{
    return o->leave && o->leave(o->ctx, win->text, win->n);
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
    size_t whole = win->cap / 64 * 64;
    while (m->n - m->at >= whole + JWALK_PAD_BYTES && (!o->look || o->look(o->ctx, m->at, whole + JWALK_PAD_BYTES))) {
        size_t consumed = 0;
        jwalk_result result = walk_text(&win->room, w, o, m->text + m->at, whole, false, &consumed);
        m->at += consumed;
        if (result == JWALK_STOPPED) {
            return w->status;
        }
        if (report(o) != MAREY_OK) {
            return MAREY_CANCELLED;
        }
        if (consumed == 0) {
            break;
        }
    }
    return MAREY_OK;
}

/* All that lies in the buffer. @return STOPPED, or MORE when the walker wants more behind it */
static jwalk_result run_buffered(window *win, jwalk *w, const jstream_options *o, bool more)
{
    memset(win->text + win->n, ' ', JWALK_PAD_BYTES);
    size_t at = 0;
    jwalk_result result = walk_text(&win->room, w, o, win->text, win->n, !more, &at);
    win->n -= at;
    memmove(win->text, win->text + at, win->n);
    return result;
}

/* The text behind what the window holds, in the window. @return STOPPED or MORE */
static jwalk_result run_behind(window *win, jwalk *w, const jstream_options *o, const char *text, size_t n)
{
    if (n > win->cap - win->n) {
        resize(win, win->n + n > win->cap * 2 ? win->n + n : win->cap * 2);
    }
    memcpy(win->text + win->n, text, n);
    win->n += n;
    return run_buffered(win, w, o, true);
}

/* The text where it lies, with what the window holds in front of it; what is left is the window's then. */
static jwalk_result run_in_front(window *win, jwalk *w, const jstream_options *o, char *text, size_t n)
{
    text -= win->n;
    memcpy(text, win->text, win->n);
    memset(text + win->n + n, ' ', JWALK_PAD_BYTES);
    n += win->n;
    win->n = 0;
    if (n > win->cap) {
        resize(win, n);
    }
    size_t at = 0;
    jwalk_result result = walk_text(&win->room, w, o, text, n, false, &at);
    win->n = n - at;
    memcpy(win->text, text + at, win->n);
    return result;
}

/* Pieces as they come, all but the end, which the window holds. */
static marey_status run_taken(window *win, jwalk *w, const jstream_options *o)
{
    for (size_t got = 1; got > 0 && win->n < o->first_bytes;) {
        if (win->n == win->cap) {
            resize(win, win->cap * 2);
        }
        size_t room = win->cap - win->n;
        size_t left = o->first_bytes - win->n;
        got = o->read(o->ctx, win->text + win->n, left < room ? left : room);
        win->n += got;
    }
    char *text;
    for (size_t n; (n = o->take(o->ctx, &text)) > 0;) {
        bool fits = win->n <= JSTREAM_FRONT_BYTES;
        jwalk_result result = fits ? run_in_front(win, w, o, text, n) : run_behind(win, w, o, text, n);
        if (result == JWALK_STOPPED) {
            return w->status;
        }
        if (report(o) != MAREY_OK) {
            return MAREY_CANCELLED;
        }
    }
    return MAREY_OK;
}

static marey_status run(window *win, jwalk *w, const jstream_options *o)
{
    bool more = true;
    for (;;) {
        if (more && win->n == win->cap) {
            resize(win, win->cap * 2);
        }
        more = more && fill(win, o);
        if (run_buffered(win, w, o, more) == JWALK_STOPPED) {
            return w->status;
        }
        if (report(o) != MAREY_OK) {
            return MAREY_CANCELLED;
        }
        if (!more || is_left(o, win)) {
            return MAREY_OK;
        }
    }
}

void jstream_room_deinit(jstream_room *r)
{
    free(r->bits);
    *r = (jstream_room){0};
}

marey_status jstream_part(jwalk *w, const jstream_options *o, jstream_room *room, const char *text, size_t n, bool last,
                          size_t *consumed)
{
    size_t cap = o->window_bytes ? o->window_bytes : JSTREAM_WINDOW_BYTES;
    jstream_options only = {.bits = o->bits ? o->bits : jbits};
    w->memo.off = o->by_tokens ? UINT32_MAX : w->memo.off;
    *consumed = 0;
    for (bool whole = false; !whole;) {
        size_t left = n - *consumed;
        size_t look = left < cap ? left : cap / 64 * 64;
        whole = look == left;
        if (look > room->cap || !room->bits) {
            resize_room(room, look);
            room->view = VIEW_ALL;
        }
        size_t done = 0;
        if (walk_text(room, w, &only, text + *consumed, look, whole && last, &done) == JWALK_STOPPED) {
            return w->status;
        }
        *consumed += done;
        cap = done == 0 ? cap * 2 : cap;
    }
    return MAREY_OK;
}

marey_status jstream_run(jwalk *w, const jstream_options *options)
{
    window win = {0};
    size_t cap = options->window_bytes ? options->window_bytes : JSTREAM_WINDOW_BYTES;
    resize(&win, cap < 64 ? 64 : cap);
    jstream_options o = *options;
    o.bits = o.bits ? o.bits : jbits;
    win.room.view = VIEW_ALL;
    w->memo.off = o.by_tokens ? UINT32_MAX : w->memo.off;
    memory_text m = {o.memory, o.memory_bytes, 0};
    marey_status status = MAREY_OK;
    if (o.memory) {
        status = run_in_place(&win, w, &o, &m);
        o.read = o.look ? o.read : read_memory;
        if (o.look) {
            o.leave_memory(o.ctx, m.at);
        }
    }
    o.read_ctx = o.memory && !o.look ? (void *)&m : o.ctx;
    if (!o.memory && o.take) {
        status = run_taken(&win, w, &o);
    }
    status = status == MAREY_OK ? run(&win, w, &o) : status;
    free(win.text);
    jstream_room_deinit(&win.room);
    return status;
}
