/*
 * JSON string text to clean UTF-8: escapes decoded, surrogate pairs joined, invalid bytes and lone surrogates replaced
 * by U+FFFD, control bytes left out. Thread: any.
 */
#ifndef MAREY_PARSE_JTEXT_H
#define MAREY_PARSE_JTEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

typedef struct jtext_counts {
    uint64_t bad_utf8;      /* replaced by U+FFFD */
    uint64_t control_bytes; /* left out */
} jtext_counts;

/** Would jtext_decode() change it? */
bool jtext_is_plain(const char *s, size_t n);
/** Append the decoded text. An escape that is none is kept as written. */
void jtext_decode(const char *s, size_t n, strbuf *out, jtext_counts *counts);

#endif
