#include "scene/reduce.h"

#if defined(__x86_64__)
#include <immintrin.h>
#define REDUCE_WIDE 1
#else
#define REDUCE_WIDE 0
#endif

/* A cell as one word: class, busy, severity, count from the lowest byte up. */
static inline uint32_t word_of(const cache_cell *c)
{
    return (uint32_t)c->klass | (uint32_t)c->busy << 8 | (uint32_t)c->severity << 16 | (uint32_t)c->count << 24;
}

enum { CLASS_BITS = 0xFF, BUSY_BITS = 0xFF00, SEVERITY_BITS = 0xFF0000 };

/* ------------------------------------------------------------------ plain */

static inline draw_cell cell_from(uint8_t klass, uint32_t busy, uint32_t count)
{
    busy = (busy + 128) >> 8;
    busy = busy > 255 ? 255 : busy == 0 ? 1 : busy;
    return (draw_cell){klass, (uint8_t)busy, (uint8_t)(count > 1 ? CELL_MORE : 0), 255};
}

/* The largest class of up to four bins, or none. */
typedef struct best_class {
    uint32_t part, busy, count;
    uint8_t klass;
    bool mixed;
} best_class;

static void add_word(best_class *best, uint32_t word, uint32_t weight)
{
    uint32_t busy = word >> 8 & 0xFF;
    if (busy == 0) {
        return;
    }
    uint32_t part = busy * weight + 1; /* a bin with nothing but a point in time counts as something */
    best->busy += part;
    best->count += word >> 24;
    if ((uint8_t)word == best->klass) {
        best->part += part;
        return;
    }
    best->mixed = best->mixed || best->klass != CELL_EMPTY;
    if (part > best->part) {
        best->klass = (uint8_t)word;
        best->part = part;
    }
}

static void reduce_several(reduce_job *job, uint32_t i)
{
    bin_range b = job->ranges[i];
    best_class best = {.klass = CELL_EMPTY};
    add_word(&best, word_of(&job->bins[b.first]), b.first_weight);
    for (uint32_t j = b.first + 1; j < last_bin(b); j++) {
        add_word(&best, word_of(&job->bins[j]), job->middle_weight);
    }
    if (b.more > 0) {
        add_word(&best, word_of(&job->bins[last_bin(b)]), b.last_weight);
    }
    job->cells[i] = cell_from(best.klass, best.busy, best.count);
    if (best.mixed) {
        job->mixed[job->n_mixed++] = i;
    }
}

static inline void reduce_one(reduce_job *job, uint32_t i)
{
    bin_range b = job->ranges[i];
    if (b.more > 3) {
        job->hard[job->n_hard++] = i;
        return;
    }
    uint32_t a = word_of(&job->bins[b.first]);
    uint32_t m = word_of(&job->bins[b.first + (b.more >> 1)]); /* the first one again when there is none between */
    uint32_t z = word_of(&job->bins[b.first + b.more]);
    uint32_t all = a | m | z | (b.more == 3 ? word_of(&job->bins[b.first + 2]) : 0);
    if ((all & BUSY_BITS) == 0) {
        job->cells[i] = (draw_cell){CELL_EMPTY, 0, 0, 255};
    } else if ((all & SEVERITY_BITS) != 0) {
        job->hard[job->n_hard++] = i;
    } else if (b.more < 3 && (((a ^ m) | (a ^ z)) & CLASS_BITS) == 0) { /* nearly all columns */
        uint32_t busy = (a >> 8 & 0xFF) * b.first_weight + (z >> 8 & 0xFF) * b.last_weight;
        uint32_t count = (a >> 24) + (b.more > 0 ? z >> 24 : 0) + (b.more > 1 ? m >> 24 : 0);
        job->cells[i] = cell_from((uint8_t)a, busy + (m >> 8 & 0xFF) * b.only_middle_weight, count);
    } else {
        reduce_several(job, i);
    }
}

static void reduce_plain(reduce_job *job, uint32_t from)
{
    for (uint32_t i = from; i < job->n; i++) {
        reduce_one(job, i);
    }
}

/* ------------------------------------------------------------------ eight at a time */

enum { WIDE = 8, HAS_LAST = 1, HAS_MIDDLE = 2, HAS_SECOND = 4, IS_HARD = 8 };

/* Where the bins of eight columns lie and what they weigh: the first, the last, one or two between them. */
typedef struct reduce_block {
    uint32_t base;           /* bin that places count from */
    uint8_t reach;           /* bins from there on that are needed, up to 32; 0: too many for this way */
    bool has_four;           /* some column has two between */
    uint8_t places[4][WIDE]; /* of the first, the last, the middle and the second middle one */
    uint8_t has[WIDE];       /* HAS_... */
    uint32_t outer[WIDE];    /* weights of the first, and << 16 of the last */
    uint32_t middle[WIDE];   /* of the middle, and << 16 of the second one; 0: there is none */
} reduce_block;

struct reduce_plan {
    reduce_block *blocks;
    uint32_t n_blocks;
};

#if REDUCE_WIDE

static uint8_t what_it_has(uint32_t more)
{
    return (uint8_t)((more > 0 ? HAS_LAST : 0) | (more > 1 ? HAS_MIDDLE : 0) | (more == 3 ? HAS_SECOND : 0) |
                     (more > 3 ? IS_HARD : 0));
}

static void plan_block(const bin_range *ranges, uint16_t middle_weight, reduce_block *b)
{
    *b = (reduce_block){.base = ranges[0].first};
    uint32_t reach = 1;
    for (uint32_t i = 0; i < WIDE; i++) {
        bin_range r = ranges[i];
        uint32_t more = r.more > 3 ? 0 : r.more; /* such a column is not made here */
        uint32_t place = r.first - b->base;
        uint32_t between = more == 3 ? middle_weight : r.only_middle_weight;
        reach = place + more + 1 > reach ? place + more + 1 : reach;
        b->has_four = b->has_four || more == 3;
        b->places[0][i] = (uint8_t)place;
        b->places[1][i] = (uint8_t)(place + more);
        b->places[2][i] = (uint8_t)(place + more / 2);
        b->places[3][i] = (uint8_t)(place + (more == 3 ? 2 : more / 2));
        b->has[i] = what_it_has(r.more);
        b->outer[i] = (uint32_t)r.first_weight | (uint32_t)r.last_weight << 16;
        b->middle[i] = between | (more == 3 ? between << 16 : 0);
    }
    b->reach = reach <= REDUCE_SLACK ? (uint8_t)reach : 0;
}

const reduce_plan *reduce_plan_make(arena *a, const bin_range *ranges, uint32_t n, uint16_t middle_weight)
{
    if (!__builtin_cpu_supports("avx2")) {
        return NULL;
    }
    reduce_plan *plan = arena_alloc(a, sizeof *plan);
    plan->n_blocks = n / WIDE;
    plan->blocks = arena_alloc(a, plan->n_blocks * sizeof *plan->blocks + 1);
    for (uint32_t k = 0; k < plan->n_blocks; k++) {
        plan_block(ranges + (size_t)k * WIDE, middle_weight, &plan->blocks[k]);
    }
    return plan;
}

#define AVX2 __attribute__((target("avx2")))

typedef struct wide_words {
    __m256i a, z, m, n; /* first, last, middle, second middle bin; the first one again where there is none */
} wide_words;

AVX2 static inline __m256i select_bins(__m256i low, __m256i high, __m256i place)
{
    __m256 from_low = _mm256_castsi256_ps(_mm256_permutevar8x32_epi32(low, place));
    __m256 from_high = _mm256_castsi256_ps(_mm256_permutevar8x32_epi32(high, place));
    __m256 is_high = _mm256_castsi256_ps(_mm256_slli_epi32(place, 28)); /* bit 3 of a place decides */
    return _mm256_castps_si256(_mm256_blendv_ps(from_low, from_high, is_high));
}

AVX2 static inline __m256i load_eight(const cache_cell *bins)
{
    return _mm256_loadu_si256((const __m256i *)(const void *)bins);
}

AVX2 static inline __m256i load_words(const uint32_t words[WIDE])
{
    return _mm256_loadu_si256((const __m256i *)(const void *)words);
}

AVX2 static inline __m256i places_of(const reduce_block *b, int which)
{
    return _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)b->places[which]));
}

/* Bins of a block that reaches no further than 16. */
AVX2 static inline __m256i near_word(const reduce_block *b, const cache_cell *bins, int which)
{
    const cache_cell *at = bins + b->base;
    return select_bins(load_eight(at), load_eight(at + 8), places_of(b, which));
}

AVX2 static inline __m256i far_word(const reduce_block *b, const cache_cell *bins, int which)
{
    const cache_cell *at = bins + b->base;
    __m256i place = places_of(b, which);
    __m256 low = _mm256_castsi256_ps(select_bins(load_eight(at), load_eight(at + 8), place));
    __m256 high = _mm256_castsi256_ps(select_bins(load_eight(at + 16), load_eight(at + 24), place));
    __m256 is_high = _mm256_castsi256_ps(_mm256_slli_epi32(place, 27));
    return _mm256_castps_si256(_mm256_blendv_ps(low, high, is_high));
}

AVX2 static inline wide_words words_of(const reduce_block *b, const cache_cell *bins)
{
    if (b->reach <= 16) {
        wide_words w = {near_word(b, bins, 0), near_word(b, bins, 1), near_word(b, bins, 2), _mm256_setzero_si256()};
        w.n = b->has_four ? near_word(b, bins, 3) : w.m;
        return w;
    }
    return (wide_words){far_word(b, bins, 0), far_word(b, bins, 1), far_word(b, bins, 2), far_word(b, bins, 3)};
}

AVX2 static inline __m256i busy_of(__m256i word)
{
    return _mm256_and_si256(_mm256_srli_epi32(word, 8), _mm256_set1_epi32(0xFF));
}

/* All ones in the columns that have it. */
AVX2 static inline __m256i where(const reduce_block *b, int what)
{
    __m256i has = _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)b->has));
    return _mm256_cmpgt_epi32(_mm256_and_si256(has, _mm256_set1_epi32(what)), _mm256_setzero_si256());
}

AVX2 static inline __m256i are_zero(__m256i v)
{
    return _mm256_cmpeq_epi32(v, _mm256_setzero_si256());
}

AVX2 static inline uint32_t lanes_of(__m256i mask)
{
    return (uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(mask));
}

AVX2 static inline void put_cells(draw_cell *to, __m256i klass, __m256i busy, __m256i count, __m256i empty)
{
    const __m256i none = _mm256_set1_epi32((int)0xFF0000FF);
    busy = _mm256_srli_epi32(_mm256_add_epi32(busy, _mm256_set1_epi32(128)), 8);
    busy = _mm256_min_epi32(_mm256_max_epi32(busy, _mm256_set1_epi32(1)), _mm256_set1_epi32(255));
    __m256i more =
        _mm256_and_si256(_mm256_cmpgt_epi32(count, _mm256_set1_epi32(1)), _mm256_set1_epi32(CELL_MORE << 16));
    __m256i cell = _mm256_or_si256(_mm256_or_si256(klass, _mm256_slli_epi32(busy, 8)), more);
    cell = _mm256_or_si256(cell, _mm256_set1_epi32((int)0xFF000000));
    _mm256_storeu_si256((__m256i *)(void *)to, _mm256_blendv_epi8(cell, none, empty));
}

/* The largest class so far, as best_class. */
typedef struct wide_best {
    __m256i klass, part, mixed;
} wide_best;

AVX2 static inline void add_wide(wide_best *best, __m256i klass, __m256i part, __m256i there)
{
    const __m256i nothing = _mm256_set1_epi32(CELL_EMPTY);
    part = _mm256_and_si256(_mm256_add_epi32(part, _mm256_set1_epi32(1)), there);
    __m256i same = _mm256_cmpeq_epi32(klass, best->klass);
    __m256i other = _mm256_andnot_si256(same, there);
    __m256i larger = _mm256_and_si256(other, _mm256_cmpgt_epi32(part, best->part));
    best->mixed = _mm256_or_si256(best->mixed, _mm256_andnot_si256(_mm256_cmpeq_epi32(best->klass, nothing), other));
    __m256i sum = _mm256_add_epi32(best->part, _mm256_and_si256(part, same));
    best->part = _mm256_blendv_epi8(sum, part, larger);
    best->klass = _mm256_blendv_epi8(best->klass, klass, larger);
}

static inline void push_lanes(uint32_t *to, size_t *n, uint32_t first, uint32_t lanes)
{
    for (; lanes; lanes &= lanes - 1) {
        to[(*n)++] = first + (uint32_t)__builtin_ctz(lanes);
    }
}

typedef struct wide_sum {
    __m256i busy, count, n_bins; /* n_bins: minus their number */
} wide_sum;

/* One bin of each column: its part of the column is its product with `weights`, by halves of a lane. */
AVX2 static inline void add_bins(wide_best *best, wide_sum *sum, __m256i word, __m256i busy, __m256i weights,
                                 __m256i has)
{
    __m256i there = _mm256_andnot_si256(are_zero(busy), has);
    __m256i part = _mm256_and_si256(_mm256_madd_epi16(busy, weights), there);
    add_wide(best, _mm256_and_si256(word, _mm256_set1_epi32(CLASS_BITS)), part, there);
    sum->busy = _mm256_add_epi32(sum->busy, part);
    sum->count = _mm256_add_epi32(sum->count, _mm256_and_si256(_mm256_srli_epi32(word, 24), there));
    sum->n_bins = _mm256_add_epi32(sum->n_bins, there);
}

AVX2 static inline __m256i are_alike(const wide_words *w)
{
    __m256i unlike = _mm256_or_si256(_mm256_xor_si256(w->a, w->m), _mm256_xor_si256(w->a, w->z));
    return are_zero(_mm256_and_si256(unlike, _mm256_set1_epi32(CLASS_BITS)));
}

/* Columns where classes meet, in the order in which the plain way adds them. Each bin adds one to the sum there. */
AVX2 static __attribute__((noinline)) void reduce_mixed(reduce_job *job, uint32_t first, const reduce_block *b,
                                                        const wide_words *w, uint32_t hard)
{
    __m256i outer = load_words(b->outer);
    __m256i middle = load_words(b->middle);
    __m256i zero = _mm256_setzero_si256();
    wide_best best = {_mm256_set1_epi32(CELL_EMPTY), zero, zero};
    wide_sum sum = {zero, zero, zero};
    add_bins(&best, &sum, w->a, busy_of(w->a), outer, _mm256_set1_epi32(-1));
    add_bins(&best, &sum, w->m, busy_of(w->m), middle, where(b, HAS_MIDDLE));
    if (b->has_four) {
        add_bins(&best, &sum, w->n, _mm256_slli_epi32(busy_of(w->n), 16), middle, where(b, HAS_SECOND));
    }
    add_bins(&best, &sum, w->z, _mm256_slli_epi32(busy_of(w->z), 16), outer, where(b, HAS_LAST));
    __m256i simple = _mm256_andnot_si256(where(b, HAS_SECOND), are_alike(w));
    __m256i busy = _mm256_sub_epi32(sum.busy, _mm256_andnot_si256(simple, sum.n_bins));
    put_cells(job->cells + first, best.klass, busy, sum.count, are_zero(sum.n_bins));
    push_lanes(job->mixed, &job->n_mixed, first, lanes_of(best.mixed) & ~hard);
    push_lanes(job->hard, &job->n_hard, first, hard);
}

AVX2 static inline void reduce_words(reduce_job *job, uint32_t first, const reduce_block *b, wide_words w)
{
    __m256i all = _mm256_or_si256(_mm256_or_si256(w.a, w.m), _mm256_or_si256(w.z, w.n));
    __m256i empty = are_zero(_mm256_and_si256(all, _mm256_set1_epi32(BUSY_BITS)));
    __m256i calm = are_zero(_mm256_and_si256(all, _mm256_set1_epi32(SEVERITY_BITS)));
    uint32_t hard = lanes_of(where(b, IS_HARD)) | (0xFFU & ~lanes_of(_mm256_or_si256(calm, empty)));
    if (hard != 0 || b->has_four || lanes_of(_mm256_or_si256(are_alike(&w), empty)) != 0xFF) {
        reduce_mixed(job, first, b, &w, hard);
        return;
    }
    __m256i pair = _mm256_or_si256(busy_of(w.a), _mm256_slli_epi32(busy_of(w.z), 16));
    __m256i busy = _mm256_madd_epi16(pair, load_words(b->outer));
    busy = _mm256_add_epi32(busy, _mm256_madd_epi16(busy_of(w.m), load_words(b->middle)));
    __m256i count = _mm256_srli_epi32(w.a, 24);
    count = _mm256_add_epi32(count, _mm256_and_si256(_mm256_srli_epi32(w.m, 24), where(b, HAS_MIDDLE)));
    count = _mm256_add_epi32(count, _mm256_and_si256(_mm256_srli_epi32(w.z, 24), where(b, HAS_LAST)));
    put_cells(job->cells + first, _mm256_and_si256(w.a, _mm256_set1_epi32(CLASS_BITS)), busy, count, empty);
}

AVX2 static void reduce_wide(reduce_job *job, const reduce_plan *plan)
{
    for (uint32_t k = 0; k < plan->n_blocks; k++) {
        const reduce_block *b = &plan->blocks[k];
        if (b->reach == 0) {
            for (uint32_t i = k * WIDE; i < (k + 1) * WIDE; i++) {
                reduce_one(job, i);
            }
        } else {
            reduce_words(job, k * WIDE, b, words_of(b, job->bins));
        }
    }
}

#else

const reduce_plan *reduce_plan_make(arena *a, const bin_range *ranges, uint32_t n, uint16_t middle_weight)
{
    (void)a;
    (void)middle_weight;
    (void)ranges;
    (void)n;
    return NULL;
}

#endif

void reduce_columns(reduce_job *job, const reduce_plan *plan)
{
    job->n_mixed = 0;
    job->n_hard = 0;
    uint32_t from = 0;
#if REDUCE_WIDE
    if (plan) {
        reduce_wide(job, plan);
        from = plan->n_blocks * WIDE;
    }
#else
    (void)plan;
#endif
    reduce_plain(job, from);
}
