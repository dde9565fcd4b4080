#include "app/json_pairs.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

typedef struct sink {
    char *s;
    size_t n, cap;
} sink;

static void put(sink *k, const char *s, size_t n)
{
    if (k->n + n < k->cap) {
        memcpy(k->s + k->n, s, n);
        k->n += n;
    } else {
        k->cap = k->n + 1; /* full: nothing after the cut */
    }
    k->s[k->n] = '\0';
}

static void put_code(sink *k, uint32_t code)
{
    char bytes[4];
    put(k, bytes, utf8_put(code >= 0xD800 && code <= 0xDFFF ? 0xFFFD : code, bytes));
}

/* At the character behind the backslash. @return where the text goes on */
static size_t put_escape(sink *k, const char *t, size_t i)
{
    if (t[i] == 'u') {
        char hex[5] = {0};
        for (int n = 0; n < 4 && t[i + 1]; n++) {
            hex[n] = t[++i];
        }
        put_code(k, (uint32_t)strtoul(hex, NULL, 16));
        return i + 1;
    }
    put(k, t[i] == 'n' || t[i] == 't' || t[i] == 'r' ? " " : t + i, 1);
    return t[i] ? i + 1 : i;
}

/* At the opening quote. @return behind the closing one */
static size_t read_string(sink *k, const char *t, size_t i)
{
    for (i++; t[i] && t[i] != '"';) {
        if (t[i] == '\\') {
            i = put_escape(k, t, i + 1);
            continue;
        }
        size_t n = utf8_valid_len(t + i, strlen(t + i) < 4 ? strlen(t + i) : 4);
        if (n == 0) {
            put_code(k, 0xFFFD);
        } else {
            put(k, t + i, n);
        }
        i += n ? n : 1;
    }
    return t[i] ? i + 1 : i;
}

/* A value that is no string: up to the comma or bracket of its own level. */
static size_t read_plain(sink *k, const char *t, size_t i)
{
    int depth = 0;
    bool quoted = false;
    for (; t[i]; i++) {
        bool opens = !quoted && (t[i] == '[' || t[i] == '{');
        bool closes = !quoted && (t[i] == ']' || t[i] == '}');
        if ((closes && depth == 0) || (!quoted && depth == 0 && t[i] == ',')) {
            break;
        }
        depth += opens ? 1 : closes ? -1 : 0;
        quoted = t[i] == '"' && (i == 0 || t[i - 1] != '\\') ? !quoted : quoted;
        put(k, t + i, 1);
    }
    return i;
}

static size_t skip(const char *t, size_t i, const char *what)
{
    while (t[i] && strchr(what, t[i])) {
        i++;
    }
    return i;
}

bool json_next_pair(const char *text, size_t *at, char *key, size_t key_cap, char *value, size_t value_cap)
{
    sink k = {key, 0, key_cap};
    sink v = {value, 0, value_cap};
    size_t i = *at == 0 ? skip(text, 0, " \n\t{") : skip(text, *at, " \n\t,");
    key[0] = '\0';
    value[0] = '\0';
    if (text[0] != '{' || text[i] != '"') {
        return false;
    }
    i = read_string(&k, text, i);
    i = skip(text, i, " \n\t:");
    *at = text[i] == '"' ? read_string(&v, text, i) : read_plain(&v, text, i);
    return true;
}
