/*
 * What the readers of a run's files share: one builder that several files fill, one JSON walker, plain strings into it.
 * Private to the readers' room.
 *
 * The builder decodes all its strings as JSON text at the end, because most come from JSON; plain text goes in through
 * run_string(), which escapes it.
 */
#ifndef MAREY_READERS_RUN_READ_H
#define MAREY_READERS_RUN_READ_H

#include "parse/csv.h"
#include "parse/json_doc.h"
#include "readers/chrome.h"
#include "readers/run.h"
#include "trace/builder.h"

typedef struct run_reader {
    const run_source *run;
    trace_builder *b;
    const reader_progress *progress;
    chrome_reader *json;
    strbuf text;          /* scratch for strings */
    trace_place_in place; /* of the run's only rank; pushed at the end where `has_place` */
    bool has_place;
    uint64_t bytes_done;     /* of files that are read */
    map64 collective_groups; /* hash of a collective's name -> string id of its group, from communication.json */
} run_reader;

/* ---- strings ---- */

uint32_t run_string(run_reader *r, const char *s, size_t n);
uint32_t run_cstring(run_reader *r, const char *s);
uint32_t run_field_string(run_reader *r, csv_field f); /* NO_ID where nothing is said */
/** A string or scalar of a document, as written. NO_ID where there is none. */
uint32_t run_node_string(run_reader *r, const jdoc *d, uint32_t i);
/** The key of a node up to `end` (a byte; 0: all of it). */
uint32_t run_key_string(run_reader *r, const jdoc *d, uint32_t i, char end);

/** The event's name as written; an empty one where there is none. Its text is never NULL. */
jspan run_event_name(const jevent *e);

/* ---- threads ---- */

/** A thread with the names that the input gives it. NULL names are left alone. */
uint32_t run_thread(run_reader *r, const char *pid, const char *tid, const char *process_name, const char *thread_name);

/* ---- events and metrics ---- */

/** Push an interval, always: a duration that is negative or beyond 64 bits is repaired and counted. */
marey_status run_event(run_reader *r, trace_event_in *e);
void run_metric(run_reader *r, const trace_metric_in *m);
/** In short: a metric of this step, with a name. */
void run_step_metric(run_reader *r, trace_metric_kind kind, int64_t step, double value, uint32_t flags);
void run_lose(run_reader *r, marey_loss loss, uint64_t offset, const char *detail);
/** Losses and messages from here on belong to that file. */
void run_use_file(run_reader *r, const char *path);
bool run_cancelled(const run_reader *r);
/** Tell how far we are, the files before included. */
void run_report(run_reader *r);

/** Microseconds, milliseconds in decimal text to ns, exactly. @return false when it is no number or does not fit */
bool run_ms_text(const char *s, size_t n, int64_t *ns);

/** A string as a JSON member's value: quoted and escaped. */
void run_json_string(strbuf *out, const char *s, size_t n);

/** An integer in decimal; faster than printf where every event has some. */
void run_json_int(strbuf *out, int64_t v);

/** Open a table; an empty one is noted (NO_EVENTS) and gives NULL. */
csv *run_open_table(run_reader *r, const char *path);
/** Note rows that were short or long, and close. */
void run_close_table(run_reader *r, const char *path, csv **c);

/* ---- a source ---- */

/** The source with its format by content, where its name says nothing (`file`: room for it). @return false: a trace by
 * itself */
bool run_find_format(const run_source *s, run_source *out, run_file *file);
/** As reader_read_run_source(), but no trace by itself; through a JSON reader that was just made for this builder. */
marey_status run_read_into(const run_source *s, trace_builder *b, chrome_reader *json, const reader_progress *progress);

/* ---- the formats: each reads all of its files in the run ---- */

typedef marey_status (*run_file_fn)(run_reader *r, const run_file *f);

/** The first file of that role, or NULL. */
const run_file *run_find(const run_source *s, run_role role);

marey_status ascend_text_read(run_reader *r);
marey_status ascend_db_read(run_reader *r, const run_file *f);
marey_status ascend_analysis_db_read(run_reader *r, const run_file *f);
marey_status ascend_metadata_read(run_reader *r, const run_file *f);
marey_status ascend_communication_read(run_reader *r, const run_file *f);
marey_status ascend_matrix_read(run_reader *r, const run_file *f);
marey_status ascend_step_times_read(run_reader *r, const run_file *f);
marey_status ascend_memory_record_read(run_reader *r, const run_file *f);
marey_status ascend_operator_memory_read(run_reader *r, const run_file *f);
marey_status ascend_module_memory_read(run_reader *r, const run_file *f);
marey_status ascend_cache_read(run_reader *r, const run_file *f);
marey_status ascend_statistic_read(run_reader *r, const run_file *f);
/** The text of META_DATA and of the file: parallel sizes and groups of a document. */
void ascend_take_parallel(run_reader *r, const jdoc *d, uint32_t distributed, uint32_t groups);

marey_status msprof_read(run_reader *r);
marey_status mindspore_read(run_reader *r);
/** @param placed  push steps as intervals (else as numbers only). @param base_ns  taken off all times */
marey_status mindspore_step_trace_read(run_reader *r, const run_file *f, bool placed, bool with_communication,
                                       int64_t base_ns);
/** Record the collective that an operator's name tells, for the event that is pushed next. */
void mindspore_collective(run_reader *r, const char *name, size_t n);
/** World size, and the stage by contiguous ranges of ranks (inferred), from sizes. */
void mindspore_place_by_grid(run_reader *r, int64_t stages, int64_t size, int64_t rank);
marey_status mindspore_cluster_read(run_reader *r, const run_file *f);
marey_status mindspore_hccl_read(run_reader *r, const run_file *f);
marey_status mindspore_flops_read(run_reader *r, const run_file *f);
marey_status mindspore_flops_summary_read(run_reader *r, const run_file *f);
marey_status mindspore_memory_read(run_reader *r, const run_file *f);
marey_status mindspore_strategy_read(run_reader *r, const run_file *f);
marey_status run_profiler_info_read(run_reader *r, const run_file *f);
marey_status run_rank_table_read(run_reader *r, const run_file *f);
marey_status marey_export_read(run_reader *r);

/* MindSpore's names. The phase that a scope tells: "forward", "backward", "recompute", "optimizer" or "". */
const char *mindspore_phase(const char *scope, size_t n, bool first_part_dropped);
/** Source of an operator: "ascend_kernel", "ascend_kernel.backward", "hccl", "ascend_wait". */
const char *mindspore_source(const char *name, size_t n, const char *phase);

#endif
