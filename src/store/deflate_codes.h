/* Huffman codes of deflate (RFC 1951, 3.2) and the bits that they are written as. */
#ifndef MAREY_STORE_DEFLATE_CODES_H
#define MAREY_STORE_DEFLATE_CODES_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum {
    N_LITLEN = 286,
    N_DIST = 30,
    N_CODELEN = 19,
    MAX_LITLEN_BITS = 14, /* one less than allowed, so that four literals are put at once */
    MAX_DIST_BITS = 15,
    MAX_CODELEN_BITS = 7,
    N_LENGTHS = N_LITLEN - 257,
    MATCH_SHORTEST = 3,
    MATCH_LONGEST = 258,
    END_OF_BLOCK = 256,
    BLOCK_HEAD_BYTES = 512 /* most that a block's head takes */
};

/* How a match's length is said: its symbol less 257, the bits that follow it and their value. */
typedef struct length_entry {
    uint8_t symbol, n_extra;
    uint16_t extra;
} length_entry;

/* By length, from MATCH_SHORTEST on. */
typedef struct length_table {
    length_entry of[MATCH_LONGEST + 1];
} length_table;
extern const uint8_t DEFLATE_LENGTH_EXTRA[N_LENGTHS];
void deflate_fill_lengths(length_table *t);

/* By symbol: its code, ready to be put, above its length in the lowest CODE_SHIFT bits; 0: it has none. */
enum { CODE_SHIFT = 8 };
typedef uint32_t code;

static inline unsigned code_bits(code c)
{
    return c & ((1U << CODE_SHIFT) - 1);
}

/**
 * Codes of a complete tree; a lone symbol gets one bit. Of many symbols the tree is only about as good as the best.
 *
 * @param freq     of n_symbols symbols, at most N_LITLEN; each below 2^23
 * @param limit    bits of the longest code, at most 15
 * @param is_wide  deflate_is_wide(), or false: as if the processor had no more than all have. The codes are the same
 */
void deflate_make_codes(const uint32_t *freq, unsigned n_symbols, unsigned limit, bool is_wide, code *codes);
bool deflate_is_wide(void);

typedef struct bit_writer {
    uint8_t *p, *end;
    uint64_t acc;
    unsigned n;
} bit_writer;

/* At most 56 bits at a time; the buffer has room, which is checked per block, and eight bytes behind it. */
static inline void put_bits(bit_writer *w, uint64_t v, unsigned n)
{
    w->acc |= v << w->n;
    w->n += n;
    memcpy(w->p, &w->acc, sizeof w->acc);
    w->p += w->n / 8;
    w->acc >>= w->n & ~7U;
    w->n &= 7;
}

static inline void put_code(bit_writer *w, code c)
{
    put_bits(w, c >> CODE_SHIFT, code_bits(c));
}

/** The head of a block with its own codes. At most BLOCK_HEAD_BYTES. */
void deflate_put_head(bit_writer *w, const code litlen[N_LITLEN], const code dist[N_DIST], int is_last);

#endif
