#include "readers/chrome_supply.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "parse/jwalk.h"

enum {
    KEY_BYTES_MAX = 4,        /* of those that an event begins with */
    BEHIND_BYTES = 64,        /* that are looked at before a guess */
    AHEAD_BYTES = 2048,       /* that are read at first beyond the offset where a part may end */
    SEARCH_BYTES = 64 * 1024, /* and at most, */
    SEARCH_PARTS = 8          /* or this many of the least parts, if that is more */
};
#define NOWHERE SIZE_MAX

/* What a guess is seen by: all of it has to be there, so that it does not hang on how much was read. */
enum { GUESS_BYTES = CHROME_LEAD_BYTES_MAX + KEY_BYTES_MAX + 1 };

/* ---- where parts begin ---- */

static size_t skip_blanks(const char *text, size_t at, size_t n)
{
    while (at < n && jis_blank(text[at])) {
        at++;
    }
    return at;
}

size_t chrome_lead(const char *text, size_t n)
{
    n = n < CHROME_LEAD_BYTES_MAX ? n : CHROME_LEAD_BYTES_MAX;
    size_t at = n > 0 && text[0] == '{' ? skip_blanks(text, 1, n) : n;
    return at < n && text[at] == '"' ? at + 1 : 0;
}

/* Is there a key that events begin with, and its quote? */
static bool is_first_key(const chrome_supply *s, const char *text, size_t n)
{
    const char *quote = memchr(text, '"', n < KEY_BYTES_MAX + 1 ? n : KEY_BYTES_MAX + 1);
    return quote && jkeys_is_head(jkeys_event(&s->keys, text, (size_t)(quote - text)));
}

/* Does what stands before `at` look like the end of an event and a comma? */
static bool is_behind_event(const char *text, size_t at)
{
    size_t least = at > BEHIND_BYTES ? at - BEHIND_BYTES : 0;
    while (at > least && jis_blank(text[at - 1])) {
        at--;
    }
    if (at == least || text[--at] != ',') {
        return false;
    }
    while (at > least && jis_blank(text[at - 1])) {
        at--;
    }
    return at > least && text[at - 1] == '}';
}

static bool is_guess(const chrome_supply *s, const char *text, size_t n, size_t at)
{
    const char *brace = text + at;
    return n - at > s->n_lead && memcmp(brace, s->lead, s->n_lead) == 0 &&
           is_first_key(s, brace + s->n_lead, n - at - s->n_lead) && is_behind_event(text, at);
}

/* Where the last event seems to begin. 0: nowhere */
static size_t last_guess(const chrome_supply *s, const char *text, size_t n)
{
    for (size_t end = n; end > 0;) {
        const char *brace = memrchr(text, '{', end);
        if (!brace) {
            return 0;
        }
        end = (size_t)(brace - text);
        if (is_guess(s, text, n, end)) {
            return end;
        }
    }
    return 0;
}

/* Where the first event seems to begin in [from, to). */
static size_t first_guess(const chrome_supply *s, const char *text, size_t n, size_t from, size_t to)
{
    while (from < to) {
        const char *brace = memchr(text + from, '{', to - from);
        if (!brace) {
            return NOWHERE;
        }
        from = (size_t)(brace - text);
        if (is_guess(s, text, n, from)) {
            return from;
        }
        from++;
    }
    return NOWHERE;
}

/* ---- one after another ---- */

static void make_room(chrome_part *p, size_t cap)
{
    if (p->cap < cap) {
        p->room = mem_realloc_array(p->room, cap + JWALK_PAD_BYTES, 1);
        p->cap = cap;
    }
    p->text = p->room;
}

/* @return false at the end of the text */
static bool fill(const chrome_supply *s, chrome_part *p, size_t cap)
{
    make_room(p, cap);
    size_t got = 1;
    while (p->n < cap && got > 0) {
        got = s->text->read(s->text->ctx, p->room + p->n, cap - p->n);
        p->n += got;
    }
    return got > 0;
}

static void cut_part(chrome_supply *s, chrome_part *p, size_t bytes)
{
    enum { GROWTHS_MAX = 3 }; /* how often a part doubles in search of its end */
    size_t cap = bytes > s->carry.n ? bytes : s->carry.n + 1;
    make_room(p, cap);
    p->n = s->carry.n;
    if (p->n > 0) {
        memcpy(p->room, s->carry.s, p->n);
    }
    strbuf_clear(&s->carry);
    p->is_last = !fill(s, p, cap);
    size_t end = p->is_last ? p->n : last_guess(s, p->text, p->n);
    for (unsigned i = 0; end == 0 && !p->is_last && i < GROWTHS_MAX; i++) {
        p->is_last = !fill(s, p, p->n * 2);
        end = p->is_last ? p->n : last_guess(s, p->text, p->n);
    }
    s->is_read = p->is_last || end == 0; /* without an end: the walk will show where it can go on */
    if (end > 0) {
        strbuf_add(&s->carry, p->text + end, p->n - end);
        p->n = end;
    }
}

/* ---- by offsets ---- */

/* Text that a thread reads at an offset, or looks at. */
typedef struct stretch {
    const chrome_supply *s;
    chrome_part *p;
    const char *text;
    uint64_t offset; /* of the first byte */
    size_t n;
    bool is_held;
    bool is_end; /* nothing follows */
    bool failed;
} stretch;

/* Near the end there may be no readable bytes behind the text: that is read. */
static bool may_hold(const stretch *t, size_t n)
{
    return t->s->text->held && t->offset < t->s->text->held_bytes &&
           t->s->text->held_bytes - t->offset >= n + JWALK_PAD_BYTES;
}

static void copy_to(stretch *t, size_t n)
{
    size_t from = t->is_held ? 0 : t->n; /* what was looked at is copied, too */
    make_room(t->p, n);
    size_t got = 0;
    t->failed |= !t->s->text->read_at(t->s->text->ctx, t->p->room + from, n - from, t->offset + from, &got);
    t->n = from + got;
    t->is_end = t->n < n;
    t->is_held = false;
    t->text = t->p->room;
}

static void read_to(stretch *t, size_t n)
{
    if (n <= t->n || t->is_end) {
        return;
    }
    if ((t->is_held || t->n == 0) && may_hold(t, n)) {
        size_t begin = (size_t)t->offset + t->n;
        t->failed |= !t->s->text->look(t->s->text->ctx, begin, n - t->n + JWALK_PAD_BYTES);
        t->is_held = true;
        t->is_end = t->failed;
        t->text = t->s->text->held + t->offset;
        t->n = t->failed ? t->n : n;
        return;
    }
    copy_to(t, n);
}

/* The first guess at or behind a place of the stretch. NOWHERE: there is none before the end, or none near */
static size_t find_begin(stretch *t, size_t from)
{
    size_t least = t->s->least_bytes;
    size_t most = least > SEARCH_BYTES / SEARCH_PARTS ? least * SEARCH_PARTS : SEARCH_BYTES;
    size_t ahead = AHEAD_BYTES;
    for (size_t done = from;; ahead = ahead * 2 < most ? ahead * 2 : most) {
        size_t end = from + ahead;
        read_to(t, end + GUESS_BYTES);
        end = end < t->n ? end : t->n;
        size_t at = done < end ? first_guess(t->s, t->text, t->n, done, end) : NOWHERE;
        if (at != NOWHERE || t->is_end || ahead == most) {
            return at;
        }
        done = end;
    }
}

static void read_part(const chrome_supply *s, chrome_part *p, uint64_t offset, size_t bytes)
{
    size_t before = p->number == 0 ? 0 : offset < BEHIND_BYTES ? (size_t)offset : BEHIND_BYTES;
    stretch t = {.s = s, .p = p, .offset = offset - before};
    size_t stop = before + bytes;
    read_to(&t, stop + AHEAD_BYTES + GUESS_BYTES);
    size_t begin = p->number == 0 ? 0 : find_begin(&t, before);
    size_t end = begin == NOWHERE || begin >= stop ? begin : find_begin(&t, stop);
    p->is_void = begin == NOWHERE || t.failed;
    p->is_last = !p->is_void && end == NOWHERE && t.is_end;
    p->n = 0;
    if (!p->is_void) {
        p->offset = t.offset + begin;
        p->text = t.text + begin;
        p->n = (end == NOWHERE ? t.n : end) - begin;
    }
}

/* ---- giving out ---- */

bool chrome_supply_take(chrome_supply *s, chrome_part *p, size_t bytes)
{
    (void)pthread_mutex_lock(&s->lock);
    bool is_there = !s->is_read;
    uint64_t offset = s->offset;
    if (is_there) {
        p->number = s->n_given++;
        if (s->text->read_at) {
            s->offset += bytes;
        } else {
            p->offset = offset;
            cut_part(s, p, bytes);
            s->offset += p->n;
        }
    }
    (void)pthread_mutex_unlock(&s->lock);
    if (is_there && s->text->read_at) {
        read_part(s, p, offset, bytes);
        if (p->is_void || p->is_last) {
            (void)pthread_mutex_lock(&s->lock);
            s->is_read = true;
            (void)pthread_mutex_unlock(&s->lock);
        }
    }
    return is_there;
}

/* ---- life ---- */

void chrome_supply_init(chrome_supply *s, uint64_t offset, const char *rest, size_t n)
{
    s->n_lead = chrome_lead(rest, n);
    memcpy(s->lead, rest, s->n_lead);
    jkeys_init(&s->keys);
    s->offset = offset;
    if (!s->text->read_at) {
        strbuf_add(&s->carry, rest, n);
    }
    (void)pthread_mutex_init(&s->lock, NULL);
}

void chrome_supply_deinit(chrome_supply *s)
{
    strbuf_deinit(&s->carry);
    (void)pthread_mutex_destroy(&s->lock);
}

void chrome_part_deinit(chrome_part *part)
{
    free(part->room);
    *part = (chrome_part){0};
}
