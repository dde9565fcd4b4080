#include "readers/head.h"

#include <string.h>

#include "parse/jspan.h"

static const struct {
    const char *magic;
    size_t n;
    const char *what;
} other_formats[] = {
    {"\x89HDF\r\n", 6, "is an HDF5 file, not a profiler's output"},
    {"SQLite format 3", 15, "is an SQLite database, not a JSON trace"},
    {"\x7F"
     "ELF",
     4, "is a program, not a JSON trace"},
    {"\x89PNG", 4, "is a picture, not a JSON trace"},
    {"%PDF", 4, "is a PDF document, not a JSON trace"},
    {"\xFF\xFE", 2, "is text in UTF-16; save it as UTF-8"},
    {"\xFE\xFF", 2, "is text in UTF-16; save it as UTF-8"},
    {"BZh", 3, "is compressed by bzip2, which marey does not unpack; use gzip or zstd"},
    {"\xFD"
     "7zXZ",
     5, "is compressed by xz, which marey does not unpack; use gzip or zstd"},
};

bool head_has(const char *s, size_t n, const char *what)
{
    return memmem(s, n, what, strlen(what)) != NULL;
}

/* Text that ends before its last bracket does. */
static bool is_cut_json(const char *s, size_t n)
{
    while (n > 0 && jis_blank(s[n - 1])) {
        n--;
    }
    return n > 0 && s[n - 1] != ']' && s[n - 1] != '}';
}

head head_judge(const char *s, size_t n)
{
    for (size_t i = 0; i < sizeof other_formats / sizeof *other_formats; i++) {
        if (n >= other_formats[i].n && memcmp(s, other_formats[i].magic, other_formats[i].n) == 0) {
            return (head){.kind = HEAD_OTHER, .what = other_formats[i].what};
        }
    }
    size_t i = n >= 3 && memcmp(s, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0;
    while (i < n && jis_blank(s[i])) {
        i++;
    }
    if (i == n) {
        return (head){.kind = n < HEAD_BYTES ? HEAD_EMPTY : HEAD_TEXT};
    }
    if (s[i] == '{' || s[i] == '[') {
        return (head){.kind = HEAD_JSON, .is_cut = n < HEAD_BYTES && is_cut_json(s, n)};
    }
    if (s[i] == '<') {
        return (head){.kind = HEAD_PAGE};
    }
    bool binary = memchr(s, 0, n < 4096 ? n : 4096) != NULL;
    return binary && !head_has(s, n, "\"ph\"")
               ? (head){.kind = HEAD_OTHER, .what = "is a binary file, not a JSON trace"}
               : (head){.kind = HEAD_TEXT};
}
