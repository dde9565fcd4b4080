#include "convert/sorter.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum { MAX_BUFFER = 4096, MIN_BUFFER = 256, BUFFERS = 1 << 20 };
enum { FEW = 24 };
enum { WIDE_FROM = 2048, NARROW_BITS = 8, WIDE_BITS = 11 }; /* digits are wide where many records share them */
enum { KEY_STEP = sizeof(sort_record) / sizeof(uint64_t) };
enum { LONG_KEY = 2 * WIDE_BITS + 1, SPREAD = 6 }; /* squares of equal first digits, by record */

void sorter_init(sorter *s, scratch *sc, size_t limit)
{
    memset(s, 0, sizeof *s);
    s->scratch = sc;
    s->limit = limit < 1024 ? 1024 : limit;
}

void sorter_deinit(sorter *s)
{
    for (size_t i = 0; i < s->n_runs; i++) {
        free(s->runs[i].buffer);
    }
    free(s->records);
    free(s->spare);
    free(s->runs);
    free(s->heap);
    sorter_init(s, s->scratch, s->limit);
}

static bool before(const sort_record *a, const sort_record *b)
{
    return a->k0 != b->k0 ? a->k0 < b->k0 : a->k1 < b->k1;
}

static void insertion(sort_record *r, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        sort_record x = r[i];
        size_t j = i;
        for (; j > 0 && before(&x, &r[j - 1]); j--) {
            r[j] = r[j - 1];
        }
        r[j] = x;
    }
}

/* A digit of one of the keys. */
typedef struct digit {
    bool second;
    unsigned shift, bits;
} digit;

/* The key of the first record; the next one's is KEY_STEP further on. */
static const uint64_t *first_key(const sort_record *r, digit d)
{
    return (const uint64_t *)(const void *)r + (d.second ? 1 : 0);
}

/* Where the records of each value begin. @return the sum of the squares of how many there are of each */
static uint64_t count(const sort_record *r, size_t n, digit d, uint32_t *at)
{
    const uint64_t *key = first_key(r, d);
    const uint64_t mask = (UINT64_C(1) << d.bits) - 1;
    memset(at, 0, ((size_t)1 << d.bits) * sizeof *at);
    for (size_t i = 0; i < n; i++) {
        at[key[i * KEY_STEP] >> d.shift & mask]++;
    }
    uint32_t sum = 0;
    uint64_t squares = 0;
    for (size_t b = 0; b < (size_t)1 << d.bits; b++) {
        uint32_t c = at[b];
        at[b] = sum;
        sum += c;
        squares += (uint64_t)c * c;
    }
    return squares;
}

static void scatter(const sort_record *from, sort_record *to, size_t n, digit d, uint32_t *at)
{
    const uint64_t *key = first_key(from, d);
    const uint64_t mask = (UINT64_C(1) << d.bits) - 1;
    for (size_t i = 0; i < n; i++) {
        to[at[key[i * KEY_STEP] >> d.shift & mask]++] = from[i];
    }
}

/* Where a long key's first bits tell most records apart (times, hashes), these bits come first and little is left to
 * do. @return are they sorted, by both keys? */
static bool sort_spread(sort_record *r, sort_record *spare, size_t n, bool second, uint64_t diff)
{
    uint32_t at[1 << WIDE_BITS];
    unsigned top = 64U - (unsigned)__builtin_clzll(diff);
    digit d = {second, top - WIDE_BITS, WIDE_BITS};
    if (top < LONG_KEY || count(r, n, d, at) > (uint64_t)n * SPREAD) {
        return false;
    }
    scatter(r, spare, n, d, at);
    insertion(spare, n);
    memcpy(r, spare, n * sizeof *r);
    return true;
}

/* Radix sort by one of the keys, over the bits in which the records differ. @return are they sorted by both keys? */
static bool sort_by(sort_record *r, sort_record *spare, size_t n, bool second, uint64_t diff)
{
    uint32_t at[1 << WIDE_BITS];
    if (sort_spread(r, spare, n, second, diff)) {
        return true;
    }
    const unsigned most = n < WIDE_FROM ? NARROW_BITS : WIDE_BITS;
    const unsigned all = 64U - (unsigned)__builtin_clzll(diff);
    const unsigned n_digits = (all + most - 1) / most;
    const unsigned bits = (all + n_digits - 1) / n_digits;
    sort_record *from = r;
    sort_record *to = spare;
    for (unsigned shift = 0; shift < all; shift += bits) {
        if (diff >> shift & ((UINT64_C(1) << bits) - 1)) {
            digit d = {second, shift, bits};
            (void)count(from, n, d, at);
            scatter(from, to, n, d, at);
            sort_record *swap = from;
            from = to;
            to = swap;
        }
    }
    if (from != r) {
        memcpy(r, from, n * sizeof *r);
    }
    return second;
}

/* Records of equal first keys, by their second ones. */
static void sort_tie(sort_record *r, sort_record *spare, size_t n)
{
    if (n <= FEW) {
        insertion(r, n);
        return;
    }
    uint64_t diff = 0;
    bool sorted = true;
    for (size_t i = 1; i < n; i++) {
        diff |= r[i].k1 ^ r[0].k1;
        sorted = sorted && r[i].k1 >= r[i - 1].k1;
    }
    if (!sorted) {
        (void)sort_by(r, spare, n, true, diff);
    }
}

/* By the first key, and then what is equal in it: in most tables of links that is little. */
static void sort_records(sorter *s)
{
    uint64_t diff = 0;
    bool sorted = true;
    for (size_t i = 1; i < s->n; i++) {
        diff |= s->records[i].k0 ^ s->records[0].k0;
        sorted = sorted && !before(&s->records[i], &s->records[i - 1]);
    }
    if (sorted) {
        return;
    }
    if (s->n <= FEW) {
        insertion(s->records, s->n);
        return;
    }
    s->spare = mem_realloc_array(s->spare, s->cap, sizeof *s->spare);
    if (diff != 0 && sort_by(s->records, s->spare, s->n, false, diff)) {
        return;
    }
    for (size_t i = 0; i < s->n;) {
        size_t k = i + 1;
        while (k < s->n && s->records[k].k0 == s->records[i].k0) {
            k++;
        }
        if (k - i > 1) {
            sort_tie(s->records + i, s->spare, k - i);
        }
        i = k;
    }
}

static marey_status spill(sorter *s, diag *d)
{
    sort_records(s);
    sort_run run = {.at = scratch_reserve(s->scratch, s->n * sizeof *s->records), .n = s->n};
    marey_status status = scratch_write(s->scratch, s->records, s->n * sizeof *s->records, run.at, d);
    VEC_PUSH(s->runs, s->n_runs, s->cap_runs, run);
    s->n = 0;
    return status;
}

marey_status sorter_push_apart(sorter *s, const sort_record *r, diag *d)
{
    if (s->n >= s->limit) {
        marey_status status = spill(s, d);
        if (status != MAREY_OK) {
            return status;
        }
    }
    s->n_total++;
    VEC_PUSH(s->records, s->n, s->cap, *r);
    return MAREY_OK;
}

static marey_status refill(sorter *s, sort_run *r, diag *d)
{
    size_t want = BUFFERS / s->n_runs;
    want = want > MAX_BUFFER ? MAX_BUFFER : want < MIN_BUFFER ? MIN_BUFFER : want;
    if (!r->buffer) {
        r->buffer = mem_alloc(want * sizeof *r->buffer);
    }
    uint64_t left = r->n - r->next;
    r->n_buffer = left < want ? (size_t)left : want;
    r->i = 0;
    uint64_t at = r->at + r->next * sizeof *r->buffer;
    r->next += r->n_buffer;
    return r->n_buffer ? scratch_read(s->scratch, r->buffer, r->n_buffer * sizeof *r->buffer, at, d) : MAREY_OK;
}

static bool run_before(const sorter *s, uint32_t a, uint32_t b)
{
    const sort_record *ra = &s->runs[a].buffer[s->runs[a].i];
    const sort_record *rb = &s->runs[b].buffer[s->runs[b].i];
    if (ra->k0 != rb->k0 || ra->k1 != rb->k1) {
        return before(ra, rb);
    }
    return a < b;
}

static void sift_down(sorter *s, size_t i)
{
    uint32_t moving = s->heap[i];
    for (size_t child; (child = 2 * i + 1) < s->n_heap; i = child) {
        if (child + 1 < s->n_heap && run_before(s, s->heap[child + 1], s->heap[child])) {
            child++;
        }
        if (!run_before(s, s->heap[child], moving)) {
            break;
        }
        s->heap[i] = s->heap[child];
    }
    s->heap[i] = moving;
}

marey_status sorter_finish(sorter *s, diag *d)
{
    s->i = 0;
    if (s->n_runs == 0) {
        sort_records(s);
        return MAREY_OK;
    }
    marey_status status = s->n ? spill(s, d) : MAREY_OK;
    free(s->records);
    free(s->spare);
    s->records = s->spare = NULL;
    s->cap = 0;
    s->heap = mem_realloc_array(s->heap, s->n_runs, sizeof *s->heap);
    for (uint32_t r = 0; r < s->n_runs && status == MAREY_OK; r++) {
        status = refill(s, &s->runs[r], d);
        s->heap[s->n_heap++] = r;
    }
    for (size_t i = s->n_heap / 2; status == MAREY_OK && i-- > 0;) {
        sift_down(s, i);
    }
    return status;
}

marey_status sorter_next_merged(sorter *s, sort_record *out, bool *more, diag *d)
{
    *more = s->n_heap > 0;
    if (!*more) {
        return MAREY_OK;
    }
    sort_run *r = &s->runs[s->heap[0]];
    *out = r->buffer[r->i++];
    marey_status status = r->i == r->n_buffer ? refill(s, r, d) : MAREY_OK;
    if (r->n_buffer == 0) {
        s->heap[0] = s->heap[--s->n_heap];
    }
    if (s->n_heap > 1 && status == MAREY_OK) {
        sift_down(s, 0);
    }
    return status;
}
