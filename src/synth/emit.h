/*
 * What one rank's profiler would have recorded: the rank is replayed from the solution and each event goes to a sink,
 * in the times of its host's clock. Both outputs (Kineto JSON and the direct one) are sinks of this, so they hold the
 * same events.
 */
#ifndef MAREY_SYNTH_EMIT_H
#define MAREY_SYNTH_EMIT_H

#include "synth/solve.h"

typedef enum synth_thread {
    TH_MAIN,
    TH_AUTOGRAD,
    TH_COMPUTE,
    TH_COPY,
    TH_TP,
    TH_DP,
    TH_WORLD,
    TH_SEND_NEXT, /* activations to the stage behind */
    TH_RECV_PREV,
    TH_SEND_PREV, /* gradients to the stage before */
    TH_RECV_NEXT,
    TH_SPAN, /* the whole recording */
    TH_TRACES,
    TH_NONE,
    TH_COUNT
} synth_thread;

typedef enum event_kind {
    EV_CPU_OP,
    EV_ANNOTATION,
    EV_RUNTIME,
    EV_KERNEL,
    EV_MEMCPY,
    EV_GPU_ANNOTATION,
    EV_SPAN,
    EV_INSTANT,
    EV_KINDS
} event_kind;

typedef struct coll_info {
    synth_coll what;
    plan_group_kind group;
    int64_t in_elements, out_elements;
    const char *dtype; /* "Half", "Float" */
    int64_t seq;       /* among the collectives of that group, or the messages of that direction */
    int peer;          /* the other rank of a send or receive; -1 */
} coll_info;

typedef struct synth_event {
    event_kind kind;
    synth_thread thread;
    synth_name name;
    int64_t index;            /* follows the name; -1: nothing does */
    int64_t start_ns, end_ns; /* the host's clock */
    uint64_t correlation;     /* 0: none */
    uint64_t external;        /* 0: none */
    int64_t sequence;         /* autograd's; -1 */
    const char *shapes;       /* or NULL */
    const coll_info *coll;    /* or NULL */
    int64_t bytes;            /* of a copy */
} synth_event;

typedef struct synth_flow {
    synth_thread thread;
    int64_t ts_ns; /* the host's clock */
    uint64_t id;
    bool ends;
    bool launch; /* "ac2g"; else "fwdbwd" */
} synth_flow;

typedef struct synth_sink {
    void *ctx;
    marey_status (*event)(void *ctx, const synth_event *e);
    void (*flow)(void *ctx, const synth_flow *f); /* or NULL */
    cancel_flag *cancel;
} synth_sink;

/** @return what the sink returned first that was not OK; CANCELLED */
marey_status emit_rank(const solution *s, int rank, const synth_sink *sink);

/* The rank's threads as the profiler writes them. */
typedef struct thread_text {
    char pid[24], tid[24];
    bool quoted; /* both are strings in JSON */
    char name[48];
    int sort_index;
    bool is_device;
} thread_text;
void emit_thread(const plan *pl, int rank, synth_thread thread, thread_text *out);
/** Has the rank such a thread at all? (No tensor-parallel stream without tensor parallelism, ...) */
bool emit_has_thread(const plan *pl, int rank, synth_thread thread);
const char *emit_category(event_kind kind); /* Kineto's "cat"; NULL: none */

#endif
