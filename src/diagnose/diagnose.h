/*
 * The diagnosis: what made the steps as long as they are, and who is to blame.
 *
 *     diagnosis g;
 *     if (diagnose_run(file, &(diagnose_options){0}, &g, &d) == MAREY_OK) { ... g.findings[0].text ... }
 *     diagnose_free(&g);
 *
 * Findings are sorted by severity, 0 to 1, which follows from the estimated effect on the step time (severity_of). A
 * finding over 0.3 says that something is wrong; those below describe the run. Rules, formulas and thresholds are in
 * docs/diagnosis.md.
 *
 * Ranks are indices into model.ranks here, steps are places in data.step_index, times are ns since the run's start.
 * Thread: any, one at a time per file. Owner: the caller.
 */
#ifndef MAREY_DIAGNOSE_DIAGNOSE_H
#define MAREY_DIAGNOSE_DIAGNOSE_H

#include "diagnose/collect.h"
#include "diagnose/operators.h"

/* One collective over its ranks. */
typedef struct coll_instance {
    size_t first; /* members: data.comm[first .. first + n) */
    uint32_t n;
    uint32_t step;            /* of its earliest member; NO_STEP */
    uint32_t last_rank;       /* who arrived last */
    int64_t start_ns, end_ns; /* earliest start, latest end */
    int64_t transfer_ns;      /* the shortest duration over its members; -1: only one member is known */
    int64_t skew_ns;          /* latest less earliest start */
    int64_t spread_ns;        /* latest less earliest end */
    int64_t wait_ns;          /* durations less transfer, summed */
    int64_t bytes;            /* -1: unknown */
} coll_instance;

/** transfer -> bytes per second; -1: unknown */
double coll_algorithm_bandwidth(const coll_instance *i);
double coll_bus_bandwidth(const coll_instance *i, comm_op op);

/* One transfer from rank to rank. */
typedef struct p2p_transfer {
    uint32_t send, receive; /* into data.comm */
    uint32_t step;
    int64_t link_ns;  /* the shorter of both durations */
    bool is_reversed; /* received before it was sent: an impossible order */
} p2p_transfer;

/* All transfers of one direction between two ranks. */
typedef struct rank_link {
    uint32_t from, to;
    uint64_t n;
    int64_t bytes; /* of all transfers; -1: unknown */
    int64_t sum_ns, median_ns;
    int64_t peers_ns; /* median over links of its kind, for the same bytes */
    uint32_t n_peers;
    bool crosses_hosts;
} rank_link;

#define FINDING_KINDS(X)                                                                                               \
    X(SLOW_RANK, "slow-rank")                                                                                          \
    X(SLOW_LINK, "slow-link")                                                                                          \
    X(STALL, "stall")                                                                                                  \
    X(STAGE_IMBALANCE, "stage-imbalance")                                                                              \
    X(PIPELINE_BUBBLE, "pipeline-bubble")                                                                              \
    X(LAUNCH_BOUND, "launch-bound")                                                                                    \
    X(STEP_OUTLIER, "step-outlier")                                                                                    \
    X(EXPOSED_COMMUNICATION, "exposed-communication")                                                                  \
    X(CLOCKS, "clock-order")                                                                                           \
    X(INCOMPLETE, "incomplete-run")

typedef enum finding_kind {
#define X(name, text) FINDING_##name,
    FINDING_KINDS(X)
#undef X
        FINDING_KIND_COUNT
} finding_kind;

const char *finding_kind_name(finding_kind k);

typedef struct finding_number {
    const char *name; /* with its unit: "excess_ns", "ratio" */
    double value;
} finding_number;

enum { FINDING_MAX_NUMBERS = 12 };

typedef struct finding {
    finding_kind kind;
    double severity;
    uint32_t *ranks; /* indices */
    uint32_t n_ranks;
    uint32_t (*links)[2];
    uint32_t n_links;
    int32_t stage; /* -1: none */
    uint32_t *steps;
    uint32_t n_steps;
    int64_t t0_ns, t1_ns; /* where to look; equal: the whole run */
    const char *formula;
    finding_number numbers[FINDING_MAX_NUMBERS];
    uint32_t n_numbers;
    const char *text; /* one sentence */
} finding;

/* The run without something: played again (diagnose/replay.h), or, for operators and exposed communication, as if all
 * of their time were on the critical path. */
typedef struct what_if {
    const char *without; /* "rank 5", "link 3-7", "stage 2", "operators matmul" */
    int64_t step_ns, step_without_ns;
    double speedup; /* step / step without */
    bool is_replayed;
} what_if;

typedef struct diagnosis {
    arena mem;
    collected data;
    const trace_model *model;
    coll_instance *instances; /* in the order of data.match */
    size_t n_instances;
    p2p_transfer *transfers;
    size_t n_transfers;
    uint64_t n_unpaired;   /* sends and receives without partner */
    uint64_t n_violations; /* transfers of impossible order */
    int64_t worst_violation_ns;
    rank_link *links; /* by (from, to) */
    size_t n_links;
    int64_t *step_ns;        /* [n_steps] median over ranks; 0: nobody has it */
    int64_t typical_step_ns; /* median of these */
    uint32_t *last_votes,
        *vote_chances;        /* [n_ranks] collectives in which the rank came last; of how many (3 ranks or more) */
    const char *clock_method; /* of the run: "collectives", "in-step", "one-clock", "none", "mixed" */
    uint64_t clock_matched;
    int64_t clock_residual_median_ns, clock_residual_max_ns;
    finding *findings;
    size_t n_findings, cap_findings;
    /* Of the peers of the first finding's first rank, in its first step (else: of everybody in the longest step). */
    operator_outlier *outliers;
    size_t n_outliers;
    uint32_t outlier_step;
    what_if *what_ifs;
    size_t n_what_ifs, cap_what_ifs;
} diagnosis;

typedef struct diagnose_options {
    unsigned jobs; /* 0: one per core */
    cancel_flag *cancel;
    collect_progress *progress; /* of the pass over the events, most of the work; may be NULL */
} diagnose_options;

/** Errors: IO, FORMAT, CANCELLED. Cost: one pass over the events. */
marey_status diagnose_run(store_file *f, const diagnose_options *options, diagnosis *out, diag *d);
void diagnose_free(diagnosis *g);

/** From the share of the step time that something costs to a severity: 0.3 at 5 %, 0.42 at 9 %, 0.7 at 31 %. */
double severity_of(double share);
/** The same for what is a property of the run and no fault: below 0.3 up to a share of 0.4, never over 0.4. */
double severity_of_structure(double share);

#endif
