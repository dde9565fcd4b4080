/*
 * zlib streams of the writer. Chunks are mostly zeros or runs of one byte (planes of cells, high bytes of shuffled
 * numbers, padding), which a general compressor walks byte by byte; here a repetition costs no more than comparing it,
 * and zeros that are known to be there cost nothing. Matches are found by one probe of a hash table, each block gets
 * its own Huffman codes, and bytes that look random are stored as they are.
 * Thread: one at a time per deflater.
 */
#ifndef MAREY_STORE_DEFLATE_H
#define MAREY_STORE_DEFLATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* With this many bytes more than the input, only what doesn't compress at all is refused. */
enum { DEFLATE_SLACK = 640 };

/* So few zeros behind a part are not worth saying so. */
enum { DEFLATE_LEAST_ZEROS = 64 };

/* The bytes in[at..at + n), then n_zeros zeros, of which the first is in memory; the others are too where the next part
 * begins at + n + n_zeros. n_zeros is 0 or at least DEFLATE_LEAST_ZEROS. */
typedef struct deflate_part {
    size_t at, n, n_zeros;
} deflate_part;

typedef struct deflater deflater;

deflater *deflater_create(void);
void deflater_destroy(deflater **d);
/** false: as if the processor had no more than all have; for tests. The streams are the same. */
void deflater_set_wide(deflater *d, bool is_wide);

/**
 * A zlib stream (RFC 1950) of the bytes of all parts, one after the other. The same parts give the same stream.
 *
 * @param parts     at most 1 GiB in all, ascending in `in` and apart from one another
 * @param patience  0 to 31: where nothing repeats the search looks at fewer and fewer places: after 2^patience in vain
 *                  at every second, after as many more at every third, ...; or DEFLATE_RUNS
 * @param cap       bytes at `out`
 * @return          length of the stream; 0 when `cap` does not hold it
 */
size_t deflate_parts(deflater *d, const uint8_t *in, const deflate_part *parts, size_t n_parts, unsigned patience,
                     uint8_t *out, size_t cap);

/* Instead of a patience: nothing is looked for but runs of one byte, and what looks random is stored. */
enum { DEFLATE_RUNS = 32 };

/* One more takes a tenth more time and finds two in a hundred more. */
enum { DEFLATE_PATIENCE = 1 };

/** The same for n bytes, with that patience. */
size_t deflate_zlib(deflater *d, const uint8_t *in, size_t n, uint8_t *out, size_t cap);

#endif
