#include "store/deflate.h"

#include <libdeflate.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "base/mem.h"
#include "store/deflate_codes.h"
#include "store/deflate_runs.h"

enum {
    HASH_BITS = 13,
    MIN_RUN = 7,   /* shorter ones are hardly cheaper than their bytes, and what they take is by the piece */
    KEY_BYTES = 7, /* of a repetition that is no run; at most 7 */
    MAX_MATCH = MATCH_LONGEST,
    WINDOW = 32768,
    BLOCK_TOKENS = 32768, /* literals and matches that share a pair of codes */
    BLOCK_SEQUENCES = 8192
};

/* Bytes as they are, then a repetition of any length (0: none). Its distance: the symbol, the bits that follow it and
 * their value. */
typedef struct sequence {
    uint32_t at, n_literals, length;
    uint16_t extra;
    uint8_t n_extra, symbol;
} sequence;

struct deflater {
    uint32_t
        heads[1 << HASH_BITS]; /* by hash: where its bytes were last; far below `base`: in what cannot be reached */
    uint32_t base;
    unsigned patience;
    const uint8_t *in;
    sequence sequences[BLOCK_SEQUENCES];
    size_t n_sequences, n_tokens; /* of the block */
    uint32_t litlen_freq[N_LITLEN];
    uint32_t dist_freq[N_DIST];
    code litlen[N_LITLEN], dist[N_DIST];
    length_table lengths;
    deflate_runs runs;
    bit_writer out;
    bool is_full;
};

static inline void set_dist(sequence *s, unsigned dist)
{
    unsigned v = dist - 1;
    s->symbol = (uint8_t)v;
    s->n_extra = 0;
    s->extra = 0;
    if (v >= 4) {
        unsigned n = 30U - (unsigned)__builtin_clz(v);
        s->symbol = (uint8_t)(2 * n + (v >> n));
        s->n_extra = (uint8_t)n;
        s->extra = (uint16_t)(v & ((1U << n) - 1));
    }
}

/* ------------------------------------------------------------------ blocks */

/* A repetition as matches of which none is shorter than three bytes: so many of the longest, and the rest. */
static inline uint32_t whole_matches(uint32_t length)
{
    return length < MAX_MATCH + 3 ? 0 : (length - 3) / MAX_MATCH;
}

enum { REST_SPLIT = MAX_MATCH - 3 }; /* where the rest is too long for one match */

/* One match, of at most 47 bits. */
static inline void put_match(const deflater *d, bit_writer *w, uint32_t length, const sequence *s)
{
    length_entry l = d->lengths.of[length];
    code c = d->litlen[257 + l.symbol];
    code dist = d->dist[s->symbol];
    unsigned n = code_bits(c);
    unsigned n_length = n + l.n_extra;
    unsigned n_dist = n_length + code_bits(dist);
    put_bits(w,
             (c >> CODE_SHIFT) | (uint64_t)l.extra << n | (uint64_t)(dist >> CODE_SHIFT) << n_length |
                 (uint64_t)s->extra << n_dist,
             n_dist + s->n_extra);
}

static void put_repetition(const deflater *d, bit_writer *w, const sequence *s)
{
    uint32_t length = s->length;
    uint32_t whole = whole_matches(length);
    for (uint32_t i = 0; i < whole; i++) {
        put_match(d, w, MAX_MATCH, s);
    }
    length -= whole * MAX_MATCH;
    if (length > MAX_MATCH) {
        put_match(d, w, REST_SPLIT, s);
        length -= REST_SPLIT;
    }
    put_match(d, w, length, s);
}

enum { AT_ONCE = 4 }; /* literals that put_bits() takes */

/* Of n literals the k-th: where there is none, the byte at p, which is there also where there are no literals. */
static inline uint8_t literal_of(const uint8_t *p, size_t n, size_t k)
{
    return p[k & (0 - (size_t)(n > k))];
}

static inline code code_of(const code *codes, const uint8_t *p, size_t n, size_t k)
{
    return codes[literal_of(p, n, k)] & (0 - (code)(n > k));
}

/* At most AT_ONCE: how many there are is as good as random, so that what is not there is put as nothing, not jumped
 * over. */
static inline void put_few(bit_writer *w, const code *codes, const uint8_t *p, size_t n)
{
    code a = code_of(codes, p, n, 0);
    code b = code_of(codes, p, n, 1);
    code c = code_of(codes, p, n, 2);
    code e = code_of(codes, p, n, 3);
    unsigned n_a = code_bits(a);
    unsigned n_b = n_a + code_bits(b);
    unsigned n_c = n_b + code_bits(c);
    put_bits(w,
             (a >> CODE_SHIFT) | (uint64_t)(b >> CODE_SHIFT) << n_a | (uint64_t)(c >> CODE_SHIFT) << n_b |
                 (uint64_t)(e >> CODE_SHIFT) << n_c,
             n_c + code_bits(e));
}

static inline void put_literals(bit_writer *w, const code *codes, const uint8_t *p, size_t n)
{
    for (; n > AT_ONCE; n -= AT_ONCE, p += AT_ONCE) {
        put_few(w, codes, p, AT_ONCE);
    }
    put_few(w, codes, p, n);
}

static void put_sequences(deflater *d)
{
    bit_writer w = d->out; /* in registers: what it writes could be anything */
    const uint8_t *in = d->in;
    for (const sequence *s = d->sequences, *end = s + d->n_sequences; s < end; s++) {
        put_literals(&w, d->litlen, in + s->at, s->n_literals);
        if (s->length > MAX_MATCH) {
            put_repetition(d, &w, s);
        } else if (s->length > 0) {
            put_match(d, &w, s->length, s);
        }
    }
    put_code(&w, d->litlen[END_OF_BLOCK]);
    d->out = w;
}

static inline void count_literals(uint32_t *freq, uint32_t *twin, const uint8_t *p, size_t n)
{
    for (; n > AT_ONCE; n -= AT_ONCE, p += AT_ONCE) {
        freq[p[0]]++;
        twin[p[1]]++;
        freq[p[2]]++;
        twin[p[3]]++;
    }
    freq[*p] += n > 0;
    twin[literal_of(p, n, 1)] += n > 1;
    freq[literal_of(p, n, 2)] += n > 2;
    twin[literal_of(p, n, 3)] += n > 3;
}

static void count_symbols(deflater *d)
{
    uint32_t freq[N_LITLEN] = {0};
    uint32_t twin[END_OF_BLOCK] = {0}; /* so that equal neighbours don't wait for each other's count */
    uint32_t dist_freq[N_DIST] = {0};
    const uint8_t *in = d->in;
    for (const sequence *s = d->sequences, *end = s + d->n_sequences; s < end; s++) {
        count_literals(freq, twin, in + s->at, s->n_literals);
        if (s->length == 0) {
            continue;
        }
        uint32_t whole = whole_matches(s->length);
        uint32_t rest = s->length - whole * MAX_MATCH;
        uint32_t *of_dist = &dist_freq[s->symbol];
        if (rest > MAX_MATCH) {
            freq[257 + d->lengths.of[REST_SPLIT].symbol]++;
            (*of_dist)++;
            rest -= REST_SPLIT;
        }
        freq[257 + d->lengths.of[MAX_MATCH].symbol] += whole;
        freq[257 + d->lengths.of[rest].symbol]++;
        *of_dist += whole + 1;
    }
    for (unsigned i = 0; i < END_OF_BLOCK; i++) {
        freq[i] += twin[i];
    }
    freq[END_OF_BLOCK] = 1;
    memcpy(d->litlen_freq, freq, sizeof freq);
    memcpy(d->dist_freq, dist_freq, sizeof dist_freq);
}

/* Bits of the block's symbols, extra bits included. */
static uint64_t block_bits(const deflater *d)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < N_LITLEN; i++) {
        sum += (uint64_t)d->litlen_freq[i] * code_bits(d->litlen[i]);
    }
    for (unsigned i = 257; i < N_LITLEN; i++) {
        sum += (uint64_t)d->litlen_freq[i] * DEFLATE_LENGTH_EXTRA[i - 257];
    }
    for (unsigned i = 0; i < N_DIST; i++) {
        sum += (uint64_t)d->dist_freq[i] * (code_bits(d->dist[i]) + (i < 4 ? 0U : i / 2 - 1));
    }
    return sum;
}

static bool has_room(deflater *d, size_t n)
{
    d->is_full = d->is_full || (size_t)(d->out.end - d->out.p) < n;
    return !d->is_full;
}

static void end_block(deflater *d, bool is_last)
{
    count_symbols(d);
    deflate_make_codes(d->litlen_freq, N_LITLEN, MAX_LITLEN_BITS, d->runs.is_wide, d->litlen);
    deflate_make_codes(d->dist_freq, N_DIST, MAX_DIST_BITS, d->runs.is_wide, d->dist);
    if (has_room(d, BLOCK_HEAD_BYTES + block_bits(d) / 8)) {
        deflate_put_head(&d->out, d->litlen, d->dist, is_last);
        put_sequences(d);
    }
    d->n_sequences = 0;
    d->n_tokens = 0;
}

static void put_stored(deflater *d, const uint8_t *p, size_t n)
{
    enum { MOST = 65535, HEAD = 5 };
    bit_writer *w = &d->out;
    for (size_t part; n > 0 && has_room(d, n + BLOCK_HEAD_BYTES); n -= part, p += part) {
        part = n < MOST ? n : MOST;
        put_bits(w, 0, 3);
        put_bits(w, 0, (8 - w->n) & 7);
        put_bits(w, part | (uint64_t)(~part & MOST) << 16, 32);
        memcpy(w->p, p, part);
        w->p += part;
    }
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
#ifdef __SSE2__
    while (end - b >= 32) { /* how many they are is as good as random: mostly without a loop */
        const __m128i *p = (const __m128i *)(const void *)a;
        const __m128i *q = (const __m128i *)(const void *)b;
        unsigned low = (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(_mm_loadu_si128(p), _mm_loadu_si128(q)));
        unsigned high = (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(_mm_loadu_si128(p + 1), _mm_loadu_si128(q + 1)));
        unsigned differ = ~(low | high << 16);
        if (differ != 0) {
            return (size_t)(b - from) + (size_t)__builtin_ctz(differ);
        }
        a += 32;
        b += 32;
    }
#endif
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

static inline size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Equal bytes in front of a and b, at most n. */
static inline size_t equal_before(const uint8_t *a, const uint8_t *b, size_t n)
{
    if (n >= 8) {
        uint64_t x = load8(a - 8) ^ load8(b - 8);
        if (x != 0) {
            return (size_t)__builtin_clzll(x) / 8;
        }
    }
    size_t same = 0;
    while (same < n && a[-1 - (ptrdiff_t)same] == b[-1 - (ptrdiff_t)same]) {
        same++;
    }
    return same;
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

static inline void add_sequence(deflater *d, size_t at, size_t n_literals, size_t length, size_t dist)
{
    sequence *s = &d->sequences[d->n_sequences++];
    s->at = (uint32_t)at;
    s->n_literals = (uint32_t)n_literals;
    s->length = (uint32_t)length;
    set_dist(s, (unsigned)dist);
    d->n_tokens += n_literals + 1 + whole_matches((uint32_t)length);
    if (d->n_tokens >= BLOCK_TOKENS || d->n_sequences == BLOCK_SEQUENCES) {
        end_block(d, false);
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

/* Where the literals from `first` on end, which no repetition follows: at the end of all, or where a block is full. */
static inline size_t search_end(size_t first, size_t n)
{
    size_t last = n < 8 ? 0 : n - 8 + 1;
    return last - first < BLOCK_TOKENS || last < first ? last : first + BLOCK_TOKENS;
}

/*
 * The bytes [first, n). Every one that isn't part of a repetition is in front of one. Repeated is what lies in
 * [begin, first) too: what is there together in memory, and as far behind it in the input.
 */
static void find_matches(deflater *d, uint32_t base, size_t begin, size_t first, size_t n)
{
    const uint8_t *in = d->in;
    size_t i = first > begin ? first : first + 1;
    const unsigned patience = d->patience;
    size_t stop = search_end(first, n);
    size_t misses = 0;
    for (;;) {
        if (i >= stop) {
            i = i + 8 <= n ? i : n;
            if (i > first) {
                add_sequence(d, first, i - first, 0, 1);
            }
            if (i == n) {
                return;
            }
            first = i;
            stop = search_end(first, n);
        }
        uint64_t here = load8(in + i - 1); /* with the byte in front */
        uint64_t v = here >> 8;
        size_t dist = 1;
        size_t end;
        if (has_same_key(v, here)) { /* a run of one byte is the cheapest to say */
            end = (size_t)(run_end(in + i + MIN_RUN, in + n) - in);
        } else {
            uint32_t *head = &d->heads[hash_of(v)];
            uint32_t at = base + (uint32_t)i;
            dist = at - *head;
            *head = at;
            if (dist > WINDOW || !has_same_key(load8(in + i - dist), v)) {
                i += 1 + (misses++ >> patience);
                continue;
            }
            end = i + KEY_BYTES + equal_bytes(in + i - dist + KEY_BYTES, in + i + KEY_BYTES, in + n);
        }
        i -= equal_before(in + i - dist, in + i, smaller(i - first, i - begin - dist)); /* what was stepped over */
        add_sequence(d, first, i - first, end - i, dist);
        i = first = end;
        stop = search_end(first, n);
        misses = 0;
    }
}

/* ------------------------------------------------------------------ parts */

/* Would codes of its own save next to nothing? From a sample of them. `percent`: how much likelier than among all bytes
 * alike it may be that two are the same; 110 leaves savings of about two in a hundred, 150 of four. */
enum { LEAST_NOISE = 4096, SAMPLE = 1024, USUAL_NOISE = 110, RUNS_NOISE = 150 };

static bool is_noise(const uint8_t *p, size_t n, unsigned percent)
{
    uint32_t freq[256] = {0};
    uint64_t squares = 0;
    const size_t step = n / SAMPLE;
    for (size_t i = 0; i < SAMPLE; i += 8) {
        uint64_t x = load8(p + i * step);
        if ((uint32_t)x == (uint32_t)(x >> 8)) { /* a run */
            return false;
        }
    }
    for (size_t i = 0; i < SAMPLE; i++) {
        freq[p[i * step]]++;
    }
    for (unsigned k = 0; k < 256; k++) {
        squares += (uint64_t)freq[k] * freq[k];
    }
    const uint64_t flat = SAMPLE + SAMPLE * SAMPLE / 256; /* expected where all bytes are as likely */
    return squares * 100 < flat * percent;
}

/* Nearly all of it literals? Then they are stored. */
static void end_noise(deflater *d, const uint8_t *p, size_t n)
{
    size_t repeated = 0;
    for (size_t i = 0; i < d->n_sequences; i++) {
        repeated += d->sequences[i].length;
    }
    if (repeated * 50 > n) {
        end_block(d, false);
    } else {
        put_stored(d, p, n);
        d->n_sequences = 0;
        d->n_tokens = 0;
    }
}

/* As blocks of their own, so that other bytes keep their codes. */
static void add_noise(deflater *d, uint32_t base, size_t begin, size_t first, size_t n)
{
    if (d->n_sequences > 0) {
        end_block(d, false);
    }
    for (size_t end; first < n; first = end) {
        end = n - first < BLOCK_TOKENS * 3 / 4 ? n : first + BLOCK_TOKENS / 2;
        find_matches(d, base, begin, first, end);
        end_noise(d, d->in + first, end - first);
    }
}

static void add_zeros(deflater *d, const deflate_part *p, bool has_front)
{
    size_t at = p->at + p->n;
    bool follows = has_front && d->in[at - 1] == 0;
    add_sequence(d, at, follows ? 0 : 1, p->n_zeros - !follows, 1);
}

static uint32_t add_adler(uint32_t sum, const uint8_t *in, const deflate_part *p)
{
    enum { MODULUS = 65521 };
    sum = libdeflate_adler32(sum, in + p->at, p->n);
    uint64_t a = sum & 0xffff;
    uint64_t b = sum >> 16;
    b = (b + p->n_zeros % MODULUS * a) % MODULUS;
    return (uint32_t)(b << 16 | a);
}

/* ------------------------------------------------------------------ runs alone */

static void end_runs(deflater *d, bool is_last)
{
    deflate_runs_codes codes;
    size_t most = deflate_runs_make_codes(&d->runs, &d->lengths, &codes);
    if (has_room(d, most)) {
        deflate_runs_put(&d->runs, &codes, &d->out, is_last);
    }
    d->runs.n_tokens = 0;
    d->runs.n_longs = 0;
}

static void find_runs(deflater *d, const deflate_part *p, bool has_front)
{
    const uint8_t *at = d->in + p->at;
    for (size_t left = p->n, n; left > 0; left -= n, at += n, has_front = true) {
        if (deflate_runs_is_full(&d->runs)) {
            end_runs(d, false);
        }
        n = smaller(left, RUNS_SLICE);
        deflate_runs_add(&d->runs, at, n, has_front);
    }
}

/* As add_parts(). What looks random is not looked at but stored. */
static uint32_t add_runs(deflater *d, const deflate_part *parts, size_t n_parts)
{
    size_t behind = SIZE_MAX;
    uint32_t sum = 1;
    for (const deflate_part *p = parts; p < parts + n_parts; p++) {
        const bool has_front = p->at == behind;
        if (p->n >= LEAST_NOISE && is_noise(d->in + p->at, p->n, RUNS_NOISE)) {
            if (d->runs.n_tokens > 0) {
                end_runs(d, false);
            }
            put_stored(d, d->in + p->at, p->n);
        } else {
            find_runs(d, p, has_front);
        }
        if (p->n_zeros > 0) {
            if (deflate_runs_is_full(&d->runs)) {
                end_runs(d, false);
            }
            deflate_runs_add_zeros(&d->runs, p->n_zeros, (has_front || p->n > 0) && d->in[p->at + p->n - 1] == 0);
        }
        sum = add_adler(sum, d->in, p);
        behind = p->at + p->n + p->n_zeros;
    }
    return sum;
}

/* ------------------------------------------------------------------ all parts */

/* @return the sum of all bytes */
static uint32_t add_parts(deflater *d, const deflate_part *parts, size_t n_parts)
{
    size_t begin = 0; /* of what lies together in memory */
    size_t behind = SIZE_MAX;
    uint32_t base = d->base;
    uint32_t sum = 1;
    for (const deflate_part *p = parts; p < parts + n_parts; p++) {
        size_t end = p->at + p->n;
        if (p->at != behind) { /* nothing before it is in reach */
            d->base += WINDOW;
            base = d->base - (uint32_t)p->at;
            begin = p->at;
        }
        if (p->n >= LEAST_NOISE && is_noise(d->in + p->at, p->n, USUAL_NOISE)) {
            add_noise(d, base, begin, p->at, end);
        } else if (p->n > 0) {
            find_matches(d, base, begin, p->at, end);
        }
        if (p->n_zeros > 0) {
            add_zeros(d, p, end > begin);
        }
        sum = add_adler(sum, d->in, p);
        d->base += (uint32_t)(p->n + p->n_zeros);
        behind = end + p->n_zeros;
    }
    return sum;
}

/* ------------------------------------------------------------------ streams */

deflater *deflater_create(void)
{
    deflater *d = mem_alloc(sizeof *d);
    memset(d->heads, 0, sizeof d->heads);
    d->base = 1;
    d->n_sequences = 0;
    d->n_tokens = 0;
    deflate_fill_lengths(&d->lengths);
    deflate_runs_init(&d->runs, true);
    return d;
}

void deflater_set_wide(deflater *d, bool is_wide)
{
    deflate_runs_init(&d->runs, is_wide);
}

void deflater_destroy(deflater **d)
{
    free(*d);
    *d = NULL;
}

/* Positions that the parts may take. */
static uint64_t positions_of(const deflate_part *parts, size_t n_parts)
{
    uint64_t n = 0;
    for (size_t i = 0; i < n_parts; i++) {
        n += parts[i].n + parts[i].n_zeros + WINDOW;
    }
    return n;
}

size_t deflate_parts(deflater *d, const uint8_t *in, const deflate_part *parts, size_t n_parts, unsigned patience,
                     uint8_t *out, size_t cap)
{
    enum { ENDS = 2 + 8 + 4 };
    if (cap < ENDS) {
        return 0;
    }
    if (patience != DEFLATE_RUNS && positions_of(parts, n_parts) > UINT32_MAX - d->base) {
        memset(d->heads, 0, sizeof d->heads);
        d->base = 1;
    }
    d->is_full = false;
    d->out = (bit_writer){out + 2, out + cap - 12, 0, 0};
    d->in = in;
    d->patience = patience;
    out[0] = 0x78;
    out[1] = 0x01;
    uint32_t sum = 0;
    if (patience == DEFLATE_RUNS) {
        sum = __builtin_bswap32(add_runs(d, parts, n_parts));
        end_runs(d, true);
    } else {
        sum = __builtin_bswap32(add_parts(d, parts, n_parts));
        end_block(d, true);
    }
    if (d->is_full) {
        return 0;
    }
    put_bits(&d->out, 0, (8 - d->out.n) & 7);
    memcpy(d->out.p, &sum, sizeof sum);
    return (size_t)(d->out.p - out) + sizeof sum;
}

size_t deflate_zlib(deflater *d, const uint8_t *in, size_t n, uint8_t *out, size_t cap)
{
    const deflate_part all = {0, n, 0};
    return deflate_parts(d, in, &all, 1, DEFLATE_PATIENCE, out, cap);
}
