/*
 * What an input says besides intervals: numbers about a rank, a link, a step or an operator; where a process stands in
 * the parallel grid; and which ranks form a group. One table each, filled by readers through the builder, stored as
 * they are.
 *
 * A metric is one number with what it belongs to. Its unit follows from its kind, so that a table holds no mixed units
 * whatever the input wrote (KB, MB, ms, 10 ns ticks). Strings are ids of the builder's strings; NO_ID (UINT32_MAX)
 * where there is none.
 *
 * Owner: the caller (the builder). Thread: one at a time.
 */
#ifndef MAREY_TRACE_METRICS_H
#define MAREY_TRACE_METRICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"

/* Kind, machine name, unit, what it is. The order is fixed: it is stored in files. */
#define TRACE_METRIC_LIST(X)                                                                                           \
    X(FLOPS, "flops", "FLOP", "floating point operations of one operator or of the run: an amount")                    \
    X(FLOPS_RATE, "flops_rate", "FLOP/s", "floating point operations per second: a rate")                              \
    X(FLOPS_UTILIZATION, "flops_utilization", "1", "the rate over the device's peak, 0 to 1")                          \
    X(PEAK_MEMORY, "peak_memory", "B", "largest memory in use")                                                        \
    X(STATIC_MEMORY, "static_memory", "B", "memory held from start to end (parameters)")                               \
    X(MEMORY_CAPACITY, "memory_capacity", "B", "memory of the device")                                                 \
    X(OP_MEMORY, "op_memory", "B", "memory that one operator allocates; time is the allocation's")                     \
    X(LINK_TIME, "link_time", "ns", "time in which the link a -> b carried data")                                      \
    X(LINK_BYTES, "link_bytes", "B", "data over the link a -> b")                                                      \
    X(LINK_BANDWIDTH, "link_bandwidth", "B/s", "rate on the link a -> b, as stated by the input")                      \
    X(LINK_WAIT, "link_wait", "ns", "waiting on the link a -> b")                                                      \
    X(STEP_TIME, "step_time", "ns", "one step from start to end")                                                      \
    X(STEP_COMPUTE, "step_compute", "ns", "computation in the step")                                                   \
    X(STEP_COMMUNICATION, "step_communication", "ns", "all communication in the step")                                 \
    X(STEP_EXPOSED, "step_exposed", "ns", "communication without computation beside it")                               \
    X(STEP_OVERLAPPED, "step_overlapped", "ns", "communication beside computation")                                    \
    X(STEP_FREE, "step_free", "ns", "neither")                                                                         \
    X(STEP_STAGE, "step_stage", "ns", "the step without waiting for other stages")                                     \
    X(STEP_BUBBLE, "step_bubble", "ns", "waiting for other pipeline stages, as stated")                                \
    X(STEP_RECEIVE, "step_receive", "ns", "exposed receiving from other stages")                                       \
    X(STEP_COLLECTIVE, "step_collective", "ns", "exposed collectives (without receiving)")                             \
    X(STEP_PREPARE, "step_prepare", "ns", "from the step's start to its first work on the device")                     \
    X(STEP_FP_BP, "step_fp_bp", "ns", "forward and backward propagation")                                              \
    X(STEP_TAIL, "step_tail", "ns", "from the end of the backward propagation to the end of the step")                 \
    X(STEP_INTERVAL, "step_interval", "ns", "from the end of the step before to the start of this one's forward pass") \
    X(COMM_TIME, "comm_time", "ns", "one collective or transfer from start to end; time is its start")                 \
    X(COMM_TRANSIT, "comm_transit", "ns", "of it: data moves")                                                         \
    X(COMM_WAIT, "comm_wait", "ns", "of it: waiting for others, synchronisation included")                             \
    X(COMM_SYNC, "comm_sync", "ns", "of it: the first synchronisation")                                                \
    X(COMM_IDLE, "comm_idle", "ns", "of it: nothing going on")                                                         \
    X(OP_TIME, "op_time", "ns", "sum of the durations of one operator type")                                           \
    X(OP_COUNT, "op_count", "1", "how often that type ran")                                                            \
    X(CACHE_HIT, "cache_hit", "1", "hit rate of the second-level cache, 0 to 1, of one kernel")                        \
    X(CACHE_VICTIM, "cache_victim", "1", "victim rate of the second-level cache, 0 to 1, of one kernel")

typedef enum trace_metric_kind {
#define X(name, code, unit, text) METRIC_##name,
    TRACE_METRIC_LIST(X)
#undef X
        METRIC_KIND_COUNT
} trace_metric_kind;

const char *trace_metric_name(trace_metric_kind k);
const char *trace_metric_unit(trace_metric_kind k);
const char *trace_metric_text(trace_metric_kind k);

enum {
    METRIC_MEAN = 1,       /* a mean over several steps, written by the profiler */
    METRIC_ESTIMATE = 2,   /* computed by a compiler, not measured */
    METRIC_LOCAL_LINK = 4, /* a and b number devices inside the server or group, not global ranks */
    METRIC_DERIVED = 8     /* computed by the reader from two numbers of the input */
};

/* An event that belongs to another step than those around it, or another mild doubt; below SEVERITY_LOST. */
enum { SEVERITY_STRAY = 2 };

typedef struct trace_metric_in {
    trace_metric_kind kind;
    uint32_t flags;  /* METRIC_* */
    int64_t rank;    /* global rank; -1: the input's own */
    int64_t a, b;    /* ends of a link; -1: none */
    int64_t step;    /* number as the input counts; -1: none */
    int64_t time_ns; /* input time; TIME_MISSING (INT64_MIN): none */
    double value;    /* in the kind's unit; finite */
    uint32_t name;   /* operator, collective; NO_ID */
    uint32_t tag;    /* kind of link ("SDMA"), core, group; NO_ID */
} trace_metric_in;

/* Where one process of the input stands. One rank per process. Numbers are -1 where unknown. */
typedef struct trace_place_in {
    uint32_t process; /* pid_id of the builder's threads; NO_ID: all of them */
    int64_t rank, device;
    int64_t stage, dp, tp, ep, cp;
    uint32_t host;     /* string id; NO_ID */
    uint32_t label;    /* string id; NO_ID */
    uint32_t inferred; /* INFERRED_* of trace/model.h: what the input does not state itself */
} trace_place_in;

typedef struct trace_group_in {
    uint32_t name; /* string id: unique in the input */
    uint32_t kind; /* string id ("tp", "dp", "pp", "default_group"); NO_ID */
    size_t first_rank, n_ranks;
} trace_group_in;

typedef struct trace_side {
    trace_metric_in *metrics;
    trace_place_in *places;
    trace_group_in *groups;
    int64_t *group_ranks; /* of all groups, back to back */
    size_t n_metrics, n_places, n_groups, n_group_ranks;
    size_t cap_metrics, cap_places, cap_groups, cap_group_ranks;
    uint64_t n_refused; /* metrics that were no finite number */
} trace_side;

/** A metric that belongs to nothing yet: rank, links, step -1, no time, no strings. */
trace_metric_in trace_metric(trace_metric_kind kind, double value);
/** A place of which nothing is known but the process. */
trace_place_in trace_place(uint32_t process);

void trace_side_deinit(trace_side *s);
/** NaN and infinity are counted in n_refused and not kept. */
void trace_side_metric(trace_side *s, const trace_metric_in *m);
void trace_side_place(trace_side *s, const trace_place_in *p);
void trace_side_group(trace_side *s, uint32_t name, uint32_t kind, const int64_t *ranks, size_t n_ranks);
/** The place of that process (or the one for all), or NULL. */
const trace_place_in *trace_side_find_place(const trace_side *s, uint32_t process);

#endif
