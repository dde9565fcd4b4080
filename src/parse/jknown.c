/*
 * Events that take a way which the memo knows: no bitmaps, no tokens, the text is compared with what was walked before
 * and the values that vary are cut out. Whatever does not fit is left to the walk over tokens.
 */
#include "parse/jscan.h"
#include "parse/jwalk_private.h"

enum { ARGS_BLOCKS = 64 };

/* The event's steady fields are those of node `s`. They lie in the memo. */
static inline void hold(jwalk *w, const jmemo_node *s)
{
    jmemo *m = &w->memo;
    unsigned at = (unsigned)(s - m->nodes);
    bool is_same = m->held && (m->held == at || (s->parent == m->held && s->n_parts == m->nodes[m->held].n_parts));
    m->held = at;
    for (unsigned i = 0; i < s->n_parts && !is_same; i++) {
        const jmemo_part *p = &m->parts[s->parts + i];
        w->event.field[p->key] = (jspan){m->text + p->at, p->n, p->kind};
    }
}

/* Arguments that the reader does not know: bitmaps of a little text are made for them. */
static const char *walk_args(jwalk *w, const char *p, const char *end, jbits_fn bits)
{
    jblock blocks[ARGS_BLOCKS + 1];
    jbits_state state = {0};
    size_t n_made = 0;
    for (size_t n_blocks = ARGS_BLOCKS / 8; n_blocks <= ARGS_BLOCKS; n_blocks *= 2) {
        size_t left = (size_t)(end - p);
        size_t n = n_blocks * 64 < left ? n_blocks * 64 : left;
        size_t n_now = (n + 63) / 64;
        bits((const uint8_t *)p + n_made * 64, n_now - n_made, &state, blocks + n_made);
        n_made = n_now;
        blocks[n_made] = (jblock){UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX};
        jview v = {.text = p, .bits = blocks, .n = n};
        size_t stop = 0;
        jstep step = jevent_args(w, &v, 0, &stop);
        if (step != JSTEP_MORE || n == left) {
            return step == JSTEP_DONE ? p + stop : end;
        }
    }
    return end;
}

/* The arguments at `p`, before which node `s` stands. @return their end; `end`: not known */
static inline const char *take_args(jwalk *w, const jmemo_node *s, const char *p, const char *end, jbits_fn bits)
{
    jmemo *m = &w->memo;
    if (p >= end || *p != '{') {
        return end;
    }
    if (m->nodes[m->held].parent != (unsigned)(s - m->nodes)) {
        hold(w, s);
    }
    jevent *e = &w->event;
    e->seen = s->seen;
    e->args_seen = 0;
    e->args_skipped = s->skips_args;
    size_t known = w->ops.args ? w->ops.args(w->ctx, e, p, (size_t)(end - p)) : 0;
    if (!known) {
        return walk_args(w, p, end, bits);
    }
    e->field[JKEY_ARGS] = (jspan){p, (uint32_t)known, JKIND_OBJECT};
    return p + known;
}

static inline void finish_event(jwalk *w, const jmemo_node *leaf)
{
    unsigned at = (unsigned)(leaf - w->memo.nodes);
    if (w->memo.held != at) {
        hold(w, leaf);
    }
    w->memo.leaf = at;
    w->event.seen = leaf->seen;
    w->event.like = leaf->like;
}

#define KNOWN(name) name##_any
#define SCAN(name)  jscan_##name
#define TARGET
#include "parse/jknown_walk.inc"

#ifdef __x86_64__
#define KNOWN(name) name##_avx2
#define SCAN(name)  jscan_##name##_avx2
#define TARGET      JSCAN_AVX2
#include "parse/jknown_walk.inc"
#endif

static const char *take_events(jwalk *w, const char *text, const char *end, jbits_fn bits)
{
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2") && !w->memo.baseline) {
        return take_events_avx2(w, text, end, bits);
    }
#endif
    return take_events_any(w, text, end, bits);
}

/* Where the next event may begin with what the memo knows. */
static bool is_between_events(const jwalk *w)
{
    return w->state == JWALK_EVENTS ? !w->comma : w->state == JWALK_START && (w->saw & JWALK_SAW_EVENT_ARRAY);
}

jwalk_result jwalk_known(jwalk *w, const char *text, size_t n, jbits_fn bits, size_t *consumed)
{
    *consumed = 0;
    if (w->memo.off == 0 && is_between_events(w) && w->wasted_bytes <= JWALK_FREE_WASTE) {
        *consumed = (size_t)(take_events(w, text, text + n, bits) - text);
        w->event_end = *consumed ? w->offset + *consumed : w->event_end;
    }
    return w->status == MAREY_OK ? JWALK_MORE : JWALK_STOPPED;
}
