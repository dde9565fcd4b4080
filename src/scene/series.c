#include "scene/series.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

static const double *values(const step_series *s, int level, bool high)
{
    return level == 0 ? s->v : (high ? s->high : s->low) + s->level_first[level];
}

static void make_level(step_series *s, int level)
{
    const double *low = values(s, level - 1, false);
    const double *high = values(s, level - 1, true);
    size_t below = level == 1 ? s->n : s->level_n[level - 1];
    for (size_t i = 0; i < s->level_n[level]; i++) {
        double *to_low = &s->low[s->level_first[level] + i];
        double *to_high = &s->high[s->level_first[level] + i];
        *to_low = INFINITY;
        *to_high = -INFINITY;
        for (size_t k = i * SERIES_FAN; k < (i + 1) * SERIES_FAN && k < below; k++) {
            *to_low = fmin(*to_low, low[k]);
            *to_high = fmax(*to_high, high[k]);
        }
    }
}

void series_make(step_series *s, int64_t *t_ns, double *v, size_t n)
{
    memset(s, 0, sizeof *s);
    s->t_ns = t_ns;
    s->v = v;
    s->n = n;
    size_t total = 0;
    size_t width = n;
    s->n_levels = 1;
    while (width > SERIES_FAN && s->n_levels < SERIES_LEVELS) {
        width = (width + SERIES_FAN - 1) / SERIES_FAN;
        s->level_first[s->n_levels] = total;
        s->level_n[s->n_levels++] = width;
        total += width;
    }
    s->low = mem_alloc((total + 1) * sizeof *s->low);
    s->high = mem_alloc((total + 1) * sizeof *s->high);
    for (int k = 1; k < s->n_levels; k++) {
        make_level(s, k);
    }
    for (size_t i = 0; i < n; i++) {
        s->most = v[i] > s->most ? v[i] : s->most;
    }
}

void series_deinit(step_series *s)
{
    free(s->t_ns);
    free(s->v);
    free(s->low);
    free(s->high);
    memset(s, 0, sizeof *s);
}

size_t series_bytes(const step_series *s)
{
    return s->n * (sizeof *s->t_ns + sizeof *s->v) * 9 / 8;
}

/* The first sample at or after t. */
static size_t sample_from(const step_series *s, int64_t t_ns)
{
    size_t low = 0;
    size_t high = s->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (s->t_ns[middle] < t_ns) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

typedef struct extent {
    double low, high;
} extent;

static void fold(const step_series *s, int level, size_t i, extent *e)
{
    e->low = fmin(e->low, values(s, level, false)[i]);
    e->high = fmax(e->high, values(s, level, true)[i]);
}

/* Single ones up to where whole blocks of the next level begin, from both ends. */
static extent fold_range(const step_series *s, size_t a, size_t b)
{
    extent e = {INFINITY, -INFINITY};
    int level = 0;
    while (b - a > 2 * SERIES_FAN && level + 1 < s->n_levels) {
        for (; a % SERIES_FAN != 0; a++) {
            fold(s, level, a, &e);
        }
        for (; b % SERIES_FAN != 0; b--) {
            fold(s, level, b - 1, &e);
        }
        a /= SERIES_FAN;
        b /= SERIES_FAN;
        level++;
    }
    for (; a < b; a++) {
        fold(s, level, a, &e);
    }
    return e;
}

bool series_range(const step_series *s, event_window w, double *low, double *high)
{
    size_t a = sample_from(s, w.ceil_ns);
    size_t b = sample_from(s, w.end_ns);
    bool begins = a < s->n && s->t_ns[a] == w.floor_ns; /* a sample right at the start: nothing before it holds */
    a -= a > 0 && !begins ? 1 : 0;
    b = b <= a && begins ? a + 1 : b;
    if (b <= a) {
        return false;
    }
    extent e = fold_range(s, a, b);
    *low = e.low;
    *high = e.high;
    return true;
}
