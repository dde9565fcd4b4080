#include "store/deflate_runs.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif
#ifdef __x86_64__
#include <immintrin.h>
#define AVX512 __attribute__((target("avx512f,avx512bw,avx512vl,avx512vbmi2,bmi,bmi2,popcnt,lzcnt")))
#endif

enum { MIN_RUN = 4, LITLEN_BITS = 12, AT_ONCE = 3, WITH_LENGTH = 5 + 1 };
_Static_assert(AT_ONCE *(LITLEN_BITS + WITH_LENGTH) <= 56, "that many tokens are put at once");

void deflate_runs_init(deflate_runs *r, bool is_wide)
{
    r->n_tokens = 0;
    r->n_longs = 0;
    r->is_wide = is_wide && deflate_is_wide();
}

/* ------------------------------------------------------------------ bytes to tokens */

static inline void set_run(deflate_runs *r, size_t token, size_t length)
{
    r->tokens[token] = (uint16_t)(RUNS_LENGTHS + length);
    if (length > MATCH_LONGEST) {
        r->tokens[token] = RUNS_LONG;
        r->longs[r->n_longs++] = (long_run){(uint32_t)token, (uint32_t)length};
    }
}

void deflate_runs_add_zeros(deflate_runs *r, size_t n, bool follows)
{
    if (!follows) {
        r->tokens[r->n_tokens++] = 0;
    }
    set_run(r, r->n_tokens++, n - !follows);
}

/* Where the MIN_RUN bits from there on are set; `next`: the 64 bits behind them. */
static inline uint64_t run_begins(uint64_t bits, uint64_t next)
{
    bits &= bits >> 1 | next << 63;
    next &= next >> 1;
    return bits & (bits >> 2 | next << 62);
}

/* From each of them on MIN_RUN bits; `last`: those of the 64 in front of them. */
static inline uint64_t run_bits(uint64_t begins, uint64_t last)
{
    begins |= begins << 1 | last >> 63;
    last |= last << 1;
    return begins | begins << 2 | last >> 62;
}

/* A run that goes on behind the 64 bytes that it begins in. */
typedef struct open_run {
    size_t begin, token;
    bool is_open;
} open_run;

/* Bits of 64 bytes: is it the same as the one in front of it? All of them are in memory. */
static inline uint64_t same_of_all(const uint8_t *p)
{
    uint64_t same = 0;
#ifdef __SSE2__
    for (unsigned k = 0; k < 64; k += 16) {
        __m128i v = _mm_loadu_si128((const __m128i *)(const void *)(p + k));
        __m128i w = _mm_loadu_si128((const __m128i *)(const void *)(p + k - 1));
        same |= (uint64_t)(unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(v, w)) << k;
    }
#else
    for (unsigned k = 0; k < 64; k++) {
        same |= (uint64_t)(p[k] == p[(int)k - 1]) << k;
    }
#endif
    return same;
}

/* The same from the i-th of n on, which may be fewer. */
static inline uint64_t same_plain(const uint8_t *p, size_t i, size_t n, bool has_front)
{
    uint64_t same = 0;
    if (i + 64 <= n && (i > 0 || has_front)) {
        return same_of_all(p + i);
    }
    for (size_t k = i > 0 || has_front ? i : 1; k < n && k < i + 64; k++) {
        same |= (uint64_t)(p[k] == p[k - 1]) << (k - i);
    }
    return same;
}

/* n bytes as they are; is_inside: 16 more may be read. */
static inline void put_stretch(uint16_t *tokens, const uint8_t *p, unsigned n, bool is_inside)
{
    unsigned k = 0;
#ifdef __SSE2__
    for (; is_inside && k < n; k += 16) {
        __m128i v = _mm_loadu_si128((const __m128i *)(const void *)(p + k));
        __m128i *to = (__m128i *)(void *)(tokens + k);
        _mm_storeu_si128(to, _mm_unpacklo_epi8(v, _mm_setzero_si128()));
        _mm_storeu_si128(to + 1, _mm_unpackhi_epi8(v, _mm_setzero_si128()));
    }
#endif
    for (; k < n; k++) {
        tokens[k] = p[k];
    }
}

/* What is kept of 64 bytes lies in stretches; a run begins with the last byte of one. */
static inline void put_stretches(deflate_runs *r, const uint8_t *p, uint64_t kept, uint64_t firsts, uint64_t ends,
                                 size_t at, bool is_inside, open_run *open)
{
    while (kept != 0) {
        const unsigned from = (unsigned)__builtin_ctzll(kept);
        const uint64_t behind = kept + ((uint64_t)1 << from); /* the bit behind the stretch; 0: it goes to the end */
        const unsigned to = behind == 0 ? 64 : (unsigned)__builtin_ctzll(behind);
        put_stretch(r->tokens + r->n_tokens, p + from, to - from, is_inside);
        r->n_tokens += to - from;
        kept &= behind;
        if (firsts >> (to - 1) & 1) {
            *open = (open_run){at + to - 1, r->n_tokens - 1, true};
            if (ends != 0) {
                r->tokens[open->token] = (uint16_t)(RUNS_LENGTHS + (unsigned)__builtin_ctzll(ends) - (to - 1));
                open->is_open = false;
                ends &= ends - 1;
            }
        }
    }
}

/* Where a search for runs stands. */
typedef struct run_scan {
    uint64_t same; /* of the 64 bytes at hand: is each the same as the one in front of it? */
    uint64_t last_begins, last_runs;
    open_run open;
} run_scan;

/* Of 64 bytes: those that are kept, and among them the first ones of runs; behind which bytes runs end. */
typedef struct run_marks {
    uint64_t kept, firsts, ends;
} run_marks;

/* The 64 bytes at i, of n in all. `next` is `same` of those behind them. A run that came in and ends here is set. */
static inline run_marks scan_on(deflate_runs *r, run_scan *s, uint64_t next, size_t i, size_t n)
{
    uint64_t there = n - i < 64 ? (UINT64_C(1) << (n - i)) - 1 : UINT64_MAX;
    uint64_t begins = run_begins(s->same, next);
    uint64_t runs = run_bits(begins, s->last_begins);
    uint64_t before = runs << 1 | s->last_runs >> 63;
    run_marks m = {.firsts = runs & ~before, .ends = before & ~runs};
    m.kept = (~runs | m.firsts) & there;
    if (s->open.is_open && m.ends != 0) {
        set_run(r, s->open.token, i + (unsigned)__builtin_ctzll(m.ends) - s->open.begin);
        s->open.is_open = false;
        m.ends &= m.ends - 1;
    }
    s->same = next;
    s->last_begins = begins;
    s->last_runs = runs;
    return m;
}

static inline void end_scan(deflate_runs *r, const run_scan *s, size_t n)
{
    if (s->open.is_open) {
        set_run(r, s->open.token, n - s->open.begin);
    }
}

static void add_plain(deflate_runs *r, const uint8_t *p, size_t n, bool has_front)
{
    run_scan s = {.same = same_plain(p, 0, n, has_front)};
    for (size_t i = 0; i < n; i += 64) {
        run_marks m = scan_on(r, &s, same_plain(p, i + 64, n, true), i, n);
        put_stretches(r, p + i, m.kept, m.firsts, m.ends, i, n - i >= 64 + 16, &s.open);
    }
    end_scan(r, &s, n);
}

#ifdef __x86_64__
/* Bits of 64 bytes: is it the same as the one in front of it? */
AVX512 static inline uint64_t same_bits(const uint8_t *p, size_t i, size_t n, bool has_front)
{
    uint64_t there = i >= n ? 0 : n - i < 64 ? (UINT64_C(1) << (n - i)) - 1 : UINT64_MAX;
    there &= i > 0 || has_front ? UINT64_MAX : UINT64_MAX - 1;
    return _mm512_mask_cmpeq_epi8_mask(there, _mm512_maskz_loadu_epi8(there, p + i),
                                       _mm512_maskz_loadu_epi8(there, p + i - 1));
}

AVX512 static inline void put_bytes(uint16_t *tokens, const uint8_t *p, uint64_t kept, uint64_t there)
{
    __m512i bytes = _mm512_maskz_compress_epi8(kept, _mm512_maskz_loadu_epi8(there, p));
    _mm512_storeu_si512(tokens, _mm512_cvtepu8_epi16(_mm512_castsi512_si256(bytes)));
    _mm512_storeu_si512(tokens + 32, _mm512_cvtepu8_epi16(_mm512_extracti64x4_epi64(bytes, 1)));
}

/* The runs that begin in 64 bytes, of which the kept ones become tokens from n_tokens on; `ends`: of the runs that end
 * there, one behind each, but none of one that came in. */
AVX512 static inline void set_runs(deflate_runs *r, uint64_t firsts, uint64_t ends, uint64_t kept, size_t at,
                                   open_run *open)
{
    uint16_t *tokens = r->tokens + r->n_tokens;
    for (; firsts != 0; firsts &= firsts - 1) {
        unsigned begin = (unsigned)__builtin_ctzll(firsts);
        unsigned token = (unsigned)__builtin_popcountll(kept & (firsts ^ (firsts - 1)) >> 1);
        if (ends == 0) {
            *open = (open_run){at + begin, r->n_tokens + token, true};
            break;
        }
        tokens[token] = (uint16_t)(RUNS_LENGTHS + (unsigned)__builtin_ctzll(ends) - begin);
        ends &= ends - 1;
    }
}

/* Each run's first byte stays where its token goes. */
AVX512 static void add_avx512(deflate_runs *r, const uint8_t *p, size_t n, bool has_front)
{
    run_scan s = {.same = same_bits(p, 0, n, has_front)};
    for (size_t i = 0; i < n; i += 64) {
        run_marks m = scan_on(r, &s, same_bits(p, i + 64, n, true), i, n);
        put_bytes(r->tokens + r->n_tokens, p + i, m.kept, n - i < 64 ? (UINT64_C(1) << (n - i)) - 1 : UINT64_MAX);
        set_runs(r, m.firsts, m.ends, m.kept, i, &s.open);
        r->n_tokens += (unsigned)__builtin_popcountll(m.kept);
    }
    end_scan(r, &s, n);
}
#endif

void deflate_runs_add(deflate_runs *r, const uint8_t *p, size_t n, bool has_front)
{
#ifdef __x86_64__
    if (r->is_wide) {
        add_avx512(r, p, n, has_front);
        return;
    }
#endif
    add_plain(r, p, n, has_front);
}

/* ------------------------------------------------------------------ codes */

/* A run as matches of which none is shorter than three bytes: so many of the longest, and the rest, which may be two.
 */
static inline size_t whole_matches(size_t length)
{
    return (length - MATCH_SHORTEST) / MATCH_LONGEST;
}

enum { REST_SPLIT = MATCH_LONGEST - MATCH_SHORTEST }; /* where the rest is too long for one match */

/* How often each token occurs; neighbours that are equal don't wait for each other's count. */
static void count_tokens(const deflate_runs *r, uint32_t count[RUNS_TOKENS])
{
    enum { TWINS = 4 };
    uint16_t of[TWINS][RUNS_TOKENS] = {{0}};
    _Static_assert(RUNS_BLOCK + 2 <= UINT16_MAX, "they fit");
    const uint16_t *t = r->tokens;
    size_t i = 0;
    for (; i + TWINS <= r->n_tokens; i += TWINS) {
        of[0][t[i]]++;
        of[1][t[i + 1]]++;
        of[2][t[i + 2]]++;
        of[3][t[i + 3]]++;
    }
    for (; i < r->n_tokens; i++) {
        of[0][t[i]]++;
    }
    for (i = 0; i < RUNS_TOKENS; i++) {
        count[i] = (uint32_t)of[0][i] + of[1][i] + of[2][i] + of[3][i];
    }
}

static void count_longs(const deflate_runs *r, uint32_t count[RUNS_TOKENS])
{
    for (const long_run *l = r->longs, *end = l + r->n_longs; l < end; l++) {
        size_t whole = whole_matches(l->length);
        size_t rest = l->length - whole * MATCH_LONGEST;
        count[RUNS_LENGTHS + MATCH_LONGEST] += (uint32_t)whole;
        if (rest > MATCH_LONGEST) {
            count[RUNS_LENGTHS + REST_SPLIT]++;
            rest -= REST_SPLIT;
        }
        count[RUNS_LENGTHS + rest]++;
    }
}

/* Those of literals as they are; a run is one match of the distance 1. */
static void join_codes(const length_table *lengths, deflate_runs_codes *c)
{
    const unsigned n_dist = code_bits(c->dist[0]);
    memcpy(c->tokens, c->litlen, RUNS_LENGTHS * sizeof(code));
    for (unsigned length = MATCH_SHORTEST; length <= MATCH_LONGEST; length++) {
        length_entry l = lengths->of[length];
        code of = c->litlen[257 + l.symbol];
        c->tokens[RUNS_LENGTHS + length] =
            of + l.n_extra + n_dist + ((code)l.extra << (CODE_SHIFT + code_bits(of))); /* the distance's bit is 0 */
    }
}

static uint64_t token_bits(const uint32_t count[RUNS_TOKENS], const deflate_runs_codes *c)
{
    uint64_t bits = code_bits(c->litlen[END_OF_BLOCK]);
    for (unsigned i = 0; i < RUNS_LENGTHS; i++) {
        bits += (uint64_t)count[i] * code_bits(c->tokens[i]);
    }
    for (unsigned i = RUNS_LENGTHS + MATCH_SHORTEST; i < RUNS_LONG; i++) {
        bits += (uint64_t)count[i] * code_bits(c->tokens[i]);
    }
    return bits;
}

size_t deflate_runs_make_codes(const deflate_runs *r, const length_table *lengths, deflate_runs_codes *c)
{
    uint32_t count[RUNS_TOKENS];
    uint32_t freq[N_LITLEN] = {0};
    uint32_t dist_freq[N_DIST] = {0};
    count_tokens(r, count);
    count_longs(r, count);
    memcpy(freq, count, END_OF_BLOCK * sizeof *freq);
    freq[END_OF_BLOCK] = 1;
    for (unsigned length = MATCH_SHORTEST; length <= MATCH_LONGEST; length++) {
        freq[257 + lengths->of[length].symbol] += count[RUNS_LENGTHS + length];
        dist_freq[0] += count[RUNS_LENGTHS + length];
    }
    deflate_make_codes(freq, N_LITLEN, LITLEN_BITS, r->is_wide, c->litlen);
    deflate_make_codes(dist_freq, N_DIST, MAX_DIST_BITS, r->is_wide, c->dist);
    join_codes(lengths, c);
    return BLOCK_HEAD_BYTES + token_bits(count, c) / 8;
}

/* ------------------------------------------------------------------ bits */

static void put_tokens(bit_writer *out, const code *codes, const uint16_t *t, const uint16_t *end)
{
    bit_writer w = *out; /* in registers: what it writes could be anything */
    for (; end - t >= AT_ONCE; t += AT_ONCE) {
        code a = codes[t[0]];
        code b = codes[t[1]];
        code c = codes[t[2]];
        unsigned n_a = code_bits(a);
        unsigned n_b = n_a + code_bits(b);
        put_bits(&w, (a >> CODE_SHIFT) | (uint64_t)(b >> CODE_SHIFT) << n_a | (uint64_t)(c >> CODE_SHIFT) << n_b,
                 n_b + code_bits(c));
    }
    for (; t < end; t++) {
        put_code(&w, codes[*t]);
    }
    *out = w;
}

static void put_long(bit_writer *w, const code *codes, size_t length)
{
    size_t whole = whole_matches(length);
    size_t rest = length - whole * MATCH_LONGEST;
    const code longest = codes[RUNS_LENGTHS + MATCH_LONGEST];
    const unsigned n = code_bits(longest);
    const uint64_t twice = longest >> CODE_SHIFT | (uint64_t)(longest >> CODE_SHIFT) << n;
    for (; whole >= 4; whole -= 4) {
        put_bits(w, twice | twice << 2 * n, 4 * n); /* without extra bits they are short enough */
    }
    for (; whole > 0; whole--) {
        put_code(w, longest);
    }
    if (rest > MATCH_LONGEST) {
        put_code(w, codes[RUNS_LENGTHS + REST_SPLIT]);
        rest -= REST_SPLIT;
    }
    put_code(w, codes[RUNS_LENGTHS + rest]);
}

void deflate_runs_put(deflate_runs *r, const deflate_runs_codes *c, bit_writer *w, bool is_last)
{
    const uint16_t *t = r->tokens;
    deflate_put_head(w, c->litlen, c->dist, is_last);
    for (const long_run *l = r->longs, *end = l + r->n_longs; l < end; l++) {
        put_tokens(w, c->tokens, t, r->tokens + l->token);
        put_long(w, c->tokens, l->length);
        t = r->tokens + l->token + 1;
    }
    put_tokens(w, c->tokens, t, r->tokens + r->n_tokens);
    put_code(w, c->litlen[END_OF_BLOCK]);
    r->n_tokens = 0;
    r->n_longs = 0;
}
