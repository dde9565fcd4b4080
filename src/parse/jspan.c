#include "parse/jspan.h"

static const char *skip_blanks(const char *p, const char *end)
{
    while (p < end && jis_blank(*p)) {
        p++;
    }
    return p;
}

/* The closing quote of a string whose first byte is `p`; `end` when there is none. */
static const char *string_end(const char *p, const char *end)
{
    while (p < end && *p != '"') {
        p += *p == '\\' && p + 1 < end ? 2 : 1;
    }
    return p < end ? p : end;
}

/* Behind the bracket that closes the one at `p`. */
static const char *nested_end(const char *p, const char *end)
{
    size_t depth = 0;
    while (p < end) {
        char c = *p++;
        if (c == '"') {
            p = string_end(p, end);
            p += p < end ? 1 : 0;
        } else if (c == '{' || c == '[') {
            depth++;
        } else if (c == '}' || c == ']') {
            depth--;
            if (depth == 0) {
                return p;
            }
        }
    }
    return end;
}

static bool take_value(jiter *it, jspan *value)
{
    const char *p = it->p;
    if (p == it->end) {
        return false;
    }
    if (*p == '"') {
        const char *close = string_end(p + 1, it->end);
        *value = (jspan){p + 1, (uint32_t)(close - p - 1), JKIND_STRING};
        it->p = close < it->end ? close + 1 : close;
    } else if (*p == '{' || *p == '[') {
        it->p = nested_end(p, it->end);
        *value = (jspan){p, (uint32_t)(it->p - p), *p == '{' ? JKIND_OBJECT : JKIND_ARRAY};
    } else {
        const char *stop = p;
        while (stop < it->end && *stop != ',' && *stop != '}' && *stop != ']' && !jis_blank(*stop)) {
            stop++;
        }
        *value = (jspan){p, (uint32_t)(stop - p), JKIND_SCALAR};
        it->p = stop;
    }
    return true;
}

jiter jiter_begin(jspan container)
{
    bool nested = (container.kind == JKIND_OBJECT || container.kind == JKIND_ARRAY) && container.n >= 2;
    return nested ? (jiter){container.s + 1, container.s + container.n - 1} : (jiter){container.s, container.s};
}

bool jiter_next(jiter *it, jspan *key, jspan *value)
{
    it->p = skip_blanks(it->p, it->end);
    while (it->p < it->end && *it->p == ',') {
        it->p = skip_blanks(it->p + 1, it->end);
    }
    *key = (jspan){0};
    const char *start = it->p;
    if (!take_value(it, value)) {
        return false;
    }
    it->p = skip_blanks(it->p, it->end);
    if (it->p < it->end && *it->p == ':' && value->kind == JKIND_STRING) {
        *key = *value;
        it->p = skip_blanks(it->p + 1, it->end);
        return take_value(it, value);
    }
    return it->p > start; /* a stray bracket makes no progress: end here */
}

jspan jspan_member(jspan object, const char *name)
{
    jspan found = {0};
    jspan key;
    jspan value;
    for (jiter it = jiter_begin(object); jiter_next(&it, &key, &value);) {
        if (key.kind == JKIND_STRING && jspan_is(key, name)) {
            found = value;
        }
    }
    return found;
}
