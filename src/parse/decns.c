#include "parse/decns.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/digits.h"

static bool is_digit(char c)
{
    return (unsigned char)(c - '0') < 10;
}

static bool eight_digits(const char *s, uint64_t *value)
{
    uint64_t v = digits_load(s);
    uint64_t high = v & 0xF0F0F0F0F0F0F0F0U;
    uint64_t carried = (v + 0x0606060606060606U) & 0xF0F0F0F0F0F0F0F0U;
    if ((high ^ 0x3030303030303030U) | (carried ^ 0x3030303030303030U)) {
        return false;
    }
    *value = digits_join(v & 0x0F0F0F0F0F0F0F0FU);
    return true;
}

/* Any decimal: where its digits are, how many there are before the point, once the exponent is applied. */
typedef struct decimal {
    const char *digits; /* from the first that is not 0; may contain one '.' */
    const char *end;
    int64_t point; /* number of digits before the point; negative: zeros after it */
    bool negative;
} decimal;

static bool parse_exponent(const char *s, const char *end, int64_t *exponent)
{
    bool negative = s < end && *s == '-';
    if (s < end && (*s == '-' || *s == '+')) {
        s++;
    }
    if (s == end) {
        return false;
    }
    int64_t e = 0;
    for (; s < end; s++) {
        if (!is_digit(*s)) {
            return false;
        }
        e = e < 1000000 ? e * 10 + (*s - '0') : e;
    }
    *exponent = negative ? -e : e;
    return true;
}

/* Skips zeros that lead, and counts the places of the others before the point. */
static bool parse_decimal(const char *s, size_t n, decimal *d)
{
    const char *end = s + n;
    d->negative = n > 0 && *s == '-';
    if (n > 0 && (*s == '-' || *s == '+')) {
        s++;
    }
    bool point = false;
    bool any = false;
    d->digits = NULL;
    d->point = 0;
    for (; s < end && (is_digit(*s) || (*s == '.' && !point)); s++) {
        if (*s == '.') {
            point = true;
            continue;
        }
        any = true;
        if (!d->digits && *s != '0') {
            d->digits = s;
        }
        d->point += !point && d->digits ? 1 : 0;
        d->point -= point && !d->digits ? 1 : 0;
    }
    d->end = s;
    if (!d->digits) {
        d->digits = s;
    }
    if (!any) {
        return false;
    }
    if (s < end) {
        int64_t exponent = 0;
        if ((*s != 'e' && *s != 'E') || !parse_exponent(s + 1, end, &exponent)) {
            return false;
        }
        d->point += exponent;
    }
    return true;
}

/* Round half to even, looking at all digits from `s` on: the first dropped one and whether anything follows it. */
static bool rounds_up(const char *s, const char *end, bool odd)
{
    s += s < end && *s == '.' ? 1 : 0;
    if (s == end || *s < '5') {
        return false;
    }
    if (*s > '5') {
        return true;
    }
    for (s++; s < end; s++) {
        if (*s != '0' && *s != '.') {
            return true;
        }
    }
    return odd;
}

static decns_result slow_us(const char *s, size_t n, int64_t *ns)
{
    decimal d;
    if (!parse_decimal(s, n, &d)) {
        return DECNS_BAD;
    }
    int64_t places = d.point + 3;
    if (d.digits == d.end || places < 0) {
        *ns = 0;
        return DECNS_OK;
    }
    if (places > 19) {
        return DECNS_OVERFLOW;
    }
    uint64_t value = 0;
    const char *p = d.digits;
    for (; places > 0; places--) {
        p += p < d.end && *p == '.' ? 1 : 0;
        value = value * 10 + (p < d.end ? (uint64_t)(*p - '0') : 0);
        p += p < d.end ? 1 : 0;
    }
    value += rounds_up(p, d.end, value & 1) ? 1 : 0;
    if (value > (uint64_t)INT64_MAX) {
        return DECNS_OVERFLOW;
    }
    *ns = d.negative ? -(int64_t)value : (int64_t)value;
    return DECNS_OK;
}

/* The value of 1 to 8 digits, of which the 8 bytes at `s` begin with `n`. */
static bool up_to_eight_digits(const char *s, size_t n, uint64_t *value)
{
    char padded[8];
    uint64_t v = 0;
    memcpy(&v, s, 8);
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    v = n < 8 ? v << (64 - 8 * n) | (0x3030303030303030U >> (8 * n)) : v;
    memcpy(padded, &v, 8);
#else
    memset(padded, '0', 8);
    memcpy(padded + 8 - n, s, n);
#endif
    return eight_digits(padded, value);
}

/* What profilers write: 9 to 16 digits, a point, three digits. */
static bool usual_us(const char *s, size_t n, int64_t *ns)
{
    uint64_t high = 0;
    uint64_t low = 0;
    const char *f = s + n - 3;
    unsigned a = (unsigned)f[0] - '0';
    unsigned b = (unsigned)f[1] - '0';
    unsigned c = (unsigned)f[2] - '0';
    if (a > 9 || b > 9 || c > 9 || !up_to_eight_digits(s, n - 12, &high) || !eight_digits(s + n - 12, &low)) {
        return false;
    }
    uint64_t value = (high * 100000000U + low) * 1000 + a * 100 + b * 10 + c;
    *ns = (int64_t)value;
    return value <= (uint64_t)INT64_MAX;
}

static decns_result digits_us(const char *s, size_t n, int64_t *ns)
{
    uint64_t value = 0;
    size_t i = 0;
    for (; i < n && is_digit(s[i]); i++) {
        if (i >= 16) {
            return slow_us(s, n, ns);
        }
        value = value * 10 + (uint64_t)(s[i] - '0');
    }
    if (i == 0 || (i < n && (s[i] != '.' || n - i > 4))) {
        return slow_us(s, n, ns);
    }
    unsigned scale = 1000;
    unsigned fraction = 0;
    for (i++; i < n; i++) {
        if (!is_digit(s[i])) {
            return slow_us(s, n, ns);
        }
        fraction = fraction * 10 + (unsigned)(s[i] - '0');
        scale /= 10;
    }
    value = value * 1000 + (uint64_t)fraction * scale;
    *ns = (int64_t)value; /* 16 digits of microseconds fit */
    return value <= (uint64_t)INT64_MAX ? DECNS_OK : DECNS_OVERFLOW;
}

decns_result decns_parse_us(const char *s, size_t n, int64_t *ns)
{
    if (n >= 13 && n <= 20 && s[n - 4] == '.' && usual_us(s, n, ns)) {
        return DECNS_OK;
    }
    return digits_us(s, n, ns);
}

/* The value of 1 to 8 digits at `s`; *odd: bits are set where they are none. */
static inline uint64_t join_digits(const char *s, size_t n, uint64_t *odd)
{
    uint64_t v = (digits_load(s) ^ 0x3030303030303030U) << (64 - 8 * n); /* as if zeros stood before them */
    *odd |= (v + 0x7676767676767676U) | v;
    return digits_join(v);
}

#ifdef __x86_64__
/* Up to 16 digits, and either none or up to three behind a point. @return false: it is none of those, or too much */
DIGITS_AVX2 static inline bool short_us_avx2(const char *s, size_t n, int64_t *ns)
{
    __m128i v = digits_load_avx2(s);
    size_t digits = digits_count_avx2(v);
    digits = digits < n ? digits : n;
    uint32_t thousandths = 0;
    uint32_t odd = 0;
    if (digits < n) {
        size_t more = n - digits - 1;
        if (s[digits] != '.' || n < 4 || more - 1 >= 3) {
            return false;
        }
        uint32_t f;
        memcpy(&f, s + n - 4, 4);
        f = (f ^ 0x30303030U) >> (32 - 8 * more);
        odd = ((f + 0x767676U) | f) & 0x808080U;
        thousandths = ((f * 10 + (f >> 8)) & 0xFFU) * 10 + (f >> 16);
    }
    uint64_t value = digits_join_avx2(v, (unsigned)digits) * 1000 + thousandths;
    *ns = (int64_t)value;
    return digits > 0 && odd == 0 && value <= (uint64_t)INT64_MAX;
}

DIGITS_AVX2 static decns_result padded_us_avx2(const char *s, size_t n, int64_t *ns)
{
    return short_us_avx2(s, n, ns) ? DECNS_OK : decns_parse_us(s, n, ns);
}
#endif

/* Up to 16 digits, and either none or three behind a point. */
decns_result decns_parse_us_padded_any(const char *s, size_t n, int64_t *ns)
{
    uint64_t odd = 0;
    uint64_t value = 0;
    uint32_t thousandths = 0;
    size_t digits = n;
    if (n > 4 && s[n - 4] == '.') {
        uint32_t v;
        memcpy(&v, s + n - 4, 4);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
        v = __builtin_bswap32(v);
#endif
        v = (v ^ 0x30303030U) >> 8;
        odd = (v + 0x767676U) | v;
        thousandths = ((v * 10 + (v >> 8)) & 0xFFU) * 10 + (v >> 16);
        digits = n - 4;
    }
    if (digits - 1 >= 16) {
        return decns_parse_us(s, n, ns);
    }
    if (digits > 8) {
        value = join_digits(s, digits - 8, &odd) * 100000000U + join_digits(s + digits - 8, 8, &odd);
    } else {
        value = join_digits(s, digits, &odd);
    }
    value = value * 1000 + thousandths; /* 16 digits of microseconds fit */
    if ((odd & 0x8080808080808080U) || value > (uint64_t)INT64_MAX) {
        return decns_parse_us(s, n, ns);
    }
    *ns = (int64_t)value;
    return DECNS_OK;
}

decns_result decns_parse_us_padded(const char *s, size_t n, int64_t *ns)
{
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2")) {
        return padded_us_avx2(s, n, ns);
    }
#endif
    return decns_parse_us_padded_any(s, n, ns);
}

static bool parse_hex(const char *s, size_t n, uint64_t *value)
{
    uint64_t v = 0;
    if (n == 0 || n > 16) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        char c = (char)(s[i] | 0x20);
        if (is_digit(s[i])) {
            v = v << 4 | (uint64_t)(s[i] - '0');
        } else if (c >= 'a' && c <= 'f') {
            v = v << 4 | (uint64_t)(c - 'a' + 10);
        } else {
            return false;
        }
    }
    *value = v;
    return true;
}

bool decns_parse_u64(const char *s, size_t n, uint64_t *value)
{
    if (n > 2 && s[0] == '0' && (s[1] | 0x20) == 'x') {
        return parse_hex(s + 2, n - 2, value);
    }
    uint64_t v = 0;
    for (size_t i = 0; i < n; i++) {
        unsigned digit = (unsigned)(unsigned char)s[i] - '0';
        if (digit > 9 || (i >= 19 && (v > UINT64_MAX / 10 || v * 10 > UINT64_MAX - digit))) {
            return false;
        }
        v = v * 10 + digit;
    }
    *value = v;
    return n > 0;
}

bool decns_parse_u64_padded(const char *s, size_t n, uint64_t *value)
{
    uint64_t odd = 0;
    uint64_t v = n - 1 < 8 ? join_digits(s, n, &odd) : 0;
    if (n - 1 >= 8 || (odd & 0x8080808080808080U)) {
        return decns_parse_u64(s, n, value);
    }
    *value = v;
    return true;
}

bool decns_parse_i64(const char *s, size_t n, int64_t *value)
{
    bool negative = n > 0 && s[0] == '-';
    const char *digits = s + (negative ? 1 : 0);
    size_t len = n - (negative ? 1 : 0);
    const char *point = len > 0 ? memchr(digits, '.', len) : NULL;
    if (point) {
        for (const char *p = point + 1; p < s + n; p++) {
            if (*p != '0') {
                return false;
            }
        }
        len = (size_t)(point - digits);
    }
    uint64_t v = 0;
    if (!decns_parse_u64(digits, len, &v) || v > (uint64_t)INT64_MAX) {
        return false;
    }
    *value = negative ? -(int64_t)v : (int64_t)v;
    return true;
}

bool decns_parse_double(const char *s, size_t n, double *value)
{
    decimal d;
    char copy[400]; /* no writer of numbers goes beyond that */
    if (n >= sizeof copy || !parse_decimal(s, n, &d)) {
        return false;
    }
    memcpy(copy, s, n);
    copy[n] = '\0';
    *value = strtod(copy, NULL);
    return isfinite(*value);
}
