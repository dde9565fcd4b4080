#include "parse/pbencode.h"

#include <math.h>
#include <string.h>

#include "parse/decns.h"

enum { LENGTH_BYTES = 5 };

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
}

static bool same_name(const char *s, size_t n, const char *name)
{
    size_t i = 0;
    for (;; i++, name++) {
        while (i < n && s[i] == '_') {
            i++;
        }
        while (*name == '_') {
            name++;
        }
        if (i == n || !*name) {
            return i == n && !*name;
        }
        if (lower(s[i]) != lower(*name)) {
            return false;
        }
    }
}

const pb_schema_field *pb_find_field(const pb_schema *schema, const char *name, size_t n)
{
    for (const pb_schema_field *f = schema ? schema->fields : NULL; f && f->name; f++) {
        if (same_name(name, n, f->name)) {
            return f;
        }
    }
    return NULL;
}

static void put_varint(strbuf *out, uint64_t v)
{
    char bytes[10];
    size_t n = 0;
    do {
        bytes[n++] = (char)((v & 0x7F) | (v > 0x7F ? 0x80 : 0));
        v >>= 7;
    } while (v);
    strbuf_add(out, bytes, n);
}

size_t pb_encode_open(strbuf *out, uint32_t number)
{
    put_varint(out, (uint64_t)number << 3 | 2);
    size_t at = out->n;
    strbuf_add(out, "\0\0\0\0\0", LENGTH_BYTES);
    return at;
}

void pb_encode_close(strbuf *out, size_t length_at)
{
    uint64_t n = out->n - length_at - LENGTH_BYTES;
    for (unsigned i = 0; i < LENGTH_BYTES; i++) {
        out->s[length_at + i] = (char)((n >> (7 * i) & 0x7F) | (i + 1 < LENGTH_BYTES ? 0x80 : 0));
    }
}

void pb_encode_bytes(strbuf *out, uint32_t number, const char *s, size_t n)
{
    put_varint(out, (uint64_t)number << 3 | 2);
    put_varint(out, n);
    if (n) {
        strbuf_add(out, s, n);
    }
}

static bool named_value(const pb_name *names, const char *s, size_t n, int64_t *v)
{
    for (; names && names->name; names++) {
        if (same_name(s, n, names->name)) {
            *v = names->value;
            return true;
        }
    }
    return false;
}

static bool is_word(const char *s, size_t n, const char *word)
{
    return same_name(s, n, word);
}

static void put_fixed(strbuf *out, uint32_t number, unsigned wire, const void *v, size_t n)
{
    put_varint(out, (uint64_t)number << 3 | wire);
    strbuf_add(out, v, n);
}

static double real_of(const char *s, size_t n)
{
    double v = 0;
    n -= n && (s[n - 1] == 'f' || s[n - 1] == 'F') && !is_word(s, n, "inf") && !is_word(s, n, "-inf");
    if (!decns_parse_double(s, n, &v)) {
        bool minus = n && s[0] == '-';
        bool infinite = is_word(s + minus, n - minus, "inf") || is_word(s + minus, n - minus, "infinity");
        v = infinite ? (minus ? -(double)INFINITY : (double)INFINITY) : (double)NAN;
    }
    return v;
}

void pb_encode_scalar(strbuf *out, const pb_schema_field *f, const char *s, size_t n)
{
    int64_t v = 0;
    uint64_t u = 0;
    if (f->kind == PB_KIND_FLOAT) {
        float x = (float)real_of(s, n);
        put_fixed(out, f->number, 5, &x, sizeof x);
    } else if (f->kind == PB_KIND_DOUBLE) {
        double x = real_of(s, n);
        put_fixed(out, f->number, 1, &x, sizeof x);
    } else if (f->kind == PB_KIND_STRING || f->kind == PB_KIND_BYTES) {
        pb_encode_bytes(out, f->number, s, n);
    } else if (f->kind == PB_KIND_INT) {
        bool known = named_value(f->names, s, n, &v) || decns_parse_i64(s, n, &v);
        if (!known && decns_parse_u64(s, n, &u)) {
            v = (int64_t)u;
        } else if (!known) {
            v = is_word(s, n, "true") || is_word(s, n, "t");
        }
        put_varint(out, (uint64_t)f->number << 3);
        put_varint(out, (uint64_t)v);
    }
}
