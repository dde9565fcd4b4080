/* What the tests of the run readers share: a folder of small files, a builder that keeps everything, and answers. */
#ifndef MAREY_TESTS_HELP_RUN_H
#define MAREY_TESTS_HELP_RUN_H

#include "cm.h"

#include "base/diag.h"
#include "readers/run.h"

typedef struct seen_event {
    int64_t start_ns, dur_ns;
    uint64_t correlation;
    uint32_t name, source, thread; /* strings of the builder; thread of the builder */
    uint8_t flags;
    char *args; /* owned */
} seen_event;

/* One source, read. */
typedef struct seen_run {
    trace_builder b;
    diag d;
    marey_status status;
    seen_event *events;
    size_t n, cap;
    char label[512];
} seen_run;

/** A fresh folder; removed by folder_remove(). */
void folder_make(char *path, size_t cap);
void folder_remove(const char *path);
/** Write a file below it; `name` may hold folders. */
void folder_put(const char *folder, const char *name, const char *text);
void folder_put_bytes(const char *folder, const char *name, const void *data, size_t n);

/** Group all files of the folder. @return the sources (owned by `mem`) */
run_source *folder_group(const char *folder, arena *mem, size_t *n);
/** Read one source. */
void run_see(const run_source *s, seen_run *out);
/** Group the folder, which must give exactly one source, and read it. */
void folder_see(const char *folder, seen_run *out);
void seen_free(seen_run *s);

const char *seen_name(const seen_run *s, size_t i);
const char *seen_source(const seen_run *s, size_t i); /* "" where there is none */
const char *seen_string(const seen_run *s, uint32_t id);
const char *seen_thread(const seen_run *s, size_t i);  /* its name */
const char *seen_process(const seen_run *s, size_t i); /* its process's name */
size_t seen_count(const seen_run *s, const char *source);
/** The first event of that name, or SIZE_MAX. */
size_t seen_find(const seen_run *s, const char *name);
/** The n-th metric of that kind, or NULL. */
const trace_metric_in *seen_metric(const seen_run *s, trace_metric_kind kind, size_t n);
size_t seen_metrics(const seen_run *s, trace_metric_kind kind);
/** Is some message's text like that? */
bool seen_message(const seen_run *s, const char *part);

#endif
