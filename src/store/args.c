#include "store/args.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum { MOST_VARINT = 10, MOST_REF = 3 };
_Static_assert(ARG_SHAPES_MAX + 1 < 1 << 7 * MOST_REF, "a template's number and what stands beside them");

/* A shape that the block uses. */
typedef struct local_template {
    uint32_t id;
    uint32_t n_values;
    size_t first_value; /* of the values of the last event */
} local_template;

typedef struct bytes {
    uint8_t *p;
    size_t n, cap;
} bytes;

struct args_encoder {
    const arg_shapes *shapes;
    local_template *templates;
    size_t n_templates, cap_templates;
    uint64_t *values;
    size_t n_values, cap_values;
    uint32_t *local; /* [ARG_SHAPES_MAX] by shape: index in `templates` + 1 */
    bytes refs, masks, numbers, literals;
};

args_encoder *args_encoder_create(const arg_shapes *shapes)
{
    args_encoder *e = mem_calloc(1, sizeof *e);
    e->shapes = shapes;
    e->local = mem_calloc(ARG_SHAPES_MAX, sizeof *e->local);
    return e;
}

void args_encoder_destroy(args_encoder **ee)
{
    args_encoder *e = *ee;
    if (!e) {
        return;
    }
    free(e->templates);
    free(e->values);
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
    e->n_values = 0;
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

/* The next n values, at most 8, whose sizes are the lowest bits of `sizes`. @return behind what is put at `out` */
static inline uint8_t *put_eight(uint8_t *out, const char **record, unsigned sizes, uint64_t *before, unsigned n,
                                 uint8_t *mask)
{
    const char *p = *record;
    unsigned changed = 0;
    for (unsigned i = 0; i < n; i++, sizes >>= 2) {
        uint64_t v = arg_value_at(p, sizes & 3);
        int64_t change = (int64_t)(v - before[i]);
        p += 1U << (sizes & 3);
        if (change != 0) {
            before[i] = v;
            changed |= 1U << i;
            out = put_varint(out, ((uint64_t)change << 1) ^ (uint64_t)(change >> 63));
        }
    }
    *record = p;
    *mask = (uint8_t)changed;
    return out;
}

static inline void put_changes(args_encoder *e, const local_template *t, const char *record)
{
    size_t n = t->n_values;
    VEC_RESERVE(e->masks.p, e->masks.cap, e->masks.n + n / 8 + 1);
    VEC_RESERVE(e->numbers.p, e->numbers.cap, e->numbers.n + n * MOST_VARINT);
    uint64_t *before = e->values + t->first_value;
    uint8_t *mask = e->masks.p + e->masks.n;
    uint8_t *out = e->numbers.p + e->numbers.n;
    const uint8_t *sizes = (const uint8_t *)record + sizeof(uint32_t);
    const char *p = (const char *)sizes + (n + 3) / 4;
    e->masks.n += (n + 7) / 8;
    for (; n > 8; n -= 8, sizes += 2, before += 8) {
        out = put_eight(out, &p, sizes[0] | (unsigned)sizes[1] << 8, before, 8, mask++);
    }
    if (n > 0) { /* of 4 or fewer, the second byte is not theirs */
        out = put_eight(out, &p, sizes[0] | (unsigned)sizes[1] << 8, before, (unsigned)n, mask);
    }
    e->numbers.n = (size_t)(out - e->numbers.p);
}

static uint32_t new_template(args_encoder *e, uint32_t id)
{
    local_template t = {id, arg_shapes_at(e->shapes, id)->n_values, e->n_values};
    VEC_RESERVE(e->values, e->cap_values, e->n_values + t.n_values + 1);
    memset(e->values + e->n_values, 0, t.n_values * sizeof *e->values);
    e->n_values += t.n_values;
    VEC_PUSH(e->templates, e->n_templates, e->cap_templates, t);
    return e->local[id] = (uint32_t)e->n_templates;
}

void args_encoder_add(args_encoder *e, const char *records, const uint64_t *at, const uint32_t *len, size_t n)
{
    VEC_RESERVE(e->refs.p, e->refs.cap, e->refs.n + n * MOST_REF);
    uint8_t *refs = e->refs.p + e->refs.n;
    for (size_t i = 0; i < n; i++) {
        const char *record = records + at[i];
        uint32_t head = 0;
        if (len[i] == 0) {
            *refs++ = 0;
            continue;
        }
        memcpy(&head, record, sizeof head);
        if (head == 0) {
            *refs++ = 1;
            put_literal(e, record + sizeof head, len[i] - sizeof head);
            continue;
        }
        uint32_t index = e->local[head - 1];
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
    for (unsigned i = 0; i < 4; i++) {
        add_varint(&head, parts[i]->n);
    }
    strbuf_add(out, (const char *)head.p, head.n);
    for (unsigned i = 0; i < 4; i++) {
        if (parts[i]->n > 0) {
            strbuf_add(out, (const char *)parts[i]->p, parts[i]->n);
        }
    }
    free(head.p);
}
