/*
 * Protocol buffers on the wire: a pull decoder over bytes in memory. Knows no schema: the caller switches on field
 * numbers and descends into a length-delimited field by opening a reader on its bytes. No recursion, nothing copied,
 * nothing allocated. A field that does not fit its message ends that message: the reader is `is_broken` with the offset
 * of the field, and what came before stays good.
 *
 * Source: the encoding of protocol buffers (varint, 64-bit, length-delimited, groups, 32-bit). Groups are skipped, to a
 * depth of 100.
 */
#ifndef MAREY_PARSE_PBWIRE_H
#define MAREY_PARSE_PBWIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum pb_wire { PB_VARINT = 0, PB_FIXED64 = 1, PB_BYTES = 2, PB_FIXED32 = 5 } pb_wire;

typedef struct pb_reader {
    const uint8_t *p, *end;
    const uint8_t *base; /* of the input, for offsets */
    bool is_broken;      /* cut, or not protobuf */
    uint64_t broken_at;  /* byte offset in the input */
} pb_reader;

typedef struct pb_field {
    uint32_t number; /* 1.. */
    pb_wire wire;
    uint64_t value;      /* varint, fixed64, fixed32 */
    const uint8_t *data; /* PB_BYTES */
    size_t size;
    uint64_t offset; /* of the field's tag in the input */
} pb_field;

void pb_open(pb_reader *r, const void *data, size_t size);
/** A message inside: offsets go on counting in the input. The field must be PB_BYTES, else the reader is empty. */
void pb_enter(pb_reader *inner, const pb_reader *outer, const pb_field *f);
/** @return false at the end, and when broken */
bool pb_next(pb_reader *r, pb_field *f);
/** Of a broken reader: was the field that broke it a length-delimited one that ends behind its message? Then `f` holds
 *  the part that is there, so that what is complete of a cut file can still be read. */
bool pb_cut(const pb_reader *r, pb_field *f);
/** Numbers of a repeated field, packed or not: call with each field; *at begins with 0. @return false when through */
bool pb_packed(const pb_field *f, size_t *at, uint64_t *value);
/** The same for fixed32 (bytes = 4) and fixed64 (8). */
bool pb_packed_fixed(const pb_field *f, size_t *at, unsigned bytes, uint64_t *value);
static inline int64_t pb_zigzag(uint64_t v)
{
    return (int64_t)(v >> 1) ^ -(int64_t)(v & 1);
}
double pb_double(const pb_field *f);
float pb_float(const pb_field *f);
/** Bytes without control characters, as far as the first 256 say. For sniffing. */
bool pb_is_plain_text(const pb_field *f);
/** Could this be a message whose fields all lie in [1, max_field] with sane wire types, as far as the first `limit`
 *  fields say? For sniffing. */
bool pb_looks_like(const void *data, size_t size, uint32_t max_field, size_t limit);

#endif
