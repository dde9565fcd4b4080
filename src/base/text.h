/*
 * Text without locale: a growing string, UTF-8, exact times and quantities in words, and a JSON writer.
 * Thread: any, on separate objects.
 */
#ifndef MAREY_BASE_TEXT_H
#define MAREY_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* A growing, NUL-terminated string. Zero is a valid empty one. */
typedef struct strbuf {
    char *s; /* may be NULL while empty */
    size_t n;
    size_t cap;
} strbuf;

void strbuf_add(strbuf *b, const char *s, size_t n);
void strbuf_puts(strbuf *b, const char *s);
void strbuf_printf(strbuf *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
void strbuf_clear(strbuf *b);
void strbuf_deinit(strbuf *b);
const char *strbuf_str(const strbuf *b); /* never NULL */

/** Length of the valid UTF-8 sequence at `s` (1 to 4), or 0 when it is not valid (overlong, surrogate, cut). */
size_t utf8_valid_len(const char *s, size_t n);
/** Decode one code point; invalid bytes give U+FFFD and advance by one. `*i` < n. */
uint32_t utf8_next(const char *s, size_t n, size_t *i);
size_t utf8_put(uint32_t code, char out[4]); /* bytes written */
/** Append with invalid sequences as U+FFFD and control bytes dropped. @return how many were replaced or dropped */
size_t utf8_clean(strbuf *out, const char *s, size_t n);

/** Parse a time with unit ("12.5ms", "3s", "1h2m", "250", plain = ns) to ns. @return false when it is not one */
bool time_parse(const char *s, size_t n, int64_t *ns);
/** Parse "A..B" (half open; either side may be missing). Missing sides leave *a or *b as they are. */
bool time_parse_range(const char *s, int64_t *a, int64_t *b);

/** A duration for people: three to four significant digits and a unit, "602.6 ms", "1.25 s", "17 ns", "2 h 03 min". */
void time_format(int64_t ns, char *out, size_t cap);
/** The exact value with thin-space groups and unit: "602 640 127 ns" written in the unit that suits: "602.640 127 ms".
 */
void time_format_exact(int64_t ns, char *out, size_t cap);
/** 1234567 -> "1 234 567" with U+2009 thin spaces. */
void count_format(uint64_t n, char *out, size_t cap);
/** 41200000 -> "41.2 M". */
void count_format_short(uint64_t n, char *out, size_t cap);
/** 1536 -> "1.5 KiB". */
void bytes_format(uint64_t n, char *out, size_t cap);

/* A JSON writer: indents nothing, escapes everything, checks nesting by assertion. */
typedef struct json_out {
    FILE *file; /* one of file or buf */
    strbuf *buf;
    uint64_t first; /* bit per depth: nothing written yet */
    int depth;      /* at most 60 */
    bool after_key;
} json_out;

void json_begin(json_out *j, char bracket); /* '{' or '[' */
void json_end(json_out *j, char bracket);   /* '}' or ']' */
void json_key(json_out *j, const char *key);
void json_str(json_out *j, const char *s);
void json_strn(json_out *j, const char *s, size_t n);
void json_int(json_out *j, int64_t v);
void json_uint(json_out *j, uint64_t v);
void json_real(json_out *j, double v); /* NaN and infinity become null */
void json_bool(json_out *j, bool v);
void json_null(json_out *j);
/* key and value in one call */
void json_kstr(json_out *j, const char *key, const char *s); /* NULL becomes null */
void json_kint(json_out *j, const char *key, int64_t v);
void json_kuint(json_out *j, const char *key, uint64_t v);
void json_kreal(json_out *j, const char *key, double v);

#endif
