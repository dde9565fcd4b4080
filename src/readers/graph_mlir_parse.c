#include "readers/graph_mlir.h"

#include <stdlib.h>

enum { RESULTS_MAX = 4096, ALL_RESULTS_MAX = 1 << 20, LITERAL_BYTES = 64, TEXT_BYTES = 256, PAIR_PIECES = 1024 };

typedef struct mlir_frame {
    char kind;       /* '(', '[' or '{': a region */
    uint32_t op;     /* whose tail goes on when it closes */
    uint32_t region; /* around that */
} mlir_frame;

typedef struct mlir_parser {
    const graph_input *in;
    mlir_text *t;
    const char *start, *p, *end;
    mlir_frame *stack;
    size_t depth, cap_stack;
    uint32_t op;            /* whose tail is being read; GRAPH_NONE: between operations */
    uint32_t region;        /* GRAPH_NONE at the top */
    const char *types_from; /* of op; NULL: not seen */
    gspan word;             /* last bare word of the tail */
    strbuf words;           /* all of them, outside brackets */
    uint64_t n_extra_results;
    uint64_t bytes_left; /* that brackets without an end may still cost */
} mlir_parser;

void mlir_text_deinit(mlir_text *t)
{
    free(t->ops);
    free(t->results);
    free(t->uses);
    free(t->attrs);
    free(t->args);
    free(t->regions);
    free(t->alias);
    intern_deinit(&t->aliases);
    arena_deinit(&t->mem);
    *t = (mlir_text){0};
}

/* ---- pieces ---- */

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' ||
           c == '$' || (c & 0x80);
}

static const char *word_end(const char *p, const char *end)
{
    while (p < end && (is_word(*p) || (*p == '-' && p + 1 < end && is_word(p[1])))) {
        p++;
    }
    return p;
}

static const char *skip_blanks(const char *p, const char *end)
{
    while (p < end && (*p == ' ' || *p == '\t' || *p == '\r')) {
        p++;
    }
    return p;
}

static const char *skip_space(const char *p, const char *end)
{
    while (p < end) {
        if (*p == '/' && p + 1 < end && p[1] == '/') {
            const char *q = memchr(p, '\n', (size_t)(end - p));
            p = q ? q : end;
        } else if (*p == ' ' || *p == '\t' || *p == '\r' || *p == '\n') {
            p++;
        } else {
            break;
        }
    }
    return p;
}

static const char *next_line(const char *p, const char *end)
{
    const char *q = p < end ? memchr(p, '\n', (size_t)(end - p)) : NULL;
    return q ? q : end;
}

static void lose(mlir_parser *m, marey_loss loss, const char *at)
{
    diag_lose(m->in->diag, loss, m->in->file, (uint64_t)(at - m->start), 1, NULL);
}

/* Behind the bracket at `q`; where it never closes, the line's end. */
static const char *skip_bracket(mlir_parser *m, const char *q)
{
    const char *e = m->bytes_left ? text_skip_balanced(q, m->end, true) : m->end;
    char close = *q == '<' ? '>' : *q == '(' ? ')' : *q == '[' ? ']' : '}';
    if (e < m->end || (e > q + 1 && e[-1] == close)) {
        return e;
    }
    m->bytes_left -= m->bytes_left < (uint64_t)(e - q) ? m->bytes_left : (uint64_t)(e - q);
    e = next_line(q, m->end);
    lose(m, e == m->end ? MAREY_LOSS_TRUNCATED : MAREY_LOSS_DAMAGED, q);
    return e > q ? e : q + 1;
}

/* ---- attributes ---- */

bool mlir_next_entry(const char **p, const char *end, gspan *key, gspan *value)
{
    while (*p < end && (**p == ',' || **p == '{' || **p == '}' || **p == ' ' || **p == '\n' || **p == '\r')) {
        (*p)++;
    }
    const char *from = *p;
    const char *q = from < end && *from == '"' ? text_skip_string(from, end) : word_end(from, end);
    if (q == from) {
        return false;
    }
    *key = *from == '"' && q > from + 1 ? (gspan){from + 1, (size_t)(q - from) - 2} : (gspan){from, (size_t)(q - from)};
    *value = (gspan){q, 0};
    q = skip_blanks(q, end);
    if (q < end && *q == '=') {
        const char *v = ++q;
        while (q < end && *q != ',' && *q != '}') {
            q = *q == '"'                                          ? text_skip_string(q, end)
                : *q == '(' || *q == '[' || *q == '{' || *q == '<' ? text_skip_balanced(q, end, true)
                                                                   : q + 1;
        }
        *value = gspan_trim((gspan){v, (size_t)(q - v)});
    }
    *p = q;
    return true;
}

static void add_attr(mlir_parser *m, gspan key, gspan value)
{
    mlir_text *t = m->t;
    mlir_op *o = &t->ops[m->op];
    uint32_t at = (uint32_t)t->n_attrs;
    VEC_PUSH(t->attrs, t->n_attrs, t->cap_attrs, ((mlir_attr){key, value, GRAPH_NONE}));
    if (o->n_attrs++) {
        t->attrs[o->last_attr].next = at;
    } else {
        o->first_attr = at;
    }
    o->last_attr = at;
}

static void add_symbol(mlir_parser *m, gspan value);

static void add_dict(mlir_parser *m, gspan dict)
{
    const char *p = dict.s;
    gspan key;
    gspan value;
    while (mlir_next_entry(&p, dict.s + dict.n, &key, &value)) {
        add_attr(m, key, value);
        if (value.n > 1 && value.s[0] == '@') {
            add_symbol(m, (gspan){value.s + 1, value.n - 1});
        }
    }
}

static void add_word(mlir_parser *m, gspan word)
{
    m->word = word;
    if (m->words.n < TEXT_BYTES) {
        strbuf_puts(&m->words, m->words.n ? " " : "");
        if (word.n <= LITERAL_BYTES) {
            strbuf_add(&m->words, word.s, word.n);
        } else {
            strbuf_add(&m->words, word.s, 16);
            strbuf_printf(&m->words, "... %zu bytes", word.n);
        }
    }
}

static void add_symbol(mlir_parser *m, gspan value)
{
    mlir_op *o = &m->t->ops[m->op];
    if (value.n >= 2 && value.s[0] == '"' && value.s[value.n - 1] == '"') {
        value = (gspan){value.s + 1, value.n - 2};
    }
    o->symbol = o->symbol.n ? o->symbol : value;
}

/* ---- values ---- */

/* "%name" or "%name#1" */
static gspan value_name(const char *p, const char *end)
{
    const char *q = p + 1;
    while (q < end && (is_word(*q) || *q == '-' || *q == '#')) {
        q++;
    }
    return (gspan){p, (size_t)(q - p)};
}

static void add_use(mlir_parser *m, gspan name)
{
    mlir_text *t = m->t;
    mlir_op *o = &t->ops[m->op];
    uint32_t at = (uint32_t)t->n_uses;
    VEC_PUSH(t->uses, t->n_uses, t->cap_uses, ((mlir_use){name, GRAPH_NONE}));
    if (o->n_uses++) {
        t->uses[o->last_use].next = at;
    } else {
        o->first_use = at;
    }
    o->last_use = at;
}

static void add_arg(mlir_parser *m, mlir_arg a)
{
    mlir_text *t = m->t;
    uint32_t at = (uint32_t)t->n_args;
    uint32_t *first = a.of_block ? &t->regions[m->region].first_arg : &t->ops[m->op].first_arg;
    uint32_t *last = a.of_block ? &t->regions[m->region].last_arg : &t->ops[m->op].last_arg;
    a.next = GRAPH_NONE;
    VEC_PUSH(t->args, t->n_args, t->cap_args, a);
    if (*first == GRAPH_NONE) {
        *first = at;
    } else {
        t->args[*last].next = at;
    }
    *last = at;
}

/* A type ends at a comma, a bracket that closes, an attribute dictionary, a location or an equals sign. */
static gspan take_type(mlir_parser *m, const char **p)
{
    const char *from = skip_blanks(*p, m->end);
    const char *q = from;
    while (q < m->end && *q != ',' && *q != ')' && *q != '{' && *q != '\n' && *q != '}' && *q != ']') {
        if (*q == '<' || *q == '(' || *q == '[') {
            q = skip_bracket(m, q);
        } else if (*q == ' ' && m->end - q > 4 && memcmp(q, " loc(", 5) == 0) {
            break;
        } else {
            q++;
        }
    }
    *p = q;
    return gspan_trim((gspan){from, (size_t)(q - from)});
}

/* ": type {attributes} loc(...)" behind an argument's name. */
static const char *take_arg_rest(mlir_parser *m, const char *p, mlir_arg *a)
{
    a->type = take_type(m, &p);
    for (;;) {
        const char *q = skip_space(p, m->end);
        if (q < m->end && *q == '{') {
            p = skip_bracket(m, q);
            a->dict = (gspan){q, (size_t)(p - q)};
        } else if (m->end - q > 4 && memcmp(q, "loc(", 4) == 0) {
            p = skip_bracket(m, q + 3);
            a->loc = (gspan){q, (size_t)(p - q)};
        } else {
            return p;
        }
    }
}

/* A value in an operation's tail: an argument of its regions, or an operand. @return behind it */
static const char *take_value(mlir_parser *m, const char *p)
{
    gspan name = value_name(p, m->end);
    const char *q = p + name.n;
    const char *eq = skip_blanks(q, m->end);
    mlir_arg a = {.name = name, .offset = (uint64_t)(p - m->start)};
    bool in_paren = m->depth && m->stack[m->depth - 1].kind == '(' && m->stack[m->depth - 1].op == m->op;
    if (in_paren && q < m->end && *q == ':') {
        q = take_arg_rest(m, q + 1, &a);
        add_arg(m, a);
    } else if (eq + 1 < m->end && *eq == '=' && eq[1] != '=') {
        eq = skip_blanks(eq + 1, m->end);
        if (eq < m->end && *eq == '%') {
            a.init = value_name(eq, m->end);
            add_use(m, a.init);
            eq += a.init.n;
        }
        add_arg(m, a);
        q = eq;
    } else if (name.n > 1) {
        add_use(m, name);
    }
    return q > p ? q : p + 1;
}

/* ---- regions ---- */

/* Does the brace at p open a region, or attributes? */
static bool opens_region(const char *p, const char *end)
{
    bool line = false;
    const char *q = skip_space(p + 1, end);
    line = memchr(p, '\n', (size_t)(q - p)) != NULL;
    if (q >= end || *q == '%' || *q == '^' || *q == '#' || *q == '!') {
        return true;
    }
    if (*q == '}') {
        return line;
    }
    const char *w = *q == '"' ? text_skip_string(q, end) : word_end(q, end);
    gspan word = {q, (size_t)(w - q)};
    const char *after = skip_blanks(w, end);
    if (word.n == 0 || after >= end) {
        return true;
    }
    if (*after == '=' || *after == ',' || *after == '}') {
        return gspan_is(word, "return") || (line && *after == '}' && memchr(word.s, '.', word.n));
    }
    return true;
}

static void push_frame(mlir_parser *m, char kind)
{
    VEC_RESERVE(m->stack, m->cap_stack, m->depth + 1);
    m->stack[m->depth++] = (mlir_frame){kind, m->op, m->region};
}

static void end_types(mlir_parser *m, const char *at)
{
    if (m->types_from && m->op != GRAPH_NONE) {
        m->t->ops[m->op].types = gspan_trim((gspan){m->types_from, (size_t)(at - m->types_from)});
    }
    m->types_from = NULL;
}

static void end_op(mlir_parser *m, const char *at)
{
    end_types(m, at);
    if (m->op != GRAPH_NONE && m->words.n) {
        add_attr(m, gspan_of("text"), (gspan){arena_strndup(&m->t->mem, m->words.s, m->words.n), m->words.n});
    }
    strbuf_clear(&m->words);
    m->word = (gspan){NULL, 0};
    m->op = GRAPH_NONE;
}

static void open_region(mlir_parser *m, const char *at)
{
    mlir_text *t = m->t;
    end_types(m, at);
    gspan label = m->word;
    uint32_t owner = m->op;
    push_frame(m, '{');
    if (m->region != GRAPH_NONE) {
        t->regions[m->region].nests = true;
    }
    t->ops[owner].n_regions++;
    m->region = (uint32_t)t->n_regions;
    VEC_PUSH(t->regions, t->n_regions, t->cap_regions,
             ((mlir_region){.owner = owner, .last_op = GRAPH_NONE, .first_arg = GRAPH_NONE, .label = label}));
    end_op(m, at);
}

/* A brace closes: what is still open inside is damaged. */
static void close_region(mlir_parser *m, const char *at)
{
    end_op(m, at);
    while (m->depth && m->stack[m->depth - 1].kind != '{') {
        lose(m, MAREY_LOSS_DAMAGED, at);
        m->depth--;
    }
    if (m->depth == 0) {
        lose(m, MAREY_LOSS_DAMAGED, at);
        return;
    }
    m->depth--;
    m->op = m->stack[m->depth].op;
    m->region = m->stack[m->depth].region;
}

/* ---- the tail of an operation ---- */

static bool in_brackets(const mlir_parser *m)
{
    return m->depth && m->stack[m->depth - 1].kind != '{';
}

/* Does the operation go on behind this line's end? */
static bool goes_on(const char *p, const char *end)
{
    static const char *const words[] = {"cond", "do",   "else",      "reducer", "attributes", "then",
                                        "loc",  "step", "iter_args", "across",  "init",       "applies"};
    p = skip_space(p, end);
    if (p >= end || memchr("{(,:-<[)]>", *p, 10)) {
        return p < end && !(*p == '-' && (p + 1 >= end || p[1] != '>')) && !(*p == '{' && p + 1 < end && p[1] == '-');
    }
    const char *w = word_end(p, end);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (gspan_is((gspan){p, (size_t)(w - p)}, words[i])) {
            return true;
        }
    }
    return false;
}

/* "key = value" outside braces ("dims = [0, 1] x [2]"). @return behind it, or `p` when it is none */
static const char *take_pair(mlir_parser *m, gspan key, const char *p)
{
    const char *from = skip_blanks(p + 1, m->end);
    const char *q = from;
    for (unsigned pieces = 0; q < m->end && *q != ',' && *q != '\n' && *q != '{' && *q != ')'; pieces++) {
        if (*q == '%' || pieces == PAIR_PIECES) {
            return p;
        }
        const char *w = *q == ' ' ? word_end(q + 1, m->end) : q;
        if (w > q + 1 && w < m->end && *w == '=') {
            break;
        }
        if ((*q == ':' && q[-1] == ' ') || (*q == 'l' && q[-1] == ' ' && m->end - q > 4 && memcmp(q, "loc(", 4) == 0)) {
            break;
        }
        q = *q == '"' ? text_skip_string(q, m->end) : *q == '<' || *q == '[' || *q == '(' ? skip_bracket(m, q) : q + 1;
    }
    add_attr(m, key, gspan_trim((gspan){from, (size_t)(q - from)}));
    return q;
}

static const char *take_word(mlir_parser *m, const char *p)
{
    const char *q = word_end(p, m->end);
    gspan word = {p, (size_t)(q - p)};
    if (gspan_is(word, "loc") && q < m->end && *q == '(') {
        const char *e = skip_bracket(m, q);
        if (!in_brackets(m)) {
            end_types(m, p);
            m->t->ops[m->op].loc = (gspan){p, (size_t)(e - p)};
        }
        return e;
    }
    if (m->types_from || in_brackets(m)) {
        return q;
    }
    const char *eq = skip_blanks(q, m->end);
    if (eq + 1 < m->end && *eq == '=' && eq[1] != '=') {
        const char *e = take_pair(m, word, eq);
        return e > eq ? e : eq + 1;
    }
    if (q < m->end && *q == '<') {
        const char *e = skip_bracket(m, q);
        word.n = (size_t)(e - p);
        q = e;
    }
    add_word(m, word);
    return q;
}

static const char *take_brace(mlir_parser *m, const char *p)
{
    if (opens_region(p, m->end)) {
        open_region(m, p);
        return p + 1;
    }
    end_types(m, p);
    const char *e = skip_bracket(m, p);
    add_dict(m, (gspan){p, (size_t)(e - p)});
    return e;
}

static const char *take_close(mlir_parser *m, const char *p)
{
    char open = *p == ')' ? '(' : '[';
    if (m->depth && m->stack[m->depth - 1].kind == open) {
        m->depth--;
    } else {
        lose(m, MAREY_LOSS_DAMAGED, p);
    }
    return p + 1;
}

static const char *take_angle(mlir_parser *m, const char *p)
{
    const char *e = skip_bracket(m, p);
    if (p + 1 < m->end && p[1] == '{') {
        add_dict(m, (gspan){p + 1, (size_t)(e - p) - 1});
    }
    return e;
}

static const char *take_mark(mlir_parser *m, const char *p)
{
    bool outside = !in_brackets(m);
    if (*p == ':') {
        if (outside && !m->types_from) {
            m->types_from = p + 1;
        }
        return p + 1;
    }
    if (*p == '-' && p + 1 < m->end && p[1] == '>') {
        m->types_from = outside ? p + 2 : m->types_from;
        return p + 2;
    }
    if (*p == '@') {
        const char *q = p + 1 < m->end && p[1] == '"' ? text_skip_string(p + 1, m->end) : word_end(p + 1, m->end);
        add_symbol(m, (gspan){p + 1, (size_t)(q - p) - 1});
        return q;
    }
    return p + 1;
}

static const char *tail_step(mlir_parser *m, const char *p)
{
    switch (*p) {
    case '\n':
        if (!in_brackets(m) && !goes_on(p, m->end)) {
            end_op(m, p);
        } else if (!in_brackets(m)) {
            end_types(m, p);
        }
        return p + 1;
    case '"':
        return text_skip_string(p, m->end);
    case '%':
        return take_value(m, p);
    case '(':
    case '[':
        if (m->types_from && !in_brackets(m)) {
            return skip_bracket(m, p);
        }
        push_frame(m, *p);
        return p + 1;
    case ')':
    case ']':
        return take_close(m, p);
    case '{':
        return take_brace(m, p);
    case '}':
        close_region(m, p);
        return p + 1;
    case '<':
        return take_angle(m, p);
    case '/':
        if (p + 1 < m->end && p[1] == '/') {
            end_types(m, p);
            return next_line(p, m->end);
        }
        return p + 1;
    default:
        return is_word(*p) ? take_word(m, p) : take_mark(m, p);
    }
}

/* ---- between operations ---- */

static const char *take_alias(mlir_parser *m, const char *p)
{
    const char *q = word_end(p + 1, m->end);
    gspan name = {p, (size_t)(q - p)};
    const char *v = skip_blanks(q, m->end);
    const char *e = next_line(p, m->end);
    if (v >= m->end || *v != '=') {
        return e;
    }
    v = skip_blanks(v + 1, m->end);
    for (q = v; q < m->end && *q != '\n';) {
        q = *q == '"'                                          ? text_skip_string(q, m->end)
            : *q == '(' || *q == '<' || *q == '[' || *q == '{' ? skip_bracket(m, q)
                                                               : q + 1;
    }
    if (m->end - v > 4 && memcmp(v, "loc(", 4) == 0) {
        mlir_text *t = m->t;
        uint32_t id = intern_put(&t->aliases, name.s, name.n);
        while (t->n_alias <= id) {
            VEC_PUSH(t->alias, t->n_alias, t->cap_alias, ((gspan){NULL, 0}));
        }
        t->alias[id] = (gspan){v, (size_t)(q - v)};
    }
    return q;
}

/* "^bb0(%a: i32, %b: f32):" */
static const char *take_block(mlir_parser *m, const char *p)
{
    const char *q = word_end(p + 1, m->end);
    if (q >= m->end || *q != '(' || m->region == GRAPH_NONE) {
        return next_line(p, m->end);
    }
    for (q++; q < m->end && *q != ')' && *q != '}';) {
        if (*q != '%') {
            q++;
            continue;
        }
        mlir_arg a = {.name = value_name(q, m->end), .offset = (uint64_t)(q - m->start), .of_block = true};
        const char *from = q;
        q = skip_blanks(q + a.name.n, m->end);
        q = q < m->end && *q == ':' ? take_arg_rest(m, q + 1, &a) : q;
        add_arg(m, a);
        q = q > from ? q : from + 1;
    }
    q += q < m->end && *q == ')';
    q = skip_blanks(q, m->end);
    return q + (q < m->end && *q == ':');
}

static void begin_op(mlir_parser *m, gspan name, const char *at, uint32_t first_result)
{
    mlir_text *t = m->t;
    m->op = (uint32_t)t->n_ops;
    if (m->region != GRAPH_NONE) {
        t->regions[m->region].n_ops++;
        t->regions[m->region].last_op = m->op;
    }
    VEC_PUSH(t->ops, t->n_ops, t->cap_ops,
             ((mlir_op){.name = name,
                        .offset = (uint64_t)(at - m->start),
                        .region = m->region,
                        .first_result = first_result,
                        .n_results = (uint32_t)t->n_results - first_result,
                        .first_attr = GRAPH_NONE,
                        .first_use = GRAPH_NONE,
                        .first_arg = GRAPH_NONE}));
}

/* "%0:2, %1 =". @return behind the sign; NULL when there is none */
static const char *take_results(mlir_parser *m, const char *p)
{
    while (p < m->end && *p == '%') {
        mlir_result r = {value_name(p, m->end), 1};
        p += r.name.n;
        if (p < m->end && *p == ':') {
            const char *q = word_end(p + 1, m->end);
            uint64_t n = 0;
            r.count = !gspan_u64((gspan){p + 1, (size_t)(q - p) - 1}, &n) ? 1
                      : n > RESULTS_MAX                                   ? RESULTS_MAX
                                                                          : (uint32_t)n;
            p = q;
        }
        m->n_extra_results += r.count - 1;
        if (m->n_extra_results > ALL_RESULTS_MAX) {
            lose(m, MAREY_LOSS_LIMIT, p);
            m->n_extra_results -= r.count - 1;
            r.count = 1;
        }
        VEC_PUSH(m->t->results, m->t->n_results, m->t->cap_results, r);
        p = skip_space(p, m->end);
        if (p < m->end && *p == ',') {
            p = skip_space(p + 1, m->end);
        }
    }
    return p < m->end && *p == '=' ? skip_space(p + 1, m->end) : NULL;
}

static bool is_op_name(const mlir_parser *m, gspan name)
{
    if (name.n == 0 || (name.s[0] >= '0' && name.s[0] <= '9')) {
        return false;
    }
    return m->region != GRAPH_NONE || memchr(name.s, '.', name.n) || gspan_is(name, "module") || gspan_is(name, "func");
}

static const char *take_op(mlir_parser *m, const char *p)
{
    const char *from = p;
    uint32_t first = (uint32_t)m->t->n_results;
    p = *p == '%' ? take_results(m, p) : p;
    gspan name = {NULL, 0};
    const char *q = p;
    if (p && p < m->end && *p == '"') {
        q = text_skip_string(p, m->end);
        name = q > p + 1 ? (gspan){p + 1, (size_t)(q - p) - 2} : name;
    } else if (p) {
        q = word_end(p, m->end);
        name = (gspan){p, (size_t)(q - p)};
    }
    if (!p || !is_op_name(m, name)) {
        m->t->n_results = first;
        bool around = m->region == GRAPH_NONE && (*from == '-' || *from == '=');
        if (!around) {
            lose(m, MAREY_LOSS_DAMAGED, from);
        }
        return next_line(from, m->end);
    }
    begin_op(m, name, from, first);
    return q;
}

/* "{-# dialect_resources: ... #-}" behind the module: weights. */
static const char *take_resources(mlir_parser *m, const char *p)
{
    bool opens = m->end - p > 2 && p[1] == '-' && p[2] == '#';
    const char *close = opens ? memmem(p, (size_t)(m->end - p), "#-}", 3) : NULL;
    if (!close) {
        lose(m, opens ? MAREY_LOSS_TRUNCATED : MAREY_LOSS_DAMAGED, p);
        return opens ? m->end : next_line(p, m->end);
    }
    return close + 3;
}

static const char *between_step(mlir_parser *m, const char *p)
{
    p = skip_space(p, m->end);
    if (p >= m->end) {
        return p;
    }
    switch (*p) {
    case '}':
        close_region(m, p);
        return p + 1;
    case '#':
        return take_alias(m, p);
    case '!':
        return next_line(p, m->end);
    case '^':
        return take_block(m, p);
    case '{':
        return take_resources(m, p);
    default:
        return take_op(m, p);
    }
}

marey_status mlir_parse(const graph_input *in, mlir_text *t)
{
    mlir_parser m = {.in = in,
                     .t = t,
                     .start = (const char *)in->data,
                     .op = GRAPH_NONE,
                     .region = GRAPH_NONE,
                     .bytes_left = 16 * (uint64_t)in->size};
    m.end = m.start + in->size;
    uint64_t steps = 0;
    bool cancelled = false;
    for (const char *p = m.start; p < m.end && !cancelled;) {
        p = m.op == GRAPH_NONE ? between_step(&m, p) : tail_step(&m, p);
        cancelled = (++steps & 4095) == 0 && is_cancelled(in->cancel);
    }
    end_op(&m, m.end);
    if (m.depth && !cancelled) {
        lose(&m, MAREY_LOSS_TRUNCATED, m.end);
    }
    free(m.stack);
    strbuf_deinit(&m.words);
    return cancelled ? MAREY_CANCELLED : MAREY_OK;
}
