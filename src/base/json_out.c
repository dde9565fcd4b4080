#include <math.h>
#include <string.h>

#include "base/status.h"
#include "base/text.h"

static void put(json_out *j, const char *s, size_t n)
{
    if (j->buf) {
        strbuf_add(j->buf, s, n);
    } else {
        (void)fwrite(s, 1, n, j->file);
    }
}

static void separate(json_out *j)
{
    if (j->after_key) {
        j->after_key = false;
        return;
    }
    if (j->depth > 0) {
        uint64_t bit = 1ULL << j->depth;
        if (j->first & bit) {
            j->first &= ~bit;
        } else {
            put(j, ",", 1);
        }
    }
}

void json_begin(json_out *j, char bracket)
{
    separate(j);
    put(j, &bracket, 1);
    j->depth++;
    MAREY_ASSERT(j->depth < 61);
    j->first |= 1ULL << j->depth;
}

void json_end(json_out *j, char bracket)
{
    MAREY_ASSERT(j->depth > 0);
    j->depth--;
    put(j, &bracket, 1);
    if (j->depth == 0) {
        put(j, "\n", 1);
    }
}

static void put_escaped(json_out *j, const char *s, size_t n)
{
    put(j, "\"", 1);
    size_t from = 0;
    for (size_t i = 0; i < n;) {
        unsigned char c = (unsigned char)s[i];
        size_t len = utf8_valid_len(s + i, n - i);
        if (c >= 0x20 && c != '"' && c != '\\' && len > 0) {
            i += len;
            continue;
        }
        put(j, s + from, i - from);
        char escape[8];
        if (len == 0) {
            (void)snprintf(escape, sizeof escape, "\\ufffd");
        } else if (c == '"' || c == '\\') {
            (void)snprintf(escape, sizeof escape, "\\%c", c);
        } else {
            (void)snprintf(escape, sizeof escape, "\\u%04x", c);
        }
        put(j, escape, strlen(escape));
        from = ++i;
    }
    put(j, s + from, n - from);
    put(j, "\"", 1);
}

void json_key(json_out *j, const char *key)
{
    separate(j);
    put_escaped(j, key, strlen(key));
    put(j, ":", 1);
    j->after_key = true;
}

void json_strn(json_out *j, const char *s, size_t n)
{
    separate(j);
    put_escaped(j, s, n);
}

void json_str(json_out *j, const char *s)
{
    json_strn(j, s, strlen(s));
}

static void put_number(json_out *j, const char *text)
{
    separate(j);
    put(j, text, strlen(text));
}

void json_int(json_out *j, int64_t v)
{
    char text[32];
    (void)snprintf(text, sizeof text, "%lld", (long long)v);
    put_number(j, text);
}

void json_uint(json_out *j, uint64_t v)
{
    char text[32];
    (void)snprintf(text, sizeof text, "%llu", (unsigned long long)v);
    put_number(j, text);
}

void json_real(json_out *j, double v)
{
    char text[40];
    if (!isfinite(v)) {
        put_number(j, "null");
        return;
    }
    (void)snprintf(text, sizeof text, "%.9g", v);
    put_number(j, text);
}

void json_bool(json_out *j, bool v)
{
    put_number(j, v ? "true" : "false");
}

void json_null(json_out *j)
{
    put_number(j, "null");
}

void json_kstr(json_out *j, const char *key, const char *s)
{
    json_key(j, key);
    if (s) {
        json_str(j, s);
    } else {
        json_null(j);
    }
}

void json_kint(json_out *j, const char *key, int64_t v)
{
    json_key(j, key);
    json_int(j, v);
}

void json_kuint(json_out *j, const char *key, uint64_t v)
{
    json_key(j, key);
    json_uint(j, v);
}

void json_kreal(json_out *j, const char *key, double v)
{
    json_key(j, key);
    json_real(j, v);
}
