/* Profiler output (files and folders) to one file. */
#ifndef MAREY_CONVERT_H
#define MAREY_CONVERT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <marey/status.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct marey_convert_options {
    unsigned jobs;         /* threads; 0: one per core */
    bool force;            /* replace a file at `out` that marey did not write */
    bool strict;           /* a record that would be dropped or repaired is an error */
    const char *graph;     /* a computational graph for the same file; NULL: none */
    const char *rules;     /* category rules before the built-in ones; NULL: none */
    uint64_t memory_bytes; /* for events before they go to a scratch file; 0: 128 MiB */
} marey_convert_options;

/** Nothing appears at `out` before it is whole. @param options  NULL: all 0. Errors: IO, FORMAT (no trace among the
 * inputs; `strict`), ARG. Cost: memory is bounded whatever the inputs' size. Thread: any. */
MAREY_API marey_status marey_convert(const char *const *paths, size_t n_paths, const char *out,
                                     const marey_convert_options *options, char *message, size_t cap);

#ifdef __cplusplus
}
#endif

#endif
