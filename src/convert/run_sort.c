#include "convert/run_sort.h"

#include <stdlib.h>
#include <string.h>

enum { DIGIT_BITS = 11, DIGITS = 1 << DIGIT_BITS, PLACE_BITS = 16, SHORT_TIE = 24 };

/* Is it sorted as it is? Most pieces of most inputs are nearly so, many wholly. */
static bool is_sorted(const run_row *rows, size_t n, int64_t *least, int64_t *most)
{
    bool sorted = true;
    *least = *most = rows[0].start_ns;
    for (size_t i = 1; i < n; i++) {
        int64_t t = rows[i].start_ns;
        sorted = sorted && !run_row_before(&rows[i], &rows[i - 1]);
        *least = t < *least ? t : *least;
        *most = t > *most ? t : *most;
    }
    return sorted;
}

/* One pass of a least-significant-digit radix sort over bits [shift, shift + DIGIT_BITS). */
static void radix_pass(const uint64_t *from, uint64_t *to, size_t n, unsigned shift)
{
    uint32_t at[DIGITS] = {0};
    for (size_t i = 0; i < n; i++) {
        at[from[i] >> shift & (DIGITS - 1)]++;
    }
    uint32_t sum = 0;
    for (size_t b = 0; b < DIGITS; b++) {
        uint32_t count = at[b];
        at[b] = sum;
        sum += count;
    }
    for (size_t i = 0; i < n; i++) {
        to[at[from[i] >> shift & (DIGITS - 1)]++] = from[i];
    }
}

static const run_row *place(const run_row *rows, uint64_t key)
{
    return &rows[key & ((1U << PLACE_BITS) - 1)];
}

static int compare_keys(const void *pa, const void *pb, void *ctx)
{
    const run_row *rows = ctx;
    uint64_t a = *(const uint64_t *)pa;
    uint64_t b = *(const uint64_t *)pb;
    const run_row *ra = place(rows, a);
    const run_row *rb = place(rows, b);
    if (run_row_before(ra, rb)) {
        return -1;
    }
    if (run_row_before(rb, ra)) {
        return 1;
    }
    return ra < rb ? -1 : ra > rb;
}

/* Equal starts: the longer first. Short ties by insertion, which keeps the order of input. */
static void sort_ties(const run_row *rows, uint64_t *keys, size_t n)
{
    for (size_t i = 0; i < n;) {
        size_t j = i + 1;
        while (j < n && keys[j] >> PLACE_BITS == keys[i] >> PLACE_BITS) {
            j++;
        }
        if (j - i > SHORT_TIE) {
            qsort_r(keys + i, j - i, sizeof *keys, compare_keys, (void *)(uintptr_t)rows);
        } else {
            for (size_t k = i + 1; k < j; k++) {
                uint64_t key = keys[k];
                size_t m = k;
                for (; m > i && place(rows, key)->dur_ns > place(rows, keys[m - 1])->dur_ns; m--) {
                    keys[m] = keys[m - 1];
                }
                keys[m] = key;
            }
        }
        i = j;
    }
}

static void gather(const run_row *rows, const uint64_t *keys, size_t n, run_row *out)
{
    for (size_t i = 0; i < n; i++) {
        size_t from = keys ? (size_t)(keys[i] & ((1U << PLACE_BITS) - 1)) : i;
        out[i] = rows[from];
        out[i].order = (uint16_t)from;
    }
}

void run_sort(const run_row *rows, size_t n, run_row *out, uint64_t *keys)
{
    int64_t least;
    int64_t most;
    if (is_sorted(rows, n, &least, &most)) {
        gather(rows, NULL, n, out);
        return;
    }
    uint64_t span = (uint64_t)most - (uint64_t)least;
    uint64_t *from = keys;
    uint64_t *to = keys + n;
    if (span >> (64 - PLACE_BITS)) { /* 3 days and more in one piece: rare, so by comparison */
        for (size_t i = 0; i < n; i++) {
            from[i] = i;
        }
        qsort_r(from, n, sizeof *from, compare_keys, (void *)(uintptr_t)rows);
    } else {
        for (size_t i = 0; i < n; i++) {
            from[i] = ((uint64_t)rows[i].start_ns - (uint64_t)least) << PLACE_BITS | i;
        }
        for (unsigned shift = PLACE_BITS; shift < 64 && span >> (shift - PLACE_BITS); shift += DIGIT_BITS) {
            radix_pass(from, to, n, shift);
            uint64_t *swap = from;
            from = to;
            to = swap;
        }
        sort_ties(rows, from, n);
    }
    gather(rows, from, n, out);
}
