#include "store/deflate.h"

#include <libdeflate.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "base/mem.h"

enum {
    HASH_BITS = 13,
    MIN_RUN = 4,
    KEY_BYTES = 6, /* of a repetition that is no run; at most 7 */
    MAX_MATCH = 258,
    WINDOW = 32768,
    BLOCK_TOKENS = 32768, /* literals and matches that share a pair of codes */
    BLOCK_SEQUENCES = 8192,
    N_LITLEN = 286,
    N_DIST = 30,
    N_CODELEN = 19,
    MAX_BITS = 15,
    MAX_CODELEN_BITS = 7,
    END_OF_BLOCK = 256,
    SKIP_SHIFT = 4 /* after this many misses, as a power of two, the search steps by one byte more */
};

typedef struct codes {
    uint16_t code[N_LITLEN];
    uint8_t bits[N_LITLEN];
} codes;

typedef struct bit_writer {
    uint8_t *p, *end;
    uint64_t acc;
    unsigned n;
} bit_writer;

/* Bytes as they are, then a repetition of any length (0: none). */
typedef struct sequence {
    uint32_t n_literals, length, dist;
} sequence;

struct deflater {
    uint32_t
        heads[1 << HASH_BITS]; /* `base` + position of the latest bytes of a hash; below `base`: of another input */
    uint32_t base;
    sequence sequences[BLOCK_SEQUENCES];
    size_t n_sequences, n_tokens; /* of the block */
    const uint8_t *block;         /* where its bytes begin */
    uint32_t litlen_freq[N_LITLEN];
    uint32_t dist_freq[N_DIST];
    codes litlen, dist;
    uint8_t length_symbol[MAX_MATCH + 1]; /* length 3..258 -> symbol - 257 */
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

/* How often a symbol occurs << SYMBOL_BITS | the symbol: at most 1 GiB / 258 repetitions of the longest match. */
enum { SYMBOL_BITS = 9, DIGIT_BITS = 8 };

static uint32_t freq_of(uint32_t key)
{
    return key >> SYMBOL_BITS;
}

/* Ascending, digit by digit; they come in the order of symbols. */
static void sort_symbols(uint32_t *keys, unsigned n)
{
    uint32_t other[N_LITLEN];
    uint32_t most = 0;
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

static uint16_t reversed(unsigned code, unsigned bits)
{
    code = (code & 0x5555) << 1 | (code >> 1 & 0x5555);
    code = (code & 0x3333) << 2 | (code >> 2 & 0x3333);
    code = (code & 0x0f0f) << 4 | (code >> 4 & 0x0f0f);
    code = (code & 0x00ff) << 8 | (code >> 8 & 0x00ff);
    return (uint16_t)(code >> (16 - bits));
}

/* Codes of a complete tree; a lone symbol gets one bit. */
static void make_codes(const uint32_t *freq, unsigned n_symbols, unsigned limit, codes *c)
{
    uint32_t s[N_LITLEN];
    unsigned count[MAX_BITS + 1] = {0};
    unsigned n = 0;
    memset(c->bits, 0, sizeof c->bits);
    for (unsigned i = 0; i < n_symbols; i++) {
        if (freq[i] > 0) {
            s[n++] = freq[i] << SYMBOL_BITS | i;
        }
    }
    if (n < 2) {
        count[1] = n;
    } else {
        sort_symbols(s, n);
        count_depths(s, n, limit, count);
        fit(count, limit);
    }
    unsigned next[MAX_BITS + 2] = {0};
    for (unsigned d = limit, i = 0; d > 0; d--) { /* the rarest get the longest */
        for (unsigned k = 0; k < count[d]; k++) {
            c->bits[s[i++] & ((1U << SYMBOL_BITS) - 1)] = (uint8_t)d;
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

/* The bits of one match, at most 48. */
typedef struct match_bits {
    uint64_t v;
    unsigned n;
} match_bits;

static inline match_bits bits_of(const deflater *d, const uint32_t *length_code, unsigned length, unsigned dist)
{
    unsigned s = dist_symbol(dist);
    unsigned dist_extra = s < 4 ? 0 : s / 2 - 1;
    match_bits m = {length_code[length] & 0xffffff, length_code[length] >> 24};
    m.v |= (uint64_t)d->dist.code[s] << m.n;
    m.n += d->dist.bits[s];
    m.v |= (uint64_t)((dist - 1) & ((1U << dist_extra) - 1)) << m.n;
    m.n += dist_extra;
    return m;
}

/* A repetition as matches of which none is shorter than three bytes: so many of the longest, and the rest. */
static inline uint32_t whole_matches(uint32_t length)
{
    return length < MAX_MATCH + 3 ? 0 : (length - 3) / MAX_MATCH;
}

enum { REST_SPLIT = MAX_MATCH - 3 }; /* where the rest is too long for one match */

static void put_repetition(const deflater *d, const uint32_t *length_code, bit_writer *w, uint32_t length,
                           uint32_t dist)
{
    uint32_t whole = whole_matches(length);
    match_bits m = bits_of(d, length_code, MAX_MATCH, dist);
    for (uint32_t i = 0; i < whole; i++) {
        put_bits(w, m.v, m.n);
    }
    length -= whole * MAX_MATCH;
    if (length > MAX_MATCH) {
        m = bits_of(d, length_code, REST_SPLIT, dist);
        put_bits(w, m.v, m.n);
        length -= REST_SPLIT;
    }
    m = bits_of(d, length_code, length, dist);
    put_bits(w, m.v, m.n);
}

static inline void put_literals(bit_writer *w, const uint32_t *code, const uint8_t *p, size_t n)
{
    enum { AT_ONCE = 3 }; /* as many as put_bits() takes */
    for (; n >= AT_ONCE; n -= AT_ONCE, p += AT_ONCE) {
        uint32_t a = code[p[0]];
        uint32_t b = code[p[1]];
        uint32_t c = code[p[2]];
        unsigned n_a = a >> 16;
        unsigned n_b = n_a + (b >> 16);
        put_bits(w, (a & 0xffff) | (uint64_t)(b & 0xffff) << n_a | (uint64_t)(c & 0xffff) << n_b, n_b + (c >> 16));
    }
    for (; n > 0; n--, p++) {
        put_bits(w, code[*p] & 0xffff, code[*p] >> 16);
    }
}

static void put_sequences(deflater *d)
{
    uint32_t code[END_OF_BLOCK]; /* of literals, with its length above bit 16 */
    for (unsigned i = 0; i < END_OF_BLOCK; i++) {
        code[i] = d->litlen.code[i] | (uint32_t)d->litlen.bits[i] << 16;
    }
    uint32_t length_code[MAX_MATCH + 1]; /* with the extra bits of lengths, and the length of both above bit 24 */
    for (unsigned length = 3; length <= MAX_MATCH; length++) {
        unsigned l = d->length_symbol[length];
        unsigned n = d->litlen.bits[257 + l];
        length_code[length] = d->litlen.code[257 + l] | (length - LENGTH_BASE[l]) << n | (n + LENGTH_EXTRA[l]) << 24;
    }
    bit_writer w = d->out; /* in registers: what it writes could be anything */
    const uint8_t *p = d->block;
    for (const sequence *s = d->sequences, *end = s + d->n_sequences; s < end; s++) {
        put_literals(&w, code, p, s->n_literals);
        p += s->n_literals + s->length;
        if (s->length > MAX_MATCH) {
            put_repetition(d, length_code, &w, s->length, s->dist);
        } else if (s->length > 0) {
            match_bits m = bits_of(d, length_code, s->length, s->dist);
            put_bits(&w, m.v, m.n);
        }
    }
    put_bits(&w, d->litlen.code[END_OF_BLOCK], d->litlen.bits[END_OF_BLOCK]);
    d->out = w;
}

static void count_symbols(deflater *d)
{
    uint32_t twin[END_OF_BLOCK] = {0}; /* so that equal neighbours don't wait for each other's count */
    const uint8_t *p = d->block;
    memset(d->litlen_freq, 0, sizeof d->litlen_freq);
    memset(d->dist_freq, 0, sizeof d->dist_freq);
    for (const sequence *s = d->sequences, *end = s + d->n_sequences; s < end; s++) {
        size_t i = 0;
        for (; i + 2 <= s->n_literals; i += 2) {
            d->litlen_freq[p[i]]++;
            twin[p[i + 1]]++;
        }
        if (i < s->n_literals) {
            d->litlen_freq[p[i]]++;
        }
        p += s->n_literals + s->length;
        if (s->length == 0) {
            continue;
        }
        uint32_t whole = whole_matches(s->length);
        uint32_t rest = s->length - whole * MAX_MATCH;
        uint32_t *dist_freq = &d->dist_freq[dist_symbol(s->dist)];
        if (rest > MAX_MATCH) {
            d->litlen_freq[257 + d->length_symbol[REST_SPLIT]]++;
            (*dist_freq)++;
            rest -= REST_SPLIT;
        }
        d->litlen_freq[257 + d->length_symbol[MAX_MATCH]] += whole;
        d->litlen_freq[257 + d->length_symbol[rest]]++;
        *dist_freq += whole + 1;
    }
    for (unsigned i = 0; i < END_OF_BLOCK; i++) {
        d->litlen_freq[i] += twin[i];
    }
    d->litlen_freq[END_OF_BLOCK] = 1;
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

/* The block ends in front of `next`. */
static void end_block(deflater *d, const uint8_t *next, bool is_last)
{
    enum { HEAD_BYTES = 512 };
    count_symbols(d);
    make_codes(d->litlen_freq, N_LITLEN, MAX_BITS, &d->litlen);
    make_codes(d->dist_freq, N_DIST, MAX_BITS, &d->dist);
    d->is_full = d->is_full || (size_t)(d->out.end - d->out.p) < HEAD_BYTES + block_bits(d) / 8;
    if (!d->is_full) {
        put_head(d, is_last);
        put_sequences(d);
    }
    d->block = next;
    d->n_sequences = 0;
    d->n_tokens = 0;
}

/* ------------------------------------------------------------------ matches */

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

/* Where the run of the byte in front of p ends. */
static inline const uint8_t *run_end(const uint8_t *p, const uint8_t *end)
{
    const uint8_t *last = p - 1;
#ifdef __SSE2__
    const __m128i all = _mm_set1_epi8((char)*last);
    while (end - p >= 64) { /* the long ones: megabytes of zeros */
        const __m128i *q = (const __m128i *)(const void *)p;
        __m128i a = _mm_and_si128(_mm_cmpeq_epi8(_mm_loadu_si128(q), all), _mm_cmpeq_epi8(_mm_loadu_si128(q + 1), all));
        __m128i b =
            _mm_and_si128(_mm_cmpeq_epi8(_mm_loadu_si128(q + 2), all), _mm_cmpeq_epi8(_mm_loadu_si128(q + 3), all));
        if (_mm_movemask_epi8(_mm_and_si128(a, b)) != 0xffff) {
            break;
        }
        p += 64;
    }
#endif
    return p + equal_bytes(last, p, end);
}

static inline void add_sequence(deflater *d, size_t n_literals, size_t length, size_t dist, const uint8_t *next)
{
    d->sequences[d->n_sequences++] = (sequence){(uint32_t)n_literals, (uint32_t)length, (uint32_t)dist};
    d->n_tokens += n_literals + 1 + whole_matches((uint32_t)length);
    if (d->n_tokens >= BLOCK_TOKENS || d->n_sequences == BLOCK_SEQUENCES) {
        end_block(d, next, false);
    }
}

/* Of the first KEY_BYTES: what repeats less is cheaper said byte by byte, and much sooner. */
static inline uint32_t hash_of(uint64_t v)
{
    return (uint32_t)((v << (64 - 8 * KEY_BYTES)) * UINT64_C(0x9e3779b185ebca87) >> (64 - HASH_BITS));
}

static inline bool has_same_key(uint64_t a, uint64_t b)
{
    return (a ^ b) << (64 - 8 * KEY_BYTES) == 0;
}

/* Every byte that isn't part of a repetition is in front of one, from `first` on. */
static void find_matches(deflater *d, const uint8_t *in, size_t n)
{
    size_t i = n > 0 ? 1 : 0;
    size_t first = 0;
    size_t misses = 0;
    while (i + 8 <= n) {
        uint64_t here = load8(in + i - 1); /* with the byte in front */
        uint64_t v = here >> 8;
        size_t dist = 1;
        size_t end;
        if ((uint32_t)v == (uint32_t)here) { /* a run of one byte is the cheapest to say */
            end = (size_t)(run_end(in + i + MIN_RUN, in + n) - in);
        } else {
            uint32_t *head = &d->heads[hash_of(v)];
            dist = d->base + (uint32_t)i - *head;
            *head = d->base + (uint32_t)i;
            if (dist > i || dist > WINDOW || !has_same_key(load8(in + i - dist), v)) {
                i += 1 + (misses++ >> SKIP_SHIFT);
                if (i - first >= BLOCK_TOKENS) {
                    i = i < n ? i : n;
                    add_sequence(d, i - first, 0, 0, in + i);
                    first = i;
                }
                continue;
            }
            end = i + KEY_BYTES + equal_bytes(in + i - dist + KEY_BYTES, in + i + KEY_BYTES, in + n);
        }
        while (i > first && i > dist && in[i - 1] == in[i - 1 - dist]) { /* what the search stepped over */
            i--;
        }
        add_sequence(d, i - first, end - i, dist, in + end);
        i = first = end;
        misses = 0;
    }
    if (first < n) {
        add_sequence(d, n - first, 0, 0, in + n);
    }
}

/* ------------------------------------------------------------------ streams */

deflater *deflater_create(void)
{
    deflater *d = mem_calloc(1, sizeof *d);
    for (unsigned length = 3; length <= MAX_MATCH; length++) {
        d->length_symbol[length] = (uint8_t)length_symbol(length);
    }
    return d;
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
    if (d->base == 0 || n > UINT32_MAX - d->base) {
        memset(d->heads, 0, sizeof d->heads);
        d->base = 1;
    }
    d->is_full = false;
    d->out = (bit_writer){out + 2, out + cap - 12, 0, 0};
    d->block = in;
    out[0] = 0x78;
    out[1] = 0x01;
    find_matches(d, in, n);
    end_block(d, in + n, true);
    d->base += (uint32_t)n;
    if (d->is_full) {
        return 0;
    }
    put_bits(&d->out, 0, (8 - d->out.n) & 7);
    uint32_t sum = __builtin_bswap32(libdeflate_adler32(1, in, n));
    memcpy(d->out.p, &sum, sizeof sum);
    return (size_t)(d->out.p - out) + sizeof sum;
}
