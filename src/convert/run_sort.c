#include "convert/run_sort.h"

#include <stdlib.h>
#include <string.h>

enum { DIGIT_BITS = 11, DIGITS = 1 << DIGIT_BITS, MAX_DIGITS = 5, ROUGH_BITS = 10, SHORT_GROUP = 24 };

/*
 * Sorting works on keys of 64 bits: the start, counted from the first one, over the row's place. Where the span of
 * starts leaves no room for the place, the start's last bits are left out. Digits are sorted by the start's first bits;
 * the few rows that are equal in them are told apart one by one: within 2 to the ROUGH_BITS ns there are few events.
 */
typedef struct key_form {
    int64_t least_ns;
    unsigned drop;       /* bits of the time that are left out */
    unsigned place_bits; /* of the place */
    unsigned n_digits, width;
    unsigned rough_bits; /* of the place and of the time, below the digits */
} key_form;

static unsigned bits_of(uint64_t v)
{
    return v ? 64U - (unsigned)__builtin_clzll(v) : 0;
}

/* Starts in order of input. @return are they sorted? Most pieces of most inputs are nearly so, many wholly */
static bool gather_starts(const run_piece *pieces, uint32_t n_pieces, uint64_t *starts, int64_t *least, int64_t *most)
{
    int64_t lo = pieces[0].rows[0].start_ns;
    int64_t hi = lo;
    int64_t before = lo;
    bool sorted = true;
    for (uint32_t p = 0; p < n_pieces; p++) {
        const run_row *rows = pieces[p].rows;
        for (uint32_t i = 0; i < pieces[p].n; i++) {
            int64_t t = rows[i].start_ns;
            *starts++ = (uint64_t)t;
            sorted &= t >= before;
            before = t;
            lo = t < lo ? t : lo;
            hi = t > hi ? t : hi;
        }
    }
    *least = lo;
    *most = hi;
    return sorted;
}

static void make_keys(const run_piece *pieces, uint32_t n_pieces, const key_form *f, uint64_t *keys)
{
    uint64_t least = (uint64_t)f->least_ns;
    for (uint32_t p = 0; p < n_pieces; p++) {
        uint64_t place = (uint64_t)p * RUN_ROWS;
        for (uint32_t i = 0; i < pieces[p].n; i++, keys++) {
            *keys = (*keys - least) >> f->drop << f->place_bits | (place + i);
        }
    }
}

static const run_row *row_of(const run_piece *pieces, const key_form *f, uint64_t key)
{
    uint64_t place = key & ((UINT64_C(1) << f->place_bits) - 1);
    return &pieces[place / RUN_ROWS].rows[place % RUN_ROWS];
}

typedef struct sort_context {
    const run_piece *pieces;
    const key_form *form;
} sort_context;

/* Equal rows stay in the order of input, which is that of their keys. */
static bool is_before(const sort_context *t, uint64_t a, uint64_t b)
{
    if (a >> t->form->place_bits != b >> t->form->place_bits) {
        return a < b;
    }
    const run_row *ra = row_of(t->pieces, t->form, a);
    const run_row *rb = row_of(t->pieces, t->form, b);
    return run_row_before(ra, rb) || (!run_row_before(rb, ra) && a < b);
}

static int compare_keys(const void *pa, const void *pb, void *ctx)
{
    uint64_t a = *(const uint64_t *)pa;
    uint64_t b = *(const uint64_t *)pb;
    return a == b ? 0 : is_before(ctx, a, b) ? -1 : 1;
}

static void sort_group(const sort_context *t, uint64_t *keys, size_t n)
{
    if (n > SHORT_GROUP) {
        qsort_r(keys, n, sizeof *keys, compare_keys, (void *)(uintptr_t)t);
        return;
    }
    for (size_t i = 1; i < n; i++) {
        uint64_t key = keys[i];
        size_t k = i;
        for (; k > 0 && is_before(t, key, keys[k - 1]); k--) {
            keys[k] = keys[k - 1];
        }
        keys[k] = key;
    }
}

/* Rows from i on that are equal in their digits. @return where they end */
static size_t settle_group(const sort_context *t, uint64_t *keys, size_t n, size_t i)
{
    size_t k = i + 1;
    while (k < n && (keys[k] ^ keys[i]) >> t->form->rough_bits == 0) {
        k++;
    }
    sort_group(t, keys + i, k - i);
    return k;
}

/* Keys that are sorted by their digits become places. */
static void put_places(const sort_context *t, uint64_t *keys, size_t n, uint32_t *places)
{
    const unsigned rough = t->form->rough_bits;
    const uint32_t mask = (uint32_t)((UINT64_C(1) << t->form->place_bits) - 1);
    size_t settled = 0;
    for (size_t i = 0; i + 1 < n; i++) {
        if ((keys[i] ^ keys[i + 1]) >> rough == 0 && i >= settled) {
            settled = settle_group(t, keys, n, i);
        }
        places[i] = (uint32_t)keys[i] & mask;
    }
    places[n - 1] = (uint32_t)keys[n - 1] & mask;
}

/* Where each value of a digit begins in the sorted order. */
static void count_digit(const uint64_t *keys, size_t n, unsigned shift, uint64_t mask, uint32_t *at)
{
    memset(at, 0, (size_t)(mask + 1) * sizeof *at);
    for (size_t i = 0; i < n; i++) {
        at[keys[i] >> shift & mask]++;
    }
    uint32_t sum = 0;
    for (size_t v = 0; v <= mask; v++) {
        uint32_t count = at[v];
        at[v] = sum;
        sum += count;
    }
}

/* Least significant digit first. @return where the sorted keys are: `keys` or `spare` */
static uint64_t *sort_digits(const key_form *f, uint64_t *keys, uint64_t *spare, size_t n)
{
    uint32_t at[DIGITS];
    const uint64_t mask = (UINT64_C(1) << f->width) - 1;
    for (unsigned d = 0; d < f->n_digits; d++) {
        unsigned shift = f->rough_bits + d * f->width;
        count_digit(keys, n, shift, mask, at);
        for (size_t i = 0; i < n; i++) {
            spare[at[keys[i] >> shift & mask]++] = keys[i];
        }
        uint64_t *swap = keys;
        keys = spare;
        spare = swap;
    }
    return keys;
}

static key_form choose_form(uint32_t n_pieces, int64_t least_ns, int64_t most_ns)
{
    key_form f = {.least_ns = least_ns, .place_bits = bits_of((uint64_t)n_pieces * RUN_ROWS - 1)};
    unsigned span_bits = bits_of((uint64_t)most_ns - (uint64_t)least_ns);
    f.drop = span_bits + f.place_bits > 64 ? span_bits + f.place_bits - 64 : 0;
    unsigned time_bits = span_bits - f.drop;
    f.n_digits = time_bits > ROUGH_BITS ? (time_bits - ROUGH_BITS + DIGIT_BITS - 1) / DIGIT_BITS : 0;
    f.width =
        f.n_digits && time_bits < f.n_digits * DIGIT_BITS ? (time_bits + f.n_digits - 1) / f.n_digits : DIGIT_BITS;
    f.rough_bits = f.place_bits + (time_bits > f.n_digits * f.width ? time_bits - f.n_digits * f.width : 0);
    return f;
}

void run_sort(const run_piece *pieces, uint32_t n_pieces, size_t n, uint32_t *places, uint64_t *keys)
{
    int64_t least;
    int64_t most;
    bool sorted = gather_starts(pieces, n_pieces, keys, &least, &most);
    key_form f = choose_form(n_pieces, least, most);
    sort_context t = {pieces, &f};
    make_keys(pieces, n_pieces, &f, keys);
    if (sorted) {
        f.rough_bits = f.place_bits;
    } else if (n <= SHORT_GROUP) {
        sort_group(&t, keys, n);
    } else {
        keys = sort_digits(&f, keys, keys + n, n);
    }
    put_places(&t, keys, n, places);
}
