#include "convert/stretches.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

static const uint64_t LEAST_GAP_NS = 10000000000; /* what samples are taken by is seldom slower */

static uint64_t apart(int64_t before_ns, int64_t after_ns)
{
    return after_ns > before_ns ? (uint64_t)after_ns - (uint64_t)before_ns : 0;
}

static void join(stretches *s)
{
    uint32_t n = 0;
    for (uint32_t i = 1; i < s->n; i++) {
        time_stretch *a = &s->items[n];
        const time_stretch *b = &s->items[i];
        if (apart(a->last_ns, b->first_ns) <= s->gap_ns) {
            a->last_ns = b->last_ns > a->last_ns ? b->last_ns : a->last_ns;
        } else {
            s->items[++n] = *b;
        }
    }
    s->n = n + 1;
}

static void insert(stretches *s, uint32_t at, int64_t t_ns)
{
    memmove(&s->items[at + 1], &s->items[at], (s->n - at) * sizeof *s->items);
    s->items[at] = (time_stretch){t_ns, t_ns};
    s->n++;
}

void stretches_put(stretches *s, int64_t t_ns)
{
    if (!s->items) {
        s->items = mem_alloc(MAX_STRETCHES * sizeof *s->items);
        s->gap_ns = LEAST_GAP_NS;
    }
    uint32_t at = s->n; /* the first that begins after t; mostly times ascend */
    while (at > 0 && s->items[at - 1].first_ns > t_ns) {
        at--;
    }
    time_stretch *before = at > 0 ? &s->items[at - 1] : NULL;
    time_stretch *after = at < s->n ? &s->items[at] : NULL;
    if (before && apart(before->last_ns, t_ns) <= s->gap_ns) {
        before->last_ns = t_ns > before->last_ns ? t_ns : before->last_ns;
        if (after && apart(before->last_ns, after->first_ns) <= s->gap_ns) {
            join(s);
        }
        return;
    }
    if (after && apart(t_ns, after->first_ns) <= s->gap_ns) {
        after->first_ns = t_ns;
        return;
    }
    insert(s, at, t_ns);
    while (s->n == MAX_STRETCHES) {
        s->gap_ns *= 2;
        join(s);
    }
}

void stretches_deinit(stretches *s)
{
    free(s->items);
    *s = (stretches){0};
}
