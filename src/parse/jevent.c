/* The walk over one event: the memo while it hits, token by token else. */
#include "parse/jwalk_private.h"

/* ---- nested values ---- */

enum { TYPES_DEPTH = 64 };

/* Open brackets: their number, and for each whether it is an object, unless they ever were deeper than that can be
 * kept. */
typedef struct nest {
    uint64_t objects;
    size_t depth;
    bool deep;
} nest;

static char solid_before(const char *text, size_t pos, size_t floor)
{
    while (pos > floor && jis_blank(text[pos - 1])) {
        pos--;
    }
    return pos > floor ? text[pos - 1] : '\0';
}

static bool may_open(const nest *s, char before)
{
    bool object = s->objects & 1;
    return object ? before == ':' : before == '[' || before == ',';
}

static bool take_bracket(nest *s, const jview *v, size_t pos, size_t start)
{
    char c = v->text[pos];
    if (c == '{' || c == '[') {
        if (s->depth > 0 && !s->deep && !may_open(s, solid_before(v->text, pos, start))) {
            return false;
        }
        s->objects = s->objects << 1 | (c == '{' ? 1 : 0);
        s->depth++;
        s->deep |= s->depth > TYPES_DEPTH;
        return true;
    }
    bool object = s->objects & 1;
    s->objects >>= 1;
    s->depth--;
    return s->deep || object == (c == '}');
}

static void take_arg(jwalk *w, const jview *v, size_t colon, size_t start);

/* `w`: take wanted arguments on the way; NULL: none are wanted. */
static jstep walk_nested(jwalk *w, const jview *v, size_t start, size_t *end)
{
    nest s = {0};
    size_t block = start >> 6;
    uint64_t keep = UINT64_MAX << (start & 63);
    for (;; block++, keep = UINT64_MAX) {
        const jblock *b = &v->bits[block];
        for (uint64_t left = (b->braces | b->brackets | (w ? b->colons : 0)) & keep; left; left &= left - 1) {
            size_t pos = (block << 6) + (size_t)__builtin_ctzll(left);
            if (pos >= v->n) {
                *end = v->n;
                return JSTEP_MORE;
            }
            if (v->text[pos] == ':') {
                if (s.depth == 1) {
                    take_arg(w, v, pos, start);
                }
            } else if (!take_bracket(&s, v, pos, start)) {
                *end = pos;
                return JSTEP_BAD;
            } else if (s.depth == 0) {
                *end = pos + 1;
                return JSTEP_DONE;
            }
        }
    }
}

jstep jview_nested(const jview *v, size_t start, size_t *end)
{
    return walk_nested(NULL, v, start, end);
}

/* ---- arguments ---- */

static size_t trim(const char *text, size_t from, size_t to)
{
    while (to > from && jis_blank(text[to - 1])) {
        to--;
    }
    return to;
}

/* The value behind a colon of a wanted argument; objects and arrays are not wanted. */
static bool arg_value(const jview *v, size_t colon, jspan *out)
{
    size_t from = jview_solid(v, colon + 1);
    jcursor c = jcursor_at(v->bits, colon + 1);
    size_t stop = jcursor_next(&c);
    if (stop >= v->n) {
        return false;
    }
    if (v->text[stop] == '"') {
        size_t close = jcursor_next(&c);
        *out = (jspan){v->text + stop + 1, (uint32_t)(close - stop - 1), JKIND_STRING};
        return stop == from && close < v->n;
    }
    *out = (jspan){v->text + from, (uint32_t)(trim(v->text, from, stop) - from), JKIND_SCALAR};
    return v->text[stop] == ',' || v->text[stop] == '}';
}

static void take_arg(jwalk *w, const jview *v, size_t colon, size_t start)
{
    size_t quote = colon - 1;
    while (quote > start && v->text[quote] != '"') {
        if (!jis_blank(v->text[quote])) {
            return;
        }
        quote--;
    }
    jarg arg = jkeys_arg(&w->keys, v->text + quote, v->text + start);
    jspan value;
    if (arg != JARG_NONE && arg_value(v, colon, &value)) {
        w->event.args_seen |= 1U << arg;
        w->event.arg[arg] = value;
    }
}

/* Interpreters' frames have no wanted argument, and are the most frequent events of all. */
static bool args_are_boring(const jevent *e)
{
    static const char frames[] = "python_function";
    return e->seen >> JKEY_CAT & 1 && e->field[JKEY_CAT].n == sizeof frames - 1 &&
           memcmp(e->field[JKEY_CAT].s, frames, sizeof frames - 1) == 0;
}

/* A flat object: all its colons belong to its own keys. */
static void take_flat_args(jwalk *w, const jview *v, size_t start, size_t close)
{
    size_t block = start >> 6;
    uint64_t keep = UINT64_MAX << (start & 63);
    for (; block <= close >> 6; block++, keep = UINT64_MAX) {
        for (uint64_t left = v->bits[block].colons & keep; left; left &= left - 1) {
            size_t pos = (block << 6) + (size_t)__builtin_ctzll(left);
            if (pos > close) {
                return;
            }
            take_arg(w, v, pos, start);
        }
    }
}

static size_t next_brace(const jview *v, size_t from)
{
    size_t block = from >> 6;
    uint64_t left = v->bits[block].braces & (UINT64_MAX << (from & 63));
    while (left == 0) {
        left = v->bits[++block].braces;
    }
    return (block << 6) + (size_t)__builtin_ctzll(left);
}

static jstep walk_args(jwalk *w, const jview *v, size_t start, size_t *end)
{
    jevent *e = &w->event;
    bool boring = args_are_boring(e);
    e->args_seen = 0;
    e->args_skipped = boring;
    size_t known = w->ops.args ? w->ops.args(w->ctx, e, v->text + start, v->n - start) : 0;
    if (known) {
        *end = start + known;
        e->seen |= 1U << JKEY_ARGS;
        e->field[JKEY_ARGS] = (jspan){v->text + start, (uint32_t)known, JKIND_OBJECT};
        return JSTEP_DONE;
    }
    size_t close = next_brace(v, start + 1);
    jstep step = JSTEP_DONE;
    if (close >= v->n) {
        *end = v->n; /* flat or not cannot be told yet, and the two ways do not judge damage alike */
        return JSTEP_MORE;
    }
    if (v->text[close] == '}') {
        if (!boring) {
            take_flat_args(w, v, start, close);
        }
        *end = close + 1;
    } else {
        step = walk_nested(boring ? NULL : w, v, start, end);
    }
    if (step == JSTEP_DONE) {
        e->seen |= 1U << JKEY_ARGS;
        e->field[JKEY_ARGS] = (jspan){v->text + start, (uint32_t)(*end - start), JKIND_OBJECT};
    }
    return step;
}

/* ---- by memo ---- */

static void take_parts(jevent *e, const jmemo_segment *s, const char *base)
{
    for (unsigned i = 0; i < s->n_parts; i++) {
        const jmemo_part *p = &s->parts[i];
        e->seen |= 1U << p->key;
        e->field[p->key] = (jspan){base + p->at, p->n, p->kind};
    }
}

/* The varying value at `pos`. @return where the next segment begins; 0 when it is not what the segment promised */
static size_t take_varying(jwalk *w, const jview *v, unsigned what, size_t pos)
{
    static const uint8_t keys[] = {[JMEMO_TS] = JKEY_TS, [JMEMO_DUR] = JKEY_DUR, [JMEMO_ID] = JKEY_ID};
    jevent *e = &w->event;
    if (what == JMEMO_END) {
        return jview_is_brace(v, pos - 1) ? pos : 0;
    }
    if (what == JMEMO_ARGS) {
        size_t end = 0;
        return jview_is_brace(v, pos) && walk_args(w, v, pos, &end) == JSTEP_DONE ? end : 0;
    }
    size_t stop = jview_token(v, pos);
    if (stop >= v->n) {
        return 0;
    }
    if (what == JMEMO_NAME) {
        e->seen |= 1U << JKEY_NAME;
        e->field[JKEY_NAME] = (jspan){v->text + pos, (uint32_t)(stop - pos), JKIND_STRING};
        return jview_is_token(v, pos - 1) && v->text[stop] == '"' ? stop + 1 : 0;
    }
    if (jis_blank(v->text[pos])) {
        return 0;
    }
    jkey key = (jkey)keys[what];
    size_t end = trim(v->text, pos, stop);
    e->seen |= 1U << key;
    e->field[key] = (jspan){v->text + pos, (uint32_t)(end - pos), JKIND_SCALAR};
    return (v->text[stop] == ',' || v->text[stop] == '}') && end > pos ? stop : 0;
}

/* As far as segments are known. @return how far the event is understood */
static size_t walk_known(jwalk *w, const jview *v, size_t pos, unsigned *place)
{
    for (;;) {
        const jmemo_segment *s = jmemo_find(&w->memo, *place, v->text + pos, v->n - pos);
        if (!s) {
            return pos;
        }
        take_parts(&w->event, s, v->text + pos);
        size_t next = take_varying(w, v, s->next, pos + s->len);
        if (next == 0) {
            return pos;
        }
        pos = next;
        *place = s->next;
        if (s->next == JMEMO_END) {
            return pos;
        }
    }
}

/* ---- token by token ---- */

/* One walk under way. */
typedef struct walk {
    jwalk *w;
    const jview *v;
    jcursor c;
    jmemo_draft draft;
    size_t at; /* position of the last token */
} walk;

static void begin_draft(walk *k, size_t start, unsigned place)
{
    k->draft = (jmemo_draft){.start = start, .place = place, .usable = true};
}

/* Note a field in the segment under way; one that varies ends it. */
static void note_field(walk *k, jkey key, size_t from, jspan value)
{
    static const uint8_t places[JKEY_COUNT] = {[JKEY_NAME] = JMEMO_NAME,
                                               [JKEY_TS] = JMEMO_TS,
                                               [JKEY_DUR] = JMEMO_DUR,
                                               [JKEY_ARGS] = JMEMO_ARGS,
                                               [JKEY_ID] = JMEMO_ID};
    static const uint32_t steady =
        1U << JKEY_PH | 1U << JKEY_CAT | 1U << JKEY_PID | 1U << JKEY_TID | 1U << JKEY_BP | 1U << JKEY_SCOPE;
    jmemo_draft *d = &k->draft;
    if (key != JKEY_NONE && places[key]) {
        bool usual = value.kind == (key == JKEY_NAME ? JKIND_STRING : key == JKEY_ARGS ? JKIND_OBJECT : JKIND_SCALAR);
        d->usable &= usual;
        if (!k->w->memo.off) { /* else it is not looked at */
            jmemo_learn(&k->w->memo, d, k->v->text, from, places[key]);
        }
        size_t end = (size_t)(value.s - k->v->text) + value.n;
        begin_draft(k, end + (value.kind == JKIND_STRING ? 1 : 0), places[key]);
        d->usable = usual;
        return;
    }
    size_t at = (size_t)(value.s - k->v->text) - d->start;
    if (key == JKEY_NONE || !(steady >> key & 1) || d->n_parts == JMEMO_PARTS_MAX || at + value.n > JMEMO_TEXT_MAX) {
        d->usable = false;
        return;
    }
    d->parts[d->n_parts++] = (jmemo_part){(uint8_t)key, (uint8_t)value.kind, (uint8_t)at, (uint8_t)value.n};
}

static void set_field(walk *k, jkey key, size_t from, jspan value)
{
    if (key != JKEY_NONE) {
        k->w->event.seen |= 1U << key;
        k->w->event.field[key] = value;
    }
    note_field(k, key, from, value);
}

static jstep walk_bracket(walk *k, jkey key, size_t from)
{
    const jview *v = k->v;
    size_t end = 0;
    bool object = v->text[from] == '{';
    bool args = key == JKEY_ARGS && object;
    jstep step = args ? walk_args(k->w, v, from, &end) : walk_nested(NULL, v, from, &end);
    k->at = end;
    if (step == JSTEP_DONE) {
        k->c = jcursor_at(v->bits, end);
        set_field(k, key, from, (jspan){v->text + from, (uint32_t)(end - from), object ? JKIND_OBJECT : JKIND_ARRAY});
    }
    return step;
}

static jstep bad_at(walk *k, size_t pos)
{
    k->at = pos;
    return pos >= k->v->n ? JSTEP_MORE : JSTEP_BAD;
}

/* The value behind the colon at `colon`, and what must follow it: ',' (DONE) or the event's '}' (then *closed). */
static jstep walk_value(walk *k, jkey key, size_t colon, bool *closed)
{
    const jview *v = k->v;
    size_t from = jview_solid(v, colon + 1);
    size_t stop = jcursor_next(&k->c);
    if (stop >= v->n) {
        return bad_at(k, stop);
    }
    char c = v->text[stop];
    if (c == '"') {
        size_t close = jcursor_next(&k->c);
        if (close >= v->n || stop != from) {
            return bad_at(k, close >= v->n ? close : stop);
        }
        set_field(k, key, stop + 1, (jspan){v->text + stop + 1, (uint32_t)(close - stop - 1), JKIND_STRING});
        stop = jcursor_next(&k->c);
    } else if (c == '{' || c == '[') {
        if (stop != from) {
            return bad_at(k, stop);
        }
        jstep step = walk_bracket(k, key, stop);
        if (step != JSTEP_DONE) {
            return step;
        }
        stop = jcursor_next(&k->c);
    } else {
        size_t end = trim(v->text, from, stop);
        set_field(k, key, from, (jspan){v->text + from, (uint32_t)(end - from), JKIND_SCALAR});
    }
    if (stop >= v->n || (v->text[stop] != ',' && v->text[stop] != '}')) {
        return bad_at(k, stop);
    }
    k->at = stop;
    *closed = v->text[stop] == '}';
    return JSTEP_DONE;
}

/* From the key's opening quote at `open` to the colon. */
static jstep walk_key(walk *k, size_t open, jkey *key, size_t *colon)
{
    const jview *v = k->v;
    size_t close = jcursor_next(&k->c);
    if (close >= v->n) {
        return bad_at(k, close);
    }
    *key = jkeys_event(&k->w->keys, v->text + open + 1, close - open - 1);
    *colon = jcursor_next(&k->c);
    if (*colon >= v->n || v->text[*colon] != ':' || jview_solid(v, close + 1) != *colon) {
        return bad_at(k, *colon);
    }
    bool document = close - open - 1 == 11 && memcmp(v->text + open + 1, "traceEvents", 11) == 0;
    return document ? (k->at = open, JSTEP_BAD) : JSTEP_DONE;
}

/* Behind a value that the memo took, a comma or the event's bracket must come, as behind any other. */
static jstep check_follows(const jview *v, size_t pos, size_t *end)
{
    size_t next = jview_token(v, pos);
    *end = next;
    if (next >= v->n) {
        return JSTEP_MORE;
    }
    return v->text[next] == ',' || v->text[next] == '}' ? JSTEP_DONE : JSTEP_BAD;
}

static jstep walk_fields(walk *k)
{
    const jview *v = k->v;
    for (;;) {
        size_t open = jcursor_next(&k->c);
        if (open >= v->n) {
            return bad_at(k, open);
        }
        if (v->text[open] == '}') {
            k->at = open;
            return JSTEP_DONE;
        }
        if (v->text[open] == ',') {
            continue;
        }
        jkey key = JKEY_NONE;
        size_t colon = 0;
        bool closed = false;
        jstep step = v->text[open] == '"' ? walk_key(k, open, &key, &colon) : bad_at(k, open);
        step = step == JSTEP_DONE ? walk_value(k, key, colon, &closed) : step;
        if (step != JSTEP_DONE || closed) {
            return step;
        }
    }
}

jstep jevent_walk(jwalk *w, const jview *v, size_t start, size_t *end)
{
    w->event.seen = 0;
    w->event.args_seen = 0;
    w->event.offset = w->offset + start;
    unsigned place = JMEMO_BEGIN;
    size_t pos = start + 1;
    bool memo = jmemo_event(&w->memo);
    if (memo) {
        pos = walk_known(w, v, pos, &place);
    }
    if (place == JMEMO_END) {
        *end = pos;
        return JSTEP_DONE;
    }
    if (place != JMEMO_BEGIN) {
        jstep follows = check_follows(v, pos, end);
        if (follows != JSTEP_DONE) {
            return follows;
        }
    }
    walk k = {.w = w, .v = v, .c = jcursor_at(v->bits, pos)};
    begin_draft(&k, pos, place);
    jstep step = walk_fields(&k);
    if (memo && step == JSTEP_DONE) {
        jmemo_learn(&w->memo, &k.draft, v->text, k.at + 1, JMEMO_END);
    }
    *end = step == JSTEP_DONE ? k.at + 1 : k.at;
    return step;
}
