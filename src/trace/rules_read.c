#include <stdlib.h>
#include <string.h>

#include "trace/rules_private.h"

enum { MAX_WORDS = 512, PATTERNS_FIRST = 640, TEXTS_FIRST = 16 * 1024, PAIR_WORDS = RULE_PAIRS / 64 };

/* A set of hashed pairs of letters. */
typedef struct pair_set {
    uint64_t words[PAIR_WORDS];
} pair_set;

/* What reading one file of rules needs. */
typedef struct rules_parser {
    rule_memory *m;
    const char *where;
    unsigned line;
    char *words[MAX_WORDS];
    size_t n_words;
    diag *d;
} rules_parser;

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c;
}

/* Eight letters at a time: a letter is upper case where its byte is from 'A' on, not behind 'Z', and below 0x80. */
static uint64_t lower_eight(uint64_t v)
{
    const uint64_t each = UINT64_C(0x0101010101010101);
    uint64_t low = v & (each * 0x7F);
    uint64_t from_a = low + each * (0x80 - 'A');
    uint64_t behind_z = low + each * (0x7F - 'Z');
    return v | ((from_a ^ behind_z) & ~v & (each * 0x80)) >> 2;
}

size_t rules_lower(char *to, const char *from, size_t cap)
{
    size_t n = strnlen(from, cap);
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        uint64_t v;
        memcpy(&v, from + i, sizeof v);
        v = lower_eight(v);
        memcpy(to + i, &v, sizeof v);
    }
    for (; i < n; i++) {
        to[i] = lower(from[i]);
    }
    return n;
}

/* ------------------------------------------------------------------ reading a text */

static marey_status complain(const rules_parser *p, const char *what, const char *word)
{
    return diag_error(p->d, MAREY_FORMAT, p->where, DIAG_NO_OFFSET, "line %u: %s%s%s%s", p->line, what,
                      word ? " \"" : "", word ? word : "", word ? "\"" : "");
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static char *skip_blanks(char *s)
{
    while (is_blank(*s)) {
        s++;
    }
    return s;
}

static char *word_end(char *s, bool quoted)
{
    while (*s && (quoted ? *s != '"' : !is_blank(*s))) {
        s++;
    }
    return s;
}

/* Most texts differ in their first byte. */
static bool is_same(const char *a, const char *b)
{
    return *a == *b && strcmp(a, b) == 0;
}

/* Cuts a line (NUL-terminated, changed in place) into words; "..." keeps blanks. */
static marey_status split(rules_parser *p, char *s)
{
    p->n_words = 0;
    for (;;) {
        s = skip_blanks(s);
        if (!*s || *s == '#') {
            return MAREY_OK;
        }
        if (p->n_words == MAX_WORDS) {
            return complain(p, "more than 512 words", NULL);
        }
        bool quoted = *s == '"';
        char *begin = s + quoted;
        char *end = word_end(begin, quoted);
        if (quoted && !*end) {
            return complain(p, "a quote is not closed", NULL);
        }
        s = end + (*end != '\0');
        *end = '\0';
        p->words[p->n_words++] = begin;
    }
}

static uint32_t find_category(const rule_memory *m, const char *name)
{
    for (uint32_t i = 0; i < m->n_categories; i++) {
        if (is_same(m->categories[i].name, name)) {
            return i;
        }
    }
    return NO_ID;
}

static marey_status read_category(rules_parser *p)
{
    rule_memory *m = p->m;
    if (p->n_words != 4) {
        return complain(p, "expected: category NAME CLASS LANE", NULL);
    }
    unsigned klass = 0;
    unsigned kind = 0;
    while (klass < CLASS_COUNT && !is_same(trace_class_name((trace_class)klass), p->words[2])) {
        klass++;
    }
    while (kind < KIND_STEP && !is_same(trace_kind_name((trace_kind)kind), p->words[3])) {
        kind++;
    }
    if (klass == CLASS_COUNT) {
        return complain(p, "unknown class", p->words[2]);
    }
    if (kind == KIND_STEP) {
        return complain(p, "unknown lane", p->words[3]);
    }
    if (find_category(m, p->words[1]) != NO_ID) {
        return MAREY_OK; /* the user's own came first */
    }
    trace_category c = {arena_strndup(&m->names, p->words[1], strlen(p->words[1])), (trace_class)klass,
                        (trace_kind)kind};
    VEC_PUSH(m->categories, m->n_categories, m->cap_categories, c);
    return MAREY_OK;
}

/* In lower case, with its zero byte. */
static uint32_t keep_lower(rule_memory *m, const char *s)
{
    size_t n = strlen(s) + 1;
    size_t at = m->texts.n;
    VEC_RESERVE(m->texts.s, m->texts.cap, at + n > TEXTS_FIRST ? at + n : TEXTS_FIRST);
    (void)rules_lower(m->texts.s + at, s, n);
    m->texts.s[at + n - 1] = '\0';
    m->texts.n += n;
    return (uint32_t)at;
}

static marey_status find_scope(rules_parser *p, const char *word, uint8_t *scope)
{
    rule_memory *m = p->m;
    uint32_t text = keep_lower(m, word);
    size_t i = 0;
    while (i < m->n_scopes && !is_same(m->texts.s + m->scopes[i], m->texts.s + text)) {
        i++;
    }
    if (i == RULE_SCOPES) {
        return complain(p, "more than 64 different sources", NULL);
    }
    if (i < m->n_scopes) {
        m->texts.n = text; /* it is there already */
    } else {
        m->scopes[m->n_scopes++] = text;
    }
    *scope = (uint8_t)i;
    return MAREY_OK;
}

/* words[first] are the sources, the rest patterns. */
static marey_status read_patterns(rules_parser *p, size_t first, rule_pattern proto)
{
    rule_memory *m = p->m;
    if (p->n_words < first + 2) {
        return complain(p, "expected sources and at least one pattern after", p->words[first - 1]);
    }
    marey_status status = find_scope(p, p->words[first], &proto.scope);
    for (size_t i = first + 1; status == MAREY_OK && i < p->n_words; i++) {
        proto.text = keep_lower(m, p->words[i]);
        proto.n = (uint32_t)strlen(p->words[i]);
        VEC_RESERVE(m->patterns, m->cap_patterns, PATTERNS_FIRST);
        VEC_PUSH(m->patterns, m->n_patterns, m->cap_patterns, proto);
    }
    return status;
}

static marey_status read_match(rules_parser *p)
{
    if (p->n_words < 4) {
        return complain(p, "expected: match CATEGORY SOURCES PATTERN...", NULL);
    }
    uint32_t c = find_category(p->m, p->words[1]);
    if (c == NO_ID) {
        return complain(p, "unknown category", p->words[1]);
    }
    return read_patterns(p, 2, (rule_pattern){.category = c});
}

static marey_status read_phase(rules_parser *p)
{
    static const char *const names[] = {"", "forward", "backward", "recompute", "optimizer", "checkpoint"};
    if (p->n_words < 4) {
        return complain(p, "expected: phase PHASE SOURCES PATTERN...", NULL);
    }
    for (uint8_t i = 1; i < sizeof names / sizeof *names; i++) {
        if (strcmp(names[i], p->words[1]) == 0) {
            return read_patterns(p, 2, (rule_pattern){.category = NO_ID, .mark = i});
        }
    }
    return complain(p, "unknown phase", p->words[1]);
}

static marey_status read_line(rules_parser *p, char *line)
{
    marey_status status = split(p, line);
    if (status != MAREY_OK || p->n_words == 0) {
        return status;
    }
    if (strcmp(p->words[0], "category") == 0) {
        return read_category(p);
    }
    if (strcmp(p->words[0], "match") == 0) {
        return read_match(p);
    }
    if (strcmp(p->words[0], "phase") == 0) {
        return read_phase(p);
    }
    if (strcmp(p->words[0], "step") == 0) {
        return read_patterns(p, 1, (rule_pattern){.category = NO_ID, .mark = MARK_STEP});
    }
    return complain(p, "unknown word", p->words[0]);
}

marey_status rules_read_text(rule_memory *m, const char *where, const char *text, size_t n, bool categories, diag *d)
{
    rules_parser *p = mem_calloc(1, sizeof *p);
    *p = (rules_parser){.m = m, .where = where, .d = d};
    char *copy = mem_strndup(text, n);
    marey_status status = MAREY_OK;
    for (char *line = copy; line && status == MAREY_OK;) {
        char *end = strchr(line, '\n');
        if (end) {
            *end = '\0';
        }
        p->line++;
        const char *word = skip_blanks(line);
        if ((strncmp(word, "category", 8) == 0) == categories) {
            status = read_line(p, line);
        }
        line = end ? end + 1 : NULL;
    }
    free(copy);
    free(p);
    return status;
}

/* ------------------------------------------------------------------ the table */

static void cut_scopes(rule_memory *m)
{
    const char *texts = m->texts.s;
    for (size_t i = 0; i < m->n_scopes; i++) {
        for (uint32_t at = m->scopes[i]; texts[at];) {
            size_t n = strcspn(texts + at, ",");
            size_t k = 0;
            while (k < m->n_parts && (m->parts[k].n != n || memcmp(texts + m->parts[k].text, texts + at, n) != 0)) {
                k++;
            }
            if (k == m->n_parts) {
                VEC_PUSH(m->parts, m->n_parts, m->cap_parts, ((rule_part){at, (uint32_t)n, 0}));
            }
            m->parts[k].scopes |= UINT64_C(1) << i;
            at += (uint32_t)(n + (texts[at + n] == ','));
        }
    }
}

/* The pairs that a matching name must contain. */
static pair_set pairs_of(const char *s)
{
    pair_set set = {0};
    for (size_t i = 1; s[0] && s[i]; i++) {
        if (!rules_is_wild(s[i - 1]) && !rules_is_wild(s[i])) {
            uint32_t pair = rules_pair(s + i - 1);
            set.words[pair / 64] |= UINT64_C(1) << (pair % 64);
        }
    }
    return set;
}

/* @return the set's first pair from `pair` on; RULE_PAIRS: there is none */
static uint32_t next_pair(const pair_set *set, uint32_t pair)
{
    for (uint32_t k = pair / 64; k < PAIR_WORDS; k++) {
        uint64_t left = set->words[k] & (k == pair / 64 ? UINT64_MAX << (pair % 64) : UINT64_MAX);
        if (left != 0) {
            return k * 64 + (uint32_t)__builtin_ctzll(left);
        }
    }
    return RULE_PAIRS;
}

static uint32_t take_rarest_pair(pair_set *set, const uint32_t wanted[RULE_PAIRS])
{
    uint32_t best = RULE_PAIRS;
    for (uint32_t pair = 0; (pair = next_pair(set, pair)) < RULE_PAIRS; pair++) {
        best = best == RULE_PAIRS || wanted[pair] < wanted[best] ? pair : best;
    }
    if (best < RULE_PAIRS) {
        set->words[best / 64] &= ~(UINT64_C(1) << (best % 64));
    }
    return best;
}

static void choose_needs(rule_memory *m)
{
    uint32_t wanted[RULE_PAIRS] = {0};
    for (size_t i = 0; i < m->n_patterns; i++) {
        pair_set set = pairs_of(m->texts.s + m->patterns[i].text);
        for (uint32_t pair = 0; (pair = next_pair(&set, pair)) < RULE_PAIRS; pair++) {
            wanted[pair]++;
        }
    }
    m->looks = mem_calloc(m->n_patterns, sizeof *m->looks);
    for (size_t i = 0; i < m->n_patterns; i++) {
        rule_pattern *p = &m->patterns[i];
        pair_set set = pairs_of(m->texts.s + p->text);
        for (unsigned k = 0; k < RULE_NEEDS; k++) {
            p->needs[k] = (uint16_t)take_rarest_pair(&set, wanted);
        }
        m->looks[i] = p->needs[0];
    }
}

static void find_runs(rule_memory *m)
{
    const rule_pattern *before = NULL;
    for (size_t i = 0; i < m->n_patterns; i++) {
        const rule_pattern *p = &m->patterns[i];
        bool says_mark = p->category == NO_ID;
        if (before && before->scope == p->scope && (before->category == NO_ID) == says_mark) {
            m->runs[m->n_runs - 1].end++;
        } else {
            VEC_PUSH(m->runs, m->n_runs, m->cap_runs, ((rule_run){(uint32_t)i, (uint32_t)i + 1, says_mark}));
        }
        before = p;
    }
}

marey_status rules_complete(rule_memory *m, rule_table *table, diag *d)
{
    cut_scopes(m);
    choose_needs(m);
    find_runs(m);
    size_t run_words = (m->n_runs + 63) / 64;
    m->open = mem_calloc(RULE_SCOPES * run_words, sizeof *m->open);
    for (size_t i = 0; i < m->n_runs; i++) {
        uint8_t scope = m->patterns[m->runs[i].first].scope;
        m->open[scope * run_words + i / 64] |= UINT64_C(1) << (i % 64);
    }
    *table = (rule_table){.texts = strbuf_str(&m->texts),
                          .patterns = m->patterns,
                          .looks = m->looks,
                          .runs = m->runs,
                          .open = m->open,
                          .parts = m->parts,
                          .categories = m->categories,
                          .n_patterns = m->n_patterns,
                          .n_runs = m->n_runs,
                          .run_words = run_words,
                          .n_parts = m->n_parts,
                          .n_categories = m->n_categories,
                          .fallback = find_category(m, "other")};
    if (table->fallback == NO_ID) {
        return diag_error(d, MAREY_FORMAT, NULL, DIAG_NO_OFFSET, "the rules have no category \"other\"");
    }
    return MAREY_OK;
}

void rules_memory_free(rule_memory *m)
{
    if (m) {
        strbuf_deinit(&m->texts);
        arena_deinit(&m->names);
        free(m->patterns);
        free(m->categories);
        free(m->parts);
        free(m->runs);
        free(m->looks);
        free(m->open);
        free(m);
    }
}
