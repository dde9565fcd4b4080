#include "parse/jwalk.h"

#include <string.h>

#include "parse/jwalk_private.h"

enum {
    LARGE_EVENT_BYTES = JWALK_LINE_BYTES_MAX, /* an event beyond that may be damage: a lost bracket swallows the rest */
    SMALL_EVENT_BYTES = 2 * 1024,             /* the limit where next to nothing else is found but damage */
    BLANKS_MAX = 4096,                        /* more blanks than any indentation */
    STRING_KEPT_BYTES = 64 * 1024             /* longer strings in skipped values are passed through */
};

/* What a state's handler says. GO: again, in whatever state that is now. GIVEN: an event, and the memo is at work. */
typedef enum verdict { GO, MORE, RESTART, GIVEN, STOP } verdict;

void jwalk_init(jwalk *w, const jwalk_ops *ops, void *ctx, diag *d, uint32_t file)
{
    memset(w, 0, sizeof *w);
    w->ops = *ops;
    w->ctx = ctx;
    w->diag = d;
    w->file = file;
    w->rescan_from = UINT64_MAX;
    w->cut_at = UINT64_MAX;
    w->event_end = UINT64_MAX;
    jkeys_init(&w->keys);
}

static void lose(jwalk *w, marey_loss loss, size_t pos, const char *detail)
{
    diag_lose(w->diag, loss, w->file, w->offset + pos, 1, detail);
}

/* Damage at `pos`: go on at the next place that looks like an event. Counted once until an event is found. */
static verdict resync(jwalk *w, jview *v, size_t pos)
{
    if (!w->lost) {
        lose(w, MAREY_LOSS_DAMAGED, pos, NULL);
    }
    w->lost = true;
    w->unsure = true;
    w->state = JWALK_RESYNC;
    v->pos = pos;
    return GO;
}

/* Nothing but text without tokens is left: all of it is dealt with, but for backslashes that may escape what follows.
 */
static verdict consume_all(jview *v)
{
    size_t end = v->n;
    while (!v->last && end > v->pos && v->text[end - 1] == '\\') {
        end--;
    }
    v->pos = end == v->pos && end < v->n ? v->n - (v->n - v->pos) % 2 : end;
    return MORE;
}

/* The first solid byte behind `pos`, or n where it is not near: however much of the text is there, the answer is the
 * same. */
static size_t near_solid(const jview *v, size_t from)
{
    size_t at = jview_solid(v, from);
    return at - from < BLANKS_MAX ? at : v->n;
}

static bool may_wait(const jview *v, size_t from)
{
    return !v->last && v->n - from < BLANKS_MAX;
}

static verdict need_more(jview *v, size_t pos)
{
    v->pos = pos;
    return MORE;
}

static verdict deliver(jwalk *w, jview *v, size_t end)
{
    jevent *e = &w->event;
    v->pos = end;
    w->comma = false;
    if (!(e->seen >> JKEY_PH & 1)) {
        if (!w->lost && e->seen) {
            diag_lose(w->diag, MAREY_LOSS_UNKNOWN_PHASE, w->file, e->offset, 1, "none");
        }
        return GO;
    }
    w->event_end = w->offset + end;
    marey_status status = jwalk_give(w);
    return status != MAREY_OK ? STOP : w->memo.off ? GO : GIVEN;
}

/* ---- events ---- */

/*
 * How large an event may be. Text that was walked for nothing is counted, because each try may cost as much as the
 * limit: a few tries of the largest size are free, then the cost must stay in proportion to the text.
 */
static size_t event_limit(const jwalk *w, size_t pos)
{
    const uint64_t free_bytes = JWALK_FREE_WASTE;
    if (w->wasted_bytes <= free_bytes) {
        return JWALK_EVENT_BYTES_MAX;
    }
    return w->wasted_bytes <= free_bytes + 8 * (w->offset + pos) ? LARGE_EVENT_BYTES : SMALL_EVENT_BYTES;
}

/* The view as far as an event at `pos` may reach. */
static jview limit_view(const jview *v, size_t pos, size_t limit)
{
    jview limited = *v;
    if (v->n - pos > limit) {
        limited.n = pos + limit + 1;
        limited.last = false;
    }
    return limited;
}

/* An event that could not be walked, after `walked` bytes of trying. */
static verdict drop_event(jwalk *w, jview *v, size_t pos, size_t walked)
{
    w->wasted_bytes += walked;
    if (walked > JWALK_EVENT_BYTES_MAX) {
        lose(w, MAREY_LOSS_EVENT_TOO_LARGE, pos, NULL);
        w->lost = true;
    }
    return resync(w, v, pos + 1);
}

/* The text is over inside an event: it may be cut, or its end was lost and there are more events behind its start. */
static verdict cut_event(jwalk *w, jview *v, size_t pos, size_t walked)
{
    w->wasted_bytes += walked;
    if (w->cut_at == UINT64_MAX) {
        w->cut_at = w->offset + pos;
        w->events_at_cut = w->n_events;
    }
    w->lost = true;
    return resync(w, v, pos + 1);
}

static verdict walk_event(jwalk *w, jview *v, size_t pos)
{
    size_t end = pos;
    size_t limit = event_limit(w, pos);
    jview limited = limit_view(v, pos, limit);
    jstep step = jevent_walk(w, &limited, pos, &end);
    size_t walked = (step == JSTEP_MORE ? limited.n : end) - pos;
    if (walked > limit) {
        return drop_event(w, v, pos, walked);
    }
    if (step == JSTEP_DONE) {
        return deliver(w, v, end);
    }
    if (step == JSTEP_BAD) {
        return drop_event(w, v, pos, walked);
    }
    return v->last ? cut_event(w, v, pos, walked) : need_more(v, pos);
}

/* Is the '{' at `pos` an event? DONE: yes, and w->event holds it. BAD: no. Looks at 64 KiB at most. */
static jstep probe_event(jwalk *w, const jview *v, size_t pos, size_t *end)
{
    jview limited = limit_view(v, pos, LARGE_EVENT_BYTES);
    jstep step = jevent_walk(w, &limited, pos, end);
    size_t walked = (step == JSTEP_MORE ? limited.n : *end) - pos;
    if (walked > LARGE_EVENT_BYTES || step == JSTEP_BAD || (step == JSTEP_MORE && v->last)) {
        return JSTEP_BAD;
    }
    if (step == JSTEP_DONE && !(w->event.seen >> JKEY_PH & 1)) {
        return JSTEP_BAD;
    }
    return step;
}

/* A ']' in the list. It ends the list unless what follows shows that it is a stray one. */
static verdict events_close(jwalk *w, jview *v, size_t pos)
{
    size_t after = near_solid(v, pos + 1);
    bool comma = after < v->n && v->text[after] == ',';
    size_t then = comma ? near_solid(v, after + 1) : after;
    if (then >= v->n && may_wait(v, comma ? after + 1 : pos + 1)) {
        return need_more(v, pos);
    }
    char c = then < v->n ? v->text[then] : '\0';
    bool stray = c == '{' && (then != after || !w->bare);
    v->pos = pos + 1;
    if (stray) {
        if (!w->lost) {
            lose(w, MAREY_LOSS_DAMAGED, pos, NULL);
        }
        return GO;
    }
    if (w->comma) {
        lose(w, MAREY_LOSS_TRAILING_COMMA, pos, NULL);
    }
    bool document = w->bare || (w->unsure && c != '}' && c != ',');
    w->state = document ? JWALK_START : JWALK_TOP;
    w->unsure = false;
    return GO;
}

/* A '}' in the list: the end of the document without a ']', or a stray one. */
static verdict events_brace(jwalk *w, jview *v, size_t pos)
{
    size_t after = near_solid(v, pos + 1);
    if (after >= v->n && may_wait(v, pos + 1)) {
        return need_more(v, pos);
    }
    v->pos = pos + 1;
    if (after >= v->n && v->last && !w->lost) {
        lose(w, MAREY_LOSS_MISSING_BRACKET, pos, NULL);
        w->state = JWALK_START;
    } else if (!w->lost) {
        lose(w, MAREY_LOSS_DAMAGED, pos, NULL);
    }
    return GO;
}

/* A string in the list: a top-level key, when the list's ']' is missing. */
static verdict events_string(jwalk *w, jview *v, size_t pos)
{
    size_t close = jview_token(v, pos + 1);
    size_t colon = close < v->n ? jview_token(v, close + 1) : v->n;
    if (colon >= v->n && !v->last && v->n - pos <= STRING_KEPT_BYTES) {
        return need_more(v, pos);
    }
    bool key =
        colon < v->n && colon - pos <= STRING_KEPT_BYTES && v->text[colon] == ':' && jview_solid(v, close + 1) == colon;
    if (!key || w->lost || w->bare || jkeys_event(&w->keys, v->text + pos + 1, close - pos - 1) != JKEY_NONE) {
        return resync(w, v, pos);
    }
    lose(w, MAREY_LOSS_MISSING_BRACKET, pos, NULL);
    w->state = JWALK_TOP;
    v->pos = pos;
    return GO;
}

static void begin_skip(jwalk *w, jview *v, size_t pos, jwalk_state after)
{
    w->skip_depth = 1;
    w->skip_from = w->offset + pos;
    w->after_skip = after;
    w->state = JWALK_SKIP;
    v->pos = pos + 1;
}

static verdict in_events(jwalk *w, jview *v)
{
    size_t pos = jview_token(v, v->pos);
    if (pos >= v->n) {
        return consume_all(v);
    }
    switch (v->text[pos]) {
    case '{':
        return walk_event(w, v, pos);
    case ',':
        if (w->comma) {
            lose(w, MAREY_LOSS_TRAILING_COMMA, pos, NULL);
        }
        w->comma = true;
        v->pos = pos + 1;
        return GO;
    case ']':
        return events_close(w, v, pos);
    case '}':
        return events_brace(w, v, pos);
    case '"':
        return events_string(w, v, pos);
    case '[':
        if (!w->lost) {
            lose(w, MAREY_LOSS_DAMAGED, pos, "an array in the list of events");
        }
        begin_skip(w, v, pos, JWALK_EVENTS);
        return GO;
    default:
        return resync(w, v, pos);
    }
}

/* ---- lost ---- */

/* Does an event seem to begin at the '{' at `pos`? MORE: the text is over too early to tell. */
static jstep looks_like_event(const jwalk *w, const jview *v, size_t pos)
{
    size_t quote = jview_solid(v, pos + 1);
    if (quote - pos > BLANKS_MAX) {
        return JSTEP_BAD;
    }
    size_t known = v->n - quote < 6 ? v->n - quote : 6; /* quote, four letters, quote */
    if (known > 0 && v->text[quote] != '"') {
        return JSTEP_BAD;
    }
    const char *close = known > 1 ? memchr(v->text + quote + 1, '"', known - 1) : NULL;
    if (!close) {
        return known < 6 && !v->last ? JSTEP_MORE : JSTEP_BAD;
    }
    jkey key = jkeys_event(&w->keys, v->text + quote + 1, (size_t)(close - v->text) - quote - 1);
    return jkeys_is_head(key) ? JSTEP_DONE : JSTEP_BAD;
}

static verdict in_resync(jwalk *w, jview *v)
{
    for (size_t pos = v->pos; pos < v->n; pos++) {
        const char *brace = memchr(v->text + pos, '{', v->n - pos);
        if (!brace) {
            break;
        }
        pos = (size_t)(brace - v->text);
        jstep step = looks_like_event(w, v, pos);
        if (step == JSTEP_BAD) {
            continue;
        }
        v->pos = pos;
        if (step == JSTEP_MORE) {
            return MORE;
        }
        w->state = JWALK_EVENTS;
        return jview_is_brace(v, pos) ? GO : RESTART;
    }
    v->pos = v->n;
    return MORE;
}

/* ---- around the events ---- */

/* A closing quote must be followed by one of , : ] } -- if not, a quote was lost and inside and outside are swapped. */
static jstep check_close(const jview *v, size_t close)
{
    size_t after = near_solid(v, close + 1);
    if (after >= v->n) {
        return may_wait(v, close + 1) ? JSTEP_MORE : JSTEP_DONE;
    }
    char c = v->text[after];
    return c == ',' || c == ':' || c == ']' || c == '}' ? JSTEP_DONE : JSTEP_BAD;
}

static verdict skip_string(jwalk *w, jview *v, size_t pos)
{
    size_t close = jview_token(v, pos + 1);
    if (close >= v->n) {
        if (v->n - pos <= STRING_KEPT_BYTES && !v->last) {
            return need_more(v, pos);
        }
        w->in_string = true;
        v->pos = pos + 1;
        return consume_all(v);
    }
    if (close - pos >= STRING_KEPT_BYTES) {
        v->pos = close + 1;
        return GO;
    }
    jstep step = check_close(v, close);
    if (step == JSTEP_MORE) {
        return need_more(v, pos);
    }
    if (step == JSTEP_BAD) {
        return resync(w, v, pos);
    }
    if (close - pos - 1 == 11 && memcmp(v->text + pos + 1, "traceEvents", 11) == 0) {
        size_t colon = near_solid(v, close + 1);
        if (colon < v->n && v->text[colon] == ':') {
            w->state = JWALK_TOP;
            v->pos = pos;
            return GO;
        }
    }
    v->pos = close + 1;
    return GO;
}

static verdict in_skip(jwalk *w, jview *v)
{
    if (w->skip_depth == 0 && !w->in_string) {
        w->state = w->after_skip;
        return GO;
    }
    size_t pos = jview_token(v, v->pos);
    if (pos >= v->n) {
        return consume_all(v);
    }
    if (w->in_string) {
        w->in_string = false;
        v->pos = pos + 1;
        return GO;
    }
    char c = v->text[pos];
    if (c == '"') {
        return skip_string(w, v, pos);
    }
    w->skip_depth += c == '{' || c == '[';
    w->skip_depth -= c == '}' || c == ']';
    v->pos = pos + 1;
    return GO;
}

static bool wants(jwalk *w, jspan key)
{
    return w->ops.want && w->ops.want(w->ctx, key);
}

static void give_meta(jwalk *w, size_t pos, jspan key, jspan value)
{
    w->meta_offset = w->offset + pos;
    if (w->ops.meta) {
        w->ops.meta(w->ctx, key, value);
    }
}

/* A list under an unknown key whose first element is an event: the key is damaged. */
static jstep list_of_events(jwalk *w, const jview *v, size_t open)
{
    size_t first = near_solid(v, open + 1);
    if (first >= v->n) {
        return may_wait(v, open + 1) ? JSTEP_MORE : JSTEP_BAD;
    }
    size_t end = 0;
    return v->text[first] == '{' && jview_is_brace(v, first) ? probe_event(w, v, first, &end) : JSTEP_BAD;
}

static void begin_events(jwalk *w, jview *v, size_t open, bool bare)
{
    w->saw |= bare ? JWALK_SAW_EVENT_ARRAY : JWALK_SAW_TRACE_EVENTS;
    w->bare = bare;
    w->comma = false;
    w->state = JWALK_EVENTS;
    v->pos = open + 1;
}

/* A top-level object or array at `open`, under the key whose quote is at `pos`. */
static verdict top_nested(jwalk *w, jview *v, size_t pos, jspan key, size_t open)
{
    bool list = v->text[open] == '[';
    if (list && jspan_is(key, "traceEvents")) {
        begin_events(w, v, open, false);
        return GO;
    }
    if (wants(w, key)) {
        size_t end = 0;
        jstep step = jview_nested(v, open, &end);
        bool fits = (step == JSTEP_MORE ? v->n : end) - open <= JWALK_META_BYTES_MAX;
        if (step == JSTEP_MORE && fits && !v->last) {
            return need_more(v, pos);
        }
        if (step == JSTEP_DONE && fits) {
            give_meta(w, open, key, (jspan){v->text + open, (uint32_t)(end - open), list ? JKIND_ARRAY : JKIND_OBJECT});
            v->pos = end;
            return GO;
        }
        if (!fits) {
            lose(w, MAREY_LOSS_LIMIT, open, "metadata beyond 1 MiB");
        } else if (step == JSTEP_BAD) {
            lose(w, MAREY_LOSS_DAMAGED, end, "metadata");
        }
    } else if (list) {
        jstep step = list_of_events(w, v, open);
        if (step == JSTEP_MORE) {
            return need_more(v, pos);
        }
        if (step == JSTEP_DONE) {
            begin_events(w, v, open, false);
            return GO;
        }
    }
    begin_skip(w, v, open, JWALK_TOP);
    return GO;
}

static verdict top_string(jwalk *w, jview *v, size_t pos, jspan key, size_t open)
{
    size_t close = jview_token(v, open + 1);
    if (close >= v->n) {
        if (v->n - pos <= STRING_KEPT_BYTES && !v->last) {
            return need_more(v, pos);
        }
        w->skip_depth = 0;
        w->skip_from = w->offset + open;
        w->after_skip = JWALK_TOP;
        w->state = JWALK_SKIP;
        w->in_string = true;
        v->pos = open + 1;
        return consume_all(v);
    }
    if (close - pos >= STRING_KEPT_BYTES) {
        v->pos = close + 1;
        return GO;
    }
    jstep step = check_close(v, close);
    if (step != JSTEP_DONE) {
        return step == JSTEP_MORE ? need_more(v, pos) : resync(w, v, pos);
    }
    give_meta(w, open, key, (jspan){v->text + open + 1, (uint32_t)(close - open - 1), JKIND_STRING});
    v->pos = close + 1;
    return GO;
}

static verdict top_scalar(jwalk *w, jview *v, size_t pos, jspan key, size_t from)
{
    size_t stop = jview_token(v, from);
    if (stop >= v->n) {
        return v->last || v->n - pos > STRING_KEPT_BYTES ? resync(w, v, pos) : need_more(v, pos);
    }
    if ((v->text[stop] != ',' && v->text[stop] != '}') || stop - pos > STRING_KEPT_BYTES) {
        return resync(w, v, pos);
    }
    size_t end = stop;
    while (end > from && jis_blank(v->text[end - 1])) {
        end--;
    }
    give_meta(w, from, key, (jspan){v->text + from, (uint32_t)(end - from), JKIND_SCALAR});
    v->pos = stop;
    return GO;
}

static verdict top_key(jwalk *w, jview *v, size_t pos)
{
    size_t close = jview_token(v, pos + 1);
    size_t colon = close < v->n ? jview_token(v, close + 1) : v->n;
    size_t from = colon < v->n ? jview_solid(v, colon + 1) : v->n;
    bool bad = colon < v->n && (v->text[colon] != ':' || jview_solid(v, close + 1) != colon);
    if (!bad && from >= v->n) {
        bool give_up = v->last || v->n - pos > STRING_KEPT_BYTES;
        return give_up ? resync(w, v, pos) : need_more(v, pos);
    }
    if (bad || from - pos > STRING_KEPT_BYTES) {
        return resync(w, v, pos);
    }
    jspan key = {v->text + pos + 1, (uint32_t)(close - pos - 1), JKIND_STRING};
    char c = v->text[from];
    if (c == '"') {
        return top_string(w, v, pos, key, from);
    }
    if (c == '{' || c == '[') {
        return jview_is_token(v, from) ? top_nested(w, v, pos, key, from) : resync(w, v, pos);
    }
    return top_scalar(w, v, pos, key, from);
}

static verdict in_top(jwalk *w, jview *v)
{
    size_t pos = jview_token(v, v->pos);
    if (pos >= v->n) {
        return consume_all(v);
    }
    switch (v->text[pos]) {
    case '"':
        return top_key(w, v, pos);
    case ',':
        v->pos = pos + 1;
        return GO;
    case '}':
        w->state = JWALK_START;
        v->pos = pos + 1;
        return GO;
    default:
        return resync(w, v, pos);
    }
}

/* A '{' where a document begins: the top-level object, or an event on a line of its own. */
static verdict start_object(jwalk *w, jview *v, size_t pos)
{
    size_t quote = jview_token(v, pos + 1);
    size_t close = quote < v->n && v->text[quote] == '"' ? jview_token(v, quote + 1) : quote;
    if (close >= v->n && !v->last && v->n - pos <= LARGE_EVENT_BYTES) {
        return need_more(v, pos);
    }
    bool key = close < v->n && close > quote && close - pos <= LARGE_EVENT_BYTES;
    if (key && jkeys_event(&w->keys, v->text + quote + 1, close - quote - 1) != JKEY_NONE) {
        size_t end = 0;
        jstep step = probe_event(w, v, pos, &end);
        if (step == JSTEP_MORE) {
            return need_more(v, pos);
        }
        if (step == JSTEP_DONE) {
            w->saw |= JWALK_SAW_EVENT_ARRAY;
            return deliver(w, v, end);
        }
    }
    w->state = JWALK_TOP;
    v->pos = pos + 1;
    return GO;
}

static verdict start_array(jwalk *w, jview *v, size_t pos)
{
    size_t first = near_solid(v, pos + 1);
    if (first >= v->n && may_wait(v, pos + 1)) {
        return need_more(v, pos);
    }
    char c = first < v->n ? v->text[first] : '\0';
    if (c == '[') {
        w->saw |= JWALK_SAW_ARRAY_OF_ARRAYS;
        begin_skip(w, v, pos, JWALK_START);
        return GO;
    }
    unsigned saw = w->saw;
    begin_events(w, v, pos, true);
    w->saw = c == '{' || c == ']' ? w->saw : saw;
    return GO;
}

static verdict in_start(jwalk *w, jview *v)
{
    size_t pos = jview_token(v, v->pos);
    w->saw |= jview_solid(v, v->pos) < v->n ? JWALK_SAW_TEXT : 0;
    if (pos >= v->n) {
        return consume_all(v);
    }
    switch (v->text[pos]) {
    case '{':
        return start_object(w, v, pos);
    case '[':
        return start_array(w, v, pos);
    case ',':
        v->pos = pos + 1;
        return GO;
    default:
        return resync(w, v, pos);
    }
}

void jwalk_start_lost(jwalk *w)
{
    w->state = JWALK_RESYNC;
    w->lost = true;
    w->unsure = true;
}

bool jwalk_is_between(const jwalk *w)
{
    return w->state == JWALK_EVENTS && w->comma && !w->lost && !w->unsure && !w->in_string && w->wasted_bytes == 0 &&
           w->cut_at == UINT64_MAX;
}

void jwalk_start_between(jwalk *w, bool bare, uint64_t offset)
{
    w->status = MAREY_OK;
    w->state = JWALK_EVENTS;
    w->saw = 0;
    w->n_events = 0;
    w->offset = offset;
    w->event_end = UINT64_MAX;
    w->bare = bare;
    w->comma = true;
    w->lost = w->unsure = w->in_string = false;
    w->wasted_bytes = 0;
    w->rescan_from = UINT64_MAX;
    w->cut_at = UINT64_MAX;
}

void jwalk_go_on(jwalk *w, const jwalk *from)
{
    w->status = from->status;
    w->state = from->state;
    w->saw |= from->saw;
    w->offset = from->offset;
    w->event_end = from->event_end;
    w->bare = from->bare;
    w->comma = from->comma;
    w->lost = from->lost;
    w->unsure = from->unsure;
    w->in_string = from->in_string;
    w->wasted_bytes = from->wasted_bytes;
    w->rescan_from = from->rescan_from;
    w->skip_depth = from->skip_depth;
    w->after_skip = from->after_skip;
    w->skip_from = from->skip_from;
    w->cut_at = from->cut_at;
    w->events_at_cut = w->n_events + from->events_at_cut;
    w->n_events += from->n_events;
}

static verdict step(jwalk *w, jview *v)
{
    switch (w->state) {
    case JWALK_START:
        return in_start(w, v);
    case JWALK_TOP:
        return in_top(w, v);
    case JWALK_SKIP:
        return in_skip(w, v);
    case JWALK_EVENTS:
        return in_events(w, v);
    case JWALK_RESYNC:
    default:
        return in_resync(w, v);
    }
}

jwalk_result jwalk_run(jwalk *w, const char *text, const jblock *bits, size_t n, bool last, size_t *consumed)
{
    jview v = {text, bits, n, last, 0};
    verdict what = GO;
    while (what == GO) {
        what = step(w, &v);
    }
    *consumed = v.pos;
    static const jwalk_result results[] = {
        [MORE] = JWALK_MORE, [RESTART] = JWALK_RESTART, [GIVEN] = JWALK_GIVEN, [STOP] = JWALK_STOPPED};
    return results[what];
}

void jwalk_finish(jwalk *w)
{
    bool cut = w->cut_at != UINT64_MAX;
    if (cut && w->n_events > w->events_at_cut) {
        diag_lose(w->diag, MAREY_LOSS_DAMAGED, w->file, w->cut_at, 1, NULL);
    } else if (cut) {
        diag_lose(w->diag, MAREY_LOSS_TRUNCATED, w->file, w->cut_at, 1, NULL);
    } else if (w->state == JWALK_TOP) {
        diag_lose(w->diag, MAREY_LOSS_TRUNCATED, w->file, w->offset, 1, NULL);
    } else if (w->state == JWALK_EVENTS && !w->lost) {
        diag_lose(w->diag, MAREY_LOSS_MISSING_BRACKET, w->file, w->offset, 1, NULL);
    }
    if (w->state == JWALK_SKIP) {
        w->rescan_from = w->skip_from + 1;
    }
}
