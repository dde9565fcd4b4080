/*
 * Records of TensorFlow's event files: {length u64, masked crc32c of it, bytes, masked crc32c of them}, little-endian.
 * Thread: any.
 */
#ifndef MAREY_PARSE_TFRECORD_H
#define MAREY_PARSE_TFRECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum tfrecord_state {
    TFRECORD_OK,
    TFRECORD_END,
    TFRECORD_CUT,    /* the input ends inside a record */
    TFRECORD_DAMAGED /* the length's checksum is wrong: there is no next record */
} tfrecord_state;

typedef struct tfrecord {
    const uint8_t *data;
    size_t size;
    uint64_t offset; /* of data in the input */
    uint32_t crc;    /* as stored, masked */
} tfrecord;

/** The record at *at, which moves behind it. Its bytes are not touched: see tfrecord_is_whole(). */
tfrecord_state tfrecord_next(const uint8_t *data, size_t size, size_t *at, tfrecord *r);
/** Does the checksum agree? Reads all of the record. */
bool tfrecord_is_whole(const tfrecord *r);
/** Masked CRC-32C, as the files hold it. */
uint32_t tfrecord_crc(const void *data, size_t n);

#endif
