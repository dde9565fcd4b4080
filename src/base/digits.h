/* Decimal digits eight at a time, as bytes of one register: the first of a text is the lowest. Thread: any. */
#ifndef MAREY_BASE_DIGITS_H
#define MAREY_BASE_DIGITS_H

#include <stdint.h>
#include <string.h>

/** The 8 bytes at `s`. */
static inline uint64_t digits_load(const char *s)
{
    uint64_t v;
    memcpy(&v, s, 8);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    v = __builtin_bswap64(v);
#endif
    return v;
}

/** The number that 8 digits make, each less '0': pairs, then fours, then all by multiplications. */
static inline uint64_t digits_join(uint64_t v)
{
    v = v * 10 + (v >> 8);
    return (((v & 0x000000FF000000FFU) * 0x000F424000000064U) +
            (((v >> 16) & 0x000000FF000000FFU) * 0x0000271000000001U)) >>
               32 &
           0xFFFFFFFFU;
}

#endif
