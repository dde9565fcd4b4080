#include "base/text.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

void strbuf_add(strbuf *b, const char *s, size_t n)
{
    VEC_RESERVE(b->s, b->cap, b->n + n + 1);
    memcpy(b->s + b->n, s, n);
    b->n += n;
    b->s[b->n] = '\0';
}

void strbuf_puts(strbuf *b, const char *s)
{
    strbuf_add(b, s, strlen(s));
}

void strbuf_printf(strbuf *b, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    va_list again;
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (n > 0) {
        VEC_RESERVE(b->s, b->cap, b->n + (size_t)n + 1);
        (void)vsnprintf(b->s + b->n, (size_t)n + 1, format, again);
        b->n += (size_t)n;
    }
    va_end(again);
}

void strbuf_clear(strbuf *b)
{
    b->n = 0;
    if (b->s) {
        b->s[0] = '\0';
    }
}

void strbuf_deinit(strbuf *b)
{
    free(b->s);
    *b = (strbuf){0};
}

const char *strbuf_str(const strbuf *b)
{
    return b->s ? b->s : "";
}

static bool is_tail(const char *s, size_t i)
{
    return ((unsigned char)s[i] & 0xC0) == 0x80;
}

size_t utf8_valid_len(const char *s, size_t n)
{
    if (n == 0) {
        return 0;
    }
    unsigned char c = (unsigned char)s[0];
    unsigned char d = n > 1 ? (unsigned char)s[1] : 0;
    if (c < 0x80) {
        return 1;
    }
    if (c < 0xC2 || c > 0xF4) {
        return 0;
    }
    if (c < 0xE0) {
        return n >= 2 && is_tail(s, 1) ? 2 : 0;
    }
    if (c < 0xF0) {
        bool bad = (c == 0xE0 && d < 0xA0) || (c == 0xED && d >= 0xA0);
        return n >= 3 && !bad && is_tail(s, 1) && is_tail(s, 2) ? 3 : 0;
    }
    bool bad = (c == 0xF0 && d < 0x90) || (c == 0xF4 && d >= 0x90);
    return n >= 4 && !bad && is_tail(s, 1) && is_tail(s, 2) && is_tail(s, 3) ? 4 : 0;
}

uint32_t utf8_next(const char *s, size_t n, size_t *i)
{
    size_t len = utf8_valid_len(s + *i, n - *i);
    const unsigned char *p = (const unsigned char *)s + *i;
    *i += len ? len : 1;
    switch (len) {
    case 1:
        return p[0];
    case 2:
        return ((uint32_t)(p[0] & 0x1F) << 6) | (p[1] & 0x3F);
    case 3:
        return ((uint32_t)(p[0] & 0x0F) << 12) | ((uint32_t)(p[1] & 0x3F) << 6) | (p[2] & 0x3F);
    case 4:
        return ((uint32_t)(p[0] & 0x07) << 18) | ((uint32_t)(p[1] & 0x3F) << 12) | ((uint32_t)(p[2] & 0x3F) << 6) |
               (p[3] & 0x3F);
    default:
        return 0xFFFD;
    }
}

size_t utf8_put(uint32_t code, char out[4])
{
    if (code < 0x80) {
        out[0] = (char)code;
        return 1;
    }
    if (code < 0x800) {
        out[0] = (char)(0xC0 | (code >> 6));
        out[1] = (char)(0x80 | (code & 0x3F));
        return 2;
    }
    if (code < 0x10000) {
        out[0] = (char)(0xE0 | (code >> 12));
        out[1] = (char)(0x80 | ((code >> 6) & 0x3F));
        out[2] = (char)(0x80 | (code & 0x3F));
        return 3;
    }
    out[0] = (char)(0xF0 | (code >> 18));
    out[1] = (char)(0x80 | ((code >> 12) & 0x3F));
    out[2] = (char)(0x80 | ((code >> 6) & 0x3F));
    out[3] = (char)(0x80 | (code & 0x3F));
    return 4;
}

size_t utf8_clean(strbuf *out, const char *s, size_t n)
{
    size_t changed = 0;
    for (size_t i = 0; i < n;) {
        size_t len = utf8_valid_len(s + i, n - i);
        if (len == 0) {
            strbuf_add(out, "\xEF\xBF\xBD", 3);
            changed++;
            i++;
        } else if ((unsigned char)s[i] < 0x20 || s[i] == 0x7F) {
            changed++;
            i++;
        } else {
            strbuf_add(out, s + i, len);
            i += len;
        }
    }
    return changed;
}
