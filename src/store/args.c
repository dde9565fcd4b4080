#include "store/args.h"

#include <stdlib.h>
#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "base/mem.h"

enum { KINDS = 1024 };
enum { MARK_NUMBER = 1, MARK_FIXED = 2, MAX_DIGITS = 18, NO_TEMPLATE = -1 };

/* A literal piece of a template and the mark behind it; 0 at the end. */
typedef struct piece {
    const char *text;
    uint32_t len;
    uint8_t mark;
} piece;

typedef struct local_template {
    const char *text;
    uint32_t len;
    uint32_t id; /* in the dictionary */
    uint64_t hash;
    size_t first_piece;
    size_t first_value; /* of the values of the last event */
    uint32_t n_values;
    int32_t next; /* the template that followed it last time */
} local_template;

typedef struct bytes {
    uint8_t *p;
    size_t n, cap;
} bytes;

struct args_encoder {
    args_dict *dict;
    local_template *templates;
    size_t n_templates, cap_templates;
    piece *pieces;
    size_t n_pieces, cap_pieces;
    uint64_t *values;
    size_t n_values, cap_values;
    int32_t *slots; /* open addressing by hash; NO_TEMPLATE: free */
    size_t cap_slots;
    map64 seen; /* hashes of templates met once and not in the dictionary */
    int32_t last;
    int32_t of_kind[KINDS]; /* the template of the last text of a kind */
    bytes refs, masks, numbers, literals;
    char *shape; /* the template of the text at hand */
    size_t n_shape, cap_shape;
    uint64_t now[ARGS_MAX_VALUES];
    uint32_t n_now;
};

void args_dict_init(args_dict *d)
{
    *d = (args_dict){0};
    (void)pthread_mutex_init(&d->lock, NULL);
}

void args_dict_deinit(args_dict *d)
{
    intern_deinit(&d->templates);
    (void)pthread_mutex_destroy(&d->lock);
}

args_encoder *args_encoder_create(args_dict *dict)
{
    args_encoder *e = mem_calloc(1, sizeof *e);
    e->dict = dict;
    e->cap_slots = 1024;
    e->slots = mem_alloc(e->cap_slots * sizeof *e->slots);
    args_encoder_begin(e);
    return e;
}

void args_encoder_destroy(args_encoder **ee)
{
    args_encoder *e = *ee;
    if (!e) {
        return;
    }
    free(e->templates);
    free(e->pieces);
    free(e->values);
    free(e->slots);
    free(e->shape);
    free(e->refs.p);
    free(e->masks.p);
    free(e->numbers.p);
    free(e->literals.p);
    map64_deinit(&e->seen);
    free(e);
    *ee = NULL;
}

void args_encoder_begin(args_encoder *e)
{
    e->n_templates = 0;
    e->n_pieces = 0;
    e->n_values = 0;
    e->refs.n = 0;
    e->masks.n = 0;
    e->numbers.n = 0;
    e->literals.n = 0;
    e->last = NO_TEMPLATE;
    memset(e->slots, 0xff, e->cap_slots * sizeof *e->slots);
    memset(e->of_kind, 0xff, sizeof e->of_kind);
    map64_deinit(&e->seen);
}

/* ------------------------------------------------------------------ streams */

static inline void put_varint(bytes *b, uint64_t v)
{
    VEC_RESERVE(b->p, b->cap, b->n + 10);
    while (v >= 0x80) {
        b->p[b->n++] = (uint8_t)(v | 0x80);
        v >>= 7;
    }
    b->p[b->n++] = (uint8_t)v;
}

static void put_bytes(bytes *b, const void *p, size_t n)
{
    VEC_RESERVE(b->p, b->cap, b->n + n);
    memcpy(b->p + b->n, p, n);
    b->n += n;
}

static void put_literal(args_encoder *e, const char *text, size_t n)
{
    put_varint(&e->refs, 1);
    put_varint(&e->numbers, n);
    put_bytes(&e->literals, text, n);
}

static void put_values(args_encoder *e, int32_t index)
{
    const local_template *t = &e->templates[index];
    uint64_t *before = e->values + t->first_value;
    put_varint(&e->refs, (uint64_t)index + 2);
    bytes *m = &e->masks;
    size_t n_mask = (t->n_values + 7) / 8;
    VEC_RESERVE(m->p, m->cap, m->n + n_mask + 1);
    uint8_t *mask = m->p + m->n;
    memset(mask, 0, n_mask);
    m->n += n_mask;
    for (uint32_t i = 0; i < t->n_values; i++) {
        if (e->now[i] != before[i]) {
            int64_t change = (int64_t)(e->now[i] - before[i]);
            mask[i / 8] |= (uint8_t)(1U << (i % 8));
            put_varint(&e->numbers, ((uint64_t)change << 1) ^ (uint64_t)(change >> 63));
            before[i] = e->now[i];
        }
    }
}

/* ------------------------------------------------------------------ texts that follow a known template */

static inline bool is_digit(char c)
{
    return (unsigned char)(c - '0') < 10;
}

/* Up to 18 digits from *p. @return how many */
static inline unsigned read_digits(const char **p, const char *end, uint64_t *value)
{
    const char *s = *p;
    const char *stop = end - s > MAX_DIGITS ? s + MAX_DIGITS : end;
    uint64_t v = 0;
    while (s < stop && is_digit(*s)) {
        v = v * 10 + (uint64_t)(*s++ - '0');
    }
    unsigned n = (unsigned)(s - *p);
    *p = s;
    *value = v;
    return n;
}

/* Pieces are short, so that a call costs more than the comparison. */
static inline bool same_bytes(const char *a, const char *b, size_t n)
{
    uint64_t x = 0;
    uint64_t y = 0;
    if (n >= 8) {
        for (size_t i = 0; i + 8 < n; i += 8) {
            memcpy(&x, a + i, 8);
            memcpy(&y, b + i, 8);
            if (x != y) {
                return false;
            }
        }
        memcpy(&x, a + n - 8, 8);
        memcpy(&y, b + n - 8, 8);
        return x == y;
    }
    if (n >= 4) {
        uint32_t ends[4];
        memcpy(&ends[0], a, 4);
        memcpy(&ends[1], b, 4);
        memcpy(&ends[2], a + n - 4, 4);
        memcpy(&ends[3], b + n - 4, 4);
        return ends[0] == ends[1] && ends[2] == ends[3];
    }
    for (size_t i = 0; i < n; i++) {
        if (a[i] != b[i]) {
            return false;
        }
    }
    return true;
}

static bool follows(args_encoder *e, int32_t index, const char *text, size_t n)
{
    const local_template *t = &e->templates[index];
    const char *p = text;
    const char *end = text + n;
    uint32_t k = 0;
    for (const piece *q = e->pieces + t->first_piece;; q++) {
        if ((size_t)(end - p) < q->len || !same_bytes(p, q->text, q->len)) {
            return false;
        }
        p += q->len;
        if (q->mark == 0) {
            return p == end;
        }
        const char *from = p;
        uint64_t v;
        unsigned digits = read_digits(&p, end, &v);
        bool is_fixed = (*from == '0' && digits > 1) || (from > text && is_digit(from[-1]));
        if (digits == 0 || is_fixed != (q->mark == MARK_FIXED)) {
            return false; /* else what a text's template is would hang on the guess */
        }
        if (q->mark == MARK_FIXED) {
            e->now[k++] = digits;
        }
        e->now[k++] = v;
    }
}

/* ------------------------------------------------------------------ new templates */

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
        special = _mm_or_si128(special, _mm_cmpeq_epi8(v, _mm_set1_epi8(MARK_NUMBER)));
        special = _mm_or_si128(special, _mm_cmpeq_epi8(v, _mm_set1_epi8(MARK_FIXED)));
        unsigned mask = (unsigned)_mm_movemask_epi8(special);
        if (mask != 0) {
            return (size_t)(p - from) + (unsigned)__builtin_ctz(mask);
        }
    }
#endif
    while (p < end && !is_digit(*p) && *p != MARK_NUMBER && *p != MARK_FIXED) {
        *out++ = *p++;
    }
    return (size_t)(p - from);
}

/* The text's template into e->shape, its numbers into e->now. @return false when it must stay literal */
static bool take_apart(args_encoder *e, const char *text, size_t n)
{
    VEC_RESERVE(e->shape, e->cap_shape, n + 16);
    char *out = e->shape;
    const char *p = text;
    const char *end = text + n;
    e->n_now = 0;
    for (;;) {
        size_t plain = copy_plain(out, p, end);
        out += plain;
        p += plain;
        if (p == end) {
            break;
        }
        if (!is_digit(*p) || e->n_now + 2 > ARGS_MAX_VALUES) {
            return false;
        }
        bool is_rest = p > text && is_digit(p[-1]);
        const char *from = p;
        uint64_t v;
        unsigned digits = read_digits(&p, end, &v);
        bool is_fixed = is_rest || (*from == '0' && digits > 1);
        if (is_fixed) {
            e->now[e->n_now++] = digits;
        }
        e->now[e->n_now++] = v;
        *out++ = is_fixed ? MARK_FIXED : MARK_NUMBER;
    }
    e->n_shape = (size_t)(out - e->shape);
    return e->n_shape <= ARGS_MAX_TEMPLATE;
}

static void grow_slots(args_encoder *e)
{
    e->cap_slots *= 2;
    e->slots = mem_realloc_array(e->slots, e->cap_slots, sizeof *e->slots);
    memset(e->slots, 0xff, e->cap_slots * sizeof *e->slots);
    for (size_t i = 0; i < e->n_templates; i++) {
        size_t s = e->templates[i].hash & (e->cap_slots - 1);
        while (e->slots[s] != NO_TEMPLATE) {
            s = (s + 1) & (e->cap_slots - 1);
        }
        e->slots[s] = (int32_t)i;
    }
}

static void split_pieces(args_encoder *e, local_template *t)
{
    t->first_piece = e->n_pieces;
    t->first_value = e->n_values;
    uint32_t from = 0;
    for (uint32_t i = 0; i <= t->len; i++) {
        char c = i < t->len ? t->text[i] : '\0';
        if (i < t->len && c != MARK_NUMBER && c != MARK_FIXED) {
            continue;
        }
        piece q = {t->text + from, i - from, (uint8_t)(i < t->len ? c : 0)};
        VEC_PUSH(e->pieces, e->n_pieces, e->cap_pieces, q);
        t->n_values += i < t->len ? (c == MARK_FIXED ? 2U : 1U) : 0U;
        from = i + 1;
    }
    VEC_RESERVE(e->values, e->cap_values, e->n_values + t->n_values + 1);
    memset(e->values + e->n_values, 0, t->n_values * sizeof *e->values);
    e->n_values += t->n_values;
}

/* The dictionary's id of e->shape; made where it is met for the second time and there is room. */
static bool dictionary_id(args_encoder *e, uint64_t hash, uint32_t *id, const char **text)
{
    args_dict *d = e->dict;
    (void)pthread_mutex_lock(&d->lock);
    bool found = intern_find(&d->templates, e->shape, e->n_shape, id);
    bool has_room = d->templates.n < ARGS_MAX_TEMPLATES && d->n_bytes + e->n_shape <= ARGS_MAX_TEMPLATE_BYTES;
    if (!found && has_room && map64_get(&e->seen, hash)) {
        *id = intern_put(&d->templates, e->shape, e->n_shape);
        d->n_bytes += e->n_shape;
        found = true;
    }
    if (found) {
        *text = d->templates.text[*id];
    }
    (void)pthread_mutex_unlock(&d->lock);
    if (!found && has_room && e->seen.n < ARGS_MAX_TEMPLATES) {
        (void)map64_put(&e->seen, hash);
    }
    return found;
}

/* The block's index of e->shape, or NO_TEMPLATE. */
static int32_t find_template(args_encoder *e)
{
    uint64_t hash = hash_bytes(e->shape, e->n_shape);
    size_t s = hash & (e->cap_slots - 1);
    for (; e->slots[s] != NO_TEMPLATE; s = (s + 1) & (e->cap_slots - 1)) {
        const local_template *t = &e->templates[e->slots[s]];
        if (t->hash == hash && t->len == e->n_shape && memcmp(t->text, e->shape, e->n_shape) == 0) {
            return e->slots[s];
        }
    }
    local_template t = {.len = (uint32_t)e->n_shape, .hash = hash, .next = NO_TEMPLATE};
    if (!dictionary_id(e, hash, &t.id, &t.text)) {
        return NO_TEMPLATE;
    }
    split_pieces(e, &t);
    VEC_PUSH(e->templates, e->n_templates, e->cap_templates, t);
    e->slots[s] = (int32_t)(e->n_templates - 1);
    if (e->n_templates * 2 > e->cap_slots) {
        grow_slots(e);
    }
    return (int32_t)(e->n_templates - 1);
}

/* Texts of one kind are mostly alike, and so are the sequences of kinds. What the guess is changes no byte of the
 * stream: a text has one template. */
static int32_t match(args_encoder *e, int32_t guess, const char *text, size_t n)
{
    if (guess != NO_TEMPLATE && follows(e, guess, text, n)) {
        return guess;
    }
    int32_t next = e->last != NO_TEMPLATE ? e->templates[e->last].next : NO_TEMPLATE;
    if (next != NO_TEMPLATE && next != guess && follows(e, next, text, n)) {
        return next;
    }
    return take_apart(e, text, n) ? find_template(e) : NO_TEMPLATE;
}

void args_encoder_add(args_encoder *e, uint32_t kind, const char *text, size_t n)
{
    if (n == 0) {
        put_varint(&e->refs, 0);
        return;
    }
    int32_t *of_kind = &e->of_kind[kind % KINDS];
    int32_t index = match(e, *of_kind, text, n);
    if (index == NO_TEMPLATE) {
        put_literal(e, text, n);
        return;
    }
    put_values(e, index);
    if (e->last != NO_TEMPLATE) {
        e->templates[e->last].next = index;
    }
    e->last = index;
    *of_kind = index;
}

void args_encoder_end(args_encoder *e, strbuf *out)
{
    bytes head = {0};
    put_varint(&head, e->n_templates);
    for (size_t i = 0; i < e->n_templates; i++) {
        put_varint(&head, e->templates[i].id);
    }
    const bytes *parts[4] = {&e->refs, &e->masks, &e->numbers, &e->literals};
    for (unsigned i = 0; i < 4; i++) {
        put_varint(&head, parts[i]->n);
    }
    strbuf_add(out, (const char *)head.p, head.n);
    for (unsigned i = 0; i < 4; i++) {
        if (parts[i]->n > 0) {
            strbuf_add(out, (const char *)parts[i]->p, parts[i]->n);
        }
    }
    free(head.p);
}
