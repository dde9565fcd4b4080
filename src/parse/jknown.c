/*
 * Events that take a way which the memo knows: no bitmaps, no tokens, the text is compared with what was walked before
 * and the values that vary are cut out. Whatever does not fit is left to the walk over tokens.
 */
#include <stdlib.h>

#include "base/mem.h"
#include "parse/jscan.h"
#include "parse/jwalk_private.h"

enum { ARGS_BLOCKS = 64 };

/*
 * Arguments that the reader does not know: bitmaps of a little text are made for them, of so many blocks first.
 *
 * @param blocks how many it took
 */
static const char *walk_args(jwalk *w, const char *p, const char *end, jbits_fn bits, uint8_t *n_blocks)
{
    jblock blocks[ARGS_BLOCKS + 1];
    jbits_state state = {0};
    size_t n_made = 0;
    size_t n_now = *n_blocks + 1U;
    size_t most = ((size_t)(end - p) + 63) / 64;
    most = most < ARGS_BLOCKS ? most : ARGS_BLOCKS;
    for (jstep step = JSTEP_MORE; step == JSTEP_MORE && n_made < most; n_now = n_made * 2) {
        n_now = n_now < most ? n_now : most;
        bits((const uint8_t *)p + n_made * 64, n_now - n_made, &state, blocks + n_made);
        n_made = n_now;
        blocks[n_made] = (jblock){UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX};
        size_t n = n_made * 64 < (size_t)(end - p) ? n_made * 64 : (size_t)(end - p);
        jview v = {.text = p, .bits = blocks, .n = n};
        size_t stop = 0;
        step = jevent_args(w, &v, 0, &stop);
        if (step == JSTEP_DONE) {
            *n_blocks = (uint8_t)(stop / 64);
            return p + stop;
        }
    }
    return end;
}

void jwalk_args(jwalk *w, jevent *e, const char *text, size_t n, jbits_fn bits)
{
    jblock few[ARGS_BLOCKS + 1];
    size_t n_blocks = (n + 63) / 64;
    jblock *blocks = n_blocks <= ARGS_BLOCKS ? few : mem_alloc((n_blocks + 1) * sizeof *blocks);
    jbits_state state = {0};
    bits((const uint8_t *)text, n_blocks, &state, blocks);
    blocks[n_blocks] = (jblock){UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX};
    jview v = {.text = text, .bits = blocks, .n = n};
    size_t stop = 0;
    w->event.args_seen = 0;
    w->event.args_skipped = e->args_skipped;
    (void)jevent_args(w, &v, 0, &stop);
    e->args_seen = w->event.args_seen;
    for (uint32_t left = e->args_seen; left; left &= left - 1) {
        e->arg[__builtin_ctz(left)] = w->event.arg[__builtin_ctz(left)];
    }
    if (blocks != few) {
        free(blocks);
    }
}

/* The arguments at `p`, before which node `s` stands. @return their end; `end`: not known */
static inline const char *take_args(jwalk *w, jmemo_node *s, const char *p, const char *end, jbits_fn bits)
{
    if (p >= end || *p != '{') {
        return end;
    }
    jevent *e = &w->event;
    e->seen = s->seen;
    e->steady = s->steady;
    e->args_seen = 0;
    e->args_skipped = s->skips_args;
    size_t known = w->ops.args ? w->ops.args(w->ctx, e, p, (size_t)(end - p)) : 0;
    if (!known) {
        return walk_args(w, p, end, bits, &s->args_blocks);
    }
    e->field[JKEY_ARGS] = (jspan){p, (uint32_t)known, JKIND_OBJECT};
    return p + known;
}

static inline void finish_event(jevent *e, const jmemo_node *leaf, uint32_t times)
{
    e->seen = leaf->seen;
    e->like = leaf->like;
    e->steady = leaf->steady;
    e->times = times;
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
        /* No event is larger than this, for none is larger than all. */
        const size_t most = w->state == JWALK_EVENTS ? JWALK_EVENT_BYTES_MAX : JWALK_LINE_BYTES_MAX;
        *consumed = (size_t)(take_events(w, text, text + (n < most ? n : most), bits) - text);
        w->event_end = *consumed ? w->offset + *consumed : w->event_end;
    }
    return w->status == MAREY_OK ? JWALK_MORE : JWALK_STOPPED;
}
