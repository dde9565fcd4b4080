#include "trace/rules.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/text.h"
#include "trace/rules_builtin.h"

enum { NAME_BYTES = 4096, MAX_SCOPES = 64, MAX_WORDS = 512, PATTERNS_FIRST = 640, RULES_BYTES = 1 << 20 };

/* A set of hashed pairs of letters. Names of kernels have hundreds of letters, which would fill a single word. */
enum { PAIR_WORDS = 8, PAIRS = PAIR_WORDS * 64 };
typedef struct pair_set {
    uint64_t words[PAIR_WORDS];
} pair_set;

/* A pattern of one rule. `need` holds the pairs that a matching name must contain: it turns most patterns away without
 * looking at the name. */
typedef struct pattern {
    const char *text; /* lower case */
    pair_set need;
    uint32_t category; /* NO_ID: sets the mark */
    uint8_t scope;
    uint8_t mark;
} pattern;

/* Patterns that follow each other, of one scope, and which all say the same kind of thing. */
typedef struct pattern_run {
    uint32_t first, end;
    uint8_t scope;
    bool says_mark;
} pattern_run;

/* One pattern on the source category, and the scopes that contain it. */
typedef struct scope_part {
    const char *text;
    size_t n;
    uint64_t scopes;
} scope_part;

struct trace_rules {
    arena mem;
    pattern *patterns;
    size_t n_patterns, cap_patterns;
    trace_category *categories;
    size_t n_categories, cap_categories;
    const char *scopes[MAX_SCOPES]; /* comma-separated patterns on the source category */
    size_t n_scopes;
    scope_part *parts;
    size_t n_parts, cap_parts;
    /* By pattern, what is looked at first: the one pair of `need` that the fewest patterns need; PAIRS: it needs none. */
    uint16_t *looks;
    pattern_run *runs; /* of all patterns */
    size_t n_runs, cap_runs;
    uint32_t fallback;
};

/* What reading one file of rules needs. */
typedef struct rules_parser {
    trace_rules *r;
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

/* Of the two letters at `s`: 0..PAIRS-1. Which pair has which number differs among processors, and does not matter. */
static uint32_t pair_at(const char *s)
{
    uint16_t both;
    memcpy(&both, s, sizeof both);
    return ((uint32_t)both * 2654435761U) >> 23;
}

/* `has`: a byte for each pair, whether the name has it. */
static bool has_pairs(const pair_set *need, const uint8_t has[PAIRS])
{
    for (uint32_t k = 0; k < PAIR_WORDS; k++) {
        for (uint64_t w = need->words[k]; w != 0; w &= w - 1) {
            if (!has[k * 64 + (uint32_t)__builtin_ctzll(w)]) {
                return false;
            }
        }
    }
    return true;
}

static void pairs_of_name(const char *s, size_t n, uint8_t has[PAIRS])
{
    size_t i = 0;
    for (; i + 4 < n; i += 4) {
        has[pair_at(s + i)] = 1;
        has[pair_at(s + i + 1)] = 1;
        has[pair_at(s + i + 2)] = 1;
        has[pair_at(s + i + 3)] = 1;
    }
    for (; i + 1 < n; i++) {
        has[pair_at(s + i)] = 1;
    }
}

static bool is_wild(char c)
{
    return c == '*' || c == '?';
}

static pair_set pairs_of_pattern(const char *s)
{
    pair_set set = {0};
    for (size_t i = 1; s[0] && s[i]; i++) {
        if (!is_wild(s[i - 1]) && !is_wild(s[i])) {
            uint32_t pair = pair_at(s + i - 1);
            set.words[pair / 64] |= UINT64_C(1) << (pair % 64);
        }
    }
    return set;
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

/* Eight letters at a time: a letter is upper case where its byte is from 'A' on, not behind 'Z', and below 0x80. */
static uint64_t lower_eight(uint64_t v)
{
    const uint64_t each = UINT64_C(0x0101010101010101);
    uint64_t low = v & (each * 0x7F);
    uint64_t from_a = low + each * (0x80 - 'A');
    uint64_t behind_z = low + each * (0x7F - 'Z');
    return v | ((from_a ^ behind_z) & ~v & (each * 0x80)) >> 2;
}

static size_t lower_copy(char *to, const char *from, size_t cap)
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

trace_scopes trace_rules_scopes(const trace_rules *r, const char *source)
{
    char src[256];
    size_t n = lower_copy(src, source, sizeof src);
    uint64_t scopes = 0;
    for (size_t i = 0; i < r->n_parts; i++) {
        const scope_part *p = &r->parts[i];
        bool is_none = p->n == 1 && *p->text == '-' && n == 0;
        if (is_none || glob(p->text, p->text + p->n, src, src + n)) {
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
static inline size_t next_look(const uint16_t *looks, size_t i, size_t end, const uint8_t has[PAIRS + 1])
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

/* The first pattern of the run that the name matches; NULL: none does. */
static const pattern *match_run(const trace_rules *r, const pattern_run *run, const char *name, size_t n,
                                const uint8_t has[PAIRS + 1])
{
    for (size_t i = run->first; (i = next_look(r->looks, i, run->end, has)) < run->end; i++) {
        const pattern *p = &r->patterns[i];
        if (has_pairs(&p->need, has) && glob(p->text, p->text + strlen(p->text), name, name + n)) {
            return p;
        }
    }
    return NULL;
}

trace_meaning trace_rules_classify_in(const trace_rules *r, const char *text, trace_scopes scopes)
{
    char name[NAME_BYTES];
    size_t n = lower_copy(name, text, sizeof name);
    uint8_t has[PAIRS + 1] = {0};
    pairs_of_name(name, n, has);
    has[PAIRS] = 1;
    trace_meaning m = {.category = NO_ID, .mark = MARK_NONE};
    for (const pattern_run *run = r->runs; run < r->runs + r->n_runs; run++) {
        bool open = run->says_mark ? m.mark == MARK_NONE : m.category == NO_ID;
        const pattern *p = open && scopes >> run->scope & 1U ? match_run(r, run, name, n, has) : NULL;
        if (p && run->says_mark) {
            m.mark = (trace_mark)p->mark;
        } else if (p) {
            m.category = p->category;
        }
    }
    m.category = m.category == NO_ID ? r->fallback : m.category;
    return m;
}

const trace_category *trace_rules_categories(const trace_rules *r, size_t *n)
{
    *n = r->n_categories;
    return r->categories;
}

/* ------------------------------------------------------------------ reading the table */

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

static uint32_t find_category(const trace_rules *r, const char *name)
{
    for (uint32_t i = 0; i < r->n_categories; i++) {
        if (is_same(r->categories[i].name, name)) {
            return i;
        }
    }
    return NO_ID;
}

static marey_status read_category(rules_parser *p)
{
    trace_rules *r = p->r;
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
    if (find_category(r, p->words[1]) != NO_ID) {
        return MAREY_OK; /* the user's own came first */
    }
    trace_category c = {arena_strndup(&r->mem, p->words[1], strlen(p->words[1])), (trace_class)klass, (trace_kind)kind};
    VEC_PUSH(r->categories, r->n_categories, r->cap_categories, c);
    return MAREY_OK;
}

static char *lower_dup(arena *a, const char *s)
{
    size_t n = strlen(s);
    char *copy = arena_alloc(a, n + 1);
    (void)lower_copy(copy, s, n);
    copy[n] = '\0';
    return copy;
}

static marey_status find_scope(rules_parser *p, const char *word, uint8_t *scope)
{
    trace_rules *r = p->r;
    char *text = lower_dup(&r->mem, word);
    size_t i = 0;
    while (i < r->n_scopes && !is_same(r->scopes[i], text)) {
        i++;
    }
    if (i == MAX_SCOPES) {
        return complain(p, "more than 64 different sources", NULL);
    }
    r->scopes[i] = text;
    r->n_scopes = i == r->n_scopes ? i + 1 : r->n_scopes;
    *scope = (uint8_t)i;
    return MAREY_OK;
}

/* words[first] are the sources, the rest patterns. */
static marey_status read_patterns(rules_parser *p, size_t first, pattern proto)
{
    if (p->n_words < first + 2) {
        return complain(p, "expected sources and at least one pattern after", p->words[first - 1]);
    }
    marey_status status = find_scope(p, p->words[first], &proto.scope);
    for (size_t i = first + 1; status == MAREY_OK && i < p->n_words; i++) {
        proto.text = lower_dup(&p->r->mem, p->words[i]);
        proto.need = pairs_of_pattern(proto.text);
        VEC_RESERVE(p->r->patterns, p->r->cap_patterns, PATTERNS_FIRST);
        VEC_PUSH(p->r->patterns, p->r->n_patterns, p->r->cap_patterns, proto);
    }
    return status;
}

static marey_status read_match(rules_parser *p)
{
    if (p->n_words < 4) {
        return complain(p, "expected: match CATEGORY SOURCES PATTERN...", NULL);
    }
    uint32_t c = find_category(p->r, p->words[1]);
    if (c == NO_ID) {
        return complain(p, "unknown category", p->words[1]);
    }
    return read_patterns(p, 2, (pattern){.category = c});
}

static marey_status read_phase(rules_parser *p)
{
    static const char *const names[] = {"", "forward", "backward", "recompute", "optimizer", "checkpoint"};
    if (p->n_words < 4) {
        return complain(p, "expected: phase PHASE SOURCES PATTERN...", NULL);
    }
    for (uint8_t i = 1; i < sizeof names / sizeof *names; i++) {
        if (strcmp(names[i], p->words[1]) == 0) {
            return read_patterns(p, 2, (pattern){.category = NO_ID, .mark = i});
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
        return read_patterns(p, 1, (pattern){.category = NO_ID, .mark = MARK_STEP});
    }
    return complain(p, "unknown word", p->words[0]);
}

/* Reads either the declarations of categories or all the rest: the categories of all files are known before any rule,
 * so that a user's rule can name a built-in category. */
static marey_status read_text(trace_rules *r, const char *where, const char *text, size_t n, bool categories, diag *d)
{
    rules_parser *p = mem_calloc(1, sizeof *p);
    *p = (rules_parser){.r = r, .where = where, .d = d};
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

static void cut_scopes(trace_rules *r)
{
    for (size_t i = 0; i < r->n_scopes; i++) {
        for (const char *text = r->scopes[i]; *text;) {
            size_t n = strcspn(text, ",");
            size_t k = 0;
            while (k < r->n_parts && (r->parts[k].n != n || memcmp(r->parts[k].text, text, n) != 0)) {
                k++;
            }
            if (k == r->n_parts) {
                VEC_PUSH(r->parts, r->n_parts, r->cap_parts, ((scope_part){text, n, 0}));
            }
            r->parts[k].scopes |= UINT64_C(1) << i;
            text += n + (text[n] == ',');
        }
    }
}

static void count_pairs(const pair_set *set, uint32_t wanted[PAIRS])
{
    for (uint32_t k = 0; k < PAIR_WORDS; k++) {
        for (uint64_t w = set->words[k]; w != 0; w &= w - 1) {
            wanted[k * 64 + (uint32_t)__builtin_ctzll(w)]++;
        }
    }
}

static uint32_t rarest_pair(const pair_set *set, const uint32_t wanted[PAIRS])
{
    uint32_t best = PAIRS;
    for (uint32_t k = 0; k < PAIR_WORDS; k++) {
        for (uint64_t w = set->words[k]; w != 0; w &= w - 1) {
            uint32_t pair = k * 64 + (uint32_t)__builtin_ctzll(w);
            best = best == PAIRS || wanted[pair] < wanted[best] ? pair : best;
        }
    }
    return best;
}

static void choose_first_looks(trace_rules *r)
{
    uint32_t wanted[PAIRS] = {0};
    for (size_t i = 0; i < r->n_patterns; i++) {
        count_pairs(&r->patterns[i].need, wanted);
    }
    r->looks = mem_calloc(r->n_patterns, sizeof *r->looks);
    for (size_t i = 0; i < r->n_patterns; i++) {
        const pattern *p = &r->patterns[i];
        bool says_mark = p->category == NO_ID;
        pattern_run *last = r->n_runs > 0 ? &r->runs[r->n_runs - 1] : NULL;
        if (last && last->scope == p->scope && last->says_mark == says_mark) {
            last->end++;
        } else {
            pattern_run run = {(uint32_t)i, (uint32_t)i + 1, p->scope, says_mark};
            VEC_PUSH(r->runs, r->n_runs, r->cap_runs, run);
        }
        r->looks[i] = (uint16_t)rarest_pair(&p->need, wanted);
    }
}

static marey_status complete(trace_rules *r, diag *d)
{
    cut_scopes(r);
    choose_first_looks(r);
    r->fallback = find_category(r, "other");
    if (r->fallback == NO_ID) {
        return diag_error(d, MAREY_FORMAT, NULL, DIAG_NO_OFFSET, "the rules have no category \"other\"");
    }
    return MAREY_OK;
}

marey_status trace_rules_create_from(trace_rules **out, const char *text, size_t n, diag *d)
{
    trace_rules *r = mem_calloc(1, sizeof *r);
    marey_status status;
    MAREY_TRY(read_text(r, "rules", text, n, true, d));
    MAREY_TRY(read_text(r, "rules", text, n, false, d));
    MAREY_TRY(complete(r, d));
    *out = r;
    return MAREY_OK;
fail:
    trace_rules_destroy(&r);
    return status;
}

marey_status trace_rules_create(trace_rules **out, const char *user_path, diag *d)
{
    static const char *const builtin = "categories.rules";
    const char *text = (const char *)rules_builtin;
    size_t size = rules_builtin_size;
    trace_rules *r = mem_calloc(1, sizeof *r);
    char *user = NULL;
    size_t n_user = 0;
    marey_status status;
    if (user_path) {
        MAREY_TRY(file_read_all(user_path, RULES_BYTES, &user, &n_user, d));
        MAREY_TRY(read_text(r, user_path, user, n_user, true, d));
    }
    MAREY_TRY(read_text(r, builtin, text, size, true, d));
    if (user) {
        MAREY_TRY(read_text(r, user_path, user, n_user, false, d));
    }
    MAREY_TRY(read_text(r, builtin, text, size, false, d));
    MAREY_TRY(complete(r, d));
    free(user);
    *out = r;
    return MAREY_OK;
fail:
    free(user);
    trace_rules_destroy(&r);
    return status;
}

void trace_rules_destroy(trace_rules **r)
{
    if (!*r) {
        return;
    }
    free((*r)->patterns);
    free((*r)->parts);
    free((*r)->looks);
    free((*r)->runs);
    free((*r)->categories);
    arena_deinit(&(*r)->mem);
    free(*r);
    *r = NULL;
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
