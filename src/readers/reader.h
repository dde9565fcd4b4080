/*
 * Readers: one file per input format, behind one table. A reader sniffs the first bytes, takes the decompressed stream
 * in pieces that may be cut anywhere, and pushes into a trace_builder. It never asserts on input. Thread: one reader
 * object per thread.
 */
#ifndef MAREY_READERS_READER_H
#define MAREY_READERS_READER_H

#include "base/diag.h"
#include "base/mem.h"
#include "base/thread.h"
#include "parse/jbits.h"
#include "trace/builder.h"

typedef struct reader_progress {
    void (*report)(void *ctx, uint64_t bytes_read, uint64_t bytes_total, uint64_t n_events);
    void *ctx;
    cancel_flag *cancel; /* may be NULL */
    unsigned threads;    /* that may work on a large file; 0: as many as there are cores */
    pool *workers;       /* idle ones, for those threads; NULL: some are made for the time */
} reader_progress;

/**
 * Read one file (plain, gzip, zstd, or zip with JSON members; told by content) into the builder, which is finished on
 * OK.
 *
 * @return OK (losses are in the builder's diag); UNSUPPORTED when it is no trace (one clear sentence in the diag);
 * FORMAT when it is one but nothing in it can be used; IO; CANCELLED; what the builder's flush returned. Memory: one
 * window (256 KiB, up to 16 MiB for one huge record), and with several threads a part or two of the text for each
 * (chrome_parts.h), whatever the file's size.
 */
marey_status reader_read_file(const char *path, trace_builder *b, const reader_progress *progress);

/* How to read; for tests and benches. Zero: as reader_read_file() does. The result never depends on it. */
typedef struct reader_tuning {
    size_t window_bytes; /* of the first window; at least 64 */
    size_t read_bytes;   /* at most so many at a time */
    bool eager;          /* walk after every read */
    bool zlib;           /* unpack by zlib */
    bool ahead;          /* unpack on a thread of its own, however small the input */
    unsigned threads;    /* 2 or more: read in parts, likewise, where it can be */
    size_t part_bytes;   /* of a part; 0: as reader_read_file() chooses */
    bool in_turn;        /* read the text of parts in its order, as if it were packed */
    size_t *n_parts;     /* counts them; NULL: nobody wants to know */
    bool by_tokens;      /* walk every event token by token, as if none looked like another */
    jbits_fn bits;
} reader_tuning;

/** The same from memory. `tuning` may be NULL. */
marey_status reader_read_memory(const void *data, size_t size, const char *name, trace_builder *b,
                                const reader_tuning *tuning);

/**
 * The inputs behind a path: the path itself, or "runs.zip!/rank0.json" for each member of an archive that holds
 * several, so that each can have a builder of its own. reader_read_file() takes either; given such an archive itself,
 * it reads all members into one builder, where equal pids and tids of different members fall together.
 *
 * @param paths,n,cap a growing array (VEC_PUSH); the names go to `names`
 */
marey_status reader_list_inputs(const char *path, arena *names, char ***paths, size_t *n, size_t *cap);

/** Would reader_read_file() take this file, judged by name and first bytes? For folders: 0 no, 1 maybe, 2 surely. */
int reader_sniff_file(const char *path);

/**
 * Is this a trace by its name, but empty, cut right at its beginning, or not to be unpacked? In a folder and in an
 * archive such a file is named as lost, where others that are no trace are passed over.
 */
bool reader_is_broken_file(const char *path);

#endif
