#include "trace/rules.h"

#include <stdlib.h>
#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "base/file.h"
#include "base/mem.h"
#include "base/text.h"
#include "trace/rules_builtin.h"
#include "trace/rules_private.h"

/* A name that is asked, and which pairs of letters it has: that is found out where many patterns are asked. */
typedef struct asked_name {
    char text[RULE_NAME_BYTES]; /* lower case */
    size_t n;
    bool knows_pairs;
    uint8_t has[RULE_PAIRS + 1]; /* a byte for each pair */
} asked_name;

static void find_pairs(asked_name *a)
{
    const char *s = a->text;
    size_t i = 0;
    memset(a->has, 0, RULE_PAIRS);
    for (; i + 4 < a->n; i += 4) {
        a->has[rules_pair(s + i)] = 1;
        a->has[rules_pair(s + i + 1)] = 1;
        a->has[rules_pair(s + i + 2)] = 1;
        a->has[rules_pair(s + i + 3)] = 1;
    }
    for (; i + 1 < a->n; i++) {
        a->has[rules_pair(s + i)] = 1;
    }
    a->has[RULE_PAIRS] = 1;
    a->knows_pairs = true;
}

/* Where the two letters at `want` are next to each other; NULL: nowhere. */
static const char *find_two(const char *s, const char *se, const char *want)
{
#ifdef __SSE2__
    const __m128i first = _mm_set1_epi8(want[0]);
    const __m128i second = _mm_set1_epi8(want[1]);
    for (; se - s > 16; s += 16) {
        __m128i a = _mm_cmpeq_epi8(_mm_loadu_si128((const __m128i *)(const void *)s), first);
        __m128i b = _mm_cmpeq_epi8(_mm_loadu_si128((const __m128i *)(const void *)(s + 1)), second);
        unsigned both = (unsigned)_mm_movemask_epi8(_mm_and_si128(a, b));
        if (both != 0) {
            return s + __builtin_ctz(both);
        }
    }
#endif
    for (; se - s > 1; s++) {
        if (s[0] == want[0] && s[1] == want[1]) {
            return s;
        }
    }
    return NULL;
}

/* Where a run of any bytes may end in front of what the pattern goes on with at p: at the next such letter, or two.
 * NULL: there are none. */
static const char *next_of(const char *s, const char *se, const char *p, const char *pe)
{
    if (rules_is_wild(*p)) {
        return s;
    }
    if (p + 1 < pe && !rules_is_wild(p[1])) {
        return find_two(s, se, p);
    }
    return s < se ? memchr(s, *p, (size_t)(se - s)) : NULL;
}

/* `*` any run, `?` one byte. One remembered star is enough, so the cost is at most |p| * |s|. */
static bool glob(const char *p, const char *pe, const char *s, const char *se)
{
    const char *star = NULL;
    const char *mark = s;
    while (s < se) {
        bool begins = p < pe && *p == '*';
        if (begins) {
            star = ++p;
        } else if (p < pe && (*p == '?' || *p == *s)) {
            p++;
            s++;
            continue;
        } else if (!star) {
            return false;
        }
        if (star == pe) {
            return true; /* the last star takes all the rest */
        }
        p = star;
        mark = next_of(begins ? s : mark + 1, se, p, pe);
        if (!mark) {
            return false;
        }
        s = mark;
    }
    while (p < pe && *p == '*') {
        p++;
    }
    return p == pe;
}

trace_scopes trace_rules_scopes(const trace_rules *r, const char *source)
{
    const rule_table *t = &r->table;
    char src[256];
    size_t n = rules_lower(src, source, sizeof src);
    uint64_t scopes = 0;
    for (size_t i = 0; i < t->n_parts; i++) {
        const rule_part *p = &t->parts[i];
        const char *text = t->texts + p->text;
        bool is_none = p->n == 1 && *text == '-' && n == 0;
        if (is_none || glob(text, text + p->n, src, src + n)) {
            scopes |= p->scopes;
        }
    }
    return scopes;
}

trace_meaning trace_rules_classify(const trace_rules *r, const char *text, const char *source)
{
    return trace_rules_classify_in(r, text, trace_rules_scopes(r, source));
}

/* The next pattern from i on whose first pair the name has. @return `end` where there is none */
static inline size_t next_look(const uint16_t *looks, size_t i, size_t end, const uint8_t has[RULE_PAIRS + 1])
{
    for (; end - i >= 4; i += 4) {
        if (has[looks[i]] | has[looks[i + 1]] | has[looks[i + 2]] | has[looks[i + 3]]) {
            break;
        }
    }
    while (i < end && !has[looks[i]]) {
        i++;
    }
    return i;
}

static bool has_needs(const rule_pattern *p, const uint8_t has[RULE_PAIRS + 1])
{
    bool all = true;
    for (unsigned i = 1; i < RULE_NEEDS; i++) {
        all &= has[p->needs[i]];
    }
    return all;
}

static bool is_match(const rule_table *t, const rule_pattern *p, const asked_name *a)
{
    const char *text = t->texts + p->text;
    return glob(text, text + p->n, a->text, a->text + a->n);
}

/* The first pattern of the run that the name matches; NULL: none does. */
static const rule_pattern *match_run(const rule_table *t, const rule_run *run, asked_name *a)
{
    enum { FEW = 4 };
    if (run->end - run->first <= FEW && !a->knows_pairs) {
        for (size_t i = run->first; i < run->end; i++) {
            if (is_match(t, &t->patterns[i], a)) {
                return &t->patterns[i];
            }
        }
        return NULL;
    }
    if (!a->knows_pairs) {
        find_pairs(a);
    }
    for (size_t i = run->first; (i = next_look(t->looks, i, run->end, a->has)) < run->end; i++) {
        const rule_pattern *p = &t->patterns[i];
        if (has_needs(p, a->has) && is_match(t, p, a)) {
            return p;
        }
    }
    return NULL;
}

/* The runs with the numbers from 64 * word on that belong to the scopes. */
static uint64_t open_runs(const rule_table *t, size_t word, trace_scopes scopes)
{
    uint64_t open = 0;
    for (; scopes != 0; scopes &= scopes - 1) {
        open |= t->open[(unsigned)__builtin_ctzll(scopes) * t->run_words + word];
    }
    return open;
}

trace_meaning trace_rules_classify_in(const trace_rules *r, const char *text, trace_scopes scopes)
{
    const rule_table *t = &r->table;
    asked_name a;
    a.n = rules_lower(a.text, text, sizeof a.text);
    a.knows_pairs = false;
    trace_meaning m = {.category = NO_ID, .mark = MARK_NONE};
    for (size_t word = 0; word < t->run_words; word++) {
        for (uint64_t open = open_runs(t, word, scopes); open != 0; open &= open - 1) {
            const rule_run *run = &t->runs[word * 64 + (unsigned)__builtin_ctzll(open)];
            bool is_said = run->says_mark ? m.mark != MARK_NONE : m.category != NO_ID;
            const rule_pattern *p = is_said ? NULL : match_run(t, run, &a);
            if (p && run->says_mark) {
                m.mark = (trace_mark)p->mark;
            } else if (p) {
                m.category = p->category;
            }
        }
    }
    m.category = m.category == NO_ID ? t->fallback : m.category;
    return m;
}

const trace_category *trace_rules_categories(const trace_rules *r, size_t *n)
{
    *n = r->table.n_categories;
    return r->table.categories;
}

/* ------------------------------------------------------------------ create */

typedef struct rules_text {
    const char *where; /* as messages name it */
    const char *s;
    size_t n;
} rules_text;

/* Of a text of the user's, which may be NULL, and one behind it. */
static marey_status create(trace_rules **out, const rules_text *user, const rules_text *last, diag *d)
{
    trace_rules *r = mem_calloc(1, sizeof *r);
    rule_memory *m = r->memory = mem_calloc(1, sizeof *m);
    marey_status status = MAREY_OK;
    for (unsigned i = 0; i < 2 && status == MAREY_OK; i++) {
        bool categories = i == 0;
        if (user) {
            status = rules_read_text(m, user->where, user->s, user->n, categories, d);
        }
        if (status == MAREY_OK) {
            status = rules_read_text(m, last->where, last->s, last->n, categories, d);
        }
    }
    if (status == MAREY_OK) {
        status = rules_complete(m, &r->table, d);
    }
    if (status != MAREY_OK) {
        trace_rules_destroy(&r);
    }
    *out = r;
    return status;
}

marey_status trace_rules_create_from(trace_rules **out, const char *text, size_t n, diag *d)
{
    return create(out, NULL, &(rules_text){"rules", text, n}, d);
}

marey_status trace_rules_create(trace_rules **out, const char *user_path, diag *d)
{
    if (!user_path) {
        trace_rules *r = mem_calloc(1, sizeof *r);
        r->table = rules_builtin_table;
        *out = r;
        return MAREY_OK;
    }
    const rules_text builtin = {"categories.rules", (const char *)rules_builtin, rules_builtin_size};
    rules_text user = {.where = user_path};
    char *text = NULL;
    *out = NULL;
    marey_status status = file_read_all(user_path, RULES_BYTES, &text, &user.n, d);
    if (status == MAREY_OK) {
        user.s = text;
        status = create(out, &user, &builtin, d);
    }
    free(text);
    return status;
}

void trace_rules_destroy(trace_rules **r)
{
    if (*r) {
        rules_memory_free((*r)->memory);
        free(*r);
        *r = NULL;
    }
}

char *trace_rules_user_path(void)
{
    const char *config = getenv("XDG_CONFIG_HOME");
    const char *home = getenv("HOME");
    strbuf path = {0};
    if (config && *config) {
        strbuf_printf(&path, "%s/marey/categories.rules", config);
    } else if (home && *home) {
        strbuf_printf(&path, "%s/.config/marey/categories.rules", home);
    }
    if (!path.s || !file_exists(path.s)) {
        strbuf_deinit(&path);
        return NULL;
    }
    return path.s;
}
