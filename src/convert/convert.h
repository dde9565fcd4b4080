/*
 * The converter: sources -> builders -> sorted runs -> one time-ordered stream per rank group -> store. Memory is
 * bounded whatever the inputs' size: runs that don't fit the budget go to an unnamed scratch file next to the output.
 *
 * What it adds on the way: ranks and lanes with a meaning, categories by rule table, phases (forward, backward,
 * recompute, optimizer), steps, launch -> kernel links, collectives, occurrence numbers, derived step and phase lanes.
 */
#ifndef MAREY_CONVERT_CONVERT_H
#define MAREY_CONVERT_CONVERT_H

#include "base/diag.h"
#include "base/thread.h"
#include "readers/again.h"
#include "readers/reader.h"
#include "trace/builder.h"

/* Anything that can fill a builder: a file, or one rank of a simulated run. */
typedef struct convert_source {
    const char *path;  /* of the file, or a label */
    uint64_t bytes;    /* for progress; 0: unknown */
    int64_t rank_hint; /* from the file name; -1 */
    marey_status (*read)(void *ctx, const char *path, trace_builder *b, const reader_progress *progress);
    /* Reads it once more, as again_read(); NULL: its records have no place. */
    marey_status (*again)(void *ctx, uint64_t from, again_fn fn, void *fn_ctx, cancel_flag *cancel);
    void *ctx;
} convert_source;

typedef struct convert_progress {
    const char *stage;    /* "reading", "writing" */
    uint64_t done, total; /* bytes or events */
    uint64_t n_events;
    double seconds;
} convert_progress;

typedef struct convert_options {
    const char *out;
    unsigned jobs;                  /* 0: one per core */
    bool force;                     /* replace a target that marey did not write */
    bool strict;                    /* losses are errors */
    bool no_align;                  /* leave all clocks as the inputs have them */
    const char *const *graph_paths; /* computational graphs for the same file: see graph_read_files(); NULL */
    size_t n_graphs;
    const void *graph_data; /* the only one's content where it is in memory: the path is its label then; NULL */
    size_t graph_size;
    bool no_infer_scopes;                                   /* leave a graph without scopes as it is */
    const char *topology_path;                              /* places of ranks, see convert/topology.c; NULL */
    const char *rules_path;                                 /* the user's categories, before the built-in ones; NULL */
    const char *run_name;                                   /* NULL: from the inputs */
    uint64_t memory_bytes;                                  /* budget for runs in memory; 0: 128 MiB */
    void (*progress)(void *ctx, const convert_progress *p); /* at most ten times a second, on any thread; may be NULL */
    void *progress_ctx;
    cancel_flag *cancel; /* may be NULL */
} convert_options;

typedef struct convert_summary {
    uint64_t n_inputs, n_refused, n_ranks, n_events, n_losses, bytes_in, bytes_out;
    double seconds;
} convert_summary;

/** Convert files and folders (read recursively; files in folders that are no traces are passed over, named ones are
 * refused). */
marey_status convert_paths(const char *const *paths, size_t n, const convert_options *options, convert_summary *summary,
                           diag *d);
/** A graph file as it is, or those of a folder and all below it, appended; texts are the arena's, the list the caller's
 *  to free. Errors: IO; UNSUPPORTED (a folder without one). */
marey_status convert_list_graphs(const char *path, arena *names, char ***paths, size_t *n, size_t *cap, diag *d);
/** Convert ready sources. */
marey_status convert_sources(const convert_source *sources, size_t n, const convert_options *options,
                             convert_summary *summary, diag *d);

#endif
