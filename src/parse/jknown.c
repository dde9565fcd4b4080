/*
 * Events that take a way which the memo knows: no bitmaps, no tokens, the text is compared with what was walked before
 * and the values that vary are cut out. Whatever does not fit is left to the walk over tokens.
 */
#include "parse/jscan.h"
#include "parse/jwalk_private.h"

enum { ARGS_BLOCKS = 64 };

/* The first node of the next event. The event before tells it, mostly. */
static inline unsigned find_first(jmemo *m, const char *p, size_t n)
{
    const jmemo_node *leaf = &m->nodes[m->leaf];
    const jmemo_node *guess = &m->nodes[leaf->next];
    if (leaf->next && guess->len <= n && jscan_same(p, jmemo_text(m, guess), guess->len)) {
        return leaf->next;
    }
    unsigned found = jmemo_search(m, 0, p, n);
    m->nodes[m->leaf].next = (uint16_t)found;
    return found;
}

static inline unsigned find_next(jmemo *m, unsigned at, const char *p, size_t n)
{
    unsigned child = m->nodes[at].child;
    const jmemo_node *guess = &m->nodes[child];
    return child && guess->len <= n && jscan_same(p, jmemo_text(m, guess), guess->len) ? child
                                                                                       : jmemo_search(m, at, p, n);
}

/* The event's steady fields are those of node `at`. They lie in the memo. */
static void hold(jwalk *w, unsigned at)
{
    jmemo *m = &w->memo;
    const jmemo_node *s = &m->nodes[at];
    const jmemo_node *held = &m->nodes[m->held];
    bool is_end = m->held && s->parent == m->held && s->n_parts == held->n_parts;
    m->held = at;
    for (unsigned i = 0; i < s->n_parts && !is_end; i++) {
        const jmemo_part *p = &m->parts[s->parts + i];
        w->event.field[p->key] = (jspan){m->text + p->at, p->n, p->kind};
    }
}

/* Arguments that the reader does not know: bitmaps of a little text are made for them. */
static const char *walk_args(jwalk *w, const char *p, const char *end, jbits_fn bits)
{
    jblock blocks[ARGS_BLOCKS + 1];
    for (size_t n_blocks = ARGS_BLOCKS / 8; n_blocks <= ARGS_BLOCKS; n_blocks *= 8) {
        size_t n = n_blocks * 64 < (size_t)(end - p) ? n_blocks * 64 : (size_t)(end - p);
        jbits_state outside = {0};
        jview v = {.text = p, .bits = blocks, .n = n};
        bits((const uint8_t *)p, (n + 63) / 64, &outside, blocks);
        blocks[(n + 63) / 64] = (jblock){UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX};
        size_t stop = 0;
        if (jevent_args(w, &v, 0, &stop) == JSTEP_DONE) {
            return p + stop;
        }
    }
    return NULL;
}

static const char *take_args(jwalk *w, unsigned at, const char *p, const char *end, jbits_fn bits)
{
    jmemo *m = &w->memo;
    if (p >= end || *p != '{') {
        return NULL;
    }
    if (m->held != at && m->nodes[m->held].parent != at) {
        hold(w, at);
    }
    w->event.seen = m->nodes[at].seen;
    size_t known = jevent_known_args(w, p, (size_t)(end - p));
    return known ? p + known : walk_args(w, p, end, bits);
}

/* The value that varies behind node `at`. @return where the next segment begins; NULL: it is not as it was */
static inline const char *take_value(jwalk *w, unsigned at, const char *p, const char *end, jbits_fn bits)
{
    const jmemo_node *s = &w->memo.nodes[at];
    if (s->what == JMEMO_ARGS) {
        return take_args(w, at, p, end, bits);
    }
    bool string = s->what == JMEMO_STRING;
    const char *stop = string ? jscan_string(p, end) : jscan_scalar(p, end);
    if (!stop || (!string && stop == p)) {
        return NULL;
    }
    if (s->what != JMEMO_SKIP) {
        w->event.field[s->key] = (jspan){p, (uint32_t)(stop - p), string ? JKIND_STRING : JKIND_SCALAR};
    }
    return stop + string;
}

/* The event whose first segment, node `at`, begins at `p`. @return its end; NULL: its way is not known */
static const char *take_event(jwalk *w, unsigned at, const char *p, const char *end, jbits_fn bits)
{
    jmemo *m = &w->memo;
    w->event.args_seen = 0;
    while (at && m->nodes[at].what != JMEMO_END) {
        p = take_value(w, at, p + m->nodes[at].len, end, bits);
        if (!p || p >= end) {
            return NULL;
        }
        at = find_next(m, at, p, (size_t)(end - p));
    }
    if (!at) {
        return NULL;
    }
    if (m->held != at) {
        hold(w, at);
    }
    const jmemo_node *leaf = &m->nodes[at];
    w->event.seen = leaf->seen;
    w->event.like = leaf->like;
    m->leaf = at;
    return p + leaf->len;
}

/* Where the next event may begin with what the memo knows. */
static bool is_between_events(const jwalk *w)
{
    return w->state == JWALK_EVENTS ? !w->comma : w->state == JWALK_START && (w->saw & JWALK_SAW_EVENT_ARRAY);
}

jwalk_result jwalk_known(jwalk *w, const char *text, size_t n, jbits_fn bits, size_t *consumed)
{
    jmemo *m = &w->memo;
    const char *p = text;
    bool in_list = w->state == JWALK_EVENTS;
    size_t most = in_list ? JWALK_EVENT_BYTES_MAX : JWALK_LINE_BYTES_MAX;
    bool go = is_between_events(w) && w->wasted_bytes <= JWALK_FREE_WASTE;
    while (go && !m->off) {
        size_t left = n - (size_t)(p - text);
        const char *end = p + (left < most ? left : most);
        unsigned first = find_first(m, p, (size_t)(end - p));
        bool fits = first && (in_list || m->nodes[first].is_key_known);
        const char *stop = fits ? take_event(w, first, p, end, bits) : NULL;
        if (!stop) {
            break;
        }
        w->event.offset = w->offset + (uint64_t)(p - text) + m->nodes[first].open;
        p = stop;
        jmemo_count(m, true);
        go = jwalk_give(w) == MAREY_OK;
    }
    *consumed = (size_t)(p - text);
    w->event_end = p > text ? w->offset + *consumed : w->event_end;
    return w->status == MAREY_OK ? JWALK_MORE : JWALK_STOPPED;
}
