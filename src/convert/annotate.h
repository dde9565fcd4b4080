/*
 * Annotation: what each event of a source is, found in one pass in order of time. Internal to the room.
 */
#ifndef MAREY_CONVERT_ANNOTATE_H
#define MAREY_CONVERT_ANNOTATE_H

#include "convert/source.h"

/* What work launched at some place belongs to: a phase (trace_mark), and whether an interval said so or it is the rule
 * for all that nothing is said of. */
enum { CONTEXT_PHASE = 7, CONTEXT_SAID = 8 };

typedef struct context_entry {
    int64_t end_ns;
    uint8_t context;
} context_entry;

/* An open event that a flow may bind to. */
typedef struct mark_entry {
    int64_t end_ns;
    uint32_t mark;
} mark_entry;

/* The flows' ends on one thread, in order of time. */
typedef struct flow_cursor {
    int64_t next_ns;           /* an event that ends before it has nothing to do with flows; INT64_MAX: no more come */
    const sort_record *points; /* of the sorter, or the buffer */
    sort_record *buffer;
    size_t i, n;
    uint64_t at, left; /* what is still in the scratch file */
} flow_cursor;

typedef struct thread_state {
    flow_cursor flows;
    uint32_t rank;
    bool is_async;
    context_entry *stack;
    mark_entry *marks;
    size_t n_stack, cap_stack, n_marks, cap_marks;
    uint32_t same_number; /* the next thread of this rank with the same tid, in a ring; where flows carry contexts */
} thread_state;

/* Correlations by a table of their own: one is looked up for every launch and every kernel. */
typedef struct launch_entry {
    uint64_t correlation;
    uint64_t value; /* see launch_value() */
} launch_entry;

typedef struct launch_map {
    launch_entry *entries; /* [n] as they came, so that neighbours in time are neighbours here */
    uint32_t *places;      /* entry + 1 where its correlation leads to, or behind; 0: free */
    size_t n, cap;
    size_t n_places; /* 0 or a power of two */
} launch_map;

enum { P2P_RING = 8 };

typedef struct phase_run {
    uint8_t klass; /* CLASS_COUNT: none is open */
    uint32_t step; /* + 1 */
    uint32_t ordinal;
    int64_t start_ns, end_ns;
    int64_t last_start_ns; /* of its latest kernel */
    int64_t active_end_ns; /* collectives that it waits for included */
    int64_t busy_ns;       /* its kernels, each moment once */
    bool fed;              /* data came in just before it */
} phase_run;

typedef struct rank_state {
    uint32_t step; /* + 1 of the step that runs on the host; 0: none */
    int64_t step_end_ns;
    uint32_t device_step; /* the same by annotations on the device */
    int64_t device_step_end_ns;
    int64_t steps_until_ns; /* whichever of both ends first; INT64_MAX: none runs */
    uint32_t n_steps;
    launch_map launches, old_launches;
    map64 counts; /* name -> step + 1, count; where the source has several ranks */
    map64 seqs;   /* collective -> how many there were */
    phase_run run;
    uint32_t ordinals[CLASS_COUNT];
    uint32_t ordinals_step;
    int64_t p2p_ns[P2P_RING]; /* when data last came in or went out */
    bool p2p_in[P2P_RING];
    unsigned n_p2p;
    int64_t passed_busy_ns[CLASS_COUNT]; /* busy_ns of the last run of a class that was closed */
    int64_t wait_start_ns, wait_end_ns;  /* the latest collectives that follow each other without a gap */
} rank_state;

/* Rows of a derived lane on their way into a set. */
typedef struct derived_rows {
    run_row *rows;
    size_t n, cap;
} derived_rows;

/* Contexts on their way along flows; see contexts.c. */
typedef struct flow_contexts {
    sort_record next; /* of the source's context_flows */
    bool has_next;
    sort_record *due; /* those at due_ns, the moment that is being annotated */
    size_t n_due, cap_due;
    int64_t due_ns;
    map64 noted, old_noted; /* flow -> context and step at its start */
} flow_contexts;

/* How often a name was there in a step (+ 1). */
typedef struct name_count {
    uint32_t step, n;
} name_count;

typedef struct annotation {
    source *s;
    thread_state *threads;
    rank_state *ranks;
    name_count *counts; /* by name, where the source is one rank */
    uint64_t n_launches, n_orphans;
    uint64_t launch_seed;   /* odd; not to be foreseen by who writes an input */
    uint64_t *order_filter; /* bits: an event of this order number may have collective arguments */
    size_t n_stated;        /* collectives of the input; those made here follow */
    bool may_be_odd;        /* more than its name says may be known of an event of a NAME_PLAIN name */
    derived_rows phases;
    flow_contexts contexts;
    uint64_t n_unmatched_flows, n_dropped_marks, n_dropped_events, n_overflows;
} annotation;

/* One event on its way through the pass. */
typedef struct annotated {
    run_row *row;
    const run_cursor *cursor; /* of the row */
    source_name *name;
    uint32_t thread, rank;
    int64_t start_ns, end_ns;
    trace_kind kind;
    uint32_t step; /* + 1 */
    uint8_t phase; /* trace_mark, MARK_NONE: unknown */
    uint64_t tag;
} annotated;

enum { ORDER_FILTER_BITS = 1 << 18 };

/* May an event of this order number have collective arguments? */
static inline bool order_may_match(const annotation *a, uint64_t order)
{
    uint64_t bit = order % ORDER_FILTER_BITS;
    return a->order_filter[bit / 64] >> (bit % 64) & 1;
}

static inline bool collectives_may_meet(const annotation *a, const annotated *e)
{
    return e->kind == KIND_COMMUNICATION || (a->n_stated > 0 && order_may_match(a, run_cursor_order(e->cursor)));
}

/* lanes.c */
/** @param thread  its totals gather what its lanes take; NO_ID: none */
uint32_t lane_make(source *s, uint32_t rank, uint32_t thread, trace_kind kind);
/* The rest of lane_place(). */
uint32_t lane_place_apart(source *s, uint32_t lane, int64_t start_ns, int64_t end_ns);
/* What lies in the totals already leaves their extent and busy time as they are; times come in ascending order. */
static inline void totals_widen(totals *t, int64_t start_ns, int64_t end_ns)
{
    int64_t from = start_ns > t->last_ns ? start_ns : t->last_ns;
    uint64_t more_ns = end_ns > from ? (uint64_t)end_ns - (uint64_t)from : 0;
    t->busy_ns = (int64_t)((uint64_t)t->busy_ns + more_ns);
    t->last_ns = end_ns > t->last_ns ? end_ns : t->last_ns;
}
/** Track for an interval that starts no earlier than those before, where it lies inside the innermost one that still
 * runs, if any does, and that needs no new track. @return NO_ID: it is for lane_place(), nothing was changed */
static inline uint32_t lane_place_inside(source *s, source_lane *l, int64_t start_ns, int64_t end_ns)
{
    int64_t *ends_ns = l->ends_ns;
    size_t top = l->top;
    if (start_ns == INT64_MAX) {
        return NO_ID;
    }
    while (ends_ns[top] <= start_ns) { /* ends_ns[0] is later */
        top--;
    }
    int64_t sum_ns = 0;
    if (end_ns > ends_ns[top] || top == l->n_tracks ||
        __builtin_add_overflow(l->sum.sum_ns, end_ns - start_ns, &sum_ns)) {
        return NO_ID;
    }
    l->sum.sum_ns = sum_ns;
    l->sum.n_events++;
    ends_ns[top + 1] = end_ns;
    l->top = top + 1;
    if (top == 0) {
        totals_widen(&l->sum, start_ns, end_ns);
        if (l->shares) {
            totals_widen(&s->threads[l->thread].sum, start_ns, end_ns);
        }
    }
    return l->tracks[top];
}
/** Track for an interval that starts no earlier than those before. @return NO_ID when the lane is full */
static inline uint32_t lane_place(source *s, uint32_t lane, int64_t start_ns, int64_t end_ns)
{
    uint32_t track = lane_place_inside(s, &s->lanes[lane], start_ns, end_ns);
    return track != NO_ID ? track : lane_place_apart(s, lane, start_ns, end_ns);
}
/** The same for a row that has a length, where its lane is there. */
static inline uint32_t lane_find_inside(source *s, const run_row *row)
{
    const uint32_t lane = s->threads[row->thread].lanes[s->names[row->name].kind];
    return lane == NO_ID ? NO_ID : lane_place_inside(s, &s->lanes[lane], row->start_ns, run_row_end(row));
}
/** Once all events of threads are placed: what threads and ranks hold. */
void lanes_sum_up(source *s);

/* phases.c */
void context_enter(annotation *a, const annotated *e);
void context_push(annotation *a, uint32_t thread, int64_t start_ns, int64_t end_ns, uint8_t context);
uint8_t context_here(const annotation *a, uint32_t thread, uint32_t rank, int64_t now_ns);
void phase_of_kernel(annotation *a, annotated *e, uint8_t launched);
marey_status phase_track(annotation *a, const annotated *e);
marey_status phase_close(annotation *a, uint32_t rank, int64_t at_ns);
marey_status derived_push(run_set *set, derived_rows *to, const run_row *row, diag *d);
marey_status derived_flush(run_set *set, derived_rows *to, diag *d);

/* contexts.c */
marey_status contexts_prepare(annotation *a);
/** Before an event that starts at `now_ns` is looked at, where any flow carries contexts. */
marey_status contexts_advance(annotation *a, int64_t now_ns);
/** The context of a device's event: of its launch, or of the operator that a flow leads back to. */
uint8_t contexts_of_kernel(annotation *a, annotated *e, uint8_t launched);
/** An event of the host that takes work out of a queue runs in the context of where it was put in. */
void contexts_leave_queue(annotation *a, const annotated *e);
void contexts_release(annotation *a);

/* hooks.c */
marey_status flows_prepare(annotation *a);
/** Only where the event's thread has a flow's end by the event's own end (next_ns). */
marey_status flows_meet(annotation *a, annotated *e);
marey_status flows_end(annotation *a);
void collectives_prepare(annotation *a);
/** Only for an event that collectives_may_meet(). */
void collectives_meet(annotation *a, annotated *e);
/** A launch, an event of CLASS_RUNTIME with a correlation. @return its tag */
uint64_t launch_note(annotation *a, uint32_t thread, uint32_t rank, const run_row *row, uint32_t step);
/** A device's event with a correlation. @return the context of its launch, 0 where there is none */
uint8_t launch_meet(annotation *a, annotated *e);
/** Once all are met: room for their rows. */
void launches_end(annotation *a);
void launches_release(rank_state *k);
void tag_add(source *s, uint64_t *tag, uint64_t more);

#endif
