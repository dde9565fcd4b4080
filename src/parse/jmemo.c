#include "parse/jmemo.h"

#include <string.h>

enum { PERIOD = 4096, PAUSE = 65536 };

bool jmemo_event(jmemo *m)
{
    if (m->off) {
        m->off--;
        return false;
    }
    if (++m->n_events == PERIOD) {
        m->off = m->n_hits < PERIOD / 2 ? PAUSE : 0;
        m->n_events = 0;
        m->n_hits = 0;
    }
    return true;
}

static uint64_t load(const char *s)
{
    uint64_t v = 0;
    memcpy(&v, s, 8);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    v = __builtin_bswap64(v);
#endif
    return v;
}

/* 16 bytes at once: every processor that matters has registers of that size. */
typedef uint64_t wide __attribute__((vector_size(16)));

static inline wide differ_at(const char *a, const char *b, size_t at)
{
    wide x;
    wide y;
    memcpy(&x, a + at, sizeof x);
    memcpy(&y, b + at, sizeof y);
    return x ^ y;
}

/* In steps of 16 bytes, the last one overlapping: a call costs more than these few comparisons. */
static inline bool same_text(const jmemo_segment *s, const char *text)
{
    size_t n = s->len;
    if (n < 16) {
        uint64_t differ = load(s->text) ^ load(text);
        return n < 8 ? differ << (64 - 8 * n) == 0 : (differ | (load(s->text + n - 8) ^ load(text + n - 8))) == 0;
    }
    wide differ = differ_at(s->text, text, n - 16);
    for (size_t i = 0; i < n - 16; i += 16) {
        differ |= differ_at(s->text, text, i);
    }
    return (differ[0] | differ[1]) == 0;
}

static inline bool matches(const jmemo_segment *s, const char *text, size_t n)
{
    return s->len && s->len <= n && same_text(s, text);
}

/* Segments follow each other in few orders, so that the one before tells most of the next. */
static uint8_t *guess_of(jmemo *m, unsigned place)
{
    return place == JMEMO_BEGIN ? &m->begins[m->begin] : &m->after[m->place][m->way];
}

static const jmemo_segment *take(jmemo *m, unsigned place, unsigned way)
{
    m->n_hits += place == JMEMO_NAME;
    m->begin = place == JMEMO_BEGIN ? (uint8_t)way : m->begin;
    m->place = (uint8_t)place;
    m->way = (uint8_t)way;
    return &m->segments[place][way];
}

const jmemo_segment *jmemo_find(jmemo *m, unsigned place, const char *text, size_t n)
{
    const jmemo_segment *ways = m->segments[place];
    uint8_t *guess = guess_of(m, place);
    if (matches(&ways[*guess], text, n)) {
        return take(m, place, *guess);
    }
    for (unsigned i = 0; i < JMEMO_WAYS; i++) {
        bool likely = ways[i].len < 8 || (ways[i].len <= n && load(text + ways[i].probe_at) == ways[i].probe);
        if (likely && matches(&ways[i], text, n)) {
            *guess = (uint8_t)i;
            return take(m, place, i);
        }
    }
    return NULL;
}

void jmemo_learn(jmemo *m, const jmemo_draft *d, const char *text, size_t end, unsigned next)
{
    size_t n = end - d->start;
    const char *from = text + d->start;
    if (!d->usable || n == 0 || n > JMEMO_TEXT_MAX || memchr(from, '\\', n)) {
        return;
    }
    unsigned way = m->victim[d->place];
    m->victim[d->place] = (uint8_t)((way + 1) % JMEMO_WAYS);
    jmemo_segment *s = &m->segments[d->place][way];
    s->len = (uint8_t)n;
    s->next = (uint8_t)next;
    s->n_parts = (uint8_t)d->n_parts;
    s->probe_at = (uint8_t)(n < 16 ? 0 : n - 16);
    s->probe = load(from + s->probe_at);
    memcpy(s->parts, d->parts, sizeof s->parts);
    memcpy(s->text, from, n);
    *guess_of(m, d->place) = (uint8_t)way;
}
