#include "convert/sorter.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum { DIGIT_BITS = 11, DIGITS = 1 << DIGIT_BITS, MAX_BUFFER = 4096, MIN_BUFFER = 256, BUFFERS = 1 << 20, SMALL = 64 };

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

static void pass(const sort_record *from, sort_record *to, size_t n, bool second, unsigned shift)
{
    uint32_t at[DIGITS] = {0};
    for (size_t i = 0; i < n; i++) {
        at[(second ? from[i].k1 : from[i].k0) >> shift & (DIGITS - 1)]++;
    }
    uint32_t sum = 0;
    for (size_t b = 0; b < DIGITS; b++) {
        uint32_t count = at[b];
        at[b] = sum;
        sum += count;
    }
    for (size_t i = 0; i < n; i++) {
        to[at[(second ? from[i].k1 : from[i].k0) >> shift & (DIGITS - 1)]++] = from[i];
    }
}

/* Radix sort over the bits in which the records differ. */
static void sort_records(sorter *s)
{
    uint64_t diff0 = 0;
    uint64_t diff1 = 0;
    bool sorted = true;
    for (size_t i = 1; i < s->n; i++) {
        diff0 |= s->records[i].k0 ^ s->records[0].k0;
        diff1 |= s->records[i].k1 ^ s->records[0].k1;
        sorted = sorted && !before(&s->records[i], &s->records[i - 1]);
    }
    if (sorted) {
        return;
    }
    if (s->n <= SMALL) {
        insertion(s->records, s->n);
        return;
    }
    s->spare = mem_realloc_array(s->spare, s->cap, sizeof *s->spare);
    for (unsigned half = 0; half < 2; half++) {
        uint64_t diff = half ? diff0 : diff1;
        for (unsigned shift = 0; shift < 64; shift += DIGIT_BITS) {
            if (!(diff >> shift & (DIGITS - 1))) {
                continue;
            }
            pass(s->records, s->spare, s->n, half == 0, shift);
            sort_record *swap = s->records;
            s->records = s->spare;
            s->spare = swap;
        }
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

marey_status sorter_push(sorter *s, uint64_t k0, uint64_t k1, uint64_t v, diag *d)
{
    if (s->n >= s->limit) {
        marey_status status = spill(s, d);
        if (status != MAREY_OK) {
            return status;
        }
    }
    s->n_total++;
    VEC_PUSH(s->records, s->n, s->cap, ((sort_record){k0, k1, v}));
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

marey_status sorter_next(sorter *s, sort_record *out, bool *more, diag *d)
{
    if (s->n_runs == 0) {
        *more = s->i < s->n;
        if (*more) {
            *out = s->records[s->i++];
        }
        return MAREY_OK;
    }
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
