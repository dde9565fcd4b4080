/*
 * Graph readers: one file per format (readers/graph_*.c), behind one table, told by content. Each takes the whole
 * input in memory (mapped where it lies plain on disk, so that weights are never touched) and pushes into a
 * graph_builder.
 */
#ifndef MAREY_READERS_GRAPH_READER_H
#define MAREY_READERS_GRAPH_READER_H

#include "base/diag.h"
#include "base/thread.h"
#include "graph/builder.h"

/* What several inputs of one graph share: readers/graph_parts.c. */
typedef struct graph_parts graph_parts;

/* The whole input. Valid while it is read. */
typedef struct graph_input {
    const uint8_t *data;
    size_t size;
    const char *path; /* for messages; "x.zip!/member" of an archive */
    diag *diag;
    uint32_t file;       /* for losses */
    cancel_flag *cancel; /* may be NULL */
    bool is_mapped;      /* from a file that does not change: pages may be let go of */
    graph_parts *parts;  /* NULL: it is the only one */
} graph_input;

typedef struct graph_format {
    const char *name;
    /** 0 no, 1 maybe, 2 surely. Looks at the first bytes only (64 KiB at most), but `size` is the whole. */
    int (*sniff)(const graph_input *in);
    /** Errors: FORMAT (one sentence with the byte offset is in the diag), CANCELLED. Repairs are counted as losses. */
    marey_status (*read)(const graph_input *in, graph_builder *b);
} graph_format;

extern const graph_format *const GRAPH_FORMATS[];
extern const size_t N_GRAPH_FORMATS;

/** Is it a graph that marey knows, by its first bytes? For folders and for `marey PATH`: 0 no, 1 maybe, 2 surely. */
int graph_sniff_file(const char *path);
/** Do several files of this kind make one graph? MindSpore writes one for each pipeline stage. */
bool graph_is_part_file(const char *path);
/** Read one file (plain, .gz, .zst, one member of a .zip). Errors: UNSUPPORTED (no graph: one sentence), FORMAT, IO,
 *  CANCELLED. */
marey_status graph_read_file(const char *path, const graph_finish_options *options, graph *out, diag *d);
/** Read several files into one graph. Those of MindSpore are pipeline stages of one run: a stage that comes again is
 *  passed over (said), one whose number is taken by other ranks gets the next, and a Send finds its Receive in any of
 *  them. All others lie each in a module with its file's name. Errors: as above, of the first file that fails. */
marey_status graph_read_files(const char *const *paths, size_t n, const graph_finish_options *options, graph *out,
                              diag *d);
/** The same from memory; for tests. */
marey_status graph_read_memory(const void *data, size_t size, const char *name, const graph_finish_options *options,
                               graph *out, diag *d);

#endif
