/* For tests that read damaged text in two ways, by comparison and token by token, and hold one against the other. */
#ifndef TESTS_HELP_BY_TOKENS_H
#define TESTS_HELP_BY_TOKENS_H

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "cm.h"

/* Bytes replaced by such as matter, and stretches cut out, a few of each. n is at least 100. @return what is left */
static inline size_t by_tokens_damage(char *text, size_t n, prng *r)
{
    static const char marks[] = "\"\\{}[]:,\n 0-eX\0\xc3";
    for (uint64_t k = 1 + prng_below(r, 5); k > 0 && n > 100; k--) {
        size_t at = (size_t)prng_below(r, n - 100);
        size_t len = (size_t)prng_below(r, 60);
        if (prng_below(r, 3)) {
            text[at] = marks[prng_below(r, sizeof marks - 1)];
        } else {
            memmove(text + at, text + at + len, n - at - len);
            n -= len;
        }
    }
    return n;
}

/* Fails, from the first line that differs on, when the two ways found different things in the n bytes of `text`. */
static inline void by_tokens_same(const strbuf *want, const strbuf *got, const char *text, size_t n)
{
    if (want->n == got->n && memcmp(want->s, got->s, want->n) == 0) {
        return;
    }
    size_t at = 0;
    size_t line = 0;
    while (at < want->n && at < got->n && want->s[at] == got->s[at]) {
        line = want->s[at] == '\n' ? at + 1 : line;
        at++;
    }
    (void)fprintf(stderr, "by comparison:\n%.400s\nby tokens:\n%.400s\nfor\n", got->s + line, want->s + line);
    (void)fwrite(text, 1, n, stderr);
    fail();
}

#endif
