#include "store/deflate_codes.h"

#include <stddef.h>

/* ------------------------------------------------------------------ lengths */

/* How often a symbol occurs << SYMBOL_BITS | the symbol. */
enum { SYMBOL_BITS = 9, DIGIT_BITS = 8, FEW = 24 };

static uint32_t freq_of(uint32_t key)
{
    return key >> SYMBOL_BITS;
}

static unsigned symbol_of(uint32_t key)
{
    return key & ((1U << SYMBOL_BITS) - 1);
}

static void sort_few(uint32_t *keys, unsigned n)
{
    for (unsigned i = 1; i < n; i++) {
        uint32_t key = keys[i];
        unsigned k = i;
        for (; k > 0 && keys[k - 1] > key; k--) {
            keys[k] = keys[k - 1];
        }
        keys[k] = key;
    }
}

/* Ascending, digit by digit; they come in the order of symbols. */
static void sort_symbols(uint32_t *keys, unsigned n)
{
    uint32_t other[N_LITLEN];
    uint32_t most = 0;
    if (n <= FEW) {
        sort_few(keys, n);
        return;
    }
    for (unsigned i = 0; i < n; i++) {
        most = keys[i] > most ? keys[i] : most;
    }
    for (unsigned shift = SYMBOL_BITS; shift < 32 && most >> shift; shift += DIGIT_BITS) {
        uint16_t at[1 << DIGIT_BITS] = {0};
        unsigned sum = 0;
        for (unsigned i = 0; i < n; i++) {
            at[keys[i] >> shift & ((1U << DIGIT_BITS) - 1)]++;
        }
        for (unsigned digit = 0; digit < 1U << DIGIT_BITS && sum < n; digit++) {
            unsigned count = at[digit];
            at[digit] = (uint16_t)sum;
            sum += count;
        }
        for (unsigned i = 0; i < n; i++) {
            other[at[keys[i] >> shift & ((1U << DIGIT_BITS) - 1)]++] = keys[i];
        }
        memcpy(keys, other, n * sizeof *keys);
    }
}

/* Depths of the tree by merging two queues: leaves in order, and inner nodes, which arise in order. `count`: leaves per
 * depth, deeper ones at the limit. */
static void count_depths(const uint32_t *s, unsigned n, unsigned limit, unsigned *count)
{
    uint32_t weight[N_LITLEN];
    uint16_t parent[N_LITLEN];
    uint16_t leaf_parent[N_LITLEN];
    unsigned leaf = 0;
    unsigned inner = 0;
    for (unsigned made = 0; made + 1 < n; made++) {
        weight[made] = 0;
        for (unsigned k = 0; k < 2; k++) {
            if (leaf < n && (inner == made || freq_of(s[leaf]) <= weight[inner])) {
                weight[made] += freq_of(s[leaf]);
                leaf_parent[leaf++] = (uint16_t)made;
            } else {
                weight[made] += weight[inner];
                parent[inner++] = (uint16_t)made;
            }
        }
    }
    unsigned depth[N_LITLEN];
    depth[n - 2] = 0;
    for (unsigned i = n - 2; i-- > 0;) {
        depth[i] = depth[parent[i]] + 1;
    }
    for (unsigned i = 0; i < n; i++) {
        unsigned d = depth[leaf_parent[i]] + 1;
        count[d < limit ? d : limit]++;
    }
}

/* Cutting depths at the limit leaves more codes than there is room for: lengthen shorter ones until they fit. */
static void fit(unsigned *count, unsigned limit)
{
    uint32_t used = 0;
    for (unsigned d = 1; d <= limit; d++) {
        used += count[d] << (limit - d);
    }
    while (used > 1U << limit) {
        unsigned d = limit - 1;
        while (count[d] == 0) {
            d--;
        }
        count[d]--;
        count[d + 1] += 2;
        count[limit]--;
        used--;
    }
}

/* ------------------------------------------------------------------ codes */

enum { MAX_BITS = 15 };

/* Of the highest bit first, as they are put. */
static uint32_t reversed(uint32_t v, unsigned bits)
{
    v = (v & 0x5555) << 1 | (v >> 1 & 0x5555);
    v = (v & 0x3333) << 2 | (v >> 2 & 0x3333);
    v = (v & 0x0f0f) << 4 | (v >> 4 & 0x0f0f);
    v = (v & 0x00ff) << 8 | v >> 8;
    return v >> (16 - bits);
}

/* @return how many symbols occur */
static unsigned gather(const uint32_t *freq, unsigned n_symbols, uint32_t *keys)
{
    unsigned n = 0;
    unsigned i = 0;
    for (; i + 2 <= n_symbols; i += 2) {
        uint64_t both;
        memcpy(&both, freq + i, sizeof both);
        if (both == 0) {
            continue; /* most of a small block's symbols */
        }
        keys[n] = freq[i] << SYMBOL_BITS | i;
        n += freq[i] > 0;
        keys[n] = freq[i + 1] << SYMBOL_BITS | (i + 1);
        n += freq[i + 1] > 0;
    }
    for (; i < n_symbols; i++) {
        keys[n] = freq[i] << SYMBOL_BITS | i;
        n += freq[i] > 0;
    }
    return n;
}

void deflate_make_codes(const uint32_t *freq, unsigned n_symbols, unsigned limit, code *codes)
{
    uint32_t keys[N_LITLEN + 2]; /* in the order of symbols, then by how often they occur */
    uint16_t symbols[N_LITLEN + 2];
    unsigned count[MAX_BITS + 1] = {0};
    unsigned n = gather(freq, n_symbols, keys);
    memset(codes, 0, n_symbols * sizeof *codes);
    for (unsigned i = 0; i < n; i++) {
        symbols[i] = (uint16_t)symbol_of(keys[i]);
    }
    if (n < 2) {
        count[1] = n;
    } else {
        sort_symbols(keys, n);
        count_depths(keys, n, limit, count);
        fit(count, limit);
    }
    for (unsigned d = limit, i = 0; d > 0; d--) { /* the rarest get the longest */
        for (unsigned k = 0; k < count[d]; k++) {
            codes[symbol_of(keys[i++])] = d;
        }
    }
    unsigned next[MAX_BITS + 1] = {0};
    for (unsigned d = 1, first = 0; d <= limit; d++) {
        first = (first + count[d - 1]) << 1;
        next[d] = first;
    }
    for (unsigned i = 0; i < n; i++) {
        unsigned bits = codes[symbols[i]];
        codes[symbols[i]] |= reversed(next[bits]++, bits) << CODE_SHIFT;
    }
}

/* ------------------------------------------------------------------ tables of RFC 1951, 3.2.5 */

static const uint16_t LENGTH_BASE[N_LENGTHS] = {3,  4,  5,  6,  7,  8,  9,  10, 11,  13,  15,  17,  19,  23, 27,
                                                31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258};
const uint8_t DEFLATE_LENGTH_EXTRA[N_LENGTHS] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2,
                                                 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0};

void deflate_fill_lengths(length_table *t)
{
    for (unsigned length = MATCH_SHORTEST, k = 0; length <= MATCH_LONGEST; length++) {
        k += k + 1 < N_LENGTHS && length == LENGTH_BASE[k + 1];
        t->of[length] = (length_entry){(uint8_t)k, DEFLATE_LENGTH_EXTRA[k], (uint16_t)(length - LENGTH_BASE[k])};
    }
}

/* ------------------------------------------------------------------ heads */

/* The lengths of both codes as symbols 0..18 with their extra bits, above bit 8. @return how many */
static size_t pack_lengths(const uint8_t *bits, size_t n, uint16_t *out)
{
    size_t n_out = 0;
    for (size_t i = 0; i < n;) {
        size_t same = 1;
        while (i + same < n && bits[i + same] == bits[i] && same < 138) {
            same++;
        }
        if (bits[i] == 0 && same >= 3) {
            out[n_out++] = (uint16_t)(same < 11 ? 17U | (unsigned)(same - 3) << 8 : 18U | (unsigned)(same - 11) << 8);
        } else if (bits[i] > 0 && same >= 4) {
            same = same < 7 ? same : 7;
            out[n_out++] = bits[i];
            out[n_out++] = (uint16_t)(16U | (unsigned)(same - 4) << 8);
        } else {
            same = 1;
            out[n_out++] = bits[i];
        }
        i += same;
    }
    return n_out;
}

/* @return how many codes there are, the last of which is used, but no fewer than `least` */
static unsigned lengths_of(const code *codes, unsigned n, unsigned least, uint8_t *bits)
{
    while (n > least && codes[n - 1] == 0) {
        n--;
    }
    for (unsigned i = 0; i < n; i++) {
        bits[i] = (uint8_t)code_bits(codes[i]);
    }
    return n;
}

void deflate_put_head(bit_writer *w, const code litlen[N_LITLEN], const code dist[N_DIST], int is_last)
{
    static const uint8_t order[N_CODELEN] = {16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15};
    static const uint8_t extra[3] = {2, 3, 7};
    uint8_t bits[N_LITLEN + N_DIST];
    uint16_t packed[N_LITLEN + N_DIST];
    uint32_t freq[N_CODELEN] = {0};
    code lengths[N_CODELEN];
    unsigned n_litlen = lengths_of(litlen, N_LITLEN, 257, bits);
    unsigned n_dist = lengths_of(dist, N_DIST, 1, bits + n_litlen);
    size_t n = pack_lengths(bits, n_litlen + n_dist, packed);
    for (size_t i = 0; i < n; i++) {
        freq[packed[i] & 0xff]++;
    }
    deflate_make_codes(freq, N_CODELEN, MAX_CODELEN_BITS, lengths);
    unsigned n_lengths = N_CODELEN;
    while (n_lengths > 4 && lengths[order[n_lengths - 1]] == 0) {
        n_lengths--;
    }
    put_bits(w, (is_last ? 1U : 0U) | 2U << 1, 3);
    put_bits(w, (n_litlen - 257) | (n_dist - 1) << 5 | (n_lengths - 4) << 10, 14);
    for (unsigned i = 0; i < n_lengths; i++) {
        put_bits(w, code_bits(lengths[order[i]]), 3);
    }
    for (size_t i = 0; i < n; i++) {
        unsigned symbol = packed[i] & 0xff;
        put_code(w, lengths[symbol]);
        if (symbol >= 16) {
            put_bits(w, packed[i] >> 8, extra[symbol - 16]);
        }
    }
}
