#include "parse/pbwire.h"

#include <string.h>

enum { WIRE_GROUP = 3, WIRE_GROUP_END = 4, GROUP_DEPTH_MAX = 100, VARINT_BYTES_MAX = 10 };

/* @return bytes taken; 0 when it is cut or longer than 64 bits can be */
static size_t take_varint(const uint8_t *p, const uint8_t *end, uint64_t *value)
{
    size_t left = (size_t)(end - p);
    if (left && p[0] < 0x80) {
        *value = p[0];
        return 1;
    }
    size_t most = left < VARINT_BYTES_MAX ? left : VARINT_BYTES_MAX;
    uint64_t v = 0;
    for (size_t i = 0; i < most; i++) {
        v |= (uint64_t)(p[i] & 0x7F) << (7 * i);
        if (p[i] < 0x80) {
            *value = v;
            return i == VARINT_BYTES_MAX - 1 && p[i] > 1 ? 0 : i + 1;
        }
    }
    return 0;
}

static uint64_t take_fixed(const uint8_t *p, unsigned n)
{
    uint64_t v = 0;
    for (unsigned i = 0; i < n; i++) {
        v |= (uint64_t)p[i] << (8 * i);
    }
    return v;
}

/* A tag: number in 1 .. 2^29 - 1. @return bytes taken, or 0 */
static size_t take_tag(const uint8_t *p, const uint8_t *end, uint32_t *number, unsigned *wire)
{
    uint64_t tag = 0;
    size_t n = take_varint(p, end, &tag);
    if (!n || tag < 8 || tag > UINT32_MAX) {
        return 0;
    }
    *number = (uint32_t)(tag >> 3);
    *wire = (unsigned)(tag & 7);
    return n;
}

/* The value of a field that is no group. @return bytes taken, or 0 */
static size_t take_value(const uint8_t *p, const uint8_t *end, unsigned wire, pb_field *f)
{
    size_t left = (size_t)(end - p);
    if (wire == PB_VARINT) {
        return take_varint(p, end, &f->value);
    }
    if (wire == PB_BYTES) {
        uint64_t size = 0;
        size_t n = take_varint(p, end, &size);
        if (!n || size > left - n) {
            return 0;
        }
        f->data = p + n;
        f->size = (size_t)size;
        return n + (size_t)size;
    }
    unsigned n = wire == PB_FIXED64 ? 8 : wire == PB_FIXED32 ? 4 : 0;
    if (!n || left < n) {
        return 0;
    }
    f->value = take_fixed(p, n);
    return n;
}

/* What follows the tag of a group, to behind the tag that ends it. @return the place behind, or NULL */
static const uint8_t *skip_group(const uint8_t *p, const uint8_t *end, uint32_t number)
{
    uint32_t open[GROUP_DEPTH_MAX];
    size_t depth = 0;
    open[depth++] = number;
    while (depth) {
        unsigned wire = 0;
        size_t n = take_tag(p, end, &number, &wire);
        if (!n) {
            return NULL;
        }
        p += n;
        if (wire == WIRE_GROUP_END) {
            if (open[--depth] != number) {
                return NULL;
            }
        } else if (wire == WIRE_GROUP) {
            if (depth == GROUP_DEPTH_MAX) {
                return NULL;
            }
            open[depth++] = number;
        } else {
            pb_field f;
            n = take_value(p, end, wire, &f);
            if (!n) {
                return NULL;
            }
            p += n;
        }
    }
    return p;
}

void pb_open(pb_reader *r, const void *data, size_t size)
{
    const uint8_t *p = data;
    *r = (pb_reader){.p = p, .end = size ? p + size : p, .base = p};
}

void pb_enter(pb_reader *inner, const pb_reader *outer, const pb_field *f)
{
    bool has = f->wire == PB_BYTES && f->size;
    const uint8_t *p = has ? f->data : outer->end;
    *inner = (pb_reader){.p = p, .end = has ? p + f->size : p, .base = outer->base};
}

static bool broken(pb_reader *r, const uint8_t *at)
{
    r->is_broken = true;
    r->broken_at = (uint64_t)(at - r->base);
    r->p = r->end;
    return false;
}

bool pb_next(pb_reader *r, pb_field *f)
{
    while (r->p != r->end) {
        const uint8_t *at = r->p;
        unsigned wire = 0;
        *f = (pb_field){.offset = (uint64_t)(at - r->base)};
        size_t n = take_tag(at, r->end, &f->number, &wire);
        if (!n) {
            return broken(r, at);
        }
        if (wire == WIRE_GROUP) {
            const uint8_t *behind = skip_group(at + n, r->end, f->number);
            if (!behind) {
                return broken(r, at);
            }
            r->p = behind;
            continue;
        }
        size_t taken = take_value(at + n, r->end, wire, f);
        if (!taken) {
            return broken(r, at);
        }
        f->wire = (pb_wire)wire;
        r->p = at + n + taken;
        return true;
    }
    return false;
}

bool pb_cut(const pb_reader *r, pb_field *f)
{
    if (!r->is_broken) {
        return false;
    }
    const uint8_t *at = r->base + r->broken_at;
    unsigned wire = 0;
    uint64_t size = 0;
    *f = (pb_field){.wire = PB_BYTES, .offset = r->broken_at};
    size_t n = take_tag(at, r->end, &f->number, &wire);
    size_t m = n && wire == PB_BYTES ? take_varint(at + n, r->end, &size) : 0;
    if (!m) {
        return false;
    }
    f->data = at + n + m;
    f->size = (size_t)(r->end - f->data);
    return true;
}

bool pb_packed(const pb_field *f, size_t *at, uint64_t *value)
{
    if (f->wire != PB_BYTES) {
        *value = f->value;
        return (*at)++ == 0;
    }
    if (*at >= f->size) {
        return false;
    }
    size_t n = take_varint(f->data + *at, f->data + f->size, value);
    *at = n ? *at + n : f->size;
    return n > 0;
}

bool pb_packed_fixed(const pb_field *f, size_t *at, unsigned bytes, uint64_t *value)
{
    if (f->wire != PB_BYTES) {
        *value = f->value;
        return (*at)++ == 0;
    }
    if (*at >= f->size || f->size - *at < bytes) {
        return false;
    }
    *value = take_fixed(f->data + *at, bytes);
    *at += bytes;
    return true;
}

double pb_double(const pb_field *f)
{
    double v = 0;
    memcpy(&v, &f->value, sizeof v);
    return v;
}

float pb_float(const pb_field *f)
{
    uint32_t bits = (uint32_t)f->value;
    float v = 0;
    memcpy(&v, &bits, sizeof v);
    return v;
}

bool pb_looks_like(const void *data, size_t size, uint32_t max_field, size_t limit)
{
    pb_reader r;
    pb_field f;
    pb_open(&r, data, size);
    size_t n = 0;
    while (n < limit && pb_next(&r, &f)) {
        if (f.number > max_field) {
            return false;
        }
        n++;
    }
    if (n == limit || !r.is_broken) {
        return n > 0;
    }
    /* Sniffers see the beginning only: a last field that is cut still counts. */
    return pb_cut(&r, &f) ? f.number <= max_field : n > 0 && size - r.broken_at < VARINT_BYTES_MAX;
}

bool pb_is_plain_text(const pb_field *f)
{
    for (size_t i = 0; i < f->size && i < 256; i++) {
        if (f->data[i] < 0x20 || f->data[i] == 0x7F) {
            return false;
        }
    }
    return f->wire == PB_BYTES;
}
