#include "store/deflate_codes.h"

#include <stddef.h>

#ifdef __x86_64__
#include <immintrin.h>
#define AVX512 __attribute__((target("avx512f,avx512bw,bmi,popcnt")))
#endif

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

/* ------------------------------------------------------------------ lengths of many */

/*
 * Lengths near the best, in one go over the symbols instead of a tree of them: each one's share of all says how many
 * bits it should have, and those are rounded up or down by how much is left of them, so that the codes fit; what room
 * remains then makes some a bit shorter. Bits are counted in PARTSths, room in codes of `limit` bits.
 */
enum { PART_BITS = 4, PARTS = 1 << PART_BITS, MANY = 40, MOST_ROUNDS = 16, N_PADDED = (N_LITLEN + 15) / 16 * 16 };

/* 2^k (1 + i / PARTS) and a half more has such a logarithm above k. */
static const uint32_t LOG_PARTS[PARTS] = {1, 2, 3, 5, 6, 7, 8, 9, 10, 11, 12, 13, 13, 14, 15, 16};

/* The logarithm to the base of two: a float's exponent is all of it but the parts, and a constant more. */
static inline uint32_t log_of(uint32_t v)
{
    float f = (float)v;
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    bits >>= 23 - PART_BITS;
    return (bits & ~(PARTS - 1U)) + LOG_PARTS[bits % PARTS];
}

/* By symbol: its bits as they should be; 0 where it doesn't occur. @return by how much they are to be rounded up, or
 * PARTS: however much, there is no room for all */
static unsigned choose_plain(const uint32_t *freq, unsigned n_symbols, unsigned limit, uint32_t *ideal)
{
    uint32_t room[PARTS] = {0};
    uint32_t total = 0;
    uint32_t used = 0;
    for (unsigned i = 0; i < n_symbols; i++) {
        total += freq[i];
    }
    const uint32_t log_total = log_of(total);
    for (unsigned i = 0; i < n_symbols; i++) {
        uint32_t bits = freq[i] > 0 ? log_total - log_of(freq[i]) : 0;
        bits = bits > PARTS ? bits : PARTS;
        bits = bits < limit * PARTS ? bits : limit * PARTS;
        ideal[i] = freq[i] > 0 ? bits : 0;
        room[bits % PARTS] += freq[i] > 0 ? 1U << (limit - bits / PARTS) : 0;
    }
    for (unsigned k = 0; k < PARTS; k++) {
        used += room[k];
    }
    unsigned up = 0;
    while (used > 1U << limit && ++up < PARTS) {
        used -= room[PARTS - up] / 2;
    }
    return up;
}

/* What room is left goes to the first symbols that it makes a bit shorter, again and again. @return false: it is not
 * used up soon */
static bool use_room(uint32_t *bits, unsigned n_symbols, unsigned limit)
{
    uint32_t left = 1U << limit;
    for (unsigned i = 0; i < n_symbols; i++) {
        left -= bits[i] > 0 ? 1U << (limit - bits[i]) : 0;
    }
    for (unsigned round = 0; round < MOST_ROUNDS && left > 0; round++) {
        for (unsigned i = 0; i < n_symbols && left > 0; i++) {
            if (bits[i] > 1 && 1U << (limit - bits[i]) <= left) {
                left -= 1U << (limit - bits[i]);
                bits[i]--;
            }
        }
    }
    return left == 0;
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

/* By symbol: its bits become its code, the first ones' of as many bits the lowest. */
static void number_plain(unsigned *next, unsigned n_symbols, code *codes)
{
    for (unsigned i = 0; i < n_symbols; i++) {
        unsigned bits = codes[i];
        codes[i] |= bits > 0 ? reversed(next[bits]++, bits) << CODE_SHIFT : 0;
    }
}

/* The least number of each length, where `count` have it. */
static void first_numbers(const unsigned *count, unsigned limit, unsigned *next)
{
    next[0] = 0;
    for (unsigned d = 1, first = 0; d <= limit; d++) {
        first = (first + (d > 1 ? count[d - 1] : 0)) << 1;
        next[d] = first;
    }
}

/* By a tree. */
static void make_few(uint32_t *keys, unsigned n, unsigned n_symbols, unsigned limit, code *codes)
{
    uint16_t symbols[N_LITLEN + 2];
    unsigned count[MAX_BITS + 1] = {0};
    unsigned next[MAX_BITS + 1];
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
    first_numbers(count, limit, next);
    for (unsigned i = 0; i < n; i++) {
        unsigned bits = codes[symbols[i]];
        codes[symbols[i]] |= reversed(next[bits]++, bits) << CODE_SHIFT;
    }
}

#ifdef __x86_64__
static inline __mmask16 lanes_from(unsigned i, unsigned n)
{
    return (__mmask16)(n - i < 16 ? (1U << (n - i)) - 1 : 0xffff);
}

/* As choose_plain(), without the rounding. */
AVX512 static void ideal_avx512(const uint32_t *freq, unsigned n_symbols, unsigned limit, uint32_t *ideal)
{
    const __m512i parts = _mm512_loadu_si512(LOG_PARTS);
    const __m512i part = _mm512_set1_epi32(PARTS - 1);
    __m512i sum = _mm512_setzero_si512();
    for (unsigned i = 0; i < n_symbols; i += 16) {
        sum = _mm512_add_epi32(sum, _mm512_maskz_loadu_epi32(lanes_from(i, n_symbols), freq + i));
    }
    const __m512i log_total = _mm512_set1_epi32((int)log_of((uint32_t)_mm512_reduce_add_epi32(sum)));
    for (unsigned i = 0; i < n_symbols; i += 16) {
        __m512i f = _mm512_maskz_loadu_epi32(lanes_from(i, n_symbols), freq + i);
        __m512i log = _mm512_srli_epi32(_mm512_castps_si512(_mm512_cvtepu32_ps(f)), 23 - PART_BITS);
        log = _mm512_add_epi32(_mm512_andnot_si512(part, log), _mm512_permutexvar_epi32(log, parts));
        __m512i bits = _mm512_max_epi32(_mm512_sub_epi32(log_total, log), _mm512_set1_epi32(PARTS));
        bits = _mm512_maskz_min_epi32(_mm512_test_epi32_mask(f, f), bits, _mm512_set1_epi32((int)(limit * PARTS)));
        _mm512_storeu_si512(ideal + i, bits);
    }
}

/* @return the room that they take when they are rounded up by so much */
AVX512 static uint32_t room_avx512(const uint32_t *ideal, unsigned n_symbols, unsigned limit, unsigned up)
{
    __m512i sum = _mm512_setzero_si512();
    for (unsigned i = 0; i < n_symbols; i += 16) {
        __m512i v = _mm512_loadu_si512(ideal + i);
        __m512i bits = _mm512_srli_epi32(_mm512_add_epi32(v, _mm512_set1_epi32((int)up)), PART_BITS);
        __m512i room = _mm512_sllv_epi32(_mm512_set1_epi32(1), _mm512_sub_epi32(_mm512_set1_epi32((int)limit), bits));
        sum = _mm512_mask_add_epi32(sum, _mm512_test_epi32_mask(v, v), sum, room);
    }
    return (uint32_t)_mm512_reduce_add_epi32(sum);
}

/* As use_room(). */
AVX512 static uint32_t use_room_avx512(uint32_t *bits, unsigned n_symbols, unsigned limit, uint32_t left)
{
    const __m512i one = _mm512_set1_epi32(1);
    for (unsigned round = 0; round < MOST_ROUNDS && left > 0; round++) {
        for (unsigned i = 0; i < n_symbols && left > 0; i += 16) {
            __m512i v = _mm512_loadu_si512(bits + i);
            __m512i room = _mm512_sllv_epi32(one, _mm512_sub_epi32(_mm512_set1_epi32((int)limit), v));
            unsigned fit =
                _mm512_mask_cmple_epu32_mask(_mm512_cmpgt_epu32_mask(v, one), room, _mm512_set1_epi32((int)left));
            for (; fit != 0; fit &= fit - 1) {
                unsigned k = i + (unsigned)__builtin_ctz(fit);
                if (1U << (limit - bits[k]) <= left) {
                    left -= 1U << (limit - bits[k]);
                    bits[k]--;
                }
            }
        }
    }
    return left;
}

/* As reversed(). */
AVX512 static inline __m512i reversed_avx512(__m512i v, __m512i bits)
{
    const __m512i ones = _mm512_set1_epi32(0x5555);
    const __m512i twos = _mm512_set1_epi32(0x3333);
    const __m512i fours = _mm512_set1_epi32(0x0f0f);
    const __m512i bytes = _mm512_set1_epi32(0x00ff);
    v = _mm512_or_si512(_mm512_slli_epi32(_mm512_and_si512(v, ones), 1),
                        _mm512_and_si512(_mm512_srli_epi32(v, 1), ones));
    v = _mm512_or_si512(_mm512_slli_epi32(_mm512_and_si512(v, twos), 2),
                        _mm512_and_si512(_mm512_srli_epi32(v, 2), twos));
    v = _mm512_or_si512(_mm512_slli_epi32(_mm512_and_si512(v, fours), 4),
                        _mm512_and_si512(_mm512_srli_epi32(v, 4), fours));
    v = _mm512_or_si512(_mm512_slli_epi32(_mm512_and_si512(v, bytes), 8), _mm512_srli_epi32(v, 8));
    return _mm512_srlv_epi32(v, _mm512_sub_epi32(_mm512_set1_epi32(16), bits));
}

/* As number_plain(), from the bits alone; each length's symbols get theirs together. */
AVX512 static void number_avx512(const uint32_t *bits, unsigned n_symbols, unsigned limit, code *codes)
{
    unsigned count[MAX_BITS + 1] = {0};
    unsigned next[MAX_BITS + 1];
    const __m512i steps = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    for (unsigned i = 0; i < n_symbols; i++) {
        count[bits[i]]++;
    }
    first_numbers(count, limit, next);
    for (unsigned i = 0; i < n_symbols; i += 16) {
        __m512i v = _mm512_loadu_si512(bits + i);
        __m512i number = _mm512_setzero_si512();
        for (unsigned left = _mm512_test_epi32_mask(v, v); left != 0;) {
            unsigned length = bits[i + (unsigned)__builtin_ctz(left)];
            __mmask16 these = _mm512_cmpeq_epi32_mask(v, _mm512_set1_epi32((int)length));
            number =
                _mm512_mask_expand_epi32(number, these, _mm512_add_epi32(steps, _mm512_set1_epi32((int)next[length])));
            next[length] += (unsigned)__builtin_popcount(these);
            left &= ~(unsigned)these;
        }
        number = _mm512_or_si512(_mm512_slli_epi32(reversed_avx512(number, v), CODE_SHIFT), v);
        _mm512_mask_storeu_epi32(codes + i, lanes_from(i, n_symbols), number);
    }
}

/* As make_many(). */
AVX512 static bool make_many_avx512(const uint32_t *freq, unsigned n_symbols, unsigned limit, code *codes)
{
    uint32_t bits[N_PADDED];
    const uint32_t all = 1U << limit;
    ideal_avx512(freq, n_symbols, limit, bits);
    if (room_avx512(bits, n_symbols, limit, PARTS - 1) > all) {
        return false;
    }
    unsigned up = 0; /* the least that leaves room for all */
    for (unsigned step = PARTS / 2; step > 0; step /= 2) {
        up += room_avx512(bits, n_symbols, limit, up + step - 1) > all ? step : 0;
    }
    uint32_t left = all - room_avx512(bits, n_symbols, limit, up);
    for (unsigned i = 0; i < n_symbols; i += 16) {
        __m512i v = _mm512_loadu_si512(bits + i);
        v = _mm512_maskz_add_epi32(_mm512_test_epi32_mask(v, v), v, _mm512_set1_epi32((int)up));
        _mm512_storeu_si512(bits + i, _mm512_srli_epi32(v, PART_BITS));
    }
    if (use_room_avx512(bits, n_symbols, limit, left) > 0) {
        return false;
    }
    number_avx512(bits, n_symbols, limit, codes);
    return true;
}
#endif

/* @return false: not in this way */
static bool make_many(const uint32_t *freq, unsigned n_symbols, unsigned limit, bool is_wide, code *codes)
{
    uint32_t bits[N_PADDED];
    unsigned count[MAX_BITS + 1] = {0};
    unsigned next[MAX_BITS + 1];
#ifdef __x86_64__
    if (is_wide) {
        return make_many_avx512(freq, n_symbols, limit, codes);
    }
#endif
    (void)is_wide;
    unsigned up = choose_plain(freq, n_symbols, limit, bits);
    if (up == PARTS) {
        return false;
    }
    for (unsigned i = 0; i < n_symbols; i++) {
        bits[i] = bits[i] > 0 ? (bits[i] + up) / PARTS : 0;
    }
    if (!use_room(bits, n_symbols, limit)) {
        return false;
    }
    for (unsigned i = 0; i < n_symbols; i++) {
        count[bits[i]]++;
    }
    memcpy(codes, bits, n_symbols * sizeof *codes);
    first_numbers(count, limit, next);
    number_plain(next, n_symbols, codes);
    return true;
}

bool deflate_is_wide(void)
{
#ifdef __x86_64__
    return __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vbmi2");
#else
    return false;
#endif
}

void deflate_make_codes(const uint32_t *freq, unsigned n_symbols, unsigned limit, bool is_wide, code *codes)
{
    uint32_t keys[N_LITLEN + 2]; /* in the order of symbols, then by how often they occur */
    unsigned n = 0;
    if (n_symbols > MANY) {
        for (unsigned i = 0; i < n_symbols; i++) {
            n += freq[i] > 0;
        }
        if (n > MANY && make_many(freq, n_symbols, limit, is_wide, codes)) {
            return;
        }
    }
    n = gather(freq, n_symbols, keys);
    make_few(keys, n, n_symbols, limit, codes);
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

enum { LENGTHS_PAD = 8, LEAST_REPEATED = 3, LEAST_MANY = 11, MOST_REPEATED = 138 };

/* Zeros from i on. */
static size_t count_zeros(const uint8_t *bits, size_t i, size_t n)
{
    size_t end = i;
    while (end < n) { /* mostly many or few */
        uint64_t v;
        memcpy(&v, bits + end, sizeof v);
        if (v != 0) {
            end += (unsigned)__builtin_ctzll(v) / 8;
            break;
        }
        end += sizeof v;
    }
    return (end < n ? end : n) - i;
}

/* n zeros. @return behind them */
static uint16_t *pack_zeros(size_t n, uint16_t *out)
{
    while (n >= LEAST_REPEATED) {
        size_t part = n < MOST_REPEATED ? n : MOST_REPEATED;
        *out++ = (uint16_t)(part < LEAST_MANY ? 17U | (unsigned)(part - LEAST_REPEATED) << 8
                                              : 18U | (unsigned)(part - LEAST_MANY) << 8);
        n -= part;
    }
    for (; n > 0; n--) {
        *out++ = 0;
    }
    return out;
}

/* The lengths of both codes as symbols 0..18 with their extra bits, above bit 8; LENGTHS_PAD readable bytes behind
 * them. That others than zeros repeat is not said: it is seldom worth it, and never much. @return how many */
static size_t pack_lengths(const uint8_t *bits, size_t n, uint16_t *out)
{
    uint16_t *p = out;
    for (size_t i = 0; i < n;) {
        if (bits[i] != 0) {
            *p++ = bits[i++];
            continue;
        }
        size_t zeros = count_zeros(bits, i, n);
        p = pack_zeros(zeros, p);
        i += zeros;
    }
    return (size_t)(p - out);
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
    uint8_t bits[N_LITLEN + N_DIST + LENGTHS_PAD] = {0};
    uint16_t packed[N_LITLEN + N_DIST];
    uint32_t freq[N_CODELEN] = {0};
    code lengths[N_CODELEN];
    unsigned n_litlen = lengths_of(litlen, N_LITLEN, 257, bits);
    unsigned n_dist = lengths_of(dist, N_DIST, 1, bits + n_litlen);
    size_t n = pack_lengths(bits, n_litlen + n_dist, packed);
    for (size_t i = 0; i < n; i++) {
        freq[packed[i] & 0xff]++;
    }
    deflate_make_codes(freq, N_CODELEN, MAX_CODELEN_BITS, false, lengths);
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
