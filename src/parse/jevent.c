/* The walk over one event, token by token. */
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

static void set_args(jevent *e, const char *text, size_t n)
{
    e->seen |= 1U << JKEY_ARGS;
    e->field[JKEY_ARGS] = (jspan){text, (uint32_t)n, JKIND_OBJECT};
}

jstep jevent_args(jwalk *w, const jview *v, size_t start, size_t *end)
{
    jevent *e = &w->event;
    size_t close = next_brace(v, start + 1);
    jstep step = JSTEP_DONE;
    if (close >= v->n) {
        *end = v->n; /* flat or not cannot be told yet, and the two ways do not judge damage alike */
        return JSTEP_MORE;
    }
    if (v->text[close] == '}') {
        if (!e->args_skipped) {
            take_flat_args(w, v, start, close);
        }
        *end = close + 1;
    } else {
        step = walk_nested(e->args_skipped ? NULL : w, v, start, end);
    }
    if (step == JSTEP_DONE) {
        set_args(e, v->text + start, *end - start);
    }
    return step;
}

static jstep walk_args(jwalk *w, const jview *v, size_t start, size_t *end)
{
    jevent *e = &w->event;
    e->args_seen = 0;
    e->args_skipped = args_are_boring(e);
    size_t known = w->ops.args ? w->ops.args(w->ctx, e, v->text + start, v->n - start) : 0;
    if (!known) {
        return jevent_args(w, v, start, end);
    }
    set_args(e, v->text + start, known);
    *end = start + known;
    return JSTEP_DONE;
}

/* ---- token by token ---- */

/* One walk under way. */
typedef struct walk {
    jwalk *w;
    const jview *v;
    jcursor c;
    size_t at;   /* position of the last token */
    size_t from; /* where the draft's segment under way began */
    size_t n_keys;
    bool is_first_known;
} walk;

/* What may be between the end of one event and the next for the memo to begin there. */
static bool is_lead(const char *text, size_t n)
{
    unsigned commas = 0;
    for (size_t i = 0; i < n; i++) {
        commas += text[i] == ',';
        if (text[i] != ',' && !jis_blank(text[i])) {
            return false;
        }
    }
    return commas < 2;
}

static void begin_draft(walk *k, size_t start)
{
    const jwalk *w = k->w;
    jmemo_draft *d = &k->w->memo.draft;
    size_t from = (size_t)(w->event_end - w->offset);
    d->usable = !w->memo.off && w->event_end >= w->offset && from <= start && start - from < JMEMO_LEAD_MAX &&
                is_lead(k->v->text + from, start - from);
    d->n_steps = 0;
    d->n_fields = 0;
    k->from = from;
}

/* A segment ends before a value that varies, or with the event. */
static void end_segment(walk *k, jmemo_what what, jkey key, size_t end, size_t next)
{
    jmemo_draft *d = &k->w->memo.draft;
    if (d->n_steps == JMEMO_STEPS_MAX) {
        d->usable = false;
        return;
    }
    d->steps[d->n_steps++] = (jmemo_step){k->from, end, (uint8_t)what, (uint8_t)key, k->w->event.args_skipped};
    k->from = next;
}

static void note_steady(walk *k, jkey key, jspan value)
{
    jmemo_draft *d = &k->w->memo.draft;
    if (d->n_fields == JMEMO_FIELDS_MAX || value.n > JMEMO_TEXT_MAX) {
        d->usable = false;
        return;
    }
    size_t at = (size_t)(value.s - k->v->text);
    d->fields[d->n_fields++] = (jmemo_field){d->n_steps, (uint8_t)key, (uint8_t)value.kind, (uint16_t)value.n, at};
}

/* Note a field in the draft. A string under an unknown key is part of the segment. */
static void note_field(walk *k, jkey key, size_t from, jspan value)
{
    static const uint32_t varying = 1U << JKEY_NAME | 1U << JKEY_TS | 1U << JKEY_DUR | 1U << JKEY_ID;
    bool string = value.kind == JKIND_STRING;
    bool simple = string || (value.kind == JKIND_SCALAR && value.n > 0);
    size_t end = (size_t)(value.s - k->v->text) + value.n + string;
    if (key == JKEY_ARGS && value.kind == JKIND_OBJECT) {
        end_segment(k, JMEMO_ARGS, key, from, end);
    } else if (simple && (varying >> key & 1)) {
        bool time = key == JKEY_TS || key == JKEY_DUR;
        end_segment(k, string ? JMEMO_STRING : time ? JMEMO_TIME : JMEMO_SCALAR, key, from, end);
    } else if (simple && key < JKEY_STEADY) {
        note_steady(k, key, value);
    } else if (key == JKEY_NONE && simple && !string) {
        end_segment(k, JMEMO_SCALAR, key, from, end);
    } else if (key != JKEY_NONE || !string) {
        k->w->memo.draft.usable = false;
    }
}

static void set_field(walk *k, jkey key, size_t from, jspan value)
{
    if (key != JKEY_NONE) {
        k->w->event.seen |= 1U << key;
        k->w->event.field[key] = value;
    }
    if (k->w->memo.draft.usable) {
        note_field(k, key, from, value);
    }
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
    k->n_keys++;
    k->is_first_known |= k->n_keys == 1 && *key != JKEY_NONE;
    if (*colon >= v->n || v->text[*colon] != ':' || jview_solid(v, close + 1) != *colon) {
        return bad_at(k, *colon);
    }
    bool document = close - open - 1 == 11 && memcmp(v->text + open + 1, "traceEvents", 11) == 0;
    return document ? (k->at = open, JSTEP_BAD) : JSTEP_DONE;
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

/* The event whose bracket is at `start` was walked: count it, and keep the way it took. */
static void keep_draft(walk *k, size_t start)
{
    jmemo *m = &k->w->memo;
    jmemo_miss(m);
    end_segment(k, JMEMO_END, JKEY_NONE, k->at + 1, k->at + 1);
    if (m->draft.usable) {
        jmemo_learn(m, k->v->text, start, k->is_first_known);
    }
}

jstep jevent_walk(jwalk *w, const jview *v, size_t start, size_t *end)
{
    w->event.seen = 0;
    w->event.args_seen = 0;
    w->event.times = 0;
    w->event.like = 0;
    w->event.offset = w->offset + start;
    w->event.steady = w->event.field;
    walk k = {.w = w, .v = v, .c = jcursor_at(v->bits, start + 1)};
    begin_draft(&k, start);
    jstep step = walk_fields(&k);
    if (step == JSTEP_DONE) {
        keep_draft(&k, start);
    }
    *end = step == JSTEP_DONE ? k.at + 1 : k.at;
    return step;
}
