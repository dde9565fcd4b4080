/*
 * Periods in the sequence of operator types. Candidates: the gaps between one operator and the next of its kind (kind:
 * type, and the types around it) that occur most often. Each is verified: runs of positions where the types really
 * come again one period later. O(n) a candidate.
 */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "graph/hierarchy_work.h"

enum { CANDIDATES = 12, MIN_PERIOD = 3, MIN_REPEATS = 3 };

static uint64_t mix(uint64_t a, uint64_t b)
{
    return hash_u64(a * 0x9e3779b97f4a7c15U + b);
}

/* Votes for gaps. Kinds are windows of types, so that common types do not vote for short gaps alone. */
static uint32_t *vote(const uint64_t *label, uint32_t n)
{
    uint32_t *votes = mem_calloc((size_t)n + 1, sizeof *votes);
    map64 last = {0};
    for (uint32_t width = 1; width <= 16; width *= 4) {
        for (uint32_t i = 0; i + width <= n; i++) {
            uint64_t kind = width;
            for (uint32_t k = 0; k < width; k++) {
                kind = mix(kind, label[i + k]);
            }
            uint64_t *before = map64_put(&last, kind);
            if (*before) {
                votes[i + 1 - *before]++;
            }
            *before = (uint64_t)i + 1;
        }
    }
    map64_deinit(&last);
    return votes;
}

/* The longest run of a period. */
static repeat longest_run(const uint64_t *label, uint32_t n, uint32_t period)
{
    repeat best = {0, period, 0};
    uint32_t length = 0;
    for (uint32_t i = 0; i + period <= n; i++) {
        bool again = i + period < n && label[i] == label[i + period];
        if (again) {
            length++;
            continue;
        }
        uint32_t repeats = length / period + 1;
        if (repeats > best.repeats && repeats >= MIN_REPEATS) {
            best = (repeat){i - length, period, repeats};
        }
        length = 0;
    }
    return best;
}

/* Where the run ends in fact: positions behind first that still repeat. */
static uint32_t run_length(const uint64_t *label, uint32_t n, repeat r)
{
    uint32_t i = r.first;
    while (i + r.period < n && label[i] == label[i + r.period]) {
        i++;
    }
    return i - r.first + r.period;
}

/* The phase at which fewest values cross from one repeat to the next, for as many repeats, or one less. */
static void choose_phase(const hierarchy_work *h, const uint64_t *label, uint32_t n, repeat *r)
{
    uint32_t length = run_length(label, n, *r), best = 0, best_repeats = r->repeats;
    double least = -1;
    for (uint32_t phase = 0; phase < r->period; phase++) {
        uint32_t repeats = (length - phase) / r->period;
        if (repeats < MIN_REPEATS || repeats + 1 < r->repeats) {
            continue;
        }
        double sum = 0;
        for (uint32_t k = 0; k <= repeats; k++) {
            sum += h->cut[r->first + phase + k * r->period];
        }
        sum /= (double)(repeats + 1);
        bool better = least < 0 || sum < least - 1e-9 || (sum < least + 1e-9 && repeats > best_repeats);
        if (better) {
            least = sum;
            best = phase;
            best_repeats = repeats;
        }
    }
    r->first += best;
    r->repeats = best_repeats;
}

/* Is every operator of the period of one type? Then it is a chain, and no layer. */
static bool is_uniform(const uint64_t *label, repeat r)
{
    for (uint32_t i = 1; i < r.period; i++) {
        if (label[r.first + i] != label[r.first]) {
            return false;
        }
    }
    return true;
}

bool hierarchy_find_repeat(const hierarchy_work *h, const stretch *s, repeat *r)
{
    const uint64_t *label = h->label + h->starts[s->first_start].at;
    uint32_t *votes = vote(label, s->n);
    repeat best = {0, 0, 0};
    for (int c = 0; c < CANDIDATES; c++) {
        uint32_t period = MIN_PERIOD;
        for (uint32_t p = MIN_PERIOD; p <= s->n / MIN_REPEATS; p++) {
            period = votes[p] > votes[period < s->n ? period : 0] ? p : period;
        }
        if (period > s->n || votes[period] == 0) {
            break;
        }
        votes[period] = 0;
        repeat found = longest_run(label, s->n, period);
        uint64_t covers = (uint64_t)found.period * found.repeats, now = (uint64_t)best.period * best.repeats;
        /* Twice a period is one as well: the shorter counts unless the longer covers clearly more. */
        bool better = found.period > best.period ? covers * 8 > now * 9 : covers * 9 > now * 8;
        if (found.repeats > 0 && better && !is_uniform(label, found)) {
            best = found;
        }
    }
    free(votes);
    if (best.repeats == 0 || (uint64_t)best.period * best.repeats * 8 < s->n) {
        return false;
    }
    choose_phase(h, label, s->n, &best);
    *r = best;
    return true;
}
