#include "parse/jmemo.h"

#include <string.h>

#include "parse/jscan.h"

enum { MISSES = 2048, PAUSE = 65536 };

void jmemo_miss(jmemo *m)
{
    if (m->off) {
        m->off--;
    } else if (++m->n_misses == MISSES) {
        m->off = m->n_hits < MISSES ? PAUSE : 0;
        m->n_misses = 0;
        m->n_hits = 0;
    }
}

static bool matches(const jmemo_node *s, const char *text, size_t n)
{
    return s->len <= n && text[s->probe] == s->text[s->probe] && jscan_same(text, s->text, s->len, s->last_bits);
}

jmemo_node *jmemo_search(jmemo_node *parent, const char *text, size_t n)
{
    jmemo_node **link = &parent->child;
    for (jmemo_node *s = *link; s; link = &s->sibling, s = *link) {
        if (matches(s, text, n)) {
            *link = s->sibling;
            s->sibling = parent->child;
            parent->child = s;
            return s;
        }
    }
    return NULL;
}

/* ---- learning ---- */

static void forget_all(jmemo *m)
{
    m->n_nodes = 1;
    m->nodes[0] = (jmemo_node){.steady = m->steady[0]};
    m->n_sets = 1;
    m->n_text = JMEMO_TEXT_PAD;
    m->leaf = NULL;
}

static bool has_room(const jmemo *m, const jmemo_draft *d)
{
    return m->n_nodes > 0 && m->n_nodes + d->n_steps <= JMEMO_NODES && m->n_sets + d->n_steps <= JMEMO_STEADY_SETS &&
           m->n_text + (size_t)d->n_steps * JMEMO_TEXT_MAX <= JMEMO_TEXT_PAD + JMEMO_TEXT_BYTES;
}

static bool may_learn(const jmemo_draft *d, const char *text)
{
    bool has_phase = false;
    for (unsigned i = 0; i < d->n_fields; i++) {
        has_phase |= d->fields[i].key == JKEY_PH;
    }
    for (unsigned i = 0; i < d->n_steps; i++) {
        size_t n = d->steps[i].end - d->steps[i].from;
        if (n == 0 || n > JMEMO_TEXT_MAX || memchr(text + d->steps[i].from, '\\', n)) {
            return false;
        }
    }
    return d->usable && has_phase;
}

/* Nodes whose segments read the same share the text. */
static const char *keep_text(jmemo *m, const char *text, size_t n)
{
    for (unsigned i = 1; i < m->n_nodes; i++) {
        if (m->nodes[i].len == n && memcmp(m->nodes[i].text, text, n) == 0) {
            return m->nodes[i].text;
        }
    }
    char *copy = m->text + m->n_text;
    memcpy(copy, text, n);
    m->n_text += (uint32_t)n;
    return copy;
}

/* The steady fields of a step and those that came before it. */
static void keep_steady(jmemo *m, jmemo_node *s, const jmemo_node *parent, unsigned step)
{
    const jmemo_draft *d = &m->draft;
    jspan *own = NULL;
    for (unsigned i = 0; i < d->n_fields; i++) {
        const jmemo_field *f = &d->fields[i];
        if (f->step != step) {
            continue;
        }
        if (!own) {
            own = m->steady[m->n_sets++];
            memcpy(own, parent->steady, sizeof m->steady[0]);
        }
        own[f->key] = (jspan){s->text + (f->at - d->steps[step].from), f->n, f->kind};
    }
    s->steady = own ? own : parent->steady;
}

/* Which fields are there before what comes behind the first `n` steps. */
static uint32_t seen_before(const jmemo_draft *d, unsigned n)
{
    uint32_t seen = 0;
    for (unsigned i = 0; i < d->n_fields; i++) {
        seen |= d->fields[i].step < n ? 1U << d->fields[i].key : 0;
    }
    for (unsigned i = 0; i + 1 < n; i++) {
        seen |= d->steps[i].key != JKEY_NONE ? 1U << d->steps[i].key : 0;
    }
    return seen;
}

static uint16_t find_difference(const char *a, const char *b, size_t n)
{
    size_t i = 0;
    while (i + 1 < n && a[i] == b[i]) {
        i++;
    }
    return (uint16_t)i;
}

/* A new child comes first. Of too many the last goes, and with it what comes behind it. */
static void put_first(jmemo_node *parent, jmemo_node *child)
{
    jmemo_node *first = parent->child;
    child->probe = first ? find_difference(child->text, first->text, child->len) : 0;
    child->sibling = first;
    parent->child = child;
    unsigned n = 1;
    for (jmemo_node *s = child; s; s = s->sibling) {
        if (n++ == JMEMO_SIBLINGS_MAX) {
            s->sibling = NULL;
        }
    }
}

static jmemo_node *find_child(const jmemo_node *parent, const jmemo_step *step, const char *text)
{
    jmemo_node *s = parent->child;
    while (s && !(s->len == step->end - step->from && s->what == step->what && s->key == step->key &&
                  memcmp(s->text, text + step->from, s->len) == 0)) {
        s = s->sibling;
    }
    return s;
}

static jmemo_node *add_child(jmemo *m, jmemo_node *parent, unsigned step, const char *text)
{
    const jmemo_step *from = &m->draft.steps[step];
    jmemo_node *s = &m->nodes[m->n_nodes];
    *s = (jmemo_node){.what = from->what, .key = from->key};
    s->len = (uint16_t)(from->end - from->from);
    s->text = keep_text(m, text + from->from, s->len);
    s->last_bits = UINT32_MAX >> (31 - (s->len - 1U) % 32);
    s->seen = seen_before(&m->draft, step + 1);
    s->skips_args = from->skips_args;
    keep_steady(m, s, parent, step);
    if (s->what == JMEMO_END && m->likes + 1 < JMEMO_LIKES) {
        s->like = (uint16_t)++m->likes;
    }
    put_first(parent, s);
    m->n_nodes++;
    return s;
}

void jmemo_learn(jmemo *m, const char *text, size_t open, bool is_key_known)
{
    const jmemo_draft *d = &m->draft;
    if (!may_learn(d, text)) {
        return;
    }
    if (!has_room(m, d)) {
        forget_all(m);
    }
    jmemo_node *at = m->nodes;
    jmemo_node *first = at;
    for (unsigned i = 0; i < d->n_steps; i++) {
        jmemo_node *child = find_child(at, &d->steps[i], text);
        at = child ? child : add_child(m, at, i, text);
        first = i == 0 ? at : first;
    }
    first->open = (uint8_t)(open - d->steps[0].from);
    first->is_key_known = is_key_known;
    m->leaf = at;
}
