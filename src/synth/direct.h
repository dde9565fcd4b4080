/* The direct output: one rank pushed into a trace builder, without any JSON between. */
#ifndef MAREY_SYNTH_DIRECT_H
#define MAREY_SYNTH_DIRECT_H

#include "readers/reader.h"
#include "synth/solve.h"

typedef struct direct_source {
    const solution *s;
    int rank;
    char label[40];
} direct_source;

/** As convert_source.read wants it; `ctx` is the direct_source. Thread: any, one builder each. */
marey_status direct_read(void *ctx, const char *path, trace_builder *b, const reader_progress *progress);

#endif
