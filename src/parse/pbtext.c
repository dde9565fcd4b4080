/* The text format of protocol buffers. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "parse/jspan.h"
#include "parse/pbencode.h"

/* A message that is open. */
typedef struct level {
    const pb_schema *schema; /* NULL: nobody reads it */
    size_t length_at;
    const pb_schema_field *list; /* of the list that is open in it */
    bool in_list;
    char end; /* '}' or '>' */
} level;

typedef struct parser {
    const char *s;
    size_t n, at;
    strbuf *out;
    strbuf text; /* of the string literal */
    level *levels;
    size_t n_levels, cap_levels;
} parser;

static bool is_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' ||
           c == '/' || c == '-' || c == '+';
}

static void skip_blanks(parser *p)
{
    while (p->at < p->n) {
        char c = p->s[p->at];
        if (c == '#') {
            const char *end = memchr(p->s + p->at, '\n', p->n - p->at);
            p->at = end ? (size_t)(end - p->s) : p->n;
        } else if (jis_blank(c) || c == ',' || c == ';' || c == '\f' || c == '\v') {
            p->at++;
        } else {
            return;
        }
    }
}

static unsigned digit_of(char c)
{
    if (c >= '0' && c <= '9') {
        return (unsigned)(c - '0');
    }
    char l = (char)(c | 0x20);
    return l >= 'a' && l <= 'f' ? (unsigned)(l - 'a' + 10) : 99;
}

/* A number of at most `max` digits. @return digits taken */
static size_t take_digits(const parser *p, size_t at, unsigned base, size_t max, uint32_t *v)
{
    size_t k = 0;
    *v = 0;
    while (k < max && at + k < p->n && digit_of(p->s[at + k]) < base) {
        *v = *v * base + digit_of(p->s[at + k]);
        k++;
    }
    return k;
}

/* Behind a backslash. @return the place behind it */
static size_t take_escape(parser *p, size_t at)
{
    static const char from[] = "abfnrtv";
    static const char to[] = "\a\b\f\n\r\t\v";
    char c = p->s[at];
    const char *known = c ? strchr(from, c) : NULL;
    uint32_t v = 0;
    if (known) {
        strbuf_add(&p->text, &to[known - from], 1);
        return at + 1;
    }
    if (c >= '0' && c <= '7') {
        size_t k = take_digits(p, at, 8, 3, &v);
        strbuf_add(&p->text, (const char[]){(char)v}, 1);
        return at + k;
    }
    if (c == 'x' || c == 'X') {
        size_t k = take_digits(p, at + 1, 16, 2, &v);
        strbuf_add(&p->text, (const char[]){(char)v}, 1);
        return at + 1 + k;
    }
    if (c == 'u' || c == 'U') {
        size_t k = take_digits(p, at + 1, 16, c == 'u' ? 4 : 8, &v);
        char utf8[4];
        strbuf_add(&p->text, utf8, utf8_put(v, utf8));
        return at + 1 + k;
    }
    strbuf_add(&p->text, &p->s[at], 1);
    return at + 1;
}

/* Literals that stand side by side are one string. @return false when the text ends within it */
static bool take_string(parser *p)
{
    strbuf_clear(&p->text);
    while (p->at < p->n && (p->s[p->at] == '"' || p->s[p->at] == '\'')) {
        char quote = p->s[p->at++];
        size_t from = p->at;
        while (p->at < p->n && p->s[p->at] != quote) {
            if (p->s[p->at] != '\\' || p->at + 1 >= p->n) {
                p->at++;
                continue;
            }
            strbuf_add(&p->text, p->s + from, p->at - from);
            p->at = take_escape(p, p->at + 1);
            from = p->at;
        }
        strbuf_add(&p->text, p->s + from, p->at - from);
        if (p->at >= p->n) {
            return false;
        }
        p->at++;
        skip_blanks(p);
    }
    return true;
}

static void open_level(parser *p, const pb_schema_field *f)
{
    bool read = f && f->message && (f->kind == PB_KIND_MESSAGE || f->kind == PB_KIND_MAP);
    level l = {.schema = read ? f->message : NULL, .end = p->s[p->at] == '{' ? '}' : '>'};
    p->at++;
    l.length_at = read ? pb_encode_open(p->out, f->number) : 0;
    VEC_PUSH(p->levels, p->n_levels, p->cap_levels, l);
}

static void close_level(parser *p)
{
    const level *l = &p->levels[--p->n_levels];
    if (l->schema && p->n_levels) {
        pb_encode_close(p->out, l->length_at);
    }
}

/* A value of the field (NULL: nobody reads it). @return false where there is none */
static bool take_value(parser *p, const pb_schema_field *f)
{
    char c = p->s[p->at];
    if (c == '{' || c == '<') {
        open_level(p, f);
        return true;
    }
    if (c == '"' || c == '\'') {
        size_t from = p->at;
        if (!take_string(p)) {
            p->at = from;
            return false;
        }
        if (f && f->kind <= PB_KIND_BYTES) {
            pb_encode_scalar(p->out, f, strbuf_str(&p->text), p->text.n);
        }
        return true;
    }
    size_t from = p->at;
    while (p->at < p->n && is_name(p->s[p->at])) {
        p->at++;
    }
    if (p->at > from && f && f->kind <= PB_KIND_BYTES) {
        pb_encode_scalar(p->out, f, p->s + from, p->at - from);
    }
    return p->at > from;
}

/* "name" or "[name.of.extension]". */
static const pb_schema_field *take_name(parser *p, const pb_schema *schema, bool *is_field)
{
    size_t from = p->at;
    if (p->s[p->at] == '[') {
        const char *end = memchr(p->s + p->at, ']', p->n - p->at);
        *is_field = end != NULL;
        p->at = end ? (size_t)(end + 1 - p->s) : p->at;
        return NULL;
    }
    while (p->at < p->n && is_name(p->s[p->at])) {
        p->at++;
    }
    *is_field = p->at > from;
    return pb_find_field(schema, p->s + from, p->at - from);
}

/* @return false where the text is not what it should be, or ends */
static bool take_field(parser *p)
{
    level *l = &p->levels[p->n_levels - 1];
    bool is_field = false;
    size_t from = p->at;
    const pb_schema_field *f = take_name(p, l->schema, &is_field);
    if (!is_field) {
        return false;
    }
    skip_blanks(p);
    if (p->at < p->n && p->s[p->at] == ':') {
        p->at++;
        skip_blanks(p);
    }
    if (p->at < p->n && p->s[p->at] == '[') {
        p->at++;
        l->in_list = true;
        l->list = f;
        return true;
    }
    bool good = p->at < p->n && take_value(p, f);
    p->at = good || p->at >= p->n ? p->at : from;
    return good;
}

static bool take_token(parser *p)
{
    level *l = &p->levels[p->n_levels - 1];
    char c = p->s[p->at];
    if (l->in_list) {
        if (c == ']') {
            p->at++;
            l->in_list = false;
            return true;
        }
        return take_value(p, l->list);
    }
    if (p->n_levels > 1 && c == l->end) {
        p->at++;
        close_level(p);
        return true;
    }
    return take_field(p);
}

pb_text_end pbtext_to_wire(const char *text, size_t n, const pb_schema *root, strbuf *out)
{
    parser p = {.s = text, .n = n, .out = out};
    pb_text_end end = {0};
    VEC_PUSH(p.levels, p.n_levels, p.cap_levels, ((level){.schema = root}));
    p.at = n >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0;
    for (bool good = true; good;) {
        skip_blanks(&p);
        if (p.at >= p.n) {
            end.is_cut = p.n_levels > 1;
            end.at = p.n;
            break;
        }
        size_t at = p.at;
        good = take_token(&p);
        if (!good) {
            skip_blanks(&p);
            end.is_cut = p.at >= p.n;
            end.is_damaged = !end.is_cut;
            end.at = at;
        }
    }
    while (p.n_levels > 0) {
        close_level(&p);
    }
    strbuf_deinit(&p.text);
    free(p.levels);
    return end;
}
