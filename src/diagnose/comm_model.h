/*
 * Communication as a picture needs it: operations (matched collectives and transfers) one like the other, links between
 * ranks, communicators; and their sums over a window of time.
 *
 *     comm_model m;
 *     comm_model_make(&m, &diagnosis, cancel);   once per run; the diagnosis stays alive
 *     comm_sums *r = comm_sum_up(&m, &query, cancel);   for each window, communicator or order
 *
 * A transfer from rank to rank is a link of its own. A collective names no links; its data is booked on a ring through
 * its ranks in ascending order, each hop carrying (bus factor x bytes) in the transfer time: LINK_RING says so.
 *
 * An operation belongs to the window in which it starts. Formulas: transfer = min duration over ranks; wait = duration
 * - transfer; algorithm bandwidth = bytes / transfer; bus bandwidth = algorithm bandwidth x factor (comm_bus_factor).
 * Box plots: quartiles by linear interpolation, whiskers at the last values within 1.5 IQR of the box, outliers beyond.
 * Operations that only one rank is known to take part in have no transfer time: they are counted, and in no sum.
 *
 * Ranks are indices into model.ranks. Thread: any; a model is read only once made. Owner: the caller.
 */
#ifndef MAREY_DIAGNOSE_COMM_MODEL_H
#define MAREY_DIAGNOSE_COMM_MODEL_H

#include "diagnose/diagnose.h"

enum { COMM_MAX_LINKS = 1 << 18, COMM_KEPT_OUTLIERS = 8, COMM_BUSIEST = UINT32_MAX };

typedef struct comm_operation {
    int64_t start_ns, end_ns; /* earliest start, latest end */
    int64_t transfer_ns;      /* -1: unmatched */
    int64_t wait_ns;          /* summed over its ranks */
    int64_t skew_ns, spread_ns;
    int64_t bytes;          /* -1: unknown */
    uint32_t first, second; /* events: members [first, first + n); of a transfer the send and the receive */
    uint32_t n;
    uint32_t group;     /* into comm_model.groups */
    uint32_t last_rank; /* the last to arrive */
    uint32_t step;      /* into data.step_index, or NO_STEP */
    uint8_t op;         /* comm_op; OP_SEND for transfers */
} comm_operation;

typedef enum link_kind { LINK_P2P, LINK_RING } link_kind;

typedef struct comm_item {
    uint32_t operation;
    uint32_t event; /* the sender's */
} comm_item;

typedef struct comm_link {
    uint32_t from, to;
    uint8_t kind; /* link_kind */
    bool crosses_hosts;
    uint32_t first, n; /* into comm_model.items, ascending by start */
} comm_link;

typedef struct comm_group {
    uint32_t id;       /* into model.groups; NO_ID: operations that name none */
    uint32_t n_ranks;  /* as the file states, or that were seen */
    uint32_t first, n; /* into comm_model.by_group, ascending by start */
} comm_group;

typedef struct comm_model {
    const diagnosis *g;
    comm_operation *operations;
    size_t n_operations;
    comm_link *links; /* by (from, to, kind) */
    size_t n_links;
    uint64_t n_links_left_out; /* items of links beyond COMM_MAX_LINKS */
    comm_item *items;
    size_t n_items;
    comm_group *groups;
    size_t n_groups;
    uint32_t *by_group;
} comm_model;

/** Errors: CANCELLED. Cost: O(n log n) of communication events. */
marey_status comm_model_make(comm_model *m, const diagnosis *g, cancel_flag *cancel);
void comm_model_free(comm_model *m);
/** The i-th rank's part in an operation, i < n. */
const comm_event *comm_member(const comm_model *m, const comm_operation *o, uint32_t i);
/** Name of a communicator for people: its description, else its name. */
void comm_group_name(const comm_model *m, uint32_t group, char *out, size_t cap);
/** Its ranks in short: "0, 2", "0–7", "0, 4 … 28"; "" where the file does not state all of them. */
void comm_group_ranks(const comm_model *m, uint32_t group, char *out, size_t cap);
double comm_algorithm_bandwidth(const comm_operation *o); /* bytes/s; -1: unknown */
double comm_bus_bandwidth(const comm_operation *o);
/** What one hop of a link carries: bytes; -1: unknown. */
double comm_link_bytes(const comm_operation *o, link_kind kind);

/* ------------------------------------------------------------------ sums of a window */

typedef enum comm_measure { COMM_TIME, COMM_BYTES, COMM_BANDWIDTH, COMM_MEASURES } comm_measure;

typedef enum comm_sort {
    SORT_START,
    SORT_OPERATION,
    SORT_BYTES,
    SORT_TRANSFER,
    SORT_WAIT,
    SORT_SKEW,
    SORT_SPREAD,
    SORT_ALGORITHM,
    SORT_BUS,
    SORT_LAST,
    COMM_SORTS
} comm_sort;

typedef struct comm_query {
    int64_t t0_ns, t1_ns; /* operations that start in [t0, t1) */
    uint32_t group;  /* whose operations are listed; COMM_BUSIEST: the one with the most time whose collectives stay
                        inside one pipeline stage (the others wait for where the pipeline ends), else of all */
    bool only_group; /* links and ranks count that communicator only */
    uint8_t sort;    /* comm_sort */
    bool descending;
} comm_query;

typedef struct comm_outlier {
    double value;
    uint32_t item;
} comm_outlier;

typedef struct comm_box {
    double low, q1, median, q3, high; /* whiskers and box */
    double min, max;
    uint32_t n, n_outliers;
    uint32_t first, n_kept; /* the furthest outliers, in comm_sums.outliers */
} comm_box;

typedef struct comm_link_sum {
    uint32_t n;
    int64_t time_ns;  /* transfer times */
    double bytes;     /* 0 where unknown */
    double bandwidth; /* of what has both: bytes / time, bytes/s; 0: unknown */
    comm_box box[COMM_MEASURES];
} comm_link_sum;

typedef struct comm_rank_sum {
    int64_t transfer_ns, wait_ns;
    uint64_t n;      /* matched operations */
    uint64_t n_last; /* of them, collectives of 3 ranks or more in which it arrived last */
} comm_rank_sum;

typedef struct comm_group_sum {
    uint64_t n, n_unmatched;
    int64_t transfer_ns, wait_ns; /* transfer counts once per operation, wait once per rank */
    double bytes;
    double bus; /* sum of bus bytes / their transfer times; 0: unknown */
} comm_group_sum;

typedef struct comm_sums {
    comm_query query;
    comm_link_sum *links;   /* [n_links] */
    comm_rank_sum *ranks;   /* [n_ranks] */
    comm_group_sum *groups; /* [n_groups] */
    uint32_t *group_order;  /* [n_groups] most time first */
    uint32_t group;         /* the one that is listed; NO_ID: there is none */
    uint32_t *order;        /* its operations */
    size_t n_order;
    comm_outlier *outliers;
    size_t n_outliers, cap_outliers;
    double most[COMM_MEASURES];        /* largest sum (time, bytes) and value (bandwidth) over links */
    double most_single[COMM_MEASURES]; /* largest single value over links: the scale of box plots */
    uint64_t n, n_unmatched, n_p2p;
    uint64_t serial; /* the caller's */
} comm_sums;

/** @return NULL when cancelled. Cost: O(items log items). */
comm_sums *comm_sum_up(const comm_model *m, const comm_query *q, cancel_flag *cancel);
void comm_sums_free(comm_sums **r);

#endif
