/*
 * The model of a run: everything about it but its events. Events live in columns (store/), in blocks of rank group x
 * time.
 *
 *   run -> ranks -> lanes -> tracks -> events
 *
 * A *rank* is one training process with its device (or, in a plain Chrome trace, one process). A *thread* is what the
 * input calls one: a pair (pid, tid). A *lane* is a thread or stream as far as it does one kind of work; a stream that
 * runs kernels, collectives and copies has three lanes. A *track* is one nesting depth of a lane: the events of one
 * track never overlap.
 *
 * Times: int64 ns since the run's start (`start_epoch_ns`), half-open. Ids are indices into the arrays here; NO_ID
 * where there is none. Strings are UTF-8, NUL-terminated, owned by the model's arena, never NULL. Owner: the caller of
 * trace_model_init. Thread: built by one thread; read-only after that, then any.
 */
#ifndef MAREY_TRACE_MODEL_H
#define MAREY_TRACE_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"
#include "base/hash.h"
#include "base/mem.h"

#define NO_ID UINT32_MAX

/* What an interval is painted by. Order is fixed: it is stored in files and indexes theme.data (draw/colour.h). */
#define TRACE_CLASS_LIST(X)                                                                                            \
    X(FORWARD, "forward")                                                                                              \
    X(BACKWARD, "backward")                                                                                            \
    X(RECOMPUTE, "recompute")                                                                                          \
    X(OPTIMIZER, "optimizer")                                                                                          \
    X(MATMUL, "matmul")   /* matrix products, attention, convolution of unknown phase */                               \
    X(COMPUTE, "compute") /* other kernels of unknown phase */                                                         \
    X(COLLECTIVE, "collective")                                                                                        \
    X(SEND, "send")                                                                                                    \
    X(RECEIVE, "receive")                                                                                              \
    X(COPY, "copy")                                                                                                    \
    X(CPU_OP, "cpu op")                                                                                                \
    X(RUNTIME, "runtime")                                                                                              \
    X(ANNOTATION, "annotation")                                                                                        \
    X(OTHER, "other")

typedef enum trace_class {
#define X(name, text) CLASS_##name,
    TRACE_CLASS_LIST(X)
#undef X
        CLASS_COUNT
} trace_class;

const char *trace_class_name(trace_class c);

#define TRACE_KIND_LIST(X)                                                                                             \
    X(COMPUTE, "compute")                                                                                              \
    X(COMMUNICATION, "communication")                                                                                  \
    X(COPY, "copy")                                                                                                    \
    X(CPU, "cpu")                                                                                                      \
    X(ANNOTATION, "annotation")                                                                                        \
    X(ASYNC, "async")                                                                                                  \
    X(COUNTER, "counter")                                                                                              \
    X(OTHER, "other")                                                                                                  \
    X(STEP, "step")   /* derived: one interval per rank and step */                                                    \
    X(PHASE, "phase") /* derived: runs of one class (forward of a micro-batch, ...) on the rank's device */

typedef enum trace_kind {
#define X(name, text) KIND_##name,
    TRACE_KIND_LIST(X)
#undef X
        KIND_COUNT
} trace_kind;

const char *trace_kind_name(trace_kind k);
static inline bool kind_is_device(trace_kind k)
{
    return k == KIND_COMPUTE || k == KIND_COMMUNICATION || k == KIND_COPY;
}
static inline bool kind_is_derived(trace_kind k)
{
    return k == KIND_STEP || k == KIND_PHASE;
}

/* Bits of an event's `flags` column. The low nibble is the severity, 0 (none) to 15. */
enum {
    EVENT_SEVERITY = 0x0F,
    EVENT_INSTANT = 0x10,    /* a point in time */
    EVENT_UNFINISHED = 0x20, /* no end in the input; its end is the end of the recording */
    EVENT_REPAIRED = 0x40    /* a time of it was repaired */
};
enum { SEVERITY_LOST = 4, SEVERITY_ERROR = 8 }; /* an unfinished or repaired event; an error event */

/* What a name is: from the rule table (assets/categories.rules). */
typedef struct trace_category {
    const char *name;  /* "matmul", "allreduce", ... */
    trace_class klass; /* when the phase is unknown */
    trace_kind kind;   /* of the lane its events go to */
} trace_category;

typedef struct trace_name {
    const char *text;
    uint32_t category; /* into categories */
    uint32_t source;   /* the input's own category, into `sources` (e.g. "kernel"); NO_ID: none */
} trace_name;

enum { INFERRED_RANK = 1, INFERRED_STAGE = 2, INFERRED_DP = 4, INFERRED_TP = 8, INFERRED_EP = 16, INFERRED_HOST = 32 };

typedef struct trace_rank {
    int64_t rank; /* global rank as stated or inferred; unique */
    const char *host;
    const char *device;        /* "NVIDIA A100-SXM4-80GB" or "" */
    const char *label;         /* what the row shows: "rank 16", or the process's name in a plain trace */
    int32_t stage, dp, tp, ep; /* -1: unknown */
    uint32_t inferred;         /* INFERRED_* of what was not stated */
    uint32_t first_lane, n_lanes;
    uint32_t group;          /* into groups of the store: 64 ranks each */
    /* aligned = raw + offset + round(drift * (raw - model.clock_pivot_ns)), both in epoch ns. The map is monotonic; raw
     * times come back from it exactly without drift, to 1 ns with it. */
    int64_t clock_offset_ns; /* 0 while nothing is aligned */
    double clock_drift_ppm;
    int64_t clock_residual_ns;
    uint64_t clock_matched;
    const char *clock_method; /* "none" */
} trace_rank;

typedef struct trace_thread {
    uint32_t rank;                   /* index into ranks */
    const char *pid, *tid;           /* as the input wrote them */
    const char *process_name, *name; /* from metadata; "" */
    int64_t sort_index;
    uint64_t n_events; /* intervals and instants */
    int64_t busy_ns, sum_ns, first_ns, last_ns;
} trace_thread;

typedef struct trace_lane {
    uint32_t rank;
    uint32_t thread; /* NO_ID for derived lanes */
    trace_kind kind;
    const char *name;               /* "stream 7", "thread 1234 (python)", "steps", ... */
    uint32_t first_track, n_tracks; /* n_tracks = depth */
    uint64_t n_events;
    int64_t busy_ns, sum_ns, first_ns, last_ns;
} trace_lane;

typedef struct trace_track {
    uint32_t lane;
    uint32_t depth;
    uint32_t row; /* row in the r0 pyramid (lod/lod.h): tracks in order of discovery inside their group */
} trace_track;

typedef struct trace_step {
    uint32_t rank;
    int64_t index; /* k of ProfilerStep#k */
    const char *name;
    int64_t start_ns, end_ns;               /* on the CPU */
    int64_t device_start_ns, device_end_ns; /* of the kernels launched inside; equal when unknown */
} trace_step;

typedef struct trace_group {
    const char *name; /* process group name */
    const char *description;
    int64_t *ranks; /* global ranks, ascending; arena */
    uint32_t n_ranks;
} trace_group;

typedef struct trace_counter {
    const char *name; /* "name/series" */
    uint32_t rank;
    uint32_t thread;
    uint64_t first_sample, n_samples; /* into the store's counter columns */
    double min, max;
} trace_counter;

typedef struct trace_input {
    const char *path;
    const char *format; /* "kineto", "chrome" */
    uint64_t bytes;     /* as read, before inflating */
    uint64_t n_events;
    uint32_t rank; /* NO_ID when it holds several */
} trace_input;

typedef struct trace_loss {
    marey_loss code;
    uint64_t count;
    uint32_t input; /* into inputs; NO_ID */
    uint64_t first_offset;
    const char *detail;
} trace_loss;

typedef struct trace_model {
    arena mem;
    const char *name;       /* of the run: from the folder or file */
    int64_t start_epoch_ns; /* input time of the run's start */
    int64_t duration_ns;
    int64_t clock_pivot_ns; /* input time at which the ranks' clock offsets hold; see trace_rank.clock_offset_ns */
    int64_t view_start_ns, view_end_ns; /* where the bulk of the events lies: what a first picture shows. Equal to the whole
                                           run unless some events lie years away from the others */
    uint64_t n_events; /* without derived ones */
    uint64_t n_links, n_collectives, n_samples, n_metrics;
    trace_rank *ranks;
    trace_thread *threads;
    trace_lane *lanes;
    trace_track *tracks;
    trace_name *names;
    trace_category *categories;
    const char **sources;
    trace_step *steps;
    trace_group *groups;
    trace_counter *counters;
    trace_input *inputs;
    trace_loss *losses;
    size_t n_ranks, n_threads, n_lanes, n_tracks, n_names, n_categories, n_sources, n_steps, n_groups, n_counters,
        n_inputs, n_losses;
    size_t cap_ranks, cap_threads, cap_lanes, cap_tracks, cap_names, cap_categories, cap_sources, cap_steps, cap_groups,
        cap_counters, cap_inputs, cap_losses;
} trace_model;

void trace_model_init(trace_model *m);
void trace_model_deinit(trace_model *m);
/** @return NULL when every id is in range, lanes and tracks are contiguous and times ordered; else a sentence */
const char *trace_model_check(const trace_model *m);

#endif
