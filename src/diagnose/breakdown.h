/*
 * Where the time of one rank goes, step by step: exact unions of half-open intervals, found in one pass over the
 * device's events in order of their start, in memory that does not grow with their number.
 *
 * Every instant of a step's window belongs to exactly one of 16 sets: which of compute, collective, send/receive and
 * copy run then. All formulas are sums over these sets (breakdown_of). Source: the design's diagnosis study,
 * section 2.1.
 *
 * Thread: one sweep per thread. Owner: the caller.
 */
#ifndef MAREY_DIAGNOSE_BREAKDOWN_H
#define MAREY_DIAGNOSE_BREAKDOWN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { BUSY_COMPUTE = 1, BUSY_COLLECTIVE = 2, BUSY_P2P = 4, BUSY_COPY = 8, BUSY_SETS = 16, BUSY_CLASSES = 4 };
enum { KERNEL_WAIT_NS = 30 }; /* a gap shorter than this is the device's own, as HTA has it */

#define LAUNCH_UNKNOWN INT64_MIN

/* One rank in one step. */
typedef struct rank_step {
    int64_t start_ns, end_ns;  /* the window; end <= start: the rank lacks the step */
    int64_t set_ns[BUSY_SETS]; /* time during which exactly these classes ran; [0]: idle */
    int64_t own_gap_ns;        /* idle until compute, a copy or a collective began: nothing from peers was missing */
    int64_t peer_gap_ns;       /* idle until a send or receive began: waiting for peers */
    int64_t host_wait_ns;      /* of own gaps: the launch began after the gap did */
    int64_t kernel_wait_ns;    /* of own gaps: shorter than KERNEL_WAIT_NS */
    int64_t longest_gap_ns;    /* of own gaps */
    int64_t longest_gap_at_ns;
    int64_t bubble_ns; /* between first and last compute: neither compute nor a collective runs */
    int64_t first_compute_ns, last_compute_ns; /* begin of the first, end of the last; equal: none */
    int64_t wait_ns;     /* inside collectives: its duration less the shortest of its instance; a sum */
    int64_t p2p_wait_ns; /* inside sends and receives, likewise */
    uint32_t n_own_gaps;
    uint32_t n_launches_known; /* gaps whose closing event has a known launch */
} rank_step;

/* The named numbers of the report. */
typedef struct breakdown {
    int64_t step_ns;
    int64_t compute_ns;               /* |COMP| */
    int64_t exposed_communication_ns; /* |COMM \ COMP| */
    int64_t overlapped_ns;            /* |COMP n COMM| */
    int64_t copy_ns;                  /* |MEM \ COMP \ COMM| */
    int64_t idle_ns;                  /* step - |COMP u COMM u MEM| */
    int64_t communication_ns;         /* |COMM| */
    int64_t busy_ns;
} breakdown;

breakdown breakdown_of(const rank_step *s);

typedef struct sweep {
    rank_step *steps; /* windows ascending, without overlap */
    size_t n, at;
    int64_t now_ns;
    int64_t until_ns[BUSY_CLASSES]; /* end of each class's union so far */
    int64_t idle_from_ns;           /* INT64_MAX: busy */
    int64_t pending_bubble_ns;
    int64_t compute_ns; /* union inside the windows so far, over all steps */
    bool has_compute;   /* in the current step */
} sweep;

/** Windows are set in `steps`, all else is 0. */
void sweep_begin(sweep *s, rank_step *steps, size_t n);
/** The next event by start. @param klass  one BUSY_* bit @param launch_ns  begin of its launch, or LAUNCH_UNKNOWN */
void sweep_put(sweep *s, unsigned klass, int64_t start_ns, int64_t end_ns, int64_t launch_ns);
/** Nothing more starts before `to_ns`: compute_ns is what ran until then. */
void sweep_to(sweep *s, int64_t to_ns);
/** Since when nothing but sends and receives runs, as of `start_ns`, where nothing later was put; start_ns: something
 * does. */
int64_t sweep_free_since(const sweep *s, int64_t start_ns);
void sweep_end(sweep *s);

#endif
