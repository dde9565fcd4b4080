/*
 * Readers: one file per input format, behind one table. A reader sniffs the first bytes, takes the decompressed stream
 * in pieces that may be cut anywhere, and pushes into a trace_builder. It never asserts on input. Thread: one reader
 * object per thread.
 */
#ifndef MAREY_READERS_READER_H
#define MAREY_READERS_READER_H

#include "base/diag.h"
#include "base/thread.h"
#include "trace/builder.h"

typedef struct reader_progress {
    void (*report)(void *ctx, uint64_t bytes_read, uint64_t bytes_total, uint64_t n_events);
    void *ctx;
    cancel_flag *cancel; /* may be NULL */
} reader_progress;

/**
 * Read one file (plain, gzip, zstd, or zip with JSON members; told by content) into the builder, which is finished on
 * OK.
 *
 * @return OK (losses are in the builder's diag); UNSUPPORTED when it is no trace (one clear sentence in the diag);
 * FORMAT when it is one but nothing in it can be used; IO; CANCELLED; what the builder's flush returned Memory: one
 * window (256 KiB, up to 16 MiB for one huge record), whatever the file's size.
 */
marey_status reader_read_file(const char *path, trace_builder *b, const reader_progress *progress);

/** Would reader_read_file() take this file, judged by name and first bytes? For folders: 0 no, 1 maybe, 2 surely. */
int reader_sniff_file(const char *path);

#endif
