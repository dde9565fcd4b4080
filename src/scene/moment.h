/*
 * A point of time between two nanoseconds, to 2^-32 ns: where a view begins or ends, what lies under the pointer. The
 * times of events are whole ns up to 2^62, which no double holds exactly; only what lies near a moment is told as its
 * distance from it in a double.
 */
#ifndef MAREY_SCENE_MOMENT_H
#define MAREY_SCENE_MOMENT_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

/* ns + part / 2^32 since the run's start; part < 2^32. Two words without a hole, so that it may be hashed. */
typedef struct moment {
    int64_t ns;
    uint64_t part;
} moment;

/* In units of 2^-32 ns: sums and products of moments. */
__extension__ typedef __int128 fine_ns;

#define MOMENT_PARTS ((fine_ns)1 << 32)
/* Moments end here, so that differences to any time of a run (0 to 2^62) fit 64 bits. */
#define MOMENT_LOWEST  (-(INT64_C(1) << 61))
#define MOMENT_HIGHEST ((INT64_C(1) << 62) + (INT64_C(1) << 61))

static inline fine_ns moment_fine(moment m)
{
    return (fine_ns)m.ns * MOMENT_PARTS + (fine_ns)m.part;
}

static inline moment moment_of_fine(fine_ns f)
{
    fine_ns low = (fine_ns)MOMENT_LOWEST * MOMENT_PARTS;
    fine_ns high = (fine_ns)MOMENT_HIGHEST * MOMENT_PARTS;
    f = f < low ? low : f > high ? high : f;
    return (moment){(int64_t)(f >> 32), (uint64_t)(f & (MOMENT_PARTS - 1))}; /* >> rounds down */
}

/** Rounded to 2^-32, -ns to the same as ns; 0 of what is no number; what is very large ends at 2^63. */
static inline fine_ns fine_of(double ns)
{
    if (!isfinite(ns)) {
        return 0;
    }
    double size = fmin(fabs(ns), 0x1p63);
    double whole = floor(size);
    fine_ns fine = (fine_ns)whole * MOMENT_PARTS + (fine_ns)floor((size - whole) * 0x1p32 + 0.5);
    return ns < 0 ? -fine : fine;
}

static inline double fine_to_ns(fine_ns f)
{
    return (double)f * 0x1p-32;
}

static inline moment moment_at(int64_t ns)
{
    ns = ns < MOMENT_LOWEST ? MOMENT_LOWEST : ns > MOMENT_HIGHEST ? MOMENT_HIGHEST : ns;
    return (moment){ns, 0};
}

/** For what is near 0, or only about where it is: beyond 2^53 ns a double has no nanoseconds. */
static inline moment moment_about(double ns)
{
    return moment_of_fine(fine_of(ns));
}

/** Ends at the bounds of moments; unchanged by what is no number. */
static inline moment moment_plus(moment m, double ns)
{
    return moment_of_fine(moment_fine(m) + fine_of(ns));
}

/** Exact, as all whole shifts are. */
static inline moment moment_shift(moment m, int64_t ns)
{
    return moment_of_fine(moment_fine(m) + (fine_ns)ns * MOMENT_PARTS);
}

/** a - b in ns: the exact difference, rounded once. */
static inline double moment_minus(moment a, moment b)
{
    return fine_to_ns(moment_fine(a) - moment_fine(b));
}

/** -1, 0, 1 */
static inline int moment_compare(moment a, moment b)
{
    if (a.ns != b.ns) {
        return a.ns < b.ns ? -1 : 1;
    }
    return a.part < b.part ? -1 : a.part > b.part;
}

static inline int64_t moment_floor(moment m)
{
    return m.ns;
}

static inline int64_t moment_ceil(moment m)
{
    return m.ns + (m.part > 0);
}

#endif
