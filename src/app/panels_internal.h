/* What the files of the panels share. */
#ifndef MAREY_APP_PANELS_INTERNAL_H
#define MAREY_APP_PANELS_INTERNAL_H

#include "app/find_names.h"
#include "app/graph_find.h"
#include "app/over_steps.h"
#include "app/panels.h"
#include "app/peers.h"
#include "app/rank_time.h"
#include "app/session.h"
#include "app/work.h"
#include "diagnose/diagnose.h"

#define NO_FINDING SIZE_MAX

enum { STRIP_STEPS = 8 };

/* How long things took: one window of every rank, or one a step. */
typedef struct strip_job {
    store_file *file;
    rank_window *windows;
    rank_time *ranks;
    uint64_t n_events;
    bool is_step, too_many, failed;
    int64_t steps[STRIP_STEPS]; /* what was wished for: steps, summed up; or a range */
    size_t n_steps;
    int64_t t0_ns, t1_ns;
    int64_t length_ns; /* of the range, or the steps' on the rank where they are longest */
} strip_job;

typedef struct diagnosis_job {
    store_file *file;
    unsigned n_threads;
    collect_progress progress;
    diagnosis g;
    marey_status status;
    char error[256];
} diagnosis_job;

typedef struct peers_job {
    store_file *file;
    store_event_info event;
    peers found;
    bool failed;
} peers_job;

typedef struct over_steps_job {
    store_file *file;
    store_event_info event;
    over_steps found;
    bool failed;
} over_steps_job;

/* Where an operator or module of the graph ran. */
typedef struct run_span {
    uint32_t rank;
    uint8_t klass;
    int64_t start_ns, end_ns;
} run_span;

typedef struct run_spans_job {
    store_file *file;
    const struct graph_join *join;
    uint8_t *nodes;         /* bits: whose events are looked for */
    store_event_info event; /* the longest: whose step, and whose stage */
    run_span *spans;
    size_t n, cap;
    int64_t t0_ns, t1_ns; /* from the first start to the last end */
    bool is_cut;          /* there are more */
} run_spans_job;

typedef struct fly_job {
    store_file *file;
    uint32_t name;
    int64_t from_ns;
    uint64_t row;
} fly_job;

typedef struct graph_find_job {
    const graph *g;
    char text[1024];
    graph_found found;
} graph_find_job;

struct panels {
    session *session;
    ui *ui;
    pool *pool;
    work diagnosing, summing, comparing, stepping, flying, finding, spanning;

    bool show_inspector, show_strip;
    diagnosis_job *diagnosed; /* done; NULL: not yet, or the scene did it */
    const diagnosis *g;       /* NULL: not yet, or it failed */
    bool diagnosis_started;
    bool show_all_findings;
    uint8_t *rank_marks; /* [n_ranks] */
    size_t chosen;       /* finding */
    uint32_t to_rank;    /* scroll to it once its row is there; NO_ID */
    int to_rank_tries;

    strip_job *strip;        /* shown; NULL */
    rank_window strip_still; /* the range of the last frame; in a step, of its index */
    int64_t progress_due_ns; /* the diagnosis says how far it is again; 0: none runs */
    int64_t strip_due_ns;    /* sums are begun then, if the view stays; 0: none are wanted */
    uint32_t classes;        /* bits of what was seen: the legend */

    uint64_t selected_row; /* that the following belong to; UINT64_MAX: none */
    store_event_info selected;
    bool has_selected;
    peers_job *peers;           /* NULL: not yet */
    over_steps_job *over_steps; /* NULL: not yet */
    bool asked_over_steps;
    size_t distribution; /* tab: over ranks, over steps */
    size_t collective;   /* instance of the diagnosis; SIZE_MAX: none */
    strbuf arguments;    /* as JSON */
    bool show_arguments;

    find_hits hits;
    char searched[1024]; /* what `hits` are for */
    bool search_open, focus_search;

    run_spans_job *run_spans; /* done; NULL */
    uint32_t spans_of;        /* the element that they were asked for, of this plan */
    uint64_t spans_plan;
    graph_find_job *graph_found;        /* done; NULL */
    char graph_finding[1024];           /* what is being looked for */
    uint32_t graph_page, graph_page_of; /* of a node's attributes */

    char note[64];
};

/* panel_findings.c */
void findings_start(panels *p);
void findings_take(panels *p);
void findings_show(panels *p);
/* panel_selected.c */
void selected_update(panels *p);
void selected_show(panels *p);
void legend_show(panels *p);
/* panel_strip.c */
void strip_update(panels *p);
void strip_show(panels *p, rect r);
/* panel_search.c */
void search_update(panels *p);
void search_show(panels *p, rect r);

/* panel_graph.c, panel_graphsearch.c: in the graph layout, in place of the others */
void graph_inspector_show(panels *p);
void graph_search_show(panels *p, rect r);
void free_graph_find(void *job);
/* panel_run.c */
void graph_run_show(panels *p, const scene_graph *g);
void free_run_spans(void *job);

/* panels.c */
void panels_fly(panels *p, int64_t t0_ns, int64_t t1_ns);
void panels_go_to_rank(panels *p, uint32_t rank);
void free_diagnosis(void *job);
void free_strip(void *job);
void free_peers(void *job);
void free_over_steps(void *job);
/** A job that came to its end takes the place of *out. A cancelled one is destroyed. */
bool take_done(work *w, void **job, void (*destroy)(void *job));

/** A name as people say it: without "void", template arguments and parameters. The full one where that leaves nothing.
 */
void panels_short_name(const char *name, char *out, size_t cap);

extern const ui_text_style TEXT_TITLE, TEXT_BODY, TEXT_SMALL, TEXT_NUMBER;

#endif
