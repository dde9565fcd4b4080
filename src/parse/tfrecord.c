#include "parse/tfrecord.h"

enum { HEAD_BYTES = 12, TAIL_BYTES = 4 };

/* Castagnoli's polynomial, reflected; four bits at a time. */
static const uint32_t nibbles[16] = {0x00000000, 0x105ec76f, 0x20bd8ede, 0x30e349b1, 0x417b1dbc, 0x5125dad3,
                                     0x61c69362, 0x7198540d, 0x82f63b78, 0x92a8fc17, 0xa24bb5a6, 0xb21572c9,
                                     0xc38d26c4, 0xd3d3e1ab, 0xe330a81a, 0xf36e6f75};

uint32_t tfrecord_crc(const void *data, size_t n)
{
    const uint8_t *p = data;
    uint32_t crc = UINT32_MAX;
    for (size_t i = 0; i < n; i++) {
        crc ^= p[i];
        crc = crc >> 4 ^ nibbles[crc & 15];
        crc = crc >> 4 ^ nibbles[crc & 15];
    }
    crc = ~crc;
    return ((crc >> 15) | (crc << 17)) + 0xa282ead8U;
}

static uint32_t take_u32(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

tfrecord_state tfrecord_next(const uint8_t *data, size_t size, size_t *at, tfrecord *r)
{
    size_t left = size - *at;
    const uint8_t *p = data + *at;
    if (!left) {
        return TFRECORD_END;
    }
    if (left < HEAD_BYTES) {
        return TFRECORD_CUT;
    }
    uint64_t n = take_u32(p) | (uint64_t)take_u32(p + 4) << 32;
    if (take_u32(p + 8) != tfrecord_crc(p, 8)) {
        return TFRECORD_DAMAGED;
    }
    if (left < HEAD_BYTES + TAIL_BYTES || n > left - HEAD_BYTES - TAIL_BYTES) {
        return TFRECORD_CUT;
    }
    *r = (tfrecord){
        .data = p + HEAD_BYTES, .size = (size_t)n, .offset = *at + HEAD_BYTES, .crc = take_u32(p + HEAD_BYTES + n)};
    *at += HEAD_BYTES + TAIL_BYTES + (size_t)n;
    return TFRECORD_OK;
}

bool tfrecord_is_whole(const tfrecord *r)
{
    return tfrecord_crc(r->data, r->size) == r->crc;
}
