#include "trace/arg_example.h"

#include <stdlib.h>

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "base/mem.h"

enum { FEW_NUMBERS = 4, FEW_CHANGES = 4, MOST_PATIENCE = 64, STEP_RATIO = 4 };

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
        number->from = (uint32_t)(p - x->text);
        number->to = number->from + digits;
        number->value = value;
        number->is_fixed = is_fixed;
        number->is_rest = q->is_rest;
        number++;
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

static arg_step step_to(const arg_example *x, uint32_t at, uint32_t to)
{
    uint32_t n = to - at;
    return (arg_step){.text = x->text + at, .at = at, .n = n, .last_bits = n ? UINT32_MAX >> (31 - (n - 1) % 32) : 0};
}

static void set_steps(arg_example *x)
{
    uint32_t at = 0;
    x->n_steps = 0;
    for (uint32_t i = 0; i < x->n_numbers; i++) {
        const arg_number *q = &x->numbers[i];
        if (!q->is_step) {
            continue;
        }
        arg_step *s = &x->steps[x->n_steps++];
        *s = step_to(x, at, q->from);
        s->digits = q->to - q->from;
        s->stride = s->n + s->digits;
        s->number = i;
        s->value = q->value;
        s->is_fixed = q->is_fixed;
        s->is_rest = q->is_rest;
        s->limit = q->is_fixed || q->is_rest || x->is_wide ? 0 : (uint64_t)UINT32_MAX + 1;
        at = q->to;
    }
    x->steps[x->n_steps] = step_to(x, at, x->n);
}

static void widen(arg_example *x)
{
    x->is_wide = true;
    (void)measure(x);
    set_steps(x);
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
    x->n_most = (uint32_t)n + x->n_numbers * ARG_DIGITS_MAX;
    if (measure(x)) {
        set_steps(x);
    } else {
        widen(x);
    }
}

arg_example *arg_example_create(const arg_shape *shape, const char *text, size_t n)
{
    arg_example *x = mem_calloc(1, sizeof *x);
    x->shape = shape;
    x->n_numbers = shape->n_pieces - 1;
    x->numbers = mem_calloc(shape->n_pieces, sizeof *x->numbers);
    x->steps = mem_alloc(shape->n_pieces * sizeof *x->steps);
    for (uint32_t i = 0; i < x->n_numbers; i++) {
        x->numbers[i].is_step = x->n_numbers <= FEW_NUMBERS; /* these mostly differ all */
    }
    x->record = mem_calloc(1, arg_record_bytes(shape->n_values, true) + ARG_RECORD_FIRST);
    set_text(x, text, n);
    return x;
}

void arg_example_destroy(arg_example **xx)
{
    arg_example *x = *xx;
    if (x) {
        free(x->text);
        free(x->numbers);
        free(x->steps);
        free(x->record);
        free(x);
    }
    *xx = NULL;
}

size_t arg_example_bytes(const arg_example *x)
{
    return sizeof *x + x->cap + x->shape->n_pieces * (sizeof *x->numbers + sizeof *x->steps) +
           arg_record_bytes(x->shape->n_values, true);
}

/* ------------------------------------------------------------------ following it */

/* How far a text has been followed. */
typedef struct arg_place {
    size_t at;       /* in the example */
    ptrdiff_t shift; /* from there to the place in the text */
    arg_number *q;   /* what is to come */
    arg_shift *shifts;
} arg_place;

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

/* As arg_read_digits(). @return 0: there is none */
static inline unsigned read_run_any(const char *s, uint64_t *v)
{
    uint64_t first = digits_load(s) ^ 0x3030303030303030U;
    unsigned n = arg_leading_digits(first);
    *v = 0;
    if (n == 0) {
        return 0;
    }
    *v = arg_join_digits(first, n);
    return n < 8 ? n : arg_read_more_digits(s, v);
}

/* Of digits at `s`, are they of the form that a number of the example has? Else what shape a text is of would hang on
 * the guess. */
static inline bool is_of_form(const char *s, unsigned digits, bool is_fixed, bool is_rest)
{
    return (((*s == '0') & (digits > 1)) | is_rest) == is_fixed;
}

/* A text's number at `s`, in place of one of the example. @return its digits; 0: it is of another form, or too wide */
static __attribute__((noinline)) unsigned take_number(arg_taker *t, bool is_wide, uint32_t value, bool is_fixed,
                                                      bool is_rest, const char *s)
{
    uint64_t v;
    unsigned digits = read_run_any(s, &v);
    if (digits == 0 || !is_of_form(s, digits, is_fixed, is_rest)) {
        return 0;
    }
    if (!is_wide && v > UINT32_MAX) {
        t->too_wide = true;
        return 0;
    }
    if (is_fixed) {
        arg_record_set(t->record, is_wide, value++, digits);
    }
    arg_record_set(t->record, is_wide, value, v);
    return digits;
}

/* Where the text differs at `at` of the example, before its number q or at it: the form of what was tried goes wrong
 * there, and that of others that go wrong elsewhere cannot fit. */
static void note_odd(const arg_example *x, arg_taker *t, const arg_number *q, size_t at, const char *odd)
{
    size_t k = (size_t)(q - x->numbers);
    const arg_piece *piece = &x->shape->pieces[k];
    size_t from = k > 0 ? x->numbers[k - 1].to : 0;
    t->odd = odd;
    t->odd_shape = x->shape;
    t->odd_at = (uint32_t)(piece->at + (q->from <= at ? piece->len : at - from));
}

/* From a place on to the end of the example. `is_roomy`: the text goes on behind all that it can take. */
static const char *compare(arg_example *x, arg_taker *t, const char *text, const char *end, arg_place *place,
                           bool is_roomy)
{
    arg_number *q = place->q;
    arg_shift *shifts = place->shifts;
    ptrdiff_t shift = place->shift;
    size_t at = place->at;
    size_t stop = x->n;
    uint32_t n_changes = 0;
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
        bool is_number = q->from <= at;
        const char *s = text + (is_number ? q->from : at) + shift;
        unsigned digits = is_number ? take_number(t, x->is_wide, q->value, q->is_fixed, q->is_rest, s) : 0;
        if (digits == 0) {
            note_odd(x, t, q, at, s);
            return NULL;
        }
        at = q->to;
        if (digits != q->to - q->from) {
            shift += (ptrdiff_t)digits - (ptrdiff_t)(q->to - q->from);
            *shifts++ = (arg_shift){(uint32_t)(q - x->numbers), (int32_t)shift};
        }
        q->n_differ++;
        q++;
        n_changes++;
    }
    t->n_changes = n_changes;
    t->n_shifts = (uint32_t)(shifts - t->shifts);
    return is_roomy || end - text - shift >= (ptrdiff_t)x->n ? text + x->n + shift : NULL;
}

/* Numbers that differ often become steps. */
static void choose_steps(arg_example *x)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < x->n_numbers; i++) {
        arg_number *q = &x->numbers[i];
        q->is_step |= q->n_differ > 1 && (uint64_t)q->n_differ * STEP_RATIO >= x->n_tries;
        n += q->is_step;
    }
    if (n > x->n_steps) {
        set_steps(x);
    }
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
    const char *behind = NULL;
    for (int tries = 0; tries < 2 && !behind && (tries == 0 || t->too_wide); tries++) {
        if (t->too_wide) {
            widen(x);
        }
        arg_place place = {0, 0, x->numbers, t->shifts};
        arg_record_copy(t->record, x->record, x->n_record);
        behind = compare(x, t, text, end, &place, false);
    }
    t->odd = NULL; /* the end of the text may be what was odd */
    return behind;
}

/* A number that is no step differs, or the text is of another shape. */
static const char *follow_on(arg_example *x, arg_taker *t, const char *text, const char *end, arg_place *place)
{
    const char *behind = compare(x, t, text, end, place, true);
    if (!behind) {
        return NULL;
    }
    choose_steps(x);
    if (t->n_changes > FEW_CHANGES) {
        renew(x, t, text, (size_t)(behind - text));
    } else {
        x->wait = x->patience = 0;
    }
    return behind;
}

/* ------------------------------------------------------------------ which example it may be */

/* May it be of the shape `guess` - 1? Its form up to the odd byte is that of what was tried, its form there is not. */
static bool may_be(const arg_taker *t, uint32_t guess)
{
    if (!t->odd) {
        return true;
    }
    const arg_shape *shape = t->known[guess - 1].shape;
    uint32_t at = t->odd_at;
    if (shape->len <= at) {
        return true;
    }
    char form = shape->text[at];
    bool is_mark = form == ARG_MARK_NUMBER || form == ARG_MARK_FIXED;
    return (arg_is_digit(*t->odd) ? is_mark && form != t->odd_shape->text[at] : form == *t->odd) &&
           (at < 8 || digits_load(shape->text + at - 8) == digits_load(t->odd_shape->text + at - 8));
}

/* It is the latest of its kind: the others move on, up to where it was. */
static inline void note_of_kind(uint32_t *of_kind, uint32_t met)
{
    uint32_t moved = met;
    for (unsigned k = 0; k < ARG_GUESSES; k++) {
        uint32_t here = of_kind[k];
        of_kind[k] = moved;
        if (here == met) {
            return;
        }
        moved = here;
    }
}

/* It is the latest of its kind, and of all, and what came behind the two before it. */
static inline void note_met(arg_taker *t, uint32_t *of_kind)
{
    uint32_t met = t->index + 1;
    note_of_kind(of_kind, met);
    t->of_context[t->context] = (uint16_t)met; /* the very last of all that there can be is none */
    if (t->last) {
        t->known[t->last - 1].next = met;
    }
    t->before_last = t->last;
    t->last = met;
}

/* Are the n bytes the same? `last_bits`: as in arg_step. Mostly there are few. Reads up to 31 bytes behind both. */
static inline bool is_same_any(const char *a, const char *b, size_t n, uint32_t last_bits)
{
    (void)last_bits;
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

/* The least number that is plain, by its digits: no zeros lead it, and there are some digits, and not too many. */
static const uint64_t plain_least[ARG_DIGITS_MAX + 1] = {UINT64_MAX, 0,          10,         100,        1000,
                                                         10000,      100000,     1000000,    10000000,   100000000,
                                                         1000000000, UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX,
                                                         UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX};

/* The usual way is one function, and what is seldom done is apart from it: else calls and kept registers are much of
 * what it costs. */
#define WITHIN inline __attribute__((always_inline))
#define APART  __attribute__((noinline))

static inline void copy_first_any(char *to, const char *from)
{
    memcpy(to, from, ARG_RECORD_FIRST);
}

#define FOLLOW(name) name##_any
#define TARGET
#include "trace/arg_follow.inc"

#ifdef __x86_64__
DIGITS_AVX2 static inline uint32_t same_bytes_avx2(const char *a, const char *b)
{
    __m256i x = _mm256_loadu_si256((const __m256i *)(const void *)a);
    __m256i y = _mm256_loadu_si256((const __m256i *)(const void *)b);
    return (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(x, y));
}

DIGITS_AVX2 static inline bool is_same_avx2(const char *a, const char *b, size_t n, uint32_t last_bits)
{
    for (; n > 32; n -= 32, a += 32, b += 32) {
        if (same_bytes_avx2(a, b) != UINT32_MAX) {
            return false;
        }
    }
    return (~same_bytes_avx2(a, b) & last_bits) == 0;
}

DIGITS_AVX2 static inline void copy_first_avx2(char *to, const char *from)
{
    _Static_assert(ARG_RECORD_FIRST == 64, "two registers");
    __m256i a = _mm256_loadu_si256((const __m256i *)(const void *)from);
    __m256i b = _mm256_loadu_si256((const __m256i *)(const void *)(from + 32));
    _mm256_storeu_si256((__m256i *)(void *)to, a);
    _mm256_storeu_si256((__m256i *)(void *)(to + 32), b);
}

/* Up to 16 digits. */
DIGITS_AVX2 static inline unsigned read_run_avx2(const char *p, uint64_t *v)
{
    __m128i digits = digits_load_avx2(p);
    unsigned n = digits_count_avx2(digits);
    *v = digits_join_avx2(digits, n);
    return n;
}

#define FOLLOW(name) name##_avx2
#define TARGET       DIGITS_AVX2
#include "trace/arg_follow.inc"
#endif

size_t arg_taker_follow(arg_taker *t, uint32_t kind, const char *text, size_t n)
{
#ifdef __x86_64__
    if (t->is_avx2) {
        return take_avx2(t, kind, text, n);
    }
#endif
    return take_any(t, kind, text, n);
}

void arg_taker_note_met(arg_taker *t, uint32_t kind)
{
    note_met(t, t->of_kind[kind % ARG_KINDS]);
}
