/*
 * The graph formats by name: one constant per file readers/graph_*.c, and the table GRAPH_FORMATS in graph_reader.c.
 * Of formats that are equally sure of a file the first in the table reads it.
 */
#ifndef MAREY_READERS_GRAPH_FORMATS_H
#define MAREY_READERS_GRAPH_FORMATS_H

#include "readers/graph_reader.h"

extern const graph_format GRAPH_ONNX;
extern const graph_format GRAPH_TENSORFLOW;
extern const graph_format GRAPH_MINDSPORE;
extern const graph_format GRAPH_CHAKRA;
extern const graph_format GRAPH_HLO_TEXT;
extern const graph_format GRAPH_HLO_PB;
extern const graph_format GRAPH_MLIR;
extern const graph_format GRAPH_DOT;
extern const graph_format GRAPH_MODEL_EXPLORER;
extern const graph_format GRAPH_EXEC_TRACE;

graph_parts *graph_parts_create(void);
/** All inputs are read: what one of them says of another is joined. */
void graph_parts_finish(graph_parts *p, const graph_input *last, graph_builder *b);
void graph_parts_destroy(graph_parts **p);

enum { GRAPH_HEAD_BYTES = 64 * 1024 }; /* a sniffer looks no further */

static inline size_t graph_head_size(const graph_input *in)
{
    return in->size < GRAPH_HEAD_BYTES ? in->size : GRAPH_HEAD_BYTES;
}
/** Does this text occur in the first bytes? */
bool graph_head_has(const graph_input *in, const char *text);
/** What was read of a mapped file so far leaves the memory; it comes back from the file when it is touched again. */
void graph_release(const graph_input *in);
/** The first byte that is no blank (behind a byte order mark), or 0: '{' and '[' begin JSON. */
char graph_head_byte(const graph_input *in);

#endif
