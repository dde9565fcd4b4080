#include "parse/jtext.h"

#include <string.h>

bool jtext_is_plain(const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)s[i];
        if (c < 0x20 || c == '\\' || c >= 0x7F) {
            return false;
        }
    }
    return true;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Four hexadecimal digits behind "\u". */
static bool unit(const char *s, size_t n, uint32_t *value)
{
    if (n < 6 || s[0] != '\\' || s[1] != 'u') {
        return false;
    }
    uint32_t v = 0;
    for (int i = 2; i < 6; i++) {
        int d = hex_digit(s[i]);
        if (d < 0) {
            return false;
        }
        v = v << 4 | (uint32_t)d;
    }
    *value = v;
    return true;
}

static void put_code(strbuf *out, uint32_t code)
{
    char bytes[4];
    strbuf_add(out, bytes, utf8_put(code, bytes));
}

/* Characters that an escape may give and that have no place in a name. */
static void put_or_drop(strbuf *out, uint32_t code, jtext_counts *counts)
{
    if (code < 0x20 || code == 0x7F) {
        if (code == '\n' || code == '\t' || code == '\r') {
            strbuf_add(out, " ", 1);
        } else {
            counts->control_bytes++;
        }
        return;
    }
    put_code(out, code);
}

static size_t decode_unit(const char *s, size_t n, uint32_t first, strbuf *out, jtext_counts *counts)
{
    uint32_t second = 0;
    if (first >= 0xD800 && first < 0xDC00 && unit(s + 6, n - 6, &second) && second >= 0xDC00 && second < 0xE000) {
        put_code(out, 0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00));
        return 12;
    }
    if (first >= 0xD800 && first < 0xE000) {
        put_code(out, 0xFFFD);
        counts->bad_utf8++;
    } else {
        put_or_drop(out, first, counts);
    }
    return 6;
}

/* One escape at s[0] == '\\'. @return bytes taken */
static size_t decode_escape(const char *s, size_t n, strbuf *out, jtext_counts *counts)
{
    static const char from[] = "\"\\/bfnrt";
    static const char to[] = "\"\\/\b\f\n\r\t";
    uint32_t first = 0;
    if (unit(s, n, &first)) {
        return decode_unit(s, n, first, out, counts);
    }
    const char *at = n > 1 && s[1] ? strchr(from, s[1]) : NULL;
    if (at) {
        put_or_drop(out, (uint32_t)(unsigned char)to[at - from], counts);
        return 2;
    }
    strbuf_add(out, s, 1);
    return 1;
}

void jtext_decode(const char *s, size_t n, strbuf *out, jtext_counts *counts)
{
    for (size_t i = 0; i < n;) {
        unsigned char c = (unsigned char)s[i];
        size_t len = utf8_valid_len(s + i, n - i);
        if (c == '\\') {
            i += decode_escape(s + i, n - i, out, counts);
        } else if (len == 0) {
            put_code(out, 0xFFFD);
            counts->bad_utf8++;
            i++;
        } else if (c < 0x20 || c == 0x7F) {
            counts->control_bytes++;
            i++;
        } else {
            strbuf_add(out, s + i, len);
            i += len;
        }
    }
}
