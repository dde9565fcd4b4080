/*
 * Communication, matched across ranks: which events are members of one collective, and which send belongs to which
 * receive.
 *
 * A collective is known by (communicator, operation, order number); where the input names no communicator, the
 * caller's peers (the pipeline stage) stand in for it. Where the ranks' counts differ because no number
 * was stated and a recording began late or lost some, the sequences of sizes are matched by their longest common
 * subsequence; what remains is counted as unmatched, never matched by force. Sends and receives name no peer in the
 * file: the peer of a stream is the rank whose transfers end together with its own, by vote; then the k-th transfer of
 * a pair is the k-th of the other side. Source: the design's diagnosis study, section 2.2.
 *
 * Times: int64 ns, all on one axis. Thread: any, on separate data. Owner: the caller.
 */
#ifndef MAREY_DIAGNOSE_COMM_H
#define MAREY_DIAGNOSE_COMM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/model.h"

typedef enum comm_op {
    OP_ALLREDUCE,
    OP_ALLGATHER,
    OP_REDUCESCATTER,
    OP_ALLTOALL,
    OP_BROADCAST,
    OP_REDUCE,
    OP_BARRIER,
    OP_SEND,
    OP_RECEIVE,
    OP_OTHER
} comm_op;

/** The operation that a word ("_allgather_base", "hcom_allReduce_", "recv") means. */
comm_op comm_op_of(const char *what);
const char *comm_op_name(comm_op op);
static inline bool comm_is_p2p(comm_op op)
{
    return op == OP_SEND || op == OP_RECEIVE;
}
/** Bus bandwidth over algorithm bandwidth for n ranks: all-reduce 2(n-1)/n, gather, scatter and all-to-all (n-1)/n, 1
 * otherwise. */
double comm_bus_factor(comm_op op, uint32_t n);

/* One rank's part in one communication, on its device. */
typedef struct comm_event {
    int64_t start_ns, end_ns;
    int64_t bytes;    /* -1: unknown */
    int64_t seq;      /* order number in its communicator; -1: unknown */
    int64_t ready_ns; /* since when nothing but sends and receives ran on its rank; of a collective: start_ns */
    int64_t compute_ns, compute_end_ns; /* what the rank had computed when it began, when it ended: a union, in steps */
    uint32_t rank;                      /* index of the rank */
    uint32_t group;                     /* into model.groups; NO_ID: unknown */
    uint32_t what;                      /* id of the operation's word; equal words, equal ids */
    uint32_t peers; /* where the communicator is unknown: events of other peers (another stage) are never the same */
    uint32_t lane;  /* any number that tells the streams of one rank apart */
    uint32_t step;  /* the caller's */
    uint8_t op;     /* comm_op */
} comm_event;

typedef struct comm_matching {
    size_t *first; /* [n_instances + 1] into the events */
    size_t n_instances;
    size_t n_collective;  /* events [0, n_collective) are collectives, the others sends and receives */
    uint64_t n_unmatched; /* collectives that no other rank took part in, though their communicator has others */
} comm_matching;

/** Sorts the events: members of one collective stand together, by rank; sends and receives behind them, by (group,
 * rank, lane, start). Cost: O(n log n), and for ranks whose counts differ the product of their counts up to 4 M. */
void comm_match(comm_event *events, size_t n, comm_matching *out);
void comm_matching_free(comm_matching *m);

/* One transfer: two events of the same array. */
typedef struct comm_pair {
    uint32_t send, receive; /* indices of the events */
} comm_pair;

/** Pair sends with receives of `events` (as comm_match sorted them). Ends that lie further apart than `tolerance_ns`
 * are never paired. @return the pairs, to be freed, in the order of the sends */
comm_pair *comm_pair_up(const comm_event *events, size_t n_collective, size_t n, int64_t tolerance_ns, size_t *n_pairs);

#endif
