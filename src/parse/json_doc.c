#include "parse/json_doc.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "parse/decns.h"
#include "parse/jspan.h"
#include "parse/jtext.h"
#include "parse/source.h"

typedef struct parser {
    jdoc *d;
    const char *name;
    diag *diag;
    const char *s;
    size_t n, at;
    uint32_t open; /* innermost open container; its `next` holds its parent while it is open */
    uint32_t last; /* last child of `open` */
    const char *key;
    uint32_t key_n;
    bool has_key;
    bool comma; /* a comma since the last value */
} parser;

static void repair(parser *p, size_t at)
{
    if (!p->d->n_repairs++) {
        p->d->first_repair = at;
    }
}

static marey_status bad(parser *p, size_t at, const char *what)
{
    return diag_error(p->diag, MAREY_FORMAT, p->name, at, "The JSON is damaged: %s.", what);
}

/* The position behind the closing quote of the string whose text starts at `at`, or 0 when it does not end. */
static size_t string_end(const char *s, size_t n, size_t at)
{
    while (at < n) {
        const char *quote = memchr(s + at, '"', n - at);
        if (!quote) {
            return 0;
        }
        size_t q = (size_t)(quote - s);
        size_t b = q;
        while (b > at && s[b - 1] == '\\') {
            b--;
        }
        if ((q - b) % 2 == 0) {
            return q + 1;
        }
        at = q + 1; /* the quote is escaped, and so is nothing before it that matters */
    }
    return 0;
}

static marey_status add_node(parser *p, jdoc_kind kind, const char *s, size_t n, size_t offset)
{
    jdoc *d = p->d;
    if (d->n >= JDOC_MAX_NODES) {
        return diag_error(p->diag, MAREY_LIMIT, p->name, offset, "The JSON document has more than %d values.",
                          (int)JDOC_MAX_NODES);
    }
    uint32_t i = (uint32_t)d->n;
    jdoc_node node = {.s = s,
                      .n = (uint32_t)n,
                      .key = p->has_key ? p->key : NULL,
                      .key_n = p->has_key ? p->key_n : 0,
                      .next = JDOC_NONE,
                      .offset = offset,
                      .kind = kind};
    VEC_PUSH(d->nodes, d->n, d->cap_nodes, node);
    if (p->last != JDOC_NONE) {
        d->nodes[p->last].next = i;
    }
    if (p->open != JDOC_NONE) {
        d->nodes[p->open].n_children++;
    }
    if (!p->comma && p->last != JDOC_NONE) {
        repair(p, offset);
    }
    p->comma = false;
    p->has_key = false;
    p->last = i;
    if (kind == JDOC_ARRAY || kind == JDOC_OBJECT) {
        d->nodes[i].next = p->open;
        p->open = i;
        p->last = JDOC_NONE;
    }
    return MAREY_OK;
}

static void close_container(parser *p)
{
    uint32_t i = p->open;
    uint32_t parent = p->d->nodes[i].next;
    p->d->nodes[i].next = JDOC_NONE;
    p->open = parent;
    p->last = i;
    p->has_key = false;
    p->comma = false;
}

static bool scalar_byte(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || c == '+' ||
           c == '.';
}

static bool is_word(const char *s, size_t n, const char *const *words)
{
    for (; *words; words++) {
        if (strlen(*words) == n && memcmp(*words, s, n) == 0) {
            return true;
        }
    }
    return false;
}

static marey_status take_scalar(parser *p)
{
    static const char *const strict[] = {"true", "false", "null", NULL};
    static const char *const loose[] = {"NaN", "nan",  "Infinity", "-Infinity", "inf", "-inf",
                                        "Inf", "None", "True",     "False",     NULL};
    size_t a = p->at;
    while (p->at < p->n && scalar_byte(p->s[p->at])) {
        p->at++;
    }
    size_t n = p->at - a;
    if (p->at == p->n && p->open != JDOC_NONE) {
        p->at = a; /* it may go on behind the cut */
        p->d->truncated = true;
        return MAREY_OK;
    }
    double v = 0;
    if (n && !is_word(p->s + a, n, strict) && !decns_parse_double(p->s + a, n, &v)) {
        if (!is_word(p->s + a, n, loose)) {
            return bad(p, a, "a value is no number, string, list or object");
        }
        repair(p, a);
    }
    return n ? add_node(p, JDOC_SCALAR, p->s + a, n, a) : bad(p, a, "an unexpected byte");
}

static marey_status take_string(parser *p)
{
    size_t a = p->at + 1;
    size_t end = string_end(p->s, p->n, a);
    if (!end) {
        p->d->truncated = true;
        return MAREY_OK;
    }
    p->at = end;
    if (p->open != JDOC_NONE && p->d->nodes[p->open].kind == JDOC_OBJECT && !p->has_key) {
        p->key = p->s + a;
        p->key_n = (uint32_t)(end - 1 - a);
        p->has_key = true;
        while (p->at < p->n && jis_blank(p->s[p->at])) {
            p->at++;
        }
        if (p->at < p->n && p->s[p->at] != ':') {
            return bad(p, p->at, "a name without a colon behind it");
        }
        p->at += p->at < p->n;
        return MAREY_OK;
    }
    return add_node(p, JDOC_STRING, p->s + a, end - 1 - a, a - 1);
}

static marey_status take_close(parser *p, char c)
{
    jdoc_kind kind = c == ']' ? JDOC_ARRAY : JDOC_OBJECT;
    if (p->open == JDOC_NONE || p->d->nodes[p->open].kind != kind) {
        return bad(p, p->at, "a closing bracket that closes nothing");
    }
    if (p->has_key) {
        return bad(p, p->at, "a name without a value");
    }
    if (p->comma) {
        repair(p, p->at);
    }
    close_container(p);
    p->at++;
    return MAREY_OK;
}

static marey_status take_token(parser *p)
{
    char c = p->s[p->at];
    if (c == ',') {
        if (p->comma || p->last == JDOC_NONE || p->has_key) {
            repair(p, p->at);
        }
        p->comma = true;
        p->at++;
        return MAREY_OK;
    }
    if (c == '"') {
        return take_string(p);
    }
    if (c == ']' || c == '}') {
        return take_close(p, c);
    }
    bool wants_key = p->open != JDOC_NONE && p->d->nodes[p->open].kind == JDOC_OBJECT && !p->has_key;
    if (wants_key) {
        return bad(p, p->at, "a name is missing");
    }
    if (c == '[' || c == '{') {
        marey_status status = add_node(p, c == '[' ? JDOC_ARRAY : JDOC_OBJECT, NULL, 0, p->at);
        p->at++;
        return status;
    }
    return take_scalar(p);
}

static void skip_blanks(parser *p)
{
    while (p->at < p->n && (jis_blank(p->s[p->at]) || p->s[p->at] == 0)) {
        p->at++;
    }
}

static marey_status parse_document(parser *p)
{
    if (p->n >= 3 && memcmp(p->s, "\xEF\xBB\xBF", 3) == 0) {
        p->at = 3;
    }
    skip_blanks(p);
    if (p->at == p->n) {
        return bad(p, 0, "it is empty");
    }
    do {
        marey_status status = take_token(p);
        if (status != MAREY_OK) {
            return status;
        }
        skip_blanks(p);
    } while (p->at < p->n && !p->d->truncated && (p->open != JDOC_NONE || p->d->n == 0));
    if (p->open != JDOC_NONE || p->d->truncated) {
        p->d->truncated = true;
        p->d->truncated_at = p->at;
        while (p->open != JDOC_NONE) {
            close_container(p);
        }
    } else if (p->at < p->n) {
        repair(p, p->at);
    }
    return p->d->n ? MAREY_OK : bad(p, 0, "it ends within its first value");
}

marey_status jdoc_parse(const char *text, size_t size, const char *name, diag *d, jdoc **out)
{
    *out = NULL;
    if (size > JDOC_MAX_BYTES) {
        return diag_error(d, MAREY_LIMIT, name, DIAG_NO_OFFSET, "The JSON document is larger than %d MiB.",
                          (int)(JDOC_MAX_BYTES >> 20));
    }
    jdoc *doc = mem_calloc(1, sizeof *doc);
    parser p = {.d = doc, .name = name, .diag = d, .s = text, .n = size, .open = JDOC_NONE, .last = JDOC_NONE};
    marey_status status = parse_document(&p);
    if (status != MAREY_OK) {
        jdoc_destroy(&doc);
    }
    *out = doc;
    return status;
}

static marey_status read_text(source *src, const char *path, diag *d, char **text, size_t *size)
{
    size_t cap = 0;
    size_t n = 0;
    char *buf = NULL;
    for (;;) {
        if (n == cap) {
            cap = cap ? cap * 2 : 65536;
            char *more = n > JDOC_MAX_BYTES ? NULL : mem_try_realloc_array(buf, cap, 1);
            if (!more) {
                free(buf);
                return diag_error(d, MAREY_LIMIT, path, DIAG_NO_OFFSET, "The JSON document is larger than %d MiB.",
                                  (int)(JDOC_MAX_BYTES >> 20));
            }
            buf = more;
        }
        size_t got = source_read(src, buf + n, cap - n);
        if (!got) {
            break;
        }
        n += got;
    }
    *text = buf;
    *size = n;
    marey_status status = source_status(src);
    if (status != MAREY_OK) {
        free(buf);
    }
    return status;
}

marey_status jdoc_read(const char *path, diag *d, uint32_t file, jdoc **out)
{
    *out = NULL;
    source *src = NULL;
    source_options options = {.diag = d, .file = file};
    char *text = NULL;
    size_t size = 0;
    marey_status status = source_open(path, &options, &src);
    if (status == MAREY_OK) {
        status = read_text(src, path, d, &text, &size);
    }
    source_close(&src);
    if (status == MAREY_OK) {
        status = jdoc_parse(text, size, path, d, out);
        if (status != MAREY_OK) {
            free(text);
        }
    }
    if (status == MAREY_OK) {
        (*out)->text = text;
        (*out)->size = size;
        if ((*out)->truncated && d) {
            diag_lose(d, MAREY_LOSS_TRUNCATED, file, (*out)->truncated_at, 1, NULL);
        }
    }
    return status;
}

void jdoc_destroy(jdoc **d)
{
    if (*d) {
        free((*d)->text);
        free((*d)->nodes);
        free(*d);
        *d = NULL;
    }
}

static bool same(const char *s, size_t n, const char *text)
{
    return s && strlen(text) == n && memcmp(s, text, n) == 0;
}

bool jdoc_key_is(const jdoc *d, uint32_t i, const char *key)
{
    return i != JDOC_NONE && same(d->nodes[i].key, d->nodes[i].key_n, key);
}

bool jdoc_text_is(const jdoc *d, uint32_t i, const char *text)
{
    return i != JDOC_NONE && same(d->nodes[i].s, d->nodes[i].n, text);
}

uint32_t jdoc_member(const jdoc *d, uint32_t i, const char *key)
{
    uint32_t found = JDOC_NONE;
    for (uint32_t c = jdoc_first(d, i); c != JDOC_NONE; c = d->nodes[c].next) {
        if (jdoc_key_is(d, c, key)) {
            found = c;
        }
    }
    return found;
}

uint32_t jdoc_at(const jdoc *d, uint32_t i, size_t k)
{
    uint32_t c = jdoc_first(d, i);
    for (; c != JDOC_NONE && k; k--) {
        c = d->nodes[c].next;
    }
    return c;
}

static const char *decode(const char *s, size_t n, strbuf *out)
{
    jtext_counts counts = {0, 0};
    strbuf_clear(out);
    if (s) {
        jtext_decode(s, n, out, &counts);
    }
    return strbuf_str(out);
}

const char *jdoc_text(const jdoc *d, uint32_t i, strbuf *out)
{
    return i == JDOC_NONE ? decode(NULL, 0, out) : decode(d->nodes[i].s, d->nodes[i].n, out);
}

const char *jdoc_key(const jdoc *d, uint32_t i, strbuf *out)
{
    return i == JDOC_NONE ? decode(NULL, 0, out) : decode(d->nodes[i].key, d->nodes[i].key_n, out);
}

static bool is_value(const jdoc *d, uint32_t i)
{
    return i != JDOC_NONE && d->nodes[i].s;
}

bool jdoc_double(const jdoc *d, uint32_t i, double *v)
{
    return is_value(d, i) && decns_parse_double(d->nodes[i].s, d->nodes[i].n, v);
}

bool jdoc_i64(const jdoc *d, uint32_t i, int64_t *v)
{
    return is_value(d, i) && decns_parse_i64(d->nodes[i].s, d->nodes[i].n, v);
}

bool jdoc_us(const jdoc *d, uint32_t i, int64_t *ns)
{
    return is_value(d, i) && decns_parse_us(d->nodes[i].s, d->nodes[i].n, ns) == DECNS_OK;
}
