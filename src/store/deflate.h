/*
 * zlib streams of the writer. Chunks are mostly zeros or runs of one byte (planes of cells, high bytes of shuffled
 * numbers, padding), which a general compressor walks byte by byte; here a repetition costs no more than comparing it,
 * eight bytes at a time. Matches are found by one probe of a hash table, and each block gets its own Huffman codes.
 * Thread: one at a time per deflater.
 */
#ifndef MAREY_STORE_DEFLATE_H
#define MAREY_STORE_DEFLATE_H

#include <stddef.h>
#include <stdint.h>

/* With this many bytes more than the input, only what doesn't compress at all is refused. */
enum { DEFLATE_SLACK = 640 };

typedef struct deflater deflater;

deflater *deflater_create(void);
void deflater_destroy(deflater **d);

/**
 * A zlib stream (RFC 1950) of `n` bytes. The same bytes give the same stream.
 *
 * @param in   n bytes, n at most 1 GiB
 * @param cap  bytes at `out`
 * @return     length of the stream; 0 when `cap` does not hold it
 */
size_t deflate_zlib(deflater *d, const uint8_t *in, size_t n, uint8_t *out, size_t cap);

#endif
