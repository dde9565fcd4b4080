#include "store/deflate.h"

#include <libdeflate.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum {
    HASH_BITS = 13,
    MIN_MATCH = 4,
    MAX_MATCH = 258,
    WINDOW = 32768,
    BLOCK_TOKENS = 32768, /* literals and matches that share a pair of codes */
    N_LITLEN = 286,
    N_DIST = 30,
    N_CODELEN = 19,
    MAX_BITS = 15,
    MAX_CODELEN_BITS = 7,
    END_OF_BLOCK = 256,
    SKIP_SHIFT = 6 /* after this many misses, as a power of two, the search steps by one byte more */
};

/* A literal is below 256; a match is its length << 16 | distance. */
typedef struct codes {
    uint16_t code[N_LITLEN];
    uint8_t bits[N_LITLEN];
} codes;

typedef struct bit_writer {
    uint8_t *p, *end;
    uint64_t acc;
    unsigned n;
} bit_writer;

struct deflater {
    uint32_t heads[1 << HASH_BITS]; /* position + 1 of the latest bytes of a hash; 0: none */
    uint32_t tokens[BLOCK_TOKENS];
    size_t n_tokens;
    uint32_t litlen_freq[N_LITLEN];
    uint32_t dist_freq[N_DIST];
    codes litlen, dist;
    bit_writer out;
    bool is_full;
};

/* ------------------------------------------------------------------ tables of RFC 1951, 3.2.5 */

static const uint16_t LENGTH_BASE[29] = {3,  4,  5,  6,  7,  8,  9,  10, 11,  13,  15,  17,  19,  23, 27,
                                         31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258};
static const uint8_t LENGTH_EXTRA[29] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2,
                                         2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0};

/* Length 3..258 -> symbol - 257. */
static unsigned length_symbol(unsigned length)
{
    if (length < 11) {
        return length - 3;
    }
    if (length == MAX_MATCH) {
        return 28;
    }
    unsigned v = length - 3;
    unsigned top = 31U - (unsigned)__builtin_clz(v);
    return 4 * (top - 1) + (v >> (top - 2) & 3);
}

static unsigned dist_symbol(unsigned dist)
{
    unsigned v = dist - 1;
    if (v < 4) {
        return v;
    }
    unsigned top = 31U - (unsigned)__builtin_clz(v);
    return 2 * top + (v >> (top - 1) & 1);
}

/* ------------------------------------------------------------------ bits */

/* At most 48 bits at a time; the buffer has room, which is checked per block, and eight bytes behind it. */
static inline void put_bits(bit_writer *w, uint64_t v, unsigned n)
{
    w->acc |= v << w->n;
    w->n += n;
    memcpy(w->p, &w->acc, sizeof w->acc);
    w->p += w->n / 8;
    w->acc >>= w->n & ~7U;
    w->n &= 7;
}

/* ------------------------------------------------------------------ Huffman codes */

typedef struct symbol {
    uint32_t freq;
    uint16_t id;
} symbol;

static int compare_symbols(const void *pa, const void *pb)
{
    const symbol *a = pa;
    const symbol *b = pb;
    if (a->freq != b->freq) {
        return a->freq < b->freq ? -1 : 1;
    }
    return a->id < b->id ? -1 : a->id > b->id;
}

/* Depths of the tree by merging two queues: leaves in order, and inner nodes, which arise in order. `count`: leaves per
 * depth, deeper ones at the limit. */
static void count_depths(const symbol *s, unsigned n, unsigned limit, unsigned *count)
{
    uint32_t weight[N_LITLEN];
    uint16_t parent[N_LITLEN];
    uint16_t leaf_parent[N_LITLEN];
    unsigned leaf = 0;
    unsigned inner = 0;
    for (unsigned made = 0; made + 1 < n; made++) {
        weight[made] = 0;
        for (unsigned k = 0; k < 2; k++) {
            if (leaf < n && (inner == made || s[leaf].freq <= weight[inner])) {
                weight[made] += s[leaf].freq;
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

static uint16_t reversed(unsigned code, unsigned bits)
{
    unsigned r = 0;
    for (unsigned i = 0; i < bits; i++) {
        r = r << 1 | (code >> i & 1);
    }
    return (uint16_t)r;
}

/* Codes of a complete tree; a lone symbol gets one bit. */
static void make_codes(const uint32_t *freq, unsigned n_symbols, unsigned limit, codes *c)
{
    symbol s[N_LITLEN];
    unsigned count[MAX_BITS + 1] = {0};
    unsigned n = 0;
    memset(c->bits, 0, sizeof c->bits);
    for (unsigned i = 0; i < n_symbols; i++) {
        if (freq[i] > 0) {
            s[n++] = (symbol){freq[i], (uint16_t)i};
        }
    }
    if (n < 2) {
        count[1] = n;
    } else {
        qsort(s, n, sizeof *s, compare_symbols);
        count_depths(s, n, limit, count);
        fit(count, limit);
    }
    unsigned next[MAX_BITS + 2] = {0};
    for (unsigned d = limit, i = 0; d > 0; d--) { /* the rarest get the longest */
        for (unsigned k = 0; k < count[d]; k++) {
            c->bits[s[i++].id] = (uint8_t)d;
        }
    }
    for (unsigned d = 1, code = 0; d <= limit; d++) {
        code = (code + count[d - 1]) << 1;
        next[d] = code;
    }
    for (unsigned i = 0; i < n_symbols; i++) {
        if (c->bits[i] > 0) {
            c->code[i] = reversed(next[c->bits[i]]++, c->bits[i]);
        }
    }
}

/* ------------------------------------------------------------------ blocks */

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

static unsigned used(const codes *c, unsigned n, unsigned least)
{
    while (n > least && c->bits[n - 1] == 0) {
        n--;
    }
    return n;
}

static void put_head(deflater *d, bool is_last)
{
    static const uint8_t order[N_CODELEN] = {16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15};
    uint8_t bits[N_LITLEN + N_DIST];
    uint16_t packed[N_LITLEN + N_DIST];
    uint32_t freq[N_CODELEN] = {0};
    codes lengths;
    unsigned n_litlen = used(&d->litlen, N_LITLEN, 257);
    unsigned n_dist = used(&d->dist, N_DIST, 1);
    memcpy(bits, d->litlen.bits, n_litlen);
    memcpy(bits + n_litlen, d->dist.bits, n_dist);
    size_t n = pack_lengths(bits, n_litlen + n_dist, packed);
    for (size_t i = 0; i < n; i++) {
        freq[packed[i] & 0xff]++;
    }
    make_codes(freq, N_CODELEN, MAX_CODELEN_BITS, &lengths);
    unsigned n_lengths = N_CODELEN;
    while (n_lengths > 4 && lengths.bits[order[n_lengths - 1]] == 0) {
        n_lengths--;
    }
    bit_writer *w = &d->out;
    put_bits(w, (is_last ? 1U : 0U) | 2U << 1, 3);
    put_bits(w, n_litlen - 257, 5);
    put_bits(w, n_dist - 1, 5);
    put_bits(w, n_lengths - 4, 4);
    for (unsigned i = 0; i < n_lengths; i++) {
        put_bits(w, lengths.bits[order[i]], 3);
    }
    for (size_t i = 0; i < n; i++) {
        static const uint8_t extra[3] = {2, 3, 7};
        unsigned symbol_of = packed[i] & 0xff;
        put_bits(w, lengths.code[symbol_of], lengths.bits[symbol_of]);
        if (symbol_of >= 16) {
            put_bits(w, packed[i] >> 8, extra[symbol_of - 16]);
        }
    }
}

static void put_match(deflater *d, uint32_t token)
{
    unsigned length = token >> 16;
    unsigned dist = token & 0xffff;
    unsigned l = length_symbol(length);
    unsigned s = dist_symbol(dist);
    unsigned dist_extra = s < 4 ? 0 : s / 2 - 1;
    uint64_t v = d->litlen.code[257 + l];
    unsigned n = d->litlen.bits[257 + l];
    v |= (uint64_t)(length - LENGTH_BASE[l]) << n;
    n += LENGTH_EXTRA[l];
    v |= (uint64_t)d->dist.code[s] << n;
    n += d->dist.bits[s];
    v |= (uint64_t)((dist - 1) & ((1U << dist_extra) - 1)) << n;
    put_bits(&d->out, v, n + dist_extra);
}

/* Bits of the block's symbols, extra bits included. */
static uint64_t block_bits(const deflater *d)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < N_LITLEN; i++) {
        sum += (uint64_t)d->litlen_freq[i] * (d->litlen.bits[i] + (i > 256 ? LENGTH_EXTRA[i - 257] : 0U));
    }
    for (unsigned i = 0; i < N_DIST; i++) {
        sum += (uint64_t)d->dist_freq[i] * (d->dist.bits[i] + (i < 4 ? 0U : i / 2 - 1));
    }
    return sum;
}

static void end_block(deflater *d, bool is_last)
{
    enum { HEAD_BYTES = 512 };
    d->litlen_freq[END_OF_BLOCK] = 1;
    make_codes(d->litlen_freq, N_LITLEN, MAX_BITS, &d->litlen);
    make_codes(d->dist_freq, N_DIST, MAX_BITS, &d->dist);
    d->is_full = d->is_full || (size_t)(d->out.end - d->out.p) < HEAD_BYTES + block_bits(d) / 8;
    if (!d->is_full) {
        put_head(d, is_last);
        for (size_t i = 0; i < d->n_tokens; i++) {
            uint32_t t = d->tokens[i];
            if (t < 256) {
                put_bits(&d->out, d->litlen.code[t], d->litlen.bits[t]);
            } else {
                put_match(d, t);
            }
        }
        put_bits(&d->out, d->litlen.code[END_OF_BLOCK], d->litlen.bits[END_OF_BLOCK]);
    }
    memset(d->litlen_freq, 0, sizeof d->litlen_freq);
    memset(d->dist_freq, 0, sizeof d->dist_freq);
    d->n_tokens = 0;
}

/* ------------------------------------------------------------------ matches */

static inline uint32_t load4(const uint8_t *p)
{
    uint32_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

static inline uint64_t load8(const uint8_t *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

/* Equal bytes at a and b, up to `end` behind b. */
static inline size_t equal_bytes(const uint8_t *a, const uint8_t *b, const uint8_t *end)
{
    const uint8_t *from = b;
    while (end - b >= 8) {
        uint64_t x = load8(a) ^ load8(b);
        if (x != 0) {
            return (size_t)(b - from) + (size_t)__builtin_ctzll(x) / 8;
        }
        a += 8;
        b += 8;
    }
    while (b < end && *a == *b) {
        a++;
        b++;
    }
    return (size_t)(b - from);
}

static inline void add_literal(deflater *d, uint8_t c)
{
    if (d->n_tokens == BLOCK_TOKENS) {
        end_block(d, false);
    }
    d->tokens[d->n_tokens++] = c;
    d->litlen_freq[c]++;
}

/* A repetition of any length, in matches of which none is shorter than three bytes. */
static void add_match(deflater *d, size_t length, size_t dist)
{
    unsigned s = dist_symbol((unsigned)dist);
    while (length > 0) {
        if (d->n_tokens == BLOCK_TOKENS) {
            end_block(d, false);
        }
        size_t now = length <= MAX_MATCH ? length : length < MAX_MATCH + 3 ? MAX_MATCH - 3 : MAX_MATCH;
        d->tokens[d->n_tokens++] = (uint32_t)now << 16 | (uint32_t)dist;
        d->litlen_freq[257 + length_symbol((unsigned)now)]++;
        d->dist_freq[s]++;
        length -= now;
    }
}

static inline uint32_t hash_of(uint32_t v)
{
    return v * 2654435761U >> (32 - HASH_BITS);
}

static void find_matches(deflater *d, const uint8_t *in, size_t n)
{
    const uint8_t *end = in + n;
    size_t i = 0;
    size_t misses = 0;
    while (i + MIN_MATCH <= n) {
        uint32_t v = load4(in + i);
        uint32_t *head = &d->heads[hash_of(v)];
        size_t at = *head;
        *head = (uint32_t)i + 1;
        size_t dist = 0;
        if (i > 0 && v == load4(in + i - 1)) { /* a run of one byte is the cheapest to say */
            dist = 1;
        } else if (at > 0 && i + 1 - at <= WINDOW && load4(in + at - 1) == v) {
            dist = i + 1 - at;
        }
        if (dist > 0) {
            size_t length = MIN_MATCH + equal_bytes(in + i - dist + MIN_MATCH, in + i + MIN_MATCH, end);
            add_match(d, length, dist);
            i += length;
            misses = 0;
            continue;
        }
        size_t step = 1 + (misses++ >> SKIP_SHIFT);
        step = step < n - i ? step : n - i;
        for (size_t stop = i + step; i < stop; i++) {
            add_literal(d, in[i]);
        }
    }
    for (; i < n; i++) {
        add_literal(d, in[i]);
    }
}

/* ------------------------------------------------------------------ streams */

deflater *deflater_create(void)
{
    return mem_calloc(1, sizeof(deflater));
}

void deflater_destroy(deflater **d)
{
    free(*d);
    *d = NULL;
}

size_t deflate_zlib(deflater *d, const uint8_t *in, size_t n, uint8_t *out, size_t cap)
{
    enum { ENDS = 2 + 8 + 4 };
    if (cap < ENDS) {
        return 0;
    }
    memset(d->heads, 0, sizeof d->heads);
    d->is_full = false;
    d->out = (bit_writer){out + 2, out + cap - 12, 0, 0};
    out[0] = 0x78;
    out[1] = 0x01;
    find_matches(d, in, n);
    end_block(d, true);
    if (d->is_full) {
        return 0;
    }
    put_bits(&d->out, 0, (8 - d->out.n) & 7);
    uint32_t sum = __builtin_bswap32(libdeflate_adler32(1, in, n));
    memcpy(d->out.p, &sum, sizeof sum);
    return (size_t)(d->out.p - out) + sizeof sum;
}
