/*
 * What a converted run is made of, as the calls of tracefile.h tell it. Times are int64 nanoseconds since the run's
 * start, intervals half-open. Strings are UTF-8, never NULL unless said so, and live as long as the file is open.
 */
#ifndef MAREY_TRACE_H
#define MAREY_TRACE_H

#include <stdbool.h>
#include <stdint.h>

typedef struct marey_run_info {
    const char *name;
    const char *format_version; /* of the file: "1.1" */
    int64_t start_epoch_ns;     /* input time of the run's start */
    int64_t duration_ns;
    uint64_t n_events; /* without derived ones (steps, phases) */
    uint64_t n_ranks, n_steps;
    uint64_t n_losses; /* records of the input that were dropped, repaired or left open */
    bool has_graph;    /* a computational graph, see graph.h */
} marey_run_info;

typedef struct marey_rank {
    int64_t rank;              /* global number; unique */
    const char *label;         /* what its row shows */
    const char *host, *device; /* "": unknown */
    int32_t stage, dp, tp, ep; /* places in the parallel groups; -1: unknown */
    uint64_t n_events;
    bool has_device; /* else its CPU threads are what its row shows */
} marey_rank;

typedef struct marey_event {
    int64_t start_ns, dur_ns;
    uint64_t row;         /* its number in the file */
    int64_t rank;         /* global number */
    const char *name;     /* as in the input */
    const char *category; /* "matmul", "allreduce", ... */
    const char *klass;    /* what it is painted by: "forward", "collective", ... */
    const char *lane;     /* "stream 7", ... */
    uint32_t depth;       /* nesting in its lane */
    uint8_t severity;     /* 0: none, to 15: an unfinished or repaired time 4, an error 8 */
} marey_event;

/* What a range of time holds of one rank. */
typedef struct marey_cell {
    int64_t busy_ns;      /* union of its events inside the range */
    uint64_t count;       /* events that meet it */
    int64_t longest_ns;   /* whole duration of the longest of them; -1: none */
    const char *category; /* with the largest union; NULL: none */
    uint8_t severity;     /* highest */
} marey_cell;

#endif
