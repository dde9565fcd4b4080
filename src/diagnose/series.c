#include "diagnose/series.h"

#include <math.h>
#include <stdlib.h>

#include "base/mem.h"

/* Changes at the same time in one: by time, and the sum of a time's changes at once. */
static int by_time(const void *pa, const void *pb)
{
    const series_point *a = pa;
    const series_point *b = pb;
    return a->at_ns < b->at_ns ? -1 : a->at_ns > b->at_ns;
}

static size_t accumulate(series_point *p, size_t n)
{
    size_t kept = 0;
    double value = 0;
    if (n > 0) {
        qsort(p, n, sizeof *p, by_time);
    }
    for (size_t i = 0; i < n;) {
        int64_t at = p[i].at_ns;
        double largest = fabs(value);
        for (; i < n && p[i].at_ns == at; i++) {
            value += p[i].value;
            largest = fabs(p[i].value) > largest ? fabs(p[i].value) : largest;
        }
        value = fabs(value) < largest * 1e-9 ? 0 : value; /* what rounding leaves of a sum that is 0 */
        p[kept++] = (series_point){at, value};
    }
    return kept;
}

series_point *series_rate(const series_span *spans, size_t n, size_t *n_points)
{
    series_point *p = mem_alloc((2 * n + 1) * sizeof *p);
    size_t changes = 0;
    for (size_t i = 0; i < n; i++) {
        if (spans[i].end_ns > spans[i].start_ns) {
            double rate = spans[i].amount / (double)(spans[i].end_ns - spans[i].start_ns);
            p[changes++] = (series_point){spans[i].start_ns, rate};
            p[changes++] = (series_point){spans[i].end_ns, -rate};
        }
    }
    *n_points = accumulate(p, changes);
    return p;
}

series_point *series_queue(const int64_t *launched_ns, size_t n_launched, const int64_t *finished_ns, size_t n_finished,
                           size_t *n_points, size_t *n_negative)
{
    series_point *p = mem_alloc((n_launched + n_finished + 1) * sizeof *p);
    for (size_t i = 0; i < n_launched; i++) {
        p[i] = (series_point){launched_ns[i], 1};
    }
    for (size_t i = 0; i < n_finished; i++) {
        p[n_launched + i] = (series_point){finished_ns[i], -1};
    }
    *n_points = accumulate(p, n_launched + n_finished);
    *n_negative = 0;
    for (size_t i = 0; i < *n_points; i++) {
        *n_negative += p[i].value < 0;
    }
    return p;
}
