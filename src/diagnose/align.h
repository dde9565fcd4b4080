/*
 * Clock alignment on the ends of matched collectives: one signed offset and one drift per clock domain (a host, or a
 * rank whose clock is its own), for starts and ends alike.
 *
 * A blocking collective can finish only when all of its members have joined, so its ends nearly coincide, while its
 * starts carry the straggling. Model: t' = t + offset + drift * (t - pivot). Fit: a spanning tree over the domains
 * gives offsets to start from (medians of end differences); then iteratively reweighted least squares (Cauchy weights,
 * so that a wrong match or a late leaver counts for nothing) on all domains together, solved by conjugate gradients.
 * Drift is fitted only where a domain has at least 20 matches over at least a second, and is bounded by 200 ppm.
 * Source: the design's diagnosis study, section 4.1.
 *
 * Thread: any. Owner: the caller.
 */
#ifndef MAREY_DIAGNOSE_ALIGN_H
#define MAREY_DIAGNOSE_ALIGN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "base/thread.h"

/* One member's end of one collective. */
typedef struct align_end {
    uint64_t instance; /* equal for the members of one collective; any numbers */
    uint32_t domain;   /* 0..n_domains-1 */
    float weight;      /* 1; 0.5 where members may leave early (reduce, broadcast) */
    int64_t end_ns;    /* raw */
} align_end;

/* What was found for one domain. */
typedef struct align_clock {
    int64_t offset_ns;   /* added at the pivot */
    double drift;        /* 1e-6 is one ppm */
    int64_t pivot_ns;    /* raw time; the same for all domains of a component */
    uint64_t n_matched;  /* ends used that have a partner in another domain */
    int64_t residual_ns; /* median of |end - the instance's own time| after the fit */
    int64_t residual_p95_ns;
    int64_t residual_max_ns;
    uint32_t component; /* domains of different components could not be compared */
    bool is_fitted;     /* false: no match with any other domain; offset 0 */
} align_clock;

/**
 * Fit all clocks. `ends` is reordered (sorted by instance). The domain with the most matches of each component is the
 * reference: its offset and drift are 0.
 *
 * @param clocks  [n_domains]
 * @return OK; CANCELLED. Cost: O(n log n + 500 n).
 */
marey_status align_fit(align_end *ends, size_t n, uint32_t n_domains, align_clock *clocks, cancel_flag *cancel);

/** Raw to aligned time, saturating; strictly the same everywhere it is used, so that equal raw times stay equal. */
int64_t align_time(const align_clock *c, int64_t raw_ns);

#endif
