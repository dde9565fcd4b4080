#include "trace/arg_shapes.h"

#include <stdlib.h>
#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "base/mem.h"
#include "trace/arg_example.h"

enum { FIRST_SLOTS = 256, MOST_SEEN = 65536, EXAMPLE_BYTES_MAX = 32 << 20 };

void arg_shapes_init(arg_shapes *s)
{
    *s = (arg_shapes){0};
    (void)pthread_mutex_init(&s->lock, NULL);
    s->all = mem_alloc(ARG_SHAPES_MAX * sizeof(arg_shape *)); /* whole, so that it never moves under a reader */
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
#ifdef __x86_64__
    t->is_avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2");
#endif
    t->cap_slots = FIRST_SLOTS;
    t->slots = mem_calloc(t->cap_slots, sizeof *t->slots);
    t->record = mem_calloc(1, arg_record_bytes(ARG_VALUES_MAX, true) + ARG_RECORD_FIRST);
    return t;
}

void arg_taker_destroy(arg_taker **tt)
{
    arg_taker *t = *tt;
    if (!t) {
        return;
    }
    for (size_t i = 0; i < t->n_known; i++) {
        arg_example_destroy(&t->known[i].example);
    }
    free(t->known);
    free(t->record);
    free(t->slots);
    free(t->form);
    strbuf_deinit(&t->copy);
    map64_deinit(&t->seen);
    free(t);
    *tt = NULL;
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
    while (p < end && !arg_is_digit(*p) && *p != ARG_MARK_NUMBER && *p != ARG_MARK_FIXED) {
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
        if (!arg_is_digit(*p) || t->n_values + 2 > ARG_VALUES_MAX) {
            return false;
        }
        uint64_t v;
        unsigned digits = arg_read_digits(p, &v);
        bool is_fixed = (*p == '0' && digits > 1) || (plain == 0 && p > text);
        p += digits;
        if (is_fixed) {
            t->values[t->n_values++] = digits;
        }
        t->values[t->n_values++] = v;
        *out++ = is_fixed ? ARG_MARK_FIXED : ARG_MARK_NUMBER;
    }
    t->n_form = (size_t)(out - t->form);
    t->n_pieces = (uint32_t)n_pieces;
    return t->n_form <= ARG_SHAPE_BYTES_MAX;
}

/* The first mark from `at` on, or n. ARG_PAD_BYTES behind the text are no marks. */
static size_t find_mark(const char *text, size_t at, size_t n)
{
#ifdef __SSE2__
    for (; at < n; at += 16) {
        __m128i v = _mm_loadu_si128((const __m128i *)(const void *)(text + at));
        __m128i marks = _mm_or_si128(_mm_cmpeq_epi8(v, _mm_set1_epi8(ARG_MARK_NUMBER)),
                                     _mm_cmpeq_epi8(v, _mm_set1_epi8(ARG_MARK_FIXED)));
        unsigned mask = (unsigned)_mm_movemask_epi8(marks);
        if (mask != 0) {
            return at + (unsigned)__builtin_ctz(mask);
        }
    }
#else
    while (at < n && text[at] != ARG_MARK_NUMBER && text[at] != ARG_MARK_FIXED) {
        at++;
    }
#endif
    return at < n ? at : n;
}

/* Of t->form. */
static arg_shape *make_shape(arg_shapes *s, const arg_taker *t)
{
    size_t n = t->n_form;
    arg_shape *shape = arena_alloc(&s->mem, sizeof *shape);
    char *copy = arena_alloc(&s->mem, n + ARG_PAD_BYTES);
    memcpy(copy, t->form, n);
    memset(copy + n, 0, ARG_PAD_BYTES);
    arg_piece *pieces = arena_alloc(&s->mem, t->n_pieces * sizeof *pieces);
    uint32_t from = 0;
    for (uint32_t k = 0; k < t->n_pieces; k++) {
        uint32_t at = (uint32_t)find_mark(copy, from, n);
        pieces[k] = (arg_piece){from, at - from, (uint8_t)copy[at], at == from && k > 0};
        from = at + 1;
    }
    *shape = (arg_shape){copy, pieces, (uint32_t)n, 0, t->n_pieces, t->n_values};
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
        arg_shape *shape = make_shape(s, t);
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
    VEC_PUSH(t->known, t->n_known, t->cap_known, ((arg_known){.shape = shape, .hash = hash}));
    t->index = (uint32_t)(t->n_known - 1);
    t->slots[k] = t->index + 1;
    if (t->n_known * 2 > t->cap_slots) {
        grow_slots(t);
    }
    return true;
}

/* The record of what was taken apart. */
static void put_record(arg_taker *t)
{
    uint64_t any = 0;
    for (uint32_t i = 0; i < t->n_values; i++) {
        any |= t->values[i];
    }
    bool is_wide = any > UINT32_MAX;
    arg_record_begin(t->record, t->known[t->index].shape->id, is_wide);
    for (uint32_t i = 0; i < t->n_values; i++) {
        arg_record_set(t->record, is_wide, i, t->values[i]);
    }
    t->n_record = arg_record_bytes(t->n_values, is_wide);
    t->is_example = false;
}

static void keep_example(arg_taker *t, const char *text, size_t n)
{
    arg_known *known = &t->known[t->index];
    if (!known->example && t->n_example_bytes < EXAMPLE_BYTES_MAX) {
        known->example = arg_example_create(known->shape, text, n);
        t->n_example_bytes += arg_example_bytes(known->example);
    }
}

bool arg_taker_take(arg_taker *t, uint32_t kind, const char *text, size_t n)
{
    static const char pad[ARG_PAD_BYTES];
    bool was_tried = t->tried == text; /* and was none of the likely ones, or went on behind one */
    kind = was_tried ? t->kind : kind;
    strbuf_clear(&t->copy);
    strbuf_add(&t->copy, text, n);
    strbuf_add(&t->copy, pad, sizeof pad);
    bool known = !was_tried && arg_taker_follow(t, kind, t->copy.s, n) == n;
    t->tried = NULL;
    t->text = text;
    t->n = 0;
    if (!known) {
        if (!(take_apart(t, t->copy.s, n) && find_known(t))) {
            return false;
        }
        put_record(t);
        keep_example(t, t->copy.s, n);
        arg_taker_note_met(t, kind);
    }
    t->n = n;
    return true;
}

/* ------------------------------------------------------------------ records */

uint32_t arg_taker_piece(const arg_taker *t, uint32_t k)
{
    if (!t->is_example) {
        return t->at[k];
    }
    int32_t by = 0;
    for (uint32_t i = 0; i < t->n_shifts && t->shifts[i].number < k; i++) {
        by = t->shifts[i].by;
    }
    const arg_example *x = t->known[t->index].example;
    return k == 0 ? 0 : (uint32_t)((int32_t)x->numbers[k - 1].to + by);
}

void arg_taker_places(arg_taker *t)
{
    const arg_known *known = &t->known[t->index];
    if (!t->is_example) {
        return;
    }
    const arg_shift *shift = t->shifts;
    int32_t by = 0;
    t->at[0] = 0;
    for (uint32_t k = 1; k < known->shape->n_pieces; k++) {
        if (shift < t->shifts + t->n_shifts && shift->number == k - 1) {
            by = shift++->by;
        }
        t->at[k] = (uint32_t)((int32_t)known->example->numbers[k - 1].to + by);
    }
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
    uint32_t head = arg_record_shape(record);
    if (head == 0) {
        strbuf_add(out, record + sizeof head, n - sizeof head);
        return;
    }
    const arg_shape *shape = arg_shapes_at(s, head - 1);
    arg_values v = arg_values_of(record);
    for (const arg_piece *q = shape->pieces;; q++) {
        strbuf_add(out, shape->text + q->at, q->len);
        if (q->mark == ARG_MARK_END) {
            return;
        }
        uint64_t width = q->mark == ARG_MARK_FIXED ? arg_values_next(&v) : 0;
        arg_put_number(out, arg_values_next(&v), width);
    }
}
