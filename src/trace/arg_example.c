#include "trace/arg_example.h"

#include <stdlib.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "base/mem.h"

enum { FEW_NUMBERS = 4, FEW_CHANGES = 4, MOST_PATIENCE = 64 };

unsigned arg_read_more_digits(const char *s, uint64_t *value)
{
    static const uint32_t powers[] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};
    uint64_t v = digits_load(s + 8) ^ 0x3030303030303030U;
    unsigned n = arg_leading_digits(v);
    *value = *value * powers[n] + (n ? arg_join_digits(v, n) : 0);
    n += 8;
    while (n >= 16 && n < ARG_DIGITS_MAX && arg_is_digit(s[n])) {
        *value = *value * 10 + (uint64_t)(s[n++] - '0');
    }
    return n;
}

/* ------------------------------------------------------------------ life */

/* Numbers and record from the text, which is of the shape. @return false: the record must be a wide one */
static bool measure(arg_example *x)
{
    const char *p = x->text;
    uint64_t values[2];
    uint32_t value = 0;
    arg_number *number = x->numbers;
    arg_record_begin(x->record, x->shape->id, x->is_wide);
    for (const arg_piece *q = x->shape->pieces; q->mark != ARG_MARK_END; q++) {
        p += q->len;
        bool is_fixed = q->mark == ARG_MARK_FIXED;
        unsigned digits = arg_read_digits(p, &values[1]);
        values[0] = digits;
        uint32_t from = (uint32_t)(p - x->text);
        *number++ = (arg_number){from, from + digits, value, is_fixed, q->is_rest};
        p += digits;
        if (!x->is_wide && values[1] > UINT32_MAX) {
            return false;
        }
        for (unsigned i = is_fixed ? 0 : 1; i < 2; i++) {
            arg_record_set(x->record, x->is_wide, value++, values[i]);
        }
    }
    *number = (arg_number){.from = UINT32_MAX, .to = UINT32_MAX};
    x->n_record = (uint32_t)arg_record_bytes(x->shape->n_values, x->is_wide);
    return true;
}

static void widen(arg_example *x)
{
    x->is_wide = true;
    (void)measure(x);
}

static void set_text(arg_example *x, const char *text, size_t n)
{
    if (n + ARG_PAD_BYTES > x->cap) {
        free(x->text);
        x->cap = (uint32_t)(n + n / 8 + ARG_PAD_BYTES);
        x->text = mem_alloc(x->cap);
    }
    memcpy(x->text, text, n);
    memset(x->text + n, 0, ARG_PAD_BYTES);
    x->n = (uint32_t)n;
    x->n_most = n + x->n_numbers * (size_t)ARG_DIGITS_MAX;
    if (!measure(x)) {
        widen(x);
    }
}

arg_example *arg_example_create(const arg_shape *shape, const char *text, size_t n)
{
    arg_example *x = mem_calloc(1, sizeof *x);
    x->shape = shape;
    x->n_numbers = shape->n_pieces - 1;
    x->numbers = mem_alloc(shape->n_pieces * sizeof *x->numbers);
    x->record = mem_calloc(1, arg_record_bytes(shape->n_values, true) + ARG_RECORD_PAD_BYTES);
    set_text(x, text, n);
    return x;
}

void arg_example_destroy(arg_example **xx)
{
    arg_example *x = *xx;
    if (x) {
        free(x->text);
        free(x->numbers);
        free(x->record);
        free(x);
    }
    *xx = NULL;
}

size_t arg_example_bytes(const arg_example *x)
{
    return sizeof *x + x->cap + x->shape->n_pieces * sizeof *x->numbers + arg_record_bytes(x->shape->n_values, true);
}

/* ------------------------------------------------------------------ following it */

/* The first byte from `at` on where the two differ, or n or more. Reads up to 15 bytes behind n. */
static inline size_t same_until(const char *a, const char *b, size_t at, size_t n)
{
#ifdef __SSE2__
    for (; at < n; at += 16) {
        __m128i x = _mm_loadu_si128((const __m128i *)(const void *)(a + at));
        __m128i y = _mm_loadu_si128((const __m128i *)(const void *)(b + at));
        unsigned differ = (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(x, y)) ^ 0xFFFFU;
        if (differ) {
            return at + (unsigned)__builtin_ctz(differ);
        }
    }
#else
    for (; at < n; at += 8) {
        uint64_t differ = digits_load(a + at) ^ digits_load(b + at);
        if (differ) {
            return at + (unsigned)__builtin_ctzll(differ) / 8;
        }
    }
#endif
    return at;
}

/* As take_number(), for one of fixed width, the rest of a run of digits, or one whose record is wide or must be. */
static bool take_rare_number(const arg_example *x, arg_taker *t, const arg_number *q, unsigned digits, uint64_t v)
{
    uint32_t value = q->value;
    t->too_wide |= !x->is_wide && v > UINT32_MAX;
    if (q->is_fixed) {
        arg_record_set(t->record, x->is_wide, value++, digits);
    }
    arg_record_set(t->record, x->is_wide, value, v);
    return !t->too_wide;
}

/* A text's number that is not the example's, at `s`. @return its digits; 0: it is of another form, or too wide */
static inline unsigned take_number(const arg_example *x, arg_taker *t, const arg_number *q, const char *s)
{
    if (!arg_is_digit(*s)) {
        return 0;
    }
    uint64_t v;
    unsigned digits = arg_read_digits(s, &v);
    bool is_fixed = (*s == '0' && digits > 1) || q->is_rest;
    if (is_fixed != q->is_fixed) {
        return 0; /* else what a text's shape is would hang on the guess */
    }
    if (x->is_wide || is_fixed || v > UINT32_MAX) {
        return take_rare_number(x, t, q, digits, v) ? digits : 0;
    }
    arg_record_set(t->record, false, q->value, v);
    return digits;
}

/* `is_roomy`: the text goes on behind all that it can take. */
static inline const char *compare(const arg_example *x, arg_taker *t, const char *text, const char *end, bool is_roomy)
{
    const arg_number *q = x->numbers;
    arg_shift *shifts = t->shifts;
    ptrdiff_t shift = 0;
    size_t at = 0;
    size_t stop = x->n;
    uint32_t n_changes = 0;
    arg_record_copy(t->record, x->record, x->n_record);
    for (;;) {
        if (!is_roomy) {
            ptrdiff_t left = end - text - shift; /* where the text ends, as places in the example count */
            stop = left < (ptrdiff_t)x->n ? (left > 0 ? (size_t)left : 0) : x->n;
        }
        at = same_until(x->text, text + shift, at, stop);
        if (at >= stop) {
            break;
        }
        while (q->to < at) {
            q++;
        }
        unsigned digits = q->from <= at ? take_number(x, t, q, text + q->from + shift) : 0;
        if (digits == 0) {
            return NULL;
        }
        at = q->to;
        if (digits != q->to - q->from) {
            shift += (ptrdiff_t)digits - (ptrdiff_t)(q->to - q->from);
            *shifts++ = (arg_shift){(uint32_t)(q - x->numbers), (int32_t)shift};
        }
        q++;
        n_changes++;
    }
    t->n_changes = n_changes;
    t->n_shifts = (uint32_t)(shifts - t->shifts);
    return is_roomy || end - text - shift >= (ptrdiff_t)x->n ? text + x->n + shift : NULL;
}

/* Where texts have come to differ much from the example, one of them is a better one. It is not tried at each, as they
 * may differ as much from each other. */
static void renew(arg_example *x, arg_taker *t, const char *text, size_t n)
{
    if (x->wait > 0) {
        x->wait--;
    } else {
        x->patience = x->patience * 2 + 1 < MOST_PATIENCE ? x->patience * 2 + 1 : MOST_PATIENCE;
        x->wait = x->patience;
        set_text(x, text, n);
        t->n_shifts = 0;
    }
}

/* Near the text's end, or as one whose record must be wide. */
static const char *follow_carefully(arg_example *x, arg_taker *t, const char *text, const char *end)
{
    t->too_wide = false;
    const char *behind = compare(x, t, text, end, false);
    if (!behind && t->too_wide) {
        widen(x);
        behind = compare(x, t, text, end, false);
    }
    return behind;
}

/* Are the n bytes the same? Mostly there are few. Reads up to 15 bytes behind both. */
static inline bool is_same(const char *a, const char *b, size_t n)
{
#ifdef __SSE2__
    for (;; n -= 16, a += 16, b += 16) {
        __m128i x = _mm_loadu_si128((const __m128i *)(const void *)a);
        __m128i y = _mm_loadu_si128((const __m128i *)(const void *)b);
        unsigned differ = (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(x, y)) ^ 0xFFFFU;
        if (n <= 16) {
            return (differ << (16 - n) & 0xFFFFU) == 0;
        }
        if (differ) {
            return false;
        }
    }
#else
    return memcmp(a, b, n) == 0;
#endif
}

/* As compare() for a text with few numbers, which mostly differ all: each is read. The text goes on behind all that it
 * can take. */
static const char *read_all(const arg_example *x, arg_taker *t, const char *text)
{
    arg_shift *shifts = t->shifts;
    const arg_number *stop = x->numbers + x->n_numbers;
    const char *from = x->text; /* what is next in the example, and in the text */
    const char *p = text;
    int32_t shift = 0;
    arg_record_begin(t->record, x->shape->id, x->is_wide);
    for (const arg_number *q = x->numbers; q < stop; q++) {
        size_t n = (size_t)(x->text + q->from - from);
        unsigned digits = is_same(from, p, n) ? take_number(x, t, q, p + n) : 0;
        if (digits == 0) {
            return NULL;
        }
        p += n + digits;
        from = x->text + q->to;
        if (p - text != from - x->text + shift) {
            shift = (int32_t)((p - text) - (from - x->text));
            *shifts++ = (arg_shift){(uint32_t)(q - x->numbers), shift};
        }
    }
    size_t n = (size_t)(x->text + x->n - from);
    t->n_changes = 0;
    t->n_shifts = (uint32_t)(shifts - t->shifts);
    return is_same(from, p, n) ? p + n : NULL;
}

static inline const char *follow(arg_example *x, arg_taker *t, const char *text, const char *end)
{
    t->too_wide = false;
    const char *behind = NULL;
    if ((size_t)(end - text) > x->n_most) {
        behind = x->n_numbers <= FEW_NUMBERS ? read_all(x, t, text) : compare(x, t, text, end, true);
    } else {
        t->too_wide = true;
    }
    if (t->too_wide) {
        behind = follow_carefully(x, t, text, end);
    }
    if (behind) {
        t->n_record = x->n_record;
        if (t->n_changes > FEW_CHANGES) {
            renew(x, t, text, (size_t)(behind - text));
        } else {
            x->wait = x->patience = 0;
        }
    }
    return behind;
}

/* ------------------------------------------------------------------ which example it may be */

/* Is it of the shape `guess` - 1? @return how much of it is */
static inline size_t try_known(arg_taker *t, uint32_t guess, const char *text, size_t n)
{
    arg_example *x = guess ? t->known[guess - 1].example : NULL;
    const char *stop = x ? follow(x, t, text, text + n) : NULL;
    if (!stop) {
        return 0;
    }
    t->is_example = true;
    t->index = guess - 1;
    return (size_t)(stop - text);
}

/* It is the latest of its kind. */
static void note_of_kind(uint32_t *of_kind, uint32_t met)
{
    unsigned k = 0;
    while (k < ARG_GUESSES - 1 && of_kind[k] != met) {
        k++;
    }
    memmove(of_kind + 1, of_kind, k * sizeof *of_kind);
    of_kind[0] = met;
}

/* It is the latest of its kind, and of all. */
static inline void note_met(arg_taker *t, uint32_t *of_kind)
{
    uint32_t met = t->index + 1;
    if (of_kind[0] != met) {
        note_of_kind(of_kind, met);
    }
    if (t->last) {
        t->known[t->last - 1].next = met;
    }
    t->last = met;
}

/* None of the kind's latest is it. */
static size_t guess_others(arg_taker *t, const uint32_t *of_kind, const char *text, size_t n)
{
    uint32_t next = t->last ? t->known[t->last - 1].next : 0;
    next = next == of_kind[0] ? 0 : next;
    size_t len = 0;
    for (unsigned k = 1; k < ARG_GUESSES && of_kind[k] && len == 0; k++) {
        next = of_kind[k] == next ? 0 : next;
        len = try_known(t, of_kind[k], text, n);
    }
    return len == 0 ? try_known(t, next, text, n) : len;
}

/* Texts of one kind are mostly alike, and so are the sequences of kinds. */
static inline size_t guess(arg_taker *t, const uint32_t *of_kind, const char *text, size_t n)
{
    size_t len = try_known(t, of_kind[0], text, n);
    return len == 0 ? guess_others(t, of_kind, text, n) : len;
}

size_t arg_taker_follow(arg_taker *t, uint32_t kind, const char *text, size_t n)
{
    uint32_t *of_kind = t->of_kind[kind % ARG_KINDS];
    size_t len = guess(t, of_kind, text, n);
    t->text = text;
    t->n = len;
    t->tried = text;
    t->kind = kind;
    if (len > 0) {
        note_met(t, of_kind);
    }
    return len;
}

size_t arg_taker_guess(arg_taker *t, const uint32_t *of_kind, const char *text, size_t n)
{
    return guess(t, of_kind, text, n);
}

void arg_taker_note_met(arg_taker *t, uint32_t *of_kind)
{
    note_met(t, of_kind);
}
