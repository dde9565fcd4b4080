/* Protobuf messages put together by hand, as bytes in a strbuf: what the tests of graph readers read. */
#ifndef MAREY_TESTS_PB_WRITE_H
#define MAREY_TESTS_PB_WRITE_H

#include <string.h>

#include "base/text.h"

static inline void pbw_raw(strbuf *b, uint64_t v)
{
    for (; v >= 0x80; v >>= 7) {
        strbuf_add(b, (const char[]){(char)(v | 0x80)}, 1);
    }
    strbuf_add(b, (const char[]){(char)v}, 1);
}

static inline void pbw_int(strbuf *b, uint32_t field, uint64_t v)
{
    pbw_raw(b, (uint64_t)field << 3);
    pbw_raw(b, v);
}

static inline void pbw_bytes(strbuf *b, uint32_t field, const char *s, size_t n)
{
    pbw_raw(b, (uint64_t)field << 3 | 2);
    pbw_raw(b, n);
    if (n) {
        strbuf_add(b, s, n);
    }
}

static inline void pbw_str(strbuf *b, uint32_t field, const char *s)
{
    pbw_bytes(b, field, s, strlen(s));
}

static inline void pbw_float(strbuf *b, uint32_t field, float v)
{
    char bytes[4];
    memcpy(bytes, &v, 4);
    pbw_raw(b, (uint64_t)field << 3 | 5);
    strbuf_add(b, bytes, 4);
}

static inline void pbw_double(strbuf *b, uint32_t field, double v)
{
    char bytes[8];
    memcpy(bytes, &v, 8);
    pbw_raw(b, (uint64_t)field << 3 | 1);
    strbuf_add(b, bytes, 8);
}

/* The inner message becomes a field, and is empty afterwards. */
static inline void pbw_message(strbuf *b, uint32_t field, strbuf *inner)
{
    pbw_bytes(b, field, strbuf_str(inner), inner->n);
    strbuf_deinit(inner);
}

#endif
