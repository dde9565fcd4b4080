/* The output as Kineto JSON: one file per rank, as PyTorch's profiler writes it. */
#ifndef MAREY_SYNTH_KINETO_H
#define MAREY_SYNTH_KINETO_H

#include "synth/solve.h"

/** Write one rank to `path` by way of an aside path. */
marey_status kineto_write_rank(const solution *s, int rank, const char *path, cancel_flag *cancel, diag *d);

#endif
