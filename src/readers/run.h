/*
 * A run: the files that belong together, told by their names. Profilers of Ascend devices write a dozen files per rank;
 * each rank becomes one source here, with the role of every file. Kineto and Chrome traces stay sources of one file.
 *
 * Recognised: torch_npu output as text and as SQLite (also inside `..._ascend_pt/ASCEND_PROFILER_OUTPUT/`), MindSpore's
 * profiler folder, msprof per-iteration JSON, Marey exports with their scope map. Ranks come from the file names
 * (`rank-34`, `rank0_`, `worker3`, `_3.json`, `rank_2_`) and, when a file states its rank, from that: the reader puts
 * it into the builder's facts.
 *
 * Where several files tell of the same events, one gives the intervals:
 *
 *   torch_npu text   trace_view.json, else kernel_details.csv, else the db; kernel_details.csv adds its columns as
 *                    arguments of the kernels, communication.json the groups of the collectives
 *   torch_npu db     TASK with its two info tables, COMMUNICATION_OP, CANN_API, PYTORCH_API
 *   msprof           msprof_*.json of an iteration, else its hccl_*.json and task_time_*.json
 *   MindSpore        timeline display JSON, else output_timeline_data.txt; step_trace_raw.csv gives the steps, and its
 *                    communication only where no timeline has any
 *
 * Everything else becomes metrics, places and groups of the builder's side tables.
 */
#ifndef MAREY_READERS_RUN_H
#define MAREY_READERS_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"
#include "base/mem.h"
#include "readers/reader.h"
#include "trace/builder.h"

/* Roles of files. The order within a run is the order of reading. */
#define RUN_ROLE_LIST(X)                                                                                               \
    X(TRACE)                /* any other file: a Kineto or Chrome trace */                                             \
    X(PROFILER_METADATA)    /* torch_npu: parallel sizes and groups */                                                 \
    X(PROFILER_INFO)        /* both: rank, sizes */                                                                    \
    X(PARALLEL_STRATEGY)    /* MindSpore: rank, stage, devices of the stage */                                         \
    X(COMMUNICATION)        /* torch_npu: communication.json */                                                        \
    X(COMMUNICATION_MATRIX) /* torch_npu */                                                                            \
    X(KERNEL_DETAILS)       /* torch_npu */                                                                            \
    X(TRACE_VIEW)           /* torch_npu */                                                                            \
    X(STEP_TRACE_TIME)      /* torch_npu */                                                                            \
    X(MEMORY_RECORD)        /* torch_npu */                                                                            \
    X(OPERATOR_MEMORY)      /* torch_npu */                                                                            \
    X(MODULE_MEMORY)        /* torch_npu */                                                                            \
    X(L2_CACHE)             /* torch_npu */                                                                            \
    X(OP_STATISTIC)         /* torch_npu */                                                                            \
    X(PROFILER_DB)          /* torch_npu, msprof: SQLite */                                                            \
    X(ANALYSIS_DB)          /* torch_npu: SQLite */                                                                    \
    X(MSPROF)               /* msprof: one iteration */                                                                \
    X(HCCL_TRACE)           /* msprof: communication of one iteration */                                               \
    X(TASK_TIME)            /* msprof: tasks of one iteration */                                                       \
    X(TIMELINE)             /* MindSpore: timeline display */                                                          \
    X(TIMELINE_TEXT)        /* MindSpore: output_timeline_data */                                                      \
    X(STEP_TRACE_RAW)       /* MindSpore */                                                                            \
    X(CLUSTER_ANALYSE)      /* MindSpore */                                                                            \
    X(HCCL_RAW)             /* MindSpore */                                                                            \
    X(FLOPS)                /* MindSpore: per operator */                                                              \
    X(FLOPS_SUMMARY)        /* MindSpore */                                                                            \
    X(MEMORY_SUMMARY)       /* MindSpore */                                                                            \
    X(MEMORY_DETAILS)       /* MindSpore: the compiler's estimate */                                                   \
    X(MAREY)                /* Marey export: several ranks in one file */                                              \
    X(SCOPE_MAP)            /* Marey export: scopes of its operators */                                                \
    X(RANK_TABLE)           /* HCCL: which device of which server is which rank */                                     \
    X(KNOWN)                /* known, and says nothing that the others don't: passed over */

typedef enum run_role {
#define X(name) RUN_##name,
    RUN_ROLE_LIST(X)
#undef X
        RUN_ROLE_COUNT
} run_role;

const char *run_role_name(run_role role);

typedef enum run_format {
    RUN_FORMAT_TRACE,
    RUN_FORMAT_ASCEND,
    RUN_FORMAT_MSPROF,
    RUN_FORMAT_MINDSPORE,
    RUN_FORMAT_MAREY
} run_format;

typedef struct run_file {
    const char *path;
    run_role role;
    int64_t iteration; /* of msprof's files; -1 */
} run_file;

typedef struct run_source {
    run_format format;
    const char *label;   /* for messages and as the source's path: the file, or "FOLDER (rank 3)" */
    int64_t rank;        /* from the names; -1: unknown */
    bool rank_is_device; /* the number is a device's, taken for want of a rank: mark it as inferred */
    run_file *files;     /* sorted by role, then path */
    size_t n_files;
    uint64_t bytes; /* of the files as stored */
} run_source;

/**
 * Group files into sources. Strings and arrays go to `mem`.
 * @param paths  as from file_list(), and files named by the user; `named[i]` (may be NULL) tells which. Named files are
 *               never passed over silently
 * @param sources,n_out  in the order of rank, then path; freed with `mem`
 * Files without a place are noted in `d`. Files of role TRACE are not opened: whether they are traces is for
 * reader_sniff_file() and reader_read_file() to say.
 */
void run_group_files(const char *const *paths, const bool *named, size_t n, arena *mem, run_source **sources,
                     size_t *n_out, diag *d);

/**
 * Read one source into a builder (fresh; finished on OK). A file without a role is read by what it holds: a trace, an
 * Ascend profiler's database, a Marey export. Files that are damaged, empty or missing are counted and
 * named in the builder's diag; the others of the source are read.
 * @return OK; FORMAT when nothing in it could be used; UNSUPPORTED; CANCELLED; what the builder's flush returned
 */
marey_status reader_read_run_source(const run_source *s, trace_builder *b, const reader_progress *progress);

#endif
