#include "trace/rules.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/text.h"
#include "trace/rules_builtin.h"
#include "trace/rules_private.h"

/* `has`: a byte for each pair, whether the name has it. */
static void pairs_of_name(const char *s, size_t n, uint8_t has[RULE_PAIRS])
{
    size_t i = 0;
    for (; i + 4 < n; i += 4) {
        has[rules_pair(s + i)] = 1;
        has[rules_pair(s + i + 1)] = 1;
        has[rules_pair(s + i + 2)] = 1;
        has[rules_pair(s + i + 3)] = 1;
    }
    for (; i + 1 < n; i++) {
        has[rules_pair(s + i)] = 1;
    }
}

/* Where a run of any bytes may end in front of `want`: at the next such byte. NULL: there is none. */
static const char *next_of(const char *s, const char *se, char want)
{
    return want == '?' || want == '*' ? s : s < se ? memchr(s, want, (size_t)(se - s)) : NULL;
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
        mark = next_of(begins ? s : mark + 1, se, *p);
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

/* The first pattern of the run that the name matches; NULL: none does. */
static const rule_pattern *match_run(const rule_table *t, const rule_run *run, const char *name, size_t n,
                                     const uint8_t has[RULE_PAIRS + 1])
{
    for (size_t i = run->first; (i = next_look(t->looks, i, run->end, has)) < run->end; i++) {
        const rule_pattern *p = &t->patterns[i];
        const char *text = t->texts + p->text;
        if (has_needs(p, has) && glob(text, text + p->n, name, name + n)) {
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
    char name[RULE_NAME_BYTES];
    size_t n = rules_lower(name, text, sizeof name);
    uint8_t has[RULE_PAIRS + 1] = {0};
    pairs_of_name(name, n, has);
    has[RULE_PAIRS] = 1;
    trace_meaning m = {.category = NO_ID, .mark = MARK_NONE};
    for (size_t word = 0; word < t->run_words; word++) {
        for (uint64_t open = open_runs(t, word, scopes); open != 0; open &= open - 1) {
            const rule_run *run = &t->runs[word * 64 + (unsigned)__builtin_ctzll(open)];
            bool is_said = run->says_mark ? m.mark != MARK_NONE : m.category != NO_ID;
            const rule_pattern *p = is_said ? NULL : match_run(t, run, name, n, has);
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
