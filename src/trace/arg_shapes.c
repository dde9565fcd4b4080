#include "trace/arg_shapes.h"

#include <stdlib.h>
#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "base/mem.h"

enum { MAX_DIGITS = 18, FIRST_SLOTS = 256, MOST_SEEN = 65536 };

void arg_shapes_init(arg_shapes *s)
{
    *s = (arg_shapes){0};
    (void)pthread_mutex_init(&s->lock, NULL);
    s->all = mem_calloc(ARG_SHAPES_MAX, sizeof(arg_shape *)); /* whole, so that it never moves under a reader */
}

void arg_shapes_deinit(arg_shapes *s)
{
    intern_deinit(&s->texts);
    arena_deinit(&s->mem);
    free((void *)s->all);
    (void)pthread_mutex_destroy(&s->lock);
}

arg_taker *arg_taker_create(arg_shapes *shapes)
{
    arg_taker *t = mem_calloc(1, sizeof *t);
    t->shapes = shapes;
    t->cap_slots = FIRST_SLOTS;
    t->slots = mem_calloc(t->cap_slots, sizeof *t->slots);
    return t;
}

void arg_taker_destroy(arg_taker **tt)
{
    arg_taker *t = *tt;
    if (!t) {
        return;
    }
    free(t->known);
    free(t->slots);
    free(t->form);
    strbuf_deinit(&t->copy);
    map64_deinit(&t->seen);
    free(t);
    *tt = NULL;
}

/* ------------------------------------------------------------------ numbers */

static inline bool is_digit(char c)
{
    return (unsigned char)(c - '0') < 10;
}

static inline uint64_t load8(const char *s)
{
    uint64_t v;
    memcpy(&v, s, 8);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    v = __builtin_bswap64(v);
#endif
    return v;
}

static inline void store8(char *s, uint64_t v)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    v = __builtin_bswap64(v);
#endif
    memcpy(s, &v, 8);
}

/* How many of the 8 bytes are digits before the first that is none. `v`: the bytes less '0' each. */
static inline unsigned leading_digits(uint64_t v)
{
    const uint64_t tops = 0x8080808080808080U;
    uint64_t other = ((v & ~tops) + 0x7676767676767676U) | v; /* the top bit of each byte that is above 9 */
    other &= tops;
    return other ? (unsigned)__builtin_ctzll(other) / 8 : 8;
}

/* The number of up to 8 digits, the first in the lowest byte; those missing count as zeros in front. */
static inline uint64_t join_digits(uint64_t v, unsigned n)
{
    v = n < 8 ? v << (64 - 8 * n) : v;
    v = v * 10 + (v >> 8);
    return (((v & 0x000000FF000000FFU) * 0x000F424000000064U) +
            (((v >> 16) & 0x000000FF000000FFU) * 0x0000271000000001U)) >>
           32 & 0xFFFFFFFFU;
}

/* As read_digits(), behind 8 digits that make `*value`. @return how many in all */
static unsigned read_more_digits(const char *s, uint64_t *value)
{
    static const uint32_t powers[] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};
    uint64_t v = load8(s + 8) ^ 0x3030303030303030U;
    unsigned n = leading_digits(v);
    *value = *value * powers[n] + (n ? join_digits(v, n) : 0);
    n += 8;
    while (n >= 16 && n < MAX_DIGITS && is_digit(s[n])) {
        *value = *value * 10 + (uint64_t)(s[n++] - '0');
    }
    return n;
}

/* Up to 18 digits from `s` on, at least one is there; 24 bytes must be readable. @return how many */
static inline unsigned read_digits(const char *s, uint64_t *value)
{
    uint64_t v = load8(s) ^ 0x3030303030303030U;
    unsigned n = leading_digits(v);
    *value = join_digits(v, n);
    return n < 8 ? n : read_more_digits(s, value);
}

/* ------------------------------------------------------------------ texts that follow a known shape */

/* 16 bytes at once: every processor that matters has registers of that size. */
typedef uint64_t wide __attribute__((vector_size(16)));

static inline wide differ_at(const char *a, const char *b)
{
    wide x;
    wide y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return x ^ y;
}

/* Pieces are short, so that a call costs more than the comparison. Reads 16 bytes where there are less. */
static inline bool same_bytes(const char *a, const char *b, size_t n)
{
    if (n < 16) {
        uint64_t low = load8(a) ^ load8(b);
        if (n <= 8) {
            return n == 0 || low << (64 - 8 * n) == 0;
        }
        return (low | (load8(a + n - 8) ^ load8(b + n - 8))) == 0;
    }
    wide differ = differ_at(a + n - 16, b + n - 16);
    for (size_t i = 0; i + 16 < n; i += 16) {
        differ |= differ_at(a + i, b + i);
    }
    return (differ[0] | differ[1]) == 0;
}

/* @return behind what the shape covers, NULL: the text does not begin with it. What the guess was changes no result: a
 * text has one shape. */
static const char *follow(arg_taker *t, const arg_shape *s, const char *text, const char *end)
{
    const char *p = text;
    uint64_t *now = t->values;
    uint32_t *at = t->at;
    const char *form = s->text;
    for (const arg_piece *q = s->pieces;; q++) {
        if ((size_t)(end - p) < q->len || !same_bytes(p, form + q->at, q->len)) {
            return NULL;
        }
        *at++ = (uint32_t)(p - text);
        p += q->len;
        if (q->mark == ARG_MARK_END) {
            break;
        }
        if (!is_digit(*p)) {
            return NULL;
        }
        uint64_t v;
        unsigned digits = read_digits(p, &v);
        p += digits;
        if (q->mark == ARG_MARK_FIXED) {
            *now++ = digits;
        }
        *now++ = v;
        bool is_fixed = (p[-(ptrdiff_t)digits] == '0' && digits > 1) || q->is_rest;
        if (is_fixed != (q->mark == ARG_MARK_FIXED) || p > end) {
            return NULL; /* else what a text's shape is would hang on the guess */
        }
    }
    t->n_values = s->n_values;
    return p;
}

/* As follow(), for the guess `index` + 1. */
static size_t try_known(arg_taker *t, uint32_t guess, const char *text, size_t n)
{
    const char *stop = guess ? follow(t, t->known[guess - 1].shape, text, text + n) : NULL;
    if (!stop) {
        return 0;
    }
    t->index = guess - 1;
    return (size_t)(stop - text);
}

/* It is the latest of its kind, and of all. */
static void note_met(arg_taker *t, uint32_t kind)
{
    uint32_t *of_kind = t->of_kind[kind % ARG_KINDS];
    uint32_t met = t->index + 1;
    if (of_kind[0] != met) {
        of_kind[1] = of_kind[0];
        of_kind[0] = met;
    }
    if (t->last) {
        t->known[t->last - 1].next = met;
    }
    t->last = met;
}

/* Texts of one kind are mostly alike, and so are the sequences of kinds. */
static size_t guess(arg_taker *t, uint32_t kind, const char *text, size_t n)
{
    const uint32_t *of_kind = t->of_kind[kind % ARG_KINDS];
    size_t len = try_known(t, of_kind[0], text, n);
    if (len == 0 && of_kind[1]) {
        len = try_known(t, of_kind[1], text, n);
    }
    uint32_t next = len == 0 && t->last ? t->known[t->last - 1].next : 0;
    if (next && next != of_kind[0] && next != of_kind[1]) {
        len = try_known(t, next, text, n);
    }
    return len;
}

size_t arg_taker_follow(arg_taker *t, uint32_t kind, const char *text, size_t n)
{
    size_t len = guess(t, kind, text, n);
    t->text = text;
    t->n = len;
    t->tried = text;
    t->kind = kind;
    if (len > 0) {
        note_met(t, kind);
    }
    return len;
}

/* ------------------------------------------------------------------ new shapes */

/* Copies up to the first byte that is a digit or a mark, or to the end. There is room for 16 bytes more than the text
 * has. @return how many bytes */
static inline size_t copy_plain(char *out, const char *p, const char *end)
{
    const char *from = p;
#ifdef __SSE2__
    const __m128i below_zero = _mm_set1_epi8((char)('0' + 128));
    const __m128i ten = _mm_set1_epi8(10 - 128);
    for (; end - p >= 16; p += 16, out += 16) {
        __m128i v = _mm_loadu_si128((const __m128i *)(const void *)p);
        _mm_storeu_si128((__m128i *)(void *)out, v);
        __m128i special = _mm_cmplt_epi8(_mm_sub_epi8(v, below_zero), ten);
        special = _mm_or_si128(special, _mm_cmpeq_epi8(v, _mm_set1_epi8(ARG_MARK_NUMBER)));
        special = _mm_or_si128(special, _mm_cmpeq_epi8(v, _mm_set1_epi8(ARG_MARK_FIXED)));
        unsigned mask = (unsigned)_mm_movemask_epi8(special);
        if (mask != 0) {
            return (size_t)(p - from) + (unsigned)__builtin_ctz(mask);
        }
    }
#endif
    while (p < end && !is_digit(*p) && *p != ARG_MARK_NUMBER && *p != ARG_MARK_FIXED) {
        *out++ = *p++;
    }
    return (size_t)(p - from);
}

/* The text's shape into t->form, its numbers into t->values. `text` has ARG_PAD_BYTES behind it that are no digits.
 * @return false when it must stay as it is */
static bool take_apart(arg_taker *t, const char *text, size_t n)
{
    VEC_RESERVE(t->form, t->cap_form, n + 16);
    char *out = t->form;
    const char *p = text;
    const char *end = text + n;
    size_t n_pieces = 0;
    t->n_values = 0;
    for (;;) {
        t->at[n_pieces++] = (uint32_t)(p - text);
        size_t plain = copy_plain(out, p, end);
        out += plain;
        p += plain;
        if (p == end) {
            break;
        }
        if (!is_digit(*p) || t->n_values + 2 > ARG_VALUES_MAX) {
            return false;
        }
        uint64_t v;
        unsigned digits = read_digits(p, &v);
        bool is_fixed = (*p == '0' && digits > 1) || (plain == 0 && p > text);
        p += digits;
        if (is_fixed) {
            t->values[t->n_values++] = digits;
        }
        t->values[t->n_values++] = v;
        *out++ = is_fixed ? ARG_MARK_FIXED : ARG_MARK_NUMBER;
    }
    t->n_form = (size_t)(out - t->form);
    return t->n_form <= ARG_SHAPE_BYTES_MAX;
}

static uint32_t count_pieces(const char *text, size_t n, uint32_t *n_values)
{
    uint32_t n_pieces = 1;
    *n_values = 0;
    for (size_t i = 0; i < n; i++) {
        n_pieces += text[i] == ARG_MARK_NUMBER || text[i] == ARG_MARK_FIXED;
        *n_values += text[i] == ARG_MARK_NUMBER ? 1U : text[i] == ARG_MARK_FIXED ? 2U : 0U;
    }
    return n_pieces;
}

static arg_shape *make_shape(arg_shapes *s, const char *text, size_t n)
{
    arg_shape *shape = arena_alloc(&s->mem, sizeof *shape);
    char *copy = arena_alloc(&s->mem, n + ARG_PAD_BYTES);
    memcpy(copy, text, n);
    memset(copy + n, 0, ARG_PAD_BYTES);
    uint32_t n_values;
    uint32_t n_pieces = count_pieces(text, n, &n_values);
    arg_piece *pieces = arena_alloc(&s->mem, n_pieces * sizeof *pieces);
    uint32_t from = 0;
    for (uint32_t i = 0, k = 0; k < n_pieces; i++) {
        uint32_t mark = i < n ? (uint8_t)text[i] : ARG_MARK_END;
        if (i == n || mark == ARG_MARK_NUMBER || mark == ARG_MARK_FIXED) {
            pieces[k] = (arg_piece){from, i - from, (uint8_t)mark, i == from && k > 0};
            k++;
            from = i + 1;
        }
    }
    *shape = (arg_shape){copy, pieces, (uint32_t)n, 0, n_pieces, n_values};
    return shape;
}

/* The table's shape of t->form; made where there is room and `may_make`. */
static const arg_shape *shape_of(arg_taker *t, bool is_again)
{
    arg_shapes *s = t->shapes;
    uint32_t id;
    (void)pthread_mutex_lock(&s->lock);
    bool found = intern_find(&s->texts, t->form, t->n_form, &id);
    bool has_room = s->texts.n < ARG_SHAPES_MAX && s->n_bytes + t->n_form <= ARG_SHAPES_BYTES_MAX;
    if (!found && has_room && (is_again || s->texts.n < ARG_SHAPES_FREE)) {
        arg_shape *shape = make_shape(s, t->form, t->n_form);
        id = shape->id = intern_put(&s->texts, t->form, t->n_form);
        s->all[id] = shape;
        s->n_bytes += t->n_form;
        found = true;
    }
    const arg_shape *shape = found ? s->all[id] : NULL;
    (void)pthread_mutex_unlock(&s->lock);
    return shape;
}

static void grow_slots(arg_taker *t)
{
    free(t->slots);
    t->cap_slots *= 2;
    t->slots = mem_calloc(t->cap_slots, sizeof *t->slots);
    for (size_t i = 0; i < t->n_known; i++) {
        size_t k = t->known[i].hash & (t->cap_slots - 1);
        while (t->slots[k]) {
            k = (k + 1) & (t->cap_slots - 1);
        }
        t->slots[k] = (uint32_t)i + 1;
    }
}

/* t->index of t->form. @return false: it has no shape */
static bool find_known(arg_taker *t)
{
    uint64_t hash = hash_bytes(t->form, t->n_form);
    size_t k = hash & (t->cap_slots - 1);
    for (; t->slots[k]; k = (k + 1) & (t->cap_slots - 1)) {
        const arg_known *known = &t->known[t->slots[k] - 1];
        if (known->hash == hash && known->shape->len == t->n_form &&
            memcmp(known->shape->text, t->form, t->n_form) == 0) {
            t->index = t->slots[k] - 1;
            return true;
        }
    }
    const arg_shape *shape = shape_of(t, map64_get(&t->seen, hash) != NULL);
    if (!shape) {
        if (t->seen.n >= MOST_SEEN) {
            map64_deinit(&t->seen);
        }
        (void)map64_put(&t->seen, hash);
        return false;
    }
    VEC_PUSH(t->known, t->n_known, t->cap_known, ((arg_known){shape, hash, 0}));
    t->index = (uint32_t)(t->n_known - 1);
    t->slots[k] = t->index + 1;
    if (t->n_known * 2 > t->cap_slots) {
        grow_slots(t);
    }
    return true;
}

bool arg_taker_take(arg_taker *t, uint32_t kind, const char *text, size_t n)
{
    static const char pad[ARG_PAD_BYTES];
    bool was_tried = t->tried == text; /* and was none of the likely ones, or went on behind one */
    kind = was_tried ? t->kind : kind;
    t->tried = NULL;
    strbuf_clear(&t->copy);
    strbuf_add(&t->copy, text, n);
    strbuf_add(&t->copy, pad, sizeof pad);
    t->text = text;
    t->n = 0;
    bool known = !was_tried && guess(t, kind, t->copy.s, n) == n;
    if (!known && !(take_apart(t, t->copy.s, n) && find_known(t))) {
        return false;
    }
    t->n = n;
    note_met(t, kind);
    return true;
}

/* ------------------------------------------------------------------ records */

/* How many bytes a value takes, as a power of two. */
static inline unsigned size_of(uint64_t value)
{
    static const uint8_t sizes[8] = {0, 1, 2, 2, 3, 3, 3, 3}; /* by the value's last byte that is not 0 */
    return sizes[(63 - (unsigned)__builtin_clzll(value | 1)) / 8];
}

size_t arg_taker_record(const arg_taker *t, char *out)
{
    uint32_t head = t->known[t->index].shape->id + 1;
    const uint64_t *value = t->values;
    const uint64_t *end = value + t->n_values;
    memcpy(out, &head, sizeof head);
    char *sizes = out + sizeof head;
    char *p = sizes + (t->n_values + 3) / 4;
    while (value < end) {
        unsigned group = 0;
        for (unsigned shift = 0; shift < 8 && value < end; shift += 2) {
            unsigned size = size_of(*value);
            store8(p, *value++);
            p += (size_t)1 << size;
            group |= size << shift;
        }
        *sizes++ = (char)group;
    }
    return (size_t)(p - out);
}

void arg_record_text(char *out, const char *text, size_t n)
{
    const uint32_t none = 0;
    memcpy(out, &none, sizeof none);
    memcpy(out + sizeof none, text, n);
}

void arg_put_number(strbuf *out, uint64_t v, uint64_t width)
{
    char digits[24];
    size_t n = 0;
    do {
        digits[sizeof digits - ++n] = (char)('0' + v % 10);
        v /= 10;
    } while (v > 0);
    while (n < width && n < sizeof digits) {
        digits[sizeof digits - ++n] = '0';
    }
    strbuf_add(out, digits + sizeof digits - n, n);
}

void arg_record_decode(const arg_shapes *s, const char *record, size_t n, strbuf *out)
{
    uint32_t head = 0;
    memcpy(&head, record, sizeof head);
    if (head == 0) {
        strbuf_add(out, record + sizeof head, n - sizeof head);
        return;
    }
    const arg_shape *shape = arg_shapes_at(s, head - 1);
    arg_values v = arg_values_of(record, shape->n_values);
    for (const arg_piece *q = shape->pieces;; q++) {
        strbuf_add(out, shape->text + q->at, q->len);
        if (q->mark == ARG_MARK_END) {
            return;
        }
        uint64_t width = q->mark == ARG_MARK_FIXED ? arg_values_next(&v) : 0;
        arg_put_number(out, arg_values_next(&v), width);
    }
}
