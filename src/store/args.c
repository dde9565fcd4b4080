#include "store/args.h"

#include <stdlib.h>
#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif
#ifdef __x86_64__
#include <immintrin.h>
#define AVX512 __attribute__((target("avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,bmi,bmi2,popcnt")))
#endif

#include "base/mem.h"

enum { MOST_VARINT = 10, MOST_REF = 3, USUAL_MASK = 2, USUAL_NUMBERS = 6, AHEAD = 16 };
/* Behind what is used: words that are read and written with those before them, and bytes that are written so. */
enum { WORDS_PAD = 16, NUMBERS_PAD = 64 };
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
    bool has_avx512;
};

args_encoder *args_encoder_create(const arg_shapes *shapes)
{
    args_encoder *e = mem_calloc(1, sizeof *e);
    e->shapes = shapes;
    args_encoder_set_wide(e, true);
    return e;
}

void args_encoder_set_wide(args_encoder *e, bool is_wide)
{
#ifdef __x86_64__
    e->has_avx512 = is_wide && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
                    __builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("avx512vbmi2");
#else
    e->has_avx512 = false && is_wide;
#endif
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

/* A reference: which one comes next is as good as random, and mostly they take one byte or two. There is room for
 * MOST_REF bytes. */
static inline uint8_t *put_ref(uint8_t *p, uint32_t v)
{
    if (v >= 1U << 14) {
        return put_varint(p, v);
    }
    unsigned is_long = v >= 0x80;
    p[0] = (uint8_t)((v & 0x7f) | is_long << 7);
    p[1] = (uint8_t)(v >> 7);
    return p + 1 + is_long;
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

#ifdef __x86_64__
/*
 * The same for eight values at once, and nothing is jumped over or gone round: what is put depends on numbers that are
 * as good as random. A change of at most 56 bits is its seven-bit groups, a byte each, of which those from the highest
 * that is not zero on are squeezed together; the lowest of a value that changed is there in any case.
 */
AVX512 static inline uint8_t *put_groups(uint8_t *out, __m512i zigzag, unsigned changed)
{
    const __m512i shifts = _mm512_set1_epi64(0x312a231c150e0700);
    __m512i groups = _mm512_and_si512(_mm512_multishift_epi64_epi8(shifts, zigzag), _mm512_set1_epi8(0x7f));
    uint64_t used = _mm512_test_epi8_mask(groups, groups);
    used |= used >> 1 & 0x7f7f7f7f7f7f7f7f;
    used |= used >> 2 & 0x3f3f3f3f3f3f3f3f;
    used |= used >> 4 & 0x0f0f0f0f0f0f0f0f;
    used |= _pdep_u64(changed, 0x0101010101010101);
    __m512i go_on = _mm512_set1_epi8((char)0x80);
    groups = _mm512_mask_add_epi8(groups, used >> 1 & 0x7f7f7f7f7f7f7f7f, groups, go_on);
    _mm512_storeu_si512(out, _mm512_maskz_compress_epi8(used, groups));
    return out + __builtin_popcountll(used);
}

/* Of n values from the i-th on: a bit for each that is there, at most 8. */
static inline unsigned there_are(size_t n, size_t i)
{
    return n - i < 8 ? (1U << (n - i)) - 1 : UINT8_MAX;
}

/* Changes go by their sign in the lowest bit; 0 where nothing changed. */
AVX512 static inline __m512i zigzag_of(unsigned changed, __m512i now, __m512i before)
{
    __m512i change = _mm512_maskz_sub_epi64((__mmask8)changed, now, before);
    return _mm512_xor_si512(_mm512_slli_epi64(change, 1), _mm512_srai_epi64(change, 63));
}

AVX512 static uint8_t *put_narrow_avx512(uint8_t *out, const char *values, uint32_t *words, size_t n, uint8_t *mask)
{
    for (size_t i = 0; i < n; i += 8, values += 8 * sizeof *words, words += 8) {
        __m256i now = _mm256_loadu_si256((const __m256i *)(const void *)values);
        __m256i before = _mm256_loadu_si256((const __m256i *)(const void *)words);
        unsigned changed = _mm256_cmpneq_epi32_mask(now, before) & there_are(n, i);
        *mask++ = (uint8_t)changed;
        _mm256_storeu_si256((__m256i *)(void *)words, now); /* what is behind the values is nobody else's */
        out = put_groups(out, zigzag_of(changed, _mm512_cvtepu32_epi64(now), _mm512_cvtepu32_epi64(before)), changed);
    }
    return out;
}

AVX512 static inline uint8_t *put_wide_avx512(uint8_t *out, arg_values values, uint32_t *words, size_t n, uint8_t *mask)
{
    const size_t size = values.is_wide ? sizeof(uint64_t) : sizeof(uint32_t);
    for (size_t i = 0; i < n; i += 8, values.p += 8 * size, words += 16) {
        const unsigned there = there_are(n, i);
        __m512i before = _mm512_loadu_si512(words);
        __m512i now = values.is_wide
                          ? _mm512_maskz_loadu_epi64((__mmask8)there, values.p)
                          : _mm512_cvtepu32_epi64(_mm256_loadu_si256((const __m256i *)(const void *)values.p));
        unsigned changed = _mm512_cmpneq_epi64_mask(now, before) & there;
        __m512i zigzag = zigzag_of(changed, now, before);
        if (_mm512_cmpge_epu64_mask(zigzag, _mm512_set1_epi64((int64_t)1 << 56)) != 0) {
            out = put_wide(out, values, words, n - i < 8 ? n - i : 8, mask++);
            continue;
        }
        *mask++ = (uint8_t)changed;
        _mm512_storeu_si512(words, now);
        out = put_groups(out, zigzag, changed);
    }
    return out;
}
#endif

/* Words that are 0, and WORDS_PAD more behind them. Those that are read and written together are those of one template
 * alone: to read what was just written in other pieces takes its time. */
static size_t reserve_words(args_encoder *e, size_t n)
{
    size_t first = e->n_words;
    n = (n + WORDS_PAD) / WORDS_PAD * WORDS_PAD; /* some even where there are no values */
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

/* Where the next event's changes go. */
typedef struct changes {
    uint8_t *mask, *out;
} changes;

/* Room for those of n values more. */
static inline changes room_for(args_encoder *e, size_t n)
{
    VEC_RESERVE(e->masks.p, e->masks.cap, e->masks.n + n / 8 + 1);
    VEC_RESERVE(e->numbers.p, e->numbers.cap, e->numbers.n + n * MOST_VARINT + NUMBERS_PAD);
    return (changes){e->masks.p + e->masks.n, e->numbers.p + e->numbers.n};
}

static inline void put_so_far(args_encoder *e, const uint8_t *mask, const uint8_t *out)
{
    e->masks.n = (size_t)(mask - e->masks.p);
    e->numbers.n = (size_t)(out - e->numbers.p);
}

static inline void put_plain(args_encoder *e, const local_template *t, arg_values values)
{
    const size_t n = t->n_values;
    uint32_t *before = e->words + t->first_word;
    changes c = room_for(e, n);
    c.out = t->is_wide ? put_wide(c.out, values, before, n, c.mask) : put_narrow(c.out, values.p, before, n, c.mask);
    put_so_far(e, c.mask + (n + 7) / 8, c.out);
}

#ifdef __x86_64__
AVX512 static void put_avx512(args_encoder *e, const local_template *t, arg_values values)
{
    const size_t n = t->n_values;
    uint32_t *before = e->words + t->first_word;
    changes c = room_for(e, n);
    c.out = t->is_wide ? put_wide_avx512(c.out, values, before, n, c.mask)
                       : put_narrow_avx512(c.out, values.p, before, n, c.mask);
    put_so_far(e, c.mask + (n + 7) / 8, c.out);
}
#else
#define put_avx512 put_plain
#endif

/* An event of any kind. @return behind its reference */
static inline __attribute__((always_inline)) uint8_t *add_one(args_encoder *e, uint8_t *refs, const char *record,
                                                              uint32_t len, bool has_avx512)
{
    if (len == 0) {
        *refs++ = 0;
        return refs;
    }
    uint32_t head = arg_record_shape(record);
    if (head == 0) {
        *refs++ = 1;
        put_literal(e, record + sizeof head, len - sizeof head);
        return refs;
    }
    uint32_t index = head - 1 < e->n_local ? e->local[head - 1] : 0;
    index = index ? index : new_template(e, head - 1);
    local_template *t = &e->templates[index - 1];
    arg_values values = arg_values_of(record);
    if (values.is_wide && !t->is_wide) {
        widen(e, t);
    }
    if (has_avx512) {
        put_avx512(e, t, values);
    } else {
        put_plain(e, t, values);
    }
    return put_ref(refs, index + 1);
}

/* They lie in another order. */
static inline void fetch_ahead(const char *const *records, size_t i, size_t n)
{
    if (i + AHEAD < n) {
        __builtin_prefetch(records[i + AHEAD]);
    }
}

static uint8_t *add_plain(args_encoder *e, uint8_t *refs, const char *const *records, const uint32_t *len, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        fetch_ahead(records, i, n);
        refs = add_one(e, refs, records[i], len[i], false);
    }
    return refs;
}

#ifdef __x86_64__
/* What all events of a kind that is usual look at, at hand; and where the next one's changes go. */
typedef struct at_hand {
    const uint32_t *local;
    const local_template *templates;
    uint32_t *words;
    const uint8_t *mask_end, *out_end;
    uint8_t *mask, *out;
    size_t n_local;
} at_hand;

static at_hand take_at_hand(args_encoder *e)
{
    return (at_hand){.local = e->local,
                     .templates = e->templates,
                     .words = e->words,
                     .mask_end = e->masks.p + e->masks.cap,
                     .out_end = e->numbers.p + e->numbers.cap - NUMBERS_PAD,
                     .mask = e->masks.p + e->masks.n,
                     .out = e->numbers.p + e->numbers.n,
                     .n_local = e->n_local};
}

/* Of a usual event: at most eight values mostly. */
AVX512 static inline void put_usual(at_hand *h, const local_template *t, const char *values)
{
    uint32_t *words = h->words + t->first_word;
    if (t->n_values > 8) {
        h->out = put_narrow_avx512(h->out, values, words, t->n_values, h->mask);
        h->mask += (t->n_values + 7) / 8;
        return;
    }
    __m256i now = _mm256_loadu_si256((const __m256i *)(const void *)values);
    __m256i before = _mm256_loadu_si256((const __m256i *)(const void *)words);
    unsigned changed = _bzhi_u32(_mm256_cmpneq_epi32_mask(now, before), t->n_values);
    *h->mask = (uint8_t)changed;
    h->mask += t->n_values > 0;
    _mm256_storeu_si256((__m256i *)(void *)words, now);
    h->out = put_groups(h->out, zigzag_of(changed, _mm512_cvtepu32_epi64(now), _mm512_cvtepu32_epi64(before)), changed);
}

/* An event as most are: its template was there before, and its values are narrow. @return behind its reference; NULL:
 * it is another */
AVX512 static inline uint8_t *add_usual(at_hand *h, uint8_t *refs, const char *record)
{
    uint32_t shape = 0;
    memcpy(&shape, record, sizeof shape); /* of a wide one it is higher than any */
    uint32_t index = shape - 1 < h->n_local ? h->local[shape - 1] : 0;
    const local_template *t = &h->templates[index - 1];
    if (index == 0 || t->is_wide || (size_t)(h->out_end - h->out) < (size_t)t->n_values * MOST_VARINT ||
        (size_t)(h->mask_end - h->mask) <= t->n_values / 8) {
        return NULL;
    }
    put_usual(h, t, record + sizeof shape);
    return put_ref(refs, index + 1);
}

AVX512 static uint8_t *add_avx512(args_encoder *e, uint8_t *refs, const char *const *records, const uint32_t *len,
                                  size_t n)
{
    at_hand h = take_at_hand(e);
    for (size_t i = 0; i < n; i++) {
        fetch_ahead(records, i, n);
        uint8_t *behind = len[i] > 0 ? add_usual(&h, refs, records[i]) : NULL;
        if (!behind) {
            put_so_far(e, h.mask, h.out);
            behind = add_one(e, refs, records[i], len[i], true);
            h = take_at_hand(e);
        }
        refs = behind;
    }
    put_so_far(e, h.mask, h.out);
    return refs;
}
#endif

void args_encoder_add(args_encoder *e, const char *const *records, const uint32_t *len, size_t n)
{
    VEC_RESERVE(e->refs.p, e->refs.cap, e->refs.n + n * MOST_REF);
    VEC_RESERVE(e->masks.p, e->masks.cap, e->masks.n + n * USUAL_MASK);
    VEC_RESERVE(e->numbers.p, e->numbers.cap, e->numbers.n + n * USUAL_NUMBERS + NUMBERS_PAD);
    uint8_t *refs = e->refs.p + e->refs.n;
#ifdef __x86_64__
    if (e->has_avx512) {
        refs = add_avx512(e, refs, records, len, n);
        e->refs.n = (size_t)(refs - e->refs.p);
        return;
    }
#endif
    refs = add_plain(e, refs, records, len, n);
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
