#include "store/args.h"

#include <stdlib.h>
#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "base/mem.h"

enum { MOST_VARINT = 10, MOST_REF = 3, USUAL_MASK = 2, USUAL_NUMBERS = 6, WORDS_PAD = 8, AHEAD = 16 };
_Static_assert(ARG_SHAPES_MAX + 1 < 1 << 7 * MOST_REF, "a template's number and what stands beside them");

/* A shape that the block uses. */
typedef struct local_template {
    uint32_t id;
    uint32_t n_values;
    size_t first_word; /* of the values of the last event: one word each, or two where they are wide */
    bool is_wide;
} local_template;

typedef struct bytes {
    uint8_t *p;
    size_t n, cap;
} bytes;

struct args_encoder {
    const arg_shapes *shapes;
    local_template *templates;
    size_t n_templates, cap_templates;
    uint32_t *words; /* n_words, and WORDS_PAD more */
    size_t n_words, cap_words;
    uint32_t *local; /* by shape: index in `templates` + 1; 0, or behind its end: the block doesn't use it */
    size_t n_local;
    bytes refs, masks, numbers, literals;
};

args_encoder *args_encoder_create(const arg_shapes *shapes)
{
    args_encoder *e = mem_calloc(1, sizeof *e);
    e->shapes = shapes;
    return e;
}

void args_encoder_destroy(args_encoder **ee)
{
    args_encoder *e = *ee;
    if (!e) {
        return;
    }
    free(e->templates);
    free(e->words);
    free(e->local);
    free(e->refs.p);
    free(e->masks.p);
    free(e->numbers.p);
    free(e->literals.p);
    free(e);
    *ee = NULL;
}

void args_encoder_begin(args_encoder *e)
{
    for (size_t i = 0; i < e->n_templates; i++) {
        e->local[e->templates[i].id] = 0;
    }
    e->n_templates = 0;
    e->n_words = 0;
    e->refs.n = 0;
    e->masks.n = 0;
    e->numbers.n = 0;
    e->literals.n = 0;
}

/* There is room for MOST_VARINT bytes. @return behind it */
static inline uint8_t *put_varint(uint8_t *p, uint64_t v)
{
    while (v >= 0x80) {
        *p++ = (uint8_t)(v | 0x80);
        v >>= 7;
    }
    *p++ = (uint8_t)v;
    return p;
}

static inline void add_varint(bytes *b, uint64_t v)
{
    VEC_RESERVE(b->p, b->cap, b->n + MOST_VARINT);
    b->n = (size_t)(put_varint(b->p + b->n, v) - b->p);
}

static void put_literal(args_encoder *e, const char *text, size_t n)
{
    add_varint(&e->numbers, n);
    VEC_RESERVE(e->literals.p, e->literals.cap, e->literals.n + n);
    memcpy(e->literals.p + e->literals.n, text, n);
    e->literals.n += n;
}

static inline uint8_t *put_change(uint8_t *out, int64_t change)
{
    return put_varint(out, ((uint64_t)change << 1) ^ (uint64_t)(change >> 63));
}

/* A bit for each of 4 words that differ. */
static inline unsigned differing(const char *values, const uint32_t *before)
{
#ifdef __SSE2__
    __m128i a = _mm_loadu_si128((const __m128i *)(const void *)values);
    __m128i b = _mm_loadu_si128((const __m128i *)(const void *)before);
    return (unsigned)_mm_movemask_ps(_mm_castsi128_ps(_mm_cmpeq_epi32(a, b))) ^ 15U;
#else
    uint32_t word[4];
    unsigned bits = 0;
    memcpy(word, values, sizeof word);
    for (unsigned i = 0; i < 4; i++) {
        bits |= word[i] != before[i] ? 1U << i : 0;
    }
    return bits;
#endif
}

/* Values of 32 bits; up to 8 words behind them are readable, at both places. @return behind what is put at `out` */
static inline uint8_t *put_narrow(uint8_t *out, const char *values, uint32_t *before, size_t n, uint8_t *mask)
{
    for (size_t i = 0; i < n; i += 8, values += 8 * sizeof *before, before += 8) {
        unsigned changed = differing(values, before) | differing(values + 4 * sizeof *before, before + 4) << 4;
        changed &= n - i < 8 ? (1U << (n - i)) - 1 : UINT8_MAX;
        *mask++ = (uint8_t)changed;
        for (; changed; changed &= changed - 1) {
            unsigned k = (unsigned)__builtin_ctz(changed);
            uint32_t v;
            memcpy(&v, values + k * sizeof v, sizeof v);
            out = put_change(out, (int64_t)v - (int64_t)before[k]);
            before[k] = v;
        }
    }
    return out;
}

/* Values of 64 bits before, of either width now. */
static uint8_t *put_wide(uint8_t *out, arg_values values, uint32_t *words, size_t n, uint8_t *mask)
{
    for (size_t i = 0; i < n; i++, words += 2) {
        uint64_t before;
        memcpy(&before, words, sizeof before);
        uint64_t v = arg_values_next(&values);
        mask[i / 8] = i % 8 ? mask[i / 8] : 0;
        if (v != before) {
            mask[i / 8] |= (uint8_t)(1U << i % 8);
            out = put_change(out, (int64_t)(v - before));
            memcpy(words, &v, sizeof v);
        }
    }
    return out;
}

/* Words that are 0, and WORDS_PAD more behind them. */
static size_t reserve_words(args_encoder *e, size_t n)
{
    size_t first = e->n_words;
    VEC_RESERVE(e->words, e->cap_words, first + n + WORDS_PAD);
    memset(e->words + first, 0, (n + WORDS_PAD) * sizeof *e->words);
    e->n_words += n;
    return first;
}

static void widen(args_encoder *e, local_template *t)
{
    size_t first = reserve_words(e, (size_t)t->n_values * 2);
    for (uint32_t i = 0; i < t->n_values; i++) {
        uint64_t v = e->words[t->first_word + i];
        memcpy(e->words + first + 2 * (size_t)i, &v, sizeof v);
    }
    t->first_word = first;
    t->is_wide = true;
}

static inline void put_changes(args_encoder *e, local_template *t, const char *record)
{
    size_t n = t->n_values;
    arg_values values = arg_values_of(record);
    if (values.is_wide && !t->is_wide) {
        widen(e, t);
    }
    VEC_RESERVE(e->masks.p, e->masks.cap, e->masks.n + n / 8 + 1);
    VEC_RESERVE(e->numbers.p, e->numbers.cap, e->numbers.n + n * MOST_VARINT);
    uint32_t *before = e->words + t->first_word;
    uint8_t *mask = e->masks.p + e->masks.n;
    uint8_t *out = e->numbers.p + e->numbers.n;
    out = t->is_wide ? put_wide(out, values, before, n, mask) : put_narrow(out, values.p, before, n, mask);
    e->masks.n += (n + 7) / 8;
    e->numbers.n = (size_t)(out - e->numbers.p);
}

static void reserve_local(args_encoder *e, size_t n)
{
    if (n > e->n_local) {
        size_t grown = n + n / 2 + 64;
        e->local = mem_realloc_array(e->local, grown, sizeof *e->local);
        memset(e->local + e->n_local, 0, (grown - e->n_local) * sizeof *e->local);
        e->n_local = grown;
    }
}

static uint32_t new_template(args_encoder *e, uint32_t id)
{
    reserve_local(e, (size_t)id + 1);
    uint32_t n_values = arg_shapes_at(e->shapes, id)->n_values;
    local_template t = {id, n_values, reserve_words(e, n_values), false};
    VEC_PUSH(e->templates, e->n_templates, e->cap_templates, t);
    return e->local[id] = (uint32_t)e->n_templates;
}

void args_encoder_add(args_encoder *e, const char *const *records, const uint32_t *len, size_t n)
{
    VEC_RESERVE(e->refs.p, e->refs.cap, e->refs.n + n * MOST_REF);
    VEC_RESERVE(e->masks.p, e->masks.cap, e->masks.n + n * USUAL_MASK);
    VEC_RESERVE(e->numbers.p, e->numbers.cap, e->numbers.n + n * USUAL_NUMBERS);
    uint8_t *refs = e->refs.p + e->refs.n;
    for (size_t i = 0; i < n; i++) {
        const char *record = records[i];
        if (i + AHEAD < n) { /* they lie in another order */
            __builtin_prefetch(records[i + AHEAD]);
        }
        if (len[i] == 0) {
            *refs++ = 0;
            continue;
        }
        uint32_t head = arg_record_shape(record);
        if (head == 0) {
            *refs++ = 1;
            put_literal(e, record + sizeof head, len[i] - sizeof head);
            continue;
        }
        uint32_t index = head - 1 < e->n_local ? e->local[head - 1] : 0;
        index = index ? index : new_template(e, head - 1);
        refs = put_varint(refs, (uint64_t)index + 1);
        put_changes(e, &e->templates[index - 1], record);
    }
    e->refs.n = (size_t)(refs - e->refs.p);
}

void args_encoder_end(args_encoder *e, strbuf *out)
{
    bytes head = {0};
    add_varint(&head, e->n_templates);
    for (size_t i = 0; i < e->n_templates; i++) {
        add_varint(&head, e->templates[i].id);
    }
    const bytes *parts[4] = {&e->refs, &e->masks, &e->numbers, &e->literals};
    size_t n = 0;
    for (unsigned i = 0; i < 4; i++) {
        add_varint(&head, parts[i]->n);
        n += parts[i]->n;
    }
    VEC_RESERVE(out->s, out->cap, out->n + head.n + n + 1);
    strbuf_add(out, (const char *)head.p, head.n);
    for (unsigned i = 0; i < 4; i++) {
        if (parts[i]->n > 0) {
            strbuf_add(out, (const char *)parts[i]->p, parts[i]->n);
        }
    }
    free(head.p);
}
