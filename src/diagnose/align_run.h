/*
 * The clocks of a run, from its communication: domains, observations, fit, and whether to believe it.
 *
 * Ends of matched collectives are compared over clock domains (hosts; a rank whose host is unknown is its own domain).
 * align_fit() finds offsets and drifts; then they are refined on the earliest end of each domain in each collective,
 * because members leave late, never early. Clocks whose ends agree already are left alone.
 *
 * Thread: any. Owner: the caller.
 */
#ifndef MAREY_DIAGNOSE_ALIGN_RUN_H
#define MAREY_DIAGNOSE_ALIGN_RUN_H

#include "diagnose/align.h"
#include "diagnose/comm.h"

typedef enum align_method {
    ALIGN_NONE,        /* nothing to compare with: the clock is as the input says */
    ALIGN_IN_STEP,     /* compared, and left alone: ends agree already, or the fit was no better */
    ALIGN_ONE_CLOCK,   /* all ranks share one clock */
    ALIGN_COLLECTIVES, /* moved */
    ALIGN_METHODS
} align_method;

/** "none", "in-step", "one-clock", "collectives": as in trace_rank.clock_method. */
const char *align_method_name(align_method m);

enum { ALIGN_AGREES_NS = 100000 }; /* ends within this need no alignment: collectives end that far apart on one host */

/**
 * @param events   the collectives of the run, raw times; reordered by comm_match()
 * @param domain   [n_ranks] clock domain of each rank, 0..n_domains-1
 * @param clocks   [n_domains]; offset and drift are 0 unless the method is ALIGN_COLLECTIVES
 * @param methods  [n_domains]
 */
marey_status align_run(comm_event *events, size_t n, const uint32_t *domain, uint32_t n_domains, align_clock *clocks,
                       align_method *methods, cancel_flag *cancel);

/** Refine fitted clocks on the earliest ends. `ends` as align_fit() takes them. */
void align_refine(align_end *ends, size_t n, uint32_t n_domains, align_clock *clocks);

#endif
