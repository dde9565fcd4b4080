/*
 * Chunks outside HDF5: byte shuffle and zlib streams, as HDF5's own filters read and write them.
 * Thread: one at a time per codec.
 */
#ifndef MAREY_STORE_CODEC_H
#define MAREY_STORE_CODEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct codec {
    struct deflater *runs;
    struct libdeflate_compressor *deflate;
    struct libdeflate_decompressor *inflate;
    uint8_t *planes; /* shuffled bytes */
    size_t cap_planes;
    struct deflate_part *parts;
    size_t cap_parts;
    uint8_t *packed;
    size_t cap_packed;
} codec;

void codec_deinit(codec *c);

/** Bytes into planes: all first bytes, all second bytes, ... */
void shuffle_bytes(const void *in, size_t n, size_t size, uint8_t *out);
void unshuffle_bytes(const uint8_t *in, size_t n, size_t size, void *out);

/** Pack n elements of `size` bytes (size 1: no shuffle). @return length; the bytes are in c->packed until the next call
 */
size_t codec_pack(codec *c, const void *data, size_t n, size_t size);
/* What is looked for: all that repeats; or runs of one byte alone, which is sooner done, where there is little else. */
typedef enum codec_look { CODEC_REPEATS, CODEC_RUNS } codec_look;
/** The same with zeros behind the n elements, so that they are `whole`, which need not be in memory. */
size_t codec_pack_padded(codec *c, const void *data, size_t n, size_t whole, size_t size, codec_look look);
/** The same for bytes without a shuffle, in which only runs are looked for, and of which only some pieces hold anything
 * but zeros: bit i % 64 of pieces[i / 64] says whether the bytes from i * piece on do. n_bytes is a multiple of 64
 * pieces. */
size_t codec_pack_pieces(codec *c, const uint8_t *bytes, size_t n_bytes, const uint64_t *pieces, size_t piece);
/** The largest length that codec_pack() can give. */
size_t codec_bound(size_t bytes);
/** Unpack exactly n elements. @return false when the bytes are damaged or of another length */
bool codec_unpack(codec *c, const uint8_t *packed, size_t length, size_t n, size_t size, void *out);

uint32_t codec_crc(const void *bytes, size_t n);

#endif
