/*
 * The state of a conversion and of one source in it. Internal to the room.
 *
 *   read      source_load():      builder -> sorted runs, names classified, side records on sorters      (a job per
 * source) annotate  annotate_source():  rows in time order get track, class, occurrence, tags; totals, steps   (the
 * same job) assemble  assemble_model():   ranks, threads, lanes, tracks, ... of all sources into one model       (one
 * thread) emit      emit_groups():      per 64 ranks one stream in time order into the store                   (a job
 * per group) side      side_write():       links, collectives, counters                                           (one
 * thread)
 */
#ifndef MAREY_CONVERT_SOURCE_H
#define MAREY_CONVERT_SOURCE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/hash.h"
#include "base/thread.h"
#include "convert/convert.h"
#include "convert/lost.h"
#include "convert/run.h"
#include "convert/sorter.h"
#include "convert/stretches.h"
#include "diagnose/align_run.h"
#include "graph/model.h"
#include "store/store.h"
#include "trace/model.h"
#include "trace/rules.h"

enum {
    MAX_TRACKS_PER_LANE = 4096,
    MAX_SOURCES = 1 << 20,
    MAX_STEPS = 1 << 20,
    MAX_FLOW_MARKS = 4 << 20 /* events that a flow may bind to, per source */
};
#define YEAR_NS        (INT64_C(31557600) * 1000000000)
#define DAY_NS         (INT64_C(86400) * 1000000000)
#define LONGEST_RUN_NS (INT64_C(1) << 62)

/* A tag names what hangs on an event: type (2 bits), role (2), source (20), number (40). */
enum { TAG_LAUNCH = 0, TAG_COLLECTIVE = 1, TAG_FLOW = 2, TAG_SEVERAL = 3 };
enum { TAG_NUMBER_BITS = 40, TAG_SOURCE_BITS = 20 };
static inline uint64_t tag_make(unsigned type, unsigned role, uint32_t source, uint64_t number)
{
    return (uint64_t)type << 62 | (uint64_t)role << 60 | (uint64_t)source << TAG_NUMBER_BITS | number;
}
static inline uint64_t tag_number(uint64_t tag)
{
    return tag & ((UINT64_C(1) << TAG_NUMBER_BITS) - 1);
}

static inline uint64_t flow_key(const trace_flow_in *f)
{
    return hash_u64(f->id ^ hash_u64(f->kind + UINT64_C(0x9e3779b97f4a7c15)));
}
/* 60 bits of the flow's key, then: binds to the enclosing slice (8), forward-backward (4), phase (2 bits). */
static inline uint64_t flow_value(const trace_flow_in *f, const char *kind)
{
    return flow_key(f) << 4 | (f->binds_enclosing ? 8U : 0U) | (strcmp(kind, "fwdbwd") == 0 ? 4U : 0U) | f->phase;
}

enum {
    NAME_ON_DEVICE = 1, /* of an annotation: projected on the device */
    NAME_PLAIN = 2      /* what the host does without saying anything of steps or phases */
};

/* What the annotation has to know of a name, looked at for every event. */
typedef struct source_name {
    uint32_t global; /* into model.names */
    uint8_t kind, klass, mark;
    uint8_t traits; /* NAME_... */
} source_name;

typedef struct totals {
    uint64_t n_events;
    int64_t busy_ns, sum_ns, first_ns, last_ns;
} totals;

typedef struct source_lane {
    uint32_t thread; /* source's; NO_ID for derived lanes */
    uint32_t rank;   /* source's */
    trace_kind kind;
    int64_t *ends_ns; /* [1 + n_tracks] INT64_MAX, then the end of the last event of each track */
    uint32_t *tracks; /* [n_tracks] source's track ids */
    size_t n_tracks, cap_ends, cap_tracks;
    size_t top; /* tracks down to the deepest with an event that still runs; 0: nothing runs */
    uint64_t n_overlaps;
    bool shares; /* its thread has other lanes; where it has none, the lane's totals are the thread's */
    totals sum;
    uint32_t global;
} source_lane;

typedef struct source_track {
    uint32_t lane, depth;
    uint32_t global; /* into model.tracks */
    uint32_t row;    /* of its group; NO_ID until its first event is put */
    int16_t rank_row;
} source_track;

typedef struct source_thread {
    const char *pid, *tid, *name, *process_name, *labels; /* model's arena */
    uint32_t pid_id;
    int64_t sort_index;
    bool is_device;             /* runs kernels or copies */
    bool has_steps;             /* the thread that runs the training loop */
    bool is_async;              /* holds asynchronous operations (the readers' tids "async:...") */
    uint32_t lanes[KIND_COUNT]; /* source's lane or NO_ID */
    totals sum;
    uint32_t global;
} source_thread;

typedef struct source_step {
    uint32_t name; /* source's */
    uint32_t rank;
    int64_t index;
    int64_t start_ns, end_ns, device_start_ns, device_end_ns;
    bool has_device;
} source_step;

/* One rank of a source: all of a Kineto file, one process of a plain trace. */
typedef struct source_rank {
    uint32_t pid_id; /* NO_ID: the whole source */
    uint32_t global; /* into model.ranks */
    uint64_t n_events, n_samples;
    bool has_device, has_cpu;
    uint32_t steps_lane, phases_lane; /* source's lane or NO_ID */
    trace_place_in place;             /* as the reader states it; its string ids are not valid any more */
} source_rank;

typedef struct source_collective {
    trace_collective_in in;
    int64_t seq;
    uint32_t what; /* of the conversion's dictionary */
    uint32_t dtype;
    uint32_t group;
    uint8_t klass; /* what the input says of a kernel that could be either (SendRecv); CLASS_COUNT: nothing */
    bool receives; /* it says so itself: a kernel's name may serve both ways */
    bool on_device;
    uint8_t event_klass;      /* of its event */
    uint32_t rank, thread;    /* source's */
    int64_t start_ns, end_ns; /* the input's own clock */
} source_collective;

/*
 * What stays of a collective once its source is annotated: millions of them wait until all sources are read. Sizes and
 * words are few and shared (conversion.shapes); times are given up once the clocks are known.
 */
typedef struct kept_collective {
    uint64_t row; /* UINT64_MAX until known */
    int64_t seq;
    uint32_t shape;
    uint8_t op; /* comm_op */
    bool on_device;
} kept_collective;

typedef struct collective_time {
    int64_t start_ns, end_ns; /* the input's own clock */
    uint32_t rank, thread;    /* source's */
} collective_time;

typedef struct collective_shape {
    int64_t in_elements, out_elements, group_size;
    uint32_t group, what, dtype;
    uint32_t unused; /* 0: shapes are compared as bytes */
} collective_shape;

typedef struct source_counter {
    uint32_t pid_id, thread;
    const char *name;
    uint64_t n;
    double min, max;
} source_counter;

typedef struct source_island { /* a stretch of starts without a gap of a day */
    int64_t first_ns, last_ns, end_ns;
    uint64_t n;
    uint64_t order;   /* the least order number */
    int64_t order_ns; /* start of that event */
} source_island;

/* Metrics of a source, in pieces; see convert/metrics.c. */
typedef struct metric_piece metric_piece;
typedef struct metric_log {
    store_metric *rows; /* of the piece at hand */
    size_t n_rows, cap_rows;
    metric_piece *pieces;
    size_t n_pieces, cap_pieces;
    uint32_t *words; /* builder's strings, then the conversion's */
    size_t n_words, cap_words;
    map64 word_keys;
} metric_log;

/* Rows of a launch and of the first piece of work that it started; UINT64_MAX until known. */
typedef struct launch_row {
    uint64_t from, to;
} launch_row;

enum { ROLE_LAUNCH = 0, ROLE_WORK = 1 };

typedef struct conversion conversion;

typedef struct source {
    conversion *c;
    uint32_t index;
    const convert_source *in;
    diag diag;
    uint32_t file; /* in diag */
    marey_status status;
    bool may_fail;    /* found in a folder: a file that can't be used is passed over */
    bool passed_over; /* no trace */
    uint32_t input;   /* into model.inputs */
    const char *format;
    trace_facts facts;              /* groups_json owned; string ids are not valid any more: */
    const char *host, *device_name; /* model's arena */
    uint64_t n_events;
    int64_t shift_ns;  /* base_epoch_ns, as far as it can be added */
    align_clock clock; /* moves shifted times; has an effect only where is_moved */
    align_method clock_method;
    bool is_moved;
    source_island *islands;
    size_t n_islands, cap_islands;
    source_island strays; /* events that the reader says belong elsewhere: no part of any island */
    int64_t bulk_first_ns, bulk_last_ns, bulk_end_ns; /* the input's own clock */
    int64_t view_first_ns, view_end_ns;               /* a part of it, where nearly all events lie; or all of it */
    stretches sampled;                                /* times of counters */
    source_name *names;
    source_thread *threads;
    source_lane *lanes;
    source_track *tracks;
    source_step *steps;
    source_rank *ranks;
    source_collective *collectives; /* while it is annotated */
    kept_collective *kept;          /* [n_kept], in the same order */
    collective_time *times;         /* [n_kept], until the clocks are known */
    source_counter *counters;
    size_t n_names, n_threads, n_lanes, n_tracks, n_steps, n_ranks, n_collectives, n_kept, n_counters;
    size_t cap_lanes, cap_tracks, cap_steps, cap_collectives, cap_counters;
    bool has_backward, has_cpu_steps, has_launches, has_points;
    int64_t last_point_ns; /* start of the last event without length */
    run_set events, step_rows, phase_rows;
    const run_merge *rows;                    /* while it is annotated: the row at hand is at its top; NULL */
    uint32_t phase_names[MARK_OPTIMIZER + 1]; /* source's names of the derived phases */
    sorter samples;                           /* k0 counter, k1 time, v value */
    sorter flows;                             /* k0 thread, k1 time, v flow_value() */
    sorter context_flows;                     /* k0 time, k1 thread and kind of point, v flow; see contexts.c */
    sorter binds;                             /* k0 and k1 as flow_moment(), v place in flow_rows */
    uint64_t *flow_rows;
    size_t n_flow_rows;
    metric_log metrics;
    uint64_t *several; /* lists of tags, each ended by 0 */
    size_t n_several, cap_several;
    launch_row *launch_rows; /* [n_launches + 1], booked; NULL: no room */
    uint64_t n_launches;     /* numbered from 1 */
    sorter launches;         /* what is not in launch_rows: k0 launch, k1 role, v row */
    pthread_mutex_t lock;    /* of `launches`, where several groups read this source */
    _Atomic uint32_t groups_left;
    bool spans_groups;
    marey_status side_status; /* of pushing to `launches` */
    lost_records lost;
} source;

/* The computational graph that goes into the same file; see convert/graph.c. */
typedef struct graph_side {
    graph graph;
    diag diag; /* its losses */
    bool is_read;
    uint32_t input; /* of the first, into model.inputs */
} graph_side;

struct conversion {
    const convert_options *options;
    graph_side graph;
    scratch scratch;
    trace_rules *rules;
    trace_model model;
    pthread_mutex_t lock; /* of the model's arena, the dictionaries and `diag` while jobs run */
    intern name_keys;     /* source, NUL, text -> model.names */
    strbuf key;
    uint8_t *marks; /* [model.n_names] trace_mark */
    size_t cap_marks;
    intern source_keys;   /* -> model.sources */
    trace_scopes *scopes; /* [model.n_sources] of names from each */
    size_t cap_scopes;
    trace_scopes no_scopes; /* of names from nowhere */
    intern strings;         /* words of the collectives table */
    intern group_keys;
    intern shapes; /* collective_shape as bytes */
    source *sources;
    size_t n_sources;
    diag *diag;
    store_writer *writer;
    uint32_t phase_names[MARK_OPTIMIZER + 1]; /* into model.names */
    _Atomic uint64_t bytes_done, events_read, events_put;
    uint64_t bytes_total, events_total;
    int64_t start_ns; /* of the run on the inputs' clocks, aligned */
    comm_event *comm; /* of all sources, while clocks and places are found out */
    size_t n_comm;
    uint32_t *comm_rank; /* rank number in `comm` -> model.ranks; NO_ID */
    size_t n_comm_ranks;
    int64_t began_ns, stage_began_ns;
    _Atomic int64_t reported_ns;
    unsigned jobs;
    pool *workers; /* n_workers beside the main thread; NULL: none */
    unsigned n_workers;
    atomic_bool stop; /* a job failed: the others need not go on */
};

/** As convert_sources(); `may_fail` says which sources may be passed over, NULL: none. */
marey_status conversion_run(const convert_source *sources, const bool *may_fail, size_t n, const char *name,
                            const convert_options *options, convert_summary *summary, diag *d);

/** Dictionaries of the conversion. Thread: with `lock` held. */
uint32_t conversion_name(conversion *c, const char *text, size_t n_text, uint32_t source_id);
uint32_t conversion_source(conversion *c, const char *text);

void source_init(source *s, conversion *c, uint32_t index, const convert_source *in);
void source_deinit(source *s);
/** What reading and annotating need, given back. */
void source_seal(source *s);
marey_status source_load(source *s);
/** A flow that may carry the context of a launch. */
marey_status contexts_take(source *s, const trace_flow_in *flow, const char *kind, uint64_t key);
marey_status annotate_source(source *s);
/** A point of a flow that has this flow_value(), among all points of its flow: k0 the flow, k1 time and phase. */
sort_record flow_moment(const source *s, int64_t ts_ns, uint64_t value);

/** Fit the hosts' clocks on the ends of collectives. Errors: CANCELLED. */
marey_status clocks_align(conversion *c);
/** What was found into model.ranks; places that nobody states are inferred. */
void clocks_apply(conversion *c);
void clocks_release(conversion *c);
/** Places as the user's file states them. Errors: IO, FORMAT with the line. */
marey_status topology_read(conversion *c, const char *path);
/** The input's time on the run's clock, before the run's start is taken off; saturating. */
int64_t source_time(const source *s, int64_t t_ns);

/** Order of ranks, lanes, tracks; extent of the run. Errors: FORMAT when no source holds an event. */
marey_status assemble_model(conversion *c);
/** Times of the model, once the start of the run is known. */
int64_t model_time(const source *s, int64_t t_ns);
/** Does a time on the common clock lie in no run? Then it is moved to where one begins or ends. */
static inline bool is_outside_run(const conversion *c, int64_t common_ns)
{
    return (uint64_t)common_ns - (uint64_t)c->start_ns > (uint64_t)LONGEST_RUN_NS;
}
/** Does a sample of the source's clock lie outside of the run? Then it is moved to where that begins or ends. */
static inline bool is_sample_outside(const source *s, int64_t t_ns)
{
    const conversion *c = s->c;
    int64_t common_ns = source_time(s, t_ns);
    return common_ns < c->start_ns || (uint64_t)common_ns - (uint64_t)c->start_ns > (uint64_t)c->model.duration_ns;
}
/** The same for a time on the common clock. */
static inline int64_t model_since(const conversion *c, int64_t common_ns)
{
    if (common_ns <= c->start_ns) {
        return 0;
    }
    uint64_t since = (uint64_t)common_ns - (uint64_t)c->start_ns;
    return since > (uint64_t)LONGEST_RUN_NS ? LONGEST_RUN_NS : (int64_t)since;
}

marey_status emit_groups(conversion *c);
/** As store_options.on_row wants it; `ctx` is the conversion. */
void emit_on_row(void *ctx, uint64_t tag, uint64_t row);

marey_status side_write(conversion *c);
/** The row of a launch, or of work that it started, is known. Thread: that of the event's group. */
void side_take_launch(source *s, uint64_t number, unsigned role, uint64_t row);
void side_release_launches(source *s);

/* graph.c */
/** Reads the graphs that the options name. */
marey_status graph_side_load(conversion *c);
void graph_side_add_input(conversion *c);
marey_status graph_side_write(conversion *c);
void graph_side_deinit(conversion *c);

marey_status collectives_write(conversion *c);
/** Losses of all sources into the model; counts them. */
uint64_t side_losses(conversion *c);

/** The collectives of an annotated source in their short form. Takes the conversion's lock. */
void collectives_keep(source *s);
collective_shape collective_shape_of(const conversion *c, const kept_collective *k);

/** Process groups of a source's facts and collectives into model.groups. */
void groups_collect(source *s);
/** Group of this name with these ranks ("[0, 1]"), made when new; ids into model.groups. */
uint32_t groups_put(conversion *c, const char *name, const char *description, const char *ranks);

/** Take what the builder has gathered so far. */
marey_status metrics_take(source *s, trace_side *side);
/** No more of them: their strings become the conversion's. Thread: with the conversion's `lock` held. */
marey_status metrics_end(source *s, const trace_builder *b);
/** All of them into the store. */
marey_status metrics_write(conversion *c);
void metrics_release(source *s);

/** Tell the caller how far it is, at most ten times a second. @return false when the conversion is cancelled */
bool conversion_report(conversion *c, const char *stage, uint64_t done, uint64_t total, uint64_t n_events);

#endif
