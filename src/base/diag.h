/*
 * Diagnostics: what went wrong, in words, and what was lost or repaired, in numbers.
 *
 * Two things are kept apart. A *message* is a sentence for a person (error, warning or note). A *loss* is one record of
 * the input that was dropped, repaired or left open; losses are counted by code and file, with the first byte offset,
 * and go into the output file, so that the picture can show them.
 *
 * Owner: the caller. Thread: one thread at a time; give each job its own and join them by diag_merge().
 */
#ifndef MAREY_BASE_DIAG_H
#define MAREY_BASE_DIAG_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* Code, machine name (in `marey info --json`), what it means for the reader of the picture. */
#define MAREY_LOSS_LIST(X)                                                                                             \
    X(TRUNCATED, "truncated", "the input ends in the middle; all complete events before that were kept")               \
    X(DAMAGED, "damaged", "bytes that are no valid record were skipped")                                               \
    X(BAD_CHECKSUM, "bad-checksum", "the compressed stream's checksum is wrong; its content was kept")                 \
    X(EVENT_TOO_LARGE, "event-too-large", "a record larger than 16 MiB was dropped")                                   \
    X(MISSING_TIME, "missing-time", "events without a usable start time were dropped")                                 \
    X(MISSING_DURATION, "missing-duration", "events without a usable duration were kept with duration 0")              \
    X(NEGATIVE_DURATION, "negative-duration", "a negative duration was set to 0")                                      \
    X(TIME_OVERFLOW, "time-overflow", "a time beyond 64-bit nanoseconds was dropped")                                  \
    X(UNMATCHED_BEGIN, "unmatched-begin", "begin without end: left open to the end of the recording")                  \
    X(UNMATCHED_END, "unmatched-end", "end without begin: dropped")                                                    \
    X(NAME_MISMATCH, "name-mismatch", "begin and end of different names were paired")                                  \
    X(OUT_OF_ORDER, "out-of-order", "begin and end events were out of order and were sorted")                          \
    X(OVERLAP, "overlap", "events overlap on one thread without nesting: shown on sub-lanes")                          \
    X(UNKNOWN_PHASE, "unknown-phase", "events of a phase without a meaning here were skipped")                         \
    X(ASYNC_UNMATCHED, "async-unmatched", "asynchronous begin or end without its partner")                             \
    X(FLOW_UNMATCHED, "flow-unmatched", "a flow's end without a start")                                                \
    X(BAD_UTF8, "bad-utf8", "invalid UTF-8 in a name was replaced by U+FFFD")                                          \
    X(CONTROL_BYTE, "control-byte", "control bytes inside a string were kept out of the name")                         \
    X(NAME_TRUNCATED, "name-truncated", "a name longer than 64 KiB was cut")                                           \
    X(QUOTED_NUMBER, "quoted-number", "numbers written as strings were read as numbers")                               \
    X(BAD_NUMBER, "bad-number", "a number could not be read (NaN, Infinity, text)")                                    \
    X(TRAILING_COMMA, "trailing-comma", "a comma too many was ignored")                                                \
    X(MISSING_BRACKET, "missing-bracket", "the closing bracket of the event list is missing")                          \
    X(DUPLICATE_META, "duplicate-metadata", "the same metadata came more than once; the last one counts")              \
    X(DUPLICATE_RANK, "duplicate-rank", "two files claim the same rank; the later one got a number of its own")        \
    X(NO_EVENTS, "no-events", "the file holds no events")                                                              \
    X(UNREADABLE, "unreadable", "the file could not be read")                                                          \
    X(NOT_A_TRACE, "not-a-trace", "the file is not a trace that marey knows")                                          \
    X(PROFILER_DROPPED, "profiler-dropped", "the profiler says that it lost events")                                   \
    X(FAR_TIME, "far-time", "events lie years away from the others")                                                   \
    X(CLIPPED, "clipped", "what lies outside of the run was cut, or moved to where it begins or ends")                 \
    X(LINK_UNMATCHED, "link-unmatched", "a launch without its kernel, or a kernel without its launch")                 \
    X(DANGLING, "dangling", "an input that nothing produces was left without an edge")                                 \
    X(DUPLICATE_NAME, "duplicate-name", "two records have one name")                                                   \
    X(SELF_LOOP, "self-loop", "a node that is its own input; kept, and counted as a cycle")                            \
    X(LIMIT, "limit", "a limit was reached; the rest was dropped")

typedef enum marey_loss {
#define X(name, code, text) MAREY_LOSS_##name,
    MAREY_LOSS_LIST(X)
#undef X
        MAREY_LOSS_COUNT
} marey_loss;

const char *marey_loss_code(marey_loss loss);
const char *marey_loss_text(marey_loss loss);

typedef enum diag_severity { DIAG_NOTE, DIAG_WARNING, DIAG_ERROR } diag_severity;

#define DIAG_NO_OFFSET UINT64_MAX

typedef struct diag_message {
    diag_severity severity;
    marey_status status;
    uint64_t offset; /* byte offset in `where`, or DIAG_NO_OFFSET */
    char *where;     /* file name or NULL; owned */
    char *text;      /* one sentence; owned */
} diag_message;

/* All losses of one code in one file. */
typedef struct diag_loss {
    marey_loss loss;
    uint32_t file; /* index into diag.files, or UINT32_MAX */
    uint64_t count;
    uint64_t first_offset;
    char *detail; /* e.g. which phase; or NULL; owned */
} diag_loss;

typedef struct diag {
    diag_message *messages;
    size_t n_messages;
    size_t cap_messages;
    uint64_t n_suppressed; /* messages beyond DIAG_MAX_MESSAGES */
    diag_loss *losses;
    size_t n_losses;
    size_t cap_losses;
    char **files; /* names, owned */
    size_t n_files;
    size_t cap_files;
    size_t last; /* cache: the loss entry hit last */
    bool echo;   /* print messages to standard error as they come */
} diag;

enum { DIAG_MAX_MESSAGES = 1000 };

void diag_init(diag *d);
void diag_deinit(diag *d);

/** Register a file name for losses. @return its index */
uint32_t diag_file(diag *d, const char *name);

/** Add a message; `d` may be NULL. `where` may be NULL. @return `status`, so that `return diag_error(...)` reads well
 */
marey_status diag_error(diag *d, marey_status status, const char *where, uint64_t offset, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
void diag_warn(diag *d, const char *where, uint64_t offset, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
void diag_note(diag *d, const char *where, uint64_t offset, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/** Count `n` losses. `detail` (may be NULL) makes an entry of its own per text: use it for a small closed set only. */
void diag_lose(diag *d, marey_loss loss, uint32_t file, uint64_t offset, uint64_t n, const char *detail);

/** The first of these losses stands at `offset`, or before it where that is known. Nothing where there are none. */
void diag_place(diag *d, marey_loss loss, uint32_t file, uint64_t offset, const char *detail);

/** The losses by file, first offset, code and detail: in whatever order they came, it is the same then. */
void diag_sort(diag *d);

/** Sum of the losses of one code over all files. */
uint64_t diag_lost(const diag *d, marey_loss loss);

/** Append all of `from` to `to`; files are matched by name. */
void diag_merge(diag *to, const diag *from);

#endif
