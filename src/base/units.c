/* Times and quantities in words, and back. All exact: no double on the way of a time. */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

typedef struct unit {
    const char *name;
    int64_t ns;
} unit;

static const unit units[] = {{"ns", 1},          {"us", 1000},         {"\xC2\xB5s", 1000},
                             {"ms", 1000000},    {"min", 60000000000}, {"s", 1000000000},
                             {"m", 60000000000}, {"h", 3600000000000}, {"d", 86400000000000}};

static const unit *find_unit(const char *s, size_t n)
{
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        size_t len = strlen(units[i].name);
        if (len == n && memcmp(s, units[i].name, n) == 0) {
            return &units[i];
        }
    }
    return NULL;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* ns * fraction / scale without overflow: units of a second and more are multiples of every scale. */
static int64_t part_of(int64_t ns, int64_t fraction, int64_t scale)
{
    return ns >= 1000000000 ? fraction * (ns / scale) : fraction * ns / scale;
}

/* One "12.5ms" at s[*i]; adds to *sum. */
static bool parse_term(const char *s, size_t n, size_t *i, int64_t *sum)
{
    size_t k = *i;
    int64_t whole = 0;
    int64_t fraction = 0;
    int64_t scale = 1;
    size_t digits = 0;
    for (; k < n && is_digit(s[k]); k++, digits++) {
        if (__builtin_mul_overflow(whole, 10, &whole) || __builtin_add_overflow(whole, s[k] - '0', &whole)) {
            return false;
        }
    }
    if (k < n && s[k] == '.') {
        for (k++; k < n && is_digit(s[k]); k++, digits++) {
            if (scale < 1000000000) {
                fraction = fraction * 10 + (s[k] - '0');
                scale *= 10;
            }
        }
    }
    size_t at = k;
    while (k < n && !is_digit(s[k])) {
        k++;
    }
    const unit *u = at == k ? &units[0] : find_unit(s + at, k - at);
    int64_t ns = 0;
    if (digits == 0 || !u || __builtin_mul_overflow(whole, u->ns, &ns) ||
        __builtin_add_overflow(ns, part_of(u->ns, fraction, scale), &ns)) {
        return false;
    }
    *i = k;
    return !__builtin_add_overflow(*sum, ns, sum);
}

bool time_parse(const char *s, size_t n, int64_t *ns)
{
    size_t i = 0;
    bool negative = n > 0 && s[0] == '-';
    i += negative || (n > 0 && s[0] == '+');
    int64_t sum = 0;
    if (i == n) {
        return false;
    }
    while (i < n) {
        if (!parse_term(s, n, &i, &sum)) {
            return false;
        }
    }
    *ns = negative ? -sum : sum;
    return true;
}

bool time_parse_range(const char *s, int64_t *a, int64_t *b)
{
    const char *dots = strstr(s, "..");
    if (!dots) {
        return false;
    }
    size_t left = (size_t)(dots - s);
    size_t right = strlen(dots + 2);
    return (left == 0 || time_parse(s, left, a)) && (right == 0 || time_parse(dots + 2, right, b));
}

static void format_scaled(double v, const char *name, char *out, size_t cap)
{
    double a = v < 0 ? -v : v;
    int decimals = a >= 99.95 ? 1 : a >= 9.995 ? 2 : 3;
    (void)snprintf(out, cap, "%.*f %s", decimals, v, name);
}

void time_format(int64_t ns, char *out, size_t cap)
{
    uint64_t a = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;
    const char *sign = ns < 0 ? "-" : "";
    if (a < 1000) {
        (void)snprintf(out, cap, "%s%llu ns", sign, (unsigned long long)a);
    } else if (a < 1000000) {
        format_scaled((double)ns / 1e3, "\xC2\xB5s", out, cap);
    } else if (a < 1000000000) {
        format_scaled((double)ns / 1e6, "ms", out, cap);
    } else if (a < 60000000000ULL) {
        format_scaled((double)ns / 1e9, "s", out, cap);
    } else if (a < 3600000000000ULL) {
        (void)snprintf(out, cap, "%s%llu min %02llu s", sign, (unsigned long long)(a / 60000000000ULL),
                       (unsigned long long)(a / 1000000000ULL % 60));
    } else {
        (void)snprintf(out, cap, "%s%llu h %02llu min", sign, (unsigned long long)(a / 3600000000000ULL),
                       (unsigned long long)(a / 60000000000ULL % 60));
    }
}

void time_format_exact(int64_t ns, char *out, size_t cap)
{
    uint64_t a = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;
    const char *sign = ns < 0 ? "-" : "";
    unsigned long long s = a / 1000000000ULL;
    unsigned ms = (unsigned)(a / 1000000 % 1000);
    unsigned us = (unsigned)(a / 1000 % 1000);
    unsigned n = (unsigned)(a % 1000);
    if (a < 1000) {
        (void)snprintf(out, cap, "%s%u ns", sign, n);
    } else if (a < 1000000) {
        (void)snprintf(out, cap, "%s%u.%03u \xC2\xB5s", sign, us, n);
    } else if (s == 0) {
        (void)snprintf(out, cap, "%s%u.%03u\xE2\x80\x89%03u ms", sign, ms, us, n);
    } else {
        (void)snprintf(out, cap, "%s%llu.%03u\xE2\x80\x89%03u\xE2\x80\x89%03u s", sign, s, ms, us, n);
    }
}

void count_format(uint64_t n, char *out, size_t cap)
{
    char digits[24];
    int len = snprintf(digits, sizeof digits, "%llu", (unsigned long long)n);
    size_t at = 0;
    for (int i = 0; i < len && at + 4 < cap; i++) {
        if (i > 0 && (len - i) % 3 == 0) {
            memcpy(out + at, "\xE2\x80\x89", 3);
            at += 3;
        }
        out[at++] = digits[i];
    }
    out[at] = '\0';
}

void count_format_short(uint64_t n, char *out, size_t cap)
{
    static const char *const names[] = {"", " k", " M", " G", " T"};
    double v = (double)n;
    size_t i = 0;
    while (v >= 999.95 && i < 4) {
        v /= 1000;
        i++;
    }
    int decimals = i == 0 || v >= 99.95 ? 0 : v >= 9.995 ? 1 : 2;
    (void)snprintf(out, cap, "%.*f%s", decimals, v, names[i]);
}

void bytes_format(uint64_t n, char *out, size_t cap)
{
    static const char *const names[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    double v = (double)n;
    size_t i = 0;
    while (v >= 1023.95 && i < 4) {
        v /= 1024;
        i++;
    }
    (void)snprintf(out, cap, "%.*f %s", i == 0 ? 0 : 1, v, names[i]);
}
